"""Right input for everything that checks its input; keyword arguments replace parts of it."""

import sys
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import gladius
from gladius.designs.bus import BusEngine
from gladius.designs.metrics import mape
from gladius.model.estimate import Diagnostics, Estimate
from gladius.model.mdp import TabularMDP
from gladius.panel.anchor import check_anchor_support
from gladius.panel.record import Transitions, group
from gladius.validate import InputError


def world(**change: Any) -> TabularMDP:
    right: dict[str, Any] = {
        "reward": np.array([[0.0, -1.0], [1.0, 0.5]]),
        "transition": np.array([[[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]]),
        "discount": 0.9,
        "initial": np.array([1.0, 0.0]),
    }
    return TabularMDP(**(right | change))


def simulate(**change: Any) -> Any:
    right: dict[str, Any] = {"trajectories": 2, "horizon": 3, "rng": np.random.default_rng(0)}
    return world().simulate(**(right | change))


def data(**change: Any) -> Transitions:
    """Three trajectories of two transitions."""
    right: dict[str, Any] = {
        "states": np.array(
            [[1.0, 0.1], [2.0, 0.2], [1.0, 0.1], [3.0, 0.3], [2.0, 0.2], [1.0, 0.1]]
        ),
        "actions": np.array([0, 1, 0, 1, 0, 1]),
        "next_states": np.array(
            [[2.0, 0.2], [1.0, 0.1], [3.0, 0.3], [1.0, 0.1], [1.0, 0.1], [2.0, 0.2]]
        ),
        "trajectory": np.array([0, 0, 1, 1, 2, 2]),
    }
    return Transitions(**(right | change))


def frame(**column: Any) -> pd.DataFrame:
    right: dict[str, Any] = {
        "who": ["a", "a", "b", "b"],
        "when": [0, 1, 0, 1],
        "x": [1.0, 2.0, 3.0, 4.0],
        "choice": [0, 1, 1, 0],
    }
    return pd.DataFrame(right | column)


def read(table: pd.DataFrame | None = None, **change: Any) -> Transitions:
    right: dict[str, Any] = {"state": ["x"], "action": "choice", "id": "who", "time": "when"}
    return Transitions.from_frame(frame() if table is None else table, **(right | change))


class Spy(ModuleType):
    """A method that must never be reached."""

    NEEDS = ("anchor",)
    calls = 0

    def fit(self, data: list[Transitions], *_: Any, **__: Any) -> list[Estimate]:
        Spy.calls += 1
        return [estimate() for _ in data]


sys.modules["spy"] = Spy("spy")


def fit(**change: Any) -> Any:
    """`gladius.fit` with a method that counts its calls; bad input must not get there."""
    right: dict[str, Any] = {
        "transitions": data(),
        "method": "spy",
        "anchor_action": 1,
        "anchor_reward": -5.0,
        "discount": 0.9,
    }
    before = Spy.calls
    with patch.dict(gladius.METHODS, spy="spy"):
        try:
            fitted = gladius.fit(**(right | change))
        except InputError:
            assert Spy.calls == before, "work had started"
            raise
    return [one.method for one in fitted] if isinstance(fitted, list) else fitted.method


def estimate() -> Estimate:
    def table(states: Any) -> Any:
        return np.zeros((len(states), 2))

    return Estimate("fitted", table, table, 2, Diagnostics(True, 1, 0.0, 0.0, 0.0, 0.0))


def reward(**change: Any) -> Any:
    return estimate().reward(
        **({"states": np.zeros((3, 2)), "actions": np.array([0, 1, 1])} | change)
    )


def score(**change: Any) -> float:
    right: dict[str, Any] = {
        "estimate": estimate(),
        "test": data(),
        "truth": lambda states, _: np.full(len(states), 2.0),
    }
    return mape(**(right | change))


def bus_reward(states: Any, actions: Any) -> Any:
    return BusEngine().reward(np.array(states), np.array(actions))


def bus(**change: Any) -> Any:
    return BusEngine(**change).mdp


def support(**change: Any) -> None:
    """Action 1 is taken in state 2 alone; four of six observations lie elsewhere."""
    right: dict[str, Any] = {"actions": np.array([0, 1, 0, 0, 0, 0])}
    check_anchor_support(group(data(**(right | change))), 1)
