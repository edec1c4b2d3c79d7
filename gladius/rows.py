"""Which rows of a table are the same, exactly and fast: the base of every grouped quantity.

Rows become one whole number each (mixed radix), because sorting or counting whole numbers is
many times faster than sorting rows. Where the radix would pass int64 (a hundred dummies), the
part read so far is replaced by its rank and the reading goes on, so nothing can wrap around.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gladius.checks import Array

Integers = NDArray[np.int64]

LARGEST_INTEGER = 2.0**53  # beyond it, neighbouring whole numbers share one float64
LARGEST_CODE = 2**62  # a bit below int64's limit
TABLE_PER_ROW = 4  # a table of codes up to this many times the rows beats sorting them


def distinct_rows(rows: Array) -> tuple[Array, Integers]:
    """Distinct rows in lexicographic order, and how often each occurs."""
    found, (index,) = index_rows([rows])
    return found, np.bincount(index, minlength=len(found)).astype(np.int64)


def index_rows(blocks: Sequence[Array]) -> tuple[Array, list[Integers]]:
    """Distinct rows over all blocks, lexicographic, and each block's positions among them.

    Args:
        blocks: (n_i, d) arrays of finite numbers with the same d.
    """
    codes = _codes(blocks)
    span = 1 + max(int(code.max()) for code in codes)
    if span <= TABLE_PER_ROW * sum(len(code) for code in codes) + 1024:
        present = np.zeros(span, dtype=bool)
        table = np.empty((span, blocks[0].shape[1]))
        for code, block in zip(codes, blocks, strict=True):
            holder = np.full(span, -1)
            holder[code] = np.arange(len(code))  # of several rows with a code, any one
            held = holder >= 0
            table[held] = block[holder[held]]
            present |= held
        position = np.cumsum(present) - 1
        return table[present], [position[code] for code in codes]
    _, first, index = np.unique(np.concatenate(codes), return_index=True, return_inverse=True)
    ends = np.cumsum([len(block) for block in blocks])[:-1]
    return np.concatenate(blocks)[first], np.split(index.reshape(-1), ends)


def _codes(blocks: Sequence[Array]) -> list[Integers]:
    """One whole number a row, comparable over blocks, in the lexicographic order of the rows."""
    low = np.min([block.min(axis=0) for block in blocks], axis=0)
    high = np.max([block.max(axis=0) for block in blocks], axis=0)
    radix = _radix(low, high)
    if radix is not None and all(np.array_equal(block, np.floor(block)) for block in blocks):
        return [_mixed_radix(block, low, radix) for block in blocks]
    ends = np.cumsum([len(block) for block in blocks])[:-1]
    return np.split(_ranked_codes(np.concatenate(blocks)), ends)


def _radix(low: Array, high: Array) -> Integers | None:
    """Place values for whole numbers from low to high (d,), or None where int64 is too small."""
    if np.any(np.maximum(np.abs(low), np.abs(high)) >= LARGEST_INTEGER):
        return None
    place, size = [], 1  # Python integers: this test itself cannot overflow
    for smallest, largest in zip(low[::-1], high[::-1], strict=True):
        place.append(size)
        size *= int(largest) - int(smallest) + 1
    return np.array(place[::-1], dtype=np.int64) if size < LARGEST_CODE else None


def _mixed_radix(rows: Array, low: Array, radix: Integers) -> Integers:
    code = np.zeros(len(rows), dtype=np.int64)  # a loop: integer matmul is several times slower
    for column, smallest, place in zip(rows.T, low.astype(np.int64), radix, strict=True):
        code += (column.astype(np.int64) - smallest) * place
    return code


def _ranked_codes(rows: Array) -> Integers:
    """The same for any finite numbers and any width: ranks take the place of digits."""
    code, size = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        values, digit = np.unique(column, return_inverse=True)
        if size * len(values) >= LARGEST_CODE:  # at most rows**2 afterwards: it fits
            seen, code = np.unique(code, return_inverse=True)
            size = len(seen)
        code = code * len(values) + digit
        size *= len(values)
    return code
