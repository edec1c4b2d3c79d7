"""Polyak-Lojasiewicz: the sum of the two terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar
from scipy.special import expit

from gladius.checks import Array
from proofs_checks.claims import CheckResult, Control, claim, worst
from proofs_checks.oracle import polyak
from proofs_checks.sections._fits import Fit, fits, one_state, sharp_fits
from proofs_checks.sections._slopes import (
    ROUNDING,
    Complex,
    bellman_scale,
    gradient_error,
    risk,
    same_gradient,
    slope,
)
from proofs_checks.worlds import Empirical, empirical

# --- the inequality between vectors


@dataclass(frozen=True)
class Vectors:
    """a and b (n,) in one space, c (m,) orthogonal to it, and kappa."""

    a: Array
    b: Array
    c: Array
    kappa: float


@st.composite
def vectors(draw: st.DrawFn) -> Vectors:
    """b is cut to the length kappa |c| where it is longer."""
    n = draw(st.integers(1, 3))
    entries = st.integers(-20, 20).map(lambda k: k / 4)
    a, b = (draw(arrays(np.float64, n, elements=entries)) for _ in range(2))
    c = draw(arrays(np.float64, draw(st.integers(1, 3)), elements=entries))
    kappa = draw(st.sampled_from([0.0, 0.25, 1.0, 30.0]) | st.floats(0.0, 10.0))
    longest = kappa * np.linalg.norm(c)
    length = np.linalg.norm(b)
    return Vectors(a, b * (longest / length) if length > longest else b, c, kappa)


def _pair(kappa: float, c: float = 1.0) -> Vectors:
    """The vectors that leave least: b against a, and |a| = (kappa + 1 / (2 kappa)) |c|."""
    a = (kappa + 1 / (2 * kappa)) * c
    return Vectors(np.array([a]), np.array([-kappa * c]), np.array([c]), kappa)


def _squares(at: Vectors, bound: float) -> CheckResult:
    total = np.concatenate([at.a + at.b, at.c])
    size = float(at.a @ at.a + at.b @ at.b + at.c @ at.c)
    why = "rounding of a sum of squares, eps times the largest it could be"
    return CheckResult(float(total @ total), ">=", bound, 1e-14 * size, why)


def _lengths(at: Vectors) -> tuple[float, float, float]:
    return at.kappa, float(np.linalg.norm(at.a)), float(np.linalg.norm(at.c))


@claim(
    "eq:abc-inequality",
    verdict="holds",
    instances=vectors(),
    control=Control(
        broken="1 / (2 kappa^2), the 1 of 1 + kappa^2 lost",
        check=lambda at: _squares(at, at.a @ at.a / (2 * at.kappa**2) + at.c @ at.c / 2),
        make=lambda: _pair(1.0),
    ),
    adversary=lambda: _pair(
        minimize_scalar(
            lambda kappa: abc_inequality(_pair(kappa)).slack, bounds=(0.1, 30), method="bounded"
        ).x
    ),
)
def abc_inequality(at: Vectors) -> CheckResult:
    """||a + b||^2 + ||c||^2 >= ||a||^2 / (2 (1 + kappa^2)) + ||c||^2 / 2 whenever
    ||b|| <= kappa ||c||.

    Where: Technical proofs, proof of Lemma auto_cancellation_control.

    Assumes: a and b in one Euclidean space, c orthogonal to it.

    Decided: averaging ||a||^2 / (1 + kappa^2) and ||c||^2. Minimising the left side less
    ||c||^2 / 2 gives the best factor of ||a||^2, 1 / (1 + 2 kappa^2), attained at
    b = -kappa |c| a / |a|, |a| = (kappa + 1 / (2 kappa)) |c|; so the printed one is sharp as kappa
    grows, and can be improved by less than a factor of 2.
    """
    return _squares(at, polyak.combination(*_lengths(at)))


# --- the gradients of the two terms


def _gradients(at: Empirical, nll_share: float, bellman_share: float) -> CheckResult:
    """Shares of |grad NLL|^2 and of L_BE (both by the oracle) in the library's gradient."""

    def loss(q: Complex) -> Complex:
        terms = risk(at.sample, q.reshape(-1, *at.q.shape))
        return terms.nll + terms.bellman * bellman_scale(at.sample)

    gradient = slope(loss, at.q.ravel())
    separate = at.sample.nll_gradient(at.q)
    inequality = CheckResult(
        observed=float(gradient @ gradient),
        relation=">=",
        bound=nll_share * float(np.sum(separate**2)) + bellman_share * at.sample.bellman(at.q),
        tolerance=2 * gradient_error(at.sample, at.q, np.eye(at.q.size)),
        reason=ROUNDING,
    )
    together = separate + at.sample.bellman_gradient(at.q)
    same = same_gradient(at.sample, at.q, np.eye(at.q.size), gradient, together)
    return worst([inequality, same])


def _opposed(discount: float, factor: float) -> Empirical:
    """One state, two actions: the Bellman gradient against the likelihood's within the state.

    At q = 0 with pi-hat near (0, 1) their parts along (1, -1) are 1/2 and -Psi; Psi is half of
    `factor`, so that 1 cancels them.
    """
    at = one_state([1, 10**6], [0.0, 0.0], 0.0, discount)
    reward = 0.5 * factor - discount * np.log(2)
    sample = type(at.sample)(at.sample.moves, at.sample.anchor, np.array([reward]), discount)
    return Empirical(sample, np.zeros((1, 2)))


