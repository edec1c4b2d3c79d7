"""The paper's risks: of the population, and of a data set grouped.

Sums over successors, over rows and over counts, each written from the paper's displays (Section 4;
Definition ERM and Equation empirical_minimax_gladius; appendix "Grouped empirical notation for the
PL proof"). They share no code with the library: maxima and minima are searched for, derivatives
taken by complex steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax, xlogy

from proofs_checks.oracle import Array

Values = NDArray[Any]  # real, or complex where a derivative is taken
Whole = NDArray[np.int64]


GOLDEN = (5**0.5 - 1) / 2


def golden_maximum(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Entrywise maximum of unimodal functions on [low, high], by golden section.

    The bracket shrinks by 0.618^45 = 4e-10, so the value is exact to the square of that.
    """
    lower, upper = low, high
    for _ in range(45):
        inner = upper - GOLDEN * (upper - lower), lower + GOLDEN * (upper - lower)
        rising = f(inner[0]) < f(inner[1])
        lower, upper = np.where(rising, inner[0], lower), np.where(rising, upper, inner[1])
    return f((lower + upper) / 2)


@dataclass(frozen=True)
class Population:
    """Every pair's transition probabilities, reward and value; results are (S, A)."""

    transition: Array  # (S, A, S) P(s' | s, a)
    reward: Array  # (S, A) r
    q: Array  # (S, A) Q
    discount: float  # beta

    @cached_property
    def v(self) -> Array:
        """(S,) V_Q."""
        return np.asarray(logsumexp(self.q, axis=1))

    def mean(self, term: Array) -> Array:
        """E over s' of a term (S, A, S) or (S,), for each pair."""
        return np.asarray(np.sum(self.transition * term, axis=2))

    @property
    def target(self) -> Array:
        """(S, A, S) T-hat Q(s, a, s')."""
        return self.reward[:, :, None] + self.discount * self.v

    def backup(self) -> Array:
        """T Q."""
        return self.mean(self.target)

    def bellman(self) -> Array:
        """L_BE = (T Q - Q)^2."""
        return np.asarray((self.backup() - self.q) ** 2)

    def td(self) -> Array:
        """E[L_TD]."""
        return self.mean((self.target - self.q[:, :, None]) ** 2)

    def spread(self, zeta: Array) -> Array:
        """E[(V_Q(s') - zeta(s, a))^2]."""
        return self.mean((self.v - zeta[:, :, None]) ** 2)

    def deviation(self) -> Array:
        """D(Q), the least spread over zeta, searched for."""
        low, high = np.full(self.q.shape, self.v.min()), np.full(self.q.shape, self.v.max())
        return -golden_maximum(lambda zeta: -self.spread(zeta), low, high)


# --- functions that a complex step may enter
STEP = 1e-30  # of the complex step: no difference is formed, so nothing cancels


def v_of(q: Values) -> Values:
    """log sum exp over the actions of values (..., A), real or complex."""
    top = np.max(q.real, axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.sum(np.exp(q - top), axis=-1)))


def complex_gradient(f: Callable[[Values], Any], x: Array) -> Array:
    """Gradient of an analytic function, exact to rounding."""
    return np.array([np.imag(f(x + move)) / STEP for move in 1j * STEP * np.eye(len(x))])


