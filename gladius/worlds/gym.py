"""CartPole, Acrobot and LunarLander of gymnasium as worlds: episodes of a policy, many at a time.

Features are gymnasium's observations (float32) as float64. An episode is decided by its seed: where
it starts, as gymnasium's `reset(seed=...)` has it, the environment's own noise, and the numbers by
which a sampled policy draws its actions. Policies compared on common seeds so meet the same luck.

An episode ends in one of two ways that are no synonyms. `terminated`: the pole fell, the lander
crashed or rests; there is no next state and its value is zero, `done` in `Transitions`. Truncated:
nobody looked further than `limit` steps; the path goes on and s' has a value, so `done` is false.

LunarLander is v3: gymnasium no longer has v2, in which the published experts were trained. Observed
features, actions, forces and rewards are the same. v3 draws the wind anew for each episode, builds
the world anew at each reset (v2 was not deterministic after the first), and states wider bounds of
the observations, which nothing here uses.

CartPole and LunarLander need gymnasium, the latter Box2D too (`pip install gladius-checked[gym]`).
Acrobot's equations are here, since gymnasium's are for one state at a time, and need neither.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gladius.checks import (
    Array,
    InputError,
    check_choice,
    check_finite,
    check_options,
    check_positive,
    check_probabilities,
    check_whole,
)
from gladius.transitions import Integers, Transitions

Booleans = NDArray[np.bool_]
Policy = Callable[[Array], Array]  # (n, d) observations -> (n, A) probabilities

EXTRA = "pip install 'gladius-checked[gym]'"
DRAWS = 1  # the stream of a policy's draws under a seed
LARGEST_SEED = 2**31


class Moved(NamedTuple):
    """What a step led to, for each episode that took it."""

    observations: Array  # (k, d) of s'
    rewards: Array  # (k,)
    terminated: Booleans  # (k,)


class Running(Protocol):
    """Episodes under way, one for each seed."""

    observations: Array  # (n, d) at the start

    def step(self, episodes: Integers, actions: Integers) -> Moved:
        """Move the episodes of these places by these actions; each (k,)."""


class Environment(Protocol):
    """What episodes are played in."""

    name: ClassVar[str]
    features: ClassVar[tuple[str, ...]]
    number_of_actions: ClassVar[int]

    @property
    def limit(self) -> int:
        """Steps after which an episode is truncated."""

    def begin(self, seeds: Integers) -> Running:
        """An episode for each seed."""


def installed(name: str, module: str, *packages: str) -> ModuleType:
    """A module of gymnasium, or an error that says what this environment lacks."""
    for package in ("gymnasium", *packages):
        if find_spec(package) is None:
            raise InputError("environment", name, f"{package} is not installed: {EXTRA}")
    with warnings.catch_warnings():  # of SWIG's in Box2D, which as errors kill the interpreter
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module(module)


def starts(seeds: Integers, most: float) -> Array:
    """(4, n) first states, each uniform on +- most by its seed, as gymnasium draws them."""
    draws = [np.random.default_rng(seed).uniform(-most, most, 4) for seed in seeds]
    return np.stack(draws, axis=1)


# CartPole -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CartPole:
    """Balance a pole; reward 1 a step, terminated once it falls or the cart leaves the track.

    Attributes:
        pole: half the length of the pole, gymnasium's 0.5; a counterfactual changes it.
        limit: steps of an episode.

    Raises:
        InputError: gymnasium is not installed.
    """

    pole: float = 0.5
    limit: int = 500
    name: ClassVar[str] = "CartPole-v1"
    features: ClassVar[tuple[str, ...]] = ("x", "x_dot", "theta", "theta_dot")
    number_of_actions: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_positive("pole", self.pole)
        check_whole("limit", self.limit, 1)
        self._module()

    def _module(self) -> ModuleType:
        return installed(self.name, "gymnasium.envs.classic_control.cartpole")

    def begin(self, seeds: Integers) -> Running:
        """Gymnasium's vector environment, each column started as the scalar one with its seed."""
        world = self._module().CartPoleVectorEnv(len(seeds), max_episode_steps=self.limit)
        world.length, world.polemass_length = self.pole, world.masspole * self.pole
        world.reset(seed=0)  # what it starts anew when an episode is over is never looked at
        world.state = starts(seeds, 0.05)
        return CartPoles(world, world.state.T.astype(np.float32).astype(np.float64))


