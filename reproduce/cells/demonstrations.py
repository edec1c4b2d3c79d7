"""Demonstrations on gymnasium's environments, and the scores of policies there.

Demonstrations are whole episodes of the deterministic expert, as in the first author's code (on
Acrobot without the normaliser, as there). Each training seed has fresh ones. The module imports no
estimator, so that a change of an estimator leaves its cells valid.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, wraps

import numpy as np

from gladius.designs.experts import PUBLISHED_AS, expert
from gladius.designs.gym import (
    ENVIRONMENTS,
    LUNAR_LANDER,
    Environment,
    environment,
    episode_seeds,
    evaluate,
    rollout,
)
from gladius.panel.record import Integers, Transitions
from gladius.validate import Array, InputError
from reproduce.engine import seeds
from reproduce.engine.nouns import NOT_RUN, Cell, Record, Result, summarise

STREAM = "imitation"
# returns by which the paper divides (Section 7); on Acrobot less than 100 is better
DENOMINATORS = {"CartPole-v1": 500.0, "Acrobot-v1": -82.80, "LunarLander-v3": 232.77}
Compute = Callable[[Cell], Result]


def where_installed(compute: Compute) -> Compute:
    """A cell's function that returns `not_run` where its environment is not installed."""

    @wraps(compute)
    def checked(cell: Cell) -> Result:
        name = cell.settings["environment"]
        try:
            if name in ENVIRONMENTS:
                environment(name)
        except InputError as missing:
            why = f"not run: {missing.hint}"
            return Result((Record(why, np.nan, status=NOT_RUN, repetitions=0),))
        return compute(cell)

    return checked


def demonstrations(world: Environment, trajectories: int, rng: np.random.Generator) -> Transitions:
    """Whole episodes of the deterministic expert, without their rewards."""
    teacher = expert(world.name, deterministic=True, normalised=False)
    return rollout(world, teacher, episode_seeds(rng, trajectories))


def evaluation_seeds(name: str, episodes: int) -> Integers:
    """(episodes,) seeds, the same for every policy that is evaluated in an environment."""
    return episode_seeds(
        np.random.default_rng(seeds.sequence(STREAM, name, 0, "evaluation")), episodes
    )


@cache
def references(name: str, episodes: int) -> tuple[float, float]:
    """Mean returns of the expert that demonstrates, and of the uniform policy."""
    world, starts = environment(name), evaluation_seeds(name, episodes)
    teacher = expert(name, deterministic=True, normalised=False)

    def uniform(states: Array) -> Array:
        return np.full((len(states), world.number_of_actions), 1 / world.number_of_actions)

    best, worst = (evaluate(world, policy, starts).returns.mean() for policy in (teacher, uniform))
    return float(best), float(worst)


def score(name: str, returns: Array, episodes: int) -> Array:
    """100 (R - random) / (expert - random) of mean returns, of any shape."""
    best, worst = references(name, episodes)
    return np.asarray(100 * (returns - worst) / (best - worst))


def scored(
    name: str, returns: Array, episodes: int, statuses: Sequence[str]
) -> tuple[list[Record], dict[str, list[float]]]:
    """Records and replications of the (seeds,) mean returns of policies.

    Records: the mean `score`, and the paper's `% optimality`, 100 R / (the expert's return as
    printed). Replications: score and return of each seed.
    """
    scores = score(name, returns, episodes).tolist()
    share = 100 * returns / DENOMINATORS[name]
    named = {"score": scores, "% optimality": share.tolist()}
    records = [summarise(name, values, statuses)[0] for name, values in named.items()]
    return records, {"return": returns.tolist(), "score": scores}


def row(name: str, trajectories: int) -> str:
    """A row's label in the paper's Table 4."""
    return f"{PUBLISHED_AS.get(name, name)}/{trajectories}"


@where_installed
def measure(cell: Cell) -> Result:
    """Mean return and steps of the expert under each rule of actions.

    Settings: environment, episodes.
    """
    name, episodes = cell.settings["environment"], cell.settings["episodes"]
    teacher = expert(name)
    rules = {"sampled": teacher, "deterministic": replace(teacher, deterministic=True)}
    if teacher.normaliser is not None:
        for rule, policy in list(rules.items()):
            rules[f"{rule}, without the normaliser"] = replace(policy, normaliser=None)
    if name == LUNAR_LANDER.name:
        rules["sampled, both legs down -> action 0"] = replace(teacher, legs_down=True)
    rng = np.random.default_rng(seeds.sequence("experts", name, 0, "episodes"))
    starts = episode_seeds(rng, episodes)
    records = []
    for rule, policy in rules.items():
        scores = evaluate(environment(name), policy, starts)
        se = scores.returns.std(ddof=1) / np.sqrt(episodes)
        records += [
            Record(f"return, {rule}", float(scores.returns.mean()), float(se), episodes),
            Record(f"steps, {rule}", float(scores.lengths.mean()), repetitions=episodes),
        ]
    return Result(tuple(records))
