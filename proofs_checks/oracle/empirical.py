"""The paper's empirical objectives row by row, and their derivatives by complex steps.

Written from Definition ERM and Equation empirical_minimax_gladius; shares no code with the library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Values = NDArray[Any]  # real, or complex where a derivative is taken
STEP = 1e-30  # of the complex step: no difference is formed, so nothing cancels


def v_of(row: Values) -> Any:
    """log sum exp of one state's values, real or complex."""
    top = float(np.max(row.real))
    return top + np.log(np.sum(np.exp(row - top)))


def complex_gradient(f: Callable[[Values], Any], x: Array) -> Array:
    """Gradient of an analytic function, exact to rounding."""
    slope = np.empty(len(x))
    for k in range(len(x)):
        moved = x.astype(complex)
        moved[k] += 1j * STEP
        slope[k] = np.imag(f(moved)) / STEP
    return slope


@dataclass(frozen=True)
class Rows:
    """A data set D as its rows.

    Attributes:
        s, a, after: (N,) whole numbers.
        anchor: a_s, the same in every state.
        reward: (S,) r(s, a_s).
        discount: beta.
    """

    s: NDArray[np.int64]
    a: NDArray[np.int64]
    after: NDArray[np.int64]
    anchor: int
    reward: Array
    discount: float

    @property
    def size(self) -> int:
        """N."""
        return len(self.s)

    def triples(self) -> list[tuple[int, int, int]]:
        """The rows (s, a, s')."""
        return list(zip(self.s.tolist(), self.a.tolist(), self.after.tolist(), strict=True))

    def nll(self, q: Values) -> Any:
        """Sum over rows of -log p-hat_Q(a | s)."""
        return sum(v_of(q[s]) - q[s, a] for s, a, _ in self.triples())

    def td(self, q: Values) -> Any:
        """Sum over anchor rows of (T-hat Q(s, a, s') - Q(s, a))^2."""
        beta, triples = self.discount, self.triples()
        gaps = [self.reward[s] + beta * v_of(q[y]) - q[s, a] for s, a, y in triples if self.is_(a)]
        return sum(gap**2 for gap in gaps)

    def is_(self, a: int) -> bool:
        """Whether the indicator of the anchor is one."""
        return a == self.anchor

    def spread(self, q: Values, zeta: Values) -> Any:
        """Sum over anchor rows of (V_Q(s') - zeta(s, a))^2."""
        return sum((v_of(q[y]) - zeta[s, a]) ** 2 for s, a, y in self.triples() if self.is_(a))

    def zeta_bar(self, q: Values) -> Values:
        """(S, A) the mean of V_Q(s') over the rows of each pair; zero at pairs without one."""
        total, number = np.zeros(q.shape, dtype=q.dtype), np.zeros(q.shape)
        for s, a, y in self.triples():
            total[s, a] += v_of(q[y])
            number[s, a] += 1
        mean: Values = total / np.where(number > 0, number, 1.0)
        return mean

    def f_hat(self, q: Values, zeta: Values) -> Any:
        """f-hat_N: the mean over all N rows, at the given zeta."""
        inner = self.td(q) - self.discount**2 * self.spread(q, zeta)
        return (self.nll(q) + inner) / self.size

    def risk(self, q: Values) -> Any:
        """R_emp of Definition ERM: f-hat_N at zeta-bar."""
        return self.f_hat(q, self.zeta_bar(q))

    def algorithm_2(self, q: Values) -> Any:
        """Equation DeterministicERMIRL: the mean of the NLL and the squared TD error."""
        return (self.nll(q) + self.td(q)) / self.size


@dataclass(frozen=True)
class FixedDesign:
    """Anchor rows at distinct (s, a), whose V(s') is mean + noise or mean - noise, each with 1/2.

    Attributes:
        features: (n, d) chi of the rows; E[V(s') | s, a] = chi' slope, so it is in the class.
        slope: (d,).
        noise: (n,) standard deviations of V(s').
        gap: (n,) r(s, a) - Q(s, a).
        discount: beta.
    """

    features: Array
    slope: Array
    noise: Array
    gap: Array
    discount: float

    @property
    def mean(self) -> Array:
        """(n,) E[V(s') | s, a]."""
        mean: Array = self.features @ self.slope
        return mean

    @property
    def hat(self) -> Array:
        """(n, n) the projection that least squares on the features is."""
        hat: Array = self.features @ np.linalg.pinv(self.features)
        return hat

    def outcomes(self) -> Array:
        """(2^n, n) the equally likely V(s') of the rows."""
        number = len(self.noise)
        signs = 1.0 - 2.0 * ((np.arange(2**number)[:, None] >> np.arange(number)) & 1)
        outcomes: Array = self.mean + signs * self.noise
        return outcomes

    def bellman(self) -> float:
        """The mean of L_BE over the rows."""
        return float(np.mean((self.gap + self.discount * self.mean) ** 2))

    def td_bias(self, weight: Array) -> float:
        """beta^2 times the mean of weight times the variance of V(s')."""
        return float(self.discount**2 * np.mean(weight * self.noise**2))


def zeta_error(law: Array, v: Array, visits: int, discount: float) -> Fraction:
    """beta^2 Var(V(s'))/n in exact arithmetic, the mean squared error of beta zeta-bar."""
    p = [Fraction(float(x)) for x in law]
    whole = sum(p, Fraction(0))  # one, but for the rounding of the float probabilities
    values = [Fraction(float(x)) for x in v]
    mean = sum((a * b for a, b in zip(p, values, strict=True)), Fraction(0)) / whole
    squares = (a * (b - mean) ** 2 for a, b in zip(p, values, strict=True))
    variance = sum(squares, Fraction(0)) / whole
    return Fraction(discount) ** 2 * variance / visits
