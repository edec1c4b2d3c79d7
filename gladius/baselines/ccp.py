"""CCP: conditional choice probabilities first, then a logit (Hotz and Miller 1993), and NPL.

The inversion Q(s, a) - Q(s, j) = log pi(a|s) - log pi(j|s) lets observed choices replace the
solution of the Bellman equation. With r = z'theta + o, W = (I - beta P_pi)^-1 and

    h = z + beta P_a W sum_a pi_a z_a,      e = o + beta P_a W sum_a pi_a (o_a - log pi_a),

the second step maximises the pseudo-likelihood sum_{s,a} n(s, a) log softmax_a(h'theta + e), a
concave logit, at first-step CCPs pi-hat. NPL (Aguirregabiria and Mira 2002) replaces pi-hat by
softmax(h'theta + e) and repeats; where that stops, theta solves NFXP's likelihood equations.

Finite dependence (Arcidiacono and Miller 2011) needs no inversion. If the renewal action j leads to
the same distribution F of the next state from everywhere, V(s) = r(s, j) + beta F V - log pi(j|s),
and the unknown F V cancels from every comparison of actions:

    Q(s, a) - Q(s, j) = r(s, a) - r(s, j) + beta (P_a - F)[ r(., j) - log pi(j | .) ](s).

Implementation choices:

- The first step is cell frequencies, those of the nearest observed state where a state never
  occurs. With finite dependence, which needs their logarithms, 1/2 is added to each count.
- Finite dependence takes the anchor's action as the renewal, and one stage only.
- `iterations` are the Newton steps of the logit with one stage, else the stages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from gladius.model.estimate import Estimate, Fit
from gladius.model.inversion import choice_frequencies
from gladius.model.parametric import FormBasis, Model, TransitionModel, make_model
from gladius.model.resolvent import Resolvent
from gladius.model.reward_form import FORBIDDEN, LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.moves import Table, ahead, departures, entries
from gladius.panel.record import Transitions
from gladius.solvers.choice_logit import LogitFit, maximise
from gladius.validate import Array, InputError, check_whole

TITLE, NEEDS = "CCP", ("next", "transitions", "form")
RENEWAL_PSEUDO_COUNT = 0.5  # of finite dependence, which takes the logarithm of every frequency
STAGE_TOLERANCE = 1e-10  # of theta (relative) and of every choice probability, between stages
MAX_STAGES = 200
STAGES = 3  # with one, cells that are never chosen are valued as if they never could be
SAME_ROW = 1e-12  # two rows this close are one: sums of probabilities differ by rounding


@dataclass(frozen=True)
class CcpFit:
    """The last stage's logit, and V of the CCPs that it was given."""

    logit: LogitFit  # of the last stage
    v: Array  # (R, S) at the estimated theta
    stages: int  # logits fitted
    newton: int  # Newton steps over all stages
    converged: bool  # theta and pi changed by less than STAGE_TOLERANCE in the last stage

    def fit(self, model: Model, stages: int | None) -> Fit:
        """The Fit to one data set, of so many stages; None: until nothing moves."""
        logit = self.logit
        status = logit.status[0]
        if stages is None and status == "ok" and not self.converged:
            status = "not_converged"
        log_likelihood = float(logit.log_likelihood[0])
        return Fit(
            *model.functions(0, logit.theta[0], self.v[0]),
            status=status,
            iterations=self.newton if stages == 1 else self.stages,
            gradient_norm=float(np.max(np.abs(logit.gradient))),
            inner_iterations=0 if stages == 1 else self.newton,
            extra={
                "theta": logit.theta[0],
                "objective": -log_likelihood / float(model.visits.sum()),
                "log_likelihood": log_likelihood,
                "stages": self.stages,
            },
        )


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    transition: TransitionModel | None = None,
    stages: int | None = STAGES,
    finite_dependence: bool = False,
) -> list[Estimate]:
    """Two steps, or NPL; `reward` and `transition` as in `nfxp.fit`.

    Args:
        stages: of NPL; 1: the two-step estimator; None: until nothing moves (STAGE_TOLERANCE).
        finite_dependence: use the CCPs of the anchor's action only, and no inversion.

    `extra` holds theta, log_likelihood, stages and objective, minus the pseudo-likelihood per
    observation.
    """
    if stages is not None:
        check_whole("stages", stages, 1)
    if finite_dependence and stages != 1:
        raise InputError("stages", stages, "finite_dependence has one stage: give stages=1")
    models = [make_model([rows], anchor, discount, reward, transition) for rows in data]
    if finite_dependence:
        for model in models:
            present = None if model.is_known else model.p_hat.present
            check_renewal(model.p_hat.transition, anchor.action, present, model.visits)
    estimates = []
    for model in models:
        if finite_dependence:
            policy = choice_frequencies(model.visits, model.states, RENEWAL_PSEUDO_COUNT)
            fitted = renewed(model, policy, anchor.action)
            basis = RenewalBasis(model, policy=policy, action=anchor.action)
            fits = [replace(fitted.fit(model, stages), basis=basis)]
        else:
            fitted = nested_pseudo_likelihood(
                model.visits,
                within(choice_frequencies(model.visits, model.states), model.offset),
                model.transition,
                model.design,
                model.offset,
                model.discount,
                stages=MAX_STAGES if stages is None else stages,
            )
            fits = model.based([fitted.fit(model, stages)])
        estimates += model.estimates("ccp", fits, anchor)
    return estimates


