"""Algorithm 1 as printed: step ratio, ascents per descent, discount, and the steps that it needs.

The map: full batches, plain gradients and tables, on expected data of the bus engine at each
discount (no sampling error), from Q = zeta = 0. The colour is the rate at which the stationary
point of the data repels (zero: it does not), a cross a run that diverged. The line is the linear
flow of the level, which is stable for rho = ascents x ratio > 2 beta - 1; the dotted line is the
two-sided PL condition, beta <= 1/2. A star marks PRINTED, the paper's setting.

The table of runs: the algorithm on Table 2's data sets (CLASSES, RUNS). The traces: its level and
the error of r on the map's data. The table of steps: how many it needs on one data set until r is
close to the minimiser's. See `reproduce.cells.step_sizes`.
"""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gladius.designs.bus import BusEngine
from gladius.paper.stability import level_flow, slowest_rate
from reproduce.cells import step_sizes as gradients
from reproduce.cells.fits import fitting
from reproduce.cells.step_sizes import CLOSE, STEPS, TERM, setting_name
from reproduce.drawing import layout
from reproduce.engine.nouns import SEVERITY, Array, Cell, Entry, Exhibit, Record, Result
from reproduce.engine.view import View, records
from reproduce.paper.judge import number

NAME = "stability"
BETAS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99)
ASCENTS = (1, 2, 5)
RATIOS = tuple(float(f"{10**x:.3g}") for x in np.linspace(-1.5, 1.0, 16))
SMOKE_BETAS, SMOKE_RATIOS = (0.95,), (0.1, 10.0)
ITERATIONS, SMOKE_ITERATIONS = 20_000, 300
TRACED_ITERATIONS, TRACED_STEP = 4_000_000, 1.0  # of the traces: r is within CLOSE by then
STEP = 0.1  # tau_2 per transition, in the map
MAP, DATA, TRACE, PATHS = "printed map", "GLADIUS", "level trace", "Algorithm 1"
TRACED, SMOKE_POINTS, POINTS = (0.5, 1.0, 2.0), 20, 150  # tau_1 / tau_2; iterations drawn
TRAJECTORIES, REPETITIONS, SMOKE_REPETITIONS = 1000, 8, 2
# of the runs on data: (function class, optimiser, tau_2), each with all of RUNS
CLASSES = (("tabular", "gradient", 0.1), ("mlp", "gradient", 0.01), ("mlp", "adam", 0.001))
NAMES = {"tabular": "Tables", "mlp": "Networks"}
NAMES |= {"gradient": "gradient descent", "adam": "Adam"}
RUNS = ((1, 0.5), (1, 1.0), (1, 10.0), (5, 0.5))  # (ascents, tau_1 / tau_2)
PRINTED = (1, 1.0)  # of them: one step size for both blocks, in turn
DIRECT, SMOKE_DIRECT = 2_000_000, 500  # steps at most, of the table of steps
STEP_RATIOS, SMOKE_STEP_RATIOS = (0.2, 0.35, 0.5, 0.65, 0.8, 1.0, 1.25, 2.0, 10.0), (0.5, 1.0)
PLAIN, BY_VISITS = (0.3, 0.9, 2.0, 4.0), (0.1, 0.3, 0.6, 1.0)  # Q's step per observation
DIVERGED = SEVERITY.index("diverged")
REPELS = 1e-6  # growth rates below it are rounding, see gladius.paper.stability


