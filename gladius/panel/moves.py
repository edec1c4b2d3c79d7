"""Tables (..., A, S, S) of moves (s, a, s'): their numbers, or their probabilities.

Up to SMALL states such a table is an array. With more it is `Moves`, the entries that are not zero,
so that memory and time grow with the distinct moves of the data and not with the square of S. What
is computed from a table goes through the functions here, `table @ x` and `table[...]`, which both
forms have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

from gladius.validate import Array, InputError, Integers

SMALL = 100  # states; with more, a sparse solution takes less time than one by an array
LARGEST_TABLE = 50_000_000  # entries of an array that a method asks for: 400 MB
COARSER = "coarsen the features, or choose a method without a table: nfxp, ccp or plug_in on states"
COARSER += " that repeat; profiled_erm with function_class='sparse', avi or pqr on others"


@dataclass(frozen=True)
class Moves:
    """The entries of a table that are not zero; rows that are equal may be stored once.

    Attributes:
        values: (M,) entries of the stored rows, one row after the other.
        columns: (M,) the s' of each.
        ends: (J + 1,) where each stored row begins, and the last one ends.
        row: (..., S) which stored row each row of the table is.
        width: number of s'.
    """

    values: Array
    columns: Integers
    ends: Integers
    row: Integers
    width: int

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return (*self.row.shape, self.width)

    @property
    def ndim(self) -> int:
        """Axes of the array."""
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.row)

    @property
    def stored(self) -> csr_matrix:
        """(J, S) the stored rows."""
        return csr_matrix((self.values, self.columns, self.ends), (len(self.ends) - 1, self.width))

    def __getitem__(self, key: Any) -> Moves:
        """The part of the table that a key of its leading axes takes, as of an array."""
        row = self.row[key]
        is_used = np.zeros(len(self.ends) - 1, dtype=bool)
        is_used[row] = True
        if is_used.all():
            return Moves(self.values, self.columns, self.ends, row, self.width)
        return _of_matrix(self.stored[is_used], (np.cumsum(is_used) - 1)[row])

    def __matmul__(self, x: Array) -> Array:
        """(..., S) or (..., S, m) sums of the entries times x, (S,) or (S, m)."""
        return np.asarray((self.stored @ x)[self.row])


Table: TypeAlias = Array | Moves


def _of_matrix(matrix: csr_matrix, row: Integers) -> Moves:
    columns, ends = (index.astype(np.int64) for index in (matrix.indices, matrix.indptr))
    return Moves(matrix.data, columns, ends, row, matrix.shape[1])


def tabulated(
    rows: Integers, columns: Integers, values: Array | None, shape: tuple[int, ...]
) -> Table:
    """The table of a shape whose entries are sums of values, or numbers of rows without them.

    Args:
        rows: (M,) positions in the leading axes of the table, raveled.
        columns: (M,) positions in the last axis.
        values: (M,).
        shape: of the table.
    """
    size, width = int(np.prod(shape[:-1])), shape[-1]
    if width <= SMALL:
        flat = np.bincount(rows * width + columns, values, minlength=size * width)
        return flat.reshape(shape).astype(np.float64, copy=False)
    given = np.ones(len(rows)) if values is None else values
    matrix = csr_matrix(
        (given, (rows, columns)), (size, width)
    )  # which adds up what is given twice
    return _of_matrix(matrix, np.arange(size).reshape(shape[:-1]))


def entries(table: Table) -> tuple[tuple[Integers, ...], Array]:
    """The positions (M,) of what is not zero, by axis and in order, and the values (M,)."""
    if not isinstance(table, Moves):
        index = np.nonzero(table)
        return index, table[index]
    row = table.row.ravel()
    number = np.diff(table.ends)[row]
    leading = np.repeat(np.arange(len(row)), number)
    at = np.arange(len(leading)) + np.repeat(table.ends[row] - np.cumsum(number) + number, number)
    is_any = table.values[at] != 0
    leading, at = leading[is_any], at[is_any]
    return (*np.unravel_index(leading, table.row.shape), table.columns[at]), table.values[at]


def dense(table: Table, hint: str = COARSER) -> Array:
    """The array, for what works on arrays alone.

    Raises:
        InputError: with the hint, where it would be too large.
    """
    if not isinstance(table, Moves):
        return table
    size = int(np.prod(table.shape))
    if size > LARGEST_TABLE:
        hint = f"a table of {size} entries is too large: {hint}"
        raise InputError("states", f"{table.width} distinct states", hint)
    return np.asarray(table.stored.toarray()[table.row], dtype=np.float64)


def check_square(size: int, states: int, hint: str) -> None:
    """Raise, with what to do, where a method's square array of so many rows would be too large."""
    if size**2 > LARGEST_TABLE:
        hint = f"an array of {size} by {size} entries is too large: {hint}"
        raise InputError("states", f"{states} distinct states", hint)


