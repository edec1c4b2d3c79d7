"""SAmQ: NFXP where cells are states, cells against plain loops, Ward against SciPy's."""

import sys
from typing import Any

import numpy as np
import pytest
from bus_engine import ANCHOR, BUS, Array
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import fcluster, linkage
from strategies import WHOLES, transitions

from gladius.baselines import nfxp, samq
from gladius.baselines.samq import MOST_FOR_WARD, Clusters, group_clusters, ward
from gladius.designs.bus import BUS_REWARD, bus_design
from gladius.model.reward_form import LinearReward
from gladius.panel.record import Transitions
from gladius.solvers.networks import Training
from gladius.validate import InputError

SETS = BUS.simulate(50, [np.random.default_rng([50, i]) for i in range(3)])
GIVEN = LinearReward(lambda s: bus_design(s)[:, :, :1], lambda s: np.tile([0.0, -5.0], (len(s), 1)))
CONTENT = Training(steps=200, tolerance=1e6)  # every gradient is small enough
QUICK: dict[str, Any] = {"training": CONTENT, "reward": GIVEN}


def theta(estimate: Any) -> Array:
    return np.asarray(estimate.diagnostics.extra["theta"])


@pytest.mark.parametrize("reward", [GIVEN, BUS_REWARD])
def test_cells_equal_to_states_are_nfxp_with_the_frequencies_of_the_moves(
    reward: LinearReward,
) -> None:
    expected = nfxp.fit(SETS, ANCHOR, 0.95, reward=reward)
    found = samq.fit(SETS, ANCHOR, 0.95, reward=reward, cells=20)
    for data, ours, theirs in zip(SETS, found, expected, strict=True):
        assert ours.diagnostics.converged
        assert ours.diagnostics.extra["cells"] == len(
            np.unique(np.concatenate([data.states, data.next_states]))
        )
        np.testing.assert_allclose(theta(ours), theta(theirs), rtol=0, atol=1e-6)
        np.testing.assert_allclose(ours.q(data.states), theirs.q(data.states), atol=1e-5)
        np.testing.assert_allclose(ours.diagnostics.nll, theirs.diagnostics.nll, rtol=1e-12)
    fewer = samq.fit(SETS, ANCHOR, 0.95, reward=reward, cells=4)
    gaps = [theta(a)[0] - theta(b)[0] for a, b in zip(fewer, expected, strict=True)]
    assert np.min(np.abs(gaps)) > 1e-4, "control: fewer cells are another estimator"


def test_either_stage_stopped_early_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def status(**options: Any) -> tuple[object, str]:
        found = samq.fit(SETS[:1], ANCHOR, 0.95, reward=GIVEN, **options)[0].diagnostics
        assert found.converged == (found.status == "ok")
        return found.extra["inversion_status"], found.status

    early = Training(steps=1)
    assert status(training=CONTENT) == ("ok", "ok")
    assert status(training=early) == ("not_converged", "not_converged")
    full = nfxp.fit_counts
    monkeypatch.setattr(nfxp, "fit_counts", lambda *a: full(*a, max_iterations=1))
    assert status(training=CONTENT) == ("ok", "not_converged")


@pytest.mark.parametrize("seed", range(20))
def test_ward_of_weighted_points_is_scipys_of_repeated_observations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(9, 2)), rng.integers(1, 4, 9)
    tree = linkage(np.repeat(points, weights, axis=0), "ward")
    first = np.cumsum(weights) - weights
    for number in (1, 3, 6, 9):
        expected = fcluster(tree, number, "maxclust")[first] if number < 9 else np.arange(9)
        label = ward(points, weights.astype(float), number)
        assert len(np.unique(label)) == number
        together = label[:, None] == label
        np.testing.assert_array_equal(together, expected[:, None] == expected)


def test_ward_is_refused_where_pairs_are_too_many() -> None:
    with pytest.raises(InputError, match="kmeans") as caught:
        ward(np.zeros((MOST_FOR_WARD + 1, 2)), np.ones(MOST_FOR_WARD + 1), 5)
    assert caught.value.field == "clustering"


@settings(max_examples=60)
@given(transitions(elements=WHOLES, actions=2, width=2), st.integers(1, 3), st.data())
def test_counts_and_means_over_cells_are_those_of_plain_loops(
    data: Transitions, number: int, more: st.DataObject
) -> None:
    halves = st.integers(-9, 9).map(lambda k: k + 0.4)
    cuts = np.sort(more.draw(arrays(np.float64, number, elements=halves, unique=True)))

    def q(states: Array) -> Array:
        return states[:, :1] + 0.5 * states[:, 1:]

    def cluster_of(state: Array) -> int:
        return int(np.argmin(np.abs(cuts - (state[0] + 0.5 * state[1]))))

    rows = list(zip(data.states, data.actions, data.next_states, data.done, strict=True))
    used = [cluster_of(x) for s, _, t, done in rows for x in ((s,) if done else (s, t))]
    assume(len(set(used)) == number)  # as it is of cells made from these data
    form = LinearReward(bus_design, lambda s: np.column_stack([s[:, 1], -s[:, 0]]))
    partition = Clusters(q, cuts[:, None], np.arange(number))
    counts, found_design, found_offset = group_clusters(data, partition, form)
    visits, moves = np.zeros((number, 2)), np.zeros((2, number, number))
    design, offset = np.zeros((number, 2, 2)), np.zeros((number, 2))
    for s, a, t, done in rows:
        visits[cluster_of(s), a] += 1
        if not done:
            moves[a, cluster_of(s), cluster_of(t)] += 1
    for c in range(number):
        here = [s for s, _, _, _ in rows if cluster_of(s) == c]
        there = [t for _, _, t, done in rows if cluster_of(t) == c and not done]
        np.testing.assert_allclose(counts.states[c], np.mean(here + there, axis=0))
        for a in range(2):
            members = [s for s, b, _, _ in rows if cluster_of(s) == c and b == a]
            x = np.mean(members or here or there, axis=0)
            design[c, a, a] = -x[0] if a == 0 else -1.0
            offset[c, a] = x[1] if a == 0 else -x[0]
    np.testing.assert_array_equal(counts.visits[0], visits)
    np.testing.assert_array_equal(counts.moves[0], moves)
    np.testing.assert_allclose(found_design, design, atol=1e-12)
    np.testing.assert_allclose(found_offset, offset, atol=1e-12)


def test_without_scikit_learn_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(InputError, match="pip install scikit-learn"):
        samq.fit(SETS[:1], ANCHOR, 0.95, **QUICK, cells=4)
    for options in ({"cells": 4, "clustering": "ward"}, {"cells": 20}):  # nothing for it to do
        assert samq.fit(SETS[:1], ANCHOR, 0.95, **QUICK, **options)[0].diagnostics.converged
