"""Model-enhanced AIRL (Zhan et al. 2024), tabular.

A discriminator D = exp f / (exp f + pi) learns to tell the data from roll-outs of a generator pi,
by minimising -E_data[ln D] - E_rollouts[ln(1 - D)]; the generator is paid ln D - ln(1 - D) =
f - ln pi, so it is the soft-optimal policy for the reward f. With T-hat a model of the moves

    f(s, a) = g(s, a) + beta E_T-hat[phi(s') | s, a] - phi(s),

and the reward is read off as g. At the optimum f = ln pi_E, the expert's log choice probabilities,
and any phi whatever fits: g = ln pi_E + phi - beta E[phi]. Which of them comes out is decided by
the start of the optimiser and nothing in the data (`start_spread`). `anchored=True` is a
different, identified estimator: it fixes g(., anchor) at the anchor's reward, which leaves one phi
(V*) and one g (r).

What had to be decided (the text of the model-enhanced original was not at hand; f follows its
abstract):

- Tables in place of networks, the same for g, phi and T-hat; no weight decay, no clipping.
- Roll-outs in T-hat: one for each path of the data, from its first state and as long (as the
  longest path where it ended by itself), their expected counts computed exactly, then scaled to as
  many rows as the data have. Rows count alike in both classes (no beta^t), as in the original code.
- PSEUDO_COUNT rows are added to every (s, a) of the data, and as many rows in each state, chosen
  by the generator's policy, to the roll-outs, which biases nothing at the point where they match.
  An unseen action would else have no finite minimiser f.
- The alternation: generator exactly soft-optimal for f, discriminator exactly minimised against it,
  f moved a share of the way to that minimiser: 1/2 at most, halved when the gradient grew (the
  original takes few gradient steps, and keeps roll-outs of old generators, to the same end).
- Converged: with the generator soft-optimal for f, the discriminator's gradient at the roll-outs
  of that generator is below TOLERANCE in every cell, relative to the rows there.
- Off the grid g is that of the nearest state; if anchored, the log-odds are.

`extra`: objective is the discriminator's cross-entropy, ln 4 where f is free and the data and the
roll-outs are alike (a game's value: it says nothing about g); occupancy_tv the total variation of
data and roll-outs, pseudo rows left out; log_policy_gap the largest difference, over states seen,
of the generator's log policy from the smoothed log frequencies of the data; g, phi on `states`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from gladius.anchor import Anchor, NearestState, check_anchor_support
from gladius.baselines.ccp import frequencies
from gladius.checks import Array, InputError, check_finite, generators
from gladius.estimate import Estimate, StateFunction
from gladius.linear_reward import KnownTransitions
from gladius.mdp import soft_bellman
from gladius.parametric import Grid, grid_estimate, make_grid, positions
from gladius.transition_probabilities import from_choices
from gladius.transitions import Transitions

TITLE, NEEDS = "Model-enhanced AIRL", ("next", "transitions")
PSEUDO_COUNT = 0.5
MAX_STEPS = 2000  # rounds of the game
TOLERANCE = 1e-9  # on the discriminator's relative gradient against its own generator
FIRST_STEP = 0.5  # share of the way to the discriminator's minimiser
SMALLEST_STEP = 2.0**-10
GROWTH = 1.05  # of the share after a round in which the gradient fell

REPORTED = ("inner_iterations", "objective", "occupancy_tv", "log_policy_gap", "g", "phi")


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    transition: KnownTransitions | None = None,
    anchored: bool = False,
    start_spread: float = 0.0,
    rng: int | Sequence[np.random.Generator] = 0,
) -> list[Estimate]:
    """AIRL on each data set.

    Args:
        data: replications.
        anchor: used by the fit only if `anchored`; its Bellman error is reported.
        discount: beta.
        transition: the true T, an oracle's knowledge; Q is then defined on its grid only. By
            default T-hat is the frequencies of each data set.
        anchored: g(., anchor) = the anchor's reward. Not AIRL as published: it identifies r.
        start_spread: standard deviation of normal draws where g and phi start; 0: at zero.
        rng: of those draws: a seed, or one generator for each data set.

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    rngs = generators(rng, len(data))
    if float(check_finite("start_spread", start_spread)) < 0:
        raise InputError("start_spread", start_spread, "give a number, 0 or more")
    level = anchor if anchored else None
    results = []
    for replication, generator in zip(data, rngs, strict=True):
        started = time.process_time()
        grid = make_grid([replication], discount, transition)
        if anchored and not grid.is_known:
            check_anchor_support(grid.counts, anchor.action)
        visits = grid.visits[0]
        equilibrium = fit_counts(
            grid.states,
            visits,
            grid.transition[0],
            path_starts(replication, grid.states),
            grid.discount,
            anchor=level,
            start=(
                start_spread * generator.standard_normal(visits.shape),
                start_spread * generator.standard_normal(len(visits)),
            ),
        )
        reported = {name: getattr(equilibrium, name) for name in REPORTED}
        estimate = grid_estimate(
            "airl_anchored" if anchored else "airl",
            grid,
            0,
            anchor,
            equilibrium.g,
            equilibrium.v,
            *_functions(grid, equilibrium, level),
            status=equilibrium.status,
            iterations=equilibrium.iterations,
            gradient_norm=equilibrium.gradient,
            seconds=time.process_time() - started,
            extra={"states": grid.states, **reported},
        )
        results.append(estimate)
    return results


