"""Appendix B, DDC and entropy-regularised IRL: Gumbel noise, entropy, value and policy."""

from collections import namedtuple
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import xlogy

from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims.claims import CheckResult, assumed, at_least, claim, equal, weakest
from proofs_checks.claims.instances import REWARDS, VALUES, distributions, tables
from proofs_checks.claims.under_check import zero
from proofs_checks.oracle import gumbel

QUADRATURE = "quadrature leaves 1e-13, relative; sums of locations round at 1e-16 of their size"
LOCATIONS = st.integers(1, 5).flatmap(lambda n: tables(n, VALUES | REWARDS))
PAIRS = tables(2, VALUES | REWARDS)


def quadrature_error(nu: Array) -> float:
    return 1e-12 * max(1.0, float(np.max(np.abs(nu))))


@claim.holds(
    "lem:GumbelMax",
    instances=LOCATIONS,
    broken="the mean of exp(nu_i) in place of their sum",
    rejected={"location": lambda nu: value(nu) - np.log(len(nu))},
    rejected_at=lambda: np.array([0.0, 1.0]),
)
def maximum_is_gumbel(nu: Array, location: Callable[[Array], Array] = value) -> CheckResult:
    r"""$Z = \max_i G_i$ is $\mathrm{Gumbel}(\nu_Z, 1)$ with $\nu_Z = \log \sum_i \exp(\nu_i)$.

    Where: Appendix B, Lemma GumbelMax.

    Assumes: $G_i \sim \mathrm{Gumbel}(\nu_i, 1)$, independent, finitely many.

    Decided: by independence $P(Z \leq x)$ is the product of the $P(G_i \leq x)$, here integrals of
    the densities. This product is compared with the Gumbel cdf whose location is the library's log
    sum exp, at 13 points across the bulk of $Z$.
    """
    points = np.max(nu) + np.linspace(-3.0, 9.0, 13)
    of_max = [float(np.prod(gumbel.cdf(x, nu))) for x in points]
    printed = np.exp(-np.exp(-(points - location(nu))))
    return zero(printed - of_max, quadrature_error(nu), QUADRATURE)


def chosen(claimed: Array, q: Array, tolerance: float) -> CheckResult:
    """Claimed log probabilities that Q + epsilon is largest (A,), against the integral."""
    return equal(claimed, gumbel.largest(q)[0], tolerance, QUADRATURE)


def _others(nu: Array) -> Array:
    """log sum exp of all but the k-th, for every k."""
    return np.array([np.logaddexp.reduce(np.delete(nu, k)) for k in range(len(nu))])


@claim.holds(
    "cor:GumbelOptProb",
    instances=LOCATIONS,
    broken="k left out of the sum in the denominator",
    rejected=lambda nu: chosen(nu - _others(nu), nu, quadrature_error(nu)),
    rejected_at=lambda: np.array([0.0, 1.0, -3.0]),
)
def choice_probability(nu: Array) -> CheckResult:
    r"""$P(G_k > \max_{i \neq k} G_i) = \exp(\nu_k) / \sum_i \exp(\nu_i)$.

    Where: Appendix B, Corollary GumbelOptProb.

    Assumes: $G_i \sim \mathrm{Gumbel}(\nu_i, 1)$, independent, finitely many.

    Decided: the probability is the integral of $f_k$ times the product of the other $F_i$. It is
    computed by quadrature on the log scale for every $k$ (probabilities down to $\exp(-200)$). It
    is compared with the library's $\nu_k - \log \sum \exp$.
    """
    return chosen(nu - value(nu), nu, quadrature_error(nu))


def _larger(nu: Array, claimed: float | Array) -> CheckResult:
    """Claimed E[G_1 | G_1 is the largest], or of every G_k (A,), against the integral."""
    expectation = gumbel.largest(nu)[1]
    expected = expectation if np.ndim(claimed) else expectation[0]
    return equal(claimed, expected, quadrature_error(nu), QUADRATURE)


def _selection(nu: Array) -> float:
    """gamma + log(1 + exp(-(nu_1 - nu_2)))."""
    return float(np.euler_gamma + np.logaddexp(0.0, nu[1] - nu[0]))


def larger_of_two_located(nu: Array) -> CheckResult:
    r"""$E[G_1 \mid G_1 \geq G_2] = \gamma + \nu_1 + \log(1 + \exp(-(\nu_1 - \nu_2)))$.

    Decided: given that it is the largest, $G_k$ is $\mathrm{Gumbel}(\log \sum_i \exp(\nu_i), 1)$,
    whose mean is $\gamma + \nu_1 + \log(1 + \exp(\nu_2 - \nu_1))$; against the quotient of
    integrals by quadrature. The proof's own last line has the location, written $\nu_k$.
    """
    return _larger(nu, float(nu[0]) + _selection(nu))


