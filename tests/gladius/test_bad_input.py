"""Bad input is an InputError that names the field, shows the value and says what to do about it.

Each case starts from input that is right (a test makes sure of it) and spoils one thing. It must
fail before any work starts, and leave all it was given as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from right_input import (
    bus,
    bus_reward,
    data,
    estimate,
    fit,
    frame,
    read,
    reward,
    score,
    simulate,
    support,
    world,
)

from gladius.checks import InputError
from gladius.transitions import Transitions, group

NAN, INF = float("nan"), float("inf")
Call = Callable[..., Any]

ACTIONS = "actions are counted from 0"
FINITE = "remove NaN and infinite entries"
RAGGED = "ragged data: give one entry for each of 6 rows"
SAME_SHAPE = "ragged data: s and s' differ, give shape (6, 2)"
RECTANGLE = "give a rectangular array of numbers"
NUMBER = "give a number"
CODE = "code the actions 0, 1, 2, ..."
TRUTH = "give true or false in each row, as booleans or 1 and 0, not as text"
NO_EFFECT = "here no roughness is penalised, so it has no effect"
BETA = "beta must lie strictly between 0 and 1"
LABEL = "every row needs a trajectory label"
HALVES = np.full((2, 2), 0.5)

# what is spoilt, "field = value" as shown, hint
Row = tuple[dict[str, Any], str, str]
WORLDS: list[Row] = [
    ({"reward": np.array([[0.0, 1.0], [NAN, 0.0]])}, "reward[1, 0] = nan", FINITE),
    ({"reward": np.array([[0.0, INF], [0.0, 0.0]])}, "reward[0, 1] = inf", FINITE),
    ({"reward": [[1.0], [1.0, 2.0]]}, "reward = [[1.0], [1.0, 2.0]]", RECTANGLE),
    ({"reward": [[1j, 0], [0, 0]]}, "reward[0, 0] = 1j", NUMBER),
    ({"reward": np.zeros(3)}, "reward = (3,)", "give an array of shape (states, actions)"),
    ({"reward": np.zeros((0, 2))}, "reward = (0, 2)", "give an array of shape"),
    ({"transition": np.ones((2, 2, 1))}, "transition = (2, 2, 1)", "give shape (2, 2, 2)"),
    ({"transition": np.stack([HALVES, HALVES - 0.05])}, "transition[1, 0] = 0.9", "sum to one"),
    ({"transition": np.stack([HALVES, HALVES + 1e-6])}, "transition[1, 0] = 1.000002", "one"),
    (
        {"transition": np.stack([HALVES, [[1.5, -0.5], [0, 1]]])},
        "transition[1, 0, 1] = -0.5",
        "probabilities cannot be negative",
    ),
    ({"transition": np.full((2, 2, 2), NAN)}, "transition[0, 0, 0] = nan", FINITE),
    ({"initial": np.array([0.5, 0.4])}, "initial = 0.9", "the row must sum to one"),
    ({"initial": np.ones(1)}, "initial = (1,)", "give shape (2,), for 2 states"),
    ({"initial": np.array([0.5, NAN])}, "initial[1] = nan", FINITE),
    ({"discount": 0.0}, "discount = 0.0", BETA),
    ({"discount": 1.0}, "discount = 1.0", BETA),
    ({"discount": -0.5}, "discount = -0.5", BETA),
    ({"discount": NAN}, "discount = nan", BETA),
    ({"discount": "often"}, "discount = 'often'", "give a number strictly between 0 and 1"),
    ({"discount": None}, "discount = None", "give a number strictly between 0 and 1"),
    ({"features": np.ones((2, 1))}, "features = (2, 1)", "two states have the same features"),
    ({"features": np.ones((3, 1))}, "features = (3, 1)", "give shape (2, number of features)"),
    ({"features": [[1.0], [NAN]]}, "features[1, 0] = nan", FINITE),
]
BUSES: list[Row] = [
    ({"theta": (1.0, 2.0, 3.0)}, "theta = (1.0, 2.0, 3.0)", "give two numbers"),
    ({"theta": 5.0}, "theta = 5.0", "give two numbers"),
    ({"theta": (1.0, NAN)}, "theta[1] = nan", FINITE),
    ({"discount": 1.0}, "discount = 1.0", BETA),
    ({"max_mileage": 1}, "max_mileage = 1", "whole number of at least 2"),
    ({"dummies": -1}, "dummies = -1", "whole number of at least 0"),
    ({"dummies": 1.5}, "dummies = 1.5", "whole number of at least 0"),
    ({"horizon": 0}, "horizon = 0", "whole number of at least 1"),
    ({"maintenance": lambda x: x[:3]}, "maintenance = (3,)", "one reward for each of 20"),
    ({"maintenance": lambda x: np.where(x > 1, -x, NAN)}, "maintenance[0] = nan", FINITE),
]
ROWS: list[Row] = [
    ({"states": np.full((6, 2), NAN)}, "states[0, 0] = nan", FINITE),
    ({"next_states": np.full((6, 2), -INF)}, "next_states[0, 0] = -inf", FINITE),
    ({"next_states": np.zeros((6, 3))}, "next_states = (6, 3)", SAME_SHAPE),
    ({"next_states": np.zeros((5, 2))}, "next_states = (5, 2)", SAME_SHAPE),
    ({"states": np.zeros((0, 2))}, "states = (0, 2)", "give a non-empty array"),
    ({"states": np.zeros((6, 0))}, "states = (6, 0)", "give a non-empty array"),
    ({"states": [[1.0], [1.0, 2.0]]}, "states = [[1.0], [1.0, 2.0]]", RECTANGLE),
    ({"states": [["a"]] * 6}, "states[0, 0] = 'a'", NUMBER),
    ({"states": [[1, 2], [1, "a"]] * 3}, "states[1, 1] = 'a'", NUMBER),
    ({"next_states": np.array([1, 2.5, "a"] * 2, dtype=object)}, "next_states[2] = 'a'", NUMBER),
    (
        {"states": np.array(["2020-01-01"] * 6, "M8[D]")},
        "states[0] = datetime.date(2020, 1, 1)",
        NUMBER,
    ),
    ({"states": np.full((6, 2), 2.0**53)}, "states = 9007199254740992.0", "rescale them"),
    ({"states": np.full((6, 2), 2**63 - 1)}, "states = 9.223372036854776e+18", "rescale them"),
    ({"actions": np.array([0, 1, 0])}, "actions = (3,)", RAGGED),
    ({"actions": [[0], [0, 1]]}, "actions = [[0], [0, 1]]", "ragged data: give one entry a row"),
    ({"actions": np.array([0, 1, 0, 1, 0, -1])}, "actions = -1", ACTIONS),
    ({"actions": np.array([0, 2, 0, 1, 0, 1]), "number_of_actions": 2}, "actions = 2", "0 to 1"),
    ({"actions": np.array([0, 0.5, 0, 1, 0, 1])}, "actions = 0.5", "are whole numbers"),
    ({"actions": np.array([0, NAN, 0, 1, 0, 1])}, "actions[1] = nan", FINITE),
    ({"actions": np.full(6, 1e300)}, f"actions = {str(int(1e300))[:117] + '...'}", ACTIONS),
    ({"actions": np.full(6, 2**63, dtype=np.uint64)}, f"actions = {2**63!s}", ACTIONS),
    ({"actions": np.array(["keep"] * 6)}, "actions[0] = 'keep'", CODE),
    ({"actions": np.array([0, "keep"] * 3, dtype=object)}, "actions[1] = 'keep'", CODE),
    ({"number_of_actions": 1}, "number_of_actions = 1", "whole number of at least 2"),
    ({"number_of_actions": 2.5}, "number_of_actions = 2.5", "whole number of at least 2"),
    ({"number_of_actions": "two"}, "number_of_actions = 'two'", "whole number of at least 2"),
    ({"trajectory": np.arange(5)}, "trajectory = (5,)", RAGGED),
    ({"trajectory": np.zeros((6, 1))}, "trajectory = (6, 1)", RAGGED),
    ({"trajectory": np.array([0, 0, 1, 1, 2, NAN])}, "trajectory[5] = nan", LABEL),
    ({"trajectory": np.array(["a", "a", "b", "b", "c", None])}, "trajectory[5] = None", LABEL),
    (
        {"trajectory": np.array(["a", "a", "b", "b", 3, 3], dtype=object)},
        "trajectory = ['int', 'str']",
        "give all labels the same type",
    ),
    ({"done": np.array([0, 0, 2, 0, 0, 1])}, "done = 2.0", "give true or false in each row"),
    ({"done": np.array([0, 0, NAN, 0, 0, 1])}, "done[2] = nan", FINITE),
    ({"done": np.array(["no"] * 6)}, "done[0] = 'no'", TRUTH),
    ({"done": np.array(["0"] * 6)}, "done[0] = '0'", TRUTH),
    ({"done": np.array([True, None] * 3)}, "done[1] = nan", FINITE),
    ({"done": pd.array([True, pd.NA] * 3)}, "done[1] = <NA>", TRUTH),
    ({"done": [True]}, "done = (1,)", RAGGED),
    ({"feature_names": ("x", "x")}, "feature_names = ('x', 'x')", "give 2 distinct names"),
    ({"feature_names": ("x",)}, "feature_names = ('x',)", "give 2 distinct names"),
]
FRAMES: list[Row] = [
    ({"state": ["mileage"]}, "column = 'mileage'", "it has ['who', 'x', 'choice']"),
    ({"done": "end"}, "column = 'end'", "the frame needs one such column"),
    ({"state": "x"}, "state = 'x'", "give a list of column names"),
    ({"state": []}, "state = []", "give a list of column names"),
    ({"next_state": "x"}, "next_state = 'x'", "give a list of column names"),
    ({"next_state": ["x", "choice"]}, "next_state = ['x', 'choice']", "name 1 columns"),
    ({"table": frame().to_numpy()}, "frame = 'ndarray'", "give a pandas DataFrame"),
    ({"table": frame(x=["high", 1, 2, 3])}, "x[0] = 'high'", NUMBER),
    ({"table": frame(choice=[0, "run", 1, 0])}, "choice[1] = 'run'", CODE),
    ({"table": frame(choice=pd.Categorical(["run", "keep"] * 2))}, "choice[0] = 'run'", CODE),
    ({"table": frame(end=["no", "yes"] * 2), "done": "end"}, "end[0] = 'no'", TRUTH),
    ({"table": frame(end=["False", "True"] * 2), "done": "end"}, "end[0] = 'False'", TRUTH),
    (
        {"table": frame(end=["False"] * 4), "done": "end", "next_state": ["x"]},
        "end[0] = 'False'",
        TRUTH,
    ),
    ({"table": frame().iloc[:0]}, "frame = 'no rows'", "give at least one transition"),
    ({"table": frame(who=["a", None, "b", "b"])}, "who[1] = nan", LABEL),
    ({"table": frame(who=["a", "b", "c", "d"])}, "who = '4 trajectories'", "a single row"),
    ({"table": frame(choice=[0, 1, 1, 2_000_000_000])}, "choice = 2000000000", "4 rows"),
    ({"table": frame(x=[1.0, NAN, 2.0, 3.0])}, "x[1] = nan", FINITE),
    ({"table": frame(choice=[0, 1, NAN, 0])}, "choice[2] = nan", FINITE),
    ({"table": frame(choice=[0, 1, 1.5, 0])}, "choice = 1.5", "are whole numbers"),
    ({"table": frame(choice=[0, 1, -1, 0])}, "choice = -1", ACTIONS),
    ({"number_of_actions": 1}, "number_of_actions = 1", "whole number of at least 2"),
]
DOOR: list[Row] = [
    ({"transitions": frame()}, "transitions = 'DataFrame'", "give Transitions"),
    ({"transitions": []}, "transitions = 'list'", "one or more"),
    ({"transitions": 3}, "transitions = 'int'", "give Transitions"),
    (
        {"anchor_reward": np.ma.masked_array(np.zeros(6), mask=[1, 0, 0, 0, 0, 0])},
        "anchor_reward = 'masked entries'",
        "fill or remove what is masked",
    ),
    ({"method": "gladios"}, "method = 'gladios'", "did you mean 'gladius'? choose one of ["),
    ({"method": "xyz"}, "method = 'xyz'", ": choose one of ["),
    (
        {"method": "gladius", "protocol": "best"},
        "protocol = 'best'",
        "choose one of ('leak_free', ",
    ),
    ({"method": "gladius", "wieght": 2.0}, "option = 'wieght'", "choose from ["),
    ({"method": "gladius", "function_class": "net"}, "function_class = 'net'", "choose one of"),
    (
        {"method": "gladius", "function_class": "smooth", "penalty": 100.0},
        "penalty = 100.0",
        NO_EFFECT,
    ),
    ({"method": "gladius", "penalty": 100.0}, "option = 'penalty'", "choose from ['device'"),
    (
        {
            "transitions": data(states=np.ones(6), next_states=np.ones(6)),
            "method": "gladius",
            "penalty": 1.0,
        },
        "penalty = 1.0",
        NO_EFFECT,
    ),
    (
        {"method": "gladius", "function_class": "mlp", "hidden": 10},
        "hidden = 10",
        "give the width of each hidden layer, such as (10, 10)",
    ),
    ({"discount": 1.0}, "discount = 1.0", BETA),
    ({"discount": INF}, "discount = inf", BETA),
    ({"anchor_action": 2}, "anchor_action = 2", "give a whole number from 0 to 1"),
    ({"anchor_action": -1}, "anchor_action = -1", "give a whole number from 0 to 1"),
    ({"anchor_action": 1.0}, "anchor_action = 1.0", "give a whole number from 0 to 1"),
    ({"anchor_action": True}, "anchor_action = True", "give a whole number from 0 to 1"),
    (
        {"transitions": data(number_of_actions=3), "anchor_action": 2},
        "anchor_action = 2",
        "it never occurs in the 6 transitions: choose one that does",
    ),
    (
        {"transitions": [data(), data(actions=np.zeros(6, int))]},
        "anchor_action = 1",
        "it never occurs in the 6 transitions of data set 1",
    ),
    ({"anchor_reward": None}, "anchor_reward = None", "give the reward of the anchor action"),
    ({"anchor_reward": NAN}, "anchor_reward = nan", FINITE),
    ({"anchor_reward": "five"}, "anchor_reward = 'five'", NUMBER),
    ({"anchor_reward": ["-3"] * 6}, "anchor_reward[0] = '-3'", NUMBER),
    ({"anchor_reward": np.zeros(5)}, "anchor_reward = (5,)", "a function, or 6 rewards"),
    ({"anchor_reward": np.zeros((6, 1))}, "anchor_reward = (6, 1)", "a function, or 6 rewards"),
    ({"anchor_reward": np.arange(6.0)}, "anchor_reward = [1.0, 0.1]", "two different rewards"),
    (
        {"transitions": [data(), data()], "anchor_reward": np.zeros(6)},
        "anchor_reward = (6,)",
        "give a number, a function",
    ),
    (
        {"anchor_reward": lambda states: states},
        "anchor_reward = (6, 2)",
        "give a number or one reward for each of 6",
    ),
    (
        {"anchor_reward": lambda states: np.where(states[:, 0] == 3, NAN, 1.0)},
        "anchor_reward[3] = nan",
        FINITE,
    ),
]
OTHERS: list[tuple[Call, dict[str, Any], str, str]] = [
    (simulate, {"trajectories": 0}, "trajectories = 0", "whole number of at least 1"),
    (simulate, {"trajectories": 2.5}, "trajectories = 2.5", "whole number of at least 1"),
    (simulate, {"horizon": 0}, "horizon = 0", "whole number of at least 1"),
    (simulate, {"horizon": True}, "horizon = True", "whole number of at least 1"),
    (simulate, {"rng": 7}, "rng = 7", "give a numpy Generator"),
    (simulate, {"rng": []}, "rng = []", "one for each replication"),
    (simulate, {"policy": np.ones((2, 1))}, "policy = (2, 1)", "give shape (2, 2)"),
    (simulate, {"policy": np.full((2, 2), 0.6)}, "policy[0] = 1.2", "the row must sum to one"),
    (simulate, {"policy": np.full((2, 2), NAN)}, "policy[0, 0] = nan", FINITE),
    (world().occupancy, {"horizon": 0}, "horizon = 0", "whole number of at least 1"),
    (bus_reward, {"states": [[0.0]], "actions": [0]}, "states = 0.0", "1 to 20"),
    (bus_reward, {"states": [[21.0]], "actions": [0]}, "states = 21.0", "1 to 20"),
    (bus_reward, {"states": [[1.5]], "actions": [0]}, "states = 1.5", "1 to 20"),
    (bus_reward, {"states": [[2.0]], "actions": [2]}, "actions = 2", "1 replaces"),
    (data().split, {"fraction": 0.0}, "fraction = 0.0", "strictly between 0 and 1"),
    (data().split, {"fraction": 80}, "fraction = 80", "strictly between 0 and 1"),
    (data().split, {"fraction": NAN}, "fraction = nan", "strictly between 0 and 1"),
    (
        data().split,
        {"fraction": 0.9},
        "trajectory = '3 trajectories'",
        "too few for a split at 0.9",
    ),
    (
        data(trajectory=None).split,
        {},
        "trajectory = '1 trajectories'",
        "each side needs at least one",
    ),
    (data(feature_names=("x", "action")).to_frame, {}, "feature_names = ('x', 'action')", "rename"),
    (data(feature_names=("x", "next_x")).to_frame, {}, "feature_names = ('x', 'next_x')", "rename"),
    (group, {"data": []}, "transitions = []", "give at least one data set"),
    (group, {"data": [data(), frame()]}, "transitions[1] = 'DataFrame'", "give Transitions"),
    (
        group,
        {"data": [data(), data(states=np.zeros((6, 1)), next_states=np.zeros((6, 1)))]},
        "transitions[1] = '1 features, 2 actions'",
        "the others have 2 features and 2 actions",
    ),
    (
        group,
        {"data": [data(), data(number_of_actions=5)]},
        "transitions[1] = '2 features, 5 actions'",
        "the others have 2 features and 2 actions",
    ),
    (
        group,
        {"data": Transitions(np.arange(6e3), np.zeros(6000, int), np.arange(6e3))},
        "states = '6000 distinct states'",
        "a table of 72000000 counts is too large: coarsen the features",
    ),
    (support, {}, "anchor_action = 1", "67% of the observations of data set 0"),
    (estimate().q, {"states": np.zeros((3, 4))}, "states = (3, 4)", "give shape (rows, 2)"),
    (estimate().policy, {"states": np.full((1, 2), NAN)}, "states[0, 0] = nan", FINITE),
    (reward, {"actions": 2}, "actions = 2", "give whole numbers from 0 to 1"),
    (reward, {"actions": np.array([0, 1])}, "actions = (2,)", "one for each of 3 states"),
    (reward, {"actions": 0.5}, "actions = 0.5", "give whole numbers from 0 to 1"),
    (
        score,
        {"truth": lambda s, a: np.zeros(len(s))},
        "truth = 0.0",
        "undefined where the true reward",
    ),
    (score, {"truth": lambda s, a: s}, "truth = (5, 2)", "return one reward for each of 5 pairs"),
    (score, {"truth": lambda s, a: s[:, 0] * NAN}, "truth[0] = nan", FINITE),
]
GROUPS = [(world, WORLDS), (bus, BUSES), (data, ROWS), (read, FRAMES), (fit, DOOR)]
CASES = [(call, *row) for call, rows in GROUPS for row in rows] + OTHERS


def snapshot(value: Any) -> Any:
    """All that a value holds, in a form that later changes to it cannot reach."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist().__repr__()
    if isinstance(value, pd.DataFrame):
        return [(str(name), snapshot(value[name].to_numpy())) for name in value.columns]
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if is_dataclass(value):
        return [snapshot(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, list | tuple):
        return [snapshot(one) for one in value]
    return value if callable(value) else repr(value)


@pytest.mark.parametrize(
    ("call", "spoilt", "said", "hint"),
    [pytest.param(*case, id=f"{case[2][:40]}-{i}") for i, case in enumerate(CASES)],
)
def test_bad_input_is_named_and_shown_with_a_hint(
    call: Call, spoilt: dict[str, Any], said: str, hint: str
) -> None:
    before = snapshot(list(spoilt.values()))
    with pytest.raises(InputError) as caught:
        call(**spoilt)
    message = str(caught.value)
    assert message.startswith(f"{said}: ")
    assert hint in message
    assert "\n" not in message
    assert caught.value.field == said.split(" = ")[0]
    assert caught.value.hint in message
    assert snapshot(list(spoilt.values())) == before


def test_a_function_of_the_user_that_raises_is_named() -> None:
    with pytest.raises(InputError, match="raised ZeroDivisionError: division by zero") as caught:
        fit(anchor_reward=lambda states: 1 / 0)
    assert caught.value.field == "anchor_reward"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_data_do_not_share_the_arrays_of_the_caller() -> None:
    states = np.array([[1.0], [2.0]])
    own = Transitions(states, np.array([0, 1]), states[::-1])
    states[0] = 9.0
    assert own.states[0, 0] == 1.0
    assert own.next_states[1, 0] == 1.0


def test_the_unspoilt_input_is_right() -> None:
    """Control: every case fails for what is spoilt in it, not for what it starts from."""
    assert world().solution.converged
    assert simulate().states.shape == (2, 3)
    assert len(data()) == 6
    assert len(read()) == 2
    assert fit() == "fitted"
    assert reward().shape == (3,)
    assert score() == 100.0
    assert bus().solution.converged
    support(actions=np.array([0, 1, 1, 1, 0, 1]))


def test_good_but_unusual_input_passes() -> None:
    """Control: the checks do not refuse what is merely rare."""
    assert data(actions=np.array([0.0, 1.0] * 3)).actions.dtype == np.int64
    assert data(actions=[False, True] * 3).number_of_actions == 2
    assert data(done=[0, 1, 0, 0, 0, 1]).done.tolist() == [False, True, False, False, False, True]
    assert data(done=np.array([0.0, True, np.int8(0)] * 2, dtype=object)).done.sum() == 2
    assert read(frame(end=np.array([False, True] * 2, dtype=object)), done="end").done.tolist() == [
        False,
        True,
        False,
        True,
    ]
    assert data(states=np.array(["1", 2.0] * 6, dtype=object).reshape(6, 2)).states[0, 0] == 1.0
    assert data(trajectory=["x", "x", "y", "y", "z", "z"]).split(0.5)[0].trajectory[0] == "x"
    assert world(transition=np.full((2, 2, 2), 0.5) + 1e-11).solution.converged
    assert fit(anchor_reward=lambda states: -states[:, 0]) == "fitted"
    assert fit(anchor_reward=-data().states[:, 0]) == "fitted"
    assert fit(anchor_action=np.int64(1), anchor_reward=np.float64(3.0)) == "fitted"
    assert fit(transitions=(data(), data()))[:2] == ["fitted"] * 2


def test_long_values_are_shortened_in_the_message_only() -> None:
    error = InputError("states", list(range(1000)), "give fewer")
    assert len(str(error)) < 150
    assert "...: give fewer" in str(error)
    assert error.value == list(range(1000))
    assert isinstance(error, ValueError)


def test_a_message_is_one_line_whatever_the_value_and_the_hint() -> None:
    error = InputError("x", np.eye(2), "line 3 is bad\n")
    assert str(error) == "x = array([[1., 0.], [0., 1.]]): line 3 is bad"
    assert error.hint == "line 3 is bad"


def test_numpy_scalars_are_shown_as_numbers() -> None:
    assert str(InputError("beta", np.float64(1.5), "less")) == "beta = 1.5: less"
