"""Whether a fit is to be trusted: do its choices agree with the data, and do they say enough?

A fit is held against frequencies. On counts these are the frequencies of every state; on
observations those of the bins of each input, selected or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, log_softmax, xlogy

from gladius.model.estimate import FAR_OFF
from gladius.panel.record import Counts, Integers
from gladius.validate import Array

if TYPE_CHECKING:
    from gladius.erm.observations.features import Inputs

BINS = 20  # of an input
DOUBTFUL = 1e-4  # p-value of a warning, over the number of inputs
REJECTED = 1e-8  # p-value of a status that is not ok
MISFIT = 1e-4  # of chi-square an observation, about .03 of log-odds: less does not matter
PER_COEFFICIENT = 10  # observations that a coefficient of r, and a monomial's action, must have
RARE = "an action is too rare"
MIN_CHOICE_RANDOMNESS = 1e-4  # mean of 1 - sum pi^2 below which choices leave r undetermined


def is_worse_than_frequencies(counts: Counts, q: Array) -> NDArray[np.bool_]:
    """(R,) whether frequencies are likelier than Q (R, S, A) by far more than chance explains.

    Twice the gain is compared with a chi-square that has as many degrees of freedom as there are
    pairs visited beyond one a state.
    """
    visits, seen = counts.visits, counts.seen
    deviance = np.sum(xlogy(visits, visits) - visits * log_softmax(q, axis=2), axis=(1, 2))
    deviance -= np.sum(xlogy(seen, seen), axis=1)
    freedom = np.sum(visits > 0, axis=(1, 2)) - np.sum(seen > 0, axis=1)
    return np.asarray(2 * deviance > freedom + FAR_OFF * np.sqrt(2 * freedom))


def misfit_p_values(
    inputs: Inputs, actions: Integers, policy: Array, others: Sequence[int]
) -> dict[int, float]:
    """For each input the p-value of the choices less the fit along it.

    In bins of an input the choices less their probabilities are squared over their variance, or
    over 1 where that is less: one choice where few are expected is no chi-square. The sum is
    compared with a chi-square with one degree of freedom for each bin and action. An input of up to
    BINS values has a bin for each, any other BINS equally full ones. A sum below MISFIT an
    observation does not matter, and has the p-value 1.

    Args:
        inputs: all of them.
        actions: (n,).
        policy: (n, A) the fit's choice probabilities.
        others: the actions but the anchor.
    """
    shares = np.arange(1, BINS) / BINS
    edges = np.quantile(inputs.sample, shares, axis=0, method="inverted_cdf").T
    found = {}
    for k, of_input in enumerate(edges):
        x, values = inputs.states[:, k], np.unique(inputs.sample[:, k])
        if len(values) <= BINS:
            bins = np.searchsorted(values, x).clip(0, len(values) - 1)
        else:
            # halfway between both sides: a rare value has a bin apart from the usual one
            sides = [np.searchsorted(of_input, x, side) for side in ("left", "right")]
            bins = (sides[0] + sides[1]) // 2
        freedom, statistic = np.count_nonzero(np.bincount(bins)) * len(others), 0.0
        for a in others:
            pi = policy[:, a]
            errors = np.bincount(bins, (actions == a) - pi, BINS)
            variance = np.bincount(bins, pi * (1 - pi), BINS)
            statistic += np.sum(errors**2 / np.maximum(variance, 1.0))
        found[k] = float(chdtrc(freedom, statistic)) if statistic > MISFIT * len(actions) else 1.0
    return found


def of_choices(visits: Array, policy: Array, nll: float) -> dict[str, bool]:
    """Reasons against a fit, and whether each holds: choices too certain, or too unlikely.

    Args:
        visits: (S, A) n(s, a).
        policy: (S, A) the fit's choice probabilities.
        nll: its negative log-likelihood, a sum.
    """
    size, seen = visits.sum(), visits.sum(axis=1)
    randomness = seen @ (1 - np.sum(policy**2, axis=1)) / size
    nll_of_uniform_policy = size * np.log(policy.shape[1]) * (1 + 1e-9)
    return {
        "choices are all but certain": bool(randomness <= MIN_CHOICE_RANDOMNESS),
        "choices are less likely than under the uniform policy": not nll <= nll_of_uniform_policy,
    }
