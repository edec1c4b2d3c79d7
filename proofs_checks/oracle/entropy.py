"""The entropy programme max over the simplex of G(q) = <q, x> + tau H(q), by Lagrange duality.

For any multiplier lam, max over the simplex of G <= lam + sum_i sup_{q_i >= 0} [q_i (x_i - lam)
- tau q_i log q_i] = lam + tau sum_i exp((x_i - lam)/tau - 1): a certificate that needs no formula
for the maximiser. lam is found numerically.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Array = NDArray[np.float64]


def objective(q: Array, x: Array, tau: float) -> float:
    """G(q), with 0 log 0 = 0."""
    inside = np.where(q > 0, q, 1.0)
    return float(np.sum(q * (x - tau * np.log(inside))))


def gradient(q: Array, x: Array, tau: float) -> Array:
    """(n,) unconstrained gradient of G where q > 0, by complex steps (no cancellation)."""
    step = 1e-10
    slopes = []
    for i in range(len(q)):
        moved = q.astype(complex)
        moved[i] *= 1 + 1j * step
        slopes.append(np.sum(moved * (x - tau * np.log(moved))).imag / (step * q[i]))
    return np.array(slopes)


def dual(lam: float, x: Array, tau: float) -> float:
    """An upper bound on the maximum, for every lam."""
    return float(lam + tau * np.sum(np.exp((x - lam) / tau - 1)))


def multiplier(x: Array, tau: float) -> float:
    """The lam of the least bound: where the slope 1 - sum exp((x - lam)/tau - 1) changes sign."""
    low = float(np.max(x)) - tau
    high = low + tau * float(np.log(len(x))) + 1e-9 * tau

    def slope(lam: float) -> float:
        return 1.0 - float(np.sum(np.exp((x - lam) / tau - 1)))

    if slope(low) >= 0:  # one choice carries all the weight that can be represented
        return low
    return float(brentq(slope, low, high, xtol=1e-14 * max(1.0, abs(low)), rtol=1e-14))
