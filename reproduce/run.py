"""Run exhibits: compute the stale cells, write each exhibit as soon as its cells are there.

Cells run in this process or in joblib's workers (loky). A worker computes the key of its cell from
the files as it finds them, and refuses if it differs.
"""

import math
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from rich.console import Console

from gladius.validate import InputError
from reproduce.engine import keys, provenance
from reproduce.engine.digests import Definitions
from reproduce.engine.nouns import Cell, Exhibit, drawn
from reproduce.engine.output import (
    DIGITS,
    clear_staging,
    costs,
    describe,
    lost,
    read_manifest,
    write_exhibit,
)
from reproduce.engine.progress import progress
from reproduce.engine.provenance import ROOT
from reproduce.engine.store import Archive, Store, Stored, probe
from reproduce.engine.view import View
from reproduce.engine.worker import Job, failure, one_thread, run_cell
from reproduce.exhibits import PAPER

BUILD = ROOT / ".cells"
GENERATED = ROOT / "paper_tables" / "generated"
CELLS = ROOT / "paper_tables" / "cells.tar.xz"  # those behind GENERATED
SMOKE = ROOT / ".smoke"  # so that a smoke run never overwrites a full one
UNKNOWN, SMOKE_CELL = 10.0, 0.5  # processor seconds of a cell of which nothing is recorded
PARENT_CHECK = 1.0  # seconds after which a worker notices that the run is gone
WHOLE, SHARE = "1/1", re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")  # of the cells


@dataclass(frozen=True)
class Outcome:
    """What a run did."""

    computed: tuple[str, ...]  # ids of the cells that it computed
    reused: int  # number of cells that were current in the store
    restored: int  # of these the cells of hours that are in CELLS alone
    failed: dict[str, str]  # id of a cell, or name of an exhibit that could not be drawn -> why
    not_ok: dict[str, str]  # id -> status of cells with a result that did not converge or diverged
    unchanged: dict[str, str]  # exhibit -> why it has no number now, so that its files are the old
    files: tuple[Path, ...]  # those of the exhibits, also where they were up to date already


def run(
    exhibits: Sequence[Exhibit],
    *,
    smoke: bool = False,
    device: str = "cpu",
    workers: int = 1,
    build: Path = BUILD,
    out: Path | None = None,
    recompute_other_versions: bool = False,
    long: bool = False,
    cells: str = WHOLE,
) -> Outcome:
    """Compute what is stale and write all files: the paper's exhibits first, cheap ones before.

    An exhibit is replaced in one step when all its cells are there; cells that failed are marked.
    An interrupt leaves all others unchanged, and so do cells of which none has a number.

    Args:
        exhibits: which; a cell that several use is computed once.
        smoke: the small variant of each.
        device: cpu or cuda, for the cells that can use it.
        workers: loky processes; 0 computes in this process.
        build: the store's folder.
        out: folder of the results; by default GENERATED, or SMOKE for a smoke run.
        recompute_other_versions: compute also the cells that other versions of Python or of a
            package made; otherwise a line says how many they are.
        long: compute also the cells of hours (`settings.long`); otherwise an exhibit has those of
            them that are current in the store or in CELLS, and short forms where none is
            (`nouns.drawn`).
        cells: "I/N" for the I-th of N shares of the cells, which writes no exhibit.

    Raises:
        InputError: for a bad specification or option, a folder that cannot be written or that
            another run uses, before any work; or when the disk fails later.
    """
    if workers < 0:
        raise InputError("workers", workers, "give 0 (this process) or more")
    if device != "cpu":
        from reproduce.engine.device import check_device  # imports torch, which takes a second

        check_device(device)
    own = share(cells, exhibits, smoke, long)
    store, target = Store(build), out or (SMOKE if smoke else GENERATED)
    probe("build", build)
    if own is None:
        probe("out", target)
    with store.lock():
        clear_staging(target)
        drawing = Drawing(exhibits, smoke, device, target, None if long else store)
        seconds, jobs, others = drawing.seconds, list[Job](), list[dict[str, str]]()
        if own is not None:
            drawing.waiting.clear()
            seconds = {cell: seconds[cell] for cell in own & seconds.keys()}
        # cells of cheap exhibits first, of one exhibit the longest first
        for cell in sorted(seconds, key=lambda c: (drawing.first[c], -seconds[c], c.digest)):
            pieces = drawing.pieces[cell]
            stored = current(store, cell, pieces) or drawing.restored.get(cell)
            uses = partial(drawing.definitions.uses, pieces)
            other = provenance.other_versions(stored.provenance["versions"], uses) if stored else {}
            can = all(provenance.versions()[name] != provenance.MISSING for name in other)
            can &= cell not in drawing.restored  # which takes hours
            if stored and not (other and recompute_other_versions and can):
                others += [other] if other else []
                drawing.final[cell] = stored
            else:
                on = device if cell.takes_device() else "cpu"
                jobs.append(Job(cell, on, pieces, drawing.commit))
        keys.check_compiler(job.pieces for job in jobs)
        if others:
            warnings.warn(_warning_of_versions(others), stacklevel=2)
        drawing.draw()
        expected = {job.cell.id: seconds[job.cell] for job in jobs}
        with progress(expected, max(workers, 1), Console()) as report_stored:
            for job, text in computed(jobs, workers):
                try:
                    drawing.final[job.cell] = store.save(job.cell, text)
                except OSError as error:
                    raise disk_error("build", build, error, job.cell.id) from None
                report_stored(job.cell.id)
                drawing.draw()
    final = drawing.final
    failed = {cell.id: stored.status for cell, stored in final.items() if stored.failed}
    return Outcome(
        computed=tuple(job.cell.id for job in jobs),
        reused=len(final) - len(jobs),
        restored=sum(cell in final for cell in drawing.restored),
        failed=failed | drawing.undrawn,
        unchanged=drawing.unchanged,
        not_ok={
            cell.id: record.status
            for cell, stored in final.items()
            for record in stored.result.records
            if record.status != "ok"
        },
        files=tuple(drawing.files),
    )


