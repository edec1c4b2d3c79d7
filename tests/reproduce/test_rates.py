"""The exhibit of rates: its world, its minimisers and its steps, each against a second route."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from gladius.checks import Array
from gladius.objective import conditional_mean, grouped_risk, value
from gladius.stability import expected_counts
from gladius.transitions import Counts
from reproduce import data, exhibits, short_bus
from reproduce.exhibits import rates
from tests.reproduce.shown import resized, results_of, written

DISCOUNTS = pytest.mark.parametrize("discount", rates.BETAS)


def generators(number: int) -> list[np.random.Generator]:
    return [np.random.default_rng(s) for s in np.random.SeedSequence(11).spawn(number)]


def drawn(discount: float, trajectories: int, number: int) -> Counts:
    world = short_bus.world(discount).mdp
    moves = [data.moves(world, 100, (trajectories,), rng)[0] for rng in generators(number)]
    return data.counted(world, np.stack(moves))


@DISCOUNTS
def test_the_truth_is_in_the_class_of_three_parameters(discount: float) -> None:
    q = short_bus.world(discount).mdp.solution.q
    assert q[:, 0] - q[:, 1] == pytest.approx(3 - np.arange(1.0, 6.0))
    assert np.ptp(q[:, 1]) < 1e-9
    assert np.diff(q[:, 0]) == pytest.approx(np.full(4, -1.0))


@given(st.floats(-3, 3), st.floats(0.1, 10))
def test_a_power_law_has_its_exponent(exponent: float, level: float) -> None:
    x = np.array([1.0, 3.0, 10.0, 30.0])
    exact = level * x**exponent * np.array([[0.5], [1.0], [1.5]])
    slope, se = short_bus.log_slope(x, exact)
    assert slope == pytest.approx(exponent, abs=1e-9)
    assert se < 1e-9  # repetitions that differ in level alone say the same of the slope


def test_the_error_of_a_slope_is_its_spread_over_replications() -> None:
    x, rng = np.array([1.0, 2.0, 4.0, 8.0]), np.random.default_rng(0)
    drawn = x**-1 * rng.gamma(4.0, 0.25, (300, 50, 4))
    found = np.array([short_bus.log_slope(x, one) for one in drawn])
    assert found[:, 0].mean() == pytest.approx(-1, abs=0.01)
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(ddof=1), rel=0.1)


@DISCOUNTS
def test_population_errors_are_the_risk_s(discount: float) -> None:
    world = short_bus.world(discount)
    star = world.mdp.solution.q
    noise = np.random.default_rng(1).normal(size=(3, *star.shape))
    q = np.concatenate([star[None], star + noise])
    errors = short_bus.population_errors(world, q[:, :, None])
    assert np.abs(errors[0]).max() < 1e-9
    expected = expected_counts(world.mdp, 100)
    many = Counts(
        expected.states, np.repeat(expected.visits, 4, axis=0), np.repeat(expected.moves, 4, axis=0)
    )
    risk = grouped_risk(q, many, 1, world.mdp.reward[:, 1], discount).total()
    assert errors[1:, 0] == pytest.approx(risk[1:] - risk[0], rel=1e-9)
    law = world.mdp.occupancy(100)
    assert errors[1:, 1] == pytest.approx([float(np.sum(law * e**2)) for e in noise])


@DISCOUNTS
def test_tables_attain_the_least_risk(discount: float) -> None:
    counts = drawn(discount, 200, 3)
    q = short_bus.tabular_minimisers(counts, discount, 10.0)
    reward = np.full(5, -5.0)
    risk = grouped_risk(q, counts, 1, reward, discount)
    assert risk.total() == pytest.approx(short_bus._entropy(counts), rel=1e-9)
    assert np.abs(risk.bellman).max() < 1e-8
    # what was never seen stays at zero log-odds, what was always done at the limit
    counts.visits[:, 4], counts.moves[:, :, 4] = 0.0, 0.0
    counts.visits[:, 3, 1], counts.moves[:, 1, 3] = 0.0, 0.0
    odds = np.subtract(*np.moveaxis(short_bus.tabular_minimisers(counts, discount, 2.5), 2, 0))
    assert odds[:, 4].tolist() == pytest.approx([0.0] * 3)
    assert odds[:, 3].tolist() == pytest.approx([2.5] * 3)


@DISCOUNTS
def test_three_parameters_attain_their_least_risk(discount: float) -> None:
    counts = drawn(discount, 30, 2)
    q, converged = short_bus.linear_minimisers(counts, discount)
    assert np.all(converged)
    reward, x = np.full(5, -5.0), np.arange(1.0, 6.0)
    for r in range(2):
        one = Counts(counts.states, counts.visits[r : r + 1], counts.moves[r : r + 1])

        def risk(t: Array, one: Counts = one) -> float:
            table = np.stack([t[0] + t[1] * x, np.full(5, t[2])], axis=1)
            return float(grouped_risk(table[None], one, 1, reward, discount).total()[0])

        start = np.array([q[r, 0, 0], -1.0, q[r, 0, 1]]) + 0.1
        best = minimize(risk, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15})
        slope = q[r, 1, 0] - q[r, 0, 0]
        found = np.array([q[r, 0, 0] - slope, slope, q[r, 0, 1]])
        assert risk(found) <= best.fun + 1e-12


def test_the_constants_of_the_steps_are_those_of_the_hessian() -> None:
    world = short_bus.world(0.5)
    c_1, c_2 = short_bus.step_constants(world, np.eye(10))
    counts = expected_counts(world.mdp, 100)
    star, reward = world.mdp.solution.q, np.full(5, -5.0)

    def risk(q: Array) -> float:
        return float(grouped_risk(q[None], counts, 1, reward, 0.5).total()[0])

    step = 1e-3

    def bend(i: Array, j: Array) -> float:
        same, apart = step * (i + j), step * (i - j)
        total = risk(star + same) - risk(star + apart) - risk(star - apart) + risk(star - same)
        return total / (4 * step**2)

    axes = np.eye(10).reshape(10, 5, 2)
    values = np.linalg.eigvalsh([[bend(i, j) for j in axes] for i in axes])
    assert c_1 == pytest.approx(4 / values[0], rel=1e-3)
    assert c_1 / c_2 == pytest.approx(1 / values[-1], rel=1e-3)


STEPS: dict[str, Any] = {"trajectories": 50, "batch": 100, "zeta_scale": 1.0, "ratio": 1.0}


def short(discount: float, **changed: float) -> tuple[Array, float]:
    """Gap at T = 20 and 400, and the share that diverged."""
    asked: dict[str, Any] = {**STEPS, "features": 0, "checkpoints": [20, 400], **changed}
    gaps, gone, _ = short_bus.descend(short_bus.world(discount), generators(3), **asked)
    return gaps, float(gone.mean())


def test_half_the_length_of_zeta_s_features_makes_one_schedule_diverge() -> None:
    slow, lost = short(0.95, zeta_scale=0.5)
    assert lost == 1.0
    assert np.all(np.isinf(slow[:, -1]))
    fast, kept = short(0.95, zeta_scale=0.5, ratio=40.0)
    assert kept == 0.0
    assert np.all(fast[:, -1] < fast[:, 0])


@pytest.mark.parametrize("ratio", [1.0, math.inf])
def test_the_gap_falls_and_is_the_same_again(ratio: float) -> None:
    first, lost = short(0.5, ratio=ratio)
    assert lost == 0.0
    assert np.all(first[:, 1] < first[:, 0])
    assert np.all(first >= -1e-12)
    assert np.array_equal(first, short(0.5, ratio=ratio)[0])


def test_a_repetition_s_run_does_not_depend_on_the_others() -> None:
    def gaps(number: int) -> Array:
        rngs, asked = generators(3)[:number], {**STEPS, "checkpoints": [50], "features": 20}
        return short_bus.descend(short_bus.world(0.5), rngs, **asked)[0]

    assert gaps(3)[0] == pytest.approx(gaps(1)[0], rel=1e-10)


def test_levels_interpolate_with_the_least_norm() -> None:
    rng = np.random.default_rng(4)
    anchored = rng.random((3, 6)) < 0.5
    odds = np.zeros((3, 7))
    odds[:, :-1] = np.where(anchored, -4.0, 4.0)
    found = short_bus._levels(anchored, odds, 0.9)
    for path in range(3):
        rows = np.flatnonzero(anchored[path])
        system = np.zeros((len(rows), 7))
        system[np.arange(len(rows)), rows] = 1.0
        system[np.arange(len(rows)), rows + 1] = -0.9
        spread = np.log(2 * np.cosh(odds[path] / 2))
        right = -5.0 + 0.9 * spread[rows + 1] + odds[path, rows] / 2
        assert found[path] == pytest.approx(np.linalg.lstsq(system, right, rcond=None)[0])
    # hence no TD error on any anchor row
    q = np.stack([found + odds / 2, found - odds / 2], axis=2)
    td = -5.0 + 0.9 * value(q)[:, 1:] - q[:, :-1, 1]
    assert np.abs(td[anchored]).max() < 1e-10


def test_nearest_neighbours_have_the_errors_of_a_fine_grid() -> None:
    world, rng = short_bus.world(0.5), np.random.default_rng(5)
    mileage, u, tables = rng.integers(0, 4, 30), rng.random(30), rng.normal(size=(30, 2)) - 8
    found = short_bus._nearest_errors(world, tables, mileage, u)
    points = (np.arange(20_000) + 0.5) / 20_000
    q = np.zeros((1, 5, len(points), 2))
    for x in range(4):
        here = np.flatnonzero(mileage == x)
        q[0, x] = tables[here[np.abs(points[:, None] - u[here]).argmin(axis=1)]]
    fine = short_bus.population_errors(world, q, np.full(q.shape[:3], 1 / len(points)))[0]
    assert found == pytest.approx(fine, rel=1e-3)


def test_where_states_never_repeat_more_data_do_not_help() -> None:
    world = short_bus.world(0.95)
    errors, seen_again = [], []
    for n in (10, 200):
        found = [short_bus.interpolating_errors(world, n, 4.0, rng) for rng in generators(8)]
        errors.append(np.mean(found, axis=0))
        q = short_bus.tabular_minimisers(drawn(0.95, n, 8), 0.95, 10.0)[:, :, None]
        seen_again.append(short_bus.population_errors(world, q).mean(axis=0))
    assert errors[1] == pytest.approx(errors[0], rel=0.1)
    assert np.all(seen_again[1] < 0.2 * seen_again[0])


@pytest.mark.parametrize("smoke", [True, False])
def test_specs_are_valid(smoke: bool) -> None:
    entries = exhibits.load("rates").checked_entries(smoke)
    assert len(entries) == 22
    cells = [e.cell for e in entries if e.column == rates.DATA]
    assert smoke or min(cell.repetitions for cell in cells) >= 40
    assert smoke or all(len(cell.settings["sizes"]) == 6 for cell in cells)


def test_the_exhibit_is_written_with_its_verdicts(tmp_path: Path) -> None:
    asked = [resized(e, repetitions=3) for e in rates.entries(True) if "beta 0.95" in e.row]
    written(rates.EXHIBIT, results_of(rates.EXHIBIT, asked), tmp_path)
    said = {
        (one["row"], one["column"], one["statistic"]): one
        for _, one in pd.read_csv(tmp_path / "rates_slopes.csv").iterrows()
    }
    halved = said["T, linear, zeta/2, beta 0.95", "one schedule", "slope of gap"]
    assert halved["verdict"] == rates.GONE
    assert math.isnan(halved["value"])
    slow = said["T, tabular, beta 0.95", "profiled", "slope of gap"]
    assert slow["verdict"] == rates.LATE
    never = said["N, never repeats, beta 0.95", rates.DATA, "slope of excess risk"]
    assert never["verdict"] == "no"
    assert "diverged" in rates.summary(tmp_path)


def test_the_conditional_mean_is_what_the_profiled_steps_use() -> None:
    """With zeta exact the library's term is the squared Bellman error of the observed law."""
    counts = drawn(0.5, 20, 1)
    q = np.random.default_rng(6).normal(size=(1, 5, 2))
    zeta = conditional_mean(value(q), counts)
    risk = grouped_risk(q, counts, 1, np.full(5, -5.0), 0.5, zeta)
    residual = -5.0 + 0.5 * zeta[0, :, 1] - q[0, :, 1]
    assert risk.bellman[0] == pytest.approx(counts.visits[0, :, 1] @ residual**2 / counts.size[0])
