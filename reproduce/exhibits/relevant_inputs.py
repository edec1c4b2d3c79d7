"""GLADIUS on rows where inputs matter: does it find them, and what does not knowing them cost?

Each world of `inputs_worlds` with 50 inputs, 1,000 trajectories, 80 % of them for training: the
error of the estimator beside that of the same fit told which inputs matter (its sparse oracle), and
how often it chose all that matter and any that does not. Last, mileage alone: the same estimator
beside the class `smooth`, on the same data sets.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reproduce import layout
from reproduce.compare import number
from reproduce.data import TRUTHS
from reproduce.fits import fitting as bus_fitting
from reproduce.inputs_worlds import VARIANTS
from reproduce.many_inputs import FALSE, RIGHT, fitting
from reproduce.results import Results
from reproduce.spec import Entry, Exhibit, Record

NAME = "relevant_inputs"
INPUTS, SMOKE_INPUTS = 50, 31
REPETITIONS, SMOKE_REPETITIONS = 12, 2
OURS, ORACLE = ("GLADIUS", "leak_free sparse"), ("GLADIUS", "fresh inputs given")
SMOOTH = ("GLADIUS", "leak_free smooth")
ALONE, THIRTY = "mileage alone", "thirty"
SPARSE_CLASS = {"function_class": "sparse"}


def entries(smoke: bool) -> list[Entry]:
    """The worlds, then mileage alone with each truth."""
    times = SMOKE_REPETITIONS if smoke else REPETITIONS
    inputs = SMOKE_INPUTS if smoke else INPUTS
    found = []
    for name in VARIANTS:
        given = ("gladius", name, inputs, times, smoke, SPARSE_CLASS)
        found.append(Entry(name, *OURS, fitting(*given)))
        if name != THIRTY:  # half an hour: 465 products of its inputs are tested
            found.append(Entry(name, *ORACLE, fitting(*given, given=True)))
    for truth in TRUTHS:
        told = {"repetitions": times, "seeds": NAME, "seeds_row": truth, "truth": truth}
        for which, options in ((OURS, SPARSE_CLASS), (SMOOTH, {})):
            cell = bus_fitting("gladius", 250 if smoke else 1000, smoke, options, **told)
            found.append(Entry(f"{ALONE}, {truth}", *which, cell))
    return found


def render(results: Results, out: Path) -> list[Path]:
    """One line a world."""
    lines = []
    for row in dict.fromkeys(entry.row for entry in results.entries):
        other = SMOOTH if row.startswith(ALONE) else ORACLE
        if row == THIRTY:
            other = OURS
        ours, beside = results.get(row, *OURS).result, results.get(row, *other).result
        if not (ours.records and beside.records):  # a cell failed: the CSV says why
            continue
        gap, se, _ = results.paired(row, OURS, other)
        records = {record.statistic: record for record in ours.records}
        told = VARIANTS[row].title if row in VARIANTS else f"{other[1].split()[-1]} beside it"
        shares = [f"{100 * records[s].value:.0f} %" if s in records else "" for s in (RIGHT, FALSE)]
        lines.append(
            (
                row,
                told,
                shown(ours.records[0]),
                shown(beside.records[0]),
                f"{gap:+.2f} ({se:.2f})",
                f"{ours.records[0].value / beside.records[0].value:.2f}",
                *shares,
                f"{ours.cpu_seconds:.1f}",
            )
        )
    names = ["world", "what matters", "MAPE", "oracle or smooth", "difference", "ratio"]
    names += ["all found", "a false one", "CPU-s"]
    table = pd.DataFrame(lines, columns=pd.Index(names)).set_index("world")
    return layout.write(table, out, NAME, EXHIBIT.title, NOTES)


def shown(record: Record) -> str:
    """Mean (standard error), marked where some did not converge."""
    return f"{number(record.value)} ({number(record.se)}){layout.MARKS.get(record.status, '')}"


NOTES = (
    "MAPE in per cent (standard error) over the pairs of the test split; differences are paired, on"
    " the same data sets. u = s / 10 is an input, uniform on -1 to 1. * some did not converge.",
    "oracle: the same fit told which inputs r and zeta depend on. all found: the share of data sets"
    " in which every input of r was chosen; a false one: in which one that does not matter was.",
    "thirty has no oracle: beside it stands the estimator itself. 12 data sets.",
    "Settings of the estimator were settled on other seeds and on the worlds linear, moves, slope,"
    " product, persistent, three, even and eight.",
)
EXHIBIT = Exhibit(
    NAME,
    "Inputs that matter among fifty",
    entries,
    cost=40.0,
    render=render,
    verdict=lambda folder: "see the table",
    tolerance=1e-4,
)
