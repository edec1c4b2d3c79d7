"""Observed transitions (s, a, s', done, trajectory): validation, splitting, grouping.

Nothing here holds a reward, a Q or transition probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from math import prod
from typing import Any, NamedTuple, Self, cast

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, NDArray

from gladius.panel.moves import LARGEST_TABLE, arrivals, departures, tabulated
from gladius.validate import Array, InputError, check_finite, check_whole, generator, shaped
from gladius.validate import Integers as Integers

LATER = {"frames": "gladius.panel.frame"}  # who reads or writes a data frame loads it, and no fit
Categories = Mapping[str, tuple[Any, ...]]
MOST_CODES = 2**20  # combinations of whole numbers that are counted, and not sorted
PIECE = 2**15  # rows at a time, which stay in the processor's cache
LARGEST_INTEGER = 2.0**53  # beyond it, neighbouring whole numbers share one float64


def index_rows(blocks: Sequence[Array]) -> tuple[Array, list[Integers]]:
    """Distinct rows over all blocks, lexicographic, and each block's positions among them.

    Args:
        blocks: (n_i, d) arrays of finite numbers with the same d.
    """
    counted = _whole_rows(blocks)
    if counted is not None:
        return counted
    rows = np.concatenate(blocks)
    frame = pd.DataFrame(rows)
    index: Integers = np.zeros(len(rows), dtype=np.int64)
    if len(frame.columns):
        index = np.asarray(frame.groupby(list(frame.columns)).ngroup(), dtype=np.int64)
    representative = np.empty(index.max() + 1, dtype=np.int64)
    representative[index] = np.arange(len(rows))
    return rows[representative], np.split(index, np.cumsum([len(b) for b in blocks])[:-1])


def _whole_rows(blocks: Sequence[Array]) -> tuple[Array, list[Integers]] | None:
    """`index_rows` without sorting; None unless all are whole numbers with few combinations."""
    is_text = any(block.dtype.kind not in "fiu" for block in blocks)
    if is_text or 0 in (blocks[0].shape[1], *map(len, blocks)):
        return None
    columns = [[block[:, k] for block in blocks] for k in range(blocks[0].shape[1])]
    low, high = (
        np.array([end([end(x) for x in column]) for column in columns]) for end in (np.min, np.max)
    )
    if max(high.max(), -low.min()) >= LARGEST_INTEGER or np.any(low != np.floor(low)):
        return None  # codes count from the least, whose piece may come last
    first, sizes = low.astype(np.int64), [int(size) for size in high - low + 1]
    if prod(sizes) > min(MOST_CODES, 100 + sum(map(len, blocks))):
        return None
    seen, index = np.zeros(prod(sizes), dtype=bool), [np.zeros(len(b), np.int64) for b in blocks]
    pieces = [
        (codes[start : start + PIECE], block[start : start + PIECE])
        for codes, block in zip(index, blocks, strict=True)
        for start in range(0, len(block), PIECE)
    ]
    for codes, rows in pieces:
        for x, least, size in zip(rows.T, first, sizes, strict=True):
            whole = x.astype(np.int64)
            if not np.array_equal(whole, x):
                return None
            codes *= size
            codes += whole - least
        seen[codes] = True
    if not np.all(seen):
        position = np.cumsum(seen) - 1
        for codes, _ in pieces:
            codes[:] = position[codes]
    values = np.stack(np.unravel_index(np.flatnonzero(seen), sizes), axis=1) + first
    return values.astype(np.float64), index


def distinct_rows(rows: Array) -> tuple[Array, Integers]:
    """Distinct rows in lexicographic order, and how often each occurs."""
    distinct, (index,) = index_rows([rows])
    return distinct, np.bincount(index).astype(np.int64)


@shaped
def grid_positions(grid: Float[Array, "S d"], states: Float[Array, "n d"]) -> Int[Integers, " n"]:
    """Position of each state on a grid of distinct ones; -1 where it is not on it."""
    index, states_index = (pd.MultiIndex.from_arrays(list(rows.T)) for rows in (grid, states))
    return np.asarray(index.get_indexer(states_index), dtype=np.int64)


class Pairs(NamedTuple):
    """Distinct state-action pairs and how often each occurs."""

    states: Array
    actions: Integers
    weights: Integers


@dataclass(frozen=True)
class DataSet:
    """The offline data set D of the paper's Section 3: all that a method sees of it.

    Attributes:
        states: (n, d) float features.
        actions: (n,) whole numbers in 0 .. number_of_actions - 1.
        next_states: (n, d) float features of s'.
        trajectory: (n,) label of each row's trajectory; by default there is one.
        done: (n,) whether the path ended at s' (its value is then zero); by default nowhere.
        number_of_actions: size of the action set; by default the largest action seen plus one.
        feature_names: d names, for data frames.
        categories: levels of the columns that are categorical.
        action_names: of the actions, where they have any.
        carried: further columns of the table, (n,) each, that `fit` can be given by name.
        is_moved: whether the rows of the table that was read are in another order here.
        followed: (n,) whether s', or the path's end, was observed; by default everywhere. Elsewhere
            s' is s, which no method reads: the row counts as a choice, and not as a transition.
    """

    states: Array
    actions: Integers
    next_states: Array
    trajectory: NDArray[Any] = None  # type: ignore[assignment]  # filled in __post_init__
    done: NDArray[np.bool_] = None  # type: ignore[assignment]  # likewise
    number_of_actions: int = None  # type: ignore[assignment]  # likewise
    feature_names: tuple[str, ...] = ()
    categories: Categories = field(default_factory=dict)
    action_names: tuple[str, ...] = ()
    carried: Mapping[str, Array] = field(default_factory=dict)
    is_moved: bool = False
    followed: NDArray[np.bool_] = None  # type: ignore[assignment]  # filled in __post_init__

    def __post_init__(self) -> None:
        states = check_features("states", self.states)
        next_states = check_features("next_states", self.next_states)
        n, width = states.shape
        if next_states.shape != states.shape:
            hint = f"ragged data: s and s' differ, give shape {states.shape}"
            raise InputError("next_states", next_states.shape, hint)
        actions = check_actions(self.actions, n, self.number_of_actions)
        size = max(2, int(actions.max()) + 1)
        for field_name in ("feature_names", "action_names"):
            if not isinstance(given := getattr(self, field_name), list | tuple):
                raise InputError(field_name, given, "give a list of names")
        names = tuple(self.feature_names) or tuple(f"s{i}" for i in range(width))
        if len(names) != width or len(set(names)) != width:
            raise InputError("feature_names", names, f"give {width} distinct names")
        number = self.number_of_actions or size
        if len(self.action_names) not in (0, number):
            raise InputError("action_names", self.action_names, f"give {number} names, or none")
        done = check_ended(np.zeros(n, dtype=bool) if self.done is None else self.done, n)
        given = np.ones(n, dtype=bool) if self.followed is None else self.followed
        followed = check_ended(given, n, "followed") | done
        np.copyto(next_states, states, where=~followed[:, None])
        labels = np.zeros(n, dtype=np.int64) if self.trajectory is None else self.trajectory
        vars(self).update(  # the instance itself is frozen
            states=states,
            actions=actions,
            next_states=next_states,
            trajectory=check_labels(labels, n),
            done=done,
            followed=followed,
            number_of_actions=size if self.number_of_actions is None else self.number_of_actions,
            feature_names=names,
        )

    def __len__(self) -> int:
        return len(self.actions)

    def take(self, rows: NDArray[np.generic]) -> Self:
        """The rows of a mask or index array, as a data set of its own."""
        columns = ("states", "actions", "next_states", "trajectory", "done", "followed")
        carried = {name: column[rows] for name, column in self.carried.items()}
        return replace(self, carried=carried, **{n: getattr(self, n)[rows] for n in columns})


@dataclass(frozen=True)
class Transitions(DataSet):
    """A `DataSet` as a user reads, shows, splits and writes it, with the same attributes."""

    def __repr__(self) -> str:
        """Rows, trajectories, states, gaps and shares of actions."""
        text: str = import_module(LATER["frames"]).in_words(self)
        return text

    @property
    def features_of_columns(self) -> dict[str, tuple[int, ...]]:
        """The positions of the features of each column, several of a categorical one."""
        column_of = {f"{n}={v}": n for n, levels in self.categories.items() for v in levels}
        names = [column_of.get(name, name) for name in self.feature_names]
        found: dict[str, tuple[int, ...]] = {}
        for k, name in enumerate(names):
            found[name] = (*found.get(name, ()), k)
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the features, those of a category's levels replaced by its own."""
        return tuple(self.features_of_columns)

    @classmethod
    def from_paths(
        cls,
        states: Array | Sequence[Array],
        actions: Integers | Sequence[Integers],
        number_of_actions: int | None = None,
        done: Sequence[bool] | None = None,
    ) -> Transitions:
        """Paths, or episodes of any length: (N, H + 1, d) states and (N, H) actions, or lists.

        `done` says of each path whether it ended in its last state; by default none did.
        """
        try:
            lengths, given = ([len(path) for path in paths] for paths in (actions, states))
        except TypeError:
            raise InputError("states", type(states).__name__, "give a list of paths") from None
        if min(lengths, default=0) < 1 or given != [n + 1 for n in lengths]:
            hint = "give an action or more in each path, and a state more than actions"
            raise InputError("states", given[:5], hint)
        ended = np.zeros(sum(lengths), dtype=bool)
        last = check_ended(np.zeros(len(lengths)) if done is None else done, len(lengths))
        ended[np.cumsum(lengths) - 1] = last
        return cls(
            np.concatenate([path[:-1] for path in states]),
            np.concatenate(list(actions)),
            np.concatenate([path[1:] for path in states]),
            np.repeat(np.arange(len(lengths)), lengths),
            ended,
            cast("int", number_of_actions),
        )

    def split(
        self, fraction: float = 0.8, rng: int | np.random.Generator | None = None
    ) -> tuple[Transitions, Transitions]:
        """Split by trajectory into (training, test); the paper keeps 80 % for training.

        Args:
            fraction: share of the trajectories, rounded to the nearest whole number.
            rng: a seed or generator that shuffles the trajectories; without it the first ones are
                for training, which is as good where they are independent and equally distributed.
        """
        if not isinstance(fraction, float | np.floating) or not 0.0 < fraction < 1.0:
            raise InputError("fraction", fraction, "give a share strictly between 0 and 1")
        label, names = pd.factorize(self.trajectory)  # in order of appearance
        number = len(names)
        training = round(fraction * number)
        if not 0 < training < number:
            hint = f"too few for a split at {fraction}: each side needs at least one"
            raise InputError("trajectory", f"{number} trajectories", hint)
        order = np.arange(number)
        if rng is not None:
            order = generator(rng).permutation(number)
        is_training = np.isin(label, order[:training])
        return self.take(is_training), self.take(~is_training)

    def pairs(self) -> Pairs:
        """Distinct (s, a) with their frequencies."""
        joint = np.concatenate([self.states, self.actions[:, None].astype(float)], axis=1)
        pairs, weights = distinct_rows(joint)
        return Pairs(pairs[:, :-1], pairs[:, -1].astype(np.int64), weights)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        state: Sequence[str],
        action: str,
        id: str,
        time: str | None = None,
        next_state: Sequence[str] | None = None,
        done: str | None = None,
        number_of_actions: int | None = None,
        categorical: Sequence[str] = (),
        carry: Sequence[str] = (),
    ) -> Transitions:
        """Choice data as one row a period, in order of time within each trajectory or with `time`.

        Args:
            frame: the table, of pandas or polars; levels of its index may be named as columns.
            state: names of the feature columns.
            action: name of the action column, whole numbers from 0, or labels (`categorical`).
            id: name of the column that tells the trajectories (people, buses) apart.
            time: name of the column that numbers the periods: rows are sorted by it, and none is
                followed by a row more than one period later (the smallest step that occurs). Dates
                are months if all have one day of the month, and else days.
            next_state: names of the columns of s', all missing where s' was not observed; without
                them s' is the next row of the same trajectory. Where none follows, as at a gap or
                at the end of the panel, the row counts as a choice alone (unless it is `done`).
            done: name of a column that says whether the path ended after this row. Where merely
                the observation ended, as at the end of a panel, it did not: leave it false there.
            number_of_actions: size of the action set, if larger than what occurs.
            categorical: columns of the state, and perhaps the action, whose values are labels. So
                are those of dtype category. Each level but the first, in order, is a feature of its
                own; actions are numbered in order of their labels.
            carry: columns that are no features: numbers, such as the anchor's reward or weights; or
                labels, by whose groups errors are clustered.
        """
        given = state, action, id, time, next_state, done, number_of_actions, categorical, carry
        return cls(*import_module(LATER["frames"]).read_columns(frame, *given))

    def discretise(self, bins: Mapping[str, int | Sequence[float]]) -> Transitions:
        """Some features in bins: each value becomes the middle of its bin.

        Methods on counts need states that repeat.

        Args:
            bins: for each feature a number of equal bins, or their edges, which contain all values.
        """
        return replace(self, **import_module(LATER["frames"]).in_bins(self, bins))

    def to_frame(self) -> pd.DataFrame:
        """A data frame with `id`, `period`, the columns, `action`, `next_<column>` and `done`.

        Labels stand in it where `from_frame` was given labels. A period is left out where s' is not
        the next state of the trajectory.
        """
        frame: pd.DataFrame = import_module(LATER["frames"]).to_frame(self)
        return frame


