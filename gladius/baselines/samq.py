"""SAmQ, state aggregation minimising Q error (Geng, Nassif and Manzanares 2023).

Three steps: (1) Q-hat(s, .) by deep inversion, PQR (pqr.py: the anchor, no transition
probabilities, no form of r); (2) states into C cells by K-means on the vectors Q-hat(s, .);
(3) maximum likelihood of theta in r(s, a; theta) by a nested fixed point on the cells,

    (T f)(c, a) = mean over the rows i with s_i in c, a_i = a of
                  r(s_i, a; theta) + beta log sum_b exp f(c(s'_i), b),
    max_theta  sum_i log softmax(f_theta(c(s_i), .))_{a_i},

the soft Bellman equation with the cells' mean rewards and transition frequencies. The reward is
read off the form at every state; cells only shape theta-hat. With one cell a state it is NFXP with
transition frequencies.

What had to be decided:
- Form: the authors' code is told the replacement cost and has a slope for every feature. Here any
  `LinearReward`; what is known of r at the anchor belongs into its offset.
- Number of cells: min(100, distinct vectors of Q); 100 did best in the authors' Table 2. Fewer
  distinct vectors than cells: each is a cell and nothing is clustered, so that on the bus engine
  without dummies (at most 20 states) the default is NFXP with estimated transition probabilities.
- K-means: scikit-learn's, on the distinct vectors of s and s' with the weight of their occurrences;
  one start from `rng`. A new state goes to the nearest centre.
- Pairs (c, a) never taken: their transition row is borrowed by transition_probabilities.py's rule,
  on the mean features of cells, their mean reward is that of all rows of c.
- Step 3: exact, by nfxp.py. Standard errors take cells and transitions as known. The public code
  makes 100 passes of TD(0) with a constant step over the rows, from the end of a path into the
  start of the next, which does not settle at the fixed point.
- Clustering: the public code's is Ward's agglomeration of the stacked rows of s and s', with 5
  cells by default: `clustering="ward"`, `cells=5`. A new state goes to the nearest vector, theirs
  to a vote of 100.
- `converged` needs the inversion and the likelihood both to meet their rules. How far the
  inversion extrapolates (`inversion_extrapolated`) is `extrapolated` of pqr.py.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from gladius.anchor import Anchor
from gladius.baselines import nfxp
from gladius.baselines.bc import Training
from gladius.baselines.pqr import extrapolated_weight, invert
from gladius.checks import Array, InputError, check_choice, check_discount, check_whole, generators
from gladius.estimate import Estimate, StateFunction, assess
from gladius.linear_reward import LinearReward, RewardFunction
from gladius.parametric import check_form, check_level
from gladius.transition_probabilities import Sum, empirical_transition_probabilities
from gladius.transitions import Counts, Integers, Transitions, group, index_rows

TITLE, NEEDS = "SAmQ", ("next", "transitions", "form", "anchor")

CLUSTERINGS = ("kmeans", "ward")
MOST_FOR_WARD = 2_000  # distinct vectors; a table of all pairs, and a pass over it for each merger


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    cells: int = 100,
    clustering: str = "kmeans",
    rng: int | Sequence[np.random.Generator] = 0,
    training: Training | None = None,
) -> list[Estimate]:
    """SAmQ of each data set.

    Args:
        data: replications.
        anchor: the action whose reward is given, for the inversion.
        discount: beta.
        reward: the form, which must not contradict the anchor's reward; it cannot do without.
        cells: at most this many.
        clustering: kmeans or ward.
        rng: a seed, or one generator for each data set.
        training: of PQR's networks.

    Raises:
        InputError: for a bad option, without scikit-learn where it is needed, for Ward on too
            many points.
    """
    started = time.process_time()
    beta, form = check_discount(discount), check_form(reward)
    check_choice("clustering", clustering, CLUSTERINGS)
    check_whole("cells", cells, 1)
    for transitions in data:
        number = len(index_rows([transitions.states, transitions.next_states])[0])
        if clustering == "kmeans" and number > cells:
            sklearn_cluster()  # whether it is there is known before the inversion
        tables = form.tables(transitions.states, transitions.number_of_actions)
        check_level(anchor, transitions.states, *tables)
    rngs = generators(rng, len(data))
    inversions = invert(data, anchor, beta, rngs, training, with_reward=False)
    seconds = (time.process_time() - started) / len(data)
    estimates = []
    for transitions, inverted, generator in zip(data, inversions, rngs, strict=True):
        begun = time.process_time()
        partition = make_cells(transitions, inverted.q, cells, clustering, generator)
        counts, design, offset = group_cells(transitions, partition, form)
        probabilities = empirical_transition_probabilities(counts).transition
        solved = nfxp.fit_counts(counts.visits, probabilities, design, offset, beta)
        r = RewardFunction(form, solved.theta[0], transitions.number_of_actions)
        q = Sum(r, partial(of_cells, partition, beta * (probabilities[0] @ solved.v[0]).T))
        estimate = assess(
            f"samq[{clustering}]",
            q,
            r,
            transitions,
            anchor,
            status=solved.status[0] if solved.status[0] != "ok" else inverted.status,
            iterations=int(solved.iterations[0]),
            gradient_norm=float(np.max(np.abs(solved.gradient[0]))),
            seconds=seconds + time.process_time() - begun,
            extra={
                "inner_iterations": int(solved.inner_iterations[0]),
                "objective": -float(solved.log_likelihood[0]) / len(transitions),
                "theta": solved.theta[0],
                "se": solved.se[0],
                "cells": partition.number,
                "inversion_status": inverted.status,
                "inversion_iterations": inverted.iterations,
                "inversion_extrapolated": extrapolated_weight(transitions, anchor.action, beta),
            },
        )
        estimates.append(estimate)
    return estimates


@dataclass(frozen=True)
class Cells:
    """A partition of all states, by the nearest of some points in the space of Q."""

    q: StateFunction  # (n, d) features -> (n, A), that space
    points: Array  # (m, A): centres (K-means), or the vectors clustered (Ward)
    label: Integers  # (m,) cell of each point
    number: int  # C

    def of(self, states: Array) -> Integers:
        """(n,) cell of any (n, d) states."""
        return np.asarray(self.label[cKDTree(self.points).query(self.q(states))[1]])


def of_cells(cells: Cells, table: Array, states: Array) -> Array:
    """(n, A) the rows of a (C, A) table that belong to the states' cells."""
    return np.asarray(table[cells.of(states)])


