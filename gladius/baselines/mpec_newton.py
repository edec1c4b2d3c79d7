"""Sequential quadratic programming for MPEC, exact second derivatives, B programmes in a batch.

Each step maximises the quadratic model of the Lagrangian on the linearised constraints (a Newton
step of the Karush-Kuhn-Tucker equations); where the reduced Hessian is not negative definite, minus
the Fisher information of the likelihood takes its place, which leaves the constraints' curvature
out. The step is halved until the exact penalty function -L/N + mu |c|_1 falls; before the first
halving a second-order correction of V is tried (Nocedal and Wright 2006, Chapter 18).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gladius.baselines.mpec_problem import Point, Programme
from gladius.checks import Array
from gladius.transitions import Integers

STEP_TOLERANCE = 1e-6  # relative; under separation the gradient vanishes but the step does not
CONSTRAINT_TOLERANCE = 1e-12  # on |c|, relative to max(1, |V|), the scale of rounding
HALVINGS = 40
KEPT = 0.5  # share of the penalty's fall that mu must leave after the objective's rise


@dataclass(frozen=True)
class Solutions:
    """Where B programmes ended.

    Attributes:
        theta: (B, k). v: (B, S).
        point: the programme there; `converged` is judged by it.
        log_likelihood: (B,).
        iterations: (B,) steps.
        converged: (B,) see `stationary`.
        finite: (B,) whether nothing overflowed.
    """

    theta: Array
    v: Array
    point: Point
    log_likelihood: Array
    iterations: Integers
    converged: NDArray[np.bool_]
    finite: NDArray[np.bool_]


def stationary(
    point: Point, theta: Array, v: Array, size: Array, tolerance: float, constraint: float
) -> NDArray[np.bool_]:
    """(B,) whether a local maximum of the programme is reached.

    Every entry of the reduced gradient is below `tolerance` times the root of N times its
    information, |c| below `constraint` times max(1, |V|), the next step short, and minus the
    reduced Hessian positive definite (the second-order sufficient condition).
    """
    small = np.abs(point.reduced) <= tolerance * np.sqrt(size)[:, None] * point.scale
    short = np.abs(point.step_theta) <= STEP_TOLERANCE * (1 + np.abs(theta))
    level = np.maximum(1.0, np.abs(v).max(axis=1))
    feasible = np.abs(point.violation).max(axis=1) <= constraint * level
    return np.asarray(np.all(small & short, axis=1) & feasible & point.definite & point.usable)


def solve(
    programme: Programme, theta: Array, v: Array, *, tolerance: float, max_iterations: int
) -> Solutions:
    """From (B, k) theta and (B, S) v to local maxima; rows that fail stay where they are."""
    theta, v = theta.copy(), v.copy()
    size = programme.size
    problems = len(theta)
    iterations = np.zeros(problems, dtype=np.int64)
    mu = np.zeros(problems)
    active = np.arange(problems)
    with np.errstate(over="ignore", invalid="ignore"):
        while len(active):
            here = programme.take(active)
            point = here.point(theta[active], v[active])
            done = stationary(
                point, theta[active], v[active], size[active], tolerance, CONSTRAINT_TOLERANCE
            )
            theta[active[done]] += point.step_theta[done]  # known, and too short to do harm
            v[active[done]] += point.step_v[done]
            steps = np.isfinite(point.step_v).all(axis=1) & np.isfinite(point.rise)
            go = ~done & point.usable & steps & (iterations[active] < max_iterations)
            moved = _search(
                here.take(go),
                point.take(go),
                theta[active[go]],
                v[active[go]],
                mu[active[go]],
            )
            active = active[go]
            theta[active], v[active], mu[active], taken = moved
            iterations[active[taken]] += 1
            active = active[taken]  # no step length lowers the penalty function: give up
        point = programme.point(theta, v)
        value, _ = programme.values(theta, v)
        reached = stationary(point, theta, v, size, tolerance, CONSTRAINT_TOLERANCE)
    finite = np.isfinite(value) & np.isfinite(v).all(axis=1)
    return Solutions(theta, v, point, value, iterations, reached & finite, finite)


def _search(
    here: Programme, point: Point, theta: Array, v: Array, mu: Array
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """(theta, V, mu, whether a step was taken) after a line search on -L/N + mu |c|_1."""
    size = here.size
    value, c = here.values(theta, v)
    broken = np.abs(c).sum(axis=1)
    rise, bend = point.rise / size, np.maximum(point.curvature, 0.0) / size
    least = (bend / 2 - rise) / ((1 - KEPT) * np.maximum(broken, 1e-300))
    level = np.abs(v).max(axis=1)
    far = broken > 1e-10 * np.maximum(1.0, level)  # nearer, mu would only divide rounding errors
    mu = np.where(far & (least > mu), 2 * least, mu)
    merit = -value / size + mu * broken
    falls = -rise - mu * broken
    slack = 1e-13 * np.abs(value / size)  # rounding must not stop the last step
    slack = slack + 1e-15 * mu * v.shape[1] * (1 + level)
    new_theta, new_v, taken = theta.copy(), v.copy(), np.zeros(len(theta), dtype=bool)
    length, todo = np.ones(len(theta)), np.arange(len(theta))

    def attempt(rows: Integers, extra: Array | None = None) -> Array:
        """Try the rows; take the good ones; return c at the trial points."""
        trial_theta = theta[rows] + length[rows, None] * point.step_theta[rows]
        trial_v = v[rows] + length[rows, None] * point.step_v[rows]
        if extra is not None:
            trial_v = trial_v + extra
        reached, violation = here.take(rows).values(trial_theta, trial_v)
        trial = -reached / size[rows] + mu[rows] * np.abs(violation).sum(axis=1)
        good = trial <= merit[rows] + 1e-4 * length[rows] * falls[rows] + slack[rows]
        new_theta[rows[good]], new_v[rows[good]] = trial_theta[good], trial_v[good]
        taken[rows[good]] = True
        return violation

    for halving in range(HALVINGS):
        violation = attempt(todo)
        violation, todo = violation[~taken[todo]], todo[~taken[todo]]
        if halving == 0 and len(todo):
            fine = np.isfinite(violation).all(axis=1)
            rows = todo[fine]
            correction = np.linalg.solve(point.system[rows], violation[fine][..., None])
            attempt(rows, np.asarray(correction[..., 0], dtype=np.float64))
            todo = todo[~taken[todo]]
        if len(todo) == 0:
            break
        length[todo] /= 2
    return new_theta, new_v, mu, taken
