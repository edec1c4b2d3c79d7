"""Scale: time and peak memory of one fit against N and against K, beside the floor.

Each fit runs in a process of its own (see `reproduce.scaling`, which has the limits), on the bus
engine with K inputs that do not matter, read from a folder. The exponents are slopes of least
squares in logarithms, over N of at least LEAST_SAMPLE and K of at least LEAST_INPUTS, where what
every fit costs whatever its size no longer shows.

Times and memory are those of one run on one machine: they are in `scaling_measured.csv`, and no
number that another machine must find again. Those are in `scaling.csv`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce import layout
from reproduce.results import Results
from reproduce.scaling import MEASURED, MEMORY, SECONDS, scaling
from reproduce.spec import NOT_RUN, Array, Entry, Exhibit

NAME = "scaling"
SAMPLES, SMOKE_SAMPLES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000), (20,)
INPUTS, SMOKE_INPUTS = (0, 2, 10, 30, 100, 300, 1000), (0, 2)
SAMPLE, SMOKE_SAMPLE = 1000, 20  # trajectories, along K
FEW = 2  # inputs, along N
LEAST_SAMPLE, LEAST_INPUTS = 1000, 10
TARGET = (100_000, 10)  # 10^7 rows
BRIEF = {"training": {"steps": 20}}  # of a smoke run


@dataclass(frozen=True)
class Method:
    """A line of the exhibit: a method, and up to which sizes it is tried.

    The last size in either direction is the first that does not fit, or close to the limits, or the
    last of all; larger ones are not tried.
    """

    column: str
    protocol: str
    method: str
    options: dict[str, Any] = field(default_factory=dict)
    few: int = FEW  # inputs, along N
    most_trajectories: int = SAMPLES[-1]
    most_inputs: int = INPUTS[-1]
    brief: dict[str, Any] = field(default_factory=dict)  # options of a smoke run

    @property
    def label(self) -> str:
        """What tells it from the others of its column."""
        return self.protocol.removeprefix("leak_free").strip()

    @property
    def name(self) -> str:
        """Column and label."""
        return f"{self.column} {self.label}".strip()

    def lines(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Its fits."""
        return frame[(frame["column"] == self.column) & (frame["protocol"] == self.protocol)]


ON_GPU = Method("GLADIUS", "leak_free sparse cuda", "gladius", {"device": "cuda"})
METHODS = (  # a further solver is one more line here
    Method("GLADIUS", "leak_free sparse", "gladius"),
    Method("GLADIUS", "leak_free stochastic", "gladius", {"solver": "stochastic"}),
    Method("NFXP", "leak_free", "nfxp", few=0, most_inputs=2),
    Method("BC", "leak_free", "bc", {"training": {"batch": 1000}}, most_inputs=30, brief=BRIEF),
    Method("PQR", "leak_free", "pqr", most_trajectories=10_000, most_inputs=300, brief=BRIEF),
    Method("SAmQ", "leak_free", "samq", {"cells": 20}, brief=BRIEF),
)
COLOURS = (layout.VERMILION, layout.BLACK, layout.GREEN, layout.BLUE, layout.PURPLE, layout.ORANGE)


def entry(how: Method, trajectories: int, inputs: int, smoke: bool) -> Entry:
    """The place of one fit."""
    options = {**how.options, **(how.brief if smoke else {})}
    if how.method == "gladius":
        options = {"function_class": "sparse", **options}
    cell = scaling(how.method, trajectories, inputs, options)
    return Entry(f"{trajectories}/{inputs}", how.column, how.protocol, cell)


def entries(smoke: bool) -> list[Entry]:
    """Along N with few inputs, then along K; the largest with GLADIUS alone, and on a GPU."""
    samples, inputs = (SMOKE_SAMPLES, SMOKE_INPUTS) if smoke else (SAMPLES, INPUTS)
    sample, target = (SMOKE_SAMPLE, (SMOKE_SAMPLE, 3)) if smoke else (SAMPLE, TARGET)
    places: list[tuple[Method, int, int]] = []
    for how in METHODS:
        places += [(how, n, how.few) for n in samples if n <= how.most_trajectories]
        places += [(how, sample, k) for k in inputs if k <= how.most_inputs]
    places += [(METHODS[0], *target), (ON_GPU, *target)]
    distinct = {(how.column, how.protocol, n, k): (how, n, k) for how, n, k in places}
    return [entry(*place, smoke) for place in distinct.values()]


