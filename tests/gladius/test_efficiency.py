"""The bounds against estimators run on simulated data, exact enumeration and each other.

The estimators are NFXP and a plug-in, which share nothing with the matrix calculus of
`gladius.efficiency`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.baselines import nfxp
from gladius.checks import Array, InputError
from gladius.efficiency import (
    Bounds,
    bounds,
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
    world: TabularMDP, horizon: int, trajectories: int, replications: int
) -> tuple[Array, Array]:
    """(R, S, A) visits and (R, A, S, S) moves, counted over the world's own states."""
    n, k = world.reward.shape
    tables = []
    for seed in np.random.SeedSequence(1).spawn(replications):
        paths = world.simulate(trajectories, horizon, np.random.default_rng(seed))
        code = (paths.actions * n + paths.states) * n + paths.next_states
        tables.append(np.bincount(code.ravel(), minlength=k * n * n).reshape(k, n, n))
    moves = np.stack(tables).astype(float)
    return np.swapaxes(moves.sum(axis=-1), 1, 2), moves


def frequencies(moves: Array) -> Array:
    """Empirical rows; a pair never taken stays where it is (it carries almost no weight)."""
    total = moves.sum(axis=-1, keepdims=True)
    stay = np.broadcast_to(np.eye(moves.shape[-1]), moves.shape)
    return np.where(total > 0, moves / np.maximum(total, 1.0), stay)


def choice_fit(visits: Array, transition: Array, world: TabularMDP, basis: Array) -> Array:
    """(R, S, A) errors of the rewards r* + basis theta that maximise sum n(s, a) log pi(a | s)."""
    fit = nfxp.fit_counts(visits, transition, basis, world.reward, world.discount)
    assert set(fit.status) == {"ok"}
    error: Array = np.einsum("sak,rk->rsa", basis, fit.theta)
    return error


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


def sample_of(
    world: TabularMDP, horizon: int, trajectories: int, replications: int, bases: dict[str, Array]
) -> dict[str, Array]:
    """Monte Carlo MAPEs of each estimator on the same data sets; `affine` estimates P."""
    visits, moves = simulate(world, horizon, trajectories, replications)
    errors = {name: choice_fit(visits, world.transition, world, b) for name, b in bases.items()}
    affine = bases["affine_known_p"]
    errors["affine"] = choice_fit(visits, frequencies(moves), world, affine)
    errors["tabular"] = plug_in(visits, moves, world, 1) - world.reward
    return {name: mapes(world, horizon, error) for name, error in errors.items()}


@cache
def bus_sample() -> dict[str, Array]:
    """200 bus data sets."""
    x = BUS.mdp.features[:, 0]
    both = np.zeros((20, 2, 2))
    both[:, 0, 0], both[:, 1, 1] = -x, -1.0
    bases = {"known_p_both": both, "known_p_slope": both[..., :1]}
    bases["affine_known_p"] = affine_directions(BUS.mdp)
    return sample_of(BUS.mdp, BUS.horizon, round(TRAINING * BUS_TRAJECTORIES), 200, bases)


@cache
def gambles_sample() -> dict[str, Array]:
    """2,000 data sets of the gambles, 400 trajectories of 20 periods."""
    world = gambles()
    return sample_of(world, 20, 400, 2000, {"affine_known_p": affine_directions(world)})


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
        solution = soft_bellman(world.reward + step * tilt, transition, world.discount)
        return solution.q - solution.v[..., None]

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


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: bounds(BUS.mdp, 100, [0]), "trajectories"),
        (lambda: bounds(BUS.mdp, 100, [np.nan]), r"trajectories\[0\]"),
        (lambda: bounds(BUS.mdp, 0, [800]), "horizon"),
        (lambda: bounds(BUS.mdp, 3, [800]), "horizon"),  # mileage 13 is reached, no choice seen
        (lambda: bounds(one_state(-1.0), 5, [800]), "basis"),  # slope and intercept are one
        (lambda: bounds(replace(gambles(), reward=gambles().reward * [1, 0]), 20, [800]), "reward"),
        (lambda: bounds(one_state(-1e4), 5, [800]), r"reward\[0, 0\]"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], field: str) -> None:
    with pytest.raises(InputError, match=f"^{field} ="):
        call()
