"""Write the keys by content into cells and manifests of the former keys, without computing.

What was current by the code of BASE stays current, and what was older code stays so. Temporary.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from proofs_checks.digests import Definitions
from reproduce import exhibits, keys
from reproduce.check import of_claims
from reproduce.output import DIGITS, MANIFESTS
from reproduce.provenance import ROOT
from reproduce.register import FUNCTIONS
from reproduce.spec import Cell
from reproduce.store import Store, _sealed, write

BASE = "2aa33fa"  # where `check` finds no older code
FORMER = """
import json
from reproduce import check, exhibits, provenance
sources, found = provenance.Sources(), {"cells": {}, "exhibits": {}}
for exhibit in map(exhibits.load, exhibits.names()):
    cells = {entry.cell for entry in exhibit.checked_entries(False)}
    digests = {cell: sources.digests(cell, "cpu") for cell in cells}
    found["cells"] |= {cell.digest: provenance.combined(digests[cell]) for cell in cells}
    code = provenance.code(digests.values())
    found["exhibits"][exhibit.name] = {"code": code, "view": sources.view(exhibit)}
made = check.of_modules()
found["exhibits"]["claims"] = {"code": made["code"], "view": made["view"]}
print("FORMER", json.dumps(found))
"""


def former() -> dict[str, Any]:
    """The keys by the code of BASE."""
    with TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BASE], cwd=ROOT, capture_output=True).stdout
        subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
        command = [sys.executable, "-W", "ignore", "-c", FORMER]
        done = subprocess.run(command, cwd=folder, env={"PYTHONPATH": folder}, capture_output=True)
        found: dict[str, Any] = json.loads(done.stdout.decode().partition("FORMER")[2])
        return found


def rekey(build: Path, out: Path) -> None:
    """Cells in `build`, and the manifests in `out`."""
    old, definitions, store = former(), Definitions(), Store(build)
    count = {"current": 0, "older": 0, "absent": 0}
    for exhibit in map(exhibits.load, exhibits.names()):
        cells = list({entry.cell: None for entry in exhibit.checked_entries(False)})
        pieces = {cell: keys.pieces(definitions, cell, "cpu") for cell in cells}
        checksums = [_rekeyed(store, cell, keys.key(pieces[cell]), old, count) for cell in cells]
        made = {"code": keys.code(pieces.values()), "view": keys.view(definitions, exhibit)}
        path = out / MANIFESTS / f"{exhibit.name}.json"
        manifest = json.loads(path.read_text("utf-8"))
        before = keys.combined(sorted(first for first, _ in checksums))
        if manifest["stored"] == before:
            manifest["stored"] = keys.combined(sorted(second for _, second in checksums))
        digests = {_former(cell)[1][:DIGITS]: cell.digest[:DIGITS] for cell in cells}
        manifest["costs"] = {digests[d]: seconds for d, seconds in manifest["costs"].items()}
        _write(path, manifest, made, old["exhibits"][exhibit.name])
    path, made = out / MANIFESTS / "claims.json", of_claims()
    manifest = json.loads(path.read_text("utf-8"))
    _write(path, manifest, made, old["exhibits"]["claims"])
    print(count)


def _write(path: Path, manifest: Any, made: dict[str, Any], old: dict[str, str]) -> None:
    for name, value in old.items():
        is_current = manifest[name] == value
        print(path.stem, name, "current" if is_current else "older")
        if is_current:
            manifest[name] = made[name]
    write(path, json.dumps(manifest, indent=1) + "\n")


def _former(cell: Cell) -> tuple[dict[str, Any], str]:
    spec = {"compute": FUNCTIONS[cell.compute], "settings": dict(cell.settings)}
    return spec, hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()


def _rekeyed(
    store: Store, cell: Cell, key: str, old: dict[str, Any], count: dict[str, int]
) -> tuple[str, str]:
    """SHA-256 of the file before and after."""
    spec, digest = _former(cell)
    source = store.folder / spec["compute"].replace(":", ".") / f"{digest[:32]}.json"
    if not source.is_file():  # another exhibit has had it
        text = store.path(cell).read_text("utf-8")
        content = json.loads(text)["cell"]
        before = {**content, "spec": spec, "key": _FORMER_KEYS[digest]}
        return _sha256(_text(before)), _sha256(text)
    text = source.read_text("utf-8")
    content = json.loads(text)["cell"]
    if text != _text(content) or content["spec"] != spec:
        raise ValueError(f"damaged: {source}")
    is_current = content["key"] == old["cells"][digest]
    count["current" if is_current else "older"] += 1
    _FORMER_KEYS[digest] = content["key"]
    after = _text({**content, "spec": cell.spec(), "key": key if is_current else content["key"]})
    write(store.path(cell), after)
    source.unlink()
    if not any(source.parent.iterdir()):
        source.parent.rmdir()
    return _sha256(text), _sha256(after)


_FORMER_KEYS: dict[str, str] = {}


def _text(content: dict[str, Any]) -> str:
    return _sealed(json.dumps(content, indent=1, allow_nan=False))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
