"""The `author` protocol: what the first author's public code does on the bus engine.

Not a recommendation. It is here to find out what the published numbers owe to three leaks of
the truth, each a switch: the level (`level_from_truth`: both output layers start at -55, and
the true Q* lies between -60 and -52), the absolute value in place of the printed signed term
(`absolute`), and the epoch reported (`oracle`: the one whose test MAPE by the *true* reward is
smallest). The last epoch is always recorded beside the oracle's.

The procedure, in the paper's symbols: one network, two hidden ReLU layers, heads Q(s, .) and
zeta(s, .), Xavier-normal weights, hidden biases 0, raw features. Batches are 32 whole
trajectories in file order, never shuffled. Even batches (0, 2, ...) step zeta on
sum (V(s') - zeta(s, a))^2 with V detached and no clipping; odd batches step Q on

    mean -log pi(a | s) + mean over anchor rows of |td^2 - beta^2 dev^2|,
    td = Q(s, a) - r - beta V(s'),  dev = V(s') - zeta(s, a) with zeta detached,

each gradient entry clipped to [-1, 1]. Each of the two kinds of step has its own AdamW (weight
decay 1e-4) with learning rate 1e-3 / (1 + 5e-4 epoch). With a single batch an epoch (32
trajectories or fewer) Q is never updated. r-hat = Q - beta zeta.

Both optimisers hold all parameters. A head that is not in the loss has no gradient (`None`,
torch >= 2: `zero_grad` frees it), and AdamW then skips it altogether, weight decay and step
count included: the zeta optimiser moves zeta's head and the trunk, the Q optimiser Q's head
and the same trunk, each with its own moments of the trunk.

Computed differently, to rounding the same: batches are counts n(s, a, s') over the states that
occur, so a step costs the same at any N; gradients are written out; replications are a leading
axis. Small matrices: one thread is fastest.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.optim.adamw import adamw

from gladius.anchor import Anchor
from gladius.checks import Array, InputError, check_discount, check_options, check_whole
from gladius.estimate import Diagnostics, Estimate
from gladius.objective import grouped_risk
from gladius.transitions import Counts, Integers, Transitions, group

LEVEL = -55.0  # of the output biases, where the truth sets the level
LEARNING_RATE, DECAY = 1e-3, 5e-4
ADAMW: dict[str, Any] = {"weight_decay": 1e-4, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
ADAMW |= {"fused": True, "foreach": False, "amsgrad": False, "maximize": False}
CLIP = 1.0
TRACE_EVERY, SAVE_EVERY = 100, 500  # epochs

State = dict[str, Any]


@dataclass(frozen=True)
class Oracle:
    """The leak: what the choice of the epoch by true error needs to know.

    Attributes:
        test: a test split for each replication.
        truth: the true r of (n, d) features and (n,) actions.
    """

    test: Sequence[Transitions]
    truth: Callable[[Array, Integers], Array]


@dataclass(frozen=True)
class Choice:
    """The estimate at one epoch for each of R replications.

    Attributes:
        epoch: (R,) epochs trained before it (0: the untrained network).
        q, zeta, reward: (R, S, A) on the grid of the training states.
        gradient: (R,) largest entry of the gradient of the Q loss over the whole training data.
        blocks: the network's parameters, see `Network`.
    """

    epoch: Integers
    q: Array
    zeta: Array
    reward: Array
    gradient: Array
    blocks: tuple[Array, ...]

    def outputs(self, replication: int, states: Array) -> tuple[Array, Array]:
        """(Q, zeta), each (n, A), at any (n, d) states."""
        net = Network(*(torch.from_numpy(b[replication : replication + 1]) for b in self.blocks))
        x = torch.as_tensor(states[None], dtype=net.weight_1.dtype)
        q, zeta, *_ = forward(net, x)
        return q[0].T.double().numpy(), zeta[0].T.double().numpy()


@dataclass(frozen=True)
class AuthorResult:
    """Where the training led.

    Attributes:
        counts: the training data.
        last: after the last epoch.
        oracle: at the start of the epoch with the smallest test MAPE, or None without an oracle.
        trace_epochs: (T,) every 100th epoch and the end.
        trace: (R, T) test MAPE in per cent then, nan without an oracle.
        cpu_seconds: processor time of the run, over all its resumptions.
    """

    counts: Counts
    last: Choice
    oracle: Choice | None
    trace_epochs: Integers
    trace: Array
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
    checkpoint: Path | None = None,
    dtype: torch.dtype = torch.float32,
) -> AuthorResult:
    """Train R replications side by side.

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
        oracle: what the choice of the epoch by true error needs (leak), or None.
        checkpoint: file that keeps the state every 500 epochs; a run that finds its own state
            there goes on from it to the same numbers, and one that finds another's is refused.
        dtype: working precision; float32 in the code.

    Returns:
        AuthorResult. A replication that overflowed has nan in its tables.
    """
    check_discount(discount)
    check_whole("epochs", epochs, 1)
    check_whole("units", units, 1)
    check_whole("batch_trajectories", batch_trajectories, 1)
    if len(rngs) != len(data):
        raise InputError("rngs", f"{len(rngs)} generators", f"give {len(data)}, one a data set")
    started = time.process_time()
    counts, batches = batch_counts(data, anchor, batch_trajectories, dtype)
    test_set = None if oracle is None else _test_set(oracle, len(data), batch_trajectories, dtype)
    form = shapes(counts.states.shape[1], units, counts.visits.shape[2])
    task = _Task(batches, form, test_set, anchor.action, discount, absolute)
    level = LEVEL if level_from_truth else 0.0
    state = _start(initial(form, level, rngs).to(dtype), len(data), form)
    options = (anchor.action, discount, absolute, batch_trajectories, test_set is None)
    mark = _fingerprint(options, [state["flat"], *vars(batches).values(), *(test_set or ())])
    if checkpoint is not None and checkpoint.exists():
        state = _load(checkpoint, mark, epochs)
    before: float = state.get("cpu_seconds", 0.0)

    def clock() -> float:
        """Processor time since the first start, interruptions left out."""
        return before + time.process_time() - started

    with torch.no_grad():
        _train(state, task, epochs, _saver(checkpoint, mark, clock))
        _, whole = batch_counts(data, anchor, int(max(len(one) for one in data)), dtype)
        task = replace(task, data=whole)
        last = _choice(state["flat"], torch.full((len(data),), epochs), task)
        chosen = None if test_set is None else _choice(state["best"], state["best_epoch"], task)
    trace = np.array(state["trace"])
    return AuthorResult(
        counts=counts,
        last=last,
        oracle=chosen,
        trace_epochs=trace[:, 0].astype(np.int64),
        trace=trace[:, 1:].T,
        cpu_seconds=clock(),
    )


@dataclass(frozen=True)
class _Task:
    """What stays fixed during a run; `test_set` as `_test_set` gives it."""

    data: Batches
    form: Sequence[tuple[int, int]]
    test_set: tuple[Tensor, ...] | None
    anchor: int
    discount: float
    absolute: bool


def _train(state: State, task: _Task, epochs: int, save: Callable[[State], None]) -> None:
    """Advance the state in place to `epochs`."""
    flat, data, form, test_set = state["flat"], task.data, task.form, task.test_set
    number = len(data.states)
    net = blocks(flat, number, form)
    gradient = torch.zeros_like(flat)
    out = blocks(gradient, number, form)
    head = number * sum(a * b for a, b in form[Q:])
    # what each optimiser moves: parameter, gradient, both moments, step count
    parts = [slice(0, len(flat) - head), slice(head, len(flat))]
    moved = [
        (flat[part], gradient[part], state["mean"][k], state["square"][k], state["steps"][k])
        for k, part in enumerate(parts)
    ]
    for epoch in range(state["epoch"], epochs + 1):
        if test_set is not None:
            error = _mape(net, test_set, task.discount)
            if epoch < epochs:  # the code looks before each epoch, so never at the end
                _keep_best(state, error, epoch, number, form)
        if epoch % TRACE_EVERY == 0 or epoch == epochs:
            shown = [math.nan] * number if test_set is None else error.tolist()
            state["trace"].append([float(epoch), *shown])
        if epoch == epochs:
            break
        rate = LEARNING_RATE / (1.0 + DECAY * epoch)
        for i in range(len(data.visits)):
            kind = i % 2
            if kind == 0:
                zeta_gradient(net, out, data, i)
            else:
                q_gradient(net, out, data, i, task.anchor, task.discount, task.absolute)
                moved[1][1].clamp_(-CLIP, CLIP)
            _adamw(*moved[kind], rate)
        state["epoch"] = epoch + 1
        if (epoch + 1) % SAVE_EVERY == 0:
            save(state)


def _adamw(
    flat: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, steps: Tensor, rate: float
) -> None:
    """One step of torch's AdamW, in place, without the optimiser object's overhead."""
    adamw([flat], [gradient], [mean], [square], [], [steps], lr=rate, **ADAMW)


def _start(flat: Tensor, number: int, form: Sequence[tuple[int, int]]) -> State:
    """The whole state of a run: what a checkpoint holds."""
    moved = len(flat) - number * sum(a * b for a, b in form[Q:])
    return {
        "epoch": 0,
        "flat": flat.clone(),
        "mean": [flat.new_zeros(moved) for _ in range(2)],
        "square": [flat.new_zeros(moved) for _ in range(2)],
        "steps": [torch.zeros(()) for _ in range(2)],
        "best": flat.clone(),
        "best_error": torch.full((number,), math.inf, dtype=flat.dtype),
        "best_epoch": torch.zeros(number, dtype=torch.int64),
        "trace": [],
    }


def _keep_best(
    state: State, error: Tensor, epoch: int, number: int, form: Sequence[tuple[int, int]]
) -> None:
    better = error < state["best_error"]
    if bool(better.any()):
        state["best_error"][better] = error[better]
        state["best_epoch"][better] = epoch
        kept, now = blocks(state["best"], number, form), blocks(state["flat"], number, form)
        for old, new in zip(kept, now, strict=True):
            old[better] = new[better]


def _choice(flat: Tensor, epoch: Tensor, task: _Task) -> Choice:
    """Tables and networks of these parameters; the task's data are one batch, all of it."""
    number, states = len(task.data.states), task.data.states
    net = blocks(flat, number, task.form)
    out = blocks(torch.zeros_like(flat), number, task.form)
    q_gradient(net, out, task.data, 0, task.anchor, task.discount, task.absolute)
    steepest = torch.stack([block.abs().amax((1, 2)) for block in out]).amax(0)
    outputs = forward(net, states)[:2]
    q, zeta = (np.swapaxes(x.double().numpy(), 1, 2) for x in outputs)
    arrays = tuple(block.numpy().copy() for block in net)
    reward = q - task.discount * zeta
    return Choice(epoch.numpy().copy(), q, zeta, reward, steepest.double().numpy(), arrays)


