"""Lemma lipsSmooth: Lipschitz constants of the risk's gradients, in theta and in zeta."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

from gladius.checks import Array
from proofs_checks.claims import CheckResult, Control, Counterexample, assume_stated, claim
from proofs_checks.oracle.grouped import Sample
from proofs_checks.sections._curved import (
    Curved,
    assume_realisable,
    bounded,
    curved,
    local_residual,
    one_row,
)
from proofs_checks.sections._slopes import Complex, risk, slope
from proofs_checks.worlds import REWARDS, Empirical, empirical

# --- the risk in theta


def _tall(reward: float, high: float, residual: float) -> Curved:
    """theta = (u, w): Q(s, .) = (-w, w), Q(s', .) = (u, -u), at (0, high)."""
    q = np.array([[-high, high], [0.0, 0.0]])
    g = np.zeros((2, 2, 2))
    g[0, :, 1] = -1.0, 1.0
    g[1, :, 0] = 1.0, -1.0
    return one_row(q, g, reward, 0.95, residual)


def _realised() -> Curved:
    """|u| <= 1, |w| <= 20, and rewards whose Q* is at (0, -20)."""
    high, beta = 20.0, 0.95
    reward = high - beta * np.log(2)
    largest = high + beta * np.log(2)  # of the reward of the other action at s
    highest = high + np.log1p(np.exp(-2 * high))
    at = _tall(reward, high, largest + beta * highest + high)
    corners = np.array([[u, w] for u in (-1.0, 0.0, 1.0) for w in (-high, high)])
    assume_realisable(at, np.array([0.0, -2 * high]), corners - [0.0, high])
    assume_stated(at.sizes.bend == 0, "|Hess Q| <= B_2 = 0")
    return at


def _steepest() -> Curved:
    """The least slack over the known reward, for which M is the residual up to a constant."""

    def at(reward: float) -> Curved:
        tall = _tall(reward, 1.0, 0.0)
        return replace(tall, residual=local_residual(tall.sample, tall.q))

    found = minimize_scalar(
        lambda r: risk_curvature_by_variance(at(r)).slack, bounds=(0, 1000), method="bounded"
    )
    return at(float(found.x))


def risk_curvature_by_variance(at: Curved) -> CheckResult:
    """||Hess R_emp|| <= L_theta = 2 B_2 + B^2 + 2 (1 + beta)^2 B^2 + 2 M ((1 + beta) B_2 +
    beta B^2).

    Decided: as printed, with ||Hess V|| <= B_2 + B^2 in place of 2 B_2 + |A| B^2 / 4. Sharp as the
    reward, and with it M, grows.
    """
    return bounded(at, "risk", at.sizes.theta())


@claim(
    "lem:lipsSmooth.L-theta",
    verdict="fails",
    instances=curved(),
    counterexample=Counterexample(
        make=_realised,
        text="A = 2, beta = .95, Q(s, .) = (-w, w), Q(s', .) = (u, -u), |u| <= 1, |w| <= 20: B = 1,"
        " B_2 = 0.\nOne row (s, 0, s'); the Q* of r(s, 0) = 20 - beta log 2 is (u, w) = (0, -20);"
        " R_max = 20 + beta log 2, V_max = Q_max = 20: M = 59.66.\n"
        "At (0, 20) Psi = 40: d2R/du2 = 2 Psi beta = {observed:.4f}; printed: 1/2 + "
        "2 (1 + beta)^2 + beta M = {bound:.4f}.",
    ),
    corrected=risk_curvature_by_variance,
    control=Control(
        broken="M in place of 2 M, the factor of the square lost",
        check=lambda at: bounded(at, "risk", at.sizes.theta(product=1.0)),
        make=_realised,
    ),
    adversary=_steepest,
    cost=2,
)
def risk_curvature(at: Curved) -> CheckResult:
    """||Hess R_emp|| <= L_theta = 2 B_2 + |A| B^2 / 4 + 2 (1 + 2 beta) M B_2 + (2 (1 + beta)^2 +
    beta |A| M / 2) B^2.

    Where: Technical proofs, Lemma lipsSmooth, last display.

    Assumes: |grad Q| <= B, |Hess Q| <= B_2, M = R_max + beta V_max + Q_max; zeta exact.

    Decided: fails for two and three actions where M is large, as the likelihood's part does; holds
    for one action, and for four and more, where |A| / 4 >= 1. The instance has Q* in the class too.
    The lemma does not assume nonSingularJac (ii); adding delta times a parameter of its own to each
    output gives (ii) with mu = delta^2 and changes the numbers by O(delta).
    """
    return bounded(at, "risk", at.sizes.theta_printed)


# --- the risk in zeta


@dataclass(frozen=True)
class Duals:
    """A data set, Q on its states, and two zeta (B,) at its anchor states."""

    at: Empirical
    first: Array
    second: Array


@st.composite
def duals(draw: st.DrawFn) -> Duals:
    at = draw(empirical())
    first, second = (
        draw(arrays(np.float64, len(at.sample.be_states), elements=REWARDS)) for _ in range(2)
    )
    return Duals(at, first, second)


def _dual_slope(of: Duals, constant: float) -> CheckResult:
    """|difference of the library's gradients in zeta| against a constant times |difference|."""
    sample, q = of.at.sample, of.at.q

    def loss(zeta: Complex) -> Complex:
        full = np.zeros((len(zeta), len(q)), dtype=complex)
        full[:, sample.be_states] = zeta
        return risk(sample, np.broadcast_to(q, (len(zeta), *q.shape)), full).bellman

    apart = slope(loss, of.first) - slope(loss, of.second)
    largest = 1 + np.abs(q).max() + np.abs(of.first).max() + np.abs(of.second).max()
    return CheckResult(
        observed=float(np.linalg.norm(apart)),
        relation="<=",
        bound=constant * float(np.linalg.norm(of.first - of.second)),
        tolerance=float(1e-14 * largest),
        reason="rounding of two gradients of size |V| + |zeta|",
    )


def _one_dual(discount: float = 0.95) -> Duals:
    moves = np.ones((1, 1, 1))
    sample = Sample(moves, np.zeros(1, dtype=np.int64), np.zeros(1), discount)
    assume_stated(0 < discount < 1, "beta in (0, 1)")
    assume_stated(sample.be_size == sample.size == 1, "one row, an anchor's")
    of = Duals(Empirical(sample, np.zeros((1, 1))), np.zeros(1), np.ones(1))
    assume_stated(len(of.first) == len(sample.be_states), "zeta is the vector of its values")
    return of


def dual_smoothness_by_square(of: Duals) -> CheckResult:
    """||grad_zeta R_emp(zeta_1) - grad_zeta R_emp(zeta_2)|| <= 2 beta^2 ||zeta_1 - zeta_2||.

    Decided: the term -beta^2 (V - zeta)^2 has second derivative -2 beta^2, weighted by the share of
    the pair in the data, at most 1. Attained by one pair. In the parameters phi of a class there
    are further factors, |J_zeta|^2 and the curvature of zeta.
    """
    return _dual_slope(of, 2 * of.at.sample.discount**2)


@claim(
    "lem:lipsSmooth.L-zeta",
    verdict="fails",
    instances=duals(),
    counterexample=Counterexample(
        make=_one_dual,
        text="One anchor row, beta = .95: R = ... - beta^2 (V - zeta)^2.\nThe gradients at zeta = 0"
        " and 1 differ by 2 beta^2 = {observed:.4f}; the printed bound is beta = {bound:.4f}.",
    ),
    corrected=dual_smoothness_by_square,
    control=Control(
        broken="beta^2, the factor of the square lost",
        check=lambda of: _dual_slope(of, of.at.sample.discount**2),
        make=_one_dual,
    ),
)
def dual_smoothness(of: Duals) -> CheckResult:
    """||grad_zeta R_emp(zeta_1) - grad_zeta R_emp(zeta_2)|| <= L_zeta ||zeta_1 - zeta_2|| with
    L_zeta = beta.

    Where: Technical proofs, Lemma lipsSmooth, the last two displays ("the Lipschitz smoothness in
    beta is trivial").

    Assumes: zeta as the vector of its values at the pairs, as printed.

    Decided: 2 beta^2 exceeds beta once beta > 1/2.
    """
    return _dual_slope(of, of.at.sample.discount)
