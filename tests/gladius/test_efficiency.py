"""The bounds against estimators run on simulated data, exact enumeration and each other.

The estimators here are written for this test: likelihoods are differentiated numerically, so
that nothing is shared with the matrix calculus of `gladius.efficiency`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.checks import Array, InputError
from gladius.efficiency import (
    Bounds,
    bounds,
    expected_mape,
    linear_deviation,
    linearise,
    tabular_deviation,
)
from gladius.mdp import TabularMDP, soft_bellman
from gladius.worlds.bus import BusEngine

BUS, BUS_TRAJECTORIES = BusEngine(), 1000  # of which 800 are for training, as in the exhibits
TRAINING = 0.8
# Terms beyond the first order are relative 1 / (visits of a cell); the cells that carry the MAPE
# in these designs have hundreds to thousands of visits, so that two per cent is generous.
FINITE_SAMPLE = 0.02


def gambles() -> TabularMDP:
    """Four states with lopsided lotteries: the error of P-hat matters.

    r(x, 0) = -1.25 - x; the reward of the anchor, action 1, differs from state to state.
    """
    x = np.arange(1.0, 5.0)
    transition = np.zeros((2, 4, 4))
    transition[0] = np.array([[0.5, 0, 0, 0.5], [0, 0.2, 0.8, 0], [0, 0, 0, 1], [0, 0, 0, 1]])
    transition[1] = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0.2, 0, 0.8, 0], [0, 0, 1, 0]])
    reward = np.stack([-1.25 - x, np.array([-1.0, -7.0, -7.0, -5.0])], axis=1)
    return TabularMDP(reward, transition, 0.9, np.eye(4)[0], x[:, None])


# --- estimators, replications as the leading axis ------------------------------------------------


def simulate(
    world: TabularMDP, horizon: int, trajectories: int, replications: int, seed: int
) -> tuple[Array, Array]:
    """(R, S, A) visits and (R, A, S, S) moves, counted over the world's own states."""
    n, k = world.reward.shape
    tables = []
    seeds = np.random.SeedSequence(seed).spawn(replications)
    size = max(1, 4_000_000 // (trajectories * horizon))  # bounds the memory
    for first in range(0, replications, size):
        rngs = [np.random.default_rng(s) for s in seeds[first : first + size]]
        paths = world.simulate(trajectories, horizon, rngs)
        row = np.arange(len(rngs))[:, None, None]
        code = ((row * k + paths.actions) * n + paths.states) * n + paths.next_states
        count = np.bincount(code.ravel(), minlength=len(rngs) * k * n * n)
        tables.append(count.reshape(len(rngs), k, n, n))
    moves = np.concatenate(tables).astype(float)
    return np.swapaxes(moves.sum(axis=-1), 1, 2), moves


def frequencies(moves: Array) -> Array:
    """Empirical rows; a pair never taken stays where it is (it carries almost no weight)."""
    total = moves.sum(axis=-1, keepdims=True)
    stay = np.broadcast_to(np.eye(moves.shape[-1]), moves.shape)
    return np.where(total > 0, moves / np.maximum(total, 1.0), stay)


def combine(basis: Array, theta: Array) -> Array:
    """(R, S, A) rewards basis @ theta of (S, A, K) and (R, K)."""
    found: Array = np.einsum("sak,rk->rsa", basis, theta)
    return found


def log_policy(reward: Array, transition: Array, discount: float) -> Array:
    solution = soft_bellman(reward, transition, discount)
    assert solution.converged
    return solution.q - solution.v[..., None]


def scoring(
    start: Array,
    log_pi_at: Callable[[Array], Array],
    visits: Array,
) -> Array:
    """(R, K) maximisers of a likelihood of choices; derivatives are central differences."""
    point, h = start, 1e-4
    for _ in range(50):
        shifts = h * np.eye(start.shape[1])
        ups, downs = ([log_pi_at(point + sign * e) for e in shifts] for sign in (1, -1))
        slope = (np.stack(ups, axis=-1) - np.stack(downs, axis=-1)) / (2 * h)
        weight = visits.sum(axis=-1, keepdims=True) * np.exp(log_pi_at(point))
        score = np.einsum("rsa,rsak->rk", visits, slope)
        information = np.einsum("rsa,rsak,rsal->rkl", weight, slope, slope)
        step = np.linalg.solve(information, score[..., None])[..., 0]
        point = point + step
        if np.max(np.einsum("rk,rk->r", step, score)) < 1e-8:  # squared step in standard errors
            return point
    raise AssertionError("scoring did not converge")


def choice_fit(visits: Array, transition: Array, world: TabularMDP, basis: Array) -> Array:
    """(R, K) maximisers of sum n(s, a) log pi(a | s; r = r* + basis theta, P).

    theta is measured from the truth; a maximiser does not depend on where its axis has its zero.
    """

    def log_pi_at(theta: Array) -> Array:
        return log_policy(world.reward + combine(basis, theta), transition, world.discount)

    return scoring(np.zeros((len(visits), basis.shape[-1])), log_pi_at, visits)


def plug_in(visits: Array, moves: Array, world: TabularMDP, anchor: int) -> Array:
    """(R, S, A) rewards from frequencies; a choice never seen counts as half a choice."""
    counts = np.maximum(visits, 0.5)
    log_pi = np.log(counts / counts.sum(axis=-1, keepdims=True))
    transition = frequencies(moves)
    target = world.reward[:, anchor] - log_pi[..., anchor]
    system = np.eye(transition.shape[-1]) - world.discount * transition[:, anchor]
    v = np.linalg.solve(system, target[..., None])
    ahead = np.swapaxes((transition @ v[:, None])[..., 0], 1, 2)
    found: Array = v + log_pi - world.discount * ahead
    return found


# --- comparison ----------------------------------------------------------------------------------


def mapes(world: TabularMDP, horizon: int, error: Array) -> Array:
    """(R,) MAPE over an infinite test split, of (R, S, A) errors r-hat - r."""
    weight = world.occupancy(horizon) / np.abs(world.reward)
    mean: Array = np.einsum("sa,rsa->r", weight, np.abs(error))
    return 100 * mean


def agrees(bound: float, sample: Array) -> bool:
    """Whether the Monte Carlo mean meets the bound: three standard errors + second-order terms."""
    error = float(sample.std(ddof=1)) / len(sample) ** 0.5
    return bool(abs(float(sample.mean()) - bound) <= 3 * error + FINITE_SAMPLE * bound)


def affine_directions(world: TabularMDP) -> Array:
    """(S, 2, 2) intercept and slope of action 0's reward; action 1 is the anchor."""
    x = world.features[:, 0]
    zero = np.zeros_like(x)
    return np.stack(
        [np.stack([np.ones_like(x), x], axis=1), np.stack([zero, zero], axis=1)], axis=1
    )


def both_parameters(world: TabularMDP) -> Array:
    """(S, 2, 2) theta_0's and theta_1's directions."""
    basis = np.zeros((*world.reward.shape, 2))
    basis[:, 0, 0], basis[:, 1, 1] = -world.features[:, 0], -1.0
    return basis


def linear_mapes(world: TabularMDP, horizon: int, basis: Array, theta: Array) -> Array:
    return mapes(world, horizon, combine(basis, theta))


@cache
def bus_sample() -> dict[str, Array]:
    """Monte Carlo MAPEs of each estimator on the same 200 bus data sets."""
    world, horizon = BUS.mdp, BUS.horizon
    visits, moves = simulate(world, horizon, round(TRAINING * BUS_TRAJECTORIES), 200, seed=1)
    known, estimated = world.transition, frequencies(moves)
    both, affine = both_parameters(world), affine_directions(world)
    sample = {
        name: linear_mapes(world, horizon, basis, choice_fit(visits, transition, world, basis))
        for name, basis, transition in [
            ("known_p_both", both, known),
            ("known_p_slope", both[..., :1], known),
            ("affine_known_p", affine, known),
            ("affine", affine, estimated),
        ]
    }
    tabular = mapes(world, horizon, plug_in(visits, moves, world, 1) - world.reward)
    return sample | {"tabular": tabular}


@cache
def gambles_sample() -> dict[str, Array]:
    """The same on 2,000 data sets of the gambles, 400 trajectories of 20 periods."""
    world, basis = gambles(), affine_directions(gambles())
    visits, moves = simulate(world, 20, 400, 2000, seed=2)
    theta = {
        "affine_known_p": choice_fit(visits, world.transition, world, basis),
        "affine": choice_fit(visits, frequencies(moves), world, basis),
    }
    sample = {name: linear_mapes(world, 20, basis, value) for name, value in theta.items()}
    tabular = mapes(world, 20, plug_in(visits, moves, world, 1) - world.reward)
    return sample | {"tabular": tabular}


@cache
def bus_bounds() -> Bounds:
    return bounds(BUS.mdp, BUS.horizon, [TRAINING * BUS_TRAJECTORIES])


@cache
def gambles_bounds() -> Bounds:
    return bounds(gambles(), 20, [400])


@pytest.mark.parametrize(
    "name", ["known_p_both", "known_p_slope", "affine_known_p", "affine", "tabular"]
)
def test_bus_estimators_attain_their_bound(name: str) -> None:
    assert agrees(getattr(bus_bounds(), name)[0], bus_sample()[name])


@pytest.mark.parametrize("name", ["affine_known_p", "affine", "tabular"])
def test_estimators_attain_their_bound_where_transitions_matter(name: str) -> None:
    assert agrees(getattr(gambles_bounds(), name)[0], gambles_sample()[name])


# --- negative controls: wrong bounds that the same comparison rejects ----------------------------


@pytest.mark.parametrize(
    ("factor", "name"),
    [(1 / TRAINING, "affine"), (1 / TRAINING, "tabular"), (2 / np.pi, "tabular")],
)
def test_a_wrong_size_or_norm_is_rejected(factor: float, name: str) -> None:
    """The test split counted as training; root mean square in place of mean absolute error."""
    wrong = bounds(gambles(), 20, [400 * factor])
    assert not agrees(getattr(wrong, name)[0], gambles_sample()[name])


@pytest.mark.parametrize(
    ("bound", "estimator"), [("affine_known_p", "affine"), ("affine", "affine_known_p")]
)
def test_estimators_are_told_apart(bound: str, estimator: str) -> None:
    assert not agrees(getattr(gambles_bounds(), bound)[0], gambles_sample()[estimator])


def test_unknown_level_is_told_from_known_level() -> None:
    assert not agrees(bus_bounds().known_p_slope[0], bus_sample()["known_p_both"])
    assert not agrees(bus_bounds().known_p_both[0], bus_sample()["known_p_slope"])


def test_what_the_deviation_rests_on_is_rejected_where_wrong() -> None:
    """No error of P-hat; and the long run in place of H periods that start in one state."""
    expert = linearise(gambles(), 20)
    for wrong in (
        replace(expert, spread=np.zeros_like(expert.spread)),
        replace(expert, occupancy=linearise(gambles(), 10_000).occupancy),
    ):
        mape = expected_mape(expert, tabular_deviation(wrong, 1), np.array(8000.0))
        assert not agrees(float(mape), gambles_sample()["tabular"])


# --- exact checks --------------------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn) -> TabularMDP:
    n, k = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    reward = draw(arrays(float, (n, k), elements=st.floats(-4, -0.25)))
    weight = draw(arrays(float, (k, n, n), elements=st.floats(0.05, 1)))
    start = draw(arrays(float, n, elements=st.floats(0.05, 1)))
    beta = draw(st.floats(0.1, 0.95))
    return TabularMDP(reward, weight / weight.sum(-1, keepdims=True), beta, start / start.sum())


few = settings(max_examples=30, deadline=None)


@few
@given(worlds(), st.data())
def test_response_is_the_derivative_of_the_choices(world: TabularMDP, data: st.DataObject) -> None:
    """In the reward, and in P through beta dP V alone."""
    n, k = world.reward.shape
    tilt = data.draw(arrays(float, (n, k), elements=st.floats(-1, 1)))
    twist = data.draw(arrays(float, (k, n, n), elements=st.floats(-1, 1)))
    twist = twist - twist.mean(axis=-1, keepdims=True)
    expert, h = linearise(world, 5), 1e-5

    def log_pi(step: float) -> Array:
        transition = world.transition + step * twist
        return log_policy(world.reward + step * tilt, transition, world.discount)

    slope = (log_pi(h) - log_pi(-h)) / (2 * h)
    shock = tilt + world.discount * (twist @ world.solution.v).T
    np.testing.assert_allclose(expert.response @ shock.ravel(), slope.ravel(), atol=1e-6, rtol=1e-5)


@few
@given(worlds(), st.data())
def test_saturated_reward_has_the_tabular_bound(world: TabularMDP, data: st.DataObject) -> None:
    """Two routes, delta method and likelihood."""
    n, k = world.reward.shape
    anchor = data.draw(st.integers(0, k - 1))
    expert = linearise(world, 5)
    free = [(s, a) for s, a in product(range(n), range(k)) if a != anchor]
    basis = np.zeros((n, k, len(free)))
    for p, (s, a) in enumerate(free):
        basis[s, a, p] = 1.0
    expected = tabular_deviation(expert, anchor)
    assert np.all(expected[:, anchor] == 0)
    two_step = linear_deviation(expert, basis, is_known=False)
    np.testing.assert_allclose(two_step, expected, rtol=1e-5)
    assert np.all(linear_deviation(expert, basis, is_known=True) <= expected + 1e-9)


@few
@given(worlds(), st.data())
def test_more_knowledge_never_hurts(world: TabularMDP, data: st.DataObject) -> None:
    n, k = world.reward.shape
    direction = data.draw(arrays(float, (n, k), elements=st.floats(0.1, 1)))
    direction[:, k - 1] = 0  # the anchor
    expert = linearise(world, 5)
    basis = direction[..., None]
    known = linear_deviation(expert, basis, is_known=True)
    two_step = linear_deviation(expert, basis, is_known=False)
    assert np.all(known <= two_step * (1 + 1e-9))
    assert np.all(known <= tabular_deviation(expert, k - 1) * (1 + 1e-6))


def test_bounds_fall_with_the_root_of_the_number_of_trajectories() -> None:
    found = bounds(BUS.mdp, BUS.horizon, [50, 200, 5000])
    for name in [f.name for f in fields(found)][1:]:
        value = getattr(found, name)
        np.testing.assert_allclose(value, value[0] * np.sqrt([1, 1 / 4, 1 / 100]), rtol=1e-12)


def test_bus_bounds_are_ordered_by_what_is_known() -> None:
    b = bus_bounds()
    assert b.known_p_slope[0] < b.known_p_both[0] < b.affine_known_p[0]
    assert b.affine_known_p[0] < b.affine[0] < b.tabular[0]


def test_rare_cells_add_little_and_nothing_where_the_expert_never_is() -> None:
    """A cell's share is of order sqrt(d): rare mileages hardly matter, unreached states not."""
    expert = linearise(BUS.mdp, BUS.horizon)
    share = expert.occupancy * tabular_deviation(expert, 1) / np.abs(expert.world.reward)
    assert np.all(np.isfinite(share))
    assert share[10:].sum() < 1e-4 * share.sum()
    world = gambles()
    transition = np.zeros((2, 5, 5))
    transition[:, :4, :4], transition[:, 4, 0] = world.transition, 1.0
    reward = np.vstack([world.reward, [[-6.25, -3.0]]])
    with_island = TabularMDP(reward, transition, 0.9, np.eye(5)[0], np.arange(1.0, 6.0)[:, None])
    for name in ("affine", "tabular"):
        island = getattr(bounds(with_island, 20, [400]), name)
        np.testing.assert_allclose(island, getattr(gambles_bounds(), name), rtol=1e-9)


def test_classes_that_do_not_hold_the_truth_have_no_bound() -> None:
    curved = bounds(BusEngine(maintenance=lambda x: -0.25 * x**1.7).mdp, 100, [800])
    for name in ("known_p_both", "known_p_slope", "affine_known_p", "affine"):
        assert np.isnan(getattr(curved, name)[0])
    assert 0 < curved.tabular[0] < np.inf
    assert np.isnan(gambles_bounds().known_p_slope[0])  # it has an intercept
    assert not np.isnan(gambles_bounds().affine[0])


def one_state(first: float) -> TabularMDP:
    reward = np.array([[first, -2.0]])
    return TabularMDP(reward, np.ones((2, 1, 1)), 0.9, np.ones(1), np.ones((1, 1)))


def one_action() -> TabularMDP:
    return TabularMDP(-np.ones((1, 1)), np.ones((1, 1, 1)), 0.9, np.ones(1))


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: bounds(BUS.mdp, 100, [0]), "trajectories"),
        (lambda: bounds(BUS.mdp, 100, [np.nan]), r"trajectories\[0\]"),
        (lambda: bounds(BUS.mdp, 100, [800], anchor_action=2), "anchor_action"),
        (lambda: bounds(BUS.mdp, 0, [800]), "horizon"),
        (lambda: bounds(BUS.mdp, 3, [800]), "horizon"),  # mileage 13 is reached, no choice seen
        (lambda: bounds(one_state(-1.0), 5, [800]), "basis"),  # slope and intercept are one
        (lambda: bounds(replace(gambles(), reward=gambles().reward * [1, 0]), 20, [800]), "reward"),
        (lambda: bounds(one_state(-1e4), 5, [800]), r"reward\[0, 0\]"),
        (lambda: bounds(one_action(), 5, [1]), "reward"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], field: str) -> None:
    with pytest.raises(InputError, match=f"^{field} ="):
        call()
