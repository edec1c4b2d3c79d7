"""Data frames: choices are read from them and written to them, and features put in bins."""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import hypergeom, ks_2samp, norm

from gladius.own_data.erm.rarity import lacks_by_chance
from gladius.panel.record import (
    PIECE,
    Categories,
    Transitions,
    check_actions,
    check_ended,
    check_labels,
    grid_positions,
    index_rows,
)
from gladius.panel.ties import TIE
from gladius.validate import Array, InputError, Integers, check_finite, check_whole

DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")  # of a day or a month, as text
ORDER = 3.0  # standard errors of a correlation with the next row, below which rows have no order
FEWEST_PAIRS = 100  # of successive rows, to ask that
CODE = 20.0  # spreads from the median: a value so far out is most often a code
QUANTILE_ROWS = 50_000  # of which quantiles are taken to find features with such values
CHANCE = 1e-6  # that an action is last so often by chance, below which it is reported
LAST_ODDS = 10.0  # of being last after an action, relative to the others, above which it is
GAP_SHARE = 0.05  # of an action's rows before gaps, beyond that of all: more is reported
STRATA = 10  # ranges of a feature in which gaps are compared
FEWEST_ENDS = 10  # of paths, to compare ends with other rows
FEWEST_TAKEN = 10  # rows of an action, to ask whether a feature tells it
FEWEST_ROWS = 20  # of a state, to ask whether it is the end of paths
END_CHANCE = 0.01  # of ends that look like other rows, above which it is reported


def read_columns(
    frame: pd.DataFrame,
    state: Sequence[str],
    action: str,
    id: str,
    time: str | None = None,
    next_state: Sequence[str] | None = None,
    done: str | None = None,
    number_of_actions: int | None = None,
    categorical: Sequence[str] = (),
    carry: Sequence[str] = (),
) -> tuple[Any, ...]:
    """The fields of `Transitions`, in order; see `Transitions.from_frame`."""
    lists = {"state": state, "next_state": next_state or (), "categorical": categorical}
    for field, names in (lists | {"carry": carry}).items():
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InputError(field, names, "give a list of column names")
    others = [action, id, *filter(None, (time, done)), *carry]
    frame = as_table(frame, [*state, *(next_state or ()), *others])
    check_columns(frame, state, next_state, others)
    is_followed = np.ones(len(frame), dtype=bool)
    if next_state is not None:
        is_followed = ~frame[list(next_state)].isna().all(axis=1).to_numpy()
    if not is_followed.all():
        pairs = zip(state, next_state or (), strict=True)
        given = {n: frame[n].astype(object).where(is_followed, frame[s]) for s, n in pairs}
        frame = frame.assign(**{n: column.infer_objects() for n, column in given.items()})
    carried: dict[str, Any] = {name: carried_column(name, frame[name]) for name in carry}
    same = [*zip(state, next_state or state, strict=True), (action,)]
    categories = find_categories(frame, same, categorical)
    action_names = tuple(map(str, categories.get(action, ())))
    size = number_of_actions or len(action_names) or None
    levels_of = {name: categories[name] for name in state if name in categories}
    further = size, feature_names(state, levels_of), levels_of, action_names
    labels = check_labels(frame[id].to_numpy(), len(frame), id)
    end_column = np.zeros(len(frame), dtype=bool) if done is None else frame[done].to_numpy()
    ended = check_ended(end_column, len(frame), done or "done")
    states = next_states = features(frame, state, categories)
    if next_state is not None:
        levels = {
            n: categories[s] for s, n in zip(state, next_state, strict=True) if s in categories
        }
        next_states = features(frame, next_state, levels)
    taken = frame[action].to_numpy()
    if action not in categories and taken.dtype.kind == "O":
        hint = f"code the actions 0, 1, 2, ..., or give their labels by categorical=[{action!r}]"
        taken = check_finite(action, taken, hint)
    if action in categories:
        taken = pd.Index(categories[action]).get_indexer(pd.Index(frame[action]))
    actions = check_actions(taken, len(frame), size, action)
    if taken.dtype == actions.dtype:
        actions = taken  # a copy less, as Transitions makes its own
    order: slice | Integers = slice(None)
    if time is not None or next_state is None:
        order, is_joined = _order(frame, labels, id, time, next_state is None)
        is_followed = is_joined if next_state is None else is_followed[order]
        states, next_states, actions = states[order], next_states[order], actions[order]
        labels, ended = labels[order], ended[order]
        if done is not None:
            clock = np.arange(len(frame)) if time is None else clock_of(time, frame[time])
            clock = clock[order]
            _check_ends(ended, labels, id, done, clock, np.column_stack([states, actions]))
    warn_of_ends(actions, labels, ended, action)
    if time is None and next_state is None:
        warn_of_no_order(states, labels, id)
    is_moved = not isinstance(order, slice)
    carried = {name: column[order] for name, column in carried.items()}
    if not is_moved:  # they may be the frame's own memory, which the caller can change
        labels, carried = labels.copy(), {name: x.copy() for name, x in carried.items()}
    if next_state is None:
        next_states = states.copy()
        np.copyto(next_states[:-1], states[1:], where=is_followed[:-1, None])
    check_not_the_action(states, actions, further[1])
    check_stationary(states, next_states, actions, labels, is_followed & ~ended, further[1])
    if not np.any(is_followed | ended):
        hint = "each trajectory has a single row, hence no transition: name next_state"
        raise InputError(id, f"{len(frame)} trajectories", hint)
    return states, actions, next_states, labels, ended, *further, carried, is_moved, is_followed


