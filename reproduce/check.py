"""Whether the committed numbers were made by the code of this tree.

What decides: the code and settings behind every cell and the code that draws the exhibit (digests
in its manifest), whether that code was committed when the files were written, and the files'
SHA-256. Versions of packages are told and do not decide: another machine may have others, and
`rerun` says whether the numbers are the same there.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from gladius.baselines import METHODS, ROW_CLASSES
from gladius.checks import InputError
from reproduce import compare, exhibits, provenance, workers
from reproduce.moved import beside
from reproduce.provenance import PUBLISHED, ROOT, Sources, combined, sha256
from reproduce.results import Results
from reproduce.run import MANIFESTS, Job, computed, edited, read_manifest
from reproduce.spec import Exhibit
from reproduce.store import decode, write

OLDER = "older code"
FILES = {  # of what is not made of cells
    "claims": ("claims.csv", "claims.tex", "CLAIMS.md", "ERRATA.md"),
    "speed": ("speed.csv", "speed.html", "speed.tex"),
    "workers": ("workers.csv", "workers.pdf", "workers.png"),
}
MODULES = {"claims": "proofs_checks", "speed": "reproduce.speed", "workers": "reproduce.workers"}


@dataclass(frozen=True)
class Finding:
    """What is wrong with one exhibit or one of FILES; `notes` do not decide."""

    name: str
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def check(exhibits: Sequence[Exhibit], folder: Path) -> list[Finding]:
    """A finding for each exhibit, then for each of FILES."""
    sources = Sources()
    findings = []
    for exhibit in exhibits:
        cells = {entry.cell for entry in exhibit.checked_entries(False)}
        code = provenance.code(sources.parts(cell, "cpu") for cell in cells)
        now = {"smoke": False, "code": code, "view": sources.view(exhibit)}
        findings.append(_compare(exhibit.name, now, folder))
    return findings + [_compare(name, of_modules(name), folder) for name in FILES]


def of_modules(name: str) -> dict[str, Any]:
    """What the manifest of one of FILES says if the code of this tree made it."""
    parts = _parts(name)
    if name == "claims":
        data = [*ROOT.glob(PUBLISHED), *ROOT.glob("proofs_checks/*.csv")]
        parts |= {f"data {path.name}": sha256(path) for path in data}
    return {"smoke": False, "code": combined(parts), "view": ""}


def _parts(name: str) -> dict[str, str]:
    modules = [MODULES[name]]
    if name == "speed":
        fitted = (METHODS[method] for method in ("gladius", "nfxp", "ccp", "mpec"))
        modules += [*fitted, ROW_CLASSES["sparse"]]
    if name == "workers":  # and what it computes; not the report and README behind the command
        shown = [
            entry for known in workers.EXHIBITS for entry in exhibits.load(known).entries(False)
        ]
        modules += [f"reproduce.exhibits.{known}" for known in workers.EXHIBITS]
        modules += sorted({entry.cell.compute.partition(":")[0] for entry in shown})
    if name == "claims":
        paths = (path.relative_to(ROOT) for path in sorted(ROOT.glob("proofs_checks/**/*.py")))
        modules = [".".join(path.with_suffix("").parts) for path in paths]
    return Sources().closure(*modules)


def _compare(name: str, now: dict[str, Any], folder: Path) -> Finding:
    manifest = read_manifest(folder, name)
    if not manifest:
        return Finding(name, ("nothing says how it was made",))
    said = {
        "smoke": "a smoke run",
        "code": f"{OLDER}: what computes it has changed since",
        "view": f"{OLDER}: what draws it has changed since",
    }
    problems = [text for key, text in said.items() if manifest.get(key) != now[key]]
    if manifest.get("dirty") is not False:
        problems.append("made by code that was not committed")
    problems += [f"{file} was changed since" for file in edited(manifest, folder)]
    here = provenance.versions()
    there = {item for versions in manifest.get("versions", []) for item in versions.items()}
    others = sorted(item for item in there if here.get(item[0]) != item[1])
    notes = (f"{package} {version}, here {here.get(package)}" for package, version in others)
    return Finding(name, tuple(problems), tuple(notes))


def stamp(name: str, folder: Path) -> None:
    """Write the manifest of one of FILES, right after it was made.

    Raises:
        InputError: another name, or a file that is missing or older than the code.
    """
    if name not in FILES:
        raise InputError("name", name, f"choose one of {', '.join(FILES)}")
    files = [folder / file for file in FILES[name]]
    missing = [path.name for path in files if not path.is_file()]
    if missing:
        raise InputError("name", name, f"make them first: {', '.join(missing)}")
    made = min(path.stat().st_mtime for path in files)
    modules = [part.removeprefix(provenance.MODULE) for part in _parts(name)]
    code = [ROOT.joinpath(*module.split(".")).with_suffix(".py") for module in modules]
    newer = [path.name for path in code if path.is_file() and path.stat().st_mtime > made]
    if newer:
        raise InputError("name", name, f"make it again: {', '.join(newer)} changed since")
    manifest = of_modules(name) | provenance.commit()
    manifest |= {"versions": [provenance.versions()], "machines": [provenance.machine()]}
    manifest["finished"] = datetime.fromtimestamp(made, UTC).isoformat(timespec="seconds")
    manifest["files"] = {path.name: sha256(path) for path in files}
    write(folder / MANIFESTS / f"{name}.json", json.dumps(manifest, indent=1) + "\n")


def rerun(
    exhibits: Sequence[Exhibit], folder: Path, number: int, workers: int = 0
) -> tuple[int, list[str]]:
    """Compute some cheap cells again and hold them against the committed CSVs.

    The cells are those of the exhibits with the cheapest ones, one of each in turn; the exhibit's
    tolerance is relative, and absolute below 1.

    Returns:
        How many cells were computed, and a line for each number that is another now.
    """
    lists = []
    for exhibit in sorted(exhibits, key=lambda exhibit: exhibit.cost):
        shown = [(exhibit, e) for e in exhibit.checked_entries(False) if e.is_shown]
        random.Random(exhibit.name).shuffle(shown)
        lists.append(shown)
    turns = [place for place in chain(*zip_longest(*lists)) if place is not None][:number]
    cells, sources = dict.fromkeys(entry.cell for _, entry in turns), Sources()
    jobs = [Job(cell, "cpu", sources.parts(cell, "cpu"), {}) for cell in cells]
    stored = {job.cell: decode(text, job.cell) for job, text in computed(jobs, workers, None)}
    lines = []
    for exhibit, entry in turns:
        again = Results([entry], [stored[entry.cell]], False, exhibit.view).frame()
        committed = compare.read(exhibit.name, folder)
        of_cell = again[compare.PLACE].merge(committed, "inner", compare.PLACE)
        both = beside(of_cell, again, exhibit.tolerance)
        for line in both[both["moved"]].to_dict("records"):
            place = "/".join(line[name] for name in compare.PLACE)
            now, was = (
                f"{line[f'value {when}']:.10g} ({line[f'status {when}']})"
                for when in ("after", "before")
            )
            lines.append(f"{exhibit.name}: {place}: {now}, was {was}")
    return len(cells), lines
