"""SARSA tuples against plain loops over the rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import transitions

from gladius.checks import InputError
from gladius.transitions import ENDED, SarsaTuples, Transitions, sarsa_tuples


def plain(data: Transitions) -> Counter[tuple[object, ...]]:
    """Counts of (s, a, s', a') row by row; (s, a, None, None) where a path ends."""
    counts: Counter[tuple[object, ...]] = Counter()
    for i in range(len(data)):
        here = (*(data.states[i] + 0.0), data.actions[i])
        if data.done[i]:
            counts[(here, None)] += 1
            continue
        later = [j for j in range(i + 1, len(data)) if data.trajectory[j] == data.trajectory[i]]
        if later and np.array_equal(data.states[later[0]], data.next_states[i]):
            counts[(here, (*(data.states[later[0]] + 0.0), data.actions[later[0]]))] += 1
    return counts


def as_counter(data: SarsaTuples) -> Counter[tuple[object, ...]]:
    names = [(*(s + 0.0), a) for s, a in zip(data.states, data.actions, strict=True)]
    return Counter(
        {
            (names[i], None if j == ENDED else names[j]): int(w)
            for i, j, w in zip(data.now, data.after, data.weights, strict=True)
        }
    )


@st.composite
def paths(draw: st.DrawFn) -> Transitions:
    """Some trajectories over few states, in order, cut and ended here and there."""
    number, periods = draw(st.integers(1, 3)), draw(st.integers(2, 8))
    shape = (number, periods)
    states = draw(arrays(np.float64, (number, periods + 1), elements=st.integers(0, 2).map(float)))
    done = draw(arrays(np.bool_, shape, elements=st.booleans()))
    kept = draw(arrays(np.bool_, shape, elements=st.sampled_from([True, True, True, False])))
    kept[0, :2], done[0, 0] = True, False
    rows = kept.ravel()
    return Transitions(
        states[:, :-1].ravel()[rows],
        draw(arrays(np.int64, shape, elements=st.integers(0, 1))).ravel()[rows],
        states[:, 1:].ravel()[rows],
        np.repeat(np.arange(number), periods)[rows],
        done.ravel()[rows],
        2,
    )


@given(paths() | transitions(max_trajectories=2))
def test_sarsa_tuples_are_those_of_a_loop_over_the_rows(data: Transitions) -> None:
    expected = plain(data)
    if all(after is None for _, after in expected):
        with pytest.raises(InputError) as caught:
            sarsa_tuples(data)
        assert caught.value.field == "trajectory"
        return
    tuples = sarsa_tuples(data)
    assert as_counter(tuples) == expected
    assert tuples.visits.sum() == len(data)


@given(paths(), st.data())
def test_behind_is_the_adjoint_of_ahead(data: Transitions, draws: st.DataObject) -> None:
    tuples = sarsa_tuples(data)
    values = st.integers(-5, 5).map(float)
    u, f = (draws.draw(arrays(np.float64, (len(tuples.actions), 1), elements=values)) for _ in "ab")
    f[tuples.left == 0] = 0.0  # a pair never left has no occurrence as the earlier one
    ahead = tuples.left @ (u * tuples.ahead(f))
    behind = tuples.left @ (tuples.behind(u) * f)
    np.testing.assert_allclose(ahead, behind, atol=1e-9)


def test_means_ahead_by_hand() -> None:
    # path 0: (0, a0) -> (1, a1) -> end;  path 1: (0, a0) -> (0, a1) -> goes on unseen
    data = Transitions(
        states=np.array([0.0, 0.0, 1.0, 0.0]),
        actions=np.array([0, 0, 1, 1]),
        next_states=np.array([1.0, 0.0, 2.0, 1.0]),
        trajectory=np.array([0, 1, 0, 1]),  # interleaved
        done=np.array([False, False, True, False]),
    )
    tuples = sarsa_tuples(data)
    np.testing.assert_array_equal(tuples.states[:, 0], [0, 0, 1])
    np.testing.assert_array_equal(tuples.actions, [0, 1, 1])
    np.testing.assert_array_equal(tuples.visits, [2, 1, 1])
    np.testing.assert_array_equal(tuples.left, [2, 0, 1])
    assert tuples.size == 3
    np.testing.assert_array_equal(
        tuples.ahead(np.array([[1.0], [10.0], [100.0]])), [[55], [0], [0]]
    )
