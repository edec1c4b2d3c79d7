"""Stacks of networks against the compiled training of each, on a pretended GPU."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from bus_engine import rngs, with_ends
from pretended_device import DeviceError, OnDevice, pretended_device

import gladius
from gladius.designs.bus import BusEngine
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.paper import author, stack
from gladius.validate import InputError

ANCHOR, DISCOUNT = Anchor(1, lambda states: -4.0 - states[:, 0] / 10), 0.95
BUS = BusEngine(horizon=12)
SMALL, LARGE = (BUS.simulate(n, rngs(1, seed=n)[0]) for n in (9, 14))
STEPS = {"epochs": 10, "units": 7, "batch_trajectories": 3}  # 30 and 50 steps


DATA = {
    "three seeds": [LARGE] * 3,
    "two sizes": [SMALL, LARGE],
    "ends": [with_ends(SMALL), LARGE],
    # some inputs are negative, so that no hidden unit is off for good
    "two inputs": [BusEngine(horizon=12, dummies=1).simulate(n, 0) for n in (14, 9)],
}


@contextmanager
def pretended_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pretended_device():
        yield


def both(
    data: list[Transitions], monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[list[author.Pass], list[author.Pass]]:
    """The stack's trainings and the compiled ones from the same weights."""
    settings = author.Options(**STEPS | options)
    starts = [
        author.initial(author.layout_of(one, settings), author.LEVEL, rng)
        for one, rng in zip(data, rngs(len(data)), strict=True)
    ]
    of = ANCHOR, DISCOUNT, settings
    with pretended_gpu(monkeypatch):
        found = stack.train(data, *of, starts, "cuda")
    pairs = zip(data, starts, strict=True)
    return found, [author.train(one, *of, start)[-1] for one, start in pairs]


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("case", DATA)
def test_a_stack_has_the_numbers_of_the_compiled_trainings(
    case: str, absolute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first 50 steps, to what rounding explains.

    An entry of a gradient is a sum of at most 600 terms, and its rounding at most 600 units of
    1.1e-16 of its largest term. A step of AdamW moves a parameter by a rate of 1e-3 times its
    gradient over the root of its mean square: 50 such steps with entries 1,000 times smaller than
    their terms move it by 50 * 1e-3 * 2 * 600 * 1.1e-16 * 1e3 = 7e-12. The rounding of the
    parameters themselves, which are near -55, adds 50 * 3.6e-15.
    """
    data = DATA[case]
    found, expected = both(data, monkeypatch, absolute=absolute, dtype=np.float64)
    for one, other, rows in zip(found, expected, data, strict=True):
        for name in ("last", "before_last"):
            ours, theirs = getattr(one, name), getattr(other, name)
            assert (ours.epoch, ours.layout) == (theirs.epoch, theirs.layout)
            np.testing.assert_allclose(ours.parameters, theirs.parameters, rtol=0, atol=7e-12)
            assert ours.gradient == pytest.approx(theirs.gradient, rel=1e-9)
            q = ours.combination(0.0)(rows.states)
            assert q.dtype == np.float64
        moved = one.last.parameters - one.before_last.parameters
        assert np.abs(moved).max() > 1e-3  # in an epoch
        assert one.trace.tolist() == other.trace.tolist() == [0.0] * STEPS["epochs"]
        assert one.best is None
        assert one.cpu_seconds > 0
    units = {one.last.layout.units[0] for one in found}
    assert (units == {STEPS["units"]}) is (case == "two inputs")
    assert case != "three seeds" or len(units) > 1


def test_in_single_precision_too(monkeypatch: pytest.MonkeyPatch, uncompiled: None) -> None:
    """Near -55 its spacing is 4e-6, half of which each of 50 steps may round."""
    found, expected = both(DATA["two sizes"], monkeypatch, dtype=np.float32)
    for one, other in zip(found, expected, strict=True):
        assert one.last.parameters.dtype == np.float32
        np.testing.assert_allclose(one.last.parameters, other.last.parameters, rtol=0, atol=1e-4)


def test_every_tensor_of_a_step_is_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, seen = stack.losses, []

    def losses(layout: Any, theta: Any, step: stack.PaddedBatch, *others: Any) -> torch.Tensor:
        seen.extend([theta, *step])
        return plain(layout, theta, step, *others)

    monkeypatch.setattr(stack, "losses", losses)
    both(DATA["two sizes"], monkeypatch, dtype=np.float64)
    assert len(seen) == 50 * (1 + len(stack.PaddedBatch._fields))
    assert all(isinstance(x, OnDevice) for x in seen)

    def forgetful(*args: Any) -> torch.Tensor:
        found = plain(*args)
        return found + torch.from_numpy(np.zeros(found.shape))

    monkeypatch.setattr(stack, "losses", forgetful)
    with pytest.raises(DeviceError, match="two devices"):
        both(DATA["two sizes"], monkeypatch, dtype=np.float64)


def test_a_network_that_is_not_finite_leaves_the_others_alone() -> None:
    settings = author.Options(**STEPS, dtype=np.float64)
    size = author.layout_of(LARGE, settings)
    starts = [author.initial(size, author.LEVEL, rng) for rng in rngs(2)]
    broken = np.full_like(starts[0], np.nan)
    alone, beside = (
        stack.train([LARGE] * 2, ANCHOR, DISCOUNT, settings, [starts[0], other], "cpu")
        for other in (starts[1], broken)
    )
    assert alone[0].last.parameters.tobytes() == beside[0].last.parameters.tobytes()
    assert np.isnan(beside[1].last.parameters).any()


def fitted(data: Any, device: str, **options: Any) -> Any:
    known = {"anchor_action": 1, "anchor_reward": -5.0, "discount": DISCOUNT}
    options = STEPS | {"epochs": 4, "dtype": np.float64} | options
    return gladius.fit(data, "gladius", protocol="author", device=device, **known, **options)


def test_the_door_trains_a_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line shows the epochs of all; the setting of torch for fixed sums is as before."""
    steps: list[float] = []
    monkeypatch.setattr(
        "rich.progress.Progress.advance", lambda self, task, advance: steps.append(advance)
    )
    expected = fitted([SMALL, LARGE], "cpu", rngs=rngs(2))
    with pretended_gpu(monkeypatch):
        found = fitted([SMALL, LARGE], "cuda", rngs=rngs(2), progress=True)
    assert steps == [1] * 4
    assert not torch.are_deterministic_algorithms_enabled()
    for one, other in zip(found, expected, strict=True):
        assert one.diagnostics.status == "not_converged"
        assert one.diagnostics.iterations == 4
        states = one.data.states
        ours, theirs = one.reward_function(states), other.reward_function(states)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
        assert np.ptp(ours) > 1e-2


def test_what_a_stack_cannot_do_is_said_before_any_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def none(*args: Any) -> None:
        raise AssertionError("it has started")

    monkeypatch.setattr(stack, "train", none)
    with pytest.raises(InputError, match="device = 'tpu'"):
        fitted(LARGE, "tpu")
    with pytest.raises(InputError, match=r"device = 'cuda'.*no GPU"):
        fitted(LARGE, "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    refused = {"checkpoint": tmp_path, "risk_every": 2, "repetitions": 2}
    refused["oracle"] = author.Oracle([LARGE], BUS.reward)
    for name, value in refused.items():
        with pytest.raises(InputError, match=rf"^{name} = .*device='cpu'"):
            fitted(LARGE, "cuda", **{name: value})
    with pytest.raises(InputError, match=r"\(1, 2\), \(2, 2\).*same features"):
        author.fit([SMALL, DATA["two inputs"][0]], ANCHOR, DISCOUNT, device="cuda", **STEPS)
    monkeypatch.setitem(sys.modules, "gladius.paper.stack", None)
    monkeypatch.delattr("gladius.paper.stack")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "gladius.paper.stack")
    with pytest.raises(InputError, match=r"device = 'cuda'.*torch"):
        fitted(LARGE, "cuda")
