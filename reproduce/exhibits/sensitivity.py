"""What the network estimator's MAPE owes to the weight of the Bellman term and to its size.

Left: Q = f + c with one number c and the Bellman error weighted by w, the paper's risk at w = 1.
Right: Q = f + c(s), whose Bellman error is zero whatever the weight, with other hidden layers.
The dashed line in both is the paper's network of 2 x 10 with c(s). Data sets are Table 2's. A fit
that did not converge stays in the mean; it makes its marker hollow and is counted beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gladius
from gladius import BusEngine
from reproduce.exhibits import _bus, _figures
from reproduce.results import Results, records
from reproduce.spec import Cell, Exhibit, Record, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = "sensitivity"
TRAJECTORIES, SMOKE_TRAJECTORIES = (50, 250, 1000), (50,)
REPETITIONS, SMOKE_REPETITIONS = 20, 3
WEIGHTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SMOKE_WEIGHTS = (0.1, 1.0, 10.0)
WIDTHS, SMOKE_WIDTHS = (2, 5, 10, 20, 50), (2, 10)
DEPTHS, SMOKE_DEPTHS = (1, 2, 3), (1, 2)
REFERENCE = (10, 10)
WEIGHT, SIZE = "Bellman weight", "hidden layers"


def of_weight(weight: float) -> str:
    """The protocol of a cell of the left panel."""
    return f"leak_free weight {weight:g}"


def of_size(hidden: Sequence[int]) -> str:
    """The protocol of a cell of the right panel."""
    return f"leak_free {len(hidden)} x {hidden[0]}"


def cells(smoke: bool) -> list[Cell]:
    """For each N all weights, then all networks."""
    found = []
    for n in SMOKE_TRAJECTORIES if smoke else TRAJECTORIES:
        shared: dict[str, Any] = {
            "method": "gladius",
            "function_class": "mlp",
            "trajectories": n,
            "repetitions": SMOKE_REPETITIONS if smoke else REPETITIONS,
            "seeds": "table_2",
        }
        for weight in SMOKE_WEIGHTS if smoke else WEIGHTS:
            settings = {**shared, "level": "scalar", "weight": weight}
            found.append(Cell(NAME, str(n), WEIGHT, of_weight(weight), settings))
        for depth in SMOKE_DEPTHS if smoke else DEPTHS:
            for width in SMOKE_WIDTHS if smoke else WIDTHS:
                settings = {**shared, "hidden": [width] * depth}
                found.append(Cell(NAME, str(n), SIZE, of_size(settings["hidden"]), settings))
    return found


NOT_OPTIONS = ("method", "trajectories", "repetitions", "seeds")


def compute(cell: Cell, device: str) -> Result:
    """Fit the cell's repetitions in one batch and score them; small, so on the CPU."""
    world = BusEngine()
    train, test = _bus.data_sets(world, cell)
    options = {k: v for k, v in cell.settings.items() if k not in NOT_OPTIONS}
    estimates = gladius.fit(
        train,
        cell.settings["method"],
        anchor_action=world.anchor_action,
        anchor_reward=world.anchor_reward,
        discount=world.discount,
        **options,
    )
    scored = _bus.score(world, estimates, test)
    done = [e.diagnostics.status == "ok" for e in estimates]
    share = Record("share converged", sum(done) / len(done), repetitions=len(done))
    return replace(scored, records=(*scored.records, share))


@dataclass(frozen=True)
class Point:
    """A cell in the figure; `stray` of `repetitions` fits did not converge. NaN where it failed."""

    mape: float
    se: float
    stray: int


def point(results: Results, row: str, column: str, protocol: str) -> Point:
    """What is stored for a cell; NaN where it has no result."""
    for cell, stored in zip(results.cells, results.stored, strict=True):
        if (cell.row, cell.column, cell.protocol) == (row, column, protocol):
            found = {r.statistic: r for r in records(cell, stored)}
            stray = found.get("repetitions not ok")
            mape = found["MAPE"]
            return Point(mape.value, mape.se, 0 if stray is None else int(stray.value))
    return Point(math.nan, math.nan, 0)


COLOURS = (_figures.BLUE, _figures.VERMILION, _figures.GREEN)  # by N
DODGE = 1.06  # factor between the depths of one width
DEPTH_MARKS = {1: ("o", ":"), 2: ("s", "-"), 3: ("^", "-.")}


