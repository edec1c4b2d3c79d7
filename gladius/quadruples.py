"""Consecutive periods (s, a, s', a') of the same trajectory, grouped where they repeat.

What the temporal-difference estimators of dynamic choice use instead of a transition law: the
action that was taken after the move stands for the expectation over actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from gladius.checks import Array
from gladius.errors import InputError
from gladius.rows import Integers, index_rows
from gladius.transitions import Transitions

ENDED = -1  # in the place of the next pair where the path ends


@dataclass(frozen=True)
class Quadruples:
    """Distinct pairs (s, a) of one data set and how they follow each other.

    A mean "over quadruples" is over the rows whose next pair is known or that end the path; the
    last period of a trajectory that goes on has neither and serves as a next pair alone.

    Attributes:
        states: (P, d) features of the distinct pairs, in lexicographic order of (s, a).
        actions: (P,) their actions.
        visits: (P,) in how many rows of the data each occurs, last periods included.
        now: (M,) pair in the earlier period of each distinct quadruple.
        after: (M,) the pair that follows it; ENDED where the path ends instead.
        weights: (M,) how often it occurs.
        number_of_actions: A.
    """

    states: Array
    actions: Integers
    visits: Array
    now: Integers
    after: Integers
    weights: Array
    number_of_actions: int

    @property
    def size(self) -> float:
        """Number of quadruples."""
        return float(self.weights.sum())

    @cached_property
    def left(self) -> Array:
        """(P,) in how many quadruples a pair is the earlier one."""
        counts = np.bincount(self.now, weights=self.weights, minlength=len(self.actions))
        return counts.astype(np.float64, copy=False)

    @cached_property
    def follows(self) -> csr_array:
        """(P, P) how often the column's pair follows the row's."""
        known = self.after != ENDED
        cells = (self.now[known], self.after[known])
        size = len(self.actions)
        return csr_array((self.weights[known], cells), shape=(size, size))

    def ahead(self, values: Array) -> Array:
        """(P, c) mean of (P, c) values over the next pair, zero after an end; 0 if never left."""
        left = np.where(self.left > 0, self.left, 1.0)
        return np.asarray((self.follows @ values) / left[:, None])

    def behind(self, values: Array) -> Array:
        """(P, c) sum of (P, c) values over the pairs before, per occurrence as the earlier pair.

        The adjoint of `ahead` under the frequencies of the earlier pairs. Where the paths are
        stationary it is the conditional mean of the past. 0 where a pair is never left.
        """
        left = np.where(self.left > 0, self.left, np.inf)
        return np.asarray((self.follows.T @ values) / left[:, None])


def consecutive(data: Transitions) -> tuple[Integers, Integers]:
    """Rows i and j where j is the period after i: same trajectory, next in order, s'_i = s_j.

    Rows of a trajectory are in order of time, as everywhere in `Transitions`; a gap or another
    order shows in s'_i != s_j, and such a pair of rows is left out.
    """
    _, label = np.unique(data.trajectory, return_inverse=True)
    order = np.argsort(label, kind="stable")
    i, j = order[:-1], order[1:]
    follows = (label[i] == label[j]) & ~data.done[i]
    follows &= np.all(data.next_states[i] == data.states[j], axis=1)
    return i[follows].astype(np.int64), j[follows].astype(np.int64)


def quadruples(data: Transitions) -> Quadruples:
    """The quadruples of a data set.

    Raises:
        InputError: where no period is followed by another of the same trajectory.
    """
    i, j = consecutive(data)
    if len(i) == 0:
        mend = "no row is followed by the next period of its trajectory: give trajectory labels "
        raise InputError("trajectory", f"{len(data)} rows", mend + "and rows in order of time")
    joint = np.concatenate([data.states, data.actions[:, None].astype(np.float64)], axis=1)
    pairs, (at,) = index_rows([joint])
    over = np.flatnonzero(data.done)
    now = np.concatenate([at[i], at[over]])
    after = np.concatenate([at[j], np.full(len(over), ENDED)])
    span = len(pairs) + 1
    codes, weights = np.unique(now * span + after + 1, return_counts=True)
    return Quadruples(
        states=pairs[:, :-1],
        actions=pairs[:, -1].astype(np.int64),
        visits=np.bincount(at, minlength=len(pairs)).astype(np.float64),
        now=codes // span,
        after=codes % span - 1,
        weights=weights.astype(np.float64),
        number_of_actions=data.number_of_actions,
    )
