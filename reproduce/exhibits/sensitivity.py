"""What the network estimator's MAPE owes to the weight of the Bellman term and to its size.

Left: Q = f + c with one number c and the Bellman error weighted by w, the paper's risk at w = 1.
Right: Q = f + c(s), whose Bellman error is zero whatever the weight, with other hidden layers.
The dashed line in both is the paper's network of 2 x 10 with c(s). Data sets are Table 2's. A fit
that did not converge stays in the mean; it makes its marker hollow and is counted beside it.
"""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce import layout
from reproduce.fits import fitting
from reproduce.results import Results
from reproduce.spec import Entry, Exhibit, Record, Result

NAME = "sensitivity"
TRAJECTORIES, SMOKE_TRAJECTORIES = (50, 250, 1000), (50,)
WEIGHTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SMOKE_WEIGHTS = (0.1, 1.0, 10.0)
WIDTHS, SMOKE_WIDTHS = (2, 5, 10, 20, 50), (2, 10)
DEPTHS, SMOKE_DEPTHS = (1, 2, 3), (1, 2)
REFERENCE = (10, 2)  # width and depth, the default
WEIGHT, SIZE = "Bellman weight", "hidden layers"


def of_weight(weight: float) -> str:
    """The protocol of a cell of the left panel."""
    return f"leak_free weight {weight:g}"


def of_size(width: int, depth: int) -> str:
    """The protocol of a cell of the right panel."""
    return f"leak_free {depth} x {width}"


def entries(smoke: bool) -> list[Entry]:
    """For each N all weights, then all networks."""
    found = []
    for n in SMOKE_TRAJECTORIES if smoke else TRAJECTORIES:
        for weight in SMOKE_WEIGHTS if smoke else WEIGHTS:
            options: dict[str, Any] = {"function_class": "mlp", "level": "scalar", "weight": weight}
            cell = fitting("gladius", n, smoke, options)
            found.append(Entry(str(n), WEIGHT, of_weight(weight), cell))
        depths, widths = (SMOKE_DEPTHS, SMOKE_WIDTHS) if smoke else (DEPTHS, WIDTHS)
        for depth, width in product(depths, widths):
            is_default = (width, depth) == REFERENCE
            options = {} if is_default else {"hidden": (width,) * depth}
            cell = fitting("gladius", n, smoke, {"function_class": "mlp"} | options)
            found.append(Entry(str(n), SIZE, of_size(width, depth), cell))
    return found


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The score, and the share of fits that converged."""
    done = [status == 0 for status in result.replications["status"]]
    share = Record("share converged", float(np.mean(done)), repetitions=len(done))
    return (*result.records, share)


def points(results: Results) -> pd.DataFrame:
    """(row, column, protocol) -> `mape`, `se`, and how many fits are `stray`: not converged."""
    frame = results.frame()
    mape = frame[frame["statistic"] == "MAPE"].set_index(list(KEYS))
    stray = frame[frame["statistic"] == "repetitions not ok"].set_index(list(KEYS))["value"]
    return pd.DataFrame({"mape": mape["value"], "se": mape["se"], "stray": stray})


KEYS = ("row", "column", "protocol")
COLOURS = (layout.BLUE, layout.VERMILION, layout.GREEN)  # by N
DODGE = 1.06  # factor between the depths of one width
DEPTH_MARKS = {1: ("o", ":"), 2: ("s", "-"), 3: ("^", "-.")}
CAPTION = (
    "dashed: 2 x 10, c a function of s; hollow: some fits did not converge, their number beside"
    " it; + at the top: no result, the fit failed"
)
TICKS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def render(results: Results, out: Path) -> None:
    """Two panels over one scale of MAPE."""
    figure = layout.new_figure(layout.PAGE, 3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    weights, depths, widths = (
        (SMOKE_WEIGHTS, SMOKE_DEPTHS, SMOKE_WIDTHS) if results.smoke else (WEIGHTS, DEPTHS, WIDTHS)
    )
    known = points(results)
    for row, colour in zip(results.rows, COLOURS, strict=False):
        sizes = known.reindex([(row, SIZE, of_size(*REFERENCE))])
        for axes in (left, right):
            base: dict[str, Any] = {"color": colour, "linestyle": "--", "linewidth": 0.8}
            axes.axhline(float(sizes["mape"].iloc[0]), zorder=1, **base)
        line = known.reindex([(row, WEIGHT, of_weight(w)) for w in weights])
        _line(left, weights, line, colour, ("s", "-"), f"N = {int(row):,}")
        for depth in depths:
            line = known.reindex([(row, SIZE, of_size(w, depth)) for w in widths])
            shifted = [width * DODGE ** (depth - 2) for width in widths]
            _line(right, shifted, line, colour, DEPTH_MARKS[depth], "_")
    for depth in depths:
        label = f"{depth} hidden layer{'s' * (depth > 1)}"
        _line(right, [], known[:0], layout.GREY, DEPTH_MARKS[depth], label)
    for axes, label, ticks in (
        (left, "weight of the Bellman term, c a number", weights),
        (right, "width of the hidden layers, c a function of s", widths),
    ):
        layout.log_log(axes, ticks, TICKS)
        layout.words(axes, label, "MAPE, per cent (bars: standard errors)" * (axes is left))
        axes.legend(fontsize=layout.FONT, frameon=False)
    figure.supxlabel(CAPTION, fontsize=layout.FONT)
    figure.suptitle(EXHIBIT.title, fontsize=layout.FONT + 1)
    layout.save(figure, out, NAME)


def _line(
    axes: layout.Axes,
    x: Sequence[float],
    line: pd.DataFrame,
    colour: str,
    style: tuple[str, str],
    label: str,
) -> None:
    marker, dashes = style
    strays, y = line["stray"].fillna(0).to_numpy(), line["mape"].to_numpy()
    dot: dict[str, Any] = {"marker": marker, "markersize": 4, "color": colour}
    thin: dict[str, Any] = {"linewidth": 0.8, "elinewidth": 0.6}
    axes.errorbar(x, y, line["se"], linestyle=dashes, label=label, **thin, **dot)
    top = axes.get_xaxis_transform()  # x in data, y in shares of the panel
    beside: dict[str, Any] = {"textcoords": "offset points", "fontsize": layout.FONT - 1.5}
    for place, mape, stray in zip(x, y, strays, strict=True):
        if math.isnan(mape):
            axes.plot(place, 0.97, "+", color=colour, markersize=5, transform=top)
        elif stray:
            axes.plot(place, mape, markerfacecolor="white", zorder=3, **dot)
            axes.annotate(f"{stray:.0f}", (place, mape), (3, 3), color=colour, **beside)


EXHIBIT = Exhibit(
    NAME,
    "Sensitivity of the network estimator to the Bellman weight and to its size",
    entries,
    cost=3.5,
    render=render,
    view=view,
    tolerance=0.05,  # in which of its minima a small network ends hangs on the last digits
)
