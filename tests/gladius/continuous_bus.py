"""A bus engine with continuous mileage: no state but a new engine's ever repeats.

Maintaining costs x, less an effect of the first input if it has one, and adds an exponential amount
to the mileage. Replacing costs 5 and returns it to NEW. With V(x) the value of mileage x in
expectation over the inputs, and zeta(x) = E[V(x + e)], e exponential with mean m,

    V(x) = E_u log(exp(-x + effect(u) + beta zeta(x)) + exp(-5 + beta V(NEW))),
    zeta'(x) = (zeta(x) - V(x)) / m,    zeta(x) -> -5 + beta V(NEW) as x grows,

This is an ordinary differential equation, stable when integrated downwards; V(NEW) is the root of
one scalar equation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import expit

from gladius.designs.bus import DUMMY_LIMIT, MAINTAIN, REPLACE
from gladius.panel.record import Transitions
from gladius.validate import Array

NEW = 1.0  # mileage of a new engine, where paths start
FAR = 80.0  # mileage at which maintaining has probability 0 in double precision
LARGEST_VALUE = 1e3  # utils; brackets V(NEW)


@dataclass(frozen=True)
class ContinuousBus:
    """The bus engine on [NEW, infinity)."""

    inputs: int = 0  # K further inputs, uniform on {-10, ..., 10}
    # (21,) what the first input adds to r(., maintain), or a single 0 for nothing
    effect: tuple[float, ...] = (0.0,)
    mean: float = 2.5  # of the increments
    discount: float = 0.95  # beta
    horizon: int = 100  # H
    anchor_reward: float = -5.0  # r(., replace)
    accuracy: float = 1e-10  # relative, of the differential equation

    anchor_action = REPLACE

    def _value(self, x: Array, zeta: Array, new: float) -> Array:
        """V at mileage x, given zeta there and V(NEW)."""
        effect = np.asarray(self.effect)[:, None]
        maintain = effect - x + self.discount * zeta
        replace = self.anchor_reward + self.discount * new
        return np.asarray(np.logaddexp(maintain, replace).mean(axis=0))

    def _zeta(self, new: float) -> Callable[[Array], Array]:
        """zeta as a function of x, given V(NEW)."""

        def derivative(x: float, zeta: Array) -> Array:
            return (zeta - self._value(np.array([x]), zeta, new)) / self.mean

        far = self.anchor_reward + self.discount * new
        tight = {"rtol": self.accuracy, "atol": self.accuracy, "dense_output": True}
        solution = solve_ivp(derivative, (FAR, NEW), [far], method="DOP853", **tight).sol
        return lambda x: solution(np.clip(x, NEW, FAR))[0]

    @cached_property
    def value_of_new(self) -> float:
        """V(NEW)."""

        def excess(new: float) -> float:
            zeta = self._zeta(new)(np.array([NEW]))
            return float(self._value(np.array([NEW]), zeta, new)[0]) - new

        return float(brentq(excess, -LARGEST_VALUE, LARGEST_VALUE, xtol=1e-12))

    @cached_property
    def zeta(self) -> Callable[[Array], Array]:
        """(n,) E[V(s') | x, maintain] at (n,) mileages."""
        return self._zeta(self.value_of_new)

    def reward(self, states: Array, actions: NDArray[np.int64]) -> Array:
        """(n,) r at (n, 1 + K) states."""
        return np.where(actions == MAINTAIN, self._maintenance(states), self.anchor_reward)

    def _maintenance(self, states: Array) -> Array:
        effect = np.asarray(self.effect)
        index = np.rint(states[:, 1]).astype(int) + DUMMY_LIMIT if len(effect) > 1 else 0
        return np.asarray(effect[index] - states[:, 0])

    def q(self, states: Array) -> Array:
        """(n, 2) Q* at (n, 1 + K) states."""
        maintain = self._maintenance(states) + self.discount * self.zeta(states[:, 0])
        replace = self.anchor_reward + self.discount * self.value_of_new
        return np.stack([maintain, np.full(len(states), replace)], axis=1)

    def simulate(self, trajectories: int, rng: np.random.Generator) -> Transitions:
        """Expert paths from a new engine; the same mileages whatever K is, if none matters."""
        paths, noise = rng.spawn(2)
        shape = (self.inputs, trajectories, self.horizon + 1)
        inputs = np.moveaxis(noise.integers(-DUMMY_LIMIT, DUMMY_LIMIT + 1, shape), 0, -1)
        states = np.empty((trajectories, self.horizon + 1, 1 + self.inputs))
        states[..., 1:] = inputs
        states[:, 0, 0] = NEW
        actions = np.empty((trajectories, self.horizon), dtype=np.int64)
        for t in range(self.horizon):
            q = self.q(states[:, t])
            is_replaced = paths.uniform(size=trajectories) < expit(q[:, REPLACE] - q[:, MAINTAIN])
            mileage = states[:, t, 0] + paths.exponential(self.mean, trajectories)
            actions[:, t] = np.where(is_replaced, REPLACE, MAINTAIN)
            states[:, t + 1, 0] = np.where(is_replaced, NEW, mileage)
        return Transitions.from_paths(states, actions, 2)
