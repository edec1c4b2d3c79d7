"""What every registered method owes its user; a further method is covered at once.

The cases are those of the golden file (tests/golden/cases.py) and the options that change how a
method computes. That no estimator imports the true reward is tested in tests/test_layers.py.
"""

import pickle
import sys
from dataclasses import fields, replace
from inspect import unwrap
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import cases
import numpy as np
import pytest
import scipy.optimize
from bus_engine import KNOWN
from cases import variants
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import gladius
from gladius import METHODS, BusEngine, InputError, LinearReward, Results, Transitions, fit, load
from gladius.baselines import mpec
from gladius.designs.bus import BUS_REWARD
from gladius.model import mdp
from gladius.model.parametric import Model
from gladius.model.reward_form import linear_in_features
from gladius.own_data.erm.observations import risk
from gladius.panel.record import grid_positions
from gladius.register import KNOWLEDGE, needs, title
from gladius.solvers import networks, newton
from gladius.solvers.networks import Training
from gladius.validate import Array

Integers = NDArray[np.int64]
Fitted = tuple[str, list[Results]]

BUS = BusEngine()
SETS = BUS.simulate(16, [np.random.default_rng([12, i]) for i in range(2)])
GRID = BUS.mdp.features[:8]  # mileages of both data sets
PRINTED = {"protocol": "printed"}
MLP = {"function_class": "mlp"}
BRIEF: dict[str, Any] = {"iterations": 3}
# every gradient is small enough
QUICK: dict[str, Any] = {"training": Training(steps=50, tolerance=1e6)}
VARIANTS = variants() | {
    "ccp npl": ("ccp", {"stages": None}),
    "airl anchored": ("airl", {"anchored": True}),
    "gladius printed batch": ("gladius", {**PRINTED, "iterations": 20, "batch": 32}),
    "gladius max_oracle": ("gladius", {"protocol": "max_oracle", "steps": 30, "trial_steps": 5}),
    "gladius max_oracle_batches": (
        "gladius",
        {"protocol": "max_oracle_batches", "steps": 30, "trial_steps": 5, "batch": 500},
    ),
    "profiled_erm sparse": ("profiled_erm", {"function_class": "sparse"}),
    "profiled_erm mlp": ("profiled_erm", {**MLP, "steps": 100}),
    "bc batch": ("bc", {"training": Training(steps=50, batch=64)}),
    "bc validation": ("bc", {"training": Training(steps=50, validation=0.25)}),
}
PARAMETRIC = [name for name in METHODS if "form" in needs(name)]


