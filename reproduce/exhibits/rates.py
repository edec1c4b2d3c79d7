"""Rates of Theorems linConvergence and distributional_q_bound: the gap against T, the errors in N.

Against T: g(theta_T) - g* of Algorithm 1 with eta_t = c_1 / (c_2 + t), mini-batches and a neutral
start, c_1 twice what the theorem needs and the first step 1/l. As printed both blocks have this
schedule; beside it zeta is given RATIO times the step (as the cited theorem has it, whose own
ratio, 18 l^2/mu_2^2, leaves c_2 out of reach), or is exact. Linear classes have M = 10 outputs and
2 M random features, so that condition (ii) holds; `zeta/2` is what (iii) allows. Against N: exact
empirical minimisers. All on a short bus engine, see short_bus.py.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce import layout
from reproduce.compare import CRITICAL
from reproduce.exhibits.accuracy import YES, decide
from reproduce.results import COLUMNS, Results
from reproduce.short_bus import EXCESS, GAP, L2, MILEAGES
from reproduce.spec import Array, Cell, Entry, Exhibit, Record, Result

NAME = "rates"
BETAS = (0.5, 0.95)
LAST, SMOKE_LAST = 20_000, 300  # T
CHECKPOINTS = 25
REPETITIONS, SMOKE_REPETITIONS = 20, 3
RATIO = 10.0
FEATURES = 4 * MILEAGES  # 2 M
CLASSES = {  # features of the random linear class (0: tables), length of zeta's features
    "tabular": (0, 1.0),
    "linear": (FEATURES, 1.0),
    "linear, zeta/2": (FEATURES, 0.5),
}
STEPS: dict[str, tuple[str, float | str]] = {  # column: protocol, ratio of zeta's step to Q's
    "one schedule": ("printed", 1.0),
    "two schedules": ("fresh", RATIO),
    "profiled": ("fresh", "inf"),
}
SIZES, SMOKE_SIZES = (10, 30, 100, 300, 1000, 3000), (10, 30, 100)  # trajectories
DATA = "ERM"
FITS = {"tabular": 400, "linear": 400, "never repeats": 40}  # repetitions
SMOKE_FITS = 6
LIMIT = {"tabular": 10.0, "never repeats": 4.0}  # on the log-odds; the truth's are within +-2
CLAIMED = {GAP: -1.0, EXCESS: -1.0, L2: -0.5}


def entries(smoke: bool) -> list[Entry]:
    """One for each class, discount and kind of steps; one for each estimator and discount."""
    found: list[Entry] = []

    def add(row: str, column: str, protocol: str, statistic: str, **settings: Any) -> None:
        compute = "against_n" if column == DATA else "against_t"
        told = settings | {"seeds": NAME, "seeds_row": row}
        cell = Cell(f"reproduce.short_bus:{compute}", told, f"{NAME}, {row}, {column}")
        found.append(Entry(row, column, protocol, cell, f"slope of {statistic}"))

    for beta, (family, (features, scale)) in product(BETAS, CLASSES.items()):
        for column, (protocol, ratio) in STEPS.items():
            if scale != 1.0 and column == "profiled":
                continue  # zeta is exact, whatever its features
            settings: dict[str, Any] = {"trajectories": 100, "batch": 100, "beta": beta}
            settings |= {"ratio": ratio, "features": features, "zeta": scale}
            settings |= {"checkpoints": CHECKPOINTS, "last": SMOKE_LAST if smoke else LAST}
            settings |= {"repetitions": SMOKE_REPETITIONS if smoke else REPETITIONS}
            add(f"T, {family}, beta {beta:g}", column, protocol, GAP, **settings)
    for beta, (family, times) in product(BETAS, FITS.items()):
        settings = {"beta": beta, "family": family, "limit": LIMIT.get(family, 0.0)}
        settings |= {"sizes": SMOKE_SIZES if smoke else SIZES}
        settings |= {"repetitions": SMOKE_FITS if smoke else times}
        add(f"N, {family}, beta {beta:g}", DATA, "fresh", EXCESS, **settings)
    return found


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The records; what is of one T or N joins the row."""
    return [replace(r, row=f"{entry.row}, {r.row}") if r.row else r for r in result.records]


