"""Verdicts on our numbers beside the published ones."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from rich.console import Console
from typer.testing import CliRunner

from gladius.checks import InputError
from reproduce import compare as comparison
from reproduce import exhibits, published
from reproduce import run as runner
from reproduce.__main__ import app
from reproduce.compare import (
    AGREES,
    BLANK,
    DIFFERS,
    GIVEN,
    NOTHING,
    UNCLEAR,
    UNSETTLED,
    Reference,
    judge,
    rank,
)
from reproduce.results import COLUMNS
from reproduce.spec import Exhibit

REPETITIONS = 20


def exhibit() -> Exhibit:
    told: dict[str, Any] = {"reason": lambda *place: " ".join(place), "published": "table_2"}
    told["published_repetitions"] = published.TABLE_2_REPETITIONS
    return Exhibit("table_2", "a title", lambda smoke: [], cost=0.0, **told)


def write_ours(folder: Path, shift: float, **changes: Any) -> pd.DataFrame:
    """Ours with the published spread, and equal to the published but for `shift` errors."""
    theirs = published.load("table_2")
    theirs = theirs[~theirs["number"].isna()].reset_index(drop=True)
    spread = pd.to_numeric(theirs["se"])
    of = theirs["column"].map(published.TABLE_2_REPETITIONS)
    value = theirs["number"] + shift * spread * np.sqrt(1 / of + 1 / REPETITIONS)
    protocol = theirs["column"].map(published.COUNTERPARTS["table_2"])
    told = {"value": value, "se": spread / math.sqrt(REPETITIONS), "repetitions": REPETITIONS}
    ours = theirs.assign(protocol=protocol, status="ok", **told).assign(**changes)
    ours[COLUMNS].to_csv(folder / "table_2.csv", index=False)
    return ours


def decided(frame: pd.DataFrame) -> pd.DataFrame:
    """The lines of printed numbers that have a number of ours beside them."""
    return frame[~frame["verdict"].isin([NOTHING, BLANK])]


def test_the_published_numbers_agree_with_themselves(tmp_path: Path) -> None:
    ours = write_ours(tmp_path, 0.0)
    frame = comparison.compare(exhibit(), tmp_path)
    judged = decided(frame)
    assert len(judged) == len(ours) == 34
    assert (judged["verdict"] == AGREES).all()
    assert judged["counted"].all()
    assert (judged["z"].abs() < 1e-9).all()
    place = judged["row"] + " " + judged["column"] + " " + judged["protocol"]
    assert [why.endswith(end) for why, end in zip(judged["reason"], place, strict=True)]


@pytest.mark.parametrize("shift", [-2.2, 2.2])
def test_negative_control_shifted_numbers_all_differ(tmp_path: Path, shift: float) -> None:
    write_ours(tmp_path, shift)
    frame = comparison.compare(exhibit(), tmp_path)
    judged = decided(frame)
    assert (judged["verdict"] == DIFFERS).all()
    assert (judged["z"] * shift > 0).all()
    assert judged["z"].abs().between(2.1, 2.2 + 1e-9).all()
    side = "above" if shift > 0 else "below"
    assert judged["reason"].str.startswith(f"ours is {side}").all()


def test_published_numbers_without_ours_are_listed_not_judged(tmp_path: Path) -> None:
    write_ours(tmp_path, 0.0)
    ours = pd.read_csv(tmp_path / "table_2.csv")
    ours[ours["column"] == "Rust"].to_csv(tmp_path / "table_2.csv", index=False)
    frame = comparison.compare(exhibit(), tmp_path)
    assert len(frame) == 36
    assert set(frame[frame["column"] != "Rust"]["status"]) == {"not_run"}
    assert len(decided(frame)) == 6
    assert (frame["verdict"] == BLANK).sum() == 2


def test_brackets_hold_what_the_paper_prints_and_ours_say_what_they_are() -> None:
    loaded = [exhibits.load(name) for name in ("table_4", "table_a1")]
    table = comparison.verdicts(loaded, runner.GENERATED).set_index(["row", "column"])
    assert table.loc[("LunarLander-v2/1", "Gladius"), "published"] == "107.30 (10.44)"
    ours = table.groupby("exhibit")["ours"]
    assert not ours.get_group("table_4").str.contains("sd").any()
    of_one = ours.get_group("table_a1")
    assert of_one[of_one.str.contains(r"\(")].str.contains(r"\(sd ").all()


def test_a_variant_is_compared_and_not_counted(tmp_path: Path) -> None:
    write_ours(tmp_path, 2.2, protocol="a variant")
    frame = comparison.compare(exhibit(), tmp_path)
    variants = frame[frame["protocol"] == "a variant"]
    assert len(variants) == 34
    assert not variants["counted"].any()
    assert (variants["verdict"] == DIFFERS).all()
    assert decided(frame[frame["counted"]]).empty
    assert comparison.summary(frame) == (
        "34 printed numbers: 34 not run; 34 comparisons of variants are not counted."
    )


def test_more_data_sets_are_the_law_of_a_line(tmp_path: Path) -> None:
    """The 20 of the line differ; the 4,000 of the other exhibit, whose mean is right, decide."""
    right = write_ours(tmp_path, 0.0)
    write_ours(tmp_path, 2.2)
    law = right.assign(row="affine/" + right["row"], repetitions=4000, se=right["se"] / 14)
    law[COLUMNS].to_csv(tmp_path / "accuracy.csv", index=False)
    frame = comparison.compare(exhibit(), tmp_path)
    judged = decided(frame)
    assert (judged["verdict"] == AGREES).all()
    assert judged["law"].str.contains("4,000 repetitions").all()
    few = law.assign(repetitions=10)
    few[COLUMNS].to_csv(tmp_path / "accuracy.csv", index=False)
    frame = comparison.compare(exhibit(), tmp_path)
    assert (decided(frame)["verdict"] == DIFFERS).all()


@pytest.mark.parametrize(("shift", "kind"), [(-3.0, "easy"), (3.0, "hard"), (1.0, "")])
def test_a_row_of_easy_data_sets_is_told_of(tmp_path: Path, shift: float, kind: str) -> None:
    ours = write_ours(tmp_path, 0.0)
    law = ours[ours["column"] == "Rust"].copy()
    law = law.assign(row="affine/" + law["row"], value=law["value"] - shift * law["se"])
    law = law.assign(repetitions=100 * REPETITIONS, se=law["se"] / 10)
    law[COLUMNS].to_csv(tmp_path / "accuracy.csv", index=False)
    frame = comparison.compare(exhibit(), tmp_path).set_index("column")
    told = f"these {REPETITIONS} data sets are {kind}: Rust has "
    assert frame.loc["GLADIUS", "reason"].str.contains(told).all() == bool(kind)
    assert not frame.loc["Rust", "reason"].str.contains("these").any()


@pytest.mark.parametrize(
    ("protocol", "status", "verdict"),
    [
        ("author last", "ok", DIFFERS),
        ("author last", "not_converged", DIFFERS),  # its rule is to stop after its epochs
        ("author last", "diverged", f"{UNSETTLED} (some of 20)"),
        ("author last", "failed: a reason", "failed"),
        ("printed", "not_converged", f"{UNSETTLED} (some of 20)"),
        ("authored", "not_converged", f"{UNSETTLED} (some of 20)"),
    ],
)
def test_what_did_not_converge_says_so_unless_its_rule_is_a_fixed_budget(
    tmp_path: Path, protocol: str, status: str, verdict: str
) -> None:
    write_ours(tmp_path, 2.2, protocol=protocol, status=status)
    frame = comparison.compare(replace(exhibit(), fixed_budget=("author",)), tmp_path)
    assert set(decided(frame)["verdict"]) == {verdict}


@pytest.mark.parametrize(("missed", "is_judged"), [(1, True), (5, True), (6, False), (20, False)])
def test_where_few_did_not_converge_the_others_are_judged(
    tmp_path: Path, missed: int, is_judged: bool
) -> None:
    ours = write_ours(tmp_path, 2.2, status="not_converged")[COLUMNS]
    counted = ours.assign(statistic="repetitions not ok", value=missed)
    right = published.load("table_2").set_index(["row", "column"])["number"]
    means = [right[place] for place in zip(ours["row"], ours["column"], strict=True)]
    told: dict[str, Any] = {"statistic": "MAPE of those ok", "value": means, "status": "ok"}
    settled = ours.assign(repetitions=REPETITIONS - missed, **told)
    pd.concat([ours, counted, settled]).to_csv(tmp_path / "table_2.csv", index=False)
    frame = comparison.compare(exhibit(), tmp_path)
    judged = decided(frame)
    times = f"{missed} of {REPETITIONS}"
    assert set(judged["verdict"]) == {AGREES if is_judged else f"{UNSETTLED} ({times})"}
    assert judged["reason"].str.contains(times).all() == is_judged


def test_every_exhibit_beside_the_paper_says_that_the_authors_code_has_a_fixed_budget() -> None:
    for shown in map(exhibits.load, exhibits.names()):
        words = {entry.protocol.split()[0] for entry in shown.checked_entries(False)}
        if shown.published and "author" in words:
            assert shown.fixed_budget == ("author",), shown.name


def test_every_printed_column_has_a_counterpart_that_its_exhibit_lists() -> None:
    for name, columns in published.COUNTERPARTS.items():
        entries = {(e.column, e.protocol) for e in exhibits.load(name).checked_entries(False)}
        printed = set(published.load(name)["column"])
        assert printed <= set(columns)
        not_run = {("GLADIUS", "author full")} if name == "figure_1" else set()
        assert {(c, p) for c, p in columns.items() if c in printed} - entries == not_run


def test_a_counterpart_that_is_not_run_is_no_agreement() -> None:
    table = comparison.verdicts([exhibits.load("figure_1")], runner.GENERATED)
    ours = table[table["column"] == "GLADIUS"]
    assert len(ours) == 5
    assert set(ours["verdict"]) == {NOTHING}
    assert ours["reason"].str.startswith("not run; ten trainings of 20,000 epochs").all()


def of_mean(mean: float, error: float, draws: float = 1e9) -> Reference:
    """A mean of so many repetitions with this standard error."""
    return Reference(mean, error * math.sqrt(draws), draws)


@pytest.mark.parametrize(
    ("ours", "printed", "spread", "of", "verdict"),
    [
        (of_mean(1.0, 0.1), "N/A", math.nan, 1, NOTHING),
        (Reference(math.nan), "1.00", 0.1, 20, NOTHING),
        # a mean of 25: errors .3 and .4, z of 2.2 and 1.8
        (of_mean(3.1, 0.3), "2.00", 2.0, 25, DIFFERS),
        (of_mean(2.9, 0.3), "2.00", 2.0, 25, AGREES),
        # one draw of a law with standard deviation 1: the printed spread is no part of it
        (Reference(3.0, 1.0, 1e9), "1.10", math.nan, 1, AGREES),
        (Reference(3.0, 1.0, 1e9), "0.90", math.nan, 1, DIFFERS),
        # .. unless it is the error of that very number
        (Reference(3.0, 1.0, 1e9), "0.90", 0.6, 1, AGREES),
        # one training of ours beside a mean of ten: theirs tell how trainings vary
        (Reference(3.0, math.nan, 1), "1.00", 1.0, 10, AGREES),
        (Reference(4.0, math.nan, 1), "1.00", 1.0, 10, DIFFERS),
        # without any standard deviation the printed digits decide
        (Reference(-1.0134), "-1.013", math.nan, 1, AGREES),
        (Reference(-1.0136), "-1.013", math.nan, 1, DIFFERS),
        (Reference(-1.0136), "-1.01", math.nan, 1, AGREES),
        # the rounding of the printed value is no difference
        (of_mean(0.124, 1e-9), "0.12", math.nan, 1, AGREES),
        (of_mean(0.14, 1e-9), "0.12", math.nan, 1, DIFFERS),
        (Reference(math.inf), "3.44", 1.28, 20, DIFFERS),
        # one diverged repetition in twenty: such a mean is near everything in its own errors
        (of_mean(1e6, 9.5e5, 20), "3.44", 1.28, 20, UNCLEAR),
    ],
)
def test_verdicts_by_hand(
    ours: Reference, printed: str, spread: float, of: int, verdict: str
) -> None:
    assert judge(ours, printed, spread, of)[1] == verdict


def test_z_by_hand() -> None:
    assert judge(of_mean(3.0, 0.3), "2.00", 2.0, 25)[0] == pytest.approx(2.0, abs=1e-4)
    assert judge(Reference(3.0, 0.5, 1e9), "2.00")[0] == pytest.approx(2.0, abs=1e-3)


floats = st.floats(-1e3, 1e3)
spreads = st.floats(1e-3, 1e3)


@given(floats, spreads, floats, spreads)
def test_the_verdict_knows_no_sign(a: float, se: float, b: float, other: float) -> None:
    z, verdict = judge(of_mean(a, se), f"{b:.3f}", other, 20)
    mirrored, same = judge(of_mean(-a, se), f"{-b:.3f}", other, 20)
    assert mirrored == pytest.approx(-z)
    assert same == verdict


@given(floats, spreads, floats, spreads, st.floats(1.0, 10.0))
def test_more_noise_never_turns_agreement_into_difference(
    a: float, se: float, b: float, other: float, factor: float
) -> None:
    before = judge(of_mean(a, se), f"{b:.3f}", other, 20)[1]
    after = judge(of_mean(a, factor * se), f"{b:.3f}", other, 20)[1]
    assert not (before == AGREES and after == DIFFERS)


def test_two_repetitions_are_not_taken_for_many() -> None:
    """Student's quantile with one degree of freedom is 12.7."""
    assert judge(of_mean(3.0, 0.3, 1e9), "1.00", 0.1, 20)[1] == DIFFERS
    assert judge(of_mean(3.0, 0.3, 2), "1.00", 0.1, 20)[1] != DIFFERS
    assert judge(of_mean(3.0, 0.3, 20), "1.00", 0.1, 20)[1] == DIFFERS
    # where the printed number has nearly all of the error, ours being of two means little
    assert judge(of_mean(3.0, 0.01, 2), "1.00", 4.0, 25)[1] == DIFFERS


