"""Trainings of the first author's code, kept on disk so that exhibits share and resume them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from gladius import BusEngine, Transitions, author
from gladius.anchor import Anchor
from reproduce import seeds
from reproduce.provenance import ROOT, files_hash
from reproduce.spec import Cell
from reproduce.tasks import CHECKPOINTS

EPOCHS, SMOKE_EPOCHS = 20_000, 50
TRAINING = ("trajectories", "repetitions", "seeds", "level_from_truth", "absolute")


def checkpoint(cell: Cell) -> Path | None:
    """The file of a training: keyed by its settings and by the code that trains."""
    folder = os.environ.get(CHECKPOINTS)
    if folder is None:  # a remote worker
        return None
    code = files_hash(sorted((ROOT / "gladius").glob("author*.py")))
    key = {name: cell.settings.get(name) for name in TRAINING} | {"row": cell.row, "code": code}
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / f"author-{cell.row}-{digest[:16]}.pt"


def train(
    cell: Cell, world: BusEngine, data: Sequence[Transitions], test: Sequence[Transitions]
) -> author.AuthorResult:
    """The training that the cell's settings name, resumed where one was interrupted."""
    return author.run(
        data,
        Anchor(world.anchor_action, world.anchor_reward),
        world.discount,
        rngs=seeds.generators(cell, "weights"),
        oracle=author.Oracle(test, world.reward),
        checkpoint=checkpoint(cell),
        **{name: cell.settings[name] for name in ("level_from_truth", "absolute", "epochs")},
    )
