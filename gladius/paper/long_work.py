"""Long trainings: a line that shows how far they are, and a file from which they go on."""

import hashlib
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from gladius.validate import InputError

SECONDS = 30.0  # between two writes
# what NumPy raises for a file that is no archive of arrays, or was cut or edited
DAMAGED: tuple[type[Exception], ...] = (OSError, ValueError, EOFError, BadZipFile, zlib.error)
DAMAGED += (TypeError, AttributeError, MemoryError)


def file_of(folder: str | os.PathLike[str] | None, number: int) -> Path | None:
    """The file of a data set's training in the folder of checkpoints; None without one."""
    if folder is None:
        return None
    if not isinstance(folder, str | os.PathLike) or Path(folder).is_file():
        raise InputError("checkpoint", folder, "name a folder")
    return Path(folder) / f"training_{number}.npz"


@contextmanager
def progress_line(name: str, total: int) -> Iterator[Callable[[int], None]]:
    """A line with the progress of `total` steps, and what to call after some; none without name."""
    if not name:
        yield lambda steps: None
        return
    if find_spec("rich") is None:
        raise InputError("progress", name, "pip install rich, or leave it out")
    from rich.progress import Progress

    with Progress(transient=True) as line:
        task = line.add_task(name, total=total)
        yield lambda steps: line.advance(task, steps)


class Checkpoint:
    """Arrays that a training changes in place, written to a file at moments when they agree.

    Args:
        path: the file, or None to write nothing. If it is there, the arrays continue from it.
        of: what the training depends on; a file of another training is refused.
        arrays: the state of the training, of shapes that stay.

    Raises:
        InputError: the file is damaged or of another training.
    """

    def __init__(
        self,
        path: Path | None,
        of: tuple[object, ...],
        arrays: Mapping[str, NDArray[Any]],
    ) -> None:
        self.path, self.arrays = path, arrays
        self.written = time.monotonic()
        if path is None:
            return
        if path.suffix != ".npz":
            raise InputError("checkpoint", str(path), "name a file that ends in .npz")
        digest = hashlib.sha256()
        for item in of:
            if isinstance(item, np.ndarray):
                digest.update(f"{item.dtype.str} {item.shape}".encode() + item.tobytes())
            else:
                digest.update(repr(item).encode())
        self.of = np.frombuffer(digest.digest(), np.uint8)
        if path.exists():
            self._restore(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError("checkpoint", str(path.parent), f"{error.strerror}") from None

    def _restore(self, path: Path) -> None:
        hint = "it is damaged or no checkpoint: remove it, or name another file"
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                stored = {name: archive[name] for name in archive.files}
        except DAMAGED:
            raise InputError("checkpoint", str(path), hint) from None
        if not np.array_equal(stored.pop("of", None), self.of):
            hint = "it is of a training with other data or options: name another file"
            raise InputError("checkpoint", str(path), hint)
        shapes = {name: x.shape for name, x in stored.items()}
        if shapes != {name: x.shape for name, x in self.arrays.items()}:
            raise InputError("checkpoint", str(path), hint)
        for name, array in self.arrays.items():
            array[...] = stored[name]

    def write(self, *, at_once: bool = False) -> None:
        """Write the file if it is time, or in any case; whole, or not at all."""
        if self.path is None or not (at_once or time.monotonic() - self.written >= SECONDS):
            return
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.npz")
        try:
            np.savez(temporary, of=self.of, **self.arrays)  # type: ignore[arg-type]  # any arrays
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)
        self.written = time.monotonic()
