"""GLADIUS as printed, as its public code runs it, and with an exact inner step (ours), by name."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from gladius.model.estimate import Estimate
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.register import PROTOCOLS
from gladius.validate import InputError

TITLE, NEEDS = "GLADIUS", ("next", "anchor")


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    protocol: str = "",
    **options: Any,
) -> list[Estimate]:
    """Estimates of Q* and r, one for each data set.

    Args:
        data: replications.
        anchor: the anchor action and its reward.
        discount: beta.
        protocol: `printed`, the paper's Algorithms 1 and 2 to the letter; `author`, the first
            author's public code, which uses the true reward; or `max_oracle`, which is ours, and
            for rows by the hundred thousand `max_oracle_batches`.
        options: of the protocol.

    Raises:
        InputError: for a protocol that is not named, or a bad option.
    """
    if protocol not in PROTOCOLS:
        hint = f"choose one of {', '.join(PROTOCOLS)}; our own estimator is method='profiled_erm'"
        raise InputError("protocol", protocol, hint)
    estimates: list[Estimate] = import_module(PROTOCOLS[protocol]).fit(
        data, anchor, discount, **options
    )
    return estimates
