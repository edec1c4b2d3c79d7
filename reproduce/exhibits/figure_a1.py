"""Figures A1 and A2: errors of the estimated reward by mileage and action.

The paper's images are not available; the hollow markers are its tables of r at the same N. Bands
are one standard deviation over our data sets. Dots are one training on the public code's data.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gladius.designs.bus import BusEngine
from reproduce.cells.bus_exact import MILEAGES
from reproduce.drawing import layout
from reproduce.engine.nouns import Array, Entry, Exhibit, Record, Result
from reproduce.engine.view import View
from reproduce.exhibits import table_3
from reproduce.paper import published

MILEAGE = np.arange(1, MILEAGES + 1)
ACTIONS = ((0, "maintain"), (1, "replace"))
# (column, protocol) -> title; a column of panels
OURS = {
    ("Rust", "fresh"): "Rust",
    ("ML-IRL", "fresh"): "ML-IRL",
    (published.OURS, "leak_free smooth"): "profiled ERM",
    ("GLADIUS", "author oracle"): "author's code",
}


def make_figure(name: str, number: str, trajectories: int, table: str) -> Exhibit:
    """The exhibit `name`, the paper's Figure `number`; `table` is its table of r at that N."""
    title = f"Figure {number}: reward estimation error, {trajectories:,} trajectories"

    def entries(smoke: bool) -> list[Entry]:
        return table_3.estimator_entries(trajectories, smoke)

    def render(results: View, out: Path) -> None:
        figure = _draw(results, str(trajectories), published_errors(table))
        layout.save(figure, out, name)

    return Exhibit(name, title, entries, render=render, view=view, tolerance=5e-4)


def errors(result: Result, epoch: str = "oracle") -> Array:
    """(R, mileages, A) estimated minus true reward, utils."""
    return table_3.replications(result, "r", epoch) - BusEngine().mdp.reward[:MILEAGES]


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The sampling distribution of the errors; on the public data those of both epochs."""
    if (entry.column, entry.protocol) == table_3.PUBLIC:
        given = ("error", (0, 1), result.records[0].status)
        of_ends = [errors(result, end) for end in table_3.ENDS]
        return table_3.at_epochs([table_3.sampling_summary(x, *given) for x in of_ends])
    status = table_3.status_of(entry, result)
    return table_3.sampling_summary(errors(result), "error", (0, 1), status)


def published_errors(table: str) -> dict[tuple[str, int], Array]:
    """(column, action) -> (mileages,) r-hat - r of the paper's table, both as printed."""
    frame = published.load(table)
    rows = [str(mileage) for mileage in MILEAGE]
    differences = {}
    for action, _ in ACTIONS:
        of_action = frame[frame["statistic"] == f"r a{action}"]
        by_column = of_action.pivot(index="row", columns="column", values="number").loc[rows]
        for column in {column for column, _ in OURS} & set(by_column):
            error = by_column[column] - by_column["Ground Truth"]
            differences[column, action] = error.to_numpy(dtype=float)
    return differences


def _draw(results: View, row: str, printed: dict[tuple[str, int], Array]) -> layout.Figure:
    """A row of panels for each action, in it one for each method."""
    figure = layout.new_figure(layout.PAGE, 4.2)
    panels = figure.subplots(len(ACTIONS), len(OURS), sharex=True, sharey="row")
    for line, (action, heading) in zip(panels, ACTIONS, strict=True):
        for axes, ((column, protocol), title) in zip(line, OURS.items(), strict=True):
            colour, marker = layout.LOOKS[column]
            axes.axhline(0.0, color=layout.BLACK, linewidth=0.6)
            result = results.get(row, column, protocol).result
            if result.arrays:
                sample = errors(result)[:, :, action]
                mean, sd = sample.mean(axis=0), sample.std(axis=0, ddof=1)
                axes.plot(MILEAGE, mean, color=colour)
                band: dict[str, Any] = {"color": colour, "alpha": 0.25, "linewidth": 0}
                axes.fill_between(MILEAGE, mean - sd, mean + sd, **band)
            public = results.get(row, *table_3.PUBLIC).result
            if (column, protocol) == table_3.AUTHOR and public.arrays:
                dots: dict[str, Any] = {"linestyle": "none", "color": layout.BLACK}
                axes.plot(MILEAGE, errors(public, "best")[0, :, action], ".", **dots)
            style: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none"}
            style |= {"marker": marker, "color": colour, "markersize": 4}
            if (column, action) in printed:
                axes.plot(MILEAGE, printed[column, action], **style)
            axes.set_xticks(MILEAGE[1::2])
            layout.words(axes, title=title)
        layout.words(line[0], y=f"error of r, {heading} (utils)", title=line[0].get_title("left"))
    figure.supxlabel("mileage", fontsize=layout.FONT)
    return figure


EXHIBITS = {
    "figure_a1": make_figure("figure_a1", "A1", trajectories=50, table="table_a1"),
    "figure_a2": make_figure("figure_a2", "A2", trajectories=1000, table="table_a3"),
}
