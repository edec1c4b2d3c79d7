"""Counterfactuals on the bus engine: every reward carried through, with and without a model of P.

The paper's remark: a change of the reward is solved by offline reinforcement learning on relabelled
data without P, a change of P with a model. Every estimate from Table 2's data sets (training split)
goes through each solver, and the policy is judged in the true new world. Offline learners see the
logged moves with r-hat + Delta; planners the mileages 1 to 20 and P or P-hat. No logged move
follows a new law, so only planners answer a change of P. `kept` does not answer: it is the
estimate's own policy, and all that BC has. BC's rewards are log pi (the level V = 0 of Table 2).
The population is infinitely many data, where every anchored estimate is the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from gladius import BusEngine
from gladius.counterfactual import changed, welfare
from gladius.worlds.bus import REPLACE
from reproduce import layout
from reproduce.exhibits import _bus
from reproduce.exhibits import _counterfactual_figure as figure
from reproduce.exhibits import _counterfactual_tables as tables
from reproduce.exhibits._counterfactual import (
    CHANGES,
    ESTIMATED,
    IN_DATA,
    KEPT,
    LOSS,
    POPULATION,
    UNCOVERED,
    answers,
    given,
    label,
    numbers,
    population,
    uncovered,
)
from reproduce.results import Results
from reproduce.spec import Array, Cell, Exhibit, Record, Result, summarise

NAME = "counterfactual"
TRAJECTORIES, SMOKE_TRAJECTORIES = (50, 1000), (50,)
REPETITIONS, SMOKE_REPETITIONS = 20, 3
# Where rewards come from: (column, protocol, settings). A method joins by a line here; its column
# names its lines in the tables, so no two are the same.
SOURCES: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("Truth", "measured", {}),
    ("Rust", "fresh", {"method": "nfxp", "oracle": True}),
    ("Plug-in", "leak_free tabular", {"method": "plug_in"}),
    ("GLADIUS", "leak_free smooth", {"method": "gladius"}),
    ("BC", "leak_free zero_value", {"method": "bc", "options": {"normalisation": "zero_value"}}),
    ("CCP", "leak_free", {"method": "ccp"}),
    ("MPEC", "leak_free", {"method": "mpec"}),
    ("AVI", "leak_free", {"method": "avi"}),
    ("Semi-gradient", "leak_free", {"method": "semi_gradient"}),
    ("RP", "leak_free", {"method": "rp"}),
    ("PQR", "leak_free", {"method": "pqr"}),
    ("SAmQ", "leak_free", {"method": "samq"}),
    ("IQ-learn", "leak_free", {"method": "iq_learn"}),
    ("Clare", "leak_free", {"method": "clare"}),
    ("ML-IRL", "leak_free", {"method": "ml_irl"}),
    ("AIRL", "leak_free", {"method": "airl"}),
)
IN_POPULATION = ("Truth", "BC")


def cells(smoke: bool) -> list[Cell]:
    """The population, then every source at each N."""
    found = [Cell(NAME, POPULATION, column, "measured", statistic=LOSS) for column in IN_POPULATION]
    for n in SMOKE_TRAJECTORIES if smoke else TRAJECTORIES:
        shared: dict[str, object] = {
            "trajectories": n,
            "repetitions": SMOKE_REPETITIONS if smoke else REPETITIONS,
            "seeds": "table_2",
        }
        for column, protocol, settings in SOURCES:
            found.append(Cell(NAME, str(n), column, protocol, {**settings, **shared}, "", LOSS))
    return found


def compute(cell: Cell, device: str) -> Result:
    """Fit the cell's replications, answer every change by every solver and judge; on the CPU."""
    world = BusEngine()
    records: list[Record] = []
    replications: dict[str, list[float]] = {}
    seconds = math.nan
    if cell.row == POPULATION:
        at = population(world, cell.column)
    else:
        train, test = _bus.data_sets(world, cell)
        estimates = []
        if "method" in cell.settings:
            estimates = _bus.fit(world, cell, train)
            scored = _bus.score(world, estimates, test)
            records += scored.records
            replications |= {k: list(v) for k, v in scored.replications.items()}
            seconds = scored.cpu_seconds
        at = given(world, train, estimates)
    arrays: dict[str, Array] = {}
    for answer in answers(world.mdp, at):
        change, solver = answer.change.name, answer.solver
        for statistic, values in numbers(world, answer).items():
            replications[label(statistic, change, solver)] = values
            records.append(_record(cell, statistic, change, solver, values, answer.statuses))
        arrays[label("replacement", change, solver)] = answer.policies[:, :, REPLACE].mean(axis=0)
    if cell.column == "Truth":  # the same for every method of the row
        for one in CHANGES:
            shares = uncovered(world, one, at.logged)
            replications[label(UNCOVERED, one.name, KEPT)] = shares
            ok = ["ok"] * len(shares)
            records.append(_record(cell, UNCOVERED, one.name, KEPT, shares, ok))
    return Result(tuple(records), replications, arrays, seconds)


