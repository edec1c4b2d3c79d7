"""Where the printed descent-ascent (Algorithm 1) works: step ratio, ascents per descent, discount.

The map: Algorithm 1 with full batches, plain gradients and tables, on expected data of the bus
engine with each discount (no sampling error), from Q = zeta = 0. The colour is the rate at which
the stationary point that the data define repels (zero: it does not), a cross a run that blew up.
Drawn in are the linear flow of the level, stable for rho = ascents x ratio > 2 beta - 1, and the
two-sided PL condition, which needs a loss bounded below in Q for fixed zeta: beta <= 1/2. In the
CSV too: the algorithm on Table 2's data sets, see CLASSES and RUNS. A star marks PRINTED, the
paper's setting: one step size and its discount lie on the stable side of the edge, by a tenth.
There the algorithm does not blow up; it does not converge within the budget either. The traces
show why, on the map's data: see `level_trace`.
"""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gladius.stability import level_flow, slowest_rate
from gladius.worlds.bus import BusEngine
from reproduce import layout, level_trace
from reproduce.compare import number
from reproduce.exact import TERM
from reproduce.fits import fitting
from reproduce.results import Results, records
from reproduce.spec import SEVERITY, Array, Cell, Entry, Exhibit, Record, Result

NAME = "stability"
BETAS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99)
ASCENTS = (1, 2, 5)
RATIOS = tuple(float(f"{10**x:.3g}") for x in np.linspace(-1.5, 1.0, 16))
SMOKE_BETAS, SMOKE_RATIOS = (0.3, 0.95), (0.1, 1.0, 10.0)
ITERATIONS, SMOKE_ITERATIONS = 20_000, 300
STEP = 0.1  # tau_2 per transition, in the map
MAP, DATA, TRACE = "printed map", "GLADIUS", "level trace"
TRACED, SMOKE_POINTS, POINTS = (0.5, 1.0, 10.0), 20, 150  # tau_1 / tau_2; iterations shown
TRAJECTORIES, REPETITIONS, SMOKE_REPETITIONS = 1000, 8, 2
# of the runs on data: (function class, optimiser, tau_2), each with all of RUNS
CLASSES = (("tabular", "gradient", 0.1), ("mlp", "gradient", 0.01), ("mlp", "adam", 0.001))
RUNS = ((1, 0.5), (1, 1.0), (1, 10.0), (5, 0.5))  # (ascents, tau_1 / tau_2)
PRINTED = (1, 1.0)  # of them: one step size for both blocks, in turn


def entries(smoke: bool) -> list[Entry]:
    """One for each discount of the map, one for each run on data, one for the traces."""
    iterations = SMOKE_ITERATIONS if smoke else ITERATIONS
    found = []
    for beta in SMOKE_BETAS if smoke else BETAS:
        settings: dict[str, Any] = {"beta": beta, "ascents": ASCENTS, "tau_2": STEP}
        settings |= {"ratios": SMOKE_RATIOS if smoke else RATIOS, "iterations": iterations}
        row = f"beta {beta:g}"
        cell = Cell("reproduce.exact:stability_map", settings, f"stability, {row}")
        found.append(Entry(row, MAP, "printed", cell, "growth rate"))
    repetitions = SMOKE_REPETITIONS if smoke else REPETITIONS
    for (family, optimiser, step), (ascents, ratio) in product(CLASSES, RUNS):
        options: dict[str, Any] = {"protocol": "printed", "iterations": iterations}
        options |= {"function_class": family, "optimiser": optimiser, "ascents": ascents}
        options |= {"tau_1": ratio * step, "tau_2": step}
        told: dict[str, Any] = {"repetitions": repetitions, "streams": {"rngs": "weights"}}
        cell = fitting("gladius", TRAJECTORIES, smoke, options, **told)
        protocol = f"printed {family} {optimiser} ascents {ascents} ratio {ratio:g}"
        found.append(Entry(str(TRAJECTORIES), DATA, protocol, cell))
    settings = {"ratios": TRACED, "tau_2": STEP, "iterations": iterations}
    settings["points"] = SMOKE_POINTS if smoke else POINTS
    cell = Cell("reproduce.level_trace:compute", settings, "stability, traces")
    return [*found, Entry("traces", TRACE, "measured", cell, level_trace.LEVEL)]


