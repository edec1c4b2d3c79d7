"""Every claim is decided once, on two processes, and the tests read the decisions."""

import os
import pickle

import pytest
from filelock import FileLock

from proofs_checks.claims.claims import claims
from proofs_checks.claims.decide import DEEP, Decision, decisions

DRAWN = 20  # instances beside the tight and adversarial ones; `tox -e checks` draws 200


@pytest.fixture(scope="session")
def decided(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Decision]:
    """All claims, decided by the first process of the test run that asks."""
    deep = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
    temporary = tmp_path_factory.getbasetemp()
    shared = temporary.parent if "PYTEST_XDIST_WORKER" in os.environ else temporary
    path = shared / "claims.pickle"
    with FileLock(shared / "claims.lock"):
        if not path.is_file():
            every = decisions(list(claims()), DEEP if deep else DRAWN, 2)
            path.write_bytes(pickle.dumps({decision.id: decision for decision in every}))
        decided: dict[str, Decision] = pickle.loads(path.read_bytes())
        return decided
