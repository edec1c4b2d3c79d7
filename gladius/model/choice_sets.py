"""Choice sets: the actions that a state has, where not every action is always available.

With C(s) the set of s, the model of the paper's Section 3 is

    V(s) = log sum over a in C(s) of exp Q(s, a),   pi(a | s) = 1[a in C(s)] exp(Q(s, a) - V(s)).

One number makes it so in every method: FORBIDDEN is added to the value of an action that is not
available. Its exponential is zero in floating point, so log-sums, choices and derivatives are those
of the set. Where the anchor is not available, its Bellman equation says nothing of V. So a method
without a form of r identifies neither r nor V there, nor in any state that leads there.

The data of a fit carry their sets (`ChoiceData`), which a method takes from them with `sets_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from gladius.model import inversion
from gladius.model.estimate import Estimate, StateFunction
from gladius.model.frequencies import check_support
from gladius.model.parametric import check_form
from gladius.model.reward_form import FORBIDDEN, LinearReward, RewardFunction
from gladius.model.state_anchor import StateAnchor, on_counts, own_actions
from gladius.panel.anchor import Anchor, NearestState, make_table, nearest
from gladius.panel.record import (
    Counts,
    DataSet,
    Transitions,
    action_labels,
    grid_positions,
    group,
    index_rows,
)
from gladius.validate import Array, Booleans, InputError, asked, check_finite

Available = Callable[[Array], Array] | Mapping[Any, str] | Sequence[str]

FORMS = ("nfxp", "ccp", "mpec", "ml_irl")  # methods with a form, whose offset excludes actions
TAKERS = (*FORMS, "plug_in", "profiled_erm")
NEVER = 1e-300  # choices of an action that is not available, whose logarithm must be finite


@dataclass(frozen=True)
class ChoiceSets:
    """(n, d) features -> (n, A) whether each action is available.

    Attributes:
        function: what says so, with numbers 0 and 1 or booleans.
        actions: number of them.
    """

    function: Callable[[Array], Array]
    actions: int

    def __call__(self, states: Array) -> Booleans:
        table = check_finite("available", asked("available", self.function, states))
        if table.shape != (len(states), self.actions) or not np.all(np.isin(table, (0, 1))):
            hint = f"return true or false in shape ({len(states)}, {self.actions}), one an action"
            raise InputError("available", table.shape, hint)
        is_empty = ~np.any(table, axis=1)
        if np.any(is_empty):
            hint = "no action is available in this state: each needs one or more"
            raise InputError("available", np.asarray(states)[is_empty][0].tolist(), hint)
        return table.astype(bool)

    def closed(self, states: Array) -> Array:
        """(n, A) FORBIDDEN where an action is not available, and else 0."""
        return np.where(self(states), 0.0, FORBIDDEN)


@dataclass(frozen=True)
class ObservedSets:
    """(n, d) features -> (n, A) sets of observed states, from columns of the table."""

    states: Array
    table: Array

    def __call__(self, states: Array) -> Array:
        position = grid_positions(self.states, np.asarray(states))
        if np.any(position < 0):
            hint = "this state is in no row of a weight above 0, so no column says what is open:"
            hint += " give available= as a function of the state"
            raise InputError("available", np.asarray(states)[position < 0][0].tolist(), hint)
        return np.asarray(self.table[position])


@dataclass(frozen=True)
class ChoiceData(Transitions):
    """Transitions with the choice sets of their states."""

    available: ChoiceSets = None  # type: ignore[assignment]  # given wherever one is made


def sets_of(data: DataSet) -> ChoiceSets | None:
    """The choice sets that the data carry, if any."""
    return getattr(data, "available", None)


def with_choice_sets(data: Sequence[Transitions], given: Available) -> list[Transitions]:
    """The data sets with their choice sets.

    Args:
        data: replications.
        given: a function of (n, d) features that returns (n, A) true or false; or columns of 1 and
            0 that the data carry: a mapping from actions, by name or number, to the column of each
            (any other is always available), or a list of one for each action, in order.

    Raises:
        InputError: some action was taken where it is not available; or other bad input.
    """
    sets = _read(data, given)
    for rows in data:
        states, (index, _) = index_rows([rows.states, rows.next_states])
        is_open = sets(states)[index, rows.actions]
        wrong = np.flatnonzero(~is_open)
        if len(wrong):
            row, name = int(wrong[0]), action_labels(rows)[rows.actions[wrong[0]]]
            where = f"{rows.states[row].tolist()} of {rows.trajectory[row]}"
            hint = f"{name} was taken in state {where}, where it is not available"
            raise InputError(f"available[{row}]", False, f"{hint} ({len(wrong)} such rows)")
    return [ChoiceData(**vars(rows) | {"available": sets}) for rows in data]


def _read(data: Sequence[Transitions], given: Available) -> ChoiceSets:
    """The choice sets that a user gives, see `with_choice_sets`."""
    names, size = action_labels(data[0]), data[0].number_of_actions
    if callable(given):
        return given if isinstance(given, ChoiceSets) else ChoiceSets(given, size)
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence) or not given:
        hint = "give a function of the state, or carried columns: a dict by action, or a list"
        raise InputError("available", given, hint)
    if not isinstance(given, Mapping) and len(given) != size:
        raise InputError("available", given, f"give one column for each of {size} actions")
    columns = given if isinstance(given, Mapping) else dict(enumerate(given))
    states = np.concatenate([rows.states for rows in data])
    table = np.ones((len(states), size))
    for key, column in columns.items():
        if key not in (*names, *range(size)):
            raise InputError("available", key, f"name actions of {', '.join(names)}")
        if not all(column in rows.carried for rows in data):
            hint = f"carry the column: from_frame(..., carry=[{column!r}])"
            raise InputError("available", column, hint)
        values = np.concatenate([rows.carried[column] for rows in data])
        wrong = np.flatnonzero(~np.isin(values, (0, 1)))
        if len(wrong):
            hint = "give 1 or true where the action is available, and else 0"
            raise InputError(f"{column}[{wrong[0]}]", values[wrong[0]], hint)
        table[:, names.index(key) if key in names else int(key)] = values
    code = make_table(states, table @ 2.0 ** np.arange(size), "available")
    bits = code.table[:, None].astype(np.int64) >> np.arange(size) & 1
    return ChoiceSets(ObservedSets(code.states, bits.astype(float)), size)


# What a method is given, and what it answers.


@dataclass(frozen=True)
class Closed:
    """(n, d) features -> (n, A) `ChoiceSets.closed`, as an object that can be saved."""

    sets: ChoiceSets

    def __call__(self, states: Array) -> Array:
        return self.sets.closed(states)


@dataclass(frozen=True)
class ClosedOffset:
    """(n, d) features -> (n, A) the known part of a form, with FORBIDDEN."""

    form: LinearReward
    sets: ChoiceSets

    def __call__(self, states: Array) -> Array:
        _, offset = self.form.tables(states, self.sets.actions)
        return offset + self.sets.closed(states)


@dataclass(frozen=True)
class ClosedReward:
    """(n, d) features -> (n,) the anchor's reward, with FORBIDDEN."""

    anchor: Anchor
    sets: ChoiceSets

    def __call__(self, states: Array) -> Array:
        closed = self.sets.closed(states)[:, self.anchor.action]
        return np.asarray(self.anchor.values(states) + closed)


