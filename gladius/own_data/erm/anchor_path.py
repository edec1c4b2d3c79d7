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
from gladius.own_data.erm.indexed import Indexed
from gladius.own_data.erm.rarity import lacks_by_chance
from gladius.panel.anchor import Anchor
from gladius.validate import Array

CHANCE = 0.01  # that no row of a state is the anchor, above which it says nothing
LARGEST = 20_000  # states up to which the anchor's path is followed


def share_without_anchor(rows: Indexed, anchor: Anchor, discount: float) -> tuple[float, Array]:
    """Share of what fixes the level of V that lies in states without the anchor; (m, d) those.

    The anchor's equation gives V(s) as the discounted sum of r - log pi of the anchor along its own
    path from s. The share is that of the states of this path, from the observed states. A state is
    without the anchor if its choice set is, or if none of its rows is the anchor though that has a
    chance below CHANCE by the anchor's frequency in the other states (`lacks_by_chance`).
    """
    data, states, index, after = rows
    size, own, sets = len(states), own_actions(anchor, states), sets_of(data)
    seen, taken = rows.seen(own)
    lacks = (taken == 0) & (seen > 0)
    if sets is not None:
        lacks = ~anchor_is_open(states, anchor, sets)
    if not np.any(lacks) or size > LARGEST:
        return 0.0, states[:0]
    if sets is None:
        lacks &= lacks_by_chance(states, seen, taken) < CHANCE
        if not np.any(lacks):
            return 0.0, states[:0]
    followed = (data.actions == own[index]) & data.followed
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
