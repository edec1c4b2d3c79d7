"""Fits of data with many inputs, most of which do not matter: cells of two exhibits.

Mileage paths are the same whatever the number of inputs, so differences between numbers of inputs
are paired. Data sets are simulated and fitted one by one, since a hundred inputs need a hundred
times the memory. An estimator gets the training split, the anchor's reward and beta; an oracle
gets the inputs that matter too.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gladius.designs.bus import BusEngine
from gladius.designs.continuous_bus import ContinuousBus
from gladius.designs.inputs_bus import InputsBus
from gladius.designs.metrics import mape
from reproduce.cells.data import SHARE
from reproduce.cells.fits import by_method, options_of, severity
from reproduce.cells.inputs_designs import VARIANTS
from reproduce.engine import seeds
from reproduce.engine.nouns import Cell, Result, summarise

BUS = "bus"
# the stream of data sets on which no setting of the estimator was chosen
DRAWN_AGAIN = "many_inputs_drawn_again"
TRAJECTORIES, SMOKE_TRAJECTORIES = 1000, 60
# statistics of the chosen inputs
RIGHT, FALSE = "all inputs of r were chosen for it", "a further input was chosen for r"
ZETA_RIGHT, ZETA_FALSE = "all inputs of zeta were chosen for it", "a further one was for zeta"
FOUND = "share of the inputs of r beside mileage that were chosen"


def fitting(
    method: str,
    world: str,
    inputs: int,
    repetitions: int,
    smoke: bool,
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Cell:
    """The cell of a method on data sets of a world (BUS or of VARIANTS) with so many inputs.

    `settings` may have `given`: the method gets the inputs that matter, for r and for zeta.
    """
    options = dict(options or {})
    settings |= {
        "method": method,
        "world": world,
        "inputs": inputs,
        "repetitions": repetitions,
        "trajectories": SMOKE_TRAJECTORIES if smoke else TRAJECTORIES,
        "options": options,
        "seeds": "many_inputs" if world == BUS else DRAWN_AGAIN,
        "seeds_row": world,
    }
    words = [method, world, f"K = {inputs}", *map(str, options.values())]
    return Cell("many_inputs", settings, ", ".join(words))


def compute(cell: Cell) -> Result:
    """Scores of the cell's data sets, and statistics of the inputs that an estimate chose."""
    settings = cell.settings
    world = make_world(settings["world"], settings["inputs"])
    variant = VARIANTS.get(settings["world"])
    reward, zeta = ((0,), (0,)) if variant is None else (variant.reward, variant.zeta)
    errors: list[float] = []
    runs = []
    choices: dict[str, list[float]] = {}
    for replication, rng in enumerate(seeds.generators(cell)):
        train, test = world.simulate(settings["trajectories"], rng).split(SHARE)
        options = options_of(BusEngine(), cell, {})
        if "rng" in options:
            options["rng"] = [options["rng"][replication]]
        if settings.get("given"):
            options |= {"inputs": reward, "zeta_inputs": zeta}
        (estimate,) = by_method(world, cell, [train], options)
        errors.append(mape(estimate, test, world.reward))
        runs.append(estimate.diagnostics)
        if "reward_inputs" in runs[-1].extra and not settings.get("given"):
            shares = chosen_shares(runs[-1].extra, set(reward), set(zeta))
            for name, share in shares.items():
                choices.setdefault(name, []).append(float(share))
    statuses = [run.status for run in runs]
    records = list(summarise("MAPE", errors, statuses))
    records += [summarise(name, x, ["ok"] * len(x))[0] for name, x in choices.items()]
    replications = {"MAPE": errors, "status": [severity(s) for s in statuses]} | choices
    seconds = float(np.mean([run.cpu_seconds for run in runs]))
    return Result(tuple(records), replications, cpu_seconds=seconds)


def chosen_shares(extra: Mapping[str, Any], reward: set[int], zeta: set[int]) -> dict[str, float]:
    """Statistic -> its value in one data set, from the inputs chosen and those that matter."""
    of_r, of_zeta = (set(np.asarray(extra[f"{p}_inputs"]).tolist()) for p in ("reward", "zeta"))
    shares: dict[str, float] = {
        RIGHT: reward <= of_r,
        FALSE: not of_r <= reward,
        ZETA_RIGHT: zeta <= of_zeta,
        ZETA_FALSE: not of_zeta <= zeta,
    }
    inputs = reward - {0}
    if inputs:
        shares[FOUND] = len(inputs & of_r) / len(inputs)
    return shares


def make_world(name: str, inputs: int) -> BusEngine | InputsBus | ContinuousBus:
    """The bus engine with dummies, or a variant."""
    return BusEngine(dummies=inputs) if name == BUS else VARIANTS[name].make(inputs)
