"""How far a run is: a line that changes on a terminal, elsewhere a line a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.status import Status


class Progress:
    """Counts cells; use it as a context.

    Args:
        ids: of the cells, in the order in which they start.
        size: how many run at a time.
        verbose: False shows nothing.
        interval: seconds between two lines, where there is no terminal.
        console: where to.
    """

    def __init__(
        self,
        ids: Sequence[str],
        size: int,
        verbose: bool = True,
        interval: float = 60.0,
        console: Console | None = None,
    ) -> None:
        self._left, self._total, self._size = dict.fromkeys(ids), len(ids), size
        self._console = console or Console()
        self._interval, self._start = interval, time.monotonic()
        self._shown, self._stop = verbose and bool(ids), threading.Event()
        self._status: Status | None = None

    def __enter__(self) -> Progress:
        if self._shown and self._console.is_terminal:
            self._status = self._console.status(escape(self.line()))
            self._status.start()
        elif self._shown:
            threading.Thread(target=self._lines, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        if self._status is not None:
            self._status.stop()

    def done(self, id_: str) -> None:
        """One cell more is stored."""
        del self._left[id_]
        if self._status is not None:
            self._status.update(escape(self.line()))

    def line(self) -> str:
        """Cells done, of how many, time so far and left, what runs."""
        passed, done = time.monotonic() - self._start, self._total - len(self._left)
        left = (
            f"about {duration(passed / done * len(self._left))}" if done else "not known how long"
        )
        counts = f"{done} of {self._total} cells after {duration(passed)}, {left} to go"
        return f"{counts}; running: {', '.join(list(self._left)[: self._size])}"

    def _lines(self) -> None:
        while not self._stop.wait(self._interval):
            self._console.print(self.line(), markup=False, highlight=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Two figures are enough: 41 s, 12 min, 3.4 h."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
