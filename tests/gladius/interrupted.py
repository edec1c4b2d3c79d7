"""Trainings that a person stops and starts again, for the tests of those that keep checkpoints."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gladius.paper.long_work import Checkpoint


class InterruptedTrainingError(Exception):
    """In place of a person's Ctrl-C."""


def check_that_it_goes_on(
    trained: Callable[[Path | None], bytes],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *at: int,
) -> int:
    """How often a finished training writes, if one that is stopped ends at the bits of another.

    Args:
        trained: what a training gives whose checkpoints are in a folder; None without any.
        folder: empty.
        monkeypatch: as usual.
        at: numbers of writes after which it is stopped.
    """
    alone, times = trained(None), list[int]()
    monkeypatch.setattr("gladius.paper.long_work.SECONDS", 0.0)
    write = Checkpoint.write

    def stopped(self: Checkpoint, **options: bool) -> None:
        write(self, **options)
        times.append(1)
        if len(times) in at:
            raise InterruptedTrainingError

    monkeypatch.setattr(Checkpoint, "write", stopped)
    for _ in at:
        with pytest.raises(InterruptedTrainingError):
            trained(folder)
        assert [*folder.rglob("*.npz")]
    assert trained(folder) == alone
    number = len(times)
    assert trained(folder) == alone  # a finished one is read
    return len(times) - number
