"""NFXP, the nested fixed point (Rust 1987): the paper's oracle "Rust".

Maximum likelihood of theta in r(s, a) = sum_k design[s, a, k] theta_k + offset[s, a], where every
trial theta solves the soft Bellman equation under a transition law that is given (the oracle) or
estimated by frequencies. With L(theta) = sum_{s,a} n(s, a) (Q(s, a) - V(s)) the derivatives are
exact: with M = I - beta P_pi,

    dV = M^-1 sum_a pi_a design_a,   dQ_a = design_a + beta P_a dV,   grad L = sum n (dQ - dV),
    Hess L = sum_s u(s) Cov_pi(dQ)(s),   M' u = sum_a beta P_a' n_a - n.

Where choices have exactly the model's frequencies u = -n and minus the Hessian is the Fisher
information; that takes its place in a Newton step where the Hessian is not negative definite.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gladius.anchor import Anchor
from gladius.baselines.choice_logit import CERTAIN, SATURATED, has_effect
from gladius.checks import InputError
from gladius.estimate import Estimate
from gladius.mdp import (
    ROW_SUM_TOLERANCE,
    Array,
    Solution,
    check_discount,
    check_finite,
    soft_bellman,
)
from gladius.parametric import TableFunction, estimates, make_model, positions
from gladius.transitions import Integers, Transitions, group

TITLE, NEEDS = "NFXP", ("next", "transitions", "form")
STEP_TOLERANCE = 1e-6  # relative; under separation the gradient vanishes but the step does not
SINGULAR = 1e-12  # smallest eigenvalue of an information matrix scaled to a unit diagonal
LARGEST_MOVE = 10.0  # utils a step; where choices are all but certain, Fisher's steps are endless
HALVINGS = 40
UNIDENTIFIED = "failed: theta is not identified (singular information)"


@dataclass(frozen=True)
class NfxpFit:
    """Maximum likelihood of R replications.

    Attributes:
        theta: (R, k) the maximiser.
        covariance: (R, k, k) inverse of the observed information, taking the transition law as
            known: the sampling error of an estimated law is not in it. NaN where not converged.
        log_likelihood: (R,) sum over observations.
        gradient: (R, k) of the log-likelihood, per observation.
        iterations: (R,) Newton steps.
        inner_iterations: (R,) Bellman iterations of the batches the replication was in.
        converged: (R,) the rule of `fit_counts` is met.
        status: R times ok, not_converged or "failed: why".
        q: (R, S, A) and v: (R, S), the fixed point at theta.
    """

    theta: Array
    covariance: Array
    log_likelihood: Array
    gradient: Array
    iterations: Integers
    inner_iterations: Integers
    converged: NDArray[np.bool_]
    status: tuple[str, ...]
    q: Array
    v: Array

    @property
    def se(self) -> Array:
        """(R, k) standard errors of theta, from the covariance."""
        return np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))


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
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> list[Estimate]:
    """Rust's estimator, all data sets in one batch.

    Args:
        data: replications.
        anchor: its reward is used only with `theta_1_given`; the form identifies theta otherwise.
        discount: beta.
        transition: (A, S, S) the true law over `grid`, the oracle's knowledge; a row loses the
            probability of an end. Without it, the frequencies of each data set.
        grid: (S, d) features of the states that `transition` is about.
        design: maps (n, d) features to (n, A, k); by default `bus_design`.
        offset: maps (n, d) features to (n, A), the known part of the reward; by default 0.
        theta_1_given: fix r(x, 1) at the anchor's reward and estimate theta_0 alone, so that the
            oracle knows what the other methods are told. Only with the default form.
        start: (R, k) first theta of each data set; by default 0.
        tolerance: on the scaled gradient, see `fit_counts`.
        max_iterations: Newton steps.

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance,
        log_likelihood, inner_iterations. Q is defined on `grid` only where the law is given.

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    started = time.process_time()
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
    found = fit_counts(
        model.visits,
        model.law,
        model.design,
        model.offset,
        model.discount,
        start=start,
        tolerance=tolerance,
        max_iterations=max_iterations,
    )
    extra = [
        {
            "se": found.se[r],
            "covariance": found.covariance[r],
            "log_likelihood": float(found.log_likelihood[r]),
            "inner_iterations": int(found.inner_iterations[r]),
        }
        for r in range(len(data))
    ]
    return estimates(
        "nfxp",
        model,
        found.theta,
        found.v,
        converged=found.converged,
        iterations=found.iterations,
        gradient_norm=np.max(np.abs(found.gradient), axis=1),
        status=found.status,
        seconds=(time.process_time() - started) / len(data),
        extra=extra,
    )


