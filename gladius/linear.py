"""Batched linear systems that may be singular to rounding."""

from __future__ import annotations

import numpy as np

from gladius.checks import Array


def regular_solve(system: Array, right: Array) -> Array:
    """(R, M) solutions of (R, M, M) systems; least squares where rounding makes one singular."""
    try:
        solved = np.linalg.solve(system, right[..., None])
    except np.linalg.LinAlgError:
        solved = np.linalg.pinv(system, rcond=1e-14) @ right[..., None]
    return solved[..., 0].astype(np.float64)
