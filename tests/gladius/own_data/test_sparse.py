"""GLADIUS on rows: flat in K, the minimum of its stated risk, and the inputs that matter."""

import warnings
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from bus_engine import KNOWN
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import sample
from scipy.optimize import minimize
from scipy.stats import chi2
from sparse_fits import (
    PlainRisk,
    few_rows,
    fit_sparse,
    ridge,
    ridged_risk,
    small_risk,
    solved_point,
)

import gladius
from gladius.designs.inputs_bus import InputsBus
from gladius.designs.metrics import mape
from gladius.own_data.erm import misfit as trust
from gladius.own_data.erm.observations import score_tests as screen
from gladius.own_data.erm.observations import selection as form
from gladius.own_data.erm.observations import sparse
from gladius.own_data.erm.observations.features import Inputs, Rows, make_cells, make_features
from gladius.own_data.erm.observations.regression import cross_validation
from gladius.own_data.erm.observations.risk import (
    ObservationRisk,
    RiskMinimum,
    covariance,
    minimise,
)
from gladius.own_data.erm.observations.score_tests import (
    Choice,
    InputSelection,
    NextValue,
    Residuals,
    group_rows,
    score_test,
    select_inputs,
)
from gladius.own_data.erm.observations.sparse import RowFunction, difference, make_zeta, with_anchor
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.validate import Array, InputError

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


@pytest.mark.parametrize("ended", [pytest.param(False, marks=pytest.mark.deep), True])
def test_the_minimum_is_that_of_an_independent_solver(ended: bool) -> None:
    data = few_rows(ended)
    risk = small_risk(data)
    start = torch.zeros(2, dtype=torch.float64)
    ours = minimise(risk, start, start, torch.zeros(2, risk.zeta[0].size, dtype=torch.float64))
    assert ours.point.is_exact
    plain = minimize(PlainRisk(data, risk), np.zeros(2), method="BFGS", options={"gtol": 1e-4})
    assert ours.point.nll == pytest.approx(plain.fun, abs=2e-6)  # both stop within 1e-6 nats
    np.testing.assert_allclose(ours.point.theta.numpy(), plain.x, atol=1e-3)


def test_a_constant_added_to_v_is_added_to_zeta_whatever_the_ridge() -> None:
    """So that the level of rewards, which the anchor decides, does not choose kappa."""
    risk, added = small_risk(few_rows(ended=False)), []
    noise = np.random.default_rng(3).normal(size=len(risk.rows.states))
    value = torch.tensor(np.sin(np.arange(len(noise))) + noise)
    for level in (0.0, 1_000.0):
        ridged = risk.with_ridge(value + level)
        zeta = ridged.regress(value + level)
        added.append(torch.stack([phi @ w for phi, w in zip(ridged.phi, zeta, strict=True)]))
    change = added[1] - added[0]  # less what 1e-9 of the diagonal takes
    torch.testing.assert_close(change, torch.full_like(change, 1_000.0), rtol=1e-7, atol=0.0)


@settings(max_examples=30)
@given(
    arrays(float, (12, 3), elements=st.floats(-1, 1)),
    arrays(float, 12, elements=st.floats(-3, 3)),
    arrays(float, 3, elements=st.floats(1, 10)),
)
def test_cross_validation_is_that_of_the_observations(phi: Array, value: Array, d: Array) -> None:
    """Craven and Wahba's criterion, with each effective degree of freedom counted 1.4 times.

    So Kim and Gu (2004) keep the criterion from following noise. The hat matrix has them as trace.
    """
    hat = phi @ np.linalg.solve(phi.T @ phi + np.diag(d), phi.T)
    expected = np.sum((value - hat @ value) ** 2) / (1 - 1.4 * np.trace(hat) / 12) ** 2
    given = (torch.tensor(x) for x in (phi.T @ phi, phi.T @ value))
    found = cross_validation(*given, value @ value, 12.0, torch.tensor(d))
    # solve() adds 1e-9 of a diagonal below 22: w is off by 2.2e-8 of its length, which is at most
    # |value| / 2 < 5.2, and the squares by 2 d w times that, over (1 - 0.35)^2
    assert found == pytest.approx(expected, abs=3e-5)


