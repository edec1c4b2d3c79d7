"""GLADIUS with an exact inner step on batches: its steps against full batches and raw rows."""

import math
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bus_engine import ANCHOR, KNOWN
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from interrupted import check_that_it_goes_on
from scipy.special import logsumexp
from strategies import transitions

import gladius
from gladius.designs.bus import BusEngine
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.paper import batches, max_oracle
from gladius.paper.training import TRUNK, Layout, Q, training
from gladius.validate import Array, InputError

PROTOCOL: dict[str, Any] = {"protocol": "max_oracle_batches"}
BETA, UNITS, ACTIONS = 0.9, 3, 3
LAYOUT = Layout(TRUNK, 2, (UNITS, UNITS), ACTIONS)
EIGHTHS = st.integers(-16, 16).map(lambda k: k / 8)
DATA = transitions(elements=st.integers(-3, 3).map(float), width=2)
THETA = arrays(np.float64, LAYOUT.size, elements=EIGHTHS)


def reward_of_state(states: Array) -> Array:
    return np.asarray(1.0 - 0.5 * states[:, 0])


def anchor_of(data: Transitions) -> Anchor:
    return Anchor(int(data.actions[0]), reward_of_state)


def standardised(data: Transitions) -> max_oracle.Standardised:
    return max_oracle.Standardised.of(data, np.arange(data.states.shape[1]))