@dataclass(frozen=True)
class OfSet:
    """(n, d) features -> (n, A) a table, with a number where an action is not available."""

    function: StateFunction
    sets: ChoiceSets | NearestState
    otherwise: float  # -inf of Q; nan of r where nothing identifies it

    def __call__(self, states: Array) -> Array:
        return np.where(self.sets(states) != 0, self.function(states), self.otherwise)


def fits_within_sets(
    name: str,
    function: Callable[..., list[Estimate]],
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    options: Any,
) -> list[Estimate]:
    """The estimates of a method, the `function` of a name, within the sets that the data carry.

    Q is -inf where an action is not available. r is what the form, or the class, says of it there.

    Raises:
        InputError: the method takes no choice sets.
    """
    sets = sets_of(data[0])
    if sets is None:
        return function(data, anchor, discount, **options)
    takers = f"choice sets are for {', '.join(TAKERS)}"
    if name not in TAKERS:
        raise InputError("available", name, f"it takes none: {takers}")
    for option, value in (("function_class", "mlp"), ("inner", "finite_dependence")):
        if options.get(option) == value:
            raise InputError(option, value, f"it takes no choice sets: {takers}, without it")
    if options.get("finite_dependence"):
        raise InputError("finite_dependence", True, f"it takes no choice sets: {takers}")
    if name in FORMS:
        form = check_form(options.get("reward"))
        within = {**options, "reward": replace(form, offset=ClosedOffset(form, sets))}
        closed = replace(anchor, reward=ClosedReward(anchor, sets))
        found = function(data, closed, discount, **within)
        found = [replace(e, reward_function=_open(e.reward_function, form)) for e in found]
    elif name == "plug_in":
        found = plug_in(group(data), anchor, discount, sets)
    else:
        found = function(data, anchor, discount, **options)
    return [replace(e, q_function=OfSet(e.q_function, sets, -np.inf)) for e in found]


