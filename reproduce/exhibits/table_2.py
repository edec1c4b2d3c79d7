"""Table 2: MAPE of the estimated reward on the bus engine without dummies, by sample size.

Every repetition simulates N trajectories, fits on the first 80 % of them and scores the reward on
the state-action pairs of the others; all columns of a row have the same data sets. Three tables:
the paper's columns beside ours, every method of the paper's Table 1, and the first author's code by
its uses of the true reward, which a figure draws beside the bounds of `gladius.designs.efficiency`.

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

import numpy as np
import pandas as pd

from gladius.register import METHODS, needs, title
from reproduce.cells import fits
from reproduce.cells.bus_exact import BOUND, MEASURED, bound_entry, bound_protocol
from reproduce.cells.fits_author import EPOCHS_SHOWN, epoch_records, training
from reproduce.drawing import layout
from reproduce.drawing.layout import PAPER, Column
from reproduce.drawing.notes import notes
from reproduce.engine.nouns import Cell, Entry, Exhibit, Record, Result
from reproduce.engine.view import Results
from reproduce.paper import published
from reproduce.paper.judge import CRITICAL, number

NAME = "table_2"
KNOWN_P, RESAMPLED = {"oracle": True}, {"oracle": True, "bootstrap": True}
DEPENDENCE = {"inner": "finite_dependence"}
NETWORK, NETWORK_LARGEST, NETWORK_REPETITIONS = ("GLADIUS", "leak_free mlp"), 1000, 5
SMOKE_STEPS = 100  # of the network
# (column, protocol) -> method, options, other settings of the cell; other exhibits use some
FITS: dict[tuple[str, str], tuple[str, dict[str, Any], dict[str, Any]]] = {
    ("Rust", "fresh"): ("nfxp", {}, KNOWN_P),
    ("Rust", "bootstrap"): ("nfxp", {}, RESAMPLED),
    ("Rust (theta_1 given)", "fresh"): ("nfxp", {}, KNOWN_P | {"theta_1_given": True}),
    # choice frequencies and finite dependence: how the paper describes its ML-IRL column
    ("ML-IRL", "fresh"): ("ml_irl", DEPENDENCE, KNOWN_P),
    ("ML-IRL", "bootstrap"): ("ml_irl", DEPENDENCE, RESAMPLED),
    ("ML-IRL", "fresh algorithm"): ("ml_irl", {}, KNOWN_P),
    ("ML-IRL", "leak_free"): ("ml_irl", {}, {}),
    ("Plug-in", "leak_free tabular"): ("plug_in", {}, {}),
    ("GLADIUS", "leak_free smooth"): ("profiled_erm", {}, {}),
    NETWORK: ("profiled_erm", {"function_class": "mlp"}, {"repetitions": NETWORK_REPETITIONS}),
    ("GLADIUS", "printed"): ("gladius", {"protocol": "printed"}, {}),
    ("SAmQ", "leak_free"): ("samq", {}, {}),
    ("SAmQ", "leak_free ward 5"): ("samq", {"clustering": "ward", "cells": 5}, {}),
    ("IQ-learn", "leak_free"): ("iq_learn", {"function_class": "network"}, {}),
    ("IQ-learn", "leak_free table"): ("iq_learn", {}, {}),
    ("BC", "leak_free network"): ("bc", {}, {}),
    ("BC", "leak_free zero_value"): ("bc", {"normalisation": "zero_value"}, {}),
    ("BC", "leak_free mean_zero"): ("bc", {"normalisation": "mean_zero"}, {}),
}
# (method, word for the protocol) -> options, whether P is known; "" for the method's defaults
VARIANTS: dict[tuple[str, str], tuple[dict[str, Any], bool]] = {
    **{(method, ""): ({}, False) for method in METHODS if method != "gladius"},
    ("profiled_erm", "sparse"): ({"function_class": "sparse"}, False),
    ("gladius", "Algorithm 1"): ({"protocol": "printed"}, False),
    ("nfxp", "P known"): ({}, True),
    ("mpec", "P known"): ({}, True),
    ("ccp", ""): ({"stages": 1}, False),  # Hotz and Miller's two steps
    ("ccp", "NPL"): ({"stages": None}, False),
    ("ccp", "NPL, P known"): ({"stages": None}, True),
    ("ccp", "finite dependence"): ({"finite_dependence": True, "stages": 1}, False),
    ("avi", "one-hot"): ({"regression": "one_hot", "iterations": 400, "tolerance": 1e-9}, False),
    ("semi_gradient", "linear"): ({"basis": "polynomial", "degree": 1}, False),
    ("samq", "5 cells"): ({"cells": 5}, False),
    ("iq_learn", "network"): ({"function_class": "network"}, False),
    ("ml_irl", "P known"): ({}, True),
    ("ml_irl", "finite dependence"): (DEPENDENCE, False),
    ("airl", "anchored"): ({"anchored": True}, False),
}
# protocol of the author's code -> level from the truth, absolute value
AUTHOR = {
    "author": (True, True),
    "author signed": (True, False),
    "author level-0": (False, True),
    "author level-0 signed": (False, False),
}
SWITCHED = (50, 1000)  # N at which the author's uses of the truth are switched off in turn


def cell(column: str, protocol: str, trajectories: int, smoke: bool) -> Cell:
    """The fit behind one of FITS."""
    method, options, settings = FITS[column, protocol]
    if smoke and (column, protocol) == NETWORK:
        settings, options = {}, options | {"steps": SMOKE_STEPS}
    return fits.fitting(method, trajectories, smoke, options, **settings)


def method_cell(method: str, variant: str, trajectories: int, smoke: bool) -> Cell:
    """The fit behind one of VARIANTS."""
    options, is_p_known = VARIANTS[method, variant]
    return fits.fitting(method, trajectories, smoke, options, oracle=is_p_known)


def entries(smoke: bool) -> list[Entry]:
    """FITS row by row, the methods that are not among them, the author's code, the bounds."""
    sizes = fits.SMOKE_TRAJECTORIES if smoke else fits.TRAJECTORIES
    listed = [
        Entry(str(n), column, protocol, cell(column, protocol, n, smoke))
        for n, (column, protocol) in product(sizes, FITS)
        if (column, protocol) != NETWORK or n <= NETWORK_LARGEST
    ]
    listed_cells = {entry.cell for entry in listed}
    for n, (method, variant) in product(sizes, VARIANTS):
        fit = method_cell(method, variant, n, smoke)
        if fit not in listed_cells:
            listed.append(Entry(str(n), title(method), f"leak_free {variant}".strip(), fit))
    for n, (protocol, (level, absolute)) in product(sizes, AUTHOR.items()):
        if (level and absolute) or n in SWITCHED:
            fit = training(n, smoke, level_from_truth=level, absolute=absolute)
            listed += [Entry(str(n), "GLADIUS", f"{protocol} {e}", fit) for e in EPOCHS_SHOWN]
    return listed + [bound_entry(str(n), n) for n in sizes]


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The score and what the fit took; of the author's code the epoch that the protocol names."""
    epoch = entry.protocol.split()[-1]
    if f"MAPE {epoch}" in result.replications:
        return epoch_records(result, epoch)
    runs = fits.means(result, fits.RUNS) if set(fits.RUNS) <= set(result.replications) else ()
    return (*result.records, *runs)


