"""The paper's own numbers, cell by cell, as printed; and which line of ours each is held against.

Each exhibit is one long CSV in ``paper_tables/published`` with the columns ``row, column,
protocol, statistic, value, se``; ``protocol`` is always ``published``. Values and standard errors
stay strings, because the printed digits (``-1.000``, ``3.60``) say how far a comparison may go.
"""

import math
from pathlib import Path

import pandas as pd

from gladius.checks import InputError

PUBLISHED = Path(__file__).parents[1] / "paper_tables" / "published"
COLUMNS = ("row", "column", "protocol", "statistic", "value", "se")
MISSING = "N/A"
EPISODES = 100  # that each mean return of Table 4 is of
DEVIATION = " sd"  # a statistic's standard deviation, in a row of its own
NUMBER = r"-?\d+(\.\d+)?"
# Data sets behind a printed mean: the notes under Table 2 and Figure 1. An oracle's repetitions are
# resamples of one data set, so that its number is one draw, whatever their number.
TABLE_2_REPETITIONS = {"Rust": 1, "ML-IRL": 1}
TABLE_2_REPETITIONS |= dict.fromkeys(("GLADIUS", "SAmQ", "IQ-learn", "BC"), 20)
FIGURE_1_REPETITIONS = dict.fromkeys(("GLADIUS", "SAmQ", "IQ-learn", "BC"), 10)
TABLE_4_REPETITIONS = dict.fromkeys(("Gladius", "IQ-learn", "BC"), 1)  # trainings

# Exhibit -> column -> protocol of its faithful counterpart: the line of ours that does what is
# known to have made the printed numbers. Every other line of that column is a variant: compared,
# not counted. GLADIUS is the first author's public code at the epoch that it reports, with its
# uses of the truth; the oracles are as the paper describes them; SAmQ has its authors' clusters;
# IQ-learn and BC are networks, for which the paper gives no settings.
BY_MILEAGE = dict.fromkeys(("Frequency", "True reward", "Ground Truth"), "measured")
BY_MILEAGE |= {"Rust": "fresh", "ML-IRL": "fresh", "GLADIUS": "author oracle"}
COUNTERPARTS: dict[str, dict[str, str]] = {
    "table_2": {
        "Rust": "fresh",
        "ML-IRL": "fresh",
        "GLADIUS": "author oracle",
        "SAmQ": "leak_free ward 5",
        "IQ-learn": "leak_free",
        "BC": "leak_free network",
    },
    "figure_1": {
        "GLADIUS": "author full",  # every epoch of its code: not run
        **dict.fromkeys(("SAmQ", "IQ-learn", "BC"), "leak_free"),
    },
    **dict.fromkeys(("table_3", "table_a1", "table_a2", "table_a3", "table_a4"), BY_MILEAGE),
    "table_4": dict.fromkeys(TABLE_4_REPETITIONS, "leak_free"),
}
# (column, statistic) that are inputs of the method or of the world, and no estimates
GIVEN = {("True reward", "r a0"), ("Ground Truth", "r a0"), ("Ground Truth", "r a1")}
GIVEN |= {("GLADIUS", "r a1")}  # the anchor's
# Exhibit -> (exhibit, beginning of its rows) where the same lines stand for more data sets
LARGER = {"table_2": ("accuracy", "affine/")}


def names() -> tuple[str, ...]:
    """Exhibits that have published values, in alphabetical order."""
    return tuple(sorted(path.stem for path in PUBLISHED.glob("*.csv")))


def load(exhibit: str) -> pd.DataFrame:
    """The published values of one exhibit of the paper, in the printed order.

    ``exhibit`` is a name such as ``table_2``. The result has the columns of the file,
    all strings as printed (an absent standard error is ``""``), and ``number``: the value as a
    float, NaN where the paper prints ``N/A`` or, in ``table_1``, a tick. Rewards and Q-values are
    in utils; MAPE and optimality in percent; frequencies are counts of state-action pairs.

    Raises:
        InputError: no such exhibit, or a file that is not in the form above.
    """
    if exhibit not in names():
        raise InputError("exhibit", exhibit, f"use one of: {', '.join(names())}")
    frame = pd.read_csv(PUBLISHED / f"{exhibit}.csv", dtype=str, keep_default_na=False)
    if tuple(frame.columns) != COLUMNS:
        hint = f"make it {','.join(COLUMNS)}"
        raise InputError(f"header of {exhibit}.csv", ",".join(frame.columns), hint)
    printed = frame["value"].mask(frame["statistic"].eq("tick") | frame["value"].eq(MISSING))
    unreadable = printed[~printed.str.fullmatch(NUMBER, na=True)]
    if len(unreadable):
        hint = f"transcribe the printed decimal number, or {MISSING}"
        raise InputError(f"value in {exhibit}.csv", unreadable.iloc[0], hint)
    return frame.assign(number=pd.to_numeric(printed))


def with_errors(frame: pd.DataFrame) -> pd.DataFrame:
    """The values, their `se` from the standard deviation over EPISODES where that is printed.

    `spread` is what the paper has in brackets, as printed.
    """
    is_spread = frame["statistic"].str.endswith(DEVIATION)
    spreads = frame[is_spread].assign(
        statistic=frame["statistic"].str.removesuffix(DEVIATION),
        se=(frame["number"] / math.sqrt(EPISODES)).map("{:g}".format),
        spread=frame["value"],
    )
    known = frame.merge(spreads, "left", ["row", "column", "statistic"], suffixes=("", "_of_mean"))
    se, printed = (known[name].fillna(frame["se"]) for name in ("se_of_mean", "spread"))
    return frame.assign(se=se.to_numpy(), spread=printed.to_numpy())
