"""One printed number beside our repetitions: a test, its power, and a test of the spreads."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd
from scipy.stats import f as variance_ratio
from scipy.stats import norm
from scipy.stats import t as student

from reproduce.paper.published import EPISODES

CRITICAL = 1.96  # two-sided, at 5 %
AGREES, IN_PART, DIFFERS, UNCLEAR = "agrees", "agrees in part", "differs", "unclear"
NOTHING = "-"  # the counterpart is not run
Variances = list[tuple[float, float]]  # squared errors, each with its degrees of freedom


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
        half_width: of the numbers that pass, relative to the printed one: the power.
    """

    z: float
    verdict: str
    p: float = math.nan
    half_width: float = math.nan


def _errors_of_means(reference: Reference, spread: float, of: int) -> Variances:
    """Those of our mean and of theirs; a single run of ours is taken to vary as theirs do."""
    is_measured = reference.sd > 0
    sd, freedom = (reference.sd, reference.repetitions - 1) if is_measured else (spread, of - 1)
    return [(spread**2 / of, of - 1), (sd**2 / reference.repetitions, freedom)]


def _errors_of_a_draw(reference: Reference, spread: float, of: int) -> Variances:
    """Those of a draw (or of a mean of `of` draws) and of our mean, and its own if printed."""
    variances = []
    if reference.sd > 0:
        draw = reference.sd**2 * (1 / of + 1 / reference.repetitions)
        variances.append((draw, reference.repetitions - 1))
    if spread > 0:
        variances.append((spread**2, EPISODES - 1))
    return variances


def judge(reference: Reference, printed: str, spread: float = math.nan, of: int = 1) -> Judgement:
    """The test of a printed number; its verdict is "-" where either number is missing.

    Args:
        reference: ours.
        printed: theirs, with its digits.
        spread: its standard deviation over `of` repetitions; for a single one its own error.
        of: number of repetitions whose mean is printed.
    """
    theirs = float(pd.to_numeric(printed, errors="coerce"))
    if math.isnan(reference.mean) or math.isnan(theirs):
        return Judgement(math.nan, NOTHING)
    low, high = rounded(printed)
    errors = _errors_of_means if of > 1 and spread > 0 else _errors_of_a_draw
    variances = errors(reference, spread, of)
    if not variances or math.isinf(reference.mean):
        slack = 1e-9 * (high - low)
        is_inside = low - slack <= reference.mean <= high + slack
        return Judgement(math.nan, AGREES if is_inside else DIFFERS)
    variance = sum(error for error, _ in variances) + (high - low) ** 2 / 12
    z = (reference.mean - theirs) / math.sqrt(variance)
    inverse_freedom = sum(error**2 / freedom for error, freedom in variances)
    critical, p = CRITICAL, float(2 * norm.sf(abs(z)))
    if inverse_freedom:
        freedom = variance**2 / inverse_freedom
        critical, p = float(student.ppf(0.975, freedom)), float(2 * student.sf(abs(z), freedom))
    is_inside = abs(z) <= critical
    is_noisy = critical * reference.error > abs(theirs) > 0
    verdict = AGREES if is_inside else DIFFERS
    if is_noisy and (is_inside or reference.sd > abs(reference.mean)):
        verdict = UNCLEAR
    width = critical * math.sqrt(variance) / abs(theirs) if theirs else math.inf
    return Judgement(z, verdict, p, width)


def spread_test(reference: Reference, spread: float, of: int) -> tuple[float, float]:
    """(printed over our standard deviation, two-sided p of the F test); NaN where one is missing.

    It reads "(SE)" as a standard deviation over `of` data sets.
    """
    if of < 2 or not (reference.sd > 0 and spread > 0 and reference.repetitions > 1):
        return math.nan, math.nan
    ratio, freedom = spread / reference.sd, (of - 1, reference.repetitions - 1)
    below = float(variance_ratio.cdf(ratio**2, *freedom))
    return ratio, 2 * min(below, 1 - below)


def rounded(printed: str) -> tuple[float, float]:
    """(lowest, highest) number that rounds to the printed digits."""
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return float(printed) - half, float(printed) + half


def number(value: float) -> str:
    """Two decimals, or three figures where that says too little or too much; "-" for NaN."""
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if value == 0 or 0.01 <= abs(value) < 1e4 else f"{value:.3g}"
