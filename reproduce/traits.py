"""Measurements behind Table 1: what a method forms, what it recovers, how far it scales."""

import math
import pickle
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from gladius.checks import InputError
from gladius.estimate import Estimate
from gladius.methods import needs
from gladius.metrics import mape
from gladius.rows import Rows
from gladius.transition_probabilities import TransitionProbabilities
from gladius.transitions import Counts
from gladius.worlds.bus import BusEngine
from reproduce import seeds
from reproduce.data import SHARE, by_mileage, data_sets
from reproduce.fits import fit
from reproduce.spec import FAILED, Array, Cell, Record, Result, summarise

TICK = "tick"
SCALABLE = 10  # dummies; the paper asks for 20^10 states
SAME = 1e-3  # utils
START_SPREAD = 3.0  # standard deviation of a random theta
GIBIBYTE = 2**30
LIMITS = (60.0, 8.0)  # of a fit that is to scale: processor seconds, gibibytes
MEMORY, UNDECIDED = "memory", f"not decided in {LIMITS[0]:g} s"
FINISHED = ("ok", "not_converged")  # statuses of a run that came to its own end
CHILD = "from reproduce.traits import child; child()"
TOGETHER = 20  # data sets of `errors` that are in memory at a time
End = tuple[str, float]  # status of a fit, and its MAPE, NaN where there is none


def mean_record(name: str, x: Array) -> Record:
    """The mean of what each replication gave."""
    return summarise(name, x.tolist(), ["ok"] * len(x))[0]


