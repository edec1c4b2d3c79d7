"""What a fit is held against: the choices along each input, their certainty, and frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

import gladius
from gladius import TabularMDP, Transitions, trust
from gladius.rows.data import Inputs
from gladius.transitions import Counts


def misfits(states: np.ndarray, actions: np.ndarray, policy: np.ndarray) -> tuple[int, ...]:
    found = trust.misfit_p_values(Inputs.of(states), actions, policy, [0])
    return tuple(k for k, p in found.items() if p < trust.REJECTED)


def test_choices_drawn_from_the_fit_are_no_misfit_and_those_along_an_input_are_one() -> None:
    rng = np.random.default_rng(1)
    states = np.column_stack([rng.normal(size=4_000), rng.integers(0, 16, 4_000)])
    of_first = 1 / (1 + np.exp(-states[:, 0]))
    policy = np.column_stack([of_first, 1 - of_first])
    drawn = (rng.uniform(size=4_000) > of_first).astype(np.int64)
    assert misfits(states, drawn, policy) == ()
    assert misfits(states, drawn, np.full((4_000, 2), 0.5)) == (0,)
    by_parity = (rng.logistic(size=4_000) < np.where(states[:, 1] % 2, 1.0, -1.0)).astype(np.int64)
    assert misfits(states, by_parity, np.full((4_000, 2), 0.5)) == (1,)


def test_each_of_few_values_has_a_bin_of_its_own() -> None:
    """In bins shared by two values the choices of both would cancel."""
    states = np.tile(np.arange(10.0), 400)[:, None]
    rng = np.random.default_rng(0)
    shift = np.where(states[:, 0] % 2, 0.1, -0.1)
    actions = (rng.uniform(size=4_000) < 0.5 + shift).astype(np.int64)
    assert misfits(states, actions, np.full((4_000, 2), 0.5)) == (0,)


@settings(max_examples=30)
@given(arrays(float, 40, elements=st.floats(0.05, 0.95)))
def test_p_values_are_those_of_pearson(share: Any) -> None:
    """One value for each bin, and expected counts above 1: Pearson's statistic on 2 x 40."""
    states = np.repeat(np.arange(40.0), 50)[:, None] % 20
    actions = (np.tile(np.arange(50.0) / 50, 40) > np.repeat(share, 50)).astype(np.int64)
    policy = np.full((2_000, 2), 0.5)
    found = trust.misfit_p_values(Inputs.of(states), actions, policy, [0])[0]
    zeros = np.array([np.sum(actions[states[:, 0] == x] == 0) for x in range(20)])
    statistic = stats.chisquare(np.column_stack([zeros, 100 - zeros]), 50.0, axis=1).statistic.sum()
    expected = stats.chi2.sf(statistic, 20) if statistic > 0.2 else 1.0
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("rare", [-1.0, 1.0])
def test_what_a_nearly_constant_input_rarely_is_has_a_bin_apart(rare: float) -> None:
    """Pooled with the usual value, the 180 choices that are all wrong would drown in noise."""
    is_rare = np.arange(6_000) % 33 == 7
    states = np.where(is_rare, rare, 0.0)[:, None]
    actions = np.where(is_rare, 0, np.arange(6_000) % 2)
    assert misfits(states, actions, np.full((6_000, 2), 0.5)) == (0,)


def test_a_misfit_that_does_not_matter_is_not_reported() -> None:
    """Log-odds off by .01 are far from chance in 10^7 observations, and negligible."""
    size = 10_000_000
    states = np.repeat([0.0, 1.0], size // 2)[:, None]
    policy = np.full((size, 2), 0.5)
    for shift, expected in ((0.0025, ()), (0.02, (0,))):
        actions = np.ones(size, dtype=np.int64)
        for start, share in ((0, 0.5 + shift), (size // 2, 0.5 - shift)):
            actions[start : start + int(share * size / 2)] = 0
        assert misfits(states, actions, policy) == expected


def test_choices_that_are_certain_or_worse_than_chance_are_reasons_against_a_fit() -> None:
    visits = np.array([[30.0, 10.0], [20.0, 20.0]])
    for odds, reasons in ((1.0, []), (-2.0, [1]), (20.0, [0, 1])):
        policy = np.array([[1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds))]] * 2)
        nll = -np.sum(visits * np.log(policy))
        holds = list(trust.of_choices(visits, policy, nll).values())
        assert [i for i, is_so in enumerate(holds) if is_so] == reasons


def test_frequencies_beat_a_policy_that_is_far_from_them() -> None:
    visits = np.array([[[80.0, 20.0], [30.0, 70.0], [50.0, 50.0]]])
    counts = Counts(np.arange(3.0)[:, None], visits, np.zeros((1, 2, 3, 3)))
    near = np.log(visits + np.array([2.0, -2.0]))
    assert not trust.is_worse_than_frequencies(counts, near).any()
    assert trust.is_worse_than_frequencies(counts, np.zeros((1, 3, 2))).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_unordered_code_is_not_ok(seed: int) -> None:
    """An effect of each code without an order was `ok`, with an error of .63 of mean |r|."""
    effect = np.random.default_rng(7).permutation(np.linspace(-1.5, 1.5, 10))
    grid = np.array([[x, g] for x in range(6) for g in range(10)], dtype=float)
    reward = np.column_stack(
        [-0.5 * grid[:, 0] + effect[grid[:, 1].astype(int)], np.full(60, -2.0)]
    )
    moves = np.zeros((2, 60, 60))
    for i, x in enumerate(grid[:, 0].astype(int)):
        for a in range(2):
            for end in (x, min(x + 1, 5)) if a == 0 else (0, 1):
                moves[a, i, 10 * end : 10 * end + 10] += 0.05
    world = TabularMDP(reward, moves, 0.9, np.full(60, 1 / 60), grid)
    paths = world.simulate(200, 60, np.random.default_rng(seed))
    flat = [np.reshape(x, -1) for x in (paths.states, paths.actions, paths.next_states)]
    labels = np.repeat(np.arange(200), 60)
    data = Transitions(grid[flat[0]], flat[1], grid[flat[2]], labels)
    fit = gladius.fit(
        data, anchor_action=1, anchor_reward=-2.0, discount=0.9, function_class="sparse"
    )
    assert fit.diagnostics.status == "not_converged"
    assert fit.diagnostics.extra["misfit_inputs"] == (1,)
