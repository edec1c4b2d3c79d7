"""Networks and regressions on observations on a GPU: on a pretended one, and on a real one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from bus_engine import ANCHOR, BUS, Array
from pretended_device import DeviceError, OnDevice, pretended_device
from sparse_fits import fit_sparse

import gladius
from gladius.baselines import bc, iq_learn, pqr
from gladius.baselines.bc import Training
from gladius.designs.bus import BusEngine
from gladius.own_data.erm.observations import network, regression, risk
from gladius.own_data.erm.observations.risk import ObservationRisk

SHORT = Training(steps=60)
BATCHES = Training(steps=60, batch=50)
DUMMIES = BusEngine(dummies=3).simulate(40, np.random.default_rng(3))
SMALL = BUS.simulate(15, [np.random.default_rng(r) for r in range(2)])


CURVED = BusEngine(maintenance=lambda x: -x - 0.6 * np.sin(x))  # a line does not fit it


def generators() -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in (1, 2)]


def of_network() -> gladius.Estimate:
    data = CURVED.simulate(300, np.random.default_rng(5))
    options = network.Options(hidden=(20,), steps=60, learning_rate=5e-3)
    estimate = network.fit_rows(data, ANCHOR, 0.95, options)
    assert estimate.diagnostics.iterations > 0, "the network has left the line"
    return estimate


FITS: dict[str, Callable[[], gladius.Estimate]] = {
    "sparse, one input": lambda: fit_sparse(SMALL[0]),
    "sparse, dummies": lambda: fit_sparse(DUMMIES),
    "network": of_network,
    "bc": lambda: bc.fit(SMALL, ANCHOR, 0.95, rng=generators(), training=SHORT)[1],
    "bc, batches": lambda: bc.fit(SMALL, ANCHOR, 0.95, rng=generators(), training=BATCHES)[1],
    "iq_learn": lambda: iq_learn.fit(
        SMALL, ANCHOR, 0.95, rng=generators(), function_class="network"
    )[1],
    "pqr": lambda: pqr.fit(SMALL, ANCHOR, 0.95, rng=generators(), training=SHORT)[1],
}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps, after which a GPU's rounding has not grown."""
    monkeypatch.setattr(iq_learn, "TRAINING", replace(iq_learn.TRAINING, steps=60))


def numbers(name: str, estimate: gladius.Estimate) -> list[Array]:
    states = DUMMIES.states[:9] if name == "sparse, dummies" else np.array([[1.0], [4.0], [9.0]])
    return [estimate.q(states), estimate.reward_function(states)]


@pytest.mark.parametrize("name", FITS)
def test_a_pretended_device_gives_the_numbers_of_the_cpu(name: str) -> None:
    expected, before = numbers(name, FITS[name]()), OnDevice.calls
    with pretended_device():
        estimate = FITS[name]()
    assert OnDevice.calls > before + 1000, "it was on the device"
    for ours, theirs in zip(numbers(name, estimate), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda theta: torch.from_numpy(np.zeros(len(theta))) - theta, "two devices"),
        (lambda theta: torch.stack([theta, torch.from_numpy(np.zeros(len(theta)))]), "two devices"),
        (lambda theta: np.asarray(theta), "to numpy"),
        (lambda theta: theta.numpy(), "to numpy"),
        (lambda theta: torch.from_numpy(np.zeros(3))[torch.zeros(1, dtype=torch.long)], "an index"),
        (lambda theta: torch.ones(2, 2).long() @ torch.ones(2).long(), "whole numbers"),
        (lambda theta: torch.bincount(torch.zeros(len(theta)).long(), theta), "no fixed order"),
        (lambda theta: theta.cumsum(0), "no fixed order"),
        (lambda theta: torch.rand(2, generator=torch.Generator()), "a generator of the CPU"),
    ],
)
def test_what_a_device_refuses_is_refused(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[[Any], Any], words: str
) -> None:
    """The control: a fault planted in a Newton step ends the fit."""
    plain = ObservationRisk.newton_step

    def faulty(risk: ObservationRisk, theta: torch.Tensor, zeta: torch.Tensor) -> Any:
        fault(theta)
        return plain(risk, theta, zeta)

    monkeypatch.setattr(ObservationRisk, "newton_step", faulty)
    FITS["sparse, one input"]()  # harmless on the CPU
    with pretended_device(), pytest.raises(DeviceError, match=words):
        FITS["sparse, one input"]()


def test_a_helper_that_forgets_the_device_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(*args: Any) -> Any:
        return torch.from_numpy(regression.solve(*args).numpy(force=True))

    monkeypatch.setattr(risk, "solve", forgetful)
    with pretended_device(), pytest.raises(DeviceError, match="two devices"):
        FITS["sparse, one input"]()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("sparse, dummies", 1e-5),
        ("network", 1e-6),
        ("bc", 1e-10),
        ("iq_learn", 1e-8),
        ("pqr", 1e-6),
    ],
)
def test_a_gpu_gives_the_numbers_of_the_cpu(
    name: str, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To what rounding alone moves: sums in another order, the stop of Newton's steps.

    The network's steps are in float64 here. Adam magnifies float32's rounding: a GPU's numbers
    differed by 3e-6 and 2e-5 in two fits, which says little of the program.
    """
    monkeypatch.setattr(network, "STEPS_IN", torch.float64)
    expected = numbers(name, FITS[name]())
    with torch.device("cuda"):
        estimate = FITS[name]()
    for ours, theirs in zip(numbers(name, estimate), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
