"""Observed transitions (s, a, s', done, trajectory): validation, splitting, data frames.

Nothing here holds a reward, a Q or a transition law.
"""

from __future__ import annotations

import mmap
import os
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, NDArray

from gladius.checks import Array, InputError, check_finite, check_whole, shaped
from gladius.distinct import compress, factorised
from gladius.folder import TYPES, Columns, column, on_disk, read, write

Integers = NDArray[np.int64]

LARGEST_INTEGER = 2.0**53  # beyond it, neighbouring whole numbers share one float64


def distinct_rows(rows: Array) -> tuple[Array, Integers]:
    """Distinct rows in lexicographic order, and how often each occurs."""
    distinct, (index,) = index_rows([rows])
    return distinct, np.bincount(index).astype(np.int64)


def index_rows(blocks: Sequence[Array], most: float = np.inf) -> tuple[Array, list[Integers]]:
    """Distinct rows over all blocks, lexicographic, and each block's positions among them.

    Column by column, so that no more than one column of all rows is in memory.

    Args:
        blocks: (n_i, d) arrays of finite numbers with the same d.
        most: distinct rows past which further columns are not looked at.
    """
    ends = np.cumsum([len(block) for block in blocks])
    place, representative = np.zeros(ends[-1], dtype=np.int64), np.zeros(1, dtype=np.int64)
    for k in range(blocks[0].shape[1]):
        if len(representative) > most:
            break
        joined = np.concatenate([column(block, k) for block in blocks])
        if np.array_equal(joined[representative][place], joined):
            continue  # it tells no two rows apart that were alike
        codes, levels = factorised(joined)
        span = len(representative) * len(levels)
        place, pairs = compress(place * len(levels) + codes, span)
        representative = np.empty(len(pairs), dtype=np.int64)
        representative[place] = np.arange(len(place))
    distinct = np.empty((len(representative), blocks[0].shape[1]))
    for block, end in zip(blocks, ends, strict=True):
        start = end - len(block)
        here = (start <= representative) & (representative < end)
        distinct[here] = block[representative[here] - start]
    return distinct, np.split(place, ends[:-1])


@shaped
def grid_positions(grid: Float[Array, "S d"], states: Float[Array, "n d"]) -> Int[Integers, " n"]:
    """Place of each state on a grid of distinct ones; -1 where it is not on it."""
    known, asked = (pd.MultiIndex.from_arrays(list(rows.T)) for rows in (grid, states))
    return np.asarray(known.get_indexer(asked), dtype=np.int64)


class Pairs(NamedTuple):
    """Distinct state-action pairs and how often each occurs."""

    states: Array
    actions: Integers
    weights: Integers


