"""Tables 3 and A1 to A4: estimates by mileage, frequencies, truth.

The paper prints the estimates of one data set at the mileages 1 to 10, and the counts of its test
split, which sum to 20 % of N times 100 periods. Ours is the sampling distribution of such a column:

- `r a0` (or `Q a1`, ...): mean over the data sets, with the standard deviation over data sets. The
  printed number is one draw; verdicts.csv says how far off.
- `r a0 mean`: the same mean with the standard error of the mean.
- `r a0 (one data set)`: the estimate from the first data set, what a column of the paper is.

Where a number does not vary (the truth, a given anchor reward, a pair that no trajectory has) it
has no standard error, and ours must round to the printed digits. A frequency is the expected count
of the test split, with the standard deviation over simulated trajectories.
"""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from reproduce.cells.bus_exact import MILEAGES
from reproduce.cells.fits import REPETITIONS, SMOKE_REPETITIONS
from reproduce.cells.fits_author import epoch_records, training
from reproduce.drawing import layout
from reproduce.drawing.layout import MARKS, PAPER, Column
from reproduce.drawing.notes import notes
from reproduce.engine.nouns import NOT_RUN, Array, Cell, Entry, Exhibit, Record, Result
from reproduce.engine.view import View
from reproduce.exhibits import table_2
from reproduce.paper import published

NO_SPREAD = 1e-9  # relative; a smaller standard deviation over data sets is rounding
MEAN, ONE = " mean", " (one data set)"
FREQUENCY = "Frequency"
AUTHOR = ("GLADIUS", "author oracle")
# columns of Table 2 whose fits are shown, and last the author's code
ESTIMATORS = (("Rust", "fresh"), ("ML-IRL", "fresh"), ("GLADIUS", "leak_free smooth"), AUTHOR)


def estimator_entries(trajectories: int, smoke: bool) -> list[Entry]:
    """One for each estimator, on Table 2's data sets."""
    cells = [table_2.cell(*which, trajectories, smoke) for which in ESTIMATORS[:-1]]
    cells.append(training(trajectories, smoke))
    pairs = zip(ESTIMATORS, cells, strict=True)
    return [Entry(str(trajectories), *which, cell) for which, cell in pairs]


def replications(result: Result, quantity: str) -> Array:
    """(R, mileages, A) estimates of `r` or `Q` by a fit or by the author's code."""
    name = {"r": "reward", "Q": "q"}[quantity]
    stored = name if name in result.arrays else f"{name} oracle"
    return result.arrays[stored][:, :MILEAGES]


def status_of(entry: Entry, result: Result) -> str:
    """The status of a fit, or of the epoch of the author's code that is shown."""
    is_author = (entry.column, entry.protocol) == AUTHOR
    return (epoch_records(result, "oracle") if is_author else result.records)[0].status


def sampling_summary(
    estimates: Array, quantity: str, actions: Sequence[int], status: str
) -> tuple[Record, ...]:
    """The three statistics of the module's docstring from estimates (R, mileages, A)."""
    n, records = len(estimates), []
    for action in actions:
        for i, x in enumerate(estimates[:, :, action].T):
            name, row, mean, sd = f"{quantity} a{action}", str(i + 1), float(np.mean(x)), math.nan
            if n > 1 and np.all(np.isfinite(x)):
                sd = float(np.std(x, ddof=1))
            if sd <= NO_SPREAD * max(1.0, abs(mean)):
                sd = math.nan
            records.append(Record(name, mean, sd, n, status, row=row))
            if n > 1:
                records.append(Record(name + MEAN, mean, sd / math.sqrt(n), n, status, row=row))
                records.append(Record(name + ONE, float(x[0]), math.nan, 1, status, row=row))
    return tuple(records)


def _frequency_records(result: Result, actions: Sequence[int]) -> tuple[Record, ...]:
    expected, spread, drawn = (result.arrays[name] for name in ("expected", "spread", "draws"))
    n, records = len(drawn), []
    for action, i in product(actions, range(MILEAGES)):
        name, row, x = f"frequency a{action}", str(i + 1), drawn[:, i, action]
        sd = float(spread[i, action]) or math.nan
        se = float(np.std(x, ddof=1)) / math.sqrt(n) or math.nan
        records.append(Record(name, float(expected[i, action]), sd, n, row=row))
        records.append(Record(name + MEAN, float(np.mean(x)), se, n, row=row))
        records.append(Record(name + ONE, float(x[0]), row=row))
    return tuple(records)


