"""GLADIUS with an exact inner step: both solved steps against independent formulas, and fits."""

from dataclasses import replace
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
from gladius.designs.metrics import mape, percentage_error
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.paper import batches, max_oracle
from gladius.paper.rows import PRINTED
from gladius.paper.training import TRUNK, ZETA, Layout, Q, gradient, training
from gladius.validate import Array, InputError

PROTOCOL: dict[str, Any] = {"protocol": "max_oracle"}
BETA, UNITS = 0.9, 3


def reward_of_state(states: Array) -> Array:
    return np.asarray(1.0 - 0.5 * states[:, 0])


def after_solving(data: Transitions, anchor: Anchor, theta: Array, ridge: float = 0.0) -> Any:
    """(work, functions of raw states) after steps 1 and 2 from the parameters theta."""
    inputs = max_oracle.Standardised.of(data, np.arange(data.states.shape[1]))
    batch = inputs.batch(data, anchor, np.float64)
    layout = Layout(TRUNK, len(inputs.columns), (UNITS, UNITS), data.number_of_actions)
    learner = training(layout, theta, len(batch.states))
    tables = np.zeros((2, len(batch.states), layout.actions))
    options = max_oracle.Options(units=UNITS, ridge=ridge)
    work = max_oracle.Work(learner, batch, *tables, anchor.action, BETA, options)
    max_oracle.descent_slope(work)
    one = max_oracle.Trained(layout, learner.parameters, 0.0, 0.0, 0, False)
    q, r = (max_oracle.Averaged((one.head(x),), *inputs) for x in (0.0, -BETA))
    net = one.head(0.0)
    z = (data.states - inputs.centre) / inputs.scale
    hidden = np.maximum(z @ net.weight_1 + net.bias_1, 0.0)
    return work, q, r, np.maximum(hidden @ net.weight_2 + net.bias_2, 0.0)


EIGHTHS = st.integers(-16, 16).map(lambda k: k / 8)  # no weight at which squares underflow
DATA = transitions(elements=st.integers(-3, 3).map(float), width=2)
THETA = arrays(np.float64, Layout(TRUNK, 2, (UNITS, UNITS), 3).size, elements=EIGHTHS)


@settings(max_examples=40)
@given(DATA, THETA)
def test_both_solved_steps_are_what_raw_rows_say(data: Transitions, theta: Array) -> None:
    """Ends of paths, actions that never occur, an anchor's reward that depends on the state."""
    anchor = Anchor(int(data.actions[0]), reward_of_state)
    _, q, r, hidden = after_solving(data, anchor, theta)
    rows = np.arange(len(data))
    value = np.where(data.done, 0.0, logsumexp(q(data.next_states), axis=1))
    zeta = (q(data.states) - r(data.states))[rows, data.actions] / BETA
    for action in set(data.actions.tolist()):
        own = data.actions == action
        centred = hidden[own] - hidden[own].mean(axis=0)
        target = value[own] - value[own].mean()
        head = np.linalg.lstsq(centred, target, rcond=None)[0]
        least = float(np.sum((target - centred @ head) ** 2))
        square = float(np.sum(hidden[own] ** 2)) / UNITS
        penalty = max_oracle.CLEAR * square * float(head @ head)
        found = float(np.sum((value[own] - zeta[own]) ** 2))
        # a ridge regression's loss is below that of least squares plus the ridge's value there
        assert least - 1e-7 <= found <= least + penalty + 1e-7 * (1 + np.abs(value).max() ** 2)
        assert np.mean(value[own] - zeta[own]) == pytest.approx(0, abs=1e-8 * np.abs(value).max())
    own = data.actions == anchor.action
    gap = r(data.states)[own, anchor.action] - reward_of_state(data.states[own])
    assert np.mean(gap) == pytest.approx(0.0, abs=1e-8 * (1 + np.abs(value).max()))