def _record(
    cell: Cell,
    statistic: str,
    change: str,
    solver: str,
    values: list[float],
    statuses: Sequence[str],
) -> Record:
    """The mean over all replications, none dropped, under the change's row."""
    one = summarise(statistic, values, statuses)[0]
    protocol, row = f"{cell.protocol}, {solver}", f"{cell.row}, {change}"
    return Record(statistic, one.value, one.se, one.repetitions, one.status, protocol, row)


def render(results: Results, out: Path) -> list[Path]:
    """Three tables (losses, all outcomes, paired differences) and a figure."""
    said, title = tables.notes(results), EXHIBIT.title
    gaps = tables.paired(results)
    path = out / f"{NAME}_paired.csv"
    gaps.to_csv(path, index=False, float_format="%.10g")
    remark = (
        f"The remark's solver: {tables.MAIN[0]} for a change of r, {tables.MAIN[1]} for one of P;"
        f" {tables.MAIN[0]} was preferred to soft Q after both had been seen."
    )
    reward, law = (f"{title}, a change of {what}" for what in ("r", "P"))
    parts = [
        (tables.losses(results, False), NAME, f"{reward}: welfare loss by solver", said),
        (tables.losses(results, True), f"{NAME}_law", f"{law}: welfare loss by solver", said),
        (
            tables.outcomes(results, False),
            f"{NAME}_outcomes",
            f"{reward}: outcomes",
            [remark, *said],
        ),
        (
            tables.outcomes(results, True),
            f"{NAME}_law_outcomes",
            f"{law}: outcomes",
            [remark, *said],
        ),
        (
            tables.differences(gaps),
            f"{NAME}_paired",
            f"{title}: paired differences of the welfare loss",
            [f"First less second, mean (se) over equal data sets. {remark}", *said],
        ),
    ]
    files = [path]
    for table, name, heading, lines in parts:
        if not table.empty:
            files += layout.write(table, out, name, heading, lines)
    drawable = {k: s for k, (_, s) in tables.found(results).items() if s is not None}
    return [*files, *figure.draw(drawable, out, f"{NAME}_policies")]


def verdict(folder: Path) -> str:
    """What share of the gain from answering each solver gets, from GLADIUS's rewards at most N."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    frame = frame[(frame["statistic"] == LOSS) & (frame["column"] == "GLADIUS")]
    size = max(int(row.split(",")[0]) for row in frame["row"] if "," in row)
    world = BusEngine()
    parts = []
    for change in CHANGES:
        new = changed(world.mdp, change)
        kept = new.solution.v[0] - welfare(new, world.mdp.solution.policy)
        here = frame[frame["row"] == f"{size}, {change.name}"].set_index("protocol")["value"]
        shares = [
            f"{100 * (1 - value / kept):.1f} % {solver}"
            for solver in (IN_DATA, "CQL 1", ESTIMATED)
            for name, value in here.items()
            if str(name).endswith(f", {solver}")
        ]
        parts.append(f"{change.name}: {', '.join(shares)}")
    return f"share of the gain won by GLADIUS at N = {size:,}: {'; '.join(parts)}"


EXHIBIT = Exhibit(
    NAME,
    "Counterfactuals on the bus engine",
    cells,
    compute,
    render,
    verdict=verdict,
)