@settings(max_examples=20)
@given(
    arrays(float, 2, elements=st.floats(-4, 4)), arrays(float, (2, 34), elements=st.floats(-40, 40))
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


# (S = 4, A = 3, S + 1) transition probabilities, the last of the end of the path
MOVES = np.zeros((4, 3, 5))
MOVES[:, 0] = [[0.5, 0.3, 0, 0, 0.2], [0, 0.5, 0.3, 0, 0.2], [0, 0, 0.4, 0.6, 0], [0, 0, 0, 1, 0]]
MOVES[:, 1], MOVES[:, 2] = [0.6, 0.4, 0, 0, 0], [0.3, 0, 0, 0.5, 0.2]
SEEN = 1_000.0 * np.array([3, 4, 2, 3])
REWARD = np.array([-4.0, 0.8, -5.2, -0.4])  # theta: of action 0 and, beside the anchor, 2


def population_fit(penalty: Array) -> RiskMinimum:
    """The risk where each state has the choices and moves that the model itself expects at REWARD.

    The choices depend on zeta's regression, and this on them through its ridge. The second round
    leaves a difference of 3e-6, which is the rounding of the regression.
    """
    s, a, t = np.nonzero(MOVES)
    column = np.arange(4.0)[:, None]
    data = Transitions(column[s], a, column[t % 4], done=t == 4)
    rows, scaling = Rows.of(data, [0], ANCHOR, 0.9), Inputs.of(data.states)
    policy = torch.full((4, 3), 1 / 3, dtype=torch.float64)
    share = torch.tensor(MOVES)[rows.origin, rows.action, rows.target]
    for _ in range(3):
        visits = torch.tensor(SEEN)[:, None] * policy
        times = visits[rows.origin, rows.action] * share
        risk = ridged_risk(replace(rows, visits=visits, followed=visits, times=times), scaling)
        start = torch.zeros(3, risk.zeta[0].size, dtype=torch.float64)
        point = solved_point(risk, torch.tensor(REWARD), start)
        fit = RiskMinimum(risk, torch.tensor(penalty), point, 0, 0.0)
        policy = torch.softmax(fit.q, dim=1)
    return fit


def test_errors_are_those_of_the_choices_and_of_the_next_values() -> None:
    """H^-1 + H^-1 N H^-1 by differences of a plain NLL, in theta and in each next value.

    Nothing is left of the score, so that the expected information is the second derivative. An
    observation of the next value V' moves the regression of its action by phi (V' - zeta).
    """
    penalty = np.array([0.5, 1.0, 2.0, 3.0])
    fit = population_fit(penalty)
    risk, rows = fit.risk, fit.risk.rows
    psi, visits = risk.block.psi.numpy(), rows.visits.numpy()
    phi = [function.numpy() for function in risk.functions_of_zeta]
    grams = [f.T @ (visits[:, [a]] * f) + ridge(f.shape[1]) for a, f in enumerate(phi)]
    smoother = np.stack([f @ np.linalg.solve(g, f.T) for f, g in zip(phi, grams, strict=True)])
    smoother_of_moves = np.einsum("aso,oa,oat->sat", smoother, visits, MOVES)

    def nll(theta: Array, shifts: Array) -> tuple[Array, Array, Array]:
        """(n,) NLL at (n, 4) theta, zeta's regression off by (n, S, A) shifts; V, 0 at the end."""
        reward, zeta = np.full(shifts.shape, -5.0), np.zeros_like(shifts)
        reward[..., [0, 2]] = np.einsum("sm,nbm->nsb", psi, theta.reshape(-1, 2, 2))
        for _ in range(250):  # 0.9^250 is below rounding
            v = np.pad(np.logaddexp.reduce(reward + 0.9 * zeta, axis=2), [(0, 0), (0, 1)])
            zeta = np.einsum("sat,nt->nsa", smoother_of_moves, v) + shifts
        values = np.sum(visits * (v[:, :-1, None] - reward - 0.9 * zeta), axis=(1, 2))
        return values, v[0], zeta[0]

    def slopes(theta: Array, shifts: Array) -> Array:
        """(4, n) derivatives in theta."""
        steps = 1e-3 * np.eye(4)
        ends = [nll(theta + step, shifts)[0] - nll(theta - step, shifts)[0] for step in steps]
        return np.array(ends) / 2e-3

    near = REWARD + 1e-3 * np.vstack([np.eye(4), -np.eye(4)])
    above, below = np.hsplit(slopes(near, np.zeros((8, 4, 3))), 2)
    inverse = np.linalg.inv((above - below) / 2e-3 + np.diag(penalty))
    value, v, zeta = nll(REWARD[None], np.zeros((1, 4, 3)))
    assert value[0] == pytest.approx(fit.point.nll, rel=1e-9)
    s, a, t = np.nonzero(MOVES)
    shifts = np.zeros((len(s), 4, 3))
    shifts[np.arange(len(s)), :, a] = smoother[a, s] * (v[t] - zeta[s, a])[:, None]
    at = np.tile(REWARD, (len(s), 1))
    by_move = (slopes(at, 0.01 * shifts) - slopes(at, -0.01 * shifts)) / 0.02
    noise = (by_move * visits[s, a] * MOVES[s, a, t]) @ by_move.T
    expected = inverse + inverse @ noise @ inverse
    found = covariance(fit).numpy()
    # the choices leave 1e-5 of the score, differences 1e-6
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert np.all(np.diag(inverse) < 0.9 * np.diag(expected))  # zeta's noise is in it
    theta = np.stack([REWARD[:2], np.zeros(2), REWARD[2:]])
    errors = RowFunction(risk.reward, theta, ANCHOR, found).errors(rows.states.numpy())
    for action, own in ((0, slice(0, 2)), (2, slice(2, 4))):
        variance = np.diag(psi @ expected[own, own] @ psi.T)
        np.testing.assert_allclose(errors[:, action] ** 2, variance, rtol=1e-4)
    assert not errors[:, 1].any()


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
    estimate = fit_sparse(world.simulate(250, np.random.default_rng(6)))
    assert estimate.diagnostics.extra["reward_inputs"] == (0, 1, 2)


def test_an_input_of_the_moves_alone_is_zetas_and_not_rs() -> None:
    tilt = np.exp(LEVELS[:, None] * np.arange(4))
    world = one_input(np.zeros((20, 21)), inputs=3)
    tilted = InputsBus(
        3, world.draw, world.type_of, UNIFORM, world.effect, tilt / tilt.sum(1, keepdims=True)
    )
    extra = fit_sparse(tilted.simulate(300, np.random.default_rng(8))).diagnostics.extra
    assert extra["reward_inputs"] == (0,)
    assert extra["zeta_inputs"] == (0, 1)


def test_three_actions() -> None:
    world = one_input(
        np.tile(0.4 * LEVELS, (20, 1)),
        inputs=3,
        partial=np.tile(-3.0 - 0.2 * np.arange(1.0, 21)[:, None], (1, 21)),
    )
    data = world.simulate(400, np.random.default_rng(9))
    estimate = fit_sparse(data)
    assert estimate.diagnostics.status == "ok"
    assert mape(estimate, data, world.reward) < 6.0


def test_the_default_where_states_do_not_repeat() -> None:
    world = one_input(np.tile(0.4 * LEVELS, (20, 1)), inputs=1)
    data = world.simulate(60, np.random.default_rng(10))
    assert gladius.fit(data, **KNOWN).method == "profiled_erm sparse"
    few = data.take(np.arange(len(data)) < 300)  # the same states, of which fewer repeat
    with pytest.raises(InputError, match="hardly repeat"):
        gladius.fit(few, **KNOWN, function_class="smooth")


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


def one_shot(effect: Any, *codes: int) -> tuple[Transitions, Any]:
    """4,000 choices that turn with an effect of codes alone, and the effect in each of them."""
    rng = np.random.default_rng(7)
    noise, numbers = rng.normal(size=4_000), [rng.integers(0, n, 4_000) for n in codes]
    at, states = effect[tuple(numbers)], np.stack([noise, *numbers], axis=1)
    actions = rng.logistic(size=4_000) > at
    return Transitions(states, actions.astype(np.int64), states[rng.permutation(4_000)]), at


TOGETHER = np.cos(np.pi / 2 * np.add.outer(np.arange(4.0), np.arange(4.0)))  # r of both codes alone


@pytest.mark.filterwarnings("ignore:.*does not depend on s0")
@pytest.mark.parametrize("effect", [PARITY, 0.4 * CODE, 0.3 * CODE, TOGETHER])
def test_effects_that_the_screen_does_not_see_are_found_in_cells(effect: Any) -> None:
    """No polynomial shows these. Of one code they were refused; of two, `ok` with r constant."""
    data, at = one_shot(effect, *effect.shape)
    fit = fit_sparse(data)
    assert fit.diagnostics.status == "ok"
    assert fit.diagnostics.extra["reward_inputs"] == tuple(range(1, 1 + effect.ndim))
    log_policy = np.log(fit.policy(data.states))
    error = np.sqrt(np.mean((log_policy[:, 0] - log_policy[:, 1] - at) ** 2))
    # 1.5 standard errors of a log-odds of even chances in a cell
    assert error < 3 / np.sqrt(4_000 / effect.size)


def test_a_structure_that_is_finer_than_six_bins_is_not_ok() -> None:
    """Of two columns with 14 values r has the sign of their parity: r was constant, and `ok`."""
    signs = np.resize([-1.0, 1.0], 14)
    data, _ = one_shot(np.outer(signs, signs), 14, 14)
    run = fit_sparse(data, inputs=[0]).diagnostics
    assert run.extra["misfit_inputs"] == (("s1", "s2"),)
    assert run.status == "not_converged"


@pytest.mark.parametrize(("of_pair", "misfit"), [(1e-20, (("s0", "s1"),)), (1e-4, ()), (0.5, ())])
def test_a_column_hides_only_a_pair_that_fits_no_worse(
    of_pair: float, misfit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One at 1e-5 hid a pair at 1e-137: the status was `ok`, with a warning of the column."""
    monkeypatch.setattr(trust, "misfit_p_values", lambda *_: {0: 0.5, 1: 1e-5})
    monkeypatch.setattr(trust, "pair_p_values", lambda *_: {(0, 1): of_pair})
    states = np.random.default_rng(7).normal(size=(100, 2))
    data = Transitions(states, np.arange(100) % 2, states[::-1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = fit_sparse(data, inputs=[0], zeta_inputs=[0]).diagnostics
    assert run.extra["misfit_inputs"] == misfit
    assert any(str(one.message).startswith("s1: choices along") for one in caught)
    assert not any("along both" in str(one.message) for one in caught)


def test_a_curved_reward_has_a_ridge_of_zeta_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the straight one could be far too large, and good fits were refused."""
    curved: list[RiskMinimum] = []

    def recorded(*given: Any) -> RiskMinimum:
        curved.append(form.add_curvature(*given))
        return curved[-1]

    monkeypatch.setattr(sparse, "add_curvature", recorded)
    engine = gladius.BusEngine(maintenance=lambda x: -0.02 * x**3)
    data = engine.simulate(100, np.random.default_rng(1))
    fit = gladius.fit(data, function_class="sparse", **KNOWN)
    own = curved[-1].risk.with_ridge(curved[-1].v).kappas
    assert fit.diagnostics.extra["zeta_ridges"] == own
    assert own != curved[-1].risk.kappas


@pytest.mark.parametrize(("scale", "is_refused"), [(1.0, True), (0.42, False)])
def test_a_misfit_along_a_pair_that_r_may_not_have_is_reported(
    scale: float, is_refused: bool
) -> None:
    """A user who names the inputs of r has no cells; the error is that of a guess."""
    data, _ = one_shot(scale * TOGETHER, 4, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = fit_sparse(data, inputs=[0]).diagnostics
    assert run.extra["misfit_inputs"] == ((("s1", "s2"),) if is_refused else ())
    assert run.status == ("not_converged" if is_refused else "ok")
    found = [str(one.message)[:38] for one in caught if "along both" in str(one.message)]
    assert found == ["s1 and s2: choices or next values alon"] * (not is_refused)


@pytest.mark.parametrize(
    ("p", "warned", "misfit"), [(4e-5, 1, ()), (6e-5, 0, ()), (2e-8, 1, ()), (5e-9, 0, (1,))]
)
def test_a_misfit_is_warned_of_from_a_ten_thousandth_over_the_number_of_inputs(
    p: float, warned: int, misfit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "misfit_p_values", lambda *_: {0: 0.5, 1: p})
    monkeypatch.setattr(trust, "pair_p_values", lambda *_: {})
    states = np.random.default_rng(7).normal(size=(100, 2))
    data = Transitions(states, np.arange(100) % 2, states[::-1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = fit_sparse(data, inputs=[0], zeta_inputs=[0]).diagnostics
    assert sum(str(one.message).startswith("s1: choices along it") for one in caught) == warned
    assert run.extra["misfit_inputs"] == misfit


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


def test_choices_recorded_a_period_late_are_refused() -> None:
    """r was -9, 15 and 39 at mileage 1, 2, 3, and `ok`; all of mileage 1 chose to replace.

    With a second column, by which no state repeats, the fit is not ok.
    """
    data = gladius.BusEngine().simulate(100, np.random.default_rng(0))
    is_later = np.arange(len(data)) % 100 > 0
    late = replace(data.take(is_later), actions=np.roll(data.actions, 1)[is_later])
    with pytest.raises(InputError, match="is the choice of another period recorded there"):
        fit_sparse(late)
    noise = np.random.default_rng(1).normal(size=(len(late) + 1, 1))
    wide = np.hstack([late.states, noise[:-1]]), np.hstack([late.next_states, noise[1:]])
    fit = fit_sparse(replace(late, states=wide[0], next_states=wide[1], feature_names=("s", "z")))
    assert fit.diagnostics.status == "not_converged"
    assert fit.diagnostics.extra["not_ok_because"] == ("choices are all but certain",)
    assert fit_sparse(data.take(is_later)).diagnostics.converged


def test_a_move_of_r_counts_the_levels_at_which_it_was_fitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It left out (1 - beta) times their difference, so that equal fits were not `ok`."""
    calls: list[Any] = []

    def recorded(*given: Any) -> float:
        calls.append(given)
        return difference(*given)

    monkeypatch.setattr(sparse, "difference", recorded)
    data = gladius.BusEngine(discount=0.9999).simulate(100, np.random.default_rng(0))
    gladius.fit(data, function_class="sparse", anchor_action=1, anchor_reward=0.0, discount=0.9999)
    fits, levels, *rest = calls[-1]
    assert levels[0] != levels[1]
    assert difference(fits, levels, *rest) <= sparse.MOVED
    assert difference(fits, (0.0, 0.0), *rest) > difference(fits, levels, *rest)


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
        "gladius.own_data.erm.observations.sparse.select_inputs",
        lambda inputs, outcome, given: InputSelection(given or next(rounds)),
    )
    estimate = gladius.fit(data, **CURVED, inputs=[0, 1, 2])
    assert not estimate.diagnostics.extra["inputs_settled"]
    assert estimate.diagnostics.status == "not_converged"


def test_rounds_that_repeat_leave_zeta_the_inputs_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in twelve fits with four features ended so, and was not ok."""
    data = curved_data(np.random.default_rng(23), 2_000)
    rounds = iter([(0,), (1,), (0,), (1,)])
    monkeypatch.setattr(
        "gladius.own_data.erm.observations.sparse.select_inputs",
        lambda inputs, outcome, given: InputSelection(given or next(rounds)),
    )
    extra = gladius.fit(data, **CURVED, inputs=[0, 1, 2]).diagnostics.extra
    assert (extra["zeta_inputs"], extra["inputs_settled"]) == ((0, 1), True)


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


@pytest.mark.parametrize("rows", [19, 20])
def test_ten_observations_are_needed_for_each_coefficient_of_r(rows: int) -> None:
    """A constant for each of two actions beside the anchor."""
    states = np.random.default_rng(27).normal(size=(rows, 1))
    data = Transitions(states, np.arange(rows) % 3, states[::-1])
    reasons = fit_sparse(data, inputs=[], zeta_inputs=[0]).diagnostics.extra["not_ok_because"]
    assert ("too few observations for the coefficients of r" in reasons) == (rows < 20)


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
    of_choice: bool, repeats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "BLOCK", 70)  # of the 600 groups without repeats, 9 blocks
    rng = np.random.default_rng(7)
    states = rng.integers(-2, 3, (600, 2)).astype(float) if repeats else rng.normal(size=(600, 2))
    actions = rng.integers(0, 3, 600)
    followed = rng.random(600) < 0.7  # elsewhere V(s') was not observed
    values = followed * (states[:, 0] + 0.1 * states[:, 1] + rng.normal(size=600))
    inputs, tensor = Inputs.of(states), torch.tensor(actions)
    following = torch.tensor(values), tensor, torch.tensor(followed).double()
    outcome = Choice(tensor, (0, 2, 1)) if of_choice else NextValue(*following, 3)
    residuals = Residuals.of(outcome, group_rows(inputs, [0]))
    finer = group_rows(inputs, [1], residuals.groups)
    found, _ = score_test(residuals, finer, lambda z: z[:, 1:] ** torch.tensor([1.0, 2.0]))
    group = residuals.groups.group
    fitted, x = residuals.fitted[group].numpy(), residuals.design[group].numpy()
    errors = residuals.errors(slice(None)).numpy()
    if of_choice:
        information = (
            np.einsum("na,ac->nac", fitted, np.eye(2)) - fitted[:, :, None] * fitted[:, None]
        )
        expected = information
    else:
        taken = (actions[:, None] == np.arange(3)) & followed[:, None]
        assert not np.any(errors[~followed])
        for a, y in enumerate(taken.T):  # least squares in the observations that were followed
            assert np.abs(x[y].T @ errors[y, a]).max() < 1e-6
        variance = (errors**2).sum(axis=0) / taken.sum(axis=0)
        information, expected = (
            np.einsum("na,ac->nac", w, np.eye(3)) for w in (taken, taken * variance)
        )
    z = (states[:, 1:] - inputs.center[1]) / inputs.scale[1]
    plain = p_value(errors, information, x, np.hstack([z, z**2]), expected)
    assert found == pytest.approx(plain, rel=1e-5)


@pytest.mark.parametrize(
    ("of_choice", "rounds", "selected"),
    [
        # 5 inputs: zeta's enter up to .001 / 5, whatever the number that does
        (False, [[1.9e-4, 2.1e-4, 3.9e-4], [0, 2.1e-4, 3.9e-4]], (0,)),
        (False, [[1.9e-4, 1.9e-4], [0, 1.9e-4]], (0, 1)),
        # those of the choices up to .005 / 5 times the rank of the last that passes so
        (True, [[1.9e-3, 1.9e-3], [0, 1.9e-3]], (0, 1)),
        (True, [[1.1e-3, 2.1e-3]], ()),
        # .. with those that entered in the rounds before as passed
        (True, [[0.9e-3], [0, 1.9e-3], [0, 0, 3.1e-3]], (0, 1)),
        # .. and by the p-value given those that entered before it in its round
        (True, [[0.9e-3, 1.9e-3], [0, 2.1e-3]], (0,)),
    ],
)
def test_inputs_enter_by_benjamini_and_hochberg_or_by_bonferroni(
    of_choice: bool, rounds: Any, selected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rounds` are p-values of inputs given the first none, one, two of them; all others are 1."""

    table = np.ones((6, 5))
    for number, values in enumerate(rounds):
        table[number, : len(values)] = values

    def p_of_input(inputs: Inputs, residuals: Residuals, k: int) -> float:
        return float(table[residuals.groups.z.shape[1], k])

    monkeypatch.setattr(screen, "p_of_input", p_of_input)
    monkeypatch.setattr(screen, "best_pair", lambda *_: ((), 1.0))
    monkeypatch.setattr(
        screen, "short_list", lambda scores, given: [k for k in range(5) if k not in given]
    )
    actions = torch.arange(40) % 2
    outcome = (
        Choice(actions, (1, 0))
        if of_choice
        else NextValue(actions.double(), actions, torch.ones(len(actions)).double(), 2)
    )
    states = np.random.default_rng(0).normal(size=(40, 5))
    assert select_inputs(Inputs.of(states), outcome).inputs == selected


@pytest.mark.parametrize(
    ("squared", "block", "expected"),
    [
        ([0, 0, 0, 0, 20, 0, 0, 0], 0.9, 2 * chi2.sf(20, 1)),  # z alone, by 2 columns
        ([0, 25, 0, 0, 0, 0, 0, 0], 0.9, 8 * chi2.sf(25, 1)),  # the best of 8 directions
        ([0, 25, 0, 0, 20, 0, 0, 0], 1e-9, 1e-9),
        ([0] * 8, 0.9, 1 / 3),  # which is 1
    ],
)
def test_the_p_value_of_an_input_is_thrice_the_least_of_three(
    squared: list[float], block: float, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = Inputs.of(np.random.default_rng(0).normal(size=(60, 2)))
    choice = Choice(torch.arange(60) % 3, (0, 2, 1))
    residuals = Residuals.of(choice, group_rows(inputs, [0]))
    tested = block, torch.tensor(squared, dtype=torch.float64)
    monkeypatch.setattr(screen, "score_test", lambda *_: tested)
    assert screen.p_of_input(inputs, residuals, 1) == pytest.approx(3 * expected)


@cache
def flat_fit(terms: tuple[tuple[int, ...], ...]) -> tuple[RiskMinimum, Inputs]:
    """The point theta = 0 of three actions' rewards in two inputs with these monomials."""
    states = np.random.default_rng(0).normal(size=(50, 2))
    inputs = Inputs.of(states)
    rows = Rows.of(Transitions(states, np.arange(50) % 3, states[::-1]), [0, 1], ANCHOR, 0.9)
    reward = replace(make_features([0, 1], inputs), terms=terms, removed=np.zeros((len(terms), 0)))
    risk = ObservationRisk(rows, reward, make_zeta(rows, inputs, [0, 1])).start()[0]
    none = torch.zeros(risk.free, dtype=torch.float64)
    point = risk.point(none, torch.zeros(3, risk.zeta[0].size, dtype=torch.float64))
    return RiskMinimum(risk, none, point, 0, 0.0), inputs


@pytest.mark.parametrize("excess", [-0.01, 0.01])
@pytest.mark.parametrize(
    ("terms", "curved", "prices"),
    [
        (((), (0,), (1,)), (0,), 0),
        (((), (0,), (1,)), (0, 1), 1),  # an input beyond the first
        (((), (0,)), (1,), 1),  # an input without a term in r
        (((), (0,)), (0, 1), 1),
        (((),), (0,), 1),
        (((),), (0, 1), 2),
        (((), (0, 1)), (1,), 0),
    ],
)
def test_a_curve_pays_for_what_it_adds(
    terms: Any, curved: Any, prices: int, excess: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """log n for each such input, beside 2.71 and twice the log of the three sets that are tried."""
    start, inputs = flat_fit(terms)
    gain = 2.71 + prices * np.log(50) + 2 * np.log(3) + excess

    def fit_penalised(fit: RiskMinimum, wider: ObservationRisk) -> tuple[float, RiskMinimum]:
        in_use = np.flatnonzero(wider.reward.frequencies.any(axis=1))
        is_it = fit is start and tuple(in_use) == curved
        return gain if is_it else 0.0, fit._replace(risk=wider)

    monkeypatch.setattr(form, "fit_penalised", fit_penalised)
    monkeypatch.setattr(form, "modelled_gains", lambda _, blocks: [1e6] * len(blocks))  # try all
    has_curve = form.add_curvature(start, inputs).risk.reward.frequencies.any(axis=1)
    assert has_curve.tolist() == [k in curved and excess > 0 for k in (0, 1)]


@pytest.mark.parametrize("most", [25_000_000, 1])
def test_one_point_says_of_many_blocks_what_a_point_of_each_says(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """r has cells already, before which new cosines stand; their coefficients are not 0."""
    start, inputs = flat_fit(((), (0,), (1,)))
    given = make_features([0, 1], inputs, curved=[0], most=2)
    curve, other = (make_features([0, 1], inputs, curved=[k], most=3) for k in (0, 1))
    values = np.quantile(inputs.sample[:, 1], [0.2, 0.5, 0.8], method="inverted_cdf")
    cells, more = (make_cells([0, 1], inputs, (1, *v)) for v in (values[:2], values[1:]))
    reward = given.with_block(cells)
    risk = start.risk.with_reward(reward)
    theta = torch.linspace(-1, 1, risk.free, dtype=torch.float64)
    fit = start._replace(risk=risk, penalty=theta.abs(), point=risk.point(theta, start.point.zeta))
    states = fit.risk.rows.states
    blocks = [(one, one.removed + 0.1) for one in (more, curve, other)]
    monkeypatch.setattr(form, "MOST_VALUES", most)
    gains = form.modelled_gains(fit, blocks)
    for block, gain in zip(blocks, gains, strict=True):
        wider = reward.with_block(*block)
        at = form.positions(reward, wider)
        np.testing.assert_array_equal(wider(states)[:, at], reward(states))
        is_new = torch.ones(wider.size, dtype=torch.bool)
        is_new[at] = False
        alone = form.extend(fit, fit.risk.with_reward(wider))
        of_alone = form.model_gains(fit, alone, is_new.repeat(2))
        assert gain == pytest.approx(max(of_alone), rel=1e-6, abs=1e-6)
    assert len({round(gain, 3) for gain in gains}) == 3


def test_lambda_of_a_curve_is_a_decade_below_remls(monkeypatch: pytest.MonkeyPatch) -> None:
    """REML is lowest at 10 here; the penalty of the other functions does not change."""
    fit, inputs = flat_fit(((), (0,), (1,)))
    curve = make_features([0, 1], inputs, curved=[0])
    monkeypatch.setattr(form, "reml_gain", lambda *given: 5.0 - abs(np.log10(given[-1] / 10)))
    before = fit._replace(penalty=fit.penalty + 0.25)
    gain, found = form.fit_penalised(before, fit.risk.with_reward(curve))
    assert gain == pytest.approx(5.0)
    expected = np.where(np.arange(curve.size) < 3, 0.25, 1.0)
    np.testing.assert_allclose(found.penalty, np.tile(expected, 2))


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_a_term_is_dropped_where_bic_falls(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two actions have a coefficient each, so that twice the NLL may rise by 2 log n."""
    fit, _ = flat_fit(((), (0,)))

    def minimise(risk: ObservationRisk, penalty: Any, theta: Any, zeta: Any, _: Any) -> RiskMinimum:
        nll = fit.point.nll + share * np.log(50)
        return RiskMinimum(risk, penalty, risk.point(theta, zeta)._replace(nll=nll), 0, 0.0)

    monkeypatch.setattr(form, "minimise", minimise)
    assert form.drop_terms(fit).risk.reward.terms == (((),) if share < 1 else ((), (0,)))


@settings(max_examples=30)
@given(
    arrays(float, (8, 8), elements=st.floats(-2, 2)),
    arrays(float, 2, elements=st.floats(0.5, 2)),
    st.sampled_from([0.99, 1.01]),
)
def test_a_product_enters_by_its_score_given_the_other_terms(
    root: Array, score: Array, share: float
) -> None:
    """At .001 of a chi-square with a degree for each action, which is 13.8 with two.

    The variance of a score given others is the inverse of its block of the inverse information.
    """
    fit, _ = flat_fit(((), (0,), (1,)))
    information, new = root @ root.T + np.eye(8), [3, 7]
    gradient = np.zeros(8)
    statistic = score @ np.linalg.inv(information)[np.ix_(new, new)] @ score
    gradient[new] = score * np.sqrt(share * chi2.isf(0.001, 2) / statistic)
    point = fit.point._replace(
        gradient=torch.tensor(gradient), information=torch.tensor(information)
    )
    with patch.object(form, "extend", lambda *_: point):
        assert form.significant_products(fit, [(0, 1)]) == ([(0, 1)] if share > 1 else [])


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


def test_intervals_allow_for_the_terms_that_were_dropped() -> None:
    """r of two inputs with a small product, at whose corner 95 % intervals covered 26 of 100."""
    grid = np.array([[x, y] for x in range(8) for y in range(4)], dtype=float)
    x, y = grid.T
    slopes = [0.8 - 0.25 * x + 0.2 * y, -0.5 + 0.1 * x - 0.15 * y + 0.04 * x * y]
    moves = np.zeros((3, 32, 32))
    for i, (k, d) in enumerate(grid.astype(int)):
        for a, (step, chance) in product(range(3), ((-1, 0.3), (0, 0.3), (1, 0.4))):
            after = int(np.clip(k + (0, 1, -2)[a] + step, 0, 7))
            moves[a, i, 4 * after : 4 * after + 4] += chance * (0.125 + 0.5 * (np.arange(4) == d))
    reward = np.stack([np.zeros(32), *slopes], axis=1)
    world = gladius.TabularMDP(reward, moves, 0.9, np.full(32, 1 / 32), grid)
    covered = crossed = 0
    for seed in range(8):
        data = sample(world, 250, 40, np.random.default_rng(seed))
        fit = gladius.fit(data, anchor_action=0, anchor_reward=0.0, discount=0.9)
        corner = fit.reward_frame(grid[:1]).iloc[2]
        crossed += (0, 1) in fit.reward_function.reward.terms
        covered += corner["low"] < reward[0, 2] < corner["high"]
    assert covered >= 6  # a chance of .006 where intervals cover .95; of .004 where .26
    assert crossed >= 2  # by BIC alone 0: r-hat has a term that is 3 standard errors from 0


@pytest.mark.parametrize("asked", [None, [0]])
def test_intervals_allow_for_every_feature(asked: list[int] | None) -> None:
    """No test selects the second one, on which r does not depend. Two values have no square."""
    data = one_input(np.zeros((20, 21)), 1).simulate(20, np.random.default_rng(3))
    binary = [np.column_stack([s[:, 0], s[:, 1] > 0]) for s in (data.states, data.next_states)]
    two = Transitions(binary[0], data.actions, binary[1], data.trajectory)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that r-hat leaves it out
        fit = fit_sparse(two, inputs=asked)
    assert fit.diagnostics.extra["reward_inputs"] == (0,)
    assert isinstance(fit.basis, RowFunction)
    wide = {tuple(fit.basis.reward.inputs[i] for i in term) for term in fit.basis.reward.terms}
    assert wide == ({(), (0,), (0, 0)} | (set() if asked else {(1,), (0, 1)}))


@pytest.mark.parametrize("share", [0.1, 0.25])
def test_a_share_of_the_ridge(share: float) -> None:
    """The root of (Phi'Phi + share kappa D)^-1; a root of the diagonal is 1e-9 apart."""
    risk, *_ = small_risk(few_rows(ended=False)).start()
    for phi, factor, kappa, a in zip(
        risk.functions_of_zeta,
        risk.with_share_of_ridge(share).factor,
        risk.kappas,
        risk.rows.actions,
        strict=True,
    ):
        gram = phi.T @ (risk.rows.followed[:, [a]] * phi)
        inverse = torch.linalg.inv(gram + torch.diag(share * kappa * risk.relative_ridge))
        found = phi @ factor @ factor.T @ phi.T
        torch.testing.assert_close(found, phi @ inverse @ phi.T, rtol=1e-5, atol=1e-6)


def test_errors_count_what_the_ridge_moves() -> None:
    """Its square is added to the variance of the coefficients."""
    risk, theta, zeta, _ = small_risk(few_rows(ended=False)).start()
    fit = minimise(risk, torch.zeros_like(theta), theta, zeta)
    shift = torch.linspace(0.1, 0.3, len(theta)).double()
    plain, moved = (sparse.reward_function(fit, ANCHOR, 0.0, s) for s in (None, shift))
    states = np.linspace(1, 9, 7)[:, None]
    added = moved.errors(states)[:, 0] ** 2 - plain.errors(states)[:, 0] ** 2
    psi = risk.reward(torch.tensor(states)).numpy()
    np.testing.assert_allclose(added, (psi @ shift.numpy()) ** 2, rtol=1e-6)


def test_zeta_bends_along_one_of_many_inputs() -> None:
    """max(z, 0) of one of three: the cosines of all three alone leave .01 of its variance."""
    states = np.random.default_rng(0).normal(size=(2_000, 3))
    inputs = Inputs.of(states)
    rows = Rows.of(Transitions(states, np.arange(2_000) % 2, states[::-1]), [0, 1, 2], ANCHOR, 0.9)
    phi = make_zeta(rows, inputs, [0, 1, 2])[0](rows.states).numpy()
    bend = np.maximum(rows.states[:, 0].numpy(), 0.0)
    left = bend - phi @ np.linalg.lstsq(phi, bend, rcond=None)[0]
    assert left.var() < 0.002 * bend.var()


def test_the_anchors_constant_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few replacements: r less the anchor was 10.96, 8.63 or 9.35 by the constant, `ok`."""
    rng, x, periods = np.random.default_rng(0), np.zeros(50), []
    for _ in range(70):
        replaces = (rng.random(50) < 1 / (1 + np.exp(9.0 - 0.035 * x))).astype(int)
        after = np.where(replaces == 1, 0, x) + rng.gamma(4, 0.8, 50)
        periods.append((x, replaces, after))
        x = after
    states, actions, after = (np.stack(column, axis=1) for column in zip(*periods, strict=True))
    engines = np.repeat(np.arange(50), 70)
    data = Transitions(states.ravel(), actions.ravel(), after.ravel(), engines)
    new = np.zeros((1, 1))
    for discount in (0.98, 0.9999):
        found = []
        for reward in (-10.0, 0.0, 10.0):
            known: dict[str, Any] = {"anchor_reward": reward, "discount": discount}
            fit = gladius.fit(data, function_class="sparse", anchor_action=1, **known)
            assert fit.diagnostics.status == "ok"
            found.append((fit.reward(new, 0)[0] - reward) / fit.reward_errors(new)[0, 0])
        assert np.ptp(found) < 1e-4  # of a standard error: the steps end 1e-6 nats from their goal
    monkeypatch.setattr(sparse, "MOVED", -1.0)
    fit = gladius.fit(data, function_class="sparse", anchor_action=1, **known)
    assert "the level of V did not settle" in fit.diagnostics.extra["not_ok_because"]
