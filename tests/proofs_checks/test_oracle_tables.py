"""The bus engine's oracle: hand values, and the library as a second route."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.stats import binom

from gladius import BusEngine
from proofs_checks.oracle import tables as oracle

THETAS = st.tuples(st.floats(0.1, 3.0), st.floats(0.5, 12.0))


@given(THETAS, st.sampled_from([0.1, 0.5, 0.9, 0.95]))
@settings(max_examples=25, deadline=None)
def test_solution_is_the_librarys(theta, discount):
    expected = BusEngine(theta=theta, discount=discount).mdp.solution.q
    assert_allclose(oracle.solve(oracle.linear_reward(theta), discount), expected, atol=1e-9)


@pytest.mark.parametrize("theta", [(1.0, 5.0), (0.7, 6.3), (1.4, 3.1)])
def test_fit_finds_the_parameters_of_rounded_tables(theta):
    reward = oracle.linear_reward(theta)
    q = oracle.solve(reward)
    fitted, distance = oracle.fit(np.round(q[:10], 3), np.round(reward[:10], 3))
    assert distance <= 0.0005 + 1e-7
    assert_allclose(fitted, theta, atol=0.003)


def test_residual_of_the_solution_is_zero():
    reward = oracle.linear_reward((1.0, 5.0))
    q = oracle.solve(reward)
    for x in range(1, 17):
        for a in range(2):
            assert abs(oracle.residual(reward[x - 1, a], q, x, a)) < 1e-10


@given(
    arrays(np.float64, (10, 2), elements=st.floats(-60, -40)),
    arrays(np.float64, (11, 2), elements=st.floats(-1, 1)),
    st.integers(1, 6),
    st.integers(0, 1),
)
def test_rounding_moves_a_residual_by_no_more_than_its_bound(q, errors, mileage, action):
    half = 0.0005
    rounded = oracle.residual(half * errors[10, 0], q + half * errors[:10], mileage, action)
    difference = rounded - oracle.residual(0.0, q, mileage, action)
    assert abs(difference) <= float(oracle.rounding(Fraction(1, 2000))) + 1e-12


def test_residual_needs_the_next_mileages():
    with pytest.raises(ValueError, match="mileage 11 is not printed"):
        oracle.residual(-7.0, np.zeros((10, 2)), 7, 0)


@given(st.integers(1, 40), st.data())
@settings(max_examples=20, deadline=None)
def test_count_of_one_period_is_binomial(trajectories, data):
    count = data.draw(st.integers(0, trajectories))
    inside = np.zeros((20, 2), dtype=bool)
    inside[0, 0] = True
    q = oracle.solve(oracle.linear_reward((1.0, 5.0)))
    number = binom(trajectories, oracle.choice(q)[0, 0])
    expected = min(1.0, 2 * min(number.cdf(count), number.sf(count - 1)))
    assert oracle.count_probability(inside, count, trajectories, 1) == pytest.approx(
        expected, abs=1e-12
    )


def test_mape_by_hand():
    half = Fraction(1, 2)
    exact = [(Fraction(-11), Fraction(-11)), (Fraction(-4), Fraction(-4))]
    truths = [Fraction(-10), Fraction(-5)]
    assert oracle.mape(exact, truths, [3, 1]) == (Fraction(25, 2), Fraction(25, 2))
    around = [(Fraction(-10) - half, Fraction(-10) + half)]
    assert oracle.mape(around, truths[:1], [7]) == (Fraction(0), Fraction(5))
    twice_off = [(Fraction(-12), Fraction(-11))]
    assert oracle.mape(twice_off, truths[:1], [1]) == (Fraction(10), Fraction(20))


@pytest.mark.parametrize(("count", "probability"), [(300, 1.0), (299, 0.0), (301, 0.0)])
def test_every_pair_is_counted_once(count, probability):
    everywhere = np.ones((20, 2), dtype=bool)
    assert oracle.count_probability(everywhere, count, 3) == pytest.approx(probability, abs=1e-12)
