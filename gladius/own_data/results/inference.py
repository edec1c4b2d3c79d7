"""Standard errors on counts: one influence table for all methods.

A method hands over with its estimate what that rests on, its `basis`. The errors follow from it:
`FormErrors` of a form's parameters, `FreeErrors` where each reward is a parameter of its own.

To first order theta-hat - theta is a sum over observations (s, a, s'). With c = dQ - dV the score
of a choice, I its information, and m(s, a) = beta sum_s' dP_a(s, s') V(s') the error of P-hat,

    theta-hat - theta = I^-1 [ sum over choices of c(s, a) - sum_{s,a} psi(s, a) m(s, a) ],
    psi = n(s) pi c + beta pi u,     u = (1 - beta P_pi')^-1 sum_{s,a} n(s) pi c P_a.

A transition moves the distribution that it is counted in (a `Factor`). Where frequencies estimate
P_a(s, .), its influence is -beta I^-1 psi(s, a) (V(s') - P_a V(s)) / n(s, a). The two sums are
uncorrelated, so the covariance is I^-1 + I^-1 N I^-1, with N that of the second. NFXP, MPEC, NPL
and CCP share these tables: at any consistent theta-hat they have the same first-order errors.

- ML-IRL weights a choice in period t by beta^t, so that I^-1 J I^-1 takes the place of I^-1, with J
  the sum of squared weights times c c'.
- Without a form each reward is a parameter. The plug-in has I at n(s, a) plus its pseudo-count.
  Profiled ERM, `smooth`, has H = I + lambda D2'D2 in the place of I, and H^-1 as in Nychka (1988).

Source: Aguirregabiria and Mira (2002), Proposition 4; Newey and McFadden (1994), Section 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from gladius.baselines.ccp import RenewalBasis
from gladius.model.choice_sets import NEVER
from gladius.model.estimate import Estimate, StateFunction
from gladius.model.frequencies import empirical_transition_probabilities
from gladius.model.inversion import FreeBasis
from gladius.model.parametric import FormBasis
from gladius.model.resolvent import Resolvent
from gladius.model.state_anchor import StateAnchor
from gladius.own_data.results.factors import Cells, Factor, factors_of, frequency_factors
from gladius.own_data.results.noise import Near, Noise, drawn, row_cells
from gladius.own_data.results.weights import SampledForm, SampledFree, of_rows
from gladius.panel.moves import (
    Table,
    arrivals,
    dense,
    each,
)
from gladius.panel.record import Transitions, grid_positions, index_rows
from gladius.panel.ties import TIE
from gladius.solvers.threads import one_thread
from gladius.validate import Array, InputError, Integers, check_choice

Blocks = Iterator[tuple[Array, Table]]
Kind = str | Mapping[str, Any]  # {"cluster": columns} names what observations are grouped by
KINDS = ("model", "cluster", "outer")
EVERY_KIND = (*KINDS, "robust")
LARGEST_CONDITION = 1e12  # of the scaled information
LARGEST_TABLE = 50_000_000  # entries of a table of influences: 400 MB
SHARE = 0.05  # of an error in another state, above which it needs them there too


@dataclass(frozen=True)
class Influence:
    """What an observation of each cell adds to theta-hat - theta.

    Attributes:
        choice: (S, A, k) by its choice.
        move: (M, k) by its transition.
        cells: the M observed transitions, of those whose next state was observed.
        visits: (S, A) choices.
        inverse: (k, k) the covariance if P is known: I^-1, or what takes its place.
        unseen: (k, k) variance of transitions that were seen once, and so show none.
    """

    choice: Array
    move: Array
    cells: Cells
    visits: Array
    inverse: Array
    unseen: Array

    @property
    def covariance(self) -> Array:
        """(k, k) from the model: I^-1 + I^-1 N I^-1."""
        noise = (self.move * self.cells.number[:, None]).T @ self.move
        return np.asarray(self.inverse + noise + self.unseen)

    @property
    def outer(self) -> Array:
        """(k, k) the inverse of the outer product of the choices' scores, as in Rust (1987)."""
        scores = np.einsum("sa,sak,sal->kl", self.visits, self.choice, self.choice)
        return np.asarray(self.inverse @ np.linalg.inv(scores) @ self.inverse)

    def clustered(
        self,
        data: Transitions,
        states: Array,
        groups: Sequence[Integers],
        weights: Array | float = 1.0,
        sampling: Array | float = 1.0,
    ) -> Array:
        """(k, k) from sums over groups, whose observations may depend on one another.

        For two columns of groups it is V1 + V2 - V12, with V12 that of the groups by both, as in
        Cameron, Gelbach and Miller (2011). Negative eigenvalues, which it may have, are set to 0.

        Args:
            data: the observations.
            states: (S, d) the grid.
            groups: the (n,) group of each observation, by one column or two.
            weights: (n,) of the choices.
            sampling: (n,) of the observations, by which the counts are weighted too.
        """
        s, t = (grid_positions(states, x) for x in (data.states, data.next_states))
        t = np.where(data.done, len(states), t)
        scores = np.reshape(weights, (-1, 1)) * self.choice[s, data.actions]
        cell = self.cells.positions(data.actions, s, t)
        each = scores + data.followed[:, None] * self.move[cell]
        each *= np.reshape(sampling, (-1, 1))
        tables = [sum_of_squares(each, label) for label in groups]
        if len(groups) == 1:
            return tables[0] + self.unseen
        _, both = np.unique(np.column_stack(groups), axis=0, return_inverse=True)
        values, vectors = np.linalg.eigh(sum(tables) - sum_of_squares(each, both.ravel()))
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T + self.unseen)


