"""RP, recursive partitioning (Barzegary and Yoganarasimhan 2022), then NFXP on the cells.

The state is (x, q). x is the first feature and enters the reward in a form that the user gives. q
is the other features and enters through the cell of a partition Pi that the data choose:

    r(s, a) = alpha_a(x) + f_a(Pi(q)),    of the bus  r(s, 0) = -theta_0 x, r(s, 1) = -cost(Pi(q)).

The first stage grows a tree of splits q_j <= threshold. With N(.) counts of the observed moves
(x, p, a) -> (x', p'), p the cell of q,

    decision    = sum N(a,x,p) ln N(a,x,p) - sum N(x,p) ln N(x,p)
    transition  = sum N(x',p',a,x,p) ln N(.) - sum N(a,x,p) ln N(a,x,p) - sum N(x',p') ln N(x',p')
    score       = decision + c transition,    c = decision / transition before any split.

The second stage is NFXP on the states (x, cell) with their transition frequencies.

Implementation choices:

- The criterion and its constants are those of the first author's public code, as the text was not
  available to us: lambda = 1, DELTA, SMOOTHING, no smallest cell, no limit to the cells.
- Growth stops where the best gain is at most DELTA of |score|.
- A parameter of the form whose regressor does not depend on x has a value in each cell.
- A move that ends the path leads to one further state, in no cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from gladius.baselines import nfxp
from gladius.model.estimate import Estimate, Fit, StateFunction, row_estimates
from gladius.model.parametric import FormBasis, Model, check_form, check_level, make_grid
from gladius.model.reward_form import LinearReward, TableFunction
from gladius.panel.anchor import Anchor
from gladius.panel.record import Integers, Transitions, index_rows
from gladius.validate import Array

TITLE, NEEDS = "RP", ("next", "transitions", "form")
DELTA = 0.01  # smallest gain of a split, relative to |score|
SMOOTHING = 1e-5  # of each count N(x',p',a,x,p) inside the logarithm; sums of it carry it for each
MAX_THRESHOLDS = 100  # candidates of a feature, quantiles if it has more values
LEAST_GAIN = 1e-12  # nats per observation, by which a gain must be larger to be so


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
) -> list[Estimate]:
    """Partition q for each data set, then NFXP on (x, cell).

    Args:
        reward: the form of r in x, (n, 1) features; required.

    `extra` holds theta (the parameters that depend on x, then each constant in each cell),
    partition, and gains, the best gain / |score| at each number of cells.
    """
    form = check_form(reward)
    for rows in data:
        tables = form.tables(rows.states[:, :1], rows.number_of_actions)
        check_level(anchor, rows.states, *tables)
    fits = [_fit_alone(rows, form, discount) for rows in data]
    return row_estimates("rp", fits, data, anchor, discount)


def _fit_alone(data: Transitions, form: LinearReward, discount: float) -> Fit:
    """The partition of one data set, and NFXP on (x, cell)."""
    partition, gains = grow(data)
    projected = replace(
        data,
        states=partition.project(data.states),
        next_states=partition.project(data.next_states),
        feature_names=(),
    )
    grid = make_grid([projected], discount)
    actions = data.number_of_actions
    design, _ = form.tables(grid.states[:, :1], actions)
    is_constant = np.all(np.ptp(design, axis=0) == 0, axis=0)
    offset = None if form.offset is None else partial(of_x, form.offset)
    cell_form = LinearReward(partial(cell_design, form.design, is_constant, len(partition)), offset)
    design, known_reward = cell_form.tables(grid.states, actions)
    model = Model(**vars(grid), form=cell_form, design=design, offset=known_reward)
    fitted = nfxp.fit_counts(model.visits, model.transition, design, known_reward, model.discount)
    on_grid = fitted.fit(0, model)
    objective = -float(fitted.log_likelihood[0]) / len(data)
    of_growth = {"partition": partition, "gains": np.array(gains), "objective": objective}
    return replace(
        on_grid,
        q=partial(on_cells, on_grid.q, partition),
        reward=partial(on_cells, on_grid.reward, partition),
        extra={**on_grid.extra, **of_growth},
        basis=FormBasis(model, q=on_grid.q),
    )


# The states (x, cell).


@dataclass(frozen=True)
class Split:
    """States of `cell` with feature > threshold become a new cell, numbered next."""

    cell: int
    feature: int  # column of the state
    threshold: float  # a value of the data; states at it stay in `cell`

    def divides(self, cell: Integers, states: Array) -> NDArray[np.bool_]:
        """(n,) whether a state of these cells goes to the new one."""
        return np.asarray((cell == self.cell) & (states[:, self.feature] > self.threshold))


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
            cell[split.divides(cell, states)] = number
        return cell

    def project(self, states: Array) -> Array:
        """(n, 2) x and the cell of (n, d) states."""
        return np.column_stack([states[:, 0], self.cells(states)])


def on_cells(function: StateFunction, partition: Partition, states: Array) -> Array:
    """A function of (x, cell) at (n, d) states."""
    return function(partition.project(states))


def of_x(function: TableFunction, states: Array) -> Array:
    """A function of x at (n, 2) x and cell."""
    return function(states[:, :1])


def cell_design(
    design: TableFunction, is_constant: NDArray[np.bool_], cells: int, states: Array
) -> Array:
    """(n, A, K) design at (n, 2) x and cell: each constant of the form once for each cell."""
    table = design(states[:, :1])
    inside = np.eye(cells)[states[:, 1].astype(np.int64)]
    constants = table[..., is_constant, None] * inside[:, None, None]
    constants = constants.reshape(*table.shape[:2], -1)
    return np.concatenate([table[..., ~is_constant], constants], axis=2)


# The partition.


class MoveCodes:
    """The observed moves, with x, (x, a), x' and (x, a, x') as codes."""

    def __init__(self, data: Transitions) -> None:
        values, (x, x_next) = index_rows([data.states[:, :1], data.next_states[:, :1]])
        self.data, self.values = data, len(values)
        self.x = x
        self.choice = x * data.number_of_actions + data.actions
        self.arrival = np.where(data.done, len(values), x_next)  # ends are one further state
        pair = self.choice * (len(values) + 1) + self.arrival
        self.move = np.unique(pair, return_inverse=True)[1].reshape(-1)

    def score_terms(self, cell: Integers, next_cell: Integers, cells: int) -> tuple[float, float]:
        """(decision, transition) of a partition from the (n,) cells of s and of s'."""
        end_cell = np.where(self.data.done, cells, next_cell)
        smoothing = SMOOTHING * self.values * cells  # of N(a,x,p)
        of_states = smoothing * self.data.number_of_actions
        state = entropy(self.x * cells + cell, of_states)
        choice = entropy(self.choice * cells + cell, smoothing)
        arrival = entropy(self.arrival * (cells + 1) + end_cell, of_states)
        move = entropy((self.move * cells + cell) * (cells + 1) + end_cell, SMOOTHING)
        return choice - state, move - choice - arrival


