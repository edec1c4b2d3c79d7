"""Run exhibits: compute the stale cells, write each exhibit as soon as its cells are there.

Cells run in this process, in joblib's workers (loky) or on a Dask cluster. A worker computes the
key of its cell from the files of its own checkout and refuses where it differs.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from gladius.checks import InputError
from reproduce import provenance, seeds
from reproduce.progress import Progress
from reproduce.provenance import ROOT, Sources, combined, sha256
from reproduce.results import Results
from reproduce.spec import CHECKPOINTS, FAILED, Cell, Exhibit, Result, check_result
from reproduce.store import Store, Stored, encode, probe, write

BUILD = ROOT / ".cells"
GENERATED = ROOT / "paper_tables" / "generated"
SMOKE = ROOT / ".smoke"  # so that a smoke run never overwrites a full one
MANIFESTS = "manifests"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LOCAL_CLUSTER = "local"
REASON_LENGTH = 200  # characters of an error message that go into a table
LOST = "it was lost with its worker twice, the second time alone"


@dataclass(frozen=True)
class Job:
    """A cell to compute.

    Attributes:
        cell: what.
        device: where.
        parts: of its key, as the parent sees them.
        commit: of the parent's checkout.
        checkpoints: the folder where it may keep its state, "" where no disk is shared.
    """

    cell: Cell
    device: str
    parts: Mapping[str, str]
    commit: Mapping[str, Any]
    checkpoints: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a run did.

    Attributes:
        computed: ids of the cells that were computed now.
        reused: how many were current in the store.
        failed: id of a cell, or name of an exhibit that could not be drawn -> why.
        not_ok: id -> status of cells with a result that did not converge or diverged.
        files: of the exhibits; those that were up to date already too.
    """

    computed: tuple[str, ...]
    reused: int
    failed: dict[str, str]
    not_ok: dict[str, str]
    files: tuple[Path, ...]


def run(
    exhibits: Sequence[Exhibit],
    *,
    smoke: bool = False,
    device: str = "cpu",
    workers: int = 1,
    dask: str | None = None,
    build: Path = BUILD,
    out: Path | None = None,
    verbose: bool = True,
) -> Outcome:
    """Compute what is stale and write all files, those of cheap exhibits first.

    An exhibit is replaced in one go when all its cells are there, those that failed shown as
    such; an interrupt (KeyboardInterrupt) leaves all others as they are.

    Args:
        exhibits: which; a cell that several use is computed once.
        smoke: the small variant of each.
        device: cpu or cuda.
        workers: loky processes; 0 computes in this process. With `dask="local"` the size of the
            cluster.
        dask: `local`, or the address of a scheduler.
        build: the store's folder.
        out: where the files go; by default GENERATED, or SMOKE for a smoke run.
        verbose: show progress.

    Raises:
        InputError: for a bad spec or option, a folder that cannot be written or that another run
            uses, before any work; or where the disk fails later.
    """
    if workers < 0:
        raise InputError("workers", workers, "give 0 (this process) or more")
    provenance.check_device(device)
    store, target = Store(build), out or (SMOKE if smoke else GENERATED)
    waiting = sorted(exhibits, key=lambda exhibit: exhibit.cost)
    entries = {exhibit.name: exhibit.checked_entries(smoke) for exhibit in waiting}
    cells = {
        entry.cell.digest: entry.cell
        for exhibit in waiting
        for entry in entries[exhibit.name]
        if entry.cell is not None
    }
    probe("build", build)
    probe("out", target)
    with store.lock():
        sources, commit = Sources(), provenance.commit()
        parts = {digest: sources.parts(cell, device) for digest, cell in cells.items()}
        final: dict[str, Stored] = {}
        for digest, cell in cells.items():
            stored = store.load(cell)
            if stored is not None and not stored.failed and stored.key == combined(parts[digest]):
                final[digest] = stored
        jobs = [
            Job(
                cell, device, parts[digest], commit, str(store.checkpoints(combined(parts[digest])))
            )
            for digest, cell in cells.items()
            if digest not in final
        ]
        files: list[Path] = []
        undrawn: dict[str, str] = {}

        def draw() -> None:
            for exhibit in list(waiting):
                shown = entries[exhibit.name]
                needed = [entry.cell.digest for entry in shown if entry.cell is not None]
                if not all(digest in final for digest in needed):
                    continue
                waiting.remove(exhibit)
                stored = [None if e.cell is None else final[e.cell.digest] for e in shown]
                results = Results(shown, stored, smoke, exhibit.view)
                code = provenance.code(parts[digest] for digest in needed)
                manifest = describe(exhibit, results, code, sources.view(exhibit))
                try:
                    files.extend(write_exhibit(exhibit, results, {**manifest, **commit}, target))
                except Exception as error:
                    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
                        raise disk_error("out", target, error, exhibit.name) from None
                    undrawn[exhibit.name] = failure(error)

        draw()
        with Progress([job.cell.id for job in jobs], max(workers, 1), verbose) as progress:
            for job, text in computed(jobs, workers, dask):
                try:
                    final[job.cell.digest] = store.save(job.cell, text)
                except OSError as error:
                    raise disk_error("build", build, error, job.cell.id) from None
                progress.done(job.cell.id)
                draw()
    failed = {cells[d].id: stored.status for d, stored in final.items() if stored.failed}
    return Outcome(
        computed=tuple(job.cell.id for job in jobs),
        reused=len(cells) - len(jobs),
        failed=failed | undrawn,
        not_ok={
            cells[digest].id: record.status
            for digest, stored in final.items()
            for record in stored.result.records
            if record.status != "ok"
        },
        files=tuple(files),
    )


