"""Behavioural cloning: the policy it learns, and the reward that its loss does not identify."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp
from strategies import transitions

import gladius
from gladius.anchor import Anchor
from gladius.baselines import bc
from gladius.checks import InputError
from gladius.networks import initial, scaling
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
ANCHOR = Anchor(1, -5.0)
GRID = BUS.mdp.features
SHORT = bc.Training(steps=300)
LEVELS = st.integers(-400, 400).map(lambda n: n / 8)


def table(values: Array, states: Array) -> Any:
    """A function of (n, 1) features given by rows for the sorted distinct states."""
    known = np.unique(states)
    return lambda new: values[np.searchsorted(known, new[:, 0])]


@given(
    arrays(np.float64, (6, 3), elements=LEVELS),
    arrays(np.float64, (6, 1), elements=LEVELS),
    arrays(np.float64, (6, 3), elements=st.integers(0, 9).map(float)),
)
def test_the_loss_does_not_see_a_function_of_the_state(q: Array, c: Array, n: Array) -> None:
    assume(n.sum() > 0)
    before, after = (bc.negative_log_likelihood(x, n) for x in (q, q + c))
    assert after == pytest.approx(before, rel=1e-12, abs=1e-12)
    assert before == pytest.approx(-np.sum(n * log_softmax(q, axis=1)) / n.sum(), rel=1e-12)


@given(transitions(elements=st.integers(0, 5).map(float), actions=2, width=1), st.data())
def test_a_function_of_the_state_moves_only_the_network_gauge(
    data: Transitions, draw: st.DataObject
) -> None:
    assume(len(np.unique(data.actions)) == 2)
    states = np.concatenate([data.states, data.next_states])
    grid = np.unique(states)[:, None]
    q = draw.draw(arrays(np.float64, (len(grid), 2), elements=LEVELS.map(lambda x: x / 10)))
    c = draw.draw(arrays(np.float64, (len(grid), 1), elements=LEVELS))
    for gauge in bc.GAUGES:
        _, before = bc.read_off(table(q, states), data, 0.9, gauge)
        _, after = bc.read_off(table(q + c, states), data, 0.9, gauge)
        pairs = sorted({(s, a) for s, a in zip(data.states[:, 0], data.actions, strict=True)})
        for s, a in pairs:
            at = np.array([[s]])
            rows = (data.states[:, 0] == s) & (data.actions == a)
            here, there = (np.searchsorted(grid[:, 0], x) for x in (s, data.next_states[rows, 0]))
            ends = data.done[rows]
            moved = c[here, 0] - 0.9 * np.mean(np.where(ends, 0.0, c[there, 0]))
            if gauge == "network":
                v = np.where(ends, 0.0, logsumexp(q[there], axis=1))
                assert before(at)[0, a] == pytest.approx(q[here, a] - 0.9 * v.mean(), abs=1e-9)
            expected = moved if gauge == "network" else 0.0
            assert after(at)[0, a] - before(at)[0, a] == pytest.approx(expected, abs=1e-9)


def test_the_gauges_are_what_they_say() -> None:
    data = BUS.simulate(20, np.random.default_rng(0))
    raw = BUS.mdp.solution.q + 7.0
    zero, reward = bc.read_off(table(raw, GRID), data, 0.95, "zero_value")
    np.testing.assert_allclose(logsumexp(zero(GRID), axis=1), 0.0, atol=1e-12)
    seen = np.unique(data.states)[:, None]
    np.testing.assert_allclose(
        reward(seen), np.log(BUS.mdp.solution.policy)[: len(seen)], atol=1e-9
    )
    mean, _ = bc.read_off(table(raw, GRID), data, 0.95, "mean_zero")
    np.testing.assert_allclose(mean(GRID).sum(axis=1), 0.0, atol=1e-12)
    # even the true Q returns the true reward only at its own level, off by (1 - beta) 7 here;
    # replacement leads to mileage 1 for sure, so its mean is free of sampling error
    _, shifted = bc.read_off(table(raw, GRID), data, 0.95, "network")
    np.testing.assert_allclose(shifted(seen)[:, 1], -5.0 + 0.05 * 7.0, atol=1e-9)


@pytest.mark.parametrize("activation", bc.ACTIVATIONS)
def test_the_policy_approaches_the_frequencies(activation: str) -> None:
    data = BUS.simulate(200, np.random.default_rng(1))
    how = bc.Training(activation=activation, steps=2000)
    estimate = bc.fit([data], ANCHOR, 0.95, training=how)[0]
    states, n = np.unique(data.states[:, 0], return_counts=True)
    often = states[n > 500]
    frequency = np.array([np.mean(data.actions[data.states[:, 0] == x] == 1) for x in often])
    # 2 x 10 units bend often enough for five states, not for each rare one
    np.testing.assert_allclose(estimate.policy(often)[:, 1], frequency, atol=0.02)
    picked = estimate.policy(data.states)[np.arange(len(data)), data.actions]
    assert estimate.diagnostics.nll == pytest.approx(-np.log(picked).mean())
    untrained = bc.fit([data], ANCHOR, 0.95, training=bc.Training(steps=1))[0]
    assert estimate.diagnostics.nll < untrained.diagnostics.nll - 0.05


def test_the_level_is_the_one_at_the_start() -> None:
    """What the paper's column rests on: training keeps the level, a level c moves r by (1-b) c."""
    data = BUS.simulate(20, np.random.default_rng(2))
    plain, low = (
        bc.fit([data], ANCHOR, 0.95, training=bc.Training(steps=300, output_bias=level))[0]
        for level in (0.0, -55.0)
    )
    moved = low.reward_function(GRID) - plain.reward_function(GRID)
    np.testing.assert_allclose(moved, -55.0 * 0.05, atol=1e-6)
    np.testing.assert_allclose(low.policy(GRID), plain.policy(GRID), atol=1e-6)
    # with two actions Adam moves the two heads by opposite steps
    start = initial(np.random.default_rng(5), (1, 10, 10, 2), 0.0)
    fitted, _ = bc.train([data], SHORT, [np.random.default_rng(5)])
    head, bias = fitted[0].layers[-2:]
    np.testing.assert_allclose(head.sum(axis=1), start[-2].sum(dim=1).numpy(), atol=1e-9)
    np.testing.assert_allclose(bias.sum(), start[-1].sum().item(), atol=1e-9)
    assert np.max(np.abs(head - start[-2].numpy())) > 0.01


