"""The `author` protocol: what the first author's public code does on the bus engine.

It is no recommendation. It measures what the published numbers owe to three uses of the true
reward, each a switch: the level (`level_from_truth`: both output layers start at -55, and Q* lies
between -60 and -52), the absolute value in place of the printed signed term (`absolute`), and the
epoch (`Oracle`: the one whose test MAPE by the true reward is smallest).

The procedure, in the paper's symbols: one network, two hidden ReLU layers, heads Q(s, .) and
zeta(s, .), Xavier-normal weights, hidden biases 0, raw features. Batches are 32 whole trajectories
in file order. Even batches (0, 2, ...) step zeta on sum (V(s') - zeta(s, a))^2, V detached; odd
batches step Q on

    mean -log pi(a | s) + mean over anchor observations of |td^2 - beta^2 dev^2|,
    td = Q(s, a) - r - beta V(s'),  dev = V(s') - zeta(s, a) with zeta detached,

each gradient entry clipped to [-1, 1]. Each kind of step has its own AdamW over its head and the
trunk (weight decay 1e-4), with learning rate 1e-3 / (1 + 5e-4 epoch). With a single batch an epoch
(32 trajectories or fewer) Q is never updated. r-hat = Q - beta zeta.

Implementation choices, to rounding the same numbers as the public code:

- Batches are counts n(s, a, s') over the states that occur: the cost of a step is free of N.
- Gradients are written out, in `gladius.author_network`, and AdamW is called without its
  optimiser object, for speed.
- Replications are a leading axis. Small matrices: one thread is fastest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.optim.adamw import adamw

from gladius.anchor import Anchor
from gladius.author_network import (
    ZETA,
    AuthorNetwork,
    Q,
    TrainingProblem,
    forward,
    initial,
    q_gradient,
    zeta_gradient,
)
from gladius.checks import Array, InputError, check_discount, check_options, check_whole
from gladius.estimate import Estimate, Fit, counts_estimates
from gladius.transitions import Counts, Integers, Transitions, grid_positions, group

LEVEL = -55.0  # of the output biases, where the truth sets the level
LEARNING_RATE, DECAY = 1e-3, 5e-4
ADAMW: dict[str, Any] = {"weight_decay": 1e-4, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
ADAMW |= {"fused": True, "foreach": False, "amsgrad": False, "maximize": False}
CLIP = 1.0


@dataclass(frozen=True)
class Oracle:
    """What the choice of the epoch by true error uses.

    Attributes:
        test: a test split for each replication.
        truth: the true r of (n, d) features and (n,) actions.
    """

    test: Sequence[Transitions]
    truth: Callable[[Array, Integers], Array]


@dataclass(frozen=True)
class Selection:
    """The network at one epoch for each of R replications.

    Attributes:
        epoch: (R,) epochs trained before it (0: the untrained network).
        q, zeta, reward: (R, S, A) on the grid of the training states.
        gradient: (R,) largest entry of the gradient of the Q loss over the whole training data.
        blocks: the network's parameters, see `AuthorNetwork`.
    """

    epoch: Integers
    q: Array
    zeta: Array
    reward: Array
    gradient: Array
    blocks: tuple[Array, ...]

    def combination(self, replication: int, weight: float, states: Array) -> Array:
        """Q + weight zeta, (n, A), of a replication at any (n, d) states."""
        one = slice(replication, replication + 1)
        net = AuthorNetwork(*(torch.from_numpy(block[one]) for block in self.blocks))
        x = torch.as_tensor(states[None], dtype=net.weight_1.dtype)
        q, zeta = (table[0].T.double().numpy() for table in forward(net, x)[:2])
        return np.asarray(q + weight * zeta)


@dataclass(frozen=True)
class AuthorResult:
    """The end of a training.

    Attributes:
        counts: the training data.
        last: after the last epoch.
        oracle: at the start of the epoch with the smallest test MAPE, or None without an oracle.
        cpu_seconds: processor time.
    """

    counts: Counts
    last: Selection
    oracle: Selection | None
    cpu_seconds: float


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
    dtype: torch.dtype = torch.float32,
) -> AuthorResult:
    """The training of R replications side by side.

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

    def problem(trajectories: int) -> TrainingProblem:
        return make_problem(counts, data, anchor, discount, absolute, trajectories, dtype)

    counts = group(data)
    test_set = None if oracle is None else _test_set(oracle, len(data), batch_trajectories, dtype)
    level = LEVEL if level_from_truth else 0.0
    net = initial(counts.states.shape[1], units, counts.visits.shape[2], level, rngs, dtype)
    with torch.no_grad():
        best, best_epoch = _train(net, problem(batch_trajectories), test_set, epochs)
        whole = problem(max(len(one) for one in data))
        last = _select(net, np.full(len(data), epochs), whole)
        selected = None if oracle is None else _select(best, best_epoch, whole)
    return AuthorResult(counts, last, selected, time.process_time() - start_time)


