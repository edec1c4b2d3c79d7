"""Worlds on which `attack` tries the default method: a solver and simulator in numpy alone.

Nothing of the library is used here, so that a fault of it cannot hide in the truth. A World has
finitely many states, of which an estimator sees the features; what it does not see, such as a type,
is a feature whose name is not in `seen`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

Array = NDArray[np.float64]
Frame = pd.DataFrame


def solve(reward: Array, moves: Array, discount: float, horizon: int = 0) -> Array:
    """(S, A) Q* of rewards (S, A) and moves (A, S, S), or (T, S, A) of a finite horizon.

    Rows of moves that sum to less than one end the path, where V is 0.
    """
    v = np.zeros(len(reward))
    tables = []
    for _ in range(horizon):
        tables.append(reward + discount * (moves @ v).T)
        v = logsumexp(tables[-1], axis=1)
    if horizon:
        return np.stack(tables[::-1])
    for _ in range(12):
        v = logsumexp(reward + discount * (moves @ v).T, axis=1)
    for _ in range(60):  # Newton's steps
        q = reward + discount * (moves @ v).T
        chain = np.einsum("sa,ast->st", softmax(q, axis=1), moves)
        step = np.linalg.solve(np.eye(len(v)) - discount * chain, v - logsumexp(q, axis=1))
        v = v - step
        if np.max(np.abs(step)) < 1e-11:
            break
    return np.asarray(reward + discount * (moves @ v).T)


def drawn(rng: np.random.Generator, chances: Array) -> NDArray[np.int64]:
    """(n,) one outcome of each row of chances."""
    found = (rng.random(len(chances))[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    return np.minimum(found, chances.shape[1] - 1)


@dataclass(frozen=True)
class World:
    """A problem of choice with its truth, and how a user sees data of it.

    Attributes:
        names: of the features.
        x: (S, d) features.
        terms: (S, A, K) functions of the true form, of which theta are the coefficients.
        theta: (K,).
        fixed: (S, A) what is added to them; the anchor's reward is in it alone.
        moves: (A, S, S).
        discount: beta of the world; `told` is that of the user, where it differs.
        start: (S,) chances of the first state.
        anchor: a_s.
        seen: names that the user has; by default all.
        size: paths and periods of a data set.
        edit: what happens to the table before the user has it.
        valid: (S, A) pairs whose reward is asked for.
        given: further arguments of `fit` and of `from_frame`.
    """

    names: Sequence[str]
    x: Array
    terms: Array
    theta: Array
    fixed: Array
    moves: Array
    discount: float
    start: Array
    anchor: int
    size: tuple[int, int] = (250, 40)
    seen: Sequence[str] = ()
    told: float = 0.0
    horizon: int = 0
    edit: Callable[[Frame, np.random.Generator], Frame] | None = None
    valid: Array | None = None
    fit: dict[str, Any] = field(default_factory=dict)
    read: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def reward(self) -> Array:
        """(S, A) the truth."""
        return np.asarray(self.terms @ self.theta + self.fixed)

    @cached_property
    def q(self) -> Array:
        """(S, A) Q*, or (T, S, A)."""
        return solve(self.reward, self.moves, self.discount, self.horizon)

    @property
    def ends(self) -> Array:
        """(A, S) chances that the path ends."""
        return np.maximum(1 - self.moves.sum(axis=2), 0.0)

    def sample(self, seed: int) -> Frame:
        """Paths with columns id, t, state (a row of x), action, done, and the features."""
        rng = np.random.default_rng(seed)
        policy = softmax(self.q, axis=-1)
        outcome = np.concatenate([self.moves, self.ends[:, :, None]], axis=2)
        paths, periods = self.size
        ids, s = np.arange(paths), drawn(rng, np.tile(self.start, (paths, 1)))
        rows = []
        for t in range(periods):
            a = drawn(rng, policy[t][s] if self.horizon else policy[s])
            after = drawn(rng, outcome[a, s])
            ended = after == len(self.x)
            rows.append(np.column_stack([ids, np.full(len(ids), t), s, a, ended]))
            ids, s = ids[~ended], after[~ended]
        frame = Frame(np.concatenate(rows), columns=["id", "t", "state", "action", "done"])
        frame["done"] = frame["done"].astype(bool)
        for j, name in enumerate(self.names):
            frame[name] = self.x[frame["state"], j]
        frame = frame.sort_values(["id", "t"]).reset_index(drop=True)
        return frame if self.edit is None else self.edit(frame, np.random.default_rng([5, seed]))

    def oracle(self, frame: Frame) -> Array:
        """(S, A) r of maximum likelihood that knows the moves and the form, from the truth on."""
        states, actions = self.fixed.shape
        counts = np.zeros((states, actions))
        np.add.at(counts, (frame["state"], frame["action"]), 1)
        theta, eye = self.theta.copy(), np.eye(states)
        for _ in range(25):
            q = solve(self.terms @ theta + self.fixed, self.moves, self.discount)
            pi = softmax(q, axis=1)
            chain = np.einsum("sa,ast->st", pi, self.moves)
            means = np.einsum("sa,sak->sk", pi, self.terms)
            dv = np.linalg.solve(eye - self.discount * chain, means)
            dq = self.terms + self.discount * np.einsum("ast,tk->sak", self.moves, dv)
            score = dq - np.einsum("sa,sak->sk", pi, dq)[:, None]
            gradient = np.einsum("sa,sak->k", counts, score)
            information = np.einsum("s,sa,sak,sal->kl", counts.sum(axis=1), pi, score, score)
            step = np.linalg.lstsq(information, gradient, rcond=None)[0]
            step *= min(1.0, 3 / max(np.max(np.abs(step)), 1e-9))
            theta = theta + step
            if np.max(np.abs(step)) < 1e-7:
                break
        return np.asarray(self.terms @ theta + self.fixed)


def grid(*axes: Any) -> Array:
    """(S, d) all combinations, the first axis slowest."""
    mesh = np.meshgrid(*axes, indexing="ij")
    return np.column_stack([np.asarray(one, dtype=float).ravel() for one in mesh])


def together(*chains: Array) -> Array:
    """(A, S, S) moves on a grid of independent columns, each (A, n, n)."""
    found = chains[0]
    for one in chains[1:]:
        size = found.shape[1] * one.shape[1]
        found = np.einsum("aij,akl->aikjl", found, one).reshape(-1, size, size)
    return found


def steps(base: Any, by: Sequence[int], chances: Sequence[float]) -> Array:
    """(n, n) moves from each base[i] by some steps, held within 0 and n - 1."""
    n = len(base)
    found = np.zeros((n, n))
    for i, j in enumerate(np.asarray(base, dtype=int)):
        for step, chance in zip(by, chances, strict=True):
            found[i, min(max(j + step, 0), n - 1)] += chance
    return found


def walk(n: int, up: float, down: float) -> Array:
    """(n, n) moves of a walk by one."""
    return steps(np.arange(n), (1, -1, 0), (up, down, 1 - up - down))


def near(values: Array, means: Array, spread: float) -> Array:
    """(n, n) moves to values near the means, by a normal density."""
    density = np.exp(-0.5 * ((values[None] - means[:, None]) / spread) ** 2)
    return np.asarray(density / density.sum(axis=1, keepdims=True))


def linear(
    x: Array, anchor: int, own: Any, *spec: tuple[int, Any, float], actions: int
) -> tuple[Array, Array, Array]:
    """terms, theta and fixed of rewards that are sums of (action, function of x, coefficient)."""
    terms = np.zeros((len(x), actions, len(spec)))
    for k, (action, function, _) in enumerate(spec):
        terms[:, action, k] = function(x) if callable(function) else x[:, function]
    fixed = np.zeros((len(x), actions))
    fixed[:, anchor] = own
    return terms, np.array([coefficient for *_, coefficient in spec]), fixed


def one(x: Array) -> Array:
    """The constant."""
    return np.ones(len(x))
