"""Targets that a confidence interval decides: ratios to a bound, and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gladius.checks import InputError
from reproduce.comparison import CRITICAL, number
from reproduce.exhibits import _bounds
from reproduce.results import COLUMNS, Results
from reproduce.spec import Array

YES, NO, UNDECIDED = "yes", "no", "undecided"


def verdict(value: float, se: float, low: float = -math.inf, high: float = math.inf) -> str:
    """Whether the 95 % interval of a number is in [low, high]: yes, no (all outside), undecided."""
    left, right = value - CRITICAL * se, value + CRITICAL * se
    if low <= left and right <= high:
        return YES
    return NO if right < low or left > high else UNDECIDED  # nan compares false: undecided


@dataclass(frozen=True)
class Target:
    """A statement about a number: that it is between `low` and `high`.

    Attributes:
        ours: (column, protocol) that it is about.
        other: a bound's numeral, for the ratio of ours to it; or a (column, protocol), for ours
            minus it on equal data sets.
        low, high: the ends, one of which may be infinite.
        header: two lines over its column.
    """

    ours: tuple[str, str]
    other: str | tuple[str, str]
    low: float
    high: float
    header: tuple[str, str]

    def __post_init__(self) -> None:
        if isinstance(self.other, str) and self.other not in _bounds.FIELDS:
            raise InputError("other", self.other, f"choose one of {', '.join(_bounds.FIELDS)}")
        if not self.low < self.high:
            raise InputError("low", self.low, f"give less than {self.high}")

    @property
    def statistic(self) -> str:
        """What the number is called."""
        if isinstance(self.other, str):
            return f"ratio to bound ({self.other})"
        return f"paired difference to {self.other[0]}"


@dataclass(frozen=True)
class Check:
    """A target in a row.

    Attributes:
        target: what is asked.
        value, se: the number and its standard error.
        repetitions: data sets it rests on.
        limit: upper end of the 95 % interval of a difference, in per cent of the other's MAPE.
    """

    target: Target
    value: float
    se: float
    repetitions: int
    limit: float = math.nan

    @property
    def verdict(self) -> str:
        return verdict(self.value, self.se, self.target.low, self.target.high)

    @property
    def text(self) -> str:
        """For a table: number (standard error) verdict."""
        unsure = self.verdict == UNDECIDED and not math.isnan(self.limit)
        limit = f" (< {self.limit:+.1f} %)" if unsure else ""
        return f"{number(self.value)} ({number(self.se)}) {self.verdict}{limit}"


def check(results: Results, row: str, target: Target) -> Check | None:
    """The target in a row; None where a cell that it needs does not exist or has no result."""
    ours = _errors(results, row, target.ours)
    if ours is None:
        return None
    if isinstance(target.other, str):
        bound = _bounds.value(results, row, target.other)
        return None if math.isnan(bound) else Check(target, *_mean(ours / bound))
    other = _errors(results, row, target.other)
    if other is None:
        return None
    shared = min(len(ours), len(other))  # seeds are keyed by repetition: the first are the same
    mean, se, times = _mean(ours[:shared] - other[:shared])
    limit = 100.0 * (mean + CRITICAL * se) / float(other[:shared].mean())
    return Check(target, mean, se, times, limit)


def _errors(results: Results, row: str, which: tuple[str, str]) -> Array | None:
    known = {(c.row, c.column, c.protocol) for c in results.cells}
    stored = results.get(row, *which) if (row, *which) in known else None
    if stored is None or "MAPE" not in stored.result.replications:
        return None
    return np.asarray(stored.result.replications["MAPE"])


def _mean(x: Array) -> tuple[float, float, int]:
    se = float(x.std(ddof=1)) / math.sqrt(len(x)) if len(x) > 1 else math.nan
    return float(x.mean()), se, len(x)


def frame(found: Sequence[tuple[str, Check]]) -> pd.DataFrame:
    """(row, check) pairs as a long table: the columns of every CSV, then target and verdict."""
    lines = []
    for row, one in found:
        label = (row, *one.target.ours, one.target.statistic)
        numbers = (one.value, one.se, one.repetitions, "ok", math.nan)
        lines.append((*label, *numbers, one.target.low, one.target.high, one.verdict, one.limit))
    names = [*COLUMNS, "low", "high", "verdict", "upper limit, per cent"]
    return pd.DataFrame(lines, columns=pd.Index(names))
