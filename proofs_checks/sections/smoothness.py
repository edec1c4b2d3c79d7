"""Lemma lipsSmooth: bounds on the second derivatives of the risk.

The printed bounds take the choice probabilities' part of Hess V for |A| B^2 / 4. It is a covariance
of gradients of length at most B, hence at most B^2, which opposed gradients attain: the printed
bound is too small for two and three actions (the paper's bus engine has two).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp, softmax

from gladius.checks import Array
from proofs_checks.claims import CheckResult, Control, Counterexample, assume_stated, claim
from proofs_checks.sections._curved import (
    Curved,
    bounded,
    curved,
    one_row,
)
from proofs_checks.worlds import VALUES

# --- the second derivative of V


@dataclass(frozen=True)
class Slope:
    """Outputs q (A,) at one state and their gradients G (A, d); Q is linear in theta."""

    q: Array
    gradients: Array


@st.composite
def slopes(draw: st.DrawFn) -> Slope:
    actions, width = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    return Slope(
        draw(arrays(np.float64, actions, elements=VALUES)),
        draw(arrays(np.float64, (actions, width), elements=VALUES)),
    )


def _hessian_of_v(at: Slope) -> Array:
    """Second derivative of log sum exp of q + G theta, by central differences of the gradient."""
    step = 1e-5
    width = at.gradients.shape[1]
    columns = []
    for k in range(width):
        move = step * at.gradients[:, k]
        up, down = softmax(at.q + move), softmax(at.q - move)
        columns.append((up - down) @ at.gradients / (2 * step))
    return np.stack(columns, axis=1)


def _compare(at: Slope, formula: Array) -> CheckResult:
    size = float(np.max(np.sum(at.gradients**2, axis=1)))
    return CheckResult(
        observed=float(np.linalg.norm(_hessian_of_v(at) - formula, 2)),
        relation="==",
        bound=0.0,
        tolerance=1e-8 * max(1.0, size**2),
        reason="central differences with step 1e-5: error of order step^2 |G|^4 and 1e-16/step |G|",
    )


def _without_cross_terms(at: Slope) -> Array:
    p = softmax(at.q)
    formula: Array = np.einsum("b,bi,bj->ij", p * (1 - p), at.gradients, at.gradients)
    return formula


def _covariance(at: Slope, sign: float = -1.0) -> Array:
    p = softmax(at.q)
    mean = p @ at.gradients
    covariance: Array = np.einsum("b,bi,bj->ij", p, at.gradients, at.gradients)
    return covariance + sign * np.outer(mean, mean)


def _parallel() -> Slope:
    """Q(s, 0) = Q(s, 1) = theta at theta = 0."""
    at, step = Slope(np.zeros(2), np.array([[1.0], [1.0]])), 1e-5
    assume_stated(bool(np.max(np.abs(at.gradients)) <= 1), "|grad Q| <= B = 1")
    up, down = (logsumexp(at.q + move * at.gradients[:, 0]) for move in (step, -step))
    mean = softmax(at.q) @ at.gradients[:, 0]
    assume_stated(abs((up - down) / (2 * step) - mean) < 1e-9, "grad V = sum_b p_b grad Q_b")
    return at


def hessian_of_v_as_covariance(at: Slope) -> CheckResult:
    """Hess V = sum_b p_b Hess Q_b + Cov_p(grad Q), with Cov_p = E_p[g g'] - E_p[g] E_p[g]'.

    Decided: by differentiating once more, and by differences of the gradient on every instance.
    """
    return _compare(at, _covariance(at))


@claim(
    "lem:lipsSmooth.hessian-of-V",
    verdict="fails",
    instances=slopes(),
    counterexample=Counterexample(
        make=_parallel,
        text="A = 2, Q(s, 0) = Q(s, 1) = theta: V = theta + log 2, whose second derivative is 0.\n"
        "The printed sum is p(1 - p) + p(1 - p) = 1/4 + 1/4 = 1/2.\n"
        "Difference {observed:.6f}; it must be {bound:.0f}.",
    ),
    corrected=hessian_of_v_as_covariance,
    control=Control(
        broken="the mean gradient subtracted once with the wrong sign",
        check=lambda at: _compare(at, _covariance(at, sign=1.0)),
        make=lambda: Slope(np.zeros(2), np.array([[1.0], [2.0]])),
    ),
)
def hessian_of_v(at: Slope) -> CheckResult:
    """Hess V = sum_b p_b Hess Q_b + sum_b p_b (1 - p_b) grad Q_b grad Q_b'.

    Where: Technical proofs, Lemma lipsSmooth, the display after "Distributing, we have".

    Assumes: Q twice differentiable in theta; here linear, so that Hess Q = 0.

    Decided: differentiating p_b = exp(Q_b - V) gives p_b (grad Q_b - grad V), so the cross terms
    -p_b p_c grad Q_b grad Q_c' (b, c different) are lost in the printed line.
    """
    return _compare(at, _without_cross_terms(at))


# --- the likelihood


def _opposed(actions: int = 2) -> Curved:
    """Q(s, .) = (theta, -theta) at theta = 0, more actions far below; one row."""
    q = np.zeros((2, actions))
    q[0, 2:] = -30.0
    g = np.zeros((2, actions, 1))
    g[0, :2, 0] = 1.0, -1.0
    at = one_row(q, g, 0.0, 0.95, 100.0)
    assume_stated(at.sizes.slope == 1, "|grad Q| <= B = 1")
    assume_stated(at.sizes.bend == 0, "|Hess Q| <= B_2 = 0")
    return at


def choice_curvature_by_variance(at: Curved) -> CheckResult:
    """||Hess L_NLL|| <= 2 B_2 + B^2.

    Decided: Hess L_NLL(s, a) = -Hess Q_a + sum_b p_b Hess Q_b + Cov_p(grad Q), and the variance of
    h' grad Q_b, which lies in [-B, B], is at most B^2. Sharp: opposed gradients, equal
    probabilities.
    """
    return bounded(at, "nll", at.sizes.choice())


@claim(
    "lem:lipsSmooth.NLL-bound",
    verdict="fails",
    instances=curved(),
    counterexample=Counterexample(
        make=_opposed,
        text="A = 2, Q(s, .) = (theta, -theta), one row (s, 0): L_NLL = log(2 cosh theta) - theta;"
        "\nB = 1, B_2 = 0. At theta = 0 its second derivative is 1 / cosh^2(0) = {observed:.6g};\n"
        "the printed bound is |A| / 4 = {bound:.3g}.",
    ),
    corrected=choice_curvature_by_variance,
    control=Control(
        broken="(1 - 1 / |A|) B^2, the largest of the printed sum of p (1 - p)",
        check=lambda at: bounded(at, "nll", at.sizes.choice(1 - 1 / at.sizes.actions)),
        make=lambda: _opposed(4),
    ),
    adversary=lambda: _opposed(4),
    cost=2,
)
def choice_curvature(at: Curved) -> CheckResult:
    """||Hess L_NLL|| <= 2 B_2 + |A| B^2 / 4.

    Where: Technical proofs, Lemma lipsSmooth, the display after the bound of T_3.

    Assumes: |grad Q| <= B, |Hess Q| <= B_2.

    Decided: from the wrong display of Hess V (lem:lipsSmooth.hessian-of-V). True for one action,
    and for four and more, where |A| / 4 >= 1; for two and three the covariance of opposed gradients
    exceeds it: up to B^2 against B^2 / 2 and 3 B^2 / 4. The lemma does not assume nonSingularJac
    (ii); adding delta times a parameter of its own to each output gives (ii) with mu = delta^2 and
    changes the numbers by O(delta).
    """
    return bounded(at, "nll", at.sizes.choice_printed)