def carried_column(name: str, values: pd.Series) -> NDArray[Any]:
    """(n,) numbers; or texts, by which groups may be named, of a column of labels or dates."""
    entries = values.to_numpy()
    if entries.dtype.kind in "biufc" or not any(
        isinstance(entry, str | date | np.datetime64 | pd.Period) for entry in entries
    ):
        return check_finite(name, entries)
    if np.any(missing := values.isna().to_numpy()):
        raise InputError(f"{name}[{np.argmax(missing)}]", None, "give every row a label, or a date")
    return np.array([str(label) for label in check_labels(entries, len(entries), name)])


def as_table(frame: object, names: Sequence[str]) -> pd.DataFrame:
    """A pandas data frame, with the levels of its index that are named as columns."""
    found: Any = frame
    if not isinstance(frame, pd.DataFrame):
        if not hasattr(frame, "to_pandas"):  # as frames of polars and tables of arrow have
            hint = "give a data frame of pandas or polars"
            raise InputError("frame", type(frame).__name__, hint)
        found = frame.to_pandas()
    table: pd.DataFrame = found
    levels = [n for n in table.index.names if n in names and n not in table.columns]
    return table.reset_index(levels) if levels else table


def clock_of(time: str, values: pd.Series) -> Array:
    """(n,) numbers of periods: months where all dates have one day of the month, and else days."""
    if isinstance(values.dtype, pd.PeriodDtype):
        values = values.dt.to_timestamp()
    if values.dtype.kind == "O" and len(values):
        try:
            if all(isinstance(value, str) and DATE.fullmatch(value) for value in values):
                values = pd.to_datetime(values, format="ISO8601")
            if isinstance(values.iloc[0], date):
                values = pd.to_datetime(values)
        except (TypeError, ValueError) as error:
            hint = f"give dates alone, or number the periods: {error}"
            raise InputError(time, values.iloc[0], hint) from None
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        values = values.dt.tz_localize(None)  # the clock of the place, whatever the season
    if values.dtype.kind == "M" and values.isna().any():
        raise InputError(f"{time}[{int(values.isna().argmax())}]", None, "give every row a date")
    if values.dtype.kind != "M":
        hint = "number the periods 0, 1, 2, ..., or give months such as 2020-01, or dates"
        return check_finite(time, values.to_numpy(), hint)
    of = values.dt
    is_monthly = of.day.nunique() == 1 or of.is_month_end.all()
    if is_monthly and (values - of.normalize()).nunique() == 1:
        return np.asarray(12 * of.year + of.month, dtype=float)
    return np.asarray((values - values.min()) / pd.Timedelta(days=1), dtype=float)


def check_columns(
    frame: pd.DataFrame, state: Sequence[str], next_state: Sequence[str] | None, others: list[str]
) -> None:
    """Raise unless the frame has rows and each of these columns once."""
    for field, names in (("state", state), ("next_state", next_state)):
        if names is not None and len(names) == 0:
            raise InputError(field, names, "name one column or more")
    for name in (*state, *(next_state or ()), *others):
        if not isinstance(name, str):
            raise InputError("column", name, "give the columns names that are text")
        if list(frame.columns).count(name) != 1:
            hint = f"the frame needs one such column, it has {list(frame.columns)}"
            raise InputError("column", name, hint)
    if len(frame) == 0:
        raise InputError("frame", "no rows", "give at least one transition")
    if next_state is not None and len(next_state) != len(state):
        hint = f"name {len(state)} columns, one for each state"
        raise InputError("next_state", list(next_state), hint)


