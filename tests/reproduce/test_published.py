"""The printed numbers: the files are those that were compared with the paper's LaTeX, and load.

They were compared cell by cell and in both directions (release 0.2.0). The digests guard them
since; tables that print the same cells agree.
"""

import hashlib
import math

import pandas as pd
import pytest

from gladius.checks import InputError
from reproduce import published

# exhibit -> the digest of its texts
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
        for value, number in zip(frame["value"], frame["number"], strict=True):
            is_text = exhibit == "table_1" or value == published.MISSING
            assert math.isnan(number) if is_text else number == float(value)


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
