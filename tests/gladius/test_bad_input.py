"""Bad input is an InputError that names the field, shows the value and says what to do about it.

Each case starts from right input and changes one thing. It must fail before any work starts.
"""

from collections.abc import Callable
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

from gladius.panel.record import Transitions, group
from gladius.validate import InputError

NAN, INF = float("nan"), float("inf")
Call = Callable[..., Any]

HALVES = np.full((2, 2), 0.5)

# the bad argument, and the beginning of the message: "field = value"
Row = tuple[dict[str, Any], str]
WORLDS: list[Row] = [
    ({"reward": np.array([[0.0, 1.0], [NAN, 0.0]])}, "reward[1, 0] = nan"),
    ({"reward": np.array([[0.0, INF], [0.0, 0.0]])}, "reward[0, 1] = inf"),
    ({"reward": [[1j, 0], [0, 0]]}, "reward[0, 0] = 1j"),
    ({"reward": np.zeros(3)}, "reward = (3,)"),
    ({"transition": np.ones((2, 2, 1))}, "transition = (2, 2, 1)"),
    ({"transition": np.stack([HALVES, HALVES - 0.05])}, "transition[1, 0] = 0.9"),
    ({"transition": np.stack([HALVES, [[1.5, -0.5], [0, 1]]])}, "transition[1, 0, 1] = -0.5"),
    ({"initial": np.array([0.5, 0.4])}, "initial = 0.9"),
    ({"discount": 0.0}, "discount = 0.0"),
    ({"discount": NAN}, "discount = nan"),
    ({"discount": "often"}, "discount = 'often'"),
    ({"features": np.ones((2, 1))}, "features = (2, 1)"),
    ({"features": np.ones((3, 1))}, "features = (3, 1)"),
    ({"features": np.array([[1.0], [NAN]])}, "features[1, 0] = nan"),
]
BUSES: list[Row] = [
    ({"theta": (1.0, 2.0, 3.0)}, "theta = (1.0, 2.0, 3.0)"),
    ({"theta": (1.0, NAN)}, "theta[1] = nan"),
    ({"max_mileage": 1}, "max_mileage = 1"),
    ({"dummies": -1}, "dummies = -1"),
    ({"horizon": 0}, "horizon = 0"),
    ({"maintenance": lambda x: x[:3]}, "maintenance = (3,)"),
    ({"maintenance": lambda x: np.where(x > 1, -x, NAN)}, "maintenance[0] = nan"),
]
ROWS: list[Row] = [
    ({"next_states": np.zeros((6, 3))}, "next_states = (6, 3)"),
    ({"states": np.zeros((0, 2))}, "states = (0, 2)"),
    ({"states": [[1.0], [1.0, 2.0]]}, "states = [[1.0], [1.0, 2.0]]"),
    ({"states": [[1, 2], [1, "a"]] * 3}, "states[1, 1] = 'a'"),
    ({"next_states": np.array([1, 2.5, "a"] * 2, dtype=object)}, "next_states[2] = 'a'"),
    ({"states": np.array(["2020-01-01"] * 6, "M8[D]")}, "states[0] = datetime.date(2020, 1, 1)"),
    ({"states": np.full((6, 2), 2.0**53)}, "states = 9007199254740992.0"),
    ({"actions": np.array([0, 1, 0])}, "actions = (3,)"),
    ({"actions": [[0], [0, 1]]}, "actions = [[0], [0, 1]]"),
    ({"actions": np.array([0, 1, 0, 1, 0, -1])}, "actions = -1"),
    ({"actions": np.array([0, 2, 0, 1, 0, 1]), "number_of_actions": 2}, "actions = 2"),
    ({"actions": np.array([0, NAN, 0, 1, 0, 1])}, "actions[1] = nan"),
    ({"actions": np.full(6, 1e300)}, f"actions = {str(int(1e300))[:117] + '...'}"),
    ({"actions": np.full(6, 2**63, dtype=np.uint64)}, f"actions = {2**63!s}"),
    ({"actions": np.array(["keep"] * 6)}, "actions[0] = 'keep'"),
    ({"actions": np.array([0, "keep"] * 3, dtype=object)}, "actions[1] = 'keep'"),
    ({"number_of_actions": 1}, "number_of_actions = 1"),
    ({"trajectory": np.arange(5)}, "trajectory = (5,)"),
    ({"trajectory": np.array([0, 0, 1, 1, 2, NAN])}, "trajectory[5] = nan"),
    (
        {"trajectory": np.array(["a", "a", "b", "b", 3, 3], dtype=object)},
        "trajectory = ['int', 'str']",
    ),
    ({"done": np.array([0, 0, 2, 0, 0, 1])}, "done = 2.0"),
    ({"done": np.array(["no"] * 6)}, "done[0] = 'no'"),
    ({"done": np.array([True, None] * 3)}, "done[1] = nan"),
    ({"done": pd.array([True, pd.NA] * 3)}, "done[1] = <NA>"),
    ({"done": [True]}, "done = (1,)"),
    ({"feature_names": ("x", "x")}, "feature_names = ('x', 'x')"),
]
FRAMES: list[Row] = [
    ({"state": ["mileage"]}, "column = 'mileage'"),
    ({"done": "end"}, "column = 'end'"),
    ({"state": "x"}, "state = 'x'"),
    ({"state": []}, "state = []"),
    ({"next_state": "x"}, "next_state = 'x'"),
    ({"next_state": ["x", "choice"]}, "next_state = ['x', 'choice']"),
    ({"table": frame().to_numpy()}, "frame = 'ndarray'"),
    ({"table": frame(x=["high", 1, 2, 3])}, "x[0] = 'high'"),
    ({"table": frame(choice=[0, "run", 1, 0])}, "choice[1] = 'run'"),
    ({"table": frame(end=["no", "yes"] * 2), "done": "end"}, "end[0] = 'no'"),
    ({"table": frame().iloc[:0]}, "frame = 'no rows'"),
    ({"table": frame(who=["a", None, "b", "b"])}, "who[1] = nan"),
    ({"table": frame(who=["a", "b", "c", "d"])}, "who = '4 trajectories'"),
    ({"table": frame(choice=[0, 1, 1, 2_000_000_000])}, "choice = 2000000000"),
]
DOOR: list[Row] = [
    ({"transitions": frame()}, "transitions = 'DataFrame'"),
    ({"transitions": []}, "transitions = 'list'"),
    ({"transitions": 3}, "transitions = 'int'"),
    (
        {"anchor_reward": np.ma.masked_array(np.zeros(6), mask=[1, 0, 0, 0, 0, 0])},
        "anchor_reward = 'masked entries'",
    ),
    ({"method": "gladios"}, "method = 'gladios'"),
    ({"method": "profiled_erm", "wieght": 2.0}, "option = 'wieght'"),
    (
        {"method": "profiled_erm", "function_class": "smooth", "penalty": 100.0},
        "option = 'penalty'",
    ),
    ({"method": "profiled_erm", "function_class": "mlp", "hidden": 10}, "hidden = 10"),
    ({"method": "profiled_erm", "function_class": "deep"}, "function_class = 'deep'"),
    ({"method": "gladius", "protocol": "oracle"}, "protocol = 'oracle'"),
    ({"anchor_action": 2}, "anchor_action = 2"),
    ({"anchor_action": 1.0}, "anchor_action = 1.0"),
    ({"anchor_action": True}, "anchor_action = True"),
    ({"transitions": data(number_of_actions=3), "anchor_action": 2}, "anchor_action = 2"),
    ({"transitions": [data(), data(actions=np.zeros(6, int))]}, "anchor_action = 1"),
    ({"anchor_reward": None}, "anchor_reward = None"),
    ({"anchor_reward": NAN}, "anchor_reward = nan"),
    ({"anchor_reward": "five"}, "anchor_reward = 'five'"),
    ({"anchor_reward": np.zeros(5)}, "anchor_reward = (5,)"),
    ({"anchor_reward": np.arange(6.0)}, "anchor_reward = [1.0, 0.1]"),
    ({"transitions": [data(), data()], "anchor_reward": np.zeros(6)}, "anchor_reward = (6,)"),
    ({"anchor_reward": lambda states: states}, "anchor_reward = (6, 2)"),
    (
        {"anchor_reward": lambda states: np.where(states[:, 0] == 3, NAN, 1.0)},
        "anchor_reward[3] = nan",
    ),
]
OTHERS: list[tuple[Call, dict[str, Any], str]] = [
    (simulate, {"trajectories": 0}, "trajectories = 0"),
    (simulate, {"horizon": 0}, "horizon = 0"),
    (simulate, {"rng": -7}, "rng = -7"),
    (simulate, {"policy": np.ones((2, 1))}, "policy = (2, 1)"),
    (simulate, {"policy": np.full((2, 2), 0.6)}, "policy[0] = 1.2"),
    (simulate, {"policy": np.full((2, 2), NAN)}, "policy[0, 0] = nan"),
    (world().occupancy, {"horizon": 0}, "horizon = 0"),
    (bus_reward, {"states": [[0.0]], "actions": [0]}, "states = 0.0"),
    (bus_reward, {"states": [[1.5]], "actions": [0]}, "states = 1.5"),
    (bus_reward, {"states": [[2.0]], "actions": [2]}, "actions = 2"),
    (data().split, {"fraction": 0.0}, "fraction = 0.0"),
    (data().split, {"fraction": 0.9}, "trajectory = '3 trajectories'"),
    (data(trajectory=None).split, {}, "trajectory = '1 trajectories'"),
    (data(feature_names=("x", "action")).to_frame, {}, "feature_names = ('x', 'action')"),
    (group, {"data": []}, "transitions = []"),
    (group, {"data": [data(), frame()]}, "transitions[1] = 'DataFrame'"),
    (
        group,
        {"data": [data(), data(states=np.zeros((6, 1)), next_states=np.zeros((6, 1)))]},
        "transitions[1] = '1 features, 2 actions'",
    ),
    (
        group,
        {"data": [data(), data(number_of_actions=5)]},
        "transitions[1] = '2 features, 5 actions'",
    ),
    (support, {}, "anchor_action = 1"),
    (estimate().q, {"states": np.zeros((3, 4))}, "states = (3, 4)"),
    (reward, {"actions": 2}, "actions = 2"),
    (reward, {"actions": np.array([0, 1])}, "actions = (2,)"),
    (score, {"truth": lambda s, a: np.zeros(len(s))}, "truth = 0.0"),
    (score, {"truth": lambda s, a: s}, "truth = (5, 2)"),
    (score, {"truth": lambda s, a: s[:, 0] * NAN}, "truth[0] = nan"),
]
GROUPS = [(world, WORLDS), (bus, BUSES), (data, ROWS), (read, FRAMES), (fit, DOOR)]
CASES = [(call, *row) for call, rows in GROUPS for row in rows] + OTHERS


