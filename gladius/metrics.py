"""How far an estimated reward is from the truth. The exhibits call this, never an estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gladius.checks import Array, InputError, check_finite
from gladius.transitions import Transitions


class RewardFunction(Protocol):
    """Anything with a reward of (n, d) features and (n,) actions."""

    def reward(self, states: Array, actions: NDArray[np.int64]) -> Array: ...


def mape(
    estimate: RewardFunction,
    test: Transitions,
    truth: Callable[[Array, NDArray[np.int64]], Array],
) -> float:
    """The paper's MAPE in per cent: mean of |r-hat - r| / |r| over the test pairs, times 100."""
    counts = test.pairs()
    true = check_finite("truth", truth(counts.states, counts.actions))
    if true.shape != counts.actions.shape:
        hint = f"return one reward for each of {len(counts.actions)} pairs"
        raise InputError("truth", true.shape, hint)
    if np.any(true == 0):
        raise InputError("truth", 0.0, "MAPE is undefined where the true reward is zero")
    error = np.abs(estimate.reward(counts.states, counts.actions) - true) / np.abs(true)
    return float(100 * np.average(error, weights=counts.weights))
