"""CCP: conditional choice probabilities first, then a logit (Hotz and Miller 1993), and NPL.

The inversion Q(s, a) - Q(s, j) = log pi(a|s) - log pi(j|s) lets observed choices stand for the
solution of the Bellman equation. With r = z'theta + o, W = (I - beta P_pi)^-1 and

    h = z + beta P_a W sum_a pi_a z_a,      e = o + beta P_a W sum_a pi_a (o_a - log pi_a),

the second step maximises the pseudo-likelihood sum_{s,a} n(s, a) log softmax_a(h'theta + e), a
concave logit, at first-step CCPs pi-hat (the form surveyed by Aguirregabiria and Mira 2010,
Section 3.1.3). NPL (Aguirregabiria and Mira 2002) puts pi = softmax(h'theta + e) in the place of
pi-hat and repeats; where that stops, theta solves NFXP's likelihood equations. Finite dependence
(Arcidiacono and Miller 2011), for a renewal action, needs no inversion: finite_dependence.py.

Needs: beta, the law of s' (given or its frequencies), and the form of r, which identifies theta;
no anchor (its reward enters with `theta_1_given` only). Rewards are z'theta + o, so off the states
of the data the form extrapolates. Q is that of the second step, h'theta + e: no Bellman equation is
solved, and log sum exp Q = V only where NPL has converged. With an anchor in the place of the form
CCPs give r directly; that is the method `plug_in`.

What had to be decided:
- First step: cell frequencies, those of the nearest state seen where a state never occurs. The
  papers leave smoothing to the user; none (pseudo_count 0) is the default with inversion, which
  needs no logarithm of an empty cell (0 log 0 = 0), and 1/2 with finite dependence, which does.
  `ccps="logit"`: a logit in all monomials of the features up to `degree`; 2nd or 3rd is usual.
- One stage by default, as Hotz and Miller. All stages of NPL have the same first-order asymptotics,
  those of partial maximum likelihood (A&M 2002, Proposition 4): "one step is less efficient" does
  not hold for this form. It does in general for finite dependence, which uses the CCP of one action
  and does not average its noise away.
- Standard errors: with inversion the inverse information of the pseudo-likelihood, which to first
  order is that of NFXP (the noise of pi-hat drops out, zero Jacobian at the truth). With finite
  dependence it does not drop out: the delta method, with the frequencies' noise in it; with a logit
  first step they are not given (NaN). Always the law is taken as known, as in nfxp.py.
- Stages with finite dependence: the limit would not be the likelihood's, so one stage only.
- `iterations`: Newton steps of the logit in one stage, which has nothing nested in it; with more
  stages, the stages, with the Newton steps nested in them as `inner_iterations`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gladius.anchor import Anchor
from gladius.baselines import finite_dependence as renewal
from gladius.baselines.choice_logit import CERTAIN, maximise
from gladius.baselines.first_step import FirstStep, fitted_choices, frequencies
from gladius.baselines.npl import CcpFit, nested_pseudo_likelihood
from gladius.checks import Array, InputError, check_whole
from gladius.estimate import Estimate
from gladius.parametric import Model, TableFunction, estimates, make_model
from gladius.transitions import Transitions

RENEWAL_PSEUDO_COUNT = 0.5  # of finite dependence, which takes the logarithm of every frequency
TITLE, NEEDS = "CCP", ("next", "transitions", "form")

FIRST_STEPS = ("frequency", "logit")
NO_FIRST_STEP = "failed: the logit of the first step has no maximum (lower the degree)"
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
    ccps: str = "frequency",
    pseudo_count: float | None = None,
    degree: int = 3,
    stages: int | None = 1,
    max_stages: int = 200,
    finite_dependence: bool = False,
    renewal_action: int | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> list[Estimate]:
    """Two steps, or NPL, all data sets in one batch.

    Args:
        data: replications.
        anchor: its reward is used only with `theta_1_given`; its action is the default renewal.
        discount: beta.
        transition: (A, S, S) the true law over `grid`, the oracle's knowledge; a row loses the
            probability of an end. Without it, the frequencies of each data set.
        grid: (S, d) features of the states that `transition` is about.
        design: maps (n, d) features to (n, A, k); by default `bus_design`.
        offset: maps (n, d) features to (n, A), the known part of the reward; by default 0.
        theta_1_given: fix r(x, 1) at the anchor's reward. Only with the default form.
        ccps: frequency or logit, the first step.
        pseudo_count: added to every n(s, a) of the frequencies; by default 0, with
            `finite_dependence` 1/2.
        degree: of the logit's polynomial.
        stages: of NPL; 1: the two-step estimator; None: until nothing moves (npl.STAGE_TOLERANCE).
        max_stages: with stages=None.
        finite_dependence: use the renewal action's CCPs only, and no inversion.
        renewal_action: by default the anchor's.
        tolerance: of the logits, on the scaled gradient (choice_logit.py).
        max_iterations: Newton steps of a logit.

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance, objective
        (minus the pseudo-likelihood per observation), stages, inner_iterations.

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    started = time.process_time()
    if ccps not in FIRST_STEPS:
        raise InputError("ccps", ccps, f"choose one of {FIRST_STEPS}")
    check_whole("degree", degree, 0)
    limit = max_stages if stages is None else stages
    check_whole("max_stages" if stages is None else "stages", limit, 1)
    if not tolerance > 0:
        raise InputError("tolerance", tolerance, "give a positive number")
    check_whole("max_iterations", max_iterations, 1)
    if finite_dependence and stages != 1:
        raise InputError("stages", stages, "finite_dependence has one stage")
    if renewal_action is not None and not finite_dependence:
        raise InputError("renewal_action", renewal_action, "only with finite_dependence=True")
    if pseudo_count is not None and (
        isinstance(pseudo_count, bool)
        or not isinstance(pseudo_count, int | float)
        or not 0 <= pseudo_count < np.inf
    ):
        raise InputError("pseudo_count", pseudo_count, "give a finite number, 0 or more")
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
    usual = RENEWAL_PSEUDO_COUNT if finite_dependence else 0.0
    count = usual if pseudo_count is None else pseudo_count
    if finite_dependence:
        action = anchor.action if renewal_action is None else renewal_action
        if check_whole("renewal_action", action, 0) >= model.visits.shape[2]:
            raise InputError("renewal_action", action, "no such action")
        present = None if model.known else model.p_hat.present
        renewal.check_renewal(model.law, action, present, model.visits)
    if ccps == "frequency":
        first = frequencies(model.visits, model.states, float(count))
    else:
        first = fitted_choices(model.visits, model.states, degree, tolerance, max_iterations)
    if finite_dependence:
        noisy = ccps == "frequency"
        found = renewed(model, first, action, noisy, tolerance, max_iterations)
    else:
        found = nested_pseudo_likelihood(
            model.visits,
            first.policy,
            model.law,
            model.design,
            model.offset,
            model.discount,
            stages=limit,
            tolerance=tolerance,
            max_iterations=max_iterations,
        )
    seconds = (time.process_time() - started) / len(data)
    return _estimates(model, first, found, stages, seconds)


