"""Approximate value iteration against the fixed point that it iterates towards."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from linear_models import extra
from numpy.typing import NDArray
from strategies import paths

import gladius
from gladius.anchor import Anchor
from gladius.baselines import avi, semi_gradient
from gladius.baselines.avi import LeastSquares, Networks, ValueIteration, relative_change
from gladius.baselines.semi_gradient import SemiGradient
from gladius.baselines.td_ccp import ONE_HOT, Problem, make_problem, second_step
from gladius.sarsa import sarsa_tuples
from gladius.transitions import Transitions
from gladius.worlds.bus import BUS_REWARD, BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
BETA = 0.95
LARGE = BUS.simulate(1000, np.random.default_rng([1000, 1]))
SMALL = BUS.simulate(30, np.random.default_rng([30, 1]))


def fit(data: Transitions, **options: Any) -> gladius.Estimate:
    return avi.fit([data], ANCHOR, BETA, **({"reward": BUS_REWARD} | options))[0]


def limit_of(data: Transitions) -> gladius.Estimate:
    """What one-hot iteration converges to."""
    return semi_gradient.fit([data], ANCHOR, BETA, reward=BUS_REWARD, basis="one_hot")[0]


def learner(iterations: int) -> ValueIteration:
    return ValueIteration(False, iterations, 1e-300, 1, (np.random.default_rng(0),))


def problem_of(data: Transitions, beta: float = BETA) -> Problem:
    return make_problem(sarsa_tuples(data), BUS_REWARD, beta, ONE_HOT)


PROBLEM = problem_of(LARGE)


def h_and_g(ahead: Any, problem: Problem) -> Array:
    """(P, 3) h and g at the pairs that are left."""
    left = problem.data.left > 0
    return np.asarray((problem.present + problem.chosen(ahead(problem.data.states)))[left])


def test_one_hot_iteration_reaches_the_semi_gradient_at_the_rate_of_a_contraction() -> None:
    limit = h_and_g(SemiGradient().learn([PROBLEM])[0].ahead, PROBLEM)
    start = PROBLEM.mean(PROBLEM.present)[:2] / (1 - BETA)
    first = np.max(np.abs(start - limit[:, :2]))
    gap = {}
    for count in (20, 100, 400):
        table = h_and_g(learner(count).learn([PROBLEM])[0].ahead, PROBLEM)
        gap[count] = float(np.max(np.abs(table[:, :2] - limit[:, :2])))
        assert gap[count] <= BETA ** (count - 1) * first + 1e-9
        assert np.max(np.abs(table - limit)) < 100 * BETA ** (count - 1) + 1e-9
    assert gap[20] < 0.2  # started at the mean level; from z it would be about 6
    assert gap[20] > 1e-4, "twenty steps are not the limit"
    # what is left is a level, and shrinks by beta a step
    np.testing.assert_allclose(gap[100] / gap[20], BETA**80, rtol=0.3)


def test_the_adjoint_is_that_of_the_semi_gradient() -> None:
    there = np.all(LARGE.states[:, None] == PROBLEM.data.states[PROBLEM.data.left == 0], axis=2)
    dropped = LARGE.trajectory[there.any(axis=1)]  # paths with a pair that is never left
    problem = problem_of(LARGE.take(~np.isin(LARGE.trajectory, dropped)))
    ahead = SemiGradient().learn([problem])[0].ahead(problem.data.states)
    source = -second_step(problem, ahead).scores
    (closed,) = SemiGradient().adjoints([problem], [source])
    (iterated,) = learner(600).adjoints([problem], [source])
    expected = problem.chosen(closed(problem.data.states))
    table = problem.chosen(iterated(problem.data.states))
    np.testing.assert_allclose(table, expected, atol=1e-6 * np.max(np.abs(expected)))
    assert np.max(np.abs(table - source)) > 0.1 * np.max(np.abs(source))  # control


def test_the_network_is_close_to_least_squares() -> None:
    limit = limit_of(LARGE)
    estimate = fit(LARGE)
    assert estimate.diagnostics.converged
    assert extra(estimate, "learner") == "network"
    assert extra(estimate, "inner_iterations") == estimate.diagnostics.iterations * 50
    se = extra(estimate, "se")
    assert np.all(np.abs(extra(estimate, "theta") - extra(limit, "theta")) < se)
    busy = MDP.features[:7]  # visited hundreds of times
    np.testing.assert_allclose(estimate.q(busy), limit.q(busy), atol=0.3)
    odds = [np.diff(fitted.q(busy)[:6], axis=1) for fitted in (estimate, limit)]
    np.testing.assert_allclose(odds[0], odds[1], atol=0.05)
    untrained = fit(LARGE, iterations=2)  # control
    assert np.max(np.abs(np.diff(untrained.q(busy)[:6], axis=1) - odds[1])) > 0.1


@settings(max_examples=60)
@given(paths())
def test_every_step_of_one_hot_iteration_contracts(data: Transitions) -> None:
    problem = problem_of(data, 0.8)
    tuples = problem.data
    assume(all(np.any((tuples.left > 0) & (tuples.actions == a)) for a in range(2)))
    regressor = LeastSquares([problem])
    active = np.ones(1, dtype=bool)
    values = [np.zeros((len(tuples.actions), 3))]
    for _ in range(4):
        targets = 0.8 * tuples.ahead(problem.gain + values[-1])
        values += regressor.fit([targets], active)
    change = [np.max(np.abs(b - a)) for a, b in pairwise(values)]
    assert all(later <= 0.8 * now + 1e-12 for now, later in pairwise(change))
    np.testing.assert_allclose(
        problem.chosen(regressor.functions()[0](tuples.states)), values[-1], atol=1e-12
    )


def test_only_the_rule_counts_as_convergence() -> None:
    strict = fit(SMALL, regression="one_hot", tolerance=1e-9)
    assert not strict.diagnostics.converged
    assert strict.diagnostics.status == "not_converged"
    assert strict.diagnostics.iterations == 19
    loose = fit(SMALL, regression="one_hot")
    assert loose.diagnostics.converged
    assert loose.diagnostics.iterations < 19
    limit = limit_of(SMALL)
    np.testing.assert_allclose(extra(strict, "theta"), extra(limit, "theta"), atol=1e-2)
    long = fit(SMALL, regression="one_hot", tolerance=1e-11, iterations=2000)
    assert long.diagnostics.converged
    np.testing.assert_allclose(extra(long, "theta"), extra(limit, "theta"), atol=1e-7)
    np.testing.assert_allclose(long.q(MDP.features), limit.q(MDP.features), atol=1e-6)
    np.testing.assert_allclose(extra(long, "se"), extra(limit, "se"), rtol=0.05)  # pairs never left
    two = fit(SMALL, regression="one_hot", iterations=2)  # control: no future yet
    assert np.max(np.abs(extra(two, "theta") - extra(limit, "theta"))) > 0.5


def test_relative_change_is_the_papers() -> None:
    rng = np.random.default_rng(0)
    before, change = rng.normal(size=(2, len(PROBLEM.data.actions), 2))
    weights = PROBLEM.data.left / PROBLEM.data.size
    spread = weights @ (before - weights @ before) ** 2
    expected = np.sqrt(np.max(weights @ change**2 / spread))
    np.testing.assert_allclose(relative_change(PROBLEM, before, change), expected)
    assert relative_change(PROBLEM, np.ones_like(before), change) == np.inf
    assert relative_change(PROBLEM, np.ones_like(before), 0 * change) == 0.0


def test_networks_learn_a_conditional_mean() -> None:
    """As a fit by steps alone cannot: the output layer is solved for, up to one observation."""
    data = PROBLEM.data
    noise = np.random.default_rng(5).normal(size=(len(data.actions), 1))
    truth = np.sin(data.states / 3) * np.where(data.actions == 1, 1.0, -2.0)[:, None]
    errors = {}
    for steps in (1, 200):
        regressor = Networks([PROBLEM], [truth], steps, [np.random.default_rng(6)])
        (fitted,) = regressor.fit([truth], np.ones(1, dtype=bool))
        errors[steps] = data.left @ (fitted - truth)[:, 0] ** 2 / data.size
    assert errors[200] < 1e-4
    assert errors[200] < errors[1] < 0.1
    (other,) = regressor.fit([truth + noise], np.ones(1, dtype=bool))  # control: other targets
    assert data.left @ (other - truth)[:, 0] ** 2 / data.size > 1e-2


def test_dummies_run_in_batches_and_give_a_reward_anywhere() -> None:
    data = BusEngine(dummies=3).simulate(40, np.random.default_rng(11))
    assert len(sarsa_tuples(data).actions) > avi.FULL_BATCH  # so that a step draws a batch
    estimate = fit(data, steps=20)
    assert np.all(np.isfinite(estimate.q(data.states)))
    np.testing.assert_array_equal(
        estimate.reward(data.states, 1), np.full(len(data), -extra(estimate, "theta")[1])
    )
    assert np.all(np.abs(extra(estimate, "theta") - [1.0, 5.0]) < 0.5)
    other = fit(data, steps=20, rng=1)
    assert np.any(extra(other, "theta") != extra(estimate, "theta"))