def current(store: Store, cell: Cell, pieces: Mapping[str, str]) -> Stored | None:
    """The stored cell, if it was run and did not fail, and rests on these pieces."""
    stored = store.load(cell)
    if stored is None or stored.failed or stored.not_run:
        return None
    return stored if stored.key == keys.key(pieces) else None


@dataclass
class Drawing:
    """The exhibits of a run: what each of them needs, and those that are not written yet."""

    exhibits: Sequence[Exhibit]
    smoke: bool
    device: str
    out: Path
    long_in: Store | None = None  # has cells of hours that are drawn; None: all are drawn
    restored: dict[Cell, Stored] = field(default_factory=dict)  # those that CELLS alone has
    final: dict[Cell, Stored] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    undrawn: dict[str, str] = field(default_factory=dict)  # exhibit -> why it was not written
    unchanged: dict[str, str] = field(default_factory=dict)  # exhibit -> why no cell has a number

    def __post_init__(self) -> None:
        self.definitions, self.commit = Definitions(), provenance.commit()
        self.entries = {
            x.name: drawn(x.checked_entries(self.smoke), self._is_stored) for x in self.exhibits
        }
        cells = {name: {entry.cell for entry in listed} for name, listed in self.entries.items()}
        self.seconds = expected_seconds(cells, self.smoke, self.out)
        cost = {name: sum(map(self.seconds.__getitem__, of)) for name, of in cells.items()}
        self.waiting = sorted(self.exhibits, key=lambda x: (x.name not in PAPER, cost[x.name]))
        self.first: dict[Cell, int] = {}  # position of the first exhibit that needs it
        for position, exhibit in enumerate(self.waiting):
            for entry in self.entries[exhibit.name]:
                self.first.setdefault(entry.cell, position)
        self.pieces = {c: keys.pieces(self.definitions, c, self.device) for c in self.first}

    def _is_stored(self, cell: Cell) -> bool:
        if self.long_in is None:
            return True
        pieces = keys.pieces(self.definitions, cell, self.device)
        if current(self.long_in, cell, pieces):
            return True
        if committed := self.committed and current(self.committed, cell, pieces):
            self.restored[cell] = committed
        return committed is not None

    @cached_property
    def committed(self) -> Store | None:
        """The cells behind GENERATED."""
        return Archive(CELLS) if CELLS.is_file() and not self.smoke else None

    def draw(self) -> None:
        """Write the exhibits whose cells are all there."""
        for exhibit in list(self.waiting):
            entries = self.entries[exhibit.name]
            if not all(entry.cell in self.final for entry in entries):
                continue
            self.waiting.remove(exhibit)
            stored = [self.final[entry.cell] for entry in entries]
            results = View(entries, stored, self.smoke, exhibit.view)
            code = keys.code(self.pieces[entry.cell] for entry in entries)
            view = keys.view(self.definitions, exhibit)
            manifest = describe(exhibit, results, code, view) | self.commit
            try:
                if why := lost(results, self.out / f"{exhibit.name}.csv"):
                    self.unchanged[exhibit.name] = why
                else:
                    self.files.extend(write_exhibit(exhibit, results, manifest, self.out))
            except Exception as error:
                if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
                    raise disk_error("out", self.out, error, exhibit.name) from None
                self.undrawn[exhibit.name] = failure(error)