def make_cells(
    data: Transitions, q: StateFunction, number: int, clustering: str, rng: np.random.Generator
) -> Cells:
    """Cluster the distinct Q vectors of s and s', each with the weight of its occurrences."""
    states, (now, after) = index_rows([data.states, data.next_states])
    times = np.bincount(np.concatenate([now, after[~data.done]]), minlength=len(states))
    used = times > 0  # an s' at which a path ended belongs to no cell
    vectors, (index,) = index_rows([q(states[used])])
    weights = np.bincount(index, weights=times[used]).astype(np.float64)
    if len(vectors) <= number:
        return Cells(q, vectors, np.arange(len(vectors)), len(vectors))
    if clustering == "ward":
        return Cells(q, vectors, ward(vectors, weights, number), number)
    seed = int(rng.integers(2**31))
    model = sklearn_cluster().KMeans(n_clusters=number, n_init=1, random_state=seed)
    centres = model.fit(vectors, sample_weight=weights).cluster_centers_.astype(np.float64)
    nearest_to_some = np.unique(cKDTree(centres).query(vectors)[1])
    return Cells(q, centres[nearest_to_some], np.arange(len(nearest_to_some)), len(nearest_to_some))


def sklearn_cluster() -> Any:
    """scikit-learn's module of clusterings, imported only where it is needed."""
    try:
        return import_module("sklearn.cluster")
    except ImportError:
        hint = "needs scikit-learn, which is not installed: pip install scikit-learn"
        raise InputError("clustering", "kmeans", hint) from None


def ward(points: Array, weights: Array, number: int) -> Integers:
    """(m,) labels of Ward's agglomeration of (m, A) points, cut at `number` clusters.

    Points with whole weights count as so many equal points, so this is the clustering of all
    rows; only the m distinct ones are held.

    Raises:
        InputError: where there are more than MOST_FOR_WARD points.
    """
    if len(points) > MOST_FOR_WARD:
        hint = f"{len(points)} distinct vectors of Q, of at most {MOST_FOR_WARD}: use kmeans"
        raise InputError("clustering", "ward", hint)
    centre, mass, label = points.astype(float), weights.astype(float), np.arange(len(points))

    def costs(cluster: int) -> Array:
        """(m,) growth of the sum of squares when each cluster is merged with this one."""
        square = ((centre - centre[cluster]) ** 2).sum(axis=1)
        growth = np.where(mass > 0, mass * mass[cluster] / (mass + mass[cluster]) * square, np.inf)
        growth[cluster] = np.inf
        return growth

    table = np.stack([costs(cluster) for cluster in range(len(points))])
    for _ in range(len(points) - number):
        kept, gone = np.unravel_index(np.argmin(table), table.shape)
        centre[kept] = np.average(centre[[kept, gone]], axis=0, weights=mass[[kept, gone]])
        mass[kept], mass[gone] = mass[kept] + mass[gone], 0.0
        label[label == gone] = kept
        table[kept] = table[:, kept] = costs(int(kept))
        table[gone] = table[:, gone] = np.inf
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def group_cells(data: Transitions, cells: Cells, form: LinearReward) -> tuple[Counts, Array, Array]:
    """Counts over cells, and the form averaged over the rows of each: (C, A, k) and (C, A).

    The states of the counts are the cells' mean features.

    A pair (c, a) without rows takes the mean over the rows of c, a cell without rows that over
    the s' in it. Each cell holds an s, or an s' after which the path goes on.

    Raises:
        InputError: where a table over the cells would be too large.
    """
    states, (now, after) = index_rows([data.states, data.next_states])
    actions, cell = data.number_of_actions, cells.of(states)
    counts = group(
        replace(
            data,
            states=cell[now][:, None].astype(float),
            next_states=cell[after][:, None].astype(float),
            feature_names=("cell",),
        )
    )
    places = (cell, np.arange(len(states)))
    members = csr_array((np.ones(len(states)), places), shape=(cells.number, len(states)))

    def mean(values: Array, weights: Array) -> Array:
        """Weighted means (C, ...) of values (m, ...) by cell, NaN in cells without weight."""
        total = members @ weights
        sums = members @ (weights[:, None] * values.reshape(len(values), -1))
        means = sums / np.where(total > 0, total, np.nan)[:, None]
        return np.asarray(means.reshape(cells.number, *values.shape[1:]))

    def times(index: Integers) -> Array:
        return np.bincount(index, minlength=len(states)).astype(float)

    here, there = times(now), times(after[~data.done])
    design, offset = form.tables(states, actions)
    values = np.concatenate([design, offset[..., None]], axis=2)
    of_rows = mean(values, here)
    table = np.where(np.isnan(of_rows), mean(values, there), of_rows)
    for a in range(actions):
        of_pair = mean(values[:, a], times(now[data.actions == a]))
        table[:, a] = np.where(np.isnan(of_pair), table[:, a], of_pair)
    counts = replace(counts, states=mean(states, here + there))
    return counts, table[..., :-1], table[..., -1]