def _order(
    frame: pd.DataFrame, labels: NDArray[Any], id: str, time: str | None, warns: bool
) -> tuple[slice | Integers, NDArray[np.bool_]]:
    """The rows by trajectory and time, and whether the next period follows each of them.

    Rows that are in order are a slice, for which nothing is sorted or copied. Without `time` the
    order of the table counts. `warns` is whether that, and gaps, are reported.
    """
    is_sorted = labels.dtype.kind in "iu" and bool(np.all(labels[1:] >= labels[:-1]))
    codes = labels if is_sorted else pd.factorize(labels)[0]
    clock = np.zeros(len(codes)) if time is None else clock_of(time, frame[time])
    is_later = (codes[1:] == codes[:-1]) & (clock[1:] >= clock[:-1])
    order: slice | Integers = slice(None)
    if not np.all(is_later | (codes[1:] > codes[:-1])):
        order = np.lexsort((clock, codes)).astype(np.int64)
    codes, clock, labels = codes[order], clock[order], labels[order]
    is_same = codes[1:] == codes[:-1]
    if time is None:
        if warns:
            message = f"{id}: the rows of each trajectory were taken in the order of the table, as"
            message += " successive periods: name time, which finds wrong orders and gaps"
            warnings.warn(message, stacklevel=4)
        return order, np.append(is_same, False)
    steps = np.diff(clock)
    repeats = np.flatnonzero(is_same & (steps == 0))
    if len(repeats):
        hint = f"{id} {labels[repeats[0]]} has two rows at this time: keep one"
        raise InputError(time, frame[time].iloc[np.arange(len(codes))[order][repeats[0]]], hint)
    period = np.min(steps, where=is_same, initial=np.inf)
    is_followed = is_same & (steps <= period * (1 + 1e-9))
    if warns and frame[time].dtype.kind in "iuf" and period not in (1.0, np.inf):
        message = f"{time}: rows are {period:g} apart, which counts as one period: the discount"
        message += f" factor is that of {period:g}, or else number the periods 0, 1, 2, ..."
        warnings.warn(message, stacklevel=4)
    gaps = np.flatnonzero(is_same & ~is_followed)
    if warns and len(gaps):
        examples = ", ".join(map(str, pd.unique(labels[gaps])[:5]))
        message = f"{time}: {len(gaps)} gaps, among them in {id} {examples}; "
        message += "no row is joined across one, the row before it counts as a choice alone"
        message += f" (a period is {period:g}: where it is not, number the periods 0, 1, 2, ...)"
        warnings.warn(message, stacklevel=4)
    return order, np.append(is_followed, False)


def _check_ends(
    ended: NDArray[np.bool_],
    labels: NDArray[Any],
    id: str,
    done: str,
    clock: NDArray[Any],
    columns: Array,
) -> None:
    """Raise where a path goes on after its end; warn where ends are those of the observation.

    They are if all paths end in the last period; and if every path ends, in states and actions like
    those of all other rows.
    """
    is_same = labels[1:] == labels[:-1]
    too_early = labels[:-1][ended[:-1] & is_same]
    if len(too_early):
        hint = f"the path ended, but has further rows: mark the last row of each {id} alone"
        raise InputError(done, f"{id} {too_early[0]}", hint)
    what = ""
    if ended.sum() > 1 and np.all(clock[ended] == clock.max()):
        what = "all paths end in the last period observed"
    elif ended.sum() >= FEWEST_ENDS and not np.all(ended) and np.all(ended[:-1] | is_same):
        chance = [ks_2samp(column[ended], column[~ended]).pvalue for column in columns.T]
        if ended[-1] and min(chance) > END_CHANCE:
            what = "every path ends, whatever its state and action"
    if what:
        message = f"{done}: {what}; if only the observation ended there, they did not end:"
        warnings.warn(f"{message} leave it false", stacklevel=4)


