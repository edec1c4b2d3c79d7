"""Influence tables and bounds against derivatives of the estimators, each other, and many data."""

import time
import warnings
import weakref
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from bus_engine import BUS, KNOWN
from continuous_bus import ContinuousBus
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import sample
from scipy import stats
from scipy.special import xlogy
from scipy.stats import halfnorm
from strategies import WHOLES, transitions

import gladius
from gladius import PooledIncrements, Results, Transitions
from gladius.baselines import nfxp
from gladius.baselines.nfxp import fit_counts
from gladius.designs.bus import BUS_REWARD, BusEngine, bus_design
from gladius.designs.efficiency import (
    bounds,
    linear_covariance,
    linear_deviation,
    linearise,
    tabular_deviation,
)
from gladius.model import inversion as plug_in
from gladius.model.estimate import Estimate
from gladius.model.frequencies import TransitionProbabilities, empirical_transition_probabilities
from gladius.model.mdp import TabularMDP, soft_bellman
from gladius.model.reward_form import KnownTransitions, linear_in_features
from gladius.own_data.erm.estimator import fit_counts as fit_profiled
from gladius.own_data.erm.smooth import LAST_STEP
from gladius.own_data.results import inference
from gladius.own_data.results.factors import Cells, Factor, frequency_factors, increment_factors
from gladius.own_data.results.inference import FreeErrors, Influence, groups_of, influence
from gladius.panel.anchor import Anchor, NearestState
from gladius.panel.record import Counts, group
from gladius.validate import Array, InputError

BETA, MANY = 0.9, 1e6


def errors_of(estimate: Estimate) -> FreeErrors:
    errors = inference.errors_of(estimate)
    assert isinstance(errors, FreeErrors)
    return errors


Estimator = Callable[[Counts], tuple[TransitionProbabilities, tuple[Factor, ...]]]


def by_frequencies(counts: Counts) -> tuple[TransitionProbabilities, tuple[Factor, ...]]:
    p_hat = empirical_transition_probabilities(counts)
    return p_hat, frequency_factors(counts, p_hat)


def by_increments(option: PooledIncrements) -> Estimator:
    def estimate(counts: Counts) -> tuple[TransitionProbabilities, tuple[Factor, ...]]:
        p_hat = option.estimate(counts)
        return p_hat, increment_factors(option, counts, p_hat)

    return estimate


def design_of(states: Array) -> Array:
    """r = theta_0 x + theta_1 x_last for action 0, theta_2 for action 1, (S, 2, 3)."""
    design = np.zeros((len(states), 2, 3))
    design[:, 0, 0], design[:, 0, 1] = -states[:, 0], -(states[:, -1] ** 2) / 5
    design[:, 1, 2] = -1.0
    return design


def population(transition: Array, weight: Array, states: Array) -> Counts:
    """MANY observations, as the model has them, of the states with a weight."""
    reward = design_of(states) @ np.array([0.4, 0.3, 2.0])
    policy = soft_bellman(reward, transition, BETA).policy
    visits = MANY * weight[:, None] * policy
    return Counts(states, visits[None], (visits.T[:, :, None] * transition)[None])


def estimate(counts: Counts, estimator: Estimator) -> tuple[Array, Influence]:
    """theta-hat and its influence table."""
    p_hat, factors = estimator(counts)
    design = design_of(counts.states)
    fitted = fit_counts(
        counts.visits, p_hat.transition, design, np.zeros(design.shape[:2]), BETA, tolerance=1e-12
    )
    cells = Cells.of(counts, np.arange(len(design)), len(design))
    args = p_hat.transition[0], design, fitted.q[0], BETA, factors
    return fitted.theta[0], influence(cells, *args)


def line(points: int) -> Array:
    return np.arange(points, dtype=float)[:, None]


def increments_world(option: PooledIncrements, states: Array, ended: float) -> Counts:
    """Increments 0, 1, 2 of x, none observed where they would leave the grid."""
    weight = np.where(states[:, 0] <= 2, 1.0 + 0.1 * np.arange(len(states)), 0.0)
    p = np.array([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]])
    p = p[[0, 0]] if option.common else p
    chain = np.array([[0.8, 0.2], [0.3, 0.7]]) if option.own else np.ones((1, 1))
    starts = option.starts(states, 2)
    moves = np.zeros((1, 2, len(states), len(states)))
    for a in range(2):
        for i in np.flatnonzero(weight):
            for d in range(3):
                for g, share in enumerate(chain[int(states[i, 1]) if option.own else 0]):
                    end = [starts[a, i, 0] + d, *([g] if option.own else [])]
                    (j,) = np.flatnonzero((states == end).all(axis=1))
                    moves[0, a, i, j] += weight[i] * p[a, d] * share
    visits = np.swapaxes(moves.sum(axis=3), 1, 2)
    transition = option.estimate(Counts(states, visits, moves)).transition[0]
    return population((1 - ended) * transition, weight / weight.sum(), states)


PRODUCT = np.array([[x, g] for x in range(5) for g in range(2)], dtype=float)
CASES: dict[str, tuple[Estimator, Callable[[], Counts]]] = {}
for name, *world in (
    ("by action, and ends of paths", PooledIncrements(), line(5), 0.2),
    ("common, with a reset", PooledIncrements(resets={1: 0.0}, common=True), line(5), 0.0),
    ("a feature of its own", PooledIncrements(resets={1: (0.0, 0.0)}, own=(1,)), PRODUCT, 0.0),
):
    CASES[name] = by_increments(world[0]), lambda given=world: increments_world(*given)


