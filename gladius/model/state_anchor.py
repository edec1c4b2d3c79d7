"""An anchor action that depends on the state, the paper's a_s.

In each state the numbers of a_s and of action 0 are exchanged. Action 0 is then the anchor in
every state, so a method needs no code of its own. Its answers are exchanged back.
What is borrowed from other states is borrowed before: it belongs to the same action there.
The class `smooth` compares neighbouring states: where a_s changes, two actions.
The class `sparse` exchanges nothing, since each action has functions of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gladius.model.estimate import Estimate, StateFunction
from gladius.model.frequencies import (
    ActionRows,
    TransitionProbabilities,
    empirical_transition_probabilities,
)
from gladius.panel.anchor import Anchor, NearestState, named_column, state_table
from gladius.panel.anchor import Column as Column
from gladius.panel.moves import Moves, Table, stacked
from gladius.panel.record import Counts, Transitions
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

    def rows(self, states: Array, table: Array) -> Array:
        """(A, n, ...) a table with a_s and action 0 exchanged."""
        at, own, new = np.arange(len(states)), self.index(states), np.array(table)
        new[own, at], new[0] = table[0], table[own, at]
        return new

    def table(self, states: Array, table: Array) -> Array:
        """(..., n, A) a table with exchanged columns."""
        return np.moveaxis(
            self.rows(states, np.moveaxis(table, (-1, -2), (0, 1))), (0, 1), (-1, -2)
        )

    def data(self, data: Transitions) -> Transitions:
        """The observations with exchanged actions."""
        own, taken = self.index(data.states), data.actions
        return replace(data, actions=np.where(taken == own, 0, np.where(taken == 0, own, taken)))

    def counts(self, counts: Counts) -> Counts:
        """The counts with exchanged actions."""
        grid = counts.states
        visits, followed = (self.table(grid, table) for table in (counts.visits, counts.followed))
        return Counts(grid, visits, self.moves(grid, counts.moves), followed)

    def moves(self, states: Array, table: Table) -> Table:
        """(R, A, n, S) a table of moves with exchanged actions."""
        if isinstance(table, Moves):
            return replace(table, row=np.stack([self.rows(states, row) for row in table.row]))
        return np.stack([self.rows(states, one) for one in table])

    def estimate(self, estimate: Estimate) -> Estimate:
        """An estimate of the exchanged problem, in the numbers of the user's actions."""
        functions = (estimate.q_function, estimate.reward_function)
        q, reward = (Exchanged(function, self) for function in functions)
        return replace(estimate, q_function=q, reward_function=reward)


@dataclass(frozen=True)
class StateAnchor(Anchor):
    """The anchor a_s by state; `action` is the base of log-odds, any of them."""

    exchange: Exchange


def own_actions(anchor: Anchor, states: Array) -> Integers:
    """(n,) the anchor's action in each of (n, d) states."""
    if isinstance(anchor, StateAnchor):
        return anchor.exchange.index(states)
    return np.full(len(states), anchor.action)


@dataclass(frozen=True)
class Exchanged:
    """(n, d) features -> (n, A), a table of the exchanged problem with its columns exchanged."""

    function: StateFunction
    exchange: Exchange

    def __call__(self, states: Array) -> Array:
        return self.exchange.table(states, self.function(states))


@dataclass(frozen=True)
class ExchangedRows:
    """The `ActionRows` of one exchanged action."""

    exchange: Exchange
    own: tuple[ActionRows, ...]  # of the user's actions
    action: int

    @property
    def present(self) -> NDArray[np.bool_]:
        """(S,) states of the grid that the replication has itself."""
        return self.own[0].present

    def rows(self, grid: Array, states: Array) -> Table:
        """(n, S) probabilities over the grid."""
        every = stacked([rows.rows(grid, states) for rows in self.own])
        return self.exchange.moves(states, every[None])[0][self.action]


@dataclass(frozen=True)
class NearestChoices:
    """(n, d) features -> (n, A) log-odds against a_s, from the choices in the nearest state."""

    exchange: Exchange
    own: NearestState  # of the user's actions

    def __call__(self, states: Array) -> Array:
        found = self.exchange.table(states, self.own(states))
        return found - found[:, :1]


def on_counts(
    function: Callable[..., list[Estimate]], counts: Counts, anchor: Anchor, *given: Any
) -> list[Estimate]:
    """The estimates of a method on counts, in the numbers of the user's actions."""
    if not isinstance(anchor, StateAnchor):
        return function(counts, anchor, *given)
    change = anchor.exchange
    return [change.estimate(found) for found in function(change.counts(counts), anchor, *given)]


def transition_probabilities(counts: Counts, anchor: Anchor) -> TransitionProbabilities:
    """P-hat of counts, which are exchanged where the anchor depends on the state.

    A pair that was never followed borrows from other states of the user's own action.
    """
    if not isinstance(anchor, StateAnchor):
        return empirical_transition_probabilities(counts)
    change, grid = anchor.exchange, counts.states
    p_hat = empirical_transition_probabilities(change.counts(counts))
    actions = range(counts.visits.shape[2])
    pooled = tuple(tuple(ExchangedRows(change, own, a) for a in actions) for own in p_hat.pooled)
    return TransitionProbabilities(grid, change.moves(grid, p_hat.transition), pooled)


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
        try:
            action = named_column(data, given, "anchor_action")
        except InputError as error:
            names = ", ".join(map(str, one.action_names or range(one.number_of_actions)))
            quoted = " (a number goes without quotation marks)" if given.isdecimal() else ""
            hint = f"actions are {names}{quoted}; if the anchor depends on the state, {error.hint}"
            raise InputError("anchor_action", given, hint) from None
    elif not callable(given):
        if isinstance(given, bool | np.bool_):
            hint = "give a number, which is 1 for True, or the label of an action"
            raise InputError("anchor_action", given, hint)
        if np.ndim(given) == 0:
            if str(given) in one.action_names and one.action_names.index(str(given)) != given:
                hint = f"a number or a label? give the label as text, of {one.action_names}"
                raise InputError("anchor_action", given, hint)
            return cast("int", given), None  # make_anchor checks it
        action = state_table(data, np.asarray(given), "anchor_action")
    return 0, Exchange(action, one.number_of_actions)
