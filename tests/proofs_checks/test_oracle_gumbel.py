"""The oracle's quadrature against mpmath at 60 digits, and the laws that it must obey."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import gumbel_r

from proofs_checks.oracle import gumbel

LOCATIONS = st.integers(1, 5).flatmap(
    lambda n: arrays(np.float64, n, elements=st.floats(-100, 100))
)


def by_mpmath(nu: list[float], k: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """(P(G_k largest), E[G_k | G_k largest]) of the density times the others' distributions.

    mpmath's error is absolute: 60 digits leave 30 of a probability of 1e-27.
    """
    with mpmath.workdps(60):

        def density(x: mpmath.mpf, at: float) -> mpmath.mpf:
            return mpmath.exp(-(x - at) - mpmath.exp(-(x - at)))

        def weight(x: mpmath.mpf) -> mpmath.mpf:
            others = [mpmath.exp(-mpmath.exp(-(x - at))) for i, at in enumerate(nu) if i != k]
            return density(x, nu[k]) * mpmath.fprod(others)

        top = max(nu)
        panels = [top + c for c in (-8, -4, -2, 0, 2, 4, 8, 16, 32, 80)]
        mass = mpmath.quad(weight, panels)
        return mass, mpmath.quad(lambda x: x * weight(x), panels) / mass


@pytest.mark.parametrize("nu", [[1.0, 1.0], [0.0, 3.5, -2.0], [0.0, -60.0], [12.5]])
def test_quadrature_error_is_below_its_stated_bound(nu):
    log_p, expectation = gumbel.largest(np.array(nu))
    for k in range(len(nu)):
        mass, mean = by_mpmath(nu, k)
        assert abs(log_p[k] - float(mpmath.log(mass))) <= 1e-13 * max(1.0, abs(log_p[k]))
        assert abs(expectation[k] - float(mean)) <= 1e-13 * max(1.0, abs(float(mean)))


@given(LOCATIONS)
def test_probabilities_sum_to_one(nu):
    log_p, _ = gumbel.largest(nu)
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-12)


@given(LOCATIONS, st.floats(-50, 50))
def test_a_common_shift_moves_the_mean_alone(nu, shift):
    log_p, mean = gumbel.largest(nu)
    moved_p, moved = gumbel.largest(nu + shift)
    assert moved_p == pytest.approx(log_p, rel=1e-11, abs=1e-11)
    assert moved == pytest.approx(mean + shift, abs=1e-10)


@given(LOCATIONS, st.floats(-10, 60))
def test_cdf_is_the_distribution_function_of_scipy(nu, offset):
    x = float(np.max(nu)) + offset
    assert gumbel.cdf(x, nu) == pytest.approx(gumbel_r.cdf(x, loc=nu), abs=2e-14)
