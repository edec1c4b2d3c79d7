"""Cells as pytask tasks: in this process, in loky workers, or on a Dask cluster.

The store alone knows what is finished; pytask gets the cells that are not, and so always runs
what it gets. A task returns the text of the cell's file, and the file is written in one piece: in
the loky worker, or, for a cluster that need not share a disk, here.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gladius.checks import InputError
from reproduce import provenance, seeds
from reproduce.spec import FAILED, Cell, Result
from reproduce.store import Store, Stored, encode, write

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from pytask import Session

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LOCAL_CLUSTER = "local"
REASON_LENGTH = 200  # characters of an error message that go into a table


@dataclass(frozen=True)
class Job:
    """A cell to compute, with what its provenance needs from the parent process."""

    cell: Cell
    compute: Callable[[Cell, str], Result]
    source: str
    commit: dict[str, Any]


CHECKPOINTS = "REPRODUCE_CHECKPOINTS"  # where a long cell may keep its state, for the workers


def one_thread() -> None:
    """Hold numerical libraries to one thread: parallelism is over cells, and sums keep their order.

    The environment serves processes that start later; torch is told directly.
    """
    for name in ONE_THREAD:
        os.environ[name] = "1"
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def run_cell(job: Job, device: str) -> str:
    """Compute one cell and return the text of its file; an exception becomes a stored failure."""
    import torch

    torch.set_num_threads(1)
    started, clock, processor = datetime.now(UTC), time.perf_counter(), processor_time()
    result, status, trace = Result(()), "ok", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            result = job.compute(job.cell, device)
            if not isinstance(result, Result):
                raise TypeError(f"compute returned {type(result).__name__}, not a Result")
        except Exception as error:
            status, trace = failure(error), traceback.format_exc()
    record = {
        "seed": seeds.describe(job.cell),
        "device": provenance.device_name(device),
        "machine": provenance.machine(),
        "versions": provenance.versions(),
        **job.commit,
        "started": started.isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - clock,
        "cpu_seconds": processor_time() - processor,
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
        "traceback": trace,
    }
    return encode(job.cell, Stored(result, status, job.source, record))


def processor_time() -> float:
    """Seconds of this process and of those that it started and waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def failure(error: BaseException) -> str:
    """`failed: why` from an exception, on one line and without the folder of this checkout."""
    text = f"{type(error).__name__}: {error}".replace(f"{provenance.ROOT}{os.sep}", "")
    why = " ".join(text.split())
    return FAILED + (why if len(why) <= REASON_LENGTH else f"{why[: REASON_LENGTH - 3]}...")


def build(
    jobs: Sequence[Job],
    store: Store,
    *,
    workers: int = 1,
    dask: str | None = None,
    device: str = "cpu",
    verbose: bool = True,
) -> None:
    """Compute the jobs and store each as it finishes.

    Args:
        jobs: the cells that are to be computed, all of them.
        store: where to.
        workers: loky processes; 0 computes in this process. With `dask="local"` the size of the
            cluster.
        dask: `local`, or the address of a scheduler.
        device: cpu or cuda.
        verbose: show progress.

    Whatever goes wrong in a cell is stored as its failure. A worker that dies, or an interrupt,
    leaves cells without a file; the caller sees that in the store.
    """
    if workers < 0:
        raise InputError("workers", workers, "give 0 (this process) or more")
    if not jobs:
        return
    one_thread()
    os.environ["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys(
            [
                str(provenance.ROOT),
                *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
            ]
        )
    )
    store.folder.mkdir(parents=True, exist_ok=True)
    os.environ[CHECKPOINTS] = str(store.folder.resolve() / "checkpoints")
    config = store.folder / "pytask.toml"  # makes the build folder pytask's root
    write(config, "[tool.pytask.ini_options]\n")
    with _backend(workers, dask) as options:
        _pytask(jobs, store, device, config, verbose, options)


def _pytask(
    jobs: Sequence[Job],
    store: Store,
    device: str,
    config: Path,
    verbose: bool,
    options: dict[str, Any],
) -> Session:
    import pytask

    class CellFile(pytask.PathNode):
        """A product that is written whole or not at all."""

        def save(self, value: bytes | str) -> None:
            write(Path(str(self.path)), value if isinstance(value, str) else value.decode())

    tasks = [
        pytask.TaskWithoutPath(
            name=job.cell.id,
            function=run_cell,
            depends_on={
                "job": pytask.PythonNode(name=job.cell.id, value=job),
                "device": pytask.PythonNode(name=f"device of {job.cell.id}", value=device),
            },
            produces={"return": CellFile.from_path(store.path(job.cell))},
        )
        for job in jobs
    ]
    return pytask.build(
        tasks=tasks,
        config=config,
        paths=(),
        capture="no",
        force=True,
        verbose=int(verbose),
        **options,
    )


@contextmanager
def _backend(workers: int, dask: str | None) -> Iterator[dict[str, Any]]:
    """pytask-parallel's options for where the cells run."""
    if dask is None:
        yield {"parallel_backend": "loky" if workers else "none", "n_workers": max(workers, 1)}
        return
    with _dask_client(dask, max(workers, 1)) as client:
        from pytask_parallel import ParallelBackend, WorkerType, registry

        def executor(n_workers: int) -> Executor:
            found: Executor = client.get_executor()
            return found

        registry.register_parallel_backend(
            ParallelBackend.CUSTOM, executor, worker_type=WorkerType.PROCESSES, remote=True
        )
        threads = sum(client.nthreads().values())
        if threads == 0:
            raise InputError("dask", dask, "the scheduler has no workers: start some")
        yield {"parallel_backend": "custom", "n_workers": threads}


@contextmanager
def _dask_client(address: str, workers: int) -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError(
            "dask", address, "install the extra: pip install 'dask[distributed]'"
        ) from None
    if address != LOCAL_CLUSTER:
        try:
            # distributed is only partly typed, here and below
            client = Client(address, timeout="10s")  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise InputError("dask", address, f"no scheduler answers there ({error})") from None
        with client:
            yield client
        return
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client
