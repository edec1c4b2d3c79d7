"""PQR: exact in population, wrong where its residual gradient must be, equal to the plug-in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from strategies import WHOLES, laws, transitions

from gladius.anchor import Anchor
from gladius.baselines import bc, plug_in, pqr, pqr_steps
from gladius.baselines.anchor_support import extrapolated_weight, weight_of_data
from gladius.baselines.bc import Training
from gladius.baselines.pqr_steps import default_training, invert_counts
from gladius.baselines.pqr_tabular import fitted_iteration, residual_minimiser
from gladius.checks import InputError
from gladius.mdp import TabularMDP
from gladius.transitions import Counts, Transitions
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
REPLACE = Anchor(1, -5.0)
MAINTAIN = Anchor(0, lambda states: -states[:, 0])
SHARE = MDP.occupancy(100)
POPULATION = Counts(MDP.features, SHARE[None], (SHARE.T[:, :, None] * MDP.transition)[None])


def population_reward(anchor: Anchor, q_step: str) -> tuple[Array, Array]:
    """(Q, r) of tabular PQR from the population's frequencies."""
    found = invert_counts(POPULATION, anchor, 0.95, q_step=q_step, pseudo_count=0.0)[0]
    assert found.converged
    assert found.reward is not None
    return found.q(MDP.features), found.reward(MDP.features)


@pytest.mark.parametrize(
    ("anchor", "q_step"), [(REPLACE, "fitted"), (REPLACE, "residual"), (MAINTAIN, "fitted")]
)
def test_population_frequencies_return_the_truth(anchor: Anchor, q_step: str) -> None:
    q, reward = population_reward(anchor, q_step)
    # |V| is 55: a few dozen units of its rounding, and 1/(1 - beta) of the linear system
    np.testing.assert_allclose(reward, MDP.reward, rtol=0, atol=5e-12)
    np.testing.assert_allclose(q, MDP.solution.q, rtol=0, atol=5e-11)


def test_the_residual_gradient_fails_where_the_anchor_moves_at_random() -> None:
    q, reward = population_reward(MAINTAIN, "residual")
    error = np.abs(reward - MDP.reward) / np.abs(MDP.reward)
    np.testing.assert_allclose(reward[0, 1], -4.35, atol=0.005)
    np.testing.assert_allclose(100 * np.sum(SHARE * error), 14.4, atol=0.05)
    too_high = (q - MDP.solution.q)[:5]
    assert np.all((too_high > 13.0) & (too_high < 14.5))


@st.composite
def anchored_counts(draw: st.DrawFn) -> tuple[Array, Array, Array, Array, Array, float]:
    """Moves, ends, reward and -log pi of an anchor, and a law for states where it never was."""
    n = draw(st.integers(1, 4))
    moves = draw(arrays(np.float64, (n, n), elements=st.integers(0, 3).map(float)))
    ends = draw(arrays(np.float64, n, elements=st.integers(0, 2).map(float)))
    assume(moves.sum() + ends.sum() > 0)
    given_reward = draw(arrays(np.float64, n, elements=WHOLES))
    surprise = draw(arrays(np.float64, n, elements=st.integers(0, 8).map(lambda k: k / 4)))
    borrowed = draw(laws((n, n)))
    return moves, ends, given_reward, surprise, borrowed, draw(st.sampled_from([0.3, 0.7]))


