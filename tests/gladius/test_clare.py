"""CLARE against its known answers, an independent damped iteration and IQ-Learn's limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from strategies import laws

from gladius.anchor import Anchor
from gladius.baselines import clare
from gladius.baselines.clare_fixed_point import (
    FixedPoint,
    Game,
    fixed_point,
    occupancy_derivative,
)
from gladius.baselines.clare_weights import conservative, uncertainty
from gladius.baselines.discounted import discounted, occupancy
from gladius.checks import InputError
from gladius.mdp import soft_bellman
from gladius.metrics import mape
from gladius.transitions import Transitions, group
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
ORACLE: dict[str, Any] = {"transition": MDP.transition, "grid": MDP.features}
EXPERT = MDP.discounted_occupancy()


def population(eta: float, start: Array | None = None, expert: Array = EXPERT) -> FixedPoint:
    game = Game(
        expert[None], expert[None], np.ones(1), MDP.initial[None], MDP.transition, 0.95, eta
    )
    first = np.zeros((1, 20, 2)) if start is None else start[None]
    return fixed_point(game, first, 1e-8, 500)


def plain_occupancy(reward: Array, law: Array, initial: Array, beta: float) -> Array:
    """(S, A) by value iteration and a sum over periods, until beta^t < 1e-13."""
    periods = int(np.log(1e-13) / np.log(beta)) + 1
    v = np.zeros(len(reward))
    for _ in range(periods):
        q = reward + beta * np.stack([p @ v for p in law], axis=1)
        v = q.max(axis=1) + np.log(np.exp(q - q.max(axis=1)[:, None]).sum(axis=1))
    policy = np.exp(q - q.max(axis=1)[:, None])
    policy /= policy.sum(axis=1)[:, None]
    at, total = initial, np.zeros_like(reward)
    for t in range(periods):
        joint = at[:, None] * policy
        total += (1 - beta) * beta**t * joint
        at = sum(joint[:, a] @ law[a] for a in range(len(law)))
    return total


@pytest.mark.parametrize(
    ("eta", "error", "gap"), [(1.0, 104.5, 0.185), (0.1, 104.5, 0.028), (0.01, 104.1, 0.003)]
)
def test_known_answers_of_the_population(eta: float, error: float, gap: float) -> None:
    found = population(eta)
    assert found.converged[0]
    assert found.residual[0] <= 1e-8
    r, rho = found.reward[0], plain_occupancy(found.reward[0], MDP.transition, MDP.initial, 0.95)
    closed = (EXPERT - rho) / (eta * (EXPERT + rho))
    seen = MDP.occupancy(100) > 1e-6  # elsewhere the oracle's own sums are rounded
    np.testing.assert_allclose(r[seen], closed[seen], atol=1e-7 / eta)
    assert np.all(np.abs(r) <= 1 / eta)
    share = MDP.occupancy(100)
    np.testing.assert_allclose(
        100 * np.sum(share * np.abs(r / MDP.reward - 1)), error, rtol=0, atol=0.06
    )
    np.testing.assert_allclose(np.abs(rho - EXPERT).sum() / 2, gap, rtol=0, atol=5e-4)
    # negative control: the truth is no fixed point, and no reward of its size is in reach
    rho = plain_occupancy(MDP.reward, MDP.transition, MDP.initial, 0.95)
    assert np.max(np.abs(MDP.reward - (EXPERT - rho) / (eta * (EXPERT + rho)))) > 0.9


def minimum_norm(weight: Array) -> Array:
    """IQ-Learn's limit: ln pi + v - beta E_a v with the least weighted norm over v."""
    log_p = np.log(MDP.solution.policy)
    columns = np.concatenate([np.eye(20) - 0.95 * p for p in MDP.transition])
    root = np.sqrt(weight.T.ravel())
    v = np.linalg.lstsq(root[:, None] * columns, -root * log_p.T.ravel(), rcond=None)[0]
    table: Array = log_p + (columns @ v).reshape(2, 20).T
    return table


