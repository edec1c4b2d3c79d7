"""Figures A1 and A2: errors of the estimated reward by mileage and action.

The paper's images are not available; the markers are its tables of r at the same N. Bands are one
standard deviation over our data sets.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gladius.worlds.bus import BusEngine
from reproduce import layout, published
from reproduce.exact import MILEAGES
from reproduce.exhibits import table_3
from reproduce.results import Results
from reproduce.spec import Array, Entry, Exhibit, Record, Result

MILEAGE = np.arange(1, MILEAGES + 1)
ACTIONS = ((0, "maintain (a0)"), (1, "replace (a1)"))
# (column, protocol) -> (label, colour, line style)
OURS = {
    ("Rust", "fresh"): ("Rust", "tab:blue", "-"),
    ("ML-IRL", "fresh"): ("ML-IRL", "tab:green", "-."),
    ("GLADIUS", "leak_free smooth"): ("GLADIUS, smooth", "tab:orange", "-"),
    ("GLADIUS", "author oracle"): ("GLADIUS, author's code", "tab:brown", ":"),
}
# column -> (marker, colour, shift in mileages that keeps the markers apart)
PAPER = {
    "Rust": ("s", "tab:blue", -0.12),
    "ML-IRL": ("D", "tab:green", 0.12),
    "GLADIUS": ("o", "tab:red", 0.0),
}


def make_figure(name: str, number: str, trajectories: int, table: str) -> Exhibit:
    """The exhibit `name`, the paper's Figure `number`; `table` is its table of r at that N."""
    title = f"Figure {number}: reward estimation error, {trajectories:,} trajectories"

    def entries(smoke: bool) -> list[Entry]:
        return table_3.estimator_entries(trajectories, smoke)

    def render(results: Results, out: Path) -> None:
        figure = _draw(results, str(trajectories), published_errors(table), title)
        layout.save(figure, out, name)

    return Exhibit(name, title, entries, render=render, view=view, tolerance=5e-4)


def errors(result: Result) -> Array:
    """(R, mileages, A) estimated minus true reward, utils."""
    return table_3.replications(result, "r") - BusEngine().mdp.reward[:MILEAGES]


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The sampling distribution of the errors."""
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
        for column in PAPER:
            error = by_column[column] - by_column["Ground Truth"]
            differences[column, action] = error.to_numpy(dtype=float)
    return differences


def _draw(
    results: Results, row: str, printed: dict[tuple[str, int], Array], title: str
) -> layout.Figure:
    """A panel for each action."""
    figure = layout.new_figure(8.5, 4.4, title)
    panels = figure.subplots(1, 2, sharex=True)
    for axes, (action, heading) in zip(panels, ACTIONS, strict=True):
        axes.axhline(0.0, color="black", linewidth=1.2)
        _draw_ours(axes, results, row, action)
        for column, (marker, colour, shift) in PAPER.items():
            style: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none"}
            style |= {"marker": marker, "color": colour}
            label = f"{column}, paper (one data set)"
            axes.plot(MILEAGE + shift, printed[column, action], label=label, **style)
        axes.set_xticks(MILEAGE)
        layout.words(axes, "mileage", "estimated minus true reward (utils)", heading)
    layout.legend_below(figure, panels[0], 3)
    return figure


def _draw_ours(axes: layout.Axes, results: Results, row: str, action: int) -> None:
    """Mean and band of each method that has a result."""
    for (column, protocol), (label, colour, style) in OURS.items():
        result = results.get(row, column, protocol).result
        if not result.arrays:
            continue
        sample = errors(result)[:, :, action]
        mean, sd, times = sample.mean(axis=0), sample.std(axis=0, ddof=1), len(sample)
        label = f"{label}, ours (mean and sd, {times} data sets)"
        axes.plot(MILEAGE, mean, style, color=colour, label=label)
        axes.fill_between(MILEAGE, mean - sd, mean + sd, color=colour, alpha=0.15, linewidth=0)


EXHIBITS = {
    "figure_a1": make_figure("figure_a1", "A1", trajectories=50, table="table_a1"),
    "figure_a2": make_figure("figure_a2", "A2", trajectories=1000, table="table_a3"),
}
