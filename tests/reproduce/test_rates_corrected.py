"""The exhibit `rates_corrected`: its steps against gradients, its predictions, and its files."""

from pathlib import Path

import numpy as np
import pytest

from gladius import BusEngine
from proofs_checks.oracle import polyak, separated
from proofs_checks.oracle.risk import Sample
from reproduce import corrected
from reproduce.corrected import (
    COMPARED,
    METHODS,
    PLAIN,
    TWO_SCALES,
    Paths,
    measured,
    predicted,
    spectra,
)
from reproduce.data import splits
from reproduce.exhibits import rates_corrected
from tests.reproduce.shown import failed, resized, results_of, written

WORLD = BusEngine()


def drawn(trajectories: int = 50) -> list[Sample]:
    rngs = [np.random.default_rng(seed) for seed in range(2)]
    train, _ = splits(WORLD.mdp, WORLD.horizon, trajectories, rngs)
    return [corrected._sample(visits, WORLD) for visits in train.visits]


PARTS = drawn()


def table(run: Paths, r: int) -> np.ndarray:
    n = len(PARTS[r].anchor)
    return np.stack([run.q0[r, :n], run.q1[r, :n]], axis=1)


@pytest.mark.parametrize("two_scales", ["", *TWO_SCALES])
def test_a_step_is_the_gradient_in_its_metric(two_scales: str) -> None:
    run, rng = Paths(PARTS, 0.1, 0.2), np.random.default_rng(0)
    run.q0, run.q1, run.zeta = (rng.normal(size=run.q0.shape) for _ in range(3))
    before, zeta = [table(run, r) for r in range(2)], run.zeta.copy()
    run.descend(two_scales=two_scales)
    for r, part in enumerate(PARTS):
        n = len(part.anchor)

        def loss(q: np.ndarray, part: Sample = part, lagging: np.ndarray = zeta[r, :n]) -> float:
            lag = lagging - polyak.zeta_at(part, q)
            spread = separated.anchor_weight(part) @ lag**2 if two_scales else 0.0
            return separated.gap(part, q) - part.discount**2 * spread

        for k, move in enumerate(1e-5 * np.eye(2 * n)):
            ahead = move.reshape(n, 2)
            slope = (loss(before[r] + ahead) - loss(before[r] - ahead)) / 2e-5
            step = (table(run, r) - before[r]).ravel()[k]
            length = 0.1 / separated.state_weight(part)[k // 2]
            if two_scales in PLAIN:
                length = 0.2
            assert step == pytest.approx(-length * slope, abs=1e-6)


@pytest.mark.parametrize("name", TWO_SCALES)
def test_an_ascent_draws_zeta_to_the_next_value(name: str) -> None:
    run = Paths(PARTS, 0.1, 0.2)
    run.zeta = np.random.default_rng(0).normal(size=run.q0.shape)
    before = run.zeta.copy()
    run.descend(two_scales=name)
    for r, part in enumerate(PARTS):
        n, b = len(part.anchor), separated.anchor_weight(part)
        shares = 2 * 0.2 * b if name == "printed" else 2 * (0.2 if name in PLAIN else 0.1) * b.sum()
        drawn_to = polyak.zeta_at(part, table(run, r)) - before[r, :n]
        np.testing.assert_allclose(run.zeta[r, :n] - before[r, :n], shares * drawn_to, atol=1e-12)


def test_the_level_in_closed_form_is_the_best_shift() -> None:
    run = Paths(PARTS, 0.0, 0.0)
    run.descend(closed=True)
    for r, part in enumerate(PARTS):
        best = separated.gap(part, table(run, r))
        assert best <= min(separated.gap(part, table(run, r) + c) for c in (-0.1, 0.1))


@pytest.mark.parametrize("method", ["steps by visits", *COMPARED])
def test_the_prediction_is_the_rate_near_the_minimiser(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From near it to 1e-11, where the slowest direction is alone; no run from Q = 0 is needed."""
    monkeypatch.setitem(corrected.DONE, method, 1e-11)
    run = Paths(PARTS[:1], 0.3, 0.9)
    start = polyak.solution(PARTS[0])
    rng = np.random.default_rng(1)
    off = 1e-3 * rng.normal(size=start.shape)
    run.q0, run.q1 = (start + off).T[:, None]
    run.zeta = np.tile(polyak.zeta_at(PARTS[0], start), (1, 1))
    most = {"zeta exact": 120_000, "level closed": 12_000}.get(method, 4000)
    steps, distances = run.run(method, most, 200)
    late = distances[0] > 1e-12
    slope = np.polyfit(steps[late][-5:], np.log10(distances[0][late][-5:]), 1)[0]
    assert slope == pytest.approx(predicted(PARTS[0], 0.3, 0.9)[method], rel=0.02)


def test_a_rate_is_that_of_a_geometric_path_and_nan_without_a_decade() -> None:
    steps = np.arange(1.0, 1000.0)
    assert measured(steps, 10 ** (-0.01 * steps), 1e-6) == pytest.approx(-0.01)
    assert np.isnan(measured(steps, np.full(999, 0.5), 1e-6))


def test_without_its_level_a_reset_s_conditioning_is_free_of_the_discount() -> None:
    part = PARTS[0]
    values = [spectra(Sample(part.moves, part.anchor, part.reward, beta)) for beta in (0.5, 0.99)]
    np.testing.assert_allclose(values[0]["level closed"], values[1]["level closed"], rtol=1e-8)
    assert values[0]["zeta exact"][0] > 100 * values[1]["zeta exact"][0]


def test_files_and_their_numbers(tmp_path: Path) -> None:
    paths, conditions, constants = rates_corrected.entries(True)
    short = dict.fromkeys(METHODS, 300)
    asked = [resized(paths, most=short), conditions, resized(constants, levels=[1e-2])]
    frame = written(rates_corrected.EXHIBIT, results_of(rates_corrected.EXHIBIT, asked), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"rates_corrected.png", "rates_corrected_pl.tex"}
    value = frame.set_index(["row", "statistic"])["value"]
    least, most = (value["level 0.01", f"found over proved, {end}"] for end in ("least", "most"))
    assert 1 <= least <= most <= 1.10
    assert "not all measured" in rates_corrected.verdict(tmp_path)


def test_nothing_is_drawn_where_nothing_was_computed(tmp_path: Path) -> None:
    exhibit = rates_corrected.EXHIBIT
    assert written(exhibit, failed(exhibit), tmp_path)["value"].isna().all()
