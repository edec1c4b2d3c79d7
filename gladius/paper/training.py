"""One trainer for the paper's algorithms: Q and zeta as tables or networks, steps in machine code.

A step passes through the network once, takes the slope of its loss from `gladius.paper.rows`, and
goes back. In machine code (`gladius.solvers.compiled`) a step on a table takes microseconds, for
all arrays of a training stay in the processor's cache; without it, some hundred times longer.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gladius.panel.record import Integers
from gladius.paper.rows import (
    BELLMAN,
    CHOICE,
    PRINTED,
    Batch,
    Batches,
    Outputs,
    choose,
    cut,
    outputs,
    q_slope,
    room,
    zeta_slope,
)
from gladius.solvers.compiled import compiled
from gladius.validate import Array

MEMORY_1, MEMORY_2, EPSILON = 0.9, 0.999, 1e-8  # Adam's
ZETA, Q = 0, 1  # whose step it is
TABLES, TRUNK, SEPARATE = range(3)  # no network; one trunk with two heads; a network each


class Net(NamedTuple):
    """The parameters of two hidden layers and a head; of a table, `head` is all, (S, A)."""

    weight_1: Array  # (d, H)
    bias_1: Array  # (H,)
    weight_2: Array  # (H, H')
    bias_2: Array  # (H',)
    head: Array  # (H', A)
    level: Array  # (A,)


class Iterate(NamedTuple):
    """The parameters of zeta and Q as views of one vector; a trunk belongs to both."""

    kind: int  # TABLES, TRUNK or SEPARATE
    is_tanh: bool  # else hidden units are ReLU
    zeta: Net
    q: Net


class Hidden(NamedTuple):
    """What a step computes in the hidden layers at S states; written anew by each step."""

    hidden_1: Array  # (S, H)
    hidden_2: Array  # (S, H')
    back_1: Array  # (S, H) derivatives
    back_2: Array  # (S, H')


@dataclass(frozen=True)
class Layout:
    """Sizes of the vector of parameters: zeta's head, the trunk, Q's head; or one net each."""

    kind: int
    features: int  # d; of a table S
    units: tuple[int, int]  # H, H'
    actions: int
    is_tanh: bool = False

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the blocks of the vector."""
        first, second = self.units
        if self.kind == TABLES:
            return [(self.features, self.actions)] * 2
        trunk: list[tuple[int, ...]] = [
            (self.features, first),
            (first,),
            (first, second),
            (second,),
        ]
        head: list[tuple[int, ...]] = [(second, self.actions), (self.actions,)]
        return [*head, *trunk, *head] if self.kind == TRUNK else [*trunk, *head] * 2

    @property
    def size(self) -> int:
        """The length of the vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def ends(self) -> Integers:
        """(2, 2) where in the vector the parameters of ZETA and Q begin and end."""
        sizes = [math.prod(shape) for shape in self.shapes]
        if self.kind == TRUNK:
            return np.array([[0, self.size - sum(sizes[-2:])], [sum(sizes[:2]), self.size]])
        half = self.size // 2
        return np.array([[0, half], [half, self.size]])

    def blocks(self, parameters: Array) -> Iterate:
        """Views of a vector."""
        ends = np.cumsum([0, *(math.prod(shape) for shape in self.shapes)])
        pieces = zip(pairwise(ends), self.shapes, strict=True)
        found = [parameters[a:b].reshape(shape) for (a, b), shape in pieces]
        if self.kind == TABLES:
            none, empty = parameters[:0].reshape(0, 0), parameters[:0]
            rest = none, empty, none, empty
            zeta, q = (Net(*rest, table, empty) for table in found)
        elif self.kind == TRUNK:
            zeta, q = Net(*found[2:6], *found[:2]), Net(*found[2:])
        else:
            zeta, q = Net(*found[:6]), Net(*found[6:])
        return Iterate(self.kind, self.is_tanh, zeta, q)

    def hidden(self, states: int, dtype: type[np.floating[Any]]) -> Hidden:
        """Room for S states."""
        return Hidden(*(np.zeros((states, h), dtype) for h in (*self.units, *self.units)))


class Learner(NamedTuple):
    """The state of a training."""

    model: Iterate
    slopes: Iterate  # the gradient, likewise
    parameters: Array  # (P,) the vectors themselves
    gradient: Array
    mean: Array  # (2, P) Adam's moments in the steps of ZETA and of Q
    square: Array
    done: Integers  # (2,) steps
    ends: Integers  # (2, 2) whose parameters are where
    is_adam: bool  # else the printed update
    decay: float  # AdamW's weight decay
    clip: float  # of each entry of Q's gradient; inf: none
    hidden: Hidden
    at: Outputs


def training(
    layout: Layout,
    start: Array,
    states: int,
    *,
    is_adam: bool = True,
    decay: float = 0.0,
    clip: float = math.inf,
) -> Learner:
    """A training from the vector `start` and in its precision, with batches of at most S states."""
    parameters, gradient = start.copy(), np.zeros_like(start)
    mean, square = np.zeros((2, 2, len(start)), start.dtype)
    kind = start.dtype.type
    return Learner(
        layout.blocks(parameters),
        layout.blocks(gradient),
        parameters,
        gradient,
        mean,
        square,
        np.zeros(2, np.int64),
        layout.ends,
        is_adam,
        decay,
        clip,
        layout.hidden(states, kind),
        outputs(states, layout.actions, kind),
    )


# --- through the network and back
@compiled
def through(net: Net, states: Array, at: Hidden, is_tanh: bool) -> None:
    """Both hidden layers at (S, d) states."""
    zero = states.dtype.type(0)
    for layer, weight, bias, signal in (
        (states, net.weight_1, net.bias_1, at.hidden_1),
        (at.hidden_1, net.weight_2, net.bias_2, at.hidden_2),
    ):
        np.dot(layer, weight, signal)
        if is_tanh:
            for s in range(len(signal)):
                for h in range(signal.shape[1]):
                    signal[s, h] = np.tanh(signal[s, h] + bias[h])
        else:
            for s in range(len(signal)):
                for h in range(signal.shape[1]):
                    signal[s, h] = max(signal[s, h] + bias[h], zero)


@compiled
def read(net: Net, at: Hidden, out: Array) -> None:
    """The head's outputs (S, A)."""
    np.dot(at.hidden_2, net.head, out)
    for s in range(len(out)):
        for a in range(out.shape[1]):
            out[s, a] += net.level[a]


