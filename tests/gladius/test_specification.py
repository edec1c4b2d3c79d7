"""The bins of an input in which choices are held against a fit."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gladius.screen import Inputs
from gladius.specification import BINS, Bins

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


def test_an_end_bin_takes_in_its_neighbour_and_the_others_are_equally_full() -> None:
    places = binned(np.arange(4000.0)[:, None])
    full = np.bincount(places[:, 0], minlength=BINS)
    assert full[[0, -1]].tolist() == [0, 0]
    assert np.abs(full[1:-1] - [400, *[200] * (BINS - 4), 400]).max() <= 4  # a step of the grid


def test_an_input_that_is_constant_has_all_its_rows_in_the_same_bin() -> None:
    places = binned(np.column_stack([np.full(30, 7.0), np.arange(30.0)]))
    assert len(set(places[:, 0])) == 1