CAPTION = (
    "dashed: 2 x 10, c a function of s; hollow: some fits did not converge, their number beside"
    " it; + at the top: no result, the fit failed"
)
TICKS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def render(results: Results, out: Path) -> list[Path]:
    """Two panels over one scale of MAPE."""
    figure = _figures.new(_figures.PAGE, 3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    own = [cell for cell in results.cells if cell.exhibit == NAME]
    weights = list(dict.fromkeys(c.settings["weight"] for c in own if c.column == WEIGHT))
    sizes = list(dict.fromkeys(tuple(c.settings["hidden"]) for c in own if c.column == SIZE))
    depths = list(dict.fromkeys(len(hidden) for hidden in sizes))
    widths = list(dict.fromkeys(hidden[0] for hidden in sizes))
    for row, colour in zip(dict.fromkeys(c.row for c in own), COLOURS, strict=False):
        base = point(results, row, SIZE, of_size(REFERENCE)).mape
        for axes in (left, right):
            axes.axhline(base, color=colour, linestyle="--", linewidth=0.8, zorder=1)
        line = [point(results, row, WEIGHT, of_weight(w)) for w in weights]
        _line(left, weights, line, colour, ("s", "-"), f"N = {int(row):,}")
        for depth in depths:
            line = [point(results, row, SIZE, of_size([w] * depth)) for w in widths]
            shifted = [width * DODGE ** (depth - 2) for width in widths]
            _line(right, shifted, line, colour, DEPTH_MARKS[depth], "")
    for depth in depths:
        label = f"{depth} hidden layer{'s' * (depth > 1)}"
        _line(right, [], [], _figures.GREY, DEPTH_MARKS[depth], label)
    _finish(left, "weight of the Bellman term, c a number", weights)
    _finish(right, "width of the hidden layers, c a function of s", widths)
    left.set_ylabel("MAPE, per cent (bars: standard errors)", fontsize=_figures.FONT)
    for axes in (left, right):
        axes.legend(fontsize=_figures.FONT, frameon=False)
    figure.supxlabel(CAPTION, fontsize=_figures.FONT)
    figure.suptitle(EXHIBIT.title, fontsize=_figures.FONT + 1)
    return _figures.save(figure, out, NAME)


def _line(
    axes: Axes,
    x: Sequence[float],
    points: Sequence[Point],
    colour: str,
    style: tuple[str, str],
    label: str,
) -> None:
    marker, dashes = style
    y, se = [p.mape for p in points], [p.se for p in points]
    axes.errorbar(x, y, se, color=colour, linestyle=dashes, linewidth=0.8, elinewidth=0.6)
    legend: dict[str, Any] = {"marker": marker, "markersize": 4, "label": label or "_"}
    axes.plot([], [], color=colour, linestyle=dashes, linewidth=0.8, **legend)
    failed = [at for at, one in zip(x, points, strict=True) if math.isnan(one.mape)]
    top = axes.get_xaxis_transform()  # x in data, y in shares of the panel
    axes.plot(failed, [0.97] * len(failed), "+", color=colour, markersize=5, transform=top)
    for at, one in zip(x, points, strict=True):
        face = "white" if one.stray else colour
        dot: dict[str, Any] = {
            "marker": marker,
            "markersize": 4,
            "markerfacecolor": face,
            "zorder": 3,
        }
        axes.plot([at], [one.mape], color=colour, **dot)
        if one.stray:
            axes.annotate(
                str(one.stray),
                (at, one.mape),
                (3, 3),
                textcoords="offset points",
                fontsize=_figures.FONT - 1.5,
                color=colour,
            )


def _finish(axes: Axes, label: str, ticks: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    low, high = axes.get_ylim()
    shown = [tick for tick in TICKS if low <= tick <= high]
    axes.set_yticks(shown, [f"{tick:g}" for tick in shown])
    axes.set_yticks([], minor=True)
    axes.tick_params(labelsize=_figures.FONT)
    axes.set_xlabel(label, fontsize=_figures.FONT)
    axes.grid(alpha=0.25, linewidth=0.4)


EXHIBIT = Exhibit(
    NAME,
    "Sensitivity of the network estimator to the Bellman weight and to its size",
    cells,
    compute,
    render,
)
