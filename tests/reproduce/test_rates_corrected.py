"""The exhibit `rates_corrected`: its steps and predictions against the claims', and its files."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from proofs_checks.oracle import separated
from reproduce.corrected import ASCENT, METHODS, after_anchor, descents, spectra
from reproduce.exhibits import rates_corrected
from reproduce.gradients import PRINTED, Tables, decade
from tests.reproduce.shown import failed, resized, results_of, written

PATHS, CONDITIONS, CONSTANTS = rates_corrected.entries(True)


TABLES = Tables.of(resized(PATHS, trajectories=50).cell)


def test_each_repetition_has_a_data_set_of_its_own() -> None:
    assert len(TABLES) == PATHS.cell.settings["repetitions"]
    assert not np.array_equal(TABLES[0].rows, TABLES[1].rows)


def test_an_ascent_by_visits_leaves_the_descent_as_printed() -> None:
    tables, rng = TABLES[0], np.random.default_rng(0)
    before = rng.normal(size=tables.minimiser.shape)
    steps = {name: step for name, (step, _) in descents(tables, 0.1, 0.2).items()}
    after = steps[ASCENT](before)
    mean = tables.with_zeta(before[..., :2])[..., 2:]
    expected = before[..., 2:] + 2 * 0.2 * (mean - before[..., 2:])
    np.testing.assert_allclose(after[..., 2:], expected, atol=1e-12)
    level = before.copy()  # where the printed ascent has nothing to do, its step is the descent
    level[..., 2:] = mean
    printed, mended = (steps[name](level) for name in (PRINTED, ASCENT))
    np.testing.assert_allclose(mended, printed, atol=1e-12)


def test_predictions_are_those_of_the_separated_risk() -> None:
    """The derivative of a step by differences, and the Hessian in the claims' coordinates."""
    tables = TABLES[0]
    steps = {name: step for name, (step, _) in descents(tables, 0.9, 0.3).items()}
    least = {name: values[0] for name, values in spectra(tables.sample).items()}
    length = {"zeta exact": 0.3, "level closed": 0.3, "V closed": 2.0}
    for name, tau in length.items():
        expected = -math.log(10) / math.log(1 - tau * least[name])
        assert decade(tables, steps[name]) == pytest.approx(expected, rel=1e-3)


def test_the_hessian_has_no_curvature_along_a_level_that_is_solved_for() -> None:
    for tables in TABLES:
        full = separated.hessian(tables.sample)
        level = np.ones(len(full))
        rest = separated.profiled(full, level)
        assert np.abs(rest @ level).max() < 1e-12 < level @ full @ level


def test_laws_after_the_anchor() -> None:
    walk = after_anchor("lazy walk", 5)
    np.testing.assert_allclose(walk.sum(axis=1), 1)
    np.testing.assert_allclose(walk, walk.T)
    np.testing.assert_array_equal(after_anchor("reset", 5)[:, 0], 1)


def test_without_its_level_a_reset_s_conditioning_is_free_of_the_discount() -> None:
    sample = TABLES[0].sample
    moves, states = sample.moves.copy(), len(sample.moves)
    rows = np.arange(states), sample.anchor
    moves[rows] = moves[rows].sum(axis=1)[:, None] * after_anchor("reset", states)
    values = [spectra(replace(sample, moves=moves, discount=beta)) for beta in (0.5, 0.99)]
    np.testing.assert_allclose(values[0]["level closed"], values[1]["level closed"], rtol=1e-8)
    assert values[0]["zeta exact"][0] > 100 * values[1]["zeta exact"][0]


def test_files_and_their_numbers(tmp_path: Path) -> None:
    short = dict.fromkeys(METHODS, 300)
    asked = [resized(PATHS, most=short), CONDITIONS, resized(CONSTANTS, levels=[1e-2])]
    frame = written(rates_corrected.EXHIBIT, results_of(rates_corrected.EXHIBIT, asked), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"rates_corrected.png", "rates_corrected_pl.tex"}
    value = frame.set_index(["row", "statistic"])["value"]
    least, most = (
        value["N = 1000, level 0.01", f"found over proved, {end}"] for end in ("least", "most")
    )
    assert 1 <= least <= most <= 1.10
    assert "not all measured" in rates_corrected.verdict(tmp_path)


def test_nothing_is_drawn_where_nothing_was_computed(tmp_path: Path) -> None:
    exhibit = rates_corrected.EXHIBIT
    assert written(exhibit, failed(exhibit), tmp_path)["value"].isna().all()
