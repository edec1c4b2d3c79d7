"""The bus engine with inputs that matter, and the ways in which they can.

Beside the mileage x a state holds K inputs on {-10, ..., 10}, exogenous: neither x nor the action
moves them. The relevant ones enter through a `type` g, a finite Markov chain of their own:

    r(x, g, a),     x' ~ moves(. | x, g, a),     g' ~ P(. | g),

solved exactly on the table of (x, g). Two input paths drawn from one seed are the same whatever K
is, so that comparisons over K are paired.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from gladius.checks import Array
from gladius.mdp import Categorical
from gladius.transitions import Integers, Transitions
from gladius.worlds.bus import DUMMY_LIMIT, MAINTAIN, REPLACE

LEVELS = 2 * DUMMY_LIMIT + 1
TOLERANCE = 1e-10


@dataclass(frozen=True)
class InputsBus:
    """A bus engine whose reward or moves depend on some of its inputs.

    Attributes:
        inputs: K, relevant ones first.
        draw: (generator, paths, periods) -> (paths, periods, m) the relevant inputs, m <= K.
        type_of: (n, m) relevant inputs -> (n,) g.
        kernel: (G, G) P(g' | g).
        effect: (X, G) what is added to r(x, maintain) = -x.
        increments: (G, 4) probabilities of the moves 1 to 4 under maintaining.
        discount: beta.
        max_mileage: the cap X.
        horizon: H.
        anchor_reward: r(., replace).
        partial: reward of a third action, (X, G), which takes two off the mileage; or none.
    """

    inputs: int
    draw: Callable[[np.random.Generator, int, int], NDArray[np.int64]]
    type_of: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    kernel: Array
    effect: Array
    increments: Array
    discount: float = 0.95
    max_mileage: int = 20
    horizon: int = 100
    anchor_reward: float = -5.0
    partial: Array | None = None

    anchor_action = REPLACE

    @property
    def number_of_actions(self) -> int:
        """Two, or three."""
        return 2 if self.partial is None else 3

    @cached_property
    def reward_table(self) -> Array:
        """(X, G, A)."""
        x = np.arange(1.0, self.max_mileage + 1)
        keep = self.effect - x[:, None]
        table = [keep, np.full_like(keep, self.anchor_reward)]
        if self.partial is not None:
            table.append(self.partial)
        return np.stack(table, axis=-1)

    @cached_property
    def moves(self) -> Array:
        """(A, G, X, X) P(x' | x, g, a)."""
        size, types = self.max_mileage, len(self.kernel)
        moves = np.zeros((self.number_of_actions, types, size, size))
        x = np.arange(size)
        for step in range(1, 5):
            after = np.minimum(x + step, size - 1)
            for i, j in zip(x, after, strict=True):
                moves[MAINTAIN, :, i, j] += self.increments[:, step - 1]
        moves[REPLACE, :, :, 0] = 1.0
        if self.partial is not None:
            moves[2, :, x, np.maximum(x - 2, 0)] = 1.0
        return moves

    @cached_property
    def q_table(self) -> Array:
        """(X, G, A) Q*, by soft value iteration to TOLERANCE."""
        v: Array = np.zeros(self.reward_table.shape[:2])
        while True:
            ahead = v @ self.kernel.T  # E[V(x, g') | g]
            q: Array = self.reward_table + self.discount * np.einsum(
                "agij,jg->iga", self.moves, ahead
            )
            new: Array = logsumexp(q, axis=-1)
            if np.max(np.abs(new - v)) < TOLERANCE * (1 - self.discount):
                return q
            v = new

    def reward(self, states: Array, actions: Integers) -> Array:
        """(n,) r at (n, 1 + K) states."""
        x, g = self._places(states)
        return np.asarray(self.reward_table[x, g, actions])

    def _places(self, states: Array) -> tuple[Integers, Integers]:
        relevant = np.rint(states[:, 1:]).astype(np.int64)
        return np.rint(states[:, 0]).astype(np.int64) - 1, self.type_of(relevant)

    def simulate(self, trajectories: int, rng: np.random.Generator) -> Transitions:
        """Expert paths from x = 1."""
        paths_rng, noise_rng = rng.spawn(2)
        relevant = self.draw(paths_rng, trajectories, self.horizon + 1)
        types = self.type_of(relevant.reshape(-1, relevant.shape[-1]))
        types = types.reshape(trajectories, -1)
        kinds = len(self.kernel)
        act = Categorical(softmax(self.q_table, axis=-1).reshape(-1, self.number_of_actions))
        move = Categorical(self.moves.reshape(-1, self.max_mileage))
        x = np.zeros(trajectories, dtype=np.int64)
        mileage = np.empty((trajectories, self.horizon + 1), dtype=np.int64)
        actions = np.empty((trajectories, self.horizon), dtype=np.int64)
        for t in range(self.horizon):
            mileage[:, t] = x
            draws = paths_rng.random((2, trajectories))
            actions[:, t] = act(x * kinds + types[:, t], draws[0])
            x = move((actions[:, t] * kinds + types[:, t]) * self.max_mileage + x, draws[1])
        mileage[:, -1] = x
        others = self.inputs - relevant.shape[-1]
        shape = (others, trajectories, self.horizon + 1)
        noise = noise_rng.integers(-DUMMY_LIMIT, DUMMY_LIMIT + 1, shape)
        full = np.concatenate(
            [mileage[..., None] + 1, relevant, np.moveaxis(noise, 0, -1)], axis=-1
        )
        return Transitions.from_paths(full.astype(float), actions, self.number_of_actions)
