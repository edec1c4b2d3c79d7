"""The linear semi-gradient against cell CCP, the population, finite differences and Monte Carlo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import extra, sample
from numpy.typing import NDArray
from scipy.special import log_softmax
from strategies import paths

import gladius
from gladius.anchor import Anchor
from gladius.baselines import semi_gradient
from gladius.baselines.choice_logit import CERTAIN
from gladius.baselines.semi_gradient import SemiGradient, make_basis
from gladius.baselines.td_ccp import (
    LADDER,
    ONE_HOT,
    PSEUDO_COUNT,
    Problem,
    affordable,
    choice_probabilities,
    largest_rung,
    make_problem,
    number_of_terms,
    residual,
    second_step,
    terms_of,
)
from gladius.checks import InputError
from gladius.linear_reward import LinearReward
from gladius.mdp import TabularMDP
from gladius.sarsa import SarsaTuples, sarsa_tuples
from gladius.transitions import Transitions
from gladius.worlds.bus import BUS_REWARD, BusEngine, bus_design

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
BETA = 0.95
LARGE = BUS.simulate(1000, np.random.default_rng([1000, 1]))
SMALL = BUS.simulate(30, np.random.default_rng([30, 1]))


def fit(
    data: Transitions, anchor: Anchor = ANCHOR, beta: float = BETA, **options: Any
) -> gladius.Estimate:
    return semi_gradient.fit([data], anchor, beta, **({"reward": BUS_REWARD} | options))[0]


def population(mdp: TabularMDP, form: LinearReward, beta: float) -> Problem:
    """Expected SARSA tuples of 100 periods, with the true choice probabilities."""
    size, actions = mdp.reward.shape
    states = np.repeat(mdp.features, actions, axis=0)
    chosen = np.tile(np.arange(actions), size)
    policy = mdp.solution.policy
    current = mdp.occupancy(100).ravel()
    after = np.einsum("ast,tb->satb", mdp.transition, policy).reshape(size * actions, -1)
    joint = current[:, None] * after
    now, following = np.nonzero(joint)
    data = SarsaTuples(states, chosen, current, now, following, joint[now, following], actions)
    index = {tuple(f): i for i, f in enumerate(mdp.features)}

    def log_choice(features: Array) -> Array:
        return np.asarray(np.log(policy[[index[tuple(f)] for f in features]]))

    return make_problem(data, form, beta, ONE_HOT, log_choice)


POPULATION = population(MDP, BUS_REWARD, BETA)


def plain_cell_ccp(data: Transitions, log_choice: Array, split: bool = False) -> Array:
    """h at the 40 pairs of the bus engine, from raw rows; NaN where a pair is never left.

    With `split` the law of the next pair is that of x' times the choice frequencies at x'.
    """
    joint, choices = np.zeros((40, 40)), np.zeros((20, 2))
    pair = 2 * (data.states[:, 0].astype(int) - 1) + data.actions
    for i in range(len(data)):
        choices[data.states[i, 0].astype(int) - 1, data.actions[i]] += 1
        if i % 100 < 99:
            joint[pair[i], pair[i + 1]] += 1
    if split:
        arrivals = joint.reshape(40, 20, 2).sum(axis=2)
        seen = choices.sum(axis=1, keepdims=True)
        share = choices / np.where(seen > 0, seen, 1)
        joint = (arrivals[:, :, None] * share).reshape(40, 40)
    left = joint.sum(axis=1)
    known = np.flatnonzero(left)
    law = joint[np.ix_(known, known)] / left[known, None]
    z = bus_design(MDP.features).reshape(40, 2)
    e = -log_choice.reshape(40)
    h = np.linalg.solve(np.eye(len(known)) - BETA * law, z[known])
    g = np.linalg.solve(np.eye(len(known)) - BETA * law, BETA * law @ e[known])
    table = np.full((40, 3), np.nan)
    table[known] = np.column_stack([h, g])
    return table


def fitted_table(learner: SemiGradient, problem: Problem) -> Array:
    """(40, 3) h and g at the pairs of the bus engine."""
    (learnt,) = learner.learn([problem])
    design = bus_design(MDP.features)
    ahead = learnt.ahead(MDP.features)
    return np.concatenate([design + ahead[..., :2], ahead[..., 2:]], axis=2).reshape(40, 3)


def test_one_hot_equals_cell_ccp_from_the_next_pairs() -> None:
    last = sarsa_tuples(LARGE)  # drop paths with a pair never left, which closes no linear system
    there = np.all(LARGE.states[:, None] == last.states[last.left == 0], axis=2).any(axis=1)
    data = LARGE.take(~np.isin(LARGE.trajectory, LARGE.trajectory[there]))
    grouped = sarsa_tuples(data)
    assert np.all(grouped.left > 0)
    problem = make_problem(grouped, BUS_REWARD, BETA, ONE_HOT)
    log_choice = choice_probabilities(grouped, ONE_HOT)
    table = fitted_table(SemiGradient(), problem)
    expected = plain_cell_ccp(data, log_choice(MDP.features))
    there = ~np.isnan(expected[:, 0])
    assert there.sum() > 20
    np.testing.assert_allclose(table[there], expected[there], rtol=0, atol=1e-10)
    # control: with the law of x' and the choices at x' taken apart, only the limit is the same
    other = plain_cell_ccp(data, log_choice(MDP.features), split=True)
    assert 1e-2 < np.max(np.abs(other[there, :2] - expected[there, :2])) < 2.0


def test_population_tuples_return_theta_and_q() -> None:
    second = second_step(POPULATION, AHEAD)
    np.testing.assert_allclose(second.theta, TRUTH, atol=1e-7)
    assert second.status == "ok"
    q = POPULATION.chosen(POPULATION.design + AHEAD[..., :2]) @ second.theta
    q = (q + POPULATION.chosen(AHEAD)[:, 2]).reshape(20, 2)
    np.testing.assert_allclose(q, MDP.solution.q, atol=1e-6)
    np.testing.assert_allclose(q[:5, 0], [-52.53422, -53.83386, -54.97672, -56.03683, -57.06029])
    # control: with other choice probabilities than the world's, theta is not recovered
    flat = make_problem(
        POPULATION.data, BUS_REWARD, BETA, ONE_HOT, lambda s: np.full((len(s), 2), np.log(0.5))
    )
    (other,) = LEARNER.learn([flat])
    wrong = second_step(flat, other.ahead(flat.data.states)).theta
    assert np.max(np.abs(wrong - TRUTH)) > 0.1


def test_the_basis_formula_is_the_papers_where_it_spans_z() -> None:
    tuples = sarsa_tuples(LARGE)
    fine, coarse = (
        fitted_table(
            SemiGradient(), make_problem(tuples, BUS_REWARD, BETA, ("polynomial", degree))
        ).reshape(20, 2, 3)
        for degree in (2, 1)
    )
    x, a = LARGE.states[:, 0], LARGE.actions
    rows = np.flatnonzero(np.arange(len(LARGE)) % 100 < 99)

    def phi(index: NDArray[np.int64]) -> Array:
        power = np.stack([x[index] ** p / 20.0**p for p in range(3)], axis=1)
        return np.concatenate([power * (a[index] == b)[:, None] for b in range(2)], axis=1)

    now, after = phi(rows), phi(rows + 1)
    z = bus_design(LARGE.states[rows])[np.arange(len(rows)), a[rows]]
    w = np.linalg.solve(now.T @ (now - BETA * after), now.T @ z)
    grid = np.stack([(MDP.features[:, 0] / 20.0) ** p for p in range(3)], axis=1)
    expected = np.stack([grid @ w[:3], grid @ w[3:]], axis=1)
    seen = slice(0, int(x.max()))  # beyond the data ours stays at the end of its range
    np.testing.assert_allclose(fine[seen, :, :2], expected[seen], atol=1e-7)
    assert np.max(np.abs(coarse[seen, :, :2] - expected[seen])) > 1e-2  # control


def test_theta_is_close_to_that_of_nfxp() -> None:
    options: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "reward": BUS_REWARD}
    oracle = gladius.fit(LARGE, "nfxp", discount=BETA, transition=BUS.known_transitions, **options)
    reference = extra(oracle, "theta")
    estimate = fit(LARGE)
    assert extra(estimate, "learner") == "one_hot"
    assert estimate.diagnostics.converged
    se = extra(estimate, "se")
    assert np.all(np.abs(extra(estimate, "theta") - reference) < 0.5 * se)
    assert np.all(np.abs(extra(estimate, "theta") - [1.0, 5.0]) < 4 * se)
    # control: no value of the future in the likelihood is another estimator
    myopic = semi_gradient.fit([LARGE], ANCHOR, 1e-6, reward=BUS_REWARD)[0]
    assert np.all(np.abs(extra(myopic, "theta") - reference) > 10 * se)


def test_q_is_policy_evaluation() -> None:
    estimate = fit(LARGE)
    theta = extra(estimate, "theta")
    table = fitted_table(SemiGradient(), make_problem(sarsa_tuples(LARGE), BUS_REWARD, BETA))
    expected = (table[:, :2] @ theta + table[:, 2]).reshape(20, 2)
    np.testing.assert_allclose(estimate.q(MDP.features), expected, atol=1e-9)
    assert np.all(np.isfinite(estimate.q(np.array([[2.5], [40.0]]))))
    visits = np.zeros((20, 2))
    np.add.at(visits, (LARGE.states[:, 0].astype(int) - 1, LARGE.actions), 1.0)
    nll = -np.sum(visits * log_softmax(expected, axis=1)) / len(LARGE)
    np.testing.assert_allclose(estimate.diagnostics.nll, nll, rtol=1e-10)


LEARNER = SemiGradient()
TRUTH = np.array([1.0, 5.0])
AHEAD = LEARNER.learn([POPULATION])[0].ahead(POPULATION.data.states)


def correction(problem: Problem, delta: Array, adjoint: Array) -> Array:
    """(k,) E_n[lambda delta] for (P, k) lambda at the pairs."""
    weighted = problem.data.weights * delta
    return np.asarray(weighted @ adjoint[problem.data.now] / problem.data.size)


SCORES = second_step(POPULATION, AHEAD).scores  # theta is the truth there
LAMBDA = POPULATION.chosen(LEARNER.adjoints([POPULATION], [-SCORES])[0](POPULATION.data.states))


def moments(moved: Array) -> tuple[Array, Array]:
    """E[m] and E[lambda delta] at the true theta with the part ahead of (40, 2, 3) moved."""
    shifted = AHEAD + moved
    h = POPULATION.design + shifted[..., :2]
    pi = np.exp(log_softmax(h @ TRUTH + shifted[..., 2], axis=1))
    scores = POPULATION.chosen(h - np.einsum("pa,pak->pk", pi, h)[:, None])
    delta = residual(POPULATION, shifted, TRUTH)
    return POPULATION.mean(scores), correction(POPULATION, delta, LAMBDA)


DIRECTIONS = arrays(np.float64, (20, 2, 3), elements=st.integers(-4, 4).map(lambda n: n / 4))


@settings(max_examples=60)
@given(DIRECTIONS)
def test_the_robust_moment_does_not_feel_errors_of_h_and_g(direction: Array) -> None:
    moved = 1e-5 * np.repeat(direction, 2, axis=0)  # the pairs of a state share its row
    (m_up, c_up), (m_down, c_down) = moments(moved), moments(-moved)
    np.testing.assert_allclose((m_up + c_up - m_down - c_down) / 2e-5, 0.0, atol=1e-6)


def test_the_plain_moment_does_feel_them() -> None:
    """Negative control of the test above, and of the correction's sign."""
    direction = np.zeros((20, 2, 3))
    direction[0, 0, 2] = 1e-4
    (plain, corrected), (level, _) = (
        moments(np.repeat(direction, 2, axis=0)),
        moments(np.zeros((40, 2, 3))),
    )
    np.testing.assert_allclose(level, 0.0, atol=1e-9)
    assert np.max(np.abs(plain)) > 1e-2 * 1e-4
    assert np.max(np.abs(plain - corrected)) > 1e-2 * 1e-4
    np.testing.assert_allclose(plain + corrected, 0.0, atol=1e-3 * 1e-4)


