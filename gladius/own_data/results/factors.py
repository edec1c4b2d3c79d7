"""What an observation adds to estimated transition probabilities.

A `Factor` is a family of distributions of one outcome, such as the next state, or an increment of
`PooledIncrements`. It says which distribution a row (s, a) uses, in which one its observations are
counted, and what an outcome is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gladius.model.frequencies import Pooled, TransitionProbabilities
from gladius.model.increments import DECIMALS, IncrementRows, PooledIncrements
from gladius.model.parametric import Model
from gladius.panel.anchor import nearest
from gladius.panel.record import Counts, Integers, index_rows
from gladius.validate import Array


def factors_of(model: Model) -> tuple[Factor, ...]:
    """The distributions that P-hat of the first data set is made of; none if P is known."""
    if isinstance(model.transition_model, PooledIncrements):
        return increment_factors(model.transition_model, model.counts, model.p_hat)
    return () if model.is_known else frequency_factors(model.counts, model.p_hat)


@dataclass(frozen=True)
class Factor:
    """Distributions that the rows of P-hat are made of."""

    uses: Integers  # (A, S) the distribution of each row; -1 for none
    feeds: Integers  # (A, S) the distribution in which its observations are counted; -1 for none
    # (A, S, S + 1) as what an observed transition counts; the last is the end of a path
    outcome: Integers
    # V (S,) on the grid -> (A, S, m) E[V(s') | s, a, outcome]; None where an outcome is the next
    # state and each row has a distribution of its own
    worth: Callable[[Array], Array] | None

    def influence(self, counts: Array, transition: Array, v: Array, psi: Array) -> Array:
        """(A, S, S + 1, k) psi times the error of P-hat V that an observation of a cell makes."""
        is_fed, is_used = self.feeds >= 0, self.uses >= 0
        size = int(max(self.uses.max(), self.feeds.max())) + 1
        observed = np.bincount(self.feeds[is_fed], counts.sum(axis=2)[is_fed], size)
        share = np.where(is_fed, 1 / np.maximum(observed[self.feeds], 1e-300), 0.0)
        level = (transition @ v)[..., None]
        if self.worth is None:
            excess = np.append(v, 0.0) - level
            return np.asarray((share[..., None] * excess)[..., None] * psi[:, :, None])
        excess = self.worth(v) - level
        total = np.zeros((size, excess.shape[2], psi.shape[2]))
        np.add.at(total, self.uses[is_used], excess[is_used][..., None] * psi[is_used][:, None])
        return np.asarray(share[..., None, None] * total[self.feeds[..., None], self.outcome])

    def unseen(self, counts: Array, transition: Array, v: Array, psi: Array) -> Array:
        """(k, k) what the empirical variances of a row's own frequencies leave out.

        That of n observations is n / (n - 1) too small. That of one observation is zero; the mean
        of the other rows of the action takes its place.
        """
        if self.worth is not None:
            return np.zeros((psi.shape[2], psi.shape[2]))
        n = counts.sum(axis=2)
        excess = np.append(v, 0.0) - (transition @ v)[..., None]
        squares = np.einsum("ast,ast->as", counts, excess**2)
        pooled = squares.sum(axis=1) / np.maximum(np.maximum(n - 1, 0).sum(axis=1), 1)
        several = squares / np.maximum(n**2 * (n - 1), 1e-300)
        lacking = np.where(n > 1, several, np.where(n == 1, pooled[:, None], 0.0))
        return np.asarray(np.einsum("as,ask,asl->kl", lacking, psi, psi))


def frequency_factors(counts: Counts, p_hat: TransitionProbabilities) -> tuple[Factor, ...]:
    """Those of the frequencies of the first data set, with rows borrowed where n(s, a) = 0."""
    visited = counts.followed[0].T > 0
    actions, states = visited.shape
    row = np.arange(actions * states).reshape(visited.shape)
    own = np.where(visited, row, -1)
    factors = [Factor(own, own, np.zeros((actions, states, states + 1), dtype=np.int64), None)]
    if visited.all():
        return tuple(factors)
    rows = [rows for rows in p_hat.pooled[0] if isinstance(rows, Pooled)]
    most = max(len(pooled.probabilities) for pooled in rows) + 1
    outcome = np.full((actions, states, states + 1), most - 1)
    targets = np.zeros((actions, states, most), dtype=np.int64)
    for a, pooled in enumerate(rows):
        s, t = np.nonzero(counts.moves[0, a])
        shift = p_hat.states[t] - p_hat.states[s]
        outcome[a, s, t] = nearest(pooled.points, shift) if pooled.relative and len(s) else t
        targets[a, :, : len(pooled.probabilities)] = pooled.targets(p_hat.states, p_hat.states)

    def worth(v: Array) -> Array:
        value = v[targets]
        value[..., -1] = 0.0  # the end of a path
        return value

    action = np.broadcast_to(np.arange(actions)[:, None], visited.shape)
    uses, feeds = np.where(visited, -1, action), np.where(visited, action, -1)
    return (*factors, Factor(uses, feeds, outcome, worth))


def increment_factors(
    option: PooledIncrements, counts: Counts, p_hat: TransitionProbabilities
) -> tuple[Factor, ...]:
    """Those of the first data set: the increments, and the features that move themselves."""
    rows = p_hat.pooled[0][0]
    assert isinstance(rows, IncrementRows)
    increments, grid = rows.increments, p_hat.states
    actions, states = len(p_hat.pooled[0]), len(grid)
    targets = np.stack([increments.targets(a, grid, grid) for a in range(actions)])
    weights = increments.chain[increments.own_index(grid)]
    group = np.zeros((actions, states), dtype=np.int64)
    if not option.common:
        group += np.arange(actions)[:, None]
    starts = option.starts(grid, actions)
    a, s, t = np.nonzero(counts.moves[0])
    outcome = np.full((actions, states, states + 1), len(increments.points))
    shift = np.round((grid[t] - starts[a, s])[:, increments.moving], DECIMALS)
    outcome[a, s, t] = index_rows([increments.points, shift])[1][1]

    def increment(v: Array) -> Array:
        value = np.einsum("asmk,sk->asm", v[targets], weights)
        return np.concatenate([value, np.zeros((actions, states, 1))], axis=2)

    def following(v: Array) -> Array:
        return np.asarray(np.einsum("asmk,am->ask", v[targets], increments.probabilities))

    own = increments.own_index(grid)
    of_row = np.broadcast_to(own, group.shape)
    into = np.broadcast_to(np.append(own, 0), outcome.shape)
    factors = [Factor(group, group, outcome, increment)]
    return (*factors, Factor(of_row, of_row, into, following)) if option.own else tuple(factors)