def bound_value(results: Results, row: str, numeral: str) -> float:
    """A bound of `exact.BOUNDS` in a row, per cent; NaN if its class lacks the true reward."""
    records = results.get(row, BOUND, MEASURED).result.records
    return next((r.value for r in records if r.protocol == bound_protocol(numeral)), math.nan)


AUTHORS = "author's code, oracle's epoch"
OURS = {"Rust": "ours", "ML-IRL": "ours, finite dependence", "GLADIUS": "ours, smooth"}
LAYOUT = (
    Column("Rust", PAPER),
    Column("Rust", "fresh", "ours"),
    Column("Rust", "bootstrap", "ours, bootstrap"),
    Column("ML-IRL", PAPER),
    Column("ML-IRL", "fresh", "ours, finite dependence"),
    Column("ML-IRL", "bootstrap", "ours, bootstrap"),
    Column("ML-IRL", "fresh algorithm", "the algorithm, P known"),
    Column("ML-IRL", "leak_free", "the algorithm, P estimated"),
    Column("GLADIUS", PAPER),
    Column("GLADIUS", "leak_free smooth", "ours, smooth"),
    Column(*NETWORK, "ours, network"),
    Column("GLADIUS", "printed", "Algorithm 1 as printed"),
    Column("GLADIUS", "author last", "author's code, last epoch"),
    Column("GLADIUS", "author oracle", AUTHORS),
    Column("SAmQ", PAPER),
    Column("SAmQ", "leak_free", "ours, 100 cells"),
    Column("SAmQ", "leak_free ward 5", "ours, 5 Ward cells"),
    Column("IQ-learn", PAPER),
    Column("IQ-learn", "leak_free", "ours, network"),
    Column("IQ-learn", "leak_free table", "ours, table"),
    Column("BC", PAPER),
    Column("BC", "leak_free network", "level of the weights"),
    Column("BC", "leak_free zero_value", "level V = 0"),
    Column("BC", "leak_free mean_zero", "level mean Q = 0"),
    Column("Rust (theta_1 given)", "fresh", "ours"),
    Column("Plug-in", "leak_free tabular", "ours"),
)
VARIANT_NAMES = ("as the code ships", "signed term", "level from 0", "signed term, level from 0")
AUTHOR_LAYOUT = (
    Column("GLADIUS", PAPER),
    *(
        Column("GLADIUS", f"{protocol} {epoch}", f"{name}, {epoch} epoch")
        for (protocol, name), epoch in product(
            zip(AUTHOR, VARIANT_NAMES, strict=True), EPOCHS_SHOWN
        )
    ),
)
# the lines of a table for a paper, and the bound below them
SHORT = [(name, header) for name in ("Rust", "ML-IRL", "GLADIUS") for header in (PAPER, OURS[name])]
SHORT.append(("GLADIUS", AUTHORS))
# Variants that theory makes equal in each sample, and the tolerance in utils
EQUAL: tuple[tuple[tuple[str, str], tuple[str, str], float], ...] = (
    (("nfxp", ""), ("mpec", ""), 1e-7),
    (("nfxp", "P known"), ("mpec", "P known"), 1e-7),
    (("nfxp", ""), ("ccp", "NPL"), 1e-7),
    (("nfxp", "P known"), ("ccp", "NPL, P known"), 1e-7),
    (("nfxp", ""), ("rp", ""), 1e-9),
    (("avi", "one-hot"), ("semi_gradient", ""), 1e-9),
    (("ccp", "finite dependence"), ("ml_irl", "finite dependence"), 1e-9),
)
COMPARED = 10  # rewards are compared at mileages 1 to 10, as the paper's tables show them


