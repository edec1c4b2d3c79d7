"""Section 6.1, Empirical PL conditions: nonSingularJac, linear classes, wide networks."""

from collections import namedtuple
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from gladius.validate import Array
from proofs_checks.claims.claims import (
    CheckResult,
    assumed,
    at_least,
    at_most,
    claim,
    equal,
    weakest,
)
from proofs_checks.claims.instances import tables
from proofs_checks.claims.under_check import EPS, MLP, Linear
from proofs_checks.oracle import networks
from proofs_checks.oracle.polyak import least_eigenvalue as smallest_eigenvalue

SMALL = st.integers(-2, 2).map(float)


class LinearClass(namedtuple("LinearClass", "features visited actions")):
    """Q_theta(s, a) = theta_a' x(s): features x (n, w) of the states S, and which are in X_Q."""

    @property
    def gradients(self) -> Array:
        """(n A, d_theta) over S x A, by the library."""
        family = Linear(self.features.shape[1], self.actions)
        rows = family.jacobian(np.zeros((1, family.size)), self.features)[1]
        return np.asarray(rows.reshape(-1, family.size))

    @property
    def empirical(self) -> Array:
        """J_Q(theta; Z_Q), (M, d_theta)."""
        return np.asarray(self.gradients[np.repeat(self.visited, self.actions)])


@st.composite
def linear_classes(draw: st.DrawFn) -> LinearClass:
    states, width = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    visited = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    visited[0] = True  # a data set visits some state
    features = draw(tables((states, width), SMALL))
    return LinearClass(features, tuple(visited), draw(st.integers(1, 2)))


def _least_kernel_eigenvalue(rows: Array) -> float:
    return float(np.linalg.eigvalsh(rows @ rows.T)[0])


FLOOR = 1e-9  # least eigenvalues of the drawn whole-number matrices are 0 or above 1e-4


def _agree(quantity: float, exact: bool) -> CheckResult:
    """Whether a quantity is positive exactly where elimination says so."""
    return equal(quantity > FLOOR, exact, 0.0, "yes or no")


def not_comparable(family: LinearClass, row_rank_is: str = "M") -> CheckResult:
    r"""The two conditions are not comparable. The first says that the gradients over $S \times A$
    span $\mathbb{R}^d$. The second says that those at the $M$ points of $Z_Q$ are linearly
    independent.

    Decided: the infimum (from all vertices of the dual polytope) and $\lambda_{\min}$ are positive
    exactly where exact elimination finds these ranks. On every instance an unused parameter ends
    the first condition alone, and a second point with the same gradient ends the second alone.
    """
    every, visited = family.gradients, family.empirical
    points, width = len(visited), every.shape[1]
    spans = networks.rank(every) == width
    free = networks.rank(visited) == (points if row_rank_is == "M" else width)
    idle = [np.pad(rows, ((0, 0), (0, 1))) for rows in (every, visited)]  # a parameter without use
    twin = [np.vstack([rows, visited[:1]]) for rows in (every, visited)]  # with z_1's gradient
    return weakest(
        _agree(networks.least_response(every), spans),
        _agree(_least_kernel_eigenvalue(visited), free),
        _agree(networks.least_response(idle[0]), False),
        _agree(_least_kernel_eigenvalue(idle[1]), free),
        _agree(networks.least_response(twin[0]), spans),
        _agree(_least_kernel_eigenvalue(twin[1]), False),
    )


def _square_features() -> LinearClass:
    world = LinearClass(np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), (True, False, True), 2)
    assumed(networks.least_response(world.gradients) > 0, "full column rank over S x A")
    enough = len(world.empirical) <= world.gradients.shape[1]
    assumed(enough, "no more points than parameters")
    return world