def entries(smoke: bool) -> list[Entry]:
    """The map by discount, the runs on data, the traces, and the table of steps."""
    iterations = SMOKE_ITERATIONS if smoke else ITERATIONS
    listed = []
    for beta in SMOKE_BETAS if smoke else BETAS:
        settings: dict[str, Any] = {"beta": beta, "ascents": ASCENTS, "tau_2": STEP}
        settings |= {"ratios": SMOKE_RATIOS if smoke else RATIOS, "iterations": iterations}
        row = f"beta {beta:g}"
        cell = Cell("stability_map", settings, f"stability, {row}")
        listed.append(Entry(row, MAP, "printed", cell, "growth rate"))
    repetitions = SMOKE_REPETITIONS if smoke else REPETITIONS
    for (family, optimiser, step), (ascents, ratio) in product(CLASSES, RUNS[: 2 if smoke else 4]):
        options: dict[str, Any] = {"protocol": "printed", "iterations": iterations}
        options |= {"function_class": family, "optimiser": optimiser, "ascents": ascents}
        options |= {"tau_1": ratio * step, "tau_2": step}
        drawn: dict[str, Any] = {"repetitions": repetitions, "streams": {"rngs": "weights"}}
        cell = fitting("gladius", TRAJECTORIES, smoke, options, **drawn)
        protocol = f"printed {family} {optimiser} ascents {ascents} ratio {ratio:g}"
        listed.append(Entry(str(TRAJECTORIES), DATA, protocol, cell))
    long = SMOKE_ITERATIONS if smoke else TRACED_ITERATIONS
    settings = {"ratios": TRACED, "tau_2": TRACED_STEP, "iterations": long}
    settings["points"] = SMOKE_POINTS if smoke else POINTS
    cell = Cell("stability_trace", settings, "stability, traces")
    listed.append(Entry("traces", TRACE, "measured", cell, gradients.LEVEL))
    settings = {"trajectories": TRAJECTORIES, "seeds": "table_2", "repetitions": 1}
    settings |= {"beta": BusEngine().discount, "direct": SMOKE_DIRECT if smoke else DIRECT}
    settings |= {"ratios": SMOKE_STEP_RATIOS if smoke else STEP_RATIOS}
    settings |= {"plain": PLAIN[1:2] if smoke else PLAIN}
    settings |= {"visits": BY_VISITS[1:2] if smoke else BY_VISITS}
    cell = Cell("stability_steps", settings, "stability, steps")
    return [*listed, Entry("requirements", PATHS, "measured", cell, STEPS)]


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The records as stored; of a run on data also how it ended."""
    if entry.column != DATA:
        return result.records
    statuses, terms = (result.replications[name] for name in ("status", "signed Bellman term"))
    numbers = {
        TERM: np.median(terms),
        "share diverged": np.mean(np.equal(statuses, DIVERGED)),
        "iterations": np.mean(result.replications["iterations"]),
    }
    extra = (Record(name, float(x), repetitions=len(statuses)) for name, x in numbers.items())
    return (*result.records, *extra)


def render(results: View, out: Path) -> None:
    """The map, the traces, and two tables: runs on data, and steps."""
    _draw_map(results, out)
    _draw_traces(results, out)
    _write_runs(results, out)
    _write_steps(results, out)


def _maps(results: View) -> list[tuple[Any, Any]]:
    """(settings, arrays) of each discount that was computed."""
    return [(e.cell.settings, s.result.arrays) for e, s in results if "growth" in s.result.arrays]


def _draw_map(results: View, out: Path) -> None:
    """Rates at the paper's number of ascents, and where runs diverged."""
    from matplotlib import colormaps

    figure = layout.new_figure(layout.WIDTH, 4.0)
    maps = _maps(results)
    if not maps:  # every cell failed: the CSV says why
        layout.save(figure, out, NAME)
        return
    ratios, k = maps[0][0]["ratios"], maps[0][0]["ascents"].index(PRINTED[0])
    betas, logs = np.array([settings["beta"] for settings, _ in maps]), np.log10(ratios)
    ticks = [x for x in RATIO_TICKS if min(ratios) <= x <= max(ratios)]
    growth, diverged = (
        np.stack([arrays[name][k] for _, arrays in maps]) for name in ("growth", "diverged")
    )
    colours: dict[str, Any] = {"cmap": colormaps["YlOrRd"].with_extremes(under="white")}
    colours |= {"vmin": REPELS, "vmax": max(float(np.nanmax(growth)), 2 * REPELS)}
    axes = figure.subplots()
    mesh = axes.pcolormesh(logs, betas, growth, shading="nearest", rasterized=True, **colours)
    _draw_lines(axes, PRINTED[0], betas)
    b, i = np.nonzero(diverged)
    cross: dict[str, Any] = {"color": layout.BLACK, "label": "run from Q = zeta = 0 that diverged"}
    axes.plot(logs[i], betas[b], "x", markersize=2.5, markeredgewidth=0.6, **cross)
    star: dict[str, Any] = {"color": layout.BLUE, "label": "the paper's setting"}
    axes.plot(math.log10(PRINTED[1]), BusEngine().discount, "*", markersize=7, **star)
    axes.text(0.97, 0.03, "stable", ha="right", transform=axes.transAxes, fontsize=layout.FONT)
    axes.set_xticks(np.log10(ticks), [f"{x:g}" for x in ticks])
    layout.words(axes, "tau_1 / tau_2", "discount factor beta")
    axes.grid(visible=False)
    bar = figure.colorbar(mesh, ax=axes, pad=0.01, extend="min")
    label = layout.mathematics("growth rate per iteration and unit of tau_2")
    bar.set_label(label, fontsize=layout.FONT)
    bar.ax.tick_params(labelsize=layout.FONT)
    layout.legend_below(figure, axes, 1)
    at = {
        x: bool(y) for x, y in zip(ratios, diverged[betas == BusEngine().discount][0], strict=True)
    }
    largest = max((ratio for ratio, is_out in at.items() if is_out), default=math.inf)
    said = (
        {"ratio": f"{largest:.2g}"}
        if at.get(PRINTED[1]) is False and largest < PRINTED[1]
        else None
    )
    layout.save(figure, out, NAME, said)


