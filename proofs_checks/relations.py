"""What a check returns, by its relation; fractions stay exact, other numbers become floats."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from proofs_checks.claims import CheckResult


def _exact(number: Any) -> float | Fraction:
    return number if isinstance(number, Fraction) else float(number)


def at_most(observed: Any, bound: Any, tolerance: Any, reason: str) -> CheckResult:
    """observed <= bound."""
    return CheckResult(_exact(observed), "<=", _exact(bound), float(tolerance), reason)


def at_least(observed: Any, bound: Any, tolerance: Any, reason: str) -> CheckResult:
    """observed >= bound."""
    return CheckResult(_exact(observed), ">=", _exact(bound), float(tolerance), reason)


def equal(observed: Any, bound: Any, tolerance: Any, reason: str) -> CheckResult:
    """observed == bound; of two arrays, the entries that are farthest apart."""
    if np.ndim(observed):
        farthest = np.unravel_index(np.argmax(np.abs(observed - bound)), np.shape(observed))
        observed, bound = observed[farthest], bound[farthest]
    return CheckResult(_exact(observed), "==", _exact(bound), float(tolerance), reason)


def weakest(*results: CheckResult) -> CheckResult:
    """Of relations that must all hold: the one that fails by most, or has the least slack."""
    failed = [r for r in results if not r.holds]
    if failed:
        return max(failed, key=lambda r: math.inf if math.isnan(r.excess) else r.excess)
    tight = [r for r in results if not math.isnan(r.slack)]
    if tight:
        return min(tight, key=lambda r: r.slack)
    return max(results, key=lambda r: r.excess - r.tolerance)
