"""Section 6.1, Empirical PL conditions: Lemmas BE_PL, NLL_PL, zeta_empirical_pl, Theorem bothPL."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, softmax

from gladius.checks import Array
from gladius.objective import value
from proofs_checks.claims import CheckResult, at_least, claim
from proofs_checks.library import Complex, complex_slope, sample_risk
from proofs_checks.oracle import polyak
from proofs_checks.oracle.risk import Sample
from proofs_checks.sections import _fits as fits
from proofs_checks.worlds import Empirical, empirical, one_state, tables, tightest


# --- the Bellman error
def tightest_distribution() -> Sample:
    """Five states, beta = .99: the least singular value over all transitions, from two starts."""
    n, discount = 5, 0.99

    def rows(logits: Array) -> Array:
        return np.asarray(softmax(logits.reshape(n, n), axis=1))

    def least(logits: Array) -> float:
        matrix = np.eye(n) - discount * rows(logits).T
        return float(np.linalg.svd(matrix, compute_uv=False)[-1])

    starts = [np.eye(n).ravel(), np.tile(8.0 * np.eye(n)[0], n)]
    runs = [minimize(least, start, method="BFGS") for start in starts]
    moves = np.round(10_000 * rows(min(runs, key=lambda run: run.fun).x))
    return Sample(moves[:, None], np.zeros(n, dtype=np.int64), np.zeros(n), discount)


def _tightest_residual() -> fits.Fit:
    """The residual that these transitions shrink most: W Psi is the singular vector, by rewards."""
    sample, q = tightest_distribution(), np.zeros((5, 1))
    matrix = sample.residual_jacobian(q)
    reward = np.linalg.svd(matrix)[0][:, -1] / sample.be_weight
    return fits.tabular(replace(sample, reward=reward), q)


@claim.holds(
    "lem:BE_PL",
    instances=fits.fits() | fits.sharp_fits(),
    broken="|X_Q| - 1 in place of |X_Q|",
    rejected={"fewer": 1},
    rejected_at=lambda: fits.popular_state(4, 0.99),
    adversary=_tightest_residual,
)
def bellman_error_pl(fit: fits.Fit, fewer: int = 0) -> CheckResult:
    """(1/2) ||grad L_BE||^2 >= c_BE L_BE on B_Q, with c_BE = 2 mu_Q gamma_perp^2 omega_BE,min^2 /
    omega_BE,max.

    Where: Section 6, Lemma BE_PL; the constant is in its proof.

    Assumes: the empirical Q-Jacobian condition (ii), J_Q J_Q' >= mu_Q I.

    Decided: grad L_BE = 2 J' A' W Psi, and both J and A are bounded below; so a point of B_Q at
    which the gradient vanishes has L_BE = 0, whether or not B_Q holds one. The library's gradient
    is this one. Attained for one state, one action; four states of equal weight that all move to
    one leave 1.5 per cent at beta = .99. Always |W Psi|^2 >= omega_BE,min L_BE, so that
    omega_BE,min^2 / omega_BE,max can be replaced by the larger omega_BE,min. Nor is |A| needed:
    summed over the anchor outputs with the signs of u, |A' u| >= (1 - beta) |u|_1 / sqrt(|X_BE|).
    """
    states, mu = len(fit.table), polyak.least_eigenvalue(fit.jacobian)
    constant = polyak.constants(fit.sample, fit.table).bellman * states / (states - fewer)
    return fits.check_gradient(fit, (0, 1), constant * mu * fit.sample.bellman(fit.table))


# --- the likelihood
def _never_taken(logit: float) -> fits.Fit:
    """One state, eight actions, one of which is never taken."""
    return fits.tabular(one_state([0, *[1] * 7], 0.0, 0.9, anchor=1), [logit, *[0.0] * 7])


@claim.holds(
    "lem:NLL_PL",
    instances=fits.fits() | fits.sharp_fits(),
    broken="omega_NLL,min left out",
    rejected={"weighted": False},
    rejected_at=lambda: fits.rare_misfit(np.array([[45.0, 45.0], [0.0, 10.0]]), [0.0, 0.0], 0.9),
    adversary=tightest(_never_taken, "lem:NLL_PL", -3, 3),
)
def likelihood_pl(fit: fits.Fit, weighted: bool = True) -> CheckResult:
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
    constant = polyak.constants(fit.sample, fit.table).nll * polyak.least_eigenvalue(fit.jacobian)
    factor = 1.0 if weighted else 1 / fit.sample.nll_weight.min()
    gap = fit.sample.nll(fit.table) - fit.sample.entropy()
    return fits.check_gradient(fit, (1, 0), factor * constant * gap)


# --- the auxiliary regression
Regression = tuple[Empirical, fits.Outputs]  # data and Q, and zeta at the anchor states by a class


@st.composite
def regressions(draw: st.DrawFn) -> Regression:
    data = draw(empirical(max_states=3))
    groups = len(data.sample.be_states)
    start = draw(tables((groups, 1)))
    return data, draw(fits.linear_outputs(start) | fits.network_outputs(groups, 1))


def auxiliary_gradient(regression: Regression) -> Array:
    """Slope of F_zeta in the parameters, by the library."""
    (sample, q), family = regression

    def loss(phi: Complex) -> Complex:
        zeta = np.zeros((len(phi), len(q)), dtype=complex)
        zeta[:, sample.be_states] = family.outputs(phi)
        deviation = sample_risk(sample, np.broadcast_to(q, (len(phi), *q.shape)), zeta).deviation
        return np.asarray(sample.discount**2 * deviation / polyak.share(sample))

    return complex_slope(loss, family.theta)


@claim.holds(
    "lem:zeta_empirical_pl",
    instances=regressions(),
    broken="beta in place of its square",
    rejected={"power": 1},
    rejected_at=lambda: (
        Empirical(one_state([1], discount=0.9), np.zeros((1, 1))),
        fits.LinearOutputs(np.eye(1), np.ones(1)),
    ),
)
def auxiliary_regression_pl(regression: Regression, power: int = 2) -> CheckResult:
    """(1/2) ||grad_phi F_zeta||^2 >= 2 beta^2 mu_zeta omega_zeta,min (F_zeta - F_zeta*) on
    B_zeta, for fixed theta_2.

    Where: Section 6, Lemma zeta_empirical_pl; the constant is in its proof.

    Assumes: the empirical zeta-Jacobian condition (iii), J_zeta J_zeta' >= mu_zeta I.

    Decided: the gradient in outputs is 2 beta^2 W (zeta - y-bar), and so is the library's. Checked
    relative to zero, at most F_zeta*, with the pairs of the anchor rows, where the objective has
    zeta. Attained at one group; for ascent on -F_zeta the same with the sign changed.
    """
    (sample, q), family = regression
    theta, jacobian = family.theta, family.jacobian()
    gradient, zeta = auxiliary_gradient(regression), family.outputs(theta[None])[0]
    constant = 2 * sample.discount**power * sample.be_weight.min()
    bound = constant * polyak.least_eigenvalue(jacobian) * sample.auxiliary(zeta, q)
    largest = float((1 + np.abs(value(q)).max() + np.abs(zeta).max()) * np.linalg.norm(jacobian, 2))
    return at_least(gradient @ gradient / 2, bound, 1e-13 * largest**2, fits.GRADIENT)


# --- the sum
def opposed(discount: float, factor: float) -> fits.Fit:
    """One state, two actions: the Bellman gradient against the likelihood's within the state.

    At q = 0 with pi-hat near (0, 1) their parts along (1, -1) are 1/2 and -Psi; Psi is half of
    `factor`, so that 1 cancels them.
    """
    sample = one_state([1, 10**6], 0.5 * factor - discount * np.log(2), discount)
    return fits.tabular(sample, np.zeros((1, 2)))


def _one_never_taken(odds: float) -> fits.Fit:
    """One state, two actions, one never taken, beta = .999, by the log-odds of the other.

    The residual is the one at which the gradients cancel but for their mean over the actions.
    """
    p, never = expit(odds), expit(-odds)
    residual = -never / (2 * 0.999 * never + 0.001)
    q = np.log([p, never])  # V = 0
    return fits.tabular(one_state([1, 0], float(residual + q[0]), 0.999), q)


@claim.holds(
    "thm:bothPL",
    instances=fits.fits() | fits.sharp_fits(),
    broken="the least of c_NLL and c_BE, as if the gradients could not cancel",
    rejected={"cancelling": False},
    rejected_at=lambda: opposed(0.9, 1.0),
    adversary=tightest(_one_never_taken, "thm:bothPL", 0, 10),
)
def empirical_risk_pl(fit: fits.Fit, cancelling: bool = True) -> CheckResult:
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
    constants = polyak.constants(fit.sample, fit.table)
    constant = constants.combined if cancelling else min(constants.nll, constants.bellman)
    gap = fit.sample.risk(fit.table) - fit.sample.entropy()
    return fits.check_gradient(fit, (1, 1), constant * polyak.least_eigenvalue(fit.jacobian) * gap)
