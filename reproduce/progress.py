"""How far a run is: a line a minute."""

import time
from collections.abc import Callable, Mapping

from rich.console import Console


def progress(
    expected: Mapping[str, float], size: int, console: Console, interval: float = 60.0
) -> Callable[[str], None]:
    """What to call with the id of each stored cell, `size` of which run at a time.

    It prints a line where the last one is `interval` seconds old. `expected` has the cells' rough
    processor seconds in the order in which they start. The time to go is that of the remaining
    cells, scaled by how far the estimates were off so far.
    """
    remaining, start, last = dict(expected), time.monotonic(), 0.0

    def stored(id_: str) -> None:
        nonlocal last
        del remaining[id_]
        elapsed, to_go = time.monotonic() - start, sum(remaining.values())
        if elapsed - last >= interval:
            last = elapsed
            pace = elapsed / (sum(expected.values()) - to_go)
            counts = f"{len(expected) - len(remaining)} of {len(expected)} cells"
            times = f"after {duration(elapsed)}, about {duration(pace * to_go)} to go"
            running = ", ".join(list(remaining)[:size])
            console.print(f"{counts} {times}; running: {running}", markup=False, soft_wrap=True)

    return stored


def duration(seconds: float) -> str:
    """Two figures are enough: 41 s, 12 min, 3.4 h."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
