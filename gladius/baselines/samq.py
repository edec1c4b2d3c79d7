"""SAmQ, state aggregation minimising Q error (Geng, Nassif and Manzanares 2023).

Three steps: (1) Q-hat(s, .) by deep inversion, PQR (pqr.py: the anchor, no law, no form of r);
(2) states into C cells by K-means on the vectors Q-hat(s, .); (3) maximum likelihood of theta in
r(s, a; theta) by a nested fixed point on the cells,

    (T f)(c, a) = mean over the rows i with s_i in c, a_i = a of
                  r(s_i, a; theta) + beta log sum_b exp f(c(s'_i), b),
    max_theta  sum_i log softmax(f_theta(c(s_i), .))_{a_i},

the soft Bellman equation with the cells' mean rewards and transition frequencies. It needs the
anchor (step 1), and the form of the reward (step 3), from which r is read off at every state;
cells only shape theta-hat. With one cell a state it is NFXP with frequencies for the law.

What had to be decided:
- Form: by default r(x, 0) = -theta_0 x, x the first feature, and r(x, 1) that of the anchor
  (`theta_1_given`): the authors' code is told the replacement cost. Without dummies this is their
  form. With dummies theirs has a slope for every feature, `slopes="all"`; the default is told that
  they do not matter.
- Number of cells: min(100, distinct vectors of Q); 100 did best in the authors' Table 2. Fewer
  distinct vectors than cells: each is a cell and nothing is clustered, so that on the bus engine
  without dummies (at most 20 states) the default is NFXP told theta_1 and the law estimated.
- K-means: scikit-learn's, k-means++ and Lloyd's steps, on the distinct vectors of s and s' with the
  weight of their occurrences; one start from `rng`. A new state goes to the nearest centre.
- Pairs (c, a) never taken: their law is borrowed by transition_probabilities.py's rule, on the mean features of
  cells, their mean reward is that of all rows of c. V = 0 after the end of a path (`done`).
- Step 3: exact, by nfxp.py. Standard errors are its own: cells and law taken as known.
- `converged` needs the inversion and the likelihood both to meet their rules. How far the
  inversion extrapolates (`inversion_extrapolated`) is `extrapolated` of pqr.py.

What the public code does otherwise, as options: `clustering="ward"` (Ward's agglomeration of the
stacked rows of s and s'; new states go to the nearest vector, theirs to a vote of 100),
`inner="td"` (see samq_td.py), `q_step="residual"` (see pqr.py), `cells=5` (its default).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gladius.anchor import Anchor
from gladius.baselines import nfxp
from gladius.baselines.bc import Training
from gladius.baselines.pqr_steps import invert
from gladius.baselines.samq_cells import (
    CLUSTERINGS,
    Cells,
    Grouped,
    group_cells,
    make_cells,
    sklearn_cluster,
    ward_bytes,
)
from gladius.baselines.samq_td import fit_td
from gladius.checks import Array, InputError, check_discount, check_whole, generators
from gladius.estimate import Diagnostics, Estimate, StateFunction
from gladius.objective import value
from gladius.parametric import TableFunction, Tables, check_level, make_tables
from gladius.transition_probabilities import empirical_transition_probabilities
from gladius.transitions import Transitions, index_rows

TITLE, NEEDS = "SAmQ", ("next", "transitions", "form", "anchor")

INNERS = ("exact", "td")
SLOPES = ("mileage", "all")


@dataclass(frozen=True)
class Solved:
    """Step 3 on one data set: theta, V (C,) and the law (A, C, C), and how it went."""

    theta: Array
    se: Array
    v: Array
    law: Array
    nll: float
    gradient_norm: float
    iterations: int
    inner_iterations: int
    status: str


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    cells: int = 100,
    clustering: str = "kmeans",
    kmeans_starts: int = 1,
    inner: str = "exact",
    theta_1_given: bool | None = None,
    slopes: str = "mileage",
    design: TableFunction | None = None,
    offset: TableFunction | None = None,
    inversion: str = "network",
    q_step: str = "fitted",
    pseudo_count: float = 0.5,
    rng: int | Sequence[np.random.Generator] = 0,
    training: Training | None = None,
    td_step: float = 0.1,
    td_passes: int = 100,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> list[Estimate]:
    """SAmQ of each data set.

    Args:
        data: replications.
        anchor: the action whose reward is given, for the inversion (and `theta_1_given`).
        discount: beta.
        cells: at most this many.
        clustering: kmeans or ward.
        kmeans_starts: of which the best is kept.
        inner: exact or td.
        theta_1_given: r(x, 1) is the anchor's; by default so, unless `design` is given.
        slopes: of the default form: mileage (the first feature alone) or all features.
        design, offset: another form, r = design theta + offset, as in parametric.py.
        inversion, q_step, pseudo_count, training: of PQR, its `regression` being `inversion`.
        rng: a seed, or one generator for each data set.
        td_step, td_passes: of TD(0), with `inner="td"`.
        tolerance, max_iterations: of the exact likelihood, see nfxp.py.

    Raises:
        InputError: for a bad option, without scikit-learn where it is needed, for Ward on too
            many points.
    """
    started = time.process_time()
    beta = check_discount(discount)
    for name, chosen, known in [
        ("clustering", clustering, CLUSTERINGS),
        ("inner", inner, INNERS),
        ("slopes", slopes, SLOPES),
    ]:
        if chosen not in known:
            raise InputError(name, chosen, f"choose one of {known}")
    for name, number in [
        ("cells", cells),
        ("kmeans_starts", kmeans_starts),
        ("td_passes", td_passes),
        ("max_iterations", max_iterations),
    ]:
        check_whole(name, number, 1)
    if not 0 < td_step <= 1:
        raise InputError("td_step", td_step, "give a number in (0, 1]")
    if not 0 < tolerance < np.inf:
        raise InputError("tolerance", tolerance, "give a positive number")
    if clustering == "kmeans" and any(_distinct_states(one) > cells for one in data):
        sklearn_cluster()  # whether it is there is known before the inversion
    tables = _form(anchor, data[0].number_of_actions, theta_1_given, slopes, design, offset)
    for one in data:
        check_level(anchor, one.states, *tables(one.states))
    rngs = generators(rng, len(data))
    inverted = invert(
        data,
        anchor,
        beta,
        regression=inversion,
        q_step=q_step,
        read_off=None,
        pseudo_count=pseudo_count,
        rngs=rngs,
        training=training,
    )
    seconds = (time.process_time() - started) / len(data)
    estimates = []
    for one, first, generator in zip(data, inverted, rngs, strict=True):
        begun = time.process_time()
        found = make_cells(one, first.q, cells, clustering, kmeans_starts, generator)
        grouped = group_cells(one, found, tables)
        if inner == "exact":
            solved = _exact(grouped, beta, tolerance, max_iterations)
        else:
            solved = _td(one, grouped, tables, anchor, beta, td_step, td_passes)
        q, reward = _functions(solved, found, tables, beta)
        anchored = one.states[one.actions == anchor.action]
        error = reward(anchored)[:, anchor.action] - anchor.values(anchored)
        status = solved.status if solved.status != "ok" else first.status
        diagnostics = Diagnostics(
            converged=status == "ok",
            iterations=solved.iterations,
            gradient_norm=solved.gradient_norm,
            nll=solved.nll,
            bellman_error=float(error @ error / len(one)),
            cpu_seconds=seconds + time.process_time() - begun,
            status=status,
            extra={
                "inner_iterations": solved.inner_iterations,
                "objective": solved.nll,
                "theta": solved.theta,
                "se": solved.se,
                "cells": found.number,
                "inversion_status": first.status,
                "inversion_iterations": first.iterations,
                "inversion_extrapolated": first.extrapolated,
                "ward_bytes_of_the_authors_code": ward_bytes(2 * len(one)),
            },
        )
        name = f"samq[{clustering},{inner}]"
        estimates.append(Estimate(name, q, reward, one.states.shape[1], diagnostics))
    return estimates


def _distinct_states(data: Transitions) -> int:
    """Among s and s': no more vectors of Q than these are there to be clustered."""
    return len(index_rows([data.states, data.next_states])[0])