def test_small_eta_tends_to_the_limit_of_iq_learn() -> None:
    limit = minimum_norm(EXPERT)
    np.testing.assert_allclose(limit[:4, 0], [0.104, 0.353, 0.141, -0.448], atol=7e-3)
    gaps = [np.max(np.abs(population(eta).reward[0] - limit)[:5]) for eta in (0.1, 0.01, 0.001)]
    np.testing.assert_allclose(gaps[1], 0.04, atol=5e-3)
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2]  # of the order of eta
    assert gaps[2] < 0.005
    # negative controls: the undiscounted weights' limit is another one, and the truth is far
    other = minimum_norm(MDP.occupancy(100))
    assert np.max(np.abs(population(1e-4).reward[0] - other)[:5]) > 0.005
    assert np.max(np.abs(limit - MDP.reward)[:5]) > 1


STARTS = arrays(np.float64, (20, 2), elements=st.floats(-20, 20))


@settings(max_examples=25)
@given(STARTS, st.sampled_from([1.0, 0.05]))
def test_there_is_one_fixed_point_whatever_the_start(start: Array, eta: float) -> None:
    found, plain = population(eta, start), population(eta)
    assert found.converged[0]
    seen = EXPERT > 1e-6  # where it is rarer, 1e-8 of the residual says little about r
    np.testing.assert_allclose(found.reward[0][seen], plain.reward[0][seen], atol=1e-6)


def test_plain_iteration_need_not_converge_and_damping_finds_the_same() -> None:
    def plain(eta: float, share: float, steps: int) -> tuple[Array, float]:
        r = np.zeros((20, 2))
        v = None
        for _ in range(steps):
            s = soft_bellman(r, MDP.transition, 0.95, v)
            v = s.v
            rho = MDP.discounted_occupancy(s.policy)
            t = (EXPERT - rho) / (eta * (EXPERT + rho))
            gap = float(np.max(np.abs(t - r)))
            r = r + share * (t - r)
        return r, gap

    r, gap = plain(1.0, 0.4, 150)
    assert gap < 1e-9
    np.testing.assert_allclose(r, population(1.0).reward[0], atol=1e-7)
    _, gap = plain(0.01, 1.0, 150)
    assert gap > 1.0


@st.composite
def games(draw: st.DrawFn) -> tuple[Game, Array]:
    """Small games: any law and masses, of which some are zero; and rewards."""
    states, actions = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    shape = (1, states, actions)
    tenths = st.integers(0, 10).map(lambda n: n / 10)
    data = draw(arrays(np.float64, shape, elements=tenths))
    target = data * draw(arrays(np.float64, shape, elements=tenths))
    entry = draw(laws((1, states)))
    law = draw(laws((actions, states, states)))
    beta = draw(st.sampled_from([0.3, 0.9]))
    eta = draw(st.sampled_from([0.1, 1.0, 3.0]))
    scale = np.array([draw(st.sampled_from([0.5, 1.0, 2.0]))])
    reward = draw(arrays(np.float64, shape, elements=st.integers(-8, 8).map(lambda n: n / 4)))
    return Game(target, data, scale, entry, law, beta, eta), reward