def action_labels(data: Transitions) -> tuple[str, ...]:
    """The names of the actions, `action 0` and so on where they have none."""
    return data.action_names or tuple(f"action {a}" for a in range(data.number_of_actions))


def check_features(name: str, value: ArrayLike) -> Array:
    array = np.array(check_finite(name, value))  # a copy, which the caller cannot change
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(name, array.shape, "give a non-empty array of shape (rows, features)")
    if max(array.max(), -array.min()) >= LARGEST_INTEGER:
        worst = float(array[np.abs(array) >= LARGEST_INTEGER][0])
        raise InputError(name, worst, "whole numbers of 2**53 and more run together: rescale them")
    return array


def _column(name: str, value: ArrayLike, rows: int) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(name, value, "ragged data: give one entry a row") from None
    if array.shape != (rows,):
        hint = f"ragged data: give one entry for each of {rows} rows"
        raise InputError(name, array.shape, hint)
    return array


def check_labels(value: ArrayLike, rows: int, name: str = "trajectory") -> NDArray[Any]:
    """Trajectory labels that can be told apart and ordered."""
    array = _column(name, value, rows)
    missing = np.flatnonzero(pd.isna(array))
    if len(missing):
        hint = "every row needs a trajectory label"
        raise InputError(f"{name}[{missing[0]}]", array[missing[0]], hint)
    kinds = {type(label).__name__ for label in array} if array.dtype.kind == "O" else set()
    if len(kinds) > 1 or (kinds and not isinstance(array[0], Hashable)):
        raise InputError(name, sorted(kinds), "give all labels the same type, text or numbers")
    return array


