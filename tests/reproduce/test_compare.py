"""Verdicts on our numbers beside the published ones, and our numbers of two folders."""

import hashlib
import io
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats
from typer.testing import CliRunner

from gladius.validate import InputError
from proofs_checks.claims.verdicts import Verdict, Word
from reproduce import exhibits
from reproduce import run as runner
from reproduce.__main__ import app
from reproduce.cells import bus_exact as exact
from reproduce.engine.nouns import Exhibit
from reproduce.engine.view import COLUMNS
from reproduce.paper import compare as comparison
from reproduce.paper import differences, published
from reproduce.paper.judge import POWER, Reference, judge, number
from reproduce.paper.verdicts import Comparison, OnTarget, in_words, vocabulary

REPETITIONS = 20


def exhibit() -> Exhibit:
    fields: dict[str, Any] = {"reason": lambda *key: " ".join(key), "published": "table_2"}
    fields["averaged"] = published.AVERAGED["table_2"]
    return Exhibit("table_2", "a title", lambda smoke: [], **fields)


NARROW = 0.1  # of the published spread, with which a test can tell a quarter of each number


def write_ours(folder: Path, shift: float, share: float = 1.0, **changes: Any) -> pd.DataFrame:
    """Ours with a share of the published spread, and but for `shift` errors of a draw equal."""
    theirs = published.load("table_2")
    theirs = theirs[~theirs["number"].isna()].reset_index(drop=True)
    spread = share * pd.to_numeric(theirs["se"])
    value = theirs["number"] + shift * spread * math.sqrt(1 + 1 / REPETITIONS)
    protocol = theirs["column"].map(published.COUNTERPARTS["table_2"])
    fields = {"value": value, "se": spread / math.sqrt(REPETITIONS), "repetitions": REPETITIONS}
    ours = theirs.assign(protocol=protocol, status="ok", **fields).assign(**changes)
    ours[COLUMNS].to_csv(folder / "table_2.csv", index=False)
    return ours


def decided(frame: pd.DataFrame) -> pd.DataFrame:
    """The lines of printed numbers that have a number of ours beside them."""
    return frame[~frame["verdict"].isin([Comparison.ABSENT, Comparison.BLANK])]


def judged(frame: pd.DataFrame) -> set[str]:
    """The verdicts of the numbers whose comparison is evidence."""
    verdicts = decided(frame)["verdict"]
    return set(
        verdicts[
            ~verdicts.isin([Comparison.LEVEL_OPEN, Comparison.OTHER_VARIANT, Comparison.SAME_DATA])
        ]
    )


def test_the_published_numbers_agree_with_themselves(tmp_path: Path) -> None:
    ours = write_ours(tmp_path, 0.0, NARROW)
    compared = decided(comparison.compare(exhibit(), tmp_path))
    assert len(compared) == len(ours) == 34
    assert judged(compared) == {Comparison.AGREES}
    words = dict(zip(compared["column"], compared["verdict"], strict=True))
    no_test = {
        "IQ-learn": Comparison.SAME_DATA,
        "BC": Comparison.SAME_DATA,
        "SAmQ": Comparison.OTHER_VARIANT,
    }
    assert words == dict.fromkeys(("Rust", "ML-IRL", "GLADIUS"), Comparison.AGREES) | no_test
    assert compared["counted"].all()
    is_test = compared["verdict"].ne(Comparison.SAME_DATA)
    assert (compared.loc[is_test, "z"].abs() < 1e-9).all()
    assert compared.loc[~is_test, "z"].isna().all()
    key = compared["row"] + " " + compared["column"] + " " + compared["protocol"]
    assert [why.endswith(end) for why, end in zip(compared["reason"], key, strict=True)]


def test_a_test_without_power_cannot_tell(tmp_path: Path) -> None:
    """Equal numbers with the published spread: most tests would pass other numbers as well."""
    write_ours(tmp_path, 0.0)
    compared = decided(comparison.compare(exhibit(), tmp_path)).set_index("column")
    assert set(compared.loc["GLADIUS", "verdict"]) == {Comparison.UNCLEAR}
    assert "GLADIUS, procedure: 6 cannot tell" in comparison.summary(compared.reset_index())
    share = compared["half_width"] / compared["yardstick"]
    assert (share[["Rust", "ML-IRL", "GLADIUS"]] > POWER).all()
    reason = compared.loc["GLADIUS", "reason"].iloc[-1]
    assert reason.startswith("any number within 0.13 of ours would pass, which is more than a")


