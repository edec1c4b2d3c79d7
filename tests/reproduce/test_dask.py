"""Cells on a real Dask cluster give the numbers that they give here."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gladius.checks import InputError
from reproduce import run as runner
from reproduce.fits import fitting
from reproduce.provenance import ROOT
from reproduce.spec import Entry, Exhibit
from tests.reproduce.toys import files, numbers, toy

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


def test_a_cluster_that_loses_a_worker_midway_writes_the_same_bytes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two worker processes, one of them killed in its cell; dask gives that cell to another."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    killed = tmp_path / "killed"
    exhibit = toy(trouble={"20A": "kill once"}, until=killed)
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        outcome = run(exhibit, dask=cluster.scheduler_address)
    assert killed.exists()
    assert (len(outcome.computed), outcome.failed) == (6, {})
    run(exhibit, name="here")
    cluster_, here = files(tmp_path / "out"), files(tmp_path / "outhere")
    tables = {"toy.csv", "toy_timings.csv", "toy.tex"}
    assert {name: cluster_[name] for name in tables} == {name: here[name] for name in tables}


@pytest.mark.deep
def test_ten_thousand_replications_are_the_same_where_a_worker_is_killed_midway(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GLADIUS on 100 x 100 data sets: two workers of a cluster against two processes here."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    told: dict[str, Any] = {"repetitions": 100, "drawn": "counts", "seeds": "cluster"}
    cells = [fitting("gladius", 50, False, seeds_row=f"part {part}", **told) for part in range(100)]
    entries = [Entry(str(i), "GLADIUS", "leak_free", cell) for i, cell in enumerate(cells)]
    exhibit = Exhibit("many", "Ten thousand replications", lambda smoke: entries, cost=2.0)
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        victim = next(iter(cluster.workers.values()))

        def kill() -> None:
            while len(list((tmp_path / "build").glob("*/*.json"))) < 30:
                time.sleep(0.05)
            os.kill(victim.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        outcome = run(exhibit, dask=cluster.scheduler_address)
    assert not killer.is_alive()
    assert (len(outcome.computed), outcome.failed) == (100, {})
    run(exhibit, name="here", workers=2)
    assert files(tmp_path / "out")["many.csv"] == files(tmp_path / "outhere")["many.csv"]
    told_of = numbers(tmp_path / "out", "many").query("statistic == 'MAPE'")
    assert told_of["repetitions"].sum() == 10_000


def test_no_scheduler_is_a_clear_error(run: Run) -> None:
    with pytest.raises(InputError, match="no scheduler answers there"):
        run(toy(), dask="not an address")
