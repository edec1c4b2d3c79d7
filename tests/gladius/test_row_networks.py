"""The network on rows: its gradient, what ends a path, what training may see, and its control."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.special import logsumexp

import gladius
from gladius.anchor import Anchor
from gladius.baselines import bc
from gladius.checks import Array, InputError
from gladius.metrics import mape
from gladius.network_risk import NetworkRisk, network, zeta_of
from gladius.objective import sampled_risk
from gladius.row_networks import Fit, Options, begin, hold_out, train
from gladius.transitions import Transitions

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
    return gladius.fit(data, **{**KEYS, "function_class": "mlp_rows", **options})


def bent(fit: Fit) -> None:
    """Weights of the last layer that are not zero."""
    last = fit.theta[-3]
    last += torch.linspace(-0.5, 0.5, last.numel(), dtype=last.dtype).reshape(last.shape)


@pytest.mark.parametrize("restricted", [True, False])
def test_the_slope_is_the_derivative_of_the_risk(restricted: bool) -> None:
    """Through zeta too: against differences of the risk, w solved for anew."""
    options = Options(hidden=(5,), restricted=restricted)
    fit = begin(
        NetworkRisk.of(bus_rows(8, 1, ends=0.1), ANCHOR, 0.9, options.restricted, "cpu"), options
    )
    bent(fit)
    table, risk = fit.risk.table(fit.theta), fit.risk
    slope = risk.slope(fit.evaluate())
    held_fixed = risk.seen[:, None] * fit.evaluate().policy - risk.rows.visits
    assert torch.equal(slope, held_fixed) != restricted  # zeta's share is not nothing
    step = 1e-4
    for state in range(len(table)):
        ends = []
        for sign in (1.0, -1.0):
            moved = table.clone()
            moved[state, 0] += sign * step
            ends.append(risk.evaluate(moved, fit.w, fit.factor).nll)
        numeric = (ends[0] - ends[1]) / (2 * step)
        assert float(slope[state, 0]) == pytest.approx(numeric, rel=1e-4, abs=1e-4)


def test_zeta_is_the_ridge_regression_and_the_bellman_term_is_zero() -> None:
    """Row by row, with nothing grouped: V' - zeta is orthogonal to zeta's functions up to H."""
    options = Options(hidden=(5,))
    data = bus_rows(30, 2, ends=0.1)
    fit = begin(NetworkRisk.of(data, ANCHOR, 0.9, options.restricted, "cpu"), options)
    bent(fit)
    fit.evaluate()

    def q_and_zeta(states: Array) -> tuple[Array, Array, Array]:
        given = torch.tensor(states)
        z = (given - torch.tensor(fit.risk.center)) / torch.tensor(fit.risk.scale)
        phi = torch.stack([features(given) for features in fit.risk.features], dim=1)
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
    assert line.diagnostics.status == "not_converged"  # the held-out rows had no say
    assert mape(bent, data, engine.reward) < 0.6 * mape(line, data, engine.reward)
    assert mape(bent, data, engine.reward) < 3.0


def test_early_stopping_sees_rows_that_were_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial's trajectories, those that judge it, and those of the fit that follows."""
    data = bus_rows(40, 6)
    told: list[set[int]] = []

    def watched(asked: Callable[..., NetworkRisk]) -> Callable[..., NetworkRisk]:
        def spy(*given: Any) -> NetworkRisk:
            told.extend(set(part.trajectory) for part in given if isinstance(part, Transitions))
            return asked(*given)

        return spy

    for name in ("of", "on"):
        monkeypatch.setattr(NetworkRisk, name, watched(getattr(NetworkRisk, name)))
    fit(data, **SMALL)
    trained, judged, everyone = told
    assert everyone == trained | judged == set(data.trajectory)
    assert len(judged) == 8
    assert not trained & judged


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


