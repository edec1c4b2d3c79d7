"""The corrected chain on the bus engine: rates, condition numbers and PL constants.

Left: distance to the minimiser against steps, Q = zeta = 0 at the start, one curve for each data
set: Algorithm 1 as printed, its smallest mend (the ascent normalised by visits), and on; dotted,
the slope that the curvature at the minimiser predicts. Middle: condition number against 1 / (1 -
beta), the same data with the estimator's discount changed, for the data's anchor, a reset, and for
a lazy walk in its place. Right: the constant of the PL inequality below a level, proved and as the
appendix has it, beside the least ratio found. See reproduce/corrected.py.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce import layout
from reproduce.corrected import ANCHORS, ASCENT, COMPARED, METHODS
from reproduce.gradients import PRINTED
from reproduce.results import Results
from reproduce.spec import Cell, Entry, Exhibit, Record, Result
from reproduce.store import Stored

NAME = "rates_corrected"
TRAJECTORIES = (50, 250, 500, 1000, 2500, 5000)
SHOWN = 1000  # of the panels
DISCOUNT = 0.95
LEVELS = (1e-6, 1e-4, 1e-2, 1.0)
BETAS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
SEEDS, SMOKE_SEEDS = 5, 2
MOST = dict.fromkeys(METHODS, 1_000_000) | dict.fromkeys((PRINTED, ASCENT), 200_000)
SMOKE_MOST = 3_000
STEPS = {"tau": 0.9, "visits": 0.3}  # of losses per row, and by visits


def entries(smoke: bool) -> list[Entry]:
    """Paths and conditions at one size, the constants at every size."""
    seeds = SMOKE_SEEDS if smoke else SEEDS
    common: dict[str, Any] = {"seeds": NAME, "repetitions": seeds, "beta": DISCOUNT}
    most = {name: min(SMOKE_MOST, steps) if smoke else steps for name, steps in MOST.items()}
    asked: list[tuple[str, str, int, dict[str, Any]]] = [
        ("paths", "rate", SHOWN, STEPS | {"most": most}),
        ("conditions", "condition number", SHOWN, {"betas": BETAS}),
    ]
    for n in (SHOWN,) if smoke else TRAJECTORIES:
        asked.append(("constants", "PL", n, {"levels": LEVELS[:2] if smoke else LEVELS}))
    found = []
    for what, statistic, n, settings in asked:
        told = common | settings | {"trajectories": n}
        cell = Cell(f"reproduce.corrected:{what}", told, f"{NAME}, {what}, N = {n}")
        found.append(Entry(f"{what}, N = {n}", "tabular", "measured", cell, statistic))
    return found


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The records, over the data sets; those of a level say at which size."""
    sets = entry.cell.repetitions
    if entry.statistic != "PL":
        return [replace(record, repetitions=sets) for record in result.records]
    size = f"N = {entry.cell.settings['trajectories']}"
    return [replace(r, row=f"{size}, {r.row}", repetitions=sets) for r in result.records]


def _stored(results: Results, what: str) -> Stored:
    return results.get(f"{what}, N = {SHOWN}", "tabular", "measured")


COLOURS = dict(
    zip(
        METHODS,
        (layout.GREY, layout.SKY, layout.PURPLE, layout.BLUE, layout.GREEN, layout.VERMILION),
        strict=True,
    )
)


def render(results: Results, out: Path) -> None:
    """The figure, and the PL constants of every size as a table."""
    figure = layout.new_figure(layout.PAGE, 3.0, EXHIBIT.title)
    panels = figure.subplots(1, 3)
    for axes in panels:
        axes.set_xscale("log")
        axes.set_yscale("log")
    _paths(panels[0], results)
    _conditions(panels[1], results)
    _constants(panels[2], results)
    layout.legend_below(figure, panels[0], 3)
    layout.save(figure, out, NAME)
    _table(results, out)


def _paths(axes: layout.Axes, results: Results) -> None:
    arrays = _stored(results, "paths").result.arrays
    for method in METHODS if arrays else ():
        steps, distances = arrays[f"{method} steps"], arrays[f"{method} distance"]
        colour = COLOURS[method]
        for r, distance in enumerate(distances):
            label: dict[str, Any] = {"label": method} if r == 0 else {}
            axes.plot(steps, distance, color=colour, linewidth=0.8, **label)
            # through the last point; a straight line in the number of steps
            last = int(np.flatnonzero(np.isfinite(distance))[-1])
            decades = (steps - steps[last]) / arrays[f"{method} predicted"][r]
            line = distance[last] * 10**-decades
            near = (line < 3 * np.nanmax(distance)) & (steps <= steps[last])
            style: dict[str, Any] = {"linestyle": ":", "linewidth": 0.8, "color": layout.BLACK}
            axes.plot(steps[near], line[near], **style)
    title = "distance (predicted: dotted)"
    layout.words(axes, "steps", "relative distance of r", title)


