"""RP, recursive partitioning (Barzegary and Yoganarasimhan 2022), then NFXP on the cells.

The state is (x, q). x is low-dimensional and enters the reward in a form that the user gives; q is
high-dimensional and enters through the cell of a partition Pi that the data choose:

    r(s, a) = alpha_a(x) + f_a(Pi(q)),    of the bus  r(s, 0) = -theta_0 x, r(s, 1) = -cost(Pi(q)).

First stage: a tree of splits q_j <= threshold, each of which raises the score of the partition.
With N(.) counts of the observed moves (x, p, a) -> (x', p'), p the cell of q,

    decision    = sum N(a,x,p) ln N(a,x,p) - sum N(x,p) ln N(x,p)
    transition  = sum N(x',p',a,x,p) ln N(.) - sum N(a,x,p) ln N(a,x,p) - sum N(x',p') ln N(x',p')
    score       = decision + lambda c transition,    c = decision / transition before any split.

The first is the likelihood of the choices at cell frequencies, the second that of the next states
where a move into (x', p') is equally likely to end at each observation there. Both rise with every
split, so growth stops where the best gain is at most `delta` of |score|.

Second stage: NFXP (Rust 1987) on the states (x, cell) with the transition probabilities at the
frequencies of these states. The reward is read off theta and the cell of the state. x, and the
product of its values with the cells, must be few.

What had to be decided:
- x is the first feature by default, as on the bus engine; without other features, or where no split
  is worth taking, the method is NFXP with frequencies of x.
- The cells enter the reward through the constants of the form: a parameter whose regressor does not
  depend on x (theta_1 of the bus) has a value in each cell. A form without constants has no f, and
  the cells then matter for the transitions alone.
- f is not identified where each action has a constant and no action moves the next cell (shaping).
- The criterion is that of the first author's public code (the text was not available to us), with
  its defaults: lambda = 1, delta = .01, smoothing 1e-5, no least size, no limit to the cells. c is
  fixed at its value without splits. A candidate threshold is any value of q in the data, or one of
  MAX_THRESHOLDS quantiles.
- A move that ends the path leads to one further state, in no cell. Both sides of a split keep an
  observation.
- Where the row of a pair (x, cell, a) never visited is borrowed (transition_probabilities.py),
  nearness of two cells means nearness of their numbers.
- An anchor reward that varies within a state (x, cell) is replaced by its mean over the data.

A feature that predicts itself raises the transition part, so persistent dummies are split though
they matter for nothing (`transition_weight=0` judges by choices alone), and in small samples the
gains of chance exceed delta (`max_cells` stops that). Standard errors are those of NFXP,
conditional on the partition and the transition probabilities.

Per feature three histograms over thresholds (of q_j, of q_j', of the larger of the two) give the
counts of all splits of all cells, for #(q_j <= t and q_j' <= t) = #(max(q_j, q_j') <= t).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import xlogy

from gladius.anchor import Anchor, NearestState
from gladius.baselines import nfxp
from gladius.checks import Array, InputError, check_discount, check_whole
from gladius.estimate import Estimate, StateFunction
from gladius.linear_reward import LinearReward, TableFunction
from gladius.parametric import check_form, check_level
from gladius.transitions import LARGEST_TABLE, Integers, Transitions, index_rows

TITLE, NEEDS = "RP", ("next", "transitions", "form")
SMOOTHING = 1e-5  # of each count N(x',p',a,x,p) inside the logarithm; sums of it carry it for each
MAX_THRESHOLDS = 100  # candidates of a feature, quantiles if it has more values
ROUNDING = 1e-12  # nats per observation; a smaller gain is none


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    low: Sequence[int] = (0,),
    transition_weight: float = 1.0,
    delta: float = 0.01,
    max_cells: int | None = None,
) -> list[Estimate]:
    """Partition q for each data set, then NFXP on (x, cell).

    Args:
        data: replications.
        anchor: the form identifies theta; the anchor's reward must not contradict it.
        discount: beta.
        reward: the form of r in the features x (n, len(low)), required; see above for its
            constants.
        low: columns that are x; the others are q.
        transition_weight: lambda.
        delta: least gain of a split, relative to |score|.
        max_cells: at most so many cells; None: no limit.

    Returns:
        One Estimate for each data set, defined at any features. `diagnostics.extra` holds what
        NFXP has there, theta being the parameters that depend on x, then each constant in each
        cell; `partition`, `cells` (their number), `gains` (best gain / |score| at each number of
        cells), `score` and `stopped` of the growth; and `objective`, minus the log-likelihood per
        observation.

    Raises:
        InputError: for options that do not fit together or the data.
    """
    check_discount(discount)
    form = check_form(reward)
    columns = _columns(low, data[0].states.shape[1])
    for name, value in [("transition_weight", transition_weight), ("delta", delta)]:
        if not 0 <= value < np.inf:
            raise InputError(name, value, "give a number of at least 0")
    if max_cells is not None:
        check_whole("max_cells", max_cells, 1)
    actions = data[0].number_of_actions
    for replication in data:
        table = form.tables(replication.states[:, columns], actions)
        check_level(anchor, replication.states, *table)
    every_x, _ = index_rows([replication.states[:, columns] for replication in data])
    is_constant = np.all(np.ptp(form.tables(every_x, actions)[0], axis=0) == 0, axis=0)
    others = [j for j in range(data[0].states.shape[1]) if j not in columns]
    result = []
    for replication in data:
        started = time.process_time()
        growth = grow(Moves.of(replication, columns), others, transition_weight, delta, max_cells)
        space = Space(tuple(columns), growth.partition)
        estimate = _fit_alone(replication, space, anchor, discount, form, is_constant)
        extra = {
            **estimate.diagnostics.extra,
            "objective": estimate.diagnostics.nll,
            "partition": growth.partition,
            "cells": len(growth.partition),
            "gains": np.array(growth.gains),
            "score": growth.scores[-1],
            "stopped": growth.stopped,
        }
        seconds = time.process_time() - started
        diagnostics = replace(estimate.diagnostics, cpu_seconds=seconds, extra=extra)
        q, r = (
            partial(on_space, f, space) for f in (estimate.q_function, estimate.reward_function)
        )
        result.append(Estimate("rp", q, r, replication.states.shape[1], diagnostics))
    return result


def _fit_alone(
    data: Transitions,
    space: Space,
    anchor: Anchor,
    discount: float,
    form: LinearReward,
    is_constant: NDArray[np.bool_],
) -> Estimate:
    """NFXP of one data set on (x, cell)."""
    cells, width = len(space.partition), len(space.columns)
    now, after = space(data.states), space(data.next_states)
    states, places = index_rows([now, after])
    entries = data.number_of_actions * len(states) ** 2
    if cells > 1 and entries > LARGEST_TABLE:
        raise InputError("max_cells", cells, f"cells make a table of {entries} counts: allow fewer")
    if callable(anchor.reward):
        values = np.concatenate([anchor.values(s) for s in (data.states, data.next_states)])
        position = np.concatenate(places)
        means = np.bincount(position, weights=values) / np.bincount(position)
        anchor = Anchor(anchor.action, NearestState(states, means))
    offset = None if form.offset is None else partial(of_x, form.offset, width)
    on_cells = LinearReward(partial(cell_design, form.design, width, is_constant, cells), offset)
    projected = replace(data, states=now, next_states=after, feature_names=())
    return nfxp.fit([projected], anchor, discount, reward=on_cells)[0]


# The states (x, cell).


@dataclass(frozen=True)
class Space:
    """(n, d) features -> (n, len(columns) + 1) x and the cell."""

    columns: tuple[int, ...]
    partition: Partition

    def __call__(self, states: Array) -> Array:
        return np.column_stack([states[:, self.columns], self.partition.cells(states)])


def on_space(function: StateFunction, space: Space, states: Array) -> Array:
    """A function of (x, cell) at all features."""
    return function(space(states))


def of_x(function: TableFunction, width: int, states: Array) -> Array:
    """A function of x (n, width) at (x, cell)."""
    return function(states[:, :width])


def cell_design(
    design: TableFunction, width: int, is_constant: NDArray[np.bool_], cells: int, states: Array
) -> Array:
    """(n, A, K) at (n, width + 1) of (x, cell): each constant of the form once for each cell.

    `design` is the form's, in x; `is_constant` says which of its parameters are constants.
    """
    table = design(states[:, :width])
    inside = np.eye(cells)[states[:, width].astype(np.int64)]
    constants = table[..., is_constant, None] * inside[:, None, None]
    return np.concatenate(
        [table[..., ~is_constant], constants.reshape(*table.shape[:2], -1)], axis=2
    )


def _columns(low: Sequence[int], width: int) -> list[int]:
    """`low` as a list of distinct columns, or an error."""
    if np.ndim(low) != 1 or not 0 < len(set(low)) == len(low):
        raise InputError("low", low, "give distinct columns, at least one")
    columns = [check_whole("low", j, 0) for j in low]
    if max(columns) >= width:
        raise InputError("low", low, f"give columns from 0 to {width - 1}")
    return columns


# The partition.


@dataclass(frozen=True)
class Split:
    """States of `cell` with feature > threshold become a new cell, numbered next."""

    cell: int  # which cell is divided
    feature: int  # column of the full state
    threshold: float  # a value of the data; states at it stay in `cell`


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
class Growth:
    """A partition and how it grew."""

    partition: Partition  # the cells
    # score before each split and at the end, one for each number of cells
    scores: tuple[float, ...]
    # best gain / |score| at each number of cells; the last one was not taken
    gains: tuple[float, ...]
    stopped: str  # "delta", "max_cells" or "nothing to split"


@dataclass(frozen=True)
class Moves:
    """Observed moves with x as a code."""

    data: Transitions  # the moves
    x: Integers  # (n,) codes, positions in `x_values`
    x_next: Integers  # (n,) the same; ended paths lead to one more, which belongs to no cell
    x_values: Array  # (m, len(low)) distinct x

    @classmethod
    def of(cls, data: Transitions, low: Sequence[int]) -> Moves:
        """With x the features `low`."""
        columns = list(low)
        known, (x, x_next) = index_rows([data.states[:, columns], data.next_states[:, columns]])
        return cls(data, x, np.where(data.done, len(known), x_next), known)

    def codes(self, partition: Partition) -> tuple[Integers, ...]:
        """(x, p), (a, x, p), (x', p') and all of it as whole numbers, p leading each half."""
        now, after = (partition.cells(s) for s in (self.data.states, self.data.next_states))
        after[self.data.done] = len(partition)
        state = now * len(self.x_values) + self.x
        choice = state * self.data.number_of_actions + self.data.actions
        following = after * (len(self.x_values) + 1) + self.x_next
        return state, choice, following, choice * self.places(partition) + following

    def places(self, partition: Partition) -> int:
        """How many codes (x', p') may have."""
        return (len(partition) + 1) * (len(self.x_values) + 1)

    def smoothing(self, cells: int) -> tuple[float, float, float, float]:
        """What is added to N(x,p), N(a,x,p), N(x',p') and N(x',p',a,x,p)."""
        choices, states = self.data.number_of_actions, len(self.x_values) * cells
        of_state = SMOOTHING * choices * states
        return of_state, SMOOTHING * states, of_state, SMOOTHING


def parts(moves: Moves, partition: Partition, cells: int | None = None) -> tuple[float, float]:
    """(decision, transition) of a partition, smoothed as if it had `cells` cells."""
    added = moves.smoothing(len(partition) if cells is None else cells)
    sums = []
    for code, s in zip(moves.codes(partition), added, strict=True):
        count = np.unique(code, return_counts=True)[1].astype(float)
        sums.append(float(np.sum(xlogy(count, count + s))))
    state, choice, following, move = sums
    return choice - state, move - choice - following


class Tables:
    """The counts of a partition, and the gain of every split of one feature at a time."""

    def __init__(self, moves: Moves, partition: Partition, weight: float) -> None:
        codes, self.move = np.unique(moves.codes(partition)[3], return_inverse=True)
        cells = len(partition)
        self.total = np.bincount(self.move)[:, None]
        self.weight = weight  # lambda c
        n = np.arange(len(moves.x) + 1)  # looking n ln n up is several times faster than a log
        self.terms = [xlogy(n, n + s) for s in moves.smoothing(cells + 1)]
        now, more = (parts(moves, partition, number) for number in (cells, cells + 1))
        # One cell more smooths every count a little more.
        self.drift = more[0] - now[0] + weight * (more[1] - now[1])
        choice, following = np.divmod(codes, moves.places(partition))
        state = choice // moves.data.number_of_actions
        home, to = state // len(moves.x_values), following // (len(moves.x_values) + 1)
        self.stays = (home == to)[:, None]
        self.from_cell, self.to_cell = _adder(home, cells), _adder(to, cells + 1)
        # from moves to (x,p), (a,x,p) and (x',p'), and from there to cells
        self.by_state, self.state_cell = _adders(state, home, cells)
        self.by_choice, self.choice_cell = _adders(choice, home, cells)
        self.by_following, self.following_cell = _adders(following, to, cells + 1)

    def gains(self, lower: Integers, upper: Integers, size: int) -> Array:
        """(cells, size) gain in score of a split at each threshold; -inf where a side is empty.

        `lower` (n,) is how many of the `size` thresholds lie below q_j, so that q_j <= t_k where
        lower <= k; `upper` is the same of q_j'.
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
        allowed = np.minimum(here, self.state_cell @ every - here) >= 1
        return np.where(allowed, decision + self.weight * transition + self.drift, -np.inf)

    def _below(self, code: Integers, size: int) -> Integers:
        """(moves, size) how many rows of each move have code <= k."""
        width = size + 1
        place = self.move * width + code
        table = np.bincount(place, minlength=len(self.total) * width).reshape(-1, width)
        return np.cumsum(table, axis=1)[:, :-1]


