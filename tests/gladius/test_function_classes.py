"""Function classes and batched networks: derivatives, torch's own numbers, shapes and errors."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.paper.function_classes import MLP, Linear
from gladius.solvers.networks import adam, networks, no_moments, outputs, start

X = np.array([[-1.0], [-0.2], [0.5], [1.0]])
FAMILIES = [MLP(1, 2), MLP(1, 3, (4,)), MLP(1, 2, (3, 5, 2)), Linear(1, 3)]


def parameters(family, reps=2):
    return arrays(float, (reps, family.size), elements=st.floats(-2, 2, width=32))


@settings(max_examples=40)
@pytest.mark.parametrize("family", FAMILIES, ids=str)
@given(st.data())
def test_jacobian_is_the_derivative(family, data):
    theta, step = data.draw(parameters(family)), data.draw(parameters(family))
    outputs, jacobian = family.jacobian(theta, X)
    np.testing.assert_allclose(outputs, family.outputs(theta, X))
    h = 1e-6
    by_difference = (family.outputs(theta + h * step, X) - family.outputs(theta - h * step, X)) / (
        2 * h
    )
    np.testing.assert_allclose(
        np.einsum("rnap,rp->rna", jacobian, step), by_difference, atol=1e-6, rtol=1e-5
    )


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_replications_may_have_inputs_of_their_own(family):
    theta = np.random.default_rng(0).normal(size=(2, family.size))
    together = family.jacobian(theta, np.stack([X, X / 2]))
    for r, x in enumerate([X, X / 2]):
        alone = family.jacobian(theta[[r]], x)
        for both, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(both[r], one[0], rtol=1e-12, atol=1e-14)


WIDTHS = (2, 4, 3, 2)
INPUTS = np.array([[-1.0, 0.5], [-0.2, 2.0], [0.5, -0.3]])


def rngs(*seeds: int) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in seeds]


def test_adam_is_the_library_s_at_each_replication_s_own_rate() -> None:
    theta = start(rngs(1, 2), WIDTHS)
    target = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 2)))
    rates = (0.05, 0.01)
    alone = [[p[r].clone().requires_grad_() for p in theta] for r in range(2)]
    x = torch.from_numpy(INPUTS)
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
    scaled = torch.from_numpy((INPUTS - centre) / scale).expand(2, -1, -1)
    expected = outputs(theta, scaled, activation).numpy()
    functions = networks(theta, activation, [(centre, scale)] * 2)
    theta[0] += 1.0
    for r, function in enumerate(functions):
        np.testing.assert_allclose(function(INPUTS), expected[r], rtol=1e-12)
