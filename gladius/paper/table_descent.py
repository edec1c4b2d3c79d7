"""Algorithm 1 on tables of one data set, step after step, in machine code.

`gladius.paper.algorithm` has the algorithm to the letter, for networks and drawn batches too. With
n the shares of observations and e = r + beta zeta - Q at the anchor a_s, the descent loss has, for
fixed zeta, the gradient

    pi (n(s) + 2 beta sum_x e(x) n(x, a_s, s)) - n(s, a),
    at the anchor less 2 sum_s' n(s, a_s, s') (r + beta V(s') - Q),

and the printed Bellman term is sum_s e n(s, a_s) (e + 2 beta (E[V(s') | s, a_s] - zeta)).
"""

from typing import NamedTuple

import numpy as np

from gladius.panel.anchor import Anchor
from gladius.panel.record import Counts
from gladius.solvers.compiled import compiled
from gladius.validate import Array

PRINTED, ZETA_EXACT, LEVEL_CLOSED = range(
    3
)  # zeta by ascent; exact; exact, and the level in closed form


class TableData(NamedTuple):
    """One data set without ends of paths: every pair of a state and an action occurs."""

    moves: Array  # (A, S, S) n(s, a, s') as shares of all transitions
    visits: Array  # (A, S) n(s, a)
    reward: Array  # (S,) the anchor's
    anchor: int  # a_s
    discount: float  # beta


def table_data(counts: Counts, anchor: Anchor, discount: float) -> TableData:
    """The first data set of `counts`."""
    moves = counts.moves[0] / counts.moves[0].sum()
    return TableData(
        moves, moves.sum(axis=2), anchor.values(counts.states), anchor.action, float(discount)
    )


@compiled
def choose(q: Array, v: Array, policy: Array) -> None:
    """V (S,) and pi (S, A) of Q (S, A)."""
    for s in range(len(q)):
        top, total = q[s, 0], 0.0
        for a in range(1, q.shape[1]):
            top = max(top, q[s, a])
        for a in range(q.shape[1]):
            policy[s, a] = np.exp(q[s, a] - top)
            total += policy[s, a]
        v[s] = top + np.log(total)
        for a in range(q.shape[1]):
            policy[s, a] /= total


@compiled
def average(weights: Array, v: Array) -> float:
    """The sum of weights times V."""
    total = 0.0
    for s in range(len(v)):
        total += weights[s] * v[s]
    return total


@compiled
def settle(q: Array, zeta: Array, data: TableData, kind: int) -> None:
    """Zeta as E[V(s') | s, a], in place; LEVEL_CLOSED: Q with the constant of least risk."""
    v, policy = np.empty(len(q)), np.empty(q.shape)
    choose(q, v, policy)
    error = 0.0
    for s in range(len(q)):
        for a in range(q.shape[1]):
            zeta[s, a] = average(data.moves[a, s], v) / data.visits[a, s]
        residual = data.reward[s] + data.discount * zeta[s, data.anchor] - q[s, data.anchor]
        error += data.visits[data.anchor, s] * residual
    if kind == LEVEL_CLOSED:
        shift = error / data.visits[data.anchor].sum() / (1 - data.discount)
        q += shift
        zeta += shift


@compiled
def descend(
    q: Array,
    zeta: Array,
    data: TableData,
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
        data: see TableData.
        up: (S, A) step of zeta at each pair.
        down: (S,) step of Q at each state.
        ascents: ascent steps before each descent step.
        kind: PRINTED; ZETA_EXACT and LEVEL_CLOSED settle after each descent and do not ascend.
        iterations: how many.
        limit: they end before a descent where the Bellman term leaves +-limit or is not a number.
    """
    anchor, beta, bellman = data.anchor, data.discount, 0.0
    v, policy, pull, bar = np.empty(len(q)), np.empty(q.shape), np.empty(len(q)), np.empty(len(q))
    states = data.visits.sum(axis=0)
    for iteration in range(iterations):
        choose(q, v, policy)
        if kind == PRINTED:
            for s in range(len(q)):
                for a in range(q.shape[1]):
                    total, visits = average(data.moves[a, s], v), data.visits[a, s]
                    for _ in range(ascents):
                        zeta[s, a] -= up[s, a] * 2 * (visits * zeta[s, a] - total)
        bellman = 0.0
        pull[:] = 0.0
        for s in range(len(q)):
            visits, bar[s] = data.visits[anchor, s], average(data.moves[anchor, s], v)
            e = data.reward[s] + beta * zeta[s, anchor] - q[s, anchor]
            bellman += e * (visits * e + 2 * beta * (bar[s] - visits * zeta[s, anchor]))
            for after in range(len(q)):
                pull[after] += e * data.moves[anchor, s, after]
        if not abs(bellman) <= limit:
            return iteration, bellman
        for s in range(len(q)):
            total = states[s] + 2 * beta * pull[s]
            gap = data.visits[anchor, s] * (data.reward[s] - q[s, anchor]) + beta * bar[s]
            for a in range(q.shape[1]):
                q[s, a] -= down[s] * (policy[s, a] * total - data.visits[a, s])
            q[s, anchor] += down[s] * 2 * gap
        if kind != PRINTED:
            settle(q, zeta, data, kind)
    return iterations, bellman