def bellman_errors(world: BusEngine, q: Array, reward: Array) -> tuple[Array, Array]:
    """(R,) roots of the expected squared Bellman error under the true law and state law.

    The first is of Q against the method's own r, E[(r-hat + beta E V_Q - Q)^2]; the second against
    the given reward of the anchor, at the anchor's pairs, which the first cannot see. q, reward:
    (R, S, A) on the world's grid.
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
    """Something was formed that `forms` asks for."""


def forms(kind: type, run: Callable[[], object]) -> bool:
    """Whether a run makes one of a kind; it ends where it does.

    Transition probabilities of this library are `TransitionProbabilities`; `Counts` and `Rows`
    hold n(s, a, s'), which is the rows of the data without their order.
    """

    def refuse(self: object, *args: object, **kwargs: object) -> None:
        raise FormedError

    with patch.object(kind, "__init__", refuse):
        try:
            run()
        except FormedError:
            return True
    return False


def free(cell: Cell, device: str) -> Result:
    """Whether the method needs or forms transition probabilities, and whether it forms counts."""
    world = BusEngine()
    train, _ = data_sets(world, cell)
    probabilities, tables, rows = (
        forms(kind, lambda: fit(world, cell, train))
        for kind in (TransitionProbabilities, Counts, Rows)
    )
    is_declared = "transitions" in needs(str(cell.settings["method"]))
    told = {TICK: not (is_declared or probabilities), "declared to need P": is_declared}
    told |= {"forms P": probabilities, "forms counts": tables or rows}
    return Result(tuple(Record(name, float(value)) for name, value in told.items()))


# --- errors of many data sets
def errors(cell: Cell, device: str) -> Result:
    """MAPE of hundreds of data sets of rows, TOGETHER at a time."""
    world, rngs = BusEngine(), seeds.generators(cell)
    scores: list[float] = []
    statuses: list[str] = []
    for start in range(0, len(rngs), TOGETHER):
        part = rngs[start : start + TOGETHER]
        sets = world.simulate(cell.settings["trajectories"], part)
        train, test = zip(*(data.split(SHARE) for data in sets), strict=True)
        fitted = fit(world, cell, train)
        scores += [mape(e, data, world.reward) for e, data in zip(fitted, test, strict=True)]
        statuses += [e.diagnostics.status for e in fitted]
    return Result(summarise("MAPE", scores, statuses), {"MAPE": scores})


# --- random starts
def optima(cell: Cell, device: str) -> Result:
    """One data set as often as there are starts."""
    world, starts = BusEngine(), cell.settings["starts"]
    rngs = seeds.generators(cell, "starts")
    train = data_sets(world, replace(cell, settings={**cell.settings, "repetitions": 1}))[0]
    if starts == "seed":
        fitted = [fit(world, cell, train, seed=i)[0] for i in range(len(rngs))]
    elif starts == "reward":  # its other random numbers are the same from every start
        tables = [g.normal(0.0, START_SPREAD, (len(world.mdp.features), 2)) for g in rngs]
        fitted = [fit(world, cell, train, start=by_mileage(t), rng=0)[0] for t in tables]
    elif starts == "theta":
        theta = np.stack([g.normal(0.0, START_SPREAD, 2) for g in rngs])
        fitted = fit(world, cell, train * len(rngs), start=theta)
    else:
        fitted = fit(world, cell, train * len(rngs), **{starts: rngs})
    objective, reward = spread(world, fitted)
    ok = float(np.mean([e.diagnostics.converged for e in fitted]))
    told = {"spread of the objective": objective, "spread of r": reward, "converged": ok}
    numbers = (Record(name, value, repetitions=len(fitted)) for name, value in told.items())
    return Result((Record(TICK, float(ok == 1.0 and reward < SAME)), *numbers))


def spread(world: BusEngine, estimates: Sequence[Estimate]) -> tuple[float, float]:
    """(of the objective, of the reward) over fits of one data set from different starts.

    The objective's largest minus smallest value; the largest range of r-hat at a pair, over pairs
    by their share in the data (root mean square).
    """
    weight = world.mdp.occupancy(world.horizon)
    rewards = np.stack([e.reward_function(world.mdp.features) for e in estimates])
    ranges = np.where(weight > 0, np.ptp(rewards, axis=0), 0.0)
    ends = [e.diagnostics for e in estimates]
    goals = [float(np.asarray(d.extra.get("objective", d.nll + d.bellman_error))) for d in ends]
    return float(np.ptp(goals)), float(np.sqrt(np.sum(weight * ranges**2)))


# --- how far a method scales: runs in processes of their own, held to limits of time and memory
def scale(cell: Cell, device: str) -> Result:
    """The tick, the largest K unless time ended the ladder, and how the run at each K ended."""
    ladder, limits = cell.settings["ladder"], tuple(cell.settings["limits"])
    most, finished = largest(wide_fit, ladder, cell, limits)
    ends = {rung: end for rung, (end, _) in finished.items()}
    is_open = UNDECIDED in ends.values()
    # what fails outright at a K fails above it too, whatever time left open below it
    outright = [k for k, end in ends.items() if end not in (*FINISHED, UNDECIDED)]
    is_decided = most >= SCALABLE or not is_open or min(outright, default=math.inf) <= SCALABLE
    records = [Record(TICK, float(most >= SCALABLE))]
    if not is_decided:
        records = [Record(TICK, math.nan, status=FAILED + UNDECIDED)]
    if not is_open:
        records.append(Record("largest K", float(most)))
    if not is_open and most in finished:
        records.append(Record("MAPE there", finished[most][1], status=ends[most]))
    for rung, end in sorted(ends.items()):
        value = math.nan if end == UNDECIDED else float(end in FINISHED)
        status = FAILED + end if end in (MEMORY, UNDECIDED) else end
        records.append(Record(f"finishes K = {rung}", value, status=status))
    return Result(tuple(records))


def largest(
    run: Callable[..., End], ladder: Sequence[int], *given: Any
) -> tuple[int, dict[int, End]]:
    """The largest rung that finishes, by bisection (what finishes at K is taken to below it).

    Args:
        run: an importable function of (rung, *arguments).
        ladder: ascending.
        given: the arguments, and last the limits of one run, (processor seconds, gibibytes).

    Returns:
        The rung, -1 where none finishes, and rung -> how it ended.
    """
    *arguments, limits = given
    ends: dict[int, End] = {}
    low, high = -1, len(ladder)  # finishes, does not
    while high - low > 1:
        place = high - 1 if not ends else (low + high) // 2  # most either finish all or few
        end = ends[ladder[place]] = within(limits, run, ladder[place], *arguments)
        low, high = (place, high) if end[0] in FINISHED else (low, place)
    return (ladder[low] if low >= 0 else -1), ends


def within(limits: tuple[float, float], run: Callable[..., End], *arguments: object) -> End:
    """How a run in a process of its own ended: as it says, or MEMORY, UNDECIDED or why.

    The kernel holds the process to the limits; an error of the run is the reason it gives.
    """
    task = pickle.dumps((limits, run, arguments))
    done = subprocess.run([sys.executable, "-c", CHILD], input=task, stdout=subprocess.PIPE)
    if done.returncode == -signal.SIGXCPU:
        return UNDECIDED, math.nan
    if done.returncode:  # killed by the machine for want of memory, or torch gave up
        return MEMORY, math.nan
    status, error = pickle.loads(done.stdout)
    return str(status), float(error)


def child() -> None:
    """Read a task from standard input, do it within its limits, write how it ended."""
    (seconds, gibibytes), run, arguments = pickle.loads(sys.stdin.buffer.read())
    answer, sys.stdout = sys.stdout.buffer, sys.stderr  # what the run prints is no answer
    last = math.ceil(time.process_time() + seconds)  # what the imports took does not count
    resource.setrlimit(resource.RLIMIT_CPU, (last, last + 5))  # at the second one SIGKILL comes
    resource.setrlimit(resource.RLIMIT_DATA, (int(gibibytes * GIBIBYTE),) * 2)
    try:
        end = run(*arguments)
    except MemoryError:
        end = MEMORY, math.nan
    except InputError as error:
        end = f"{FAILED}{error}", math.nan
    except Exception as error:  # torch says in words that memory is out
        end = MEMORY if "alloc" in str(error) else f"{FAILED}{error}", math.nan
    answer.write(pickle.dumps(end))


def wide_fit(dummies: int, cell: Cell) -> End:
    """Fit one data set of the bus engine with dummies."""
    world = BusEngine(dummies=dummies)
    train, (test,) = data_sets(world, cell)
    (estimate,) = fit(world, cell, train)
    return estimate.diagnostics.status, mape(estimate, test, world.reward)
