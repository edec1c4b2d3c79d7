"""The empirical transition law against dictionaries, and the law of states never seen."""

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from strategies import FLOATS, WHOLES, transitions

from gladius.designs.bus import BUS_REWARD, BusEngine
from gladius.model.frequencies import check_support, empirical_transition_probabilities
from gladius.own_data.door import fit
from gladius.panel.anchor import check_anchor_support
from gladius.panel.moves import tabulated
from gladius.panel.record import Counts, Transitions, group
from gladius.validate import Array, InputError

WIDTH = 5  # the chain 0 .. 4 of `chains`
TOUCH = 2  # an action that visits each of its states, so that the grid has no gaps


@st.composite
def chains(draw: st.DrawFn) -> Transitions:
    """Moves on 0 .. 4 by actions 0 and 1, any of them unvisited anywhere, some ending the path."""
    n = draw(st.integers(0, 12))

    def numbers(top: int) -> NDArray[np.int64]:
        return draw(arrays(np.int64, n, elements=st.integers(0, top)))

    grid = np.arange(WIDTH)
    return Transitions(
        np.append(numbers(WIDTH - 1), grid).astype(float),
        np.append(numbers(1), np.full(WIDTH, TOUCH)),
        np.append(numbers(WIDTH - 1), grid).astype(float),
        done=np.append(draw(arrays(np.bool_, n, elements=st.booleans())), np.zeros(WIDTH, bool)),
        number_of_actions=3,
    )


def slow_kernel(data: Transitions) -> tuple[Array, list[dict[int, float]]]:
    """(A, S, S) by dictionaries, for a chain without gaps; and each action's pooled law."""
    law = np.zeros((3, WIDTH, WIDTH))
    laws = []
    for a in range(3):
        taken: Counter[int] = Counter()
        moved: list[tuple[int, int]] = []
        for s, action, after, ended in zip(
            data.states[:, 0], data.actions, data.next_states[:, 0], data.done, strict=True
        ):
            if action == a:
                taken[int(s)] += 1
                if not ended:
                    moved.append((int(s), int(after)))
        total = taken.total()
        steps, places = Counter(j - i for i, j in moved), Counter(j for _, j in moved)
        fit_steps = sum(n * log(n / total) for n in steps.values())
        fit_places = sum(n * log(n / total) for n in places.values())
        by_step = fit_steps >= fit_places - 1e-9
        laws.append({k: n / total for k, n in (steps if by_step else places).items()})
        for s in range(WIDTH):
            if taken[s]:
                for i, j in moved:
                    law[a, s, j] += (i == s) / taken[s]
            else:
                for k, p in laws[-1].items():
                    law[a, s, min(max(s + k if by_step else k, 0), WIDTH - 1)] += p
    return law, laws


@settings(max_examples=50)
@given(chains())
def test_rows_are_frequencies_or_borrowed_by_likelihood(data: Transitions) -> None:
    p_hat = empirical_transition_probabilities(group(data))
    expected, laws = slow_kernel(data)
    assert np.allclose(p_hat.transition[0], expected, rtol=0, atol=1e-14)
    for pooled, law in zip(p_hat.pooled[0], laws, strict=True):
        pairs = zip(pooled.points[:, 0].tolist(), pooled.probabilities.tolist(), strict=True)
        assert {point: p for point, p in pairs if p > 0} == pytest.approx(law, abs=1e-14)


# Not 1e15 beside 0.1: there the rounding of a displacement is larger than the step between states.
# Nor 1e-300 beside 0: from 0.37 they are equally far, and which is nearest depends on the others.
NEAR = WHOLES | FLOATS.filter(lambda x: x == 0 or 1e-6 < abs(x) < 1e3)


@settings(max_examples=50)
@given(
    st.integers(1, 2).flatmap(
        lambda d: st.lists(transitions(10, width=d, elements=NEAR), min_size=1, max_size=3)
    )
)
def test_a_replication_gets_the_kernel_it_would_get_alone(data: list[Transitions]) -> None:
    """Whatever states the others reached: neither its rows nor those it borrows lead there."""
    together = group(data)
    p_hat = empirical_transition_probabilities(together)
    for r, one in enumerate(data):
        alone = group(one)
        own = empirical_transition_probabilities(alone)
        at = [together.states.tolist().index(row) for row in alone.states.tolist()]
        assert np.allclose(
            p_hat.transition[r][np.ix_(range(3), at, at)], own.transition[0], rtol=0, atol=1e-13
        )
        elsewhere = np.setdiff1d(np.arange(len(together.states)), at)
        assert not p_hat.transition[r][:, :, elsewhere].any()
        probes = np.concatenate([one.states, one.states + 0.37, one.next_states * 3])
        rows = p_hat.rows(r, probes)
        assert np.allclose(rows[:, :, at], own.rows(0, probes), rtol=0, atol=1e-13)
        assert np.allclose(rows.sum(axis=2), own.rows(0, probes).sum(axis=2), rtol=0, atol=1e-12)


