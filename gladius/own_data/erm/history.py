"""Whether the history explains choices that the state is to explain: types, and memory.

If choices depend on the state alone, then among rows in the same state what a path did before says
nothing about its choice. So each choice of an action a is held against h, a number that its path
had before, within cells of rows in the same state (Mantel's test of a trend in strata):

    S = sum over rows of (h - its mean in the cell) r,        r = 1(a) - pi(a | s),
    variance = sum over cells of s^2(r) sum (h - its mean)^2,

where s^2(r) is the variance of r in the cell, with n - 1. For `types`, h is the sum of the path's
earlier residuals: it is the same unobserved type, or a shock that lasts, that made those. For
`memory` it is the residual of the row before.

Implementation choices:
- Cells are the states themselves, where these have FEWEST rows in the mean. Then pi cancels, and
  with it what is wrong with a form of r or with a penalty: the test is one of the data. Else they
  are bins of the columns and of pi, as fine as FEWEST allows. There it is of use only if pi fits
  the choices along the columns, and the caller sees to that.
- The residuals in h are 1(a) - pi less their mean over rows of the cell in other paths. With the
  mean over all of them, h would hold the choice that it is to predict, and z would be negative
  where cells have few rows.
- p-values are saddlepoint approximations: Chernoff's bound of the tail, for terms that are bounded
  and have no more than their variance, times what the bound is too large by for a normal variable.
  Those of a normal variable are too small by any factor where an action is rare.
- A z^2 below MISFIT an observation does not matter, here as for the tests of misfit. What matters
  is therefore seen in MOST_ROWS rows, where its z is ten, and of more rows some paths are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from gladius.own_data.erm.misfit import MISFIT, equally_full
from gladius.panel.record import Integers, Transitions, index_rows
from gladius.validate import Array

FEWEST = 5  # rows of a cell, in the mean
FEWEST_PATHS = 10
BINS = (2, 3, 4, 6, 10, 20)  # of a column, and of pi
STRATA = 40  # of pi, where columns are too many to be binned
TILTS = np.linspace(0.2, 1.0, 17)  # of z, where the tail is evaluated
ROUNDING = 1e-12
CHUNK = 100_000  # states at a time
MOST_ROWS = 1_000_000  # of the paths that are asked
MANY = 4  # times as many pairs of a cell and a path as rows, above which pairs are sorted


class OfHistory(NamedTuple):
    """The z of types and of memory, and their p-values times the number of tests."""

    types_z: float
    memory_z: float
    types_p: float
    memory_p: float


def of_history(
    data: Transitions, policy: Callable[[Array], Array] | None, base: int
) -> OfHistory | None:
    """The tests of a data set; None where paths are few, or states new and no policy given.

    The z are the largest of all actions; types are one-sided, for they make choices go together.

    Args:
        data: rows, in order of time within each path.
        policy: (n, A) of (n, d) states, of a fit that agrees with the choices along all columns.
        base: an action, left out where there are two.
    """
    data = some_paths(data)
    path = path_of(data.trajectory)
    order = np.argsort(path, kind="stable")
    path, actions, states = path[order], data.actions[order], data.states[order]
    start = np.flatnonzero(np.append(True, np.diff(path) != 0))
    distinct, (exact,) = index_rows([states])
    is_exact = len(distinct) * FEWEST <= len(actions)
    if len(start) < FEWEST_PATHS or (policy is None and not is_exact):
        return None
    fitted = None
    if policy is not None and not is_exact:
        chunks = np.array_split(distinct, 1 + len(distinct) // CHUNK)
        fitted = np.concatenate([policy(chunk) for chunk in chunks])[exact]
    has_past = np.ones(len(path), dtype=bool)
    has_past[start] = False
    found: tuple[list[tuple[float, float]], ...] = ([], [])
    for a in range(data.number_of_actions):
        if data.number_of_actions == 2 and a == base:
            continue
        residual, cell = (actions == a).astype(float), exact
        if fitted is not None:
            pi = fitted[:, a]
            residual, cell = residual - pi, cells_of([*states.T, pi], pi)
        e = residual - mean_of_others(residual, cell, path)
        total = np.append(0.0, np.cumsum(e)[:-1])
        tests = [
            trend(h[has_past], residual[has_past], cell[has_past])
            for h in (total - total[start][path], np.append(0.0, e[:-1]))
        ]
        for one, (z, p) in zip(found, tests, strict=True):
            one.append((p, z))
    types, memory = ([(p if z > 0 else 1.0, z) for p, z in found[0]], found[1])
    times = 2 * len(types)
    (types_p, types_z), (memory_p, memory_z) = (
        min(one, key=lambda pz: (pz[0], -abs(pz[1]))) for one in (types, memory)
    )
    return OfHistory(types_z, memory_z, min(1.0, times * types_p), min(1.0, 2 * times * memory_p))


def path_of(labels: NDArray[Any]) -> Integers:
    """(n,) the path of each row, numbered in order of the labels."""
    return np.repeat(*_runs(labels))


def _runs(labels: NDArray[Any]) -> tuple[Integers, Integers]:
    """(m,) the path of each run of rows with one label, and its number of rows."""
    first = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    path = np.unique(labels[first], return_inverse=True)[1]
    return path, np.diff(first, append=len(labels))


def some_paths(data: Transitions) -> Transitions:
    """The data; of more than MOST_ROWS rows as many whole paths, drawn by a fixed seed, as hold it.

    They are FEWEST_PATHS or more, where there are so many.
    """
    if len(data) <= MOST_ROWS:
        return data
    path, rows = _runs(data.trajectory)
    total = np.bincount(path, rows)
    order = np.random.default_rng(0).permutation(len(total))
    number = max(int(np.searchsorted(np.cumsum(total[order]), MOST_ROWS)) + 1, FEWEST_PATHS)
    is_asked = np.zeros(len(total), dtype=bool)
    is_asked[order[:number]] = True
    return data.take(np.flatnonzero(np.repeat(is_asked[path], rows)))


def cells_of(columns: Sequence[Array], pi: Array) -> Integers:
    """(n,) cells of the columns together, in the most bins that leave FEWEST rows a cell.

    The fewest bins are tried first, for where these are too many others need not be asked.
    """
    found = equally_full(pi, pi, STRATA)
    for most in BINS:
        code: Integers = np.zeros(len(pi), dtype=np.int64)
        for x in columns:
            bins = equally_full(x, x, most)
            code = code * (bins.max() + 1) + bins
            code = np.unique(code, return_inverse=True)[1]
            if (code.max() + 1) * FEWEST > len(code):  # with more columns they are no fewer
                return found
        found = code
    return found


def mean_of_others(values: Array, cell: Integers, path: Integers) -> Array:
    """(n,) mean of values over the rows of a cell in other paths; where none is, the own value."""
    own = cell * (path.max() + 1) + path
    if own.max() > MANY * len(own):
        own = np.unique(own, return_inverse=True)[1]
    of_cell, of_own = (np.bincount(code, values)[code] for code in (cell, own))
    n_cell, n_own = (np.bincount(code)[code] for code in (cell, own))
    others = n_cell - n_own
    return np.where(others > 0, (of_cell - of_own) / np.maximum(others, 1), values)


def trend(h: Array, residual: Array, cell: Integers) -> tuple[float, float]:
    """z of a history h with residuals in cells, and its one-sided p-value."""
    n = np.maximum(np.bincount(cell), 1)
    h, residual = (x - (np.bincount(cell, x) / n)[cell] for x in (h, residual))
    squares = np.bincount(cell, residual**2) / np.maximum(n - 1, 1)
    variance, score = float(squares[cell] @ h**2), float(h @ residual)
    if not variance > 0:
        return 0.0, 1.0
    z = score / np.sqrt(variance)
    if not z**2 > MISFIT * len(h):
        return z, 1.0
    ends = np.zeros((2, len(n)))
    np.maximum.at(ends[0], cell, residual)
    np.maximum.at(ends[1], cell, -residual)
    push, own = h * np.sign(score), squares[cell]
    most = np.where(push > 0, ends[0][cell], ends[1][cell])
    counts = (push != 0) & (np.minimum(own, most) > ROUNDING)
    push, own, most = np.abs(push[counts]), own[counts], most[counts]
    theta = TILTS * abs(score) / variance
    up, down = np.log(own / (most**2 + own)), np.log(most**2 / (most**2 + own))
    tilted = [
        float(np.logaddexp(down - t * push * own / most, up + t * push * most).sum()) for t in theta
    ]
    exponent = np.array(tilted) - theta * abs(score)
    best = int(exponent.argmin())
    tail = erfcx(theta[best] * np.sqrt(variance / 2)) / 2
    return z, float(min(np.exp(exponent[best]), 1.0) * tail)
