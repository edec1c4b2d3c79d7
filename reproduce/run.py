"""Run exhibits: compute the stale cells, write each exhibit as soon as its cells are there.

Cells run in this process, in joblib's workers (loky) or on a Dask cluster. A worker computes the
key of its cell from the files of its own checkout and refuses where it differs.
"""

import json
import os
import signal
import textwrap
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from gladius.checks import InputError
from reproduce import provenance, seeds
from reproduce.progress import progress
from reproduce.provenance import ROOT, Sources, combined, sha256
from reproduce.results import Results
from reproduce.spec import CHECKPOINTS, FAILED, Cell, Entry, Exhibit, Result, check_result
from reproduce.store import Store, Stored, encode, probe, write
from reproduce.threads import ONE_THREAD, one_thread

# where the files go: into the checkout, or where the command runs if the wheel is installed
HOME = ROOT if (ROOT / "pyproject.toml").is_file() else Path.cwd()
BUILD = HOME / ".cells"
GENERATED = HOME / "paper_tables" / "generated"
SMOKE = HOME / ".smoke"  # so that a smoke run never overwrites a full one
MANIFESTS = "manifests"
DIGITS = 12  # of a cell's digest, by which a manifest tells what each cell took
REASON_LENGTH = 200  # characters of an error message that go into a table
LOST = "it was lost with its worker twice, the second time alone"


@dataclass(frozen=True)
class Job:
    """A cell to compute, with its key's parts and the commit as the parent sees them.

    `checkpoints` is the folder where it may keep its state, "" for none.
    """

    cell: Cell
    device: str
    parts: Mapping[str, str]
    commit: Mapping[str, Any]
    checkpoints: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a run did."""

    computed: tuple[str, ...]  # ids of the cells that it computed
    reused: int  # how many were current in the store
    failed: dict[str, str]  # id of a cell, or name of an exhibit that could not be drawn -> why
    not_ok: dict[str, str]  # id -> status of cells with a result that did not converge or diverged
    files: tuple[Path, ...]  # of the exhibits; those that were up to date already too


def run(
    exhibits: Sequence[Exhibit],
    *,
    smoke: bool = False,
    device: str = "cpu",
    workers: int = 1,
    dask: str | None = None,
    build: Path = BUILD,
    out: Path | None = None,
) -> Outcome:
    """Compute what is stale and write all files, those of cheap exhibits first.

    The trainings of the author's code come after all other cells, the longest of them first: begun
    at the end, it would keep one worker busy alone.
    An exhibit is replaced in one go when all its cells are there, those that failed shown as
    such; an interrupt (KeyboardInterrupt) leaves all others as they are.

    Args:
        exhibits: which; a cell that several use is computed once.
        smoke: the small variant of each.
        device: cpu or cuda.
        workers: loky processes; 0 computes in this process.
        dask: the address of a scheduler, whose workers compute instead.
        build: the store's folder.
        out: where the files go; by default GENERATED, or SMOKE for a smoke run.

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
    cells = dict.fromkeys(entry.cell for exhibit in waiting for entry in entries[exhibit.name])
    probe("build", build)
    probe("out", target)
    with store.lock():
        sources, commit = Sources(), provenance.commit()
        parts = {cell: sources.parts(cell, device) for cell in cells}
        final: dict[Cell, Stored] = {}
        jobs: list[Job] = []
        seconds = expected(waiting, entries, target)
        for cell in cells:
            key, stored = combined(parts[cell]), store.load(cell)
            if stored is not None and not stored.failed:
                seconds[cell] = spent(stored)
            if stored is not None and not stored.failed and stored.key == key:
                final[cell] = stored
            else:
                jobs.append(Job(cell, device, parts[cell], commit, str(store.checkpoints(key))))
        jobs.sort(key=lambda job: last(job.cell, seconds[job.cell]))
        files: list[Path] = []
        undrawn: dict[str, str] = {}

        def draw() -> None:
            for exhibit in list(waiting):
                shown = entries[exhibit.name]
                if not all(entry.cell in final for entry in shown):
                    continue
                waiting.remove(exhibit)
                stored = [final[entry.cell] for entry in shown]
                results = Results(shown, stored, smoke, exhibit.view)
                code = provenance.code(parts[entry.cell] for entry in shown)
                manifest = describe(exhibit, results, code, sources.view(exhibit)) | commit
                try:
                    files.extend(write_exhibit(exhibit, results, manifest, target))
                except Exception as error:
                    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
                        raise disk_error("out", target, error, exhibit.name) from None
                    undrawn[exhibit.name] = failure(error)

        draw()
        left = {job.cell.id: seconds[job.cell] for job in jobs}
        with progress(left, max(workers, 1), Console()) as stored_now:
            for job, text in computed(jobs, workers, dask):
                try:
                    final[job.cell] = store.save(job.cell, text)
                except OSError as error:
                    raise disk_error("build", build, error, job.cell.id) from None
                stored_now(job.cell.id)
                draw()
    return Outcome(
        computed=tuple(job.cell.id for job in jobs),
        reused=len(cells) - len(jobs),
        failed={cell.id: stored.status for cell, stored in final.items() if stored.failed}
        | undrawn,
        not_ok={
            cell.id: record.status
            for cell, stored in final.items()
            for record in stored.result.records
            if record.status != "ok"
        },
        files=tuple(files),
    )


