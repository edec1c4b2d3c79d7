"""The `author` protocol against a slow, plain one: autograd, raw rows, torch's own AdamW."""

import warnings
from typing import Any

import numpy as np
import plain_training as plain
import pytest
import torch
from bus_engine import rngs, with_ends

import gladius
from gladius.designs.bus import BusEngine
from gladius.designs.metrics import mape
from gladius.model.estimate import Estimate
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.paper import author
from gladius.solvers.compiled import IS_COMPILED
from gladius.validate import InputError

ANCHOR, DISCOUNT, REWARD = 1, 0.95, -5.0
ANCHORED = Anchor(ANCHOR, REWARD)
BUS = BusEngine(horizon=12)
SMALL = author.Options(units=7, batch_trajectories=3, dtype=np.float64)


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("dummies", [0, 2])
@pytest.mark.parametrize("ends", [False, True])
def test_whole_sequence_of_steps_is_that_of_the_plain_implementation(
    absolute: bool, dummies: int, ends: bool, uncompiled: None
) -> None:
    """Two passes, on counts and on observations; the anchor's reward depends on the state."""
    world = BusEngine(horizon=12, dummies=dummies)
    data, test = world.simulate(11, rngs(2, seed=5))  # 4 batches of 3, 3, 3, 2 trajectories
    data = with_ends(data) if ends else data
    anchor = Anchor(ANCHOR, lambda states: -4.0 - states[:, 0] / 10)
    options = author.Options(
        absolute=absolute,
        epochs=4,
        units=7,
        batch_trajectories=3,
        dtype=np.float64,
        repetitions=2,
        risk_every=3,
    )
    layout = author.layout_of(data, options)
    start = author.initial(layout, author.LEVEL, rngs(1)[0])
    passes = author.train(data, anchor, DISCOUNT, options, start, test=test, truth=world.reward)
    theta, states = torch.tensor(start.copy()), torch.tensor(test.states)
    kind, trace, risks, tables = "absolute" if absolute else "printed", [], [], []
    label = np.repeat(np.arange(4), [36, 36, 36, 24])
    for _ in plain.train(layout, theta, data, anchor, DISCOUNT, 3, 4, kind, repetitions=2):
        zeta, q = (x.numpy() for x in plain.outputs(layout, theta, states))
        chosen = (q - DISCOUNT * zeta)[np.arange(len(test)), test.actions]
        off = np.abs(chosen / world.reward(test.states, test.actions) - 1)
        trace.append(100 * np.mean([off[label == i].mean() for i in range(4)]))
        tables.append((q, zeta))
        losses = []
        for of in (data, test):
            rows = plain.rows_of(of, anchor)
            nll, term = plain.descent(layout, theta, rows, anchor, DISCOUNT, "printed")
            losses.append([x.mean().item() for x in (nll, term, term.abs())])
        risks.append(losses)
    assert np.ptp(trace) > 1e-3  # it moved
    # 40 steps of AdamW of at most .001 each amplify rounding of 1e-16 far less than 1e-8
    np.testing.assert_allclose(np.concatenate([one.trace for one in passes]), trace, rtol=1e-8)
    for k, one in enumerate(passes):
        of_pass = trace[4 * k : 4 * k + 4]
        ends_at = one.best.epoch, one.before_last.epoch, one.last.epoch
        assert ends_at == (int(np.argmin(of_pass)), 3, 4)
        for chosen_at in (one.best, one.before_last):
            q, zeta = tables[4 * k + chosen_at.epoch]
            np.testing.assert_allclose(chosen_at.combination(0.0)(test.states), q, rtol=1e-8)
            r = chosen_at.combination(-DISCOUNT)(test.states)
            np.testing.assert_allclose(r, q - DISCOUNT * zeta, rtol=1e-7)
        looked = [risks[4 * k], risks[4 * k + 3]]
        np.testing.assert_allclose(one.risks, looked, rtol=1e-8, atol=1e-8)
    zeta, q = (x.numpy() for x in plain.outputs(layout, theta, states))
    np.testing.assert_allclose(passes[1].last.combination(0.0)(test.states), q, rtol=1e-8)
    whole, rows = theta.requires_grad_(), plain.rows_of(data, anchor)
    nll, term = plain.descent(layout, whole, rows, anchor, DISCOUNT, kind)
    (slope,) = torch.autograd.grad(nll.mean() + term.mean(), whole)
    assert passes[1].last.gradient == pytest.approx(float(slope.abs().max()), rel=1e-7)


