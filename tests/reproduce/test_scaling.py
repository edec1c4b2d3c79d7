"""Scale: the process that fits, its limits, the floor, exponents and what is drawn."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gladius
from gladius import folder
from gladius.metrics import mape
from gladius.transitions import Transitions
from reproduce import scaling as fits
from reproduce import seeds
from reproduce.exhibits import scaling
from reproduce.results import Results
from reproduce.spec import NOT_RUN, Entry, Record, Result
from tests.reproduce.shown import FAILED, stored, written

OPTIONS = {"function_class": "sparse"}


def test_a_cell_is_the_fit_a_user_would_get(tmp_path: Path) -> None:
    cell = fits.scaling("gladius", 60, 2, OPTIONS)
    result = fits.compute(cell, "cpu")
    folder.write(tmp_path / "data", fits.parts(cell))
    data = Transitions.open(tmp_path / "data")
    world = fits.world_of(cell)
    estimate = gladius.fit(
        data, anchor_action=1, anchor_reward=-5.0, discount=0.95, function_class="sparse"
    )
    (rng,) = seeds.generators(cell, "test")
    error = mape(estimate, world.simulate(fits.TEST, rng), world.reward)
    (record,) = result.records
    assert record.status == "ok"
    assert record.value == pytest.approx(error, rel=1e-9)
    assert set(result.arrays) == set(fits.MEASURED)
    numbers = {name: float(result.arrays[name][0]) for name in fits.MEASURED}
    assert 0 < numbers["floor_seconds"] < numbers["cpu_seconds"] < 60
    assert 50 < numbers["idle_mb"] <= numbers["peak_mb"]
    assert numbers["read_mb"] * 2**20 == 6000 * 3  # a byte each


def test_parts_are_one_data_set_whatever_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = fits.scaling("gladius", 7, 1, OPTIONS)
    monkeypatch.setattr(fits, "PART", 600)  # three trajectories
    parts = list(fits.parts(cell))
    assert [len(part) for part in parts] == [300, 300, 100]
    labels = np.concatenate([part.trajectory for part in parts])
    np.testing.assert_array_equal(labels, np.repeat(np.arange(7), 100))
    assert not np.array_equal(parts[0].states, parts[1].states)


@pytest.mark.parametrize(
    ("limit", "value", "told"),
    [("SECONDS", 1, "processor time"), ("MEMORY", 0.01, "MemoryError: Unable to allocate")],
)
def test_a_fit_past_a_limit_is_stopped_and_says_so(
    limit: str, value: float, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are those of the child's module, so the child is given a copy that has them."""
    run = subprocess.run

    def limited(command: list[str], **options: Any) -> Any:
        code = (
            "import json, sys; from reproduce import scaling as s; "
            f"s.{limit} = {value}; print(json.dumps(s.main({command[-1]!r}, json.load(sys.stdin))))"
        )
        # columns on disk are no arrays until they are read, which checked shapes would refuse
        plain = {k: v for k, v in os.environ.items() if k != "GLADIUS_CHECK_SHAPES"}
        return run([command[0], "-c", code], **options | {"env": plain})

    monkeypatch.setattr(subprocess, "run", limited)
    cell = fits.scaling("pqr", 1000, 2, {})
    (record,) = fits.compute(cell, "cpu").records
    assert told in record.status
    assert math.isnan(record.value)


def test_a_fault_of_the_process_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="ended with 1: it wrote nothing"):
        fits.compute(fits.scaling("gladius", 5, 0, OPTIONS), "cpu")


def test_no_gpu_no_measurement() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    cell = fits.scaling("gladius", 5, 0, {**OPTIONS, "device": "cuda"})
    (record,) = fits.compute(cell, "cpu").records
    assert record.status == NOT_RUN


