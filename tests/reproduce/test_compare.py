"""Verdicts on our numbers beside the published ones."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gladius.checks import InputError
from reproduce import compare as comparison
from reproduce import published
from reproduce.compare import AGREES, DIFFERS, NOTHING, judge
from reproduce.results import COLUMNS
from reproduce.spec import Exhibit


def exhibit(name: str = "table_2") -> Exhibit:
    def reason(row: str, column: str, protocol: str) -> str:
        return f"{row} {column} {protocol}"

    return Exhibit(name, "a title", lambda smoke: [], cost=0.0, published=name, reason=reason)


def write_ours(folder: Path, shift: float, name: str = "table_2") -> pd.DataFrame:
    """Ours equal to the published numbers plus `shift` combined standard errors."""
    theirs = published.load(name)
    theirs = theirs[~theirs["number"].isna()].reset_index(drop=True)
    spread = pd.to_numeric(theirs["se"])
    ours = pd.DataFrame(
        {
            "row": theirs["row"],
            "column": theirs["column"],
            "protocol": "fresh",
            "statistic": theirs["statistic"],
            "value": theirs["number"] + shift * math.sqrt(2) * spread,
            "se": spread,
            "repetitions": 20,
            "status": "ok",
        }
    )
    ours[COLUMNS].to_csv(folder / f"{name}.csv", index=False)
    return ours


def test_the_published_numbers_agree_with_themselves(tmp_path: Path) -> None:
    ours = write_ours(tmp_path, 0.0)
    frame = comparison.compare(exhibit(), tmp_path)
    judged = frame[frame["verdict"] != NOTHING]
    assert len(judged) == len(ours) == 34
    # where a printed (SE), taken for ours, exceeds half of its number, nothing can be told
    noisy = 1.96 * judged["ours_se"] > judged["ours"].abs()
    assert 0 < noisy.sum() < 34
    assert (judged["verdict"] == noisy.map({False: AGREES, True: comparison.UNCLEAR})).all()
    assert (judged["z"].abs() < 1e-9).all()
    assert (judged["reason"] == judged["row"] + " " + judged["column"] + " fresh").all()


@pytest.mark.parametrize("shift", [-2.2, 2.2])
def test_negative_control_shifted_numbers_all_differ(tmp_path: Path, shift: float) -> None:
    write_ours(tmp_path, shift)
    frame = comparison.compare(exhibit(), tmp_path)
    judged = frame[frame["verdict"] != NOTHING]
    assert (judged["verdict"] == DIFFERS).all()
    assert (judged["z"] * shift > 0).all()
    assert judged["z"].abs().between(2.1, 2.2).all()


def test_published_numbers_without_ours_are_listed_not_judged(tmp_path: Path) -> None:
    write_ours(tmp_path, 0.0)
    ours = pd.read_csv(tmp_path / "table_2.csv")
    ours[ours["column"] == "Rust"].to_csv(tmp_path / "table_2.csv", index=False)
    frame = comparison.compare(exhibit(), tmp_path)
    assert len(frame) == 36
    assert set(frame[frame["column"] != "Rust"]["status"]) == {"not_run"}
    assert (frame["verdict"] != NOTHING).sum() == 6


def test_a_published_na_is_never_judged(tmp_path: Path) -> None:
    assert judge(1.0, 0.1, "N/A", "")[1] == NOTHING
    assert judge(math.nan, math.nan, "1.00", "0.10")[1] == NOTHING


def test_z_by_hand() -> None:
    z, verdict = judge(3.0, 0.3, "2.00", "0.40")
    assert z == pytest.approx(2.0, abs=1e-4)
    assert verdict == DIFFERS
    assert judge(2.9, 0.3, "2.00", "0.40")[1] == AGREES


def test_without_any_standard_error_the_printed_digits_decide() -> None:
    assert judge(-1.0134, math.nan, "-1.013", "")[1] == AGREES
    assert judge(-1.0136, math.nan, "-1.013", "")[1] == DIFFERS
    assert judge(-1.0136, math.nan, "-1.01", "")[1] == AGREES


def test_rounding_of_the_printed_value_is_not_a_difference() -> None:
    assert judge(0.124, 1e-9, "0.12", "")[1] == AGREES
    assert judge(0.14, 1e-9, "0.12", "")[1] == DIFFERS


def test_an_infinite_error_differs() -> None:
    assert judge(math.inf, math.nan, "3.44", "1.28")[1] == DIFFERS


floats = st.floats(-1e3, 1e3)
spreads = st.floats(1e-3, 1e3)


@given(floats, spreads, floats, spreads)
def test_the_verdict_knows_no_sign(a: float, se: float, b: float, other: float) -> None:
    z, verdict = judge(a, se, f"{b:.3f}", f"{other:.3f}")
    mirrored, same = judge(-a, se, f"{-b:.3f}", f"{other:.3f}")
    assert mirrored == pytest.approx(-z)
    assert same == verdict


@given(floats, spreads, floats, spreads, st.floats(1.0, 10.0))
def test_more_noise_never_turns_agreement_into_difference(
    a: float, se: float, b: float, other: float, factor: float
) -> None:
    before = judge(a, se, f"{b:.3f}", f"{other:.3f}")[1]
    after = judge(a, factor * se, f"{b:.3f}", f"{other:.3f}")[1]
    assert not (before == AGREES and after == DIFFERS)


def test_an_exhibit_that_was_not_run_says_how_to_run_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="python -m reproduce run table_2"):
        comparison.compare(exhibit(), tmp_path)


def test_a_foreign_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table_2.csv").write_text("row,column\n50,Rust\n")
    with pytest.raises(InputError, match="header"):
        comparison.compare(exhibit(), tmp_path)


def test_the_printed_table_and_summary_say_what_was_found(tmp_path: Path) -> None:
    write_ours(tmp_path, 2.2)
    frame = comparison.compare(exhibit(), tmp_path)
    console = Console(width=200, file=io.StringIO(), record=True)
    console.print(comparison.table(frame, "a title"))
    text = console.export_text()
    assert text.count(DIFFERS) == 34
    assert "3.62 (1.70)" in text
    assert "50 Rust fresh" in text
    assert "36 comparisons: 0 agree, 0 unclear, 34 differ" in comparison.summary(frame)


def test_both_readings_of_the_printed_error() -> None:
    """1.28 as the standard error of a mean, or as the standard deviation of 20 repetitions."""
    assert comparison.judge(4.0, 0.1, "3.44", "1.28", 20)[1] == AGREES
    assert comparison.judge(5.0, 0.1, "3.44", "1.28", 20)[1] == comparison.UNCLEAR
    assert comparison.judge(5.0, 0.1, "3.44", "1.28", 1)[1] == AGREES
    assert comparison.judge(9.0, 0.1, "3.44", "1.28", 20)[1] == DIFFERS


def test_noise_is_no_agreement() -> None:
    """One diverged repetition in twenty: such a mean is near everything in its own errors."""
    assert comparison.judge(1e6, 9.5e5, "3.44", "1.28", 20)[1] == comparison.UNCLEAR