@pytest.mark.skipif(not IS_COMPILED, reason="numba is not installed")
def test_compiled_and_plain_trainings_are_equal_to_rounding(
    split: tuple[list[Transitions], list[Transitions]], request: pytest.FixtureRequest
) -> None:
    """In float32, whose spacing near 55 is 4e-6."""
    found = run_short(*split, epochs=4)
    request.getfixturevalue("uncompiled")
    expected = run_short(*split, epochs=4)
    states = split[0][0].states
    for one, other in zip(found, expected, strict=True):
        assert getattr(one.best, "epoch", None) == getattr(other.best, "epoch", None)
        assert one.best is not None
        for name in ("last", "best"):
            ours, plainly = (getattr(x, name).combination(-DISCOUNT)(states) for x in (one, other))
            np.testing.assert_allclose(ours, plainly, atol=2e-5)  # five units of -55


@pytest.fixture(scope="module")
def split() -> tuple[list[Transitions], list[Transitions]]:
    sets = [one.split(0.8) for one in BUS.simulate(20, rngs(3, seed=9))]
    return [s[0] for s in sets], [s[1] for s in sets]


def run_short(
    train: list[Transitions], test: list[Transitions] | None, **options: Any
) -> list[author.Pass]:
    oracle = None if test is None else author.Oracle(test, BUS.reward)
    settings = {"epochs": 30, "units": 8, "batch_trajectories": 4, **options}
    return author.run(train, ANCHORED, DISCOUNT, rngs=rngs(3), oracle=oracle, **settings)


