"""RP: its criterion against plain counting, one true split, its limits."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from bus_engine import ANCHOR, BUS, FORM, Array
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_models import extra
from strategies import WHOLES, transitions

from gladius.baselines import nfxp, rp
from gladius.baselines.rp import MoveCodes, Partition, Split, grow
from gladius.designs.bus import bus_reward_given
from gladius.model.mdp import TabularMDP
from gladius.model.reward_form import LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions

# The criterion, counted plainly.


def plain_cell(partition: Partition, state: Sequence[float]) -> int:
    cell = 0
    for number, split in enumerate(partition.splits):
        if cell == split.cell and state[split.feature] > split.threshold:
            cell = number + 1
    return cell


def plain_score(data: Transitions, partition: Partition) -> tuple[float, float]:
    """(decision, transition) by the formulas of the module, one dictionary for each count."""
    keys: list[tuple[Any, ...]] = []
    for i in range(len(data)):
        state, successor = data.states[i].tolist(), data.next_states[i].tolist()
        source = (state[0], plain_cell(partition, state), int(data.actions[i]))
        end = (successor[0], plain_cell(partition, successor))
        keys.append(source + (("end", "end") if data.done[i] else end))

    def entropy(codes: Iterable[Any], smoothing: float) -> float:
        return float(sum(n * np.log(n + smoothing) for n in Counter(codes).values()))

    s, choices = rp.SMOOTHING, data.number_of_actions
    values = len(set(data.states[:, 0].tolist()) | set(data.next_states[:, 0].tolist()))
    m = values * len(partition)
    state_part = entropy((k[:2] for k in keys), s * choices * m)
    choice_part = entropy((k[:3] for k in keys), s * m)
    arrival = entropy((k[3:] for k in keys), s * choices * m)
    return choice_part - state_part, entropy(keys, s) - choice_part - arrival


@st.composite
def partitions(draw: st.DrawFn, most: int = 2) -> Partition:
    """Up to three cells (some may be empty) by thresholds near the data."""
    half = st.integers(-6, 6).map(lambda n: n / 2)
    number = draw(st.integers(0, most))
    return Partition(
        tuple(
            Split(draw(st.integers(0, k)), draw(st.sampled_from([1, 2])), draw(half))
            for k in range(number)
        )
    )


@settings(max_examples=100)
@given(
    transitions(max_rows=10, elements=WHOLES, actions=2, width=3),
    partitions(),
    st.sampled_from([1e-5, 0.5]),
)
def test_the_two_parts_are_those_of_plain_counting(
    data: Transitions, partition: Partition, smoothing: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rp, "SMOOTHING", smoothing)
        cells = partition.cells(data.states), partition.cells(data.next_states)
        parts = MoveCodes(data).score_terms(*cells, len(partition))
        np.testing.assert_allclose(parts, plain_score(data, partition), rtol=0, atol=1e-9)


@settings(max_examples=60)
@given(transitions(max_rows=10, elements=WHOLES, actions=2, width=3))
def test_the_split_taken_is_the_best_of_all(data: Transitions) -> None:
    partition, gains = grow(data)
    decision, transition = plain_score(data, Partition())
    weight = decision / transition if transition else 0.0
    scores = {}
    for feature in (1, 2):
        for threshold in np.unique(data.states[:, feature])[:-1]:
            split = Split(0, feature, float(threshold))
            parts = plain_score(data, Partition((split,)))
            scores[split] = parts[0] + weight * parts[1]
    score = decision + weight * transition
    best = max(scores.values(), default=score)
    if best > score + 1e-9:
        assert gains[0] == pytest.approx((best - score) / abs(score), rel=1e-6)
    if partition.splits:
        assert scores[partition.splits[0]] == pytest.approx(best, abs=1e-9)


# A dummy that matters.


def two_costs(costs: tuple[float, float]) -> TabularMDP:
    """The bus engine whose replacement cost depends on a group, 1 with chance 10/21 each period.

    State 2 (x - 1) + group.
    """
    chance = np.array([11 / 21, 10 / 21])
    move = np.broadcast_to(chance, (2, 2))
    transition = np.einsum("axy,gh->axgyh", BUS.mdp.transition, move).reshape(2, 40, 40)
    x, group = np.repeat(np.arange(1.0, 21), 2), np.tile([0, 1], 20)
    reward = np.stack([-x, -np.array(costs)[group]], axis=1)
    start = np.zeros(40)
    start[:2] = chance
    features = np.stack([x, group], axis=1).astype(float)
    return TabularMDP(reward, transition, 0.95, start, features)


MATTERS = 3  # the dummy whose sign is the group


def with_dummies(mdp: TabularMDP, rng: np.random.Generator) -> Transitions:
    """(mileage, dummies on -10 .. 10); dummy number MATTERS is positive in group 1."""
    paths = mdp.simulate(400, 100, rng)
    index = np.concatenate([paths.states, paths.next_states[:, -1:]], axis=1)
    q = rng.integers(-10, 11, (*index.shape, 5)).astype(float)
    positive, other = (rng.integers(*ends, index.shape) for ends in ((1, 11), (-10, 1)))
    q[..., MATTERS - 1] = np.where(index % 2 == 1, positive, other)
    s = np.concatenate([index[..., None] // 2 + 1.0, q], axis=-1)
    return Transitions.from_paths(s, paths.actions, 2)


WORLD = with_dummies(two_costs((3.0, 7.0)), np.random.default_rng(0))


def test_a_dummy_that_matters_is_split_and_both_costs_are_found() -> None:
    found = rp.fit([WORLD], ANCHOR, 0.95, **FORM)[0]
    assert extra(found, "partition").splits == (Split(0, MATTERS, 0.0),)
    assert extra(found, "gains")[0] > 0.1
    assert extra(found, "gains")[1] < 0.01
    assert found.diagnostics.converged
    theta = extra(found, "theta")
    assert np.all(np.abs(theta - [1.0, 3.0, 7.0]) < [0.1, 0.4, 0.7])
    states = np.zeros((4, 6))
    states[:, 0], states[:, MATTERS] = [1, 1, 5, 5], [-4, 6, 0, 1]
    np.testing.assert_allclose(found.reward(states, 1), -theta[[1, 2, 1, 2]])
    np.testing.assert_allclose(found.reward(states, 0), -theta[0] * states[:, 0])
    # with the true cells it is NFXP on the group
    states, successors = (
        np.column_stack([s[:, 0], s[:, MATTERS] > 0]) for s in (WORLD.states, WORLD.next_states)
    )

    def design(at: Array) -> Array:
        group = at[:, 1] == 1
        table = np.zeros((len(at), 2, 3))
        table[:, 0, 0] = -at[:, 0]
        table[~group, 1, 1] = table[group, 1, 2] = -1.0
        return table

    grouped = Transitions(states, WORLD.actions, successors, WORLD.trajectory)
    direct = nfxp.fit([grouped], ANCHOR, 0.95, reward=LinearReward(design))[0]
    np.testing.assert_allclose(extra(found, "theta"), extra(direct, "theta"), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.q(WORLD.states[:500]), direct.q(states[:500]), atol=1e-7)


def test_cells_may_matter_for_the_transitions_alone() -> None:
    """A form without constants has no cost that could differ between cells."""
    ours = rp.fit([WORLD], Anchor(1, -4.0), 0.95, reward=bus_reward_given(4.0))[0]
    assert len(extra(ours, "partition")) == 2
    assert extra(ours, "theta").shape == (1,)
    np.testing.assert_array_equal(ours.reward(WORLD.states[:50], 1), -4.0)


def test_many_thresholds_become_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rp, "MAX_THRESHOLDS", 2)
    np.testing.assert_array_equal(rp.candidates(np.arange(7.0)), [0.0, 5.0])
