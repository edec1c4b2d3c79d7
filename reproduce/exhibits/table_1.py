"""Table 1, executable: each of the paper's 91 cells beside a measurement on the bus engine.

One-shot, Bellman equation and Statistical complexity are views of fits to Table 2's data; the other
columns are cells of `table_1_cells`. A line is a form of a method: as this library does it, as its
authors did, or as the paper prints it. `tick_reasons` has the verdicts and their reasons; a cell
has one verdict for all forms of its method.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from gladius.designs.bus import BusEngine
from gladius.register import needs
from reproduce.cells.fits import SMOKE_TRAJECTORIES, TRAJECTORIES, fitting
from reproduce.cells.fits_author import training
from reproduce.cells.table_1_cells import (
    LIMITS,
    SCALABLE,
    SECONDS,
    TICK,
    bellman_errors,
    mean_record,
)
from reproduce.drawing import layout
from reproduce.drawing.notes import notes
from reproduce.drawing.tick_reasons import (
    BELLMAN,
    COLUMNS,
    FREE,
    GLOBAL,
    GRADIENT,
    MARKS,
    ONE_SHOT,
    RATE,
    SCALE,
    TABLES,
    compare_tick,
    fold,
    reason,
)
from reproduce.engine.nouns import FAILED, Cell, Entry, Exhibit, Record, Result
from reproduce.engine.view import View, mean_of
from reproduce.paper import published
from reproduce.paper.compare import counts
from reproduce.paper.judge import number
from reproduce.paper.targets import repetitions
from reproduce.paper.verdicts import Comparison, in_words

NAME = "table_1"
MEASURED = "measured"
VERDICTS = ("method", "column", "printed", "measured", "verdict", "reason")
SMALL_ERROR = 0.05  # utils; 1 % of the anchor's reward
HALF = -0.5  # slope of 1/sqrt(N)
WIDE = 0.05  # half a 95 % interval of a slope that decides nothing
LARGEST = 2500  # most trajectories where the slope rests on many data sets
LAST = "last"  # epoch of the author's code that is shown: the other is chosen by the true reward
SMOKE_SETS, SMOKE_STARTS, SMOKE_LADDER = 2, 2, (0,)
SMOKE_LINES = ("NFXP", "Clare", "Ours, author's code")
STARTS, LADDER = 20, (0, 2, 5, 10, 20, 50, 100)
# variant of a line -> options
VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    "two steps": {"stages": 1},  # of Hotz and Miller
    "sparse": {"function_class": "sparse"},
    "Algorithm 1": {"protocol": "printed"},
    "linear": {"basis": "polynomial", "degree": 1},
    "5 cells": {"cells": 5},
    "network": {"function_class": "network"},
}


@dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes:
        name: the method as the paper spells it; after a comma, which form of it.
        method: of METHODS.
        solver: what it optimises with, declared; of DESCENTS where that is gradient descent.
        variant: of VARIANTS, "" for the method's defaults.
        starts: what is random at the start: `rng` or `rngs` (its own generators), `theta` (an
            option `start` of shape (R, k)), `reward` (an option `start`, a function of states).
        wide, started: further options of the fits with dummies, and from random starts.
        undecidable: column -> why the bus engine cannot decide it.
        declared: column -> (tick, why), where the definition of the form decides it.
        sets: data sets behind its slope; 0 for those of its own fit.
        is_trained: whether its fits are the trainings of the author's code.
    """

    name: str
    method: str
    solver: str
    variant: str = ""
    starts: str = ""
    wide: Mapping[str, Any] = field(default_factory=dict)
    started: Mapping[str, Any] = field(default_factory=dict)
    undecidable: Mapping[str, str] = field(default_factory=dict)
    declared: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    sets: int = 0
    is_trained: bool = False

    @property
    def printed(self) -> str:
        """Its row in the printed table."""
        return self.name.partition(",")[0]

    def cell(self, trajectories: int, smoke: bool) -> Cell:
        """Its fit to Table 2's data."""
        if self.is_trained:
            return training(trajectories, smoke)
        return fitting(self.method, trajectories, smoke, VARIANTS[self.variant])

    def measured(
        self, compute: str, cell: Cell, options: Mapping[str, Any], **settings: Any
    ) -> Cell:
        """A cell of `table_1_cells`: the settings of a fit, with further options and settings."""
        options = {**cell.settings.get("options", {}), **options}
        settings = {**cell.settings, "options": options, **settings}
        return Cell(compute, settings, f"{self.name}, {compute}")