def _equal() -> Array:
    nu = np.array([1.0, 1.0])
    means = np.array([gumbel.largest(nu[[i]])[1][0] for i in range(2)])
    gap = np.max(np.abs(means - nu - np.euler_gamma))
    assumed(gap < 1e-12, "G_1 and G_2 have the means of Gumbel(nu_1, 1) and Gumbel(nu_2, 1)")
    return nu


@claim.misprint(
    "lem:ExpofLargerGumbel",
    instances=PAIRS,
    counterexample=_equal,
    text=(
        r"$\nu_1 = \nu_2 = 1$: by symmetry $E[G_1 \mid G_1 \geq G_2] = E \max = 1 + \gamma + "
        r"\log 2 = {bound:.4f}$.",
        r"The printed $\gamma + \log 2 = {observed:.4f}$ is below even the unconditional mean, "
        f"{1 + np.euler_gamma:.4f}.",
        r"$\nu_1$ is lost; the last line of the proof has it (as $\nu_k$).",
    ),
    corrected=larger_of_two_located,
    broken="the difference of locations with the wrong sign",
    rejected=lambda nu: _larger(nu, float(nu[0]) + _selection(nu[::-1])),
    rejected_at=lambda: np.array([1.0, 0.5]),
)
def larger_of_two(nu: Array) -> CheckResult:
    r"""$E[G_1 \mid G_1 \geq G_2] = \gamma + \log(1 + \exp(-(\nu_1 - \nu_2)))$.

    Where: Appendix B, Lemma ExpofLargerGumbel.

    Assumes: $G_i \sim \mathrm{Gumbel}(\nu_i, 1)$, independent (said before Lemma GumbelMax).

    Decided: right only where $\nu_1 = 0$: shifting both locations shifts the left side and not the
    right. In the proof, the integrand after $z = \exp(-x)$ should be $-\log(z) \exp(-(1 + a)z)$;
    the lines after it are right.
    """
    return _larger(nu, _selection(nu))


@claim.holds(
    "cor:GumbelMaxasProb",
    instances=LOCATIONS,
    broken="the proof's third line, which divides by exp(-nu_k) in place of exp(nu_k)",
    rejected=lambda nu: _larger(nu, np.euler_gamma + nu + np.logaddexp(0.0, _others(nu) + nu)),
    rejected_at=lambda: np.array([0.5, 0.0, 0.25]),
)
def mean_of_the_largest(nu: Array) -> CheckResult:
    r"""$E[G_k \mid G_k = \max_i G_i] = \gamma + \nu_k - \log(\exp(\nu_k) / \sum_i \exp(\nu_i))$.

    Where: Appendix B, Corollary GumbelMaxasProb.

    Assumes: $G_i \sim \mathrm{Gumbel}(\nu_i, 1)$, independent, finitely many.

    Decided: the quotient of integrals by quadrature for every $k$, against $\gamma + \nu_k$ minus
    the library's log probability. The statement stands although the proof's third line has
    $\exp(-\nu_k)$ where $\exp(\nu_k)$ is meant, and although the lemma it cites is printed without
    $\nu_1$.
    """
    return _larger(nu, np.euler_gamma + nu - (nu - value(nu)))


# --- entropy regularisation
SUMS = "1e-12 of the sizes of x and tau log n: sums of n products"


class Programme(namedtuple("Programme", "x tau other")):
    """The programme max over the simplex of G(q) = <q, x> + tau H(q), and some other q there.

    By Lagrange duality, for any multiplier lam, G <= lam + sum_i sup_{q_i >= 0} [q_i (x_i - lam) -
    tau q_i log q_i] = lam + tau sum_i exp((x_i - lam)/tau - 1): a bound that is attained certifies
    the maximum.
    """

    def objective(self, q: Array) -> float:
        """G(q), with 0 log 0 = 0."""
        return float(np.sum(q * self.x - self.tau * xlogy(q, q)))

    def gradient(self, q: Array) -> Array:
        """(n,) unconstrained gradient of G where q > 0, by complex steps (no cancellation)."""
        step = 1e-10
        shifted = q * (1 + 1j * step * np.eye(len(q)))
        values = np.sum(shifted * (self.x - self.tau * np.log(shifted)), axis=1)
        return np.asarray(values.imag / (step * q))

    def dual(self, lam: float) -> float:
        """An upper bound on the maximum, for every lam."""
        return float(lam + self.tau * np.sum(np.exp((self.x - lam) / self.tau - 1)))


@st.composite
def programmes(draw: st.DrawFn) -> Programme:
    n = draw(st.integers(1, 5))
    x = draw(tables(n, VALUES | REWARDS))
    tau = draw(st.sampled_from([0.5, 1.0, 2.0, 10.0]) | st.floats(0.5, 20.0))
    return Programme(x, tau, draw(distributions((n,))))


