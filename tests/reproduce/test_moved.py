"""Two folders of results: what moved beyond its tolerance, and what did not."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from gladius.checks import InputError
from reproduce import compare, exhibits, moved
from reproduce.__main__ import app
from reproduce.results import COLUMNS
from reproduce.run import GENERATED

TOLERANCE = 1e-3
VALUES = st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), min_size=1, max_size=6)


def long(values: list[float], status: str = "ok", **more: Any) -> pd.DataFrame:
    """A long table, a row for each value."""
    rows = [(f"{i}", "A", "p", "MAPE", x, 0.5, 20, status) for i, x in enumerate(values)]
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS)).assign(**more)


@given(VALUES, st.data())
def test_a_number_moved_where_it_is_beyond_the_tolerance(values: list[float], data: Any) -> None:
    steps = [0.0, 0.9 * TOLERANCE, -0.9 * TOLERANCE, 1.1 * TOLERANCE, -1.1 * TOLERANCE]
    chosen = data.draw(st.lists(st.sampled_from(steps), min_size=len(values), max_size=len(values)))
    after = [x + step * max(1.0, abs(x)) for x, step in zip(values, chosen, strict=True)]
    both = moved.beside(long(values), long(after), TOLERANCE).sort_values("row")
    is_large = np.abs(chosen) > TOLERANCE
    expected = (is_large & ~np.isnan(values)).tolist()
    assert both["moved"].to_list() == expected


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (long([1.0]), long([1.0], status="not_converged"), 0.0),
        (long([1.0]), long([math.nan]), math.inf),
        (long([math.nan]), long([1.0]), math.inf),
        (long([math.inf]), long([1.0]), math.inf),
        (long([1.0]), long([1.0, 2.0])[1:], math.inf),
    ],
)
def test_another_status_a_lost_number_and_a_lost_line_are_moves(
    before: pd.DataFrame, after: pd.DataFrame, change: float
) -> None:
    both = moved.beside(before, after, TOLERANCE)
    assert both["moved"].all()
    assert set(both["change"]) == {change}


def test_the_same_infinity_did_not_move() -> None:
    assert not moved.beside(long([math.inf]), long([math.inf]), TOLERANCE)["moved"].any()


def test_a_changed_number_is_told_with_its_verdict(tmp_path: Path) -> None:
    """IQ-learn's at N = 250, in a copy; another count of its steps is no change of a result."""
    for name in ("table_2.csv", "accuracy.csv", "rates.csv"):
        shutil.copy(GENERATED / name, tmp_path)
    frame = pd.read_csv(tmp_path / "table_2.csv", dtype=str)
    of_line = frame["row"].eq("250") & frame["column"].eq("IQ-learn")
    changed = of_line & frame["statistic"].eq("MAPE")
    frame.loc[changed | (of_line & frame["statistic"].eq("iterations")), "value"] = "1000"
    frame.to_csv(tmp_path / "table_2.csv", index=False)
    csv = tmp_path / "moved.csv"
    assert CliRunner().invoke(app, ["moved", str(tmp_path), "--csv", str(csv)]).exit_code == 1
    lines = pd.read_csv(csv)
    assert set(lines["statistic"]) == {"MAPE"}
    assert len(lines) == changed.sum() > 0
    loaded = [exhibits.load(name) for name in ("rates", "table_2")]
    told, _ = moved.compared(loaded, GENERATED, tmp_path)
    assert told["moved"].to_list() == [0, changed.sum()]
    assert told["other verdict"].to_list() == ["", "1"]


def test_no_exhibit_in_both_folders_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no exhibit is there"):
        moved.compared([exhibits.load("rates")], GENERATED, tmp_path)


def test_two_lines_of_one_place_are_an_error(tmp_path: Path) -> None:
    frame = compare.read("rates", GENERATED)
    pd.concat([frame, frame[:1]]).to_csv(tmp_path / "rates.csv", index=False)
    with pytest.raises(InputError, match=r"rates\.csv has two lines of one place"):
        moved.compared([exhibits.load("rates")], GENERATED, tmp_path)


def test_no_committed_table_has_two_lines_of_one_place() -> None:
    for name in exhibits.names():
        frame = compare.read(name, GENERATED)
        assert not frame.duplicated(compare.PLACE).any(), name
