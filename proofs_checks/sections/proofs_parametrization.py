"""Technical proofs of Assumption nonSingularJac: random features, the ball, output transforms."""

import math
from collections import namedtuple
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from gladius.validate import Array
from proofs_checks.claims.claims import CheckResult, assumed, at_least, at_most, claim, weakest
from proofs_checks.claims.instances import quarters, tables, tightest
from proofs_checks.claims.under_check import MLP
from proofs_checks.oracle.networks import ACTIVATIONS, gram_below, hessian_bound

# M rows in R^d: entries 0 or +-1/sqrt(nonzero), whole rows 0 with chance 1 - present.
RandomFeatures = namedtuple("RandomFeatures", "rows columns nonzero present", defaults=[1.0, 1.0])
C, WIDTH, RATE = 1 / 4, 160, 1 / 200


@st.composite
def random_features(draw: st.DrawFn) -> RandomFeatures:
    rows = draw(st.integers(1, 2))
    columns = draw(st.integers(WIDTH * rows, 4 * WIDTH * rows))
    chances = st.sampled_from([1 / 3, 0.5, 2 / 3]) | st.floats(1 / 3, 1)
    return RandomFeatures(rows, columns, draw(chances) if rows == 1 else 1.0)


def independent_entries(design: RandomFeatures, rate: float = RATE) -> CheckResult:
    r"""If moreover the entries are independent with $E \exp(t x) \leq \exp(t^2 / 2)$ and $d \geq
    160 M$, then $\Phi \Phi' \geq (d / 4) I_M$ with probability at least $1 - \exp(-d / 200)$.

    Decided: $u' \Phi$ has $d$ independent entries $X$ of variance 1 for a unit $u$, and $E X^4 \leq
    3$; the chance that $|\sum X^2 - d|$ exceeds $3 d / 8$ is at most $2 \exp(-(3/8)^2 d / 6)$; a
    1/4-net of $9^M$ directions bounds $|\Phi \Phi' / d - I|$ by 3/4. The probability itself is
    exact: a binomial sum for one row of three-point entries, a random walk for two rows of signs.
    Instead of independent entries, $|\phi(z)|^2 = d$ for every row does as well (other constants).
    """
    chance = gram_below(*design, C * design.columns)
    bound = math.exp(-rate * design.columns)
    return at_most(chance, bound, 1e-14, "binomial probabilities to 1e-14")


def _absent_rows() -> RandomFeatures:
    design = RandomFeatures(1, 1000, 1.0, 0.5)
    # phi = sqrt(2) b e, b in {0, 1} fair, e in {-1, 1}^d fair: moments by hand and by listing d = 2
    listed = [[b * x, b * y] for b in (0, 1) for x in (-1, 1) for y in (-1, 1)]
    rows = math.sqrt(2) * np.array(listed)
    assumed(np.allclose(rows.mean(axis=0), 0), "centred rows")
    assumed(np.allclose(rows.T @ rows / len(rows), np.eye(2)), "isotropic rows")
    t = np.linspace(-6, 6, 241)
    # along any unit u: E exp(t u'phi) <= (1 + exp(t^2)) / 2; here u = e_1 and u = 1 / sqrt(d)
    for spread in (1, design.columns):
        logs = spread * np.log(np.cosh(t * math.sqrt(2 / spread)))
        bounded = np.all(np.logaddexp(0, logs) - math.log(2) <= t**2 + 1e-12)
        assumed(bounded, "sub-Gaussian rows, with a norm free of d")
    assumed(design.columns >= WIDTH * design.rows, "d >= C M")
    return design


@claim.holds_if(
    "rem:sub-gaussian-features",
    condition="the entries within a row are independent too (as in the theorem cited), or every "
    r"row has norm $\sqrt{d}$",
    instances=random_features(),
    counterexample=_absent_rows,
    text=(
        r"$\phi = \sqrt{{2}} b e$, $b$ in $\{{0, 1\}}$ and $e$ in $\{{-1, 1\}}^d$ fair coins: "
        r"centred, $E \phi \phi' = I$, $E \exp(t u'\phi) \leq \exp(t^2)$.",
        r"$M = 1$: $\phi = 0$ with probability 1/2 whatever $d$, $c$, $c'$, $C$ are; $d = 1000$ "
        "here, $c' = 1/200$.",
        "Probability of failure {observed:.3f}; at most {bound:.4f} is claimed.",
    ),
    corrected=independent_entries,
    broken="exp(-d / 2) for exp(-d / 200)",
    rejected={"rate": 1 / 2},
    rejected_at=lambda: RandomFeatures(1, WIDTH, 1 / 3),
    unproved="$c = 1/4$ and $c' = 1/200$. The values 1/2 and 1/50 pass every instance too. A "
    "finer net, or Gordon's inequality, would have to prove them for all $M$",
)
def sub_gaussian_features(design: RandomFeatures) -> CheckResult:
    r"""For independent centred isotropic sub-Gaussian rows $\phi(z_1)$, ..., $\phi(z_M)$ in
    $\mathbb{R}^d$, $d \geq C M$, $\Phi \Phi' \geq c d I_M$ with probability at least $1 - \exp(-c'
    d)$, constants from the norm only.

    Where: Technical proofs, the remark after the proof of Lemma linPolyNonsingular.

    Assumes: rows independent, centred, isotropic $(E \phi \phi' = I_d)$, with a sub-Gaussian norm
    that does not depend on $d$.

    Decided: isotropy fixes the mean of $|\phi|^2$ alone, and the first diagonal entry of the Gram
    matrix is $|\phi(z_1)|^2$. The theorem cited (Rudelson and Vershynin) has independent entries.
    """
    return independent_entries(design)


