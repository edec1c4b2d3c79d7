"""The bus engine's oracle: hand values, and the library as a second route."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from proofs_checks.oracle import tables as oracle


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
