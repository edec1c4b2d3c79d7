"""How wide is wide enough: the smallest eigenvalue of the tangent kernel against the width.

Lemma NNenjoysPL says that a wide random network keeps lambda_min(K(theta)) above half its
infinite-width limit lambda_star in a ball about the start (3/4 at the start itself). Left: one
hidden tanh layer at six well separated points (s, a), with the lowest value that descent finds in
balls. Right: the shape and the data of the paper's experiments, two hidden layers and one output an
action at the distinct mileages of a training set. Weights are standard normal times
1 / sqrt(fan-in), biases standard normal; the limit is quadrature. In the CSV too: the width from
which the proof's own inequalities hold for one hidden layer on the same points.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from gladius.worlds.bus import BusEngine
from proofs_checks.oracle.networks import (
    ACTIVATIONS,
    Wide,
    hessian_bound,
    least_in_ball,
    limit_kernel,
)
from reproduce import layout, seeds
from reproduce.data import SHARE
from reproduce.results import Results
from reproduce.spec import Array, Cell, Entry, Exhibit, Record, Result, summarise

NAME = "wide_networks"
WIDTHS, SMOKE_WIDTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096), (16, 64)
HIDDEN = 10  # units of a layer of the paper's network
REPETITIONS, SMOKE_REPETITIONS = 20, 4
RADII = (1.0, 2.0, 4.0)
APART, BUS = "six points", "bus engine, K = 0"  # designs
COLUMN, LIMIT = "tangent kernel", "limit"
MEASURED = "measured"
LEAST = "lambda_min"


def entries(smoke: bool) -> list[Entry]:
    """Design by width, then the limits."""

    def entry(row: str, column: str, statistic: str, settings: dict[str, Any]) -> Entry:
        compute = {COLUMN: "width_cell", LIMIT: "limit_cell"}[column]
        told = settings | {"seeds": NAME, "seeds_row": row}
        cell = Cell(f"{__name__}:{compute}", told, f"{column}, {row}")
        return Entry(row, column, MEASURED, cell, statistic)

    repetitions = SMOKE_REPETITIONS if smoke else REPETITIONS
    widths = SMOKE_WIDTHS if smoke else WIDTHS
    found = []
    for design in (APART, BUS):
        radii = RADII if design == APART else ()
        shared: dict[str, Any] = {"design": design, "repetitions": repetitions, "radii": radii}
        for width in (HIDDEN, *widths) if design == BUS else widths:
            row = f"{design}, width {width}"
            found.append(entry(row, COLUMN, LEAST, shared | {"width": width}))
        found.append(entry(design, LIMIT, "lambda_star", {"design": design, "radius": 1.0}))
    return found


def mileages() -> Array:
    """The distinct mileages (n, 1) of the training set of Table 2's first 1,000 trajectories."""
    rng = np.random.default_rng(seeds.sequence("table_2", "1000", 0))
    world = BusEngine()
    train, _ = world.simulate(1000, rng).split(SHARE)
    after = train.next_states[train.actions == world.anchor_action]
    return np.unique(np.concatenate([train.states, after]), axis=0)


def standardised(x: Array) -> Array:
    """Mean 0 and standard deviation 1 over the points."""
    return np.asarray((x - x.mean(axis=0)) / x.std(axis=0))


def points(design: str) -> Array:
    """u = (z, 1) (n, .); a point of the bus engine's is a mileage, with two outputs."""
    six = np.array([[s, a] for s in (-2.0, 0.0, 2.0) for a in (0.0, 1.0)])
    z = six if design == APART else standardised(mileages())
    return np.column_stack([z, np.ones(len(z))])


