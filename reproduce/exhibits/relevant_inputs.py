"""Profiled ERM on observations where inputs matter: whether it finds them, and at what cost.

Each world of `inputs_worlds` with 50 inputs and 1,000 trajectories: the estimator beside its sparse
oracle, the same fit that knows which inputs matter, and how often it chose all of these and any
other.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce.cells.inputs_designs import VARIANTS
from reproduce.cells.many_inputs import FALSE, FOUND, RIGHT, ZETA_FALSE, ZETA_RIGHT, fitting
from reproduce.drawing import layout
from reproduce.drawing.notes import notes
from reproduce.engine.nouns import Entry, Exhibit, Result
from reproduce.engine.view import View, mean_of
from reproduce.paper.targets import repetitions

NAME = "relevant_inputs"
INPUTS, SMOKE_INPUTS = 50, 31
# The ratio to the oracle has a standard deviation of at most .1, so it needs one data set: ten are
# for the shares. In one world the ratio has .32 and is .15 below NEAR_ORACLE.
REPETITIONS, SMOKE_REPETITIONS = 10, 2
MORE_REPETITIONS = {"continuous linear": repetitions(0.32, 0.15)}
SMOKE_WORLDS = ("linear", "continuous linear")
OURS, ORACLE = ("GLADIUS", "leak_free sparse"), ("GLADIUS", "fresh inputs given")
NEAR_ORACLE = 1.25  # largest ratio to the oracle's error that counts as near
NO_ORACLE = ("thirty",)  # a fit of thirty given inputs takes a processor minute, so all take 20
BLIND = 4.0  # per cent; an oracle with a larger error cannot estimate the effect itself
SPARSE_CLASS: dict[str, Any] = {"function_class": "sparse"}


def entries(smoke: bool) -> list[Entry]:
    """The worlds, each with its oracle."""
    inputs = SMOKE_INPUTS if smoke else INPUTS
    listed = []
    for name in SMOKE_WORLDS if smoke else VARIANTS:
        times = SMOKE_REPETITIONS if smoke else MORE_REPETITIONS.get(name, REPETITIONS)
        fit = ("profiled_erm", name, inputs, times, smoke, SPARSE_CLASS)
        listed.append(Entry(name, *OURS, fitting(*fit)))
        if name not in NO_ORACLE:
            listed.append(Entry(name, *ORACLE, fitting(*fit, given=True)))
    return listed


def render(results: View, out: Path) -> None:
    """One line a world, beside its oracle."""
    lines = [_line(results, row) for row in results.rows]
    names = ["world", "what matters", "data sets", "MAPE", "beside it", "difference", "ratio"]
    names += ["r: all", "found", "false", "zeta: all", "false in zeta", "CPU-s"]
    complete = [line for line in lines if line is not None]
    table = pd.DataFrame(complete, columns=pd.Index(names)).set_index("world")
    layout.write(table, out, NAME, EXHIBIT.title, notes(NAME))


def _line(results: View, row: str) -> tuple[str, ...] | None:
    """The line of a world; None where a cell failed, whose reason is in the CSV."""
    ours = results.get(row, *OURS).result
    if not ours.records:
        return None
    beside = ("", "", "")
    if row not in NO_ORACLE:
        reference = results.get(row, *ORACLE).result
        if not reference.records:
            return None
        difference, se, _ = results.paired(row, OURS, ORACLE)
        x, y = (np.array(result.replications["MAPE"]) for result in (ours, reference))
        ratio = x.mean() / y.mean()
        spread = mean_of(x - ratio * y)[1] / y.mean()  # of a ratio of means, to first order
        beside = (_text(reference), layout.estimate(difference, se), layout.estimate(ratio, spread))
    records = {record.statistic: record for record in ours.records}
    shares = [
        f"{100 * records[s].value:.0f} %" if s in records else ""
        for s in (RIGHT, FOUND, FALSE, ZETA_RIGHT, ZETA_FALSE)
    ]
    times = str(ours.records[0].repetitions)
    return row, VARIANTS[row].title, times, _text(ours), *beside, *shares, f"{ours.cpu_seconds:.1f}"


def _text(result: Result) -> str:
    return layout.text(pd.Series(asdict(result.records[0])))


def verdict(folder: Path) -> str:
    """In how many worlds the error is near the oracle's, and how often all inputs were found."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    errors = frame[frame["statistic"] == "MAPE"].set_index("row")
    ours, oracle = (
        errors[errors["protocol"] == protocol]["value"] for _, protocol in (OURS, ORACLE)
    )
    blind = oracle.index[oracle > BLIND]
    ratios = (ours / oracle).dropna().drop(blind, errors="ignore")
    near = int((ratios <= NEAR_ORACLE).sum())
    text = f"Error at most {NEAR_ORACLE} times an oracle's in {near} of {len(ratios)} designs"
    shares = frame[frame["row"].isin(list(VARIANTS)) & (frame["protocol"] == OURS[1])]
    has_inputs = shares["row"].map(lambda row: len(VARIANTS[row].reward) > 1)
    for statistic, is_counted, words in (
        (RIGHT, has_inputs, ". All inputs of r found in"),
        (FALSE, True, " samples, a false one in"),
    ):
        lines = shares[shares["statistic"].eq(statistic) & is_counted]
        times = round(float((lines["value"] * lines["repetitions"]).sum()))
        text += f"{words} {times} of {int(lines['repetitions'].sum())}"
    if len(blind):
        text += f"\nNot counted, since the oracle itself fails: {', '.join(blind)}"
    return text


EXHIBIT = Exhibit(
    NAME,
    "Inputs that matter among fifty",
    entries,
    render=render,
    verdict=verdict,
    tolerance=1e-4,
)