@given(games())
def test_derivative_of_the_occupancy_is_the_finite_difference(
    drawn: tuple[Game, Array],
) -> None:
    game, reward = drawn

    def rho(at: Array) -> tuple[Array, Array]:
        policy = soft_bellman(at, game.law, game.discount).policy
        return policy, occupancy(policy, game.law, (1 - game.discount) * game.entry, game.discount)

    policy, reached = rho(reward)
    pairs = np.arange(reward.size)
    found = occupancy_derivative(policy, game.law, reached.sum(axis=2), game.discount, pairs)[0]
    h = 1e-5
    moves = h * np.eye(reward.size).reshape(-1, *reward.shape[1:])
    up, down = rho(reward + moves)[1], rho(reward - moves)[1]
    numeric = (up - down).reshape(reward.size, -1).T / (2 * h)
    np.testing.assert_allclose(found, numeric, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    assert np.linalg.eigvalsh(found)[0] >= -1e-12


@settings(max_examples=40)
@given(games())
def test_the_answer_is_the_minimum_of_the_reward_step(drawn: tuple[Game, Array]) -> None:
    """At the fixed point no reward near by has a smaller loss, its occupancy held where it is."""
    game, first = drawn
    found = fixed_point(game, first, 1e-9, 200)
    assert found.converged[0]
    best = game.loss(found.reward, found.rho)[0]
    for step in (0.1 * first, 1e-3 * np.ones_like(first)):
        for sign in (-1, 1):
            assert game.loss(found.reward + sign * step, found.rho)[0] >= best - 1e-9
    rho = plain_occupancy(found.reward[0], game.law, game.entry[0], game.discount)
    np.testing.assert_allclose(found.rho[0], rho, atol=1e-9)
    assert np.all(found.reward[game.data == 0] == -1 / game.eta)


def test_samples_are_near_the_population_and_never_near_the_truth() -> None:
    data = BUS.simulate(1000, np.random.default_rng(1))
    limit = population(1.0).reward[0]
    for options in ({}, ORACLE):
        found = clare.fit([data], ANCHOR, 0.95, **options)[0]
        assert found.diagnostics.converged
        assert found.diagnostics.status == "ok"
        assert found.diagnostics.gradient_norm <= 1e-8
        gap = np.abs(found.reward_function(MDP.features[:5]) - limit[:5])
        # log-odds have errors of .005 to .02 here; the truncation at H moves masses by .6 %
        assert np.max(gap) < 0.05
        assert 103 < mape(found, data, BUS.reward) < 106


def test_the_estimate_is_its_own_fixed_point() -> None:
    """Recomputed from the outside: paths by loops, occupancies by sums over periods."""
    data = BUS.simulate(40, np.random.default_rng(2))
    found = clare.fit([data], ANCHOR, 0.95, eta=0.3, **ORACLE)[0]
    seen = np.zeros((20, 2))
    x = data.states[:, 0].astype(int) - 1
    np.add.at(seen, (x, data.actions), 0.95 ** np.tile(np.arange(100), 40))
    seen /= seen.sum()
    r = found.reward_function(MDP.features)
    rho = plain_occupancy(r, MDP.transition, MDP.initial, 0.95)
    there = seen > 0
    expected = (seen - rho) / (0.3 * (seen + rho))
    np.testing.assert_allclose(r[there], expected[there], atol=1e-6)
    np.testing.assert_allclose(r[~there], -1 / 0.3)
    v = np.log(np.exp(found.q(MDP.features)).sum(axis=1))
    np.testing.assert_allclose(found.q(MDP.features), r + 0.95 * (MDP.transition @ v).T, atol=1e-9)
    gap = found.diagnostics.extra["occupancy_gap"]
    assert isinstance(gap, float)
    np.testing.assert_allclose(gap, np.abs(seen - rho).sum() / 2, atol=1e-9)


def test_paths_that_end_have_no_mass_beyond() -> None:
    ends = Transitions(
        np.array([[0.0], [1.0]]),
        np.array([0, 1]),
        np.array([[1.0], [0.0]]),
        done=np.array([False, True]),
    )
    grid = np.array([[0.0], [1.0]])
    found = clare.masses(discounted([ends], grid, 0.5), 0.5)
    np.testing.assert_allclose(found[0], [[0.5, 0.0], [0.0, 0.25]])
    goes_on = Transitions(ends.states, ends.actions, ends.next_states)
    found = clare.masses(discounted([goes_on], grid, 0.5), 0.5)
    np.testing.assert_allclose(found[0], [[2 / 3, 0.0], [0.0, 1 / 3]])


def test_weights_as_the_paper_counts_them() -> None:
    """Points, one by one: w = -N/N_E at expert points over u, n_large/n_small N/N_E under it."""
    expert_points = np.array([0, 0, 0, 1, 1, 2])  # pairs
    other_points = np.array([0, 1, 3, 3])
    spread = np.array([0.1, 0.9, 0.5, 0.2])
    u, n, n_e = 0.5, 10, 6
    large = np.sum(spread[expert_points] > u)
    points = np.concatenate([expert_points, other_points])
    small = np.sum(spread[points] < u)
    w = np.where(spread[points] < u, n / n_e * large / small, 0.0)
    w[:n_e] = np.where(spread[expert_points] > u, -n / n_e, w[:n_e])
    expected = np.bincount(points, weights=w, minlength=4) / n
    expert = np.bincount(expert_points, minlength=4) / n_e
    data = np.bincount(points, minlength=4) / n
    found, scale = conservative(
        expert.reshape(1, 2, 2), data.reshape(1, 2, 2), spread.reshape(1, 2, 2), u
    )
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-12)
    np.testing.assert_allclose(scale, 1 + expected.sum())
    np.testing.assert_allclose(scale, 1.0)


