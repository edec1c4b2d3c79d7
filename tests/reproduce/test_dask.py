"""Cells on a real Dask cluster give the numbers that they give here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gladius.checks import InputError
from reproduce import engine
from tests.reproduce.toys import numbers, toy

distributed = pytest.importorskip("distributed", reason="the optional extra dask is not installed")


def run(tmp_path: Path, name: str, **options: Any) -> engine.Outcome:
    folders: dict[str, Any] = {"build": tmp_path / f"build-{name}", "out": tmp_path / name}
    exhibit = toy(rows=("10", "20"))
    return engine.run([exhibit], **folders, verbose=False, **options)


def test_a_cluster_gives_the_same_numbers(tmp_path: Path) -> None:
    run(tmp_path, "here", workers=0)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        outcome = run(tmp_path, "cluster", dask=cluster.scheduler_address)
    assert len(outcome.computed) == 4
    assert not outcome.failed
    assert numbers(tmp_path / "cluster").equals(numbers(tmp_path / "here"))


def test_the_flag_alone_starts_a_cluster(tmp_path: Path) -> None:
    run(tmp_path, "here", workers=0)
    assert not run(tmp_path, "local", dask="local", workers=1).failed
    assert numbers(tmp_path / "local").equals(numbers(tmp_path / "here"))


def test_no_scheduler_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no scheduler answers there"):
        run(tmp_path, "nowhere", dask="not an address")