@pytest.mark.parametrize(("level", "expected"), [(0.0, 99.8), (-55.0, 81.8)])
def test_the_level_sets_the_size_of_the_column(level: float, expected: float) -> None:
    """MAPE at the true choice probabilities, weighted as in the data, in `network`."""
    mdp = BUS.mdp
    log_policy = np.log(mdp.solution.policy)
    q = log_policy - log_policy.mean(axis=1, keepdims=True) + level
    reward = q - 0.95 * (mdp.transition @ logsumexp(q, axis=1)).T
    error = np.sum(mdp.occupancy(100) * np.abs((reward - mdp.reward) / mdp.reward))
    assert 100 * error == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    "how", [SHORT, bc.Training(steps=200, batch=64), bc.Training(steps=200, validation=0.25)]
)
def test_replications_together_are_as_alone(how: bc.Training) -> None:
    data = BUS.simulate(8, [np.random.default_rng([3, i]) for i in range(4)])

    def rngs() -> list[np.random.Generator]:
        return [np.random.default_rng([4, i]) for i in range(4)]

    together = bc.fit(data, ANCHOR, 0.95, rng=rngs(), training=how)
    for one, rng, batch in zip(data, rngs(), together, strict=True):
        alone = bc.fit([one], ANCHOR, 0.95, rng=[rng], training=how)[0]
        # rounding differs with the size of the batch and grows over the steps
        np.testing.assert_allclose(batch.q(GRID), alone.q(GRID), atol=1e-6)
        assert batch.diagnostics.iterations == alone.diagnostics.iterations
    apart = [estimate.q(GRID) for estimate in together]
    assert np.max(np.abs(apart[0] - apart[1])) > 1e-3