def render(results: Results, out: Path) -> None:
    """The four tables, and the figure of the author's code."""
    table = layout.side_by_side(results, LAYOUT, NAME, "trajectories").T
    below = notes(NAME, repetitions=NETWORK_REPETITIONS, largest=NETWORK_LARGEST)
    layout.write(table, out, NAME, EXHIBIT.title, below)
    short = table.loc[SHORT]
    values = [bound_value(results, row, "iv") for row in results.rows]
    short.loc[("Bound", "r linear, P unknown"), :] = list(map(number, values))
    layout.write(short, out, f"{NAME}_paper", EXHIBIT.title, notes(f"{NAME}_paper"))
    table = layout.side_by_side(results, AUTHOR_LAYOUT, NAME, "trajectories").T
    heading = "MAPE of the reward by our re-implementation of the author's code"
    below = notes(f"{NAME}_author", small=SWITCHED[0], large=SWITCHED[1])
    layout.write(table, out, f"{NAME}_author", heading, below)
    table = pd.DataFrame(methods(results), index=pd.Index(results.rows, name="trajectories")).T
    table.index.name = "trajectories"
    heading = "MAPE of the reward by every method of the paper's Table 1"
    layout.write(table, out, f"{NAME}_methods", heading, notes(f"{NAME}_methods"))
    layout.save(_draw_author(results), out, f"{NAME}_author")


def methods(results: Results) -> dict[str, list[str]]:
    """Label of a line -> its text for each N: MAPE of each variant, then the equalities."""
    texts, lines = layout.texts(results), {}
    key = {entry.cell: (entry.row, entry.column, entry.protocol) for entry in results.entries}
    cells = {
        variant: [method_cell(*variant, int(row), results.smoke) for row in results.rows]
        for variant in VARIANTS
    }
    for (method, word), row_cells in cells.items():
        # what the method is defined by, the next states apart
        uses = [need for need in needs(method) if need != "next"]
        uses += ["anchor"] * bool(VARIANTS[method, word][0].get("anchored"))
        label = _label(method, word) + (f" [{', '.join(uses)}]" if uses else "")
        lines[label] = [texts.get(key[fit], "not run") for fit in row_cells]
    for one, other, tolerance in EQUAL:
        label = f"{_label(*one)} = {_label(*other)}, tolerance {tolerance:.0e}"
        rewards, others = (
            [results.get(*key[fit]).result for fit in cells[which]] for which in (one, other)
        )
        pairs = zip(rewards, others, strict=True)
        lines[label] = [equality(ours, theirs, tolerance) for ours, theirs in pairs]
    return lines


