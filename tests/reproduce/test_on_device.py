"""`--device`: the cells that compute on a GPU, here a pretended one, and what their record says."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from pretended_device import OnDevice, pretended_device

from gladius.validate import InputError
from reproduce import run as runner
from reproduce.cells import fits
from reproduce.engine import device
from reproduce.engine.nouns import Entry
from tests.reproduce.toys import numbers, toy

Run = Callable[..., runner.Outcome]
GPU = {"gpu": "none", "driver": "1.2", "cuda": "13.0"}
SPARSE = fits.fitting("profiled_erm", 50, smoke=True, options={"function_class": "sparse"})
FITTED = Entry("10", "B", "fresh", SPARSE)


@contextmanager
def pretended(name: str) -> Iterator[None]:
    assert name == "cuda"
    with pretended_device():
        yield


def test_a_gpu_computes_the_cells_that_can_use_it_and_no_other(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(device, "computing_on", pretended)
    monkeypatch.setattr(device, "gpu", lambda: GPU)
    drawn = toy(rows=("10",), columns=("A",))
    exhibit = replace(drawn, entries=lambda smoke: [*drawn.entries(smoke), FITTED])
    assert len(run(exhibit).computed) == 2
    before, calls = numbers(tmp_path / "out"), OnDevice.calls
    assert run(exhibit, device="cuda").computed == (SPARSE.id,)
    assert OnDevice.calls > calls + 1000, "it was on the device"
    pd.testing.assert_frame_equal(numbers(tmp_path / "out"), before)
    record = json.loads((tmp_path / "out/manifests/toy.json").read_text())
    assert record["devices"] == ["cpu", "cuda"]
    assert sorted(GPU.items() <= machine.items() for machine in record["machines"]) == [False, True]


def test_without_a_gpu_a_run_on_one_ends_before_any_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name, words in (("cuda", "no GPU is visible"), ("tpu", "choose one of")):
        with pytest.raises(InputError, match=words):
            run(toy(), device=name)
    assert not list(tmp_path.iterdir())


def test_sums_have_one_order_on_a_gpu_and_the_next_cell_is_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "environ", {})

    def fail_inside() -> None:
        with device.computing_on("meta"):  # a device of every build of torch
            assert torch.empty(1).device.type == "meta"
            assert torch.are_deterministic_algorithms_enabled()
            assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert torch.empty(1).device.type == "cpu"
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(
    ("program", "driver"), [(("printf", "1.2\n3.4\n"), "1.2"), (("no program of this name",), "")]
)
def test_the_record_names_the_driver_of_the_first_gpu_if_it_is_known(
    monkeypatch: pytest.MonkeyPatch, program: tuple[str, ...], driver: str
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "none")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(device, "DRIVER", program)
    assert device.gpu() == GPU | {"driver": driver}
