"""What all imitation on gymnasium's environments shares: demonstrations, and how a policy scores.

Demonstrations are whole episodes of the deterministic expert, as in the first author's code (on
Acrobot without the normaliser, as there). They are drawn anew for each training seed. A module of
its own, which imports no estimator, so that what no estimator touches need not be run again when
one of them changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, wraps

import numpy as np

from gladius.checks import Array, InputError
from gladius.transitions import Integers, Transitions
from gladius.worlds.experts import PUBLISHED_AS, expert
from gladius.worlds.gym import (
    ENVIRONMENTS,
    Environment,
    environment,
    episode_seeds,
    evaluate,
    rollout,
)
from reproduce import seeds
from reproduce.spec import NOT_RUN, Cell, Record, Result, summarise

STREAM = "imitation"
SAMPLED, GREEDY = "sampled", "greedy"
# returns by which the paper divides (Section 7); on Acrobot less than 100 is better
DENOMINATORS = {"CartPole-v1": 500.0, "Acrobot-v1": -82.80, "LunarLander-v3": 232.77}
Compute = Callable[[Cell, str], Result]


def where_installed(compute: Compute) -> Compute:
    """A cell's function that says what is missing where its environment is not installed.

    That is no failure, for all else that was asked can be run.
    """

    @wraps(compute)
    def checked(cell: Cell, device: str) -> Result:
        name = cell.settings["environment"]
        try:
            if name in ENVIRONMENTS:
                environment(name)
        except InputError as missing:
            why = f"not run: {missing.hint}"
            return Result((Record(why, np.nan, status=NOT_RUN, repetitions=0),))
        return compute(cell, device)

    return checked


def demonstrations(world: Environment, trajectories: int, rng: np.random.Generator) -> Transitions:
    """Whole episodes of the deterministic expert, without their rewards."""
    teacher = expert(world.name, deterministic=True, normalised=False)
    return rollout(world, teacher, episode_seeds(rng, trajectories)).data


def evaluation_seeds(name: str, episodes: int) -> Integers:
    """(episodes,) the same for whatever is evaluated in an environment."""
    return episode_seeds(
        np.random.default_rng(seeds.sequence(STREAM, name, 0, "evaluation")), episodes
    )


@cache
def references(name: str, episodes: int) -> tuple[float, float]:
    """Mean returns of the expert that demonstrates, and of actions drawn evenly."""
    world, starts = environment(name), evaluation_seeds(name, episodes)
    teacher = expert(name, deterministic=True, normalised=False)

    def even(states: Array) -> Array:
        return np.full((len(states), world.number_of_actions), 1 / world.number_of_actions)

    first, last = (evaluate(world, p, starts).returns.mean() for p in (teacher, even))
    return float(first), float(last)


def score(name: str, returns: Array, episodes: int) -> Array:
    """100 (R - random) / (expert - random) of mean returns, of any shape."""
    best, worst = references(name, episodes)
    return np.asarray(100 * (returns - worst) / (best - worst))


def scored(
    name: str, returns: Array, episodes: int, policy: str, statuses: Sequence[str]
) -> tuple[list[Record], dict[str, list[float]]]:
    """What a cell says of the (seeds,) mean returns of its `sampled` or `greedy` policies.

    Records: the mean `score`; of the sampled ones also the paper's `% optimality`, 100 R / (the
    expert's return as printed). Replications: score and return of each seed.
    """
    scores = score(name, returns, episodes).tolist()
    records = [*summarise(f"score, {policy}", scores, statuses)[:1]]
    if policy == SAMPLED:
        share = 100 * returns / DENOMINATORS[name]
        records += summarise("% optimality", share.tolist(), statuses)[:1]
    return records, {f"return {policy}": returns.tolist(), f"score {policy}": scores}


def row(name: str, trajectories: int) -> str:
    """A row's label in the paper's Table 4."""
    return f"{PUBLISHED_AS.get(name, name)}/{trajectories}"