def check_ended(value: ArrayLike, rows: int, name: str = "done") -> NDArray[np.bool_]:
    """Whether the path ended after each row; not from text, where even "False" would count."""
    hint = "give true or false in each row, as booleans or 1 and 0, not as text"
    column = _column(name, value, rows)
    if column.dtype == bool:
        return np.array(column)
    array = check_finite(name, column, hint)
    is_other = ~np.isin(array, (0, 1))
    if np.any(is_other):
        raise InputError(name, array[is_other][0], hint)
    return array.astype(bool)


def check_actions(value: ArrayLike, rows: int, size: int | None, name: str = "actions") -> Integers:
    array = _column(name, value, rows)
    if array.dtype.kind not in "iub":
        array = check_finite(name, array, "code the actions 0, 1, 2, ...")
        if not np.array_equal(array, np.floor(array)):
            bad = float(array[array != np.floor(array)][0])
            raise InputError(name, bad, "actions are whole numbers counted from 0")
    limit = np.iinfo(np.int32).max if size is None else check_whole("number_of_actions", size, 2)
    outside = (array < 0) | (array >= limit)  # before the cast, which could wrap around
    if np.any(outside):
        end = "" if size is None else f" to {limit - 1}"
        raise InputError(name, int(array[outside][0]), f"actions are counted from 0{end}")
    if size is None and array.max() >= rows + 2:
        hint = f"code the actions 0 to A - 1: there are {rows} rows, fewer than this makes actions"
        raise InputError(name, int(array.max()), hint)
    return array.astype(np.int64)


