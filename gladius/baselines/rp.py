"""RP, recursive partitioning (Barzegary and Yoganarasimhan 2022), then NFXP on the cells.

The state is (x, q). x is low-dimensional and enters the reward in a form that the user gives; q is
high-dimensional and enters through the cell of a partition Pi that the data choose:

    r(s, a) = alpha_a(x) + f_a(Pi(q)),      here  r(s, 0) = -theta_0 x,  r(s, 1) = -cost(Pi(q)).

First stage: a tree of splits of q that raise decision + lambda c transition likelihood, see
rp_partition.py. Second stage: NFXP (Rust 1987) on the states (x, cell) with the transition law at
the frequencies of these states. The reward is read off theta and the cell of the state.

Needs: which features are x (`low`), transition frequencies, a form of r in x. No anchor, except
with `theta_1_given`; x, and the product of its values with the cells, must be few.

What had to be decided:
- x is the first feature by default, as on the bus engine; without other features, or where no split
  is worth taking, the method is NFXP with frequencies of x.
- Identification: f_0 = 0 in every cell, one cost for each cell and action other than 0. A function
  of the cell in the reward of both actions would not be identified where the law of the next cell
  does not depend on the action (shaping by a function of the cell). Where action 0 does depend on
  the cell the choices are still fitted, but r is another member of their class.
- The criterion is that of the first author's public code (the text was not available to us), with
  its defaults: lambda = 1, delta = .01, smoothing 1e-5, no least size, no limit to the cells. c is
  fixed at its value without splits. A candidate threshold is any value of q in the data, so that
  q need not be whole numbers; with more than `max_thresholds` of them, that many quantiles.
- A move is a row (s, a, s'), whatever the order of rows or the lengths of paths. A move that ends
  the path leads to one further state, in no cell. Both sides of a split keep an observation.
- Number of cells on validation paths (`validation`, off by default): grow on the other paths, score
  the held-out moves at the smoothed frequencies of the former at each number of cells, then grow on
  all data up to the best number. The last trajectories are held out.
- The authors' released second stage repeats a logit with the expected value as a fixed offset; ours
  maximises the likelihood.
- The cell's number stands beside x as a feature where the law of a pair (x, cell, a) never visited
  is borrowed (transition_probabilities.py), so nearness of two cells means nearness of their numbers there.
- An anchor reward that varies within a state (x, cell) is replaced by its mean over the data.

A feature that predicts itself raises the transition part, so persistent dummies are split though
they matter for nothing; `transition_weight=0` judges by choices alone. In small samples the gains
of chance exceed delta: with irrelevant dummies on the bus engine 20 trajectories of 100 periods
stay whole, 10 are split into dozens of cells (`validation` or `max_cells` stop that). Standard
errors are those of NFXP: conditional on the partition and the transition law, as if neither had
been estimated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gladius.anchor import Anchor, nearest
from gladius.baselines import nfxp
from gladius.baselines.rp_partition import Criterion, Growth, Moves, Partition, grow, held_out_score
from gladius.checks import Array, InputError, check_discount, check_finite, check_whole
from gladius.estimate import Estimate, StateFunction
from gladius.parametric import TableFunction, bus_design, check_level, make_tables
from gladius.transitions import LARGEST_TABLE, Transitions, index_rows

TITLE, NEEDS = "RP", ("next", "transitions", "form")


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    low: Sequence[int] = (0,),
    design: TableFunction | None = None,
    theta_1_given: bool = False,
    transition_weight: float = 1.0,
    delta: float = 0.01,
    min_size: int = 0,
    smoothing: float = 1e-5,
    max_cells: int | None = None,
    max_thresholds: int = 100,
    validation: float = 0.0,
    start: Array | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> list[Estimate]:
    """Partition q for each data set, then NFXP on (x, cell).

    Args:
        data: replications.
        anchor: its reward is used only with `theta_1_given`.
        discount: beta.
        low: columns that are x; the others are q.
        design: maps (n, len(low)) features x to (n, A, k), the form alpha of the reward, without
            constants (the cells have them); by default -x of the first of them for action 0.
        theta_1_given: fix r(s, 1) at the anchor's reward; cells then matter for the law alone.
        transition_weight: lambda.
        delta: least gain of a split, relative to |score|.
        min_size: least number of observations of a cell.
        smoothing: of the counts inside the logarithms.
        max_cells: at most so many cells; None: no limit.
        max_thresholds: at most so many candidate thresholds for each feature.
        validation: share of the trajectories held out to choose the number of cells; 0: `delta`
            alone decides.
        start: (R, k) first theta of each data set as if there were one cell (each cell starts at
            the same cost); by default 0.
        tolerance: of NFXP, see `nfxp.fit_counts`.
        max_iterations: Newton steps of NFXP.

    Returns:
        One Estimate for each data set, defined at any features. `diagnostics.extra` holds what
        NFXP has there, theta being the parameters of the form in x, then the cost of action 1 in
        each cell, of action 2, ... (r = -cost); `partition`, `cells` (their number), `gains` (best
        gain / |score| at each number of cells), `score` and `stopped` of the growth on all data;
        and `objective`, minus the log-likelihood per observation.

    Raises:
        InputError: for options that do not fit together or the data.
    """
    started = time.process_time()
    beta = check_discount(discount)
    columns = _columns(low, data[0].states.shape[1])
    rule = Criterion(transition_weight, delta, min_size, smoothing, max_cells, max_thresholds)
    if not 0 <= validation < 1:
        raise InputError("validation", validation, "give a share from 0 to below 1")
    if validation > 0 and smoothing == 0:
        raise InputError("smoothing", smoothing, "held-out moves may be new: give more than 0")
    actions = data[0].number_of_actions
    if theta_1_given and design is not None:
        raise InputError("theta_1_given", True, "only for the default form")
    if theta_1_given and anchor.action != 1:
        raise InputError("anchor_action", anchor.action, "theta_1 is of action 1: anchor that")
    if design is None and actions != 2:
        raise InputError("design", None, f"the default has 2 actions, the data {actions}")
    form = _alpha if design is None else design
    first_theta = _start(start, data, form, columns, theta_1_given)
    if anchor.action == 0:  # the cells have the costs of the others
        tables = make_tables(form, None, None, actions)
        for one in data:
            check_level(anchor, one.states, *tables(one.states[:, columns]))
    others = [j for j in range(data[0].states.shape[1]) if j not in columns]
    growths = [_grow(one, columns, others, rule, validation) for one in data]
    spaces = [Space(columns, growth.partition) for growth in growths]
    found: dict[int, Estimate] = {}
    for members in _batches(spaces, anchor):
        projected = [spaces[r].project(data[r]) for r in members]
        first = spaces[members[0]]
        _check_size(first, projected)
        on_cells = _anchor_on_cells(anchor, data[members[0]], projected[0])
        cells = len(first.partition)
        fitted = nfxp.fit(
            projected,
            on_cells,
            beta,
            design=_design(form, cells, len(columns), actions, theta_1_given),
            offset=_offset(on_cells, actions) if theta_1_given else None,
            start=_per_cell(first_theta[members], cells, 0 if theta_1_given else actions - 1),
            tolerance=tolerance,
            max_iterations=max_iterations,
        )
        found |= dict(zip(members, fitted, strict=True))
    seconds = (time.process_time() - started) / len(data)
    return [
        _finish(found[r], spaces[r], growths[r], data[r].states.shape[1], seconds)
        for r in range(len(data))
    ]


class Space:
    """The states (x, cell), x alone where there is one cell."""

    def __init__(self, columns: list[int], partition: Partition) -> None:
        self.columns, self.partition = columns, partition

    def __call__(self, states: Array) -> Array:
        x = states[:, self.columns]
        if len(self.partition) == 1:
            return x
        return np.column_stack([x, self.partition.cells(states)])

    def project(self, data: Transitions) -> Transitions:
        """The data as moves between such states."""
        return Transitions(
            self(data.states),
            data.actions,
            self(data.next_states),
            data.trajectory,
            data.done,
            data.number_of_actions,
        )


def _grow(
    data: Transitions, columns: list[int], others: list[int], rule: Criterion, validation: float
) -> Growth:
    """The partition of one data set, with the number of cells that validation paths prefer."""
    moves = Moves.of(data, columns)
    if validation > 0 and others:
        labels, first, trajectory = np.unique(
            data.trajectory, return_index=True, return_inverse=True
        )
        order = np.argsort(np.argsort(first))  # of appearance
        train = order[trajectory] < len(labels) - round(validation * len(labels))
        if np.all(train) or not np.any(train):
            hint = f"{len(labels)} trajectories are too few to hold out this share"
            raise InputError("validation", validation, hint)
        kept, held_out = moves.take(train), moves.take(~train)
        growth = grow(kept, others, rule)
        scores = [
            held_out_score(kept, held_out, growth.at(cells), rule, growth.scale)
            for cells in range(1, len(growth.partition) + 1)
        ]
        rule = replace(rule, max_cells=1 + int(np.argmax(scores)))
    return grow(moves, others, rule)


def _batches(spaces: Sequence[Space], anchor: Anchor) -> list[list[int]]:
    """Replications to fit together: those without splits, where the anchor is one for all."""
    whole = [r for r, space in enumerate(spaces) if len(space.partition) == 1]
    if callable(anchor.reward) or not whole:
        return [[r] for r in range(len(spaces))]
    return [whole, *([r] for r in range(len(spaces)) if r not in whole)]


def _alpha(x: Array) -> Array:
    """The default form of x: -x for action 0."""
    return bus_design(x)[:, :, :1]


def _design(
    form: TableFunction, cells: int, width: int, actions: int, costs_known: bool
) -> TableFunction:
    """The form of x beside -1 for each cell under each action but the first."""

    def design(states: Array) -> Array:
        alphas = form(states[:, :width])
        if costs_known:
            return alphas
        cell = states[:, width].astype(np.int64) if cells > 1 else np.zeros(len(states), np.int64)
        costs = np.zeros((len(states), actions, actions - 1, cells))
        for a in range(1, actions):
            costs[np.arange(len(states)), a, a - 1, cell] = -1.0
        return np.concatenate([alphas, costs.reshape(len(states), actions, -1)], axis=2)

    return design


def _start(
    given: Array | None,
    data: Sequence[Transitions],
    form: TableFunction,
    columns: list[int],
    costs_known: bool,
) -> Array:
    """(R, k) first theta with one cell, after a look at the form's shape on every data set."""
    actions = data[0].number_of_actions
    tables = make_tables(form, None, None, actions)  # it checks the shape
    parameters = [tables(one.states[:, columns])[0].shape[2] for one in data]
    shape = (len(data), parameters[0] + (0 if costs_known else actions - 1))
    if given is None:
        return np.zeros(shape)
    theta = check_finite("start", given)
    if theta.shape != shape:
        raise InputError("start", theta.shape, f"give shape {shape}")
    return theta


