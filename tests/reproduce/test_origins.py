"""The provenance of printed numbers: none without one, and what the words claim holds."""

import hashlib
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gladius import InputError
from proofs_checks.claims import printed_tables
from reproduce.exhibits import exact
from reproduce.paper import origins
from reproduce.run import GENERATED

AUTHOR = [f / "shared" / "data" / "author" for f in Path(__file__).parents]
VERDICTS = pd.read_csv(GENERATED / "verdicts.csv", dtype=str, keep_default_na=False)
KEY = ["table", "column", "row", "statistic"]


def test_every_printed_number_has_a_provenance_and_a_reason() -> None:
    """The denominator is counted here from the files alone."""
    count = 0
    for path in printed_tables.PUBLISHED.glob("*.csv"):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        is_rate = frame["column"].eq("Statistical Complexity") & frame["value"].eq("blank")
        count += int((frame["value"].ne("N/A") & ~is_rate).sum() + frame["se"].ne("").sum())
    frame = origins.numbers()
    assert len(frame) == count
    assert not frame.duplicated([*KEY, "number"]).any()
    assert set(frame["provenance"]) == set(origins.WORDS)
    assert frame["origin"].str.len().min() > 20
    assert frame["printed"].str.len().min() > 0


def test_every_line_of_the_verdicts_has_one_too() -> None:
    is_printed = VERDICTS["verdict"].ne("not printed")
    assert VERDICTS.loc[is_printed, ["provenance", "origin"]].ne("").all(axis=None)
    assert VERDICTS.loc[~is_printed, ["provenance", "origin"]].eq("").all(axis=None)
    has_bracket = VERDICTS["published"].str.contains("(", regex=False)
    assert has_bracket.sum() > 90
    assert VERDICTS["provenance_of_bracket"].ne("").equals(has_bracket)
    numbers = origins.numbers().set_index([*KEY, "number"])["provenance"]
    for line in VERDICTS[is_printed].to_dict("records"):
        key = (line["exhibit"], line["column"], line["row"], line["statistic"])
        assert line["provenance"] == numbers[(*key, "value")]


def test_exact_are_the_numbers_that_the_exhibit_recomputes() -> None:
    frame = exact.compared(GENERATED)
    assert (~frame["is_equal"]).sum() == 1  # the mean of ML-IRL at 5,000
    frame = frame[frame["is_equal"]]
    keys = frame["row"].str.partition("/")
    computed = set(zip(keys[0], frame["column"], keys[2], frame["statistic"], strict=True))
    claimed = origins.numbers()
    claimed = claimed[claimed["provenance"].str.startswith("exact")]
    names = claimed["statistic"] + np.where(claimed["number"].eq("bracket"), exact.BRACKET, "")
    assert set(zip(claimed["table"], claimed["column"], claimed["row"], names, strict=True)) == (
        computed
    )


def test_the_page_has_the_counts() -> None:
    page = (GENERATED / "METHODS.md").read_text("utf-8")
    counted = origins.numbers().query("table != 'table_3'")
    times = Counter(counted["provenance"])
    for word in origins.WORDS:
        assert f"| **{word}** | {times[word]} | " in page
        assert f"| **{word}** | {times[word] + 1} | " not in page  # the control
    assert sum(times.values()) == len(counted)
    of_table_1 = counted["table"].eq("table_1").sum()
    assert f"The paper prints {len(counted) - of_table_1} numbers" in page
    assert f"Table 1 has {of_table_1} entries besides" in page
    assert times["same data"] == 53


def test_table_3_and_two_columns_of_frequencies_are_repeats() -> None:
    frame = origins.numbers()
    repeated = frame[frame["repeats"].ne("")]
    assert Counter(repeated["table"]) == {"table_3": 50, "table_a2": 20, "table_a4": 20}
    for line in repeated.to_dict("records"):
        column = {"True reward": "Ground Truth"}.get(line["column"], line["column"])
        key = (line["repeats"], line["row"], column, line["statistic"])
        assert printed_tables.cell(*key).digits == line["printed"]


def cut(value: float) -> str:
    return f"{math.floor(100 * value) / 100:.2f}"


@pytest.mark.parametrize(
    "line", origins.stored(), ids=lambda line: f"{line['row']} {line['column']}"
)
def test_stored_files_give_the_printed_digits(line: dict[str, str]) -> None:
    mean, sd, n = float(line["mean"]), float(line["sd"]), int(line["n"])
    bracket = {"sd": sd, "sd / sqrt(n)": sd / math.sqrt(n)}[line["bracket"]]
    key = ("table_2", line["row"], line["column"], "MAPE")
    printed = [printed_tables.cell(*key, which=which).digits for which in ("value", "se")]
    is_stored = origins.numbers()["table"].eq("table_2") & origins.numbers()["row"].eq(line["row"])
    words = origins.numbers()[is_stored].query("column == @line['column']")["provenance"].tolist()
    wanted = [text == cut(x) for text, x in zip(printed, (mean, bracket), strict=True)]
    assert wanted == [word.startswith("exact") for word in words]
    assert wanted[1]
    for folder in AUTHOR:
        path = folder / Path(line["file"]).name
        if folder.is_dir():
            values = np.loadtxt(path, skiprows=1)
            assert hashlib.sha256(path.read_bytes()).hexdigest() == line["sha256"]
            assert len(values) == n
            np.testing.assert_allclose([values.mean(), values.std(ddof=1)], [mean, sd], atol=5e-6)


def test_a_number_without_a_rule_and_a_word_of_no_meaning_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = origins.RULES.read_text("utf-8")
    for other, message in (
        (text.replace("table_4,", "table_5,"), "table_4/Gladius/LunarLander"),
        (text.replace(",our data,", ",ours,"), "provenance"),
    ):
        path = tmp_path / "rules.csv"
        path.write_text(other, "utf-8")
        monkeypatch.setattr(origins, "RULES", path)
        with pytest.raises(InputError, match=message):
            origins.numbers.__wrapped__()


def test_every_rule_decides_some_number() -> None:
    reasons = set(origins.numbers()["origin"])
    frame = pd.read_csv(origins.RULES, dtype=str)
    assert set(frame["origin"]) == reasons
