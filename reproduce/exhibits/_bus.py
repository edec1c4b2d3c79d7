"""What the bus engine's exhibits share: data sets by seed, and the score of an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

import gladius
from gladius import METHODS, BusEngine, Estimate, Transitions
from gladius.efficiency import Bounds, bounds
from gladius.methods import takes, title
from gladius.metrics import mape
from reproduce import seeds
from reproduce.spec import Cell, Result, summarise

SHARE = 0.8  # of the trajectories is for training


def data_sets(world: BusEngine, cell: Cell) -> tuple[list[Transitions], list[Transitions]]:
    """(training, test) splits of the cell's repetitions; its settings say how many trajectories."""
    sets = world.simulate(cell.settings["trajectories"], seeds.generators(cell))
    splits = [one.split(SHARE) for one in sets]
    return [train for train, _ in splits], [test for _, test in splits]


def fit(
    world: BusEngine, cell: Cell, train: Sequence[Transitions], **options: Any
) -> list[Estimate]:
    """The cell's method on all repetitions at once.

    Its settings are `method`, `options` of it, and `oracle`: whether it is given the true
    transition law. Where it draws random numbers each repetition has its own generator.
    """
    method = cell.settings["method"]
    options = {**cell.settings.get("options", {}), **options}
    if "training" in options:  # as JSON holds it
        options["training"] = import_module(METHODS[method]).Training(**options["training"])
    if cell.settings.get("oracle"):
        options |= {"transition": world.mdp.transition, "grid": world.mdp.features}
    if takes(method, "rng"):
        options.setdefault("rng", seeds.generators(cell, title(method)))
    return gladius.fit(
        train,
        method,
        anchor_action=world.anchor_action,
        anchor_reward=world.anchor_reward,
        discount=world.discount,
        **options,
    )


def score(
    world: BusEngine, estimates: Sequence[Estimate], test: Sequence[Transitions], protocol: str = ""
) -> Result:
    """MAPE of each estimate on its own test split, in per cent."""
    errors = [mape(e, t, world.reward) for e, t in zip(estimates, test, strict=True)]
    statuses = [e.diagnostics.status for e in estimates]
    return Result(
        summarise("MAPE", errors, statuses, protocol),
        {f"{protocol} MAPE".strip(): errors},
        cpu_seconds=float(np.mean([e.diagnostics.cpu_seconds for e in estimates])),
    )


@cache
def bound(trajectories: int) -> Bounds:
    """First-order bounds on the expected MAPE, given the training share of `trajectories`."""
    world = BusEngine()
    return bounds(world.mdp, world.horizon, [SHARE * trajectories], world.anchor_action)
