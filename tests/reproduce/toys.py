"""Exhibits that cost nothing, and what can go wrong in a cell."""

import math
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from gladius.validate import InputError
from reproduce.engine import seeds
from reproduce.engine.nouns import NOT_RUN, Cell, Entry, Exhibit, Record, Result, summarise
from reproduce.engine.view import View

ROWS = ("10", "20", "30")


def toy(
    log: Path | None = None,
    rows: tuple[str, ...] = ROWS,
    columns: tuple[str, ...] = ("A", "B"),
    trouble: Mapping[str, str] | None = None,
    until: Path | None = None,
    name: str = "toy",
) -> Exhibit:
    """An exhibit that draws normal numbers and adds a line to `log` for each cell it computes.

    Args:
        log: a file.
        rows, columns: of the table.
        trouble: row and column ("20A") -> what goes wrong there, see `compute`.
        until: a file; where it exists nothing goes wrong any more.
        name: of the exhibit.
    """

    def entries(smoke: bool) -> list[Entry]:
        return [
            Entry(row, column, "measured", cell(row, column, smoke))
            for row in rows
            for column in columns
        ]

    def cell(row: str, column: str, smoke: bool) -> Cell:
        settings = {"repetitions": 2 if smoke else 5, "seeds": "toy", "seeds_row": row}
        settings |= {"column": column, "log": str(log or ""), "until": str(until or "")}
        settings |= {"trouble": (trouble or {}).get(row + column, "")}
        return Cell("tests.reproduce.toys:compute", settings, f"{row}{column}")

    return Exhibit(name, "A toy", entries, render=render)


def compute(cell: Cell) -> Result:
    """Five numbers, or the trouble that the settings name."""
    log, until = cell.settings["log"], cell.settings["until"]
    if log:
        with Path(log).open("a") as stream:
            stream.write(f"{cell.label}\n")
    trouble = "" if until and Path(until).exists() else cell.settings["trouble"]
    if trouble == "raise":
        raise ZeroDivisionError("nothing\nto divide by")
    if trouble == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if trouble == "not run":
        return Result((Record("install it", math.nan, status=NOT_RUN, repetitions=0),))
    if trouble == "none":
        return None  # type: ignore[return-value]  # the mistake that is tested
    if trouble == "empty":
        return Result(())
    if trouble in ("nan", "inf"):
        return Result((Record("MAPE", math.nan if trouble == "nan" else math.inf),))
    if trouble == "sleep":
        time.sleep(60)
    values = [float(rng.normal()) for rng in seeds.generators(cell)]
    if cell.settings["column"] == "B":
        values = [v + 1.0 for v in values]
    return Result(summarise("MAPE", values, ["ok"] * len(values)), {"MAPE": values}, {}, 0.5)


def render(results: View, out: Path) -> None:
    """Something beside the CSV."""
    (out / "toy.tex").write_text("a table")


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its bytes."""
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def numbers(folder: Path, name: str = "toy") -> pd.DataFrame:
    """The toy's long CSV."""
    return pd.read_csv(folder / f"{name}.csv", dtype={"row": str})


# --- runs for a process of its own, which imports this module alone
def busy(seconds: float) -> tuple[str, float]:
    while time.process_time() < seconds:
        pass
    return "ok", 1.0


def hungry(gibibytes: float) -> tuple[str, float]:
    bytearray(int(gibibytes * 2**30))
    return "not_converged", 2.0


def choosy(rung: int, most: int) -> tuple[str, float]:
    if rung > most:
        raise InputError("rung", rung, "give less")
    return (["not_converged", "ok"][rung == 5] if rung else "diverged"), 3.0
