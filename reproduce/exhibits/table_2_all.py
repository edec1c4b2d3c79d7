"""Table 2 for every method of the paper's Table 1: MAPE, iterations and convergence.

The methods are those of `gladius.METHODS`, each as it comes, and VARIANTS of them, on Table 2's
data sets, so that two methods of a row can be compared pair by pair. `converged` is each method's
own flag, which is about a gradient or a fixed point, never about having reached a limit of steps.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gladius.baselines import METHODS
from gladius.methods import needs, title
from reproduce import layout
from reproduce.compare import number
from reproduce.fits import RUNS, SMOKE_TRAJECTORIES, TRAJECTORIES, fitting, means
from reproduce.results import Results
from reproduce.spec import Cell, Entry, Exhibit, Record, Result

NAME = "table_2_all"
PLAIN = "leak_free"  # protocol of a method as it comes
# (method, word for the protocol) -> options, whether P is given
VARIANTS: dict[tuple[str, str], tuple[dict[str, Any], bool]] = {
    ("gladius", "network"): ({"function_class": "mlp"}, False),
    ("gladius", "on rows"): ({"function_class": "sparse"}, False),
    ("gladius", "sampled"): ({"function_class": "sparse", "solver": "stochastic"}, False),
    ("gladius", "Algorithm 1"): ({"protocol": "printed"}, False),
    ("nfxp", "P known"): ({}, True),
    ("mpec", "P known"): ({}, True),
    ("ccp", "NPL"): ({"stages": None}, False),
    ("ccp", "NPL, P known"): ({"stages": None}, True),
    ("ccp", "finite dependence"): ({"finite_dependence": True}, False),
    ("avi", "one-hot"): ({"regression": "one_hot", "iterations": 400, "tolerance": 1e-9}, False),
    ("semi_gradient", "linear"): ({"basis": "polynomial", "degree": 1}, False),
    ("samq", "5 cells"): ({"cells": 5}, False),
    ("iq_learn", "network"): ({"function_class": "network"}, False),
    ("ml_irl", "P known"): ({}, True),
    ("ml_irl", "finite dependence"): ({"inner": "finite_dependence"}, False),
    ("airl", "anchored"): ({"anchored": True}, False),
}
# Pairs that theory makes equal in each sample: (method, word), (method, word), tolerance in utils
EQUAL: tuple[tuple[tuple[str, str], tuple[str, str], float], ...] = (
    (("nfxp", ""), ("mpec", ""), 1e-7),
    (("nfxp", "P known"), ("mpec", "P known"), 1e-7),
    (("nfxp", ""), ("ccp", "NPL"), 1e-7),
    (("nfxp", "P known"), ("ccp", "NPL, P known"), 1e-7),
    (("nfxp", ""), ("rp", ""), 1e-9),
    (("avi", "one-hot"), ("semi_gradient", ""), 1e-9),
    (("ccp", "finite dependence"), ("ml_irl", "finite dependence"), 1e-9),
)
# ... and pairs with one limit that differ in each sample
ALIKE: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = (
    (("ccp", ""), ("nfxp", "")),
    (("ccp", "finite dependence"), ("nfxp", "")),
    (("semi_gradient", ""), ("nfxp", "")),
    (("avi", ""), ("semi_gradient", "")),
    (("ml_irl", ""), ("nfxp", "")),
    (("nfxp", ""), ("nfxp", "P known")),
    (("airl", "anchored"), ("plug_in", "")),
)
MILEAGES = 10  # rewards are compared at the mileages that the paper's tables show


def entries(smoke: bool) -> list[Entry]:
    """Every method and variant at every N, on the data sets of Table 2."""
    lines = [*((method, "") for method in METHODS), *VARIANTS]
    return [
        Entry(str(n), *column_of(*line), cell(*line, n, smoke))
        for n, line in product(SMOKE_TRAJECTORIES if smoke else TRAJECTORIES, lines)
    ]


def cell(method: str, word: str, trajectories: int, smoke: bool) -> Cell:
    """The fit of a variant; of a method as it comes without a word."""
    options, oracle = VARIANTS[method, word] if word else ({}, False)
    return fitting(method, trajectories, smoke, options, oracle=oracle)


def column_of(method: str, word: str) -> tuple[str, str]:
    """(column, protocol) of a variant."""
    return title(method), f"{PLAIN} {word}".strip()


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The score, and what the fit took."""
    return (*result.records, *means(result, RUNS))


