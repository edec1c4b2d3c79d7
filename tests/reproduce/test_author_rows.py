"""The author's procedure on rows: where states repeat it is that of `gladius.author`."""

import numpy as np
import pytest
import torch

from gladius import BusEngine, author
from gladius.anchor import Anchor
from reproduce import author_rows

ANCHOR = Anchor(1, -5.0)


@pytest.mark.parametrize("from_truth", [True, False])
@pytest.mark.parametrize("absolute", [True, False])
def test_rows_and_counts_give_the_same_network(from_truth: bool, absolute: bool) -> None:
    data = BusEngine().simulate(96, np.random.default_rng(3))
    told = {"level_from_truth": from_truth, "absolute": absolute}
    rngs = [np.random.default_rng(5)]
    counted = author.run([data], ANCHOR, 0.95, rngs=rngs, epochs=3, dtype=torch.float64, **told)
    flat, _, _ = author_rows.train(
        data, ANCHOR, 0.95, np.random.default_rng(5), 3, dtype=torch.float64, **told
    )
    form = author.shapes(1, author_rows.UNITS, 2)
    for ours, theirs in zip(author.blocks(flat, 1, form), counted.last.blocks, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-9, atol=1e-12)


def test_only_the_chosen_epoch_sees_the_truth() -> None:
    """A truth of NaN moves nothing but the oracle's error, which then finds no epoch."""
    world = BusEngine(dummies=2)
    data, test = world.simulate(60, np.random.default_rng(4)).split(0.8)
    truth = world.reward(test.states, test.actions)
    ends = [
        author_rows.train(
            data, ANCHOR, 0.95, np.random.default_rng(6), 3, level_from_truth=False, test=(test, t)
        )
        for t in (truth, np.full_like(truth, np.nan))
    ]
    assert torch.equal(ends[0][0], ends[1][0])
    assert np.isfinite(ends[0][1])
    assert ends[1][1] == np.inf


def test_a_training_resumes_to_the_same_numbers(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(author_rows, "SAVE_EVERY", 2)
    data = BusEngine(dummies=1).simulate(64, np.random.default_rng(7))
    test = data, np.full(len(data), -2.0)
    ends = []
    for stops, checkpoint in (((15,), None), ((4, 15), tmp_path / "state.pt")):
        for epochs in stops:
            rng = np.random.default_rng(8)
            given = {"level_from_truth": True, "test": test, "checkpoint": checkpoint}
            end = author_rows.train(data, ANCHOR, 0.95, rng, epochs, **given)
        ends.append(end)
    assert torch.equal(ends[0][0], ends[1][0])
    assert ends[0][1:] == ends[1][1:]
