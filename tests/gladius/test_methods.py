"""What every registered method and variant owes the one door; a further one is covered at once.

The variants are those of the golden file (tests/golden/cases.py), with networks trained briefly,
and those that draw rows or hold some out.
"""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from typing import Any

import cases
import numpy as np
import pytest
from cases import variants
from numpy.typing import NDArray

from gladius import METHODS, BusEngine, Estimate, InputError, LinearReward, Transitions, fit
from gladius.baselines import bc, iq_learn
from gladius.methods import KNOWLEDGE, needs, title
from gladius.worlds.bus import BUS_REWARD

Array = NDArray[np.float64]

BUS = BusEngine()
SETS = BUS.simulate(16, [np.random.default_rng([12, i]) for i in range(2)])
GIVEN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
QUICK = bc.Training(steps=50, tolerance=1e6)  # every gradient is small enough
GRID = BUS.mdp.features[:8]  # mileages of both data sets
VARIANTS = variants() | {
    "gladius printed batch": ("gladius", {"protocol": "printed", "iterations": 20, "batch": 32}),
    "gladius sparse": ("gladius", {"function_class": "sparse"}),
    "gladius stochastic": ("gladius", {"function_class": "sparse", "solver": "stochastic"}),
    "gladius mlp_rows": ("gladius", {"function_class": "mlp_rows", "steps": 100}),
    "bc batch": ("bc", {"training": bc.Training(steps=50, batch=64)}),
    "bc validation": ("bc", {"training": bc.Training(steps=50, validation=0.25)}),
    "iq_learn network batch": (
        "iq_learn",
        {"function_class": "network", "training": iq_learn.Training(steps=20, batch=16)},
    ),
}


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


NETWORK = {"function_class": "network"}
MLP = {"function_class": "mlp"}
PRINTED = {"protocol": "printed"}

# method, other options, field, bad values of it
BAD: list[tuple[str, dict[str, Any], str, list[Any]]] = [
    ("gladius", {}, "function_class", ["forest", "tabular"]),
    ("gladius", {}, "level", ["none"]),
    ("gladius", {"function_class": "smooth"}, "level", ["scalar"]),
    ("gladius", {**MLP, "level": "scalar"}, "weight", [-1.0, "much"]),
    ("gladius", MLP, "weight", [2.0]),
    ("gladius", MLP, "hidden", [()]),
    ("gladius", {}, "penalty", [-1.0, "a"]),
    ("gladius", {}, "seed", [-1]),
    ("gladius", {}, "protocol", ["oracle"]),
    ("gladius", PRINTED, "function_class", ["forest"]),
    ("gladius", PRINTED, "optimiser", ["newton"]),
    ("gladius", PRINTED, "tau_1", [0.0]),
    ("gladius", PRINTED, "tau_2", [np.nan]),
    ("gladius", PRINTED, "tolerance", [-1.0]),
    *[("gladius", PRINTED, field, [0]) for field in ("ascents", "iterations", "batch")],
    ("gladius", {"protocol": "author"}, "epochs", [0]),
    ("nfxp", {}, "start", [np.zeros(3)]),
    ("avi", {}, "regression", ["forest", "polynomial"]),
    ("avi", {}, "iterations", [1]),
    ("avi", {}, "tolerance", [0.0]),
    ("avi", {}, "steps", [0]),
    ("semi_gradient", {}, "basis", ["tabular"]),
    ("semi_gradient", {}, "degree", [0]),
    ("rp", {}, "low", [(), (0, 0), 0, (3,), (-1,), (0.5,)]),
    ("rp", {}, "transition_weight", [-1.0]),
    ("rp", {}, "delta", [np.nan]),
    ("rp", {}, "max_cells", [0]),
    ("pqr", {}, "training", [3]),
    ("samq", {}, "clustering", ["dbscan"]),
    ("samq", {}, "cells", [0]),
    ("plug_in", {}, "pseudo_count", [-0.5, np.nan, np.inf, "half", True, None]),
    ("bc", {}, "normalisation", ["anchored"]),
    ("bc", {}, "rng", [[], [3, 4]]),
    ("bc", {}, "training", [{"steps": 5}]),
    ("iq_learn", {}, "function_class", ["forest"]),
    ("iq_learn", {}, "alpha", [0.0, np.inf, "much"]),
    ("iq_learn", {}, "training", [iq_learn.Training()]),
    ("iq_learn", NETWORK, "training", [3, {"steps": 3}]),
    ("clare", {}, "eta", [0.0]),
    ("clare", {}, "u", [1.5]),
    ("clare", {}, "start", [lambda states: np.zeros(len(states))]),
    ("ml_irl", {}, "inner", ["twice"]),
    ("ml_irl", {}, "start", [np.zeros(3)]),
    ("ml_irl", {"inner": "finite_dependence"}, "start", [np.zeros(2)]),
    ("airl", {}, "start_spread", [-1.0]),
    *[(name, {}, "rng", [-1]) for name in ("avi", "bc", "iq_learn", "clare", "airl")],
]