def trains_author(cell: Cell) -> bool:
    """Whether it runs the first author's code."""
    return "author" in cell.compute


def last(cell: Cell, seconds: float) -> tuple[bool, float]:
    """Sorts the author's trainings behind the other cells, which stay as they are."""
    return (True, -seconds) if trains_author(cell) else (False, 0.0)


def expected(
    exhibits: Sequence[Exhibit], entries: Mapping[str, Sequence[Entry]], folder: Path
) -> dict[Cell, float]:
    """Rough processor seconds of each cell: what the folder's manifests say that it took.

    Of one that they do not know, its share of the dearest exhibit that shows it.
    """
    seconds: dict[Cell, float] = {}
    known = costs(folder)
    for exhibit in exhibits:
        cells = {entry.cell for entry in entries[exhibit.name]}
        share = 60.0 * exhibit.cost / max(len(cells), 1)
        seconds |= {cell: max(share, seconds.get(cell, 0.0)) for cell in cells}
    return {cell: known.get(cell.digest[:DIGITS], share) for cell, share in seconds.items()}


def costs(folder: Path) -> dict[str, float]:
    """Processor seconds of cells, by the first DIGITS of their digests, as the manifests tell."""
    known: dict[str, float] = {}
    for path in sorted((folder / MANIFESTS).glob("*.json")):
        known |= read_manifest(folder, path.stem).get("costs", {})
    return known


def in_order(exhibits: Sequence[Exhibit], folder: Path) -> list[float]:
    """What the cells took, as far as manifests tell, in the order in which a run begins them."""
    known, waiting = costs(folder), sorted(exhibits, key=lambda exhibit: exhibit.cost)
    cells = dict.fromkeys(e.cell for exhibit in waiting for e in exhibit.checked_entries(False))
    seconds = {cell: known[cell.digest[:DIGITS]] for cell in cells if cell.digest[:DIGITS] in known}
    return [seconds[cell] for cell in sorted(seconds, key=lambda cell: last(cell, seconds[cell]))]


def disk_error(field: str, folder: Path, error: OSError, name: str) -> InputError:
    """One line for a disk that fails after the work has begun; `name` is what was not written."""
    hint = f"{name} was not written, what came before it was; make room, run again"
    return InputError(field, str(folder), f"{error.strerror}: {hint}")


# One cell ----------------------------------------------------------------------------------------

