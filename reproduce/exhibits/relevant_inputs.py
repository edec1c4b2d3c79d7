"""GLADIUS on rows where inputs matter: does it find them, and what does not knowing them cost?

Each world of `inputs_worlds` with 50 inputs, 1,000 trajectories, 80 % of them for training: the
error of the estimator beside that of the same fit told which inputs matter (its sparse oracle), and
how often it chose all that matter and any that does not. Last, mileage alone: the same estimator
beside the class `smooth`, on the same data sets.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd

from reproduce import layout
from reproduce.data import TRUTHS
from reproduce.fits import fitting as bus_fitting
from reproduce.inputs_worlds import VARIANTS
from reproduce.many_inputs import FALSE, RIGHT, fitting
from reproduce.results import Results
from reproduce.spec import Entry, Exhibit, Result

NAME = "relevant_inputs"
INPUTS, SMOKE_INPUTS = 50, 31
REPETITIONS, SMOKE_REPETITIONS = 12, 2
OURS, ORACLE = ("GLADIUS", "leak_free sparse"), ("GLADIUS", "fresh inputs given")
SMOOTH = ("GLADIUS", "leak_free smooth")
ALONE, THIRTY = "mileage alone", "thirty"
NEAR_ORACLE = 1.25  # times the oracle's error, the target
SPARSE_CLASS = {"function_class": "sparse"}


def entries(smoke: bool) -> list[Entry]:
    """The worlds, then mileage alone with each truth."""
    times = SMOKE_REPETITIONS if smoke else REPETITIONS
    inputs = SMOKE_INPUTS if smoke else INPUTS
    found = []
    for name in VARIANTS:
        given = ("gladius", name, inputs, times, smoke, SPARSE_CLASS)
        found.append(Entry(name, *OURS, fitting(*given)))
        if name != THIRTY:  # every product of its inputs would be tested
            found.append(Entry(name, *ORACLE, fitting(*given, given=True)))
    for truth in TRUTHS:
        told = {"repetitions": times, "seeds": NAME, "seeds_row": truth, "truth": truth}
        for which, options in ((OURS, SPARSE_CLASS), (SMOOTH, {})):
            cell = bus_fitting("gladius", 250 if smoke else 1000, smoke, options, **told)
            found.append(Entry(f"{ALONE}, {truth}", *which, cell))
    return found


def render(results: Results, out: Path) -> list[Path]:
    """One line a world; what has no oracle is compared with nothing."""
    known, lines = {entry.id for entry in results.entries}, []
    for row in dict.fromkeys(entry.row for entry in results.entries):
        other = SMOOTH if row.startswith(ALONE) else ORACLE
        ours = results.get(row, *OURS).result
        beside = results.get(row, *other).result if "/".join((row, *other)) in known else None
        if not ours.records or (beside and not beside.records):  # a cell failed: the CSV says why
            continue
        compared = [""] * 3
        if beside:
            gap, se, _ = results.paired(row, OURS, other)
            ratio = ours.records[0].value / beside.records[0].value
            compared = [_text(beside), f"{gap:+.2f} ({se:.2f})", f"{ratio:.2f}"]
        records = {record.statistic: record for record in ours.records}
        told = VARIANTS[row].title if row in VARIANTS else "smooth beside it"
        shares = [f"{100 * records[s].value:.0f} %" if s in records else "" for s in (RIGHT, FALSE)]
        lines.append((row, told, _text(ours), *compared, *shares, f"{ours.cpu_seconds:.1f}"))
    names = ["world", "what matters", "MAPE", "oracle or smooth", "difference", "ratio"]
    names += ["all found", "a false one", "CPU-s"]
    table = pd.DataFrame(lines, columns=pd.Index(names)).set_index("world")
    sets = results.entries[0].cell.repetitions
    notes = (
        *NOTES,
        f"{sets} data sets a world. {THIRTY} has no oracle: too many products to test.",
    )
    return layout.write(table, out, NAME, EXHIBIT.title, notes)


def _text(result: Result) -> str:
    return layout.text(pd.Series(asdict(result.records[0])))


def verdict(folder: Path) -> str:
    """In how many worlds the error is near that of the oracle, and all inputs were always found."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    errors = frame[frame["statistic"] == "MAPE"]
    ours, oracle = (
        errors[errors["protocol"] == protocol].set_index("row")["value"]
        for _, protocol in (OURS, ORACLE)
    )
    ratios = (ours / oracle).dropna()
    shares = frame[frame["statistic"] == RIGHT]["value"]
    near = int((ratios <= NEAR_ORACLE).sum())
    always = int((shares == 1).sum())
    return (
        f"within {NEAR_ORACLE} of the oracle in {near} of {len(ratios)} worlds;"
        f" all inputs found in every data set in {always} of {len(shares)}"
    )


NOTES = (
    "MAPE in per cent (standard error) over the pairs of the test split; differences are paired, on"
    " the same data sets. u = s / 10 is an input, uniform on -1 to 1. * some did not converge.",
    "oracle: the same fit told which inputs r and zeta depend on. all found: the share of data sets"
    " in which every input of r was chosen; a false one: in which one that does not matter was.",
    "Settings of the estimator were settled on other seeds and on the worlds linear, moves, slope,"
    " product, persistent, three, even and eight.",
)
EXHIBIT = Exhibit(
    NAME,
    "Inputs that matter among fifty",
    entries,
    cost=40.0,
    render=render,
    verdict=verdict,
    tolerance=1e-4,
)
