"""Counterfactuals on the bus engine: every reward carried through, with and without a model of P.

The paper's remark: a change of the reward is solved by offline reinforcement learning on relabelled
data without P, a change of P with a model. Every estimate from Table 2's data sets (training split)
goes through each solver, and the policy is judged in the true new world; `notes` says what the
solvers see. The population is infinitely many data, where every anchored estimate is the truth.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gladius.counterfactual import changed, welfare
from gladius.mdp import TabularMDP
from gladius.worlds.bus import REPLACE, BusEngine
from reproduce import counterfactuals as work
from reproduce import layout
from reproduce.exhibits import table_2
from reproduce.fits import fitting
from reproduce.results import COLUMNS, Results, mean_of
from reproduce.spec import FAILED, NOT_RUN, Cell, Entry, Exhibit, Record, Result
from reproduce.store import Stored

NAME = "counterfactual"
TRAJECTORIES, SMOKE_TRAJECTORIES = (50, 1000), (50,)
# Where rewards come from: (column, protocol) -> method; options and knowledge as in Table 2 where
# it has the column. A method joins by a line here; its column names its lines in the tables.
SOURCES = {
    ("Truth", "measured"): "",
    ("Rust", "fresh"): "nfxp",
    ("Plug-in", "leak_free tabular"): "plug_in",
    ("GLADIUS", "leak_free smooth"): "gladius",
    ("BC", "leak_free zero_value"): "bc",
    ("CCP", "leak_free"): "ccp",
    ("MPEC", "leak_free"): "mpec",
    ("AVI", "leak_free"): "avi",
    ("Semi-gradient", "leak_free"): "semi_gradient",
    ("RP", "leak_free"): "rp",
    ("PQR", "leak_free"): "pqr",
    ("SAmQ", "leak_free"): "samq",
    ("IQ-learn", "leak_free table"): "iq_learn",
    ("Clare", "leak_free"): "clare",
    ("ML-IRL", "leak_free"): "ml_irl",
    ("AIRL", "leak_free"): "airl",
}
IN_POPULATION = ("Truth", "BC")


def entries(smoke: bool) -> list[Entry]:
    """The population, then every source at each N."""
    shown = []

    def add(row: str, which: tuple[str, str], settings: Mapping[str, Any]) -> None:
        module = "counterfactual_fits" if "method" in settings else "counterfactuals"
        cell = Cell(f"reproduce.{module}:compute", settings, f"{NAME}, {which[0]}, {row}")
        shown.append(Entry(row, *which, cell, work.LOSS))

    for column in IN_POPULATION:
        add(work.POPULATION, (column, "measured"), {"population": column})
    for n in SMOKE_TRAJECTORIES if smoke else TRAJECTORIES:
        for which, method in SOURCES.items():
            cell = fitting(method or "gladius", n, smoke)
            if which in table_2.FITS:
                cell = table_2.cell(*which, n, smoke)
            add(str(n), which, {k: v for k, v in cell.settings.items() if k != "method" or method})
    return shown


def view(entry: Entry, result: Result) -> list[Record]:
    """A record's change joins the row, its solver the protocol."""
    return [
        replace(r, row=f"{entry.row}, {r.row}", protocol=f"{entry.protocol}, {r.protocol}")
        if r.row
        else r
        for r in result.records
    ]


# --- tables
Places = Mapping[tuple[str, str], Stored]  # by (N, column)
SMALL = 5e-7  # below it a loss is the rounding of V
ROUNDED = 1e-9  # of a number: a smaller standard error is the rounding of equal ones
NOTHING_TO_SHOW = "-"
MAIN = (work.IN_DATA, work.ESTIMATED)  # what the remark does: for a change of r, for one of P


def by_place(results: Results) -> Places:
    """(row, column) -> what is stored there."""
    return {(entry.row, entry.column): stored for entry, stored in results}


def text(stored: Stored, statistic: str, change: str, solver: str) -> str:
    """A number as the tables show it."""
    if stored.status.startswith(FAILED):
        return "failed"
    for r in stored.result.records:
        if (r.statistic, r.row, r.protocol) == (statistic, change, solver):
            mark = layout.MARKS.get(r.status, "")
            return "failed" if math.isnan(r.value) else figures(r.value, r.se) + mark
    return NOTHING_TO_SHOW


def figures(value: float, se: float) -> str:
    """`value (se)` to three and two figures, since losses span five powers of ten."""
    shown = f"{value:.3g}" if abs(value) > SMALL else "0"
    is_rounding = se <= max(ROUNDED * abs(value), SMALL * (shown == "0"))
    return shown if math.isnan(se) or is_rounding else f"{shown} ({se:.2g})"