MARGIN = 0.1  # a slope agrees if its interval ends below the claimed exponent plus this
LATE, GONE = "T < c_2", "diverged"
TOP = 1e3  # of the axis of the gap
STYLES = {"one schedule": "-", "two schedules": "--", "profiled": ":"}
COLOURS = {
    "tabular": layout.BLUE,
    "linear": layout.VERMILION,
    "linear, zeta/2": layout.BLACK,
    "never repeats": layout.PURPLE,
}


def render(results: Results, out: Path) -> None:
    """The figure, and the slopes as a table; `rates_slopes.csv` has their verdicts."""
    lines = slopes(results)
    layout.write_csv(lines, out / f"{NAME}_slopes.csv")
    shown = {
        "slope": lines["value"].map(_text),
        "+-": (CRITICAL * lines["se"]).map(_text),
        "claimed": lines["claimed"].map("{:g}".format),
        "verdict": lines["verdict"],
    }
    names = lines["row"] + ": " + lines["column"] + ", "
    names += lines["statistic"].str.removeprefix("slope of ")
    index = pd.Index(names, name="against, class, discount: steps, error")
    table = pd.DataFrame(shown).set_axis(index)
    layout.write(table, out, f"{NAME}_slopes", EXHIBIT.title, [shown_at(lines), *notes(results)])
    _draw(results, out, shown_at(lines))


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{round(value, 2) + 0.0:.2f}"  # no minus before zero


def slopes(results: Results) -> pd.DataFrame:
    """Every slope with its claimed exponent and its verdict."""
    frame = results.frame()
    keys = ["row", "column"]
    limits = frame[frame["statistic"] == "c_2"].set_index(keys)["value"]
    last = {(e.row, e.column): e.cell.settings.get("last", math.inf) for e in results.entries}
    kept = frame[frame["statistic"].str.startswith("slope of ")].copy()
    kept["claimed"] = kept["statistic"].str.removeprefix("slope of ").map(CLAIMED)

    def verdict(line: pd.Series) -> str:
        key = (line["row"], line["column"])
        if line["status"] == GONE:
            return GONE
        if float(limits.get(key, 0.0)) > float(last[key]):
            return LATE
        return decide(line["value"], line["se"], high=line["claimed"] + MARGIN)

    kept["verdict"] = [verdict(line) for _, line in kept.iterrows()]
    return kept[[*COLUMNS, "claimed", "verdict"]]


def shown_at(lines: pd.DataFrame) -> str:
    """What the descent-ascent's slopes say at the larger discount."""
    beta = f"beta {BETAS[-1]:g}"
    said = lines[lines["row"].str.startswith("T,") & lines["row"].str.endswith(beta)]["verdict"]
    others = ", ".join(f"{n} {word}" for word, n in said.value_counts().items() if word != YES)
    told = f"Against T at {beta}, {(said == YES).sum()} of {len(said)} lines show the claimed rate"
    return f"{told} ({others})." if others else f"{told}."


def notes(results: Results) -> list[str]:
    """What a reader must know."""
    settings = next(e.cell.settings for e in results.entries if e.column != DATA)
    return [
        "Slope of log mean error on log T (last decade) or log N (all sizes), +- half a 95 %"
        " interval; gap: g(theta_T) - g*.",
        f"Against T: T to {settings['last']:,}, {settings['trajectories']} trajectories, batches of"
        f" {settings['batch']}. one schedule: as printed, eta_t for both blocks;",
        f"two schedules: zeta's {RATIO:g} times faster; profiled: zeta exact. linear: random"
        f" features, {FEATURES} for {FEATURES // 2} outputs; zeta/2: zeta's half as long.",
        "Against N: exact minimisers (ERM); linear: 3 parameters; never repeats: a continuous"
        " variable of no effect beside the mileage,",
        "one table entry a sampled state, as condition (ii) demands, nearest neighbours elsewhere.",
        "yes: the interval ends below the claimed exponent + 0.1; no: it begins above; diverged: a"
        " repetition's gap passed 1e6.",
        f"{LATE}: nothing is decided: with c_1 > 2/mu, as the theorem needs, the bound nu/(gamma_0"
        " + T) is flat until T passes c_2.",
        "Bus engine with 5 mileages, log-odds of maintaining 3 - x; d*: law of 100 undiscounted"
        " periods, that of the data.",
    ]