def by_pair(table: Table) -> Any:
    """(S A, S) rows of a table (A, S, S) in order of s and a: an array, or a sparse matrix."""
    if isinstance(table, Moves):
        return table.stored[table.row.T.ravel()]
    return np.swapaxes(table, 0, 1).reshape(-1, table.shape[-1])


def means(policy: Array) -> csr_matrix:
    """(S, S A) the matrix that means over the choices (S, A) of each state are products with."""
    ends = np.arange(0, policy.size + 1, policy.shape[1])
    return csr_matrix((policy.ravel(), np.arange(policy.size), ends), (len(policy), policy.size))


def departures(table: Table) -> Array:
    """(..., A, S) sums over s'."""
    if not isinstance(table, Moves):
        return np.asarray(table.sum(axis=-1))
    return table @ np.ones(table.width)


def arrivals(table: Table, weight: Array) -> Array:
    """(..., S', m) sums over a and s of the entries times (..., S, A, m)."""
    if not isinstance(table, Moves):
        return np.asarray(np.einsum("...sam,...ast->...tm", weight, table))
    if table.ndim > 3:
        return np.stack([arrivals(table[r], one) for r, one in enumerate(weight)])
    size = table.row.size
    of_row = csr_matrix(
        (np.ones(size), (table.row.ravel(), np.arange(size))), (len(table.ends) - 1, size)
    )
    flat = np.moveaxis(weight, (-2, -3), (0, 1)).reshape(size, -1)  # (A S, ... m)
    total = table.stored.T @ (of_row @ flat)
    return np.moveaxis(total.reshape(-1, *weight.shape[:-3], weight.shape[-1]), 0, -2)


def ahead(table: Table, x: Array) -> Array:
    """(..., A, S, m) sums over s' of the entries times (..., S', m)."""
    if not isinstance(table, Moves):
        return np.asarray(table @ x[..., None, :, :])
    if table.ndim > 3:
        return np.stack([ahead(table[r], one) for r, one in enumerate(x)])
    flat = np.moveaxis(x, -2, 0).reshape(table.width, -1)
    found = (table @ flat).reshape(*table.row.shape, *x.shape[:-2], x.shape[-1])
    return np.moveaxis(found, (0, 1), (-3, -2))


def following(table: Table, v: Array) -> Array:
    """(..., A, S) sums over s' of the entries times (..., S') v."""
    if not isinstance(table, Moves):
        return np.asarray(np.einsum("...ast,...t->...as", table, v))
    return ahead(table, v[..., None])[..., 0]


def squares(table: Table, before: Array, after: Array) -> Array:
    """(R,) sums of the entries of (R, S, S) times (before(s) + after(s'))^2, both (R, S)."""
    if not isinstance(table, Moves):
        gap = before[:, :, None] + after[:, None, :]
        return np.asarray(np.sum(table * gap**2, axis=(1, 2)))
    (r, s, t), number = entries(table)
    gap = before[r, s] + after[r, t]
    return np.bincount(r, number * gap**2, minlength=len(table)).astype(np.float64)


def stacked(tables: Sequence[Table]) -> Table:
    """Tables of one shape, along a new first axis."""
    found = [one for one in tables if isinstance(one, Moves)]
    if not found:
        return np.stack([one for one in tables if not isinstance(one, Moves)])
    return _joined(found, np.stack)


def replaced(table: Table, index: Any, rows: Table) -> Table:
    """The table with other rows at an index of its leading axes; an array is changed in place."""
    if isinstance(table, Moves) and isinstance(rows, Moves):

        def put(pair: Sequence[Integers]) -> Integers:
            row = pair[0].copy()
            row[index] = pair[1]
            return row

        return _joined([table, rows], put)
    assert not isinstance(table, Moves)
    assert not isinstance(rows, Moves)
    table[index] = rows
    return table


def each(table: Table, number: int) -> Table:
    """The table of each of so many data sets, which may be one of (A, S, S) for all."""
    if not isinstance(table, Moves):
        return np.broadcast_to(table, (number, *table.shape[-3:]))
    row = np.broadcast_to(table.row, (number, *table.row.shape[-2:]))
    return Moves(table.values, table.columns, table.ends, row, table.width)


def _joined(tables: Sequence[Moves], join: Callable[[Sequence[Integers]], Integers]) -> Moves:
    """The stored rows of all tables, used as a function of their `row` says."""
    sizes = np.cumsum([0, *(len(one.ends) - 1 for one in tables)])
    entries = np.cumsum([0, *(len(one.values) for one in tables)])
    ends = [one.ends[:-1] + first for one, first in zip(tables, entries[:-1], strict=True)]
    return Moves(
        np.concatenate([one.values for one in tables]),
        np.concatenate([one.columns for one in tables]),
        np.concatenate([*ends, entries[-1:]]),
        join([one.row + size for one, size in zip(tables, sizes[:-1], strict=True)]),
        tables[0].width,
    )
