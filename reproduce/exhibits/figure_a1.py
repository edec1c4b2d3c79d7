"""Figures A1 and A2: errors of the estimated reward by mileage and action.

The paper's images are not available; the hollow markers are its tables of r at the same N. Bands
are one standard deviation over our data sets. Dots are one training on the public code's data.
"""

import math
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


def make_figure(name: str, number: str, trajectories: int, table: str, *, follows: bool) -> Exhibit:
    """The exhibit `name`, the paper's Figure `number`; `table` is its table of r at that N.

    Its title says that a training follows the printed errors, or that it does not (`follows`).
    """
    title = f"Figure {number}: reward estimation error, {trajectories:,} trajectories"

    def entries(smoke: bool) -> list[Entry]:
        return table_3.estimator_entries(trajectories, smoke)

    def render(results: View, out: Path) -> None:
        row, printed = str(trajectories), published_errors(table)
        figure, said = _draw_public(results, row, printed[table_3.PUBLIC[0], 0], follows)
        layout.save(figure, out, name, said)
        _draw_panels(results, row, printed, out, f"{name}_panels")

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


CLOSE = 0.1  # of the largest error
DOTS: dict[str, Any] = {"linestyle": "none", "color": layout.BLACK, "marker": "."}


def _draw_public(
    results: View, row: str, printed: Array, follows: bool
) -> tuple[layout.Figure, dict[str, str] | None]:
    """Errors of r(s, maintain): printed, of one public training and on fresh data.

    Beside the figure the largest distance of the first two, rounded up, and the least printed
    error; none where the training is far from the printed errors and should follow them, or near.
    """
    figure = layout.new_figure(layout.WIDTH, 3.4)
    axes = figure.add_subplot()
    sample, public = (results.get(row, *x).result for x in (table_3.AUTHOR, table_3.PUBLIC))
    label = "the same on fresh data:\nmean, and one sd" if sample.arrays else ""
    _draw_sample(axes, sample, ACTIONS[0][0], table_3.AUTHOR[0], label)
    _draw_printed(axes, printed, table_3.AUTHOR[0], "printed for GLADIUS")
    said = None
    if public.arrays:
        trained = errors(public, "best")[0, :, ACTIONS[0][0]]
        axes.plot(MILEAGE, trained, **DOTS, label="one training on\nthe public data")
        gap, least = float(np.abs(trained - printed).max()), float(printed.min())
        if follows == (gap < CLOSE * abs(least)):
            said = {"gap": f"{math.ceil(100 * gap) / 100:.2f}", "least": f"{least:.1f}"}
    layout.words(axes, "mileage", "estimated minus true r, maintain (utils)")
    layout.label_lines(axes)
    return figure, said


def _draw_panels(
    results: View, row: str, printed: dict[tuple[str, int], Array], out: Path, name: str
) -> None:
    """A row of panels for each method, in it one for each action."""
    figure = layout.new_figure(layout.WIDTH, 7.0)
    panels, far = figure.subplots(len(OURS), len(ACTIONS), sharex=True, sharey="col"), {}
    for line, ((column, protocol), title) in zip(panels, OURS.items(), strict=True):
        for axes, (action, heading) in zip(line, ACTIONS, strict=True):
            result = results.get(row, column, protocol).result
            mean, sd = _draw_sample(axes, result, action, column)
            public = results.get(row, *table_3.PUBLIC).result
            if (column, protocol) == table_3.AUTHOR and public.arrays:
                axes.plot(MILEAGE, errors(public, "best")[0, :, action], **DOTS)
            if (column, action) in printed:
                _draw_printed(axes, printed[column, action], column)
                apart = np.abs(printed[column, action] - mean) / sd
                far[column, action] = float(apart.max())
            axes.set_xticks(MILEAGE[1::2])
            layout.words(axes, title=f"{title}, {heading}")
        layout.words(line[0], y="error of r (utils)", title=line[0].get_title("left"))
    figure.supxlabel("mileage", fontsize=layout.FONT)
    of_gladius = max(x for (column, _), x in far.items() if column == table_3.AUTHOR[0])
    others = max(x for (column, _), x in far.items() if column != table_3.AUTHOR[0])
    said = {"gladius": f"{of_gladius:.1f}", "others": f"{others:.1f}"}
    layout.save(figure, out, name, said if all(map(math.isfinite, far.values())) else None)


def _draw_sample(
    axes: layout.Axes, result: Result, action: int, column: str, label: str = ""
) -> tuple[Array, Array]:
    """The mean of our data sets, and the standard deviation as a band; NaN where none was run."""
    axes.axhline(0.0, color=layout.BLACK, linewidth=0.6)
    if not result.arrays:
        return np.full(MILEAGES, math.nan), np.full(MILEAGES, math.nan)
    sample, (colour, _) = errors(result)[:, :, action], layout.LOOKS[column]
    mean, sd = sample.mean(axis=0), sample.std(axis=0, ddof=1)
    axes.plot(MILEAGE, mean, color=colour, label=label or None)
    axes.fill_between(MILEAGE, mean - sd, mean + sd, color=colour, alpha=0.25, linewidth=0)
    return mean, sd


def _draw_printed(axes: layout.Axes, printed: Array, column: str, label: str = "") -> None:
    """Errors of the paper's table, hollow."""
    style: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none", "markersize": 5}
    style |= dict(zip(("color", "marker"), layout.LOOKS[column], strict=True))
    axes.plot(MILEAGE, printed, label=label or None, **style)


EXHIBITS = {
    "figure_a1": make_figure("figure_a1", "A1", 50, "table_a1", follows=True),
    "figure_a2": make_figure("figure_a2", "A2", 1000, "table_a3", follows=False),
}