@compiled
def evaluate(model: Iterate, states: Array, hidden: Hidden, at: Outputs, own: int) -> None:
    """Q, zeta, V and pi at (S, d) states; the hidden layers are those of `own` in the end."""
    if model.kind == TABLES:
        for s in range(len(at.q)):  # an assignment of arrays takes seconds to compile
            for a in range(at.q.shape[1]):
                at.q[s, a], at.zeta[s, a] = model.q.head[s, a], model.zeta.head[s, a]
    elif model.kind == TRUNK or own == Q:
        if model.kind == SEPARATE:
            through(model.zeta, states, hidden, model.is_tanh)
        else:
            through(model.q, states, hidden, model.is_tanh)
        read(model.zeta, hidden, at.zeta)
        if model.kind == SEPARATE:
            through(model.q, states, hidden, model.is_tanh)
        read(model.q, hidden, at.q)
    else:
        through(model.q, states, hidden, model.is_tanh)
        read(model.q, hidden, at.q)
        through(model.zeta, states, hidden, model.is_tanh)
        read(model.zeta, hidden, at.zeta)
    choose(at)


@compiled
def past_units(back: Array, signal: Array, bias: Array, is_tanh: bool) -> None:
    """The derivative through a hidden layer, in place, and its sum over states into `bias`."""
    zero, one = bias.dtype.type(0), bias.dtype.type(1)
    bias[:] = 0
    for s in range(len(back)):
        for h in range(back.shape[1]):
            if is_tanh:
                back[s, h] *= one - signal[s, h] * signal[s, h]
            else:
                back[s, h] = back[s, h] if signal[s, h] > zero else zero
            bias[h] += back[s, h]


@compiled
def pull_back(
    model: Iterate, slopes: Iterate, states: Array, hidden: Hidden, at: Outputs, own: int
) -> None:
    """The gradient of `own` from `at.slope`, the derivative in its outputs."""
    net, out = model.zeta, slopes.zeta
    if own == Q:
        net, out = model.q, slopes.q
    if model.kind == TABLES:
        for s in range(len(at.slope)):
            for a in range(at.slope.shape[1]):
                out.head[s, a] = at.slope[s, a]
        return
    np.dot(hidden.hidden_2.T, at.slope, out.head)
    out.level[:] = 0
    for s in range(len(at.slope)):
        for a in range(at.slope.shape[1]):
            out.level[a] += at.slope[s, a]
    np.dot(at.slope, net.head.T, hidden.back_2)
    past_units(hidden.back_2, hidden.hidden_2, out.bias_2, model.is_tanh)
    np.dot(hidden.hidden_1.T, hidden.back_2, out.weight_2)
    np.dot(hidden.back_2, net.weight_2.T, hidden.back_1)
    past_units(hidden.back_1, hidden.hidden_1, out.bias_1, model.is_tanh)
    np.dot(states.T, hidden.back_1, out.weight_1)


@compiled
def hidden_room(at: Hidden, states: int) -> Hidden:
    """The part of the room for so many states."""
    return Hidden(
        at.hidden_1[:states], at.hidden_2[:states], at.back_1[:states], at.back_2[:states]
    )


