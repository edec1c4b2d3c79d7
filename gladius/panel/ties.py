"""Decisions between numbers that differ by rounding alone, so that no processor makes them.

Numbers that are equal by structure, such as the criteria of an exact fit or the distances to both
neighbours, differ in their last digits, which depend on the processor. A decision between them
needs a width within which numbers are equal, and a rule for equal ones.
"""

import numpy as np
from numpy.typing import ArrayLike

from gladius.validate import Integers

EPS = float(np.finfo(float).eps)
TIE = 1e-6  # relative, of distances, scores and p-values: rounding moves them by some 1e-9 at most


def near_least(values: ArrayLike, width: float) -> Integers:
    """Indices, in order, of the values that exceed the least by at most `width`; all with a NaN."""
    array = np.asarray(values, dtype=float)
    return np.flatnonzero(~(array > array.min() + width))


def ranking(values: ArrayLike) -> Integers:
    """Indices by ascending value; neighbours within TIE are equal, and stay in order."""
    array = np.asarray(values, dtype=float)
    order = np.argsort(array, kind="stable")
    rises = np.diff(array[order]) > TIE * np.abs(array[order][1:])
    return order[np.lexsort((order, np.append(0, np.cumsum(rises))[: len(array)]))]
