"""Printed numbers recomputed from the seeds of the public code, digit by digit.

Frequencies are those of the test split of the networks' data. The truth needs no data. Rust and
ML-IRL are estimated as the public code does (`cells.author_oracles`), from data of their own. In
Table 2 they are means and standard deviations over resamples of one data set, and digits are cut.

The CSV has our number to the printed digits: its row is `table/row of the table`. `paper.origins`
says where every other printed number comes from.
"""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from gladius.designs.bus import BusEngine
from proofs_checks.claims.printed_tables import cell
from reproduce.cells.author_oracles import ESTIMATED, ESTIMATORS, KNOWN, ML
from reproduce.cells.bus_exact import MEASURED
from reproduce.cells.public_data import UNBOUNDED
from reproduce.drawing import layout
from reproduce.drawing.notes import notes
from reproduce.engine.nouns import Array, Cell, Entry, Exhibit, Record, Result
from reproduce.engine.view import View
from reproduce.paper import published
from reproduce.paper.compare import read
from reproduce.paper.judge import number

NAME = "exact"
with (Path(__file__).parents[1] / "cells" / "public_seeds.csv").open(encoding="utf-8") as file:
    FOUND = {line["data"]: line for line in csv.DictReader(file)}
SEEDS = {name: int(line["seed"]) for name, line in FOUND.items()}  # what is drawn -> integer
FREQUENCY, RUST, ML_IRL = "Frequency", "Rust", "ML-IRL"
# table -> N and K of the networks' data whose test split its frequencies are
FREQUENCIES = {"table_a1": (50, 0), "table_a2": (50, 0)}
FREQUENCIES |= dict.fromkeys(("table_3", "table_a3", "table_a4"), (1000, 2))
TRUE = ("Ground Truth", "True reward")
# (row of Table 2, what the name of the resamples' seed ends with) -> cap of the data, resamples,
# and the estimators whose loops one run of the script ran
RESAMPLED = {("50", ""): (10, 100, {ML_IRL: KNOWN, RUST: ML})}
RESAMPLED |= {(row, ""): (UNBOUNDED, 20, {RUST: ML}) for row in ("250", "500", "2500", "5000")}
RESAMPLED["5000", f", {ML_IRL}"] = (UNBOUNDED, 20, {ML_IRL: KNOWN})
DIVIDED = ("5000", RUST)  # whose bracket is the deviation over the root of the resamples
ESTIMATED_P = ("table_3", "table_a3")  # whose ML-IRL has the estimated P
CUT_THETA = {"table_a1": 4}  # decimals of theta behind the printed r; elsewhere all
BRACKET = " (SE)"


def seeds_of(table: str, column: str, row: str = "") -> tuple[str, ...]:
    """The names in public_seeds.csv of the data behind a column, and of their resamples."""
    if column in TRUE:
        return ()
    if table == "table_2":
        last = next(end for (n, end), run in RESAMPLED.items() if n == row and column in run[2])
        return f"oracles of Table 2, N = {row}", f"resamples of Table 2, N = {row}{last}"
    oracles = "oracles of A1 and A2" if FREQUENCIES[table][0] == 50 else "oracles of 3, A3 and A4"
    return ("networks" if column == FREQUENCY else oracles,)


def entries(smoke: bool) -> list[Entry]:
    """One for each table and column; a smoke run is the full one, which takes seconds."""
    listed = []
    for table, (trajectories, dummies) in FREQUENCIES.items():
        data = {"trajectories": trajectories, "dummies": dummies}
        oracles = {"trajectories": trajectories, "seed": SEEDS[seeds_of(table, RUST)[0]]}
        fitted = Cell("author_oracles", oracles, f"oracles, N = {trajectories}")
        cells = {FREQUENCY: Cell("public_frequencies", data, f"test split, N = {trajectories}")}
        cells[TRUE[table == "table_3"]] = Cell("truth", label="true r and Q")
        cells |= {RUST: fitted, ML_IRL: fitted}
        listed += [Entry(table, column, MEASURED, cell) for column, cell in cells.items()]
    for (row, _), (cap, times, loops) in RESAMPLED.items():
        seed, resampling = (SEEDS[name] for name in seeds_of("table_2", next(iter(loops)), row))
        settings: dict[str, Any] = {"trajectories": int(row), "seed": seed, "max_mileage": cap}
        settings |= {"resampling_seed": resampling}
        settings |= {"repetitions": times, "loops": list(loops.values())}
        drawn = Cell("author_resamples", settings, f"resamples of Table 2, N = {row}")
        listed += [Entry(f"table_2/{row}", column, MEASURED, drawn) for column in loops]
    return listed


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """Our numbers in the places of the printed ones, to their digits."""
    (table, _, row), column = entry.row.partition("/"), entry.column
    if row:
        errors = np.array(result.replications[KNOWN if column == ML_IRL else ML])
        divisor = math.sqrt(len(errors)) if (row, column) == DIVIDED else 1.0
        numbers = {"MAPE": errors.mean(), f"MAPE{BRACKET}": errors.std(ddof=1) / divisor}
        return [
            Record(name, cut(float(x), 2), repetitions=len(errors), row=entry.row)
            for name, x in numbers.items()
        ]
    frame = published.load(table).query("column == @column")
    records = []
    for row, statistic in frame[["row", "statistic"]].itertuples(index=False):
        symbol, _, action = statistic.partition(" a")
        value = _grid(table, column, symbol, result)[int(row) - 1, int(action)]
        records.append(Record(statistic, float(f"{value:.3f}"), row=f"{table}/{row}"))
    return records