@pytest.mark.parametrize(
    ("factor", "differ"), [(1.0, False), (1.7, False), (2.0, True), (0.4, True)]
)
def test_spreads_of_twenty_differ_from_a_factor_of_1_8(factor: float, differ: bool) -> None:
    """The 99.5 % quantile of F with 19 and 19 degrees of freedom is 3.43, by the tables."""
    reference = Reference(1.0, factor, 20)
    assert comparison.spreads_differ(reference, 1.0, 20) == differ
    assert not comparison.spreads_differ(Reference(1.0, math.nan, 1), 1.0, 20)


# --- ranks
draws_of = arrays.arrays(float, st.integers(1, 50), elements=st.floats(0.0, 9.0))


@given(draws_of, st.floats(0.0, 9.0))
def test_a_rank_of_one_draw_is_counted(draws: Any, printed: float) -> None:
    text = f"{printed:.2f}"
    low, high = float(text) - 0.005, float(text) + 0.005
    below, inside = sum(x < low for x in draws), sum(low <= x <= high for x in draws)
    assert rank(draws, text) == pytest.approx((below + inside / 2) / len(draws))


@given(draws_of, st.integers(2, 30))
def test_means_lie_between_the_least_and_the_largest_draw(draws: Any, of: int) -> None:
    assert rank(draws, f"{draws.min() - 1:.2f}", of) == 0.0
    assert rank(draws, f"{draws.max() + 1:.2f}", of) == 1.0


