"""Fits that the Polyak-Lojasiewicz lemmas are tried on: data sets with linear and tanh classes.

The checks use mu, p_- and C_parallel at the theta of the instance, where the paper has the worst
over a ball, and compare with a lower bound of the infimum (the empirical entropy; zero), where the
paper has the minimum: both make the inequality harder to satisfy.
"""

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from gladius.validate import Array
from proofs_checks.claims.claims import CheckResult, at_least
from proofs_checks.claims.instances import empirical, one_state, quarters, tables
from proofs_checks.claims.under_check import MLP, Complex, complex_slope, sample_risk
from proofs_checks.oracle import polyak
from proofs_checks.oracle.risk import Sample


class LinearOutputs(namedtuple("LinearOutputs", "features theta")):
    """Features Phi (M, P): outputs Phi theta."""

    def outputs(self, theta: Complex) -> Complex:
        """(R, M)."""
        return np.asarray(theta @ self.features.T)

    def jacobian(self) -> Array:
        """(M, P)."""
        return np.asarray(self.features)


class NetworkOutputs(namedtuple("NetworkOutputs", "x width actions theta")):
    """The library's tanh network with one hidden layer at inputs x (n, d), one output an action."""

    @property
    def network(self) -> MLP:
        return MLP(self.x.shape[1], self.actions, (self.width,))

    def outputs(self, theta: Complex) -> Complex:
        """(R, n A)."""
        return self.network.outputs(theta, self.x).reshape(len(theta), -1)

    def jacobian(self) -> Array:
        """(n A, P)."""
        rows = self.network.jacobian(self.theta[None], self.x)[1]
        return np.asarray(rows.reshape(-1, self.theta.size))


Outputs = LinearOutputs | NetworkOutputs  # a parametrised vector of outputs at some theta


@st.composite
def linear_outputs(draw: st.DrawFn, target: Array) -> LinearOutputs:
    """Features with independent rows, and the theta that gives these outputs.

    A triangular part makes the rows independent; what stands beside it may repeat it.
    """
    rows = target.size
    entries = quarters(3)
    square = np.tril(draw(tables((rows, rows), entries)), -1)
    square += np.diag(draw(tables(rows, st.sampled_from([1.0, 0.5, -2.0]))))
    beside = draw(tables((rows, draw(st.integers(0, 2))), entries))
    theta = np.concatenate([np.linalg.solve(square, target.ravel()), np.zeros(beside.shape[1])])
    return LinearOutputs(np.hstack([square, beside]), theta)


@st.composite
def network_outputs(draw: st.DrawFn, states: int, actions: int) -> NetworkOutputs:
    """Networks with at least as many parameters as outputs, around one that is well spread."""
    x = np.linspace(-1, 1, states)[:, None] if states > 1 else np.ones((1, 1))
    width = states + 1
    steep, offsets = np.full(width, 2.0), -2 * np.linspace(-1, 1, width)
    across = np.eye(width, actions)
    base = np.concatenate([steep, offsets, across.ravel(), np.zeros(actions)])
    shift = draw(tables(base.size, st.integers(-8, 8).map(lambda n: n / 8)))
    return NetworkOutputs(x, width, actions, base + shift)


class Fit(namedtuple("Fit", "sample q")):
    """A grouped data set with a class at some theta that gives Q (X A,) on its states."""

    @property
    def table(self) -> Array:
        """Q as (X, A)."""
        return np.asarray(self.q.outputs(self.q.theta[None])[0].reshape(self.sample.visits.shape))

    @property
    def jacobian(self) -> Array:
        """J_Q on Z_Q (M, P)."""
        actions = self.sample.visits.shape[1]
        return np.asarray(self.q.jacobian()[np.repeat(self.sample.evaluated, actions)])


@st.composite
def fits(draw: st.DrawFn) -> Fit:
    """Linear classes with independent features, and small networks."""
    fit = draw(empirical(max_states=3))
    states, actions = fit.q.shape
    if draw(st.booleans()):
        return Fit(fit.sample, draw(linear_outputs(fit.q)))
    return Fit(fit.sample, draw(network_outputs(states, actions)))


def tabular(sample: Sample, q: ArrayLike) -> Fit:
    """A parameter for each output."""
    table = np.array(q, dtype=float)
    return Fit(sample, LinearOutputs(np.eye(table.size), table.ravel()))


# --- fits that leave little of a constant: what random ones leave hides weights and |X_Q|
def rare_misfit(choices: Array, rare: list[float], discount: float) -> Fit:
    """Absorbing states with choices (X, A), all but the last fitted in shares and Bellman equation.

    The anchor is action 0, which the last state never takes; its outputs are given.
    """
    q = np.log(choices[:-1] / choices[:-1].sum(axis=1, keepdims=True))
    reward = np.append(q[:, 0], 0.0)  # V = 0
    moves = choices[:, :, None] * np.eye(len(choices))[:, None, :]
    anchor = np.zeros(len(choices), dtype=np.int64)
    return tabular(Sample(moves, anchor, reward, discount), np.vstack([q, rare]))


