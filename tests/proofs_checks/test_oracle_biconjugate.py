"""The population oracle: hand values, and a second route for what it searches for."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from proofs_checks.oracle.biconjugate import (
    Population,
    golden_maximum,
    least_squares_zeta,
    log_sum_exp,
    reachable,
    td_minimiser,
)

from proofs_checks.worlds import VALUES, Fitted, fitted

COIN = np.array([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def of(at: Fitted) -> Population:
    mdp = at.mdp
    return Population(np.swapaxes(mdp.transition, 0, 1), mdp.reward, at.q, mdp.discount)


def test_hand_values_of_a_coin():
    """V = (1, 0, 2), beta = 1/2, r = 1/4 at state 0: delta is -3/4 or 1/4, each with 1/2."""
    reward, q = np.array([[0.25], [0.0], [0.0]]), np.array([[1.0], [0.0], [2.0]])
    known = Population(COIN[:, None], reward, q, 0.5)
    assert known.v == [1.0, 0.0, 2.0]
    at = (0, 0)
    assert known.delta()[at] == -0.25
    assert known.backup()[at] == 0.75
    assert known.bellman()[at] == 1 / 16
    assert known.td()[at] == 5 / 16
    assert known.backup_variance()[at] == 1 / 4
    np.testing.assert_allclose(known.deviation()[at], 1.0, atol=1e-15)
    assert known.spread(np.ones((3, 1)))[at] == 1.0
    assert known.linear(np.ones((3, 1)))[at] == -1.5


@given(fitted())
def test_least_spread_is_the_variance(at):
    known = of(at)
    v = np.array(known.v)
    mean = np.einsum("say,y->sa", known.law, v)
    variance = np.einsum("say,say->sa", known.law, (v - mean[:, :, None]) ** 2)
    np.testing.assert_allclose(known.deviation(), variance, atol=1e-9)


@given(arrays(np.float64, 3, elements=VALUES), arrays(np.float64, 3, elements=VALUES))
def test_golden_section_finds_the_top_of_a_parabola(peak, top):
    best = golden_maximum(lambda x: top - (x - peak) ** 2, peak - 7, peak + 3)
    np.testing.assert_allclose(best, top, atol=1e-12)


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_log_sum_exp_of_shifted_values(row):
    assert math.isclose(
        log_sum_exp([x + 700 for x in row]), 700 + math.log(sum(map(math.exp, row))), abs_tol=1e-9
    )


def test_td_minimiser_of_the_coin():
    q = td_minimiser(COIN, np.array([0.0, 0.0, 1.0]), 0.5, np.array([0.5, 0.25, 0.25]))
    np.testing.assert_allclose(q, [0.5, 0.5, 1.5], atol=1e-14)


@given(fitted())
def test_least_squares_over_dummies_is_the_mean(at):
    known = of(at)
    weight = np.arange(at.q.size, dtype=float).reshape(at.q.shape)
    zeta = least_squares_zeta(known.law, weight, np.array(known.v))
    np.testing.assert_allclose(zeta[weight > 0], known.mean(lambda _, __, v: v)[weight > 0])
    assert zeta[0, 0] == 0.0


def test_reachable_states():
    law = np.array([[[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]]])
    assert reachable(law, np.array([1.0, 0.0, 0.0])).tolist() == [0, 1]
    assert reachable(law, np.array([0.0, 0.0, 1.0])).tolist() == [0, 1, 2]
