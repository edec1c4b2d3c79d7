"""AIRL: what it identifies (the choices), what it does not (the reward), and the anchored form."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from bus_engine import ANCHOR, BUS, Array
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import iterated
from scipy.special import logsumexp, softmax
from strategies import laws, transitions

from gladius.baselines import airl
from gladius.baselines.airl import expected_visits, path_starts
from gladius.model import inversion as plug_in
from gladius.model.frequencies import empirical_transition_probabilities
from gladius.model.mdp import TabularMDP
from gladius.panel.record import Transitions, group, index_rows

SHARE = BUS.mdp.occupancy(100)
LOG_POLICY = np.log(BUS.mdp.solution.policy)


def fitted(data: Transitions, **options: Any) -> Any:
    return airl.fit([data], ANCHOR, 0.95, **options)[0]


def population(mdp: TabularMDP, horizon: int, **options: Any) -> airl.Equilibrium:
    """The game on the expected rows of 1e6 paths under the true moves, no pseudo rows."""
    return airl.fit_counts(
        mdp.features,
        1e6 * mdp.occupancy(horizon),
        mdp.transition,
        np.tile(1e6 / horizon * mdp.initial, (horizon, 1)),
        mdp.discount,
        **{"pseudo_count": 0.0, "tolerance": 1e-12, **options},
    )


def random_start(seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return 5 * rng.standard_normal((20, 2)), 5 * rng.standard_normal(20)


# --- what the method finds in the population --------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_any_shaping_finds_the_choices_and_none_the_reward(seed: int) -> None:
    start = random_start(seed)
    end = population(BUS.mdp, 100, start=start)
    assert end.status == "ok"
    np.testing.assert_allclose(end.f, LOG_POLICY, atol=1e-6)
    np.testing.assert_allclose(end.log_policy, LOG_POLICY, atol=1e-6)
    np.testing.assert_allclose(end.objective, np.log(4), atol=1e-12)
    following = np.einsum("aij,j->ia", BUS.mdp.transition, end.phi)
    implied = LOG_POLICY + end.phi[:, None] - 0.95 * following
    np.testing.assert_allclose(end.g, implied, atol=1e-6)
    wrong_by = np.sum(SHARE * np.abs(end.g / BUS.mdp.reward - 1))
    assert wrong_by > 0.5
    other = population(BUS.mdp, 100, start=random_start(seed + 10))
    assert np.abs(end.g - other.g).max() > 0.5  # the start moves the reward


# --- the two players, against plain oracles ---------------------------------------------------


@settings(max_examples=100)
@given(st.data())
def test_expected_visits_are_those_of_a_walk(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 4))
    flow = data.draw(laws((size, size), self_loops=True)) * data.draw(st.sampled_from([1.0, 0.5]))
    number = data.draw(st.integers(1, 4))
    first = data.draw(arrays(np.int64, number, elements=st.integers(0, size - 1)))
    length = data.draw(arrays(np.int64, number, elements=st.integers(1, 9)))
    visits = np.zeros(size)
    for at, periods in zip(first, length, strict=True):
        here = np.eye(size)[at]
        for _ in range(periods):
            visits += here
            here = here @ flow
    label = np.repeat(np.arange(number), length)
    states = np.zeros(len(label))
    states[np.searchsorted(label, np.arange(number))] = first
    rows = Transitions(states[:, None], np.zeros(len(label), int), states[:, None], label)
    starts = path_starts(rows, np.arange(size, dtype=float)[:, None])
    assert len(starts) == length.max()
    rolled = expected_visits(starts, flow, 7.0)
    np.testing.assert_allclose(rolled, 7 * visits / visits.sum(), rtol=1e-9, atol=1e-12)


def test_at_the_end_neither_player_can_gain() -> None:
    """The equilibrium checked from scratch: value iteration, a walk, the discriminator's slope."""
    data = BUS.simulate(60, np.random.default_rng(6))
    estimate = fitted(data)
    assert estimate.diagnostics.converged
    counts = group(data)
    moves, size = empirical_transition_probabilities(counts).transition[0], len(counts.states)
    g, phi = (np.asarray(estimate.diagnostics.extra[name]) for name in ("g", "phi"))

    def slope(shift: float) -> float:
        f = g + 0.95 * np.einsum("aij,j->ia", moves, phi) - phi[:, None]
        f[2, 0] += shift
        policy = softmax(iterated(f, moves, 0.95), axis=1)
        if shift == 0:
            np.testing.assert_allclose(estimate.policy(counts.states), policy, atol=1e-10)
        visits, here = np.zeros(size), 60.0 * np.eye(size)[0]
        for _ in range(100):
            visits += here
            here = here @ np.einsum("ia,aij->ij", policy, moves)
        log_expert = np.log(plug_in.choice_frequencies(counts.visits, counts.states, 0.5)[0])
        expert = (counts.seen[0] + 1)[:, None] * np.exp(log_expert)
        rolled = (visits + 1)[:, None] * policy
        d = np.exp(f) / (np.exp(f) + policy)
        return float(np.max(np.abs(rolled * d - expert * (1 - d)) / (rolled + expert)))

    assert slope(0.0) < 2e-9
    assert slope(0.01) > 1e-4  # control


