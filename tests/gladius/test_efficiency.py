"""The bounds against derivatives of the choices, their own definition and each other.

test_inference.py has the same covariances as derivatives of the estimators and as the spread of
estimates over data sets.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import halfnorm

from gladius.checks import Array, InputError
from gladius.efficiency import (
    bounds,
    linear_deviation,
    linearise,
    tabular_deviation,
)
from gladius.mdp import TabularMDP, soft_bellman
from gladius.worlds.bus import BusEngine

BUS = BusEngine()


def gambles() -> TabularMDP:
    """Four states with lopsided lotteries: the error of P-hat matters.

    r(x, 0) = -1.25 - x; the reward of the anchor, action 1, differs from state to state.
    """
    x = np.arange(1.0, 5.0)
    transition = np.zeros((2, 4, 4))
    transition[0] = np.array([[0.5, 0, 0, 0.5], [0, 0.2, 0.8, 0], [0, 0, 0, 1], [0, 0, 0, 1]])
    transition[1] = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0.2, 0, 0.8, 0], [0, 0, 1, 0]])
    reward = np.stack([-1.25 - x, np.array([-1.0, -7.0, -7.0, -5.0])], axis=1)
    return TabularMDP(reward, transition, 0.9, np.eye(4)[0], x[:, None])


def sloped(world: TabularMDP) -> Array:
    """(S, 2, 1) slope of action 0's reward in the first feature."""
    basis = np.zeros((*world.reward.shape, 1))
    basis[:, 0, 0] = world.features[:, 0]
    return basis


def constant(world: TabularMDP, action: int) -> Array:
    """(S, 2, 1) constant of an action's reward."""
    return np.broadcast_to(np.eye(2)[:, [action]], (*world.reward.shape, 1))


@pytest.mark.parametrize(("world", "horizon"), [(gambles(), 20), (BUS.mdp, BUS.horizon)])
def test_bounds_are_mean_absolute_errors_of_normal_deviations(
    world: TabularMDP, horizon: int
) -> None:
    """The classes of `Bounds` as its docstring has them, for two sizes of the training split."""
    sizes, expert = np.array([400.0, 100.0]), linearise(world, horizon)
    slope, affine = sloped(world), np.concatenate([sloped(world), constant(world, 0)], axis=2)
    deviations = {
        "affine_known_p": linear_deviation(expert, affine, is_known=True),
        "affine": linear_deviation(expert, affine, is_known=False),
        "tabular": tabular_deviation(expert, 1),
    }
    if world is BUS.mdp:  # whose rewards have no intercept
        both = np.concatenate([slope, constant(world, 1)], axis=2)
        deviations["known_p_both"] = linear_deviation(expert, both, is_known=True)
        deviations["known_p_slope"] = linear_deviation(expert, slope, is_known=True)
    weight = world.occupancy(horizon) / np.abs(world.reward)
    found = bounds(world, horizon, sizes)
    for name, deviation in deviations.items():
        error = 100 * np.sum(weight * halfnorm.mean() * deviation)
        np.testing.assert_allclose(getattr(found, name), error / np.sqrt(sizes * horizon))


@st.composite
def worlds(draw: st.DrawFn) -> TabularMDP:
    n, k = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    reward = draw(arrays(float, (n, k), elements=st.floats(-4, -0.25)))
    weight = draw(arrays(float, (k, n, n), elements=st.floats(0.05, 1)))
    start = draw(arrays(float, n, elements=st.floats(0.05, 1)))
    beta = draw(st.floats(0.1, 0.95))
    return TabularMDP(reward, weight / weight.sum(-1, keepdims=True), beta, start / start.sum())


few = settings(max_examples=30, deadline=None)


@few
@given(worlds(), st.data())
def test_response_is_the_derivative_of_the_choices(world: TabularMDP, data: st.DataObject) -> None:
    """In the reward, and in P through beta dP V alone."""
    n, k = world.reward.shape
    tilt = data.draw(arrays(float, (n, k), elements=st.floats(-1, 1)))
    twist = data.draw(arrays(float, (k, n, n), elements=st.floats(-1, 1)))
    twist = twist - twist.mean(axis=-1, keepdims=True)
    expert, h = linearise(world, 5), 1e-5

    def log_pi(step: float) -> Array:
        transition = world.transition + step * twist
        solution = soft_bellman(world.reward + step * tilt, transition, world.discount)
        return solution.q - solution.v[..., None]

    slope = (log_pi(h) - log_pi(-h)) / (2 * h)
    shock = tilt + world.discount * (twist @ world.solution.v).T
    np.testing.assert_allclose(expert.response @ shock.ravel(), slope.ravel(), atol=1e-6, rtol=1e-5)


@few
@given(worlds(), st.data())
def test_saturated_reward_has_the_tabular_bound(world: TabularMDP, data: st.DataObject) -> None:
    """Two routes, delta method and likelihood."""
    n, k = world.reward.shape
    anchor = data.draw(st.integers(0, k - 1))
    expert = linearise(world, 5)
    free = [(s, a) for s, a in product(range(n), range(k)) if a != anchor]
    basis = np.zeros((n, k, len(free)))
    for p, (s, a) in enumerate(free):
        basis[s, a, p] = 1.0
    expected = tabular_deviation(expert, anchor)
    assert np.all(expected[:, anchor] == 0)
    two_step = linear_deviation(expert, basis, is_known=False)
    np.testing.assert_allclose(two_step, expected, rtol=1e-5)
    assert np.all(linear_deviation(expert, basis, is_known=True) <= expected + 1e-9)


def test_classes_that_do_not_hold_the_truth_have_no_bound() -> None:
    curved = bounds(BusEngine(maintenance=lambda x: -0.25 * x**1.7).mdp, 100, [800])
    for name in ("known_p_both", "known_p_slope", "affine_known_p", "affine"):
        assert np.isnan(getattr(curved, name)[0])
    assert 0 < curved.tabular[0] < np.inf
    steep = bounds(gambles(), 20, [400])
    assert np.isnan(steep.known_p_slope[0])  # it has an intercept
    assert not np.isnan(steep.affine[0])


def one_state(first: float) -> TabularMDP:
    reward = np.array([[first, -2.0]])
    return TabularMDP(reward, np.ones((2, 1, 1)), 0.9, np.ones(1), np.ones((1, 1)))


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: bounds(BUS.mdp, 100, [0]), "trajectories"),
        (lambda: bounds(BUS.mdp, 100, [np.nan]), r"trajectories\[0\]"),
        (lambda: bounds(BUS.mdp, 0, [800]), "horizon"),
        (lambda: bounds(BUS.mdp, 3, [800]), "horizon"),  # mileage 13 is reached, no choice seen
        (lambda: bounds(one_state(-1.0), 5, [800]), "basis"),  # slope and intercept are one
        (lambda: bounds(replace(gambles(), reward=gambles().reward * [1, 0]), 20, [800]), "reward"),
        (lambda: bounds(one_state(-1e4), 5, [800]), r"reward\[0, 0\]"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], field: str) -> None:
    with pytest.raises(InputError, match=f"^{field} ="):
        call()
