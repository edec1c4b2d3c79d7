"""Conditional logit of R replications at once: max sum n(s, a) log softmax_a(x(s, a)'theta + o).

The likelihood is concave, its negative Hessian the information sum_s n(s) Cov_p(x)(s), so Newton
steps halved until the likelihood rises find the maximum from any start, where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gladius.checks import Array
from gladius.transitions import Integers

STEP_TOLERANCE = 1e-6  # relative; under separation the gradient vanishes but the step does not
SINGULAR = 1e-12  # smallest eigenvalue of an information matrix scaled to a unit diagonal
SATURATED = 1e-12  # information this small against uniform choices': all but certain ones
ROUNDING = 1e-24  # squared differences this small against squared regressors: none
HALVINGS = 40
CERTAIN = "failed: choices are all but certain where the fit stopped: no information on theta there"


@dataclass(frozen=True)
class LogitFit:
    """The maximum of each replication.

    Attributes:
        theta: (R, k).
        covariance: (R, k, k) inverse information; NaN where not converged.
        gradient: (R, k) of the log-likelihood, per observation.
        log_likelihood: (R,) sum over observations.
        iterations: (R,) Newton steps.
        converged: (R,) every gradient entry is below the tolerance (times the root of N times its
            information), the next step short, the information regular.
        regular: (R,) whether the information was regular to the end.
        identified: (R,) whether it would be at some choice probabilities, see `has_effect`.
        log_policy: (R, S, A) fitted log choice probabilities.
    """

    theta: Array
    covariance: Array
    gradient: Array
    log_likelihood: Array
    iterations: Integers
    converged: NDArray[np.bool_]
    regular: NDArray[np.bool_]
    identified: NDArray[np.bool_]
    log_policy: Array


def has_effect(seen: Array, x: Array) -> NDArray[np.bool_]:
    """(R,) whether theta moves choices at all: is the information of uniform choices regular?

    Times A/2 it bounds the information of any choices (Bohning 1992). Where it is regular and yet
    the information at some theta is singular, choices at that theta are all but certain.

    Args:
        seen: (R, S) rows.
        x: (R, S, A, k) derivatives of the choices' values.
    """
    centred = x - x.mean(axis=2, keepdims=True)
    information = np.einsum("rs,rsak,rsal->rkl", seen, centred, centred)
    root = np.sqrt(np.diagonal(information, axis1=1, axis2=2))
    scale = np.where(root > 0, root, 1.0)
    alone = np.linalg.eigvalsh(information / scale[:, :, None] / scale[:, None])[:, 0] > SINGULAR
    rounding = ROUNDING * np.einsum("rs,rsak->rk", seen, x**2)
    return np.asarray(alone & np.all(root**2 > rounding, axis=1))


def smallest(x: Array) -> Array:
    """(..., A, k) the information of a row that is none: of choices all but certain, or rounding.

    Args:
        x: (..., A, k) derivatives of the choices' values.
    """
    contrasts = x - x.mean(axis=-2, keepdims=True)
    return np.asarray(np.maximum(SATURATED * contrasts**2, ROUNDING * x**2))


def maximise(
    visits: Array,
    regressors: Array,
    offset: Array,
    *,
    start: Array | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> LogitFit:
    """Newton's method from `start` (R, k), by default theta = 0.

    Args:
        visits: (R, S, A) n(s, a), some above 0 in each replication.
        regressors: (S, A, k) or (R, S, A, k).
        offset: (S, A) or (R, S, A).
        start: (R, k).
        tolerance: on the scaled gradient, see LogitFit.
        max_iterations: Newton steps.
    """
    sets, k = len(visits), regressors.shape[-1]
    x = np.broadcast_to(regressors, (*visits.shape, k))
    known = np.broadcast_to(offset, visits.shape)
    seen = visits.sum(axis=2)
    size = seen.sum(axis=1)

    def evaluate(rows: Integers, at: Array) -> tuple[Array, Array]:
        index = known[rows] + np.einsum("rsak,rk->rsa", x[rows], at)
        log_p = np.asarray(index - logsumexp(index, axis=2, keepdims=True))
        return log_p, np.sum(visits[rows] * log_p, axis=(1, 2))

    theta = np.zeros((sets, k)) if start is None else np.array(start, dtype=np.float64)
    log_policy, value = evaluate(np.arange(sets), theta)
    gradient, covariance = np.zeros((sets, k)), np.full((sets, k, k), np.nan)
    iterations = np.zeros(sets, dtype=np.int64)
    converged, regular = np.zeros(sets, bool), np.ones(sets, bool)
    active = np.arange(sets)
    least = np.einsum("rs,rsak->rk", seen, smallest(x))
    while len(active):
        policy = np.exp(log_policy[active])
        centred = x[active] - np.einsum("rsa,rsak->rsk", policy, x[active])[:, :, None]
        slope = np.einsum("rsa,rsak->rk", visits[active], centred)
        weight = seen[active, :, None] * policy
        flat = centred.reshape(len(active), -1, k)
        information = np.swapaxes(weight.reshape(len(active), -1, 1) * flat, 1, 2) @ flat
        root = np.sqrt(np.diagonal(information, axis1=1, axis2=2))
        scale = np.where(root > 0, root, 1.0)
        outer = scale[:, :, None] * scale[:, None]
        usable = np.linalg.eigvalsh(information / outer)[:, 0] > SINGULAR
        usable &= np.all(root**2 > least[active], axis=1)
        scaled = information / outer
        scaled[~usable] = np.eye(k)
        inverse = np.linalg.inv(scaled) / outer
        step = np.einsum("rkl,rl->rk", inverse, slope)
        gradient[active], regular[active] = slope / size[active, None], usable
        small = np.abs(slope) <= tolerance * np.sqrt(size[active])[:, None] * scale
        short = np.abs(step) <= STEP_TOLERANCE * (1 + np.abs(theta[active]))
        done = np.all(small & short, axis=1) & usable
        finished = active[done]
        converged[finished], covariance[finished] = True, inverse[done]
        theta[finished] += step[done]  # the step is known and too short to do harm
        log_policy[finished], value[finished] = evaluate(finished, theta[finished])
        go = ~done & usable & (iterations[active] < max_iterations)
        promised = np.einsum("rk,rk->r", slope[go], step[go])
        active, step = active[go], step[go]
        length, todo = np.ones(len(active)), np.arange(len(active))
        for _ in range(HALVINGS):
            if len(todo) == 0:
                break
            rows = active[todo]
            trial = theta[rows] + length[todo, None] * step[todo]
            log_p, reached = evaluate(rows, trial)
            slack = 1e-13 * np.abs(value[rows])  # rounding must not stop the last step
            good = reached >= value[rows] + 1e-4 * length[todo] * promised[todo] - slack
            taken = rows[good]
            theta[taken], log_policy[taken], value[taken] = trial[good], log_p[good], reached[good]
            iterations[taken] += 1
            todo = todo[~good]
            length[todo] /= 2
        active = np.delete(active, todo)  # no step length raises the likelihood: give up
    identified = regular.copy()
    identified[~regular] = has_effect(seen[~regular], x[~regular])
    return LogitFit(
        theta, covariance, gradient, value, iterations, converged, regular, identified, log_policy
    )
