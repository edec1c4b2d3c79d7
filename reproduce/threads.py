"""One thread a process: parallelism is over cells, and sums keep their order."""

import os
import sys

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def one_thread() -> None:
    """Numerical libraries use one thread."""
    os.environ |= dict.fromkeys(ONE_THREAD, "1")  # for what is imported later
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
