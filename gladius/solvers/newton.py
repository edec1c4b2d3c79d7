"""The one damped Newton: smooth objectives of few variables, many replications at once.

An objective returns value, gradient and Hessian of each replication, in nats of its whole sample,
so that g'H^-1 g is the squared distance from the minimum in standard errors. A step is
-|H|^-1 g, with |H| the Hessian whose eigenvalues are taken by their size (a saddle repels, as a
minimum attracts), scaled to a unit diagonal first so that units do not matter; it is halved until
the value falls.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from gladius.panel.record import Integers
from gladius.validate import Array, shaped

Expansion = tuple[Array, Array, Array]  # value (n,), gradient (n, p), Hessian (n, p, p)
Objective = Callable[[Integers, Array], Expansion]  # (replications (n,), x (n, p)) -> Expansion

SINGULAR = 1e-12  # smallest eigenvalue of a Hessian scaled to a unit diagonal
SHORT_STEP = 1e-6  # relative; where a minimum lies at infinity gradients vanish, steps do not
SUFFICIENT = 1e-4  # share of the predicted decrease that a step must bring (Armijo)
VALUE_ROUNDING = 1e-13  # of the value: rounding must not stop the last step
HALVINGS = 40


@dataclass(frozen=True)
class Minimum:
    """Where the steps of R replications ended."""

    x: Array  # (R, p)
    value: Array  # (R,) of the objective, nats
    gradient: Array  # (R, p)
    iterations: Integers  # (R,) Newton steps
    # (R,) the next step is below `tolerance` standard errors and below SHORT_STEP, and the Hessian
    # is positive definite
    converged: NDArray[np.bool_]
    is_regular: NDArray[np.bool_]  # (R,) whether the last Hessian was regular


def minimise(
    objective: Objective,
    start: Array,
    *,
    tolerance: float = 1e-6,
    short_step: float = SHORT_STEP,
    max_iterations: int = 100,
    longest: Callable[[Integers, Array], Array] | None = None,
    step_to: Callable[[Integers, Array, Array], Array] = lambda rows, x, step: x + step,
    rounding: Callable[[Integers], Array] | None = None,
) -> Minimum:
    """Minimise the objective of every replication from its start.

    Args:
        objective: called only for the replications that have not stopped.
        start: (R, p).
        tolerance: length of the last step, which is still taken, in standard errors.
        short_step: its largest relative change of a variable; infinity where a minimum at infinity
            is as good as reached once the value no longer falls.
        max_iterations: Newton steps.
        longest: maps replications (n,) and steps (n, p) to the share (n,) of each step that may
            be taken at most; by default all of it.
        step_to: maps replications (n,), x (n, p) and steps (n, p) to where the steps lead; by
            default x + step. The objective's derivatives are those in the step, at step 0.
        rounding: maps replications (n,) to the error (n,) of their values; by default
            VALUE_ROUNDING.
    """
    x = np.array(start, dtype=np.float64)
    replications = len(x)
    active = np.arange(replications)
    value, gradient, hessian = (np.array(term) for term in objective(active, x))
    iterations = np.zeros(replications, dtype=np.int64)
    converged = np.zeros(replications, dtype=bool)
    is_regular = np.ones(replications, dtype=bool)
    while len(active):
        step, is_regular[active], is_definite = newton_step(gradient[active], hessian[active])
        decrease = -np.einsum("rp,rp->r", gradient[active], step)
        is_short = np.all(np.abs(step) <= short_step * (1 + np.abs(x[active])), axis=1)
        is_done = (decrease <= tolerance**2) & is_short & is_definite
        finished = active[is_done]
        converged[finished] = True
        if len(finished):
            trial = step_to(finished, x[finished], step[is_done])
            last = objective(finished, trial)
            is_finite = np.all(np.isfinite(last[0][:, None] + last[1]), axis=1)
            rows = finished[is_finite]
            x[rows], value[rows] = trial[is_finite], last[0][is_finite]
            gradient[rows] = last[1][is_finite]
        continues = ~is_done & is_regular[active] & (iterations[active] < max_iterations)
        active, step, decrease = active[continues], step[continues], decrease[continues]
        length = np.ones(len(active)) if longest is None else longest(active, step)
        pending = np.arange(len(active))
        for _ in range(HALVINGS):
            if len(pending) == 0:
                break
            rows = active[pending]
            trial = step_to(rows, x[rows], length[pending, None] * step[pending])
            expansion = objective(rows, trial)
            enough = value[rows] - SUFFICIENT * length[pending] * decrease[pending]
            error = VALUE_ROUNDING * np.abs(value[rows]) if rounding is None else rounding(rows)
            good = expansion[0] <= enough + error
            taken = rows[good]
            x[taken] = trial[good]
            value[taken], gradient[taken], hessian[taken] = (term[good] for term in expansion)
            iterations[taken] += 1
            pending = pending[~good]
            length[pending] /= 2
        active = np.delete(active, pending)  # no length lowers the value: these stop here
    return Minimum(x, value, gradient, iterations, converged, is_regular)


@shaped
def newton_step(
    gradient: Float[Array, "n p"], hessian: Float[Array, "n p p"]
) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Step -|H|^-1 g (n, p), whether H is regular (n,) and positive definite (n,)."""
    root = np.sqrt(np.abs(np.diagonal(hessian, axis1=1, axis2=2)))
    scale = np.where(root > 0, root, 1.0)
    outer = scale[:, :, None] * scale[:, None]
    eigenvalues, vectors = np.linalg.eigh(hessian / outer)
    is_regular = np.all(np.abs(eigenvalues) > SINGULAR, axis=1)
    is_definite = np.all(eigenvalues > SINGULAR, axis=1)
    sizes = np.maximum(np.abs(eigenvalues), SINGULAR)
    inverse = (vectors / sizes[:, None]) @ np.swapaxes(vectors, 1, 2) / outer
    step = -np.einsum("npq,nq->np", inverse, gradient)
    return step, is_regular, is_definite
