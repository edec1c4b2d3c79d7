"""Exact occupancies by hand; the expert's against the library's; L2(d*) norms by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from gladius.model.mdp import TabularMDP
from proofs_checks.claims.instances import VALUES, tabular_mdps
from proofs_checks.oracle import occupancy as oracle
from proofs_checks.oracle.occupancy import expert
from proofs_checks.sections.equivalence_occupancy import Function, functions
from proofs_checks.sections.proofs_quantitative_identification import (
    Identified,
    excess_risk,
    identification_constant,
    identified,
    inverse_norm,
)


@given(functions())
def test_values_and_occupancies_are_their_series_to_the_exact_tail(drawn: Function) -> None:
    world, (s, a), periods = drawn.world, drawn.pair, 6
    # by period: probabilities of (s, a), given the first pair
    now = np.zeros_like(world.reward)
    now[s, a], total, d = Fraction(1), Fraction(0), np.zeros_like(world.reward)
    for t in range(periods):
        total += world.discount**t * np.sum(now * world.reward)
        d += (1 - world.discount) * world.discount**t * now
        now = np.einsum("sa,ast->t", now, world.moves)[:, None] * drawn.policy
    tail, q = world.discount**periods, oracle.action_values(world, drawn.policy)
    assert abs(q[s, a] - total) <= tail * np.abs(world.reward).max() / (1 - world.discount)
    occupancy = oracle.occupancy_given(world, drawn.policy, s, a)
    assert (occupancy.sum(), np.abs(occupancy - d).sum()) == (1, tail)
    assert not np.any(oracle.bellman_error(world, drawn.policy, q))


# --- the logit expert
MODEST = st.sampled_from([0.3, 0.5, 0.9])


@given(tabular_mdps(3, 2, discounts=MODEST, rewards=VALUES))
def test_the_expert_is_the_librarys(mdp: TabularMDP) -> None:
    solved = expert(mdp)
    assert solved.q == pytest.approx(mdp.solution.q, rel=1e-10, abs=1e-10)
    assert np.exp(solved.log_policy) == pytest.approx(solved.policy)
    assert solved.pairs == pytest.approx(mdp.discounted_occupancy(), abs=1e-10)
    assert solved.states == pytest.approx(solved.pairs.sum(axis=1))


def test_the_inverse_norm_by_hand() -> None:
    assert inverse_norm(np.eye(2), np.array([0.5, 0.5]), 0.9) == pytest.approx(10.0)
    # states without mass do not count
    assert inverse_norm(np.eye(2), np.array([1.0, 0.0]), 0.5) == pytest.approx(2.0)


@pytest.mark.parametrize("states", [5, 10, 20])
def test_the_inverse_norm_grows_without_bound_on_a_chain(states: int) -> None:
    """n -> n + 1, d(n) ~ .45^n, beta = .9: c(n) = .9^-n has a residual in the last state alone."""
    d, flow = 0.45 ** np.arange(states), np.eye(states, k=1)
    flow[-1, -1] = 1.0
    kappa, c = inverse_norm(flow, d / d.sum(), 0.9), 0.9 ** -np.arange(states, dtype=float)
    residual = c - 0.9 * flow @ c
    assert np.abs(residual[:-1]).max() < 1e-12 * c[-1]
    assert kappa >= math.sqrt(d @ c**2 / (d @ residual**2)) * (1 - 1e-9)
    assert kappa > (0.9**2 / 0.45) ** (states / 2)


def test_the_identification_constant_by_hand() -> None:
    assert identification_constant(1.0, 1.0, 0.0) == pytest.approx(1 + 4 / 0.5)
    m = (math.exp(-2) - 1 + 2) / 4
    assert identification_constant(3.0, 0.25, 2.0) == pytest.approx(36 + 49 / m)
    assert identification_constant(1.0, 0.0, 1.0) == math.inf
    # continuous where the series replaces the formula
    near, far = (identification_constant(1.0, 1.0, x) for x in (0.99e-4, 1.01e-4))
    assert near == pytest.approx(far, rel=1e-4)


@given(identified())
def test_the_excess_risk_is_its_definition(drawn: Identified) -> None:
    """Against the risk itself, from Q and Q*, where nothing underflows."""
    mdp, rows = drawn.mdp, np.arange(len(drawn.q))
    solved = expert(mdp)

    def risk(q: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        v = logsumexp(q, axis=1)
        nll = np.sum(solved.pairs * (v[:, None] - q))
        ahead = mdp.transition[drawn.anchor, rows] @ v
        residual = mdp.reward[rows, drawn.anchor] + mdp.discount * ahead - q[rows, drawn.anchor]
        return float(nll + solved.pairs[rows, drawn.anchor] @ residual**2)

    scale = 1 + np.abs(drawn.q).max() + np.abs(solved.q).max()
    expected = risk(drawn.q) - risk(solved.q)
    assert excess_risk(drawn, solved) == pytest.approx(expected, rel=1e-9, abs=1e-11 * scale**2)
