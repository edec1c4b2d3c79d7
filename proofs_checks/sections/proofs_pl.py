"""Technical proofs of the PL lemmas: transfer, coercivity, softmax, KL, cancellation, Hess V."""

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st
from scipy.special import kl_div, logsumexp, softmax

from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims import instances
from proofs_checks.claims.claims import (
    CheckResult,
    assumed,
    at_least,
    at_most,
    claim,
    equal,
    weakest,
)
from proofs_checks.claims.under_check import Complex, complex_slope, residual
from proofs_checks.oracle import polyak
from proofs_checks.sections import _fits as fits
from proofs_checks.sections.guarantees_pl import opposed


class Composite(namedtuple("Composite", "q centre weight wave")):
    """phi(q) = sum_i w_i g(q_i - c_i) of outputs q, with g(u) = u^2, or u^2 + 3 sin^2 u."""

    def phi(self, q: Complex) -> Complex:
        """(R,) at outputs (R, M)."""
        u = q - self.centre
        return np.asarray((u**2 + 3 * np.sin(u) ** 2 if self.wave else u**2) @ self.weight)


@st.composite
def composites(draw: st.DrawFn) -> Composite:
    states, actions = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    start = draw(instances.tables((states, actions)))
    which = fits.linear_outputs(start) | fits.network_outputs(states, actions)
    centre = draw(instances.tables(start.size))
    weight = draw(instances.tables(start.size, st.integers(1, 4).map(float)))
    return Composite(draw(which), centre, weight, draw(st.booleans()))


def _wave(u: float) -> Composite:
    return Composite(
        fits.LinearOutputs(np.eye(1), np.array([u])), np.zeros(1), np.ones(1), wave=True
    )


@claim.holds(
    "lem:finite_output_pl_transfer",
    instances=composites(),
    broken="the least singular value of J_Q in place of its square",
    rejected={"power": 0.5},
    rejected_at=lambda: Composite(
        fits.LinearOutputs(np.eye(1) / 2, np.ones(1)), np.zeros(1), np.ones(1), False
    ),
    adversary=instances.tightest(_wave, "lem:finite_output_pl_transfer", 1, 3),
)
def finite_output_pl_transfer(composite: Composite, power: float = 1.0) -> CheckResult:
    r"""If $\phi$ satisfies a PL inequality with constant $\alpha$ on $\{q_\theta : \theta \in
    B_Q\}$, then $L(\theta) = \phi(q_\theta)$ satisfies one on $B_Q$ with constant $\alpha \mu_Q$.

    Where: Technical proofs, Lemma finite_output_pl_transfer.

    Assumes: $J_Q J_Q' \geq \mu_Q I$ on $B_Q$; $\phi$ differentiable.

    Decided: $\nabla L = J' \nabla \phi$, whose square is at least $\mu_Q |\nabla \phi|^2$; the
    least value of $L$ on $B_Q$ is that of $\phi$ on its image. Tried with a convex and a non-convex
    $\phi$ whose constant is known $(u^2: 2; u^2 + 3 \sin^2 u: .17)$, on linear classes and tanh
    networks, $\mu_Q$ taken at $\theta$. Equality for one output, linear in one parameter.
    """
    q, phi, weight = composite.q, composite.phi, composite.weight
    gradient = complex_slope(lambda theta: phi(q.outputs(theta)), q.theta)
    alpha = (polyak.WAVE if composite.wave else 2.0) * weight.min()
    jacobian, outputs = q.jacobian(), q.outputs(q.theta[None])
    spread = np.abs(outputs).max() + np.abs(composite.centre).max() + 3
    most = weight.max() * spread * np.linalg.norm(jacobian, 2)
    return at_least(
        float(gradient @ gradient) / 2,
        alpha * polyak.least_eigenvalue(jacobian) ** power * float(phi(outputs)[0]),
        1e-13 * q.theta.size * most**2,
        fits.GRADIENT,
    )


