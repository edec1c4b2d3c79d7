"""Hypothesis profiles: `ci` (the default: the same examples each time) and `deep` (a long search).

    HYPOTHESIS_PROFILE=deep python -m pytest tests/gladius

The time limit of an example is off in both: the first call of a compiled routine, or a busy
machine, is no failure. Array shapes in signatures are checked at each call.
"""

import os
from collections.abc import Callable
from functools import partial

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
