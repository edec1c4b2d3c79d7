"""The population terms of the paper's Section 4, sums written out successor by successor.

Shares no code with the library; the maximum and the minimum are searched for, not looked up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, fsum, log

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
GOLDEN = (5**0.5 - 1) / 2


def log_sum_exp(row: list[float]) -> float:
    """log sum exp of one state's values."""
    top = max(row)
    return top + log(fsum(exp(x - top) for x in row))


def golden_maximum(f: Callable[[Array], Array], low: Array, high: Array, steps: int = 45) -> Array:
    """Entrywise maximum of unimodal functions on [low, high], by golden section.

    The bracket shrinks by 0.618^45 = 4e-10, so the value is exact to the square of that.
    """
    left, right = low, high
    for _ in range(steps):
        inner = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
        rising = f(inner[0]) < f(inner[1])
        left, right = np.where(rising, inner[0], left), np.where(rising, right, inner[1])
    return f((left + right) / 2)


@dataclass(frozen=True)
class Population:
    """Every pair's law, reward and value; results are (S, A).

    Attributes:
        law: (S, A, S) P(s' | s, a).
        reward: (S, A) r.
        q: (S, A) Q.
        discount: beta.
    """

    law: Array
    reward: Array
    q: Array
    discount: float

    @cached_property
    def v(self) -> list[float]:
        """V_Q of each state."""
        return [log_sum_exp(row) for row in self.q.tolist()]

    def mean(self, term: Callable[[float, float, float], float]) -> Array:
        """E over s' of term(r(s, a), Q(s, a), V_Q(s')), for each pair."""
        rewards, values = self.reward.tolist(), self.q.tolist()
        return np.array(
            [
                [
                    fsum(p * term(r, q, v) for p, v in zip(row, self.v, strict=True))
                    for row, r, q in zip(rows, rewards[s], values[s], strict=True)
                ]
                for s, rows in enumerate(self.law.tolist())
            ]
        )

    def delta(self) -> Array:
        """E[delta_Q(s, a, s')]."""
        return self.mean(lambda r, q, v: r + self.discount * v - q)

    def backup(self) -> Array:
        """T Q."""
        return self.mean(lambda r, _, v: r + self.discount * v)

    def bellman(self) -> Array:
        """L_BE = (T Q - Q)^2."""
        squared: Array = (self.backup() - self.q) ** 2
        return squared

    def td(self) -> Array:
        """E[L_TD]."""
        return self.mean(lambda r, q, v: (r + self.discount * v - q) ** 2)

    def backup_variance(self) -> Array:
        """E[(T Q - T-hat Q)^2]."""
        centre = self.backup()
        beta, v = self.discount, np.array(self.v)
        gaps = centre[:, :, None] - (self.reward[:, :, None] + beta * v)
        spread: Array = (self.law * gaps**2).sum(axis=2)
        return spread

    def linear(self, h: Array) -> Array:
        """2 E[delta] h - h^2."""
        form: Array = 2 * self.delta() * h - h * h
        return form

    def spread(self, zeta: Array) -> Array:
        """E[(V_Q(s') - zeta(s, a))^2]."""
        gaps = np.array(self.v) - zeta[:, :, None]
        spread: Array = (self.law * gaps**2).sum(axis=2)
        return spread

    def deviation(self) -> Array:
        """D(Q), the least spread over zeta, searched for."""
        low, high = np.full(self.q.shape, min(self.v)), np.full(self.q.shape, max(self.v))
        return -golden_maximum(lambda zeta: -self.spread(zeta), low, high)


def td_minimiser(law: Array, reward: Array, discount: float, weight: Array) -> Array:
    """(S,) the Q of a world of one action (so V = Q) that minimises the expected squared TD error.

    Least squares over the rows (s, s'), weighted by weight(s) P(s' | s).

    Args:
        law: (S, S).
        reward: (S,).
        discount: beta.
        weight: (S,) law of s.
    """
    rows, targets = [], []
    for s, p in enumerate(law):
        for y in np.flatnonzero(p):
            row = np.zeros(len(law))
            row[y] += discount
            row[s] -= 1.0
            root = np.sqrt(weight[s] * p[y])
            rows.append(root * row)
            targets.append(-root * reward[s])
    q: Array = np.linalg.lstsq(np.array(rows), np.array(targets), rcond=None)[0]
    return q


def least_squares_zeta(law: Array, weight: Array, v: Array) -> Array:
    """(S, A) the zeta of least mean square over all pairs, from the regression on pair dummies.

    Pairs of weight zero get the minimum norm, zero.

    Args:
        law: (S, A, S).
        weight: (S, A) law of the pairs.
        v: (S,) V(s').
    """
    joint = (weight[:, :, None] * law).reshape(-1, len(v))
    pair, after = np.nonzero(joint)
    root = np.sqrt(joint[pair, after])
    dummies = root[:, None] * (pair[:, None] == np.arange(len(joint)))
    # each column is a pair of its own, so scaling it changes nothing but the conditioning
    size = np.sqrt(np.sum(dummies**2, axis=0))
    known = size > 0
    scaled = dummies[:, known] / size[known]
    zeta = np.zeros(len(joint))
    zeta[known] = np.linalg.lstsq(scaled, root * v[after], rcond=None)[0] / size[known]
    return zeta.reshape(weight.shape)


def reachable(law: Array, initial: Array) -> NDArray[np.int64]:
    """S-bar: the states with a path of positive probability from the first one, every action
    being taken with positive probability."""
    found = {int(s) for s in np.flatnonzero(initial)}
    frontier = list(found)
    while frontier:
        s = frontier.pop()
        new = {int(y) for y in np.flatnonzero(law[s].sum(axis=0))} - found
        found |= new
        frontier += sorted(new)
    return np.array(sorted(found))