def sum_of_squares(each: Array, label: Integers) -> Array:
    """(k, k) of the sums of (n, k) influences over groups, times G / (G - 1)."""
    number = int(label.max()) + 1
    if number < 2:
        raise InputError("cluster", number, "clustered errors need two groups or more")
    sums = np.zeros((number, each.shape[1]))
    np.add.at(sums, label, each)
    centred = sums - sums.mean(axis=0)
    return np.asarray(number / (number - 1) * centred.T @ centred)


def read_kind(
    kind: Kind, data: Transitions, kinds: Sequence[str] = EVERY_KIND
) -> tuple[str, list[Integers]]:
    """The word for a kind of errors; and the (n,) groups of those that sum over groups, by column.

    Raises:
        InputError: it is none of the kinds, or names no column.
    """
    if not isinstance(kind, Mapping):
        check_choice("kind", kind, kinds)
        if kind == "robust":
            return kind, [np.arange(len(data))]
        return kind, [groups_of(data, "id")] if kind == "cluster" else []
    given = kind.get("cluster")
    columns: list[Any] = [given]
    if isinstance(given, Iterable) and not isinstance(given, str):
        columns = list(given)
    is_named = all(isinstance(one, str) for one in columns)
    if len(kind) != 1 or not is_named or len(columns) not in (1, 2):
        hint = "give {'cluster': column}, with the name of a column, or a list of two"
        raise InputError("kind", kind, hint)
    check_choice("kind", "cluster", kinds)
    return "cluster", [groups_of(data, name) for name in columns]


def groups_of(data: Transitions, column: str) -> Integers:
    """(n,) group of each observation: by trajectory (`id`), a carried column or one of the state.

    Raises:
        InputError: there is no such column.
    """
    features = data.features_of_columns
    if column in data.carried:
        values = data.carried[column]
    elif column in features:
        return index_rows([data.states[:, list(features[column])]])[1][0]
    elif column == "id":
        values = data.trajectory
    else:
        names = ", ".join(("id", *features, *data.carried))
        hint = f"name one of {names}, or carry the column: from_frame(..., carry=[{column!r}])"
        raise InputError("cluster", column, hint)
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)


def in_words(kind: Kind) -> str:
    """A kind of errors as a summary names it."""
    if not isinstance(kind, Mapping):
        return kind
    given = kind["cluster"]
    return f"cluster by {given if isinstance(given, str) else ' and '.join(given)}"