def test_displacements_that_differ_by_rounding_are_one() -> None:
    """On 0.1, 0.2, ... the step 0.1 has several binary forms; the law must not see them."""
    grid = np.arange(1, 8) * 0.1
    assert len(set(np.diff(grid))) > 1
    states = np.append(grid[:-2], grid)
    after = np.append(grid[1:-1], grid)
    actions = np.append(np.zeros(5, int), np.ones(7, int))
    p_hat = empirical_transition_probabilities(group(Transitions(states, actions, after)))
    step = p_hat.pooled[0][0]
    assert step.relative
    assert step.probabilities.tolist() == [1.0]
    assert step.points[0, 0] == pytest.approx(0.1)
    assert p_hat.transition[0, 0, 5].tolist() == [0, 0, 0, 0, 0, 0, 1]


def counts_of(visits: list[list[list[float]]]) -> Counts:
    table = np.array(visits)
    r, s, a = table.shape
    return Counts(np.arange(s, dtype=float)[:, None], table, np.zeros((r, a, s, s)))


def test_anchor_support_is_the_share_of_data_without_anchor_rows() -> None:
    """Action 1 is never taken in state 1, which holds 5 of 10 observations, then 6 of 10."""
    half = [[4.0, 1.0], [5.0, 0.0]]
    more = [[3.0, 1.0], [6.0, 0.0]]
    check_anchor_support(counts_of([half]), 1)
    check_anchor_support(counts_of([half, more]), 0)
    with pytest.raises(InputError, match="60% of the observations of data set 1") as caught:
        check_anchor_support(counts_of([half, more]), 1)
    assert (caught.value.field, caught.value.value) == ("anchor_action", 1)


def continuous_bus(rows: int, rng: np.random.Generator) -> Transitions:
    """A bus whose mileage grows by an exponential amount, replaced at random past 5."""
    mileage, action = np.zeros(rows + 1), np.zeros(rows, dtype=np.int64)
    for t in range(rows):
        action[t] = mileage[t] > 5 and rng.uniform() < 0.4
        mileage[t + 1] = rng.exponential(2.5) + (0 if action[t] else mileage[t])
    return Transitions(mileage[:-1], action, mileage[1:])


@pytest.mark.parametrize("method", ["nfxp", "ccp", "mpec", "plug_in", "rp", "ml_irl"])
def test_frequencies_of_states_that_hardly_repeat_are_refused(method: str) -> None:
    """The first edition gave theta = .4 and 2.4 where the truth was 1 and 5, and said ok."""
    data = continuous_bus(1_000, np.random.default_rng(0))
    options = {} if method == "plug_in" else {"reward": BUS_REWARD}
    with pytest.raises(InputError, match=r"pairs \(s, a\) in 1000 rows.*transition="):
        fit(data, method, anchor_action=1, anchor_reward=-5.0, discount=0.9, **options)


def test_the_support_of_frequencies() -> None:
    """It is of rows a pair, however many pairs there are; few rows are not judged."""
    check_support(group(BusEngine().simulate(10, np.random.default_rng(0))))
    for states in (60, 90):
        no_moves, visits = np.zeros((1, 2, states, states)), np.ones((1, states, 2))
        grid, pairs = np.arange(states, dtype=float)[:, None], 2 * states
        check_support(Counts(grid, 5 * visits, no_moves))
        with pytest.warns(UserWarning, match=f"{pairs} pairs.*4.0 rows a pair"):
            check_support(Counts(grid, 4 * visits, no_moves))
        with pytest.raises(InputError, match=f"{pairs} pairs.*2.0 rows a pair"):
            check_support(Counts(grid, 2 * visits, no_moves))
    check_support(Counts(grid, 0.5 * visits, no_moves))


def test_moves_that_hardly_repeat_are_refused_in_the_data_set_that_has_them() -> None:
    """Six rows a pair lead to four states, 1.5 rows a move, or to five; tables are of moves."""
    row, step = np.repeat(np.arange(300), 6), np.tile(np.arange(6), 300)
    ends = [(row + step % distinct) % 150 for distinct in (4, 5)]
    visits = np.full((2, 150, 2), 6.0)
    both = np.concatenate([row, 300 + row]), np.concatenate(ends), None
    counts = Counts(np.arange(150.0)[:, None], visits, tabulated(*both, (2, 2, 150, 150)))
    check_support(counts.of(0))
    with pytest.raises(InputError, match=r"1500 moves \(s, a, s'\) in 1800 rows.*1.2 rows each"):
        check_support(counts)