def renewed(
    model: Model,
    first: FirstStep,
    action: int,
    noisy: bool = True,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> CcpFit:
    """The logit of finite dependence; `noisy`: pi-hat are frequencies, whose noise enters se."""
    chosen = first.policy[:, :, action]
    if np.any(chosen == 0):
        r, s = (int(i) for i in np.argwhere(chosen == 0)[0])
        where = f"action {action} has no chance in state {model.states[s].tolist()} of set {r}"
        raise InputError("pseudo_count", 0, f"{where}: give a positive number")
    log_policy = np.log(chosen)
    x, known = renewal.regressors(
        log_policy, model.law, model.design, model.offset, model.discount, action
    )
    logit = maximise(model.visits, x, known, tolerance=tolerance, max_iterations=max_iterations)
    covariance = np.full_like(logit.covariance, np.nan)
    if noisy:
        covariance = renewal.sandwich(
            model.visits,
            first.cells,
            first.lender,
            x,
            np.exp(logit.log_policy),
            logit.covariance,
            model.law,
            model.discount,
            action,
        )
    reward = model.rewards(logit.theta)[:, :, action]
    v = renewal.value(log_policy, reward, model.law, model.discount, action)
    sets = len(model.visits)
    stages, settled = np.ones(sets, dtype=np.int64), np.zeros(sets, dtype=bool)
    return CcpFit(replace(logit, covariance=covariance), v, stages, logit.iterations, settled)


def _estimates(
    model: Model, first: FirstStep, found: CcpFit, stages: int | None, seconds: float
) -> list[Estimate]:
    logit = found.logit
    covariance = np.where(first.found[:, None, None], logit.covariance, np.nan)
    enough = found.settled if stages is None else np.ones_like(found.settled)
    converged = logit.converged & first.found & enough
    stopped = np.where(logit.identified, np.where(logit.regular, "", CERTAIN), UNIDENTIFIED)
    status = [
        NO_FIRST_STEP if not f else str(s) if s else "ok" if c else "not_converged"
        for f, s, c in zip(first.found, stopped, converged, strict=True)
    ]
    size = model.visits.sum(axis=(1, 2))
    one = stages == 1
    extra = [
        {
            "se": np.sqrt(np.diagonal(covariance[r])),
            "covariance": covariance[r],
            "objective": float(-logit.log_likelihood[r] / size[r]),
            "log_likelihood": float(logit.log_likelihood[r]),
            "inner_iterations": 0 if one else int(found.newton[r]),
            "stages": int(found.stages[r]),
        }
        for r in range(len(size))
    ]
    return estimates(
        "ccp",
        model,
        logit.theta,
        found.v,
        converged=converged,
        iterations=found.newton if one else found.stages,
        gradient_norm=np.max(np.abs(logit.gradient), axis=1),
        status=status,
        seconds=seconds,
        extra=extra,
    )