@settings(max_examples=20)
@given(DATA, THETA)
def test_the_ridge_is_that_of_both_layers(data: Transitions, theta: Array) -> None:
    anchor = Anchor(int(data.actions[0]), reward_of_state)
    slopes, model = [], None
    for ridge in (0.0, 0.5):
        work, *_ = after_solving(data, anchor, theta, ridge)
        slopes.append(work.learner.slopes.q)
        model = work.learner.model.q
    assert model is not None
    for name in slopes[0]._fields:
        weight = getattr(model, name) if name.startswith("weight") else 0.0
        added = getattr(slopes[1], name) - getattr(slopes[0], name)
        scale = 1 + np.abs(getattr(slopes[0], name)).max(initial=0.0)
        np.testing.assert_allclose(added, 0.5 * weight + 0.0 * added, atol=1e-10 * scale)


@settings(max_examples=40)
@given(DATA, THETA)
def test_the_gradient_in_a_line_is_the_risk_s_derivative(data: Transitions, theta: Array) -> None:
    """A central difference of the risk of raw rows where Q has a line more, zeta fixed."""
    anchor = Anchor(int(data.actions[0]), reward_of_state)
    work, q, r, _ = after_solving(data, anchor, theta)
    of_rows = np.arange(len(data)), data.actions
    zeta, own = (q(data.states) - r(data.states)) / BETA, data.actions == anchor.action
    centre, scale = max_oracle.Standardised.of(data, np.arange(2))[1:]

    def risk(slope: Array) -> float:
        now, after = (q(x) + (x - centre) / scale @ slope for x in (data.states, data.next_states))
        value = np.where(data.done, 0.0, logsumexp(after, axis=1))
        loss = logsumexp(now, axis=1) - now[of_rows]
        td = reward_of_state(data.states) + BETA * value - now[of_rows]
        return float(np.mean(loss + own * (td**2 - BETA**2 * (value - zeta[of_rows]) ** 2)))

    found = work.batch.states.T @ work.learner.at.slope
    step = 1e-4
    most = 1e-6 * (1 + np.abs(q(data.states)).max() ** 2)
    for index in np.ndindex(*found.shape):
        more = np.zeros(found.shape)
        more[index] = step
        expected = (risk(more) - risk(-more)) / (2 * step)
        assert found[index] == pytest.approx(expected, rel=1e-6, abs=most)


@pytest.fixture(scope="module")
def data() -> Transitions:
    return BusEngine().simulate(200, 11)


@pytest.mark.parametrize("protocol", [max_oracle, batches])
def test_a_network_that_lost_its_inputs_is_not_converged(protocol: Any, data: Transitions) -> None:
    """Its units are off in all states, its choice probabilities the shares: no gradient is left.

    Where choices do not depend on the state this is the truth, and it is `ok`.
    """
    inputs, shares = max_oracle.Standardised.of(data, np.arange(1)), np.bincount(data.actions)
    layout, options = Layout(TRUNK, 1, (UNITS, UNITS), 2), protocol.Options(units=UNITS, steps=1)
    start = np.zeros(layout.size)
    layout.blocks(start).q.bias_2[:] = -1.0
    layout.blocks(start).q.level[:] = np.log(shares / len(data))
    any_action = np.random.default_rng(0).permutation(data.actions)
    for actions, is_right in ((data.actions, False), (any_action, True)):
        one = replace(data, actions=actions)
        batch = inputs.batch(one, ANCHOR, np.float64)
        given = [batch] if protocol is batches else batch
        trained = protocol.train(given, layout, start, 1, 0.95, options)
        assert trained.gradient < 1e-6
        z = (one.states[:, 0] - inputs.centre) / inputs.scale
        mean = np.mean(z * ((one.actions == 1) - np.mean(one.actions == 1)))
        assert trained.line == pytest.approx(abs(mean))
        assert trained.converged is is_right