def test_the_yardstick_of_a_frequency_is_at_least_the_mean_count_of_a_pair() -> None:
    for table in ("table_a1", "table_a2", "table_a3", "table_a4"):
        frame = published.load(table).query("column == 'Frequency'")
        mean = frame["number"].sum() / 20  # ten mileages, two actions
        sizes = [
            published.yardstick(table, line.statistic, line.value) for line in frame.itertuples()
        ]
        assert min(sizes) == pytest.approx(mean, rel=0.02)
        assert sizes == [max(x, min(sizes)) for x in frame["number"].fillna(0)]


@pytest.mark.parametrize(
    ("exhibit", "statistic", "printed", "yardstick"),
    [
        ("table_2", "MAPE", "0.12", 0.12),
        ("table_a1", "r a0", "-1.013", 1.013),
        ("table_a2", "Q a1", "-55.017", 1.0),
        ("table_4", "% optimality", "-3.10", 100.0),
    ],
)
def test_yardsticks_by_kind(exhibit: str, statistic: str, printed: str, yardstick: float) -> None:
    assert published.yardstick(exhibit, statistic, printed) == yardstick


@pytest.mark.parametrize("shift", [-2.2, 2.2])
def test_negative_control_shifted_numbers_all_differ(tmp_path: Path, shift: float) -> None:
    write_ours(tmp_path, shift)
    compared = decided(comparison.compare(exhibit(), tmp_path))
    assert judged(compared) == {Comparison.DIFFERS}
    compared = compared[compared["verdict"].ne(Comparison.SAME_DATA)]
    assert (compared["z"] * shift > 0).all()
    assert compared["z"].abs().between(2.1, 2.2 + 1e-9).all()
    side = "higher" if shift > 0 else "lower"
    assert compared["reason"].str.startswith(f"ours is {side}").all()


def test_numbers_of_a_table_have_two_decimals_or_three_figures() -> None:
    assert [number(x) for x in (0.0, 9_999.0, 10_500.0)] == ["0.00", "9999.00", "1.05e+04"]
    assert [number(x) for x in (-0.0101, 0.00123, np.nan)] == ["-0.01", "0.00123", "-"]


def test_published_numbers_without_ours_are_listed_not_judged(tmp_path: Path) -> None:
    write_ours(tmp_path, 0.0)
    ours = pd.read_csv(tmp_path / "table_2.csv")
    ours[ours["column"] == "Rust"].to_csv(tmp_path / "table_2.csv", index=False)
    frame = comparison.compare(exhibit(), tmp_path)
    assert len(frame) == 36 + 6  # two lines of ours stand beside GLADIUS
    assert set(frame[frame["column"] != "Rust"]["status"]) == {"not_run"}
    assert len(decided(frame)) == 6
    assert (frame["verdict"] == Comparison.BLANK).sum() == 2


def test_brackets_hold_what_the_paper_prints_and_ours_say_what_they_are() -> None:
    loaded = [exhibits.load(name) for name in ("table_4", "table_a1")]
    table = comparison.verdicts(loaded, runner.GENERATED)
    table = table[table["rule"] != published.PROCEDURE].set_index(["row", "column"])
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
    assert judged(variants) == {Comparison.DIFFERS}
    assert variants["verdict"].eq(Comparison.LEVEL_OPEN).sum() == 12
    assert decided(frame[frame["counted"]]).empty
    assert "Profiled ERM, feasible: 6 not run" in comparison.summary(frame)
    assert comparison.summary(frame)[-1] == "34 comparisons of variants are not counted"


