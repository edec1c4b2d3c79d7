"""One worker against several: the same bytes, and the figure's arithmetic."""

import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from typer.testing import CliRunner

from reproduce import workers

SCRIPT = """
import pathlib, sys, time
cells = pathlib.Path(sys.argv[1]) / "cells" / "of a function"
cells.mkdir(parents=True, exist_ok=True)
try:
    for i in range(20):
        (cells / f"{i}.json").touch()
        time.sleep(float(sys.argv[2]))
        if (cells.parents[1] / "interrupted").exists():
            break
    (cells.parents[1] / "complete").touch()
except KeyboardInterrupt:
    (cells.parents[1] / "interrupted").touch()
    sys.exit(130)
"""


def test_a_run_is_interrupted_midway_and_run_again(tmp_path: Path) -> None:
    line = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    workers.resume([*line, "0.5"], tmp_path)
    assert (tmp_path / "interrupted").exists()
    assert (tmp_path / "complete").exists()
    assert workers.MIDWAY <= len(list(tmp_path.glob("cells/*/*.json"))) < 20


def test_a_run_that_ends_before_it_can_be_interrupted_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "interrupted").touch()
    with pytest.raises(RuntimeError, match="ended with 0 before its interruption"):
        workers.resume([sys.executable, "-c", SCRIPT, str(tmp_path), "0"], tmp_path)


def test_the_command_runs_in_folders_of_its_own(tmp_path: Path) -> None:
    smoke = workers.command(["figure_gumbel"], tmp_path, ["--workers", "1", "--smoke"])
    workers.complete(smoke, tmp_path)
    assert {"figure_gumbel.csv", "figure_gumbel.png"} <= set(workers.results(tmp_path))


def test_files_that_are_lost_or_have_other_bytes_are_counted_and_ends_with_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(line: list[str], folder: Path) -> None:
        (folder / "out").mkdir()
        (folder / "out" / "kept.csv").write_text("1")
        (folder / "out" / "kept_timings.csv").write_text(str(folder))
        (folder / "out" / "other.csv").write_text("2" if line[-1] == "1" else "3")
        if line[-1] == "1":
            (folder / "out" / "lost.csv").write_text("4")

    monkeypatch.setattr(workers, "complete", write)
    monkeypatch.setattr(workers, "resume", write)
    dask = SimpleNamespace(scheduler_address="tcp://nowhere")
    monkeypatch.setattr(workers, "cluster", lambda size: nullcontext(dask))
    result = CliRunner().invoke(workers.app, ["--cores", "2", "--out", str(tmp_path)])
    assert result.exit_code == 1
    frame = pd.read_csv(tmp_path / "workers.csv")
    assert frame["way"].tolist() == ["processes", "processes", "Dask", "interrupted, run again"]
    assert frame["workers"].tolist() == [1, 2, 2, 2]
    assert frame["files"].tolist() == [3] * 4
    assert frame["same_bytes"].tolist() == [3, 1, 1, 1]
    assert (tmp_path / "workers.png").is_file()