def losses(results: Results, of_transition: bool) -> pd.DataFrame:
    """Welfare loss: a line for each change of r (or P), N and source, a column for each solver."""
    lines = {
        (change.name, row, column): [text(stored, work.LOSS, change.name, s) for s in work.SOLVERS]
        for change in work.CHANGES
        if (change.transition is not None) == of_transition
        for (row, column), stored in by_place(results).items()
    }
    table = pd.DataFrame.from_dict(lines, orient="index", columns=list(work.SOLVERS))
    table.index = pd.MultiIndex.from_tuples(list(lines))
    table.columns.name = "change, N, rewards from"
    return table


Pair = tuple[tuple[str, str | None], tuple[str, str | None]]
# (column, solver) minus (column, solver); without a solver the remark's for the change
PAIRS: tuple[Pair, ...] = (
    (("GLADIUS", None), ("Truth", None)),
    (("GLADIUS", None), ("Rust", None)),
    (("GLADIUS", None), ("Plug-in", None)),
    (("BC", work.KEPT), ("GLADIUS", None)),
    (("BC", None), ("GLADIUS", None)),
    (("GLADIUS", work.SOFT), ("GLADIUS", work.IN_DATA)),
    (("GLADIUS", "CQL .1"), ("GLADIUS", work.IN_DATA)),
    (("GLADIUS", "CQL 1"), ("GLADIUS", work.IN_DATA)),
    (("GLADIUS", work.IN_DATA), ("GLADIUS", work.ESTIMATED)),
    (("GLADIUS", work.ESTIMATED), ("GLADIUS", work.KNOWN)),
    (("Plug-in", work.ESTIMATED), ("GLADIUS", work.ESTIMATED)),
)


def paired(results: Results) -> pd.DataFrame:
    """Differences of the welfare loss over equal data sets, as lines of the long table."""
    places, lines = by_place(results), []
    rows = [row for row in results.rows if row != work.POPULATION]
    for change, row, pair in product(work.CHANGES, rows, PAIRS):
        main = MAIN[change.transition is not None]
        (ours, first), (other, second) = ((c, s or main) for c, s in pair)
        if change.transition is not None and {first, second} & set(work.OFFLINE):
            continue
        series = [
            places[row, column].result.replications.get(
                work.label(work.LOSS, change.name, solver), ()
            )
            for column, solver in ((ours, first), (other, second))
        ]
        there = all(series)
        numbers = mean_of(np.subtract(series[0], series[1])) if there else (math.nan, math.nan, 0)
        names = (f"{row}, {change.name}", f"{ours} - {other}", f"{first} - {second}")
        status = "ok" if there else NOT_RUN
        lines.append((*names, f"{work.LOSS} difference", *numbers, status))
    return pd.DataFrame(lines, columns=pd.Index(COLUMNS))


def loss_of_keeping(world: BusEngine, new: TabularMDP) -> float:
    """Welfare that the old policy loses in the new world."""
    return float(new.solution.v[0]) - welfare(new, world.mdp.solution.policy)


