"""SAmQ, state aggregation minimising Q error (Geng, Nassif and Manzanares 2023).

Three steps: (1) Q-hat(s, .) by deep inversion, PQR; (2) states into C clusters by K-means on the
vectors Q-hat(s, .); (3) maximum likelihood of theta in r(s, a; theta) by a nested fixed point on
the clusters,

    (T f)(c, a) = mean over the observations i with s_i in c, a_i = a of
                  r(s_i, a; theta) + beta log sum_b exp f(c(s'_i), b),
    max_theta  sum_i log softmax(f_theta(c(s_i), .))_{a_i}.

The reward is the form at every state; clusters only enter theta-hat. With one cluster a state it is
NFXP with transition frequencies, so on the bus engine without dummies (20 states) by default too.

Implementation choices:

- Any `LinearReward`; the anchor's reward belongs into its offset.
- min(100, distinct vectors of Q) clusters; 100 did best in the authors' Table 2. Their public code
  has Ward's agglomeration with 5: `clustering="ward"`, `cells=5`.
- K-means on the distinct vectors of s and s' with the weight of their occurrences. A new state goes
  to the nearest centre, or to the nearest vector (Ward).
- Pairs (c, a) never taken borrow their transition row by the rule of `model/frequencies.py`.
- Step 3 is exact. The public code makes 100 passes of TD(0) with a constant step, which does not
  converge to the fixed point.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from gladius.baselines import nfxp
from gladius.baselines.pqr import invert
from gladius.model.estimate import Estimate, Fit, StateFunction, row_estimates
from gladius.model.frequencies import empirical_transition_probabilities, weighted_sum
from gladius.model.parametric import check_form, check_level
from gladius.model.reward_form import LinearReward, RewardFunction
from gladius.panel.anchor import Anchor
from gladius.panel.record import Counts, Integers, Transitions, group, index_rows
from gladius.panel.ties import TIE, near_least
from gladius.solvers.networks import Training
from gladius.validate import Array, InputError, check_choice, check_whole, generators

TITLE, NEEDS = "SAmQ", ("next", "transitions", "form", "anchor")

CLUSTERINGS = ("kmeans", "ward")
MOST_FOR_WARD = 2_000  # distinct vectors; each merger looks at all pairs


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
        reward: the form, required; it must not contradict the anchor's reward.
        cells: largest number of clusters.
        clustering: kmeans (needs scikit-learn) or ward (for few distinct vectors).
        training: of PQR's networks.
    """
    form = check_form(reward)
    check_choice("clustering", clustering, CLUSTERINGS)
    check_whole("cells", cells, 1)
    for transitions in data:
        tables = form.tables(transitions.states, transitions.number_of_actions)
        check_level(anchor, transitions.states, *tables)
    rngs = generators(rng, len(data))
    inversions = invert(data, anchor, discount, rngs, training, with_reward=False)
    fits = []
    for transitions, inverted, generator in zip(data, inversions, rngs, strict=True):
        clusters = make_clusters(transitions, inverted.q, cells, clustering, generator)
        counts, design, offset = group_clusters(transitions, clusters, form)
        probabilities = empirical_transition_probabilities(counts).transition
        solved = nfxp.fit_counts(counts.visits, probabilities, design, offset, discount)
        r = RewardFunction(form, solved.theta[0], transitions.number_of_actions)
        values = discount * (probabilities[0] @ solved.v[0]).T
        continuation = partial(of_clusters, clusters, values)
        fitted = Fit(
            partial(weighted_sum, r, continuation, 1.0),
            r,
            status=solved.status[0] if solved.status[0] != "ok" else inverted.status,
            iterations=int(solved.iterations[0]),
            gradient_norm=float(np.max(np.abs(solved.gradient[0]))),
            inner_iterations=int(solved.inner_iterations[0]),
            extra={
                "objective": -float(solved.log_likelihood[0]) / len(transitions),
                "theta": solved.theta[0],
                "cells": clusters.number,
                "inversion_status": inverted.status,
            },
        )
        fits.append(fitted)
    return row_estimates(f"samq[{clustering}]", fits, data, anchor, discount)


@dataclass(frozen=True)
class Clusters:
    """A partition of all states, by the nearest of some points in the space of Q."""

    q: StateFunction  # (n, d) features -> (n, A), that space
    points: Array  # (m, A): centres (K-means), or the vectors clustered (Ward)
    label: Integers  # (m,) cluster of each point

    @property
    def number(self) -> int:
        """C."""
        return int(self.label.max()) + 1

    def of(self, states: Array) -> Integers:
        """(n,) cluster of any (n, d) states."""
        return np.asarray(self.label[cKDTree(self.points).query(self.q(states))[1]])


def of_clusters(clusters: Clusters, table: Array, states: Array) -> Array:
    """(n, A) the rows of a (C, A) table for the clusters of the states."""
    return np.asarray(table[clusters.of(states)])


