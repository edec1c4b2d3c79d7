"""The network of the first author's public code, and its training on one data set.

One trunk of two hidden ReLU layers has a head Q(s, .) and a head zeta(s, .). Gradients are written
out for counts n(s, a, s'). In machine code (`gladius.solvers.compiled`) a step takes microseconds,
since all arrays of a training stay in the processor's cache. See `gladius.paper.author` for the
losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gladius.panel.record import Integers
from gladius.solvers.compiled import compiled
from gladius.validate import Array

LEARNING_RATE, DECAY = 1e-3, 5e-4
MEMORY_1, MEMORY_2, EPSILON, WEIGHT_DECAY = 0.9, 0.999, 1e-8, 1e-4  # AdamW's
CLIP = 1.0


class AuthorNetwork(NamedTuple):
    """The parameters, by block, as views of one vector.

    Zeta's head comes first and Q's last, so that the parameters of either optimiser are contiguous.
    """

    zeta_weight: Array  # (A, H)
    zeta_bias: Array  # (A, 1)
    weight_1: Array  # (d, H)
    bias_1: Array  # (1, H)
    weight_2: Array  # (H, H)
    bias_2: Array  # (1, H)
    q_weight: Array  # (A, H)
    q_bias: Array  # (A, 1)


class TrainingProblem(NamedTuple):
    """B batches of one data set as counts over S states, and a test set."""

    states: Array  # (S, d)
    visits: Array  # (B, A, S) n(s, a)
    moves: Array  # (B, A, S, S) n(s, a, s')
    size: Array  # (B,) transitions in the batch
    anchored: Array  # (B, S, S) n(s, a_s, s') / n(a_s), the weights of the Bellman term
    reward: Array  # (S,) the anchor's
    anchor: int  # a_s
    discount: float  # beta
    absolute: bool  # whether the Bellman term is taken in absolute value
    # test_states, test_weights, test_truth: (T, d), (A, T), (A, T); T = 0 where there is no test
    test_states: Array
    test_weights: Array
    test_truth: Array


class Signals(NamedTuple):
    """What a step computes at S states; written anew by each step."""

    hidden_1: Array  # (S, H)
    hidden_2: Array  # (S, H)
    back_1: Array  # (S, H) derivatives in the hidden layers
    back_2: Array  # (S, H)
    q: Array  # (A, S)
    zeta: Array  # (A, S)
    policy: Array  # (A, S)
    slope: Array  # (A, S) derivative in the outputs of one head
    value: Array  # (S,)
    pull: Array  # (S,) derivative in V(s')
    own: Array  # (S,) derivative in Q at the anchor


@dataclass(frozen=True)
class Layout:
    """The numbers of features, of units in both hidden layers, and of actions."""

    features: int
    units: tuple[int, int]
    actions: int

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """The shapes of the blocks."""
        first, second = self.units
        head = [(self.actions, second), (self.actions, 1)]
        return [*head, (self.features, first), (1, first), (first, second), (1, second), *head]

    def blocks(self, parameters: Array) -> AuthorNetwork:
        """The blocks of a vector of parameters."""
        ends = np.cumsum([0, *(math.prod(shape) for shape in self.shapes)])
        pieces = zip(pairwise(ends), self.shapes, strict=True)
        return AuthorNetwork(*(parameters[a:b].reshape(shape) for (a, b), shape in pieces))

    def signals(self, states: Array) -> Signals:
        """Room for the signals at the (S, d) states."""
        number, tables = len(states), [(self.actions, len(states))] * 4
        shapes = [*((number, h) for h in self.units * 2), *tables, *[(number,)] * 3]
        return Signals(*(np.empty(shape, states.dtype) for shape in shapes))

    def initial(self, level: float, rng: np.random.Generator) -> Array:
        """The vector of Xavier-normal weights, zero hidden biases, output biases `level`."""
        parameters = np.zeros(sum(math.prod(shape) for shape in self.shapes))
        net = self.blocks(parameters)
        for block in net[::2]:
            block[:] = rng.normal(0.0, math.sqrt(2.0 / sum(block.shape)), block.shape)
        net.zeta_bias[:], net.q_bias[:] = level, level
        return parameters

    def without_dead_units(self, parameters: Array) -> tuple[Layout, Array]:
        """The network without the first layer's units that are off at every positive state.

        Such a unit has no positive weight and the bias 0. Its gradient is zero, and weight decay
        does not change the sign of its weights, so that it stays off.
        """
        net = self.blocks(parameters)
        is_on = (net.weight_1 > 0).any(axis=0)
        first, second = net.weight_1[:, is_on], net.weight_2[is_on]
        alive = net._replace(weight_1=first, bias_1=net.bias_1[:, is_on], weight_2=second)
        layout = replace(self, units=(int(is_on.sum()), self.units[1]))
        return layout, np.concatenate([block.ravel() for block in alive])


@compiled
def forward(net: AuthorNetwork, states: Array, at: Signals) -> None:
    """Both hidden layers, Q and zeta at the (S, d) states, into `at`."""
    zero = states.dtype.type(0)
    for layer, weight, bias, signal in (
        (states, net.weight_1, net.bias_1, at.hidden_1),
        (at.hidden_1, net.weight_2, net.bias_2, at.hidden_2),
    ):
        np.dot(layer, weight, signal)
        for s in range(len(signal)):
            for h in range(signal.shape[1]):
                signal[s, h] = max(signal[s, h] + bias[0, h], zero)
    np.dot(net.q_weight, at.hidden_2.T, at.q)
    np.dot(net.zeta_weight, at.hidden_2.T, at.zeta)
    for a in range(len(at.q)):
        for s in range(len(states)):
            at.q[a, s] += net.q_bias[a, 0]
            at.zeta[a, s] += net.zeta_bias[a, 0]


@compiled
def choose(at: Signals) -> None:
    """V and pi of Q, into `at`."""
    for s in range(len(at.value)):
        top, total = at.q[0, s], at.q[0, s]
        for a in range(1, len(at.q)):
            top = max(top, at.q[a, s])
        total -= total
        for a in range(len(at.q)):
            at.policy[a, s] = np.exp(at.q[a, s] - top)
            total += at.policy[a, s]
        for a in range(len(at.q)):
            at.policy[a, s] /= total
        at.value[s] = top + np.log(total)


@compiled
def backward(net: AuthorNetwork, out: AuthorNetwork, states: Array, at: Signals, head: int) -> None:
    """The gradient of a head and the trunk from `at.slope`, the derivative in the head's outputs.

    Args:
        head: 0 for zeta's, 1 for Q's.
    """
    zero = states.dtype.type(0)
    weight, out_weight, out_bias = net.zeta_weight, out.zeta_weight, out.zeta_bias
    if head == 1:
        weight, out_weight, out_bias = net.q_weight, out.q_weight, out.q_bias
    np.dot(at.slope, at.hidden_2, out_weight)
    out_bias[:] = 0
    for a in range(len(out_bias)):
        for s in range(len(states)):
            out_bias[a, 0] += at.slope[a, s]
    at.back_2[:], out.bias_2[:], out.bias_1[:] = 0, 0, 0
    for s in range(len(states)):
        for a in range(len(out_bias)):
            slope = at.slope[a, s]
            for h in range(weight.shape[1]):
                at.back_2[s, h] += slope * weight[a, h]
        for h in range(weight.shape[1]):
            at.back_2[s, h] = at.back_2[s, h] if at.hidden_2[s, h] > 0 else zero
            out.bias_2[0, h] += at.back_2[s, h]
    np.dot(at.hidden_1.T, at.back_2, out.weight_2)
    np.dot(at.back_2, net.weight_2.T, at.back_1)
    for s in range(len(states)):
        for h in range(at.back_1.shape[1]):
            at.back_1[s, h] = at.back_1[s, h] if at.hidden_1[s, h] > 0 else zero
            out.bias_1[0, h] += at.back_1[s, h]
    np.dot(states.T, at.back_1, out.weight_1)


@compiled
def zeta_gradient(
    net: AuthorNetwork, out: AuthorNetwork, problem: TrainingProblem, at: Signals, i: int
) -> None:
    """Gradient of sum (V(s') - zeta(s, a))^2, V detached, into zeta's head and the trunk."""
    forward(net, problem.states, at)
    choose(at)
    visits, moves = problem.visits[i], problem.moves[i]
    for a in range(len(at.q)):
        for s in range(len(at.value)):
            gap = visits[a, s] * at.zeta[a, s]
            for z in range(len(at.value)):
                gap -= moves[a, s, z] * at.value[z]
            at.slope[a, s] = gap + gap
    backward(net, out, problem.states, at, 0)


@compiled
def q_gradient(
    net: AuthorNetwork, out: AuthorNetwork, problem: TrainingProblem, at: Signals, i: int
) -> None:
    """Gradient of cross-entropy + Bellman term, zeta detached, into Q's head and the trunk.

    td^2 - beta^2 dev^2 = e g with e = td + beta dev = Q - r - beta zeta, free of s', and
    g = td - beta dev = Q - r + beta zeta - 2 beta V(s').
    """
    forward(net, problem.states, at)
    choose(at)
    anchor, beta, visits = problem.anchor, problem.discount, problem.visits[i]
    at.pull[:] = 0
    for s in range(len(at.value)):
        own = at.q[anchor, s] - problem.reward[s]
        e = own - beta * at.zeta[anchor, s]
        slope = e - e
        for z in range(len(at.value)):
            g = own + beta * at.zeta[anchor, s] - (beta + beta) * at.value[z]
            weight = problem.anchored[i, s, z]
            if problem.absolute:
                weight *= np.sign(g) * np.sign(e)
            slope += weight * (g + e)
            at.pull[z] += weight * e
        at.own[s] = slope
    for s in range(len(at.value)):
        total = at.own[s] - at.own[s]
        for a in range(len(at.q)):
            total += visits[a, s]
        total = total / problem.size[i] - (beta + beta) * at.pull[s]
        for a in range(len(at.q)):
            at.slope[a, s] = at.policy[a, s] * total - visits[a, s] / problem.size[i]
        at.slope[anchor, s] += at.own[s]
    backward(net, out, problem.states, at, 1)


@compiled
def adamw(
    parameters: Array, gradient: Array, mean: Array, square: Array, step: int, rate: float
) -> None:
    """Step number `step` of AdamW, from 1, in place."""
    number = parameters.dtype.type
    memory, new = number(MEMORY_2), (number(1.0 - MEMORY_1), number(1.0 - MEMORY_2))
    size, decay = number(rate / (1.0 - MEMORY_1**step)), number(1.0 - rate * WEIGHT_DECAY)
    root = number(1.0 / math.sqrt(1.0 - MEMORY_2**step))
    for j in range(len(parameters)):
        slope = gradient[j]
        mean[j] += new[0] * (slope - mean[j])
        square[j] = memory * square[j] + new[1] * slope * slope
        spread = root * np.sqrt(square[j]) + number(EPSILON)
        parameters[j] = decay * parameters[j] - size * mean[j] / spread


@compiled
def test_error(net: AuthorNetwork, problem: TrainingProblem, at: Signals) -> float:
    """The test MAPE in per cent."""
    forward(net, problem.test_states, at)
    total = 0.0
    for a in range(len(at.q)):
        for s in range(len(at.value)):
            reward = at.q[a, s] - problem.discount * at.zeta[a, s]
            truth = problem.test_truth[a, s]
            total += problem.test_weights[a, s] * abs((reward - truth) / truth)
    return 100.0 * total


@compiled
def epoch_steps(
    parameters: Array,
    net: AuthorNetwork,
    gradient: Array,
    out: AuthorNetwork,
    problem: TrainingProblem,
    at: Signals,
    mean: Array,
    square: Array,
    done: Integers,
    rate: float,
) -> None:
    """The steps of one epoch, with the parameters and the optimisers' states in place.

    Args:
        parameters, gradient: vectors.
        net, out: their blocks.
        problem: the batches, in their order.
        at: room.
        mean, square, done: (2, P), (2, P), (2,) moments and numbers of steps, of zeta's and Q's.
        rate: the epoch's learning rate.
    """
    head = net.zeta_weight.size + net.zeta_bias.size
    width, clip = len(parameters) - head, parameters.dtype.type(CLIP)
    for i in range(len(problem.visits)):
        k = i % 2
        if k == 0:
            zeta_gradient(net, out, problem, at, i)
        else:
            q_gradient(net, out, problem, at, i)
            for j in range(head, len(gradient)):
                gradient[j] = min(max(gradient[j], -clip), clip)
        own = slice(k * head, k * head + width)
        done[k] += 1
        adamw(parameters[own], gradient[own], mean[k], square[k], done[k], rate)