def test_more_data_sets_are_the_law_of_a_line(tmp_path: Path) -> None:
    """The 20 of the line differ; the 4,000 of the other exhibit, whose mean is right, decide."""
    right = write_ours(tmp_path, 0.0, NARROW)
    write_ours(tmp_path, 4.0, NARROW)
    many = right.assign(row="affine/" + right["row"], repetitions=4000, se=right["se"] / 14)
    many[COLUMNS].to_csv(tmp_path / "accuracy.csv", index=False)
    compared = decided(comparison.compare(exhibit(), tmp_path))
    assert judged(compared) == {Comparison.AGREES}
    assert compared["reference"].str.contains("4,000 repetitions").all()
    few = many.assign(repetitions=10)
    few[COLUMNS].to_csv(tmp_path / "accuracy.csv", index=False)
    assert judged(comparison.compare(exhibit(), tmp_path)) == {Comparison.DIFFERS}


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_an_oracle_is_judged_by_the_mean_of_its_resamples(tmp_path: Path, factor: float) -> None:
    write_ours(tmp_path, 0.0)
    rust = published.load("table_2").query("column == 'Rust' and row == '250'").iloc[0]
    value, se = rust["number"] * factor, 0.1 / math.sqrt(4000)
    many = [("affine/250", "Rust", exact.RESAMPLED, "MAPE", value, se, 4000, "ok")]
    frame = pd.DataFrame(many, columns=pd.Index(COLUMNS))
    frame.to_csv(tmp_path / "accuracy.csv", index=False)
    lines = comparison.compare(exhibit(), tmp_path).query("column == 'Rust'").set_index("row")
    assert lines["verdict"]["250"] == (Comparison.AGREES if factor == 1.0 else Comparison.DIFFERS)
    assert "mean of 100 resamples" in lines["reason"]["250"]
    assert "resamples" not in lines["reason"]["500"]


@pytest.mark.parametrize(
    ("status", "word"),
    [("not_converged", "have not converged"), ("diverged", "diverged"), ("failed: a reason", "")],
)
def test_fits_that_did_not_converge_are_judged_and_the_reason_says_so(
    tmp_path: Path, status: str, word: str
) -> None:
    write_ours(tmp_path, 2.2, status=status)
    compared = decided(comparison.compare(exhibit(), tmp_path))
    of_rust = compared[compared["column"] == "Rust"]
    assert set(of_rust["verdict"]) == {Comparison.DIFFERS if word else "failed"}
    assert of_rust["reason"].str.contains(word or "a reason").all()


@pytest.mark.parametrize(("missed", "is_judged"), [(1, True), (5, True), (6, False), (20, False)])
def test_where_few_did_not_converge_the_others_are_judged(
    tmp_path: Path, missed: int, is_judged: bool
) -> None:
    ours = write_ours(tmp_path, 4.0, NARROW, status="not_converged")[COLUMNS]
    counted = ours.assign(statistic="repetitions not ok", value=missed)
    right = published.load("table_2").set_index(["row", "column"])["number"]
    means = [right[key] for key in zip(ours["row"], ours["column"], strict=True)]
    fields: dict[str, Any] = {"statistic": "MAPE of those ok", "value": means, "status": "ok"}
    converged = ours.assign(repetitions=REPETITIONS - missed, **fields)
    pd.concat([ours, counted, converged]).to_csv(tmp_path / "table_2.csv", index=False)
    compared = decided(comparison.compare(exhibit(), tmp_path))
    assert judged(compared) == {Comparison.AGREES if is_judged else Comparison.DIFFERS}
    assert compared["reason"].str.contains(f"{missed} of {REPETITIONS}").all()


def test_every_printed_column_has_a_counterpart_that_its_exhibit_lists() -> None:
    for name, columns in published.COUNTERPARTS.items():
        entries = {(e.column, e.protocol) for e in exhibits.load(name).checked_entries(False)}
        printed = set(published.load(name)["column"])
        assert printed <= set(columns)
        public = published.PUBLIC  # whose entries have a line for each epoch
        shown = {(c, public if p.startswith(public) else p) for c, p in columns.items()}
        missing = {c for c, p in shown - entries if c in printed}
        assert missing == printed & set(published.GLADIUS if name == "table_4" else ())
        assert (published.OURS, published.BESIDE[name]) in entries


def test_our_own_estimator_is_never_called_gladius() -> None:
    entries = [e for name in exhibits.names() for e in exhibits.load(name).checked_entries(False)]
    columns = {e.column for e in entries if e.cell.settings.get("method") == "profiled_erm"}
    assert published.OURS in columns
    assert not columns & {*published.GLADIUS}


