"""Appendix B, properties of entropy regularisation: Lemma logsumexp_Shannon and its proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.checks import Array
from gladius.objective import value
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
    worst,
)
from proofs_checks.oracle import entropy
from proofs_checks.worlds import REWARDS, VALUES, laws

ROUNDING = "1e-12 of the sizes of x and tau log n: root to 1e-14, and sums of n products"


@dataclass(frozen=True)
class Programme:
    """The programme max <q, x> + tau H(q), and some other q on the simplex."""

    x: Array
    tau: float
    other: Array


@st.composite
def programmes(draw: st.DrawFn) -> Programme:
    n = draw(st.integers(1, 5))
    x = draw(arrays(np.float64, n, elements=VALUES | REWARDS))
    tau = draw(st.sampled_from([0.5, 1.0, 2.0, 10.0]) | st.floats(0.5, 20.0))
    return Programme(x, tau, draw(laws((n,))))


def _scale(p: Programme) -> float:
    return max(1.0, float(np.max(np.abs(p.x))) + p.tau * (1 + float(np.log(len(p.x)))))


def _solves(p: Programme, maximum: float, maximiser: Array) -> CheckResult:
    """A claimed maximum and maximiser against the dual bound, and against another q.

    No q beats the dual bound, so a maximum equal to it, attained at the maximiser, is one. The
    maximiser is the only one if every other q falls short by tau/2 |q - q*|_1^2 or more.
    """
    tolerance = 1e-12 * _scale(p)
    certificate = entropy.dual(entropy.multiplier(p.x, p.tau), p.x, p.tau)
    attained = entropy.objective(maximiser, p.x, p.tau)
    short = maximum - entropy.objective(p.other, p.x, p.tau)
    away = p.tau / 2 * float(np.sum(np.abs(p.other - maximiser))) ** 2
    return worst(
        [
            CheckResult(maximum, "==", certificate, tolerance, ROUNDING),
            CheckResult(attained, "==", certificate, tolerance, ROUNDING),
            CheckResult(float(maximiser.sum()), "==", 1.0, 1e-12 * _scale(p), ROUNDING),
            CheckResult(short, ">=", away, tolerance, ROUNDING),
        ]
    )


def _library(p: Programme) -> tuple[float, Array]:
    """(log sum exp(x/tau), softmax(x/tau)) by the library."""
    log_sum = float(value(p.x / p.tau))
    return log_sum, np.exp(p.x / p.tau - log_sum)


@claim(
    "lem:logsumexp_Shannon",
    verdict="holds",
    instances=programmes(),
    control=Control(
        broken="the factor tau before the logarithm left out",
        check=lambda p: _solves(p, *_library(p)),
        make=lambda: Programme(np.array([0.0, 0.5]), 2.0, np.array([1.0, 0.0])),
    ),
)
def log_sum_exp_as_maximum(p: Programme) -> CheckResult:
    """With Omega = -tau H, the maximum over the simplex of <q, x> - Omega(q) is
    tau log sum_i exp(x_i/tau), attained at q_i = exp(x_i/tau) / sum_j exp(x_j/tau).

    Where: Appendix B, Lemma logsumexp_Shannon.

    Assumes: tau > 0 (said at the start of the proof); x in R^n.

    Decided: the library's log sum exp is compared with a Lagrange dual bound found by root
    search, and is attained at its softmax: that certifies a maximum. It is the only one: other
    drawn q fall short by at least tau/2 |q - q*|_1^2 (strong concavity). The statement stands
    although one step of its proof does not: see the next claim.
    """
    log_sum, maximiser = _library(p)
    return _solves(p, p.tau * log_sum, maximiser)


def _slope(p: Programme, slope: float) -> CheckResult:
    """The partial derivatives of G at the softmax, all to equal a number; the worst."""
    _, q = _library(p)
    return worst(
        CheckResult(float(g), "==", slope, 1e-11 * _scale(p), "complex steps: 1e-15 of the terms")
        for g in entropy.gradient(q, p.x, p.tau)
    )


def stationary_on_the_simplex(p: Programme) -> CheckResult:
    """This q* is a stationary point of the Lagrangian G(q) - lambda (sum_i q_i - 1), with
    lambda = tau log sum_j exp(x_j/tau) - tau; G being concave, q* maximises G on the simplex.

    Decided: the partial derivatives of G at the library's softmax, by complex steps, all equal
    the multiplier that the dual's root search finds.
    """
    return _slope(p, entropy.multiplier(p.x, p.tau))


def _two_equal() -> Programme:
    p = Programme(np.zeros(2), 1.0, np.array([1.0, 0.0]))
    assume_stated(p.tau > 0, "tau > 0")
    return p


@claim(
    "lem:logsumexp_Shannon.proof-step",
    verdict="fails",
    instances=programmes(),
    counterexample=Counterexample(
        make=_two_equal,
        text="x = (0, 0), tau = 1: the normalised q* is (1/2, 1/2), and dG/dq_i = x_i - tau(log q_i"
        " + 1) = log 2 - 1 = {observed:.4f}.\n"
        "A stationary point needs {bound:.0f}. (The stationary point of G, 1/e in each coordinate,"
        " sums to 0.736.)",
    ),
    corrected=stationary_on_the_simplex,
    control=Control(
        broken="the multiplier without -tau, the derivative of q log q taken as log q",
        check=lambda p: _slope(p, p.tau * float(np.log(np.sum(np.exp(p.x / p.tau))))),
        make=_two_equal,
    ),
)
def stationary_after_normalising(p: Programme) -> CheckResult:
    """After the normalisation, "this new q* is still a stationary point" of G, "so it must be
    the maximum".

    Where: Appendix B, proof of Lemma logsumexp_Shannon, after "we add a normalization".

    Assumes: tau > 0.

    Decided: the proof sets the whole gradient of G to zero and calls G's only such point the
    maximum; at the normalised point every partial derivative is tau log sum exp(x/tau) - tau,
    zero only if log sum exp(x/tau) = 1, when nothing was to be normalised. The lemma itself is
    true: a constant gradient is what stationarity on the simplex asks for.
    """
    return _slope(p, 0.0)
