"""Two values that several methods take: the form of the reward, and known transition probabilities.

`LinearReward` is the form r(s, a) = design(s, a)' theta + offset(s, a) that a parametric method
needs. `KnownTransitions` are the transition probabilities of an oracle.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gladius.validate import Array, InputError, asked, check_finite, check_rows

TableFunction = Callable[[Array], Array]
FORBIDDEN = -1e4  # of an action that cannot be chosen: its exponential is zero beside any other


@dataclass(frozen=True)
class LinearReward:
    """The form of the reward up to theta.

    Attributes:
        design: maps (n, d) features to (n, A, k); a function that can be pickled if the estimate
            is to be.
        offset: maps (n, d) features to (n, A), the known part of the reward; by default 0.
        names: of the k parameters, for summaries.
    """

    design: TableFunction
    offset: TableFunction | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, function in [("design", self.design), ("offset", self.offset)]:
            if not callable(function) and not (name == "offset" and function is None):
                hint = "give a function of (n, features), as it is called at other states as well"
                raise InputError(f"reward.{name}", function, hint)

    def tables(self, states: Array, actions: int) -> tuple[Array, Array]:
        """(design (n, A, k), offset (n, A)) at (n, d) features, their shapes checked."""
        design = check_finite("reward.design", asked("reward.design", self.design, states))
        if design.ndim != 3 or design.shape[:2] != (len(states), actions) or design.shape[2] == 0:
            hint = f"return shape ({len(states)}, {actions}, parameters)"
            raise InputError("reward.design", design.shape, hint)
        if self.offset is None:
            return design, np.zeros((len(states), actions))
        offset = check_finite("reward.offset", asked("reward.offset", self.offset, states))
        if offset.shape != (len(states), actions):
            hint = f"return shape ({len(states)}, {actions})"
            raise InputError("reward.offset", offset.shape, hint)
        return design, offset


@dataclass(frozen=True)
class RewardFunction:
    """(n, d) features -> (n, A) rewards of a form at one theta (k,)."""

    form: LinearReward
    theta: Array
    actions: int

    def __call__(self, states: Array) -> Array:
        design, offset = self.form.tables(states, self.actions)
        return np.asarray(offset + design @ self.theta)


@dataclass(frozen=True)
class KnownTransitions:
    """The true transition probabilities, an oracle's knowledge.

    Attributes:
        probabilities: (A, S, S) P_a(s, s'); a row loses the probability of an end.
        grid: (S, d) features of the states.
    """

    probabilities: Array
    grid: Array

    def __post_init__(self) -> None:
        grid = check_finite("transition.grid", self.grid)
        if grid.ndim != 2 or 0 in grid.shape:
            raise InputError("transition.grid", grid.shape, "give shape (states, features)")
        if len(np.unique(grid, axis=0)) != len(grid):
            raise InputError("transition.grid", grid.shape, "two states have the same features")
        given = check_finite("transition.probabilities", self.probabilities)
        size = len(grid)
        if given.ndim != 3 or given.shape[1:] != (size, size):
            hint = f"give shape (actions, states, states) = (A, {size}, {size})"
            raise InputError("transition.probabilities", given.shape, hint)
        check_rows("transition.probabilities", given)
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "probabilities", given)


def intercepts_and_slopes(actions: int, anchor_action: int, states: Array) -> Array:
    """(n, A, (A - 1)(1 + d)) design: a constant and a slope for each feature, for each action.

    The anchor's action has none. Each other action has parameters of its own, in order.
    """
    terms = np.column_stack([np.ones(len(states)), states])
    others = [a for a in range(actions) if a != anchor_action]
    design = np.zeros((len(states), actions, len(others), terms.shape[1]))
    for position, action in enumerate(others):
        design[:, action, position] = terms
    return design.reshape(len(states), actions, -1)


def anchor_offset(actions: int, anchor_action: int, reward: float, states: Array) -> Array:
    """(n, A) offset: a constant reward of the anchor's action, 0 elsewhere."""
    offset = np.zeros((len(states), actions))
    offset[:, anchor_action] = reward
    return offset


def linear_in_features(
    actions: int, anchor_action: int, anchor_reward: float, features: Sequence[str] = ()
) -> LinearReward:
    """The form with a constant and a slope for each feature, for each action but the anchor.

    `features` are their names, for the names of the parameters.
    """
    others = [a for a in range(actions) if a != anchor_action]
    terms = ("constant", *features) if features else ()
    return LinearReward(
        partial(intercepts_and_slopes, actions, anchor_action),
        partial(anchor_offset, actions, anchor_action, anchor_reward),
        tuple(f"{term}, action {a}" for a in others for term in terms),
    )
