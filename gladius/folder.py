"""Rows on disk: a data set as memory-mapped .npy files in a folder, of which only parts are read.

States are stored column by column in the smallest type that holds every entry exactly, and read as
float64: small whole numbers take an eighth of the space and of the memory. `rows.json` says how
many rows, actions and which features there are. A folder is written under a temporary name beside
its own and renamed when it is complete, so that an interrupted write leaves no folder of that name.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike, NDArray

from gladius.checks import Array, InputError

if TYPE_CHECKING:
    from gladius.transitions import Transitions

ENTRIES = 1_000_000  # numbers that are read at a time: 8 MB
WHOLE = (np.int8, np.int16, np.int32)
TYPES = (*WHOLE, np.int64, np.float32, np.float64)  # that a column may have
FEATURES = ("states", "next_states")
ARRAYS = (*FEATURES, "actions", "trajectory", "done")
ABOUT = "rows.json"


class Columns(NDArrayOperatorsMixin):
    """(n, d) numbers on disk that read as a float64 array, of which only what is asked for is read.

    Indexing gives float64 arrays in memory. So do arithmetic, numpy's functions and methods of
    arrays, which read everything.
    """

    def __init__(self, stored: NDArray[Any]) -> None:
        self.stored = stored
        self.shape, self.ndim, self.size = stored.shape, stored.ndim, stored.size
        self.dtype = np.dtype(np.float64)

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, key: Any) -> Any:
        # in the order of an array in memory, so that sums over it round alike
        return np.array(self.stored[key], dtype=np.float64, order="C")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.stored, dtype=np.float64 if dtype is None else dtype, order="C")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = (np.asarray(x) if isinstance(x, Columns) else x for x in inputs)
        return getattr(ufunc, method)(*arrays, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "stored":
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def check(self, name: str, largest: float) -> None:
        """Raise where an entry is not finite, or `largest` and more in size."""
        if self.stored.dtype in WHOLE:
            return
        for start, part in pieces(self):
            wrong = ~(np.abs(part) < largest)
            if np.any(wrong):
                row, column = np.argwhere(wrong)[0]
                value = float(part[row, column])
                hint = "remove NaN and infinite entries"
                if np.isfinite(value):
                    hint = "whole numbers of 2**53 and more run together: rescale them"
                raise InputError(f"{name}[{start + row}, {column}]", value, hint)


def on_disk(states: object) -> TypeGuard[Columns]:
    """Whether the features of a data set are memory-mapped."""
    return isinstance(states, Columns)


def column(states: Array | Columns, k: int) -> NDArray[Any]:
    """(n,) one column, in the type in which it is stored."""
    return states.stored[:, k] if on_disk(states) else states[:, k]


def stored(states: Array | Columns, rows: slice) -> NDArray[Any]:
    """A copy of some rows, column by column, in the type in which they are stored."""
    return np.array(states.stored[rows] if on_disk(states) else states[rows], order="F")


def some_columns(states: Array | Columns, chosen: list[int]) -> Array:
    """(n, len(chosen)) columns, which stay as they are stored."""
    if on_disk(states):
        return Columns(states.stored[:, chosen])  # type: ignore[return-value]  # it reads as one
    return states[:, chosen]


def pieces(states: Array | Columns, entries: int = ENTRIES) -> Iterator[tuple[int, Array]]:
    """The rows in pieces of so many numbers, each with the place of its first row."""
    step = max(1, entries // states.shape[1])
    for start in range(0, len(states), step):
        yield start, states[start : start + step]


def write(folder: str | os.PathLike[str], parts: Iterable[Transitions]) -> None:
    """Write a data set that need not be in memory as a whole: its parts, one after the other.

    Args:
        folder: to be made; its parent exists.
        parts: Transitions with the same features and number of actions. Trajectories are told
            apart by their labels, across parts too.

    Raises:
        InputError: the folder exists, cannot be made, or a part does not fit the first.
    """
    target = Path(folder)
    if target.exists():
        raise InputError("folder", str(target), "it exists: name another, or remove it first")
    try:
        staging = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    except OSError as error:
        raise InputError("folder", str(target), f"cannot write there: {error.strerror}") from None
    try:
        about: dict[str, object] = {}
        number = 0
        for number, part in enumerate(parts, 1):
            same = {"number_of_actions": part.number_of_actions, "names": list(part.feature_names)}
            if (about := about or same) != same:
                raise InputError(f"parts[{number - 1}]", same, f"the first one has {about}")
            _write_part(part, staging, number)
        if not number:
            raise InputError("parts", "none", "give at least one part")
        rows = {name: _join(staging, name, number) for name in ARRAYS}["actions"]
        (staging / ABOUT).write_text(json.dumps({"rows": rows, **about}), encoding="utf-8")
        staging.rename(target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def _write_part(part: Transitions, folder: Path, number: int) -> None:
    for name in FEATURES:
        values = getattr(part, name)
        stored = _new(folder / f"{name}.{number}.npy", exact_type(values), values.shape)
        for start, piece in pieces(values):
            stored[start : start + len(piece)] = piece
    labels = part.trajectory
    if labels.dtype.kind == "O":
        if not isinstance(labels[0], str):
            hint = "labels on disk are numbers or text"
            raise InputError("trajectory", type(labels[0]).__name__, hint)
        labels = labels.astype(str)
    for name, values in (("actions", part.actions), ("trajectory", labels), ("done", part.done)):
        np.save(folder / f"{name}.{number}.npy", values)


def _new(path: Path, kind: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
    array: NDArray[Any] = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.dtype(kind), shape=shape, fortran_order=True
    )
    return array


def _join(folder: Path, name: str, parts: int) -> int:
    """Make one file of those of all parts; how many rows it has."""
    paths = [folder / f"{name}.{number}.npy" for number in range(1, parts + 1)]
    arrays = [np.load(path, mmap_mode="r") for path in paths]
    rows = sum(map(len, arrays))
    if parts == 1:
        paths[0].rename(folder / f"{name}.npy")
        return rows
    kind = np.result_type(*(array.dtype for array in arrays))
    joined = _new(folder / f"{name}.npy", kind, (rows, *arrays[0].shape[1:]))
    start = 0
    for path, array in zip(paths, arrays, strict=True):
        joined[start : start + len(array)] = array
        start += len(array)
        path.unlink()
    return rows


def exact_type(values: Array | Columns) -> type[np.number[Any]]:
    """The smallest type of WHOLE, float32 and float64 that holds every entry exactly."""
    low, high, is_whole, is_single = np.inf, -np.inf, True, True
    for _, part in pieces(values):
        low, high = min(low, float(part.min())), max(high, float(part.max()))
        is_whole = is_whole and bool(np.all(part == np.rint(part)))
        with np.errstate(over="ignore"):
            is_single = is_single and bool(np.all(part == part.astype(np.float32)))
    if is_whole:
        for kind in WHOLE:
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                return kind
    return np.float32 if is_single else np.float64


def read(folder: str | os.PathLike[str]) -> Mapping[str, Any]:
    """The fields of a data set in a folder, its arrays memory-mapped.

    Raises:
        InputError: there is no such folder, it is incomplete, or an array has the wrong shape.
    """
    source = Path(folder)
    if not source.is_dir():
        raise InputError("folder", str(source), "no such folder: Transitions.to_folder writes one")
    try:
        about = json.loads((source / ABOUT).read_text(encoding="utf-8"))
        rows, names = int(about["rows"]), tuple(map(str, about["names"]))
        actions = int(about["number_of_actions"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = f"incomplete or no data set: {ABOUT} cannot be read ({type(error).__name__})"
        raise InputError("folder", str(source), hint) from None
    arrays = {}
    for name in ARRAYS:
        try:
            array = np.load(source / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            hint = f"incomplete: {name}.npy cannot be read ({type(error).__name__})"
            raise InputError("folder", str(source), hint) from None
        shape = (rows, len(names)) if name in FEATURES else (rows,)
        if array.shape != shape:
            raise InputError(f"{name}.npy", array.shape, f"{ABOUT} says {shape}: write it again")
        arrays[name] = array
    return {**arrays, "number_of_actions": actions, "feature_names": names}
