"""GLADIUS on rows: flat in K, the minimum of its stated risk, and the inputs that matter."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from bus_engine import KNOWN
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.stats import chi2
from sparse_fits import PlainRisk, few_rows, fit_sparse, small_risk, solved_point

import gladius
from gladius.anchor import Anchor
from gladius.checks import Array, InputError
from gladius.metrics import mape
from gladius.rows.data import Inputs, Rows, make_features
from gladius.rows.risk import ObservationRisk, minimise
from gladius.rows.screen import (
    Choice,
    InputSelection,
    NextValue,
    Residuals,
    group_rows,
    score_test,
    select_inputs,
)
from gladius.rows.sparse import make_zeta, with_anchor
from gladius.transitions import Transitions
from gladius.worlds.inputs_bus import InputsBus

LEVELS = np.arange(-10, 11) / 10
UNIFORM = np.full((21, 21), 1 / 21)
EVEN = np.full((21, 4), 1 / 4)
ANCHOR = Anchor(1, -5.0)


def one_input(effect: Array, inputs: int, **changed: object) -> InputsBus:
    """A bus engine in which the first input adds `effect` (20, 21) to r(., maintain)."""
    return InputsBus(
        inputs=inputs,
        draw=lambda rng, paths, periods: rng.integers(-10, 11, (paths, periods, 1)),
        type_of=lambda relevant: relevant[:, 0] + 10,
        kernel=UNIFORM,
        effect=effect,
        increments=EVEN,
        **changed,  # type: ignore[arg-type]  # the other fields of the world
    )


def test_inputs_that_do_not_matter_change_nothing() -> None:
    grid = np.arange(1.0, 13.0)[:, None]
    rewards = []
    for inputs in (0, 1, 20):
        world = gladius.BusEngine(dummies=inputs)
        data = world.simulate(300, np.random.default_rng(5))
        estimate = fit_sparse(data)
        assert estimate.diagnostics.extra["reward_inputs"] == (0,)
        states = np.concatenate([grid, np.full((12, inputs), 3.0)], axis=1)
        rewards.append(estimate.reward(states, 0))
        assert mape(estimate, data, world.reward) < 5.0  # percent; the bound is 1.7
    np.testing.assert_allclose(rewards[1:], np.broadcast_to(rewards[0], (2, 12)), atol=1e-9)


@pytest.mark.parametrize("ended", [False, True])
def test_the_minimum_is_that_of_an_independent_solver(ended: bool) -> None:
    data = few_rows(ended)
    risk = small_risk(data)
    start = torch.zeros(2, dtype=torch.float64)
    ours = minimise(risk, start, start, torch.zeros(2, risk.zeta[0].size, dtype=torch.float64))
    assert ours.point.is_exact
    plain = minimize(PlainRisk(data, risk), np.zeros(2), method="BFGS", options={"gtol": 1e-4})
    assert ours.point.nll == pytest.approx(plain.fun, abs=2e-6)  # both stop within 1e-6 nats
    np.testing.assert_allclose(ours.point.theta.numpy(), plain.x, atol=1e-3)


@settings(max_examples=20)
@given(
    arrays(float, 2, elements=st.floats(-4, 4)), arrays(float, (2, 32), elements=st.floats(-40, 40))
)
def test_the_minimum_is_reached_from_any_zeta(theta: Array, zeta: Array) -> None:
    """theta and zeta take steps together; a theta worse than the uniform policy starts at 0."""
    risk = small_risk(few_rows(ended=True))
    none = torch.zeros(2, dtype=torch.float64)
    near = torch.zeros(2, risk.zeta[0].size, dtype=torch.float64)
    best, far = (
        minimise(risk, none, *start) for start in ((none, near), map(torch.tensor, (theta, zeta)))
    )
    assert far.converged
    assert far.point.nll == pytest.approx(best.point.nll, abs=3e-6)
    exact = solved_point(risk, far.point.theta, far.point.zeta)
    torch.testing.assert_close(far.point.zeta, exact.zeta, rtol=1e-9, atol=1e-9)


@settings(max_examples=6)
@given(arrays(float, 2, elements=st.floats(-3, 3)))
def test_the_gradient_is_the_derivative_of_the_risk(theta: Array) -> None:
    data = few_rows(ended=True)
    risk = small_risk(data)
    plain = PlainRisk(data, risk)
    start = torch.zeros(2, risk.zeta[0].size, dtype=torch.float64)
    point = solved_point(risk, torch.tensor(theta), start)
    assert point.nll == pytest.approx(plain(theta), rel=1e-7)
    for k in range(2):
        step = 1e-4 * np.eye(2)[k]
        above, below = plain(theta + step), plain(theta - step)
        slope = (above - below) / 2e-4
        assert float(point.gradient[k]) == pytest.approx(slope, rel=1e-3, abs=1e-2)


def test_an_input_that_matters_enters_and_its_noisy_copy_does_not() -> None:
    world = one_input(np.tile(0.4 * LEVELS, (20, 1)), inputs=6)
    data = world.simulate(500, np.random.default_rng(3))
    rng = np.random.default_rng(4)
    copies = [
        np.column_stack([block, block[:, 0] + rng.integers(-2, 3, len(block))])
        for block in (data.states, data.next_states)
    ]
    wider = Transitions(copies[0], data.actions, copies[1], data.trajectory)
    estimate = fit_sparse(wider)
    assert estimate.diagnostics.extra["reward_inputs"] == (0, 1)
    states = np.zeros((21, 8))
    states[:, 0], states[:, 1] = 3.0, np.arange(-10, 11)
    slope = np.polyfit(LEVELS, estimate.reward(states, 0), 1)[0]
    assert slope == pytest.approx(0.4, abs=0.15)


def test_two_inputs_that_matter_only_together_are_seen() -> None:
    world = InputsBus(
        inputs=8,
        draw=lambda rng, paths, periods: rng.integers(-10, 11, (paths, periods, 2)),
        type_of=lambda relevant: (relevant[:, 0] + 10) * 21 + relevant[:, 1] + 10,
        kernel=np.full((441, 441), 1 / 441),
        effect=np.tile(0.8 * np.outer(LEVELS, LEVELS).ravel(), (20, 1)),
        increments=np.full((441, 4), 0.25),
    )
    estimate = fit_sparse(world.simulate(500, np.random.default_rng(6)))
    assert estimate.diagnostics.extra["reward_inputs"] == (0, 1, 2)


def test_an_input_of_the_moves_alone_is_zetas_and_not_rs() -> None:
    tilt = np.exp(LEVELS[:, None] * np.arange(4))
    world = one_input(np.zeros((20, 21)), inputs=3)
    tilted = InputsBus(
        3, world.draw, world.type_of, UNIFORM, world.effect, tilt / tilt.sum(1, keepdims=True)
    )
    extra = fit_sparse(tilted.simulate(800, np.random.default_rng(8))).diagnostics.extra
    assert extra["reward_inputs"] == (0,)
    assert extra["zeta_inputs"] == (0, 1)


def test_three_actions() -> None:
    world = one_input(
        np.tile(0.4 * LEVELS, (20, 1)),
        inputs=3,
        partial=np.tile(-3.0 - 0.2 * np.arange(1.0, 21)[:, None], (1, 21)),
    )
    data = world.simulate(800, np.random.default_rng(9))
    estimate = fit_sparse(data)
    assert estimate.diagnostics.status == "ok"
    assert mape(estimate, data, world.reward) < 6.0


def test_the_default_where_states_do_not_repeat() -> None:
    world = one_input(np.tile(0.4 * LEVELS, (20, 1)), inputs=1)
    data = world.simulate(60, np.random.default_rng(10))
    assert gladius.fit(data, **KNOWN).method == "gladius sparse"
    with pytest.raises(InputError, match="hardly repeat"):
        gladius.fit(data, **KNOWN, function_class="smooth")


def test_an_action_that_always_ends_the_path_has_no_next_value() -> None:
    data = gladius.BusEngine().simulate(100, np.random.default_rng(11))
    ended = Transitions(
        data.states, data.actions, data.next_states, data.trajectory, data.actions == 1, 2
    )
    estimate = fit_sparse(ended)
    assert estimate.diagnostics.status == "ok"
    np.testing.assert_allclose(estimate.q(data.states[:5])[:, 1], -5.0, atol=1e-12)


def test_an_input_of_the_anchors_reward_is_one_of_r() -> None:
    """Q does not depend on it, so r(., 0) does exactly as r(., 1)."""
    rng = np.random.default_rng(12)
    states = rng.normal(size=(4_000, 3))
    actions = (rng.logistic(size=4_000) < states[:, 0]).astype(np.int64)
    data = Transitions(states, actions, rng.normal(size=(4_000, 3)))
    estimate = gladius.fit(
        data,
        anchor_action=1,
        anchor_reward=lambda s: 2.0 * s[:, 2],
        discount=0.5,
        function_class="sparse",
    )
    assert estimate.diagnostics.extra["reward_inputs"] == (0, 2)
    ones = np.zeros((2, 3))
    ones[1, 2] = 1.0
    assert np.diff(estimate.reward(ones, 0))[0] == pytest.approx(2.0, abs=0.3)


@pytest.mark.parametrize(
    ("reward", "inputs"),
    [
        (lambda s: s[:, 0] * s[:, 1], (0, 1)),
        (lambda s: np.sin(4 * s[:, 1]), (1,)),
        (lambda s: np.where(s[:, 2] > 2.0, 1.0, 0.0), (2,)),
        (lambda s: np.zeros(len(s)), ()),
    ],
)
def test_the_inputs_of_the_anchors_reward_are_seen_whatever_its_form(reward, inputs) -> None:
    states = np.random.default_rng(27).normal(size=(2_000, 3))
    selection = with_anchor(InputSelection(), Inputs.of(states), Anchor(1, reward))
    assert selection.inputs == inputs


def test_an_anchors_reward_that_fails_off_the_data_is_told() -> None:
    def table(states: Array) -> Array:
        if np.any(states[:, 0] != -states[:, 1]):
            raise KeyError("no such state")
        return states[:, 0]

    line = np.linspace(-1.0, 1.0, 50)
    with pytest.raises(InputError, match="name those of r in inputs"):
        with_anchor(InputSelection(), Inputs.of(np.stack([line, -line], axis=1)), Anchor(1, table))


PARITY = np.tile([-1.0, 1.0], 8)
CODE = np.random.default_rng(7).permutation(np.linspace(-1.0, 1.0, 10))


@pytest.mark.parametrize(
    ("effect", "misfit", "warned"),
    [(PARITY, (1,), 0), (0.4 * CODE, (1,), 0), (0.3 * CODE, (), 1), (0.0 * PARITY, (), 0)],
)
def test_what_no_test_sees_is_not_ok_or_warned_of(effect, misfit, warned) -> None:
    """Choices that turn with a code: the screen is blind, the bins are not.

    The weaker two were `ok` without a word.
    """
    rng = np.random.default_rng(7)
    states = np.stack([rng.normal(size=4_000), rng.integers(0, len(effect), 4_000)], axis=1)
    actions = rng.logistic(size=4_000) > effect[states[:, 1].astype(int)]
    after = states[rng.permutation(4_000)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = fit_sparse(Transitions(states, actions.astype(np.int64), after)).diagnostics
    assert run.extra["misfit_inputs"] == misfit
    assert run.status == ("not_converged" if misfit else "ok")
    told = [str(one.message)[:24] for one in caught]
    assert told == ["s1: choices along it dif"] * warned + ["r-hat does not depend on"]


def test_a_single_feature_without_an_effect_is_reported() -> None:
    """Of 100 data sets like Rust's group 4, ten gave a constant r, `ok` and without a warning."""
    rng = np.random.default_rng(8)
    states, actions = rng.normal(size=(2_000, 1)), rng.integers(0, 2, 2_000)
    data = Transitions(states, actions, states[::-1], feature_names=("mileage",))
    with pytest.warns(UserWarning, match="r-hat does not depend on mileage"):
        assert fit_sparse(data).diagnostics.extra["reward_inputs"] == ()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_feature_and_its_negative_give_the_same_fit(sign: float) -> None:
    """r differed by up to a tenth of its mean where it bends."""
    data = curved_data(np.random.default_rng(23), 2_000)
    signs = np.array([sign, -1.0, 1.0])
    turned = replace(data, states=signs * data.states, next_states=signs * data.next_states)
    first, second = gladius.fit(data, **CURVED), gladius.fit(turned, **CURVED)
    assert np.any(first.reward_function.reward.frequencies)
    at = data.states[:50]
    np.testing.assert_allclose(
        second.reward_function(signs * at), first.reward_function(at), atol=1e-6
    )


