"""The empirical transition law against dictionaries, and the law of states never seen."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from strategies import FLOATS, WHOLES, transitions

from gladius.anchor import check_anchor_support
from gladius.checks import InputError
from gladius.methods import fit
from gladius.transition_probabilities import check_support, empirical_transition_probabilities
from gladius.transitions import Counts, Transitions, group
from gladius.worlds.bus import BUS_REWARD, MAINTAIN, REPLACE, BusEngine

Array = NDArray[np.float64]

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


@settings(max_examples=50)
@given(transitions())
def test_rows_sum_to_the_share_of_moves_that_do_not_end(data: Transitions) -> None:
    counts = group(data)
    p_hat = empirical_transition_probabilities(counts)
    sums = p_hat.transition[0].sum(axis=2)
    assert p_hat.transition.min() >= 0
    for a in range(data.number_of_actions):
        mine = data.actions == a
        overall = np.mean(~data.done[mine]) if mine.any() else 0.0
        for i, state in enumerate(counts.states):
            here = mine & np.all(data.states == state, axis=1)
            expected = np.mean(~data.done[here]) if here.any() else overall
            assert sums[a, i] == pytest.approx(expected, abs=1e-12)


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


@settings(max_examples=50)
@given(chains())
def test_rows_on_the_grid_are_the_law(data: Transitions) -> None:
    p_hat = empirical_transition_probabilities(group(data))
    order = np.array([3, 0, 0, 4])
    assert np.array_equal(p_hat.rows(0, p_hat.states[order]), p_hat.transition[0][:, order])


@pytest.fixture(scope="module")
def bus() -> Counts:
    """Short paths: each replication has states that were reached but never maintained in."""
    return group(BusEngine(horizon=12).simulate(40, [np.random.default_rng(r) for r in range(3)]))


def test_unvisited_rows_of_the_bus_move_by_the_maintenance_steps(bus: Counts) -> None:
    """Nothing told the p_hat that this action adds miles."""
    p_hat = empirical_transition_probabilities(bus)
    mileage = bus.states[:, 0]
    for r in range(3):
        own = mileage[bus.present[r]]
        assert np.all(np.diff(own) == 1)  # no gaps: the nearest state is never in doubt
        moves = bus.moves[r, MAINTAIN]
        steps: dict[float, float] = defaultdict(float)
        for i, j in zip(*np.nonzero(moves), strict=True):
            steps[mileage[j] - mileage[i]] += moves[i, j] / moves.sum()
        assert set(steps) == {1.0, 2.0, 3.0, 4.0}  # the cap of 20 was not reached
        assert p_hat.pooled[r][MAINTAIN].relative
        unvisited = np.flatnonzero((bus.visits[r, :, MAINTAIN] == 0) & bus.present[r])
        assert len(unvisited) >= 2
        for i in unvisited:
            expected = np.zeros(len(mileage))
            for step, p in steps.items():
                expected[mileage == min(mileage[i] + step, own.max())] += p
            assert np.allclose(p_hat.transition[r, MAINTAIN, i], expected, rtol=0, atol=1e-12)


def test_unvisited_rows_of_the_bus_are_sent_back_by_replacement() -> None:
    """Replacements are shown at a mileage below 5 only; those above must lead to 1 as well."""
    whole = BusEngine().simulate(40, [np.random.default_rng(r) for r in range(3)])
    counts = group([d.take((d.actions == MAINTAIN) | (d.states[:, 0] < 5)) for d in whole])
    p_hat = empirical_transition_probabilities(counts)
    assert counts.states[0, 0] == 1
    for r in range(3):
        unvisited = (counts.visits[r, :, REPLACE] == 0) & counts.present[r]
        assert unvisited.sum() >= 4
        assert not p_hat.pooled[r][REPLACE].relative
        assert np.all(p_hat.transition[r, REPLACE, unvisited, 0] == 1.0)


def test_states_off_the_grid_borrow_too(bus: Counts) -> None:
    p_hat = empirical_transition_probabilities(bus)
    rows = p_hat.rows(0, np.array([[19.0], [2.5]]))
    assert np.allclose(rows.sum(axis=2), 1.0, rtol=0, atol=1e-12)
    assert np.allclose(rows[REPLACE][:, bus.states[:, 0] == 1], 1.0, rtol=0, atol=1e-12)
    top = int(np.flatnonzero(bus.present[0])[-1])
    assert rows[MAINTAIN, 0, top] == pytest.approx(
        1.0, abs=1e-12
    )  # all of 20 to 23 is past the end
    assert set(bus.states[rows[MAINTAIN, 1] > 0, 0]) <= {3.0, 4.0, 5.0, 6.0, 7.0}


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


def test_an_action_never_taken_has_no_law() -> None:
    here, there, first = np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.zeros(2, dtype=int)
    p_hat = empirical_transition_probabilities(
        group(Transitions(here, first, there, number_of_actions=3))
    )
    assert not p_hat.transition[0, 1:].any()
    assert p_hat.transition[0, 0].tolist() == [[0, 1], [1, 0]]


def test_a_path_that_ended_has_no_row() -> None:
    ended = np.ones(2, dtype=bool)
    data = Transitions(np.array([0.0, 1.0]), np.zeros(2, dtype=int), np.ones(2), done=ended)
    p_hat = empirical_transition_probabilities(group(data))
    assert not p_hat.transition.any()
    assert not p_hat.rows(0, np.array([[5.0]])).any()


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


def test_the_bus_supports_its_anchor(bus: Counts) -> None:
    check_anchor_support(bus, REPLACE)


def test_the_kernel_is_fast() -> None:
    """CPU time a replication, all together; typically a fifth of the limit."""
    counts = group(BusEngine().simulate(40, [np.random.default_rng(r) for r in range(20)]))
    empirical_transition_probabilities(counts)
    began = time.process_time()
    for _ in range(5):
        empirical_transition_probabilities(counts)
    assert (time.process_time() - began) / (5 * 20) < 0.5e-3 * 4  # four times, for slow machines


def test_fractional_counts_are_weights() -> None:
    """Rows are frequencies whatever the unit of the counts: a thousandth of them is no less."""
    counts = group(BusEngine().simulate(5, np.random.default_rng(0)))
    small = Counts(counts.states, counts.visits / 1000, counts.moves / 1000)
    np.testing.assert_allclose(
        empirical_transition_probabilities(small).transition,
        empirical_transition_probabilities(counts).transition,
    )


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
    """Sound data pass without a word; near the limit a warning comes; few rows are not judged."""
    check_support(group(BusEngine().simulate(10, np.random.default_rng(0))))
    states, no_moves = np.arange(60.0)[:, None], np.zeros((1, 2, 60, 60))
    visits = np.ones((1, 60, 2))
    check_support(Counts(states, 60 * visits, no_moves))
    with pytest.warns(UserWarning, match="120 pairs"):
        check_support(Counts(states, 20 * visits, no_moves))
    with pytest.raises(InputError, match="120 pairs"):
        check_support(Counts(states, 10 * visits, no_moves))
    check_support(Counts(states, 0.5 * visits, no_moves))
