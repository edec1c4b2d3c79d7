"""Table 1, executable: every tick beside a measurement on the bus engine.

- One-shot: steps of inner loops (fixed points, value iterations, inner optimisations) for each
  outer step, counted. Ticked if there are none.
- Transition estimation-free: declared by the method (NEEDS), and proven by a run in which forming
  a law or a table of n(s, a, s') raises. Ticked if both say so.
- Gradient-based: a definition, so declared: the solver of the method, in SOLVERS.
- Scalability: the largest K of the bus engine with dummies that a fit to 1,000 trajectories
  finishes within 8 GiB and 10 minutes of processor time. Ticked from K = 10, 21^10 states, on.
- Bellman equation: root of the expected squared Bellman error at N = 5,000 under the true law, of
  Q against the method's own r, and at the anchor's pairs against the given reward. Any Q solves the
  equation of the r that is read off through it, so the first alone says little; ticked if both are
  below 1 % of the anchor's reward.
- Global optimality: spread of the objective and of r-hat over 20 random starts on one data set of
  1,000 trajectories. Ticked if the spread of r-hat is below 1e-3, or if there is nothing to start.
- Statistical complexity: slope of log MAPE in log N over Table 2's sizes, each data set its own
  regression. Ticked if the 95 % interval is below zero and reaches -0.4 or less: 1/sqrt(N).

A tick is the paper's word; where the measurement disagrees, _table_1_reasons.py says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from gladius import BusEngine
from gladius.methods import needs, title
from reproduce import layout, published, seeds
from reproduce.comparison import number
from reproduce.exhibits import _bus, _limits, _traits, table_2_all
from reproduce.exhibits._table_1_reasons import (
    BELLMAN,
    FREE,
    GLOBAL,
    GRADIENT,
    ONE_SHOT,
    RATE,
    REASONS,
    SCALE,
)
from reproduce.results import Results
from reproduce.spec import Array, Cell, Exhibit, Record, Result

NAME = "table_1"
COLUMNS = (ONE_SHOT, FREE, GRADIENT, SCALE, BELLMAN, GLOBAL, RATE)
TICK, MEASURED = "tick", "measured"
SCALABLE = 10  # dummies; the paper asks for 20^10 states
SMALL_ERROR = 0.05  # 1 % of the anchor's reward
SAME = 1e-3  # utils
START_SPREAD = 3.0  # standard deviation of a random theta
HALF = -0.4  # the interval of the slope reaches at least so low


@dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes:
        name: the method as the paper spells it.
        method: of gladius.METHODS.
        solver: what it optimises with, and whether that is by gradients.
        by_gradients: the tick.
        starts: whence the random start: `rng` (its own generators), `theta` (an option `start` of
            shape (R, k)), `seed` (an option, one fit each), or "" where there is nothing to start.
        options: where the defaults are not meant.
        wide: options that it scales with, beside `options`.
        started: options of the fits from random starts, beside `options`.
    """

    name: str
    method: str
    solver: str
    by_gradients: bool
    starts: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    wide: Mapping[str, Any] = field(default_factory=dict)
    started: Mapping[str, Any] = field(default_factory=dict)


NETWORK = {"function_class": "network"}
LINES = (
    Line("NFXP", "nfxp", "Newton", True, "theta"),
    Line("CCP", "ccp", "Newton", True),
    Line("MPEC", "mpec", "Newton-Lagrange", True, "theta"),
    Line("AVI", "avi", "regressions", False, "rng"),
    Line("Semi-gradient", "semi_gradient", "linear system", False),
    Line("RP", "rp", "greedy splits", False, "theta"),
    Line("SAmQ", "samq", "Adam, k-means, Newton", False, "rng"),
    Line("BC", "bc", "Adam", True, "rng", wide={"training": {"batch": 1000}}),
    Line("IQ-Learn", "iq_learn", "Adam", True, "rng", NETWORK),
    Line("Clare", "clare", "fixed point", False, "rng"),
    Line("ML-IRL", "ml_irl", "Newton", True, "theta"),
    Line("Model-enhanced AIRL", "airl", "alternation", False, "rng", started={"start_spread": 5.0}),
    Line("Ours", "gladius", "Newton", True, "seed", started={"function_class": "mlp"}),
)
BY_NAME = {line.name: line for line in LINES}
SIZES = {ONE_SHOT: (1000, 4), FREE: (50, 1), BELLMAN: (5000, 20), GLOBAL: (1000, 20)}
SMOKE_SIZE = (50, 2)
LADDER, SMOKE_LADDER = (0, 2, 5, 10, 20, 50, 100), (0, 2)
LIMITS, SMOKE_LIMITS = (600.0, 8.0), (60.0, 8.0)


