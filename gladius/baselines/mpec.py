"""MPEC: maximum likelihood as a programme with equilibrium constraints (Su and Judd 2012).

NFXP solves the Bellman equation at every trial theta. MPEC has its solution among the variables,

    max    L = sum_{s,a} n(s, a) log softmax_a(Q)(s)            over theta and V
    s.t.   c(s) = log sum_a exp Q(s, a) - V(s) = 0              for every s,

    Q(s, a) = r(s, a; theta) + beta P_a V (s), linear in (theta, V),

and solves it only at the end, where theta is NFXP's (their Proposition 1). A step of sequential
quadratic programming solves both at once. With pi = softmax(Q), M = I - beta P_pi, and D = dQ along
the linear constraints, whose covariance under pi is Cov(s), its parts are

    of V:      M^-1 c + dV step,          dV = M^-1 sum_a pi_a design_a,
    of theta:  step = -H^-1 sum n (D - D-bar),   H = sum_s (lambda - n)(s) Cov(s),

where lambda, M' lambda = dL / dV, are the multipliers. So only M is factored, which is as sparse as
P and of the size of V, and not the system of all variables and constraints.

Implementation choices:

- The variable is V(s) in the place of Su and Judd's EV(s, a): A times fewer constraints, the same
  feasible theta. P is given or at the frequencies; they have its parameters in the likelihood.
- The steps, from V = 0, are those of a reduced space, with |H| as in newton.py, in the place of
  KNITRO's. They are halved until the merit -L + sum_s mu(s) |c(s)| falls, where mu >= 2 |lambda|
  makes each a direction of descent (Nocedal and Wright 2006, Sections 18.3 and 18.4).
- As in NFXP a step moves no reward too far, and a start that leads to choices that are all but
  certain, which hold no information on theta, is replaced by 0.
- `converged` needs the constraints, a short last step of theta, and the second-order condition.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from gladius.baselines import nfxp
from gladius.model.estimate import Estimate, Fit
from gladius.model.parametric import Model, TransitionModel, check_start, make_model
from gladius.model.resolvent import Resolvent
from gladius.model.reward_form import LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.moves import Table, arrivals, each
from gladius.panel.record import Transitions
from gladius.solvers.choice_logit import statuses, without_rounding
from gladius.solvers.newton import HALVINGS, SHORT_STEP, SUFFICIENT, newton_step
from gladius.validate import Array

TITLE, NEEDS = "MPEC", ("next", "transitions", "form")
MAX_ITERATIONS = 200
STEP_TOLERANCE = 1e-5  # of the last step of theta, in standard errors
FEASIBLE = 1e-10  # |c| relative to max(1, |V|)
MARGIN = 2.0  # of mu over |lambda|


@dataclass(frozen=True)
class Programme:
    """The programme of one data set."""

    visits: Array  # (S, A) n(s, a)
    transition: Table  # (A, S, S)
    design: Array  # (S, A, k), and offset (S, A): the reward's form
    offset: Array
    discount: float  # beta

    def values(self, theta: Array, v: Array) -> tuple[float, Array, Array]:
        """L, (S,) c and (S, A) log pi at (k,) theta and (S,) V."""
        q = self.offset + self.design @ theta + self.discount * (self.transition @ v).T
        total = logsumexp(q, axis=1)
        log_policy = q - total[:, None]
        return float(np.sum(self.visits * log_policy)), total - v, log_policy

    def derivatives(self, total: Array, log_policy: Array) -> tuple[Array, Array, Array]:
        """As `nfxp.derivatives`, along the linear constraints; of (S,) c + V and (S, A) log pi."""
        q, transition = log_policy + total[:, None], each(self.transition, 1)
        given = self.visits[None], transition, self.design, q[None], total[None]
        return nfxp.derivatives(*given, self.discount)


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
    """The Fit of one data set from (k,) theta, or from 0 if that leads to certain choices."""
    visits, transition = model.visits[0], model.transition[0]
    state_visits, size = visits.sum(axis=1), visits.sum()
    programme = Programme(visits, transition, model.design, model.offset, model.discount)
    theta, v, penalty, iterations = start, np.zeros(len(visits)), np.zeros(len(visits)), 0
    log_likelihood, violation, log_policy = programme.values(theta, v)
    while iterations < MAX_ITERATIONS:
        iterations += 1
        gradient, hessian, slope = programme.derivatives(violation + v, log_policy)
        if not np.all(np.isfinite(hessian)):
            status = "diverged"
            break
        information = without_rounding(-hessian, state_visits[None], slope)
        steps, regular, definite = newton_step(-gradient, information)
        worth = (state_visits > 0)[:, None] * (model.design @ steps[0])
        farthest = max(float(np.abs(worth).max()), nfxp.LARGEST_MOVE)
        step = steps[0] * regular[0] * nfxp.LARGEST_MOVE / farthest
        gain = gradient[0] @ step
        policy = np.exp(log_policy)
        resolvent = Resolvent.of(policy, transition, model.discount)
        direct = np.einsum("sa,sak,k->s", policy, model.design, step)
        change = resolvent.solve((violation + direct)[:, None])[:, 0]
        is_short = gain <= STEP_TOLERANCE**2  # in standard errors
        is_short &= np.all(np.abs(step) <= SHORT_STEP * (1 + np.abs(theta)))
        is_short &= np.abs(violation).max() <= FEASIBLE * max(1.0, float(np.abs(v).max()))
        (status,) = statuses(definite & is_short, regular)
        if is_short and np.any(start) and not regular[0]:
            return fit_from(model, np.zeros_like(start))
        if is_short:
            theta, v = theta + step, v + change
            log_likelihood, violation, log_policy = programme.values(theta, v)
            gradient, _, _ = programme.derivatives(violation + v, log_policy)
            break
        excess = visits - state_visits[:, None] * policy
        pull = model.discount * arrivals(transition, excess[..., None])
        multiplier = resolvent.solve_transposed(pull)[:, 0]
        penalty = np.maximum(penalty, MARGIN * np.abs(multiplier))
        merit = penalty @ np.abs(violation) - log_likelihood
        decrease = gain + multiplier @ violation + penalty @ np.abs(violation)
        rounding = nfxp.LOGLIK_ROUNDING * max(1.0, float(np.abs(v).max())) * (size + penalty.sum())
        for length in 0.5 ** np.arange(HALVINGS):
            near, ahead = theta + length * step, v + length * change
            trial = programme.values(near, ahead)
            after = penalty @ np.abs(trial[1]) - trial[0]
            if after <= merit - SUFFICIENT * length * decrease + rounding:
                break
        else:  # no length lowers the merit
            break
        theta, v = near, ahead
        log_likelihood, violation, log_policy = trial
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
