"""Section 6.1, Empirical PL conditions: Lemmas BE_PL, NLL_PL, zeta_empirical_pl, Theorem bothPL."""

import numpy as np
from hypothesis import strategies as st
from scipy.special import expit

from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims import under_check
from proofs_checks.claims.claims import (
    CheckResult,
    assumed,
    at_least,
    at_most,
    claim,
    equal,
    weakest,
)
from proofs_checks.claims.instances import (
    Empirical,
    empirical,
    full_samples,
    one_state,
    tables,
    tightest,
)
from proofs_checks.claims.under_check import Complex, complex_slope
from proofs_checks.oracle import polyak
from proofs_checks.sections import _fits as fits


@claim.holds(
    "lem:BE_PL",
    instances=fits.fits() | fits.sharp_fits(),
    broken="|X_Q| - 1 in place of |X_Q|",
    rejected={"fewer": 1},
    rejected_at=lambda: fits.popular_state(4, 0.99),
)
def bellman_error_pl(fit: fits.Fit, fewer: int = 0) -> CheckResult:
    r"""$(1/2) \|\nabla L_{\mathrm{BE}}\|^2 \geq c_{\mathrm{BE}} L_{\mathrm{BE}}$ on $B_Q$, with
    $c_{\mathrm{BE}} = 2 \mu_Q \gamma_\perp^2 \omega_{\mathrm{BE}, \min}^2 / \omega_{\mathrm{BE},
    \max}$.

    Where: Section 6, Lemma BE_PL; the constant is in its proof.

    Assumes: the empirical $Q$-Jacobian condition (ii), $J_Q J_Q' \geq \mu_Q I$.

    Decided: $\nabla L_{\mathrm{BE}} = 2 J' A' W \Psi$, and both $J$ and $A$ are bounded below. So a
    point of $B_Q$ at which the gradient vanishes has $L_{\mathrm{BE}} = 0$. This is true whether or
    not $B_Q$ holds such a point. The library's gradient is this one. Attained for one state, one
    action; four states of equal weight that all move to one leave 1.5 per cent at $\beta = .99$.
    Always $|W \Psi|^2 \geq \omega_{\mathrm{BE}, \min} L_{\mathrm{BE}}$, so that
    $\omega_{\mathrm{BE}, \min}^2 / \omega_{\mathrm{BE}, \max}$ can be replaced by the larger
    $\omega_{\mathrm{BE}, \min}$. Nor is $|A|$ needed: summed over the anchor outputs with the signs
    of $u$, $|A' u| \geq (1 - \beta) |u|_1 / \sqrt{|X_{\mathrm{BE}}|}$.
    """
    states, mu = len(fit.table), polyak.least_eigenvalue(fit.jacobian)
    constant = polyak.constants(fit.sample, fit.table).bellman * states / (states - fewer)
    pl = fits.check_gradient(fit, (0, 1), constant * mu * fit.sample.bellman(fit.table))
    expected = fit.q.jacobian().T @ fit.sample.bellman_gradient(fit.table).ravel()
    largest = 1 + np.abs(fit.sample.reward).max() + 2 * np.abs(fit.table).max()
    error = 1e-12 * float(largest * np.linalg.norm(fit.jacobian, 2))
    return weakest(pl, equal(fits.gradient(fit, (0, 1)), expected, error, fits.GRADIENT))


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
    r"""$(1/2) \|\nabla L_{\mathrm{NLL}}\|^2 \geq c_{\mathrm{NLL}} (L_{\mathrm{NLL}} -
    L_{\mathrm{NLL}}^*)$ on $B_Q$, with $c_{\mathrm{NLL}} = \mu_Q p_- \omega_{\mathrm{NLL}, \min} /
    2$.

    Where: Section 6, Lemma NLL_PL; the constant is in its proof.

    Assumes: the empirical Jacobian condition (i), (ii); $B_Q$ bounded, so that $p_- > 0$.

    Decided: grad in outputs is $\omega_x (p_x - \hat\pi_x)$, which the library's gradient is, and
    $\mathrm{KL} \leq |\cdot|^2 / p_-$. Drawn too where only a rare state is misfit, which
    $\omega_{\mathrm{NLL}, \min}$ is for. Checked relative to the empirical entropy, at most
    $L_{\mathrm{NLL}}^*$. Where a state lacks an action in the data, that entropy is an infimum
    which no finite $Q$ attains. Then $L_{\mathrm{NLL}}$ has no minimiser over $\mathbb{R}^d$, so
    $B_Q$ can contain none. In that case $L_{\mathrm{NLL}}^*$ is the least value on $B_Q$. The
    inequality holds all the same. But $p_-$, and with it $c_{\mathrm{NLL}}$, goes to zero as the
    ball grows. The constant is sharp as $|A|$ grows (slack 1.07 at $|A| = 8$: one state, uniform
    $Q$, one action never taken).
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
        deviation = under_check.risk_at_anchors(sample, q, family.outputs(phi)).deviation
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
    r"""$(1/2) \|\nabla_\phi F_\zeta\|^2 \geq 2 \beta^2 \mu_\zeta \omega_{\zeta, \min} (F_\zeta -
    F_\zeta^*)$ on $B_\zeta$, for fixed $\theta_2$.

    Where: Section 6, Lemma zeta_empirical_pl; the constant is in its proof.

    Assumes: the empirical $\zeta$-Jacobian condition (iii), $J_\zeta J_\zeta' \geq \mu_\zeta I$.

    Decided: the gradient in outputs is $2 \beta^2 W (\zeta - \bar y)$, and so is the library's.
    Checked relative to zero, at most $F_\zeta^*$, with the pairs of the anchor observations, where
    the objective has $\zeta$. Attained at one group; for ascent on $-F_\zeta$ the same with the
    sign changed.
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
    unproved="twice the likelihood's part. The best instance leaves 6 per cent (one state, two "
    r"actions, $\beta \to 1$). A proof would share the Bellman gradient between both "
    "terms",
)
def empirical_risk_pl(fit: fits.Fit, cancelling: bool = True) -> CheckResult:
    r"""$(1/2) \|\nabla R_Q\|^2 \geq c_R (R_Q - R_Q^*)$ on $B_Q$ for $R_Q = L_{\mathrm{NLL}} +
    L_{\mathrm{BE}}$, with $c_R = \mu_Q \min\{p_- \omega_{\mathrm{NLL}, \min} / (4 (1 +
    \kappa_\perp^2)), \gamma_\perp^2 \omega_{\mathrm{BE}, \min}^2 / \omega_{\mathrm{BE}, \max}\}$.

    Where: Section 6, Theorem bothPL; the constant is in its proof.

    Assumes: the empirical Jacobian condition.

    Decided: the lemmas of the two terms and Lemma auto_cancellation_control. The library's gradient
    is $J'$ times the oracle's of the two. Checked relative to the empirical entropy, at most
    $R_Q^*$. That entropy is the infimum of $R_Q$ over all tables. The infimum is not attained where
    a state lacks an action in the data. In that case $R_Q^*$ is the least value on the ball. The
    other half of the theorem is `lem:zeta_empirical_pl`. The weights are the appendix's $1 /
    N_{\mathrm{BE}}$, not the objective's $1 / N$. For one state and one action the sum has twice
    $c_R$; the least found is 1.57 times (two actions, one of them never taken).
    """
    constants = polyak.constants(fit.sample, fit.table)
    constant = constants.combined if cancelling else min(constants.nll, constants.bellman)
    gap = fit.sample.risk(fit.table) - fit.sample.entropy()
    return fits.check_gradient(fit, (1, 1), constant * polyak.least_eigenvalue(fit.jacobian) * gap)


