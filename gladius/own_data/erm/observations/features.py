"""Observations as `gladius.rows` uses them: inputs, groups of equal states, functions of a state.

`Inputs` standardises the features, `Rows` groups the observations by the features in use, and
`Features` are functions of a state: monomials of standardised inputs, and cosines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from gladius.model.choice_sets import sets_of
from gladius.model.state_anchor import StateAnchor, own_actions
from gladius.own_data.erm.rarity import SPANS
from gladius.panel.anchor import Anchor
from gladius.panel.record import Integers, Transitions, distinct_rows, index_rows
from gladius.validate import Array

CHUNK = 500_000  # numbers of a chunk of standardised inputs: 4 MB
SUPPORT = (0.0005, 0.9995)  # quantiles of an input between which zeta is not clipped
CONSTANT = 1e-12  # range, relative to 1 or the mean, up to which an input is constant
SYMMETRIC = 1e-9  # skewness up to which it is rounding
SAMPLE = 10_000  # observations at equal distances, for quantiles
END_SHARE = 0.02  # of the rows, from which an end of a column is a cell
END_VALUES = 5  # of a column whose ends are asked for
CELLS = 144  # combinations of values up to which each has a cell
COSINES = (30, 50, 60)  # for one, two, and more inputs
SPREADS = (0.7, 1.5, 3.0)  # standard deviations of the cosines' frequencies


def factorised(values: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
    """(n,) index of each number among the distinct ones, and those, sorted."""
    codes, levels = pd.factorize(values, sort=True)
    return codes.astype(np.int64, copy=False), np.asarray(levels)


def sampled(number: int) -> slice:
    """Which of so many observations are in the sample of `Inputs`."""
    return slice(None, None, max(1, number // SAMPLE))


@dataclass(frozen=True)
class Inputs:
    """The features of a data set, standardised chunk by chunk."""

    states: Array  # (n, K) features
    # center, scale: (K,) mean and standard deviation; the latter is negative where the third moment
    # is, so that a skew feature and its negative are the same input, and is 1 for a constant
    center: Array
    scale: Array
    varies: NDArray[np.bool_]  # (K,) whether an input is not constant
    sample: Array  # (n', K) the observations that are `sampled`
    # results of `codes` by input
    coded: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    @classmethod
    def of(cls, states: Array) -> Inputs:
        """The inputs, standardised by the observations themselves."""
        center = states.sum(axis=0) / len(states)
        deviation = states - center
        skewness = np.einsum("nk,nk,nk->k", deviation, deviation, deviation)
        scale = np.sqrt(np.square(deviation, out=deviation).sum(axis=0) / len(states))
        # by the range: the mean of a constant has an error that grows with the observations
        varies = np.ptp(states, axis=0) > CONSTANT * np.maximum(1.0, np.abs(center))
        is_negative = skewness < -SYMMETRIC * len(states) * scale**3
        scale = np.where(varies, np.where(is_negative, -scale, scale), 1.0)
        return cls(states, center, scale, varies, np.array(states[sampled(len(states))]))

    def first(self, number: int) -> Inputs:
        """Some of them, from the first on."""
        names = ("states", "center", "scale", "varies", "sample")
        arrays: Any = {name: getattr(self, name)[..., :number] for name in names}
        return self if number == len(self.center) else Inputs(**arrays)

    def ends(self, columns: Iterable[int]) -> list[tuple[int, float, float]]:
        """(column, end, the value next to it) of ends that many rows have: r may jump there."""
        found = []
        for k in columns:
            values, times = np.unique(self.sample[:, k], return_counts=True)
            if len(values) >= END_VALUES:
                shares = times / len(self.sample)
                sides = ((0, 1), (-1, -2))
                found += [(k, values[i], values[j]) for i, j in sides if shares[i] >= END_SHARE]
        return found

    def chunks(self) -> Iterator[tuple[slice, Tensor]]:
        """Slices of the observations with their (n', K) standardised inputs."""
        center, scale = torch.as_tensor(self.center), torch.as_tensor(self.scale)
        size = max(1, CHUNK // self.states.shape[1])
        for start in range(0, len(self.states), size):
            chunk = slice(start, start + size)
            yield chunk, (torch.as_tensor(self.states[chunk]) - center) / scale

    def codes(self, k: int) -> tuple[Tensor, Tensor]:
        """Standardised values of an input, sorted, and (n,) the index of each observation's."""
        if k not in self.coded:
            codes, values = factorised(self.states[:, k])
            z = (values - self.center[k]) / self.scale[k]
            small = codes.astype(np.int32)
            self.coded[k] = torch.as_tensor(z), torch.as_tensor(small)
        return self.coded[k]


@dataclass(frozen=True)
class Features:
    """Functions of a state: monomials of standardised inputs, cosines, and cells.

    A cell is 1 where some inputs have, or are nearest to, one combination of their values.
    """

    inputs: tuple[int, ...]  # q columns of the state
    center: Array  # center, scale: (q,) by which they are standardised
    scale: Array
    # the monomials, as positions in `inputs`: () is 1, (i,) an input, (i, j) a product
    terms: tuple[tuple[int, ...], ...]
    frequencies: Array  # (q, c) of the cosines
    phases: Array  # (c,)
    low: Array  # low, high: (q,) the box to which standardised inputs are clipped, or (m, q) boxes
    high: Array
    removed: Array  # (terms, c) monomials that are subtracted from each cosine and cell
    # positions in `inputs`, and the (m, k) combinations of their standardised values
    cells: tuple[tuple[tuple[int, ...], Array], ...] = ()

    @property
    def size(self) -> int:
        """Number of functions."""
        return len(self.terms) + int(self.removed.shape[1])

    def standardised(self, states: Tensor) -> Tensor:
        """(n, q) the inputs at (n, d) states, within the box; (n, m, q) within m boxes."""
        center, scale, low, high = (
            torch.as_tensor(array).to(states)
            for array in (self.center, self.scale, self.low, self.high)
        )
        z = (states[:, list(self.inputs)] - center) / scale
        z = z[:, None] if low.dim() == 2 else z
        return torch.minimum(torch.maximum(z, low), high)

    def with_block(self, block: Features, removed: Array | float = 0.0) -> Features:
        """These functions with the cosines or cells of a block of the same inputs, less monomials.

        Cosines stand before cells, and a block has one of both.
        """
        own = np.broadcast_to(removed, (len(self.terms), block.removed.shape[1]))
        cosines = len(self.phases)
        before, after = self.removed[:, :cosines], self.removed[:, cosines:]
        return replace(
            self,
            frequencies=np.concatenate([self.frequencies, block.frequencies], axis=1),
            phases=np.concatenate([self.phases, block.phases]),
            removed=np.concatenate(
                [before, after, own] if block.cells else [before, own, after], axis=1
            ),
            cells=(*self.cells, *block.cells),
        )

    def __call__(self, states: Tensor) -> Tensor:
        """(n, size) values at (n, d) states; (n, m, size) with m boxes."""
        z = self.standardised(states)
        monomials = torch.stack([z[..., list(term)].prod(dim=-1) for term in self.terms], dim=-1)
        if self.size == len(self.terms):
            return monomials
        angles = z @ torch.as_tensor(self.frequencies).to(z) + torch.as_tensor(self.phases).to(z)
        curves = [torch.cos(angles)]
        for positions, values in self.cells:
            distances = torch.cdist(z[..., list(positions)], torch.as_tensor(values).to(z))
            curves.append(torch.nn.functional.one_hot(distances.argmin(dim=-1), len(values)).to(z))
        removed = monomials @ torch.as_tensor(self.removed).to(z)
        return torch.cat([monomials, torch.cat(curves, dim=-1) - removed], dim=-1)


def make_features(
    columns: Sequence[int],
    inputs: Inputs,
    products: Iterable[tuple[int, ...]] = (),
    *,
    curved: Sequence[int] = (),
    box: tuple[Array, Array] | None = None,
    in_cells: bool = False,
    most: int = COSINES[-1],
) -> Features:
    """1, some columns and products of them, and cosines of those among them that are `curved`.

    Frequencies and phases are drawn from one seed, the same in every fit. Two or more columns with
    up to CELLS combinations of values have a cell for each in place of the cosines, if `in_cells`.
    There are at `most` so many cosines.
    """
    columns = [int(k) for k in columns]
    positions = [columns.index(k) for k in curved]
    count = min(most, COSINES[min(len(positions), len(COSINES)) - 1]) if positions else 0
    cells: tuple[tuple[tuple[int, ...], Array], ...] = ()
    if in_cells:
        values, _ = distinct_rows(inputs.sample[:, list(curved)])
        if len(values) <= CELLS:
            z = (values - inputs.center[list(curved)]) / inputs.scale[list(curved)]
            cells, count = ((tuple(positions), z),), 0
    rng = np.random.default_rng(0)
    frequencies = np.zeros((len(columns), count))
    spread = np.resize(SPREADS, count) / np.sqrt(max(1, len(positions)))
    frequencies[positions] = rng.standard_normal((len(positions), count)) * spread
    unbounded = np.full(len(columns), np.inf)
    low, high = (-unbounded, unbounded) if box is None else box
    monomials = ((), *((i,) for i in range(len(columns))), *products)
    return Features(
        inputs=tuple(columns),
        center=inputs.center[columns],
        scale=inputs.scale[columns],
        terms=monomials,
        frequencies=frequencies,
        phases=rng.uniform(0, 2 * np.pi, count),
        low=low,
        high=high,
        removed=np.zeros((len(monomials), count + sum(len(values) for _, values in cells))),
        cells=cells,
    )


def make_cells(columns: Sequence[int], inputs: Inputs, group: tuple[float, ...]) -> Features:
    """1 and some columns, with a cell for each value of one of them: `group` is it and those."""
    block, (k, *values) = make_features(columns, inputs), group
    z = (np.array(values)[:, None] - inputs.center[int(k)]) / inputs.scale[int(k)]
    cells = (((list(columns).index(int(k)),), z),)
    return replace(block, removed=np.zeros((len(block.terms), len(z))), cells=cells)


@dataclass(frozen=True)
class Logs:
    """Columns that are positive and span SPANS or more, and the least values seen of them.

    Standardised, nearly all of such a column is one point, so that no cosine tells its values
    apart; in its log they are apart, but not the largest as far as they are.
    """

    columns: tuple[int, ...] = ()
    floors: tuple[float, ...] = ()

    @classmethod
    def of(cls, data: Transitions) -> Logs:
        """Those of a data set."""
        both = np.concatenate([data.states, data.next_states])
        low, high = both.min(axis=0), both.max(axis=0)
        found = tuple(np.flatnonzero((low > 0) & (high >= SPANS * low)).tolist())
        return cls(found, tuple(low[list(found)].tolist()))

    def beside(self, states: Array) -> Array:
        """(n, d + l) states with the logs beside them; what is lower than seen has the floor."""
        if not self.columns:
            return states
        own = np.maximum(states[:, list(self.columns)], self.floors)
        return np.concatenate([states, np.log(own)], axis=1)

    def of_data(self, data: Transitions) -> Transitions:
        """The data with the logs as further features."""
        if not self.columns:
            return data
        names = (*data.feature_names, *(f"log {data.feature_names[k]}" for k in self.columns))
        states, after = map(self.beside, (data.states, data.next_states))
        return replace(data, states=states, next_states=after, feature_names=names)

    def origins(self, columns: Iterable[int], width: int) -> tuple[int, ...]:
        """The columns of `width` that some of those with the logs are of, sorted."""
        return tuple(sorted({k if k < width else self.columns[k - width] for k in columns}))

    def with_own(self, columns: Iterable[int], width: int) -> tuple[int, ...]:
        """Columns and their logs."""
        given = tuple(columns)
        return (*given, *(width + i for i, k in enumerate(self.columns) if k in given))


@dataclass(frozen=True)
class FirstColumns:
    """A function of the states as given, of states that have further columns."""

    function: Callable[[Array], Array]
    width: int

    def __call__(self, states: Array) -> Array:
        return self.function(states[:, : self.width])


@dataclass(frozen=True)
class Rows:
    """A data set grouped by the inputs in use: distinct states, their choices and moves."""

    states: Tensor  # (S, d) distinct among s and s'; inputs that are not in use are zero
    visits: Tensor  # (S, A) n(s, a)
    followed: Tensor  # (S, A) those of them whose next state or end was observed
    # origin, target: (M,) states of the distinct moves (s, a, s') that do not end the path
    origin: Tensor
    target: Tensor
    action: Tensor  # (M,) their actions
    times: Tensor  # (M,) how often each occurs
    anchor_reward: Tensor  # (S,) r(s, a_s)
    is_free: Tensor  # (S, A) 1 where r(s, a) is estimated, 0 for a_s
    closed: Tensor  # (S, A) FORBIDDEN where an action is not available, else 0
    # state_index, next_index: (n,) index of s and s' of each observation among the states
    state_index: Tensor
    next_index: Tensor
    continues: Tensor  # (n,) whether the path was seen to continue after it
    anchor: int  # a_s, or of actions that are a_s by state any: the base of log-odds
    discount: float  # beta

    @classmethod
    def of(
        cls,
        data: Transitions,
        used: Sequence[int],
        anchor: Anchor,
        discount: float,
        by: float = 0.0,
    ) -> Rows:
        """Group a data set by the inputs in use, by a_s and by its reward, lowered `by`."""
        used = list(used)
        blocks = data.states, data.next_states
        distinct, (index, next_index) = index_rows([block[:, used] for block in blocks])
        actions = data.number_of_actions
        if callable(anchor.reward) or isinstance(anchor, StateAnchor):
            codes, levels = factorised(np.concatenate([anchor.values(block) for block in blocks]))
            size = len(levels) * actions
            codes = codes * actions + np.concatenate([own_actions(anchor, x) for x in blocks])
            joint, pairs = factorised(codes + np.concatenate([index, next_index]) * size)
            index, next_index = np.split(joint, [len(index)])
            distinct, label = distinct[pairs // size], pairs % size
            reward, own = levels[label // actions], label % actions
        else:
            reward, own = anchor.values(distinct), own_actions(anchor, distinct)
        closed, sets = np.zeros((len(distinct), actions)), sets_of(data)
        if sets is not None:
            kinds, of_kind = index_rows([sets.closed(block) for block in blocks])
            joint, pairs = factorised(
                np.concatenate(of_kind) + np.concatenate([index, next_index]) * len(kinds)
            )
            index, next_index = np.split(joint, [len(index)])
            closed, pairs = kinds[pairs % len(kinds)], pairs // len(kinds)
            distinct, reward, own = distinct[pairs], reward[pairs], own[pairs]
        states = np.zeros((len(distinct), data.states.shape[1]))
        states[:, used] = distinct
        count = len(states)
        pair = index * actions + data.actions
        visits, followed = (
            torch.tensor(np.bincount(rows, minlength=count * actions).reshape(-1, actions)).double()
            for rows in (pair, pair[data.followed])
        )
        continues = data.followed & ~data.done
        codes = (index * count + next_index) * actions + data.actions
        move_index, moves = factorised(codes[continues])
        times = np.bincount(move_index, minlength=len(moves))

        return cls(
            states=torch.tensor(states),
            visits=visits,
            followed=followed,
            origin=torch.tensor(moves // actions // count),
            target=torch.tensor(moves // actions % count),
            action=torch.tensor(moves % actions),
            times=torch.tensor(times.astype(float)),
            anchor_reward=torch.tensor(reward - by),
            is_free=1.0 - torch.nn.functional.one_hot(torch.tensor(own), actions).double(),
            closed=torch.tensor(closed),
            state_index=torch.tensor(index.astype(np.int32)),
            next_index=torch.tensor(next_index.astype(np.int32)),
            continues=torch.tensor(continues),
            anchor=anchor.action,
            discount=discount,
        )

    @property
    def actions(self) -> range:
        """All actions."""
        return range(self.visits.shape[1])

    @property
    def others(self) -> list[int]:
        """The actions but the base of log-odds."""
        return [a for a in self.actions if a != self.anchor]

    @cached_property
    def estimated(self) -> list[int]:
        """The actions whose rewards are not given in every state."""
        return [a for a in self.actions if bool(self.is_free[:, a].any())]

    @cached_property
    def given(self) -> list[int]:
        """The actions whose rewards are given in some state."""
        return [a for a in self.actions if not bool(self.is_free[:, a].all())]

    @cached_property
    def seen(self) -> Tensor:
        """(S,) n(s), how often each state is the current one."""
        return self.visits.sum(dim=1)

    @property
    def log_size(self) -> float:
        """Log n, BIC's price of a parameter."""
        return float(torch.log(self.visits.sum()))
