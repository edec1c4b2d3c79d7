"""Table 2 against the asymptotic bounds on the expected MAPE, by sample size.

A cell is the bounds of one N, at the .8 N training trajectories of Table 2; the points are Table
2's own cells and published numbers. A method and the bound on its class have one colour:

(i) Rust: law known, slope and anchor's reward estimated; (ii) the same, anchor's reward given;
(iii) law and reward unknown in every cell; (iv) law unknown, reward affine in mileage.

The bounds are first-order in the root of N, and hold for regular estimators of the class: that a
point lies below says something about a method only where its error bar, and more repetitions than
the figure's 20 (see `accuracy`), say so too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from reproduce import published
from reproduce.comparison import CRITICAL
from reproduce.exhibits import _bounds, _bus, _figures, table_2
from reproduce.results import Results
from reproduce.spec import Cell, Exhibit, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = "bounds"


def cells(smoke: bool) -> list[Cell]:
    """One for each N of Table 2."""
    sizes = table_2.SMOKE_TRAJECTORIES if smoke else table_2.TRAJECTORIES
    return [
        Cell(NAME, str(n), _bounds.COLUMN, _bounds.PROTOCOL, {"trajectories": n}) for n in sizes
    ]


def compute(cell: Cell, device: str) -> Result:
    """The four bounds of one N."""
    return _bounds.result(_bus.bound(cell.settings["trajectories"]))


# bound -> (label, colour, line style)
LINES = {
    "iii": ("(iii) tabular", _figures.BLACK, "-"),
    "iv": ("(iv) affine r", _figures.VERMILION, "--"),
    "i": ("(i) law known", _figures.BLUE, "-."),
    "ii": ("(ii) law, anchor known", _figures.GREEN, ":"),
}
# (column, protocol) -> (label, colour, marker)
OURS = {
    ("Plug-in", "leak_free tabular"): ("Plug-in", _figures.BLACK, "s"),
    ("GLADIUS", "leak_free smooth"): ("GLADIUS, smooth", _figures.VERMILION, "o"),
    ("GLADIUS", "leak_free mlp"): ("GLADIUS, network", _figures.ORANGE, "D"),
    ("Rust", "fresh"): ("Rust", _figures.BLUE, "^"),
    ("Rust (theta_1 given)", "fresh"): ("Rust, anchor given", _figures.GREEN, "v"),
    ("GLADIUS", "author last"): ("author's code, last", _figures.GREY, "P"),
    ("GLADIUS", "author oracle"): ("author's code, oracle", _figures.SKY, "X"),
}
# published column -> (label, colour, marker)
PAPER = {
    "GLADIUS": ("GLADIUS (paper)", _figures.VERMILION, "o"),
    "Rust": ("Rust (paper)", _figures.BLUE, "^"),
    "ML-IRL": ("ML-IRL (paper)", _figures.PURPLE, "<"),
    "SAmQ": ("SAmQ (paper)", _figures.BLACK, "h"),
}
DODGE = 1.05  # factor between neighbouring markers of one N
LEVEL_FREE = ("BC", "IQ-learn")  # identify no level; far above the rest


def render(results: Results, out: Path) -> list[Path]:
    """One panel, log-log, at the width of a column."""
    figure = _figures.new(_figures.COLUMN, 4.6)
    axes = figure.add_subplot()
    sizes = [int(cell.row) for cell in results.cells if cell.exhibit == NAME]
    for numeral, (label, colour, style) in LINES.items():
        values = [_bounds.value(results, str(n), numeral) for n in sizes]
        axes.plot(sizes, values, style, color=colour, label=label, linewidth=1.1, zorder=1)
    frame, printed = results.frame(), published.load(table_2.NAME)
    frame = frame[(frame["statistic"] == "MAPE") & frame["value"].notna()]
    lines = [(look, _chosen(frame, which), True) for which, look in OURS.items()]
    lines += [(look, printed[printed["column"] == c], False) for c, look in PAPER.items()]
    lines = [line for line in lines if not line[1].empty]  # what was not run is not in the legend
    for (look, chosen, ours), shift in zip(lines, _shifts(len(lines)), strict=True):
        _points(axes, sizes, look, chosen, shift, ours)
    _scales(axes, sizes)
    high = printed[printed["column"].isin(LEVEL_FREE)]["number"]
    left_out = f"{' and '.join(LEVEL_FREE)} (paper: {high.min():.0f} to {high.max():.0f})"
    axes.set_xlabel(f"trajectories N\nnot shown: {left_out}", fontsize=_figures.FONT)
    axes.set_ylabel("MAPE of the reward, per cent (bars: 95 %)", fontsize=_figures.FONT)
    figure.suptitle("Table 2 against the bounds (hollow: the paper's)", fontsize=_figures.FONT + 1)
    figure.legend(loc="outside lower center", ncols=2, fontsize=_figures.FONT - 1, frameon=False)
    return _figures.save(figure, out, NAME)


def _chosen(frame: pd.DataFrame, which: tuple[str, str]) -> pd.DataFrame:
    column, protocol = which
    return frame[(frame["column"] == column) & (frame["protocol"] == protocol)]


def _points(
    axes: Axes,
    sizes: Sequence[int],
    look: tuple[str, str, str],
    chosen: pd.DataFrame,
    shift: float,
    ours: bool,
) -> None:
    """Ours filled, with 95 % bars; the paper's hollow, without: it does not define its (SE)."""
    label, colour, marker = look
    known = chosen[chosen["row"].isin([str(n) for n in sizes])]
    x = known["row"].astype(float).to_numpy() * shift
    style: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "none", "label": label}
    if not ours:
        axes.plot(x, known["number"], markerfacecolor="white", markersize=4, zorder=2, **style)
        return
    value, half = known["value"].to_numpy(), CRITICAL * known["se"].to_numpy()
    lower = np.minimum(half, 0.9 * value)  # a log scale has no room for zero
    bars = np.stack([lower, half])
    axes.errorbar(x, value, bars, markersize=3, elinewidth=0.7, zorder=3, **style)


def _shifts(number: int) -> list[float]:
    """Factors that set the markers of one N side by side."""
    return [DODGE ** (i - (number - 1) / 2) for i in range(number)]


def _scales(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes], rotation=30)
    axes.set_xticks([], minor=True)
    ticks = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.tick_params(labelsize=_figures.FONT)
    axes.grid(alpha=0.25, linewidth=0.4)


EXHIBIT = Exhibit(
    NAME,
    "Table 2 against the asymptotic bounds on the expected MAPE",
    cells,
    compute,
    render,
    depends=(table_2.NAME,),
    shows=("table_2_author",),
)
