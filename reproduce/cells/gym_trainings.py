"""GLADIUS on Table 4's environments by the first author's public procedure, and its returns.

The procedure is that of `gladius.paper.imitation`. Demonstrations are the public code's: whole
episodes of the deterministic expert, from the same seeds as those of `demonstrations`, with the
environment's rewards. On LunarLander they stop as soon as both legs are on the ground: that row has
action 0, reward 100 and itself as next state, and ends the episode. A time limit ends one too.

The paper does not say which epoch its numbers are from: the public code saves a network every 1,000
epochs, from which the numbers were picked by hand. Nor does it say the configuration. So these
rules were written before any training of the table was run. (Nine had been on other data, of two or
four demonstrations. There CartPole's Q diverged under the final configuration; under the earlier
one its returns were the largest.)

- The configuration is that under which the public log has an environment with every number of
  demonstrations, the final one where it is: beta 1, for CartPole .95. The others are variants.
- DRAWS draws of demonstrations, each with its own initial weights, for the loss of the code
  ("table") and row by row ("rows"). The other configuration has one; CartPole's "table" at beta 1
  has as many.
- Each saved network is scored on CHOICE_EPISODES episodes, whose seeds are used for nothing else.
  The one of the largest mean return, the first of equal ones, is `best`. It is the nearest to a
  choice by hand, and uses the environment as that did.
- `best` and the last network are then scored on the episodes on which every policy of the table is.
  The printed number is compared with `best` of "table" under the logged configuration.

A policy is sampled from softmax(Q), as in the public code. Only a run with --long computes the
configurations' numbers of epochs. A short form has SHORT, and no printed number beside it.
"""

import time
from dataclasses import replace

import numpy as np

from gladius.designs.experts import LEGS, expert
from gladius.designs.gym import (
    LUNAR_LANDER,
    Environment,
    environment,
    episode_seeds,
    evaluate,
    play,
)
from gladius.panel.record import Integers
from gladius.paper import imitation
from gladius.paper.imitation import Demonstrations
from reproduce.cells.demonstrations import (
    DENOMINATORS,
    STREAM,
    evaluation_seeds,
    where_installed,
)
from reproduce.engine import seeds
from reproduce.engine.nouns import LONG, Array, Cell, Record, Result, summarise

TABLE, ROWS = "table", "rows"  # the loss
CONFIGURATIONS = {"final": imitation.FINAL, "earlier": imitation.EARLIER}
DRAWS, CHOICE_EPISODES, EPISODES = 10, 20, 100
SHORT = {"epochs": 100, "episodes": CHOICE_EPISODES, "repetitions": 2}
BEST, LAST, BEST_EPOCH = "best", "last", "epoch of the best"
OPTIMALITY = "% optimality"
LANDED = 100.0  # the reward that the public code gives to a landing


def training(name: str, trajectories: int, loss: str, *, is_logged: bool = True) -> Cell:
    """The cell of an environment and a number of demonstrations, of all draws.

    Args:
        name, trajectories: the environment and the number of demonstrations.
        loss: TABLE or ROWS.
        is_logged: under the logged configuration; else under the other one.
    """
    is_final = (imitation.WORLDS[name].logged is imitation.FINAL) == is_logged
    configuration = "final" if is_final else "earlier"
    settings = {
        "environment": name,
        "trajectories": trajectories,
        "loss": loss,
        "configuration": configuration,
        "repetitions": DRAWS if is_logged or (is_final and loss == TABLE) else 1,
        "epochs": CONFIGURATIONS[configuration].epochs,
        "episodes": EPISODES,
        "seeds": STREAM,
        "seeds_row": f"{name}/{trajectories}",
        LONG: True,
    }
    label = f"public gym procedure, {loss}, {configuration}, {name}, {trajectories}"
    return Cell("gym_training", settings, label)


