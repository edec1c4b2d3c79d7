"""Two folders of results compared number by number: two machines, or before and after a change.

A number differs if it changed by more than its exhibit's tolerance (relative, and absolute below
1), or if its status changed, or if only one folder has it. Counts of a fit's work (`fits.RUNS`) are
not results and may differ.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gladius.validate import InputError
from reproduce.cells.fits import RUNS
from reproduce.engine.nouns import Exhibit
from reproduce.paper import compare

ROUNDED = 1e-9  # relative: a CSV has ten digits
ABSENT = "absent"  # status of a line that one folder lacks


def differences(before: pd.DataFrame, after: pd.DataFrame, tolerance: float) -> pd.DataFrame:
    """The lines of both long tables, with their `change` and whether they `differ`.

    `change` is relative, and absolute below 1; infinite where only one is a number.
    """
    suffixes = (" before", " after")
    both = before.merge(after, "outer", compare.KEY, suffixes=suffixes, validate="1:1")
    sides = ["status before", "status after"]
    both[sides] = both[sides].fillna(ABSENT)
    old, new = (both[f"value{suffix}"].to_numpy(dtype=float) for suffix in suffixes)
    with np.errstate(invalid="ignore"):
        change = np.where(old == new, 0.0, np.abs(new - old) / np.maximum(1, np.abs(old)))
    change[np.isnan(change)] = math.inf
    change[np.isnan(old) & np.isnan(new)] = 0.0
    differ = (change > max(tolerance, ROUNDED)) | both[sides[0]].ne(both[sides[1]])
    return both.assign(change=change, differ=differ)


def compare_folders(exhibits: Sequence[Exhibit], before: Path, after: Path) -> pd.DataFrame:
    """A line for each number of the exhibits in both folders that differs.

    Raises:
        InputError: no exhibit is in both, or a CSV has two lines of one place.
    """
    changes = []
    for exhibit in exhibits:
        if all((folder / f"{exhibit.name}.csv").is_file() for folder in (before, after)):
            old, new = (_results(exhibit, folder) for folder in (before, after))
            both = differences(old, new, exhibit.tolerance)
            changes.append(both[both["differ"]].assign(exhibit=exhibit.name))
    if not changes:
        raise InputError("folder", str(after), f"no exhibit is both there and in {before}")
    return pd.concat(changes, ignore_index=True)


def _results(exhibit: Exhibit, folder: Path) -> pd.DataFrame:
    """The long table without the counts of work."""
    frame = compare.read(exhibit.name, folder)
    if frame.duplicated(compare.KEY).any():
        hint = f"{exhibit.name}.csv has two lines of one place: make it by the code of this tree"
        raise InputError("folder", str(folder), hint)
    return frame[~frame["statistic"].isin(RUNS)]
