"""Tests on other processors, as settings of the libraries turn this one into them (Linux, x86-64).

    python tests/golden/processors.py [SETTING ...] [pytest's arguments]

A setting that a library does not know is passed over in silence. So each is first seen to work.
"""

import os
import platform
import subprocess
import sys

import numpy as np

SIMD = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
SETTINGS = {
    "mkl": {"MKL_CBWR": "COMPATIBLE"},
    "mkl-avx2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "vectors": {
        "ATEN_CPU_CAPABILITY": "default",  # of torch
        "NPY_DISABLE_CPU_FEATURES": " ".join(SIMD),
    },
    "libm": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA"},
}
SETTINGS["all"] = {key: value for one in list(SETTINGS.values()) for key, value in one.items()}
IS_HERE = platform.system() == "Linux" and platform.machine() == "x86_64"
PROBE = """
import math
import numpy as np
import torch
x = torch.ones(64, 64, dtype=torch.float64)
x @ x
print("torch", torch.backends.cpu.get_cpu_capability())
print("numpy", *np.show_config(mode="dicts")["SIMD Extensions"].get("found", ["none"]))
print("libm", hash(tuple(f(1 + i / 1000) for i in range(5000) for f in (math.exp, math.log))))
"""


def probe(setting: dict[str, str]) -> list[str]:
    """What the libraries report under a setting; MKL that of each product."""
    environment = {**os.environ, **setting, "MKL_VERBOSE": "1"}
    command = [sys.executable, "-c", PROBE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def environment(setting: dict[str, str]) -> dict[str, str]:
    """That of a process with the setting.

    Raises:
        ValueError: for a variable that changes nothing.
    """
    native, found = (probe(one) for one in ({}, setting))
    text = "\n".join(found)
    works = {
        "MKL_CBWR": "CNR:COMPATIBLE" in text,
        # without AVX-512 it has nothing to do
        "MKL_ENABLE_INSTRUCTIONS": "MKL_VERBOSE" in text and "AVX-512" not in text,
        # the second is what torch 2.5 calls it
        "ATEN_CPU_CAPABILITY": "torch DEFAULT" in found or "torch NO AVX" in found,
        "NPY_DISABLE_CPU_FEATURES": "numpy none" in found,
        "GLIBC_TUNABLES": found[-1] != native[-1],
    }
    idle = [f"{name}={value}" for name, value in setting.items() if not works[name]]
    if idle:
        raise ValueError(f"{', '.join(idle)} changes nothing here: {found}")
    return {**os.environ, **setting}


def run(name: str, arguments: list[str]) -> bool:
    """Whether pytest passes under a setting; it must not run the tests of this module again."""
    command = [sys.executable, "-m", "pytest", "--ignore-glob=*/test_processors.py", *arguments]
    print(f"== {name}: {SETTINGS[name]}", flush=True)
    return subprocess.run(command, env=environment(SETTINGS[name])).returncode == 0


if __name__ == "__main__":
    rest = [one for one in sys.argv[1:] if one not in SETTINGS]
    chosen = [one for one in sys.argv[1:] if one in SETTINGS] or list(SETTINGS)
    failed = [name for name in chosen if not run(name, rest)]
    sys.exit(f"failed under {', '.join(failed)}" if failed else 0)
