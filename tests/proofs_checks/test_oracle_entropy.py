"""The oracle's dual bound against a conic solver, hand values and weak duality."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proofs_checks.oracle import entropy

VECTORS = st.integers(1, 4).flatmap(lambda n: arrays(np.float64, n, elements=st.floats(-9, 9)))
WEIGHTS = st.floats(0.25, 8)


@pytest.mark.parametrize(
    ("x", "tau"), [([0.0, 0.0], 1.0), ([1.0, -2.0, 0.5], 2.0), ([3.0, 3.0, -1.0, 0.0], 0.5)]
)
def test_least_dual_bound_is_the_conic_optimum(x, tau):
    q = cp.Variable(len(x))
    programme = cp.Problem(
        cp.Maximize(np.array(x) @ q + tau * cp.sum(cp.entr(q))), [cp.sum(q) == 1]
    )
    programme.solve(solver="CLARABEL")
    values = np.array(x)
    least = entropy.dual(entropy.multiplier(values, tau), values, tau)
    assert least == pytest.approx(programme.value, abs=1e-6)


def test_two_equal_choices_by_hand():
    x = np.zeros(2)
    assert entropy.objective(np.array([0.5, 0.5]), x, 1.0) == pytest.approx(np.log(2))
    assert entropy.multiplier(x, 1.0) == pytest.approx(np.log(2) - 1)
    assert entropy.gradient(np.array([0.5, 0.5]), x, 1.0) == pytest.approx([np.log(2) - 1] * 2)


@given(VECTORS, WEIGHTS, st.floats(-20, 20), st.data())
def test_no_point_of_the_simplex_beats_a_dual_bound(x, tau, lam, data):
    weights = data.draw(arrays(np.float64, len(x), elements=st.integers(0, 4).map(float)))
    assume(weights.sum() > 0)
    q = weights / weights.sum()
    assert entropy.objective(q, x, tau) <= entropy.dual(lam, x, tau) + 1e-12 * (30 + tau)


@given(VECTORS, WEIGHTS)
def test_multiplier_gives_the_least_bound(x, tau):
    lam = entropy.multiplier(x, tau)
    least = entropy.dual(lam, x, tau)
    for step in (-0.1, 0.1):
        assert least <= entropy.dual(lam + step, x, tau) + 1e-12 * (30 + tau)


@given(VECTORS, WEIGHTS, st.data())
def test_gradient_is_the_slope_of_the_objective(x, tau, data):
    q = data.draw(arrays(np.float64, len(x), elements=st.floats(0.05, 1)))
    for i, slope in enumerate(entropy.gradient(q, x, tau)):
        step = np.zeros(len(x))
        step[i] = 1e-6
        difference = entropy.objective(q + step, x, tau) - entropy.objective(q - step, x, tau)
        assert slope == pytest.approx(difference / 2e-6, abs=1e-6)
