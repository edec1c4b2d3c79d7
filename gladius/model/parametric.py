"""What methods on counts share: the data, the transition probabilities and the form on one grid.

A `Grid` holds the counts of R data sets and their transition probabilities, which are known or the
frequencies of each data set. A `Model` adds the form of the reward, design' theta + offset, on the
grid.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gladius.model.estimate import Estimate, Fit, StateFunction, counts_estimates
from gladius.model.frequencies import (
    TransitionProbabilities,
    bellman_q,
    check_support,
    empirical_transition_probabilities,
)
from gladius.model.increments import PooledIncrements
from gladius.model.reward_form import KnownTransitions, LinearReward, RewardFunction
from gladius.panel.anchor import Anchor
from gladius.panel.moves import Table, departures, each, entries, tabulated
from gladius.panel.record import Counts, Integers, Transitions, grid_positions, group
from gladius.validate import ROW_SUM_TOLERANCE, Array, InputError, check_discount, check_finite

TransitionModel = KnownTransitions | PooledIncrements


@dataclass(frozen=True)
class Grid:
    """R data sets on a grid of S states, and their transition probabilities."""

    counts: Counts  # the data grouped over their own states
    position: Integers  # (S_counts,) where those states are on the grid
    visits: Array  # (R, S, A) n(s, a) on the grid
    # for states off the grid too; one replication where the probabilities are known
    p_hat: TransitionProbabilities
    # what P-hat is: given, of few parameters, or None for frequencies
    transition_model: TransitionModel | None
    discount: float  # beta

    @property
    def is_known(self) -> bool:
        """Whether the probabilities are known."""
        return isinstance(self.transition_model, KnownTransitions)

    @property
    def states(self) -> Array:
        """(S, d) features of the grid."""
        return self.p_hat.states

    @property
    def transition(self) -> Any:
        """(R, A, S, S) P of each data set, a `Table`."""
        own = self.p_hat.transition
        return own if len(own) == len(self.visits) else each(own[0], len(self.visits))

    def q_function(self, replication: int, reward: StateFunction, v: Array) -> StateFunction:
        """Q = r + beta P V for (S,) V; of any state, or of the grid's states where P is known."""
        row = 0 if self.is_known else replication
        q = bellman_q(reward, v, self.p_hat, row, self.discount)
        return partial(on_grid, q, self.states) if self.is_known else q

    def estimates(self, method: str, fits: Sequence[Fit], anchor: Anchor) -> list[Estimate]:
        """The Estimates of one fit to each of the R data sets."""
        return counts_estimates(method, fits, self.counts, anchor, self.discount)


@dataclass(frozen=True)
class Model(Grid):
    """A grid with the form of the reward on it."""

    form: LinearReward  # of the reward
    design: Array  # (S, A, k) on the grid
    offset: Array  # (S, A) on the grid

    def of(self, replication: int) -> "Model":
        """The model of one data set, on the same grid."""
        visits = self.visits[replication : replication + 1]
        counts, p_hat = self.counts.of(replication), self.p_hat.of(replication)
        return replace(self, counts=counts, p_hat=p_hat, visits=visits)

    def based(self, fits: Sequence[Fit], *, is_likelihood: bool = False) -> list[Fit]:
        """Fits to its data sets, each with its `FormBasis`."""
        bases = (FormBasis(self.of(r), is_likelihood) for r in range(len(fits)))
        return [replace(fit, basis=basis) for fit, basis in zip(fits, bases, strict=True)]

    def functions(
        self, replication: int, theta: Array, v: Array
    ) -> tuple[StateFunction, StateFunction]:
        """(Q, r) at (k,) theta, with Q = r + beta P V for (S,) V."""
        reward = RewardFunction(self.form, theta, self.visits.shape[2])
        return self.q_function(replication, reward, v), reward


class Weights(NamedTuple):
    """How a criterion weighs the choices of a data set, where not all alike."""

    visits: Array  # (S, A) choices as the criterion counts them
    squares: Array  # (S,) sums of their squared weights
    of_rows: Array  # (n,) the weight of each observation


@dataclass(frozen=True)
class FormBasis:
    """What the errors of theta-hat follow from."""

    model: Model  # the grid and the form that it was fitted with, of one data set
    is_likelihood: bool = False  # whether theta-hat maximises the likelihood
    weights: Weights | None = None  # of the choices, where the criterion weighs them
    q: StateFunction | None = None  # Q-hat, on a grid of cells


