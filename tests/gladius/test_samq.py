"""SAmQ: NFXP where cells are states, cells against loops, Ward against SciPy's, TD replayed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from strategies import WHOLES, transitions

from gladius.anchor import Anchor
from gladius.baselines import nfxp, samq, samq_cells
from gladius.baselines.bc import Training
from gladius.baselines.samq_cells import Cells, group_cells, make_cells, ward, ward_bytes
from gladius.baselines.samq_td import td_values
from gladius.checks import InputError
from gladius.parametric import make_tables
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
ANCHOR = Anchor(1, -5.0)
SETS = BUS.simulate(50, [np.random.default_rng([50, i]) for i in range(3)])
TABULAR: dict[str, Any] = {"inversion": "tabular"}


def theta(estimate: Any) -> Array:
    return np.asarray(estimate.diagnostics.extra["theta"])


@pytest.mark.parametrize("inversion", ["network", "tabular"])
def test_cells_equal_to_states_are_nfxp_with_the_frequencies_of_the_moves(inversion: str) -> None:
    expected = nfxp.fit(SETS, ANCHOR, 0.95, theta_1_given=True)
    found = samq.fit(SETS, ANCHOR, 0.95, inversion=inversion, cells=20)
    for one, ours, theirs in zip(SETS, found, expected, strict=True):
        assert ours.diagnostics.converged
        assert ours.diagnostics.extra["cells"] == len(
            np.unique(np.concatenate([one.states, one.next_states]))
        )
        np.testing.assert_allclose(theta(ours), theta(theirs), rtol=0, atol=1e-6)
        np.testing.assert_allclose(
            np.asarray(ours.diagnostics.extra["se"]),
            np.asarray(theirs.diagnostics.extra["se"]),
            rtol=1e-6,
        )
        np.testing.assert_allclose(ours.q(one.states), theirs.q(one.states), atol=1e-5)
        np.testing.assert_allclose(ours.diagnostics.nll, theirs.diagnostics.nll, rtol=1e-12)
    # controls: fewer cells, or the replacement cost estimated too, are other estimators
    controls: list[dict[str, Any]] = [{"cells": 4}, {"theta_1_given": False}]
    for options in controls:
        away = samq.fit(SETS, ANCHOR, 0.95, **TABULAR, **options)
        gaps = [theta(a)[0] - theta(b)[0] for a, b in zip(away, expected, strict=True)]
        assert np.min(np.abs(gaps)) > 1e-4
    free = samq.fit(SETS, ANCHOR, 0.95, **TABULAR, theta_1_given=False)
    for ours, theirs in zip(free, nfxp.fit(SETS, ANCHOR, 0.95), strict=True):
        np.testing.assert_allclose(theta(ours), theta(theirs), atol=1e-6)


def test_either_stage_stopped_early_shows() -> None:
    early = {"training": Training(standardise=True, steps=1)}
    for options, inverted, status in [
        (TABULAR, "ok", "ok"),
        (early, "not_converged", "not_converged"),
        (TABULAR | {"max_iterations": 1}, "ok", "not_converged"),
    ]:
        found = samq.fit(SETS[:1], ANCHOR, 0.95, **options)[0].diagnostics
        assert found.extra["inversion_status"] == inverted
        assert found.converged == (found.status == "ok")
        assert found.status == status


def test_reward_is_the_form_at_any_state() -> None:
    found = samq.fit(SETS[:1], ANCHOR, 0.95, **TABULAR)[0]
    far = np.array([[1.0], [2.5], [40.0]])
    np.testing.assert_allclose(found.reward(far, 0), -theta(found)[0] * far[:, 0])
    np.testing.assert_array_equal(found.reward(far, 1), -5.0)
    assert np.all(np.isfinite(found.q(far)))


@st.composite
def weighted_points(draw: st.DrawFn) -> tuple[Array, NDArray[np.int64]]:
    """Distinct points of the plane and whole weights."""
    n = draw(st.integers(2, 7))
    coordinates = st.integers(-40, 40).map(lambda k: k / 7)
    points = draw(arrays(np.float64, (n, 2), elements=coordinates))
    assume(len(np.unique(points, axis=0)) == n)
    return points, draw(arrays(np.int64, n, elements=st.integers(1, 3)))


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


def test_ward_is_refused_where_distances_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    # the authors' code stacks s on s': N = 50, 1,000 and 2,500 with 80 % of 100 periods each
    gigabytes = [ward_bytes(2 * n * 80) / 1e9 for n in (50, 1_000, 2_500)]
    np.testing.assert_allclose(gigabytes, [0.256, 102.4, 640.0], rtol=2e-3)
    with pytest.raises(InputError) as caught:
        ward(np.zeros((33_000, 2)), np.ones(33_000), 5)
    assert caught.value.field == "clustering"
    monkeypatch.setattr(samq_cells, "LARGEST_WARD", ward_bytes(5))
    with pytest.raises(InputError, match="kmeans"):
        samq.fit(SETS[:1], ANCHOR, 0.95, **TABULAR, clustering="ward", cells=3)


def test_kmeans_ends_where_lloyd_stops() -> None:
    world = BusEngine(dummies=1)
    data = world.simulate(30, np.random.default_rng(2))

    def q(states: Array) -> Array:
        return np.column_stack([-states[:, 0] + 0.01 * states[:, 1], np.full(len(states), -5.0)])

    cells = make_cells(data, q, 6, "kmeans", 3, np.random.default_rng(0))
    every = np.concatenate([data.states, data.next_states])
    label = cells.of(every)
    vectors = q(every)
    distance = ((vectors[:, None] - cells.points) ** 2).sum(axis=2)
    np.testing.assert_array_equal(label, distance.argmin(axis=1))
    means = np.array([vectors[label == c].mean(axis=0) for c in range(cells.number)])
    np.testing.assert_allclose(means, cells.points, atol=0.02)  # scikit-learn's stopping rule
    within = distance.min(axis=1).sum()
    assert within < 0.1 * ((vectors - vectors.mean(axis=0)) ** 2).sum()


@given(transitions(elements=WHOLES, actions=2, width=2), st.integers(1, 3), st.data())
def test_counts_and_means_over_cells_are_those_of_plain_loops(
    data: Transitions, number: int, more: st.DataObject
) -> None:
    cuts = np.sort(
        more.draw(
            arrays(
                np.float64, number, elements=st.integers(-9, 9).map(lambda k: k + 0.4), unique=True
            )
        )
    )

    def q(states: Array) -> Array:
        return states[:, :1] + 0.5 * states[:, 1:]

    def cell_of(state: Array) -> int:
        return int(np.argmin(np.abs(cuts - (state[0] + 0.5 * state[1]))))

    cells = Cells(q, cuts[:, None], np.arange(number), number)
    tables = make_tables(None, lambda s: np.column_stack([s[:, 1], -s[:, 0]]), None, 2)
    found = group_cells(data, cells, tables)
    visits, moves = np.zeros((number, 2)), np.zeros((2, number, number))
    design = np.zeros((number, 2, 2))
    offset = np.zeros((number, 2))
    rows = list(zip(data.states, data.actions, data.next_states, data.done, strict=True))
    for s, a, t, done in rows:
        visits[cell_of(s), a] += 1
        if not done:
            moves[a, cell_of(s), cell_of(t)] += 1
    for c in range(number):
        for a in range(2):
            members = [s for s, b, _, _ in rows if cell_of(s) == c and b == a]
            members = members or [s for s, _, _, _ in rows if cell_of(s) == c]
            members = members or [t for _, _, t, done in rows if cell_of(t) == c and not done]
            if members:
                x = np.mean(members, axis=0)
                design[c, a, a] = -x[0] if a == 0 else -1.0
                offset[c, a] = x[1] if a == 0 else -x[0]
    np.testing.assert_array_equal(found.counts.visits[0], visits)
    np.testing.assert_array_equal(found.counts.moves[0], moves)
    np.testing.assert_allclose(found.design, design, atol=1e-12)
    np.testing.assert_allclose(found.offset, offset, atol=1e-12)
    np.testing.assert_array_equal(found.now, [cell_of(s) for s in data.states])


@given(st.integers(2, 6), st.data())
def test_td_is_the_recursion_written_in_arrays(rows: int, data: st.DataObject) -> None:
    cells = data.draw(arrays(np.int64, rows, elements=st.integers(0, 2)))
    actions = data.draw(arrays(np.int64, rows, elements=st.integers(0, 1)))
    rewards = data.draw(arrays(np.float64, rows, elements=WHOLES))
    step, passes = data.draw(st.sampled_from([0.1, 0.5, 1.0])), data.draw(st.integers(1, 4))
    q = np.full((3, 2), -3.0)
    for _ in range(passes):
        for j in range(rows - 1):
            target = rewards[j] + 0.9 * np.log(np.exp(q[cells[j + 1]]).sum())
            q[cells[j], actions[j]] += step * (target - q[cells[j], actions[j]])
    found = td_values(cells, actions, rewards, (3, 2), 0.9, -3.0, step, passes)
    np.testing.assert_allclose(found, q, atol=1e-11)


def test_td_with_a_constant_step_is_not_the_fixed_point() -> None:
    data = SETS[0]
    exact = samq.fit([data], ANCHOR, 0.95, **TABULAR)[0]
    solution = nfxp.fit([data], Anchor(1, -5.0), 0.95, theta_1_given=True)[0]
    np.testing.assert_allclose(theta(exact), theta(solution), atol=1e-6)
    states, cells = np.unique(data.states[:, 0], return_inverse=True)
    rewards = np.where(data.actions == 0, -theta(exact)[0] * data.states[:, 0], -5.0)
    q = td_values(cells, data.actions, rewards, (len(states), 2), 0.95, -99.0, 0.1, 100)
    often = states <= 5
    level = np.abs(q - exact.q(states[:, None]))[often, 1]
    odds = np.abs(np.diff(q - exact.q(states[:, None]), axis=1))[often, 0]
    # theory: a noise of the order of the step times the spread of V(s'); it must be seen
    assert 0.01 < np.max(level) < 0.6
    assert 0.005 < np.max(odds) < 0.3


def test_td_and_ward_find_a_theta_near_the_exact_one() -> None:
    data = SETS[0].take(np.arange(1_000))
    exact = samq.fit([data], ANCHOR, 0.95, **TABULAR, cells=5, clustering="ward")[0]
    found = samq.fit(
        [data], ANCHOR, 0.95, **TABULAR, cells=5, clustering="ward", inner="td", td_passes=60
    )[0]
    assert found.method == "samq[ward,td]"
    assert int(str(found.diagnostics.extra["inner_iterations"])) % 60 == 0
    np.testing.assert_allclose(theta(found), theta(exact), atol=0.15)
    assert abs(theta(found)[0] - theta(exact)[0]) > 1e-4
    short = samq.fit([data], ANCHOR, 0.95, **TABULAR, inner="td", td_passes=1)[0]
    assert np.max(np.abs(theta(short) - theta(exact))) > 0.15, "control: one pass is too few"


@pytest.mark.parametrize(
    "options",
    [
        {"cells": 4},
        {"cells": 4, "clustering": "ward"},
        {"training": Training(standardise=True, steps=100), "inversion": "network"},
    ],
)
def test_replications_together_are_as_alone(options: dict[str, Any]) -> None:
    chosen = TABULAR | options

    def rngs() -> list[np.random.Generator]:
        return [np.random.default_rng([1, r]) for r in range(3)]

    together = samq.fit(SETS, ANCHOR, 0.95, rng=rngs(), **chosen)
    for r, (one, batch) in enumerate(zip(SETS, together, strict=True)):
        alone = samq.fit([one], ANCHOR, 0.95, rng=[rngs()[r]], **chosen)[0]
        np.testing.assert_allclose(theta(batch), theta(alone), atol=1e-7)
        np.testing.assert_allclose(batch.q(one.states), alone.q(one.states), atol=1e-6)


def test_dummies_cost_little_where_the_form_leaves_them_out() -> None:
    world = BusEngine(dummies=3)
    data = world.simulate(60, np.random.default_rng(6))
    how = Training(standardise=True, steps=400, batch=500, validation=0.1, learning_rate=0.02)
    short = samq.fit([data], ANCHOR, 0.95, cells=30, training=how)[0]
    se = np.asarray(short.diagnostics.extra["se"])
    assert short.diagnostics.extra["cells"] == 30
    # cells are coarser than states and their law is estimated: a few standard errors
    assert np.abs(theta(short)[0] - 1.0) < 6 * se[0]
    every = samq.fit([data], ANCHOR, 0.95, cells=30, training=how, slopes="all")[0]
    assert theta(every).shape == (4,)
    row = np.array([[3.0, 1.0, -2.0, 0.5]])
    np.testing.assert_allclose(every.reward(row, 0), -row @ theta(every))
    np.testing.assert_allclose(every.reward(row, 1), -5.0)
    free = samq.fit(
        [data], ANCHOR, 0.95, cells=30, training=how, slopes="all", theta_1_given=False
    )[0]
    assert theta(free).shape == (5,)


def test_more_slopes_than_cells_are_not_identified() -> None:
    world = BusEngine(dummies=8)
    data = world.simulate(20, np.random.default_rng(6))
    how = Training(standardise=True, steps=50, batch=500)
    found = samq.fit([data], ANCHOR, 0.95, cells=4, training=how, slopes="all")[0]
    assert found.diagnostics.status == nfxp.UNIDENTIFIED
    assert not found.diagnostics.converged


def test_without_scikit_learn_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(InputError, match="pip install scikit-learn"):
        samq.fit(SETS[:1], ANCHOR, 0.95, **TABULAR, cells=4)
    for options in ({"cells": 4, "clustering": "ward"}, {"cells": 20}):  # nothing for it to do
        assert samq.fit(SETS[:1], ANCHOR, 0.95, **TABULAR | options)[0].diagnostics.converged


THREE = Transitions(SETS[0].states, SETS[0].actions, SETS[0].next_states, number_of_actions=3)


def test_a_form_of_ones_own() -> None:
    found = samq.fit(
        SETS[:1],
        Anchor(0, lambda s: -s[:, 0]),
        0.95,
        **TABULAR,
        cells=50,
        design=lambda s: np.stack([0 * s, -np.ones_like(s)], axis=1),
        offset=lambda s: np.column_stack([-s[:, 0], np.zeros(len(s))]),
    )[0]
    np.testing.assert_allclose(theta(found), 5.0, atol=0.6)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"clustering": "dbscan"}, "clustering"),
        ({"inner": "vi"}, "inner"),
        ({"slopes": "none"}, "slopes"),
        ({"cells": 0}, "cells"),
        ({"kmeans_starts": 0}, "kmeans_starts"),
        ({"td_passes": 0}, "td_passes"),
        ({"td_step": 0.0}, "td_step"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"inversion": "forest"}, "regression"),
        ({"q_step": "newton"}, "q_step"),
        ({"rng": -1}, "rng"),
        ({"slopes": "all", "design": lambda s: s}, "slopes"),
        ({"theta_1_given": True, "design": lambda s: s}, "theta_1_given"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        samq.fit(SETS[:1], ANCHOR, 0.95, **options)
    assert caught.value.field == field


@pytest.mark.parametrize("slopes", ["mileage", "all"])
def test_the_default_form_needs_two_actions_and_replacement_as_the_anchor(slopes: str) -> None:
    with pytest.raises(InputError) as caught:
        samq.fit([THREE], ANCHOR, 0.95, slopes=slopes)
    assert caught.value.field == "design"
    with pytest.raises(InputError) as caught:  # not for another anchor first
        samq.fit([THREE], Anchor(0, -1.0), 0.95, slopes=slopes)
    assert caught.value.field == "design"
    with pytest.raises(InputError) as caught:
        samq.fit(SETS[:1], Anchor(0, -1.0), 0.95, slopes=slopes)
    assert caught.value.field == "anchor_action"
