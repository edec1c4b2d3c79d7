"""Discounted sums over observed paths, and what a policy visits under transition probabilities.

A path is a run of observations of one trajectory. Each next state is the state of the next one. A
new path begins after an observation that is done. Period t of a path has the weight beta^t.
"""

from dataclasses import dataclass

import numpy as np

from gladius.model.parametric import Weights, positions
from gladius.model.resolvent import Resolvent
from gladius.panel.moves import Table
from gladius.panel.record import Integers, Transitions
from gladius.validate import Array, InputError


@dataclass(frozen=True)
class DiscountedPaths:
    """The paths of one data set over a grid of S states."""

    order: Integers  # (n,) the rows in order of path and time
    pair: Integers  # (n,) s A + a of each row, in that order
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
    def weights(self) -> Weights:
        """How the sum over all paths weighs choices."""
        squares, of_rows = np.zeros(self.shape[0]), np.empty(len(self.order))
        np.add.at(squares, self.pair // self.shape[1], self.weight**2)
        of_rows[self.order] = self.weight
        return Weights(len(self.opens) * self.visits, squares, of_rows)

    @property
    def first(self) -> Array:
        """(S,) share of the paths that start in s."""
        states = self.pair[self.opens] // self.shape[1]
        return np.bincount(states, minlength=self.shape[0]) / len(self.opens)


def discounted_paths(data: Transitions, grid: Array, discount: float) -> DiscountedPaths:
    """The paths of one data set over a grid (S, d).

    Raises:
        InputError: where the observations of a trajectory are not a path.
    """
    shape = (len(grid), data.number_of_actions)
    order, opens = _in_order(data)
    closes = np.append(opens[1:], len(order)) - 1
    period = np.arange(len(order)) - np.repeat(opens, closes - opens + 1)
    weight = discount ** period.astype(np.float64)
    beyond = discount * weight[closes] * ~data.done[order[closes]]
    pair = positions(grid, data.states[order]) * shape[1] + data.actions[order]
    return DiscountedPaths(order, pair, weight, opens, beyond, shape)


def state_occupancy(policy: Array, transition: Table, entry: Array, discount: float) -> Array:
    """(..., S) solution u of u = entry + beta P_pi' u; P_pi from (..., A, S, S) and (..., S, A)."""
    resolvent = Resolvent.of(policy, transition, discount)
    return resolvent.solve_transposed(entry[..., None])[..., 0]


def occupancy_derivative(
    policy: Array, transition: Table, states: Array, discount: float, pairs: Integers
) -> Array:
    """(n, n) d rho / d r among the pairs s A + a, of the soft-optimal policy (S, A).

    `states` (S,) is their occupancy.
    """
    state, action = np.divmod(pairs, policy.shape[1])
    of_pair = np.zeros((len(policy), len(pairs)))
    of_pair[state, np.arange(len(pairs))] = policy[state, action]
    dv = Resolvent.of(policy, transition, discount).solve(of_pair)  # d V(s) / d r(pair)
    dq = discount * np.moveaxis(transition @ dv, 0, 1)
    dq[state, action, np.arange(len(pairs))] += 1.0
    root = np.sqrt(np.maximum(states, 0.0)[:, None] * policy)
    centred = (root[..., None] * (dq - dv[:, None])).reshape(policy.size, -1)
    return np.asarray(centred.T @ centred)


def _in_order(data: Transitions) -> tuple[Integers, Integers]:
    """(n,) order of the observations by path and time, and where in it paths open."""
    _, label = np.unique(data.trajectory, return_inverse=True)
    order = np.argsort(label, kind="stable")
    label, done = label[order], data.done[order]
    is_joined = (label[1:] == label[:-1]) & ~done[:-1]
    is_other = np.any(data.next_states[order[:-1]] != data.states[order[1:]], axis=1)
    is_torn = is_joined & (is_other | ~data.followed[order[:-1]])
    if np.any(is_torn):
        row = int(order[:-1][is_torn][0])
        hint = (
            f"after row {row} the trajectory continues in another state than its next state: "
            "discounted sums need whole paths in order of time"
        )
        raise InputError("trajectory", data.trajectory[row], hint)
    return order, np.flatnonzero(np.append(True, ~is_joined))