def test_a_heavy_tail_is_judged_by_rank() -> None:
    """One draw of 10,000 in twenty: its mean is within two errors of everything small."""
    draws = np.array([0.6] * 19 + [1e4])
    heavy = Reference(float(draws.mean()), float(draws.std(ddof=1)), 20)
    assert judge(heavy, "0.52", 0.22, 20)[1] == UNCLEAR
    for printed, verdict in (("0.52", DIFFERS), ("0.60", UNCLEAR), ("500.00", UNCLEAR)):
        known = replace(heavy, rank=rank(draws, printed, 20))
        assert judge(known, printed, 0.22, 20)[1] == verdict


def test_a_skewed_law_of_one_draw_is_judged_by_rank() -> None:
    """Of the absolute normal law no draw is small enough for z; and 2 sd above is rare."""
    draws = np.abs(np.random.default_rng(0).normal(size=4000))
    skewed = Reference(float(draws.mean()), float(draws.std()), 4000)
    for printed, verdict in (("0.01", DIFFERS), ("0.50", AGREES), ("2.50", DIFFERS)):
        known = replace(skewed, rank=rank(draws, printed))
        assert judge(known, printed)[1] == verdict
    assert judge(skewed, "0.01")[1] != DIFFERS


def test_a_rank_is_recorded_of_enough_draws_of_a_printed_number() -> None:
    draws = [1.0] * 30 + [9.0] * 10  # the printed number is 3.62
    (record,) = comparison.ranked("table_2", "50", "Rust", draws)
    assert (record.statistic, record.value, record.repetitions) == (comparison.RANK, 0.75, 40)
    assert comparison.ranked("table_2", "50", "Rust", draws[:-1]) == ()
    assert comparison.ranked("table_2", "50", "Rust", [*draws, math.inf]) == ()
    assert comparison.ranked("table_2", "50", "Plug-in", draws) == ()
    assert comparison.ranked("table_2", "5000", "SAmQ", draws) == ()  # the paper has N/A
    # a mean of twenty: enough draws are as many as the paper has
    (of_means,) = comparison.ranked("table_2", "50", "GLADIUS", [5.0] * 20)
    assert of_means.value == 0.0