def deep_kernel(u: Array, first: Array, second: Array, bias: Array, last: Array) -> Array:
    """J J' (n A, n A) of two hidden layers; weights (m, .), (m, m), (m,), (A, m), all trained.

    The outputs are last g / sqrt(m) + c, g = tanh(second h / sqrt(m) + bias), h = tanh(first u):
    each layer gives the product of the Gram matrix of its inputs and that of what comes back.
    """
    scale = 1 / math.sqrt(len(bias))
    h = np.tanh(u @ first.T)
    g = np.tanh(h @ second.T * scale + bias)
    outputs = len(last)
    back = ((1 - g**2)[:, None, :] * last * scale).reshape(-1, len(bias))
    deeper = np.repeat(1 - h**2, outputs, axis=0) * (back @ second) * scale
    spread = np.ones((outputs, outputs))
    kernel: Array = (
        np.kron(g @ g.T * scale**2 + 1, np.eye(outputs))
        + np.kron(h @ h.T * scale**2 + 1, spread) * (back @ back.T)
        + np.kron(u @ u.T, spread) * (deeper @ deeper.T)
    )
    return kernel


def deep_start(u: Array, width: int, rng: np.random.Generator) -> float:
    """lambda_min of two hidden layers and two outputs at a random start."""
    first, bias = rng.normal(size=(width, u.shape[1])), rng.normal(size=width)
    second, last = rng.normal(size=(width, width)), rng.normal(size=(2, width))
    return float(np.linalg.eigvalsh(deep_kernel(u, first, second, bias, last))[0])


def limit(design: str) -> Array:
    """K_infinity of the design's network; outputs do not share in the limit."""
    deep = design == BUS
    return apart(limit_kernel(points(design), ACTIVATIONS["tanh"], 1 + deep), 1 + deep)


def apart(kernel: Array, outputs: int) -> Array:
    """The kernel of several outputs that share nothing."""
    return np.asarray(np.kron(kernel, np.eye(outputs)), dtype=np.float64)


def sufficient_width(kernel: Array, u: Array, radius: float) -> float:
    """The least m with 2 C_J sqrt(M) C_R R <= lambda_star / 4 and C_J <= 2 C_0, for one layer.

    The largest of m normal weights is taken to be sqrt(2 log(40 m)): so it is in 95 % of starts.
    """
    eigenvalues = np.linalg.eigvalsh(kernel)
    start = math.sqrt(eigenvalues[-1] + eigenvalues[0] / 4)

    def excess(log_width: float) -> float:
        largest = np.array([math.sqrt(2 * (math.log(40) + log_width))])
        bend = hessian_bound(largest, u, ACTIVATIONS["tanh"], radius)
        drift = math.sqrt(len(kernel)) * bend * math.exp(-log_width / 2) * radius
        return float(max(drift / start, 8 * (start + drift) * drift / eigenvalues[0])) - 1

    return math.exp(brentq(excess, 0.0, 200.0))


def width_cell(cell: Cell, device: str) -> Result:
    """The kernel at random starts of one width, and the least in balls around them."""
    settings, u = cell.settings, points(cell.settings["design"])
    values, lowest = [], []
    for rng in seeds.generators(cell, "weights"):
        if settings["design"] == BUS:
            values.append(deep_start(u, settings["width"], rng))
            continue
        drawn = rng.normal(size=(settings["width"], u.shape[1] + 1))
        start = Wide(drawn[:, 0], drawn[:, 1:], u, ACTIVATIONS["tanh"])  # one layer, one output
        values.append(float(np.linalg.eigvalsh(start.kernel())[0]))
        lowest.append([least_in_ball(start, radius) for radius in settings["radii"]])
    low, high = np.quantile(values, [0.05, 0.95])
    lines = [
        *summarise(LEAST, values, ["ok"] * len(values)),
        Record(f"{LEAST} 5 %", float(low), repetitions=len(values)),
        Record(f"{LEAST} 95 %", float(high), repetitions=len(values)),
    ]
    for radius, found in zip(settings["radii"], np.transpose(lowest), strict=True):
        lines.append(summarise(f"least in ball {radius:g}", found, ["ok"] * len(values))[0])
    return Result(tuple(lines), {LEAST: values})


