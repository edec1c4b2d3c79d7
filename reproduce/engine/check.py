"""Whether the committed numbers were made by the code of this tree.

What decides: the definitions, data and settings behind every cell, those that draw the exhibit
(their digests are in its manifest, see `keys`), whether that code was committed when the files were
written, and the files' SHA-256. Versions of packages are reported and do not decide: another
machine may have others, and `compare --with` says whether the numbers are the same there.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gladius.validate import InputError
from proofs_checks.digests import Definitions, file_sha256
from reproduce.engine import keys, provenance
from reproduce.engine.nouns import LONG, Exhibit
from reproduce.engine.output import DIGITS, MANIFESTS, edited, read_manifest
from reproduce.engine.provenance import ROOT
from reproduce.engine.store import write

OLDER = "older code"
# what is not made of cells, but by `python -m proofs_checks` with its data
FILES = {"claims": ("claims.csv", "ERRATA.md")}
CODE = ("gladius/**/*.py", "proofs_checks/**/*.py")
DATA = tuple(f"proofs_checks/{x}" for x in ("*.csv", "*/*.lisp", "templates/*.md"))
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
    definitions = Definitions()
    findings = []
    for exhibit in exhibits:
        drawn = read_manifest(folder, exhibit.name).get("costs", {})
        cells = {entry.cell for entry in exhibit.checked_entries(False)}
        cells = {c for c in cells if not c.settings.get(LONG) or c.digest[:DIGITS] in drawn}
        code = keys.code(keys.pieces(definitions, cell, "cpu") for cell in cells)
        expected = {"smoke": False, "code": code, "view": keys.view(definitions, exhibit)}
        findings.append(_check_manifest(exhibit.name, expected, folder))
    return findings + [_check_manifest(name, of_claims(), folder) for name in FILES]


def of_claims() -> dict[str, Any]:
    """The manifest's entries if the code of this tree made FILES."""
    from proofs_checks.claims import claims
    from proofs_checks.decide import key

    definitions = Definitions()
    code = keys.combined(sorted(key(definitions, claim) for claim in claims().values()))
    data = sorted(file_sha256(path) for pattern in DATA for path in ROOT.glob(pattern))
    view = keys.combined([keys.key(definitions.reached("proofs_checks.ledger:write")), data])
    return {"smoke": False, "code": code, "view": view}


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
    code = [path for pattern in CODE for path in ROOT.glob(pattern)]
    newer = [path.name for path in code if path.stat().st_mtime > made]
    if newer:
        raise InputError("name", name, f"make it again: {', '.join(newer)} changed since")
    manifest = of_claims() | provenance.commit()
    manifest |= {"versions": [provenance.versions()], "machines": [provenance.machine()]}
    manifest["finished"] = datetime.fromtimestamp(made, UTC).isoformat(timespec="seconds")
    manifest["files"] = {path.name: file_sha256(path) for path in files}
    write(folder / MANIFESTS / f"{name}.json", json.dumps(manifest, indent=1) + "\n")
