"""Numbers by their places among the distinct ones: what grouping rows is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Integers = NDArray[np.int64]

DENSE = 8  # codes a row up to which a table of all is faster than sorting those that occur


def factorised(values: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
    """(n,) numbers by their places among the distinct ones, and those, sorted."""
    if values.dtype.kind == "i" and values.dtype.itemsize <= 2:
        low = int(values.min())
        codes, distinct = compress(values.astype(np.int64) - low, int(values.max()) - low + 1)
        return codes, distinct + low
    codes, levels = pd.factorize(np.asarray(values), sort=True)
    return codes.astype(np.int64, copy=False), np.asarray(levels)


def compress(codes: Integers, span: int) -> tuple[Integers, Integers]:
    """Whole numbers below `span` by their places among the distinct ones, and those, sorted."""
    if span > DENSE * len(codes):
        places, distinct = pd.factorize(codes, sort=True)
        return np.asarray(places, dtype=np.int64), np.asarray(distinct)
    occurs = np.zeros(span, dtype=bool)
    occurs[codes] = True
    return (np.cumsum(occurs) - 1)[codes], np.flatnonzero(occurs)


def count_distinct(codes: Integers, span: int) -> tuple[Integers, Integers]:
    """Distinct whole numbers among (n,) below `span`, sorted, and how often each occurs."""
    if span > DENSE * len(codes):
        distinct, counts = np.unique(codes, return_counts=True)
        return distinct, counts.astype(np.int64)
    counts = np.bincount(codes, minlength=1).astype(np.int64)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]
