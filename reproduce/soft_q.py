"""Soft Q-learning: what a reward has its agents do in an environment that can be played.

The agents are the model's: Q = r + beta E[V(s')], V = log sum exp Q, 0 after the end, and action a
has probability softmax(Q)_a. Another temperature is a reward divided by it. Q is a network, drawn
towards r + beta V(s') of a copy that follows it slowly, on moves of the last episodes, which its
own softmax and a share of even draws played. The copy's softmax is the answer. All runs are one
tensor program, each with a reward and random numbers of its own.

The output layer learns 1 / (1 - beta) times as fast as the others: by so much is Q larger than r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from scipy.special import softmax

from gladius import networks as nets
from gladius.checks import Array
from gladius.estimate import StateFunction
from gladius.networks import Parameters, Tensor
from gladius.worlds.gym import Environment, Policy, Step, episode_seeds, play

HIDDEN, ACTIVATION, RATE, BATCH = (64, 64), "elu", 1e-3, 128
EPISODES, STEPS = 16, 8  # played side by side, and periods of them before as many steps of Adam
MEMORY = 50_000  # moves
FOLLOW = 0.02  # share of the way that the copy goes at each step
EVEN = 0.1  # share of even draws


@dataclass(frozen=True)
class Softmax:
    """(n, d) states -> (n, A) probabilities, softmax of a function; `even` is a share of draws."""

    q: StateFunction
    even: float = 0.0

    def __call__(self, states: Array) -> Array:
        drawn = softmax(self.q(states), axis=1)
        return np.asarray((1 - self.even) * drawn + self.even / drawn.shape[1])


class Memory:
    """The last moves of R runs: scaled s, a, r, whether the path goes on, scaled s'."""

    def __init__(self, scalings: Sequence[tuple[Array, Array]]) -> None:
        shape = len(scalings), MEMORY
        width = len(scalings[0][0])
        self.scalings, self.count = scalings, np.zeros(shape[0], dtype=np.int64)
        real = [torch.zeros(*shape, *more).double() for more in ((width,), (), (), (width,))]
        self.columns = [real[0], torch.zeros(shape, dtype=torch.int64), *real[1:]]

    def add(self, run: int, steps: Sequence[Step], reward: StateFunction | float) -> None:
        """Moves of one run."""
        now, action, after, gained, over = (
            np.concatenate(parts)
            for parts in zip(*((s.observations, s.actions, *s.moved) for s in steps), strict=True)
        )
        if isinstance(reward, float):
            gained = reward * gained
        else:
            gained = reward(now)[np.arange(len(now)), action]
        centre, scale = self.scalings[run]
        told = (now - centre) / scale, action, gained, ~over, (after - centre) / scale
        places = (self.count[run] + np.arange(len(now))) % MEMORY
        for column, part in zip(self.columns, told, strict=True):
            column[run, places] = torch.from_numpy(part).to(column)
        self.count[run] += len(now)

    def draw(self, rngs: Sequence[np.random.Generator]) -> list[Tensor]:
        """(R, BATCH, ...) moves of each run, drawn evenly with replacement."""
        held = np.minimum(self.count, MEMORY)
        index = [rng.integers(n, size=BATCH) for rng, n in zip(rngs, held, strict=True)]
        return [column[np.arange(len(held))[:, None], np.stack(index)] for column in self.columns]


def episodes(
    world: Environment, policy: Policy, rng: np.random.Generator, number: int
) -> Iterator[Step]:
    """Steps without end, of so many episodes together, and then of as many others."""
    while True:
        yield from play(world, policy, episode_seeds(rng, number), False)


def learn(
    world: Environment,
    rewards: Sequence[StateFunction | float],
    scalings: Sequence[tuple[Array, Array]],
    discount: float,
    rounds: int,
    rngs: Sequence[np.random.Generator],
) -> tuple[list[Softmax], list[Softmax]]:
    """The policies of R rewards after half of the rounds, and after all of them.

    Args:
        world: where.
        rewards: (n, d) states -> (n, A), or a number: so many times the environment's.
        scalings: centre and scale of the features.
        discount: beta.
        rounds: of STEPS periods of EPISODES episodes, and as many steps of Adam.
        rngs: one for each run.
    """
    theta = nets.start(rngs, (len(world.features), *HIDDEN, world.number_of_actions))
    copy, last = [part.clone() for part in theta], len(theta) - 2
    moments, memory = nets.no_moments(theta), Memory(scalings)

    def live(run: int) -> StateFunction:
        """The run's network, as it is at each call."""
        alone = [part[run : run + 1] for part in theta]

        def q(states: Array) -> Array:
            centre, scale = scalings[run]
            x = torch.from_numpy((states - centre) / scale)[None]
            return np.asarray(nets.outputs(alone, x, ACTIVATION)[0].numpy())

        return q

    def answers() -> list[Softmax]:
        return [Softmax(network) for network in nets.networks(copy, ACTIVATION, scalings)]

    players = [
        episodes(world, Softmax(live(run), EVEN), rng, EPISODES) for run, rng in enumerate(rngs)
    ]
    half: list[Softmax] = []
    for step in range(rounds * STEPS):
        if step == rounds * STEPS // 2:
            half = answers()
        if step % STEPS == 0:
            for run, (player, reward) in enumerate(zip(players, rewards, strict=True)):
                memory.add(run, list(islice(player, STEPS)), reward)
        now, action, reward_of, alive, after = memory.draw(rngs)
        value = torch.logsumexp(nets.outputs(copy, after, ACTIVATION), dim=2)
        gradient = nets.gradient(theta, _squares(now, action, reward_of + discount * alive * value))
        rate = torch.full((len(rngs), 1, 1), RATE * (1 - step / (rounds * STEPS))).double()
        for part, factor in ((slice(last), 1.0), (slice(last, None), 1 / (1 - discount))):
            nets.adam(theta[part], moments[part], gradient[part], factor * rate, step + 1)
        for slow, fast in zip(copy, theta, strict=True):
            slow.lerp_(fast, FOLLOW)
    return half, answers()


def _squares(now: Tensor, action: Tensor, target: Tensor) -> Callable[[Parameters], Tensor]:
    """(R,) mean squared distance of Q to the target."""

    def loss(theta: Parameters) -> Tensor:
        q = torch.take_along_dim(nets.outputs(theta, now, ACTIVATION), action[..., None], dim=2)
        return ((q[..., 0] - target) ** 2).mean(dim=1)

    return loss