def influence(
    cells: Cells,
    transition: Table,
    design: Array,
    q: Array,
    discount: float,
    factors: Sequence[Factor],
    *,
    visits: Array | None = None,
    squares: Array | None = None,
    penalty: Array | None = None,
    rows: Cells | None = None,
    resolvent: Resolvent | None = None,
) -> Influence:
    """The table of one data set.

    Args:
        cells: the observed transitions.
        transition: (A, S, S) P or P-hat.
        design: (S, A, k) dr / dtheta.
        q: (S, A) at theta-hat.
        discount: beta.
        factors: the distributions that P-hat is made of; none where P is known.
        visits: (S, A) choices as the criterion counts them, by default n(s, a).
        squares: (S,) sums of their squared weights, where these are not 1.
        penalty: (k, k) second derivative of a penalty on theta, by default none.
        rows: the same without weights, where `cells` are of weighted observations.
        resolvent: of Q-hat's choices, where it is at hand.

    Raises:
        InputError: the choices do not identify theta, or the table is too large.
    """
    check_table(len(cells.number) + design[..., 0].size, design.shape[2])
    v = logsumexp(q, axis=1)
    visits = cells.total.T if visits is None else visits
    policy = np.exp(q - v[:, None])
    if resolvent is None:
        resolvent = Resolvent.of(policy, transition, discount)
    dv = resolvent.solve(np.einsum("sa,sak->sk", policy, design))
    score = design + discount * np.moveaxis(transition @ dv, 0, 1) - dv[:, None]
    g = visits.sum(axis=1)[:, None, None] * policy[..., None] * score
    information = np.einsum("sak,sal->kl", g, score)
    inverse = inverse_of(information) if penalty is None else np.linalg.inv(information + penalty)
    choices = inverse
    if squares is not None:
        spread = np.einsum("s,sa,sak,sal->kl", squares, policy, score, score)
        choices = inverse @ spread @ inverse
    u = resolvent.solve_transposed(arrivals(transition, g))
    psi = (g + discount * policy[..., None] * u[:, None]) @ inverse
    psi = -discount * np.swapaxes(psi, 0, 1)  # (A, S, k), I^-1 included
    move, unseen = np.zeros((len(cells.number), len(inverse))), np.zeros_like(inverse)
    for factor in factors:
        move += factor.influence(cells, transition, v, psi)
        unseen += factor.unseen(cells if rows is None else rows, transition, v, psi)
    return Influence(score @ inverse, move, cells, visits, choices, unseen)


def check_table(rows: int, parameters: int) -> None:
    """Raise where a table of influences would not fit into memory."""
    if rows * parameters > LARGEST_TABLE:
        hint = f"too many for the influences on {parameters} parameters: use `bootstrap`"
        raise InputError("transitions", f"{rows} distinct ones", hint)


def inverse_of(information: Array) -> Array:
    """(k, k) I^-1, or an error where theta is not identified."""
    root = np.sqrt(np.diag(information))
    if not np.all(root > 0) or np.linalg.cond(information / np.outer(root, root)) > (
        LARGEST_CONDITION
    ):
        hint = "the choices do not identify theta: leave out a parameter, or add data"
        raise InputError("reward.design", information.shape, hint)
    return np.asarray(np.linalg.inv(information), dtype=float)


class Errors:
    """The errors of an estimate, from what it was fitted to."""

    has_parameters: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("model",)

    def at(self, states: Array, kind: Kind, data: Transitions) -> tuple[Array | None, Array]:
        """(n, A) centres of intervals of r, None for r-hat; and standard errors."""
        raise NotImplementedError  # each kind of errors has its own


