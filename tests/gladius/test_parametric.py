"""What is given to methods with a law or a form is compared with the data and the anchor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from gladius import fit
from gladius.anchor import Anchor
from gladius.baselines import rp
from gladius.checks import InputError
from gladius.parametric import make_model
from gladius.methods import METHODS, takes
from gladius.transitions import Transitions

Array = NDArray[np.float64]

# Two states; paths may end after action 0 in state 0.
DATA = Transitions(
    np.array([0.0, 0, 0, 1, 1, 0, 1, 0]),
    np.array([0, 0, 1, 0, 1, 0, 1, 1]),
    np.array([0.0, 1, 1, 1, 0, 0, 1, 0]),
    trajectory=np.array([0, 0, 1, 1, 2, 2, 3, 4]),
    done=np.array([False] * 5 + [True] + [False] * 2),
)
GRID = np.array([[1.0], [0.0]])  # not the order of the data's states
LAW = np.array([[[1.0, 0.0], [0.4, 0.3]], [[0.5, 0.5], [0.2, 0.8]]])
ENDLESS = replace(DATA, done=np.zeros(8, dtype=bool))
ORACLES = [name for name in METHODS if takes(name, "transition")]
FORMS = [name for name in METHODS if takes(name, "design")]


def spoilt(*place: int, by: float | list[float]) -> Array:
    law = LAW.copy()
    law[place] = by
    return law


def times(data: Transitions, number: int) -> Transitions:
    """The data again and again, as paths of their own."""
    copy = np.repeat(np.arange(number), len(data))
    again = data.take(np.tile(np.arange(len(data)), number))
    return replace(again, trajectory=10 * copy + again.trajectory)


def form(states: Array) -> Array:
    """(n, 2, 2) parameters of action 1 alone."""
    table = np.zeros((len(states), 2, 2))
    table[:, 1, 0], table[:, 1, 1] = 1.0, states[:, 0]
    return table


def known(level: float) -> Any:
    return lambda states: np.tile([level, 0.0], (len(states), 1))


def message(data: Transitions, name: str, reward: float = 0.0, **options: Any) -> tuple[str, str]:
    """Field and message of the error that a fit must raise; the anchor is action 0."""
    with pytest.raises(InputError) as caught:
        fit(data, name, anchor_action=0, anchor_reward=reward, discount=0.9, **options)
    return caught.value.field, str(caught.value)


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize(
    ("data", "law", "field", "hint"),
    [
        (DATA, spoilt(1, 0, by=[1.0, 0.0]), "transition[1, 0, 1]", "move, from [1.0] to [0.0]"),
        (DATA, LAW[:, ::-1, ::-1], "transition[0, 1, 0]", "in the order of `grid`"),
        (DATA, spoilt(0, 1, by=[0.6, 0.4]), "transition[0, 1]", "the probability of an end"),
        (DATA, spoilt(0, 1, by=[0.6, 0.4 - 1e-12]), "transition[0, 1]", "are `done` there"),
        (times(ENDLESS, 20), LAW, "transition[0, 1]", "no row is `done`: mark the ends"),
        (DATA, spoilt(0, 1, 0, by=-0.1), "transition[0, 1, 0]", "cannot be negative"),
        (DATA, spoilt(0, 1, 0, by=0.8), "transition[0, 1]", "must sum to one"),
    ],
)
def test_a_given_law_must_allow_the_data(
    name: str, data: Transitions, law: Array, field: str, hint: str
) -> None:
    options: dict[str, Any] = {"design": form} if takes(name, "design") else {}
    found = message(data, name, transition=law, grid=GRID, **options)
    assert found[0] == field
    assert hint in found[1]


def test_a_given_law_that_allows_the_data_passes() -> None:
    """Control: ends that few data lack by chance, rounding, and the last row of a cut path."""
    certain = spoilt(0, 1, by=[0.6, 0.4 - 1e-10])
    for data, law in [(DATA, LAW), (ENDLESS, LAW), (times(ENDLESS, 1000), certain)]:
        model = make_model([data], Anchor(0, 0.0), 0.9, transition=law, grid=GRID, design=form)
        np.testing.assert_array_equal(model.law, law)


@pytest.mark.parametrize("name", FORMS)
def test_a_form_without_the_anchor_must_have_its_reward_as_offset(name: str) -> None:
    options = {"offset": known(-2.0)} if takes(name, "offset") else {}
    level = -2.0 if options else 0.0
    for reward, shown in [(-3.0, level), (level + 1e-3, level)]:
        field, said = message(DATA, name, reward, design=form, **options)
        assert (field, said.split(":")[0]) == ("offset", f"offset = {shown}")
        assert f"is {reward}: give the anchor's reward in `offset`" in said
    if name in ("avi", "samq"):  # control, of which a network's training would be the most
        options |= {"regression": "one_hot"} if name == "avi" else {"inversion": "tabular"}
    data = times(DATA, 5)
    given: dict[str, Any] = {"anchor_action": 0, "discount": 0.9, "design": form}
    assert fit(data, name, anchor_reward=level, **given, **options).method
    free = fit(  # another control: where the form has the anchor's reward as a parameter
        data, name, anchor_action=1, anchor_reward=-7.0, discount=0.9, design=form, **options
    )
    assert free.method


def test_rp_looks_at_the_anchor_before_it_looks_for_cells() -> None:
    with patch.object(rp, "_grow", side_effect=AssertionError("work had started")):
        assert message(DATA, "rp", -3.0, design=form)[0] == "offset"


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_a_function(name: str) -> None:
    assert message(DATA, name, design=form(DATA.states))[0] == "design"
    if takes(name, "offset"):
        field, said = message(DATA, name, design=form, offset=-3.0)
        assert field == "offset"
        assert said.startswith("offset = -3.0: give a function of (n, features)")
