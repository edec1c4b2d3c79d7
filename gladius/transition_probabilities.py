"""P-hat: the transition frequencies of grouped data, and Q, r and V by Bellman equations on it.

Where a pair (s, a) was never visited its row is borrowed from the other states, either as
probabilities of the displacement s' - s or of the destination s', whichever gives the observed
moves of that action the higher likelihood. The world's design is not known to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from gladius.anchor import Anchor, nearest
from gladius.checks import Array
from gladius.estimate import StateFunction
from gladius.transitions import Counts, Integers, index_rows

ROUNDING = 16 * np.finfo(float).eps  # 0.3 - 0.2 and 0.2 - 0.1 are one displacement
TIE = 1e-12  # log-likelihoods this close (relative) differ by the order of summation alone


@dataclass(frozen=True)
class Pooled:
    """One action's transition probabilities, pooled over states.

    Attributes:
        relative: whether `points` are displacements (else destinations).
        points: (m, d); none where the action was never seen to lead anywhere.
        probabilities: (m,) summing to the share of moves that do not end the path.
    """

    relative: bool
    points: Array
    probabilities: Array


@dataclass(frozen=True)
class TransitionProbabilities:
    """P-hat of R replications over one grid of states.

    Attributes:
        states: (S, d) grid.
        transition: (R, A, S, S) transition frequencies, borrowed rows where there are none.
        pooled: R lists of A pooled rows.
        present: (R, S) the states that a replication holds itself; by default all.
    """

    states: Array
    transition: Array
    pooled: tuple[tuple[Pooled, ...], ...]
    present: NDArray[np.bool_] | None = None

    def rows(self, replication: int, states: Array) -> Array:
        """(A, n, S) rows for any (n, d) states: observed ones where the state is on the grid."""
        every, (grid, asked) = index_rows([self.states, np.asarray(states, dtype=np.float64)])
        position = np.full(len(every), -1)
        position[grid] = np.arange(len(self.states))
        place = position[asked]
        known = place >= 0
        transition: Array = self.transition[replication][:, place]
        if not np.all(known):
            everything = np.ones(len(self.states), dtype=bool)
            own = everything if self.present is None else self.present[replication]
            for a, pooled in enumerate(self.pooled[replication]):
                transition[a, ~known] = _borrow(pooled, self.states, own, states[~known])
        return transition


def empirical_transition_probabilities(counts: Counts) -> TransitionProbabilities:
    """Transition frequencies n(s, a, s') / n(s, a), with borrowed rows where n(s, a) = 0.

    No row of a replication leads to a state that only other replications hold, so that each
    gets the numbers it would get alone. Where both kinds of pooled rows explain an action's moves
    equally well (all of them start in one state, say), the displacement is taken. An action
    never taken in a replication has rows of zeros there: nothing is known of it.
    """
    grid = counts.states
    taken = np.swapaxes(counts.visits, 1, 2)
    transition = counts.moves / np.where(taken > 0, taken, 1.0)[..., None]
    total = taken.sum(axis=2, keepdims=True)
    total = np.where(total > 0, total, 1.0)
    start, end = np.nonzero(counts.moves.any(axis=(0, 1)))
    shifts, shift_of = _displacements(grid, start, end)
    shift_share = _add_up(counts.moves[:, :, start, end], shift_of, len(shifts)) / total
    place_share = counts.moves.sum(axis=2) / total
    by_shift, by_place = (
        total[..., 0] * xlogy(p, p).sum(axis=2) for p in (shift_share, place_share)
    )
    relative = by_shift >= by_place - TIE * np.abs(by_place)

    def pool(r: int, a: int) -> Pooled:
        points, share = (shifts, shift_share) if relative[r, a] else (grid, place_share)
        kept = share[r, a] > 0
        return Pooled(bool(relative[r, a]), points[kept], share[r, a][kept])

    pooled = tuple(tuple(pool(r, a) for a in range(taken.shape[1])) for r in range(len(taken)))
    borrows = taken == 0
    for own in np.unique(counts.present, axis=0):  # replications that hold the same states
        group = np.all(counts.present == own, axis=1)
        needed = np.any((borrows & relative[..., None])[group], axis=(0, 1))
        target = _targets(grid, own, shifts, needed)
        for r, a in np.argwhere(borrows.any(axis=2) & group[:, None]):
            rows = borrows[r, a]
            if relative[r, a]:
                transition[r, a, rows] = _spread(shift_share[r, a], target[rows], len(grid))
            else:
                transition[r, a, rows] = place_share[r, a]
    return TransitionProbabilities(grid, transition, pooled, counts.present)


def _displacements(grid: Array, start: Integers, end: Integers) -> tuple[Array, Integers]:
    """Distinct displacements (D, d) of the moves start -> end, and which of them each move is."""
    if len(start) == 0:
        return grid[:0], start
    moved = grid[end] - grid[start]
    whole = grid == np.floor(grid)
    exact = whole[start] & whole[end]  # whole numbers are subtracted without rounding
    slack = ROUNDING * np.maximum(np.abs(grid[start]), np.abs(grid[end])) * ~exact
    for column, error in zip(moved.T, slack.T, strict=True):
        order = np.argsort(column)
        gap = np.diff(column[order])
        leads = np.append(True, gap > np.maximum(error[order][1:], error[order][:-1]))
        column[order] = column[order][leads][np.cumsum(leads) - 1]
    shifts, (shift_of,) = index_rows([moved])
    return shifts, shift_of


def _targets(
    grid: Array, own: NDArray[np.bool_], shifts: Array, needed: NDArray[np.bool_]
) -> Integers:
    """(S, D) the own state nearest to state + displacement; only for the needed states (S,)."""
    target = np.zeros((len(grid), len(shifts)), dtype=np.int64)
    points = grid[needed][:, None] + shifts[None]
    if points.size:
        found = nearest(grid[own], points.reshape(-1, grid.shape[1]))
        target[needed] = np.flatnonzero(own)[found].reshape(points.shape[:2])
    return target


def _add_up(weights: Array, places: Integers, size: int) -> Array:
    """(R, A, size) sums of weights (R, A, m) by their places (m,)."""
    flat = weights.reshape(weights.shape[0] * weights.shape[1], len(places))
    total = _spread(flat, np.broadcast_to(places, flat.shape), size)
    return total.reshape(*weights.shape[:2], size)


def _spread(weights: Array, places: Integers, size: int) -> Array:
    """(n, size) sums of weights (n, m), or of the same (m,) in each row, by their places (n, m)."""
    cell = np.arange(len(places))[:, None] * size + places
    every = np.broadcast_to(weights, places.shape).ravel()
    total = np.bincount(cell.ravel(), weights=every, minlength=len(places) * size)
    return total.astype(np.float64, copy=False).reshape(len(places), size)


def _borrow(pooled: Pooled, grid: Array, own: NDArray[np.bool_], states: Array) -> Array:
    """(n, S) pooled transition as rows over the grid; points off it go to the nearest own state."""
    base = states if pooled.relative else np.zeros_like(states)
    points = (base[:, None] + pooled.points[None]).reshape(-1, grid.shape[1])
    place = np.flatnonzero(own)[nearest(grid[own], points)].reshape(len(states), -1)
    return _spread(pooled.probabilities, place, len(grid))


@dataclass(frozen=True)
class Continuation:
    """(n, d) features -> (n, A) beta E[V(s') | s, a] under P-hat, V given on its grid."""

    p_hat: TransitionProbabilities
    replication: int
    v: Array
    discount: float

    def __call__(self, states: Array) -> Array:
        following: Array = self.p_hat.rows(self.replication, states) @ self.v
        return self.discount * following.T


@dataclass(frozen=True)
class Sum:
    """(n, d) features -> first(states) + sign * second(states)."""

    first: StateFunction
    second: StateFunction
    sign: float = 1.0

    def __call__(self, states: Array) -> Array:
        return self.first(states) + self.sign * self.second(states)


@dataclass(frozen=True)
class AnchoredQ:
    """Q of any state from log-odds against the anchor, whose Bellman equation gives the level."""

    advantage: StateFunction
    continuation: Continuation
    anchor: Anchor

    def __call__(self, states: Array) -> Array:
        level = self.anchor.values(states) + self.continuation(states)[:, self.anchor.action]
        return level[:, None] + self.advantage(states)


def from_choices(
    advantage: StateFunction,
    v: Array,
    p_hat: TransitionProbabilities,
    replication: int,
    anchor: Anchor,
    discount: float,
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) from log-odds and V: the anchor's Bellman equation gives the level.

    Args:
        advantage: maps (n, d) features to (n, A), Q(s, a) - Q(s, anchor); an object that can be
            pickled, as are all functions of an Estimate.
        v: (S,) V on the grid of p_hat.
        p_hat: transition probabilities.
        replication: which of its replications.
        anchor: the anchor action and reward.
        discount: beta.
    """
    continuation = Continuation(p_hat, replication, v, discount)
    q = AnchoredQ(advantage, continuation, anchor)
    return q, Sum(q, continuation, -1.0)


def from_reward(
    reward: StateFunction,
    v: Array,
    p_hat: TransitionProbabilities,
    replication: int,
    discount: float,
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) from a reward function of any state and V on the grid: Q = r + beta P-hat V."""
    return Sum(reward, Continuation(p_hat, replication, v, discount)), reward


def anchored_value(
    policy: Array, transition: Array, anchor_reward: Array, discount: float
) -> Array:
    """V on the grid from choice probabilities of the anchor alone (Lemma MagnacThesmar).

    V(s) = Q(s, a_s) - log pi(a_s | s) and Q(s, a_s) = r(s, a_s) + beta P_{a_s} V, so
    V = (I - beta P_{a_s})^-1 (r(., a_s) - log pi(a_s | .)).

    Args:
        policy: (..., S) probability of the anchor action.
        transition: (..., S, S) its transition rows.
        anchor_reward: (S,).
        discount: beta.
    """
    system = np.eye(transition.shape[-1]) - discount * transition
    v = np.linalg.solve(system, (anchor_reward - np.log(policy))[..., None])[..., 0]
    return v.astype(np.float64, copy=False)


def regular_solve(system: Array, right: Array) -> Array:
    """(R, M) solutions of (R, M, M) systems; least squares where rounding makes one singular."""
    try:
        solved = np.linalg.solve(system, right[..., None])
    except np.linalg.LinAlgError:
        solved = np.linalg.pinv(system, rcond=1e-14) @ right[..., None]
    return solved[..., 0].astype(np.float64)