DIVERGED = SEVERITY.index("diverged")


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """Map and traces as they are stored; of a run on data the score, and how it ended."""
    if entry.column != DATA:
        return result.records
    ends, terms = (result.replications[name] for name in ("status", "signed Bellman term"))
    numbers = {
        TERM: np.median(terms),
        "share diverged": np.mean(np.equal(ends, DIVERGED)),
        "iterations": np.mean(result.replications["iterations"]),
    }
    extra = (Record(name, float(x), repetitions=len(ends)) for name, x in numbers.items())
    return (*result.records, *extra)


REPELS = 1e-6  # growth rates below it are rounding, see gladius.stability


def render(results: Results, out: Path) -> None:
    """The map, the traces, and the runs on data as a table."""
    _draw(results, out)
    _traces(results, out)
    _runs(results, out)


def _draw(results: Results, out: Path) -> None:
    """One panel for each number of ascents."""
    from matplotlib import colormaps

    figure = layout.new_figure(layout.PAGE, 3.4, EXHIBIT.title)
    maps = [(e.cell.settings, s.result.arrays) for e, s in results if "growth" in s.result.arrays]
    if not maps:  # every cell failed: the CSV says why
        layout.save(figure, out, NAME)
        return
    every_ascents, ratios = (maps[0][0][name] for name in ("ascents", "ratios"))
    betas, logs = np.array([settings["beta"] for settings, _ in maps]), np.log10(ratios)
    growth, diverged, unstable = (
        np.stack([arrays[name] for _, arrays in maps])
        for name in ("growth", "diverged", "predicted")
    )
    colours: dict[str, Any] = {"cmap": colormaps["YlOrRd"].with_extremes(under="white")}
    colours |= {"vmin": REPELS, "vmax": max(float(np.nanmax(growth)), 2 * REPELS)}
    panels = figure.subplots(1, len(every_ascents), sharey=True, squeeze=False)[0]
    for k, (axes, ascents) in enumerate(zip(panels, every_ascents, strict=True)):
        mesh = axes.pcolormesh(
            logs, betas, growth[:, k], shading="nearest", rasterized=True, **colours
        )
        _lines(axes, ascents, betas)
        b, i = np.nonzero(diverged[:, k])
        cross: dict[str, Any] = {"color": layout.BLACK, "label": "run from Q = zeta = 0 blew up"}
        axes.plot(logs[i], betas[b], "x", markersize=2.5, markeredgewidth=0.6, **cross)
        if ascents == PRINTED[0]:
            star: dict[str, Any] = {"color": layout.BLUE, "label": "the paper's setting"}
            axes.plot(math.log10(PRINTED[1]), BusEngine().discount, "*", markersize=7, **star)
        title = f"{ascents} ascent{'s' if ascents > 1 else ''} per descent"
        layout.words(axes, "log10 of tau_1 / tau_2", title=title)
        axes.grid(visible=False)
    panels[0].set_ylabel("discount beta", fontsize=layout.FONT)
    bar = figure.colorbar(mesh, ax=list(panels), pad=0.01, extend="min")
    bar.set_label("growth rate (white: attracts)", fontsize=layout.FONT)
    bar.ax.tick_params(labelsize=layout.FONT)
    blown = [int((diverged[part] > 0).sum()) for part in (unstable > 0, unstable == 0)]
    said = (
        f"runs blew up in {blown[0]} of {(unstable > 0).sum()} cells where the level flow is"
        f" unstable, in {blown[1]} of {(unstable == 0).sum()} where it is stable"
    )
    printed = at_printed(results.frame()).replace("; ", "\n")
    figure.suptitle(f"{EXHIBIT.title}\n{said}\n{printed}", fontsize=layout.FONT + 1)
    layout.legend_below(figure, panels[0], 3)
    layout.save(figure, out, NAME)