def check_not_the_action(states: Array, actions: Integers, names: Sequence[str]) -> None:
    """Raise where features tell the action of their own row, in FEWEST_TAKEN rows of each action.

    Then nobody chooses.
    """
    counts = np.bincount(actions)
    if not len(actions) or counts[counts > 0].min() < FEWEST_TAKEN:
        return
    if own := columns_that_tell(actions, states):
        hint = "in every row it tells the action of that row, so that nobody chooses: if it was"
        hint += " made from the action, take that of the row before, or leave it out"
        raise InputError("state", ", ".join(names[k] for k in own), hint)


def columns_that_tell(actions: Integers, features: Array) -> list[int]:
    """The columns that have one value in all rows of an action, if together they tell the action.

    Args:
        actions: (n,) of the rows.
        features: (n, d) of the same rows, or of those that follow them.
    """
    counts = np.bincount(actions)
    taken = np.flatnonzero(counts)
    values = np.zeros((len(counts), features.shape[1]))
    values[taken] = features[[int(np.argmax(actions == action)) for action in taken]]
    own = [k for k in range(features.shape[1]) if len(np.unique(values[taken, k])) > 1]
    for rows in pieces_of(len(actions)):
        own = [k for k in own if np.array_equal(features[rows, k], values[actions[rows], k])]
    return own if len(np.unique(values[taken][:, own], axis=0)) == len(taken) else []


def pieces_of(number: int) -> Iterator[slice]:
    """The rows in pieces."""
    return (slice(start, start + PIECE) for start in range(0, number, PIECE))


def check_stationary(
    states: Array,
    next_states: Array,
    actions: Integers,
    labels: NDArray[Any],
    continues: NDArray[np.bool_],
    names: Sequence[str],
) -> None:
    """Raise where rows go on after the end of a path, or a feature counts to a last period.

    The first is a state that paths reach and never leave, with FEWEST_ROWS rows and one action: no
    choice is made there, though by the other states there would be one. Features that never change
    in a path do not tell states apart. The second is a feature that rises in every row, and is at
    its largest where each of FEWEST_ENDS paths or more ends.

    Args:
        states, next_states, actions, labels: of the rows.
        continues: whether the path was seen to continue after a row.
        names: of the features.
    """
    moves, rises = np.zeros(len(names), dtype=bool), np.ones(len(names), dtype=bool)
    for rows in pieces_of(len(states)):
        change = (next_states[rows] - states[rows])[continues[rows]]
        moves |= np.any(change != 0, axis=0)
        rises &= np.all(change > 0, axis=0)
        if np.all(moves) and not np.any(rises):
            break
    for k in np.flatnonzero(rises & moves).tolist():
        _, path = np.unique(labels, return_inverse=True)
        largest = np.full(path.max() + 1, -np.inf)
        np.maximum.at(largest, path, states[:, k])
        if len(largest) >= FEWEST_ENDS and np.all(largest == largest.max()):
            hint = "it rises in every row and all paths end at this value, as at a last period:"
            hint += " gladius is for stationary problems. If nothing ends there, leave it out"
            raise InputError("state", f"{names[k]} = {largest[0]:g}", hint)
    is_left = np.zeros(len(states), dtype=bool)
    for k in np.flatnonzero(moves).tolist():
        is_left |= next_states[:, k] != states[:, k]
    is_left &= continues
    if not np.any(moves) or np.all(is_left):
        return
    stays = np.flatnonzero(~is_left)  # all rows of a state that is never left
    ends, (code,) = index_rows([states[stays][:, moves]])
    least, most = np.full(len(ends), actions.max() + 1), np.full(len(ends), -1)
    np.minimum.at(least, code, actions[stays])
    np.maximum.at(most, code, actions[stays])
    ends = ends[(np.bincount(code, minlength=len(ends)) >= FEWEST_ROWS) & (least == most)]
    for rows in pieces_of(len(states)):
        if not len(ends):
            return
        gone = grid_positions(ends, states[rows][is_left[rows]][:, moves])
        ends = np.delete(ends, gone[gone >= 0], axis=0)
    distinct, (code, after, own) = index_rows([states[:, moves], next_states[:, moves], ends])
    seen, enters = (np.bincount(one, minlength=len(distinct)) for one in (code, after[is_left]))
    is_end = np.zeros(len(distinct), dtype=bool)
    is_end[own[enters[own] > 0]] = True
    for i in np.flatnonzero(is_end):  # other actions may be rare there
        is_other = actions != actions[np.argmax(code == i)]
        others = np.bincount(code[is_other], minlength=len(distinct))
        is_end[i] = lacks_by_chance(distinct, seen, others)[i] < END_CHANCE
    if np.any(is_end):
        pairs = zip(np.asarray(names)[moves], distinct[is_end][0], strict=True)
        where = ", ".join(f"{name} = {value:g}" for name, value in pairs)
        hint = f"it is never left and has one action ({seen[is_end].sum() / len(code):.0%} of"
        hint += " rows): drop these rows, and mark the row before them in done"
        raise InputError("state", where, hint)


