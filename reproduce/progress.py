"""How far a run is: a line that changes on a terminal, elsewhere a line a minute."""

import heapq
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape


@contextmanager
def progress(
    expected: Mapping[str, float], size: int, console: Console, interval: float = 60.0
) -> Iterator[Callable[[str], None]]:
    """Counts cells, `size` running at a time.

    `expected` has their rough processor seconds in the order in which they start. How long is to
    go is what is expected of the others, times how far off the expectation has been so far.
    Yields what is to be called with each that is stored. Where the console is no terminal it
    prints a line every `interval` seconds.
    """
    left, start, ended = dict(expected), time.monotonic(), threading.Event()

    def line() -> str:
        passed, to_go = time.monotonic() - start, sum(left.values())
        done = sum(expected.values()) - to_go
        pace = passed / done if done > 0 else 1 / size
        counts = f"{len(expected) - len(left)} of {len(expected)} cells after {duration(passed)}"
        counts += f", about {duration(pace * to_go)} to go"
        return escape(f"{counts}; running: {', '.join(list(left)[:size])}")

    def print_lines() -> None:
        while not ended.wait(interval):
            console.print(line(), highlight=False, soft_wrap=True)

    with console.status(line()) as status:  # shows nothing where there is no terminal

        def stored(id_: str) -> None:
            del left[id_]
            status.update(line())

        if expected and not console.is_terminal:
            threading.Thread(target=print_lines, daemon=True).start()
        try:
            yield stored
        finally:
            ended.set()


def duration(seconds: float) -> str:
    """Two figures are enough: 41 s, 12 min, 3.4 h."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def finish(costs: Iterable[float], workers: int) -> float:
    """Seconds until so many workers are done, each taking the next cell as it becomes free."""
    ends = [0.0] * workers
    for cost in costs:
        heapq.heapreplace(ends, ends[0] + cost)
    return max(ends)
