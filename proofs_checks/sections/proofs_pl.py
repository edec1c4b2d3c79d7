"""Technical proofs of the PL lemmas: transfer, coercivity, softmax and KL bounds, cancellation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import kl_div, softmax

from gladius.checks import Array
from gladius.objective import value
from proofs_checks.claims import CheckResult, claim
from proofs_checks.library import Complex, complex_slope, residual
from proofs_checks.oracle import polyak
from proofs_checks.relations import at_least, at_most, equal, weakest
from proofs_checks.sections._fits import (
    GRADIENT,
    Fit,
    LinearOutputs,
    Outputs,
    check_gradient,
    linear_outputs,
    network_outputs,
    popular_state,
    sharp_fits,
    tabular,
)
from proofs_checks.sections.guarantees_pl import opposed, tightest_distribution
from proofs_checks.worlds import (
    VALUES,
    Empirical,
    distributions,
    empirical,
    quarters,
    tables,
    tightest,
)


# --- from outputs to parameters
@dataclass(frozen=True)
class Composite:
    """phi(q) = sum_i w_i g(q_i - c_i) of outputs q, with g(u) = u^2, or u^2 + 3 sin^2 u."""

    q: Outputs
    centre: Array
    weight: Array
    wave: bool

    def phi(self, q: Complex) -> Complex:
        """(R,) at outputs (R, M)."""
        u = q - self.centre
        return (u**2 + 3 * np.sin(u) ** 2 if self.wave else u**2) @ self.weight


@st.composite
def composites(draw: st.DrawFn) -> Composite:
    states, actions = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    start = draw(tables((states, actions)))
    which = linear_outputs(start) | network_outputs(states, actions)
    centre = draw(tables(start.size))
    weight = draw(tables(start.size, st.integers(1, 4).map(float)))
    return Composite(draw(which), centre, weight, draw(st.booleans()))


def _transfer(composite: Composite, power: float = 1.0) -> CheckResult:
    gradient = complex_slope(
        lambda theta: composite.phi(composite.q.outputs(theta)), composite.q.theta
    )
    alpha = (polyak.WAVE if composite.wave else 2.0) * composite.weight.min()
    jacobian = composite.q.jacobian()
    gap = float(composite.phi(composite.q.outputs(composite.q.theta[None]))[0])
    spread = (
        np.abs(composite.q.outputs(composite.q.theta[None])[0]).max()
        + np.abs(composite.centre).max()
        + 3
    )
    most = composite.weight.max() * spread * np.linalg.norm(jacobian, 2)
    return at_least(
        float(gradient @ gradient) / 2,
        alpha * polyak.least_eigenvalue(jacobian) ** power * gap,
        1e-13 * composite.q.theta.size * most**2,
        GRADIENT,
    )


def _wave(u: float) -> Composite:
    return Composite(LinearOutputs(np.eye(1), np.array([u])), np.zeros(1), np.ones(1), wave=True)


@claim(
    "lem:finite_output_pl_transfer",
    verdict="holds",
    instances=composites(),
    broken="the least singular value of J_Q in place of its square",
    rejected=lambda composite: _transfer(composite, power=0.5),
    rejected_at=lambda: Composite(
        LinearOutputs(np.eye(1) / 2, np.ones(1)), np.zeros(1), np.ones(1), False
    ),
    adversary=tightest(_wave, "lem:finite_output_pl_transfer", 1, 3),
)
def finite_output_pl_transfer(composite: Composite) -> CheckResult:
    """If phi satisfies a PL inequality with constant alpha on {q_theta : theta in B_Q}, then
    L(theta) = phi(q_theta) satisfies one on B_Q with constant alpha mu_Q.

    Where: Technical proofs, Lemma finite_output_pl_transfer.

    Assumes: J_Q J_Q' >= mu_Q I on B_Q; phi differentiable.

    Decided: grad L = J' grad phi, whose square is at least mu_Q |grad phi|^2; the least value of
    L on B_Q is that of phi on its image. Tried with a convex and a non-convex phi whose constant
    is known (u^2: 2; u^2 + 3 sin^2 u: .17), on linear classes and tanh networks, mu_Q taken at
    theta. Equality for one output, linear in one parameter.
    """
    return _transfer(composite)


# --- the coercivity of the Bellman residual
def _gamma(data: Empirical) -> float:
    return polyak.constants(data.sample, data.q).gamma


def _coercivity(data: Empirical, gamma: float) -> CheckResult:
    """The least of |P_perp A' u| / |u| and of |A' u| / |u|, with the library's A: the paper's."""
    shape = data.q.shape
    rows = complex_slope(lambda q: residual(data.sample, q.reshape(-1, *shape)), data.q.ravel())
    blocks = rows.reshape(*shape, -1)
    level = np.broadcast_to(blocks.mean(axis=1, keepdims=True), blocks.shape)

    def least(parts: Array) -> CheckResult:
        singular = np.linalg.svd(parts.reshape(data.q.size, -1), compute_uv=False)
        why = "singular values of a matrix of norm at most 2 sqrt(B): 1e-14 covers rounding"
        return at_least(singular[-1], gamma, 1e-14, why)

    ours, why = data.sample.residual_jacobian(data.q).T, "entries of at most 2, each to rounding"
    return weakest(least(level), least(blocks), equal(rows, ours, 1e-13, why))


def _popular() -> Empirical:
    fit = popular_state(4, 0.999)
    return Empirical(fit.sample, fit.table)


@claim(
    "lem:bellman_shift_coercivity",
    verdict="holds",
    instances=empirical(),
    broken="sqrt(|A| |X_Q|) with |X_Q| - 1 in place of |X_Q|",
    rejected=lambda data: _coercivity(
        data, _gamma(data) * (len(data.q) / (len(data.q) - 1)) ** 0.5
    ),
    rejected_at=_popular,
    adversary=lambda: Empirical(tightest_distribution(), np.zeros((5, 1))),
)
def bellman_shift_coercivity(data: Empirical) -> CheckResult:
    """||P_perp A_theta' u|| >= gamma_perp ||u|| for every u, gamma_perp = (1 - beta) /
    sqrt(|A| |X_Q|); consequently A_theta A_theta' >= gamma_perp^2 I.

    Where: Technical proofs, Lemma bellman_shift_coercivity.

    Assumes: the states of the Bellman sample are distinct after grouping, P-hat_j distributions.

    Decided: a column of E - beta T has 1-norm at least 1 - beta, and the 2-norm is at least the
    1-norm over sqrt(|X_Q|). Observed is the least singular value of the library's residual
    Jacobian, which covers every u. The constant is sharp: attained for one state, and approached
    for any number where all moves lead to one of them and beta goes to 1 (within .1 per cent at
    beta = .999).
    """
    return _coercivity(data, _gamma(data))


# --- the two inequalities of the likelihood
@claim(
    "eq:softmax-lower-bound",
    verdict="holds",
    instances=st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
        lambda shape: tables(shape, VALUES | st.floats(-100, 100))
    ),
    broken="|A| - 1 in place of |A|",
    rejected={"fewer": 1},
    rejected_at=lambda: np.array([[0.0, 1.0, 1.0]]),
)
def softmax_lower_bound(q: Array, fewer: int = 0) -> CheckResult:
    """p-hat_Q(a | x) >= exp(Q_-) / (|A| exp(Q_+)) = p_- where Q_- <= Q <= Q_+ on Z_Q.

    Where: Technical proofs, proof of Lemma NLL_PL.

    Assumes: Q bounded on Z_Q, as the continuous Q is on the compact ball.

    Decided: the numerator is at least exp(Q_-), each of |A| summands at most exp(Q_+). Checked with
    Q_- and Q_+ the extremes of the outputs themselves. Attained where Q is constant; else one
    summand is the numerator, and 1 / (1 + (|A| - 1) exp(Q_+ - Q_-)) is attained and larger.
    """
    least = float(np.exp(q - value(q)[:, None]).min())
    actions = q.shape[1]
    bound = polyak.softmax_bound(q) * actions / (actions - fewer)
    why = "rounding of exp: eps times the exponent, at most 800"
    return at_least(least, bound, 1e-12 * bound, why)


@dataclass(frozen=True)
class Distributions:
    """Two distributions (A,), the second positive."""

    pi: Array
    p: Array


@st.composite
def pairs_of_distributions(draw: st.DrawFn) -> Distributions:
    actions = draw(st.integers(1, 6))
    weights = draw(tables(actions, st.integers(1, 100).map(float)))
    return Distributions(draw(distributions((actions,))), weights / weights.sum())


def _farthest() -> Distributions:
    """Eight actions: the largest KL per bound, from a uniform p and a pi that leaves one out."""

    def pair(x: Array) -> Distributions:
        return Distributions(softmax(x[:8]), softmax(x[8:]))

    def slack(x: Array) -> float:
        return kl_by_chi_square(pair(x)).bound / max(
            float(kl_div(pair(x).pi, pair(x).p).sum()), 1e-12
        )

    start = np.concatenate([-10 * np.eye(8)[0], -0.1 * np.eye(8)[1]])
    return pair(minimize(slack, start, method="BFGS", options={"maxiter": 100}).x)


@claim(
    "eq:KL-chi-square",
    verdict="holds",
    instances=pairs_of_distributions(),
    broken="half of it, as the second-order expansion of KL suggests",
    rejected={"factor": 0.5},
    rejected_at=lambda: Distributions(np.array([0.0, 0.5, 0.5]), np.full(3, 1 / 3)),
    adversary=_farthest,
)
def kl_by_chi_square(pair: Distributions, factor: float = 1.0) -> CheckResult:
    """KL(pi || p) <= ||pi - p||^2 / p_- for distributions pi and p with p(a) >= p_-.

    Where: Technical proofs, proof of Lemma NLL_PL.

    Assumes: p_- > 0; here p_- = min p, the largest choice.

    Decided: r log r - r + 1 <= (r - 1)^2 for r = pi / p, summed with weights p. The constant is
    sharp: for uniform p and pi zero at one of |A| actions the bound is 1 / ((|A| - 1)
    log(|A| / (|A| - 1))) times KL, which falls to 1 as |A| grows (1.44 at |A| = 2, 1.07 at 8).
    """
    square = float(np.sum((pair.pi - pair.p) ** 2))
    why = "a sum of A terms of size 1, each to rounding"
    return at_most(kl_div(pair.pi, pair.p).sum(), factor * square / float(pair.p.min()), 1e-14, why)


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
    entries = quarters(20)
    a, b = (draw(tables(n, entries)) for _ in range(2))
    c = draw(tables(draw(st.integers(1, 3)), entries))
    kappa = draw(st.sampled_from([0.0, 0.25, 1.0, 30.0]) | st.floats(0.0, 10.0))
    longest = kappa * np.linalg.norm(c)
    length = np.linalg.norm(b)
    return Vectors(a, b * (longest / length) if length > longest else b, c, kappa)


def _pair(kappa: float, c: float = 1.0) -> Vectors:
    """The vectors that leave least: b against a, and |a| = (kappa + 1 / (2 kappa)) |c|."""
    a = (kappa + 1 / (2 * kappa)) * c
    return Vectors(np.array([a]), np.array([-kappa * c]), np.array([c]), kappa)


def _squares(triple: Vectors, bound: float) -> CheckResult:
    total = np.concatenate([triple.a + triple.b, triple.c])
    size = float(triple.a @ triple.a + triple.b @ triple.b + triple.c @ triple.c)
    why = "rounding of a sum of squares, eps times the largest it could be"
    return at_least(total @ total, bound, 1e-14 * size, why)


def _sharp(triple: Vectors) -> CheckResult:
    lengths = triple.kappa, float(np.linalg.norm(triple.a)), float(np.linalg.norm(triple.c))
    return _squares(triple, polyak.combination(*lengths))


@claim(
    "eq:abc-inequality",
    verdict="holds",
    instances=vectors(),
    broken="1 / (2 kappa^2), the 1 of 1 + kappa^2 lost",
    rejected=lambda triple: _squares(
        triple, triple.a @ triple.a / (2 * triple.kappa**2) + triple.c @ triple.c / 2
    ),
    rejected_at=lambda: _pair(1.0),
    adversary=tightest(_pair, "eq:abc-inequality", 0.1, 30),
)
def abc_inequality(triple: Vectors) -> CheckResult:
    """||a + b||^2 + ||c||^2 >= ||a||^2 / (2 (1 + kappa^2)) + ||c||^2 / 2 whenever
    ||b|| <= kappa ||c||.

    Where: Technical proofs, proof of Lemma auto_cancellation_control.

    Assumes: a and b in one Euclidean space, c orthogonal to it.

    Decided: averaging ||a||^2 / (1 + kappa^2) and ||c||^2. Minimising the left side less
    ||c||^2 / 2 gives the best factor of ||a||^2, 1 / (1 + 2 kappa^2), attained at
    b = -kappa |c| a / |a|, |a| = (kappa + 1 / (2 kappa)) |c|; so the printed one is sharp as kappa
    grows, and can be improved by less than a factor of 2.
    """
    return _sharp(triple)


# --- the gradients of the two terms
def _gradients(fit: Fit, nll_share: float) -> CheckResult:
    """Shares of |grad NLL|^2 and of L_BE (both by the oracle) in the library's gradient."""
    sample, q = fit.sample, fit.table
    nll = float(np.sum(sample.nll_gradient(q) ** 2))
    bellman_share = polyak.constants(sample, q).bellman
    bound = nll_share * nll + bellman_share * sample.bellman(q)
    return check_gradient(fit, (1, 1), bound, factor=1.0)


