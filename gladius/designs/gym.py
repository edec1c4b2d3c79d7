"""CartPole, Acrobot and LunarLander of gymnasium: episodes of a policy, many at a time.

The environments are gymnasium's own; CartPole is its vector environment. Features are the
observations (float32) as float64. All need gymnasium, LunarLander Box2D too
(`pip install 'gymnasium[box2d]>=1.4,<2'`). LunarLander is v3: gymnasium no longer has v2, in which
the published experts were trained; observations, actions, forces and rewards are the same.

An episode is decided by its seed: its start, the environment's own noise, and the uniform numbers
that draw the actions of a sampled policy. It ends in one of two ways. Terminated: the pole fell,
the lander crashed or rests; the value of s' is zero, and `done` is true in `Transitions`.
Truncated: the episode reached `limit` steps; s' has a value, and `done` is false.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from gladius.panel.record import Integers, Transitions
from gladius.validate import (
    Array,
    Booleans,
    InputError,
    check_choice,
    check_finite,
    check_probabilities,
    check_whole,
)

Policy = Callable[[Array], Array]  # (n, d) observations -> (n, A) probabilities

EXTRA = "pip install 'gymnasium[box2d]>=1.4,<2'"
ACTION_STREAM = 1  # of the uniform numbers under an episode's seed
LARGEST_SEED = 2**31


StepResult = tuple[Array, Array, Booleans]  # (k, d) s', (k,) rewards, (k,) whether terminated


class AnyAction:
    """An action space that takes the word of `play`, whose actions count from 0 to A - 1."""

    @staticmethod
    def contains(action: int) -> bool:
        """Gymnasium's own check takes a tenth of LunarLander's time."""
        return True


class Episodes:
    """Episodes under way: one of gymnasium's scalar environments for each seed."""

    def __init__(self, kind: Callable[[], Any], seeds: Integers) -> None:
        self.environments = [kind() for _ in seeds]  # without wrappers, which change no number
        pairs = zip(self.environments, seeds.tolist(), strict=True)
        first = [environment.reset(seed=seed)[0] for environment, seed in pairs]
        for environment in self.environments:
            environment.action_space = AnyAction
        self.observations = np.array(first, dtype=np.float64)  # (n, d)

    def step(self, episodes: Integers, actions: Integers) -> StepResult:
        """What these actions (k,) lead to in these episodes (k,)."""
        pairs = zip(episodes.tolist(), actions.tolist(), strict=True)
        results = [self.environments[episode].step(action) for episode, action in pairs]
        states, rewards, terminated, *_ = zip(*results, strict=True)
        next_states, gains = (np.array(column, dtype=np.float64) for column in (states, rewards))
        return next_states, gains, np.array(terminated)


class CartPoles(Episodes):
    """Gymnasium's vector environment, each column started as the scalar one with its seed."""

    def __init__(self, kind: Callable[..., Any], seeds: Integers) -> None:
        self.environment = kind(len(seeds), max_episode_steps=math.inf)  # `play` has it
        self.environment.reset(seed=0)  # its own restarts are never observed
        starts = [np.random.default_rng(seed).uniform(-0.05, 0.05, 4) for seed in seeds]
        self.environment.state = np.stack(starts, axis=1)
        self.observations = self.environment.state.T.astype(np.float32).astype(np.float64)

    def step(self, episodes: Integers, actions: Integers) -> StepResult:
        """See Episodes; all columns take a step, and only these are reported."""
        every = np.zeros(len(self.observations), dtype=np.int64)
        every[episodes] = actions
        states, rewards, terminated, *_ = self.environment.step(every)
        return states[episodes].astype(np.float64), rewards[episodes], terminated[episodes]


@dataclass(frozen=True)
class Environment:
    """One of gymnasium's environments."""

    name: str  # gymnasium's
    features: tuple[str, ...]  # names of the d observed numbers
    number_of_actions: int  # A
    limit: int  # steps after which an episode is truncated
    module: str  # where gymnasium defines `kind`
    kind: str
    packages: tuple[str, ...] = ()  # that it needs beside gymnasium

    def load(self) -> Callable[..., Any]:
        """Gymnasium's class, or an InputError that names the missing package."""
        for package in ("gymnasium", *self.packages):
            if find_spec(package) is None:
                raise InputError("environment", self.name, f"{package} is not installed: {EXTRA}")
        with warnings.catch_warnings():  # SWIG's in Box2D: as errors they kill the interpreter
            warnings.simplefilter("ignore", DeprecationWarning)
            module = import_module(f"gymnasium.envs.{self.module}")
        kind: Callable[..., Any] = getattr(module, self.kind)
        return kind

    def start(self, seeds: Integers) -> Episodes:
        """An episode for each seed."""
        form = CartPoles if self.name == CARTPOLE.name else Episodes
        return form(self.load(), seeds)