_LOADED: dict[str, str] = {}  # digest of each module as it was when this process first met it


def run_cell(job: Job, lost: str = "") -> tuple[Cell, str]:
    """Compute a cell, unless `lost` says why not; the text of its file. Exceptions are failures."""
    one_thread()
    if job.checkpoints:
        os.environ[CHECKPOINTS] = job.checkpoints
    processor = processor_time()
    result, status, trace = Result(()), "ok", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            if lost:
                raise RuntimeError(lost)
            _refuse_other_code(job)
            result = check_result(job.cell.function()(job.cell, job.device))
        except Exception as error:
            status, trace = failure(error), traceback.format_exc()
    record = {
        **job.commit,
        "seed": seeds.describe(job.cell),
        "device": result.device,
        "machine": provenance.machine(),
        "threads": int(os.environ[ONE_THREAD[0]]),
        "versions": provenance.versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu_seconds": processor_time() - processor,
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
        "traceback": trace,
    }
    stored = Stored(result, status, combined(job.parts), record)
    return job.cell, encode(job.cell, stored)


def _refuse_other_code(job: Job) -> None:
    here = Sources().parts(job.cell, job.device)
    others = sorted({name for name, _ in job.parts.items() ^ here.items()})
    if others:
        raise RuntimeError(f"this worker differs from the run in {', '.join(others)}")
    edited = [name for name, digest in here.items() if _LOADED.setdefault(name, digest) != digest]
    if [name for name in edited if name.startswith(provenance.MODULE)]:
        raise RuntimeError(f"this worker has loaded an older {', '.join(edited)}: start it again")


def processor_time() -> float:
    """Seconds of this process and of those that it started and waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def failure(error: BaseException) -> str:
    """`failed: why` from an exception, on one line and without the folder of this checkout."""
    why = f"{type(error).__name__}: {error}".replace(f"{ROOT}{os.sep}", "")
    return FAILED + textwrap.shorten(why, REASON_LENGTH, placeholder="...")


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
    lost: list[Job] = []
    with nullcontext() if dask is None else _dask_client(dask) as client:
        options = {"size": workers} if client is None else {"client": client}
        attempt = partial(_by_joblib if client is None else _by_dask, **options)
        for job, text in attempt(jobs):
            if isinstance(text, Exception):
                lost.append(job)
            else:
                yield job, text
        for job in lost:
            ((_, text),) = list(attempt([job]))
            if isinstance(text, Exception):
                text = run_cell(job, f"{LOST}; {type(text).__name__}: {text}")[1]
            yield job, text


def _by_joblib(jobs: Sequence[Job], size: int) -> Iterator[tuple[Job, str | Exception]]:
    """A dead worker takes loky's pool with it: start another with the cells that were waiting."""
    import joblib

    # Ctrl-C reaches every process of a terminal; this one ends its workers itself
    ignore_interrupt = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    waiting = {job.cell: job for job in jobs}
    while waiting:
        with joblib.parallel_config("loky", initializer=ignore_interrupt):
            parallel = joblib.Parallel(
                n_jobs=max(size, 2),  # joblib computes in this process where it is 1
                pre_dispatch=size,  # so many at a time, in order: the first not back are running
                batch_size=1,
                return_as="generator_unordered",
            )
        texts = parallel(joblib.delayed(run_cell)(job) for job in list(waiting.values()))
        try:
            with closing(texts):
                for cell, text in texts:
                    yield waiting.pop(cell), text
        except Exception as error:  # run_cell raises none: it is the pool that broke
            for cell in list(waiting)[:size]:
                yield waiting.pop(cell), error


def _by_dask(jobs: Sequence[Job], client: Any) -> Iterator[tuple[Job, str | Exception]]:
    """Not by joblib's backend, which waits for ever for a cell that was lost with its worker."""
    from distributed import as_completed

    futures = {client.submit(run_cell, job, pure=False): job for job in jobs}
    try:
        for future in as_completed(list(futures)):
            lost = future.status != "finished"
            yield futures[future], future.exception() if lost else future.result()[1]
    finally:
        client.cancel(list(futures))


