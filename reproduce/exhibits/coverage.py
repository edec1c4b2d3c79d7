"""Coverage of 95 % intervals: simulated data sets whose true parameters are known.

The bus engine hardly feels the noise of estimated transition probabilities. In `rough`, six states
and three actions, that noise is about half of the variance. In `regimes` states are persistent and
the discount factor is .98: free frequencies bias maximum likelihood there, which no standard error
mends, and transition probabilities with few parameters do. Profiled ERM and the plug-in have
intervals of r in each state. With two and four features the default of profiled ERM selects what r
depends on, and its intervals have to allow for that.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import gladius
from gladius import LinearReward, PooledIncrements, TabularMDP, Transitions
from gladius.designs.bus import BUS_REWARD, BusEngine
from reproduce.cells.inputs_designs import DESIGNS
from reproduce.drawing import layout
from reproduce.drawing.notes import notes
from reproduce.engine import seeds
from reproduce.engine.nouns import Array, Cell, Entry, Exhibit, Record, Result, worst
from reproduce.engine.view import View
from reproduce.paper.judge import CRITICAL, number

NAME = "coverage"
SETS, SMOKE_SETS, BATCH = 1000, 4, 50
COSTLY_SETS, DRAWS = 200, 50  # where an interval takes a bootstrap or a fit to observations
POINTS = 50  # states, drawn as the data are, at which the intervals of several features are taken
LEVEL = 0.95
KINDS, BOOTSTRAP = ("model", "cluster"), ("bootstrap",)
ROUGH_SEED = 6  # of the rough design's transition probabilities, drawn once


@dataclass(frozen=True)
class Design:
    """A simulation model whose reward is linear in known functions.

    Attributes:
        world: the model.
        design: (n, d) features -> (n, A, k); the reward is design @ theta.
        theta: (k,) the true parameters.
        horizon: periods of a trajectory.
        increments: the option of few parameters that holds there.
    """

    world: TabularMDP
    design: Callable[[Array], Array]
    theta: Array
    horizon: int
    increments: PooledIncrements


def costs(states: Array) -> Array:
    """Action 0 costs theta_0 a unit of the first feature, the others theta_1, theta_2 once."""
    table = np.zeros((len(states), 3, 3))
    table[:, 0, 0], table[:, 1, 1], table[:, 2, 2] = -states[:, 0], -1.0, -1.0
    return table


def repairs(states: Array) -> Array:
    """Keeping costs theta_0 a unit and theta_1 by regime, a repair theta_2."""
    table = np.zeros((len(states), 2, 3))
    table[:, 0, 0], table[:, 0, 1], table[:, 1, 2] = -states[:, 0], -states[:, 1], -1.0
    return table


@cache
def designs() -> dict[str, Design]:
    """bus, rough, regimes."""
    engine = BusEngine()
    bus = Design(
        engine.mdp, BUS_REWARD.design, np.array([1.0, 5.0]), 100, PooledIncrements({1: 1.0})
    )
    rng = np.random.default_rng(ROUGH_SEED)
    lotteries = rng.dirichlet(np.full(6, 0.4), size=(3, 6))
    line = np.arange(6.0)[:, None]
    theta = np.array([1.5, 4.0, 5.0])
    world = TabularMDP(costs(line) @ theta, lotteries, 0.95, np.full(6, 1 / 6), line)
    rough = Design(world, costs, theta, 40, PooledIncrements())
    grid = np.array([[x, g] for x in range(12) for g in range(3)], dtype=float)
    option = PooledIncrements({1: (0.0, 0.0)}, own=(1,), grid=grid)
    stays = 0.96 * np.eye(3) + 0.02 * (1 - np.eye(3))
    moves = np.zeros((2, 36, 36))
    for i, (x, g) in enumerate(grid.astype(int)):
        for a, d, p in ((a, d, p) for a in (0, 1) for d, p in enumerate((0.4, 0.4, 0.2))):
            end = min((0 if a else x) + d, 11)
            moves[a, i, 3 * end : 3 * end + 3] += p * stays[g]
    theta = np.array([0.15, 0.6, 4.0])
    world = TabularMDP(repairs(grid) @ theta, moves, 0.98, np.full(36, 1 / 36), grid)
    regimes = Design(world, repairs, theta, 60, option)
    return {"bus": bus, "rough": rough, "regimes": regimes}


FREQUENCIES, FEW = "frequencies", "few parameters"
SIZES = {"bus": (50, 250), "rough": (50, 250), "regimes": (200,)}
METHODS = {"NFXP": "nfxp", "CCP": "ccp", "ML-IRL": "ml_irl"}
WITHOUT_FORM = {"Profiled ERM": "profiled_erm", "Plug-in": "plug_in"}  # intervals of r, one feature
BY_BOOTSTRAP = {"Semi-gradient": "semi_gradient"}  # at the larger size
ALL = METHODS | WITHOUT_FORM | BY_BOOTSTRAP
# design of `inputs_designs` -> its features beside the mileage, all of which matter
INPUTS = {"linear": 1, "three": 3}
FEATURES = {"linear": "two features", "three": "four features"}
ON_OBSERVATIONS = "observations"  # profiled ERM of the class `sparse`
SHOWN = ("model", "bootstrap")  # the errors of a method's first column
MIN_OCCUPANCY = 0.01  # of a state whose errors are compared with their spread
MIN_SHARE = 0.95  # of the data sets that have an interval there: fewer are a selection


def entries(smoke: bool) -> list[Entry]:
    """Every method by frequencies; NFXP by few parameters where they hold, and with P known."""
    listed = []
    for name, sizes in SIZES.items():
        for n in sizes[:1] if smoke else sizes:
            is_largest = smoke or n == sizes[-1]
            columns = list(METHODS)
            if name != "regimes":
                columns += [*WITHOUT_FORM, *(BY_BOOTSTRAP if is_largest else ())]
            kinds = [(column, FREQUENCIES) for column in columns] + [("NFXP", "P known")]
            kinds += [("NFXP", FEW)] if name != "rough" else []
            for column, kind in kinds:
                settings = {"method": ALL[column], "design": name, "trajectories": n}
                sets = COSTLY_SETS if column in BY_BOOTSTRAP else SETS
                settings |= {"kind": kind, "repetitions": SMOKE_SETS if smoke else sets}
                settings |= {"seeds": NAME, "seeds_row": f"{name}/{n}"}
                cell = Cell(NAME, settings, f"{column}, {name}, N = {n}, {kind}")
                listed.append(Entry(f"{name}/{n}", column, f"leak_free {kind}", cell, "coverage"))
    for name, features in FEATURES.items():
        settings = {"method": "profiled_erm", "design": name, "trajectories": 20 if smoke else 100}
        settings |= {"kind": ON_OBSERVATIONS, "repetitions": SMOKE_SETS if smoke else COSTLY_SETS}
        settings |= {"seeds": NAME, "seeds_row": f"{features}/100"}
        cell = Cell(NAME, settings, f"profiled ERM, {features}")
        row, protocol = f"{features}/100", f"leak_free {ON_OBSERVATIONS}"
        listed.append(Entry(row, "Profiled ERM", protocol, cell, "coverage"))
    return listed


def simulated(design: Design, trajectories: int, rng: np.random.Generator) -> Transitions:
    """One data set."""
    paths = design.world.simulate(trajectories, design.horizon, rng)
    visited = np.append(paths.states, paths.next_states[:, -1:], axis=1)
    features, actions = design.world.features[visited], design.world.reward.shape[1]
    return Transitions.from_paths(features, paths.actions, actions)


def compute(cell: Cell) -> Result:
    """By parameter: coverage of both kinds of interval, mean error over spread, bias, length."""
    settings = cell.settings
    if settings["kind"] == ON_OBSERVATIONS:
        return compute_several(cell)
    design = designs()[settings["design"]]
    given: dict[str, Any] = {}
    if settings["kind"] == "P known":
        true = gladius.KnownTransitions(design.world.transition, design.world.features)
        given = {"transition": true}
    elif settings["kind"] == FEW:
        given = {"transition": design.increments}
    has_bootstrap = settings["method"] in BY_BOOTSTRAP.values()
    free = settings["method"] in WITHOUT_FORM.values()
    form: dict[str, Any] = {} if free else {"reward": LinearReward(design.design)}
    rngs = seeds.generators(cell)
    theta, errors, frames, statuses = [], [], [], []
    for start in range(0, len(rngs), BATCH):
        sets = [
            simulated(design, settings["trajectories"], rng) for rng in rngs[start : start + BATCH]
        ]
        level: dict[str, Any] = {"anchor_action": 1, "anchor_reward": float(-design.theta[1])}
        options = level | given | form | {"discount": design.world.discount}
        options["check_transitions"] = False  # nobody reads the warnings of a thousand fits
        for fit in gladius.fit(sets, settings["method"], **options):
            statuses.append(fit.diagnostics.status)
            if free:
                frames.append(fit.reward_frame(design.world.features, level=LEVEL))
                continue
            theta.append(fit.params.to_numpy())
            if has_bootstrap:
                errors.append([fit.bootstrap(None, DRAWS).std(axis=0, ddof=1)])
                continue
            errors.append([np.sqrt(np.diag(fit.cov(kind))) for kind in KINDS])
    if free:
        return Result(tuple(reward_records(frames, design.world.reward.ravel(), statuses)))
    kinds = BOOTSTRAP if has_bootstrap else KINDS
    return Result(tuple(records(np.array(theta), np.array(errors), design.theta, statuses, kinds)))


def compute_several(cell: Cell) -> Result:
    """Coverage of r by the default of profiled ERM, with several features, at POINTS states."""
    name = cell.settings["design"]
    world = DESIGNS[name](INPUTS[name])
    typical = world.simulate(POINTS, np.random.default_rng(0)).states
    at = typical[
        :: len(typical) // POINTS + 1
    ]  # a later period of each path than of the one before
    actions = range(world.number_of_actions)
    truth = np.stack([world.reward(at, np.full(len(at), a)) for a in actions], axis=1)
    level: dict[str, Any] = {"anchor_action": world.anchor_action}
    level |= {"anchor_reward": world.anchor_reward, "discount": world.discount}
    frames, statuses = [], []
    for rng in seeds.generators(cell):
        fit = gladius.fit(world.simulate(cell.settings["trajectories"], rng), **level)
        statuses.append(fit.diagnostics.status)
        frames.append(fit.reward_frame(at, level=LEVEL).assign(observations=1.0))
    return Result(tuple(reward_records(frames, truth.ravel(), statuses)))


def records(
    theta: Array,
    errors: Array,
    truth: Array,
    statuses: Sequence[str],
    kinds: Sequence[str] = KINDS,
) -> list[Record]:
    """From (R, k) estimates and (R, kinds, k) standard errors."""
    times, status = len(theta), worst(statuses)
    gap, spread = theta - truth, theta.std(axis=0, ddof=1)
    found = [Record("repetitions not ok", float(times - statuses.count("ok")), math.nan, times)]
    for i in range(len(truth)):
        for position, kind in enumerate(kinds):
            se = errors[:, position, i]
            share = float(np.mean(np.abs(gap[:, i]) <= CRITICAL * se))
            error = math.sqrt(max(share * (1 - share), 1 / times) / times)
            end = f"theta_{i}, {kind}"
            found.append(Record(f"coverage {end}", share, error, times, status))
            found.append(Record(f"se / sd {end}", float(se.mean() / spread[i]), math.nan, times))
        bias, error = gap[:, i].mean() / spread[i], 1 / math.sqrt(times)
        found.append(Record(f"bias / sd theta_{i}", float(bias), error, times))
    return found


def reward_records(
    frames: Sequence[pd.DataFrame], truth: Array, statuses: Sequence[str]
) -> list[Record]:
    """Of r in every state and action but the anchor: means weighted by the state's occupancy."""
    low, high, se, seen = np.stack(
        [frame[["low", "high", "se", "observations"]].to_numpy().T for frame in frames], axis=1
    )
    actions = int(frames[0]["action"].max()) + 1
    by_state = seen.reshape(len(frames), -1, actions).sum(axis=2)
    weight = np.repeat(by_state / by_state.sum(axis=1, keepdims=True), actions, axis=1)
    weight = np.where(frames[0]["action"] == 1, 0.0, weight)
    has = np.isfinite(se)
    hit = has & (low <= truth) & (truth <= high)
    with_interval = np.sum(weight * has, axis=1)
    share = (weight * hit).sum(axis=1)[with_interval > 0] / with_interval[with_interval > 0]
    times, status = len(frames), worst(statuses)
    error = max(float(share.std(ddof=1)), 1 / times) / math.sqrt(len(share))
    is_common = (weight.mean(axis=0) > MIN_OCCUPANCY) & (has.mean(axis=0) > MIN_SHARE)
    centre = np.where(has, (low + high) / 2, np.nan)[:, is_common]
    ratio = np.nanmean(np.where(has, se, np.nan)[:, is_common], axis=0)
    ratio /= np.nanstd(centre, axis=0, ddof=1)
    lacking = 1 - np.sum(weight * has) / np.sum(weight)
    found = [
        Record("repetitions not ok", float(times - statuses.count("ok")), math.nan, times),
        Record("coverage r, model", float(share.mean()), error, times, status),
        Record("share without an interval", float(lacking), math.nan, times),
    ]
    if is_common.any():
        found.append(Record("se / sd r, model", float(ratio.mean()), math.nan, times))
        least = float(hit[:, is_common].mean(axis=0).min())
        found.append(Record("least r", least, math.nan, times))
    return found


