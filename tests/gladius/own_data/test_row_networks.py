"""The network on rows: its gradient, what ends a path, what training may see, and its control."""

from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp
from torch import Tensor

import gladius
from gladius.designs.metrics import mape
from gladius.model.risk import sampled_risk
from gladius.own_data.erm.observations import network as network_module
from gladius.own_data.erm.observations.features import Rows
from gladius.own_data.erm.observations.network import (
    Columns,
    History,
    NetworkFit,
    NetworkRisk,
    Options,
    fit_line,
    fit_rows,
    hold_out,
    network,
    train,
    zeta_of,
)
from gladius.own_data.erm.observations.network_risk import COARSE_KAPPAS, cross_validations
from gladius.own_data.erm.observations.regression import cross_validation
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.solvers.networks import views, without_denormals
from gladius.validate import Array

ANCHOR = Anchor(1, -5.0)
KEYS: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.9}
SMALL: dict[str, Any] = {"hidden": (6,), "steps": 100}


def bus_rows(paths: int, seed: int, ends: float = 0.0, **world: Any) -> Transitions:
    """The bus engine, where each row also ends the path with probability `ends`."""
    engine = gladius.BusEngine(discount=0.9, **world)
    data = engine.simulate(paths, np.random.default_rng(seed))
    done = np.random.default_rng([seed, 1]).uniform(size=len(data)) < ends
    return Transitions(data.states, data.actions, data.next_states, data.trajectory, done, 2)


def fit(data: Transitions, **options: Any) -> gladius.Estimate:
    """By the class itself, whatever the data."""
    keys = {**KEYS, **options}
    action, reward, discount = (keys.pop(name) for name in KEYS)
    return fit_rows(data, Anchor(action, reward), discount, Options(**keys))


def curve(fit: NetworkFit) -> None:
    """Weights of the last layer that are not zero."""
    last = fit.theta[-3]
    last += torch.linspace(-0.5, 0.5, last.numel(), dtype=last.dtype).reshape(last.shape)


@pytest.mark.parametrize("restricted", [True, False])
def test_the_slope_is_the_derivative_of_the_risk(restricted: bool) -> None:
    """Through zeta too: against differences of the risk, w solved for anew."""
    options = Options(hidden=(5,), restricted=restricted)
    fit = fit_line(
        NetworkRisk.of(bus_rows(8, 1, ends=0.1), ANCHOR, 0.9, options.restricted), options
    )
    curve(fit)
    table, risk = fit.risk.table(fit.theta), fit.risk
    slope = risk.output_gradient(fit.evaluate())
    held_fixed = risk.rows.seen[:, None] * fit.evaluate().policy - risk.rows.visits
    assert torch.equal(slope, held_fixed) != restricted  # zeta's share is not nothing
    step = 1e-4
    for state in range(len(table)):
        ends = []
        for sign in (1.0, -1.0):
            changed = table.clone()
            changed[state, 0] += sign * step
            ends.append(risk.evaluate(changed, fit.w, fit.factor).nll)
        numeric = (ends[0] - ends[1]) / (2 * step)
        assert float(slope[state, 0]) == pytest.approx(numeric, rel=1e-4, abs=1e-4)


def lines(fit: NetworkFit) -> Tensor:
    """The columns of a line: constant and inputs."""
    return torch.cat([torch.ones_like(fit.risk.z[:, :1]), fit.risk.z], dim=1)