@dataclass(frozen=True)
class FormErrors(Errors):
    """The errors of theta-hat in a form of the reward; q maps states of the grid to Q-hat."""

    has_parameters: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = EVERY_KIND

    basis: FormBasis
    q: StateFunction
    sampling: str | None = None  # the column with sampling weights

    def at(self, states: Array, kind: Kind, data: Transitions) -> tuple[None, Array]:
        """No centre but r-hat, and (n, A) standard errors of r at (n, d) states."""
        design = np.asarray(self.basis.model.form.design(states))
        return None, np.sqrt(np.einsum("nak,kl,nal->na", design, self.cov(kind, data), design))

    @one_thread()
    def cov(self, kind: Kind, data: Transitions) -> Array:
        """(k, k) covariance of theta-hat, from the model or by `kind`.

        Args:
            kind: `model`, which with sampling weights is `robust`; `robust` for sums over
                observations; `cluster` for sums over trajectories, or {"cluster": columns} for sums
                over the groups of other columns; `outer` for the outer product of the scores of
                choices, which takes the transition probabilities as known.
            data: the observations, for sums over groups.
        """
        word, groups = read_kind(kind, data)
        weights, table = self.basis.weights, self.table()
        if (weights is not None or self.sampling) and word == "outer":
            raise InputError("kind", word, "choices have weights: use model, robust or cluster")
        if self.sampling and word == "model":
            _, groups = read_kind("robust", data)
        if groups:
            of_choices = 1.0 if weights is None else weights.of_rows
            given = groups, of_choices, of_rows(data, self.sampling)
            return table.clustered(data, self.basis.model.states, *given)
        return table.covariance if word == "model" else table.outer

    def table(self) -> Influence:
        """The influences on theta-hat."""
        return self._table(*self._at())

    def _at(self) -> tuple[Array, Resolvent, Cells, Cells | None]:
        """Q-hat on the grid and its resolvent; the observed transitions, and without weights."""
        model = self.basis.model
        q = self.q(model.states)
        resolvent = Resolvent.of(softmax(q, axis=1), model.transition[0], model.discount)
        cells = Cells.of(model.counts, model.position, len(model.states))
        rows = row_cells(self.basis) if isinstance(self.basis, SampledForm) else None
        return q, resolvent, cells, rows

    def _table(self, q: Array, resolvent: Resolvent, cells: Cells, rows: Cells | None) -> Influence:
        model = self.basis.model
        visits, squares, _ = self.basis.weights or (model.visits[0], None, 1.0)
        given = cells, model.transition[0], model.design, q, model.discount, factors_of(model)
        more: dict[str, Any] = {"squares": squares, "rows": rows, "resolvent": resolvent}
        return influence(*given, visits=visits, **more)

    @one_thread()
    def shifts(self, theta: Array) -> Array:
        """(2, k) how far errors of frequencies move theta-hat, in its standard errors.

        First the mean shift, to second order, when P-hat gets the noise of its frequencies once
        more. It shows about a third of the bias that the noise causes, or a fifth to a half with
        finite dependence. Then the standard deviation of theta-hat, to first order, where each row
        that was never followed is that of one observation: if moves differ by state, the other
        states say no more of such a row.
        """
        q, resolvent, cells, rows = at = self._at()
        errors = np.sqrt(np.diag(self._table(*at).covariance))
        near = Near.of(self.basis, theta, q, resolvent)
        shift = near.shift(cells, cells if rows is None else rows, errors)
        spread = np.zeros_like(shift)
        if not np.all(cells.total):
            spread = near.spread(Noise.borrowed(cells, near.model.transition[0])) / errors
        return np.asarray([shift, spread])

    @one_thread()
    def draws(self, theta: Array, number: int, rng: np.random.Generator) -> Blocks:
        """Blocks of (n, k) theta and (n, A, S, S) P, jointly by their first-order distribution.

        There are none where P is of few parameters, whose joint distribution is not at hand, or
        with sampling weights.
        """
        if self.sampling:
            return
        model, inverse = self.basis.model, self.table().inverse
        if model.is_known:
            yield rng.multivariate_normal(theta, inverse, number), each(model.transition[0], number)
        elif model.transition_model is None:
            near = Near.of(self.basis, theta, *self._at()[:2])
            for transition in drawn(self.basis, number, rng):
                shifted = theta + near.step(transition)
                noise = rng.multivariate_normal(np.zeros(len(theta)), inverse, len(shifted))
                yield shifted + noise, transition


