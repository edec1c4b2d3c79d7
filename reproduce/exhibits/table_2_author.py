"""Table 2 on the public code's data: the author's procedure, and estimators on the same split.

The printed errors stand beside the procedure at the epoch that the true reward chooses, and at the
last, which is a user's. Its ranges are over initial networks, over starts that differ by rounding,
over float32 and over continued trainings. All are of one data set for each N: no error here is a
mean. See `public_trainings` and `public_fits`.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce.cells import public_fits
from reproduce.cells.fits import SMOKE_TRAJECTORIES, TRAJECTORIES
from reproduce.cells.public_trainings import (
    BEST,
    BEST_EPOCH,
    LAST,
    MEDIAN,
    NOT_CONVERGED,
    SMALL,
    training,
)
from reproduce.cells.step_sizes import STEPS
from reproduce.drawing import layout
from reproduce.drawing.notes import notes
from reproduce.engine.nouns import Array, Entry, Exhibit, Record, Result
from reproduce.engine.view import View
from reproduce.paper import published
from reproduce.paper.judge import number

NAME = "table_2_author"
PROCEDURE, ESTIMATORS, ALGORITHM = "procedure", "same split", "Algorithm 1"
OTHERS = range(2, 6)  # seeds of initial networks beside the public code's 1
CHANGES = range(1, 6)  # seeds of perturbed starts
# group -> settings of its trainings, by protocol; the first two have the public start too
GROUPS: dict[str, dict[str, dict[str, Any]]] = {
    "initial networks": {f"author seed {k}": {"seed": k} for k in OTHERS},
    "starts that differ by 1e-12": {f"author changed {k}": {"perturbation": k} for k in CHANGES},
    "float32": {"author float32": {"precision": "float32"}}
    | {f"author float32 changed {k}": {"precision": "float32", "perturbation": k} for k in CHANGES},
    "continued trainings": {"author continued": {"repetitions": 5}},
}
WITH_START = ("initial networks", "starts that differ by 1e-12")
FIRST = (*WITH_START, "float32")  # the groups whose networks are trained once
OFTEN = 5  # mileages beyond it have 7 visits or fewer with 50 trajectories
ONE, LEVEL = "author", "level known"
ENDS = {BEST: "smallest error", LAST: "last epoch"}
LABELS = {"ML": "maximum likelihood, 2 parameters", "plug-in": "plug-in"}
LABELS |= {"ours": "profiled ERM, ours", LEVEL: "level known, r free"}


def entries(smoke: bool) -> list[Entry]:
    """By N: the public start, then GROUPS, then what is fitted on the same split."""
    listed = []
    for n in SMOKE_TRAJECTORIES if smoke else TRAJECTORIES:
        row, cells = str(n), {ONE: training(n, smoke)}
        for group in GROUPS.values():
            cells |= {name: training(n, smoke, **given) for name, given in group.items()}
        listed += [Entry(row, PROCEDURE, name, cell, BEST) for name, cell in cells.items()]
        for name in public_fits.FITTED:
            fit = public_fits.fitted(name, n)
            listed.append(Entry(row, ESTIMATORS, f"leak_free {name}", fit))
        fit = public_fits.known_level_cell(n)
        listed.append(Entry(row, ESTIMATORS, f"measured {LEVEL}", fit))
        for start in public_fits.STARTS:
            descent = public_fits.descent(n, start, smoke)
            listed.append(Entry(row, ALGORITHM, f"printed {start}", descent, STEPS))
    return listed


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The records as stored; of a continued training those of each pass."""
    passes = result.replications
    is_public = entry.row == str(SMALL) and entry.protocol == ONE
    if is_public and "reward best" in result.arrays:
        return (*result.records, *distances(result))
    if len(passes.get(BEST, ())) < 2:
        return result.records
    return [
        Record(name, x, status=NOT_CONVERGED, protocol=f"{entry.protocol}, pass {k}")
        for name, values in passes.items()
        for k, x in enumerate(values, 1)
    ]


def distances(result: Result) -> Iterator[Record]:
    """How far r(s, 0) at the best epoch is from Table A1's, utils: rarely visited states apart."""
    printed = published.load("table_a1").query("column == 'GLADIUS' and statistic == 'r a0'")
    theirs = printed.set_index(printed["row"].astype(int))["number"].sort_index().to_numpy()
    gaps = np.abs(result.arrays["reward best"][0, : len(theirs), 0] - theirs)
    ranges = (gaps[:OFTEN], (1, OFTEN)), (gaps[OFTEN:], (OFTEN + 1, len(gaps)))
    for of_range, (first, last) in ranges:
        name = f"largest distance from Table A1, mileages {first} to {last}"
        yield Record(name, float(of_range.max()), status=NOT_CONVERGED)


def of_group(results: View, row: str, group: str, statistic: str) -> list[float]:
    """A number of every training of a group, and of the public start's; none if none was run."""
    found = [x for name in GROUPS[group] for x in numbers(results, row, name, statistic)]
    with_start = found and group in WITH_START
    return [*found, *(numbers(results, row, ONE, statistic) if with_start else ())]


def numbers(results: View, row: str, protocol: str, statistic: str) -> Array:
    """A number of every pass of a training; none where it was not run."""
    return results.replications(row, PROCEDURE, protocol, statistic)


def span(values: Sequence[float], of: int) -> str:
    """`smallest to largest`, and how many where not all were run."""
    if not values:
        return "not run"
    ends = dict.fromkeys((number(min(values)), number(max(values))))
    text = " to ".join(ends)
    return text if len(values) == of else f"{text} ({len(values)})"


