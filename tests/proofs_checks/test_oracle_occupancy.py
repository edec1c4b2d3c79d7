"""Exact occupancies against their series; the expert's against iteration; L2(d*) norms by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from gladius.mdp import TabularMDP
from proofs_checks.oracle import occupancy as oracle
from proofs_checks.oracle.occupancy import expert
from proofs_checks.sections.equivalence_occupancy import (
    Function,
    Match,
    functions,
    matching_leaves_errors,
)
from proofs_checks.sections.proofs_quantitative_identification import (
    Identified,
    excess_risk,
    identification_constant,
    identified,
    inverse_norm,
)
from proofs_checks.worlds import VALUES, tabular_mdps

ONE = oracle.exact([[1]])


def series(drawn: Function, periods: int) -> tuple[Fraction, dict[tuple[int, int], Fraction]]:
    """Truncated sums: Q^pi at the pair, and the occupancy given it, period by period."""
    world = drawn.world
    now = {drawn.pair: Fraction(1)}
    total = Fraction(0)
    d = dict.fromkeys(np.ndindex(world.reward.shape), Fraction(0))
    for t in range(periods):
        after: dict[tuple[int, int], Fraction] = {}
        for (s, a), p in now.items():
            total += world.discount**t * p * world.reward[s][a]
            d[s, a] += (1 - world.discount) * world.discount**t * p
            for next_s, move in enumerate(world.moves[a][s]):
                for next_a, choice in enumerate(drawn.policy[next_s]):
                    if move and choice:
                        key = (next_s, next_a)
                        after[key] = after.get(key, Fraction(0)) + p * move * choice
        now = after
    return total, d


@given(functions())
def test_values_and_occupancies_are_their_series_to_the_exact_tail(drawn):
    periods, (s, a) = 6, drawn.pair
    total, d = series(drawn, periods)
    tail = drawn.world.discount**periods
    largest = np.abs(drawn.world.reward).max()
    q = oracle.action_values(drawn.world, drawn.policy)[s][a]
    assert abs(q - total) <= tail * largest / (1 - drawn.world.discount)
    occupancy = oracle.occupancy_given(drawn.world, drawn.policy, s, a)
    assert occupancy.sum() == 1
    assert sum(abs(occupancy[i][j] - p) for (i, j), p in d.items()) == tail


@given(functions())
def test_a_policy_has_no_error_under_its_own_operator(drawn):
    q = oracle.action_values(drawn.world, drawn.policy)
    assert not np.any(oracle.bellman_error(drawn.world, drawn.policy, q))


def test_one_state_by_hand():
    world = oracle.World(oracle.exact([[3]]), ONE[None], ONE[0], Fraction(1, 4))
    assert oracle.action_values(world, ONE) == 4
    assert oracle.occupancy(world, ONE, world.initial) == 1
    assert oracle.backup(world, ONE, ONE, Fraction(1)) == 4


def test_two_states_that_alternate_by_hand():
    moves, first = oracle.exact([[[0, 1], [1, 0]]]), oracle.exact([1, 0])
    world = oracle.World(oracle.exact([[0], [1]]), moves, first, Fraction(1, 2))
    policy = oracle.exact([[1], [1]])
    third = Fraction(1, 3)
    assert oracle.occupancy(world, policy, first).tolist() == [[2 * third], [third]]
    assert oracle.action_values(world, policy).tolist() == [[2 * third], [4 * third]]


def test_printed_conclusion_holds_where_a_state_is_never_visited():
    """State 1 loops onto itself; its actions earn 0 and 1, and d* says nothing of them."""
    stay, even = oracle.exact([np.eye(2)] * 2), oracle.exact(np.full((2, 2), 0.5))
    world = oracle.World(oracle.exact([[0, 0], [0, 1]]), stay, even[0] * [2, 0], Fraction(1, 2))
    drawn = Match(world, even, even)
    assert matching_leaves_errors(drawn).holds
    assert matching_leaves_errors(drawn).observed == 2


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
def test_on_the_growing_chain_the_inverse_blows_up(states: int) -> None:
    """n -> n + 1, d(n) ~ .45^n, beta = .9: c(n) = .9^-n is nearly a null direction."""
    d = 0.45 ** np.arange(states)
    flow = np.eye(states, k=1)
    flow[-1, -1] = 1.0
    kappa = inverse_norm(flow, d / d.sum(), 0.9)
    # of the direction itself only the last state, which stays, has a residual
    c = 0.9 ** -np.arange(states, dtype=float)
    left = c - 0.9 * flow @ c
    assert np.abs(left[:-1]).max() < 1e-12 * c[-1]
    assert kappa >= math.sqrt(d @ c**2 / (d @ left**2)) * (1 - 1e-9)
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
