"""What the network estimator's MAPE owes to the weight of the Bellman term and to its size.

Left: Q = f + c with one number c and the Bellman error weighted by w, the paper's risk at w = 1.
Right: Q = f + c(s), whose Bellman error is zero whatever the weight, with other hidden layers.
The dashed line in both is the paper's network of 2 x 10 with c(s). Data sets are Table 2's. A fit
that did not converge stays in the mean; it makes its marker hollow and is counted beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduce import layout
from reproduce.fits import fitting
from reproduce.results import Results, records
from reproduce.spec import Entry, Exhibit, Record, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = "sensitivity"
TRAJECTORIES, SMOKE_TRAJECTORIES = (50, 250, 1000), (50,)
WEIGHTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SMOKE_WEIGHTS = (0.1, 1.0, 10.0)
WIDTHS, SMOKE_WIDTHS = (2, 5, 10, 20, 50), (2, 10)
DEPTHS, SMOKE_DEPTHS = (1, 2, 3), (1, 2)
REFERENCE = (10, 10)  # the default
WEIGHT, SIZE = "Bellman weight", "hidden layers"


def of_weight(weight: float) -> str:
    """The protocol of a cell of the left panel."""
    return f"leak_free weight {weight:g}"


def of_size(hidden: Sequence[int]) -> str:
    """The protocol of a cell of the right panel."""
    return f"leak_free {len(hidden)} x {hidden[0]}"


def entries(smoke: bool) -> list[Entry]:
    """For each N all weights, then all networks."""
    found = []
    for n in SMOKE_TRAJECTORIES if smoke else TRAJECTORIES:
        for weight in SMOKE_WEIGHTS if smoke else WEIGHTS:
            options: dict[str, Any] = {"function_class": "mlp", "level": "scalar", "weight": weight}
            cell = fitting("gladius", n, smoke, options)
            found.append(Entry(str(n), WEIGHT, of_weight(weight), cell))
        for depth in SMOKE_DEPTHS if smoke else DEPTHS:
            for width in SMOKE_WIDTHS if smoke else WIDTHS:
                hidden = (width,) * depth
                options = {"function_class": "mlp"}
                options |= {} if hidden == REFERENCE else {"hidden": hidden}
                cell = fitting("gladius", n, smoke, options)
                found.append(Entry(str(n), SIZE, of_size(hidden), cell))
    return found


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The score, and the share of fits that converged."""
    done = [status == 0 for status in result.replications["status"]]
    share = Record("share converged", float(np.mean(done)), repetitions=len(done))
    return (*result.records, share)


@dataclass(frozen=True)
class Point:
    """An entry in the figure; `stray` fits did not converge. NaN where its cell failed."""

    mape: float
    se: float
    stray: int


def point(results: Results, row: str, column: str, protocol: str) -> Point:
    """What is stored for an entry; NaN where it has no result."""
    for entry, stored in results:
        if (entry.row, entry.column, entry.protocol) == (row, column, protocol):
            found = {r.statistic: r for r in records(entry, stored)}
            mape, stray = found["MAPE"], found.get("repetitions not ok")
            return Point(mape.value, mape.se, 0 if stray is None else int(stray.value))
    return Point(math.nan, math.nan, 0)


COLOURS = (layout.BLUE, layout.VERMILION, layout.GREEN)  # by N
DODGE = 1.06  # factor between the depths of one width
DEPTH_MARKS = {1: ("o", ":"), 2: ("s", "-"), 3: ("^", "-.")}
CAPTION = (
    "dashed: 2 x 10, c a function of s; hollow: some fits did not converge, their number beside"
    " it; + at the top: no result, the fit failed"
)
TICKS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def render(results: Results, out: Path) -> list[Path]:
    """Two panels over one scale of MAPE."""
    figure = layout.new_figure(layout.PAGE, 3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    weights = SMOKE_WEIGHTS if results.smoke else WEIGHTS
    depths = SMOKE_DEPTHS if results.smoke else DEPTHS
    widths = SMOKE_WIDTHS if results.smoke else WIDTHS
    rows = dict.fromkeys(entry.row for entry in results.entries)
    for row, colour in zip(rows, COLOURS, strict=False):
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
        _line(right, [], [], layout.GREY, DEPTH_MARKS[depth], label)
    left.set_ylabel("MAPE, per cent (bars: standard errors)", fontsize=layout.FONT)
    for axes, label, ticks in (
        (left, "weight of the Bellman term, c a number", weights),
        (right, "width of the hidden layers, c a function of s", widths),
    ):
        layout.log_log(axes, ticks, TICKS)
        axes.set_xlabel(label, fontsize=layout.FONT)
        axes.legend(fontsize=layout.FONT, frameon=False)
    figure.supxlabel(CAPTION, fontsize=layout.FONT)
    figure.suptitle(EXHIBIT.title, fontsize=layout.FONT + 1)
    return layout.save(figure, out, NAME)


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
    failed = [place for place, point_ in zip(x, points, strict=True) if math.isnan(point_.mape)]
    top = axes.get_xaxis_transform()  # x in data, y in shares of the panel
    axes.plot(failed, [0.97] * len(failed), "+", color=colour, markersize=5, transform=top)
    dot: dict[str, Any] = {"marker": marker, "markersize": 4, "zorder": 3, "color": colour}
    beside: dict[str, Any] = {"textcoords": "offset points", "fontsize": layout.FONT - 1.5}
    for place, point_ in zip(x, points, strict=True):
        axes.plot(
            [place], [point_.mape], markerfacecolor="white" if point_.stray else colour, **dot
        )
        if point_.stray:
            where = (place, point_.mape)
            axes.annotate(str(point_.stray), where, (3, 3), color=colour, **beside)


EXHIBIT = Exhibit(
    NAME,
    "Sensitivity of the network estimator to the Bellman weight and to its size",
    entries,
    cost=3.5,
    render=render,
    view=view,
    tolerance=0.05,  # in which of its minima a small network ends hangs on the last digits
)
