"""Finding 1's numbers: which trainings reach a printed error, by both readings of its digits."""

from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduce.engine.provenance import ROOT
from reproduce.pages.trainings import Errors
from reproduce.run import GENERATED

READINGS = (ROUND_HALF_UP, ROUND_FLOOR)


def reaching(values: list[float], printed: str, reading: str) -> int:
    """How many would be printed as that number or less, by decimal arithmetic."""
    digits = [Decimal(x).quantize(Decimal(printed), rounding=reading) for x in values]
    return sum(x <= Decimal(printed) for x in digits)


@given(
    st.lists(st.integers(0, 10**5).map(lambda k: (k + 0.5) / 10**5), min_size=1, max_size=8),
    st.sampled_from(["0.13", "0.5", "0.84", "0.125"]),
)
def test_an_error_reaches_a_printed_one_by_its_printed_digits(x: list[float], text: str) -> None:
    errors = Errors(tuple(x), text)
    counts = tuple(reaching(x, text, reading) for reading in READINGS)
    assert errors.reaching == counts
    assert errors.are_above == (counts == (0, 0))
    unit = Decimal(1).scaleb(Decimal(text).as_tuple().exponent)
    assert errors.are_below == (reaching(x, str(Decimal(text) - unit), ROUND_HALF_UP) == len(x))
    upper = Decimal(text) + unit  # no reading prints more as `text`
    assert errors.factor <= min(x) / float(upper) < errors.factor + 0.1 + 1e-9


@pytest.mark.parametrize(
    ("least", "words", "reach"),
    [
        (0.1365, "0.1365. It reaches the printed error if that is cut, but not", "0 of 2, 1"),
        (0.1400, "0.1400. It does not reach it", "0 of 2"),
        (0.1349, "0.1349. It reaches the printed error", "1 of 2"),
    ],
)
def test_a_sentence_that_holds_by_one_reading_says_so(least: float, words: str, reach: str) -> None:
    errors = Errors((0.3, least), "0.13")
    assert errors.least.startswith(words)
    assert errors.reach.startswith(reach)


def test_the_pages_print_how_many_of_how_many_trainings_reach_each_printed_error() -> None:
    """From the exhibit's file by pandas; the last epoch is at the sixth place of a line."""
    frame = pd.read_csv(GENERATED / "table_2_author.csv", dtype={"row": str})
    first = frame[frame["column"].eq("procedure")]
    first = first[~first["protocol"].str.contains("pass|observation")]
    printed = pd.read_csv(ROOT / "paper_tables/published/table_2.csv", dtype=str)
    printed = printed[printed["column"].eq("GLADIUS")].set_index("row")["value"]
    page = (GENERATED / "FINDINGS.md").read_text("utf-8")
    some = 0
    for row, text in printed.items():
        counts = {}
        for statistic in ("MAPE best", "MAPE last"):
            x = first[first["row"].eq(row) & first["statistic"].eq(statistic)]["value"].tolist()
            rounded, cut = (reaching(x, text, reading) for reading in READINGS)
            other = f", {cut} if digits are cut" if cut != rounded else ""
            counts[statistic] = f"{rounded} of {len(x)}{other}"
            some += statistic == "MAPE best" and rounded > 0
        (line,) = (x for x in page.splitlines() if x.startswith(f"| {int(row):,} | {text} |"))
        cells = line.split(" | ")
        assert (cells[3], cells[6]) == (counts["MAPE best"], counts["MAPE last"])
    assert f"at {some} of 6 sizes some of our 16 trainings reach the printed error" in page
    reached, runs = dict.fromkeys(("best", "least held-out loss", "least training loss"), 0), 0
    for row, text in printed.items():
        for rule in reached:
            x = first[first["row"].eq(row) & first["statistic"].eq(f"MAPE {rule}")][
                "value"
            ].tolist()
            reached[rule] += reaching(x, text, READINGS[0])
        runs += len(x)
    best, held_out, trained = (f"{count} of {runs}" for count in reached.values())
    assert f"By the true reward {best} trainings reach the printed error" in page
    assert f"by the two rules on losses {held_out} and {trained}" in page
