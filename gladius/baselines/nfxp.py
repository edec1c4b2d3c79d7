"""NFXP, the nested fixed point (Rust 1987): the paper's oracle "Rust".

Maximum likelihood of theta in r(s, a) = sum_k design[s, a, k] theta_k + offset[s, a], where every
trial theta solves the soft Bellman equation under transition probabilities that are given (the
oracle) or estimated by frequencies. With L(theta) = sum_{s,a} n(s, a) (Q(s, a) - V(s)) the
derivatives are exact: with M = I - beta P_pi,

    dV = M^-1 sum_a pi_a design_a,   dQ_a = design_a + beta P_a dV,   grad L = sum n (dQ - dV),
    Hess L = sum_s u(s) Cov_pi(dQ)(s),   M' u = sum_a beta P_a' n_a - n.

Where choices have exactly the model's frequencies u = -n and minus the Hessian is the Fisher
information. The steps are those of newton.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gladius.model.estimate import Estimate, Fit
from gladius.model.mdp import soft_bellman
from gladius.model.parametric import Model, TransitionModel, check_start, make_model
from gladius.model.resolvent import Resolvent
from gladius.model.reward_form import LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.moves import Table, ahead, arrivals, each
from gladius.panel.record import Integers, Transitions
from gladius.solvers.choice_logit import SATURATED, statuses, without_rounding
from gladius.solvers.newton import minimise
from gladius.validate import Array

TITLE, NEEDS = "NFXP", ("next", "transitions", "form")
LOGLIK_ROUNDING = 1e-15  # of a value, for each observation
LARGEST_MOVE = 10.0  # utils a step; where choices are all but certain, steps are endless


@dataclass(frozen=True)
class NfxpFit:
    """Maximum likelihood of R replications."""

    theta: Array  # (R, k) the maximiser
    log_likelihood: Array  # (R,) sum over observations
    gradient: Array  # (R, k) of the log-likelihood, per observation
    iterations: Integers  # (R,) Newton steps
    inner_iterations: Integers  # (R,) Bellman iterations of the batches that held the replication
    converged: NDArray[np.bool_]  # (R,) as in newton.py, and the Bellman equation is solved
    status: tuple[str, ...]  # R times ok, not_converged or "failed: why"
    q: Array  # q, v: (R, S, A) and (R, S), the fixed point at theta
    v: Array

    def fit(self, replication: int, model: Model) -> Fit:
        """The Fit of one replication on the grid of a model."""
        r = replication
        return Fit(
            *model.functions(r, self.theta[r], self.v[r]),
            status=self.status[r],
            iterations=int(self.iterations[r]),
            gradient_norm=float(np.max(np.abs(self.gradient[r]))),
            inner_iterations=int(self.inner_iterations[r]),
            extra={
                "theta": self.theta[r],
                "log_likelihood": float(self.log_likelihood[r]),
            },
        )


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    transition: TransitionModel | None = None,
    start: Array | None = None,
) -> list[Estimate]:
    """Rust's estimator, all data sets in one batch; `extra` holds theta and log_likelihood.

    Args:
        reward: the form, required.
        transition: P, known or of few parameters; without it the frequencies of each data set.
        start: (R, k) first theta of each data set; by default 0.
    """
    model = make_model(data, anchor, discount, reward, transition)
    fitted = fit_counts(
        model.visits, model.transition, model.design, model.offset, model.discount, start=start
    )
    fits = [fitted.fit(r, model) for r in range(len(data))]
    return model.estimates("nfxp", model.based(fits, is_likelihood=True), anchor)


def fit_counts(
    visits: Array,  # (R, S, A) n(s, a), some above 0 in each; weights of a bootstrap do as well
    transition: Table,  # (A, S, S) or (R, A, S, S), taken as known
    design: Array,  # (S, A, k)
    offset: Array,  # (S, A)
    discount: float,  # beta
    *,
    start: Array | None = None,  # (R, k) first theta; by default 0
    tolerance: float = 1e-6,  # of the last step in standard errors, see newton.py
    max_iterations: int = 100,  # Newton steps
) -> NfxpFit:
    """Maximise the likelihood of R tables of counts at once.

    A start that makes choices all but certain, so that they hold no information on theta, is
    replaced by 0.
    """
    (sets, states, actions), parameters = visits.shape, design.shape[2]
    probabilities = each(transition, sets)
    state_visits = visits.sum(axis=2)
    theta = check_start(start, (sets, parameters))
    q, v = np.zeros(visits.shape), np.zeros((sets, states))
    inner_iterations, is_solved = np.zeros(sets, dtype=np.int64), np.ones(sets, dtype=bool)

    def solve(rows: Integers, trial: Array) -> None:
        """The fixed points at the trial theta, looked for near the last ones."""
        reward = offset + np.einsum("sak,rk->rsa", design, trial)
        solution = soft_bellman(reward, probabilities[rows], discount, v[rows])
        q[rows], v[rows] = solution.q, solution.v
        inner_iterations[rows] += solution.iterations
        is_solved[rows] = solution.converged

    def objective(rows: Integers, trial: Array) -> tuple[Array, Array, Array]:
        solve(rows, trial)
        gradient, hessian, dq = derivatives(
            visits[rows], probabilities[rows], design, q[rows], v[rows], discount
        )
        log_likelihood = np.sum(visits[rows] * (q[rows] - v[rows, :, None]), axis=(1, 2))
        return -log_likelihood, -gradient, without_rounding(-hessian, state_visits[rows], dq)

    def longest(rows: Integers, step: Array) -> Array:
        moves = (state_visits[rows, :, None] > 0) * np.einsum("sak,rk->rsa", design, step)
        return np.asarray(LARGEST_MOVE / np.maximum(np.abs(moves).max(axis=(1, 2)), LARGEST_MOVE))

    solve(np.arange(sets), theta)
    policy = np.exp(q - v[..., None])
    is_open = (np.sum(policy * (1 - policy), axis=2) > SATURATED) & (state_visits > 0)
    is_certain = is_open.sum(axis=1) * (actions - 1) < parameters
    theta, v[is_certain] = np.where(is_certain[:, None], 0.0, theta), 0.0

    def rounding(rows: Integers) -> Array:
        """Q - V is a small difference of large numbers where beta is near 1."""
        size = np.abs(v[rows]).max(axis=1)
        return np.asarray(LOGLIK_ROUNDING * np.maximum(size, 1.0) * state_visits[rows].sum(axis=1))

    minimum = minimise(
        objective,
        theta,
        tolerance=tolerance,
        max_iterations=max_iterations,
        longest=longest,
        rounding=rounding,
    )
    solve(np.arange(sets), minimum.x)
    converged = minimum.converged & is_solved
    return NfxpFit(
        theta=minimum.x,
        log_likelihood=-minimum.value,
        gradient=-minimum.gradient / state_visits.sum(axis=1, keepdims=True),
        iterations=minimum.iterations,
        inner_iterations=inner_iterations,
        converged=converged,
        status=statuses(converged, minimum.is_regular),
        q=q,
        v=v,
    )


def derivatives(
    visits: Array, transition: Table, design: Array, q: Array, v: Array, discount: float
) -> tuple[Array, Array, Array]:
    """Gradient (R, k) and Hessian (R, k, k) of the likelihood; dQ (R, S, A, k).

    `q` and `v` are the soft Bellman fixed point at the theta in question; other shapes as in
    `fit_counts`.
    """
    policy = np.exp(q - v[..., None])
    resolvent = Resolvent.of(policy, transition, discount)
    dv = resolvent.solve(np.einsum("rsa,sak->rsk", policy, design))
    dq = design + discount * np.moveaxis(ahead(transition, dv), 1, 2)
    centred = dq - dv[:, :, None]  # dV is the mean of dQ under pi
    gradient = np.einsum("rsa,rsak->rk", visits, centred)
    covariance = np.einsum("rsak,rsal->rskl", policy[..., None] * centred, centred)
    expected = arrivals(transition, visits[..., None])[..., 0]
    excess = discount * expected - visits.sum(axis=2)
    u = resolvent.solve_transposed(excess[..., None])[..., 0]
    return gradient, np.einsum("rs,rskl->rkl", u, covariance), dq
