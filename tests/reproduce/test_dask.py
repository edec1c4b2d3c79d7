"""Cells on a real Dask cluster give the numbers that they give here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gladius.checks import InputError
from reproduce import run as runner
from tests.reproduce.toys import numbers, toy

distributed = pytest.importorskip("distributed", reason="the optional extra dask is not installed")
Run = Callable[..., runner.Outcome]


def test_a_cluster_gives_the_same_numbers_and_a_killed_worker_costs_one_cell(
    run: Run, tmp_path: Path
) -> None:
    mended = tmp_path / "mended"
    exhibit = toy(rows=("10",), trouble={"10A": "kill"}, until=mended)
    first = run(exhibit, dask="local", workers=1)
    ((id_, status),) = first.failed.items()
    assert id_.startswith("10A")
    assert runner.LOST in status
    assert "KilledWorker" in status
    mended.touch()
    assert len(run(exhibit).computed) == 1
    run(exhibit, name="here")
    assert numbers(tmp_path / "out").equals(numbers(tmp_path / "outhere"))


def test_an_address_leads_to_the_cluster_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(processes=False, **options) as cluster:
        monkeypatch.setattr(runner, "_LOADED", {})
        outcome = run(toy(rows=("10",)), dask=cluster.scheduler_address)
    assert len(outcome.computed) == 2
    assert not outcome.failed


def test_no_scheduler_is_a_clear_error(run: Run) -> None:
    with pytest.raises(InputError, match="no scheduler answers there"):
        run(toy(), dask="not an address")