def test_a_counterpart_that_is_not_run_is_no_agreement(tmp_path: Path) -> None:
    frame = comparison.read("table_4", runner.GENERATED)
    frame[~frame["column"].eq("Gladius")].to_csv(tmp_path / "table_4.csv", index=False)
    table = comparison.verdicts([exhibits.load("table_4")], tmp_path)
    ours = table[table["rule"] == published.PROCEDURE]
    assert len(ours) == 15
    assert set(ours["verdict"]) == {Comparison.ABSENT}


def test_one_training_on_public_data_is_no_agreement_either() -> None:
    table = comparison.verdicts([exhibits.load("figure_1")], runner.GENERATED)
    ours = table[table["rule"] == published.PROCEDURE]
    assert len(ours) == 5
    assert set(ours["verdict"]) == {Comparison.SAME_DATA}
    assert (
        ours["reason"]
        .str.contains("one training on the public code's data, which is no test")
        .all()
    )
    assert (pd.to_numeric(ours["ours"]) > 0).all()


def of_mean(mean: float, error: float, draws: float = 1e9) -> Reference:
    """A mean of so many repetitions with this standard error."""
    return Reference(mean, error * math.sqrt(draws), draws)


@pytest.mark.parametrize(
    ("ours", "printed", "own_error", "verdict"),
    [
        (of_mean(1.0, 0.1), "N/A", math.nan, Comparison.NOTHING),
        (Reference(math.nan), "1.00", 0.1, Comparison.NOTHING),
        # one draw of a law with standard deviation 1
        (Reference(10.0, 1.0, 1e9), "8.10", math.nan, Comparison.AGREES),
        (Reference(10.0, 1.0, 1e9), "8.00", math.nan, Comparison.DIFFERS),
        # .. which has an error of its own, so that the interval is a fifth or a third of 7.80
        (Reference(10.0, 1.0, 1e9), "7.80", math.nan, Comparison.DIFFERS),
        (Reference(10.0, 1.0, 1e9), "7.80", 0.6, Comparison.UNCLEAR),
        # an interval of a quarter of the printed number, and one a little wider
        (Reference(8.0, 1.02, 1e9), "8.00", math.nan, Comparison.AGREES),
        (Reference(8.0, 1.03, 1e9), "8.00", math.nan, Comparison.UNCLEAR),
        # a rejection needs no power
        (Reference(3.0, 1.0, 1e9), "0.90", math.nan, Comparison.DIFFERS),
        # the mean of few repetitions has an error too, and Student's quantiles are wider
        (Reference(3.0, 1.0, 4), "0.00", math.nan, Comparison.UNCLEAR),
        (Reference(3.0, 1.0, 1e9), "0.00", math.nan, Comparison.DIFFERS),
        # a printed zero says nothing about how large an error is
        (Reference(0.1, 0.02, 400), "0.00", math.nan, Comparison.DIFFERS),
        # without any standard deviation the printed digits decide
        (Reference(-1.0134), "-1.013", math.nan, Comparison.AGREES),
        (Reference(-1.0136), "-1.013", math.nan, Comparison.DIFFERS),
        (Reference(-1.0136), "-1.01", math.nan, Comparison.AGREES),
        # the rounding of the printed value is no difference
        (of_mean(0.124, 1e-9), "0.12", math.nan, Comparison.AGREES),
        (
            of_mean(0.128, 1e-9),
            "0.12",
            math.nan,
            Comparison.DIFFERS,
        ),  # 2.8 of the rounding's errors
        (Reference(math.inf), "3.44", math.nan, Comparison.DIFFERS),
        # our standard deviation exceeds our mean and its error the printed number: no guide
        (Reference(1.2, 1.3, 20), "0.52", math.nan, Comparison.UNCLEAR),
        (Reference(6.0, 1.3, 20), "0.52", math.nan, Comparison.DIFFERS),
        # one diverged repetition in twenty: such a mean is near everything in its own errors
        (of_mean(1e6, 9.5e5, 20), "3.44", math.nan, Comparison.UNCLEAR),
    ],
)
def test_verdicts_by_hand(ours: Reference, printed: str, own_error: float, verdict: str) -> None:
    assert judge(ours, printed, own_error)[1] == verdict


floats = st.floats(-1e3, 1e3)
spreads = st.floats(1e-3, 1e3)


