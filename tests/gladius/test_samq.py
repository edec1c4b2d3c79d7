"""SAmQ: NFXP where cells are states, cells against plain loops, Ward against SciPy's."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from strategies import WHOLES, transitions

from gladius.anchor import Anchor
from gladius.baselines import nfxp, samq
from gladius.baselines.bc import Training
from gladius.baselines.samq import MOST_FOR_WARD, Cells, group_cells, make_cells, ward
from gladius.checks import InputError
from gladius.linear_reward import LinearReward
from gladius.transitions import Transitions
from gladius.worlds.bus import BUS_REWARD, BusEngine, bus_design

Array = NDArray[np.float64]

BUS = BusEngine()
ANCHOR = Anchor(1, -5.0)
SETS = BUS.simulate(50, [np.random.default_rng([50, i]) for i in range(3)])
TOLD = LinearReward(lambda s: bus_design(s)[:, :, :1], lambda s: np.tile([0.0, -5.0], (len(s), 1)))
CONTENT = Training(steps=200, tolerance=1e6)  # every gradient is small enough
QUICK: dict[str, Any] = {"training": CONTENT, "reward": TOLD}
BRIEF = Training(standardise=True, steps=400, batch=500, validation=0.1, learning_rate=0.02)


def theta(estimate: Any) -> Array:
    return np.asarray(estimate.diagnostics.extra["theta"])


@pytest.mark.parametrize("reward", [TOLD, BUS_REWARD])
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
        se, expected_se = (np.asarray(e.diagnostics.extra["se"]) for e in (ours, theirs))
        np.testing.assert_allclose(se, expected_se, rtol=1e-6)
        np.testing.assert_allclose(ours.q(data.states), theirs.q(data.states), atol=1e-5)
        np.testing.assert_allclose(ours.diagnostics.nll, theirs.diagnostics.nll, rtol=1e-12)
    fewer = samq.fit(SETS, ANCHOR, 0.95, reward=reward, cells=4)
    gaps = [theta(a)[0] - theta(b)[0] for a, b in zip(fewer, expected, strict=True)]
    assert np.min(np.abs(gaps)) > 1e-4, "control: fewer cells are another estimator"


def test_either_stage_stopped_early_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def status(**options: Any) -> tuple[object, str]:
        found = samq.fit(SETS[:1], ANCHOR, 0.95, reward=TOLD, **options)[0].diagnostics
        assert found.converged == (found.status == "ok")
        return found.extra["inversion_status"], found.status

    early = Training(standardise=True, steps=1)
    assert status(training=CONTENT) == ("ok", "ok")
    assert status(training=early) == ("not_converged", "not_converged")
    full = nfxp.fit_counts
    monkeypatch.setattr(nfxp, "fit_counts", lambda *a: full(*a, max_iterations=1))
    assert status(training=CONTENT) == ("ok", "not_converged")


@st.composite
def weighted_points(draw: st.DrawFn) -> tuple[Array, NDArray[np.int64]]:
    """Distinct points of the plane and whole weights."""
    n = draw(st.integers(2, 7))
    coordinates = st.integers(-40, 40).map(lambda k: k / 7)
    points = draw(arrays(np.float64, (n, 2), elements=coordinates))
    assume(len(np.unique(points, axis=0)) == n)
    return points, draw(arrays(np.int64, n, elements=st.integers(1, 3)))


@settings(max_examples=60)
@given(weighted_points(), st.data())
def test_ward_of_weighted_points_is_scipys_of_repeated_rows(
    problem: tuple[Array, NDArray[np.int64]], data: st.DataObject
) -> None:
    points, weights = problem
    number = data.draw(st.integers(1, len(points)))
    tree = linkage(np.repeat(points, weights, axis=0), "ward")
    heights = np.sort(tree[:, 2])[weights.sum() - len(points) :]
    assume(np.all(np.diff(heights) > 1e-6))  # at ties the tree is not unique
    if number == 1 or len(points) == number:
        expected = np.ones(len(points)) if number == 1 else np.arange(len(points))
    else:
        first = np.cumsum(weights) - weights
        expected = fcluster(tree, number, "maxclust")[first]
    label = ward(points, weights.astype(float), number)
    assert len(np.unique(label)) == number
    together = label[:, None] == label
    np.testing.assert_array_equal(together, expected[:, None] == expected)


def test_ward_is_refused_where_pairs_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as caught:
        ward(np.zeros((MOST_FOR_WARD + 1, 2)), np.ones(MOST_FOR_WARD + 1), 5)
    assert caught.value.field == "clustering"
    monkeypatch.setattr(samq, "MOST_FOR_WARD", 5)
    with pytest.raises(InputError, match="kmeans"):
        samq.fit(SETS[:1], ANCHOR, 0.95, **QUICK, clustering="ward", cells=3)


def test_kmeans_ends_where_lloyd_stops() -> None:
    data = BusEngine(dummies=1).simulate(30, np.random.default_rng(2))

    def q(states: Array) -> Array:
        return np.column_stack([-states[:, 0] + 0.01 * states[:, 1], np.full(len(states), -5.0)])

    cells = make_cells(data, q, 6, "kmeans", np.random.default_rng(0))
    states = np.concatenate([data.states, data.next_states])
    label, vectors = cells.of(states), q(states)
    distance = ((vectors[:, None] - cells.points) ** 2).sum(axis=2)
    np.testing.assert_array_equal(label, distance.argmin(axis=1))
    means = np.array([vectors[label == c].mean(axis=0) for c in range(cells.number)])
    np.testing.assert_allclose(means, cells.points, atol=0.02)  # scikit-learn's stopping rule
    within = distance.min(axis=1).sum()
    assert within < 0.1 * ((vectors - vectors.mean(axis=0)) ** 2).sum()


@settings(max_examples=60)
@given(transitions(elements=WHOLES, actions=2, width=2), st.integers(1, 3), st.data())
def test_counts_and_means_over_cells_are_those_of_plain_loops(
    data: Transitions, number: int, more: st.DataObject
) -> None:
    halves = st.integers(-9, 9).map(lambda k: k + 0.4)
    cuts = np.sort(more.draw(arrays(np.float64, number, elements=halves, unique=True)))

    def q(states: Array) -> Array:
        return states[:, :1] + 0.5 * states[:, 1:]

    def cell_of(state: Array) -> int:
        return int(np.argmin(np.abs(cuts - (state[0] + 0.5 * state[1]))))

    rows = list(zip(data.states, data.actions, data.next_states, data.done, strict=True))
    used = [cell_of(x) for s, _, t, done in rows for x in ((s,) if done else (s, t))]
    assume(len(set(used)) == number)  # as it is of cells made from these data
    form = LinearReward(bus_design, lambda s: np.column_stack([s[:, 1], -s[:, 0]]))
    partition = Cells(q, cuts[:, None], np.arange(number), number)
    counts, found_design, found_offset = group_cells(data, partition, form)
    visits, moves = np.zeros((number, 2)), np.zeros((2, number, number))
    design, offset = np.zeros((number, 2, 2)), np.zeros((number, 2))
    for s, a, t, done in rows:
        visits[cell_of(s), a] += 1
        if not done:
            moves[a, cell_of(s), cell_of(t)] += 1
    for c in range(number):
        here = [s for s, _, _, _ in rows if cell_of(s) == c]
        there = [t for _, _, t, done in rows if cell_of(t) == c and not done]
        np.testing.assert_allclose(counts.states[c], np.mean(here + there, axis=0))
        for a in range(2):
            members = [s for s, b, _, _ in rows if cell_of(s) == c and b == a]
            x = np.mean(members or here or there, axis=0)
            design[c, a, a] = -x[0] if a == 0 else -1.0
            offset[c, a] = x[1] if a == 0 else -x[0]
    np.testing.assert_array_equal(counts.visits[0], visits)
    np.testing.assert_array_equal(counts.moves[0], moves)
    np.testing.assert_allclose(found_design, design, atol=1e-12)
    np.testing.assert_allclose(found_offset, offset, atol=1e-12)


def test_dummies_cost_little_where_the_form_leaves_them_out() -> None:
    data = BusEngine(dummies=3).simulate(60, np.random.default_rng(6))
    found = samq.fit([data], ANCHOR, 0.95, reward=TOLD, cells=30, training=BRIEF)[0]
    assert found.diagnostics.extra["cells"] == 30
    # cells are coarser than states, their transitions are estimated: a few standard errors
    se = np.asarray(found.diagnostics.extra["se"])
    assert np.abs(theta(found)[0] - 1.0) < 6 * se[0]


def every_slope(states: Array) -> Array:
    """(n, 2, d) a slope of each feature where the bus goes on."""
    return np.stack([-states, np.zeros_like(states)], axis=1)


def test_more_slopes_than_cells_are_not_identified() -> None:
    data = BusEngine(dummies=8).simulate(20, np.random.default_rng(6))
    how = Training(standardise=True, steps=50, batch=500)
    form = LinearReward(every_slope, TOLD.offset)
    found = samq.fit([data], ANCHOR, 0.95, reward=form, cells=4, training=how)[0].diagnostics
    assert found.status.startswith("failed: theta is not identified")


def test_without_scikit_learn_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(InputError, match="pip install scikit-learn"):
        samq.fit(SETS[:1], ANCHOR, 0.95, **QUICK, cells=4)
    for options in ({"cells": 4, "clustering": "ward"}, {"cells": 20}):  # nothing for it to do
        assert samq.fit(SETS[:1], ANCHOR, 0.95, **QUICK, **options)[0].diagnostics.converged
