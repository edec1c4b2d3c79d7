"""Finished cells on disk: one JSON file each, written whole or not at all, with a checksum.

The checksum finds damage and is no signature.
"""

import hashlib
import json
import math
import os
import secrets
import tarfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from lzma import LZMAError
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from gladius.validate import InputError
from reproduce.engine.nouns import FAILED, NOT_RUN, Cell, Record, Result, check_result

UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError),
    *(RecursionError, OverflowError),
)
HEAD, MIDDLE, TAIL = '{"checksum": "', '",\n"cell": ', "}\n"
NOT_FINITE = ("nan", "inf", "-inf")  # as `encode` writes what JSON does not have


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

    @property
    def not_run(self) -> bool:
        """Whether what it needs was not installed, so that there may be a result now."""
        return any(record.status == NOT_RUN for record in self.result.records)


@dataclass(frozen=True)
class Store:
    """The build folder; only one run at a time works in it, under its lock."""

    folder: Path

    def path(self, cell: Cell) -> Path:
        """The cell's file; other settings (a smoke run, say) have another."""
        return self.folder / cell.compute.replace(":", ".") / f"{cell.digest[:32]}.json"

    def load(self, cell: Cell) -> Stored | None:
        """The stored cell, whatever its key; None, with a warning, if its file is unreadable."""
        try:
            return decode(self.read(cell), cell)
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            why = f"{type(error).__name__}: {error}"
            text = f"not readable, so as if it were not there: {self.path(cell)} ({why})"
            warnings.warn(text, stacklevel=2)
            return None

    def read(self, cell: Cell) -> str:
        """The text of the cell's file."""
        return self.path(cell).read_text(encoding="utf-8")

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


@dataclass(frozen=True)
class Archive(Store):
    """Finished cells in a tar file, `folder`; they are read by name, and nothing is unpacked.

    Raises:
        InputError: the file is not readable.
    """

    texts: dict[str, str] = field(init=False, repr=False)  # file -> its content

    def __post_init__(self) -> None:
        try:
            with tarfile.open(self.folder) as tar:
                found = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
                texts = {
                    name.removeprefix("./"): x.read().decode() for name, x in found.items() if x
                }
        except (OSError, EOFError, LZMAError, tarfile.TarError, ValueError) as error:
            why = " ".join(f"not readable: {error}".split())
            raise InputError("cells", str(self.folder), why) from None
        object.__setattr__(self, "texts", texts)

    def read(self, cell: Cell) -> str:
        """The text of the cell's file."""
        name = self.path(cell).relative_to(self.folder).as_posix()
        if name not in self.texts:
            raise FileNotFoundError(name)
        return self.texts[name]


def write(path: Path, content: str) -> None:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(
        f".{secrets.token_hex(8)}.tmp"
    )  # a file of tempfile would be private
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
    if wrong := [name for name, kind in CELL.items() if not _is(content[name], kind)]:
        raise TypeError(f"not of the types that a run writes: {', '.join(wrong)}")
    result, provenance = content["result"], content["provenance"]
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


def _is(value: Any, kind: Any) -> bool:
    """Whether a value that JSON held is of this kind, to its leaves.

    A kind is a type, a test, a list of one kind, or a dict by names, by `str` for all. In none of
    them a bool is a number.
    """
    if isinstance(kind, list):
        return type(value) is list and all(_is(each, kind[0]) for each in value)
    if isinstance(kind, dict):
        kinds = dict.fromkeys(value, kind[str]) if str in kind else kind
        return type(value) is dict and all(_is(value[name], each) for name, each in kinds.items())
    return type(value) is kind if isinstance(kind, type) else bool(kind(value))


def _is_number(value: Any) -> bool:
    return type(value) in (float, int) or value in NOT_FINITE


def _are_numbers(value: Any) -> bool:
    return all(map(_are_numbers, value)) if type(value) is list else _is_number(value)


# of what is in a cell's file
CELL: dict[str, Any] = {
    "status": lambda text: text == "ok" or text.startswith(FAILED),
    "key": str,
    "provenance": {
        "versions": {str: str},
        "machine": {str: lambda x: x is None or type(x) in (str, int)},
        "threads": int,
        "device": str,
        "finished": datetime.fromisoformat,
        "cpu_seconds": lambda x: type(x) in (float, int) and 0 <= x < math.inf,
    },
    "result": {
        "records": [
            dict.fromkeys(("statistic", "status", "protocol", "row"), str)
            | {"value": _is_number, "se": _is_number, "repetitions": int}
        ],
        "replications": {str: [_is_number]},
        "arrays": {str: _are_numbers},
        "cpu_seconds": _is_number,
    },
}


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
