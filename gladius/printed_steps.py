"""The two steps of the paper's Algorithm 1, on counts; see printed.py for the algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gladius.checks import Array
from gladius.function_classes import FunctionClass
from gladius.objective import value
from gladius.transitions import Counts

ADAM = (0.9, 0.999, 1e-8)


def ascent_slope(zeta: Array, v: Array, batch: Counts) -> Array:
    """(R, S, A) derivative in zeta(s, a) of D = sum_B (V(s') - zeta(s, a))^2; V is 0 at ends."""
    ahead: Array = np.swapaxes((batch.moves * v[:, None, None]).sum(axis=3), 1, 2)
    slope: Array = 2.0 * (batch.visits * zeta - ahead)
    return slope


@dataclass(frozen=True)
class Descent:
    """The descent loss over its batches: sums, and (R, S, A) their derivative in Q(s, a)."""

    nll: Array
    bellman: Array
    slope: Array


def descent(
    q: Array,
    zeta: Array | None,
    bellman_batch: Counts,
    likelihood_batch: Counts,
    action: int,
    reward: Array,
    discount: float | Array,
) -> Descent:
    """L-bar_NLL + L-bar_BE for fixed zeta; without zeta the Bellman term is Algorithm 2's.

    Args:
        q, zeta: (R, S, A).
        bellman_batch, likelihood_batch: B1 and B2.
        action: a_s.
        reward: (S,) its reward.
        discount: beta, or one for each replication.
    """
    beta = np.broadcast_to(discount, len(q))[:, None]
    v = value(q)
    policy = np.exp(q - v[..., None])
    seen = likelihood_batch.visits
    nll = (seen * (v[..., None] - q)).sum(axis=(1, 2))
    slope = seen.sum(axis=2, keepdims=True) * policy - seen
    moves = bellman_batch.moves[:, action]
    used = bellman_batch.visits[:, :, action]
    ended = used - moves.sum(axis=2)
    gap = reward - q[..., action]
    td = gap[..., None] + (beta * v)[:, None, :]
    bellman = (moves * td**2).sum(axis=(1, 2)) + (ended * gap**2).sum(axis=1)
    slope[..., action] -= 2.0 * ((moves * td).sum(axis=2) + ended * gap)
    pull = moves * td
    if zeta is not None:
        lag = v[:, None, :] - zeta[..., action, None]
        spread = (moves * lag**2).sum(axis=(1, 2)) + (ended * zeta[..., action] ** 2).sum(axis=1)
        bellman = bellman - beta[:, 0] ** 2 * spread
        pull = pull - beta[..., None] * moves * lag
    slope += policy * (2.0 * beta * pull.sum(axis=1))[..., None]
    return Descent(nll, bellman, slope)


def draw(counts: Counts, size: int, rngs: Sequence[np.random.Generator]) -> Counts:
    """A batch drawn with replacement, as counts: multinomial over the observed (s, a, s')."""
    ended = np.swapaxes(counts.visits, 1, 2) - counts.moves.sum(axis=3)
    table = np.concatenate([counts.moves, ended[..., None]], axis=3)
    drawn = np.zeros_like(table)
    for r, rng in enumerate(rngs):
        cells = np.nonzero(table[r])
        drawn[r][cells] = rng.multinomial(size, table[r][cells] / table[r].sum())
    return Counts(counts.states, np.swapaxes(drawn.sum(axis=3), 1, 2), drawn[..., :-1])


@dataclass
class Block:
    """One network, theta_1 or theta_2, with its optimiser's memory."""

    family: FunctionClass
    inputs: Array
    theta: Array
    step: float
    adam: bool
    steps: int = 0
    mean: Array = field(init=False)
    square: Array = field(init=False)

    def __post_init__(self) -> None:
        self.mean, self.square = np.zeros_like(self.theta), np.zeros_like(self.theta)

    def outputs(self) -> Array:
        return self.family.outputs(self.theta, self.inputs)

    def gradient(self, slope: Array) -> Array:
        """(R, P) from the slope in the outputs."""
        _, jacobian = self.family.jacobian(self.theta, self.inputs)
        flat = slope.reshape(len(slope), -1, 1)
        rows = jacobian.reshape(*flat.shape[:2], -1)
        summed: Array = (np.swapaxes(rows, 1, 2) @ flat)[..., 0]
        return summed

    def move(self, slope: Array, moving: NDArray[np.bool_]) -> None:
        """Step down, in the replications that are still moving."""
        change = self.gradient(slope)
        if self.adam:
            first, second, tiny = ADAM
            self.steps += 1
            self.mean += (1 - first) * (change - self.mean)
            self.square += (1 - second) * (change**2 - self.square)
            root = np.sqrt(self.square / (1 - second**self.steps))
            change = self.mean / (1 - first**self.steps) / (root + tiny)
        self.theta[moving] -= self.step * change[moving]


def standardised(counts: Counts, states: Array) -> Array:
    """(R, n, d) features in units of each replication's mean and spread over its rows."""
    share = (counts.seen / counts.size[:, None])[:, None]
    mean = share @ counts.states
    spread = np.sqrt(np.maximum(share @ counts.states**2 - mean**2, 0.0))
    scaled: Array = (states - mean) / np.where(spread > 0, spread, 1.0)
    return scaled
