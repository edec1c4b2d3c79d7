"""Scale: the process that fits, its limits, and what is drawn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gladius
from gladius import BusEngine
from gladius.metrics import mape
from gladius.worlds.bus import BUS_REWARD
from reproduce import limits, scale, seeds
from reproduce.exhibits import scale as exhibit
from reproduce.results import Results
from reproduce.spec import Entry, Record, Result
from tests.reproduce.smoke_results import FAILED, stored, written


def test_a_cell_is_the_fit_a_user_would_get() -> None:
    cell = scale.scale_cell("nfxp", 60, 0, {})
    result = scale.compute(cell)
    (record,) = result.records
    world = BusEngine()
    data = scale.joined(list(scale.batches(world, cell)))
    estimate = gladius.fit(
        data, method="nfxp", anchor_action=1, anchor_reward=-5.0, discount=0.95, reward=BUS_REWARD
    )
    (rng,) = seeds.generators(cell, "test")
    assert record.status == "ok"
    assert record.value == pytest.approx(
        mape(estimate, world.simulate(scale.TEST, rng), world.reward), rel=1e-9
    )
    numbers = {name: float(result.arrays[name][0]) for name in scale.MEASURED}
    assert 0 < numbers["cpu_seconds"] < 60
    assert 50 < numbers["idle_mb"] <= numbers["peak_mb"]


def test_batches_are_one_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = scale.scale_cell("gladius", 7, 1, {})
    monkeypatch.setattr(scale, "BATCH", 600)  # three trajectories
    batches = list(scale.batches(BusEngine(dummies=1), cell))
    assert [len(batch) for batch in batches] == [300, 300, 100]
    data = scale.joined(batches)
    np.testing.assert_array_equal(data.trajectory, np.repeat(np.arange(7), 100))
    assert not np.array_equal(batches[0].states, batches[1].states)


@pytest.mark.parametrize(
    ("stopped", "reason"),
    [(limits.TIME, "60 s of processor time"), (limits.MEMORY, "4 GiB"), ("failed: why", "why")],
)
def test_a_fit_past_a_limit_says_so(
    stopped: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "call", lambda *given: limits.LimitedRun(None, stopped))
    (record,) = scale.compute(scale.scale_cell("nfxp", 5, 0, {})).records
    assert reason in record.status
    assert math.isnan(record.value)


def made_up(entry: Entry) -> Any:
    """Time 1e-5 N, memory 300 + N / 100 MiB; NFXP does not fit."""
    if entry.column == "NFXP":
        record = Record("MAPE", math.nan, repetitions=0, status="failed: no memory")
        return stored(Result((record,)))
    n = entry.cell.settings["trajectories"]
    numbers = (1e-5 * n, 2e-5 * n, 300 + n / 100, 300.0)
    arrays = {name: np.array([x]) for name, x in zip(scale.MEASURED, numbers, strict=True)}
    return stored(Result((Record("MAPE", 1.0),), arrays=arrays))


def test_the_exhibit_is_drawn_and_says_what_is_missing(tmp_path: Path) -> None:
    entries = exhibit.EXHIBIT.checked_entries(False)
    written(exhibit.EXHIBIT, Results(entries, [made_up(e) for e in entries], False), tmp_path)
    assert exhibit.verdict(tmp_path) == (
        "GLADIUS, 10,000,000 observations, K = 2: 1 CPU-s, 1.27 GiB"
    )
    assert len(pd.read_csv(tmp_path / "scale_measured.csv")) == len(entries)
    tex = (tmp_path / "scale.tex").read_text()
    assert "100,000 & 1; 1,300 & failed & 1; 1,300" in tex
    assert "10,000 & 0.1; 400 &  &  \\\\" in tex  # the others are measured at two sizes
    assert "NFXP, N = 1,000: failed: no memory." in tex
    written(exhibit.EXHIBIT, Results(entries, [FAILED] * len(entries), False), tmp_path)
    assert exhibit.verdict(tmp_path) == "not run"
