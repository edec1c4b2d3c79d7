"""Verdicts on our numbers beside the published ones."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats

from gladius.checks import InputError
from reproduce import compare as comparison
from reproduce import exhibits, published
from reproduce.compare import AGREES, DIFFERS, NOTHING, UNCLEAR, judge
from reproduce.results import COLUMNS
from reproduce.spec import Exhibit


def exhibit() -> Exhibit:
    told: dict[str, Any] = {"reason": lambda *place: " ".join(place), "published": "table_2"}
    return Exhibit("table_2", "a title", lambda smoke: [], cost=0.0, **told)


def write_ours(folder: Path, shift: float) -> pd.DataFrame:
    """Ours equal to the published numbers plus `shift` combined standard errors."""
    theirs = published.load("table_2")
    theirs = theirs[~theirs["number"].isna()].reset_index(drop=True)
    spread = pd.to_numeric(theirs["se"])
    value = theirs["number"] + shift * math.sqrt(2) * spread
    ours = theirs.assign(protocol="fresh", value=value, se=spread, repetitions=20, status="ok")
    ours[COLUMNS].to_csv(folder / "table_2.csv", index=False)
    return ours


def test_the_published_numbers_agree_with_themselves(tmp_path: Path) -> None:
    ours = write_ours(tmp_path, 0.0)
    frame = comparison.compare(exhibit(), tmp_path)
    judged = frame[frame["verdict"] != NOTHING]
    assert len(judged) == len(ours) == 34
    # where a printed (SE), taken for ours, exceeds half of its number, nothing can be told
    # Welch's degrees of freedom: the two errors are equal, and each has 19
    noisy = stats.t.ppf(0.975, 4 * 19) * judged["ours_se"] > judged["ours"].abs()
    assert 0 < noisy.sum() < 34
    assert (judged["verdict"] == noisy.map({False: AGREES, True: UNCLEAR})).all()
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


@pytest.mark.parametrize(
    ("protocol", "status", "is_judged"),
    [
        ("author last", "ok", True),
        ("author last", "not_converged", True),  # its rule is to stop after its epochs
        ("author last", "diverged", False),
        ("author last", "failed: a reason", False),
        ("printed", "not_converged", False),
        ("authored", "not_converged", False),
    ],
)
def test_a_fixed_budget_is_judged_where_it_only_did_not_converge(
    tmp_path: Path, protocol: str, status: str, is_judged: bool
) -> None:
    write_ours(tmp_path, 2.2)
    ours = pd.read_csv(tmp_path / "table_2.csv").assign(protocol=protocol, status=status)
    ours.to_csv(tmp_path / "table_2.csv", index=False)
    shown = replace(exhibit(), fixed_budget=("author",))
    frame = comparison.compare(shown, tmp_path)
    verdicts = set(frame[frame["verdict"] != NOTHING]["verdict"])
    assert verdicts == {DIFFERS if is_judged else status}


def test_every_exhibit_beside_the_paper_says_that_the_authors_code_has_a_fixed_budget() -> None:
    for shown in map(exhibits.load, exhibits.names()):
        words = {entry.protocol.split()[0] for entry in shown.checked_entries(False)}
        if shown.published and "author" in words:
            assert shown.fixed_budget == ("author",), shown.name


@pytest.mark.parametrize(
    ("ours", "printed", "repetitions", "verdict"),
    [
        ((1.0, 0.1), ("N/A", ""), 1, NOTHING),
        ((math.nan, math.nan), ("1.00", "0.10"), 1, NOTHING),
        # z of 2 and 1.8
        ((3.0, 0.3), ("2.00", "0.40"), 1, DIFFERS),
        ((2.9, 0.3), ("2.00", "0.40"), 1, AGREES),
        # without any standard error the printed digits decide
        ((-1.0134, math.nan), ("-1.013", ""), 1, AGREES),
        ((-1.0136, math.nan), ("-1.013", ""), 1, DIFFERS),
        ((-1.0136, math.nan), ("-1.01", ""), 1, AGREES),
        # the rounding of the printed value is no difference
        ((0.124, 1e-9), ("0.12", ""), 1, AGREES),
        ((0.14, 1e-9), ("0.12", ""), 1, DIFFERS),
        ((math.inf, math.nan), ("3.44", "1.28"), 1, DIFFERS),
        # 1.28 as the standard error of a mean, or the standard deviation of 20 repetitions
        ((4.0, 0.1), ("3.44", "1.28"), 20, AGREES),
        ((5.0, 0.1), ("3.44", "1.28"), 20, UNCLEAR),
        ((5.0, 0.1), ("3.44", "1.28"), 1, AGREES),
        ((9.0, 0.1), ("3.44", "1.28"), 20, DIFFERS),
        # one diverged repetition in twenty: such a mean is near everything in its own errors
        ((1e6, 9.5e5), ("3.44", "1.28"), 20, UNCLEAR),
    ],
)
def test_verdicts_by_hand(
    ours: tuple[float, float], printed: tuple[str, str], repetitions: int, verdict: str
) -> None:
    assert judge(*ours, *printed, repetitions)[1] == verdict


def test_z_by_hand() -> None:
    assert judge(3.0, 0.3, "2.00", "0.40")[0] == pytest.approx(2.0, abs=1e-4)


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


def test_a_missing_or_foreign_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="python -m reproduce run table_2"):
        comparison.compare(exhibit(), tmp_path)
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


def test_two_repetitions_are_not_taken_for_many() -> None:
    """Student's quantile with one degree of freedom is 12.7."""
    assert judge(3.0, 0.3, "1.00", "0.10")[1] == DIFFERS
    assert judge(3.0, 0.3, "1.00", "0.10", draws=2)[1] != DIFFERS
    assert judge(3.0, 0.3, "1.00", "0.10", draws=20)[1] == DIFFERS
    # where the printed number has nearly all of the error, ours being of two means little
    assert judge(3.0, 0.01, "1.00", "0.60", draws=2)[1] == DIFFERS