def exact() -> list[str]:
    """What each change does, exactly."""
    world = BusEngine()
    v = world.mdp.solution.v[0]
    rate = world.mdp.occupancy(world.horizon)[:, REPLACE].sum()
    lines = []
    for change in work.CHANGES:
        new = changed(world.mdp, change)
        after = new.occupancy(world.horizon)[:, REPLACE].sum()
        lines.append(
            f"Exactly, {change.name}: V(1) goes from {v:.3f} by {new.solution.v[0] - v:+.3f},"
            f" replacements a period from {rate:.3f} to {after:.3f}; keeping the old policy loses"
            f" {loss_of_keeping(world, new):.4f}."
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
    for (row, column), stored in by_place(results).items():
        if column == "Truth" and row != work.POPULATION:
            told = f"Per cent of the best new path (discounted) at pairs without a row, N = {row}: "
            names = [change.name for change in work.CHANGES if change.transition is None]
            shares = [f"{name} {text(stored, work.UNCOVERED, name, work.KEPT)}" for name in names]
            lines.append(told + "; ".join(shares))
    return lines


# --- the figure
SHOWN = 12  # mileages; beyond them hardly anyone comes
# whether P changes -> lines (name, column, solver, colour, marker)
POLICIES = {
    False: (
        ("GLADIUS, CQL 1", "GLADIUS", "CQL 1", layout.ORANGE, "v"),
        ("GLADIUS, soft Q in data", "GLADIUS", work.IN_DATA, layout.VERMILION, "o"),
        ("BC (log pi), soft Q in data", "BC", work.IN_DATA, layout.PURPLE, "P"),
    ),
    True: (
        ("GLADIUS, plan with P-hat", "GLADIUS", work.ESTIMATED, layout.BLUE, "D"),
        ("BC (log pi), plan with P-hat", "BC", work.ESTIMATED, layout.PURPLE, "P"),
    ),
}


def _draw(results: Results, out: Path) -> None:
    """A panel of policies for each change, at the most trajectories."""
    world, places, x = BusEngine(), by_place(results), np.arange(1, SHOWN + 1)
    row = str(max(int(row) for row, _ in places if row.isdigit()))
    old = world.mdp.solution.policy
    figure = layout.new_figure(layout.PAGE * 1.35, 2.6)
    panels = figure.subplots(1, len(work.CHANGES), sharey=True)
    for axes, change in zip(panels, work.CHANGES, strict=True):
        new = changed(world.mdp, change).solution.policy
        black: dict[str, Any] = {"color": layout.BLACK}
        axes.plot(x, old[:SHOWN, REPLACE], ":", linewidth=1, label="old policy", **black)
        axes.plot(x, new[:SHOWN, REPLACE], linewidth=1.6, label="best new policy", **black)
        for name, column, solver, colour, marker in POLICIES[change.transition is not None]:
            arrays = places[row, column].result.arrays
            drawn = arrays.get(work.label("replacement", change.name, solver))
            if drawn is not None:
                style: dict[str, Any] = {"color": colour, "marker": marker, "label": name}
                axes.plot(x, drawn[:SHOWN], markersize=3.5, linewidth=0.7, **style)
        axes.set_xticks(x[1::2])
        layout.words(axes, f"mileage (means at N = {int(row):,})", title=change.name)
        axes.legend(fontsize=layout.FONT - 1.5, frameon=False, loc="lower right")
    panels[0].set_ylabel("probability of replacing", fontsize=layout.FONT)
    title = "Answers to a change of the reward (left two) and of P (right two)"
    figure.suptitle(title, fontsize=layout.FONT + 2)
    layout.save(figure, out, f"{NAME}_policies")


def render(results: Results, out: Path) -> None:
    """The losses after changes of r and of P, their paired differences, and a figure."""
    layout.write_csv(paired(results), out / f"{NAME}_paired.csv")
    for of_transition, suffix, what in ((False, "", "r"), (True, "_law", "P")):
        heading = f"{EXHIBIT.title}, a change of {what}: welfare loss by solver"
        table = losses(results, of_transition)
        layout.write(table, out, NAME + suffix, heading, notes(results))
    _draw(results, out)


def verdict(folder: Path) -> str:
    """What share of the gain from answering each solver gets, from GLADIUS's rewards at most N.

    The least by kind of change and the solver that the remark takes; then all of them.
    """
    frame = pd.read_csv(folder / f"{NAME}.csv")
    frame = frame[(frame["statistic"] == work.LOSS) & (frame["column"] == "GLADIUS")]
    size = max(int(row.split(",")[0]) for row in frame["row"] if "," in row)
    world = BusEngine()
    parts: list[str] = []
    least: dict[str, float] = {}
    for change in work.CHANGES:
        kept = loss_of_keeping(world, changed(world.mdp, change))
        here = frame[frame["row"] == f"{size}, {change.name}"].set_index("protocol")["value"]
        shares = {
            solver: 100 * (1 - float(value) / kept)
            for solver in (work.IN_DATA, "CQL 1", work.ESTIMATED)
            for name, value in here.items()
            if str(name).endswith(f", {solver}")
        }
        main = MAIN[change.transition is not None]
        if main in shares:
            least[main] = min(least.get(main, math.inf), shares[main])
        told = ", ".join(f"{share:.1f} % {solver}" for solver, share in shares.items())
        parts.append(f"{change.name}: {told}")
    worst = ", ".join(
        f"{least[solver]:.1f} % ({what} changes, {solver})"
        for solver, what in zip(MAIN, ("r", "P"), strict=True)
        if solver in least
    )
    every = f"share of the gain won by GLADIUS, change by change: {'; '.join(parts)}"
    return f"least share of the gain at N = {size:,}: {worst}\n{every}"


EXHIBIT = Exhibit(
    NAME,
    "Counterfactuals on the bus engine",
    entries,
    cost=2.2,
    render=render,
    view=view,
    verdict=verdict,
    tolerance=5e-4,
)
