"""The reward of a parametric method as a formula, such as "0 + mileage:keep + replace".

A formula is read by formulaic (`pip install formulaic`). Its variables are the features, and for
each action a variable that is 1 where that action is taken. It is computed in every state and
action. The parameters have the names of its terms, in the order in which these are written. 0 +
leaves out the constant, which all actions would share and no choice identifies.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gladius.model.reward_form import LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions, distinct_rows
from gladius.validate import Array, InputError


@dataclass(frozen=True)
class FormulaDesign:
    """(n, d) features -> (n, A, k), the design of a formula.

    Attributes:
        formula: its text.
        features, actions: names of the variables.
        states: (m, d) those by which terms such as center(x) are computed.
        ordering: of the terms: none, as they are written; degree, where 0.3 fitted it.
    """

    formula: str
    features: tuple[str, ...]
    actions: tuple[str, ...]
    states: Array
    ordering: str

    def __call__(self, states: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of formulaic, about a level that it has not seen
            try:
                table = self._spec.get_model_matrix(self._frame(states), na_action="raise")
            except InputError:
                raise
            except Exception as error:
                hint = f"it cannot be computed in all states: {str(error).splitlines()[0]}"
                raise InputError("reward", self.formula, hint) from error
        rows = table.to_numpy(dtype=float)
        return np.asarray(rows.reshape(len(states), len(self.actions), -1))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the k parameters."""
        return tuple(str(name) for name in self._spec.column_names)

    @property
    def _spec(self) -> Any:
        try:
            from formulaic import Formula, model_matrix
        except ImportError as error:
            raise InputError("reward", self.formula, "install formulaic") from error
        try:
            terms = Formula(self.formula, _ordering=self.ordering)
            spec = model_matrix(terms, self._frame(self.states), na_action="raise").model_spec
            if not hasattr(spec, "column_names"):
                raise ValueError("give the right-hand side alone")
            return spec
        except Exception as error:  # formulaic has one for each kind of fault
            names = ", ".join((*self.features, *self.actions))
            hint = f"{str(error).splitlines()[0]}; the variables are {names}"
            raise InputError("reward", self.formula, hint) from error

    def _frame(self, states: Array) -> pd.DataFrame:
        """A line for each state and action."""
        number = len(self.actions)
        table = np.repeat(states, number, axis=0)
        taken = np.tile(np.eye(number), (len(states), 1))
        return pd.DataFrame(np.hstack([table, taken]), columns=[*self.features, *self.actions])


def read_restrictions(text: str, names: Sequence[str]) -> tuple[Array, Array]:
    """R and values (m,) of R theta = values, from a text such as "replace = -3"."""
    try:
        from formulaic.utils.constraints import LinearConstraints

        signed = re.sub(r"=\s*-", "= 0 -", text)  # formulaic reads "= -" as one sign
        found = LinearConstraints.from_spec(signed, list(names))
        return np.asarray(found.constraint_matrix, float), np.asarray(found.constraint_values)
    except Exception as error:  # it is not installed, or has an error for each kind of fault
        quoted = ", ".join(f"`{name}`" for name in names)
        hint = f"give a restriction such as a = 0, or a dict of values; the names are {quoted}"
        raise InputError("restrictions", text, hint) from error


@dataclass(frozen=True)
class AnchorOffset:
    """(n, d) features -> (n, A), the reward of the anchor and 0 for other actions."""

    anchor: Anchor
    actions: int

    def __call__(self, states: Array) -> Array:
        table = np.zeros((len(states), self.actions))
        table[:, self.anchor.action] = self.anchor.values(states)
        return table


def linear_reward(formula: str, data: Sequence[Transitions], anchor: Anchor) -> LinearReward:
    """The form of a formula in the variables of data sets.

    Where no term is at the anchor's action, its reward is the given one.

    Args:
        formula: right-hand side in formulaic's language. A name that is no Python name stands in
            backquotes.
        data: gives the names: of the features, and of the actions, by default action_0, ...; terms
            such as center(x) are computed by the states of all sets.
        anchor: the action whose reward is given.

    Raises:
        InputError: formulaic is not installed or cannot read the formula, or a term is constant.
    """
    number, features = data[0].number_of_actions, data[0].feature_names
    actions = data[0].action_names or tuple(f"action_{a}" for a in range(number))
    both = set(actions) & set(features)
    if both:
        raise InputError("reward", formula, f"features and actions are both named {sorted(both)}")
    numbers = [name for name in (*features, *actions) if re.fullmatch(r"[\d.]+", name)]
    if numbers:
        raise InputError("reward", formula, f"{numbers[0]} is a name: give it letters")
    blocks = [block for one in data for block in (one.states, one.next_states[~one.done])]
    states, _ = distinct_rows(np.concatenate(blocks))
    design = FormulaDesign(formula, features, actions, states, "none")
    table = design(states)
    for name, is_constant in zip(design.names, np.ptp(table, axis=(0, 1)) == 0, strict=True):
        if is_constant:
            hint = f"{name} is the same in all states and actions, so that no choice identifies it:"
            hint += f" begin with 0 +, and multiply by actions, as in {features[0]}:{actions[-1]}"
            raise InputError("reward", formula, hint)
    is_free = np.any(table[:, anchor.action])
    offset = None if is_free else AnchorOffset(anchor, number)
    return LinearReward(design, offset, design.names)