class Network(NamedTuple):
    """Views of the flat parameter vector, by block; R replications lead.

    Zeta's head comes first and Q's last, so that what either optimiser moves is contiguous.
    """

    zeta_weight: Tensor  # (R, A, H)
    zeta_bias: Tensor  # (R, A, 1)
    weight_1: Tensor  # (R, d, H)
    bias_1: Tensor  # (R, 1, H)
    weight_2: Tensor  # (R, H, H)
    bias_2: Tensor  # (R, 1, H)
    q_weight: Tensor  # (R, A, H)
    q_bias: Tensor  # (R, A, 1)


ZETA, Q = 0, 6  # places of the heads in it


@dataclass(frozen=True)
class Batches:
    """B batches of R replications as counts over S states; tensors of the working precision.

    Attributes:
        states: (R, S, d), the grid, repeated.
        visits: (B, R, A, S) n(s, a).
        moves: (B, R, A, S, S) n(s, a, s').
        size: (B, R, 1, 1) transitions in the batch.
        anchored: (B, R, S, S) n(s, a_s, s') / n(a_s), the weights of the Bellman term.
        reward: (S,) the anchor's.
    """

    states: Tensor
    visits: Tensor
    moves: Tensor
    size: Tensor
    anchored: Tensor
    reward: Tensor


