"""Tables 3 and A1 to A4: estimates by mileage, frequencies, truth.

The paper prints the estimates of one data set at the mileages 1 to 10, and the counts of its test
split, which sum to 20 % of N times 100 periods. For GLADIUS two lines are such a column: one
training by the public procedure on the public code's data (`public_trainings`), at the epoch that
the true reward chooses and at the last. The others are the sampling distribution of a column:

- `r a0` (or `Q a1`, ...): mean over data sets of our own, with the standard deviation over these.
  The printed number is one draw; verdicts.csv says how far off.
- `r a0 mean`: the same mean with the standard error of the mean.

Where a number does not vary (the truth, a given anchor reward, a pair that no trajectory has) it
has no standard error, and ours must round to the printed digits. A frequency is the expected count
of the test split, with the standard deviation over simulated trajectories.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from reproduce.cells import public_trainings
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
MEAN = " mean"
FREQUENCY = "Frequency"
AUTHOR = ("GLADIUS", "author oracle")
PUBLIC, ENDS = table_2.PUBLIC, table_2.ENDS
# columns of Table 2 whose fits are shown
FITTED = (("Rust", "fresh"), ("ML-IRL", "fresh"), (published.OURS, "leak_free smooth"))


def estimator_entries(trajectories: int, smoke: bool) -> list[Entry]:
    """One for each estimator on Table 2's data sets, and for the procedure on the public data."""
    cells = {which: table_2.cell(*which, trajectories, smoke) for which in FITTED}
    cells[AUTHOR] = training(trajectories, smoke)
    cells[PUBLIC] = public_trainings.training(trajectories, smoke)
    return [Entry(str(trajectories), *which, cell) for which, cell in cells.items()]


def replications(result: Result, quantity: str, epoch: str = "oracle") -> Array:
    """(R, mileages, A) estimates of `r` or `Q` by a fit, or by an epoch of a training."""
    name = {"r": "reward", "Q": "q"}[quantity]
    stored = name if name in result.arrays else f"{name} {epoch}"
    return result.arrays[stored][:, :MILEAGES]


def status_of(entry: Entry, result: Result) -> str:
    """The status of a fit, or of the epoch of the author's code that is shown."""
    is_author = (entry.column, entry.protocol) == AUTHOR
    return (epoch_records(result, "oracle") if is_author else result.records)[0].status


def at_epochs(summaries: Sequence[Sequence[Record]]) -> list[Record]:
    """The records of a training on the public data, one summary for each of ENDS."""
    pairs = zip(ENDS, summaries, strict=True)
    return [replace(one, protocol=f"{PUBLIC[1]} {end}") for end, of_end in pairs for one in of_end]


def sampling_summary(
    estimates: Array, quantity: str, actions: Sequence[int], status: str
) -> tuple[Record, ...]:
    """The two statistics of the module's docstring from estimates (R, mileages, A)."""
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
    return tuple(records)


def _lines(true: str) -> list[Column]:
    """The lines of a table: the paper's, then ours."""
    columns = {
        FREQUENCY: {"measured": "expected (sd)"},
        true: {"measured": "ours"},
        "Rust": {"fresh": "mean (sd)"},
        "ML-IRL": {"fresh": "mean (sd)"},
        "GLADIUS": {f"{PUBLIC[1]} {end}": label for end, label in ENDS.items()}
        | {AUTHOR[1]: "author's code, our data, mean (sd)"},
        published.OURS: {"leak_free smooth": "ours, mean (sd)"},
    }
    return [
        Column(column, protocol, label)
        for column, ours in columns.items()
        for protocol, label in {PAPER: "paper", **ours}.items()
        if (column, protocol) != (published.OURS, PAPER)
    ]


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
        if (entry.column, entry.protocol) == PUBLIC:
            of_ends = [replications(result, quantity, end) for end in ENDS]
            given = (quantity, actions, public_trainings.NOT_CONVERGED)
            return at_epochs([sampling_summary(estimates, *given) for estimates in of_ends])
        status = "ok" if entry.column == true else status_of(entry, result)
        return sampling_summary(replications(result, quantity), quantity, actions, status)

    def render(results: View, out: Path) -> None:
        frame, printed = results.frame(), published.load(name)
        body = {}
        for action, line in product(actions, _lines(true)):
            symbol = "frequency" if line.column == FREQUENCY else quantity
            where = printed if line.protocol == PAPER else frame
            where = where[where["column"] == line.column]
            texts = _texts(where, line, f"{symbol} a{action}")
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


def _texts(frame: pd.DataFrame, line: Column, statistic: str) -> list[str]:
    """The line's text at each mileage; `not run` or `failed` where there is no number."""
    if line.protocol == PAPER:
        return [str(value) for value in frame[frame["statistic"] == statistic]["value"]]
    frame = frame[frame["protocol"] == line.protocol]
    numbers = frame[frame["statistic"] == statistic]
    if numbers.empty:
        return ["not run" if set(frame["status"]) <= {NOT_RUN} else "failed"] * MILEAGES
    digits, texts = 2 if line.column == FREQUENCY else 3, []
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
    if protocol.startswith(PUBLIC[1]):
        return table_2.reason(row, column, protocol)
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
