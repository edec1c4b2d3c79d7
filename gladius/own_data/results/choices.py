"""How well a fit predicts choices: log-likelihoods a choice, residuals, hits, in and out of sample.

With pi-hat(a | s) the choice probabilities of a fit, the score of data is the mean of
log pi-hat(a | s) over their choices, as scikit-learn's `score` of a density is. McFadden's R2 is
1 - llf / llnull, where llnull has the shares of the actions in the data, whatever the state.
`results` is always a `gladius.Results`, whose module imports this one.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_softmax

from gladius.own_data.results.progress import progress
from gladius.panel.record import Transitions, action_labels
from gladius.validate import Array, InputError, Integers, check_whole, generator


def checked(results: Any, data: object) -> Transitions:
    """Data whose choices a fit can be asked for: those that it was fitted to where none are given.

    Raises:
        InputError: they are no Transitions, or have other features or actions than the fit's.
    """
    if data is None:
        return results.data  # type: ignore[no-any-return]  # Results, see above
    if not isinstance(data, Transitions):
        hint = "give Transitions, made as those of the fit were, or leave it out"
        raise InputError("data", type(data).__name__, hint)
    for name in ("feature_names", "number_of_actions", "action_names"):
        given, own = getattr(data, name), getattr(results.data, name)
        if given != own:
            hint = f"the fit has {own!r}: make these data as its were made"
            raise InputError(f"data.{name}", given, hint)
    return data


def log_likelihoods(estimate: Any, data: Transitions) -> Array:
    """(n,) log pi-hat(a | s) of each choice."""
    table = log_softmax(estimate.q(data.states), axis=1)
    return np.asarray(table[np.arange(len(data)), data.actions])


def response_residuals(results: Any) -> pd.DataFrame:
    """(n, A) one where the action was chosen, else zero, less its probability."""
    data = results.data
    chosen = np.eye(data.number_of_actions)[data.actions]
    columns = list(action_labels(data))
    return pd.DataFrame(chosen - results.policy(data.states), columns=columns)


def hit_table(results: Any, data: Transitions) -> pd.DataFrame:
    """(A, A) choices by the action chosen, a row each, and the likeliest action, a column each."""
    size, labels = data.number_of_actions, list(action_labels(data))
    likeliest = np.argmax(results.q(data.states), axis=1)
    cells = np.bincount(data.actions * size + likeliest, minlength=size**2).reshape(size, size)
    index, columns = pd.Index(labels, name="observed"), pd.Index(labels, name="predicted")
    return pd.DataFrame(cells, index=index, columns=columns)


def fold_of(data: Transitions, cv: int, rng: int | np.random.Generator) -> Integers:
    """(n,) the fold of each row: whole trajectories, shuffled, in folds of nearly equal number.

    Raises:
        InputError: there are fewer trajectories than folds.
    """
    number = check_whole("cv", cv, 2)
    names, label = np.unique(data.trajectory, return_inverse=True)
    if len(names) < number:
        hint = f"each fold needs a trajectory, and there are {len(names)}"
        raise InputError("cv", number, hint)
    return np.asarray((generator(rng).permutation(len(names)) % number)[label], dtype=np.int64)


def held_out(
    results: Any, cv: int, rng: int | np.random.Generator, verbose: bool | None = None
) -> tuple[Array, Integers]:
    """(n,) log pi-hat(a | s) of each choice by the fit to the other folds; and its (n,) fold.

    It is NaN in a fold whose refit failed, for one as the other folds lack an action.

    Warns:
        UserWarning: some refits are not ok.
    """
    data, fold = results.data, fold_of(results.data, cv, rng)
    values = np.full(len(data), np.nan)
    not_ok = 0
    with progress(f"cross-validation of {results.method}", cv, verbose) as advance:
        for k in range(cv):
            (found,) = results._refits([data.take(fold != k)], results._options)
            advance(1)
            failed = found is None or found.diagnostics.status.startswith("failed")
            not_ok += failed or not found.diagnostics.converged
            if not failed:
                values[fold == k] = log_likelihoods(found, data.take(fold == k))
    if not_ok:
        message = f"{not_ok} of {cv} refits are not ok; scores of those that failed are NaN"
        warnings.warn(message, stacklevel=4)
    return values, fold
