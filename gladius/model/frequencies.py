"""P-hat: transition frequencies of grouped data, and Q, r and V by Bellman equations on it.

A pair (s, a) that was never visited borrows its transition probabilities from the other states.
They are pooled over these, either by the displacement s' - s or by the destination s', whichever
gives the observed transitions of that action the higher likelihood. The simulation design is not
used.
"""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import xlogy

from gladius.model.estimate import StateFunction
from gladius.model.resolvent import Resolvent
from gladius.panel.anchor import Anchor, nearest
from gladius.panel.moves import (
    Moves,
    Table,
    departures,
    entries,
    replaced,
    tabulated,
)
from gladius.panel.record import Counts, Integers, grid_positions, index_rows
from gladius.validate import Array, InputError, shaped

SAME_DISPLACEMENT = 16 * np.finfo(float).eps  # 0.3 - 0.2 and 0.2 - 0.1 are one displacement
FEW_ROWS_A_PAIR, LEAST_ROWS_A_PAIR = 5.0, 3.0  # warn, raise
LEAST_ROWS_A_MOVE = 1.5  # where tables are of moves
FEW_ROWS = 100  # observations below which the support is not tested
INSTEAD = "coarsen the states, give transition=, with increments pooled over states for one, or use"
INSTEAD += " fit(..., function_class='sparse'), which works on rows"
TIE = 1e-12  # log-likelihoods this close (relative) differ by the order of summation alone


@dataclass(frozen=True)
class Pooled:
    """Transition probabilities of one action in one replication, pooled over states."""

    # whether `points` are displacements; else they are destinations, the grid itself
    relative: bool
    points: Array  # (m, d)
    probabilities: Array  # (m,); they sum to the share of transitions that do not end the path
    present: NDArray[np.bool_]  # (S,) the states of the grid that the replication has itself

    def rows(self, grid: Array, states: Array) -> Table:
        """(n, S) probabilities over the grid; points off it go to the nearest state present."""
        number = len(states)
        if not self.relative:
            one = np.zeros(len(grid), dtype=np.int64)
            row = tabulated(one, np.arange(len(grid)), self.probabilities, (1, len(grid)))
            if isinstance(row, Moves):
                return row[np.zeros(number, dtype=np.int64)]
            return np.broadcast_to(row, (number, len(grid)))
        start = np.repeat(np.arange(number), len(self.points))
        weights = np.tile(self.probabilities, number)
        return tabulated(start, self.targets(grid, states).ravel(), weights, (number, len(grid)))

    def targets(self, grid: Array, states: Array) -> Integers:
        """(n, m) positions on the grid to which each point leads."""
        if not self.relative:
            return np.broadcast_to(np.arange(len(grid)), (len(states), len(grid)))
        points = (states[:, None] + self.points).reshape(-1, grid.shape[1])
        destination = np.flatnonzero(self.present)[nearest(grid[self.present], points)]
        return destination.reshape(len(states), len(self.points))


class ActionRows(Protocol):
    """Transition probabilities of one action in one replication, for any state."""

    @property
    def present(self) -> NDArray[np.bool_]:
        """(S,) the states of the grid that the replication has itself."""

    def rows(self, grid: Array, states: Array) -> Table:
        """(n, S) probabilities over the grid."""


@dataclass(frozen=True)
class TransitionProbabilities:
    """P-hat of R replications over one grid of states."""

    states: Array  # (S, d), the grid
    # (R, A, S, S) transition frequencies, borrowed where a pair was never visited
    transition: Any  # a `Table`, which whoever knows S to be small may read as an array
    # for each replication the `ActionRows` of each action; empty where P is given
    pooled: tuple[tuple[ActionRows, ...], ...]

    def of(self, replication: int) -> "TransitionProbabilities":
        """Those of one replication; the same for all where P is given."""
        row = replication if self.pooled else 0
        one = slice(row, row + 1)
        return TransitionProbabilities(self.states, self.transition[one], self.pooled[one])

    @property
    def present(self) -> NDArray[np.bool_]:
        """(R, S) the states that each replication has itself."""
        return np.stack([actions[0].present for actions in self.pooled])

    @shaped
    def rows(self, replication: int, states: Float[Array, "n d"]) -> Float[Array, "A n S"] | Moves:
        """(A, n, S) transition probabilities of states; frequencies where one is on the grid."""
        is_grid = states is self.states
        position = np.arange(len(states)) if is_grid else grid_positions(self.states, states)
        is_off = position < 0
        transition: Array | Moves = self.transition[replication][:, position]
        if np.any(is_off):
            for a, pooled in enumerate(self.pooled[replication]):
                rows = pooled.rows(self.states, states[is_off])
                transition = replaced(transition, (a, is_off), rows)
        return transition


