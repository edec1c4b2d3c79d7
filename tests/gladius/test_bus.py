"""The bus engine against the paper: its transition probabilities and its dummies."""

from fractions import Fraction

import numpy as np
import pytest
from continuous_bus import NEW, ContinuousBus
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chi2

from gladius.designs.bus import MAINTAIN, REPLACE, BusEngine

FALSE_ALARM = 1e-6


def test_transition_law_to_the_letter() -> None:
    """1/4 each for 1 to 4 miles more, what lies past the cap at the cap; replacing leads to 1."""
    for cap in (2, 3, 5, 20):
        law = BusEngine(max_mileage=cap).mdp.transition
        for x in range(1, cap + 1):
            expected = {y: Fraction(0) for y in range(1, cap + 1)}
            for step in (1, 2, 3, 4):
                expected[min(x + step, cap)] += Fraction(1, 4)
            assert [Fraction(float(p)) for p in law[MAINTAIN, x - 1]] == list(expected.values())
            assert law[REPLACE, x - 1].tolist() == [1.0] + [0.0] * (cap - 1)


def test_rewards_initial_law_and_anchor() -> None:
    bus = BusEngine()
    assert bus.mdp.initial.tolist() == [1.0] + [0.0] * 19
    assert bus.mdp.reward[:, MAINTAIN].tolist() == [-float(x) for x in range(1, 21)]
    assert bus.mdp.reward[:, REPLACE].tolist() == [-5.0] * 20
    assert (bus.anchor_action, bus.anchor_reward) == (1, -5.0)
    assert (bus.discount, bus.horizon, bus.max_mileage, bus.theta) == (0.95, 100, 20, (1.0, 5.0))


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 1)), min_size=1, max_size=9),
    st.integers(0, 3),
)
def test_reward_of_features_is_the_table_whatever_the_dummies(
    pairs: list[tuple[int, int]], dummies: int
) -> None:
    bus = BusEngine(dummies=dummies)
    mileage, actions = (np.array(one) for one in zip(*pairs, strict=True))
    noise = np.arange(len(pairs) * dummies, dtype=float).reshape(len(pairs), dummies)
    found = bus.reward(np.column_stack([mileage.astype(float), noise]), actions)
    assert found.tolist() == [-5.0 if a else -float(x) for x, a in pairs]


@pytest.mark.parametrize("dummies", [0, 3])
def test_simulated_data_have_the_papers_layout(dummies: int) -> None:
    n, horizon = 7, 25
    bus = BusEngine(dummies=dummies, horizon=horizon)
    data = bus.simulate(n, np.random.default_rng(5))
    assert data.states.shape == data.next_states.shape == (n * horizon, 1 + dummies)
    assert np.array_equal(data.trajectory, np.repeat(np.arange(n), horizon))
    assert data.number_of_actions == 2
    assert not data.done.any()
    paths = data.states.reshape(n, horizon, -1)
    after = data.next_states.reshape(n, horizon, -1)
    assert np.all(paths[:, 0, 0] == 1)
    assert np.array_equal(after[:, :-1], paths[:, 1:])  # s' of a row, dummies too, is s of the next
    step = (after - paths)[..., 0].ravel()
    replaced = data.actions == REPLACE
    assert np.all(data.next_states[replaced, 0] == 1)
    capped = data.next_states[~replaced, 0] == 20
    assert set(step[~replaced][~capped]) <= {1.0, 2.0, 3.0, 4.0}


def test_dummies_are_uniform_and_independent_of_the_mileage() -> None:
    """Pearson's chi-square of 21 cells, overall and between mileage 1 and more."""
    data = BusEngine(dummies=2).simulate(400, np.random.default_rng(17))
    values = np.arange(-10, 11)
    for k in (1, 2):
        seen = (data.states[:, k][:, None] == values).sum(axis=0)
        assert seen.sum() == len(data)  # nothing else ever occurs
        expected = len(data) / 21
        assert np.sum((seen - expected) ** 2 / expected) < chi2.ppf(1 - FALSE_ALARM, df=20)
        fresh = data.states[:, 0] == 1
        table = np.stack(
            [(data.states[m, k][:, None] == values).sum(axis=0) for m in (fresh, ~fresh)]
        )
        margin = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
        assert np.sum((table - margin) ** 2 / margin) < chi2.ppf(1 - FALSE_ALARM, df=20)


def test_a_biased_dummy_would_be_noticed() -> None:
    """Negative control: 20 values instead of 21 fail the same chi-square test."""
    draws = np.random.default_rng(1).integers(-10, 10, 40_000)
    seen = (draws[:, None] == np.arange(-10, 11)).sum(axis=0)
    expected = len(draws) / 21
    assert np.sum((seen - expected) ** 2 / expected) > chi2.ppf(1 - FALSE_ALARM, df=20)


@settings(max_examples=60)
@given(st.integers(0, 2), st.integers(1, 4), st.integers(1, 5))
def test_replications_are_what_they_are_alone_and_dummies_change_no_mileage(
    dummies: int, replications: int, trajectories: int
) -> None:
    bus = BusEngine(dummies=dummies, horizon=6)
    plain = BusEngine(horizon=6)

    def rng(r: int) -> np.random.Generator:
        return np.random.default_rng([3, r])

    together = bus.simulate(trajectories, [rng(r) for r in range(replications)])
    for r, data in enumerate(together):
        alone = bus.simulate(trajectories, rng(r))
        for name in ("states", "actions", "next_states"):
            assert np.array_equal(getattr(data, name), getattr(alone, name))
        assert np.array_equal(data.states[:, :1], plain.simulate(trajectories, rng(r)).states)


EFFECT = tuple(0.03 * np.arange(-10, 11))


@pytest.mark.parametrize("world", [ContinuousBus(), ContinuousBus(1, EFFECT)])
def test_the_solution_solves_the_bellman_equation(world: ContinuousBus) -> None:
    """zeta(x) is the integral of V over the increments, and V(NEW) is V at NEW."""

    def value(x: float) -> float:
        levels = np.arange(-10.0, 11.0) if len(world.effect) > 1 else np.zeros(1)
        states = np.stack([np.full(len(levels), x), levels], axis=1)[:, : 1 + world.inputs]
        return float(np.logaddexp.reduce(world.q(states), axis=1).mean())

    assert value(NEW) == pytest.approx(world.value_of_new, abs=1e-8)
    for x in (1.0, 2.3, 7.0, 15.0):
        density = lambda e: value(x + e) * np.exp(-e / world.mean) / world.mean  # noqa: E731, B023 (used at once)
        assert quad(density, 0, 60, limit=200)[0] == pytest.approx(
            float(world.zeta(np.array([x]))[0]), abs=1e-6
        )


def test_paths_follow_the_policy_and_the_law() -> None:
    world = ContinuousBus()
    data = world.simulate(400, np.random.default_rng(0))
    replaced = data.actions == 1
    assert np.all(data.next_states[replaced, 0] == NEW)
    grown = (data.next_states - data.states)[~replaced, 0]
    assert grown.min() > 0
    assert grown.mean() == pytest.approx(2.5, abs=4 * 2.5 / np.sqrt(len(grown)))
    q = world.q(data.states)
    chance = 1 / (1 + np.exp(q[:, 0] - q[:, 1]))
    error = np.sqrt(np.sum(chance * (1 - chance)))
    assert abs(np.sum(replaced) - np.sum(chance)) < 4 * error
    wider = ContinuousBus(3).simulate(400, np.random.default_rng(0))
    np.testing.assert_array_equal(wider.states[:, 0], data.states[:, 0])