def test_a_network_that_half_lost_its_inputs_is_not_ok(data: Transitions) -> None:
    """Ten steps of zeta; its likelihood beats the shares of actions by far, its gradient is 0.

    Rounding decides which start ends so, so that starts are tried until one does.
    """
    share, root = np.bincount(data.actions) / len(data), np.sqrt(len(data))

    def is_half_lost(fit: gladius.Results) -> bool:
        gain = -share @ np.log(share) - fit.diagnostics.extra["risks"][0]
        is_flat = fit.diagnostics.gradient_norm < 0.01 / root
        is_far = mape(fit, data, BusEngine().reward) > 20
        return bool(is_flat and is_far and 2 * len(data) * gain > 1000)  # chi-squared

    more = {"ascents": 10, "starts": 1}
    fits = (gladius.fit(data, "gladius", **PROTOCOL, **KNOWN, **more, rngs=k) for k in range(99))
    found = next(fit for fit in fits if is_half_lost(fit))
    assert found.diagnostics.status == "not_converged"
    assert found.diagnostics.extra["lines"][0] > 1 / root


def test_on_a_table_it_is_the_plug_in(data: Transitions) -> None:
    """The minimum of the risk over all tables is the plug-in's, and 50 units can fit 20 states."""
    found = gladius.fit(data, "gladius", **PROTOCOL, **KNOWN)
    expected = gladius.fit(data, "plug_in", **KNOWN)
    pairs = data.pairs()
    ours, theirs = (one.reward(pairs.states, pairs.actions) for one in (found, expected))
    assert percentage_error(ours, theirs, pairs.weights) < 0.3  # the data set's own error is 3.4
    error = [mape(one, data, BusEngine().reward) for one in (found, expected)]
    assert error[0] == pytest.approx(error[1], abs=0.3)
    assert found.diagnostics.status in ("ok", "not_converged")
    is_small = found.diagnostics.gradient_norm <= 0.01 / np.sqrt(len(data))
    assert found.diagnostics.converged == is_small
    assert found.diagnostics.gradient_norm < 1e-3


def test_a_head_of_zeta_that_still_moves_is_not_converged(data: Transitions) -> None:
    """Q's gradient is as small as the tolerance asks, zeta's head after one step of Adam is not."""
    inputs = max_oracle.Standardised.of(data, np.arange(1))
    options = max_oracle.Options(units=UNITS, steps=1, ascents=1, rate=1e-9, tolerance=0.5)
    batch, layout = inputs.batch(data, ANCHOR, np.float64), Layout(TRUNK, 1, (UNITS, UNITS), 2)
    start = max_oracle.start_of(layout, batch, 0.95, options, np.random.default_rng(0))
    trained = max_oracle.train(batch, layout, start, 1, 0.95, options)
    learner = training(layout, start, len(batch.states))
    gradient(learner, batch, ZETA, 1, 0.95, PRINTED)
    heads = np.abs(learner.gradient[: layout.ends[Q][0]]).max()
    assert trained.gradient >= 0.99 * heads > 0.5 / np.sqrt(len(data))
    assert not trained.converged


def test_without_steps_to_converge_it_says_so(data: Transitions) -> None:
    found = gladius.fit(data, "gladius", **PROTOCOL, **KNOWN, steps=5)
    assert found.diagnostics.status == "not_converged"
    assert found.diagnostics.gradient_norm > 0.01 / np.sqrt(len(data))
    loose = {"steps": 5, "tolerance": 1e5}
    assert gladius.fit(data, "gladius", **PROTOCOL, **KNOWN, **loose).diagnostics.status == "ok"


def test_single_precision_changes_rounding_alone(data: Transitions) -> None:
    """The condition of zeta's regression is at most 1 / CLEAR, which magnifies the rounding."""
    known = {**PROTOCOL, **KNOWN, "steps": 5}
    fits = [gladius.fit(data, "gladius", **known, single=x) for x in (False, True)]
    r = [found.reward_function(data.states) for found in fits]
    most = float(np.finfo(np.float32).eps) / max_oracle.CLEAR * np.abs(r[0]).max()
    assert 0 < np.abs(r[0] - r[1]).max() < most


