"""The fast `author` protocol against a slow, plain one: autograd, raw rows, torch's own AdamW."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gladius import author
from gladius.anchor import Anchor
from gladius.checks import InputError
from gladius.estimate import Estimate
from gladius.metrics import mape
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine

ANCHOR, DISCOUNT, REWARD = 1, 0.95, -5.0
BUS = BusEngine(horizon=12)


def rngs(number: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(number)]


class Plain(torch.nn.Module):
    """The network of one replication, as anyone would write it."""

    def __init__(self, net: author.Network, r: int) -> None:
        super().__init__()

        def linear(weight: torch.Tensor, bias: torch.Tensor) -> torch.nn.Linear:
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype)
            layer.weight.data, layer.bias.data = weight.clone(), bias.reshape(-1).clone()
            return layer

        self.first = linear(net.weight_1[r].T, net.bias_1[r])
        self.second = linear(net.weight_2[r].T, net.bias_2[r])
        self.q = linear(net.q_weight[r], net.q_bias[r])
        self.zeta = linear(net.zeta_weight[r], net.zeta_bias[r])

    def forward(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.relu(self.second(torch.relu(self.first(states))))
        return self.q(hidden), self.zeta(hidden)


def rows(data: Transitions, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return (
        torch.tensor(data.states, dtype=dtype),
        torch.tensor(data.actions),
        torch.tensor(data.next_states, dtype=dtype),
    )


def loss(
    net: Plain, data: Transitions, odd: bool, absolute: bool, dtype: torch.dtype
) -> torch.Tensor:
    """The batch's loss from its raw rows, straight from the description of the protocol."""
    states, actions, following = rows(data, dtype)
    q: torch.Tensor
    zeta: torch.Tensor
    q, zeta = net(states)
    ahead: torch.Tensor = torch.logsumexp(net(following)[0], dim=1)
    chosen = zeta.gather(1, actions[:, None])[:, 0]
    if not odd:
        return ((ahead.detach() - chosen) ** 2).sum()
    entropy = torch.nn.functional.cross_entropy(q, actions)
    td: torch.Tensor = q.gather(1, actions[:, None])[:, 0] - REWARD - DISCOUNT * ahead
    term = (td**2 - DISCOUNT**2 * (ahead - chosen.detach()) ** 2)[actions == ANCHOR]
    return entropy + (term.abs() if absolute else term).mean()


def batches_of(data: Transitions, trajectories: int) -> Iterator[Transitions]:
    labels = list(dict.fromkeys(data.trajectory.tolist()))
    for start in range(0, len(labels), trajectories):
        yield data.take(np.isin(data.trajectory, labels[start : start + trajectories]))


def train_plainly(
    net: Plain,
    data: Transitions,
    epochs: int,
    trajectories: int,
    absolute: bool,
    dtype: torch.dtype,
) -> None:
    steppers = [torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-4) for _ in range(2)]
    for epoch in range(epochs):
        for i, batch in enumerate(batches_of(data, trajectories)):
            odd = i % 2 == 1
            loss(net, batch, odd, absolute, dtype).backward()  # type: ignore[no-untyped-call]
            if odd:
                torch.nn.utils.clip_grad_value_(net.parameters(), 1.0)
            steppers[odd].param_groups[0]["lr"] = 1e-3 / (1 + 5e-4 * epoch)
            steppers[odd].step()
            net.zero_grad()


