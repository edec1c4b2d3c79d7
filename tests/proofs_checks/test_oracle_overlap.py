"""Experts, occupancies and L2(d*) norms: against iteration, enumeration and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from gladius.mdp import TabularMDP
from proofs_checks.oracle import overlap as oracle
from proofs_checks.sections.proofs_quantitative_identification import (
    Identified,
    excess_risk,
    identified,
)
from proofs_checks.worlds import VALUES, tabular_mdps

MODEST = st.sampled_from([0.3, 0.5, 0.9])


@given(tabular_mdps(3, 2, discounts=MODEST, rewards=VALUES))
def test_the_expert_is_the_limit_of_value_iteration(mdp: TabularMDP) -> None:
    found = oracle.expert(mdp.reward, mdp.transition, mdp.discount, mdp.initial)
    v = np.zeros(len(mdp.reward))
    for _ in range(400):
        v = logsumexp(mdp.reward + mdp.discount * np.einsum("ast,t->sa", mdp.transition, v), axis=1)
    q = mdp.reward + mdp.discount * np.einsum("ast,t->sa", mdp.transition, v)
    assert found.q == pytest.approx(q, rel=1e-10, abs=1e-10)
    assert np.exp(found.log_policy) == pytest.approx(found.policy)
    law, total = mdp.initial, np.zeros_like(mdp.initial)
    flow = np.einsum("sa,ast->st", found.policy, mdp.transition)
    for h in range(600):
        total, law = total + (1 - mdp.discount) * mdp.discount**h * law, law @ flow
    assert found.states == pytest.approx(total, abs=1e-10)
    assert found.pairs.sum() == pytest.approx(1.0)


@given(tabular_mdps(3, 2, rewards=VALUES), st.integers(1, 4))
def test_finite_occupancies_add_up(mdp: TabularMDP, horizon: int) -> None:
    flow = np.mean(mdp.transition, axis=0)
    share, last = oracle.finite_occupancy(flow, mdp.initial, horizon)
    powers = [mdp.initial @ np.linalg.matrix_power(flow, h) for h in range(horizon + 1)]
    assert share == pytest.approx(np.mean(powers[:-1], axis=0))
    assert last == pytest.approx(powers[-1])
    arrivals = share @ flow * horizon
    assert arrivals == pytest.approx(share * horizon + last - mdp.initial)


def test_anchor_and_least_choice_by_hand() -> None:
    move = np.array([[[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]]])
    nu = oracle.anchor_next(np.array([0.25, 0.75]), move, np.array([0, 1]))
    assert nu.tolist() == [0.375, 0.625]
    assert oracle.least_choice(np.array([[1.0, -2.0]])) == pytest.approx(math.exp(-4) / 2)


def test_the_inverse_norm_by_hand() -> None:
    assert oracle.inverse_norm(np.eye(2), np.array([0.5, 0.5]), 0.9) == pytest.approx(10.0)
    # states without mass do not count
    law = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert oracle.inverse_norm(law, np.array([1.0, 0.0]), 0.5) == pytest.approx(2.0)


@pytest.mark.parametrize("states", [5, 10, 20])
def test_on_the_growing_chain_the_inverse_blows_up(states: int) -> None:
    """n -> n + 1, d(n) ~ .45^n, beta = .9: c(n) = .9^-n is nearly a null direction."""
    d = 0.45 ** np.arange(states)
    law = np.eye(states, k=1)
    law[-1, -1] = 1.0
    kappa = oracle.inverse_norm(law, d / d.sum(), 0.9)
    # of the direction itself only the last state, which stays, has a residual
    c = 0.9 ** -np.arange(states, dtype=float)
    left = c - 0.9 * law @ c
    assert np.abs(left[:-1]).max() < 1e-12 * c[-1]
    assert kappa >= math.sqrt(d @ c**2 / (d @ left**2)) * (1 - 1e-9)
    assert kappa > (0.9**2 / 0.45) ** (states / 2)


def test_the_identification_constant_by_hand() -> None:
    assert oracle.identification_constant(1.0, 1.0, 0.0) == pytest.approx(1 + 4 / 0.5)
    m = (math.exp(-2) - 1 + 2) / 4
    assert oracle.identification_constant(3.0, 0.25, 2.0) == pytest.approx(36 + 49 / m)
    assert oracle.identification_constant(1.0, 0.0, 1.0) == math.inf
    # continuous where the series replaces the formula
    near, far = (oracle.identification_constant(1.0, 1.0, x) for x in (0.99e-4, 1.01e-4))
    assert near == pytest.approx(far, rel=1e-4)


@given(identified())
def test_the_excess_risk_is_its_definition(at: Identified) -> None:
    """Against the risk itself, from Q and Q*, where nothing underflows."""
    mdp, rows = at.mdp, np.arange(len(at.q))
    found = oracle.expert(mdp.reward, mdp.transition, mdp.discount, mdp.initial)

    def risk(q: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        v = logsumexp(q, axis=1)
        nll = np.sum(found.pairs * (v[:, None] - q))
        ahead = mdp.transition[at.anchor, rows] @ v
        residual = mdp.reward[rows, at.anchor] + mdp.discount * ahead - q[rows, at.anchor]
        return float(nll + found.pairs[rows, at.anchor] @ residual**2)

    scale = 1 + np.abs(at.q).max() + np.abs(found.q).max()
    expected = risk(at.q) - risk(found.q)
    assert excess_risk(at, found) == pytest.approx(expected, rel=1e-9, abs=1e-11 * scale**2)


def test_the_null_direction_in_closed_form() -> None:
    """E c^2 = .55/(1 - .45/.81) = 1.2375, and the excess at t is of order t^6."""
    n = np.arange(2000)
    d = 0.55 * 0.45**n
    c_squared = np.exp(np.log(d[:400]) - 2 * n[:400] * math.log(0.9)).sum()
    assert c_squared == pytest.approx(1.2375)
    excess = []
    for t in (0.02, 0.01):
        u = t * 0.9 ** -n[:200].astype(float)
        excess.append(0.5 * d[:200] @ (0.9 * np.tanh(u / 0.9) - np.tanh(u)) ** 2)
    assert 40 < excess[0] / excess[1] < 64  # 2^6 but for the saturated states
