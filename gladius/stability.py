"""Where the paper's descent-ascent (Algorithm 1) is stable, and where it cannot be.

Three views of one question, what happens to the common level of Q when zeta lags:

- `level_flow`: the linear flow of (c, z), a common shift of Q and the matching shift of zeta.
  The Bellman term e^2 - beta^2 d^2 is (1 - beta)^2 c^2 - beta^2 (z - c)^2 along them, so the
  printed gradient is stable only if rho, zeta's rate over Q's, exceeds 2 beta - 1.
- `level_curvature`: the same for fixed zeta, (1 - beta)^2 - beta^2 = 1 - 2 beta. For beta > 1/2
  the objective is then unbounded below in theta, and no Polyak-Lojasiewicz inequality in theta
  can hold for every fixed zeta, as a two-sided PL condition demands.
- `stability`: the algorithm itself in the tabular class, many step ratios, numbers of ascents
  and discounts side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gladius.anchor import Anchor
from gladius.checks import Array, InputError, check_discount, check_whole
from gladius.mdp import TabularMDP
from gladius.objective import value
from gladius.printed import BLOW_UP
from gladius.printed_steps import ascent_slope, descent
from gladius.transition_probabilities import anchored_value
from gladius.transitions import Counts

NUDGE = 1e-5  # of central differences: error about its square, rounding about 1e-11


def level_flow(ratio: ArrayLike, discount: ArrayLike, gradient: str = "printed") -> Array:
    """(..., 2, 2) matrix of d(c, z)/dt in the level direction, at unit rate of Q.

    Args:
        ratio: rho, the effective rate of zeta over that of Q.
        discount: beta.
        gradient: `printed`, of the signed term with zeta fixed; `residual`, the detached
            residual r + beta zeta - Q times the gradient of 2 (beta V(s') - Q); `moment`, of
            (r + beta zeta - Q)^2 with zeta detached.
    """
    rho, beta = np.broadcast_arrays(np.asarray(ratio, float), np.asarray(discount, float))
    rows = {
        "printed": (beta**2 - (1 - beta) ** 2, -(beta**2)),
        "residual": (-(1 - beta), beta * (1 - beta)),
        "moment": (-np.ones_like(beta), beta),
    }
    if gradient not in rows:
        raise InputError("gradient", gradient, f"choose one of {tuple(rows)}")
    return 2.0 * np.stack([np.stack(rows[gradient], -1), np.stack([rho, -rho], -1)], -2)


def slowest_rate(matrix: Array) -> Array:
    """(...) largest real part of the eigenvalues: the flow is stable where it is negative."""
    rate: Array = np.linalg.eigvals(matrix).real.max(axis=-1)
    return rate


def level_curvature(discount: ArrayLike) -> Array:
    """Half the curvature in a common shift of Q, per anchor transition, zeta fixed: 1 - 2 beta."""
    beta = np.asarray(discount, dtype=float)
    curvature: Array = (1 - beta) ** 2 - beta**2
    return curvature


def level_profile(
    counts: Counts, anchor: Anchor, discount: float, q: Array, zeta: Array, shifts: Array
) -> Array:
    """(R, n) descent loss per transition at Q + c for the (n,) shifts c, zeta fixed."""
    reward = anchor.values(counts.states)
    losses = [descent(q + c, zeta, counts, counts, anchor.action, reward, discount) for c in shifts]
    return np.stack([(one.nll + one.bellman) / counts.size for one in losses], axis=1)


def expected_counts(mdp: TabularMDP, horizon: int, policy: Array | None = None) -> Counts:
    """One replication of expected shares n(s, a, s') / N over H periods: data without noise."""
    visits = mdp.occupancy(horizon, policy)
    moves = visits.T[:, :, None] * mdp.transition
    return Counts(mdp.features, visits[None], moves[None])


@dataclass(frozen=True)
class StabilityMap:
    """Cells over (betas, ascents, ratios), in this order of axes.

    Attributes:
        betas, ascents, ratios: the axes; a ratio is tau_1 / tau_2.
        diverged: whether the run from Q = zeta = 0 blew up.
        iterations: iterations done: where it blew up, or all.
        bellman: signed Bellman term per transition at the end.
        growth: per unit of Q's time (iterations times tau_2), log of the spectral radius of one
            iteration at the stationary point that the data define; positive where that point
            repels. Rarely visited pairs hardly move, so that stable cells come close to zero from
            either side, by rounding (1e-8).
        predicted: whether the level flow is unstable, ascents x ratio <= 2 beta - 1.
    """

    betas: Array
    ascents: NDArray[np.int64]
    ratios: Array
    diverged: NDArray[np.bool_]
    iterations: NDArray[np.int64]
    bellman: Array
    growth: Array
    predicted: NDArray[np.bool_]


def stationary_point(counts: Counts, anchor: Anchor, betas: Array) -> tuple[Array, Array]:
    """(Q, zeta), (B, S, A), where one replication's risk is least, at each discount.

    The choice frequencies, and the anchor's Bellman equation with the observed law.
    """
    policy = counts.visits[0] / counts.visits[0].sum(axis=1, keepdims=True)
    law = counts.moves[0] / counts.visits[0].T[..., None]
    reward = anchor.values(counts.states)
    v = np.stack(
        [anchored_value(policy[:, anchor.action], law[anchor.action], reward, b) for b in betas]
    )
    q = v[..., None] + np.log(policy)
    return q, np.moveaxis(law @ v[:, None, :, None], 1, 2)[..., 0]


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
    """Run Algorithm 1, full batches, tabular, plain gradient, in every cell of a grid.

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
        raise InputError(
            "counts", counts.visits.shape, "give one replication with every action in every state"
        )
    for beta in betas:
        check_discount(beta)
    for number in ascents:
        check_whole("ascents", number, 1)
    if not all(ratio > 0 for ratio in ratios) or not tau_2 > 0:
        raise InputError("ratios", (tuple(ratios), tau_2), "give positive steps")
    axes = np.array(betas, float), np.array(ascents, np.int64), np.array(ratios, float)
    beta, repeat, ratio = (x.ravel() for x in np.meshgrid(*axes, indexing="ij"))
    shape = tuple(len(x) for x in axes)
    reward, size = anchor.values(counts.states), float(counts.size[0])
    data = Counts(counts.states, counts.visits / size, counts.moves / size)

    def iterate(q: Array, zeta: Array, cells: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """One iteration of these cells: (Q, zeta, signed Bellman term before it)."""
        v = value(q)
        rate = (tau_2 * ratio[cells])[:, None, None]
        for k in range(int(repeat[cells].max())):
            on = (repeat[cells] > k)[:, None, None]
            zeta = zeta - on * rate * ascent_slope(zeta, v, data)
        loss = descent(q, zeta, data, data, anchor.action, reward, beta[cells])
        return q - tau_2 * loss.slope, zeta, loss.bellman

    done = np.zeros(len(beta), dtype=np.int64)
    bellman = np.zeros(len(beta))
    cells = np.arange(len(beta))
    q, zeta = np.zeros((2, len(beta), *counts.visits.shape[1:]))
    with np.errstate(over="ignore", invalid="ignore"):  # blowing up is the result
        for _ in range(iterations):
            q, zeta, bellman[cells] = iterate(q, zeta, cells)
            alive = np.abs(bellman[cells]) <= BLOW_UP  # false for nan
            done[cells[alive]] += 1
            q, zeta, cells = q[alive], zeta[alive], cells[alive]
            if not len(cells):
                break
    diverged = np.ones(len(beta), dtype=bool)
    diverged[cells] = False
    q, zeta = stationary_point(data, anchor, beta)
    growth = np.array([_growth(iterate, q[i], zeta[i], i) for i in range(len(beta))])
    return StabilityMap(
        *axes,
        diverged.reshape(shape),
        done.reshape(shape),
        bellman.reshape(shape),
        (growth / tau_2).reshape(shape),
        (repeat * ratio <= 2 * beta - 1).reshape(shape),
    )


def _growth(
    iterate: Callable[[Array, Array, NDArray[np.int64]], tuple[Array, Array, Array]],
    q: Array,
    zeta: Array,
    cell: int,
) -> float:
    """Log of the spectral radius of one iteration at (Q, zeta), by central differences."""
    both = np.stack([q, zeta])
    nudges = NUDGE * np.eye(both.size).reshape(both.size, *both.shape)
    points = np.concatenate([both + nudges, both - nudges])
    moved = iterate(points[:, 0], points[:, 1], np.full(len(points), cell))[:2]
    up, down = np.split(np.stack(moved, axis=1).reshape(len(points), -1), 2)
    return float(np.log(np.abs(np.linalg.eigvals((up - down) / (2 * NUDGE))).max()))