# --- the coercivity of the Bellman residual
@claim.holds(
    "lem:bellman_shift_coercivity",
    instances=instances.empirical(),
    broken="sqrt(|A| |X_Q|) with |X_Q| - 1 in place of |X_Q|",
    rejected={"fewer": 1},
    rejected_at=lambda: instances.Empirical(fits.popular_state(4, 0.999).sample, np.zeros((4, 1))),
)
def bellman_shift_coercivity(data: instances.Empirical, fewer: int = 0) -> CheckResult:
    r"""$\|P_\perp A_\theta' u\| \geq \gamma_\perp \|u\|$ for every $u$, $\gamma_\perp = (1 - \beta)
    / \sqrt{|A| |X_Q|}$; consequently $A_\theta A_\theta' \geq \gamma_\perp^2 I$.

    Where: Technical proofs, Lemma bellman_shift_coercivity.

    Assumes: the states of the Bellman sample are distinct after grouping, $\hat P_j$ distributions.

    Decided: a column of $E - \beta T$ has 1-norm at least $1 - \beta$, and the 2-norm is at least
    the 1-norm over $\sqrt{|X_Q|}$. Observed is the least singular value of the library's residual
    Jacobian, which covers every $u$. The constant is sharp. It is attained for one state. It is
    approached for any number of states where all moves lead to one of them and $\beta$ goes to 1.
    At $\beta = .999$ the instance is within .1 per cent of it.
    """
    states, shape = len(data.q), data.q.shape
    gamma = polyak.constants(data.sample, data.q).gamma * (states / (states - fewer)) ** 0.5
    rows = complex_slope(lambda q: residual(data.sample, q.reshape(-1, *shape)), data.q.ravel())
    blocks = rows.reshape(*shape, -1)
    level = np.broadcast_to(blocks.mean(axis=1, keepdims=True), blocks.shape)
    why = "singular values of a matrix of norm at most 2 sqrt(B): 1e-14 covers rounding"
    matrices = (matrix.reshape(data.q.size, -1) for matrix in (level, blocks))
    least = (np.linalg.svd(matrix, compute_uv=False)[-1] for matrix in matrices)
    return weakest(*(at_least(singular, gamma, 1e-14, why) for singular in least))


# --- the two inequalities of the likelihood
@claim.holds(
    "eq:softmax-lower-bound",
    instances=st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
        lambda shape: instances.tables(shape, instances.VALUES | st.floats(-100, 100))
    ),
    broken="|A| - 1 in place of |A|",
    rejected={"fewer": 1},
    rejected_at=lambda: np.array([[0.0, 1.0, 1.0]]),
)
def softmax_lower_bound(q: Array, fewer: int = 0) -> CheckResult:
    r"""$\hat p_Q(a \mid x) \geq \exp(Q_-) / (|A| \exp(Q_+)) = p_-$ where $Q_- \leq Q \leq Q_+$ on
    $Z_Q$.

    Where: Technical proofs, proof of Lemma NLL_PL.

    Assumes: $Q$ bounded on $Z_Q$, as the continuous $Q$ is on the compact ball.

    Decided: the numerator is at least $\exp(Q_-)$, each of $|A|$ summands at most $\exp(Q_+)$.
    Checked with $Q_-$ and $Q_+$ the extremes of the outputs themselves. Attained where $Q$ is
    constant; else one summand is the numerator, and $1 / (1 + (|A| - 1) \exp(Q_+ - Q_-))$ is
    attained and larger.
    """
    least = float(np.exp(q - value(q)[:, None]).min())
    actions = q.shape[1]
    bound = polyak.softmax_bound(q) * actions / (actions - fewer)
    why = "rounding of exp: eps times the exponent, at most 800"
    return at_least(least, bound, 1e-12 * bound, why)


Distributions = tuple[Array, Array]  # pi and p (A,), p positive


@st.composite
def pairs_of_distributions(draw: st.DrawFn) -> Distributions:
    actions = draw(st.integers(1, 6))
    weights = draw(instances.tables(actions, st.integers(1, 100).map(float)))
    return draw(instances.distributions((actions,))), weights / weights.sum()


@claim.holds(
    "eq:KL-chi-square",
    instances=pairs_of_distributions(),
    broken="half of it, as the second-order expansion of KL suggests",
    rejected={"factor": 0.5},
    rejected_at=lambda: (np.array([0.0, 0.5, 0.5]), np.full(3, 1 / 3)),
    adversary=lambda: (np.append(0.0, np.full(7, 1 / 7)), np.full(8, 1 / 8)),
)
def kl_by_chi_square(pair: Distributions, factor: float = 1.0) -> CheckResult:
    r"""$\mathrm{KL}(\pi \| p) \leq \|\pi - p\|^2 / p_-$ for distributions $\pi$ and $p$ with $p(a)
    \geq p_-$.

    Where: Technical proofs, proof of Lemma NLL_PL.

    Assumes: $p_- > 0$; here $p_- = \min p$, the largest choice.

    Decided: $r \log r - r + 1 \leq (r - 1)^2$ for $r = \pi / p$, summed with weights $p$. The
    constant is sharp. For uniform $p$ and $\pi$ zero at one of $|A|$ actions, equal at the others,
    the bound is $1 / ((|A| - 1) \log(|A| / (|A| - 1)))$ times KL. This factor falls to 1 as $|A|$
    grows: 1.44 at $|A| = 2$, 1.07 at 8.
    """
    pi, p = pair
    bound = factor * float(np.sum((pi - p) ** 2)) / float(p.min())
    return at_most(kl_div(pi, p).sum(), bound, 1e-14, "a sum of A terms of size 1, to rounding")