def warn_of_ends(
    actions: Integers, labels: NDArray[Any], ended: NDArray[np.bool_], name: str
) -> None:
    """Warn of an action after which most paths stop, at once or after one row, without an end."""
    is_last = np.append(labels[1:] != labels[:-1], True)
    stops = is_last & ~ended
    near = (stops, np.append(stops[1:], False) & ~is_last)
    for a in np.flatnonzero(np.bincount(actions[~ended])):
        is_its = (actions == a) & ~ended
        number, others = np.count_nonzero(is_its), np.count_nonzero(~is_its)
        for further, where in enumerate(near):
            its, total = np.count_nonzero(where & is_its), np.count_nonzero(where)
            odds = its * (others - total + its), (number - its) * (total - its)
            is_most = its > number / 2 and odds[0] > LAST_ODDS * odds[1]
            if is_most and hypergeom.sf(its - 1, len(actions), total, number) < CHANCE:
                message = (
                    f"{name}: after {its} of {number} times {a} its path has {further} further"
                )
                message += " rows: if that action ends the path, mark its row in done and remove"
                warnings.warn(
                    f"{message} what follows; else the action tells periods", stacklevel=4
                )


def warn_of_no_order(states: Array, labels: NDArray[Any], name: str) -> None:
    """Warn where no feature says anything of the next row, as if the rows were shuffled.

    In a path whose order is random, squared differences of successive rows are twice the variance
    in the mean, whatever its values are. What lacks to that is their correlation.
    """
    is_pair = labels[1:] == labels[:-1]
    path = np.cumsum(np.append(0, ~is_pair))
    means = np.stack([np.bincount(path, x) for x in states.T], axis=1) / np.bincount(path)[:, None]
    squares = np.sum((states - means[path]) ** 2, axis=0)
    steps = np.sum(np.diff(states, axis=0)[is_pair] ** 2, axis=0)
    correlation = np.abs(1.0 - steps[squares > 0] / (2 * squares[squares > 0]))
    number = np.count_nonzero(is_pair)
    if number < FEWEST_PAIRS or not 0 <= np.max(correlation, initial=-1.0) * number**0.5 < ORDER:
        return
    message = f"{name}: no state says anything of that in the next row (correlations are up to"
    message += f" {np.max(correlation):.1g}), as where rows are not in order of time: then r-hat is"
    warnings.warn(f"{message} wrong, so name time", stacklevel=4)


def complete(data: Transitions, method: str) -> Transitions:
    """The rows whose next state was observed; warn where those left out follow an action.

    The log-odds of the choices that remain are wrong by the log of the ratio of the shares that
    remain. Mantel and Haenszel's test compares gaps after the action with those after others, in
    ranges of each feature, for gaps that depend on the state alone do no harm.
    """
    states, actions, is_gap = data.states, data.actions, ~data.followed
    edges = np.quantile(states, np.arange(1, STRATA) / STRATA, axis=0)
    for a in np.unique(actions) if is_gap.any() else ():
        is_its, scores = actions == a, []
        for x, of in zip(states.T, edges.T, strict=True):
            stratum = np.searchsorted(of, x)
            n, its, gaps = (np.bincount(stratum, w) for w in (None, is_its, is_gap))
            seen = np.maximum(n, 1)
            expected = its * gaps / seen
            variance = expected * (n - its) * (n - gaps) / (seen * np.maximum(n - 1, 1))
            excess = np.count_nonzero(is_its & is_gap) - expected.sum()
            scores.append(excess / np.sqrt(max(variance.sum(), 1.0)))
        share = (is_its & is_gap).sum() / is_its.sum(), np.mean(is_gap)
        is_large = share[0] - share[1] > GAP_SHARE
        if is_large and norm.sf(min(scores)) < CHANCE:
            message = f"{method}: no next state follows {share[0]:.0%} of the rows with action {a},"
            message += f" and {share[1]:.0%} of all. It leaves these choices out: {a} seems rarer"
            message += " than it is, and its reward is wrong. Use another method, such as nfxp"
            warnings.warn(message, stacklevel=4)
    return data if data.followed.all() else data.take(data.followed)