def with_form(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options with the form that a parametric method needs."""
    return {"reward": BUS_REWARD, **options} if method in PARAMETRIC else options


def estimates(variant: str, data: list[Transitions]) -> list[Results]:
    """The Estimates of a case on data of the bus engine."""
    method, options = VARIANTS[variant]
    return fit(data, method, **KNOWN, **with_form(method, options))


@pytest.fixture(scope="module", params=VARIANTS)
def fitted(request: pytest.FixtureRequest) -> Fitted:
    """(case, its Estimates of both data sets), fitted once for the module."""
    return request.param, estimates(request.param, SETS)


def error_of(*arguments: Any, **options: Any) -> InputError:
    """The error that a fit must raise."""
    with pytest.raises(InputError) as caught:
        fit(*arguments, **options)
    return caught.value


def test_every_method_has_a_case_a_title_and_known_needs() -> None:
    assert {method for method, _ in VARIANTS.values()} == set(METHODS)
    for name in METHODS:
        assert title(name)
        assert set(needs(name)) <= set(KNOWLEDGE)


# --- what an Estimate is


def test_replications_together_are_as_alone(fitted: Fitted) -> None:
    """The first of a batch, as random numbers are keyed by the position; the next is its own."""
    variant, (first, second) = fitted
    (alone,) = estimates(variant, SETS[:1])
    scale = max(1.0, float(np.nanmax(np.abs(alone.q(GRID)))))
    np.testing.assert_allclose(first.q(GRID), alone.q(GRID), atol=1e-7 * scale)
    np.testing.assert_allclose(
        first.reward_function(GRID), alone.reward_function(GRID), atol=1e-6 * scale
    )
    assert first.diagnostics.status == alone.diagnostics.status
    # a hundred times what the same data may differ by
    assert np.nanmax(np.abs(second.q(GRID) - first.q(GRID))) > 1e-5 * scale


def test_the_same_seed_gives_the_same_bytes_and_leaves_the_data(fitted: Fitted) -> None:
    variant, first = fitted
    before = [[np.array(getattr(data, f.name)) for f in fields(data)] for data in SETS]
    for estimate, other in zip(first, estimates(variant, SETS), strict=True):
        assert estimate.q(GRID).tobytes() == other.q(GRID).tobytes()
        assert estimate.reward_function(GRID).tobytes() == other.reward_function(GRID).tobytes()
    for data, columns in zip(SETS, before, strict=True):
        for f, column in zip(fields(data), columns, strict=True):
            np.testing.assert_array_equal(np.array(getattr(data, f.name)), column)


def test_an_estimate_can_be_pickled(fitted: Fitted) -> None:
    for estimate in fitted[1]:
        copy = pickle.loads(pickle.dumps(estimate))
        np.testing.assert_array_equal(copy.q(GRID), estimate.q(GRID))
        np.testing.assert_array_equal(copy.reward(GRID, 0), estimate.reward(GRID, 0))


def test_an_estimate_can_be_saved(fitted: Fitted, tmp_path: Path) -> None:
    for estimate in fitted[1]:
        estimate.save(tmp_path)
        copy = load(tmp_path)
        np.testing.assert_array_equal(copy.q(GRID), estimate.q(GRID))
        np.testing.assert_array_equal(copy.reward(GRID, 0), estimate.reward(GRID, 0))
        assert copy.summary() == estimate.summary()
        assert copy.diagnostics.extra.keys() == estimate.diagnostics.extra.keys()


def test_diagnostics_say_what_they_promise(fitted: Fitted) -> None:
    for estimate in fitted[1]:
        diagnostics = estimate.diagnostics
        inner = diagnostics.extra["inner_iterations"]
        assert type(inner) is int
        assert min(inner, diagnostics.iterations) >= 0
        assert diagnostics.cpu_seconds > 0
        assert diagnostics.converged == (diagnostics.status == "ok")
        words = ("ok", "not_converged", "diverged")
        assert diagnostics.status in words or diagnostics.status.startswith("failed: ")
        if diagnostics.converged:
            assert np.isfinite(diagnostics.nll + diagnostics.bellman_error)
            assert np.all(np.isfinite(estimate.reward_function(GRID)))
            np.testing.assert_allclose(estimate.policy(GRID).sum(axis=1), 1.0)


# --- what it says of choices

ARRAYS = ("states", "actions", "next_states", "trajectory", "done")


def test_the_score_of_its_data_is_the_log_likelihood_a_choice(fitted: Fitted) -> None:
    """And that of other data is of them, which by the uniform policy it would be -log 2."""
    first, second = fitted[1]
    for own, data in ((first, SETS[1]), (second, None)):
        rows = own.data if data is None else data
        policy = np.exp(own.q(rows.states)) / np.exp(own.q(rows.states)).sum(axis=1)[:, None]
        by_hand = np.log(policy[np.arange(len(rows)), rows.actions])
        np.testing.assert_allclose(own.score_samples(data), by_hand, rtol=1e-9, atol=1e-12)
        assert own.score(data) == pytest.approx(by_hand.mean())
    assert first.score() == pytest.approx(first.llf / first.nobs)
    assert first.score() == pytest.approx(-first.diagnostics.nll)
    share = np.mean(SETS[0].actions)
    null = len(SETS[0]) * (share * np.log(share) + (1 - share) * np.log(1 - share))
    assert first.llnull == pytest.approx(null)
    assert first.prsquared == pytest.approx(1 - first.llf / null)


def test_residuals_and_hits_are_of_the_rows(fitted: Fitted) -> None:
    for estimate, data in zip(fitted[1], SETS, strict=True):
        residuals, policy = estimate.resid_response, estimate.policy(data.states)
        chosen = residuals.to_numpy()[np.arange(len(data)), data.actions]
        np.testing.assert_allclose(chosen, 1 - policy[np.arange(len(data)), data.actions])
        np.testing.assert_allclose(residuals.sum(axis=1), 0, atol=1e-12)
        spread = np.sqrt(policy[:, 0] * policy[:, 1])
        np.testing.assert_allclose(
            estimate.resid_pearson["action 1"] * spread, residuals.iloc[:, 1]
        )
        table, likeliest = estimate.pred_table(), np.argmax(policy, axis=1)
        assert table.to_numpy().sum() == len(data)
        np.testing.assert_array_equal(table.sum(axis=1), np.bincount(data.actions, minlength=2))
        np.testing.assert_array_equal(table.sum(axis=0), np.bincount(likeliest, minlength=2))
        assert np.trace(table.to_numpy()) == np.sum(likeliest == data.actions)


def slopes(model: Model, theta: Array) -> Array:
    """(S, A, k) dQ / dtheta by differences of fixed points, solved by iteration."""

    def q(at: Array) -> Array:
        v = np.zeros(len(model.states))
        for _ in range(800):
            table = model.design @ at + model.offset + 0.95 * (model.transition[0] @ v).T
            v = np.log(np.exp(table).sum(axis=1))
        return np.asarray(table)

    steps = 1e-5 * np.eye(len(theta))
    return np.stack([(q(theta + h) - q(theta - h)) / 2e-5 for h in steps], axis=2)


@pytest.mark.parametrize("variant", ["nfxp", "mpec", "ccp npl"])
def test_residuals_are_orthogonal_to_the_slopes_of_q(variant: str) -> None:
    """The first-order condition of maximum likelihood."""
    (found,) = estimates(variant, SETS[:1])
    model, theta = found.form_errors.basis.model, found.params.to_numpy()
    at = slopes(model, theta)[grid_positions(model.states, found.data.states)]
    scores = np.einsum("na,nak->nk", found.resid_response, at)
    size = np.sqrt(np.sum(scores**2, axis=0))
    assert np.all(np.abs(scores.sum(axis=0)) < 1e-4 * size)
    off = replace(found, q_function=lambda states: 1.02 * found.q(states))
    wrong = np.einsum("na,nak->nk", off.resid_response, at).sum(axis=0)
    assert np.any(np.abs(wrong) > 0.1 * size), "control"


def test_residuals_of_the_plug_in_are_those_of_its_pseudo_counts() -> None:
    """In each state n(s, a) - n(s) (n(s, a) + 1/2) / (n(s) + A / 2), with A = 2."""
    (found,) = estimates("plug_in", SETS[:1])
    label = grid_positions(GRID, found.data.states)
    for s in range(len(GRID)):
        n = np.bincount(found.data.actions[label == s], minlength=2)
        sums = found.resid_response[label == s].sum(axis=0)
        np.testing.assert_allclose(sums, n - n.sum() * (n + 0.5) / (n.sum() + 1), atol=1e-9)


def test_residuals_of_behavioural_cloning_sum_to_zero_by_action() -> None:
    """Its last layer has a constant for each action; the gradient's tolerance is what is left."""
    found = fit(SETS[0], "bc", **KNOWN, training=Training(steps=500, tolerance=1e-3))
    assert np.all(np.abs(found.resid_response.mean(axis=0)) <= found.diagnostics.gradient_norm)
    assert found.diagnostics.gradient_norm < 0.02


def test_two_fits_stand_side_by_side(fitted: Fitted) -> None:
    first, second = fitted[1]
    pair = {"one": first, "two": replace(second, data=first.data)}
    found = gladius.compare(pair, data=SETS[1])
    scores = [fit.score(SETS[1]) for fit in pair.values()]
    np.testing.assert_allclose(found.statistics.loc["held-out score"], scores)
    assert found.differences is not None
    assert found.differences.loc["two", "difference"] == pytest.approx(scores[1] - scores[0])
    assert list(found.status) == [fit.diagnostics.status for fit in pair.values()]
    assert f"{scores[0]:,.4f}" in str(found)


def test_frequency_weights_are_rows_written_again(fitted: Fitted) -> None:
    """By the same numbers, as the copies are of trajectories of their own."""
    method, options = VARIANTS[fitted[0]]
    options = with_form(method, options)
    data = SETS[0].take(SETS[0].trajectory < 6)
    copy = replace(data, trajectory=data.trajectory + 1000)
    pairs = [[getattr(one, name) for one in (data, copy)] for name in ARRAYS]
    twice = Transitions(*map(np.concatenate, pairs))
    outcomes: list[Any] = []
    for rows, more in ((data, {"freq_weights": np.full(len(data), 2)}), (twice, {})):
        try:
            outcomes.append(fit(rows, method, **KNOWN, **options, **more))
        except InputError as error:  # six buses are too few for some
            outcomes.append(error.field)
    if isinstance(outcomes[0], str):
        assert outcomes[0] == outcomes[1]
    else:
        np.testing.assert_allclose(*(found.q(GRID[:5]) for found in outcomes), rtol=0, atol=1e-8)
        assert outcomes[0].nobs == 2 * len(data)


def test_other_data_have_to_be_like_those_of_the_fit() -> None:
    (found,) = estimates("plug_in", SETS[:1])
    for data, field in (
        (replace(SETS[1], feature_names=("age",)), "data.feature_names"),
        (replace(SETS[1], number_of_actions=3), "data.number_of_actions"),
        (SETS[1].states, "data"),
    ):
        with pytest.raises(InputError) as caught:
            found.score(data)  # type: ignore[arg-type]  # the last is an array
        assert caught.value.field == field


# --- what it estimates


def by_state(states: Array) -> Array:
    """(n, 2, 3) a parameter for each of three states' action 1."""
    design = np.zeros((len(states), 2, 3))
    design[np.arange(len(states)), 1, states[:, 0].astype(int)] = 1.0
    return design


def anchor_reward(states: Array) -> Array:
    return 0.5 * states[:, 0] - 1.0


def anchor_offset(states: Array) -> Array:
    return np.stack([anchor_reward(states), np.zeros(len(states))], axis=1)


# case -> how far pseudo-counts may move the reward
CONSISTENT = dict.fromkeys(["nfxp", "ccp", "ccp npl", "mpec", "ml_irl", "rp"], 1e-6)
CONSISTENT |= {"plug_in": 0.05, "airl anchored": 0.05}


@pytest.mark.parametrize("variant", CONSISTENT)
@settings(max_examples=5)
@given(arrays(np.int64, (3, 2, 3), elements=st.integers(0, 3)))
def test_population_counts_give_the_true_reward(variant: str, moves: Integers) -> None:
    """Frequencies are the world's own: its reward is what makes them optimal."""
    visits = moves.sum(axis=2)
    assume(np.all(visits > 0))
    policy, transition = visits / visits.sum(axis=1, keepdims=True), moves / visits[..., None]
    states = np.arange(3.0)[:, None]
    system = np.eye(3) - 0.9 * transition[:, 0]
    v = np.linalg.solve(system, anchor_reward(states) - np.log(policy[:, 0]))
    truth = np.log(policy) + v[:, None] - 0.9 * transition @ v
    s, a, successor = np.repeat(np.argwhere(moves), 300 * moves[moves > 0], axis=0).T
    data = Transitions(1.0 * s, a, 1.0 * successor, np.arange(len(s)), number_of_actions=2)
    method, options = VARIANTS[variant]
    if method in PARAMETRIC:
        options = {**options, "reward": LinearReward(by_state, anchor_offset)}
    anchor: dict[str, Any] = {"anchor_action": 0, "anchor_reward": anchor_reward}
    estimate = fit(data, method, **anchor, discount=0.9, **options)
    assert estimate.diagnostics.converged
    atol = CONSISTENT[variant]
    np.testing.assert_allclose(estimate.reward_function(states), truth, rtol=0, atol=atol)


INVARIANT = ["profiled_erm", "nfxp", "ccp", "ccp npl", "mpec", "semi_gradient", "plug_in"]
INVARIANT += ["iq_learn", "ml_irl", "airl", "airl anchored", "rp"]


@pytest.mark.filterwarnings("ignore:.* never seen to be followed:UserWarning")  # one pair
@pytest.mark.parametrize("variant", INVARIANT)
def test_names_of_actions_and_the_order_of_paths_do_not_matter(variant: str) -> None:
    """Three actions, and paths of which some end. CLARE resamples the rows at random."""
    data, renamed = cases.three_action_data(), np.array([1, 2, 0])  # the anchor, 2, is now 0
    old = np.argsort(renamed)
    relabelled = replace(data, actions=renamed[data.actions])
    other = relabelled.take(np.argsort(-data.trajectory, kind="stable"))
    form = linear_in_features(3, 2, -1.0)
    assert form.offset is not None
    design, offset = form.design, form.offset
    other_form = LinearReward(lambda s: design(s)[:, old], lambda s: offset(s)[:, old])
    method, options = VARIANTS[variant]
    pair = []
    for observations, anchor, reward in [(data, 2, form), (other, 0, other_form)]:
        chosen = options | ({"reward": reward} if method in PARAMETRIC else {})
        keys: dict[str, Any] = {"anchor_action": anchor, "anchor_reward": -1.0, "discount": 0.9}
        pair.append(fit(observations, method, **keys, **chosen))
    first, second = pair
    grid = np.append(np.unique(data.states), 7.5)[:, None]  # and a state that is not in the data
    tolerance: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}
    rewards = second.reward_function(grid)[:, renamed], first.reward_function(grid)
    np.testing.assert_allclose(*rewards, **tolerance)
    np.testing.assert_allclose(second.q(grid)[:, renamed], first.q(grid), **tolerance)
    assert second.diagnostics.status == first.diagnostics.status
    assert np.ptp(first.q(grid), axis=1).max() > 0.1, "control: the actions differ"


