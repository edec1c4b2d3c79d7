"""Fits of data with many inputs that do not matter.

Mileage paths are the same whatever the number of inputs, so differences between numbers of inputs
are paired. Data sets are simulated and fitted one by one, since a hundred inputs need a hundred
times the memory. An estimator gets the training split, the anchor's reward and beta.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gladius.designs.bus import BusEngine
from gladius.designs.metrics import mape
from reproduce.cells.data import SHARE
from reproduce.cells.fits import by_method, options_of, severity
from reproduce.engine import seeds
from reproduce.engine.nouns import Cell, Result, summarise

TRAJECTORIES, SMOKE_TRAJECTORIES = 1000, 60
# statistics of the chosen inputs
RIGHT, FALSE = "all inputs of r were chosen for it", "a further input was chosen for r"
ZETA_RIGHT, ZETA_FALSE = "all inputs of zeta were chosen for it", "a further one was for zeta"


def fitting(
    method: str,
    inputs: int,
    repetitions: int,
    smoke: bool,
    options: Mapping[str, Any] | None = None,
) -> Cell:
    """The cell of a method on data sets of the bus engine with so many inputs."""
    options = dict(options or {})
    settings = {
        "method": method,
        "inputs": inputs,
        "repetitions": repetitions,
        "trajectories": SMOKE_TRAJECTORIES if smoke else TRAJECTORIES,
        "options": options,
        "seeds": "many_inputs",
        "seeds_row": "bus",
    }
    words = [method, f"K = {inputs}", *map(str, options.values())]
    return Cell("many_inputs", settings, ", ".join(words))


def compute(cell: Cell) -> Result:
    """Scores of the cell's data sets, and statistics of the inputs that an estimate chose."""
    world = BusEngine(dummies=cell.settings["inputs"])
    errors: list[float] = []
    runs = []
    choices: dict[str, list[float]] = {}
    for replication, rng in enumerate(seeds.generators(cell)):
        train, test = world.simulate(cell.settings["trajectories"], rng).split(SHARE)
        options = options_of(BusEngine(), cell, {})
        if "rng" in options:
            options["rng"] = [options["rng"][replication]]
        (estimate,) = by_method(world, cell, [train], options)
        errors.append(mape(estimate, test, world.reward))
        runs.append(estimate.diagnostics)
        if "reward_inputs" in runs[-1].extra:
            for name, share in chosen_shares(runs[-1].extra).items():
                choices.setdefault(name, []).append(share)
    statuses = [run.status for run in runs]
    records = list(summarise("MAPE", errors, statuses))
    records += [summarise(name, x, ["ok"] * len(x))[0] for name, x in choices.items()]
    replications = {"MAPE": errors, "status": [severity(s) for s in statuses]} | choices
    seconds = float(np.mean([run.cpu_seconds for run in runs]))
    return Result(tuple(records), replications, cpu_seconds=seconds)


def chosen_shares(extra: Mapping[str, Any]) -> dict[str, float]:
    """Statistic -> its value in one data set, from the inputs chosen; mileage, 0, alone matters."""
    of_r, of_zeta = (set(np.asarray(extra[f"{p}_inputs"]).tolist()) for p in ("reward", "zeta"))
    return {
        RIGHT: float(0 in of_r),
        FALSE: float(not of_r <= {0}),
        ZETA_RIGHT: float(0 in of_zeta),
        ZETA_FALSE: float(not of_zeta <= {0}),
    }