@dataclass(frozen=True)
class Transitions:
    """The offline data set D of the paper's Section 3.

    Attributes:
        states: (n, d) float features.
        actions: (n,) whole numbers in 0 .. number_of_actions - 1.
        next_states: (n, d) float features of s'.
        trajectory: (n,) label of the trajectory each row belongs to (by default one trajectory).
        done: (n,) whether the path ended at s' (its value is then zero); by default nowhere.
        number_of_actions: size of the action set; by default the largest action seen plus one.
        feature_names: d names, for data frames.
    """

    states: Array
    actions: Integers
    next_states: Array
    trajectory: NDArray[Any] = None  # type: ignore[assignment]  # filled in __post_init__
    done: NDArray[np.bool_] = None  # type: ignore[assignment]  # likewise
    number_of_actions: int = None  # type: ignore[assignment]  # likewise
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        states = _features("states", self.states)
        following = _features("next_states", self.next_states)
        n, width = states.shape
        if following.shape != states.shape:
            hint = f"ragged data: s and s' differ, give shape {states.shape}"
            raise InputError("next_states", following.shape, hint)
        actions = _actions(self.actions, n, self.number_of_actions)
        seen = max(2, int(actions.max()) + 1)
        size = seen if self.number_of_actions is None else int(self.number_of_actions)
        given = np.zeros(n, dtype=np.int64) if self.trajectory is None else self.trajectory
        trajectory = _labels(given, n)
        done = np.zeros(n, dtype=bool) if self.done is None else _ended(self.done, n)
        names = tuple(self.feature_names) or tuple(f"s{i}" for i in range(width))
        if len(names) != width or len(set(names)) != width:
            raise InputError("feature_names", names, f"give {width} distinct names")
        vars(self).update(  # the instance itself is frozen
            {"states": states, "actions": actions, "next_states": following, "done": done},
            trajectory=trajectory,
            number_of_actions=size,
            feature_names=names,
        )

    def __len__(self) -> int:
        return len(self.actions)

    def to_folder(self, folder: str | os.PathLike[str]) -> None:
        """Write the rows to a new folder, for `open`; `gladius.folder.write` takes parts of them.

        Raises:
            InputError: the folder exists or cannot be made.
        """
        write(folder, [self])

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Transitions:
        """The data set of a folder, memory-mapped: rows are read when, and as far as, needed.

        With `function_class="sparse"` a fit never holds the features of all rows in memory, but
        functions of the distinct states in the inputs that it chooses: 5 KB a row where none
        repeats. Other methods read all features.

        Raises:
            InputError: the folder is missing, incomplete, or holds what is no data set.
        """
        return cls(**read(folder))

    @classmethod
    def from_paths(cls, states: Array, actions: Integers, number_of_actions: int) -> Transitions:
        """Paths of equal length, none ended: (N, H + 1, d) states and (N, H) actions."""
        width, (number, horizon) = states.shape[2], actions.shape
        return cls(
            states[:, :-1].reshape(-1, width),
            actions.ravel(),
            states[:, 1:].reshape(-1, width),
            np.repeat(np.arange(number), horizon),
            number_of_actions=number_of_actions,
        )

    def take(self, rows: NDArray[np.generic]) -> Transitions:
        """The rows of a mask or index array, as a data set of its own."""
        columns = ("states", "actions", "next_states", "trajectory", "done")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    def split(
        self, fraction: float = 0.8, rng: np.random.Generator | None = None
    ) -> tuple[Transitions, Transitions]:
        """Split by trajectory into (training, test); the paper keeps 80 % for training.

        Args:
            fraction: share of the trajectories, rounded to the nearest whole number.
            rng: shuffles the trajectories first; without it the first ones are kept, which is
                as good where they are independent and identically distributed.
        """
        if not 0.0 < fraction < 1.0:
            raise InputError("fraction", fraction, "give a share strictly between 0 and 1")
        label, names = pd.factorize(self.trajectory)  # in order of appearance
        number = len(names)
        kept = round(fraction * number)
        if not 0 < kept < number:
            hint = f"too few for a split at {fraction}: each side needs at least one"
            raise InputError("trajectory", f"{number} trajectories", hint)
        order = np.arange(number) if rng is None else rng.permutation(number)
        chosen = np.isin(label, order[:kept])
        return self.take(chosen), self.take(~chosen)

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
    ) -> Transitions:
        """Choice data as one row a period, in order of time within each trajectory or with `time`.

        Args:
            frame: the table.
            state: names of the feature columns.
            action: name of the action column, whole numbers from 0.
            id: name of the column that tells the trajectories (people, buses) apart.
            time: name of the column that numbers the periods: rows are sorted by it, and none is
                followed by a row more than one period later (the smallest step that occurs).
            next_state: names of the columns of s'; without them s' is the next row of the same
                trajectory, and a trajectory's last row only serves as s' (unless it is `done`).
            done: name of a column that says whether the path ended after this row. Where merely
                the observation ended, as at the end of a panel, it did not: leave it false there.
            number_of_actions: size of the action set, if larger than what occurs.
        """
        if not isinstance(frame, pd.DataFrame):
            raise InputError("frame", type(frame).__name__, "give a pandas DataFrame")
        if isinstance(state, str) or not state:
            raise InputError("state", state, "give a list of column names")
        if isinstance(next_state, str):
            raise InputError("next_state", next_state, "give a list of column names")
        asked = [*state, action, id, *(next_state or ()), *filter(None, (time, done))]
        for name in asked:
            if list(frame.columns).count(name) != 1:
                hint = f"the frame needs one such column, it has {list(frame.columns)}"
                raise InputError("column", name, hint)
        if len(frame) == 0:
            raise InputError("frame", "no rows", "give at least one transition")
        if next_state is not None and len(next_state) != len(state):
            hint = f"name {len(state)} columns, one for each state"
            raise InputError("next_state", list(next_state), hint)
        labels = _labels(frame[id].to_numpy(), len(frame), id)
        given = np.zeros(len(frame), dtype=bool) if done is None else frame[done].to_numpy()
        ended = _ended(given, len(frame), done or "done")
        now = _columns(frame, state)
        after = now if next_state is None else _columns(frame, next_state)
        choices = _actions(frame[action].to_numpy(), len(frame), number_of_actions, action)
        if time is not None or next_state is None:
            order, follows = _follows(frame, labels, id, time, next_state is None)
            now, after, choices = now[order], after[order], choices[order]
            labels, ended = labels[order], ended[order]
            _check_ends(ended, labels, id, done, time, frame)
        keep = np.ones(len(frame), dtype=bool)
        if next_state is None:
            after = np.where(follows[:, None], np.roll(now, -1, axis=0), now)
            keep = follows | ended
            if not np.any(keep):
                hint = "each trajectory has a single row, hence no transition: name next_state"
                raise InputError(id, f"{len(frame)} trajectories", hint)
            single = np.setdiff1d(labels, labels[keep])
            if len(single):
                told = f"{len(single)} trajectories of a single row hold no transition: left out"
                warnings.warn(told, stacklevel=2)
        return cls(
            now[keep],
            choices[keep],
            after[keep],
            labels[keep],
            ended[keep],
            number_of_actions,  # type: ignore[arg-type]  # None: taken from the data
            tuple(state),
        )

    def to_frame(self) -> pd.DataFrame:
        """A data frame with the features, `action`, `next_<feature>`, `done` and `id`."""
        names = [*self.feature_names, *(f"next_{name}" for name in self.feature_names)]
        if len({"id", "action", "done", *names}) != 3 + len(names):
            hint = "columns of the data frame would have the same name: rename the features"
            raise InputError("feature_names", self.feature_names, hint)
        columns: dict[Hashable, ArrayLike] = {"id": self.trajectory}
        columns |= {name: self.states[:, i] for i, name in enumerate(self.feature_names)}
        columns["action"] = self.actions
        columns |= {f"next_{n}": self.next_states[:, i] for i, n in enumerate(self.feature_names)}
        columns["done"] = self.done
        return pd.DataFrame(columns)