CONCAVE = {GLOBAL: (1.0, "concave logit")}
IN_A_BASIS = {GLOBAL: (0.0, "concave logit, values linear in a basis")}
NO_START = {GLOBAL: "no random start"}
ONE_CELL = dict.fromkeys((BELLMAN, GLOBAL, RATE), "one cell: NFXP")
TRAININGS = {SCALE: "not run with dummies", GLOBAL: "level started at the true one"}
DECLARED = {ONE_SHOT: (1.0, "no inner loop"), FREE: (1.0, "tuples")}
NETWORK, SMOOTH = {"function_class": "mlp"}, {"function_class": "smooth"}
BATCHES, SPREAD = {"training": {"batch": 1000}}, {"start_spread": 5.0}
# Data sets behind a slope. Its standard deviation and the error of that, on 246 data sets of 0.3.0:
# .288 + .013 or less in five methods, .362 + .016 or less in our two classes.
MANY, OURS_MANY = repetitions(0.301, WIDE), repetitions(0.378, WIDE)
LOGIT = "linear system, Newton"
CLUSTERS = "Adam, k-means, Newton"
DESCENTS = ("Adam", "gradient descent")
LINES = (
    Line("NFXP", "nfxp", "Newton", starts="theta", sets=MANY),
    Line("CCP", "ccp", LOGIT, "two steps", declared=CONCAVE, sets=MANY),
    Line("MPEC", "mpec", "Newton-Lagrange", starts="theta", sets=MANY),
    Line("AVI", "avi", "regressions, Newton", starts="rng"),
    Line("Semi-gradient", "semi_gradient", LOGIT, declared=IN_A_BASIS, sets=MANY),
    Line("Semi-gradient, linear basis", "semi_gradient", LOGIT, "linear", declared=IN_A_BASIS),
    Line("RP", "rp", "greedy splits, Newton", undecidable=ONE_CELL),
    Line("SAmQ", "samq", CLUSTERS, starts="rng"),
    Line("SAmQ, 5 cells", "samq", CLUSTERS, "5 cells", "rng"),
    Line("BC", "bc", "Adam", starts="rng", wide=BATCHES),
    Line("IQ-Learn", "iq_learn", "Adam", "network", "rng"),
    Line("Clare", "clare", "fixed point", starts="reward"),
    Line("ML-IRL", "ml_irl", "Newton", starts="theta", sets=MANY),
    Line("Model-enhanced AIRL", "airl", "fixed point", "", "rng", started=SPREAD),
    Line(
        "Ours, profiled ERM",
        "profiled_erm",
        "Newton",
        wide=SMOOTH,
        undecidable=NO_START,
        sets=OURS_MANY,
    ),
    Line(
        "Ours, profiled ERM (sparse)",
        "profiled_erm",
        "Fisher scoring",
        "sparse",
        undecidable=NO_START,
        sets=OURS_MANY,
    ),
    Line("Ours, Algorithm 1", "gladius", DESCENTS[1], "Algorithm 1", "rngs", NETWORK, NETWORK),
    Line(
        "Ours, author's code",
        "gladius",
        "Adam",
        undecidable=TRAININGS,
        declared=DECLARED,
        is_trained=True,
    ),
    Line("PQR", "pqr", "Adam", starts="rng"),
)
BY_NAME = {line.name: line for line in LINES}


def entries(smoke: bool) -> list[Entry]:
    """An entry for each measurement; the fits behind the slopes are hidden."""
    sizes = SMOKE_TRAJECTORIES if smoke else TRAJECTORIES
    small, middle, large = min(sizes), 1000 if 1000 in sizes else min(sizes), max(sizes)
    few, starts = (10, SMOKE_STARTS) if smoke else (1000, STARTS)
    ladder = {"ladder": SMOKE_LADDER if smoke else LADDER, "limits": LIMITS, "repetitions": 1}
    listed = []
    for line in LINES:
        if smoke and line.name not in SMOKE_LINES:
            continue
        random = {"repetitions": starts, "starts": line.starts}
        cells = {
            ONE_SHOT: line.cell(middle, smoke),
            FREE: line.measured("free", line.cell(small, smoke), {}, repetitions=1),
            SCALE: line.measured("scale", line.cell(few, smoke), line.wide, **ladder),
            BELLMAN: line.cell(large, smoke),
            GLOBAL: line.measured("optima", line.cell(middle, smoke), line.started, **random),
        }
        for column, cell in cells.items():
            if column not in line.undecidable and column not in line.declared:
                listed.append(Entry(line.name, column, MEASURED, cell, TICK))
        for n in sizes if RATE not in line.undecidable else ():
            cell = line.cell(n, smoke)
            if line.sets:
                repetitions = SMOKE_SETS if smoke else line.sets
                cell = line.measured("errors", cell, {}, repetitions=repetitions)
            if n <= LARGEST or not line.sets:
                listed.append(Entry(line.name, RATE, f"{MEASURED} {n}", cell, is_shown=False))
    return listed


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """What the column asks of a fit; the records of a cell of `table_1_cells` as stored."""
    if entry.column == ONE_SHOT:
        # a closed form has no outer iterations
        outer = np.maximum(1.0, result.replications["iterations"])
        steps = np.asarray(result.replications["inner iterations"]) / outer
        tick = Record(TICK, float(np.max(steps) == 0))
        return tick, mean_record("inner steps an outer one", steps)
    if entry.column == BELLMAN:
        epoch = f" {LAST}" if BY_NAME[entry.row].is_trained else ""
        q, reward = (result.arrays[f"{name}{epoch}"] for name in ("q", "reward"))
        own, anchored = bellman_errors(BusEngine(), q, reward)
        means = mean_record("Bellman error", own), mean_record("anchor's Bellman error", anchored)
        return Record(TICK, float(max(mean.value for mean in means) < SMALL_ERROR)), *means
    return result.records


