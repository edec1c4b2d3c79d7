"""The rewards that the bus engine's exhibits are tried on, and what is known of each exactly."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gladius import efficiency
from gladius.checks import Array
from gladius.worlds.bus import BusEngine
from reproduce.drawn_counts import SHARE
from reproduce.spec import Cell, Record, Result

TRUTHS: dict[str, Callable[[Array], Array] | None] = {  # r(x, maintain)
    "affine": None,  # the paper's -x
    "sine": lambda x: -x - 0.6 * np.sin(x),
    "power": lambda x: -0.25 * x**1.7,
    "step": lambda x: -x - 2.0 * (x > 2),
    "sqrt": lambda x: -3.0 * np.sqrt(x),
}
MEASURED = "measured"
# numeral -> attribute of gladius.efficiency.Bounds
BOUNDS = {"i": "known_p_both", "ii": "known_p_slope", "iii": "tabular", "iv": "affine"}


def make_world(cell: Cell) -> BusEngine:
    """The bus engine without dummies, with the cell's truth."""
    return BusEngine(maintenance=TRUTHS[cell.settings.get("truth", "affine")])


def protocol(numeral: str) -> str:
    """The protocol of a bound's line in the CSV."""
    return f"{MEASURED} ({numeral})"


def bounds(cell: Cell, device: str) -> Result:
    """A record for each bound that holds at the truth; exact, so without a standard error."""
    world, sizes = make_world(cell), [SHARE * cell.settings["trajectories"]]
    known = efficiency.bounds(world.mdp, world.horizon, sizes, world.anchor_action)
    values = {numeral: float(getattr(known, field)[0]) for numeral, field in BOUNDS.items()}
    return Result(
        tuple(
            Record("MAPE", value, repetitions=0, protocol=protocol(numeral))
            for numeral, value in values.items()
            if not math.isnan(value)  # the truth is not in the class
        )
    )
