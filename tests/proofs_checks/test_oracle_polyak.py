"""The appendix's constants: against hand values, exact inverses and direct minimisation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from proofs_checks.oracle.grouped import Sample
from proofs_checks.oracle.smooth import Sizes
from scipy.optimize import minimize_scalar

from gladius.approximators import MLP
from proofs_checks.oracle import polyak
from proofs_checks.worlds import VALUES, Empirical, empirical

ENTRIES = st.floats(-2, 2, width=32)


def by_hand() -> polyak.Constants:
    """gamma = (1/2) / sqrt(4), kappa = 2."""
    return polyak.Constants(
        actions=2,
        states=2,
        discount=0.5,
        nll_least=0.25,
        be_least=0.2,
        be_most=0.8,
        least_choice=0.1,
        parallel=0.5,
    )


def test_constants_by_hand() -> None:
    of = by_hand()
    assert (of.gamma, of.kappa) == (0.25, 2.0)
    assert of.bellman == pytest.approx(2 * 0.0625 * 0.04 / 0.8)
    assert of.nll == pytest.approx(0.0125)
    assert of.nll_share == pytest.approx(0.1)
    # the printed min{p_- omega / (4 (1 + kappa^2)), gamma^2 omega_min^2 / omega_max}
    assert of.combined == pytest.approx(min(0.025 / 20, 0.0625 * 0.04 / 0.8))


def test_constants_of_one_state_two_actions() -> None:
    """A' = beta p - e_0 at p = 1/2: within the block (-1/2, 1/2), so |.| = 1 / sqrt 2."""
    sample = Sample(np.ones((1, 2, 1)), np.array([0]), np.zeros(1), 0.9)
    of = polyak.constants(sample, np.zeros((1, 2)))
    assert of.parallel == pytest.approx(1 / math.sqrt(2))
    assert of.gamma == pytest.approx(0.1 / math.sqrt(2))
    assert of.least_choice == pytest.approx(0.5)
    assert of.kappa == pytest.approx(10.0)
    assert (of.nll_least, of.be_least, of.be_most) == (1.0, 1.0, 1.0)


@given(empirical())
def test_parts_within_and_between_blocks_are_orthogonal(at: Empirical) -> None:
    rows = at.sample.residual_jacobian(at.q)
    within = polyak.within_blocks(rows, at.q.shape[1])
    between = rows - within
    np.testing.assert_allclose(within.reshape(-1, at.q.shape[1]).sum(axis=1), 0, atol=1e-12)
    assert np.abs(within @ between.T).max() < 1e-12
    assert np.ptp(between.reshape(-1, at.q.shape[1]), axis=1).max() < 1e-12


@given(arrays(np.float64, (3, 4), elements=ENTRIES))
def test_least_eigenvalue_is_that_of_the_gram_matrix(jacobian: np.ndarray) -> None:
    gram = np.linalg.eigvalsh(jacobian @ jacobian.T)[0]
    assert polyak.least_eigenvalue(jacobian) == pytest.approx(gram, abs=1e-12)
    assert polyak.least_eigenvalue(jacobian.T) == 0.0


@given(
    arrays(np.float64, 3 * 1 + 3 + 3 * 2 + 2, elements=ENTRIES),
    arrays(np.float64, (2, 1), elements=ENTRIES),
)
def test_tanh_jacobian_is_the_library_s(theta: np.ndarray, x: np.ndarray) -> None:
    _, jacobian = MLP(1, 2, (3,)).jacobian(theta[None], x)
    ours = polyak.tanh_jacobian(theta, x, 3, 2)
    np.testing.assert_allclose(ours, jacobian[0].reshape(4, -1), atol=1e-12)


