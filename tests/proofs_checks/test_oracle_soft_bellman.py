"""The oracle's iterations and sums against programmes, linear systems, closed forms, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from scipy.special import log_softmax, logsumexp, softmax

from proofs_checks.oracle import soft_bellman as oracle
from proofs_checks.worlds import VALUES, distributions, fitted, tabular_mdps

MILD = st.integers(-12, 12).map(lambda n: n / 4)
BETAS = st.sampled_from([0.5, 0.9])
WORLDS = tabular_mdps(3, 3, BETAS, MILD)


def world(mdp):
    return mdp.reward, mdp.transition, mdp.discount


def test_one_state_by_hand():
    reward, stay = np.zeros((1, 2)), np.ones((2, 1, 1))
    q = np.full((1, 2), np.log(2))  # V = log 2 + V/2
    assert oracle.backup(q, reward, stay, 0.5) == pytest.approx(q)
    assert oracle.best_blind(reward, stay, 0.5) == pytest.approx([0.0])
    even = np.full((1, 2), 0.5)
    assert oracle.policy_value(even, reward, stay, 0.5) == pytest.approx([2 * np.log(2)])
    assert oracle.shortfall(even, np.log(even), stay, 0.5) == pytest.approx([0.0])


@given(tabular_mdps(), st.data())
def test_sum_over_periods_solves_the_evaluation_equation(mdp, data):
    policy = data.draw(distributions(mdp.reward.shape))
    flow = np.einsum("ia,aij->ij", policy, mdp.transition)
    gain = data.draw(arrays(np.float64, len(flow), elements=VALUES))
    total = oracle.discounted_sum(flow, gain, mdp.discount)
    scale = 1e-12 * max(1.0, np.abs(gain).max()) / (1 - mdp.discount) ** 2
    assert total == pytest.approx(gain + mdp.discount * flow @ total, abs=scale)


@given(fitted(3, 3))
def test_shortfall_of_one_softmax_against_another(drawn):
    """KL(p || p') by the log-ratio, discounted, is what the two entropies and rewards leave."""
    policy, best = softmax(drawn.q, axis=1), log_softmax(drawn.q[:, ::-1], axis=1)
    args = (drawn.mdp.transition, drawn.mdp.discount)
    loss = oracle.shortfall(policy, best, *args)
    bonus = oracle.policy_value(policy, best, *args)  # E[log best + H]
    assert loss == pytest.approx(-bonus, rel=1e-9, abs=1e-9 / (1 - drawn.mdp.discount))
    assert np.all(loss >= -1e-9 / (1 - drawn.mdp.discount))


@given(WORLDS)
def test_best_blind_policy_is_the_linear_programme_of_dynamic_programming(mdp):
    states, actions = mdp.reward.shape
    rows = np.concatenate([mdp.discount * flow - np.eye(states) for flow in mdp.transition])
    programme = linprog(
        np.ones(states), A_ub=rows, b_ub=-mdp.reward.T.ravel(), bounds=[(None, None)] * states
    )
    assert oracle.best_blind(*world(mdp)) == pytest.approx(programme.x, abs=1e-7)
    assert rows.shape == (states * actions, states)


@given(fitted(3, 3), st.floats(-2, 2))
def test_noise_by_quadrature_is_the_entropy(drawn, location):
    """E[eps of the chosen] = H + location + gamma in every period, the choice being softmax."""
    value, log_p = oracle.with_noise(drawn.q, *world(drawn.mdp), location)
    policy = softmax(drawn.q, axis=1)
    mean = (location + np.euler_gamma) / (1 - drawn.mdp.discount)
    expected = oracle.policy_value(policy, *world(drawn.mdp)) + mean
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-10 / (1 - drawn.mdp.discount))
    assert log_p == pytest.approx(log_softmax(drawn.q, axis=1), rel=1e-11, abs=1e-11)
    largest = oracle.expected_largest(drawn.q, location)
    assert largest == pytest.approx(
        logsumexp(drawn.q, axis=1) + location + np.euler_gamma, rel=1e-11, abs=1e-11
    )


def test_reachable_states_of_a_chain():
    chain = np.array([[[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [1, 0, 0, 0]]])
    first = np.array([1.0, 0, 0, 0])
    assert oracle.reachable(first, chain).tolist() == [True, True, True, False]
    assert oracle.reachable(first, chain, periods=1).tolist() == [True, True, False, False]


def rows_of_one_state(*shares):
    """Rows (s, a, s', share) of one absorbing state, action 0 first."""
    s = np.zeros(len(shares), dtype=np.int64)
    return s, np.arange(len(shares)), s, np.array(shares)


def test_conservative_penalty_by_hand():
    """x = 1 + log 3 - 2 (2 p(x) - 1) has the solution log 3 (alpha = 1, even behaviour)."""
    rows = rows_of_one_state(0.5, 0.5)
    label = np.array([1 + np.log(3), 0.0])
    q = oracle.offline(np.zeros((1, 2)), rows, label, 0.5, conservatism=1.0)
    assert q[0, 0] - q[0, 1] == pytest.approx(np.log(3))
    q = oracle.offline(np.zeros((1, 2)), rows, label, 0.5)
    assert q[0, 0] - q[0, 1] == pytest.approx(1 + np.log(3))


@given(st.floats(-5, 5))
def test_pairs_without_rows_keep_their_start(start):
    rows = rows_of_one_state(1.0)
    q = oracle.offline(np.full((1, 2), start), rows, np.array([1.0]), 0.5)
    assert q[0, 1] == start
    assert q[0, 0] == pytest.approx(1 + 0.5 * np.logaddexp(q[0, 0], start))


@given(tabular_mdps(4, 2), st.data())
def test_visits_balance_and_are_no_less_than_the_likeliest_path(mdp, data):
    """d(t) = (1 - beta) nu_0(t) + beta sum_s d(s) P_pi(s, t); one path is part of the sum."""
    policy = data.draw(distributions(mdp.reward.shape))
    visits = oracle.visits(policy, mdp.transition, mdp.discount, mdp.initial)
    flow = np.einsum("ia,aij->ij", policy, mdp.transition)
    balance = (1 - mdp.discount) * mdp.initial + mdp.discount * visits @ flow
    assert visits == pytest.approx(balance, rel=1e-10, abs=1e-13)
    with np.errstate(divide="ignore"):
        log_policy = np.log(policy)
    floor = np.exp(oracle.log_likeliest(log_policy, mdp.transition, mdp.discount, mdp.initial))
    assert np.all(visits >= floor * (1 - 1e-10))
    assert np.array_equal(floor > 0, visits > 0)


def test_visits_of_a_chain_by_hand():
    move = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    args = (move, 0.5, np.array([1.0, 0.0, 0.0]))
    assert oracle.visits(np.ones((3, 1)), *args) == pytest.approx([1 / 2, 1 / 4, 1 / 4])
    likeliest = np.exp(oracle.log_likeliest(np.zeros((3, 1)), *args))
    assert likeliest == pytest.approx([1 / 2, 1 / 4, 1 / 8])
    nowhere = oracle.log_likeliest(np.zeros((3, 1)), move, 0.5, np.array([0.0, 1.0, 0.0]))
    assert np.isfinite(nowhere).tolist() == [False, True, True]
