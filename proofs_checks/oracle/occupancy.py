"""Values and occupancies of policies: exact in rational worlds, and of the logit expert.

In a rational world values come from the evaluation equation, occupancies from the adjoint (forward)
equation: two linear systems that share no formula. No entropy there: Q^pi is the plain discounted
reward of the paper's appendix on occupancy matching. The expert's occupancies, and what the
anchor's transitions do in L2(d*), are in floats: reward (S, A), transition (A, S, S), initial (S,).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax, xlogy

Array = NDArray[np.float64]
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


def row_echelon(matrix: Sequence[Sequence[Fraction]]) -> tuple[list[list[Fraction]], int]:
    """The reduced row echelon form of a matrix, and its rank, by exact elimination."""
    rows, rank = [list(row) for row in matrix], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        rows[rank] = [x / rows[rank][column] for x in rows[rank]]
        for i, row in enumerate(rows):
            if i != rank and row[column]:
                rows[i] = [x - row[column] * y for x, y in zip(row, rows[rank], strict=True)]
        rank += 1
    return rows, rank


def solve(matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
    """The solution of a non-singular system."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    return [row[-1] for row in row_echelon(rows)[0]]


def mean(weights: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    """sum_i weights_i values_i."""
    return sum((p * x for p, x in zip(weights, values, strict=True) if p), Fraction(0))


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
    """d^pi(s, a) = (1 - beta) sum_t beta^t Pr(s_t = s, a_t = a), s_0 drawn from `first`."""
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
    """E of values over pairs drawn from d."""
    return sum((mean(p, x) for p, x in zip(d, values, strict=True)), Fraction(0))


# --- the logit expert of a tabular world
@dataclass(frozen=True)
class Expert:
    """The entropy-regularised optimum.

    Attributes:
        q: (S, A) Q*.
        policy: (S, A).
        log_policy: (S, A), finite where the policy underflows.
        states: (S,) discounted occupancy d*_S.
        pairs: (S, A) d*.
    """

    q: Array
    policy: Array
    log_policy: Array
    states: Array
    pairs: Array

    @property
    def entropy(self) -> Array:
        """(S,) H(pi*(. | s))."""
        return np.asarray(-xlogy(self.policy, self.policy).sum(axis=1))


def expert(reward: Array, transition: Array, discount: float, initial: Array) -> Expert:
    """Soft policy iteration: evaluate r_pi + H(pi), improve to the softmax, until it stands."""
    eye = np.eye(len(reward))
    policy = np.full_like(reward, 1 / reward.shape[1])
    q = reward
    for _ in range(200):
        gain = np.sum(policy * reward - xlogy(policy, policy), axis=1)
        flow = np.einsum("sa,ast->st", policy, transition)
        v = np.linalg.solve(eye - discount * flow, gain)
        q = reward + discount * np.einsum("ast,t->sa", transition, v)
        policy = softmax(q, axis=1)
        if np.abs(logsumexp(q, axis=1) - v).max() <= 1e-13 * max(1.0, np.abs(v).max()):
            break
    flow = np.einsum("sa,ast->st", policy, transition)
    states = np.linalg.solve((eye - discount * flow).T, (1 - discount) * initial)
    states = np.maximum(states, 0.0)
    return Expert(q, policy, log_softmax(q, axis=1), states, states[:, None] * policy)


def least_choice(q: Array) -> float:
    """p_A = exp(-2 B*) / |A| with B* = |Q*|_inf."""
    return float(np.exp(-2 * np.abs(q).max()) / q.shape[1])


def anchor_next(states: Array, transition: Array, anchor: NDArray[np.int64]) -> Array:
    """(S,) nu_A: probabilities of s' after the anchor, s drawn from `states`."""
    return np.asarray(states @ transition[anchor, np.arange(len(states))])


def finite_occupancy(flow: Array, initial: Array, horizon: int) -> tuple[Array, Array]:
    """(S,) share of H undiscounted periods in each state; (S,) probabilities of s_H, after them."""
    now, total = initial, np.zeros_like(initial)
    for _ in range(horizon):
        total, now = total + now, now @ flow
    return total / horizon, now


def inverse_norm(flow: Array, states: Array, discount: float) -> float:
    """kappa = norm of (I - beta P_a)^-1 on L2(d), over the states with d > 0.

    Args:
        flow: (S, S) P_a, which stays in the support of d.
        states: (S,) d.
    """
    support = states > 0
    root = np.sqrt(states[support])
    system = np.eye(len(root)) - discount * flow[np.ix_(support, support)]
    least = np.linalg.svd(root[:, None] * system / root, compute_uv=False).min()
    return float(1 / least) if least > 0 else float("inf")


def identification_constant(kappa: float, p_anchor: float, reach: float) -> float:
    """C_id of: |Q - Q*|^2 in L2(d*) <= C_id (R_exp(Q) - R_exp(Q*)).

    With l = log pi_Q - log pi* and w = V_Q - V*, Q - Q* = w + l and, exactly,
    (I - beta P_a) w = -b - l(., a_s), b the anchor's Bellman residual; so
    |w| <= kappa (|b| + |l(., a_s)|), E pi*(a_s) b^2 <= BE, and E_pi l^2 <= KL / m because
    KL = E_pi[exp(l) - 1 - l] and (exp(x) - 1 - x) / x^2 >= m for x >= -reach. Cauchy-Schwarz.

    Args:
        kappa: norm of (I - beta P_a)^-1 on L2(d*_S).
        p_anchor: least pi*(a_s | s) on the support.
        reach: bound on |l|.
    """
    if p_anchor <= 0 or not np.isfinite(kappa):
        return float("inf")
    m = 0.5 if reach < 1e-4 else float((np.expm1(-reach) + reach) / reach**2)
    per_root = kappa / np.sqrt(p_anchor)
    return float(per_root**2 + (per_root + 1) ** 2 / m)