# --- the inequality between vectors
# a and b (n,) in one space, c (m,) orthogonal to it, and kappa.
Vectors = namedtuple("Vectors", "a b c kappa")


@st.composite
def vectors(draw: st.DrawFn) -> Vectors:
    """b is cut to the length kappa |c| where it is longer."""
    n = draw(st.integers(1, 3))
    entries = instances.quarters(20)
    a, b = (draw(instances.tables(n, entries)) for _ in range(2))
    c = draw(instances.tables(draw(st.integers(1, 3)), entries))
    kappa = draw(st.sampled_from([0.0, 0.25, 1.0, 30.0]) | st.floats(0.0, 10.0))
    longest = kappa * np.linalg.norm(c)
    length = np.linalg.norm(b)
    return Vectors(a, b * (longest / length) if length > longest else b, c, kappa)


def _pair(kappa: float) -> Vectors:
    """The vectors that leave least: b against a, and |a| = (kappa + 1 / (2 kappa)) |c|."""
    return Vectors(np.array([kappa + 1 / (2 * kappa)]), np.array([-kappa]), np.ones(1), kappa)


@claim.holds(
    "eq:abc-inequality",
    instances=vectors(),
    broken="1 / (2 kappa^2), the 1 of 1 + kappa^2 lost",
    rejected={"one": 0.0},
    rejected_at=lambda: _pair(1.0),
    adversary=instances.tightest(_pair, "eq:abc-inequality", 0.1, 30),
)
def abc_inequality(triple: Vectors, one: float = 1.0) -> CheckResult:
    r"""$\|a + b\|^2 + \|c\|^2 \geq \|a\|^2 / (2 (1 + \kappa^2)) + \|c\|^2 / 2$ whenever $\|b\| \leq
    \kappa \|c\|$.

    Where: Technical proofs, proof of Lemma auto_cancellation_control.

    Assumes: $a$ and $b$ in one Euclidean space, $c$ orthogonal to it.

    Decided: averaging $\|a\|^2 / (1 + \kappa^2)$ and $\|c\|^2$. Minimising the left side less
    $\|c\|^2 / 2$ gives the best factor of $\|a\|^2$, $1 / (1 + 2 \kappa^2)$. It is attained at $b =
    -\kappa |c| a / |a|$, $|a| = (\kappa + 1 / (2 \kappa)) |c|$. So the printed factor is sharp as
    $\kappa$ grows. It can be improved by less than a factor of 2.
    """
    a, b, c = (float(np.linalg.norm(x)) for x in (triple.a, triple.b, triple.c))
    total = np.concatenate([triple.a + triple.b, triple.c])
    why = "rounding of a sum of squares, eps times the largest it could be"
    bound = a**2 / (2 * (one + triple.kappa**2)) + c**2 / 2
    return at_least(total @ total, bound, 1e-14 * (a**2 + b**2 + c**2), why)


# --- the gradients of the two terms
@claim.holds(
    "lem:auto_cancellation_control",
    instances=instances.empirical().map(lambda instance: fits.tabular(instance.sample, instance.q))
    | fits.sharp_fits(),
    broken="a_NLL = 1 / (2 kappa^2), the 1 of 1 + kappa^2 lost",
    rejected={"with_one": False},
    rejected_at=lambda: opposed(0.2, 1.25 / 1.65),  # kappa = 1.25: the 1 of 1 + kappa^2 counts
    adversary=instances.tightest(
        lambda factor: opposed(0.99, factor), "lem:auto_cancellation_control", 0.2, 3
    ),
)
def auto_cancellation_control(fit: fits.Fit, with_one: bool = True) -> CheckResult:
    r"""$\|\nabla_q L_{\mathrm{NLL}} + \nabla_q L_{\mathrm{BE}}\|^2 \geq a_{\mathrm{NLL}} \|\nabla_q
    L_{\mathrm{NLL}}\|^2 + a_{\mathrm{BE}} L_{\mathrm{BE}}$ with $a_{\mathrm{NLL}} = 1 / (2 (1 +
    \kappa_\perp^2))$, $a_{\mathrm{BE}} = 2 \gamma_\perp^2 \omega_{\mathrm{BE}, \min}^2 /
    \omega_{\mathrm{BE}, \max}$.

    Where: Technical proofs, Lemma auto_cancellation_control; the constants are in its proof.

    Assumes: $C_\parallel = \sup |P_\parallel A'|$, $\kappa_\perp = C_\parallel / \gamma_\perp$.

    Decided: the NLL gradient sums to zero in each state, so that it meets only the part
    $g_\parallel$ of the Bellman gradient. This part has $|g_\parallel| \leq \kappa |g_\perp|$. The
    abc inequality gives the rest. The library's gradient is the sum of the two by the oracle. Sharp
    as $\kappa$ grows: one state, two actions, the Bellman gradient set against the likelihood's.
    """
    sample, q = fit.sample, fit.table
    constants = polyak.constants(sample, q)
    share = constants.nll_share if with_one else 1 / (2 * constants.kappa**2)
    nll = share * float(np.sum(sample.nll_gradient(q) ** 2))
    return fits.check_gradient(fit, (1, 1), nll + constants.bellman * sample.bellman(q), factor=1.0)


