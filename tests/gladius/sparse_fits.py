"""Fits of the class `sparse` on the bus engine."""

from __future__ import annotations

import gladius
from gladius.transitions import Transitions


def fit_sparse(data: Transitions, **options: object) -> gladius.Estimate:
    return gladius.fit(
        data,
        anchor_action=1,
        anchor_reward=-5.0,
        discount=0.95,
        function_class="sparse",
        **options,  # type: ignore[arg-type]  # options of any kind
    )
