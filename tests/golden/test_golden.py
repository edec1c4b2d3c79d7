"""No number moves unseen: theta, r and Q of every method and variant are those of before."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import cases

sys.path.pop(0)

TOLERANCE = 1e-9  # relative to the largest number of the quantity, or to 1
FROZEN = dict(np.load(cases.FROZEN, allow_pickle=False))
DATA = cases.data_sets()

# 'data set/variant' or 'variant' -> (largest move, reason)
EXACT = "the same lambda, nearer to the minimum: the old solver stopped 1e-5 nats above it"
GAP = "the same minimum: the old solver of this class stopped 1e-3 nats above it"
MOVED: dict[str, tuple[float, str]] = {
    "bus/gladius": (3e-6, EXACT),
    "bus/gladius penalty": (2e-3, EXACT),
    "bus/gladius tabular": (1e-4, GAP),
    "curved/gladius": (4e-5, EXACT),
    "curved/gladius penalty": (5e-6, EXACT),
    "curved/gladius tabular": (2e-2, GAP),
    "three/gladius": (2.4e-4, EXACT),
    "three/gladius penalty": (1.2e-5, EXACT),
    "three/gladius tabular": (6e-2, GAP),
    "dummy/gladius tabular": (1.4e-3, "in closed form; the old solver stopped 1e-3 nats above it"),
}
# 'data set/variant' or 'variant' -> reason: what was fitted and is refused now, or the reverse
OTHERWISE = {
    "gladius polynomial": "the class is gone: no exhibit set it",
    "gladius polynomial scalar": "the class is gone: no exhibit set it",
    "dummy/gladius": "smooth without a roughness takes several features: a table",
    "dummy/gladius penalty": "refused still, but for the penalty: there is no roughness",
}


def largest_move(new: np.ndarray, old: np.ndarray) -> float:
    """The largest difference, relative to the largest number of the old ones or to 1."""
    assert new.shape == old.shape
    same = (new == old) | (np.isnan(new) & np.isnan(old))  # infinities and what is not defined
    scale = max(1.0, float(np.max(np.abs(old[np.isfinite(old)]), initial=0.0)))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(new - old))
    return float(np.max(apart, initial=0.0)) / scale


@pytest.mark.parametrize("variant", cases.variants())
@pytest.mark.parametrize("name", DATA)
def test_numbers_are_those_that_were_frozen(name: str, variant: str) -> None:
    key = f"{name}/{variant}"
    if key in OTHERWISE or variant in OTHERWISE:
        pytest.skip(OTHERWISE.get(key, OTHERWISE.get(variant, "")))
    result = cases.outcome(variant, name, *DATA[name])
    if result is None:
        pytest.skip("the case is none: no known transition law, or 45 seconds of a network")
    if not isinstance(result, cases.Estimate):
        assert f"{key}/refused" in FROZEN, f"refused now: {result}"
        assert str(FROZEN[f"{key}/refused"]) == result.field
        return
    allowed, _ = MOVED.get(key, MOVED.get(variant, (TOLERANCE, "")))
    for quantity, new in cases.numbers(DATA[name][0], result).items():
        move = largest_move(new, FROZEN[f"{key}/{quantity}"])
        assert move <= allowed, f"{quantity} moved by {move:.2e}"
    if key not in MOVED and variant not in MOVED:
        assert str(FROZEN[f"{key}/status"]) == result.diagnostics.status


def test_every_frozen_case_is_still_run() -> None:
    known = {f"{name}/{variant}" for name in DATA for variant in cases.variants()}
    known |= {f"{name}/{variant}" for name in DATA for variant in OTHERWISE}
    assert {key.rsplit("/", 1)[0] for key in FROZEN} <= known


def test_the_comparison_can_fail() -> None:
    old = np.array([1.0, 2.0])
    assert largest_move(old * (1 + 1e-6), old) > TOLERANCE
    assert np.isnan(largest_move(np.array([1.0, np.nan]), old))
