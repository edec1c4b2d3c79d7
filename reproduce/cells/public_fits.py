"""Estimators on the data of the public code's seeds, beside the procedure's networks.

Each is fitted on the public training split and scored on the public test split. `known_level` and
`descents` see more than data: the true Q of replacement, and the true level as a start.
"""

import math
from typing import Any

import numpy as np

from gladius.designs.bus import MAINTAIN, BusEngine
from gladius.designs.metrics import mape, percentage_error
from gladius.panel.record import group
from gladius.paper.author import LEVEL
from reproduce.cells import fits
from reproduce.cells.data import on_grid
from reproduce.cells.public_data import networks_data
from reproduce.cells.step_sizes import CLOSE, DIVERGED, STEPS, Tables, follow, marks
from reproduce.engine.nouns import Array, Cell, Record, Result

# label -> method, settings: two parameters with known transitions; no form; ours
FITTED: dict[str, tuple[str, dict[str, Any]]] = {
    "ML": ("nfxp", {"oracle": True}),
    "plug-in": ("plug_in", {}),
    "ours": ("profiled_erm", {}),
}
STARTS = {"from 0": 0.0, "from -55": LEVEL}  # of Q and zeta
STEP, RATIO = 2.0, 1.0  # tau_2 per observation, and tau_1 / tau_2 as printed
DIRECT, SMOKE_DIRECT, MARKS = 4_000_000, 500, 40  # steps at most; evaluations a decade


def fitted(label: str, trajectories: int, dummies: int = 0) -> Cell:
    """The cell of one of FITTED."""
    method, settings = FITTED[label]
    settings = {"method": method, "trajectories": trajectories, "dummies": dummies} | settings
    return Cell("public_fit", settings, f"public data, {method}, N = {trajectories}")


def known_level_cell(trajectories: int) -> Cell:
    """The cell of `known_level`."""
    return Cell("known_level", {"trajectories": trajectories}, f"known level, N = {trajectories}")


def descent(trajectories: int, start: str, smoke: bool) -> Cell:
    """The cell of Algorithm 1 from one of STARTS."""
    settings = {"trajectories": trajectories, "start": STARTS[start], "tau_2": STEP}
    settings |= {"ratio": RATIO, "direct": SMOKE_DIRECT if smoke else DIRECT}
    return Cell("public_descent", settings, f"Algorithm 1 {start}, N = {trajectories}")


def compute(cell: Cell) -> Result:
    """The MAPE (per cent) of a fit; arrays `reward` and `q`, (1, S, A), in utils."""
    world = BusEngine(dummies=cell.settings["dummies"])
    train, test = networks_data(cell.settings["trajectories"], world.dummies)
    (estimate,) = fits.fit(world, cell, [train])
    status, error = estimate.diagnostics.status, mape(estimate, test, world.reward)
    grid = np.zeros((world.max_mileage, train.states.shape[1]))
    grid[:, 0] = np.arange(1, world.max_mileage + 1)
    arrays = {"reward": estimate.reward_function(grid)[None], "q": estimate.q(grid)[None]}
    seconds = estimate.diagnostics.cpu_seconds
    return Result((Record("MAPE", error, status=status),), arrays=arrays, cpu_seconds=seconds)


def reward_at_level(data: Tables, q_replace: float) -> Array:
    """(S, 2) the r that has the observed choice and transition frequencies, Q(s, 1) = `q_replace`.

    V(s) = Q(s, 1) - log p(1 | s), Q(s, 0) = V(s) + log p(0 | s), r = Q - beta P V. Q is constant
    where the anchor action leads to one state; r(., 1) is the anchor's.
    """
    log_p = np.log(data.sample.choices)
    v = q_replace - log_p[:, 1]
    q = v + log_p[:, MAINTAIN] - data.sample.discount * data.transition[MAINTAIN] @ v
    return np.column_stack([q, np.broadcast_to(data.sample.reward, len(q))])


def known_level(cell: Cell) -> Result:
    """The MAPE (per cent) of `reward_at_level` at the true Q of replacement; it sees the truth."""
    world = BusEngine()
    train, test = networks_data(cell.settings["trajectories"])
    data, grid = Tables.counted(train, world), np.full(world.mdp.reward.shape, math.nan)
    present = group([train]).states[group([train]).present[0]][:, 0].astype(np.int64) - 1
    grid[present] = reward_at_level(data, float(world.mdp.solution.q[0, world.anchor_action]))
    visits = on_grid(world.mdp, [test]).visits[0]
    seen = visits > 0
    error = percentage_error(grid[seen], world.mdp.reward[seen], visits[seen])
    return Result((Record("MAPE", error),), arrays={"reward": grid[None]})


def descents(cell: Cell) -> Result:
    """STEPS of Algorithm 1, full batches, until r stays CLOSE to that of the risk's minimiser.

    Arrays: `steps` (K,) and `distance` (K,), the mean of |r - minimiser's| / |that|.
    """
    settings = cell.settings
    data = Tables.counted(networks_data(settings["trajectories"])[0], BusEngine())
    step = data.printed(settings["ratio"] * settings["tau_2"], settings["tau_2"], False, False)
    start = np.full_like(data.minimiser, settings["start"])
    path = follow(data, step, start, marks(settings["direct"], MARKS), CLOSE / 10)
    status = "diverged" if not path.distance[-1] <= DIVERGED else "not_converged"
    status = "ok" if math.isfinite(path.needed()) else status
    arrays = {"steps": path.steps.astype(float), "distance": path.distance}
    return Result((Record(STEPS, path.needed(), status=status),), arrays=arrays)
