"""The bus engine's worlds and data sets: simulated and split, or drawn as counts.

Counts have exactly the distribution of counts of simulated paths, at a cost that does not depend on
N. Trajectories are independent and Markov: given the numbers in s at period h, the numbers that
leave by each (a, s') are multinomial with probabilities pi(a | s) P_a(s, s'), independently over s.
Their sum over the periods is n(s, a, s') of N paths.
"""

from collections.abc import Callable, Sequence

import numpy as np

from gladius.designs.bus import BusEngine
from gladius.model.estimate import StateFunction
from gladius.model.mdp import TabularMDP
from gladius.panel.record import Counts, Integers, Transitions
from reproduce.engine import seeds
from reproduce.engine.nouns import Array, Cell

SHARE = 0.8  # of the trajectories are for training
TRUTHS: dict[str, Callable[[Array], Array] | None] = {  # true r(x, maintain)
    "affine": None,  # the paper's -x
    "sine": lambda x: -x - 0.6 * np.sin(x),
    "power": lambda x: -0.25 * x**1.7,
    "step": lambda x: -x - 2.0 * (x > 2),
    "sqrt": lambda x: -3.0 * np.sqrt(x),
}


def make_world(cell: Cell) -> BusEngine:
    """The bus engine without dummies, with the cell's true reward."""
    return BusEngine(maintenance=TRUTHS[cell.settings.get("truth", "affine")])


def data_sets(world: BusEngine, cell: Cell) -> tuple[list[Transitions], list[Transitions]]:
    """(training, test) splits of the cell's repetitions, `settings.trajectories` in each set."""
    sets = world.simulate(cell.settings["trajectories"], seeds.generators(cell))
    pairs = [transitions.split(SHARE) for transitions in sets]
    return [train for train, _ in pairs], [test for _, test in pairs]


def by_mileage(table: Array) -> StateFunction:
    """The function of states whose values at the world's mileages are an (S, A) table."""
    return lambda states: np.asarray(table[_mileage_index(states)])


def _mileage_index(states: Array) -> Integers:
    return states[:, 0].astype(np.int64) - 1


def on_grid(mdp: TabularMDP, sets: Sequence[Transitions]) -> Counts:
    """Counts of data sets on the world's whole grid of mileages."""
    table = np.zeros((len(sets), *mdp.transition.shape))
    for counts, data in zip(table, sets, strict=True):
        states, next_states = map(_mileage_index, (data.states, data.next_states))
        np.add.at(counts, (data.actions, states, next_states), 1.0)
    return counted(mdp, table)


def counted(mdp: TabularMDP, moves: Array) -> Counts:
    """Counts on the world's whole grid from (R, A, S, S) n(s, a, s')."""
    return Counts(mdp.features, np.swapaxes(moves.sum(axis=3), 1, 2), moves)


def moves(
    mdp: TabularMDP, horizon: int, trajectories: Sequence[int], rng: np.random.Generator
) -> Array:
    """(G, A, S, S) counts n(s, a, s') of G independent groups of so many trajectories each.

    Every trajectory has `horizon` periods, in which the expert of the world acts.
    """
    actions, n, _ = mdp.transition.shape
    joint = mdp.solution.policy.T[:, :, None] * mdp.transition
    probabilities = np.swapaxes(joint, 0, 1).reshape(n, -1)  # (S, A S) of each (a, s')
    width = int((probabilities > 0).sum(axis=1).max())
    # possible outcomes last: NumPy gives the last one what rounding leaves of the others
    outcome = np.argsort(probabilities > 0, axis=1, kind="stable")[:, -width:]
    probabilities = np.take_along_axis(probabilities, outcome, axis=1)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    arrival = np.eye(n, dtype=np.int64)[outcome % n].reshape(-1, n)
    groups = len(trajectories)
    present = rng.multinomial(np.asarray(trajectories), mdp.initial)
    total = np.zeros((groups, n, width), dtype=np.int64)
    for _ in range(horizon):
        drawn = rng.multinomial(present, probabilities)
        total += drawn
        present = drawn.reshape(groups, -1) @ arrival
    table = np.zeros((groups, n, actions * n))
    np.put_along_axis(table, np.broadcast_to(outcome, total.shape), total, axis=2)
    return np.swapaxes(table.reshape(groups, n, actions, n), 1, 2)


def splits(
    mdp: TabularMDP, horizon: int, trajectories: int, rngs: Sequence[np.random.Generator]
) -> tuple[Counts, Counts]:
    """(training, test) counts on the world's grid, with one replication for each generator."""
    size = round(SHARE * trajectories)
    drawn = [moves(mdp, horizon, (size, trajectories - size), rng) for rng in rngs]
    train, test = np.ascontiguousarray(np.stack(drawn, axis=1))
    return counted(mdp, train), counted(mdp, test)