def limit_cell(cell: Cell, device: str) -> Result:
    """The limit's smallest eigenvalue, and the width that the proof asks for (one layer)."""
    design = cell.settings["design"]
    kernel, u = limit(design), points(design)
    one_layer = apart(limit_kernel(u, ACTIVATIONS["tanh"]), 1 + (design == BUS))
    width = sufficient_width(one_layer, u, cell.settings["radius"])
    star = Record("lambda_star", float(np.linalg.eigvalsh(kernel)[0]))
    asked = Record("log10 of the width the proof asks for", math.log10(width))
    return Result((star, Record("evaluation points", float(len(kernel))), asked))


def render(results: Results, out: Path) -> None:
    """Two panels: six points with balls, the paper's data."""
    figure = layout.new_figure(layout.PAGE, 3.5, EXHIBIT.title)
    table = results.frame().pivot_table(index="row", columns="statistic", values="value")
    for axes, design in zip(figure.subplots(1, 2), (APART, BUS), strict=True):
        widths = {
            entry.row: entry.cell.settings["width"]
            for entry in results.entries
            if entry.column == COLUMN and entry.cell.settings["design"] == design
        }
        if {design, *widths} <= set(table.index):  # else a cell failed: the CSV says why
            curves = table.loc[list(widths)].set_axis(list(widths.values())).sort_index()
            limits = {str(name): float(x) for name, x in table.T[design].items()}
            _panel(axes, design, curves, limits)
    layout.save(figure, out, NAME)


def _panel(
    axes: layout.Axes, design: str, curves: pd.DataFrame, limits: Mapping[str, float]
) -> None:
    pale: dict[str, Any] = {"color": layout.SKY, "alpha": 0.5, "linewidth": 0}
    low, high = curves[f"{LEAST} 5 %"], curves[f"{LEAST} 95 %"]
    axes.fill_between(curves.index, low, high, label="starts, 5 to 95 %", **pale)
    lines = {LEAST: "starts, mean"}
    if design == APART:
        lines |= {f"least in ball {r:g}": f"least in the ball R = {r:g}, mean" for r in RADII}
    style: dict[str, Any] = {"marker": "o", "markersize": 2.5, "linewidth": 1.2}
    shades = (layout.BLUE, layout.ORANGE, layout.VERMILION, layout.PURPLE)
    for (statistic, label), colour in zip(lines.items(), shades, strict=False):
        axes.plot(curves[statistic], color=colour, label=label, **style)
    names = ("limit", "3/4 of it (start)", "1/2 of it (ball)")
    for share, dashes, label in zip((1.0, 0.75, 0.5), ("-", "--", ":"), names, strict=True):
        black: dict[str, Any] = {"color": layout.BLACK, "linestyle": dashes, "linewidth": 0.9}
        axes.axhline(share * limits["lambda_star"], label=label, **black)
    if HIDDEN in curves.index:
        cross: dict[str, Any] = {"color": layout.VERMILION, "markersize": 7}
        axes.plot(HIDDEN, curves[LEAST][HIDDEN], "X", label="2 x 10, as in the paper", **cross)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(list(curves.index), [str(width) for width in curves.index])
    axes.minorticks_off()
    kind = "two hidden layers" if design == BUS else "one hidden layer"
    asked = limits["log10 of the width the proof asks for"]
    title = f"{design}: {kind}, M = {limits['evaluation points']:.0f}\n"
    title += f"the proof for R = 1 (one layer) needs $m = 10^{{{asked:.1f}}}$"
    layout.words(axes, "width m of a hidden layer", "smallest eigenvalue of the kernel", title)
    axes.legend(fontsize=layout.FONT - 1, frameon=False, loc="lower right")


EXHIBIT = Exhibit(
    NAME,
    "Tangent kernels of wide tanh networks (Lemma NNenjoysPL)",
    entries,
    cost=0.3,
    render=render,
)
