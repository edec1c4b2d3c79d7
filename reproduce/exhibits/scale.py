"""Scale: time and peak memory of one fit of GLADIUS at four sizes of the data, of others at two.

Each fit runs in a process of its own, within limits; see `reproduce.scale`. Times and memory are
those of one run on one machine and are in `scale_measured.csv`. The errors, which another machine
must find again, are in `scale.csv`.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from reproduce import layout
from reproduce.results import Results
from reproduce.scale import MEASURED, MEMORY, SECONDS, scale_cell
from reproduce.spec import Entry, Exhibit

NAME = "scale"
SIZES, SMOKE_SIZES = (100, 1000, 10_000, 100_000), (20,)  # trajectories
OURS, OURS_ALONE = ("GLADIUS", "leak_free sparse"), SIZES[::2]
# (column, protocol) -> method, inputs that do not matter, options
METHODS: Mapping[tuple[str, str], tuple[str, int, dict[str, Any]]] = {
    OURS: ("gladius", 2, {"function_class": "sparse"}),
    ("NFXP", "leak_free"): ("nfxp", 0, {}),
    ("BC", "leak_free"): ("bc", 2, {"training": {"batch": 1000}}),
}


def entries(smoke: bool) -> list[Entry]:
    """By method and size."""
    listed = []
    for n in SMOKE_SIZES if smoke else SIZES:
        for key in (OURS,) if n in OURS_ALONE else METHODS:
            method, inputs, options = METHODS[key]
            more = {"training": {"steps": 20}} if smoke and method == "bc" else options
            cell = scale_cell(method, n, inputs, more)
            listed.append(Entry(f"{n}/{inputs}", *key, cell))
    return listed


def measured(results: Results) -> pd.DataFrame:
    """A line for each fit: N, K, method, MEASURED (NaN where it failed), status."""
    lines = []
    for entry, stored in results:
        arrays = stored.result.arrays
        status = stored.result.records[0].status if stored.result.records else stored.status
        numbers = [float(arrays[name][0]) if name in arrays else math.nan for name in MEASURED]
        settings = entry.cell.settings
        size = (settings["trajectories"], settings["inputs"])
        lines.append((*size, entry.column, entry.protocol, *numbers, status))
    return pd.DataFrame(lines, columns=["N", "K", "column", "protocol", *MEASURED, "status"])


def text(line: Any) -> str:
    """`seconds; MiB`, or that the fit failed."""
    if math.isnan(line["cpu_seconds"]):
        return "failed"
    mark = layout.MARKS.get(str(line["status"]), "")
    return f"{line['cpu_seconds']:,.2g}{mark}; {line['peak_mb']:,.0f}"


def render(results: Results, out: Path) -> None:
    """What was measured, as a CSV and a table."""
    frame = measured(results)
    layout.write_csv(frame, out / f"{NAME}_measured.csv", 6)
    columns = {}
    for (column, protocol), (_, inputs, _) in METHODS.items():
        fits = frame[(frame["column"] == column) & (frame["protocol"] == protocol)]
        texts = {f"{line['N']:,}": text(line) for _, line in fits.iterrows()}
        columns[f"{column}, K = {inputs}"] = texts
    table = pd.DataFrame(columns).fillna("")
    table.index.name = "N"
    failures = frame[frame["status"].str.startswith("failed")]
    reasons = (f"{x['column']}, N = {x['N']:,}: {x['status']}." for _, x in failures.iterrows())
    notes = (
        "N trajectories of 100 observations, K inputs that do not matter. Processor seconds of one"
        " fit on one core; peak MiB of the process.",
        f"An idle process has {frame['idle_mb'].min():,.0f} to {frame['idle_mb'].max():,.0f} MiB."
        " Each number is one run's. * did not converge.",
        f"Limits of a fit: {SECONDS} s of processor time, {MEMORY:g} GiB of data.",
        *reasons,
    )
    layout.write(table, out, NAME, EXHIBIT.title, notes)


def verdict(folder: Path) -> str:
    """What the largest fit of GLADIUS costs."""
    frame = pd.read_csv(folder / f"{NAME}_measured.csv")
    fits = frame[(frame["column"] == "GLADIUS") & frame["cpu_seconds"].notna()].sort_values("N")
    if fits.empty:
        return "not run"
    line = fits.iloc[-1]
    cost = f"{line['cpu_seconds']:.2g} CPU-s, {line['peak_mb'] / 1024:.2f} GiB"
    return f"GLADIUS, {100 * line['N']:,.0f} observations, K = {line['K']}: {cost}"


EXHIBIT = Exhibit(
    NAME,
    "Scale: time and memory of one fit",
    entries,
    render=render,
    verdict=verdict,
    tolerance=1e-3,
)
