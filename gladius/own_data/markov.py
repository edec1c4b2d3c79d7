"""Is the state a state? Tests of the Markov assumption by the history that it leaves out.

If choices and transitions depend on the present state alone, then the state before, the action
before and the person's past choices add nothing to it. They are added as further features, and the
score tests of the class `sparse` (`erm.observations.score_tests`) look for them. What they find,
and what is confirmed among observations with the same state, is a sign of unobserved types or of a
hidden state: then no method of this library is valid.

Source: the conditional independence assumption of Rust (1987).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from scipy.special import chdtrc

from gladius.model.choice_sets import Available, sets_of, with_choice_sets
from gladius.model.estimate import StateFunction
from gladius.own_data.door import fit
from gladius.own_data.erm.misfit import BINS, DOUBTFUL, bins_of
from gladius.panel.anchor import AnchorReward
from gladius.panel.record import Transitions, action_labels
from gladius.validate import Array, InputError, Integers

SHORT = 40  # periods of a path, below which an answer says what its power is
CONFIRMED = 0.001  # p-value in cells of the state


@dataclass(frozen=True)
class MarkovCheck:
    """What of the history matters beside the state.

    Attributes:
        choices: names of the histories on which choices depend; none if the data look Markov.
        transitions: likewise for the next value.
        observations: number that were tested.
        periods: median length of the trajectories, on which its power depends.
    """

    choices: tuple[str, ...]
    transitions: tuple[str, ...]
    observations: int
    periods: float

    @property
    def is_markov(self) -> bool:
        """Whether nothing was found; that is no proof."""
        return not self.choices and not self.transitions

    def __str__(self) -> str:
        if self.is_markov:
            message = f"no sign against the Markov assumption in {self.observations:,} observations"
            if self.periods < SHORT:
                message += f"; paths of {self.periods:g} periods show few unobserved types"
            return message
        outcomes = {"choices": self.choices, "the next value": self.transitions}
        found = [f"{what} with {', '.join(names)}" for what, names in outcomes.items() if names]
        return f"unobserved types or a hidden state are likely: given the state, {'; '.join(found)}"


def check_markov(
    data: Transitions,
    *,
    anchor_action: int,
    anchor_reward: AnchorReward,
    discount: float,
    available: Available | None = None,
) -> MarkovCheck:
    """Test whether the past matters for choices or transitions, given the state.

    Args:
        data: observations in order of time within each trajectory, as `from_frame` makes them.
        anchor_action, anchor_reward, discount, available: as in `gladius.fit`.

    Raises:
        InputError: fewer than two observations in a row anywhere.
    """
    if not isinstance(data, Transitions):
        raise InputError("data", type(data).__name__, "give Transitions, as from_frame makes them")
    histories, names = _histories(data)
    follows = np.flatnonzero(~np.isnan(histories[:, 0]))
    continues = data.followed & ~data.done
    is_kept = np.isin(follows + 1, follows) | ~continues[follows]
    rows = follows[is_kept]
    if len(rows) < 2:
        raise InputError("trajectory", len(rows), "give trajectories of three periods or more")
    after = np.where(continues[rows], rows + 1, rows)
    augmented = Transitions(
        np.column_stack([data.states[rows], histories[rows]]),
        data.actions[rows],
        np.column_stack([data.next_states[rows], histories[after]]),
        data.trajectory[rows],
        data.done[rows],
        data.number_of_actions,
        (*data.feature_names, *names),
        action_names=data.action_names,
        followed=data.followed[rows],
    )
    width, reward = data.states.shape[1], anchor_reward
    if callable(anchor_reward):
        reward = partial(_of_state, anchor_reward, width)
    elif np.ndim(anchor_reward):
        reward = np.asarray(anchor_reward)[rows]
    given: dict[str, Any] = {
        "anchor_action": anchor_action,
        "anchor_reward": reward,
        "discount": discount,
    }
    if available is not None:
        sets = sets_of(with_choice_sets([data], available)[0])
        given["available"] = partial(_of_state, cast("StateFunction", sets), width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say of a history is reported below
        extra = cast(
            "dict[str, Any]", fit(augmented, function_class="sparse", **given).diagnostics.extra
        )
    misfit = {k: p for k, p in extra["misfit_p_values"].items() if not isinstance(k, tuple)}
    doubtful = [k for k, p in misfit.items() if p < DOUBTFUL / len(misfit)]
    chosen = sorted({*extra["reward_inputs"], *doubtful}), extra["zeta_inputs"]
    from gladius.own_data.erm.observations.features import Inputs  # torch, which `fit` asked for

    inputs, actions = Inputs.of(augmented.states), augmented.actions
    state = np.stack([bins_of(inputs, k, BINS, BINS) for k in range(width)])
    cells = [np.unique(rows, axis=1, return_inverse=True)[1] for rows in (state, [*state, actions])]
    choices = np.eye(data.number_of_actions)[actions]
    following = np.column_stack([augmented.next_states[:, :width], augmented.done])
    following = np.where(augmented.followed[:, None], following, np.nan)
    outcomes = (choices, cells[0]), (following, cells[1])
    found = [
        tuple(
            augmented.feature_names[k]
            for k in one
            if k >= width and matters_in_cells(augmented.states[:, k], *outcome)
        )
        for one, outcome in zip(chosen, outcomes, strict=True)
    ]
    periods = float(np.median(np.unique(data.trajectory, return_counts=True)[1]))
    return MarkovCheck(found[0], found[1], len(rows), periods)


def matters_in_cells(history: Array, outcome: Array, cells: Integers) -> bool:
    """Whether a history, or its square, moves an outcome where the state is the same.

    The score tests compare within a polynomial of the state. What that leaves out of the state is
    in the history too, and is no sign of types.

    Args:
        history: (n,).
        outcome: (n, m) columns, NaN where they were not observed.
        cells: (n,) of the state, and of the action for next values.
    """
    seen = np.isfinite(outcome[:, 0])
    cells, columns = cells[seen], np.column_stack([history, history**2, outcome])[seen]
    sums = np.stack([np.bincount(cells, x) for x in columns.T])
    within = columns.T - (sums / np.maximum(np.bincount(cells), 1))[:, cells]
    products = within[:2, None] * within[None, 2:]
    score, squares = products.sum(axis=2), (products**2).sum(axis=2)
    largest = np.max(score**2 / np.maximum(squares, 1e-300))
    return bool(score.size * chdtrc(1, largest) < CONFIRMED)


def _of_state(reward: StateFunction, width: int, states: Array) -> Array:
    """The anchor's reward, or the choice sets, which know no history."""
    return reward(states[:, :width])


def _histories(data: Transitions) -> tuple[Array, list[str]]:
    """(n, h) the state, the action and the shares of actions before; NaN in a first period."""
    first = np.append(True, data.trajectory[1:] != data.trajectory[:-1])
    breaks = np.append(False, np.any(data.next_states[:-1] != data.states[1:], axis=1))
    first |= breaks | np.append(False, (data.done | ~data.followed)[:-1])
    start = np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))
    before = np.arange(len(first)) - start
    columns, names = [], []
    for k, name in enumerate(data.feature_names):
        columns.append(np.append(np.nan, data.states[:-1, k]))
        names.append(f"{name} before")
    labels = action_labels(data)
    for action in range(1, data.number_of_actions):
        took = (data.actions == action).astype(float)
        columns.append(np.append(np.nan, took[:-1]))
        names.append(f"{labels[action]} before")
        total = np.append(0.0, np.cumsum(took))[:-1]
        columns.append((total - total[start]) / np.maximum(before, 1))
        names.append(f"share of {labels[action]} before")
    histories = np.column_stack(columns)
    histories[first] = np.nan
    return histories, names
