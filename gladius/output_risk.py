"""The penalised empirical risk as a function of the outputs of a class, with two derivatives.

Both forms take the outputs f (R, S, A) of a function class on the grid, anchor action first,
and return N R_emp + (lambda/2) ||D2 r||^2 with its gradient and Gauss-Newton Hessian in f.

`LevelFunction`: Q(s, a) = f(s, a) + c(s), with c in closed form from the anchor's Bellman
equation under the empirical transitions (zeta exact), V = (I - beta P_0)^-1 (r_0 - log pi_0).
The Bellman error is zero, so R_emp is the NLL: the minimum of R_emp over every level function.

`ScalarLevel`: Q = f as it stands (its level a parameter like any other), Bellman error
weighted by `weight` (the paper's is one), zeta exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from gladius.mdp import Array
from gladius.objective import value


@dataclass(frozen=True)
class Evaluation:
    """Value (R,), gradient (R, M) and Hessian (R, M, M) in the M = S A outputs, with Q and r."""

    value: Array
    gradient: Array
    hessian: Array


@dataclass(frozen=True)
class Grid:
    """Data of R replications on one grid, actions ordered with the anchor first.

    Attributes:
        visits: (R, S, A).
        law: (R, A, S, S) P-hat.
        anchor_reward: (S,).
        discount: beta.
        roughness: (R, k, S) rows whose squares are penalised, D2.
        penalty: (R,) lambda.
    """

    visits: Array
    law: Array
    anchor_reward: Array
    discount: float
    roughness: Array
    penalty: Array

    def take(self, rows: NDArray[np.generic]) -> Self:
        """A subset of the replications."""
        return replace(
            self,
            visits=self.visits[rows],
            law=self.law[rows],
            roughness=self.roughness[rows],
            penalty=self.penalty[rows],
        )

    def _choice_terms(self, q: Array) -> tuple[Array, Array, Array]:
        """NLL (R,), its gradient (R, S, A) and its Hessian blocks (R, S, A, A)."""
        v = value(q)
        policy = np.exp(q - v[..., None])
        seen = self.visits.sum(axis=2)
        nll = np.sum(self.visits * (v[..., None] - q), axis=(1, 2))
        gradient = seen[..., None] * policy - self.visits
        spread = policy[..., :, None] * (np.eye(policy.shape[2]) - policy[..., None, :])
        return nll, gradient, seen[..., None, None] * spread

    def _assemble(self, q: Array, slope_v: Array, reward: Array, direct: Array) -> Evaluation:
        """NLL plus roughness of the free rewards.

        Args:
            q: (R, S, A) anything with the right choice probabilities.
            slope_v: (R, S, M) dV / d outputs.
            reward: (R, S, A).
            direct: (A, S, M) or (R, A, S, M) d(r + beta P V) / d outputs.
        """
        reps, n, actions = q.shape
        nll, gradient, blocks = self._choice_terms(q)
        hessian = np.zeros((reps, n, actions, n, actions))
        at = np.arange(n)
        hessian[:, at, :, at, :] = np.swapaxes(blocks, 0, 1)
        slope = direct - self.discount * (self.law[:, 1:] @ slope_v[:, None])
        rough = np.einsum("rks,rsb->rbk", self.roughness, reward[..., 1:]).reshape(reps, -1)
        rows = (self.roughness[:, None] @ slope).reshape(reps, rough.shape[1], n * actions)
        scaled = self.penalty[:, None, None] * rows
        return Evaluation(
            nll + 0.5 * self.penalty * np.sum(rough**2, axis=1),
            gradient.reshape(reps, -1) + np.einsum("rkm,rk->rm", scaled, rough),
            hessian.reshape(reps, n * actions, -1) + np.swapaxes(rows, 1, 2) @ scaled,
        )


class OutputRisk(Protocol):
    """What the solver needs."""

    def take(self, rows: NDArray[np.generic]) -> Self: ...
    def value(self, outputs: Array) -> Array: ...
    def evaluate(self, outputs: Array) -> Evaluation: ...
    def tables(self, outputs: Array) -> tuple[Array, Array, Array]: ...


@dataclass(frozen=True)
class LevelFunction(Grid):
    """Level function in closed form; zero Bellman error."""

    def _resolvent(self) -> Array:
        n = self.law.shape[2]
        return np.linalg.inv(np.eye(n) - self.discount * self.law[:, 0]).astype(np.float64)

    def tables(self, outputs: Array) -> tuple[Array, Array, Array]:
        """(Q, V, r) of the outputs; (R, S, A), (R, S), (R, S, A)."""
        log_anchor = outputs[..., 0] - value(outputs)
        v = np.einsum("rst,rt->rs", self._resolvent(), self.anchor_reward - log_anchor)
        q = outputs + (v - value(outputs))[..., None]
        return q, v, q - self.discount * np.einsum("rast,rt->rsa", self.law, v)

    def value(self, outputs: Array) -> Array:
        """(R,) the penalised risk."""
        _, _, reward = self.tables(outputs)
        v = value(outputs)
        nll = np.sum(self.visits * (v[..., None] - outputs), axis=(1, 2))
        rough = np.einsum("rks,rsb->rbk", self.roughness, reward[..., 1:])
        penalised: Array = nll + 0.5 * self.penalty * np.sum(rough**2, axis=(1, 2))
        return penalised

    def evaluate(self, outputs: Array) -> Evaluation:
        """The penalised risk and its derivatives."""
        q, v, reward = self.tables(outputs)
        reps, n, actions = outputs.shape
        policy = np.exp(q - v[..., None])
        own = np.zeros((reps, n, n, actions))  # d(-log pi_0) / d outputs, in its own state
        own[:, np.arange(n), np.arange(n)] = policy
        own[:, np.arange(n), np.arange(n), 0] -= 1.0
        slope_v = self._resolvent() @ own.reshape(reps, n, -1)
        # Q_a = f_a + c with c = V - LSE f, so dQ_a = e_a + dV - (pi row)
        unit = np.eye(n * actions).reshape(n, actions, -1)
        lse = np.zeros((reps, n, n, actions))
        lse[:, np.arange(n), np.arange(n)] = policy
        level = slope_v - lse.reshape(reps, n, -1)
        direct = np.swapaxes(unit, 0, 1)[None, 1:] + level[:, None]
        return self._assemble(q, slope_v, reward, direct)


@dataclass(frozen=True)
class ScalarLevel(Grid):
    """Q is the outputs; the Bellman error has a weight."""

    weight: float = 1.0

    def tables(self, outputs: Array) -> tuple[Array, Array, Array]:
        """(Q, V, r) of the outputs."""
        v = value(outputs)
        return outputs, v, outputs - self.discount * np.einsum("rast,rt->rsa", self.law, v)

    def value(self, outputs: Array) -> Array:
        """(R,) the penalised risk."""
        q, v, reward = self.tables(outputs)
        nll = np.sum(self.visits * (v[..., None] - q), axis=(1, 2))
        rough = np.einsum("rks,rsb->rbk", self.roughness, reward[..., 1:])
        error = np.sum(self.visits[..., 0] * (self.anchor_reward - reward[..., 0]) ** 2, axis=1)
        penalised: Array = nll + 0.5 * self.penalty * np.sum(rough**2, axis=(1, 2))
        total: Array = penalised + self.weight * error
        return total

    def evaluate(self, outputs: Array) -> Evaluation:
        """The penalised risk and its derivatives."""
        q, v, reward = self.tables(outputs)
        reps, n, actions = outputs.shape
        blocks = np.zeros((reps, n, n, actions))
        blocks[:, np.arange(n), np.arange(n)] = np.exp(q - v[..., None])
        slope_v = blocks.reshape(reps, n, -1)
        unit = np.swapaxes(np.eye(n * actions).reshape(n, actions, -1), 0, 1)
        base = self._assemble(q, slope_v, reward, unit[None, 1:])
        residual = self.anchor_reward - reward[..., 0]
        slope = self.discount * (self.law[:, 0] @ slope_v) - unit[0]
        scaled = (2 * self.weight * self.visits[..., 0])[..., None] * slope
        return Evaluation(
            base.value + self.weight * np.sum(self.visits[..., 0] * residual**2, axis=1),
            base.gradient + np.einsum("rsm,rs->rm", scaled, residual),
            base.hessian + np.swapaxes(slope, 1, 2) @ scaled,
        )