# --- g-hat_N and R-hat_Q
@st.composite
def solvable(draw: st.DrawFn) -> Empirical:
    sample = draw(full_samples(3, 2))
    return Empirical(sample, draw(tables(sample.visits.shape)))


def profile_and_risk(data: Empirical, over_all_rows: bool = True) -> CheckResult:
    r"""$\hat g_N = L_{\mathrm{NLL}} + (N_{\mathrm{BE}} / N) L_{\mathrm{BE}}$. It has the minimisers
    of $\hat R_Q$ if $B_\zeta$ holds the best $\phi$ for every $\theta$ in $B_Q$, and if a minimiser
    is inside $B_Q$. For $\hat g_N$ take $\omega_j^{\mathrm{BE}} = m_j / N$ in the constant of
    Theorem bothPL.

    Decided: at a minimiser inside $B_Q$ (ii) makes the gradient in the outputs zero. Then the
    residual at each anchor pair is zero, and so is the gradient of the likelihood. So both terms
    are least at once, whatever their weights. Where every action was taken in every state, the
    check has the identity. It also has the two values at the joint solution in closed form: both
    are the infimum of the likelihood.
    """
    sample = data.sample
    share, solved = polyak.share(sample) if over_all_rows else 1.0, polyak.solution(sample)
    error, why = under_check.objective_rounding(sample, data.q), under_check.ROUNDING
    profile = under_check.objective(sample, data.q)
    least, rounding = sample.entropy(), under_check.objective_rounding(sample, solved)
    return weakest(
        equal(profile, sample.nll(data.q) + share * sample.bellman(data.q), error, why),
        equal(under_check.objective(sample, solved), least, rounding, why),
        equal(sample.risk(solved), least, rounding / polyak.share(sample), why),
        at_least(sample.risk(data.q), least, error / polyak.share(sample), why),
    )