@claim.fails(
    "remark.full-column-rank",
    instances=linear_classes(),
    counterexample=_square_features,
    text=(
        r"$S = [-1, 1]$, $A = \{{0, 1\}}$, $Q(s, a) = \theta_{{a0}} + \theta_{{a1}} s^2$, data "
        "at $s = -1$ and $s = 1$: $d = M = 4$.",
        r"The gradients at $s = 0$ and $s = 1$ span $\mathbb{{R}}^4$, at -1 and 1 they are "
        "equal, so $J J'$ is singular.",
        "Rank of $J$ {observed:.0f}; (ii) needs {bound:.0f}.",
    ),
    corrected=not_comparable,
    broken="(ii) read as full column rank of the empirical Jacobian, d in place of M",
    rejected={"row_rank_is": "d"},
    rejected_at=lambda: LinearClass(np.array([[1.0, 2.0]]), (True,), 2),
)
def full_column_rank(family: LinearClass) -> CheckResult:
    r"""inf over $|h| = 1$ of sup over $S \times A$ of $|h' \nabla Q_\theta(s, a)| > 0$ is stronger
    than condition (ii), $J_Q J_Q' \geq \mu_Q I_M$ on the $M$ points of the data.

    Where: Section 6, "The proof also avoids the stronger full-column-rank condition ... Instead,
    the analysis uses empirical-output Jacobian conditioning".

    Assumes: stronger means that it implies (ii).

    Decided: the condition bounds $d$ from above by $|S \times A|$, (ii) bounds $d$ from below by
    $M$, so neither implies the other. In particular (ii) is the one that a class with few
    parameters cannot satisfy. The counterexample has $d = M$, so that it is not a matter of
    counting.
    """
    needed = len(family.empirical) if networks.least_response(family.gradients) > FLOOR else 0
    row_rank = int(np.linalg.matrix_rank(family.empirical))
    return at_least(row_rank, needed, 0.0, "ranks are whole numbers")


# --- linear classes
# Feature rows of Q (M, d) and of zeta (G, d'), each with two parameters of its ball (2, .).
LinearPair = namedtuple("LinearPair", "phi chi theta theta_zeta")


@st.composite
def _independent_rows(draw: st.DrawFn) -> Array:
    """Feature rows of full row rank: a triangle, more columns, in a drawn order of columns."""
    points, more = draw(st.integers(1, 4)), draw(st.integers(0, 2))
    rows = np.tril(draw(tables((points, points), SMALL)))
    scale = st.sampled_from([0.25, 0.5, 1.0, 3.0, -1.0])
    np.fill_diagonal(rows, draw(tables(points, scale)))
    wide = np.hstack([rows, draw(tables((points, more), SMALL))])
    return np.array(wide[:, draw(st.permutations(range(points + more)))])


@st.composite
def linear_pairs(draw: st.DrawFn) -> LinearPair:
    phi, chi = draw(_independent_rows()), draw(_independent_rows())
    theta = [draw(tables((2, rows.shape[1]), SMALL)) for rows in (phi, chi)]
    return LinearPair(phi, chi, *theta)


def _linear_block(features: Array, points: Array, gram: float) -> CheckResult:
    """(i) and (ii) or (iii) for one class, from differences of the library's outputs."""
    family = Linear(features.shape[1], 1)
    step, results = np.eye(family.size), []
    eps = 64 * EPS * max(1.0, float(np.abs(features).max())) ** 2 * features.size
    why = "rounding, 64 eps |phi|^2 M d"
    for theta in points:
        up, down = (family.outputs(theta + s * step, features)[..., 0] for s in (1.0, -1.0))
        middle = family.outputs(theta[None], features)[..., 0]
        least = _least_kernel_eigenvalue(((up - down) / 2).T)
        results.append(at_least(least, gram, eps, why))
        results.append(at_most(np.abs(up - 2 * middle + down).max(), 0.0, eps, why))
    return weakest(*results)


@claim.holds(
    "lem:linPolyNonsingular",
    instances=linear_pairs(),
    broken="the Gram matrix taken over features, Phi' Phi (d x d), as in least squares",
    rejected=lambda pair: _linear_block(pair.phi, pair.theta, smallest_eigenvalue(pair.phi.T)),
    rejected_at=lambda: LinearPair(
        np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.eye(1), np.zeros((2, 2)), np.eye(1)
    ),
)
def linear_classes_satisfy_it(pair: LinearPair) -> CheckResult:
    r"""If the Gram matrices $\Phi \Phi'$ on $Z_Q$ and $X X'$ on $Z_\zeta$ are positive definite, a
    linear class satisfies Assumption nonSingularJac. Its $\mu_Q$ and $\mu_\zeta$ are the smallest
    eigenvalues of both.

    Where: Section 6, Lemma linPolyNonsingular; its proof in the technical proofs.

    Assumes: Gram matrix means the $M \times M$ matrix of the proof, not the $d \times d$ matrix
    $\Phi' \Phi$. Balls "containing the initial point, optimization iterates, and the empirical
    minimizers" are closed balls of any radius with the minimisers on the ball.

    Decided: $J_Q = \Phi$ at every $\theta$ and the Hessian is 0. The Jacobian and the second
    differences are taken from the library's outputs at two parameters of the ball. $\Phi \Phi'$ can
    be positive definite only if $d \geq M$: a polynomial needs a coefficient for every mileage.
    """
    return weakest(
        _linear_block(pair.phi, pair.theta, smallest_eigenvalue(pair.phi)),
        _linear_block(pair.chi, pair.theta_zeta, smallest_eigenvalue(pair.chi)),
    )


