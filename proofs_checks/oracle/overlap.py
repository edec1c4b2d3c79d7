"""The expert of a tabular world, its occupancies, and what the anchor's transitions do in L2(d*).

NumPy and SciPy on plain arrays: reward (S, A), transition (A, S, S), initial (S,).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax, xlogy

Array = NDArray[np.float64]


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
        entropy: Array = -xlogy(self.policy, self.policy).sum(axis=1)
        return entropy


def expert(reward: Array, transition: Array, discount: float, initial: Array) -> Expert:
    """Soft policy iteration: evaluate r_pi + H(pi), improve to the softmax, until it stands."""
    eye = np.eye(len(reward))
    policy = np.full_like(reward, 1 / reward.shape[1])
    q = reward
    for _ in range(200):
        own = np.sum(policy * reward - xlogy(policy, policy), axis=1)
        flow = np.einsum("sa,ast->st", policy, transition)
        v = np.linalg.solve(eye - discount * flow, own)
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
    """(S,) nu_A: law of s' after the anchor, s drawn from `states`."""
    law: Array = states @ transition[anchor, np.arange(len(states))]
    return law


def finite_occupancy(flow: Array, initial: Array, horizon: int) -> tuple[Array, Array]:
    """(S,) share of H undiscounted periods in each state, and (S,) law of s_H, after the last."""
    law, total = initial, np.zeros_like(initial)
    for _ in range(horizon):
        total, law = total + law, law @ flow
    return total / horizon, law


def inverse_norm(law: Array, states: Array, discount: float) -> float:
    """kappa = norm of (I - beta P_a)^-1 on L2(d), over the states with d > 0.

    Args:
        law: (S, S) P_a, which stays in the support of d.
        states: (S,) d.
    """
    there = states > 0
    root = np.sqrt(states[there])
    system = np.eye(int(there.sum())) - discount * law[np.ix_(there, there)]
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
