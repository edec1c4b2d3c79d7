"""Approximate value iteration against the fixed point that it iterates towards."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from numpy.typing import NDArray
from test_quadruples import paths

import gladius
from gladius.anchor import Anchor
from gladius.baselines import avi, nfxp, semi_gradient
from gladius.baselines._bases import make_basis
from gladius.baselines._choice_probabilities import choice_probabilities
from gladius.baselines._pseudo_likelihood import Problem, make_problem, second_step
from gladius.baselines._regressors import LeastSquares, Networks, Training
from gladius.baselines.avi import ValueIteration, iterate, relative_change
from gladius.baselines.semi_gradient import SemiGradient
from gladius.checks import InputError
from gladius.parametric import bus_design, make_tables
from gladius.transitions import Transitions, quadruples
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
BETA = 0.95
TABLES = make_tables(None, None, None, 2)
LARGE = BUS.simulate(1000, np.random.default_rng([1000, 1]))
SMALL = BUS.simulate(30, np.random.default_rng([30, 1]))
QUICK = Training(hidden=(5,), steps=20)


def extra(estimate: gladius.Estimate, name: str) -> Any:
    return estimate.diagnostics.extra[name]


def learner(iterations: int, tolerance: float = 1e-300) -> ValueIteration:
    rngs = (np.random.default_rng(0),)
    return ValueIteration("one_hot", 1, iterations, tolerance, Training(), rngs)


def problem_of(data: Transitions) -> Problem:
    grouped = quadruples(data)
    return make_problem(data, TABLES, choice_probabilities(grouped), BETA, grouped)


PROBLEM = problem_of(LARGE)


def h_and_g(ahead: Any, problem: Problem) -> Array:
    """(P, 3) h and g at the pairs that are left."""
    left = problem.data.left > 0
    return np.asarray((problem.present + problem.own(ahead(problem.data.states)))[left])


def test_one_hot_iteration_reaches_the_semi_gradient_at_the_rate_of_a_contraction() -> None:
    limit = h_and_g(SemiGradient("one_hot").learn([PROBLEM])[0].ahead, PROBLEM)
    start = PROBLEM.mean(PROBLEM.present)[:2] / (1 - BETA)
    first = np.max(np.abs(start - limit[:, :2]))
    gap = {}
    for count in (20, 100, 400):
        found = h_and_g(learner(count).learn([PROBLEM])[0].ahead, PROBLEM)
        gap[count] = float(np.max(np.abs(found[:, :2] - limit[:, :2])))
        assert gap[count] <= BETA ** (count - 1) * first + 1e-9
        assert np.max(np.abs(found - limit)) < 100 * BETA ** (count - 1) + 1e-9
    assert gap[20] < 0.2  # started at the mean level; from z it would be about 6
    assert gap[20] > 1e-4, "twenty steps are not the limit"
    # what is left is a level, and shrinks by beta a step
    np.testing.assert_allclose(gap[100] / gap[20], BETA**80, rtol=0.3)


def test_theta_agrees_before_the_level_does() -> None:
    options: dict[str, Any] = {"regression": "one_hot", "tolerance": 1e-300}
    twenty = avi.fit([LARGE], ANCHOR, BETA, iterations=20, **options)[0]
    limit = semi_gradient.fit([LARGE], ANCHOR, BETA, basis="one_hot")[0]
    np.testing.assert_allclose(extra(twenty, "theta"), extra(limit, "theta"), atol=1e-4)
    two = avi.fit([LARGE], ANCHOR, BETA, iterations=2, **options)[0]  # control: no future yet
    assert np.max(np.abs(extra(two, "theta") - extra(limit, "theta"))) > 0.5


def test_the_adjoint_is_that_of_the_semi_gradient() -> None:
    there = np.all(LARGE.states[:, None] == PROBLEM.data.states[PROBLEM.data.left == 0], axis=2)
    dropped = LARGE.trajectory[there.any(axis=1)]  # paths with a pair that is never left
    problem = problem_of(LARGE.take(~np.isin(LARGE.trajectory, dropped)))
    ahead = SemiGradient("one_hot").learn([problem])[0].ahead(problem.data.states)
    source = -second_step(problem, ahead, np.zeros(2)).scores
    (closed,) = SemiGradient("one_hot").adjoints([problem], [source])
    (iterated,) = learner(600).adjoints([problem], [source])
    expected = problem.own(closed(problem.data.states))
    found = problem.own(iterated(problem.data.states))
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.max(np.abs(expected)))
    assert np.max(np.abs(found - source)) > 0.1 * np.max(np.abs(source))  # control


def test_the_network_is_close_to_least_squares_and_to_nfxp() -> None:
    oracle: dict[str, Any] = {"transition": MDP.transition, "grid": MDP.features}
    reference = extra(nfxp.fit([LARGE], ANCHOR, BETA, **oracle)[0], "theta")
    estimate = avi.fit([LARGE], ANCHOR, BETA)[0]
    assert estimate.diagnostics.converged
    assert extra(estimate, "learner") == "network"
    assert extra(estimate, "inner_iterations") == estimate.diagnostics.iterations * 300
    se = extra(estimate, "se")
    assert np.all(np.abs(extra(estimate, "theta") - reference) < se)
    limit = semi_gradient.fit([LARGE], ANCHOR, BETA)[0]
    busy = MDP.features[:7]  # visited hundreds of times
    np.testing.assert_allclose(estimate.q(busy), limit.q(busy), atol=0.3)
    odds = [np.diff(one.q(busy)[:6], axis=1) for one in (estimate, limit)]
    np.testing.assert_allclose(odds[0], odds[1], atol=0.05)
    untrained = avi.fit([LARGE], ANCHOR, BETA, training=Training(steps=1))[0]  # control
    assert np.max(np.abs(np.diff(untrained.q(busy)[:6], axis=1) - odds[1])) > 0.1


def test_no_transition_law_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a law was asked for")

    monkeypatch.setattr(
        "gladius.transition_probabilities.empirical_transition_probabilities", refuse
    )
    assert len(avi.fit([SMALL], ANCHOR, BETA, training=QUICK)) == 1
    with pytest.raises(AssertionError):
        nfxp.fit([SMALL], ANCHOR, BETA)  # control: this one needs it


@settings(max_examples=60)
@given(paths())
def test_every_step_of_one_hot_iteration_contracts(data: Transitions) -> None:
    grouped = quadruples(data)
    assume(all(np.any((grouped.left > 0) & (grouped.actions == a)) for a in range(2)))
    problem = make_problem(data, TABLES, choice_probabilities(grouped), 0.8, grouped)
    regressor = LeastSquares([grouped], [make_basis(grouped, "one_hot", 1)])
    active = np.ones(1, dtype=bool)
    values = [np.zeros((len(grouped.actions), 3))]
    for _ in range(4):
        targets = 0.8 * grouped.ahead(problem.gain + values[-1])
        values += regressor.fit([targets], active)
    change = [np.max(np.abs(b - a)) for a, b in pairwise(values)]
    assert all(later <= 0.8 * now + 1e-12 for now, later in pairwise(change))
    np.testing.assert_allclose(
        problem.own(regressor.functions()[0](grouped.states)), values[-1], atol=1e-12
    )


def test_only_the_rule_counts_as_convergence() -> None:
    strict = avi.fit([SMALL], ANCHOR, BETA, regression="one_hot", tolerance=1e-9)[0]
    assert not strict.diagnostics.converged
    assert strict.diagnostics.status == "not_converged"
    assert strict.diagnostics.iterations == 19
    loose = avi.fit([SMALL], ANCHOR, BETA, regression="one_hot")[0]
    assert loose.diagnostics.converged
    assert loose.diagnostics.iterations < 19
    limit = semi_gradient.fit([SMALL], ANCHOR, BETA)[0]
    long = avi.fit([SMALL], ANCHOR, BETA, regression="one_hot", tolerance=1e-11, iterations=2000)[0]
    assert long.diagnostics.converged
    np.testing.assert_allclose(extra(long, "theta"), extra(limit, "theta"), atol=1e-7)
    np.testing.assert_allclose(long.q(MDP.features), limit.q(MDP.features), atol=1e-6)


def test_relative_change_is_the_papers() -> None:
    rng = np.random.default_rng(0)
    before, change = rng.normal(size=(2, len(PROBLEM.data.actions), 2))
    weights = PROBLEM.data.left / PROBLEM.data.size
    spread = weights @ (before - weights @ before) ** 2
    expected = np.sqrt(np.max(weights @ change**2 / spread))
    np.testing.assert_allclose(relative_change(PROBLEM, before, change), expected)
    assert relative_change(PROBLEM, np.ones_like(before), change) == np.inf
    assert relative_change(PROBLEM, np.ones_like(before), 0 * change) == 0.0


def test_a_regression_that_blows_up_is_called_diverged() -> None:
    estimate = avi.fit(
        [SMALL], ANCHOR, BETA, training=Training(activation="relu", learning_rate=1e200, steps=9)
    )[0]
    assert not estimate.diagnostics.converged
    assert estimate.diagnostics.status == "diverged"


def test_an_inactive_data_set_keeps_what_it_learnt() -> None:
    grouped = [
        problem_of(d).data for d in BUS.simulate(4, [np.random.default_rng(i) for i in (1, 2)])
    ]
    rngs = [np.random.default_rng(i) for i in (3, 4)]
    regressor = Networks(grouped, [np.ones(1)] * 2, QUICK, rngs)
    targets = [one.states / 10 for one in grouped]
    regressor.fit(targets, np.array([True, True]))
    before = [f(MDP.features) for f in regressor.functions()]
    regressor.fit([3 * t for t in targets], np.array([True, False]))
    after = [f(MDP.features) for f in regressor.functions()]
    np.testing.assert_array_equal(after[1], before[1])
    assert np.max(np.abs(after[0] - before[0])) > 0.01
    np.testing.assert_array_equal(regressor.steps, [40, 20])


def test_networks_learn_a_conditional_mean() -> None:
    data = PROBLEM.data
    noise = np.random.default_rng(5).normal(size=(len(data.actions), 1))
    truth = np.sin(data.states / 3) * np.where(data.actions == 1, 1.0, -2.0)[:, None]
    how = Training(steps=800)
    regressor = Networks([data], [np.ones(1)], how, [np.random.default_rng(6)])
    (found,) = regressor.fit([truth], np.ones(1, dtype=bool))
    error = found - truth
    assert data.left @ error[:, 0] ** 2 / data.size < 1e-3
    (other,) = regressor.fit([truth + noise], np.ones(1, dtype=bool))  # control: other targets
    assert data.left @ (other - truth)[:, 0] ** 2 / data.size > 1e-2


@pytest.mark.parametrize(
    "options",
    [{"training": QUICK}, {"regression": "auto"}, {"training": QUICK, "cross_fit": True}],
)
def test_replications_together_are_as_alone(options: dict[str, Any]) -> None:
    data = BUS.simulate(12, [np.random.default_rng([12, i]) for i in range(3)])
    assert len({len(quadruples(d).actions) for d in data}) > 1

    def rngs(which: range) -> list[np.random.Generator]:
        return [np.random.default_rng([7, i]) for i in which]

    together = avi.fit(data, ANCHOR, BETA, rng=rngs(range(3)), **options)
    for i, (one, batch) in enumerate(zip(data, together, strict=True)):
        alone = avi.fit([one], ANCHOR, BETA, rng=rngs(range(i, i + 1)), **options)[0]
        np.testing.assert_allclose(extra(batch, "theta"), extra(alone, "theta"), atol=1e-8)
        np.testing.assert_allclose(extra(batch, "se"), extra(alone, "se"), atol=1e-8)
        np.testing.assert_allclose(batch.q(MDP.features), alone.q(MDP.features), atol=1e-8)
        assert batch.diagnostics.iterations == alone.diagnostics.iterations


def test_seeds_matter_to_networks_alone() -> None:
    first, again, other = (
        extra(avi.fit([SMALL], ANCHOR, BETA, rng=s, training=QUICK)[0], "theta") for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)
    first, other = (
        extra(avi.fit([SMALL], ANCHOR, BETA, rng=s, regression="auto")[0], "theta") for s in (0, 1)
    )
    np.testing.assert_array_equal(first, other)


def test_theta_1_given_is_an_offset() -> None:
    options: dict[str, Any] = {"regression": "one_hot", "iterations": 400, "tolerance": 1e-10}
    estimate = avi.fit([LARGE], ANCHOR, BETA, theta_1_given=True, **options)[0]
    assert extra(estimate, "theta").shape == (1,)
    np.testing.assert_array_equal(estimate.reward(MDP.features, 1), -5.0)
    limit = semi_gradient.fit([LARGE], ANCHOR, BETA, theta_1_given=True, basis="one_hot")[0]
    np.testing.assert_allclose(estimate.q(MDP.features), limit.q(MDP.features), atol=1e-6)
    assert abs(extra(estimate, "theta")[0] - 1.0) < 4 * extra(estimate, "se")[0]


def test_dummies_run_in_batches_and_give_a_reward_anywhere() -> None:
    world = BusEngine(dummies=3)
    data = world.simulate(40, np.random.default_rng(11))
    assert len(quadruples(data).actions) > 2048  # so that a step draws a batch
    estimate = avi.fit([data], ANCHOR, BETA, training=Training(steps=20, batch=256))[0]
    assert np.all(np.isfinite(estimate.q(data.states)))
    np.testing.assert_array_equal(
        estimate.reward(data.states, 1), np.full(len(data), -extra(estimate, "theta")[1])
    )
    assert np.all(np.abs(extra(estimate, "theta") - [1.0, 5.0]) < 0.5)


def test_standard_errors_are_those_of_the_semi_gradient_in_the_limit() -> None:
    options: dict[str, Any] = {"regression": "one_hot", "iterations": 1000, "tolerance": 1e-10}
    found = extra(avi.fit([LARGE], ANCHOR, BETA, **options)[0], "se")
    limit = extra(semi_gradient.fit([LARGE], ANCHOR, BETA, basis="one_hot")[0], "se")
    np.testing.assert_allclose(found, limit, rtol=1e-3)  # less the pairs never left
    naive = avi.fit([LARGE], ANCHOR, BETA, standard_errors="plug_in", **options)[0]
    assert np.all(extra(naive, "se") != found)
    assert extra(naive, "standard_errors") == "plug_in"


def test_nothing_to_iterate_returns_at_once() -> None:
    data = PROBLEM.data
    regressor = LeastSquares([data], [make_basis(data, "one_hot", 1)])
    still = np.zeros((len(data.actions), 1))
    ran = iterate([PROBLEM], lambda _, f: f, [still], [still], regressor, 9, 0.1)
    assert ran.steps[0] == 1
    assert ran.converged[0]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"regression": "forest"}, "regression"),
        ({"degree": 0}, "degree"),
        ({"iterations": 1}, "iterations"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"training": 3}, "training"),
        ({"rng": -1}, "rng"),
        ({"choices": "network"}, "choices"),
        ({"design": bus_design, "theta_1_given": True}, "theta_1_given"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        avi.fit([SMALL], ANCHOR, BETA, **options)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"hidden": ()}, "hidden"),
        ({"activation": "sine"}, "activation"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"steps": 0}, "steps"),
        ({"batch": 0}, "batch"),
    ],
)
def test_bad_training_names_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        Training(**options)
    assert caught.value.field == field