def test_the_correction_vanishes_in_the_sample() -> None:
    problem = make_problem(sarsa_tuples(SMALL), BUS_REWARD, BETA)
    ahead = LEARNER.learn([problem])[0].ahead(problem.data.states)
    second = second_step(problem, ahead)
    (adjoint,) = LEARNER.adjoints([problem], [-second.scores])
    weight = problem.chosen(adjoint(problem.data.states))
    delta = residual(problem, ahead, second.theta)
    assert np.max(np.abs(weight)) > 0.1
    np.testing.assert_allclose(correction(problem, delta, weight), 0.0, atol=1e-9)


Z = np.array([[0.0, 0.0], [4.0, 0.0], [-4.0, 2.0]])
NOISY = TabularMDP(
    Z,
    np.array(
        [
            [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]],
            [[0.2, 0.2, 0.6], [0.2, 0.6, 0.2], [0.6, 0.2, 0.2]],
        ]
    ),
    0.9,
    np.full(3, 1 / 3),
    np.arange(3.0)[:, None],
)


def form_of(world: TabularMDP) -> LinearReward:
    """r = theta times the world's reward: theta is 1."""
    return LinearReward(lambda s: world.reward[s[:, 0].astype(int)][:, :, None])


def test_robust_standard_errors_match_the_spread_and_plain_ones_do_not() -> None:
    """A world whose moves are noisy and matter, so that the error of h and g counts."""
    sets = 120
    data = [sample(NOISY, 200, 20, np.random.default_rng([3, i])) for i in range(sets)]
    form = form_of(NOISY)
    estimates = semi_gradient.fit(data, Anchor(1, 0.0), 0.9, reward=form, basis="one_hot")
    theta = np.array([extra(e, "theta")[0] for e in estimates])
    stated = np.sqrt(np.mean([extra(e, "se")[0] ** 2 for e in estimates]))
    # the sd of 120 draws is off by 1 / sqrt(240) = 6.5 %: four of these
    np.testing.assert_allclose(stated / theta.std(ddof=1), 1.0, atol=0.26)
    assert abs(theta.mean() - 1.0) < 4 * stated / np.sqrt(sets) + 0.03  # a bias of order 1 / n
    problem = make_problem(sarsa_tuples(data[0]), form, 0.9, ONE_HOT)
    second = second_step(problem, LEARNER.learn([problem])[0].ahead(problem.data.states))
    plain = np.sqrt(second.inverse_information[0, 0] / problem.data.size)  # h and g as known
    assert plain < 0.65 * stated
    np.testing.assert_array_equal(second.theta, theta[:1])


