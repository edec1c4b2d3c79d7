"""Lemma NNenjoysPL: Assumption nonSingularJac in wide networks, and the steps of its proof."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar
from scipy.special import expit

from gladius.checks import Array
from gladius.function_classes import MLP
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
    worst,
)
from proofs_checks.oracle.jacobian import parameters
from proofs_checks.oracle.networks import (
    ACTIVATIONS,
    Wide,
    hessian_bound,
    least_in_ball,
    limit_kernel,
)

# --- wide networks
WIDTH = 4096


@dataclass(frozen=True)
class Start:
    """Points z = (s, a) (M, 2), an activation, a ball; the random start is known by its number."""

    points: Array
    activation: str
    radius: float
    number: int

    @property
    def inputs(self) -> Array:
        """u = (z, 1)."""
        return np.column_stack([self.points, np.ones(len(self.points))])

    def network(self) -> Wide:
        """The network at theta_0: independent standard normal weights and biases."""
        rng = np.random.default_rng([14, self.number])
        width = self.inputs.shape[1]
        drawn = rng.normal(size=(WIDTH, width + 1))
        return Wide(drawn[:, 0], drawn[:, 1:], self.inputs, ACTIVATIONS[self.activation])


@st.composite
def starts(draw: st.DrawFn) -> Start:
    pairs = st.tuples(st.integers(-2, 2), st.integers(0, 1))
    points = draw(st.lists(pairs, min_size=1, max_size=4, unique=True))
    activation = draw(st.sampled_from(["tanh", "softplus", "sine"]))
    radius = draw(st.sampled_from([0.25, 0.5, 1.0]))
    return Start(np.array(points, dtype=float), activation, radius, draw(st.integers(0, 999)))


def _ball(at: Start, share: float = 0.5) -> CheckResult:
    limit = limit_kernel(at.inputs, ACTIVATIONS[at.activation])
    least = float(np.linalg.eigvalsh(limit)[0])
    floor = 1e-9 * float(np.trace(limit))
    if least < floor:  # mu_Q must be positive: below the floor it is zero to rounding
        observed = float(np.linalg.eigvalsh(at.network().kernel())[0])
        return CheckResult(observed, ">=", floor, 0.0, "what rounding leaves of a positive number")
    observed = least_in_ball(at.network(), at.radius)
    return CheckResult(observed, ">=", share * least, 0.1 * floor, "quadrature to 1e-10 of K")


def not_a_polynomial(at: Start) -> CheckResult:
    """If moreover no hidden activation is a polynomial, sigma' and sigma'' are bounded, and every
    unit has a bias (or no two points of Z_Q are proportional), then for every fixed radius R, with
    high probability once m is large, lambda_min(K(theta)) >= lambda_star / 2 > 0 on B(theta_0, R).

    Decided: sum_i c_i sigma(w'u_i) = 0 for all w makes sigma a polynomial when no two u_i are
    proportional (take differences in w along directions orthogonal to one u_j after the other), so
    lambda_star > 0; the two bounds give the rate of Liu et al. Networks of width 4,096 at random
    starts, against lambda_star from quadrature; theta is sought in the ball by descent on
    lambda_min, which can refute the bound and not prove it.
    """
    return _ball(at)


def _collinear_states() -> Start:
    at = Start(np.array([[s, a] for s in (0.0, 1.0, 2.0) for a in (0.0, 1.0)]), "identity", 1.0, 0)
    sigma, t = ACTIVATIONS[at.activation], np.linspace(-3, 3, 61)
    numeric = (sigma.slope(t + 1e-4) - sigma.slope(t - 1e-4)) / 2e-4
    assume_stated(np.allclose(numeric, sigma.bend(t)), "a C^2 activation")
    assume_stated(len(np.unique(at.points, axis=0)) == len(at.points), "distinct points")
    u = at.inputs / np.linalg.norm(at.inputs, axis=1, keepdims=True)
    cosines = np.abs(u @ u.T) - np.eye(len(u))
    assume_stated(bool(cosines.max() < 0.999), "no two inputs proportional")
    return at


@claim(
    "lem:NNenjoysPL",
    verdict="holds-if",
    condition="no hidden activation is a polynomial (C^2 does not exclude it), and sigma', sigma''"
    " are bounded",
    instances=starts(),
    cost=5,
    counterexample=Counterexample(
        make=_collinear_states,
        text="sigma(z) = z is C^2. Q = sum_k v_k (w_k s + w'_k a + b_k) / sqrt(m) has a gradient"
        " affine in (s, a),\nso at s = 0, 1, 2 with one a: row(0) - 2 row(1) + row(2) = 0 for all"
        " weights, whatever m.\nlambda_min at m = 4,096 is {observed:.0e} (rounding); it would have"
        " to exceed {bound:.0e} to be told from 0.",
    ),
    corrected=not_a_polynomial,
    control=Control(
        broken="3/4 of lambda_star, the bound at the start, claimed on the whole ball",
        check=lambda at: _ball(at, share=0.75),
        make=lambda: Start(
            np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), "tanh", 4.0, 0
        ),
    ),
)
def wide_networks(at: Start) -> CheckResult:
    """Sufficiently wide feedforward networks with C^2 hidden activations, standard scaling and
    random initialization satisfy Assumption nonSingularJac with high probability.

    Where: Section 6, Lemma NNenjoysPL, "under the standard sufficient conditions stated and
    justified in Appendix"; those stated are on the inputs: "nondegenerate input conditions".

    Assumes: C^2 activations, distinct points none of which are proportional, weights scaled by
    1 / sqrt(width) and drawn from a normal law, a ball of fixed radius about the start; "the
    empirical minimizers" are the minimisers on that ball.

    Decided: the limiting kernel of a polynomial activation has bounded rank, so lambda_star = 0 as
    soon as Z_Q has more points; the theorem of Jacot et al. that the proof cites says
    "non-polynomial", the lemma and its proof do not. The ball cannot hold all minimisers: with
    its images under permutations of the hidden units a minimiser puts their mean into the
    (convex) ball, and there J has rank dim(z) + 3 at most, whatever the width.
    """
    return _ball(at)


# --- the perturbation along the ball
@dataclass(frozen=True)
class Quadratic:
    """Q_theta(z_i) = g_i' t + t' H_i t / 2, t = theta - theta_0: g (M, d), H (M, d, d), t (d,)."""

    gradients: Array
    hessians: Array
    move: Array

    def chain(self) -> tuple[Array, Array, float]:
        """J(theta_0), J(theta) and the largest norm of a Hessian."""
        most = max(float(np.linalg.norm(h, 2)) for h in self.hessians)
        return self.gradients, self.gradients + self.hessians @ self.move, most


@dataclass(frozen=True)
class Tanh:
    """A tanh network of m units: points (M, n), theta_0 and a move (m (n + 2) + 1,)."""

    points: Array
    units: int
    theta: Array
    move: Array

    def network(self) -> MLP:
        return MLP(self.points.shape[1], 1, (self.units,))

    def rows(self, theta: Array) -> Array:
        """J (M, d), by the library."""
        jacobian: Array = self.network().jacobian(theta[None], self.points)[1][0, :, 0]
        return jacobian

    def chain(self) -> tuple[Array, Array, float]:
        """J(theta_0), J(theta) and a bound on the Hessians in the ball from |sigma'|, |sigma''|."""
        u = np.column_stack([self.points, np.ones(len(self.points))])
        v = self.theta[-self.units - 1 : -1]
        most = hessian_bound(v, u, ACTIVATIONS["tanh"], float(np.linalg.norm(self.move)))
        return self.rows(self.theta), self.rows(self.theta + self.move), most


NUMBERS = st.integers(-12, 12).map(lambda n: n / 4)


@st.composite
def quadratics(draw: st.DrawFn) -> Quadratic:
    points, width = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    half = draw(arrays(np.float64, (points, width, width), elements=NUMBERS))
    gradients = draw(arrays(np.float64, (points, width), elements=NUMBERS))
    move = draw(arrays(np.float64, width, elements=NUMBERS))
    return Quadratic(gradients, half + half.transpose(0, 2, 1), move)


@st.composite
def tanh_networks(draw: st.DrawFn) -> Tanh:
    points, inputs, units = (draw(st.integers(1, n)) for n in (3, 2, 3))
    size = parameters(inputs, (units,), 1)
    z, theta, move = (
        draw(arrays(np.float64, shape, elements=NUMBERS))
        for shape in ((points, inputs), size, size)
    )
    return Tanh(z, units, theta, move * draw(st.sampled_from([1.0, 0.1, 0.01])))


def _chain(at: Quadratic | Tanh, jacobians_grow: bool = True) -> CheckResult:
    before, after, most = at.chain()
    radius = float(np.linalg.norm(at.move))
    change, spectral = after - before, [float(np.linalg.norm(j, 2)) for j in (before, after)]
    drift = math.sqrt(len(before)) * most * radius  # sqrt(M) C_R R
    reach = spectral[0] + drift  # C_J = C_0 + sqrt(M) C_R R
    kernels = float(np.linalg.norm(after @ after.T - before @ before.T, 2))
    parts = [float(np.linalg.norm(p, 2)) for p in (after @ change.T, change @ before.T, change)]
    steps = [
        (float(np.max(np.linalg.norm(change, axis=1))), most * radius),
        (float(np.linalg.norm(change)), drift),
        (spectral[1], reach),
        (kernels, parts[0] + parts[1]),
        (parts[0] + parts[1], sum(spectral) * parts[2]),
        (sum(spectral) * parts[2], 2 * reach * drift),
        (kernels, 2 * (reach if jacobians_grow else spectral[0]) * drift),
    ]
    eps = 1e-13 * max(1.0, reach, reach**2)
    found = [CheckResult(low, "<=", high, eps, "rounding of |J|^2") for low, high in steps]
    failed = [result for result in found if not result.holds]
    return worst(failed) if failed else found[-1]


def _scalar(log_growth: float) -> Quadratic:
    """One point, one parameter: g = 1 and H R = exp(log_growth)."""
    return Quadratic(np.ones((1, 1)), np.ones((1, 1, 1)), np.array([math.exp(log_growth)]))


def _least_slack() -> Quadratic:
    found = minimize_scalar(lambda x: _chain(_scalar(x)).slack, bounds=(-9, 3), method="bounded")
    return _scalar(float(found.x))


@claim(
    "lem:NNenjoysPL.perturbation",
    verdict="holds",
    instances=quadratics() | tanh_networks(),
    adversary=_least_slack,
    control=Control(
        broken="|J| on the ball taken to be C_0, its bound at the start",
        check=lambda at: _chain(at, jacobians_grow=False),
        make=lambda: _scalar(-2.0),
    ),
)
def perturbation(at: Quadratic | Tanh) -> CheckResult:
    """|K(theta) - K(theta_0)| <= 2 C_J sqrt(M) C_R R on B(theta_0, R), C_J = C_0 + sqrt(M) C_R R.

    Where: proof of Lemma NNenjoysPL, from "the fundamental theorem of calculus gives" to the second
    use of Weyl's inequality; C_R bounds the Hessians on the ball and C_0 = |J(theta_0)|.

    Assumes: Q twice continuously differentiable in theta on the ball.

    Decided: every displayed inequality of the chain on its own (rows, Frobenius norm, growth of
    |J|, the two products, the last line), for outputs quadratic in theta, whose C_R is exact, and
    for tanh networks, whose C_R follows from |sigma'| <= 1 and |sigma''| <= 4 / sqrt(27). The slack
    is that of the last line; it tends to 1 as R does to 0 (one point, one parameter).
    """
    return _chain(at)


# --- output transforms
def _exp(z: Array) -> Array:
    return np.asarray(np.exp(z))


TRANSFORMS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "softplus": (lambda z: np.logaddexp(0.0, z), expit),
    "exponential": (_exp, _exp),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "scale by -1/2": (lambda z: -z / 2, lambda z: -0.5 + 0 * z),
}


