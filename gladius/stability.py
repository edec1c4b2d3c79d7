"""Where the paper's descent-ascent (Algorithm 1) is stable, and where it cannot be.

Two views of one question, what happens to the common level of Q when zeta lags:

- `level_flow`: the linear flow of (c, z), a common shift of Q and the matching shift of zeta.
  The Bellman term e^2 - beta^2 d^2 is (1 - beta)^2 c^2 - beta^2 (z - c)^2 along them, so the
  printed gradient is stable only if rho, zeta's rate over Q's, exceeds 2 beta - 1.
- `stability`: the algorithm itself in the tabular class, many step ratios, numbers of ascents
  and discounts side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gladius.algorithm import BLOW_UP, step
from gladius.anchor import Anchor
from gladius.checks import Array, InputError
from gladius.function_classes import TableIterate
from gladius.mdp import TabularMDP
from gladius.transition_probabilities import anchored_value
from gladius.transitions import Counts, Integers

FD_STEP = 1e-5  # of central differences: error about its square, rounding about 1e-11


def level_flow(ratio: ArrayLike, discount: ArrayLike) -> Array:
    """(..., 2, 2) matrix of d(c, z)/dt in the level direction, at unit rate of Q.

    Args:
        ratio: rho, the effective rate of zeta over that of Q.
        discount: beta.
    """
    rho, beta = np.broadcast_arrays(np.asarray(ratio, float), np.asarray(discount, float))
    of_q = np.stack([beta**2 - (1 - beta) ** 2, -(beta**2)], axis=-1)
    return 2.0 * np.stack([of_q, np.stack([rho, -rho], axis=-1)], axis=-2)


def slowest_rate(matrix: Array) -> Array:
    """(...) largest real part of the eigenvalues: the flow is stable where it is negative."""
    return np.asarray(np.linalg.eigvals(matrix).real.max(axis=-1))


def expected_counts(mdp: TabularMDP, horizon: int) -> Counts:
    """One replication of expected shares n(s, a, s') / N over H periods: data without noise."""
    visits = mdp.occupancy(horizon)
    moves = visits.T[:, :, None] * mdp.transition
    return Counts(mdp.features, visits[None], moves[None])


@dataclass(frozen=True)
class StabilityMap:
    """Cells over (betas, ascents, ratios), in this order of axes; a ratio is tau_1 / tau_2.

    Attributes:
        diverged: whether the run from Q = zeta = 0 blew up.
        iterations: iterations done: where it blew up, or all.
        bellman: signed Bellman term per transition at the end.
        growth: log of the spectral radius of one iteration at the stationary point, per unit of
            Q's time (iterations times tau_2). That point repels where it is positive. Rarely
            visited pairs hardly move, so that stable cells are zero up to rounding (1e-8).
        predicted: whether the level flow is unstable, ascents x ratio <= 2 beta - 1.
    """

    diverged: NDArray[np.bool_]
    iterations: Integers
    bellman: Array
    growth: Array
    predicted: NDArray[np.bool_]


def stationary_point(counts: Counts, anchor: Anchor, betas: Array) -> tuple[Array, Array]:
    """(Q, zeta), (B, S, A), of least risk for one replication, at each discount."""
    policy = counts.visits[0] / counts.visits[0].sum(axis=1, keepdims=True)
    transition = counts.moves[0] / counts.visits[0].T[..., None]
    reward = anchor.values(counts.states)
    log_policy, moves = np.log(policy[:, anchor.action]), transition[anchor.action]
    v = np.stack([anchored_value(log_policy, moves, reward, beta) for beta in betas])
    q = v[..., None] + np.log(policy)
    return q, np.moveaxis(transition @ v[:, None, :, None], 1, 2)[..., 0]


def stability(
    counts: Counts,
    anchor: Anchor,
    ratios: Sequence[float],
    ascents: Sequence[int],
    betas: Sequence[float],
    *,
    tau_2: float = 0.1,
    iterations: int = 20_000,
) -> StabilityMap:
    """The map of Algorithm 1: full batches, tabular, plain gradient, in every cell of a grid.

    Args:
        counts: one replication in which every action occurs in every state; expected_counts, say.
        anchor: the anchor action and its reward.
        ratios: tau_1 / tau_2.
        ascents: ascent steps before each descent step.
        betas: discounts.
        tau_2: Q's step per transition (the printed step times N).
        iterations: T.
    """
    if len(counts.visits) != 1 or np.any(counts.visits == 0):
        hint = "give one replication with every action in every state"
        raise InputError("counts", counts.visits.shape, hint)
    axes = np.array(betas, float), np.array(ascents, np.int64), np.array(ratios, float)
    cube = np.meshgrid(*axes, indexing="ij")
    beta, repeat, ratio = (axis.ravel() for axis in cube)
    reward, size = anchor.values(counts.states), float(counts.size[0])
    data = Counts(counts.states, counts.visits / size, counts.moves / size)

    def iterate(q: Array, zeta: Array, cells: Integers) -> tuple[Array, Array, Array]:
        """One iteration of these cells: (Q, zeta, signed Bellman term before it)."""
        q_step = TableIterate(q, tau_2)
        zeta_step = TableIterate(zeta, tau_2 * ratio[cells])
        settings = (anchor.action, reward, beta[cells], repeat[cells])
        bellman = step(q_step, zeta_step, data, data, *settings)
        return q_step.theta, zeta_step.theta, bellman

    iteration = np.zeros(len(beta), dtype=np.int64)
    bellman = np.zeros(len(beta))
    cells = np.arange(len(beta))
    q, zeta = np.zeros((2, len(beta), *counts.visits.shape[1:]))
    with np.errstate(over="ignore", invalid="ignore"):  # blowing up is the result
        for _ in range(iterations):
            q, zeta, bellman[cells] = iterate(q, zeta, cells)
            is_finite = np.abs(bellman[cells]) <= BLOW_UP  # false for nan
            iteration[cells[is_finite]] += 1
            q, zeta, cells = q[is_finite], zeta[is_finite], cells[is_finite]
            if not len(cells):
                break
    diverged = ~np.isin(np.arange(len(beta)), cells)
    q, zeta = stationary_point(data, anchor, beta)
    growth = np.array([_growth(iterate, q[i], zeta[i], i) for i in range(len(beta))])
    maps = (diverged, iteration, bellman, growth / tau_2, repeat * ratio <= 2 * beta - 1)
    return StabilityMap(*(one.reshape(cube[0].shape) for one in maps))


def _growth(
    iterate: Callable[[Array, Array, Integers], tuple[Array, Array, Array]],
    q: Array,
    zeta: Array,
    cell: int,
) -> float:
    """Log of the spectral radius of one iteration at (Q, zeta), by central differences."""
    both = np.stack([q, zeta])
    changes = FD_STEP * np.eye(both.size).reshape(both.size, *both.shape)
    points = np.concatenate([both + changes, both - changes])
    q_next, zeta_next, _ = iterate(points[:, 0], points[:, 1], np.full(len(points), cell))
    up, down = np.split(np.stack([q_next, zeta_next], axis=1).reshape(len(points), -1), 2)
    return float(np.log(np.abs(np.linalg.eigvals((up - down) / (2 * FD_STEP))).max()))
