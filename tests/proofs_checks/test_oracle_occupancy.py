"""Exact occupancies against their series; the expert's against iteration; L2(d*) norms by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from gladius.mdp import TabularMDP
from proofs_checks.oracle import occupancy as oracle
from proofs_checks.sections.equivalence_occupancy import (
    Function,
    Match,
    functions,
    matching_leaves_errors,
)
from proofs_checks.sections.proofs_quantitative_identification import (
    Identified,
    excess_risk,
    identified,
)
from proofs_checks.worlds import VALUES, expert, tabular_mdps

ONE = ((Fraction(1),),)


def series(drawn: Function, periods: int) -> tuple[Fraction, dict[tuple[int, int], Fraction]]:
    """Truncated sums: Q^pi at the pair, and the occupancy given it, period by period."""
    world = drawn.world
    now = {drawn.pair: Fraction(1)}
    total = Fraction(0)
    d = dict.fromkeys(((s, a) for s in world.states for a in world.actions), Fraction(0))
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
    largest = max(abs(x) for row in drawn.world.reward for x in row)
    q = oracle.action_values(drawn.world, drawn.policy)[s][a]
    assert abs(q - total) <= tail * largest / (1 - drawn.world.discount)
    occupancy = oracle.occupancy_given(drawn.world, drawn.policy, s, a)
    assert sum(sum(row) for row in occupancy) == 1
    assert sum(abs(occupancy[i][j] - p) for (i, j), p in d.items()) == tail


@given(functions())
def test_a_policy_has_no_error_under_its_own_operator(drawn):
    q = oracle.action_values(drawn.world, drawn.policy)
    errors = oracle.bellman_error(drawn.world, drawn.policy, q)
    assert not any(any(row) for row in errors)


def test_one_state_by_hand():
    world = oracle.World(((Fraction(3),),), (ONE,), (Fraction(1),), Fraction(1, 4))
    assert oracle.action_values(world, ONE) == ((Fraction(4),),)
    assert oracle.occupancy(world, ONE, world.initial) == ((Fraction(1),),)
    assert oracle.backup(world, ONE, ((Fraction(1),),), Fraction(1)) == ((Fraction(4),),)


def test_two_states_that_alternate_by_hand():
    first, second = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    world = oracle.World(
        ((Fraction(0),), (Fraction(1),)), ((second, first),), first, Fraction(1, 2)
    )
    policy = ((Fraction(1),),) * 2
    assert oracle.occupancy(world, policy, first) == ((Fraction(2, 3),), (Fraction(1, 3),))
    assert oracle.action_values(world, policy) == ((Fraction(2, 3),), (Fraction(4, 3),))


@given(
    st.lists(
        st.lists(st.fractions(-4, 4, max_denominator=4), min_size=3, max_size=3),
        min_size=3,
        max_size=3,
    ),
    st.lists(st.integers(-5, 5), min_size=3, max_size=3),
)
def test_solve_returns_a_solution(rows, right):
    matrix = [[x + 30 * (i == j) for j, x in enumerate(row)] for i, row in enumerate(rows)]
    exact = [Fraction(b) for b in right]
    solution = oracle.solve(matrix, exact)
    assert [oracle.mean(row, solution) for row in matrix] == exact
    # rows are exchanged where a pivot is zero
    assert oracle.solve([*matrix[1:], matrix[0]], [*exact[1:], exact[0]]) == solution
    assert oracle.solve([[0, 1], [1, 0]], [5, 7]) == [7, 5]


def test_printed_conclusion_holds_where_a_state_is_never_visited():
    """State 1 loops onto itself; its actions earn 0 and 1, and d* says nothing of them."""
    zero, one, half = Fraction(0), Fraction(1), Fraction(1, 2)
    stay = ((one, zero), (zero, one))
    world = oracle.World(((zero, zero), (zero, one)), (stay, stay), (one, zero), half)
    drawn = Match(world, ((half, half),) * 2, ((half, half),) * 2)
    assert matching_leaves_errors(drawn).holds
    assert matching_leaves_errors(drawn).observed == 2


# --- the logit expert
MODEST = st.sampled_from([0.3, 0.5, 0.9])


@given(tabular_mdps(3, 2, discounts=MODEST, rewards=VALUES))
def test_the_expert_is_the_limit_of_value_iteration(mdp: TabularMDP) -> None:
    solved = expert(mdp)
    v = np.zeros(len(mdp.reward))
    for _ in range(400):
        v = logsumexp(mdp.reward + mdp.discount * np.einsum("ast,t->sa", mdp.transition, v), axis=1)
    q = mdp.reward + mdp.discount * np.einsum("ast,t->sa", mdp.transition, v)
    assert solved.q == pytest.approx(q, rel=1e-10, abs=1e-10)
    assert np.exp(solved.log_policy) == pytest.approx(solved.policy)
    now, total = mdp.initial, np.zeros_like(mdp.initial)
    flow = np.einsum("sa,ast->st", solved.policy, mdp.transition)
    for h in range(600):
        total, now = total + (1 - mdp.discount) * mdp.discount**h * now, now @ flow
    assert solved.states == pytest.approx(total, abs=1e-10)
    assert solved.pairs.sum() == pytest.approx(1.0)


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
    assert oracle.inverse_norm(np.eye(2), np.array([1.0, 0.0]), 0.5) == pytest.approx(2.0)


@pytest.mark.parametrize("states", [5, 10, 20])
def test_on_the_growing_chain_the_inverse_blows_up(states: int) -> None:
    """n -> n + 1, d(n) ~ .45^n, beta = .9: c(n) = .9^-n is nearly a null direction."""
    d = 0.45 ** np.arange(states)
    flow = np.eye(states, k=1)
    flow[-1, -1] = 1.0
    kappa = oracle.inverse_norm(flow, d / d.sum(), 0.9)
    # of the direction itself only the last state, which stays, has a residual
    c = 0.9 ** -np.arange(states, dtype=float)
    left = c - 0.9 * flow @ c
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