def disk_error(field: str, folder: Path, error: OSError, name: str) -> InputError:
    """One line for a disk that fails after the work has begun; `name` is what was not written."""
    hint = (
        f"{error.strerror}: {name} was not written, what came before it was; make room, run again"
    )
    return InputError(field, str(folder), hint)


# One cell ----------------------------------------------------------------------------------------

_LOADED: dict[str, str] = {}  # digest of each module as it was when this process first met it


def run_cell(job: Job) -> tuple[str, str]:
    """Compute one cell; its digest and the text of its file. An exception becomes a failure."""
    one_thread()
    if job.checkpoints:
        os.environ[CHECKPOINTS] = job.checkpoints
    started, clock, processor = now(), time.perf_counter(), processor_time()
    result, status, trace = Result(()), "ok", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            _refuse_other_code(job)
            result = check_result(job.cell.function()(job.cell, job.device))
        except Exception as error:
            status, trace = failure(error), traceback.format_exc()
    record = {
        "machine": provenance.machine(),
        "versions": provenance.versions(),
        "started": started,
        "finished": now(),
        "seconds": time.perf_counter() - clock,
        "cpu_seconds": processor_time() - processor,
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
        "traceback": trace,
    }
    return job.cell.digest, text_of(job, result, status, record)


def text_of(job: Job, result: Result, status: str, record: dict[str, Any]) -> str:
    """A cell's file, with what the parent knows of how it came about."""
    record = {"seed": seeds.describe(job.cell), "device": result.device, **job.commit, **record}
    return encode(job.cell, Stored(result, status, combined(job.parts), record))


def _refuse_other_code(job: Job) -> None:
    here = Sources().parts(job.cell, job.device)
    other = provenance.difference(job.parts, here)
    if other:
        raise RuntimeError(f"this worker differs from the run in {', '.join(other)}")
    edited = [name for name, digest in here.items() if _LOADED.setdefault(name, digest) != digest]
    if [name for name in edited if name.startswith(provenance.MODULE)]:
        raise RuntimeError(f"this worker has loaded an older {', '.join(edited)}: start it again")


def one_thread() -> None:
    """Hold numerical libraries to one thread: parallelism is over cells, and sums keep their order.

    The environment serves what is imported later; torch is told directly.
    """
    for name in ONE_THREAD:
        os.environ[name] = "1"
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def now() -> str:
    """The time to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def processor_time() -> float:
    """Seconds of this process and of those that it started and waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def failure(error: BaseException) -> str:
    """`failed: why` from an exception, on one line and without the folder of this checkout."""
    text = f"{type(error).__name__}: {error}".replace(f"{ROOT}{os.sep}", "")
    why = " ".join(text.split())
    return FAILED + (why if len(why) <= REASON_LENGTH else f"{why[: REASON_LENGTH - 3]}...")