def _scale(p: Programme) -> float:
    return max(1.0, float(np.max(np.abs(p.x)) + p.tau * (1 + np.log(len(p.x)))))


def _solves(p: Programme, maximum: float, maximiser: Array) -> CheckResult:
    """A claimed maximum and maximiser against a dual bound, and against another q.

    No q beats the dual bound, so a maximum equal to it, attained at the maximiser, is one. The
    maximiser is the only one if every other q falls short by tau/2 |q - q*|_1^2 or more.
    """
    tolerance = 1e-12 * _scale(p)
    certificate = p.dual(maximum - p.tau)
    attained = p.objective(maximiser)
    short = maximum - p.objective(p.other)
    away = p.tau / 2 * float(np.sum(np.abs(p.other - maximiser))) ** 2
    return weakest(
        equal(maximum, certificate, tolerance, SUMS),
        equal(attained, certificate, tolerance, SUMS),
        equal(maximiser.sum(), 1.0, tolerance, SUMS),
        at_least(short, away, tolerance, SUMS),
    )


def _library(p: Programme) -> tuple[float, Array]:
    """(log sum exp(x/tau), softmax(x/tau)) by the library."""
    log_sum = float(value(p.x / p.tau))
    return log_sum, np.exp(p.x / p.tau - log_sum)


@claim.holds(
    "lem:logsumexp_Shannon",
    instances=programmes(),
    broken="the factor tau before the logarithm left out",
    rejected=lambda p: _solves(p, *_library(p)),
    rejected_at=lambda: Programme(np.array([0.0, 0.5]), 2.0, np.array([1.0, 0.0])),
)
def log_sum_exp_as_maximum(p: Programme) -> CheckResult:
    r"""With $\Omega = -\tau H$, the maximum over the simplex of $\langle q, x \rangle - \Omega(q)$
    is $\tau \log \sum_i \exp(x_i/\tau)$, attained at $q_i = \exp(x_i/\tau) / \sum_j
    \exp(x_j/\tau)$.

    Where: Appendix B, Lemma logsumexp_Shannon.

    Assumes: $\tau > 0$ (said at the start of the proof); $x$ in $\mathbb{R}^n$.

    Decided: the library's log sum exp is compared with a Lagrange dual bound, and is attained at
    its softmax: that certifies a maximum. It is the only one: other drawn $q$ fall short by at
    least $\tau/2 |q - q^*|_1^2$ (strong concavity). The statement stands; one step of its proof
    does not.
    """
    log_sum, maximiser = _library(p)
    return _solves(p, p.tau * log_sum, maximiser)


def stationary_on_the_simplex(p: Programme, slope: float | None = None) -> CheckResult:
    r"""This $q^*$ is a stationary point of the Lagrangian $G(q) - \lambda (\sum_i q_i - 1)$, with
    $\lambda = \tau \log \sum_j \exp(x_j/\tau) - \tau$; $G$ being concave, $q^*$ maximises $G$ on
    the simplex.

    Decided: the partial derivatives of $G$ at the library's softmax, by complex steps, all equal
    it.
    """
    expected = p.tau * (_library(p)[0] - 1) if slope is None else slope
    tolerance, why = 1e-11 * _scale(p), "complex steps: 1e-15 of the terms"
    partials = p.gradient(_library(p)[1])
    return weakest(*(equal(partial, expected, tolerance, why) for partial in partials))


@claim.misprint(
    "lem:logsumexp_Shannon.proof-step",
    instances=programmes(),
    counterexample=lambda: Programme(np.zeros(2), 1.0, np.array([1.0, 0.0])),
    text=(
        r"$x = (0, 0)$, $\tau = 1$: the normalised $q^*$ is (1/2, 1/2), and $dG/dq_i = x_i - "
        r"\tau(\log q_i + 1) = \log 2 - 1 = {observed:.4f}$.",
        "A stationary point needs {bound:.0f}. (The stationary point of $G$, $1/e$ in each "
        f"coordinate, sums to {2 * np.exp(-1):.3f}.)",
    ),
    corrected=stationary_on_the_simplex,
    broken="the multiplier without -tau, the derivative of q log q taken as log q",
    rejected=lambda p: stationary_on_the_simplex(
        p, p.tau * float(np.log(np.sum(np.exp(p.x / p.tau))))
    ),
)
def stationary_after_normalising(p: Programme) -> CheckResult:
    r"""After the normalisation, "this new $q^*$ is still a stationary point" of $G$, "so it must be
    the maximum".

    Where: Appendix B, proof of Lemma logsumexp_Shannon, after "we add a normalization".

    Assumes: $\tau > 0$.

    Decided: the proof sets the whole gradient of $G$ to zero and calls $G$'s only such point the
    maximum. At the normalised point every partial derivative is $\tau \log \sum \exp(x/\tau) -
    \tau$. This is zero only if $\log \sum \exp(x/\tau) = 1$, and then there was nothing to
    normalise. The words need the addition 'on the simplex', where a constant gradient is
    stationary; the lemma is true.
    """
    return stationary_on_the_simplex(p, 0.0)