def _functions(
    grid: Grid, equilibrium: Equilibrium, anchor: Anchor | None
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) of any features: tables of the nearest state, carried on by the Bellman equation."""
    if anchor is not None and not grid.is_known:
        advantage = equilibrium.q - equilibrium.q[:, [anchor.action]]
        table = NearestState(grid.states, advantage)
        return from_choices(table, equilibrium.v, grid.p_hat, 0, anchor, grid.discount)
    reward = NearestState(grid.states, equilibrium.g)
    return grid.q_function(0, reward, equilibrium.v), reward


@dataclass(frozen=True)
class Equilibrium:
    """Where neither player can gain."""

    f: Array  # (S, A) the discriminator's f
    g: Array  # (S, A) a part of f
    phi: Array  # (S,) the other part
    q: Array  # (S, A) of the reward g in T-hat; softmax(q) is the generator
    v: Array  # (S,) of the same
    gradient: float  # largest entry of the discriminator's, per row
    objective: float  # this and the next two: see the module
    occupancy_tv: float
    log_policy_gap: float
    iterations: int  # rounds of the game
    inner_iterations: int  # steps of the generator's planning
    status: str  # ok, not_converged or diverged


def fit_counts(
    states: Array,
    visits: Array,
    transition: Array,
    paths: Array,
    discount: float,
    *,
    anchor: Anchor | None = None,
    pseudo_count: float = PSEUDO_COUNT,
    start: tuple[Array, Array] | None = None,
    tolerance: float = TOLERANCE,
) -> Equilibrium:
    """The alternation from counts.

    Args:
        states: (S, d) features.
        visits: (S, A) rows of the data.
        transition: (A, S, S) T-hat.
        paths: (H, S) where the roll-outs start: see `expected_rows`.
        start: g (S, A) and phi (S,); by default zero.
        pseudo_count, tolerance: 0 and less than the defaults in a population.
        The rest as in `fit`, the anchor for the anchored form alone.
    """
    log_expert = np.log(frequencies(visits[None], states, pseudo_count).policy[0])
    seen, pseudo = visits.sum(axis=1), visits.shape[1] * pseudo_count
    expert = (seen + pseudo)[:, None] * np.exp(log_expert)
    g, phi = start or (np.zeros(visits.shape), np.zeros(len(states)))
    f, v = g + shaping(phi, transition, discount), np.zeros(len(states))
    residual, step = np.inf, FIRST_STEP
    rounds = inner = 0
    while True:
        planned = soft_bellman(f, transition, discount, start=v)
        v, inner = planned.v, inner + planned.iterations
        flow = np.einsum("ia,aij->ij", planned.policy, transition)
        rolled = expected_rows(paths, flow, seen.sum()) + pseudo
        log_policy = planned.q - v[:, None]
        generated = rolled[:, None] * np.exp(log_policy)
        d = expit(f - log_policy)
        slope = generated * d - expert * (1 - d)  # dL / df, a sum over so many rows of the cell
        rows = expert + generated
        last, residual = residual, float(np.max(np.abs(slope) / np.where(rows > 0, rows, 1.0)))
        converged = residual <= tolerance and planned.converged
        if converged or not np.isfinite(residual) or rounds == MAX_STEPS:
            break
        # the discriminator's minimiser is ln pi + ln(expert / generated), without a tiny pi below
        best = np.log(expert) - np.log(rolled)[:, None]
        factor = 0.5 if residual > last else GROWTH
        step = float(np.clip(factor * step, SMALLEST_STEP, FIRST_STEP))
        f = f + step * (best - f)
        rounds += 1
    if anchor is None:
        phi = nearest_potential(f - g, phi, transition, discount)
    else:
        level = anchor.values(states) - f[:, anchor.action]
        phi = np.linalg.solve(np.eye(len(v)) - discount * transition[anchor.action], level)
    g = f - shaping(phi, transition, discount)
    v = v + phi  # shaping by phi shifts the value by it
    gap = f - log_policy
    loss = expert * np.logaddexp(0, -gap) + generated * np.logaddexp(0, gap)
    policy = np.exp(log_policy)
    apart = seen[:, None] * np.exp(log_expert) - (rolled - pseudo)[:, None] * policy
    unfinished = "not_converged" if np.isfinite(residual) else "diverged"
    return Equilibrium(
        f=f,
        g=g,
        phi=phi,
        q=g + discount * np.einsum("aij,j->ia", transition, v),
        v=v,
        gradient=float(np.max(np.abs(slope)) / expert.sum()),
        objective=float(loss.sum() / expert.sum()),
        occupancy_tv=float(np.abs(apart).sum() / (2 * seen.sum())),
        log_policy_gap=float(np.abs(log_policy - log_expert)[seen > 0].max()),
        iterations=rounds,
        inner_iterations=inner,
        status="ok" if converged else unfinished,
    )


def shaping(phi: Array, transition: Array, discount: float) -> Array:
    """(S, A) beta E[phi(s')] - phi(s) from (S,) phi and (A, S, S) T-hat."""
    following = np.einsum("aij,j->ia", transition, phi)
    return np.asarray(discount * following - phi[:, None])


def nearest_potential(gap: Array, phi: Array, transition: Array, discount: float) -> Array:
    """(S,) phi of the (g, phi) nearest to a start, from its phi and f less its g, (S, A)."""
    eye = np.eye(len(phi))
    columns = np.concatenate(discount * transition - eye)
    right = phi + columns.T @ gap.T.ravel()
    return np.asarray(np.linalg.solve(eye + columns.T @ columns, right))


def expected_rows(starts: Array, flow: Array, total: float) -> Array:
    """(S,) expected visits of roll-outs, scaled to a total.

    They are sum_h (P')^h n_h with n_h row h of `starts` (H, S), by Horner's rule; `flow` (S, S) are
    the probabilities of the moves of a policy.
    """
    x = np.zeros(len(flow))
    for starting in starts[::-1]:
        x = starting + flow.T @ x
    return np.asarray(x * (total / x.sum()))


def path_starts(data: Transitions, grid: Array) -> Array:
    """(H, S) how many paths of more than h periods start in s.

    A path that ended by itself is rolled out as long as the data set's longest one.
    """
    _, first, label, length = np.unique(
        data.trajectory, return_index=True, return_inverse=True, return_counts=True
    )
    ended = np.bincount(label.reshape(-1), weights=data.done, minlength=len(first)) > 0
    length[ended] = length.max()
    last = np.zeros((length.max(), len(grid)))
    np.add.at(last, (length - 1, positions(grid, data.states[first])), 1.0)
    return np.asarray(np.cumsum(last[::-1], axis=0)[::-1])