@pytest.mark.parametrize(
    ("call", "change", "start"),
    [pytest.param(*case, id=f"{case[2][:40]}-{i}") for i, case in enumerate(CASES)],
)
def test_bad_input_is_named_and_shown(call: Call, change: dict[str, Any], start: str) -> None:
    """The message is one line: field, value, and what to do about it."""
    with pytest.raises(InputError) as caught:
        call(**change)
    message = str(caught.value)
    assert message.startswith(f"{start}: ")
    assert caught.value.field == start.split(" = ")[0]
    assert message == f"{start}: {caught.value.hint}"
    assert "\n" not in message
    assert len(caught.value.hint) > 10


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


def test_the_input_before_the_change_is_right() -> None:
    """Control: every case fails for its change, not for what it starts from."""
    assert world().solution.converged
    assert simulate().states.shape == (2, 3)
    assert len(data()) == 6
    assert read().followed.tolist() == [True, False, True, False]
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
    ends = np.array([False, True, False, False], dtype=object)
    assert read(frame(end=ends), done="end").done.tolist() == ends.tolist()
    assert read(frame(choice=pd.Categorical(["run", "keep"] * 2))).action_names == ("keep", "run")
    assert data(states=np.array(["1", 2.0] * 6, dtype=object).reshape(6, 2)).states[0, 0] == 1.0
    assert data(trajectory=["x", "x", "y", "y", "z", "z"]).split(0.5)[0].trajectory[0] == "x"
    assert world(transition=np.full((2, 2, 2), 0.5) + 1e-11).solution.converged
    assert fit(anchor_reward=lambda states: -states[:, 0]) == "fitted"
    assert fit(anchor_reward=-data().states[:, 0]) == "fitted"
    assert fit(anchor_action=np.int64(1), anchor_reward=np.float64(3.0)) == "fitted"
    assert fit(transitions=(data(), data())) == ["fitted"] * 2


def test_a_message_is_one_short_line_of_plain_numbers() -> None:
    assert str(InputError("beta", np.float64(1.5), "less")) == "beta = 1.5: less"
    two_lines = InputError("x", np.eye(2), "line 3 is bad\n")
    assert str(two_lines) == "x = array([[1., 0.], [0., 1.]]): line 3 is bad"
    assert two_lines.hint == "line 3 is bad"
    error = InputError("states", list(range(1000)), "give fewer")
    assert len(str(error)) < 150
    assert "...: give fewer" in str(error)
    assert error.value == list(range(1000))
    assert isinstance(error, ValueError)
