"""From what a method estimates on the grid to functions of any state, by the Bellman equation."""

from __future__ import annotations

import numpy as np

from gladius.anchor import Anchor
from gladius.checks import Array
from gladius.estimate import StateFunction
from gladius.kernel import Kernel


def from_choices(
    advantage: StateFunction,
    v: Array,
    kernel: Kernel,
    replication: int,
    anchor: Anchor,
    discount: float,
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) from log-odds and V: the anchor's Bellman equation gives the level.

    Args:
        advantage: maps (n, d) features to (n, A), Q(s, a) - Q(s, anchor).
        v: (S,) V on the kernel's grid.
        kernel: P-hat.
        replication: which of its replications.
        anchor: the anchor action and reward.
        discount: beta.
    """

    def q(states: Array) -> Array:
        law = kernel.rows(replication, states)[anchor.action]
        level: Array = anchor.values(states) + discount * law @ v
        return level[:, None] + advantage(states)

    def reward(states: Array) -> Array:
        return q(states) - discount * (kernel.rows(replication, states) @ v).T

    return q, reward


def from_reward(
    reward: StateFunction, v: Array, kernel: Kernel, replication: int, discount: float
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) from a reward function of any state and V on the grid: Q = r + beta P-hat V."""

    def q(states: Array) -> Array:
        return reward(states) + discount * (kernel.rows(replication, states) @ v).T

    return q, reward


def anchored_value(policy: Array, law: Array, anchor_reward: Array, discount: float) -> Array:
    """V on the grid from choice probabilities of the anchor alone (Lemma MagnacThesmar).

    V(s) = Q(s, a_s) - log pi(a_s | s) and Q(s, a_s) = r(s, a_s) + beta P_{a_s} V, so
    V = (I - beta P_{a_s})^-1 (r(., a_s) - log pi(a_s | .)).

    Args:
        policy: (..., S) probability of the anchor action.
        law: (..., S, S) its transition rows.
        anchor_reward: (S,).
        discount: beta.
    """
    system = np.eye(law.shape[-1]) - discount * law
    v = np.linalg.solve(system, (anchor_reward - np.log(policy))[..., None])[..., 0]
    return v.astype(np.float64, copy=False)
