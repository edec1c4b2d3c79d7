"""The leak of the `author` protocol that chooses the epoch: its test MAPE by the true reward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gladius.author_steps import Network, forward, order_of_appearance
from gladius.checks import Array, InputError
from gladius.transitions import Integers, Transitions, group


@dataclass(frozen=True)
class Oracle:
    """The leak: what the choice of the epoch by true error needs to know.

    Attributes:
        test: a test split for each replication.
        truth: the true r of (n, d) features and (n,) actions.
    """

    test: Sequence[Transitions]
    truth: Callable[[Array, Integers], Array]


def exam(
    oracle: Oracle, number: int, trajectories: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """(states (R, S, d), weights (R, A, S), true rewards (A, S)) of the code's test MAPE.

    The code averages the means of test batches, of which the last may be smaller.
    """
    if len(oracle.test) != number:
        raise InputError(
            "oracle.test", f"{len(oracle.test)} splits", f"give one for each of {number}"
        )
    grid = group(oracle.test)
    weights = np.zeros_like(grid.visits)
    for r, one in enumerate(oracle.test):
        label = order_of_appearance(one.trajectory) // trajectories
        share = 1.0 / np.bincount(label)[label] / (label.max() + 1)
        at = np.argmax(np.all(one.states[:, None] == grid.states[None], axis=2), axis=1)
        np.add.at(weights[r], (at, one.actions), share)
    actions = np.arange(weights.shape[2])
    pairs = np.repeat(grid.states, len(actions), axis=0), np.tile(actions, len(grid.states))
    truth = np.asarray(oracle.truth(*pairs)).reshape(len(grid.states), -1).T
    if np.any(truth == 0):
        raise InputError("oracle.truth", 0.0, "MAPE is undefined where the true reward is zero")
    states = np.broadcast_to(grid.states, (number, *grid.states.shape)).copy()
    arrays = states, np.swapaxes(weights, 1, 2), truth
    # as many tensors as arrays: a generator hides their number from the type checker
    return tuple(torch.as_tensor(a, dtype=dtype) for a in arrays)  # type: ignore[return-value]


def mape(net: Network, paper: tuple[Tensor, ...], discount: float) -> Tensor:
    """(R,) test MAPE in per cent."""
    states, weights, truth = paper
    q, zeta, *_ = forward(net, states)
    error = torch.sub(q, zeta, alpha=discount).sub_(truth).div_(truth).abs_()
    return (error * weights).sum((1, 2)).mul_(100.0)
