"""The bins of an input in which choices are held against a fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gladius.screen import Inputs
from gladius.specification import BINS, GRID, Bins

Array = NDArray[np.float64]

VALUES = st.one_of(st.integers(-4, 4).map(float), st.floats(-50.0, 50.0, width=32))


def inputs(rows: st.SearchStrategy[int]) -> st.SearchStrategy[Array]:
    return rows.flatmap(lambda n: arrays(np.float64, (n, 2), elements=VALUES))


def binned(states: Array) -> NDArray[np.int64]:
    """(n, K) the bin of every row."""
    scaling = Inputs.of(states)
    z = (states - scaling.center) / scaling.scale
    each = torch.eye(len(states), dtype=torch.float64)[None]  # a weight of its own for every row
    sums = torch.zeros(1, len(states), BINS * states.shape[1], dtype=torch.float64)
    Bins.of(scaling).add(torch.tensor(z), each, sums)
    table = sums[0].numpy().reshape(len(states), states.shape[1], BINS)
    assert (np.sort(table, axis=2)[:, :, -2:] == [0.0, 1.0]).all()  # each row once in each input
    return table.argmax(axis=2)


@given(inputs(st.integers(1, 30)))
def test_bins_are_monotone_and_equal_values_share_theirs(states: Array) -> None:
    places = binned(states)
    for values, bins in zip(states.T, places.T, strict=True):
        order = np.argsort(values, kind="stable")
        assert (np.diff(bins[order]) >= 0).all()
        assert all(len(set(bins[values == value])) == 1 for value in values)


@given(inputs(st.integers(1, 40)), st.data())
def test_totals_of_the_weights_are_kept(states: Array, data: st.DataObject) -> None:
    scaling = Inputs.of(states)
    z = torch.tensor((states - scaling.center) / scaling.scale)
    shape = (2, len(states), 3)
    weights = data.draw(arrays(np.float64, shape, elements=st.floats(-1e3, 1e3)))
    sums = torch.zeros(2, 3, BINS * states.shape[1], dtype=torch.float64)
    Bins.of(scaling).add(z, torch.tensor(weights), sums)
    totals = sums.numpy().reshape(2, 3, states.shape[1], BINS).sum(axis=3)
    assert np.allclose(totals, weights.sum(axis=1)[:, :, None], rtol=1e-9, atol=1e-9)


@given(inputs(st.integers(2, 30)))
def test_bins_are_those_of_the_quantiles_but_for_rounding_to_the_grid(states: Array) -> None:
    for values, bins in zip(states.T, binned(states).T, strict=True):
        ranks = [-(-len(values) * i // BINS) for i in range(1, BINS)]  # the least with i/BINS below
        edges = np.sort(values)[np.array(ranks) - 1]
        step = (edges[-1] - edges[0]) / (GRID - 3) + 1e-6
        clear = (np.abs(values[:, None] - edges) > step).all(axis=1)
        expected = (values[:, None] > edges).sum(axis=1)
        assert (bins[clear] == expected[clear]).all()


def test_bins_of_even_values_are_equally_full() -> None:
    full = np.bincount(binned(np.arange(4000.0)[:, None])[:, 0], minlength=BINS)
    assert np.abs(full - 200).max() <= 4  # a step of the grid


@pytest.mark.parametrize("rare", [-1.0, 1.0])
def test_what_a_nearly_constant_input_rarely_is_stands_apart(rare: float) -> None:
    values = np.where(np.arange(100) % 50 == 7, rare, 0.0)
    places = binned(values[:, None])[:, 0]
    assert len(set(places[values == rare])) == 1
    assert set(places[values == rare]).isdisjoint(places[values == 0.0])


def test_an_input_that_is_constant_has_all_its_rows_in_the_same_bin() -> None:
    places = binned(np.column_stack([np.full(30, 7.0), np.arange(30.0)]))
    assert len(set(places[:, 0])) == 1
