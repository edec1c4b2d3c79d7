"""The batched network: Adam against torch's, and what a trained network keeps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gladius.networks import adam, networks, no_moments, outputs, start

WIDTHS = (2, 4, 3, 2)
X = np.array([[-1.0, 0.5], [-0.2, 2.0], [0.5, -0.3]])


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
