"""How far a run is: a line that changes on a terminal, elsewhere a line a minute."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape


@contextmanager
def progress(
    ids: Sequence[str], size: int, console: Console, interval: float = 60.0
) -> Iterator[Callable[[str], None]]:
    """Counts the cells `ids`, given in the order in which they start, `size` running at a time.

    Yields what is to be called with each that is stored. Where the console is no terminal it
    prints a line every `interval` seconds.
    """
    left, start, ended = dict.fromkeys(ids), time.monotonic(), threading.Event()

    def line() -> str:
        passed, done = time.monotonic() - start, len(ids) - len(left)
        to_go = f"about {duration(passed / done * len(left))}" if done else "not known how long"
        counts = f"{done} of {len(ids)} cells after {duration(passed)}, {to_go} to go"
        return escape(f"{counts}; running: {', '.join(list(left)[:size])}")

    def print_lines() -> None:
        while not ended.wait(interval):
            console.print(line(), highlight=False, soft_wrap=True)

    with console.status(line()) as status:  # shows nothing where there is no terminal

        def stored(id_: str) -> None:
            del left[id_]
            status.update(line())

        if ids and not console.is_terminal:
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
