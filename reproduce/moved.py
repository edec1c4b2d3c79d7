"""Our numbers in two folders: of two machines, or before and after a change.

A number has moved where it changed by more than its exhibit's tolerance (relative, and absolute
below 1), or where the status or the line itself is another. Counts of a fit's work are no results
and may be others.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gladius.checks import InputError
from reproduce import compare, published
from reproduce.fits import RUNS
from reproduce.spec import Exhibit

ROUNDED = 1e-9  # relative: a CSV has ten digits
ABSENT = "absent"  # status of a line that one folder lacks


def beside(before: pd.DataFrame, after: pd.DataFrame, tolerance: float) -> pd.DataFrame:
    """The lines of both long tables by place, with `change` and whether the number `moved`.

    `change` is relative, and absolute below 1; infinite where only one is a number.
    """
    names = (" before", " after")
    both = before.merge(after, "outer", compare.PLACE, suffixes=names, validate="1:1")
    sides = ["status before", "status after"]
    both[sides] = both[sides].fillna(ABSENT)
    was, now = (both[f"value {when}"].to_numpy(dtype=float) for when in ("before", "after"))
    with np.errstate(invalid="ignore"):
        change = np.where(was == now, 0.0, np.abs(now - was) / np.maximum(1, np.abs(was)))
    change[np.isnan(change)] = math.inf
    change[np.isnan(was) & np.isnan(now)] = 0.0
    moved = (change > max(tolerance, ROUNDED)) | both[sides[0]].ne(both[sides[1]])
    return both.assign(change=change, moved=moved)


def results(exhibit: Exhibit, folder: Path) -> pd.DataFrame:
    """The long table without the counts of work."""
    frame = compare.read(exhibit.name, folder)
    if frame.duplicated(compare.PLACE).any():
        hint = f"{exhibit.name}.csv has two lines of one place: make it by the code of this tree"
        raise InputError("folder", str(folder), hint)
    return frame[~frame["statistic"].isin(RUNS)]


def compared(
    exhibits: Sequence[Exhibit], before: Path, after: Path
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A line for each exhibit that is in both folders, and one for each number that moved.

    Told of an exhibit are its numbers, how many moved, the largest change, the largest of a number
    that moved in its standard errors of before, how many have another status, and how many verdicts
    on printed numbers are others.

    Raises:
        InputError: no exhibit is in both, or a CSV has two lines of one place.
    """
    lines, changes = [], []
    for exhibit in exhibits:
        if not all((folder / f"{exhibit.name}.csv").is_file() for folder in (before, after)):
            continue
        was, now = (results(exhibit, folder) for folder in (before, after))
        both = beside(was, now, exhibit.tolerance)
        moved = both[both["moved"]]
        changes.append(moved.assign(exhibit=exhibit.name))
        gaps = (moved["value after"] - moved["value before"]).abs() / moved["se before"]
        verdicts = ""
        if exhibit.name in published.COUNTERPARTS:
            first, second = (compare.verdicts([exhibit], folder) for folder in (before, after))
            verdicts = str(int(first["verdict"].ne(second["verdict"]).sum()))
        others = int(both["status before"].ne(both["status after"]).sum())
        lines.append(
            {
                "exhibit": exhibit.name,
                "tolerance": exhibit.tolerance,
                "numbers": len(both),
                "moved": len(moved),
                "largest change": both["change"].replace(math.inf, math.nan).max(),
                "in standard errors": gaps.replace(math.inf, math.nan).max(),
                "other status": others,
                "other verdict": verdicts,
            }
        )
    if not lines:
        raise InputError("folder", str(after), f"no exhibit is there and in {before}")
    return pd.DataFrame(lines), pd.concat(changes, ignore_index=True)
