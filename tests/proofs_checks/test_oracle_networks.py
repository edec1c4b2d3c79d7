"""Tangent kernels: against the library, automatic differentiation, sampling and closed forms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.function_classes import MLP
from proofs_checks.oracle.networks import (
    ACTIVATIONS,
    Wide,
    dual,
    expectation,
    hessian_bound,
    least_in_ball,
    limit_kernel,
)

NUMBERS = st.integers(-12, 12).map(lambda n: n / 4)
TORCH: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "tanh": torch.tanh,
    "softplus": torch.nn.functional.softplus,
    "sine": torch.sin,
    "identity": lambda z: z,
    "square": lambda z: z**2,
}


def inputs(points: np.ndarray) -> np.ndarray:
    return np.column_stack([points, np.ones(len(points))])


@st.composite
def networks(draw: st.DrawFn) -> tuple[Wide, str]:
    points, width, units = (draw(st.integers(1, 3)) for _ in range(3))
    name = draw(st.sampled_from(sorted(ACTIVATIONS)))
    v, w, z = (
        draw(arrays(np.float64, shape, elements=NUMBERS))
        for shape in (units, (units, width + 1), (points, width))
    )
    return Wide(v, w, inputs(z), ACTIVATIONS[name]), name


def derivative(values: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
    """d values / d theta, a row for each value; it can be differentiated again."""
    rows = (
        torch.autograd.grad(x, theta, create_graph=True, materialize_grads=True) for x in values
    )
    return torch.stack([row[0] for row in rows])


@given(networks())
def test_jacobian_is_that_of_automatic_differentiation(drawn: tuple[Wide, str]) -> None:
    at, name = drawn
    units, width = at.w.shape

    def outputs(theta: torch.Tensor) -> torch.Tensor:
        v, w = theta[:units], theta[units:-1].reshape(units, width)
        hidden = TORCH[name](torch.as_tensor(at.u) @ w.T)
        found: torch.Tensor = hidden @ v / math.sqrt(units) + theta[-1]
        return found

    theta = torch.tensor([*at.v, *at.w.ravel(), 0.5], dtype=torch.float64, requires_grad=True)
    e = torch.linspace(1, 2, len(at.u), dtype=torch.float64)
    rows = derivative(outputs(theta), theta)
    jacobian = rows.detach().numpy()
    np.testing.assert_allclose(at.jacobian(), jacobian, atol=1e-12)
    np.testing.assert_allclose(at.kernel(), jacobian @ jacobian.T, atol=1e-9)
    dv, dw = at.downhill(e.numpy())
    slope = derivative(torch.sum((e @ rows) ** 2)[None], theta)[0].detach().numpy() * units / 2
    np.testing.assert_allclose(np.concatenate([dv, dw.ravel()]), slope[:-1], atol=1e-8)
    if math.isfinite(at.activation.most_slope):
        bound = hessian_bound(at.v, at.u, at.activation, 0.0) / math.sqrt(units)
        for row in rows:
            hessian = derivative(row, theta).detach().numpy()
            assert np.linalg.norm(hessian, 2) <= bound * (1 + 1e-12)


@given(networks())
def test_jacobian_is_that_of_the_library(drawn: tuple[Wide, str]) -> None:
    at = Wide(drawn[0].v, drawn[0].w, drawn[0].u, ACTIVATIONS["tanh"])
    units, width = at.w.shape
    network = MLP(width - 1, 1, (units,))
    scaled = at.v / math.sqrt(units)
    theta = np.concatenate([at.w[:, :-1].T.ravel(), at.w[:, -1], scaled, [0.0]])
    rows = network.jacobian(theta[None], at.u[:, :-1])[1][0, :, 0]
    # the library differentiates in v / sqrt(m)
    rows[:, -units - 1 : -1] /= math.sqrt(units)
    np.testing.assert_allclose(rows @ rows.T, at.kernel(), atol=1e-10)


def test_expectations_of_normal_pairs_in_closed_form() -> None:
    pair = (2.0, 0.7, 0.5)
    assert expectation(pair, np.copy) == pytest.approx(0.7, abs=1e-12)
    sine = math.exp(-(2.0 + 0.5) / 2) * math.sinh(0.7)
    assert expectation(pair, np.sin) == pytest.approx(sine, abs=1e-12)
    assert expectation((2.0, 2.0, 2.0), lambda z: z**2) == pytest.approx(3 * 4.0, abs=1e-10)


@pytest.mark.parametrize("pair", [(1.0, 0.3, 2.0), (30.0, 29.0, 30.0), (5.0, -5.0, 5.0)])
def test_expectations_of_tanh_on_a_finer_grid(pair: tuple[float, float, float]) -> None:
    t = np.linspace(-9.5, 9.5, 6001)
    weight = np.exp(-(t**2) / 2)
    weight /= weight.sum()
    lean = pair[1] / math.sqrt(pair[0])
    rest = math.sqrt(max(pair[2] - lean**2, 0.0))
    total = sum(
        p * np.tanh(math.sqrt(pair[0]) * x) * (weight @ np.tanh(lean * x + rest * t))
        for x, p in zip(t, weight, strict=True)
        if p > 1e-20
    )
    assert expectation(pair, np.tanh) == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("name", ["tanh", "softplus", "sine"])
def test_the_limit_is_the_mean_of_random_kernels(name: str) -> None:
    u = inputs(np.array([[-1.0], [0.5], [2.0]]))
    rng = np.random.default_rng(3)
    drawn = rng.normal(size=(200_000, 3))
    kernel = Wide(drawn[:, 0], drawn[:, 1:], u, ACTIVATIONS[name]).kernel()
    np.testing.assert_allclose(kernel, limit_kernel(u, ACTIVATIONS[name]), rtol=0.03)


def test_the_limit_of_two_layers_is_the_mean_of_random_networks() -> None:
    points, units = np.array([[-1.0], [0.0], [1.5]]), 300
    u = inputs(points)
    rng = np.random.default_rng(4)
    total, repeats = np.zeros((3, 3)), 10
    for _ in range(repeats):
        first = rng.normal(size=(units, 2))
        second, bias = rng.normal(size=(units, units)), rng.normal(size=units)
        last = rng.normal(size=units)
        h = np.tanh(u @ first.T)
        g = np.tanh(h @ second.T / math.sqrt(units) + bias)
        back = (1 - g**2) * last / math.sqrt(units)
        deep = (1 - h**2) * (back @ second) / math.sqrt(units)
        total += g @ g.T / units + 1
        total += (back @ back.T) * (h @ h.T / units + 1) + (deep @ deep.T) * (u @ u.T)
    limit = limit_kernel(u, ACTIVATIONS["tanh"], layers=2)
    np.testing.assert_allclose(total / repeats, limit, rtol=0.06)


def test_limits_of_polynomials_are_singular_and_the_others_are_not() -> None:
    u = inputs(np.arange(5.0)[:, None] / 2 - 1)
    least = {n: np.linalg.eigvalsh(limit_kernel(u, a))[0] for n, a in ACTIVATIONS.items()}
    assert max(least["identity"], least["square"]) < 1e-12
    assert min(least["tanh"], least["sine"], least["softplus"]) > 1e-5


def test_the_dual_is_a_covariance() -> None:
    at = np.random.default_rng(5).normal(size=(3, 4))
    found = dual(at @ at.T, np.tanh)
    assert np.linalg.eigvalsh(found)[0] > 0
    np.testing.assert_array_equal(found, found.T)


def test_descent_in_the_ball_stays_there_and_goes_down() -> None:
    rng = np.random.default_rng(6)
    drawn = rng.normal(size=(64, 3))
    start = Wide(drawn[:, 0], drawn[:, 1:], inputs(np.array([[-1.0], [1.0]])), ACTIVATIONS["tanh"])
    found = [least_in_ball(start, radius) for radius in (0.0, 0.5, 1.0, 2.0)]
    assert found[0] == pytest.approx(np.linalg.eigvalsh(start.kernel())[0], abs=1e-12)
    assert all(a > b for a, b in itertools.pairwise(found))
    # no random point of the ball is lower
    for _ in range(200):
        move = rng.normal(size=(64, 3))
        move /= np.linalg.norm(move)
        at = Wide(start.v + move[:, 0], start.w + move[:, 1:], start.u, start.activation)
        assert np.linalg.eigvalsh(at.kernel())[0] >= found[2]


def test_the_mean_over_permuted_units_has_a_jacobian_of_bounded_rank() -> None:
    """A ball that holds a network and its copies with units permuted holds their mean too."""
    mileages = np.linspace(-1.6, 1.6, 10)[:, None]
    network = MLP(1, 2)
    theta = network.init([np.random.default_rng(7)])[0]
    assert np.linalg.matrix_rank(network.jacobian(theta[None], mileages)[1].reshape(20, -1)) == 20
    parts, at = [], 0
    for fan_in, fan_out in network.layers:
        weight = theta[at : at + fan_in * fan_out].reshape(fan_in, fan_out)
        bias = theta[at + fan_in * fan_out : at + (fan_in + 1) * fan_out]
        at += (fan_in + 1) * fan_out
        for axis, units in ((0, fan_in), (1, fan_out)):  # inputs and outputs keep their places
            if units == 10:
                weight = np.broadcast_to(weight.mean(axis=axis, keepdims=True), weight.shape)
        parts += [weight.ravel(), np.full_like(bias, bias.mean()) if fan_out == 10 else bias]
    mean = np.concatenate(parts)
    assert np.linalg.matrix_rank(network.jacobian(mean[None], mileages)[1].reshape(20, -1)) <= 8

    drawn = np.random.default_rng(8).normal(size=3)
    alike = Wide(
        np.full(500, drawn[0]),
        np.tile(drawn[1:], (500, 1)),
        inputs(mileages),
        ACTIVATIONS["softplus"],
    )
    assert np.linalg.matrix_rank(alike.jacobian()) <= 1 + 3
