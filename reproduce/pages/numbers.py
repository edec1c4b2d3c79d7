"""Numbers of the results, by exhibit, row, column, protocol and statistic.

One that is missing, not finite or not unique is an InputError with the command that makes it.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from gladius.validate import InputError
from proofs_checks.claims.claims import OURS
from reproduce import exhibits
from reproduce.engine.nouns import LONG
from reproduce.engine.output import DIGITS, read_manifest
from reproduce.engine.progress import duration
from reproduce.paper import compare, published, scorecard
from reproduce.paper.judge import number
from reproduce.paper.verdicts import TESTED, Comparison

Series = Mapping[str, float]  # row -> number


@dataclass(frozen=True)
class Numbers:
    """The results of one folder, as the templates ask for them."""

    folder: Path

    def lines(self, exhibit: str, *key: str) -> pd.DataFrame:
        """The lines of an exhibit's long CSV by patterns: row, column, protocol, statistic.

        In a pattern `*` stands for any characters; without one for the statistic it is MAPE.
        """
        frame = compare.read(exhibit, self.folder)
        for name, pattern in zip(compare.KEY, (*key, "MAPE")[:4], strict=True):
            of_pattern = [fnmatchcase(text, pattern) for text in frame[name]]
            frame = frame[np.array(of_pattern, dtype=bool)]
        if frame.empty:
            hint = f"no number there: python -m reproduce run {exhibit}"
            raise InputError("numbers", "/".join(key), hint)
        return frame

    def line(self, exhibit: str, *key: str) -> pd.Series:
        """The one line of a key."""
        frame = self.lines(exhibit, *key)
        if len(frame) != 1 or not math.isfinite(frame["value"].iloc[0]):
            hint = f"no single number there: python -m reproduce run {exhibit}"
            raise InputError("number", "/".join(key), hint)
        return frame.iloc[0]

    def value(self, *key: str) -> float:
        """The number of one line: exhibit, row, column, protocol, statistic."""
        return float(self.line(*key)["value"])

    def with_error(self, *key: str) -> str:
        """`mean (standard error, number of data sets)` of one line."""
        line = self.line(*key)
        texts = (number(line["value"]), number(line["se"]))
        return f"{' ('.join(texts)}, {line['repetitions']:,.0f} data sets)"

    def series(self, exhibit: str, *key: str) -> dict[str, float]:
        """Row, without what precedes the pattern's `*` -> number."""
        frame = self.lines(exhibit, *key)
        rows = frame["row"].str.removeprefix(key[0].partition("*")[0])
        return dict(zip(rows, frame["value"].astype(float), strict=True))

    def claims(self) -> pd.DataFrame:
        """The ledger's lines on the paper's claims, without those of our corrections."""
        ledger = pd.read_csv(self.folder / "claims.csv", dtype=str).fillna("")
        return ledger[~ledger["id"].str.startswith(OURS)]

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """All printed numbers with their verdicts, as in `scorecard.verdicts`."""
        loaded = [exhibits.load(name) for name in published.COUNTERPARTS]
        return scorecard.verdicts(loaded, self.folder)

    def agreed(self, exhibit: str, rule: str = "") -> str:
        """`k of n`: how many printed numbers of a rule agree; how many tests cannot tell."""
        words = self.verdicts.query("exhibit == @exhibit and rule == @rule")["verdict"]
        weak = words.eq(Comparison.UNCLEAR).sum()
        agreeing = f"{words.eq(Comparison.AGREES).sum()} of {words.isin(TESTED).sum()}"
        return f"{agreeing} ({weak} cannot tell)" if weak else agreeing

    def time(self, names: Iterable[str], is_long: bool = False) -> str:
        """Processor time of these exhibits together, without or with the cells of `run --long`."""
        seconds: dict[str, float] = {}
        for name in names:
            cells = {entry.cell for entry in exhibits.load(name).entries(False)}
            late = {c.digest[:DIGITS] for c in cells if c.settings.get(LONG) and not is_long}
            by_cell = read_manifest(self.folder, name).get("costs", {})
            seconds |= {cell: time for cell, time in by_cell.items() if cell not in late}
        return duration(sum(seconds.values()))

    def agreeing(self, exhibit: str, protocol: str, word: str = Comparison.AGREES) -> str:
        """`k of n`: how many printed MAPEs agree with the lines of a protocol, or differ."""
        frame = compare.compare(exhibits.load(exhibit), self.folder)
        verdicts = frame.loc[frame["protocol"].eq(protocol) & frame["statistic"].eq("MAPE")]
        return f"{verdicts['verdict'].eq(word).sum()} of {len(verdicts)}"


def printed(exhibit: str, column: str, statistic: str = "MAPE", of: str = "number") -> Series:
    """Row -> the paper's number, or with `of="se"` the one in brackets."""
    frame = published.load(exhibit)
    frame = frame[frame["column"].eq(column) & frame["statistic"].eq(statistic)]
    values = pd.to_numeric(frame[of], errors="coerce")
    return {row: x for row, x in zip(frame["row"], values, strict=True) if not math.isnan(x)}


def ratios(above: Series, below: Series) -> dict[str, float]:
    """The ratios of two series in the rows of both."""
    return {row: above[row] / below[row] for row in above if row in below}


def span(values: Iterable[float], digits: str = ".2f") -> str:
    """`least to largest`; one number if they are the same."""
    numbers = list(values)
    texts = (format(least_or_largest(numbers), digits) for least_or_largest in (min, max))
    return " to ".join(dict.fromkeys(texts))