# --- wide networks
WIDTH = 4096


class Start(namedtuple("Start", "points activation radius number width", defaults=[WIDTH])):
    """Points z = (s, a) (M, 2), an activation, a ball; the random start is drawn by its number."""

    @property
    def inputs(self) -> Array:
        """u = (z, 1)."""
        return np.column_stack([self.points, np.ones(len(self.points))])

    def network(self) -> networks.Wide:
        """The network at theta_0: independent standard normal weights and biases."""
        rng = np.random.default_rng([14, self.number])
        drawn = rng.normal(size=(self.width, self.inputs.shape[1] + 1))
        activation = networks.ACTIVATIONS[self.activation]
        return networks.Wide(drawn[:, 0], drawn[:, 1:], self.inputs, activation)


_POINTS = st.tuples(st.integers(-2, 2), st.integers(0, 1))
STARTS = st.builds(
    Start,
    st.lists(_POINTS, min_size=1, max_size=4, unique=True).map(lambda p: np.array(p, dtype=float)),
    st.sampled_from(["tanh", "softplus", "sine"]),
    st.sampled_from([0.25, 0.5, 1.0]),
    st.integers(0, 999),
)


def not_a_polynomial(start: Start, share: float = 0.5) -> CheckResult:
    r"""Assume further that no hidden activation is a polynomial, and that $\sigma'$ and $\sigma''$
    are bounded. Let every unit have a bias, or let no two points of $Z_Q$ be proportional. Then for
    every fixed radius $R$, with high probability once $m$ is large, $\lambda_{\min}(K(\theta)) \geq
    \lambda_{\mathrm{star}} / 2 > 0$ on $B(\theta_0, R)$.

    Decided: $\sum_i c_i \sigma(w'u_i) = 0$ for all $w$ makes $\sigma$ a polynomial when no two
    $u_i$ are proportional (take differences in $w$ along directions orthogonal to one $u_j$ after
    the other), so $\lambda_{\mathrm{star}} > 0$; the two bounds give the rate of Liu et al.
    Measured: networks of width 4,096 at random starts, and descent on $\lambda_{\min}$ in the ball,
    against $\lambda_{\mathrm{star}}$ from quadrature.
    """
    limit = networks.limit_kernel(start.inputs, networks.ACTIVATIONS[start.activation])
    least = float(np.linalg.eigvalsh(limit)[0])
    floor = 1e-9 * float(np.trace(limit))
    if least < floor:  # mu_Q must be positive: below the floor it is zero to rounding
        observed = float(np.linalg.eigvalsh(start.network().kernel())[0])
        observed = observed if abs(observed) > floor else 0.0
        return at_least(observed, floor, 0.0, "what rounding leaves of a positive number")
    observed = networks.least_in_ball(start.network(), start.radius)
    return at_least(observed, share * least, 0.1 * floor, "quadrature to 1e-10 of K")


def _collinear_states() -> Start:
    points = np.array([[s, a] for s in (0.0, 1.0, 2.0) for a in (0.0, 1.0)])
    start = Start(points, "identity", 1.0, 0)
    sigma, t = networks.ACTIVATIONS[start.activation], np.linspace(-3, 3, 61)
    assumed(np.allclose(np.gradient(sigma.slope(t), t), sigma.curvature(t)), "a C^2 activation")
    assumed(len(np.unique(points, axis=0)) == len(points), "distinct points")
    u = start.inputs / np.linalg.norm(start.inputs, axis=1, keepdims=True)
    assumed((np.abs(u @ u.T) - np.eye(len(u))).max() < 0.999, "no two inputs proportional")
    return start