def fit_counts(
    visits: Array,
    transition: Array,
    design: Array,
    offset: Array,
    discount: float,
    *,
    start: Array | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> NfxpFit:
    """Maximise the likelihood of R tables of counts at once.

    Newton steps with the exact Hessian, halved until the likelihood rises. A replication has
    converged when every gradient entry is below `tolerance` times the root of N times its
    information, the next step below STEP_TOLERANCE, minus the Hessian positive definite and the
    Bellman equation solved. A start that makes choices all but certain, so that they hold no
    information on theta, is replaced by 0.

    Args:
        visits: (R, S, A) n(s, a); weights of a bootstrap do as well.
        transition: (A, S, S) or (R, A, S, S), taken as known.
        design: (S, A, k).
        offset: (S, A).
        discount: beta.
        start: (R, k) first theta; by default 0.
        tolerance: on the scaled gradient.
        max_iterations: Newton steps.

    Raises:
        InputError: for shapes that do not match, counts negative or empty, or bad settings.
    """
    visits, transition, design, offset = _checked(visits, transition, design, offset)
    if not tolerance > 0:
        raise InputError("tolerance", tolerance, "give a positive number")
    if not max_iterations >= 1:
        raise InputError("max_iterations", max_iterations, "give at least one step")
    beta = check_discount(discount)
    (sets, states, _), k = visits.shape, design.shape[2]
    size = visits.sum(axis=(1, 2))
    iterations, inner = np.zeros(sets, dtype=np.int64), np.zeros(sets, dtype=np.int64)
    converged, regular, solved = np.zeros(sets, bool), np.ones(sets, bool), np.ones(sets, bool)
    identified = regular.copy()
    gradient, covariance = np.zeros((sets, k)), np.full((sets, k, k), np.nan)

    def law(rows: Integers) -> Array:
        return transition[rows] if transition.ndim == 4 else transition

    def solve(rows: Integers, theta: Array, guess: Array) -> tuple[Solution, Array]:
        reward = offset + np.einsum("sak,rk->rsa", design, theta)
        solution = soft_bellman(reward, law(rows), beta, guess)
        inner[rows] += solution.iterations
        solved[rows] = solution.converged
        return solution, np.einsum("rsa,rsa->r", visits[rows], solution.q - solution.v[..., None])

    theta, active = _start(start, sets, k), np.arange(sets)
    solution, value = solve(active, theta, np.zeros((sets, states)))
    q, v = solution.q.copy(), solution.v.copy()
    doubt = np.sum(solution.policy * (1 - solution.policy), axis=2) > SATURATED
    told = np.sum(doubt & (visits.sum(axis=2) > 0), axis=1) * (visits.shape[2] - 1)
    mute = np.flatnonzero(told < k)
    if len(mute):  # choices all but certain, but in fewer states than parameters: start at 0
        theta[mute] = 0.0
        solution, value[mute] = solve(mute, theta[mute], np.zeros((len(mute), states)))
        q[mute], v[mute] = solution.q, solution.v
    while len(active):
        slope, hessian, fisher, dv = derivatives(
            visits[active], law(active), design, q[active], v[active], beta
        )
        step, inverse, scale, definite, usable = _newton(slope, -hessian, fisher)
        gradient[active], regular[active] = slope / size[active, None], usable
        lost = active[~usable]
        dq = design + beta * np.moveaxis(law(lost) @ dv[~usable][:, None], 1, 2)
        identified[lost] = has_effect(visits[lost].sum(axis=2), dq)
        small = np.abs(slope) <= tolerance * np.sqrt(size[active])[:, None] * scale
        short = np.abs(step) <= STEP_TOLERANCE * (1 + np.abs(theta[active]))
        done = np.all(small & short, axis=1) & definite & usable & solved[active]
        converged[active[done]], covariance[active[done]] = True, inverse[done]
        go = ~done & usable & (iterations[active] < max_iterations)
        active, step, dv = active[go], step[go], dv[go]
        promised = np.einsum("rk,rk->r", slope[go], step)
        seen = visits[active].sum(axis=2, keepdims=True) > 0  # others may be padding
        moved = np.abs(seen * np.einsum("sak,rk->rsa", design, step)).max(axis=(1, 2))
        length, todo = LARGEST_MOVE / np.maximum(moved, LARGEST_MOVE), np.arange(len(active))
        for _ in range(HALVINGS):
            if len(todo) == 0:
                break
            rows, move = active[todo], length[todo, None] * step[todo]
            guess = v[rows] + np.einsum("rsk,rk->rs", dv[todo], move)
            solution, trial = solve(rows, theta[rows] + move, guess)
            least = value[rows] + 1e-4 * length[todo] * promised[todo]
            slack = 1e-13 * np.abs(value[rows])  # rounding must not stop the last step
            good = trial >= least - slack
            taken = rows[good]
            theta[taken] += move[good]
            value[taken], q[taken], v[taken] = trial[good], solution.q[good], solution.v[good]
            iterations[taken] += 1
            todo = todo[~good]
            length[todo] /= 2
        active = np.delete(active, todo)  # no step length raises the likelihood: give up
    status = tuple(
        "ok" if c else "not_converged" if r else CERTAIN if i else UNIDENTIFIED
        for c, r, i in zip(converged, regular, identified, strict=True)
    )
    return NfxpFit(theta, covariance, value, gradient, iterations, inner, converged, status, q, v)


def derivatives(
    visits: Array, transition: Array, design: Array, q: Array, v: Array, discount: float
) -> tuple[Array, Array, Array, Array]:
    """Gradient (R, k), Hessian and Fisher information (R, k, k) of the likelihood; dV (R, S, k).

    `q` and `v` are the soft Bellman fixed point at the theta in question; other shapes as in
    `fit_counts`.
    """
    policy = np.exp(q - v[..., None])
    flow = np.einsum("...sa,...ast->...st", policy, transition)
    system = np.eye(v.shape[1]) - discount * flow
    dv = np.linalg.solve(system, np.einsum("rsa,sak->rsk", policy, design))
    dq = design + discount * np.moveaxis(transition @ dv[:, None], 1, 2)
    centred = dq - dv[:, :, None]  # dV is the mean of dQ under pi
    slope = np.einsum("rsa,rsak->rk", visits, centred)
    spread = np.einsum("rsak,rsal->rskl", policy[..., None] * centred, centred)
    seen = visits.sum(axis=2)
    arrivals = np.einsum("...sa,...ast->...t", visits, transition)
    u = np.linalg.solve(np.swapaxes(system, 1, 2), (discount * arrivals - seen)[..., None])[..., 0]
    return slope, np.einsum("rs,rskl->rkl", u, spread), np.einsum("rs,rskl->rkl", seen, spread), dv


def bootstrap_counts(
    train: Transitions, repetitions: int, rng: np.random.Generator, grid: Array | None = None
) -> Array:
    """(B, S, A) counts of B samples of the trajectories, drawn with replacement.

    Args:
        train: the data set to resample.
        repetitions: B.
        rng: draws how often each trajectory enters each sample.
        grid: (S, d) states of the table; by default those of `group(train)`.
    """
    if not repetitions >= 1:
        raise InputError("repetitions", repetitions, "give at least one")
    states = group(train).states if grid is None else check_finite("grid", grid)
    cell = positions(states, train.states) * train.number_of_actions + train.actions
    names, label = np.unique(train.trajectory, return_inverse=True)
    shape = (len(states) * train.number_of_actions, len(names))
    table = csr_array((np.ones(len(train)), (cell, label)), shape=shape)
    weights = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=repetitions)
    resampled = np.asarray((table @ weights.T.astype(float)).T)
    return resampled.reshape(repetitions, len(states), train.number_of_actions)


