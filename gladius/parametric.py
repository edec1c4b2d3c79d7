"""What methods with a parametric reward share: r(s, a) = design(s, a)' theta + offset(s, a).

A `Model` holds the counts of R replications on one grid of states, their transition law (given, or
the frequencies of each data set) and the form at every state; `estimates` turns what a method
found into the functions of any state that users get.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gladius.anchor import Anchor
from gladius.bellman import from_reward
from gladius.checks import ROW_SUM_TOLERANCE, Array, check_discount, check_finite
from gladius.counts import Counts, group
from gladius.errors import InputError
from gladius.estimate import Diagnostics, Estimate, StateFunction
from gladius.kernel import Kernel, check_rows, empirical_kernel
from gladius.objective import grouped_risk
from gladius.rows import Integers, index_rows
from gladius.transitions import Transitions

TableFunction = Callable[[Array], Array]
Tables = Callable[[Array], tuple[Array, Array]]  # features -> (design, offset)

BY_CHANCE = 1e-6  # a law under which data without an end are rarer than this is another law


@dataclass(frozen=True)
class Model:
    """R replications of the data on a grid, the law of the moves, and the form of the reward.

    Attributes:
        counts: the data grouped over their own states.
        at: (S_counts,) where those states are on the grid.
        visits: (R, S, A) n(s, a) on the grid.
        kernel: of `law`, for states off the grid; one replication where the law is given.
        law: (A, S, S) as given, or (R, A, S, S) the frequencies of each data set.
        known: whether the law was given.
        tables: maps (n, d) features to the design (n, A, k) and the offset (n, A).
        design: (S, A, k) on the grid.
        offset: (S, A) on the grid.
        anchor: the action whose reward is given, for the diagnostics (and `theta_1_given`).
        discount: beta.
    """

    counts: Counts
    at: Integers
    visits: Array
    kernel: Kernel
    law: Array
    known: bool
    tables: Tables
    design: Array
    offset: Array
    anchor: Anchor
    discount: float

    @property
    def states(self) -> Array:
        """(S, d) features of the grid."""
        return self.kernel.states

    @property
    def laws(self) -> Array:
        """(R, A, S, S) the law of each replication."""
        return np.broadcast_to(self.law, (len(self.visits), *self.law.shape[-3:]))

    def rewards(self, theta: Array) -> Array:
        """(R, S, A) r at (R, k) theta."""
        rewards: Array = self.offset + np.einsum("sak,rk->rsa", self.design, theta)
        return rewards


def bus_design(states: Array) -> Array:
    """(n, 2, 2) design of r(x, 0) = -theta_0 x and r(x, 1) = -theta_1; x is the first feature."""
    design = np.zeros((len(states), 2, 2))
    design[:, 0, 0] = -states[:, 0]
    design[:, 1, 1] = -1.0
    return design


def make_model(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    transition: Array | None = None,
    grid: Array | None = None,
    design: TableFunction | None = None,
    offset: TableFunction | None = None,
    theta_1_given: bool = False,
) -> Model:
    """Count, take or estimate the law, and evaluate the form on the grid.

    Args:
        data: replications.
        anchor: its reward is used only with `theta_1_given`; the form identifies theta otherwise,
            and must not contradict it.
        discount: beta.
        transition: (A, S, S) the true law over `grid`, an oracle's knowledge; a row loses the
            probability of an end. Without it, the frequencies of each data set (see kernel.py for
            pairs never visited).
        grid: (S, d) features of the states that `transition` is about.
        design: maps (n, d) features to (n, A, k); by default `bus_design`.
        offset: maps (n, d) features to (n, A), the known part of the reward; by default 0.
        theta_1_given: fix r(x, 1) at the anchor's reward, so that theta_0 alone is estimated.

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    beta = check_discount(discount)
    counts = group(data)
    actions = counts.visits.shape[2]
    tables = make_tables(design, offset, anchor if theta_1_given else None, actions)
    if (transition is None) != (grid is None):
        missing = "grid" if grid is None else "transition"
        raise InputError(missing, None, "give transition and grid together, or neither")
    if transition is None or grid is None:
        kernel, at = empirical_kernel(counts), np.arange(len(counts.states))
        law = kernel.law
    else:
        kernel = _given(transition, grid, counts.states.shape[1], actions)
        at, law = positions(kernel.states, counts.states), kernel.law[0]
        _check_against_data(law, counts, at)
    visits = np.zeros((len(data), len(kernel.states), actions))
    visits[:, at] = counts.visits
    known = transition is not None
    form = tables(kernel.states)
    own = at[counts.seen.any(axis=0)]
    check_level(anchor, kernel.states[own], *(table[own] for table in form))
    return Model(counts, at, visits, kernel, law, known, tables, *form, anchor, beta)