def _form(
    anchor: Anchor,
    actions: int,
    theta_1_given: bool | None,
    slopes: str,
    design: TableFunction | None,
    offset: TableFunction | None,
) -> Tables:
    """features -> (design, offset)."""
    if design is None and actions != 2:
        hint = f"the default form has 2 actions, the data {actions}: give `design`"
        raise InputError("design", None, hint)
    given = (design is None and offset is None) if theta_1_given is None else theta_1_given
    if slopes == "mileage":
        return make_tables(design, offset, anchor if given else None, actions)
    if design is not None or offset is not None:
        raise InputError("slopes", slopes, "only for the default form: put them in `design`")
    if given and anchor.action != 1:
        raise InputError("anchor_action", anchor.action, "theta_1 belongs to action 1: anchor that")

    def every(states: Array) -> tuple[Array, Array]:
        width = states.shape[1]
        regressors = np.zeros((len(states), 2, width + (not given)))
        regressors[:, 0, :width] = -states
        known = np.zeros((len(states), 2))
        if given:
            known[:, 1] = anchor.values(states)
        else:
            regressors[:, 1, width] = -1.0
        return regressors, known

    return every


def _exact(grouped: Grouped, beta: float, tolerance: float, max_iterations: int) -> Solved:
    law = empirical_transition_probabilities(grouped.counts).law
    found = nfxp.fit_counts(
        grouped.counts.visits,
        law,
        grouped.design,
        grouped.offset,
        beta,
        tolerance=tolerance,
        max_iterations=max_iterations,
    )
    return Solved(
        found.theta[0],
        found.se[0],
        found.v[0],
        law[0],
        -float(found.log_likelihood[0] / grouped.counts.size[0]),
        float(np.max(np.abs(found.gradient[0]))),
        int(found.iterations[0]),
        int(found.inner_iterations[0]),
        found.status[0],
    )


def _td(
    data: Transitions,
    grouped: Grouped,
    tables: Tables,
    anchor: Anchor,
    beta: float,
    step: float,
    passes: int,
) -> Solved:
    rows = np.arange(len(data))
    design, offset = (table[rows, data.actions] for table in tables(data.states))
    found = fit_td(
        grouped.now,
        data.actions,
        design,
        offset,
        grouped.counts.visits.shape[1:],
        beta,
        level=float(np.mean(anchor.values(data.states))) / (1 - beta),
        step=step,
        passes=passes,
    )
    return Solved(
        found.theta,
        np.full(len(found.theta), np.nan),
        value(found.q),
        empirical_transition_probabilities(grouped.counts).law[0],
        -found.log_likelihood,
        float(np.max(np.abs(found.gradient))),
        found.iterations,
        found.evaluations * passes,
        "ok" if found.converged else "not_converged",
    )


def _functions(
    solved: Solved, cells: Cells, tables: Tables, beta: float
) -> tuple[StateFunction, StateFunction]:
    """(Q, r): r by the form at the state itself, Q = r + beta P-hat V with its cell's law."""

    def reward(states: Array) -> Array:
        design, offset = tables(states)
        return np.asarray(offset + design @ solved.theta)

    following = (solved.law @ solved.v).T

    def q(states: Array) -> Array:
        return np.asarray(reward(states) + beta * following[cells.of(states)])

    return q, reward
