"""Whether r depends on many inputs at once in a way that no input and no pair of them shows.

A function of an index w'z of the standardised inputs bends a little in each pair of them, and the
products of pairs that a fit may have take most of that away. The choices themselves still show w:
with y the choice of an action less its regression on z, E[y z z'] is large along w w' (principal
Hessian directions, Li 1992, doi:10.1080/01621459.1992.10476258). Half of the paths gives the
directions, and along them the choices and next values of the other half are held against the fit in
bins, so that the search costs the test nothing.

Directions are those of choices and of next values, and those of what the fit leaves of both. Where
an index bends nowhere on average its function is a misfit along the fitted log-odds, and along
these all choices are tested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gladius.own_data.erm.misfit import BINS, Deviations, equally_full
from gladius.panel.ties import TIE
from gladius.validate import Array

MANY = 3  # columns, from which on there is more than a pair
DIRECTIONS = 3  # of an outcome
MOST_ROWS = 200_000  # that are looked at
CLIP = 3.0  # standard deviations, beyond which a few rows would decide a direction


def p_value_of_many(
    z: Array,
    half: NDArray[np.bool_],
    outcomes: Sequence[Array],
    log_odds: Sequence[Array],
    of: Callable[[NDArray[np.bool_]], Deviations],
) -> float:
    """The least p-value of the tests along indices of all inputs, times their number.

    Args:
        z: (n, K) standardised inputs.
        half: (n,) in which half the path of each observation is.
        outcomes: (n,) each, of which the directions are.
        log_odds: (n,) each, of the fit.
        of: gives what is tested of some observations, (n,) true of them.
    """
    every = of(np.ones_like(half))
    found = [every.p_of_choices(equally_full(x, x, BINS)) for x in log_odds]
    z = z.clip(-CLIP, CLIP)
    for asked in (half, ~half):
        directions = principal_directions(z[~asked], [y[~asked] for y in outcomes])
        of_half = of(asked)
        for index in (z[asked] @ directions).T:
            bins = equally_full(index, index, BINS)
            found += [of_half.p_of_choices(bins), of_half.p_of_values(bins)]
    return min(1.0, len(found) * min(found))


def principal_directions(z: Array, outcomes: Sequence[Array]) -> Array:
    """(K, D) directions along which each y of the outcomes bends most, those of the first y first.

    They are the eigenvectors of E[y z z'] with the largest values. z are taken to mean 0 and to the
    identity as their covariance, and y less its regression on z.
    """
    z = z - z.mean(axis=0)
    spread, axes = np.linalg.eigh(z.T @ z / len(z))
    is_free = spread > TIE * spread[-1]
    root = axes[:, is_free] / np.sqrt(spread[is_free])
    white, found = z @ root, []
    for y in outcomes:
        rest = y - y.mean() - white @ (white.T @ y / len(z))
        values, vectors = np.linalg.eigh(white.T @ (rest[:, None] * white))
        first = np.argsort(-np.abs(values), kind="stable")[:DIRECTIONS]
        found.append(root @ vectors[:, first])
    return np.concatenate(found, axis=1)
