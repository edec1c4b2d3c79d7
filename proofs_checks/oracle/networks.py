"""Jacobians of the model classes: ranks, least eigenvalues, random features and wide networks.

The wide networks: Q(z) = sum_k v_k sigma(w_k' u) / sqrt(m) + c with u = (z, 1), all of v, w, c
trained and v, w standard normal at the start: the usual over-parametrised scaling, biases included.
"""

import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from scipy.special import expit
from scipy.stats import binom

from proofs_checks.oracle import Array
from proofs_checks.oracle.occupancy import row_echelon


def rank(matrix: Array) -> int:
    """Rank in exact arithmetic (the entries are taken as the floats they are)."""
    return row_echelon([[Fraction(float(x)) for x in row] for row in np.atleast_2d(matrix)])[1]


def least_response(gradients: Array) -> float:
    """inf over unit h of max_i |h' g_i|, for gradients (n, d): the paper's full-rank condition.

    It is 1 over the longest h with all |h' g_i| <= 1, a vertex of that polytope; without n >= d
    spanning rows the polytope is unbounded and the infimum 0. All vertices are tried.
    """
    n, d = gradients.shape
    signs = np.array([(1.0, *rest) for rest in product((-1.0, 1.0), repeat=d - 1)])
    square = [gradients[list(rows)] for rows in combinations(range(n), d)]
    regular = [matrix for matrix in square if rank(matrix) == d]
    if not regular:
        return 0.0
    vertices = np.linalg.solve(np.stack(regular)[:, None], signs[None, :, :, None])[..., 0]
    corners = vertices.reshape(-1, d)
    inside = np.all(np.abs(corners @ gradients.T) <= 1 + 1e-9, axis=1)
    return float(1 / np.max(np.linalg.norm(corners[inside], axis=1)))


def gram_below(rows: int, columns: int, nonzero: float, present: float, level: float) -> float:
    """P(lambda_min(Phi Phi') < level), exactly, for one or two random feature rows.

    An entry is 0 with chance 1 - nonzero, else +-1 / sqrt(nonzero); a whole row is 0 with chance
    1 - present, else it is scaled by 1 / sqrt(present): centred and isotropic either way.
    """
    if rows == 1:  # lambda_min is the squared norm, a binomial count / (nonzero present)
        below = math.ceil(level * nonzero * present) - 1
        short = float(binom.cdf(below, columns, nonzero))
        return (1 - present) * (level > 0) + present * short
    if rows != 2 or nonzero != 1:
        raise ValueError("two rows at most, and without zero entries if two")
    # [[d, S], [S, d]] / present with S a random walk of d steps: lambda_min = (d - |S|) / present
    walk = columns - 2 * np.arange(columns + 1)
    few = columns - np.abs(walk) < level * present
    both = float(binom.pmf(np.arange(columns + 1), columns, 0.5)[few].sum())
    return (1 - present**2) * (level > 0) + present**2 * both


Scalar = Callable[[Array], Array]


# sigma, sigma', sigma'', and the largest absolute values of the two derivatives
Activation = namedtuple("Activation", "value slope curvature most_slope most_curvature")


def _tanh_slope(z: Array) -> Array:
    return np.asarray(1 - np.tanh(z) ** 2)


ACTIVATIONS = {
    "tanh": Activation(
        np.tanh, _tanh_slope, lambda z: -2 * np.tanh(z) * _tanh_slope(z), 1.0, 4 / 27**0.5
    ),
    "softplus": Activation(
        lambda z: np.logaddexp(0.0, z), expit, lambda z: expit(z) * expit(-z), 1.0, 0.25
    ),
    "sine": Activation(np.sin, np.cos, lambda z: -np.sin(z), 1.0, 1.0),
    "identity": Activation(np.copy, np.ones_like, np.zeros_like, 1.0, 0.0),
    "square": Activation(lambda z: z**2, lambda z: 2 * z, lambda z: 2 + 0 * z, np.inf, 2.0),
}


