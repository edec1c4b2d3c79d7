"""ML-IRL against the weighted likelihood, Monte Carlo and known answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_models import extra, iterated, sample
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from gladius import KnownTransitions, LinearReward
from gladius.anchor import Anchor
from gladius.baselines import ccp, ml_irl, nfxp, plug_in
from gladius.baselines.discounted import discounted_paths, state_occupancy
from gladius.checks import InputError
from gladius.mdp import TabularMDP, soft_bellman
from gladius.transition_probabilities import empirical_transition_probabilities
from gladius.transitions import Transitions, group
from gladius.worlds.bus import BUS_REWARD, BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
ORACLE: dict[str, Any] = {"transition": BUS.known_transitions}
DESIGN = BUS_REWARD.design(MDP.features)


def fitted(data: Transitions, **options: Any) -> Any:
    return ml_irl.fit([data], ANCHOR, 0.95, **{"reward": BUS_REWARD, **options})[0]


def discounted_visits(policy: Array, horizon: int) -> Array:
    """(20, 2) visits of the population: sums over periods, written as a loop over periods."""
    states, visits = MDP.initial, np.zeros((20, 2))
    flow = np.einsum("sa,ast->st", policy, MDP.transition)
    for t in range(horizon):
        visits += 0.95**t * states[:, None] * policy
        states = states @ flow
    return visits


def population(policy: Array, horizon: int) -> nfxp.NfxpFit:
    """What ML-IRL makes of the population's visits."""
    visits = discounted_visits(policy, horizon)[None]
    return nfxp.fit_counts(visits, MDP.transition, DESIGN, np.zeros((20, 2)), 0.95)


def surrogate(visits: Array, first: Array, transition: Array, form: Any, beta: float) -> Array:
    """theta that matches occupancies, E_E[sum beta^t r] - E[V(s_0)] at its maximum, by SciPy."""
    design, offset = form

    def loss(theta: Array) -> tuple[float, Array]:
        reward = offset + design @ theta
        solution = soft_bellman(reward, transition, beta)
        reached = state_occupancy(solution.policy, transition, first, beta)
        apart = visits - reached[:, None] * solution.policy
        value = np.sum(visits * reward) - first @ solution.v
        return -float(value), -np.einsum("sa,sak->k", apart, design)

    found = minimize(loss, np.zeros(design.shape[2]), jac=True, options={"gtol": 1e-9})
    return np.asarray(found.x)


def test_population_returns_theta_and_the_surrogate_does_not() -> None:
    """The surrogate that stops with the paths has the bias that the module's docstring states."""
    for horizon in (10, 100):
        maximum = population(MDP.solution.policy, horizon)
        assert maximum.status == ("ok",)
        np.testing.assert_allclose(maximum.theta[0], [1.0, 5.0], atol=1e-7)
    visits, form = discounted_visits(MDP.solution.policy, 100), (DESIGN, np.zeros((20, 2)))
    theta = surrogate(visits, MDP.initial, MDP.transition, form, 0.95)
    np.testing.assert_allclose(theta, [1.068, 5.341], atol=5e-4)
    error = np.abs(DESIGN @ theta / MDP.reward - 1)
    np.testing.assert_allclose(100 * np.sum(MDP.occupancy(100) * error), 6.8, atol=0.05)


def five_actions(seed: int) -> TabularMDP:
    rng = np.random.default_rng(seed)
    reward, moves = rng.normal(0.0, 1.0, (6, 5)), rng.dirichlet(np.ones(6), (5, 6))
    reward[:, 4] = -1.0
    return TabularMDP(reward, moves, 0.9, np.full(6, 1 / 6), np.arange(1.0, 7.0)[:, None])


def free(states: Array) -> Array:
    """(n, 5, 24) a parameter for each pair but the anchor's."""
    table = np.zeros((len(states), 5, 24))
    for i, state in enumerate(states[:, 0].astype(int) - 1):
        table[i, np.arange(4), 4 * state + np.arange(4)] = 1.0
    return table


def level(states: Array) -> Array:
    """(n, 5) the anchor's reward, -1."""
    return np.tile([0.0, 0.0, 0.0, 0.0, -1.0], (len(states), 1))


