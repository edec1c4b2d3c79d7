"""How far a run is: a line that changes on a terminal, elsewhere a line a minute."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape


@contextmanager
def progress(
    expected: Mapping[str, float], size: int, console: Console, interval: float = 60.0
) -> Iterator[Callable[[str], None]]:
    """Counts cells, `size` of them running at a time; yields what to call with each stored id.

    `expected` has their rough processor seconds in the order in which they start. The time to go
    is that of the remaining cells, scaled by how far the estimates were off so far. Before a tenth
    is done they are not scaled: running cells do not count as done, and are most of it. A console
    that is no terminal gets a line where the last one is `interval` seconds old.
    """
    remaining, start, last = dict(expected), time.monotonic(), 0.0
    with console.status("starting") as status:  # prints nothing where there is no terminal

        def stored(id_: str) -> None:
            nonlocal last
            del remaining[id_]
            elapsed, to_go = time.monotonic() - start, sum(remaining.values())
            done = sum(expected.values()) - to_go
            pace = elapsed / done if done > sum(expected.values()) / 10 else 1 / size
            counts = f"{len(expected) - len(remaining)} of {len(expected)} cells"
            times = f"after {duration(elapsed)}, about {duration(pace * to_go)} to go"
            line = f"{counts} {times}; running: {', '.join(list(remaining)[:size])}"
            status.update(escape(line))
            if not console.is_terminal and elapsed - last >= interval:
                last = elapsed
                console.print(line, markup=False, highlight=False, soft_wrap=True)

        yield stored


def duration(seconds: float) -> str:
    """Two figures are enough: 41 s, 12 min, 3.4 h."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
