"""Derivatives of the penalised risk in the outputs, by finite differences; and what it equals."""

import numpy as np
import pytest
from gladius.output_risk import LevelFunction, ScalarLevel
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.objective import grouped_risk
from gladius.transitions import Counts

S, BETA = 4, 0.9


@st.composite
def problems(draw, actions=3):
    """A grid with arbitrary counts and laws, and outputs."""
    moves = draw(arrays(float, (1, actions, S, S), elements=st.integers(0, 5)))
    visits = np.swapaxes(moves.sum(axis=3), 1, 2)
    raw = draw(arrays(float, (1, actions, S, S), elements=st.floats(0.05, 1)))
    seen = moves.sum(axis=3, keepdims=True)
    law = np.where(seen > 0, moves / np.maximum(seen, 1), raw / raw.sum(axis=3, keepdims=True))
    reward = draw(arrays(float, S, elements=st.floats(-3, 3)))
    rough = np.diff(np.eye(S), 2, axis=0)[None]
    penalty = np.array([draw(st.sampled_from([0.0, 1.0, 30.0]))])
    outputs = draw(arrays(float, (1, S, actions), elements=st.floats(-3, 3)))
    counts = Counts(np.arange(S)[:, None].astype(float), visits, moves)
    return counts, (visits, law, reward, BETA, rough, penalty), outputs


@pytest.mark.parametrize("form", [LevelFunction, ScalarLevel])
@given(problems(), arrays(float, (1, S, 3), elements=st.floats(-1, 1)))
@settings(deadline=None)
def test_gradient(form, problem, step):
    _, parts, outputs = problem
    risk = form(*parts)
    found = risk.evaluate(outputs)
    np.testing.assert_allclose(found.value, risk.value(outputs), rtol=1e-10, atol=1e-10)
    h = 1e-5
    by_difference = (risk.value(outputs + h * step) - risk.value(outputs - h * step)) / (2 * h)
    np.testing.assert_allclose(
        found.gradient[0] @ step.ravel(), by_difference[0], rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize("form", [LevelFunction, ScalarLevel])
@given(problems())
@settings(deadline=None)
def test_hessian_is_that_of_the_nll_without_residuals(form, problem):
    """With no penalty (and no Bellman weight) Gauss-Newton is the exact Hessian of the NLL."""
    _, parts, outputs = problem
    parts = (*parts[:-1], np.zeros(1))
    risk = form(*parts) if form is LevelFunction else form(*parts, weight=1e-12)
    h = 1e-5
    found = risk.evaluate(outputs).hessian[0]
    for m in range(found.shape[0]):
        step = np.zeros(outputs.size)
        step[m] = h
        up = risk.evaluate(outputs + step.reshape(outputs.shape)).gradient[0]
        down = risk.evaluate(outputs - step.reshape(outputs.shape)).gradient[0]
        np.testing.assert_allclose(found[:, m], (up - down) / (2 * h), atol=1e-5)


@given(problems())
@settings(deadline=None)
def test_level_function_has_no_bellman_error(problem):
    counts, parts, outputs = problem
    assume(counts.size[0] > 0)
    q, v, reward = LevelFunction(*parts).tables(outputs)
    np.testing.assert_allclose(v, np.log(np.exp(q).sum(axis=2)), atol=1e-8)
    np.testing.assert_allclose(reward[0, :, 0], parts[2], atol=1e-8)
    risk = grouped_risk(q, counts, 0, parts[2], BETA)
    np.testing.assert_allclose(risk.bellman * counts.size, 0, atol=1e-8)


@given(problems())
@settings(deadline=None)
def test_scalar_level_is_the_papers_risk(problem):
    counts, parts, outputs = problem
    assume(counts.size[0] > 0)
    free = ScalarLevel(*parts[:-1], np.zeros(1), weight=2.0)
    risk = grouped_risk(outputs, counts, 0, parts[2], BETA)
    np.testing.assert_allclose(
        free.value(outputs), counts.size * risk.total(2.0), rtol=1e-9, atol=1e-8
    )
