"""The constants of the paper's Polyak-Lojasiewicz lemmas, and what they are made of.

Everything is in output space (M = |X_Q| |A| coordinates); a constant in parameter space is its
output-space constant times mu, the least eigenvalue of the Jacobian's Gram matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from proofs_checks.oracle.grouped import Array, Sample

# of u^2 + 3 sin^2 u, which is not convex; the largest possible is .17553, met near u = 2.2017
WAVE = 0.17


@dataclass(frozen=True)
class Constants:
    """The appendix's constants, at one point or for a whole ball.

    Attributes:
        actions: |A|.
        states: |X_Q|.
        discount: beta.
        nll_least: omega_NLL,min.
        be_least: omega_BE,min.
        be_most: omega_BE,max.
        least_choice: p_-, a lower bound of every softmax probability.
        parallel: C_parallel, the largest ||P_parallel A'||.
    """

    actions: int
    states: int
    discount: float
    nll_least: float
    be_least: float
    be_most: float
    least_choice: float
    parallel: float

    @property
    def gamma(self) -> float:
        """gamma_perp = (1 - beta) / sqrt(|A| |X_Q|)."""
        return (1 - self.discount) / math.sqrt(self.actions * self.states)

    @property
    def kappa(self) -> float:
        """kappa_perp = C_parallel / gamma_perp."""
        return self.parallel / self.gamma

    @property
    def bellman(self) -> float:
        """PL constant of L_BE."""
        return 2 * self.gamma**2 * self.be_least**2 / self.be_most

    @property
    def nll(self) -> float:
        """alpha_NLL, PL constant of L_NLL."""
        return self.least_choice * self.nll_least / 2

    @property
    def nll_share(self) -> float:
        """a_NLL = 1 / (2 (1 + kappa^2))."""
        return 1 / (2 * (1 + self.kappa**2))

    @property
    def combined(self) -> float:
        """alpha_R, PL constant of L_NLL + L_BE."""
        return min(self.nll * self.nll_share, self.bellman / 2)


def constants(sample: Sample, q: Array) -> Constants:
    """The constants with p_- and C_parallel at the outputs q (X, A) alone: the largest possible."""
    return Constants(
        actions=q.shape[1],
        states=int(sample.evaluated.sum()),
        discount=sample.discount,
        nll_least=float(sample.nll_weight.min()),
        be_least=float(sample.be_weight.min()),
        be_most=float(sample.be_weight.max()),
        least_choice=softmax_bound(q[sample.evaluated]),
        parallel=float(np.linalg.norm(within_blocks(sample.residual_jacobian(q), q.shape[1]), 2)),
    )


def softmax_bound(q: Array) -> float:
    """p_- = exp(Q_-) / (|A| exp(Q_+)) of the outputs q (X, A)."""
    return float(np.exp(q.min() - q.max()) / q.shape[1])


def within_blocks(rows: Array, actions: int) -> Array:
    """P_parallel of each row of (n, X A): what sums to zero over the actions of a state."""
    blocks = rows.reshape(len(rows), -1, actions)
    centred: Array = (blocks - blocks.mean(axis=2, keepdims=True)).reshape(rows.shape)
    return centred


def least_eigenvalue(jacobian: Array) -> float:
    """mu, the least eigenvalue of J J'; zero where there are more outputs than parameters."""
    rows, width = jacobian.shape
    least = 0.0 if rows > width else np.linalg.svd(jacobian, compute_uv=False)[-1]
    return float(least**2)


def auxiliary_constant(discount: float, weight: Array, power: int = 2) -> float:
    """2 beta^2 omega_zeta,min, PL constant of the auxiliary regression."""
    return float(2 * discount**power * weight.min())


def tanh_jacobian(theta: Array, x: Array, width: int, actions: int) -> Array:
    """(n A, P) Jacobian of the network sum_k v_ka tanh(x' w_k + b_k) + c_a.

    theta holds w (d, width), b (width,), v (width, A), c (A,), one after the other.
    """
    n, d = x.shape
    w = theta[: d * width].reshape(d, width)
    b = theta[d * width : (d + 1) * width]
    v = theta[(d + 1) * width : (d + 1 + actions) * width].reshape(width, actions)
    hidden = np.tanh(x @ w + b)
    slope = 1 - hidden**2
    jacobian = np.zeros((n, actions, len(theta)))
    for i in range(n):
        for a in range(actions):
            into = slope[i] * v[:, a]  # derivative by the argument of each tanh
            out = np.zeros((width, actions))
            out[:, a] = hidden[i]
            parts = (np.outer(x[i], into).ravel(), into, out.ravel(), np.eye(actions)[a])
            jacobian[i, a] = np.concatenate(parts)
    return jacobian.reshape(n * actions, -1)


def combination(kappa: float, a: float, c: float) -> float:
    """a^2 / (2 (1 + kappa^2)) + c^2 / 2, the right side of the abc inequality."""
    return a**2 / (2 * (1 + kappa**2)) + c**2 / 2