def _draw_lines(axes: layout.Axes, ascents: int, betas: Array) -> None:
    """Over log10 ratio and beta: the level flow's edge rho = 2 beta - 1, and beta = 1/2."""
    limits = axes.axis()
    fine = np.linspace(0.501, max(betas[-1], limits[3]), 400)
    edge = np.log10((2 * fine - 1) / ascents)
    axes.plot(
        edge, fine, color=layout.BLUE, label="boundary of the level flow: stable to its right"
    )
    two_sided: dict[str, Any] = {"linestyle": "--", "label": "two-sided PL: possible only below"}
    axes.axhline(0.5, color=layout.PURPLE, linewidth=1.2, **two_sided)
    axes.set_xlim(*limits[:2])
    axes.set_ylim(limits[2], min(limits[3], 1.01))


LOOKS = ("-", "--", "-.", ":")  # so that grey tells the lines apart
# line of the traces -> its label
DRAWN = {f"ratio {x:g}": f"tau_1 / tau_2 = {x:g}" for x in TRACED[:2]}
DRAWN |= {gradients.EXACT: "zeta exact", gradients.CLOSED: "zeta exact,\nlevel closed"}
NEAR = 1.0  # utils from the true level
RATIO_TICKS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def _draw_traces(results: View, out: Path) -> None:
    """The level against iterations."""
    figure = layout.new_figure(layout.WIDTH, 3.4)
    axes = figure.subplots()
    of_traces = [stored.result for entry, stored in results if entry.column == TRACE]
    if not of_traces or not of_traces[0].arrays:  # the CSV says why
        layout.save(figure, out, f"{NAME}_trace")
        return
    arrays = of_traces[0].arrays
    (level,) = (r.value for r in of_traces[0].records if r.row == gradients.TRUTH)
    looks = zip(DRAWN.items(), LOOKS, layout.shades(len(DRAWN)), strict=True)
    names, until = [*gradients.names(TRACED)], dict[str, float]()
    for (name, label), dashes, colour in looks:
        trace = arrays["level"][names.index(name)]
        look: dict[str, Any] = {"linestyle": dashes, "color": colour, "label": label}
        axes.plot(arrays["iteration"], trace, linewidth=1.3, **look)
        if np.isnan(trace[-1]):
            last = int(np.flatnonzero(~np.isnan(trace))[-1])
            axes.plot(arrays["iteration"][last], trace[last], "x", color=colour, markersize=5)
        near = arrays["iteration"][np.abs(trace - level) < NEAR]
        until[name] = float(f"{near[0]:.1g}") if len(near) else math.inf
    axes.axhline(level, color=layout.GREY, linewidth=0.8, zorder=0)
    beside: dict[str, Any] = {"textcoords": "offset points", "fontsize": layout.FONT}
    axes.annotate(layout.mathematics(f"true level {level:.1f}"), (1, level), (0, 3), **beside)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=100.0)
    axes.set_yticks(ticks := (-100, -50, 0, 50, 100, 1000), [f"{x:,}" for x in ticks])
    layout.words(axes, "iterations", "level of Q: mean of V (utils)")
    layout.label_lines(axes)
    _, printed, _, closed = until.values()
    said = {"steps": f"{printed:,.0f}", "closed": f"{closed:,.0f}", "level": f"{level:.1f}"}
    is_so = printed < math.inf and printed > 100 * closed
    layout.save(figure, out, f"{NAME}_trace", said if is_so else None)


