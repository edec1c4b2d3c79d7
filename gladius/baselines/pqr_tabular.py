"""The Q step of PQR with exact regressions, on counts: means over the rows of each cell.

Notation: h(s) = Q(s, a_s) at the anchor action a_s, g(s) = -log pi(a_s | s) >= 0, so V = h + g.
All arrays lead with R replications; a state in which the anchor was never taken has a borrowed
transition row (transition_probabilities.py) and obeys the anchor's Bellman equation under it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gladius.anchor import Anchor, nearest
from gladius.checks import Array
from gladius.estimate import StateFunction
from gladius.transition_probabilities import TransitionProbabilities
from gladius.transitions import Counts, index_rows


def fitted_iteration(
    given: Array, surprise: Array, law: Array, discount: float, tolerance: float, steps: int
) -> tuple[Array, NDArray[np.int64], Array]:
    """Iterate h <- r(., a_s) + beta P_a_s (h + g), the exact regression of the target, from 0.

    Args:
        given: (S,) r(s, a_s).
        surprise: (R, S) g.
        law: (R, S, S) the anchor's transition frequencies.
        discount: beta.
        tolerance: on the last change over 1 - beta, a bound of the error left over beta,
            relative to max(1, |h|).
        steps: at most this many.

    Returns:
        h (R, S), the iterations taken (R,), and the last change over 1 - beta, relative (R,).
    """
    h = np.zeros_like(surprise)
    taken, left = np.zeros(len(h), dtype=np.int64), np.full(len(h), np.inf)
    for _ in range(steps):
        active = left > tolerance
        if not np.any(active):
            break
        target = given + discount * np.einsum("rij,rj->ri", law, h + surprise)
        change = np.max(np.abs(target - h), axis=1) / (1 - discount)
        scale = np.maximum(1.0, np.max(np.abs(target), axis=1))
        h[active], taken = target[active], taken + active
        left = np.where(active, change / scale, left)
    return h, taken, left


def residual_minimiser(
    visits: Array, moves: Array, given: Array, surprise: Array, law: Array, discount: float
) -> Array:
    """h that minimises the sum over anchor rows of (r + beta (h(s') + g(s')) - h(s))^2.

    This is where a residual gradient ends: the target is differentiated too, so that beta^2 times
    the variance of h(s') is paid for, the double-sampling bias. It is least squares in the h of
    states where the anchor was taken; the others follow by their borrowed Bellman equation.

    Args:
        visits: (R, S) n(s, a_s).
        moves: (R, S, S) n(s, a_s, s') of the rows that do not end the path.
        given, surprise, law, discount: as in `fitted_iteration`.
    """
    found = np.empty_like(surprise)
    eye = np.eye(len(given))
    for r, (n, w, g, p) in enumerate(zip(visits, moves, surprise, law, strict=True)):
        own = n > 0
        rest = ~own
        # h = lift @ h[own] + base
        lift, base = eye[:, own].copy(), np.zeros(len(given))
        if np.any(rest):
            system = eye[np.ix_(rest, rest)] - discount * p[np.ix_(rest, rest)]
            known = given[rest] + discount * p[rest] @ g
            lift[rest] = np.linalg.solve(system, discount * p[np.ix_(rest, own)])
            base[rest] = np.linalg.solve(system, known)
        into = w.sum(axis=0)
        square = np.diag(n + discount**2 * into) - discount * (w + w.T)
        side = n * given + discount * w @ g - discount * (w.T @ given + discount * into * g)
        inner = np.linalg.solve(lift.T @ square @ lift, lift.T @ (side - square @ base))
        found[r] = lift @ inner + base
    return found


@dataclass(frozen=True)
class Table:
    """Q and r of one replication at any state; h is a table on the grid, Bellman's equation off it.

    Attributes:
        h: (S,) on the p_hat's grid.
        log_policy: (S, A) there; a state that is not `seen` takes that of the nearest one.
        seen: (S,) states with choices of their own.
        p_hat, replication: P-hat.
        anchor, discount: as given.
    """

    h: Array
    log_policy: Array
    seen: NDArray[np.bool_]
    p_hat: TransitionProbabilities
    replication: int
    anchor: Anchor
    discount: float

    @property
    def v(self) -> Array:
        """(S,) V = h - log pi(a_s | .)."""
        value: Array = self.h - self.log_policy[:, self.anchor.action]
        return value

    def q(self, states: Array) -> Array:
        """(n, A)."""
        law = self.p_hat.rows(self.replication, states)[self.anchor.action]
        level: Array = self.anchor.values(states) + self.discount * law @ self.v
        every, (grid, asked) = index_rows([self.p_hat.states, states])
        place = np.full(len(every), -1)
        place[grid] = np.arange(len(self.h))
        at = place[asked]
        level[at >= 0] = self.h[at[at >= 0]]
        known = self.log_policy[self.seen]
        log_policy = known[nearest(self.p_hat.states[self.seen], states)]
        return level[:, None] + log_policy - log_policy[:, [self.anchor.action]]

    def reward(self, states: Array) -> Array:
        """(n, A) r = Q - beta P-hat V, the R step's exact regression."""
        return (
            self.q(states) - self.discount * (self.p_hat.rows(self.replication, states) @ self.v).T
        )


def linear_read_off(states: Array, targets: Array, weights: Array) -> StateFunction:
    """r linear in the features, an intercept and slopes for each action, by least squares.

    Args:
        states: (n, d).
        targets: (n, A) what r is regressed on; entries of weight 0 are not read.
        weights: (n, A).
    """
    regressors = np.column_stack([np.ones(len(states)), states])
    coefficients = np.full((regressors.shape[1], weights.shape[1]), np.nan)
    for a, w in enumerate(weights.T):
        if np.any(w > 0):
            root = np.sqrt(w[w > 0])
            y = root * targets[w > 0, a]
            coefficients[:, a] = np.linalg.lstsq(root[:, None] * regressors[w > 0], y)[0]

    def reward(new: Array) -> Array:
        return np.asarray(coefficients[0] + new @ coefficients[1:])

    return reward


def anchor_loss(
    h: Array, counts: Counts, given: Array, surprise: Array, beta: float, a: int
) -> Array:
    """(R,) mean squared residual of the Q step over the rows of the anchor a."""
    moves = counts.moves[:, a]
    ended = counts.visits[:, :, a] - moves.sum(axis=2)
    gap = given - h
    residual = gap[:, :, None] + beta * (h + surprise)[:, None, :]
    total = np.sum(moves * residual**2, axis=(1, 2)) + np.sum(ended * gap**2, axis=1)
    return np.asarray(total / counts.visits[:, :, a].sum(axis=1))
