"""Table 1, executable: every tick beside a measurement on the bus engine.

- One-shot: steps of inner loops (fixed points, value iterations, inner optimisations) for each
  outer step, as the method reports them. Ticked if there are none.
- Transition estimation-free: declared by the method (NEEDS), and by a run in which making a law of
  this library raises. Ticked if both say so. Whether it forms a table of n(s, a, s') is said
  beside: that is the rows without their order, but an average over it is one under the frequencies.
- Gradient-based: the paper's definition, gradient descent; a word about the solver, in SOLVERS.
- Scalability: the largest K of the bus engine with dummies that a fit to 1,000 trajectories
  finishes, converged or not, within 8 GiB and 10 minutes of processor time. Ticked from K = 10,
  21^10 states, on.
- Bellman equation: root of the expected squared Bellman error at N = 5,000 under the true law, of
  Q against the method's own r, and at the anchor's pairs against the given reward. Any Q solves the
  equation of the r that is read off through it, so the first alone says little; ticked if both are
  below .05, what a constant error of 1 util in Q gives. A method that is not told the anchor can
  fail the second only.
- Global optimality: spread of the objective and of r-hat over 20 random starts on one data set of
  1,000 trajectories. Ticked if every fit converged and the spread of r-hat is below 1e-3.
- Statistical complexity: slope of log MAPE in log N over Table 2's sizes, each data set its own
  regression. Ticked if its 95 % interval has -1/2 in it or lies below: 1/sqrt(N) or faster.

A line is a form of a method: as the library does it, as its authors did, or as the paper prints it.
Where this world cannot tell, a line says so (`silent`) and has no measurement: RP without dummies
has one cell and is NFXP. A tick is the paper's word; where the measurement disagrees, or agrees for
another reason than the paper's, _table_1_reasons.py says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from gladius import BusEngine, Transitions
from gladius.methods import needs
from gladius.transition_probabilities import TransitionProbabilities
from gladius.transitions import Counts
from reproduce import layout, published, seeds
from reproduce.comparison import number
from reproduce.exhibits import _bus, _limits, _traits, table_2_all
from reproduce.exhibits._table_1_columns import (
    BELLMAN,
    FREE,
    GLOBAL,
    GRADIENT,
    ONE_SHOT,
    RATE,
    SCALE,
)
from reproduce.exhibits._table_1_reasons import known, reason
from reproduce.results import Results
from reproduce.spec import FAILED, Array, Cell, Exhibit, Record, Result

NAME = "table_1"
COLUMNS = (ONE_SHOT, FREE, GRADIENT, SCALE, BELLMAN, GLOBAL, RATE)
TICK, MEASURED = "tick", "measured"
SCALABLE = 10  # dummies; the paper asks for 20^10 states
OK = "ok"
SMALL_ERROR = 0.05  # 1 % of the anchor's reward
SAME = 1e-3  # utils
START_SPREAD = 3.0  # standard deviation of a random theta
HALF = -0.5  # 1/sqrt(N)


@dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes:
        name: the method as the paper spells it; after a comma, which form of it.
        method: of gladius.METHODS.
        word: the variant of `table_2_all` that it is, "" for the method as it comes.
        starts: whence the random start: `rng` or `rngs` (its own generators), `theta` (an option
            `start` of shape (R, k)), `reward` (an option `start`, a function, one fit each), `seed`
            (an option, one fit each).
        wide: options that it scales with, beside the variant's.
        started: options of the fits from random starts, beside the variant's.
        silent: column -> why this world cannot tell.
    """

    name: str
    method: str
    word: str = ""
    starts: str = ""
    wide: Mapping[str, Any] = field(default_factory=dict)
    started: Mapping[str, Any] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)

    @property
    def printed(self) -> str:
        """Its row in the printed table."""
        return self.name.partition(",")[0]

    @property
    def options(self) -> dict[str, Any]:
        """Those of the variant."""
        return table_2_all.options_of(self.method, self.word)