def _newton(
    slope: Array, information: Array, fisher: Array
) -> tuple[Array, Array, Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """(step, inverse information, scale, is it positive definite, is Fisher's regular).

    Everything is scaled to a unit Fisher diagonal first, so that units of features do not matter.
    """
    root = np.sqrt(np.diagonal(fisher, axis1=1, axis2=2))
    scale = np.where(root > 0, root, 1.0)
    outer = scale[:, :, None] * scale[:, None]
    usable = np.linalg.eigvalsh(fisher / outer)[:, 0] > SINGULAR
    definite = np.linalg.eigvalsh(information / outer)[:, 0] > SINGULAR
    chosen = np.where(definite[:, None, None], information, fisher) / outer
    chosen[~usable & ~definite] = np.eye(slope.shape[1])
    inverse = np.linalg.inv(chosen) / outer
    return np.einsum("rkl,rl->rk", inverse, slope), inverse, scale, definite, usable


def _start(given: Array | None, sets: int, parameters: int) -> Array:
    """(R, k) first theta, a copy."""
    if given is None:
        return np.zeros((sets, parameters))
    theta = check_finite("start", given)
    if theta.shape != (sets, parameters):
        raise InputError("start", theta.shape, f"give shape ({sets}, {parameters})")
    return theta.copy()


def _checked(
    visits: Array, transition: Array, design: Array, offset: Array
) -> tuple[Array, Array, Array, Array]:
    n = check_finite("visits", visits)
    if n.ndim != 3:
        raise InputError("visits", n.shape, "give shape (replications, states, actions)")
    sets, states, actions = n.shape
    if np.any(n < 0) or np.any(n.sum(axis=(1, 2)) == 0):
        raise InputError("visits", float(n.min()), "give counts, some above 0 in each set")
    law, z = check_finite("transition", transition), check_finite("design", design)
    known = check_finite("offset", offset)
    square = (actions, states, states)
    if law.shape not in [square, (sets, *square)]:
        raise InputError("transition", law.shape, f"give shape {square} or {(sets, *square)}")
    if np.any(law < 0) or np.any(law.sum(axis=-1) > 1 + ROW_SUM_TOLERANCE):
        raise InputError("transition", float(law.min()), "rows must be >= 0 and sum to 1 at most")
    if z.ndim != 3 or z.shape[:2] != (states, actions) or z.shape[2] == 0:
        raise InputError("design", z.shape, f"give shape ({states}, {actions}, parameters)")
    if known.shape != (states, actions):
        raise InputError("offset", known.shape, f"give shape ({states}, {actions})")
    return n, law, z, known
