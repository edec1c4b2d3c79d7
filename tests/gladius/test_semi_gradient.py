"""The linear semi-gradient and the steps of td_ccp.py: the population and plain formulas."""

from typing import Any

import numpy as np
import pytest
from bus_engine import ANCHOR, BUS, MDP, Array
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from linear_models import extra
from numpy.typing import NDArray
from scipy.special import log_softmax
from strategies import paths

import gladius
from gladius.baselines import semi_gradient
from gladius.baselines.sarsa import SarsaTuples, sarsa_tuples
from gladius.baselines.semi_gradient import learn, make_basis
from gladius.baselines.td_ccp import (
    ONE_HOT,
    PSEUDO_COUNT,
    Recursion,
    choice_probabilities,
    largest_degree,
    make_powers,
    make_recursion,
    second_step,
)
from gladius.designs.bus import BUS_REWARD, bus_design
from gladius.model.reward_form import LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.validate import InputError

BETA = 0.95
THETA = np.array([1.0, 5.0])
LARGE = BUS.simulate(1000, np.random.default_rng([1000, 1]))
SMALL = BUS.simulate(30, np.random.default_rng([30, 1]))


def fit(data: Transitions, anchor: Anchor = ANCHOR, **options: Any) -> gladius.Estimate:
    return semi_gradient.fit([data], anchor, BETA, **({"reward": BUS_REWARD} | options))[0]


def population() -> SarsaTuples:
    """Expected SARSA tuples of 100 periods of the bus engine."""
    pairs = np.repeat(MDP.features, 2, axis=0), np.tile([0, 1], 20)
    current = MDP.occupancy(100).ravel()
    following = np.einsum("ast,tb->satb", MDP.transition, MDP.solution.policy).reshape(40, 40)
    joint = current[:, None] * following
    pair, next_pair = np.nonzero(joint)
    return SarsaTuples(*pairs, current, pair, next_pair, joint[pair, next_pair], 2)


def fitted_table(recursion: Recursion) -> Array:
    """(40, 3) h and g at the pairs of the bus engine."""
    continuation = learn([recursion])[0].continuation(MDP.features)
    continuation[..., :2] += bus_design(MDP.features)
    return continuation.reshape(40, 3)


def at_actions(recursion: Recursion, table: Array) -> Array:
    """(P, ...) entries of a (P, A, ...) table at each pair's action."""
    return np.asarray(table[np.arange(len(table)), recursion.data.actions])


def test_population_tuples_return_theta_and_q() -> None:
    true = np.log(MDP.solution.policy)
    recursion = make_recursion(
        population(), BUS_REWARD, BETA, ONE_HOT, lambda s: true[s[:, 0].astype(int) - 1]
    )
    continuation = learn([recursion])[0].continuation(recursion.data.states)
    second = second_step(recursion, continuation)
    np.testing.assert_allclose(second.theta, THETA, atol=1e-7)
    assert second.status == "ok"
    q = at_actions(recursion, recursion.design + continuation[..., :2]) @ second.theta
    q = (q + at_actions(recursion, continuation)[:, 2]).reshape(20, 2)
    np.testing.assert_allclose(q, MDP.solution.q, atol=1e-6)
    # control: with other choice probabilities than the world's, theta is not recovered
    flat = make_recursion(
        population(), BUS_REWARD, BETA, ONE_HOT, lambda s: np.full((len(s), 2), np.log(0.5))
    )
    wrong = second_step(flat, learn([flat])[0].continuation(flat.data.states)).theta
    assert np.max(np.abs(wrong - THETA)) > 0.1


def test_the_basis_formula_is_the_papers_where_it_spans_z() -> None:
    tuples = sarsa_tuples(LARGE)
    fine, coarse = (
        fitted_table(make_recursion(tuples, BUS_REWARD, BETA, degree)).reshape(20, 2, 3)
        for degree in (2, 1)
    )
    x, a = LARGE.states[:, 0], LARGE.actions
    rows = np.flatnonzero(np.arange(len(LARGE)) % 100 < 99)

    def phi(index: NDArray[np.int64]) -> Array:
        power = np.stack([x[index] ** p / 20.0**p for p in range(3)], axis=1)
        return np.concatenate([power * (a[index] == b)[:, None] for b in range(2)], axis=1)

    current, following = phi(rows), phi(rows + 1)
    z = bus_design(LARGE.states[rows])[np.arange(len(rows)), a[rows]]
    w = np.linalg.solve(current.T @ (current - BETA * following), current.T @ z)
    grid = np.stack([(MDP.features[:, 0] / 20.0) ** p for p in range(3)], axis=1)
    expected = np.stack([grid @ w[:3], grid @ w[3:]], axis=1)
    observed = slice(0, int(x.max()))  # beyond the data ours stays at the end of its range
    np.testing.assert_allclose(fine[observed, :, :2], expected[observed], atol=1e-7)
    assert np.max(np.abs(coarse[observed, :, :2] - expected[observed])) > 1e-2  # control


