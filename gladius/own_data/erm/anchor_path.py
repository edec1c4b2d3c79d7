"""How much of what fixes the level of V lies where the anchor cannot be taken, as the data say.

Nobody says so where choice sets are not given. In a state of many rows none of which is the anchor,
it may be rare, or not available; the states around tell these apart.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix, identity
from scipy.sparse.linalg import spsolve

from gladius.model.choice_sets import anchor_is_open, sets_of
from gladius.model.state_anchor import own_actions
from gladius.panel.anchor import Anchor
from gladius.panel.record import Integers, Transitions, index_rows
from gladius.solvers.choice_logit import maximise
from gladius.validate import Array

CHANCE = 0.01  # that no row of a state is the anchor, above which it says nothing
MOST_SQUARED = 5  # features up to which that chance follows from their squares and products too
WIDE = 100.0  # ratio of a positive feature's ends
LARGEST = 20_000  # states up to which the anchor's path is followed


def anchor_chances(states: Array, seen: Integers, taken: Integers) -> Array:
    """(S,) the chance of the anchor, `taken` so often of `seen`, by a logit of the features.

    Up to MOST_SQUARED features it has their squares and products, and the log of positive ones that
    span two orders of magnitude. It cannot follow a choice set: where the anchor is rare its chance
    falls step by step over the states, but where it is not available at once. Labels can follow
    one, so that columns of two values are left out where the anchor never occurs at some of them
    together. Each coefficient has two choices of its own, one each way, as a prior.
    """
    low, high = states.min(axis=0), states.max(axis=0)
    is_label = np.all((states == low) | (states == high), axis=0)
    _, (label,) = index_rows([states[:, is_label]])
    keeps_labels = np.all(np.bincount(label, taken) > 0)
    columns = [*states[:, (low < high) & (keeps_labels | ~is_label)].T]
    columns += [np.log(x) for x in columns if x.min() > 0 and x.max() >= WIDE * x.min()]
    z = np.ones((len(states), 1 + len(columns)))
    for k, x in enumerate(columns, 1):
        z[:, k] = (x - x.mean()) / x.std()
    if len(columns) <= MOST_SQUARED:
        first, second = np.triu_indices(len(columns))
        z = np.column_stack([z, z[:, 1 + first] * z[:, 1 + second]])
    rows = np.concatenate([z, np.eye(z.shape[1])[1:]])
    visits = np.column_stack([taken, seen - taken]).astype(float)
    visits = np.concatenate([visits, np.ones((z.shape[1] - 1, 2))])
    contrasts = np.stack([rows, np.zeros_like(rows)], axis=1)
    fit = maximise(visits[None], contrasts, np.zeros_like(visits))
    return np.asarray(np.exp(fit.log_policy[0, : len(states), 0]))


def share_without_anchor(data: Transitions, anchor: Anchor, discount: float) -> tuple[float, Array]:
    """Share of what fixes the level of V that lies in states without the anchor; (m, d) those.

    The anchor's equation gives V(s) as the discounted sum of r - log pi of the anchor along its own
    path from s. The share is that of the states of this path, from the observed states. A state is
    without the anchor if its choice set is, or if none of its rows is the anchor though that has a
    chance below CHANCE by the anchor's frequency in the other states; see `anchor_chances`.
    """
    states, (index, after) = index_rows([data.states, data.next_states])
    size, own, sets = len(states), own_actions(anchor, states), sets_of(data)
    is_its = data.actions == own[index]
    seen, taken = (np.bincount(rows, minlength=size) for rows in (index, index[is_its]))
    lacks = (taken == 0) & (seen > 0)
    if sets is not None:
        lacks = ~anchor_is_open(states, anchor, sets)
    if not np.any(lacks) or size > LARGEST:
        return 0.0, states[:0]
    if sets is None:
        with np.errstate(divide="ignore"):
            lacks &= seen * np.log1p(-anchor_chances(states, seen, taken)) < np.log(CHANCE)
        if not np.any(lacks):
            return 0.0, states[:0]
    followed = is_its & data.followed
    moves = followed & ~data.done
    number = np.bincount(index[followed], minlength=size)
    total = max(int(number.sum()), 1)
    # the last node is where a state without the anchor goes: to where the anchor leads elsewhere
    pooled = np.flatnonzero(number == 0)
    start = [index[moves], np.full(np.count_nonzero(moves), size), pooled]
    weights = [discount / number[start[0]], np.full(len(start[1]), 1 / total)]
    weights.append(np.full(len(pooled), discount))
    entries = np.concatenate(start), np.concatenate([after[moves], after[moves], 0 * pooled + size])
    flow = coo_matrix((np.concatenate(weights), entries), (size + 1, size + 1))
    right = np.append(np.column_stack([lacks, np.ones(size)]), [[0.0, 0.0]], axis=0)
    sums = seen @ spsolve((identity(size + 1) - flow).tocsc(), right)[:size]
    return float(sums[0] / sums[1]), states[lacks]
