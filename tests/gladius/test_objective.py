"""The risks: grouped against sampled form, the identities of Section 4, the network's gradient."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

from gladius import InputError, Transitions
from gladius.levenberg_marquardt import OutputRisk
from gladius.objective import (
    bi_conjugate,
    closed_form_level,
    conditional_mean,
    grouped_risk,
    sampled_risk,
)
from gladius.transitions import Counts, group

BETA = 0.9
VALUES = st.floats(-5, 5, width=32)


@st.composite
def worlds(draw):
    """A small data set, Q at its states, an anchor reward for each and a zeta."""
    n, states, actions = draw(st.integers(1, 12)), 4, draw(st.integers(2, 3))
    index = arrays(np.int64, n, elements=st.integers(0, states - 1))
    now, after = draw(index), draw(index)
    chosen = draw(arrays(np.int64, n, elements=st.integers(0, actions - 1)))
    done = draw(arrays(bool, n))
    data = Transitions(
        now[:, None].astype(float),
        chosen,
        after[:, None].astype(float),
        done=done,
        number_of_actions=actions,
    )
    q = draw(arrays(float, (states, actions), elements=VALUES))
    reward = draw(arrays(float, states, elements=VALUES))
    zeta = draw(arrays(float, (states, actions), elements=VALUES))
    return data, now, after, q, reward, zeta


def terms(world, zeta=None):
    data, _, _, q, reward, _ = world
    counts = group(data)
    at = counts.states[:, 0].astype(int)
    table = None if zeta is None else zeta[at][None]
    return counts, at, grouped_risk(q[at][None], counts, 0, reward[at], BETA, table)


@settings(max_examples=60)
@given(worlds())
def test_grouped_form_is_the_sample_average(world):
    data, now, after, q, reward, zeta = world
    _, _, risk = terms(world, zeta)
    rows = sampled_risk(
        q[now], q[after], data.actions, data.done, 0, reward[now], BETA, zeta[now, data.actions]
    )
    np.testing.assert_allclose(risk.nll[0], rows.nll, atol=1e-12)
    np.testing.assert_allclose(risk.td[0], rows.td, atol=1e-10)
    np.testing.assert_allclose(risk.deviation[0], rows.deviation, atol=1e-10)
    np.testing.assert_allclose(risk.bellman[0], rows.bellman, atol=1e-9)
    np.testing.assert_allclose(risk.total()[0], rows.nll + rows.bellman, atol=1e-9)
    np.testing.assert_allclose(risk.total(3.0)[0], rows.nll + 3 * rows.bellman, atol=1e-9)


@settings(max_examples=60)
@given(worlds(), worlds())
def test_replications_do_not_mix(one, two):
    """Two data sets on one grid: each term is that of the data set alone."""
    actions = max(w[0].number_of_actions for w in (one, two))
    sets = [
        Transitions(
            w[0].states, w[0].actions, w[0].next_states, done=w[0].done, number_of_actions=actions
        )
        for w in (one, two)
    ]
    counts = group(sets)
    at = counts.states[:, 0].astype(int)
    q = np.stack([np.pad(w[3], ((0, 0), (0, actions - w[3].shape[1])))[at] for w in (one, two)])
    zeta = np.stack([np.pad(w[5], ((0, 0), (0, actions - w[5].shape[1])))[at] for w in (one, two)])
    reward = one[4][at]
    both = grouped_risk(q, counts, 0, reward, BETA, zeta)
    exact = grouped_risk(q, counts, 0, reward, BETA)
    for r, data in enumerate(sets):
        alone = group(data)
        here = np.searchsorted(counts.states[:, 0], alone.states[:, 0])
        by_itself = grouped_risk(q[[r]][:, here], alone, 0, reward[here], BETA, zeta[[r]][:, here])
        for term in ("nll", "td", "deviation"):
            np.testing.assert_allclose(
                getattr(both, term)[r], getattr(by_itself, term)[0], atol=1e-9
            )
        best = grouped_risk(q[[r]][:, here], alone, 0, reward[here], BETA)
        np.testing.assert_allclose(exact.bellman[r], best.bellman[0], atol=1e-9)


def bellman_by_hand(world):
    """Weighted squared residual of the empirical p_hat, one state after the other."""
    data, now, after, q, reward, _ = world
    total = 0.0
    for s in range(len(q)):
        rows = [i for i in range(len(data)) if now[i] == s and data.actions[i] == 0]
        if rows:
            ahead = [0.0 if data.done[i] else np.log(np.exp(q[after[i]]).sum()) for i in rows]
            total += len(rows) * (reward[s] + BETA * np.mean(ahead) - q[s, 0]) ** 2
    return total / len(data)


@settings(max_examples=60)
@given(worlds())
def test_td_minus_deviation_is_the_squared_bellman_error(world):
    _, _, risk = terms(world)
    np.testing.assert_allclose(risk.bellman[0], bellman_by_hand(world), atol=1e-9)


def test_without_beta_squared_the_identity_fails():
    data = Transitions(np.zeros((2, 1)), np.zeros(2, int), np.array([[0.0], [1.0]]))
    now, after = np.array([0, 0]), np.array([0, 1])
    world = (data, now, after, np.array([[0.0, 1.0], [2.0, 0.0]]), np.zeros(2), None)
    _, _, risk = terms(world)
    assert abs(risk.td[0] - risk.deviation[0] - bellman_by_hand(world)) > 1e-3
    np.testing.assert_allclose(risk.bellman[0], bellman_by_hand(world))


@settings(max_examples=60)
@given(worlds())
def test_exact_zeta_is_the_inner_maximum(world):
    _, _, exact = terms(world)
    _, _, other = terms(world, world[-1])
    assert other.bellman[0] <= exact.bellman[0] + 1e-9


@settings(max_examples=60)
@given(worlds())
def test_conditional_mean_is_the_least_squares_zeta(world):
    data, now, after, q, _, zeta = world
    counts = group(data)
    at = counts.states[:, 0].astype(int)
    v = np.log(np.exp(q).sum(axis=1))
    mean = conditional_mean(v[at][None], counts)[0]
    ahead = np.where(data.done, 0.0, v[after])
    place = {s: i for i, s in enumerate(at)}
    fitted = np.array([mean[place[s], a] for s, a in zip(now, data.actions, strict=True)])
    best = np.sum((ahead - fitted) ** 2)
    assert best <= np.sum((ahead - zeta[now, data.actions]) ** 2) + 1e-9


@given(VALUES, VALUES)
def test_biconjugate_peaks_at_the_mean_residual(delta, h):
    assert bi_conjugate(delta, h) <= delta**2 + 1e-9
    np.testing.assert_allclose(bi_conjugate(delta, delta), delta**2)


@settings(max_examples=50)
@given(arrays(float, (1, 4), elements=VALUES), arrays(float, (1, 4), elements=st.floats(0.1, 5)))
def test_level_minimises_the_squared_residual(residual, weight):
    found = closed_form_level(residual, weight, BETA)[0]
    by_search = minimize_scalar(
        lambda c: np.sum(weight * (residual - (1 - BETA) * c) ** 2), options={"xtol": 1e-12}
    )
    np.testing.assert_allclose(found, by_search.x, atol=1e-4)


def test_the_level_is_each_replication_s_own():
    residual, weight = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[1.0, 1.0], [3.0, 1.0]])
    np.testing.assert_allclose(closed_form_level(residual, weight, 0.5), [3.0, 7.0])


def test_wrong_shape_is_named():
    counts = group(Transitions(np.zeros((2, 1)), np.zeros(2, int), np.zeros((2, 1))))
    with pytest.raises(InputError, match=r"q = \(1, 3, 2\).*give shape \(1, 1, 2\)"):
        grouped_risk(np.zeros((1, 3, 2)), counts, 0, np.zeros(1), BETA)


S = 4
STEP = 1e-5


@st.composite
def problems(draw, bellman_weight, penalties=(0.0, 1.0, 30.0)):
    """Counts on a grid, the risk on them, and outputs; transition probabilities are arbitrary."""
    moves = draw(arrays(float, (1, 3, S, S), elements=st.integers(0, 5)))
    visits = np.swapaxes(moves.sum(axis=3), 1, 2)
    raw = draw(arrays(float, (1, 3, S, S), elements=st.floats(0.05, 1)))
    seen = moves.sum(axis=3, keepdims=True)
    risk = OutputRisk(
        visits=visits,
        transition=np.where(
            seen > 0, moves / np.maximum(seen, 1), raw / raw.sum(axis=3, keepdims=True)
        ),
        anchor_reward=draw(arrays(float, S, elements=st.floats(-3, 3))),
        discount=BETA,
        roughness=np.diff(np.eye(S), 2, axis=0)[None],
        penalty=np.array([draw(st.sampled_from(penalties))]),
        bellman_weight=bellman_weight,
    )
    outputs = draw(arrays(float, (1, S, 3), elements=st.floats(-3, 3)))
    return Counts(np.arange(S)[:, None].astype(float), visits, moves), risk, outputs


@pytest.mark.parametrize("bellman_weight", [None, 1.0, 2.5])
@given(st.data(), arrays(float, (1, S, 3), elements=st.floats(-1, 1)))
@settings(max_examples=50)
def test_gradient(bellman_weight, data, step):
    _, risk, outputs = data.draw(problems(bellman_weight))
    up, down = (risk.evaluate(outputs + sign * STEP * step)[0] for sign in (1, -1))
    gradient = risk.evaluate(outputs)[1][0]
    by_difference = (up - down)[0] / (2 * STEP)
    np.testing.assert_allclose(gradient @ step.ravel(), by_difference, rtol=1e-5, atol=1e-4)


@given(problems(None))
@settings(max_examples=50)
def test_level_function_has_no_bellman_error(problem):
    counts, risk, outputs = problem
    assume(counts.size[0] > 0)
    q, v, reward = risk.tables(outputs)
    np.testing.assert_allclose(v, np.log(np.exp(q).sum(axis=2)), atol=1e-8)
    np.testing.assert_allclose(reward[0, :, 0], risk.anchor_reward, atol=1e-8)
    error = grouped_risk(q, counts, 0, risk.anchor_reward, BETA).bellman
    np.testing.assert_allclose(error * counts.size, 0, atol=1e-8)


@given(problems(2.0, penalties=(0.0,)))
@settings(max_examples=50)
def test_scalar_level_is_the_papers_risk(problem):
    counts, risk, outputs = problem
    assume(counts.size[0] > 0)
    printed = grouped_risk(outputs, counts, 0, risk.anchor_reward, BETA).total(2.0)
    value = risk.evaluate(outputs)[0]
    np.testing.assert_allclose(value, counts.size * printed, rtol=1e-9, atol=1e-8)