# --- two lines of proofs
Difference = float  # c = nu_1 - nu_2


def minus_the_logarithm(c: Difference, sign: float = -1.0) -> CheckResult:
    r"""$\int x F(x + c) f(x) dx = -\int_0^\infty \log(z) \exp(-(1 + a) z) dz$, $a = \exp(-c)$.

    Decided: $z = \exp(-x)$ turns $x$ into $-\log z$, the rest into $\exp(-(1 + a) z) dz$. Both
    sides by quadrature; their value is $(\gamma + \log(1 + a)) / (1 + a)$, as the proof's last line
    says.
    """
    a = float(np.exp(-c))
    in_x = quad(lambda x: x * np.exp(-x - (1 + a) * np.exp(-x)), -5, 60, epsabs=1e-12)[0]
    in_z = quad(lambda z: np.log(z) * np.exp(-(1 + a) * z), 0, 60, epsabs=1e-12, limit=200)[0]
    why = "two quadratures to 1e-12, cut where the integrands are below 1e-20"
    return equal(in_x, sign * in_z, 1e-9, why)


@claim.misprint(
    "lem:ExpofLargerGumbel.proof-step",
    instances=st.floats(-2, 2),
    counterexample=lambda: 0.0,
    text=(
        r"$c = 0$, $a = 1$: $\int x F f = (\gamma + \log 2)/2 = {observed:.4f}$;",
        r"$\int_0^\infty \log(z) \exp(-2z) dz = {bound:.4f}$, the negative.",
    ),
    corrected=minus_the_logarithm,
    broken="half the integral, 1/2 for 1/(1 + a)",
    rejected={"sign": -0.5},
)
def logarithm_for_x(c: Difference) -> CheckResult:
    r"""$\int x F(x + c) f(x) dx = \int_0^\infty \log(z) \exp(-(1 + a) z) dz$ by $z = \exp(-x)$, $a
    = \exp(-c)$.

    Where: Appendix B, proof of Lemma ExpofLargerGumbel, second display.

    Assumes: $F$ and $f$ of $\mathrm{Gumbel}(0, 1)$.

    Decided: a sign is lost, and lost again in the antiderivative's -1/(1 + a). The result is right.
    """
    return minus_the_logarithm(c, 1.0)


def _third_line(nu: Array, divisor: float) -> CheckResult:
    with np.errstate(over="ignore"):
        line = np.logaddexp(0.0, _others(nu) - divisor * nu)
    return _larger(nu, np.euler_gamma + nu + line)


def divided_by_its_own(nu: Array) -> CheckResult:
    r"""$\gamma + \nu_k + \log(1 + \exp(\log \sum_{i \neq k} \exp(\nu_i) - \nu_k)) = \gamma + \nu_k
    + \log(1 + \sum_{i \neq k} \exp(\nu_i) / \exp(\nu_k))$.

    Decided: $\exp(\log x - y) = x / \exp(y)$. Against the expectation itself by quadrature.
    """
    return _third_line(nu, 1.0)


@claim.misprint(
    "cor:GumbelMaxasProb.proof-step",
    instances=LOCATIONS,
    counterexample=lambda: np.array([1.0, 1.0]),
    text=(
        r"$\nu = (1, 1)$: $\log(1 + e/e) = \log 2 = "
        f"{np.log(2):.4f}"
        r"$; printed $\log(1 + e/e^{{-1}}) = "
        f"{np.logaddexp(0, 2):.4f}"
        "$.",
        r"With $\gamma + \nu_k$: {observed:.4f}, not {bound:.4f}. The next line is right again.",
    ),
    corrected=divided_by_its_own,
    broken="nothing subtracted: exp(nu_k) in the denominator lost",
    rejected=lambda nu: _third_line(nu, 0.0),
)
def divided_by_the_inverse(nu: Array) -> CheckResult:
    r"""$E[G_k \mid G_k = \max G_i] = \gamma + \nu_k + \log(1 + \sum_{i \neq k} \exp(\nu_i) /
    \exp(-\nu_k))$.

    Where: Appendix B, proof of Corollary GumbelMaxasProb, third line.

    Assumes: $G_i \sim \mathrm{Gumbel}(\nu_i, 1)$, independent, finitely many.

    Decided: the minus of the exponent in the line before appears again in the denominator.
    """
    return _third_line(nu, -1.0)
