"""The anchor of the paper's Assumption (anchor): one action whose reward is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from gladius.panel.record import Counts, Integers, Transitions, distinct_rows
from gladius.panel.ties import EPS, TIE
from gladius.validate import Array, InputError, asked, check_finite

LARGEST_BORROWED_SHARE = 0.5  # of observations in states where the anchor was never taken
TREE_WIDTH = 10  # features; with more, comparing all pairs is faster than a tree
DISTANCES = 10_000_000  # in memory at a time
CANDIDATES = 20  # states beside which a new one has its exact distances; with more, beside all
FAR = 1e6  # ranges; from so far away all states are about equally near

AnchorReward = float | str | Array | Callable[[Array], Array]


@dataclass(frozen=True)
class Anchor:
    """The anchor action a_s and its reward r(s, a_s).

    Attributes:
        action: the same action in every state.
        reward: a number, or a function of (n, d) features that returns (n,) rewards.
    """

    action: int
    reward: float | Callable[[Array], Array]

    def values(self, states: Array) -> Array:
        """(n,) r(s, a_s) at (n, d) features."""
        reward = self.reward
        given = asked("anchor_reward", reward, states) if callable(reward) else reward
        array = check_finite("anchor_reward", given)
        if array.shape not in [(), (len(states),)]:
            hint = f"give a number or one reward for each of {len(states)}"
            raise InputError("anchor_reward", array.shape, hint)
        return np.broadcast_to(array, len(states)).astype(float)


def make_anchor(
    data: Sequence[Transitions],
    action: int,
    reward: AnchorReward | None,
    *,
    must_occur: bool = True,
) -> Anchor:
    """The anchor, checked against the data.

    Args:
        data: replications of a data set.
        action: a_s.
        reward: a number; a function of the features; the name of a feature; or a reward for each
            observation, which must agree where states repeat: the name of a carried column, or (one
            data set only) an array. Any other state has the reward of the nearest of them.
        must_occur: whether a_s must occur in each data set, as a method that uses it needs.
    """
    size = data[0].number_of_actions
    is_whole = isinstance(action, int | np.integer) and not isinstance(action, bool)
    if not is_whole or not 0 <= action < size:
        raise InputError("anchor_action", action, f"give a whole number from 0 to {size - 1}")
    for i, one in enumerate(data):
        if must_occur and not np.any(one.actions == action):
            where = f" of data set {i}" if len(data) > 1 else ""
            hint = f"it never occurs in the {len(one)} transitions{where}: choose one that does"
            raise InputError("anchor_action", action, hint)
    if reward is None:
        raise InputError("anchor_reward", None, "give the reward of the anchor action")
    if isinstance(reward, str):
        reward = named_column(data, reward, "anchor_reward")
    if callable(reward):
        anchor = Anchor(int(action), reward)
        for one in data:  # before any work starts
            anchor.values(one.states)
            anchor.values(one.next_states)
        return anchor
    array = check_finite("anchor_reward", reward)
    if array.ndim == 0:
        return Anchor(int(action), float(array))
    return Anchor(int(action), state_table(data, array, "anchor_reward"))


@dataclass(frozen=True)
class Column:
    """(n, d) features -> (n,) one of them."""

    position: int

    def __call__(self, states: Array) -> Array:
        return np.asarray(states)[:, self.position]


def named_column(data: Sequence[Transitions], name: str, field: str) -> Callable[[Array], Array]:
    """A feature as a function of the state, or a column that all data sets carry."""
    one = data[0]
    if name in one.feature_names:
        return Column(one.feature_names.index(name))
    if not all(name in each.carried for each in data):
        names = ", ".join((*one.action_names, *one.feature_names, *one.carried))
        hint = f"name one of {names}, or carry the column: from_frame(..., carry=[{name!r}])"
        raise InputError(field, name, hint)
    states = np.concatenate([each.states for each in data])
    return make_table(states, np.concatenate([each.carried[name] for each in data]), field)


def state_table(data: Sequence[Transitions], values: Array | Integers, field: str) -> NearestState:
    """A function of the state from one number for each observation, the same where states repeat.

    Args:
        data: one data set.
        values: (n,) numbers.
        field: what errors call them.
    """
    array = check_finite(field, values)
    if len(data) > 1 or array.shape != (len(data[0]),):
        each = f", or {len(data[0])} numbers" if len(data) == 1 else ""
        hint = f"give a number, a function{each}, or a carried column's name"
        raise InputError(field, array.shape, hint)
    if data[0].is_moved:
        hint = "from_frame sorted the rows, so that an array may have another order: name a column"
        raise InputError(field, array.shape, f"{hint}, carried by from_frame(..., carry=[column])")
    return make_table(data[0].states, array, field)


def make_table(states: Array, values: Array, field: str) -> NearestState:
    """The table of one number for each of (n, d) states, the same where they repeat."""
    joint, _ = distinct_rows(np.column_stack([states, values]))
    states, counts = distinct_rows(joint[:, :-1])
    if np.any(counts > 1):
        state = states[counts > 1][0].tolist()
        raise InputError(field, state, "this state is given two different numbers")
    return NearestState(states, joint[:, -1])


@dataclass(frozen=True)
class NearestState:
    """(n, d) features -> (n, ...) the entries of a table (m, ...) for the nearest of m states."""

    states: Array
    table: Array

    def __call__(self, states: Array) -> Array:
        return np.asarray(self.table[nearest(self.states, np.asarray(states))])


def nearest(states: Array, new: Array) -> Integers:
    """(n,) index of the state nearest to each new one, features scaled by their range.

    Of states that are equally near, such as both neighbours on a grid, it is the first. New states
    are first brought within FAR ranges, so that no distance overflows.
    """
    scale = np.ptp(states, axis=0)
    scale[scale == 0] = 1.0
    low, high = states.min(axis=0), states.max(axis=0)
    within = np.clip(new, low - FAR * scale, high + FAR * scale)
    points, targets = (states - low) / scale, (within - low) / scale
    if states.shape[1] <= TREE_WIDTH:
        tree = cKDTree(points)
        distance, index = tree.query(targets, k=2)
        closest = np.asarray(index[:, 0], dtype=np.int64)
        is_tied = distance[:, 1] <= distance[:, 0] * (1 + TIE)
        near = tree.query_ball_point(targets[is_tied], distance[is_tied, 0] * (1 + TIE))
        closest[is_tied] = [min(states) for states in near]
        return closest
    norms = np.einsum("md,md->m", points, points)
    batches = np.array_split(targets, 1 + len(targets) * len(points) // DISTANCES)
    return np.concatenate([_first_of_all(batch, points, norms) for batch in batches])


def _first_of_all(targets: Array, points: Array, norms: Array) -> Integers:
    """(n,) index of the first of the nearest (m, d) points, whose squared norms are given.

    |x - p|^2 - |x|^2 is a product of matrices, but far from the point 0 it loses digits. The points
    that may be nearest for all its error are candidates, and have their distances computed.
    """
    rough = targets @ (-2.0 * points.T)
    rough += norms
    own, least = np.einsum("nd,nd->n", targets, targets), rough.min(axis=1)
    # of two sums of 2 d + 1 numbers whose absolute values add up to at most 2 (|x|^2 + |p|^2)
    error = 8 * (points.shape[1] + 1) * EPS * (own + norms.max())
    row, point = np.nonzero(rough <= (least + error + 2 * TIE * (least + own + error))[:, None])
    is_few = np.bincount(row, minlength=len(targets)) <= CANDIDATES
    row, point = row[is_few[row]], point[is_few[row]]
    squares = np.sum((targets[row] - points[point]) ** 2, axis=1)
    least[:] = np.inf
    np.minimum.at(least, row, squares)
    is_near = squares <= least[row] * (1 + TIE)
    closest = np.zeros(len(targets), dtype=np.int64)
    closest[row[is_near][::-1]] = point[is_near][::-1]  # of several the first, assigned last
    if not np.all(is_few):
        squares = cdist(targets[~is_few], points, "sqeuclidean")
        closest[~is_few] = np.argmax(squares <= squares.min(axis=1, keepdims=True) * (1 + TIE), 1)
    return closest


def check_anchor_support(counts: Counts, action: int) -> None:
    """Raise where no transition of the anchor was observed in the states of most observations.

    The anchor's Bellman equation fixes the level of Q. Where the anchor was never taken, its
    transition probabilities are pooled from other states. Past half of the observations the level
    would rest on that assumption and not on data.
    """
    never = counts.followed[:, :, action] == 0
    share = (counts.seen * never).sum(axis=1) / counts.size
    if np.any(share > LARGEST_BORROWED_SHARE):
        worst = int(np.argmax(share))
        where = f"{share[worst]:.0%} of the observations of data set {worst} are in states where it"
        hint = f"{where} was never taken: choose one that is taken in most states, or add data"
        raise InputError("anchor_action", action, hint)
