"""The first author's procedure on rows, for states that never repeat: Figure 1's `author`.

`gladius.author` counts (s, a, s') in each batch, which needs states that repeat. Here a batch is
its rows; networks, gradients, optimisers and the order of the steps are those of that module, and a
test holds the two to the same numbers where states repeat. A training of 20,000 epochs of such
batches takes most of an hour on one core: the cells say how many epochs theirs had.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from gladius import author
from gladius.anchor import Anchor
from gladius.author import DECAY, LEARNING_RATE, SAVE_EVERY, ZETA, Network, Q, State
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine
from reproduce import seeds
from reproduce.data import SHARE
from reproduce.fits_author import checkpoint as kept_in
from reproduce.spec import Array, Cell, Record, Result, summarise

UNITS, BATCH = 50, 32  # hidden units a layer, trajectories a batch
LOOK_EVERY = 10  # epochs between looks at the test error; the code looks after each
SELECTIONS = ("last", "oracle")


class Rows:
    """A batch: states of its rows and, behind them, their next states."""

    def __init__(self, data: Transitions, anchor: Anchor, dtype: torch.dtype) -> None:
        self.states = torch.tensor(np.concatenate([data.states, data.next_states]), dtype=dtype)
        self.actions = torch.tensor(data.actions)
        self.places = torch.arange(len(data))
        self.anchored = torch.tensor(np.flatnonzero(data.actions == anchor.action))
        rewards = anchor.values(data.states)[data.actions == anchor.action]
        self.reward = torch.tensor(rewards, dtype=dtype)


class Training(NamedTuple):
    """Where a training ended.

    Attributes:
        parameters: after the last epoch.
        best: the smallest test MAPE seen, per cent; infinite without a test split.
        best_epoch: its epoch.
        cpu_seconds: processor time, over all its resumptions.
    """

    parameters: Tensor
    best: float
    best_epoch: int
    cpu_seconds: float


def step(
    net: Network, out: Network, rows: Rows, kind: int, anchor: int, beta: float, absolute: bool
) -> None:
    """The gradient of zeta's (kind 0) or Q's loss (kind 1) of one batch, into `out`."""
    count, actions, places = len(rows.actions), rows.actions, rows.places
    q, zeta, *hidden = author.forward(net, rows.states[None])
    slope = torch.zeros_like(q)
    value = torch.logsumexp(q[0, :, count:], dim=0)
    if kind == 0:
        slope[0, actions, places] = 2.0 * (zeta[0, actions, places] - value)
    else:
        slope[0, :, :count] = torch.softmax(q[0, :, :count], dim=0) / count
        slope[0, actions, places] -= 1.0 / count
        here = rows.anchored
        known, ahead = beta * zeta[0, anchor, here], value[here]
        gap = q[0, anchor, here] - rows.reward
        left, right = gap - known, gap + known - 2.0 * beta * ahead
        weight = torch.full_like(left, 1.0 / len(here))
        if absolute:
            weight *= torch.sign(left) * torch.sign(right)
        slope[0, anchor, here] += weight * (left + right)
        following = torch.softmax(q[0, :, count + here], dim=0)
        slope[0, :, count + here] -= 2.0 * beta * weight * left * following
    # that module's, so that both forms share one derivation
    author._backward(net, out, rows.states[None], hidden, slope, (ZETA, Q)[kind])


def train(
    data: Transitions,
    anchor: Anchor,
    discount: float,
    rng: np.random.Generator,
    epochs: int,
    *,
    level_from_truth: bool,
    absolute: bool = True,
    test: tuple[Transitions, Array] | None = None,
    dtype: torch.dtype = torch.float32,
    checkpoint: Path | None = None,
) -> Training:
    """Train on one data set.

    Args:
        data: the training split, trajectories in file order.
        anchor, discount: as everywhere.
        rng: of the initial weights.
        epochs: passes over the data.
        level_from_truth, absolute: as in `gladius.author`.
        test: the test split and the true rewards of its rows, which only the leak looks at.
        dtype: working precision.
        checkpoint: file that keeps the state every SAVE_EVERY epochs, from which a run goes on to
            the same numbers.
    """
    started = time.process_time()
    label = pd.factorize(data.trajectory)[0] // BATCH
    batches = [Rows(data.take(label == b), anchor, dtype) for b in range(label.max() + 1)]
    form = author.shapes(data.states.shape[1], UNITS, data.number_of_actions)
    flat = author.initial(form, author.LEVEL if level_from_truth else 0.0, [rng]).to(dtype)
    head = sum(a * b for a, b in form[Q:])
    state: State = {
        "epoch": 0,
        "flat": flat,
        "mean": [torch.zeros(len(flat) - head, dtype=dtype) for _ in range(2)],
        "square": [torch.zeros(len(flat) - head, dtype=dtype) for _ in range(2)],
        "steps": [torch.zeros(()), torch.zeros(())],
        "best": (np.inf, 0),
    }
    seen = () if test is None else (torch.tensor(test[0].states), torch.tensor(test[1]))
    options = (anchor.action, discount, absolute, test is None)
    tensors = [flat, *(part for rows in batches for part in vars(rows).values()), *seen]
    mark = author._fingerprint(options, tensors)
    if checkpoint is not None and checkpoint.exists():
        state = author._load(checkpoint, mark, epochs)
    before: float = state.get("cpu_seconds", 0.0)

    def clock() -> float:
        return before + time.process_time() - started

    save = author._saver(checkpoint, mark, clock)
    flat, steps = state["flat"], state["steps"]
    gradient = torch.zeros_like(flat)
    net, out = author.blocks(flat, 1, form), author.blocks(gradient, 1, form)
    parts = [slice(0, len(flat) - head), slice(head, len(flat))]
    # both optimisers hold the trunk, each with its own moments of it
    moved = [
        (flat[part], gradient[part], state["mean"][k], state["square"][k])
        for k, part in enumerate(parts)
    ]
    with torch.no_grad():
        for epoch in range(state["epoch"], epochs):
            if test is not None and epoch % LOOK_EVERY == 0:
                error = mape_of(net, *test, discount, dtype)
                if error < state["best"][0]:
                    state["best"] = error, epoch
            for i, rows in enumerate(batches):
                kind = i % 2
                step(net, out, rows, kind, anchor.action, discount, absolute)
                if kind == 1:
                    moved[1][1].clamp_(-author.CLIP, author.CLIP)
                author._adamw(*moved[kind], steps[kind], LEARNING_RATE / (1.0 + DECAY * epoch))
            state["epoch"] = epoch + 1
            if (epoch + 1) % SAVE_EVERY == 0:
                save(state)
    best, best_epoch = state["best"]
    return Training(flat, best, best_epoch, clock())


def mape_of(
    net: Network, test: Transitions, truth: Array, discount: float, dtype: torch.dtype
) -> float:
    """Test MAPE in per cent, the mean of the means of batches, as in the author's code."""
    q, zeta, *_ = author.forward(net, torch.tensor(test.states, dtype=dtype)[None])
    reward = (q - discount * zeta)[0].double().numpy()
    errors = np.abs(reward[test.actions, np.arange(len(test))] / truth - 1.0)
    label = pd.factorize(test.trajectory)[0] // BATCH
    return float(100.0 * pd.Series(errors).groupby(label).mean().mean())


