"""Values and occupancies of a policy in a finite world, in exact rational arithmetic.

Values come from the evaluation equation, occupancies from the adjoint (forward) equation: two
linear systems that share no formula. No entropy here: Q^pi is the plain discounted reward of the
paper's appendix on occupancy matching.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Rows = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class World:
    """A finite world of rational numbers.

    Attributes:
        reward: r[s][a].
        moves: P[a][s][s'].
        initial: nu_0[s].
        discount: beta.
    """

    reward: Rows
    moves: tuple[Rows, ...]
    initial: tuple[Fraction, ...]
    discount: Fraction

    @property
    def states(self) -> range:
        return range(len(self.reward))

    @property
    def actions(self) -> range:
        return range(len(self.moves))


def shares(weights: Sequence[Fraction | int | float], otherwise: int = 0) -> tuple[Fraction, ...]:
    """Weights as exact probabilities; all zero: certainty of the entry `otherwise`."""
    exact = [Fraction(w) for w in weights]
    total = sum(exact, Fraction(0))
    if not total:
        return tuple(Fraction(i == otherwise) for i in range(len(exact)))
    return tuple(w / total for w in exact)


def solve(matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
    """The solution of a non-singular system, by elimination."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k and rows[i][k]:
                ratio = rows[i][k] / rows[k][k]
                rows[i] = [x - ratio * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [rows[k][n] / rows[k][k] for k in range(n)]


def mean(law: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    """sum_i law_i values_i."""
    return sum((p * x for p, x in zip(law, values, strict=True) if p), Fraction(0))


def flow(world: World, policy: Rows) -> list[list[Fraction]]:
    """Transition matrix of the states under a policy."""
    return [
        [mean(policy[s], [move[s][t] for move in world.moves]) for t in world.states]
        for s in world.states
    ]


def backup(world: World, policy: Rows, f: Rows, discount: Fraction) -> Rows:
    """r(s, a) + discount * E[f(s', a') | s, a], a' from the policy; any discount."""
    v = [mean(policy[s], f[s]) for s in world.states]
    return tuple(
        tuple(world.reward[s][a] + discount * mean(world.moves[a][s], v) for a in world.actions)
        for s in world.states
    )


def action_values(world: World, policy: Rows) -> Rows:
    """Q^pi: V = r_pi + beta P_pi V solved for V, then one step."""
    step = flow(world, policy)
    matrix = [[(s == t) - world.discount * step[s][t] for t in world.states] for s in world.states]
    v = solve(matrix, [mean(policy[s], world.reward[s]) for s in world.states])
    flat = tuple(tuple(v[s] for _ in world.actions) for s in world.states)
    return backup(world, policy, flat, world.discount)


def occupancy(world: World, policy: Rows, first: Sequence[Fraction]) -> Rows:
    """d^pi(s, a) = (1 - beta) sum_t beta^t Pr(s_t = s, a_t = a), s_0 from the law `first`."""
    step, beta = flow(world, policy), world.discount
    adjoint = [[(s == t) - beta * step[t][s] for t in world.states] for s in world.states]
    visits = solve(adjoint, [(1 - beta) * p for p in first])
    return tuple(tuple(visits[s] * p for p in policy[s]) for s in world.states)


def occupancy_given(world: World, policy: Rows, s0: int, a0: int) -> Rows:
    """d^pi given (s_0, a_0): a weight 1 - beta on that pair, then beta times what follows it."""
    later = occupancy(world, policy, world.moves[a0][s0])
    beta = world.discount
    return tuple(
        tuple(beta * later[s][a] + (1 - beta) * ((s, a) == (s0, a0)) for a in world.actions)
        for s in world.states
    )


def bellman_error(world: World, policy: Rows, f: Rows) -> Rows:
    """(T^policy f - f)(s, a), T with its beta."""
    target = backup(world, policy, f, world.discount)
    return tuple(
        tuple(x - y for x, y in zip(*rows, strict=True)) for rows in zip(target, f, strict=True)
    )


def average(d: Rows, values: Rows) -> Fraction:
    """E of values under the law d of the pairs."""
    return sum((mean(p, x) for p, x in zip(d, values, strict=True)), Fraction(0))
