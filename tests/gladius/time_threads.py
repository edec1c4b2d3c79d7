"""How much longer a fit lasts on the caller's two threads than on one, while a core is busy.

`python tests/gladius/time_threads.py` prints the median of three paired ratios, and their range.
"""

import subprocess
import sys
import time

import numpy as np
import torch

import gladius
from gladius.solvers import threads


def panel(rows: int, features: int) -> gladius.Transitions:
    """A machine that wears, and further features that matter a little or not."""
    rng = np.random.default_rng(0)
    states = rng.normal(size=(rows + 1, features))
    states[:, 0] = rng.gamma(2.0, size=rows + 1)
    actions = (rng.random(rows) < 1 / (1 + np.exp(3 - states[:-1, 0]))).astype(int)
    return gladius.Transitions(states[:-1], actions, states[1:], np.arange(rows) // 100)


def seconds(data: gladius.Transitions, largest: int) -> float:
    threads.LARGEST = largest  # with 0 every fit has the caller's threads
    start = time.perf_counter()
    gladius.fit(data, anchor_action=1, anchor_reward=-3.0, discount=0.9)
    return time.perf_counter() - start


def main() -> None:
    data, largest = panel(20_000, 4), threads.LARGEST
    torch.set_num_threads(2)
    seconds(data, largest)  # loads what a fit needs
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        ratios = [seconds(data, 0) / seconds(data, largest) for _ in range(3)]
        busy.kill()
    print(f"{np.median(ratios):.1f} times ({min(ratios):.1f} to {max(ratios):.1f})")


if __name__ == "__main__":
    main()
