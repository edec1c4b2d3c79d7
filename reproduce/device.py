"""The device of the cells that can use a GPU: networks and regressions on observations.

Numbers are drawn on the CPU, so that both devices see the same data, starts and batches.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from gladius.checks import InputError, check_choice

DRIVER = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")


def check_device(device: str) -> None:
    """Raise where the device does not exist."""
    check_choice("device", device, ("cpu", "cuda"))
    if device == "cuda" and not torch.cuda.is_available():
        hint = "no GPU is visible to this build of torch: use cpu, or `tox -e reproduce-gpu`"
        raise InputError("device", device, hint)


@contextmanager
def computing_on(device: str) -> Iterator[None]:
    """New tensors are on the device; on a GPU each sum has one order, without reduced precision."""
    if device == "cpu":
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before the first CUDA call
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("highest")
    with torch.device(device):
        yield


def gpu() -> dict[str, str]:
    """Name of the GPU, its driver, and the version of CUDA."""
    driver = subprocess.run(DRIVER, capture_output=True, text=True, check=False).stdout
    name, version = torch.cuda.get_device_name(), str(torch.version.cuda)
    return {"gpu": name, "driver": driver.partition("\n")[0], "cuda": version}
