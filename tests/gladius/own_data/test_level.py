"""The level of V against the anchor's choices."""

from collections.abc import Callable
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
import torch
from attack import known, read
from bus_engine import BUS
from designs import mileage, three_together
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit
from sparse_fits import few_rows, fit_sparse, small_risk
from worlds import Array

import gladius
from gladius.own_data.erm.level import DISAGREES, REJECTED, Level, level_of
from gladius.own_data.erm.observations import sparse
from gladius.own_data.erm.observations.risk import ObservationRisk, anchor_path


@cache
def risk_of(ended: bool) -> ObservationRisk:
    return small_risk(few_rows(ended))


@given(arrays(float, 21, elements=st.floats(-5, 5)), st.booleans())
def test_the_path_is_how_the_mean_of_v_follows_what_the_anchor_pays(
    drift: Array, ended: bool
) -> None:
    # V = drift + beta zeta_V is solved by repetition here, and d by one system there
    risk = risk_of(ended)
    rows = risk.rows
    f = torch.tensor(np.resize(drift, len(rows.states)))
    v = f.clone()
    phi, source, reached = risk.phi[1], risk.moves[1][1], risk.moves[1][0]
    for _ in range(250):
        v = f + rows.discount * phi @ (source.T @ v[reached])
    share = rows.seen / rows.seen.sum()
    assert float(anchor_path(risk) @ f) == pytest.approx(float(share @ v), abs=1e-7)


def z_of_a_right_logit(rng: np.random.Generator, *, projects: bool) -> float:
    """The z of choices from the logit that is fitted to them."""
    x = np.linspace(-1, 1, 25)
    design, seen = np.column_stack([np.ones(25), x, x**2]), np.full(25, 40.0)
    taken = rng.binomial(40, expit(design @ [-1.0, 0.8, 0.3])).astype(float)
    theta = np.zeros(3)
    for _ in range(12):
        pi = expit(design @ theta)
        information = design.T @ ((seen * pi * (1 - pi))[:, None] * design)
        theta += np.linalg.solve(information, design.T @ (taken - seen * pi))
    pi = expit(design @ theta)
    slope = (1 - pi)[:, None] * design * projects
    path = np.exp(-8 * (x - 0.7) ** 2)
    return level_of(path, seen, taken, pi, slope, information, information).z


def test_z_is_standard_normal_where_the_class_is_right() -> None:
    rng = np.random.default_rng(0)
    z = np.array([z_of_a_right_logit(rng, projects=True) for _ in range(600)])
    assert abs(z.mean()) < 0.13  # 3 standard errors
    assert z.std() == pytest.approx(1.0, abs=0.09)
    naive = [z_of_a_right_logit(rng, projects=False) for _ in range(100)]
    assert np.std(naive) < 0.75  # what theta explains is counted as noise


def test_shift_is_what_v_lacks_where_all_log_odds_are_off_by_a_constant() -> None:
    path, seen, pi = (
        np.array([4.0, 5.0, 1.0]),
        np.array([300.0, 50.0, 2.0]),
        np.array([0.2, 0.1, 0.1]),
    )
    none, eye = np.zeros((3, 1)), np.eye(1)
    off = level_of(path, seen, 1.05 * seen * pi, pi, none, eye, eye)
    assert off.shift == pytest.approx(-0.05 * path.sum())
    assert level_of(path, seen, seen * pi, pi, none, eye, eye) == Level(0.0, off.error)
    assert Level(2.0, 0.5).is_rejected
    assert not Level(1.9, 0.5).is_rejected
    assert Level(1.0, 0.0).z == 0.0
    assert Level(3.0, 4.0).square == 25.0


def test_inputs_that_matter_three_at_a_time_are_joined_where_the_level_is_rejected() -> None:
    world = three_together()
    data = read(world)
    weights = np.bincount(world.sample(0)["state"], minlength=len(world.x))
    fit = gladius.fit(data, **known(world))
    assert fit.diagnostics.status == "ok"
    assert abs(float(fit.diagnostics.extra["level_z"])) < REJECTED  # type: ignore[arg-type]
    warned = pytest.warns(UserWarning, match="x and month and south: .* along a sum of them")
    with patch.object(sparse, "JOINED", (99, 99)), warned:  # the fit above warns of nothing
        alone = gladius.fit(data, **known(world))
    errors = [
        np.average(np.abs(one.reward(world.x, 0) - world.reward[:, 0]), weights=weights)
        for one in (fit, alone)
    ]
    assert errors[0] < 0.6 * errors[1]
    assert alone.diagnostics.status != "ok"
    assert DISAGREES in alone.diagnostics.extra["not_ok_because"]  # type: ignore[operator]


def test_intervals_allow_for_the_level() -> None:
    data = BUS.simulate(80, rng=3)
    fit = fit_sparse(data)
    extra, states = fit.diagnostics.extra, np.array([[1.0], [6.0]])
    basis = fit.basis
    assert isinstance(basis, sparse.RowFunction)
    assert basis.further is not None
    error = float(extra["level_shift"]) / float(extra["level_z"])  # type: ignore[arg-type]
    square = 0.05**2 * (float(extra["level_shift"]) ** 2 + error**2)  # type: ignore[arg-type]
    assert basis.further == pytest.approx([square, square])
    bare = sparse.replace(basis, further=None).errors(states)
    assert basis.errors(states)[:, 0] ** 2 - bare[:, 0] ** 2 == pytest.approx([square, square])
    assert basis.errors(states)[:, 1] == pytest.approx(0.0)  # the anchor's reward is given


def test_smooth_fits_are_held_against_the_anchor_too(hold_lambda: Callable[[float], None]) -> None:
    data = read(mileage())
    fit = gladius.fit(data, **known(mileage()))
    assert fit.diagnostics.status == "ok"
    assert abs(float(fit.diagnostics.extra["level_z"])) < REJECTED  # type: ignore[arg-type]
    bent = data.take(np.arange(len(data)))
    late = bent.states[:, 0] > 1  # the anchor is more frequent where it leads to
    rng = np.random.default_rng(1)
    actions = np.where(late | (rng.random(len(bent)) > 0.15), bent.actions, 1)
    other = sparse.replace(bent, actions=actions)
    hold_lambda(1e7)
    off = gladius.fit(other, **known(mileage()))
    assert DISAGREES in off.diagnostics.extra["not_ok_because"]  # type: ignore[operator]