def equality(one: Result, other: Result, tolerance: float) -> str:
    """The largest difference of two rewards at observed pairs, and whether it is within."""
    if "reward" not in one.arrays or "reward" not in other.arrays:
        return "not run"
    difference = np.abs(one.arrays["reward"] - other.arrays["reward"])[:, :COMPARED]
    largest = float(np.max(difference[one.arrays["visits"][:, :COMPARED] > 0]))
    return f"{largest:.0e} {'yes' if largest <= tolerance else 'NO'}"


def _label(method: str, word: str) -> str:
    return title(method) + (f" ({word})" if word else "")


# protocol -> (label, marker); the marker is filled where the true reward chooses the epoch
LADDER = {
    "author level-0 last": ("no use of the true reward", "s"),
    "author last": ("level starts at the true one", "^"),
    "author level-0 oracle": ("epoch by the true error", "o"),
    "author oracle": ("both, as the code ships", "P"),
}
BOUNDS = {"iii": ("r free", ":"), "iv": ("r linear", "--")}
DODGE = 1.06  # factor between neighbouring markers of one N


def _draw_author(results: Results) -> layout.Figure:
    """MAPE of the author's code against N by its uses of the truth, log-log."""
    figure = layout.new_figure(layout.COLUMN_WIDTH, 4.8)
    axes = figure.add_subplot()
    sizes = [int(row) for row in results.rows]
    for numeral, (label, dashes) in BOUNDS.items():
        values = [bound_value(results, row, numeral) for row in results.rows]
        style: dict[str, Any] = {"color": layout.BLACK, "linewidth": 1.1, "zorder": 1}
        axes.plot(sizes, values, dashes, label=f"bound: {label}, P unknown", **style)
    frame = results.frame()
    frame = frame[frame["statistic"].eq("MAPE") & frame["value"].notna()]
    for k, (protocol, (label, marker)) in enumerate(LADDER.items()):
        line = frame[frame["protocol"] == protocol]
        x = line["row"].astype(float).to_numpy() * DODGE ** (k - 1.5)
        style = {"marker": marker, "fillstyle": "full" if protocol.endswith("oracle") else "bottom"}
        half = CRITICAL * line["se"]
        layout.points(axes, x, line["value"], half, "authors' code", label, **style)
    table = published.load(NAME)
    table = table[table["column"].eq("GLADIUS") & table["row"].isin(results.rows)]
    x, half = table["row"].astype(float), table["se"].astype(float)
    label = "GLADIUS, reported in the paper"
    layout.points(axes, x * DODGE**2.5, table["number"], half, "GLADIUS", label, mfc="white")
    layout.log_log(axes, sizes, [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0])
    axes.tick_params(axis="x", labelrotation=30)
    layout.words(axes, "trajectories N", "MAPE of the reward (%)")
    layout.legend_below(figure, axes, 1)
    return figure


def reason(row: str, column: str, protocol: str) -> str:
    """What the number rests on: uses of the truth, what is known, no level identified."""
    if protocol.startswith("author"):
        uses = [] if "level-0" in protocol else ["level started at the truth"]
        if protocol.endswith("oracle"):
            uses.append("epoch chosen by the true test error")
        return f"uses the truth: {', '.join(uses)}" if uses else "uses no truth"
    if protocol.startswith("printed"):
        return "Algorithm 1, 10,000 steps of .01 for both blocks: see the exhibit `stability`"
    if column == "ML-IRL":
        return f"two parameters, P {'estimated' if protocol == 'leak_free' else 'known'}"
    if protocol == "bootstrap":
        return "two parameters, P known; resamples of one data set"
    return REASONS.get(column, "")


REASONS = {
    "Rust": "two parameters, P known",
    "GLADIUS": "uses no truth",
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
    published_repetitions=published.TABLE_2_REPETITIONS,
    tolerance=5e-4,
)