@dataclass(frozen=True)
class FreeErrors(Errors):
    """Errors where each reward but the anchor's is a parameter of its own, on one data set."""

    kinds: ClassVar[tuple[str, ...]] = ("model", "cluster", "robust")

    basis: FreeBasis
    sampling: str | None = None  # the column with sampling weights

    @one_thread()
    def at(self, states: Array, kind: Kind, data: Transitions) -> tuple[Array, Array]:
        """(n, A) centres of intervals of r and standard errors; NaN off the grid."""
        counts, table = self.basis.counts, self.table()
        is_weighted = self.sampling and kind == "model"
        _, groups = read_kind("robust" if is_weighted else kind, data, self.kinds)
        joint = table.covariance
        if groups:
            weights = of_rows(data, self.sampling)
            joint = table.clustered(data, counts.states, groups, sampling=weights)
        roots = np.sqrt(np.diag(joint)).reshape(-1, len(counts.states))
        errors = np.insert(roots, self.basis.anchor.action, 0.0, axis=0).T
        errors = np.where(self.supported(), errors, np.nan)
        position = grid_positions(counts.states, states)[:, None]
        return self.basis.centre(states), np.where(position < 0, np.nan, errors[position[:, 0]])

    def table(self) -> Influence:
        """The influences on the rewards by action, without the anchor."""
        counts, (size, actions) = self.basis.counts, self.basis.counts.visits.shape[1:]
        others = np.delete(np.arange(actions), self.basis.anchor.action)
        check_table(size * actions, size * len(others))
        design = np.einsum("st,ab->sabt", np.eye(size), np.eye(actions)[:, others])
        penalty: Array | None = None
        rows: Cells | None = None
        if isinstance(self.basis, SampledFree):
            rows = Cells.of(self.basis.rows, np.arange(size), size)
        if self.basis.roughness is not None:
            penalty = np.kron(np.eye(len(others)), self.basis.roughness).astype(np.float64)
        pseudo_count = np.broadcast_to(self.basis.pseudo_count, (size, actions))
        closed = (pseudo_count == NEVER)[:, others].T.ravel()  # of which `supported` is false
        if np.any(closed):
            penalty = np.diag(closed.astype(float))
        return influence(
            Cells.of(counts, np.arange(size), size),
            self.basis.p_hat.transition[0],
            design.reshape(size, actions, -1),
            self.basis.q,
            self.basis.discount,
            self.factors(),
            visits=counts.visits[0] + self.basis.pseudo_count,
            penalty=penalty,
            rows=rows,
        )

    def factors(self) -> tuple[Factor, ...]:
        """The distributions that P-hat is made of, by the numbers of the actions here."""
        basis, counts = self.basis, self.basis.counts
        if not isinstance(basis.anchor, StateAnchor):
            return frequency_factors(counts, basis.p_hat)
        change, grid = basis.anchor.exchange, counts.states
        own = change.counts(counts)
        at = np.arange(len(grid))
        cells = Cells.of(own, at, len(grid))
        rows: Any = change.rows
        numbers = rows(grid, np.indices(cells.shape)[0])  # (A, S) of the other numbering
        order = np.lexsort((cells.after, cells.state, numbers[cells.action, cells.state]))
        return tuple(
            Factor(
                (numbers[one.users[:2]], *one.users[1:]),
                np.asarray(rows(grid, one.feeds)),
                one.outcome[order],
                one.worth,
            )
            for one in frequency_factors(own, empirical_transition_probabilities(own))
        )

    def supported(self) -> NDArray[np.bool_]:
        """(S, A) whether r(s, a) rests on `fewest` observations of all that it uses."""
        a = self.basis.anchor.action
        rows = self.basis.rows if isinstance(self.basis, SampledFree) else self.basis.counts
        is_few = rows.followed[0] < self.basis.fewest
        found = ~is_few
        if self.basis.fewest:
            hint = "ask for no intervals of r, or take a method with a form of the reward"
            transition = dense(self.basis.p_hat.transition[0], hint)
            systems = np.eye(len(is_few)) - self.basis.discount * transition
            uses = np.abs(systems @ np.linalg.inv(systems[a])) > SHARE * (1 + TIE)  # (A, S, S)
            found &= ~np.any(uses & is_few[:, a], axis=2).T
        found[:, a] = True
        return np.asarray(found & self.basis.counts.present[0][:, None])


@runtime_checkable
class Centre(Protocol):
    """r-hat at which intervals are centred, with its standard errors."""

    def __call__(self, states: Array) -> Array:
        """(n, A) r-hat."""

    def errors(self, states: Array) -> Array:
        """(n, A) standard errors."""


@dataclass(frozen=True)
class RowErrors(Errors):
    """The errors of r-hat on observations."""

    centre: Centre

    def at(self, states: Array, kind: Kind, data: Transitions) -> tuple[Array, Array]:
        """(n, A) centres of intervals of r, and standard errors."""
        return self.centre(states), self.centre.errors(states)


def errors_of(estimate: Estimate) -> Errors | None:
    """The errors of an estimate, by what its method handed over with it."""
    basis, sampling = estimate.basis, getattr(estimate, "weights", None)
    if isinstance(basis, FormBasis):
        has_none = basis.q or isinstance(basis, RenewalBasis)
        return None if has_none else FormErrors(basis, estimate.q_function, sampling)
    if isinstance(basis, FreeBasis):
        return FreeErrors(basis, sampling)
    return RowErrors(basis) if isinstance(basis, Centre) else None
