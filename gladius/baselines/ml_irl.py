"""ML-IRL: offline inverse RL as maximum likelihood in an estimated model (Zeng et al. 2023).

The problem is bi-level: maximise the discounted likelihood of the expert's choices over theta,

    max_theta E_E[ sum_t beta^t log pi_theta(a_t | s_t) ],
    pi_theta soft-optimal for the reward r_theta + U under P-hat,

with U <= 0 a penalty for what P-hat does not know. As log pi = r + U + beta P-hat V - V, the sum
telescopes where the paths move by P-hat, and what the algorithm climbs is

    L(theta) = E_E[ sum_{t<H} beta^t (r_theta + U) + beta^H V(s_H) ] - E[ V(s_0) ],
    grad L   = E_E[ sum beta^t grad r ] - E_{pi_theta, P-hat}[ sum beta^t grad r ]

(Zeng et al. 2022, Equations 8-9, for the online method): occupancies are matched, weighted by the
gradient of the reward. For r = design'theta + offset, V is convex in theta, so L is concave (but
for its term in beta^H). r is read off as r_theta, without U.

Needs: beta, the law of s' (its frequencies, or given), the form of r, which identifies theta (a
table of rewards is not identified: L is flat along potential shaping), and whole paths in order of
time. No anchor (its reward enters with `theta_1_given` only).

What had to be decided:
- The sums stop at H, the model's do not. Left alone (`tail="none"`), that is a bias which no N
  removes: on the bus engine, H = 100, beta = .95, beta^H = .6 % of each occupancy, which moves the
  maximum from theta = (1, 5) to (1.068, 5.341), a MAPE of 6.8 in the population, because a level
  of costs is all but invisible to choices (numbers of test_ml_irl.py). By default (`tail="model"`)
  the model continues each path from s_H, the term beta^H V(s_H); L is then, in expectation,
  the likelihood of the observed choices, and theta consistent at any H.
- Discounting: as in the objective of the paper. The authors' public code takes undiscounted means
  over roll-outs of 200 steps, which is the gradient of no likelihood. Discounted, a path of 100
  periods counts as 20: theta is consistent, but with more variance than NFXP.
- L, as the algorithm does, not the likelihood under P-hat itself: they differ by the noise of
  beta^(t+1) (V(s_{t+1}) - P-hat V) along the paths, which vanishes with N. With discounted
  frequencies in the place of P-hat they are the same function, NFXP's with visits beta^t.
- P-hat: the frequencies of all moves, in the place of the authors' 7 to 12 networks.
- U = -penalty / sqrt(1 + n(s, a)), finite and largest where nothing is known; penalty = 0 by
  default. The experts of these data do not shun what is rarely seen, so U is a bias that vanishes
  with N, and the authors' scale (5.9) belongs to networks' spread, not to counts. The paper's
  column has U = 0 as well, its law being known.
- Inner loop: `exact` solves the soft Bellman equation at every theta, and Newton steps with the
  exact Hessian take the place of Adam. `one_step` is the alternation of the originals: one soft
  policy improvement (the policy's value by a linear solve), one step of theta. The step is scaled
  by the information, for a plain gradient step has a rate that depends on the units of features.
- `finite_dependence` is what the paper's column ML-IRL computes: CCPs by frequencies and the
  renewal action's shortcut, so that no Bellman equation is solved. That is the CCP estimator of
  Arcidiacono and Miller (ccp.py, its decisions and standard errors), neither weighted by beta^t nor
  matching occupancies: another method, which needs a renewal action, the anchor's.
- Standard errors: the sandwich over paths, P-hat taken as known (NaN where there are no more paths
  than parameters). The 2023 paper gives rates, not standard errors. With frequencies for the law
  they leave out the noise of P-hat, which can make them too small or too large: in 400 data sets
  (16 states, 3 actions, 100 paths of at most 20 periods) their mean over the standard deviation of
  theta was 1.2, 1.6, 1.5 and 1.0 for the four parameters, and 1.0 each with the law given. A
  bootstrap over paths (50 resamples of each of 20 of the data sets) gave 1.0, 1.0, 1.1 and 1.1.
- Networks for r (2 x 256, clamped at +-10, in the code) are left out: concavity, and with it the
  guarantee, is for linear r.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gladius.anchor import Anchor
from gladius.baselines import ccp
from gladius.baselines.discounted import Discounted, discounted
from gladius.baselines.ml_irl_solver import Found, Problem, exact, one_step
from gladius.checks import Array, InputError, check_finite, check_whole
from gladius.estimate import Estimate
from gladius.mdp import soft_bellman
from gladius.parametric import Model, TableFunction, estimates, make_model
from gladius.transitions import Transitions

TITLE, NEEDS = "ML-IRL", ("next", "transitions", "form")
INNER = ("exact", "one_step", "finite_dependence")
TAILS = ("model", "none")


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
    inner: str = "exact",
    tail: str = "model",
    penalty: float = 0.0,
    start: Array | None = None,
    learning_rate: float = 1.0,
    tolerance: float = 1e-9,
    max_iterations: int = 500,
) -> list[Estimate]:
    """ML-IRL of each data set, all in one batch.

    Args:
        data: replications; the rows of a trajectory in order of time.
        anchor: its reward is used only with `theta_1_given`; its action is the renewal action of
            `finite_dependence`.
        discount: beta.
        transition: (A, S, S) the true law over `grid`, an oracle's knowledge; a row loses the
            probability of an end. Without it, the frequencies of each data set.
        grid: (S, d) features of the states that `transition` is about.
        design: maps (n, d) features to (n, A, k); by default `bus_design`.
        offset: maps (n, d) features to (n, A), the known part of the reward; by default 0.
        theta_1_given: fix r(x, 1) at the anchor's reward. Only with the default form.
        inner: exact, one_step or finite_dependence (which takes the options above only, and
            `tolerance` and `max_iterations`).
        tail: model or none, what follows the last row of a path that is not done.
        penalty: of U, 0 or more; 0 where the law is given, for it is known.
        start: (k,) or (R, k) first theta, by default 0.
        learning_rate: of `one_step`, the share of the scaled step that is taken, in (0, 1].
        tolerance: on the gradient per path over the root of its information.
        max_iterations: steps of theta.

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance, objective
        (-L over the discounted number of observations), inner_iterations.

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    started = time.process_time()
    _check(inner, tail, penalty, learning_rate, tolerance, max_iterations, transition)
    shared = {
        "transition": transition,
        "grid": grid,
        "design": design,
        "offset": offset,
        "theta_1_given": theta_1_given,
    }
    if inner == "finite_dependence":
        for name, value, given in [
            ("penalty", penalty, penalty != 0),
            ("start", start, start is not None),
            ("tail", tail, tail != "model"),
            ("learning_rate", learning_rate, learning_rate != 1),
        ]:
            if given:
                raise InputError(name, value, "not with inner='finite_dependence'")
        return [
            replace(one, method="ml_irl[finite_dependence]")
            for one in ccp.fit(
                data,
                anchor,
                discount,
                finite_dependence=True,
                tolerance=tolerance,
                max_iterations=max_iterations,
                **shared,  # type: ignore[arg-type]  # values of several types
            )
        ]
    model = make_model(data, anchor, discount, **shared)  # type: ignore[arg-type]  # likewise
    first = _start(start, len(data), model.design.shape[2])
    paths = discounted(data, model.states, model.discount, model.design)
    found = solve(
        model,
        paths,
        inner=inner,
        tail=tail,
        penalty=penalty,
        start=first,
        learning_rate=learning_rate,
        tolerance=tolerance,
        max_iterations=max_iterations,
    )
    covariance = _sandwich(found, paths, tail)
    v = soft_bellman(model.rewards(found.theta), model.law, model.discount).v
    size = paths.visits.sum(axis=(1, 2))
    extra = [
        {
            "se": np.sqrt(np.diagonal(covariance[r])),
            "covariance": covariance[r],
            "objective": float(-found.objective[r] / size[r]),
            "inner_iterations": int(found.inner_iterations[r]),
        }
        for r in range(len(data))
    ]
    return estimates(
        f"ml_irl[{inner}]",
        model,
        found.theta,
        v,
        converged=found.converged,
        iterations=found.iterations,
        gradient_norm=np.max(np.abs(found.gradient), axis=1) / size,
        status=found.status,
        seconds=(time.process_time() - started) / len(data),
        extra=extra,
    )


