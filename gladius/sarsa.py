"""SARSA tuples (s, a, s', a'): how the pairs of a data set follow each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from gladius.checks import Array, InputError
from gladius.transitions import Integers, Transitions, index_rows

ENDED = -1  # in the place of the next pair where the path ends


@dataclass(frozen=True)
class SarsaTuples:
    """Distinct pairs (s, a) of one data set and how they follow each other.

    A mean "over SARSA tuples" is over the rows whose next pair is known or that end the path; the
    last period of a trajectory that goes on has neither and serves as a next pair alone.

    Attributes:
        states: (P, d) features of the distinct pairs, in lexicographic order of (s, a).
        actions: (P,) their actions.
        visits: (P,) in how many rows of the data each occurs, last periods included.
        now: (M,) pair in the earlier period of each distinct SARSA tuple.
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
        """Number of SARSA tuples."""
        return float(self.weights.sum())

    @cached_property
    def left(self) -> Array:
        """(P,) in how many SARSA tuples a pair is the earlier one."""
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


def sarsa_tuples(data: Transitions) -> SarsaTuples:
    """The SARSA tuples (s, a, s', a') of a data set.

    Row j follows row i where it is the next of the same trajectory and s'_i = s_j: rows of a
    trajectory are in order of time, as everywhere in `Transitions`, and a gap shows in s'_i != s_j.

    Raises:
        InputError: where no period is followed by another of the same trajectory.
    """
    _, label = np.unique(data.trajectory, return_inverse=True)
    order = np.argsort(label, kind="stable")
    i, j = order[:-1], order[1:]
    follows = (label[i] == label[j]) & ~data.done[i]
    follows &= np.all(data.next_states[i] == data.states[j], axis=1)
    if not np.any(follows):
        hint = "no row is followed by the next period of its trajectory: give trajectory labels "
        raise InputError("trajectory", f"{len(data)} rows", hint + "and rows in order of time")
    joint = np.concatenate([data.states, data.actions[:, None].astype(np.float64)], axis=1)
    pairs, (place,) = index_rows([joint])
    now = np.concatenate([place[i[follows]], place[data.done]])
    after = np.concatenate([place[j[follows]], np.full(np.count_nonzero(data.done), ENDED)])
    span = len(pairs) + 1
    codes, weights = np.unique(now * span + after + 1, return_counts=True)
    return SarsaTuples(
        states=pairs[:, :-1],
        actions=pairs[:, -1].astype(np.int64),
        visits=np.bincount(place).astype(np.float64),
        now=codes // span,
        after=codes % span - 1,
        weights=weights.astype(np.float64),
        number_of_actions=data.number_of_actions,
    )
