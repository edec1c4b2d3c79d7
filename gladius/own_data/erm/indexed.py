"""The states of a data set and where its rows are among them, found once for all that a fit asks.

Counts of few states are taken in one pass, some rows at a time, so that no column of all rows is
made for them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np

from gladius.panel.moves import SMALL
from gladius.panel.record import PIECE, Counts, Integers, Transitions, group, index_rows
from gladius.validate import Array

CHOICE, END, MOVE = range(3)  # what was observed after a row: nothing, the end, or a next state


class Indexed(NamedTuple):
    """A data set by its distinct states.

    Attributes:
        data: the rows.
        states: (S, d) distinct features among s and s', in lexicographic order.
        before, after: (n,) positions of s and s' among them.
    """

    data: Transitions
    states: Array
    before: Integers
    after: Integers

    @classmethod
    def of(cls, data: Transitions) -> Indexed:
        """That of a data set."""
        states, (before, after) = index_rows([data.states, data.next_states])
        return cls(data, states, before, after)

    def seen(self, own: Integers) -> tuple[Integers, Integers]:
        """(S,) rows of each state, and those with the action that is `own`, (S,), there."""
        is_its = self._tally(
            lambda i: (self.data.actions[i] == own[self.before[i]]) * len(own) + self.before[i],
            (2, len(own)),
        )
        return is_its.sum(axis=0), is_its[1]

    def counts(self) -> Counts:
        """`gladius.panel.record.group` of the data set."""
        size, data = len(self.states), self.data
        shape = 3, data.number_of_actions, size, size
        if size > SMALL or prod(shape) > len(data):
            return group(data)

        def code(i: slice) -> Integers:
            kind = data.followed[i] + (data.followed[i] & ~data.done[i]).astype(np.int64)
            pair = (kind * shape[1] + data.actions[i]) * size + self.before[i]
            return np.asarray(pair * size + self.after[i])

        table = self._tally(code, shape).astype(np.float64)
        of_kind = np.swapaxes(table.sum(axis=3), 1, 2)[:, None]  # (3, 1, S, A)
        followed = of_kind[END] + of_kind[MOVE]
        return Counts(self.states, of_kind[CHOICE] + followed, table[None, MOVE], followed)

    def _tally(self, code: Callable[[slice], Integers], shape: tuple[int, ...]) -> Integers:
        """How often each entry of a table is the code of a row."""
        total = np.zeros(prod(shape), dtype=np.int64)
        step = max(PIECE, len(total))
        for start in range(0, len(self.data), step):
            total += np.bincount(code(slice(start, start + step)), minlength=len(total))
        return total.reshape(shape)
