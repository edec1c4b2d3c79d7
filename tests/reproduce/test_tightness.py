"""The exhibit `tightness`: its losses, its search, its constants, and its files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gladius import BusEngine
from gladius.objective import grouped_risk
from gladius.transitions import group
from proofs_checks.oracle import polyak
from proofs_checks.oracle.risk import Sample
from proofs_checks.worlds import Empirical, empirical
from reproduce import landscape
from reproduce.data import data_sets
from reproduce.exhibits import tightness
from reproduce.landscape import (
    FLAT,
    TERMS,
    Landscape,
    centre,
    lacking,
    least_ratio,
    points,
    sample_of,
    worst_starts,
)
from tests.reproduce.shown import computed, failed, resized, results_of, written

WORLD = BusEngine()
(ENTRY,) = tightness.entries(True)


def bus_sample() -> tuple[Sample, float]:
    """The exhibit's smaller data set, and the library's R_emp at its centre."""
    train, _ = data_sets(WORLD, ENTRY.cell)
    counts = group(train)
    sample = sample_of(counts, WORLD.anchor_action, WORLD.anchor_reward, WORLD.discount)
    reward = np.full(len(counts.states), WORLD.anchor_reward)
    risk = grouped_risk(centre(sample)[None], counts, WORLD.anchor_action, reward, WORLD.discount)
    return sample, float(risk.total()[0])


SAMPLE, RISK = bus_sample()
CENTRE = centre(SAMPLE)


def test_the_centre_has_the_frequencies_and_no_residual() -> None:
    seen = SAMPLE.visits
    p = np.exp(CENTRE - np.log(np.exp(CENTRE).sum(axis=1, keepdims=True)))
    full = np.all(seen > 0, axis=1)
    np.testing.assert_allclose(p[full], (seen / seen.sum(axis=1, keepdims=True))[full])
    assert np.abs(SAMPLE.residual(CENTRE)).max() < 1e-10
    assert lacking(SAMPLE) == np.sum(~full) > 0
    gap = Landscape(SAMPLE, "R_Q", CENTRE).gap(CENTRE.ravel())
    assert gap == pytest.approx(RISK - SAMPLE.entropy(), rel=1e-6)


@given(empirical(max_states=3), st.sampled_from(TERMS))
def test_derivatives_are_differences(at: Empirical, term: str) -> None:
    shape = Landscape(at.sample, term, np.clip(at.q, -5, 5))
    x = shape.start + np.linspace(-0.3, 0.2, shape.start.size)
    scale = 1 + np.abs(at.sample.reward).max() + np.abs(x).max()
    for k, move in enumerate(1e-5 * np.eye(x.size)):
        slope = (shape.gap(x + move) - shape.gap(x - move)) / 2e-5
        assert slope == pytest.approx(shape.gradient(x)[k], abs=1e-8 * scale**2)
        bend = (shape.gradient(x + move) - shape.gradient(x - move)) / 2e-5
        np.testing.assert_allclose(bend, shape.hessian(x)[:, k], atol=1e-7 * scale**2)


@given(empirical(max_states=3), st.sampled_from(TERMS))
def test_gap_is_the_loss_above_its_infimum(at: Empirical, term: str) -> None:
    sample = at.sample
    shape = Landscape(sample, term, at.q)
    losses = {
        "L_BE": sample.bellman(at.q),
        "L_NLL": sample.nll(at.q) - sample.entropy(),
        "R_Q": sample.risk(at.q) - sample.entropy(),
        "F_zeta": 0.0,
    }
    assert shape.gap(shape.start) == pytest.approx(losses[term], abs=1e-9, rel=1e-9)


def test_points_lie_in_the_ball_and_reach_its_border() -> None:
    shape = Landscape(SAMPLE, "R_Q", CENTRE)
    drawn = points(shape, 2.0, 400, np.random.default_rng(0))
    distance = np.linalg.norm(drawn - shape.start, axis=1)
    assert distance.max() <= 2.0
    assert distance.max() > 1.95
    assert distance.min() < 0.05


def search(term: str, radius: float) -> tuple[float, np.ndarray]:
    shape = Landscape(SAMPLE, term, CENTRE)
    drawn = points(shape, radius, 50, np.random.default_rng(1))
    return least_ratio(shape, radius, worst_starts(shape, radius, drawn, 12), 60)


def exact_bellman(radius: float) -> float:
    """The least ratio of L_BE: every anchor move leads to state 0, so that A depends on its choice
    probability alone, and at given A the least ratio is an eigenvalue."""
    assert np.flatnonzero(SAMPLE.law.sum(axis=0)).tolist() == [0]
    found = []
    for move in np.linspace(-1, 1, 801) * radius / math.sqrt(2):
        q = CENTRE.copy()
        q[0] += move, -move
        rows = np.sqrt(SAMPLE.be_weight)[:, None] * SAMPLE.residual_jacobian(q)
        found.append(float(2 * np.linalg.svd(rows, compute_uv=False)[-1] ** 2))
    return min(found)


@pytest.mark.parametrize("radius", [1.0, 10.0])
def test_the_search_finds_the_least_ratio_of_the_bellman_error(radius: float) -> None:
    found, at = search("L_BE", radius)
    least = exact_bellman(radius)
    assert least * (1 - 1e-6) <= found <= 1.3 * least
    assert np.linalg.norm(at - CENTRE.ravel()) <= radius * (1 + 1e-9)


def test_the_search_finds_the_constant_of_a_quadratic() -> None:
    found, _ = search("F_zeta", 1.0)
    assert found == pytest.approx(2 * WORLD.discount**2 * SAMPLE.be_weight.min(), rel=1e-5)


def test_a_ratio_at_the_minimum_is_none() -> None:
    shape = Landscape(SAMPLE, "L_BE", CENTRE)
    assert shape.gap(shape.start) < FLAT
    assert shape.ratio(shape.start) == math.inf


@pytest.mark.parametrize("radius", [0.3, 3.0])
def test_constants_of_a_ball_are_bounds_in_it(radius: float) -> None:
    of = landscape.ball(SAMPLE, CENTRE, radius)
    size = landscape.sizes(SAMPLE, CENTRE, radius)
    shape = Landscape(SAMPLE, "R_Q", CENTRE)
    parallel = []
    for x in points(shape, radius, 60, np.random.default_rng(2)):
        q = x.reshape(CENTRE.shape)
        local = polyak.constants(SAMPLE, q)
        parallel.append(local.parallel)
        p = np.exp(q - np.log(np.exp(q).sum(axis=1, keepdims=True)))
        assert p.min() >= of.least_choice
        assert np.abs(SAMPLE.residual(q)).max() <= size.residual
        slacks = landscape.looseness(SAMPLE, q, of, size)
        assert min(slacks.values()) >= 1 - 1e-9, slacks
    assert max(parallel) <= of.parallel
    log = landscape.log_combined(polyak.constants(SAMPLE, CENTRE), radius)
    # the centre's kappa, not the ball's: at least the ball's constant
    assert log >= math.log10(of.combined) - 1e-9


def test_files_and_their_numbers(tmp_path: Path) -> None:
    entry = resized(ENTRY, points=5, iterations=5, starts=1)
    results = results_of(tightness.EXHIBIT, [entry])
    frame = written(tightness.EXHIBIT, results, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"tightness.png", "tightness_pl.tex"}
    first = computed(entry.cell).result
    series = frame.set_index(["protocol", "statistic"])["value"]
    for radius in (1, 10):
        where = f"measured radius {radius}"
        for term in TERMS:
            promised, found = (
                series[where, f"PL of {term}, {kind}"] for kind in ("appendix", "least found")
            )
            assert 0 < promised <= found * (1 + 1e-9)
        slacks = series[where][series[where].index.str.startswith("slack")]
        assert len(slacks) == 12
        assert (slacks >= 1).all()
        ratios = first.arrays[f"{radius} PL of R_Q"]
        assert slacks["slack, PL of R_Q"] == pytest.approx(ratios.min())
    assert tightness.verdict(tmp_path).startswith("0 of 24 bounds fail")


def test_nothing_is_drawn_where_nothing_was_computed(tmp_path: Path) -> None:
    assert written(tightness.EXHIBIT, failed(tightness.EXHIBIT), tmp_path)["value"].isna().all()
