"""Ranks and smallest eigenvalues of small Jacobians, and exact laws of random Gram matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Array = NDArray[np.float64]


def rank(matrix: Array) -> int:
    """Rank by elimination in exact arithmetic (the entries are taken as the floats they are)."""
    rows = [[Fraction(float(x)) for x in row] for row in np.atleast_2d(matrix)]
    found = 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            ratio = rows[i][column] / rows[found][column]
            rows[i] = [x - ratio * y for x, y in zip(rows[i], rows[found], strict=True)]
        found += 1
        if found == len(rows):
            break
    return found


def smallest_eigenvalue(rows: Array) -> float:
    """lambda_min of rows rows', the Gram matrix over evaluation points, by singular values."""
    points, width = rows.shape
    return float(np.linalg.svd(rows, compute_uv=False)[-1] ** 2) if points <= width else 0.0


def least_response(gradients: Array) -> float:
    """inf over unit h of max_i |h' g_i|, for gradients (n, d): the paper's full-rank condition.

    It is 1 over the longest h with all |h' g_i| <= 1, a vertex of that polytope; without n >= d
    spanning rows the polytope is unbounded and the infimum 0. All vertices are tried.
    """
    n, d = gradients.shape
    signs = np.array([(1.0, *rest) for rest in product((-1.0, 1.0), repeat=d - 1)])
    square = [gradients[list(rows)] for rows in combinations(range(n), d)]
    regular = [part for part in square if rank(part) == d]
    if not regular:
        return 0.0
    vertices = np.linalg.solve(np.stack(regular)[:, None], signs[None, :, :, None])[..., 0]
    corners = vertices.reshape(-1, d)
    inside = np.all(np.abs(corners @ gradients.T) <= 1 + 1e-9, axis=1)
    return float(1 / np.max(np.linalg.norm(corners[inside], axis=1)))


def gram_below(rows: int, columns: int, nonzero: float, present: float, level: float) -> float:
    """P(lambda_min(Phi Phi') < level), exactly, for one or two random feature rows.

    An entry is 0 with chance 1 - nonzero, else +-1 / sqrt(nonzero); a whole row is 0 with chance
    1 - present, else it is scaled by 1 / sqrt(present): centred and isotropic either way.
    """
    if rows == 1:  # lambda_min is the squared norm, a binomial count / (nonzero present)
        below = math.ceil(level * nonzero * present) - 1
        short = float(binom.cdf(below, columns, nonzero))
        return (1 - present) * (level > 0) + present * short
    if rows != 2 or nonzero != 1:
        raise ValueError("two rows at most, and without zero entries if two")
    # [[d, S], [S, d]] / present with S a random walk of d steps: lambda_min = (d - |S|) / present
    walk = columns - 2 * np.arange(columns + 1)
    few = columns - np.abs(walk) < level * present
    both = float(binom.pmf(np.arange(columns + 1), columns, 0.5)[few].sum())
    return (1 - present**2) * (level > 0) + present**2 * both


def parameters(inputs: int, hidden: Sequence[int], outputs: int) -> int:
    """d_theta of a fully connected network with biases."""
    total, width = 0, inputs
    for units in (*hidden, outputs):
        total, width = total + width * units + units, units
    return total


def evaluation_points(states: Array, anchored_next: Array, actions: int) -> int:
    """M = |X_Q| |A|: X_Q are the distinct states of decisions and after anchor decisions."""
    seen = {row.tobytes() for part in (states, anchored_next) for row in np.ascontiguousarray(part)}
    return len(seen) * actions
