"""MPEC: maximum likelihood as a programme with equilibrium constraints (Su and Judd 2012).

NFXP solves the Bellman equation at every trial theta. MPEC has its solution among the variables,

    max_{theta, V} sum_{s,a} n(s, a) log softmax_a(r(s, .; theta) + beta P V)
    subject to     V(s) = log sum_a exp( r(s, a; theta) + beta P_a V (s) )   for every s,

with r = z'theta + o, and solves it only at the end, where theta is NFXP's (their Proposition 1).
No inner loop: `inner_iterations` is 0. The derivatives are in mpec_problem.py, the solver in
mpec_newton.py. The constraints are log-sum-exp equations: neither a linear programme nor a
polyhedron, and the feasible set is not convex.

Needs: beta, the law of s' (given or its frequencies), and the form of r, which identifies theta;
no anchor (its reward enters with `theta_1_given` only). Rewards are z'theta + o at the solution.

What had to be decided:
- The variable V(s) in the place of Su and Judd's EV(s, a): A times fewer constraints, the same
  feasible theta. Choice probabilities in the likelihood are the softmax, as theirs, not
  exp(Q - V), which is the same on the constraints only.
- The law of s' stays at the given law or the frequencies (Rust's two stages; the frequencies
  maximise the likelihood of the moves alone). Su and Judd's runs have its parameters in the joint
  likelihood; with a law free of parameters of its own that would let choices move it.
- Solver: they used KNITRO. By default here Newton's method of the Karush-Kuhn-Tucker equations
  with exact Hessians (sequential quadratic programming) over all data sets and starts at once;
  SciPy's trust-constr and slsqp can be chosen; on the bus engine they take 3 to 10 times as long.
- Start: theta = 0 and V = 0 (theirs: five starts). With `starts` above 1 the others are random and
  the converged one of highest likelihood is reported; `extra["starts"]` tells how each ended.
- `converged` is judged by the conditions themselves and not by a solver's own report: reduced
  gradient, constraints, second-order sufficient condition (`mpec_newton.stationary`), with
  `tolerance` 1e-9 and constraints to 1e-12 of |V| for Newton, at least 1e-7 and 1e-10 for SciPy's.
- Standard errors: inverse of minus the Hessian of the Lagrangian on the constraints' null space,
  the same numbers as NFXP's, the law taken as known.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from gladius.anchor import Anchor
from gladius.baselines.mpec_newton import Solutions, solve, stationary
from gladius.baselines.mpec_problem import Programme
from gladius.baselines.mpec_scipy import SOLVERS
from gladius.baselines.mpec_scipy import solve as solve_by_scipy
from gladius.checks import Array, InputError, check_finite, check_whole, generators
from gladius.estimate import Estimate
from gladius.parametric import Model, TableFunction, estimates, make_model
from gladius.transitions import Transitions

TITLE, NEEDS = "MPEC", ("next", "transitions", "form")

SCIPY_TOLERANCE = 1e-7  # of the scaled reduced gradient: theta to about 1e-6 standard errors
SCIPY_CONSTRAINT = 1e-10  # relative to max(1, |V|)
START_SPREAD = 3.0  # sd of r, over the pairs of the grid, that a random start of theta makes
UNIDENTIFIED = "failed: theta is not identified (singular information)"


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    transition: Array | None = None,
    grid: Array | None = None,
    design: TableFunction | None = None,
    offset: TableFunction | None = None,
    theta_1_given: bool = False,
    start: Array | None = None,
    start_v: float = 0.0,
    starts: int = 1,
    rng: int | Sequence[np.random.Generator] = 0,
    solver: str = "newton",
    tolerance: float = 1e-9,
    max_iterations: int | None = None,
) -> list[Estimate]:
    """MPEC of all data sets, in one batch (SciPy's solvers: one by one).

    Args:
        data: replications.
        anchor: its reward is used only with `theta_1_given`; the form identifies theta otherwise.
        discount: beta.
        transition: (A, S, S) the true law over `grid`, the oracle's knowledge; a row loses the
            probability of an end. Without it, the frequencies of each data set.
        grid: (S, d) features of the states that `transition` is about.
        design: maps (n, d) features to (n, A, k); by default `bus_design`.
        offset: maps (n, d) features to (n, A), the known part of the reward; by default 0.
        theta_1_given: fix r(x, 1) at the anchor's reward. Only with the default form.
        start: (k,) or (R, k), the first start of theta, by default 0.
        start_v: the first start of V, the same in every state.
        starts: of each data set; those after the first are drawn (see `random_starts`).
        rng: draws them; a seed, or one generator a data set.
        solver: newton, trust-constr or slsqp.
        tolerance: on the scaled reduced gradient.
        max_iterations: steps from one start, by default 200 (newton) or 1000.

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance, objective,
        log_likelihood, constraint_violation (largest |c|), multipliers (S,), inner_iterations (0)
        and starts: a mapping of theta (starts, k), log_likelihood, converged, iterations.

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    started = time.process_time()
    if solver != "newton" and solver not in SOLVERS:
        raise InputError("solver", solver, f"choose one of {['newton', *SOLVERS]}")
    if not tolerance > 0:
        raise InputError("tolerance", tolerance, "give a positive number")
    check_whole("starts", starts, 1)
    level = check_finite("start_v", start_v)
    if level.shape != ():
        raise InputError("start_v", level.shape, "give one number")
    most = (200 if solver == "newton" else 1000) if max_iterations is None else max_iterations
    check_whole("max_iterations", most, 1)
    rngs = generators(rng, len(data))
    model = make_model(
        data,
        anchor,
        discount,
        transition=transition,
        grid=grid,
        design=design,
        offset=offset,
        theta_1_given=theta_1_given,
    )
    sets, (states, _, k) = len(data), model.design.shape
    theta = np.zeros((sets, starts, k))
    v = np.zeros((sets, starts, states))
    v[:, 0] = level
    if start is not None:
        given = check_finite("start", start)
        if given.shape not in [(k,), (sets, k)]:
            raise InputError("start", given.shape, f"give shape ({k},) or ({sets}, {k})")
        theta[:, 0] = given
    if starts > 1:
        theta[:, 1:], v[:, 1:] = random_starts(model, rngs, starts - 1)
    programme = Programme(model.visits, model.law, model.design, model.offset, model.discount)
    every = programme.take(np.repeat(np.arange(sets), starts))
    flat = theta.reshape(-1, k), v.reshape(-1, states)
    if solver == "newton":
        found = solve(every, *flat, tolerance=tolerance, max_iterations=most)
    else:
        found = _one_by_one(every, *flat, solver, tolerance, most)
    seconds = (time.process_time() - started) / sets
    return _estimates(model, found, starts, seconds)


def random_starts(
    model: Model, rngs: Sequence[np.random.Generator], number: int
) -> tuple[Array, Array]:
    """(R, number, k) theta and (R, number, S) V.

    theta_j is normal, in units in which it gives r a standard deviation of START_SPREAD over the
    replication's observations; V is a level, normal with standard deviation START_SPREAD /
    (1 - beta), the same in every state: what rewards of that size add up to.
    """
    sets, (states, _, k) = len(rngs), model.design.shape
    share = model.visits / model.visits.sum(axis=(1, 2), keepdims=True)
    size = np.sqrt(np.einsum("rsa,sak->rk", share, model.design**2))
    unit = START_SPREAD / np.where(size > 0, size, 1.0)
    theta, v = np.empty((sets, number, k)), np.empty((sets, number, states))
    for r, generator in enumerate(rngs):
        theta[r] = unit[r] * generator.standard_normal((number, k))
        spread = START_SPREAD / (1 - model.discount)
        v[r] = spread * generator.standard_normal((number, 1))
    return theta, v


def _one_by_one(
    every: Programme, theta: Array, v: Array, solver: str, tolerance: float, most: int
) -> Solutions:
    """SciPy's solver from each start, and its end judged by the conditions for a maximum."""
    theta, v, iterations = theta.copy(), v.copy(), np.zeros(len(theta), dtype=np.int64)
    for i in range(len(theta)):
        alone = every.take(np.array([i]))
        theta[i], v[i], iterations[i] = solve_by_scipy(alone, theta[i], v[i], solver, most)
    point = every.point(theta, v)
    value, _ = every.values(theta, v)
    loose = max(tolerance, SCIPY_TOLERANCE)
    converged = stationary(point, theta, v, every.size, loose, SCIPY_CONSTRAINT)
    finite = np.isfinite(value) & np.isfinite(v).all(axis=1)
    return Solutions(theta, v, point, value, iterations, converged & finite, finite)


def _estimates(model: Model, found: Solutions, starts: int, seconds: float) -> list[Estimate]:
    """The converged start of highest likelihood (else the highest) of each data set."""
    sets = len(model.visits)
    converged = found.converged.reshape(sets, starts)
    likelihood = found.log_likelihood.reshape(sets, starts)
    comparable = np.where(np.isfinite(likelihood), likelihood, -np.inf)
    top = np.where(converged | ~converged.any(axis=1, keepdims=True), comparable, -np.inf)
    best = np.argmax(top, axis=1) + starts * np.arange(sets)
    size = model.visits.sum(axis=(1, 2))
    status, extra = [], []
    for r, at in enumerate(best):
        own = slice(r * starts, (r + 1) * starts)
        covariance = found.point.covariance[at]
        if not found.converged[at]:
            covariance = np.full_like(covariance, np.nan)
        status.append(_status(found, int(at)))
        extra.append(
            {
                "se": np.sqrt(np.diagonal(covariance)),
                "covariance": covariance,
                "objective": float(-found.log_likelihood[at] / size[r]),
                "log_likelihood": float(found.log_likelihood[at]),
                "constraint_violation": float(np.abs(found.point.violation[at]).max()),
                "multipliers": found.point.multipliers[at],
                "inner_iterations": 0,
                "starts": {
                    "theta": found.theta[own],
                    "log_likelihood": found.log_likelihood[own],
                    "converged": found.converged[own],
                    "iterations": found.iterations[own],
                },
            }
        )
    return estimates(
        "mpec",
        model,
        found.theta[best],
        found.v[best],
        converged=found.converged[best],
        iterations=found.iterations.reshape(sets, starts).sum(axis=1),
        gradient_norm=np.max(np.abs(found.point.reduced[best]), axis=1) / size,
        status=status,
        seconds=seconds,
        extra=extra,
    )


def _status(found: Solutions, at: int) -> str:
    if not found.finite[at]:
        return "diverged"
    if not found.point.usable[at]:
        return UNIDENTIFIED
    return "ok" if found.converged[at] else "not_converged"