CARTPOLE = Environment(
    "CartPole-v1",
    ("x", "x_dot", "theta", "theta_dot"),
    2,
    500,
    "classic_control.cartpole",
    "CartPoleVectorEnv",
)
ACROBOT = Environment(
    "Acrobot-v1",
    ("cos_1", "sin_1", "cos_2", "sin_2", "theta_1_dot", "theta_2_dot"),
    3,
    500,
    "classic_control.acrobot",
    "AcrobotEnv",
)
LUNAR_LANDER = Environment(
    "LunarLander-v3",
    ("x", "y", "x_dot", "y_dot", "angle", "angle_dot", "left_leg", "right_leg"),
    4,
    1000,
    "box2d.lunar_lander",
    "LunarLander",
    ("Box2D",),
)
ENVIRONMENTS = {world.name: world for world in (CARTPOLE, ACROBOT, LUNAR_LANDER)}


def environment(name: str) -> Environment:
    """CartPole-v1, Acrobot-v1 or LunarLander-v3, by name.

    Raises:
        InputError: unknown, or a package that it needs is not installed.
    """
    check_choice("environment", name, tuple(ENVIRONMENTS))
    world = ENVIRONMENTS[name]
    world.load()
    return world


@dataclass(frozen=True)
class Scores:
    """How n episodes went."""

    returns: Array  # (n,) sums of rewards, undiscounted
    lengths: Integers  # (n,) steps


class Step(NamedTuple):
    """A step of the k episodes that have not terminated."""

    episodes: Integers  # (k,) numbers of their seeds
    observations: Array  # (k, d)
    actions: Integers  # (k,)
    next_observations: Array  # (k, d)
    rewards: Array  # (k,)
    terminated: Booleans  # (k,)


def episode_seeds(rng: np.random.Generator, number: int) -> Integers:
    """(number,) seeds; a longer list from the same generator begins with the shorter one."""
    return rng.integers(LARGEST_SEED, size=check_whole("number", number, 1))


def evaluate(environment: Environment, policy: Policy, seeds: Sequence[int] | Integers) -> Scores:
    """Returns of a policy, (n, d) -> (n, A) probabilities, one episode for each seed.

    Raises:
        InputError: a policy that returns no (n, A) probabilities.
    """
    seeds = np.asarray(seeds)
    returns, lengths = np.zeros(len(seeds)), np.zeros(len(seeds), dtype=np.int64)
    for step in play(environment, policy, seeds):
        returns[step.episodes] += step.rewards
        lengths[step.episodes] += 1
    return Scores(returns, lengths)


def rollout(
    environment: Environment, policy: Policy, seeds: Sequence[int] | Integers
) -> Transitions:
    """Episodes of a policy as a data set, whole and in the order of the seeds, without rewards.

    Args and errors: those of `evaluate`. A trajectory's label numbers its seed.
    """
    steps = play(environment, policy, np.asarray(seeds))
    columns = (np.concatenate(column) for column in zip(*steps, strict=True))
    episodes, states, actions, next_states, _, terminated = columns
    size = environment.number_of_actions
    names = environment.features
    data = Transitions(states, actions, next_states, episodes, terminated, size, names)
    return data.take(np.argsort(episodes, kind="stable"))


def play(environment: Environment, policy: Policy, seeds: Integers) -> Iterator[Step]:
    """All steps of all episodes, side by side; a terminated episode drops out."""
    running = environment.start(seeds)
    states, active = running.observations, np.arange(len(seeds))
    rngs = [np.random.default_rng([seed, ACTION_STREAM]) for seed in seeds]
    uniforms = np.array([rng.random(environment.limit) for rng in rngs])
    for t in range(environment.limit):
        probabilities = call_policy(policy, states, environment.number_of_actions)
        # a sum below 1 by rounding must not lead beyond the last action
        cumulative = np.cumsum(probabilities, axis=1)
        drawn = uniforms[active, t] * cumulative[:, -1]
        actions = (cumulative[:, :-1] <= drawn[:, None]).sum(axis=1)
        next_states, rewards, terminated = running.step(active, actions)
        yield Step(active, states, actions, next_states, rewards, terminated)
        active, states = active[~terminated], next_states[~terminated]
        if not len(active):
            return


def call_policy(policy: Policy, states: Array, actions: int) -> Array:
    """(n, A) probabilities of a policy, or an error."""
    probabilities = check_finite("policy", policy(states))
    if probabilities.shape != (len(states), actions):
        hint = f"return probabilities of {actions} actions for each of {len(states)} states"
        raise InputError("policy", probabilities.shape, hint)
    check_probabilities("policy", probabilities)
    return probabilities
