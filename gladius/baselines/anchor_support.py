"""How far an anchor's Bellman equation rests on states where the anchor was never taken.

With the anchor action taken for ever, from state s, let tau be the number of moves until a state
where the data never take it. Then h(s) = Q(s, a_s) is

    h(s) = E[what the anchor's rows tell up to tau] + E[beta^tau h(s_tau)],

and h(s_tau) is told by no row: a network extrapolates it, a table borrows it. E[beta^tau], moves by
the frequencies of the anchor's rows, is by how much an error of one there is an error of h(s). It
sees no truth. A path that ends first has no such state and counts as 0. Where states do not repeat
(continuous features) every state but the first is new and the weight is about beta: all rests on
the regression's generalisation, and it tells no more than that.
"""

from __future__ import annotations

import numpy as np

from gladius.checks import Array
from gladius.transitions import Integers, Transitions, index_rows

ACCURACY = 1e-3  # of a weight from 0 to 1


def extrapolated_weight(
    seen: Array, taken: Array, now: Integers, after: Integers, times: Array, discount: float
) -> float:
    """Mean of E[beta^tau] over observations, 1 for those in a state without an anchor row.

    Args:
        seen: (S,) n(s).
        taken: (S,) n(s, a_s).
        now, after, times: the anchor's moves that do not end the path: s, s' and how often.
        discount: beta.
    """
    own = taken > 0
    share = times / taken[now]
    weight = np.where(own, 0.0, 1.0)
    for _ in range(int(np.ceil(np.log(ACCURACY) / np.log(discount)))):
        following = np.bincount(now, weights=share * weight[after], minlength=len(seen))
        new = np.where(own, discount * following, 1.0)
        change, weight = np.max(np.abs(new - weight)), new
        if change <= ACCURACY * (1 - discount):
            break
    return float(seen @ weight / seen.sum())


def weight_of_data(data: Transitions, action: int, discount: float) -> float:
    """`extrapolated_weight` from the rows of one data set: no law and no table is formed."""
    grid, (now, after) = index_rows([data.states, data.next_states])
    anchored = data.actions == action
    goes_on = anchored & ~data.done
    return extrapolated_weight(
        np.bincount(now, minlength=len(grid)).astype(float),
        np.bincount(now[anchored], minlength=len(grid)).astype(float),
        now[goes_on],
        after[goes_on],
        np.ones(int(goes_on.sum())),
        discount,
    )