def _follows(
    frame: pd.DataFrame, labels: NDArray[Any], id: str, time: str | None, joins: bool
) -> tuple[Integers, NDArray[np.bool_]]:
    """The rows trajectory by trajectory in order of time; which are followed by the next period.

    Gaps are told where s' is to be the next row: `joins`.
    """
    codes = pd.factorize(labels)[0]
    if time is None:
        order = np.argsort(codes, kind="stable").astype(np.int64)
        if np.any(order != np.arange(len(order))):
            told = f"{id}: rows of a trajectory are not together and were taken in the order of "
            told += "the table: where that is not the order of time, name time"
            warnings.warn(told, stacklevel=3)
        return order, np.append(np.diff(codes[order]) == 0, False)
    clock = check_finite(time, frame[time].to_numpy(), "number the periods: 0, 1, 2, ...")
    order = np.lexsort((clock, codes)).astype(np.int64)
    same, steps = np.diff(codes[order]) == 0, np.diff(clock[order])
    repeats = np.flatnonzero(same & (steps == 0))
    if len(repeats):
        row = order[repeats[0]]
        hint = f"{id} {labels[row]} has two rows at this time: keep one"
        raise InputError(time, clock[row], hint)
    period = np.min(steps[same], initial=np.inf)
    joined = same & (steps <= period * (1 + 1e-9))
    gaps = np.flatnonzero(same & ~joined)
    if joins and len(gaps):
        with_gap = ", ".join(map(str, pd.unique(labels[order[gaps]])[:5]))
        told = f"{time}: {len(gaps)} gaps, among them in {id} {with_gap}; "
        told += "no row is joined across one, the row before it is left out"
        told += f" (a period is {period:g}: where it is not, number the periods 0, 1, 2, ...)"
        warnings.warn(told, stacklevel=3)
    return order, np.append(joined, False)


