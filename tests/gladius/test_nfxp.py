"""NFXP against finite differences, an independent optimiser, Monte Carlo and known answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from linear_models import THETAS, LinearModel, extra, linear_models, log_likelihood
from numpy.typing import NDArray
from scipy.optimize import minimize

import gladius
from gladius.anchor import Anchor
from gladius.baselines import nfxp
from gladius.baselines.choice_logit import CERTAIN, UNIDENTIFIED
from gladius.checks import InputError
from gladius.mdp import TabularMDP, soft_bellman
from gladius.worlds.bus import BUS_REWARD, BusEngine, bus_design

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
FORM: dict[str, Any] = {"reward": BUS_REWARD}
ORACLE: dict[str, Any] = {**FORM, "transition": BUS.known_transitions}
DESIGN = bus_design(MDP.features)
NO_OFFSET = np.zeros((20, 2))


def analytic(model: LinearModel, theta: Array) -> tuple[Array, Array, Array]:
    solution = soft_bellman(model.offset + model.design @ theta, model.transition, model.discount)
    slope, hessian, _ = nfxp.derivatives(
        model.visits[None],
        model.transition,
        model.design,
        solution.q[None],
        solution.v[None],
        model.discount,
    )
    seen = model.visits.sum(axis=1, keepdims=True)  # expected choices have minus the information
    expected = (seen * solution.policy)[None]
    _, information, _ = nfxp.derivatives(
        expected, model.transition, model.design, solution.q[None], solution.v[None], model.discount
    )
    return slope[0], hessian[0], -information[0]


@settings(max_examples=50)
@given(linear_models(), THETAS)
def test_derivatives_are_finite_differences_of_the_plain_likelihood(
    model: LinearModel, theta: Array
) -> None:
    slope, hessian, information = analytic(model, theta)
    h = 1e-5
    ends = [(theta + e, theta - e) for e in h * np.eye(2)]
    numeric = [
        (log_likelihood(up, model) - log_likelihood(down, model)) / (2 * h) for up, down in ends
    ]
    # error of the quotient: h^2 times third derivatives, plus rounding of the likelihood over h
    scale = max(1.0, float(np.abs(slope).max()), abs(log_likelihood(theta, model)))
    np.testing.assert_allclose(slope, numeric, rtol=0, atol=1e-6 * scale)
    curvature = [(analytic(model, up)[0] - analytic(model, down)[0]) / (2 * h) for up, down in ends]
    scale = max(1.0, float(np.abs(hessian).max()), float(np.abs(information).max()))
    np.testing.assert_allclose(hessian, curvature, rtol=0, atol=1e-5 * scale)


def test_population_counts_return_theta() -> None:
    found = nfxp.fit_counts(MDP.occupancy(100)[None], MDP.transition, DESIGN, NO_OFFSET, 0.95)
    np.testing.assert_allclose(found.theta[0], [1.0, 5.0], atol=1e-8)
    assert found.converged[0]
    assert found.status == ("ok",)
    np.testing.assert_allclose(found.q[0], MDP.solution.q, atol=1e-6)


@settings(max_examples=25)
@given(linear_models(), THETAS)
def test_population_counts_of_any_model_return_its_theta(model: LinearModel, theta: Array) -> None:
    truth = TabularMDP(
        model.offset + model.design @ theta,
        model.transition,
        model.discount,
        np.full(len(model.visits), 1 / len(model.visits)),
    )
    visits = 1e3 * truth.solution.policy
    _, _, information = analytic(model._replace(visits=visits), theta)
    assume(np.linalg.eigvalsh(information)[0] > 1.0)
    found = nfxp.fit_counts(
        visits[None], model.transition, model.design, model.offset, model.discount
    )
    # the likelihood need not be concave: a stationary point elsewhere must not be better
    if found.converged[0] and np.max(np.abs(found.theta[0] - theta)) > 1e-6:
        best = log_likelihood(theta, model._replace(visits=visits))
        assert found.log_likelihood[0] <= best + 1e-9 * abs(best)
    else:
        assert found.converged[0]


def test_agrees_with_an_independent_optimiser_and_likelihood() -> None:
    data = BUS.simulate(40, np.random.default_rng(7))
    fitted = nfxp.fit([data], ANCHOR, 0.95, **ORACLE)[0]
    visits = np.zeros((20, 2))
    np.add.at(visits, (data.states[:, 0].astype(int) - 1, data.actions), 1.0)

    def loss(theta: Array) -> float:
        value = log_likelihood(theta, LinearModel(visits, MDP.transition, DESIGN, NO_OFFSET, 0.95))
        return float(-value / visits.sum())

    other = minimize(
        loss, [0.5, 2.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-14}
    )
    # a minimum found by values alone is known to the root of their rounding
    np.testing.assert_allclose(extra(fitted, "theta"), other.x, atol=2e-6)
    np.testing.assert_allclose(fitted.diagnostics.nll, other.fun, rtol=1e-12)
    h = 1e-3
    curvature = np.empty((2, 2))
    for i, a in enumerate(h * np.eye(2)):
        for j, b in enumerate(h * np.eye(2)):
            signs = [(a + b), (a - b), (b - a), (-a - b)]
            w = [loss(other.x + step) for step in signs]
            curvature[i, j] = visits.sum() * (w[0] - w[1] - w[2] + w[3]) / (4 * h * h)
    se = np.sqrt(np.diagonal(np.linalg.inv(curvature)))
    np.testing.assert_allclose(extra(fitted, "se"), se, rtol=1e-3)


def test_standard_errors_match_the_spread_over_400_data_sets() -> None:
    rngs = [np.random.default_rng([400, i]) for i in range(400)]
    paths = MDP.simulate(30, 100, rngs)
    cell = (np.arange(400)[:, None, None] * 20 + paths.states) * 2 + paths.actions
    visits = np.bincount(cell.ravel(), minlength=400 * 40).reshape(400, 20, 2).astype(float)
    found = nfxp.fit_counts(visits, MDP.transition, DESIGN, NO_OFFSET, 0.95)
    assert np.all(found.converged)
    spread = found.theta.std(axis=0, ddof=1)
    stated = np.sqrt(np.mean(found.se**2, axis=0))
    # the sd of 400 normal draws is off by 1/sqrt(800) = 3.5 %: four of these, and some skewness
    np.testing.assert_allclose(stated / spread, 1.0, atol=0.16)
    inside = np.mean(np.abs(found.theta - [1.0, 5.0]) <= 1.96 * found.se, axis=0)
    assert np.all(np.abs(inside - 0.95) <= 4 * np.sqrt(0.95 * 0.05 / 400) + 0.01)


def test_the_estimate_solves_its_own_bellman_equation() -> None:
    data = BUS.simulate(30, np.random.default_rng(3))
    estimate = gladius.fit(
        data, "nfxp", anchor_action=1, anchor_reward=-5.0, discount=0.95, **ORACLE
    )
    v = np.log(np.exp(estimate.q(MDP.features)).sum(axis=1))
    expected = estimate.reward_function(MDP.features) + 0.95 * (MDP.transition @ v).T
    np.testing.assert_allclose(estimate.q(MDP.features), expected, atol=1e-9)
    replaced = data.actions == 1
    residual = -5.0 + 0.95 * v[data.next_states[replaced, 0].astype(int) - 1]
    residual -= estimate.q(data.states[replaced])[:, 1]
    share = np.sum(residual**2) / len(data)  # after replacement s' = 1 for sure
    np.testing.assert_allclose(estimate.diagnostics.bellman_error, share, rtol=1e-6)
    assert estimate.diagnostics.bellman_error > 0


def test_units_of_a_feature_do_not_matter() -> None:
    visits = MDP.occupancy(100)[None] * 1e4
    large = DESIGN * np.array([1e5, 1.0])
    found = nfxp.fit_counts(visits, MDP.transition, large, NO_OFFSET, 0.95)
    assert found.converged[0]
    np.testing.assert_allclose(found.theta[0] * [1e5, 1.0], [1.0, 5.0], atol=1e-7)


@pytest.mark.parametrize("tolerance", [1e-6, 1.0])
def test_no_maximum_is_not_called_convergence(tolerance: float) -> None:
    visits = np.zeros((1, 20, 2))
    visits[0, :5, 0] = 10.0  # nobody ever replaces: theta_1 runs off, its gradient vanishes
    known = -MDP.features * np.array([1.0, 0.0])
    found = nfxp.fit_counts(
        visits,
        MDP.transition,
        DESIGN[:, :, 1:],
        known,
        0.95,
        tolerance=tolerance,
        max_iterations=30,
    )
    assert not found.converged[0]
    assert found.status == (CERTAIN,)
    assert np.all(np.isnan(found.covariance))
    assert np.max(np.abs(found.gradient)) < 1e-9, "the gradient alone would have called it"


def test_a_parameter_without_effect_is_reported() -> None:
    twice = np.concatenate([DESIGN, DESIGN[:, :, :1]], axis=2)
    found = nfxp.fit_counts(MDP.occupancy(100)[None], MDP.transition, twice, NO_OFFSET, 0.95)
    assert not found.converged[0]
    assert found.status == (UNIDENTIFIED,)


def test_too_few_steps_are_not_convergence() -> None:
    visits = MDP.occupancy(100)[None]
    found = nfxp.fit_counts(visits, MDP.transition, DESIGN, NO_OFFSET, 0.95, max_iterations=3)
    assert found.iterations[0] == 3
    assert not found.converged[0]


def test_q_is_defined_on_the_grid_of_known_transitions_and_r_anywhere() -> None:
    estimate = nfxp.fit([BUS.simulate(4, np.random.default_rng(5))], ANCHOR, 0.95, **ORACLE)[0]
    with pytest.raises(InputError) as caught:
        estimate.q(np.array([[2.5]]))
    assert caught.value.field == "grid"
    theta = extra(estimate, "theta")
    np.testing.assert_allclose(estimate.reward(np.array([[2.5]]), 0), -2.5 * theta[0])


def test_the_maximum_does_not_depend_on_the_start() -> None:
    """In the second half the information is zero to the last digit: no Newton step exists."""
    data = BUS.simulate(50, np.random.default_rng(4))
    near = [[0.0, 0.0], [5.0, 20.0], [-2.0, 1.0], [0.1, -9.0]]
    far = [[1000.0, 5.0], [-1000.0, 5.0], [1e6, 1e6], [-50.0, 50.0]]
    found = nfxp.fit([data] * 8, ANCHOR, 0.95, start=np.array(near + far), **FORM)
    assert [e.diagnostics.status for e in found] == ["ok"] * 8
    theta = np.stack([extra(e, "theta") for e in found])
    np.testing.assert_allclose(theta, np.broadcast_to(theta[0], theta.shape), atol=1e-8)
    assert len({e.diagnostics.iterations for e in found}) > 1, "the start was not used"


def test_a_start_is_left_only_where_the_choices_observed_are_certain() -> None:
    def fit(visits: Array, design: Array, start: list[float]) -> nfxp.NfxpFit:
        states, actions = visits.shape
        law = np.full((actions, states, states), 1 / states)  # so that choices are static
        none, at = np.zeros(visits.shape), np.array([start])
        return nfxp.fit_counts(visits[None], law, design, none, 0.5, start=at)

    # one state of three choices tells of two parameters: at the maximum nothing moves
    theta = np.array([1.0, -0.5])
    design = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    shares = np.exp(design @ theta) / np.exp(design @ theta).sum()
    found = fit(100 * shares, design, [1.0, -0.5])
    assert found.status == ("ok",)
    assert found.iterations[0] == 0
    # choices open in a state that is never seen tell nothing; the maximum is at 0
    design = np.array([[[1.0], [0.0]], [[0.0], [0.0]]])
    found = fit(np.array([[5.0, 5.0], [0.0, 0.0]]), design, [1e5])
    assert found.status == ("ok",)
    np.testing.assert_allclose(found.theta, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.log_likelihood, 10 * np.log(0.5))


@pytest.mark.parametrize("start", [0.0, 7.0])
def test_no_information_is_not_called_a_lack_of_identification(start: float) -> None:
    """A known part of the reward makes choices certain at theta = 0 and the likelihood flat."""
    visits = np.zeros((1, 20, 2))
    visits[0, :5, 0] = 10.0
    never = np.zeros((20, 2))
    never[:, 1] = -1e4

    def status(design: Array) -> str:
        at = np.full((1, design.shape[2]), start)
        return nfxp.fit_counts(visits, MDP.transition, design, never, 0.95, start=at).status[0]

    assert status(DESIGN) == CERTAIN
    assert status(np.concatenate([DESIGN, DESIGN[:, :, :1]], axis=2)) == UNIDENTIFIED
    assert status(np.ones((20, 2, 1))) == UNIDENTIFIED  # a constant of all rewards
