"""The `author` baselines: IQ-learn and BC on the bus engine as in the first author's public code.

Facts from github.com/Enoch-H-Kang/DDC-DPT, which states no licence; no line is carried over. Both
start as `author` does: Xavier-normal weights, both output levels at -55 near the true Q*, raw
features, one AdamW over the trunk and Q's head (weight decay 1e-4), batches of whole trajectories
in file order. Before each epoch the code logs the MAPE of r on the test split, which uses the true
reward, and reports the smallest.

IQ-learn (Zurcher/Zurcher_train_IQlearn.py, commit d2611c4): batches of 32, learning rate 1e-3, no
clipping, 10,000 epochs without inputs and 1,000 with (IQlearn_zurcher_241227.json). The loss is

    |(1 - beta) mean V(x_1) - mean (Q(s, a) - beta E V(s' | s, a))|,

with x_1 the state after a replacement, and no chi-square term: one number is driven to zero, and no
choice is fitted. r = Q - beta E V(s' | s, a). The transition is taken as known, and is not that of
the data: a bus that is kept goes 1, 2, 3 or 3 miles (1, 2 or 3 in the commit before, whose log
IQlearnlog.txt is public), where the data have 1 to 4. Inputs stay as they are.

BC: no public file trains it on buses. Its loss is that of gym/gym_BClearn.py (commit c22818b), mean
-log pi(a | s) alone on every batch, read off as r = Q - beta V(s') with the observed s'. Batches of
64, learning rate 1e-3 / (1 + 1e-4 epoch), clipping at 1.01 and 5,000 epochs are those of the bus
configuration that is named after BC (zurcher_250108_BC.json, commit be5e523), which no stored
version of the bus code runs without the Bellman term.

Both losses are |sum_s v(s) V(s) - sum_(s, a) c(s, a) Q(s, a)| with weights v and c that are counted
once for each batch (a cross-entropy is positive). So one trainer does both.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gladius.panel.record import Integers, Transitions, index_rows
from gladius.paper.author import LEARNING_RATE, WEIGHT_DECAY, Truth, without_dead_units
from gladius.paper.rows import Outputs, room
from gladius.paper.training import (
    Layout,
    Learner,
    Q,
    descend,
    evaluate,
    hidden_room,
    pull_back,
    training,
)
from gladius.solvers.compiled import compiled
from gladius.solvers.networks import without_denormals
from gladius.validate import Array, InputError, check_choice

REPLACE, FIRST_MILEAGE, CAP = 1, 1.0, 20.0
MILES = (1, 2, 3, 3)  # of a bus that is kept, equally likely, in IQ-learn's transition
EARLIER_MILES = (1, 2, 3)  # in the commit of the log


class How(NamedTuple):
    """The settings of a method."""

    batch_trajectories: int
    decay: float  # of the learning rate
    clip: float  # of each entry of the gradient


IQ_LEARN, BC = "iq_learn", "bc"
HOW = {IQ_LEARN: How(32, 0.0, math.inf), BC: How(64, 1e-4, 1.01)}


class Weighted(NamedTuple):
    """B batches, one after the other: distinct states and transitions with their weights."""

    states: Array  # (S, d)
    value: Array  # (S,) v of the loss
    chosen: Array  # (S, A) c of the loss
    state_ends: Integers  # (B + 1,) batch i has the states from state_ends[i] to state_ends[i + 1]
    state: Integers  # (M,) positions in the batch
    action: Integers  # (M,)
    following: Integers  # (M, F) positions of the next states at which r is read off
    share: Array  # (F,) their probabilities
    weight: Array  # (M,) share of the transition in the mean of the batches' means
    row_ends: Integers  # (B + 1,), likewise


@without_denormals()
def train(
    method: str,
    data: Transitions,
    discount: float,
    layout: Layout,
    start: Array,
    test: Transitions,
    truth: Truth,
    *,
    epochs: int,
    repetitions: int = 1,
    miles: Sequence[int] = MILES,
) -> tuple[Array, Array]:
    """(repetitions, epochs) test MAPE before each epoch, per cent, and the mean loss in it.

    Args:
        method: of HOW.
        data: the training split; mileage is the first feature.
        discount: beta.
        layout: of the network.
        start: initial weights, a vector of `layout` in the working precision.
        test: the test split.
        truth: the true reward (leak).
        epochs: passes over the data.
        repetitions: trainings, each from where the one before ended; the rate starts anew.
        miles: of IQ-learn's transition.
    """
    check_choice("method", method, tuple(HOW))
    how, kind = HOW[method], start.dtype.type
    found, tested = (weighted(method, x, discount, miles, kind) for x in (data, test))
    if min(one.states.min() for one in (found, tested)) > 0:
        layout, start = without_dead_units(layout, start)
    states = max(int(np.diff(one.state_ends).max()) for one in (found, tested))
    learner = training(layout, start, states, decay=WEIGHT_DECAY, clip=how.clip)
    at_rows = np.repeat(tested.state_ends[:-1], np.diff(tested.row_ends)) + tested.state
    right = truth(tested.states[at_rows].astype(float), tested.action).astype(kind)
    weight = 100 * tested.weight / np.abs(right)
    trace, losses = np.zeros((2, repetitions, epochs))
    for k in range(repetitions):
        for i in range(epochs):
            trace[k, i] = error(learner, tested, kind(discount), right, weight)
            losses[k, i] = epoch(learner, found, LEARNING_RATE / (1.0 + how.decay * i))
    return trace, losses


def weighted(
    method: str,
    data: Transitions,
    discount: float,
    miles: Sequence[int] = MILES,
    dtype: type[np.floating[Any]] = np.float64,
) -> Weighted:
    """The data in the batches of a method."""
    if data.done.any():
        raise InputError("data", "an end of a path", "the public code knows none")
    label = pd.factorize(data.trajectory)[0] // HOW[method].batch_trajectories
    columns: list[tuple[Array, ...]] = []
    for of in range(label[-1] + 1):
        rows = label == of
        own, action, size = data.states[rows], data.actions[rows], rows.sum()
        after, share, renewed = data.next_states[rows][None], np.ones(1), own
        if method == IQ_LEARN:
            after, share = known_next(own, action, miles)
            renewed = known_next(own, np.full(size, REPLACE), miles)[0][0]
        states, (s, *following, first) = index_rows([own, *after, renewed])
        moves = np.column_stack([s, action, *following])
        moves, number = np.unique(moves, axis=0, return_counts=True)
        chosen = np.zeros((len(states), data.number_of_actions))
        np.add.at(chosen, (s, action), 1.0)
        value = chosen.sum(axis=1)
        if method == IQ_LEARN:
            value = np.bincount(first, minlength=len(states)) * (1.0 - discount)
            for z, p in zip(following, share, strict=True):
                value += np.bincount(z, minlength=len(states)) * discount * p
        at_states = (x.astype(dtype) for x in (states, value / size, chosen / size))
        columns.append((*at_states, moves, number / size))
    *points, moves, weight = (np.concatenate(x) for x in zip(*columns, strict=True))
    state_ends, row_ends = (np.cumsum([0, *(len(x[i]) for x in columns)]) for i in (0, 3))
    return Weighted(
        points[0],
        points[1],
        points[2],
        state_ends,
        np.ascontiguousarray(moves[:, 0]),
        np.ascontiguousarray(moves[:, 1]),
        np.ascontiguousarray(moves[:, 2:]),
        share.astype(dtype),
        (weight / len(columns)).astype(dtype),
        row_ends,
    )


def known_next(states: Array, actions: Integers, miles: Sequence[int]) -> tuple[Array, Array]:
    """IQ-learn's next states (F, n, d), and their probabilities (F,)."""
    steps, times = np.unique(miles, return_counts=True)
    after = np.repeat(states[None], len(steps), axis=0)
    driven = np.minimum(states[:, 0] + steps[:, None], CAP)
    after[..., 0] = np.where(actions == REPLACE, FIRST_MILEAGE, driven)
    return after, times / len(miles)


