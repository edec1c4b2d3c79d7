"""The data container: splitting, data frames, and s' read off the next row."""

from __future__ import annotations

from collections import defaultdict
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import transitions

from gladius.checks import InputError
from gladius.transitions import Transitions

FIELDS = ("states", "actions", "next_states", "trajectory", "done")


def rows(data: Transitions) -> list[tuple[object, ...]]:
    """The rows as plain Python values, in order."""
    columns = [getattr(data, name).tolist() for name in FIELDS]
    return [tuple(map(repr, row)) for row in zip(*columns, strict=True)]


@given(transitions(max_trajectories=8), st.floats(0.01, 0.99), st.booleans(), st.integers(0, 9))
def test_a_split_shares_no_trajectory_and_loses_no_row(
    data: Transitions, fraction: float, shuffled: bool, seed: int
) -> None:
    labels = set(data.trajectory.tolist())
    kept = round(fraction * len(labels))
    rng = np.random.default_rng(seed) if shuffled else None
    if not 0 < kept < len(labels):
        with pytest.raises(InputError, match="too few for a split"):
            data.split(fraction, rng)
        return
    train, test = data.split(fraction, rng)
    first, second = set(train.trajectory.tolist()), set(test.trajectory.tolist())
    assert first.isdisjoint(second)
    assert first | second == labels
    assert len(first) == kept
    assert sorted(rows(train) + rows(test)) == sorted(rows(data))
    for part in (train, test):
        assert part.number_of_actions == data.number_of_actions
        inside = np.isin(data.trajectory, part.trajectory)
        assert rows(part) == rows(data.take(inside))  # in the order of the data
    if not shuffled:
        appearance = list(dict.fromkeys(data.trajectory.tolist()))
        assert first == set(appearance[:kept])


def test_the_papers_split_keeps_four_fifths() -> None:
    data = Transitions(np.zeros(50), np.zeros(50, int), np.zeros(50), np.repeat(np.arange(10), 5))
    train, test = data.split()
    assert (len(train), len(test)) == (40, 10)
    shuffles = {tuple(data.split(rng=np.random.default_rng(s))[1].trajectory) for s in range(8)}
    assert len(shuffles) > 1  # the generator is used
    again = data.split(rng=np.random.default_rng(3))[1]
    assert (
        again.trajectory.tolist() == data.split(rng=np.random.default_rng(3))[1].trajectory.tolist()
    )


@given(transitions())
def test_a_frame_and_back(data: Transitions) -> None:
    frame = data.to_frame()
    assert next(iter(frame.columns)) == "id"
    names = list(data.feature_names)
    back = Transitions.from_frame(
        frame,
        state=names,
        action="action",
        id="id",
        next_state=[f"next_{name}" for name in names],
        done="done",
        number_of_actions=data.number_of_actions,
    )
    assert rows(back) == rows(data)
    assert back.feature_names == data.feature_names
    assert back.number_of_actions == data.number_of_actions


@st.composite
def panels(draw: st.DrawFn) -> pd.DataFrame:
    """Rows of several people, interleaved at will, each in order of time, ids of any kind."""
    kind = draw(st.sampled_from(["text", "number", "float"]))
    names: list[Any] = {
        "text": ["zoe", "al", "mia"],
        "number": [7, -3, 100],
        "float": [0.5, -1.0, 9.0],
    }[kind]  # type: ignore[assignment]
    order = draw(st.lists(st.sampled_from(names), min_size=2, max_size=20))
    n = len(order)
    integers = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    return pd.DataFrame(
        {
            "who": order,
            "x": np.arange(n) * 10.0,  # all different: a wrong successor cannot go unnoticed
            "z": draw(integers),
            "choice": draw(integers),
            "end": draw(st.lists(st.booleans(), min_size=n, max_size=n)),
        }
    )


