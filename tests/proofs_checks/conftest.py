"""Every claim is decided once, on two processes, and the tests read the decisions."""

import os
from pathlib import Path

import pytest

from proofs_checks.claims import claims
from proofs_checks.decide import BUILD, CI, DEEP, Decision, decisions


@pytest.fixture(scope="session")
def decided(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Decision]:
    deep = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
    build: Path = BUILD if deep else tmp_path_factory.mktemp("claims")
    number = DEEP if deep else CI
    return {decision.id: decision for decision in decisions(list(claims()), number, 2, build)}
