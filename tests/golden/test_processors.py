"""The golden numbers on two other processors. `tox -e processors` takes more of both."""

import subprocess
import sys
from pathlib import Path

import pytest
from processors import IS_HERE, SETTINGS, environment

pytestmark = pytest.mark.skipif(not IS_HERE, reason="settings of libraries on Linux and x86-64")


@pytest.mark.deep  # `tox -e processors` takes all of them, and other tests too
@pytest.mark.parametrize("name", ["mkl", "vectors"])
def test_numbers_are_the_same(name: str) -> None:
    tests = str(Path(__file__).with_name("test_golden.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "frozen"]
    done = subprocess.run(
        [*command, tests], env=environment(SETTINGS[name]), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_settings_that_change_nothing_are_found() -> None:
    idle = {
        "MKL_CBWR": "COMPATIBEL",
        "ATEN_CPU_CAPABILITY": "avx2",
        "NPY_DISABLE_CPU_FEATURES": "",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2_Usable,-FMA_Usable",
    }
    with pytest.raises(ValueError, match=", ".join(f"{n}={x}" for n, x in idle.items())):
        environment(idle)