ROUGH = TabularMDP(  # action 0 leads to the even states, where alone it pays
    np.stack([np.where(np.arange(8) % 2, 0.0, 2.0), np.zeros(8)], axis=1),
    np.stack([np.tile(np.where(np.arange(8) % 2 == a, 0.24, 0.01), (8, 1)) for a in (0, 1)]),
    0.9,
    np.full(8, 1 / 8),
    np.arange(8.0)[:, None],
)


@pytest.mark.parametrize("method", ["semi_gradient", "avi"])
def test_theta_is_unbiased_where_a_cubic_choice_logit_is_not(method: str) -> None:
    data, form = sample(ROUGH, 4000, 50, np.random.default_rng([20, 0])), form_of(ROUGH)
    estimate = gladius.fit(
        data, method, anchor_action=1, anchor_reward=0.0, discount=0.9, reward=form
    )
    se = extra(estimate, "se")
    assert estimate.diagnostics.converged
    assert np.all(np.abs(extra(estimate, "theta") - 1.0) < 3 * se)
    tuples = sarsa_tuples(data)  # control: the first stage as it was once
    logit = choice_probabilities(tuples, ("polynomial", 3))
    problem = make_problem(tuples, form, 0.9, ONE_HOT, logit)
    ahead = LEARNER.learn([problem])[0].ahead(problem.data.states)
    assert np.all(np.abs(second_step(problem, ahead).theta - 1.0) > 5 * se)


