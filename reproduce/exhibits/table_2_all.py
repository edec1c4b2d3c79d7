"""Table 2 for every method of the paper's Table 1: MAPE, time, iterations and convergence.

The methods are those of `gladius.METHODS`, each as it comes, and VARIANTS of them; the data sets
are Table 2's, so that two methods of a row can be compared pair by pair. A method gets the training
split, the anchor's reward and the discount factor; those with `law known` the true transition law
too. `converged` is each method's own flag, which is about a gradient or a fixed point, never about
having reached a limit of steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gladius import METHODS, BusEngine
from gladius.methods import needs, title
from reproduce import layout
from reproduce.comparison import number
from reproduce.exhibits import _bus
from reproduce.layout import MARKS
from reproduce.results import Results
from reproduce.spec import FAILED, Cell, Exhibit, Record, Result

NAME = "table_2_all"
TRAJECTORIES, SMOKE_TRAJECTORIES = (50, 250, 500, 1000, 2500, 5000), (50, 250)
REPETITIONS, SMOKE_REPETITIONS = 20, 2
PLAIN = "leak_free"  # protocol of a method as it comes
# method, word for the protocol, options, whether the true law is given
VARIANTS: tuple[tuple[str, str, dict[str, object], bool], ...] = (
    ("gladius", "network", {"function_class": "mlp"}, False),
    ("gladius", "Algorithm 1", {"protocol": "printed"}, False),
    ("nfxp", "law known", {}, True),
    ("mpec", "law known", {}, True),
    ("ccp", "NPL", {"stages": None}, False),
    ("ccp", "NPL, law known", {"stages": None}, True),
    ("ccp", "finite dependence", {"finite_dependence": True}, False),
    ("avi", "one-hot", {"regression": "one_hot", "iterations": 400, "tolerance": 1e-9}, False),
    ("pqr", "tabular", {"regression": "tabular"}, False),
    ("semi_gradient", "linear", {"basis": "polynomial", "degree": 1}, False),
    ("samq", "5 cells", {"cells": 5}, False),
    ("iq_learn", "network", {"function_class": "network"}, False),
    ("ml_irl", "law known", {}, True),
    ("ml_irl", "finite dependence", {"inner": "finite_dependence"}, False),
    ("airl", "anchored", {"anchored": True}, False),
)
# Pairs that theory makes equal in each sample: (method, word), (method, word), tolerance in utils
EQUAL: tuple[tuple[tuple[str, str], tuple[str, str], float], ...] = (
    (("nfxp", ""), ("mpec", ""), 1e-7),
    (("nfxp", "law known"), ("mpec", "law known"), 1e-7),
    (("nfxp", ""), ("ccp", "NPL"), 1e-7),
    (("nfxp", "law known"), ("ccp", "NPL, law known"), 1e-7),
    (("nfxp", ""), ("rp", ""), 1e-9),
    (("avi", "one-hot"), ("semi_gradient", ""), 1e-9),
    (("plug_in", ""), ("pqr", "tabular"), 1e-9),
    (("ccp", "finite dependence"), ("ml_irl", "finite dependence"), 1e-9),
)
# ... and pairs with one limit that differ in each sample
ALIKE: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = (
    (("ccp", ""), ("nfxp", "")),
    (("ccp", "finite dependence"), ("nfxp", "")),
    (("semi_gradient", ""), ("nfxp", "")),
    (("avi", ""), ("semi_gradient", "")),
    (("ml_irl", ""), ("nfxp", "")),
    (("nfxp", ""), ("nfxp", "law known")),
    (("airl", "anchored"), ("plug_in", "")),
)
MILEAGES = 10  # rewards are stored at the mileages that the paper's tables show
RUNS = ("CPU seconds", "iterations", "inner iterations", "converged")


def cells(smoke: bool) -> list[Cell]:
    """Every method and variant at every N, on the data sets of Table 2."""
    found = []
    every: list[tuple[str, str, dict[str, object], bool]]
    every = [(name, PLAIN, {}, False) for name in METHODS]
    every += [(m, column_of(m, word)[1], options, law) for m, word, options, law in VARIANTS]
    for n in SMOKE_TRAJECTORIES if smoke else TRAJECTORIES:
        for method, protocol, options, oracle in every:
            settings: dict[str, object] = {
                "method": method,
                "options": options,
                "oracle": oracle,
                "trajectories": n,
                "repetitions": SMOKE_REPETITIONS if smoke else REPETITIONS,
                "seeds": "table_2",
            }
            found.append(Cell(NAME, str(n), title(method), protocol, settings))
    return found


def options_of(method: str, word: str) -> dict[str, object]:
    """Options of a variant; of a method as it comes where the word is empty."""
    if not word:
        return {}
    (options,) = [o for m, w, o, _ in VARIANTS if (m, w) == (method, word)]
    return dict(options)


def column_of(method: str, word: str) -> tuple[str, str]:
    """(column, protocol) of a variant."""
    return title(method), f"{PLAIN} {word}".strip()


def compute(cell: Cell, device: str) -> Result:
    """Fit all repetitions in one call and score them; small, so always on the CPU."""
    world = BusEngine()
    train, test = _bus.data_sets(world, cell)
    estimates = _bus.fit(world, cell, train)
    scored = _bus.score(world, estimates, test)
    looks = [e.diagnostics for e in estimates]
    inner = [float(np.asarray(d.extra.get("inner_iterations", 0.0))) for d in looks]
    runs = {
        "CPU seconds": [d.cpu_seconds for d in looks],
        "iterations": [float(d.iterations) for d in looks],
        "inner iterations": inner,
        "converged": [float(d.converged) for d in looks],
    }
    status = scored.records[0].status
    means = [
        Record(k, float(np.mean(v)), repetitions=len(v), status=status) for k, v in runs.items()
    ]
    grid = world.mdp.features[:MILEAGES]
    rewards = [[e.reward(grid, a) for a in (0, 1)] for e in estimates]
    pairs = [np.stack([one.states[:, 0] - 1, one.actions]).astype(np.int64) for one in train]
    seen = np.zeros((len(train), 2, len(world.mdp.features)))
    for r, (state, action) in enumerate(pairs):
        seen[r, action, state] = 1.0
    return Result(
        (*scored.records, *means),
        {**scored.replications, **runs},
        {"reward": np.array(rewards), "seen": seen[:, :, :MILEAGES]},
        scored.cpu_seconds,
    )


NOTES = (
    "MAPE in per cent over the pairs of the test split, mean over data sets (standard error); the"
    " same data sets for all lines. r = 0 has MAPE 100.",
    "In brackets what a method is defined by beside states, actions and the discount factor: a"
    " transition law (by frequencies unless known), the form of r, the anchor's reward. GLADIUS"
    " needs no law, but ours takes its inner maximum over frequencies: see table_1.",
    "SAmQ is given r(., a1) beside the form, so that one parameter is left, and as many cells as"
    " there are states make it maximum likelihood.",
    "* some data sets did not converge, ! some diverged: they are in the mean. Methods without form"
    " and anchor identify no reward; theirs is the one that their objective picks.",
)
RUN_NOTES = (
    "Mean over data sets of: processor seconds of one fit; outer iterations [steps of inner loops];"
    " share of fits that converged by the method's own rule.",
)
PAIR_NOTES = (
    "Largest |r-hat - r-hat'| in utils over data sets and the pairs of mileages 1 to 10 that each"
    " data set has; yes: within the tolerance in every data set, as theory says. RP without dummies"
    " has one cell and is NFXP.",
    "Where theory says equal in the limit only: mean difference of the MAPE over equal data sets"
    " (standard error), in per cent points. Both errors vanish, so that this is about their sizes.",
)


def render(results: Results, out: Path) -> list[Path]:
    """Tables of the errors, of what the fits took, and of who agrees with whom."""
    frame = results.frame()
    rows = list(dict.fromkeys(frame["row"]))
    lines = {(c.column, c.protocol): c.settings for c in results.cells}
    errors: dict[str, list[str]] = {}
    runs: dict[str, list[str]] = {}
    for (column, protocol), settings in lines.items():
        uses = ", ".join(_uses(settings))
        word = protocol.removeprefix(PLAIN).strip()
        label = column + (f" ({word})" if word else "") + (f" [{uses}]" if uses else "")
        mine = frame[(frame["column"] == column) & (frame["protocol"] == protocol)]
        errors[label] = [_error(mine[mine["row"] == row]) for row in rows]
        runs[label] = [_run(mine[mine["row"] == row]) for row in rows]
    index = pd.Index(rows, name="trajectories")
    about = "Every method on Table 2's data"
    taken, agreed = f"{about}: time, iterations, convergence", f"{about}: who agrees"
    return [
        *_write(errors, index, out, "", EXHIBIT.title, NOTES),
        *_write(runs, index, out, "_runs", taken, RUN_NOTES),
        *_write(_pairs(results, rows), index, out, "_pairs", agreed, PAIR_NOTES),
    ]


def _uses(settings: Mapping[str, Any]) -> list[str]:
    """What a line's method is defined by, the next states apart."""
    uses = [one for one in needs(str(settings["method"])) if one != "next"]
    return uses + ["anchor"] * bool(settings["options"].get("anchored"))