def test_held_out_rows_choose_the_steps_and_nothing_else_does() -> None:
    """Without them training runs to the end; with them it stops where they stop gaining."""
    data, other = bus_rows(60, 7), bus_rows(20, 8)
    options = Options(hidden=(6,), steps=2000)
    trained = begin(NetworkRisk.of(data, ANCHOR, 0.9, options.restricted, "cpu"), options)
    course = train(trained, 2000, options, trained.risk.on(other, ANCHOR))
    assert course.ended
    assert trained.steps < 2000
    free = begin(NetworkRisk.of(data, ANCHOR, 0.9, options.restricted, "cpu"), options)
    assert not train(free, 100, options).ended
    assert free.steps == 100


def test_the_same_seed_gives_the_same_bytes_in_batches_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gladius.row_networks.BATCH", 200)
    rng = np.random.default_rng(9)
    states = rng.normal(size=(1_000, 1))
    actions = (rng.logistic(size=1_000) < 2 * states[:, 0] ** 2 - 2).astype(np.int64)
    data = Transitions(states, actions, rng.normal(size=(1_000, 1)), np.arange(1_000) // 50)
    grid = rng.normal(size=(9, 1))
    again = [fit(data, hidden=(6,), steps=200, seed=seed) for seed in (0, 0, 1)]
    assert again[0].diagnostics.iterations > 0
    assert again[0].q(grid).tobytes() == again[1].q(grid).tobytes()
    assert again[0].q(grid).tobytes() != again[2].q(grid).tobytes()
    restored = pickle.loads(pickle.dumps(again[0]))
    assert restored.reward(grid, 0).tobytes() == again[0].reward(grid, 0).tobytes()


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
        moved = np.abs(first.policy(grid) - other.policy(grid)).max()
        assert (moved > 1e-3) == restricted
        assert moved < 1e-12 or restricted
        pairs = zip(first.reward_function.theta, other.reward_function.theta, strict=True)
        assert all(np.array_equal(*pair) for pair in pairs) != restricted
        np.testing.assert_allclose(first.reward(grid, 1), -5.0)


def test_unrestricted_it_fits_as_well_as_the_network_of_behavioural_cloning() -> None:
    """Two trainings of one width on the same rows, judged by rows that neither saw."""
    data, held = bus_rows(200, 14), bus_rows(100, 15)
    ours = fit(data, restricted=False, hidden=(10, 10), steps=1500, learning_rate=3e-3)
    (theirs,) = bc.fit([data], ANCHOR, 0.9)
    assert theirs.diagnostics.converged
    chosen = np.arange(len(held)), held.actions
    nll = [-np.log(e.policy(held.states)[chosen]).mean() for e in (ours, theirs)]
    coin = np.log(2.0)
    assert abs(nll[0] - nll[1]) < 0.01 * (coin - nll[1])
    often = np.unique(data.states, axis=0)[:6]  # beyond them hardly a row
    apart = np.abs(ours.policy(often) - theirs.policy(often)).max()
    assert apart < 0.03


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gives_the_same_numbers() -> None:
    data, grid = bus_rows(60, 11), np.arange(1.0, 9.0)[:, None]
    ends = [fit(data, device=device, **SMALL).q(grid) for device in ("cpu", "cuda")]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6)


def test_one_name_for_counts_and_for_rows() -> None:
    data = bus_rows(40, 12)
    wide = bus_rows(40, 12, dummies=1)
    assert gladius.fit(data, **KEYS, function_class="mlp").method == "gladius mlp"
    of_rows = gladius.fit(wide, **KEYS, function_class="mlp", **SMALL)
    assert of_rows.method == "gladius mlp_rows"
    with pytest.raises(InputError, match="choose from"):
        gladius.fit(wide, **KEYS, function_class="mlp", level="scalar")


@pytest.mark.parametrize(
    ("option", "value"),
    [("hidden", ()), ("steps", -1), ("learning_rate", 0.0), ("restricted", 1), ("device", "gpu")],
)
def test_bad_options_name_the_field(option: str, value: object) -> None:
    with pytest.raises(InputError, match=option):
        fit(bus_rows(20, 0), **{option: value})


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
    assert estimate.diagnostics.extra["zeta_settled"]
    assert np.ptp(estimate.q(states)) < 60.0