MASS = arrays(np.float64, (1, 4, 2), elements=st.integers(0, 9).map(float))


@given(MASS, MASS, MASS, st.floats(0, 1), st.floats(0.05, 0.95))
def test_weights_never_make_a_target_negative(
    expert: Array, other: Array, spread: Array, u: float, share: float
) -> None:
    expert = (expert + 1e-3) / np.sum(expert + 1e-3)
    other = (other + 1e-3) / np.sum(other + 1e-3)
    data = share * expert + (1 - share) * other
    weighted, scale = conservative(expert, data, spread / 9, u)
    assert np.all(expert + weighted >= 0)
    trusted = bool(np.any(spread / 9 < u))
    np.testing.assert_allclose(
        scale, 1.0 if trusted else 1 - expert[spread / 9 > u].sum(), atol=1e-12
    )


def test_disagreement_is_ignorance_and_aleatoric_is_noise() -> None:
    data = BUS.simulate(50, np.random.default_rng(3))
    counts = group(data)
    rngs = [np.random.default_rng(0)]
    c = uncertainty(counts, "disagreement", 7, rngs)[0]
    n = counts.visits[0]
    assert c.max() == 1.0
    np.testing.assert_array_equal(c[n == 0], 0.0)
    np.testing.assert_array_equal(c[:, 1], 0.0)  # replacement is sure
    rare, often = (n[:, 0] > 0) & (n[:, 0] < 10), n[:, 0] > 300
    assert c[rare, 0].min() > 3 * c[often, 0].max()
    noise = uncertainty(counts, "aleatoric", 7, [np.random.default_rng(0)])[0]
    assert noise[often, 0].min() > 0.5
    np.testing.assert_array_equal(noise[:, 1], 0.0)
    sure = group(Transitions(data.states, data.actions, data.states + 1.0))  # no noise anywhere
    noise = uncertainty(sure, "aleatoric", 7, [np.random.default_rng(0)])
    np.testing.assert_array_equal(noise, 0.0)
    c = uncertainty(sure, "disagreement", 7, [np.random.default_rng(0)])
    np.testing.assert_array_equal(c[sure.visits > 20], 0.0)  # in every bootstrap sample
    fits = {
        mode: clare.fit([data], ANCHOR, 0.95, uncertainty_mode=mode)[0].diagnostics.extra
        for mode in ("disagreement", "aleatoric")
    }
    assert float(str(fits["disagreement"]["weighted_share"])) < 0.02
    assert float(str(fits["aleatoric"]["weighted_share"])) > 0.5


def test_without_weights_conservatism_is_void() -> None:
    data = BUS.simulate(50, np.random.default_rng(4))
    plain = clare.fit([data], ANCHOR, 0.95, u=1.0)[0]
    other = clare.fit([data], ANCHOR, 0.95, u=1.0, rng=7)[0]
    np.testing.assert_array_equal(
        plain.reward_function(MDP.features), other.reward_function(MDP.features)
    )
    shy = clare.fit([data], ANCHOR, 0.95)[0]
    gap = np.abs(plain.reward_function(data.states) - shy.reward_function(data.states))
    assert np.max(gap) > 1e-3