def some_rows(observed: int, ended: float = 0.0) -> Counts:
    """Four states with one destination law for each action; the last ones are never acted in."""
    rows = (1 - ended) * np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
    transition = np.repeat(rows[:, None], 4, axis=1)
    weight = np.where(np.arange(4) < observed, 1 / observed, 0.0)
    return population(transition, weight, line(4))


CASES["frequencies"] = by_frequencies, lambda: some_rows(4)


def some_steps() -> Counts:
    """Action 0 leads from x to x or x + 1, action 1 to 0; 2 and 4 are never acted in."""
    up = np.eye(5) * 0.6 + np.eye(5, k=1) * 0.4
    up[4, 4] = 1.0  # the grid ends there
    return population(np.stack([up, np.eye(5)[[0] * 5]]), np.array([0.4, 0.3, 0, 0.3, 0]), line(5))


CASES["a borrowed row of steps"] = by_frequencies, some_steps
CASES["a borrowed row, and ends of paths"] = by_frequencies, lambda: some_rows(3, ended=0.2)


@pytest.mark.parametrize("name", CASES)
def test_the_table_is_the_derivative_of_the_estimate_in_each_observation(name: str) -> None:
    estimator, make = CASES[name]
    counts = make()
    theta, table = estimate(counts, estimator)
    np.testing.assert_allclose(theta, [0.4, 0.3, 2.0], atol=1e-9)
    # central differences of 1e-5 of the data are off by 1e-8 or so; P-hat's influence is checked to
    # 1e-4 even where it is small beside that of the choices
    tolerance = 1e-6 * np.abs(table.choice).max() + 1e-4 * np.abs(table.move).max()
    assert np.abs(table.move).max() > 20 * tolerance
    # no path ends where the rest is rounding
    cells = np.flatnonzero(table.cells.number > 1e-9 * MANY)
    for m in cells[:: len(cells) // 5 | 1]:  # an odd step, so that ends are among them
        a, s, t = table.cells.action[m], table.cells.state[m], table.cells.after[m]
        ends = []
        for sign in (1, -1):
            visits, moves = counts.visits.copy(), counts.moves.copy()
            visits[0, s, a] += sign * MANY * 1e-5
            moves[0, a, s, t : t + 1] += sign * MANY * 1e-5  # none where the path ends
            ends.append(estimate(Counts(counts.states, visits, moves), estimator)[0])
        slope = (ends[0] - ends[1]) / (2 * MANY * 1e-5)
        found = table.choice[s, a] + table.move[m]
        np.testing.assert_allclose(found, slope, rtol=0, atol=tolerance)


def test_population_counts_give_the_two_step_bound() -> None:
    expert = linearise(BUS.mdp, 100)
    design = bus_design(expert.world.features)
    visits = 1e15 * expert.occupancy
    moves = visits.T[:, :, None] * expert.world.transition
    counts = Counts(expert.world.features, visits[None], moves[None])
    _, factors = by_frequencies(counts)
    cells = Cells.of(counts, np.arange(len(design)), len(design))
    args = design, expert.world.solution.q, BUS.discount
    for is_known in (True, False):
        used = () if is_known else factors
        table = influence(cells, expert.world.transition, *args, used)
        expected = linear_covariance(expert, design, is_known) / 1e15
        np.testing.assert_allclose(table.covariance, expected, rtol=1e-9)


@settings(max_examples=30)
@given(arrays(np.int64, (2, 3, 4), elements=st.integers(0, 3)), st.integers(0, 2**16))
def test_few_observations_of_a_row_have_their_sample_variance(cells: Any, seed: int) -> None:
    """n / (n - 1) of what the row shows; one observation has the mean of the action's others."""
    rng = np.random.default_rng(seed)
    cells = cells.astype(float)
    v, psi = rng.normal(size=3), rng.normal(size=(2, 3, 2))
    n = cells.sum(axis=2)
    own = np.where(n > 0, np.arange(6).reshape(2, 3), -1)
    if own.max() < 0:
        return
    index = np.nonzero(cells)
    of_cells = Cells(*index, cells[index], (2, 3))
    a, s = np.nonzero(n)
    factor = Factor((a, s, own[a, s]), own, np.zeros_like(index[0]), None)
    transition = (cells / np.maximum(n, 1)[..., None])[..., :3]
    move = factor.influence(of_cells, transition, v, psi)
    found = np.einsum("m,mk,ml->kl", of_cells.number, move, move)
    found += factor.unseen(of_cells, transition, v, psi)
    expected, values = np.zeros((2, 2)), np.append(v, 0.0)
    for a in range(2):
        draws = [np.repeat(values, cells[a, s].astype(int)) for s in range(3)]
        squares = sum(np.sum((x - x.mean()) ** 2) for x in draws if len(x))
        freedom = sum(len(x) - 1 for x in draws if len(x))
        for s, x in enumerate(draws):
            if len(x):
                variance = x.var(ddof=1) if len(x) > 1 else squares / max(freedom, 1)
                expected += variance / len(x) * np.outer(psi[a, s], psi[a, s])
    np.testing.assert_allclose(found, expected, atol=1e-9)


def fit_bus(seed: int = 0, method: str = "nfxp", n: int = 60, **options: Any) -> gladius.Results:
    data = BUS.simulate(n, np.random.default_rng(seed))
    return gladius.fit(data, method, reward=BUS_REWARD, **KNOWN | options)


@pytest.mark.filterwarnings("ignore:choices of a path go together")  # rows stand there twice
def test_clustered_errors_are_sums_over_trajectories() -> None:
    found = fit_bus()
    table, z = found.cov("cluster").to_numpy(), found.cov().to_numpy()
    assert np.sqrt(np.diag(table)) == pytest.approx(np.sqrt(np.diag(z)), rel=0.35)
    # every trajectory twice, as one: the sums double, their number does not
    double = found.data.take(np.tile(np.arange(len(found.data)), 2))
    twice = gladius.fit(double, "nfxp", reward=BUS_REWARD, **KNOWN)
    np.testing.assert_allclose(twice.cov("cluster"), table, rtol=0.02)
    np.testing.assert_allclose(twice.cov(), z / 2, rtol=0.02)


def test_clustered_errors_do_not_depend_on_the_order_of_the_rows() -> None:
    """Of ml_irl, which weights a row by its period: here all first periods come first."""
    found = fit_bus(method="ml_irl")
    mixed = found.data.take(np.argsort(np.arange(len(found.data)) % BUS.horizon, kind="stable"))
    again = gladius.fit(mixed, "ml_irl", reward=BUS_REWARD, **KNOWN)
    np.testing.assert_allclose(again.cov("cluster"), found.cov("cluster"), rtol=1e-6)  # the fit's


def test_the_outer_product_is_that_of_the_scores_of_the_choices() -> None:
    """By differences of log pi in theta, P-hat held fixed; the square of their step is 1e-10."""
    found = fit_bus()
    model, theta = found.form_errors.basis.model, found.params.to_numpy()

    def log_pi(theta: Array) -> Array:
        solution = soft_bellman(model.design @ theta, model.transition[0], BUS.discount)
        return solution.q - solution.v[:, None]

    steps = 1e-5 * np.eye(2)
    scores = np.array([log_pi(theta + step) - log_pi(theta - step) for step in steps]) / 2e-5
    outer = np.einsum("ksa,sa,lsa->kl", scores, model.visits[0], scores)
    np.testing.assert_allclose(found.cov("outer"), np.linalg.inv(outer), rtol=1e-6)


@settings(max_examples=30)
@given(transitions(width=1, elements=WHOLES))
def test_cells_are_counts_of_rows_and_of_ends(data: Transitions) -> None:
    """On the states of the data, and on a grid with others, -3 to 3."""
    s, t = (states[:, 0].astype(int) + 3 for states in (data.states, data.next_states))
    expected = np.zeros((3, 7, 8))
    np.add.at(expected, (data.actions, s, np.where(data.done, 7, t)), 1)
    counts, grid = group(data), np.arange(-3.0, 4.0)[:, None]
    at = counts.states[:, 0].astype(int) + 3

    def table(cells: Cells) -> Array:
        found = np.zeros((3, 7, 8))
        np.add.at(found, (cells.action, cells.state, cells.after), cells.number)
        assert np.all(np.diff(cells.row * 8 + cells.after) > 0)
        return found

    np.testing.assert_array_equal(table(Cells.of(counts, at, 7)), expected)
    wider = PooledIncrements(grid=grid).on_grid(counts)
    np.testing.assert_array_equal(wider.states, grid)
    np.testing.assert_array_equal(table(Cells.of(wider, np.arange(7), 7)), expected)


VALUES = st.floats(-3, 3)


@settings(max_examples=30)
@given(
    arrays(float, (3, 2, 2), elements=VALUES),
    arrays(float, (2, 3, 4, 2), elements=VALUES),
    arrays(np.int64, (12, 4), elements=st.integers(0, 11)),
    arrays(float, 12, elements=st.floats(0, 1)),
)
def test_clustered_errors_are_the_sample_covariance_of_the_sums(
    choice: Array, move: Array, rows: Any, weights: Array
) -> None:
    """The sum of G independent sums varies G times as one of them; its mean is not known."""
    s, a, t, path = (rows % [3, 2, 5, 4]).T
    names = np.unique(path)
    assume(len(names) > 1)
    cells = Cells(*(x.ravel() for x in np.indices((2, 3, 4))), np.zeros(24), (2, 3))
    rows = move.reshape(24, 2)
    table = Influence(choice, rows, cells, np.zeros((3, 2)), np.eye(2), 0.5 * np.eye(2))
    seen = t != 4  # elsewhere the next state was not observed, and the choice counts alone
    path_of = path, t == 3, 2
    data = Transitions(line(3)[s], a, line(3)[t % 3], *path_of, followed=seen)
    each = weights[:, None] * choice[s, a] + seen[:, None] * move[a, s, t % 4]
    sums = np.array([each[path == name].sum(axis=0) for name in names])
    expected = len(names) * np.cov(sums, rowvar=False) + table.unseen
    # squares of sums of up to 12 terms below 6: rounding is 1e-11
    np.testing.assert_allclose(
        table.clustered(data, line(3), [groups_of(data, "id")], weights), expected, atol=1e-10
    )


@pytest.mark.parametrize("method", ["nfxp", "ccp", "mpec"])
def test_the_summary_and_the_frame_have_the_same_numbers(method: str) -> None:
    found = fit_bus(method=method)
    frame = found.to_frame(level=0.9, kind="cluster")
    se = np.sqrt(np.diag(found.cov("cluster")))
    half = stats.norm.ppf(0.95) * se
    np.testing.assert_allclose(frame["high"] - frame["low"], 2 * half)
    np.testing.assert_allclose(found.conf_int(level=0.9, kind="cluster"), frame[["low", "high"]])
    text = found.summary(level=0.9, kind="cluster")
    assert f"{frame['se'].iloc[0]:.4g}" in text
    assert len(text.splitlines()) < 20
    assert "theta" in found.to_latex()
    assert len(repr(found)) < 80
    a, b = found.params
    assert found.wald([[1, -0.2]], a - 0.2 * b) == pytest.approx(1.0)
    single = found.wald([[0, 1]], 0.0)
    assert single == pytest.approx(found.to_frame()["p"].iloc[1], abs=1e-12)
    states = np.array([[1.0], [3.0]])
    errors = found.reward_errors(states)
    np.testing.assert_allclose(errors[:, 0], states[:, 0] * np.sqrt(found.cov().iloc[0, 0]))


def test_the_bootstrap_has_the_spread_of_the_influence_table() -> None:
    found = fit_bus(n=100)
    draws = found.bootstrap(draws=60, rng=1)
    ratio = draws.std(axis=0, ddof=1) / np.sqrt(np.diag(found.cov("cluster")))
    assert np.all((ratio > 0.7) & (ratio < 1.4))
    again = found.bootstrap(lambda e: e.reward(np.array([[2.0]]), 0), draws=60, rng=1)
    np.testing.assert_allclose(again[:, 0], -2 * draws[:, 0])


def test_a_failed_refit_is_nan_and_its_statistic_is_not_computed() -> None:
    found, fit = fit_bus(), nfxp.fit

    def fails_once(*given: Any, **options: Any) -> list[Estimate]:
        first, *others = fit(*given, **options)
        failed = replace(first.diagnostics, converged=False, status="failed: why", extra={})
        return [replace(first, diagnostics=failed), *others]

    with patch.object(nfxp, "fit", fails_once), pytest.warns(UserWarning, match="1 of 3 refits"):
        draws = found.bootstrap(draws=3)
    assert np.isnan(draws).tolist() == [[True] * 2, [False] * 2, [False] * 2]


def test_a_data_frame_is_read_by_its_names_and_any_array_by_position() -> None:
    found = fit_bus()
    frame = pd.DataFrame({"other": [9.0, 9.0], "s0": [2.0, 1.0]})
    expected = found.reward(np.array([[2.0], [1.0]]), 0)
    np.testing.assert_array_equal(found.predict(frame), found.policy(frame[["s0"]].to_numpy()))
    np.testing.assert_array_equal(found.reward(frame, 0), expected)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.reward(np.array([[1.0], [2.0]])[::-1], 0), expected)
    with pytest.raises(InputError, match="give the columns"):
        found.reward(frame[["other"]], 0)  # type: ignore[arg-type]


