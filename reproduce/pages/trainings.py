"""Finding 1 in numbers: Table 2's GLADIUS beside trainings by the public procedure on its data.

A training reaches a printed error if its own error would be printed as that number or a smaller
one. Table 2 cuts the digits of Rust and ML-IRL, and nothing says whether it cuts or rounds those of
GLADIUS. So each count has both readings, and a sentence that holds by one of them alone says so.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from reproduce.cells.public_trainings import BEST, HELD_OUT, LAST, TRAINED
from reproduce.exhibits import table_2_author
from reproduce.paper import compare, published
from reproduce.paper.judge import number

NAME = table_2_author.NAME
# protocols that are no first training, those from other initial networks, and further passes
NOT_FIRST, OTHER_START, CONTINUED = "pass|observation", "seed", "continued"
NO_FIT = 100.0  # per cent: an error of r as large as r
TIMES = 2.0  # the printed error, above which FINDINGS.md says how often


@dataclass(frozen=True)
class Errors:
    """Errors of r in per cent, of trainings at one epoch each, beside a printed error."""

    values: tuple[float, ...]  # the public start's first
    printed: str

    @property
    def bounds(self) -> tuple[float, float]:
        """The numbers below which an error is printed as `printed` or less: rounded, and cut."""
        unit = 10.0 ** -len(self.printed.partition(".")[2])
        return float(self.printed) + unit / 2, float(self.printed) + unit

    @property
    def reaching(self) -> tuple[int, int]:
        """How many reach the printed error if digits are rounded, and if they are cut."""
        rounded, cut = (sum(x < bound for x in self.values) for bound in self.bounds)
        return rounded, cut

    @property
    def reach(self) -> str:
        """`4 of 16`, and the other reading where it differs."""
        rounded, cut = self.reaching
        other = "" if rounded == cut else f", {cut} if digits are cut"
        return f"{rounded} of {len(self.values)}{other}"

    @property
    def are_below(self) -> bool:
        """Whether all would be printed as a smaller number, by both readings."""
        rounded, cut = self.bounds
        return max(self.values) < float(self.printed) - (cut - rounded)

    @property
    def are_above(self) -> bool:
        """Whether none reaches it by either reading."""
        return self.reaching == (0, 0)

    @property
    def least(self) -> str:
        """The smallest with four digits, and a sentence on which reading it reaches."""
        rounded, cut = (count > 0 for count in self.reaching)
        reaches = "It reaches the printed error"
        text = (
            f"{reaches} if that is cut, but not if it is rounded" if cut else "It does not reach it"
        )
        return f"{min(self.values):.4f}. {reaches if rounded else text}"

    @property
    def excess(self) -> str:
        """By how much the least is above the printed error, percentage points."""
        return f"{min(self.values) - float(self.printed):.2f}"

    @property
    def factor(self) -> float:
        """At least how many times the printed error the least is, cut to one decimal."""
        return math.floor(10 * min(self.values) / self.bounds[1]) / 10

    def __str__(self) -> str:
        """The public start's, and the span of all."""
        return f"{number(self.values[0])} ({self.span})"

    @property
    def span(self) -> str:
        """`least to largest`."""
        ends = min(self.values), max(self.values)
        return " to ".join(dict.fromkeys(f"{x:.2f}" for x in ends))


@dataclass(frozen=True)
class Size:
    """A number of trajectories: what is printed for it, and what was run on its data."""

    n: int
    printed: str
    best: Errors  # first trainings, at the epoch that the true reward chooses
    last: Errors  # the same trainings at their last epoch
    start_best: Errors  # those of them from the public initial network
    start_last: Errors
    continued: Errors  # best epochs of the passes of one network that is trained on and on
    likelihood: float  # estimators on the same split
    level_known: float
    ours: Errors
    held_out: Errors  # first trainings, at the epochs of the least held-out and training loss
    trained: Errors

    @property
    def is_far(self) -> bool:
        """Whether every last epoch is TIMES the printed error or more."""
        return self.last.factor >= TIMES

    @property
    def has_one_start(self) -> bool:
        """Whether all first trainings are from the public initial network."""
        return len(self.best.values) == len(self.start_best.values)

    @property
    def is_lost(self) -> bool:
        """Whether a continued training has no epoch with an error below NO_FIT."""
        return max(self.continued.values, default=0.0) > NO_FIT


def reaching(of: Sequence[Errors]) -> str:
    """`4 of 16` over several sizes, if digits are rounded."""
    return f"{sum(x.reaching[0] for x in of)} of {sum(len(x.values) for x in of)}"


def sizes(folder: Path) -> list[Size]:
    """Every number of trajectories of Table 2, from the exhibit's file in a folder of results.

    Raises:
        InputError: the exhibit has not been run.
    """
    frame = compare.read(NAME, folder)
    printed = published.load("table_2").query("column == 'GLADIUS'")
    texts = dict(zip(printed["row"], printed["value"], strict=True))
    return [_size(frame[frame["row"].eq(row)], text) for row, text in texts.items()]


def _size(frame: pd.DataFrame, printed: str) -> Size:
    """The lines of one number of trajectories."""

    def errors(statistic: str, protocols: "pd.Series[bool]") -> Errors:
        found = trained[protocols & trained["statistic"].eq(statistic)]["value"]
        return Errors(tuple(found.astype(float)), printed)

    def fitted(protocol: str) -> float:
        of_split = frame["column"].eq(table_2_author.ESTIMATORS) & frame["statistic"].eq("MAPE")
        return float(frame[of_split & frame["protocol"].eq(protocol)]["value"].item())

    trained = frame[frame["column"].eq(table_2_author.PROCEDURE)]
    protocol = trained["protocol"]
    is_first = ~protocol.str.contains(NOT_FIRST)
    has_public_start = is_first & ~protocol.str.contains(OTHER_START)
    return Size(
        int(frame["row"].iloc[0]),
        printed,
        errors(BEST, is_first),
        errors(LAST, is_first),
        errors(BEST, has_public_start),
        errors(LAST, has_public_start),
        errors(BEST, protocol.str.contains(CONTINUED)),
        fitted("leak_free ML"),
        fitted(f"measured {table_2_author.LEVEL}"),
        Errors((fitted("leak_free ours"),), printed),
        errors(HELD_OUT, is_first),
        errors(TRAINED, is_first),
    )