# The second step by inversion, and NPL.


def within(policy: Array, offset: Array) -> Array:
    """(R, S, A) CCPs without the actions that the form's (S, A) offset forbids.

    A state without choices borrows those of another, whose choice set may differ.
    """
    is_open = offset > FORBIDDEN / 2
    if np.all(is_open):
        return policy
    found = np.where(is_open, policy, 0.0)
    found = np.where(found.any(axis=2, keepdims=True), found, is_open)
    return np.asarray(found / found.sum(axis=2, keepdims=True))


def nested_pseudo_likelihood(
    visits: Array,  # (R, S, A) n(s, a); replications go through the same stages
    policy: Array,  # (R, S, A) pi-hat
    transition: Table,  # (A, S, S) or (R, A, S, S)
    # design, offset: (S, A, k), (S, A) of the reward
    design: Array,
    offset: Array,
    discount: float,  # beta
    *,
    stages: int = 1,  # at most
) -> CcpFit:
    """At most `stages` stages from first-step CCPs, fewer where nothing moves or a logit fails."""
    theta, newton, stage, converged = None, 0, 0, False
    while True:
        slopes, level = valuation(policy, transition, design, offset, discount)
        following = ahead(transition, np.concatenate([slopes, level[..., None]], axis=2))
        following = discount * np.moveaxis(following, 1, 2)
        logit = maximise(
            visits, design + following[..., :-1], offset + following[..., -1], start=theta
        )
        stage += 1
        newton += int(logit.iterations.max())
        new_policy = np.exp(logit.log_policy)
        if theta is not None:
            change = np.abs(logit.theta - theta) / (1 + np.abs(logit.theta))
            largest = max(float(change.max()), float(np.abs(new_policy - policy).max()))
            converged = largest <= STAGE_TOLERANCE
        theta, policy = logit.theta, new_policy
        if converged or stage == stages or not np.all(logit.converged):
            v = level + np.einsum("rsk,rk->rs", slopes, theta)
            return CcpFit(logit, v, stage, newton, converged)


def valuation(
    policy: Array, transition: Table, design: Array, offset: Array, discount: float
) -> tuple[Array, Array]:
    """(R, S, k) and (R, S): V of those who choose by `policy` is slopes theta + level."""
    flow_design = np.einsum("rsa,sak->rsk", policy, design)
    flow_offset = np.sum(policy * offset - xlogy(policy, policy), axis=2)
    right = np.concatenate([flow_design, flow_offset[..., None]], axis=2)
    both = Resolvent.of(policy, transition, discount).solve(right)
    return both[..., :-1], both[..., -1]


# The second step by finite dependence.


def renewal_value(model: Model, policy: Array, action: int) -> tuple[Array, Array]:
    """(S,) and (S, k): r(s, j) - log pi(j|s) is the first and the second times theta."""
    log_policy = np.log(np.maximum(policy[0, :, action], np.finfo(float).tiny))
    return model.offset[:, action] - log_policy, model.design[:, action]


def renewed(model: Model, policy: Array, action: int) -> CcpFit:
    """Finite dependence of one data set with a renewal action, from first-step CCPs (1, S, A)."""
    transition = model.transition[0]
    value, design = renewal_value(model, policy, action)
    logit = maximise(
        model.visits,
        model.design + model.discount * np.moveaxis(transition @ design, 0, 1),
        model.offset + model.discount * (transition @ value).T,
    )
    value = value + design @ logit.theta[0]
    (after,), renewal = entries(transition[action, 0])
    mean = np.sum(renewal * value[after])
    expected_v = mean / (1 - model.discount * renewal.sum())  # F V
    v = value + model.discount * expected_v
    return CcpFit(logit, v[None], 1, int(logit.iterations.max()), False)


@dataclass(frozen=True, kw_only=True)
class RenewalBasis(FormBasis):
    """Of finite dependence, whose errors are not those of maximum likelihood."""

    policy: Array  # (1, S, A) first-step CCPs
    action: int  # the renewal


def check_renewal(
    transition: Table, action: int, present: NDArray[np.bool_] | None, visits: Array
) -> None:
    """Raise unless the action j leads to one distribution from every state (and no path ends).

    All arrays are of one replication; `present` (1, S) are the states that the data hold, or all.
    """
    if not np.any(visits[:, :, action]):
        hint = "it is never taken, so the data do not say where it leads"
        raise InputError("anchor_action", action, hint)
    table = transition[0] if present is None else transition[0][:, present[0]]
    own = table[action]
    (s, t), values = entries(own)
    first = np.bincount(t[s == 0], values[s == 0], minlength=own.shape[-1])
    near = np.abs(values - first[t]) <= SAME_ROW
    # of the entries of the first row each other row has all, if so many are near one that is not 0
    nearby = np.bincount(s[near & (first[t] > SAME_ROW)], minlength=len(own))
    if not np.all(near) or np.any(nearby != np.count_nonzero(first > SAME_ROW)):
        hint = "its next state depends on the state, so it is no renewal: anchor one that is, "
        hint += "give true transition probabilities, or do without finite_dependence"
        raise InputError("anchor_action", action, hint)
    mass = departures(table)
    if np.any(np.abs(mass - mass[action, 0]) > SAME_ROW):
        hint = "the chance that a path ends depends on state or action: F V does not cancel"
        raise InputError("finite_dependence", True, hint)
