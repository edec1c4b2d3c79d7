"""The scorecard: verdicts on distinct quantities, by part of the paper, method and rule.

A quantity counts once. A parameter that the paper prints ten times, as a line in mileage, is one
quantity, and so is a number that a second table repeats. Functions of other printed estimates and
inputs are not counted. The verdict on a quantity is the worst of its printed numbers (WORST).
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from reproduce.engine.nouns import Exhibit
from reproduce.paper import compare, origins, published
from reproduce.paper.compare import ABSENT, BLANK, GIVEN
from reproduce.paper.judge import DIFFERS, TESTED, UNCLEAR
from reproduce.paper.origins import quantity as quantity
from reproduce.paper.published import FEASIBLE, MILEAGE_TABLES, PROCEDURE
from reproduce.paper.targets import LEVEL, holm

NOT_COUNTED = (BLANK, GIVEN)
WORST = (ABSENT, DIFFERS, UNCLEAR)  # and then any other word


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


def distinct(frame: pd.DataFrame) -> dict[str, str]:
    """Quantity -> the worst verdict of its printed numbers."""
    counted = frame[frame["quantity"].ne("") & ~frame["verdict"].isin(NOT_COUNTED)]
    return {
        str(name): next((word for word in WORST if word in set(words)), words.iloc[0])
        for name, words in counted.groupby("quantity", sort=False)["verdict"]
    }


def group_counts(frame: pd.DataFrame) -> list[dict[str, str]]:
    """The lines of the scorecard: part, rule, quantities, exact, agree, differ, cannot_tell, other.

    A quantity is exact if each of its printed numbers is recomputed to the last digit. The verdicts
    are those of the others.
    """
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
        numbers = {"quantities": len(verdicts_of), "exact": len(exact)}
        names = ("agree", "differ", "cannot_tell")
        numbers |= {name: words.count(word) for name, word in zip(names, TESTED, strict=True)}
        line = {"name": group.name, "rule": group.rule, "other": compare.counts(other)}
        lines.append(line | {name: str(number) for name, number in numbers.items()})
    return lines


def totals(frame: pd.DataFrame) -> dict[str, float | str]:
    """Numbers of the sentences below the scorecard."""
    headline = frame[frame["rule"].ne(PROCEDURE) & frame["p_holm"].notna()]
    tests = headline.groupby("quantity")[["p", "p_holm"]].min()
    lines = headline.set_index(["exhibit", "column"])
    by_column = 100 * lines["half_width"] / lines["yardstick"]
    widths = {
        "oracles": by_column[by_column.index.isin([("table_2", "Rust"), ("table_2", "ML-IRL")])],
        "gladius": by_column[by_column.index.isin([("table_2", "GLADIUS")])],
        "imitation": by_column[by_column.index.get_level_values(0) == "table_4"],
    }
    return {
        "tests": len(tests),
        "below": int((tests["p"] < 1 - LEVEL).sum()),
        "by_chance": round((1 - LEVEL) * len(tests)),
        "by_holm": int((tests["p_holm"] < 1 - LEVEL).sum()),
        **{f"{name}_width": f"{w.min():.0f} to {w.max():.0f} %" for name, w in widths.items()},
    }
