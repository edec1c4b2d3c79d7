"""No decision is made by rounding: each case here is a tie by structure, in several roundings."""

from typing import Any

import cases
import noise
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import gladius
from gladius import Transitions
from gladius.baselines.rp import grow
from gladius.baselines.samq import ward
from gladius.model.estimate import Estimate
from gladius.own_data.erm.observations import sparse
from gladius.own_data.erm.observations.features import Inputs, Rows, make_features
from gladius.own_data.erm.observations.network_risk import COARSE_KAPPAS, NetworkRisk
from gladius.own_data.erm.observations.regression import LINEAR_RIDGE
from gladius.own_data.erm.observations.risk import ObservationRisk, RiskMinimum
from gladius.own_data.erm.observations.score_tests import Choice, InputSelection, select_inputs
from gladius.own_data.erm.observations.selection import (
    fit_unpenalised,
    make_zeta,
    significant_products,
)
from gladius.own_data.erm.observations.sparse import with_anchor
from gladius.panel import anchor
from gladius.panel.anchor import Anchor, nearest
from gladius.panel.record import Counts
from gladius.panel.ties import EPS, TIE, near_least, ranking
from gladius.paper.stability import stability
from gladius.solvers.networks import adam, no_moments
from gladius.validate import Array

ROUNDINGS = [(1.0, 0.0), (0.1, 0.3), (1.609344, 0.7), (-0.3, 7.0), (1e3, 1e-3), (-1 / 7, 1 / 3)]
numbers = arrays(float, st.integers(1, 8), elements=st.integers(1, 4))
digits = arrays(float, 8, elements=st.integers(-3, 3))


@given(numbers, digits)
def test_numbers_that_differ_by_rounding_are_equal(values: Array, last: Array) -> None:
    rounded = values * (1 + last[: len(values)] * EPS)
    assert ranking(rounded).tolist() == np.argsort(values, kind="stable").tolist()
    least = np.flatnonzero(values == values.min())
    assert near_least(rounded, 8 * EPS * values.min()).tolist() == least.tolist()


def test_nothing_has_no_ranking() -> None:
    """One was returned for it, so that a fit ended where no column was left to test."""
    assert ranking([]).tolist() == []


@pytest.mark.parametrize("width", [1, 12])  # by a tree, and by all distances
@pytest.mark.parametrize(("scale", "start"), ROUNDINGS)
def test_halfway_between_two_states_is_the_first(scale: float, start: float, width: int) -> None:
    grid = np.zeros((20, width))
    grid[:, 0] = start + scale * np.arange(0, 40, 2)
    halfway = grid[:-1].copy()
    halfway[:, 0] = start + scale * np.arange(1, 39, 2)
    assert nearest(grid, halfway).tolist() == list(range(19))
    assert nearest(grid, grid).tolist() == list(range(20))


points = arrays(float, (5, 2), elements=st.integers(-9, 9))


@given(points, arrays(float, (5, 2), elements=st.integers(-90, 90)))
def test_the_nearest_state_is_that_in_ranges_whatever_the_units(states: Array, new: Array) -> None:
    states = np.vstack([states, [[-9, -9], [9, 9]]])  # so that both ranges are 18
    distances = np.sum((new[:, None] - states) ** 2, axis=2)
    found = distances[np.arange(5), nearest(states * [1e4, 1e-4], new * [1e4, 1e-4])]
    assert found.tolist() == distances.min(axis=1).tolist()  # distances are whole numbers


wide = arrays(float, (8, 11), elements=st.integers(0, 4))


@given(wide, wide, st.sampled_from([1.0, -(2.0**10), 2.0**30]), st.sampled_from([1, 20]))
def test_of_many_features_the_nearest_state_is_that_of_all_distances(
    states: Array, new: Array, far: float, candidates: int
) -> None:
    """Both of few and of many candidates; ranges are 4, so that no number here is rounded."""
    states, new = np.vstack([states, np.zeros(11), np.full(11, 4.0)]), far * new
    within = np.clip(new, -4 * anchor.FAR, 4 + 4 * anchor.FAR)
    squares = np.sum((within[:, None] - states) ** 2, axis=2)
    is_near = squares <= squares.min(axis=1, keepdims=True) * (1 + TIE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anchor, "CANDIDATES", candidates)
        assert nearest(states, new).tolist() == np.argmax(is_near, axis=1).tolist()


