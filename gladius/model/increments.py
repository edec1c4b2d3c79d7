"""Transition probabilities with few parameters.

`PooledIncrements` is an option of the parametric methods: s' = start + d, where d has one
distribution in all states. Features may also move by themselves, each as a Markov chain of its own.
Frequencies of every (s, a, s') have far more parameters. Their noise biases maximum likelihood
where states are persistent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from gladius.model.estimate import StateFunction
from gladius.model.frequencies import TransitionProbabilities
from gladius.panel.anchor import nearest
from gladius.panel.moves import Table, departures, entries, stacked, tabulated
from gladius.panel.record import Counts, Integers, Transitions, index_rows
from gladius.validate import Array, InputError, asked, check_finite, check_whole

DECIMALS = 9  # increments this close are one


def _merged(label: Integers, least: float) -> Integers:
    """Labels in order, neighbours merged until each occurs so often: a chi-square needs five."""
    times = np.bincount(label)
    merged, total, current = np.zeros(len(times), dtype=np.int64), 0, 0
    for value, count in enumerate(times.tolist()):
        merged[value], total = current, total + count
        if total >= least:
            current, total = current + 1, 0
    merged[merged == current] = max(current - 1, 0)
    return np.asarray(merged[label])


@dataclass(frozen=True)
class PooledIncrements:
    """s' = start(s, a) + d, with d pooled over all states; a parametric method's `transition`.

    A point off the grid of states is the nearest state on it.

    Attributes:
        resets: action -> (d,) state from which its increments start, or a function of (n, d) states
            that returns (n, d), such as `lambda s: np.maximum(s - 2, 0)`; the others start from s.
        common: whether all actions share one distribution of d; else each has its own.
        own: positions of features that move by themselves, jointly, as a Markov chain: their next
            values depend on their present ones alone.
        grid: (S, d) all states; by default those observed.
    """

    resets: Mapping[int, Sequence[float] | float | StateFunction] = field(default_factory=dict)
    common: bool = False
    own: tuple[int, ...] = ()
    grid: Array | None = field(default=None, repr=False)

    def on_grid(self, counts: Counts) -> Counts:
        """The counts on `grid`, or as they are."""
        if self.grid is None:
            return counts
        grid, (index, position) = index_rows(
            [check_finite("transition.grid", self.grid), counts.states]
        )
        if len(grid) > len(self.grid):
            off = grid[np.setdiff1d(position, index)[0]]
            raise InputError("transition.grid", off.tolist(), "add this observed state")
        tables = np.zeros((2, len(counts.visits), len(grid), counts.visits.shape[2]))
        tables[:, :, position] = counts.visits, counts.followed
        (r, a, s, t), number = entries(counts.moves)
        shape = (*counts.moves.shape[:2], len(grid))
        row = np.ravel_multi_index((r, a, position[s]), shape)
        moves = tabulated(row, position[t], number, (*shape, len(grid)))
        return Counts(grid, tables[0], moves, tables[1])

    def starts(self, states: Array, actions: int) -> Array:
        """(A, n, d) states from which the increments of each action start."""
        starts = np.repeat(states[None], actions, axis=0)
        for action, state in self.resets.items():
            if action not in range(actions):
                raise InputError("transition.resets", action, f"give actions 0 to {actions - 1}")
            name = f"transition.resets[{action}]"
            given = asked(name, state, states) if callable(state) else np.atleast_1d(state)
            start = check_finite(name, given)
            if start.shape != (states.shape if callable(state) else states.shape[1:]):
                hint = f"give the {states.shape[1]} features of one state, or a function"
                raise InputError(name, start.shape, f"{hint} of (n, features) that returns as many")
            starts[action] = start
        return starts

    def p_value(self, data: Transitions, ranges: int = 10) -> float:
        """Of likelihood ratio tests that the distribution of d is the same in all states.

        There is one for each action (or for all, where they share it) and each feature that moves.
        It is the least of their p-values, times their number.

        Args:
            data: one data set.
            ranges: number of ranges of a feature, at most.
        """
        number, live = check_whole("ranges", ranges, 2), data.followed & ~data.done
        if not live.any() or not set(self.own) < set(range(data.states.shape[1])):
            raise InputError("transition.own", self.own, "some feature must move by increments")
        states, actions = data.states[live], data.actions[live]
        start = self.starts(states, data.number_of_actions)[actions, np.arange(len(states))]
        moving = [k for k in range(states.shape[1]) if k not in self.own]
        shift = np.round((data.next_states[live] - start)[:, moving], DECIMALS)
        _, (label,) = index_rows([shift])
        found = []
        for group in [0] if self.common else np.unique(actions):
            rows = (actions == group) | self.common
            for x in states[rows][:, moving].T:
                value = np.unique(x, return_inverse=True)[1]
                interval = _merged(value, rows.sum() / number)
                smallest = np.min(np.unique(interval, return_counts=True)[1])
                least = max(5 * rows.sum() / smallest, rows.sum() / number)
                table = pd.crosstab(interval, _merged(label[rows], least))
                if min(table.shape) > 1:
                    found.append(
                        chi2_contingency(table, correction=False, lambda_="log-likelihood")
                    )
        return float(min([1.0, *(len(found) * test.pvalue for test in found)]))

    def estimate(self, counts: Counts) -> TransitionProbabilities:
        """P-hat of every replication, on the states of all."""
        width = counts.states.shape[1]
        if not set(self.own) < set(range(width)):
            hint = f"name some of the features 0 to {width - 1}, and not all of them"
            raise InputError("transition.own", self.own, hint)
        if not self.common:
            counts.check_followed()
        ends = counts.followed.sum(axis=(1, 2)) - departures(counts.moves).sum(axis=(1, 2))
        if self.own and np.any(ends != 0):
            raise InputError("transition.own", self.own, "leave it out where paths are `done`")
        actions, everyone = range(counts.visits.shape[2]), range(len(counts.visits))
        found = [self._increments(counts, r) for r in everyone]
        pooled = tuple(tuple(IncrementRows(one, a) for a in actions) for one in found)
        grid = counts.states
        transition = stacked([stacked([rows.rows(grid, grid) for rows in one]) for one in pooled])
        return TransitionProbabilities(grid, transition, pooled)

    def _increments(self, counts: Counts, replication: int) -> Increments:
        moves, followed = counts.moves[replication], counts.followed[replication].T
        grid, own = counts.states, list(self.own)
        moving = [column for column in range(grid.shape[1]) if column not in own]
        (a, s, t), observed = entries(moves)
        starts = self.starts(grid, len(moves))
        points, (label,) = index_rows([np.round((grid[t] - starts[a, s])[:, moving], DECIMALS)])
        number = np.zeros((len(moves), len(points)))
        np.add.at(number, (a, label), observed)
        total = followed.sum(axis=1)
        if self.common:
            number, total = np.broadcast_to(number.sum(axis=0), number.shape), total.sum()
        values, (of_state,) = index_rows([grid[:, own]])
        chain = np.zeros((len(values), len(values)))
        np.add.at(chain, (of_state[s], of_state[t]), observed)
        departures = chain.sum(axis=1, keepdims=True)
        chain = np.where(
            departures > 0, chain / np.maximum(departures, 1e-300), np.eye(len(values))
        )
        probabilities = number / np.maximum(np.atleast_1d(total)[:, None], 1e-300)
        present = counts.present[replication] | (self.grid is not None)
        return Increments(self, points, probabilities, values, chain, present, moving)


@dataclass(frozen=True)
class Increments:
    """The increments of one replication."""

    model: PooledIncrements  # the option
    # (m, d - own) increments that occurred, of the features that do not move themselves
    points: Array
    probabilities: Array  # (A, m) of each; they sum to the share of transitions that end no path
    values: Array  # (k, own) what the features that move by themselves are
    chain: Array  # (k, k) their transition probabilities; the identity from a value never left
    present: NDArray[np.bool_]  # (S,) states that the replication has itself
    moving: list[int]  # columns of `points`

    def own_index(self, states: Array) -> Integers:
        """(n,) which of `values` a state has, or is nearest to."""
        own = states[:, list(self.model.own)]
        return nearest(self.values, own) if own.shape[1] else np.zeros(len(own), dtype=np.int64)

    def targets(self, action: int, grid: Array, states: Array) -> Integers:
        """(n, m, k) positions on the grid to which an increment and a value lead."""
        start = self.model.starts(states, len(self.probabilities))[action]
        shape = (len(states), len(self.points), len(self.values), grid.shape[1])
        points = np.empty(shape)
        points[..., self.moving] = (start[:, None, self.moving] + self.points)[:, :, None]
        points[..., list(self.model.own)] = self.values
        closest = nearest(grid[self.present], points.reshape(-1, grid.shape[1]))
        return np.flatnonzero(self.present)[closest].reshape(shape[:3])


@dataclass(frozen=True)
class IncrementRows:
    """The `ActionRows` of one action."""

    increments: Increments
    action: int

    @property
    def present(self) -> NDArray[np.bool_]:
        """(S,) states of the grid that the replication has itself."""
        return self.increments.present

    def rows(self, grid: Array, states: Array) -> Table:
        """(n, S) probabilities over the grid."""
        targets = self.increments.targets(self.action, grid, states)
        chain = self.increments.chain[self.increments.own_index(states)]
        weights = self.increments.probabilities[self.action][None, :, None] * chain[:, None]
        start = np.repeat(np.arange(len(states)), targets[:1].size)
        return tabulated(start, targets.ravel(), weights.ravel(), (len(states), len(grid)))
