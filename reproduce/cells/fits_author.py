"""Trainings of the first author's code on Table 2's data.

One cell is one training of all repetitions, scored at the last epoch and at the oracle's, whose
test error by the true reward is the smallest. A cell with `risk_every` is also scored at the epochs
of the least loss, by the rule of `public_trainings`, which a user without the true reward has. The
module imports little, so that only the author's code, the simulation design and the seeds decide
whether a stored training is current.
"""

import numpy as np

from gladius.designs.bus import BusEngine
from gladius.designs.metrics import mape
from gladius.panel.anchor import Anchor
from gladius.paper import author
from reproduce.cells.data import data_sets
from reproduce.cells.public_trainings import HELD_OUT, TRAINED, result_of
from reproduce.engine import seeds
from reproduce.engine.nouns import SEVERITY, Array, Cell, Record, Result, summarise

EPOCHS, SMOKE_EPOCHS = 20_000, 50
REPETITIONS, SMOKE_REPETITIONS = 20, 2
# Twice as many where the half width of 20 data sets' mean exceeds a quarter of the printed number:
# there the rounding of a training decided the verdict. It is .35 to 1.2 of it up to N = EDGE.
EDGE = 2_500
EPOCHS_SHOWN = ("last", "oracle")  # the epochs that are scored
LEGAL = tuple(name.removeprefix("MAPE ") for name in (HELD_OUT, TRAINED))  # of the least loss


def training(
    trajectories: int, smoke: bool, *, level_from_truth: bool = True, absolute: bool = True
) -> Cell:
    """The cell of one training on Table 2's data sets; the two switches as in the author's code."""
    is_wide = level_from_truth and absolute and trajectories <= EDGE
    repetitions = 2 * REPETITIONS if is_wide else REPETITIONS
    settings = {
        "trajectories": trajectories,
        "repetitions": SMOKE_REPETITIONS if smoke else repetitions,
        "epochs": SMOKE_EPOCHS if smoke else EPOCHS,
        "level_from_truth": level_from_truth,
        "absolute": absolute,
        "seeds": "table_2",
    }
    return Cell("author", settings, f"author's code, N = {trajectories}")


def compute(cell: Cell) -> Result:
    """The scores and estimates of the cell's repetitions at both epochs; always on the CPU.

    Settings: trajectories, repetitions, seeds, epochs, level_from_truth, absolute, and perhaps
    risk_every. For each epoch of EPOCHS_SHOWN, and with `risk_every` of LEGAL, the result has `MAPE
    <epoch>` (per cent) and `status <epoch>` (its index in SEVERITY) of every repetition; of the
    former also `reward <epoch>`, `q <epoch>`, (R, S, A), in utils.
    """
    world, settings = BusEngine(), cell.settings
    train, test = data_sets(world, cell)
    anchor = Anchor(world.anchor_action, world.anchor_reward)
    trained = author.run(
        train,
        anchor,
        world.discount,
        rngs=seeds.generators(cell, "weights"),
        oracle=author.Oracle(test, world.reward),
        risk_every=settings.get("risk_every", 0),
        **{name: settings[name] for name in ("level_from_truth", "absolute", "epochs")},
    )
    replications: dict[str, list[float]] = {}
    records: list[Record] = []
    arrays: dict[str, Array] = {}
    grid = world.mdp.features
    for epoch in EPOCHS_SHOWN:
        estimates = author.estimates(train, trained, anchor, world.discount, epoch)
        errors = [mape(e, data, world.reward) for e, data in zip(estimates, test, strict=True)]
        runs = [e.diagnostics for e in estimates]
        records += summarise(f"MAPE {epoch}", errors, [run.status for run in runs])
        replications[f"MAPE {epoch}"] = errors
        replications[f"status {epoch}"] = [float(SEVERITY.index(run.status)) for run in runs]
        arrays[f"reward {epoch}"] = np.array([e.reward_function(grid) for e in estimates])
        arrays[f"q {epoch}"] = np.array([e.q(grid) for e in estimates])
        arrays[f"epoch {epoch}"] = np.array([float(run.iterations) for run in runs])
    for epoch in LEGAL if "risk_every" in settings else ():
        errors = list(result_of(trained, {}).replications[f"MAPE {epoch}"])
        records += summarise(f"MAPE {epoch}", errors, [run.status for run in runs])
        replications[f"MAPE {epoch}"] = errors
        replications[f"status {epoch}"] = replications[f"status {EPOCHS_SHOWN[0]}"]
    seconds = sum(one.cpu_seconds for one in trained) / len(train)
    return Result(tuple(records), replications, arrays, seconds)


def epoch_records(result: Result, epoch: str) -> tuple[Record, ...]:
    """The records of one epoch of a training."""
    statuses = [SEVERITY[int(code)] for code in result.replications[f"status {epoch}"]]
    return summarise("MAPE", result.replications[f"MAPE {epoch}"], statuses)