@given(
    st.floats(1.0, 1e3),
    st.floats(0.1, 10.0),
    st.integers(2, 40),
    st.floats(1.0, 1e3),
    st.sampled_from([0, 1, 9]),
    st.floats(0.1, 10.0) | st.just(math.nan),
)
def test_p_is_of_students_prediction_and_the_half_width_is_where_the_verdict_turns(
    a: float, sd: float, n: int, b: float, digits: int, own: float
) -> None:
    """With nine digits it is Student's; with few their rounding, uniform, is a further error."""
    printed = f"{b:.{digits}f}"
    found = judge(Reference(a, sd, n), printed, own)
    errors = np.array([sd**2 * (1 + 1 / n), np.nan_to_num(own) ** 2, (0.1**digits) ** 2 / 12])
    freedom = errors.sum() ** 2 / np.sum(errors[:2] ** 2 / [n - 1, published.EPISODES - 1])
    p = 2 * stats.t.sf(abs(a - float(printed)) / math.sqrt(errors.sum()), freedom)
    assert found.p == pytest.approx(p, rel=1e-6, abs=1e-12)
    for share, size, word in (
        (0.999, 4.001, Comparison.AGREES),
        (0.999, 3.999, Comparison.UNCLEAR),
        (1.001, 1, Comparison.DIFFERS),
    ):
        if abs(float(printed)) > 10 * found.half_width:  # else our own noise may make it unclear
            moved = Reference(float(printed) + share * found.half_width, sd, n)
            assert judge(moved, printed, own, size * found.half_width).verdict == word


@given(floats, spreads, floats, st.floats(1.0, 10.0))
def test_more_noise_never_turns_agreement_into_difference(
    a: float, sd: float, b: float, factor: float
) -> None:
    before = judge(Reference(a, sd, 20), f"{b:.3f}")[1]
    after = judge(Reference(a, factor * sd, 20), f"{b:.3f}")[1]
    assert not (before == Comparison.AGREES and after == Comparison.DIFFERS)
    assert judge(Reference(-a, sd, 20), f"{-b:.3f}")[1] == before  # it knows no sign


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
    assert text.count(f"{Comparison.SAME_DATA} ") == 12
    assert "3.62 (1.70)" in text
    assert "50 Rust fresh" in text
    assert text.count("against one draw") == 22
    assert comparison.summary(frame) == [
        "Rust: 6 differ",
        "ML-IRL: 6 differ",
        "Profiled ERM, feasible: 6 not run",
        "GLADIUS, procedure: 6 differ",
        "SAmQ: 4 not comparable, 2 not printed",
        "IQ-learn: 6 same data",
        "BC: 6 same data",
    ]