def _conditions(axes: layout.Axes, results: Results) -> None:
    stored = _stored(results, "conditions").result.arrays
    x = 1 / (1 - np.array(BETAS))
    for anchor, style in zip(ANCHORS, ("o-", "s--"), strict=True):
        if anchor in stored:
            for k, method in enumerate(COMPARED):
                means = stored[anchor][:, :, k].mean(axis=0)
                axes.plot(x, means, style, color=COLOURS[method], markersize=2.5, linewidth=0.9)
    label = f"1 / (1 - beta); {ANCHORS[0]}: solid, {ANCHORS[1]}: dashed"
    layout.words(axes, label, "", "condition number")


def _constants(axes: layout.Axes, results: Results) -> None:
    stored = _stored(results, "constants")
    arrays = stored.result.arrays
    if arrays:
        levels = LEVELS[: arrays["proved"].shape[1]]
        shown = {
            "least found": (arrays["found"], "o", layout.BLACK),
            "proved": (arrays["proved"], "-", layout.ORANGE),
            # beyond 1e-30 it is off the panel
            "printed": (10 ** np.maximum(arrays["printed"], -300), "--", layout.PURPLE),
        }
        for name, (values, style, colour) in shown.items():
            for r, line in enumerate(values):
                label: dict[str, Any] = {"label": name} if r == 0 else {}
                axes.plot(levels, line, style, color=colour, markersize=3, linewidth=0.9, **label)
        axes.set_ylim(1e-30, 1e-3)
        axes.legend(fontsize=layout.FONT, frameon=False)
    layout.words(axes, "level of g - g*", "", "PL constant")


def _table(results: Results, out: Path) -> None:
    lines = {}
    for entry, stored in results:
        arrays = stored.result.arrays
        if entry.statistic != "PL" or not arrays:
            continue
        for k, level in enumerate(entry.cell.settings["levels"]):
            proved, found = arrays["proved"][:, k], arrays["found"][:, k]
            apart = np.log10(found) - arrays["printed"][:, k]
            lines[f"{entry.cell.settings['trajectories']}, {level:g}"] = (
                f"{proved.min():.1e} to {proved.max():.1e}",
                f"{(found / proved).min():.2f} to {(found / proved).max():.2f}",
                f"10^{math.floor(apart.min())} to 10^{math.ceil(apart.max())}",
            )
    heads = ["proved", "found / proved", "found / printed"]
    table = pd.DataFrame.from_dict(lines, orient="index", columns=heads)
    table.index.name = "N, level"
    title = "The PL constant of the profile below a level, over data sets"
    layout.write(table, out, f"{NAME}_pl", title, NOTES)


NOTES = [
    "Tables, Euclidean metric, half a count for an action that a visited mileage lacks.",
    "found: least ratio of half the squared gradient to the gap below the level; no constant that"
    " holds exceeds it. proved: Theorem corrected.pl.",
    "printed: the appendix's constant of R_Q on the ball around the minimiser that reaches the"
    " worst point found.",
]


def verdict(folder: Path) -> str:
    """How near the PL constant is to the search, and the predicted rates to the measured ones."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    value = frame.set_index(["row", "statistic"])["value"]
    most = float(frame["value"][frame["statistic"] == "found over proved, most"].max())
    apart = frame["value"][frame["statistic"] == "log10 of found over printed, least"].min()
    off = [
        abs(float(value.get((name, "rate, measured over predicted, farthest"), math.nan)) - 1)
        for name in COMPARED
    ]
    is_missing = any(map(math.isnan, off))
    near = "not all measured" if is_missing else f"within {100 * max(off):.1f} % of the predicted"
    printed = f"printed: 10^{math.floor(apart)} and more"
    ratios = f"at most {most:.2f} times the constant proved ({printed})"
    return f"PL ratios found: {ratios}; rates {near}\nrates of {', '.join(COMPARED)}"


EXHIBIT = Exhibit(
    NAME,
    "The corrected chain: rates, conditioning and PL constants (bus engine, tables)",
    entries,
    cost=19.0,
    render=render,
    view=view,
    verdict=verdict,
    tolerance=5e-3,
)