def named(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options with the form that a parametric method needs."""
    return {"reward": BUS_REWARD, **options} if "form" in needs(method) else options


@pytest.mark.parametrize(
    ("method", "options", "field"),
    [
        (method, {**beside, field: value}, field)
        for method, beside, field, bad in BAD
        for value in bad
    ],
)
def test_bad_options_name_the_field(method: str, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        fit(SETS, method, **GIVEN, **named(method, options))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("name", "options"), [*[(name, {}) for name in METHODS], ("gladius", PRINTED)]
)
def test_an_unknown_option_is_named(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="colour") as caught:
        fit(SETS, name, **GIVEN, **options, colour=1)
    assert caught.value.field == "option"


def test_the_place_of_what_is_not_finite_is_named() -> None:
    with pytest.raises(InputError) as caught:
        fit(SETS[0], "ml_irl", **GIVEN, reward=BUS_REWARD, start=np.array([0.0, np.nan]))
    assert caught.value.field == "start[1]"


@pytest.mark.parametrize(
    ("training", "field", "value"),
    [
        *[(bc.Training, "hidden", value) for value in [(), (10, 0)]],
        (bc.Training, "activation", "elu"),
        (bc.Training, "plateau", 0.0),
        (bc.Training, "patience", 2.5),
        (bc.Training, "validation", 1.0),
        (iq_learn.Training, "hidden", (0,)),
        *[
            (training, field, value)
            for training in (bc.Training, iq_learn.Training)
            for field, value in [("learning_rate", 0.0), ("tolerance", np.inf)]
        ],
        *[(t, field, 0) for t in (bc.Training, iq_learn.Training) for field in ("steps", "batch")],
    ],
)
def test_bad_training_names_the_field(training: Any, field: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        training(**{field: value})
    assert caught.value.field == field


FEW: list[tuple[str, dict[str, Any], int]] = [
    ("gladius", {**PRINTED, "iterations": 2}, 2),
    ("avi", {"regression": "one_hot", "tolerance": 1e-9, "iterations": 3}, 2),
    ("bc", {"training": bc.Training(steps=2, tolerance=1e-9)}, 2),
    ("iq_learn", {}, 2),
    ("iq_learn", {**NETWORK, "training": iq_learn.Training(steps=2)}, 2),
    ("clare", {"eta": 0.01}, 1),
    ("ml_irl", {}, 2),
    ("airl", {}, 3),
]


@pytest.mark.parametrize(("method", "options", "steps"), FEW)
def test_too_few_steps_are_not_convergence(
    method: str, options: dict[str, Any], steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{METHODS[method]}.MAX_STEPS", steps, raising=False)
    for estimate in fit(SETS, method, **GIVEN, **named(method, options)):
        assert estimate.diagnostics.status == "not_converged"
        assert not estimate.diagnostics.converged
        assert estimate.diagnostics.iterations == steps
        if method == "ml_irl":
            assert np.all(np.isnan(np.asarray(estimate.diagnostics.extra["se"])))


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


@pytest.mark.parametrize("name", PARAMETRIC)
def test_a_parameter_without_effect_is_no_convergence(name: str) -> None:
    """The same regressor twice; NaN is the standard error of what is not identified."""
    options: dict[str, Any] = {}
    if name in ("avi", "samq"):  # a network is not what this is about
        options = {"regression": "one_hot"} if name == "avi" else {"training": QUICK}
    twice = LinearReward(lambda states: BUS_REWARD.design(states)[:, :, [0, 1, 0]])
    for estimate in fit(SETS, name, **GIVEN, reward=twice, **options):
        assert estimate.diagnostics.status.startswith("failed: ")
        assert "not identified" in estimate.diagnostics.status
        assert np.all(np.isnan(np.asarray(estimate.diagnostics.extra["se"])))


@pytest.mark.parametrize("variant", [v for v, (name, _) in VARIANTS.items() if name in PARAMETRIC])
def test_the_reward_read_off_is_the_form_anywhere(variant: str) -> None:
    """At states that are not in the data too."""
    far = np.array([[1.0], [2.5], [40.0]])
    for estimate in estimates(variant, SETS):
        theta = np.asarray(estimate.diagnostics.extra["theta"])
        expected = np.stack([-theta[0] * far[:, 0], np.full(3, -theta[1])], axis=1)
        np.testing.assert_allclose(estimate.reward_function(far), expected)


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


EXACT = ["gladius", "gladius penalty", "nfxp", "ccp", "ccp npl", "mpec", "avi one-hot"]
EXACT += ["semi_gradient", "plug_in", "iq_learn", "ml_irl", "airl"]
EXACT += ["airl anchored"]


@pytest.mark.parametrize("variant", EXACT)
def test_names_of_actions_and_the_order_of_paths_do_not_matter(variant: str) -> None:
    """Three actions and paths of which some end; rp has a test of its own,
    and clare resamples the rows at random."""
    data, renamed = cases.three_action_data(), np.array([1, 2, 0])  # the anchor, 2, is now 0
    old = np.argsort(renamed)
    other = replace(data, actions=renamed[data.actions]).take(
        np.argsort(-data.trajectory, kind="stable")
    )
    forms = [
        LinearReward(cases.saturated, cases.level),
        LinearReward(lambda s: cases.saturated(s)[:, old], lambda s: cases.level(s)[:, old]),
    ]
    method, options = VARIANTS[variant]
    first, second = (
        fit(
            rows,
            method,
            anchor_action=anchor,
            anchor_reward=-1.0,
            discount=0.9,
            **options,
            **({"reward": form} if method in PARAMETRIC else {}),
        )
        for rows, anchor, form in zip((data, other), (2, 0), forms, strict=True)
    )
    grid = np.append(np.unique(data.states), 7.5)  # and a state that is not in the data
    expected = first.reward_function(grid[:, None])
    np.testing.assert_allclose(
        second.reward_function(grid[:, None])[:, renamed], expected, rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(second.q(grid)[:, renamed], first.q(grid), rtol=1e-5, atol=1e-5)
    assert second.diagnostics.status == first.diagnostics.status
    assert np.ptp(first.q(grid), axis=1).max() > 0.1, "control: the actions differ"


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
