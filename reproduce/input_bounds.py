"""Bounds on the error of the reward where most inputs do not matter: nothing is fitted."""

import numpy as np

from gladius import efficiency
from gladius.worlds.bus import MAINTAIN, BusEngine
from reproduce.data import SHARE
from reproduce.spec import Cell, Record, Result

TRAJECTORIES = 1000


def bound_cell(inputs: int, is_dense: bool) -> Cell:
    """The cell of a bound on the bus engine's MAPE."""
    return Cell(f"{__name__}:bound", {"inputs": inputs, "is_dense": is_dense}, "bound")


def bound(cell: Cell, device: str) -> Result:
    """First-order expected MAPE, r affine in mileage; with a coefficient for each input or none."""
    world = BusEngine()
    expert = efficiency.linearise(world.mdp, world.horizon)
    x = expert.world.features[:, 0]
    basis = np.zeros((len(x), 2, 2))
    basis[:, MAINTAIN] = np.stack([np.ones_like(x), x], axis=1)
    deviation = efficiency.linear_deviation(expert, basis, False)
    if cell.settings["is_dense"]:
        each = efficiency.irrelevant_input_variance(expert)
        variance = deviation[:, MAINTAIN] ** 2 + cell.settings["inputs"] * each
        deviation[:, MAINTAIN] = np.sqrt(variance)
    rows = np.array([SHARE * TRAJECTORIES * world.horizon])
    value = float(efficiency.expected_mape(expert, deviation, rows)[0])
    return Result((Record("MAPE", value, repetitions=0),))
