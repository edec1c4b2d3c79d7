"""The risks: grouped against sampled form, the identities of Section 4."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius import InputError, Transitions
from gladius.model.risk import bi_conjugate, grouped_risk, sampled_risk
from gladius.panel.record import group

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


@given(VALUES, VALUES)
def test_biconjugate_peaks_at_the_mean_residual(delta, h):
    assert bi_conjugate(delta, h) <= delta**2 + 1e-9
    np.testing.assert_allclose(bi_conjugate(delta, delta), delta**2)


def test_wrong_shape_is_named():
    counts = group(Transitions(np.zeros((2, 1)), np.zeros(2, int), np.zeros((2, 1))))
    with pytest.raises(InputError, match=r"q = \(1, 3, 2\).*give shape \(1, 1, 2\)"):
        grouped_risk(np.zeros((1, 3, 2)), counts, 0, np.zeros(1), BETA)
