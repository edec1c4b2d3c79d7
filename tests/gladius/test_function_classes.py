"""Function classes: Jacobians against finite differences and torch, shapes, and errors."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius import InputError
from gladius.function_classes import MLP, Linear

X = np.array([[-1.0], [-0.2], [0.5], [1.0]])
FAMILIES = [MLP(1, 2), MLP(1, 3, (4,)), MLP(1, 2, (3, 5, 2)), Linear(1, 3)]


def parameters(family, reps=2):
    return arrays(float, (reps, family.size), elements=st.floats(-2, 2, width=32))


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


@pytest.mark.parametrize("hidden", [(10, 10), (3,)])
def test_network_is_torchs(hidden):
    family = MLP(2, 2, hidden)
    theta = family.init([np.random.default_rng(3)])
    x = np.random.default_rng(4).normal(size=(5, 2))
    layers = []
    at = 0
    for i, (fan_in, fan_out) in enumerate(family.layers):
        layer = torch.nn.Linear(fan_in, fan_out).double()
        weight = theta[0, at : at + fan_in * fan_out].reshape(fan_in, fan_out)
        at += fan_in * fan_out
        layer.weight.data = torch.tensor(weight.T)
        layer.bias.data = torch.tensor(theta[0, at : at + fan_out])
        at += fan_out
        layers += [layer, torch.nn.Tanh()] if i < len(hidden) else [layer]
    net = torch.nn.Sequential(*layers)
    np.testing.assert_allclose(family.outputs(theta, x)[0], net(torch.tensor(x)).detach().numpy())


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_replications_may_have_inputs_of_their_own(family):
    theta = np.random.default_rng(0).normal(size=(2, family.size))
    together = family.jacobian(theta, np.stack([X, X / 2]))
    for r, x in enumerate([X, X / 2]):
        alone = family.jacobian(theta[[r]], x)
        for both, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(both[r], one[0], rtol=1e-12, atol=1e-14)


def test_start_depends_on_the_replications_own_generator():
    family = MLP(1, 2)
    rngs = [np.random.default_rng(i) for i in range(3)]
    together = family.init(rngs)
    np.testing.assert_array_equal(family.init([np.random.default_rng(2)])[0], together[2])


@pytest.mark.parametrize(
    "hidden", [(), (0,), (10, -1), (2.5,), 10, None, "ab", (5, None), (np.nan,)]
)
def test_bad_widths_are_named(hidden):
    with pytest.raises(InputError, match="hidden"):
        MLP(1, 2, hidden)