# --- the perturbation along the ball
class Quadratic(namedtuple("Quadratic", "gradients hessians move")):
    """Q_theta(z_i) = g_i' t + t' H_i t / 2, t = theta - theta_0: g (M, d), H (M, d, d), t (d,)."""

    def chain(self) -> tuple[Array, Array, float]:
        """J(theta_0), J(theta) and the largest norm of a Hessian."""
        most = max(float(np.linalg.norm(h, 2)) for h in self.hessians)
        return self.gradients, self.gradients + self.hessians @ self.move, most


class Tanh(namedtuple("Tanh", "points units theta move")):
    """A tanh network of m units: points (M, n), theta_0 and a move (m (n + 2) + 1,)."""

    def network(self) -> MLP:
        return MLP(self.points.shape[1], 1, (self.units,))

    def rows(self, theta: Array) -> Array:
        """J (M, d), by the library."""
        return np.asarray(self.network().jacobian(theta[None], self.points)[1][0, :, 0])

    def chain(self) -> tuple[Array, Array, float]:
        """J(theta_0), J(theta) and a bound on the Hessians in the ball from |sigma'|, |sigma''|."""
        u = np.column_stack([self.points, np.ones(len(self.points))])
        v = self.theta[-self.units - 1 : -1]
        most = hessian_bound(v, u, ACTIVATIONS["tanh"], float(np.linalg.norm(self.move)))
        return self.rows(self.theta), self.rows(self.theta + self.move), most


NUMBERS = quarters(12)


@st.composite
def quadratics(draw: st.DrawFn) -> Quadratic:
    points, width = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    half = draw(tables((points, width, width), NUMBERS))
    gradients = draw(tables((points, width), NUMBERS))
    move = draw(tables(width, NUMBERS))
    return Quadratic(gradients, half + half.transpose(0, 2, 1), move)


@st.composite
def tanh_networks(draw: st.DrawFn) -> Tanh:
    points, inputs, units = (draw(st.integers(1, n)) for n in (3, 2, 3))
    size = MLP(inputs, 1, (units,)).size
    z, theta, move = (draw(tables(shape, NUMBERS)) for shape in ((points, inputs), size, size))
    return Tanh(z, units, theta, move * draw(st.sampled_from([1.0, 0.1, 0.01])))


def _scalar(log_growth: float) -> Quadratic:
    """One point, one parameter: g = 1 and H R = exp(log_growth)."""
    return Quadratic(np.ones((1, 1)), np.ones((1, 1, 1)), np.array([math.exp(log_growth)]))