def texts(frame: pd.DataFrame, start: str, end: str | tuple[str, ...]) -> str:
    """The numbers of all parameters whose statistic begins and ends so."""
    names = frame["statistic"]
    lines = frame[names.str.startswith(start) & names.str.endswith(end)]
    return " ".join(number(value) for value in lines["value"])


def render(results: View, out: Path) -> None:
    """A line for each design, size and method."""
    frame, body = results.frame(), []
    for entry in results.entries:
        key = [entry.row, entry.column, entry.protocol]
        is_its = (frame[["row", "column", "protocol"]] == key).all(axis=1)
        mine = partial(texts, frame[is_its])
        kind = entry.protocol.removeprefix("leak_free ")
        body.append(
            {
                "design": entry.row.replace("/", ", N = "),
                "method": f"{entry.column}, {kind}",
                "data sets": f"{frame[is_its]['repetitions'].max():,.0f}",
                "coverage": mine("coverage", SHOWN),
                "least of a state": mine("least", "r"),
                "clustered": mine("coverage", "cluster"),
                "mean SE / sd": mine("se / sd", SHOWN),
                "bias / sd": mine("bias", ""),
            }
        )
    sets = int(frame["repetitions"].max())
    error, costly_error = (math.sqrt(LEVEL * (1 - LEVEL) / n) for n in (max(sets, 1), COSTLY_SETS))
    numbers = {
        "sets": sets,
        "costly": COSTLY_SETS,
        "draws": DRAWS,
        "rare": MIN_OCCUPANCY,
        "points": POINTS,
    }
    below = notes(NAME, **numbers, error=error, costly_error=costly_error)
    layout.write(pd.DataFrame(body).set_index(["design", "method"]), out, NAME, TITLE, below)


def verdict(folder: Path) -> str:
    """The range of coverage where it should be .95, and where frequencies are biased."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    frame = frame[frame["statistic"].str.fullmatch(r"coverage (theta_\d|r), (model|bootstrap)")]
    is_biased = frame["row"].str.startswith("regimes") & frame["protocol"].str.endswith(FREQUENCIES)
    ranges = [
        f"{x.min():.2f} to {x.max():.2f}"
        for x in (frame[~is_biased]["value"], frame[is_biased]["value"])
    ]
    return f"95 % intervals cover in {ranges[0]} of samples; with biased frequencies in {ranges[1]}"


TITLE = "Coverage of 95 % intervals of the parameters"
EXHIBIT = Exhibit(NAME, TITLE, entries, render=render, verdict=verdict, tolerance=1e-3)