DEEP = [pytest.param(name, marks=pytest.mark.deep) for name in ("plug_in", "ml_irl", "sparse")]
SETS = {"profiled_erm": 80, "plug_in": 80, "ml_irl": 80, "sparse": 40}


@pytest.mark.parametrize("name", ["profiled_erm", *DEEP])
def test_errors_have_the_spread_of_estimates_over_data_sets(name: str) -> None:
    """A standard deviation of 80 estimates is known to 8 %, of 40 to 11 %.

    Errors of selected terms lack the noise of the choice.
    """
    is_sparse, rng = name == "sparse", np.random.default_rng(3)
    states = np.array([[2.0], [4.0], [6.0]] if is_sparse else [[1.0], [2.0], [3.0]])
    world = ContinuousBus() if is_sparse else BUS
    sets = [world.simulate(40 if is_sparse else 120, rng) for _ in range(SETS[name])]
    options = {"sparse": {"function_class": "sparse"}, "ml_irl": {"reward": BUS_REWARD}}
    fits = gladius.fit(
        sets, "profiled_erm" if is_sparse else name, **options.get(name, {}), **KNOWN
    )
    frames = [fit.reward_frame(states).iloc[::2] for fit in fits]  # action 0
    centres = np.stack([(frame["low"] + frame["high"]) / 2 for frame in frames])
    mean = np.mean([frame["se"] for frame in frames], axis=0)
    ratio = mean / centres.std(axis=0, ddof=1)
    assert np.all((ratio > (0.65 if is_sparse else 0.8)) & (ratio < (1.5 if is_sparse else 1.25)))
    if is_sparse:
        held = fits[0].bootstrap(lambda e: e.reward(states, 0), draws=20, holds_inputs=True)
        share = held.std(axis=0, ddof=1) / frames[0]["se"]  # known to 16 %
        assert share.between(0.5, 2.0).all()
        with pytest.raises(InputError, match=r"^kind = 'cluster'"):
            fits[0].reward_frame(kind="cluster")
    else:
        clustered = np.mean([fit.reward_errors(states, "cluster")[:, 0] for fit in fits], axis=0)
        np.testing.assert_allclose(clustered, mean, rtol=0.15)  # nothing is clustered here