@dataclass
class CartPoles:
    """A vector environment, in which all columns move and the asked ones are reported."""

    world: Any
    observations: Array

    def step(self, episodes: Integers, actions: Integers) -> Moved:
        """See Running."""
        every = np.zeros(len(self.observations), dtype=np.int64)
        every[episodes] = actions
        after, rewards, terminated, *_ = self.world.step(every)
        return Moved(*(part[episodes] for part in (after.astype(float), rewards, terminated)))


# Acrobot ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Acrobot:
    """Swing the tip of two links above a line; reward -1 a step, terminated once it is there.

    The equations of gymnasium's acrobot.py (Sutton and Barto's book), for many states at a time and
    to the last bit its numbers.

    Attributes:
        mass_2: of the second link, gymnasium's 1; a counterfactual changes it.
        limit: steps of an episode.
    """

    mass_2: float = 1.0
    limit: int = 500
    name: ClassVar[str] = "Acrobot-v1"
    features: ClassVar[tuple[str, ...]] = (
        *("cos_1", "sin_1", "cos_2", "sin_2"),
        *("theta_1_dot", "theta_2_dot"),
    )
    number_of_actions: ClassVar[int] = 3

    def __post_init__(self) -> None:
        check_positive("mass_2", self.mass_2)
        check_whole("limit", self.limit, 1)

    def begin(self, seeds: Integers) -> Running:
        """Started as gymnasium's with the same seeds, in float32 as there."""
        state = starts(seeds, 0.1).astype(np.float32)
        return Acrobots(self.mass_2, state.astype(np.float64), acrobot_observations(state))


@dataclass
class Acrobots:
    """(4, n) states theta_1, theta_2 and their speeds."""

    mass_2: float
    state: Array
    observations: Array

    def step(self, episodes: Integers, actions: Integers) -> Moved:
        """See Running."""
        after = acrobot_step(self.state[:, episodes], actions, self.mass_2)
        self.state[:, episodes] = after
        over = -np.cos(after[0]) - np.cos(after[1] + after[0]) > 1.0
        return Moved(acrobot_observations(after), np.where(over, 0.0, -1.0), over)


def acrobot_observations(state: NDArray[Any]) -> Array:
    """(n, 6) features of (4, n) states, rounded to float32 as gymnasium's are."""
    turns = [f(angle) for angle in state[:2] for f in (np.cos, np.sin)]
    return np.stack([*turns, *state[2:]], axis=1).astype(np.float32).astype(np.float64)


def acrobot_step(state: Array, actions: Integers, mass_2: float = 1.0) -> Array:
    """(4, n) states after 0.2 seconds at torque -1, 0 or 1, by one step of Runge and Kutta.

    Operations are in the order of gymnasium's, on which the last bit depends.
    """
    torque, dt = actions.astype(np.float64) - 1.0, 0.2

    def slope(s: Array) -> Array:
        return acrobot_slope(s, torque, mass_2)

    k1 = slope(state)
    k2 = slope(state + dt / 2.0 * k1)
    k3 = slope(state + dt / 2.0 * k2)
    k4 = slope(state + dt * k3)
    after = state + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
    for angle in after[:2]:
        while np.any(high := angle > np.pi):
            angle[high] -= 2 * np.pi
        while np.any(low := angle < -np.pi):
            angle[low] += 2 * np.pi
    for speed, most in zip(after[2:], (4 * np.pi, 9 * np.pi), strict=True):
        np.clip(speed, -most, most, out=speed)
    return after


def square(x: Array) -> Array:
    """x^2 by the C library's pow, as a NumPy scalar has it: one in a thousand is no x * x."""
    return np.float_power(x, 2)


