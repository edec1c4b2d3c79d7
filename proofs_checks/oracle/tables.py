"""The bus engine of Section 7 solved anew, and what its tables imply, with their rounding.

Plain value iteration on the mileages 1 to 20 and sums over cells, written from the paper's text;
shares no code with the library. Rows are mileages, columns the actions a0 (maintain: the mileage
moves by 1 to 4) and a1 (replace: it returns to 1).
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from proofs_checks.oracle import Array

Interval = tuple[Fraction, Fraction]

DISCOUNT = 0.95
CAP = 20
HORIZON = 100
STEPS = range(1, 5)


# --- the process
def moves(mileage: int, action: int) -> list[int]:
    """The equally likely next mileages."""
    return [min(mileage + k, CAP) for k in STEPS] if action == 0 else [1]


def transition() -> Array:
    """(A, S, S) transition probabilities."""
    eye, mileages = np.eye(CAP), range(1, CAP + 1)
    after = ([[eye[y - 1] for y in moves(x, a)] for x in mileages] for a in range(2))
    return np.array([np.mean(successors, axis=1) for successors in after])


def linear_reward(theta: Sequence[float]) -> Array:
    """(S, A) -theta_0 x and -theta_1."""
    x = np.arange(1.0, CAP + 1)
    return np.stack([-theta[0] * x, np.full(CAP, -theta[1])], axis=1)


def solve(reward: Array, discount: float = DISCOUNT) -> Array:
    """(S, A) Q*, by value iteration until its error is below 1e-11."""
    p, v = transition(), np.zeros(CAP)
    while True:
        q = reward + discount * (p @ v).T
        new: Array = np.logaddexp(q[:, 0], q[:, 1])
        if np.max(np.abs(new - v)) < 1e-11 * (1 - discount):
            return q
        v = new


def choice(q: Array) -> Array:
    """(S, A) pi(a | s)."""
    return np.asarray(np.exp(q - np.logaddexp(q[:, 0], q[:, 1])[:, None]))


# --- Bellman equation of printed numbers
def residual(reward: float, q: Array, mileage: int, action: int) -> float:
    """r + beta E V(s') - Q(mileage, action) from a table (X, 2) that has the next mileages."""
    after, v = moves(mileage, action), np.logaddexp(q[:, 0], q[:, 1])
    mean = math.fsum(float(v[y - 1]) for y in after) / len(after)
    return reward + DISCOUNT * mean - float(q[mileage - 1, action])


def rounding(half: Fraction) -> Fraction:
    """How far rounding r and Q by `half` can move a residual: V is 1-Lipschitz in sup norm."""
    return (2 + Fraction(19, 20)) * half


def fit(q: Array, reward: Array) -> tuple[Array, float]:
    """(theta_0, theta_1) whose table is nearest in sup norm to q (X, 2) and reward; that distance.

    Linear programmes on successive linearisations of the tables, which are smooth in theta.
    """
    target = np.concatenate([q.ravel(), reward.ravel()])

    def table(theta: Array) -> Array:
        r = linear_reward(theta.tolist())
        return np.concatenate([solve(r)[: len(q)].ravel(), r[: len(q)].ravel()])

    theta, step = np.array([1.0, 5.0]), 1e-4
    for _ in range(20):
        gap = target - table(theta)
        slope = np.stack(
            [(table(theta + step * e) - table(theta - step * e)) / (2 * step) for e in np.eye(2)],
            axis=1,
        )
        room = np.ones((len(gap), 1))
        nearest = linprog(
            [0, 0, 1],
            A_ub=np.block([[slope, -room], [-slope, -room]]),
            b_ub=np.concatenate([gap, -gap]),
            bounds=[(None, None), (None, None), (0, None)],
        )
        theta = theta + nearest.x[:2]
        if np.max(np.abs(nearest.x[:2])) < 1e-5:  # the error is then of the order of its square
            break
    return theta, float(np.max(np.abs(target - table(theta))))


# --- MAPE of printed numbers
def mape(
    estimates: Sequence[Interval], truths: Sequence[Fraction], weights: Sequence[int]
) -> Interval:
    """Weighted mean of |r-hat - r| / |r| in per cent, of numbers known up to rounding."""
    low = high = Fraction(0)
    for (least, most), truth, weight in zip(estimates, truths, weights, strict=True):
        ends = abs(least - truth), abs(most - truth)
        low += weight * (Fraction(0) if least <= truth <= most else min(ends)) / abs(truth)
        high += weight * max(ends) / abs(truth)
    return 100 * low / sum(weights), 100 * high / sum(weights)


# --- counts
def count_probability(
    inside: NDArray[np.bool_], count: int, trajectories: int, horizon: int = HORIZON
) -> float:
    """Two-sided probability of a count this extreme, in the pairs of `trajectories` experts.

    Args:
        inside: (S, A) the pairs that are counted.
        count: how often they occurred.
    """
    policy, p = choice(solve(linear_reward((1.0, 5.0)))), transition()
    joint = np.zeros((CAP, horizon + 1))  # [state, count so far]
    joint[0, 0] = 1.0
    for _ in range(horizon):
        after = np.zeros_like(joint)
        for a in range(2):
            taken = joint * policy[:, [a]]
            hit = inside[:, a]
            taken[hit] = np.roll(taken[hit], 1, axis=1)  # the last column is still empty
            after += p[a].T @ taken
        joint = after
    size = trajectories * horizon + 1
    total = np.fft.irfft(np.fft.rfft(joint.sum(axis=0), size) ** trajectories, size)
    total = np.maximum(total, 0.0)  # the transform leaves +-1e-17
    if count >= size:
        return 0.0
    return float(min(1.0, 2 * min(total[: count + 1].sum(), total[count:].sum())))
