"""Trainings of the first author's code on Table 2's data: the cells that cost an hour.

A module of its own, and one that imports little, so that nothing but the author's code, the world
and the seeds decides whether a stored training is still good. One cell is one training of all
repetitions side by side, scored at the last epoch and at the oracle's, whose test error by the true
reward is the smallest.
"""

import hashlib
import json
import os
from pathlib import Path
from types import ModuleType

import numpy as np

from gladius.anchor import Anchor
from gladius.metrics import mape
from gladius.worlds.bus import BusEngine
from reproduce import seeds
from reproduce.spec import CHECKPOINTS, SEVERITY, Cell, Record, Result, summarise

EPOCHS, SMOKE_EPOCHS = 20_000, 50
REPETITIONS, SMOKE_REPETITIONS = 20, 2
SHARE = 0.8  # of the trajectories is for training
SELECTIONS = ("last", "oracle")


def training(
    trajectories: int, smoke: bool, *, level_from_truth: bool = True, absolute: bool = True
) -> Cell:
    """The cell of one training on Table 2's data sets; the two switches as in the author's code."""
    settings = {
        "trajectories": trajectories,
        "repetitions": SMOKE_REPETITIONS if smoke else REPETITIONS,
        "epochs": SMOKE_EPOCHS if smoke else EPOCHS,
        "level_from_truth": level_from_truth,
        "absolute": absolute,
        "seeds": "table_2",
    }
    return Cell(f"{__name__}:compute", settings, f"author's code, N = {trajectories}")


def compute(cell: Cell, device: str) -> Result:
    """Train the cell's repetitions and score both epochs; tiny matrices, so always on the CPU.

    Settings: trajectories, repetitions, seeds, epochs, level_from_truth, absolute. For each
    selection the result has `MAPE <selection>` and `status <selection>` (its place in SEVERITY) of
    every repetition, and `reward <selection>`, `q <selection>`, (R, S, A), on the world's grid.
    """
    from gladius import author  # here, for it imports torch

    world, settings = BusEngine(), cell.settings
    sets = world.simulate(settings["trajectories"], seeds.generators(cell))
    splits = [one.split(SHARE) for one in sets]
    train, test = [list(part) for part in zip(*splits, strict=True)]
    anchor = Anchor(world.anchor_action, world.anchor_reward)
    trained = author.run(
        train,
        anchor,
        world.discount,
        rngs=seeds.generators(cell, "weights"),
        oracle=author.Oracle(test, world.reward),
        checkpoint=checkpoint(cell, author),
        **{name: settings[name] for name in ("level_from_truth", "absolute", "epochs")},
    )
    replications: dict[str, list[float]] = {}
    records: list[Record] = []
    arrays = {"trace_epochs": trained.trace_epochs.astype(float), "trace": trained.trace}
    grid = world.mdp.features
    for selection in SELECTIONS:
        estimates = author.estimates(trained, anchor, world.discount, selection)
        errors = [mape(e, data, world.reward) for e, data in zip(estimates, test, strict=True)]
        statuses = [e.diagnostics.status for e in estimates]
        records += summarise(f"MAPE {selection}", errors, statuses)
        replications[f"MAPE {selection}"] = errors
        replications[f"status {selection}"] = [float(SEVERITY.index(s)) for s in statuses]
        arrays[f"reward {selection}"] = np.array([e.reward_function(grid) for e in estimates])
        arrays[f"q {selection}"] = np.array([e.q(grid) for e in estimates])
        arrays[f"epoch {selection}"] = np.array(
            [float(e.diagnostics.iterations) for e in estimates]
        )
    seconds = trained.cpu_seconds / len(train)
    return Result(tuple(records), replications, arrays, seconds)


def checkpoint(cell: Cell, *code: ModuleType, place: str = "") -> Path | None:
    """The file of a training: keyed by its settings (the epochs apart) and the code that trains."""
    folder = os.environ.get(CHECKPOINTS)
    if folder is None:  # a remote worker, or a call outside the runner
        return None
    key = {name: value for name, value in cell.settings.items() if name != "epochs"}
    digest = hashlib.sha256((json.dumps(key, sort_keys=True) + place).encode())
    for module in code:
        digest.update(Path(str(module.__file__)).read_bytes())
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / f"author-{cell.settings['trajectories']}-{digest.hexdigest()[:16]}.pt"
