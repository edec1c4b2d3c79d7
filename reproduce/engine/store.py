"""Finished cells on disk: one JSON file each, written whole or not at all, with a checksum.

The checksum finds damage and is no signature.
"""

import hashlib
import json
import math
import os
import secrets
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from gladius.validate import InputError
from reproduce.engine.nouns import FAILED, Cell, Record, Result, check_result

HEAD, MIDDLE, TAIL = '{"checksum": "', '",\n"cell": ', "}\n"


@dataclass(frozen=True)
class Stored:
    """A finished cell."""

    result: Result  # its numbers; no records if it failed
    status: str  # `ok`, or `failed: why`
    key: str  # digest of everything that decides its numbers (see `keys`)
    # seed, versions, commit, machine, device, times, warnings, traceback
    provenance: dict[str, Any]
    checksum: str = ""  # SHA-256 of its file

    @property
    def failed(self) -> bool:
        """Whether there is no result."""
        return self.status.startswith(FAILED)


@dataclass(frozen=True)
class Store:
    """The build folder; only one run at a time works in it, under its lock."""

    folder: Path

    def path(self, cell: Cell) -> Path:
        """The cell's file; other settings (a smoke run, say) have another."""
        return self.folder / cell.compute.replace(":", ".") / f"{cell.digest[:32]}.json"

    def load(self, cell: Cell) -> Stored | None:
        """The stored cell, whatever its key; None, with a warning, if its file is unreadable."""
        path = self.path(cell)
        try:
            return decode(path.read_text(encoding="utf-8"), cell)
        except FileNotFoundError:
            return None
        except (
            OSError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            why = f"{type(error).__name__}: {error}"
            warnings.warn(f"not readable, so computed again: {path} ({why})", stacklevel=2)
            return None

    def save(self, cell: Cell, text: str) -> Stored:
        """Write a cell's file, as `encode` gives it."""
        write(self.path(cell), text)
        return decode(text, cell)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder; the system releases it when the process ends, however it ends.

        Raises:
            InputError: another run has it.
        """
        path = self.folder / "lock"
        if path.is_dir():
            raise InputError("build", str(path), "it is a folder, and has to be a file: remove it")
        try:
            with FileLock(path).acquire(timeout=0):
                yield
        except Timeout:
            hint = "another run is at work there: wait, or use another folder"
            raise InputError("build", str(self.folder), hint) from None


def write(path: Path, content: str) -> None:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")  # `mkstemp` would make it private
    try:
        temporary.write_bytes(content.encode())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def probe(field: str, folder: Path) -> None:
    """Try to write there, before any work.

    Raises:
        InputError: with the folder and the system's message.
    """
    trial = folder / f".probe-{os.getpid()}"
    try:
        write(trial, "0" * 65536)
        trial.unlink()
    except OSError as error:
        raise InputError(field, str(folder), f"cannot write there: {error.strerror}") from None


def encode(cell: Cell, stored: Stored) -> str:
    """The text of a cell's file."""
    content = {
        "spec": cell.spec(),
        "status": stored.status,
        "key": stored.key,
        "provenance": stored.provenance,
        "result": {**vars(stored.result), "records": [vars(r) for r in stored.result.records]},
    }
    return _sealed(json.dumps(_finite(content), indent=1, allow_nan=False))


def decode(text: str, cell: Cell) -> Stored:
    """Inverse of `encode`.

    Raises:
        ValueError, KeyError, TypeError: this is not what `encode` writes for a valid cell.
    """
    body = text[len(HEAD) + 64 + len(MIDDLE) : -len(TAIL)]
    if text != _sealed(body):
        raise ValueError("the checksum is not that of the content")
    content = json.loads(body)
    if content["spec"] != cell.spec():
        raise ValueError("it is another cell's")
    result, provenance = content["result"], content["provenance"]
    if not isinstance(result["records"], list):
        raise TypeError("its records are no list")
    kinds = {"finished": str, "versions": dict, "cpu_seconds": float | int}
    if not all(isinstance(provenance[name], kind) for name, kind in kinds.items()):
        raise TypeError(f"it has to say how it was made: {', '.join(kinds)}")
    decoded = Result(
        tuple(
            Record(**{**record, "value": float(record["value"]), "se": float(record["se"])})
            for record in result["records"]
        ),
        {name: tuple(map(float, values)) for name, values in result["replications"].items()},
        {name: np.array(values, dtype=float) for name, values in result["arrays"].items()},
        float(result["cpu_seconds"]),
    )
    checksum = hashlib.sha256(text.encode()).hexdigest()
    stored = Stored(decoded, content["status"], content["key"], provenance, checksum)
    if not stored.failed:
        check_result(decoded)
    return stored


def _sealed(body: str) -> str:
    return f"{HEAD}{hashlib.sha256(body.encode()).hexdigest()}{MIDDLE}{body}{TAIL}"


def _finite(value: Any) -> Any:
    """JSON has no NaN or infinity: these become strings that `float` reads."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return _finite(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