@pytest.mark.parametrize("anchor_action", [0, 2])
def test_population_counts_give_the_plug_in_its_tabular_bound(anchor_action: int) -> None:
    """The bound has another formula: that of `efficiency`, cell by cell."""
    rng = np.random.default_rng(2)
    lotteries = rng.dirichlet(np.ones(5), size=(3, 5))
    world = TabularMDP(rng.normal(size=(5, 3)), lotteries, 0.9, np.full(5, 0.2), line(5))
    expert = linearise(world, 50)
    visits = 1e15 * expert.occupancy
    moves = visits.T[:, :, None] * lotteries
    counts = Counts(world.features, visits[None], moves[None])
    anchor = Anchor(anchor_action, NearestState(world.features, world.reward[:, anchor_action]))
    table = errors_of(plug_in.fit_counts(counts, anchor, 0.9)[0]).table()
    bound = np.delete(tabular_deviation(expert, anchor_action), anchor_action, axis=1) ** 2
    expected = bound.T.ravel() / 1e15
    np.testing.assert_allclose(np.diag(table.covariance), expected, rtol=1e-9)
    without = replace(table, move=np.zeros_like(table.move))
    assert np.min(1 - np.diag(without.covariance) / expected) > 0.01  # P-hat's noise is in it


@settings(max_examples=30)
@given(arrays(np.int64, (2, 3, 3), elements=st.integers(1, 9)))
def test_with_p_known_the_plug_in_has_the_variance_of_its_log_odds(cells: Any) -> None:
    """1 / (n_0 + 1/2) + 1 / (n_1 + 1/2) in each state, and r moves with them through V."""
    moves, visits = cells[None].astype(float), cells.sum(axis=2).T + 0.5
    counts = Counts(line(3), (visits - 0.5)[None], moves)
    transition = moves[0] / (visits - 0.5).T[..., None]

    def reward(odds: Array) -> Array:
        log_pi = -np.logaddexp(0, [-odds, odds])
        v = np.linalg.solve(np.eye(3) - BETA * transition[1], -5.0 - log_pi[1])
        return np.asarray(log_pi[0] + v - BETA * transition[0] @ v)

    odds, steps = np.log(visits[:, 0] / visits[:, 1]), 1e-5 * np.eye(3)
    slopes = np.array([reward(odds + step) - reward(odds - step) for step in steps]).T / 2e-5
    expected = slopes @ np.diag((1 / visits).sum(axis=1)) @ slopes.T
    table = errors_of(plug_in.fit_counts(counts, Anchor(1, -5.0), BETA)[0]).table()
    # the square of the steps is 1e-10, rounding of values near 50 over them 1e-9
    np.testing.assert_allclose(table.inverse, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_intervals_of_the_class_smooth_are_those_at_their_own_lambda(
    hold_lambda: Callable[[float], None],
) -> None:
    data = BUS.simulate(100, np.random.default_rng(0))
    fit = gladius.fit(data, **KNOWN)
    own = fit.diagnostics.extra["interval_penalty"]
    assert own < fit.diagnostics.extra["penalty"]  # r-hat is at the affine end
    hold_lambda(own)
    (other,) = fit_profiled(group(data), fit.anchor, KNOWN["discount"])
    frame = fit.reward_frame(states := group(data).states)
    centres = (frame["low"] + frame["high"]) / 2
    # both stop where a step is LAST_STEP of a standard error
    off = np.abs(centres - other.reward_function(states).ravel())
    assert np.all(off <= 2 * LAST_STEP * frame["se"] + 1e-12)
    own = errors_of(other).at(states, "model", data)[1].ravel()
    np.testing.assert_allclose(frame["se"], own, rtol=LAST_STEP)  # to first order in that step


def test_at_the_affine_end_errors_are_those_of_maximum_likelihood(
    hold_lambda: Callable[[float], None],
) -> None:
    data = BUS.simulate(100, np.random.default_rng(0))
    fit = gladius.fit(data, "nfxp", reward=linear_in_features(2, 1, -5.0), **KNOWN)
    expected = fit.reward_errors(group(data).states)[:, 0] ** 2
    found = []
    for penalty in (1.0, 1e6):
        hold_lambda(penalty)
        found.append(errors_of(fit_profiled(group(data), fit.anchor, 0.95)[0]).table())
    rough, affine = found
    np.testing.assert_allclose(np.diag(affine.covariance), expected, rtol=0.02)  # 1e6 is not inf
    assert np.all(np.diag(rough.covariance) > 1.02 * expected)


@pytest.mark.parametrize("rare", [4, 5])
def test_an_interval_needs_five_observations_of_all_that_weighs_a_twentieth(rare: int) -> None:
    """Action 0 stays and the anchor moves on, so that r(s, 0) = (1 - beta) V(s) + log-odds.

    With beta = 1/2 the error of log pi(anchor) in the state k steps ahead has the weight 2^-(k + 1)
    in r(s, 0): 1/16 counts and 1/32 does not.
    """
    visits = np.full((7, 2), 100.0)
    visits[5, 1] = visits[0, 0] = rare
    moves = np.zeros((2, 7, 7))
    moves[0, range(7), range(7)] = visits[:, 0]
    moves[1, range(7), [1, 2, 3, 4, 5, 6, 6]] = visits[:, 1]
    counts = Counts(line(7), visits[None], moves[None])
    found = errors_of(plug_in.fit_counts(counts, Anchor(1, 0.0), 0.5)[0]).supported()
    assert found[:, 1].all()
    is_few = rare < 5
    assert found[:, 0].tolist() == [not is_few, True, *[not is_few] * 4, True]


def test_intervals_need_observations_and_a_table_that_fits() -> None:
    fit = gladius.fit(BUS.simulate(20, np.random.default_rng(1)), "plug_in", **KNOWN)
    frame = fit.reward_frame()
    few = (frame["observations"] < 5) & (frame["action"] == 0)
    assert set(frame["se"].isna()[few]) == {True}
    assert (frame["se"] == 0).equals(frame["action"] == 1)
    with patch.object(inference, "LARGEST_TABLE", 100), pytest.warns(UserWarning, match="bootstr"):
        without = fit.reward_frame()
    assert without["se"].isna().all()
    np.testing.assert_array_equal(without["reward"], frame["reward"])


def test_simulated_paths_follow_the_estimate() -> None:
    found = fit_bus(n=100)
    paths = found.simulate(400, 30, rng=1)
    assert len(paths) == 400 * 30
    again = gladius.fit(paths, "nfxp", reward=BUS_REWARD, **KNOWN)
    assert ((again.params - found.params).abs() < 4 * again.to_frame()["se"]).all()
    ends = np.append(found.data.trajectory[1:] > found.data.trajectory[:-1], True)
    ended = replace(found, data=replace(found.data, done=ends)).simulate(400, 300, rng=2)
    assert not ended.done[:-1][np.diff(ended.trajectory) == 0].any()
    assert ended.done.mean() == pytest.approx(0.01, rel=0.25)  # 400 ends: 5 %


def test_likelihood_ratio_and_wald_agree_on_a_restriction() -> None:
    """To first order, but for P-hat's noise, which the ratio leaves out: 1 % of an error here."""
    found = fit_bus(n=200)
    parts = lambda s: BUS_REWARD.design(s)[..., 1:], lambda s: 1.1 * BUS_REWARD.design(s)[..., 0]
    smaller = gladius.fit(found.data, "nfxp", reward=gladius.LinearReward(*parts), **KNOWN)
    p, q = found.likelihood_ratio(smaller), found.wald([[1, 0]], 1.1)
    assert p < 0.01
    assert stats.norm.isf(p / 2) == pytest.approx(stats.norm.isf(q / 2), rel=0.15)


@pytest.mark.filterwarnings("ignore:choices of a path go together")  # two paths have another type
def test_a_bootstrap_holds_numbers_and_loses_one_draw_where_an_action_is_missing() -> None:
    """It held every resample, 20 GB at 10^6 rows, and a missing action lost all draws."""
    data = BUS.simulate(12, np.random.default_rng(0))
    third = np.where(np.isin(data.trajectory, (2, 5)) & (data.states[:, 0] > 2), 2, data.actions)
    fit = gladius.fit(
        replace(data, actions=third, number_of_actions=3), function_class="sparse", **KNOWN
    )
    samples: list[Any] = []

    def statistic(found: Any) -> Array:
        samples.append(weakref.ref(found.data))
        assert sum(ref() is not None for ref in samples) <= 22  # a batch of 20, the last, and fit's
        return np.asarray(found.reward(BUS.mdp.features[:1], 0))

    with pytest.warns(UserWarning, match="of 25 refits are not ok") as caught:
        draws = fit.bootstrap(statistic, draws=25)[:, 0]
    lost = np.isnan(draws)
    assert 0 < lost.sum() < 20  # a chance of (10 / 12)^12 = .11 each
    assert f"{lost.sum()} failed and are NaN" in str(caught[-1].message)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: fit_bus().cov("rows"), "kind"),
        (lambda: fit_bus().conf_int(level=1.0), "level"),
        (lambda: fit_bus().wald([[1.0]]), "restrictions"),
        (lambda: fit_bus(transition=PooledIncrements({2: 1.0})), "transition.resets"),
        (lambda: fit_bus(transition=PooledIncrements({1: (1.0, 2.0)})), r"transition.resets\[1\]"),
        (lambda: fit_bus(transition=PooledIncrements(own=(0,))), "transition.own"),
        (lambda: fit_bus(method="rp").cov(), "method"),
        (lambda: fit_bus(method="ml_irl").cov("outer"), "kind"),
        # it printed the standard errors of another estimator, 0.52 for 2.28
        (lambda: fit_bus(method="ccp", stages=1, finite_dependence=True).cov(), "method"),
        (lambda: fit_bus().reward_frame(level=2.0), "level"),
        (lambda: fit_bus().likelihood_ratio(fit_bus()), "smaller"),
        (lambda: fit_bus().likelihood_ratio(fit_bus(seed=1)), "smaller.data"),
        (lambda: fit_bus().likelihood_ratio(fit_bus(discount=0.9)), "smaller.data"),
        (lambda: fit_bus().likelihood_ratio(fit_bus(method="ccp")), "smaller.method"),
        (lambda: fit_bus().bootstrap(holds_inputs=True), "holds_inputs"),
        (lambda: fit_bus(n=1).cov("cluster"), "cluster"),
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


