"""Fits of data with many inputs, most of which do not matter: the cells of two exhibits.

Mileage paths are the same whatever the number of inputs, so that differences between numbers of
inputs are paired. A data set is simulated, fitted and let go before the next, for a hundred inputs
are a hundred times the memory. An estimator sees the training split, the anchor's reward and beta;
where the cell says so, the inputs that matter too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gladius import methods
from gladius.metrics import mape
from gladius.worlds.bus import BusEngine
from gladius.worlds.continuous_bus import ContinuousBus
from gladius.worlds.inputs_bus import InputsBus
from reproduce import seeds
from reproduce.data import SHARE
from reproduce.fits import options_of, severity
from reproduce.inputs_worlds import VARIANTS, WEAK
from reproduce.spec import Cell, Result, summarise

BUS = "bus"
# data sets that no setting of the estimator was chosen on; those before had shown it three faults
DRAWN_AGAIN = "many_inputs_drawn_again"
TRAJECTORIES, SMOKE_TRAJECTORIES = 1000, 60
RIGHT, FALSE = "all inputs of r were chosen for it", "a further input was chosen for r"
ZETA_RIGHT, ZETA_FALSE = "all inputs of zeta were chosen for it", "a further one was for zeta"
FOUND = "share of the inputs of r beside mileage that were chosen"
PARTS = ("reward", "zeta")
WORLDS = VARIANTS | WEAK


def fitting(
    method: str,
    world: str,
    inputs: int,
    repetitions: int,
    smoke: bool,
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Cell:
    """The cell of a method on data sets of a world (BUS or of WORLDS) with so many inputs."""
    told = {
        "method": method,
        "world": world,
        "inputs": inputs,
        "repetitions": repetitions,
        "trajectories": SMOKE_TRAJECTORIES if smoke else TRAJECTORIES,
        "options": dict(options or {}),
        "seeds": "many_inputs" if world == BUS else DRAWN_AGAIN,
        "seeds_row": world,
    }
    words = [method, world, f"K = {inputs}", *map(str, dict(options or {}).values())]
    return Cell(f"{__name__}:compute", told | settings, ", ".join(words))


def compute(cell: Cell, device: str) -> Result:
    """Fit and score the cell's data sets one by one.

    Records are those of `summarise`, and, where the estimate says which inputs it chose, the shares
    of data sets with all of r's and of zeta's inputs and with further ones, and the mean of FOUND.
    Settings: those of `fitting`; `given` hands the method the inputs that matter, for r and zeta.
    """
    settings = cell.settings
    world = make_world(settings["world"], settings["inputs"])
    errors: list[float] = []
    statuses: list[str] = []
    chosen_well: dict[str, list[float]] = {}
    seconds: list[float] = []
    variant = WORLDS.get(settings["world"])
    of_r, of_zeta = ({0}, {0}) if variant is None else (set(variant.reward), set(variant.zeta))
    for place, rng in enumerate(seeds.generators(cell)):
        train, test = world.simulate(settings["trajectories"], rng).split(SHARE)
        options = options_of(BusEngine(), cell, {})
        if "rng" in options:
            options["rng"] = [options["rng"][place]]
        if settings.get("given") and variant is not None:
            options |= {"inputs": variant.reward, "zeta_inputs": variant.zeta}
        (estimate,) = methods.fit(
            [train],
            settings["method"],
            anchor_action=world.anchor_action,
            anchor_reward=world.anchor_reward,
            discount=world.discount,
            **options,
        )
        errors.append(mape(estimate, test, world.reward))
        statuses.append(estimate.diagnostics.status)
        seconds.append(estimate.diagnostics.cpu_seconds)
        extra = estimate.diagnostics.extra
        if "reward_inputs" in extra and not settings.get("given"):
            r, zeta = (set(np.asarray(extra[f"{name}_inputs"]).tolist()) for name in PARTS)
            shares: dict[str, float] = {
                RIGHT: of_r <= r,
                FALSE: not r <= of_r,
                ZETA_RIGHT: of_zeta <= zeta,
                ZETA_FALSE: not zeta <= of_zeta,
            }
            if of_r - {0}:
                shares[FOUND] = len(of_r & r - {0}) / len(of_r - {0})
            for name, share in shares.items():
                chosen_well.setdefault(name, []).append(float(share))
    replications = {
        "MAPE": errors,
        "status": [severity(status) for status in statuses],
    }
    records = list(summarise("MAPE", errors, statuses))
    replications |= chosen_well
    records += [summarise(name, x, ["ok"] * len(x))[0] for name, x in chosen_well.items()]
    return Result(tuple(records), replications, cpu_seconds=float(np.mean(seconds)))


def make_world(name: str, inputs: int) -> BusEngine | InputsBus | ContinuousBus:
    """The bus engine with dummies, or a variant."""
    return BusEngine(dummies=inputs) if name == BUS else WORLDS[name].make(inputs)