def acrobot_slope(state: Array, torque: Array, m2: float) -> Array:
    """Time derivative of (4, n) states; gymnasium's names, links of length 1, g = 9.8."""
    theta1, theta2, dtheta1, dtheta2 = state
    m1 = l1 = I1 = I2 = 1.0
    lc1, lc2, g = 0.5, 0.5, 9.8
    cos2, sin2 = np.cos(theta2), np.sin(theta2)
    d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * cos2) + I1 + I2
    d2 = m2 * (lc2**2 + l1 * lc2 * cos2) + I2
    phi2 = m2 * lc2 * g * np.cos(theta1 + theta2 - np.pi / 2.0)
    phi1 = (
        -m2 * l1 * lc2 * square(dtheta2) * sin2
        - 2 * m2 * l1 * lc2 * dtheta2 * dtheta1 * sin2
        + (m1 * lc1 + m2 * l1) * g * np.cos(theta1 - np.pi / 2)
        + phi2
    )
    ddtheta2 = (torque + d2 / d1 * phi1 - m2 * l1 * lc2 * square(dtheta1) * sin2 - phi2) / (
        m2 * lc2**2 + I2 - square(d2) / d1
    )
    ddtheta1 = -(d2 * ddtheta2 + phi1) / d1
    return np.stack([dtheta1, dtheta2, ddtheta1, ddtheta2])


# LunarLander --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LunarLander:
    """Land between two flags; terminated by a crash (-100), by leaving (-100) or at rest (+100).

    Attributes:
        wind: gymnasium's `wind_power`, with its turbulence, from 0 to 20; 0 is no wind.
        limit: steps of an episode.

    Raises:
        InputError: gymnasium or Box2D is not installed.
    """

    wind: float = 0.0
    limit: int = 1000
    name: ClassVar[str] = "LunarLander-v3"
    features: ClassVar[tuple[str, ...]] = (
        *("x", "y", "x_dot", "y_dot", "angle", "angle_dot"),
        *("left_leg", "right_leg"),
    )
    number_of_actions: ClassVar[int] = 4

    def __post_init__(self) -> None:
        if not 0.0 <= float(check_finite("wind", self.wind)) <= 20.0:
            raise InputError("wind", self.wind, "give a power from 0 to 20")
        check_whole("limit", self.limit, 1)
        self._module()

    def _module(self) -> ModuleType:
        return installed(self.name, "gymnasium.envs.box2d.lunar_lander", "Box2D")

    def begin(self, seeds: Integers) -> Running:
        """One of gymnasium's for each seed, without the wrappers of `make`, which check and count.

        Wrapped or not, the numbers are the same.
        """
        lander = self._module().LunarLander
        windy = {"enable_wind": self.wind > 0, "wind_power": float(self.wind)}
        worlds = [lander(**windy) for _ in seeds]
        pairs = zip(worlds, seeds, strict=True)
        first = [world.reset(seed=int(seed))[0] for world, seed in pairs]
        return Landers(worlds, np.array(first, dtype=np.float64))


@dataclass
class Landers:
    """Scalar environments, moved in turn."""

    worlds: list[Any]
    observations: Array

    def step(self, episodes: Integers, actions: Integers) -> Moved:
        """See Running."""
        pairs = zip(episodes.tolist(), actions.tolist(), strict=True)
        moves = [self.worlds[episode].step(action) for episode, action in pairs]
        after, rewards, terminated, *_ = zip(*moves, strict=True)
        return Moved(np.array(after, dtype=np.float64), np.array(rewards), np.array(terminated))


ENVIRONMENTS: dict[str, type[CartPole] | type[Acrobot] | type[LunarLander]] = {
    world.name: world for world in (CartPole, Acrobot, LunarLander)
}


def environment(name: str, **changes: Any) -> Environment:
    """An environment by gymnasium's name.

    Args:
        name: CartPole-v1, Acrobot-v1 or LunarLander-v3.
        changes: fields of its class that differ from gymnasium's.

    Raises:
        InputError: unknown, or what it needs is not installed.
    """
    if name == "LunarLander-v2":
        raise InputError("environment", name, "gymnasium no longer has it: give LunarLander-v3")
    check_choice("environment", name, tuple(ENVIRONMENTS))
    check_options(ENVIRONMENTS[name], changes)
    return ENVIRONMENTS[name](**changes)


