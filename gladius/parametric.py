"""What methods with a parametric reward share: data, transition probabilities and form on one grid.

A `Grid` holds counts and transition probabilities (known, or the frequencies of each data set), a
`Model` the form of the reward as well; `model_estimate` makes functions of any state of a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Unpack

import numpy as np

from gladius.anchor import Anchor
from gladius.checks import ROW_SUM_TOLERANCE, Array, InputError, check_discount, check_finite
from gladius.estimate import Estimate, Outcome, StateFunction, conclude
from gladius.linear_reward import KnownTransitions, LinearReward, RewardFunction
from gladius.objective import grouped_risk
from gladius.transition_probabilities import (
    TransitionProbabilities,
    check_support,
    empirical_transition_probabilities,
    from_reward,
)
from gladius.transitions import Counts, Integers, Transitions, group, index_rows

BY_CHANCE = 1e-6  # data without an end that are rarer than this contradict the probabilities


@dataclass(frozen=True)
class Grid:
    """R replications of the data on a grid of states, and their transition probabilities."""

    counts: Counts  # the data grouped over their own states
    position: Integers  # (S_counts,) where those states are on the grid
    visits: Array  # (R, S, A) n(s, a) on the grid
    # for states off the grid; one replication where the probabilities are known
    p_hat: TransitionProbabilities
    is_known: bool  # whether they are
    discount: float  # beta

    @property
    def states(self) -> Array:
        """(S, d) features of the grid."""
        return self.p_hat.states

    @property
    def transition(self) -> Array:
        """(R, A, S, S) P of each replication."""
        given = self.p_hat.transition
        return np.broadcast_to(given, (len(self.visits), *given.shape[1:]))

    def q_function(self, replication: int, reward: StateFunction, v: Array) -> StateFunction:
        """Q = reward + beta P-hat V (S,) of any state, of the grid's alone where P is known."""
        row = 0 if self.is_known else replication
        q, _ = from_reward(reward, v, self.p_hat, row, self.discount)
        return partial(on_grid, q, self.states) if self.is_known else q


@dataclass(frozen=True)
class Model(Grid):
    """A grid with the form of the reward on it."""

    form: LinearReward  # of the reward
    design: Array  # (S, A, k) on the grid
    offset: Array  # (S, A) on the grid
    anchor: Anchor  # the action whose reward is given, for the diagnostics

    def rewards(self, theta: Array) -> Array:
        """(R, S, A) r at (R, k) theta."""
        return np.asarray(self.offset + np.einsum("sak,rk->rsa", self.design, theta))


def make_grid(
    data: Sequence[Transitions], discount: float, transition: KnownTransitions | None = None
) -> Grid:
    """Count the data and take the transition probabilities, or estimate them by frequencies.

    Raises:
        InputError: for probabilities that do not fit the data.
    """
    beta = check_discount(discount)
    counts = group(data)
    actions = counts.visits.shape[2]
    if transition is None:
        check_support(counts)
        p_hat = empirical_transition_probabilities(counts)
        position = np.arange(len(counts.states))
    else:
        p_hat = _known(transition, counts.states.shape[1], actions)
        position = positions(p_hat.states, counts.states)
        _check_against_data(p_hat.transition[0], counts, position)
    visits = np.zeros((len(data), len(p_hat.states), actions))
    visits[:, position] = counts.visits
    return Grid(counts, position, visits, p_hat, transition is not None, beta)


