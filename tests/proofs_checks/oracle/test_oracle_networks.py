"""Exact ranks, random Gram matrices, tangent kernels: against listing, sampling, autograd."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proofs_checks.oracle.networks import (
    ACTIVATIONS,
    Wide,
    expectation,
    gram_below,
    hessian_bound,
    least_in_ball,
    limit_kernel,
)

LISTED = [(1, 4, 1 / 3, 1.0), (1, 3, 0.5, 0.5), (2, 4, 1.0, 1.0), (2, 3, 1.0, 0.5)]


@pytest.mark.parametrize(("rows", "columns", "nonzero", "present"), LISTED)
@pytest.mark.parametrize("level", [0.0, 0.7, 1.0, 2.5, 4.0])
def test_gram_below_by_listing_every_matrix(
    rows: int, columns: int, nonzero: float, present: float, level: float
) -> None:
    high = 1 / math.sqrt(nonzero)
    entries = [(high, nonzero / 2), (-high, nonzero / 2)]
    entries += [(0.0, 1 - nonzero)] if nonzero < 1 else []
    switches = [(1 / math.sqrt(present), present)]
    switches += [(0.0, 1 - present)] if present < 1 else []
    total = 0.0
    for drawn in itertools.product(entries, repeat=rows * columns):
        phi = np.array([x for x, _ in drawn]).reshape(rows, columns)
        chance = math.prod(p for _, p in drawn)
        for on in itertools.product(switches, repeat=rows):
            gram = np.array([x for x, _ in on])[:, None] * phi
            least = np.linalg.eigvalsh(gram @ gram.T)[0]
            total += chance * math.prod(p for _, p in on) * (least < level - 1e-9)
    assert gram_below(rows, columns, nonzero, present, level - 1e-9) == pytest.approx(total)


def test_gram_below_refuses_other_designs() -> None:
    with pytest.raises(ValueError, match="two rows"):
        gram_below(3, 4, 1.0, 1.0, 1.0)


# --- wide networks
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
def test_the_kernel_is_that_of_automatic_differentiation(drawn: tuple[Wide, str]) -> None:
    network, name = drawn
    units, width = network.w.shape

    def outputs(theta: torch.Tensor) -> torch.Tensor:
        v, w = theta[:units], theta[units:-1].reshape(units, width)
        hidden = TORCH[name](torch.as_tensor(network.u) @ w.T)
        values: torch.Tensor = hidden @ v / math.sqrt(units) + theta[-1]
        return values

    theta = torch.tensor(
        [*network.v, *network.w.ravel(), 0.5], dtype=torch.float64, requires_grad=True
    )
    e = torch.linspace(1, 2, len(network.u), dtype=torch.float64)
    rows = derivative(outputs(theta), theta)
    jacobian = rows.detach().numpy()
    np.testing.assert_allclose(network.kernel(), jacobian @ jacobian.T, atol=1e-9)
    dv, dw = network.downhill(e.numpy())
    slope = derivative(torch.sum((e @ rows) ** 2)[None], theta)[0].detach().numpy() * units / 2
    np.testing.assert_allclose(np.concatenate([dv, dw.ravel()]), slope[:-1], atol=1e-8)
    if math.isfinite(network.activation.most_slope):
        bound = hessian_bound(network.v, network.u, network.activation, 0.0) / math.sqrt(units)
        for row in rows:
            hessian = derivative(row, theta).detach().numpy()
            assert np.linalg.norm(hessian, 2) <= bound * (1 + 1e-12)


def test_expectations_of_normal_pairs_in_closed_form() -> None:
    pair = (2.0, 0.7, 0.5)
    assert expectation(pair, np.copy) == pytest.approx(0.7, abs=1e-12)
    sine = math.exp(-(2.0 + 0.5) / 2) * math.sinh(0.7)
    assert expectation(pair, np.sin) == pytest.approx(sine, abs=1e-12)
    assert expectation((2.0, 2.0, 2.0), lambda z: z**2) == pytest.approx(3 * 4.0, abs=1e-10)


@pytest.mark.parametrize("pair", [(1.0, 0.3, 2.0), (30.0, 29.0, 30.0), (5.0, -5.0, 5.0)])
def test_expectations_of_tanh_on_a_finer_grid(pair: tuple[float, float, float]) -> None:
    t = np.linspace(-9.5, 9.5, 6001)
    weight = np.exp(-(t**2) / 2) / np.exp(-(t**2) / 2).sum()
    slope = pair[1] / math.sqrt(pair[0])
    rest = math.sqrt(max(pair[2] - slope**2, 0.0))
    inner = [weight @ np.tanh(slope * x + rest * t) for x in t]
    total = weight @ (np.tanh(math.sqrt(pair[0]) * t) * inner)
    assert expectation(pair, np.tanh) == pytest.approx(total, abs=1e-10)


def test_limits_are_singular_for_polynomials_alone() -> None:
    u = inputs(np.arange(5.0)[:, None] / 2 - 1)
    least = {n: np.linalg.eigvalsh(limit_kernel(u, a))[0] for n, a in ACTIVATIONS.items()}
    assert max(least["identity"], least["square"]) < 1e-12
    assert min(least["tanh"], least["sine"], least["softplus"]) > 1e-5


@pytest.mark.parametrize("name", ["tanh", "softplus", "sine"])
def test_the_limit_is_the_mean_of_random_kernels(name: str) -> None:
    u = inputs(np.array([[-1.0], [0.5], [2.0]]))
    rng = np.random.default_rng(3)
    drawn = rng.normal(size=(200_000, 3))
    kernel = Wide(drawn[:, 0], drawn[:, 1:], u, ACTIVATIONS[name]).kernel()
    np.testing.assert_allclose(kernel, limit_kernel(u, ACTIVATIONS[name]), rtol=0.03)


def test_descent_in_the_ball_stays_there_and_goes_down() -> None:
    rng = np.random.default_rng(6)
    drawn = rng.normal(size=(64, 3))
    start = Wide(drawn[:, 0], drawn[:, 1:], inputs(np.array([[-1.0], [1.0]])), ACTIVATIONS["tanh"])
    least = [least_in_ball(start, radius) for radius in (0.0, 0.5, 1.0, 2.0)]
    assert least[0] == pytest.approx(np.linalg.eigvalsh(start.kernel())[0], abs=1e-12)
    assert all(a > b for a, b in itertools.pairwise(least))
    # no random point of the ball is lower
    for _ in range(200):
        move = rng.normal(size=(64, 3))
        move /= np.linalg.norm(move)
        other = Wide(start.v + move[:, 0], start.w + move[:, 1:], start.u, start.activation)
        assert np.linalg.eigvalsh(other.kernel())[0] >= least[2]