def distinct_moves(data: Transitions) -> tuple[Transitions, Array]:
    """The distinct (s, a, s', done) of a data set, and the share of the observations of each."""
    joint = np.column_stack([data.states, data.next_states, data.actions, data.done])
    _, (index,) = index_rows([joint])
    _, first, times = np.unique(index, return_index=True, return_counts=True)
    return data.take(first), times / len(data)


@dataclass(frozen=True)
class Counts:
    """Replications of a data set, grouped over the union of their states.

    Attributes:
        states: (S, d) distinct features among s and s', in lexicographic order.
        visits: (R, S, A) n(s, a).
        moves: (R, A, S, S) n(s, a, s') of the rows that are not done and whose s' was observed, as
            an array or by its entries; see `gladius.panel.moves`.
        followed: (R, S, A) observations whose next state or end was observed; by default all.
    """

    states: Array
    visits: Array
    moves: Any  # a `Table`, which whoever knows S to be small may read as an array
    followed: Array = None  # type: ignore[assignment]  # filled in __post_init__

    def __post_init__(self) -> None:
        followed: Array | None = self.followed
        vars(self)["followed"] = self.visits if followed is None else followed

    def check_taken(self) -> None:
        """Raise where a replication lacks an action, whose reward it does not identify."""
        lacks = np.argwhere(~np.any(self.visits, axis=1))
        if len(lacks):
            hint = f"data set {lacks[0, 0]} never takes it and says nothing of it: leave it out"
            raise InputError("actions", int(lacks[0, 1]), hint)

    def check_followed(self) -> None:
        """Raise where no next state of an action was observed: its continuation is unknown."""
        unknown = np.any(self.visits, axis=1) & ~np.any(self.followed, axis=1)
        if np.any(unknown):
            raise never_followed(int(np.argwhere(unknown)[0, 1]))

    def of(self, replication: int) -> Counts:
        """Those of one replication, on the same grid."""
        one = slice(replication, replication + 1)
        return Counts(self.states, self.visits[one], self.moves[one], self.followed[one])

    @property
    def size(self) -> Array:
        """(R,) N, the number of transitions of each replication."""
        return np.asarray(self.visits.sum(axis=(1, 2)))

    @property
    def support(self) -> Array:
        """(R,) visited pairs (s, a) over the square root of the rows: large where few repeat."""
        return np.asarray(np.sum(self.visits > 0, axis=(1, 2)) / np.sqrt(self.size))

    @property
    def ends(self) -> Array:
        """(R, A, S) observed ends of a path after (s, a)."""
        return np.asarray(np.swapaxes(self.followed, 1, 2) - departures(self.moves))

    @property
    def seen(self) -> Array:
        """(R, S) how often each state is the current one."""
        return np.asarray(self.visits.sum(axis=2))

    @property
    def present(self) -> NDArray[np.bool_]:
        """(R, S) states of each replication's own, as s or s'; the others only pad the grid."""
        reached = arrivals(self.moves, np.ones((*self.visits.shape, 1)))[..., 0]
        return np.asarray(self.seen + reached > 0)