# --- a data set, grouped: the states of Z_Q are those that the empirical objective evaluates
@dataclass(frozen=True)
class Sample:
    """An observed data set in grouped form, with what the objective knows beside it."""

    moves: Array  # (X, A, X) whole numbers n(s, a, s'); every state occurs as s or s'
    anchor: Whole  # (X,) the anchor action a_s of each state
    reward: Array  # (X,) r(s, a_s)
    discount: float  # beta

    @cached_property
    def visits(self) -> Array:
        """(X, A) n(s, a)."""
        return np.asarray(self.moves.sum(axis=2))

    @property
    def size(self) -> float:
        """N."""
        return float(self.moves.sum())

    @cached_property
    def evaluated(self) -> NDArray[np.bool_]:
        """(X,) X_Q: states with a decision, or that follow an anchor decision."""
        return np.asarray(self.visits.sum(axis=1) + self.anchored.sum(axis=0) > 0)

    # --- the negative log-likelihood
    @cached_property
    def nll_states(self) -> Whole:
        """X_NLL: states with a decision."""
        return np.flatnonzero(self.visits.sum(axis=1))

    @cached_property
    def nll_weight(self) -> Array:
        """omega^NLL (X_NLL,)."""
        return np.asarray(self.visits[self.nll_states].sum(axis=1) / self.size)

    @cached_property
    def choices(self) -> Array:
        """pi-hat_x(a) (X_NLL, A)."""
        seen = self.visits[self.nll_states]
        return np.asarray(seen / seen.sum(axis=1, keepdims=True))

    # --- the Bellman error: rows whose action is the anchor
    @cached_property
    def anchored(self) -> Array:
        """(X, X) n(s, a_s, s')."""
        return np.asarray(self.moves[np.arange(len(self.moves)), self.anchor])

    @cached_property
    def be_states(self) -> Whole:
        """X_BE: states with an anchor decision."""
        return np.flatnonzero(self.anchored.sum(axis=1))

    @property
    def be_size(self) -> float:
        """N_BE."""
        return float(self.anchored.sum())

    @cached_property
    def be_weight(self) -> Array:
        """omega^BE (B,), with the appendix's denominator N_BE."""
        return np.asarray(self.anchored[self.be_states].sum(axis=1) / self.be_size)

    @cached_property
    def transition(self) -> Array:
        """P-hat_j(y) (B, X)."""
        rows = self.anchored[self.be_states]
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

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
        states = self.be_states
        ahead = self.discount * self.transition @ logsumexp(q, axis=1)
        return np.asarray(self.reward[states] + ahead - q[states, self.anchor[states]])

    def bellman(self, q: Array) -> float:
        """L-hat_BE(q) = sum_j omega_j Psi_j^2."""
        return float(self.be_weight @ self.residual(q) ** 2)

    def residual_jacobian(self, q: Array) -> Array:
        """A_theta (B, X A): derivative of Psi in the outputs, flattened state by state."""
        states, actions = q.shape
        p = softmax(q, axis=1)
        rows = self.discount * self.transition[:, :, None] * p[None]
        rows[np.arange(len(self.be_states)), self.be_states, self.anchor[self.be_states]] -= 1.0
        return np.asarray(rows.reshape(len(self.be_states), states * actions))

    def bellman_gradient(self, q: Array) -> Array:
        """(X, A) gradient of L-hat_BE in the outputs."""
        weighted = self.be_weight * self.residual(q)
        return 2 * (self.residual_jacobian(q).T @ weighted).reshape(q.shape)

    def risk(self, q: Array) -> float:
        """R-hat_Q = L-hat_NLL + L-hat_BE, the appendix's weights."""
        return self.nll(q) + self.bellman(q)

    # --- the min-max objective, as a mean over all N rows; q and zeta (X, A), real or complex
    def td(self, q: Values) -> Any:
        """Mean of 1{a = a_s} (T-hat Q(s, a, s') - Q(s, a))^2."""
        anchor_gap = self.reward - q[np.arange(len(q)), self.anchor]
        return (
            np.sum(self.anchored * (anchor_gap[:, None] + self.discount * v_of(q)) ** 2) / self.size
        )

    def zeta_bar(self, q: Values) -> Values:
        """(X, A) the mean of V_Q(s') over the rows of each pair; zero at pairs without one."""
        return np.asarray(self.moves @ v_of(q) / np.maximum(self.visits, 1.0))

    def f_hat(self, q: Values, zeta: Values) -> Any:
        """f-hat_N: mean of -log p-hat_Q(a | s), and td less beta^2 times V(s')'s spread at zeta."""
        v, here = v_of(q), zeta[np.arange(len(q)), self.anchor]
        nll = np.sum(self.visits * (v[:, None] - q))
        spread = np.sum(self.anchored * (v - here[:, None]) ** 2)
        return self.td(q) + (nll - self.discount**2 * spread) / self.size

    # --- the auxiliary regression, on the anchor rows (the only ones where the objective has zeta)
    def target(self, q: Array) -> Array:
        """y-bar (B,): the mean of V(s') over a state's anchor rows."""
        return np.asarray(self.transition @ logsumexp(q, axis=1))

    def auxiliary(self, zeta: Array, q: Array) -> float:
        """F-hat_zeta of the outputs zeta (B,), without its constant."""
        return float(self.discount**2 * self.be_weight @ (zeta - self.target(q)) ** 2)