def make_grid(
    data: Sequence[Transitions],
    discount: float,
    transition: TransitionModel | None = None,
) -> Grid:
    """Count the data and take the transition probabilities, or estimate them by frequencies.

    Raises:
        InputError: for probabilities that do not fit the data.
    """
    beta = check_discount(discount)
    counts = group(data)
    actions = counts.visits.shape[2]
    position = np.arange(len(counts.states))
    if transition is None:
        check_support(counts)
        p_hat = empirical_transition_probabilities(counts)
    elif isinstance(transition, PooledIncrements):
        counts = transition.on_grid(counts)
        p_hat, position = transition.estimate(counts), np.arange(len(counts.states))
    else:
        p_hat = _as_p_hat(transition, counts.states.shape[1], actions)
        position = positions(p_hat.states, counts.states)
        _check_against_data(p_hat.transition[0], counts, position)
    visits = np.zeros((len(data), len(p_hat.states), actions))
    visits[:, position] = counts.visits
    return Grid(counts, position, visits, p_hat, transition, beta)


def make_model(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    reward: LinearReward | None,
    transition: TransitionModel | None = None,
) -> Model:
    """A grid (see `make_grid`) with the form of the reward, which a parametric method needs.

    The form identifies theta. Where it has no parameter at the anchor's action it must agree with
    the anchor's reward.
    """
    form = check_form(reward)
    grid = make_grid(data, discount, transition)
    design, offset = form.tables(grid.states, grid.visits.shape[2])
    observed = grid.position[grid.counts.seen.any(axis=0)]
    check_level(anchor, grid.states[observed], design[observed], offset[observed])
    return Model(**vars(grid), form=form, design=design, offset=offset)


def on_grid(function: StateFunction, grid: Array, states: Array) -> Array:
    """A function of the state that is defined on a grid only, and says so elsewhere."""
    positions(grid, states)
    return function(states)


def positions(grid: Array, states: Array) -> Integers:
    """(n,) index of each state on the grid, or an error naming the first that is not there."""
    position = grid_positions(grid, states)
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
        hint = "say what the reward is linear in: reward=gladius.LinearReward(design)"
        raise InputError("reward", reward, hint)
    return reward


def check_level(anchor: Anchor, states: Array, design: Array, offset: Array) -> None:
    """Raise where the form has no parameter at the anchor's action and contradicts its reward.

    `design` (n, A, k) and `offset` (n, A) are those at the (n, d) states.
    """
    a = anchor.action
    if np.any(design[:, a]) or not np.any(design):
        return
    expected, given = anchor.values(states), offset[:, a]
    differs = ~np.isclose(given, expected)
    if np.any(differs):
        i = int(np.argmax(differs))
        where = f"the design is 0 at action {a}, whose reward in {states[i].tolist()} is"
        hint = f"{where} {expected[i]}: give the anchor's reward in `offset`, or an anchor_reward "
        raise InputError("reward.offset", given[i], hint + "that agrees")


def _as_p_hat(given: object, features: int, actions: int) -> TransitionProbabilities:
    """As P-hat with one replication; an error where the data have other shapes."""
    if not isinstance(given, KnownTransitions):
        hint = "give KnownTransitions(probabilities, grid) or PooledIncrements(), or leave it out"
        raise InputError("transition", given, hint)
    if given.grid.shape[1] != features:
        raise InputError("transition.grid", given.grid.shape, f"give {features} features")
    if len(given.probabilities) != actions:
        hint = f"give one matrix for each of {actions} actions"
        raise InputError("transition.probabilities", given.probabilities.shape, hint)
    (a, s, t), probabilities = entries(given.probabilities)
    shape = given.probabilities.shape
    table = tabulated(np.ravel_multi_index((a, s), shape[:2]), t, probabilities, shape)
    return TransitionProbabilities(given.grid, table[None], ())


def _check_against_data(transition: Table, counts: Counts, position: Integers) -> None:
    """Raise where the data hold a move, or an end of a path, that P excludes."""
    field = "transition.probabilities"
    (_, a, s, t), _ = entries(counts.moves)
    moves = np.ravel_multi_index((a, position[s], position[t]), transition.shape)
    possible = np.ravel_multi_index(entries(transition)[0], transition.shape)
    excluded = np.flatnonzero(~np.isin(moves, possible))
    if len(excluded):
        first = excluded[np.argmin(moves[excluded])]
        act, i, j = int(a[first]), int(s[first]), int(t[first])
        move = f"from {counts.states[i].tolist()} to {counts.states[j].tolist()}"
        hint = f"the data hold this move, {move}: give it a probability, in the order of the grid"
        raise InputError(f"{field}[{act}, {position[i]}, {position[j]}]", 0.0, hint)
    survival, ends = departures(transition)[:, position], counts.ends.sum(axis=0)
    endless = np.argwhere((ends > 0) & (survival >= 1 - ROW_SUM_TOLERANCE))
    if len(endless):
        a, i = endless[0]
        hint = "the data are `done` there: take the probability of an end from this row"
        raise InputError(f"{field}[{a}, {position[i]}]", survival[a, i], hint)
