"""What a hostile folder or a kill does to a run: no file outside, no forged number, no orphan."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reproduce import run as runner
from reproduce.output import STAGING
from tests.reproduce.test_runner import started, wait_until
from tests.reproduce.toys import toy

Run = Callable[..., runner.Outcome]


@pytest.mark.parametrize("name", ["../victim", "{folder}/victim", "..", "sub/../../victim"])
def test_a_manifest_cannot_remove_a_file_outside_its_folder(
    run: Run, tmp_path: Path, name: str
) -> None:
    run(toy())
    victim = tmp_path / "victim"
    victim.write_text("not ours")
    (tmp_path / "out" / "sub").mkdir()
    path = tmp_path / "out" / "manifests" / "toy.json"
    manifest = json.loads(path.read_text())
    manifest["files"][name.format(folder=tmp_path)] = "0"
    path.write_text(json.dumps(manifest))
    with pytest.warns(UserWarning, match="not files of this folder"):
        run(toy())
    assert victim.read_text() == "not ours"
    assert "victim" not in path.read_text()


def test_a_manifest_of_deep_json_is_unreadable_and_no_traceback(run: Run, tmp_path: Path) -> None:
    run(toy())
    (tmp_path / "out" / "manifests" / "toy.json").write_text("[" * 200_000)
    with pytest.warns(UserWarning, match="not readable"):
        run(toy())


def children(process: int) -> list[int]:
    """Processes that this one started, and theirs."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [n for child in map(int, found) for n in (child, *children(child))]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
def test_workers_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started(tmp_path) as process:
        wait_until(lambda: log.exists() and "30A" in log.read_text(), 60)
        workers = children(process.pid)
        assert workers
        process.kill()
    wait_until(lambda: not any(map(_is_alive, workers)), 20)
    assert not any(map(_is_alive, workers))


def _is_alive(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def test_staging_folders_of_dead_runs_are_cleared_and_of_living_ones_are_not(
    run: Run, tmp_path: Path
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names = {f"{STAGING}{ended.pid}-a": False, f"{STAGING}toy-b": False}
    names[f"{STAGING}{os.getpid()}-c"] = True
    for name in names:
        (tmp_path / "out" / name).mkdir(parents=True)
        (tmp_path / "out" / name / "half.csv").touch()
    run(toy())
    assert {name: (tmp_path / "out" / name).exists() for name in names} == names
