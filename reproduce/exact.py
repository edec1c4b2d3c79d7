"""What the exhibits show of the bus engine without fitting anything."""

import math

import numpy as np

from gladius import efficiency
from gladius.anchor import Anchor
from gladius.stability import expected_counts, stability
from gladius.transitions import Transitions
from gladius.worlds.bus import MAINTAIN, BusEngine
from reproduce.data import SHARE, data_sets, make_world
from reproduce.spec import Array, Cell, Record, Result

MEASURED = "measured"
# numeral -> attribute of gladius.efficiency.Bounds
BOUNDS = {"i": "known_p_both", "ii": "known_p_slope", "iii": "tabular", "iv": "affine"}
MILEAGES = 10  # the paper's tables show 1 to 10 of the 20
TRAJECTORIES = 1000  # of the data with inputs
TERM = "signed Bellman term at the end"


def protocol(numeral: str) -> str:
    """The protocol of a bound's line in the CSV."""
    return f"{MEASURED} ({numeral})"


def bounds(cell: Cell, device: str) -> Result:
    """A record for each bound that holds at the truth; exact, so without a standard error."""
    world, sizes = make_world(cell), [SHARE * cell.settings["trajectories"]]
    known = efficiency.bounds(world.mdp, world.horizon, sizes, world.anchor_action)
    lines = [
        Record("MAPE", float(getattr(known, field)[0]), repetitions=0, protocol=protocol(numeral))
        for numeral, field in BOUNDS.items()
    ]  # nan: the truth is not in the class
    return Result(tuple(line for line in lines if not math.isnan(line.value)))


def bound_cell(inputs: int, is_dense: bool) -> Cell:
    """The cell of a bound on the bus engine's MAPE with inputs that do not matter."""
    return Cell(f"{__name__}:with_inputs", {"inputs": inputs, "is_dense": is_dense}, "bound")


def with_inputs(cell: Cell, device: str) -> Result:
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
    expected = size * world.horizon * world.mdp.occupancy(world.horizon)[:MILEAGES]
    spread = math.sqrt(size) * every.std(axis=0, ddof=1)
    return Result((), {}, {"expected": expected, "spread": spread, "draws": shown.sum(axis=1)})


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
