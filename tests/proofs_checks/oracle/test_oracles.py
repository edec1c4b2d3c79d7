"""The oracle against a linear programme and by hand; the claims compare it with the library."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from scipy.special import log_softmax, logsumexp
from scipy.stats import binom

from proofs_checks.claims.instances import VALUES, fitted, tabular_mdps
from proofs_checks.oracle import ccp, soft_bellman, tables
from proofs_checks.sections.experiments import Run
from proofs_checks.sections.extended_experiments import frequency

MILD = st.integers(-12, 12).map(lambda n: n / 4)
BETAS = st.sampled_from([0.5, 0.9])
WORLDS = tabular_mdps(3, 3, BETAS, MILD)


def world(mdp):
    return mdp.reward, mdp.transition, mdp.discount


@given(WORLDS)
def test_best_blind_policy_is_the_linear_programme_of_dynamic_programming(mdp):
    states, actions = mdp.reward.shape
    rows = np.concatenate([mdp.discount * flow - np.eye(states) for flow in mdp.transition])
    programme = linprog(
        np.ones(states), A_ub=rows, b_ub=-mdp.reward.T.ravel(), bounds=[(None, None)] * states
    )
    assert soft_bellman.best_blind(*world(mdp)) == pytest.approx(programme.x, abs=1e-7)
    assert rows.shape == (states * actions, states)


def test_visits_of_a_chain_by_hand():
    move = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    args = (move, 0.5, np.array([1.0, 0.0, 0.0]))
    assert soft_bellman.visits(np.ones((3, 1)), *args) == pytest.approx([1 / 2, 1 / 4, 1 / 4])
    likeliest = np.exp(soft_bellman.log_likeliest(np.zeros((3, 1)), *args))
    assert likeliest == pytest.approx([1 / 2, 1 / 4, 1 / 8])
    nowhere = soft_bellman.log_likeliest(np.zeros((3, 1)), move, 0.5, np.array([0.0, 1.0, 0.0]))
    assert np.isfinite(nowhere).tolist() == [False, True, True]


@given(st.integers(1, 40), st.data())
@settings(max_examples=20, deadline=None)
def test_count_of_one_period_is_binomial(trajectories, data):
    count = data.draw(st.integers(0, trajectories))
    inside = np.zeros((20, 2), dtype=bool)
    inside[0, 0] = True
    q = tables.solve(tables.linear_reward((1.0, 5.0)))
    number = binom(trajectories, tables.choice(q)[0, 0])
    expected = min(1.0, 2 * min(number.cdf(count), number.sf(count - 1)))
    assert tables.count_probability(inside, count, trajectories, 1) == pytest.approx(
        expected, abs=1e-12
    )


@given(st.tuples(st.floats(0, 3), st.floats(0, 12)))
@settings(max_examples=20, deadline=None)
def test_values_of_the_bus_solve_the_bellman_equation(theta):
    q, reward = tables.solve(tables.linear_reward(theta)), tables.linear_reward(theta)
    follows = tables.DISCOUNT * (tables.transition() @ logsumexp(q, axis=1)).T
    np.testing.assert_allclose(q, reward + follows, rtol=0, atol=1e-12)


def test_mape_by_hand():
    half = Fraction(1, 2)
    exact = [(Fraction(-11), Fraction(-11)), (Fraction(-4), Fraction(-4))]
    truths = [Fraction(-10), Fraction(-5)]
    assert tables.mape(exact, truths, [3, 1]) == (Fraction(25, 2), Fraction(25, 2))
    around = [(Fraction(-10) - half, Fraction(-10) + half)]
    assert tables.mape(around, truths[:1], [7]) == (Fraction(0), Fraction(5))
    twice_off = [(Fraction(-12), Fraction(-11))]
    assert tables.mape(twice_off, truths[:1], [1]) == (Fraction(10), Fraction(20))


@pytest.mark.parametrize(("count", "probability"), [(300, 1.0), (299, 0.0), (301, 0.0)])
def test_every_pair_is_counted_once(count, probability):
    everywhere = np.ones((20, 2), dtype=bool)
    assert tables.count_probability(everywhere, count, 3) == pytest.approx(probability, abs=1e-12)


WHOLE = st.integers(-5, 5).map(float)


@st.composite
def observations(draw):
    """Any CCPs, kernel and anchor: they need not come from a solved world."""
    drawn = draw(fitted(3, 3))
    states, actions = drawn.q.shape
    return ccp.Observed(
        log_policy=log_softmax(drawn.q, axis=1),
        transition=drawn.mdp.transition,
        anchor=draw(arrays(np.int64, states, elements=st.integers(0, actions - 1))),
        given=draw(arrays(np.float64, states, elements=WHOLE)),
        discount=min(drawn.mdp.discount, 0.99),
    )


@given(observations(), st.data())
def test_nearest_solution_of_the_anchor_rows_keeps_what_they_leave_free(seen, data):
    start = data.draw(arrays(np.float64, seen.log_policy.shape, elements=VALUES))
    actions = seen.log_policy.shape[1]
    matrix, right = ccp.system(seen, leave_out=tuple(range(actions)))
    free = np.ones(start.shape, dtype=bool)
    free[np.arange(len(seen.anchor)), seen.anchor] = False
    nearest = ccp.nearest(start, matrix, right)
    scale = 1e-10 * max(1.0, np.abs(right).max(), np.abs(start).max()) / (1 - seen.discount) ** 2
    assert nearest[free] == pytest.approx(start[free], abs=scale)


@given(observations(), st.data())
def test_extended_solves_the_system_in_some_states_given_the_others(seen, data):
    start = data.draw(arrays(np.float64, seen.log_policy.shape, elements=VALUES))
    inside = data.draw(arrays(np.bool_, len(start)))
    q = ccp.extended(seen, start, inside)
    v = logsumexp(q, axis=1)
    scale = 1e-11 * max(1.0, np.abs(q).max()) / (1 - seen.discount)
    assert np.array_equal(q[~inside], start[~inside])
    log_policy = log_softmax(q, axis=1)[inside]
    assert log_policy == pytest.approx(seen.log_policy[inside], abs=scale)
    anchored = q[np.arange(len(q)), seen.anchor]
    target = seen.given + seen.discount * seen.anchored @ v
    assert anchored[inside] == pytest.approx(target[inside], abs=scale)


def test_states_of_a_run_are_standardised():
    spread, _ = Run(2, 100, 0).data()
    np.testing.assert_allclose(
        [spread.mean(axis=0), spread.std(axis=0)], [[0] * 3, [1] * 3], atol=1e-12
    )


def test_counts_of_pairs_are_compared_exactly():
    assert frequency((1000, None)).tolerance == 0
