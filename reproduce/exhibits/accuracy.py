"""Accuracy of profiled ERM over many data sets, against the bounds and against the plug-in.

Table 2's 20 data sets give means with standard errors of 15 per cent, too few to separate an
estimator from a bound. Here are hundreds, and four more true rewards (`data.TRUTHS`), drawn as
counts with seeds of their own. The verdict on each target is a test of a mean (`means`), with
Holm's correction over all targets; a difference is compared with a margin, since no test can show
that two equal estimators differ by at most 0. The figure draws Table 2 against the bounds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from reproduce.cells.bus_exact import BOUND, BOUNDS, RESAMPLED, bound_entry, resampled_cell
from reproduce.cells.data import TRUTHS
from reproduce.cells.fits import SMOKE_TRAJECTORIES, TRAJECTORIES, fitting
from reproduce.drawing import layout
from reproduce.drawing.notes import notes
from reproduce.engine.nouns import Cell, Entry, Exhibit
from reproduce.engine.view import COLUMNS, View, mean_of
from reproduce.exhibits import table_2
from reproduce.paper import published
from reproduce.paper.judge import CRITICAL, number
from reproduce.paper.targets import repetitions, target_test, verdicts
from reproduce.paper.verdicts import OnTarget

NAME, AFFINE, ACCURACY = "accuracy", "affine", "the accuracy"
SEEDS = "accuracy_0_4"  # other data sets than those of 0.3.0, which `HARD` and `FITS` rest on
PLUG_IN = ("Plug-in", "leak_free tabular")
SMOOTH = (published.OURS, "leak_free smooth")
RUST, RUST_GIVEN = ("Rust", "fresh"), ("Rust (theta_1 given)", "fresh")
ORACLES = (RUST, RUST_GIVEN)  # know P and the linear form, so they need the affine true reward
TESTS = 42  # verdicts, which Holm's rule corrects together
# Data sets by the rule of `repetitions`, with the standard deviations and margins of 0.3.0. Under
# other rewards 1.3 times as many, the fewest what power/500 and all easier rows need; no number
# below 150,000 decides power/50.
SAFE = 1.3
LEAST = math.ceil(SAFE * repetitions(3.9, 1.04, TESTS))
HARD = {
    row: math.ceil(SAFE * repetitions(sd, margin, TESTS))
    for row, sd, margin in (
        ("sine/50", 7.6, 0.73),
        ("step/50", 4.6, 0.79),
        ("power/250", 5.1, 0.88),
    )
}
# (column, protocol) -> data sets under the affine reward, whose hardest row is N = 250
FITS = {
    PLUG_IN: LEAST,
    SMOOTH: repetitions(0.78, 0.07, TESTS),
    RUST: repetitions(0.71, 0.04, TESTS),
    RUST_GIVEN: LEAST,  # no verdict
}
SMOKE_REPETITIONS = 6
# ML-IRL needs the order of the observations; its printed number is compared with so many data sets
SIMULATED, SIMULATIONS = ("ML-IRL", "fresh"), 400
MARGIN = 1.0  # per cent of the other's MAPE within which a difference counts as none


def entries(smoke: bool) -> list[Entry]:
    """A row for each true reward and N."""
    listed = []
    for truth, n in product(TRUTHS, SMOKE_TRAJECTORIES if smoke else TRAJECTORIES):
        row = f"{truth}/{n}"
        for which, times in FITS.items():
            if truth == AFFINE or which not in ORACLES:
                method, options, settings = table_2.FITS[which]
                times = times if truth == AFFINE else HARD.get(row, LEAST)
                times = SMOKE_REPETITIONS if smoke else times
                settings = settings | {"truth": truth, "seeds": SEEDS, "seeds_row": row}
                settings |= {"repetitions": times, "drawn": "counts"}
                listed.append(Entry(row, *which, fitting(method, n, smoke, options, **settings)))
        if truth == AFFINE:
            listed.append(Entry(row, *SIMULATED, _simulated(n, row, smoke)))
            for column, is_known in ((RUST[0], True), (SIMULATED[0], False)):
                listed.append(Entry(row, column, RESAMPLED, resampled_cell(n, is_known, smoke)))
        listed.append(bound_entry(row, n, truth))
    return listed


def _simulated(trajectories: int, row: str, smoke: bool) -> Cell:
    """Table 2's fit on simulated data sets of this exhibit."""
    fit = table_2.cell(*SIMULATED, trajectories, smoke)
    settings = {**fit.settings, "seeds": SEEDS, "seeds_row": row}
    settings["repetitions"] = SMOKE_REPETITIONS if smoke else SIMULATIONS
    return Cell("errors", settings, f"{fit.label}, errors")