def starting_nets(number: int, units: int, level: float, dtype: torch.dtype) -> list[Plain]:
    form = author.shapes(1, units, 2)
    flat = author.initial(form, level, rngs(number)).to(dtype)
    return [Plain(author.blocks(flat, number, form), r) for r in range(number)]


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("level", [True, False])
def test_whole_sequence_of_steps_is_that_of_the_plain_implementation(
    absolute: bool, level: bool
) -> None:
    data = BUS.simulate(11, rngs(2, seed=5))  # 4 batches of 3, 3, 3, 2 trajectories
    result = author.run(
        data,
        Anchor(ANCHOR, REWARD),
        DISCOUNT,
        rngs=rngs(2),
        level_from_truth=level,
        absolute=absolute,
        epochs=6,
        units=7,
        batch_trajectories=3,
        dtype=torch.float64,
    )
    nets = starting_nets(2, 7, -55.0 if level else 0.0, torch.float64)
    for r, net in enumerate(nets):
        before = net(torch.tensor(result.counts.states))[0].detach().numpy()
        train_plainly(net, data[r], 6, 3, absolute, torch.float64)
        q, zeta = (x.detach().numpy() for x in net(torch.tensor(result.counts.states)))
        assert np.abs(q - before).max() > 1e-3  # it moved
        np.testing.assert_allclose(result.last.q[r], q, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(result.last.zeta[r], zeta, rtol=1e-9, atol=1e-9)
        net.zero_grad()
        loss(net, data[r], True, absolute, torch.float64).backward()  # type: ignore[no-untyped-call]
        steepest = max(float(p.grad.abs().max()) for p in net.parameters() if p.grad is not None)
        assert result.last.gradient[r] == pytest.approx(steepest, rel=1e-8)
        np.testing.assert_allclose(result.last.reward[r], q - DISCOUNT * zeta, rtol=1e-9, atol=1e-8)


@settings(max_examples=25)
@given(
    actions=hnp.arrays(np.int64, 12, elements=st.integers(0, 1)).filter(lambda a: a[6:].any()),
    miles=hnp.arrays(np.int64, (12, 2), elements=st.integers(1, 6)),
    level=st.floats(-60, 5),
    absolute=st.booleans(),
)
def test_written_gradients_are_those_of_autograd(
    actions: np.ndarray, miles: np.ndarray, level: float, absolute: bool
) -> None:
    data = Transitions(miles[:, :1], actions, miles[:, 1:], np.arange(12) // 6)
    _, batches = author.batch_counts([data], Anchor(ANCHOR, REWARD), 1, torch.float64)
    form = author.shapes(1, 5, 2)
    flat = author.initial(form, level, rngs(1, seed=3))
    gradient = torch.full_like(flat, math.nan)
    net, out = (author.blocks(t, 1, form) for t in (flat, gradient))
    plain = Plain(net, 0)
    for odd, batch in enumerate(batches_of(data, 1)):
        if odd:
            author.q_gradient(net, out, batches, 1, ANCHOR, DISCOUNT, absolute)
        else:
            author.zeta_gradient(net, out, batches, 0)
        plain.zero_grad()
        loss(plain, batch, bool(odd), absolute, torch.float64).backward()  # type: ignore[no-untyped-call]
        idle, busy = (plain.zeta, plain.q) if odd else (plain.q, plain.zeta)
        assert idle.weight.grad is None
        assert idle.bias.grad is None
        head = author.Q if odd else author.ZETA
        for ours, theirs in [
            (out[head][0], busy.weight.grad),
            (out[head + 1][0, :, 0], busy.bias.grad),
            (out.weight_1[0].T, plain.first.weight.grad),
            (out.bias_1[0, 0], plain.first.bias.grad),
            (out.weight_2[0].T, plain.second.weight.grad),
            (out.bias_2[0, 0], plain.second.bias.grad),
        ]:
            assert theirs is not None
            scale = max(1.0, float(theirs.abs().max()))
            np.testing.assert_allclose(ours.numpy() / scale, theirs.numpy() / scale, atol=1e-10)


def test_initial_weights_are_xavier_normal_and_the_level_is_a_switch() -> None:
    form = author.shapes(1, 60, 2)
    net = author.blocks(author.initial(form, -55.0, rngs(30)), 30, form)
    for weight, fans in [
        (net.weight_1, 61),
        (net.weight_2, 120),
        (net.q_weight, 62),
        (net.zeta_weight, 62),
    ]:
        spread = float(weight.std())
        assert abs(spread / math.sqrt(2 / fans) - 1) < 5 / math.sqrt(2 * weight.numel())
    assert torch.all(net.q_bias == -55)
    assert torch.all(net.zeta_bias == -55)
    assert not net.bias_1.any()
    assert not net.bias_2.any()


def test_one_batch_an_epoch_never_updates_q() -> None:
    data = BUS.simulate(4, rngs(1))
    result = author.run(
        data,
        Anchor(ANCHOR, REWARD),
        DISCOUNT,
        rngs=rngs(1),
        epochs=3,
        units=6,
        dtype=torch.float64,
    )
    form = author.shapes(1, 6, 2)
    start = author.blocks(author.initial(form, -55.0, rngs(1)), 1, form)
    np.testing.assert_array_equal(result.last.blocks[author.Q], start.q_weight.numpy())
    assert np.abs(result.last.blocks[author.ZETA] - start.zeta_weight.numpy()).max() > 1e-4


@pytest.fixture(scope="module")
def split() -> tuple[list[Transitions], list[Transitions]]:
    sets = [one.split(0.8) for one in BUS.simulate(20, rngs(3, seed=9))]
    return [s[0] for s in sets], [s[1] for s in sets]


def run_short(
    train: list[Transitions], test: list[Transitions] | None, **options: object
) -> author.AuthorResult:
    oracle = None if test is None else author.Oracle(test, BUS.reward)
    settings = {"epochs": 30, "units": 8, "batch_trajectories": 4, **options}
    return author.run(
        train,
        Anchor(ANCHOR, REWARD),
        DISCOUNT,
        rngs=rngs(3),
        oracle=oracle,
        **settings,  # type: ignore[arg-type]
    )


def test_oracle_takes_the_epoch_of_smallest_true_error(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    train, test = split
    result = run_short(train, test)
    assert result.oracle is not None
    path = np.stack(
        [
            [
                mape(e, t, BUS.reward)  # 4 test trajectories: one batch, so the overall mean
                for e, t in zip(estimates_at(train, epoch), test, strict=True)
            ]
            for epoch in range(1, 30)
        ]
    )
    untrained = result.trace[:, 0]
    assert result.trace_epochs.tolist() == [0, 30]
    best = np.minimum(path.min(axis=0), untrained)
    chosen = np.where(untrained <= path.min(axis=0), 0, 1 + path.argmin(axis=0))
    np.testing.assert_array_equal(result.oracle.epoch, chosen)
    reported = author.estimates(result, Anchor(ANCHOR, REWARD), DISCOUNT, "oracle")
    np.testing.assert_allclose(
        [mape(e, t, BUS.reward) for e, t in zip(reported, test, strict=True)], best, rtol=1e-4
    )
    assert result.oracle.gradient.shape == (3,)
    last = author.estimates(result, Anchor(ANCHOR, REWARD), DISCOUNT, "last")
    np.testing.assert_allclose(
        [mape(e, t, BUS.reward) for e, t in zip(last, test, strict=True)],
        result.trace[:, 1],
        rtol=1e-4,
    )


def estimates_at(train: list[Transitions], epoch: int) -> list[Estimate]:
    return author.estimates(
        run_short(train, None, epochs=epoch), Anchor(ANCHOR, REWARD), DISCOUNT, "last"
    )


def test_the_oracle_changes_nothing_but_the_choice(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    train, test = split
    blind, seeing = run_short(train, None), run_short(train, test)
    np.testing.assert_array_equal(blind.last.q, seeing.last.q)
    assert blind.oracle is None
    assert np.all(np.isnan(blind.trace))
    with pytest.raises(InputError, match="selection"):
        author.estimates(blind, Anchor(ANCHOR, REWARD), DISCOUNT, "oracle")


def test_resumed_run_gives_the_same_numbers(
    split: tuple[list[Transitions], list[Transitions]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train, test = split
    monkeypatch.setattr(author, "SAVE_EVERY", 7)
    whole = run_short(train, test)
    path = tmp_path / "state.pt"

    epochs: list[int] = []
    keep_best = author._keep_best

    def interrupt(*arguments: Any) -> None:
        if epochs.append(arguments[2]) or arguments[2] == 17:
            raise InterruptedError
        keep_best(*arguments)

    def count(*arguments: Any) -> None:
        epochs.append(arguments[2])
        keep_best(*arguments)

    monkeypatch.setattr(author, "_keep_best", interrupt)
    with pytest.raises(InterruptedError):
        run_short(train, test, checkpoint=path)
    epochs.clear()
    monkeypatch.setattr(author, "_keep_best", count)
    again = run_short(train, test, checkpoint=path)
    assert epochs == list(range(14, 30))  # from the state saved after 14 epochs
    assert whole.oracle is not None
    assert again.oracle is not None
    for a, b in [(whole.last, again.last), (whole.oracle, again.oracle)]:
        np.testing.assert_array_equal(a.q, b.q)
        np.testing.assert_array_equal(a.zeta, b.zeta)
        np.testing.assert_array_equal(a.epoch, b.epoch)
    np.testing.assert_array_equal(whole.trace, again.trace)
    with pytest.raises(InputError, match="another run"):
        run_short(train, test, checkpoint=path, absolute=False)


def test_replications_do_not_touch_each_other(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    train, _ = split
    together = run_short(train, None, dtype=torch.float64)
    alone = author.run(
        train[2:],
        Anchor(ANCHOR, REWARD),
        DISCOUNT,
        rngs=rngs(3)[2:],
        epochs=30,
        units=8,
        batch_trajectories=4,
        dtype=torch.float64,
    )
    at = [together.counts.states[:, 0].tolist().index(x) for x in alone.counts.states[:, 0]]
    np.testing.assert_allclose(together.last.q[2, at], alone.last.q[0], rtol=1e-9)


def test_estimates_extend_to_unseen_states_and_tell_divergence(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    train, _ = split
    result = run_short(train, None, epochs=2)
    estimate = author.estimates(result, Anchor(ANCHOR, REWARD), DISCOUNT, "last")[1]
    assert estimate.q(np.array([[20.0], [31.5]])).shape == (2, 2)
    np.testing.assert_allclose(estimate.q(result.counts.states), result.last.q[1], rtol=1e-6)
    assert estimate.diagnostics.status == "not_converged"
    assert not estimate.diagnostics.converged
    choices = -np.log(estimate.policy(train[1].states)[np.arange(len(train[1])), train[1].actions])
    assert estimate.diagnostics.nll == pytest.approx(choices.mean(), rel=1e-6)
    result.last.q[1, 0, 0] = math.nan
    broken = author.estimates(result, Anchor(ANCHOR, REWARD), DISCOUNT, "last")
    found = [e.diagnostics.status for e in broken]
    assert found == ["not_converged", "diverged", "not_converged"]


def test_bad_input_is_named(split: tuple[list[Transitions], list[Transitions]]) -> None:
    train, test = split
    with pytest.raises(InputError, match="epochs = 0"):
        run_short(train, None, epochs=0)
    with pytest.raises(InputError, match="rngs"):
        author.run(train, Anchor(ANCHOR, REWARD), DISCOUNT, rngs=rngs(2))
    with pytest.raises(InputError, match=r"oracle\.test"):
        run_short(train, test[:1])
    never = Transitions(
        train[0].states, np.zeros_like(train[0].actions), train[0].next_states, train[0].trajectory
    )
    with pytest.raises(InputError, match="never occurs"):
        author.run([never], Anchor(ANCHOR, REWARD), DISCOUNT, rngs=rngs(1), batch_trajectories=4)
    with pytest.raises(InputError, match="equal numbers"):
        author.run(
            [train[0], BUS.simulate(3, rngs(1))[0]],
            Anchor(ANCHOR, REWARD),
            DISCOUNT,
            rngs=rngs(2),
            batch_trajectories=4,
        )
