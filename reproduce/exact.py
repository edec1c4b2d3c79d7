"""What the exhibits show of the bus engine without fitting anything."""

import math

import numpy as np

from gladius import efficiency
from gladius.anchor import Anchor
from gladius.stability import expected_counts, stability
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine
from reproduce.data import SHARE, data_sets, make_world
from reproduce.spec import Array, Cell, Record, Result

MEASURED = "measured"
# numeral -> attribute of gladius.efficiency.Bounds
BOUNDS = {"i": "known_p_both", "ii": "known_p_slope", "iii": "tabular", "iv": "affine"}
MILEAGES = 10  # the paper's tables show 1 to 10 of the 20
TERM = "signed Bellman term at the end"


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


def truth(cell: Cell, device: str) -> Result:
    """The true r and Q, (1, S, A)."""
    mdp = BusEngine().mdp
    return Result((), arrays={"reward": mdp.reward[None], "q": mdp.solution.q[None]})


def frequencies(cell: Cell, device: str) -> Result:
    """Expected counts of the test split, and those that the data sets show.

    The standard deviation is that of the count of one trajectory over all simulated ones, times
    the root of their number in a test split: trajectories are independent and alike.
    """
    world = BusEngine()
    train, test = data_sets(world, cell)
    shown = np.stack([_visits(t) for t in test])  # (R, trajectories of a test split, mileages, A)
    every = np.concatenate([*shown, *(_visits(t) for t in train)])
    size = shown.shape[1]
    arrays = {
        "expected": size * world.horizon * world.mdp.occupancy(world.horizon)[:MILEAGES],
        "spread": math.sqrt(size) * every.std(axis=0, ddof=1),
        "draws": shown.sum(axis=1),
    }
    return Result((), arrays=arrays)


def _visits(data: Transitions) -> Array:
    """(trajectories, mileages, A) how often each trajectory has each pair."""
    names, label = np.unique(data.trajectory, return_inverse=True)
    mileage = data.states[:, 0].astype(np.int64) - 1
    shown = mileage < MILEAGES
    table = np.zeros((len(names), MILEAGES, data.number_of_actions))
    np.add.at(table, (label[shown], mileage[shown], data.actions[shown]), 1.0)
    return table


def stability_map(cell: Cell, device: str) -> Result:
    """Algorithm 1 on expected data: three records for each of (ascents, ratio).

    The status is that of the run from Q = zeta = 0.
    """
    settings = cell.settings
    world = BusEngine(discount=settings["beta"])
    found = stability(
        expected_counts(world.mdp, world.horizon),
        Anchor(world.anchor_action, world.anchor_reward),
        settings["ratios"],
        settings["ascents"],
        [settings["beta"]],
        tau_2=settings["tau_2"],
        iterations=settings["iterations"],
    )
    arrays = {
        name: np.asarray(getattr(found, name)[0], dtype=float)
        for name in ("growth", "bellman", "predicted", "diverged")
    }
    names = {"growth": "growth rate", "bellman": TERM, "predicted": "predicted unstable"}
    lines = []
    for k, ascents in enumerate(settings["ascents"]):
        for i, ratio in enumerate(settings["ratios"]):
            row = f"beta {settings['beta']:g}, ascents {ascents}, ratio {ratio:g}"
            status = "diverged" if found.diverged[0, k, i] else "ok"
            for name, statistic in names.items():
                ended = "ok" if name == "predicted" else status
                lines.append(Record(statistic, float(arrays[name][k, i]), status=ended, row=row))
    return Result(tuple(lines), arrays=arrays)