def _train(
    net: AuthorNetwork, problem: TrainingProblem, test_set: tuple[Tensor, ...] | None, epochs: int
) -> tuple[AuthorNetwork, Integers]:
    """The network of least test error, and its (R,) epochs; `net` is trained in place."""
    number = len(problem.states)
    out = AuthorNetwork(*map(torch.zeros_like, net))
    blocks = slice(Q), slice(ZETA + 2, None)  # of zeta's optimiser and of Q's
    mean = [[torch.zeros_like(parameter) for parameter in net[i]] for i in blocks]
    square = [[torch.zeros_like(parameter) for parameter in net[i]] for i in blocks]
    steps = [[torch.zeros(()) for _ in net[i]] for i in blocks]
    best, best_epoch = AuthorNetwork(*(p.clone() for p in net)), np.zeros(number, dtype=np.int64)
    best_error = torch.full((number,), torch.inf, dtype=net.q_bias.dtype)
    for epoch in range(epochs):
        if test_set is not None:  # the code looks before each epoch, so never at the end
            error = _test_error(net, test_set, problem.discount)
            is_better = error < best_error
            if bool(is_better.any()):
                best_error[is_better] = error[is_better]
                best_epoch[is_better.numpy()] = epoch
                for old, new in zip(best, net, strict=True):
                    old[is_better] = new[is_better]
        rate = LEARNING_RATE / (1.0 + DECAY * epoch)
        for i in range(len(problem.visits)):
            if i % 2 == 0:
                zeta_gradient(net, out, problem, i)
            else:
                q_gradient(net, out, problem, i)
                for block in out[ZETA + 2 :]:
                    block.clamp_(-CLIP, CLIP)
            k = i % 2
            parameters, gradients = list(net[blocks[k]]), list(out[blocks[k]])
            adamw(parameters, gradients, mean[k], square[k], [], steps[k], lr=rate, **ADAMW)
    return best, best_epoch


def _select(net: AuthorNetwork, epoch: Integers, problem: TrainingProblem) -> Selection:
    """Tables and parameters of a network; the problem has one batch, all of the data."""
    out = AuthorNetwork(*map(torch.zeros_like, net))
    q_gradient(net, out, problem, 0)
    gradient = torch.stack([block.abs().amax((1, 2)) for block in out]).amax(0)
    outputs = forward(net, problem.states)[:2]
    q, zeta = (np.swapaxes(x.double().numpy(), 1, 2) for x in outputs)
    blocks = tuple(block.numpy().copy() for block in net)
    return Selection(epoch, q, zeta, q - problem.discount * zeta, gradient.double().numpy(), blocks)


def make_problem(
    counts: Counts,
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    absolute: bool,
    trajectories: int,
    dtype: torch.dtype,
) -> TrainingProblem:
    """The training data `counts` by batches of whole trajectories in file order."""
    labels = [pd.factorize(one.trajectory)[0] // trajectories for one in data]
    number = int(labels[0].max()) + 1
    for r, (one, label) in enumerate(zip(data, labels, strict=True)):
        if int(label.max()) + 1 != number:
            hint = f"data[0] has {number}: give equal numbers"
            raise InputError(f"data[{r}]", f"{int(label.max()) + 1} batches", hint)
        if np.any(one.done):
            raise InputError(f"data[{r}].done", True, "this protocol knows no ends of paths")
    labelled = list(zip(data, labels, strict=True))
    batches = group([one.take(label == b) for b in range(number) for one, label in labelled])
    lead = (number, len(data))
    visits = batches.visits.reshape(*lead, *batches.visits.shape[1:])
    moves = batches.moves.reshape(*lead, *batches.moves.shape[1:])
    anchored = moves[:, :, anchor.action]
    uses = anchored.sum(axis=(2, 3), keepdims=True)
    if np.any(uses[1::2] == 0):
        b, r = np.argwhere(uses[1::2, :, 0, 0] == 0)[0]
        hint = f"action {anchor.action} never occurs there: use larger batches"
        raise InputError(f"data[{r}]", f"batch {2 * b + 1}", hint)

    def tensor(array: Array) -> Tensor:
        return torch.tensor(np.array(array), dtype=dtype)

    return TrainingProblem(
        states=tensor(np.broadcast_to(counts.states, (len(data), *counts.states.shape))),
        visits=tensor(np.swapaxes(visits, 2, 3)),
        moves=tensor(moves),
        size=tensor(visits.sum(axis=(2, 3))[..., None, None]),
        anchored=tensor(anchored / np.maximum(uses, 1.0)),
        reward=tensor(anchor.values(counts.states)),
        anchor=anchor.action,
        discount=discount,
        absolute=absolute,
    )


def _test_set(
    oracle: Oracle, number: int, trajectories: int, dtype: torch.dtype
) -> tuple[Tensor, ...]:
    """(states (R, S, d), weights (R, A, S), true rewards (A, S)) of the code's test MAPE.

    The code averages the means of test batches, of which the last may be smaller.
    """
    if len(oracle.test) != number:
        raise InputError("oracle.test", f"{len(oracle.test)} splits", f"give {number}")
    grid = group(oracle.test)
    weights = np.zeros_like(grid.visits)
    for r, one in enumerate(oracle.test):
        label = pd.factorize(one.trajectory)[0] // trajectories
        share = 1.0 / np.bincount(label)[label] / (label.max() + 1)
        np.add.at(weights[r], (grid_positions(grid.states, one.states), one.actions), share)
    actions = np.arange(weights.shape[2])
    pairs = np.repeat(grid.states, len(actions), axis=0), np.tile(actions, len(grid.states))
    truth = np.asarray(oracle.truth(*pairs)).reshape(len(grid.states), -1).T
    if np.any(truth == 0):
        raise InputError("oracle.truth", 0.0, "MAPE is undefined where the true reward is zero")
    states = np.broadcast_to(grid.states, (number, *grid.states.shape)).copy()
    arrays = states, np.swapaxes(weights, 1, 2), truth
    return tuple(torch.as_tensor(array, dtype=dtype) for array in arrays)


def _test_error(net: AuthorNetwork, test_set: tuple[Tensor, ...], discount: float) -> Tensor:
    """(R,) test MAPE in per cent."""
    states, weights, truth = test_set
    q, zeta, *_ = forward(net, states)
    error = torch.sub(q, zeta, alpha=discount).sub_(truth).div_(truth).abs_()
    return (error * weights).sum((1, 2)).mul_(100.0)


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
