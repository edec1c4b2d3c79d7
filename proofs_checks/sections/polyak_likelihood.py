"""Polyak-Lojasiewicz: the likelihood, and the two inequalities it rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize, minimize_scalar
from scipy.special import kl_div, softmax

from gladius.checks import Array
from gladius.objective import value
from proofs_checks.claims import CheckResult, Control, claim, worst
from proofs_checks.oracle import polyak
from proofs_checks.sections._fits import (
    Fit,
    fits,
    one_state,
    rare_misfit,
    sharp_fits,
)
from proofs_checks.sections._slopes import (
    ROUNDING,
    gradient_error,
    risk,
    same_gradient,
    slope,
)
from proofs_checks.worlds import VALUES, laws


@dataclass(frozen=True)
class Logits:
    """Outputs (X, A)."""

    q: Array


def _least_choice(at: Logits, fewer: int = 0) -> CheckResult:
    least = float(np.exp(at.q - value(at.q)[:, None]).min())
    actions = at.q.shape[1]
    bound = polyak.softmax_bound(at.q) * actions / (actions - fewer)
    why = "rounding of exp: eps times the exponent, at most 800"
    return CheckResult(least, ">=", bound, 1e-12 * bound, why)


@claim(
    "eq:softmax-lower-bound",
    verdict="holds",
    instances=st.builds(
        Logits,
        st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
            lambda shape: arrays(np.float64, shape, elements=VALUES | st.floats(-100, 100))
        ),
    ),
    control=Control(
        broken="|A| - 1 in place of |A|",
        check=lambda at: _least_choice(at, fewer=1),
        make=lambda: Logits(np.array([[0.0, 1.0, 1.0]])),
    ),
)
def softmax_lower_bound(at: Logits) -> CheckResult:
    """p-hat_Q(a | x) >= exp(Q_-) / (|A| exp(Q_+)) = p_- where Q_- <= Q <= Q_+ on Z_Q.

    Where: Technical proofs, proof of Lemma NLL_PL.

    Assumes: Q bounded on Z_Q, as the continuous Q is on the compact ball.

    Decided: the numerator is at least exp(Q_-), each of |A| summands at most exp(Q_+). Checked with
    Q_- and Q_+ the extremes of the outputs themselves. Attained where Q is constant; else one
    summand is the numerator, and 1 / (1 + (|A| - 1) exp(Q_+ - Q_-)) is attained and larger.
    """
    return _least_choice(at)


@dataclass(frozen=True)
class Laws:
    """Two laws (A,), the second positive."""

    pi: Array
    p: Array


@st.composite
def pairs_of_laws(draw: st.DrawFn) -> Laws:
    actions = draw(st.integers(1, 6))
    weights = draw(arrays(np.float64, actions, elements=st.integers(1, 100).map(float)))
    return Laws(draw(laws((actions,))), weights / weights.sum())


def _divergence(at: Laws, factor: float = 1.0) -> CheckResult:
    square = float(np.sum((at.pi - at.p) ** 2))
    return CheckResult(
        observed=float(kl_div(at.pi, at.p).sum()),
        relation="<=",
        bound=factor * square / float(at.p.min()),
        tolerance=1e-14,
        reason="a sum of A terms of size 1, each to rounding",
    )


def _farthest_laws() -> Laws:
    """Eight actions: the largest KL per bound, from a uniform p and a pi that leaves one out."""

    def at(x: Array) -> Laws:
        return Laws(softmax(x[:8]), softmax(x[8:]))

    def slack(x: Array) -> float:
        return _divergence(at(x)).bound / max(float(kl_div(at(x).pi, at(x).p).sum()), 1e-12)

    start = np.concatenate([-10 * np.eye(8)[0], -0.1 * np.eye(8)[1]])
    return at(minimize(slack, start, method="BFGS", options={"maxiter": 100}).x)


@claim(
    "eq:KL-chi-square",
    verdict="holds",
    instances=pairs_of_laws(),
    control=Control(
        broken="half of it, as the second-order expansion of KL suggests",
        check=lambda at: _divergence(at, factor=0.5),
        make=lambda: Laws(np.array([0.0, 0.5, 0.5]), np.full(3, 1 / 3)),
    ),
    adversary=_farthest_laws,
)
def kl_by_chi_square(at: Laws) -> CheckResult:
    """KL(pi || p) <= ||pi - p||^2 / p_- for laws pi and p with p(a) >= p_-.

    Where: Technical proofs, proof of Lemma NLL_PL.

    Assumes: p_- > 0; here p_- = min p, the largest choice.

    Decided: r log r - r + 1 <= (r - 1)^2 for r = pi / p, summed with weights p. The constant is
    sharp: for uniform p and pi zero at one of |A| actions the bound is 1 / ((|A| - 1)
    log(|A| / (|A| - 1))) times KL, which falls to 1 as |A| grows (1.44 at |A| = 2, 1.07 at 8).
    """
    return _divergence(at)


def _likelihood(at: Fit, factor: float = 1.0) -> CheckResult:
    gradient = slope(
        lambda theta: risk(at.sample, at.q.outputs(theta).reshape(-1, *at.shape)).nll, at.q.theta
    )
    of = polyak.constants(at.sample, at.table)
    gap = at.sample.nll(at.table) - at.sample.entropy()
    inequality = CheckResult(
        observed=float(gradient @ gradient) / 2,
        relation=">=",
        bound=factor * of.nll * polyak.least_eigenvalue(at.jacobian) * gap,
        tolerance=gradient_error(at.sample, at.table, at.jacobian),
        reason=ROUNDING,
    )
    ours = at.sample.nll_gradient(at.table)
    same = same_gradient(at.sample, at.table, at.q.jacobian(), gradient, ours)
    return worst([inequality, same])


def _tightest_fit() -> Fit:
    """One state, eight actions, one of which is never taken: the least slack over its logit."""

    def at(logit: float) -> Fit:
        return one_state([0, *[1] * 7], [logit, *[0.0] * 7], 0.0, 0.9, anchor=1)

    found = minimize_scalar(
        lambda logit: _likelihood(at(logit)).slack, bounds=(-3, 3), method="bounded"
    )
    return at(float(found.x))


@claim(
    "lem:NLL_PL",
    verdict="holds",
    instances=fits() | sharp_fits(),
    control=Control(
        broken="omega_NLL,min left out",
        check=lambda at: _likelihood(at, factor=1 / at.sample.nll_weight.min()),
        make=lambda: rare_misfit(np.array([[45.0, 45.0], [0.0, 10.0]]), [0.0, 0.0], 0.9),
    ),
    adversary=_tightest_fit,
)
def likelihood_pl(at: Fit) -> CheckResult:
    """(1/2) ||grad L_NLL||^2 >= c_NLL (L_NLL - L_NLL*) on B_Q, with c_NLL = mu_Q p_-
    omega_NLL,min / 2.

    Where: Section 6, Lemma NLL_PL; the constant is in its proof.

    Assumes: the empirical Jacobian condition (i), (ii); B_Q bounded, so that p_- > 0.

    Decided: grad in outputs is omega_x (p_x - pi-hat_x), which the library's gradient is, and
    KL <= |.|^2 / p_-. Drawn too where only a rare state is misfit, which omega_NLL,min is for.
    Checked relative to the empirical entropy, at most L_NLL*. Where a state lacks an action in the
    data that entropy is an infimum which no finite Q attains, so that L_NLL has no minimiser over
    R^d, B_Q can contain none, and L_NLL* is the least value on B_Q; the inequality holds all the
    same, but p_-, and with it c_NLL, goes to zero as the ball grows. The constant is sharp as |A|
    grows (slack 1.07 at |A| = 8: one state, uniform Q, one action never taken).
    """
    return _likelihood(at)
