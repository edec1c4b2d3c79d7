"""Conditional logit of R replications at once: max sum n(s, a) log softmax_a(x(s, a)'theta + o).

The likelihood is concave. Its negative Hessian is the information sum_s n(s) Cov_p(x)(s), so that
damped Newton steps find the maximum, where there is one, from any start.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from gladius.panel.record import Integers
from gladius.solvers.newton import minimise
from gladius.validate import Array

SATURATED = 1e-12  # information relative to uniform choices, below which choices are certain
NO_VARIATION = 1e-24  # least squared difference relative to a squared regressor
UNIDENTIFIED = (
    "failed: singular information: theta is not identified, or choices are all but certain"
)


@dataclass(frozen=True)
class LogitFit:
    """The maximum of each replication."""

    theta: Array  # (R, k)
    gradient: Array  # (R, k) of the log-likelihood, per observation
    log_likelihood: Array  # (R,) sum over observations
    iterations: Integers  # (R,), as `converged`, of newton.py
    converged: NDArray[np.bool_]
    status: tuple[str, ...]  # R times ok, not_converged or "failed: why"
    log_policy: Array  # (R, S, A) fitted log choice probabilities


def without_rounding(information: Array, seen: Array, x: Array) -> Array:
    """(R, k, k) information, 0 where that of some parameter is rounding, so that no step is taken.

    Choices that are all but certain count as rounding. `seen` is (R, S) n(s), `x` (R, S, A, k) the
    derivatives of the choices' values.
    """
    contrasts = x - x.mean(axis=2, keepdims=True)
    smallest = np.maximum(SATURATED * contrasts**2, NO_VARIATION * x**2)
    least = np.einsum("rs,rsak->rk", seen, smallest)
    is_none = np.any(np.abs(np.diagonal(information, axis1=1, axis2=2)) <= least, axis=1)
    return np.where(is_none[:, None, None], 0.0, information)


def statuses(converged: NDArray[np.bool_], is_regular: NDArray[np.bool_]) -> tuple[str, ...]:
    """How each fit ended; arguments as in newton.Minimum."""
    return tuple(
        "ok" if done else "not_converged" if regular else UNIDENTIFIED
        for done, regular in zip(converged, is_regular, strict=True)
    )


def maximise(
    visits: Array,
    regressors: Array,
    offset: Array,
    start: Array | None = None,
) -> LogitFit:
    """The maximum likelihood from `start` (R, k), by default theta = 0.

    `visits` is (R, S, A) n(s, a), some above 0 in each replication; `regressors` are (S, A, k) or
    (R, S, A, k), `offset` likewise.
    """
    sets, parameters = len(visits), regressors.shape[-1]
    x = np.broadcast_to(regressors, (*visits.shape, parameters))
    constant = np.broadcast_to(offset, visits.shape)
    seen = visits.sum(axis=2)

    def log_choices(rows: Integers, theta: Array) -> Array:
        index = constant[rows] + np.einsum("rsak,rk->rsa", x[rows], theta)
        return np.asarray(log_softmax(index, axis=2))

    def objective(rows: Integers, theta: Array) -> tuple[Array, Array, Array]:
        log_policy = log_choices(rows, theta)
        policy = np.exp(log_policy)
        centred = x[rows] - np.einsum("rsa,rsak->rsk", policy, x[rows])[:, :, None]
        flat = centred.reshape(len(rows), -1, parameters)
        weight = (seen[rows, :, None] * policy).reshape(len(rows), -1, 1)
        information = np.swapaxes(weight * flat, 1, 2) @ flat
        information = without_rounding(information, seen[rows], x[rows])
        gradient = np.einsum("rsa,rsak->rk", visits[rows], centred)
        return -np.sum(visits[rows] * log_policy, axis=(1, 2)), -gradient, information

    first = np.zeros((sets, parameters)) if start is None else start
    minimum = minimise(objective, first)
    return LogitFit(
        theta=minimum.x,
        gradient=-minimum.gradient / seen.sum(axis=1, keepdims=True),
        log_likelihood=-minimum.value,
        iterations=minimum.iterations,
        converged=minimum.converged,
        status=statuses(minimum.converged, minimum.is_regular),
        log_policy=log_choices(np.arange(sets), minimum.x),
    )
