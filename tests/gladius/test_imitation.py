"""Table 4's procedure against autograd on raw rows, with its (n, n) tables and row by row."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from plain_training import outputs
from torch import Tensor

from gladius.paper import imitation, training
from gladius.paper.author import initial
from gladius.paper.imitation import Demonstrations, Options
from gladius.paper.training import TRUNK, ZETA, Layout, Q
from gladius.validate import InputError

ACTIONS = 3
WEIGHT_DECAY, CHOICES = 1e-4, 10.0


@st.composite
def demonstrations(draw: st.DrawFn, max_rows: int = 12) -> Demonstrations:
    """Rows in no order: ends, rewards of every row, perhaps no anchor row."""
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, 3))
    numbers, flags = st.floats(-2, 2), arrays(np.bool_, n, elements=st.booleans())
    return Demonstrations(
        draw(arrays(np.float64, (n, d), elements=numbers)),
        draw(arrays(np.int64, n, elements=st.integers(0, ACTIONS - 1))),
        draw(arrays(np.float64, n, elements=numbers)),
        draw(arrays(np.float64, (n, d), elements=numbers)),
        draw(flags),
        draw(flags),
    )


def losses(
    layout: Layout, theta: Tensor, data: Demonstrations, beta: float, is_table: bool
) -> list[Tensor]:
    """[zeta's loss, Q's loss], as anyone would write them: columns (n, 1), or vectors (n,)."""
    states, reward, following = (
        torch.tensor(x, dtype=theta.dtype) for x in (data.states, data.reward, data.following)
    )
    action, ended, anchored = (torch.tensor(x) for x in (data.action, data.ended, data.anchored))
    zeta, q = (torch.nn.functional.softplus(x) for x in outputs(layout, theta, states))
    after = torch.nn.functional.softplus(outputs(layout, theta, following)[1])
    v = torch.where(ended, torch.zeros_like(reward), torch.logsumexp(after, dim=1))
    own, expected = (x.gather(1, action[:, None]) for x in (q, zeta))
    if not is_table:
        own, expected = own[:, 0], expected[:, 0]
    gap = (v.detach() - expected) ** 2
    term = (own - reward - beta * v) ** 2 - beta**2 * (v - expected.detach()) ** 2
    choice = torch.nn.functional.cross_entropy(q, action)
    return [gap.mean(), CHOICES * choice + (term[anchored].abs().mean() if anchored.any() else 0.0)]


@settings(max_examples=60)
@given(
    draws=st.data(),
    data=demonstrations(),
    is_table=st.booleans(),
    beta=st.sampled_from([1.0, 0.95, 0.3]),
    level=st.sampled_from([0.0, 1.0, -10.0, 100.0]),
)
def test_gradients_of_both_losses_are_those_of_autograd(
    draws: st.DataObject, data: Demonstrations, is_table: bool, beta: float, level: float
) -> None:
    n, d = data.states.shape
    layout = Layout(TRUNK, d, (4, 3), ACTIONS)
    theta = draws.draw(arrays(np.float64, layout.size, elements=st.floats(-2, 2)))
    model = layout.blocks(theta)
    model.q.level[:] += level
    model.zeta.level[:] += level
    whole = torch.tensor(theta, requires_grad=True)
    learner = training.training(layout, theta, 2 * n)
    into = imitation.empty(n, d, np.float64)
    order = draws.draw(st.permutations(range(n)))
    batch = imitation.gather(data, np.array(order), into)
    for own, loss in zip((ZETA, Q), losses(layout, whole, data, beta, is_table), strict=True):
        imitation.gradient(learner, batch, own, beta, is_table)
        (slope,) = torch.autograd.grad(loss, whole, retain_graph=True)
        part = slice(*layout.ends[own])
        scale = max(1.0, float(slope.abs().max()))
        np.testing.assert_allclose(learner.gradient[part], slope[part], atol=1e-10 * scale)
        rest = slope.clone()
        rest[part] = 0.0
        assert not rest.any()


def plain_training(
    layout: Layout, theta: Tensor, data: Demonstrations, options: Options, rng: np.random.Generator
) -> Tensor:
    """Whole epochs by torch's optimisers, each over its head and the trunk."""
    own = [slice(*ends) for ends in layout.ends]
    moving = [theta[part].clone().requires_grad_() for part in own]
    steppers = [torch.optim.AdamW([x], options.rate, weight_decay=WEIGHT_DECAY) for x in moving]
    rows = len(data.action)
    for epoch in range(options.epochs):
        order = rng.permutation(rows)
        for i, start in enumerate(range(0, rows, options.batch)):
            batch = Demonstrations(*(x[order[start : start + options.batch]] for x in data))
            mine, part = moving[i % 2], own[i % 2]
            with torch.no_grad():
                mine.copy_(theta[part])
            whole = torch.cat([theta[: part.start], mine, theta[part.stop :]])
            steppers[i % 2].zero_grad()
            losses(layout, whole, batch, options.discount, options.is_table)[i % 2].backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_value_([mine], options.clip)
            steppers[i % 2].param_groups[0]["lr"] = options.rate / (1 + options.decay * epoch)
            steppers[i % 2].step()
            theta[part] = mine.detach()
    return theta


