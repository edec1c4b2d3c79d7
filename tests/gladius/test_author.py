"""The fast `author` protocol against a slow, plain one: autograd, raw rows, torch's own AdamW."""

import math

import numpy as np
import pytest
import torch
from bus_engine import rngs

from gladius.designs.bus import BusEngine
from gladius.designs.metrics import mape
from gladius.model.estimate import Estimate
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.paper import author
from gladius.paper.author_network import AuthorNetwork, Layout
from gladius.solvers.compiled import IS_COMPILED
from gladius.validate import InputError

ANCHOR, DISCOUNT, REWARD = 1, 0.95, -5.0
ANCHORED = Anchor(ANCHOR, REWARD)
BUS = BusEngine(horizon=12)


class Plain(torch.nn.Module):
    """The network of one replication, as anyone would write it."""

    def __init__(self, net: AuthorNetwork) -> None:
        super().__init__()

        def linear(weight: np.ndarray, bias: np.ndarray) -> torch.nn.Linear:
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
            layer.weight.data, layer.bias.data = map(torch.tensor, (weight, bias.ravel()))
            return layer

        self.first = linear(net.weight_1.T, net.bias_1)
        self.second = linear(net.weight_2.T, net.bias_2)
        self.q = linear(net.q_weight, net.q_bias)
        self.zeta = linear(net.zeta_weight, net.zeta_bias)

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


def train_plainly(
    net: Plain,
    data: Transitions,
    epochs: int,
    trajectories: int,
    absolute: bool,
    dtype: torch.dtype,
) -> None:
    labels = list(dict.fromkeys(data.trajectory.tolist()))
    steppers = [torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-4) for _ in range(2)]
    for epoch in range(epochs):
        for i, start in enumerate(range(0, len(labels), trajectories)):
            batch = data.take(np.isin(data.trajectory, labels[start : start + trajectories]))
            odd = i % 2 == 1
            loss(net, batch, odd, absolute, dtype).backward()  # type: ignore[no-untyped-call]
            if odd:
                torch.nn.utils.clip_grad_value_(net.parameters(), 1.0)
            steppers[odd].param_groups[0]["lr"] = 1e-3 / (1 + 5e-4 * epoch)
            steppers[odd].step()
            net.zero_grad()


def starting_nets(number: int, units: int, level: float) -> list[Plain]:
    layout = Layout(1, (units, units), 2)
    return [Plain(layout.blocks(layout.initial(level, rng))) for rng in rngs(number)]


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("level", [True, False])
def test_whole_sequence_of_steps_is_that_of_the_plain_implementation(
    absolute: bool, level: bool, uncompiled: None
) -> None:
    data = BUS.simulate(11, rngs(2, seed=5))  # 4 batches of 3, 3, 3, 2 trajectories
    result = author.run(
        data,
        ANCHORED,
        DISCOUNT,
        rngs=rngs(2),
        level_from_truth=level,
        absolute=absolute,
        epochs=6,
        units=7,
        batch_trajectories=3,
        dtype=np.float64,
    )
    nets = starting_nets(2, 7, -55.0 if level else 0.0)
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


@pytest.mark.skipif(not IS_COMPILED, reason="numba is not installed")
def test_compiled_and_plain_trainings_are_equal_to_rounding(
    split: tuple[list[Transitions], list[Transitions]], request: pytest.FixtureRequest
) -> None:
    found = run_short(*split, epochs=4)
    request.getfixturevalue("uncompiled")
    expected = run_short(*split, epochs=4)
    assert found.oracle is not None
    assert expected.oracle is not None
    np.testing.assert_array_equal(found.oracle.epoch, expected.oracle.epoch)
    for one, other in ((found.last, expected.last), (found.oracle, expected.oracle)):
        np.testing.assert_allclose(one.q, other.q, rtol=1e-6)
        rewards = (selection.q - DISCOUNT * selection.zeta for selection in (one, other))
        np.testing.assert_allclose(*rewards, atol=2e-5)  # five units of -55


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
        ANCHORED,
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
    path = np.zeros((29, 3))
    for i in range(29):
        early = run_short(train, None, epochs=i + 1)
        path[i] = errors(author.estimates(early, ANCHORED, DISCOUNT, "last"), test)
    reported = errors(author.estimates(result, ANCHORED, DISCOUNT, "oracle"), test)
    is_trained = result.oracle.epoch > 0  # else the untrained network is better than all others
    assert is_trained.any()
    np.testing.assert_array_equal(result.oracle.epoch[is_trained], 1 + path.argmin(0)[is_trained])
    np.testing.assert_allclose(reported[is_trained], path.min(0)[is_trained], rtol=1e-4)
    assert np.all(reported <= path.min(0) * (1 + 1e-4))
    assert result.oracle.gradient.shape == (3,)


def errors(estimates: list[Estimate], test: list[Transitions]) -> np.ndarray:
    """Test MAPEs; 4 test trajectories are one batch, so that the code's mean is the overall one."""
    return np.array([mape(e, t, BUS.reward) for e, t in zip(estimates, test, strict=True)])


def test_estimates_extend_to_unseen_states_and_tell_divergence(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    train, _ = split
    result = run_short(train, None, epochs=2)
    estimate = author.estimates(result, ANCHORED, DISCOUNT, "last")[1]
    assert estimate.q(np.array([[20.0], [31.5]])).shape == (2, 2)
    np.testing.assert_allclose(estimate.q(result.counts.states), result.last.q[1], rtol=1e-6)
    assert estimate.diagnostics.status == "not_converged"
    assert not estimate.diagnostics.converged
    choices = -np.log(estimate.policy(train[1].states)[np.arange(len(train[1])), train[1].actions])
    assert estimate.diagnostics.nll == pytest.approx(choices.mean(), rel=1e-6)
    result.last.q[1, 0, 0] = math.nan
    broken = author.estimates(result, ANCHORED, DISCOUNT, "last")
    found = [e.diagnostics.status for e in broken]
    assert found == ["not_converged", "diverged", "not_converged"]


def test_bad_input_is_named(split: tuple[list[Transitions], list[Transitions]]) -> None:
    train, test = split
    with pytest.raises(InputError, match="rngs"):
        author.run(train, ANCHORED, DISCOUNT, rngs=rngs(2))
    with pytest.raises(InputError, match=r"oracle\.test"):
        run_short(train, test[:1])
    never = Transitions(
        train[0].states, np.zeros_like(train[0].actions), train[0].next_states, train[0].trajectory
    )
    with pytest.raises(InputError, match="never occurs"):
        author.run([never], ANCHORED, DISCOUNT, rngs=rngs(1), batch_trajectories=4)
    with pytest.raises(InputError, match="equal numbers"):
        author.run(
            [train[0], BUS.simulate(3, rngs(1))[0]],
            ANCHORED,
            DISCOUNT,
            rngs=rngs(2),
            batch_trajectories=4,
        )
