"""Algorithm 1 on tables of one data set with a step of its own for every pair, and two variants.

`gladius.paper.algorithm` has the algorithm to the letter. Here the steps may differ between states,
as the stability maps need, and zeta, or zeta and the level of Q, may be set to their best values in
closed form at every iteration.
"""

import numpy as np

from gladius.paper.rows import PRINTED as PRINTED_TERM
from gladius.paper.rows import Batch, Outputs, choose, q_slope, zeta_slope
from gladius.solvers.compiled import compiled
from gladius.validate import Array

# zeta by ascent; exact; exact, and the level in closed form
PRINTED, ZETA_EXACT, LEVEL_CLOSED = range(3)


@compiled
def room_of(q: Array, zeta: Array) -> Outputs:
    """The outputs of both tables themselves, and room for the rest."""
    policy, slope = np.zeros(q.shape), np.zeros(q.shape)
    return Outputs(q, zeta, policy, slope, np.zeros(len(q)), np.zeros(len(q)))


@compiled
def settle(q: Array, zeta: Array, batch: Batch, anchor: int, beta: float, kind: int) -> None:
    """Zeta as the mean of V(s') at (s, a), in place; LEVEL_CLOSED: Q with the level of least risk.

    The risk is quadratic in a common shift of Q and zeta, and least where the anchor's mean Bellman
    residual is zero.
    """
    at = room_of(q, zeta)
    choose(at)
    zeta[:] = 0
    for m in range(len(batch.number)):
        s, a, z = batch.state[m], batch.action[m], batch.following[m]
        at.slope[s, a] += batch.number[m]
        if z >= 0:
            zeta[s, a] += batch.number[m] * at.value[z]
    error, uses = 0.0, 0.0
    for s in range(len(q)):
        for a in range(q.shape[1]):
            zeta[s, a] /= at.slope[s, a]
        uses += at.slope[s, anchor]
        error += at.slope[s, anchor] * (batch.reward[s] + beta * zeta[s, anchor] - q[s, anchor])
    if kind == LEVEL_CLOSED:
        shift = error / uses / (1 - beta)
        for s in range(len(q)):
            for a in range(q.shape[1]):
                q[s, a] += shift
                zeta[s, a] += shift


@compiled
def descend(
    q: Array,
    zeta: Array,
    batch: Batch,
    anchor: int,
    beta: float,
    up: Array,
    down: Array,
    ascents: int,
    kind: int,
    iterations: int,
    limit: float,
) -> tuple[int, float]:
    """The number of iterations done, and the signed Bellman term before the last descent.

    Args:
        q, zeta: (S, A), changed in place.
        batch: all of the data, without ends of paths; every pair occurs.
        anchor, beta: a_s and the discount factor.
        up: (S, A) step of zeta at each pair.
        down: (S,) step of Q at each state.
        ascents: ascent steps before each descent step.
        kind: PRINTED; ZETA_EXACT and LEVEL_CLOSED settle after each descent and do not ascend.
        iterations: how many.
        limit: they end before a descent where the Bellman term leaves +-limit or is not a number.
    """
    at, bellman = room_of(q, zeta), 0.0
    for iteration in range(iterations):
        choose(at)
        if kind == PRINTED:
            for _ in range(ascents):
                zeta_slope(batch, at)
                for s in range(len(q)):
                    for a in range(q.shape[1]):
                        zeta[s, a] -= up[s, a] * at.slope[s, a]
        bellman = q_slope(batch, at, anchor, beta, PRINTED_TERM)[1]
        if not abs(bellman) <= limit:
            return iteration, bellman
        for s in range(len(q)):
            for a in range(q.shape[1]):
                q[s, a] -= down[s] * at.slope[s, a]
        if kind != PRINTED:
            settle(q, zeta, batch, anchor, beta, kind)
    return iterations, bellman