# Many cells --------------------------------------------------------------------------------------


def computed(jobs: Sequence[Job], workers: int, dask: str | None) -> Iterator[tuple[Job, str]]:
    """Each job with the text of its file, as they end.

    A cell that is lost because a worker dies is tried once more at the end, with no other cell
    beside it; if it is lost again, it has failed.
    """
    if not jobs:
        return
    one_thread()
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    if workers == 0 and dask is None:
        for job in jobs:
            yield job, run_cell(job)[1]
        return
    with _pool(workers, dask) as attempt:
        lost: list[Job] = []
        for job, text in attempt(jobs):
            if isinstance(text, Exception):
                lost.append(job)
            else:
                yield job, text
        for job in lost:
            ((_, text),) = list(attempt([job]))
            yield job, _lost(job, text) if isinstance(text, Exception) else text


Attempt = Callable[[Sequence[Job]], Iterator[tuple[Job, str | Exception]]]


@contextmanager
def _pool(workers: int, dask: str | None) -> Iterator[Attempt]:
    """What tries some jobs once: each with its text, or with why it was lost."""
    if dask is None:
        yield partial(_by_joblib, size=workers)
        return
    with _dask_client(dask, max(workers, 1)) as client:
        if not client.nthreads():
            raise InputError("dask", dask, "the scheduler has no workers: start some")
        yield partial(_by_dask, client=client)


def _by_joblib(jobs: Sequence[Job], size: int) -> Iterator[tuple[Job, str | Exception]]:
    """A dead worker takes loky's pool with it: start another with the cells that were waiting."""
    import joblib

    waiting = {job.cell.digest: job for job in jobs}
    while waiting:
        with joblib.parallel_config("loky", initializer=_ignore_interrupt):
            parallel = joblib.Parallel(
                n_jobs=max(size, 2),  # joblib computes in this process where it is 1
                pre_dispatch=size,  # so many at a time, in order: the first not back are running
                batch_size=1,
                return_as="generator_unordered",
            )
        texts = parallel(joblib.delayed(run_cell)(job) for job in list(waiting.values()))
        try:
            with closing(texts):
                for digest, text in texts:
                    yield waiting.pop(digest), text
        except Exception as error:  # run_cell raises none: it is the pool that broke
            for digest in list(waiting)[:size]:
                yield waiting.pop(digest), error


def _by_dask(jobs: Sequence[Job], client: Any) -> Iterator[tuple[Job, str | Exception]]:
    """Not by joblib's backend, which waits for ever for a cell that was lost with its worker."""
    from distributed import as_completed

    futures = {client.submit(run_cell, job, pure=False): job for job in jobs}
    try:
        for future in as_completed(list(futures)):  # type: ignore[no-untyped-call]  # as below
            lost = future.status != "finished"
            yield futures[future], future.exception() if lost else future.result()[1]
    finally:
        client.cancel(list(futures))


