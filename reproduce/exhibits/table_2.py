"""Table 2: MAPE of the estimated reward on the bus engine without dummies, by sample size.

Every repetition simulates N trajectories, fits on the first 80 % of them and scores the reward on
the state-action pairs of the others; all columns of a row have the same data sets. Some lines are
on the data of the public code: one training by its procedure at two epochs (`public_trainings`;
`table_2_author` has more), and its IQ-learn and BC (`public_baselines`). Two tables: the columns of
the paper beside ours, and a short one.

Implementation choices:

- Rust and ML-IRL know the transition probabilities and the linear form, as the paper describes.
- The author's code starts both output levels at -55, near the true Q*. It takes the absolute value
  of the printed signed Bellman term, and the epoch with the smallest true test error. Each is a
  switch of `fits_author`; one cell is one training of all repetitions and has two epochs.
- `converged` is a method's own flag, about a gradient or a fixed point.
"""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from reproduce.cells import fits, public_baselines, public_trainings
from reproduce.cells.bus_exact import BOUND, MEASURED, bound_entry, bound_protocol
from reproduce.cells.fits_author import EPOCHS_SHOWN, epoch_records, training
from reproduce.drawing import layout
from reproduce.drawing.layout import PAPER, Column
from reproduce.drawing.notes import notes
from reproduce.engine.nouns import Cell, Entry, Exhibit, Record, Result
from reproduce.engine.view import View
from reproduce.paper import published
from reproduce.paper.judge import number

NAME = "table_2"
KNOWN_P, RESAMPLED = {"oracle": True}, {"oracle": True, "bootstrap": True}
DEPENDENCE = {"inner": "finite_dependence"}
NETWORK, NETWORK_REPETITIONS = (published.OURS, "leak_free mlp"), 5
# (column, protocol) -> the N at which it is run, where not at all
SOME_SIZES = {
    NETWORK: (50, 250, 500, 1000),
    ("BC", "leak_free zero_value"): (1000,),
    ("BC", "leak_free mean_zero"): (1000,),
}
SMOKE_STEPS = 100  # of the network
# (column, protocol) -> method, options, other settings of the cell; other exhibits use some
FITS: dict[tuple[str, str], tuple[str, dict[str, Any], dict[str, Any]]] = {
    ("Rust", "fresh"): ("nfxp", {}, KNOWN_P),
    ("Rust", "bootstrap"): ("nfxp", {}, RESAMPLED),
    ("Rust (theta_1 given)", "fresh"): ("nfxp", {}, KNOWN_P | {"theta_1_given": True}),
    # choice frequencies and finite dependence: how the paper describes its ML-IRL column
    ("ML-IRL", "fresh"): ("ml_irl", DEPENDENCE, KNOWN_P),
    ("ML-IRL", "bootstrap"): ("ml_irl", DEPENDENCE, RESAMPLED),
    ("Plug-in", "leak_free tabular"): ("plug_in", {}, {}),
    (published.OURS, "leak_free smooth"): ("profiled_erm", {}, {}),
    NETWORK: ("profiled_erm", {"function_class": "mlp"}, {"repetitions": NETWORK_REPETITIONS}),
    ("GLADIUS", "printed"): ("gladius", {"protocol": "printed"}, {}),
    ("SAmQ", "leak_free"): ("samq", {}, {}),
    ("SAmQ", "leak_free ward 5"): ("samq", {"clustering": "ward", "cells": 5}, {}),
    ("IQ-learn", "leak_free"): ("iq_learn", {"function_class": "network"}, {}),
    ("BC", "leak_free network"): ("bc", {}, {}),
    ("BC", "leak_free zero_value"): ("bc", {"normalisation": "zero_value"}, {}),
    ("BC", "leak_free mean_zero"): ("bc", {"normalisation": "mean_zero"}, {}),
}
# protocol of the author's code -> level from the truth, absolute value
AUTHOR = {
    "author": (True, True),
    "author signed": (True, False),
    "author level-0": (False, True),
    "author level-0 signed": (False, False),
}
PUBLIC = ("GLADIUS", published.PUBLIC)
# epoch of a training on the public data -> its line
ENDS = {"best": "public data, best epoch", "last": "public data, last epoch"}
SWITCHED = (50, 1000)  # N at which the author's uses of the truth are switched off in turn


def cell(column: str, protocol: str, trajectories: int, smoke: bool) -> Cell:
    """The fit behind one of FITS."""
    method, options, settings = FITS[column, protocol]
    if smoke and (column, protocol) == NETWORK:
        settings, options = {}, options | {"steps": SMOKE_STEPS}
    return fits.fitting(method, trajectories, smoke, options, **settings)


def entries(smoke: bool) -> list[Entry]:
    """FITS row by row, the author's code, the bounds."""
    sizes = fits.SMOKE_TRAJECTORIES if smoke else fits.TRAJECTORIES
    listed = [
        Entry(str(n), column, protocol, cell(column, protocol, n, smoke))
        for n, (column, protocol) in product(sizes, FITS)
        if n in SOME_SIZES.get((column, protocol), sizes)
    ]
    for n, (protocol, (level, absolute)) in product(sizes, AUTHOR.items()):
        if (level and absolute) or n in SWITCHED:
            fit = training(n, smoke, level_from_truth=level, absolute=absolute)
            listed += [Entry(str(n), "GLADIUS", f"{protocol} {e}", fit) for e in EPOCHS_SHOWN]
    listed += [Entry(str(n), *PUBLIC, public_trainings.training(n, smoke)) for n in sizes]
    for n, (column, name) in product(sizes, public_baselines.COLUMNS.items()):
        trained = public_baselines.training(name, n, smoke)
        listed.append(Entry(str(n), column, published.PUBLIC, trained))
    return listed + [bound_entry(str(n), n) for n in sizes]


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The score and what the fit took; of the author's code the epoch that the protocol names."""
    if (entry.column, entry.protocol) == PUBLIC:
        status = public_trainings.NOT_CONVERGED
        scores = {end: result.replications[f"MAPE {end}"][0] for end in ENDS}
        return [
            Record("MAPE", x, status=status, protocol=f"{entry.protocol} {end}")
            for end, x in scores.items()
        ]
    if entry.protocol == published.PUBLIC:
        return [*public_baselines.scores(entry.protocol, result)]
    epoch = entry.protocol.split()[-1]
    if f"MAPE {epoch}" in result.replications:
        return epoch_records(result, epoch)
    runs = fits.means(result, fits.RUNS) if set(fits.RUNS) <= set(result.replications) else ()
    return (*result.records, *runs)