def demonstrate(world: Environment, trajectories: int, rng: np.random.Generator) -> Demonstrations:
    """Episodes of the deterministic expert by the public code's rules, with their rewards."""
    teacher = expert(world.name, deterministic=True, normalised=False)
    steps = list(play(world, teacher, episode_seeds(rng, trajectories)))
    columns = (np.concatenate(column) for column in zip(*steps, strict=True))
    episodes, states, actions, following, reward, ended = columns
    ended[np.repeat(np.arange(len(steps)), [len(s.episodes) for s in steps]) == world.limit - 1] = 1
    if world.name == LUNAR_LANDER.name:
        landed = np.all(states[:, LEGS] == 1.0, axis=1)
        actions[landed], reward[landed], ended[landed] = 0, LANDED, True
        following[landed] = states[landed]
    order = np.argsort(episodes, kind="stable")
    last = np.cumsum(ended[order]) - ended[order]  # ends before a row, over all episodes
    first = np.searchsorted(episodes[order], episodes[order])
    order = order[last == last[first]]
    anchored = (actions == imitation.WORLDS[world.name].anchor) | ended
    rows = (states, actions, reward, following, ended, anchored)
    return Demonstrations(*(column[order] for column in rows))


def choice_seeds(name: str) -> Integers:
    """(CHOICE_EPISODES,) seeds of the episodes that choose among saved networks."""
    rng = np.random.default_rng(seeds.sequence(STREAM, name, 0, "checkpoints"))
    return episode_seeds(rng, CHOICE_EPISODES)


@where_installed
def compute(cell: Cell) -> Result:
    """Demonstrate, train, choose a network and score it and the last, for each draw.

    Settings: those of `training`. Records: mean OPTIMALITY of `best` and of the last. Replications:
    return of each and BEST_EPOCH. Arrays: `choice` (draws, networks, CHOICE_EPISODES) and `best`
    and `last` (draws, episodes) returns; `rows` (draws, 2) numbers of rows and of anchor rows.
    """
    settings = cell.settings
    world, episodes = environment(settings["environment"]), settings["episodes"]
    configuration = CONFIGURATIONS[settings["configuration"]]
    is_few = settings["trajectories"] <= imitation.FEW
    options = replace(
        configuration,
        is_table=settings["loss"] == TABLE,
        batch=imitation.SMALL_BATCH if is_few else configuration.batch,
        epochs=settings["epochs"],
    )
    of_world, seconds = imitation.WORLDS[world.name], 0.0
    is_final = configuration is imitation.FINAL
    level = of_world.level if is_final else of_world.earlier_level
    starts, choices = evaluation_seeds(world.name, episodes), choice_seeds(world.name)
    found: dict[str, list[Array]] = {"choice": [], BEST: [], LAST: [], "rows": []}
    chosen = []
    streams = zip(
        seeds.generators(cell, "demonstrations"),
        seeds.generators(cell, "training author"),
        strict=True,
    )
    for demonstrating, rng in streams:
        data = demonstrate(world, settings["trajectories"], demonstrating)
        start_time = time.process_time()
        layout, networks = imitation.train(data, world.number_of_actions, options, level, rng)
        seconds += time.process_time() - start_time
        policies = [imitation.policy(layout, parameters) for parameters in networks]
        scores = np.stack([evaluate(world, policy, choices).returns for policy in policies])
        k, last = int(scores.mean(axis=1).argmax()), len(policies) - 1
        returns = {i: evaluate(world, policies[i], starts).returns for i in {k, last}}
        found["choice"].append(scores)
        found[BEST].append(returns[k])
        found[LAST].append(returns[last])
        found["rows"].append(np.array([len(data.action), data.anchored.sum()], float))
        chosen.append(settings["epochs"] * (k + 1) / len(policies))
    arrays = {name: np.stack(values) for name, values in found.items()}
    replications = {f"return {end}": arrays[end].mean(axis=1).tolist() for end in (BEST, LAST)}
    replications[BEST_EPOCH] = chosen
    records = [
        record
        for end in (BEST, LAST)
        for record in optimality(world.name, replications[f"return {end}"], f"{OPTIMALITY} {end}")
    ]
    return Result(tuple(records), replications, arrays, cpu_seconds=seconds / cell.repetitions)


def optimality(name: str, returns: list[float], statistic: str = OPTIMALITY) -> tuple[Record, ...]:
    """The paper's measure of (draws,) mean returns. Every training ends with its epochs: `ok`."""
    shares = 100 * np.array(returns) / DENOMINATORS[name]
    return summarise(statistic, shares.tolist(), ["ok"] * len(shares))
