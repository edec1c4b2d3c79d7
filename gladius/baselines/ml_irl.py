"""ML-IRL: offline inverse RL as maximum likelihood in an estimated model (Zeng et al. 2023).

The problem is bi-level: maximise the discounted likelihood of the expert's choices over theta,

    L(theta) = E_E[ sum_t beta^t log pi_theta(a_t | s_t) ],
    pi_theta soft-optimal for the reward r_theta + U under P-hat,

with U <= 0 a penalty for what P-hat does not know. As log pi = r + U + beta P-hat V - V,

    L(theta) = sum_{s,a} n(s, a) (r_theta + U)(s, a) - sum_s entry(s) V(s),
    entry    = n - beta P-hat' n,

with n the expert's discounted visits: what the states hold less what P-hat brings there. This is
NFXP's likelihood with beta^t of each choice in the place of 1, and nfxp.py maximises it. r is read
off as r_theta, without U. The form identifies theta: L of a table of rewards is flat along
potential shaping.

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
- U = -penalty / sqrt(1 + n(s, a)), n undiscounted; penalty = 0 by default. The experts of these
  data do not shun what is rarely seen, so U is a bias that vanishes with N, and the authors' scale
  (5.9) belongs to networks' spread. The paper's column has U = 0 as well, its P being known.
- Inner loop: `exact` solves the soft Bellman equation at every theta. `one_step` is the alternation
  of the originals: one soft policy improvement (the policy's value by a linear solve), one step of
  theta. Steps are Newton's: the rate of a plain gradient step depends on the units of features.
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
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp, softmax

from gladius.anchor import Anchor
from gladius.baselines import ccp, nfxp
from gladius.baselines.choice_logit import UNIDENTIFIED
from gladius.baselines.discounted import Paths, discounted_paths
from gladius.checks import Array, InputError, check_finite, check_whole
from gladius.estimate import Estimate
from gladius.linear_reward import KnownTransitions, LinearReward
from gladius.mdp import action_values, soft_bellman
from gladius.newton import SHORT_STEP, newton_step
from gladius.parametric import check_start, make_model, model_estimate
from gladius.transitions import Transitions

TITLE, NEEDS = "ML-IRL", ("next", "transitions", "form")
INNER = ("exact", "one_step", "finite_dependence")
TOLERANCE = 1e-6  # length of the alternation's last step in standard errors
POLICY_TOLERANCE = 1e-10  # Bellman residual of the alternation, relative to max(1, |V|)
LARGEST_MOVE = 5.0  # of any reward in a step of the alternation


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    transition: KnownTransitions | None = None,
    inner: str = "exact",
    penalty: float = 0.0,
    start: Array | None = None,
    max_iterations: int = 500,
) -> list[Estimate]:
    """ML-IRL of each data set.

    Args:
        data: replications; the rows of a trajectory in order of time.
        anchor: its action is the renewal action of `finite_dependence`.
        discount: beta.
        reward: the form of r, which has to be given.
        transition: the true P, an oracle's knowledge. Without it, the frequencies of each data set.
        inner: exact, one_step or finite_dependence (which has no `penalty` and no `start`).
        penalty: of U, 0 or more; 0 where P is given, for it is known.
        start: (R, k) first theta of each data set; by default 0.
        max_iterations: steps of theta.

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance, objective
        (-L over the discounted number of observations), inner_iterations.

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    started = time.process_time()
    if inner not in INNER:
        raise InputError("inner", inner, f"choose one of {INNER}")
    if check_finite("penalty", penalty).shape != () or penalty < 0:
        raise InputError("penalty", penalty, "give a number, 0 or more")
    if penalty > 0 and transition is not None:
        raise InputError("penalty", penalty, "given probabilities are known: leave it at 0")
    check_whole("max_iterations", max_iterations, 1)
    if inner == "finite_dependence":
        for name, value in [("penalty", penalty or None), ("start", start)]:
            if value is not None:
                raise InputError(name, value, "not with inner='finite_dependence'")
        renewed = ccp.fit(
            data, anchor, discount, reward=reward, transition=transition, finite_dependence=True
        )
        return [replace(estimate, method="ml_irl[finite_dependence]") for estimate in renewed]
    model = make_model(data, anchor, discount, reward, transition)
    first = check_start(start, (len(data), model.design.shape[2]))
    maximise = exact if inner == "exact" else one_step
    results, shared = [], (time.process_time() - started) / len(data)
    for r, paths in enumerate(discounted_paths(data, model.states, model.discount)):
        begun = time.process_time()
        problem = Problem(
            paths.visits * len(paths.opens),
            model.transition[r],
            model.design,
            model.offset - penalty / np.sqrt(1.0 + model.visits[r]),
            model.discount,
        )
        maximum = maximise(problem, first[r], max_iterations)
        rewards = model.rewards(maximum.theta[None])[0]  # without the penalty
        estimate = model_estimate(
            f"ml_irl[{inner}]",
            model,
            r,
            maximum.theta,
            _sandwich(maximum, problem, paths),
            soft_bellman(rewards, model.transition[r], model.discount).v,
            status=maximum.status,
            iterations=maximum.iterations,
            gradient_norm=maximum.gradient_norm,
            seconds=shared + time.process_time() - begun,
            extra={
                "objective": float(-maximum.objective / problem.visits.sum()),
                "inner_iterations": maximum.inner_iterations,
            },
        )
        results.append(estimate)
    return results


