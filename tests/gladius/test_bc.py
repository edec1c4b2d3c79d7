"""Behavioural cloning: the policy it learns, and the reward that its loss does not identify."""

from typing import Any

import numpy as np
import pytest
from bus_engine import ANCHOR, BUS, Array
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp
from strategies import transitions

import gladius
from gladius.baselines import bc
from gladius.designs.bus import BusEngine
from gladius.panel.record import Transitions
from gladius.solvers.networks import Training

GRID = BUS.mdp.features
LEVELS = st.integers(-400, 400).map(lambda n: n / 8)


def fit(data: Transitions, **options: Any) -> gladius.Estimate:
    return bc.fit([data], ANCHOR, 0.95, **options)[0]


def table(values: Array, states: Array) -> Any:
    """A function of (n, 1) features given by rows for the sorted distinct states."""
    known = np.unique(states)
    return lambda new: values[np.searchsorted(known, new[:, 0])]


@settings(max_examples=50)
@given(transitions(elements=st.integers(0, 5).map(float), actions=2, width=1), st.data())
def test_a_function_of_the_state_moves_only_the_network_normalisation(
    data: Transitions, draw: st.DataObject
) -> None:
    assume(len(np.unique(data.actions)) == 2)
    states = np.concatenate([data.states, data.next_states])
    grid = np.unique(states)[:, None]
    q = draw.draw(arrays(np.float64, (len(grid), 2), elements=LEVELS.map(lambda x: x / 10)))
    c = draw.draw(arrays(np.float64, (len(grid), 1), elements=LEVELS))
    levels = {"zero_value": logsumexp(q, axis=1), "mean_zero": q.mean(axis=1)}
    for normalisation in bc.NORMALISATIONS:
        found, before = bc.read_off(table(q, states), data, 0.9, normalisation)
        level = levels.get(normalisation, np.zeros(len(q)))
        np.testing.assert_allclose(found(grid), q - level[:, None], atol=1e-12)
        _, after = bc.read_off(table(q + c, states), data, 0.9, normalisation)
        pairs = sorted({(s, a) for s, a in zip(data.states[:, 0], data.actions, strict=True)})
        for s, a in pairs:
            state = np.array([[s]])
            rows = (data.states[:, 0] == s) & (data.actions == a)
            here, there = (np.searchsorted(grid[:, 0], x) for x in (s, data.next_states[rows, 0]))
            ends = data.done[rows]
            moved = c[here, 0] - 0.9 * np.mean(np.where(ends, 0.0, c[there, 0]))
            if normalisation == "network":
                v = np.where(ends, 0.0, logsumexp(q[there], axis=1))
                assert before(state)[0, a] == pytest.approx(q[here, a] - 0.9 * v.mean(), abs=1e-9)
            expected = moved if normalisation == "network" else 0.0
            assert after(state)[0, a] - before(state)[0, a] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_policy_approaches_the_frequencies(activation: str) -> None:
    data = BUS.simulate(200, np.random.default_rng(1))
    estimate = fit(data, training=Training(activation=activation))
    assert estimate.diagnostics.converged
    states, n = np.unique(data.states[:, 0], return_counts=True)
    often = states[n > 500]
    frequency = np.array([np.mean(data.actions[data.states[:, 0] == x] == 1) for x in often])
    # 2 x 10 units bend often enough for five states, not for each rare one
    np.testing.assert_allclose(estimate.policy(often)[:, 1], frequency, atol=0.02)
    picked = estimate.policy(data.states)[np.arange(len(data)), data.actions]
    assert estimate.diagnostics.nll == pytest.approx(-np.log(picked).mean())
    untrained = fit(data, training=Training(steps=1))
    assert estimate.diagnostics.nll < untrained.diagnostics.nll - 0.05


@given(arrays(np.float64, (6, 3), elements=st.integers(0, 40).map(float)), st.integers(0, 2))
def test_frequencies_beat_a_constant_where_the_criterion_of_schwarz_says_so(
    choices: Array, never: int
) -> None:
    choices[:, never] = 0.0
    assume(np.all(choices.sum(axis=1) > 0) and np.sum(choices.sum(axis=0) > 0) == 2)
    size = choices.sum()
    constant = np.log(np.maximum(choices.sum(axis=0), 1e-300) / size)
    share = choices / choices.sum(axis=1, keepdims=True)
    gain = np.sum(choices * (np.log(np.where(choices > 0, share, 1.0)) - constant))
    expected = gain > 5 * np.log(size) / 2
    assert bc.is_worse_than_frequencies(np.tile(constant, (6, 1)), choices) == expected
    assert not bc.is_worse_than_frequencies(np.log(np.maximum(share, 1e-300)), choices)


def test_a_run_stops_by_gradient_plateau_or_held_out_loss_and_else_has_not_converged() -> None:
    data = BUS.simulate(50, np.random.default_rng(3))
    by_gradient = fit(data, training=Training(tolerance=1e-3)).diagnostics
    assert by_gradient.converged
    assert by_gradient.gradient_norm <= 1e-3
    by_plateau = fit(data, training=Training(tolerance=1e-12)).diagnostics
    assert by_plateau.converged
    assert by_gradient.iterations < by_plateau.iterations < Training().steps
    cut = fit(data, training=Training(steps=10, tolerance=1e-9)).diagnostics
    assert cut.status == "not_converged"
    how = Training(validation=0.3, steps=2000)
    estimate = fit(data, rng=[np.random.default_rng(0)], training=how)
    _, held = data.split(0.7, np.random.default_rng(0))
    picked = estimate.policy(held.states)[np.arange(len(held)), held.actions]
    longer = fit(
        data, rng=[np.random.default_rng(0)], training=Training(validation=0.3, tolerance=1e-12)
    )
    again = longer.policy(held.states)[np.arange(len(held)), held.actions]
    assert -np.log(picked).mean() == pytest.approx(-np.log(again).mean(), abs=1e-3)
    assert estimate.diagnostics.converged
    assert estimate.diagnostics.iterations < 2000


def test_states_that_never_repeat_are_seen_in_batches() -> None:
    world = BusEngine(dummies=5)
    many, few = (
        world.simulate(30, np.random.default_rng(11)),
        BUS.simulate(5, np.random.default_rng(6)),
    )
    assert bc.default_training(many) == Training(batch=1000, validation=0.1)
    assert bc.default_training(few) == Training()
    train, test = many.split(0.8)
    estimate = gladius.fit(train, "bc", anchor_action=1, anchor_reward=-5.0, discount=0.95)
    assert estimate.diagnostics.converged
    assert np.all(np.isfinite(estimate.reward(test.states, test.actions)))


DATA = BUS.simulate(3, np.random.default_rng(12))


def test_an_action_without_data_has_no_reward() -> None:
    three = Transitions(DATA.states, DATA.actions, DATA.next_states, number_of_actions=3)
    estimate = bc.fit([three], ANCHOR, 0.95, training=Training(steps=5))[0]
    rewards = estimate.reward_function(GRID)
    np.testing.assert_array_equal(np.isnan(rewards), [[False, False, True]] * 20)
    np.testing.assert_allclose(estimate.policy(GRID).sum(axis=1), 1.0)
