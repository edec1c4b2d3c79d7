"""The four bounds of gladius.efficiency as cells: how they are named, stored and found again."""

from __future__ import annotations

import math

from gladius.efficiency import Bounds
from reproduce.results import Results
from reproduce.spec import Record, Result

COLUMN, PROTOCOL = "bound", "measured"
FIELDS = {  # numeral -> attribute of gladius.efficiency.Bounds
    "i": "known_p_both",
    "ii": "known_p_slope",
    "iii": "tabular",
    "iv": "affine",
}


def protocol(numeral: str) -> str:
    """The protocol of a bound's line in the CSV."""
    return f"{PROTOCOL} ({numeral})"


def result(at: Bounds) -> Result:
    """One record for each bound that holds at the truth; exact, so without a standard error."""
    values = {numeral: float(getattr(at, field)[0]) for numeral, field in FIELDS.items()}
    return Result(
        tuple(
            Record("MAPE", value, repetitions=0, protocol=protocol(numeral))
            for numeral, value in values.items()
            if not math.isnan(value)  # the truth is not in the class
        )
    )


def value(results: Results, row: str, numeral: str) -> float:
    """A bound in a row; NaN where it was not computed or the truth is outside its class."""
    stored = results.get(row, COLUMN, PROTOCOL)
    lines = () if stored is None else stored.result.records
    return next((r.value for r in lines if r.protocol == protocol(numeral)), math.nan)