def slope(results: View, line: Line) -> tuple[float, float, int]:
    """(mean, half width of its 95 % interval, regressions) of the slope of log MAPE in log N."""
    errors, sizes = [], []
    score = f"MAPE {LAST}" if line.is_trained else "MAPE"
    for entry, stored in results:
        is_its = (entry.row, entry.column) == (line.name, RATE)
        if is_its and score in stored.result.replications:
            errors.append(stored.result.replications[score])
            sizes.append(math.log(int(entry.protocol.split()[1])))
    if len(sizes) < 2:
        return math.nan, math.nan, 0
    x, common = np.array(sizes) - np.mean(sizes), min(map(len, errors))
    logs = np.log([error[:common] for error in errors])  # of the data sets that all sizes have
    mean, se, n = mean_of(x @ logs / (x @ x))
    return mean, float(student.ppf(0.975, n - 1)) * se, n


# method -> what it averages over where it forms no counts
AVERAGES = dict.fromkeys(("bc", "iq_learn"), "means over the s' of a pair")
AVERAGES |= dict.fromkeys(("avi", "semi_gradient"), "tuples")
SIGNS = {1.0: "yes", 0.0: "no"}
INNER, FORMED, LARGEST_K = "inner loop", "formed", "largest fit"  # measured columns
BEHIND = {ONE_SHOT: INNER, FREE: FORMED, SCALE: LARGEST_K}


@dataclass(frozen=True)
class Tick:
    """What a form of a method shows in a column: 1, 0 or NaN, the number behind it, the verdict."""

    line: Line
    value: float
    text: str
    verdict: Comparison

    @property
    def sign(self) -> str:
        """yes, no, or ? where this design cannot decide it."""
        return SIGNS.get(self.value, "?")

    @property
    def form(self) -> str:
        """The form, "" for a method's first."""
        return self.line.name.partition(", ")[2]


def ticks(results: View) -> dict[tuple[str, str], list[Tick]]:
    """(method, column) -> what each of its forms shows."""
    frame = results.frame()
    found: dict[tuple[str, str], list[Tick]] = {}
    for line, column in product(LINES, COLUMNS):
        value, text = measured_tick(results, frame, line, column)
        sign, printed = SIGNS.get(value, "?"), printed_tick(line.printed, column)
        word = compare_tick(line.name, column, printed, sign)
        found.setdefault((line.printed, column), []).append(Tick(line, value, text, word))
    return found


def by_form(forms: Sequence[Tick], texts: Sequence[str]) -> str:
    """The texts, once where all forms have the same; else after the name of each form."""
    if len(set(texts)) == 1:
        return texts[0]
    named = zip((tick.form for tick in forms), texts, strict=True)
    return "; ".join(f"{form}: {text}" if form else text for form, text in named)