def make_clusters(
    data: Transitions, q: StateFunction, number: int, clustering: str, rng: np.random.Generator
) -> Clusters:
    """Cluster the distinct Q vectors of s and s', each with the weight of its occurrences."""
    states, (state, next_state) = index_rows([data.states, data.next_states])
    occurrences = np.concatenate([state, next_state[~data.done]])
    visits = np.bincount(occurrences, minlength=len(states))
    is_used = visits > 0  # an s' at which a path ended belongs to no cluster
    points, (index,) = index_rows([q(states[is_used])])
    weights = np.bincount(index, weights=visits[is_used]).astype(np.float64)
    if len(points) > number and clustering == "ward":
        return Clusters(q, points, ward(points, weights, number))
    if len(points) > number:
        centres = k_means(points, weights, number, int(rng.integers(2**31)))
        points = centres[np.unique(cKDTree(centres).query(points)[1])]  # those in use
    return Clusters(q, points, np.arange(len(points)))


def k_means(points: Array, weights: Array, number: int, seed: int) -> Array:
    """(number, A) centres of scikit-learn's K-means of weighted points (m, A)."""
    try:
        sklearn_cluster = import_module("sklearn.cluster")
    except ImportError:
        hint = "needs scikit-learn, which is not installed: pip install scikit-learn"
        raise InputError("clustering", "kmeans", hint) from None
    model = sklearn_cluster.KMeans(n_clusters=number, n_init=1, random_state=seed)
    centres = model.fit(points, sample_weight=weights).cluster_centers_
    return np.asarray(centres, dtype=np.float64)


def ward(points: Array, weights: Array, number: int) -> Integers:
    """(m,) labels of Ward's agglomeration of (m, A) points, cut at `number` clusters.

    A point with a whole weight counts as so many equal points, so this is the clustering of all
    observations. scikit-learn's takes no weights, and a distance of each pair of observations.

    Raises:
        InputError: where there are more than MOST_FOR_WARD points.
    """
    if len(points) > MOST_FOR_WARD:
        hint = f"{len(points)} distinct vectors of Q, of at most {MOST_FOR_WARD}: use kmeans"
        raise InputError("clustering", "ward", hint)
    centre, mass, label = points.astype(float), weights.astype(float), np.arange(len(points))
    while len(centre) > number:
        square = ((centre[:, None] - centre) ** 2).sum(axis=2)
        growth = mass[:, None] * mass / (mass[:, None] + mass) * square  # of the sum of squares
        np.fill_diagonal(growth, np.inf)
        least = near_least(growth, TIE * growth.min())[0]
        first, second = np.unravel_index(least, growth.shape)
        pair = [first, second]
        centre[first] = np.average(centre[pair], axis=0, weights=mass[pair])
        mass[first] += mass[second]
        centre, mass = np.delete(centre, second, axis=0), np.delete(mass, second)
        label[label == second] = first
        label[label > second] -= 1
    return label


def group_clusters(
    data: Transitions, clusters: Clusters, form: LinearReward
) -> tuple[Counts, Array, Array]:
    """Counts over clusters, and the form averaged over each: (C, A, k) and (C, A).

    The states of the counts are the clusters' mean features. A pair (c, a) without observations
    takes the mean of the form over the observations of c, a cluster without observations that over
    the s' in it. Each cluster holds an s, or an s' after which the path goes on.

    Raises:
        InputError: where a table over the clusters would be too large.
    """
    states, (state, next_state) = index_rows([data.states, data.next_states])
    actions, cluster = data.number_of_actions, clusters.of(states)
    labelled = replace(
        data,
        states=cluster[state][:, None].astype(float),
        next_states=cluster[next_state][:, None].astype(float),
        feature_names=("cluster",),
    )
    members = csr_array(
        (np.ones(len(states)), (cluster, np.arange(len(states)))),
        shape=(clusters.number, len(states)),
    )

    def mean(values: Array, occurrences: Integers) -> Array:
        """Means (C, ...) of values (m, ...) over occurrences (n,) of the states, NaN without."""
        weights = np.bincount(occurrences, minlength=len(states)).astype(float)
        total = members @ weights
        sums = members @ (weights[:, None] * values.reshape(len(values), -1))
        means = sums / np.where(total > 0, total, np.nan)[:, None]
        return np.asarray(means.reshape(clusters.number, *values.shape[1:]))

    continued = next_state[~data.done]
    design, offset = form.tables(states, actions)
    values = np.concatenate([design, offset[..., None]], axis=2)
    table = mean(values, state)
    table = np.where(np.isnan(table), mean(values, continued), table)
    for a in range(actions):
        of_pair = mean(values[:, a], state[data.actions == a])
        table[:, a] = np.where(np.isnan(of_pair), table[:, a], of_pair)
    features = mean(states, np.concatenate([state, continued]))
    return replace(group(labelled), states=features), table[..., :-1], table[..., -1]
