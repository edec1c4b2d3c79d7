"""The exhibit on tangent kernels: its kernels, its limits, its files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.function_classes import MLP
from proofs_checks.oracle.networks import ACTIVATIONS, hessian_bound, limit_kernel
from reproduce.exhibits import wide_networks as wide
from tests.reproduce.shown import failed, results_of, written

NUMBERS = st.integers(-12, 12).map(lambda n: n / 4)


@given(st.data())
def test_deep_kernel_is_that_of_the_library(data: st.DataObject) -> None:
    n, inputs, width, outputs = (data.draw(st.integers(1, k)) for k in (3, 2, 4, 3))
    shapes = ((n, inputs), (width, inputs + 1), (width, width), width, (outputs, width))
    z, first, second, bias, last = (data.draw(arrays(float, s, elements=NUMBERS)) for s in shapes)
    u, scale = np.column_stack([z, np.ones(n)]), 1 / math.sqrt(width)
    parts = [first[:, :-1].T, first[:, -1], second.T * scale]
    parts += [bias, last.T * scale, np.zeros(outputs)]
    network = MLP(inputs, outputs, (width, width))
    rows = network.jacobian(np.concatenate([p.ravel() for p in parts])[None], z)[1]
    rows = rows.reshape(n * outputs, -1)
    # the library differentiates in the scaled weights
    scales = (1.0, 1.0, scale, 1.0, scale, 1.0)
    rows = rows * np.concatenate([np.full(p.size, s) for p, s in zip(parts, scales, strict=True)])
    kernel = wide.deep_kernel(u, first, second, bias, last)
    np.testing.assert_allclose(kernel, rows @ rows.T, atol=1e-9)


def test_mileages_are_those_of_a_training_set() -> None:
    assert wide.mileages().ravel().tolist() == list(range(1, 13))
    x = wide.points(wide.BUS)[:, 0]
    assert (x.mean(), x.std()) == pytest.approx((0, 1))


@pytest.mark.parametrize("radius", [0.1, 1.0, 5.0])
def test_the_sufficient_width_is_the_least(radius: float) -> None:
    u = wide.points(wide.APART)
    kernel = limit_kernel(u, ACTIVATIONS["tanh"])
    width = wide.sufficient_width(kernel, u, radius)
    least, most = np.linalg.eigvalsh(kernel)[[0, -1]]

    def holds(m: float) -> bool:
        largest = np.array([math.sqrt(2 * math.log(40 * m))])
        drift = hessian_bound(largest, u, ACTIVATIONS["tanh"], radius) / math.sqrt(m)
        drift *= math.sqrt(len(u)) * radius
        start = math.sqrt(most + least / 4)
        return start + drift <= 2 * start and 2 * (start + drift) * drift <= least / 4

    assert holds(1.01 * width)
    assert not holds(0.99 * width)


def test_outputs_do_not_share_in_the_limit() -> None:
    u = wide.points(wide.BUS)
    single = limit_kernel(u, ACTIVATIONS["tanh"], 2)
    limit = wide.limit(wide.BUS)
    np.testing.assert_array_equal(limit[::2, ::2], single)
    np.testing.assert_array_equal(limit[::2, 1::2], np.zeros_like(single))
    # and so it is at random starts of width 400, to a few per cent
    rng, m = np.random.default_rng(2), 400
    total = np.zeros_like(limit)
    for _ in range(10):
        first, second = rng.normal(size=(m, 2)), rng.normal(size=(m, m))
        bias, last = rng.normal(size=m), rng.normal(size=(2, m))
        total += wide.deep_kernel(u, first, second, bias, last) / 10
    assert np.abs(total - limit).max() < 0.1 * limit.max()


def test_a_smoke_run_says_what_the_lemma_is_about(tmp_path: Path) -> None:
    lines = written(wide.EXHIBIT, results_of(wide.EXHIBIT), tmp_path)
    frame = lines.set_index(["row", "statistic"])["value"]
    star = frame[wide.APART, "lambda_star"]
    assert 0.5 * star < frame[f"{wide.APART}, width 64", wide.LEAST] < 1.5 * star
    balls = [frame[f"{wide.APART}, width 64", f"least in ball {r:g}"] for r in wide.RADII]
    assert frame[f"{wide.APART}, width 64", wide.LEAST] > balls[0] > balls[1] > balls[2] > 0
    # the paper's width is far from the limit, and its data ask for far more
    assert frame[f"{wide.BUS}, width 10", wide.LEAST] < 0.5 * frame[wide.BUS, "lambda_star"]
    asked = "log10 of the width the proof asks for"
    assert frame[wide.BUS, asked] > frame[wide.APART, asked] > 6


def test_the_same_cells_give_the_same_files(tmp_path: Path) -> None:
    for name in ("once", "again"):
        written(wide.EXHIBIT, results_of(wide.EXHIBIT), tmp_path / name)
    for suffix in (".pdf", ".png"):
        files = [(tmp_path / n / f"{wide.NAME}{suffix}").read_bytes() for n in ("once", "again")]
        assert files[0] == files[1]


def test_failed_cells_leave_an_empty_figure(tmp_path: Path) -> None:
    frame = written(wide.EXHIBIT, failed(wide.EXHIBIT), tmp_path)
    assert set(frame["status"]) == {"failed: a reason"}