CONCAVE = {GLOBAL: "concave logit"}
ONE_CELL = dict.fromkeys((BELLMAN, GLOBAL, RATE), "one cell: NFXP")
NETWORK = {"function_class": "mlp"}
LINES = (
    Line("NFXP", "nfxp", starts="theta"),
    Line("CCP", "ccp", silent=CONCAVE),
    Line("MPEC", "mpec", starts="theta"),
    Line("AVI", "avi", starts="rng"),
    Line("Semi-gradient", "semi_gradient", silent=CONCAVE),
    Line("Semi-gradient, linear basis", "semi_gradient", "linear", silent=CONCAVE),
    Line("RP", "rp", silent=ONE_CELL),
    Line("SAmQ", "samq", starts="rng"),
    Line("SAmQ, 5 cells", "samq", "5 cells", "rng"),
    Line("BC", "bc", starts="rng", wide={"training": {"batch": 1000}}),
    Line("IQ-Learn", "iq_learn", "network", "rng"),
    Line("Clare", "clare", starts="reward"),
    Line("ML-IRL", "ml_irl", starts="theta"),
    Line("Model-enhanced AIRL", "airl", starts="rng", started={"start_spread": 5.0}),
    Line("Ours", "gladius", starts="seed", wide=NETWORK, started=NETWORK),
    Line("Ours, Algorithm 1", "gladius", "Algorithm 1", "rngs", wide=NETWORK, started=NETWORK),
)
# line -> what it optimises with, and whether that is gradient descent
SOLVERS = {
    "NFXP": ("Newton", False),
    "CCP": ("linear system, Newton", False),
    "MPEC": ("Newton-Lagrange", False),
    "AVI": ("regressions, Newton", False),
    "Semi-gradient": ("linear system, Newton", False),
    "Semi-gradient, linear basis": ("linear system, Newton", False),
    "RP": ("greedy splits, Newton", False),
    "SAmQ": ("Adam, k-means, Newton", False),
    "SAmQ, 5 cells": ("Adam, k-means, Newton", False),
    "BC": ("Adam", True),
    "IQ-Learn": ("Adam", True),
    "Clare": ("fixed point", False),
    "ML-IRL": ("Newton", False),
    "Model-enhanced AIRL": ("fixed point", False),
    "Ours": ("Newton", False),
    "Ours, Algorithm 1": ("gradient descent", True),
}
BY_NAME = {line.name: line for line in LINES}
SIZES = {ONE_SHOT: (1000, 4), FREE: (50, 1), BELLMAN: (5000, 20), GLOBAL: (1000, 20)}
SMOKE_SIZE = (50, 2)
LADDER, SMOKE_LADDER = (0, 2, 5, 10, 20, 50, 100), (0, 2)
LIMITS, SMOKE_LIMITS = (600.0, 8.0), (60.0, 8.0)


def cells(smoke: bool) -> list[Cell]:
    """A cell for each measurement; the slopes come from `table_2_all`, the solver is declared."""
    found = []
    for line in LINES:
        shared: dict[str, object] = {"method": line.method, "options": line.options}
        for column in (ONE_SHOT, FREE, BELLMAN, GLOBAL):
            if column in line.silent:
                continue
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


def _train(world: BusEngine, cell: Cell) -> list[Transitions]:
    """The training splits of Table 2's data sets of that size: its rows are keys of the seeds."""
    train, _ = _bus.data_sets(world, replace(cell, row=str(cell.settings["trajectories"])))
    return train


def _one_shot(cell: Cell, world: BusEngine) -> list[Record]:
    steps = _traits.inner_steps(_bus.fit(world, cell, _train(world, cell)))
    return [_tick(float(np.max(steps) == 0)), _mean("inner steps an outer one", steps)]


def _free(cell: Cell, world: BusEngine) -> list[Record]:
    train = _train(world, cell)
    law, counts = (
        _traits.forms(kind, lambda: _bus.fit(world, cell, train))
        for kind in (TransitionProbabilities, Counts)
    )
    declared = "law" not in needs(str(cell.settings["method"]))
    return [
        _tick(float(declared and not law)),
        Record("declared to need a law", float(not declared)),
        Record("forms a law", float(law)),
        Record("forms counts", float(counts)),
    ]


def _bellman(cell: Cell, world: BusEngine) -> list[Record]:
    estimates = _bus.fit(world, cell, _train(world, cell))
    own, anchored = _traits.bellman_errors(world, estimates)
    means = [_mean("Bellman error", own), _mean("anchor's Bellman error", anchored)]
    return [_tick(float(max(one.value for one in means) < SMALL_ERROR)), *means]


