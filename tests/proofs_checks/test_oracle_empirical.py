"""The row-by-row oracle: hand values, and differences as a second route to its gradients."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from proofs_checks.oracle.empirical import (
    FixedDesign,
    Rows,
    complex_gradient,
    zeta_error,
)

LOG2 = float(np.log(2.0))
SMALL = st.floats(-3, 3)


def test_hand_values_of_three_rows():
    """V = 0 at state 0 and 2 at state 1; two anchor rows from 0, to 0 and to 1; one other row."""
    rows = Rows(np.array([0, 0, 1]), np.array([0, 0, 1]), np.array([0, 1, 1]), 0, np.ones(2), 0.5)
    q = np.array([[0.0, 0.0], [2.0, 2.0]]) - LOG2
    assert rows.nll(q) == pytest.approx(3 * LOG2)
    assert rows.td(q) == pytest.approx((1 + LOG2) ** 2 + (2 + LOG2) ** 2)
    np.testing.assert_allclose(rows.zeta_bar(q), [[1.0, 0.0], [0.0, 2.0]], atol=1e-15)
    assert rows.spread(q, rows.zeta_bar(q)) == pytest.approx(2.0)
    bellman = 2 * (1.5 + LOG2) ** 2
    assert rows.risk(q) == pytest.approx((3 * LOG2 + bellman) / 3)
    assert rows.algorithm_2(q) == pytest.approx((3 * LOG2 + bellman + 0.5) / 3)


@given(arrays(np.float64, (2, 2), elements=SMALL), arrays(np.float64, (2, 2), elements=SMALL))
def test_complex_gradient_is_that_of_differences(q, zeta):
    rows = Rows(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1, 1, 0]), 0, np.ones(2), 0.9)
    for f in (
        lambda x: rows.f_hat(x.reshape(2, 2), zeta),
        lambda x: rows.risk(x.reshape(2, 2)),
        lambda x: rows.f_hat(q, x.reshape(2, 2)),
    ):
        slope = complex_gradient(f, q.ravel())
        moves = 1e-5 * np.eye(4)
        differences = [(f(q.ravel() + m) - f(q.ravel() - m)) / 2e-5 for m in moves]
        np.testing.assert_allclose(slope, differences, atol=1e-7)


@given(
    arrays(np.float64, (3, 2), elements=st.integers(-3, 3).map(float)),
    arrays(np.float64, 3, elements=SMALL),
)
def test_outcomes_have_the_stated_moments(features, noise):
    at = FixedDesign(features, np.ones(2), noise, np.zeros(3), 0.5)
    seen = at.outcomes()
    assert seen.shape == (8, 3)
    np.testing.assert_allclose(seen.mean(axis=0), at.mean, atol=1e-12)
    centred = seen - at.mean
    np.testing.assert_allclose(centred.T @ centred / 8, np.diag(noise**2), atol=1e-12)
    np.testing.assert_allclose(at.hat @ at.hat, at.hat, atol=1e-9)
    np.testing.assert_allclose(at.hat @ at.mean, at.mean, atol=1e-9)


def test_design_by_hand():
    at = FixedDesign(np.ones((2, 1)), np.array([2.0]), np.array([1.0, 3.0]), np.ones(2), 0.5)
    assert at.bellman() == 4.0
    assert at.td_bias(np.ones(2)) == 0.25 * 5.0
    np.testing.assert_allclose(np.diag(at.hat), [0.5, 0.5])


def test_error_of_zeta_by_hand():
    assert zeta_error(np.array([0.5, 0.5]), np.array([0.0, 2.0]), 2, 0.5) == Fraction(1, 8)
    assert zeta_error(np.array([1.0]), np.array([7.0]), 3, 0.9) == 0
