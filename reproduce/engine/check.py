"""Whether the committed numbers were made by the code of this tree, from the stored cells.

What decides: the definitions, data and settings behind every cell, those that draw the exhibit
(their digests are in its manifest, see `keys`), whether that code was committed when the files were
written, and the files' bytes. Where this tree would draw them, each exhibit is drawn again from the
stored cells, into a folder of its own. Versions of packages are reported and do not decide: another
machine may have others, and `compare --with` says whether the numbers are the same there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gladius.validate import InputError
from reproduce.engine import keys, provenance
from reproduce.engine.digests import Definitions, sha256
from reproduce.engine.nouns import Cell, Entry, Exhibit, drawn
from reproduce.engine.output import (
    DIGITS,
    MANIFESTS,
    describe,
    digests,
    draw,
    edited,
    is_decided,
    read_manifest,
    text_of,
)
from reproduce.engine.store import Archive
from reproduce.engine.view import View
from reproduce.engine.worker import failure

OLDER, STALE = "older code", "the results and templates give another: python -m reproduce readme"
PROBLEMS = {
    "smoke": "a smoke run",
    "code": f"{OLDER}: what computes it has changed since",
    "view": f"{OLDER}: what draws it has changed since",
}


@dataclass(frozen=True)
class Finding:
    """What is wrong with one exhibit or a page."""

    name: str
    problems: tuple[str, ...] = ()  # by the manifest
    notes: tuple[str, ...] = ()  # which do not decide
    others: tuple[str, ...] = ()  # what was drawn again, and is not what stands there


def check(exhibits: Sequence[Exhibit], folder: Path, cells: Path | None = None) -> list[Finding]:
    """A finding for each exhibit; with `cells` all that was drawn again.

    Args:
        exhibits: which.
        folder: of the results.
        cells: a tar file of the finished cells.

    Raises:
        InputError: `cells` is not readable.
    """
    definitions, findings = Definitions(), list[Finding]()
    archive = Archive(cells) if cells else None
    for exhibit in exhibits:
        manifest = read_manifest(folder, exhibit.name)
        costs = manifest.get("costs", {})
        entries = drawn(exhibit.checked_entries(False), partial(_has_cost, costs))
        pieces = [keys.pieces(definitions, cell, "cpu") for cell in {e.cell for e in entries}]
        expected = {"smoke": False, "code": keys.code(pieces)}
        expected |= {"view": keys.view(definitions, exhibit)}
        uses = partial(definitions.uses, [name for of in pieces for name in of])
        found = _check_manifest(exhibit.name, expected, folder, uses)
        if archive and manifest.get("view") == expected["view"]:
            others = _others(exhibit, entries, archive, manifest, folder)
            found = replace(found, others=others)
        findings.append(found)
    return findings


def _has_cost(costs: Mapping[str, float], cell: Cell) -> bool:
    return cell.digest[:DIGITS] in costs


def _others(
    exhibit: Exhibit,
    entries: Sequence[Entry],
    archive: Archive,
    manifest: Mapping[str, Any],
    folder: Path,
) -> tuple[str, ...]:
    """The files, of all that the manifest lists, that are not as this tree draws them again."""
    try:
        files = _drawn(exhibit, entries, archive, manifest)
    except Exception as error:
        return (f"this tree cannot make it: {failure(error)}",)
    wrong = sorted({*edited({"files": files}, folder), *(manifest["files"].keys() - files.keys())})
    return tuple(f"{name} differs from what the stored results give" for name in wrong)


def _drawn(
    exhibit: Exhibit, entries: Sequence[Entry], archive: Archive, manifest: Mapping[str, Any]
) -> dict[str, str]:
    """File -> SHA-256, as this tree draws them from the stored cells; the manifest too."""
    stored = {cell: archive.load(cell) for cell in {entry.cell for entry in entries}}
    cells = [x for x in (stored[entry.cell] for entry in entries) if x]
    results = View(entries, cells, False, exhibit.view)
    if len(cells) < len(entries):
        raise InputError("cells", archive.folder.name, "it lacks some that are readable")
    with TemporaryDirectory() as folder:
        files = digests(draw(exhibit, results, Path(folder)))
    files |= {x: y for x, y in manifest["files"].items() if x in files and not is_decided(x)}
    described = describe(exhibit, results, manifest["code"], manifest["view"])
    described |= {name: manifest.get(name) for name in ("commit", "dirty")}
    return files | {f"{MANIFESTS}/{exhibit.name}.json": sha256(text_of(described, files))}


def _check_manifest(
    name: str, expected: dict[str, Any], folder: Path, uses: Callable[[str], bool]
) -> Finding:
    manifest = read_manifest(folder, name)
    if not manifest:
        return Finding(name, ("nothing says how it was made",))
    problems = [text for key, text in PROBLEMS.items() if manifest.get(key) != expected[key]]
    if manifest.get("dirty") is not False:
        problems.append("made by code that was not committed")
    problems += [f"{file} was changed since" for file in edited(manifest, folder)]
    made = manifest.get("versions", [])
    others = {x for of in made for x in provenance.other_versions(of, uses).items()}
    notes = (f"{x} {version}, here {provenance.versions()[x]}" for x, version in sorted(others))
    return Finding(name, tuple(problems), tuple(notes))