@dataclass(frozen=True)
class Target:
    """The number of `ours`, a (column, protocol), is between `low` and `high`.

    The number is the ratio to `other`, a bound's numeral; or the paired difference to it, a
    (column, protocol), in per cent of its MAPE. `header`: two lines over the column.
    """

    ours: tuple[str, str]
    other: str | tuple[str, str]
    low: float
    high: float
    header: tuple[str, str]
    called: str = ""  # the number's name, where it is neither or this tells too little

    @property
    def statistic(self) -> str:
        """The name of the number."""
        if isinstance(self.other, str):
            return self.called or f"ratio to bound ({self.other})"
        return self.called or f"paired difference to {self.other[0]}, per cent"


@dataclass(frozen=True)
class Check:
    """A target in a row: the number, its standard error, and the data sets it rests on."""

    row: str
    target: Target
    value: float
    se: float
    repetitions: int

    @property
    def p(self) -> tuple[float, float]:
        """p-values of two hypotheses: the number is outside the target, and it is inside."""
        return target_test(self.value, self.se, self.target.low, self.target.high)


TARGETS = (  # ratios only where the bound's class contains the true reward
    Target(RUST, "i", 0.95, 1.05, ("Rust / (i)", "within 5 %")),
    Target(SMOOTH, "iv", -math.inf, 1.10, ("smooth / (iv)", "at most 1.10")),
    Target(SMOOTH, PLUG_IN, -math.inf, MARGIN, ("smooth - Plug-in", "at most +1 %")),
)


def check(results: View, row: str, target: Target) -> Check | None:
    """The target in a row; None where a cell that it needs does not exist or has no result."""
    ours = results.replications(row, *target.ours)
    if not len(ours):
        return None
    if isinstance(target.other, str):
        bound = table_2.bound_value(results, row, target.other)
        return None if math.isnan(bound) else Check(row, target, *mean_of(ours / bound))
    other = results.replications(row, *target.other)
    if not len(other):
        return None
    shared = min(len(ours), len(other))  # seeds are keyed by repetition: the first are the same
    mean, se, times = mean_of(ours[:shared] - other[:shared])
    unit = float(other[:shared].mean()) / 100.0
    return Check(row, target, mean / unit, se / unit, times)


HEADERS = {
    PLUG_IN: ("Plug-in", "MAPE"),
    SMOOTH: ("smooth", "MAPE"),
    RUST: ("Rust", "MAPE"),
    RUST_GIVEN: ("Rust", "theta_1 given"),
}


def render(results: View, out: Path) -> None:
    """MAPE, ratios and differences with verdicts, all checks as a CSV, and the figure."""
    rows, mape = results.rows, layout.texts(results)
    table = {
        header: [mape.get((row, *which), "") for row in rows] for which, header in HEADERS.items()
    }
    for numeral in BOUNDS:
        values = [table_2.bound_value(results, row, numeral) for row in rows]
        table[f"({numeral})", "bound"] = ["" if math.isnan(v) else number(v) for v in values]
    candidates = [check(results, row, target) for target, row in product(TARGETS, rows)]
    checks = [c for c in candidates if c is not None]
    words = verdicts([c.p for c in checks])
    for target in TARGETS:
        texts = {
            c.row: f"{layout.estimate(c.value, c.se)} {word}"
            for c, word in zip(checks, words, strict=True)
            if c.target is target
        }
        table[target.header] = [texts.get(row, "") for row in rows]
    times = ", ".join(f"{' '.join(which)} {n:,}" for which, n in FITS.items())
    hard = ", ".join(f"{row} {n:,}" for row, n in HARD.items())
    times += f"; {LEAST} under another true reward, but {hard}"
    below = (*notes(NAME), f"Data sets a row: {times}.", f"{counted(words, ACCURACY)}.")
    pairs = [tuple(row.split("/")) for row in rows]
    frame = pd.DataFrame(table, pd.MultiIndex.from_tuples(pairs, names=["true reward", "N"]))
    layout.write(frame, out, NAME, EXHIBIT.title, below)
    write_checks(checks, words, out, NAME)
    _draw(results, out)