@settings(max_examples=60)
@given(paths())
def test_one_hot_solves_the_recursion_of_any_data(data: Transitions) -> None:
    """f(p) = beta mean(gain(p') + f(p')) at every pair with departures, tuple by tuple."""
    tuples = sarsa_tuples(data)
    assume(all(np.any((tuples.departures > 0) & (tuples.actions == a)) for a in range(2)))
    recursion = make_recursion(tuples, BUS_REWARD, 0.8, ONE_HOT)
    f = at_actions(recursion, learn([recursion])[0].continuation(tuples.states))
    total = np.zeros_like(f)
    for i, j, w in zip(tuples.pair, tuples.next_pair, tuples.weights, strict=True):
        if j >= 0:
            total[i] += 0.8 * w * (recursion.gain[j] + f[j])
    used = tuples.departures > 0
    np.testing.assert_allclose(f[used], total[used] / tuples.departures[used, None], atol=1e-8)


@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 4000))
def test_the_degree_is_the_largest_with_few_coefficients(
    width: int, blocks: int, observations: int
) -> None:
    degree = largest_degree(width, blocks, observations)
    assert degree == 1 or (blocks * (1 + width * degree)) ** 2 <= observations
    assert degree == 3 or (blocks * (1 + width * (degree + 1))) ** 2 > observations


@given(st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_powers_are_orthonormal_over_the_data(degree: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    states, weights = rng.normal(size=(30, 3)), rng.integers(1, 4, 30).astype(float)
    states[:, 2] = 7.0  # a constant feature adds no function
    values = make_powers(states, states, weights, degree)(states)
    gram = (values * (weights / weights.sum())[:, None]).T @ values
    np.testing.assert_allclose(gram, np.eye(1 + 2 * degree), atol=1e-8)


@settings(max_examples=60)
@given(paths())
def test_frequencies_are_smoothed_counts(data: Transitions) -> None:
    log_choice = choice_probabilities(sarsa_tuples(data), ONE_HOT)
    for x in np.unique(data.states):
        actions = data.actions[data.states[:, 0] == x]
        counts = np.bincount(actions, minlength=2) + PSEUDO_COUNT
        expected = counts / counts.sum()
        np.testing.assert_allclose(np.exp(log_choice(np.array([[x]]))[0]), expected, rtol=1e-12)


def test_the_choice_logit_maximises_its_likelihood() -> None:
    log_choice = choice_probabilities(sarsa_tuples(SMALL), 3)
    rows, x = np.arange(len(SMALL)), SMALL.states[:, 0]

    def likelihood(tilt: Array) -> float:
        logits = log_choice(SMALL.states) + np.stack([np.zeros(len(x)), tilt], axis=1)
        return float(log_softmax(logits, axis=1)[rows, SMALL.actions].mean())

    best = likelihood(np.zeros(len(x)))
    for power in range(4):  # cubic: no direction up to the prior's 1e-3 of an observation
        slope = (likelihood(1e-5 * x**power) - likelihood(-1e-5 * x**power)) / 2e-5
        assert abs(slope) < 1e-4 * float(np.max(x**power))
        assert likelihood(0.3 * (x / x.max()) ** power) < best


def test_an_offset_is_a_parameter_that_is_given() -> None:
    """theta_1 given: one parameter less, and the same h and g where it has its estimate."""
    full = fit(SMALL)
    given_rewards = np.array([0.0, -extra(full, "theta")[1]])
    form = LinearReward(
        lambda s: bus_design(s)[:, :, :1], lambda s: np.broadcast_to(given_rewards, (len(s), 2))
    )
    estimate = fit(SMALL, Anchor(1, given_rewards[1]), reward=form)
    np.testing.assert_array_equal(estimate.reward(MDP.features, 1), given_rewards[1])
    np.testing.assert_allclose(extra(estimate, "theta"), extra(full, "theta")[:1], rtol=1e-7)
    np.testing.assert_allclose(estimate.q(MDP.features), full.q(MDP.features), rtol=1e-7)


def test_data_that_say_too_little_name_the_field() -> None:
    every_path_once = SMALL.take(np.arange(0, 3000, 100))
    with pytest.raises(InputError, match=r"^trajectory ="):
        fit(every_path_once)
    short = make_recursion(sarsa_tuples(SMALL.take(np.arange(2))), BUS_REWARD, BETA, ONE_HOT)
    with pytest.raises(InputError, match=r"^actions ="):
        make_basis(short)