def _dask_client(address: str) -> Any:
    try:
        from distributed import Client

        client: Any = Client(address, timeout="10s")
    except ImportError:
        hint = "install the extra: pip install 'dask[distributed]'"
        raise InputError("dask", address, hint) from None
    except (OSError, ValueError) as error:
        raise InputError("dask", address, f"no scheduler answers there ({error})") from None
    if not client.nthreads():
        client.close()
        raise InputError("dask", address, "the scheduler has no workers: start some")
    return client


# Files -------------------------------------------------------------------------------------------


def write_exhibit(
    exhibit: Exhibit, results: Results, manifest: Mapping[str, Any], out: Path
) -> list[Path]:
    """The CSVs, what `render` adds and the manifest, swapped in when all are there.

    Nothing is drawn where the manifest says that the same cells were drawn by the same code.
    """
    made_of = ("title", "smoke", "code", "view", "stored")
    old = read_manifest(out, exhibit.name)
    before: dict[str, str] = old.get("files", {})
    same = all(old.get(name) == manifest[name] for name in made_of)
    files = before if same and not edited(old, out) else {}
    with TemporaryDirectory(prefix=f".staging-{exhibit.name}-", dir=out) as folder:
        made: list[Path] = []
        if not files:
            for suffix, frame in (("", results.frame()), ("_timings", results.times())):
                text = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
                write(Path(folder, f"{exhibit.name}{suffix}.csv"), text)
            exhibit.render(results, Path(folder))
            made = sorted(Path(folder).iterdir())
            files = {path.name: sha256(path) for path in made}
        with uninterrupted():
            for path in made:
                os.replace(path, out / path.name)
            for name in before.keys() - files.keys():
                (out / name).unlink(missing_ok=True)
            text = json.dumps({**manifest, "files": files}, indent=1) + "\n"
            write(out / MANIFESTS / f"{exhibit.name}.json", text)
    return [out / name for name in files]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold an interrupt back until the block is done."""
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
    files: dict[str, str] = manifest.get("files", {})
    there = {name: sha256(out / name) for name in files if (out / name).is_file()}
    return [name for name in files if there.get(name) != files[name]]


def spent(stored: Stored) -> float:
    """Processor time of a cell; a training resumed from a checkpoint knows its own total."""
    fits = max((record.repetitions for record in stored.result.records), default=0)
    trained = stored.result.cpu_seconds * fits if fits else 0.0
    measured = float(stored.provenance["cpu_seconds"])
    return max(measured, trained)  # the former where the latter is NaN


def describe(exhibit: Exhibit, results: Results, code: str, view: str) -> dict[str, Any]:
    """How an exhibit came about, from its cells alone: the same cells, the same description."""
    by_cell = {entry.cell: stored for entry, stored in results}
    stored = list(by_cell.values())
    made = [cell.provenance for cell in stored]

    def distinct(name: str) -> list[Any]:
        texts = {json.dumps(record.get(name), sort_keys=True) for record in made}
        return [json.loads(text) for text in sorted(texts)]

    return {
        "title": exhibit.title,
        "smoke": results.smoke,
        "code": code,
        "view": view,
        "stored": combined(sorted(cell.checksum for cell in stored)),
        "versions": distinct("versions"),
        "machines": distinct("machine"),
        "threads": distinct("threads"),
        "devices": distinct("device"),
        "finished": max(record["finished"] for record in made),
        "cells": dict(sorted(Counter(cell.status.partition(":")[0] for cell in stored).items())),
        "cpu_seconds": round(sum(map(spent, stored)), 3),
        "costs": {cell.digest[:DIGITS]: round(spent(of_it), 2) for cell, of_it in by_cell.items()},
    }