@given(anchored_counts())
def test_residual_minimiser_is_the_constrained_least_squares_of_explicit_rows(
    problem: tuple[Array, Array, Array, Array, Array, float],
) -> None:
    moves, ends, reward, surprise, borrowed, beta = problem
    n, visits = len(ends), moves.sum(axis=1) + ends
    square, side = np.zeros((n, n)), np.zeros(n)
    for s in range(n):
        for t in range(n + 1):  # t = n: the path ended
            row, constant = np.eye(n)[s].copy(), reward[s]
            if t < n:
                row[t] -= beta
                constant += beta * surprise[t]
            weight = ends[s] if t == n else moves[s, t]
            square += weight * np.outer(row, row)
            side += weight * constant * row
    free = np.flatnonzero(visits == 0)
    bound = np.eye(n)[free] - beta * borrowed[free]
    level = reward[free] + beta * borrowed[free] @ surprise
    corner = np.zeros((len(free), len(free)))
    system = np.block([[square, bound.T], [bound, corner]])
    expected = np.linalg.solve(system, np.concatenate([side, level]))[:n]
    found = residual_minimiser(
        visits[None], moves[None], reward, surprise[None], borrowed[None], beta
    )
    np.testing.assert_allclose(found[0], expected, rtol=1e-7, atol=1e-7)


@given(anchored_counts())
def test_fitted_iteration_ends_at_the_solution_of_the_linear_system(
    problem: tuple[Array, Array, Array, Array, Array, float],
) -> None:
    _, _, reward, surprise, law, beta = problem
    h, taken, left = fitted_iteration(
        reward, np.stack([surprise, 0 * surprise]), np.stack([law, law]), beta, 1e-12, 10_000
    )
    for found, g in zip(h, [surprise, 0 * surprise], strict=True):
        expected = np.linalg.solve(np.eye(len(g)) - beta * law, reward + beta * law @ g)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    assert np.all(left <= 1e-12)
    short = fitted_iteration(reward, surprise[None], law[None], beta, 1e-12, int(taken[0]) - 1)
    assert short[2][0] > 1e-12, "one step less is not convergence"


@settings(max_examples=60)  # each is two estimators with their functions
@given(transitions(elements=WHOLES))
def test_tabular_pqr_is_the_plug_in_on_any_data(data: Transitions) -> None:
    anchor = Anchor(1, lambda states: states[:, 0] / 2)
    assume(np.any(data.actions == 1))
    try:
        expected = plug_in.fit([data], anchor, 0.6)[0]
    except InputError:  # the anchor is missing where most of the data are
        with pytest.raises(InputError, match="anchor_action"):
            pqr.fit([data], anchor, 0.6, regression="tabular")
        return
    found = pqr.fit([data], anchor, 0.6, regression="tabular")[0]
    asked = np.concatenate([data.states, data.next_states, data.states + 0.25])
    np.testing.assert_allclose(found.q(asked), expected.q(asked), atol=1e-8)
    np.testing.assert_allclose(
        found.reward_function(asked), expected.reward_function(asked), atol=1e-8
    )
    np.testing.assert_allclose(found.diagnostics.nll, expected.diagnostics.nll, rtol=1e-12)


def test_another_anchor_reward_moves_r_and_nothing_else() -> None:
    data = BUS.simulate(30, np.random.default_rng(3))
    here, there = (
        pqr.fit([data], Anchor(1, r), 0.95, regression="tabular")[0] for r in (-5.0, -4.0)
    )
    shift = there.reward_function(data.states) - here.reward_function(data.states)
    np.testing.assert_allclose(shift, 1.0, atol=1e-10)
    np.testing.assert_allclose(there.policy(data.states), here.policy(data.states), atol=1e-12)


LARGE = BUS.simulate(300, np.random.default_rng(11))
SEEN = np.arange(1.0, 6.0)[:, None]


def test_networks_are_near_the_exact_regressions() -> None:
    exact = pqr.fit([LARGE], REPLACE, 0.95, regression="tabular")[0].reward_function(SEEN)
    for q_step in ("fitted", "residual"):
        found = pqr.fit([LARGE], REPLACE, 0.95, q_step=q_step)[0]
        assert found.diagnostics.converged
        assert found.diagnostics.status == "ok"
        # the network smooths over states: within the sampling error of a cell
        np.testing.assert_allclose(found.reward_function(SEEN), exact, atol=0.15)
    far = pqr.fit([LARGE], Anchor(1, -4.0), 0.95)[0].reward_function(SEEN)
    assert np.max(np.abs(far - exact)) > 0.5, "control: a wrong anchor is told apart"


