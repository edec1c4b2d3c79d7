"""Numbers replaced by their index among the distinct ones: how observations are grouped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Integers = NDArray[np.int64]

DENSE = 8  # codes an observation up to which a table of all is faster than sorting


def factorised(values: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
    """(n,) index of each number among the distinct ones, and those, sorted."""
    codes, levels = pd.factorize(values, sort=True)
    return codes.astype(np.int64, copy=False), np.asarray(levels)


def compress(codes: Integers, span: int) -> tuple[Integers, Integers]:
    """The same for whole numbers from 0 to span - 1."""
    if span > DENSE * len(codes):
        return factorised(codes)
    occurs = np.zeros(span, dtype=bool)
    occurs[codes] = True
    return (np.cumsum(occurs) - 1)[codes], np.flatnonzero(occurs)