def _global(cell: Cell, world: BusEngine) -> list[Record]:
    """One data set as often as there are starts."""
    line = BY_NAME[cell.row]
    train = _train(world, cell)[:1]
    rngs = seeds.generators(cell, "starts")
    if line.starts == "seed":
        each = [dict(line.started, seed=i) for i in range(len(rngs))]
        fitted = [_bus.fit(world, cell, train, **one)[0] for one in each]
    elif line.starts == "reward":  # its own random numbers are the same from every start
        tables = [g.normal(0.0, START_SPREAD, (len(world.mdp.features), 2)) for g in rngs]
        fitted = [_bus.fit(world, cell, train, start=_at(t), rng=0)[0] for t in tables]
    elif line.starts == "theta":
        theta = np.stack([g.normal(0.0, START_SPREAD, 2) for g in rngs])
        fitted = _bus.fit(world, cell, train * len(rngs), start=theta, **line.started)
    else:
        given = {line.starts: rngs, **line.started}
        fitted = _bus.fit(world, cell, train * len(rngs), **given)
    objective, reward = _traits.spread(world, fitted)
    ok = float(np.mean([e.diagnostics.converged for e in fitted]))
    return [
        _tick(float(ok == 1.0 and reward < SAME)),
        Record("spread of the objective", objective, repetitions=len(fitted)),
        Record("spread of r", reward, repetitions=len(fitted)),
        Record("converged", ok, repetitions=len(fitted)),
    ]


def _at(table: Array) -> Callable[[Array], Array]:
    """Its rows by mileage."""
    return lambda states: np.asarray(table[states[:, 0].astype(int) - 1])


def _scale(cell: Cell, world: BusEngine) -> list[Record]:
    most, ends = _limits.largest(
        wide_fit, cell.settings["ladder"], cell.spec(), tuple(cell.settings["limits"])
    )
    found = [_tick(float(most >= SCALABLE)), Record("largest K", float(most))]
    for rung, (end, seconds) in sorted(ends.items()):
        status = f"{FAILED}{end}" if end in (_limits.MEMORY, _limits.TIME) else end
        found.append(Record(f"CPU seconds at K = {rung}", seconds, status=status))
    return found


def wide_fit(dummies: int, spec: Mapping[str, Any]) -> str:
    """Fit one data set of the bus engine with dummies; in a process with limits. Its status."""
    names = ("exhibit", "row", "column", "protocol", "settings")
    cell = Cell(**{name: spec[name] for name in names})
    world = BusEngine(dummies=dummies)
    (found,) = _bus.fit(world, cell, _train(world, cell))
    return found.diagnostics.status


def _tick(value: float) -> Record:
    return Record(TICK, value)


