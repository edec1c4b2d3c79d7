"""Data sets drawn as counts: the same law as counting simulated paths, at a cost free of N.

Trajectories are independent and Markov. Given how many of them are in s at period h, the numbers
that go on by each (a, s') are therefore multinomial with probabilities pi(a | s) P_a(s, s'),
independently over s; adding up over the periods gives n(s, a, s') of N paths, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gladius.checks import Array, check_generators, check_whole
from gladius.mdp import TabularMDP
from gladius.transitions import Counts

SHARE = 0.8  # of the trajectories is for training


def moves(
    mdp: TabularMDP, horizon: int, trajectories: Sequence[int], rng: np.random.Generator
) -> Array:
    """(G, A, S, S) counts n(s, a, s') of G independent groups of trajectories.

    Args:
        mdp: the world; its expert acts.
        horizon: periods of each trajectory.
        trajectories: how many each group has.
        rng: one generator for all groups.
    """
    check_whole("horizon", horizon, 1)
    for number in trajectories:
        check_whole("trajectories", number, 1)
    actions, n, _ = mdp.transition.shape
    joint = mdp.solution.policy.T[:, :, None] * mdp.transition
    law = np.swapaxes(joint, 0, 1).reshape(n, -1)  # row s: probability of each (a, s')
    width = int((law > 0).sum(axis=1).max())
    # possible outcomes last: NumPy gives the last one what rounding leaves of the others
    outcome = np.argsort(law > 0, axis=1, kind="stable")[:, -width:]
    law = np.take_along_axis(law, outcome, axis=1)
    law /= law.sum(axis=1, keepdims=True)
    arrival = np.eye(n, dtype=np.int64)[outcome % n].reshape(-1, n)
    groups = len(trajectories)
    at = rng.multinomial(np.asarray(trajectories), mdp.initial)
    total = np.zeros((groups, n, width), dtype=np.int64)
    for _ in range(horizon):
        drawn = rng.multinomial(at, law)
        total += drawn
        at = drawn.reshape(groups, -1) @ arrival
    table = np.zeros((groups, n, actions * n))
    np.put_along_axis(table, np.broadcast_to(outcome, total.shape), total, axis=2)
    return np.swapaxes(table.reshape(groups, n, actions, n), 1, 2)


def splits(
    mdp: TabularMDP, horizon: int, trajectories: int, rngs: Sequence[np.random.Generator]
) -> tuple[Counts, Counts]:
    """(training, test) counts on the world's whole grid, one replication for each generator."""
    kept = round(SHARE * trajectories)
    sizes = (kept, trajectories - kept)
    drawn = np.stack([moves(mdp, horizon, sizes, rng) for rng in check_generators(rngs)], axis=1)
    train, test = (
        Counts(mdp.features, np.swapaxes(one.sum(axis=3), 1, 2), np.ascontiguousarray(one))
        for one in drawn
    )
    return train, test
