"""What every registered method and variant owes the one door; a further one is covered at once.

The variants are those of the golden file (tests/golden/cases.py), with networks trained briefly.
"""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from cases import variants
from numpy.typing import NDArray

from gladius import METHODS, BusEngine, Estimate, InputError, LinearReward, Transitions, fit
from gladius.methods import KNOWLEDGE, needs, title
from gladius.worlds.bus import BUS_REWARD

Array = NDArray[np.float64]

BUS = BusEngine()
SETS = BUS.simulate(16, [np.random.default_rng([12, i]) for i in range(2)])
GIVEN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
GRID = BUS.mdp.features[:8]  # mileages of both data sets
VARIANTS = variants()


def estimates(variant: str, data: list[Transitions], **options: Any) -> list[Estimate]:
    """A variant of the golden file on bus data."""
    method, chosen = VARIANTS[variant]
    chosen = dict(chosen)
    if chosen.pop("known", False):
        chosen["transition"] = BUS.known_transitions
    if "form" in needs(method):
        chosen["reward"] = BUS_REWARD
    return fit(data, method, **GIVEN, **(chosen | options))


@pytest.fixture(scope="module", params=VARIANTS)
def fitted(request: pytest.FixtureRequest) -> tuple[str, list[Estimate]]:
    """(variant, its estimates of both data sets), fitted once for the whole module."""
    return request.param, estimates(request.param, SETS)


Fitted = tuple[str, list[Estimate]]


def test_every_method_has_a_variant_a_title_and_known_needs() -> None:
    assert {method for method, _ in VARIANTS.values()} == set(METHODS)
    for name in METHODS:
        assert title(name)
        assert set(needs(name)) <= set(KNOWLEDGE)


def test_replications_together_are_as_alone(fitted: Fitted) -> None:
    """The first of each batch: random numbers are keyed by the place in the batch."""
    variant, together = fitted
    for batch, alone in [
        (together, estimates(variant, SETS[:1])),
        (estimates(variant, SETS[::-1]), estimates(variant, SETS[1:])),
    ]:
        scale = max(1.0, float(np.nanmax(np.abs(alone[0].q(GRID)))))
        np.testing.assert_allclose(batch[0].q(GRID), alone[0].q(GRID), atol=1e-7 * scale)
        for action in (0, 1):
            expected = alone[0].reward(GRID, action)
            np.testing.assert_allclose(batch[0].reward(GRID, action), expected, atol=1e-6 * scale)
        assert batch[0].diagnostics.status == alone[0].diagnostics.status


def test_it_is_deterministic_and_leaves_the_data_as_they_were(fitted: Fitted) -> None:
    variant, first = fitted
    before = [[np.array(getattr(data, f.name)) for f in fields(data)] for data in SETS]
    again = estimates(variant, SETS)
    for estimate, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(estimate.q(GRID), other.q(GRID))
    for data, parts in zip(SETS, before, strict=True):
        for f, part in zip(fields(data), parts, strict=True):
            np.testing.assert_array_equal(np.array(getattr(data, f.name)), part)


def test_an_estimate_can_be_saved(fitted: Fitted) -> None:
    for estimate in fitted[1]:
        read = pickle.loads(pickle.dumps(estimate))
        np.testing.assert_array_equal(read.q(GRID), estimate.q(GRID))
        np.testing.assert_array_equal(read.reward(GRID, 0), estimate.reward(GRID, 0))
        assert read.diagnostics.status == estimate.diagnostics.status


def test_diagnostics_say_what_they_promise(fitted: Fitted) -> None:
    for estimate in fitted[1]:
        diagnostics = estimate.diagnostics
        inner = diagnostics.extra["inner_iterations"]
        assert type(inner) is int
        assert inner >= 0
        assert diagnostics.converged == (diagnostics.status == "ok")
        assert diagnostics.status in ("ok", "not_converged", "diverged") or (
            diagnostics.status.startswith("failed: ")
        )
        assert diagnostics.iterations >= 0
        assert diagnostics.cpu_seconds > 0
        if diagnostics.converged:
            rewards = [estimate.reward(GRID, action) for action in (0, 1)]
            assert np.all(np.isfinite(rewards))
            assert np.all(np.isfinite(estimate.q(GRID)))
            np.testing.assert_allclose(estimate.policy(GRID).sum(axis=1), 1.0)
        assert np.isfinite(diagnostics.nll) or not diagnostics.converged