def test_seeds_are_reproducible_and_different() -> None:
    data = [BUS.simulate(5, np.random.default_rng(6))] * 2
    first, second, other = (
        [e.q(GRID) for e in bc.fit(data, ANCHOR, 0.95, rng=seed, training=SHORT)]
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert np.max(np.abs(first[0] - other[0])) > 1e-3
    assert np.max(np.abs(first[0] - first[1])) > 1e-3  # the same data, another start


def test_gradient_is_that_of_the_loss() -> None:
    data = [BUS.simulate(6, np.random.default_rng([7, i])) for i in range(2)]
    how = bc.Training(activation="tanh")
    x, share = bc._stack(data, [scaling(d.states, True) for d in data])
    starts = [initial(np.random.default_rng(i), (1, 10, 10, 2), 0.0) for i in range(2)]
    theta = [torch.stack(parts) for parts in zip(*starts, strict=True)]
    gradient = bc._gradient(theta, x, share, how)
    for part, slope in zip(theta, gradient, strict=True):
        at = (1, part.shape[1] - 1, part.shape[2] // 2)
        values = []
        for step in (1e-6, -1e-6):
            part[at] += step
            values.append(bc._losses(theta, x, share, how)[1].item())
            part[at] -= step
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(slope[at].item(), abs=1e-7)


def test_adam_is_the_library_s() -> None:
    data = [BUS.simulate(6, np.random.default_rng(8))]
    start = initial(np.random.default_rng(9), (1, 10, 10, 2), 0.0)
    how = bc.Training(steps=120, tolerance=1e-30)
    fitted, _ = bc.train(data, how, [np.random.default_rng(9)])
    x, share = bc._stack(data, [scaling(data[0].states, False)])
    layers = [torch.nn.Linear(a, b, dtype=torch.float64) for a, b in ((1, 10), (10, 10), (10, 2))]
    with torch.no_grad():
        for layer, weight, bias in zip(layers, start[::2], start[1::2], strict=True):
            layer.weight.copy_(weight.T)
            layer.bias.copy_(bias[0])
    net = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    adam = torch.optim.Adam(net.parameters(), lr=how.learning_rate)
    for t in range(how.steps):
        adam.param_groups[0]["lr"] = how.learning_rate * (1 - t / how.steps)
        adam.zero_grad()
        loss = -(share[0] * torch.log_softmax(net(x[0]), dim=1)).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    expected = net(torch.from_numpy(GRID)).detach().numpy()
    np.testing.assert_allclose(fitted[0](GRID), expected, atol=1e-8)


def test_convergence_means_a_small_gradient() -> None:
    data = [BUS.simulate(50, np.random.default_rng(i)) for i in range(3)]
    how = bc.Training(activation="tanh", tolerance=1e-3)
    for estimate in bc.fit(data, ANCHOR, 0.95, training=how):
        assert estimate.diagnostics.converged
        assert estimate.diagnostics.gradient_norm <= 1e-3
        assert estimate.diagnostics.iterations < how.steps
    cut = bc.fit(data, ANCHOR, 0.95, training=bc.Training(steps=10, tolerance=1e-9))
    assert {e.diagnostics.status for e in cut} == {"not_converged"}


def test_early_stopping_keeps_the_best_parameters() -> None:
    data = BUS.simulate(30, np.random.default_rng(10))
    how = bc.Training(activation="tanh", validation=0.3, patience=3, steps=1000)
    estimate = bc.fit([data], ANCHOR, 0.95, rng=[np.random.default_rng(0)], training=how)[0]
    _, held = data.split(0.7, np.random.default_rng(0))
    picked = estimate.policy(held.states)[np.arange(len(held)), held.actions]
    reported = estimate.diagnostics.extra["validation_nll"]
    assert reported == pytest.approx(-np.log(picked).mean())
    patient = bc.Training(activation="tanh", validation=0.3, patience=10**6, steps=1000)
    longer = bc.fit([data], ANCHOR, 0.95, rng=[np.random.default_rng(0)], training=patient)[0]
    assert estimate.diagnostics.converged
    assert estimate.diagnostics.iterations < longer.diagnostics.iterations
    assert float(str(longer.diagnostics.extra["validation_nll"])) <= float(str(reported))


def test_inputs_may_be_many_and_never_repeat() -> None:
    world = BusEngine(dummies=5)
    train, test = world.simulate(10, np.random.default_rng(11)).split(0.8)
    how = bc.Training(steps=100, batch=100, standardise=True)
    estimate = gladius.fit(
        train, "bc", anchor_action=1, anchor_reward=-5.0, discount=0.95, training=how
    )
    assert np.all(np.isfinite(estimate.reward(test.states, test.actions)))
    residual = estimate.reward(train.states, train.actions)[train.actions == 1] + 5.0
    assert estimate.diagnostics.bellman_error == pytest.approx(np.sum(residual**2) / len(train))


DATA = BUS.simulate(3, np.random.default_rng(12))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"gauge": "anchored"}, "gauge"),
        ({"rng": -1}, "rng"),
        ({"rng": []}, "rng"),
        ({"rng": [3]}, "rng"),
        ({"training": {"steps": 5}}, "training"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        bc.fit([DATA], ANCHOR, 0.95, **options)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hidden", ()),
        ("hidden", (10, 0)),
        ("activation", "elu"),
        ("output_bias", float("nan")),
        ("learning_rate", 0.0),
        ("tolerance", float("inf")),
        ("steps", 0),
        ("batch", 0),
        ("patience", 2.5),
        ("validation", 1.0),
    ],
)
def test_bad_training_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        bc.Training(**{field: value})
    assert caught.value.field == field


def test_an_action_without_data_has_no_reward() -> None:
    three = Transitions(DATA.states, DATA.actions, DATA.next_states, number_of_actions=3)
    estimate = bc.fit([three], ANCHOR, 0.95, training=bc.Training(steps=5))[0]
    rewards = estimate.reward_function(GRID)
    np.testing.assert_array_equal(np.isnan(rewards), [[False, False, True]] * 20)
    np.testing.assert_allclose(estimate.policy(GRID).sum(axis=1), 1.0)
