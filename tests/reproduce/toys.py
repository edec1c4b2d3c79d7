"""Exhibits that cost nothing. Their functions are nested, so that workers get them by value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from reproduce.spec import Cell, Exhibit, Result

ROWS = ("10", "20", "30")


def toy(
    log: Path | None = None,
    rows: tuple[str, ...] = ROWS,
    columns: tuple[str, ...] = ("A", "B"),
    trouble: Callable[[str, str], None] = lambda row, column: None,
    name: str = "toy",
    shows: tuple[str, ...] = (),
) -> Exhibit:
    """An exhibit that draws normal numbers and adds a line to `log` for each cell it computes."""

    def cells(smoke: bool) -> list[Cell]:
        settings = {"repetitions": 2 if smoke else 5}
        return [Cell(name, row, column, "measured", settings) for row in rows for column in columns]

    def compute(cell: Cell, device: str) -> Result:
        from reproduce import seeds
        from reproduce.spec import Result, summarise

        if log is not None:
            with log.open("a") as stream:
                stream.write(f"{cell.id}\n")
        trouble(cell.row, cell.column)
        values = [float(rng.normal()) for rng in seeds.generators(cell)]
        if cell.column == "B":
            values = [v + 1.0 for v in values]
        return Result(summarise("MAPE", values, ["ok"] * len(values)), {"MAPE": values}, {}, 0.0)

    def render(results: object, out: Path) -> list[Path]:
        from reproduce import layout

        frame = pd.DataFrame({("A", "ours"): ["1.00 (0.5)"]}, index=pd.Index(["10"], name="N"))
        return layout.write(frame, out, "toy", "A toy & its title", ["100 % a note"])

    return Exhibit(name, "A toy", cells, compute, render, shows=shows)


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its bytes."""
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def numbers(folder: Path) -> pd.DataFrame:
    """The toy's long CSV."""
    return pd.read_csv(folder / "toy.csv", dtype={"row": str})