def cells(smoke: bool) -> list[Cell]:
    """A cell for each measurement; the slopes come from `table_2_all`, the solver is declared."""
    found = []
    for line in LINES:
        shared: dict[str, object] = {"method": line.method, "options": dict(line.options)}
        for column in (ONE_SHOT, FREE, BELLMAN, GLOBAL):
            n, times = SMOKE_SIZE if smoke else SIZES[column]
            settings = shared | {"trajectories": n, "repetitions": times, "seeds": "table_2"}
            found.append(Cell(NAME, line.name, column, MEASURED, settings, statistic=TICK))
        settings = shared | {
            "options": {**line.options, **line.wide},
            "trajectories": 10 if smoke else 1000,
            "ladder": list(SMOKE_LADDER if smoke else LADDER),
            "limits": list(SMOKE_LIMITS if smoke else LIMITS),
        }
        found.append(Cell(NAME, line.name, SCALE, MEASURED, settings, statistic=TICK))
    return found


def compute(cell: Cell, device: str) -> Result:
    """One measurement; small, so always on the CPU."""
    measure = {
        ONE_SHOT: _one_shot,
        FREE: _free,
        BELLMAN: _bellman,
        GLOBAL: _global,
        SCALE: _scale,
    }[cell.column]
    return Result(tuple(measure(cell, BusEngine())))


def _one_shot(cell: Cell, world: BusEngine) -> list[Record]:
    train, _ = _bus.data_sets(world, cell)
    steps = _traits.inner_steps(_bus.fit(world, cell, train))
    return [_tick(float(np.max(steps) == 0)), _mean("inner steps an outer one", steps)]


def _free(cell: Cell, world: BusEngine) -> list[Record]:
    train, _ = _bus.data_sets(world, cell)
    forms = _traits.forms_law(lambda: _bus.fit(world, cell, train))
    declared = "law" not in needs(str(cell.settings["method"]))
    return [
        _tick(float(declared and not forms)),
        Record("declared to need a law", float(not declared)),
        Record("forms one", float(forms)),
    ]


def _bellman(cell: Cell, world: BusEngine) -> list[Record]:
    train, _ = _bus.data_sets(world, cell)
    own, anchored = _traits.bellman_errors(world, _bus.fit(world, cell, train))
    means = [_mean("Bellman error", own), _mean("anchor's Bellman error", anchored)]
    return [_tick(float(max(one.value for one in means) < SMALL_ERROR)), *means]


def _global(cell: Cell, world: BusEngine) -> list[Record]:
    """One data set as often as there are starts."""
    line = BY_NAME[cell.row]
    if not line.starts:
        return [_tick(1.0)]
    train, _ = _bus.data_sets(world, cell)
    rngs = seeds.generators(cell, "starts")
    same = [train[0]] * len(rngs)
    if line.starts == "seed":
        each = [dict(line.started, seed=i) for i in range(len(rngs))]
        fitted = [_bus.fit(world, cell, train[:1], **one)[0] for one in each]
    elif line.starts == "theta":
        theta = np.stack([g.normal(0.0, START_SPREAD, 2) for g in rngs])
        fitted = _bus.fit(world, cell, same, start=theta, **line.started)
    else:
        fitted = _bus.fit(world, cell, same, rng=rngs, **line.started)
    objective, reward = _traits.spread(world, fitted)
    ok = float(np.mean([e.diagnostics.converged for e in fitted]))
    return [
        _tick(float(reward < SAME)),
        Record("spread of the objective", objective, repetitions=len(fitted)),
        Record("spread of r", reward, repetitions=len(fitted)),
        Record("converged", ok, repetitions=len(fitted)),
    ]


def _scale(cell: Cell, world: BusEngine) -> list[Record]:
    most, ends = _limits.largest(
        wide_fit, cell.settings["ladder"], cell.spec(), tuple(cell.settings["limits"])
    )
    found = [_tick(float(most >= SCALABLE)), Record("largest K", float(most))]
    for rung, (end, seconds) in sorted(ends.items()):
        status = "ok" if end == _limits.FINISHED else f"failed: {end}"
        found.append(Record(f"CPU seconds at K = {rung}", seconds, status=status))
    return found


def wide_fit(dummies: int, spec: Mapping[str, Any]) -> None:
    """Fit one data set of the bus engine with dummies; in a process with limits."""
    names = ("exhibit", "row", "column", "protocol", "settings")
    cell = Cell(**{name: spec[name] for name in names})
    world = BusEngine(dummies=dummies)
    train, _ = _bus.data_sets(world, cell)
    _bus.fit(world, cell, train)


def _tick(value: float) -> Record:
    return Record(TICK, value)