def traced(frame: pd.DataFrame) -> str:
    """Where the level of each trace ended, and the true one; "" without traces."""
    ends = frame[frame["column"].eq(TRACE) & frame["statistic"].eq(gradients.LEVEL)]
    values = ends["value"].map("{:.1f}".format).mask(ends["status"].eq("diverged"), "diverged")
    return "; ".join(f"{name}: {text}" for name, text in zip(ends["row"], values, strict=True))


def at_printed(frame: pd.DataFrame) -> str:
    """How the runs on data ended at the paper's setting, and with half the ascent."""
    sentences = []
    for ascents, ratio in (PRINTED, (1, 0.5)):
        of_setting = frame["protocol"].str.endswith(f"ascents {ascents} ratio {ratio:g}")
        lines = frame[of_setting & frame["column"].eq(DATA)]
        runs = lines[lines["statistic"] == "repetitions not ok"]
        diverged = lines[lines["statistic"] == "share diverged"]
        sentences.append(
            f"Step ratio {ratio:g}: of {runs['repetitions'].sum():.0f} runs"
            f" {(runs['repetitions'] - runs['value']).sum():.0f} converged,"
            f" {(diverged['value'] * diverged['repetitions']).sum():.0f} diverged"
        )
    return ". ".join(sentences)


def verdict(folder: Path) -> str:
    """The runs on data at the paper's setting; then how many settings of the steps diverge."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    return "\n".join([at_printed(frame), *needed(frame)])


def needed(frame: pd.DataFrame) -> list[str]:
    """For the plain steps and those by visits: how many settings diverge, and the best."""
    sentences = []
    for kind in ("plain", "by visits"):
        lines = frame[frame["statistic"].eq(STEPS) & frame["row"].str.startswith(kind)]
        diverged = f"{lines['status'].eq('diverged').sum()} of {len(lines)} settings diverge"
        best = lines[lines["status"] == "ok"].sort_values("value")[:1]
        least = (
            f"; the best needs {x:,.0f} iterations ({r})" for x, r in best[["value", "row"]].values
        )
        sentences.append(f"Algorithm 1, {kind}: {diverged}{''.join(least)}.")
    return sentences


def _write_runs(results: View, out: Path) -> None:
    """The runs on data as a table."""
    table = {}
    for entry, stored in results:
        if entry.column != DATA:
            continue
        values = {line.statistic: line.value for line in records(entry, stored, view)}
        of = entry.cell.repetitions
        diverged = values.get("share diverged", math.nan) * of
        converged = of - values.get("repetitions not ok", math.nan)
        given = entry.cell.settings["options"]
        run = f"{NAMES[given['function_class']]}, {NAMES[given['optimiser']]}"
        steps = f"{given['ascents']} ascent{'s' if given['ascents'] > 1 else ''} per descent"
        ratio = f"{steps}, tau_1 / tau_2 = {given['tau_1'] / given['tau_2']:g}"
        table[f"{run}, tau_2 = {given['tau_2']:g}", ratio] = (
            _count(diverged, of),
            _count(converged, of),
            f"{values.get('iterations', math.nan):,.0f}",
            number(values.get(TERM, math.nan)),
            number(values.get("MAPE median", math.nan)),
        )
    heads = ["diverged", "converged", "iterations", "Bellman term", "MAPE"]
    index = pd.MultiIndex.from_tuples(list(table), names=["class", "steps"])
    runs = pd.DataFrame(list(table.values()), index, heads)
    title = "Algorithm 1 on the data sets of Table 2"
    layout.write(runs, out, f"{NAME}_runs", title, _notes(results))


def _count(number: float, of: int) -> str:
    return "-" if math.isnan(number) else f"{number:.0f} of {of}"


def _notes(results: View) -> list[str]:
    """What a reader of the runs must know; the rates are those of the level flow."""
    beta, frame = BusEngine().discount, results.frame()
    rhos = sorted({ascents * ratio for ascents, ratio in RUNS})
    rates = (slowest_rate(level_flow(rho, beta)) for rho in rhos)
    flow = ", ".join(f"{rho:g}: {float(x):+.3f}" for rho, x in zip(rhos, rates, strict=True))
    of_map = []
    if maps := _maps(results):
        diverged, unstable = (
            np.stack([arrays[name] for _, arrays in maps]) > 0 for name in ("diverged", "predicted")
        )
        for mask, word in ((unstable, "unstable"), (~unstable, "stable")):
            of_map.append(f"{diverged[mask].sum()} of {mask.sum()} where the level flow is {word}")
    return [
        f"Table 2's data sets at beta = {beta:g}; full batches, neutral starts; networks: the"
        " paper's 2 x 10. Step: zeta's, tau_2.",
        "Bellman term and MAPE are medians, iterations a mean.",
        "Diverged: the signed Bellman term per observation left +-1e6. Adam's steps are bounded, so"
        " it takes longer. Converged: both gradients are below 1e-6.",
        f"Rate of the level flow by ascents x ratio, in units of Q's (stable below 0): {flow}.",
        f"Runs of the map that diverged: {', '.join(of_map) or 'not run'}.",
        f"Level at the end of the traces: {traced(frame) or 'not run'}.",
    ]


def _write_steps(results: View, out: Path) -> None:
    """Steps until r is close, by the steps of both blocks."""
    frame = results.frame()
    steps = {line["row"]: line for _, line in frame[frame["statistic"] == STEPS].iterrows()}
    ratios = SMOKE_STEP_RATIOS if results.smoke else STEP_RATIOS
    direct = SMOKE_DIRECT if results.smoke else DIRECT
    lines = {}
    for by_visits, taus in ((False, PLAIN), (True, BY_VISITS)):
        for tau in taus:
            rows = [setting_name(by_visits, tau, ratio) for ratio in ratios]
            texts = [_text(steps[row], direct) if row in steps else "" for row in rows]
            lines[rows[0].rpartition(",")[0]] = texts
    heads = [f"{ratio:g}" for ratio in ratios]
    table = pd.DataFrame.from_dict(lines, orient="index", columns=heads)
    table.index.name = "step of Q"
    title = f"Thousands of steps of Algorithm 1 until r is within {CLOSE:.0%}, by tau_1 / tau_2"
    notes = [
        f"Bus engine, beta = {BusEngine().discount:g}, tables, all observations in each step, from"
        " Q = zeta = 0. -: diverges.",
        "Distance: mean over observations of |r - r*| / |r*|; r* is the reward at the minimiser of"
        " the risk.",
        "Plain: the printed step, losses per observation. By visits: divided by the share of the"
        " state (Q) or the pair (zeta). The printed ratio is 1.",
        *needed(frame),
    ]
    layout.write(table, out, f"{NAME}_steps", title, notes)


def _text(line: pd.Series, direct: int) -> str:
    if line["status"] == "ok":
        return f"{line['value'] / 1000:,.0f}"
    return "-" if line["status"] == "diverged" else f"> {direct / 1000:,.0f}"


EXHIBIT = Exhibit(
    NAME,
    "Algorithm 1 as printed: where it is stable, and how many steps it needs (bus engine)",
    entries,
    render=render,
    view=view,
    verdict=verdict,
    tolerance=0.5,  # where a run that diverges ends is chaotic
)