def lines(results: View) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Label -> text for each N."""
    rows, printed = results.rows, published.load("table_2")
    printed = printed[printed["column"].eq("GLADIUS")].set_index("row")
    yield (
        ("GLADIUS", layout.PAPER),
        [f"{printed['value'][row]} ({printed['se'][row]})" for row in rows],
    )
    for statistic, label in {
        BEST: "smallest error",
        BEST_EPOCH: "its epoch",
        MEDIAN: "median over epochs",
        LAST: "last epoch",
    }.items():
        values = [numbers(results, row, ONE, statistic) for row in rows]
        form = "{:,.0f}".format if statistic == BEST_EPOCH else number
        texts = [form(x[0]) if len(x) else "failed" for x in values]
        yield ("Procedure, public start", label), texts
    for group, (statistic, label) in product(GROUPS, ENDS.items()):
        size = 5 if group == "continued trainings" else len(GROUPS[group]) + (group in WITH_START)
        texts = [span(of_group(results, row, group, statistic), size) for row in rows]
        yield (f"Procedure, {group}", label), texts
    for name in (*(f"leak_free {fit}" for fit in public_fits.FITTED), f"measured {LEVEL}"):
        found = [value(results.get(row, ESTIMATORS, name).result) for row in rows]
        label = LABELS[name.partition(" ")[2]]
        yield ("On the same split", label), [number(x) for x in found]
    for start in public_fits.STARTS:
        found = [value(results.get(row, ALGORITHM, f"printed {start}").result) for row in rows]
        texts = [f"{x / 1000:,.0f}" if np.isfinite(x) else "not reached" for x in found]
        yield ("Algorithm 1, thousands of steps", start), texts


def value(result: Result) -> float:
    """The first number of a result; NaN where the cell failed."""
    return result.records[0].value if result.records else float("nan")


def render(results: View, out: Path) -> None:
    """The table and the figure."""
    table = pd.DataFrame(dict(lines(results)), index=pd.Index(results.rows, name="trajectories")).T
    below = notes(NAME, step=public_fits.STEP, networks=1 + len(OTHERS), changes=len(CHANGES))
    layout.write(table, out, NAME, EXHIBIT.title, below)
    _draw(results, out)


DODGE = 1.1  # factor between neighbouring markers of one N
# statistic -> label, colour, marker
EPOCHS_DRAWN = {
    BEST: ("public procedure,\nepoch by the true r", layout.LOOKS["GLADIUS"][0], "o"),
    LAST: ("the same trainings,\nlast epoch", layout.BLUE, "s"),
}


def _draw(results: View, out: Path) -> None:
    """Errors against N, log-log: printed, all first trainings at two epochs, and the plug-in."""
    figure = layout.new_figure(layout.WIDTH, 3.8)
    axes, rows = figure.add_subplot(), results.rows
    x = np.array(rows, dtype=float)
    errors = [value(results.get(row, ESTIMATORS, "leak_free plug-in").result) for row in rows]
    style: dict[str, Any] = {"color": layout.ORANGE, "linewidth": 0.9, "zorder": 1}
    axes.plot(x, errors, "-.", label="counting (plug-in)", **style)
    table = published.load("table_2")
    table = table[table["column"].eq("GLADIUS") & table["row"].isin(rows)]
    units = [10.0 ** -len(text.partition(".")[2]) for text in table["value"]]
    reached = dict[str, int]()
    for shift, (statistic, (label, colour, marker)) in enumerate(EPOCHS_DRAWN.items()):
        at = x * DODGE ** (2 * shift - 1)
        chosen = [(*numbers(results, row, ONE, statistic), np.nan)[0] for row in rows]
        runs = [
            [y, *(z for group in FIRST for z in of_group(results, row, group, statistic))]
            for row, y in zip(rows, chosen, strict=True)
        ]
        low, high = ([f(y) for y in runs] for f in (min, max))
        axes.vlines(at, low, high, color=colour, linewidth=1.0, zorder=2)
        style = {"color": colour, "marker": marker, "markersize": 4.5, "linestyle": "none"}
        axes.plot(at, chosen, zorder=3, label=label, **style)
        reached[statistic] = int(np.sum(np.less(low, table["number"] + units)))
    style = {"color": layout.BLACK, "marker": "*", "markersize": 7, "linestyle": "none"}
    axes.plot(x, table["number"], zorder=4, label="printed for GLADIUS", **style)
    layout.log_log(axes, [*x], [0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
    axes.tick_params(axis="x", labelrotation=30)
    layout.words(axes, "trajectories N", "MAPE of the reward (%)")
    layout.label_lines(axes)
    said = {"best": reached[BEST], "last": reached[LAST], "of": len(rows)}
    layout.save(figure, out, NAME, said if reached[BEST] > reached[LAST] else None)


def verdict(folder: Path) -> str:
    """The spans of the procedure over its trainings, without those that are continued."""
    frame = pd.read_csv(folder / f"{NAME}.csv").query("~protocol.str.contains('pass')")
    spans = [
        span(frame[frame["statistic"].eq(statistic)]["value"].tolist(), 0)
        for statistic in (BEST, LAST)
    ]
    best, last = (text.partition(" (")[0] for text in spans)
    chosen = f"Errors of the public procedure: {best} % where the true reward chooses the epoch"
    return f"{chosen}\nAt the last epoch: {last} %"


EXHIBIT = Exhibit(
    NAME,
    "Table 2's GLADIUS on the data of the public code's seeds",
    entries,
    render=render,
    view=view,
    verdict=verdict,
    tolerance=5e-4,
)
