"""The numbers the paper prints, with their rounding: a printed number is an interval.

Read from paper_tables/published, which a test compares with the LaTeX. A number printed with three
decimals stands for every value within half a unit of the third, exactly (fractions).
"""

from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from gladius.validate import Array, InputError
from proofs_checks.oracle import tables as oracle

PUBLISHED = Path(__file__).parents[2] / "paper_tables" / "published"
COLUMNS = ("row", "column", "protocol", "statistic", "value", "se")
MISSING = "N/A"
MILEAGES = range(1, 11)
ACTIONS = range(2)
TABLES = {50: ("table_a1", "table_a2"), 1000: ("table_a3", "table_a4")}  # N -> of r, of Q
ORACLES = ("Rust", "ML-IRL")
HALF = Fraction(1, 2000)  # half a unit of the third decimal
EXACT = "exact fractions; the half unit of the last printed digit is part of the numbers"

Interval = tuple[Fraction, Fraction]
# One method's column in the tables for 50 or 1,000 trajectories.
Method = namedtuple("Method", "trajectories name")


@dataclass(frozen=True)
class Printed:
    """A number as printed."""

    digits: str

    @property
    def value(self) -> Fraction:
        """The number that the digits say."""
        return Fraction(self.digits)

    @property
    def unit(self) -> Fraction:
        """One in the last digit."""
        exponent = Decimal(self.digits).as_tuple().exponent
        if not isinstance(exponent, int):
            raise InputError("digits", self.digits, "give a decimal number")
        return Fraction(10) ** exponent

    @property
    def interval(self) -> Interval:
        """The least and the largest value that rounds to these digits."""
        return self.value - self.unit / 2, self.value + self.unit / 2

    def changed(self, units: int = 1) -> "Printed":
        """The same number with its last digit changed."""
        last = Decimal(self.unit.numerator) / self.unit.denominator
        return Printed(str(Decimal(self.digits) + units * last))


def names() -> tuple[str, ...]:
    """The tables that have printed values, in alphabetical order."""
    return tuple(sorted(path.stem for path in PUBLISHED.glob("*.csv")))


@cache
def load(table: str) -> pd.DataFrame:
    """The columns COLUMNS of a table, all strings as printed, in the printed order.

    Raises:
        InputError: no such table, or other columns.
    """
    if table not in names():
        raise InputError("table", table, f"use one of: {', '.join(names())}")
    frame = pd.read_csv(PUBLISHED / f"{table}.csv", dtype=str, keep_default_na=False)
    if tuple(frame.columns) != COLUMNS:
        raise InputError(f"header of {table}.csv", list(frame), f"make it {','.join(COLUMNS)}")
    return frame


def rows(table: str) -> tuple[str, ...]:
    """The labels of a table's rows, in the printed order."""
    return tuple(load(table)["row"].unique())


@cache
def _cells(table: str) -> dict[tuple[str, str, str], tuple[str, str]]:
    frame = load(table)
    keys = zip(frame["row"], frame["column"], frame["statistic"], strict=True)
    return dict(zip(keys, zip(frame["value"], frame["se"], strict=True), strict=True))


def cell(
    table: str, row: object, column: str, statistic: str, which: Literal["value", "se"] = "value"
) -> Printed:
    """One printed number, or the one in parentheses beside it (`which="se"`).

    Raises:
        InputError: the table has no number there.
    """
    value, error = _cells(table).get((str(row), column, statistic), ("", ""))
    digits = error if which == "se" else value
    if digits in ("", MISSING):
        raise InputError(f"{table}: cell", (row, column, statistic), "no number is printed there")
    return Printed(digits)


def printed(table: str, row: object, column: str, statistic: str = "MAPE") -> bool:
    """Whether the table has a number there."""
    return _cells(table).get((str(row), column, statistic), ("", ""))[0] not in ("", MISSING)


@cache
def grid(trajectories: int, method: str, symbol: str) -> tuple[tuple[Printed, ...], ...]:
    """What Tables A1 and A2 (50 trajectories) or A3 and A4 (1,000) print, at mileages 1 to 10.

    `method` is a column, "Ground Truth", "ML-IRL", "Rust" or "GLADIUS"; `symbol` is r or Q. Each
    row has the actions a0, a1.
    """
    table = TABLES[trajectories][symbol == "Q"]
    return tuple(tuple(cell(table, x, method, f"{symbol} a{a}") for a in ACTIONS) for x in MILEAGES)


def values(trajectories: int, method: str, symbol: str) -> Array:
    """(10, 2) the same numbers as floats."""
    return np.array([[float(c.value) for c in row] for row in grid(trajectories, method, symbol)])


@cache
def frequencies(trajectories: int) -> tuple[tuple[int, ...], ...]:
    """Counts of (mileage, action), rows of mileages 1 to 10."""
    counts = grid(trajectories, "Frequency", "frequency")
    return tuple(tuple(int(count.value) for count in row) for row in counts)


def implied_mape(
    method: Method,
    mileages: range = MILEAGES,
    actions: range = ACTIONS,
    weighted: bool = True,
) -> Interval:
    """MAPE of the printed r at these mileages and actions, weighted with the frequencies."""
    estimates, truths = grid(*method, "r"), grid(method.trajectories, "Ground Truth", "r")
    cells = [(x - 1, a) for x in mileages for a in actions]
    counts = frequencies(method.trajectories)
    return oracle.mape(
        [estimates[i][a].interval for i, a in cells],
        [truths[i][a].value for i, a in cells],
        [counts[i][a] if weighted else 1 for i, a in cells],
    )


def reported(method: Method) -> tuple[Printed, Printed]:
    """MAPE and (SE) of Table 2."""
    where = ("table_2", method.trajectories, method.name, "MAPE")
    return cell(*where), cell(*where, which="se")