def _mean(name: str, x: Array) -> Record:
    se = float(np.std(x, ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.nan
    return Record(name, float(np.mean(x)), se, len(x))


def slope(results: Results, line: Line) -> tuple[float, float, int]:
    """(mean, half width of its 95 % interval, regressions) of the slope of log MAPE in log N."""
    errors, sizes = [], []
    for cell, stored in zip(results.cells, results.stored, strict=True):
        its = (cell.column, cell.protocol) == table_2_all.column_of(line.method, line.word)
        if cell.exhibit != table_2_all.NAME or not its or stored is None:
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
    body, words = {}, {}
    for line in LINES:
        found = {
            column: (_printed(line.printed, column), *_ours(results, frame, line, column))
            for column in COLUMNS
        }
        body[line.name] = [_entry(*found[column]) for column in COLUMNS]
        for column, (printed, tick, text) in found.items():
            why = reason(line.name, column, SIGNS.get(tick, "?"))
            if _differ(printed, tick) or known(line.name, column, SIGNS.get(tick, "?")):
                measured = f"{SIGNS.get(tick, '?')}, {text}"
                words[f"{line.name}: {column}"] = [printed, measured, why]
    table = pd.DataFrame(body, index=list(COLUMNS)).T
    table.index.name = "method"
    remarks = pd.DataFrame(words, index=["printed", "measured", "what is behind it"]).T
    remarks.index.name = "tick"
    heading = "Table 1: ticks that the measurements do not bear out, and some that they do"
    return [
        *layout.write(table, out, NAME, EXHIBIT.title, NOTES),
        *(layout.write(remarks, out, f"{NAME}_reasons", heading, ()) if words else ()),
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
    if column in line.silent:
        return math.nan, line.silent[column]
    if column == GRADIENT:
        solver, descends = SOLVERS[line.name]
        return float(descends), solver
    if column == RATE:
        mean, half, n = slope(results, line)
        if not n:
            return math.nan, "not run"
        faster = ", faster" if mean + half < HALF else ""
        return float(mean - half <= HALF), f"{mean:.2f} +- {half:.2f}{faster}"
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
        if value["forms a law"]:
            return tick, "a law"
        return tick, "counts" if value["forms counts"] else "neither"
    if column == SCALE:
        most = value["largest K"]
        status = dict(zip(mine["statistic"], mine["status"], strict=True))
        said = status.get(f"CPU seconds at K = {most:.0f}", OK)
        return tick, f"K = {most:.0f}" + ("" if said == OK else f", {said.replace('_', ' ')}")
    ended = "" if value["converged"] == 1 else f", {value['converged']:.0%} converged"
    return tick, f"{value['spread of r']:.1g}{ended}"


NOTES = (
    "printed | measured (the number behind it). # they disagree. Blank means no tick; ? that this"
    " world cannot tell. What is behind a tick: table_1_reasons.",
    "One-shot: steps of inner loops an outer one, as the method reports them; 4 data sets,"
    " N = 1,000. Gradient-based: gradient descent or not, declared.",
    "Transition estimation-free: declared, and by a run (one data set, N = 50) in which this"
    " library's laws cannot be made; counts: forms n(s, a, s'), over which an average is one under"
    " the frequencies.",
    "Scalability: largest K of 0, 2, 5, 10, 20, 50, 100 dummies that one fit to 1,000 trajectories"
    " finishes, converged or not, within 8 GiB and 10 minutes of processor time; yes from K = 10"
    " (21^10 states).",
    "Where a table of n(s, a, s') is too large (K = 5 on), our tabular forms refuse. RP, SAmQ, AVI"
    " and the semi-gradient are told that only mileage enters r; BC takes batches of 1,000.",
    "Bellman equation: root mean squared error over 20 data sets, N = 5,000, under the true law, of"
    " Q against its own r and, at the anchor's pairs, against the given reward; yes if both are"
    " below .05, what a constant error of 1 util in Q gives.",
    "Who is not told the anchor (BC, IQ-Learn, Clare, AIRL) fails there alone: each solves the"
    " equation of its own r. For Ours, and SAmQ with a cell a state, the anchor's half holds by"
    " construction.",
    "Global optimality: range of r-hat over 20 starts on one data set, N = 1,000 (theta and rewards"
    " normal, sd 3; AIRL's potentials 5; networks their weights); yes if all converged and it is"
    " below .001. One world, and r linear: no theorem.",
    "Statistical complexity: slope of log MAPE in log N, 50 to 5,000, 20 data sets; yes if its 95 %"
    " interval has -1/2 in it or lies below (faster). The paper's rate is that of theta-hat.",
    "Ours: the class smooth; the 2 x 10 network in Scalability and Global. Algorithm 1: 10,000"
    " steps of .01 on all data. The semi-gradient has a function a state, SAmQ a cell a state (then"
    " it is NFXP with theta_1 given); also with the linear basis and 5 cells of their authors' code"
    " and simulations.",
)


def verdict(folder: Path) -> str:
    """How many of the printed ticks the runs of `table_1.csv` bear out: not solvers, nor rates."""
    frame = pd.read_csv(folder / f"{NAME}.csv", dtype={"row": str})
    ticks = frame[(frame["statistic"] == TICK) & frame["value"].notna()]
    pairs = [
        (_printed(BY_NAME[str(r)].printed, str(c)), float(v))
        for r, c, v in zip(ticks["row"], ticks["column"], ticks["value"], strict=True)
    ]
    against = sum(_differ(printed, tick) for printed, tick in pairs)
    return f"{len(pairs)} ticks measured by runs of their own, {against} not as printed"


EXHIBIT = Exhibit(
    NAME,
    "Table 1, executable: the paper's ticks beside measurements",
    cells,
    compute,
    render,
    depends=(table_2_all.NAME,),
    verdict=verdict,
)
