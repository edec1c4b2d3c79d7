"""What the reward is for: behaviour, value and welfare after a change of the reward or of P.

The paper's remark "Counterfactual policy optimization without estimating P": write r-hat + Delta
beside the logged moves and let offline reinforcement learning find the new policy (`relabel`,
`offline_rl.learn`); where P itself changes, estimate it, change the estimate and plan (`plan`).
`Change` says what is done to the world; `changed` does it to a world whose truth is known, and
`judge` measures a policy there. Welfare is what the agents of the model maximise, the expected
discounted sum of reward and entropy: E[sum beta^t (r(s, a) - log pi(a | s))].

What the reward must be known up to depends on the change (Kalouptsidi, Scott and Souza-Rodrigues
2021; Ng, Harada and Russell 1999). With a reward r + phi - beta E[phi(s')] in place of r, Q* moves
by phi(s) and the policy stays. Adding Delta leaves that true: for an additive change under the same
P every such reward, log pi among them, gives the right new policy and the right change of V. It
does not after a change that scales r, nor after one of P.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature

import numpy as np
from jaxtyping import Float

from gladius.checks import Array, InputError, check_discount, check_finite, check_rows, shaped
from gladius.estimate import Estimate, StateFunction
from gladius.mdp import Solution, TabularMDP, soft_bellman
from gladius.offline_rl import check_logged
from gladius.transitions import Counts


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

    def __post_init__(self) -> None:
        for name, function in [("reward", self.reward), ("transition", self.transition)]:
            if function is not None and not callable(function):
                raise InputError(f"change.{name}", function, "give a function, see Change")

    @shaped
    def new_reward(
        self, states: Float[Array, "n d"], table: Float[Array, "n A"]
    ) -> Float[Array, "n A"]:
        """The table after the change."""
        if self.reward is None:
            return table
        new = np.asarray(self.reward(states, table), dtype=np.float64)
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
        new = check_finite("change.transition", self.transition(transition))
        if new.shape != transition.shape:
            raise InputError("change.transition", new.shape, f"return shape {transition.shape}")
        check_rows("change.transition", new)
        return new


def check_change(change: object) -> Change:
    """The change, or an error where it is none."""
    if not isinstance(change, Change):
        raise InputError("change", change, "give a Change(name, reward=..., transition=...)")
    return change


def relabel(logged: Counts, reward: Estimate | StateFunction, change: Change) -> Array:
    """(S, A) r-hat + Delta beside the logged moves.

    Args:
        logged: the moves of one data set, counted (`transitions.group`).
        reward: r-hat, an Estimate or a function of (n, d) features that returns (n, A); only its
            values at logged pairs are used.
        change: of the reward.

    Raises:
        InputError: for a change of P, which the moves do not follow; for a reward that is no
            such function, or has no number at a logged pair.
    """
    visits = check_logged("logged", logged).visits[0]
    if check_change(change).transition is not None:
        raise InputError("change", change.name, "the moves follow the old P: use `plan`")
    estimated = np.asarray(_of_states(reward)(logged.states), dtype=np.float64)
    if estimated.shape != visits.shape:
        raise InputError("reward", estimated.shape, f"return shape {visits.shape}")
    table = change.new_reward(logged.states, estimated)
    unknown = np.argwhere((visits > 0) & ~np.isfinite(table))
    if len(unknown):
        s, a = unknown[0]
        where = f"state {logged.states[s].tolist()}, action {a}"
        raise InputError("reward", float(table[s, a]), f"it says nothing of {where}")
    return table


def _of_states(reward: Estimate | StateFunction) -> StateFunction:
    """r-hat as a function of the features alone."""
    if isinstance(reward, Estimate):
        return reward.reward_function
    try:
        signature(reward).bind(None)
    except TypeError:  # no function, or one of more than the states, as Estimate.reward is
        hint = "give an Estimate, its reward_function, or a function of the features alone"
        raise InputError("reward", reward, hint) from None
    except ValueError:  # compiled functions need not tell
        pass
    return reward


def plan(
    states: Array, reward: Array, transition: Array, discount: float, change: Change
) -> Solution:
    """The soft Bellman equation of a model of the new world.

    Args:
        states: (S, d) the planner's states.
        reward: (..., S, A) r-hat on them.
        transition: (..., A, S, S) P-hat or P over them, before the change; a row loses the
            probability of an end.
        discount: beta.
        change: of the reward, of P, or of both.
    """
    check_change(change)
    tables, known = check_finite("reward", reward), check_finite("transition", transition)
    if tables.ndim < 2 or tables.shape[-2] != len(states):
        raise InputError("reward", tables.shape, f"give shape (..., {len(states)}, actions)")
    square = (tables.shape[-1], len(states), len(states))
    if known.shape[-3:] != square:
        hint = f"give shape (..., actions, states, states) = {square}"
        raise InputError("transition", known.shape, hint)
    check_rows("transition", known)
    flat = tables.reshape(-1, *tables.shape[-2:])
    new = np.stack([change.new_reward(states, table) for table in flat]).reshape(tables.shape)
    return soft_bellman(new, change.new_transition(known), check_discount(discount))


def changed(world: TabularMDP, change: Change) -> TabularMDP:
    """The true world after the change."""
    reward = check_change(change).new_reward(world.features, world.reward)
    transition = change.new_transition(world.transition)
    return TabularMDP(reward, transition, world.discount, world.initial, world.features)


@shaped
def welfare(world: TabularMDP, policy: Float[Array, "S A"]) -> float:
    """Expected discounted reward and entropy from the first state, if `policy` is followed.

    No policy has more than the mean of V* over first states, that of `world.solution.policy`.
    """
    flow = world.flow(policy)  # checks the policy
    logs = np.log(np.where(policy > 0, policy, 1.0))
    gain = np.sum(policy * (world.reward - logs), axis=1)
    value = np.linalg.solve(np.eye(len(gain)) - world.discount * flow, gain)
    return float(world.initial @ value)


@dataclass(frozen=True)
class Judgement:
    """A policy in the true new world.

    Attributes:
        welfare: see `welfare`.
        loss: the best policy's welfare less this one's.
        distance: total variation to the best policy, averaged over the states as that policy
            visits them (discounted).
        frequencies: (A,) share of each action in the first H periods.
    """

    welfare: float
    loss: float
    distance: float
    frequencies: Array


@shaped
def judge(world: TabularMDP, policy: Float[Array, "S A"], horizon: int) -> Judgement:
    """Measure a policy in a world, over `horizon` periods for the frequencies."""
    reached = welfare(world, policy)
    best = world.solution
    visits = world.discounted_occupancy().sum(axis=1)
    apart = 0.5 * np.abs(policy - best.policy).sum(axis=1)
    return Judgement(
        welfare=reached,
        loss=float(world.initial @ best.v) - reached,
        distance=float(visits @ apart),
        frequencies=world.occupancy(horizon, policy).sum(axis=0),
    )
