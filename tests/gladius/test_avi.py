"""Approximate value iteration against the fixed point that it iterates towards."""

from functools import partial
from typing import Any

import numpy as np
from bus_engine import ANCHOR, BUS, MDP, Array
from linear_models import extra

import gladius
from gladius.baselines import avi, semi_gradient
from gladius.baselines.avi import iterate, relative_change
from gladius.baselines.sarsa import sarsa_tuples
from gladius.baselines.semi_gradient import at_pairs, combination, make_basis
from gladius.baselines.td_ccp import ONE_HOT, make_recursion
from gladius.designs.bus import BUS_REWARD, BusEngine
from gladius.panel.record import Transitions

BETA = 0.95
LARGE = BUS.simulate(1000, np.random.default_rng([1000, 1]))


def fit(data: Transitions, **options: Any) -> gladius.Estimate:
    return avi.fit([data], ANCHOR, BETA, **({"reward": BUS_REWARD} | options))[0]


def limit_of(data: Transitions) -> gladius.Estimate:
    """The limit of one-hot iteration."""
    return semi_gradient.fit([data], ANCHOR, BETA, reward=BUS_REWARD, basis="one_hot")[0]


RECURSION = make_recursion(sarsa_tuples(LARGE), BUS_REWARD, BETA, ONE_HOT)


def h_and_g(continuation: Any) -> Array:
    """(P, 3) h and g at the pairs of RECURSION with departures."""
    data = RECURSION.data
    table = RECURSION.flow + continuation(data.states)[np.arange(len(data.actions)), data.actions]
    return np.asarray(table[data.departures > 0])


class Indicators:
    """In the place of the networks: least squares in the indicators of the pairs of RECURSION."""

    steps, name = 0, "one_hot"
    basis = make_basis(RECURSION)
    values = at_pairs(basis, RECURSION.data)
    inverse = np.linalg.pinv(values * (RECURSION.data.departures > 0)[:, None])

    def fit(self, targets: list[Array], _: Any) -> list[Array]:
        self.coefficients = self.inverse @ targets[0]
        return [self.values @ self.coefficients]

    def functions(self) -> list[Any]:
        return [partial(combination, self.basis, self.coefficients)]


def test_one_hot_iteration_reaches_the_semi_gradient_at_the_rate_of_a_contraction() -> None:
    limit = h_and_g(semi_gradient.learn([RECURSION])[0].continuation)
    start = RECURSION.mean(RECURSION.flow)[:2] / (1 - BETA)
    first = np.max(np.abs(start - limit[:, :2]))
    gap = {}
    for count in (20, 100, 400):
        regression: Any = Indicators()
        (found,) = iterate([RECURSION], regression, count, 1e-300)
        table = h_and_g(found.continuation)
        gap[count] = float(np.max(np.abs(table[:, :2] - limit[:, :2])))
        assert gap[count] <= BETA ** (count - 1) * first + 1e-9
        assert np.max(np.abs(table - limit)) < 100 * BETA ** (count - 1) + 1e-9
    assert gap[20] < 0.2  # from the mean level; from z it would be about 6
    assert gap[20] > 1e-4, "twenty steps are not the limit"
    # the remaining error is a level, and shrinks by beta a step
    np.testing.assert_allclose(gap[100] / gap[20], BETA**80, rtol=0.3)


def test_the_network_is_close_to_least_squares() -> None:
    limit = limit_of(LARGE)
    estimate = fit(LARGE)
    assert estimate.diagnostics.converged
    assert extra(estimate, "learner") == "network"
    assert extra(estimate, "inner_iterations") == estimate.diagnostics.iterations * 50
    assert np.all(np.abs(extra(estimate, "theta") - extra(limit, "theta")) < [0.02, 0.1])
    busy = MDP.features[:7]  # visited hundreds of times
    np.testing.assert_allclose(estimate.q(busy), limit.q(busy), atol=0.3)
    odds = [np.diff(fitted.q(busy)[:6], axis=1) for fitted in (estimate, limit)]
    np.testing.assert_allclose(odds[0], odds[1], atol=0.05)
    untrained = fit(LARGE, iterations=2)  # control
    assert np.max(np.abs(np.diff(untrained.q(busy)[:6], axis=1) - odds[1])) > 0.1


def test_a_constant_function_that_moves_has_not_converged() -> None:
    constant = 1.0 - RECURSION.flow
    assert relative_change(RECURSION, constant, 2.0 * constant) == np.inf
    assert relative_change(RECURSION, constant, constant) == 0.0


def test_dummies_run_in_batches_and_give_a_reward_anywhere() -> None:
    data = BusEngine(dummies=3).simulate(40, np.random.default_rng(11))
    assert len(sarsa_tuples(data).actions) > avi.FULL_BATCH  # so that a step draws a batch
    estimate, other = fit(data), fit(data, rng=1)
    assert np.all(np.isfinite(estimate.q(data.states)))
    replacement = np.full(len(data), -extra(estimate, "theta")[1])
    np.testing.assert_array_equal(estimate.reward(data.states, 1), replacement)
    assert np.all(np.abs(extra(estimate, "theta") - [1.0, 5.0]) < 0.5)
    assert np.any(extra(other, "theta") != extra(estimate, "theta"))
