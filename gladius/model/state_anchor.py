"""An anchor action that depends on the state, the paper's a_s.

In each state the numbers of a_s and of action 0 are exchanged. Action 0 is then the anchor in
every state, so a method needs no code of its own. Its answers are exchanged back.
This needs every action in every state, or another state's choices of another action would be
borrowed. The class `smooth` compares neighbouring states: where a_s changes, two actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from gladius.model.estimate import Estimate, StateFunction
from gladius.panel.anchor import Column as Column
from gladius.panel.anchor import named_column, state_table
from gladius.panel.record import Transitions, index_rows
from gladius.validate import Array, InputError, Integers, asked

ANSWERS = ("plug_in", "profiled_erm")  # methods that take such an anchor

AnchorAction = int | str | Integers | Callable[[Array], Array]


@dataclass(frozen=True)
class Exchange:
    """Exchanges a_s and action 0 in each state; done twice it changes nothing.

    Attributes:
        action: maps (n, d) features to (n,) a_s.
        actions: number of them.
    """

    action: StateFunction
    actions: int

    def index(self, states: Array) -> Integers:
        """(n,) a_s."""
        found = np.asarray(asked("anchor_action", self.action, states))
        is_number = found.dtype.kind in "biuf" and found.shape == (len(states),)
        is_whole = is_number and np.all(found == np.round(found))
        if not is_whole or np.any((found < 0) | (found >= self.actions)):
            hint = f"give one whole number from 0 to {self.actions - 1} for each state"
            raise InputError("anchor_action", found, hint)
        return found.astype(np.int64)

    def data(self, data: Transitions) -> Transitions:
        """The observations with exchanged actions.

        Raises:
            InputError: a_s varies, and some action is never taken in a state.
        """
        own, taken = self.index(data.states), data.actions
        states, (visited, _) = index_rows([data.states, data.next_states[~data.done]])
        times = np.zeros((len(states), self.actions))
        np.add.at(times, (visited, taken), 1.0)
        if len(np.unique(self.index(states))) > 1 and np.any(times == 0):
            state, action = np.argwhere(times == 0)[0]
            where = f"action {action} never occurs in state {states[state].tolist()}"
            hint = f"{where}: an anchor that depends on the state needs every action in every state"
            raise InputError("anchor_action", "by state", hint)
        return replace(data, actions=np.where(taken == own, 0, np.where(taken == 0, own, taken)))

    def table(self, states: Array, table: Array) -> Array:
        """(n, A) a table with exchanged columns."""
        rows, own = np.arange(len(states)), self.index(states)
        new = np.array(table)
        new[rows, own], new[rows, 0] = table[:, 0], table[rows, own]
        return new

    def estimate(self, estimate: Estimate) -> Estimate:
        """An estimate of the exchanged problem, in the numbers of the user's actions."""
        functions = (estimate.q_function, estimate.reward_function)
        q, reward = (Exchanged(function, self) for function in functions)
        return replace(estimate, q_function=q, reward_function=reward)


@dataclass(frozen=True)
class Exchanged:
    """(n, d) features -> (n, A), a table of the exchanged problem with its columns exchanged."""

    function: StateFunction
    exchange: Exchange

    def __call__(self, states: Array) -> Array:
        return self.exchange.table(states, self.function(states))


def read_anchor_action(
    data: Sequence[Transitions], given: AnchorAction
) -> tuple[int, Exchange | None]:
    """The number of the anchor action; and the exchange that makes it the anchor everywhere.

    Args:
        data: replications.
        given: a number, an action's name, the name of a feature or carried column that has the
            number, a function of the features, or (one data set) a number for each observation.
    """
    one = data[0]
    action: Any = given
    if isinstance(given, str):
        if given in one.action_names:
            return one.action_names.index(given), None
        action = named_column(data, given, "anchor_action")
    elif not callable(given):
        if np.ndim(given) == 0:
            if str(given) in one.action_names and one.action_names.index(str(given)) != given:
                hint = f"a number or a label? give the label as text, of {one.action_names}"
                raise InputError("anchor_action", given, hint)
            return cast("int", given), None  # make_anchor checks it
        action = state_table(data, np.asarray(given), "anchor_action")
    return 0, Exchange(action, one.number_of_actions)
