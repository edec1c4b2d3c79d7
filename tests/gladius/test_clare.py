"""CLARE against its known answers and an independent damped iteration."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from bus_engine import ANCHOR, BUS, MDP, Array
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import iterated
from scipy.special import softmax
from strategies import laws

from gladius.baselines import clare
from gladius.baselines.clare import FixedPoint, Game, fixed_point
from gladius.panel.record import Transitions, group
from gladius.validate import InputError

ORACLE: dict[str, Any] = {"transition": BUS.known_transitions}
EXPERT = MDP.discounted_occupancy()


def fitted(data: Transitions, **options: Any) -> Any:
    return clare.fit([data], ANCHOR, 0.95, **options)[0]


def population(eta: float, start: Array | None = None) -> FixedPoint:
    game = Game(EXPERT, EXPERT, MDP.initial, MDP.transition, 0.95, eta)
    return fixed_point(game, np.zeros((20, 2)) if start is None else start)


def plain_occupancy(reward: Array, transition: Array, initial: Array, beta: float) -> Array:
    """(S, A) by value iteration and a sum over periods, until beta^t < 1e-13."""
    policy = softmax(iterated(reward, transition, beta), axis=1)
    at, total = initial, np.zeros_like(reward)
    for t in range(int(np.log(1e-13) / np.log(beta)) + 1):
        joint = at[:, None] * policy
        total += (1 - beta) * beta**t * joint
        at = sum(joint[:, a] @ transition[a] for a in range(len(transition)))
    return total


@pytest.mark.parametrize(
    ("eta", "error", "gap"), [(1.0, 104.5, 0.185), (0.1, 104.5, 0.028), (0.01, 104.1, 0.003)]
)
def test_known_answers_of_the_population(eta: float, error: float, gap: float) -> None:
    found = population(eta)
    assert found.converged
    assert found.residual <= 1e-8
    r, rho = found.reward, plain_occupancy(found.reward, MDP.transition, MDP.initial, 0.95)
    closed = (EXPERT - rho) / (eta * (EXPERT + rho))
    seen = MDP.occupancy(100) > 1e-6  # elsewhere the oracle's own sums are rounded
    np.testing.assert_allclose(r[seen], closed[seen], atol=1e-7 / eta)
    assert np.all(np.abs(r) <= 1 / eta)
    share = MDP.occupancy(100)
    np.testing.assert_allclose(
        100 * np.sum(share * np.abs(r / MDP.reward - 1)), error, rtol=0, atol=0.06
    )
    np.testing.assert_allclose(np.abs(rho - EXPERT).sum() / 2, gap, rtol=0, atol=5e-4)
    # negative control: the true reward is no fixed point, and no reward of its size is in reach
    rho = plain_occupancy(MDP.reward, MDP.transition, MDP.initial, 0.95)
    assert np.max(np.abs(MDP.reward - (EXPERT - rho) / (eta * (EXPERT + rho)))) > 0.9


STARTS = arrays(np.float64, (20, 2), elements=st.floats(-20, 20))


@settings(max_examples=25)
@given(STARTS, st.sampled_from([1.0, 0.05]))
def test_there_is_one_fixed_point_whatever_the_start(start: Array, eta: float) -> None:
    found, plain = population(eta, start), population(eta)
    assert found.converged
    seen = EXPERT > 1e-6  # where it is rarer, 1e-8 of the residual says little about r
    np.testing.assert_allclose(found.reward[seen], plain.reward[seen], atol=1e-6)


@st.composite
def games(draw: st.DrawFn) -> tuple[Game, Array]:
    """Small games: any moves and masses, of which some are zero; and rewards."""
    states, actions = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    shape = (states, actions)
    tenths = st.integers(0, 10).map(lambda n: n / 10)
    data = draw(arrays(np.float64, shape, elements=tenths))
    target = data * draw(arrays(np.float64, shape, elements=tenths))
    entry = draw(laws((1, states)))[0]
    transition = draw(laws((actions, states, states)))
    beta = draw(st.sampled_from([0.3, 0.9]))
    eta = draw(st.sampled_from([0.1, 1.0, 3.0]))
    reward = draw(arrays(np.float64, shape, elements=st.integers(-8, 8).map(lambda n: n / 4)))
    return Game(target, data, entry, transition, beta, eta), reward


@settings(max_examples=40)
@given(games())
def test_the_answer_is_the_minimum_of_the_reward_step(drawn: tuple[Game, Array]) -> None:
    """At the fixed point no reward near by has a smaller loss, its occupancy held where it is."""
    game, first = drawn
    game = replace(game, data=game.data + 0.1)
    end = fixed_point(game, first)
    assert end.converged
    best = game.loss(end.reward, end.rho)
    for step in (0.1 * first, 1e-3 * np.ones_like(first)):
        for sign in (-1, 1):
            assert game.loss(end.reward + sign * step, end.rho) >= best - 1e-9
    rho = plain_occupancy(end.reward, game.transition, game.entry, game.discount)
    np.testing.assert_allclose(end.rho, rho, atol=1e-9)


def test_the_estimate_is_its_own_fixed_point() -> None:
    """Recomputed from the outside: paths by loops, occupancies by sums over periods."""
    data = BUS.simulate(40, np.random.default_rng(2))
    found = fitted(data, **ORACLE)
    seen = np.zeros((20, 2))
    x = data.states[:, 0].astype(int) - 1
    np.add.at(seen, (x, data.actions), 0.95 ** np.tile(np.arange(100), 40))
    seen /= seen.sum()
    r = found.reward_function(MDP.features)
    rho = plain_occupancy(r, MDP.transition, MDP.initial, 0.95)
    there = seen > 0
    expected = (seen - rho) / (seen + rho)
    np.testing.assert_allclose(r[there], expected[there], atol=1e-6)
    np.testing.assert_allclose(r[~there], -1.0)
    v = np.log(np.exp(found.q(MDP.features)).sum(axis=1))
    np.testing.assert_allclose(found.q(MDP.features), r + 0.95 * (MDP.transition @ v).T, atol=1e-9)


def test_weights_as_the_paper_counts_them() -> None:
    """Points, one by one: w = -1 at points over u, n_large/n_small at points under it."""
    points = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3])  # pairs
    spread = np.array([0.1, 0.9, 0.5, 0.2])
    large, small = spread[points] > 0.5, spread[points] < 0.5
    w = np.where(small, large.sum() / small.sum(), 0.0) - large
    expected = np.bincount(points, weights=w, minlength=4) / 10
    expert = np.bincount(points, minlength=4) / 10
    weighted = clare.conservative(expert.reshape(2, 2), spread.reshape(2, 2))
    np.testing.assert_allclose(weighted.ravel(), expected, atol=1e-12)


MASS = arrays(np.float64, (4, 2), elements=st.integers(0, 9).map(float))


@given(MASS, MASS)
def test_weights_leave_targets_that_are_masses_or_are_refused(expert: Array, spread: Array) -> None:
    expert, spread = (expert + 1e-3) / np.sum(expert + 1e-3), spread / 9
    if np.all(spread >= 0.5):
        with pytest.raises(InputError, match="uncertain"):
            clare.conservative(expert, spread)
        return
    weighted = clare.conservative(expert, spread)
    assert np.all(expert + weighted >= 0)
    np.testing.assert_allclose(weighted.sum(), 0.0, atol=1e-12)


def test_disagreement_is_ignorance_and_not_noise() -> None:
    data = BUS.simulate(50, np.random.default_rng(3))
    counts = group(data)
    c = clare.uncertainty(counts, np.random.default_rng(0))
    n = counts.visits[0]
    assert c.max() == 1.0
    np.testing.assert_array_equal(c[n == 0], 0.0)
    np.testing.assert_array_equal(c[:, 1], 0.0)  # replacement is sure
    rare, often = (n[:, 0] > 0) & (n[:, 0] < 10), n[:, 0] > 300
    assert c[rare, 0].min() > 3 * c[often, 0].max()
    sure = group(Transitions(data.states, data.actions, data.states + 1.0))  # no noise anywhere
    c = clare.uncertainty(sure, np.random.default_rng(0))
    np.testing.assert_array_equal(c[sure.visits[0] > 20], 0.0)  # in every bootstrap sample