@given(losses=st.lists(st.integers(0, 9).map(float) | st.just(np.nan), min_size=1, max_size=6))
def test_held_out_trajectories_stop_a_training(losses: list[float]) -> None:
    """100 steps, 200, 400, ... as long as the loss falls, and no more than are allowed."""
    tried = list[int]()

    class Trials(max_oracle.Trainer):
        def trial(self, data: Any, columns: Any, name: int, steps: int) -> Any:
            assert name == 7 + len(tried)
            tried.append(steps)
            return None, np.array([losses[len(tried) - 1], 1.0])

    most = 100 * 2 ** (len(losses) - 1)
    options = max_oracle.Options(steps=most, stop=True)
    steps = Trials(ANCHOR, 0.95, options, 0, None, "").stop(None, None, 7)  # type: ignore[arg-type]
    falls = 1
    while falls < len(losses) and losses[falls] < losses[falls - 1]:
        falls += 1
    assert steps == (50 if np.isnan(losses[0]) else 100 * 2 ** (falls - 1))


def test_a_stopped_training_has_the_steps_that_were_chosen() -> None:
    data = BusEngine(horizon=12, dummies=1).simulate(12, 5)
    known = {**PROTOCOL, **KNOWN, "units": 6, "starts": 1, "select": False}
    few = gladius.fit(data, "gladius", **known, steps=7, stop=True)
    assert few.diagnostics.iterations == 7
    many = gladius.fit(data, "gladius", **known, steps=400, stop=True)
    again = gladius.fit(data, "gladius", **known, steps=many.diagnostics.iterations)
    np.testing.assert_array_equal(*(x.reward_function(data.states) for x in (many, again)))


def test_inputs_that_do_not_matter_are_left_out() -> None:
    """Held-out trajectories choose; the estimate does not depend on what was left out."""
    data = BusEngine(dummies=3).simulate(100, 3)
    found = gladius.fit(data, "gladius", **PROTOCOL, **KNOWN, steps=50)
    assert found.diagnostics.extra["inputs"] == (0,)
    states = np.array([[5.0, 1.0, 2.0, 3.0], [5.0, -400.0, 0.5, 9.0]])
    np.testing.assert_array_equal(*found.reward_function(states))
    sizes = [size for size, _ in found.diagnostics.extra["tried"]]
    assert sizes == [4, 2, 1]
    keep = {"select": False, "steps": 5}
    every = gladius.fit(data, "gladius", **PROTOCOL, **KNOWN, **keep)
    assert every.diagnostics.extra["inputs"] == (0, 1, 2, 3)
    assert np.ptp(every.reward_function(states)[:, 0]) > 0


def test_an_interrupted_fit_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = BusEngine(horizon=12, dummies=1).simulate(12, 5)

    def trained(checkpoint: Path | None) -> bytes:
        options = {"steps": 9, "trial_steps": 4, "units": 6, "starts": 2}
        (found,) = max_oracle.fit([data], ANCHOR, 0.95, checkpoint=checkpoint, **options)
        return found.q(data.states).tobytes() + found.reward_function(data.states).tobytes()

    # within a trial, and within a last training
    check_that_it_goes_on(trained, tmp_path, monkeypatch, 3, 30)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("units", 0),
        ("starts", 1.5),
        ("steps", 0),
        ("trial_steps", 0),
        ("ascents", -1),
        ("rate", 0.0),
        ("tolerance", -1e-3),
        ("select", 1),
        ("absolute", "yes"),
        ("single", 1),
        ("stop", 0),
        ("ridge", -1.0),
        ("ridge", [0.0, 1e-3]),
        ("start_level", np.nan),
        ("unit", 3),
    ],
)
def test_a_bad_option_is_refused_before_any_work(
    name: str, value: Any, monkeypatch: pytest.MonkeyPatch, data: Transitions
) -> None:
    monkeypatch.setattr(max_oracle, "train", None)
    with pytest.raises(InputError) as caught:
        gladius.fit(data, "gladius", **PROTOCOL, **KNOWN, **{name: value})
    assert caught.value.field == ("option" if name == "unit" else name)


def test_an_anchor_too_rare_to_hold_rows_out_is_refused() -> None:
    states, actions = np.arange(10.0), np.zeros(10, np.int64)
    actions[-1] = 1
    both = np.column_stack([states, states**2])
    data = Transitions(both, actions, both + 1.0, np.zeros(10, np.int64), number_of_actions=2)
    with pytest.raises(InputError, match="select=False") as caught:
        gladius.fit(data, "gladius", **PROTOCOL, **KNOWN)
    assert caught.value.field == "anchor_action"