def test_tanh_jacobian_by_differences() -> None:
    theta, x = np.linspace(-1, 1, 14), np.array([[0.3], [-0.7]])

    def outputs(at: np.ndarray) -> np.ndarray:
        hidden = np.tanh(x @ at[:3].reshape(1, 3) + at[3:6])
        return np.ravel(hidden @ at[6:12].reshape(3, 2) + at[12:])

    jacobian = polyak.tanh_jacobian(theta, x, 3, 2)
    for k, move in enumerate(1e-6 * np.eye(14)):
        change = (outputs(theta + move) - outputs(theta - move)) / 2e-6
        np.testing.assert_allclose(change, jacobian[:, k], atol=1e-9)


def test_wave_has_its_constant() -> None:
    """(1/2) g'^2 >= c g for g = u^2 + 3 sin^2 u: on a grid fine enough, and beyond it."""
    step = 1e-5
    u = np.arange(0, 6, step)
    value, slope = u**2 + 3 * np.sin(u) ** 2, 2 * u + 3 * np.sin(2 * u)
    gap = slope**2 / 2 - polyak.WAVE * value
    # between points of the grid the gap moves by at most (|g''| + c) |g'| step / 2 < 65 step
    assert gap[u > 0.01].min() > 65 * step
    # up to .01: |g'| = 2 u + 3 sin 2u >= 7 u, and g <= 4 u^2
    assert 4 * polyak.WAVE < 7**2 / 2
    # from 6 on: |g'| >= 2 u - 3, and g <= u^2 + 3
    assert (2 * u[-1] - 3) ** 2 / 2 > polyak.WAVE * (u[-1] ** 2 + 3)


@given(arrays(np.float64, (2, 3), elements=VALUES))
def test_softmax_bound_is_a_bound(q: np.ndarray) -> None:
    p = np.exp(q - q.max(axis=1, keepdims=True))
    assert (p / p.sum(axis=1, keepdims=True)).min() >= polyak.softmax_bound(q) * (1 - 1e-12)


@given(st.floats(0.05, 20))
def test_best_factor_is_above_the_printed_one(kappa: float) -> None:
    """For |c| = 1: the least of ((a - kappa)_+^2 + 1 - 1/2) / a^2 over a is 1 / (1 + 2 kappa^2)."""
    found = minimize_scalar(
        lambda a: (max(a - kappa, 0) ** 2 + 0.5) / a**2,
        bounds=(kappa, 2 * kappa + 2 / kappa),
        method="bounded",
        options={"xatol": 1e-10},
    )
    best = 1 / (1 + 2 * kappa**2)
    assert found.fun == pytest.approx(best, rel=1e-6)
    assert polyak.combination(kappa, 1.0, 0.0) < best


def test_auxiliary_constant_by_hand() -> None:
    assert polyak.auxiliary_constant(0.5, np.array([0.25, 0.75])) == pytest.approx(0.125)


def test_risk_bounds_by_hand() -> None:
    of = Sizes(actions=2, discount=0.5, slope=2.0, bend=1.0, residual=3.0)
    assert of.lipschitz() == pytest.approx((2 + 9) * 2)
    assert of.lipschitz(choice=1.0) == pytest.approx((1 + 9) * 2)
    assert of.choice() == pytest.approx(2 + 4)
    assert of.choice_printed == pytest.approx(2 + 2)
    assert of.theta() == pytest.approx(6 + 2 * 2.25 * 4 + 6 * (1.5 + 0.5 * 4))
    assert of.theta_printed == pytest.approx(4 + 2 * 2 * 3 + (2 * 2.25 + 0.5 * 3) * 4)


@given(st.integers(4, 9), st.floats(0.01, 0.99), st.floats(0, 5), st.floats(0, 5), st.floats(0, 50))
def test_printed_bounds_are_enough_from_four_actions_on(
    actions: int, discount: float, slope: float, bend: float, residual: float
) -> None:
    of = Sizes(actions, discount, slope, bend, residual)
    assert of.choice_printed >= of.choice() * (1 - 1e-12)
    assert of.theta_printed >= of.theta() * (1 - 1e-12)