def group(data: DataSet | Sequence[DataSet]) -> Counts:
    """Count the transitions of one data set or of several replications (leading axis)."""
    sets = [data] if isinstance(data, DataSet) else list(data)
    if not sets:
        raise InputError("transitions", sets, "give at least one data set")
    for i, one in enumerate(sets):
        if not isinstance(one, DataSet):
            raise InputError(f"transitions[{i}]", type(one).__name__, "give Transitions")
        width, actions = sets[0].states.shape[1], sets[0].number_of_actions
        if (one.states.shape[1], one.number_of_actions) != (width, actions):
            value = f"{one.states.shape[1]} features, {one.number_of_actions} actions"
            hint = f"the others have {width} features and {actions} actions"
            raise InputError(f"transitions[{i}]", value, hint)
    states, index = index_rows([x for one in sets for x in (one.states, one.next_states)])
    shape = (len(sets), actions, len(states))
    if (total := math.prod(shape)) > LARGEST_TABLE:
        hint = f"a table of {total} counts is too large: code the actions 0 to A - 1"
        raise InputError("states", f"{len(states)} distinct states", hint)
    visits, followed = np.empty(shape), np.empty(shape)
    rows, columns = [], []
    for r, (one, s, after) in enumerate(zip(sets, index[::2], index[1::2], strict=True)):
        pair = one.actions * len(states) + s
        for table, of in ((visits, pair), (followed, pair[one.followed])):
            table[r] = np.bincount(of, minlength=table[r].size).reshape(table[r].shape)
        is_move = one.followed & ~one.done
        rows.append(pair[is_move] + r * visits[r].size)
        columns.append(after[is_move])
    moves = tabulated(np.concatenate(rows), np.concatenate(columns), None, (*shape, len(states)))
    return Counts(states, np.swapaxes(visits, 1, 2), moves, np.swapaxes(followed, 1, 2))


def never_followed(action: int) -> InputError:
    """The error of an action none of whose next states was observed."""
    hint = f"no row with action {action} has an observed next state: if the action ends the path,"
    return InputError("done", f"action {action}", f"{hint} mark its rows in done")
