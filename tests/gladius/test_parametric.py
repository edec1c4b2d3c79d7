"""What is given to methods, transitions and a form, is compared with the data and the anchor."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gladius import METHODS, fit
from gladius.model.parametric import make_model
from gladius.model.reward_form import KnownTransitions, LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.register import takes
from gladius.solvers.networks import Training
from gladius.validate import Array, InputError

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
FORMS = [name for name in METHODS if takes(name, "reward")]


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


def with_level(level: float) -> LinearReward:
    """The form whose anchor, action 0, is worth so much."""
    return LinearReward(form, lambda states: np.tile([level, 0.0], (len(states), 1)))


def message(
    data: Transitions, name: str, anchor_reward: float = 0.0, **options: Any
) -> tuple[str, str]:
    """Field and message of the error that a fit must raise; the anchor is action 0."""
    with pytest.raises(InputError) as caught:
        fit(data, name, anchor_action=0, anchor_reward=anchor_reward, discount=0.9, **options)
    return caught.value.field, str(caught.value)


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize(
    ("data", "law", "place", "hint"),
    [
        (DATA, spoilt(1, 0, by=[1.0, 0.0]), "[1, 0, 1]", "move, from [1.0] to [0.0]"),
        (DATA, LAW[:, ::-1, ::-1], "[0, 1, 0]", "in the order of the grid"),
        (DATA, spoilt(0, 1, by=[0.6, 0.4]), "[0, 1]", "the probability of an end"),
        (DATA, spoilt(0, 1, by=[0.6, 0.4 - 1e-12]), "[0, 1]", "data are `done` there"),
    ],
)
def test_known_transitions_must_allow_the_data(
    name: str, data: Transitions, law: Array, place: str, hint: str
) -> None:
    options: dict[str, Any] = {"reward": LinearReward(form)} if name in FORMS else {}
    field, said = message(data, name, transition=KnownTransitions(law, GRID), **options)
    assert field == f"transition.probabilities{place}"
    assert hint in said


@pytest.mark.parametrize(
    ("probabilities", "grid", "field"),
    [
        (LAW, GRID[:1], "transition.probabilities"),
        (LAW, GRID[:, 0], "transition.grid"),
        (LAW, np.ones((2, 1)), "transition.grid"),
        (LAW[0], GRID, "transition.probabilities"),
        (spoilt(0, 1, 0, by=-0.1), GRID, "transition.probabilities[0, 1, 0]"),
        (spoilt(0, 1, 0, by=0.8), GRID, "transition.probabilities[0, 1]"),
        (spoilt(0, 1, 0, by=np.nan), GRID, "transition.probabilities[0, 1, 0]"),
    ],
)
def test_known_transitions_are_probabilities_on_a_grid(
    probabilities: Array, grid: Array, field: str
) -> None:
    with pytest.raises(InputError) as caught:
        KnownTransitions(probabilities, grid)
    assert caught.value.field == field


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize(
    ("given", "field"),
    [
        (LAW, "transition"),
        (KnownTransitions(LAW[:1], GRID), "transition.probabilities"),
        (KnownTransitions(LAW, GRID.repeat(2, axis=1)), "transition.grid"),
        (KnownTransitions(LAW[:, :1, :1], GRID[:1]), "grid"),
    ],
)
def test_known_transitions_must_fit_the_data(name: str, given: Any, field: str) -> None:
    options: dict[str, Any] = {"reward": LinearReward(form)} if name in FORMS else {}
    assert message(DATA, name, transition=given, **options)[0] == field


@pytest.mark.parametrize("name", ORACLES)
def test_the_order_of_the_grid_does_not_matter(name: str) -> None:
    given: dict[str, Any] = {"anchor_action": 0, "anchor_reward": 0.0, "discount": 0.9}
    if name in FORMS:
        given["reward"] = LinearReward(form)
    rewards = []
    for order in ([0, 1], [1, 0]):
        known = KnownTransitions(LAW[:, order][:, :, order], GRID[order])
        estimate = fit(times(DATA, 5), name, **given, transition=known)
        rewards.append(estimate.reward_function(GRID))
    np.testing.assert_allclose(rewards[0], rewards[1], atol=1e-8)


def test_known_transitions_that_allow_the_data_pass() -> None:
    """Control: ends that few data lack by chance, rounding, and the last row of a cut path."""
    certain = spoilt(0, 1, by=[0.6, 0.4 - 1e-10])
    for data, law in [(DATA, LAW), (ENDLESS, LAW), (times(ENDLESS, 1000), certain)]:
        known = KnownTransitions(law, GRID)
        model = make_model([data], Anchor(0, 0.0), 0.9, LinearReward(form), known)
        np.testing.assert_array_equal(model.transition[0], law)


@pytest.mark.parametrize("name", FORMS)
def test_a_form_without_the_anchor_must_have_its_reward_as_offset(name: str) -> None:
    options: dict[str, Any] = {"reward": with_level(-2.0)}
    for reward in (-3.0, -2.0 + 1e-3):
        field, said = message(DATA, name, reward, **options)
        assert (field, said.split(":")[0]) == ("reward.offset", "reward.offset = -2.0")
        assert f"is {reward}: give the anchor's reward in `offset`" in said
    if name in ("avi", "samq"):  # control, of which a network's training would be the most
        options |= {"iterations": 2} if name == "avi" else {"training": Training(steps=1)}
    data = times(DATA, 5)
    given: dict[str, Any] = {"discount": 0.9, **options}
    assert fit(data, name, anchor_action=0, anchor_reward=-2.0, **given).method
    # Another control: where the form has the anchor's reward as a parameter.
    assert fit(data, name, anchor_action=1, anchor_reward=-7.0, **given).method


@pytest.mark.parametrize("name", FORMS)
def test_a_form_has_the_shapes_of_the_data(name: str) -> None:
    def constant(*shape: int) -> Any:
        return lambda states: np.ones((len(states), *shape))

    for design in (constant(2), constant(3, 2), constant(2, 0)):
        assert message(DATA, name, reward=LinearReward(design))[0] == "reward.design"
    assert message(DATA, name, reward=LinearReward(form, constant(3)))[0] == "reward.offset"


@pytest.mark.parametrize(("design", "offset"), [(GRID, None), (form, -3.0), (None, form)])
def test_a_form_is_made_of_functions(design: Any, offset: Any) -> None:
    with pytest.raises(InputError) as caught:
        LinearReward(design, offset)
    assert caught.value.field == ("reward.offset" if design is form else "reward.design")
    assert "give a function of (n, features)" in str(caught.value)