def test_equal_increments_are_tested() -> None:
    """p-values are uniform where increments are pooled in truth, and tiny where they are not."""
    pooled = PooledIncrements({1: 1.0})
    found = [pooled.p_value(BUS.simulate(40, np.random.default_rng([8, i])), 4) for i in range(60)]
    assert stats.kstest(found, "uniform").pvalue > 0.01
    data = BUS.simulate(40, np.random.default_rng(9))
    faster = np.where(data.states > 2, data.states + 1.0, data.next_states)
    assert pooled.p_value(replace(data, next_states=faster)) < 1e-12
    assert pooled.p_value(data.take(np.flatnonzero(data.states[:, 0] == 1))) == 1.0
    assert PooledIncrements({0: 1.0, 1: 1.0}).p_value(data) < 1e-12  # action 0 is no reset


def test_a_wrong_rule_of_increments_is_reported() -> None:
    """s' = max(s - 3, 0) + d: its constant was 12 errors off, `ok`, without a warning."""
    chances, transition = (0.4, 0.4, 0.2), np.zeros((2, 15, 15))
    for s, (d, chance) in product(range(15), enumerate(chances)):
        transition[0, s, min(s + d, 14)] += chance
        transition[1, s, min(max(s - 3, 0) + d, 14)] += chance
    x = np.arange(15.0)
    reward = np.stack([-0.35 * x, np.full(15, -2.0)], axis=1)
    world = TabularMDP(reward, transition, 0.95, np.eye(15)[0], x[:, None])
    data = sample(world, 200, 50, np.random.default_rng(0))
    form: Any = {"reward": linear_in_features(2, 1, -2.0), "anchor_action": 1, "discount": 0.95}
    with pytest.warns(UserWarning, match="increments are not the same in all states.*give resets"):
        wrong = gladius.fit(data, "nfxp", anchor_reward=-2.0, transition=PooledIncrements(), **form)
    assert wrong.params.iloc[0] > 10 * np.sqrt(wrong.cov().iloc[0, 0])  # it is 0
    floor = PooledIncrements({1: lambda s: np.maximum(s - 3, 0)})
    right = gladius.fit([data], "nfxp", anchor_reward=-2.0, transition=floor, **form)[0]
    miss = (right.params - [0, -0.35]) / np.sqrt(np.diag(right.cov()))
    assert miss.abs().max() < 4  # standard errors: a chance of 1 in 8,000
    with pytest.raises(InputError, match=r"transition.resets\[1\] = .*give the 1 features"):
        PooledIncrements({1: lambda s: s[:, 0]}).p_value(data)


