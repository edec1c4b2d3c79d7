"""Numbers replaced by their index among the distinct ones: how observations are grouped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def factorised(values: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
    """(n,) index of each number among the distinct ones, and those, sorted."""
    codes, levels = pd.factorize(values, sort=True)
    return codes.astype(np.int64, copy=False), np.asarray(levels)
