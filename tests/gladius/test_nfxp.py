"""NFXP against finite differences, an independent optimiser, Monte Carlo and known answers."""

import numpy as np
import pytest
from bus_engine import ANCHOR, BUS, KNOWN, MDP, ORACLE, Array
from hypothesis import given, settings
from linear_models import THETAS, LinearModel, linear_models, log_likelihood

import gladius
from gladius.baselines import nfxp
from gladius.designs.bus import bus_design
from gladius.model.mdp import soft_bellman
from gladius.solvers.choice_logit import UNIDENTIFIED
from gladius.validate import InputError

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


def test_the_estimate_solves_its_own_bellman_equation() -> None:
    data = BUS.simulate(30, np.random.default_rng(3))
    estimate = gladius.fit(data, "nfxp", **KNOWN, **ORACLE)
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


def test_no_maximum_is_not_called_convergence() -> None:
    visits = np.zeros((1, 20, 2))
    visits[0, :5, 0] = 10.0  # nobody ever replaces: theta_1 runs off, its gradient vanishes
    known = -MDP.features * np.array([1.0, 0.0])
    found = nfxp.fit_counts(
        visits,
        MDP.transition,
        DESIGN[:, :, 1:],
        known,
        0.95,
        tolerance=1.0,
        max_iterations=30,
    )
    assert not found.converged[0]
    assert found.status == (UNIDENTIFIED,)
    assert np.max(np.abs(found.gradient)) < 1e-9, "the gradient alone would have called it"


def test_q_is_defined_on_the_grid_of_known_transitions() -> None:
    estimate = nfxp.fit([BUS.simulate(4, np.random.default_rng(5))], ANCHOR, 0.95, **ORACLE)[0]
    with pytest.raises(InputError, match=r"^grid ="):
        estimate.q(np.array([[2.5]]))


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
def test_no_information_is_no_convergence(start: float) -> None:
    """A known part of the reward makes choices certain at theta = 0 and the likelihood flat."""
    visits = np.zeros((1, 20, 2))
    visits[0, :5, 0] = 10.0
    never = np.zeros((20, 2))
    never[:, 1] = -1e4
    for design in (DESIGN, np.concatenate([DESIGN, DESIGN[:, :, :1]], axis=2), np.ones((20, 2, 1))):
        at = np.full((1, design.shape[2]), start)
        found = nfxp.fit_counts(visits, MDP.transition, design, never, 0.95, start=at)
        assert found.status == (UNIDENTIFIED,)