def render(results: View, out: Path) -> None:
    """The table of methods, and a CSV with a verdict for each of the paper's 91 cells."""
    body: dict[str, dict[str, str]] = {}
    cells = []
    for (method, column), forms in ticks(results).items():
        texts, row = [tick.text for tick in forms], body.setdefault(method, {})
        if column in BEHIND:
            row[BEHIND[column]] = by_form(forms, texts)
            texts = [tick.sign for tick in forms]
        else:
            texts = [f"{tick.sign} ({tick.text})" for tick in forms]
        printed, signs = printed_tick(method, column), by_form(forms, texts)
        word = fold([tick.verdict for tick in forms])
        row[column] = f"{printed} | {signs}{MARKS.get(word, '')}"
        if word != Comparison.NO_ROW:
            full = by_form(forms, [f"{tick.sign} ({tick.text})" for tick in forms])
            why = reason(column, word, [(tick.line.name, tick.sign) for tick in forms])
            cells.append((method, column, printed, full, word, why))
    verdicts = pd.DataFrame(cells, columns=pd.Index(VERDICTS))
    layout.write_csv(verdicts, out / f"{NAME}_verdicts.csv")
    table = pd.DataFrame.from_dict(body, orient="index")[[*COLUMNS, *BEHIND.values()]]
    table.index.name = "method"
    below = (
        f"Entries: {counts(verdicts['verdict'])}.",
        *notes(NAME, largest=LARGEST, many=MANY, ours=OURS_MANY, wide=WIDE),
    )
    explained = verdicts[(verdicts["reason"] != "") & (verdicts["reason"] != TABLES)]
    remarks = (
        f"{line['method']}, {line['column']} ({in_words(line['verdict'])}): {line['reason']}."
        for _, line in explained.iterrows()
    )
    layout.write(table, out, NAME, EXHIBIT.title, (*below, *remarks))


def printed_tick(name: str, column: str) -> str:
    """The paper's tick, NO_ROW for a method that it does not list."""
    table = published.load(NAME)
    value = table[(table["row"] == name) & (table["column"] == column)]["value"]
    return str(value.item()) if len(value) else Comparison.NO_ROW


def measured_tick(results: View, frame: pd.DataFrame, line: Line, column: str) -> tuple[float, str]:
    """(tick, the number behind it)."""
    if column in line.undecidable:
        return math.nan, line.undecidable[column]
    if column in line.declared:
        tick, text = line.declared[column]
        return tick, f"declared: {text}"
    if column == GRADIENT:
        return float(line.solver in DESCENTS), line.solver
    if column == RATE:
        mean, half, n = slope(results, line)
        if not n:
            return math.nan, "not run"
        is_decided = half <= WIDE or abs(mean - HALF) > half
        tick = float(mean - half <= HALF) if is_decided else math.nan
        return tick, f"{mean:.2f} +- {half:.2f}; {n} sets"
    is_its = (frame["row"] == line.name) & (frame["column"] == column)
    records = frame[is_its].set_index("statistic")
    value, status = records["value"].to_dict(), records["status"].to_dict()
    tick = float(value.get(TICK, math.nan))
    if math.isnan(tick):
        text = str(records["status"].iloc[0]).removeprefix(FAILED) if len(records) else "not run"
    elif column == BELLMAN:
        anchored = number(value["anchor's Bellman error"])
        text = f"{number(value['Bellman error'])}, anchor {anchored}"
    elif column == ONE_SHOT:
        steps = value["inner steps an outer one"]
        text = f"{number(steps) if steps else 0} steps"
    elif column == FREE:
        counts = "counts" if value["forms counts"] else AVERAGES.get(line.method, "neither")
        text = "P" if value["forms P"] else f"{counts}, no P"
    elif column == SCALE:
        text = _scale_text(results, line, tick, value, status)
    else:
        share = "" if value["converged"] == 1 else f", {value['converged']:.0%} converged"
        text = f"{value['spread of r']:.1g}{share}"
    return tick, text


def _scale_text(
    results: View,
    line: Line,
    tick: float,
    value: Mapping[Any, float],
    status: Mapping[Any, str],
) -> str:
    """The largest K, its error and processor time."""
    if "largest K" not in value:
        return f"K >= {SCALABLE}" if tick else f"K < {SCALABLE}"
    text = f"K = {value['largest K']:.0f}"
    end = status.get(f"finishes {text}", "ok")
    if end != "ok":
        text += f", {end.replace('_', ' ')}"
    if "MAPE there" in value:
        text += f", MAPE {number(value['MAPE there'])}"
    for entry, stored in results:
        if (entry.row, entry.column) == (line.name, SCALE) and SECONDS in stored.result.arrays:
            text += f", {stored.result.arrays[SECONDS].item():.2g} CPU-s"
    if value["largest K"] > 0 and "form" in needs(line.method):
        text += ", given that r depends on mileage alone"
    return text


def verdict(folder: Path) -> str:
    """How many of the printed cells have each verdict: what the table says."""
    path = folder / f"{NAME}_verdicts.csv"
    if not path.is_file():
        return ""
    words = pd.read_csv(path)["verdict"]
    return f"Of {len(words)} entries {counts(words)}"


EXHIBIT = Exhibit(
    NAME,
    "Table 1: the paper's ticks beside measurements",
    entries,
    render=render,
    view=view,
    verdict=verdict,
    tolerance=5e-4,
)