@pytest.mark.parametrize(("scale", "start"), ROUNDINGS)
def test_a_symmetric_input_has_the_sign_of_its_column(scale: float, start: float) -> None:
    symmetric = np.repeat(start + scale * np.arange(3), (10, 40, 10))
    assert Inputs.of(symmetric[:, None]).scale[0] > 0
    skew = start + scale * np.repeat(np.arange(3), (10, 40, 20))
    assert np.sign(Inputs.of(skew[:, None]).scale[0]) == -np.sign(scale)


def test_a_constant_is_one_however_many_observations() -> None:
    columns = np.full((1_000_000, 2), 7.3)  # their mean is off by 1e-10
    assert not Inputs.of(columns).varies.any()


def copies(column: Array) -> Array:
    """(n, 6) columns of which each says what the others say."""
    return np.stack([start + scale * column for scale, start in ROUNDINGS], axis=1)


def test_of_inputs_that_say_the_same_the_first_is_selected() -> None:
    rng = np.random.default_rng(0)
    for _ in range(4):
        x, other = rng.gamma(2.0, 1.0, 500).round(1), rng.integers(0, 2, 500)
        first, second = rng.integers(0, 2, (2, 500))
        chance = 1 / (1 + np.exp(x - 1.5))
        columns = np.column_stack([other, copies(x)])
        actions = torch.tensor((rng.random(500) < chance).astype(int))
        selected = select_inputs(Inputs.of(columns), Choice(actions, (1, 0)))
        assert selected.inputs == (1,)
        # two that matter together alone
        columns = np.column_stack([copies(first), copies(second)])
        actions = torch.tensor((rng.random(500) < 0.2 + 0.6 * (first ^ second)).astype(int))
        selected = select_inputs(Inputs.of(columns), Choice(actions, (1, 0)))
        assert selected.inputs == (0, 6)