@pytest.mark.parametrize(("seed", "old"), [(0, 0.395), (1, 0.368), (2, 0.510)])
def test_a_saturated_form_has_the_errors_of_the_choices_alone(seed: int, old: float) -> None:
    """400 paths of 20 periods, P known. What matched the states as well had the old errors."""
    world, form = five_actions(seed), LinearReward(free, level)
    data = sample(world, 400, 20, np.random.default_rng([seed, 400]))

    def error(reward: Array) -> float:
        return float(np.abs(reward - world.reward)[:, :4].mean())

    known = KnownTransitions(world.transition, world.features)
    ours, guessed = (
        ml_irl.fit([data], Anchor(4, -1.0), 0.9, reward=form, transition=given)[0]
        for given in (known, None)
    )
    closed = plug_in.fit([data], Anchor(4, -1.0), 0.9)[0]
    for one in (ours, guessed):
        assert one.diagnostics.status == "ok"
        # 20 periods at .9 weigh as 8.8 / 4.6 x 1.0 = 11 of them would, by sums of .9^t and .81^t
        assert error(one.reward_function(world.features)) < 1.6 * error(
            closed.reward_function(world.features)
        )
        # choices are those of the data, each weighed by .9^t
        (weights,) = discounted_paths([data], world.features, 0.9)
        seen = weights.visits / weights.visits.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(one.policy(world.features), seen, atol=1e-7)
    (weights,) = discounted_paths([data], world.features, 0.9)
    last = np.zeros(6)
    np.add.at(last, data.next_states[19::20, 0].astype(int) - 1, 0.9**20 / 400)
    tables = form.tables(world.features, 5)
    theta = surrogate(weights.visits, weights.first - last, world.transition, tables, 0.9)
    matched = error(tables[1] + tables[0] @ theta)
    assert matched == pytest.approx(old, abs=1e-3)
    assert matched > 2 * error(ours.reward_function(world.features))


def test_the_maximum_is_that_of_an_independent_optimiser() -> None:
    """The likelihood of the paths, walked one by one, in SciPy's hands."""
    data = BUS.simulate(30, np.random.default_rng(9))
    counts = group(data)
    moves = empirical_transition_probabilities(counts).transition[0]
    place = np.searchsorted(counts.states[:, 0], data.states[:, 0])
    weight = 0.95 ** np.tile(np.arange(100), 30)
    design = BUS_REWARD.design(counts.states)

    def loss(theta: Array) -> float:
        logs = log_softmax(iterated(design @ theta, moves, 0.95), axis=1)
        return -float(weight @ logs[place, data.actions])

    best = minimize(loss, [1.0, 5.0], method="BFGS", options={"gtol": 1e-4})
    ours = fitted(data)
    assert ours.diagnostics.converged
    np.testing.assert_allclose(extra(ours, "theta"), best.x, atol=1e-4)
    np.testing.assert_allclose(ours.diagnostics.extra["objective"] * weight.sum(), best.fun)


def test_it_is_not_nfxp_on_a_sample_though_both_are_near_the_truth() -> None:
    data = BUS.simulate(2000, np.random.default_rng(1))
    ours = fitted(data, **ORACLE)
    rust = nfxp.fit([data], ANCHOR, 0.95, reward=BUS_REWARD, **ORACLE)[0]
    assert np.max(np.abs(extra(ours, "theta") - extra(rust, "theta"))) > 1e-4
    assert np.all(np.abs(extra(ours, "theta") - [1.0, 5.0]) <= 4 * extra(ours, "se"))
    assert np.all(extra(ours, "se") > 1.2 * extra(rust, "se"))  # a path counts as 20 periods


def test_the_start_does_not_matter() -> None:
    data = BUS.simulate(50, np.random.default_rng(6))
    best = extra(fitted(data), "theta")
    starts = np.random.default_rng(7).normal(0, 10, (20, 2))
    every = ml_irl.fit([data] * 20, ANCHOR, 0.95, reward=BUS_REWARD, start=starts)
    for one in every:
        assert one.diagnostics.converged
        np.testing.assert_allclose(extra(one, "theta"), best, atol=1e-6)


@pytest.mark.parametrize("options", [{}, ORACLE])
def test_finite_dependence_is_the_ccp_estimator_and_not_ml_irl(options: dict[str, Any]) -> None:
    data = BUS.simulate(50, np.random.default_rng([10, 0]))
    short = fitted(data, inner="finite_dependence", **options)
    same = ccp.fit([data], ANCHOR, 0.95, reward=BUS_REWARD, finite_dependence=True, **options)[0]
    assert short.method == "ml_irl[finite_dependence]"
    np.testing.assert_array_equal(extra(short, "theta"), extra(same, "theta"))
    assert np.max(np.abs(extra(short, "theta") - extra(fitted(data, **options), "theta"))) > 1e-3


PATHS = st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=6), min_size=1, max_size=4)


