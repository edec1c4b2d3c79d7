"""The same programme in SciPy's solvers, one at a time: for comparison with mpec_newton.py."""

from __future__ import annotations

import numpy as np
from scipy.optimize import NonlinearConstraint, minimize
from scipy.special import logsumexp

from gladius.baselines.mpec_problem import Programme
from gladius.checks import Array

SOLVERS = {"trust-constr": "trust-constr", "slsqp": "SLSQP"}


class Dense:
    """One programme as functions of x = (theta, (1 - beta) V) with dense derivatives.

    V is of the order of r / (1 - beta); quasi-Newton steps want variables of one size. The loss is
    -L per observation. D is d Q / d x, shape (S, A, k + S).
    """

    def __init__(self, programme: Programme) -> None:
        visits, law = programme.visits[0], programme.law.reshape(programme.law.shape[-3:])
        self.k, self.states = programme.design.shape[2], len(visits)
        self.unit = 1 / (1 - programme.discount)
        moves = self.unit * programme.discount * np.moveaxis(law, 0, 1)
        self.slope = np.concatenate([programme.design, moves], axis=2)
        self.offset = programme.offset
        self.shares = visits / visits.sum()

    def _policy(self, x: Array) -> tuple[Array, Array]:
        q = self.offset + self.slope @ x
        total = logsumexp(q, axis=1)
        return q - total[:, None], np.asarray(total)

    def _mean(self, x: Array) -> tuple[Array, Array]:
        p = np.exp(self._policy(x)[0])
        return p, np.einsum("sa,sad->sd", p, self.slope)

    def _spread(self, x: Array, weight: Array) -> Array:
        """sum_s weight(s) Cov_p(D)(s)."""
        p, mean = self._mean(x)
        centred = (self.slope - mean[:, None]).reshape(p.size, -1)
        heavy = (weight[:, None] * p).reshape(-1, 1) * centred
        return np.asarray(heavy.T @ centred)

    def loss(self, x: Array) -> float:
        """-L / N."""
        return -float(np.sum(self.shares * self._policy(x)[0]))

    def gradient(self, x: Array) -> Array:
        """(k + S,) of the loss."""
        _, mean = self._mean(x)
        predicted = self.shares.sum(axis=1) @ mean
        return np.asarray(predicted - np.einsum("sa,sad->d", self.shares, self.slope))

    def hessian(self, x: Array) -> Array:
        """(k + S, k + S) of the loss."""
        return self._spread(x, self.shares.sum(axis=1))

    def constraint(self, x: Array) -> Array:
        """(S,) c."""
        return np.asarray(self._policy(x)[1] - self.unit * x[self.k :])

    def jacobian(self, x: Array) -> Array:
        """(S, k + S) of c."""
        _, mean = self._mean(x)
        mean[:, self.k :] -= self.unit * np.eye(self.states)
        return mean

    def constraint_hessian(self, x: Array, weight: Array) -> Array:
        """(k + S, k + S) of sum_s weight(s) c(s)."""
        return self._spread(x, weight)


def solve(
    programme: Programme, theta: Array, v: Array, solver: str, max_iterations: int
) -> tuple[Array, Array, int]:
    """(k,) theta, (S,) V and iterations of a batch of one programme, from (k,) theta and (S,) v."""
    dense = Dense(programme)
    options: dict[str, float]
    if solver == "slsqp":
        options = {"ftol": 1e-13, "maxiter": max_iterations}  # less is rounding: it never stops
        constraints = {"type": "eq", "fun": dense.constraint, "jac": dense.jacobian}
        second = {}
    else:
        options = {"gtol": 1e-11, "xtol": 1e-14, "maxiter": max_iterations}
        constraints = NonlinearConstraint(
            dense.constraint, 0.0, 0.0, jac=dense.jacobian, hess=dense.constraint_hessian
        )
        second = {"hess": dense.hessian}
    found = minimize(
        dense.loss,
        np.concatenate([theta, v / dense.unit]),
        jac=dense.gradient,
        method=SOLVERS[solver],
        constraints=constraints,
        options=options,
        **second,
    )
    return found.x[: dense.k], dense.unit * found.x[dense.k :], int(found.nit)
