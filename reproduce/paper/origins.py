"""Where each printed number comes from: one vocabulary, one denominator for all pages.

A printed number is a value of a table or figure, or the number in brackets beside it. The rules in
`origins.csv` are tried in order, and the first that matches decides. A pattern is one of
file names, with alternatives between bars. Table 3 repeats numbers of Table A3 and is not counted.
`stored_files.csv` has what public result files say of Table 2, by path and SHA-256; each is
recomputed from integers.
"""

import csv
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pandas as pd

from gladius.validate import InputError
from reproduce.paper import published

RULES = Path(__file__).parent / "origins.csv"
STORED = Path(__file__).parent / "stored_files.csv"
# word -> what it says of a printed number, in the order of the pages
WORDS = {
    "exact": "recomputed to the last digit, from integers or without data",
    "exact, found from it": "the same, but the number helped to find the integer or the digits",
    "same data": "of the public code's data, which a table or a log confirms; a training on them "
    "is repeated, not bit for bit",
    "same rule": "of the public code's data; it is open which, or nothing confirms them",
    "our data": "compared on data of our own alone",
    "not recoverable": "no public file or seed gives it",
}
VALUE, BRACKET = "value", "bracket"
KEY = ["table", "column", "row", "statistic", "number"]
# table -> the table that has the same numbers; of A2 and A4 these are the frequencies
REPEATS = {"table_3": "table_a3", "table_a2": "table_a1", "table_a4": "table_a3"}
NOT_COUNTED = "table_3"
NO_RATE = ("Statistical Complexity", "blank")  # of Table 1: nothing is printed
NAMED = {VALUE: ("provenance", "origin"), BRACKET: ("provenance_of_bracket", "origin_of_bracket")}


TRUE = "Ground Truth"
PARAMETERS = {"r a0": "theta_1", "r a1": "theta_2"}


def quantity(exhibit: str, row: str, column: str, statistic: str) -> str:
    """The name of what is printed; empty for a function of other printed estimates."""
    if exhibit not in published.MILEAGE_TABLES:
        return f"{exhibit} {column} {row}"
    label = f"{column} {statistic} {row}"
    if column in ("Rust", "ML-IRL"):
        if statistic not in PARAMETERS:
            return ""
        label = f"{column} {PARAMETERS[statistic]}"
    elif statistic in ("Q a1", "r a1"):  # replacement leads every mileage to the same state
        label = f"{column} {statistic}"
    is_exact = column == "Ground Truth"
    return label if is_exact else f"{label}, {published.MILEAGE_TABLES[exhibit]} trajectories"


@cache
def numbers() -> pd.DataFrame:
    """A line for each printed number: KEY, `printed`, `provenance`, `origin` (why), `repeats`.

    `repeats` names the table that has the same number too, and is empty for most.

    Raises:
        InputError: a number that no rule matches, or a rule with a word that is none of WORDS.
    """
    rules = _lines(RULES)
    lines = []
    for table in published.names():
        for line in published.load(table).to_dict("records"):
            name = line["statistic"].removesuffix(published.DEVIATION)
            is_bracket = name != line["statistic"]
            texts = {BRACKET if is_bracket else VALUE: line["value"]}
            texts |= {BRACKET: line["se"]} if line["se"] else {}
            for number, text in texts.items():
                key = (table, line["column"], line["row"], name, number)
                if text != published.MISSING and (line["column"], text) != NO_RATE:
                    lines.append([*key, text, *_rule(rules, key), _repeated(key)])
    names = [*KEY, "printed", *NAMED[VALUE], "repeats"]
    return pd.DataFrame(lines, columns=pd.Index(names))


def _rule(rules: Sequence[dict[str, str]], key: Sequence[str]) -> tuple[str, str]:
    """(provenance, origin) by the first rule that matches."""
    for rule in rules:
        patterns = (rule[name].split("|") for name in KEY)
        if all(any(map(fnmatchcase, [x] * len(p), p)) for x, p in zip(key, patterns, strict=True)):
            if rule["provenance"] not in WORDS:
                hint = f"use one of: {', '.join(WORDS)}"
                raise InputError("provenance", rule["provenance"], hint)
            return rule["provenance"], rule["origin"]
    raise InputError("printed number", "/".join(key), f"add a rule to {RULES.name}")


def _repeated(key: Sequence[str]) -> str:
    table, column, *_ = key
    is_repeated = table == NOT_COUNTED or column == "Frequency"
    return REPEATS.get(table, "") if is_repeated else ""


def beside(frame: pd.DataFrame) -> pd.DataFrame:
    """The lines of verdicts.csv with the provenance of the printed number and of its bracket.

    Args:
        frame: has `exhibit`, `row`, `column` and `statistic`.
    """
    keys = dict(zip(KEY, ("exhibit", "column", "row", "statistic"), strict=False))
    for number, names in NAMED.items():
        found = numbers()[numbers()["number"].eq(number)].rename(columns=keys)
        found = found.rename(columns=dict(zip(NAMED[VALUE], names, strict=True)))
        found = found[[*keys.values(), *names]]
        frame = frame.merge(found, "left", [*keys.values()], validate="many_to_one")
    return frame.fillna(dict.fromkeys([*NAMED[VALUE], *NAMED[BRACKET]], ""))


def counts() -> dict[str, dict[str, int]]:
    """Provenance -> `numbers`, of them `brackets`, and `distinct` quantities; and `all`."""
    frame = numbers()
    frame = frame[frame["table"].ne(NOT_COUNTED)]
    keys = frame[["table", "row", "column", "statistic"]].itertuples(index=False)
    names = pd.Series([quantity(*key) for key in keys], frame.index)
    frame = frame.assign(quantity=names.where(names.eq(""), names + frame["number"]))
    return {
        word: {
            "numbers": len(lines),
            "brackets": int(lines["number"].eq(BRACKET).sum()),
            "distinct": lines.loc[lines["quantity"].ne(""), "quantity"].nunique(),
        }
        for word in [*WORDS, "all"]
        for lines in [frame if word == "all" else frame[frame["provenance"].eq(word)]]
    }


def shares() -> dict[str, int]:
    """Of the printed numbers: entries of Table 1, and parts of those that are exact."""
    frame = numbers()
    frame = frame[frame["table"].ne(NOT_COUNTED)]
    exact = frame[frame["provenance"].str.startswith("exact")]
    by_mileage = exact[exact["table"].isin(published.MILEAGE_TABLES)]
    of_1000 = by_mileage["table"].isin(["table_a3", "table_a4"])
    is_chosen = of_1000 & by_mileage["column"].eq("Frequency")  # by the number of dummies
    is_chosen |= by_mileage["column"].eq("ML-IRL")  # by the estimator
    is_chosen |= by_mileage["statistic"].str.startswith("Q") & by_mileage["column"].eq(TRUE)  # cap
    return {
        "entries": int(frame["table"].eq("table_1").sum()),
        "true": int(by_mileage["column"].isin(["Ground Truth", "True reward"]).sum()),
        "fitted": int(by_mileage["column"].isin(["Rust", "ML-IRL"]).sum()),
        "chosen": int(is_chosen.sum()),
        "repeated": int(frame["repeats"].ne("").sum()),
        "brackets": int((frame["number"].eq(BRACKET) & frame["provenance"].eq("our data")).sum()),
    }


def stored() -> list[dict[str, str]]:
    """The lines of `stored_files.csv`."""
    return _lines(STORED)


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
