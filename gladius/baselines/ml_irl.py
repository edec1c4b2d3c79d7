"""ML-IRL: offline inverse RL as maximum likelihood in an estimated model (Zeng et al. 2023).

The problem is bi-level: maximise the discounted likelihood of the expert's choices over theta,

    L(theta) = E_E[ sum_t beta^t log pi_theta(a_t | s_t) ],
    pi_theta soft-optimal for the reward r_theta under P-hat.

As log pi = r + beta P-hat V - V,

    L(theta) = sum_{s,a} n(s, a) r_theta(s, a) - sum_s entry(s) V(s),
    entry    = n - beta P-hat' n,

with n the expert's discounted visits: what the states hold less what P-hat brings there. This is
NFXP's likelihood with beta^t of each choice in the place of 1, and nfxp.py maximises it. The form
identifies theta: L of a table of rewards is flat along potential shaping.

What had to be decided:
- L itself, and not the surrogate that the originals climb, where `entry` is the share of the paths
  that start in s, E_E[sum beta^t r] - E[V(s_0)] (Zeng et al. 2022, Equations 8-9). The two differ
  by the noise of V(s') along the paths and by what lies beyond their ends: with saturated forms the
  error of r was 2 to 6 times NFXP's, and on paths cut off at H the surrogate has a bias that no N
  removes (on the bus engine, H = 100, a MAPE of 6.8 in the population).
- Discounting: as in the objective of the paper. The authors' public code takes undiscounted means
  over roll-outs of 200 steps, which is the gradient of no likelihood. Discounted, a path of 100
  periods counts as 20: theta is consistent, but with more variance than NFXP.
- P-hat: the frequencies of all moves, in the place of the authors' 7 to 12 networks.
- The originals add a penalty U <= 0 to r for what P-hat does not know. The experts of these data do
  not shun what is rarely seen, so U = 0, as in the paper's column, whose P is known.
- The originals alternate one soft policy improvement and one step of theta. Here the soft Bellman
  equation is solved at every theta; both end at the same maximum.
- `finite_dependence` is what the paper's column ML-IRL computes: the CCP estimator of Arcidiacono
  and Miller (ccp.py), not weighted by beta^t, and another method.
- Standard errors: the sandwich over paths, P-hat taken as known, as in nfxp.py (NaN where there are
  no more paths than parameters). The 2023 paper gives rates, not standard errors.
- Networks for r (2 x 256, clamped at +-10, in the code) are left out: concavity, and with it the
  guarantee, is for linear r.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gladius.anchor import Anchor
from gladius.baselines import ccp, nfxp
from gladius.baselines.discounted import Paths, discounted_paths
from gladius.checks import Array, InputError, check_choice
from gladius.estimate import Estimate
from gladius.linear_reward import KnownTransitions, LinearReward
from gladius.parametric import Model, check_start, make_model, model_estimate
from gladius.transitions import Transitions

TITLE, NEEDS = "ML-IRL", ("next", "transitions", "form")
INNER = ("exact", "finite_dependence")
MAX_STEPS = 500  # of Newton


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    transition: KnownTransitions | None = None,
    inner: str = "exact",
    start: Array | None = None,
) -> list[Estimate]:
    """ML-IRL of each data set.

    Args:
        data: replications; the rows of a trajectory in order of time.
        anchor: its action is the renewal action of `finite_dependence`.
        discount, reward, transition, start: as in `nfxp.fit`.
        inner: exact or finite_dependence (which has no `start`).

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance, objective
        (-L over the discounted number of observations), inner_iterations.

    Errors are those of `nfxp.fit`.
    """
    started = time.process_time()
    check_choice("inner", inner, INNER)
    if inner == "finite_dependence":
        if start is not None:
            raise InputError("start", start, "not with inner='finite_dependence'")
        renewed = ccp.fit(
            data, anchor, discount, reward=reward, transition=transition, finite_dependence=True
        )
        return [replace(estimate, method="ml_irl[finite_dependence]") for estimate in renewed]
    model = make_model(data, anchor, discount, reward, transition)
    first = check_start(start, (len(data), model.design.shape[2]))
    results, shared = [], (time.process_time() - started) / len(data)
    for r, paths in enumerate(discounted_paths(data, model.states, model.discount)):
        begun = time.process_time()
        visits = len(paths.opens) * paths.visits
        fitted = nfxp.fit_counts(
            visits[None],
            model.transition[r],
            model.design,
            model.offset,
            model.discount,
            start=first[[r]],
            max_iterations=MAX_STEPS,
        )
        estimate = model_estimate(
            "ml_irl[exact]",
            model,
            r,
            fitted.theta[0],
            _sandwich(fitted, model, r, paths),
            fitted.v[0],
            status=fitted.status[0],
            iterations=int(fitted.iterations[0]),
            gradient_norm=float(np.max(np.abs(fitted.gradient))),
            seconds=shared + time.process_time() - begun,
            extra={
                "objective": float(-fitted.log_likelihood[0] / visits.sum()),
                "inner_iterations": int(fitted.inner_iterations[0]),
            },
        )
        results.append(estimate)
    return results


def _sandwich(fitted: nfxp.NfxpFit, model: Model, replication: int, paths: Paths) -> Array:
    """(k, k) covariance of theta from the spread of the paths' own gradients."""
    parameters = fitted.theta.shape[1]
    if fitted.status[0] != "ok" or len(paths.opens) <= parameters:
        return np.full((parameters, parameters), np.nan)
    visits = len(paths.opens) * paths.visits[None]
    transition = model.transition[[replication]]
    _, hessian, slope = nfxp.derivatives(
        visits, transition, model.design, fitted.q, fitted.v, model.discount
    )
    policy = np.exp(fitted.q - fitted.v[..., None])
    centred = slope - np.einsum("rsa,rsak->rsk", policy, slope)[:, :, None]
    scores = paths.sums(centred[0])
    bread = np.linalg.inv(hessian[0])
    return np.asarray(bread @ (scores.T @ scores) @ bread)
