"""Finite Markov decision processes with entropy-regularised (logit) agents.

The paper's Section 3: V(s) = log sum_a exp Q(s, a), Q = r + beta E[V(s') | s, a] and
pi(a | s) = exp(Q(s, a) - V(s)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Inexact
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from gladius.model.resolvent import Resolvent
from gladius.panel.moves import Moves, following
from gladius.validate import (
    Array,
    InputError,
    check_discount,
    check_finite,
    check_generators,
    check_probabilities,
    check_whole,
    shaped,
)


@dataclass(frozen=True)
class Solution:
    """The soft Bellman fixed point, with leading batch axes where the reward had them.

    Attributes:
        q: (..., S, A) action values Q*.
        v: (..., S) values V*.
        policy: (..., S, A) choice probabilities.
        residual: largest |log sum exp Q - V| over states and batch, relative to max(1, |V|_inf).
        iterations: Newton steps plus contraction steps taken.
        converged: whether the residual met the tolerance.
    """

    q: Array
    v: Array
    policy: Array
    residual: float
    iterations: int
    converged: bool


@shaped
def action_values(
    reward: Inexact[Array, "*batch S A"],
    transition: Inexact[Array, "*other A S S"] | Moves,
    discount: float,
    v: Inexact[Array, "*third S"],
) -> Inexact[Array, "*any S A"]:
    """Q(s, a) = r(s, a) + beta sum_s' P_a(s, s') V(s')."""
    return reward + discount * np.swapaxes(following(transition, v), -1, -2)


@shaped
def soft_bellman(
    reward: Float[Array, "*batch S A"],
    transition: Float[Array, "*other A S S"] | Moves,
    discount: float,
    start: Float[Array, "*batch S"] | None = None,
    tolerance: float = 1e-12,
    max_iterations: int = 200,
) -> Solution:
    """The solution of the paper's Equation (QBellman), by Newton's method (soft policy iteration).

    The operator is convex and monotone, so Newton's iterates fall to the fixed point after the
    first step; should rounding stall them, contraction steps finish the work.

    Args:
        reward: r.
        transition: P_a, rows summing to at most one (less where paths may end).
        discount: beta.
        start: first guess of V.
        tolerance: on the Bellman residual, relative to max(1, |V|_inf), the scale of rounding.
        max_iterations: Newton steps; the contraction may add log(tolerance)/log(beta) more.
    """
    v = np.zeros(reward.shape[:-1]) if start is None else start
    limit = max_iterations + int(np.ceil(np.log(tolerance * 1e-3) / np.log(discount)))
    for step in range(limit + 1):
        q = action_values(reward, transition, discount, v)
        new_v = logsumexp(q, axis=-1)
        residual = new_v - v
        scale = np.maximum(1.0, np.max(np.abs(new_v), axis=-1, keepdims=True))
        worst = float(np.max(np.abs(residual) / scale))
        if worst <= tolerance or step == limit:
            break
        if step >= max_iterations:  # contraction
            v = new_v
            continue
        policy = np.exp(q - new_v[..., None])
        resolvent = Resolvent.of(policy, transition, discount)
        v = v + resolvent.solve(residual[..., None])[..., 0]
    return Solution(q, new_v, softmax(q, axis=-1), worst, step, worst <= tolerance)


@dataclass(frozen=True)
class Paths:
    """Simulated index paths: states, actions, next states, each (..., N, H)."""

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    next_states: NDArray[np.int64]


@dataclass(frozen=True)
class TabularMDP:
    """A simulation model with finitely many states; it holds the true reward.

    Attributes:
        reward: (S, A) r(s, a).
        transition: (A, S, S) P_a(s, s'), rows summing to one.
        discount: beta in (0, 1).
        initial: (S,) distribution of the first state.
        features: (S, d) of each state, which estimators are given; by default the state's index.
    """

    reward: Array
    transition: Array
    discount: float
    initial: Array
    features: Array = None  # type: ignore[assignment]  # filled in __post_init__

    def __post_init__(self) -> None:
        reward = check_finite("reward", self.reward)
        if reward.ndim != 2 or 0 in reward.shape:
            raise InputError("reward", reward.shape, "give an array of shape (states, actions)")
        n, k = reward.shape
        checked = {"reward": reward, "discount": check_discount(self.discount)}
        for name, shape in [("transition", (k, n, n)), ("initial", (n,))]:
            checked[name] = table = check_finite(name, getattr(self, name))
            if table.shape != shape:
                hint = f"give shape {shape}, for {n} states and {k} actions"
                raise InputError(name, table.shape, hint)
            check_probabilities(name, table)
        features = np.arange(n, dtype=float)[:, None] if self.features is None else self.features
        features = check_finite("features", features)
        if features.ndim != 2 or features.shape[0] != n:
            raise InputError("features", features.shape, f"give shape ({n}, number of features)")
        if len(np.unique(features, axis=0)) != n:
            raise InputError("features", features.shape, "two states have the same features")
        vars(self).update(checked, features=features)  # the instance itself is frozen

    @cached_property
    def solution(self) -> Solution:
        """Q*, V* and pi* to a relative Bellman residual of 1e-12, or an error."""
        solution = soft_bellman(self.reward, self.transition, self.discount)
        if not solution.converged:
            worst = float(np.max(np.abs(self.reward)))
            raise InputError("reward", worst, "too large to solve for V in float64: rescale it")
        return solution

    def flow(self, policy: Array | None = None) -> Array:
        """(S, S) transition matrix of the states under a policy (by default the expert's)."""
        return np.asarray(np.einsum("ia,aij->ij", self._policy(policy), self.transition))

    def _policy(self, policy: Array | None) -> Array:
        if policy is None:
            return self.solution.policy
        table = check_finite("policy", policy)
        if table.shape != self.reward.shape:
            raise InputError("policy", table.shape, f"give shape {self.reward.shape}")
        check_probabilities("policy", table)
        return table

    def discounted_occupancy(self, policy: Array | None = None) -> Array:
        """(S, A) occupancy (1 - beta) sum_h beta^h Pr(s_h, a_h), which sums to one."""
        policy = self._policy(policy)
        system = np.eye(len(self.initial)) - self.discount * self.flow(policy).T
        return (1 - self.discount) * np.linalg.solve(system, self.initial)[:, None] * policy

    def occupancy(self, horizon: int, policy: Array | None = None) -> Array:
        """(S, A) occupancy of H undiscounted periods, h = 0 to H - 1; sums to one."""
        check_whole("horizon", horizon, 1)
        policy = self._policy(policy)
        flow = self.flow(policy)
        states = self.initial
        total = np.zeros_like(states)
        for _ in range(horizon):
            total = total + states
            states = states @ flow
        return (total / horizon)[:, None] * policy

    def simulate(
        self,
        trajectories: int,
        horizon: int,
        rng: np.random.Generator | Sequence[np.random.Generator],
        policy: Array | None = None,
    ) -> Paths:
        """Simulated paths, vectorised over trajectories and replications.

        Args:
            trajectories: N of each replication.
            horizon: H periods of each trajectory.
            rng: one generator, or one for each replication (adds a leading axis). A
                replication's paths depend on its own generator alone.
            policy: (S, A); by default the expert's.
        """
        check_whole("trajectories", trajectories, 1)
        check_whole("horizon", horizon, 1)
        policy = self._policy(policy)
        single = isinstance(rng, np.random.Generator)
        rngs = check_generators(rng)
        draws = np.stack([g.random((2 * horizon + 1, trajectories)) for g in rngs], axis=1)
        n = len(self.reward)
        tables = (self.initial[None], policy, self.transition.reshape(-1, n))
        first, act, move = (Categorical(rows) for rows in tables)
        shape = (len(rngs), trajectories, horizon)
        states, actions, following = (np.empty(shape, dtype=np.int64) for _ in range(3))
        state = first(np.zeros(shape[:2], dtype=np.int64), draws[-1])
        for h in range(horizon):
            action = act(state, draws[2 * h])
            successor = move(action * n + state, draws[2 * h + 1])
            states[:, :, h], actions[:, :, h], following[:, :, h] = state, action, successor
            state = successor
        paths = (states, actions, following)
        return Paths(*(array[0] for array in paths)) if single else Paths(*paths)


class Categorical:
    """Inverse-distribution sampling from the rows of a stochastic matrix, for many rows at once."""

    def __init__(self, rows: Array) -> None:
        self.width = rows.shape[1]
        self.last = self.width - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
        ladder = np.cumsum(rows, axis=1)
        ladder /= ladder[:, -1:]  # exactly one at the end: the rows' ladders cannot overlap
        self.ladder = (ladder + np.arange(len(rows))[:, None]).ravel()

    def __call__(self, row: NDArray[np.int64], uniform: Array) -> NDArray[np.int64]:
        rung = np.searchsorted(self.ladder, uniform + row, side="right") - row * self.width
        return np.asarray(np.minimum(rung, self.last[row]))  # row + u may round up
