"""Signs of life of long work: a bar on a terminal after five seconds, and lines on request."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

PATIENCE = 5.0  # seconds without a bar


@contextmanager
def progress(name: str, total: int | None, verbose: bool | None) -> Iterator[Callable[[int], None]]:
    """What to call after some steps of `total`; of None, the bar has no end and shows the time.

    Args:
        name: of the work.
        total: number of steps.
        verbose: with None a bar appears on standard error after PATIENCE seconds, if that is a
            terminal and rich is installed. With True lines say when the work began and ended, too.
            With False nothing appears.
    """
    start, has_bar = time.monotonic(), verbose is not False and find_spec("rich") is not None
    if verbose:
        print(f"{name}: started", file=sys.stderr)
    with _bar(name, total) if has_bar and sys.stderr.isatty() else _silence() as advance:
        yield advance
    if verbose:
        print(f"{name}: done after {time.monotonic() - start:.1f} s", file=sys.stderr)


@contextmanager
def _silence() -> Iterator[Callable[[int], None]]:
    yield lambda steps: None


@contextmanager
def _bar(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar of rich, which a timer starts."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Left

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    console = Console(file=sys.stderr)
    bar = Progress(*columns, *[Left()] * (total is not None), console=console, transient=True)
    task = bar.add_task(name, total=total)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda steps: bar.advance(task, steps)
    finally:
        timer.cancel()
        timer.join()  # or it might start a bar that nobody stops
        if bar.live.is_started:
            bar.stop()
