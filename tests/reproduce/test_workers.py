"""One worker against several: the same bytes, and the figure's arithmetic."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from typer.testing import CliRunner

from reproduce import workers


def test_interrupted_and_complete_runs_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "MIDWAY", 2)
    smoke = workers.command(["wide_networks"], tmp_path / "once", ["--workers", "1", "--smoke"])
    workers.complete(smoke, tmp_path / "once")
    halved = workers.command(["wide_networks"], tmp_path / "twice", ["--workers", "1", "--smoke"])
    workers.resume(halved, tmp_path / "twice")
    first = workers.results(tmp_path / "once")
    assert {"wide_networks.csv", "wide_networks.png"} <= set(first)
    assert workers.results(tmp_path / "twice") == first


def test_a_file_with_other_bytes_is_counted_and_ends_with_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(line: list[str], folder: Path) -> None:
        (folder / "out").mkdir()
        (folder / "out" / "kept.csv").write_text("1")
        (folder / "out" / "kept_timings.csv").write_text(str(folder))
        (folder / "out" / "other.csv").write_text("2" if line[-1] == "1" else "3")

    monkeypatch.setattr(workers, "complete", write)
    monkeypatch.setattr(workers, "resume", write)
    dask = SimpleNamespace(scheduler_address="tcp://nowhere")
    monkeypatch.setattr(workers, "cluster", lambda size: nullcontext(dask))
    result = CliRunner().invoke(workers.app, ["--cores", "2", "--out", str(tmp_path)])
    assert result.exit_code == 1
    frame = pd.read_csv(tmp_path / "workers.csv")
    assert frame["way"].tolist() == ["processes", "processes", "Dask", "interrupted, run again"]
    assert frame["workers"].tolist() == [1, 2, 2, 2]
    assert frame["files"].tolist() == [2] * 4
    assert frame["same_bytes"].tolist() == [2, 1, 1, 1]
    assert (tmp_path / "workers.png").is_file()