@pytest.mark.parametrize("variant", [v for v, (name, _) in VARIANTS.items() if name in PARAMETRIC])
def test_the_reward_read_off_is_the_form_anywhere(variant: str) -> None:
    """At states that are not in the data too."""
    far = np.array([[1.0], [2.5], [40.0]])
    for estimate in estimates(variant, SETS):
        theta = np.asarray(estimate.diagnostics.extra["theta"])
        expected = np.stack([-theta[0] * far[:, 0], np.full(3, -theta[1])], axis=1)
        np.testing.assert_allclose(estimate.reward_function(far), expected)


@pytest.mark.parametrize("name", PARAMETRIC)
def test_a_parameter_without_effect_is_no_convergence(name: str) -> None:
    """The same regressor twice. Every change of avi's first step is small enough."""
    options: dict[str, Any] = {"avi": {"tolerance": 1e6}, "samq": QUICK}.get(name, {})
    twice = LinearReward(lambda states: BUS_REWARD.design(states)[:, :, [0, 1, 0]])
    for estimate in fit(SETS, name, **KNOWN, reward=twice, **options):
        assert estimate.diagnostics.status.startswith("failed: ")
        assert "not identified" in estimate.diagnostics.status


NEAR = [[0.0, 0.0], [5.0, 20.0], [10.0, -10.0], [-3.0, 3.0], [0.1, -9.0]]
# far out the information is zero to the last digit, and no Newton step exists
FAR = [[1000.0, 5.0], [-1000.0, 5.0], [1e6, 1e6], [-50.0, 50.0]]


