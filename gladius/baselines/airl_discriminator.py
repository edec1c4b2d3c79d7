"""AIRL's discriminators: reward classes whose cross-entropy is minimised to its bottom (airl.py).

D = exp f / (exp f + pi) tells expert rows from generator rows; with e(s, a) rows of the one and
n(s, a) of the other,

    L(f) = -sum e ln D - sum n ln(1 - D),   dL/df = n D - e (1 - D),

is convex in f, and in parameters of which f is linear. `Tabular` holds both classes with a free
g(s, a): for any T-hat and any phi such f are all tables, with the minimiser f = ln pi + ln(e / n)
in closed form, so nothing is iterated; airl_state_only.py holds g(s). `split` then says which
(g, phi) represents f.

Many do. Gradient steps on (g, phi) never leave the row space of the map (g, phi) -> f, so from a
start they arrive at the representation nearest to it (least squares); that is what `split` gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from gladius.checks import Array
from gladius.transitions import Integers

NO_END = 1e-9  # rows that sum to one within this never end the path


@dataclass(frozen=True)
class Rows:
    """What a discriminator sees; leading axis R.

    Attributes:
        expert: (R, S, A) rows of the data; zero only in states that are padding.
        rolled: (R, S) rows of the roll-outs, zero only there too.
        log_policy: (R, S, A) of the generator, a known part of D.
    """

    expert: Array
    rolled: Array
    log_policy: Array

    @property
    def generator(self) -> Array:
        """(R, S, A) rows of the roll-outs."""
        return np.asarray(self.rolled[..., None] * np.exp(self.log_policy))


class Discriminator(Protocol):
    """A class of f. Its parameters are arrays with leading axis R; f is affine in them."""

    def start(self, g: Array, phi: Array) -> Array:
        """Parameters from g (R, S, A) and phi (R, S)."""

    def reward(self, parameters: Array) -> Array:
        """(R, S, A) E[f given s, a] under T-hat, which the generator plans with."""

    def gradient(self, parameters: Array, rows: Rows) -> tuple[Array, Array]:
        """dL / dparameters, and the number of rows that each entry is a sum over."""

    def cross_entropy(self, parameters: Array, rows: Rows) -> Array:
        """(R,) L over the rows of one class."""

    def minimise(self, parameters: Array, rows: Rows, tolerance: float) -> tuple[Array, Integers]:
        """The minimiser of L, and the (R,) steps it took."""

    def split(self, parameters: Array, g: Array, phi: Array) -> tuple[Array, Array]:
        """The g (R, S, A) and phi (R, S) of f nearest to the start g, phi."""

    def take(self, replications: Integers) -> Discriminator:
        """The same for some of the replications."""


@dataclass(frozen=True)
class Tabular:
    """g(s, a): the parameters are f(s, a) itself.

    Attributes:
        law: (R, A, S, S) T-hat.
        present: (R, S) states that count; the others are padding.
        discount: beta.
        plain: shape with h at the sampled s', not with its mean. At the minimum f(s, a, s') does
            not depend on s', so h has to be constant over the successors of each pair.
        anchor: (action, (S,) rewards): fix g(., action) at them, which leaves one phi.
    """

    law: Array
    present: NDArray[np.bool_]
    discount: float
    plain: bool = False
    anchor: tuple[int, Array] | None = None

    def start(self, g: Array, phi: Array) -> Array:
        following = np.einsum("raij,rj->ria", self.law, phi)
        return np.asarray(g + self.discount * following - phi[..., None])

    def reward(self, parameters: Array) -> Array:
        return parameters

    def gradient(self, parameters: Array, rows: Rows) -> tuple[Array, Array]:
        d = expit(parameters - rows.log_policy)
        return rows.generator * d - rows.expert * (1 - d), rows.expert + rows.generator

    def cross_entropy(self, parameters: Array, rows: Rows) -> Array:
        return cross_entropy(parameters - rows.log_policy, rows.expert, rows.generator)

    def minimise(self, parameters: Array, rows: Rows, tolerance: float) -> tuple[Array, Integers]:
        # ln pi + ln(e / n) with n = pi times the rows of the state: nothing is divided by a tiny pi
        here = self.present[..., None]
        expert, rolled = np.where(here, rows.expert, 1), np.where(here, rows.rolled[..., None], 1)
        f = np.where(here, np.log(expert) - np.log(rolled), rows.log_policy)
        return f, np.zeros(len(f), dtype=np.int64)

    def split(self, parameters: Array, g: Array, phi: Array) -> tuple[Array, Array]:
        pairs = zip(self.law, self.present, parameters, g, phi, strict=True)
        found = np.stack([self._phi(*one) for one in pairs])
        return np.asarray(parameters - self.start(np.zeros_like(parameters), found)), found

    def take(self, replications: Integers) -> Tabular:
        law, present = self.law[replications], self.present[replications]
        return Tabular(law, present, self.discount, self.plain, self.anchor)

    def _phi(self, law: Array, present: NDArray[np.bool_], f: Array, g: Array, phi: Array) -> Array:
        """(S,) phi of one replication."""
        eye = np.eye(len(phi))
        if self.anchor is not None:
            action, given = self.anchor
            system = eye - self.discount * law[action]
            return np.asarray(np.linalg.solve(system, given - f[:, action]))
        shape = (self.discount * law - eye) * present[:, None]  # f = g + shape phi, (A, S, S)
        basis = _constant_over_successors(law, present) if self.plain else eye
        columns = (shape @ basis).reshape(law[..., 0].size, basis.shape[1])  # perhaps no column
        target = ((f - g) * present[:, None]).T.ravel()
        normal = basis.T @ basis + columns.T @ columns
        return np.asarray(basis @ np.linalg.solve(normal, basis.T @ phi + columns.T @ target))


def _constant_over_successors(law: Array, present: NDArray[np.bool_]) -> Array:
    """(S, K) indicators of the sets over which h must be constant for beta h(s') not to vary.

    Where a path may end, h counts as 0 there, and so it is 0 on the set that the end belongs to.
    """
    size = law.shape[-1]
    rows = law[:, present].reshape(-1, size)
    ends = np.maximum(1.0 - rows.sum(axis=1, keepdims=True), 0.0)
    reached = np.concatenate([rows, ends * (ends > NO_END)], axis=1) > 0
    reached = reached[reached.any(axis=1)]
    pair, state = np.nonzero(reached)
    lead = reached.argmax(axis=1)[pair]  # all successors of a pair join its first one
    links = csr_array((np.ones(len(pair)), (lead, state)), shape=(size + 1, size + 1))
    number, label = connected_components(links, directed=False)
    free = np.arange(number) != label[-1]
    return np.asarray((label[:-1, None] == np.arange(number)[free]).astype(float))


def cross_entropy(gap: Array, expert: Array, generator: Array) -> Array:
    """(R,) sum of -e ln D - n ln(1 - D) over the sum of e, where D = expit(gap)."""
    cells = expert * np.logaddexp(0, -gap) + generator * np.logaddexp(0, gap)
    axes = tuple(range(1, cells.ndim))
    return np.asarray(cells.sum(axis=axes) / expert.sum(axis=axes))


def relative(gradient: Array, weight: Array) -> Array:
    """(R,) largest gradient per row of its own cell: rare cells count as much as others."""
    share = np.abs(gradient) / np.where(weight > 0, weight, 1.0)
    return np.asarray(share.reshape(len(share), -1).max(axis=1))
