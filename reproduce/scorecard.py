"""The scorecard: verdicts on distinct quantities, by part of the paper, method and rule.

A quantity counts once. A parameter that the paper prints ten times, as a line in mileage, is one
quantity, and so is a number that a second table repeats. Functions of other printed estimates and
inputs are not counted. The verdict on a quantity is the worst of its printed numbers (WORST).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from reproduce import compare, published
from reproduce.compare import BLANK, DEPENDS, GIVEN
from reproduce.judge import AGREES, DIFFERS, NOTHING, UNCLEAR
from reproduce.means import holm
from reproduce.published import FEASIBLE, MILEAGE_TABLES, PROCEDURE
from reproduce.spec import Exhibit

TRAJECTORIES = {"table_3": "1000", "table_a3": "1000", "table_a4": "1000"}
TRAJECTORIES |= {"table_a1": "50", "table_a2": "50"}
PARAMETERS = {"r a0": "theta_1", "r a1": "theta_2"}
NOT_COUNTED = (BLANK, GIVEN)
WORST = (NOTHING, DIFFERS, DEPENDS, UNCLEAR)  # and then any other word
LEVEL = 0.05
COLUMNS = ["quantity", "p_holm"]
SPREADS = 96  # numbers in brackets in Tables 2 and 4 and Figure 1


class Group(NamedTuple):
    """A line of the scorecard."""

    name: str
    exhibits: Sequence[str]
    columns: Sequence[str]
    rule: str = ""


GROUPS = (
    Group("Reward error, GLADIUS, Table 2", ("table_2",), ("GLADIUS",), FEASIBLE),
    Group("Reward error, GLADIUS, Table 2", ("table_2",), ("GLADIUS",), PROCEDURE),
    Group("Reward error, GLADIUS, Figure 1", ("figure_1",), ("GLADIUS",), FEASIBLE),
    Group("Reward error, GLADIUS, Figure 1", ("figure_1",), ("GLADIUS",), PROCEDURE),
    Group("Reward error, Rust and ML-IRL, Table 2", ("table_2",), ("Rust", "ML-IRL")),
    Group("Reward error, SAmQ, Table 2 and Figure 1", published.OF_THE_REWARD, ("SAmQ",)),
    Group("Reward error, IQ-learn, the same", published.OF_THE_REWARD, ("IQ-learn",)),
    Group("Reward error, BC, the same", published.OF_THE_REWARD, ("BC",)),
    Group("Imitation, GLADIUS, Table 4", ("table_4",), ("Gladius",), FEASIBLE),
    Group("Imitation, GLADIUS, Table 4", ("table_4",), ("Gladius",), PROCEDURE),
    Group("Imitation, IQ-learn, Table 4", ("table_4",), ("IQ-learn",)),
    Group("Imitation, BC, Table 4", ("table_4",), ("BC",)),
    Group("r and Q by mileage, GLADIUS", MILEAGE_TABLES, ("GLADIUS",), FEASIBLE),
    Group("r and Q by mileage, GLADIUS", MILEAGE_TABLES, ("GLADIUS",), PROCEDURE),
    Group("Parameters, Rust and ML-IRL, by mileage", MILEAGE_TABLES, ("Rust", "ML-IRL")),
    Group("True Q by mileage", MILEAGE_TABLES, ("Ground Truth",)),
    Group("State frequencies by mileage", MILEAGE_TABLES, ("Frequency",)),
)


def quantity(exhibit: str, row: str, column: str, statistic: str) -> str:
    """The name of what is printed; empty for a function of other printed estimates."""
    if exhibit not in TRAJECTORIES:
        return f"{exhibit} {column} {row}"
    label = f"{column} {statistic} {row}"
    if column in ("Rust", "ML-IRL"):
        label = f"{column} {PARAMETERS[statistic]}" if statistic in PARAMETERS else ""
    elif statistic in ("Q a1", "r a1"):  # replacement leads every mileage to the same state
        label = f"{column} {statistic}"
    if not label:
        return ""
    is_exact = column == "Ground Truth"
    return label if is_exact else f"{label}, {TRAJECTORIES[exhibit]} trajectories"


def verdicts(exhibits: Sequence[Exhibit], folder: Path) -> pd.DataFrame:
    """`compare.verdicts` of exhibits with `quantity` and Holm's p over the distinct tests.

    A family of tests is a rule's: GLADIUS feasible with all other methods, and GLADIUS procedure.
    A quantity enters with the smallest p of its numbers.
    """
    frame = compare.verdicts(exhibits, folder)
    keys = zip(frame["exhibit"], frame["row"], frame["column"], frame["statistic"], strict=True)
    frame["quantity"] = [quantity(*key) for key in keys]
    frame["p_holm"] = np.nan
    is_test = frame["p"].notna() & frame["quantity"].ne("")
    is_test &= frame["verdict"].isin([AGREES, DEPENDS, DIFFERS, UNCLEAR])
    for of_rule in (frame["rule"].eq(PROCEDURE), frame["rule"].ne(PROCEDURE)):
        least = frame[is_test & of_rule].groupby("quantity")["p"].min()
        if len(least):
            corrected = pd.Series(holm(least.to_numpy(float)), index=least.index)
            chosen = is_test & of_rule
            frame.loc[chosen, "p_holm"] = frame.loc[chosen, "quantity"].map(corrected)
    end = ["verdict", "reason"]
    return frame[[*(name for name in compare.VERDICTS if name not in end), *COLUMNS, *end]]


def distinct(frame: pd.DataFrame) -> dict[str, str]:
    """Quantity -> the worst verdict of its printed numbers."""
    counted = frame[frame["quantity"].ne("") & ~frame["verdict"].isin(NOT_COUNTED)]
    return {
        str(name): next((word for word in WORST if word in set(words)), words.iloc[0])
        for name, words in counted.groupby("quantity", sort=False)["verdict"]
    }


def group_counts(frame: pd.DataFrame) -> list[dict[str, str]]:
    """The lines of the scorecard: part, rule, quantities, agree, differ, other."""
    lines = []
    for group in GROUPS:
        mine = frame[frame["exhibit"].isin(group.exhibits) & frame["column"].isin(group.columns)]
        words = list(distinct(mine[mine["rule"].eq(group.rule)]).values())
        times = [words.count(AGREES), words.count(DIFFERS)]
        other = compare.counts(word for word in words if word not in (AGREES, DIFFERS))
        texts = [str(n) for n in (len(words), *times)]
        names = ("quantities", "agree", "differ")
        lines.append({"name": group.name, "rule": group.rule, "other": other})
        lines[-1] |= dict(zip(names, texts, strict=True))
    return lines


def totals(frame: pd.DataFrame) -> dict[str, float | str]:
    """Numbers of the sentences below the scorecard."""
    headline = frame[frame["rule"].ne(PROCEDURE) & frame["p_holm"].notna()]
    tests = headline.groupby("quantity")[["p", "p_holm"]].min()
    by_column = 100 * headline.set_index(["exhibit", "column"])["half_width"]
    widths = {
        "oracles": by_column[by_column.index.isin([("table_2", "Rust"), ("table_2", "ML-IRL")])],
        "gladius": by_column[by_column.index.isin([("table_2", "GLADIUS")])],
        "imitation": by_column[by_column.index.get_level_values(0) == "table_4"],
    }
    spreads = frame[frame["rule"].ne(PROCEDURE) & frame["spread_p"].notna()]
    return {
        "tests": len(tests),
        "below": int((tests["p"] < LEVEL).sum()),
        "by_chance": round(LEVEL * len(tests)),
        "by_holm": int((tests["p_holm"] < LEVEL).sum()),
        **{f"{name}_width": f"{w.min():.0f} to {w.max():.0f} %" for name, w in widths.items()},
        "spreads": SPREADS,
        "spreads_tested": len(spreads),
        "spreads_agree": int((spreads["spread_p"] >= LEVEL).sum()),
    }