def shapes(features: int, units: int, actions: int) -> list[tuple[int, int]]:
    """Of the blocks of `Network`, without the leading R."""
    head = [(actions, units), (actions, 1)]
    return [*head, (features, units), (1, units), (units, units), (1, units), *head]


def blocks(flat: Tensor, replications: int, form: Sequence[tuple[int, int]]) -> Network:
    """The parameter vector as the network's blocks (views, no copies)."""
    parts = torch.split(flat, [replications * a * b for a, b in form])
    return Network(*(p.view(replications, *s) for p, s in zip(parts, form, strict=True)))


def initial(
    form: Sequence[tuple[int, int]], level: float, rngs: Sequence[np.random.Generator]
) -> Tensor:
    """Flat float64 parameters: Xavier-normal weights, zero hidden biases, output biases `level`."""
    flat = torch.zeros(len(rngs) * sum(a * b for a, b in form), dtype=torch.float64)
    network = blocks(flat, len(rngs), form)
    for r, rng in enumerate(rngs):
        for block in network[::2]:
            shape = block.shape[1:]
            block[r] = torch.from_numpy(rng.normal(0.0, math.sqrt(2.0 / sum(shape)), shape))
    network.zeta_bias.fill_(level)
    network.q_bias.fill_(level)
    return flat


