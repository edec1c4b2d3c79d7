"""Counterfactuals on the bus engine: every reward carried through, with and without a model of P.

The paper's remark: a change of the reward is solved by offline reinforcement learning on relabelled
data without P, a change of P with a model. Every estimate from Table 2's data sets (training split)
goes through each solver, and the policy is judged in the true new world. Offline learners see the
logged moves with r-hat + Delta; planners the mileages 1 to 20 and P or P-hat. No logged move
follows a new P, so only planners answer a change of P. `kept` does not answer: it is the
estimate's own policy, and all that BC has. BC's rewards are log pi (the level V = 0 of Table 2).
The population is infinitely many data, where every anchored estimate is the truth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gladius.counterfactual import Change, changed, welfare
from gladius.worlds.bus import REPLACE, BusEngine
from reproduce import counterfactuals as work
from reproduce import layout
from reproduce.compare import CRITICAL
from reproduce.exhibits import table_2
from reproduce.fits import REPETITIONS, SMOKE_REPETITIONS, fitting
from reproduce.results import COLUMNS, Results
from reproduce.spec import FAILED, NOT_RUN, Cell, Entry, Exhibit, Record, Result, summarise
from reproduce.store import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    compute = "reproduce.counterfactuals:compute"
    cells = [Cell(compute, {"population": c}, f"population, {c}") for c in IN_POPULATION]
    found = [
        Entry(work.POPULATION, c, "measured", cell, work.LOSS)
        for c, cell in zip(IN_POPULATION, cells, strict=True)
    ]
    for n in SMOKE_TRAJECTORIES if smoke else TRAJECTORIES:
        for (column, protocol), method in SOURCES.items():
            if not method:
                repetitions = SMOKE_REPETITIONS if smoke else REPETITIONS
                told = {"trajectories": n, "repetitions": repetitions, "seeds": "table_2"}
            elif (column, protocol) in table_2.FITS:
                told = dict(table_2.cell(column, protocol, n, smoke).settings)
            else:
                told = dict(fitting(method, n, smoke).settings)
            cell = Cell(compute, told, f"counterfactual, {column}, N = {n}")
            found.append(Entry(str(n), column, protocol, cell, work.LOSS))
    return found


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
NOTHING_TO_SHOW = "-"
MAIN = (
    work.IN_DATA,
    work.ESTIMATED,
)  # what the paper's remark does: for a change of r, for one of P


def by_place(results: Results) -> Places:
    """(row, column) -> what is stored there."""
    return {(entry.row, entry.column): stored for entry, stored in results}


def text(stored: Stored, statistic: str, change: str, solver: str) -> str:
    """A number as the tables show it."""
    if stored.status.startswith(FAILED):
        return "failed"
    for r in stored.result.records:
        if r.statistic != statistic:
            continue
        if r.row and (r.row, r.protocol) != (change, solver):
            continue
        if math.isnan(r.value):
            return "failed"
        return figures(r.value, r.se) + layout.MARKS.get(r.status, "")
    return NOTHING_TO_SHOW


def figures(value: float, se: float) -> str:
    """`value (se)` to three and two figures, since losses span five powers of ten."""
    shown = f"{value:.3g}" if abs(value) > SMALL else "0"
    return shown if math.isnan(se) or se <= SMALL else f"{shown} ({se:.2g})"


def losses(results: Results, of_transition: bool) -> pd.DataFrame:
    """Welfare loss: a line for each change of r (or P), N and source, a column for each solver."""
    return _by_change(
        results, of_transition, {solver: (work.LOSS, solver) for solver in work.SOLVERS}
    )


OUTCOMES = (
    ("MAPE of r-hat, %", "MAPE"),
    ("policy distance, %", work.DISTANCE),
    ("replacement rate", work.RATE),
    (work.VALUE, work.VALUE),
    (work.GAIN, work.GAIN),
    (work.LOSS, work.LOSS),
)


def outcomes(results: Results, of_transition: bool) -> pd.DataFrame:
    """Every outcome of the solver that the remark has in mind, changes of r or of P."""
    shown = {heading: (statistic, MAIN[of_transition]) for heading, statistic in OUTCOMES}
    return _by_change(results, of_transition, shown)


def _by_change(
    results: Results, of_transition: bool, shown: Mapping[str, tuple[str, str]]
) -> pd.DataFrame:
    """A line for each change, N and source; `shown` is heading -> statistic and solver."""
    lines = {
        (change.name, row, column): [text(stored, s, change.name, by) for s, by in shown.values()]
        for change in work.CHANGES
        if (change.transition is not None) == of_transition
        for (row, column), stored in by_place(results).items()
    }
    table = pd.DataFrame.from_dict(lines, orient="index", columns=list(shown))
    table.index = pd.MultiIndex.from_tuples(list(lines))
    table.columns.name = "change, N, rewards from"
    return table


Pair = tuple[tuple[str, str | None], tuple[str, str | None]]
REMARK = "remark's solver"
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
    """Differences of the welfare loss over equal data sets, as lines of the long table.

    `difference` names the pair of PAIRS.
    """
    places, lines = by_place(results), []
    for change in work.CHANGES:
        main = MAIN[change.transition is not None]
        for row in dict.fromkeys(row for row, _ in places if row != work.POPULATION):
            for pair in PAIRS:
                (ours, first), (other, second) = ((c, s or main) for c, s in pair)
                if change.transition is not None and {first, second} & set(work.OFFLINE):
                    continue
                series = [
                    places[row, column].result.replications.get(
                        work.label(work.LOSS, change.name, by), []
                    )
                    for column, by in ((ours, first), (other, second))
                ]
                difference = Record(
                    f"{work.LOSS} difference", math.nan, repetitions=0, status=NOT_RUN
                )
                if all(series):
                    gap = [a - b for a, b in zip(*series, strict=True)]
                    difference = summarise(difference.statistic, gap, ["ok"] * len(gap))[0]
                names = (f"{row}, {change.name}", f"{ours} - {other}", f"{first} - {second}")
                numbers = (difference.value, difference.se, difference.repetitions)
                told = (difference.statistic, *numbers, difference.status)
                lines.append((*names, *told, _name(pair)))
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
    for line in frame.to_dict("records"):
        n, change = line["row"].split(", ", 1)
        shown = figures(line["value"], line["se"]) if line["repetitions"] else "not run"
        table.setdefault((change, f"N = {int(n):,}"), {})[line["difference"]] = shown
    names = [name for name in map(_name, PAIRS) if any(name in c for c in table.values())]
    index = pd.Index(names, name="difference")
    return pd.DataFrame(table).reindex(index).fillna(NOTHING_TO_SHOW)


def exact() -> list[str]:
    """What each change does, exactly."""
    world = BusEngine()
    old = world.mdp.solution
    rate = world.mdp.occupancy(world.horizon)[:, REPLACE].sum()
    lines = []
    for change in work.CHANGES:
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
    for (row, column), stored in by_place(results).items():
        if column == "Truth" and row != work.POPULATION:
            told = f"Per cent of the best new path (discounted) at pairs without a row, N = {row}: "
            names = [change.name for change in work.CHANGES if change.transition is None]
            shares = [f"{name} {text(stored, work.UNCOVERED, name, work.KEPT)}" for name in names]
            lines.append(told + "; ".join(shares))
    return lines


# --- the figure
SHOWN = 12  # mileages; beyond them hardly anyone comes
FLOOR = 1e-5  # losses are drawn no lower
# (name, column, solver, colour, marker), from the worst that the paper expects to the best
LINES = (
    ("BC, kept", "BC", work.KEPT, layout.GREY, "X"),
    ("BC (log pi), soft Q in data", "BC", work.IN_DATA, layout.PURPLE, "P"),
    ("BC (log pi), plan with P-hat", "BC", work.ESTIMATED, layout.PURPLE, "P"),
    ("GLADIUS, CQL 1", "GLADIUS", "CQL 1", layout.ORANGE, "v"),
    ("GLADIUS, CQL .1", "GLADIUS", "CQL .1", layout.ORANGE, "^"),
    ("GLADIUS, soft Q", "GLADIUS", work.SOFT, layout.VERMILION, "s"),
    ("GLADIUS, soft Q in data", "GLADIUS", work.IN_DATA, layout.VERMILION, "o"),
    ("GLADIUS, plan with P-hat", "GLADIUS", work.ESTIMATED, layout.BLUE, "D"),
    ("Rust, plan with P-hat", "Rust", work.ESTIMATED, layout.SKY, "<"),
    ("Plug-in, soft Q in data", "Plug-in", work.IN_DATA, layout.GREEN, "o"),
    ("Plug-in, plan with P-hat", "Plug-in", work.ESTIMATED, layout.GREEN, "D"),
)
POLICIES = {  # drawn above, by whether P changes
    False: (LINES[3], LINES[6], LINES[1]),
    True: (LINES[7], LINES[2]),
}


def _draw(places: Places, out: Path) -> list[Path]:
    """Policies above, losses below, a column of panels for each change."""
    sizes = sorted({int(row) for row, _ in places if row.isdigit()})
    figure = layout.new_figure(layout.PAGE * 1.35, 5.6)
    rows = figure.subplots(
        2, len(work.CHANGES), squeeze=False, sharey="row", height_ratios=(1, 1.35)
    )
    for upper, lower, change in zip(*rows, work.CHANGES, strict=True):
        upper.set_title(change.name, fontsize=layout.FONT + 1)
        _policies(upper, places, change, str(sizes[-1]))
        _losses(lower, places, change, [str(n) for n in sizes])
        for axes in (upper, lower):
            axes.tick_params(labelsize=layout.FONT)
            axes.grid(alpha=0.25, linewidth=0.4)
    rows[0, 0].set_ylabel("probability of replacing", fontsize=layout.FONT)
    title = "Answers to a change of the reward (left two) and of P (right two)"
    figure.suptitle(title, fontsize=layout.FONT + 2)
    return layout.save(figure, out, f"{NAME}_policies")


def _policies(axes: Axes, places: Places, change: Change, row: str) -> None:
    world = BusEngine()
    x = np.arange(1, SHOWN + 1)
    old, new = world.mdp.solution.policy, changed(world.mdp, change).solution.policy
    axes.plot(x, old[:SHOWN, REPLACE], ":", color="black", linewidth=1, label="old policy")
    axes.plot(x, new[:SHOWN, REPLACE], color="black", linewidth=1.6, label="best new policy")
    for name, column, solver, colour, marker in POLICIES[change.transition is not None]:
        drawn = places[row, column].result.arrays.get(
            work.label("replacement", change.name, solver)
        )
        if drawn is not None:
            style: dict[str, Any] = {"color": colour, "marker": marker, "label": name}
            axes.plot(x, drawn[:SHOWN], markersize=3.5, linewidth=0.7, **style)
    axes.set_xticks(range(2, SHOWN + 1, 2))
    axes.set_xlabel(f"mileage (means at N = {int(row):,})", fontsize=layout.FONT)
    axes.set_ylim(-0.03, 1.03)
    axes.legend(fontsize=layout.FONT - 1.5, frameon=False, loc="lower right")


def _losses(axes: Axes, places: Places, change: Change, sizes: list[str]) -> None:
    """Filled: the most trajectories; hollow: fewer."""
    for place, (_, column, solver, colour, marker) in enumerate(reversed(LINES)):
        if change.transition is not None and solver in work.OFFLINE:
            style: dict[str, Any] = {"va": "center", "color": "0.5", "fontsize": layout.FONT - 1.5}
            across = axes.get_yaxis_transform()
            axes.text(0.03, place, "no moves of the new P", transform=across, **style)
            continue
        for row in sizes:
            key = work.label(work.LOSS, change.name, solver)
            values = places[row, column].result.replications.get(key)
            if not values or not np.all(np.isfinite(values)):
                continue
            mean = float(np.mean(values))
            half = CRITICAL * float(np.std(values, ddof=1)) / len(values) ** 0.5
            low = min(half, 0.9 * mean) if mean > FLOOR else 0.0
            last = row == sizes[-1]
            style = {"color": colour, "marker": marker, "markersize": 4, "elinewidth": 0.8}
            style["markerfacecolor"] = colour if last else "white"
            height = place + (0.0 if last else 0.22)
            axes.errorbar(max(mean, FLOOR), height, xerr=[[low], [half]], **style)
    world = BusEngine()
    new = changed(world.mdp, change)
    kept = float(new.solution.v[0]) - welfare(new, world.mdp.solution.policy)
    axes.axvline(kept, color="black", linestyle=":", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(LINES)), [line[0] for line in reversed(LINES)])
    axes.set_ylim(-0.6, len(LINES) - 0.4)
    few = " and ".join(f"{int(n):,}" for n in sizes[:-1])
    sets = f"N = {int(sizes[-1]):,}" + (f"; hollow: {few}" if few else "")
    told = f"welfare loss ({sets})\nbars: 95 %; dotted: old policy kept"
    axes.set_xlabel(told, fontsize=layout.FONT)


def render(results: Results, out: Path) -> list[Path]:
    """Three tables (losses, all outcomes, paired differences) and a figure."""
    said, title = notes(results), EXHIBIT.title
    gaps = paired(results)
    path = out / f"{NAME}_paired.csv"
    gaps.to_csv(path, index=False, float_format="%.10g")
    remark = (
        f"The remark's solver: {MAIN[0]} for a change of r, {MAIN[1]} for one of P;"
        f" {MAIN[0]} was preferred to soft Q after both had been seen."
    )
    explained = [remark, *said]
    files = [path]
    for of_transition, suffix, what in ((False, "", "r"), (True, "_law", "P")):
        for table, name, about, lines in (
            (losses(results, of_transition), NAME + suffix, "welfare loss by solver", said),
            (outcomes(results, of_transition), f"{NAME}{suffix}_outcomes", "outcomes", explained),
        ):
            heading = f"{title}, a change of {what}: {about}"
            files += layout.write(table, out, name, heading, lines)
    heading = f"{title}: paired differences of the welfare loss"
    lines = [f"First less second, mean (se) over equal data sets. {remark}", *said]
    files += layout.write(differences(gaps), out, f"{NAME}_paired", heading, lines)
    return [*files, *_draw(by_place(results), out)]


def verdict(folder: Path) -> str:
    """What share of the gain from answering each solver gets, from GLADIUS's rewards at most N."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    frame = frame[(frame["statistic"] == work.LOSS) & (frame["column"] == "GLADIUS")]
    size = max(int(row.split(",")[0]) for row in frame["row"] if "," in row)
    world = BusEngine()
    parts = []
    for change in work.CHANGES:
        new = changed(world.mdp, change)
        kept = new.solution.v[0] - welfare(new, world.mdp.solution.policy)
        here = frame[frame["row"] == f"{size}, {change.name}"].set_index("protocol")["value"]
        shares = [
            f"{100 * (1 - value / kept):.1f} % {solver}"
            for solver in (work.IN_DATA, "CQL 1", work.ESTIMATED)
            for name, value in here.items()
            if str(name).endswith(f", {solver}")
        ]
        parts.append(f"{change.name}: {', '.join(shares)}")
    return f"share of the gain won by GLADIUS at N = {size:,}: {'; '.join(parts)}"


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