LOOKS = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))  # so that grey tells the lines apart
COLOURS = (layout.VERMILION, layout.BLACK, layout.BLUE, layout.GREEN, layout.PURPLE)


def _traces(results: Results, out: Path) -> None:
    """The level and the signed Bellman term against iterations."""
    for entry, stored in results:
        if entry.column == TRACE and stored.result.arrays:
            settings, arrays = entry.cell.settings, stored.result.arrays
            break
    else:  # the CSV says why
        return
    figure = layout.new_figure(layout.PAGE, 3.4)
    panels = figure.subplots(1, 2)
    (truth,) = (r.value for r in stored.result.records if r.row == level_trace.TRUTH)
    lines = zip(level_trace.names(settings["ratios"]), LOOKS, COLOURS, strict=True)
    for k, (name, dashes, colour) in enumerate(lines):
        label = name.replace("ratio", "tau_1 / tau_2 =")
        look: dict[str, Any] = {"linestyle": dashes, "color": colour, "label": label}
        for axes, kind in zip(panels, ("level", "bellman"), strict=True):
            trace = arrays[kind][k]
            axes.plot(arrays["iteration"], trace, linewidth=1.3, **look)
            if np.isnan(trace[-1]):  # blown up
                last = int(np.flatnonzero(~np.isnan(trace))[-1])
                axes.plot(arrays["iteration"][last], trace[last], "x", color=colour, markersize=5)
    panels[0].axhline(truth, color=layout.GREY, linewidth=0.8, zorder=0)
    beside: dict[str, Any] = {"textcoords": "offset points", "fontsize": layout.FONT}
    panels[0].annotate(f"truth {truth:.1f}", (1, truth), (0, 3), **beside)
    for axes, linear, title in (
        (panels[0], 100.0, "level: mean of V over visits, in utils"),
        (panels[1], 0.01, "signed Bellman term a transition"),
    ):
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=linear)
        axes.axhline(0.0, color=layout.GREY, linewidth=0.4, zorder=0)
        layout.words(axes, "iterations", title=title)
    panels[0].set_yticks(levels := (-100, -50, 0, 50, 100, 1000), [f"{x:,}" for x in levels])
    panels[1].set_yticks([-1e6, -1e3, -1, 0, 1])
    panels[1].set_ylim(-1e6, 100)
    beta, tau_2 = BusEngine().discount, settings["tau_2"]
    title = f"Algorithm 1 on data without noise (tables, beta = {beta:g}, tau_2 = {tau_2:g})"
    told = f"level at the end: {traced(results.frame())}"
    figure.suptitle(f"{title}\n{told}", fontsize=layout.FONT + 1)
    layout.legend_below(figure, panels[0], 3)
    layout.save(figure, out, f"{NAME}_trace")


def traced(frame: pd.DataFrame) -> str:
    """Where the level of each trace ended, and the truth; "" without traces."""
    ends = frame[frame["column"].eq(TRACE) & frame["statistic"].eq(level_trace.LEVEL)]
    blown = ends["status"].eq("diverged")
    texts = ends["value"].map("{:.1f}".format).mask(blown, "blew up")
    return "; ".join(f"{name}: {text}" for name, text in zip(ends["row"], texts, strict=True))


