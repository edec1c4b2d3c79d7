"""The linear semi-gradient against cell CCP, the population, finite differences and Monte Carlo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import log_softmax
from test_quadruples import paths

import gladius
from gladius.anchor import Anchor
from gladius.baselines import nfxp, semi_gradient
from gladius.baselines._bases import affordable, candidates, make_basis, number_of_terms, terms_of
from gladius.baselines._choice_probabilities import choice_probabilities
from gladius.baselines._pseudo_likelihood import (
    UNIDENTIFIED,
    Problem,
    correction,
    make_problem,
    residual,
    second_step,
)
from gladius.baselines.choice_logit import CERTAIN
from gladius.baselines.semi_gradient import SemiGradient
from gladius.checks import InputError
from gladius.mdp import TabularMDP
from gladius.parametric import bus_design, make_tables
from gladius.transitions import Quadruples, Transitions, quadruples
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
BETA = 0.95
TABLES = make_tables(None, None, None, 2)
LARGE = BUS.simulate(1000, np.random.default_rng([1000, 1]))
SMALL = BUS.simulate(30, np.random.default_rng([30, 1]))


def extra(estimate: gladius.Estimate, name: str) -> Any:
    return estimate.diagnostics.extra[name]


def population(mdp: TabularMDP, tables: Any, beta: float) -> Problem:
    """Expected quadruples of 100 periods, with the true choice probabilities."""
    size, actions = mdp.reward.shape
    states = np.repeat(mdp.features, actions, axis=0)
    own = np.tile(np.arange(actions), size)
    policy = mdp.solution.policy
    current = mdp.occupancy(100).ravel()
    after = np.einsum("ast,tb->satb", mdp.transition, policy).reshape(size * actions, -1)
    joint = current[:, None] * after
    now, following = np.nonzero(joint)
    data = Quadruples(states, own, current, now, following, joint[now, following], actions)
    index = {tuple(f): i for i, f in enumerate(mdp.features)}

    def log_choice(features: Array) -> Array:
        return np.asarray(np.log(policy[[index[tuple(f)] for f in features]]))

    return make_problem(LARGE, tables, log_choice, beta, data)


POPULATION = population(MDP, TABLES, BETA)


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
    design, _ = TABLES(MDP.features)
    ahead = learnt.ahead(MDP.features)
    return np.concatenate([design + ahead[..., :2], ahead[..., 2:]], axis=2).reshape(40, 3)


def test_one_hot_equals_cell_ccp_from_the_next_pairs() -> None:
    last = quadruples(LARGE)  # drop paths with a pair never left, which closes no linear system
    there = np.all(LARGE.states[:, None] == last.states[last.left == 0], axis=2).any(axis=1)
    data = LARGE.take(~np.isin(LARGE.trajectory, LARGE.trajectory[there]))
    grouped = quadruples(data)
    assert np.all(grouped.left > 0)
    log_choice = choice_probabilities(grouped)
    problem = make_problem(data, TABLES, log_choice, BETA)
    found = fitted_table(SemiGradient("one_hot"), problem)
    expected = plain_cell_ccp(data, log_choice(MDP.features))
    there = ~np.isnan(expected[:, 0])
    assert there.sum() > 20
    np.testing.assert_allclose(found[there], expected[there], rtol=0, atol=1e-10)
    # control: with the law of x' and the choices at x' taken apart, only the limit is the same
    other = plain_cell_ccp(data, log_choice(MDP.features), split=True)
    assert 1e-2 < np.max(np.abs(other[there, :2] - expected[there, :2])) < 2.0


def test_population_quadruples_return_theta_and_q() -> None:
    (learnt,) = SemiGradient("one_hot").learn([POPULATION])
    ahead = learnt.ahead(POPULATION.data.states)
    second = second_step(POPULATION, ahead, np.zeros(2))
    np.testing.assert_allclose(second.theta, [1.0, 5.0], atol=1e-7)
    assert second.converged
    q = POPULATION.own(POPULATION.design + ahead[..., :2]) @ second.theta
    q = (q + POPULATION.own(ahead)[:, 2]).reshape(20, 2)
    np.testing.assert_allclose(q, MDP.solution.q, atol=1e-6)
    np.testing.assert_allclose(q[:5, 0], [-52.53422, -53.83386, -54.97672, -56.03683, -57.06029])
    # control: with other choice probabilities than the world's, theta is not recovered
    flat = make_problem(
        LARGE, TABLES, lambda s: np.full((len(s), 2), np.log(0.5)), BETA, POPULATION.data
    )
    (other,) = SemiGradient("one_hot").learn([flat])
    wrong = second_step(flat, other.ahead(flat.data.states), np.zeros(2)).theta
    assert np.max(np.abs(wrong - [1.0, 5.0])) > 0.1


def test_the_basis_formula_is_the_papers_where_it_spans_z() -> None:
    problem = make_problem(LARGE, TABLES, choice_probabilities(quadruples(LARGE)), BETA)
    x, a = LARGE.states[:, 0], LARGE.actions
    rows = np.flatnonzero(np.arange(len(LARGE)) % 100 < 99)

    def phi(at: NDArray[np.int64]) -> Array:
        power = np.stack([x[at] ** p / 20.0**p for p in range(3)], axis=1)
        return np.concatenate([power * (a[at] == b)[:, None] for b in range(2)], axis=1)

    now, after = phi(rows), phi(rows + 1)
    z = bus_design(LARGE.states[rows])[np.arange(len(rows)), a[rows]]
    w = np.linalg.solve(now.T @ (now - BETA * after), now.T @ z)
    grid = np.stack([(MDP.features[:, 0] / 20.0) ** p for p in range(3)], axis=1)
    expected = np.stack([grid @ w[:3], grid @ w[3:]], axis=1)
    found = fitted_table(SemiGradient("polynomial", 2), problem).reshape(20, 2, 3)
    seen = slice(0, int(x.max()))  # beyond the data ours stays at the end of its range
    np.testing.assert_allclose(found[seen, :, :2], expected[seen], atol=1e-7)
    coarse = fitted_table(SemiGradient("polynomial", 1), problem).reshape(20, 2, 3)
    assert np.max(np.abs(coarse[seen, :, :2] - expected[seen])) > 1e-2  # control


def test_theta_is_close_to_that_of_nfxp() -> None:
    oracle: dict[str, Any] = {"transition": MDP.transition, "grid": MDP.features}
    reference = extra(nfxp.fit([LARGE], ANCHOR, BETA, **oracle)[0], "theta")
    estimate = semi_gradient.fit([LARGE], ANCHOR, BETA)[0]
    assert extra(estimate, "learner") == "one_hot"
    assert estimate.diagnostics.converged
    se = extra(estimate, "se")
    assert np.all(np.abs(extra(estimate, "theta") - reference) < 0.5 * se)
    assert np.all(np.abs(extra(estimate, "theta") - [1.0, 5.0]) < 4 * se)
    # control: no value of the future in the likelihood is another estimator
    myopic = semi_gradient.fit([LARGE], ANCHOR, 1e-6)[0]
    assert np.all(np.abs(extra(myopic, "theta") - reference) > 10 * se)


def test_the_read_off_is_the_form_and_policy_evaluation() -> None:
    estimate = semi_gradient.fit([LARGE], ANCHOR, BETA)[0]
    theta = extra(estimate, "theta")
    odd = np.array([[2.5], [40.0]])
    np.testing.assert_allclose(estimate.reward(odd, 0), -theta[0] * odd[:, 0])
    np.testing.assert_allclose(estimate.reward(odd, 1), -theta[1])
    problem = make_problem(LARGE, TABLES, choice_probabilities(quadruples(LARGE)), BETA)
    table = fitted_table(SemiGradient("one_hot"), problem)
    expected = (table[:, :2] @ theta + table[:, 2]).reshape(20, 2)
    np.testing.assert_allclose(estimate.q(MDP.features), expected, atol=1e-9)
    assert np.all(np.isfinite(estimate.q(odd)))
    visits = np.zeros((20, 2))
    np.add.at(visits, (LARGE.states[:, 0].astype(int) - 1, LARGE.actions), 1.0)
    nll = -np.sum(visits * log_softmax(expected, axis=1)) / len(LARGE)
    np.testing.assert_allclose(estimate.diagnostics.nll, nll, rtol=1e-10)


def test_no_transition_law_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a law was asked for")

    monkeypatch.setattr(
        "gladius.transition_probabilities.empirical_transition_probabilities", refuse
    )
    assert semi_gradient.fit([SMALL], ANCHOR, BETA)[0].diagnostics.converged
    with pytest.raises(AssertionError):
        nfxp.fit([SMALL], ANCHOR, BETA)  # control: this one needs it


LEARNER = SemiGradient("one_hot")
TRUTH = np.array([1.0, 5.0])
AHEAD = LEARNER.learn([POPULATION])[0].ahead(POPULATION.data.states)
SCORES = second_step(POPULATION, AHEAD, TRUTH).scores
LAMBDA = POPULATION.own(LEARNER.adjoints([POPULATION], [-SCORES])[0](POPULATION.data.states))


def moments(moved: Array) -> tuple[Array, Array]:
    """E[m] and E[lambda delta] at the true theta with the part ahead of (40, 2, 3) moved."""
    shifted = AHEAD + moved
    h = POPULATION.design + shifted[..., :2]
    pi = np.exp(log_softmax(h @ TRUTH + shifted[..., 2], axis=1))
    scores = POPULATION.own(h - np.einsum("pa,pak->pk", pi, h)[:, None])
    delta = residual(POPULATION, shifted, TRUTH)
    return POPULATION.mean(scores), correction(POPULATION, delta, LAMBDA)


DIRECTIONS = arrays(np.float64, (20, 2, 3), elements=st.integers(-4, 4).map(lambda n: n / 4))


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


def test_without_folds_the_correction_vanishes() -> None:
    learner = SemiGradient("one_hot")
    problem = make_problem(SMALL, TABLES, choice_probabilities(quadruples(SMALL)), BETA)
    ahead = learner.learn([problem])[0].ahead(problem.data.states)
    second = second_step(problem, ahead, np.zeros(2))
    (adjoint,) = learner.adjoints([problem], [-second.scores])
    at_pairs = problem.own(adjoint(problem.data.states))
    delta = residual(problem, ahead, second.theta)
    assert np.max(np.abs(at_pairs)) > 0.1
    np.testing.assert_allclose(correction(problem, delta, at_pairs), 0.0, atol=1e-9)


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


def test_robust_standard_errors_match_the_spread_and_plug_in_ones_do_not() -> None:
    """A world whose moves are noisy and matter, so that the error of h and g counts."""
    sets = 120
    moved = NOISY.simulate(200, 20, [np.random.default_rng([3, i]) for i in range(sets)])
    label = np.repeat(np.arange(200), 20)
    data = [
        Transitions(s.reshape(-1, 1) * 1.0, a.ravel(), n.reshape(-1, 1) * 1.0, label)
        for s, a, n in zip(moved.states, moved.actions, moved.next_states, strict=True)
    ]
    form: dict[str, Any] = {
        "design": lambda s: Z[s[:, 0].astype(int)][:, :, None],
        "choices": "frequencies",
        "basis": "one_hot",
    }
    found = semi_gradient.fit(data, Anchor(1, 0.0), 0.9, **form)
    theta = np.array([extra(e, "theta")[0] for e in found])
    stated = np.sqrt(np.mean([extra(e, "se")[0] ** 2 for e in found]))
    # the sd of 120 draws is off by 1 / sqrt(240) = 6.5 %: four of these
    np.testing.assert_allclose(stated / theta.std(ddof=1), 1.0, atol=0.26)
    assert abs(theta.mean() - 1.0) < 4 * stated / np.sqrt(sets) + 0.03  # a bias of order 1 / n
    naive = semi_gradient.fit(data[:10], Anchor(1, 0.0), 0.9, standard_errors="plug_in", **form)
    small = np.sqrt(np.mean([extra(e, "se")[0] ** 2 for e in naive]))
    assert small < 0.65 * stated
    np.testing.assert_array_equal([extra(e, "theta")[0] for e in naive], theta[:10])


@settings(max_examples=60)
@given(paths())
def test_one_hot_solves_the_recursion_of_any_data(data: Transitions) -> None:
    """f(p) = beta mean(gain(p') + f(p')) at every pair that is left, written out row by row."""
    grouped = quadruples(data)
    assume(all(np.any((grouped.left > 0) & (grouped.actions == a)) for a in range(2)))
    problem = make_problem(data, TABLES, choice_probabilities(grouped), 0.8, grouped)
    (learnt,) = SemiGradient("one_hot").learn([problem])
    f = problem.own(learnt.ahead(grouped.states))
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
    data = Quadruples(states, actions, weights, pairs, np.roll(pairs, 1), weights, 2)
    tables = make_tables(lambda s: z[s[:, 0].astype(int)], None, None, 2)
    problem = make_problem(SMALL, tables, lambda s: np.full((len(s), 2), -0.7), 0.5, data)
    none = np.zeros((10, 2, 3))

    def loss(at: Array) -> float:
        logs = log_softmax(z @ at, axis=1)
        return float(np.sum(weights.reshape(5, 2) * logs) / weights.sum())

    tilt = np.array([0.1, -0.2])
    step = 1e-6
    numeric = [(loss(theta + e) - loss(theta - e)) / (2 * step) for e in step * np.eye(2)]
    pi = np.exp(log_softmax(z @ theta, axis=1))
    scores = (z - np.einsum("sa,sak->sk", pi, z)[:, None]).reshape(10, 2)
    np.testing.assert_allclose(problem.mean(scores), numeric, atol=1e-7)
    found = second_step(problem, none, theta, tilt)
    if found.converged:  # the tilted maximum may be at infinity
        logs = np.exp(log_softmax(z @ found.theta, axis=1))
        centred = (z - np.einsum("sa,sak->sk", logs, z)[:, None]).reshape(10, 2)
        np.testing.assert_allclose(found.scores, centred, atol=1e-10)
        np.testing.assert_allclose(problem.mean(centred) + tilt, 0.0, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"cross_fit": True}, {"basis": "hold_out"}])
def test_replications_together_are_as_alone(options: dict[str, Any]) -> None:
    data = BUS.simulate(12, [np.random.default_rng([12, i]) for i in range(3)])
    together = semi_gradient.fit(data, ANCHOR, BETA, **options)
    for one, batch in zip(data, together, strict=True):
        alone = semi_gradient.fit([one], ANCHOR, BETA, **options)[0]
        np.testing.assert_array_equal(extra(batch, "theta"), extra(alone, "theta"))
        np.testing.assert_array_equal(extra(batch, "se"), extra(alone, "se"))
        np.testing.assert_array_equal(batch.q(MDP.features), alone.q(MDP.features))


def test_names_of_actions_do_not_matter() -> None:
    estimate = semi_gradient.fit([SMALL], ANCHOR, BETA)[0]
    renamed = Transitions(
        SMALL.states, 1 - SMALL.actions, SMALL.next_states, SMALL.trajectory, number_of_actions=2
    )
    other = semi_gradient.fit(
        [renamed], Anchor(0, -5.0), BETA, design=lambda s: bus_design(s)[:, ::-1]
    )[0]
    np.testing.assert_allclose(extra(other, "theta"), extra(estimate, "theta"), atol=1e-6)
    wrong = semi_gradient.fit([renamed], Anchor(0, -5.0), BETA)[0]  # control: the form not renamed
    assert np.max(np.abs(extra(wrong, "theta") - extra(estimate, "theta"))) > 0.1


def test_theta_1_given_is_an_offset() -> None:
    estimate = semi_gradient.fit([SMALL], Anchor(1, -4.0), BETA, theta_1_given=True)[0]
    assert extra(estimate, "theta").shape == (1,)
    np.testing.assert_array_equal(estimate.reward(MDP.features, 1), -4.0)
    same = semi_gradient.fit(
        [SMALL],
        Anchor(1, -4.0),
        BETA,
        design=lambda s: bus_design(s)[:, :, :1],
        offset=lambda s: np.broadcast_to([0.0, -4.0], (len(s), 2)),
    )[0]
    np.testing.assert_allclose(extra(same, "theta"), extra(estimate, "theta"), rtol=1e-10)
    np.testing.assert_allclose(same.q(MDP.features), estimate.q(MDP.features), rtol=1e-10)
    right = semi_gradient.fit([LARGE], ANCHOR, BETA, theta_1_given=True)[0]
    assert abs(extra(right, "theta")[0] - 1.0) < 4 * extra(right, "se")[0]
    assert abs(extra(estimate, "theta")[0] - 1.0) > 0.05  # control: -4 is not the truth


def test_cross_fitting_agrees_within_its_sampling_error() -> None:
    plain = semi_gradient.fit([LARGE], ANCHOR, BETA)[0]
    folds = semi_gradient.fit([LARGE], ANCHOR, BETA, cross_fit=True)[0]
    se = extra(plain, "se")
    gap = np.abs(extra(folds, "theta") - extra(plain, "theta"))
    assert np.all(gap < 0.5 * se)
    assert np.all(gap > 0)
    np.testing.assert_allclose(extra(folds, "se"), se, rtol=0.05)


@pytest.mark.parametrize("wrong", ["weights", "trajectories"])
def test_hold_out_weighs_each_error_against_that_of_the_smallest_basis(wrong: str) -> None:
    """Errors by hand. Other weights, or none, would choose another degree; so would errors on the
    trajectories that were learnt from, but on other data.
    """
    seed = {"weights": 3, "trajectories": 9}[wrong]
    data = BusEngine(horizon=20).simulate(10, np.random.default_rng([10, seed]))
    log_choice = choice_probabilities(quadruples(data))
    problem = make_problem(data, TABLES, log_choice, BETA)
    x, actions = data.states[:, 0].reshape(10, 20), data.actions.reshape(10, 20)
    rows = np.arange(200)
    gain = np.zeros((10, 20, 3))
    gain[..., :2] = bus_design(data.states)[rows, data.actions].reshape(10, 20, 2)
    gain[..., 2] = -log_choice(data.states)[rows, data.actions].reshape(10, 20)

    def errors(degree: int, part: slice = slice(8, 10)) -> Array:
        power = x[..., None] ** np.arange(degree + 1)
        phi = np.concatenate([power * (actions == a)[..., None] for a in range(2)], axis=2)
        now, then = (part.reshape(-1, phi.shape[2]) for part in (phi[:8, :-1], phi[:8, 1:]))
        ahead = BETA * gain[:8, 1:].reshape(-1, 3)
        f = phi @ np.linalg.solve(now.T @ (now - BETA * then), now.T @ ahead)
        missed = BETA * (gain[part, 1:] + f[part, 1:]) - f[part, :-1]
        return np.asarray(np.mean(missed**2, axis=(0, 1)))

    kept, held = (make_problem(part, TABLES, log_choice, BETA) for part in data.split(0.8))
    every = np.stack([errors(degree) for degree in (3, 2, 1)])
    for degree, expected in zip((3, 2, 1), every, strict=True):
        basis = make_basis(kept.data, "polynomial", degree)
        learnt = semi_gradient.combine(basis, semi_gradient.solve(basis, kept))
        np.testing.assert_allclose(semi_gradient.td_errors(learnt, held), expected, rtol=1e-7)

    def chosen(table: Array, weights: Array) -> int:
        return 3 - int(np.argmin((table / weights).sum(axis=1)))

    (found,) = SemiGradient("hold_out").learn([problem])
    assert chosen(every, every[-1]) == 1
    if wrong == "weights":
        others = (np.ones(3), every[0], every.mean(axis=0))
        assert [chosen(every, other) for other in others] == [2, 2, 2]
    else:
        learnt_from = np.stack([errors(degree, slice(8)) for degree in (3, 2, 1)])
        assert chosen(learnt_from, learnt_from[-1]) == 3
    assert found.note == "polynomial_1"


def test_the_start_of_the_second_step_does_not_matter() -> None:
    first = semi_gradient.fit([SMALL], ANCHOR, BETA)[0]
    other = semi_gradient.fit([SMALL], ANCHOR, BETA, start=np.array([5.0, -20.0]))[0]
    np.testing.assert_allclose(extra(other, "theta"), extra(first, "theta"), atol=1e-6)
    assert other.diagnostics.converged


def test_dummies_get_a_basis_that_does_not_know_which_feature_matters() -> None:
    data = BusEngine(dummies=10).simulate(40, np.random.default_rng(9))
    grouped = quadruples(data)
    assert candidates(grouped)[0] == ("additive", 2)  # (2 x 21)^2 <= 3,960 < (2 x 31)^2
    estimate = semi_gradient.fit([data], ANCHOR, BETA)[0]
    assert estimate.diagnostics.converged
    assert np.all(np.abs(extra(estimate, "theta") - [1.0, 5.0]) < 5 * extra(estimate, "se"))
    order = np.roll(np.arange(11), 3)  # the mileage in another place
    mixed = Transitions(
        data.states[:, order], data.actions, data.next_states[:, order], data.trajectory
    )
    moved = semi_gradient.fit(
        [mixed], ANCHOR, BETA, design=lambda s: bus_design(s[:, np.argsort(order)])
    )[0]
    np.testing.assert_allclose(extra(moved, "theta"), extra(estimate, "theta"), rtol=1e-5)


@given(st.integers(1, 6), st.integers(1, 3), st.sampled_from(["polynomial", "additive"]))
def test_terms_are_distinct_and_counted(width: int, degree: int, name: str) -> None:
    terms = terms_of(name, degree, width)
    assert len(set(terms)) == len(terms) == number_of_terms(name, degree, width)
    assert all(len(term) <= degree for term in terms)
    assert affordable(101, 2, 100.0) == [("polynomial", 1)]
    assert affordable(101, 2, 1e9) == [("additive", 2), ("polynomial", 1)]  # 5,253 terms are many


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
    problem = make_problem(data, TABLES, choice_probabilities(quadruples(data)), 0.9)
    ahead = SemiGradient("one_hot").learn([problem])[0].ahead(np.array([[1.0], [2.0]]))
    np.testing.assert_allclose(ahead[1], 0.0, atol=1e-12)
    for a in range(2):
        z = bus_design(np.array([[2.0]]))[0][second[first == a]].mean(axis=0)
        np.testing.assert_allclose(ahead[0, a, :2], 0.9 * z, atol=1e-10)


def test_choice_logit_maximises_its_likelihood_and_frequencies_are_counts() -> None:
    grouped = quadruples(SMALL)
    log_choice = choice_probabilities(grouped)
    rows = np.arange(len(SMALL))
    x = SMALL.states[:, 0]

    def likelihood(tilt: Array) -> float:
        logits = log_choice(SMALL.states) + np.stack([np.zeros(len(x)), tilt], axis=1)
        return float(log_softmax(logits, axis=1)[rows, SMALL.actions].mean())

    best = likelihood(np.zeros(len(x)))
    for power in range(4):  # cubic: no direction up to the prior's 1e-3 of an observation
        slope = (likelihood(1e-5 * x**power) - likelihood(-1e-5 * x**power)) / 2e-5
        assert abs(slope) < 1e-4 * float(np.max(x**power))
        assert likelihood(0.3 * (x / x.max()) ** power) < best
    counts = choice_probabilities(grouped, "frequencies", 0.0)(np.array([[3.0]]))
    share = np.mean(SMALL.actions[x == 3.0])
    np.testing.assert_allclose(np.exp(counts[0]), [1 - share, share])


def test_a_parameter_without_effect_is_reported() -> None:
    twice = semi_gradient.fit(
        [SMALL], ANCHOR, BETA, design=lambda s: bus_design(s)[:, :, [0, 1, 0]]
    )[0]
    assert twice.diagnostics.status == UNIDENTIFIED
    assert not twice.diagnostics.converged
    assert np.all(np.isnan(extra(twice, "se")))


def test_registered_extras_are_there() -> None:
    diagnostics = semi_gradient.fit([SMALL], ANCHOR, BETA)[0].diagnostics
    assert diagnostics.extra["inner_iterations"] == 0
    assert 0.3 < float(diagnostics.extra["objective"]) < 0.5  # type: ignore[arg-type]
    assert diagnostics.iterations >= 1
    assert diagnostics.gradient_norm < 1e-7


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"basis": "tabular"}, "basis"),
        ({"degree": 0}, "degree"),
        ({"choices": "network"}, "choices"),
        ({"pseudo_count": -1.0}, "pseudo_count"),
        ({"standard_errors": "bootstrap"}, "standard_errors"),
        ({"standard_errors": "plug_in", "cross_fit": True}, "standard_errors"),
        ({"choices": "frequencies", "pseudo_count": 0.0, "cross_fit": True}, "pseudo_count"),
        ({"start": np.zeros(3)}, "start"),
        ({"theta_1_given": True, "design": bus_design}, "theta_1_given"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        semi_gradient.fit([SMALL], ANCHOR, BETA, **options)
    assert caught.value.field == field


def test_data_without_quadruples_or_without_an_action_name_the_field() -> None:
    with pytest.raises(InputError) as caught:
        semi_gradient.fit([SMALL.take(np.arange(0, 3000, 100))], ANCHOR, BETA)
    assert caught.value.field == "trajectory"
    with pytest.raises(InputError) as caught:
        make_basis(quadruples(SMALL.take(np.arange(2))), "one_hot", 1)
    assert caught.value.field == "actions"
    with pytest.raises(InputError) as caught:
        semi_gradient.fit([SMALL.take(np.arange(100))], ANCHOR, BETA, cross_fit=True)
    assert caught.value.field == "cross_fit"


@pytest.mark.parametrize("seed", [0, 7])
def test_choices_all_but_certain_are_no_convergence(seed: int) -> None:
    """Three short paths: far out every score rounds to zero, which is not a maximum found."""
    data = BusEngine(horizon=6).simulate(3, np.random.default_rng(seed))
    (found,) = semi_gradient.fit([data], Anchor(1, -5.0), 0.95)
    assert not found.diagnostics.converged
    assert found.diagnostics.status == CERTAIN