# --- steps
@compiled
def descend(learner: Learner, own: int, rate: float) -> None:
    """A step of AdamW, or of plain gradient, against the gradient of `own`, in place."""
    a, b = learner.ends[own, 0], learner.ends[own, 1]
    parameters, gradient = learner.parameters[a:b], learner.gradient[a:b]
    number = parameters.dtype.type
    learner.done[own] += 1
    if not learner.is_adam:
        for j in range(len(parameters)):
            parameters[j] -= number(rate) * gradient[j]
        return
    if own == Q and learner.clip < np.inf:
        clip = number(learner.clip)
        for j in range(len(gradient)):
            gradient[j] = min(max(gradient[j], -clip), clip)
    mean, square, step = learner.mean[own], learner.square[own], learner.done[own]
    memory, new = number(MEMORY_2), (number(1.0 - MEMORY_1), number(1.0 - MEMORY_2))
    size, decay = number(rate / (1.0 - MEMORY_1**step)), number(1.0 - rate * learner.decay)
    root = number(1.0 / math.sqrt(1.0 - MEMORY_2**step))
    for j in range(len(parameters)):
        slope = gradient[j]
        mean[j] += new[0] * (slope - mean[j])
        square[j] = memory * square[j] + new[1] * slope * slope
        spread = root * np.sqrt(square[j]) + number(EPSILON)
        parameters[j] = decay * parameters[j] - size * mean[j] / spread


@compiled
def gradient(
    learner: Learner, batch: Batch, own: int, anchor: int, beta: float, term: int
) -> tuple[float, float, float]:
    """The gradient of the ascent loss in zeta's parameters, or of the descent loss in Q's.

    Returns:
        Zeros, or what `q_slope` does.
    """
    losses = 0.0, 0.0, 0.0
    hidden, at = hidden_room(learner.hidden, len(batch.states)), room(learner.at, len(batch.states))
    evaluate(learner.model, batch.states, hidden, at, own)
    if own == ZETA:
        zeta_slope(batch, at)
    else:
        losses = q_slope(batch, at, anchor, beta, term)
    pull_back(learner.model, learner.slopes, batch.states, hidden, at, own)
    return losses


@compiled
def alternate(
    learner: Learner, found: Batches, anchor: int, beta: float, term: int, rate: float
) -> None:
    """An epoch of the public procedure: even batches step zeta, odd ones Q."""
    for i in range(len(found.row_ends) - 1):
        gradient(learner, cut(found, i), i % 2, anchor, beta, term)
        descend(learner, i % 2, rate)


@compiled
def look(
    learner: Learner, found: Batches, truth: Array, weight: Array, anchor: int, beta: float
) -> tuple[float, float, float, float]:
    """Sums of -log pi over the rows, and of e g and |e g| over anchor rows; and the error of r.

    The error is the sum over distinct transitions of weight |Q - beta zeta - truth|; both are (M,),
    or empty.
    """
    nll, signed, absolute, error = 0.0, 0.0, 0.0, 0.0
    for i in range(len(found.row_ends) - 1):
        batch = cut(found, i)
        hidden, at = (
            hidden_room(learner.hidden, len(batch.states)),
            room(learner.at, len(batch.states)),
        )
        evaluate(learner.model, batch.states, hidden, at, Q)
        losses = q_slope(batch, at, anchor, beta, PRINTED)
        nll += losses[0] / batch.share[CHOICE]
        signed += losses[1] / batch.share[BELLMAN]
        absolute += losses[2] / batch.share[BELLMAN]
        if len(truth):
            for m in range(len(batch.state)):
                s, a = batch.state[m], batch.action[m]
                k = found.row_ends[i] + m
                error += weight[k] * abs(at.q[s, a] - beta * at.zeta[s, a] - truth[k])
    return nll, signed, absolute, error


@compiled
def iterate(
    learner: Learner,
    batch: Batch,
    anchor: int,
    beta: float,
    term: int,
    ascents: int,
    tau_1: float,
    tau_2: float,
    iterations: int,
    limit: float,
) -> tuple[int, float]:
    """Iterations of Algorithm 1, or with no ascent of Algorithm 2, on one batch.

    Returns:
        How many were done, and the signed Bellman term before the last descent. They end, without
        a descent, where it leaves +-limit or is not a number.
    """
    bellman = 0.0
    for done in range(iterations):
        for k in range(ascents + 1):
            own = int(k == ascents)
            bellman = gradient(learner, batch, own, anchor, beta, term)[1]
            if not abs(bellman) <= limit:
                return done, bellman
            descend(learner, own, tau_2 if own == Q else tau_1)
    return iterations, bellman