def test_the_command_prints_the_verdicts(tmp_path: Path) -> None:
    write_ours(tmp_path, 0.0, NARROW)
    ours = pd.read_csv(tmp_path / "table_2.csv", dtype={"row": str})
    beside = ours[ours["column"] == "GLADIUS"].assign(column=published.OURS, value=1e3)
    beside["protocol"] = published.BESIDE["table_2"]
    variant = beside.assign(protocol="leak_free mlp")
    pd.concat([ours, beside, variant]).to_csv(tmp_path / "table_2.csv", index=False)
    done = CliRunner().invoke(app, ["compare", "table_2", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    expected = {"GLADIUS, procedure: 6 agree", "Profiled ERM, feasible: 6 differ"}
    expected |= {"6 comparisons of variants are not counted"}
    assert expected <= {line.strip() for line in done.output.splitlines()}


def test_the_verdicts_have_a_line_for_every_printed_number() -> None:
    loaded = [exhibits.load(name) for name in published.COUNTERPARTS]
    frame = comparison.verdicts(loaded, runner.GENERATED)
    assert list(frame.columns) == comparison.VERDICTS
    assert not frame.duplicated(["exhibit", "row", "column", "statistic", "rule"]).any()
    for name, lines in frame.groupby("exhibit"):
        theirs = published.load(str(name))
        is_error = theirs["statistic"].str.endswith(published.DEVIATION)
        assert (lines["rule"] != published.PROCEDURE).sum() == (~is_error).sum(), name
    words = [
        Comparison.AGREES,
        Comparison.DIFFERS,
        Comparison.UNCLEAR,
        Comparison.GIVEN,
        Comparison.ABSENT,
        Comparison.BLANK,
        Comparison.LEVEL_OPEN,
        Comparison.OTHER_VARIANT,
    ]
    words.append(Comparison.SAME_DATA)
    assert frame["verdict"].isin(words).all()
    assert (frame["reason"] != "").all()
    ours = frame[frame["statistic"].eq("r a1") & frame["column"].eq("GLADIUS")]
    is_procedure = ours["rule"] == published.PROCEDURE
    assert (ours[~is_procedure]["verdict"] == Comparison.GIVEN).all()
    assert ours[is_procedure]["verdict"].isin([Comparison.AGREES, Comparison.DIFFERS]).all()
    assert (
        (frame["published"] == published.MISSING) == (frame["verdict"] == Comparison.BLANK)
    ).all()


def test_a_row_is_judged_by_the_data_that_its_experiment_was_logged_with() -> None:
    frame = comparison.verdicts([exhibits.load("table_4")], runner.GENERATED)
    row = frame[frame["row"].eq("LunarLander-v2/1")].set_index("column")
    ours = comparison.read("table_4", runner.GENERATED).set_index(["row", "column", "statistic"])
    logged = ours.loc[("LunarLander-v2/2", "IQ-learn", "% optimality"), "value"]
    assert row.loc["IQ-learn", "ours"].startswith(f"{logged:.2f}")
    assert row["reason"].str.contains("LunarLander-v2/2").all()
    assert row["verdict"].to_dict() == {
        "Gladius": Comparison.UNCLEAR,
        "IQ-learn": Comparison.DIFFERS,
        "BC": Comparison.AGREES,
    }


# --- two folders of ours
TOLERANCE = 1e-3
VALUES = st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), min_size=1, max_size=6)


def long(values: list[float], status: str = "ok", **more: Any) -> pd.DataFrame:
    """A long table, a row for each value."""
    rows = [(f"{i}", "A", "p", "MAPE", x, 0.5, 20, status) for i, x in enumerate(values)]
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS)).assign(**more)


@given(VALUES, st.data())
def test_a_number_differs_if_it_changed_by_more_than_the_tolerance(
    values: list[float], data: Any
) -> None:
    steps = [0.0, 0.9 * TOLERANCE, -0.9 * TOLERANCE, 1.1 * TOLERANCE, -1.1 * TOLERANCE]
    changes = data.draw(
        st.lists(st.sampled_from(steps), min_size=len(values), max_size=len(values))
    )
    after = [x + step * max(1.0, abs(x)) for x, step in zip(values, changes, strict=True)]
    both = differences.differences(long(values), long(after), TOLERANCE).sort_values("row")
    is_large = np.abs(changes) > TOLERANCE
    expected = (is_large & ~np.isnan(values)).tolist()
    assert both["differ"].to_list() == expected


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
def test_another_status_a_lost_number_and_a_lost_line_differ(
    before: pd.DataFrame, after: pd.DataFrame, change: float
) -> None:
    both = differences.differences(before, after, TOLERANCE)
    assert both["differ"].all()
    assert set(both["change"]) == {change}


def test_a_changed_number_is_listed(tmp_path: Path) -> None:
    """GLADIUS's at N = 250, in a copy; another count of its steps is no change of a result."""
    for name in ("table_2.csv", "figure_gumbel.csv"):
        shutil.copy(runner.GENERATED / name, tmp_path)
    command = ["compare", "figure_gumbel", "table_2", "--with", str(tmp_path)]
    same = CliRunner().invoke(app, command)
    assert (same.exit_code, same.output) == (0, "No number differs.\n")
    frame = pd.read_csv(tmp_path / "table_2.csv", dtype=str)
    of_line = frame["row"].eq("250") & frame["protocol"].eq("author oracle")
    changed = of_line & frame["statistic"].eq("MAPE")
    frame.loc[changed | (of_line & frame["statistic"].eq("iterations")), "value"] = "1000"
    frame.to_csv(tmp_path / "table_2.csv", index=False)
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    loaded = [exhibits.load(name) for name in ("figure_gumbel", "table_2")]
    lines = differences.compare_folders(loaded, runner.GENERATED, tmp_path)
    assert set(lines["statistic"]) == {"MAPE"}
    assert len(lines) == changed.sum() > 0
    assert done.output.count("author oracle") == len(lines)