def _open(reward: StateFunction, form: LinearReward) -> RewardFunction:
    """r of a form in every state, whatever its choice set."""
    return replace(cast("RewardFunction", reward), form=form)


def plug_in(counts: Counts, anchor: Anchor, discount: float, sets: ChoiceSets) -> list[Estimate]:
    """`plug_in` of every replication of grouped data, whose r is NaN where it is not available.

    Raises:
        InputError: the anchor is not available in some state; or a state without choices has
            another choice set than the state whose choices it borrows.
    """
    check_anchor_open(counts.states, anchor, sets, "plug_in")
    check_support(counts)
    is_open, nearby = sets(counts.states), list[NearestState]()
    for seen in counts.seen > 0:
        source = np.flatnonzero(seen)[nearest(counts.states[seen], counts.states)]
        differs = np.any(is_open != is_open[source], axis=1)
        if np.any(differs):
            hint = "no choice was observed there, and the nearest state has another choice set:"
            hint += " leave the next state missing in rows that lead there"
            raise InputError("available", counts.states[differs][0].tolist(), hint)
        nearby.append(NearestState(counts.states[seen], is_open[seen].astype(float)))
    pseudo = np.where(is_open, inversion.PSEUDO_COUNT, NEVER)
    given = counts, anchor, discount, cast("float", pseudo)
    change = anchor.exchange if isinstance(anchor, StateAnchor) else None
    own: Any = pseudo if change is None else change.table(counts.states, pseudo)
    return [
        replace(
            found,
            reward_function=OfSet(found.reward_function, of_nearest, np.nan),
            basis=replace(cast("inversion.FreeBasis", found.basis), pseudo_count=own),
        )
        for found, of_nearest in zip(on_counts(inversion.fit_counts, *given), nearby, strict=True)
    ]


def anchor_is_open(states: Array, anchor: Anchor, sets: ChoiceSets) -> Booleans:
    """(n,) whether the anchor is available in each of (n, d) states."""
    return sets(states)[np.arange(len(states)), own_actions(anchor, states)]


def check_anchor_open(states: Array, anchor: Anchor, sets: ChoiceSets, name: str) -> None:
    """Raise where the anchor is not available in some state, in which nothing identifies V."""
    is_closed = ~anchor_is_open(states, anchor, sets)
    if np.any(is_closed):
        hint = f"{name} does not identify r where the anchor is not available, as in"
        hint += f" {states[is_closed][0].tolist()}: give an anchor by state, or take"
        hint += " function_class='sparse' or a method with a form"
        raise InputError("anchor_action", anchor.action, hint)