# --- on data ----------------------------------------------------------------------------------


def test_anchored_agrees_with_the_plug_in_on_the_same_moves_and_choices() -> None:
    data = BUS.simulate(40, np.random.default_rng([7, 0]))
    closed, paths = plug_in.fit([data], ANCHOR, 0.95)[0], fitted(data, anchored=True)
    counts = group(data)
    moves = empirical_transition_probabilities(counts).transition[0]
    one_period = counts.seen[:1]  # roll-outs from where the data are
    same = airl.fit_counts(
        counts.states, counts.visits[0], moves, one_period, 0.95, anchor=ANCHOR, tolerance=1e-13
    )
    np.testing.assert_allclose(same.g, closed.reward_function(counts.states), atol=1e-8)
    v = logsumexp(closed.q(counts.states), axis=1)
    np.testing.assert_allclose(same.v, v, atol=1e-8)
    # whole roll-outs weigh the states otherwise than the data do, and that shows
    grid = np.arange(1.0, 6.0)[:, None]
    gap = np.abs(paths.reward_function(grid) - closed.reward_function(grid)).max()
    assert 1e-5 < gap < 1


def test_the_start_is_drawn_for_each_data_set_from_its_own_generator() -> None:
    data = [BUS.simulate(8, np.random.default_rng(12))] * 2

    def rewards(rng: Any) -> list[Array]:
        both = airl.fit(data, ANCHOR, 0.95, start_spread=1.0, rng=rng)
        return [estimate.reward_function(data[0].states) for estimate in both]

    first, second = rewards([np.random.default_rng(seed) for seed in (0, 1)])
    assert np.abs(first - second).max() > 0.5
    again, _ = rewards([np.random.default_rng(seed) for seed in (0, 2)])
    np.testing.assert_array_equal(first, again)


@settings(max_examples=60)
@given(transitions(width=1))
def test_paths_start_where_the_data_start(data: Transitions) -> None:
    grid, _ = index_rows([data.states])
    first: dict[int, float] = {}
    for state, label in zip(data.states[:, 0], data.trajectory, strict=True):
        first.setdefault(int(label), float(state))
    length = Counter(int(label) for label in data.trajectory)
    ended = {int(label) for label in data.trajectory[data.done]}
    longest = max(length.values())
    periods = {label: longest if label in ended else length[label] for label in first}
    started = np.zeros((longest, len(grid)))
    for label, state in first.items():
        started[: periods[label], np.flatnonzero(grid[:, 0] == state)[0]] += 1
    np.testing.assert_array_equal(path_starts(data, grid), started)