def _draw(results: Results, out: Path, said: str) -> None:
    figure = layout.new_figure(layout.PAGE, 5.8, f"{EXHIBIT.title}\n{said}")
    panels = figure.subplots(2, 2)
    for axes in panels.ravel():
        axes.set_xscale("log")
        axes.set_yscale("log")
    for axes, beta in zip(panels[0], BETAS, strict=True):
        _paths(axes, results, beta)
    for axes, statistic in zip(panels[1], (EXCESS, L2), strict=True):
        _sizes(axes, results, statistic)
    layout.legend_below(figure, panels[0][0], 4)
    layout.save(figure, out, NAME)


def _curves(
    results: Results, beta: float, against_n: bool
) -> Iterator[tuple[Entry, str, Mapping[str, Array]]]:
    """Entry, class and arrays of what was computed at a discount."""
    for entry, stored in results:
        is_asked = (entry.column == DATA) == against_n and entry.row.endswith(f"beta {beta:g}")
        if is_asked and stored.result.arrays:
            yield entry, entry.row.split(", ", 1)[1].rsplit(", ", 1)[0], stored.result.arrays


def _paths(axes: layout.Axes, results: Results, beta: float) -> None:
    """Mean gap against T as far as it is below TOP: a run that diverges leaves the panel."""
    bottom = 1.0
    for entry, family, arrays in _curves(results, beta, against_n=False):
        style: dict[str, Any] = {"color": COLOURS[family], "linestyle": STYLES[entry.column]}
        gap = arrays[GAP].mean(axis=0)
        shown = np.minimum(gap, 1e3 * TOP)[: np.sum(gap <= TOP) + 1]
        axes.plot(arrays["x"][: len(shown)], shown, label=f"{family}: {entry.column}", **style)
        bottom = min(bottom, float(shown.min()))
    last = SMOKE_LAST if results.smoke else LAST
    _reference(axes, np.array([last / 30, last]), 30 * bottom, -1.0)
    axes.set_ylim(bottom / 3, TOP)
    layout.words(axes, "T", "g(theta_T) - g*", f"beta = {beta:g}: gap against T")


def _sizes(axes: layout.Axes, results: Results, statistic: str) -> None:
    """Mean error against N, at the larger discount."""
    for _, family, arrays in _curves(results, BETAS[-1], against_n=True):
        mean = arrays[statistic].mean(axis=0)
        se = arrays[statistic].std(axis=0, ddof=1) / math.sqrt(len(arrays[statistic]))
        if statistic == L2:
            mean, se = np.sqrt(mean), se / (2 * np.sqrt(mean))
        style: dict[str, Any] = {"marker": "o", "markersize": 3, "color": COLOURS[family]}
        label = "state never repeats" if family == "never repeats" else family
        axes.errorbar(arrays["x"], mean, CRITICAL * se, label=label, **style)
        if family == "tabular":
            _reference(axes, arrays["x"][[0, -1]], 2 * float(mean[0]), CLAIMED[statistic])
    title = f"beta = {BETAS[-1]:g}: {statistic} of the minimiser against N"
    layout.words(axes, "N, transitions", statistic, title)
    axes.legend(fontsize=layout.FONT, frameon=False)


def _reference(axes: layout.Axes, x: Array, start: float, slope: float) -> None:
    y, grey = start * (x / x[0]) ** slope, layout.GREY
    axes.plot(x, y, color=grey, linewidth=0.8, label=f"slope {slope:g}")


def summary(folder: Path) -> str:
    """How many slopes agree with the claim."""
    said = pd.read_csv(folder / f"{NAME}_slopes.csv")["verdict"].tolist()
    return ", ".join(f"{said.count(word)} {word}" for word in (YES, *sorted({*said} - {YES})))


EXHIBIT = Exhibit(
    NAME,
    "Rates: the descent-ascent against T, and empirical minimisers against N",
    entries,
    cost=2.6,
    render=render,
    view=view,
    verdict=summary,
)
