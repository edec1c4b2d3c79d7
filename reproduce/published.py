"""The paper's own numbers, cell by cell, as printed.

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
# the note under the paper's Table 2
TABLE_2_REPETITIONS = {"Rust": 100, "ML-IRL": 100}
TABLE_2_REPETITIONS |= dict.fromkeys(("GLADIUS", "SAmQ", "IQ-learn", "BC"), 20)


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
    """The values, their `se` from the standard deviation over EPISODES where that is printed."""
    is_spread = frame["statistic"].str.endswith(DEVIATION)
    spread = frame[is_spread].assign(
        statistic=frame["statistic"].str.removesuffix(DEVIATION),
        se=(frame["number"] / math.sqrt(EPISODES)).map("{:g}".format),
    )
    known = frame.merge(spread, "left", ["row", "column", "statistic"], suffixes=("", "_of_mean"))
    return frame.assign(se=known["se_of_mean"].fillna(frame["se"]).to_numpy())
