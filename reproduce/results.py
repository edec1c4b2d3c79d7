"""What an exhibit's renderer sees: its entries as one long frame, and each stored cell in full."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gladius.checks import InputError
from reproduce.spec import FAILED, NOT_RUN, Entry, Record, Result, as_stored
from reproduce.store import Stored

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["row", "column", "protocol", "statistic", "value", "se", "repetitions", "status"]
TIMES = ["row", "column", "protocol", "cpu_seconds"]
View = Callable[[Entry, Result], Sequence[Record]]


@dataclass(frozen=True)
class Results:
    """An exhibit's entries and what is stored for each, in the order of display.

    Attributes:
        entries: all of them, those that the CSV does not show too.
        stored: for each entry, None where it was not run.
        smoke: whether this is a smoke run, whose numbers mean nothing.
        view: the exhibit's.
    """

    entries: Sequence[Entry]
    stored: Sequence[Stored | None]
    smoke: bool
    view: View = as_stored

    def frame(self, hidden: bool = False) -> pd.DataFrame:
        """The long table (COLUMNS) of the entries shown; with `hidden`, of all."""
        import pandas as pd

        rows = [
            (
                record.row or entry.row,
                entry.column,
                record.protocol or entry.protocol,
                record.statistic,
                record.value,
                record.se,
                record.repetitions,
                record.status,
            )
            for entry, stored in self
            if hidden or entry.is_shown
            for record in records(entry, stored, self.view)
        ]
        return pd.DataFrame(rows, columns=pd.Index(COLUMNS))

    def times(self) -> pd.DataFrame:
        """Processor seconds of one repetition's fit (TIMES) of each entry that has a result."""
        import pandas as pd

        rows = [
            (entry.row, entry.column, entry.protocol, stored.result.cpu_seconds)
            for entry, stored in self
            if entry.is_shown and stored is not None
        ]
        return pd.DataFrame(rows, columns=pd.Index(TIMES))

    def get(self, row: str, column: str, protocol: str) -> Stored | None:
        """What is stored for one entry."""
        for entry, stored in self:
            if (entry.row, entry.column, entry.protocol) == (row, column, protocol):
                return stored
        raise InputError("entry", (row, column, protocol), "no such entry in this exhibit")

    def paired(
        self, row: str, ours: tuple[str, str], other: tuple[str, str], statistic: str = "MAPE"
    ) -> tuple[float, float, int]:
        """(mean, standard error, pairs) of the difference of two (column, protocol) on equal data.

        NaN where either is absent. Both cells must have been computed from the same seeds.
        """
        first, second = (self.get(row, *which) for which in (ours, other))
        if first is None or second is None:
            return math.nan, math.nan, 0
        samples = [s.result.replications.get(statistic) for s in (first, second)]
        if samples[0] is None or samples[1] is None:
            return math.nan, math.nan, 0
        seeds = [s.provenance["seed"] for s in (first, second)]
        if seeds[0] != seeds[1]:
            raise InputError("seeds", seeds[1], f"not the data sets of the other cell, {seeds[0]}")
        gap = np.asarray(samples[0]) - np.asarray(samples[1])
        return float(gap.mean()), float(gap.std(ddof=1) / math.sqrt(len(gap))), len(gap)

    def __iter__(self) -> Iterator[tuple[Entry, Stored | None]]:
        return zip(self.entries, self.stored, strict=True)


def records(entry: Entry, stored: Stored | None, view: View = as_stored) -> Sequence[Record]:
    """What an entry shows; a record without a value where its cell was not run or failed."""
    if stored is None:
        return (Record(entry.statistic, math.nan, status=NOT_RUN, repetitions=0),)
    if stored.status.startswith(FAILED):
        return (Record(entry.statistic, math.nan, status=stored.status, repetitions=0),)
    return view(entry, stored.result)
