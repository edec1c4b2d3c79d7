"""Recursive partitioning of a high-dimensional part of the state (the first half of RP).

The state is (x, q): x is kept as it is, q is replaced by the cell p of a partition that a tree of
splits q_j <= threshold makes. With N(.) counts of the observed moves (x, p, a) -> (x', p'), a
partition is judged by

    decision    = sum N(a,x,p) ln N(a,x,p) - sum N(x,p) ln N(x,p)
    transition  = sum N(x',p',a,x,p) ln N(.) - sum N(a,x,p) ln N(a,x,p) - sum N(x',p') ln N(x',p')
    score       = decision + lambda c transition,    c = decision / transition before any split.

The first is the likelihood of the choices at cell frequencies. The second is that of the next
states where a move into (x', p') is equally likely to end at each observation there: without its
last sum more cells would look worse merely because there are more places to go. Both rise with
every split, so growth stops where the best gain is at most `delta` of |score|.

A row is touched by the split of a cell through its own cell, its next cell or both. Per feature
three histograms over thresholds (of q_j, of q_j', of the larger of the two) give all counts of
all splits of all cells, for #(q_j <= t and q_j' <= t) = #(max(q_j, q_j') <= t).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import xlogy

from gladius.checks import Array, InputError, check_whole
from gladius.transitions import Integers, Transitions, index_rows

ROUNDING = 1e-12  # nats per observation; a smaller gain is none


@dataclass(frozen=True)
class Split:
    """States of `cell` with feature > threshold become a new cell, numbered next.

    Attributes:
        cell: which cell is divided.
        feature: column of the full state.
        threshold: a value of the data; states at it stay in `cell`.
    """

    cell: int
    feature: int
    threshold: float


@dataclass(frozen=True)
class Partition:
    """Cells 0, 1, ... of the state space, made by splits in turn."""

    splits: tuple[Split, ...] = ()

    def __len__(self) -> int:
        return 1 + len(self.splits)

    def cells(self, states: Array) -> Integers:
        """(n,) cell of each of (n, d) states."""
        cell = np.zeros(len(states), dtype=np.int64)
        for number, split in enumerate(self.splits, start=1):
            cell[(cell == split.cell) & (states[:, split.feature] > split.threshold)] = number
        return cell


@dataclass(frozen=True)
class Criterion:
    """What a partition is judged by.

    Attributes:
        transition_weight: lambda.
        delta: least gain of a split, relative to |score|.
        min_size: least number of observations in a cell, as current states.
        smoothing: added to each count N(x',p',a,x,p) inside the logarithm; the sums over it carry
            as many times that as they have terms.
        max_cells: stop at so many cells.
        max_thresholds: at most so many candidate thresholds a feature, quantiles if there are more.
    """

    transition_weight: float = 1.0
    delta: float = 0.01
    min_size: int = 0
    smoothing: float = 1e-5
    max_cells: int | None = None
    max_thresholds: int = 100

    def __post_init__(self) -> None:
        for name in ("transition_weight", "delta", "smoothing"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InputError(name, getattr(self, name), "give a number of at least 0")
        check_whole("min_size", self.min_size, 0)
        check_whole("max_thresholds", self.max_thresholds, 1)
        if self.max_cells is not None:
            check_whole("max_cells", self.max_cells, 1)


@dataclass(frozen=True)
class Growth:
    """A partition and how it grew.

    Attributes:
        partition: the cells.
        scores: score before each split and at the end, one for each number of cells.
        gains: best gain / |score| at each number of cells; the last one was not taken.
        scale: c.
        stopped: "delta", "max_cells" or "nothing to split".
    """

    partition: Partition
    scores: tuple[float, ...]
    gains: tuple[float, ...]
    scale: float
    stopped: str

    def at(self, cells: int) -> Partition:
        """The partition when it had so many cells."""
        return Partition(self.partition.splits[: cells - 1])


@dataclass(frozen=True)
class Moves:
    """Observed moves with x as a code.

    Attributes:
        data: the moves.
        x, x_next: (n,) codes from 0 to values - 1.
        values: number of distinct x; ended paths lead to one more, which belongs to no cell.
    """

    data: Transitions
    x: Integers
    x_next: Integers
    values: int

    @classmethod
    def of(cls, data: Transitions, low: Sequence[int]) -> Moves:
        """With x the features `low`."""
        columns = list(low)
        blocks = [data.states[:, columns], data.next_states[:, columns]]
        known, (x, x_next) = index_rows(blocks)
        return cls(data, x, np.where(data.done, len(known), x_next), len(known))

    def take(self, rows: NDArray[np.bool_]) -> Moves:
        """The moves of a mask, x coded as before."""
        return Moves(self.data.take(rows), self.x[rows], self.x_next[rows], self.values)

    def codes(self, partition: Partition) -> tuple[Integers, ...]:
        """(x, p), (a, x, p), (x', p') and all of it as whole numbers, p leading each half."""
        now, after = (partition.cells(s) for s in (self.data.states, self.data.next_states))
        after[self.data.done] = len(partition)
        state = now * self.values + self.x
        choice = state * self.data.number_of_actions + self.data.actions
        following = after * (self.values + 1) + self.x_next
        return state, choice, following, choice * _places(self, partition) + following


def _places(moves: Moves, partition: Partition) -> int:
    return (len(partition) + 1) * (moves.values + 1)


def _smoothing(moves: Moves, cells: int, s: float) -> tuple[float, float, float, float]:
    """What is added to N(x,p), N(a,x,p), N(x',p') and N(x',p',a,x,p): s times the terms of each."""
    choices, states = moves.data.number_of_actions, moves.values * cells
    return s * choices * states, s * states, s * choices * states, s


def parts(
    moves: Moves, partition: Partition, smoothing: float, cells: int | None = None
) -> tuple[float, float]:
    """(decision, transition) of a partition, smoothed as if it had `cells` cells."""
    added = _smoothing(moves, len(partition) if cells is None else cells, smoothing)
    sums = []
    for code, s in zip(moves.codes(partition), added, strict=True):
        count = np.unique(code, return_counts=True)[1].astype(float)
        sums.append(float(np.sum(xlogy(count, count + s))))
    state, choice, following, move = sums
    return choice - state, move - choice - following


class Tables:
    """The counts of a partition, and the gain of every split of one feature at a time."""

    def __init__(self, moves: Moves, partition: Partition, rule: Criterion, scale: float) -> None:
        codes, self.move = np.unique(moves.codes(partition)[3], return_inverse=True)
        cells = len(partition)
        self.total = np.bincount(self.move)[:, None]
        self.weight, self.least = rule.transition_weight * scale, max(1, rule.min_size)
        n = np.arange(len(moves.x) + 1)  # looking n ln n up is several times faster than a log
        self.terms = [xlogy(n, n + s) for s in _smoothing(moves, cells + 1, rule.smoothing)]
        now, more = (
            parts(moves, partition, rule.smoothing, number) for number in (cells, cells + 1)
        )  # one cell more smooths every count a little more
        self.drift = more[0] - now[0] + self.weight * (more[1] - now[1])
        choice, following = np.divmod(codes, _places(moves, partition))
        state = choice // moves.data.number_of_actions
        home, to = state // moves.values, following // (moves.values + 1)
        self.stays = (home == to)[:, None]
        self.from_cell, self.to_cell = _adder(home, cells), _adder(to, cells + 1)
        # from moves to (x,p), (a,x,p) and (x',p'), and from there to cells
        self.by_state, self.state_cell = _adders(state, home, cells)
        self.by_choice, self.choice_cell = _adders(choice, home, cells)
        self.by_following, self.following_cell = _adders(following, to, cells + 1)

    def gains(self, lower: Integers, upper: Integers, size: int) -> Array:
        """(cells, size) gain in score of a split at each threshold; -inf where a side is empty.

        Args:
            lower: (n,) how many thresholds lie below q_j, so that q_j <= t_k where lower <= k.
            upper: the same of q_j'.
            size: number of thresholds.
        """
        left, left_next, both = (
            self._below(code, size) for code in (lower, upper, np.maximum(lower, upper))
        )
        n, (f_state, f_choice, f_following, f_move) = self.total, self.terms
        state, every = self.by_state @ left, self.by_state @ n
        occupancy = self.state_cell @ _division(state, every, f_state)
        choice = _division(self.by_choice @ left, self.by_choice @ n, f_choice)
        decision = self.choice_cell @ choice - occupancy
        arrival = _division(self.by_following @ left_next, self.by_following @ n, f_following)
        four = (both, left - both, left_next - both, n - left - left_next + both)
        quarters = sum(f_move[part] for part in four) - f_move[n]
        out = self.from_cell @ np.where(self.stays, quarters, _division(left, n, f_move))
        into = self.to_cell @ np.where(self.stays, 0.0, _division(left_next, n, f_move))
        ends = (into - self.following_cell @ arrival)[:-1]  # without the paths that ended
        transition = out + ends - self.choice_cell @ choice
        here = self.state_cell @ state
        allowed = np.minimum(here, self.state_cell @ every - here) >= self.least
        return np.where(allowed, decision + self.weight * transition + self.drift, -np.inf)

    def _below(self, code: Integers, size: int) -> Integers:
        """(moves, size) how many rows of each move have code <= k."""
        width = size + 1
        place = self.move * width + code
        table = np.bincount(place, minlength=len(self.total) * width).reshape(-1, width)
        return np.cumsum(table, axis=1)[:, :-1]


def _division(left: Integers, total: Integers, terms: Array) -> Array:
    """Change of sum n ln(n + s) where counts are divided into two."""
    change: Array = terms[left] + terms[total - left] - terms[total]
    return change


def _adder(to: Integers, size: int | None = None) -> csr_array:
    """The matrix that sums rows by their place `to`."""
    height = int(to.max()) + 1 if size is None else size
    return csr_array(
        (np.ones(len(to), dtype=np.int64), (to, np.arange(len(to)))), shape=(height, len(to))
    )


def _adders(code: Integers, cell: Integers, cells: int) -> tuple[csr_array, csr_array]:
    """From moves to the distinct values of a code, and from these to the cell of each."""
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    return _adder(place), _adder(cell[first], cells)


def grow(moves: Moves, features: Sequence[int], rule: Criterion) -> Growth:
    """Split greedily, the best of all cells, features and thresholds at a time (ties: the first).

    Args:
        moves: of one data set.
        features: columns that may be split (q).
        rule: what a split must gain.
    """
    candidates = [(j, *_candidates(moves.data, j, rule.max_thresholds)) for j in features]
    partition, gains = Partition(), []
    decision, transition = parts(moves, partition, rule.smoothing)
    scale = decision / transition if transition != 0 else 0.0
    scores = [decision + rule.transition_weight * scale * transition]
    while True:
        best, found = 0.0, None
        tables = Tables(moves, partition, rule, scale)
        for j, thresholds, lower, upper in candidates:
            if len(thresholds) == 0:
                continue
            gain = tables.gains(lower, upper, len(thresholds))
            cell, k = np.unravel_index(int(np.argmax(gain)), gain.shape)
            if gain[cell, k] > max(best, ROUNDING * len(moves.x)):
                best, found = float(gain[cell, k]), Split(int(cell), j, float(thresholds[k]))
        gains.append(best / abs(scores[-1]) if found else 0.0)
        if found is None:
            stopped = "nothing to split"
        elif gains[-1] <= rule.delta:
            stopped = "delta"
        elif rule.max_cells is not None and len(partition) >= rule.max_cells:
            stopped = "max_cells"
        else:
            partition = Partition((*partition.splits, found))
            decision, transition = parts(moves, partition, rule.smoothing)
            scores.append(decision + rule.transition_weight * scale * transition)
            continue
        return Growth(partition, tuple(scores), tuple(gains), scale, stopped)


def _candidates(data: Transitions, j: int, most: int) -> tuple[Array, Integers, Integers]:
    """Thresholds of a feature, and how many of them lie below its value at s and at s'."""
    values = np.unique(data.states[:, j])[:-1]  # nothing lies above the largest
    if len(values) > most:
        values = np.unique(np.quantile(values, np.linspace(0, 1, most), method="lower"))
    lower, upper = (np.searchsorted(values, s[:, j]) for s in (data.states, data.next_states))
    return values, lower, upper


def held_out_score(
    train: Moves, test: Moves, partition: Partition, rule: Criterion, scale: float
) -> float:
    """Score of other moves at the smoothed frequencies of the training moves.

    `test` must code x as `train` does (take both from one Moves).
    """
    logs = []
    added = _smoothing(train, len(partition), rule.smoothing)
    for known, asked, s in zip(train.codes(partition), test.codes(partition), added, strict=True):
        every, at = np.unique(np.concatenate([known, asked]), return_inverse=True)
        count = np.bincount(at[: len(known)], minlength=len(every))
        logs.append(np.sum(np.log(count[at[len(known) :]] + s)))
    state, choice, following, move = logs
    decision, transition = choice - state, move - choice - following
    return float(decision + rule.transition_weight * scale * transition)
