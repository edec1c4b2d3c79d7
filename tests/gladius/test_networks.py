"""The batched network: Adam against torch's, the Jacobian against torch.func and differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gladius.checks import InputError
from gladius.networks import MLP, adam, networks, no_moments, outputs, start

Array = NDArray[np.float64]

WIDTHS = (2, 4, 3, 2)
X = np.array([[-1.0, 0.5], [-0.2, 2.0], [0.5, -0.3]])
SMALL = MLP(2, 2, (3, 4))
WEIGHTS = st.integers(-16, 16).map(lambda n: n / 8)


def rngs(*seeds: int) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in seeds]


def test_adam_is_the_library_s_at_each_replication_s_own_rate() -> None:
    theta = start(rngs(1, 2), WIDTHS)
    target = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 2)))
    rates = (0.05, 0.01)
    alone = [[p[r].clone().requires_grad_() for p in theta] for r in range(2)]
    x = torch.from_numpy(X)
    for r, parameters in enumerate(alone):
        optimiser = torch.optim.Adam(parameters, lr=rates[r])
        for _ in range(30):
            optimiser.zero_grad()
            batch = [p[None] for p in parameters]
            loss = ((outputs(batch, x[None], "tanh")[0] - target) ** 2).sum()
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
            optimiser.step()
    moments = no_moments(theta)
    for t in range(30):
        leaves = [p.clone().requires_grad_() for p in theta]
        both = outputs(leaves, x.expand(2, -1, -1), "tanh")
        gradient = list(torch.autograd.grad(((both - target) ** 2).sum(), leaves))
        adam(theta, moments, gradient, torch.tensor(rates)[:, None, None], t + 1)
    for r, parameters in enumerate(alone):
        for batched, single in zip(theta, parameters, strict=True):
            np.testing.assert_allclose(batched[r].numpy(), single.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("activation", ["tanh", "relu", "elu"])
def test_a_trained_network_scales_its_inputs_and_is_a_copy(activation: str) -> None:
    theta = start(rngs(3, 4), WIDTHS)
    centre, scale = np.array([1.0, -1.0]), np.array([2.0, 0.5])
    scaled = torch.from_numpy((X - centre) / scale).expand(2, -1, -1)
    expected = outputs(theta, scaled, activation).numpy()
    functions = networks(theta, activation, [(centre, scale)] * 2)
    theta[0] += 1.0
    for r, function in enumerate(functions):
        np.testing.assert_allclose(function(X), expected[r], rtol=1e-12)


@given(arrays(np.float64, (2, SMALL.size), elements=WEIGHTS))
def test_the_jacobian_is_that_of_torch(theta: Array) -> None:
    def flat(parameters: torch.Tensor) -> torch.Tensor:
        signal, place = torch.from_numpy(X), 0
        for i, (fan_in, fan_out) in enumerate(SMALL.layers):
            weight = parameters[place : place + fan_in * fan_out].reshape(fan_in, fan_out)
            place += fan_in * fan_out
            signal = signal @ weight + parameters[place : place + fan_out]
            place += fan_out
            signal = torch.tanh(signal) if i < 2 else signal
        return signal

    values, jacobian = SMALL.jacobian(theta, X)
    np.testing.assert_allclose(values, SMALL.outputs(theta, X))
    for r, parameters in enumerate(torch.from_numpy(theta)):
        np.testing.assert_allclose(values[r], flat(parameters).numpy(), atol=1e-12)
        expected = torch.func.jacrev(flat)(parameters).numpy()
        np.testing.assert_allclose(jacobian[r], expected, atol=1e-12)


def test_replications_may_have_inputs_of_their_own_and_start_from_their_own_generators() -> None:
    theta = SMALL.init(rngs(0, 1))
    np.testing.assert_array_equal(SMALL.init(rngs(1))[0], theta[1])
    together = SMALL.jacobian(theta, np.stack([X, X / 2]))
    for r, x in enumerate([X, X / 2]):
        alone = SMALL.jacobian(theta[[r]], x)
        for both, single in zip(together, alone, strict=True):
            np.testing.assert_allclose(both[r], single[0], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("hidden", [(), (0,), (10, -1), 10, None])
def test_bad_widths_are_named(hidden: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="hidden"):
        MLP(1, 2, hidden)
