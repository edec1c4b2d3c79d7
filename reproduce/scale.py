"""Time and peak memory of one fit, in a process of its own and within limits.

The data set is the bus engine's with K inputs that do not matter. Times are no result of a cell:
they are its arrays. The only record is the error of the estimate.
"""

import resource
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gladius import methods
from gladius.metrics import mape
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine
from reproduce import limits, seeds
from reproduce.fits import fit
from reproduce.spec import FAILED, Cell, Record, Result
from reproduce.threads import one_thread

MEMORY = 4.0  # GiB of data that the process may hold
SECONDS = 60  # of its processor time
BATCH = 2_000_000  # numbers that are simulated at a time
TEST = 20  # trajectories that score the estimate
MEASURED = ("cpu_seconds", "wall_seconds", "peak_mb", "idle_mb")


def scale_cell(method: str, trajectories: int, inputs: int, options: Mapping[str, Any]) -> Cell:
    """The cell of a method on a data set of so many trajectories and inputs that do not matter."""
    settings = {"method": method, "trajectories": trajectories, "inputs": inputs}
    settings |= {"options": dict(options), "seeds": "scaling"}
    settings |= {"seeds_row": f"{trajectories}/{inputs}"}
    label = f"{method}, N = {trajectories}, K = {inputs}"
    return Cell(f"{__name__}:compute", settings, label)


def compute(cell: Cell) -> Result:
    """The report of `measure`, made in a process of its own; arrays MEASURED, each (1,)."""
    outcome = limits.call(SECONDS, MEMORY, measure, cell.spec())
    if outcome.stopped:
        reasons = {
            limits.TIME: f"{FAILED}stopped after {SECONDS} s of processor time",
            limits.MEMORY: f"{FAILED}stopped at {MEMORY:g} GiB of data",
        }
        status = reasons.get(outcome.stopped, outcome.stopped)
        return Result((Record("MAPE", np.nan, repetitions=0, status=status),))
    report = outcome.value
    record = Record("MAPE", report["mape"], status=report["status"])
    arrays = {name: np.array([report[name]]) for name in MEASURED}
    return Result((record,), arrays=arrays, cpu_seconds=report["cpu_seconds"])


def measure(spec: Mapping[str, Any]) -> dict[str, Any]:
    """MAPE, status and MEASURED of a fit in this process."""
    one_thread()
    cell = Cell(spec["compute"], spec["settings"])
    world = BusEngine(dummies=cell.settings["inputs"])
    data = joined(list(batches(world, cell)))
    methods.method(cell.settings["method"])  # imports are not part of the fit
    idle = peak_mb()
    processor, clock = time.process_time(), time.perf_counter()
    (estimate,) = fit(world, cell, [data])
    seconds, wall = time.process_time() - processor, time.perf_counter() - clock
    peak = peak_mb()
    (rng,) = seeds.generators(cell, "test")
    return {
        "mape": mape(estimate, world.simulate(TEST, rng), world.reward),
        "status": estimate.diagnostics.status,
        "cpu_seconds": seconds,
        "wall_seconds": wall,
        "peak_mb": peak,
        "idle_mb": idle,
    }


def batches(world: BusEngine, cell: Cell) -> Iterator[Transitions]:
    """The data set in batches of at most BATCH numbers, so that none is held twice."""
    total = cell.settings["trajectories"]
    size = max(1, BATCH // (world.horizon * (1 + world.dummies)))
    starts = range(0, total, size)
    (rng,) = seeds.generators(cell)
    for start, batch_rng in zip(starts, rng.spawn(len(starts)), strict=True):
        batch = world.simulate(min(size, total - start), batch_rng)
        yield replace(batch, trajectory=batch.trajectory + start)


def joined(data_sets: list[Transitions]) -> Transitions:
    """One data set of several."""
    return Transitions(
        np.concatenate([data.states for data in data_sets]),
        np.concatenate([data.actions for data in data_sets]),
        np.concatenate([data.next_states for data in data_sets]),
        np.concatenate([data.trajectory for data in data_sets]),
        number_of_actions=data_sets[0].number_of_actions,
    )


def peak_mb() -> float:
    """Peak of this process's resident memory; `ru_maxrss` would count that of its parent too."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
        return int(peak) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
