"""Measurements behind Table 1: what a method forms, what it recovers, how far it scales.

Each is the cell function of one column of the exhibit, or a number that its view takes from a fit
of Table 2. The tick is 1 or 0, and NaN where a limit of time ended the measurement.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from gladius.designs.bus import BusEngine
from gladius.designs.metrics import mape
from gladius.model.estimate import Estimate
from gladius.model.frequencies import TransitionProbabilities
from gladius.own_data.erm.observations.features import Rows
from gladius.panel.record import Counts
from gladius.register import METHODS, needs
from reproduce.cells import child as limits
from reproduce.cells.data import SHARE, by_mileage, data_sets
from reproduce.cells.fits import fit
from reproduce.engine import seeds
from reproduce.engine.nouns import FAILED, Array, Cell, Record, Result, summarise

TICK = "tick"
SCALABLE = 10  # dummies; the paper asks for 20^10 states
SAME = 1e-3  # utils; rewards from all starts that are closer count as one
START_SPREAD = 3.0  # standard deviation of a random theta or reward
LIMITS = (60.0, 8.0)  # processor seconds and gibibytes of one fit with dummies
UNDECIDED = f"not decided in {LIMITS[0]:g} s"
FINISHED = ("ok", "not_converged")  # statuses of a fit that ended by its own rule
BATCH = 20  # data sets of `errors` that are in memory together
SECONDS = "processor seconds at the largest K"  # an array, since times are no result


class End(NamedTuple):
    """How a fit with dummies ended."""

    status: str  # the fit's own, or which limit stopped it
    mape: float = math.nan  # per cent; NaN where there is no estimate
    # processor seconds of the fit without imports; NaN where it was stopped
    seconds: float = math.nan


def mean_record(name: str, x: Array) -> Record:
    """The mean over replications, with its standard error."""
    return summarise(name, x.tolist(), ["ok"] * len(x))[0]


def bellman_errors(world: BusEngine, q: Array, reward: Array) -> tuple[Array, Array]:
    """(R,) roots of the expected squared Bellman error under the true transition probabilities.

    The first is that of Q against the method's own r, E[(r-hat + beta E V_Q - Q)^2] in utils. The
    second is that against the given reward of the anchor, at the anchor's pairs.
    """
    mdp, anchor = world.mdp, world.anchor_action
    weight = mdp.occupancy(world.horizon)
    v = np.logaddexp.reduce(q, axis=2)
    target = mdp.discount * np.einsum("aij,rj->ria", mdp.transition, v) - q
    gap = np.where(weight > 0, reward + target, 0.0)
    anchored = np.where(weight > 0, world.anchor_reward + target, 0.0)[..., anchor]
    share = weight[:, anchor] / weight[:, anchor].sum()
    return np.sqrt(np.sum(weight * gap**2, axis=(1, 2))), np.sqrt(anchored**2 @ share)


# --- what a run forms
class FormedError(Exception):
    """An object of the kind that `forms` looks for was made."""


def forms(kind: type, run: Callable[[], object]) -> bool:
    """Whether a run makes an object of a kind; the run ends there.

    `TransitionProbabilities` are the library's only ones; `Counts` and `Rows` hold n(s, a, s').
    """

    def refuse(self: object, *args: object, **kwargs: object) -> None:
        raise FormedError

    with patch.object(kind, "__init__", refuse):
        try:
            run()
        except FormedError:
            return True
    return False


def free(cell: Cell) -> Result:
    """Whether the method needs or forms transition probabilities, and whether it forms counts."""
    world = BusEngine()
    train, _ = data_sets(world, cell)
    probabilities, tables, rows = (
        forms(kind, lambda: fit(world, cell, train))
        for kind in (TransitionProbabilities, Counts, Rows)
    )
    is_declared = "transitions" in needs(str(cell.settings["method"]))
    numbers = {
        TICK: not (is_declared or probabilities),
        "declared to need P": is_declared,
        "forms P": probabilities,
        "forms counts": tables or rows,
    }
    return Result(tuple(Record(name, float(value)) for name, value in numbers.items()))


# --- errors of many data sets
def errors(cell: Cell) -> Result:
    """MAPE on hundreds of simulated data sets, BATCH at a time."""
    world, rngs = BusEngine(), seeds.generators(cell)
    scores: list[float] = []
    statuses: list[str] = []
    for start in range(0, len(rngs), BATCH):
        batch = world.simulate(cell.settings["trajectories"], rngs[start : start + BATCH])
        train, test = zip(*(data.split(SHARE) for data in batch), strict=True)
        estimates = fit(world, cell, train)
        scores += [mape(e, data, world.reward) for e, data in zip(estimates, test, strict=True)]
        statuses += [e.diagnostics.status for e in estimates]
    return Result(summarise("MAPE", scores, statuses), {"MAPE": scores})


# --- random starts
def optima(cell: Cell) -> Result:
    """The spread of fits of one data set from random starts; the option is `settings.starts`."""
    world, starts = BusEngine(), cell.settings["starts"]
    rngs = seeds.generators(cell, "starts")
    train = data_sets(world, replace(cell, settings={**cell.settings, "repetitions": 1}))[0]
    if starts == "reward":  # the method's other random numbers are the same from every start
        tables = [g.normal(0.0, START_SPREAD, (len(world.mdp.features), 2)) for g in rngs]
        estimates = [fit(world, cell, train, start=by_mileage(t), rng=0)[0] for t in tables]
    elif starts == "theta":
        theta = np.stack([g.normal(0.0, START_SPREAD, 2) for g in rngs])
        estimates = fit(world, cell, train * len(rngs), start=theta)
    else:
        estimates = fit(world, cell, train * len(rngs), **{starts: rngs})
    objective, reward = spread(world, estimates)
    ok = float(np.mean([e.diagnostics.converged for e in estimates]))
    numbers = {"spread of the objective": objective, "spread of r": reward, "converged": ok}
    records = [Record(name, x, repetitions=len(estimates)) for name, x in numbers.items()]
    return Result((Record(TICK, float(ok == 1.0 and reward < SAME)), *records))


def spread(world: BusEngine, estimates: Sequence[Estimate]) -> tuple[float, float]:
    """(range of the objective, range of the reward in utils) over fits of one data set.

    The second is the root mean square over pairs, by their share in the data, of the range of
    r-hat at a pair.
    """
    weight = world.mdp.occupancy(world.horizon)
    rewards = np.stack([e.reward_function(world.mdp.features) for e in estimates])
    ranges = np.where(weight > 0, np.ptp(rewards, axis=0), 0.0)
    objectives = []
    for estimate in estimates:
        run = estimate.diagnostics
        objective = run.extra.get("objective", run.nll + run.bellman_error)
        objectives.append(float(np.asarray(objective)))
    return float(np.ptp(objectives)), float(np.sqrt(np.sum(weight * ranges**2)))


# --- scalability
def scale(cell: Cell) -> Result:
    """The tick, the largest K unless the limit of time decides it, and the end of each fit."""
    largest, ends = largest_rung(cell.settings["ladder"], cell, tuple(cell.settings["limits"]))
    statuses = {rung: end.status for rung, end in ends.items()}
    is_open = UNDECIDED in statuses.values()
    # a fit that fails at some K fails above it, whatever a limit of time leaves open below
    failures = [k for k, end in statuses.items() if end not in (*FINISHED, UNDECIDED)]
    is_decided = largest >= SCALABLE or not is_open or min(failures, default=math.inf) <= SCALABLE
    records, arrays = [Record(TICK, float(largest >= SCALABLE))], dict[str, Array]()
    if not is_decided:
        records = [Record(TICK, math.nan, status=FAILED + UNDECIDED)]
    if not is_open:
        records.append(Record("largest K", float(largest)))
    if not is_open and largest in ends:
        records.append(Record("MAPE there", ends[largest].mape, status=statuses[largest]))
        arrays[SECONDS] = np.array([ends[largest].seconds])
    for rung, end in sorted(statuses.items()):
        value = math.nan if end == UNDECIDED else float(end in FINISHED)
        status = FAILED + end if end in (limits.MEMORY, UNDECIDED) else end
        records.append(Record(f"finishes K = {rung}", value, status=status))
    return Result(tuple(records), arrays=arrays)


def largest_rung(
    ladder: Sequence[int], cell: Cell, bounds: tuple[float, float]
) -> tuple[int, dict[int, End]]:
    """(largest K of an ascending ladder at which the fit finishes, -1 for none; K -> its end).

    By bisection: a fit that finishes at some K is taken to finish below it. `bounds` are the
    processor seconds and gibibytes of one fit.
    """
    ends: dict[int, End] = {}
    low, high = -1, len(ladder)  # the fit finishes at low, and does not at high
    with limits.limited(*bounds, [METHODS[cell.settings["method"]]]) as call:
        while high - low > 1:
            middle = (low + high) // 2 if ends else high - 1  # most methods finish all, or few
            rung = ladder[middle]
            end, stopped = call(wide_fit, rung, cell)
            if stopped:
                end = End(UNDECIDED if stopped == limits.TIME else stopped)
            ends[rung] = end
            low, high = (middle, high) if end.status in FINISHED else (low, middle)
    return (ladder[low] if low >= 0 else -1), ends


def wide_fit(dummies: int, cell: Cell) -> End:
    """The end of a fit of one data set of the bus engine with dummies."""
    world = BusEngine(dummies=dummies)
    train, (test,) = data_sets(world, cell)
    (estimate,) = fit(world, cell, train)
    run, error = estimate.diagnostics, mape(estimate, test, world.reward)
    return End(run.status, error, run.cpu_seconds)
