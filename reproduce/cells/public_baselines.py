"""IQ-learn and BC as in the first author's public code, on the data of its seed 1.

See `gladius.paper.author_baselines` for what the code does, and `public_trainings` for the initial
network. The number beside a printed one is the smallest test MAPE of the first repetition, which
uses the true reward (BEST): the public code's rule, and that of GLADIUS's lines. It was fixed
before any of these trainings had been run to its end, but after errors before the first step and of
some tens of epochs had been seen, beside the public log. Beside it stand the error before any step
(FIRST), which no training made, that before the last epoch (LAST), and what the code reports in the
end (REPORTED): the mean of the repetitions' smallest errors, without repetitions whose smallest is
their first.

Without inputs the repetitions are the 5 of the configurations, with them one, as for GLADIUS. For
IQ-learn with inputs the public configuration has 5,000 trajectories, the paper's figure 1,000: the
configured number is compared, and the other stands beside it. For BC both are 1,000.
"""

from collections.abc import Iterator

import numpy as np

from gladius.designs.bus import BusEngine
from gladius.paper import author, author_baselines
from gladius.paper.author_baselines import BC, IQ_LEARN
from reproduce.cells.public_data import SEED, networks_data
from reproduce.cells.public_trainings import (
    BEST,
    BEST_EPOCH,
    BLOCK,
    FIRST,
    LAST,
    NOT_CONVERGED,
    SMOKE_EPOCHS,
    UNITS,
    initial_weights,
)
from reproduce.engine.nouns import Cell, Record, Result

EPOCHS = {IQ_LEARN: 10_000, BC: 5_000}
WITH_INPUTS = {IQ_LEARN: 1_000, BC: 5_000}
CONFIGURED = {IQ_LEARN: 5_000, BC: 1_000}  # trajectories with inputs
REPETITIONS = 5
REPORTED = "MAPE reported"
# printed column -> baseline; word of a protocol -> statistic and line
COLUMNS = {"IQ-learn": IQ_LEARN, "BC": BC}
ENDS = {
    "first": (FIRST, "public code, before any step"),
    "best": (BEST, "public code, best epoch"),
    "last": (LAST, "public code, last epoch"),
    "reported": (REPORTED, "public code, mean over its repetitions"),
}


def training(baseline: str, trajectories: int, smoke: bool, dummies: int = 0) -> Cell:
    """The cell of IQ_LEARN or BC at one N and K; only a run with --long computes those with K."""
    epochs = (WITH_INPUTS if dummies else EPOCHS)[baseline]
    given = {"baseline": baseline, "trajectories": trajectories, "dummies": dummies, "seed": SEED}
    given |= {"epochs": SMOKE_EPOCHS if smoke else epochs}
    given |= {"repetitions": 1, "long": True} if dummies else {"repetitions": REPETITIONS}
    inputs = f", K = {dummies}" if dummies else ""
    return Cell("public_baseline", given, f"public {baseline}, N = {trajectories}{inputs}")


def compute(cell: Cell) -> Result:
    """FIRST, BEST, BEST_EPOCH and LAST of each repetition, per cent; records of the first.

    Arrays: `trace` and `losses` (repetitions, blocks, 3) have the smallest, median and largest
    error and loss of each BLOCK epochs. With inputs in float32, as in the code; else in float64.
    """
    settings = cell.settings
    dummies, epochs = settings["dummies"], settings["epochs"]
    world = BusEngine(dummies=dummies)
    train, test = networks_data(settings["trajectories"], dummies)
    start = initial_weights(settings["seed"], 1 + dummies)
    trace, losses = author_baselines.train(
        settings["baseline"],
        train,
        world.discount,
        author.layout_of(train, author.Options(units=UNITS)),
        start.astype(np.float32) if dummies else start,
        test,
        world.reward,
        epochs=epochs,
        repetitions=settings["repetitions"],
    )
    best, at = trace.min(axis=1), trace.argmin(axis=1)
    found = {FIRST: trace[:, 0], BEST: best, BEST_EPOCH: at, LAST: trace[:, -1]}
    values = {name: x.astype(float).tolist() for name, x in found.items()}
    counted = best[at > 0].mean() if at.any() else np.nan
    records = [Record(name, x[0], status=NOT_CONVERGED) for name, x in values.items()]
    records.append(Record(REPORTED, float(counted), status=NOT_CONVERGED))
    size = min(BLOCK, epochs)
    arrays = {}
    for name, x in {"trace": trace, "losses": losses}.items():
        blocks = x[:, : epochs // size * size].reshape(len(x), -1, size)
        ends = blocks.min(axis=2), np.median(blocks, axis=2), blocks.max(axis=2)
        arrays[name] = np.stack(ends, axis=2)
    return Result(tuple(records), values, arrays)


def scores(protocol: str, result: Result) -> Iterator[Record]:
    """A record for each of ENDS."""
    values = {record.statistic: record.value for record in result.records}
    for end, (statistic, _) in ENDS.items():
        name = f"{protocol} {end}"
        yield Record("MAPE", values[statistic], status=NOT_CONVERGED, protocol=name)
