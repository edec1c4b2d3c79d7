"""Whether the committed numbers were made by the code of this tree.

What decides: the code, data and settings behind every cell, the code that draws the exhibit (their
digests are in its manifest), whether that code was committed when the files were written, and the
files' SHA-256. Versions of packages are reported and do not decide: another machine may have
others, and `compare --with` says whether the numbers are the same there.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gladius.checks import InputError
from reproduce import provenance
from reproduce.output import MANIFESTS, edited, read_manifest
from reproduce.provenance import PUBLISHED, ROOT, Sources, combined, sha256
from reproduce.spec import Exhibit
from reproduce.store import write

OLDER = "older code"
# what is not made of cells, but by `python -m proofs_checks` with its data
FILES = {"claims": ("claims.csv", "ERRATA.md")}
CODE = "proofs_checks/**/*.py"
DATA = (PUBLISHED, *(f"proofs_checks/{x}" for x in ("*.csv", "*/*.lisp", "templates/*.md")))
PROBLEMS = {
    "smoke": "a smoke run",
    "code": f"{OLDER}: what computes it has changed since",
    "view": f"{OLDER}: what draws it has changed since",
}


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
        code = provenance.code(sources.digests(cell, "cpu") for cell in cells)
        expected = {"smoke": False, "code": code, "view": sources.view(exhibit)}
        findings.append(_check_manifest(exhibit.name, expected, folder))
    return findings + [_check_manifest(name, of_modules(), folder) for name in FILES]


def of_modules() -> dict[str, Any]:
    """The manifest's entries if the code of this tree made FILES."""
    data = (path for pattern in DATA for path in ROOT.glob(pattern))
    digests = _modules() | {f"data {path.name}": sha256(path) for path in data}
    return {"smoke": False, "code": combined(digests), "view": ""}


def _modules() -> dict[str, str]:
    paths = (path.relative_to(ROOT) for path in sorted(ROOT.glob(CODE)))
    return Sources().closure(*(".".join(path.with_suffix("").parts) for path in paths))


def _check_manifest(name: str, expected: dict[str, Any], folder: Path) -> Finding:
    manifest = read_manifest(folder, name)
    if not manifest:
        return Finding(name, ("nothing says how it was made",))
    problems = [text for key, text in PROBLEMS.items() if manifest.get(key) != expected[key]]
    if manifest.get("dirty") is not False:
        problems.append("made by code that was not committed")
    problems += [f"{file} was changed since" for file in edited(manifest, folder)]
    here = provenance.versions()
    made = {item for versions in manifest.get("versions", []) for item in versions.items()}
    others = sorted(item for item in made if here.get(item[0]) != item[1])
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
    modules = [digest.removeprefix(provenance.MODULE) for digest in _modules()]
    code = [ROOT.joinpath(*module.split(".")).with_suffix(".py") for module in modules]
    newer = [path.name for path in code if path.is_file() and path.stat().st_mtime > made]
    if newer:
        raise InputError("name", name, f"make it again: {', '.join(newer)} changed since")
    manifest = of_modules() | provenance.commit()
    manifest |= {"versions": [provenance.versions()], "machines": [provenance.machine()]}
    manifest["finished"] = datetime.fromtimestamp(made, UTC).isoformat(timespec="seconds")
    manifest["files"] = {path.name: sha256(path) for path in files}
    write(folder / MANIFESTS / f"{name}.json", json.dumps(manifest, indent=1) + "\n")
