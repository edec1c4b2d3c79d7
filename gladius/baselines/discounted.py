"""Discounted sums over observed paths, and what a policy visits under a transition law.

A path is a run of rows of one trajectory in which each next state is the next row's state; a
trajectory may hold several, one after each row that is done. Period t of a path weighs beta^t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gladius.checks import Array, InputError
from gladius.transitions import Integers, Transitions, index_rows


@dataclass(frozen=True)
class Ends:
    """Where the paths of one data set begin and stop.

    Attributes:
        first: (n,) index of each path's first state on the grid.
        last: (n,) index of the state after its last row.
        weight: (n,) beta^T of a path of T rows, 0 where it ended there (done).
        sums: (n, k) sum over t of beta^t table[s_t, a_t].
    """

    first: Integers
    last: Integers
    weight: Array
    sums: Array


@dataclass(frozen=True)
class Discounted:
    """Discounted frequencies of R data sets, per path.

    Attributes:
        visits: (R, S, A) mean over paths of sum_t beta^t 1[s_t = s, a_t = a].
        first: (R, S) share of the paths that start in s.
        last: (R, S) mean over paths of beta^T 1[s_T = s], paths that are done excepted.
        ends: of each data set.
    """

    visits: Array
    first: Array
    last: Array
    ends: tuple[Ends, ...]

    @property
    def occupancy(self) -> Array:
        """(R, S, A) `visits` scaled to sum to one."""
        return np.asarray(self.visits / self.visits.sum(axis=(1, 2), keepdims=True))


def discounted(
    data: Sequence[Transitions], grid: Array, discount: float, table: Array | None = None
) -> Discounted:
    """Sum each data set's paths.

    Args:
        data: R data sets, their rows in order of time within each trajectory.
        grid: (S, d) states, all of the data's among them.
        discount: beta.
        table: (S, A, k) summed along each path; by default nothing.

    Raises:
        InputError: where the rows of a trajectory are no path, so that t is unknown.
    """
    size, actions = len(grid), data[0].number_of_actions
    visits = np.zeros((len(data), size, actions))
    first, last = np.zeros((2, len(data), size))
    ends = []
    for r, one in enumerate(data):
        order, opens = _paths(one, r)
        closes = np.append(opens[1:], len(order)) - 1
        final = order[closes]
        _, (_, now, after) = index_rows([grid, one.states[order], one.next_states[final]])
        period = np.arange(len(order)) - np.repeat(opens, closes - opens + 1)
        weight = discount ** period.astype(np.float64)
        cell = now * actions + one.actions[order]
        total = np.bincount(cell, weights=weight, minlength=size * actions)
        visits[r] = total.reshape(size, actions) / len(opens)
        beyond = discount * weight[closes] * ~one.done[final]
        first[r] = np.bincount(now[opens], minlength=size) / len(opens)
        last[r] = np.bincount(after, weights=beyond, minlength=size) / len(opens)
        sums = np.zeros((len(opens), 0))
        if table is not None:
            flat = table.reshape(size * actions, -1)
            sums = np.stack(
                [np.add.reduceat(weight * column[cell], opens) for column in flat.T], axis=1
            )
        ends.append(Ends(now[opens], after, beyond, sums))
    return Discounted(visits, first, last, tuple(ends))


def occupancy(policy: Array, law: Array, entry: Array, discount: float) -> Array:
    """(..., S, A) sum_t beta^t Pr(s_t = s, a_t = a) from entry masses (..., S), unnormalised."""
    return state_occupancy(policy, law, entry, discount)[..., None] * policy


def state_occupancy(policy: Array, law: Array, entry: Array, discount: float) -> Array:
    """(..., S) solution u of u = entry + beta P_pi' u; P_pi from (..., A, S, S) and (..., S, A)."""
    flow = np.einsum("...sa,...ast->...ts", policy, law)
    system = np.eye(policy.shape[-2]) - discount * flow
    return np.asarray(np.linalg.solve(system, entry[..., None])[..., 0])


def policy_value(policy: Array, reward: Array, law: Array, discount: float) -> Array:
    """(..., S) V of those who choose by `policy` (all entries positive), entropy included."""
    now = np.sum(policy * (reward - np.log(policy)), axis=-1)
    flow = np.einsum("...sa,...ast->...st", policy, law)
    system = np.eye(policy.shape[-2]) - discount * flow
    return np.asarray(np.linalg.solve(system, now[..., None])[..., 0])


def _paths(data: Transitions, replication: int) -> tuple[Integers, Integers]:
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
