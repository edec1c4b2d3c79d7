"""An exhibit's entries, computed in this process and written as a run would write them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from reproduce import exhibits
from reproduce.results import Results
from reproduce.spec import Cell, Entry, Exhibit, Result
from reproduce.store import Stored


def stored(result: Result, status: str = "ok") -> Stored:
    """A result as the store returns it."""
    return Stored(result, status, "", {"seed": {}, "cpu_seconds": 0})


FAILED = stored(Result(()), "failed: a reason")


@cache
def computed(cell: Cell) -> Stored:
    """A cell, computed once."""
    return stored(cell.function()(cell))


def results_of(exhibit: Exhibit, entries: Sequence[Entry] | None = None) -> Results:
    """The smoke entries, or these, computed."""
    listed = exhibit.checked_entries(True) if entries is None else entries
    return Results(listed, [computed(e.cell) for e in listed], True, exhibit.view)


def failed(exhibit: Exhibit) -> Results:
    """Its smoke entries, every cell failed."""
    listed = exhibit.checked_entries(True)
    return Results(listed, [FAILED for _ in listed], True, exhibit.view)


def entry_of(name: str, row: str, column: str, protocol: str = "", smoke: bool = True) -> Entry:
    """One entry of an exhibit; without a protocol the first of the column."""
    for entry in exhibits.load(name).checked_entries(smoke):
        if (entry.row, entry.column) == (row, column) and protocol in ("", entry.protocol):
            return entry
    raise AssertionError(f"no entry {row}, {column}, {protocol} in {name}")


def resized(entry: Entry, **settings: Any) -> Entry:
    """The entry with other settings of its cell."""
    return replace(entry, cell=replace(entry.cell, settings={**entry.cell.settings, **settings}))


def written(exhibit: Exhibit, results: Results, out: Path) -> pd.DataFrame:
    """Write the CSV and what the exhibit draws; all of it is there. The CSV."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{exhibit.name}.csv"
    results.frame().to_csv(path, index=False, float_format="%.10g")
    exhibit.render(results, out)
    assert all(file.stat().st_size > 0 for file in out.iterdir() if file.is_file())
    return pd.read_csv(path, dtype={"row": str})