# Episodes -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """How n episodes went.

    Attributes:
        returns: (n,) sums of rewards, undiscounted.
        lengths: (n,) steps.
        terminated: (n,) whether it ended; the others were truncated.
    """

    returns: Array
    lengths: Integers
    terminated: Booleans


class Rollout(NamedTuple):
    """Episodes with all their steps."""

    data: Transitions  # trajectory: place of the episode's seed
    rewards: Array  # (rows,) true ones, which no estimator sees
    scores: Scores


class Step(NamedTuple):
    """A step of the k episodes that are not over."""

    episodes: Integers  # (k,) places of their seeds
    observations: Array  # (k, d)
    actions: Integers  # (k,)
    moved: Moved


def episode_seeds(rng: np.random.Generator, number: int) -> Integers:
    """(number,) seeds; a longer list from the same generator begins with the shorter one."""
    return rng.integers(LARGEST_SEED, size=check_whole("number", number, 1))


def evaluate(
    environment: Environment, policy: Policy, seeds: Sequence[int] | Integers, greedy: bool = False
) -> Scores:
    """Returns of a policy, one episode for each seed.

    Args:
        environment: where.
        policy: (n, d) observations -> (n, A) probabilities.
        seeds: whole numbers from 0, see `episode_seeds`.
        greedy: take the likeliest action (the first of equal ones) in place of drawing one.

    Raises:
        InputError: seeds that are none, or a policy that returns no (n, A) probabilities.
    """
    seeds = check_seeds(seeds)
    return _scores(play(environment, policy, seeds, greedy), len(seeds))


def rollout(
    environment: Environment, policy: Policy, seeds: Sequence[int] | Integers, greedy: bool = False
) -> Rollout:
    """Episodes of a policy as a data set, whole and in the order of the seeds.

    Args and errors: those of `evaluate`.
    """
    seeds = check_seeds(seeds)
    steps = list(play(environment, policy, seeds, greedy))
    episodes = np.concatenate([step.episodes for step in steps])
    order = np.argsort(episodes, kind="stable")

    def column(part: Callable[[Step], NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([part(step) for step in steps])[order]

    data = Transitions(
        column(lambda step: step.observations),
        column(lambda step: step.actions),
        column(lambda step: step.moved.observations),
        episodes[order],
        column(lambda step: step.moved.terminated),
        environment.number_of_actions,
        environment.features,
    )
    return Rollout(data, column(lambda step: step.moved.rewards), _scores(steps, len(seeds)))


def play(environment: Environment, policy: Policy, seeds: Integers, greedy: bool) -> Iterator[Step]:
    """All steps of all episodes, together; those that are over drop out."""
    running = environment.begin(seeds)
    now, alive = running.observations, np.arange(len(seeds))
    draws = [np.random.default_rng([seed, DRAWS]).random(environment.limit) for seed in seeds]
    luck = np.array(draws)
    for t in range(environment.limit):
        probabilities = asked_policy(policy, now, environment.number_of_actions)
        if greedy:
            actions = probabilities.argmax(axis=1)
        else:  # rows sum to 1 but for rounding, in which the last action could be none
            ladder = np.cumsum(probabilities, axis=1)
            drawn = luck[alive, t] * ladder[:, -1]
            actions = (ladder[:, :-1] <= drawn[:, None]).sum(axis=1)
        moved = running.step(alive, actions)
        yield Step(alive, now, actions, moved)
        goes_on = ~moved.terminated
        alive, now = alive[goes_on], moved.observations[goes_on]
        if not len(alive):
            return


def check_seeds(seeds: ArrayLike) -> Integers:
    """(n,) seeds of episodes, or an error."""
    given = np.asarray(seeds)
    fine = given.dtype.kind in "iu" and given.ndim == 1 and len(given) > 0
    if not fine or np.any(given < 0) or np.any(given >= LARGEST_SEED):
        hint = "give one whole number from 0 to 2**31 - 1 for each episode, one or more"
        raise InputError("seeds", seeds, hint)
    return given.astype(np.int64)


def asked_policy(policy: Policy, states: Array, actions: int) -> Array:
    """(n, A) probabilities of a policy, or an error."""
    probabilities = check_finite("policy", policy(states))
    if probabilities.shape != (len(states), actions):
        hint = f"return probabilities of {actions} actions for each of {len(states)} states"
        raise InputError("policy", probabilities.shape, hint)
    check_probabilities("policy", probabilities)
    return probabilities


def _scores(steps: Iterator[Step] | Sequence[Step], number: int) -> Scores:
    returns, lengths = np.zeros(number), np.zeros(number, dtype=np.int64)
    terminated = np.zeros(number, dtype=bool)
    for step in steps:
        returns[step.episodes] += step.moved.rewards
        lengths[step.episodes] += 1
        terminated[step.episodes] = step.moved.terminated
    return Scores(returns, lengths, terminated)
