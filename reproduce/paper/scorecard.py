"""The scorecard: verdicts on distinct quantities, and the account of all printed numbers.

A quantity counts once. A parameter that the paper prints ten times, as a line in mileage, is one
quantity, and so is a number that a second table repeats. Functions of other printed estimates and
inputs are not counted. The verdict on a quantity is the worst of its printed numbers (WORST).
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from reproduce.engine.nouns import Exhibit
from reproduce.paper import compare, origins, published
from reproduce.paper.origins import quantity as quantity
from reproduce.paper.published import FEASIBLE, MILEAGE_TABLES, PROCEDURE
from reproduce.paper.targets import LEVEL, holm
from reproduce.paper.verdicts import TESTED, Comparison

NOT_COUNTED = (Comparison.BLANK, Comparison.GIVEN)
WORST = (Comparison.ABSENT, Comparison.DIFFERS, Comparison.UNCLEAR)  # and then any other word


class Group(NamedTuple):
    """A line of the scorecard."""

    name: str
    exhibits: Iterable[str]
    columns: Iterable[str]
    rule: str = ""


GROUPS = (
    Group("Reward error, GLADIUS, Table 2", ("table_2",), ("GLADIUS",), PROCEDURE),
    Group("r and Q by mileage, GLADIUS", MILEAGE_TABLES, ("GLADIUS",), PROCEDURE),
    Group("GLADIUS, Figure 1, Table 4", ("figure_1", "table_4"), published.GLADIUS, PROCEDURE),
    Group("Rust and ML-IRL, all tables", ("table_2", *MILEAGE_TABLES), ("Rust", "ML-IRL")),
    Group("True Q and frequencies, by mileage", MILEAGE_TABLES, ("Ground Truth", "Frequency")),
    Group("Reward error, other methods", published.OF_THE_REWARD, ("SAmQ", "IQ-learn", "BC")),
    Group("Imitation, IQ-learn and BC, Table 4", ("table_4",), ("IQ-learn", "BC")),
    Group("Reward error, Table 2", ("table_2",), ("GLADIUS",), FEASIBLE),
    Group("Reward error, Figure 1", ("figure_1",), ("GLADIUS",), FEASIBLE),
    Group("r and Q by mileage", MILEAGE_TABLES, ("GLADIUS",), FEASIBLE),
    Group("Imitation, Table 4", ("table_4",), ("Gladius",), FEASIBLE),
)


# whose a printed number is -> its columns
OWNERS = {
    "GLADIUS, the paper's method": published.GLADIUS,
    "Rust and ML-IRL": ("Rust", "ML-IRL"),
    "SAmQ, IQ-learn and BC": ("SAmQ", "IQ-learn", "BC"),
    "True rewards and Q of the design": ("True reward", "Ground Truth"),
    "Frequencies of its states and actions": ("Frequency",),
}
EXACT, OPEN = "exact", "not compared"


class Account(NamedTuple):
    """How many printed numbers of an owner came out how."""

    name: str
    exact: int  # to the last digit; the others:
    agree: int
    differ: int
    cannot_tell: int
    open: int  # compared with nothing: not run, not identified, or in brackets

    @property
    def compared(self) -> int:
        """By a test."""
        return self.agree + self.differ + self.cannot_tell

    @property
    def numbers(self) -> int:
        """All of them."""
        return self.exact + self.compared + self.open


def accounts(frame: pd.DataFrame) -> list[Account]:
    """A line for each of OWNERS, from the columns of verdicts.csv alone.

    A number in brackets is a printed number, and no test has it. Table 3, which repeats numbers of
    Table A3, is not counted. GLADIUS's are judged by the rule PROCEDURE.
    """
    is_counted = frame["exhibit"].ne(origins.NOT_COUNTED) & frame["verdict"].ne(Comparison.BLANK)
    printed = frame[is_counted & frame["rule"].ne(FEASIBLE)]
    words = printed["verdict"].where(printed["verdict"].isin(TESTED), OPEN)
    words = words.mask(printed["provenance"].str.startswith(EXACT), EXACT)
    brackets = printed["provenance_of_bracket"]
    brackets = brackets[brackets.ne("")].str.startswith(EXACT).map({True: EXACT, False: OPEN})
    both = pd.concat([words, brackets])
    columns = printed["column"].loc[both.index]
    return [
        Account(name, *(int((both[columns.isin(of)] == w).sum()) for w in (EXACT, *TESTED, OPEN)))
        for name, of in OWNERS.items()
    ]


def verdicts(exhibits: Sequence[Exhibit], folder: Path) -> pd.DataFrame:
    """`compare.verdicts` of exhibits with provenance, `quantity` and `p_holm` over distinct tests.

    A family of tests is a rule's: procedure, or feasible with all other methods. A quantity enters
    with the smallest p of its numbers.
    """
    frame = origins.beside(compare.verdicts(exhibits, folder))
    keys = zip(frame["exhibit"], frame["row"], frame["column"], frame["statistic"], strict=True)
    frame["quantity"] = [quantity(*key) for key in keys]
    frame["p_holm"] = np.nan
    is_test = frame["p"].notna() & frame["quantity"].ne("")
    is_test &= frame["verdict"].isin(TESTED)
    for of_rule in (frame["rule"].eq(PROCEDURE), frame["rule"].ne(PROCEDURE)):
        family = frame[is_test & of_rule]
        least = family.groupby("quantity")["p"].min()
        corrected = dict(zip(least.index, holm(least.to_numpy(float)), strict=True))
        frame.loc[family.index, "p_holm"] = [corrected[name] for name in family["quantity"]]
    return frame


def not_run(frame: pd.DataFrame) -> list[str]:
    """The tables and figures for which GLADIUS itself was not run, as `Figure 1`."""
    return _of_gladius(frame, lambda words: words == {Comparison.ABSENT})


def trained_once(frame: pd.DataFrame) -> list[str]:
    """Those for which GLADIUS was trained once on the public data, which is no test."""
    return _of_gladius(frame, lambda words: Comparison.SAME_DATA in words)


def _of_gladius(frame: pd.DataFrame, is_so: Callable[[set[str]], bool]) -> list[str]:
    words = frame[frame["rule"].eq(PROCEDURE)].groupby("exhibit")["verdict"].agg(set)
    return [str(name).replace("_", " ").title() for name, of in words.items() if is_so(of)]


def distinct(frame: pd.DataFrame) -> dict[str, str]:
    """Quantity -> the worst verdict of its printed numbers."""
    counted = frame[frame["quantity"].ne("") & ~frame["verdict"].isin(NOT_COUNTED)]
    return {
        str(name): next((word for word in WORST if word in set(words)), words.iloc[0])
        for name, words in counted.groupby("quantity", sort=False)["verdict"]
    }


class Part(NamedTuple):
    """How many quantities of a part of the tables came out how, by one of our procedures."""

    name: str
    rule: str
    quantities: int
    exact: int  # each of their printed numbers comes out to the last digit; the others:
    agree: int
    differ: int
    cannot_tell: int
    other: str  # not tested: verdicts in words


def group_counts(frame: pd.DataFrame) -> list[Part]:
    """The lines of the scorecard."""
    lines = []
    for group in GROUPS:
        mine = frame[
            frame["exhibit"].isin(list(group.exhibits)) & frame["column"].isin(group.columns)
        ]
        mine = mine[mine["rule"].eq(group.rule)]
        verdicts_of = distinct(mine)
        is_exact = mine["provenance"].str.startswith("exact").groupby(mine["quantity"]).all()
        exact = [name for name in verdicts_of if is_exact[name]]
        words = [word for name, word in verdicts_of.items() if name not in exact]
        other = [word for word in words if word not in TESTED]
        agree, differ, cannot_tell = map(words.count, TESTED)
        counted = (len(verdicts_of), len(exact), agree, differ, cannot_tell)
        lines.append(Part(group.name, group.rule, *counted, compare.counts(other)))
    return lines


def tests_of(lines: pd.DataFrame) -> dict[str, int]:
    """Distinct tests, those with a p-value below 5 %, as expected by chance, and by Holm."""
    tests = lines[lines["p_holm"].notna()].groupby("quantity")[["p", "p_holm"]].min()
    return {
        "tests": len(tests),
        "below": int((tests["p"] < 1 - LEVEL).sum()),
        "by_chance": round((1 - LEVEL) * len(tests)),
        "by_holm": int((tests["p_holm"] < 1 - LEVEL).sum()),
    }


def totals(frame: pd.DataFrame) -> dict[str, float | str]:
    """Numbers of the sentences below the scorecard."""
    headline = frame[frame["rule"].ne(PROCEDURE) & frame["p_holm"].notna()]
    lines = headline.set_index(["exhibit", "column"])
    by_column = 100 * lines["half_width"] / lines["yardstick"]
    widths = {
        "oracles": by_column[by_column.index.isin([("table_2", "Rust"), ("table_2", "ML-IRL")])],
        "gladius": by_column[by_column.index.isin([("table_2", "GLADIUS")])],
        "imitation": by_column[by_column.index.get_level_values(0) == "table_4"],
    }
    return {
        **tests_of(headline),
        **{f"{name}_width": f"{w.min():.0f} to {w.max():.0f} %" for name, w in widths.items()},
    }