@pytest.mark.parametrize(
    ("method", "starts"), [("nfxp", NEAR + FAR), ("ml_irl", NEAR), ("mpec", NEAR + FAR)]
)
def test_the_start_does_not_matter(method: str, starts: list[list[float]]) -> None:
    data = BUS.simulate(50, np.random.default_rng(4))
    options: dict[str, Any] = {**KNOWN, "reward": BUS_REWARD}
    found = fit([data] * len(starts), method, **options, start=np.array(starts))
    ends = np.array([estimate.diagnostics.extra["theta"] for estimate in found])
    best = fit(data, method, **options).diagnostics.extra["theta"]
    assert {estimate.diagnostics.status for estimate in found} == {"ok"}
    np.testing.assert_allclose(ends, np.tile(np.asarray(best), (len(starts), 1)), atol=1e-7)
    assert len({estimate.diagnostics.iterations for estimate in found}) > 1, "no start was used"


FEW: list[tuple[str, dict[str, Any], int]] = [
    ("gladius", {**PRINTED, "iterations": 2}, 2),
    ("avi", {**BRIEF, "tolerance": 1e-9}, 2),
    ("bc", {"training": Training(steps=2, tolerance=1e-9)}, 2),
    ("iq_learn", {}, 2),
    ("clare", {}, 1),
    ("ml_irl", {}, 2),
    ("airl", {}, 3),
]