def test_choices_recorded_a_period_late_are_not_ok() -> None:
    """r was -9, 15 and 39 at mileage 1, 2, 3, and `ok`; all of mileage 1 chose to replace."""
    data = gladius.BusEngine().simulate(100, np.random.default_rng(0))
    is_later = np.arange(len(data)) % 100 > 0
    late = replace(data.take(is_later), actions=np.roll(data.actions, 1)[is_later])
    assert fit_sparse(late).diagnostics.extra["not_ok_because"] == ("choices are all but certain",)


def test_the_anchors_constant_does_not_matter_at_a_discount_near_one() -> None:
    """At .9999 the slope differed by up to a tenth between anchors of -5 and -50."""
    data = gladius.BusEngine(discount=0.9999).simulate(100, np.random.default_rng(0))
    given = {"function_class": "sparse", "anchor_action": 1, "discount": 0.9999}
    at, found = np.array([[1.0], [5.0], [9.0]]), []
    for reward in (-5.0, -50.0, 300.0):
        fit = gladius.fit(data, anchor_reward=reward, **given)
        found.append(fit.reward(at, 0) - reward)
        assert fit.reward(at, 1) == pytest.approx(reward)
        gap = fit.q(at)[:, 0] - fit.q(at)[:, 1]
        assert gap == pytest.approx(np.log(fit.policy(at)[:, 0] / fit.policy(at)[:, 1]), abs=1e-6)
    np.testing.assert_allclose(found[1:], np.tile(found[0], (2, 1)), atol=1e-3)


