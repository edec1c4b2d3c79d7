"""Discounted sums over the moves under a policy, which solve linear systems in I - beta P_pi."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import bmat, csr_matrix, identity
from scipy.sparse.linalg import SuperLU, splu

from gladius.panel.moves import Moves, Table
from gladius.validate import Array


@dataclass(frozen=True)
class Resolvent:
    """(I - beta P_pi)^-1 of one policy or several, by LU factors.

    Attributes:
        systems: (..., S, S) I - beta P_pi, where the table of moves is an array.
        factors: else of each policy the factors of a sparse system, whose first S unknowns are the
            solution; the others are the means over stored rows that several rows share.
    """

    systems: Array | None
    factors: tuple[SuperLU, ...] = ()

    @classmethod
    def of(cls, policy: Array, transition: Table, discount: float) -> Resolvent:
        """That of (..., S, A) choice probabilities and (..., A, S, S) transition probabilities."""
        if not isinstance(transition, Moves):
            flow = np.einsum("...sa,...ast->...st", policy, transition)
            return cls(np.eye(flow.shape[-1]) - discount * flow)
        if policy.ndim == 2:
            return cls(None, (_factors(policy, transition, discount),))
        alone = (transition[r] if transition.ndim > 3 else transition for r in range(len(policy)))
        pairs = zip(policy, alone, strict=True)
        return cls(None, tuple(_factors(pi, moves, discount) for pi, moves in pairs))

    def solve(self, right: Array) -> Array:
        """(..., S, m) x with (I - beta P_pi) x = right, (..., S, m)."""
        return self._solve(right, "N")

    def solve_transposed(self, right: Array) -> Array:
        """(..., S, m) x with (I - beta P_pi)' x = right, (..., S, m)."""
        return self._solve(right, "T")

    def _solve(self, right: Array, transposed: str) -> Array:
        if self.systems is not None:
            systems = self.systems if transposed == "N" else np.swapaxes(self.systems, -1, -2)
            return np.asarray(np.linalg.solve(systems, right))
        size = right.shape[-2]
        found = []
        for lu, one in zip(self.factors, right.reshape(-1, *right.shape[-2:]), strict=True):
            padded = np.zeros((lu.shape[0], one.shape[1]))
            padded[:size] = one
            found.append(lu.solve(padded, transposed)[:size])
        return np.stack(found).reshape(right.shape)


def _factors(policy: Array, transition: Moves, discount: float) -> SuperLU:
    """The factors of one policy, (S, A).

    A stored row that several rows share, such as one pooled over all states, is written once: its
    mean is an unknown of its own, so that it fills no more of the system than it has entries.
    """
    actions, states = transition.row.shape
    row, stored = transition.row.ravel(), transition.stored
    is_shared = np.bincount(row, minlength=stored.shape[0]) > 1
    at = row, (np.tile(np.arange(states), actions), row)
    uses = csr_matrix((discount * policy.T.ravel(), at[1]), (states, stored.shape[0]))
    alone = identity(states, format="csr") - uses[:, ~is_shared] @ stored[~is_shared]
    if not is_shared.any():
        return splu(alone.tocsc())
    means = identity(int(is_shared.sum()))
    system = bmat([[alone, -uses[:, is_shared]], [-stored[is_shared], means]], format="csc")
    return splu(system)
