"""The files of an exhibit and their manifest, which says how they came about.

An exhibit's files are drawn at each run, from its cells, and swapped in together. What `draw` and
`View` do is part of the digest of what draws an exhibit (`keys.view`).
"""

import csv
import json
import os
import shutil
import signal
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reproduce.engine.digests import file_sha256
from reproduce.engine.keys import combined
from reproduce.engine.nouns import NOT_RUN, Exhibit
from reproduce.engine.provenance import is_locked
from reproduce.engine.store import Stored, write
from reproduce.engine.view import View

MANIFESTS = "manifests"
STAGING = ".staging-"  # then the process that writes there
DIGITS = 12  # of a cell's digest in a manifest's costs
TIMINGS = "_timings"
MADE_OF = ("title", "smoke", "code", "view", "devices")  # what drew the files, and of what
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def write_exhibit(
    exhibit: Exhibit, results: View, manifest: Mapping[str, Any], out: Path
) -> list[Path]:
    """The files: CSVs, what `render` adds; with the manifest they are swapped in when all are made.

    The old manifest stays where it lists the same files, drawn by the same, committed code: another
    machine's times and dates are no change, another device is. Files that are no longer made go,
    but whatever the manifest lists, none of another exhibit.
    """
    old = read_manifest(out, exhibit.name)
    before: dict[str, str] = old.get("files", {})
    with TemporaryDirectory(prefix=f"{STAGING}{os.getpid()}-", dir=out) as folder:
        made = draw(exhibit, results, Path(folder))
        files, stale = digests(made), edited(old, out)
        is_same = before.keys() == files.keys() and all(map(is_decided, stale))
        is_same &= not any(before.get(name) != files[name] for name in filter(is_decided, files))
        is_same &= old.get("dirty") is False
        if is_same and all(old.get(name) == manifest[name] for name in MADE_OF):
            manifest, files = old, before
            made = [path for path in made if path.name not in before or path.name in stale]
        with uninterrupted():
            for path in made:
                os.replace(path, out / path.name)
            for name in before.keys() - files.keys():
                if owner(name, out) == exhibit.name:
                    (out / name).unlink(missing_ok=True)
            write(out / MANIFESTS / f"{exhibit.name}.json", text_of(manifest, files))
    return [out / name for name in files]


def text_of(manifest: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """The manifest's own file."""
    return json.dumps({**manifest, "files": files}, indent=1) + "\n"


def digests(made: Iterable[Path]) -> dict[str, str]:
    """Name -> SHA-256 of what a manifest lists of the drawn files: timings differ by machine."""
    return {path.name: file_sha256(path) for path in made if not path.stem.endswith(TIMINGS)}


def is_decided(name: str) -> bool:
    """Whether the same cells give this file the same bytes here: no figure of other versions."""
    return not name.endswith((".pdf", ".png")) or is_locked("matplotlib")


def owner(name: str, out: Path) -> str:
    """The exhibit whose file this is: of those with a manifest, the longest that it begins with."""
    stems = (path.stem for path in (out / MANIFESTS).glob("*.json"))
    return max((x for x in stems if name.startswith((f"{x}.", f"{x}_"))), key=len, default="")


def lost(results: View, path: Path) -> str:
    """Why there is no number where the exhibit's CSV has some; "" where nothing is lost."""
    frame = results.frame()
    if frame["value"].notna().any() or not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as lines:
        had = any(line.get("value") for line in csv.DictReader(lines))
    why = frame["statistic"].where(frame["status"].eq(NOT_RUN), frame["status"])
    return ", ".join(why.unique()) if had else ""


def draw(exhibit: Exhibit, results: View, folder: Path) -> list[Path]:
    """The files of an exhibit, in an empty folder."""
    for end, frame in (("", results.frame()), (TIMINGS, results.times())):
        text = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
        write(folder / f"{exhibit.name}{end}.csv", text)
    exhibit.render(results, folder)
    return sorted(folder.iterdir())


def clear_staging(out: Path) -> None:
    """Remove the staging folders of processes that were killed."""
    for folder in out.glob(f"{STAGING}*"):
        process = folder.name.removeprefix(STAGING).partition("-")[0]
        if not process.isdigit() or not is_running(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def is_running(process: int) -> bool:
    """Whether there is a process of that number on this machine."""
    with suppress(PermissionError):
        try:
            os.kill(process, 0)
        except (ProcessLookupError, OverflowError):
            return False
    return True


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay SIGINT and SIGTERM until the block is done."""
    delayed: list[int] = []
    before = [signal.signal(n, lambda number, _: delayed.append(number)) for n in SIGNALS]
    try:
        yield
    finally:
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)
    if delayed:
        raise KeyboardInterrupt


def read_manifest(out: Path, name: str) -> dict[str, Any]:
    """The manifest of that name; {} with a warning where it is not readable.

    A manifest whose files are not in the folder itself counts as unreadable: the runner removes
    files that a manifest names.
    """
    path = out / MANIFESTS / f"{name}.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        foreign = [file for file in content["files"] if file in (".", "..") or "/" in file]
        foreign += [file for file in content["files"] if Path(file).name != file]
        if not foreign and all(isinstance(digest, str) for digest in content["files"].values()):
            return dict(content)
        why = f"not files of this folder: {foreign}" if foreign else "files without digests"
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
    warnings.warn(f"not readable, so ignored: {path} ({why})", stacklevel=2)
    return {}


def edited(manifest: Mapping[str, Any], out: Path) -> list[str]:
    """Names of the manifest's files that are not as they were written."""
    files: dict[str, str] = manifest.get("files", {})
    digests = {name: file_sha256(out / name) for name in files if (out / name).is_file()}
    return [name for name in files if digests.get(name) != files[name]]


def costs(out: Path) -> dict[str, float]:
    """Processor seconds of cells, by the first DIGITS of their digests, from the manifests."""
    seconds: dict[str, float] = {}
    for path in sorted((out / MANIFESTS).glob("*.json")):
        seconds |= read_manifest(out, path.stem).get("costs", {})
    return seconds


def describe(exhibit: Exhibit, results: View, code: str, view: str) -> dict[str, Any]:
    """How an exhibit came about, from its cells alone: the same cells, the same description."""
    by_cell = {entry.cell: stored for entry, stored in results}
    stored = list(by_cell.values())
    records = [cell.provenance for cell in stored]

    def distinct(name: str) -> list[Any]:
        texts = {json.dumps(record.get(name), sort_keys=True) for record in records}
        return [json.loads(text) for text in sorted(texts)]

    kinds = [NOT_RUN if cell.not_run else cell.status.partition(":")[0] for cell in stored]
    seconds = {cell.digest[:DIGITS]: round(_seconds(of), 2) for cell, of in by_cell.items()}
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
        "finished": max(record["finished"] for record in records),
        "cells": dict(sorted(Counter(kinds).items())),
        "cpu_seconds": round(sum(map(_seconds, stored)), 3),
        "costs": seconds,
        "rekeyed": [c.digest[:DIGITS] for c, of in by_cell.items() if "rekeyed" in of.provenance],
    }


def _seconds(stored: Stored) -> float:
    return float(stored.provenance["cpu_seconds"])