@st.composite
def rare_misfits(draw: st.DrawFn) -> Fit:
    """The rare state has 1 to 3 rows, the others 40 and more; outputs near log(1 / |A|)."""
    common, actions = draw(st.integers(1, 2)), draw(st.integers(2, 3))
    choices = draw(tables((common, actions), st.integers(20, 60).map(float)))
    seen = np.zeros(actions)
    seen[draw(st.integers(1, actions - 1))] = draw(st.integers(1, 3))
    near = st.sampled_from([0.0, 0.0, 0.25, -0.25, 1.0, -1.0])
    rare = draw(tables(actions, near)) - np.log(actions)
    discount = draw(st.sampled_from([0.01, 0.1, 0.5, 0.9]))
    return rare_misfit(np.vstack([choices, seen]), rare.tolist(), discount)


def rare_residual(often: int, q: Array, residual: float, discount: float) -> Fit:
    """Absorbing states with one action, `often` rows each but the last, which alone has a residual.

    The last state has one row.
    """
    n = len(q)
    moves = np.diag([float(often)] * (n - 1) + [1.0]).reshape(n, 1, n)
    reward = (1 - discount) * q + residual * np.eye(n)[-1]
    return tabular(Sample(moves, np.zeros(n, dtype=np.int64), reward, discount), q[:, None])


@st.composite
def rare_residuals(draw: st.DrawFn) -> Fit:
    often, discount = draw(st.integers(5, 20)), draw(st.sampled_from([0.1, 0.5, 0.9, 0.99]))
    q = draw(tables(draw(st.integers(2, 3)), SMALL))
    return rare_residual(often, q, draw(SMALL.filter(bool)), discount)


def popular_state(states: int, discount: float, size: float = 1.0) -> Fit:
    """All states move to the first, once; one action, Q = 0, Psi = r where A' shrinks it most."""
    moves = np.zeros((states, 1, states))
    moves[:, 0, 0] = 1.0
    matrix = np.eye(states) - discount * moves[:, 0]
    reward = size * np.linalg.svd(matrix)[0][:, -1]
    sample = Sample(moves, np.zeros(states, dtype=np.int64), reward, discount)
    return tabular(sample, np.zeros((states, 1)))


def near_certain(often: int, actions: int, discount: float, residual: float) -> Fit:
    """One state, the anchor taken `often` times, the other actions once: opposed gradients.

    They cancel but for their mean over the actions, p_b - pi_b + 2 Psi (beta p_b + (1 - beta) / A)
    = 0 at the rare ones, and p is so near a corner that c_BE is less than c_NLL / (1 + kappa^2).
    """
    share = 1 / (often + actions - 1)
    p = (share - 2 * residual * (1 - discount) / actions) / (1 + 2 * residual * discount)
    q = np.log([1 - (actions - 1) * p, *[p] * (actions - 1)])  # V = 0
    choices = [often, *[1] * (actions - 1)]
    return tabular(one_state(choices, float(residual + q[0]), discount), q)


SMALL = quarters(8)


def sharp_fits() -> st.SearchStrategy[Fit]:
    """What the constants of the PL lemmas are made of, one family for each part."""
    discounts, sizes = st.sampled_from([0.9, 0.99, 0.999]), st.integers(1, 20).map(float)
    popular = st.builds(popular_state, st.integers(1, 5), discounts, sizes)
    often, residuals = st.integers(50, 500), st.sampled_from([0.25, 0.5, 0.8])
    certain = st.builds(near_certain, often, st.integers(2, 4), st.just(0.999), residuals)
    return rare_misfits() | rare_residuals() | popular | certain


# --- the library's gradient at a fit
GRADIENT = "rounding of a squared gradient by complex steps: 1e-13 of the largest it could be"


def gradient(fit: Fit, terms: tuple[int, int]) -> Array:
    """Slope in the parameters of terms[0] x NLL + terms[1] x the Bellman term, by the library.

    The appendix averages the Bellman term over the anchor rows, the library over all.
    """

    def loss(theta: Complex) -> Complex:
        risk, share = sample_risk(fit.sample, fit.q.outputs(theta)), polyak.share(fit.sample)
        return np.asarray(terms[0] * risk.nll + terms[1] * risk.bellman / share)

    return complex_slope(loss, fit.q.theta)


def check_gradient(
    fit: Fit, terms: tuple[int, int], bound: float, factor: float = 0.5
) -> CheckResult:
    """factor x |gradient|^2 of the library's NLL, Bellman term or their sum, at least the bound."""
    slope = gradient(fit, terms)
    largest = 1 + np.abs(fit.sample.reward).max() + 2 * np.abs(fit.table).max()
    error = 1e-13 * sum(terms) * float(largest * np.linalg.norm(fit.jacobian, 2)) ** 2
    return at_least(factor * float(slope @ slope), bound, error, GRADIENT)