def test_diverse_data_enter_the_model_and_the_law_of_the_data() -> None:
    expert = BUS.simulate(30, np.random.default_rng(5))
    paths = MDP.simulate(30, 100, np.random.default_rng(6), policy=np.full((20, 2), 0.5))
    other = Transitions(
        MDP.features[paths.states.ravel()],
        paths.actions.ravel(),
        MDP.features[paths.next_states.ravel()],
        np.repeat(np.arange(30), 100),
        number_of_actions=2,
    )
    found = clare.fit([expert], ANCHOR, 0.95, diverse=[other], **ORACLE)[0]
    own, more = (
        clare.masses(discounted([d], MDP.features, 0.95), 0.95)[0] for d in (expert, other)
    )
    r, data = found.reward_function(MDP.features), (own + more) / 2
    rho = plain_occupancy(r, MDP.transition, MDP.initial, 0.95)
    there = data > 1e-6
    np.testing.assert_allclose(r[there], ((own - rho) / (rho + data))[there], atol=1e-6)
    assert np.sum(there) > np.sum(own > 0)
    assert clare.fit([expert], ANCHOR, 0.95, diverse=[other])[0].diagnostics.converged


def test_replications_together_are_as_alone() -> None:
    data = BUS.simulate(8, [np.random.default_rng([8, i]) for i in range(5)])
    reached = {len(np.unique(np.concatenate([d.states, d.next_states]))) for d in data}
    assert len(reached) > 1, "the data sets must differ in their grids for this test to bite"
    together = clare.fit(data, ANCHOR, 0.95, rng=[np.random.default_rng(i) for i in range(5)])
    for i, (one, batch) in enumerate(zip(data, together, strict=True)):
        alone = clare.fit([one], ANCHOR, 0.95, rng=[np.random.default_rng(i)])[0]
        for f, g in [(batch.reward_function, alone.reward_function), (batch.q, alone.q)]:
            np.testing.assert_allclose(f(MDP.features), g(MDP.features), atol=1e-7)
        assert batch.diagnostics.iterations == alone.diagnostics.iterations


def test_too_few_steps_are_not_convergence() -> None:
    data = BUS.simulate(8, np.random.default_rng(0))
    found = clare.fit([data], ANCHOR, 0.95, eta=0.01, max_iterations=2)[0]
    assert found.diagnostics.status == "not_converged"
    assert not found.diagnostics.converged
    assert found.diagnostics.gradient_norm > 1e-8
    inner = found.diagnostics.extra["inner_iterations"]
    assert isinstance(inner, int)
    assert inner >= found.diagnostics.iterations == 2


def test_a_start_changes_the_way_and_not_the_end() -> None:
    data = BUS.simulate(20, np.random.default_rng(0))
    plain = clare.fit([data], ANCHOR, 0.95)[0]
    other = clare.fit([data], ANCHOR, 0.95, start=lambda s: np.stack([-s[:, 0]] * 2, axis=1))[0]
    assert other.diagnostics.converged
    np.testing.assert_allclose(
        plain.reward_function(data.states), other.reward_function(data.states), atol=1e-6
    )
    assert (
        plain.diagnostics.extra["inner_iterations"] != other.diagnostics.extra["inner_iterations"]
    )


DATA = BUS.simulate(4, np.random.default_rng(5))
WIDE = BusEngine(dummies=1).simulate(4, np.random.default_rng(5))
THREE = Transitions(DATA.states, DATA.actions, DATA.next_states, number_of_actions=3)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"eta": 0.0}, "eta"),
        ({"u": 1.5}, "u"),
        ({"uncertainty_mode": "epistemic"}, "uncertainty_mode"),
        ({"models": 1}, "models"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"rng": -1}, "rng"),
        ({"diverse": []}, "diverse"),
        ({"diverse": [WIDE]}, "diverse"),
        ({"diverse": [THREE]}, "diverse"),
        ({"start": lambda states: np.zeros(len(states))}, "start"),
        ({"grid": MDP.features}, "transition"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        clare.fit([DATA], ANCHOR, 0.95, **options)
    assert caught.value.field == field


def test_with_a_given_law_q_is_known_on_its_grid_only() -> None:
    found = clare.fit([DATA], ANCHOR, 0.95, **ORACLE)[0]
    with pytest.raises(InputError) as caught:
        found.q(np.array([[2.5]]))
    assert caught.value.field == "grid"
    np.testing.assert_array_equal(
        found.reward_function(np.array([[2.4]])), found.reward_function(np.array([[2.0]]))
    )
