"""How gradients reach the minimiser at beta = .95: what each change of Algorithm 1 buys.

The figure: the distance of r from the minimiser's against steps and processor seconds, of the
algorithms in STYLES. The table: the step ratios and steps at which Algorithm 1 does converge, and
after how many steps. Tables over the mileages of Table 2's first data set, full batches.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce import layout
from reproduce.gradients import CLOSE, DECADE, PREDICTED, STEPS, place
from reproduce.results import Results
from reproduce.spec import Array, Cell, Entry, Exhibit

NAME = "gradients"
BETA, TRAJECTORIES = 0.95, 1000
PRINTED = "Algorithm 1"
DIRECT, SMOKE_DIRECT = 1_000_000, 2_000  # steps
LONGER = 4  # times as many of the printed line, whose rare states are slow to come near
TABLE = 2  # times as many in the table
LINES = {"tau": 0.9, "visits": 0.3, "natural": 0.5, "newton": 15}
RATIOS, SMOKE_RATIOS = (0.2, 0.35, 0.5, 0.65, 0.8, 1.0, 1.25, 2.0, 10.0), (0.5, 1.0)
PLAIN, BY_VISITS = (0.3, 0.9, 2.0, 4.0), (0.1, 0.3, 0.6, 1.0)  # Q's step on losses per row
BOTTOM = 1e-8  # of the axis


def entries(smoke: bool) -> list[Entry]:
    """The figure's cell and the table's."""
    told: dict[str, Any] = {"trajectories": TRAJECTORIES, "seeds": "table_2", "beta": BETA}
    direct = SMOKE_DIRECT if smoke else DIRECT
    told |= {"repetitions": 1, "direct": direct}
    grid: dict[str, Any] = {"ratios": SMOKE_RATIOS if smoke else RATIOS}
    grid |= {"plain": PLAIN[1:2] if smoke else PLAIN, "direct": TABLE * direct}
    grid |= {"visits": BY_VISITS[1:2] if smoke else BY_VISITS}
    lines = LINES | {"direct of printed": LONGER * direct}
    cells = {"lines": told | lines, "requirements": told | grid}
    found = []
    for compute, settings in cells.items():
        cell = Cell(f"reproduce.gradients:{compute}", settings, f"{NAME}, {compute}")
        statistic = DECADE if compute == "lines" else STEPS
        found.append(Entry(compute, PRINTED, "measured", cell, statistic))
    return found


def render(results: Results, out: Path) -> None:
    """The figure, and what Algorithm 1 needs as a table."""
    _draw(results, out)
    _table(results, out)


STYLES: dict[str, dict[str, Any]] = {
    "Algorithm 1 as printed": {"color": layout.BLACK, "linestyle": "-"},
    "printed, by visits": {"color": layout.GREY, "linestyle": "-"},
    "zeta exact": {"color": layout.VERMILION, "linestyle": ":"},
    "level closed": {"color": layout.BLUE, "linestyle": "--"},
    "V closed": {"color": layout.GREEN, "linestyle": "-."},
    "natural gradient": {"color": layout.PURPLE, "marker": "^"},
    "Newton": {"color": layout.BLACK, "marker": "o", "markerfacecolor": "white"},
}


def _draw(results: Results, out: Path) -> None:
    figure = layout.new_figure(layout.PAGE, 3.3, EXHIBIT.title)
    panels = figure.subplots(1, 2, sharey=True)
    arrays = results.stored[0].result.arrays
    for name, style in STYLES.items() if arrays else ():
        steps, far, seconds = arrays[name]
        for axes, x in zip(panels, (steps, seconds), strict=True):
            some = {"markersize": 3, "linewidth": 1.4} | style
            axes.plot(x[steps > 0], far[steps > 0], label=name, **some)
    for axes, what in zip(panels, ("steps", "processor seconds"), strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(BOTTOM, 10)
        layout.words(axes, what)
    panels[0].set_ylabel("distance of r", fontsize=layout.FONT)
    layout.legend_below(figure, panels[0], 4)
    layout.save(figure, out, NAME)


def _table(results: Results, out: Path) -> None:
    frame = results.frame()
    table = frame.pivot_table(index="row", columns="statistic", values="value", dropna=False)
    steps = {line["row"]: line for _, line in frame[frame["statistic"] == STEPS].iterrows()}
    grid, lines = results.entries[1].cell.settings, {}
    for kind in ("plain", "visits"):
        for tau in grid[kind]:
            rows = [place(kind == "visits", tau, ratio) for ratio in grid["ratios"]]
            texts = [_text(steps[row], grid["direct"]) if row in steps else "" for row in rows]
            lines[rows[0].rpartition(",")[0]] = texts
    heads = [f"{ratio:g}" for ratio in grid["ratios"]]
    shown = pd.DataFrame.from_dict(lines, orient="index", columns=heads)
    shown.index.name = "step of Q"
    title = f"Thousands of steps of Algorithm 1 until r is within {CLOSE:.0%}, by tau_1 / tau_2"
    layout.write(shown, out, f"{NAME}_steps", title, notes(results, table))


def _text(line: pd.Series, direct: int) -> str:
    if line["status"] == "ok":
        return f"{line['value'] / 1000:,.0f}"
    return "-" if line["status"] == "diverged" else f"> {direct / 1000:,.0f}"


def pace_of_end(steps: Array, far: Array) -> str:
    """Where a line ends, and its steps a decade there: far from r* another than the predicted."""
    decades = float(np.log10(far[-2] / far[-1]))
    pace = f"{(steps[-1] - steps[-2]) / decades:.1g}" if decades > 0 else "inf"
    return f"still {far[-1]:.2g} away after {steps[-1]:,.0f}, and there {pace}"


def notes(results: Results, table: pd.DataFrame) -> list[str]:
    """What a reader must know, with the slopes of this run."""
    direct = results.entries[0].cell.settings["direct"]
    said, arrays = [], results.stored[0].result.arrays
    for name in STYLES:
        pair = [
            table.get(column, pd.Series(dtype=float)).get(name, math.nan)
            for column in (DECADE, f"{DECADE}, {PREDICTED}")
        ]
        if not math.isnan(pair[1]):
            measured = pace_of_end(*arrays[name][:2]) if math.isnan(pair[0]) else f"{pair[0]:,.0f}"
            said.append(f"{name} {measured} ({pair[1]:,.0f})")
    return [
        f"Bus engine, beta = {BETA:g}, tables, all rows in each step, from Q = zeta = 0; distance:"
        " mean over rows of |r - r*| / |r*|, r* the minimiser's. -: diverges.",
        "plain: the printed step, losses per row; by visits: divided by the share of the state (Q)"
        " or the pair (zeta). Printed ratio: 1.",
        f"The figure's lines are run for {direct:,} steps, as printed for {LONGER * direct:,}.",
        "Seconds: of the steps alone, but Newton's with what sets its problem up.",
        f"Steps a decade, measured (predicted from the derivative of a step): {'; '.join(said)}.",
    ]


def verdict(folder: Path) -> str:
    """At how many settings of its steps Algorithm 1 diverges, plain and by visits; the best."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    steps = frame[frame["statistic"] == STEPS]
    gone, best = list[str](), dict[str, str]()
    for kind, name in (("plain", "Algorithm 1 diverges"), ("by visits", "by visits")):
        part = steps[steps["row"].str.startswith(kind)]
        gone.append(f"{name} at {part['status'].eq('diverged').sum()} of {len(part)}")
        reached = part[part["status"] == "ok"].sort_values("value")
        if len(reached):
            least = reached.iloc[0]
            best[f"{least['value']:,.0f}"] = f"at best {least['value']:,.0f}: {least['row']}"
    said = f"{gone[0]} settings of its two steps, {gone[1]}"
    if not best:
        return said
    return f"{said}; steps at best {' and '.join(best)}\nsteps {'; '.join(best.values())}"


EXHIBIT = Exhibit(
    NAME,
    "Gradients at beta = .95: what each change of Algorithm 1 buys",
    entries,
    cost=5.0,
    render=render,
    verdict=verdict,
    tolerance=0.02,  # a step count moves by a mark where rounding does
)
