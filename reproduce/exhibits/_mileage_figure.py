"""What Figures A1 and A2 share: errors of the estimated reward by mileage, one panel an action."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reproduce import published
from reproduce.exhibits import _mileage
from reproduce.results import Results
from reproduce.spec import Array, Cell, Exhibit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MILEAGE = np.arange(1, _mileage.MILEAGES + 1)
ACTIONS = ((0, "maintain (a0)"), (1, "replace (a1)"))
# (column, protocol) -> (label, colour, line style)
OURS = {
    ("Rust", "fresh"): ("Rust", "tab:blue", "-"),
    ("ML-IRL", "fresh"): ("ML-IRL", "tab:green", "-."),
    ("GLADIUS", "leak_free smooth"): ("GLADIUS, smooth", "tab:orange", "-"),
    ("GLADIUS", "leak_free mlp"): ("GLADIUS, network", "tab:purple", "--"),
    ("GLADIUS", "author oracle"): ("GLADIUS, author's code", "tab:brown", ":"),
}
# column -> (marker, colour, shift in mileages that keeps the markers apart)
PAPER = {
    "Rust": ("s", "tab:blue", -0.12),
    "ML-IRL": ("D", "tab:green", 0.12),
    "GLADIUS": ("o", "tab:red", 0.0),
}


def make_figure(name: str, number: str, trajectories: int, table: str) -> Exhibit:
    """The exhibit `name`, the paper's Figure `number`, whose images are lost.

    Args:
        name: of the exhibit.
        number: as the paper numbers it.
        trajectories: N.
        table: the published table of r at that N, whose numbers are the markers.
    """
    title = f"Figure {number}: reward estimation error, {trajectories:,} trajectories"

    def cells(smoke: bool) -> list[Cell]:
        return _mileage.estimator_cells(name, trajectories, "error", (0, 1), smoke)

    def render(results: Results, out: Path) -> list[Path]:
        return _draw(results, str(trajectories), published_errors(table), title, out / name)

    return Exhibit(name, title, cells, _mileage.compute, render)


def published_errors(table: str) -> dict[tuple[str, int], Array]:
    """(column, action) -> r-hat - r of the paper's table, both as printed, by mileage."""
    frame = published.load(table)
    rows = [str(mileage) for mileage in MILEAGE]
    found = {}
    for action, _ in ACTIONS:
        of_action = frame[frame["statistic"] == f"r a{action}"]
        by_column = of_action.pivot(index="row", columns="column", values="number").loc[rows]
        for column in PAPER:
            error = by_column[column] - by_column["Ground Truth"]
            found[column, action] = error.to_numpy(dtype=float)
    return found


def _draw(
    results: Results, row: str, printed: dict[tuple[str, int], Array], title: str, stem: Path
) -> list[Path]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 5.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2, sharex=True)
    for axes, (action, label) in zip(panels, ACTIONS, strict=True):
        axes.axhline(0.0, color="black", linewidth=1.2)
        sets = _draw_ours(axes, results, row, action)
        for column, (marker, colour, shift) in PAPER.items():
            axes.plot(
                MILEAGE + shift,
                printed[column, action],
                linestyle="none",
                marker=marker,
                markerfacecolor="none",
                color=colour,
                label=f"{column}, paper (one data set)",
            )
        axes.set_title(label, fontsize=10)
        axes.set_xlabel("mileage")
        axes.set_xticks(MILEAGE)
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("estimated minus true reward (utils)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8)
    figure.suptitle(
        f"{title}\nbands: one standard deviation over {sets} data sets; our GLADIUS is given"
        " r(., a1) and penalises the curvature of r",
        fontsize=10,
    )
    figure.savefig(stem.with_suffix(".pdf"), metadata={"CreationDate": None})
    figure.savefig(stem.with_suffix(".png"), dpi=150)
    return [stem.with_suffix(".pdf"), stem.with_suffix(".png")]


def _draw_ours(axes: Axes, results: Results, row: str, action: int) -> int:
    """Mean and band of each method that has a result; how many data sets they rest on."""
    sets = 0
    for (column, protocol), (label, colour, style) in OURS.items():
        stored = results.get(row, column, protocol)
        if stored is None or "draws" not in stored.result.arrays:
            continue
        draws = stored.result.arrays["draws"][:, :, action]
        mean, sd, sets = draws.mean(axis=0), draws.std(axis=0, ddof=1), len(draws)
        axes.plot(MILEAGE, mean, style, color=colour, label=f"{label}, ours (mean and band)")
        axes.fill_between(MILEAGE, mean - sd, mean + sd, color=colour, alpha=0.15, linewidth=0)
    return sets
