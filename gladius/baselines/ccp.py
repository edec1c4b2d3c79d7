"""CCP: conditional choice probabilities first, then a logit (Hotz and Miller 1993), and NPL.

The inversion Q(s, a) - Q(s, j) = log pi(a|s) - log pi(j|s) lets observed choices stand for the
solution of the Bellman equation. With r = z'theta + o, W = (I - beta P_pi)^-1 and

    h = z + beta P_a W sum_a pi_a z_a,      e = o + beta P_a W sum_a pi_a (o_a - log pi_a),

the second step maximises the pseudo-likelihood sum_{s,a} n(s, a) log softmax_a(h'theta + e), a
concave logit, at first-step CCPs pi-hat (the form surveyed by Aguirregabiria and Mira 2010,
Section 3.1.3). NPL (Aguirregabiria and Mira 2002) puts pi = softmax(h'theta + e) in the place of
pi-hat and repeats; where that stops, theta solves NFXP's likelihood equations.

Finite dependence (Arcidiacono and Miller 2011) needs no inversion. If the renewal action j leads to
the same distribution F of the next state from everywhere, then with
V(s) = r(s, j) + beta F V - log pi(j | s) the choice of any action now, followed by j, leads to the
same state in distribution, and the unknown F V cancels from every comparison of actions:

    Q(s, a) - Q(s, j) = r(s, a) - r(s, j) + beta (P_a - F)[ r(., j) - log pi(j | .) ](s).

Needs: beta, the transition probabilities (given or their frequencies), and the form of r, which
identifies theta. Rewards are z'theta + o, so off the states of the data the form extrapolates. Q is
that of the second step, h'theta + e: no Bellman equation is solved, and log sum exp Q = V only
where NPL has converged. With an anchor in the place of the form CCPs give r directly (plug_in.py).

What had to be decided:
- First step: cell frequencies, those of the nearest state seen where a state never occurs. None is
  smoothed with inversion, which needs no logarithm of an empty cell (0 log 0 = 0); 1/2 is added to
  each count with finite dependence, which does.
- One stage by default, as Hotz and Miller: all stages of NPL have the same first-order asymptotics,
  those of partial maximum likelihood (A&M 2002, Proposition 4). Finite dependence is less
  efficient: it uses the CCP of one action and does not average its noise away.
- Standard errors, P taken as known: with inversion the inverse information of the
  pseudo-likelihood, to first order that of NFXP (the noise of pi-hat drops out, zero Jacobian at
  the truth). With finite dependence the delta method, the frequencies' noise in it.
- Finite dependence takes the anchor's action as the renewal, and one stage only: the limit would
  not be the likelihood's.
- `iterations`: Newton steps of the logit in one stage, which has nothing nested in it; with more
  stages, the stages, with the Newton steps nested in them as `inner_iterations`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from gladius.anchor import Anchor, nearest
from gladius.baselines.choice_logit import LogitFit, maximise
from gladius.checks import Array, InputError, check_whole
from gladius.estimate import Estimate
from gladius.linear_reward import KnownTransitions, LinearReward
from gladius.parametric import Model, make_model, model_estimate
from gladius.transitions import Integers, Transitions

TITLE, NEEDS = "CCP", ("next", "transitions", "form")
RENEWAL_PSEUDO_COUNT = 0.5  # of finite dependence, which takes the logarithm of every frequency
STAGE_TOLERANCE = 1e-10  # of theta (relative) and of every choice probability, between stages
MAX_STAGES = 200
SAME_ROW = 1e-12  # two rows this close are one: sums of probabilities differ by rounding


@dataclass(frozen=True)
class FirstStep:
    """pi-hat of R replications."""

    policy: Array  # (R, S, A); a frequency may be 0
    # (R, S) the state whose frequencies each state has, itself where it was seen
    nearest_seen: Integers
    cells: Array  # (R, S, A) n(s, a) + c


@dataclass(frozen=True)
class CcpFit:
    """The last stage's logit, and V of the CCPs that it was given."""

    logit: LogitFit  # of the last stage
    v: Array  # (R, S) at the estimated theta
    stages: int  # logits fitted
    newton: int  # Newton steps over all stages
    settled: bool  # theta and pi moved less than STAGE_TOLERANCE in the last stage


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    transition: KnownTransitions | None = None,
    stages: int | None = 1,
    finite_dependence: bool = False,
) -> list[Estimate]:
    """Two steps, or NPL.

    Args:
        data, discount, reward, transition: as in `nfxp.fit`.
        anchor: the same; its action is the renewal of finite dependence.
        stages: of NPL; 1: the two-step estimator; None: until nothing moves (STAGE_TOLERANCE).
        finite_dependence: use the renewal action's CCPs only, and no inversion.

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance, objective
        (minus the pseudo-likelihood per observation), stages, inner_iterations.

    Errors are those of `nfxp.fit`.
    """
    started = time.process_time()
    if stages is not None:
        check_whole("stages", stages, 1)
    if finite_dependence and stages != 1:
        raise InputError("stages", stages, "finite_dependence has one stage")
    models = [make_model([rows], anchor, discount, reward, transition) for rows in data]
    if finite_dependence:
        for model in models:
            present = None if model.is_known else model.p_hat.present
            check_renewal(model.p_hat.transition, anchor.action, present, model.visits)
    seconds = (time.process_time() - started) / len(data)
    return [_fit_alone(model, stages, finite_dependence, seconds) for model in models]