@pytest.mark.parametrize("name", METHODS)
def test_an_unknown_option_is_named(name: str) -> None:
    with pytest.raises(InputError, match="colour") as caught:
        fit(SETS, name, **GIVEN, colour=1)
    assert caught.value.field == "option"


PARAMETRIC = [name for name in METHODS if "form" in needs(name)]


@pytest.mark.parametrize("name", PARAMETRIC)
@pytest.mark.parametrize("form", [None, "bus", lambda states: states])
def test_a_parametric_method_asks_for_its_form(name: str, form: Any) -> None:
    with pytest.raises(InputError) as caught:
        fit(SETS, name, **GIVEN, reward=form)
    assert caught.value.field == "reward"
    assert "LinearReward" in caught.value.hint


@pytest.mark.parametrize("name", PARAMETRIC)
def test_a_design_of_the_wrong_shape_is_named(name: str) -> None:
    with pytest.raises(InputError) as caught:
        fit(SETS, name, **GIVEN, reward=LinearReward(lambda states: states))
    assert caught.value.field == "reward.design"


THREE = replace(SETS[0], number_of_actions=3)
NEVER = 2  # of three actions
SOME = replace(THREE, actions=np.where(np.arange(len(THREE)) % 5, THREE.actions, NEVER))


def form_of_three(states: Array) -> Array:
    """(n, 3, 2): the bus engine's, and an action that is far too dear."""
    table = np.zeros((len(states), 3, 2))
    table[:, 0, 0], table[:, 1, 1], table[:, 2] = -states[:, 0], -1.0, -50.0
    return table


@pytest.mark.parametrize("name", METHODS)
def test_only_a_method_that_needs_an_anchor_asks_that_it_occurs(name: str) -> None:
    options = dict(VARIANTS[name][1])
    if "form" in needs(name):
        first = 1 if name == "rp" else 2  # the cells of rp are the constants
        options["reward"] = LinearReward(lambda states: form_of_three(states)[:, :, :first])
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
    estimate = fit([SOME, THREE], name, **given, **options)[1]
    assert np.all(np.isfinite(estimate.q(THREE.states)[:, :NEVER]))
    assert estimate.diagnostics.bellman_error == 0.0, "there is no row of the anchor"


def test_an_anchor_that_is_not_used_is_checked_all_the_same() -> None:
    for field, bad in [("anchor_action", 3), ("anchor_reward", None)]:
        with pytest.raises(InputError) as caught:
            fit([SOME, THREE], "bc", **(GIVEN | {field: bad}))
        assert caught.value.field == field


@pytest.mark.parametrize("name", METHODS)
def test_an_action_that_nobody_takes_is_refused(name: str) -> None:
    """Actions counted from 1, or all the same, would otherwise give rewards of a blank action."""
    data = SETS[0]
    from_one = replace(data, actions=data.actions + 1, number_of_actions=3)
    same = replace(data, actions=0 * data.actions)
    for wrong, anchor, hint in [
        ([from_one] * 2, 1, "0 to A - 1: of 0 to 2, [0] never"),
        (same, 0, "a choice needs two actions taken, and only 0 occurs"),
    ]:
        with pytest.raises(InputError) as caught:
            fit(wrong, name, anchor_action=anchor, anchor_reward=-5.0, discount=0.95)
        assert caught.value.field == "actions"
        assert hint in caught.value.hint


def test_alternating_single_steps_are_no_inner_loop() -> None:
    printed: dict[str, Any] = {"protocol": "printed", "iterations": 7, "function_class": "tabular"}

    def inner(**options: Any) -> list[object]:
        fitted = fit(SETS, "gladius", **GIVEN, **options)
        return [estimate.diagnostics.extra["inner_iterations"] for estimate in fitted]

    assert inner(**printed) == [0, 0]
    assert inner(**printed, ascents=3) == [21, 21]
    assert inner(**printed, ascents=3, deterministic=True) == [0, 0]
    assert inner(protocol="author", epochs=1, batch_trajectories=6) == [0, 0]