def check_support(counts: Counts) -> None:
    """Raise where pairs (s, a) or, with many states, moves (s, a, s') hardly repeat."""
    check_pairs(counts)
    if isinstance(counts.moves, Moves):
        check_moves(counts.size, counts.moves)


def check_pairs(counts: Counts) -> None:
    """Raise where there are few rows a visited pair (s, a); warn where there are nearly so few.

    Raw continuous mileage, every row of which is a state, has one. How far the noise of frequencies
    moves a parameter grows with the pairs too; `Results.shift_by_frequencies` measures it.
    """
    pairs = np.count_nonzero(counts.visits, axis=(1, 2))
    worst, rows = _fewest(counts.size, pairs)
    value = f"{pairs[worst]} pairs (s, a) in {counts.size[worst]:.0f} rows"
    hint = f"the states hardly repeat, with {rows:.1f} rows a pair, so that frequencies say little"
    if rows < LEAST_ROWS_A_PAIR:
        raise InputError("states", value, f"{hint}: {INSTEAD}")
    if rows < FEW_ROWS_A_PAIR:
        warnings.warn(f"states = {value}: {hint}: {INSTEAD}", stacklevel=3)


def check_moves(size: Array, moves: Moves) -> None:
    """Raise where moves (s, a, s') are seen hardly more than once, though the pairs may repeat.

    Then states lead almost anywhere: frequencies say little, and a solution in them fills memory.
    """
    number = departures(replace(moves, values=np.sign(moves.values))).sum(axis=(1, 2))
    least, rows = _fewest(size, number)
    if rows < LEAST_ROWS_A_MOVE:
        value = f"{number[least]:.0f} moves (s, a, s') in {size[least]:.0f} rows"
        hint = f"the moves hardly repeat, with {rows:.1f} rows each: {INSTEAD}"
        raise InputError("states", value, hint)


def _fewest(size: Array, number: Array | Integers) -> tuple[int, float]:
    """The data set with the fewest rows for each of so many, and these; inf where it has few."""
    rows = np.where(size < FEW_ROWS, np.inf, size / np.maximum(number, 1))
    return int(np.argmin(rows)), float(np.min(rows))


def empirical_transition_probabilities(counts: Counts) -> TransitionProbabilities:
    """Transition frequencies n(s, a, s') / n(s, a), borrowed where n(s, a) = 0.

    Only observations whose next state or end was observed count in n.

    No transition of a replication leads to a state that only other replications have, so that
    each gets the numbers it would get alone. The displacement is preferred in a tie, for example
    where all transitions of an action start in one state. An action never taken in a replication
    has probabilities of zero there.

    Raises:
        InputError: an action was taken, and no next state of it observed.
    """
    counts.check_followed()
    grid = counts.states
    taken = np.swapaxes(counts.followed, 1, 2)
    (r, a, s, t), number = entries(counts.moves)
    probabilities = number / taken[r, a, s]
    row = np.ravel_multi_index((r, a, s), taken.shape)
    transition = tabulated(row, t, probabilities, (*taken.shape, len(grid)))
    start, end, pair = _pairs(s, t, len(grid))
    shifts, shift_of = _displacements(grid, start, end)

    def pool(own: NDArray[np.bool_], total: float, present: NDArray[np.bool_]) -> Pooled:
        own_shift = shift_of[pair[own]]
        by_shift = np.bincount(own_shift, number[own], minlength=len(shifts)) / total
        by_destination = np.bincount(t[own], number[own], minlength=len(grid)) / total
        shift_fit, fit = (float(xlogy(p, p).sum()) for p in (by_shift, by_destination))
        if shift_fit >= fit - TIE * abs(fit):
            return Pooled(True, shifts[by_shift > 0], by_shift[by_shift > 0], present)
        return Pooled(False, grid, by_destination, present)

    pooled = tuple(
        tuple(
            pool((r == replication) & (a == action), visits.sum() or 1.0, own)
            for action, visits in enumerate(taken[replication])
        )
        for replication, own in enumerate(counts.present)
    )
    for replication, action in np.argwhere(np.any(taken == 0, axis=2)):
        borrows = taken[replication, action] == 0
        rows = pooled[replication][action].rows(grid, grid[borrows])
        transition = replaced(transition, (replication, action, borrows), rows)
    return TransitionProbabilities(grid, transition, pooled)


