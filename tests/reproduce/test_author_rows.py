"""The author's procedure on rows: where states repeat it is that of `gladius.author`."""

import numpy as np
import pytest
import torch

from gladius import BusEngine, author
from gladius.anchor import Anchor
from gladius.checks import InputError
from reproduce import author_rows

ANCHOR = Anchor(1, -5.0)


@pytest.mark.parametrize("from_truth", [True, False])
@pytest.mark.parametrize("absolute", [True, False])
def test_rows_and_counts_give_the_same_network(from_truth: bool, absolute: bool) -> None:
    data = BusEngine().simulate(96, np.random.default_rng(3))
    told = {"level_from_truth": from_truth, "absolute": absolute}
    rngs = [np.random.default_rng(5)]
    counted = author.run([data], ANCHOR, 0.95, rngs=rngs, epochs=3, dtype=torch.float64, **told)
    flat = author_rows.train(
        data, ANCHOR, 0.95, np.random.default_rng(5), 3, dtype=torch.float64, **told
    ).parameters
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
    assert torch.equal(ends[0].parameters, ends[1].parameters)
    assert np.isfinite(ends[0].best)
    assert ends[1].best == np.inf


def test_a_training_resumes_to_the_same_numbers(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(author_rows, "SAVE_EVERY", 2)
    data = BusEngine(dummies=1).simulate(64, np.random.default_rng(7))
    test = data, np.full(len(data), -2.0)
    ends, first = [], 0.0
    for stops, checkpoint in (((15,), None), ((4, 15), tmp_path / "state.pt")):
        for epochs in stops:
            rng = np.random.default_rng(8)
            given = {"level_from_truth": True, "test": test, "checkpoint": checkpoint}
            end = author_rows.train(data, ANCHOR, 0.95, rng, epochs, **given)
            first = end.cpu_seconds if epochs == 4 else first
        ends.append(end)
    assert torch.equal(ends[0].parameters, ends[1].parameters)
    assert ends[0][1:3] == ends[1][1:3]
    kept = torch.load(tmp_path / "state.pt", weights_only=True)["cpu_seconds"]
    assert first < kept <= ends[1].cpu_seconds  # the time of both parts


def test_a_checkpoint_of_other_data_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(author_rows, "SAVE_EVERY", 1)
    for seed in (1, 2):
        data = BusEngine().simulate(40, np.random.default_rng(seed))
        given = {"level_from_truth": False, "checkpoint": tmp_path / "state.pt"}
        args = data, ANCHOR, 0.95, np.random.default_rng(9), 1
        if seed == 1:
            author_rows.train(*args, **given)
        else:
            with pytest.raises(InputError, match="of another run"):
                author_rows.train(*args, **given)
