"""Random numbers keyed by (name, row, replication), never by the order of execution.

A cell names its stream of data sets in its settings, and no method is in the key: all methods on a
stream see the same data sets, so their differences can be taken pair by pair. Strings enter by
SHA-256, which is the same in every process.
"""

import hashlib
from typing import Any

import numpy as np

from reproduce.engine.nouns import Cell

ROOT = 2026_11_21  # an arbitrary constant, chosen once and before any result was seen


def sequence(name: str, row: str, replication: int, stream: str = "data") -> np.random.SeedSequence:
    """The seed of one replication; `stream` tells its independent uses apart.

    `name` is the exhibit that the data sets were first drawn for, `row` its row.
    """
    digests = [hashlib.sha256(text.encode()).digest() for text in (name, row, stream)]
    words = [int.from_bytes(digest[:4], "little") for digest in digests]
    return np.random.SeedSequence(ROOT, spawn_key=(*words, replication))


def generators(cell: Cell, stream: str = "data") -> list[np.random.Generator]:
    """One generator for each replication of a cell.

    `stream` is `data` for the world's draws; an estimator's own randomness has another name.
    """
    seeds = [sequence(*cell.seeds, replication, stream) for replication in range(cell.repetitions)]
    return [np.random.default_rng(seed) for seed in seeds]


def describe(cell: Cell) -> dict[str, Any]:
    """The seeds of a cell, for its provenance; {} where it names none."""
    if "seeds" not in cell.settings:
        return {}
    return {
        "root": ROOT,
        "key": list(cell.seeds),
        "replications": cell.repetitions,
        "rule": "SeedSequence(root, spawn_key=(sha256 of name, row, stream; replication))",
    }