RANDOM = TabularMDP(  # both actions move at random, everything is visited
    np.column_stack([-np.arange(4.0), np.full(4, -1.5)]),
    np.stack([np.full((4, 4), 0.25), 0.5 * np.eye(4) + 0.125]),
    0.9,
    np.full(4, 0.25),
)


def test_networks_follow_the_tables_where_the_anchor_moves_at_random() -> None:
    paths = RANDOM.simulate(300, 100, np.random.default_rng(0))
    now, after = (s.reshape(-1, 1).astype(float) for s in (paths.states, paths.next_states))
    data = Transitions(now, paths.actions.ravel(), after)
    error = {}
    for regression in ("network", "tabular"):
        for q_step in ("fitted", "residual"):
            found = pqr.fit([data], MAINTAIN, 0.9, regression=regression, q_step=q_step)[0]
            assert found.diagnostics.converged
            error[regression, q_step] = found.q(RANDOM.features) - RANDOM.solution.q
    for q_step in ("fitted", "residual"):
        np.testing.assert_allclose(error["network", q_step], error["tabular", q_step], atol=0.03)
    # log-odds of 30,000 rows have standard errors of about 0.03; the other bias is far beyond
    assert np.max(np.abs(error["network", "fitted"])) < 0.12
    assert np.min(error["network", "residual"]) > 0.3


def test_a_network_stopped_early_says_so() -> None:
    found = pqr.fit([LARGE], REPLACE, 0.95, training=Training(standardise=True, steps=3))[0]
    assert not found.diagnostics.converged
    assert found.diagnostics.status == "not_converged"


STEPS = [(bc, "train"), (pqr_steps, "anchor_network"), (pqr_steps, "reward_network")]


