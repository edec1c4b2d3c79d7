"""The tables of `counterfactual`: welfare losses, every outcome, and paired differences."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from gladius import BusEngine
from gladius.counterfactual import changed, welfare
from gladius.worlds.bus import REPLACE
from reproduce import layout
from reproduce.exhibits._counterfactual import (
    CHANGES,
    DISTANCE,
    ESTIMATED,
    GAIN,
    IN_DATA,
    KEPT,
    KNOWN,
    LOSS,
    OFFLINE,
    POPULATION,
    RATE,
    SOFT,
    SOLVERS,
    UNCOVERED,
    VALUE,
    label,
)
from reproduce.results import COLUMNS, Results
from reproduce.spec import FAILED, NOT_RUN, Cell, Record, summarise
from reproduce.store import Stored

SMALL = 5e-7  # below it a loss is the rounding of V
NOTHING_TO_SHOW = "-"
MAIN = (IN_DATA, ESTIMATED)  # what the paper's remark does: for a change of r, for one of P


def found(results: Results) -> dict[tuple[str, str], tuple[Cell, Stored | None]]:
    """(row, column) -> the cell and what is stored for it."""
    pairs = zip(results.cells, results.stored, strict=True)
    return {(c.row, c.column): (c, s) for c, s in pairs}


def text(stored: Stored | None, statistic: str, change: str, solver: str) -> str:
    """A number as the tables show it."""
    if stored is None:
        return "not run"
    if stored.status.startswith(FAILED):
        return "failed"
    for r in stored.result.records:
        if r.statistic != statistic:
            continue
        if r.row and not (r.row.endswith(f", {change}") and r.protocol.endswith(f", {solver}")):
            continue
        if math.isnan(r.value):
            return "failed"
        return figures(r.value, r.se) + layout.MARKS.get(r.status, "")
    return NOTHING_TO_SHOW


def figures(value: float, se: float) -> str:
    """`value (se)` to three and two figures, since losses span five powers of ten."""
    shown = f"{value:.3g}" if abs(value) > SMALL else "0"
    return shown if math.isnan(se) or se <= SMALL else f"{shown} ({se:.2g})"


LABELS = ("change", "N", "rewards from")


def losses(results: Results, of_law: bool) -> pd.DataFrame:
    """Welfare loss: a line for each change of r (or P), N and source, a column for each solver."""
    at = found(results)
    lines = {
        (change.name, row, column): [text(stored, LOSS, change.name, s) for s in SOLVERS]
        for change in CHANGES
        if (change.law is not None) == of_law
        for (row, column), (_, stored) in at.items()
    }
    table = pd.DataFrame.from_dict(lines, orient="index", columns=list(SOLVERS))
    table.index = pd.MultiIndex.from_tuples(list(lines))
    table.columns.name = ", ".join(LABELS)
    return table


OUTCOMES = (
    ("MAPE of r-hat, %", "MAPE"),
    ("policy distance, %", DISTANCE),
    ("replacement rate", RATE),
    (VALUE, VALUE),
    (GAIN, GAIN),
    (LOSS, LOSS),
)


def outcomes(results: Results, of_law: bool) -> pd.DataFrame:
    """Every outcome of the solver that the remark has in mind, changes of r or of P."""
    at = found(results)
    lines = {}
    for change in CHANGES:
        if (change.law is not None) != of_law:
            continue
        solver = MAIN[change.law is not None]
        for (row, column), (_, stored) in at.items():
            cells_ = [text(stored, s, change.name, solver) for _, s in OUTCOMES]
            lines[change.name, row, column] = cells_
    table = pd.DataFrame.from_dict(lines, orient="index", columns=[h for h, _ in OUTCOMES])
    table.index = pd.MultiIndex.from_tuples(list(lines))
    table.columns.name = ", ".join(LABELS)
    return table


Pair = tuple[tuple[str, str | None], tuple[str, str | None]]
REMARK = "remark's solver"
# (column, solver) minus (column, solver); without a solver the remark's for the change
PAIRS: tuple[Pair, ...] = (
    (("GLADIUS", None), ("Truth", None)),
    (("GLADIUS", None), ("Rust", None)),
    (("GLADIUS", None), ("Plug-in", None)),
    (("BC", KEPT), ("GLADIUS", None)),
    (("BC", None), ("GLADIUS", None)),
    (("GLADIUS", SOFT), ("GLADIUS", IN_DATA)),
    (("GLADIUS", "CQL .1"), ("GLADIUS", IN_DATA)),
    (("GLADIUS", "CQL 1"), ("GLADIUS", IN_DATA)),
    (("GLADIUS", IN_DATA), ("GLADIUS", ESTIMATED)),
    (("GLADIUS", ESTIMATED), ("GLADIUS", KNOWN)),
    (("Plug-in", ESTIMATED), ("GLADIUS", ESTIMATED)),
)


def paired(results: Results) -> pd.DataFrame:
    """Differences of the welfare loss over equal data sets, as lines of the long table.

    `cpu_seconds` is empty, and `difference` names the pair of PAIRS.
    """
    at, lines = found(results), []
    for change in CHANGES:
        main = MAIN[change.law is not None]
        for row in dict.fromkeys(row for row, _ in at if row != POPULATION):
            for pair in PAIRS:
                (ours, first), (other, second) = ((c, s or main) for c, s in pair)
                if change.law is not None and {first, second} & set(OFFLINE):
                    continue
                series = [
                    None if s is None else s.result.replications.get(label(LOSS, change.name, by))
                    for s, by in ((at[row, ours][1], first), (at[row, other][1], second))
                ]
                one = Record(f"{LOSS} difference", math.nan, repetitions=0, status=NOT_RUN)
                if series[0] is not None and series[1] is not None:
                    gap = np.asarray(series[0]) - np.asarray(series[1])
                    one = summarise(one.statistic, gap.tolist(), ["ok"] * len(gap))[0]
                names = (f"{row}, {change.name}", f"{ours} - {other}", f"{first} - {second}")
                shown = (one.value, one.se, one.repetitions, one.status, math.nan)
                lines.append((*names, one.statistic, *shown, _name(pair)))
    return pd.DataFrame(lines, columns=pd.Index([*COLUMNS, "difference"]))


def _name(pair: Pair) -> str:
    (ours, first), (other, second) = pair
    if first == second:
        return f"{ours} - {other}, {first or REMARK}"
    if ours == other:
        return f"{ours}, {first or REMARK} - {second or REMARK}"
    return f"{ours}, {first or REMARK} - {other}, {second or REMARK}"


def differences(frame: pd.DataFrame) -> pd.DataFrame:
    """`paired` as a table: a line for each difference, a column for each change and N."""
    table: dict[tuple[str, str], dict[str, str]] = {}
    for _, one in frame.iterrows():
        n, change = one["row"].split(", ", 1)
        shown = figures(one["value"], one["se"]) if one["repetitions"] else "not run"
        table.setdefault((change, f"N = {int(n):,}"), {})[one["difference"]] = shown
    names = [name for name in map(_name, PAIRS) if any(name in c for c in table.values())]
    found_ = {c: [column.get(o, NOTHING_TO_SHOW) for o in names] for c, column in table.items()}
    return pd.DataFrame(found_, index=pd.Index(names, name="difference"))


def exact() -> list[str]:
    """What each change does, exactly."""
    world = BusEngine()
    old = world.mdp.solution
    rate = world.mdp.occupancy(world.horizon)[:, REPLACE].sum()
    lines = []
    for change in CHANGES:
        new = changed(world.mdp, change)
        after = new.occupancy(world.horizon)[:, REPLACE].sum()
        gain = new.solution.v[0] - old.v[0]
        cost = new.solution.v[0] - welfare(new, old.policy)
        lines.append(
            f"Exactly, {change.name}: V(1) goes from {old.v[0]:.3f} by {gain:+.3f}, replacements a"
            f" period from {rate:.3f} to {after:.3f}; keeping the old policy loses {cost:.4f}."
        )
    return lines


def notes(results: Results) -> list[str]:
    """What a reader must know of every table."""
    return [
        "Welfare: expected discounted reward plus entropy from mileage 1 in the true new world;"
        " loss: the best policy's less this one's (a replacement costs 5). Mean (standard error);"
        " lower is better. * some fits or solutions did not converge.",
        "kept: the estimate's own policy, unchanged. soft Q: fitted Q iteration on the logged moves"
        " with r-hat + Delta; a pair without a row takes Q of the nearest that has one. In data:"
        " such a pair is never taken. CQL: the same with the penalty alpha = .1 or 1.",
        "plan: soft Bellman equation on the mileages 1 to 20 with r-hat and P-hat (frequencies) or"
        " P, changed as the world is. '-': no logged move follows a new P, so learners have no"
        " answer; nor has a kept policy a V.",
        "Truth: the true r is given, so that only the solver errs. Rust knows P and the form of r."
        " BC: r-hat = log pi, whose error is a potential: harmless where Delta is added,"
        " not where r is scaled or P changes.",
        "Plug-in's r-hat at pairs without data is its pseudo-count's; planners take them, learners"
        " in data do not. GLADIUS carries its line on, which on this world is the truth.",
        *_coverage(results),
        *exact(),
    ]


def _coverage(results: Results) -> list[str]:
    """How much of each new path has no data."""
    lines = []
    for (row, column), (_, stored) in found(results).items():
        if column == "Truth" and row != POPULATION and stored is not None:
            shares = [
                f"{one.name} {text(stored, UNCOVERED, one.name, KEPT)}"
                for one in CHANGES
                if one.law is None
            ]
            lines.append(
                f"Per cent of the best new path (discounted) at pairs without a row, N = {row}: "
                + "; ".join(shares)
            )
    return lines