@dataclass(frozen=True)
class Wide:
    """Weights v (m,), w (m, n + 1) and the points u (M, n + 1), with their activation."""

    v: Array
    w: Array
    u: Array
    activation: Activation

    def kernel(self) -> Array:
        """J J' (M, M), without J."""
        h = self.u @ self.w.T
        values, slopes = self.activation.value(h), self.activation.slope(h) * self.v
        inner = (self.u @ self.u.T) * (slopes @ slopes.T)
        return np.asarray((values @ values.T + inner) / len(self.v) + 1)

    def downhill(self, e: Array) -> tuple[Array, Array]:
        """Gradient of e' K e in v and w, up to the factor 2 / m."""
        h = self.u @ self.w.T
        slopes = self.activation.slope(h)
        a = e @ self.activation.value(h)
        b = (slopes.T * e) @ self.u  # (m, n + 1)
        curvatures = self.activation.curvature(h) * e[:, None] * (self.u @ b.T)
        inner = a[:, None] * b + self.v[:, None] ** 2 * curvatures.T @ self.u
        return self.v * np.sum(b**2, axis=1), inner


def least_in_ball(start: Wide, radius: float, steps: int = 4) -> float:
    """The smallest lambda_min(K(theta)) found in the ball B(theta_0, radius), start included.

    Frank and Wolfe's method on e' K(theta) e, with e the current eigenvector: an upper bound of
    the infimum over the ball, found by going where it is small.
    """
    network, least = start, np.inf
    for step in range(steps + 1):
        values, vectors = np.linalg.eigh(network.kernel())
        least = min(least, float(values[0]))
        dv, dw = network.downhill(vectors[:, 0])
        size = float(np.sqrt(np.sum(dv**2) + np.sum(dw**2)))
        if step == steps or size == 0:
            break
        share = 2 / (step + 2)
        v = network.v + share * (start.v - radius * dv / size - network.v)
        w = network.w + share * (start.w - radius * dw / size - network.w)
        network = Wide(v, w, start.u, start.activation)
    return least


def expectation(variances: tuple[float, float, float], f: Scalar) -> float:
    """E f(x) f(y) of a centred normal pair with var x, cov, var y, by the trapezoidal rule.

    The rule converges geometrically for analytic f: here to 1e-10 for the tanh of variances to 30.
    """
    first, cross, second = variances
    t = np.arange(-8.4, 8.41, min(0.15, 0.35 / np.sqrt(1 + max(first, second))))
    weight = np.exp(-(t**2) / 2)
    weight /= weight.sum()
    lean = cross / np.sqrt(first)
    rest = np.sqrt(max(second - lean**2, 0.0))
    if rest < 1e-8 * np.sqrt(second):  # the same point
        return float(weight @ (f(np.sqrt(first) * t) * f(lean * t)))
    inner = f(lean * t[:, None] + rest * t[None, :]) @ weight
    return float(weight @ (f(np.sqrt(first) * t) * inner))


def dual(covariance: Array, f: Scalar) -> Array:
    """E f(x_i) f(x_j) for every pair of a centred normal vector."""
    n = len(covariance)
    moments = np.empty((n, n))
    for i in range(n):
        for j in range(i, n):
            pair = (covariance[i, i], covariance[i, j], covariance[j, j])
            moments[i, j] = moments[j, i] = expectation(pair, f)
    return moments


def limit_kernel(u: Array, activation: Activation) -> Array:
    """K_infinity on the points u (M, n + 1), whose last entry is 1.

    Gram matrix . E sigma' sigma' + E sigma sigma + 1 (the 1 is the bias).
    """
    gram = u @ u.T
    return gram * dual(gram, activation.slope) + dual(gram, activation.value) + 1


def hessian_bound(v: Array, u: Array, activation: Activation, radius: float) -> float:
    """A bound on |Hess Q(z)| for every z and every theta of the ball, without the 1 / sqrt(m).

    The Hessian consists of one block for each unit, [[0, sigma' u'], [sigma' u, v sigma'' u u']],
    with the norm of the 2 x 2 matrix [[0, a], [a, c]], a = |sigma'| |u|, c = |v sigma''| |u|^2.
    """
    length = float(np.max(np.linalg.norm(u, axis=1)))
    a = activation.most_slope * length
    c = (float(np.max(np.abs(v))) + radius) * activation.most_curvature * length**2
    return float(c + np.sqrt(c**2 + 4 * a**2)) / 2