@pytest.mark.parametrize("step", [None, *STEPS])
@pytest.mark.parametrize("end", ["not_converged", "diverged"])
def test_each_of_the_three_steps_can_spoil_the_status(
    step: tuple[Any, str] | None, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = BUS.simulate(6, [np.random.default_rng([4, i]) for i in range(2)])
    if step == STEPS[0] and end == "diverged":
        end = "not_converged"  # the P step's loss is bounded below and has no such end
    if step is not None:
        run = getattr(*step)

        def spoilt(*arguments: Any) -> Any:
            fitted, outcomes = run(*arguments)
            change = {"converged": False} | ({"diverged": True} if end == "diverged" else {})
            return fitted, [outcomes[0], replace(outcomes[1], **change)]

        monkeypatch.setattr(*step, spoilt)
    lax = Training(standardise=True, steps=1, tolerance=1e6)  # every step is content at once
    first, second = (one.diagnostics for one in pqr.fit(data, REPLACE, 0.95, training=lax))
    assert (first.converged, first.status) == (True, "ok")
    expected = (True, "ok") if step is None else (False, end)
    assert (second.converged, second.status) == expected


@settings(max_examples=8)  # each trains three small networks
@given(
    arrays(np.int64, (2, 2), elements=st.integers(0, 3)).filter(lambda n: np.all(n.sum(axis=1))),
    st.sampled_from(["regression", "linear"]),
)
def test_an_end_counts_as_value_zero_in_every_step(times: NDArray[np.int64], read_off: str) -> None:
    """One state: n(a, does the path end) tells Q and r in closed form."""
    actions, done = (np.repeat(labels.ravel(), times.ravel()) for labels in np.indices((2, 2)))
    where = np.full((len(actions), 1), 2.0)
    data = Transitions(where, actions, where, done=done > 0)
    beta, given_reward = 0.6, 3.0
    log_policy = np.log(times.sum(axis=1) / times.sum())
    goes_on = times[:, 0] / times.sum(axis=1)
    surprise = -log_policy[1]
    h = (given_reward + beta * goes_on[1] * surprise) / (1 - beta * goes_on[1])
    q = h + log_policy - log_policy[1]
    reward = q - beta * goes_on * (h + surprise)
    for options in ({"regression": "tabular", "pseudo_count": 0.0}, {"regression": "network"}):
        found = pqr.fit([data], Anchor(1, given_reward), beta, read_off=read_off, **options)[0]
        assert found.diagnostics.converged
        np.testing.assert_allclose(found.q(where[:1])[0], q, atol=2e-3)
        np.testing.assert_allclose(found.reward_function(where[:1])[0], reward, atol=2e-3)


@st.composite
def anchor_rows(draw: st.DrawFn) -> tuple[Array, Array, Array, float]:
    """n(s), n(s, a_s) and the anchor's moves that go on, (S, S), with states it never left."""
    n = draw(st.integers(1, 5))
    moves = draw(arrays(np.float64, (n, n), elements=st.integers(0, 2).map(float)))
    keep = draw(arrays(np.bool_, n))
    moves *= keep[:, None]
    taken = moves.sum(axis=1) + keep * draw(arrays(np.int64, n, elements=st.integers(0, 2)))
    seen = taken + draw(arrays(np.int64, n, elements=st.integers(0, 2)))
    assume(seen.sum() > 0)
    return seen, taken, moves, draw(st.sampled_from([0.3, 0.95]))


@given(anchor_rows())
def test_the_weight_of_extrapolation_is_the_derivative_in_the_unknown_values(
    rows: tuple[Array, Array, Array, float],
) -> None:
    seen, taken, moves, beta = rows
    own = taken > 0
    law = moves / np.maximum(taken, 1)[:, None]

    def h(unknown: float) -> Array:
        level = np.full(len(seen), unknown)
        side = 1.0 + beta * law[np.ix_(own, ~own)].sum(axis=1) * unknown
        level[own] = np.linalg.solve(np.eye(own.sum()) - beta * law[np.ix_(own, own)], side)
        return level

    expected = seen @ (h(1.0) - h(0.0)) / seen.sum()
    now, after = np.nonzero(moves)
    found = extrapolated_weight(seen, taken, now, after, moves[now, after], beta)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_the_extrapolation_tells_a_bad_anchor_from_a_good_one() -> None:
    short: dict[str, Any] = {"training": Training(standardise=True, steps=1)}
    for anchor, low, high in [(REPLACE, 0.0, 0.01), (MAINTAIN, 0.8, 0.95)]:
        network = pqr.fit([LARGE], anchor, 0.95, **short)[0].diagnostics.extra
        tabular = pqr.fit([LARGE], anchor, 0.95, regression="tabular")[0].diagnostics.extra
        weight = float(str(network["extrapolated"]))
        assert low <= weight <= high
        np.testing.assert_allclose(weight, float(str(tabular["extrapolated"])), rtol=1e-12)


def test_the_extrapolation_of_a_path_with_an_end_in_hand_numbers() -> None:
    """0 -> 1 -> 2 by the anchor, never taken in 2; from 3 it ends, or leads to 2."""
    states, after = np.array([0.0, 1.0, 2.0, 3.0, 3.0]), np.array([1.0, 2.0, 2.0, 9.0, 2.0])
    data = Transitions(states, np.array([1, 1, 0, 1, 1]), after, done=np.arange(5) == 3)
    found = weight_of_data(data, 1, 0.5)
    assert found == pytest.approx((0.25 + 0.5 + 1.0 + 2 * 0.25) / 5)


@pytest.mark.parametrize(
    "options",
    [
        {"regression": "tabular"},
        {"regression": "tabular", "q_step": "residual"},
        {"training": Training(standardise=True, steps=60)},
        {"training": Training(standardise=True, steps=60, batch=50, validation=0.2)},
        {"training": Training(standardise=True, steps=60), "read_off": "linear"},
    ],
)
def test_replications_together_are_as_alone(options: dict[str, Any]) -> None:
    data = BUS.simulate(8, [np.random.default_rng([8, i]) for i in range(5)])
    together = pqr.fit(data, REPLACE, 0.95, rng=generators(5), **options)
    reached = {len(np.unique(np.concatenate([d.states, d.next_states]))) for d in data}
    assert len(reached) > 1, "the data sets must differ in their grids for this test to bite"
    for r, (one, batch) in enumerate(zip(data, together, strict=True)):
        alone = pqr.fit([one], REPLACE, 0.95, rng=[generators(5)[r]], **options)[0]
        for name in ("reward_function", "q_function"):
            ours, theirs = getattr(batch, name)(one.states), getattr(alone, name)(one.states)
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-7)
    if "training" in options:
        other = pqr.fit([data[0]], REPLACE, 0.95, rng=[generators(5)[1]], **options)[0]
        assert np.max(np.abs(other.q(data[0].states) - together[0].q(data[0].states))) > 1e-4