def _per_cell(theta: Array, cells: int, costs: int) -> Array:
    """The last `costs` columns of (R, k) theta once for each cell."""
    of_x = theta.shape[1] - costs
    return np.hstack([theta[:, :of_x], np.repeat(theta[:, of_x:], cells, axis=1)])


def _offset(anchor: Anchor, actions: int) -> TableFunction:
    def offset(states: Array) -> Array:
        known = np.zeros((len(states), actions))
        known[:, anchor.action] = anchor.values(states)
        return known

    return offset


def _anchor_on_cells(anchor: Anchor, data: Transitions, projected: Transitions) -> Anchor:
    """The anchor as a function of (x, cell): the mean over the observations there."""
    if not callable(anchor.reward):
        return anchor
    values = np.concatenate([anchor.values(s) for s in (data.states, data.next_states)])
    states, (now, after) = index_rows([projected.states, projected.next_states])
    at = np.concatenate([now, after])
    means = np.bincount(at, weights=values) / np.bincount(at)
    return Anchor(anchor.action, lambda asked: means[nearest(states, asked)])


def _check_size(space: Space, projected: Sequence[Transitions]) -> None:
    """Raise where the table of (x, cell) states is too large, and the cells are why."""
    states, _ = index_rows([s for one in projected for s in (one.states, one.next_states)])
    entries = len(projected) * projected[0].number_of_actions * len(states) ** 2
    if len(space.partition) > 1 and entries > LARGEST_TABLE:
        hint = f"{len(space.partition)} cells make a table of {entries} counts: allow fewer"
        raise InputError("max_cells", len(space.partition), hint)


def _finish(
    fitted: Estimate, space: Space, growth: Growth, features: int, seconds: float
) -> Estimate:
    """NFXP's estimate as functions of all features."""

    def lift(function: StateFunction) -> StateFunction:
        return lambda states: function(space(states))

    extra = {
        **fitted.diagnostics.extra,
        "objective": fitted.diagnostics.nll,
        "partition": growth.partition,
        "cells": len(growth.partition),
        "gains": np.array(growth.gains),
        "score": growth.scores[-1],
        "stopped": growth.stopped,
    }
    diagnostics = replace(fitted.diagnostics, cpu_seconds=seconds, extra=extra)
    q, reward = lift(fitted.q_function), lift(fitted.reward_function)
    return Estimate("rp", q, reward, features, diagnostics)


def _columns(low: Sequence[int], width: int) -> list[int]:
    """`low` as a list of distinct columns, or an error."""
    if np.ndim(low) != 1 or not 0 < len(set(low)) == len(low):
        raise InputError("low", low, "give distinct columns, at least one")
    columns = [check_whole("low", j, 0) for j in low]
    if max(columns) >= width:
        raise InputError("low", low, f"give columns from 0 to {width - 1}")
    return columns
