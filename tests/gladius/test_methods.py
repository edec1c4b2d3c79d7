"""What every registered method owes the one door: `inner_iterations`, and an anchor if it needs it.

A further method is covered by being registered.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from gladius import METHODS, BusEngine, Estimate, fit, mdp, smooth
from gladius.baselines import _regressors, iq_learn_network
from gladius.baselines.bc import Training
from gladius.checks import InputError
from gladius.methods import needs
from gladius.transitions import Transitions

Array = NDArray[np.float64]

BUS = BusEngine()
SETS = BUS.simulate(12, [np.random.default_rng([12, i]) for i in range(2)])
DUMMY = BusEngine(dummies=1).simulate(12, [np.random.default_rng([12, i]) for i in range(2)])
ORACLE = {"transition": BUS.mdp.transition, "grid": BUS.mdp.features}
BRIEF = Training(standardise=True, steps=2)

# So little training that a test can wait for it.
SHORT: dict[str, dict[str, Any]] = {
    "avi": {"training": _regressors.Training(steps=2)},
    "pqr": {"training": BRIEF},
    "samq": {"training": BRIEF},
    "bc": {"training": BRIEF},
}

# Options beside the defaults: protocols, classes and solvers.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "gladius": [
        {"function_class": "mlp"},
        {"function_class": "mlp", "level": "scalar"},
        {"function_class": "polynomial"},
        {"function_class": "tabular"},
        {"protocol": "author", "epochs": 1, "batch_trajectories": 6},
        {"protocol": "printed", "iterations": 3},
        {"protocol": "printed", "iterations": 3, "function_class": "tabular"},
        {"protocol": "printed", "iterations": 3, "ascents": 2},
        {"protocol": "printed", "iterations": 3, "deterministic": True},
    ],
    "nfxp": [ORACLE, {"theta_1_given": True}],
    "ccp": [ORACLE, {"stages": None}, {"finite_dependence": True}, {"ccps": "logit"}],
    "mpec": [ORACLE, {"solver": "slsqp"}, {"solver": "trust-constr", "max_iterations": 5}],
    "avi": [{"regression": name} for name in ("auto", "one_hot", "polynomial", "additive")],
    "semi_gradient": [{"basis": "polynomial"}, {"cross_fit": True}],
    "rp": [{"theta_1_given": True}],
    "pqr": [{"regression": "tabular"}, {"q_step": "residual", "training": BRIEF}],
    "samq": [
        {"inversion": "tabular"},
        {"inversion": "tabular", "inner": "td", "td_passes": 2, "cells": 3},
    ],
    "iq_learn": [{"function_class": "network", "training": iq_learn_network.Training(steps=2)}],
    "ml_irl": [ORACLE, {"inner": "one_step"}, {"inner": "finite_dependence"}],
    "clare": [ORACLE],
    "airl": [ORACLE, {"state_only": True}, {"plain": True}, {"anchored": True}],
}


def estimates(name: str, data: list[Transitions], **options: Any) -> list[Estimate]:
    return fit(data, name, anchor_action=1, anchor_reward=-5.0, discount=0.95, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name in METHODS for options in [{}, *VARIANTS.get(name, [])]],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value)),
)
def test_every_method_counts_its_inner_iterations(name: str, options: dict[str, Any]) -> None:
    for one in estimates(name, SETS, **(SHORT.get(name, {}) | options)):
        inner = one.diagnostics.extra["inner_iterations"]
        assert type(inner) is int
        assert inner >= 0


def inner_of(data: list[Transitions], **options: Any) -> list[int]:
    found = estimates("gladius", data, **options)
    return [int(str(one.diagnostics.extra["inner_iterations"])) for one in found]


@pytest.mark.parametrize("function_class", ["smooth", "tabular"])
def test_gladius_counts_the_bellman_iterations_that_it_makes(function_class: str) -> None:
    """Alone, the count is that of every call; in a batch a set has its share of the calls."""
    made: list[int] = []

    def counted(*arguments: Any) -> mdp.Solution:
        solution = mdp.soft_bellman(*arguments)
        made.append(solution.iterations)
        return solution

    with patch.object(smooth, "soft_bellman", counted):
        assert inner_of(SETS[:1], function_class=function_class) == [sum(made)]
        assert len(made) > 1, "control: there is a loop to count"
        made.clear()
        together = inner_of(SETS, function_class=function_class)
        assert max(together) <= sum(made)


def test_gladius_has_no_inner_loop_where_the_level_is_a_linear_system() -> None:
    assert inner_of(SETS, function_class="polynomial") == [0, 0]
    assert inner_of(DUMMY, function_class="tabular") == [0, 0]  # no roughness, so no search for it


def test_alternating_single_steps_are_no_inner_loop() -> None:
    printed: dict[str, Any] = {"protocol": "printed", "iterations": 7, "function_class": "tabular"}
    assert inner_of(SETS, **printed) == [0, 0]
    assert inner_of(SETS, **printed, ascents=3) == [21, 21]
    assert inner_of(SETS, **printed, ascents=3, deterministic=True) == [0, 0]
    assert inner_of(SETS, protocol="author", epochs=1, batch_trajectories=6) == [0, 0]


THREE = Transitions(
    SETS[0].states,
    SETS[0].actions,
    SETS[0].next_states,
    SETS[0].trajectory,
    SETS[0].done,
    number_of_actions=3,
)
NEVER = 2  # of three actions
SOME = replace(THREE, actions=np.where(np.arange(len(THREE)) % 5, THREE.actions, NEVER))


def form(states: Array) -> Array:
    """(n, 3, 2): the bus engine's, and an action that is far too dear."""
    table = np.zeros((len(states), 3, 2))
    table[:, 0, 0], table[:, 1, 1], table[:, 2] = -states[:, 0], -1.0, -50.0
    return table