def bound_value(results: View, row: str, numeral: str) -> float:
    """A bound of `exact.BOUNDS` in a row, per cent; NaN if its class lacks the true reward."""
    records = results.get(row, BOUND, MEASURED).result.records
    return next((r.value for r in records if r.protocol == bound_protocol(numeral)), math.nan)


AUTHORS = "author's code, our data, best epoch"
PUBLIC_COLUMNS = [
    Column("GLADIUS", f"{published.PUBLIC} {end}", label) for end, label in ENDS.items()
]
OURS = {"Rust": "ours", "ML-IRL": "ours, finite dependence"}


def public_columns(column: str) -> list[Column]:
    """The paper's column of IQ-learn or BC, and the public code's."""
    ends = public_baselines.ENDS.items()
    lines = [Column(column, f"{published.PUBLIC} {end}", text) for end, (_, text) in ends]
    return [Column(column, PAPER), *lines]


LAYOUT = (
    Column("Rust", PAPER),
    Column("Rust", "fresh", "ours"),
    Column("Rust", "bootstrap", "ours, bootstrap"),
    Column("ML-IRL", PAPER),
    Column("ML-IRL", "fresh", "ours, finite dependence"),
    Column("ML-IRL", "bootstrap", "ours, bootstrap"),
    Column("GLADIUS", PAPER),
    *PUBLIC_COLUMNS,
    Column("GLADIUS", "author oracle", AUTHORS),
    Column("GLADIUS", "author last", "author's code, our data, last epoch"),
    Column("GLADIUS", "printed", "Algorithm 1 as printed"),
    Column(published.OURS, "leak_free smooth", "ours"),
    Column(*NETWORK, "ours, network"),
    Column("SAmQ", PAPER),
    Column("SAmQ", "leak_free", "ours, 100 cells"),
    Column("SAmQ", "leak_free ward 5", "ours, 5 Ward cells"),
    *public_columns("IQ-learn"),
    Column("IQ-learn", "leak_free", "ours, network"),
    *public_columns("BC"),
    Column("BC", "leak_free network", "level of the weights"),
    Column("Rust (theta_1 given)", "fresh", "ours"),
    Column("Plug-in", "leak_free tabular", "ours"),
)
# the lines of a table for a paper, and the bound below them
SHORT = [(name, header) for name in ("Rust", "ML-IRL") for header in (PAPER, OURS[name])]
SHORT += [("GLADIUS", name) for name in (PAPER, *ENDS.values(), AUTHORS)]
SHORT += [(published.OURS, "ours")]


def render(results: View, out: Path) -> None:
    """Both tables."""
    table = layout.side_by_side(results, LAYOUT, NAME, "trajectories").T
    below = notes(NAME, repetitions=NETWORK_REPETITIONS, largest=max(SOME_SIZES[NETWORK]))
    layout.write(table, out, NAME, EXHIBIT.title, below)
    short = table.loc[SHORT]
    values = [bound_value(results, row, "iv") for row in results.rows]
    short.loc[("Bound", "r linear, P unknown"), :] = list(map(number, values))
    layout.write(short, out, f"{NAME}_paper", f"{EXHIBIT.title}, in short", notes(f"{NAME}_paper"))


def reason(row: str, column: str, protocol: str) -> str:
    """What the number rests on: uses of the truth, what is known, no level identified."""
    if protocol.startswith(published.PUBLIC):
        is_open = "; no level is identified" if column in public_baselines.COLUMNS else ""
        return f"one training on the public code's data, which is no test{is_open}"
    if protocol.startswith("author"):
        uses = [] if "level-0" in protocol else ["level started at the truth"]
        if protocol.endswith("oracle"):
            uses.append("epoch chosen by the true test error")
        return f"uses the truth: {', '.join(uses)}" if uses else "uses no truth"
    if protocol.startswith("printed"):
        return "Algorithm 1, 10,000 steps of .01 for both blocks: see the exhibit `stability`"
    if column == "ML-IRL":
        return "two parameters, P known"
    if protocol == "bootstrap":
        return "two parameters, P known; resamples of one data set"
    return REASONS.get(column, "")


REASONS = {
    "Rust": "two parameters, P known",
    published.OURS: "uses no truth",
    "BC": "no level is identified; the number is that of the level chosen",
    "IQ-learn": "no level is identified; the objective picks one, and hardly varies over data sets",
    "SAmQ": "knows the linear form and the anchor; the paper's cells are not known",
}

EXHIBIT = Exhibit(
    NAME,
    "Table 2: MAPE of the reward, bus engine without dummies",
    entries,
    render=render,
    view=view,
    published=NAME,
    reason=reason,
    averaged=published.AVERAGED[NAME],
    tolerance=5e-4,
)
