"""What `tox -e processors` refuses; it has tests that compare numbers, on other processors."""

import pytest
from processors import IS_HERE, environment


@pytest.mark.skipif(not IS_HERE, reason="settings of libraries on Linux and x86-64")
def test_settings_that_change_nothing_are_found() -> None:
    idle = {
        "MKL_CBWR": "COMPATIBEL",
        "ATEN_CPU_CAPABILITY": "avx2",
        "NPY_DISABLE_CPU_FEATURES": "",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2_Usable,-FMA_Usable",
    }
    with pytest.raises(ValueError, match=", ".join(f"{n}={x}" for n, x in idle.items())):
        environment(idle)