def estimates(
    name: str,
    model: Model,
    theta: Array,
    v: Array,
    *,
    converged: Sequence[bool] | NDArray[np.bool_],
    iterations: Sequence[int] | Integers,
    gradient_norm: Sequence[float] | Array,
    status: Sequence[str],
    seconds: float,
    extra: Sequence[Mapping[str, object]],
) -> list[Estimate]:
    """An Estimate for each replication from its theta and V; Q = r + beta P-hat V.

    Args:
        name: of the method.
        model: what was fitted.
        theta: (R, k).
        v: (R, S) V on the grid, the soft Bellman fixed point at theta.
        converged, iterations, gradient_norm, status, extra: R of each, as in Diagnostics.
        seconds: processor time of one replication.

    Q is defined on the grid only where the law is given, for it says nothing of other states.
    """
    beta = model.discount
    q = model.rewards(theta) + beta * np.einsum("raij,rj->ria", model.laws, v)
    given = model.anchor.values(model.counts.states)
    risk = grouped_risk(q[:, model.at], model.counts, model.anchor.action, given, beta)
    found = []
    for r in range(len(theta)):
        diagnostics = Diagnostics(
            converged=bool(converged[r]),
            iterations=int(iterations[r]),
            gradient_norm=float(gradient_norm[r]),
            nll=float(risk.nll[r]),
            bellman_error=float(risk.bellman[r]),
            cpu_seconds=seconds,
            status=status[r],
            extra={"theta": theta[r], **extra[r]},
        )
        functions = _functions(model, theta[r], v[r], r)
        found.append(Estimate(name, *functions, model.states.shape[1], diagnostics))
    return found


def positions(grid: Array, states: Array) -> Integers:
    """(n,) index of each state on the grid, or an error naming the first that is not there."""
    every, (known, asked) = index_rows([grid, states])
    place = np.full(len(every), -1)
    place[known] = np.arange(len(grid))
    at = place[asked]
    if np.any(at < 0):
        raise InputError("grid", states[at < 0][0].tolist(), "this state is not on the grid")
    return at


def make_tables(
    design: TableFunction | None, offset: TableFunction | None, given: Anchor | None, actions: int
) -> Tables:
    """features -> (design (n, A, k), offset (n, A)), with the shapes checked at each call."""
    if given is not None and (design is not None or offset is not None):
        raise InputError("theta_1_given", True, "only for the default form: use `offset` instead")
    if given is not None and given.action != 1:
        raise InputError("anchor_action", given.action, "theta_1 belongs to action 1: anchor that")
    functions: list[tuple[str, object]] = [("design", design), ("offset", offset)]
    for name, function in functions:
        if function is not None and not callable(function):
            mend = "give a function of (n, features), for it is asked at other states as well"
            raise InputError(name, function, mend)
    if design is None and actions != 2:
        raise InputError("design", None, f"the default has 2 actions, the data {actions}")

    def tables(states: Array) -> tuple[Array, Array]:
        regressors = check_finite("design", (design or bus_design)(states))
        if regressors.ndim != 3 or regressors.shape[:2] != (len(states), actions):
            mend = f"return shape ({len(states)}, {actions}, parameters)"
            raise InputError("design", regressors.shape, mend)
        if given is not None:
            known = np.zeros((len(states), actions))
            known[:, 1] = given.values(states)
            return regressors[:, :, :1], known
        if offset is None:
            return regressors, np.zeros((len(states), actions))
        known = check_finite("offset", offset(states))
        if known.shape != (len(states), actions):
            raise InputError("offset", known.shape, f"return shape ({len(states)}, {actions})")
        return regressors, known

    return tables


