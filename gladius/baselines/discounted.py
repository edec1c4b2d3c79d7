"""Discounted sums over observed paths, and what a policy visits under transition probabilities.

A path is a run of rows of one trajectory in which each next state is the next row's state; a
trajectory may hold several, one after each row that is done. Period t of a path weighs beta^t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gladius.checks import Array, InputError
from gladius.parametric import positions
from gladius.transitions import Integers, Transitions


@dataclass(frozen=True)
class Paths:
    """The paths of one data set over a grid of S states."""

    pair: Integers  # (n,) s A + a of each row, in order of path and time
    weight: Array  # (n,) beta^t
    opens: Integers  # (m,) the row with which each path begins
    beyond: Array  # (m,) beta^T of a path of T rows, 0 where it ended there (done)
    shape: tuple[int, int]  # (S, A)

    @property
    def visits(self) -> Array:
        """(S, A) mean over paths of sum_t beta^t 1[s_t = s, a_t = a]."""
        total = np.bincount(self.pair, weights=self.weight, minlength=self.shape[0] * self.shape[1])
        return np.asarray(total.reshape(self.shape) / len(self.opens))

    @property
    def first(self) -> Array:
        """(S,) share of the paths that start in s."""
        states = self.pair[self.opens] // self.shape[1]
        return np.bincount(states, minlength=self.shape[0]) / len(self.opens)

    def sums(self, table: Array) -> Array:
        """(m, k) sum over t of beta^t table[s_t, a_t] of each path, table (S, A, k)."""
        rows = table.reshape(self.shape[0] * self.shape[1], -1)[self.pair]
        return np.asarray(np.add.reduceat(self.weight[:, None] * rows, self.opens))


def discounted_paths(data: Sequence[Transitions], grid: Array, discount: float) -> list[Paths]:
    """The paths of each data set.

    Args:
        data: R data sets, their rows in order of time within each trajectory.
        grid: (S, d) states, all of the data's among them.
        discount: beta.

    Raises:
        InputError: where the rows of a trajectory are no path, so that t is unknown.
    """
    shape = (len(grid), data[0].number_of_actions)
    paths = []
    for r, replication in enumerate(data):
        order, opens = _in_order(replication, r)
        closes = np.append(opens[1:], len(order)) - 1
        period = np.arange(len(order)) - np.repeat(opens, closes - opens + 1)
        weight = discount ** period.astype(np.float64)
        beyond = discount * weight[closes] * ~replication.done[order[closes]]
        now = positions(grid, replication.states[order])
        pair = now * shape[1] + replication.actions[order]
        paths.append(Paths(pair, weight, opens, beyond, shape))
    return paths


def state_occupancy(policy: Array, transition: Array, entry: Array, discount: float) -> Array:
    """(..., S) solution u of u = entry + beta P_pi' u; P_pi from (..., A, S, S) and (..., S, A)."""
    flow = np.einsum("...sa,...ast->...ts", policy, transition)
    system = np.eye(policy.shape[-2]) - discount * flow
    return np.asarray(np.linalg.solve(system, entry[..., None])[..., 0])


def _in_order(data: Transitions, replication: int) -> tuple[Integers, Integers]:
    """(n,) order of the rows by path and time, and the places in it where paths open."""
    _, label = np.unique(data.trajectory, return_inverse=True)
    order = np.argsort(label, kind="stable")
    label, done = label[order], data.done[order]
    joined = (label[1:] == label[:-1]) & ~done[:-1]
    torn = joined & np.any(data.next_states[order[:-1]] != data.states[order[1:]], axis=1)
    if np.any(torn):
        row = int(order[:-1][torn][0])
        hint = (
            f"after row {row} of data set {replication} the trajectory goes on in another state "
            "than its next state: discounted sums need whole paths in order of time"
        )
        raise InputError("trajectory", data.trajectory[row], hint)
    return order, np.flatnonzero(np.append(True, ~joined))
