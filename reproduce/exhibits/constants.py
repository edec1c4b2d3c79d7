"""The constants of the Polyak-Lojasiewicz inequality on the bus engine: printed and corrected.

First figure: bound over observed for each of the appendix's constants, at points of a ball; 1 is
tight. Its table: the PL constants, beside the least (1/2)|gradient|^2 / (loss - infimum) found in
the ball, which no constant that holds exceeds. See `reproduce.cells.loss_bounds`.

Second figure: why the objective is not two-sided PL above beta = 1/2, on the counterexample of the
claim. It needs no cell: with zeta fixed a shift of Q by c adds (1 - 2 beta) c^2 / 2.

The CSV has the corrected chain too, on several data sets: how fast the distance to the minimiser
falls beside the rate that the curvature there predicts, and the PL constant below a level: proved,
printed, and the least ratio found. See `reproduce.cells.corrected`.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from proofs_checks.oracle.risk import Sample
from reproduce.cells.corrected import ASCENT, COMPARED, METHODS, PRINTED
from reproduce.cells.loss_bounds import FROM_ZERO, TERMS, protocol
from reproduce.drawing import layout
from reproduce.engine.nouns import Cell, Entry, Exhibit, Record, Result
from reproduce.engine.view import View

NAME = "constants"
TRAJECTORIES, RADII = (50, 1000), (1.0, 10.0)  # of the balls
SEARCH: dict[str, Any] = {"points": 300, "starts": 12, "iterations": 100}
SMOKE_SEARCH: dict[str, Any] = {"points": 10, "starts": 1, "iterations": 5}
SIZES, SHOWN = (50, 1000, 5000), 1000  # data sets of the chain; of its figure
LOOSE = 1e3  # of a bound over what it bounds
LEVELS = (1e-6, 1e-4, 1e-2, 1.0)
DATA_SETS, SMOKE_DATA_SETS = 5, 1
MOST = dict.fromkeys(METHODS, 1_000_000) | dict.fromkeys((PRINTED, ASCENT), 200_000)
SMOKE_MOST = 300
STEPS = {"tau": 0.9, "visits": 0.3}  # on losses per observation, and by visits
STREAM = "rates_corrected"  # of the chain's data sets
PATHS, BELOW = "rate", "PL below a level"  # statistics of the chain's entries


def entries(smoke: bool) -> list[Entry]:
    """The balls by number of trajectories; the chain's paths, and its constants at every size."""
    listed = []
    for n in TRAJECTORIES[:1] if smoke else TRAJECTORIES:
        settings = (SMOKE_SEARCH if smoke else SEARCH) | {"radii": RADII, "trajectories": n}
        settings |= {"seeds": "table_2", "repetitions": 1}
        cell = Cell("balls", settings, f"{NAME}, balls, N = {n}")
        listed.append(Entry(str(n), "tabular", "measured", cell, "PL"))
    common: dict[str, Any] = {"seeds": STREAM, "beta": 0.95}
    common["repetitions"] = SMOKE_DATA_SETS if smoke else DATA_SETS
    most = {name: min(SMOKE_MOST, steps) if smoke else steps for name, steps in MOST.items()}
    settings = common | STEPS | {"most": most, "trajectories": SHOWN}
    cell = Cell("paths", settings, f"{NAME}, paths, N = {SHOWN}")
    listed.append(Entry(f"paths, N = {SHOWN}", "tabular", "measured", cell, PATHS))
    for n in (SHOWN,) if smoke else SIZES:
        settings = common | {"levels": LEVELS[2:3] if smoke else LEVELS, "trajectories": n}
        cell = Cell("levels", settings, f"{NAME}, levels, N = {n}")
        listed.append(Entry(f"constants, N = {n}", "tabular", "measured", cell, BELOW))
    return listed


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The records; those of the chain are over the data sets, and say at which size."""
    if entry.statistic == "PL":
        return result.records
    of_data_sets = [replace(r, repetitions=entry.cell.repetitions) for r in result.records]
    if entry.statistic == PATHS:
        return of_data_sets
    size = f"N = {entry.cell.settings['trajectories']}"
    return [replace(r, row=f"{size}, {r.row}") for r in of_data_sets]


def render(results: View, out: Path) -> None:
    """Two figures and a table."""
    _draw_balls(results, out)
    _write_balls(results, out)
    _draw_shift(out)


# --- the appendix's constants in balls


def _draw_balls(results: View, out: Path) -> None:
    """A row for each constant, in it a strip of points for each data set and ball."""
    figure = layout.new_figure(layout.WIDTH, 5.2)
    axes, names, least = figure.subplots(), list[str](), dict[str, float]()
    colours = layout.shades(len(TRAJECTORIES) * len(RADII))
    balls = [(entry, stored) for entry, stored in results if entry.statistic == "PL"]
    for k, ((entry, stored), radius) in enumerate(product(balls, RADII)):
        ball, arrays = f"{radius:g} ", stored.result.arrays
        strip = {name.removeprefix(ball): x for name, x in arrays.items() if name.startswith(ball)}
        names = names or list(strip)
        style: dict[str, Any] = {"color": colours[k], "alpha": 0.3, "markeredgewidth": 0}
        style["label"] = f"N = {int(entry.row):,}, radius {radius:g}"
        x = np.concatenate([np.empty(0), *strip.values()])
        heights = [i + 0.18 * k - 0.27 for i, name in enumerate(strip) for _ in strip[name]]
        axes.plot(x, heights, "o", markersize=2.4, rasterized=True, **style)
        least |= {name: min(least.get(name, math.inf), *x) for name, x in strip.items()}
    axes.set_yticks(range(len(names)), list(map(layout.mathematics, names)))
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.axvline(1.0, color=layout.BLACK, linewidth=0.8)
    layout.words(axes, "looseness of the bound (1 is tight)")
    layout.legend_below(figure, axes, 2)
    loose = sum(x >= LOOSE for x in least.values())
    said = {"loose": loose, "of": len(least), "factor": f"{LOOSE:,.0f}"} if loose else None
    layout.save(figure, out, NAME, said)


def _write_balls(results: View, out: Path) -> None:
    frame = results.frame()
    value = frame.set_index(["row", "protocol", "statistic"])["value"]
    rows = [entry.row for entry in results.entries if entry.statistic == "PL"]
    lines, sentences = {}, []
    for row, radius, term in product(rows, RADII, TERMS):
        names = (f"PL of {term}, appendix", f"PL of {term}, least found", f"curvature of {term}")
        numbers = [value.get((row, protocol(radius), name), math.nan) for name in names]
        texts = [f"{number:.1e}" for number in (*numbers, numbers[1] / numbers[0])]
        lines[f"N = {int(row):,}, radius {radius:g}", term] = texts
    for row in rows:
        number = value.get(row, pd.Series(dtype=float)).droplevel(0)
        if FROM_ZERO in number:
            sentences.append(
                f"N = {row}: {number['states that lack an action']:.0f} of"
                f" {number['states']:.0f} states lack an action. On the ball around Q = 0 that"
                f" reaches the centre, the constant of R_Q is at most 10^{number[FROM_ZERO]:.0f}."
            )
    heads = ["appendix", "least found", "curvature", "found / appendix"]
    index = pd.MultiIndex.from_tuples(list(lines), names=["ball", "loss"])
    table = pd.DataFrame(list(lines.values()), index, heads)
    notes = [
        "Tabular class (mu = 1), training split of Table 2's first data set. The ball is around the"
        " minimiser, with half a count for an action that a state lacks.",
        "Least found: (1/2)|gradient|^2 over (loss - infimum over all tables), by points and"
        " descents. No larger constant holds.",
        "Curvature: the least non-zero one at the centre, which is no stationary point where"
        " half counts are used.",
        *sentences,
    ]
    title = "Constants of the Polyak-Lojasiewicz inequality on the paper's data"
    layout.write(table, out, f"{NAME}_pl", title, notes)


# --- why the objective is not two-sided PL
SHOWN_BETAS = {0.3: "-", 0.5: "--", 0.95: "-."}


def _draw_shift(out: Path) -> None:
    """What a common shift of Q adds to the objective at the zeta of a solution.

    One state with both actions once, where r makes Q = 0 the solution: as in the claim.
    """
    figure = layout.new_figure(layout.WIDTH, 3.0)
    axes, shifts = figure.subplots(), np.linspace(-1.0, 1.0, 41)
    zeta, bends = np.full((1, 2), math.log(2)), list[float]()
    looks = zip(SHOWN_BETAS.items(), layout.shades(len(SHOWN_BETAS)), strict=True)
    for (beta, dashes), colour in looks:
        moves, anchor = np.ones((1, 2, 1)), np.zeros(1, dtype=np.int64)
        sample = Sample(moves, anchor, np.array([-beta * math.log(2)]), beta)
        values = np.array([sample.f_hat(np.full((1, 2), c), zeta) for c in shifts])
        gains = values - sample.f_hat(np.zeros((1, 2)), zeta)
        axes.plot(shifts, gains, dashes, color=colour, label=f"beta = {beta:g}")
        bends.append(round(float(gains[-1]), 9))
    axes.axhline(0.0, color=layout.GREY, linewidth=0.6, zorder=0)
    layout.words(axes, "common shift of Q from the solution", "change of the objective")
    layout.label_lines(axes)
    is_so = np.sign(bends).tolist() == [1.0, 0.0, -1.0]
    layout.save(figure, out, f"{NAME}_shift", {} if is_so else None)


def verdict(folder: Path) -> str:
    """The appendix's PL constant of R_Q and the corrected one beside the least ratio found."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    slack = frame[frame["statistic"].str.startswith("slack")]["value"]
    table = frame.pivot_table(index=["row", "protocol"], columns="statistic", values="value")
    ratio = (table["PL of R_Q, least found"] / table["PL of R_Q, appendix"]).dropna()
    low, high = math.log10(ratio.min()), math.log10(ratio.max())
    most = frame["value"][frame["statistic"] == "found over proved, most"].max()
    is_rate = frame["statistic"] == "rate, measured over predicted, farthest"
    rates = frame["value"][is_rate & frame["row"].isin(COMPARED)]
    is_measured = len(rates) == len(COMPARED) and rates.notna().all()
    error = f"within {100 * (rates - 1).abs().max():.1f} %" if is_measured else "not all measured"
    return (
        f"The printed PL constant is {low:.0f} to {high:.0f} orders of magnitude below the least"
        f" value found, the corrected one at most a factor of {most:.2f}\n"
        f"{int((slack < 1).sum())} of {len(slack)} bounds fail at a point;"
        f" rates of {', '.join(COMPARED)}: {error} of the predicted"
    )


EXHIBIT = Exhibit(
    NAME,
    "The appendix's constants and the corrected chain's (bus engine, tables)",
    entries,
    render=render,
    view=view,
    verdict=verdict,
    tolerance=5e-3,
)