# --- in machine code
@compiled
def slope(value: Array, chosen: Array, at: Outputs) -> float:
    """The loss; its derivative in Q into `at.slope`. V and pi are given."""
    loss = 0.0
    for s in range(len(value)):
        loss += value[s] * at.value[s]
        for a in range(chosen.shape[1]):
            loss -= chosen[s, a] * at.q[s, a]
    for s in range(len(value)):
        for a in range(chosen.shape[1]):
            at.slope[s, a] = np.sign(loss) * (value[s] * at.policy[s, a] - chosen[s, a])
    return abs(loss)


@compiled
def epoch(learner: Learner, found: Weighted, rate: float) -> float:
    """The mean loss of the batches, each before its step."""
    total = 0.0
    for i in range(len(found.state_ends) - 1):
        a, b = found.state_ends[i], found.state_ends[i + 1]
        hidden, at = hidden_room(learner.hidden, b - a), room(learner.at, b - a)
        evaluate(learner.model, found.states[a:b], hidden, at, Q)
        total += slope(found.value[a:b], found.chosen[a:b], at)
        pull_back(learner.model, learner.slopes, found.states[a:b], hidden, at, Q)
        descend(learner, Q, rate)
    return total / (len(found.state_ends) - 1)


@compiled
def error(learner: Learner, tested: Weighted, beta: float, right: Array, weight: Array) -> float:
    """The sum over transitions of weight |Q - beta E V(s') - right|."""
    total = 0.0
    for i in range(len(tested.state_ends) - 1):
        a, b = tested.state_ends[i], tested.state_ends[i + 1]
        hidden, at = hidden_room(learner.hidden, b - a), room(learner.at, b - a)
        evaluate(learner.model, tested.states[a:b], hidden, at, Q)
        for m in range(tested.row_ends[i], tested.row_ends[i + 1]):
            r = at.q[tested.state[m], tested.action[m]]
            for f in range(len(tested.share)):
                r -= beta * tested.share[f] * at.value[tested.following[m, f]]
            total += weight[m] * abs(r - right[m])
    return total
