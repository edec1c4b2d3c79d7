"""Counterfactuals on the bus engine: what each reward is worth after a change of r and one of P.

The paper's remark: a change of the reward is solved by offline reinforcement learning on relabelled
data, without P; a change of P needs a model. Rewards from Table 2's data sets (training split) go
through each solver of `reproduce.counterfactuals`. The loss is welfare: the best policy's less the
answer's, in the true new world.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gladius.counterfactual import changed, welfare
from gladius.mdp import TabularMDP
from gladius.worlds.bus import REPLACE, BusEngine
from reproduce import counterfactuals as work
from reproduce import layout
from reproduce.fits import fitting
from reproduce.results import Results
from reproduce.spec import Cell, Entry, Exhibit, Record, Result

NAME = "counterfactual"
TRAJECTORIES, SMOKE_TRAJECTORIES = 1000, 50
# where rewards come from: (column, protocol) -> method and its settings; without one the true r
SOURCES: dict[tuple[str, str], tuple[str, dict[str, Any], dict[str, Any]]] = {
    ("Truth", "measured"): ("", {}, {}),
    ("Rust", "fresh"): ("nfxp", {}, {"oracle": True}),
    ("GLADIUS", "leak_free smooth"): ("gladius", {}, {}),
    ("BC", "leak_free zero_value"): ("bc", {"normalisation": "zero_value"}, {}),
}
# by change: the solver that the paper's remark takes
REMARK = dict(zip((c.name for c in work.CHANGES), (work.IN_DATA, work.PLANNED), strict=True))
SMALL = 5e-7  # below it a loss is the rounding of V
ROUNDED = 1e-9  # share of a number below which its standard error is rounding


def entries(smoke: bool) -> list[Entry]:
    """One for each source."""
    n = SMOKE_TRAJECTORIES if smoke else TRAJECTORIES
    listed = []
    for key, (method, options, more) in SOURCES.items():
        settings = dict(fitting(method or "gladius", n, smoke, options, **more).settings)
        if not method:
            del settings["method"]
        module = "counterfactual_fits" if method else "counterfactuals"
        cell = Cell(f"reproduce.{module}:compute", settings, f"{NAME}, {key[0]}")
        listed.append(Entry(str(n), *key, cell, work.LOSS))
    return listed


def view(entry: Entry, result: Result) -> list[Record]:
    """The records; a change joins the row, its solver the protocol."""
    return [
        replace(r, protocol=f"{entry.protocol}, {r.protocol}", row=f"{entry.row}, {r.row}")
        if r.row
        else replace(r, protocol="")
        for r in result.records
    ]


def text(line: pd.Series) -> str:
    """`value (se)` to three and two figures, and its mark: losses span five powers of ten."""
    value, se = float(line["value"]), float(line["se"])
    if math.isnan(value):
        return "failed"
    number = f"{value:.3g}" if abs(value) > SMALL else "0"
    is_rounding = se <= max(ROUNDED * abs(value), SMALL * (number == "0"))
    error = "" if math.isnan(se) or is_rounding else f" ({se:.2g})"
    return number + error + layout.MARKS.get(line["status"], "")


def losses(frame: pd.DataFrame) -> pd.DataFrame:
    """A line for each change and solver, a column for each source; `-`: no answer."""
    texts = {
        (line["row"].partition(", ")[2], line["protocol"].partition(", ")[2], line["column"]): (
            text(line)
        )
        for _, line in frame[frame["statistic"] == work.LOSS].iterrows()
        if ", " in line["row"]
    }
    index = [(change.name, solver) for change in work.CHANGES for solver in work.SOLVERS]
    table = {column: [texts.get((*key, column), "-") for key in index] for column, _ in SOURCES}
    lines = pd.DataFrame(table, index=pd.MultiIndex.from_tuples(index))
    lines.columns.name = "change, solver"
    return lines


def loss_of_keeping(world: BusEngine, new: TabularMDP) -> float:
    """Welfare that the old policy loses in the new world."""
    return float(new.solution.v[0]) - welfare(new, world.mdp.solution.policy)


def exact() -> list[str]:
    """A sentence for each change: what it does, exactly."""
    world = BusEngine()
    v = world.mdp.solution.v[0]
    rate = world.mdp.occupancy(world.horizon)[:, REPLACE].sum()
    sentences = []
    for change in work.CHANGES:
        new = changed(world.mdp, change)
        after = new.occupancy(world.horizon)[:, REPLACE].sum()
        sentences.append(
            f"Exactly, {change.name}: V(1) goes from {v:.3f} by {new.solution.v[0] - v:+.3f},"
            f" replacements a period from {rate:.3f} to {after:.3f}; keeping the old policy loses"
            f" {loss_of_keeping(world, new):.4f}."
        )
    return sentences


NOTES = (
    "Welfare: expected discounted reward plus entropy from mileage 1 in the true new world. A"
    " replacement costs 5.",
    "Loss: the best policy's welfare less this one's, mean over data sets (standard error). Lower"
    " is better. * means that some fits or solutions did not converge.",
    "Kept: the estimate's own policy. Soft Q in data: on the observed transitions; a pair without"
    " observations is never chosen.",
    "Plan with P-hat: the soft Bellman equation on mileages 1 to 20 with frequencies. -: no"
    " observed transition follows a new P.",
    "Truth: the true r is given, so only the solver errs. Rust has P and the form of r.",
    "BC: r-hat = log pi. Its error is a potential, which matters where r is scaled or P changes.",
)


def render(results: Results, out: Path) -> None:
    """The losses, and a figure of policies."""
    heading = f"{EXHIBIT.title}: welfare loss, N = {int(results.entries[0].row):,}"
    layout.write(losses(results.frame()), out, NAME, heading, [*NOTES, *exact()])
    _draw(results, out)


MILEAGES = 12  # in the figure; beyond them few engines come
LINES = {"GLADIUS": (layout.VERMILION, "o"), "BC": (layout.PURPLE, "P")}


def _draw(results: Results, out: Path) -> None:
    """A panel of policies for each change."""
    world, x = BusEngine(), np.arange(1, MILEAGES + 1)
    old = world.mdp.solution.policy
    figure = layout.new_figure(layout.PAGE, 2.8)
    panels = figure.subplots(1, len(work.CHANGES), sharey=True)
    for axes, change in zip(panels, work.CHANGES, strict=True):
        new = changed(world.mdp, change).solution.policy
        black: dict[str, Any] = {"color": layout.BLACK}
        axes.plot(x, old[:MILEAGES, REPLACE], ":", linewidth=1, label="old policy", **black)
        axes.plot(x, new[:MILEAGES, REPLACE], linewidth=1.6, label="best new policy", **black)
        solver = REMARK[change.name]
        for entry, stored in results:
            policy = stored.result.arrays.get(work.label("replacement", change.name, solver))
            if entry.column in LINES and policy is not None:
                colour, marker = LINES[entry.column]
                style: dict[str, Any] = {"color": colour, "marker": marker, "label": entry.column}
                axes.plot(x, policy[:MILEAGES], markersize=3.5, linewidth=0.7, **style)
        axes.set_xticks(x[1::2])
        layout.words(axes, "mileage", title=f"{change.name}: {solver}")
    panels[0].set_ylabel("probability of replacing", fontsize=layout.FONT)
    layout.legend_below(figure, panels[0], 4)
    layout.save(figure, out, f"{NAME}_policies")


def verdict(folder: Path) -> str:
    """The share of the gain from answering that GLADIUS's rewards get, by change."""
    frame = pd.read_csv(folder / f"{NAME}.csv", dtype={"row": str})
    frame = frame[(frame["statistic"] == work.LOSS) & (frame["column"] == "GLADIUS")]
    world = BusEngine()
    shares = []
    for change in work.CHANGES:
        is_answer = frame["row"].str.endswith(f", {change.name}")
        is_answer &= frame["protocol"].str.endswith(f", {REMARK[change.name]}")
        most = loss_of_keeping(world, changed(world.mdp, change))
        for loss in frame["value"][is_answer]:
            shares.append(f"{change.name} {100 * (1 - float(loss) / most):.1f} %")
    return f"GLADIUS's share of the gain: {'; '.join(shares) or 'not run'}"


EXHIBIT = Exhibit(
    NAME,
    "Counterfactuals on the bus engine",
    entries,
    render=render,
    view=view,
    verdict=verdict,
    tolerance=5e-4,
)
