"""Random numbers keyed by (exhibit, row, replication), never by the order of execution.

The column is not in the key: all methods of a row see the same data sets, so their differences
can be taken pair by pair. Strings enter by SHA-256, which is the same in every process.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from reproduce.spec import Cell

ROOT = 2026_11_21  # an arbitrary constant, chosen once and before any result was seen


def sequence(
    exhibit: str, row: str, replication: int, stream: str = "data"
) -> np.random.SeedSequence:
    """The seed of one replication; `stream` tells its independent uses apart."""
    words = [
        int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
        for text in (exhibit, row, stream)
    ]
    return np.random.SeedSequence(ROOT, spawn_key=(*words, replication))


def generators(cell: Cell, stream: str = "data") -> list[np.random.Generator]:
    """One generator for each replication of a cell.

    Args:
        cell: gives the exhibit whose seeds it uses, the row and the number of repetitions.
        stream: `data` for the world's draws; an estimator's own randomness has another name.
    """
    return [
        np.random.default_rng(sequence(cell.seeds, cell.row, r, stream))
        for r in range(cell.repetitions)
    ]


def describe(cell: Cell) -> dict[str, Any]:
    """The seeds of a cell, for its provenance."""
    return {
        "root": ROOT,
        "key": [cell.seeds, cell.row],
        "replications": cell.repetitions,
        "rule": "SeedSequence(root, spawn_key=(sha256 of exhibit, row, stream; replication))",
    }