def measured(results: Results) -> pd.DataFrame:
    """One line for each fit: N, K, method, MEASURED (NaN where it did not run to its end), why."""
    lines = []
    for shown, stored in results:
        n, k = map(int, shown.row.split("/"))
        arrays, status = stored.result.arrays, stored.status
        if stored.result.records:
            status = stored.result.records[0].status
        numbers = [float(arrays[name][0]) if name in arrays else math.nan for name in MEASURED]
        lines.append((n, k, shown.column, shown.protocol, *numbers, status))
    frame = pd.DataFrame(lines, columns=["N", "K", "column", "protocol", *MEASURED, "status"])
    # at one K the products have one shape, and so one speed; a coarse clock makes single ones wrong
    speed = (frame["floor_seconds"] / frame["gflop"]).groupby(frame["K"]).transform("median")
    frame["floor_seconds"] = speed * frame["gflop"]
    frame["times_floor"] = frame["cpu_seconds"] / frame["floor_seconds"]
    frame["added_mb"] = frame["peak_mb"] - frame["idle_mb"]
    return frame


def slope(x: Array, y: Array) -> tuple[float, float]:
    """Slope of log y on log x and its standard error, of at least three points; else NaN."""
    kept = np.isfinite(y) & (x > 0) & (y > 0)
    if kept.sum() < 3:
        return math.nan, math.nan
    u, v = np.log(x[kept]), np.log(y[kept])
    u = u - u.mean()  # SciPy's linregress gives no error where y is constant
    b = float(u @ v / (u @ u))
    left = v - v.mean() - b * u
    return b, float(np.sqrt(left @ left / (len(u) - 2) / (u @ u)))


def lines_of(frame: pd.DataFrame, how: Method, along: str) -> pd.DataFrame:
    """The fits of a method along N with its few inputs, or along K, in order."""
    part = how.lines(frame)
    fixed = part["K"] == how.few
    if along == "K":  # at the N where it was tried
        sample = part["N"].mode()
        fixed = part["N"] == (sample[0] if len(sample) else 0)
    return part[fixed].sort_values(along)


def exponents(frame: pd.DataFrame, least: dict[str, int]) -> pd.DataFrame:
    """Slopes (standard errors) of time and memory in N and in K, a line for each method."""
    table: dict[str, list[str]] = {}
    for how in METHODS:
        texts = []
        for along in ("N", "K"):
            part = lines_of(frame, how, along)
            part = part[part[along] >= least[along]]
            for number in ("cpu_seconds", "added_mb"):
                b, se = slope(part[along].to_numpy(float), part[number].to_numpy(float))
                texts.append("-" if math.isnan(b) else f"{b:.2f} ({se:.2f})")
        table[how.name] = texts
    heads = ["time in N", "memory in N", "time in K", "memory in K"]
    shown = pd.DataFrame.from_dict(table, orient="index", columns=heads)
    shown.index.name = "method"
    return shown


def text(value: float, digits: int = 2) -> str:
    """A number with so many digits, `-` where there is none."""
    if math.isnan(value):
        return "-"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{places}f}"


def render(results: Results, out: Path) -> None:
    """What was measured as a CSV and a table, the exponents, and both against N and against K."""
    frame = measured(results)
    layout.write_csv(frame, out / f"{NAME}_measured.csv", 6)
    least = {"N": LEAST_SAMPLE, "K": LEAST_INPUTS} if not results.smoke else {"N": 0, "K": 1}
    layout.write(table(frame), out, NAME, EXHIBIT.title, notes(frame))
    title = "Exponents of time and of memory (standard error of the fit)"
    said = (
        f"Least squares in logarithms: N from {least['N']:,}, K from {least['K']}. Memory: what the"
        " fit adds to the idle process. -: fewer than three sizes.",
    )
    layout.write(exponents(frame, least), out, f"{NAME}_exponents", title, said)
    _draw(frame, out)


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """A line for each size: seconds, times the floor and MiB of each method."""
    sizes = frame[["N", "K"]].drop_duplicates().itertuples(index=False, name=None)
    rows, index = [], []
    for n, k in sizes:
        here = frame[(frame["N"] == n) & (frame["K"] == k)]
        texts = [cell_text(how.lines(here)) for how in (*METHODS, ON_GPU)]
        rows.append([text(float(here["floor_seconds"].median())), *texts])
        index.append(f"{n:,}/{k:,}")
    heads = [("floor", "CPU-s"), *((h.column, h.label) for h in (*METHODS, ON_GPU))]
    shown = pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(heads))
    shown.index = pd.Index(index, name="N/K")
    return shown


