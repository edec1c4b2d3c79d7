"""Grouping against a plain dictionary count, and where mixed-radix codes would overflow."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from strategies import FLOATS, WHOLES, transitions

from gladius.checks import InputError
from gladius.transitions import Transitions, distinct_rows, group, index_rows
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

HUGE = st.sampled_from([-(2.0**53) + 1, -1.0, 0.0, 1.0, 2.0**53 - 1])  # spans that overflow at once


@st.composite
def replications(draw: st.DrawFn) -> list[Transitions]:
    width = draw(st.integers(1, 4))
    elements = draw(st.sampled_from([WHOLES, FLOATS, WHOLES | FLOATS, HUGE]))
    return draw(st.lists(transitions(width=width, elements=elements), min_size=1, max_size=3))


@given(replications())
def test_grouped_counts_are_a_dictionary_count(data: list[Transitions]) -> None:
    found = group(data)
    grid = [tuple(row) for row in found.states.tolist()]
    every = {
        tuple(row) for one in data for s in (one.states, one.next_states) for row in s.tolist()
    }
    assert set(grid) == every
    assert grid == sorted(grid)
    assert len(grid) == len(every)
    for r, one in enumerate(data):
        visits: Counter[tuple[tuple[float, ...], int]] = Counter()
        moves: Counter[tuple[tuple[float, ...], int, tuple[float, ...]]] = Counter()
        columns = (one.states.tolist(), one.actions.tolist(), one.next_states.tolist(), one.done)
        for s, a, after, ended in zip(*columns, strict=True):
            visits[tuple(s), a] += 1
            if not ended:
                moves[tuple(s), a, tuple(after)] += 1
        assert found.visits[r].sum() == len(one) == found.size[r]
        assert found.moves[r].sum() == moves.total()
        for (s, a), n in visits.items():
            assert found.visits[r, grid.index(s), a] == n
        for (s, a, after), n in moves.items():
            assert found.moves[r, a, grid.index(s), grid.index(after)] == n
        assert np.array_equal(found.seen[r], found.visits[r].sum(axis=1))
        own = {s for s, _ in visits} | {after for _, _, after in moves}
        assert {s for s, there in zip(grid, found.present[r], strict=True) if there} == own


@given(replications())
def test_replications_are_grouped_as_they_are_alone(data: list[Transitions]) -> None:
    together = group(data)
    for r, one in enumerate(data):
        alone = group(one)
        at = [together.states.tolist().index(row) for row in alone.states.tolist()]
        assert np.array_equal(together.visits[r][at], alone.visits[0])
        assert np.array_equal(together.moves[r][np.ix_(range(3), at, at)], alone.moves[0])
        assert together.visits[r].sum() == alone.visits.sum()  # nothing elsewhere


@given(
    st.integers(1, 4).flatmap(
        lambda d: st.lists(
            st.integers(1, 12).flatmap(
                lambda n: arrays(np.float64, (n, d), elements=WHOLES | FLOATS | HUGE)
            ),
            min_size=1,
            max_size=3,
        )
    )
)
def test_positions_lead_back_to_the_rows(blocks: list[Array]) -> None:
    found, index = index_rows(blocks)
    for block, at in zip(blocks, index, strict=True):
        assert np.array_equal(found[at], block)
    listed = [tuple(row) for row in found.tolist()]
    assert listed == sorted(set(listed))
    merged = np.concatenate(blocks)
    again, weights = distinct_rows(merged)
    assert np.array_equal(again, found)
    assert dict(zip(listed, weights.tolist(), strict=True)) == Counter(map(tuple, merged.tolist()))


def colliding(width: int) -> Array:
    """Rows of digits 0..20 whose base-21 numbers are equal modulo 2^64, with the ends of the range.

    A code in int64 (or uint64) arithmetic cannot tell the first two apart.
    """
    digits, number = [0] * width, 2**64
    for place in range(width - 1, -1, -1):
        number, digits[place] = divmod(number, 21)
    assert number == 0  # the width is enough for 2^64
    return np.array([[0.0] * width, digits, [20.0] * width])


@pytest.mark.parametrize("width", [15, 16, 30, 100])
def test_states_that_collide_under_wraparound_stay_distinct(width: int) -> None:
    rows = colliding(width) - 10.0  # as the dummies: -10 to 10
    place = np.array([pow(21, width - 1 - i, 2**64) for i in range(width)], dtype=np.uint64)
    wrapped = ((rows + 10).astype(np.uint64) * place).sum(axis=1, dtype=np.uint64)
    assert wrapped[0] == wrapped[1]  # the naive code fails here
    data = Transitions(rows, np.array([0, 1, 0]), rows[[1, 0, 0]])
    counts = group(data)
    assert len(counts.states) == 3
    assert np.array_equal(counts.states, rows[[0, 1, 2]])  # lexicographic order
    assert counts.visits[0].tolist() == [[1, 0], [0, 1], [1, 0]]
    assert counts.moves[0, 0, 0, 1] == counts.moves[0, 1, 1, 0] == counts.moves[0, 0, 2, 0] == 1
    assert len(data.pairs().states) == 3


def test_a_hundred_dummies_are_grouped_as_tuples_are() -> None:
    data = BusEngine(dummies=100, horizon=20).simulate(5, np.random.default_rng(2))
    doubled = data.take(np.concatenate([np.arange(len(data)), np.arange(0, len(data), 3)]))
    found = doubled.pairs()
    expected = Counter(
        (*s, a) for s, a in zip(doubled.states.tolist(), doubled.actions, strict=True)
    )
    keys = [(*s, a) for s, a in zip(found.states.tolist(), found.actions, strict=True)]
    assert dict(zip(keys, found.weights.tolist(), strict=True)) == expected
    assert set(found.weights.tolist()) == {1, 2}
    assert len(group(data).states) == len(
        {tuple(row) for row in data.states.tolist()}
        | {tuple(row) for row in data.next_states.tolist()}
    )


def test_large_action_numbers_cannot_overflow_the_table() -> None:
    rows = np.array([0.0, 1.0])
    data = Transitions(rows, np.array([0, 2**31 - 2]), rows[::-1], number_of_actions=2**31 - 1)
    with pytest.raises(InputError, match="too large") as caught:
        group(data)
    assert caught.value.field == "states"


def test_grouping_is_fast() -> None:
    """CPU time, so that other work on the machine hardly counts; typically a tenth of the limit."""
    data = BusEngine().simulate(1000, np.random.default_rng(0))
    group(data)
    began = time.process_time()
    group(data)
    assert time.process_time() - began < 0.05  # seconds for 100,000 rows