def at_printed(frame: pd.DataFrame) -> str:
    """How the runs on data ended at the paper's setting, and with half the ascent."""
    told = []
    for ascents, ratio in (PRINTED, (1, 0.5)):
        named = frame["protocol"].str.endswith(f"ascents {ascents} ratio {ratio:g}")
        lines = frame[named & frame["column"].eq(DATA)]
        settled, of, blown = 0.0, 0.0, 0.0
        for _, part in lines.groupby("protocol"):
            values = part.set_index("statistic")["value"]
            repetitions = float(part["repetitions"].max())
            if "repetitions not ok" not in values:
                continue  # the cell failed
            of += repetitions
            settled += repetitions - float(values["repetitions not ok"])
            blown += repetitions * float(values["share diverged"])
        told.append(
            f"tau_1 / tau_2 = {ratio:g}: of {of:.0f} runs on data {settled:.0f} converged,"
            f" {blown:.0f} blew up"
        )
    return "; ".join(told)


def verdict(folder: Path) -> str:
    """The line of the overview."""
    return at_printed(pd.read_csv(folder / f"{NAME}.csv")).replace(" on data", "")


def notes() -> list[str]:
    """What a reader of the runs must know; the rates are those of the level flow."""
    beta = BusEngine().discount
    rhos = sorted({ascents * ratio for ascents, ratio in RUNS})
    rates = (slowest_rate(level_flow(rho, beta)) for rho in rhos)
    flow = ", ".join(f"{rho:g}: {float(x):+.3f}" for rho, x in zip(rhos, rates, strict=True))
    return [
        f"Table 2's data sets at beta = {beta:g}; full batches, neutral starts; mlp: the paper's"
        " 2 x 10. step: zeta's, tau_2. Bellman term and MAPE: medians; iterations: mean.",
        "diverged: the signed Bellman term a transition left +-1e6 (Adam, whose steps are bounded,"
        " takes longer); converged: both gradients below 1e-6.",
        f"Rate of the level flow by ascents x ratio, in units of Q's (stable below 0): {flow}.",
    ]


def _runs(results: Results, out: Path) -> None:
    """The runs on data as a table."""
    table = {}
    for entry, stored in results:
        if entry.column != DATA:
            continue
        values = {line.statistic: line.value for line in records(entry, stored, view)}
        of = entry.cell.repetitions
        blown = values.get("share diverged", math.nan) * of
        done = of - values.get("repetitions not ok", math.nan)
        step = entry.cell.settings["options"]["tau_2"]
        table[f"{entry.protocol.removeprefix('printed ')} step {step:g}"] = (
            _count(blown, of),
            _count(done, of),
            f"{values.get('iterations', math.nan):,.0f}",
            number(values.get(TERM, math.nan)),
            number(values.get("MAPE median", math.nan)),
        )
    heads = ["diverged", "converged", "iterations", "Bellman term", "MAPE"]
    shown = pd.DataFrame.from_dict(table, orient="index", columns=heads)
    shown.index.name = "run"
    title = "Algorithm 1 as printed on data, by step ratio tau_1 / tau_2 and ascents per descent"
    layout.write(shown, out, f"{NAME}_runs", title, notes())


def _count(number_: float, of: int) -> str:
    return "-" if math.isnan(number_) else f"{number_:.0f} of {of}"


def _lines(axes: layout.Axes, ascents: int, betas: Array) -> None:
    """Over log10 ratio and beta; the level flow's edge is rho = 2 beta - 1."""
    left, right, low, high = axes.axis()
    fine = np.linspace(0.501, max(betas[-1], high), 400)
    flow = np.log10((2 * fine - 1) / ascents)
    axes.plot(flow, fine, color=layout.BLUE, label="level flow: stable right of it")
    two_sided: dict[str, Any] = {"linestyle": "--", "label": "two-sided PL: possible only below"}
    axes.axhline(0.5, color=layout.GREEN, linewidth=1.2, **two_sided)
    axes.set_xlim(left, right)
    axes.set_ylim(low, min(high, 1.01))


EXHIBIT = Exhibit(
    NAME,
    "Stability of the printed descent-ascent (bus engine, tables, full batches)",
    entries,
    cost=8.0,
    render=render,
    view=view,
    verdict=verdict,
    tolerance=0.5,  # where a run that blows up ends is chaotic
)
