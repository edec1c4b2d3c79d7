"""IQ-Learn: what its objective is, where its minimum lies, and that no anchor pins its reward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from strategies import transitions

from gladius.anchor import Anchor
from gladius.baselines import iq_learn
from gladius.baselines.iq_learn import Training, make_table, minimum
from gladius.checks import InputError
from gladius.mdp import TabularMDP, soft_bellman
from gladius.transitions import Counts, Transitions, group
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
GRID = MDP.features
SHARES = MDP.occupancy(100)
ALPHAS = st.sampled_from([0.1, 0.5, 2.0, 50.0])
QUARTERS = st.integers(-12, 12).map(lambda n: n / 4)
FEW = transitions(
    max_rows=12, elements=st.integers(0, 3).map(float), actions=2, max_trajectories=1, width=1
)
NETWORK: dict[str, Any] = {"function_class": "network"}


def population(mdp: TabularMDP, shares: Array) -> Counts:
    """Expected counts: (S, A) shares of the pairs and the true probabilities of what follows."""
    moves = np.swapaxes(shares, 0, 1)[:, :, None] * mdp.transition
    return Counts(mdp.features, shares[None], moves[None])


def solve(alpha: float, shares: Array = SHARES) -> tuple[Array, Array]:
    """(Q, r) of IQ-Learn in the population of the bus engine, (20, 2) each."""
    table = make_table(population(MDP, shares), alpha, 0.95, 0.0)
    q, converged, _ = minimum(table, np.zeros((20, 2)))
    assert converged
    return q, table.reward(q)


def fitted(data: Transitions, **options: Any) -> Any:
    return iq_learn.fit([data], ANCHOR, 0.95, **options)[0]


def plain_objective(
    q: Array, grid: Array, data: Transitions, alpha: float, beta: float, extra: float
) -> float:
    """N f by a walk over the rows, written from the formula; q (S, A) on the sorted grid (S,)."""
    rows = [
        (int(np.searchsorted(grid, s)), int(a), int(np.searchsorted(grid, t)), bool(end))
        for s, a, t, end in zip(
            data.states[:, 0], data.actions, data.next_states[:, 0], data.done, strict=True
        )
    ]
    v = np.array([np.log(np.sum(np.exp(x - x.max()))) + x.max() for x in q])
    total = extra * float(np.sum(v[:, None] - q))
    for s, a, _, _ in rows:
        after = np.mean([0.0 if f else v[u] for x, b, u, f in rows if (x, b) == (s, a)])
        total += v[s] - q[s, a] + (q[s, a] - beta * after) ** 2 / (4 * alpha)
    return float(total)


def present(data: Transitions) -> Array:
    return np.unique(np.concatenate([data.states, data.next_states[~data.done]]))


def tables(data: Transitions) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (len(group(data).states), 2), elements=QUARTERS)


@settings(max_examples=80)
@given(FEW, ALPHAS, st.sampled_from([0.0, 0.5]), st.data())
def test_the_objective_is_the_sum_over_rows(
    data: Transitions, alpha: float, extra: float, draw: st.DataObject
) -> None:
    counts = group(data)
    assume(extra > 0 or np.all(counts.visits > 0))
    q = draw.draw(tables(data))
    expected = plain_objective(q, counts.states[:, 0], data, alpha, 0.9, extra)
    objective = make_table(counts, alpha, 0.9, extra).objective(q)
    assert objective == pytest.approx(expected, rel=1e-9, abs=1e-9)


def one_loop() -> Counts:
    """One state, two actions that stay there, seen as often."""
    return Counts(np.zeros((1, 1)), np.array([[[1.0, 1.0]]]), np.ones((1, 2, 1, 1)))


def test_the_objective_is_not_convex_where_rewards_pass_two_alpha() -> None:
    """Against the original's concavity claim: between these two tables f bends the wrong way.

    One state, Q = (c + d, c - d): moving d alone changes the penalty through V = c + log 2cosh(d)
    only, and raising V lowers a positive reward c (1 - beta): the penalty is concave in d.
    """
    table = make_table(one_loop(), 0.05, 0.5, 0.0)
    left, middle, right = (np.array([[10.0 + d, 10.0 - d]]) for d in (-0.5, 0.0, 0.5))
    # by hand: V - Q adds log 2cosh d; r = 5 +- d - log(2cosh d)/2, squared over .2
    for q, d in [(left, -0.5), (middle, 0.0)]:
        v = 10 + np.log(2 * np.cosh(d))
        penalty = np.mean([(10 + d - v / 2) ** 2, (10 - d - v / 2) ** 2]) / 0.2
        assert table.objective(q) / 2 == pytest.approx(v - 10 + penalty)
    assert np.linalg.eigvalsh(table.hessian(middle))[0] < -1.0
    low = make_table(one_loop(), 50.0, 0.5, 0.0)  # rewards 5 under 2 alpha
    assert np.linalg.eigvalsh(low.hessian(middle))[0] > 0
    assert table.objective(left) + table.objective(right) < 2 * table.objective(middle) - 1.0


def population_mape(reward: Array) -> float:
    return float(100 * np.sum(SHARES * np.abs((reward - MDP.reward) / MDP.reward)))


def test_large_alpha_gives_the_smallest_reward_of_the_true_choices() -> None:
    q, reward = solve(5000.0)
    np.testing.assert_allclose(reward[:4, 0], [0.104, 0.353, 0.141, -0.448], atol=1e-3)
    np.testing.assert_allclose(reward[:4, 1], [-1.985, -0.577, 0.132, 0.308], atol=1e-3)
    assert population_mape(reward) == pytest.approx(104.1, abs=0.05)
    gap = np.abs(softmax(q, axis=1) - MDP.solution.policy)
    assert np.sum(SHARES.sum(axis=1)[:, None] * gap) / 2 < 1e-4  # behavioural cloning's policy


@pytest.mark.parametrize("shares", [SHARES, MDP.discounted_occupancy()])
def test_the_limit_is_a_least_squares_problem(shares: Array) -> None:
    """min over v of sum d (log pi + v(s) - beta E v(s'))^2, by a library's least squares."""
    _, reward = solve(5e4, shares)
    root, flat = np.sqrt(shares).T.ravel(), np.log(MDP.solution.policy).T.ravel()
    shape = np.concatenate([np.eye(20) - 0.95 * p for p in MDP.transition])
    v = np.linalg.lstsq(root[:, None] * shape, -root * flat, rcond=1e-14)[0]
    expected = (flat + shape @ v).reshape(2, 20).T
    often = shares > 1e-3
    np.testing.assert_allclose(reward[often], expected[often], atol=1e-3)
    assert np.max(np.abs(reward - MDP.reward)[often]) > 1.0, "the truth is another member"


def test_the_original_alpha_biases_the_policy() -> None:
    q, reward = solve(0.5)
    assert population_mape(reward) == pytest.approx(102.5, abs=0.05)
    policy = softmax(q, axis=1)
    variation = np.abs(policy - MDP.solution.policy).sum(axis=1) / 2
    assert SHARES.sum(axis=1) @ variation == pytest.approx(0.079, abs=5e-4)


def test_small_alpha_leaves_no_reward() -> None:
    sizes = []
    for alpha in (0.5, 0.05, 0.005):
        _, reward = solve(alpha)
        sizes.append(float(np.sum(SHARES * np.abs(reward))))
    assert sizes[0] > 3 * sizes[1] > 18 * sizes[2] > 0
    assert sizes[2] < 0.01  # at last in proportion to alpha


@pytest.mark.parametrize("alpha", [0.5, 5000.0])
def test_q_solves_the_bellman_equation_of_a_reward_that_is_not_the_truth(alpha: float) -> None:
    q, reward = solve(alpha)
    solved = soft_bellman(reward, MDP.transition, 0.95, tolerance=1e-14)
    expected = reward + 0.95 * (MDP.transition @ logsumexp(q, axis=1)).T
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(q).max()))
    np.testing.assert_allclose(q, solved.q, rtol=0, atol=1e-10)
    assert np.sum(SHARES * np.abs(reward - MDP.reward)) > 2.0
    true = soft_bellman(MDP.reward, MDP.transition, 0.95)
    assert np.max(np.abs(q - true.q)[:5]) > 50.0


def test_an_independent_optimiser_finds_the_same_minimum() -> None:
    data = BUS.simulate(3, np.random.default_rng(6))
    grid = present(data)
    ours = fitted(data)

    table = make_table(group(data), 0.5, 0.95)

    def loss(flat: Array) -> float:
        return table.objective(flat.reshape(-1, 2)) / len(data)

    for q in (np.zeros((len(grid), 2)), ours.q(grid[:, None])):  # the loss is that of the rows
        plain = plain_objective(q, grid, data, 0.5, 0.95, 0.5) / len(data)
        assert loss(q.ravel()) == pytest.approx(plain, rel=1e-10)
    other = minimize(loss, np.zeros(2 * len(grid)), method="BFGS", options={"gtol": 1e-7})
    assert ours.diagnostics.converged
    reached = ours.diagnostics.extra["objective"]
    assert reached == pytest.approx(other.fun, rel=1e-7)
    assert reached <= other.fun + 1e-12
    # numerical gradients, 1e-8 at best, over the little curvature of the level
    np.testing.assert_allclose(ours.q(grid[:, None]).ravel(), other.x, atol=5e-3)


def test_the_start_does_not_matter() -> None:
    data = BUS.simulate(20, np.random.default_rng(1))
    plain = fitted(data)
    counts = group(data)
    table = make_table(counts, 0.5, 0.95)
    for seed in range(8):
        first = table.start + 5.0 * np.random.default_rng(seed).normal(size=table.start.shape)
        q, converged, steps = minimum(table, first)
        assert converged
        assert steps > plain.diagnostics.iterations, "the starts must be far for this to bite"
        np.testing.assert_allclose(q, plain.q(counts.states), atol=1e-7)


def test_the_reward_is_the_average_over_observed_successors() -> None:
    data = BUS.simulate(20, np.random.default_rng(5))
    ours = fitted(data)
    for x in (1.0, 3.0):
        for a in (0, 1):
            rows = (data.states[:, 0] == x) & (data.actions == a)
            v = logsumexp(ours.q(data.next_states[rows]), axis=1)
            here = np.array([[x]])
            expected = ours.q(here)[0, a] - 0.95 * v.mean()
            assert ours.reward(here, a)[0] == pytest.approx(expected, rel=1e-10)


def test_states_never_left_lend_no_choices() -> None:
    states, after = np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0, 1.0, 9.0])
    data = Transitions(states, np.array([0, 1, 0, 1, 1]), after, number_of_actions=2)
    ours = iq_learn.fit([data], Anchor(0, 0.0), 0.9)[0]
    np.testing.assert_allclose(ours.policy(np.array([9.0])), 0.5, atol=1e-6)
    far = np.array([8.0, 20.0])
    np.testing.assert_array_equal(ours.q(far), ours.q(np.array([1.0, 1.0])))
    assert np.all(np.isfinite(ours.reward_function(np.array([[8.0], [9.0], [-3.0]]))))


def test_a_path_that_ends_has_no_value_behind_it() -> None:
    ends = np.array([True, True, True, True])
    data = Transitions(
        np.zeros(4), np.array([0, 0, 0, 1]), np.full(4, 3.0), done=ends, number_of_actions=2
    )
    ours = iq_learn.fit([data], Anchor(0, 0.0), 0.9, alpha=1e-6)[0]
    np.testing.assert_allclose(ours.q(np.zeros(1)), 0.0, atol=1e-4)  # r = Q, penalised to 0
    np.testing.assert_array_equal(ours.q(np.zeros(1)), ours.reward_function(np.zeros((1, 1))))
    going = Transitions(np.zeros(4), data.actions, np.zeros(4), number_of_actions=2)
    other = iq_learn.fit([going], Anchor(0, 0.0), 0.9, alpha=1e-6)[0]
    assert np.all(other.q(np.zeros(1)) > 5.0)  # Q = .9 V for good: V = log 2 / .1


def test_the_network_minimises_its_sum_over_rows() -> None:
    data = BUS.simulate(100, np.random.default_rng(7))
    network = fitted(data, **NETWORK)
    q, after = network.q(data.states), logsumexp(network.q(data.next_states), axis=1)
    chosen = q[np.arange(len(data)), data.actions]
    plain = logsumexp(q, axis=1) - chosen + (chosen - 0.95 * after) ** 2 / 2
    assert network.diagnostics.extra["objective"] == pytest.approx(plain.mean(), rel=1e-9)
    assert network.diagnostics.converged
    assert network.diagnostics.gradient_norm <= Training().tolerance
    # the variance that rows add to the penalty, over 4 alpha = 2, moves the minimum by little
    table = fitted(data)
    gap = np.abs(network.q(GRID[:5]) - table.q(GRID[:5])).max()
    assert gap > 0.02
    np.testing.assert_allclose(network.policy(GRID[:5]), table.policy(GRID[:5]), atol=0.05)


def test_rows_drawn_stand_for_all_rows() -> None:
    """The mean of the losses of drawn rows is the full loss, up to sampling error."""
    rows = iq_learn.stack([BUS.simulate(20, np.random.default_rng(9))])
    theta = [
        torch.tensor([[[0.1, -0.2]]], dtype=torch.float64),
        torch.tensor([[[1.0, 0.5]]], dtype=torch.float64),
    ]
    drawn = iq_learn.draw(rows, [np.random.default_rng(0)], 40_000)
    skewed = iq_learn.Rows(rows.now, rows.after, rows.action, rows.alive, rows.share**0 / 99)
    full, sample, wrong = (
        iq_learn.losses(theta, x, 0.95, 0.5).item() for x in (rows, drawn, skewed)
    )
    assert sample == pytest.approx(full, rel=0.02)
    assert wrong != pytest.approx(full, rel=0.02)


def test_dummies_need_the_network() -> None:
    data = BusEngine(dummies=3).simulate(60, np.random.default_rng(0))
    with pytest.raises(InputError, match="function_class='network'") as caught:
        fitted(data)
    assert caught.value.field == "states"
    short, untrained = (
        fitted(data, training=Training(steps=steps), **NETWORK) for steps in (150, 1)
    )
    assert short.diagnostics.status == "not_converged"
    assert short.diagnostics.iterations == 150
    assert np.all(np.isfinite(short.reward(data.states, data.actions)))
    before, after = (x.diagnostics.extra["objective"] for x in (untrained, short))
    assert after < before - 0.1


def test_a_level_that_the_rows_leave_open_is_reported_and_stays() -> None:
    """One row from 0 to 1: its reward is 0 at any level of V(0) and V(1) that fits together."""
    data = Transitions(np.zeros(1), np.zeros(1, dtype=int), np.ones(1), number_of_actions=2)
    ours = iq_learn.fit([data], Anchor(0, 0.0), 0.9)[0]
    assert ours.diagnostics.converged
    assert ours.diagnostics.extra["flat_directions"] == 1
    np.testing.assert_allclose(ours.policy(np.zeros(1))[0, 0], 0.75, atol=0.1)
    table = make_table(group(data), 0.5, 0.9)
    first = ours.q(np.arange(2.0))
    shift = np.array([[0.9], [1.0]])  # V(0) = .9 V(1)
    assert table.objective(first + 3.0 * shift) == pytest.approx(table.objective(first))
    np.testing.assert_allclose(np.sum(shift * (first - table.start)), 0.0, atol=1e-9)
    full = fitted(BUS.simulate(10, np.random.default_rng(0)))
    assert full.diagnostics.extra["flat_directions"] == 0


def test_a_network_that_runs_off_says_so() -> None:
    wild = Training(learning_rate=1e200, steps=200)
    ours = fitted(BUS.simulate(3, np.random.default_rng(0)), training=wild, **NETWORK)
    assert ours.diagnostics.status == "diverged"
    assert not ours.diagnostics.converged


@settings(max_examples=80)
@given(
    arrays(np.float64, (4, 2), elements=QUARTERS),
    arrays(np.float64, (4, 2), elements=QUARTERS),
    arrays(np.int64, 4, elements=st.integers(0, 1)),
    arrays(np.bool_, 4),
    ALPHAS,
)
def test_the_network_loss_is_the_formula(
    q: Array, q_next: Array, actions: NDArray[np.int64], done: NDArray[np.bool_], alpha: float
) -> None:
    """Features that are the Q-values themselves, through the identity network."""
    data = Transitions(q, actions, q_next, done=done, number_of_actions=2)
    rows = iq_learn.stack([data])
    identity = [torch.eye(2, dtype=torch.float64)[None], torch.zeros(1, 1, 2, dtype=torch.float64)]
    loss = iq_learn.losses(identity, rows, 0.9, alpha)[0].item()
    each = []
    for i, a in enumerate(actions):
        after = 0.0 if done[i] else np.log(np.exp(q_next[i]).sum())
        each.append(
            np.log(np.exp(q[i]).sum()) - q[i, a] + (q[i, a] - 0.9 * after) ** 2 / (4 * alpha)
        )
    assert loss == pytest.approx(np.mean(each), rel=1e-9, abs=1e-12)
