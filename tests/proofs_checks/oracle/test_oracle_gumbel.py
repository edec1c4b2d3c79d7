"""The oracle's quadrature against mpmath at 60 digits."""

import mpmath
import numpy as np
import pytest

from proofs_checks.oracle import gumbel


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