def share(
    cells: str, exhibits: Sequence[Exhibit], smoke: bool, long: bool
) -> frozenset[Cell] | None:
    """The cells of the I-th of N shares, of about the same processor time; None for the whole.

    The dearest cell comes first, and each goes to the share with the least so far. It rests on
    the checkout alone, so that it is the same on every machine, whatever is stored there.

    Raises:
        InputError: this is not "I/N".
    """
    found = SHARE.fullmatch(cells)
    if not found or int(found[1]) > int(found[2]):
        raise InputError("cells", cells, "give I/N, the I-th of N shares, 1/8 to 8/8 say")
    if found[2] == "1":
        return None
    of = {
        x.name: {e.cell for e in drawn(x.checked_entries(smoke), lambda _: long)} for x in exhibits
    }
    seconds, shares = expected_seconds(of, smoke, GENERATED), dict[Cell, int]()
    sums = [0.0] * min(int(found[2]), len(seconds))
    for cell in sorted(seconds, key=lambda c: (-seconds[c], c.digest)):
        shares[cell] = sums.index(min(sums))
        sums[shares[cell]] += seconds[cell]
    return frozenset(cell for cell, number in shares.items() if number == int(found[1]) - 1)


def expected_seconds(cells: Mapping[str, set[Cell]], smoke: bool, out: Path) -> dict[Cell, float]:
    """Rough processor seconds of exhibits' cells, from the manifests of `out` and GENERATED.

    A cell that none of them has counts as the mean of those that the same function computes; where
    there are none, as the mean of its exhibit's last run.
    """
    recorded, expected = costs(GENERATED) | costs(out), dict[Cell, float]()
    of_kind: dict[str, list[float]] = {}
    for cell in set[Cell]().union(*cells.values()):
        if (digest := cell.digest[:DIGITS]) in recorded:
            expected[cell] = recorded[digest]
            of_kind.setdefault(cell.compute, []).append(recorded[digest])
    for name, of in cells.items():
        last = [] if smoke else list(read_manifest(GENERATED, name).get("costs", {}).values())
        for cell in of - expected.keys():
            similar = of_kind.get(cell.compute) or last or [SMOKE_CELL if smoke else UNKNOWN]
            expected[cell] = math.fsum(similar) / len(similar)  # in any order the same
    return expected


def _warning_of_versions(others: Sequence[Mapping[str, str]]) -> str:
    """A sentence: cells that other versions of packages made are reused."""
    made = {name: version for other in others for name, version in sorted(other.items())}
    here = {name: provenance.version_of(provenance.versions(), name) for name in made}
    texts = [", ".join(f"{n} {v}" for n, v in of.items()) for of in (made, here)]
    again = "--recompute-other-versions computes again what can be"
    return f"{len(others)} cells were made with {texts[0]}; here {texts[1]}: reused, {again}"


def disk_error(name: str, folder: Path, error: OSError, unwritten: str) -> InputError:
    """One line for a disk that fails after the work has started."""
    hint = f"{unwritten} was not written, everything before it was; make room, run again"
    return InputError(name, str(folder), f"{error.strerror}: {hint}")


# Many cells --------------------------------------------------------------------------------------


def computed(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, str]]:
    """Each job with the text of its file, as they end.

    Raises:
        InputError: a worker died, for lack of memory say; finished cells are stored.
    """
    if not jobs:
        return
    one_thread()
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    texts = _by_joblib(jobs, workers) if workers else map(run_cell, jobs)
    waiting = {job.cell: job for job in jobs}
    try:
        for cell, text in texts:
            yield waiting.pop(cell), text
    except BrokenExecutor as error:
        raise InputError("workers", workers, f"{error}: run again with fewer") from error


def _by_joblib(jobs: Sequence[Job], size: int) -> Iterator[tuple[Cell, str]]:
    import joblib

    with joblib.parallel_config("loky", initializer=partial(_prepare_worker, os.getpid())):
        parallel = joblib.Parallel(
            n_jobs=max(size, 2),  # joblib computes in this process where it is 1
            pre_dispatch=size,  # so many at a time, in order: the first not back are running
            batch_size=1,
            return_as="generator_unordered",
        )
    yield from parallel(joblib.delayed(run_cell)(job) for job in jobs)


def _prepare_worker(parent: int) -> None:
    """Leave Ctrl-C, which reaches every process of a terminal, to the run; end with the run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