def cut(data: Transitions, size: int, anchor: Anchor, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return batches.cut(data, standardised(data), anchor, np.float64, size, rng)


def prepared(data: Transitions, theta: Array, size: int, **options: Any) -> Any:
    """(work, batches) before a step."""
    given, anchor = batches.Options(units=UNITS, **options), anchor_of(data)
    found = cut(data, size, anchor)
    layout = Layout(TRUNK, data.states.shape[1], (UNITS, UNITS), data.number_of_actions)
    return batches.prepared(found, layout, theta, anchor.action, BETA, given), found


def whole_step(data: Transitions, theta: Array, **options: Any) -> Any:
    """(work, the risk's size) of the step of full batches."""
    anchor = anchor_of(data)
    batch = standardised(data).batch(data, anchor, np.float64)
    layout = Layout(TRUNK, data.states.shape[1], (UNITS, UNITS), data.number_of_actions)
    tables = np.zeros((2, len(batch.states), layout.actions))
    given = max_oracle.Options(units=UNITS, **options)
    learner = training(layout, theta, len(batch.states))
    work = max_oracle.Work(learner, batch, *tables, anchor.action, BETA, given)
    return work, max_oracle.descent_slope(work)


def assert_same(found: Any, expected: Any) -> None:
    """To 1e-10 of the largest: the gradient, and all parameters but zeta's head.

    Where h is the same in all rows, that head rests on the regression's ridge, and its direction on
    rounding. Zeta is the same at the rows, and enters the gradient.
    """
    own = slice(*found.ends[Q])
    pairs = [(x.gradient, x.parameters[own]) for x in (found, expected)]
    for a, b in zip(*pairs, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * (1 + np.abs(b).max()))


@settings(max_examples=40)
@given(data=DATA, theta=THETA, ridge=st.sampled_from([0.0, 0.5]), absolute=st.booleans())
def test_a_batch_of_all_rows_is_the_step_of_full_batches(
    data: Transitions, theta: Array, ridge: float, absolute: bool
) -> None:
    """Ends of paths, actions that never occur, an anchor's reward that depends on the state."""
    options = {"ridge": ridge, "absolute": absolute}
    work, (batch,) = prepared(data, theta, len(data), **options)
    learner = batches.at_batch(work, batch)
    batches.average(work, learner, batch)
    batches.solve(work, learner)
    losses = batches.batch_slope(work, learner, batch)
    expected, risk = whole_step(data, theta, **options)
    assert_same(learner, expected.learner)
    rows = batch.state, batch.action
    zeta = expected.learner.at.zeta[rows]
    most = 1e-10 * (1 + np.abs(zeta).max())
    np.testing.assert_allclose(learner.at.zeta[rows], zeta, rtol=0, atol=most)
    assert losses[0] + abs(losses[1]) == pytest.approx(risk, rel=1e-10, abs=1e-10)


@settings(max_examples=40)
@given(data=DATA, theta=THETA, size=st.integers(1, 6))
def test_averages_over_a_pass_are_those_of_raw_rows(
    data: Transitions, theta: Array, size: int
) -> None:
    """With the share of the rows so far as weight, which is 1/t where batches are equal."""
    work, found = prepared(data, theta, size)
    for batch in found:
        batches.average(work, batches.at_batch(work, batch), batch)
    one = max_oracle.Trained(LAYOUT, theta, 0.0, 0.0, 0, False).head(0.0)
    centre, scale = standardised(data)[1:]

    def q_and_x(states: Array) -> tuple[Array, Array]:
        z = (states - centre) / scale
        hidden = np.maximum(z @ one.weight_1 + one.bias_1, 0.0)
        hidden = np.maximum(hidden @ one.weight_2 + one.bias_2, 0.0)
        return hidden @ one.head + one.level, np.column_stack([hidden, np.ones(len(z))])

    (q, x), goes_on = q_and_x(data.states), ~data.done
    value = np.where(goes_on, logsumexp(q_and_x(data.next_states)[0], axis=1), 0.0)
    for a in range(ACTIONS):
        own = (data.actions == a).astype(float) / len(data)
        for mean, expected in (
            (work.means.square[a], (x * own[:, None]).T @ x),
            (work.means.value[a], (own * value) @ x),
            (work.means.ahead[a], (own * goes_on) @ x),
        ):
            np.testing.assert_allclose(mean, expected, rtol=1e-10, atol=1e-10)
    own = data.actions == data.actions[0]
    gap = q[:, data.actions[0]] - reward_of_state(data.states) - BETA * value
    expected = [np.mean(own * y) for y in (gap, goes_on, np.ones(len(data)))]
    np.testing.assert_allclose(work.means.anchor, expected, rtol=1e-10, atol=1e-10)
    assert work.means.rows[0] == pytest.approx(len(data))


@settings(max_examples=40)
@given(data=DATA, theta=THETA, size=st.integers(1, 6))
def test_the_last_gradient_is_that_of_all_rows(data: Transitions, theta: Array, size: int) -> None:
    """However small the batches are; and the averages have moved with the level to the new one."""
    work, found = prepared(data, theta, size)
    risk = batches.slope(work, found)
    expected, least = whole_step(data, theta)
    assert_same(work.learner, expected.learner)
    assert risk == pytest.approx(least, rel=1e-9, abs=1e-9)
    whole = expected.batch.states.T @ expected.learner.at.slope
    np.testing.assert_allclose(work.line, whole, rtol=0, atol=1e-9 * (1 + np.abs(whole).max()))
    moved = work.means.value.copy()
    work.means.rows[:] = 0.0
    for batch in found:
        batches.average(work, batches.at_batch(work, batch), batch)
    np.testing.assert_allclose(moved, work.means.value, rtol=1e-9, atol=1e-9)
    assert work.means.anchor[0] == pytest.approx(0.0, abs=1e-9 * (1 + np.abs(moved).max()))


@pytest.fixture(scope="module")
def data() -> Transitions:
    return BusEngine(horizon=12, dummies=1).simulate(12, 5)


def start_and_layout(found: Any, options: Any, width: int = 2) -> tuple[Array, Layout]:
    layout = Layout(TRUNK, width, (options.units, options.units), 2)
    rng = np.random.default_rng(0)
    whole = batches.all_rows(found)
    return max_oracle.start_of(layout, whole, 0.95, options, rng), layout


def test_a_training_on_one_batch_is_that_on_full_batches(data: Transitions) -> None:
    (batch,) = found = cut(data, len(data), ANCHOR)
    options = batches.Options(units=UNITS, steps=20, tolerance=1e-9)
    start, layout = start_and_layout(found, options)
    one = batches.train(found, layout, start, 1, 0.95, options)
    same = {name: getattr(options, name) for name in ("units", "steps", "rate", "tolerance")}
    full = max_oracle.Options(**same)
    expected = max_oracle.train(batch, layout, start, 1, 0.95, full)
    np.testing.assert_allclose(one.parameters, expected.parameters, rtol=1e-8, atol=1e-8)
    assert one.gradient == pytest.approx(expected.gradient, rel=1e-6)
    assert one.line == pytest.approx(expected.line, rel=1e-6)
    assert (one.steps, one.converged) == (20, False)


def test_networks_start_where_those_of_full_batches_do(data: Transitions) -> None:
    options = batches.Options(units=UNITS)
    small, (whole,) = cut(data, 10, ANCHOR), cut(data, len(data), ANCHOR)
    rng = np.random.default_rng(0)
    layout = Layout(TRUNK, 2, (UNITS, UNITS), 2)
    expected = max_oracle.start_of(layout, whole, 0.95, options, rng)
    np.testing.assert_allclose(start_and_layout(small, options)[0], expected, rtol=1e-12)


@given(data=DATA, size=st.integers(1, 9), seed=st.integers(0, 3))
def test_each_row_is_in_one_batch(data: Transitions, size: int, seed: int) -> None:
    found = cut(data, size, anchor_of(data), seed)
    numbers = [float(batch.number.sum()) for batch in found]
    assert sum(numbers) == len(data)
    assert max(numbers) <= size
    assert max(numbers) - min(numbers) <= 1
    for batch in found:  # in each the losses are means
        np.testing.assert_allclose(batch.share * batch.number.sum(), 1.0)
    for a in range(data.number_of_actions):
        taken = sum(batch.number[batch.action == a].sum() for batch in found)
        assert taken == np.sum(data.actions == a)


@given(number=st.integers(1, 9), steps=st.integers(1, 30), seed=st.integers(0, 3))
def test_steps_take_more_batches_as_the_rate_falls(number: int, steps: int, seed: int) -> None:
    """One at first, all at the end; each pass takes every batch once, in its own order."""
    found = list(batches.turns(number, steps, (seed,)))
    assert len(found) == steps
    assert (found[0][0], len(found[0][1])) == (1.0, 1)
    for fall, taken in found:
        assert len(taken) == min(number, math.ceil(1 / fall))
    every = np.concatenate([taken for _, taken in found])
    passes = every[: len(every) // number * number].reshape(-1, number)
    assert (np.sort(passes, axis=1) == np.arange(number)).all()
    if steps == 30:
        assert len(found[-1][1]) == number


def test_memory_is_that_of_a_batch() -> None:
    peaks = []
    for paths in (20, 160):
        data = BusEngine(horizon=25, dummies=1).simulate(paths, 7)
        found, options = cut(data, 250, ANCHOR), batches.Options(steps=3)
        start, layout = start_and_layout(found, options)
        tracemalloc.start()
        batches.train(found, layout, start, 1, 0.95, options)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_an_interrupted_fit_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Transitions
) -> None:
    def trained(checkpoint: Path | None) -> bytes:
        options = {"steps": 9, "trial_steps": 4, "units": 6, "starts": 2, "batch": 40}
        (found,) = batches.fit([data], ANCHOR, 0.95, checkpoint=checkpoint, **options)
        return found.q(data.states).tobytes() + found.reward_function(data.states).tobytes()

    # within a trial, and within a pass of a last training
    check_that_it_goes_on(trained, tmp_path, monkeypatch, 3, 18)


def test_the_gradient_of_all_rows_says_whether_it_converged() -> None:
    data = BusEngine().simulate(50, 11)
    known = {**PROTOCOL, **KNOWN, "batch": 1000, "steps": 5}
    found = gladius.fit(data, "gladius", **known)
    assert found.diagnostics.status == "not_converged"
    assert found.diagnostics.gradient_norm > 0.01 / np.sqrt(len(data))
    assert gladius.fit(data, "gladius", **known, tolerance=1e5).diagnostics.status == "ok"


def test_a_blow_up_is_a_result() -> None:
    data = BusEngine().simulate(20, 11)
    known = {**PROTOCOL, **KNOWN, "batch": 500, "steps": 50, "starts": 1}
    found = gladius.fit(data, "gladius", **known, rate=1e30)
    assert found.diagnostics.status != "ok"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch", 0),
        ("batch", 1.5),
        ("ascents", 1),
        ("closed_level", False),
        ("block_moments", False),
        ("rate", 0.0),
        ("batches", 3),
    ],
)
def test_a_bad_option_is_refused_before_any_work(
    name: str, value: Any, monkeypatch: pytest.MonkeyPatch, data: Transitions
) -> None:
    monkeypatch.setattr(batches, "train", None)
    with pytest.raises(InputError) as caught:
        gladius.fit(data, "gladius", **PROTOCOL, **KNOWN, **{name: value})
    assert caught.value.field == ("option" if name == "batches" else name)