def entropy(code: Integers, smoothing: float) -> float:
    """Sum of N ln(N + smoothing) over the counts N of a code."""
    count = np.bincount(code).astype(np.float64)
    count = count[count > 0]
    return float(np.sum(xlogy(count, count + smoothing)))


def grow(data: Transitions) -> tuple[Partition, list[float]]:
    """The partition, and the best gain / |score| at each number of cells.

    Splits are greedy, the best of cells, features and thresholds at a time (ties: the first).
    """
    moves, partition = MoveCodes(data), Partition()
    thresholds = [candidates(data.states[:, j]) for j in range(1, data.states.shape[1])]
    cell = next_cell = np.zeros(len(data), dtype=np.int64)
    decision, transition = moves.score_terms(cell, next_cell, 1)
    weight = decision / transition if transition != 0 else 0.0
    score, gains = decision + weight * transition, list[float]()
    while True:
        number = len(partition)
        best, best_split = 0.0, None
        splits = (
            Split(old, j, float(value))
            for j, values in enumerate(thresholds, start=1)
            for old, value in product(range(number), values)
        )
        for split in splits:
            is_new = split.divides(cell, data.states)
            if not 0 < np.count_nonzero(is_new) < np.count_nonzero(cell == split.cell):
                continue
            is_next_new = split.divides(next_cell, data.next_states)
            new_cells = np.where(is_new, number, cell), np.where(is_next_new, number, next_cell)
            decision, transition = moves.score_terms(*new_cells, number + 1)
            gain = decision + weight * transition - score
            if gain > best + LEAST_GAIN * len(data):
                best, best_split = gain, split
        gains.append(best / abs(score) if best_split else 0.0)
        if best_split is None or gains[-1] <= DELTA:
            return partition, gains
        partition = Partition((*partition.splits, best_split))
        cell, next_cell = partition.cells(data.states), partition.cells(data.next_states)
        score += best


def candidates(feature: Array) -> Array:
    """The candidate thresholds of a feature with these (n,) values at s."""
    values = np.unique(feature)[:-1]  # nothing lies above the largest
    if len(values) > MAX_THRESHOLDS:
        shares = np.linspace(0, 1, MAX_THRESHOLDS)
        values = np.unique(np.quantile(values, shares, method="lower"))
    return values