@given(PATHS, st.lists(st.booleans(), min_size=4, max_size=4), st.randoms(use_true_random=False))
def test_discounted_sums_are_those_of_a_plain_loop(
    paths: list[list[int]], over: list[bool], random: Any
) -> None:
    visits, first, beyond = np.zeros((4, 2)), np.zeros(4), 0.0
    rows, sums = [], []
    for i, path in enumerate(paths):
        total = 0.0
        for t in range(len(path) - 1):
            action = (path[t] + t + i) % 2
            ended = over[i] and t == len(path) - 2
            rows.append((path[t], action, path[t + 1], i, ended))
            visits[path[t], action] += 0.5**t
            total += 0.5**t * (path[t] + 10 * action)
        first[path[0]] += 1
        beyond += 0.0 if over[i] else 0.5 ** (len(path) - 1)
        sums.append(total)
    labels = [f"path {i}" for i in random.sample(range(9), len(paths))]
    grid = np.arange(4.0)[:, None]
    data = Transitions(
        np.array([[float(r[0])] for r in rows]),
        np.array([r[1] for r in rows]),
        np.array([[float(r[2])] for r in rows]),
        np.array([labels[r[3]] for r in rows]),
        np.array([r[4] for r in rows]),
        2,
    )
    table = (grid + 10 * np.arange(2.0))[..., None]
    (ours,) = discounted_paths([data], grid, 0.5)
    np.testing.assert_allclose(ours.visits, visits / len(paths))
    np.testing.assert_allclose(ours.first, first / len(paths))
    np.testing.assert_allclose(np.sort(ours.sums(table)[:, 0]), np.sort(sums))
    np.testing.assert_allclose(ours.beyond.sum(), beyond)


def test_interleaved_trajectories_and_paths_after_an_end() -> None:
    x = np.array([[1.0], [5.0], [2.0], [6.0], [1.0], [7.0]])
    after = np.array([[2.0], [6.0], [3.0], [7.0], [2.0], [5.0]])
    done = np.array([False, False, True, False, False, False])
    data = Transitions(x, np.zeros(6, int), after, np.array([0, 1, 0, 1, 0, 1]), done, 2)
    (ours,) = discounted_paths([data], np.arange(1.0, 8.0)[:, None], 0.5)
    assert len(ours.opens) == 3  # trajectory 0 starts anew after its end
    np.testing.assert_allclose(ours.visits[:, 0] * 3, [2.0, 0.5, 0, 0, 1.0, 0.5, 0.25])
    np.testing.assert_allclose(np.sort(ours.beyond), [0.0, 0.125, 0.5])


def test_rows_that_are_no_path_are_refused() -> None:
    data = BUS.simulate(4, np.random.default_rng(5))
    shuffled = data.take(np.random.default_rng(0).permutation(len(data)))
    with pytest.raises(InputError) as caught:
        fitted(shuffled)
    assert caught.value.field == "trajectory"


def test_no_maximum_is_not_called_convergence() -> None:
    """An expert that never replaces: theta_1 runs off while its gradient vanishes."""
    assert population(np.tile([1.0, 0.0], (20, 1)), 100).status != ("ok",)


def test_the_covariance_is_that_of_the_paths_own_finite_differences() -> None:
    """The likelihood path by path, by plain value iteration; some paths end with their last row."""
    data = BusEngine(horizon=40).simulate(15, np.random.default_rng(8))
    ended = np.zeros((15, 40), dtype=bool)
    ended[:3, -1] = True
    data = replace(data, done=ended.ravel())
    moves = MDP.transition * 0.999  # it knows of ends where some end
    ours = fitted(data, transition=KnownTransitions(moves, MDP.features))
    assert ours.diagnostics.converged
    state, action = data.states[:, 0].astype(int).reshape(15, -1) - 1, data.actions.reshape(15, -1)

    def objective(theta: Array) -> Array:
        chosen = log_softmax(iterated(DESIGN @ theta, moves, 0.95), axis=1)[state, action]
        return np.asarray(chosen @ 0.95 ** np.arange(40))

    theta, h = extra(ours, "theta"), 1e-3
    steps = h * np.eye(2)
    scores = np.stack([objective(theta + e) - objective(theta - e) for e in steps], axis=1)
    scores = scores / (2 * h)
    hessian = [
        [
            np.sum(
                objective(theta + d + e)
                - objective(theta + d - e)
                - objective(theta - d + e)
                + objective(theta - d - e)
            )
            for e in steps
        ]
        for d in steps
    ]
    bread = np.linalg.inv(np.array(hessian) / (4 * h**2))
    # h^2 times third derivatives of V
    np.testing.assert_allclose(extra(ours, "covariance"), bread @ (scores.T @ scores) @ bread, 1e-4)


def test_as_many_paths_as_parameters_have_no_standard_errors() -> None:
    ours = fitted(BUS.simulate(2, np.random.default_rng(0)))
    assert ours.diagnostics.converged
    assert np.all(np.isnan(extra(ours, "se")))