@settings(max_examples=60)
@given(paths())
def test_one_hot_solves_the_recursion_of_any_data(data: Transitions) -> None:
    """f(p) = beta mean(gain(p') + f(p')) at every pair that is left, written out row by row."""
    grouped = sarsa_tuples(data)
    assume(all(np.any((grouped.left > 0) & (grouped.actions == a)) for a in range(2)))
    problem = make_problem(grouped, BUS_REWARD, 0.8, ONE_HOT)
    (learnt,) = SemiGradient().learn([problem])
    f = problem.chosen(learnt.ahead(grouped.states))
    total = np.zeros_like(f)
    for i, j, w in zip(grouped.now, grouped.after, grouped.weights, strict=True):
        if j >= 0:
            total[i] += 0.8 * w * (problem.gain[j] + f[j])
    left = grouped.left > 0
    np.testing.assert_allclose(f[left], total[left] / grouped.left[left, None], atol=1e-8)


TABLE = arrays(np.float64, (5, 2, 2), elements=st.integers(-8, 8).map(lambda n: n / 4))


@given(TABLE, arrays(np.float64, 2, elements=st.integers(-4, 4).map(lambda n: n / 4)))
def test_scores_are_the_gradient_of_the_pseudo_likelihood(z: Array, theta: Array) -> None:
    weights = np.array([1.0, 2, 3, 1, 2, 1, 4, 1, 1, 2])
    pairs = np.arange(10)
    states, actions = np.repeat(np.arange(5.0), 2)[:, None], np.tile([0, 1], 5)
    data = SarsaTuples(states, actions, weights, pairs, np.roll(pairs, 1), weights, 2)
    form = LinearReward(lambda s: z[s[:, 0].astype(int)])
    problem = make_problem(data, form, 0.5, ONE_HOT, lambda s: np.full((len(s), 2), -0.7))
    none = np.zeros((10, 2, 3))

    def loss(parameters: Array) -> float:
        logs = log_softmax(z @ parameters, axis=1)
        return float(np.sum(weights.reshape(5, 2) * logs) / weights.sum())

    step = 1e-6
    numeric = [(loss(theta + e) - loss(theta - e)) / (2 * step) for e in step * np.eye(2)]
    pi = np.exp(log_softmax(z @ theta, axis=1))
    scores = (z - np.einsum("sa,sak->sk", pi, z)[:, None]).reshape(10, 2)
    np.testing.assert_allclose(problem.mean(scores), numeric, atol=1e-7)
    second = second_step(problem, none)
    if second.status == "ok":  # the maximum may be at infinity
        logs = np.exp(log_softmax(z @ second.theta, axis=1))
        centred = (z - np.einsum("sa,sak->sk", logs, z)[:, None]).reshape(10, 2)
        np.testing.assert_allclose(second.scores, centred, atol=1e-10)
        np.testing.assert_allclose(problem.mean(centred), 0.0, atol=1e-6)


