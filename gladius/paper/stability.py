"""Where the paper's descent-ascent (Algorithm 1) is stable, and where it cannot be.

`level_flow` is the linear flow of (c, z), a common shift of Q and the matching shift of zeta. The
Bellman term e^2 - beta^2 d^2 is (1 - beta)^2 c^2 - beta^2 (z - c)^2 along them. With one state and
one action, or steps that keep a common shift common, the printed gradient is therefore stable only
if rho, zeta's rate over Q's, exceeds 2 beta - 1. Other steps move the edge. `stability` is the
algorithm itself in the tabular class, at many step ratios, numbers of ascents and discounts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gladius.model.frequencies import anchored_value
from gladius.model.mdp import TabularMDP
from gladius.panel.anchor import Anchor
from gladius.panel.moves import dense
from gladius.panel.record import Counts, Integers
from gladius.panel.ties import TIE
from gladius.paper.algorithm import BLOW_UP
from gladius.paper.rows import Batch, of_counts
from gladius.paper.table_descent import PRINTED, descend
from gladius.validate import Array, InputError

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
    """Cells over (betas, ascents, ratios), in this order of axes; a ratio is tau_1 / tau_2."""

    diverged: NDArray[np.bool_]  # whether the run from Q = zeta = 0 blew up
    iterations: Integers  # iterations done: where it blew up, or all
    bellman: Array  # signed Bellman term per transition at the end
    # log of the spectral radius of one iteration at the stationary point, per unit of Q's time
    # (iterations times tau_2). That point repels where it is positive. Rarely visited pairs hardly
    # move, so that stable cells are zero up to rounding (1e-8)
    growth: Array
    # whether the level flow is unstable, ascents x ratio <= 2 beta - 1
    predicted: NDArray[np.bool_]


def stationary_point(counts: Counts, anchor: Anchor, betas: Array) -> tuple[Array, Array]:
    """(Q, zeta), (B, S, A), of least risk for one replication, at each discount."""
    policy = counts.visits[0] / counts.visits[0].sum(axis=1, keepdims=True)
    transition = dense(counts.moves[0]) / counts.visits[0].T[..., None]
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

    `counts` are one replication in which every action occurs in every state. The axes are `ratios`
    tau_1 / tau_2, `ascents` before each descent step, and discounts; tau_2 is Q's step per
    transition.
    """
    if len(counts.visits) != 1 or np.any(counts.visits == 0):
        hint = "give one replication with every action in every state"
        raise InputError("counts", counts.visits.shape, hint)
    axes = np.array(betas, float), np.array(ascents, np.int64), np.array(ratios, float)
    cube = np.meshgrid(*axes, indexing="ij")
    cells = [axis.ravel() for axis in cube]
    q, zeta = stationary_point(counts, anchor, cells[0])
    maps: list[tuple[bool, int, float, float]] = []
    batch = of_counts(counts, 0, anchor)
    for k, (beta, repeat, ratio) in enumerate(zip(*cells, strict=True)):
        flat = np.ones(counts.visits.shape[1:])
        steps = (
            batch,
            anchor.action,
            float(beta),
            ratio * tau_2 * flat,
            tau_2 * flat[:, 0],
            int(repeat),
            PRINTED,
        )
        done, bellman = descend(0 * flat, 0 * flat, *steps, iterations, BLOW_UP)
        growth = _growth(steps, np.stack([q[k], zeta[k]])) / tau_2
        maps.append((done < iterations, done, bellman, growth))
    predicted = cells[1] * cells[2] <= 2 * cells[0] - 1 + TIE
    columns = (*map(np.array, zip(*maps, strict=True)), predicted)
    return StabilityMap(*(one.reshape(cube[0].shape) for one in columns))


def _growth(steps: tuple[Batch, int, float, Array, Array, int, int], both: Array) -> float:
    """Log of the spectral radius of one iteration at (Q, zeta), by central differences."""
    columns = []
    for change in FD_STEP * np.eye(both.size).reshape(-1, *both.shape):
        up, down = both + change, both - change
        for q, zeta in (up, down):
            descend(q, zeta, *steps, 1, BLOW_UP)
        columns.append((up - down).ravel() / (2 * FD_STEP))
    return float(np.log(np.abs(np.linalg.eigvals(np.array(columns))).max()))
