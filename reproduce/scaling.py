"""Time and memory of one fit, in a process of its own, beside what it must do at the least.

The data set is written to a folder, part by part, and opened memory-mapped by the process that
fits. Its processor time and the peak of its resident memory are measured there; a fit that would
need more than MEMORY or SECONDS is stopped, and the cell says so. The floor is measured in the same
process right after the fit, on the same core: reading the states once, and the matrix products of
one pass of GLADIUS's screen over them, at the speed that this machine has for those shapes.

Times are no result of a cell: they are kept as its arrays, and only the error of the estimate,
which tells that the fit is one, is a record.
"""

import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from timeit import Timer
from typing import Any

import numpy as np
import torch

from gladius import folder, methods
from gladius.metrics import mape
from gladius.screen import CHUNK
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine
from reproduce import seeds
from reproduce.fits import fit
from reproduce.spec import FAILED, NOT_RUN, Cell, Record, Result
from reproduce.threads import one_thread

MEMORY = 4.0  # GB of data that a fit may hold
ROOT = Path(__file__).parents[1]
SECONDS = 60  # of processor time of its process
PART = 2_000_000  # numbers of a part of a data set that is simulated at a time
TEST = 20  # trajectories that score the estimate
TIMES, FLOOR = ("cpu_seconds", "wall_seconds"), ("floor_seconds", "read_mb", "gflop")
MEASURED = (*TIMES, "peak_mb", "idle_mb", *FLOOR)
AGAIN = 5  # measurements of a speed, of which the fastest counts


def scaling(
    method: str, trajectories: int, inputs: int, options: Mapping[str, Any], **settings: Any
) -> Cell:
    """The cell of a method on a data set of so many trajectories and inputs that do not matter."""
    told = {"method": method, "trajectories": trajectories, "inputs": inputs}
    told |= {"options": dict(options), "seeds": "scaling", "seeds_row": f"{trajectories}/{inputs}"}
    label = f"{method}, N = {trajectories}, K = {inputs}"
    return Cell(f"{__name__}:compute", told | settings, label)


def compute(cell: Cell, device: str) -> Result:
    """Write the data, fit them in a process of its own, and take its report."""
    on = cell.settings["options"].get("device", "cpu")
    if on == "cuda" and not torch.cuda.is_available():
        return Result((Record("MAPE", np.nan, repetitions=0, status=NOT_RUN),))
    with tempfile.TemporaryDirectory() as path:
        data = Path(path, "data")
        folder.write(data, parts(cell))
        ended = subprocess.run(
            [sys.executable, "-m", __name__, str(data)],
            input=json.dumps(cell.spec()),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    told = ended.stdout.splitlines()
    report: dict[str, Any] = {"failed": f"stopped by signal {-ended.returncode}"}
    if ended.returncode == -signal.SIGXCPU:
        report = {"failed": f"stopped after {SECONDS} s of processor time"}
    elif ended.returncode >= 0 and not told:
        last = ended.stderr.strip().splitlines()[-1:] or ["it wrote nothing"]
        raise RuntimeError(f"the process that fits ended with {ended.returncode}: {last[0]}")
    elif ended.returncode >= 0:
        report = json.loads(told[-1])
    if "failed" in report:
        record = Record("MAPE", np.nan, repetitions=0, status=f"{FAILED}{report['failed']}")
        return Result((record,), device=on)
    record = Record("MAPE", report["mape"], status=report["status"])
    arrays = {name: np.array([report[name]]) for name in MEASURED}
    return Result((record,), arrays=arrays, cpu_seconds=report["cpu_seconds"], device=on)


def world_of(cell: Cell) -> BusEngine:
    """The bus engine with the cell's number of dummies."""
    return BusEngine(dummies=cell.settings["inputs"])


def parts(cell: Cell) -> Iterator[Transitions]:
    """The data set in parts, trajectories told apart across them."""
    world, total = world_of(cell), cell.settings["trajectories"]
    size = max(1, PART // (world.horizon * (1 + world.dummies)))
    starts = range(0, total, size)
    (rng,) = seeds.generators(cell)
    for start, part_rng in zip(starts, rng.spawn(len(starts)), strict=True):
        part = world.simulate(min(size, total - start), part_rng)
        yield replace(part, trajectory=part.trajectory + start)


# In the process that fits -------------------------------------------------------------------------


def main(path: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Fit the data of a folder: MAPE, status and MEASURED, or why it failed."""
    one_thread()
    cell = Cell(spec["compute"], spec["settings"])
    world = world_of(cell)
    methods.method(cell.settings["method"])  # imports are no part of the fit
    if cell.settings["options"].get("device", "cpu") == "cpu":  # a GPU's driver reserves more
        limit = int(MEMORY * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    last = int(time.process_time()) + 1 + SECONDS  # imports do not count
    resource.setrlimit(resource.RLIMIT_CPU, (last, last + 60))  # SIGXCPU, then SIGKILL
    idle = peak_mb()
    try:
        data = Transitions.open(path)
        began, clock = time.process_time(), time.perf_counter()
        (estimate,) = fit(world, cell, [data])
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    seconds, wall, peak = time.process_time() - began, time.perf_counter() - clock, peak_mb()
    resource.setrlimit(resource.RLIMIT_CPU, (last + 60, last + 60))  # for the scores below
    (rng,) = seeds.generators(cell, "test")
    test = world.simulate(TEST, rng)
    width, size = data.states.shape[1], folder.stored(data.states, slice(1)).itemsize
    return {
        "mape": mape(estimate, test, world.reward),
        "status": estimate.diagnostics.status,
        "cpu_seconds": seconds,
        "wall_seconds": wall,
        "peak_mb": peak,
        "idle_mb": idle,
        **floor(len(data), width, size),
    }


def peak_mb() -> float:
    """Peak of this process's resident memory; `ru_maxrss` would count that of its parent too."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
        return int(peak) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def floor(rows: int, width: int, size: int) -> dict[str, float]:
    """What one pass of the screen costs at the least.

    Its scores are two products of the (rows, width) inputs with one column of weights; the pairs
    are half a product of the inputs with themselves; the states, `size` bytes a number, are read
    once.
    """
    step = min(rows, max(2 * width, CHUNK // width))
    rng = np.random.default_rng(0)
    z = torch.from_numpy(rng.standard_normal((width, step)))
    weights = torch.from_numpy(rng.standard_normal((step, 1)))
    wide = z.T.contiguous()
    stored = np.ones(step * width * size, dtype=np.int8)
    seconds = {
        "thin": fastest(lambda: z @ weights) / (2 * step * width),
        "square": fastest(lambda: z @ wide) / (2 * step * width**2),
        "read": fastest(stored.copy) / len(stored),
    }
    thin, square, read = 4 * rows * width, rows * width * (width - 1), rows * width * size
    total = thin * seconds["thin"] + square * seconds["square"] + read * seconds["read"]
    return {"floor_seconds": total, "read_mb": read / 2**20, "gflop": (thin + square) / 1e9}


def fastest(work: Any) -> float:
    """Processor seconds of one call, the least of AGAIN batches of calls."""
    timer = Timer(work, timer=time.process_time)
    calls = 1
    while timer.timeit(calls) <= 0.005:
        calls *= 2
    return min(timer.repeat(AGAIN, calls)) / calls


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.load(sys.stdin))))