def _ignore_interrupt() -> None:
    """Ctrl-C reaches every process of a terminal; the parent ends its workers itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _lost(job: Job, error: BaseException) -> str:
    why = f"{FAILED}{LOST}; {failure(error).removeprefix(FAILED)}"
    record: dict[str, Any] = {"machine": {}, "versions": {}, "started": now(), "finished": now()}
    record |= {"seconds": 0.0, "cpu_seconds": 0.0, "warnings": [], "traceback": str(error)}
    return text_of(job, Result(()), why, record)


@contextmanager
def _dask_client(address: str, workers: int) -> Iterator[Any]:
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        hint = "install the extra: pip install 'dask[distributed]'"
        raise InputError("dask", address, hint) from None
    if address != LOCAL_CLUSTER:
        try:
            # distributed is only partly typed
            client = Client(address, timeout="10s")  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise InputError("dask", address, f"no scheduler answers there ({error})") from None
        with client:
            yield client
        return
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


# Files -------------------------------------------------------------------------------------------


def write_exhibit(
    exhibit: Exhibit, results: Results, manifest: dict[str, Any], out: Path
) -> list[Path]:
    """The CSVs, what `render` adds and the manifest, swapped in when all are there.

    Nothing is drawn where the manifest says that the same cells were drawn by the same code.
    """
    made_of = ("title", "smoke", "code", "view", "stored")
    old = read_manifest(out, exhibit.name)
    names = list(old.get("files", {}))
    current = all(old.get(name) == manifest[name] for name in made_of)
    if names and current and not edited(old, out):
        swap([], out, exhibit.name, {**manifest, "files": old["files"]}, [])
        return [out / name for name in names]
    staging = out / f".staging-{exhibit.name}-{os.getpid()}"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    try:
        frames = {"": results.frame(), "_timings": results.times()}
        for suffix, frame in frames.items():
            text = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
            write(staging / f"{exhibit.name}{suffix}.csv", text)
        exhibit.render(results, staging)
        made = sorted(path for path in staging.rglob("*") if path.is_file())
        manifest = {**manifest, "files": {path.name: sha256(path) for path in made}}
        gone = [name for name in names if name not in manifest["files"]]
        swap(made, out, exhibit.name, manifest, gone)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return [out / path.name for path in made]


def swap(
    made: Sequence[Path], out: Path, name: str, manifest: Mapping[str, Any], gone: Sequence[str]
) -> None:
    """Put the files in their places; an interrupt waits until all are there."""
    with uninterrupted():
        for path in made:
            os.replace(path, out / path.name)
        for left in gone:
            (out / left).unlink(missing_ok=True)
        write(out / MANIFESTS / f"{name}.json", json.dumps(manifest, indent=1) + "\n")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold an interrupt back until the block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt


def read_manifest(out: Path, name: str) -> dict[str, Any]:
    """How the files of that name came about; {} where nothing readable says so."""
    path = out / MANIFESTS / f"{name}.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and isinstance(content["files"], dict):
            return content
        why = "not a manifest"
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError) as error:
        why = f"{type(error).__name__}: {error}"
    warnings.warn(f"not readable, so left out: {path} ({why})", stacklevel=2)
    return {}


def edited(manifest: Mapping[str, Any], out: Path) -> list[str]:
    """Names of the manifest's files that are not as they were written."""
    known = manifest.get("files", {}).items()
    return [name for name, digest in known if not _is(out / name, digest)]


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and sha256(path) == digest


def spent(stored: Stored) -> float:
    """Processor time of a cell; a training resumed from a checkpoint knows its own total."""
    fits = max((record.repetitions for record in stored.result.records), default=0)
    trained = stored.result.cpu_seconds * fits if fits else 0.0
    measured = float(stored.provenance["cpu_seconds"])
    return max(measured, trained) if trained == trained else measured


def describe(exhibit: Exhibit, results: Results, code: str, view: str) -> dict[str, Any]:
    """How an exhibit came about, from its cells alone: the same cells, the same description."""
    cells = {e.cell.digest: s for e, s in results if e.cell is not None and s is not None}
    made = [stored.provenance for stored in cells.values()]

    def distinct(name: str) -> list[Any]:
        texts = {json.dumps(record.get(name), sort_keys=True) for record in made}
        return [json.loads(text) for text in sorted(texts)]

    return {
        "title": exhibit.title,
        "smoke": results.smoke,
        "code": code,
        "view": view,
        "stored": combined(sorted(stored.checksum for stored in cells.values())),
        "versions": distinct("versions"),
        "machines": distinct("machine"),
        "devices": distinct("device"),
        "started": min((record["started"] for record in made), default=None),
        "finished": max((record["finished"] for record in made), default=None),
        "cells": dict(sorted(Counter(s.status.partition(":")[0] for s in cells.values()).items())),
        "seconds": round(sum(record["seconds"] for record in made), 3),
        "cpu_seconds": round(sum(spent(stored) for stored in cells.values()), 3),
    }
