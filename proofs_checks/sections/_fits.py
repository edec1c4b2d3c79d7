"""Parametrised outputs that the Polyak-Lojasiewicz lemmas are tried on: linear and tanh classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.approximators import MLP
from gladius.checks import Array
from proofs_checks.oracle.grouped import Sample
from proofs_checks.oracle.polyak import tanh_jacobian
from proofs_checks.sections._slopes import Complex
from proofs_checks.worlds import empirical


class Outputs(Protocol):
    """A parametrised vector of outputs at some theta."""

    @property
    def theta(self) -> Array: ...
    def outputs(self, theta: Complex) -> Complex:
        """(R, P) parameters to (R, M) outputs."""

    def jacobian(self) -> Array:
        """(M, P) at theta."""


@dataclass(frozen=True)
class LinearOutputs:
    """Features Phi (M, P): outputs Phi theta."""

    features: Array
    theta: Array

    def outputs(self, theta: Complex) -> Complex:
        """(R, M)."""
        return theta @ self.features.T

    def jacobian(self) -> Array:
        """(M, P)."""
        return self.features


@dataclass(frozen=True)
class NetworkOutputs:
    """The library's tanh network with one hidden layer at inputs x (n, d), one output an action."""

    x: Array
    width: int
    actions: int
    theta: Array

    def outputs(self, theta: Complex) -> Complex:
        """(R, n A)."""
        network = MLP(self.x.shape[1], self.actions, (self.width,))
        return network.outputs(theta, self.x).reshape(len(theta), -1)

    def jacobian(self) -> Array:
        """(n A, P)."""
        return tanh_jacobian(self.theta, self.x, self.width, self.actions)


@st.composite
def linear_outputs(draw: st.DrawFn, target: Array) -> LinearOutputs:
    """Features with independent rows, and the theta that gives these outputs.

    A triangular part makes the rows independent; what stands beside it may repeat it.
    """
    rows = target.size
    quarters = st.integers(-3, 3).map(lambda n: n / 4)
    square = np.tril(draw(arrays(np.float64, (rows, rows), elements=quarters)), -1)
    square += np.diag(draw(arrays(np.float64, rows, elements=st.sampled_from([1.0, 0.5, -2.0]))))
    beside = draw(arrays(np.float64, (rows, draw(st.integers(0, 2))), elements=quarters))
    theta = np.concatenate([np.linalg.solve(square, target.ravel()), np.zeros(beside.shape[1])])
    return LinearOutputs(np.hstack([square, beside]), theta)


@st.composite
def network_outputs(draw: st.DrawFn, states: int, actions: int) -> NetworkOutputs:
    """Networks with at least as many parameters as outputs, around one that is well spread."""
    x = np.linspace(-1, 1, states)[:, None] if states > 1 else np.ones((1, 1))
    width = states + 1
    steep, bends = np.full(width, 2.0), -2 * np.linspace(-1, 1, width)
    across = np.eye(width, actions)
    base = np.concatenate([steep, bends, across.ravel(), np.zeros(actions)])
    moved = draw(arrays(np.float64, base.size, elements=st.integers(-8, 8).map(lambda n: n / 8)))
    return NetworkOutputs(x, width, actions, base + moved)


@dataclass(frozen=True)
class Fit:
    """A grouped data set with a class at some theta that gives Q (X A,) on its states."""

    sample: Sample
    q: Outputs

    @property
    def shape(self) -> tuple[int, int]:
        """(X, A)."""
        return self.sample.moves.shape[:2]

    @property
    def table(self) -> Array:
        """Q as (X, A)."""
        q: Array = self.q.outputs(self.q.theta[None])[0].reshape(self.shape)
        return q

    @property
    def jacobian(self) -> Array:
        """J_Q on Z_Q (M, P)."""
        rows: Array = self.q.jacobian()[np.repeat(self.sample.evaluated, self.shape[1])]
        return rows


@st.composite
def fits(draw: st.DrawFn) -> Fit:
    """Linear classes with independent features, and small networks."""
    at = draw(empirical(max_states=3))
    states, actions = at.q.shape
    if draw(st.booleans()):
        return Fit(at.sample, draw(linear_outputs(at.q)))
    return Fit(at.sample, draw(network_outputs(states, actions)))


def one_state(
    choices: list[int], q: list[float], reward: float, discount: float, anchor: int = 0
) -> Fit:
    """One absorbing state with choices n(a), and a parameter for each output."""
    moves = np.array(choices, dtype=float).reshape(1, -1, 1)
    sample = Sample(moves, np.array([anchor]), np.array([reward]), discount)
    return Fit(sample, LinearOutputs(np.eye(len(q)), np.array(q)))
