"""What an observation adds to estimated transition probabilities.

A `Factor` is a family of distributions of one outcome, such as the next state, or an increment of
`PooledIncrements`. It says which distribution a row (s, a) uses, in which one its observations are
counted, and what an outcome is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from gladius.model.frequencies import Pooled, TransitionProbabilities
from gladius.model.increments import DECIMALS, IncrementRows, PooledIncrements
from gladius.model.parametric import Model
from gladius.panel.anchor import nearest
from gladius.panel.moves import Table, entries
from gladius.panel.record import Counts, Integers, index_rows
from gladius.validate import Array


def factors_of(model: Model) -> tuple[Factor, ...]:
    """The distributions that P-hat of the first data set is made of; none if P is known."""
    if isinstance(model.transition_model, PooledIncrements):
        return increment_factors(model.transition_model, model.counts, model.p_hat)
    return () if model.is_known else frequency_factors(model.counts, model.p_hat)


@dataclass(frozen=True)
class Cells:
    """The distinct observed (s, a, s'), in order of a, s and s'; ends of paths come last.

    Attributes:
        action, state, after: (M,) of each; `after` is S where the path ended.
        number: (M,) observations, or the sum of their weights.
        shape: (A, S).
    """

    action: Integers
    state: Integers
    after: Integers
    number: Array
    shape: tuple[int, int]

    @classmethod
    def of(cls, counts: Counts, position: Integers, states: int) -> Cells:
        """Those of the first data set, on a grid on which its states have these positions."""
        (a, s, t), number = entries(counts.moves[0])
        ended = counts.ends[0]
        b, last = np.nonzero(ended)
        action, state = np.append(a, b), position[np.append(s, last)]
        after = np.append(position[t], np.full(len(b), states))
        order = np.lexsort((after, state, action))
        number = np.append(number, ended[b, last])[order]
        return cls(action[order], state[order], after[order], number, (len(ended), states))

    @cached_property
    def row(self) -> Integers:
        """(M,) which pair (a, s) each is of, raveled."""
        return np.ravel_multi_index((self.action, self.state), self.shape)

    @cached_property
    def total(self) -> Array:
        """(A, S) observations of each pair."""
        size = int(np.prod(self.shape))
        total = np.bincount(self.row, self.number, minlength=size).reshape(self.shape)
        return total.astype(np.float64)

    def positions(self, actions: Integers, states: Integers, after: Integers) -> Integers:
        """(n,) which cell observations are of; that of others is any."""
        width = self.shape[1] + 1
        own = self.row * width + self.after
        found = np.ravel_multi_index((actions, states), self.shape) * width + after
        return np.minimum(np.searchsorted(own, found), len(own) - 1)


@dataclass(frozen=True)
class Factor:
    """Distributions that the rows of P-hat are made of.

    Attributes:
        users: (U,) and (U,) the actions and states of the rows that use one, and (U,) which.
        feeds: (A, S) the distribution in which the observations of a row are counted; -1 for none.
        outcome: (M,) as what an observation of each cell counts.
        worth: V (S,) on the grid -> (U, m) E[V(s') | outcome] of each of those rows, or (1, m) of
            all of them; None where an outcome is the next state and each row has its own.
    """

    users: tuple[Integers, Integers, Integers]
    feeds: Integers
    outcome: Integers
    worth: Callable[[Array], Array] | None

    def influence(self, cells: Cells, transition: Table, v: Array, psi: Array) -> Array:
        """(M, k) psi times the error of P-hat V that an observation of a cell makes."""
        a, s, use = self.users
        of, is_fed = self.feeds[cells.action, cells.state], self.feeds >= 0
        size = int(max(use.max(initial=0), self.feeds.max())) + 1
        observed = np.bincount(self.feeds[is_fed], cells.total[is_fed], size)
        share = np.where(of >= 0, 1 / np.maximum(observed[of], 1e-300), 0.0)
        level = transition @ v
        if self.worth is None:
            excess = np.append(v, 0.0)[cells.after] - level[cells.action, cells.state]
            return np.asarray((share * excess)[:, None] * psi[cells.action, cells.state])
        worth, own = self.worth(v), psi[a, s]
        total = np.zeros((size, worth.shape[1], psi.shape[2]))
        if len(worth) == len(own):
            excess = worth - level[a, s][:, None]
            np.add.at(total, use, excess[..., None] * own[:, None])
        else:  # a sum over rows that need not be formed for each outcome
            weights, levels = np.zeros((2, size, psi.shape[2]))
            np.add.at(weights, use, own)
            np.add.at(levels, use, level[a, s][:, None] * own)
            total += worth[0][:, None] * weights[:, None] - levels[:, None]
        return np.asarray(share[:, None] * total[of, self.outcome])

    def unseen(self, cells: Cells, transition: Table, v: Array, psi: Array) -> Array:
        """(k, k) what the empirical variances of a row's own frequencies leave out.

        That of n observations is n / (n - 1) too small. That of one observation is zero; the mean
        of the other rows of the action takes its place.
        """
        if self.worth is not None:
            return np.zeros((psi.shape[2], psi.shape[2]))
        n = cells.total
        excess = np.append(v, 0.0)[cells.after] - (transition @ v)[cells.action, cells.state]
        squares = np.bincount(cells.row, cells.number * excess**2, minlength=n.size)
        squares = squares.reshape(n.shape)
        pooled = squares.sum(axis=1) / np.maximum(np.maximum(n - 1, 0).sum(axis=1), 1)
        several = squares / np.maximum(n**2 * (n - 1), 1e-300)
        lacking = np.where(n > 1, several, np.where(n == 1, pooled[:, None], 0.0))
        return np.asarray(np.einsum("as,ask,asl->kl", lacking, psi, psi))


def frequency_factors(counts: Counts, p_hat: TransitionProbabilities) -> tuple[Factor, ...]:
    """Those of the frequencies of the first data set, with rows borrowed where n(s, a) = 0."""
    cells = Cells.of(counts, np.arange(len(counts.states)), len(counts.states))
    visited, grid = counts.followed[0].T > 0, p_hat.states
    row = np.where(visited, np.arange(visited.size).reshape(visited.shape), -1)
    a, s = np.nonzero(visited)
    factors = [Factor((a, s, row[a, s]), row, np.zeros_like(cells.action), None)]
    for action, pooled in enumerate(p_hat.pooled[0]):
        (borrows,) = np.nonzero(~visited[action])
        if not len(borrows) or not isinstance(pooled, Pooled):
            continue
        most = len(pooled.probabilities)  # the outcome of an end
        outcome = np.full(len(cells.action), most)
        followed = (cells.action == action) & (cells.after < len(grid))
        if not np.any(followed):  # of an action never taken no probability is estimated
            continue
        s, t = cells.state[followed], cells.after[followed]
        outcome[followed] = nearest(pooled.points, grid[t] - grid[s]) if pooled.relative else t
        users = np.full(len(borrows), action), borrows, np.zeros_like(borrows)
        feeds = np.full(visited.shape, -1)
        feeds[action, visited[action]] = 0
        targets = pooled.targets(grid, grid[borrows] if pooled.relative else grid[:1])
        factors.append(Factor(users, feeds, outcome, partial(_values, targets)))
    return tuple(factors)


def _values(targets: Integers, v: Array) -> Array:
    """(n, m + 1) V at (n, m) positions, and 0 at the end of a path."""
    return np.append(v[targets], np.zeros((len(targets), 1)), axis=1)


def increment_factors(
    option: PooledIncrements, counts: Counts, p_hat: TransitionProbabilities
) -> tuple[Factor, ...]:
    """Those of the first data set: the increments, and the features that move themselves."""
    rows = p_hat.pooled[0][0]
    assert isinstance(rows, IncrementRows)
    increments, grid = rows.increments, p_hat.states
    actions, states = len(p_hat.pooled[0]), len(grid)
    cells = Cells.of(counts, np.arange(states), states)
    targets = np.concatenate([increments.targets(a, grid, grid) for a in range(actions)])
    group = np.zeros((actions, states), dtype=np.int64)
    if not option.common:
        group += np.arange(actions)[:, None]
    starts = option.starts(grid, actions)
    outcome = np.full(len(cells.action), len(increments.points))
    followed = cells.after < states
    a, s, t = cells.action[followed], cells.state[followed], cells.after[followed]
    shift = np.round((grid[t] - starts[a, s])[:, increments.moving], DECIMALS)
    outcome[followed] = index_rows([increments.points, shift])[1][1]
    action, state = (index.ravel() for index in np.indices(group.shape))
    weights = increments.chain[increments.own_index(grid)][state]

    def increment(v: Array) -> Array:
        value = np.einsum("nmk,nk->nm", v[targets], weights)
        return np.append(value, np.zeros((len(value), 1)), axis=1)

    def following(v: Array) -> Array:
        chances = increments.probabilities[action]
        return np.asarray(np.einsum("nmk,nm->nk", v[targets], chances))

    own = increments.own_index(grid)
    of_row = np.broadcast_to(own, group.shape)
    factors = [Factor((action, state, group.ravel()), group, outcome, increment)]
    if option.own:
        into, users = np.append(own, 0)[cells.after], (action, state, of_row.ravel())
        factors.append(Factor(users, of_row, into, following))
    return tuple(factors)