def _small_world() -> Empirical:
    """kappa = 1 / (1 - beta), here 1.25, where the 1 of 1 + kappa^2 counts."""
    kappa = 1.25
    return _opposed(1 - 1 / kappa, kappa / (kappa + 1 / (2 * kappa)))


def _most_opposed() -> Empirical:
    """The least slack over the size of the Bellman gradient, beta = .99."""
    found = minimize_scalar(
        lambda factor: auto_cancellation_control(_opposed(0.99, factor)).slack,
        bounds=(0.2, 3.0),
        method="bounded",
    )
    return _opposed(0.99, float(found.x))


def _unshared(at: Empirical) -> CheckResult:
    of = polyak.constants(at.sample, at.q)
    return _gradients(at, 1 / (2 * of.kappa**2), of.bellman)


@claim(
    "lem:auto_cancellation_control",
    verdict="holds",
    instances=empirical() | sharp_fits().map(lambda at: at.empirical),
    control=Control(
        broken="a_NLL = 1 / (2 kappa^2), the 1 of 1 + kappa^2 lost",
        check=_unshared,
        make=_small_world,
    ),
    adversary=_most_opposed,
)
def auto_cancellation_control(at: Empirical) -> CheckResult:
    """||grad_q L_NLL + grad_q L_BE||^2 >= a_NLL ||grad_q L_NLL||^2 + a_BE L_BE with
    a_NLL = 1 / (2 (1 + kappa_perp^2)), a_BE = 2 gamma_perp^2 omega_BE,min^2 / omega_BE,max.

    Where: Technical proofs, Lemma auto_cancellation_control; the constants are in its proof.

    Assumes: C_parallel = sup |P_parallel A'|, kappa_perp = C_parallel / gamma_perp.

    Decided: the NLL gradient sums to zero in each state, so that it meets only the part g_parallel
    of the Bellman gradient, and |g_parallel| <= kappa |g_perp|; then the abc inequality. The
    library's gradient is the sum of the two by the oracle. Sharp as kappa grows: one state, two
    actions, the Bellman gradient set against the likelihood's.
    """
    of = polyak.constants(at.sample, at.q)
    return _gradients(at, of.nll_share, of.bellman)


# --- the empirical risk


def _risk_pl(at: Fit, constant: float) -> CheckResult:
    """Relative to entropy + 0, which is at most the least risk."""

    def loss(theta: Complex) -> Complex:
        terms = risk(at.sample, at.q.outputs(theta).reshape(-1, *at.shape))
        return terms.nll + terms.bellman * bellman_scale(at.sample)

    gradient = slope(loss, at.q.theta)
    gap = at.sample.risk(at.table) - at.sample.entropy()
    inequality = CheckResult(
        observed=float(gradient @ gradient) / 2,
        relation=">=",
        bound=constant * polyak.least_eigenvalue(at.jacobian) * gap,
        tolerance=2 * gradient_error(at.sample, at.table, at.jacobian),
        reason=ROUNDING,
    )
    ours = at.sample.nll_gradient(at.table) + at.sample.bellman_gradient(at.table)
    same = same_gradient(at.sample, at.table, at.q.jacobian(), gradient, ours)
    return worst([inequality, same])


def _uncombined(at: Fit) -> CheckResult:
    of = polyak.constants(at.sample, at.table)
    return _risk_pl(at, min(of.nll, of.bellman))


def _cancelling_fit() -> Fit:
    at = _opposed(0.9, 1.0)
    return one_state([1, 10**6], [0.0, 0.0], float(at.sample.reward[0]), 0.9)


def _tightest_fit() -> Fit:
    """One state, two actions, one never taken, beta = .999: the least slack over its probability.

    The residual is the one at which the gradients cancel but for their mean over the actions.
    """

    def at(odds: float) -> Fit:
        p, never = expit(odds), expit(-odds)
        residual = -never / (2 * 0.999 * never + 0.001)
        q = [float(np.log(p)), float(np.log(never))]  # V = 0
        return one_state([1, 0], q, residual + q[0], 0.999)

    found = minimize_scalar(
        lambda odds: empirical_risk_pl(at(odds)).slack, bounds=(0, 10), method="bounded"
    )
    return at(float(found.x))


@claim(
    "thm:bothPL",
    verdict="holds",
    instances=fits() | sharp_fits(),
    control=Control(
        broken="the least of c_NLL and c_BE, as if the gradients could not cancel",
        check=_uncombined,
        make=_cancelling_fit,
    ),
    adversary=_tightest_fit,
)
def empirical_risk_pl(at: Fit) -> CheckResult:
    """(1/2) ||grad R_Q||^2 >= c_R (R_Q - R_Q*) on B_Q for R_Q = L_NLL + L_BE, with c_R = mu_Q
    min{p_- omega_NLL,min / (4 (1 + kappa_perp^2)), gamma_perp^2 omega_BE,min^2 / omega_BE,max}.

    Where: Section 6, Theorem bothPL; the constant is in its proof.

    Assumes: the empirical Jacobian condition.

    Decided: the lemmas of the two terms and auto_cancellation_control. The library's gradient is
    J' times the oracle's of the two. Checked relative to the empirical entropy, at most R_Q*; that
    is its infimum over all tables, not attained where a state lacks an action in the data, and then
    R_Q* is the least value on the ball. The other half of the theorem is lem:zeta_empirical_pl.
    The weights are the appendix's 1 / N_BE, not the objective's 1 / N. For one state and one action
    the sum has twice c_R; the least found is 1.57 times (two actions, one of them never taken).
    """
    of = polyak.constants(at.sample, at.table)
    return _risk_pl(at, of.combined)