def make_model(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    reward: LinearReward | None,
    transition: KnownTransitions | None = None,
) -> Model:
    """A grid (see `make_grid`), and the form, which no parametric method can do without, on it.

    The form identifies theta; where it has no parameter at the anchor's action it must not
    contradict the anchor's reward.

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    form = check_form(reward)
    grid = make_grid(data, discount, transition)
    design, offset = form.tables(grid.states, grid.visits.shape[2])
    observed = grid.position[grid.counts.seen.any(axis=0)]
    check_level(anchor, grid.states[observed], design[observed], offset[observed])
    return Model(**vars(grid), form=form, design=design, offset=offset, anchor=anchor)


def model_estimate(
    name: str,
    model: Model,
    replication: int,
    theta: Array,
    covariance: Array,
    v: Array,
    **outcome: Unpack[Outcome],
) -> Estimate:
    """The Estimate of one replication from its theta and V; Q = r + beta P-hat V.

    Args:
        name: of the method.
        model: what was fitted.
        replication: which.
        theta, covariance: (k,) and (k, k).
        v: (S,) V on the grid, the soft Bellman fixed point at theta.
        outcome: as in estimate.py; `extra` without theta, its covariance and standard errors.

    Q is defined on the grid only where P is known, for it says nothing of other states.
    """
    reward = RewardFunction(model.form, theta, model.visits.shape[2])
    q = model.q_function(replication, reward, v)
    told = {"theta": theta, "se": np.sqrt(np.diagonal(covariance)), "covariance": covariance}
    outcome["extra"] = told | dict(outcome["extra"])
    table = model.rewards(theta[None])[0]
    return grid_estimate(name, model, replication, model.anchor, table, v, q, reward, **outcome)


def grid_estimate(
    name: str,
    grid: Grid,
    replication: int,
    anchor: Anchor,
    table: Array,
    v: Array,
    q_function: StateFunction,
    reward: StateFunction,
    **outcome: Unpack[Outcome],
) -> Estimate:
    """The Estimate of one replication from its rewards and V on a grid.

    Args:
        name, grid, replication: of the method, and where it was fitted.
        anchor: of which the Bellman error is reported.
        table, v: (S, A) rewards and (S,) V on the grid.
        q_function, reward: of any state.
        outcome: as in estimate.py.
    """
    beta, all_counts = grid.discount, grid.counts
    row = slice(replication, replication + 1)
    counts = Counts(all_counts.states, all_counts.visits[row], all_counts.moves[row])
    q = table + beta * np.einsum("aij,j->ia", grid.transition[replication], v)
    given = anchor.values(counts.states)
    risk = grouped_risk(q[None, grid.position], counts, anchor.action, given, beta)
    width = grid.states.shape[1]
    return conclude(name, q_function, reward, width, risk.nll[0], risk.bellman[0], **outcome)


def on_grid(function: StateFunction, grid: Array, states: Array) -> Array:
    """A function of the state that is defined on a grid only, and says so elsewhere."""
    positions(grid, states)
    return function(states)


def positions(grid: Array, states: Array) -> Integers:
    """(n,) index of each state on the grid, or an error naming the first that is not there."""
    every, (known, asked) = index_rows([grid, states])
    place = np.full(len(every), -1)
    place[known] = np.arange(len(grid))
    position = place[asked]
    if np.any(position < 0):
        raise InputError("grid", states[position < 0][0].tolist(), "this state is not on the grid")
    return position


def check_start(start: Array | None, shape: tuple[int, ...]) -> Array:
    """The first values of a search, by default 0, or an error that names the shape."""
    first = np.zeros(shape) if start is None else check_finite("start", start)
    if first.shape != shape:
        raise InputError("start", first.shape, f"give shape {shape}")
    return first


def check_form(reward: object) -> LinearReward:
    """The form, or an error: no method assumes one."""
    if not isinstance(reward, LinearReward):
        hint = "say what the reward is linear in: reward=LinearReward(design), see linear_reward.py"
        raise InputError("reward", reward, hint)
    return reward


def check_level(anchor: Anchor, states: Array, design: Array, offset: Array) -> None:
    """Raise where the form has no parameter at the anchor action and contradicts its reward.

    At (n, d) states the design is (n, A, k), of zeros alone where a method has no form, and the
    offset (n, A).
    """
    a = anchor.action
    if np.any(design[:, a]) or not np.any(design):
        return
    given, known = anchor.values(states), offset[:, a]
    apart = ~np.isclose(known, given)
    if np.any(apart):
        i = int(np.argmax(apart))
        where = f"the design is 0 at action {a}, whose reward in {states[i].tolist()} is {given[i]}"
        hint = f"{where}: give the anchor's reward in `offset`, or an anchor_reward that agrees"
        raise InputError("reward.offset", known[i], hint)


def _known(given: object, features: int, actions: int) -> TransitionProbabilities:
    """As P-hat with one replication; an error where the data have other shapes."""
    if not isinstance(given, KnownTransitions):
        hint = "give KnownTransitions(probabilities, grid), or leave it out"
        raise InputError("transition", given, hint)
    if given.grid.shape[1] != features:
        raise InputError("transition.grid", given.grid.shape, f"give {features} features")
    if len(given.probabilities) != actions:
        hint = f"give one matrix for each of {actions} actions"
        raise InputError("transition.probabilities", given.probabilities.shape, hint)
    return TransitionProbabilities(given.grid, given.probabilities[None], ())


def _check_against_data(transition: Array, counts: Counts, position: Integers) -> None:
    """Raise where the data hold a move or an end that P excludes, or no end that it asks for."""
    field = "transition.probabilities"
    moves, visits = counts.moves.sum(axis=0), counts.visits.sum(axis=0).T
    excluded = np.argwhere((moves > 0) & (transition[:, position][:, :, position] == 0))
    if len(excluded):
        a, i, j = excluded[0]
        move = f"from {counts.states[i].tolist()} to {counts.states[j].tolist()}"
        hint = f"the data hold this move, {move}: give it a probability, in the order of the grid"
        raise InputError(f"{field}[{a}, {position[i]}, {position[j]}]", 0.0, hint)
    goes_on, ends = transition.sum(axis=2)[:, position], visits - moves.sum(axis=2)
    endless = np.argwhere((ends > 0) & (goes_on >= 1 - ROW_SUM_TOLERANCE))
    if len(endless):
        a, i = endless[0]
        hint = "rows of the data are `done` there: take the probability of an end from the row"
        raise InputError(f"{field}[{a}, {position[i]}]", goes_on[a, i], hint)
    log_chance = visits * np.log(np.where(visits > 0, goes_on, 1.0))
    if not np.any(ends) and log_chance.sum() < np.log(BY_CHANCE):
        a, i = np.unravel_index(np.argmin(log_chance), log_chance.shape)
        hint = "paths end there, but no row is `done`: mark the ends, or let the row sum to one"
        raise InputError(f"{field}[{a}, {position[i]}]", goes_on[a, i], hint)
