"""The bus engine with inputs that matter.

Beside the mileage x a state has K inputs on {-10, ..., 10}, exogenous: neither x nor the action
changes their distribution. The relevant ones enter through a type g, a finite Markov chain:

    r(x, g, a),     x' ~ P(. | x, g, a),     g' ~ P(. | g),

solved exactly on the table of (x, g). Two input paths drawn from one seed are the same whatever K
is, so that comparisons over K are paired.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from gladius.designs.bus import DUMMY_LIMIT, MAINTAIN, REPLACE
from gladius.model.mdp import Categorical
from gladius.panel.record import Integers, Transitions
from gladius.validate import Array

TOLERANCE = 1e-10  # of the value function, in utils, times 1 - beta


@dataclass(frozen=True)
class InputsBus:
    """A bus engine whose reward or transitions depend on some of its inputs."""

    inputs: int  # K, relevant ones first
    # (generator, paths, periods) -> (paths, periods, m) the relevant inputs, m <= K
    draw: Callable[[np.random.Generator, int, int], NDArray[np.int64]]
    type_of: Callable[[NDArray[np.int64]], NDArray[np.int64]]  # (n, m) relevant inputs -> (n,) g
    kernel: Array  # (G, G) P(g' | g)
    effect: Array  # (X, G) what is added to r(x, maintain) = -x
    increments: Array  # (G, 4) probabilities of the increments 1 to 4 under maintaining
    discount: float = 0.95  # beta
    max_mileage: int = 20  # the cap X
    horizon: int = 100  # H
    anchor_reward: float = -5.0  # r(., replace)
    # reward of a third action, (X, G), which takes two off the mileage; or none
    partial: Array | None = None

    anchor_action = REPLACE

    @property
    def number_of_actions(self) -> int:
        """Two, or three."""
        return 2 if self.partial is None else 3

    @cached_property
    def reward_table(self) -> Array:
        """r, (X, G, A)."""
        x = np.arange(1.0, self.max_mileage + 1)
        maintain = self.effect - x[:, None]
        table = [maintain, np.full_like(maintain, self.anchor_reward)]
        if self.partial is not None:
            table.append(self.partial)
        return np.stack(table, axis=-1)

    @cached_property
    def transition(self) -> Array:
        """P(x' | x, g, a), (A, G, X, X)."""
        size, types = self.max_mileage, len(self.kernel)
        table = np.zeros((self.number_of_actions, types, size, size))
        x = np.arange(size)
        for step in range(1, 5):
            for i, j in zip(x, np.minimum(x + step, size - 1), strict=True):
                table[MAINTAIN, :, i, j] += self.increments[:, step - 1]
        table[REPLACE, :, :, 0] = 1.0
        if self.partial is not None:
            table[2, :, x, np.maximum(x - 2, 0)] = 1.0
        return table

    @cached_property
    def q_table(self) -> Array:
        """Q*, (X, G, A), by soft value iteration: the dense table of `mdp` would be too large."""
        v: Array = np.zeros(self.reward_table.shape[:2])
        while True:
            expected = v @ self.kernel.T  # E[V(x, g') | g]
            continuation = np.einsum("agij,jg->iga", self.transition, expected)
            q: Array = self.reward_table + self.discount * continuation
            new: Array = logsumexp(q, axis=-1)
            if np.max(np.abs(new - v)) < TOLERANCE * (1 - self.discount):
                return q
            v = new

    def reward(self, states: Array, actions: Integers) -> Array:
        """(n,) r at (n, 1 + K) states."""
        x = np.rint(states[:, 0]).astype(np.int64) - 1
        types = self.type_of(np.rint(states[:, 1:]).astype(np.int64))
        return np.asarray(self.reward_table[x, types, actions])

    def simulate(self, trajectories: int, rng: np.random.Generator) -> Transitions:
        """Expert paths from x = 1."""
        paths_rng, noise_rng = rng.spawn(2)
        relevant = self.draw(paths_rng, trajectories, self.horizon + 1)
        types = self.type_of(relevant.reshape(-1, relevant.shape[-1])).reshape(trajectories, -1)
        count = len(self.kernel)
        choose = Categorical(softmax(self.q_table, axis=-1).reshape(-1, self.number_of_actions))
        step = Categorical(self.transition.reshape(-1, self.max_mileage))
        x = np.zeros(trajectories, dtype=np.int64)
        mileage = np.empty((trajectories, self.horizon + 1), dtype=np.int64)
        actions = np.empty((trajectories, self.horizon), dtype=np.int64)
        for t in range(self.horizon):
            mileage[:, t] = x
            uniforms = paths_rng.random((2, trajectories))
            actions[:, t] = choose(x * count + types[:, t], uniforms[0])
            pairs = (actions[:, t] * count + types[:, t]) * self.max_mileage + x
            x = step(pairs, uniforms[1])
        mileage[:, -1] = x
        others = self.inputs - relevant.shape[-1]
        shape = (others, trajectories, self.horizon + 1)
        noise = noise_rng.integers(-DUMMY_LIMIT, DUMMY_LIMIT + 1, shape)
        inputs = np.concatenate([relevant, np.moveaxis(noise, 0, -1)], axis=-1)
        states = np.concatenate([mileage[..., None] + 1, inputs], axis=-1).astype(float)
        return Transitions.from_paths(states, actions, self.number_of_actions)