def test_oracle_takes_the_epoch_of_smallest_true_error(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    train, test = split
    result = run_short(train, test)
    path = np.zeros((29, 3))
    for i in range(29):
        early = run_short(train, None, epochs=i + 1)
        path[i] = errors(author.estimates(train, early, ANCHORED, DISCOUNT, "last"), test)
    reported = errors(author.estimates(train, result, ANCHORED, DISCOUNT, "oracle"), test)
    epochs = np.array([one.best.epoch for one in result])
    is_trained = epochs > 0  # else the untrained network is better than all others
    assert is_trained.any()
    np.testing.assert_array_equal(epochs[is_trained], 1 + path.argmin(0)[is_trained])
    np.testing.assert_allclose(reported[is_trained], path.min(0)[is_trained], rtol=1e-4)
    assert np.all(reported <= path.min(0) * (1 + 1e-4))


def errors(estimates: list[Estimate], test: list[Transitions]) -> np.ndarray:
    """Test MAPEs; 4 test trajectories are one batch, so that the code's mean is the overall one."""
    return np.array([mape(e, t, BUS.reward) for e, t in zip(estimates, test, strict=True)])


def test_estimates_extend_to_unseen_states_and_tell_divergence(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    train, _ = split
    trained = run_short(train, None, epochs=2)
    estimate = author.estimates(train, trained, ANCHORED, DISCOUNT, "last")[1]
    assert estimate.q(np.array([[20.0], [31.5]])).shape == (2, 2)
    assert estimate.diagnostics.status == "not_converged"
    assert not estimate.diagnostics.converged
    choices = -np.log(estimate.policy(train[1].states)[np.arange(len(train[1])), train[1].actions])
    assert estimate.diagnostics.nll == pytest.approx(choices.mean(), rel=1e-6)
    trained[1].last.parameters[0] = np.nan
    broken = author.estimates(train, trained, ANCHORED, DISCOUNT, "last")
    found = [e.diagnostics.status for e in broken]
    assert found == ["not_converged", "diverged", "not_converged"]


def test_a_unit_with_a_positive_bias_is_not_left_out() -> None:
    layout = author.layout_of(BUS.simulate(2, 0), SMALL)
    start = author.initial(layout, 0.0, rngs(1)[0])
    model = layout.blocks(start)
    model.q.weight_1[0, :2], model.q.bias_1[:2] = -1.0, (9.0, 0.0)
    smaller, alive = author.without_dead_units(layout, start)
    assert smaller.units[0] == 1 + int((model.q.weight_1 > 0).sum())
    states = np.arange(1.0, 9.0)[:, None]
    whole, reduced = (
        author.Selection(0, 0.0, of, x).combination(-DISCOUNT)(states)
        for of, x in ((layout, start), (smaller, alive))
    )
    np.testing.assert_allclose(whole, reduced, rtol=1e-12)


def test_losses_that_are_asked_for_are_handed_over(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    options = {"epochs": 5, "units": 4, "batch_trajectories": 4, "risk_every": 2}
    (found,) = author.fit(split[0][:1], ANCHORED, DISCOUNT, **options)
    assert np.shape(found.diagnostics.extra["risks"]) == (3, 2, 3)


def test_a_single_batch_is_warned_of_for_it_never_steps_q(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    """Q's head stays as it was, and only the trunk below it moves."""
    data = split[0][0]
    options = {"epochs": 3, "units": 4, "dtype": np.float64}
    with pytest.warns(UserWarning, match=r"data set 1 is one batch.*batch_trajectories"):
        both = author.fit(
            [BUS.simulate(20, 0), data], ANCHORED, DISCOUNT, batch_trajectories=16, **options
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        author.fit([data], ANCHORED, DISCOUNT, batch_trajectories=15, **options)
    settings = author.Options(batch_trajectories=16, **options)
    layout = author.layout_of(data, settings)
    start = author.initial(layout, author.LEVEL, rngs(1)[0])
    (trained,) = author.train(data, ANCHORED, DISCOUNT, settings, start)
    layout, start = author.without_dead_units(layout, start)
    before, after = (layout.blocks(x) for x in (start, trained.last.parameters))
    np.testing.assert_array_equal(after.q.head, before.q.head)
    assert not np.array_equal(after.zeta.head, before.zeta.head)
    assert {x.diagnostics.status for x in both} == {"not_converged"}


def test_the_door_refuses_the_last_data_set_before_it_trains_the_first(
    split: tuple[list[Transitions], list[Transitions]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, one = split[0][0], split[0][1]
    never = Transitions(one.states, np.zeros_like(one.actions), one.next_states, one.trajectory)
    large = Transitions(one.states + 2.0**24, one.actions, one.next_states, one.trajectory)
    monkeypatch.setattr(author, "train", None)
    options: dict[str, Any] = {"batch_trajectories": 4}
    with pytest.raises(InputError, match=r"data set 1, batch 1.*never occurs"):
        author.fit([first, never], ANCHORED, DISCOUNT, **options)
    with pytest.raises(InputError, match=r"float32, data set 1"):
        author.fit([first, large], ANCHORED, DISCOUNT, **options)


@pytest.mark.parametrize("protocol", ["author", "printed"])
def test_the_door_takes_observations_whose_states_never_repeat(protocol: str) -> None:
    """Three actions, ends, an anchor's reward by state; the same seed gives the same numbers."""
    rng = np.random.default_rng(0)
    states = rng.normal(size=(240, 3))
    data = Transitions(
        states,
        rng.integers(0, 3, 240),
        rng.normal(size=(240, 3)),
        np.repeat(np.arange(12), 20),
        np.arange(240) % 20 == 19,
        3,
    )
    options: dict[str, Any] = {"epochs": 3, "batch_trajectories": 4}
    if protocol == "printed":
        options = {"iterations": 30, "batch": 50}

    def fitted() -> Any:
        return gladius.fit(
            data,
            "gladius",
            protocol=protocol,
            anchor_action=2,
            anchor_reward=lambda x: -1.0 - x[:, 0] ** 2,
            discount=0.9,
            **options,
        )

    first, second = fitted(), fitted()
    assert first.diagnostics.status == "not_converged"
    assert first.diagnostics.iterations == (3 if protocol == "author" else 30)
    assert first.diagnostics.gradient_norm > 0
    new = rng.normal(size=(5, 3))
    assert first.reward(new, 1).shape == (5,)
    assert np.isfinite(first.reward_function(new)).all()
    assert first.reward_function(new).tobytes() == second.reward_function(new).tobytes()


def test_bad_input_is_named(split: tuple[list[Transitions], list[Transitions]]) -> None:
    train, test = split
    with pytest.raises(InputError, match="rng"):
        author.run(train, ANCHORED, DISCOUNT, rngs=rngs(2))
    with pytest.raises(InputError, match=r"oracle\.test"):
        run_short(train, test[:1])
    with pytest.raises(InputError, match="dtype"):
        run_short(train, None, dtype=np.int64)
    with pytest.raises(InputError, match="dtype"):
        run_short(train, None, dtype=np.dtype("float32"))
    with pytest.raises(InputError, match="oracle"):
        author.run(train, ANCHORED, DISCOUNT, oracle=3)  # type: ignore[arg-type]
    large = Transitions(train[0].states + 2.0**24, train[0].actions, train[0].next_states)
    with pytest.raises(InputError, match="float32"):
        author.run([large], ANCHORED, DISCOUNT)
    alone = run_short(train, None, epochs=1)
    with pytest.raises(InputError, match="where the run had an oracle"):
        author.estimates(train, alone, ANCHORED, DISCOUNT, "oracle")
    with pytest.raises(InputError, match="risk_every"):
        run_short(train, None, risk_every=-1)
    never = Transitions(
        train[0].states, np.zeros_like(train[0].actions), train[0].next_states, train[0].trajectory
    )
    with pytest.raises(InputError, match="start"):
        author.train(train[0], ANCHORED, DISCOUNT, SMALL, np.zeros(3))
    with pytest.raises(InputError, match="never occurs"):
        author.run([never], ANCHORED, DISCOUNT, rngs=rngs(1), batch_trajectories=4)
    zero = author.Oracle(test, lambda states, actions: np.zeros(len(states)))
    with pytest.raises(InputError, match=r"oracle\.truth"):
        author.run(train, ANCHORED, DISCOUNT, rngs=rngs(3), oracle=zero, batch_trajectories=4)
