"""Values and occupancies of policies: exact in rational worlds, and of the logit expert.

In a rational world values come from the evaluation equation, occupancies from the adjoint (forward)
equation: two linear systems that share no formula. No entropy there: Q^pi is the plain discounted
reward of the paper's appendix on occupancy matching. The expert is in floats.
"""

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax, xlogy

from proofs_checks.oracle import Array

Exact = NDArray[np.object_]  # of Fractions


def exact(table: Any) -> Exact:
    """Numbers as the fractions that they are."""
    return np.asarray(np.frompyfunc(Fraction, 1, 1)(table))


# A finite world of rational numbers: r (S, A), P (A, S, S), nu_0 (S,) and beta.
World = namedtuple("World", "reward moves initial discount")


def shares(weights: Sequence[Fraction | int], otherwise: int = 0) -> Exact:
    """Weights as exact probabilities; all zero: certainty of the entry `otherwise`."""
    numbers = exact(weights if any(weights) else np.arange(len(weights)) == otherwise)
    return np.asarray(numbers / numbers.sum())


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


def solve(matrix: Exact, right: Exact) -> Exact:
    """The solution of a non-singular system."""
    rows = row_echelon(np.column_stack([matrix, right]).tolist())[0]
    return np.array([row[-1] for row in rows], dtype=object)


def system(world: World, policy: Exact) -> Exact:
    """(S, S) I - beta P_pi."""
    eye = np.eye(len(policy), dtype=int)
    return np.asarray(eye - world.discount * np.einsum("sa,ast->st", policy, world.moves))


def backup(world: World, policy: Exact, f: Exact, discount: Fraction) -> Exact:
    """r(s, a) + discount * E[f(s', a') | s, a], a' from the policy; any discount."""
    v = (policy * f).sum(axis=1)
    return np.asarray(world.reward + discount * np.einsum("ast,t->sa", world.moves, v))


def action_values(world: World, policy: Exact) -> Exact:
    """Q^pi: V = r_pi + beta P_pi V solved for V, then one step."""
    v = solve(system(world, policy), (policy * world.reward).sum(axis=1))
    return np.asarray(world.reward + world.discount * np.einsum("ast,t->sa", world.moves, v))


def occupancy(world: World, policy: Exact, first: Exact) -> Exact:
    """d^pi(s, a) = (1 - beta) sum_t beta^t Pr(s_t = s, a_t = a), s_0 drawn from `first`."""
    visits = solve(system(world, policy).T, (1 - world.discount) * first)
    return np.asarray(visits[:, None] * policy)


def occupancy_given(world: World, policy: Exact, s0: int, a0: int) -> Exact:
    """d^pi given (s_0, a_0): a weight 1 - beta on that pair, then beta times what follows it."""
    given = world.discount * occupancy(world, policy, world.moves[a0, s0])
    given[s0, a0] += 1 - world.discount
    return np.asarray(given)


def bellman_error(world: World, policy: Exact, f: Exact) -> Exact:
    """(T^policy f - f)(s, a), T with its beta."""
    return np.asarray(backup(world, policy, f, world.discount) - f)


@dataclass(frozen=True)
class Expert:
    """The entropy-regularised optimum."""

    q: Array  # (S, A) Q*
    policy: Array  # (S, A)
    log_policy: Array  # (S, A), finite where the policy underflows
    states: Array  # (S,) discounted occupancy d*_S
    pairs: Array  # (S, A) d*

    @property
    def entropy(self) -> Array:
        """(S,) H(pi*(. | s))."""
        return np.asarray(-xlogy(self.policy, self.policy).sum(axis=1))


def expert(mdp: Any) -> Expert:
    """Soft policy iteration: evaluate r_pi + H(pi), improve to the softmax, until it stands."""
    reward, transition, discount = mdp.reward, mdp.transition, mdp.discount
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
    states = np.linalg.solve((eye - discount * flow).T, (1 - discount) * mdp.initial)
    states = np.maximum(states, 0.0)
    return Expert(q, policy, log_softmax(q, axis=1), states, states[:, None] * policy)