def test_dummies_get_a_basis_that_does_not_know_which_feature_matters() -> None:
    data = BusEngine(dummies=10).simulate(40, np.random.default_rng(9))
    grouped = sarsa_tuples(data)
    assert largest_rung(grouped) == ("additive", 2)  # (2 x 21)^2 <= 3,960 < (2 x 31)^2
    estimate = fit(data)
    assert estimate.diagnostics.converged
    assert np.all(np.abs(extra(estimate, "theta") - [1.0, 5.0]) < 5 * extra(estimate, "se"))
    order = np.roll(np.arange(11), 3)  # the mileage in another place
    mixed = Transitions(
        data.states[:, order], data.actions, data.next_states[:, order], data.trajectory
    )
    moved = fit(mixed, reward=LinearReward(lambda s: bus_design(s[:, np.argsort(order)])))
    np.testing.assert_allclose(extra(moved, "theta"), extra(estimate, "theta"), rtol=1e-5)


@given(st.integers(1, 6), st.integers(1, 3), st.sampled_from(["polynomial", "additive"]))
def test_terms_are_distinct_and_counted(width: int, degree: int, name: str) -> None:
    terms = terms_of(name, degree, width)
    assert len(set(terms)) == len(terms) == number_of_terms(name, degree, width)
    assert all(len(term) <= degree for term in terms)
    assert affordable(101, 2, 100.0) == ("polynomial", 1)
    assert affordable(101, 2, 1e9) == ("additive", 2)  # 5,253 terms are many


