"""Model-enhanced AIRL (Zhan et al. 2024), tabular.

A discriminator D = exp f / (exp f + pi) learns to distinguish the data from roll-outs of a
generator pi, by minimising -E_data[ln D] - E_rollouts[ln(1 - D)]. The generator's reward is
ln D - ln(1 - D) = f - ln pi, so that it is the soft-optimal policy for f. With T-hat a model of P

    f(s, a) = g(s, a) + beta E_T-hat[phi(s') | s, a] - phi(s),

and the reward is read off as g. At the optimum f = ln pi_E, and any phi fits. The start decides
which is found (`start_spread`). `anchored=True` is a different, identified estimator: g(., anchor)
is the anchor's reward, which leaves one phi (V*) and one g (r).

Implementation choices (the text of the model-enhanced original was not at hand):

- Tables replace networks for g, phi and T-hat.
- One roll-out in T-hat for each path of the data, from its first state and as long (as the longest
  path where it ended by itself). Expected counts are exact, scaled to as many observations.
- PSEUDO_COUNT observations are added to every (s, a) of the data, and as many in each state, chosen
  by the generator's policy, to the roll-outs. This biases nothing where the two match.
- f moves a share of the way to the discriminator's exact minimiser: 1/2 at most, halved when the
  gradient grew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import identity, issparse
from scipy.sparse.linalg import splu
from scipy.special import expit

from gladius.model.estimate import Estimate, Fit, StateFunction
from gladius.model.frequencies import anchored_value, from_choices
from gladius.model.inversion import choice_frequencies
from gladius.model.mdp import soft_bellman
from gladius.model.parametric import Grid, make_grid, positions
from gladius.model.reward_form import KnownTransitions
from gladius.panel.anchor import Anchor, NearestState, check_anchor_support
from gladius.panel.moves import Table, by_pair, means
from gladius.panel.record import Transitions
from gladius.validate import Array, InputError, check_finite, generators

TITLE, NEEDS = "Model-enhanced AIRL", ("next", "transitions")
PSEUDO_COUNT = 0.5
MAX_STEPS = 2000  # rounds of the game
TOLERANCE = 1e-9  # on the discriminator's gradient in each cell, relative to its observations
FIRST_STEP = 0.5  # share of the way to the discriminator's minimiser
SMALLEST_STEP = 2.0**-10
GROWTH = 1.05  # of the share after a round in which the gradient fell


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
        transition: the true T; by default the frequencies of each data set.
        anchored: g(., anchor) = the anchor's reward. Not AIRL as published: it identifies r.
        start_spread: standard deviation of normal draws, by `rng`, where g and phi start.

    `extra` holds the discriminator's objective, and g and phi on `states`.
    """
    rngs = generators(rng, len(data))
    if float(check_finite("start_spread", start_spread)) < 0:
        raise InputError("start_spread", start_spread, "give a number, 0 or more")
    level = anchor if anchored else None
    estimates = []
    for replication, generator in zip(data, rngs, strict=True):
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
        fitted = Fit(
            *_functions(grid, equilibrium, level),
            status=equilibrium.status,
            iterations=equilibrium.iterations,
            gradient_norm=equilibrium.gradient,
            inner_iterations=equilibrium.inner_iterations,
            extra={
                "objective": equilibrium.objective,
                "states": grid.states,
                "g": equilibrium.g,
                "phi": equilibrium.phi,
            },
        )
        estimates += grid.estimates("airl_anchored" if anchored else "airl", [fitted], anchor)
    return estimates


