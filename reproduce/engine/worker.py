"""What a worker does: compute one cell and give the text of its file.

Every number passes through `compute` and `one_thread` on its way into its file, so these are part
of each cell's key (see `keys`).
"""

import os
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from reproduce.engine import keys, provenance, seeds
from reproduce.engine.digests import Definitions
from reproduce.engine.nouns import FAILED, Cell, Result, check_result
from reproduce.engine.provenance import ROOT
from reproduce.engine.store import Stored, encode

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
REASON_LENGTH = 200  # characters of an error message that a table shows

_LOADED: dict[str, str] = {}  # definition -> its digest when this process first used it


@dataclass(frozen=True)
class Job:
    """A cell to compute, with the pieces of its key and the commit as the parent sees them."""

    cell: Cell
    device: str  # the run's, where the cell can use it
    pieces: Mapping[str, str]
    commit: Mapping[str, Any]


def one_thread() -> None:
    """Numerical libraries use one thread: parallelism is over cells, and sums keep their order."""
    os.environ |= dict.fromkeys(ONE_THREAD, "1")  # for what is imported later
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def compute(cell: Cell) -> Result:
    """The result of its function, checked."""
    return check_result(cell.function()(cell))


def run_cell(job: Job) -> tuple[Cell, str]:
    """(cell, text of its file); an exception becomes a failed cell."""
    one_thread()
    processor = processor_time()
    result, status, trace = Result(()), "ok", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            _refuse_other_code(job)
            with _on(job.device):
                result = compute(job.cell)
        except Exception as error:
            status, trace = failure(error), traceback.format_exc()
    machine = provenance.machine()
    if job.device != "cpu":
        from reproduce.engine.device import gpu

        machine = machine | gpu()
    record = {
        **job.commit,
        "seed": seeds.describe(job.cell),
        "device": job.device,
        "machine": machine,
        "threads": int(os.environ[ONE_THREAD[0]]),
        "versions": provenance.versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu_seconds": processor_time() - processor,
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
        "traceback": trace,
    }
    stored = Stored(result, status, keys.key(job.pieces), record)
    return job.cell, encode(job.cell, stored)


def _on(device: str) -> AbstractContextManager[None]:
    if device == "cpu":
        return nullcontext()
    from reproduce.engine.device import computing_on  # imports torch, which most cells do without

    return computing_on(device)


def _refuse_other_code(job: Job) -> None:
    here = keys.pieces(Definitions(), job.cell, job.device)
    others = sorted({name for name, _ in job.pieces.items() ^ here.items()})
    if others:
        raise RuntimeError(f"this worker differs from the run in {', '.join(others)}")
    code = {name: digest for name, digest in here.items() if "." in name}
    edited = [name for name, digest in code.items() if _LOADED.setdefault(name, digest) != digest]
    if edited:
        raise RuntimeError(f"this worker has loaded an older {', '.join(edited)}: start it again")


def processor_time() -> float:
    """Seconds of this process and of the processes that it started and waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def failure(error: BaseException) -> str:
    """`failed: why` from an exception, on one line and without the folder of this checkout."""
    why = f"{type(error).__name__}: {error}".replace(f"{ROOT}{os.sep}", "")
    return FAILED + textwrap.shorten(why, REASON_LENGTH, placeholder="...")