@pytest.mark.parametrize(("method", "options", "steps"), FEW)
def test_too_few_steps_are_not_convergence(
    method: str, options: dict[str, Any], steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{METHODS[method]}.MAX_STEPS", steps, raising=False)
    for estimate in fit(SETS, method, **KNOWN, **with_form(method, options)):
        assert estimate.diagnostics.status == "not_converged"
        assert estimate.diagnostics.iterations == steps


# --- what it refuses

# method, other options, field, bad values of it
BAD: list[tuple[str, dict[str, Any], str, list[Any]]] = [
    ("profiled_erm", {}, "function_class", ["forest", "tabular"]),
    ("gladius", {}, "protocol", ["oracle"]),
    ("gladius", PRINTED, "function_class", ["forest"]),
    ("gladius", PRINTED, "optimiser", ["newton"]),
    ("gladius", PRINTED, "tau_1", [0.0]),
    ("gladius", PRINTED, "tau_2", [np.nan]),
    ("gladius", PRINTED, "tolerance", [-1.0]),
    *[("gladius", PRINTED, field, [0]) for field in ("ascents", "iterations", "batch")],
    ("gladius", {"protocol": "author"}, "epochs", [0]),
    ("profiled_erm", MLP, "hidden", [()]),
    ("profiled_erm", MLP, "steps", [-1]),
    ("profiled_erm", MLP, "learning_rate", [0.0]),
    ("profiled_erm", MLP, "restricted", [1]),
    ("nfxp", {}, "start", [np.zeros(3)]),
    ("avi", {}, "iterations", [1]),
    ("avi", {}, "tolerance", [0.0]),
    ("semi_gradient", {}, "basis", ["tabular"]),
    ("semi_gradient", {}, "degree", [0]),
    ("pqr", {}, "training", [3]),
    ("samq", {}, "clustering", ["dbscan"]),
    ("samq", {}, "cells", [0]),
    ("bc", {}, "normalisation", ["anchored"]),
    ("bc", {}, "rng", [[], [3, 4]]),
    ("bc", {}, "training", [{"steps": 5}]),
    ("iq_learn", {}, "function_class", ["forest"]),
    ("clare", {}, "start", [lambda states: np.zeros(len(states))]),
    ("ml_irl", {}, "inner", ["twice"]),
    ("ml_irl", {}, "start", [np.zeros(3)]),
    ("ml_irl", {"inner": "finite_dependence"}, "start", [np.zeros(2)]),
    ("airl", {}, "start_spread", [-1.0]),
    *[(name, {}, "rng", [-1]) for name in ("avi", "bc", "iq_learn", "clare", "airl")],
    *[(name, {}, "reward", [None, "bus", lambda states: states]) for name in PARAMETRIC],
]


@pytest.mark.parametrize(
    ("method", "options", "field"),
    [(method, {**rest, field: value}, field) for method, rest, field, bad in BAD for value in bad],
)
def test_bad_options_name_the_field(method: str, options: dict[str, Any], field: str) -> None:
    assert error_of(SETS, method, **KNOWN, **with_form(method, options)).field == field


BAD_TRAINING = [("activation", "sine"), ("validation", 1.0), ("tolerance", np.inf)]
BAD_TRAINING += [("steps", 0), ("batch", 0)]


@pytest.mark.parametrize(("field", "value"), BAD_TRAINING)
def test_bad_training_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        Training(**{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize("name", METHODS)
def test_unknown_options_and_actions_that_nobody_takes_are_refused(name: str) -> None:
    """Actions counted from 1, or all the same, would give rewards of an action without data."""
    options = PRINTED if name == "gladius" else {}
    error = error_of(SETS, name, **KNOWN, **options, colour=1)
    assert (error.field, error.value) == ("option", "colour")
    from_one = replace(SETS[0], actions=SETS[0].actions + 1, number_of_actions=3)
    error = error_of([from_one] * 2, name, **KNOWN)
    assert error.field == "actions"
    assert "0 to A - 1: of 0 to 2, [0] never" in error.hint
    error = error_of(
        replace(SETS[0], actions=0 * SETS[0].actions), name, **KNOWN | {"anchor_action": 0}
    )
    assert error.field == "actions"
    assert "a choice needs two actions taken, and only 0 occurs" in error.hint


THREE = replace(SETS[0], number_of_actions=3)
NEVER = 2  # of three actions
IS_OWN = np.random.default_rng(0).random(len(THREE)) < 0.8  # in a fixed order they had a memory
SOME = replace(THREE, actions=np.where(IS_OWN, THREE.actions, NEVER))


def form_of_three(states: Array) -> Array:
    """(n, 3, 1): the bus engine's upkeep, and an action that costs 50 theta."""
    table = np.zeros((len(states), 3, 1))
    table[:, 0, 0], table[:, 2, 0] = -states[:, 0], -50.0
    return table


@pytest.mark.parametrize("name", METHODS)
def test_only_a_method_that_needs_an_anchor_asks_that_it_occurs(name: str) -> None:
    options = dict(VARIANTS.get(name, VARIANTS["gladius printed"])[1])
    if name in PARAMETRIC:
        options["reward"] = LinearReward(form_of_three)
    keys: dict[str, Any] = {"anchor_action": NEVER, "anchor_reward": -5.0, "discount": 0.9}
    if "anchor" in needs(name):
        error = error_of([SOME, THREE], name, **keys)
        assert error.field == "anchor_action"
        assert "of data set 1" in error.hint
    elif name == "semi_gradient":  # it raises an error of its own
        assert error_of([SOME, THREE], name, **keys, **options).field == "actions"
    else:
        estimate = fit([SOME, THREE], name, **keys, **options)[1]
        assert np.all(np.isfinite(estimate.q(THREE.states)[:, :NEVER]))
        assert estimate.diagnostics.bellman_error == 0.0, "no row has the anchor's action"


def test_an_anchor_that_is_not_used_is_checked_too() -> None:
    assert error_of([SOME, THREE], "bc", **KNOWN | {"anchor_action": 3}).field == "anchor_action"
    unknown = error_of([SOME, THREE], "bc", **KNOWN | {"anchor_reward": None})
    assert unknown.field == "anchor_reward"


@pytest.mark.parametrize(
    ("options", "inner"),
    [
        ({}, 0),
        ({"ascents": 3}, 21),
        ({"ascents": 3, "deterministic": True}, 0),
    ],
)
def test_alternating_single_steps_are_no_inner_loop(options: dict[str, Any], inner: int) -> None:
    printed: dict[str, Any] = {**PRINTED, "iterations": 7, "function_class": "tabular"}
    for estimate in fit(SETS, "gladius", **KNOWN, **printed, **options):
        assert estimate.diagnostics.extra["inner_iterations"] == inner


SOLVERS = (
    newton.minimise,
    mpec.fit_from,
    mdp.soft_bellman,
    risk.minimise,
    networks.adam_descent,
    scipy.optimize.minimize,
    scipy.optimize.root,
)
SHORT = {"training": Training(steps=60)}
LINEAR = {"reward": linear_in_features(2, 1, -5.0)}
ONE_SHOT = {
    "profiled_erm": {},
    "profiled_erm sparse": {"function_class": "sparse"},
    "mpec": LINEAR,
    "plug_in": {},
    "pqr": SHORT,
    "iq_learn": {},
    "bc": SHORT,
}
NESTED = {"nfxp": LINEAR, "clare": {}}


def nested_calls(name: str, options: dict[str, object]) -> tuple[int, int, int]:
    """(solvers entered inside another, solvers entered, inner iterations reported) of a fit."""
    data = gladius.BusEngine().simulate(60, np.random.default_rng(3))
    known: set[CodeType] = {unwrap(solver).__code__ for solver in SOLVERS}
    open_calls: list[CodeType] = []
    nested = entered = 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal nested, entered
        if frame.f_code not in known:
            return
        if event == "call":
            nested, entered = nested + bool(open_calls), entered + 1
            open_calls.append(frame.f_code)
        elif event == "return":
            open_calls.pop()

    sys.setprofile(watch)
    try:
        method = name.split()[0]
        with patch(
            "gladius.own_data.door._warn_of_transitions"
        ):  # a check after the fit, no part of the method
            estimate = gladius.fit(data, method, **KNOWN, **options)
    finally:
        sys.setprofile(None)
    return nested, entered, int(np.asarray(estimate.diagnostics.extra["inner_iterations"]))


@pytest.mark.parametrize("name", ONE_SHOT)
def test_no_solver_runs_inside_another_where_none_is_reported(name: str) -> None:
    nested, entered, reported = nested_calls(name, ONE_SHOT[name])
    assert reported == 0
    assert nested == 0
    assert entered > 0 or name == "plug_in"  # which is a closed form


@pytest.mark.parametrize("name", NESTED)
def test_the_watch_sees_what_is_nested(name: str) -> None:
    """The control: where inner steps are reported, a solver is seen inside another."""
    nested, entered, reported = nested_calls(name, NESTED[name])
    assert reported > 0
    assert 0 < nested < entered or name == "clare"