def _write(
    lines: dict[str, list[str]],
    rows: pd.Index,
    out: Path,
    suffix: str,
    heading: str,
    notes: Sequence[str],
) -> list[Path]:
    table = pd.DataFrame(lines, index=rows).T
    table.index.name = rows.name
    return layout.write(table, out, NAME + suffix, heading, notes)


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
    stored = [results.get(row, *column_of(*which)) for which in (one, other)]
    arrays = [s.result.arrays for s in stored if s is not None and "reward" in s.result.arrays]
    if len(arrays) < 2:
        return "not run"
    (first, second), seen = (a["reward"] for a in arrays), arrays[0]["seen"]
    gap = float(np.max(np.abs(first - second)[seen > 0]))
    return f"{gap:.0e} {'yes' if gap <= tolerance else 'NO'}"


def _name(which: tuple[str, str]) -> str:
    method, word = which
    return title(method) + (f" ({word})" if word else "")


def _error(mine: pd.DataFrame) -> str:
    known = mine[mine["statistic"] == "MAPE"]
    if known.empty:
        return "not run"
    line = known.iloc[0]
    if str(line["status"]).startswith(FAILED) and np.isnan(line["value"]):
        return "failed"
    return f"{number(line['value'])} ({number(line['se'])})" + MARKS.get(str(line["status"]), "")


def _run(mine: pd.DataFrame) -> str:
    value = {str(line["statistic"]): float(line["value"]) for _, line in mine.iterrows()}
    if not set(RUNS) <= set(value):
        return "-"
    inner = f" [{value['inner iterations']:.0f}]" if value["inner iterations"] else ""
    share = f"{100 * value['converged']:.0f} %"
    return f"{number(value['CPU seconds'])} s, {value['iterations']:.0f}{inner}, {share}"


EXHIBIT = Exhibit(
    NAME, "Table 2 extended: MAPE of the reward, every method of Table 1", cells, compute, render
)
