"""How loose the appendix's constants are on the paper's own data; see reproduce/landscape.py.

The figure: bound over observed, at points of a ball, one row for each constant: 1 is tight. The
table: constants of the Polyak-Lojasiewicz inequality: from the appendix; the least
(1/2)|gradient|^2 / (loss - infimum over all tables) found in the ball, by points and by descents,
which no constant that holds exceeds; and the least non-zero curvature at the centre.
"""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce import layout
from reproduce.landscape import FROM_ZERO, TERMS, protocol
from reproduce.results import Results
from reproduce.spec import Cell, Entry, Exhibit

NAME = "tightness"
TRAJECTORIES, RADII = (50, 1000), (1.0, 10.0)
SEARCH: dict[str, Any] = {"points": 300, "starts": 12, "iterations": 100}
SMOKE_SEARCH: dict[str, Any] = {"points": 20, "starts": 2, "iterations": 10}


def entries(smoke: bool) -> list[Entry]:
    """One for each number of trajectories."""
    settings = (SMOKE_SEARCH if smoke else SEARCH) | {"radii": RADII}
    settings |= {"seeds": "table_2", "repetitions": 1}
    cells = {
        n: Cell("reproduce.landscape:compute", settings | {"trajectories": n}, f"{NAME}, N = {n}")
        for n in (TRAJECTORIES[:1] if smoke else TRAJECTORIES)
    }
    return [Entry(str(n), "tabular", "measured", cell, "PL") for n, cell in cells.items()]


def render(results: Results, out: Path) -> None:
    """The figure and the table."""
    _draw(results, out)
    _table(results, out)


KINDS = ("appendix", "least found", "curvature")


def _table(results: Results, out: Path) -> None:
    frame = results.frame()
    value = frame.set_index(["row", "protocol", "statistic"])["value"]
    lines = {}
    for entry, radius, term in itertools.product(results.entries, RADII, TERMS):
        names = (f"PL of {term}, appendix", f"PL of {term}, least found", f"curvature of {term}")
        numbers = [value.get((entry.row, protocol(radius), name), math.nan) for name in names]
        texts = [f"{number:.1e}" for number in (*numbers, numbers[1] / numbers[0])]
        lines[f"{entry.row}, {radius:g}, {term}"] = texts
    heads = [*KINDS, "found / appendix"]
    table = pd.DataFrame.from_dict(lines, orient="index", columns=heads)
    table.index.name = "N, radius, loss"
    title = "Constants of the Polyak-Lojasiewicz inequality on the paper's data"
    layout.write(table, out, f"{NAME}_pl", title, notes(frame))


def notes(frame: pd.DataFrame) -> list[str]:
    """What a reader of the table must know, with the numbers of this run."""
    of_data = frame.pivot_table(index="row", columns="statistic", values="value", sort=False)
    said = [
        f"N = {row}: {found['states that lack an action']:.0f} of {found['states']:.0f} states lack"
        " an action; on the ball around Q = 0 that reaches the centre, the appendix's constant of"
        f" R_Q is at most 10^{found[FROM_ZERO]:.0f}."
        for row, found in of_data.iterrows()
    ]
    return [
        "Tabular class (mu = 1), training split of Table 2's first data set; ball around the"
        " minimiser, half a count for an action that a state lacks.",
        "least found: (1/2)|gradient|^2 over (loss - infimum over all tables), by points and"
        " descents: no larger constant holds.",
        "curvature: the least non-zero one at the centre, which is no stationary point where"
        " half counts stand in.",
        *said,
    ]


COLOURS = (layout.SKY, layout.BLUE, layout.ORANGE, layout.VERMILION)  # a data set and ball each


def _draw(results: Results, out: Path) -> None:
    """A row for each constant, in it a strip of points for each data set and ball."""
    figure = layout.new_figure(layout.PAGE, 4.4)
    axes, names = figure.subplots(), list[str]()
    strips = itertools.product(results, RADII)
    for k, (((entry, stored), radius), colour) in enumerate(zip(strips, COLOURS, strict=False)):
        ball, arrays = f"{radius:g} ", stored.result.arrays
        strip = {name.removeprefix(ball): x for name, x in arrays.items() if name.startswith(ball)}
        names = names or list(strip)
        style: dict[str, Any] = {"color": colour, "alpha": 0.3, "markeredgewidth": 0}
        style["label"] = f"N = {int(entry.row):,}, radius {radius:g}"
        x = np.concatenate([np.empty(0), *strip.values()])
        heights = [i + 0.18 * k - 0.27 for i, name in enumerate(strip) for _ in strip[name]]
        axes.plot(x, heights, "o", markersize=2.4, rasterized=True, **style)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.axvline(1.0, color=layout.BLACK, linewidth=0.8)
    layout.words(axes, "bound over observed (1 is tight)", title=EXHIBIT.title)
    layout.legend_below(figure, axes, 4)
    layout.save(figure, out, NAME)


def verdict(folder: Path) -> str:
    """Whether a bound fails at a point, and how far R_Q's constant is from the least found."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    slack = frame[frame["statistic"].str.startswith("slack")]["value"]
    table = frame.pivot_table(index=["row", "protocol"], columns="statistic", values="value")
    apart = (table["PL of R_Q, least found"] / table["PL of R_Q, appendix"]).dropna()
    low, high = math.log10(apart.min()), math.log10(apart.max())
    return (
        f"{int((slack < 1).sum())} of {len(slack)} bounds fail at a point; the PL constant of R_Q"
        f" is 10^{low:.0f} to 10^{high:.0f} times below the least ratio found"
    )


EXHIBIT = Exhibit(
    NAME,
    "How loose the appendix's constants are (bus engine, tables)",
    entries,
    cost=0.6,
    render=render,
    verdict=verdict,
    tolerance=5e-4,
)
