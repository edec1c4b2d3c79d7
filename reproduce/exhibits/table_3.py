"""Tables 3 and A1 to A4: estimates by mileage, frequencies, truth.

The paper prints the estimates of one data set, evaluated at the mileages 1 to 10, and the counts of
its test split (they sum to 20 % of N times 100 periods). Ours is the sampling law of such a column:

- `r a0` (or `Q a1`, ...): mean over the data sets, with the standard error of a single data set's
  estimate, that is the standard deviation over data sets. The printed number is one draw of that
  law (verdicts.csv says how far off, the error of our mean in it).
- `r a0 mean`: the same mean with the standard error of the mean.
- `r a0 (one data set)`: the estimate from the first data set, what a column of the paper is.

Where a number does not vary (the truth, an anchor reward that is given, a pair that no trajectory
has) there is no standard error and ours must round to the printed digits. A frequency is the
expected count of the test split with the standard deviation that the simulated trajectories show.
The mileages of a column are not independent: Rust's twenty numbers are two parameters.
"""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from reproduce import layout, published
from reproduce.exact import MILEAGES
from reproduce.exhibits import table_2, table_2_author
from reproduce.fits import REPETITIONS, SMOKE_REPETITIONS
from reproduce.fits_author import training
from reproduce.layout import MARKS, PAPER, Column
from reproduce.results import Results
from reproduce.spec import NOT_RUN, Array, Cell, Entry, Exhibit, Record, Result

NO_SPREAD = 1e-9  # relative; a smaller deviation over data sets is rounding
MEAN, ONE = " mean", " (one data set)"
FREQUENCY = "Frequency"
AUTHOR = ("GLADIUS", "author oracle")
# columns of Table 2 whose fits are shown, and last the author's code
ESTIMATORS = (
    ("Rust", "fresh"),
    ("ML-IRL", "fresh"),
    ("GLADIUS", "leak_free smooth"),
    ("GLADIUS", "leak_free mlp"),
    AUTHOR,
)


def estimator_entries(trajectories: int, smoke: bool) -> list[Entry]:
    """One for each estimator, on Table 2's data sets."""
    cells = [table_2.cell(*which, trajectories, smoke) for which in ESTIMATORS[:-1]]
    cells.append(training(trajectories, smoke))
    places = zip(ESTIMATORS, cells, strict=True)
    return [Entry(str(trajectories), *which, cell) for which, cell in places]


def draws(result: Result, quantity: str) -> Array:
    """(R, mileages, A) estimates of `r` or `Q` by a fit or by the author's code."""
    name = {"r": "reward", "Q": "q"}[quantity]
    stored = name if name in result.arrays else f"{name} oracle"
    return result.arrays[stored][:, :MILEAGES]


def laws(draws: Array, quantity: str, actions: Sequence[int], status: str) -> tuple[Record, ...]:
    """The three statistics of the module's docstring from draws (R, mileages, A)."""
    n, lines = len(draws), []
    for action in actions:
        for i, x in enumerate(draws[:, :, action].T):
            name, row, mean, sd = f"{quantity} a{action}", str(i + 1), float(np.mean(x)), math.nan
            if n > 1 and np.all(np.isfinite(x)):
                sd = float(np.std(x, ddof=1))
            if sd <= NO_SPREAD * max(1.0, abs(mean)):
                sd = math.nan
            lines.append(Record(name, mean, sd, n, status, row=row))
            if n > 1:
                lines.append(Record(name + MEAN, mean, sd / math.sqrt(n), n, status, row=row))
                lines.append(Record(name + ONE, float(x[0]), math.nan, 1, status, row=row))
    return tuple(lines)


def _frequency_records(result: Result, actions: Sequence[int]) -> tuple[Record, ...]:
    expected, spread, draws = (result.arrays[name] for name in ("expected", "spread", "draws"))
    n, found = len(draws), []
    for action, i in product(actions, range(MILEAGES)):
        name, row, x = f"frequency a{action}", str(i + 1), draws[:, i, action]
        sd = float(spread[i, action]) or math.nan
        se = float(np.std(x, ddof=1)) / math.sqrt(n) or math.nan
        found.append(Record(name, float(expected[i, action]), sd, n, row=row))
        found.append(Record(name + MEAN, float(np.mean(x)), se, n, row=row))
        found.append(Record(name + ONE, float(x[0]), row=row))
    return tuple(found)


def _lines(true: str) -> list[tuple[Column, str]]:
    """Lines of a table, and what their statistic ends with: the paper's, ours, our first draw."""
    places = (
        (FREQUENCY, "measured", "expected (sd)", "first data set"),
        (true, "measured", "ours", ""),
        ("Rust", "fresh", "mean (sd)", "first data set"),
        ("ML-IRL", "fresh", "mean (sd)", "first data set"),
        ("GLADIUS", "leak_free smooth", "smooth, mean (sd)", "smooth, first data set"),
        ("GLADIUS", "leak_free mlp", "network, mean (sd)", "network, first data set"),
        (*AUTHOR, "author's code, mean (sd)", "author's code, first data set"),
    )
    lines: list[tuple[Column, str]] = []
    for column, protocol, label, first in places:
        if column not in {line.column for line, _ in lines}:
            lines.append((Column(column, PAPER, "paper"), ""))
        lines.append((Column(column, protocol, label), ""))
        lines += [(Column(column, protocol, first), ONE)] if first else []
    return lines


