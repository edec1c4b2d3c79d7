"""Profiled ERM, our own estimator of the paper's risk; GLADIUS itself is in `gladius.paper`.

The estimate minimises the paper's empirical risk over a function class. A penalty on the roughness
of r is added, whose weight lambda is divided by N:

    R_emp(Q) + (lambda / 2N) ||D2 r_Q||^2,   r_Q = Q - beta zeta,   zeta exact.

It uses the training data, the anchor's reward and beta. R_emp is the sum of a Kullback-Leibler
divergence of the log-odds and of the anchor's Bellman error (claim `corrected.coordinates`). Both
zeta and the level of Q are profiled out: zeta is solved exactly for each Q, and V in closed form
sets the Bellman error to zero. The paper's algorithms update Q and zeta in turn instead.

Implementation choices:

- `smooth`, one feature whose states repeat: Q is free in every state; see
  `gladius.own_data.erm.smooth`.
- `smooth` with several features, or with fewer than three states, has no roughness. The estimate
  is then the plug-in, and `extra["smoothed"]` is False.
- `sparse`, the default everywhere else: terms of r are selected; see
  `gladius.own_data.erm.observations.sparse`.
- `mlp`: Q and zeta are networks; see `gladius.own_data.erm.observations.network`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from gladius.model import inversion as plug_in
from gladius.model.choice_sets import (
    ChoiceSets,
    Closed,
    anchor_is_open,
    check_anchor_open,
    sets_of,
)
from gladius.model.choice_sets import plug_in as within
from gladius.model.estimate import Estimate, Fit, StateFunction, counts_estimates
from gladius.model.frequencies import FEW_ROWS, bellman_q, check_support, weighted_sum
from gladius.model.risk import grouped_risk
from gladius.model.state_anchor import (
    Exchanged,
    StateAnchor,
    on_counts,
    transition_probabilities,
)
from gladius.own_data.erm import ROW_CLASSES
from gladius.own_data.erm.indexed import Indexed
from gladius.own_data.erm.level import DISAGREES
from gladius.own_data.erm.misfit import PER_COEFFICIENT, RARE
from gladius.own_data.erm.smooth import DECREMENT, Problem, check_smooth_size, fit_smooth
from gladius.panel.anchor import Anchor, check_anchor_support
from gladius.panel.record import Counts, Transitions, group, never_followed
from gladius.solvers.threads import load
from gladius.validate import Array, InputError, check_choice, check_options

TITLE, NEEDS = "Profiled ERM", ("next", "anchor")
CLASSES = ("smooth", *ROW_CLASSES)
MOST_PAIRS = 3.0  # visited (s, a) over the square root of the rows, for `smooth` by default
LINE = 2  # coefficients of an action's reward at the affine end


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    indexed: Sequence[Indexed] = (),
    /,
    **options: Any,
) -> list[Estimate]:
    """Estimates of Q* and r, one for each data set.

    Args:
        data: replications.
        anchor: the anchor action and its reward.
        discount: beta.
        indexed: the data sets by their states, where these are known.
        options: `function_class` and the fields of the Options of that class, in
            `gladius.own_data.erm.observations.sparse` or
            `gladius.own_data.erm.observations.network`; `smooth` has none.

    Raises:
        InputError: for a bad option; for data that do not support the class asked for.
    """
    is_required = "function_class" in options
    one_feature = data[0].states.shape[1] == 1
    function_class = options.pop("function_class", "smooth" if one_feature else "sparse")
    check_choice("function_class", function_class, CLASSES)
    if function_class == "smooth":
        if options:
            hint = "the class smooth has none: help(gladius.fit) lists those of other classes"
            raise InputError("option", next(iter(options)), hint)
        counts, sets = _group(data, indexed, is_required=is_required), sets_of(data[0])
        if counts is not None and sets is None:
            return on_counts(fit_counts, counts, anchor, discount)
        if counts is not None and sets is not None:
            if is_required:
                check_anchor_open(counts.states, anchor, sets, "smooth")
            if np.all(anchor_is_open(counts.states, anchor, sets)):
                return _within(counts, anchor, discount, sets)
        function_class = "sparse"
    return _fit_observations(function_class, data, anchor, discount, options)


def _within(counts: Counts, anchor: Anchor, discount: float, sets: ChoiceSets) -> list[Estimate]:
    """The class `smooth` within choice sets, in which the anchor is available."""
    is_rough = (counts.states.shape[1] == 1) & (counts.present.sum(axis=1) >= 3)
    if np.all(is_rough):
        closed: StateFunction = Closed(sets)
        if isinstance(anchor, StateAnchor):
            closed = Exchanged(closed, anchor.exchange)
        return on_counts(fit_counts, counts, anchor, discount, closed)
    if np.any(is_rough):
        alone = (counts.of(r) for r in range(len(is_rough)))
        return [_within(one, anchor, discount, sets)[0] for one in alone]
    return _plug_in(counts, anchor, discount, sets)


def _fit_observations(
    function_class: str,
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    options: dict[str, Any],
) -> list[Estimate]:
    """Estimates of the data sets, one after the other, by the module of a class."""
    module = load(ROW_CLASSES[function_class])
    check_options(module.Options, options)
    class_options = module.Options(**options)
    for r, one in enumerate(data):
        never = np.setdiff1d(one.actions, one.actions[one.followed])
        if len(never):
            raise never_followed(never[0])
        never = np.setdiff1d(np.arange(one.number_of_actions), one.actions)
        if len(never):
            hint = f"action {never[0]} never occurs in data set {r}, which says nothing of it"
            raise InputError("actions", np.unique(one.actions).tolist(), hint)
    return [module.fit_rows(one, anchor, discount, class_options) for one in data]


def _group(
    data: Sequence[Transitions], indexed: Sequence[Indexed], *, is_required: bool
) -> Counts | None:
    """The grouped data; None where they do not support counts and these are not required.

    Steps of the class `smooth` take time with the cube of S, so that it is no default where there
    are more pairs than MOST_PAIRS says.
    """
    try:
        counts = indexed[0].counts() if len(indexed) == 1 else group(data)
        if not is_required and np.any((counts.support > MOST_PAIRS) & (counts.size >= FEW_ROWS)):
            return None
        check_support(counts)
        check_smooth_size(len(counts.states), counts.visits.shape[2])
    except InputError as error:
        if is_required or error.field != "states":
            raise
        return None
    return counts


def fit_counts(
    counts: Counts,
    anchor: Anchor,
    discount: float,
    closed: StateFunction | None = None,
) -> list[Estimate]:
    """Estimates of the class `smooth`, one for each replication; the cost does not depend on N.

    Args:
        counts: R replications.
        anchor: the anchor action and its reward.
        discount: beta.
        closed: (n, d) features -> (n, A) FORBIDDEN where an action is not available, else 0. With
            it all replications have one feature and three states.
    """
    is_rough = (counts.states.shape[1] == 1) & (counts.present.sum(axis=1) >= 3)
    if np.any(is_rough) and not np.all(is_rough):  # each has the estimate that it has alone
        alone = [fit_counts(counts.of(r), anchor, discount) for r in range(len(is_rough))]
        return [estimate for (estimate,) in alone]
    if not np.any(is_rough):
        return _plug_in(counts, anchor, discount)
    counts.check_taken()
    check_anchor_support(counts, anchor.action)
    p_hat = transition_probabilities(counts, anchor)
    table = 0.0 if closed is None else closed(counts.states)
    problem = Problem(counts, p_hat, anchor, discount, table)
    smooth = fit_smooth(problem)
    risk = grouped_risk(smooth.tables.q, counts, anchor.action, problem.anchor_reward, discount)
    # A fit worse than the uniform policy counts as failed; the factor allows for rounding.
    nll_of_uniform_policy = np.log(counts.visits.shape[2]) * (1 + 1e-9)
    reasons = {
        "the steps did not converge": ~(np.abs(smooth.decrement) <= DECREMENT),
        "frequencies are far likelier": smooth.underfits,
        "choices are less likely than under the uniform policy": ~(
            risk.nll <= nll_of_uniform_policy
        ),
        DISAGREES: np.array([one.is_rejected for one in smooth.level]),
        RARE: counts.visits.sum(axis=1).min(axis=1) < LINE * PER_COEFFICIENT,
    }
    fits = []
    for r, present in enumerate(counts.present):
        states = counts.states[present, 0]
        not_ok = tuple(reason for reason, holds in reasons.items() if holds[r])
        line, centre = (
            partial(anchored_line, states, tables.reward[r][present], anchor)
            for tables in (smooth.tables, smooth.interval)
        )
        fitted = counts.of(r), p_hat.of(r), anchor, discount, smooth.interval.q[r], centre
        q = bellman_q(line, smooth.tables.v[r], p_hat, r, discount)
        if closed is not None:
            q = partial(weighted_sum, q, closed, 1.0)
        fit = Fit(
            q,
            line,
            basis=plug_in.FreeBasis(*fitted, roughness=smooth.roughness[r]),
            status="not_converged" if not_ok else "ok",
            iterations=smooth.iterations[r],
            gradient_norm=smooth.slope[r] / counts.size[r],
            extra={
                "smoothed": True,
                "penalty": float(smooth.penalty[r]),
                "interval_penalty": float(smooth.interval_penalty[r]),
                "freedom": float(smooth.freedom[r]),
                "decrement": float(smooth.decrement[r]),
                "level_shift": smooth.level[r].shift,
                "level_z": smooth.level[r].z,
                "not_ok_because": not_ok,
            },
        )
        fits.append(fit)
    return counts_estimates("profiled_erm smooth", fits, counts, anchor, discount)


def _plug_in(
    counts: Counts,
    anchor: Anchor,
    discount: float,
    sets: ChoiceSets | None = None,
) -> list[Estimate]:
    """The class `smooth` where no roughness is defined: the plug-in."""
    estimates, found = [], None if sets is None else within(counts, anchor, discount, sets)
    for plain in found or plug_in.fit_counts(counts, anchor, discount):
        extra = {**plain.diagnostics.extra, "smoothed": False, "penalty": 0.0}
        diagnostics = replace(plain.diagnostics, extra=extra)
        estimates.append(replace(plain, method="profiled_erm smooth", diagnostics=diagnostics))
    return estimates


def anchored_line(grid: Array, table: Array, anchor: Anchor, states: Array) -> Array:
    """(n, A) rewards at (n, 1) features: the anchor's as given, the others linear between states.

    `table` (m, A) are the rewards at the ordered states `grid` (m,). Beyond them the rewards
    continue the last two.
    """
    change = anchor.exchange if isinstance(anchor, StateAnchor) else None
    if change is not None:  # a line is that of the user's own action
        table = change.table(grid[:, None], table)
    rewards = np.asarray(make_interp_spline(grid, table, k=1)(states[:, 0]))
    if change is not None:
        rewards = change.table(states, rewards)
    rewards[:, anchor.action] = anchor.values(states)
    return rewards