def _check_ends(
    ended: NDArray[np.bool_],
    labels: NDArray[Any],
    id: str,
    done: str | None,
    time: str | None,
    frame: pd.DataFrame,
) -> None:
    """With `time`, raise where a path goes on after its end; warn where all end at the last."""
    if time is None:
        return
    after_end = np.flatnonzero(ended[:-1] & (labels[1:] == labels[:-1]))
    if len(after_end):
        hint = f"the path ended, but has further rows: mark the last row of each {id} alone"
        raise InputError(str(done), f"{id} {labels[after_end[0]]}", hint)
    if ended.sum() > 1:
        ends = frame[time].to_numpy()[frame[done].to_numpy().astype(bool)]
        if np.all(ends == frame[time].max()):
            told = f"{done}: all paths end in the last period observed; if only the observation "
            warnings.warn(told + "ended there, they did not end: leave it false", stacklevel=3)


def _columns(frame: pd.DataFrame, names: Sequence[str]) -> Array:
    return np.stack([check_finite(name, frame[name].to_numpy()) for name in names], axis=1)


def _features(name: str, value: ArrayLike) -> Array:
    if _is_map(value):
        value = Columns(value[:, None] if value.ndim == 1 else value)
    if on_disk(value):
        if value.ndim != 2 or 0 in value.shape:
            raise InputError(name, value.shape, "give a non-empty array of shape (rows, features)")
        value.check(name, LARGEST_INTEGER)
        return value  # type: ignore[return-value]  # it reads as one
    array = np.array(check_finite(name, value))  # a copy: what the caller does to theirs is theirs
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(name, array.shape, "give a non-empty array of shape (rows, features)")
    if np.any(np.abs(array) >= LARGEST_INTEGER):
        worst = float(array[np.abs(array) >= LARGEST_INTEGER][0])
        raise InputError(name, worst, "whole numbers of 2**53 and more run together: rescale them")
    return array


def _is_map(value: object) -> TypeGuard[NDArray[Any]]:
    """Whether an array of numbers is memory-mapped and cannot be written to: it needs no copy."""
    if not isinstance(value, np.ndarray) or not isinstance(value.base, np.memmap | mmap.mmap):
        return False
    return not value.flags.writeable and value.dtype in (*TYPES, np.bool_)


def _column(name: str, value: ArrayLike, rows: int) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(name, value, "ragged data: give one entry a row") from None
    if array.shape != (rows,):
        hint = f"ragged data: give one entry for each of {rows} rows"
        raise InputError(name, array.shape, hint)
    return array


def _labels(value: ArrayLike, rows: int, name: str = "trajectory") -> NDArray[Any]:
    """Trajectory labels that can be told apart and ordered."""
    array = _column(name, value, rows)
    missing = np.flatnonzero(pd.isna(array))
    if len(missing):
        hint = "every row needs a trajectory label"
        raise InputError(f"{name}[{missing[0]}]", array[missing[0]], hint)
    kinds = {type(label).__name__ for label in array} if array.dtype.kind == "O" else set()
    if len(kinds) > 1:
        raise InputError(name, sorted(kinds), "give all labels the same type")
    return array


