"""Cells on a real Dask cluster give the numbers that they give here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gladius.checks import InputError
from reproduce import run as runner
from reproduce.provenance import ROOT
from tests.reproduce.toys import numbers, toy

dask = pytest.importorskip("dask", reason="the optional extra dask is not installed")
distributed = pytest.importorskip("distributed", reason="the optional extra dask is not installed")
Run = Callable[..., runner.Outcome]


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Of a cluster of one worker process, from which the first loss of a cell is reported."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    once = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with once, distributed.LocalCluster(**options) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_gives_the_same_numbers_and_a_killed_worker_costs_one_cell(
    run: Run, tmp_path: Path, address: str
) -> None:
    mended = tmp_path / "mended"
    exhibit = toy(rows=("10",), trouble={"10A": "kill"}, until=mended)
    first = run(exhibit, dask=address)
    ((id_, status),) = first.failed.items()
    assert id_.startswith("10A")
    assert runner.LOST in status
    assert "KilledWorker" in status
    mended.touch()
    assert len(run(exhibit).computed) == 1
    run(exhibit, name="here")
    assert numbers(tmp_path / "out").equals(numbers(tmp_path / "outhere"))


def test_no_scheduler_is_a_clear_error(run: Run) -> None:
    with pytest.raises(InputError, match="no scheduler answers there"):
        run(toy(), dask="not an address")