@dataclass(frozen=True)
class Problem:
    """L of one data set, summed over its paths."""

    visits: Array  # (S, A) discounted visits n
    transition: Array  # (A, S, S) P-hat
    design: Array  # (S, A, k)
    offset: Array  # (S, A), the known reward and the penalty
    discount: float  # beta

    def derivatives(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Gradient (k,), Hessian (k, k) of L, dQ (S, A, k) at the fixed point (S, A), (S,)."""
        gradient, hessian, dq = nfxp.derivatives(
            self.visits[None], self.transition[None], self.design, q[None], v[None], self.discount
        )
        return gradient[0], hessian[0], dq[0]


@dataclass(frozen=True)
class Maximum:
    """The maximum of L of one data set."""

    theta: Array  # (k,)
    q: Array  # (S, A) of the soft Bellman fixed point there
    v: Array  # (S,) of the same
    objective: float  # L
    gradient_norm: float  # largest entry of the gradient, per discounted observation
    iterations: int  # steps of theta
    inner_iterations: int  # policy steps: Bellman iterations, or one for each step of theta
    status: str  # ok, not_converged or "failed: why"


def exact(problem: Problem, start: Array, max_iterations: int) -> Maximum:
    """NFXP at the discounted visits."""
    fitted = nfxp.fit_counts(
        problem.visits[None],
        problem.transition,
        problem.design,
        problem.offset,
        problem.discount,
        start=start[None],
        max_iterations=max_iterations,
    )
    return Maximum(
        fitted.theta[0],
        fitted.q[0],
        fitted.v[0],
        float(fitted.log_likelihood[0]),
        float(np.max(np.abs(fitted.gradient))),
        int(fitted.iterations[0]),
        int(fitted.inner_iterations[0]),
        fitted.status[0],
    )


def one_step(problem: Problem, start: Array, max_iterations: int) -> Maximum:
    """One soft policy improvement and one step of theta in turn, from the uniform policy."""
    theta, beta = start.copy(), problem.discount
    policy = np.full(problem.visits.shape, 1 / problem.visits.shape[1])
    iterations, status = 0, "not_converged"
    while True:
        reward = problem.offset + problem.design @ theta
        old = policy_value(policy, reward, problem.transition, beta)
        q = action_values(reward, problem.transition, beta, old)
        v = logsumexp(q, axis=1)
        residual = np.max(np.abs(v - old))
        policy = np.maximum(softmax(q, axis=1), np.finfo(float).tiny)
        gradient, hessian, _ = problem.derivatives(q, v)
        steps, _, is_regular, is_definite = newton_step(-gradient[None], -hessian[None])
        step = steps[0]
        is_short = np.all(np.abs(step) <= SHORT_STEP * (1 + np.abs(theta)))
        is_solved = residual <= POLICY_TOLERANCE * max(1.0, np.max(np.abs(v)))
        if is_solved and gradient @ step <= TOLERANCE**2:
            if is_definite[0] and is_short:
                status = "ok"
            elif not is_regular[0]:
                status = UNIDENTIFIED
        if status != "not_converged" or iterations == max_iterations:
            break
        move = np.max(np.abs(problem.design @ step))
        theta = theta + step * LARGEST_MOVE / max(move, LARGEST_MOVE)
        iterations += 1
    objective = float(np.sum(problem.visits * (q - v[:, None])))
    norm = float(np.max(np.abs(gradient)) / problem.visits.sum())
    return Maximum(theta, q, v, objective, norm, iterations, iterations + 1, status)


def policy_value(policy: Array, reward: Array, transition: Array, discount: float) -> Array:
    """(S,) V of those who choose by `policy` (all entries positive), entropy included."""
    now = np.sum(policy * (reward - np.log(policy)), axis=1)
    flow = np.einsum("sa,ast->st", policy, transition)
    return np.linalg.solve(np.eye(len(flow)) - discount * flow, now).astype(np.float64)


def _sandwich(maximum: Maximum, problem: Problem, paths: Paths) -> Array:
    """(k, k) covariance of theta from the spread of the paths' own gradients."""
    parameters = len(maximum.theta)
    if maximum.status != "ok" or len(paths.opens) <= parameters:
        return np.full((parameters, parameters), np.nan)
    _, hessian, dq = problem.derivatives(maximum.q, maximum.v)
    policy = np.exp(maximum.q - maximum.v[:, None])
    scores = paths.sums(dq - np.einsum("sa,sak->sk", policy, dq)[:, None])
    bread = np.linalg.inv(hessian)
    return np.asarray(bread @ (scores.T @ scores) @ bread)