def _fit_alone(
    model: Model, stages: int | None, finite_dependence: bool, seconds: float
) -> Estimate:
    """One data set, of which `seconds` were spent on the model."""
    started = time.process_time()
    if finite_dependence:
        fitted = renewed(model, frequencies(model.visits, model.states, RENEWAL_PSEUDO_COUNT))
    else:
        fitted = nested_pseudo_likelihood(
            model.visits,
            frequencies(model.visits, model.states).policy,
            model.transition,
            model.design,
            model.offset,
            model.discount,
            stages=MAX_STAGES if stages is None else stages,
        )
    logit = fitted.logit
    status = logit.status[0]
    if stages is None and status == "ok" and not fitted.settled:
        status = "not_converged"
    return model_estimate(
        "ccp",
        model,
        0,
        logit.theta[0],
        logit.covariance[0],
        fitted.v[0],
        status=status,
        iterations=fitted.newton if stages == 1 else fitted.stages,
        gradient_norm=float(np.max(np.abs(logit.gradient))),
        seconds=seconds + time.process_time() - started,
        extra={
            "objective": float(-logit.log_likelihood[0] / model.visits.sum()),
            "log_likelihood": float(logit.log_likelihood[0]),
            "inner_iterations": 0 if stages == 1 else fitted.newton,
            "stages": fitted.stages,
        },
    )


# The first step.


def frequencies(visits: Array, states: Array, pseudo_count: float = 0.0) -> FirstStep:
    """(n(s, a) + c) / (n(s) + c A), of the nearest state seen where s never occurs.

    Args:
        visits: (R, S, A) n(s, a).
        states: (S, d).
        pseudo_count: c.
    """
    cells = visits + pseudo_count
    nearest_seen = np.tile(np.arange(len(states)), (len(visits), 1))
    for r, seen in enumerate(visits.sum(axis=2) > 0):
        nearest_seen[r] = np.flatnonzero(seen)[nearest(states[seen], states)]
    borrowed = np.take_along_axis(cells, nearest_seen[..., None], axis=1)
    return FirstStep(borrowed / borrowed.sum(axis=2, keepdims=True), nearest_seen, cells)


# The second step by inversion, and NPL.


def nested_pseudo_likelihood(
    visits: Array,  # (R, S, A) n(s, a); replications go through the same stages
    policy: Array,  # (R, S, A) pi-hat
    transition: Array,  # (A, S, S) or (R, A, S, S)
    # design, offset: (S, A, k), (S, A) of the reward
    design: Array,
    offset: Array,
    discount: float,  # beta
    *,
    stages: int = 1,  # at most
) -> CcpFit:
    """At most `stages` stages from first-step CCPs, fewer where nothing moves or a logit fails."""
    theta, newton, stage, settled = None, 0, 0, False
    while True:
        slopes, level = valuation(policy, transition, design, offset, discount)
        following = transition @ np.concatenate([slopes, level[..., None]], axis=2)[:, None]
        following = discount * np.moveaxis(following, 1, 2)
        logit = maximise(
            visits, design + following[..., :-1], offset + following[..., -1], start=theta
        )
        stage += 1
        newton += int(logit.iterations.max())
        reached = np.exp(logit.log_policy)
        if theta is not None:
            change = np.abs(logit.theta - theta) / (1 + np.abs(logit.theta))
            moved = max(float(change.max()), float(np.abs(reached - policy).max()))
            settled = moved <= STAGE_TOLERANCE
        theta, policy = logit.theta, reached
        if settled or stage == stages or not np.all(logit.converged):
            v = level + np.einsum("rsk,rk->rs", slopes, theta)
            return CcpFit(logit, v, stage, newton, settled)


def valuation(
    policy: Array, transition: Array, design: Array, offset: Array, discount: float
) -> tuple[Array, Array]:
    """(R, S, k) and (R, S): V of those who choose by `policy` is slopes theta + level."""
    flow = np.einsum(
        "rsa,...ast->rst" if transition.ndim == 3 else "rsa,rast->rst", policy, transition
    )
    now = np.einsum("rsa,sak->rsk", policy, design)
    surprise = np.sum(policy * offset - xlogy(policy, policy), axis=2)
    right = np.concatenate([now, surprise[..., None]], axis=2)
    both = np.linalg.solve(np.eye(flow.shape[1]) - discount * flow, right)
    return both[..., :-1], both[..., -1]


# The second step by finite dependence.


