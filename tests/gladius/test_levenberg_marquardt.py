"""The network's risk: its derivatives by finite differences, and what it equals."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.levenberg_marquardt import OutputRisk
from gladius.objective import grouped_risk
from gladius.transitions import Counts

S, BETA = 4, 0.9
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
@settings(deadline=None)
def test_gradient(bellman_weight, data, step):
    _, risk, outputs = data.draw(problems(bellman_weight))
    up, down = (risk.evaluate(outputs + sign * STEP * step)[0] for sign in (1, -1))
    gradient = risk.evaluate(outputs)[1][0]
    by_difference = (up - down)[0] / (2 * STEP)
    np.testing.assert_allclose(gradient @ step.ravel(), by_difference, rtol=1e-5, atol=1e-4)


@given(problems(None))
@settings(deadline=None)
def test_level_function_has_no_bellman_error(problem):
    counts, risk, outputs = problem
    assume(counts.size[0] > 0)
    q, v, reward = risk.tables(outputs)
    np.testing.assert_allclose(v, np.log(np.exp(q).sum(axis=2)), atol=1e-8)
    np.testing.assert_allclose(reward[0, :, 0], risk.anchor_reward, atol=1e-8)
    error = grouped_risk(q, counts, 0, risk.anchor_reward, BETA).bellman
    np.testing.assert_allclose(error * counts.size, 0, atol=1e-8)


@given(problems(2.0, penalties=(0.0,)))
@settings(deadline=None)
def test_scalar_level_is_the_papers_risk(problem):
    counts, risk, outputs = problem
    assume(counts.size[0] > 0)
    printed = grouped_risk(outputs, counts, 0, risk.anchor_reward, BETA).total(2.0)
    value = risk.evaluate(outputs)[0]
    np.testing.assert_allclose(value, counts.size * printed, rtol=1e-9, atol=1e-8)
