"""The one damped Newton against SciPy, on likelihoods, saddles and minima that do not exist."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import minimize

from gladius.solvers.newton import minimise
from gladius.validate import Array


def logistic(x: Array, y: Array, rows: NDArray[np.int64], theta: Array) -> tuple[Array, ...]:
    """Negative log-likelihood of binary choices y (R, n) at regressors x (R, n, k)."""
    index = np.einsum("rnk,rk->rn", x[rows], theta)
    p = 1 / (1 + np.exp(-index))
    value = np.sum(np.logaddexp(0, index) - y[rows] * index, axis=1)
    gradient = np.einsum("rnk,rn->rk", x[rows], p - y[rows])
    hessian = np.einsum("rnk,rn,rnl->rkl", x[rows], p * (1 - p), x[rows])
    return value, gradient, hessian


@settings(max_examples=25, deadline=None, derandomize=True)
@given(arrays(np.float64, (3, 30, 2), elements=st.floats(-2, 2)), st.integers(0, 2**30 - 1))
def test_it_finds_what_scipy_finds_and_replications_do_not_touch(x: Array, bits: int) -> None:
    x[:, :4] = [[1, 0], [1, 0], [0, 1], [0, 1]]  # every direction is chosen both ways
    y = np.array([[(bits >> i) & 1 for i in range(30)]] * 3, dtype=float)
    y[:, :4] = [1, 0, 1, 0]
    together = minimise(lambda rows, at: logistic(x, y, rows, at), np.zeros((3, 2)))
    assert np.all(together.converged)
    for r in range(3):
        alone = minimise(
            lambda _, at, r=r: logistic(x[[r]], y[[r]], np.array([0]), at), np.zeros((1, 2))
        )
        np.testing.assert_allclose(together.x[r], alone.x[0], atol=1e-12)
        best = minimize(
            lambda at, r=r: logistic(x[[r]], y[[r]], np.array([0]), at[None])[0][0],
            np.zeros(2),
            method="BFGS",
            options={"gtol": 1e-8},
        )
        assert together.value[r] <= best.fun + 1e-9
        np.testing.assert_allclose(together.x[r], best.x, atol=1e-4)


def test_a_minimum_at_infinity_is_no_convergence() -> None:
    x, y = np.ones((1, 5, 1)), np.ones((1, 5))
    result = minimise(lambda rows, at: logistic(x, y, rows, at), np.zeros((1, 1)))
    assert not result.converged[0]


def test_a_flat_direction_is_not_regular() -> None:
    x, y = np.ones((1, 4, 2)), np.array([[1.0, 0.0, 1.0, 0.0]])
    result = minimise(lambda rows, at: logistic(x, y, rows, at), np.ones((1, 2)))
    assert not result.is_regular[0]
    assert not result.converged[0]


def test_a_saddle_repels() -> None:
    def bowl_and_hill(_: NDArray[np.int64], at: Array) -> tuple[Array, Array, Array]:
        u, v = at[:, 0], at[:, 1]
        value = u**2 + (v**2 - 1) ** 2
        gradient = np.stack([2 * u, 4 * v * (v**2 - 1)], axis=1)
        hessian = np.zeros((len(at), 2, 2))
        hessian[:, 0, 0], hessian[:, 1, 1] = 2, 12 * v**2 - 4
        return value, gradient, hessian

    result = minimise(bowl_and_hill, np.array([[1.0, 0.1]]))
    assert result.converged[0]
    np.testing.assert_allclose(result.x[0], [0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("limit", [0.1, 1.0])
def test_a_step_is_no_longer_than_allowed(limit: float) -> None:
    visited: list[float] = []

    def square(_: NDArray[np.int64], at: Array) -> tuple[Array, Array, Array]:
        visited.append(float(at[0, 0]))
        return at[:, 0] ** 2, 2 * at, np.full((1, 1, 1), 2.0)

    def longest(_: NDArray[np.int64], step: Array) -> Array:
        return np.minimum(1.0, limit / np.abs(step[:, 0]))

    assert minimise(square, np.array([[5.0]]), longest=longest).converged[0]
    assert np.max(-np.diff(visited)) <= limit + 1e-12
