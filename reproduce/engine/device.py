"""The device of the cells that can use a GPU: networks and regressions on observations.

Numbers are drawn on the CPU, so that both devices see the same data, starts and batches.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch

from gladius.validate import InputError, check_choice

DRIVER = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")


def check_device(device: str) -> None:
    """Raise where the device does not exist."""
    check_choice("device", device, ("cpu", "cuda"))
    if device == "cuda" and not torch.cuda.is_available():
        hint = "no GPU is visible to this build of torch: use cpu, or `tox -e reproduce-gpu`"
        raise InputError("device", device, hint)


@contextmanager
def computing_on(device: str) -> Iterator[None]:
    """New tensors are on the GPU; each sum has one order there, without reduced precision."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before the first CUDA call
    torch.set_float32_matmul_precision("highest")
    torch.use_deterministic_algorithms(True)
    try:
        with torch.device(device):
            yield
    finally:  # the worker's next cell may be one of the CPU
        torch.use_deterministic_algorithms(False)


def gpu() -> dict[str, str]:
    """Name of the GPU, its driver ("" where it is not known), and the version of CUDA."""
    driver = ""
    with suppress(OSError):  # a container may lack the program
        driver = subprocess.run(DRIVER, capture_output=True, text=True, check=False).stdout
    name, version = torch.cuda.get_device_name(), str(torch.version.cuda)
    return {"gpu": name, "driver": driver.partition("\n")[0], "cuda": version}
