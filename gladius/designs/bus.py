"""Rust's bus engine, exactly as in the paper's experiment section (Section 7)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from gladius.model.mdp import TabularMDP
from gladius.model.reward_form import KnownTransitions, LinearReward, anchor_offset
from gladius.panel.record import Transitions
from gladius.validate import (
    Array,
    InputError,
    check_discount,
    check_finite,
    check_generators,
    check_whole,
)

MAINTAIN, REPLACE = 0, 1  # as in the paper's tables; one sentence of its text says the opposite
DUMMY_LIMIT = 10  # each dummy is uniform on {-10, ..., 10}


def bus_design(states: Array) -> Array:
    """(n, 2, 2) design of r(x, 0) = -theta_0 x and r(x, 1) = -theta_1; x is the first feature."""
    design = np.zeros((len(states), 2, 2))
    design[:, MAINTAIN, 0] = -states[:, 0]
    design[:, REPLACE, 1] = -1.0
    return design


BUS_REWARD = LinearReward(bus_design)


def upkeep_design(states: Array) -> Array:
    """(n, 2, 1) the first column of `bus_design`, r(x, 0) = -theta_0 x."""
    return bus_design(states)[:, :, :1]


def bus_reward_given(theta_1: float) -> LinearReward:
    """The linear form with theta_1 fixed, so that only theta_0 is estimated."""
    offset = partial(anchor_offset, 2, REPLACE, -float(theta_1))
    return LinearReward(upkeep_design, offset)


@dataclass(frozen=True)
class BusEngine:
    """The bus engine with K irrelevant dummies.

    Maintaining costs theta_0 x and moves the mileage by 1 to 4 (equally likely, capped);
    replacing costs theta_1 and sends it to 1. Paths start at 1 and last `horizon` periods.

    Attributes:
        theta: (theta_0, theta_1), the paper's (1, 5).
        discount: beta.
        max_mileage: the cap.
        dummies: K, the number of irrelevant state variables.
        horizon: H, periods of a trajectory.
        maintenance: reward of maintaining as a function of mileage, if not -theta_0 x.
    """

    theta: tuple[float, float] = (1.0, 5.0)
    discount: float = 0.95
    max_mileage: int = 20
    dummies: int = 0
    horizon: int = 100
    maintenance: Callable[[Array], Array] | None = None

    def __post_init__(self) -> None:
        if check_finite("theta", self.theta).shape != (2,):
            raise InputError("theta", self.theta, "give two numbers, (theta_0, theta_1)")
        check_discount(self.discount)
        for name, least in [("max_mileage", 2), ("dummies", 0), ("horizon", 1)]:
            check_whole(name, getattr(self, name), least)

    @property
    def anchor_action(self) -> int:
        """Replacement, whose reward -theta_1 the estimators are given."""
        return REPLACE

    @property
    def anchor_reward(self) -> float:
        """r(s, replace) = -theta_1 in every state."""
        return -float(self.theta[1])

    @property
    def known_transitions(self) -> KnownTransitions:
        """The true transition probabilities of the mileage."""
        return KnownTransitions(self.mdp.transition, self.mdp.features)

    @cached_property
    def mdp(self) -> TabularMDP:
        """The model of the mileage alone; state i is mileage i + 1."""
        x = np.arange(1, self.max_mileage + 1, dtype=float)
        upkeep = -self.theta[0] * x if self.maintenance is None else self.maintenance(x)
        upkeep = check_finite("maintenance", upkeep)
        if upkeep.shape != x.shape:
            raise InputError("maintenance", upkeep.shape, f"return one reward for each of {len(x)}")
        reward = np.stack([upkeep, np.full_like(x, self.anchor_reward)], axis=1)
        n = self.max_mileage
        transition = np.zeros((2, n, n))
        for step in range(1, 5):
            reached = np.minimum(np.arange(n) + step, n - 1)
            np.add.at(transition[MAINTAIN], (np.arange(n), reached), 0.25)
        transition[REPLACE, :, 0] = 1.0
        return TabularMDP(reward, transition, self.discount, np.eye(n)[0], x[:, None])

    def reward(self, states: Array, actions: NDArray[np.int64]) -> Array:
        """True r of (n, 1 + K) features and (n,) actions; only the mileage matters."""
        mileage, action = np.asarray(states)[:, 0], np.asarray(actions)
        is_wrong = ~np.isin(mileage, np.arange(1, self.max_mileage + 1))
        if np.any(is_wrong):
            hint = f"the mileage is a whole number from 1 to {self.max_mileage}"
            raise InputError("states", float(mileage[is_wrong][0]), hint)
        is_wrong = ~np.isin(action, (MAINTAIN, REPLACE))
        if np.any(is_wrong):
            raise InputError("actions", action[is_wrong].flat[0], "0 maintains, 1 replaces")
        return self.mdp.reward[mileage.astype(np.int64) - 1, action.astype(np.int64)]

    @overload
    def simulate(self, trajectories: int, rng: int | np.random.Generator) -> Transitions: ...
    @overload
    def simulate(
        self, trajectories: int, rng: Sequence[np.random.Generator]
    ) -> list[Transitions]: ...
    def simulate(
        self, trajectories: int, rng: int | np.random.Generator | Sequence[np.random.Generator]
    ) -> Transitions | list[Transitions]:
        """Expert data: one data set by a seed or a generator, or one for each in a sequence."""
        rngs = check_generators(rng)
        paths = self.mdp.simulate(trajectories, self.horizon, rngs)
        shape = (trajectories, self.horizon + 1, self.dummies)
        sets = []
        for r, generator in enumerate(rngs):
            mileage = np.append(paths.states[r], paths.next_states[r][:, -1:], axis=1) + 1.0
            noise = generator.integers(-DUMMY_LIMIT, DUMMY_LIMIT + 1, shape).astype(float)
            states = np.concatenate([mileage[..., None], noise], axis=-1)
            sets.append(Transitions.from_paths(states, paths.actions[r], 2))
        return sets if isinstance(rng, Sequence) else sets[0]