def _grid(table: str, column: str, symbol: str, result: Result) -> Array:
    """(mileages, A) of the frequency, r or Q that a column of a table has."""
    if column == FREQUENCY:
        return result.arrays["test"]
    if "theta" not in result.arrays:
        true: Array = result.arrays["reward" if symbol == "r" else "q"][0]
        return true
    name = ML if column == RUST else ESTIMATED if table in ESTIMATED_P else KNOWN
    theta = result.arrays["theta"][ESTIMATORS.index(name)].tolist()
    if symbol == "r" and table in CUT_THETA:
        theta = [cut(x, CUT_THETA[table]) for x in theta]
    mdp = BusEngine(theta=(theta[0], theta[1])).mdp
    grid: Array = mdp.reward if symbol == "r" else mdp.solution.q
    return grid


def cut(value: float, decimals: int) -> float:
    """A positive number with the digits after these decimals left out."""
    scale = 10**decimals
    return float(math.floor(value * scale) / scale)


def compared(folder: Path) -> pd.DataFrame:
    """The lines of the CSV with `printed`, its text in the paper, and `is_equal`."""
    return _compared(read(NAME, folder))


def _compared(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame[frame["value"].notna()]  # the others failed
    keys = [row.partition("/")[::2] for row in frame["row"]]
    texts = []
    for (table, row), column, name in zip(keys, frame["column"], frame["statistic"], strict=True):
        which: Literal["value", "se"] = "se" if name.endswith(BRACKET) else "value"
        texts.append(cell(table, row, column, name.removesuffix(BRACKET), which).digits)
    equal = [float(text) == value for text, value in zip(texts, frame["value"], strict=True)]
    return frame.assign(printed=texts, is_equal=equal)


def render(results: View, out: Path) -> None:
    """A line for each printed line by mileage, and the seeds with what each gives."""
    frame = _compared(results.frame())
    if frame.empty:  # every cell failed
        return
    body: dict[tuple[str, str, str], dict[str, str]] = {}
    for line in frame.to_dict("records"):
        table, _, row = line["row"].partition("/")
        text = line["printed"]
        if not line["is_equal"]:
            text += f", ours {number(line['value'])}"
        body.setdefault((table, line["column"], line["statistic"]), {})[row] = text
    lines = pd.DataFrame.from_dict(body, orient="index").fillna("")
    lines.index = pd.MultiIndex.from_tuples(body, names=["table", "column", "number"])
    layout.write(lines, out, NAME, EXHIBIT.title, notes(NAME, **counts(frame)))
    layout.write(_seeds(frame), out, f"{NAME}_seeds", "Seeds behind printed numbers")


def _seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """A line for each seed: the integer, the printed numbers that it gives, how it was found."""
    keys = [row.partition("/")[::2] for row in frame["row"]]
    pairs = zip(keys, frame["column"], strict=True)
    names = [seeds_of(table, column, row) for (table, row), column in pairs]
    equal = []
    for name in SEEDS:
        used = frame["is_equal"][[name in behind for behind in names]]
        equal.append(f"{used.sum()} of {len(used)}")
    columns = {
        "seed": list(map(str, SEEDS.values())),
        "equal": equal,
        "found": [FOUND[name]["found"] for name in SEEDS],
    }
    return pd.DataFrame(columns, index=pd.Index(SEEDS, name="data"))


def counts(frame: pd.DataFrame) -> dict[str, Any]:
    """How many printed numbers are equal: by mileage, in Table 2, and of those that were used."""
    in_2 = frame["row"].str.startswith("table_2/")
    equal = frame["is_equal"]
    return {
        "by_mileage": f"{equal[~in_2].sum()} of {(~in_2).sum()}",
        "in_table_2": f"{equal[in_2].sum()} of {in_2.sum()}",
    }


def verdict(folder: Path) -> str:
    """The number of equal cells."""
    found = counts(compared(folder))
    return "Equal to the last digit: {by_mileage} by mileage, {in_table_2} of Table 2".format(
        **found
    )


EXHIBIT = Exhibit(
    NAME,
    "Printed numbers from the seeds of the public code, digit by digit",
    entries,
    render=render,
    view=view,
    verdict=verdict,
    tolerance=0.0,
)
