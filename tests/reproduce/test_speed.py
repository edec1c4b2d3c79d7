"""The comparison with econirl, which is not installed here: its measurements and its table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from gladius import BusEngine, Transitions
from gladius.metrics import mape
from reproduce import speed


@pytest.mark.parametrize("version", [None, "0.0.9"])
def test_another_version_is_refused(
    version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "installed_version", lambda: version)
    result = CliRunner().invoke(speed.app, ["--out", str(tmp_path / "speed.csv")])
    assert result.exit_code == 2
    assert speed.INSTALL in result.output
    assert not any(tmp_path.iterdir())


def test_processor_time_is_measured_and_the_first_call_is_not() -> None:
    seconds = iter([0.5, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02])

    def prepare() -> Any:
        time.sleep(0.01)  # not timed

        def fit() -> Any:
            end = time.process_time() + next(seconds)
            while time.process_time() < end:
                pass
            return speed.RewardTable(np.zeros((20, 2))), True

        return fit

    error, median, converged = speed.measure(prepare, lambda estimate: 7.0, 0.05)
    assert (error, converged) == (7.0, True)
    assert 0.02 <= median < 0.1


def test_the_reward_table_scores_like_a_hand_count() -> None:
    world = BusEngine()
    states = np.array([[1.0], [3.0], [3.0], [20.0]])
    test = Transitions(states, np.array([0, 0, 1, 1]), np.ones((4, 1)))
    table = np.stack([-1.1 * np.arange(1, 21), np.full(20, -4.0)], axis=1)
    # |r-hat - r| / |r| is 10 % twice and 20 % twice
    assert mape(speed.RewardTable(table), test, world.reward) == pytest.approx(15.0)


def test_our_fits_are_those_of_the_methods() -> None:
    world = BusEngine()
    data = world.simulate(50, np.random.default_rng(0))
    for method in speed.METHODS:
        estimate, converged = speed.ours(world, data, method)()
        assert converged
        assert mape(estimate, data, world.reward) < 15  # in per cent


def test_ratios_are_taken_on_each_data_set() -> None:
    lines = []
    for seed, (error, seconds) in enumerate([(2.0, 10.0), (3.0, 40.0), (8.0, 20.0)]):
        line = {"N": 50, "seed": seed, "method": "NFXP"}
        numbers = {"error": error, "seconds": seconds, "converged": seed < 2}
        lines.append(line | {"library": "econirl"} | numbers)
        lines.append(line | {"library": "ours", "error": 1.0, "seconds": 2.0, "converged": True})
    (row,) = speed.table(pd.DataFrame(lines)).to_numpy().tolist()
    assert row == ["4.33*", "1", "3 [2, 8]", "10 [5, 20]"]
