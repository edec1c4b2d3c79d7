"""One printed number beside our repetitions: a test, and whether it could have failed.

A test that does not reject is evidence only if it would have rejected a difference that matters.
So the verdict is `agrees` only where half the width of the numbers that pass is at most POWER of a
yardstick (`published.yardstick`), and `unclear` where it is more.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

from reproduce.paper.published import EPISODES
from reproduce.paper.verdicts import Comparison

CRITICAL = 1.96  # two-sided, at 5 %
POWER = 0.25  # share of the yardstick that a test must tell to find agreement


@dataclass(frozen=True)
class Reference:
    """What our repetitions predict for a printed number.

    `sd` is the standard deviation of one repetition, NaN where nothing varies.
    """

    mean: float
    sd: float = math.nan
    repetitions: float = math.inf

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.sd / math.sqrt(self.repetitions)

    @property
    def text(self) -> str:
        """For a table."""
        if not self.sd > 0:
            return f"{number(self.mean)}{', one repetition' if self.repetitions == 1 else ''}"
        spread = f"mean {number(self.mean)}, sd {number(self.sd)}"
        return f"{spread}, {self.repetitions:,.0f} repetitions"


class Judgement(NamedTuple):
    """What a test says of a printed number.

    Attributes:
        z: difference of ours and theirs over its error; NaN where the printed digits decide.
        verdict: `agrees`, `differs`, `unclear`, or "-".
        p: two-sided, of Student's t.
        half_width: of the numbers that pass, in the printed number's unit.
        yardstick: what that is compared with, in the same unit.
    """

    z: float
    verdict: Comparison
    p: float = math.nan
    half_width: float = math.nan
    yardstick: float = math.nan

    @property
    def is_weak(self) -> bool:
        """Whether the test would pass numbers that are farther off than POWER of the yardstick."""
        return self.half_width > POWER * self.yardstick


def judge(
    reference: Reference, printed: str, own_error: float = math.nan, yardstick: float = math.nan
) -> Judgement:
    """The test of a printed number as one draw; its verdict is "-" where either is missing.

    A mean of several draws varies less than one. So a number that is far from a draw is farther
    from a mean, and the test says so under each reading of the repetitions behind it.

    Args:
        reference: ours.
        printed: theirs, with its digits.
        own_error: its standard error over EPISODES, where the paper prints a deviation over these.
        yardstick: of its kind of quantity; by default its own size.
    """
    theirs = float(pd.to_numeric(printed, errors="coerce"))
    if math.isnan(reference.mean) or math.isnan(theirs):
        return Judgement(math.nan, Comparison.NOTHING)
    low, high = rounded(printed)
    size = abs(theirs) if math.isnan(yardstick) else yardstick
    variances = []  # squared errors, each with its degrees of freedom
    if reference.sd > 0:
        draw = reference.sd**2 * (1 + 1 / reference.repetitions)
        variances.append((draw, reference.repetitions - 1))
    if own_error > 0:
        variances.append((own_error**2, EPISODES - 1))
    if not variances or math.isinf(reference.mean):
        slack = 1e-9 * (high - low)
        is_inside = low - slack <= reference.mean <= high + slack
        by_digits = Judgement(math.nan, Comparison.AGREES, math.nan, (high - low) / 2, size)
        return by_digits._replace(verdict=_word(by_digits, is_inside))
    variance = sum(error for error, _ in variances) + (high - low) ** 2 / 12
    z = (reference.mean - theirs) / math.sqrt(variance)
    inverse_freedom = sum(error**2 / freedom for error, freedom in variances)
    critical, p = CRITICAL, float(2 * norm.sf(abs(z)))
    if inverse_freedom:
        freedom = variance**2 / inverse_freedom
        critical, p = float(student.ppf(0.975, freedom)), float(2 * student.sf(abs(z), freedom))
    test = Judgement(z, Comparison.UNCLEAR, p, critical * math.sqrt(variance), size)
    is_inside = abs(z) <= critical
    is_noisy = critical * reference.error > abs(theirs) > 0
    if is_noisy and (is_inside or reference.sd > abs(reference.mean)):
        return test
    return test._replace(verdict=_word(test, is_inside))


def _word(test: Judgement, is_inside: bool) -> Comparison:
    """The verdict of a test by its power; a rejection needs none."""
    if not is_inside:
        return Comparison.DIFFERS
    return Comparison.UNCLEAR if test.is_weak else Comparison.AGREES


def rounded(printed: str) -> tuple[float, float]:
    """(lowest, highest) number that rounds to the printed digits."""
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return float(printed) - half, float(printed) + half


def number(value: float) -> str:
    """Two decimals, or three figures where that says too little or too much; "-" for NaN."""
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if value == 0 or 0.01 <= abs(value) < 1e4 else f"{value:.3g}"
