"""The distance of an estimated reward from the true one. No estimator calls this."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gladius.panel.record import Transitions
from gladius.validate import Array, InputError, check_finite


class HasReward(Protocol):
    """Anything with a reward of (n, d) features and (n,) actions."""

    def reward(self, states: Array, actions: NDArray[np.int64]) -> Array: ...


def mape(
    estimate: HasReward,
    test: Transitions,
    truth: Callable[[Array, NDArray[np.int64]], Array],
) -> float:
    """The paper's MAPE in per cent: mean of |r-hat - r| / |r| over the test pairs, times 100."""
    pairs = test.pairs()
    reward = check_finite("truth", truth(pairs.states, pairs.actions))
    if reward.shape != pairs.actions.shape:
        hint = f"return one reward for each of {len(pairs.actions)} pairs"
        raise InputError("truth", reward.shape, hint)
    if np.any(reward == 0):
        raise InputError("truth", 0.0, "MAPE is undefined where the true reward is zero")
    return percentage_error(estimate.reward(pairs.states, pairs.actions), reward, pairs.weights)


def percentage_error(estimated: Array, reward: Array, weights: Array | NDArray[np.int64]) -> float:
    """The weighted mean of |r-hat - r| / |r| in per cent; the three arrays have one shape."""
    error = np.abs(estimated - reward) / np.abs(reward)
    return float(100 * np.average(error, weights=weights))
