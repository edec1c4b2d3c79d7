"""The data of the public code's seeds, drawn again in the public order of draws.

The first author's public code (DDC-DPT, commit 71f8c08) draws from NumPy's legacy generator, whose
stream is frozen. Two of its scripts draw buses, each in its own order:

- that of the networks (`Zurcher_collect_data.py`): dummies of the first state; then in each period
  the choice, the increment where the bus is kept, and the dummies of the next state. Its first
  int(0.8 N) trajectories are for training. The seed is 1;
- that of the parametric estimators (`gen_data.py`): in each period the choice, and the increment
  where the bus is kept. It has no split. The seed is the clock's second at which it was started.

This module repeats the order of the draws, in code of its own. `public_seeds.csv` has the integers
behind the estimates of the second script, and how each was found.
"""

from collections.abc import Callable

import numpy as np

from gladius.designs.bus import DUMMY_LIMIT, MAINTAIN, REPLACE, BusEngine
from gladius.panel.record import Integers, Transitions
from gladius.validate import Array, check_whole
from reproduce.engine.nouns import Cell, Result

SEED = 1  # of the networks' data; it stands in the public code
SPLIT = 0.8  # of the trajectories are for training, rounded down
MILEAGE = 20  # the cap of the networks' data
UNBOUNDED = 200  # the cap of most parametric data, which no bus reaches


def networks_data(
    trajectories: int, dummies: int = 0, *, max_mileage: int = MILEAGE, seed: int = SEED
) -> tuple[Transitions, Transitions]:
    """The (training, test) data of the networks.

    Trajectories of less data are the first of more, as long as `dummies` is the same.

    Args:
        trajectories: N, at least 2.
        dummies: K, the number of irrelevant state variables.
        max_mileage: the cap; the public code has 20 in its configurations and 10 in one of them.
        seed: of the legacy generator.

    Raises:
        InputError: fewer than 2 trajectories, or what BusEngine does not take.
    """
    check_whole("trajectories", trajectories, 2)
    world = BusEngine(max_mileage=max_mileage, dummies=dummies)
    rng = np.random.RandomState(seed)

    def is_kept(keep: float) -> bool:
        return bool(rng.random_sample() < keep)

    def noise() -> Integers:
        return rng.randint(-DUMMY_LIMIT, DUMMY_LIMIT + 1, dummies)

    states, actions = _paths(world, trajectories, is_kept, lambda: rng.randint(1, 5), noise)
    training = int(SPLIT * trajectories)
    halves = (slice(training), slice(training, None))
    train, test = (Transitions.from_paths(states[half], actions[half], 2) for half in halves)
    return train, test


def oracles_data(trajectories: int, seed: int, *, max_mileage: int = UNBOUNDED) -> Transitions:
    """All data of the parametric estimators, which the public code does not split.

    Args:
        trajectories: N, at least 1.
        seed: the clock's second.
        max_mileage: the cap at which the script was run, 200 or 10.

    Raises:
        InputError: no trajectory, or what BusEngine does not take.
    """
    check_whole("trajectories", trajectories, 1)
    rng = np.random.RandomState(seed)

    def is_kept(keep: float) -> bool:
        return not rng.binomial(1, 1.0 - keep)

    def increment() -> int:
        return 1 + int(4.0 * rng.random_sample())

    world = BusEngine(max_mileage=max_mileage)
    states, actions = _paths(world, trajectories, is_kept, increment)
    return Transitions.from_paths(states, actions, 2)


def _paths(
    world: BusEngine,
    trajectories: int,
    is_kept: Callable[[float], bool],
    increment: Callable[[], int],
    noise: Callable[[], Integers] = lambda: np.zeros(0, int),
) -> tuple[Array, Integers]:
    """(N, H + 1, 1 + K) states and (N, H) actions, in the order in which they are drawn."""
    keep = world.mdp.solution.policy[:, MAINTAIN].tolist()
    states = np.ones((trajectories, world.horizon + 1, 1 + world.dummies))
    actions = np.full((trajectories, world.horizon), REPLACE)
    for path, choices in zip(states, actions, strict=True):
        mileage = 1
        if world.dummies:
            path[0, 1:] = noise()
        for t in range(world.horizon):
            if is_kept(keep[mileage - 1]):
                choices[t] = MAINTAIN
                mileage = min(mileage + increment(), world.max_mileage)
            else:
                mileage = 1
            path[t + 1, 0] = mileage
            if world.dummies:
                path[t + 1, 1:] = noise()
    return states, actions


def frequencies(cell: Cell) -> Result:
    """`test`, (mileages, A): counts of the test split of the networks' data.

    Settings: trajectories, dummies.
    """
    _, test = networks_data(cell.settings["trajectories"], cell.settings["dummies"])
    counts = np.zeros((MILEAGE, 2))
    np.add.at(counts, (test.states[:, 0].astype(np.int64) - 1, test.actions), 1.0)
    return Result((), arrays={"test": counts})