def _mean(name: str, x: Array) -> Record:
    se = float(np.std(x, ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.nan
    return Record(name, float(np.mean(x)), se, len(x))


def slope(results: Results, line: Line) -> tuple[float, float, int]:
    """(mean, half width of its 95 % interval, regressions) of the slope of log MAPE in log N."""
    errors, sizes = [], []
    for cell, stored in zip(results.cells, results.stored, strict=True):
        plain = cell.protocol == table_2_all.PLAIN and cell.column == title(line.method)
        if cell.exhibit != table_2_all.NAME or not plain or stored is None:
            continue
        if "MAPE" in stored.result.replications:
            errors.append(stored.result.replications["MAPE"])
            sizes.append(math.log(int(cell.row)))
    if len(sizes) < 2:
        return math.nan, math.nan, 0
    x = np.array(sizes) - np.mean(sizes)
    slopes = x @ np.log(np.array(errors)) / (x @ x)
    n = len(slopes)
    wide = float(student.ppf(0.975, n - 1) * np.std(slopes, ddof=1) / math.sqrt(n))
    return float(np.mean(slopes)), wide, n


def render(results: Results, out: Path) -> list[Path]:
    """Method by column: printed, measured and the number behind it; and where the two disagree."""
    frame = results.frame([NAME])
    body, gaps = {}, {}
    for line in LINES:
        found = {
            column: (_printed(line.name, column), *_ours(results, frame, line, column))
            for column in COLUMNS
        }
        body[line.name] = [_entry(*found[column]) for column in COLUMNS]
        for column, (printed, tick, text) in found.items():
            if _differ(printed, tick):
                reason = REASONS.get((line.name, column), REASONS["", column])
                gaps[f"{line.name}: {column}"] = [printed, f"{SIGNS[tick]}, {text}", reason]
    table = pd.DataFrame(body, index=list(COLUMNS)).T
    table.index.name = "method"
    why = pd.DataFrame(gaps, index=["printed", "measured", "why they differ"]).T
    why.index.name = "tick"
    heading = "Table 1: the ticks that the measurements do not bear out"
    return [
        *layout.write(table, out, NAME, EXHIBIT.title, NOTES),
        *(layout.write(why, out, f"{NAME}_reasons", heading, ()) if gaps else ()),
    ]


SIGNS = {1.0: "yes", 0.0: "no"}


def _entry(printed: str, tick: float, text: str) -> str:
    mark = " #" if _differ(printed, tick) else ""
    return f"{printed} | {SIGNS.get(tick, '?')}{mark} ({text})"


def _printed(name: str, column: str) -> str:
    said = published.load(NAME)
    return str(said[(said["row"] == name) & (said["column"] == column)]["value"].item())


def _differ(printed: str, tick: float) -> bool:
    """A conditional tick is neither borne out nor refuted by one world."""
    return tick in SIGNS and not printed.startswith("conditional") and (printed != "blank") != tick


def _ours(results: Results, frame: pd.DataFrame, line: Line, column: str) -> tuple[float, str]:
    """(tick, the number behind it)."""
    if column == GRADIENT:
        return float(line.by_gradients), line.solver
    if column == RATE:
        mean, half, n = slope(results, line)
        if not n:
            return math.nan, "not run"
        return float(mean + half < 0 and mean - half <= HALF), f"{mean:.2f} +- {half:.2f}"
    mine = frame[(frame["row"] == line.name) & (frame["column"] == column)]
    value = dict(zip(mine["statistic"], mine["value"], strict=True))
    tick = float(value.get(TICK, math.nan))
    if math.isnan(tick):
        return tick, str(mine["status"].iloc[0]) if len(mine) else "not run"
    if column == BELLMAN:
        anchored = number(value["anchor's Bellman error"])
        return tick, f"{number(value['Bellman error'])}, anchor {anchored}"
    if column == ONE_SHOT:
        steps = value["inner steps an outer one"]
        return tick, f"{number(steps) if steps else 0} inner"
    if column == FREE:
        return tick, "forms a law" if value["forms one"] else "forms none"
    if column == SCALE:
        return tick, f"K = {value['largest K']:.0f}"
    return tick, f"{value['spread of r']:.1g}" if "spread of r" in value else "no start"


NOTES = (
    "printed | measured (the number behind it). # they disagree: reasons in table_1_reasons. Blank"
    " means no tick.",
    "One-shot: steps of inner loops an outer one, N = 1,000. Transition estimation-free: declared"
    " and by a run that would fail if a law were formed. Gradient-based: the solver, declared.",
    "Scalability: largest K of 0, 2, 5, 10, 20, 50, 100 dummies that one fit to 1,000 trajectories"
    " finishes within 8 GiB and 10 minutes of processor time; yes from K = 10 (21^10 states).",
    "Bellman equation: root mean squared error at N = 5,000 under the true law, of Q against its"
    " own r and, at the anchor's pairs, against the given reward; yes if both are below .05.",
    "Global optimality: range of r-hat over 20 random starts on one data set, N = 1,000, yes below"
    " .001. Statistical complexity: slope of log MAPE in log N, 50 to 5,000, 95 % interval.",
)


def verdict(folder: Path) -> str:
    """How many of the printed ticks the measurements of `table_1.csv` bear out."""
    frame = pd.read_csv(folder / f"{NAME}.csv", dtype={"row": str})
    ticks = frame[(frame["statistic"] == TICK) & frame["value"].notna()]
    pairs = [
        (_printed(str(r), str(c)), float(v))
        for r, c, v in zip(ticks["row"], ticks["column"], ticks["value"], strict=True)
    ]
    against = sum(_differ(printed, tick) for printed, tick in pairs)
    return f"{len(pairs)} ticks measured, {against} not as printed"


EXHIBIT = Exhibit(
    NAME,
    "Table 1, executable: the paper's ticks beside measurements",
    cells,
    compute,
    render,
    depends=(table_2_all.NAME,),
    verdict=verdict,
)
