"""Tests of means for comparisons of our own: Student's interval, paired differences, Holm.

An observation is one repetition: a data set, or a training seed. Two methods are compared on
the same data sets, by the differences d of their numbers, mean(d) / (sd(d) / sqrt(n)). A family
of tests has a family-wise error of at most its level by Holm's step-down rule.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from gladius.validate import Array
from reproduce.paper.verdicts import OnTarget

LEVEL = 0.95  # of an interval
ONE_SIDED = 0.025  # level of each of the two families of `verdicts`


def repetitions(sd: float, margin: float, tests: int = 1) -> int:
    """The least number that makes the half width of an interval `margin` or less.

    This is the rule behind every number of data sets: n >= (z sd / margin)^2. `sd` is that of one
    repetition, from a completed run; `margin` is the distance from its mean to the value at which
    the verdict changes. The verdict is one of `tests` that Holm's rule corrects together.
    """
    z = float(stats.norm.isf(ONE_SIDED / tests))
    return math.ceil((z * sd / margin) ** 2)


def interval(x: Array) -> tuple[float, float, float]:
    """(mean, low, high) by Student's t; the ends are NaN for fewer than two repetitions."""
    mean = float(x.mean())
    if len(x) < 2:
        return mean, math.nan, math.nan
    half = stats.t.ppf((1 + LEVEL) / 2, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))
    return mean, mean - half, mean + half


def paired(x: Array, y: Array) -> tuple[float, float, float]:
    """(mean of x - y, its standard error, two-sided p-value of Student's t)."""
    difference = x - y
    mean = float(difference.mean())
    se = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    if se == 0.0:  # the same difference in every pair
        return mean, se, 1.0 if mean == 0.0 else 0.0
    return mean, se, float(2 * stats.t.sf(abs(mean) / se, len(difference) - 1))


def holm(p: Array) -> Array:
    """(n,) adjusted p-values, whose rejections have a family-wise error of at most the level."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def target_test(mean: float, se: float, low: float, high: float) -> tuple[float, float]:
    """p-values of two hypotheses: the true mean is outside [low, high], and it is inside.

    Either end may be infinite. Both are 1 where the mean or its standard error is unknown.
    """
    if math.isnan(mean) or math.isnan(se):
        return 1.0, 1.0
    if se == 0.0:
        is_inside = low <= mean <= high
        return float(not is_inside), float(is_inside)
    above_low, above_high = (mean - low) / se, (mean - high) / se
    ends = math.isfinite(low) + math.isfinite(high)
    outside = float(max(stats.norm.sf(above_low), stats.norm.cdf(above_high)))
    nearest = min(stats.norm.cdf(above_low), stats.norm.sf(above_high))
    return outside, float(min(1.0, ends * nearest))


def verdicts(p_values: Sequence[tuple[float, float]]) -> list[OnTarget]:
    """MET (inside), MISSED (outside) or UNDECIDED for each pair of `target_test`.

    Holm's rule corrects each of the two families, so any wrong MET has a probability of at most
    ONE_SIDED, and so has any wrong MISSED.
    """
    if not p_values:
        return []
    outside, inside = (holm(np.array(family)) for family in zip(*p_values, strict=True))
    words = []
    for p_outside, p_inside in zip(outside, inside, strict=True):
        if p_outside <= ONE_SIDED:
            words.append(OnTarget.MET)
        else:
            words.append(OnTarget.MISSED if p_inside <= ONE_SIDED else OnTarget.UNDECIDED)
    return words