def warn_of_codes(states: Array, names: Sequence[str], categories: Categories) -> None:
    """Warn of features with values so far out that they may be codes.

    Of many rows a sample tells which features may have them, and all rows are asked of these alone.
    """
    levels = {f"{name}={level}" for name, of in categories.items() for level in of}
    some = states
    if len(states) > QUANTILE_ROWS:
        some = states[np.random.default_rng(0).integers(len(states), size=QUANTILE_ROWS)]
    farthest = spreads_from_median(states, some)
    if some is not states:  # those near the limit by all rows
        near = np.flatnonzero(farthest > CODE / 2)
        farthest[near] = spreads_from_median(states[:, near], states[:, near])
    for k in np.flatnonzero(farthest > CODE):
        if names[int(k)] in levels:
            continue
        message = (
            f"{names[int(k)]}: a value {farthest[k]:.0f} spreads from the median; if it is a code,"
        )
        warnings.warn(f"{message} for a missing value perhaps, remove it", stacklevel=3)


def spreads_from_median(states: Array, some: Array) -> Array:
    """(d,) how far the farthest value of each feature is, by the quantiles of some of the rows.

    A spread is the interquartile range over 1.35. Where the middle half of a feature is one value,
    it is the standard deviation.
    """
    first, middle, third = np.quantile(some, (0.25, 0.5, 0.75), axis=0)
    spread = np.where(third > first, (third - first) / 1.35, some.std(axis=0))
    low, high = states.min(axis=0), states.max(axis=0)
    return np.asarray(np.maximum(high - middle, middle - low) / np.where(spread > 0, spread, 1.0))


def find_categories(
    frame: pd.DataFrame, columns: Sequence[Sequence[str]], declared: Sequence[str]
) -> dict[str, tuple[Any, ...]]:
    """The levels of each categorical column, in order.

    Args:
        frame: the table.
        columns: names of the same variable, the first of which it is called by.
        declared: those that are categorical whatever their dtype.
    """
    unknown = [name for name in declared if name not in [names[0] for names in columns]]
    if unknown:
        raise InputError("categorical", unknown, "name columns of state, or the action")
    found = {}
    for names in columns:
        is_its = [isinstance(frame[name].dtype, pd.CategoricalDtype) for name in names]
        if names[0] not in declared and not any(is_its):
            continue
        values = pd.concat([frame[name].astype(object) for name in names])
        if values.isna().any():
            raise InputError(names[0], None, "remove rows with missing values, or give a level")
        dtypes = [frame[name].dtype for name in names]
        try:
            levels = tuple(sorted(values.unique().tolist()))
            for dtype in dtypes:
                if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
                    levels = tuple(x for x in dtype.categories if x in levels)
        except TypeError:
            raise InputError(names[0], "mixed types", "give all levels the same type") from None
        if len(levels) < 2:
            raise InputError(names[0], levels, "it has one level: leave the column out")
        found[names[0]] = levels
    return found


def feature_names(state: Sequence[str], categories: Categories) -> tuple[str, ...]:
    """Of the features: `column=level` for each level of a categorical column but the first."""
    each = [[f"{n}={v}" for v in categories[n][1:]] if n in categories else [n] for n in state]
    return tuple(name for names in each for name in names)


def features(frame: pd.DataFrame, state: Sequence[str], categories: Categories) -> Array:
    """(n, d) features of columns, 1 for the level of a categorical one and 0 for the others.

    They may be the frame's own memory.
    """
    columns: list[Array] = []
    for name in state:
        if name not in categories:
            hint = "give a number, or name the column in categorical if its values are labels"
            if missing := int(frame[name].isna().sum()):
                at = int(np.argmax(frame[name].isna()))
                hint = f"{missing} rows lack it: fill or remove them; with time named, a gap"
                hint += " in a path is no harm"
                raise InputError(f"{name}[{at}]", frame[name].iloc[at], hint)
            columns.append(check_finite(name, frame[name].to_numpy(), hint))
            continue
        values = frame[name].astype(object)
        other = values[~values.isin(categories[name])]
        if len(other):
            hint = f"its levels are {', '.join(map(str, categories[name]))}"
            raise InputError(name, other.iloc[0], hint)
        columns += [(values == level).to_numpy(dtype=float) for level in categories[name][1:]]
    return np.stack(columns, axis=1) if len(columns) > 1 else columns[0][:, None]


