"""Run exhibits: find the stale cells, compute them, write each exhibit's files and the manifest."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduce import provenance, tasks
from reproduce.provenance import ROOT
from reproduce.results import Results
from reproduce.spec import FAILED, Cell, Exhibit, Result
from reproduce.store import Store, Stored, write

BUILD = ROOT / ".cells"
GENERATED = ROOT / "paper_tables" / "generated"
SMOKE = ROOT / ".smoke"  # so that a smoke run never overwrites a full one
LOST = f"{FAILED}no result was stored (interrupted, or its worker died)"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Outcome:
    """What a run did.

    Attributes:
        computed: ids of the cells that were computed now.
        reused: how many were found fresh in the store.
        failed: id -> why.
        not_ok: id -> status of cells with a result that did not converge or diverged.
        stale: ids of shown cells that were left out because the sources have changed since.
        files: what was written.
    """

    computed: tuple[str, ...]
    reused: int
    failed: dict[str, str]
    not_ok: dict[str, str]
    stale: tuple[str, ...]
    files: tuple[Path, ...]


def run(
    exhibits: Sequence[Exhibit],
    *,
    shown: Sequence[Exhibit] = (),
    smoke: bool = False,
    device: str = "cpu",
    workers: int = 1,
    dask: str | None = None,
    build: Path = BUILD,
    out: Path | None = None,
    verbose: bool = True,
) -> Outcome:
    """Compute what is stale and write all files.

    Args:
        exhibits: each after those that it depends on.
        shown: the other exhibits that these show where their cells exist; not computed.
        smoke: the small variant of each spec.
        device: cpu or cuda.
        workers: see `tasks.build`.
        dask: see `tasks.build`.
        build: the store's folder.
        out: where the files go; by default GENERATED, or SMOKE for a smoke run.
        verbose: show progress.

    Raises:
        InputError: for a bad spec or option, before any work starts.
    """
    store, target = Store(build), out or (SMOKE if smoke else GENERATED)
    provenance.device_name(device)
    cells = {e.name: e.checked_cells(smoke) for e in (*exhibits, *shown)}
    source = {e.name: provenance.source_hash(e.compute) for e in (*exhibits, *shown)}
    wanted = [(e, c) for e in exhibits for c in cells[e.name] if not c.not_run]
    stale = [(e, c) for e, c in wanted if not store.fresh(c, source[e.name])]
    for _, cell in stale:
        if store.failed(cell):  # so that a failure is never mistaken for one of this run
            store.path(cell).unlink()
    commit = provenance.commit()
    jobs = [tasks.Job(c, e.compute, source[e.name], commit) for e, c in stale]
    tasks.build(jobs, store, workers=workers, dask=dask, device=device, verbose=verbose)

    own = {e.name for e in exhibits}
    files: list[Path] = []
    old: dict[str, None] = {}
    final: dict[str, Stored] = {}
    for exhibit in exhibits:
        visible: list[tuple[Cell, Stored | None]] = []
        for name in (exhibit.name, *exhibit.depends, *exhibit.shows):
            for cell in cells.get(name, []):
                stored = None if cell.not_run else store.load(cell)
                current = stored is not None and stored.source == source[name]
                if name in own and not cell.not_run:
                    lost = Stored(Result(()), LOST, "", {})
                    final[cell.id] = stored if stored is not None and current else lost
                    visible.append((cell, final[cell.id]))
                elif cell.not_run or current:
                    visible.append((cell, stored))
                elif stored is not None:
                    old[cell.id] = None
        results = Results([c for c, _ in visible], [s for _, s in visible], smoke)
        files += write_exhibit(exhibit, results, target)
    failed = {name: s.status for name, s in final.items() if s.status.startswith(FAILED)}
    return Outcome(
        computed=tuple(c.id for _, c in stale if final[c.id].status != LOST),
        reused=len(wanted) - len(stale),
        failed=failed,
        not_ok={
            name: record.status
            for name, stored in final.items()
            for record in stored.result.records
            if record.status != "ok"
        },
        stale=tuple(old),
        files=tuple(files),
    )


def write_exhibit(exhibit: Exhibit, results: Results, out: Path) -> list[Path]:
    """The long CSV, what `render` adds, and the exhibit's entry in the manifest."""
    out.mkdir(parents=True, exist_ok=True)
    table = out / f"{exhibit.name}.csv"
    shown = [exhibit.name, *exhibit.shows]
    write(table, results.frame(shown).to_csv(index=False, float_format="%.10g"))
    rendered = exhibit.render(results, out)
    manifest = out / MANIFEST
    content = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    content[exhibit.name] = entry(exhibit, results, [table, *rendered])
    write(manifest, json.dumps(dict(sorted(content.items())), indent=1) + "\n")
    return [table, *rendered]


def spent(stored: Stored) -> float:
    """Processor time of a cell; a training resumed from a checkpoint knows its own total."""
    fits = [one.repetitions for one in stored.result.records]
    trained = stored.result.cpu_seconds * max(fits, default=0)
    return max(float(stored.provenance["cpu_seconds"]), 0.0 if math.isnan(trained) else trained)


def entry(exhibit: Exhibit, results: Results, files: Sequence[Path]) -> dict[str, Any]:
    """How an exhibit came about, from its cells alone: the same cells, the same entry."""
    pairs = zip(results.cells, results.stored, strict=True)
    own = [s for c, s in pairs if c.exhibit == exhibit.name and s is not None and s.provenance]
    made = [s.provenance for s in own]

    def distinct(name: str) -> list[Any]:
        found = {json.dumps(p.get(name), sort_keys=True) for p in made}
        return [json.loads(text) for text in sorted(found)]

    return {
        "title": exhibit.title,
        "smoke": results.smoke,
        "files": sorted(path.name for path in files),
        "commits": distinct("commit"),
        "dirty": any(p.get("dirty", False) for p in made),
        "sources": sorted({s.source for s in own}),
        "versions": distinct("versions"),
        "machines": distinct("machine"),
        "devices": distinct("device"),
        "first_started": min((p["started"] for p in made), default=None),
        "cells": dict(sorted(Counter(s.status.partition(":")[0] for s in own).items())),
        "seconds": round(sum(p["seconds"] for p in made), 3),
        "cpu_seconds": round(sum(spent(s) for s in own), 3),
    }
