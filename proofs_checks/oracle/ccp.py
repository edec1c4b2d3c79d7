"""From choice probabilities and an anchor to Q and r, without the library.

Two routes: the value of always taking the anchor action, summed period by period, and the
paper's system of equations (Lemma MagnacThesmar) as one linear system in the table Q. Arrays:
log_policy (S, A), transition (A, S, S), anchor (S,) the action a_s, given (S,) its reward.
"""

from collections import namedtuple

import numpy as np
from numpy.typing import NDArray

from proofs_checks.oracle import Array
from proofs_checks.oracle.soft_bellman import discounted_sum


class Observed(namedtuple("Observed", "log_policy transition anchor given discount")):
    """What identification starts from: CCPs, the kernel, the anchor's reward, beta."""

    @property
    def log_anchor(self) -> Array:
        """(S,) log pi*(a_s | s)."""
        return np.asarray(self.log_policy[np.arange(len(self.anchor)), self.anchor])

    @property
    def anchored(self) -> Array:
        """(S, S) P(s' | s, a_s)."""
        return np.asarray(self.transition[self.anchor, np.arange(len(self.anchor))])

    def restricted(self, states: NDArray[np.bool_]) -> "Observed":
        """The same on some states only; moves out of them are cut off."""
        return Observed(
            self.log_policy[states],
            self.transition[:, states][:, :, states],
            self.anchor[states],
            self.given[states],
            self.discount,
        )


def solve(seen: Observed) -> tuple[Array, Array]:
    """(Q, r): V(s) is what always taking the anchor earns, r(s, a_s) - log pi*(a_s | s) a period.

    Then Q = V + log pi* and r = Q - beta P V.
    """
    v = discounted_sum(seen.anchored, seen.given - seen.log_anchor, seen.discount)
    q = seen.log_policy + v[:, None]
    following = np.stack([successors @ v for successors in seen.transition], axis=1)
    return q, q - seen.discount * following


def extended(seen: Observed, q: Array, inside: NDArray[np.bool_]) -> Array:
    """`q` off the states `inside`, and there the solution of the paper's system given that `q`.

    What the anchor leads to off `inside` counts as the last period's gain.
    """
    ahead = np.where(inside, 0.0, np.logaddexp.reduce(q, axis=1))
    gain = seen.given - seen.log_anchor + seen.discount * (seen.anchored @ ahead)
    v = discounted_sum(seen.anchored[np.ix_(inside, inside)], gain[inside], seen.discount)
    whole: Array = q.copy()
    whole[inside] = seen.log_policy[inside] + v[:, None]
    return whole


def system(
    seen: Observed,  # what is observed
    leave_out: tuple[int, ...] = (),  # actions whose CCP rows are left out
    inside: NDArray[np.bool_] | None = None,  # (S,) states whose equations count; all by default
) -> tuple[Array, Array]:
    """(matrix, right side) in the entries of Q: the anchor rows of T_f, then the CCP rows.

    V_Q(s') is written Q(s', a_s') - log pi*(a_s' | s'), as where the CCPs of Q are pi*.
    """
    states, actions = seen.log_policy.shape
    entry = np.eye(states * actions).reshape(states, actions, -1)  # Q(s, a) as a row
    anchors = entry[np.arange(states), seen.anchor]
    bellman = anchors - seen.discount * seen.anchored @ anchors
    level = seen.given - seen.discount * seen.anchored @ seen.log_anchor
    log_odds = seen.log_policy - seen.log_anchor[:, None]
    included = np.ones(states, dtype=bool) if inside is None else inside
    free = np.isin(np.arange(actions), leave_out) | (np.arange(actions) == seen.anchor[:, None])
    others = included[:, None] & ~free
    matrix = np.concatenate([bellman[included], (entry - anchors[:, None])[others]])
    return matrix, np.concatenate([level[included], log_odds[others]])


def nearest(q: Array, matrix: Array, right: Array) -> Array:
    """The solution of the system that is nearest to Q; the same for all Q only if unique."""
    move = np.linalg.lstsq(matrix, right - matrix @ q.ravel(), rcond=None)[0]
    return np.asarray(q + move.reshape(q.shape))
