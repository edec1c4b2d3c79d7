"""What the reward is for: behaviour and value after a change of the reward or of P.

The paper's remark "Counterfactual policy optimization without estimating P": assign r-hat + Delta
to the observed transitions and let offline reinforcement learning find the new policy (`relabel`,
`learn`). Where P itself changes, estimate it, change the estimate and plan (`plan`).

With r + phi - beta E[phi(s')] in place of r, the policy is the same (Ng, Harada and Russell 1999).
Adding Delta leaves that true: for an additive change under the same P every such reward gives the
right new policy and the right change of V. It does not after a change that scales r, nor after one
of P (Kalouptsidi, Scott and Souza-Rodrigues 2021).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp, softmax

from gladius.model.choice_sets import ChoiceSets, sets_of
from gladius.model.estimate import Estimate, StateFunction
from gladius.model.mdp import Solution, soft_bellman
from gladius.model.parametric import positions
from gladius.model.risk import value
from gladius.own_data.results.inference import Errors, FormErrors
from gladius.own_data.results.weights import grid_of
from gladius.panel.anchor import nearest
from gladius.panel.moves import Moves, Table, dense, stacked
from gladius.panel.record import Counts, Integers, action_labels
from gladius.register import needs
from gladius.solvers.threads import one_thread
from gladius.validate import (
    Array,
    InputError,
    asked,
    check_discount,
    check_finite,
    check_rows,
    generator,
    shaped,
)

TOLERANCE = 1e-10  # of a sweep's gap, relative to max(1, |Q|)
SWEEPS = 10_000  # at most


@dataclass(frozen=True)
class Change:
    """An intervention.

    Attributes:
        name: what it is called.
        reward: maps features (n, d) and rewards (n, A) to the new rewards (n, A); None: the same.
        transition: maps transition probabilities (..., A, S, S) over the planner's states to the
            new ones, whose rows may sum to less than one where paths end; None: the same.
    """

    name: str
    reward: Callable[[Array, Array], Array] | None = None
    transition: Callable[[Array], Array] | None = None

    @shaped
    def new_reward(
        self, states: Float[Array, "n d"], table: Float[Array, "n A"]
    ) -> Float[Array, "n A"]:
        """The table after the change."""
        if self.reward is None:
            return table
        given = asked("change.reward", self.reward, states, table)
        new = np.asarray(asked("change.reward", partial(np.asarray, dtype=np.float64), given))
        if new.shape != table.shape:
            raise InputError("change.reward", new.shape, f"return shape {table.shape}")
        return new

    @shaped
    def new_transition(
        self, transition: Float[Array, "*batch A S S"]
    ) -> Float[Array, "*batch A S S"]:
        """The transition probabilities after the change."""
        if self.transition is None:
            return transition
        new = check_finite(
            "change.transition", asked("change.transition", self.transition, transition)
        )
        if new.shape != transition.shape:
            raise InputError("change.transition", new.shape, f"return shape {transition.shape}")
        check_rows("change.transition", new)
        return new


def check_logged(logged: object) -> Counts:
    """The counts of one data set, or an error where they are something else."""
    if not isinstance(logged, Counts) or len(logged.visits) != 1:
        raise InputError("logged", type(logged).__name__, "give group(transitions) of one data set")
    return logged


def relabel(logged: Counts, reward: Estimate | StateFunction, change: Change) -> Array:
    """(S, A) r-hat + Delta at the states of the observed transitions of one data set.

    Args:
        logged: the transitions, counted (`transitions.group`).
        reward: r-hat; only its values at observed pairs are used.
        change: of the reward. One of P the data do not follow.
    """
    visits = check_logged(logged).visits[0]
    if change.transition is not None:
        raise InputError("change", change.name, "the data follow the old P: use `plan`")
    function = reward.reward_function if isinstance(reward, Estimate) else reward
    estimated = np.asarray(asked("reward", function, logged.states), dtype=np.float64)
    if estimated.shape != visits.shape:
        raise InputError("reward", estimated.shape, f"return shape {visits.shape}")
    table = change.new_reward(logged.states, estimated)
    missing = np.argwhere((visits > 0) & ~np.isfinite(table))
    if len(missing):
        s, a = missing[0]
        where = f"state {logged.states[s].tolist()}, action {a}"
        raise InputError("reward", float(table[s, a]), f"it says nothing of {where}")
    return table


@dataclass(frozen=True)
class Learned:
    """Q learned from one data set."""

    logged: Counts  # the transitions, counted
    table: Array  # (S, A) Q on the data's states; -inf where an action is excluded
    converged: bool  # whether the distance to the fixed point met TOLERANCE

    def q(self, states: Array) -> Array:
        """(n, A) Q at any (n, d) features: that of the nearest state with observations."""
        return np.asarray(self.table[_nearest(self.logged, check_finite("states", states))])

    def value(self, states: Array) -> Array:
        """(n,) V = log sum_a exp Q."""
        return np.asarray(logsumexp(self.q(states), axis=1))

    def policy(self, states: Array) -> Array:
        """(n, A) choice probabilities, softmax of Q; zero where an action is excluded."""
        return np.asarray(softmax(self.q(states), axis=1))


def _nearest(logged: Counts, states: Array) -> Integers:
    """(n,) index of the nearest state with observed transitions."""
    observed = np.flatnonzero(logged.followed[0].any(axis=1))
    return np.asarray(observed[nearest(logged.states[observed], states)])


def learn(data: Sequence[Counts], rewards: Sequence[Array], discount: float) -> list[Learned]:
    """Soft fitted Q iteration on each data set; no transition probabilities are formed.

    Each sweep regresses r + beta V(s') of the last Q on (s, a) (Ernst, Geurts and Wehenkel 2005,
    with the entropy-regularised backup). In a table the regression is the mean over the
    observations of (s, a). An action never taken in a state is excluded there: it is never chosen
    and does not enter V. A state without observations has the Q of the nearest one with some.

    Args:
        data: the transitions of each data set, counted (`transitions.group` of one).
        rewards: for each of them (S, A), the mean reward of a pair; any number where a pair has no
            observations.
        discount: beta.
    """
    beta = check_discount(discount)
    if not data or len(data) != len(rewards):
        raise InputError("rewards", len(rewards), f"give one table for each of {len(data)} sets")
    return [_sweep(check_logged(one), r, beta) for one, r in zip(data, rewards, strict=True)]


def _sweep(logged: Counts, rewards: Array, beta: float) -> Learned:
    followed = logged.followed[0]
    if np.shape(rewards) != followed.shape:
        raise InputError("rewards", np.shape(rewards), f"give shape {followed.shape}")
    is_taken = followed > 0
    mean = check_finite("rewards", np.where(is_taken, rewards, 0.0))
    source = _nearest(logged, logged.states)
    q, gap, scale = np.where(is_taken, 0.0, -np.inf)[source], np.inf, 1.0
    for _ in range(SWEEPS):
        following = (logged.moves[0] @ value(q)).T / np.where(is_taken, followed, 1.0)
        new = np.where(is_taken, mean + beta * following, -np.inf)
        gap = float(np.max(np.abs(new[is_taken] - q[is_taken]))) * beta / (1 - beta)
        scale = max(1.0, float(np.max(np.abs(new[is_taken]))))
        q = new[source]
        if gap <= TOLERANCE * scale:
            break
    return Learned(logged, q, gap <= TOLERANCE * scale)


@one_thread()
def plan(
    states: Array, reward: Array, transition: Table, discount: float, change: Change
) -> Solution:
    """The solution of the soft Bellman equation after the change.

    Args:
        states: (S, d) the planner's states.
        reward: (..., S, A) r-hat on them.
        transition: (..., A, S, S) P-hat or P over them, before the change; a row loses the
            probability of an end.
        discount: beta.
        change: of the reward, of P, or of both.
    """
    tables, old = check_finite("reward", reward), transition
    if not isinstance(old, Moves):
        old = check_finite("transition", old)
        check_rows("transition", old)
    if tables.ndim < 2 or tables.shape[-2] != len(states):
        raise InputError("reward", tables.shape, f"give shape (..., {len(states)}, actions)")
    shape = (tables.shape[-1], len(states), len(states))
    if old.shape[-3:] != shape:
        raise InputError("transition", old.shape, f"give shape (..., A, S, S) = {shape}")
    flat = tables.reshape(-1, *tables.shape[-2:])
    new = np.stack([change.new_reward(states, table) for table in flat]).reshape(tables.shape)
    check_finite("change.reward", new)
    return soft_bellman(new, changed_moves(change, old), check_discount(discount))


def changed_moves(change: Change, transition: Table) -> Table:
    """The (..., A, S, S) transition probabilities after a change, whose function takes an array."""
    if change.transition is None:
        return transition
    hint = "give no `transition`, or states that are fewer"
    return change.new_transition(dense(transition, hint).copy())


def effect(
    states: Array,
    reward: Array,
    transition: Table,
    discount: float,
    change: Change,
    closed: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """(R, S, A) choice probabilities before and after, for (R, S, A) rewards and (R, A, S, S) P.

    `closed` are (S, A) numbers that are added to the rewards before and after, FORBIDDEN where an
    action is not available.
    """
    new = transition
    if change.transition is not None:
        new = stacked([changed_moves(change, transition[i]) for i in range(len(transition))])
    if closed is None:
        before = plan(states, reward, transition, discount, Change("none")).q
        after = plan(states, reward, new, discount, replace(change, transition=None)).q
    else:
        changed_reward = np.stack([change.new_reward(states, table) for table in reward])
        before = plan(states, reward + closed[0], transition, discount, Change("none")).q
        after = plan(states, changed_reward + closed[1], new, discount, Change("none")).q
    return np.asarray(softmax(before, axis=2)), np.asarray(softmax(after, axis=2))


def changed(
    results: Any,
    errors: Errors | None,
    at: Array,
    reward: Mapping[str, float] | Callable[[Array, Array], Array] | None,
    transition: Callable[[Array], Array] | None,
    available: Callable[[Array], Array] | None,
    draws: int,
    rng: int | np.random.Generator,
) -> dict[str, Array]:
    """`before`, `after` and perhaps `se` of `Results.counterfactual`, (n A,) at (n, d) states.

    Args:
        results: a `gladius.Results`, whose module imports this one.
        errors: its standard errors.
        at, reward, transition, available, draws, rng: see there.
    """
    is_open = not {"anchor", "form"} & set(needs(results.name))
    if isinstance(reward, Mapping):
        names = action_labels(results.data)
        unknown = [name for name in reward if name not in names]
        if unknown:
            raise InputError("reward", unknown, f"name some of {', '.join(names)}")
        added = check_finite("reward", [reward.get(name, 0.0) for name in names])
        reward, is_open = partial(plus, added), is_open and transition is not None
    elif reward is not None and not callable(reward):
        raise InputError("reward", reward, "give numbers by action, or a function")
    if is_open:
        hint = "it leaves the level of r open: give numbers by action and no `transition`"
        raise InputError("method", results.name, hint)
    grid = errors.basis.model if isinstance(errors, FormErrors) else grid_of(results)
    row, change = positions(grid.states, at), Change("change", reward, transition)
    closed, latent = _closed(results, grid.states, available)
    own = latent[None], grid.transition[:1]
    before, after = effect(grid.states, *own, results.discount, change, closed)
    columns, moves = {"before": before[0, row].ravel(), "after": after[0, row].ravel()}, []
    if isinstance(errors, FormErrors) and not results.diagnostics.status.startswith("failed"):
        design, offset = errors.basis.model.design, errors.basis.model.offset
        if (sets := sets_of(results.data)) is not None:
            offset = offset - sets.closed(grid.states)
        drawn = errors.draws(results.params.to_numpy(), draws, generator(rng))
        for theta, transitions in drawn:
            tables = offset + np.einsum("sak,rk->rsa", design, theta)
            pair = effect(grid.states, tables, transitions, results.discount, change, closed)
            moves.append((pair[1] - pair[0])[:, row])
    if moves:
        columns["se"] = np.std(np.concatenate(moves), axis=0, ddof=1).ravel()
    return columns


def _closed(
    results: Any, states: Array, available: Callable[[Array], Array] | None
) -> tuple[tuple[Array, Array] | None, Array]:
    """`closed` of `effect`, if there are choice sets, and r-hat; 0 where it is NaN and closed."""
    sets, reward = sets_of(results.data), results.reward_function(states)
    if sets is None and available is None:
        return None, reward
    old = np.zeros_like(reward) if sets is None else sets.closed(states)
    new = old
    if available is not None:
        if not callable(available):
            raise InputError("available", available, "give a function of the state")
        new = ChoiceSets(available, reward.shape[1]).closed(states)
    unknown = np.isnan(reward) & ((old == 0) | (new == 0))
    if np.any(unknown):
        s, a = np.argwhere(unknown)[0]
        hint = f"{results.method} identifies no reward of action {a} there, where it was not"
        raise InputError("available", states[s].tolist(), f"{hint} available: take a form")
    return (old, new), np.nan_to_num(reward)


def plus(added: Array, states: Array, table: Array) -> Array:
    """(n, A) rewards with a number added to those of each action."""
    return np.asarray(table + added)
