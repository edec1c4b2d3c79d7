"""Data as counts: the paper's grouped empirical notation, exact and of a size free of N."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gladius.checks import Array
from gladius.errors import InputError
from gladius.rows import index_rows
from gladius.transitions import Transitions

LARGEST_TABLE = 50_000_000  # entries of the (R, A, S, S) table: 400 MB


@dataclass(frozen=True)
class Counts:
    """Replications of a data set, grouped over the union of their states.

    Attributes:
        states: (S, d) distinct features among s and s', in lexicographic order.
        visits: (R, S, A) n(s, a).
        moves: (R, A, S, S) n(s, a, s') of the rows that are not done.
    """

    states: Array
    visits: Array
    moves: Array

    @property
    def size(self) -> Array:
        """(R,) N, the number of transitions of each replication."""
        size: Array = self.visits.sum(axis=(1, 2))
        return size

    @property
    def seen(self) -> Array:
        """(R, S) how often each state is the current one."""
        seen: Array = self.visits.sum(axis=2)
        return seen

    @property
    def present(self) -> NDArray[np.bool_]:
        """(R, S) states of each replication's own, as s or s'; the others only pad the grid."""
        there: NDArray[np.bool_] = self.seen + self.moves.sum(axis=(1, 2)) > 0
        return there


def group(data: Transitions | Sequence[Transitions]) -> Counts:
    """Count the transitions of one data set or of several replications (leading axis)."""
    sets = [data] if isinstance(data, Transitions) else list(data)
    if not sets:
        raise InputError("transitions", sets, "give at least one data set")
    for i, one in enumerate(sets):
        if not isinstance(one, Transitions):
            raise InputError(f"transitions[{i}]", type(one).__name__, "give Transitions")
    width, actions = sets[0].states.shape[1], sets[0].number_of_actions
    for i, one in enumerate(sets):
        if one.states.shape[1] != width:
            mend = f"the others have {width} features"
            raise InputError(f"transitions[{i}]", one.states.shape, mend)
        if one.number_of_actions != actions:
            mend = f"the others have {actions} actions"
            raise InputError(f"transitions[{i}]", one.number_of_actions, mend)
    blocks = [rows for one in sets for rows in (one.states, one.next_states)]
    states, index = index_rows(blocks)
    total = len(sets) * actions * len(states) ** 2
    if total > LARGEST_TABLE:
        mend = "coarsen the features, or choose a method without a table, such as avi or pqr"
        told = f"a table of {total} counts is too large: {mend}"
        raise InputError("states", f"{len(states)} distinct states", told)
    shape = (actions, len(states))
    visits = np.empty((len(sets), *shape))
    moves = np.empty((len(sets), *shape, len(states)))
    for r, (one, now, after) in enumerate(zip(sets, index[::2], index[1::2], strict=True)):
        pair = one.actions * len(states) + now
        visits[r] = np.bincount(pair, minlength=visits[r].size).reshape(shape)
        triple = (pair * len(states) + after)[~one.done]
        moves[r] = np.bincount(triple, minlength=moves[r].size).reshape(moves[r].shape)
    return Counts(states, np.swapaxes(visits, 1, 2), moves)