NOTES = (
    "MAPE in per cent over the pairs of the test split, mean over data sets (standard error); the"
    " same data sets for all lines. r = 0 has MAPE 100.",
    "In brackets what a method is defined by beside states, actions and the discount factor:"
    " transition probabilities (by frequencies unless known), the form of r, the anchor's reward."
    " GLADIUS needs no P, but ours takes its inner maximum over frequencies: see table_1.",
    "SAmQ is given r(., a1) beside the form, so that one parameter is left, and as many cells as"
    " there are states make it maximum likelihood.",
    "* some data sets did not converge, ! some diverged: they are in the mean. Methods without form"
    " and anchor identify no reward; theirs is the one that their objective picks.",
)
RUN_NOTES = (
    "Mean over data sets of: outer iterations [steps of inner loops]; share of fits that converged"
    " by the method's own rule. Processor seconds of one fit are in table_2_all_timings.csv.",
)
PAIR_NOTES = (
    "Largest |r-hat - r-hat'| in utils over data sets and the pairs of mileages 1 to 10 that each"
    " data set has; yes: within the tolerance in every data set, as theory says. RP without dummies"
    " has one cell and is NFXP.",
    "Where theory says equal in the limit only: mean difference of the MAPE over equal data sets"
    " (standard error), in per cent points. Both errors vanish, so that this is about their sizes.",
)


def render(results: Results, out: Path) -> None:
    """Tables of the errors, of what the fits took, and of who agrees with whom."""
    frame, rows, mape = results.frame(), results.rows, layout.texts(results)
    lines = {(e.column, e.protocol): e.cell.settings for e in results.entries}
    errors: dict[str, list[str]] = {}
    runs: dict[str, list[str]] = {}
    for (column, protocol), settings in lines.items():
        # what the method is defined by, the next states apart
        uses = [word for word in needs(settings["method"]) if word != "next"]
        uses += ["anchor"] * bool(settings.get("options", {}).get("anchored"))
        word = protocol.removeprefix(PLAIN).strip()
        label = column + (f" ({word})" if word else "") + (f" [{', '.join(uses)}]" if uses else "")
        line = frame[(frame["column"] == column) & (frame["protocol"] == protocol)]
        errors[label] = [mape.get((row, column, protocol), "not run") for row in rows]
        runs[label] = [_run(line[line["row"] == row]) for row in rows]
    about = "Every method on Table 2's data"
    for texts, suffix, heading, notes in (
        (errors, "", EXHIBIT.title, NOTES),
        (runs, "_runs", f"{about}: iterations, convergence", RUN_NOTES),
        (_pairs(results, rows), "_pairs", f"{about}: who agrees", PAIR_NOTES),
    ):
        table = pd.DataFrame(texts, index=pd.Index(rows, name="trajectories")).T
        table.index.name = "trajectories"
        layout.write(table, out, NAME + suffix, heading, notes)


def _pairs(results: Results, rows: list[str]) -> dict[str, list[str]]:
    """Differences of rewards where theory says equal, of MAPE where it says alike."""
    found = {}
    for one, other, tolerance in EQUAL:
        label = f"{_name(one)} = {_name(other)}, tolerance {tolerance:.0e}"
        found[label] = [_equal(results, row, one, other, tolerance) for row in rows]
    for one, other in ALIKE:
        pair = (column_of(*one), column_of(*other))
        texts = []
        for row in rows:
            gap, se, times = results.paired(row, *pair)
            texts.append(f"{number(gap)} ({number(se)})" if times else "not run")
        found[f"{_name(one)} - {_name(other)}"] = texts
    return found


def _equal(
    results: Results, row: str, one: tuple[str, str], other: tuple[str, str], tolerance: float
) -> str:
    arrays = [results.get(row, *column_of(*which)).result.arrays for which in (one, other)]
    if not all("reward" in found for found in arrays):
        return "not run"
    first, second = (a["reward"][:, :MILEAGES] for a in arrays)
    gap = float(np.max(np.abs(first - second)[arrays[0]["visits"][:, :MILEAGES] > 0]))
    return f"{gap:.0e} {'yes' if gap <= tolerance else 'NO'}"


def _name(which: tuple[str, str]) -> str:
    method, word = which
    return column_of(method, word)[0] + (f" ({word})" if word else "")


def _run(lines: pd.DataFrame) -> str:
    value = dict(zip(lines["statistic"], lines["value"], strict=True))
    if not set(RUNS) <= set(value):
        return "-"
    inner = f" [{value['inner iterations']:.0f}]" if value["inner iterations"] else ""
    return f"{value['iterations']:.0f}{inner}, {100 * value['converged']:.0f} %"


EXHIBIT = Exhibit(
    NAME,
    "Table 2 extended: MAPE of the reward, every method of Table 1",
    entries,
    cost=10.5,
    render=render,
    view=view,
    tolerance=5e-4,
)
