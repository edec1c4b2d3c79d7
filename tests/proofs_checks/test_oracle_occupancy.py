"""The oracle's exact solves against the series that define them, and hand values."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from proofs_checks.oracle import occupancy as oracle
from proofs_checks.sections.equivalence_occupancy import (
    Function,
    Match,
    functions,
    matching_leaves_errors,
)

ONE = ((Fraction(1),),)


def series(at: Function, periods: int) -> tuple[Fraction, dict[tuple[int, int], Fraction]]:
    """Truncated sums: Q^pi at the pair, and the occupancy given it, period by period."""
    world = at.world
    law = {at.pair: Fraction(1)}
    total, d = (
        Fraction(0),
        dict.fromkeys(((s, a) for s in world.states for a in world.actions), Fraction(0)),
    )
    for t in range(periods):
        after: dict[tuple[int, int], Fraction] = {}
        for (s, a), p in law.items():
            total += world.discount**t * p * world.reward[s][a]
            d[s, a] += (1 - world.discount) * world.discount**t * p
            for next_s, move in enumerate(world.moves[a][s]):
                for next_a, choice in enumerate(at.policy[next_s]):
                    if move and choice:
                        key = (next_s, next_a)
                        after[key] = after.get(key, Fraction(0)) + p * move * choice
        law = after
    return total, d


@given(functions())
def test_values_and_occupancies_are_their_series_to_the_exact_tail(at):
    periods, (s, a) = 6, at.pair
    total, d = series(at, periods)
    tail = at.world.discount**periods
    largest = max(abs(x) for row in at.world.reward for x in row)
    q = oracle.action_values(at.world, at.policy)[s][a]
    assert abs(q - total) <= tail * largest / (1 - at.world.discount)
    found = oracle.occupancy_given(at.world, at.policy, s, a)
    assert sum(sum(row) for row in found) == 1
    assert sum(abs(found[i][j] - p) for (i, j), p in d.items()) == tail


@given(functions())
def test_a_policy_has_no_error_under_its_own_operator(at):
    q = oracle.action_values(at.world, at.policy)
    errors = oracle.bellman_error(at.world, at.policy, q)
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
    found = oracle.solve(matrix, exact)
    assert [oracle.mean(row, found) for row in matrix] == exact


def test_solve_exchanges_rows_where_a_pivot_is_zero():
    zero, one = Fraction(0), Fraction(1)
    assert oracle.solve([[zero, one], [one, zero]], [Fraction(5), Fraction(7)]) == [7, 5]


def test_printed_conclusion_holds_where_a_state_is_never_visited():
    """State 1 loops onto itself; its actions earn 0 and 1, and d* says nothing of them."""
    zero, one, half = Fraction(0), Fraction(1), Fraction(1, 2)
    stay = ((one, zero), (zero, one))
    world = oracle.World(((zero, zero), (zero, one)), (stay, stay), (one, zero), half)
    at = Match(world, ((half, half),) * 2, ((half, half),) * 2)
    assert matching_leaves_errors(at).holds
    assert matching_leaves_errors(at).observed == 2