def _narrow() -> Array:
    """Q in B_Q = [-3, 3] of one state with one action; B_zeta = [-1, 1]."""
    point, path = np.array([0.1, 0.1]), []
    for _ in range(5000):  # descent and ascent on (.3 Q)^2 - .49 (Q - zeta)^2 with one step size
        point = point + 0.05 * np.array([[0.8, -0.98], [0.98, -0.98]]) @ point
        path.append(np.abs(point))
    assumed(float(np.max(path)) < 1, "the balls hold the iterates and their limit, Q* = zeta* = 0")
    return np.linspace(-3, 3, 61)


@claim.holds_if(
    "sec:GlobalConv.g-equals-R",
    condition=r"$B_\zeta$ holds the best $\phi$ for every $\theta$ in $B_Q$, as the text means, "
    "and a minimiser is inside $B_Q$",
    instances=solvable(),
    counterexample=_narrow,
    text=(
        r"One state, one action (the anchor), $r = 0$, $\beta = .7$, tables, $|Q| \leq 3$ and "
        r"$|\zeta| \leq 1$: $f = (.3 Q)^2 - .49 (Q - \zeta)^2$.",
        r"At $Q = 3$ the best $\zeta$ in the ball is 1, so $g = .81 - 1.96 < 0 = g(0)$: $g$ is "
        "least at the ends.",
        "$R = (.3 Q)^2$ is {observed:.2f} there; its minimum is {bound:.0f}.",
    ),
    corrected=profile_and_risk,
    broken="the Bellman term of g-hat_N divided by N_BE, as in the appendix, not by N",
    rejected={"over_all_rows": False},
    rejected_at=lambda: Empirical(one_state([1, 1], 1.0, 0.9), np.zeros((1, 2))),
)
def profile_is_risk(tables_of_q: Array) -> CheckResult:
    r"""Up to constants that do not affect the minimization over $\theta$, $\hat g_N$ is the $\hat
    R_Q$ of Theorem bothPL.

    Where: Section 6.2, after the definition of $\hat S_N$; $\hat g_N$ is a maximum over $B_\zeta$,
    and $\hat f_N$ divides both terms by $N$. $\hat R_Q$ has the weights $m_j / N_{\mathrm{BE}}$ of
    the appendix on grouped notation.

    Assumes: Assumption nonSingularJac, whose balls hold the iterates and the empirical minimisers.

    Decided: a remark, no false statement. The maximum over $\phi$ is meant to be the conditional
    mean, and the assumption says nothing of minimisers on the boundary. With both added it is true,
    although the factor $N_{\mathrm{BE}} / N$ stands before one of the two terms.
    """
    sample, zeta = one_state([1], discount=0.7), np.clip(tables_of_q, -1, 1)
    q = [np.full((1, 1), x) for x in tables_of_q]
    profile = [
        under_check.objective(sample, x, np.array([z])) for x, z in zip(q, zeta, strict=True)
    ]
    risk = [sample.risk(x) for x in q]
    return at_most(risk[int(np.argmin(profile))], min(risk), 1e-12, "sums of three squares below 9")