def check_level(anchor: Anchor, states: Array, design: Array, offset: Array) -> None:
    """Raise where the form has no parameter at the anchor action and contradicts its reward.

    Args:
        anchor: its action and reward.
        states: (n, d).
        design: (n, A, k) there; all zeros stand for a method that has no form.
        offset: (n, A) there.
    """
    a = anchor.action
    if np.any(design[:, a]) or not np.any(design):
        return
    given, known = anchor.values(states), offset[:, a]
    apart = ~np.isclose(known, given)
    if np.any(apart):
        i = int(np.argmax(apart))
        where = f"the design is 0 at action {a}, whose reward in {states[i].tolist()} is {given[i]}"
        mend = f"{where}: give the anchor's reward in `offset`, or an anchor_reward that agrees"
        raise InputError("offset", known[i], mend)


def _functions(
    model: Model, theta: Array, v: Array, replication: int
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) of any features at theta."""

    def reward(states: Array) -> Array:
        design, offset = model.tables(states)
        return np.asarray(offset + design @ theta)

    place = 0 if model.known else replication
    q, _ = from_reward(reward, v, model.kernel, place, model.discount)

    def on_grid(states: Array) -> Array:
        positions(model.kernel.states, states)
        return q(states)

    return on_grid if model.known else q, reward


def _given(transition: Array, grid: Array, width: int, actions: int) -> Kernel:
    """The given law as a kernel with one replication."""
    states = check_finite("grid", grid)
    if states.ndim != 2 or states.shape[1] != width:
        raise InputError("grid", states.shape, f"give shape (states, {width})")
    if len(np.unique(states, axis=0)) != len(states):
        raise InputError("grid", states.shape, "two states have the same features")
    law = check_finite("transition", transition)
    if law.shape != (actions, len(states), len(states)):
        mend = f"give shape (actions, states, states) = {(actions, len(states), len(states))}"
        raise InputError("transition", law.shape, mend)
    check_rows("transition", law)
    return Kernel(states, law[None], ())


def _check_against_data(law: Array, counts: Counts, at: Integers) -> None:
    """Raise where the data hold a move or an end that the law excludes, or no end it asks for."""
    moves, visits = counts.moves.sum(axis=0), counts.visits.sum(axis=0).T
    excluded = np.argwhere((moves > 0) & (law[:, at][:, :, at] == 0))
    if len(excluded):
        a, i, j = excluded[0]
        move = f"from {counts.states[i].tolist()} to {counts.states[j].tolist()}"
        mend = f"the data hold this move, {move}: give it a probability, in the order of `grid`"
        raise InputError(f"transition[{a}, {at[i]}, {at[j]}]", 0.0, mend)
    goes_on, ends = law.sum(axis=2)[:, at], visits - moves.sum(axis=2)
    endless = np.argwhere((ends > 0) & (goes_on >= 1 - ROW_SUM_TOLERANCE))
    if len(endless):
        a, i = endless[0]
        mend = "rows of the data are `done` there: take the probability of an end from the row"
        raise InputError(f"transition[{a}, {at[i]}]", goes_on[a, i], mend)
    log_chance = visits * np.log(np.where(visits > 0, goes_on, 1.0))
    if not np.any(ends) and log_chance.sum() < np.log(BY_CHANCE):
        a, i = np.unravel_index(np.argmin(log_chance), log_chance.shape)
        mend = "paths end there, but no row is `done`: mark the ends, or let the row sum to one"
        raise InputError(f"transition[{a}, {at[i]}]", goes_on[a, i], mend)
