"""SARSA tuples (s, a, s', a'): how the pairs of a data set follow each other."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from gladius.panel.record import Integers, Transitions, index_rows
from gladius.validate import Array, InputError

ENDED = -1  # stands for the next pair where the path ends


@dataclass(frozen=True)
class SarsaTuples:
    """Distinct pairs (s, a) of one data set and how they follow each other.

    The last period of a trajectory that goes on starts no tuple; it only serves as a next pair.
    """

    states: Array  # (P, d) features of the distinct pairs, in lexicographic order of (s, a)
    actions: Integers  # (P,) their actions
    visits: Array  # (P,) number of observations of each pair, last periods included
    pair: Integers  # (M,) index of (s, a) of each distinct SARSA tuple
    next_pair: Integers  # (M,) index of (s', a'); ENDED where the path ends instead
    weights: Array  # (M,) number of occurrences of each tuple
    number_of_actions: int  # A

    @property
    def size(self) -> float:
        """Number of SARSA tuples."""
        return float(self.weights.sum())

    @cached_property
    def departures(self) -> Array:
        """(P,) number of SARSA tuples that start in each pair."""
        counts = np.bincount(self.pair, weights=self.weights, minlength=len(self.actions))
        return counts.astype(np.float64, copy=False)

    @cached_property
    def successions(self) -> csr_array:
        """(P, P) number of tuples from the row's pair to the column's pair."""
        is_followed = self.next_pair != ENDED
        cells = (self.pair[is_followed], self.next_pair[is_followed])
        size = len(self.actions)
        return csr_array((self.weights[is_followed], cells), shape=(size, size))

    def expected_next(self, values: Array) -> Array:
        """(P, c) mean of (P, c) values over the next pair: 0 after an end, 0 without departures."""
        departures = np.where(self.departures > 0, self.departures, 1.0)
        return np.asarray((self.successions @ values) / departures[:, None])


def sarsa_tuples(data: Transitions) -> SarsaTuples:
    """The SARSA tuples (s, a, s', a') of a data set.

    Observation j follows i where it is the next of the same trajectory and s'_i = s_j.

    Raises:
        InputError: where no period is followed by another of the same trajectory.
    """
    _, label = np.unique(data.trajectory, return_inverse=True)
    order = np.argsort(label, kind="stable")
    i, j = order[:-1], order[1:]
    is_next = (label[i] == label[j]) & ~data.done[i]
    is_next &= np.all(data.next_states[i] == data.states[j], axis=1)
    if not np.any(is_next):
        hint = "no row is followed by the next period of its trajectory: give trajectory labels "
        raise InputError("trajectory", f"{len(data)} rows", hint + "and rows in order of time")
    joint = np.concatenate([data.states, data.actions[:, None].astype(np.float64)], axis=1)
    pairs, (pair_of_row,) = index_rows([joint])
    ends = np.full(np.count_nonzero(data.done), ENDED)
    pair = np.concatenate([pair_of_row[i[is_next]], pair_of_row[data.done]])
    next_pair = np.concatenate([pair_of_row[j[is_next]], ends])
    span = len(pairs) + 1
    codes, weights = np.unique(pair * span + next_pair + 1, return_counts=True)
    return SarsaTuples(
        states=pairs[:, :-1],
        actions=pairs[:, -1].astype(np.int64),
        visits=np.bincount(pair_of_row).astype(np.float64),
        pair=codes // span,
        next_pair=codes % span - 1,
        weights=weights.astype(np.float64),
        number_of_actions=data.number_of_actions,
    )
