"""P-hat: the transition frequencies of grouped data, and Q, r and V by Bellman equations on it.

Where a pair (s, a) was never visited its row is borrowed from the other states, either as
probabilities of the displacement s' - s or of the destination s', whichever gives the observed
moves of that action the higher likelihood. The world's design is not known to it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import xlogy

from gladius.anchor import Anchor, nearest
from gladius.checks import Array, InputError, shaped
from gladius.estimate import StateFunction
from gladius.transitions import Counts, Integers, grid_positions, index_rows

ROUNDING = 16 * np.finfo(float).eps  # 0.3 - 0.2 and 0.2 - 0.1 are one displacement
NEAR_SUPPORT, LARGEST_SUPPORT = 2.0, 3.0  # visited pairs over the square root of the rows
FEW_ROWS = 100  # below which nothing is said of the support
TIE = 1e-12  # log-likelihoods this close (relative) differ by the order of summation alone


@dataclass(frozen=True)
class Pooled:
    """One action's transition probabilities in one replication, pooled over states."""

    relative: bool  # whether `points` are displacements (else destinations: the grid itself)
    points: Array  # (m, d)
    probabilities: Array  # (m,) summing to the share of moves that do not end the path
    present: NDArray[np.bool_]  # (S,) the states of the grid that the replication holds itself

    def rows(self, grid: Array, states: Array) -> Array:
        """(n, S) rows over the grid; points off it go to the nearest state that is present."""
        shape = (len(states), len(grid))
        if not self.relative:
            return np.broadcast_to(self.probabilities, shape)
        points = (states[:, None] + self.points).reshape(-1, grid.shape[1])
        place = np.flatnonzero(self.present)[nearest(grid[self.present], points)]
        cell = np.repeat(np.arange(len(states)), len(self.points)) * len(grid) + place
        weights = np.tile(self.probabilities, len(states))
        rows = np.bincount(cell, weights, minlength=len(states) * len(grid))
        return rows.reshape(shape).astype(np.float64, copy=False)


@dataclass(frozen=True)
class TransitionProbabilities:
    """P-hat of R replications over one grid of states."""

    states: Array  # (S, d) grid
    transition: Array  # (R, A, S, S) transition frequencies, borrowed rows where there are none
    # R lists of A pooled rows; none where P is given and no other state is asked for
    pooled: tuple[tuple[Pooled, ...], ...]

    @property
    def present(self) -> NDArray[np.bool_]:
        """(R, S) the states that each replication holds itself."""
        return np.stack([actions[0].present for actions in self.pooled])

    @shaped
    def rows(self, replication: int, states: Float[Array, "n d"]) -> Float[Array, "A n S"]:
        """Rows for any states: observed ones where the state is on the grid."""
        place = grid_positions(self.states, states)
        off = place < 0
        transition: Array = self.transition[replication][:, place]
        if np.any(off):
            for a, pooled in enumerate(self.pooled[replication]):
                transition[a, off] = pooled.rows(self.states, states[off])
        return transition


def check_support(counts: Counts) -> None:
    """Raise where frequencies would rest on pairs seen once or hardly more; warn where it is near.

    The shares of such pairs do not tell: frequencies are summed up, and 2 % of singletons can be
    too many or harmless. `Counts.support` does: 1.6 at most in data whose estimates are sound, 31
    in raw continuous mileage, where every row is a state of its own. Few rows are not judged.
    """
    support = np.where(counts.size < FEW_ROWS, 0.0, counts.support)
    worst = int(np.argmax(support))
    if support[worst] <= NEAR_SUPPORT:
        return
    pairs = np.count_nonzero(counts.visits[worst])
    value = f"{pairs} pairs (s, a) in {counts.size[worst]:.0f} rows"
    hint = (
        "the states hardly repeat, so that frequencies say little: coarsen the states, give "
        "transition=, with increments pooled over states for one, or use "
        "fit('gladius', function_class='sparse'), which works on rows"
    )
    if support[worst] > LARGEST_SUPPORT:
        raise InputError("states", value, hint)
    warnings.warn(f"states = {value}: {hint}", stacklevel=2)


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
    start, end = np.nonzero(counts.moves.any(axis=(0, 1)))
    shifts, shift_of = _displacements(grid, start, end)

    def pool(moves: Array, total: float, present: NDArray[np.bool_]) -> Pooled:
        by_shift = np.bincount(shift_of, moves[start, end], minlength=len(shifts)) / total
        by_place = moves.sum(axis=0) / total
        shift_fit, place_fit = (float(xlogy(p, p).sum()) for p in (by_shift, by_place))
        relative = shift_fit >= place_fit - TIE * abs(place_fit)
        if not relative:
            return Pooled(relative, grid, by_place, present)
        return Pooled(relative, shifts[by_shift > 0], by_shift[by_shift > 0], present)

    pooled = tuple(
        tuple(pool(moves, visits.sum() or 1.0, own) for moves, visits in zip(*one, strict=True))
        for *one, own in zip(counts.moves, taken, counts.present, strict=True)
    )
    for r, a in np.argwhere(np.any(taken == 0, axis=2)):
        borrows = taken[r, a] == 0
        transition[r, a, borrows] = pooled[r][a].rows(grid, grid[borrows])
    return TransitionProbabilities(grid, transition, pooled)


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


def anchored_q(
    advantage: StateFunction, continuation: Continuation, anchor: Anchor, states: Array
) -> Array:
    """Q of any state from log-odds against the anchor, whose Bellman equation gives the level."""
    level = anchor.values(states) + continuation(states)[:, anchor.action]
    return level[:, None] + advantage(states)


def from_choices(
    # maps (n, d) features to (n, A), Q(s, a) - Q(s, anchor); an object that can be pickled, as are
    # all functions of an Estimate
    advantage: StateFunction,
    v: Array,  # (S,) V on the grid of p_hat
    p_hat: TransitionProbabilities,
    replication: int,  # which of its replications
    anchor: Anchor,
    discount: float,  # beta
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) from log-odds and V: the anchor's Bellman equation gives the level."""
    continuation = Continuation(p_hat, replication, v, discount)
    q = partial(anchored_q, advantage, continuation, anchor)
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


@shaped
def anchored_value(
    policy: Float[Array, "*batch S"],  # probability of the anchor action
    transition: Float[Array, "*batch S S"],  # its transition rows
    anchor_reward: Float[Array, " S"],  # r(s, a_s)
    discount: float,  # beta
) -> Float[Array, "*batch S"]:
    """V on the grid from choice probabilities of the anchor alone (Lemma MagnacThesmar).

    V(s) = Q(s, a_s) - log pi(a_s | s) and Q(s, a_s) = r(s, a_s) + beta P_{a_s} V, so
    V = (I - beta P_{a_s})^-1 (r(., a_s) - log pi(a_s | .)).
    """
    system = np.eye(transition.shape[-1]) - discount * transition
    v = np.linalg.solve(system, (anchor_reward - np.log(policy))[..., None])[..., 0]
    return v.astype(np.float64, copy=False)


@shaped
def regular_solve(system: Float[Array, "R M M"], right: Float[Array, "R M"]) -> Float[Array, "R M"]:
    """Solutions of R systems; least squares where rounding makes one singular."""
    try:
        solved = np.linalg.solve(system, right[..., None])
    except np.linalg.LinAlgError:
        solved = np.linalg.pinv(system, rcond=1e-14) @ right[..., None]
    return solved[..., 0].astype(np.float64)