def renewed(model: Model, first: FirstStep) -> CcpFit:
    """Finite dependence, the anchor's action as the renewal."""
    action = model.anchor.action
    log_policy = np.log(np.maximum(first.policy[:, :, action], np.finfo(float).tiny))
    transition = model.p_hat.transition
    x, known = renewal_regressors(
        log_policy, transition, model.design, model.offset, model.discount, action
    )
    logit = maximise(model.visits, x, known)
    covariance = sandwich(model.visits, first, x, logit, transition, model.discount, action)
    now = model.rewards(logit.theta)[:, :, action] - log_policy
    renewal = transition[:, action, 0]
    mean = np.sum(np.where(renewal > 0, renewal * now, 0.0), axis=1)
    level = mean / (1 - model.discount * renewal.sum(axis=1))  # F V
    v = now + model.discount * level[:, None]
    newton = int(logit.iterations.max())
    return CcpFit(replace(logit, covariance=covariance), v, 1, newton, False)


def check_renewal(
    transition: Array, action: int, present: NDArray[np.bool_] | None, visits: Array
) -> None:
    """Raise unless the action leads to one distribution from every state (and no path ends).

    Args:
        transition: (1, A, S, S).
        action: j.
        present: (1, S) states that the data set holds; None: all.
        visits: (1, S, A), to tell of an action that was never taken: nothing is known of it.
    """
    if not np.any(visits[:, :, action]):
        hint = "it is never taken: nothing tells where it leads"
        raise InputError("anchor_action", action, hint)
    table = transition[0] if present is None else transition[0][:, present[0]]
    if np.any(np.abs(table[action] - table[action, 0]) > SAME_ROW):
        hint = (
            "where it leads depends on the state, so it is no renewal: anchor one that is, give "
            "its true transition probabilities, or do without finite_dependence"
        )
        raise InputError("anchor_action", action, hint)
    mass = table.sum(axis=-1)
    if np.any(np.abs(mass - mass[action, 0]) > SAME_ROW):
        hint = "the chance that a path ends depends on state or action: F V does not cancel"
        raise InputError("finite_dependence", True, hint)


def renewal_regressors(
    log_policy: Array, transition: Array, design: Array, offset: Array, discount: float, action: int
) -> tuple[Array, Array]:
    """Regressors (R, S, A, k) and offset (R, S, A) of the logit, up to a level per state.

    Args:
        log_policy: (R, S) log pi(j | s), finite.
        transition: (A, S, S) or (R, A, S, S).
        design: (S, A, k), offset: (S, A): the reward's form.
        discount: beta.
        action: j.
    """
    x = design + discount * np.moveaxis(transition @ design[:, action], -3, -2)
    now = offset[:, action] - log_policy
    ahead = (transition @ now[:, None, :, None])[..., 0]
    return (
        np.broadcast_to(x, (len(log_policy), *design.shape)),
        offset + discount * np.moveaxis(ahead, 1, 2),
    )


def sandwich(
    visits: Array,  # (R, S, A) n(s, a)
    first: FirstStep,  # pi-hat; its cells n(s, a) + c are read at the states seen
    x: Array,  # (R, S, A, k) the logit's regressors
    logit: LogitFit,  # the second step
    transition: Array,  # (A, S, S) or (R, A, S, S)
    discount: float,  # beta
    action: int,  # j
) -> Array:
    """(R, k, k) covariance of theta with the sampling error of frequency CCPs in it.

    theta solves g(theta, n) = 0, g the score, whose offset holds log pi-hat(j | s') =
    log[(n(s', j) + c) / (n(s') + c A)] =: l(s'). By the delta method theta moves with n(s, a) by
    psi(s, a) = H^-1 [ x-centred(s, a) + (d g / d l(s)) (d l(s) / d n(s, a)) ], and given n(s) the
    counts of a state are multinomial, so that only differences between actions matter: of
    d l(s) / d n(s, a) = 1[a = j] / (n(s, j) + c) - 1 / (n(s) + c A) the first term. P is taken
    as known.
    """
    probabilities = np.broadcast_to(transition, (len(visits), *transition.shape[-3:]))
    seen, policy = visits.sum(axis=2), np.exp(logit.log_policy)
    centred = x - np.einsum("rsa,rsak->rsk", policy, x)[:, :, None]
    # d g / d log pi(j | s'): the offset holds -beta P_a log pi(j | .), the score minus the
    # choices it predicts
    pull = discount * np.einsum(
        "rsa,rsak,rast->rtk", seen[..., None] * policy, centred, probabilities
    )
    of_seen = np.zeros_like(pull)
    for r, places in enumerate(first.nearest_seen):
        np.add.at(of_seen[r], places, pull[r])
    chosen = np.arange(visits.shape[2]) == action
    slope = np.where(chosen, 1 / np.where(first.cells > 0, first.cells, np.inf), 0.0)
    moved = centred + slope[..., None] * of_seen[:, :, None]
    psi = np.einsum("rkl,rsal->rsak", logit.covariance, moved)
    psi = psi - np.einsum("rsa,rsak->rsk", policy, psi)[:, :, None]
    weight = seen[..., None] * policy
    return np.asarray(np.einsum("rsa,rsak,rsal->rkl", weight, psi, psi))