@claim.holds_if(
    "lem:NNenjoysPL",
    condition=r"no hidden activation is a polynomial ($C^2$ does not exclude it), and $\sigma'$, "
    r"$\sigma''$ are bounded",
    instances=STARTS,
    cost=5,
    counterexample=_collinear_states,
    text=(
        r"$\sigma(z) = z$ is $C^2$. $Q = \sum_k v_k (w_k s + w'_k a + b_k) / \sqrt{{m}}$ has a "
        "gradient affine in $(s, a)$.",
        r"So at $s = 0$, 1, 2 with one $a$, $\text{{row}}(0) - 2 \text{{row}}(1) + "
        r"\text{{row}}(2) = 0$ for all weights, whatever $m$.",
        r"$\lambda_{{\min}}$ at $m = 4,096$ is {observed:.0f} to rounding; it would have to "
        "exceed {bound:.0e} to count as positive.",
    ),
    corrected=not_a_polynomial,
    missing=r"that $K$ is near its limit at the start and changes by $O(1/\sqrt{m})$ on the "
    "ball. For more than one hidden layer both are cited, of Liu et al",
    broken="3/4 of lambda_star, the bound at the start, claimed on the whole ball",
    rejected={"share": 0.75},
    rejected_at=lambda: Start(
        np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), "tanh", 4.0, 0
    ),
)
def wide_networks(start: Start) -> CheckResult:
    r"""Sufficiently wide feedforward networks with $C^2$ hidden activations, standard scaling and
    random initialization satisfy Assumption nonSingularJac with high probability.

    Where: Section 6, Lemma NNenjoysPL, "under the standard sufficient conditions stated and
    justified in Appendix"; those stated are on the inputs: "nondegenerate input conditions".

    Assumes: $C^2$ activations, and distinct points, no two of them proportional. The weights are
    scaled by $1 / \sqrt{\text{width}}$ and drawn from a normal distribution. The ball has a fixed
    radius about the start. "The empirical minimizers" are the minimisers on that ball.

    Decided: the limiting kernel of a polynomial activation has bounded rank, so
    $\lambda_{\mathrm{star}} = 0$ as soon as $Z_Q$ has more points. The theorem of Jacot et al. that
    the proof cites says "non-polynomial", the lemma and its proof do not. The ball cannot hold all
    minimisers: see asmp:nonSingularJac.networks.
    """
    return not_a_polynomial(start)


# --- the ball of the assumption, for networks
# Points x (n, d), hidden widths and actions; the parameters theta are drawn by their number.
class Copies(namedtuple("Copies", "x hidden actions number")):
    """A network at theta, which minimises some data's risk, and its copies with units permuted."""

    @property
    def network(self) -> MLP:
        return MLP(self.x.shape[1], self.actions, self.hidden)

    @property
    def theta(self) -> Array:
        """(P,)."""
        return np.asarray(self.network.init([np.random.default_rng([12, self.number])])[0])

    def layers(self, theta: Array) -> list[Array]:
        """(fan-in + 1, fan-out) of each layer, the biases last."""
        sizes = [((i + 1) * o, o) for i, o in self.network.layers]
        blocks = np.split(theta, np.cumsum([size for size, _ in sizes])[:-1])
        return [block.reshape(-1, o) for block, (_, o) in zip(blocks, sizes, strict=True)]

    def permuted(self, order: Sequence[NDArray[np.int64]]) -> Array:
        """The parameters with each hidden layer's units in this order."""
        blocks, before = [], np.arange(self.x.shape[1])
        for layer, after in zip(
            self.layers(self.theta), (*order, np.arange(self.actions)), strict=True
        ):
            blocks.append(layer[np.append(before, len(before))][:, after].ravel())
            before = after
        return np.concatenate(blocks)

    @property
    def mean(self) -> Array:
        """The mean of all copies, in which every unit of a layer is the same."""
        layers = self.layers(self.theta)
        for layer in layers[1:]:  # the units before are hidden ones
            layer[:-1] = layer[:-1].mean(axis=0)
        for layer in layers[:-1]:
            layer[:] = layer.mean(axis=1, keepdims=True)
        return np.concatenate([layer.ravel() for layer in layers])

    def rank(self, theta: Array) -> int:
        """Of J_Q (M, P); singular values below 1e-10 of the norm are rounding."""
        rows = self.network.jacobian(theta[None], self.x)[1].reshape(-1, theta.size)
        return int(np.linalg.matrix_rank(rows, tol=1e-10 * np.linalg.norm(rows)))