def _division(left: Integers, total: Integers, terms: Array) -> Array:
    """Change of sum n ln(n + s) where counts are divided into two."""
    return np.asarray(terms[left] + terms[total - left] - terms[total])


def _adder(to: Integers, size: int) -> csr_array:
    """The matrix that sums rows by their place `to`."""
    ones = np.ones(len(to), dtype=np.int64)
    return csr_array((ones, (to, np.arange(len(to)))), shape=(size, len(to)))


def _adders(code: Integers, cell: Integers, cells: int) -> tuple[csr_array, csr_array]:
    """From moves to the distinct values of a code, and from these to the cell of each."""
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    return _adder(place, len(first)), _adder(cell[first], cells)


def grow(
    moves: Moves,
    features: Sequence[int],
    transition_weight: float = 1.0,
    delta: float = 0.01,
    max_cells: int | None = None,
) -> Growth:
    """Split greedily, the best of cells, features and thresholds at a time (ties: the first)."""
    candidates = [(j, *_candidates(moves.data, j)) for j in features]
    candidates = [candidate for candidate in candidates if len(candidate[1])]
    partition, scores, gains = Partition(), [], []
    decision, transition = parts(moves, partition)
    weight = transition_weight * decision / transition if transition != 0 else 0.0
    while True:
        decision, transition = parts(moves, partition)
        scores.append(decision + weight * transition)
        best, split = ROUNDING * len(moves.x), None
        tables = Tables(moves, partition, weight)
        for j, thresholds, lower, upper in candidates:
            gain = tables.gains(lower, upper, len(thresholds))
            cell, k = np.unravel_index(int(np.argmax(gain)), gain.shape)
            if gain[cell, k] > best:
                best, split = float(gain[cell, k]), Split(int(cell), j, float(thresholds[k]))
        gains.append(best / abs(scores[-1]) if split else 0.0)
        if split is None:
            stopped = "nothing to split"
        elif gains[-1] <= delta:
            stopped = "delta"
        elif len(partition) == max_cells:
            stopped = "max_cells"
        else:
            partition = Partition((*partition.splits, split))
            continue
        return Growth(partition, tuple(scores), tuple(gains), stopped)


def _candidates(data: Transitions, j: int) -> tuple[Array, Integers, Integers]:
    """Thresholds of a feature, and how many of them lie below its value at s and at s'."""
    values = np.unique(data.states[:, j])[:-1]  # nothing lies above the largest
    if len(values) > MAX_THRESHOLDS:
        shares = np.linspace(0, 1, MAX_THRESHOLDS)
        values = np.unique(np.quantile(values, shares, method="lower"))
    lower, upper = (np.searchsorted(values, s[:, j]) for s in (data.states, data.next_states))
    return values, lower, upper