def _functions(
    grid: Grid, equilibrium: Equilibrium, anchor: Anchor | None
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) of any features: tables of the nearest state, carried on by the Bellman equation."""
    if anchor is not None and not grid.is_known:
        log_policy = equilibrium.log_policy
        table = NearestState(grid.states, log_policy - log_policy[:, [anchor.action]])
        return from_choices(table, equilibrium.v, grid.p_hat, 0, anchor, grid.discount)
    reward = NearestState(grid.states, equilibrium.g)
    return grid.q_function(0, reward, equilibrium.v), reward


@dataclass(frozen=True)
class Equilibrium:
    """Where neither player can gain."""

    f: Array  # (S, A) the discriminator's f
    g: Array  # (S, A), and phi (S,): the two terms of f
    phi: Array
    v: Array  # (S,) V of the reward g in T-hat
    log_policy: Array  # (S, A) of the generator
    gradient: float  # largest entry of the discriminator's, per observation
    objective: float  # its cross-entropy, ln 4 where data and roll-outs are alike
    iterations: int  # rounds of the game
    inner_iterations: int  # steps of the generator's planning
    status: str  # ok, not_converged or diverged


def fit_counts(
    states: Array,
    visits: Array,
    transition: Table,
    paths: Array,
    discount: float,
    *,
    anchor: Anchor | None = None,
    pseudo_count: float = PSEUDO_COUNT,
    start: tuple[Array, Array] | None = None,
    tolerance: float = TOLERANCE,
) -> Equilibrium:
    """The alternation from (S, A) counts n(s, a) under (A, S, S) T-hat.

    Args:
        paths: (H, S) where the roll-outs start: see `expected_visits`.
        anchor: of the anchored form; None: AIRL as published.
        pseudo_count, tolerance: smaller in a population.
        start: g (S, A) and phi (S,); by default zero.
    """
    size, pseudo = visits.sum(), visits.shape[1] * pseudo_count
    log_expert = np.log(choice_frequencies(visits[None], states, pseudo_count)[0])
    expert = (visits.sum(axis=1) + pseudo)[:, None] * np.exp(log_expert)
    g, phi = start or (np.zeros(visits.shape), np.zeros(len(states)))
    f, v = g + shaping(phi, transition, discount), np.zeros(len(states))
    residual, share, rows = np.inf, FIRST_STEP, by_pair(transition)
    rounds = inner = 0
    while True:
        planned = soft_bellman(f, transition, discount, start=v)
        v, inner = planned.v, inner + planned.iterations
        flow = means(planned.policy) @ rows
        rolled = expected_visits(paths, flow, size) + pseudo
        log_policy = planned.q - v[:, None]
        generated = rolled[:, None] * np.exp(log_policy)
        d = expit(f - log_policy)
        slope = generated * d - expert * (1 - d)  # dL / df, a sum over the cell's observations
        cells = expert + generated
        last, residual = residual, float(np.max(np.abs(slope) / np.where(cells > 0, cells, 1.0)))
        converged = residual <= tolerance and planned.converged
        if converged or not np.isfinite(residual) or rounds == MAX_STEPS:
            break
        # the discriminator's minimiser is ln pi + ln(expert / generated), without a tiny pi below
        best = np.log(expert) - np.log(rolled)[:, None]
        factor = 0.5 if residual > last else GROWTH
        share = float(np.clip(factor * share, SMALLEST_STEP, FIRST_STEP))
        f = f + share * (best - f)
        rounds += 1
    if anchor is None:
        phi = nearest_potential(f - g, phi, transition, discount)
    else:
        a = anchor.action
        phi = anchored_value(f[:, a], transition[a], anchor.values(states), discount)
    g = f - shaping(phi, transition, discount)
    gap = f - log_policy
    loss = expert * np.logaddexp(0, -gap) + generated * np.logaddexp(0, gap)
    unfinished = "not_converged" if np.isfinite(residual) else "diverged"
    return Equilibrium(
        f=f,
        g=g,
        phi=phi,
        v=v + phi,  # shaping by phi shifts the value by it
        log_policy=log_policy,
        gradient=float(np.max(np.abs(slope)) / expert.sum()),
        objective=float(loss.sum() / expert.sum()),
        iterations=rounds,
        inner_iterations=inner,
        status="ok" if converged else unfinished,
    )


def shaping(phi: Array, transition: Table, discount: float) -> Array:
    """(S, A) beta E[phi(s')] - phi(s) from (S,) phi and (A, S, S) T-hat."""
    return np.asarray(discount * (transition @ phi).T - phi[:, None])


def nearest_potential(gap: Array, phi: Array, transition: Table, discount: float) -> Array:
    """(S,) phi of the (g, phi) nearest to a start, from its phi and f less its g, (S, A)."""
    columns, own = discount * by_pair(transition), means(np.ones_like(gap)).T
    if issparse(columns):
        columns = columns - own
        system = identity(len(phi)) + columns.T @ columns
        return np.asarray(splu(system.tocsc()).solve(phi + columns.T @ gap.ravel()))
    columns -= own.toarray()
    system = np.eye(len(phi)) + columns.T @ columns
    return np.asarray(np.linalg.solve(system, phi + columns.T @ gap.ravel()))


def expected_visits(starts: Array, flow: Any, total: float) -> Array:
    """(S,) expected visits of roll-outs, scaled to a total: sum_h (P')^h n_h, by Horner's rule.

    n_h is row h of `starts` (H, S), P the moves of a policy, `flow` (S, S).
    """
    x, back = np.zeros(starts.shape[1]), flow.T
    for starting in starts[::-1]:
        x = starting + back @ x
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
