"""Every claim is decided once, on two processes, and the tests read the decisions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proofs_checks import run
from proofs_checks.decide import CI, DEEP, Decision
from proofs_checks.register import claims


@pytest.fixture(scope="session")
def decided(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Decision]:
    deep = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
    build: Path = run.BUILD if deep else tmp_path_factory.mktemp("claims")
    found = run.decisions(list(claims()), DEEP if deep else CI, workers=2, build=build)
    return {one.id: one for one in found}