def _lines(true: str) -> list[tuple[Column, str]]:
    """(line of a table, suffix of its statistic): the paper's, our mean, our first data set."""
    first = "first data set"
    columns = {
        FREQUENCY: [("measured", "expected (sd)", ""), ("measured", first, ONE)],
        true: [("measured", "ours", "")],
        "Rust": [("fresh", "mean (sd)", ""), ("fresh", first, ONE)],
        "ML-IRL": [("fresh", "mean (sd)", ""), ("fresh", first, ONE)],
        "GLADIUS": [
            ("leak_free smooth", "smooth, mean (sd)", ""),
            ("leak_free smooth", f"smooth, {first}", ONE),
            (AUTHOR[1], "author's code, mean (sd)", ""),
            (AUTHOR[1], f"author's code, {first}", ONE),
        ],
    }
    lines: list[tuple[Column, str]] = []
    for column, ours in columns.items():
        lines.append((Column(column, PAPER, "paper"), ""))
        lines += [(Column(column, protocol, label), suffix) for protocol, label, suffix in ours]
    return lines


def make_table(
    name: str, number: str, trajectories: int, quantity: str, actions: Sequence[int], true: str
) -> Exhibit:
    """The exhibit `name`, the paper's Table `number`, and its published CSV.

    It shows the `quantity`, `r` or `Q`, of these actions; `true` is the paper's name of the truth.
    """
    symbols = " and ".join(f"a{action}" for action in actions)
    data = f"{trajectories:,} trajectories"
    title = f"Table {number}: estimated {quantity}(mileage, {symbols}), {data}"

    def entries(smoke: bool) -> list[Entry]:
        repetitions = SMOKE_REPETITIONS if smoke else REPETITIONS
        settings = {"trajectories": trajectories, "repetitions": repetitions, "seeds": "table_2"}
        counted = Cell("frequencies", settings, f"frequencies, N = {trajectories}")
        exact = Cell("truth", label="true r and Q")
        return [
            Entry(str(trajectories), FREQUENCY, "measured", counted, "frequency"),
            Entry(str(trajectories), true, "measured", exact, quantity),
            *estimator_entries(trajectories, smoke),
        ]

    def view(entry: Entry, result: Result) -> Sequence[Record]:
        if entry.column == FREQUENCY:
            return _frequency_records(result, actions)
        status = "ok" if entry.column == true else status_of(entry, result)
        return sampling_summary(replications(result, quantity), quantity, actions, status)

    def render(results: View, out: Path) -> None:
        frame, printed = results.frame(), published.load(name)
        body = {}
        for action, (line, suffix) in product(actions, _lines(true)):
            symbol = "frequency" if line.column == FREQUENCY else quantity
            where = printed if line.protocol == PAPER else frame
            where = where[where["column"] == line.column]
            texts = _texts(where, line, f"{symbol} a{action}", suffix)
            body[f"a{action}", line.column, line.header] = texts
        mileages = pd.Index([str(i + 1) for i in range(MILEAGES)], name="mileage")
        table = pd.DataFrame(body, index=mileages).T
        sets = frame.groupby("protocol")["repetitions"].max()
        below = notes("table_3", sets=sets["measured"], trained=sets[AUTHOR[1]])
        layout.write(table, out, name, title, below)

    return Exhibit(
        name,
        title,
        entries,
        render=render,
        view=view,
        published=name,
        reason=_reason,
        tolerance=5e-4,
    )


def _texts(frame: pd.DataFrame, line: Column, statistic: str, suffix: str) -> list[str]:
    """The line's text at each mileage; `not run` or `failed` where there is no number."""
    if line.protocol == PAPER:
        return [str(value) for value in frame[frame["statistic"] == statistic]["value"]]
    frame = frame[frame["protocol"] == line.protocol]
    numbers = frame[frame["statistic"] == statistic + suffix]
    if numbers.empty:
        return ["not run" if set(frame["status"]) <= {NOT_RUN} else "failed"] * MILEAGES
    digits, texts = 3, []
    if line.column == FREQUENCY:
        digits = 0 if suffix else 2
    for value, se, status in numbers[["value", "se", "status"]].itertuples(index=False):
        text = f"{value:.{digits}f}" if math.isnan(se) else layout.estimate(value, se)
        texts.append(text + MARKS.get(status, ""))
    return texts


def _reason(row: str, column: str, protocol: str) -> str:
    """How the number is compared: the printed one is a single draw."""
    if column == FREQUENCY:
        return "expected count of the test split, sd of simulated trajectories"
    if protocol == "measured":
        return "exact: the printed digits decide"
    text = "the printed one is of one data set: z by the sd over data sets"
    if column in ("Rust", "ML-IRL"):
        return f"{text}; all mileages are two parameters"
    if protocol == AUTHOR[1]:
        return f"{text}; the author's code: level started at the truth, epoch chosen by it"
    return f"{text}; ours is given r a1 and penalises the curvature of r, truly a line"


TRUE = "Ground Truth"
EXHIBITS = {
    "table_3": make_table("table_3", "3", 1000, "r", (0,), "True reward"),
    "table_a1": make_table("table_a1", "A1", 50, "r", (0, 1), TRUE),
    "table_a2": make_table("table_a2", "A2", 50, "Q", (0, 1), TRUE),
    "table_a3": make_table("table_a3", "A3", 1000, "r", (0, 1), TRUE),
    "table_a4": make_table("table_a4", "A4", 1000, "Q", (0, 1), TRUE),
}