def some_rows(rows: int, features: int = 4) -> Demonstrations:
    rng = np.random.default_rng(3)
    states = rng.normal(size=(rows, features))
    action, reward = rng.integers(0, ACTIONS, rows), rng.normal(size=rows)
    ended = rng.random(rows) < 0.2
    return Demonstrations(states, action, reward, states + 0.1, ended, (action == 0) | ended)


@pytest.mark.parametrize("clip", [1.0, np.inf])
@pytest.mark.parametrize("is_table", [True, False])
def test_whole_epochs_are_those_of_torch(is_table: bool, clip: float) -> None:
    """Shuffled rows, a smaller last batch, falling rates, clipped entries, four checkpoints."""
    data = some_rows(22)
    options = Options(0.95, 5, 8, 4, clip=clip, is_table=is_table, dtype=np.float64)
    layout, networks = imitation.train(data, ACTIONS, options, 1.0, np.random.default_rng(7))
    rng = np.random.default_rng(7)
    theta = torch.tensor(initial(layout, 1.0, rng))
    start = theta.clone()
    expected = plain_training(layout, theta, data, options, rng)
    np.testing.assert_allclose(networks[-1], expected, atol=1e-10)
    assert np.abs(networks[-1] - start.numpy()).max() > 1e-3
    shorter = replace(options, epochs=4, checkpoints=2)
    _, first = imitation.train(data, ACTIONS, shorter, 1.0, np.random.default_rng(7))
    np.testing.assert_array_equal(networks[:2], first)


def test_one_batch_never_steps_the_head_of_q() -> None:
    data = some_rows(9)
    options = Options(batch=9, epochs=3, checkpoints=1, dtype=np.float64)
    layout, networks = imitation.train(data, ACTIONS, options, 1.0, np.random.default_rng(0))
    start = initial(layout, 1.0, np.random.default_rng(0))
    head = slice(layout.ends[ZETA][1], layout.ends[Q][1])
    np.testing.assert_array_equal(networks[-1][head], start[head])
    assert not np.array_equal(networks[-1], start)


def test_a_policy_is_softmax_of_softplus() -> None:
    data = some_rows(30)
    options = Options(batch=8, epochs=2, checkpoints=1)
    layout, networks = imitation.train(data, ACTIONS, options, -10.0, np.random.default_rng(0))
    raw = outputs(layout, torch.tensor(networks[0]), torch.tensor(data.states))[1]
    expected = torch.softmax(torch.nn.functional.softplus(raw), dim=1)
    np.testing.assert_allclose(imitation.policy(layout, networks[0])(data.states), expected)


@pytest.mark.parametrize(
    "wrong",
    [
        {"discount": 1.1},
        {"discount": 0.0},
        {"batch": 0},
        {"epochs": 5},
        {"checkpoints": 0},
        {"dtype": int},
    ],
)
def test_bad_options_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Options(**wrong)  # type: ignore[arg-type]  # that is what is tested


def test_an_action_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"data\.action"):
        imitation.train(some_rows(5), 1, Options(), 0.0, np.random.default_rng(0))