def write_checks(checks: Sequence[Check], words: Sequence[OnTarget], out: Path, name: str) -> None:
    """The checks of an exhibit as a CSV."""
    lines = []
    for c, word in zip(checks, words, strict=True):
        labels = (c.row, *c.target.ours, c.target.statistic)
        numbers = (c.value, c.se, c.repetitions, "ok", c.target.low, c.target.high)
        lines.append((*labels, *numbers, word, *c.p))
    names = [*COLUMNS, "low", "high", "verdict", "p of met", "p of missed"]
    layout.write_csv(pd.DataFrame(lines, columns=pd.Index(names)), out / f"{name}_checks.csv")


# bound -> (label, colour, line style); a method and the bound of its class have one colour
LINES = {
    "iii": ("bound:\nany r, P unknown", layout.BLACK, "-"),
    "iv": (None, layout.VERMILION, "--"),
    "i": (None, layout.BLUE, "-."),
}
WITHOUT_P = "iv"  # the least of the bounds where P is unknown
# (column, protocol) -> (label, method, marker)
POINTS = {
    SMOOTH: ("profiled ERM,\non the bound:\naffine r, P unknown", published.OURS, "o"),
    RUST: ("Rust, on the bound:\naffine r, P known", "Rust", "^"),
}
PRINTED = "GLADIUS"  # column of the paper
DODGE = 1.03  # factor between neighbouring markers of one N


def _draw(results: View, out: Path) -> None:
    """MAPE against N under the affine reward, ours filled and the paper's hollow, log-log."""
    figure = layout.new_figure(layout.WIDTH, 3.8)
    axes = figure.add_subplot()
    rows = [e.row for e in results.entries if e.column == BOUND and e.row.startswith(AFFINE)]
    sizes = [int(row.partition("/")[2]) for row in rows]
    for numeral, (label, colour, style) in LINES.items():
        values = [table_2.bound_value(results, row, numeral) for row in rows]
        axes.plot(sizes, values, style, color=colour, linewidth=1.1, zorder=1, label=label)
    frame, printed = results.frame(), published.load(table_2.NAME)
    frame = frame[(frame["statistic"] == "MAPE") & frame["value"].notna()]
    frame = frame[frame["row"].isin(rows)]
    shifts = iter(DODGE ** (np.arange(len(POINTS) + 1) - 1.0))
    for (column, protocol), (label, method, marker) in POINTS.items():
        line = frame[(frame["column"] == column) & (frame["protocol"] == protocol)]
        x = np.array([float(row.partition("/")[2]) for row in line["row"]]) * next(shifts)
        half = CRITICAL * line["se"]
        layout.points(axes, x, line["value"], half, method, label, marker=marker)
    line = printed[printed["column"].eq(PRINTED) & printed["row"].isin(map(str, sizes))]
    x, label = line["row"].astype(float) * next(shifts), f"printed for {PRINTED}"
    layout.points(axes, x, line["number"], 0.0 * x, PRINTED, label, mfc="white")
    bounds = [table_2.bound_value(results, row, WITHOUT_P) for row in rows]
    layout.log_log(axes, sizes, [0.1, 0.2, 0.5, 1.0, 2.0, 5.0])
    axes.tick_params(axis="x", labelrotation=30)
    layout.words(axes, "trajectories N", "MAPE of the reward (%)")
    layout.label_lines(axes)
    are_below = len(line) == len(bounds) and bool(np.all(line["number"].to_numpy() < bounds))
    layout.save(figure, out, NAME, {} if are_below else None)


def verdict(folder: Path) -> str:
    """How many targets are met."""
    return counted(pd.read_csv(folder / f"{NAME}_checks.csv")["verdict"].tolist(), ACCURACY)


def counted(words: Sequence[str], what: str) -> str:
    """How often each verdict on the targets for something occurs."""
    times = ", ".join(f"{words.count(word)} {word}" for word in OnTarget)
    return f"Of {len(words)} targets for {what}: {times}"


EXHIBIT = Exhibit(
    NAME,
    "Accuracy over many data sets: against the bounds, and against the plug-in",
    entries,
    render=render,
    verdict=verdict,
    tolerance=5e-4,
)