@st.composite
def copies(draw: st.DrawFn) -> Copies:
    inputs = draw(st.integers(1, 2))
    point = st.tuples(*[st.integers(-3, 3)] * inputs)
    points = st.lists(point, min_size=1, max_size=6, unique=True)
    hidden = draw(st.sampled_from([(1,), (3,), (6,), (2, 2), (4, 3), (10, 10)]))
    x = np.array(draw(points), dtype=float)
    return Copies(x, hidden, draw(st.integers(1, 3)), draw(st.integers(0, 99)))


def rank_at_the_mean(design: Copies, biases: int = 1) -> CheckResult:
    r"""A convex set that contains a minimiser and its copies with hidden units permuted also
    contains their mean. There $J_Q$ has rank at most $n + 1 + 2 (L - 1) + 2 |A|$ for $n$ inputs and
    $L$ hidden layers, whatever their widths. So (ii) can hold on a ball that contains all
    minimisers only if $M$ is no more than that. Ask for a ball around $\theta_0$ that holds the
    iterates and one minimiser, with $\hat S_N$ the minimisers on it.

    Decided: at the mean all units of a layer are equal, so that $J$ has that many different
    columns. The copies' outputs are those of the minimiser. Rank by the library's Jacobian.
    """
    rng = np.random.default_rng(design.number)
    copy = design.permuted([rng.permutation(width) for width in design.hidden])
    outputs = design.network.outputs(np.stack([design.theta, copy]), design.x)
    most = design.x.shape[1] + 1 + 2 * (len(design.hidden) - 1) + (1 + biases) * design.actions
    return weakest(
        equal(outputs[0], outputs[1], 1e-12, "the same sums in another order"),
        at_most(design.rank(design.mean), most, 0.0, "ranks are whole numbers"),
    )


def _paper_network() -> Copies:
    design = Copies(np.linspace(-1.6, 1.6, 20)[:, None], (10, 10), 2, 0)
    assumed(design.rank(design.theta) == 40, "J J' >= mu I at the minimiser: 40 outputs")
    return design


@claim.holds_if(
    "asmp:nonSingularJac.networks",
    condition="the empirical minimisers are those on the ball. Section 6.2 says so later, where "
    r"it defines $\hat S_N$. With all minimisers no network of two units or more a "
    "layer satisfies it on data with enough pairs",
    instances=copies(),
    counterexample=_paper_network,
    text=(
        r"The paper's $2 \times 10$ network at 20 mileages: $M = 40$, 152 parameters, rank 40 at "
        r"a random $\theta$, a minimiser of the data it fits.",
        "Permuting hidden units changes no output, so the copies are minimisers, and a ball "
        "with them holds their mean.",
        "There each layer's units are equal: "
        f"{1 + 1 + 2 + 2 * 2}"
        " different columns. Rank {observed:.0f}; (ii) "
        "needs {bound:.0f}.",
    ),
    corrected=rank_at_the_mean,
    broken="the biases of the outputs not counted",
    rejected={"biases": 0},
    cost=2,
)
def ball_with_all_minimisers(design: Copies) -> CheckResult:
    r"""Networks satisfy Assumption nonSingularJac on a closed ball that contains the initial point,
    the iterates "and the empirical minimizers".

    Where: Section 6, Assumption nonSingularJac, with Lemma NNenjoysPL: "sufficiently wide
    feedforward neural networks ... Assumption nonSingularJac holds with high probability".

    Assumes: one hidden layer of two units or more, a minimiser that exists, convex balls. "The
    empirical minimizers" are read as all of them.

    Decided: permutations of hidden units are a symmetry of every network, whatever its width and
    activation. The assumption does not say which minimisers. Section 6.2 defines $\hat S_N$ on the
    ball. With those meant, as our other claims read it, the assumption can hold. So this is a
    remark on the wording.
    """
    points = len(design.x) * design.actions
    return at_least(design.rank(design.mean), points, 0.0, "ranks are whole numbers")