def test_a_recorded_rank_decides_for_one_draw(tmp_path: Path) -> None:
    ours = write_ours(tmp_path, 0.0)[COLUMNS]
    for value, verdict in ((0.5, AGREES), (0.01, DIFFERS), (0.99, DIFFERS)):
        ranks = ours.assign(statistic=comparison.RANK, value=value)
        pd.concat([ours, ranks]).to_csv(tmp_path / "table_2.csv", index=False)
        frame = comparison.compare(exhibit(), tmp_path).set_index(["column", "row"])
        assert frame["verdict"]["Rust", "50"] == verdict
        assert f"rank {value:.3f}" in frame["reason"]["Rust", "50"]
        assert frame["verdict"]["GLADIUS", "50"] == AGREES  # a mean, and no heavy tail


# --- the files and the command
def test_a_missing_or_foreign_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="python -m reproduce run table_2"):
        comparison.compare(exhibit(), tmp_path)
    (tmp_path / "table_2.csv").write_text("row,column\n50,Rust\n")
    with pytest.raises(InputError, match="header"):
        comparison.compare(exhibit(), tmp_path)


def test_the_printed_table_and_summary_say_what_was_found(tmp_path: Path) -> None:
    write_ours(tmp_path, 2.2)
    frame = comparison.compare(exhibit(), tmp_path)
    console = Console(width=260, file=io.StringIO(), record=True)
    console.print(comparison.table(frame, "a title"))
    text = console.export_text()
    assert text.count(DIFFERS) == 34
    assert "3.62 (1.70)" in text
    assert "50 Rust fresh" in text
    assert comparison.summary(frame) == "34 printed numbers: 34 differ."