# --- Lemma lipsSmooth: the second derivative of V
Slope = tuple[Array, Array]  # outputs q (A,) at a state and gradients G (A, d), Q linear in theta


@st.composite
def slopes(draw: st.DrawFn) -> Slope:
    actions, width = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    return draw(instances.tables(actions)), draw(instances.tables((actions, width)))


def _compare(outputs: Slope, formula: Array) -> CheckResult:
    """Hess log sum exp(q + G theta), by central differences of the gradient, and a formula."""
    (q, gradients), step = outputs, 1e-5
    ahead, behind = (softmax(q + move * gradients.T, axis=1) for move in (step, -step))
    hessian = ((ahead - behind) @ gradients / (2 * step)).T
    tolerance = 1e-8 * max(1.0, float(np.max(np.sum(gradients**2, axis=1))) ** 2)
    why = "central differences with step 1e-5: error of order step^2 |G|^4 and 1e-16/step |G|"
    return equal(np.linalg.norm(hessian - formula, 2), 0.0, tolerance, why)


def _parallel() -> Slope:
    """Q(s, 0) = Q(s, 1) = theta at theta = 0."""
    q, gradients, step = np.zeros(2), np.array([[1.0], [1.0]]), 1e-5
    assumed(np.max(np.abs(gradients)) <= 1, "|grad Q| <= B = 1")
    up, down = (logsumexp(q + move * gradients[:, 0]) for move in (step, -step))
    mean = softmax(q) @ gradients[:, 0]
    assumed(abs((up - down) / (2 * step) - mean) < 1e-9, "grad V = sum_b p_b grad Q_b")
    return q, gradients


def hessian_of_v_as_covariance(outputs: Slope, sign: float = -1.0) -> CheckResult:
    r"""$\nabla^2 V = \sum_b p_b \nabla^2 Q_b + \mathrm{Cov}_p(\nabla Q)$, with $\mathrm{Cov}_p =
    E_p[g g'] - E_p[g] E_p[g]'$.

    Decided: by differentiating once more, and by differences of the gradient on every instance.
    """
    q, gradients = outputs
    p = softmax(q)
    mean = p @ gradients
    return _compare(outputs, gradients.T * p @ gradients + sign * np.outer(mean, mean))


@claim.fails(
    "lem:lipsSmooth.hessian-of-V",
    instances=slopes(),
    counterexample=_parallel,
    text=(
        r"$A = 2$, $Q(s, 0) = Q(s, 1) = \theta$: $V = \theta + \log 2$, whose second derivative "
        "is 0.",
        "The printed sum is $p(1 - p) + p(1 - p) = 1/4 + 1/4 = 1/2$.",
        "Difference {observed:.6f}; it must be {bound:.0f}.",
    ),
    corrected=hessian_of_v_as_covariance,
    broken="the mean gradient subtracted once with the wrong sign",
    rejected={"sign": 1.0},
    rejected_at=lambda: (np.zeros(2), np.array([[1.0], [2.0]])),
)
def hessian_of_v(outputs: Slope) -> CheckResult:
    r"""$\nabla^2 V = \sum_b p_b \nabla^2 Q_b + \sum_b p_b (1 - p_b) \nabla Q_b \nabla Q_b'$.

    Where: Technical proofs, Lemma lipsSmooth, the display after "Distributing, we have".

    Assumes: $Q$ twice differentiable in $\theta$; here linear, so that $\nabla^2 Q = 0$.

    Decided: differentiating $p_b = \exp(Q_b - V)$ gives $p_b (\nabla Q_b - \nabla V)$, so the cross
    terms $-p_b p_c \nabla Q_b \nabla Q_c'$ ($b$, $c$ different) are lost in the printed line.
    """
    q, gradients = outputs
    p = softmax(q)
    return _compare(outputs, gradients.T * (p * (1 - p)) @ gradients)
