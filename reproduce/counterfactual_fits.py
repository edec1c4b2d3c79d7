"""The cells of `counterfactual` that fit a method, and carry its estimates through."""

import numpy as np

from gladius.metrics import mape
from gladius.worlds.bus import BusEngine
from reproduce.counterfactuals import answered, on_data
from reproduce.data import data_sets
from reproduce.fits import fit
from reproduce.spec import Cell, Result, summarise


def compute(cell: Cell, device: str) -> Result:
    """Fit the cell's replications, answer every change by every solver and judge; on the CPU."""
    world = BusEngine()
    train, test = data_sets(world, cell)
    estimates, grid = fit(world, cell, train), world.mdp.features
    statuses = [e.diagnostics.status for e in estimates]
    errors = [mape(e, split, world.reward) for e, split in zip(estimates, test, strict=True)]
    rewards = np.stack([e.reward_function(grid) for e in estimates])
    kept = np.stack([e.policy(grid) for e in estimates])
    found = answered(world, on_data(world.mdp, train, rewards, kept, statuses))
    return Result(
        (*summarise("MAPE", errors, statuses), *found.records),
        {"MAPE": errors, **found.replications},
        found.arrays,
        float(np.mean([e.diagnostics.cpu_seconds for e in estimates])),
    )