def test_paths_that_end_have_no_future() -> None:
    """Two periods, then the end: h of the second is z, of the first z + beta z'."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    states = np.tile([1.0, 2.0], 400)
    data = Transitions(
        states,
        np.stack([first, second], axis=1).ravel(),
        np.tile([2.0, 3.0], 400),
        np.repeat(np.arange(400), 2),
        np.tile([False, True], 400),
    )
    problem = make_problem(sarsa_tuples(data), BUS_REWARD, 0.9)
    ahead = SemiGradient().learn([problem])[0].ahead(np.array([[1.0], [2.0]]))
    np.testing.assert_allclose(ahead[1], 0.0, atol=1e-12)
    for a in range(2):
        z = bus_design(np.array([[2.0]]))[0][second[first == a]].mean(axis=0)
        np.testing.assert_allclose(ahead[0, a, :2], 0.9 * z, atol=1e-10)


@pytest.mark.parametrize("seed", [0, 7])
def test_choices_all_but_certain_are_no_convergence(seed: int) -> None:
    """Three short paths: far out every score rounds to zero, which is not a maximum second."""
    data = BusEngine(horizon=6).simulate(3, np.random.default_rng(seed))
    diagnostics = fit(data).diagnostics
    assert not diagnostics.converged
    assert diagnostics.status == CERTAIN


@settings(max_examples=60)
@given(paths())
def test_frequencies_are_smoothed_counts(data: Transitions) -> None:
    log_choice = choice_probabilities(sarsa_tuples(data), ONE_HOT)
    for x in np.unique(data.states):
        mine = data.actions[data.states[:, 0] == x]
        counts = np.bincount(mine, minlength=2) + PSEUDO_COUNT
        expected = counts / counts.sum()
        np.testing.assert_allclose(np.exp(log_choice(np.array([[x]]))[0]), expected, rtol=1e-12)


def test_the_choice_logit_maximises_its_likelihood() -> None:
    log_choice = choice_probabilities(sarsa_tuples(SMALL), LADDER[0])
    rows, x = np.arange(len(SMALL)), SMALL.states[:, 0]

    def likelihood(tilt: Array) -> float:
        logits = log_choice(SMALL.states) + np.stack([np.zeros(len(x)), tilt], axis=1)
        return float(log_softmax(logits, axis=1)[rows, SMALL.actions].mean())

    best = likelihood(np.zeros(len(x)))
    for power in range(4):  # cubic: no direction up to the prior's 1e-3 of an observation
        slope = (likelihood(1e-5 * x**power) - likelihood(-1e-5 * x**power)) / 2e-5
        assert abs(slope) < 1e-4 * float(np.max(x**power))
        assert likelihood(0.3 * (x / x.max()) ** power) < best


def test_an_offset_is_a_parameter_that_is_known() -> None:
    """theta_1 given: one parameter less, and the same h and g where it has its estimate."""
    full = fit(SMALL)
    known = np.array([0.0, -extra(full, "theta")[1]])
    form = LinearReward(
        lambda s: bus_design(s)[:, :, :1], lambda s: np.broadcast_to(known, (len(s), 2))
    )
    estimate = fit(SMALL, Anchor(1, known[1]), reward=form)
    np.testing.assert_array_equal(estimate.reward(MDP.features, 1), known[1])
    np.testing.assert_allclose(extra(estimate, "theta"), extra(full, "theta")[:1], rtol=1e-7)
    np.testing.assert_allclose(estimate.q(MDP.features), full.q(MDP.features), rtol=1e-7)


def test_data_that_say_too_little_name_the_field() -> None:
    every_path_once = SMALL.take(np.arange(0, 3000, 100))
    short = SMALL.take(np.arange(2))
    with pytest.raises(InputError) as caught:
        fit(every_path_once)
    assert caught.value.field == "trajectory"
    with pytest.raises(InputError) as caught:
        make_basis(sarsa_tuples(short), ONE_HOT)
    assert caught.value.field == "actions"
