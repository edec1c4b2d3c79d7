"""The numbers the paper prints, with their rounding: a printed number is an interval.

Read from paper_tables/published, which a test compares with the LaTeX. A number printed with three
decimals stands for every value within half a unit of the third, exactly (fractions).
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from gladius.checks import Array, InputError

PUBLISHED = Path(__file__).parents[1] / "paper_tables" / "published"
MILEAGES = range(1, 11)
ACTIONS = range(2)
TABLES = {50: ("table_a1", "table_a2"), 1000: ("table_a3", "table_a4")}  # N -> of r, of Q
ORACLES = ("Rust", "ML-IRL")


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
    def interval(self) -> tuple[Fraction, Fraction]:
        """The least and the largest value that rounds to these digits."""
        return self.value - self.unit / 2, self.value + self.unit / 2

    def moved(self, units: int = 1) -> "Printed":
        """The same number with its last digit changed."""
        last = Decimal(self.unit.numerator) / self.unit.denominator
        return Printed(str(Decimal(self.digits) + units * last))


@cache
def _table(name: str) -> dict[tuple[str, str, str], tuple[str, str]]:
    frame = pd.read_csv(PUBLISHED / f"{name}.csv", dtype=str, keep_default_na=False)
    keys = zip(frame["row"], frame["column"], frame["statistic"], strict=True)
    return dict(zip(keys, zip(frame["value"], frame["se"], strict=True), strict=True))


def rows(table: str) -> tuple[str, ...]:
    """The labels of a table's rows, in the printed order."""
    return tuple(dict.fromkeys(row for row, _, _ in _table(table)))


def cell(
    table: str, row: object, column: str, statistic: str, part: Literal["value", "se"] = "value"
) -> Printed:
    """One printed number, or the one in parentheses beside it (`part="se"`).

    Raises:
        InputError: the table has no number there.
    """
    value, error = _table(table).get((str(row), column, statistic), ("", ""))
    digits = error if part == "se" else value
    if digits in ("", "N/A"):
        raise InputError(f"{table}: cell", (row, column, statistic), "no number is printed there")
    return Printed(digits)


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