def training(
    inputs: int, trajectories: int, repetitions: int, epochs: int, *, level_from_truth: bool
) -> Cell:
    """The cell of trainings on the data sets of `many_inputs`."""
    settings = {
        "inputs": inputs,
        "trajectories": trajectories,
        "repetitions": repetitions,
        "epochs": epochs,
        "level_from_truth": level_from_truth,
        "seeds": "many_inputs",
        "seeds_row": "bus",
    }
    return Cell(f"{__name__}:compute", settings, f"author's code, K = {inputs}")


def compute(cell: Cell, device: str) -> Result:
    """Trainings with the level from the truth or not; the last epoch's error and the oracle's.

    Settings: inputs, trajectories, repetitions, seeds, seeds_row, epochs, level_from_truth.
    """
    settings = cell.settings
    world = BusEngine(dummies=settings["inputs"])
    anchor = Anchor(world.anchor_action, world.anchor_reward)
    weights = seeds.generators(cell, "weights")
    form = author.shapes(settings["inputs"] + 1, UNITS, 2)
    errors: dict[str, list[float]] = {selection: [] for selection in SELECTIONS}
    epochs, seconds = [], []
    for place, (rng, start) in enumerate(zip(seeds.generators(cell), weights, strict=True)):
        train_split, test = world.simulate(settings["trajectories"], rng).split(SHARE)
        truth = world.reward(test.states, test.actions)
        trained = train(
            train_split, anchor, world.discount, start, settings["epochs"],
            level_from_truth=settings["level_from_truth"], test=(test, truth),
            checkpoint=kept_in(cell, author, sys.modules[__name__], place=str(place)),
        )  # fmt: skip
        net = author.blocks(trained.parameters, 1, form)
        dtype = trained.parameters.dtype
        errors["last"].append(mape_of(net, test, truth, world.discount, dtype))
        errors["oracle"].append(trained.best)
        epochs.append(float(trained.best_epoch))
        seconds.append(trained.cpu_seconds)
    records: list[Record] = []
    for selection, values in errors.items():
        statuses = ["ok" if np.isfinite(value) else "diverged" for value in values]
        records += summarise(f"MAPE {selection}", values, statuses)
    replications = {f"MAPE {selection}": values for selection, values in errors.items()}
    replications["epoch oracle"] = epochs
    return Result(tuple(records), replications, cpu_seconds=float(np.mean(seconds)))