def test_the_command_filters_and_writes(tmp_path: Path) -> None:
    write_ours(tmp_path, 0.0)
    ours = pd.read_csv(tmp_path / "table_2.csv", dtype={"row": str})
    ours.loc[ours["column"] == "BC", "value"] = 1e3
    ours.to_csv(tmp_path / "table_2.csv", index=False)
    lines = tmp_path / "lines.csv"
    command = ["compare", "table_2", "--out", str(tmp_path), "--csv", str(lines)]
    done = CliRunner().invoke(app, [*command, "--only", DIFFERS])
    assert done.exit_code == 0, done.output
    written = pd.read_csv(lines)
    assert set(written["column"]) == {"BC"}
    assert set(written["verdict"]) == {DIFFERS}
    assert len(written) == 6
    assert "28 agree, 6 differ" in done.output  # of all, not of those shown


def test_the_verdicts_have_a_line_for_every_printed_number() -> None:
    loaded = [exhibits.load(name) for name in published.COUNTERPARTS]
    frame = comparison.verdicts(loaded, runner.GENERATED)
    assert list(frame.columns) == comparison.VERDICTS
    assert not frame.duplicated(["exhibit", "row", "column", "statistic"]).any()
    for name, part in frame.groupby("exhibit"):
        theirs = published.load(str(name))
        is_error = theirs["statistic"].str.endswith(published.DEVIATION)
        assert len(part) == (~is_error).sum(), name
    known = frame["verdict"].isin([AGREES, DIFFERS, UNCLEAR, GIVEN, NOTHING, BLANK])
    assert (known | frame["verdict"].str.startswith(UNSETTLED)).all()
    assert (frame["reason"] != "").all()
    is_input = frame["statistic"].eq("r a1") & frame["column"].eq("GLADIUS")
    assert (frame[is_input]["verdict"] == GIVEN).all()
    assert ((frame["published"] == published.MISSING) == (frame["verdict"] == BLANK)).all()


def test_a_printed_se_is_a_standard_deviation() -> None:
    """The argument of the module's docstring, with its numbers."""
    theirs = published.load("table_2")
    rust = theirs[theirs["column"] == "Rust"]
    printed = pd.to_numeric(rust["se"]) / rust["number"]
    ours = comparison.read("accuracy", runner.GENERATED)
    ours = ours[ours["column"].eq("Rust") & ours["statistic"].eq("MAPE")]
    variation = ours["se"] * np.sqrt(ours["repetitions"]) / ours["value"]
    assert [round(x, 2) for x in (variation.min(), variation.max())] == [0.68, 0.7]
    assert [round(x, 2) for x in (printed.min(), printed.max())] == [0.15, 0.69]
    assert [round(10 * x, 1) for x in (printed.min(), printed.max())] == [1.5, 6.9]
