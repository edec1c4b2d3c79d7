"""What the exhibits show of the bus engine without fitting anything.

Bounds on the expected MAPE, the true r and Q, and expected counts of a test split. All
are exact, so they have no standard error.
"""

import math
from typing import Any

import numpy as np

from gladius.designs import efficiency
from gladius.designs.bus import MAINTAIN, BusEngine
from gladius.panel.record import Transitions
from reproduce.cells.data import SHARE, data_sets, make_world
from reproduce.engine import seeds
from reproduce.engine.nouns import Array, Cell, Entry, Record, Result, summarise

BOUND, MEASURED = "bound", "measured"  # column and protocol of the bounds
# numeral -> attribute of gladius.designs.efficiency.Bounds
BOUNDS = {"i": "known_p_both", "ii": "known_p_slope", "iii": "tabular", "iv": "affine"}
BOUNDS |= {"v": "affine_known_p"}
RESAMPLED = "bootstrap first-order"  # protocol of the oracles' printed numbers
RESAMPLES = 100  # of one data set, behind a printed number of an oracle
MILEAGES = 10  # the paper's tables show 1 to 10 of the 20
TRAJECTORIES = 1000  # of the data with inputs


def bound_entry(row: str, trajectories: int, truth: str = "affine") -> Entry:
    """The bounds at one N under a true reward of `data.TRUTHS`, as an entry of an exhibit."""
    settings = {"trajectories": trajectories, "truth": truth}
    return Entry(row, BOUND, MEASURED, Cell("bounds", settings, f"bounds, {row}"))


def bound_protocol(numeral: str) -> str:
    """The protocol of a bound's line in the CSV."""
    return f"{MEASURED} ({numeral})"


def bounds(cell: Cell) -> Result:
    """A record for each bound whose class contains the true reward."""
    world, sizes = make_world(cell), [SHARE * cell.settings["trajectories"]]
    values = efficiency.bounds(world.mdp, world.horizon, sizes, world.anchor_action)
    records = []
    for numeral, field in BOUNDS.items():
        value = float(getattr(values, field)[0])
        if not math.isnan(value):
            records.append(Record("MAPE", value, repetitions=0, protocol=bound_protocol(numeral)))
    return Result(tuple(records))


def resampled_cell(trajectories: int, is_known: bool, smoke: bool) -> Cell:
    """The cell of an oracle's printed number; `is_known`: Rust's, who knows P, or ML-IRL's."""
    settings: dict[str, Any] = {"trajectories": trajectories, "is_known": is_known}
    settings |= {"seeds": "resampled", "seeds_row": f"{trajectories}/{is_known}"}
    settings |= {"repetitions": 10 if smoke else 4000}
    return Cell("resampled", settings, f"resamples, {trajectories}")


def resampled(cell: Cell) -> Result:
    """The distribution of the mean error of RESAMPLES resamples of one data set, to first order.

    theta-hat is normal around theta, and a resample's estimate is normal around theta-hat with the
    same covariance, that of maximum likelihood of the slope and the anchor's reward. The record is
    the mean over resamples (per cent).
    """
    world = BusEngine()
    expert = efficiency.linearise(world.mdp, world.horizon)
    x = expert.world.features[:, 0]
    basis = np.zeros((len(x), 2, 2))
    basis[:, MAINTAIN, 0], basis[:, world.anchor_action, 1] = x, 1.0
    covariance = efficiency.linear_covariance(expert, basis, cell.settings["is_known"])
    observations = SHARE * cell.settings["trajectories"] * world.horizon
    factor = np.linalg.cholesky(covariance / observations)
    weight = 100.0 * expert.occupancy / np.abs(expert.world.reward)
    means = []
    for rng in seeds.generators(cell):
        normal = rng.standard_normal((RESAMPLES + 1, 2))
        theta = (normal[:1] + normal[1:]) @ factor.T
        errors = np.einsum("sa,sar->r", weight, np.abs(basis @ theta.T))
        means.append(float(errors.mean()))
    return Result(summarise("MAPE", means, ["ok"] * len(means))[:1])


def bound_cell(inputs: int, is_dense: bool) -> Cell:
    """The cell of a bound on the bus engine's MAPE with inputs that do not matter."""
    return Cell("bounds_with_inputs", {"inputs": inputs, "is_dense": is_dense}, "bound")


def with_inputs(cell: Cell) -> Result:
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


def truth(cell: Cell) -> Result:
    """The true r and Q, (1, S, A)."""
    mdp = BusEngine().mdp
    return Result((), arrays={"reward": mdp.reward[None], "q": mdp.solution.q[None]})


def frequencies(cell: Cell) -> Result:
    """Counts of the test split, (mileages, A): expected, their standard deviation, and drawn.

    The standard deviation is that of the counts of one simulated trajectory, times the root of the
    number of trajectories in a test split, since trajectories are independent and alike.
    """
    world = BusEngine()
    train, test = data_sets(world, cell)
    tested = np.stack([_visits(t) for t in test])  # (R, trajectories of a test split, mileages, A)
    simulated = np.concatenate([*tested, *(_visits(t) for t in train)])
    size = tested.shape[1]
    expected = size * world.horizon * world.mdp.occupancy(world.horizon)[:MILEAGES]
    spread = math.sqrt(size) * simulated.std(axis=0, ddof=1)
    return Result((), {}, {"expected": expected, "spread": spread, "draws": tested.sum(axis=1)})


def _visits(data: Transitions) -> Array:
    """(trajectories, mileages, A) counts of each pair in each trajectory."""
    names, label = np.unique(data.trajectory, return_inverse=True)
    mileage = data.states[:, 0].astype(np.int64) - 1
    is_counted = mileage < MILEAGES
    index = label[is_counted], mileage[is_counted], data.actions[is_counted]
    visits = np.zeros((len(names), MILEAGES, data.number_of_actions))
    np.add.at(visits, index, 1.0)
    return visits
