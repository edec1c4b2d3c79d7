"""The library's risk and its derivatives in parameters, without a formula of ours.

Derivatives come from complex steps through gladius.objective.grouped_risk, f'(x) = Im f(x + ih)/h:
no difference is taken, so they are exact to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gladius.checks import Array
from gladius.objective import Risk, conditional_mean, grouped_risk, value
from gladius.transitions import Counts
from proofs_checks.claims import CheckResult
from proofs_checks.oracle.grouped import Sample

STEP = 1e-20
ROUNDING = "rounding of a squared gradient by complex steps: 1e-13 of the largest it could be"
Complex = NDArray[Any]  # the library's array code, fed complex numbers


# --- the library's terms, anchor action first


def _sorted(sample: Sample, q: Complex) -> tuple[Complex, Counts]:
    """Outputs (R, X, A) and counts with each state's anchor action put first."""
    copies, states, actions = q.shape
    order = np.tile(np.arange(actions), (states, 1))
    at = np.arange(states)
    order[at, sample.anchor] = 0
    order[at, 0] = sample.anchor
    moves = np.swapaxes(sample.moves[at[:, None], order], 0, 1)
    visits = sample.visits[at[:, None], order]
    counts = Counts(
        at[:, None].astype(float),
        np.broadcast_to(visits, (copies, *visits.shape)),
        np.broadcast_to(moves, (copies, *moves.shape)),
    )
    return q[:, at[:, None], order], counts


def risk(sample: Sample, q: Complex, zeta: Complex | None = None) -> Risk:
    """The library's terms at outputs (R, X, A); zeta (R, X) at the anchors, or the exact one."""
    ordered, counts = _sorted(sample, q)
    full = None
    if zeta is not None:
        full = np.zeros(q.shape, dtype=zeta.dtype)
        full[..., 0] = zeta
    return grouped_risk(ordered, counts, 0, sample.reward, sample.discount, full)


def residual(sample: Sample, q: Complex) -> Complex:
    """(R, B) Psi of the library: r + beta zeta-bar - Q at the anchors that the data hold."""
    ordered, counts = _sorted(sample, q)
    zeta = conditional_mean(value(ordered), counts)
    psi = sample.reward + sample.discount * zeta[..., 0] - ordered[..., 0]
    return psi[:, sample.be_states]


def bellman_scale(sample: Sample) -> float:
    """N / N_BE: the appendix averages the Bellman term over the anchor rows, the risk over all."""
    return sample.size / sample.be_size


def slope(function: Callable[[Complex], Complex], at: Array) -> Array:
    """(P, ...) derivative at (P,) of a function of (R, P) that returns (R, ...)."""
    moved = at + 1j * STEP * np.eye(at.size)
    derivative: Array = function(moved).imag / STEP
    return derivative


def _largest_gradient(sample: Sample, q: Array, jacobian: Array) -> float:
    largest = 1 + np.abs(sample.reward).max() + 2 * np.abs(q).max()
    return float(largest * np.linalg.norm(jacobian, 2))


def gradient_error(sample: Sample, q: Array, jacobian: Array) -> float:
    """Rounding of a squared gradient of the risk: 1e-13 of the largest it could be."""
    return 1e-13 * _largest_gradient(sample, q, jacobian) ** 2


def equal(found: Array, ours: Array, tolerance: float, reason: str) -> CheckResult:
    """Two vectors, shown where they are farthest apart."""
    at = np.unravel_index(np.argmax(np.abs(found - ours)), found.shape)
    return CheckResult(float(found[at]), "==", float(ours[at]), tolerance, reason)


def same_gradient(
    sample: Sample, q: Array, jacobian: Array, found: Array, in_outputs: Array
) -> CheckResult:
    """The library's slope in parameters against J' and the paper's gradient in outputs (X, A)."""
    tolerance = 1e-13 * _largest_gradient(sample, q, jacobian)
    why = "rounding of a gradient by complex steps: 1e-13 of the largest it could be"
    return equal(found, jacobian.T @ in_outputs.ravel(), tolerance, why)
