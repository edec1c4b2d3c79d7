"""What an exhibit's renderer sees: the stored cells as one long frame, and each cell in full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gladius.checks import InputError
from reproduce.spec import FAILED, NOT_RUN, Cell, Record
from reproduce.store import Stored

COLUMNS = ["row", "column", "protocol", "statistic", "value", "se"]
COLUMNS += ["repetitions", "status", "cpu_seconds"]


@dataclass(frozen=True)
class Results:
    """An exhibit's cells and what is stored for each, in the order of display.

    Attributes:
        cells: its own, then those of the exhibits that it shows or depends on.
        stored: for each cell, None where it was not run.
        smoke: whether this is a smoke run, whose numbers mean nothing.
    """

    cells: Sequence[Cell]
    stored: Sequence[Stored | None]
    smoke: bool

    def frame(self, exhibits: Sequence[str] | None = None) -> pd.DataFrame:
        """The long table (COLUMNS); of some exhibits' cells, or of all."""
        rows = []
        for cell, stored in zip(self.cells, self.stored, strict=True):
            if exhibits is not None and cell.exhibit not in exhibits:
                continue
            seconds = math.nan if stored is None else stored.result.cpu_seconds
            for r in records(cell, stored):
                rows.append(
                    (
                        r.row or cell.row,
                        cell.column,
                        r.protocol or cell.protocol,
                        *(r.statistic, r.value, r.se, r.repetitions, r.status, seconds),
                    )
                )
        return pd.DataFrame(rows, columns=pd.Index(COLUMNS))

    def get(self, row: str, column: str, protocol: str) -> Stored | None:
        """One cell."""
        for cell, stored in zip(self.cells, self.stored, strict=True):
            if (cell.row, cell.column, cell.protocol) == (row, column, protocol):
                return stored
        raise InputError("cell", (row, column, protocol), "no such cell in this exhibit")

    def paired(
        self, row: str, ours: tuple[str, str], other: tuple[str, str], statistic: str = "MAPE"
    ) -> tuple[float, float, int]:
        """(mean, standard error, pairs) of the difference of two (column, protocol) on equal data.

        NaN where either is absent. Both cells must have been computed from the same seeds.
        """
        pair = [self.get(row, *which) for which in (ours, other)]
        if any(p is None or statistic not in p.result.replications for p in pair):
            return math.nan, math.nan, 0
        seeds = [p.provenance["seed"] for p in pair if p is not None]
        if seeds[0] != seeds[1]:
            raise InputError("seeds", seeds[1], f"not the data sets of the other cell, {seeds[0]}")
        a, b = (np.asarray(p.result.replications[statistic]) for p in pair if p is not None)
        gap = a - b
        return float(gap.mean()), float(gap.std(ddof=1) / math.sqrt(len(gap))), len(gap)


def records(cell: Cell, stored: Stored | None) -> tuple[Record, ...]:
    """The cell's records; one without a value where it was not run or failed."""
    if stored is None:
        return (Record(cell.statistic, math.nan, status=NOT_RUN, repetitions=0),)
    if stored.status.startswith(FAILED):
        return (Record(cell.statistic, math.nan, status=stored.status, repetitions=0),)
    return stored.result.records
