"""The author's code on gymnasium: its two losses by loops, its data, and a training as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.transitions import Transitions
from gladius.worlds.gym import Acrobot
from reproduce import imitation_author
from reproduce.exhibits import table_4_author
from tests.reproduce.shown import results_of, written

Array = np.ndarray[Any, Any]
NUMBERS = st.integers(-40, 40).map(lambda n: n / 4)


@st.composite
def batches(draw: st.DrawFn) -> tuple[Array, Array, Array, Array, Array]:
    """Q, r, V(s'), zeta and which rows count."""
    size = draw(st.integers(1, 6))
    numbers = [draw(arrays(float, size, elements=NUMBERS)) for _ in range(4)]
    return *numbers, draw(arrays(bool, size))  # type: ignore[return-value]


@given(batches(), st.booleans())
def test_losses_are_means_over_rows_or_over_all_pairs_of_rows(
    batch: tuple[Array, Array, Array, Array, Array], own_rows: bool
) -> None:
    q, reward, value, zeta, counts = batch
    size = range(len(q))
    pairs = [(i, j) for i in size for j in size if i == j or not own_rows]
    regression = np.mean([(value[j] - zeta[i]) ** 2 for i, j in pairs])
    terms = [
        abs((q[i] - reward[j] - value[j]) ** 2 - (value[j] - zeta[i]) ** 2)
        for i, j in pairs
        if counts[i]
    ]
    tensors = [torch.from_numpy(part) for part in batch]
    got = imitation_author.zeta_loss(tensors[3], tensors[2], own_rows)
    assert float(got) == pytest.approx(regression)
    assert float(imitation_author.bellman_loss(*tensors, own_rows)) == pytest.approx(
        np.mean(terms) if terms else 0.0
    )


@given(arrays(float, 5, elements=NUMBERS), arrays(float, 5, elements=NUMBERS))
def test_over_all_pairs_zeta_is_drawn_to_one_number(zeta: Array, value: Array) -> None:
    """The gradient of the code's loss is that towards the batch's mean of V(s')."""
    drawn = torch.from_numpy(zeta).requires_grad_()
    imitation_author.zeta_loss(drawn, torch.from_numpy(value), False).backward()
    np.testing.assert_allclose(drawn.grad, 2 * (zeta - value.mean()) / 5, atol=1e-12)


def test_a_path_ends_at_its_time_limit_too() -> None:
    world = Acrobot(limit=7)
    data, rewards = imitation_author.demonstrations(world, 3, np.random.default_rng(31))
    assert len(data) == len(rewards) == 21
    np.testing.assert_array_equal(np.flatnonzero(data.done), [6, 13, 20])


def trained(own_rows: bool, epochs: int, batch: int, level: float = 1.0) -> Array:
    """Q where action 1 is taken on one side and action 0 on the other."""
    rng = np.random.default_rng(32)
    states = rng.uniform(-1.0, 1.0, (64, 1))
    data = Transitions(states, (states[:, 0] > 0).astype(int), np.roll(states, -1), done=None)
    q = imitation_author.train(
        data, np.zeros(64), 0, level, epochs, batch, np.random.default_rng(33), own_rows
    )
    return q(np.array([[-0.8], [0.8]]))


def test_a_training_learns_the_choices_never_goes_below_zero_and_needs_two_batches() -> None:
    table = trained(False, 150, 16)
    assert table[0, 0] > table[0, 1] + 0.5
    assert table[1, 1] > table[1, 0] + 0.5
    assert table.min() >= 0.0
    assert np.ptp(trained(False, 150, 64), axis=1).max() < np.ptp(table, axis=1).min()
    np.testing.assert_array_equal(table, trained(False, 150, 16))
    assert not np.array_equal(table, trained(True, 150, 16))


def test_a_smoke_run_of_acrobot(tmp_path: Path) -> None:
    entries = [e for e in table_4_author.entries(True) if e.row.startswith("Acrobot")]
    results = results_of(table_4_author.EXHIBIT, entries)
    frame = written(table_4_author.EXHIBIT, results, tmp_path)
    assert set(frame["status"]) == {"not_converged"}
    assert set(frame["protocol"]) == {"author", "author own rows"}
