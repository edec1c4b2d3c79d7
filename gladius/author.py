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
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim.adamw import adamw

from gladius.anchor import Anchor
from gladius.author_oracle import Oracle, mape
from gladius.author_oracle import exam as exam_of
from gladius.author_result import AuthorResult, Choice, estimates
from gladius.author_steps import (
    Batches,
    Q,
    batch_counts,
    blocks,
    forward,
    initial,
    q_gradient,
    shapes,
    zeta_gradient,
)
from gladius.checks import InputError, check_discount, check_options, check_whole
from gladius.estimate import Estimate
from gladius.transitions import Transitions

__all__ = ["AuthorResult", "Choice", "Oracle", "estimates", "fit", "run"]

LEVEL = -55.0  # of the output biases, where the truth sets the level
LEARNING_RATE, DECAY, WEIGHT_DECAY = 1e-3, 5e-4, 1e-4
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # AdamW's defaults
CLIP = 1.0
TRACE_EVERY, SAVE_EVERY = 100, 500  # epochs

State = dict[str, Any]


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
    progress: Callable[[int], None] | None = None,
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
        progress: called with the number of epochs done after each.
        dtype: working precision; float32 in the code.

    Returns:
        AuthorResult. A replication that overflowed has nan in its tables.
    """
    check_discount(discount)
    check_whole("epochs", epochs, 1)
    check_whole("units", units, 1)
    check_whole("batch_trajectories", batch_trajectories, 1)
    if len(rngs) != len(data):
        raise InputError(
            "rngs", f"{len(rngs)} generators", f"give one for each of {len(data)} data sets"
        )
    started = time.process_time()
    counts, batches = batch_counts(data, anchor, batch_trajectories, dtype)
    exam = None if oracle is None else exam_of(oracle, len(data), batch_trajectories, dtype)
    form = shapes(counts.states.shape[1], units, counts.visits.shape[2])
    task = _Task(batches, form, exam, anchor.action, discount, absolute)
    level = LEVEL if level_from_truth else 0.0
    state = _start(initial(form, level, rngs).to(dtype), len(data), form)
    options = (anchor.action, discount, absolute, batch_trajectories, exam is None)
    mark = _fingerprint(options, [state["flat"], *vars(batches).values(), *(exam or ())])
    if checkpoint is not None and checkpoint.exists():
        state = _load(checkpoint, mark, epochs)
    before: float = state.get("cpu_seconds", 0.0)

    def clock() -> float:
        """Processor time since the first start, interruptions left out."""
        return before + time.process_time() - started

    with torch.no_grad():
        _train(state, task, epochs, _saver(checkpoint, mark, clock), progress)
        _, whole = batch_counts(data, anchor, int(max(len(one) for one in data)), dtype)
        task = replace(task, data=whole)
        last = _choice(state["flat"], torch.full((len(data),), epochs), task)
        chosen = None if exam is None else _choice(state["best"], state["best_epoch"], task)
    trace = np.array(state["trace"])
    return AuthorResult(
        states=counts.states,
        counts=counts,
        last=last,
        oracle=chosen,
        trace_epochs=trace[:, 0].astype(np.int64),
        trace=trace[:, 1:].T,
        cpu_seconds=clock(),
    )


@dataclass(frozen=True)
class _Task:
    """What stays fixed during a run; `exam` as in author_oracle.py."""

    data: Batches
    form: Sequence[tuple[int, int]]
    exam: tuple[Tensor, ...] | None
    anchor: int
    discount: float
    absolute: bool


def _train(
    state: State,
    task: _Task,
    epochs: int,
    save: Callable[[State], None],
    progress: Callable[[int], None] | None,
) -> None:
    """Advance the state in place to `epochs`."""
    flat, data, form, exam = state["flat"], task.data, task.form, task.exam
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
        if exam is not None:
            error = mape(net, exam, task.discount)
            if epoch < epochs:  # the code looks before each epoch, so never at the end
                _keep_best(state, error, epoch, number, form)
        if epoch % TRACE_EVERY == 0 or epoch == epochs:
            shown = [math.nan] * number if exam is None else error.tolist()
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
        if progress is not None:
            progress(epoch + 1)


def _adamw(
    flat: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, steps: Tensor, rate: float
) -> None:
    """One step of torch's AdamW, in place, without the optimiser object's overhead."""
    adamw(
        [flat],
        [gradient],
        [mean],
        [square],
        [],
        [steps],
        fused=True,
        foreach=False,
        amsgrad=False,
        beta1=BETA_1,
        beta2=BETA_2,
        lr=rate,
        weight_decay=WEIGHT_DECAY,
        eps=EPSILON,
        maximize=False,
    )


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
        raise InputError(
            "checkpoint", str(path), "it is of another run: give another path or remove it"
        )
    if state["epoch"] > epochs:
        raise InputError("epochs", epochs, f"the checkpoint is already at {state['epoch']}")
    return state


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
