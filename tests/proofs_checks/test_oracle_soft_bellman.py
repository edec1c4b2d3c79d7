"""The oracle against a linear programme and by hand; the claims compare it with the library."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from proofs_checks.oracle import soft_bellman as oracle
from proofs_checks.worlds import tabular_mdps

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
    assert oracle.best_blind(*world(mdp)) == pytest.approx(programme.x, abs=1e-7)
    assert rows.shape == (states * actions, states)


def test_visits_of_a_chain_by_hand():
    move = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    args = (move, 0.5, np.array([1.0, 0.0, 0.0]))
    assert oracle.visits(np.ones((3, 1)), *args) == pytest.approx([1 / 2, 1 / 4, 1 / 4])
    likeliest = np.exp(oracle.log_likeliest(np.zeros((3, 1)), *args))
    assert likeliest == pytest.approx([1 / 2, 1 / 4, 1 / 8])
    nowhere = oracle.log_likeliest(np.zeros((3, 1)), move, 0.5, np.array([0.0, 1.0, 0.0]))
    assert np.isfinite(nowhere).tolist() == [False, True, True]
