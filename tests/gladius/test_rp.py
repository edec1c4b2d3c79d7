"""RP: its criterion against plain counting, its two ends (no split, one true split), its limits."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import extra
from numpy.typing import NDArray
from strategies import WHOLES, transitions

from gladius.anchor import Anchor
from gladius.baselines import nfxp, rp
from gladius.baselines.rp import Moves, Partition, Split, Tables, grow, parts
from gladius.linear_reward import LinearReward
from gladius.mdp import TabularMDP
from gladius.transitions import Transitions
from gladius.worlds.bus import BUS_REWARD, BusEngine, bus_reward_given

Array = NDArray[np.float64]

BUS = BusEngine()
ANCHOR = Anchor(1, -5.0)
FORM: dict[str, Any] = {"reward": BUS_REWARD}


# The criterion, counted plainly.


def naive_cell(partition: Partition, state: Sequence[float]) -> int:
    cell = 0
    for number, split in enumerate(partition.splits):
        if cell == split.cell and state[split.feature] > split.threshold:
            cell = number + 1
    return cell


def plain_keys(data: Transitions, partition: Partition) -> list[tuple[Any, ...]]:
    """(x, p, a, x', p') of each row, x being the first feature; an ended path leads to "end"."""
    keys = []
    for i in range(len(data)):
        now, after = data.states[i].tolist(), data.next_states[i].tolist()
        here = (now[0], naive_cell(partition, now), int(data.actions[i]))
        end = ("end", "end") if data.done[i] else (after[0], naive_cell(partition, after))
        keys.append(here + end)
    return keys


def values_of_x(data: Transitions) -> int:
    return len(set(data.states[:, 0].tolist()) | set(data.next_states[:, 0].tolist()))


def plain_parts(data: Transitions, partition: Partition) -> tuple[float, float]:
    """(decision, transition) by the formulas of the module, one dictionary for each count."""

    def entropy(keys: Iterable[Any], added: float) -> float:
        return float(sum(n * np.log(n + added) for n in Counter(keys).values()))

    s = rp.SMOOTHING
    keys, m = plain_keys(data, partition), values_of_x(data) * (1 + len(partition.splits))
    choices = data.number_of_actions
    state = entropy((k[:2] for k in keys), s * choices * m)
    choice = entropy((k[:3] for k in keys), s * m)
    arrival = entropy((k[3:] for k in keys), s * choices * m)
    return choice - state, entropy(keys, s) - choice - arrival


@st.composite
def partitions(draw: st.DrawFn, features: Sequence[int], most: int = 2) -> Partition:
    """Up to three cells (some may be empty) by thresholds near the data."""
    number = draw(st.integers(0, most))
    half = st.integers(-6, 6).map(lambda n: n / 2)
    return Partition(
        tuple(
            Split(draw(st.integers(0, k)), draw(st.sampled_from(features)), draw(half))
            for k in range(number)
        )
    )


@settings(max_examples=120)
@given(
    transitions(max_rows=10, elements=WHOLES, actions=2, width=3),
    partitions([1, 2]),
    st.sampled_from([0.0, 0.7, 1.0]),
    st.sampled_from([1e-5, 0.5]),
)
def test_gains_of_all_splits_are_differences_of_the_plain_criterion(
    data: Transitions, partition: Partition, weight: float, smoothing: float
) -> None:
    with patch.object(rp, "SMOOTHING", smoothing):
        check_gains(data, partition, 0.3 * weight)


def check_gains(data: Transitions, partition: Partition, weight: float) -> None:
    moves = Moves.of(data, [0])
    before = plain_parts(data, partition)
    np.testing.assert_allclose(parts(moves, partition), before, rtol=0, atol=1e-9)
    tables = Tables(moves, partition, weight)
    values = np.unique(data.states[:, 2])[:-1]
    if len(values) == 0:
        return
    lower, upper = (np.searchsorted(values, t[:, 2]) for t in (data.states, data.next_states))
    gains = tables.gains(lower, upper, len(values))
    cells = partition.cells(data.states)
    for cell in range(len(partition)):
        for k, threshold in enumerate(values):
            inside = data.states[cells == cell, 2] <= threshold
            if not (np.any(inside) and np.any(~inside)):
                assert gains[cell, k] == -np.inf
                continue
            after = plain_parts(
                data, Partition((*partition.splits, Split(cell, 2, float(threshold))))
            )
            expected = after[0] - before[0] + weight * (after[1] - before[1])
            np.testing.assert_allclose(gains[cell, k], expected, rtol=0, atol=1e-9)


@settings(max_examples=60)
@given(
    transitions(max_rows=12, elements=WHOLES, actions=3, width=3),
    st.permutations([0, 1, 2]),
    st.sampled_from([-3.0, 0.5, 2.0]),
)
def test_best_split_ignores_names_of_actions_order_of_rows_and_scale_of_q(
    data: Transitions, names: list[int], factor: float
) -> None:
    other = Transitions(
        (data.states * [1, factor, 1])[::-1],
        np.array(names)[data.actions][::-1],
        (data.next_states * [1, factor, 1])[::-1],
        data.trajectory[::-1],
        data.done[::-1],
        3,
    )
    # values of s' alone are no thresholds: a mirrored feature may divide them in another place
    weight = 0.0 if factor < 0 else 1.0
    one, two = (
        grow(Moves.of(d, [0]), [1, 2], transition_weight=weight, max_cells=2) for d in (data, other)
    )
    np.testing.assert_allclose(one.scores, two.scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.gains[0], two.gains[0], rtol=1e-6, atol=1e-9)


@settings(max_examples=100)
@given(arrays(np.float64, (8, 3), elements=WHOLES), partitions([0, 1, 2], most=4))
def test_cells_of_states_are_those_of_a_plain_walk(states: Array, partition: Partition) -> None:
    expected = [naive_cell(partition, state) for state in states.tolist()]
    np.testing.assert_array_equal(partition.cells(states), expected)


# Dummies that matter for nothing.


@pytest.mark.parametrize(
    ("trajectories", "dummies", "low", "high"),
    [
        (50, 10, 0.0025, 0.0050),
        (50, 100, 0.0025, 0.0055),
        (250, 10, 6e-4, 11e-4),
        (1000, 10, 1e-4, 3e-4),
    ],
)
def test_first_gains_on_irrelevant_dummies_are_those_of_an_independent_coding(
    trajectories: int, dummies: int, low: float, high: float
) -> None:
    """Known: .0030 to .0039 (N = 50, K = 10 and 100), .0008 (250), .0001 (1,000), one sample each.

    The intervals hold the sampling spread about these: gains are maxima over 20 K thresholds.
    """
    data = BusEngine(dummies=dummies).simulate(trajectories, np.random.default_rng(1))
    grown = grow(Moves.of(data, [0]), range(1, dummies + 1))
    assert low < grown.gains[0] < high
    assert grown.stopped == "delta"
    assert len(grown.partition) == 1


def test_irrelevant_dummies_make_it_nfxp_with_frequencies() -> None:
    data = BusEngine(dummies=10).simulate(50, [np.random.default_rng([50, r]) for r in range(3)])
    mileage = [
        Transitions(d.states[:, :1], d.actions, d.next_states[:, :1], d.trajectory) for d in data
    ]
    found, expected = rp.fit(data, ANCHOR, 0.95, **FORM), nfxp.fit(mileage, ANCHOR, 0.95, **FORM)
    forced = rp.fit(data, ANCHOR, 0.95, delta=0.0, max_cells=2, **FORM)
    for ours, theirs, split, one in zip(found, expected, forced, data, strict=True):
        assert extra(ours, "cells") == 1
        assert ours.diagnostics.converged
        np.testing.assert_allclose(extra(ours, "theta"), extra(theirs, "theta"), rtol=0, atol=1e-6)
        x = np.arange(1.0, 22)[:, None]  # some seen, some not
        states = np.column_stack([x, np.resize(one.states[:, 1:], (21, 10))])
        np.testing.assert_allclose(ours.q(states), theirs.q(x), rtol=0, atol=1e-6)
        np.testing.assert_allclose(
            ours.reward_function(states), theirs.reward_function(x), rtol=0, atol=1e-6
        )
        assert ours.diagnostics.nll == pytest.approx(theirs.diagnostics.nll, abs=1e-12)
        assert extra(ours, "objective") == ours.diagnostics.nll
        # control: one split more, and they part by far more than the tolerance
        assert extra(split, "cells") == 2
        assert extra(split, "stopped") == "max_cells"
        assert np.max(np.abs(split.q(states) - theirs.q(x))) > 1e-3


def test_without_dummies_it_is_nfxp_in_every_number() -> None:
    data = BUS.simulate(30, np.random.default_rng(4))
    for form in (BUS_REWARD, bus_reward_given(5.0)):
        ours = rp.fit([data], ANCHOR, 0.95, reward=form)[0]
        theirs = nfxp.fit([data], ANCHOR, 0.95, reward=form)[0]
        for name in ("theta", "se", "covariance", "log_likelihood", "inner_iterations"):
            np.testing.assert_array_equal(extra(ours, name), extra(theirs, name))
        assert ours.diagnostics.bellman_error == theirs.diagnostics.bellman_error
        assert extra(ours, "stopped") == "nothing to split"
    twice = Transitions(
        np.hstack([data.states] * 2), data.actions, np.hstack([data.next_states] * 2)
    )
    kept = rp.fit([twice], ANCHOR, 0.95, low=(0, 1), **FORM)[0]  # nothing is left as q
    np.testing.assert_allclose(
        extra(kept, "theta"), extra(rp.fit([data], ANCHOR, 0.95, **FORM)[0], "theta")
    )


def test_a_search_over_80_000_rows_and_100_dummies_is_quick() -> None:
    data = BusEngine(dummies=100).simulate(800, np.random.default_rng(0))
    started = time.process_time()
    grown = grow(Moves.of(data, [0]), range(1, 101))
    assert time.process_time() - started < 30  # seconds; about 2 here
    assert len(grown.partition) == 1


# A dummy that matters.


def two_costs(costs: tuple[float, float], same_group: float | None = None) -> TabularMDP:
    """The bus engine whose replacement cost depends on a group, 1 with chance 10/21 each period.

    With `same_group` the group is kept with that probability. State 2 (x - 1) + group.
    """
    chance = np.array([11 / 21, 10 / 21])
    move = np.broadcast_to(chance, (2, 2))
    if same_group is not None:
        move = np.array([[same_group, 1 - same_group], [1 - same_group, same_group]])
    law = np.einsum("axy,gh->axgyh", BUS.mdp.transition, move).reshape(2, 40, 40)
    x, group = np.repeat(np.arange(1.0, 21), 2), np.tile([0, 1], 20)
    reward = np.stack([-x, -np.array(costs)[group]], axis=1)
    start = np.zeros(40)
    start[:2] = chance
    return TabularMDP(reward, law, 0.95, start, np.stack([x, group], axis=1).astype(float))


MATTERS = 3  # the dummy whose sign is the group


def with_dummies(
    mdp: TabularMDP, trajectories: int, rng: np.random.Generator, dummies: int = 5
) -> Transitions:
    """(mileage, dummies on -10 .. 10); dummy number MATTERS is positive in group 1."""
    paths = mdp.simulate(trajectories, 100, rng)
    index = np.concatenate([paths.states, paths.next_states[:, -1:]], axis=1)
    q = rng.integers(-10, 11, (*index.shape, dummies)).astype(float)
    positive, other = (rng.integers(*ends, index.shape) for ends in ((1, 11), (-10, 1)))
    q[..., MATTERS - 1] = np.where(index % 2 == 1, positive, other)
    s = np.concatenate([index[..., None] // 2 + 1.0, q], axis=-1)
    label = np.repeat(np.arange(trajectories), 100)
    rows = [part.reshape(-1, 1 + dummies) for part in (s[:, :-1], s[:, 1:])]
    return Transitions(rows[0], paths.actions.ravel(), rows[1], label, number_of_actions=2)


WORLD = with_dummies(two_costs((3.0, 7.0)), 400, np.random.default_rng(0))


def test_a_dummy_that_matters_is_split_at_its_place_and_both_costs_are_found() -> None:
    found = rp.fit([WORLD], ANCHOR, 0.95, **FORM)[0]
    assert extra(found, "partition").splits == (Split(0, MATTERS, 0.0),)
    assert extra(found, "gains")[0] > 0.1
    assert extra(found, "gains")[1] < 0.01
    assert found.diagnostics.converged
    theta, se = extra(found, "theta"), extra(found, "se")
    # twice the stated errors, which leave out the sampling error of the law; three of these
    assert np.all(np.abs(theta - [1.0, 3.0, 7.0]) < 6 * se)
    assert np.all(se < 0.12)
    states = np.zeros((4, 6))
    states[:, 0], states[:, MATTERS] = [1, 1, 5, 5], [-4, 6, 0, 1]
    np.testing.assert_allclose(found.reward(states, 1), -theta[[1, 2, 1, 2]])
    np.testing.assert_allclose(found.reward(states, 0), -theta[0] * states[:, 0])
    # one cell must not find them: a single cost, and an upkeep far off
    single = rp.fit([WORLD], ANCHOR, 0.95, max_cells=1, **FORM)[0]
    upkeep, cost = extra(single, "theta")
    assert extra(single, "cells") == 1
    assert single.diagnostics.converged
    assert abs(cost - 7.0) > 3
    assert abs(upkeep - 1.0) > 0.3
    assert single.diagnostics.nll > found.diagnostics.nll + 0.1


def test_with_the_true_cells_it_is_nfxp_on_the_group() -> None:
    found = rp.fit([WORLD], ANCHOR, 0.95, **FORM)[0]
    now, after = (
        np.column_stack([s[:, 0], s[:, MATTERS] > 0]) for s in (WORLD.states, WORLD.next_states)
    )

    def design(states: Array) -> Array:
        group = states[:, 1] == 1
        table = np.zeros((len(states), 2, 3))
        table[:, 0, 0] = -states[:, 0]
        table[~group, 1, 1] = table[group, 1, 2] = -1.0
        return table

    grouped = Transitions(now, WORLD.actions, after, WORLD.trajectory)
    direct = nfxp.fit([grouped], ANCHOR, 0.95, reward=LinearReward(design))[0]
    np.testing.assert_allclose(extra(found, "theta"), extra(direct, "theta"), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.q(WORLD.states[:500]), direct.q(now[:500]), atol=1e-7)
    flipped = Transitions(now * [1, -1] + [0, 1], WORLD.actions, after * [1, -1] + [0, 1])
    other = nfxp.fit([flipped], ANCHOR, 0.95, reward=LinearReward(design))[
        0
    ]  # control: cells exchanged
    assert np.max(np.abs(extra(found, "theta") - extra(other, "theta"))) > 3


def test_a_persistent_dummy_that_matters_for_nothing_is_split_by_the_transition_part() -> None:
    data = with_dummies(two_costs((5.0, 5.0), same_group=1.0), 400, np.random.default_rng(2), 4)
    found = rp.fit([data], ANCHOR, 0.95, **FORM)[0]
    assert extra(found, "partition").splits == (Split(0, MATTERS, 0.0),)
    theta, se = extra(found, "theta"), extra(found, "se")
    assert abs(theta[1] - theta[2]) < 8 * np.hypot(se[1], se[2])
    by_choices = rp.fit([data], ANCHOR, 0.95, transition_weight=0.0, **FORM)[0]
    assert extra(by_choices, "cells") == 1


def test_a_cell_where_nobody_replaces_is_not_called_converged() -> None:
    kept_for_ever = two_costs((5.0, 5.0), same_group=1.0)
    data = with_dummies(kept_for_ever, 100, np.random.default_rng(6))
    data = data.take((data.states[:, MATTERS] <= 0) | (data.actions == 0))
    found = rp.fit([data], ANCHOR, 0.95, max_cells=2, **FORM)[0]
    assert extra(found, "partition").splits == (Split(0, MATTERS, 0.0),)
    assert not found.diagnostics.converged
    assert found.diagnostics.status != "ok"


# Options.


def test_cells_may_matter_for_the_transitions_alone() -> None:
    """A form without constants has no cost that could differ between cells."""
    ours = rp.fit([WORLD], Anchor(1, -4.0), 0.95, reward=bus_reward_given(4.0))[0]
    assert extra(ours, "cells") == 2
    assert extra(ours, "theta").shape == (1,)
    np.testing.assert_array_equal(ours.reward(WORLD.states[:50], 1), -4.0)
    free = rp.fit([WORLD], ANCHOR, 0.95, **FORM)[0]
    assert free.diagnostics.nll < ours.diagnostics.nll - 0.05


def test_an_anchor_that_is_a_function_is_averaged_over_the_cell() -> None:
    """It enters the Bellman error that is reported, and there only."""
    data = BusEngine(dummies=2).simulate(20, np.random.default_rng(9))
    every = np.concatenate([data.states, data.next_states])
    means = {x: np.mean(every[every[:, 0] == x, 1]) for x in np.unique(every[:, 0])}
    uneven = rp.fit([data], Anchor(1, lambda s: -5.0 + 0.1 * s[:, 1]), 0.95, **FORM)[0]
    even = rp.fit(
        [data],
        Anchor(1, lambda s: -5.0 + 0.1 * np.array([means[x] for x in s[:, 0]])),
        0.95,
        **FORM,
    )[0]
    assert extra(uneven, "cells") == 1
    expected = even.diagnostics.bellman_error
    assert uneven.diagnostics.bellman_error == pytest.approx(expected, rel=1e-9)
    constant = rp.fit([data], ANCHOR, 0.95, **FORM)[0]
    assert constant.diagnostics.bellman_error != pytest.approx(expected, rel=1e-3), "control"


def test_each_constant_of_a_form_has_a_value_in_each_cell() -> None:
    rng = np.random.default_rng(3)
    n = 600
    group = rng.integers(0, 2, n)
    action = np.where(group == 1, rng.choice(3, n, p=[0.7, 0.2, 0.1]), rng.integers(0, 3, n))
    x, after = (rng.integers(1, 4, n).astype(float) for _ in range(2))
    data = Transitions(
        np.column_stack([x, group]),
        action,
        np.column_stack([after, rng.integers(0, 2, n)]),
        number_of_actions=3,
    )

    def form(states: Array) -> Array:
        table = np.zeros((len(states), 3, 3))
        table[:, 1, 0], table[:, 2, 1], table[:, 2, 2] = -1.0, states[:, 0], -1.0
        return table

    def full(states: Array) -> Array:
        inside = np.eye(2)[states[:, 1].astype(int)]
        parts = form(states)
        costs = parts[:, :, [0, 2], None] * inside[:, None, None]
        return np.concatenate([parts[:, :, [1]], costs.reshape(-1, 3, 4)], axis=2)

    ours = rp.fit([data], Anchor(0, 0.0), 0.9, reward=LinearReward(form))[0]
    theirs = nfxp.fit([data], Anchor(0, 0.0), 0.9, reward=LinearReward(full))[0]
    assert extra(ours, "cells") == 2
    assert ours.diagnostics.converged
    np.testing.assert_allclose(extra(ours, "theta"), extra(theirs, "theta"), atol=1e-8)
    np.testing.assert_allclose(ours.q(data.states), theirs.q(data.states), atol=1e-7)


def test_many_thresholds_become_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = Moves.of(WORLD, [0])
    fine = grow(moves, [MATTERS])
    monkeypatch.setattr(rp, "MAX_THRESHOLDS", 2)
    coarse = grow(moves, [MATTERS])
    values = np.unique(WORLD.states[:, MATTERS])[:-1]
    assert coarse.gains[0] < fine.gains[0]
    assert all(s.threshold in (values[0], values[-1]) for s in coarse.partition.splits)


def test_few_observations_are_split_by_chance_up_to_the_limit() -> None:
    data = BusEngine(dummies=2).simulate(10, np.random.default_rng(5))
    found = rp.fit([data], ANCHOR, 0.95, max_cells=4, **FORM)[0]
    assert (extra(found, "cells"), extra(found, "stopped")) == (4, "max_cells")