@dataclass(frozen=True)
class Transformed:
    """A tanh network, a transform of its outputs, and theta_0, theta_0 + move as the ball."""

    inner: Tanh
    transform: str


@st.composite
def transformed(draw: st.DrawFn) -> Transformed:
    inner = draw(tanh_networks())
    small = replace(inner, theta=inner.theta / 4, move=inner.move / 4)
    return Transformed(small, draw(st.sampled_from(sorted(TRANSFORMS))))


def _transform(at: Transformed, power: int = 2) -> CheckResult:
    inner, (sigma, slope) = at.inner, TRANSFORMS[at.transform]
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
    return CheckResult(
        min(kernels),
        ">=",
        min(slopes) ** power * max(min(least), 0.0),
        1e-7 * size,
        "central differences with step 1e-5: error 1e-8 of |J_Q|",
    )


@claim(
    "lem:NNenjoysPL.output-transform",
    verdict="holds",
    instances=transformed(),
    cost=2,
    control=Control(
        broken="rho in place of rho^2",
        check=lambda at: _transform(at, power=1),
        make=lambda: Transformed(
            Tanh(np.array([[0.0], [1.0]]), 1, np.ones(4), np.zeros(4)), "scale by -1/2"
        ),
    ),
)
def output_transform(at: Transformed) -> CheckResult:
    """For Q = sigma_out(Q-tilde) with |sigma_out'| >= rho > 0 at the outputs of the ball, mu_Q is
    rho^2 lambda_star / 2 where lambda_star / 2 is that of Q-tilde.

    Where: proof of Lemma NNenjoysPL, after "coordinate-wise smooth output transformation".

    Assumes: the lower bound on the tangent kernel of Q-tilde, over the same points and ball.

    Decided: v' K_Q v = (D v)' K-tilde (D v) >= (lambda_star / 2) |D v|^2. The Jacobian of the
    transformed network is taken from differences of its outputs, that of the inner one from the
    library, both at two parameters; smallest slope and eigenvalue over both.
    """
    return _transform(at)