def test_no_exhibit_in_both_folders_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no exhibit is both there"):
        differences.compare_folders([exhibits.load("figure_gumbel")], runner.GENERATED, tmp_path)


def test_two_lines_of_one_place_are_an_error(tmp_path: Path) -> None:
    frame = comparison.read("figure_gumbel", runner.GENERATED)
    pd.concat([frame, frame[:1]]).to_csv(tmp_path / "figure_gumbel.csv", index=False)
    with pytest.raises(InputError, match=r"figure_gumbel\.csv has two lines of one place"):
        differences.compare_folders([exhibits.load("figure_gumbel")], runner.GENERATED, tmp_path)


# exhibit -> the digest of its texts, which were compared with the paper cell by cell in 0.2.0
EXHIBITS = {
    "figure_1": "00f8c4bddccdf820",
    "table_1": "bd35dd54414c55d5",
    "table_2": "809de765cf67b8cf",
    "table_3": "e55efadf7eb532f2",
    "table_4": "c945bb962a321c55",
    "table_a1": "40bd3857f61ddb61",
    "table_a2": "48152d52306e65f4",
    "table_a3": "b0aabf067c9e2355",
    "table_a4": "cc35467a4fb3da6d",
}
TEXTS = ["row", "column", "statistic", "value", "se"]


def digest(frame: pd.DataFrame) -> str:
    """Of every text, in the printed order."""
    lines = ("|".join(line) + "\n" for line in frame[TEXTS].to_numpy().tolist())
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


@pytest.mark.parametrize("exhibit", EXHIBITS)
def test_the_file_is_the_one_that_was_compared_with_the_paper(exhibit: str) -> None:
    assert set(published.names()) == set(EXHIBITS)
    frame = published.load(exhibit)
    assert digest(frame) == EXHIBITS[exhibit]
    assert set(frame["protocol"]) == {"published"}


def test_numbers_are_those_of_the_texts() -> None:
    for exhibit in EXHIBITS:
        frame = published.load(exhibit)
        for value, parsed in zip(frame["value"], frame["number"], strict=True):
            is_text = exhibit == "table_1" or value == published.MISSING
            assert math.isnan(parsed) if is_text else parsed == float(value)


@pytest.mark.parametrize("exhibit", ["table_9", "Table_1", "", "../published/table_1"])
def test_unknown_exhibit_is_an_error_that_says_what_to_use(exhibit: str) -> None:
    with pytest.raises(InputError, match=r"figure_1, table_1"):
        published.load(exhibit)


def test_a_printed_deviation_over_episodes_is_an_error_of_the_mean() -> None:
    frame = published.with_errors(published.load("table_4"))
    frame = frame.set_index(["row", "column", "statistic"])
    assert frame.loc[("LunarLander-v2/1", "Gladius", "% optimality"), "se"] == "1.044"
    assert (frame.xs("% optimality sd", level="statistic")["se"] == "").all()
    other = published.load("table_2")
    pd.testing.assert_frame_equal(published.with_errors(other), other.assign(spread=other["se"]))


@pytest.mark.parametrize("kind", [Verdict, Comparison, OnTarget])
def test_a_word_that_is_no_verdict_is_none_and_each_has_its_rule(kind: type[Word]) -> None:
    with pytest.raises(ValueError, match="'aggrees' is not a valid"):
        kind("aggrees")
    rules = {shown.split("**")[1]: rule for _, shown, rule in vocabulary()}  # of METHODS.md
    assert all(rules[in_words(word)] == word.rule != "" for word in kind)
    assert len(vocabulary()) == len(rules) == len(Verdict) + len(Comparison) + len(OnTarget)


def test_every_verdict_of_the_files_is_a_word_with_a_rule() -> None:
    words = {str(word) for kind in (Verdict, Comparison, OnTarget) for word in kind}
    files = [runner.GENERATED / "claims.csv", *runner.GENERATED.glob("*verdicts.csv")]
    files += runner.GENERATED.glob("*_checks.csv")
    assert len(files) >= 4
    for file in files:
        found = pd.read_csv(file, keep_default_na=False)["verdict"]
        assert set(found) <= words, file
