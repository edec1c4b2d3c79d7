"""The public code's IQ-learn and BC against autograd on raw rows and torch's own AdamW."""

import numpy as np
import pandas as pd
import plain_training as plain
import pytest
import torch
from bus_engine import rngs
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor

from gladius.designs.bus import BusEngine
from gladius.panel.record import Transitions
from gladius.paper import author, training
from gladius.paper import author_baselines as baselines
from gladius.paper.author_baselines import BC, HOW, IQ_LEARN
from gladius.paper.rows import room
from gladius.paper.training import TRUNK, Layout, Q
from gladius.validate import InputError

BETA = 0.95


@st.composite
def buses(draw: st.DrawFn) -> Transitions:
    """Mileages and one dummy whose values repeat; batches of 32 or 64 of up to 70 trajectories."""
    n = draw(st.integers(1, 70))
    mileages = arrays(np.float64, n, elements=st.integers(1, 20).map(float))
    dummies = arrays(np.float64, n, elements=st.integers(-1, 1).map(float))
    states, following = (np.column_stack([draw(mileages), draw(dummies)]) for _ in range(2))
    actions = draw(arrays(np.int64, n, elements=st.integers(0, 1)))
    return Transitions(states, actions, following, np.arange(n), number_of_actions=2)


def reward(method: str, layout: Layout, theta: Tensor, rows: plain.Rows) -> Tensor:
    """(n,) r as the public code reads it off, observation by observation."""
    q = plain.outputs(layout, theta, rows.states)[1]
    if method == BC:
        ahead = torch.logsumexp(plain.outputs(layout, theta, rows.next_states)[1], dim=1)
    else:
        values = []
        for miles in (1, 2, 3, 3):
            after = rows.states.clone()
            after[:, 0] = (after[:, 0] + miles).clamp(max=20)
            after[rows.actions == 1, 0] = 1
            values.append(torch.logsumexp(plain.outputs(layout, theta, after)[1], dim=1))
        ahead = torch.stack(values).mean(dim=0)
    return q.gather(1, rows.actions[:, None])[:, 0] - BETA * ahead


def loss(method: str, layout: Layout, theta: Tensor, rows: plain.Rows) -> Tensor:
    if method == BC:
        return torch.nn.functional.cross_entropy(
            plain.outputs(layout, theta, rows.states)[1], rows.actions
        )
    renewed = rows.states.clone()
    renewed[:, 0] = 1
    value = torch.logsumexp(plain.outputs(layout, theta, renewed)[1], dim=1).mean()
    return ((1 - BETA) * value - reward(method, layout, theta, rows).mean()).abs()


def in_batches(method: str, data: Transitions) -> list[plain.Rows]:
    label = torch.tensor(pd.factorize(data.trajectory)[0] // HOW[method].batch_trajectories)
    rows = plain.rows_of(data, plain.Anchor(1, -5.0))
    return [plain.Rows(*(x[label == i] for x in rows)) for i in range(int(label.max()) + 1)]


@settings(max_examples=40)
@given(data=st.data(), one=buses(), method=st.sampled_from([IQ_LEARN, BC]))
def test_losses_and_gradients_are_those_of_autograd(
    data: st.DataObject, one: Transitions, method: str
) -> None:
    layout = Layout(TRUNK, 2, (3, 2), 2)
    theta = data.draw(arrays(np.float64, layout.size, elements=st.floats(-2, 2)))
    whole = torch.tensor(theta, requires_grad=True)
    found = baselines.weighted(method, one, BETA)
    learner = training.training(layout, theta, int(np.diff(found.state_ends).max()))
    part, plain_rows = slice(*layout.ends[Q]), in_batches(method, one)
    assert len(found.state_ends) - 1 == len(plain_rows)
    for i, rows in enumerate(plain_rows):
        of = slice(*found.state_ends[i : i + 2])
        states = found.states[of]
        hidden = training.hidden_room(learner.hidden, len(states))
        at = room(learner.at, len(states))
        training.evaluate(learner.model, states, hidden, at, Q)
        value = baselines.slope(found.value[of], found.chosen[of], at)
        training.pull_back(learner.model, learner.slopes, states, hidden, at, Q)
        plain_loss = loss(method, layout, whole, rows)
        (slope,) = torch.autograd.grad(plain_loss, whole)
        assert value == pytest.approx(plain_loss.item(), rel=1e-10, abs=1e-10)
        if value > 1e-9:  # at a zero the sign is that of rounding
            scale = max(1.0, float(slope.abs().max()))
            np.testing.assert_allclose(learner.gradient[part], slope[part], atol=1e-10 * scale)


@pytest.mark.parametrize("dummies", [0, 2])
@pytest.mark.parametrize("method", [IQ_LEARN, BC])
def test_a_training_is_the_plain_one(method: str, dummies: int) -> None:
    """Two repetitions of three epochs of two batches: rates, moments, clipping and errors."""
    world = BusEngine(horizon=12, dummies=dummies)
    data, test = (world.simulate(n, rng) for n, rng in zip((70, 40), rngs(2, seed=5), strict=True))
    layout = author.layout_of(data, author.Options(units=7))
    start = author.initial(layout, author.LEVEL, rngs(1)[0])
    start *= 3.0 if method == BC else 1.0  # so that clipping decides
    found, losses = baselines.train(
        method, data, BETA, layout, start, test, world.reward, epochs=3, repetitions=2
    )
    part, theta = slice(*layout.ends[Q]), torch.tensor(start.copy())
    moving = theta[part].clone().requires_grad_()
    stepper = torch.optim.AdamW([moving], 1e-3, weight_decay=1e-4)
    trace, means, clipped = [], [], 0
    for epoch in [*range(3)] * 2:
        errors = []
        for rows in in_batches(method, test):
            r = reward(method, layout, theta, rows)
            right = torch.tensor(world.reward(rows.states.numpy(), rows.actions.numpy()))
            errors.append(100 * ((r - right) / right).abs().mean().item())
        trace.append(np.mean(errors))
        of_epoch = []
        for rows in in_batches(method, data):
            whole = torch.cat([theta[: part.start], moving, theta[part.stop :]])
            value = loss(method, layout, whole, rows)
            stepper.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]  # torch has no types here
            if method == BC:
                assert moving.grad is not None
                clipped += int((moving.grad.abs() > 1.01).any())
                torch.nn.utils.clip_grad_value_([moving], 1.01)
                stepper.param_groups[0]["lr"] = 1e-3 / (1 + 1e-4 * epoch)
            stepper.step()
            theta[part] = moving.detach()
            of_epoch.append(value.item())
        means.append(np.mean(of_epoch))
    assert np.ptp(trace) > 1e-3  # it moved
    assert clipped > 0 or method == IQ_LEARN
    # 12 steps of AdamW of at most .001 each amplify rounding of 1e-16 far less than 1e-9
    np.testing.assert_allclose(found.ravel(), trace, rtol=1e-9)
    np.testing.assert_allclose(losses.ravel(), means, rtol=1e-8)


def test_what_the_public_code_does_not_know_is_refused() -> None:
    data = BusEngine(horizon=5).simulate(2, 0)
    done = np.arange(len(data)) % 5 == 4
    ended = Transitions(data.states, data.actions, data.next_states, data.trajectory, done, 2)
    with pytest.raises(InputError, match="an end of a path"):
        baselines.weighted(BC, ended, BETA)
    layout = author.layout_of(data, author.Options(units=7))
    with pytest.raises(InputError, match="method"):
        baselines.train(
            "gail", data, BETA, layout, np.zeros(layout.size), data, BusEngine().reward, epochs=1
        )
