"""What an exhibit's renderer sees: its entries as one long frame, and each stored cell in full."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from gladius.validate import InputError
from reproduce.engine.nouns import Array, Entry, Record, Result, as_stored
from reproduce.engine.store import Stored

if TYPE_CHECKING:  # pandas costs what the command `list` takes
    import pandas as pd

COLUMNS = ["row", "column", "protocol", "statistic", "value", "se", "repetitions", "status"]
TIMES = ["row", "column", "protocol", "cpu_seconds"]
Shown = Callable[[Entry, Result], Sequence[Record]]


@dataclass(frozen=True)
class View:
    """An exhibit's entries and what is stored for each, in the order of display."""

    entries: Sequence[Entry]  # all of them, those that the CSV does not show too
    stored: Sequence[Stored]  # for each entry
    smoke: bool  # whether this is a smoke run, whose numbers mean nothing
    view: Shown = as_stored  # the exhibit's

    def frame(self) -> "pd.DataFrame":
        """The long table (COLUMNS) of the entries shown."""
        import pandas as pd

        rows = []
        for entry, stored in self:
            for record in records(entry, stored, self.view) if entry.is_shown else ():
                key = {"row": record.row or entry.row, "column": entry.column}
                key["protocol"] = record.protocol or entry.protocol
                rows.append(asdict(record) | key)
        return pd.DataFrame(rows, columns=pd.Index(COLUMNS))

    @property
    def rows(self) -> list[str]:
        """The rows of all entries, in their order."""
        return list(dict.fromkeys(entry.row for entry in self.entries))

    def times(self) -> "pd.DataFrame":
        """Processor seconds of one repetition's fit (TIMES) of each entry that has a result."""
        import pandas as pd

        fits = [(e, stored.result.cpu_seconds) for e, stored in self if e.is_shown]
        rows = [(e.row, e.column, e.protocol, seconds) for e, seconds in fits]
        return pd.DataFrame(rows, columns=pd.Index(TIMES))

    def get(self, row: str, column: str, protocol: str) -> Stored:
        """What is stored for one entry."""
        for entry, stored in self:
            if (entry.row, entry.column, entry.protocol) == (row, column, protocol):
                return stored
        raise InputError("entry", (row, column, protocol), "no such entry in this exhibit")

    def replications(self, row: str, column: str, protocol: str, statistic: str = "") -> Array:
        """(R,) a number of an entry, by default the one shown; none where it has no result."""
        for entry, stored in self:
            if (entry.row, entry.column, entry.protocol) == (row, column, protocol):
                values = stored.result.replications.get(statistic or entry.statistic, ())
                return np.array(values, dtype=float)
        return np.empty(0)

    def __iter__(self) -> Iterator[tuple[Entry, Stored]]:
        return zip(self.entries, self.stored, strict=True)


def mean_of(x: Array) -> tuple[float, float, int]:
    """(mean, its standard error, how many) of replications."""
    se = float(x.std(ddof=1)) / math.sqrt(len(x)) if len(x) > 1 else math.nan
    return float(x.mean()), se, len(x)


def records(entry: Entry, stored: Stored, view: Shown = as_stored) -> Sequence[Record]:
    """What an entry shows; a record without a value where its cell failed."""
    if stored.failed:
        return (Record(entry.statistic, math.nan, status=stored.status, repetitions=0),)
    return view(entry, stored.result)