def in_bins(data: Transitions, bins: Mapping[str, int | Sequence[float]]) -> dict[str, Array]:
    """`states` and `next_states` in bins; see `Transitions.discretise`."""
    blocks = {name: getattr(data, name).copy() for name in ("states", "next_states")}
    if not isinstance(bins, Mapping):
        raise InputError("bins", bins, "give a number of bins, or their edges, by feature")
    for name, given in bins.items():
        if name not in data.feature_names:
            raise InputError("bins", name, f"the features are {data.feature_names}")
        k = data.feature_names.index(name)
        both = np.append(data.states[:, k], data.next_states[~data.done, k])
        if np.ndim(given) == 0:
            number = check_whole(f"bins[{name}]", cast("int", given), 1)
            edges = np.linspace(both.min(), both.max(), number + 1)
        else:
            edges = np.sort(check_finite(f"bins[{name}]", given))
        if edges.ndim != 1 or len(edges) < 2 or both.min() < edges[0] or both.max() > edges[-1]:
            hint = f"give edges from {both.min():g} or less to {both.max():g} or more"
            raise InputError(f"bins[{name}]", given, hint)
        middles, widths = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
        narrower = np.minimum(widths, np.append(widths[0], widths[:-1]))
        lowest = edges[:-1] - TIE * narrower  # 0.3 lies on the edge 3 * 0.1
        for block in blocks.values():
            position = np.searchsorted(lowest, block[:, k], side="right") - 1
            block[:, k] = middles[np.maximum(position, 0)]
    return blocks


def to_frame(data: Transitions) -> pd.DataFrame:
    """See `Transitions.to_frame`."""
    names = [*data.feature_names, *(f"next_{name}" for name in data.feature_names)]
    if len({"id", "period", "action", "done", *names}) != 4 + len(names):
        hint = "columns of the data frame would have the same name: rename the features"
        raise InputError("feature_names", data.feature_names, hint)
    columns: dict[Hashable, ArrayLike] = {"id": data.trajectory, "period": _periods(data)}
    columns |= _labelled(data, data.states)
    columns["action"] = data.actions
    if data.action_names:
        labels: pd.Series[Any] = pd.Series(data.action_names, dtype=object)
        if labels.str.fullmatch(r"0|-?[1-9]\d*").all():  # such labels were numbers
            labels = labels.astype(int)
        columns["action"] = labels.to_numpy()[data.actions]
    following = _labelled(data, np.where(data.followed[:, None], data.next_states, np.nan))
    columns |= {f"next_{name}": values for name, values in following.items()}
    columns["done"] = data.done
    return pd.DataFrame(columns)


def _labelled(data: Transitions, states: Array) -> dict[Hashable, ArrayLike]:
    """The columns of the table at (n, d) features; labels are missing where features are."""
    found: dict[Hashable, ArrayLike] = {}
    for name, columns in data.features_of_columns.items():
        own, levels = states[:, list(columns)], data.categories.get(name, ())
        if not levels:
            found[name] = own[:, 0]
            continue
        index = np.where(own.any(axis=1), 1 + np.argmax(own, axis=1), 0)
        labels = np.array([*levels, None], dtype=object)
        found[name] = labels[np.where(np.isnan(own).any(axis=1), -1, index)]
    return found


def _periods(data: Transitions) -> Integers:
    """(n,) 0, 1, ... within each trajectory, with a number left out at a gap."""
    label = np.unique(data.trajectory, return_inverse=True)[1]
    order = np.argsort(label, kind="stable")
    states, after, label = data.states[order], data.next_states[order], label[order]
    lost = ~data.followed[order]
    is_first = np.append(True, label[1:] != label[:-1])
    is_gap = np.append(False, lost[:-1] | np.any(after[:-1] != states[1:], axis=1))
    clock = np.cumsum(1 + is_gap)
    periods = np.empty(len(clock), dtype=np.int64)
    periods[order] = clock - np.maximum.accumulate(np.where(is_first, clock, 0))
    return periods
