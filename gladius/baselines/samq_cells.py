"""States aggregated into cells by their vectors of Q, and the data as counts over cells."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from gladius.checks import Array, InputError
from gladius.estimate import StateFunction
from gladius.parametric import Tables
from gladius.transitions import LARGEST_TABLE, Counts, Integers, Transitions, index_rows

CLUSTERINGS = ("kmeans", "ward")
LARGEST_WARD = 4 * 2**30  # bytes of the distances between all pairs of points


@dataclass(frozen=True)
class Cells:
    """A partition of all states, by the nearest of some points in the space of Q.

    Attributes:
        q: the map from features to that space.
        points: (m, A): centres (K-means), or the vectors clustered (Ward).
        label: (m,) cell of each point.
        number: C.
    """

    q: StateFunction
    points: Array
    label: Integers
    number: int

    def of(self, states: Array) -> Integers:
        """(n,) cell of any states."""
        found: Integers = self.label[cKDTree(self.points).query(self.q(states))[1]]
        return found


@dataclass(frozen=True)
class Grouped:
    """One data set over cells.

    Attributes:
        counts: n(c, a) and n(c, a, c'), one replication; its states are the cells' mean features.
        design: (C, A, k) and offset (C, A), means over the rows of (c, a).
        now, after: (n,) cell of s and s' of each row.
    """

    counts: Counts
    design: Array
    offset: Array
    now: Integers
    after: Integers


def ward_bytes(points: int) -> int:
    """Memory of the distances of all pairs of points, n (n - 1) / 2 numbers of 8 bytes.

    The authors' code clusters the rows of s stacked on those of s', repeats included: n is
    twice the number of transitions. Here n is the number of distinct vectors of Q.
    """
    return points * (points - 1) // 2 * 8


def make_cells(
    data: Transitions,
    q: StateFunction,
    number: int,
    clustering: str,
    starts: int,
    rng: np.random.Generator,
) -> Cells:
    """Cluster the distinct Q vectors of s and s', each with the weight of its occurrences."""
    states, (now, after) = index_rows([data.states, data.next_states])
    times = np.bincount(np.concatenate([now, after[~data.done]]), minlength=len(states))
    used = times > 0  # an s' at which a path ended belongs to no cell
    vectors, (at,) = index_rows([q(states[used])])
    weights = np.bincount(at, weights=times[used]).astype(np.float64)
    if len(vectors) <= number:
        return Cells(q, vectors, np.arange(len(vectors)), len(vectors))
    if clustering == "ward":
        label = ward(vectors, weights, number)
        return Cells(q, vectors, label, number)
    centres = _kmeans(vectors, weights, number, starts, rng)
    own = np.unique(cKDTree(centres).query(vectors)[1])  # a centre that is nearest to none goes
    return Cells(q, centres[own], np.arange(len(own)), len(own))


def _kmeans(
    vectors: Array, weights: Array, number: int, starts: int, rng: np.random.Generator
) -> Array:
    model = sklearn_cluster().KMeans(
        n_clusters=number, n_init=starts, random_state=int(rng.integers(2**31))
    )
    centres: Array = model.fit(vectors, sample_weight=weights).cluster_centers_.astype(np.float64)
    return centres


def sklearn_cluster() -> Any:
    """scikit-learn's module of clusterings, imported only where it is needed."""
    try:
        return import_module("sklearn.cluster")
    except ImportError:
        hint = "needs scikit-learn, which is not installed: pip install scikit-learn"
        raise InputError("clustering", "kmeans", hint) from None


def ward(points: Array, weights: Array, number: int) -> Integers:
    """(m,) labels of Ward's agglomeration cut at `number` clusters.

    Points with whole weights count as so many equal points, so this is the clustering of all
    rows; only the m distinct ones are held, and chains of nearest neighbours need no table of
    distances.

    Raises:
        InputError: where the distances of the m points would pass LARGEST_WARD, as a bound of
            the time, which grows as their square too.
    """
    if ward_bytes(len(points)) > LARGEST_WARD:
        size = (
            f"{ward_bytes(len(points)) / 2**30:.0f} GiB of distances between {len(points)} points"
        )
        raise InputError("clustering", "ward", f"{size}: use kmeans")
    centre, mass = points.astype(float).copy(), weights.astype(float).copy()
    merges: list[tuple[float, int, int]] = []
    chain: list[int] = []
    first = 0
    while len(merges) < len(points) - 1:
        if not chain:
            while not np.isfinite(centre[first, 0]):
                first += 1
            chain.append(first)
        i = chain[-1]
        cost = mass * mass[i] / (mass + mass[i]) * ((centre - centre[i]) ** 2).sum(axis=1)
        cost[i] = np.inf
        j = int(np.argmin(cost))
        if len(chain) > 1 and cost[chain[-2]] <= cost[j]:
            j = chain[-2]
            merges.append((float(cost[j]), i, j))
            total = mass[i] + mass[j]
            centre[j] = (mass[i] * centre[i] + mass[j] * centre[j]) / total
            mass[j] = total
            centre[i], mass[i] = np.inf, 1.0  # gone: infinitely far from all that remain
            del chain[-2:]
        else:
            chain.append(j)
    merges.sort(key=lambda merge: merge[0])
    root = list(range(len(points)))

    def find(k: int) -> int:
        while root[k] != k:
            root[k] = root[root[k]]
            k = root[k]
        return k

    for _, i, j in merges[: len(points) - number]:
        root[find(i)] = find(j)
    label: Integers = np.unique([find(k) for k in range(len(points))], return_inverse=True)[1]
    return label


def group_cells(data: Transitions, cells: Cells, tables: Tables) -> Grouped:
    """Counts over cells, and the form of the reward averaged over the rows of each (c, a).

    A pair (c, a) without rows takes the mean over the rows of c, a cell without rows that over
    the s' in it.
    """
    states, (now, after) = index_rows([data.states, data.next_states])
    size, actions = cells.number, data.number_of_actions
    if actions * size**2 > LARGEST_TABLE:
        raise InputError("cells", size, f"a table of {actions * size**2} counts is too large")
    cell = cells.of(states)
    c, t, live = cell[now], cell[after], ~data.done
    pair = data.actions * size + c
    visits = np.bincount(pair, minlength=actions * size).reshape(actions, size).astype(float)
    triple = (pair * size + t)[live]
    moves = np.bincount(triple, minlength=actions * size**2).astype(float)
    here = np.bincount(now, minlength=len(states)).astype(float)
    there = np.bincount(after[live], minlength=len(states)).astype(float)
    taken = np.bincount(data.actions * len(states) + now, minlength=actions * len(states))
    taken = taken.reshape(actions, len(states)).astype(float)

    def mean(values: Array, weights: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Weighted means (C, ...) of values (m, ...) by cell, and which cells have one."""
        total = np.bincount(cell, weights=weights, minlength=size)
        flat = values.reshape(len(values), -1)
        sums = np.stack(
            [np.bincount(cell, weights=weights * column, minlength=size) for column in flat.T], 1
        )
        means = sums / np.where(total > 0, total, 1.0)[:, None]
        return means.reshape(size, *values.shape[1:]), total > 0

    every, _ = mean(states, here + there)
    form = np.concatenate([part.reshape(len(states), actions, -1) for part in tables(states)], 2)
    of_rows, has_rows = mean(form, here)
    of_next, _ = mean(form, there)
    table = np.where(has_rows[:, None, None], of_rows, of_next)
    for a in range(actions):
        own, has = mean(form[:, a], taken[a])
        table[has, a] = own[has]
    counts = Counts(every, visits.T[None], moves.reshape(1, actions, size, size))
    return Grouped(counts, table[..., :-1], table[..., -1], c, t)
