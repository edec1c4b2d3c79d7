"""The inner solution of the public SAmQ code on cells: TD(0) with a constant step, in data order.

Starting from Q = 1 everywhere, `passes` times over the rows in their order, the pair of row j moves

    Q(c_j, a_j) <- Q(c_j, a_j) + step (r_j + beta log sum_a exp Q(c_{j+1}, a) - Q(c_j, a_j)),

where c_{j+1} is the cell of the next row, not of s'_j: the end of one path runs into the start of
the next. The last row is never used. A constant step does not settle at the fixed point: noise
of the order of the step stays. Facts of their code, written anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np
from scipy.optimize import minimize

from gladius.checks import Array
from gladius.transitions import Integers


@dataclass(frozen=True)
class TdFit:
    """theta (k,), Q (C, A), the mean log-likelihood and how the BFGS search ended."""

    theta: Array
    q: Array
    log_likelihood: float
    gradient: Array
    iterations: int
    evaluations: int
    converged: bool


def td_values(
    cells: Integers,
    actions: Integers,
    rewards: Array,
    number: tuple[int, int],
    discount: float,
    start: float,
    step: float,
    passes: int,
) -> Array:
    """(C, A) Q after the passes.

    Args:
        cells, actions, rewards: (n,) of the rows, in their order.
        number: (C, A).
        discount: beta.
        start, step, passes: of the recursion.
    """
    q = [[start] * number[1] for _ in range(number[0])]
    v = [start + log(number[1])] * number[0]
    rows = list(
        zip(
            cells[:-1].tolist(),
            actions[:-1].tolist(),
            cells[1:].tolist(),
            rewards[:-1].tolist(),
            strict=True,
        )
    )
    keep = 1.0 - step
    for _ in range(passes):
        for c, a, after, r in rows:
            values = q[c]
            values[a] = keep * values[a] + step * (r + discount * v[after])
            top = max(values)
            v[c] = top + log(sum([exp(x - top) for x in values]))
    return np.array(q)


def fit_td(
    cells: Integers,
    actions: Integers,
    design: Array,
    offset: Array,
    number: tuple[int, int],
    discount: float,
    *,
    level: float,
    step: float,
    passes: int,
) -> TdFit:
    """Maximise the likelihood of the choices given cells over theta, by BFGS from 1/2.

    Args:
        cells, actions: (n,) of the rows.
        design: (n, k) and offset (n,): of each row's own pair, not the cell's mean.
        number: (C, A).
        discount: beta.
        level: added to the start Q = 1; the authors' gauge has anchor reward 0.
        step, passes: of TD(0).

    The search stops by its own rule, a gradient (finite differences) below 1e-5.
    """
    evaluations = 0

    def values(theta: Array) -> Array:
        nonlocal evaluations
        evaluations += 1
        rewards = offset + design @ theta
        return td_values(cells, actions, rewards, number, discount, 1.0 + level, step, passes)

    def loss(theta: Array) -> float:
        q = values(theta)
        top = q.max(axis=1, keepdims=True)
        logs = q - top - np.log(np.exp(q - top).sum(axis=1, keepdims=True))
        return -float(np.mean(logs[cells, actions]))

    found = minimize(loss, np.full(design.shape[1], 0.5), method="BFGS")
    return TdFit(
        np.asarray(found.x, dtype=np.float64),
        values(found.x),
        -float(found.fun),
        np.asarray(found.jac, dtype=np.float64),
        int(found.nit),
        evaluations,
        bool(found.success),
    )