def _cancelled(fit: Fit) -> CheckResult:
    return _gradients(fit, polyak.constants(fit.sample, fit.table).nll_share)


def _small_world() -> Fit:
    """kappa = 1 / (1 - beta), here 1.25, where the 1 of 1 + kappa^2 counts."""
    kappa = 1.25
    return opposed(1 - 1 / kappa, kappa / (kappa + 1 / (2 * kappa)))


def _unshared(fit: Fit) -> CheckResult:
    return _gradients(fit, 1 / (2 * polyak.constants(fit.sample, fit.table).kappa ** 2))


@claim(
    "lem:auto_cancellation_control",
    verdict="holds",
    instances=empirical().map(lambda instance: tabular(instance.sample, instance.q)) | sharp_fits(),
    broken="a_NLL = 1 / (2 kappa^2), the 1 of 1 + kappa^2 lost",
    rejected=_unshared,
    rejected_at=_small_world,
    adversary=tightest(
        lambda factor: opposed(0.99, factor), "lem:auto_cancellation_control", 0.2, 3
    ),
)
def auto_cancellation_control(fit: Fit) -> CheckResult:
    """||grad_q L_NLL + grad_q L_BE||^2 >= a_NLL ||grad_q L_NLL||^2 + a_BE L_BE with
    a_NLL = 1 / (2 (1 + kappa_perp^2)), a_BE = 2 gamma_perp^2 omega_BE,min^2 / omega_BE,max.

    Where: Technical proofs, Lemma auto_cancellation_control; the constants are in its proof.

    Assumes: C_parallel = sup |P_parallel A'|, kappa_perp = C_parallel / gamma_perp.

    Decided: the NLL gradient sums to zero in each state, so that it meets only the part g_parallel
    of the Bellman gradient, and |g_parallel| <= kappa |g_perp|; then the abc inequality. The
    library's gradient is the sum of the two by the oracle. Sharp as kappa grows: one state, two
    actions, the Bellman gradient set against the likelihood's.
    """
    return _cancelled(fit)
