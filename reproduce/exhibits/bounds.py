"""Table 2 against the asymptotic bounds on the expected MAPE, by sample size.

A cell is the bounds of one N, at the .8 N training trajectories of Table 2; the points are the fits
of `accuracy`, 1,000 data sets and more, the 20 trainings of the author's code and the published
numbers. A method and the bound on its class have one colour.

The bounds are first-order in the root of N, and hold for regular estimators of the class: that a
point lies below says something about a method only where its error bar says so too. Table 2's 20
data sets are too few: verdicts.csv says where they are easy ones.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce import layout, published
from reproduce.compare import CRITICAL
from reproduce.exact import MEASURED, protocol
from reproduce.exhibits import table_2, table_2_author
from reproduce.fits import SMOKE_TRAJECTORIES, TRAJECTORIES
from reproduce.results import Results
from reproduce.spec import Cell, Entry, Exhibit

NAME = "bounds"
COLUMN, AFFINE = "bound", "affine/"


def bound_entry(row: str, trajectories: int, truth: str = "affine") -> Entry:
    """The bounds of one N under a truth of `data.TRUTHS`."""
    settings = {"trajectories": trajectories, "truth": truth}
    return Entry(row, COLUMN, MEASURED, Cell("reproduce.exact:bounds", settings, f"bounds, {row}"))


def value(results: Results, row: str, numeral: str) -> float:
    """A bound in a row; NaN where it was not computed or the truth is outside its class."""
    lines = results.get(row, COLUMN, MEASURED).result.records
    return next((r.value for r in lines if r.protocol == protocol(numeral)), math.nan)


def entries(smoke: bool) -> list[Entry]:
    """The bounds of each N of Table 2, and what the figure shows beside them."""
    from reproduce.exhibits import accuracy  # here, for it shows these bounds too

    sizes = SMOKE_TRAJECTORIES if smoke else TRAJECTORIES
    many = [
        replace(e, row=e.row.removeprefix(AFFINE))
        for e in accuracy.entries(smoke)
        if e.row.startswith(AFFINE)
    ]
    drawn = [*many, *table_2_author.entries(smoke)]
    kept = [replace(e, is_shown=False) for e in drawn if (e.column, e.protocol) in OURS]
    return [bound_entry(str(n), n) for n in sizes] + kept


# bound -> (label, colour, line style)
LINES = {
    "iii": ("(iii)", layout.BLACK, "-"),
    "iv": ("(iv)", layout.VERMILION, "--"),
    "i": ("(i)", layout.BLUE, "-."),
    "ii": ("(ii)", layout.BLACK, ":"),
}
# (column, protocol) -> (label, colour, marker)
OURS = {
    ("GLADIUS", "leak_free smooth"): ("GLADIUS, no truth", layout.VERMILION, "o"),
    ("Rust", "fresh"): ("Rust", layout.BLUE, "^"),
    ("GLADIUS", "author last"): ("author's code, last epoch", layout.GREY, "P"),
    ("GLADIUS", "author oracle"): ("author's code, oracle's epoch", layout.GREEN, "X"),
}
# published column -> (label, colour, marker)
PAPER = {
    "GLADIUS": ("GLADIUS (paper)", layout.VERMILION, "o"),
    "Rust": ("Rust (paper)", layout.BLUE, "^"),
}
DODGE = 1.05  # factor between neighbouring markers of one N
LEVEL_FREE = ("BC", "IQ-learn")  # identify no level; far above the rest


def render(results: Results, out: Path) -> None:
    """One panel, log-log, at the width of a column."""
    figure = layout.new_figure(layout.COLUMN_WIDTH, 4.6)
    axes = figure.add_subplot()
    sizes = [int(entry.row) for entry in results.entries if entry.is_shown]
    for numeral, (label, colour, style) in LINES.items():
        values = [value(results, str(n), numeral) for n in sizes]
        axes.plot(sizes, values, style, color=colour, linewidth=1.1, zorder=1)
        beside: dict[str, Any] = {"color": colour, "fontsize": layout.FONT - 1, "va": "center"}
        axes.annotate(f" {label}", (sizes[-1], values[-1]), annotation_clip=False, **beside)
    frame, printed = results.frame(hidden=True), published.load(table_2.NAME)
    frame = frame[(frame["statistic"] == "MAPE") & frame["value"].notna()]
    groups = dict(list(frame.groupby(["column", "protocol"], sort=False)))
    lines = [(look, groups[which], True) for which, look in OURS.items() if which in groups]
    lines += [(look, printed[printed["column"] == c], False) for c, look in PAPER.items()]
    for i, ((label, colour, marker), chosen, ours) in enumerate(lines):
        look: dict[str, Any] = {"color": colour, "marker": marker, "label": label}
        shift = DODGE ** (i - (len(lines) - 1) / 2)  # the markers of one N side by side
        known = chosen[chosen["row"].isin([str(n) for n in sizes])]
        _points(axes, known, shift, ours, linestyle="none", **look)
    layout.log_log(axes, sizes, [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0])
    axes.tick_params(axis="x", labelrotation=30)
    high = printed[printed["column"].isin(LEVEL_FREE)]["number"]
    left_out = f"{' and '.join(LEVEL_FREE)} (paper: {high.min():.0f} to {high.max():.0f})"
    told = (
        "trajectories N\nbounds: (i) P known, (ii) and the anchor's reward,"
        f"\n(iii) nothing known, (iv) r affine\nnot shown: {left_out}"
    )
    title = "Table 2 against the bounds (hollow: the paper's)"
    layout.words(axes, told, "MAPE of the reward, per cent (bars: 95 %)", title)
    layout.legend_below(figure, axes, 2)
    layout.save(figure, out, NAME)


def _points(axes: layout.Axes, known: pd.DataFrame, shift: float, ours: bool, **style: Any) -> None:
    """Ours filled, with 95 % bars; the paper's hollow, without: it does not define its (SE)."""
    x = known["row"].astype(float).to_numpy() * shift
    if not ours:
        axes.plot(x, known["number"], markerfacecolor="white", markersize=4, zorder=2, **style)
        return
    value, half = known["value"].to_numpy(), CRITICAL * known["se"].to_numpy()
    bars = np.stack([np.minimum(half, 0.9 * value), half])  # a log scale has no room for zero
    axes.errorbar(x, value, bars, markersize=3, elinewidth=0.7, zorder=3, **style)


EXHIBIT = Exhibit(
    NAME,
    "Table 2 against the asymptotic bounds on the expected MAPE",
    entries,
    cost=59.0,  # nearly all of it the author's code in the figure
    render=render,
    view=table_2_author.view,
)
