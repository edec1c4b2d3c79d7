"""The `author` protocol: our re-implementation of the first author's public code, bus engine.

Facts from github.com/Enoch-H-Kang/DDC-DPT, commit 71f8c08 of 2025-04-24, which states no licence;
no line is carried over. It measures what the published numbers owe to three uses of the true
reward, each a switch: the level (`level_from_truth`: both output layers start at -55, Q* lies in
-60 to -52), the absolute value in place of the printed sign (`absolute`), and the epoch (`Oracle`).

The procedure: one network, two hidden ReLU layers, heads Q(s, .) and zeta(s, .), Xavier-normal
weights, hidden biases 0, raw features. Batches are 32 whole trajectories in file order. Even
batches (0, 2, ...) step zeta on sum (V(s') - zeta(s, a))^2, V detached; odd batches step Q on

    mean -log pi(a | s) + mean over anchor observations of |td^2 - beta^2 dev^2|,
    td = Q(s, a) - r - beta V(s'),  dev = V(s') - zeta(s, a) with zeta detached,

each gradient entry clipped to [-1, 1]. Each kind of step has its own AdamW over its head and the
trunk (weight decay 1e-4), with learning rate 1e-3 / (1 + 5e-4 epoch). With a single batch an epoch
(32 trajectories or fewer) Q is never updated. r-hat = Q - beta zeta.

The steps are those of the public code, the numbers are not: its float32, by observation, leaves the
same training in float64 by 1 % after 50 to 60 epochs on its own data, and both then wander. Batches
are counts n(s, a, s'), so that the cost of a step is free of N. In float64 the training on counts
is that by observation; in float32 its gradients have errors of the size of those by observation.
Where all states are positive, units that are off in each of them for good are left out. Without the
extra `compiled` the loops take some hundred times longer.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gladius.model.estimate import Estimate, Fit, counts_estimates
from gladius.panel.anchor import Anchor
from gladius.panel.record import Counts, Integers, Transitions, grid_positions, group
from gladius.paper.author_network import (
    DECAY,
    LEARNING_RATE,
    Layout,
    TrainingProblem,
    epoch_steps,
    forward,
    q_gradient,
    test_error,
)
from gladius.solvers.networks import without_denormals
from gladius.validate import Array, InputError, check_discount, check_options, check_whole

LEVEL = -55.0  # of the output biases, where the truth sets the level


@dataclass(frozen=True)
class Oracle:
    """What the choice of the epoch by true error uses."""

    test: Sequence[Transitions]  # a test split for each replication
    truth: Callable[[Array, Integers], Array]  # the true r of (n, d) features and (n,) actions


@dataclass(frozen=True)
class Selection:
    """The networks at one epoch of R replications."""

    epoch: Integers  # (R,) epochs trained before it (0: the untrained network)
    q: Array  # (R, S, A), as zeta, on the grid of the training states
    zeta: Array
    gradient: Array  # (R,) largest entry of the gradient of the Q loss over the whole training data
    # R of them, each as its layout and its vector of parameters
    networks: tuple[tuple[Layout, Array], ...]

    def combination(self, replication: int, weight: float, states: Array) -> Array:
        """Q + weight zeta, (n, A), of a replication at any (n, d) states."""
        layout, parameters = self.networks[replication]
        x = states.astype(parameters.dtype)
        at = layout.signals(x)
        forward(layout.blocks(parameters), x, at)
        return at.q.T.astype(np.float64) + weight * at.zeta.T


@dataclass(frozen=True)
class AuthorResult:
    """The end of a training."""

    counts: Counts  # the training data
    last: Selection  # after the last epoch
    # at the start of the epoch with the smallest test MAPE, or None without an oracle
    oracle: Selection | None
    cpu_seconds: float  # processor time


@dataclass(frozen=True)
class Pass:
    """One training of one network."""

    trace: Array  # (epochs,) test MAPE, per cent, before each epoch
    last: Selection  # before the last epoch, as the last of `trace`
    best: Selection  # at the smallest of `trace`
    cpu_seconds: float  # processor time


@without_denormals()  # as in `run`
def passes(
    data: Transitions,
    anchor: Anchor,
    discount: float,
    oracle: Oracle,
    *,
    start: Array,
    repetitions: int = 1,
    absolute: bool = True,
    epochs: int = 20_000,
    units: int = 50,
    batch_trajectories: int = 32,
    dtype: type[np.floating[Any]] = np.float64,
) -> list[Pass]:
    """Trainings of one network on one data set, each from where the one before ended.

    A repetition of the public code is such a pass: weights and moments stay, and the learning rate
    starts anew. Unlike `run` it has the whole path of the error.

    Args:
        data: the training set, trajectories in file order.
        anchor, discount, oracle, absolute, epochs, units, batch_trajectories: see `run`.
        start: initial weights, a vector of `Layout`.
        repetitions: passes.
        dtype: working precision; float32 in the code.

    Raises:
        InputError: for a bad option, or data that the code cannot train on.
    """
    check_discount(discount)
    settings = {"epochs": epochs, "units": units, "batch_trajectories": batch_trajectories}
    for name, number in (settings | {"repetitions": repetitions}).items():
        check_whole(name, number, 1)
    counts = group([data])
    net = Layout(counts.states.shape[1], (units, units), counts.visits.shape[2])
    if np.shape(start) != (size := sum(map(math.prod, net.shapes)),):
        raise InputError("start", np.shape(start), f"give a vector of {size} numbers")
    tests = _test_sets(oracle, [data], batch_trajectories)
    make = partial(_problems, counts, [data], anchor, discount, absolute, tests, dtype)
    (problem,), whole = make(batch_trajectories), make(len(data))
    start_time, found = time.process_time(), []
    trainings = _trainings(net, np.array(start, dtype), problem, epochs, repetitions)
    for net, trace, epoch, best, before, _ in trainings:
        ends = _select([(net, before)], [epochs - 1], whole), _select([(net, best)], [epoch], whole)
        found.append(Pass(trace, *ends, time.process_time() - start_time))
        start_time = time.process_time()
    return found


@without_denormals()  # dead units have them; all trainings compared had the same bits
def run(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    rngs: Sequence[np.random.Generator],
    level_from_truth: bool = True,
    absolute: bool = True,
    epochs: int = 20_000,
    units: int = 50,
    batch_trajectories: int = 32,
    oracle: Oracle | None = None,
    dtype: type[np.floating[Any]] = np.float32,
) -> AuthorResult:
    """The training of R replications.

    Args:
        data: R training sets with equally many batches, trajectories in file order.
        anchor: the anchor action and its reward.
        discount: beta.
        rngs: one generator a replication, for its initial weights (nothing else is random).
        level_from_truth: output biases start at -55 (leak), else at 0.
        absolute: |td^2 - beta^2 dev^2| as in the code, else the paper's signed term.
        epochs: passes over the data.
        units: hidden units a layer (50 in the code's configuration, 10 in the paper).
        batch_trajectories: trajectories a batch.
        oracle: what the choice of the epoch by true error uses (leak), or None.
        dtype: working precision; float32 in the code.

    Raises:
        InputError: for a bad option, or data that the code cannot train on.
    """
    check_discount(discount)
    settings = {"epochs": epochs, "units": units, "batch_trajectories": batch_trajectories}
    for name, number in settings.items():
        check_whole(name, number, 1)
    if len(rngs) != len(data):
        raise InputError("rngs", f"{len(rngs)} generators", f"give {len(data)}, one a data set")
    start_time = time.process_time()

    counts = group(data)
    level = LEVEL if level_from_truth else 0.0
    layout = Layout(counts.states.shape[1], (units, units), counts.visits.shape[2])
    tests = _test_sets(oracle, data, batch_trajectories)
    make = partial(_problems, counts, data, anchor, discount, absolute, tests, dtype)
    last, best, epoch = [], [], []
    for problem, rng in zip(make(batch_trajectories), rngs, strict=True):
        start = layout.initial(level, rng).astype(dtype)
        ((net, _, least, found, _, end),) = _trainings(layout, start, problem, epochs)
        last.append((net, end))
        best.append((net, found))
        epoch.append(least)
    whole = make(max(len(one) for one in data))
    return AuthorResult(
        counts,
        _select(last, [epochs] * len(data), whole),
        None if oracle is None else _select(best, epoch, whole),
        time.process_time() - start_time,
    )


def _trainings(
    net: Layout, start: Array, problem: TrainingProblem, epochs: int, repetitions: int = 1
) -> Iterator[tuple[Layout, Array, int, Array, Array, Array]]:
    """Trainings from `start`, each from where the one before ended, as `passes` has them.

    Each is the layout, the (epochs,) test MAPE before each epoch (zeros without a test set), the
    epoch of the smallest, and the parameters there, before the last epoch and at the end.
    """
    parameters = start
    if min(np.min(problem.states), np.min(problem.test_states, initial=np.inf)) > 0:
        net, parameters = net.without_dead_units(parameters)
    gradient = np.zeros_like(parameters)
    blocks = parameters, net.blocks(parameters), gradient, net.blocks(gradient)
    at, at_test = net.signals(problem.states), net.signals(problem.test_states)
    width = len(parameters) - blocks[1].zeta_weight.size - blocks[1].zeta_bias.size
    mean, square = np.zeros((2, 2, width), parameters.dtype)
    done = np.zeros(2, dtype=np.int64)
    for _ in range(repetitions):
        trace, best, epoch = np.zeros(epochs), parameters, 0
        for i in range(epochs):
            if len(problem.test_states):  # the code looks before each epoch, so never at the end
                trace[i] = test_error(blocks[1], problem, at_test)
            if i == 0 or trace[i] < trace[epoch]:
                best, epoch = parameters.copy(), i
            before = parameters.copy() if i == epochs - 1 else parameters
            rate = LEARNING_RATE / (1.0 + DECAY * i)
            epoch_steps(*blocks, problem, at, mean, square, done, rate)
        yield net, trace, epoch, best, before, parameters.copy()


def _select(
    networks: Sequence[tuple[Layout, Array]],
    epoch: Sequence[int],
    problems: Sequence[TrainingProblem],
) -> Selection:
    """Tables and parameters of networks; each problem has one batch, all of the data."""
    q, zeta, steepest = [], [], []
    for (layout, parameters), problem in zip(networks, problems, strict=True):
        at, gradient = layout.signals(problem.states), np.zeros_like(parameters)
        q_gradient(layout.blocks(parameters), layout.blocks(gradient), problem, at, 0)
        q.append(at.q.T.astype(np.float64))
        zeta.append(at.zeta.T.astype(np.float64))
        steepest.append(float(np.abs(gradient).max()))
    tables = np.array(q), np.array(zeta)
    return Selection(np.array(epoch), *tables, np.array(steepest), tuple(networks))


def _problems(
    counts: Counts,
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    absolute: bool,
    tests: Sequence[tuple[Array, Array, Array]],
    dtype: type[np.floating[Any]],
    trajectories: int,
) -> list[TrainingProblem]:
    """The training data `counts` by batches of whole trajectories in file order, by data set."""
    labels = [pd.factorize(one.trajectory)[0] // trajectories for one in data]
    number = int(labels[0].max()) + 1
    problems = []
    reward = anchor.values(counts.states)
    for r, (one, label) in enumerate(zip(data, labels, strict=True)):
        if int(label.max()) + 1 != number:
            hint = f"data[0] has {number}: give equal numbers"
            raise InputError(f"data[{r}]", f"{int(label.max()) + 1} batches", hint)
        if np.any(one.done):
            raise InputError(f"data[{r}].done", True, "this protocol knows no ends of paths")
        moves = np.zeros((number, *counts.moves.shape[1:]))
        state, following = (grid_positions(counts.states, x) for x in (one.states, one.next_states))
        np.add.at(moves, (label, one.actions, state, following), 1.0)
        anchored = moves[:, anchor.action]
        uses = anchored.sum(axis=(1, 2))
        if np.any(uses[1::2] == 0):
            batch = f"batch {2 * int(np.argmin(uses[1::2])) + 1}"
            hint = f"action {anchor.action} never occurs there: use larger batches"
            raise InputError(f"data[{r}]", batch, hint)
        weights = anchored / np.maximum(uses, 1.0)[:, None, None]
        size = moves.sum(axis=(1, 2, 3))
        training = [counts.states, moves.sum(axis=3), moves, size, weights, reward]
        own, test = (
            [np.array(x, dtype, order="C") for x in arrays] for arrays in (training, tests[r])
        )
        fields = [*own, anchor.action, dtype(discount), absolute, *test]
        problems.append(TrainingProblem._make(fields))
    return problems


def _test_sets(
    oracle: Oracle | None, data: Sequence[Transitions], trajectories: int
) -> list[tuple[Array, Array, Array]]:
    """For each data set (states (T, d), weights (A, T), true rewards (A, T)) of the test MAPE.

    The code averages the means of test batches, of which the last may be smaller. Without an
    oracle T is 0.
    """
    if oracle is None:
        none = np.ones((data[0].number_of_actions, 0))
        return [(one.states[:0], none, none) for one in data]
    if len(oracle.test) != len(data):
        raise InputError("oracle.test", f"{len(oracle.test)} splits", f"give {len(data)}")
    grid = group(oracle.test)
    actions = np.arange(grid.visits.shape[2])
    pairs = np.repeat(grid.states, len(actions), axis=0), np.tile(actions, len(grid.states))
    truth = np.asarray(oracle.truth(*pairs)).reshape(len(grid.states), -1).T
    if np.any(truth == 0):
        raise InputError("oracle.truth", 0.0, "MAPE is undefined where the true reward is zero")
    tests = []
    for one in oracle.test:
        label = pd.factorize(one.trajectory)[0] // trajectories
        share = 1.0 / np.bincount(label)[label] / (label.max() + 1)
        weights = np.zeros(truth.shape)
        np.add.at(weights, (one.actions, grid_positions(grid.states, one.states)), share)
        tests.append((grid.states, weights, truth))
    return tests


def estimates(
    result: AuthorResult, anchor: Anchor, discount: float, selection: str
) -> list[Estimate]:
    """The Estimates of one training for `selection` "last" or "oracle" (the leak).

    The status is `diverged` where the tables are not finite, else `not_converged`: the code stops
    at its number of epochs, whatever the gradient.
    """
    selected = {"last": result.last, "oracle": result.oracle}.get(selection)
    if selected is None:
        hint = "choose last, or oracle where the run had an oracle"
        raise InputError("selection", selection, hint)
    is_finite = np.all(np.isfinite(selected.q + selected.zeta), axis=(1, 2))
    fits = [
        Fit(
            partial(selected.combination, r, 0.0),
            partial(selected.combination, r, -discount),
            status="not_converged" if is_finite[r] else "diverged",
            iterations=selected.epoch[r],
            gradient_norm=selected.gradient[r],
            extra={"selection": selection},
        )
        for r in range(len(selected.q))
    ]
    name = f"gladius (author, {selection} epoch)"
    return counts_estimates(name, fits, result.counts, anchor, discount)


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    oracle: Oracle | None = None,
    rngs: Sequence[np.random.Generator] | None = None,
    **options: Any,
) -> list[Estimate]:
    """Estimates of the oracle's epoch if an oracle is given, else of the last.

    Args:
        data, anchor, discount, oracle: see `run`.
        rngs: see `run`; by default children of seed 0.
        options: the other options of `run`.
    """
    check_options(run, options)
    seeds = np.random.SeedSequence(0).spawn(len(data))
    rngs = [np.random.default_rng(s) for s in seeds] if rngs is None else rngs
    result = run(data, anchor, discount, oracle=oracle, rngs=rngs, **options)
    return estimates(result, anchor, discount, "last" if oracle is None else "oracle")