@claim.holds(
    "lem:NNenjoysPL.perturbation",
    instances=quadratics() | tanh_networks(),
    adversary=tightest(_scalar, "lem:NNenjoysPL.perturbation", -9, 3),
    broken="|J| on the ball taken to be C_0, its bound at the start",
    rejected={"jacobians_grow": False},
    rejected_at=lambda: _scalar(-2.0),
)
def perturbation(path: Quadratic | Tanh, jacobians_grow: bool = True) -> CheckResult:
    r"""$|K(\theta) - K(\theta_0)| \leq 2 C_J \sqrt{M} C_R R$ on $B(\theta_0, R)$, $C_J = C_0 +
    \sqrt{M} C_R R$.

    Where: proof of Lemma NNenjoysPL, from "the fundamental theorem of calculus gives" to the second
    use of Weyl's inequality. There $C_R$ bounds the Hessians on the ball and $C_0 = |J(\theta_0)|$.

    Assumes: $Q$ twice continuously differentiable in $\theta$ on the ball.

    Decided: every displayed inequality of the chain is checked on its own: rows, Frobenius norm,
    growth of $|J|$, the two products, the last line. The check uses outputs quadratic in $\theta$,
    whose $C_R$ is exact. It also uses tanh networks, whose $C_R$ follows from $|\sigma'| \leq 1$
    and $|\sigma''| \leq 4 / \sqrt{27}$. The slack is that of the last line; it tends to 1 as $R$
    does to 0 (one point, one parameter).
    """
    before, after, most = path.chain()
    radius = float(np.linalg.norm(path.move))
    change, spectral = after - before, [float(np.linalg.norm(j, 2)) for j in (before, after)]
    drift = math.sqrt(len(before)) * most * radius  # sqrt(M) C_R R
    reach = spectral[0] + drift  # C_J = C_0 + sqrt(M) C_R R
    kernels = float(np.linalg.norm(after @ after.T - before @ before.T, 2))
    norms = [float(np.linalg.norm(p, 2)) for p in (after @ change.T, change @ before.T, change)]
    steps = [
        (float(np.max(np.linalg.norm(change, axis=1))), most * radius),
        (float(np.linalg.norm(change)), drift),
        (spectral[1], reach),
        (kernels, norms[0] + norms[1]),
        (norms[0] + norms[1], sum(spectral) * norms[2]),
        (sum(spectral) * norms[2], 2 * reach * drift),
        (kernels, 2 * (reach if jacobians_grow else spectral[0]) * drift),
    ]
    eps = 1e-13 * max(1.0, reach, reach**2)
    results = [at_most(low, high, eps, "rounding of |J|^2") for low, high in steps]
    failed = [result for result in results if not result.holds]
    return weakest(*failed) if failed else results[-1]


# --- output transforms
TRANSFORMS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    **{name: (ACTIVATIONS[name].value, ACTIVATIONS[name].slope) for name in ("softplus", "tanh")},
    "exponential": (np.exp, np.exp),
    "scale by -1/2": (lambda z: -z / 2, lambda z: -0.5 + 0 * z),
}


# A tanh network, whose theta_0 and theta_0 + move stand for the ball, and a transform.
Transformed = tuple[Tanh, str]


@claim.holds(
    "lem:NNenjoysPL.output-transform",
    instances=st.tuples(
        tanh_networks().map(lambda net: net._replace(theta=net.theta / 4, move=net.move / 4)),
        st.sampled_from(sorted(TRANSFORMS)),
    ),
    cost=2,
    broken="rho in place of rho^2",
    rejected={"power": 1},
    rejected_at=lambda: (
        Tanh(np.array([[0.0], [1.0]]), 1, np.ones(4), np.zeros(4)),
        "scale by -1/2",
    ),
)
def output_transform(composition: Transformed, power: int = 2) -> CheckResult:
    r"""For $Q = \sigma_{\text{out}}(\tilde Q)$ with $|\sigma_{\text{out}}'| \geq \rho > 0$ at the
    outputs of the ball, $\mu_Q$ is $\rho^2 \lambda_{\mathrm{star}} / 2$ where
    $\lambda_{\mathrm{star}} / 2$ is that of $\tilde Q$.

    Where: proof of Lemma NNenjoysPL, after "coordinate-wise smooth output transformation".

    Assumes: the lower bound on the tangent kernel of $\tilde Q$, over the same points and ball.

    Decided: $v' K_Q v = (D v)' \tilde K (D v) \geq (\lambda_{\mathrm{star}} / 2) |D v|^2$. The
    Jacobian of the transformed network is taken from differences of its outputs. That of the inner
    network is taken from the library. Both are taken at two parameters. The check uses the smallest
    slope and the smallest eigenvalue over both parameters.
    """
    inner, (sigma, slope) = composition[0], TRANSFORMS[composition[1]]
    network, step = inner.network(), 1e-5
    least, slopes, kernels, size = [], [], [], 1.0
    for theta in (inner.theta, inner.theta + inner.move):
        tilde = inner.rows(theta)
        least.append(float(np.linalg.eigvalsh(tilde @ tilde.T)[0]))
        shifts = np.vstack([np.zeros(network.size), *(s * np.eye(network.size) for s in (1, -1))])
        raw = network.outputs(theta + step * shifts, inner.points)[..., 0]
        slopes.append(float(np.min(np.abs(slope(raw[0])))))
        up, down = np.split(sigma(raw[1:]), 2)
        jacobian = (up - down).T / (2 * step)
        size = max(size, float(np.linalg.norm(jacobian)) ** 2)
        kernels.append(float(np.linalg.eigvalsh(jacobian @ jacobian.T)[0]))
    why = "central differences with step 1e-5: error 1e-8 of |J_Q|"
    return at_least(min(kernels), min(slopes) ** power * max(min(least), 0.0), 1e-7 * size, why)