def halved(paths: int) -> Transitions:
    """A stock that action 1 halves, and empties from 13 on, which few states show."""
    x, transition = np.arange(20), np.zeros((2, 20, 20))
    for s, (d, chance) in product(x, enumerate((0.3, 0.4, 0.3))):
        transition[0, s, min(s + d, 19)] += chance
        transition[1, s, (s // 2 if s < 13 else 0) + d] += chance
    reward = np.stack([-0.3 * x, np.full(20, -8.0)], axis=1)
    start = np.repeat([1 / 3, 0], [3, 17])
    world = TabularMDP(reward, transition, 0.95, start, x[:, None].astype(float))
    return sample(world, paths, 20, np.random.default_rng(0))


@pytest.mark.parametrize("method", ["nfxp", "mpec", "ccp", "ml_irl", "rp"])
def test_pairs_that_were_never_followed_are_reported(method: str) -> None:
    """The slope was 8.8 standard errors off, `ok`: noise of frequencies moves it by a hundredth.

    Every method warns, and of a list of data sets it names the one.
    """
    data = halved(60)
    form: Any = {"reward": linear_in_features(2, 1, -8.0), "anchor_reward": -8.0}
    with pytest.warns(UserWarning, match="borrow moves") as said:
        fit, _ = gladius.fit([data, data], method, anchor_action=1, discount=0.95, **form)
    assert [f"in data set {i} and borrow" in str(one.message) for i, one in enumerate(said)] == [
        True,
        True,
    ]
    assert fit.diagnostics.status == "ok"
    noise, borrowed = (fit.shift_by_frequencies(is_borrowed=of).abs() for of in (False, True))
    assert noise.max() < 0.5 < borrowed.max()
    assert ("nfxp" in str(said[0].message)) == (method == "rp")
    assert fit.has_reward_errors == (method != "rp")  # on cells, r has none


def test_the_time_of_a_fit_counts_its_warnings_and_a_simulation_may_do_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    form: Any = {"reward": linear_in_features(2, 1, -8.0), "anchor_reward": -8.0}
    form |= {"anchor_action": 1, "discount": 0.95}
    gladius.fit(halved(60), "nfxp", **form, check_transitions=False)  # warns of nothing

    def slow(results: Results, where: str) -> None:
        start = time.process_time()
        while time.process_time() < start + 0.3:
            pass

    monkeypatch.setattr("gladius.own_data.door._warn_of_transitions", slow)
    fits = [gladius.fit(halved(60), "nfxp", **form, check_transitions=on) for on in (False, True)]
    assert fits[0].diagnostics.cpu_seconds < 0.3 <= fits[1].diagnostics.cpu_seconds


def leaps() -> TabularMDP:
    """100 levels, from which action 0 leads anywhere; action 1 renews."""
    x, transition = np.arange(100.0), np.full((2, 100, 100), 0.01)
    transition[1] = np.eye(100)[0]
    reward = np.stack([2 - 0.08 * x, np.full(100, -6.0)], axis=1)
    return TabularMDP(reward, transition, 0.95, np.full(100, 0.01), x[:, None])


@pytest.mark.parametrize(
    ("method", "more"),
    [("ccp", {"stages": 1, "finite_dependence": True}), ("ml_irl", {"inner": "finite_dependence"})],
)
def test_the_noise_of_frequencies_is_reported_with_finite_dependence(
    method: str, more: dict[str, Any]
) -> None:
    """It was not. In 24 data sets like the first it biased the slope by 1.0 errors."""
    world = leaps()
    given: Any = {"reward": linear_in_features(2, 1, -6.0), "anchor_reward": -6.0}
    given |= {"anchor_action": 1, "discount": 0.95}
    for paths, is_moved in ((530, True), (5300, False)):
        data = sample(world, paths, 20, np.random.default_rng(3))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fit = gladius.fit(data, method, **given, **more)
            known = KnownTransitions(world.transition, world.features)
            gladius.fit(data, method, transition=known, **given, **more)  # says nothing
        assert ["the noise of estimated" in str(one.message) for one in said] == [True] * is_moved
        assert (fit.shift_by_frequencies().abs().max() > 0.5) == is_moved
        assert not fit.has_reward_errors


def merged(table: Array, ranges: int) -> Array:
    """Its columns, joined from the left until five are expected in the smallest row's cell.

    A column also has to hold the share of one range; the last one takes what is left over.
    """
    total, smallest = table.sum(), table.sum(axis=1).min()
    columns = [np.zeros(len(table))]
    for column in table.T:
        columns[-1] = columns[-1] + column
        size = columns[-1].sum()
        if size * smallest >= 5 * total and size * ranges >= total:
            columns.append(np.zeros(len(table)))
    *columns, rest = columns
    columns = columns or [np.zeros(len(table))]
    columns[-1] = columns[-1] + rest
    return np.stack(columns, axis=1)


@settings(max_examples=60)
@given(arrays(np.int64, (2, 2, 5), elements=st.integers(0, 40)), st.booleans())
def test_the_p_value_is_that_of_the_table_of_merged_increments(cells: Any, is_reset: bool) -> None:
    """Twice the sum of n log(n / expected) over all cells (a, s, increment); s has two values."""
    a, s, d = (np.repeat(index, cells.ravel()) for index in np.indices(cells.shape).reshape(3, -1))
    assume(len(a) > 0)
    start = np.where(is_reset & (a == 1), 0, s)
    data = Transitions(s[:, None], a, (start + d)[:, None], number_of_actions=2)
    option = PooledIncrements(resets={1: 0.0} if is_reset else {})
    found = []
    for table in cells:
        is_one_range = 10 * table.sum(axis=1).min() < max(table.sum(), 1)
        table = table[:, :1] if is_one_range else merged(table, 10)
        if table.shape[1] > 1:
            expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
            assert expected.min() >= 5
            statistic = 2 * np.sum(xlogy(table, table / expected))
            found.append(stats.chi2.sf(statistic, table.shape[1] - 1))
    p = min([1.0, *(len(found) * p for p in found)])
    assert option.p_value(data) == pytest.approx(p, rel=1e-9)


def test_many_increments_are_tested_with_power() -> None:
    """A chi-square on cells of one observation had p = 1 where increments grew tenfold."""
    rng = np.random.default_rng(0)
    states = rng.integers(1, 11, (2000, 1)).astype(float)
    for scale, is_equal in ((1.0, True), (states[:, 0], False)):
        shift = rng.exponential(scale, 2000)
        data = Transitions(states, np.arange(2000) % 2, states + shift[:, None])
        assert (PooledIncrements(common=True).p_value(data) > 0.01) == is_equal


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


def sloped(world: TabularMDP) -> Array:
    """(S, 2, 1) slope of action 0's reward in the first feature."""
    basis = np.zeros((*world.reward.shape, 1))
    basis[:, 0, 0] = world.features[:, 0]
    return basis


def constant(world: TabularMDP, action: int) -> Array:
    """(S, 2, 1) constant of an action's reward."""
    return np.broadcast_to(np.eye(2)[:, [action]], (*world.reward.shape, 1))


@pytest.mark.parametrize(("world", "horizon"), [(gambles(), 20), (BUS.mdp, BUS.horizon)])
def test_bounds_are_mean_absolute_errors_of_normal_deviations(
    world: TabularMDP, horizon: int
) -> None:
    """The classes of `Bounds` as its docstring has them, for two sizes of the training split."""
    sizes, expert = np.array([400.0, 100.0]), linearise(world, horizon)
    slope, affine = sloped(world), np.concatenate([sloped(world), constant(world, 0)], axis=2)
    deviations = {
        "affine_known_p": linear_deviation(expert, affine, is_known=True),
        "affine": linear_deviation(expert, affine, is_known=False),
        "tabular": tabular_deviation(expert, 1),
    }
    if world is BUS.mdp:  # whose rewards have no intercept
        both = np.concatenate([slope, constant(world, 1)], axis=2)
        deviations["known_p_both"] = linear_deviation(expert, both, is_known=True)
        deviations["known_p_slope"] = linear_deviation(expert, slope, is_known=True)
    weight = world.occupancy(horizon) / np.abs(world.reward)
    found = bounds(world, horizon, sizes)
    for name, deviation in deviations.items():
        error = 100 * np.sum(weight * halfnorm.mean() * deviation)
        np.testing.assert_allclose(getattr(found, name), error / np.sqrt(sizes * horizon))


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
    steep = bounds(gambles(), 20, [400])
    assert np.isnan(steep.known_p_slope[0])  # it has an intercept
    assert not np.isnan(steep.affine[0])


def one_state(first: float) -> TabularMDP:
    reward = np.array([[first, -2.0]])
    return TabularMDP(reward, np.ones((2, 1, 1)), 0.9, np.ones(1), np.ones((1, 1)))
