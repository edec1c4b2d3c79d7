"""First-step choice probabilities of R replications: cell frequencies, or a polynomial logit."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from gladius.anchor import nearest
from gladius.baselines.choice_logit import maximise
from gladius.checks import Array
from gladius.transitions import Integers

COLLINEAR = 1e-8  # share of a monomial that earlier ones leave on the sample: below it, none


@dataclass(frozen=True)
class FirstStep:
    """pi-hat of R replications.

    Attributes:
        policy: (R, S, A); a frequency may be 0.
        lender: (R, S) the state whose frequencies each state has (its own where it was seen).
        cells: (R, S, A) n(s, a) + c.
        found: (R,) whether the logit has a maximum; frequencies always are found.
    """

    policy: Array
    lender: Integers
    cells: Array
    found: NDArray[np.bool_]


def frequencies(visits: Array, states: Array, pseudo_count: float = 0.0) -> FirstStep:
    """(n(s, a) + c) / (n(s) + c A), of the nearest state seen where s never occurs."""
    cells = visits + pseudo_count
    lender = np.tile(np.arange(len(states)), (len(visits), 1))
    for r, seen in enumerate(visits.sum(axis=2) > 0):
        lender[r] = np.flatnonzero(seen)[nearest(states[seen], states)]
    lent = np.take_along_axis(cells, lender[..., None], axis=1)
    policy = lent / lent.sum(axis=2, keepdims=True)
    return FirstStep(policy, lender, cells, np.ones(len(visits), dtype=bool))


def fitted_choices(
    visits: Array, states: Array, degree: int, tolerance: float = 1e-9, max_iterations: int = 100
) -> FirstStep:
    """A logit in a polynomial of the features, for each replication alone."""
    sets, _, actions = visits.shape
    policy, found = np.empty_like(visits), np.zeros(sets, dtype=bool)
    for r, seen in enumerate(visits.sum(axis=2) > 0):
        x = polynomial(states, actions, degree, states[seen])
        flat = np.zeros(visits.shape[1:])
        fitted = maximise(visits[[r]], x, flat, tolerance=tolerance, max_iterations=max_iterations)
        policy[r], found[r] = np.exp(fitted.log_policy[0]), fitted.converged[0]
    own = np.tile(np.arange(len(states)), (sets, 1))
    return FirstStep(policy, own, visits, found)


def polynomial(states: Array, actions: int, degree: int, reference: Array) -> Array:
    """(S, A, k) regressors of a logit: all monomials of the features, for each action but the 0th.

    Args:
        states: (S, d).
        actions: A.
        degree: largest total degree.
        reference: (n, d) states of the sample. Features are scaled by them, which changes nothing
            but rounding (monomials up to a total degree span the same functions in any units).
            A monomial that is a combination of earlier ones there (z^2 of a feature with two
            values, anything of a constant one) is left out: its coefficient would be free.
    """
    spread = np.ptp(reference, axis=0)
    centre = (reference.max(axis=0) + reference.min(axis=0)) / 2
    powers = [
        list(chosen)
        for power in range(degree + 1)
        for chosen in combinations_with_replacement(np.flatnonzero(spread > 0), power)
    ]

    def monomials(at: Array) -> Array:
        z = 2 * (at - centre) / np.where(spread > 0, spread, 1.0)
        return np.stack([np.prod(z[:, chosen], axis=1) for chosen in powers], axis=1)

    basis = monomials(states)[:, _independent(monomials(reference))]
    blocks = np.zeros((len(states), actions, actions - 1, basis.shape[1]))
    for a in range(1, actions):
        blocks[:, a, a - 1] = basis
    return blocks.reshape(len(states), actions, -1)


def _independent(columns: Array) -> list[int]:
    """The columns that are no combination of those kept before them."""
    kept, found = [], columns[:, :0]  # orthonormal
    for i, column in enumerate(columns.T):
        left = column - found @ (found.T @ column)
        left = left - found @ (found.T @ left)  # once more, for rounding
        length = np.linalg.norm(left)
        if length > COLLINEAR * np.linalg.norm(column):
            kept.append(i)
            found = np.column_stack([found, left / length])
    return kept
