"""Finished cells on disk: one JSON file each, written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reproduce.spec import FAILED, Cell, Record, Result


@dataclass(frozen=True)
class Stored:
    """A finished cell.

    Attributes:
        result: its numbers; no records if it failed.
        status: ok, or `failed: why`.
        source: hash of the sources it was computed with.
        provenance: seed, versions, commit, machine, device, times, warnings, traceback.
    """

    result: Result
    status: str
    source: str
    provenance: dict[str, Any]


@dataclass(frozen=True)
class Store:
    """The build folder."""

    folder: Path

    def path(self, cell: Cell) -> Path:
        """The cell's file; another spec (a smoke run, say) has another."""
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", f"{cell.row} {cell.column} {cell.protocol}").strip(
            "-"
        )
        return self.folder / cell.exhibit / f"{slug}.{cell.digest[:12]}.json"

    def load(self, cell: Cell) -> Stored | None:
        """What is stored for exactly this spec, whatever the sources were; None if nothing is."""
        try:
            content = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        if content.get("spec") != cell.spec():
            return None
        return decode(content)

    def fresh(self, cell: Cell, source: str) -> bool:
        """Whether the cell need not be computed: stored, not failed, and from these sources."""
        stored = self.load(cell)
        return (
            stored is not None and stored.source == source and not stored.status.startswith(FAILED)
        )

    def failed(self, cell: Cell) -> bool:
        """Whether a failure is stored for it."""
        stored = self.load(cell)
        return stored is not None and stored.status.startswith(FAILED)


def write(path: Path, text: str) -> None:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(temporary, 0o644)  # mkstemp's files are private
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def encode(cell: Cell, stored: Stored) -> str:
    """The text of a cell's file."""
    result = {
        "records": [asdict(record) for record in stored.result.records],
        "replications": {k: list(v) for k, v in stored.result.replications.items()},
        "arrays": {k: np.asarray(v).tolist() for k, v in stored.result.arrays.items()},
        "cpu_seconds": stored.result.cpu_seconds,
    }
    content = {
        "spec": cell.spec(),
        "status": stored.status,
        "source": stored.source,
        "provenance": stored.provenance,
        "result": result,
    }
    return json.dumps(_finite(content), indent=1, allow_nan=False) + "\n"


def decode(content: dict[str, Any]) -> Stored:
    """Inverse of `encode`."""
    result = content["result"]
    records = tuple(
        Record(**{**r, "value": float(r["value"]), "se": float(r["se"])}) for r in result["records"]
    )
    return Stored(
        Result(
            records,
            {k: tuple(float(x) for x in v) for k, v in result["replications"].items()},
            {k: np.array(v, dtype=float) for k, v in result["arrays"].items()},
            float(result["cpu_seconds"]),
        ),
        content["status"],
        content["source"],
        content["provenance"],
    )


def _finite(value: Any) -> Any:
    """JSON knows no NaN or infinity: these become strings that `float` reads."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
