"""MPEC: maximum likelihood as a programme with equilibrium constraints (Su and Judd 2012).

NFXP solves the Bellman equation at every trial theta. MPEC has its solution among the variables,

    max    L = sum_{s,a} n(s, a) log softmax_a(Q)(s)            over theta and V
    s.t.   c(s) = log sum_a exp Q(s, a) - V(s) = 0              for every s,

    Q(s, a) = r(s, a; theta) + beta P_a V (s), linear in (theta, V): dQ = D = [design, beta P_a],

and solves it only at the end, where theta is NFXP's (their Proposition 1). With p = softmax(Q),
D-bar(s) = sum_a p D, Cov(s) the covariance of D(s, .) under p, and e_s the unit vector of V(s),

    grad L = sum n (D - D-bar),      Hess L = -sum_s n(s) Cov(s),
    grad c(s) = D-bar(s) - e_s,      Hess c(s) = Cov(s).

Implementation choices:

- The variable is V(s) in the place of Su and Judd's EV(s, a): A times fewer constraints, the same
  feasible theta. P is given or at the frequencies; they have its parameters in the likelihood.
- SciPy's trust-constr with exact derivatives, from V = 0, in the place of KNITRO. It stops before
  rounding would decide whether its merit falls; at most LAST_STEPS of Newton's steps along the
  constraints follow.
- `converged` needs the constraints, a short last step of theta, and the second-order condition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import NonlinearConstraint, minimize
from scipy.sparse import csr_matrix, diags, eye, hstack, issparse
from scipy.special import logsumexp

from gladius.baselines import nfxp
from gladius.model.estimate import Estimate, Fit
from gladius.model.parametric import Model, TransitionModel, check_start, make_model
from gladius.model.resolvent import Resolvent
from gladius.model.reward_form import LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.moves import Table, by_pair, means
from gladius.panel.record import Transitions
from gladius.solvers.choice_logit import statuses, without_rounding
from gladius.solvers.newton import SHORT_STEP, newton_step
from gladius.validate import Array

TITLE, NEEDS = "MPEC", ("next", "transitions", "form")
# of the Lagrangian, per observation: a step from there lowers the merit by the square of it, which
# rounding still leaves
GRADIENT_TOLERANCE = 1e-7
SMALLEST_RADIUS = 1e-15  # of the trust region
MAX_ITERATIONS = 1000
STEP_TOLERANCE = 1e-5  # of the last step of theta, in standard errors
LAST_STEPS = 3  # of Newton, past the solver's end
FEASIBLE = 1e-10  # |c| relative to max(1, |V|)


@dataclass(frozen=True)
class Programme:
    """The programme of one data set.

    Its variables are x = (theta times the root mean square of its regressor, (1 - beta) V), which
    are of one size.
    """

    visits: Array  # (S, A) n(s, a)
    transition: Table  # (A, S, S)
    design: Array  # (S, A, k), and offset (S, A): the reward's form
    offset: Array
    discount: float  # beta

    def values(self, theta: Array, v: Array) -> tuple[float, Array, Array]:
        """L, (S,) c and (S, A) log p at (k,) theta and (S,) V."""
        q = self.offset + self.design @ theta + self.discount * (self.transition @ v).T
        total = logsumexp(q, axis=1)
        log_policy = q - total[:, None]
        return float(np.sum(self.visits * log_policy)), total - v, log_policy

    def solve(self, theta: Array, v: Array) -> tuple[Array, Array, int]:
        """(k,) theta, (S,) V and iterations of trust-constr from (k,) theta and (S,) V."""
        share, parameters = self.visits / self.visits.sum(), len(theta)
        size = np.sqrt(np.einsum("sa,sak->k", share, self.design**2))
        level = np.full(len(v), 1 / (1 - self.discount))
        unit = np.concatenate([1 / np.where(size > 0, size, 1.0), level])  # of x in (theta, V)
        following = self.discount * by_pair(self.transition)
        design = self.design.reshape(-1, parameters)
        if issparse(following):
            slope = hstack([csr_matrix(design), following], "csr") @ diags(unit)  # (S A, k + S) D
            own = eye(len(v), len(unit), parameters, format="csr") @ diags(unit)
        else:
            slope = np.concatenate([design, following], axis=1) * unit
            own = np.eye(len(unit))[parameters:] * unit
        observed, state_share = share.ravel() @ slope, share.sum(axis=1)
        of_pairs = means(np.ones_like(share)).T

        def values(x: Array) -> tuple[float, Array, Array]:
            return self.values(x[:parameters] * unit[:parameters], (x * unit)[parameters:])

        def mean(x: Array) -> Any:
            return means(np.exp(values(x)[2])) @ slope

        def covariance(x: Array, weight: Array) -> Any:
            share_of_pairs = weight[:, None] * np.exp(values(x)[2])
            centred = slope - of_pairs @ mean(x)
            return centred.T @ (diags(share_of_pairs.ravel()) @ centred)

        with np.errstate(over="ignore", invalid="ignore"):
            solution = minimize(
                lambda x: -values(x)[0] / self.visits.sum(),
                np.concatenate([theta, v]) / unit,
                jac=lambda x: state_share @ mean(x) - observed,
                hess=lambda x: covariance(x, state_share),
                method="trust-constr",
                constraints=NonlinearConstraint(
                    lambda x: values(x)[1], 0, 0, jac=lambda x: mean(x) - own, hess=covariance
                ),
                options={
                    "gtol": GRADIENT_TOLERANCE,
                    "xtol": SMALLEST_RADIUS,
                    "maxiter": MAX_ITERATIONS,
                },
            )
        x = solution.x * unit
        return x[:parameters], x[parameters:], int(solution.nit)


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    transition: TransitionModel | None = None,
    start: Array | None = None,
) -> list[Estimate]:
    """MPEC of each data set; options as in `nfxp.fit`.

    `extra` holds theta, objective, log_likelihood and constraint_violation, the largest |c|.
    """
    models = [make_model([rows], anchor, discount, reward, transition) for rows in data]
    first = check_start(start, (len(models), models[0].design.shape[2]))
    estimates = []
    for model, theta in zip(models, first, strict=True):
        fits = model.based([fit_from(model, theta)], is_likelihood=True)
        estimates += model.estimates("mpec", fits, anchor)
    return estimates


def fit_from(model: Model, start: Array) -> Fit:
    """The Fit of one data set from (k,) theta."""
    visits, transition = model.visits[0], model.transition[0]
    state_visits, size = visits.sum(axis=1), visits.sum()
    programme = Programme(visits, transition, model.design, model.offset, model.discount)
    theta, v, iterations = programme.solve(start, np.zeros(len(visits)))
    for _ in range(LAST_STEPS):
        _, violation, log_policy = programme.values(theta, v)
        total = violation + v
        q, policy = log_policy + total[:, None], np.exp(log_policy)
        gradient, hessian, slope = nfxp.derivatives(
            visits[None], model.transition, model.design, q[None], total[None], model.discount
        )
        if not np.all(np.isfinite(hessian)):
            status = "diverged"
            break
        information = without_rounding(-hessian, state_visits[None], slope)
        steps, is_regular, is_definite = newton_step(-gradient, information)
        step = steps[0]
        is_short = gradient[0] @ step <= STEP_TOLERANCE**2  # in standard errors
        is_short &= np.all(np.abs(step) <= SHORT_STEP * (1 + np.abs(theta)))
        is_feasible = np.abs(violation).max() <= FEASIBLE * max(1.0, float(np.abs(v).max()))
        converged = is_definite & is_short & is_feasible
        (status,) = statuses(converged, is_regular)
        if not is_definite[0]:
            break
        resolvent = Resolvent.of(policy, transition, model.discount)
        normal = resolvent.solve(violation[:, None])[:, 0]
        tangent = np.einsum("sa,sak,k->s", policy, slope[0], step)
        theta, v = theta + step, v + normal + tangent
        if status == "ok":
            break
    log_likelihood, violation, _ = programme.values(theta, v)
    return Fit(
        *model.functions(0, theta, v),
        status=status,
        iterations=iterations,
        gradient_norm=float(np.max(np.abs(gradient)) / size),
        extra={
            "theta": theta,
            "objective": -log_likelihood / size,
            "log_likelihood": log_likelihood,
            "constraint_violation": float(np.abs(violation).max()),
        },
    )