def forward(net: Network, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(Q (R, A, S), zeta (R, A, S), first hidden layer (R, S, H), second) at (R, S, d) states."""
    hidden_1 = torch.baddbmm(net.bias_1, states, net.weight_1).clamp_min_(0.0)
    hidden_2 = torch.baddbmm(net.bias_2, hidden_1, net.weight_2).clamp_min_(0.0)
    q = torch.baddbmm(net.q_bias, net.q_weight, hidden_2.mT)
    return q, torch.baddbmm(net.zeta_bias, net.zeta_weight, hidden_2.mT), hidden_1, hidden_2


def zeta_gradient(net: Network, out: Network, data: Batches, i: int) -> None:
    """Gradient of sum (V(s') - zeta(s, a))^2, V detached, into zeta's head and the trunk."""
    q, zeta, *hidden = forward(net, data.states)
    v, _ = _value(q)
    slope = torch.mul(data.visits[i], zeta).sub_((data.moves[i] * v[:, None]).sum(3)).mul_(2.0)
    _backward(net, out, data.states, hidden, slope, ZETA)


def q_gradient(
    net: Network, out: Network, data: Batches, i: int, anchor: int, discount: float, absolute: bool
) -> None:
    """Gradient of cross-entropy + Bellman term, zeta detached, into Q's head and the trunk.

    td^2 - beta^2 dev^2 = e g with e = td + beta dev = Q - r - beta zeta, free of s', and
    g = td - beta dev = Q - r + beta zeta - 2 beta V(s').
    """
    q, zeta, *hidden = forward(net, data.states)
    v, policy = _value(q)
    visits, weights = data.visits[i], data.anchored[i]
    slope = (policy * visits.sum(1, keepdim=True)).sub_(visits).div_(data.size[i])
    own = q[:, anchor] - data.reward
    e = torch.sub(own, zeta[:, anchor], alpha=discount)[:, :, None]
    g = torch.add(own, zeta[:, anchor], alpha=discount)[:, :, None].sub(v, alpha=2.0 * discount)
    if absolute:
        weights = torch.sign(g).mul_(torch.sign(e)).mul_(weights)
    slope.addcmul_(policy, (weights * e).sum(1, keepdim=True), value=-2.0 * discount)
    slope[:, anchor] += g.add_(e).mul_(weights).sum(2)
    _backward(net, out, data.states, hidden, slope, Q)


def _value(q: Tensor) -> tuple[Tensor, Tensor]:
    """V (R, 1, S) and pi (R, A, S) of Q (R, A, S); in one pass it is faster than logsumexp."""
    top = q.amax(1, keepdim=True)
    policy = torch.sub(q, top).exp_()
    total = policy.sum(1, keepdim=True)
    return top.add_(torch.log(total)), policy.div_(total)


def _backward(
    net: Network, out: Network, states: Tensor, hidden: Sequence[Tensor], slope: Tensor, head: int
) -> None:
    """Gradient blocks from the (R, A, S) slope in the outputs of one head."""
    first, second = hidden
    torch.bmm(slope, second, out=out[head])
    torch.sum(slope, 2, keepdim=True, out=out[head + 1])
    down = torch.bmm(slope.mT, net[head]).mul_(torch.sign(second))  # second >= 0: sign = ReLU'
    torch.bmm(first.mT, down, out=out.weight_2)
    torch.sum(down, 1, keepdim=True, out=out.bias_2)
    down = torch.bmm(down, net.weight_2.mT).mul_(torch.sign(first))
    torch.bmm(states.mT, down, out=out.weight_1)
    torch.sum(down, 1, keepdim=True, out=out.bias_1)


def batch_counts(
    data: Sequence[Transitions], anchor: Anchor, trajectories: int, dtype: torch.dtype
) -> tuple[Counts, Batches]:
    """The training data as counts, whole and by batches of whole trajectories in file order."""
    labels = [pd.factorize(one.trajectory)[0] // trajectories for one in data]
    number = int(labels[0].max()) + 1
    for r, (one, label) in enumerate(zip(data, labels, strict=True)):
        if int(label.max()) + 1 != number:
            hint = f"data[0] has {number}: give equal numbers"
            raise InputError(f"data[{r}]", f"{int(label.max()) + 1} batches", hint)
        if np.any(one.done):
            raise InputError(f"data[{r}].done", True, "this protocol knows no ends of paths")
    whole = group(data)
    labelled = list(zip(data, labels, strict=True))
    parts = group([part.take(label == b) for b in range(number) for part, label in labelled])
    lead = (number, len(data))
    visits = parts.visits.reshape(*lead, *parts.visits.shape[1:])
    moves = parts.moves.reshape(*lead, *parts.moves.shape[1:])
    anchored = moves[:, :, anchor.action]
    uses = anchored.sum(axis=(2, 3), keepdims=True)
    if np.any(uses[1::2] == 0):
        b, r = np.argwhere(uses[1::2, :, 0, 0] == 0)[0]
        hint = f"action {anchor.action} never occurs there: use larger batches"
        raise InputError(f"data[{r}]", f"batch {2 * b + 1}", hint)

    def tensor(array: Array) -> Tensor:
        return torch.tensor(np.array(array), dtype=dtype)

    states = np.broadcast_to(whole.states, (len(data), *whole.states.shape))
    return whole, Batches(
        tensor(states),
        tensor(np.swapaxes(visits, 2, 3)),
        tensor(moves),
        tensor(visits.sum(axis=(2, 3))[..., None, None]),
        tensor(anchored / np.maximum(uses, 1.0)),
        tensor(anchor.values(whole.states)),
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
        at = np.argmax(np.all(one.states[:, None] == grid.states[None], axis=2), axis=1)
        np.add.at(weights[r], (at, one.actions), share)
    actions = np.arange(weights.shape[2])
    pairs = np.repeat(grid.states, len(actions), axis=0), np.tile(actions, len(grid.states))
    truth = np.asarray(oracle.truth(*pairs)).reshape(len(grid.states), -1).T
    if np.any(truth == 0):
        raise InputError("oracle.truth", 0.0, "MAPE is undefined where the true reward is zero")
    states = np.broadcast_to(grid.states, (number, *grid.states.shape)).copy()
    arrays = states, np.swapaxes(weights, 1, 2), truth
    return tuple(torch.as_tensor(array, dtype=dtype) for array in arrays)


def _mape(net: Network, test_set: tuple[Tensor, ...], discount: float) -> Tensor:
    """(R,) test MAPE in per cent."""
    states, weights, truth = test_set
    q, zeta, *_ = forward(net, states)
    error = torch.sub(q, zeta, alpha=discount).sub_(truth).div_(truth).abs_()
    return (error * weights).sum((1, 2)).mul_(100.0)


def _fingerprint(options: tuple[object, ...], tensors: Sequence[Tensor]) -> str:
    digest = hashlib.sha256(repr(options).encode())
    for tensor in tensors:
        digest.update(repr((tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


def _saver(path: Path | None, mark: str, clock: Callable[[], float]) -> Callable[[State], None]:
    def save(state: State) -> None:
        if path is not None:
            unfinished = path.with_name(path.name + ".part")
            torch.save({**state, "cpu_seconds": clock(), "mark": mark}, unfinished)
            unfinished.replace(path)  # a crash while saving leaves the previous state whole

    return save


def _load(path: Path, mark: str, epochs: int) -> State:
    state: State = torch.load(path, weights_only=True)
    if state.pop("mark") != mark:
        hint = "it is of another run: give another path or remove it"
        raise InputError("checkpoint", str(path), hint)
    if state["epoch"] > epochs:
        raise InputError("epochs", epochs, f"the checkpoint is already at {state['epoch']}")
    return state


def estimates(
    result: AuthorResult, anchor: Anchor, discount: float, selection: str
) -> list[Estimate]:
    """The Estimates of one run for `selection` "last" or "oracle" (the leak).

    The status is `diverged` where the tables are not finite, else `not_converged`: the code stops
    at its number of epochs, whatever the gradient.
    """
    choice = {"last": result.last, "oracle": result.oracle}.get(selection)
    if choice is None:
        hint = "choose last, or oracle where the run had an oracle"
        raise InputError("selection", selection, hint)
    return [_estimate(result, choice, selection, r, anchor, discount) for r in range(len(choice.q))]


def _estimate(
    result: AuthorResult, choice: Choice, selection: str, r: int, anchor: Anchor, discount: float
) -> Estimate:
    states = result.counts.states
    counts = Counts(states, result.counts.visits[[r]], result.counts.moves[[r]])
    risk = grouped_risk(choice.q[[r]], counts, anchor.action, anchor.values(states), discount)
    finite = bool(np.all(np.isfinite(choice.q[r])) and np.all(np.isfinite(choice.zeta[r])))
    diagnostics = Diagnostics(
        converged=False,
        iterations=int(choice.epoch[r]),
        gradient_norm=float(choice.gradient[r]),
        nll=float(risk.nll[0]),
        bellman_error=float(risk.bellman[0]),
        cpu_seconds=result.cpu_seconds / len(choice.q),
        status="not_converged" if finite else "diverged",
        extra={"selection": selection, "inner_iterations": 0},  # steps of Q and zeta alternate
    )
    name = f"gladius (author, {selection} epoch)"
    q = Output(choice, r, 1.0, 0.0)
    reward = Output(choice, r, 1.0, -discount)
    return Estimate(name, q, reward, states.shape[1], diagnostics)


@dataclass(frozen=True)
class Output:
    """(n, d) features -> (n, A) a combination of Q and zeta of one replication's network."""

    choice: Choice
    replication: int
    weight_q: float
    weight_zeta: float

    def __call__(self, states: Array) -> Array:
        q, zeta = self.choice.outputs(self.replication, states)
        return self.weight_q * q + self.weight_zeta * zeta


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    oracle: Oracle | None = None,
    rngs: Sequence[np.random.Generator] | None = None,
    absolute: bool = True,
    **options: Any,
) -> list[Estimate]:
    """One Estimate a data set: of the oracle's epoch if an oracle is given, else of the last.

    Args:
        data, anchor, discount, oracle, absolute: see `run`.
        rngs: see `run`; by default children of seed 0.
        options: the other options of `run`.
    """
    check_options(run, options)
    seeds = np.random.SeedSequence(0).spawn(len(data))
    rngs = [np.random.default_rng(s) for s in seeds] if rngs is None else rngs
    result = run(data, anchor, discount, oracle=oracle, rngs=rngs, absolute=absolute, **options)
    return estimates(result, anchor, discount, "last" if oracle is None else "oracle")
