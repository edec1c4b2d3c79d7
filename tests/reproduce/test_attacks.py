"""What a hostile folder or a kill does to a run: no file outside, no forged number, no orphan."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reproduce import run as runner
from reproduce.output import STAGING
from reproduce.provenance import ROOT
from reproduce.store import Store, _sealed
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


def test_deep_json_is_unreadable_and_no_traceback(run: Run, tmp_path: Path) -> None:
    run(toy())
    deep = "[" * 200_000
    Store(tmp_path / "build").path(toy().entries(False)[0].cell).write_text(_sealed(deep))
    (tmp_path / "out" / "manifests" / "toy.json").write_text(deep)
    with pytest.warns(UserWarning, match="not readable"):
        assert len(run(toy()).computed) == 1


SCRIPT = """
import sys
from pathlib import Path
from reproduce import run
from tests.reproduce.toys import toy
folder, workers = Path(sys.argv[1]), int(sys.argv[2])
exhibit = toy(folder / "log", trouble={"10A": "sleep", "10B": "sleep"}, until=folder / "mended")
try:
    run.run([exhibit], workers=workers, build=folder / "build", out=folder / "out")
except KeyboardInterrupt:
    sys.exit(130)
"""


def started(folder: Path, workers: int) -> subprocess.Popen[bytes]:
    """A run whose first cells sleep, once they do."""
    command = [sys.executable, "-c", SCRIPT, str(folder), str(workers)]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (folder / "log").exists():
        time.sleep(0.05)
    return process


def children(process: int) -> list[int]:
    """Processes that this one started, and theirs."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [n for child in map(int, found) for n in (child, *children(child))]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
def test_workers_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    process = started(tmp_path, 2)
    workers = children(process.pid)
    assert workers
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(map(_is_alive, workers)):
        time.sleep(0.1)
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
