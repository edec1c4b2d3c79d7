"""Where a fit on rows ends: its second derivative, and when it may be called a minimiser."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sparse_fits import ANCHOR, PlainRisk, few_rows, fit_sparse, small_risk

import gladius
from gladius.anchor import Anchor
from gladius.checks import Array
from gladius.curvature import (
    LOCAL,
    MINIMISER,
    NOWHERE,
    STATIONARY,
    curvature,
    has_negative_weights,
    weights_of_states,
)
from gladius.rows import Minimum, Risk, Rows, make_features, minimise
from gladius.screen import Inputs
from gladius.transitions import Transitions


def dense(data: Transitions, risk: Risk) -> tuple[Array, Array, Array]:
    """The distinct states, visits (S, A) and P-tilde (A, S, S), from the rows as they are."""
    plain = PlainRisk(data, risk)
    states = np.unique(np.concatenate([data.states, data.next_states]))
    now, after = (np.searchsorted(states, part[:, 0]) for part in (data.states, data.next_states))
    visits = np.zeros((len(states), 2))
    np.add.at(visits, (now, data.actions), 1.0)
    smoother = np.zeros((2, len(states), len(states)))
    for a in (0, 1):
        phi = risk.zeta[a](torch.tensor(states[:, None])).numpy()
        taken = data.actions == a
        table = phi @ plain.regression[a] * ~data.done[taken]
        for column, t in zip(table.T, after[taken], strict=True):
            smoother[a, :, t] += column
    return states, visits, smoother


@settings(max_examples=20)
@given(arrays(float, 2, elements=st.floats(-3, 3)), st.booleans())
def test_weights_are_those_of_dense_matrices(theta: Array, ended: bool) -> None:
    data = few_rows(ended)
    risk = small_risk(data)
    point, _ = risk.settled(torch.tensor(theta), torch.zeros(2, risk.zeta[0].size).double())
    policy = torch.softmax(risk.q(risk.block, point.theta, point.zeta), dim=1)
    excess, weights = weights_of_states(risk, policy)
    states, visits, smoother = dense(data, risk)
    order = np.searchsorted(states, risk.rows.states[:, 0].numpy())
    expected = visits.sum(axis=1) - 0.9 * np.einsum("sa,ast->t", visits, smoother)
    flow = np.einsum("sa,ast->st", policy.numpy()[np.argsort(order)], smoother)
    resolved = np.linalg.solve(np.eye(len(states)) - 0.9 * flow.T, expected)
    np.testing.assert_allclose(excess.numpy(), expected[order], atol=1e-8)
    np.testing.assert_allclose(weights.numpy(), resolved[order], atol=1e-7)
    assert has_negative_weights(risk) == bool((smoother < -1e-9).any())


@settings(max_examples=6)
@given(arrays(float, 2, elements=st.floats(-2, 2)), arrays(float, 2, elements=st.floats(-1, 1)))
def test_the_second_derivative_is_that_of_the_risk(theta: Array, way: Array) -> None:
    data = few_rows(ended=True)
    risk = small_risk(data)
    point, _ = risk.settled(torch.tensor(theta), torch.zeros(2, risk.zeta[0].size).double())
    policy = torch.softmax(risk.q(risk.block, point.theta, point.zeta), dim=1)
    _, weights = weights_of_states(risk, policy)
    none = torch.zeros_like(risk.rows.visits)
    _, second = risk.derivatives(policy, point.slope, none, weights)
    plain, step = PlainRisk(data, risk), 1e-3
    around = [plain(theta + shift * step * way) for shift in (-1, 0, 1)]
    bend = (around[0] - 2 * around[1] + around[2]) / step**2
    assert float(torch.tensor(way) @ second @ torch.tensor(way)) == pytest.approx(
        bend, rel=2e-3, abs=2e-2
    )


def averaged(data: Transitions, discount: float, anchor: Anchor = ANCHOR) -> Risk:
    """r linear in the state; zeta of an action is the mean of V after it: no weight is negative."""
    scaling = Inputs.of(data.states)
    rows = Rows.of(data, [0], anchor, discount, "cpu")
    zeta = (make_features([0], scaling, [()]),) * 2
    visits = rows.visits.sum(dim=0)
    factor = tuple((1 / count.sqrt()).reshape(1, 1) for count in visits)
    return Risk(rows, make_features([0], scaling, [(), (0,)]), zeta, factor)


def fitted(risk: Risk, theta: Array) -> Minimum:
    return minimise(risk, torch.zeros(2).double(), torch.tensor(theta), torch.zeros(2, 1).double())


@settings(max_examples=20)
@given(arrays(float, 2, elements=st.floats(-2, 2)))
def test_a_minimiser_is_reached_from_anywhere(theta: Array) -> None:
    """Whole cycles of the state: as often left as reached, so that u = (1 - beta) w."""
    states = np.tile([0.0, 1.0, 2.0], 20)[:, None]
    actions = np.tile([0, 1, 1, 0, 0, 1, 0, 0, 1, 1], 6)
    data = Transitions(
        states, actions, np.roll(states, -1, axis=0), np.zeros(60, int), np.zeros(60, bool), 2
    )
    risk = averaged(data, 0.8)
    best, other = fitted(risk, np.zeros(2)), fitted(risk, theta)
    told = curvature(best, best.converged)
    assert told.end == MINIMISER
    assert told.least_excess >= -1e-9
    assert told.negative_visits == 0.0
    assert told.least_eigenvalue > 0
    assert other.converged
    assert other.point.nll == pytest.approx(best.point.nll, abs=1e-5)


def test_negative_control_one_period_is_no_minimiser_even_where_it_is_stationary() -> None:
    """Rows that end in states of no row: u < 0 there, and the risk can be concave."""
    states = np.zeros((40, 1))
    after = np.where(np.arange(40) % 2 == 0, 3.0, -3.0)[:, None]
    data = Transitions(states, np.arange(40) % 2, after, np.arange(40), np.zeros(40, bool), 2)
    scaling = Inputs.of(np.concatenate([states, after]))
    rows = Rows.of(data, [0], Anchor(1, 0.0), 0.9, "cpu")
    zeta = (make_features([0], scaling, [()]),) * 2
    factor = (torch.full((1, 1), 20**-0.5).double(),) * 2
    risk = Risk(rows, make_features([0], scaling, [(0,)]), zeta, factor)
    slopes = torch.linspace(-6, 6, 241).double()
    points = [risk.settled(s.reshape(1), torch.zeros(2, 1).double())[0] for s in slopes]
    ends = {
        float(p.theta): curvature(Minimum(risk, torch.zeros(1).double(), p, 1, 0.0), True)
        for p in points
    }
    concave = [slope for slope, told in ends.items() if told.least_eigenvalue < 0]
    assert concave
    nll = np.array([p.nll for p in points])
    bend = nll[:-2] - 2 * nll[1:-1] + nll[2:]
    clear = np.abs(bend) > 1e-6
    signs = np.array([told.least_eigenvalue for told in ends.values()])[1:-1] > 0
    assert (signs[clear] == (bend[clear] > 0)).all()
    assert {told.end for told in ends.values()} == {LOCAL, STATIONARY}
    assert all(told.least_excess == 1.0 for told in ends.values())  # of 0, which nothing reaches


def test_a_fit_says_where_it_ended() -> None:
    data = gladius.BusEngine().simulate(100, np.random.default_rng(4))
    extra = fit_sparse(data).diagnostics.extra
    assert extra["end"] == LOCAL  # regressions have negative weights
    assert 0 < float(str(extra["least_eigenvalue"])) <= 1
    assert extra["negative_visits"] == 0.0
    risk = small_risk(few_rows(ended=False))
    point = risk.point(torch.zeros(2).double(), torch.zeros(2, risk.zeta[0].size).double())
    unfinished = Minimum(risk, torch.zeros(2).double(), point, 1, np.inf)
    assert curvature(unfinished, unfinished.converged).end == NOWHERE