def _ended(value: ArrayLike, rows: int, name: str = "done") -> NDArray[np.bool_]:
    """Whether the path ended after each row; not from text, where even "False" would count."""
    hint = "give true or false in each row, as booleans or 1 and 0, not as text"
    array = _column(name, value, rows)
    if array.dtype.kind == "b":
        return array if _is_map(value) else array.copy()
    array = check_finite(name, array, hint)
    fine = np.isin(array, (0, 1))
    if not np.all(fine):
        raise InputError(name, array[~fine][0], hint)
    return array.astype(bool)


def _actions(value: ArrayLike, rows: int, size: int | None, name: str = "actions") -> Integers:
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
    return array.astype(np.int64, copy=not _is_map(value))


LARGEST_TABLE = 50_000_000  # entries of the (R, A, S, S) table: 400 MB


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
        moves: (R, A, S, S) n(s, a, s') of the rows that are not done.
    """

    states: Array
    visits: Array
    moves: Array

    @property
    def size(self) -> Array:
        """(R,) N, the number of transitions of each replication."""
        return np.asarray(self.visits.sum(axis=(1, 2)))

    @property
    def support(self) -> Array:
        """(R,) visited pairs (s, a) over the square root of the rows: large where few repeat."""
        return np.asarray(np.sum(self.visits > 0, axis=(1, 2)) / np.sqrt(self.size))

    @property
    def seen(self) -> Array:
        """(R, S) how often each state is the current one."""
        return np.asarray(self.visits.sum(axis=2))

    @property
    def present(self) -> NDArray[np.bool_]:
        """(R, S) states of each replication's own, as s or s'; the others only pad the grid."""
        return np.asarray(self.seen + self.moves.sum(axis=(1, 2)) > 0)


def group(data: Transitions | Sequence[Transitions]) -> Counts:
    """Count the transitions of one data set or of several replications (leading axis)."""
    sets = [data] if isinstance(data, Transitions) else list(data)
    if not sets:
        raise InputError("transitions", sets, "give at least one data set")
    for i, given in enumerate(sets):
        if not isinstance(given, Transitions):
            raise InputError(f"transitions[{i}]", type(given).__name__, "give Transitions")
        width, actions = sets[0].states.shape[1], sets[0].number_of_actions
        if (given.states.shape[1], given.number_of_actions) != (width, actions):
            told = f"{given.states.shape[1]} features, {given.number_of_actions} actions"
            hint = f"the others have {width} features and {actions} actions"
            raise InputError(f"transitions[{i}]", told, hint)
    blocks = [rows for given in sets for rows in (given.states, given.next_states)]
    states, index = index_rows(blocks, np.sqrt(LARGEST_TABLE / (len(sets) * actions)))
    total = len(sets) * actions * len(states) ** 2
    if total > LARGEST_TABLE:
        hint = "coarsen the features, or choose a method without a table: gladius with"
        hint += " function_class='sparse', avi or pqr"
        told = f"a table of {total} counts is too large: {hint}"
        raise InputError("states", f"{len(states)} distinct states", told)
    shape = (actions, len(states))
    visits = np.empty((len(sets), *shape))
    moves = np.empty((len(sets), *shape, len(states)))
    for r, (given, now, after) in enumerate(zip(sets, index[::2], index[1::2], strict=True)):
        pair = given.actions * len(states) + now
        visits[r] = np.bincount(pair, minlength=visits[r].size).reshape(shape)
        triple = (pair * len(states) + after)[~given.done]
        moves[r] = np.bincount(triple, minlength=moves[r].size).reshape(moves[r].shape)
    return Counts(states, np.swapaxes(visits, 1, 2), moves)