def cell_text(part: pd.DataFrame) -> str:
    """`seconds (times the floor); MiB`, or why there is none."""
    if part.empty:
        return ""
    line = part.iloc[0]
    if line["status"] == NOT_RUN:
        return "not measured"
    if math.isnan(line["cpu_seconds"]):
        return "does not fit"
    mark = layout.MARKS.get(str(line["status"]), "")
    if str(line["protocol"]).endswith("cuda"):
        return f"{text(line['wall_seconds'])}{mark} by the clock; {line['peak_mb']:,.0f}"
    times = f"{text(line['cpu_seconds'])}{mark} ({text(line['times_floor'])})"
    return f"{times}; {line['peak_mb']:,.0f}"


def notes(frame: pd.DataFrame) -> Sequence[str]:
    """What the numbers are, and why a fit is missing."""
    why: dict[str, list[str]] = {}
    for line in frame.to_dict("records"):
        if str(line["status"]).startswith("failed"):
            told = str(line["status"]).removeprefix("failed: ").partition(": ")
            reason = told[2] if told[0] == "InputError" else f"{told[0]}{told[1]}{told[2]}"
            reason = reason.partition(", so that")[0]
            why.setdefault(f"{line['column']}: {reason}", []).append(f"{line['N']:,}/{line['K']}")
    return (
        "N trajectories of 100 rows, K inputs that do not matter. Processor seconds of one fit on"
        " one core (times the floor, at the median of the speeds measured beside the fits of its K)"
        f", and peak MiB of the process; an idle one has {text(float(frame['idle_mb'].min()))} to"
        f" {text(float(frame['idle_mb'].max()))}. Each is one run's."
        " * did not converge.",
        "Floor: reading the states once, as they are stored, and the products of one pass of the"
        " screen (two with a column of weights, half a product of the inputs with themselves), at"
        " the measured speed of such products.",
        "stochastic: its two steps refit what full passes have chosen; its time includes theirs.",
        f"Limits of a fit: {SECONDS} s of processor time, {MEMORY:g} GiB of data; no size beyond a"
        " method's largest was tried (blank).",
        *(f"{reason} ({', '.join(sizes)})." for reason, sizes in why.items()),
    )


def _draw(frame: pd.DataFrame, out: Path) -> None:
    """Time above, memory below; against N on the left, against K on the right."""
    figure = layout.new_figure(layout.PAGE, 5.0)
    panels = figure.subplots(2, 2, sharex="col", sharey="row", squeeze=False)
    words = {"N": "trajectories N (100 rows each)", "K": "inputs K that do not matter"}
    numbers: list[tuple[str, str, list[float]]] = [
        ("cpu_seconds", "processor seconds", [10.0**e for e in range(-6, 5)]),
        ("peak_mb", "peak memory, MiB", [300, 500, 1000, 2000, 4000]),
    ]
    for row, (number, y, marks) in zip(panels, numbers, strict=True):
        for axes, along in zip(row, ("N", "K"), strict=True):
            ticks: set[float] = set()
            for how, colour in zip(METHODS, COLOURS, strict=False):
                part = lines_of(frame, how, along)
                part = part[(part[along] > 0) & part[number].notna()]
                fixed = "" if along == "K" else f", K = {part['K'].min()}" if len(part) else ""
                base: dict[str, Any] = {"color": colour, "label": how.name + fixed}
                axes.plot(part[along], part[number], "o-", markersize=3.5, linewidth=1.1, **base)
                ticks |= set(part[along].tolist())
            if number == "cpu_seconds":
                part = lines_of(frame, METHODS[0], along)
                part = part[(part[along] > 0) & part["floor_seconds"].notna()]
                axes.plot(part[along], part["floor_seconds"], ":", color=layout.GREY, label="floor")
            layout.log_log(axes, sorted(ticks), marks)
            below = words[along] if number == "peak_mb" else ""
            layout.words(axes, below, y if along == "N" else "")
            axes.tick_params(axis="x", labelrotation=30)
    layout.legend_below(figure, panels[0, 0], 6)
    layout.save(figure, out, f"{NAME}_plot")


def verdict(folder: Path) -> str:
    """What the largest fits of GLADIUS cost."""
    frame = pd.read_csv(folder / f"{NAME}_measured.csv")
    ours = METHODS[0].lines(frame.sort_values(["N", "K"]))
    ours = ours[ours["cpu_seconds"].notna()]
    largest = [ours.iloc[-1], ours.sort_values(["K", "N"]).iloc[-1]]
    told = (
        f"{100 * line['N']:.3g} rows, K = {line['K']}: {text(line['cpu_seconds'])} CPU-s,"
        f" {line['peak_mb'] / 1024:.2f} GiB"
        for line in largest
    )
    return "; ".join(told)


EXHIBIT = Exhibit(
    NAME,
    "Scale: time and memory of one fit against N and K",
    entries,
    cost=15.0,
    render=render,
    verdict=verdict,
    tolerance=1e-3,
)
