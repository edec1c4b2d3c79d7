"""Whether an action that a state lacks is rare there or not available, as a logit tells."""

from __future__ import annotations

import numpy as np

from gladius.panel.record import Integers, index_rows
from gladius.solvers.choice_logit import maximise
from gladius.validate import Array

MOST_SQUARED = 5  # features up to which their squares and products are in the logit
SPANS = 100.0  # ratio of a positive column's ends, from which its log is an input too


def chances(states: Array, seen: Integers, taken: Integers) -> Array:
    """(S,) the chance of an action, `taken` so often of `seen`, by a logit of the features.

    Up to MOST_SQUARED features it has their squares and products, and the log of positive ones that
    span two orders of magnitude. It cannot follow a choice set: where the action is rare its chance
    falls step by step over the states, but where it is not available at once. Labels can follow
    one, so that columns of two values are left out where the action never occurs at some of them
    together. Each coefficient has two choices of its own, one each way, as a prior.
    """
    low, high = states.min(axis=0), states.max(axis=0)
    is_label = np.all((states == low) | (states == high), axis=0)
    _, (label,) = index_rows([states[:, is_label]])
    keeps_labels = np.all(np.bincount(label, taken) > 0)
    columns = [*states[:, (low < high) & (keeps_labels | ~is_label)].T]
    columns += [np.log(x) for x in columns if x.min() > 0 and x.max() >= SPANS * x.min()]
    z = np.column_stack([np.ones(len(states)), *((x - x.mean()) / x.std() for x in columns)])
    if len(columns) <= MOST_SQUARED:
        first, second = np.triu_indices(len(columns))
        z = np.column_stack([z, z[:, 1 + first] * z[:, 1 + second]])
    rows = np.concatenate([z, np.eye(z.shape[1])[1:]])
    visits = np.concatenate(
        [np.column_stack([taken, seen - taken]), np.ones((z.shape[1] - 1, 2))], dtype=np.float64
    )
    contrasts = np.stack([rows, np.zeros_like(rows)], axis=1)
    fit = maximise(visits[None], contrasts, np.zeros_like(visits))
    return np.asarray(np.exp(fit.log_policy[0, : len(states), 0]))


def lacks_by_chance(states: Array, seen: Integers, taken: Integers) -> Array:
    """(S,) the chance that none of the `seen` rows of a state has the action."""
    return np.asarray((1 - chances(states, seen, taken)) ** seen)