def three_choices(rows: int) -> Transitions:
    """Choices by a logit of two inputs; where the third leads to differs."""
    rng = np.random.default_rng(4)
    states, odds = rng.normal(size=(rows, 2)), np.array([[1.0, -0.5, 0.0], [0.3, 1.0, 0.0]])
    actions = np.argmax(states @ odds + rng.gumbel(size=(rows, 3)), axis=1)
    after = np.where(actions[:, None] == 2, -0.5, 0.5) * states + rng.normal(size=(rows, 2))
    return Transitions(states, actions, after, np.arange(rows) // 20, number_of_actions=3)


def test_what_a_line_moves_is_found_by_differences() -> None:
    """w and Q, solved for anew at each end; the information is the sum of n Var_pi(dQ)."""
    fit = fit_line(NetworkRisk.of(three_choices(120), ANCHOR, 0.9, True), Options(hidden=(3,)))
    of_w, of_q, information = fit.risk.by_line(fit.evaluate(), lines(fit), fit.factor)
    line, policy = fit.line, fit.evaluate().policy.numpy()
    moved = []
    for i in range(line.numel()):
        ends = []
        for sign in (1e-4, -1e-4):
            fit.line = line + sign * torch.eye(line.numel())[i].double().view_as(line)
            for _ in range(3):  # to rounding
                fit.evaluate()
            ends.append((fit.w.flatten(), fit.q))
        slopes = ((high - low) / 2e-4 for low, high in zip(*ends[::-1], strict=True))
        of_w_i, of_q_i = slopes
        torch.testing.assert_close(of_w[:, i], of_w_i, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(of_q[:, :, i], of_q_i, rtol=1e-4, atol=1e-5)
        moved.append(of_q_i.numpy())
    assert max(np.abs(x[:, 1]).max() for x in moved) > 0.1  # of the anchor through zeta alone
    expected = np.zeros(information.shape)
    for n, pi, dq in zip(fit.risk.rows.seen.numpy(), policy, np.stack(moved, axis=2), strict=True):
        expected += n * np.cov(dq.T, aweights=pi, ddof=0)
    np.testing.assert_allclose(information.numpy(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0])
def test_the_line_is_at_the_minimum_that_another_method_finds(scale: float) -> None:
    """BFGS, from whatever line; 1e-6 nats an observation are less than a step would still gain."""
    fit = fit_line(NetworkRisk.of(three_choices(400), ANCHOR, 0.9, True), Options(hidden=(3,)))
    at = fit.evaluate().nll
    start = scale * torch.tensor([[0.5, -0.5], [-1.0, 0.2], [0.4, 1.0]]).double()

    def objective(flat: Array) -> tuple[float, Array]:
        fit.line = torch.tensor(flat).view_as(start)
        found = fit.evaluate()
        slope = lines(fit).T @ fit.risk.output_gradient(found)[:, [0, 2]]
        return found.nll, slope.flatten().numpy()

    best = minimize(objective, fit.line.flatten().numpy(), jac=True, options={"gtol": 1e-5})
    assert at == pytest.approx(best.fun, abs=400 * 1e-6)
    before = fit.inner
    fit.descend(start, lines(fit))
    assert fit.evaluate().nll == pytest.approx(best.fun, abs=400 * 1e-6)
    assert fit.inner - before < 30  # Newton steps for w; BFGS takes 49 to 80


def test_the_line_of_many_rows_is_as_near_in_all_as_that_of_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A start that lacks .0015 nats in all: of 4,000 rows that is less than 1e-6 an observation."""
    fit = fit_line(NetworkRisk.of(three_choices(4_000), ANCHOR, 0.9, True), Options(hidden=(3,)))
    best, information = fit.line, fit.risk.by_line(fit.evaluate(), lines(fit), fit.factor)[2]
    away = torch.ones_like(best.flatten())
    away *= float(0.003 / (away @ information @ away)) ** 0.5  # half of its square is lacking
    start = best + away.view_as(best)

    def lacks() -> float:
        """Twice the nats that a step would gain."""
        at = fit.evaluate()
        slope = (lines(fit).T @ fit.risk.output_gradient(at)[:, [0, 2]]).flatten()
        information = fit.risk.by_line(at, lines(fit), fit.factor)[2]
        return float(slope @ torch.linalg.solve(information, slope))

    fit.descend(start, lines(fit))
    assert lacks() < 1e-3
    monkeypatch.setattr(network_module, "LEAST", np.inf)
    fit.descend(start, lines(fit))
    assert 2e-3 < lacks() < 4e-3, "control"


def test_a_step_that_raises_the_risk_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = fit_line(NetworkRisk.of(three_choices(120), ANCHOR, 0.9, True), Options(hidden=(3,)))
    evaluate, start, risks = NetworkFit.evaluate, fit.line + 1.0, list[float]()

    def worse(self: NetworkFit) -> Any:
        at = evaluate(self)
        risks.append(at.nll)
        return at._replace(nll=at.nll + (1e6 if len(risks) > 1 else 0.0))

    monkeypatch.setattr(NetworkFit, "evaluate", worse)
    fit.descend(start, lines(fit))
    assert len(risks) > 10  # half as long, and again
    assert torch.equal(fit.line, start)
    monkeypatch.undo()
    assert fit.evaluate().nll == pytest.approx(risks[0], rel=1e-9)


def test_zeta_is_the_ridge_regression_and_the_bellman_term_is_zero() -> None:
    """Row by row, with nothing grouped: V' - zeta is orthogonal to zeta's functions up to H."""
    options = Options(hidden=(5,))
    data = bus_rows(30, 2, ends=0.1)
    fit = fit_line(NetworkRisk.of(data, ANCHOR, 0.9, options.restricted), options)
    curve(fit)
    fit.evaluate()

    def q_and_zeta(states: Array) -> tuple[Array, Array, Array]:
        given = torch.tensor(states)
        z = (given - torch.tensor(fit.risk.center)) / torch.tensor(fit.risk.scale)
        boxes = zip(fit.risk.features.low, fit.risk.features.high, strict=True)
        one_by_one = [replace(fit.risk.features, low=low, high=high)(given) for low, high in boxes]
        phi = torch.stack(one_by_one, dim=1)
        zeta = zeta_of(phi, fit.w).numpy()
        r = np.column_stack([network(fit.theta, z).numpy(), np.full(len(states), -5.0)])
        return r + 0.9 * zeta, zeta, phi.numpy()

    q, zeta, phi = q_and_zeta(data.states)
    q_next = q_and_zeta(data.next_states)[0]
    rows = np.arange(len(data))
    risk = sampled_risk(
        q, q_next, data.actions, data.done, 1, np.full(len(data), -5.0), 0.9, zeta[rows, 1]
    )
    assert float(risk.td) > 1e-4
    assert float(risk.bellman) == pytest.approx(0.0, abs=1e-12)
    design = np.zeros_like(phi)
    design[:, 0] = phi[:, 0]
    design[rows, 1 + data.actions] = phi[rows, 1 + data.actions]
    after = np.where(data.done, 0.0, logsumexp(q_next, axis=1))
    h = (fit.factor @ fit.factor.T).numpy()
    exact = np.linalg.solve(h, design.reshape(len(data), -1).T @ after)
    w = fit.w.numpy().ravel()
    np.testing.assert_allclose(phi.reshape(len(data), -1) @ (w - exact), 0.0, atol=1e-6)
    value = torch.logsumexp(fit.risk.table(fit.theta) + 0.9 * fit.risk.zeta(fit.w), dim=1)
    assert fit.risk.bellman(value, fit.w, fit.factor) == pytest.approx(0.0, abs=1e-9)
    gap = 0.9 * (phi[:, 0] + phi[:, 2]).sum(axis=1) * (data.actions == 1)
    wrong = fit.risk.bellman(value, fit.w + 1.0, fit.factor)
    assert wrong == pytest.approx(gap @ gap, rel=1e-6)


def test_the_ridge_of_zeta_is_the_best_with_which_no_action_explodes() -> None:
    """All pairs of kappas, row by row: cross-validation of V', and zeta -> regression of zeta(s').

    The rare action leads outwards, where the best pair of all has an eigenvalue of 1.2. An action's
    own kappa is at least the shared one; the level of all costs nothing.
    """
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (200, 1))
    actions = (rng.uniform(size=200) < 0.05).astype(np.int64)
    after = np.where(actions[:, None] == 1, 1.6, 0.5) * states + 0.05 * rng.normal(size=(200, 1))
    risk = NetworkRisk.of(Transitions(states, actions, after), Anchor(0, 0.0), 0.95, True)
    factor = risk.ridge(10 * torch.sin(2 * risk.rows.states[:, 0]))
    found = torch.diag(factor @ factor.T - risk.gram).reshape(3, -1)[[0, 0, 1, 2], [0, -1, -1, -1]]

    def design(states: Array, actions: Array | int) -> Array:
        phi = risk.features(torch.tensor(states)).numpy()
        used = np.equal.outer(actions, [0, 1]) & np.ones((len(phi), 1), dtype=bool)
        return (phi * np.column_stack([np.ones(len(phi)), used])[..., None]).reshape(len(phi), -1)

    x, target = design(states, actions), 10 * np.sin(2 * after[:, 0])
    relative = np.ones((3, risk.features.size))
    relative[:, 1], relative[:, 0] = 1e-2, [0.0, 1e-4, 1e-4]
    trials = []
    for shared, own in product(10.0 ** np.arange(-1, 8), repeat=2):
        if own >= shared:
            kappa = (relative * np.array([[shared], [own], [own]])).ravel()
            hat = np.linalg.solve(x.T @ x + np.diag(kappa), x.T)
            error = np.sum((target - x @ hat @ target) ** 2)
            maps = [hat @ design(after, action) for action in (0, 1)]
            radius = max(np.abs(np.linalg.eigvals(one)).max() for one in maps)
            criterion = error / (1 - 1.4 * np.trace(x @ hat) / 200) ** 2
            trials.append((criterion, radius, shared, own))
    assert min(trials)[1] > 1.1
    *_, shared, own = min(trial for trial in trials if trial[1] <= 1 + 0.1 * (1 - 0.95))
    np.testing.assert_allclose(found, [0.0, shared, own, own], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("batch", [slice(None), torch.tensor([0, 3, 3, 5])])
@pytest.mark.parametrize(("restricted", "hidden"), [(True, (5,)), (False, (4, 3))])
def test_the_gradient_of_a_step_is_that_of_the_risk(
    batch: Any, restricted: bool, hidden: tuple[int, ...]
) -> None:
    """In float64, against autograd on the definition; 1e-12 is 5,000 roundings."""
    risk = NetworkRisk.of(bus_rows(8, 1, ends=0.1), ANCHOR, 0.9, restricted)
    fit = fit_line(risk, Options(hidden=hidden, restricted=restricted))
    curve(fit)
    at, flat = fit.evaluate(), torch.cat([layer.flatten() for layer in fit.theta])[None, None]
    found = torch.full_like(flat, torch.nan)
    theta, slopes = (views(x, fit.theta) for x in (flat.requires_grad_(), found))
    q = risk.table(theta, batch) + risk.rows.discount * at.zeta[batch]
    weights, visits = at.weights[batch], risk.rows.visits[batch]
    loss = (weights @ torch.logsumexp(q, dim=1) - (visits * q).sum()) / weights.sum()
    loss.backward()
    assert flat.grad is not None
    with torch.no_grad():
        Columns.of(risk, at, flat).gradient(theta, batch, slopes)
    assert all(float(slope.abs().max()) > 1e-6 for slope in slopes)
    torch.testing.assert_close(found, flat.grad, rtol=1e-12, atol=1e-12)


def test_cross_validation_by_blocks_is_that_of_the_whole_matrix() -> None:
    """All pairs of kappas; 1e-6 is a thousand times RIDGE, which the whole matrix's inverse has."""
    risk = NetworkRisk.of(bus_rows(30, 2, ends=0.1), ANCHOR, 0.9, True)
    value = torch.sin(risk.z[:, 0])
    target, square = risk.arrived(value[:, None])[:, 0], float(risk.rows.times.sum())
    trials = cross_validations(risk.gram, target, square, 500.0, torch.ones_like(risk.phi[0]))
    assert [penalty[[0, -1]].tolist() for _, penalty in trials] == [
        [shared, own] for shared, own in product(COARSE_KAPPAS, repeat=2) if own >= shared
    ]
    for found, penalty in trials:
        whole = cross_validation(risk.gram, target, square, 500.0, penalty)
        assert found == pytest.approx(whole, rel=1e-6)


def test_small_numbers_are_zero_in_training_and_nowhere_else() -> None:
    tiny = torch.tensor([1e-40], dtype=torch.float32)

    def is_zero() -> bool:
        return bool((tiny == 0).all())

    def fail(*_: Any) -> None:
        seen.append(is_zero())
        raise ZeroDivisionError

    data, seen = bus_rows(10, 2), list[bool]()
    line = fit_line(NetworkRisk.of(data, ANCHOR, 0.9, True), Options(hidden=(4,)))
    for context in (nullcontext, without_denormals):
        with context():
            with patch.object(NetworkFit, "evaluate", fail), pytest.raises(ZeroDivisionError):
                train(line, 1, Options(hidden=(4,)))
            assert is_zero() == (context is without_denormals)
    assert seen == [True, True]
    assert not is_zero()


def test_the_ridge_of_the_plug_in_follows_its_value_twice() -> None:
    """V = r_A - log pi_A + beta zeta_A, by repeated regressions; r and zeta give it as logsumexp Q.

    0.9^300 is 2e-14, of values below 100.
    """
    risk = NetworkRisk.of(bus_rows(30, 2, ends=0.1), ANCHOR, 0.9, True)
    odds = torch.zeros_like(risk.rows.visits)
    odds[:, 0] = 2 - risk.z[:, 0]
    drift = -5.0 - torch.log_softmax(odds, dim=1)[:, 1]
    ridge, values = torch.linalg.cholesky(risk.gram + torch.eye(len(risk.gram)).double()), []
    for _ in range(3):
        values.append(drift)
        for _ in range(300):
            w = risk.regress(ridge, values[-1][:, None]).reshape(3, -1)
            values[-1] = drift + 0.9 * risk.zeta(w)[:, 1]
        before, ridge = ridge, risk.ridge(values[-1])
    factor, w, value, reward = risk.plug_in(odds)
    torch.testing.assert_close(factor, before)
    torch.testing.assert_close(value, values[-1])
    assert (values[-1] - values[0]).abs().max() > 1e-2  # the first ridge would not do
    q = reward + 0.9 * risk.zeta(w)
    torch.testing.assert_close(torch.logsumexp(q, dim=1), value)
    torch.testing.assert_close(q[:, 0] - q[:, 1], odds[:, 0])


@pytest.mark.parametrize(
    ("losses", "steps"),
    [
        ((10.0, 10 - 5.41), 0),  # 2.71 nats for each of two inputs
        ((10.0, 10 - 5.43), 50),
        ((10.0, 1.0, 2.35, 2.36), 100),  # the last that is within half of it
    ],
)
def test_steps_are_those_after_which_held_out_rows_lost_nothing(
    losses: tuple[float, ...], steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(fit: NetworkFit, steps: int, _: Options, held_out: Any = None) -> History:
        fit.steps += steps * (held_out is None)
        return History(losses)

    monkeypatch.setattr("gladius.own_data.erm.observations.network.train", train)
    states = np.random.default_rng(0).normal(size=(100, 2))
    data = Transitions(states, np.arange(100) % 2, states[::-1], np.arange(100) // 10)
    assert fit(data, **SMALL).diagnostics.iterations == steps


def test_a_path_that_ended_has_no_next_value_and_one_cut_short_has() -> None:
    """r is constant, so its level says which: r = log(1 / p - 1) of the anchor's 0 in any case.

    Maintaining leads to the end with probability 1 - g, replacing never ends the path. With V
    constant in s, log-odds = r + beta (g - 1) V, V = log(1 + exp(log-odds)) + beta V.
    """
    rng = np.random.default_rng(3)
    states, after = rng.integers(-2, 3, size=(2, 8_000, 1)).astype(float)
    actions = (rng.uniform(size=8_000) < 0.4).astype(np.int64)
    done = (actions == 0) & (rng.uniform(size=8_000) < 0.5)
    labels = np.repeat(np.arange(80), 100)
    odds = np.log(0.6 / 0.4)

    def value(v: float) -> float:
        return float(np.logaddexp(odds, 0.0)) + 0.9 * v - v

    v = brentq(value, -100.0, 100.0)
    for ended, expected in ((done, odds + 0.9 * 0.5 * v), (np.zeros_like(done), odds)):
        data = Transitions(states, actions, after, labels, ended, 2)
        estimate = fit(data, anchor_reward=0.0, **SMALL)
        rewards = estimate.reward(np.array([[-1.0], [0.0], [1.0]]), 0)
        np.testing.assert_allclose(rewards, expected, atol=0.35)
        assert (0.9 * 0.5 * v) > 3.0  # what taking an end for a cut costs


def test_it_reaches_the_reward_of_a_curved_world() -> None:
    engine = gladius.BusEngine(maintenance=lambda x: -x - 0.6 * np.sin(x))
    data = engine.simulate(300, np.random.default_rng(5))
    line = fit(data, discount=0.95, steps=0)
    bent = fit(data, discount=0.95, hidden=(20,), steps=1500, learning_rate=5e-3)
    assert bent.diagnostics.iterations > 0
    assert line.diagnostics.status == "not_converged"  # training did not end by itself
    assert mape(bent, data, engine.reward) < 0.6 * mape(line, data, engine.reward)
    assert mape(bent, data, engine.reward) < 3.0


def test_early_stopping_sees_rows_that_were_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial's trajectories, those that judge it, and those of the fit that follows."""
    data = bus_rows(40, 6)
    trajectories: list[set[int]] = []

    group = Rows.of

    def spy(data: Transitions, *arguments: Any) -> Rows:
        trajectories.append(set(data.trajectory))
        return group(data, *arguments)

    monkeypatch.setattr(Rows, "of", spy)
    fit(data, **SMALL)
    trained, held_out, everyone = trajectories
    assert everyone == trained | held_out == set(data.trajectory)
    assert len(held_out) == 8
    assert not trained & held_out


def test_choices_that_are_chance_where_they_judge_keep_the_line() -> None:
    """So the network's steps are chosen by the held-out rows, not by those trained on."""
    engine = gladius.BusEngine(maintenance=lambda x: -x - 0.6 * np.sin(x))
    data = engine.simulate(200, np.random.default_rng(5))
    _, held = hold_out(data, 0)
    judges = np.isin(data.trajectory, held.trajectory)
    coins = np.random.default_rng(6).integers(0, 2, len(data))
    options: dict[str, Any] = {"discount": 0.95, "hidden": (20,), "steps": 600}
    options["learning_rate"] = 5e-3
    steps = [
        fit(
            replace(data, actions=np.where(spoilt, coins, data.actions)), **options
        ).diagnostics.iterations
        for spoilt in (np.zeros_like(judges), judges)
    ]
    assert steps[0] > 0
    assert steps[1] == 0


def test_the_same_seed_gives_the_same_bytes_in_batches_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gladius.own_data.erm.observations.network.BATCH", 200)
    rng = np.random.default_rng(9)
    states = rng.normal(size=(1_000, 1))
    actions = (rng.logistic(size=1_000) < 2 * states[:, 0] ** 2 - 2).astype(np.int64)
    data = Transitions(states, actions, rng.normal(size=(1_000, 1)), np.arange(1_000) // 50)
    grid = rng.normal(size=(9, 1))
    again = [fit(data, hidden=(6,), steps=200, seed=seed) for seed in (0, 0, 1)]
    assert again[0].diagnostics.iterations > 0
    assert again[0].q(grid).tobytes() == again[1].q(grid).tobytes()
    assert again[0].q(grid).tobytes() != again[2].q(grid).tobytes()


def test_unrestricted_it_has_the_policy_of_behavioural_cloning() -> None:
    """Neither s', nor beta, nor the anchor's reward enters it; in the restricted form all do."""
    data = bus_rows(60, 10)
    shuffled = np.random.default_rng(0).permutation(len(data))
    elsewhere = Transitions(
        data.states, data.actions, data.next_states[shuffled], data.trajectory, data.done, 2
    )
    grid = np.arange(1.0, 9.0)[:, None]
    for restricted in (False, True):
        first = fit(data, restricted=restricted, **SMALL)
        other = fit(elsewhere, anchor_reward=-2.0, discount=0.8, restricted=restricted, **SMALL)
        changed = np.abs(first.policy(grid) - other.policy(grid)).max()
        assert (changed > 1e-3) == restricted
        assert changed < 1e-12 or restricted
        pairs = zip(first.reward_function.theta, other.reward_function.theta, strict=True)
        assert all(np.array_equal(*pair) for pair in pairs) != restricted
        np.testing.assert_allclose(first.reward(grid, 1), -5.0)


def test_an_action_hardly_ever_taken_does_not_explode() -> None:
    """One long path, on which the rare action is taken some ten times."""
    rng = np.random.default_rng(13)
    states, actions = np.zeros((501, 2)), np.zeros(500, dtype=np.int64)
    for t in range(500):
        odds = np.exp([0.0, states[t, 0], states[t, 1] - 4.0])
        actions[t] = rng.choice(3, p=odds / odds.sum())
        push = np.array([0.1, -0.1, 0.3])[actions[t]]
        states[t + 1] = 0.9 * states[t] + push + 0.1 * rng.normal(size=2)
    data = Transitions(states[:-1], actions, states[1:], number_of_actions=3)
    estimate = fit(data, anchor_action=0, anchor_reward=0.0, discount=0.95, **SMALL)
    assert 0 < np.sum(actions == 2) < 10
    assert "zeta was not solved for" not in str(estimate.diagnostics.extra["not_ok_because"])
    assert np.ptp(estimate.q(states)) < 60.0