def solve(
    model: Model,
    paths: Discounted,
    *,
    inner: str = "exact",
    tail: str = "model",
    penalty: float = 0.0,
    start: Array | None = None,
    learning_rate: float = 1.0,
    tolerance: float = 1e-9,
    max_iterations: int = 500,
) -> Found:
    """Maximise L for the R replications of a model; options as in `fit`."""
    known = np.broadcast_to(model.offset, model.visits.shape)
    problem = Problem(
        visits=paths.visits,
        entry=paths.first - paths.last if tail == "model" else paths.first,
        law=model.law,
        design=model.design,
        offset=known - penalty / np.sqrt(1.0 + model.visits),
        discount=model.discount,
        start=_start(start, len(model.visits), model.design.shape[2]),
    )
    if inner == "one_step":
        return one_step(problem, tolerance, max_iterations, learning_rate)
    return exact(problem, tolerance, max_iterations)


def _sandwich(found: Found, paths: Discounted, tail: str) -> Array:
    """(R, k, k) covariance of theta from the spread of the paths' own gradients."""
    sets, k = found.theta.shape
    covariance = np.full((sets, k, k), np.nan)
    for r, ends in enumerate(paths.ends):
        number = len(ends.first)
        if not found.converged[r] or number <= k:
            continue
        scores = ends.sums - found.dv[r, ends.first]
        if tail == "model":
            scores = scores + ends.weight[:, None] * found.dv[r, ends.last]
        bread = np.linalg.inv(found.information[r])
        covariance[r] = bread @ (scores.T @ scores) @ bread / number**2
    return covariance


def _start(start: Array | None, sets: int, k: int) -> Array:
    if start is None:
        return np.zeros((sets, k))
    given = check_finite("start", start)
    if given.shape not in [(k,), (sets, k)]:
        raise InputError("start", given.shape, f"give shape {(k,)} or {(sets, k)}")
    return np.array(np.broadcast_to(given, (sets, k)))


def _check(
    inner: str,
    tail: str,
    penalty: float,
    learning_rate: float,
    tolerance: float,
    max_iterations: int,
    transition: Array | None,
) -> None:
    if inner not in INNER:
        raise InputError("inner", inner, f"choose one of {INNER}")
    if tail not in TAILS:
        raise InputError("tail", tail, f"choose one of {TAILS}")
    if check_finite("penalty", penalty).shape != () or penalty < 0:
        raise InputError("penalty", penalty, "give a number, 0 or more")
    if penalty > 0 and transition is not None:
        raise InputError("penalty", penalty, "a given law is known: leave the penalty at 0")
    if check_finite("learning_rate", learning_rate).shape != () or not 0 < learning_rate <= 1:
        raise InputError("learning_rate", learning_rate, "give a number above 0, at most 1")
    if check_finite("tolerance", tolerance).shape != () or not tolerance > 0:
        raise InputError("tolerance", tolerance, "give a positive number")
    check_whole("max_iterations", max_iterations, 1)