def category(size: int = 1500) -> Transitions:
    """A category by dummies of all three levels, of which one follows from the others, and x."""
    rng = np.random.default_rng(0)
    level, x = rng.integers(0, 3, size), rng.integers(0, 10, size)
    chance = 1 / (1 + np.exp(0.3 * x - 1 - np.array([0.0, 0.8, -0.5])[level]))
    actions = (rng.random(size) < chance).astype(int)
    after = np.where(actions == 1, np.minimum(x + rng.integers(0, 3, size), 12), 0)
    dummies = np.eye(3)[level]
    states, successors = (np.column_stack([dummies, column]) for column in (x, after))
    return Transitions(states, actions, successors, np.arange(size) // 10)


SETTINGS = {"anchor_action": 0, "anchor_reward": 0.0, "discount": 0.9}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.deep)])
def test_rounding_changes_no_choice_of_a_category(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, found, whole = category(), [], sparse.estimate

    def recorded(fit: RiskMinimum, *args: Any) -> Estimate:
        found.append(fit)
        return whole(fit, *args)

    monkeypatch.setattr(sparse, "estimate", recorded)
    estimate = gladius.fit(data, **SETTINGS)
    with noise.rounding(cases.NOISE, seed):
        other = gladius.fit(data, **SETTINGS)
    assert cases.choices(other) == cases.choices(estimate)
    values = cases.numbers(data, estimate)["r"]
    # a regression by normal equations loses the root of their condition in its fitted values
    condition = max(np.linalg.cond(factor) for factor in found[0].risk.factor)
    assert condition < 3e5
    assert cases.difference(cases.numbers(data, other)["r"], values) <= condition * cases.NOISE


def dummies(levels: int, seed: int) -> Transitions:
    """A category that decides, by dummies of all levels but the first."""
    rng = np.random.default_rng(seed)
    level = rng.choice(levels, 1500, p=rng.dirichlet(np.full(levels, 2.0)))
    chance = 1 / (1 + np.exp(-rng.normal(0, 1, levels)[level]))
    actions = (rng.random(1500) < chance).astype(int)
    states = np.eye(levels)[level][:, 1:]
    return Transitions(states, actions, states[rng.permutation(1500)], np.arange(1500) // 10)


@pytest.mark.parametrize("seed", [2, 3, 4, 6])
def test_of_collinear_terms_the_product_goes(seed: int) -> None:
    """z_j z_k of two dummies of one category follows from 1, z_j and z_k."""
    estimate = gladius.fit(dummies(3, seed), **SETTINGS, inputs=[0, 1])
    assert estimate.reward_function.reward.terms == ((), (0,), (1,))


def test_a_collinear_product_is_not_tested() -> None:
    """Its score is a part of that of the other terms, over the ridge of the solution."""
    data = dummies(4, 0)
    inputs, anchor = Inputs.of(data.states), Anchor(0, 0.0)
    rows = Rows.of(data, range(3), anchor, 0.9)
    risk = ObservationRisk(rows, make_features(range(3), inputs), make_zeta(rows, inputs, ()))
    fit = fit_unpenalised(risk)
    short = fit._replace(point=fit.point._replace(theta=fit.point.theta + 1e-3))
    assert significant_products(short, [(0, 1), (0, 2), (1, 2)]) == []


def test_of_splits_with_one_gain_the_first_is_made() -> None:
    for seed, size in ((8, 300), (5, 801)):
        rng = np.random.default_rng(seed)
        x, level = rng.integers(0, 4, size), rng.integers(0, 5, size)
        actions = (rng.random(size) < 0.2 + 0.125 * level).astype(int)
        states = np.column_stack([x, level, 4 - level])
        partition, _ = grow(Transitions(states, actions, states[rng.permutation(size)]))
        assert partition.splits[0].feature == 1


@pytest.mark.parametrize(("scale", "start"), ROUNDINGS)
def test_of_equal_mergers_the_first_is_made(scale: float, start: float) -> None:
    points = start + scale * np.arange(8.0)[:, None]
    assert ward(points, np.ones(8), 7).tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


def test_a_value_on_an_edge_is_above_it() -> None:
    values = np.arange(11)[:, None] / 10  # 3 / 10 and the third edge, 3 * 0.1, differ
    data = Transitions(values, np.arange(11) % 2, values).discretise({"s0": 10})
    middles = (np.append(np.arange(10), 9) + 0.5) / 10
    np.testing.assert_allclose(data.states[:, 0], middles, rtol=0, atol=10 * EPS)


def test_an_anchor_reward_does_not_depend_on_rounding() -> None:
    states = np.random.default_rng(0).normal(size=(50, 2))
    anchor = Anchor(0, lambda x: x[:, 0] + x[:, 1] - x[:, 1])
    assert with_anchor(InputSelection(), Inputs.of(states), anchor).inputs == (0,)


def test_the_bound_of_the_level_flow_belongs_to_the_unstable_side() -> None:
    counts = Counts(np.arange(2.0)[:, None], np.ones((1, 2, 2)), np.full((1, 2, 2, 2), 0.5))
    # 2 * 0.95 - 1 is rounded to less than 0.9
    found = stability(counts, Anchor(1, -5.0), [0.9, 0.91], [1], [0.95], iterations=1)
    assert found.predicted.ravel().tolist() == [True, False]


def test_zeta_of_a_constant_has_the_largest_ridge() -> None:
    """Every ridge fits it, but for rounding: of the class mlp; the golden cases hold sparse's."""
    risk = NetworkRisk.of(cases.data_sets()["dummy"], Anchor(1, -5.0), 0.95, True)
    factor = risk.ridge(torch.full((len(risk.phi),), 17.3, dtype=torch.float64))
    relative = torch.ones_like(risk.phi[0])
    relative[:, : len(risk.features.terms)] = LINEAR_RIDGE
    relative[:, 0], relative[0, 0] = LINEAR_RIDGE**2, 0.0
    matrix = risk.gram + torch.diag(COARSE_KAPPAS[-1] * relative.flatten())
    torch.testing.assert_close(factor @ factor.T, matrix, rtol=0.0, atol=1e-7)


def test_adam_takes_no_step_along_rounding() -> None:
    """The first step has the same length in each entry that is not zero."""
    theta = [torch.zeros(1, 1, 3, dtype=torch.float64), torch.zeros(1, 1, 1, dtype=torch.float64)]
    slope = [torch.tensor([[[0.01, 1e-8, -1e-17]]]).double(), torch.tensor([[[3e-16]]]).double()]
    adam(theta, no_moments(theta), slope, torch.tensor(0.01), 1)
    steps = torch.cat([layer.flatten() for layer in theta]).tolist()
    assert steps[0] == pytest.approx(-0.01, rel=1e-5)
    assert steps[1] < -0.004
    assert steps[2:] == [0.0, 0.0]
