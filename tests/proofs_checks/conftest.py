"""Every claim is decided once, on two processes, and the tests read the decisions."""

import os
from pathlib import Path

import pytest
from filelock import FileLock

from proofs_checks.claims import claims
from proofs_checks.decide import BUILD, DEEP, Decision, decisions

DRAWN = 20  # instances beside the tight and adversarial ones; `tox -e checks` draws 200


@pytest.fixture(scope="session")
def decided(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Decision]:
    """All claims, decided by the first process of the test run that asks."""
    deep = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
    temporary = tmp_path_factory.getbasetemp()
    shared = temporary.parent if "PYTEST_XDIST_WORKER" in os.environ else temporary
    build: Path = BUILD if deep else shared / "claims"
    with FileLock(shared / "claims.lock"):
        every = decisions(list(claims()), DEEP if deep else DRAWN, 2, build)
        return {decision.id: decision for decision in every}