def generators(number: int) -> list[np.random.Generator]:
    return [np.random.default_rng([5, r]) for r in range(number)]


def test_linear_read_off_is_least_squares_on_the_sampled_targets() -> None:
    data = BUS.simulate(30, np.random.default_rng(4))
    found = pqr.fit([data], REPLACE, 0.95, regression="tabular", read_off="linear")[0]
    plain = pqr.fit([data], REPLACE, 0.95, regression="tabular")[0]
    v = np.log(np.exp(plain.q(data.next_states)).sum(axis=1))
    for a in (0, 1):
        rows = data.actions == a
        target = plain.q(data.states)[rows, a] - 0.95 * v[rows]
        x = np.column_stack([np.ones(rows.sum()), data.states[rows]])
        intercept, slope = np.linalg.lstsq(x, target, rcond=None)[0]
        expected = intercept + slope * SEEN[:, 0]
        np.testing.assert_allclose(found.reward(SEEN, a), expected, atol=1e-6)
    network = pqr.fit([data], REPLACE, 0.95, read_off="linear")[0].reward(SEEN, 0)
    np.testing.assert_allclose(np.diff(network), network[1] - network[0], atol=1e-9)
    np.testing.assert_allclose(network, -SEEN[:, 0], atol=0.4)


def test_an_action_that_never_occurs_has_no_reward() -> None:
    data = BUS.simulate(6, np.random.default_rng(4))
    three = Transitions(data.states, data.actions, data.next_states, number_of_actions=3)
    found = pqr.fit([three], REPLACE, 0.95, training=Training(standardise=True, steps=50))[0]
    assert np.all(np.isnan(found.reward(SEEN, 2)))
    assert np.all(np.isfinite(found.reward(SEEN, 0)))


def test_default_training_sees_all_rows_only_where_states_repeat() -> None:
    assert default_training(LARGE).batch is None
    many = BusEngine(dummies=3).simulate(60, np.random.default_rng(0))
    how = default_training(many)
    assert (how.batch, how.validation) == (1_000, 0.1)


def test_dummies_do_not_stop_it() -> None:
    world = BusEngine(dummies=4)
    data = world.simulate(60, np.random.default_rng(1))
    how = Training(standardise=True, steps=400, batch=500, validation=0.1, learning_rate=0.02)
    found = pqr.fit([data], REPLACE, 0.95, training=how)[0]
    reward = found.reward(data.states, data.actions)
    truth = world.reward(data.states, data.actions)
    # r = 0 would be off by all of r; log-odds of 6,000 rows with five features by about a tenth
    assert np.mean(np.abs(reward - truth) / np.abs(truth)) < 0.35
    with pytest.raises(InputError) as caught:  # 6,000 states are too many for a table
        pqr.fit([data], REPLACE, 0.95, regression="tabular")
    assert caught.value.field == "states"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"regression": "forest"}, "regression"),
        ({"q_step": "newton"}, "q_step"),
        ({"read_off": "none"}, "read_off"),
        ({"training": 3}, "training"),
        ({"rng": -1}, "rng"),
        ({"rng": []}, "rng"),
        ({"regression": "tabular", "pseudo_count": -1.0}, "pseudo_count"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        pqr.fit([LARGE], REPLACE, 0.95, **options)
    assert caught.value.field == field
