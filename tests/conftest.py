"""Hypothesis profiles: `ci` (the default: the same examples each time) and `deep` (a long search).

    HYPOTHESIS_PROFILE=deep python -m pytest tests/gladius

The time limit of an example is off in both: the first call of a compiled routine, or a busy
machine, is no failure. Array shapes in signatures are checked at each call.

Each process compiles a loop anew, up to 11 s, so files whose tests compile the same loops for the
same types run on one worker of pytest-xdist. The first set has most tests, and starts first.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

os.environ["GLADIUS_CHECK_SHAPES"] = "1"  # before the library is imported: see checks.shaped

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=200,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep",
    parent=settings.get_profile("ci"),
    derandomize=False,
    max_examples=5000,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

LOOPS = (
    {
        "gladius/test_algorithm.py",
        "gladius/test_author.py",
        "gladius/test_batches.py",
        "gladius/test_contract.py",
        "gladius/test_max_oracle.py",
        "gladius/test_stack.py",
        "gladius/test_threads.py",
        "gladius/test_training.py",
        "reproduce/test_constants.py",
        "reproduce/test_converging.py",
        "reproduce/test_exhibits_mileage.py",
        "reproduce/test_printed_trainings.py",
        "reproduce/test_public_trainings.py",
    },
    {"gladius/test_imitation.py", "reproduce/test_gym_trainings.py"},
    {"gladius/test_author_baselines.py", "reproduce/test_public_baselines.py"},
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadscope`: a file to a worker, and files that share loops to the same."""
    from xdist.scheduler import LoadScopeScheduling

    first = {f"tests/{name}": f"tests/{min(of)}" for of in LOOPS for name in of}
    assert all(config.rootpath.joinpath(path).is_file() for path in first)

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope = super()._split_scope(nodeid)
            return first.get(scope, scope)

    return Scheduling(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """All loops of the author's training run in Python; in float64 they need no compilation."""
    from cases import uncompile

    uncompile(monkeypatch)


@pytest.fixture
def hold_lambda(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Called with a lambda: fits of the class `smooth` then have it, in place of the best."""

    def hold(penalty: float) -> None:
        from gladius.own_data.erm import estimator, smooth

        one = partial(smooth.fit_smooth, penalties=np.array([penalty]))
        monkeypatch.setattr(estimator, "fit_smooth", one)

    return hold