def _pairs(s: Integers, t: Integers, states: int) -> tuple[Integers, Integers, Integers]:
    """Distinct (s, t), in order, and which of them each of those given is."""
    distinct, pair = np.unique(s * states + t, return_inverse=True)
    return distinct // states, distinct % states, pair


def _displacements(grid: Array, start: Integers, end: Integers) -> tuple[Array, Integers]:
    """Distinct displacements (D, d) of the transitions start -> end, and the index of each."""
    if len(start) == 0:
        return grid[:0], start
    displacement = grid[end] - grid[start]
    is_whole = grid == np.floor(grid)
    is_exact = is_whole[start] & is_whole[end]  # whole numbers are subtracted without rounding
    error = SAME_DISPLACEMENT * np.maximum(np.abs(grid[start]), np.abs(grid[end])) * ~is_exact
    for column, slack in zip(displacement.T, error.T, strict=True):
        order = np.argsort(column)
        gap = np.diff(column[order])
        is_first = np.append(True, gap > np.maximum(slack[order][1:], slack[order][:-1]))
        column[order] = column[order][is_first][np.cumsum(is_first) - 1]
    shifts, (shift_of,) = index_rows([displacement])
    return shifts, shift_of


def continuation(
    p_hat: TransitionProbabilities, replication: int, v: Array, discount: float, states: Array
) -> Array:
    """beta E[V(s') | s, a] under P-hat, (n, A), at (n, d) features; V is given on the grid."""
    expected = np.asarray(p_hat.rows(replication, states) @ v)
    return discount * expected.T


def weighted_sum(
    first: StateFunction, second: StateFunction, weight: float, states: Array
) -> Array:
    """first(states) + weight second(states)."""
    return first(states) + weight * second(states)


def anchored_q(
    log_odds: StateFunction, expected_value: StateFunction, anchor: Anchor, states: Array
) -> Array:
    """Q, (n, A), from log-odds against the anchor and the anchor's Bellman equation."""
    level = anchor.values(states) + expected_value(states)[:, anchor.action]
    return level[:, None] + log_odds(states)


def from_choices(
    log_odds: StateFunction,
    v: Array,
    p_hat: TransitionProbabilities,
    replication: int,
    anchor: Anchor,
    discount: float,
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) as functions of any state, from V (S,) and the log-odds Q(s, a) - Q(s, a_s).

    They can be pickled if `log_odds`, (n, d) features -> (n, A), can.
    """
    expected_value = partial(continuation, p_hat, replication, v, discount)
    q = partial(anchored_q, log_odds, expected_value, anchor)
    return q, partial(weighted_sum, q, expected_value, -1.0)


def bellman_q(
    reward: StateFunction,
    v: Array,
    p_hat: TransitionProbabilities,
    replication: int,
    discount: float,
) -> StateFunction:
    """Q = r + beta P-hat V as a function of any state, from r and V on the grid."""
    expected_value = partial(continuation, p_hat, replication, v, discount)
    return partial(weighted_sum, reward, expected_value, 1.0)


@shaped
def anchored_value(
    log_policy: Float[Array, "*batch S"],
    transition: Float[Array, "*batch S S"] | Moves,
    anchor_reward: Float[Array, " S"],
    discount: float,
) -> Float[Array, "*batch S"]:
    """V on the grid from the choice probabilities of the anchor (Lemma MagnacThesmar).

    V(s) = Q(s, a_s) - log pi(a_s | s) and Q(s, a_s) = r(s, a_s) + beta P_{a_s} V, so
    V = (I - beta P_{a_s})^-1 (r(., a_s) - log pi(a_s | .)).
    """
    if isinstance(transition, Moves):
        certain = np.ones((*log_policy.shape, 1))
        of_anchor = Resolvent.of(certain, transition[..., None, :], discount)
        return of_anchor.solve((anchor_reward - log_policy)[..., None])[..., 0]
    system = np.eye(transition.shape[-1]) - discount * transition
    return regular_solve(system, anchor_reward - log_policy)


@shaped
def regular_solve(
    system: Float[Array, "*batch M M"], right: Float[Array, "*batch M"]
) -> Float[Array, "*batch M"]:
    """Solutions of linear systems; least squares where rounding makes one singular."""
    try:
        solution = np.linalg.solve(system, right[..., None])
    except np.linalg.LinAlgError:
        solution = np.linalg.pinv(system, rcond=1e-14) @ right[..., None]
    return np.asarray(solution[..., 0], dtype=np.float64)
