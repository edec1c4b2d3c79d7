"""The paper's grouped empirical notation (appendix "Grouped empirical notation for the PL proof").

Plain sums over counts, written from the paper's displays; shares no code with the library.
States of Z_Q are those that the empirical objective evaluates; the outputs q are a table (X, A).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax, xlogy

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """An observed data set in grouped form, with what the objective knows beside it.

    Attributes:
        moves: (X, A, X) whole numbers n(s, a, s'); every state occurs as s or s'.
        anchor: (X,) the anchor action a_s of each state.
        reward: (X,) r(s, a_s).
        discount: beta.
    """

    moves: Array
    anchor: NDArray[np.int64]
    reward: Array
    discount: float

    @cached_property
    def visits(self) -> Array:
        """(X, A) n(s, a)."""
        total: Array = self.moves.sum(axis=2)
        return total

    @property
    def size(self) -> float:
        """N."""
        return float(self.moves.sum())

    @cached_property
    def evaluated(self) -> NDArray[np.bool_]:
        """(X,) X_Q: states with a decision, or that follow an anchor decision."""
        there: NDArray[np.bool_] = self.visits.sum(axis=1) + self.anchored.sum(axis=0) > 0
        return there

    # --- the negative log-likelihood
    @cached_property
    def nll_states(self) -> NDArray[np.int64]:
        """X_NLL: states with a decision."""
        return np.flatnonzero(self.visits.sum(axis=1))

    @cached_property
    def nll_weight(self) -> Array:
        """omega^NLL (X_NLL,)."""
        weight: Array = self.visits[self.nll_states].sum(axis=1) / self.size
        return weight

    @cached_property
    def choices(self) -> Array:
        """pi-hat_x(a) (X_NLL, A)."""
        seen = self.visits[self.nll_states]
        shares: Array = seen / seen.sum(axis=1, keepdims=True)
        return shares

    # --- the Bellman error: rows whose action is the anchor
    @cached_property
    def anchored(self) -> Array:
        """(X, X) n(s, a_s, s')."""
        rows: Array = self.moves[np.arange(len(self.moves)), self.anchor]
        return rows

    @cached_property
    def be_states(self) -> NDArray[np.int64]:
        """X_BE: states with an anchor decision."""
        return np.flatnonzero(self.anchored.sum(axis=1))

    @property
    def be_size(self) -> float:
        """N_BE."""
        return float(self.anchored.sum())

    @cached_property
    def be_weight(self) -> Array:
        """omega^BE (B,), with the appendix's denominator N_BE."""
        weight: Array = self.anchored[self.be_states].sum(axis=1) / self.be_size
        return weight

    @cached_property
    def law(self) -> Array:
        """P-hat_j(y) (B, X)."""
        rows = self.anchored[self.be_states]
        law: Array = rows / rows.sum(axis=1, keepdims=True)
        return law

    # --- the terms, as functions of the outputs q (X, A)
    def nll(self, q: Array) -> float:
        """L-hat_NLL(q)."""
        log_p = q - logsumexp(q, axis=1, keepdims=True)
        return float(-np.sum(self.nll_weight[:, None] * self.choices * log_p[self.nll_states]))

    def entropy(self) -> float:
        """sum_x omega_x H(pi-hat_x), the infimum of the NLL over all tables."""
        inner = -xlogy(self.choices, self.choices).sum(axis=1)
        return float(self.nll_weight @ inner)

    def nll_gradient(self, q: Array) -> Array:
        """(X, A) gradient of the NLL in the outputs."""
        gradient = np.zeros_like(q)
        p = softmax(q, axis=1)[self.nll_states]
        gradient[self.nll_states] = self.nll_weight[:, None] * (p - self.choices)
        return gradient

    def residual(self, q: Array) -> Array:
        """Psi (B,)."""
        at = self.be_states
        psi: Array = (
            self.reward[at]
            + self.discount * self.law @ logsumexp(q, axis=1)
            - q[at, self.anchor[at]]
        )
        return psi

    def bellman(self, q: Array) -> float:
        """L-hat_BE(q) = sum_j omega_j Psi_j^2."""
        return float(self.be_weight @ self.residual(q) ** 2)

    def residual_jacobian(self, q: Array) -> Array:
        """A_theta (B, X A): derivative of Psi in the outputs, flattened state by state."""
        states, actions = q.shape
        p = softmax(q, axis=1)
        rows = self.discount * self.law[:, :, None] * p[None]
        rows[np.arange(len(self.be_states)), self.be_states, self.anchor[self.be_states]] -= 1.0
        flat: Array = rows.reshape(len(self.be_states), states * actions)
        return flat

    def bellman_gradient(self, q: Array) -> Array:
        """(X, A) gradient of L-hat_BE in the outputs."""
        weighted = self.be_weight * self.residual(q)
        return 2 * (self.residual_jacobian(q).T @ weighted).reshape(q.shape)

    def risk(self, q: Array) -> float:
        """R-hat_Q = L-hat_NLL + L-hat_BE, the appendix's weights."""
        return self.nll(q) + self.bellman(q)

    # --- the auxiliary regression, on the anchor rows (the only ones where the objective has zeta)
    def target(self, q: Array) -> Array:
        """y-bar (B,): the mean of V(s') over a state's anchor rows."""
        mean: Array = self.law @ logsumexp(q, axis=1)
        return mean

    def auxiliary(self, zeta: Array, q: Array) -> float:
        """F-hat_zeta of the outputs zeta (B,), without its constant."""
        return float(self.discount**2 * self.be_weight @ (zeta - self.target(q)) ** 2)
