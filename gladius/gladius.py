"""GLADIUS: the paper's Algorithms 1 and 2 and its estimator, under three protocols.

`leak_free` (the default) is the estimator we stand behind: see leak_free.py. `printed` runs the
algorithm to the letter: see algorithm.py. `author` does what the first author's code does,
including its use of the truth: see author.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from gladius import leak_free
from gladius.anchor import Anchor
from gladius.checks import InputError, check_fields
from gladius.estimate import Estimate
from gladius.transitions import Transitions

TITLE, NEEDS = "GLADIUS", ("next", "anchor")
PROTOCOLS = ("leak_free", "printed", "author")
MODULES = {"printed": "gladius.algorithm", "author": "gladius.author"}


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    protocol: str = "leak_free",
    **options: Any,
) -> list[Estimate]:
    """Estimate Q* and r under a protocol.

    Args:
        data: replications.
        anchor: action and reward.
        discount: beta.
        protocol: leak_free, printed or author.
        options: of the protocol; for leak_free the fields of leak_free.Options.
    """
    if protocol == "leak_free":
        check_fields(leak_free.Options, options)
        return leak_free.fit(data, anchor, discount, leak_free.Options(**options))
    if protocol in PROTOCOLS:
        chosen: Callable[..., list[Estimate]] = import_module(MODULES[protocol]).fit
        return chosen(data, anchor, discount, **options)
    raise InputError("protocol", protocol, f"choose one of {PROTOCOLS}")
