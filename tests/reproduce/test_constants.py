"""The exhibit `constants`: its losses, its search, the chain's steps, and its files."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gladius import BusEngine
from gladius.model.risk import grouped_risk
from gladius.panel.record import group
from proofs_checks.claims.instances import Empirical, empirical
from proofs_checks.oracle import polyak, separated
from proofs_checks.oracle.risk import Sample
from reproduce.cells import loss_bounds as landscape
from reproduce.cells.corrected import ASCENT, PRINTED, descents
from reproduce.cells.data import data_sets
from reproduce.cells.loss_bounds import (
    TERMS,
    Landscape,
    centre,
    lacking,
    least_ratio,
    points,
    sample_of,
    worst_starts,
)
from reproduce.cells.step_sizes import Tables, decade
from reproduce.drawing.notes import alt
from reproduce.exhibits import constants
from tests.reproduce.smoke_results import computed, resized, results_of, written

WORLD = BusEngine()
BALLS, PATHS, BELOW = constants.entries(True)


def bus_sample() -> tuple[Sample, float]:
    """The exhibit's smaller data set, and the library's R_emp at its centre."""
    train, _ = data_sets(WORLD, BALLS.cell)
    counts = group(train)
    sample = sample_of(counts, WORLD)
    reward = np.full(len(counts.states), WORLD.anchor_reward)
    risk = grouped_risk(centre(sample)[None], counts, WORLD.anchor_action, reward, WORLD.discount)
    return sample, float(risk.total()[0])


SAMPLE, RISK = bus_sample()
CENTRE = centre(SAMPLE)


def test_the_centre_has_the_frequencies_and_no_residual() -> None:
    visits = SAMPLE.visits
    p = np.exp(CENTRE - np.log(np.exp(CENTRE).sum(axis=1, keepdims=True)))
    full = np.all(visits > 0, axis=1)
    np.testing.assert_allclose(p[full], (visits / visits.sum(axis=1, keepdims=True))[full])
    assert np.abs(SAMPLE.residual(CENTRE)).max() < 1e-10
    assert lacking(SAMPLE) == np.sum(~full) > 0
    gap = Landscape(SAMPLE, "R_Q", CENTRE).gap(CENTRE.ravel())
    assert gap == pytest.approx(RISK - SAMPLE.entropy(), rel=1e-6)


@given(empirical(max_states=3), st.sampled_from(TERMS))
def test_derivatives_are_differences(at: Empirical, term: str) -> None:
    shape = Landscape(at.sample, term, np.clip(at.q, -5, 5))
    x = shape.start + np.linspace(-0.3, 0.2, shape.start.size)
    scale = 1 + np.abs(at.sample.reward).max() + np.abs(x).max()
    for k, shift in enumerate(1e-5 * np.eye(x.size)):
        slope = (shape.gap(x + shift) - shape.gap(x - shift)) / 2e-5
        assert slope == pytest.approx(shape.gradient(x)[k], abs=1e-8 * scale**2)
        curvature = (shape.gradient(x + shift) - shape.gradient(x - shift)) / 2e-5
        np.testing.assert_allclose(curvature, shape.hessian(x)[:, k], atol=1e-7 * scale**2)


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


def search(term: str, radius: float) -> tuple[float, np.ndarray]:
    shape = Landscape(SAMPLE, term, CENTRE)
    drawn = points(shape, radius, 50, np.random.default_rng(1))
    return least_ratio(shape, radius, worst_starts(shape, radius, drawn, 12), 60)


def exact_bellman(radius: float) -> float:
    """The least ratio of L_BE: every anchor shift leads to state 0, so that A depends on its choice
    probability alone, and at given A the least ratio is an eigenvalue."""
    assert np.flatnonzero(SAMPLE.transition.sum(axis=0)).tolist() == [0]
    found = []
    for shift in np.linspace(-1, 1, 801) * radius / math.sqrt(2):
        q = CENTRE.copy()
        q[0] += shift, -shift
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


TABLES = Tables.of(resized(PATHS, trajectories=50).cell)[0]


def test_an_ascent_by_visits_leaves_the_descent_as_printed() -> None:
    before = np.random.default_rng(0).normal(size=TABLES.minimiser.shape)
    steps = {name: step for name, (step, _) in descents(TABLES, 0.1, 0.2).items()}
    after = steps[ASCENT](before, 1)
    mean = TABLES.with_zeta(before[..., :2])[..., 2:]
    expected = before[..., 2:] + 2 * 0.2 * (mean - before[..., 2:])
    np.testing.assert_allclose(after[..., 2:], expected, atol=1e-12)
    exact = before.copy()  # zeta is its maximiser: only the descent changes the tables
    exact[..., 2:] = mean
    printed, corrected = (steps[name](exact, 1) for name in (PRINTED, ASCENT))
    np.testing.assert_allclose(corrected, printed, atol=1e-12)


def test_predictions_are_those_of_the_separated_risk() -> None:
    """The derivative of a step by differences, and the Hessian in the claims' coordinates."""
    sample = TABLES.sample
    root = np.sqrt(np.repeat(separated.state_weight(sample), 2))
    full = separated.hessian(sample) / root[:, None] / root
    pi = sample.choices[:, 0]
    least = {
        "zeta exact": 0.3 * np.linalg.eigvalsh(full)[0],
        "level closed": 0.3 * np.linalg.eigvalsh(separated.profiled(full, root))[1],
        "V closed": 4 * (pi * (1 - pi)).min(),
    }
    for name, (step, _) in descents(TABLES, 0.9, 0.3).items():
        if name in least:
            expected = -math.log(10) / math.log(1 - least[name])
            assert decade(TABLES, step) == pytest.approx(expected, rel=1e-3)


def test_files_and_their_numbers(tmp_path: Path) -> None:
    entries = [BALLS, PATHS, BELOW]
    frame = written(constants.EXHIBIT, results_of(constants.EXHIBIT, entries), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"constants.png", "constants_shift.png", "constants_pl.tex"}
    assert alt(tmp_path / "constants_shift.png").startswith("At a fixed zeta the objective bends")
    value = frame.set_index(["protocol", "statistic"])["value"]
    for radius in (1, 10):
        where = f"measured radius {radius}"
        for term in TERMS:
            promised = value[where, f"PL of {term}, appendix"]
            assert 0 < promised <= value[where, f"PL of {term}, least found"] * (1 + 1e-9)
        slacks = value[where][value[where].index.str.startswith("slack")]
        assert len(slacks) == 12
        assert (slacks >= 1).all()
        ratios = computed(BALLS.cell).result.arrays[f"{radius} PL of R_Q"]
        assert slacks["slack, PL of R_Q"] == pytest.approx(ratios.min())
    value = frame.set_index(["row", "statistic"])["value"]
    least, most = (
        value["N = 1000, level 0.01", f"found over proved, {end}"] for end in ("least", "most")
    )
    assert 1 <= least <= most <= 1.10
    verdict = constants.verdict(tmp_path)
    assert "0 of 24 bounds fail" in verdict
    assert "not all measured" in verdict
    wrong = frame.assign(value=frame["value"].where(~frame["statistic"].str.startswith("slack"), 0))
    wrong.to_csv(tmp_path / "constants.csv", index=False)  # the control
    assert "24 of 24 bounds fail" in constants.verdict(tmp_path)
