"""Makes `tests.reproduce.toys` importable however pytest is started; a run of a toy."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    """Runs exhibits with folders `build` and `out` in tmp_path, with `name` after their names."""
    from reproduce import run as runner

    def run_(*exhibits: Any, name: str = "", **options: Any) -> Any:
        folders = {"build": tmp_path / f"build{name}", "out": tmp_path / f"out{name}"}
        return runner.run(exhibits, **{**folders, "workers": 0, **options})

    return run_