NOTES = (
    "paper: one data set, as printed. Ours: mean over {sets} fresh data sets (their standard"
    " deviation, the standard error of one data set's number), and the first data set alone.",
    "The mileages of a line are not independent: all of Rust's numbers are functions of two"
    " parameters.",
    "Frequency: of the test split; expected under the true law, sd of the simulated trajectories."
    " Rust and ML-IRL know the transition law and the linear form; GLADIUS is given r(., a1).",
    "ML-IRL: what the paper describes, choice frequencies and finite dependence with a known law.",
    "Both of our GLADIUS classes penalise the curvature of r, whose true form is a line.",
    "Author's code: its level starts near the true Q*, its epoch is the one"
    " with the smallest true test error.",
    "* some data sets did not converge, ! some diverged: they are in the mean.",
)


def make_table(
    name: str, number: str, trajectories: int, quantity: str, actions: Sequence[int], true: str
) -> Exhibit:
    """The exhibit `name`, the paper's Table `number`, and its published CSV.

    It shows the `quantity`, `r` or `Q`, of these actions; `true` is the paper's name of the truth.
    """
    shown = " and ".join(f"a{action}" for action in actions)
    title = f"Table {number}: estimated {quantity}(mileage, {shown}), {trajectories:,} trajectories"

    def entries(smoke: bool) -> list[Entry]:
        repetitions = SMOKE_REPETITIONS if smoke else REPETITIONS
        settings = {"trajectories": trajectories, "repetitions": repetitions, "seeds": "table_2"}
        counted = Cell("reproduce.exact:frequencies", settings, f"frequencies, N = {trajectories}")
        exact = Cell("reproduce.exact:truth", label="true r and Q")
        return [
            Entry(str(trajectories), FREQUENCY, "measured", counted, "frequency"),
            Entry(str(trajectories), true, "measured", exact, quantity),
            *estimator_entries(trajectories, smoke),
        ]

    def view(entry: Entry, result: Result) -> Sequence[Record]:
        if entry.column == FREQUENCY:
            return _frequency_records(result, actions)
        status = "ok" if entry.column == true else table_2_author.view(entry, result)[0].status
        return laws(draws(result, quantity), quantity, actions, status)

    def render(results: Results, out: Path) -> None:
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
        notes = [note.format(sets=frame["repetitions"].max()) for note in NOTES]
        layout.write(table, out, name, title, notes)

    return Exhibit(
        name,
        title,
        entries,
        cost=5.5,
        render=render,
        view=view,
        published=name,
        reason=_reason,
        fixed_budget=("author",),
        tolerance=5e-4,
    )


def _texts(lines: pd.DataFrame, line: Column, statistic: str, suffix: str) -> list[str]:
    """The line's text at each mileage; `not run` or `failed` where there is no number."""
    if line.protocol == PAPER:
        return [str(value) for value in lines[lines["statistic"] == statistic]["value"]]
    lines = lines[lines["protocol"] == line.protocol]
    known = lines[lines["statistic"] == statistic + suffix]
    if known.empty:
        missing = set(lines["status"]) <= {NOT_RUN}
        return ["not run" if missing else "failed"] * MILEAGES
    digits = 3 if line.column != FREQUENCY else 0 if suffix else 2
    return [
        f"{value:.{digits}f}"
        + ("" if math.isnan(se) else f" ({se:.{digits}f})")
        + MARKS.get(status, "")
        for value, se, status in zip(known["value"], known["se"], known["status"], strict=True)
    ]


def _reason(row: str, column: str, protocol: str) -> str:
    """How the number is compared: the printed one is a single draw."""
    if column == FREQUENCY:
        return "expected count of the test split, sd of simulated trajectories"
    if protocol == "measured":
        return "exact: the printed digits decide"
    text = "the printed one is of one data set: z by the sd over data sets"
    if column in ("Rust", "ML-IRL"):
        return f"{text}; all mileages are two parameters"
    if column == "GLADIUS" and protocol.startswith("author"):
        return f"{text}; the author's code: level started at the truth, epoch chosen by it"
    if column == "GLADIUS":
        return f"{text}; ours is given r a1 and penalises the curvature of r, truly a line"
    return text


TRUE = "Ground Truth"
EXHIBITS = {
    "table_3": make_table("table_3", "3", 1000, "r", (0,), "True reward"),
    "table_a1": make_table("table_a1", "A1", 50, "r", (0, 1), TRUE),
    "table_a2": make_table("table_a2", "A2", 50, "Q", (0, 1), TRUE),
    "table_a3": make_table("table_a3", "A3", 1000, "r", (0, 1), TRUE),
    "table_a4": make_table("table_a4", "A4", 1000, "Q", (0, 1), TRUE),
}
