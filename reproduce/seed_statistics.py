"""Comparisons of methods whose unit is the training seed, never the episode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from gladius.checks import Array

LEVEL = 0.95
RESAMPLES = 2000
DRAWS = 9999  # of signs, where there are more than 13 pairs


def interval(x: Array) -> tuple[float, float, float]:
    """(mean, low, high) over seeds, by Student's t; no interval of fewer than two."""
    mean = float(x.mean())
    if len(x) < 2:
        return mean, np.nan, np.nan
    half = stats.t.ppf((1 + LEVEL) / 2, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))
    return mean, mean - half, mean + half


def interquartile_mean(
    strata: Sequence[Array], rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[float, float, float]:
    """(mean of the middle half of all seeds, low, high), by the percentiles of a bootstrap.

    Seeds are resampled within their stratum. A seed weighs by one over its stratum's size, so that
    a cell with thirty seeds tells no more than one with ten.
    """
    weights = np.concatenate([np.full(len(x), 1 / len(x)) for x in strata])
    draws = [_middle(np.concatenate(strata), weights)]
    for _ in range(resamples):
        draws.append(_middle(np.concatenate([rng.choice(x, len(x)) for x in strata]), weights))
    low, high = np.quantile(draws[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return draws[0], float(low), float(high)


def _middle(x: Array, weights: Array) -> float:
    """Weighted mean of x between its weighted quartiles."""
    order = np.argsort(x, kind="stable")
    upper = np.cumsum(weights[order]) / weights.sum()
    lower = np.concatenate([[0.0], upper[:-1]])
    inside = np.clip(np.minimum(upper, 0.75) - np.maximum(lower, 0.25), 0.0, None)
    return float(inside @ x[order] / inside.sum())


def improvement(x: Array, y: Array) -> float:
    """Probability that a seed of x beats one of y, ties counting half (Mann and Whitney)."""
    return float(stats.mannwhitneyu(x, y).statistic / (len(x) * len(y)))


def paired(x: Array, y: Array) -> tuple[float, float, float]:
    """(mean of x - y, its standard error, two-sided p of Student's t), seeds in pairs."""
    gap = x - y
    mean, se = float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))
    if se == 0.0:  # the same in every pair
        return mean, se, 1.0 if mean == 0.0 else 0.0
    return mean, se, float(2 * stats.t.sf(abs(mean) / se, len(gap) - 1))


def lower_bound(x: Array, y: Array, comparisons: int) -> float:
    """Of the mean of x - y, Student's, so that all of so many bounds hold together (Bonferroni)."""
    mean, se, _ = paired(x, y)
    return mean - float(stats.t.ppf(1 - (1 - LEVEL) / comparisons, len(x) - 1)) * se


def exchanged(x: Array, y: Array) -> float:
    """Two-sided p of the mean of x - y were each pair's sign a coin's; exact for few pairs."""
    test = stats.permutation_test(
        (x - y,), np.mean, permutation_type="samples", n_resamples=DRAWS, rng=0
    )
    return float(test.pvalue)


def holm(p: Array) -> Array:
    """Adjusted p-values: p <= level keeps the probability of any false finding below the level."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def variances(first: Array, second: Array, episodes: Array) -> tuple[float, float, float]:
    """Variance of a seed's mean by its sources: demonstrations, training, episodes.

    Args:
        first, second: (R,) of two trainings on the same demonstrations, episodes in common.
        episodes: (R, E) the first's returns.

    The covariance of the two trainings is the demonstrations'; it may come out below zero. Half the
    mean square of their difference is the training's, with what does not cancel of the episodes'.
    The last is the sample variance over E: by how much other episodes would move the mean.
    """
    of_training = float(np.mean((first - second) ** 2) / 2)
    of_demonstrations = float(np.cov(first, second)[0, 1])
    return (
        of_demonstrations,
        of_training,
        float(np.mean(episodes.var(axis=1, ddof=1)) / episodes.shape[1]),
    )