def test_the_floor_grows_with_what_must_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the rows, at the same speed of a product of one shape."""
    assert fits.fastest(lambda: sum(range(100_000))) > 0
    monkeypatch.setattr(fits, "fastest", lambda work: 0.01)
    monkeypatch.setattr(fits, "CHUNK", 11_000)  # of so many numbers
    small, large = fits.floor(10_000, 11, 1), fits.floor(40_000, 11, 8)
    assert large["gflop"] == pytest.approx(4 * small["gflop"])
    assert large["read_mb"] == pytest.approx(32 * small["read_mb"])
    assert large["floor_seconds"] == pytest.approx(4 * small["floor_seconds"])


@given(
    st.floats(-2, 2),
    st.floats(-3, 3),
    st.lists(st.floats(1, 1e5), min_size=3, max_size=6, unique=True),
)
def test_a_power_has_its_exponent_and_no_error(b: float, a: float, points: list[float]) -> None:
    x = np.array(points)
    if np.ptp(np.log(x)) < 0.1:
        return
    found, se = scaling.slope(x, np.exp(a) * x**b)
    assert found == pytest.approx(b, abs=1e-6)
    assert se == pytest.approx(0, abs=1e-6)
    doubled = np.append(x, x), np.append(np.exp(a) * x**b * 2, np.exp(a) * x**b / 2)
    assert scaling.slope(*doubled)[1] > 0.01  # noise shows


def made_up(entry: Entry) -> Any:
    """Time 1e-5 N (1 + K)^2, memory 300 + N / 100 MiB; one floor is wrong by a coarse clock."""
    n, k = map(int, entry.row.split("/"))
    if entry.protocol.endswith("cuda"):
        return stored(Result((Record("MAPE", math.nan, repetitions=0, status=NOT_RUN),)))
    if entry.column == "NFXP" and k:
        told = "failed: InputError: states = 'many': the states hardly repeat, so that"
        return stored(Result((Record("MAPE", math.nan, repetitions=0, status=told),)))
    seconds = 1e-5 * n * (1 + k) ** 2
    floor = 1e-7 * n * (0.01 if entry.row == "10000/0" else 1)
    numbers = (seconds, 2 * seconds, 300 + n / 100, 300.0, floor, 1.0, 1e-6 * n)
    arrays = {name: np.array([x]) for name, x in zip(fits.MEASURED, numbers, strict=True)}
    return stored(Result((Record("MAPE", 1.0),), arrays=arrays))


def test_the_exhibit_is_drawn_and_says_what_is_missing(tmp_path: Path) -> None:
    entries = scaling.EXHIBIT.checked_entries(False)
    results = Results(entries, [made_up(entry) for entry in entries], False)
    frame = scaling.measured(results)
    run = frame.dropna(subset=["floor_seconds"])
    assert "10000/0" in {entry.row for entry in entries}
    np.testing.assert_allclose(run["floor_seconds"], 1e-7 * run["N"])
    shown = scaling.exponents(frame, {"N": 1000, "K": 10})
    assert shown.loc["GLADIUS sparse", "time in N"] == "1.00 (0.00)"
    assert shown.loc["GLADIUS sparse", "memory in N"] == "1.00 (0.00)"
    in_k = str(shown["time in K"]["GLADIUS sparse"])
    assert float(in_k.split()[0]) == pytest.approx(1.97, abs=0.04)
    assert shown.loc["NFXP", "time in K"] == "-"
    cells = scaling.table(frame)
    assert cells.loc["1,000/2", ("NFXP", "")] == "does not fit"
    assert cells.loc["100,000/10", ("GLADIUS", "sparse cuda")] == "not measured"
    on_gpu = frame[frame["protocol"] == "leak_free sparse"].assign(protocol="sparse cuda")
    assert scaling.cell_text(on_gpu).endswith("by the clock; 301")
    assert any("hardly repeat (" in note for note in scaling.notes(frame))
    written(scaling.EXHIBIT, results, tmp_path)
    assert scaling.verdict(tmp_path).startswith("1e+07 rows, K = 10: 121 CPU-s")
    again = pd.read_csv(tmp_path / "scaling_measured.csv")
    assert len(again) == len(entries)
    failing = Results(entries, [FAILED] * len(entries), False)
    written(scaling.EXHIBIT, failing, tmp_path / "failed")


def test_smoke_entries_are_small_and_every_method_has_one() -> None:
    entries = scaling.EXHIBIT.checked_entries(True)
    assert {e.column for e in entries} == {how.column for how in scaling.METHODS}
    assert max(e.cell.settings["trajectories"] for e in entries) <= 60