@given(panels(), st.booleans())
def test_next_state_is_the_next_row_of_the_same_id(frame: pd.DataFrame, with_ends: bool) -> None:
    """Against a loop over the rows that keeps the last one of each id in a dictionary."""
    before = frame.copy(deep=True)
    last: dict[object, tuple[float, ...]] = {}
    expected: dict[object, list[tuple[object, ...]]] = defaultdict(list)
    rows_seen: dict[object, int] = defaultdict(int)
    for who, x, z, choice, end in frame.itertuples(index=False):
        rows_seen[who] += 1
        if who in last:
            expected[who].append((*last[who][:3], x, float(z), last[who][3]))
        last[who] = (x, float(z), choice, with_ends and end)
    for who, (x, z, choice, end) in last.items():
        if end:  # the last row of a path that ended is a transition; its s' does not matter
            expected[who].append((x, z, choice, x, z, True))
    ask: dict[str, Any] = {
        "state": ["x", "z"],
        "action": "choice",
        "id": "who",
        "done": "end" if with_ends else None,
    }
    single = [who for who in rows_seen if not expected[who]]
    if len(single) == len(rows_seen):
        with pytest.raises(InputError, match="single row") as caught:
            Transitions.from_frame(frame, **ask)
        assert caught.value.field == "who"
        return
    told = pytest.warns(UserWarning, match=f"{len(single)} trajectories of a single row")
    with told if single else nullcontext():
        data = Transitions.from_frame(frame, **ask, number_of_actions=3)
    found: dict[object, list[tuple[object, ...]]] = defaultdict(list)
    for i, who in enumerate(data.trajectory.tolist()):
        s, after = data.states[i].tolist(), data.next_states[i].tolist()
        found[who].append((*s, int(data.actions[i]), *after, bool(data.done[i])))
    assert found == {who: rows for who, rows in expected.items() if rows}
    assert data.feature_names == ("x", "z")
    pd.testing.assert_frame_equal(frame, before)


def test_blocks_in_any_order_give_the_same_transitions() -> None:
    """Ids need not be sorted nor rows adjacent; only the order within an id matters."""
    frame = pd.DataFrame({"id": [2, 1, 2, 1, 2], "s": [1.0, 5, 2, 6, 3], "a": [0, 1, 1, 0, 0]})
    sorted_frame = frame.sort_values("id", kind="stable")
    first, second = (
        Transitions.from_frame(one, state=["s"], action="a", id="id")
        for one in (frame, sorted_frame)
    )
    assert sorted(rows(first)) == sorted(rows(second))
    assert sorted(zip(first.states[:, 0], first.next_states[:, 0], strict=True)) == [
        (1.0, 2.0),
        (2.0, 3.0),
        (5.0, 6.0),
    ]


def test_categories_and_dates_serve_as_ids() -> None:
    days = pd.to_datetime(["2020-01-02", "2020-01-02", "2019-05-05", "2019-05-05"])
    for ids in (pd.Categorical(["b", "b", "a", "a"]), days):
        frame = pd.DataFrame({"id": ids, "s": [1.0, 2, 3, 4], "a": [0, 1, 0, 1]})
        data = Transitions.from_frame(frame, state=["s"], action="a", id="id")
        assert data.next_states[:, 0].tolist() == [2.0, 4.0]
        assert len(data.split(0.5)[0]) == 1


@given(transitions())
def test_pairs_are_a_plain_count(data: Transitions) -> None:
    expected: dict[tuple[float, ...], int] = defaultdict(int)
    for state, action in zip(data.states.tolist(), data.actions.tolist(), strict=True):
        expected[(*state, action)] += 1
    found = data.pairs()
    keys = [(*s, a) for s, a in zip(found.states.tolist(), found.actions.tolist(), strict=True)]
    assert dict(zip(keys, found.weights.tolist(), strict=True)) == dict(expected)
    assert keys == sorted(keys)
    assert len(keys) == len(expected)


@given(transitions(), st.data())
def test_take_keeps_rows_whole(data: Transitions, draw: st.DataObject) -> None:
    chosen = draw.draw(st.lists(st.integers(0, len(data) - 1), min_size=1, max_size=5))
    assert rows(data.take(np.array(chosen))) == [rows(data)[i] for i in chosen]


def test_defaults() -> None:
    data = Transitions(np.array([1.0, 2.0]), np.array([0, 0]), np.array([2.0, 3.0]))
    assert data.states.shape == (2, 1)  # one feature may be given flat
    assert data.trajectory.tolist() == [0, 0]
    assert not data.done.any()
    assert data.number_of_actions == 2  # a choice has at least two sides
    assert data.feature_names == ("s0",)
    assert len(data) == 2


@given(transitions())
def test_the_callers_arrays_stay_as_they_were(data: Transitions) -> None:
    assume(len(set(data.trajectory.tolist())) > 2)
    before = rows(data)
    data.split(0.5, np.random.default_rng(0))
    data.pairs()
    data.to_frame()
    assert rows(data) == before
