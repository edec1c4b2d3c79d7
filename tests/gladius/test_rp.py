"""RP: its criterion against plain counting, its two ends (no split, one true split), its limits."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from strategies import WHOLES, transitions

from gladius.anchor import Anchor
from gladius.baselines import nfxp, rp
from gladius.baselines.rp_partition import (
    Criterion,
    Moves,
    Partition,
    Split,
    Tables,
    grow,
    held_out_score,
    parts,
)
from gladius.checks import InputError
from gladius.estimate import Estimate
from gladius.parametric import bus_design
from gladius.mdp import TabularMDP
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
ANCHOR = Anchor(1, -5.0)


def extra(estimate: Estimate, name: str) -> Any:
    return estimate.diagnostics.extra[name]


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


def plain_parts(data: Transitions, partition: Partition, s: float) -> tuple[float, float]:
    """(decision, transition) by the formulas of the module, one dictionary for each count."""

    def entropy(keys: Iterable[Any], added: float) -> float:
        return float(sum(n * np.log(n + added) for n in Counter(keys).values()))

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
    st.sampled_from([0.0, 1e-5, 0.5]),
    st.sampled_from([0.0, 0.7, 1.0]),
)
def test_gains_of_all_splits_are_differences_of_the_plain_criterion(
    data: Transitions, partition: Partition, s: float, weight: float
) -> None:
    moves, rule = Moves.of(data, [0]), Criterion(transition_weight=weight, smoothing=s)
    before = plain_parts(data, partition, s)
    np.testing.assert_allclose(parts(moves, partition, s), before, rtol=0, atol=1e-9)
    tables = Tables(moves, partition, rule, scale=0.3)
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
                data, Partition((*partition.splits, Split(cell, 2, float(threshold)))), s
            )
            expected = after[0] - before[0] + weight * 0.3 * (after[1] - before[1])
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
    rule = Criterion(max_cells=2, transition_weight=0.0 if factor < 0 else 1.0)
    one, two = (grow(Moves.of(d, [0]), [1, 2], rule) for d in (data, other))
    np.testing.assert_allclose(one.scores, two.scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.gains[0], two.gains[0], rtol=1e-6, atol=1e-9)


@settings(max_examples=100)
@given(arrays(np.float64, (8, 3), elements=WHOLES), partitions([0, 1, 2], most=4))
def test_cells_of_states_are_those_of_a_plain_walk(states: Array, partition: Partition) -> None:
    expected = [naive_cell(partition, state) for state in states.tolist()]
    np.testing.assert_array_equal(partition.cells(states), expected)


@settings(max_examples=100)
@given(
    transitions(max_rows=10, elements=WHOLES, actions=2, width=2),
    partitions([1]),
    st.integers(1, 9),
)
def test_held_out_score_is_the_log_likelihood_at_smoothed_frequencies(
    data: Transitions, partition: Partition, cut: int
) -> None:
    if cut >= len(data):
        return
    moves, rule = Moves.of(data, [0]), Criterion(transition_weight=0.7, smoothing=0.1)
    train = np.arange(len(data)) < cut
    found = held_out_score(moves.take(train), moves.take(~train), partition, rule, 0.3)
    keys = plain_keys(data, partition)
    m, s = values_of_x(data) * (1 + len(partition.splits)), 0.1
    move, choice, state, arrival = (
        Counter(k[part] for k in keys[:cut]) for part in (slice(5), slice(3), slice(2), slice(3, 5))
    )
    expected = 0.0
    for k in keys[cut:]:
        chosen = choice[k[:3]] + s * m
        expected += np.log(chosen / (state[k[:2]] + 2 * s * m))
        expected += 0.7 * 0.3 * np.log((move[k] + s) / chosen / (arrival[k[3:]] + 2 * s * m))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


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
    grown = grow(Moves.of(data, [0]), range(1, dummies + 1), Criterion())
    assert low < grown.gains[0] < high
    assert grown.stopped == "delta"
    assert len(grown.partition) == 1


def test_the_decision_part_alone_gains_a_few_nats_by_chance() -> None:
    for seed in range(5):  # known: 8 to 14 nats; the best of 200 divisions with about 8 degrees
        data = BusEngine(dummies=10).simulate(50, np.random.default_rng(seed))
        grown = grow(Moves.of(data, [0]), range(1, 11), Criterion(transition_weight=0.0))
        assert 5 < grown.gains[0] * -grown.scores[0] < 18


def test_irrelevant_dummies_make_it_nfxp_with_frequencies() -> None:
    data = BusEngine(dummies=10).simulate(50, [np.random.default_rng([50, r]) for r in range(3)])
    mileage = [
        Transitions(d.states[:, :1], d.actions, d.next_states[:, :1], d.trajectory) for d in data
    ]
    found, expected = rp.fit(data, ANCHOR, 0.95), nfxp.fit(mileage, ANCHOR, 0.95)
    forced = rp.fit(data, ANCHOR, 0.95, delta=0.0, max_cells=2)
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
    for given_cost in (False, True):
        ours = rp.fit([data], ANCHOR, 0.95, theta_1_given=given_cost)[0]
        theirs = nfxp.fit([data], ANCHOR, 0.95, theta_1_given=given_cost)[0]
        for name in ("theta", "se", "covariance", "log_likelihood", "inner_iterations"):
            np.testing.assert_array_equal(extra(ours, name), extra(theirs, name))
        assert ours.diagnostics.bellman_error == theirs.diagnostics.bellman_error
        assert extra(ours, "stopped") == "nothing to split"
    twice = Transitions(
        np.hstack([data.states] * 2), data.actions, np.hstack([data.next_states] * 2)
    )
    kept = rp.fit([twice], ANCHOR, 0.95, low=(0, 1))[0]  # nothing is left as q
    np.testing.assert_allclose(
        extra(kept, "theta"), extra(rp.fit([data], ANCHOR, 0.95)[0], "theta")
    )


def test_a_search_over_80_000_rows_and_100_dummies_is_quick() -> None:
    data = BusEngine(dummies=100).simulate(800, np.random.default_rng(0))
    started = time.process_time()
    grown = grow(Moves.of(data, [0]), range(1, 101), Criterion())
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
    found = rp.fit([WORLD], ANCHOR, 0.95)[0]
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
    single = rp.fit([WORLD], ANCHOR, 0.95, max_cells=1)[0]
    upkeep, cost = extra(single, "theta")
    assert extra(single, "cells") == 1
    assert single.diagnostics.converged
    assert abs(cost - 7.0) > 3
    assert abs(upkeep - 1.0) > 0.3
    assert single.diagnostics.nll > found.diagnostics.nll + 0.1


def test_with_the_true_cells_it_is_nfxp_on_the_group() -> None:
    found = rp.fit([WORLD], ANCHOR, 0.95)[0]
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
    direct = nfxp.fit([grouped], ANCHOR, 0.95, design=design)[0]
    np.testing.assert_allclose(extra(found, "theta"), extra(direct, "theta"), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.q(WORLD.states[:500]), direct.q(now[:500]), atol=1e-7)
    flipped = Transitions(now * [1, -1] + [0, 1], WORLD.actions, after * [1, -1] + [0, 1])
    other = nfxp.fit([flipped], ANCHOR, 0.95, design=design)[0]  # control: cells exchanged
    assert np.max(np.abs(extra(found, "theta") - extra(other, "theta"))) > 3


def test_a_persistent_dummy_that_matters_for_nothing_is_split_by_the_transition_part() -> None:
    data = with_dummies(two_costs((5.0, 5.0), same_group=1.0), 400, np.random.default_rng(2), 4)
    found = rp.fit([data], ANCHOR, 0.95)[0]
    assert extra(found, "partition").splits == (Split(0, MATTERS, 0.0),)
    theta, se = extra(found, "theta"), extra(found, "se")
    assert abs(theta[1] - theta[2]) < 8 * np.hypot(se[1], se[2])
    by_choices = rp.fit([data], ANCHOR, 0.95, transition_weight=0.0)[0]
    assert extra(by_choices, "cells") == 1


def test_validation_paths_cut_a_tree_grown_too_far() -> None:
    options: dict[str, Any] = {"transition_weight": 0.0, "delta": 1e-5, "max_cells": 5}
    far = rp.fit([WORLD], ANCHOR, 0.95, **options)[0]
    cut = rp.fit([WORLD], ANCHOR, 0.95, validation=0.25, **options)[0]
    assert extra(far, "cells") == 5
    assert extra(cut, "partition").splits == (Split(0, MATTERS, 0.0),)
    assert extra(cut, "stopped") == "max_cells"


def test_replications_together_are_as_alone_with_and_without_splits() -> None:
    plain = [BusEngine(dummies=5).simulate(20, np.random.default_rng([20, r])) for r in range(2)]
    data = [plain[0], WORLD.take(np.arange(4000)), plain[1]]
    together = rp.fit(data, ANCHOR, 0.95)
    assert [extra(one, "cells") for one in together] == [1, 2, 1]
    for one, batch in zip(data, together, strict=True):
        alone = rp.fit([one], ANCHOR, 0.95)[0]
        np.testing.assert_allclose(batch.q(one.states), alone.q(one.states), atol=1e-8)
        np.testing.assert_allclose(extra(batch, "theta"), extra(alone, "theta"), atol=1e-8)
        assert batch.diagnostics.iterations == alone.diagnostics.iterations


def test_a_cell_where_nobody_replaces_is_not_called_converged() -> None:
    kept_for_ever = two_costs((5.0, 5.0), same_group=1.0)
    data = with_dummies(kept_for_ever, 100, np.random.default_rng(6))
    data = data.take((data.states[:, MATTERS] <= 0) | (data.actions == 0))
    found = rp.fit([data], ANCHOR, 0.95, max_cells=2, max_iterations=40)[0]
    assert extra(found, "partition").splits == (Split(0, MATTERS, 0.0),)
    assert not found.diagnostics.converged
    assert found.diagnostics.status != "ok"


def test_few_observations_are_split_by_chance_and_validation_sees_it() -> None:
    data = BusEngine(dummies=2).simulate(10, np.random.default_rng(5))
    assert extra(rp.fit([data], ANCHOR, 0.95, max_cells=4)[0], "cells") == 4
    checked = rp.fit([data], ANCHOR, 0.95, max_cells=4, validation=0.3)[0]
    assert extra(checked, "cells") == 1


# Options.


def test_the_given_cost_is_that_of_every_cell_and_may_be_a_function() -> None:
    number = rp.fit([WORLD], Anchor(1, -4.0), 0.95, theta_1_given=True)[0]
    assert extra(number, "cells") == 2
    assert extra(number, "theta").shape == (1,)
    np.testing.assert_array_equal(number.reward(WORLD.states[:50], 1), -4.0)
    function = rp.fit([WORLD], Anchor(1, lambda s: -4.0 + 0 * s[:, 5]), 0.95, theta_1_given=True)[0]
    np.testing.assert_allclose(extra(function, "theta"), extra(number, "theta"), atol=1e-9)

    def by_sign(states: Array) -> Array:
        return np.where(states[:, MATTERS] > 0, -7.0, -3.0)

    true = rp.fit([WORLD], Anchor(1, by_sign), 0.95, theta_1_given=True)[0]
    np.testing.assert_allclose(true.reward(WORLD.states[:50], 1), by_sign(WORLD.states[:50]))
    assert true.diagnostics.nll < number.diagnostics.nll - 0.05
    np.testing.assert_allclose(extra(true, "theta"), 1.0, atol=0.05)


def test_the_last_trajectories_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def recorded(moves: Moves, features: Sequence[int], rule: Criterion) -> Any:
        seen.append(list(dict.fromkeys(moves.data.trajectory.tolist())))
        return grow(moves, features, rule)

    monkeypatch.setattr(rp, "grow", recorded)
    data = BusEngine(dummies=1).simulate(20, np.random.default_rng(1))
    labels = [f"bus {(7 * i) % 20}" for i in range(20)]  # in no order of their names
    named = Transitions(
        data.states, data.actions, data.next_states, np.array(labels)[data.trajectory]
    )
    rp.fit([named], ANCHOR, 0.95, validation=0.25)
    assert seen == [labels[:15], labels]


def test_an_anchor_that_is_a_function_is_averaged_in_each_data_set_alone() -> None:
    data = BusEngine(dummies=2).simulate(20, [np.random.default_rng([9, r]) for r in range(2)])
    uneven = Anchor(1, lambda s: -5.0 + 0.1 * s[:, 1])
    together = rp.fit(data, uneven, 0.95, theta_1_given=True)
    for one, batch in zip(data, together, strict=True):
        alone = rp.fit([one], uneven, 0.95, theta_1_given=True)[0]
        np.testing.assert_allclose(extra(batch, "theta"), extra(alone, "theta"), atol=1e-10)
        everywhere = np.concatenate([one.states, one.next_states])
        at_two = everywhere[everywhere[:, 0] == 2]
        mean = np.mean(-5.0 + 0.1 * at_two[:, 1])
        np.testing.assert_allclose(batch.reward(at_two[:3], 1), mean, rtol=1e-12)


def test_a_form_of_ones_own_gets_a_cost_for_each_action_and_cell() -> None:
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
        table = np.zeros((len(states), 3, 1))
        table[:, 2, 0] = states[:, 0]
        return table

    def full(states: Array) -> Array:
        costs = np.zeros((len(states), 3, 2, 2))
        for i, g in enumerate(states[:, 1].astype(int)):
            costs[i, 1, 0, g] = costs[i, 2, 1, g] = -1.0
        return np.concatenate([form(states), costs.reshape(-1, 3, 4)], axis=2)

    ours = rp.fit([data], Anchor(0, 0.0), 0.9, design=form)[0]
    theirs = nfxp.fit([data], Anchor(0, 0.0), 0.9, design=full)[0]
    assert extra(ours, "cells") == 2
    assert ours.diagnostics.converged
    np.testing.assert_allclose(extra(ours, "theta"), extra(theirs, "theta"), atol=1e-8)


def test_the_maximum_does_not_depend_on_the_start() -> None:
    data = [WORLD.take(np.arange(5000))] * 3
    starts = np.array([[0.0, 0.0], [3.0, 12.0], [-1.0, 1.0]])
    found = rp.fit(data, ANCHOR, 0.95, start=starts)
    assert all(one.diagnostics.converged for one in found)
    for one in found[1:]:
        np.testing.assert_allclose(extra(one, "theta"), extra(found[0], "theta"), atol=1e-6)
    assert len({one.diagnostics.iterations for one in found}) > 1, "the start was not used"
    spread = rp._per_cell(np.array([[1.0, 2.0, 3.0]]), cells=2, costs=2)
    np.testing.assert_array_equal(spread, [[1, 2, 2, 3, 3]])
    default = rp.fit(data[:1], ANCHOR, 0.95)[0]
    np.testing.assert_array_equal(extra(default, "theta"), extra(found[0], "theta"))


def test_many_thresholds_become_quantiles_and_cells_keep_their_least_size() -> None:
    moves = Moves.of(WORLD, [0])
    coarse = grow(moves, [MATTERS], Criterion(max_thresholds=2))
    values = np.unique(WORLD.states[:, MATTERS])[:-1]
    assert coarse.gains[0] < grow(moves, [MATTERS], Criterion()).gains[0]
    assert all(s.threshold in (values[0], values[-1]) for s in coarse.partition.splits)
    positive = int(np.sum(WORLD.states[:, MATTERS] > 0))
    for least in (positive, positive + 1):
        partition = grow(moves, [MATTERS], Criterion(min_size=least)).partition
        sizes = np.bincount(partition.cells(WORLD.states))
        assert np.all(sizes >= least)
        assert (Split(0, MATTERS, 0.0) in partition.splits) == (least == positive)


SMALL = BusEngine(dummies=2).simulate(25, np.random.default_rng(5))
THREE = Transitions(SMALL.states, SMALL.actions, SMALL.next_states, number_of_actions=3)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"low": ()}, "low"),
        ({"low": (0, 0)}, "low"),
        ({"low": 0}, "low"),
        ({"low": (3,)}, "low"),
        ({"low": (-1,)}, "low"),
        ({"low": (0.5,)}, "low"),
        ({"design": lambda s: np.ones((len(s), 3, 1))}, "design"),
        ({"design": lambda s: np.ones((len(s), 2))}, "design"),
        ({"design": bus_design, "theta_1_given": True}, "theta_1_given"),
        ({"transition_weight": -1.0}, "transition_weight"),
        ({"delta": np.nan}, "delta"),
        ({"smoothing": np.inf}, "smoothing"),
        ({"min_size": -1}, "min_size"),
        ({"max_cells": 0}, "max_cells"),
        ({"max_thresholds": 0}, "max_thresholds"),
        ({"validation": 1.0}, "validation"),
        ({"validation": 0.01}, "validation"),
        ({"validation": 0.5, "smoothing": 0.0}, "smoothing"),
        ({"start": np.zeros(2)}, "start"),
        ({"start": np.zeros((1, 3))}, "start"),
        ({"start": np.zeros((1, 2)), "theta_1_given": True}, "start"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        rp.fit([SMALL], ANCHOR, 0.95, **options)
    assert caught.value.field == field


def test_constants_in_the_form_are_reported_as_not_identified() -> None:
    found = rp.fit([SMALL], ANCHOR, 0.95, design=bus_design)[0]  # its constant is a cell's as well
    assert found.diagnostics.status == nfxp.UNIDENTIFIED


def test_bad_data_name_the_field() -> None:
    with pytest.raises(InputError) as caught:
        rp.fit([THREE], ANCHOR, 0.95)
    assert caught.value.field == "design"
    with pytest.raises(InputError) as caught:
        rp.fit([SMALL], Anchor(0, -1.0), 0.95, theta_1_given=True)
    assert caught.value.field == "anchor_action"
