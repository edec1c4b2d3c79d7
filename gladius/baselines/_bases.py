"""Bases of functions of (s, a) for estimators that are linear in them, and how large to take them.

Every action has coefficients of its own, so a basis is one block of functions of the state for
each action. None is told which features matter: polynomials treat all features alike.

    one_hot      indicators of the pairs that occur; a pair that does not belongs to the nearest
                 state in which its action was taken (features scaled by their range)
    polynomial   all monomials of the features up to a total degree
    additive     powers of single features, no interactions: 1 + d degree terms instead of
                 binomial(d + degree, d)

Size by default (`auto`): the first of one_hot, polynomial 3, polynomial 2, additive 3, additive 2,
polynomial 1 whose number k of functions, all actions together, has k^2 <= n for n observations,
after Adusumilli and Eckardt's Assumption 1(v), k^2 / n -> 0, and no more than MOST_TERMS functions
of the state, for the cost of it; the last one if none has.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import Protocol

import numpy as np

from gladius.anchor import nearest
from gladius.checks import Array, InputError, check_whole
from gladius.transitions import Quadruples

BASES = ("auto", "hold_out", "one_hot", "polynomial", "additive")
LADDER = (("polynomial", 3), ("polynomial", 2), ("additive", 3), ("additive", 2), ("polynomial", 1))
MOST_TERMS = 250
LARGEST_ONE_HOT = 5_000  # cells of one action; the table of indicators is dense
COLLINEAR = 1e-10  # share of the largest eigenvalue of the Gram matrix: below it, no new function


class Basis(Protocol):
    """Functions of the state, one block for each action.

    Attributes:
        name: what it is, with its degree.
        widths: number of functions in each action's block.
    """

    @property
    def name(self) -> str: ...
    @property
    def widths(self) -> list[int]: ...
    def block(self, action: int, states: Array) -> Array: ...


@dataclass(frozen=True)
class Combination:
    """Functions of the state, (n, A, c), from a basis and (k_a, c) coefficients of each action."""

    basis: Basis
    coefficients: tuple[Array, ...]

    def __call__(self, states: Array) -> Array:
        """(n, A, c)."""
        parts = [self.basis.block(a, states) @ w for a, w in enumerate(self.coefficients)]
        return np.stack(parts, axis=1)


@dataclass(frozen=True)
class OneHot:
    """Indicators of the (n_a, d) states in which each action was taken."""

    cells: tuple[Array, ...]

    @property
    def name(self) -> str:
        return "one_hot"

    @property
    def widths(self) -> list[int]:
        return [len(cells) for cells in self.cells]

    def block(self, action: int, states: Array) -> Array:
        """(n, n_a), a single one in each row."""
        cells = self.cells[action]
        indicators = np.zeros((len(states), len(cells)))
        indicators[np.arange(len(states)), nearest(cells, states)] = 1.0
        return indicators


@dataclass(frozen=True)
class Polynomial:
    """Monomials of features scaled to [-1, 1], orthonormal in each action's own data.

    Beyond the range of the data a feature counts as at its end: polynomials must not extrapolate.
    """

    terms: tuple[tuple[int, ...], ...]
    low: Array
    high: Array
    transforms: tuple[Array, ...]
    name: str

    @property
    def widths(self) -> list[int]:
        return [transform.shape[1] for transform in self.transforms]

    def block(self, action: int, states: Array) -> Array:
        """(n, k_a)."""
        raw = monomials(states, self.low, self.high, self.terms)
        return np.asarray(raw @ self.transforms[action])


def monomials(states: Array, low: Array, high: Array, terms: tuple[tuple[int, ...], ...]) -> Array:
    """(n, terms) products of scaled features; a term lists the features it multiplies."""
    width = np.where(high > low, high - low, 1.0)
    scaled = np.clip(2.0 * (states - low) / width - 1.0, -1.0, 1.0)
    scaled[:, high == low] = 0.0  # a constant feature says nothing
    columns = [np.prod(scaled[:, list(term)], axis=1) for term in terms]
    return np.stack(columns, axis=1)


def orthonormal(raw: Array, weights: Array) -> Array:
    """(terms, k) T such that raw T has unit second moments; combinations that vanish are dropped.

    Args:
        raw: (n, terms) functions at the observations.
        weights: (n,) how often each counts.
    """
    values, vectors = np.linalg.eigh((raw * (weights / weights.sum())[:, None]).T @ raw)
    kept = values > COLLINEAR * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def terms_of(name: str, degree: int, width: int) -> tuple[tuple[int, ...], ...]:
    """The monomials of a polynomial basis of `width` features, the constant first."""
    if name == "additive":
        return ((), *((i,) * power for power in range(1, degree + 1) for i in range(width)))
    powers = (combinations_with_replacement(range(width), p) for p in range(degree + 1))
    return tuple(term for group in powers for term in group)


def number_of_terms(name: str, degree: int, width: int) -> int:
    """len(terms_of(...)), without writing them down."""
    return 1 + width * degree if name == "additive" else comb(width + degree, degree)


def affordable(width: int, blocks: int, observations: float) -> list[tuple[str, int]]:
    """The rungs of LADDER with (blocks x terms)^2 <= observations; the last one if none has."""
    most = min(MOST_TERMS, np.sqrt(observations) / blocks)
    return [rung for rung in LADDER if number_of_terms(*rung, width) <= most] or [LADDER[-1]]


def candidates(data: Quadruples) -> list[tuple[str, int]]:
    """(name, degree) of the bases that the rule allows, the largest first."""
    cells = int(np.sum(data.left > 0))
    tabular = [("one_hot", 0)] if cells**2 <= data.size else []
    return tabular + affordable(data.states.shape[1], data.number_of_actions, data.size)


def make_basis(data: Quadruples, name: str, degree: int) -> Basis:
    """A named basis on the earlier pairs of the quadruples.

    Raises:
        InputError: where an action is in no quadruple, for nothing tells what follows it.
    """
    left = data.left > 0
    for action in range(data.number_of_actions):
        if not np.any(left & (data.actions == action)):
            hint = "it is never seen with what follows it, but its value is needed: add data"
            raise InputError("actions", action, hint)
    rows = [left & (data.actions == action) for action in range(data.number_of_actions)]
    if name == "one_hot":
        largest = max(int(chosen.sum()) for chosen in rows)
        if largest > LARGEST_ONE_HOT:
            hint = f"one action is taken in {largest} states, too many for indicators"
            raise InputError("basis", name, f"{hint}: take a polynomial")
        return OneHot(tuple(data.states[chosen] for chosen in rows))
    terms = terms_of(name, degree, data.states.shape[1])
    low, high = data.states.min(axis=0), data.states.max(axis=0)
    transforms = tuple(
        orthonormal(monomials(data.states[chosen], low, high, terms), data.left[chosen])
        for chosen in rows
    )
    return Polynomial(terms, low, high, transforms, f"{name}_{degree}")


def check_basis(basis: str, degree: int) -> None:
    """Raise for a basis that is none of BASES or a degree below one."""
    if basis not in BASES:
        raise InputError("basis", basis, f"choose one of {BASES}")
    check_whole("degree", degree, 1)
