"""The soft Bellman solution, the occupancies and the simulator against computations of their own.

Nothing of `gladius.model.mdp` is used by the oracles here: fixed points come from successive
approximation, occupancies from sums over periods or over every path, frequencies from counting.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import laws, mdp_batches, tabular_mdps

from gladius.model.mdp import Categorical, TabularMDP, soft_bellman
from gladius.validate import Array, InputError

RESIDUAL = 1e-12  # what `Solution` promises, relative to max(1, |V|)
FALSE_ALARM = 1e-7  # of one statistical comparison; a few thousand are made in a deep run


def log_sum_exp(q: Array) -> Array:
    """(..., A) -> (...), by folding the actions one by one."""
    folded: Array = np.logaddexp.reduce(q, axis=-1)
    return folded


def backup(world: TabularMDP, v: Array) -> Array:
    """One application of the soft Bellman operator, an action at a time."""
    values = [
        world.reward[:, a] + world.discount * world.transition[a] @ v
        for a in range(world.reward.shape[1])
    ]
    return log_sum_exp(np.stack(values, axis=-1))


def scale(v: Array) -> float:
    return max(1.0, float(np.max(np.abs(v))))


@given(tabular_mdps())
def test_solution_is_a_fixed_point_of_the_bellman_equation(world: TabularMDP) -> None:
    found = world.solution
    assert found.converged
    assert found.residual <= RESIDUAL
    size = scale(found.v)
    # One more rounding of the backup on top of the solver's own.
    assert np.max(np.abs(backup(world, found.v) - found.v)) <= 2 * RESIDUAL * size
    moved = np.einsum("aij,j->ia", world.transition, found.v)
    assert np.allclose(found.q, world.reward + world.discount * moved, rtol=0, atol=1e-12 * size)
    assert np.allclose(found.policy.sum(axis=1), 1.0, rtol=0, atol=1e-10)
    assert np.allclose(found.v, log_sum_exp(found.q), rtol=0, atol=1e-12 * size)


def test_a_wrong_discount_is_noticed() -> None:
    """Negative control of the bounds above: the solution for 0.9 is none for 0.899."""
    world = TabularMDP(np.array([[1.0, 0.0]]), np.ones((2, 1, 1)), 0.9, np.ones(1))
    other = TabularMDP(np.array([[1.0, 0.0]]), np.ones((2, 1, 1)), 0.899, np.ones(1))
    assert np.max(np.abs(backup(other, world.solution.v) - world.solution.v)) > 1e-3
    # One state: V = log sum exp r / (1 - beta), in closed form.
    assert world.solution.v[0] == pytest.approx(np.log1p(np.e) / 0.1, rel=1e-12)


@settings(max_examples=80)
@given(mdp_batches())
def test_batched_solution_equals_one_by_one(worlds: list[TabularMDP]) -> None:
    beta = worlds[0].discount
    batch = soft_bellman(
        np.stack([w.reward for w in worlds]), np.stack([w.transition for w in worlds]), beta
    )
    assert batch.converged
    for i, world in enumerate(worlds):
        alone = world.solution
        # Both are within residual / (1 - beta) of the same fixed point.
        slack = 2 * RESIDUAL * scale(alone.v) / (1 - beta)
        assert np.allclose(batch.v[i], alone.v, rtol=0, atol=slack)
        assert np.allclose(batch.q[i], alone.q, rtol=0, atol=slack)
        assert np.allclose(batch.policy[i], alone.policy, rtol=0, atol=2 * slack)


def test_contraction_finishes_where_newton_may_not() -> None:
    world = TabularMDP(np.array([[1.0, 0.0]]), np.ones((2, 1, 1)), 0.9, np.ones(1))
    found = soft_bellman(world.reward, world.transition, 0.9, max_iterations=0)
    assert found.converged
    assert found.iterations > 100  # log(1e-12) / log(0.9) = 262: no Newton step was taken
    assert found.v == pytest.approx(world.solution.v, rel=1e-11)


def test_an_unsolvable_world_is_an_error_not_a_number() -> None:
    """Sums of rewards past float64: the residual is not a number, hence not below tolerance."""
    world = TabularMDP(np.full((1, 2), 1e308), np.ones((2, 1, 1)), 0.9, np.ones(1))
    with np.errstate(all="ignore"):
        assert not soft_bellman(world.reward, world.transition, 0.9).converged
        with pytest.raises(InputError, match="rescale it") as caught:
            _ = world.solution
    assert (caught.value.field, caught.value.value) == ("reward", 1e308)


@given(tabular_mdps(discounts=st.floats(0.01, 0.99)), st.data())
def test_discounted_occupancy_is_the_truncated_sum(world: TabularMDP, data: st.DataObject) -> None:
    policy = data.draw(st.none() | laws(world.reward.shape))
    chosen = world.solution.policy if policy is None else policy
    law, total, weight = world.initial, np.zeros_like(chosen), 1 - world.discount
    for _ in range(int(np.ceil(np.log(1e-12) / np.log(world.discount)))):
        pairs = law[:, None] * chosen
        total += weight * pairs
        law, weight = np.einsum("ia,aij->j", pairs, world.transition), weight * world.discount
    found = world.discounted_occupancy(policy)
    assert np.allclose(found, total, rtol=0, atol=1e-11)  # the terms left out sum to 1e-12
    assert found.sum() == pytest.approx(1.0, abs=1e-10)
    assert found.min() >= -1e-15


@given(tabular_mdps(max_states=3, max_actions=2), st.integers(1, 3), st.data())
def test_occupancy_sums_over_every_path(
    world: TabularMDP, horizon: int, data: st.DataObject
) -> None:
    policy = data.draw(st.none() | laws(world.reward.shape))
    chosen = world.solution.policy if policy is None else policy
    states, actions = world.reward.shape
    expected = np.zeros((states, actions))
    periods = product(range(states), range(actions))
    for path in product(list(periods), repeat=horizon):
        probability = world.initial[path[0][0]]
        for h, (s, a) in enumerate(path):
            probability *= chosen[s, a]
            if h + 1 < horizon:
                probability *= world.transition[a, s, path[h + 1][0]]
        for s, a in path:
            expected[s, a] += probability / horizon
    assert np.allclose(world.occupancy(horizon, policy), expected, rtol=0, atol=1e-13)


def bernstein(samples: Array, false_alarm: float = FALSE_ALARM) -> Array:
    """How far a mean of n independent values in [0, 1] may be off (empirical Bernstein bound).

    Audibert, Munos and Szepesvari (2009), Theorem 1: it holds for every law and n, so that cells
    never visited need no special case. The first axis are the samples.
    """
    n, log = len(samples), np.log(3 / false_alarm)
    bound: Array = np.sqrt(2 * samples.var(axis=0) * log / n) + 3 * log / n
    return bound


@settings(max_examples=25)
@given(tabular_mdps(), st.integers(1, 12), st.data())
def test_frequencies_of_simulated_paths_are_the_occupancy(
    world: TabularMDP, horizon: int, data: st.DataObject
) -> None:
    policy = data.draw(st.none() | laws(world.reward.shape))
    chosen = world.solution.policy if policy is None else policy
    n = 4000
    paths = world.simulate(n, horizon, np.random.default_rng(20240229), policy)
    states, actions = world.reward.shape
    cell = paths.states * actions + paths.actions
    share = (cell[:, :, None] == np.arange(states * actions)).mean(axis=1)  # independent rows
    gap = np.abs(share.mean(axis=0) - world.occupancy(horizon, policy).ravel())
    assert np.all(gap <= bernstein(share))
    opening = (cell[:, 0][:, None] == np.arange(states * actions)).astype(float)
    expected = (world.initial[:, None] * chosen).ravel()
    assert np.all(np.abs(opening.mean(axis=0) - expected) <= bernstein(opening))
    first_move = opening.astype(bool)
    for pair in range(states * actions):
        reached = paths.next_states[first_move[:, pair], 0]
        if len(reached) >= 30:
            s, a = divmod(pair, actions)
            hits = (reached[:, None] == np.arange(states)).astype(float)
            gap = np.abs(hits.mean(axis=0) - world.transition[a, s])
            assert np.all(gap <= bernstein(hits))


def test_the_statistical_tolerance_notices_a_wrong_law() -> None:
    """Negative control: a policy that is off by 0.1 is rejected at the sample size used."""
    world = TabularMDP(np.zeros((1, 2)), np.ones((2, 1, 1)), 0.9, np.ones(1))
    paths = world.simulate(4000, 1, np.random.default_rng(1), np.array([[0.6, 0.4]]))
    hits = (paths.actions == 0).astype(float)
    assert np.abs(hits.mean() - 0.5) > bernstein(hits)[0]
    assert np.abs(hits.mean() - 0.6) <= bernstein(hits)[0]


@settings(max_examples=80)
@given(tabular_mdps(), st.integers(1, 4), st.integers(1, 6), st.integers(1, 4))
def test_a_replication_gets_the_paths_it_would_get_alone(
    world: TabularMDP, trajectories: int, horizon: int, replications: int
) -> None:
    def rngs() -> list[np.random.Generator]:
        return [np.random.default_rng([11, r]) for r in range(replications)]

    together = world.simulate(trajectories, horizon, rngs())
    assert together.states.shape == (replications, trajectories, horizon)
    for r, rng in enumerate(rngs()):
        alone = world.simulate(trajectories, horizon, rng)
        assert np.array_equal(together.states[r], alone.states)
        assert np.array_equal(together.actions[r], alone.actions)
        assert np.array_equal(together.next_states[r], alone.next_states)


class Fixed(np.random.Generator):
    """A generator whose uniform draws are given: the ends of [0, 1) among them."""

    def __init__(self, values: list[float]) -> None:
        super().__init__(np.random.PCG64(0))
        self.values = np.array(values)

    def random(self, size: tuple[int, ...]) -> Array:  # type: ignore[override]
        return np.resize(self.values, size)


LAST = float(np.nextafter(1.0, 0.0))


@given(
    tabular_mdps(max_states=4),
    st.lists(st.sampled_from([0.0, LAST, 0.5, 5e-324]) | st.floats(0, LAST), min_size=1),
    st.data(),
)
def test_events_of_probability_zero_never_happen(
    world: TabularMDP, uniforms: list[float], data: st.DataObject
) -> None:
    policy = data.draw(st.none() | laws(world.reward.shape))
    chosen = world.solution.policy if policy is None else policy
    paths = world.simulate(5, 6, Fixed(uniforms), policy)
    assert np.all(world.initial[paths.states[:, 0]] > 0)
    assert np.all(chosen[paths.states, paths.actions] > 0)
    assert np.all(world.transition[paths.actions, paths.states, paths.next_states] > 0)
    assert np.array_equal(paths.states[:, 1:], paths.next_states[:, :-1])


def test_rows_of_the_sampler_do_not_overlap() -> None:
    """A row whose running and pairwise sums differ in the last bit, before one that starts at 0."""
    weights = np.array([3.0, 3, 1, 4, 0, 2, 3, 4, 2, 1, 1])
    rows = np.stack([weights / weights.sum(), np.eye(11)[10]])
    assert np.cumsum(rows[0])[-1] != rows[0].sum()
    assert np.all(np.diff(Categorical(rows).ladder) >= 0)


def test_lists_are_read_as_tables_and_states_are_numbered() -> None:
    world = TabularMDP([[0, 1], [2, 3]], [[[1, 0], [0, 1]]] * 2, 0.5, [1, 0])
    tables = world.reward, world.transition, world.initial, world.features
    assert {getattr(table, "dtype", None) for table in tables} == {np.dtype(float)}