@pytest.mark.parametrize("name", METHODS)
def test_only_a_method_that_needs_an_anchor_asks_that_it_occurs(name: str) -> None:
    options: dict[str, Any] = {"design": form} if "form" in needs(name) else {}
    if name == "rp":  # its cells are the constants
        options = {"design": lambda states: form(states)[:, :, :1]}
    given: dict[str, Any] = {"anchor_action": NEVER, "anchor_reward": -5.0, "discount": 0.9}
    if "anchor" in needs(name):
        with pytest.raises(InputError, match=r"it never occurs .* of data set 1") as caught:
            fit([SOME, THREE], name, **given)
        assert caught.value.field == "anchor_action"
        return
    if name == "semi_gradient":  # it says itself what it cannot do without
        with pytest.raises(InputError) as caught:
            fit([SOME, THREE], name, **given, **options)
        assert caught.value.field == "actions"
        return
    found = fit([SOME, THREE], name, **given, **(SHORT.get(name, {}) | options))[1]
    assert np.all(np.isfinite(found.q(THREE.states)[:, :NEVER]))
    assert found.diagnostics.bellman_error == 0.0, "there is no row of the anchor"


def test_an_anchor_that_is_not_used_is_checked_all_the_same() -> None:
    for field, bad in [("anchor_action", 3), ("anchor_reward", None)]:
        given: dict[str, Any] = {"anchor_action": NEVER, "anchor_reward": -5.0, "discount": 0.9}
        with pytest.raises(InputError) as caught:
            fit([SOME, THREE], "bc", **(given | {field: bad}))
        assert caught.value.field == field


@pytest.mark.parametrize("name", METHODS)
def test_an_action_that_nobody_takes_is_refused(name: str) -> None:
    """Actions counted from 1, or all the same, would otherwise give rewards of a blank action."""
    one = SETS[0]
    counted = replace(one, actions=one.actions + 1, number_of_actions=3)
    same = replace(one, actions=0 * one.actions)
    for data, anchor, hint in [
        ([counted] * 2, 1, "0 to A - 1: of 0 to 2, [0] never"),
        (same, 0, "a choice needs two actions taken, and only 0 occurs"),
    ]:
        with pytest.raises(InputError) as caught:
            fit(data, name, anchor_action=anchor, anchor_reward=-5.0, discount=0.95)
        assert caught.value.field == "actions"
        assert hint in caught.value.hint