def test_a_plug_in_that_is_worse_than_even_odds_is_no_start() -> None:
    """On this data set the steps from it stood at 3,819 nats, beside a minimum of 214."""
    data = gladius.BusEngine(discount=0.5).simulate(6, np.random.default_rng(31))
    scaling = Inputs.of(data.states)
    rows = Rows.of(data, [0], ANCHOR, 0.5)
    functions = make_features([0], scaling), make_zeta(rows, scaling, [0])
    risk, theta, zeta, _ = ObservationRisk(rows, *functions).start()
    none = torch.zeros_like(theta)
    assert risk.point(theta, zeta).nll > 600 * np.log(2)
    fit = minimise(risk, none, theta, zeta)
    best = minimise(risk, none, none, zeta)
    assert fit.converged
    assert fit.point.nll == pytest.approx(best.point.nll, abs=1e-5)
    certain = solved_point(risk, theta, zeta)
    stuck = fit._replace(point=certain, decrement=-1e19)
    assert not stuck.converged


def curved_data(rng: np.random.Generator, rows: int = 6_000) -> Transitions:
    """r = 1 - s0^2 - s1^2 + s2 under action 0, 0 under action 1; s' is independent of both."""
    states, following = (rng.integers(-6, 7, (rows, 3)) / 2 for _ in range(2))
    reward = 1 - states[:, 0] ** 2 - states[:, 1] ** 2 + states[:, 2]
    actions = (rng.uniform(size=rows) > 1 / (1 + np.exp(-reward))).astype(np.int64)
    return Transitions(states, actions, following, np.arange(rows) // 60, number_of_actions=2)


CURVED = {"anchor_action": 1, "anchor_reward": 0.0, "discount": 0.5}


def test_more_than_one_input_may_be_curved() -> None:
    """With three inputs of r, one after the other; a first version bent one alone."""
    data = curved_data(np.random.default_rng(21))
    estimate = gladius.fit(data, **CURVED)
    assert estimate.diagnostics.status == "ok"
    assert estimate.diagnostics.extra["reward_inputs"] == (0, 1, 2)
    ends = np.array([[2.0, 0, 0], [0, 2.0, 0], [0, 0, 0]])  # of those at 3 hardly one chooses 0
    np.testing.assert_allclose(estimate.reward(ends, 0), [-3.0, -3.0, 1.0], atol=0.5)


def test_r_depends_on_the_inputs_given_alone_by_name_or_by_position() -> None:
    data = curved_data(np.random.default_rng(22))
    estimates = [
        gladius.fit(data, **CURVED, inputs=inputs, zeta_inputs=[0, 2])
        for inputs in (np.array([2]), ["s2"])
    ]
    assert estimates[0].diagnostics.extra["reward_inputs"] == (2,)
    states = np.array([[3.0, 0, 1], [-3.0, 1, 1]])
    rewards, by_name = (estimate.reward(states, 0) for estimate in estimates)
    assert rewards[0] == pytest.approx(rewards[1], abs=1e-9)
    np.testing.assert_array_equal(rewards, by_name)
    with pytest.raises(InputError, match=r"inputs = \['mileage'\]: the state's columns are"):
        gladius.fit(data, **CURVED, inputs=["mileage"])


def test_a_choice_of_zetas_inputs_that_never_rests_is_not_ok(monkeypatch) -> None:
    data = curved_data(np.random.default_rng(23), 2_000)
    rounds = iter([(0,), (0, 1), (1,), (), (2,)])
    monkeypatch.setattr(
        "gladius.rows.sparse.select_inputs",
        lambda inputs, outcome, given: InputSelection(given or next(rounds)),
    )
    estimate = gladius.fit(data, **CURVED, inputs=[0, 1, 2])
    assert not estimate.diagnostics.extra["inputs_settled"]
    assert estimate.diagnostics.status == "not_converged"


@pytest.mark.parametrize("share", [3, 400])  # standard deviations would not see the latter
def test_a_code_among_the_values_is_told(share: int) -> None:
    data = curved_data(np.random.default_rng(24), 2_000)
    states = data.states.copy()
    states[:share, 1] = -999.0
    spoilt = Transitions(states, data.actions, data.next_states, data.trajectory)
    with pytest.warns(UserWarning, match="s1: a value .* spreads from the median"):
        gladius.fit(spoilt, **CURVED, inputs=[0, 2], zeta_inputs=[0])


@pytest.mark.parametrize(
    ("shape", "is_rare", "reasons"),
    [
        ((3_000, 1), True, ("an action is too rare",)),
        ((400, 2), False, ("choices are all but certain",)),
    ],
)
def test_what_the_data_say_too_little_of_is_not_ok(shape, is_rare, reasons) -> None:
    states = np.random.default_rng(29 if is_rare else 13).normal(size=shape)
    actions = np.arange(len(states)) < 8 if is_rare else states[:, 0] > 0
    estimate = fit_sparse(Transitions(states, actions.astype(np.int64), states[::-1]))
    assert estimate.diagnostics.status == "not_converged"
    assert estimate.diagnostics.extra["not_ok_because"] == reasons


def test_a_handful_of_rows_is_not_ok() -> None:
    data = curved_data(np.random.default_rng(27), 8)
    reasons = gladius.fit(data, **CURVED).diagnostics.extra["not_ok_because"]
    assert "too few observations for the coefficients of r" in reasons


def p_value(errors: Array, information: Array, x: Array, d: Array, expected: Array) -> float:
    """U' var(U)^-1 U with d* = d - x I_xx^-1 I_xd, from (n, m) errors and (n, m, m) weights."""
    m = errors.shape[1]

    def stacked(f: Array) -> Array:  # (n, m, m f): the functions in each column of the outcome
        return np.einsum("np,ac->nacp", f, np.eye(m)).reshape(len(f), m, -1)

    design, new = stacked(x), stacked(d)
    inner, cross = (np.einsum("nak,nac,ncl->kl", design, information, f) for f in (design, new))
    projected = new - design @ np.linalg.lstsq(inner, cross, rcond=None)[0]
    influence = np.einsum("na,nak->nk", errors, projected)
    score, statistics = influence.sum(axis=0), []
    model = np.einsum("nak,nac,ncl->kl", projected, expected, projected)
    for variance in (influence.T @ influence, model):
        statistics.append(score @ np.linalg.solve(variance, score))
    return float(chi2.sf(min(statistics), len(score)))


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("of_choice", [True, False])
def test_grouped_sums_give_the_score_test_of_the_observations(
    of_choice: bool, repeats: bool
) -> None:
    rng = np.random.default_rng(7)
    states = rng.integers(-2, 3, (600, 2)).astype(float) if repeats else rng.normal(size=(600, 2))
    actions = rng.integers(0, 3, 600)
    values = states[:, 0] + 0.1 * states[:, 1] + rng.normal(size=600)
    inputs, tensor = Inputs.of(states), torch.tensor(actions)
    outcome = Choice(tensor, (0, 2, 1)) if of_choice else NextValue(torch.tensor(values), tensor, 3)
    residuals = Residuals.of(outcome, group_rows(inputs, [0]))
    finer = group_rows(inputs, [1], residuals.groups)
    found, _ = score_test(residuals, finer, finer.z[:, 1:] ** torch.tensor([1.0, 2.0]))
    group = residuals.groups.group
    fitted, x = residuals.fitted[group].numpy(), residuals.design[group].numpy()
    errors = residuals.errors(slice(None)).numpy()
    if of_choice:
        information = (
            np.einsum("na,ac->nac", fitted, np.eye(2)) - fitted[:, :, None] * fitted[:, None]
        )
        expected = information
    else:
        taken = actions[:, None] == np.arange(3)
        variance = (errors**2).sum(axis=0) / taken.sum(axis=0)
        information, expected = (
            np.einsum("na,ac->nac", w, np.eye(3)) for w in (taken, taken * variance)
        )
    z = (states[:, 1:] - inputs.center[1]) / inputs.scale[1]
    plain = p_value(errors, information, x, np.hstack([z, z**2]), expected)
    assert found == pytest.approx(plain, rel=1e-5)


@pytest.mark.parametrize("rare", [0.5, 0.1, 0.03])
@pytest.mark.parametrize("skewed", [False, True])
def test_noise_is_not_selected(rare: float, skewed: bool) -> None:
    """Where few observations weigh much and an action is rare, robust variances let noise in."""
    selected = []
    for seed in range(6):
        rng = np.random.default_rng([26, seed])
        draws = rng.exponential(size=(2_000, 24)) if skewed else rng.normal(size=(2_000, 24))
        actions = torch.tensor((rng.uniform(size=2_000) < rare).astype(np.int64))
        selected.append(select_inputs(Inputs.of(draws), Choice(actions, (1, 0))).inputs)
    assert selected == [()] * 6
