"""The cells of `counterfactual` that fit a method, apart from those of the true reward."""

import numpy as np

from gladius.metrics import mape
from gladius.worlds.bus import BusEngine
from reproduce.counterfactuals import evaluate
from reproduce.data import data_sets
from reproduce.fits import fit
from reproduce.spec import Cell, Result, summarise


def compute(cell: Cell) -> Result:
    """Fit the cell's method and evaluate its answers; records of `evaluate` and the MAPE."""
    world = BusEngine()
    train, test = data_sets(world, cell)
    estimates, grid = fit(world, cell, train), world.mdp.features
    statuses = [e.diagnostics.status for e in estimates]
    errors = [mape(e, split, world.reward) for e, split in zip(estimates, test, strict=True)]
    rewards = np.stack([e.reward_function(grid) for e in estimates])
    policies = np.stack([e.policy(grid) for e in estimates])
    answers = evaluate(world, train, rewards, policies, statuses)
    return Result(
        (*summarise("MAPE", errors, statuses), *answers.records),
        {"MAPE": errors, **answers.replications},
        answers.arrays,
        float(np.mean([e.diagnostics.cpu_seconds for e in estimates])),
    )
