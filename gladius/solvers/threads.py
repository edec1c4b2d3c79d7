"""One thread for a fit to up to LARGEST distinct states, whatever the caller's setting is.

A fit is a long sequence of operations on small arrays. Where two threads share one, each operation
lasts until both are done. If another program needs a core, one of them waits for its turn, and the
fit lasts several times as long as on one thread.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from types import ModuleType

from threadpoolctl import ThreadpoolController

from gladius.panel.record import distinct_rows
from gladius.validate import Array

# On two cores two threads took, beside other programs, 6 to 9 times as long as one for 20,000
# states with 4 features (class `sparse`), and 2 to 3 times for 100,000 or 300,000. Alone they take
# at best .74, .52 and .59 of the time: from 100,000 on there is almost as much to gain as to lose.
LARGEST = 100_000

_LOCK = threading.Lock()
# thread -> what restores the numbers of threads that the first of the open calls found
_OPEN: dict[int, Callable[[], None]] = {}


@contextmanager
def one_thread(*states: Array) -> Iterator[None]:
    """Within it BLAS, OpenMP and torch use one thread, unless a data set is large.

    The caller's setting is restored, also after an exception. Libraries that are loaded within keep
    theirs, unless `load` loads them. Within another such context nothing changes.

    Args:
        states: (n, d) features of each data set; one is large with more than LARGEST distinct rows.
    """
    own = threading.get_ident()
    if own in _OPEN or any(_is_large(rows) for rows in states):
        yield
        return
    with _LOCK:
        restore = _limit()
        _OPEN[own] = next(iter(_OPEN.values()), restore)
    try:
        yield
    finally:
        with _LOCK:
            _OPEN.pop(own)()


def load(name: str) -> ModuleType:
    """The module of a name; if it is within `one_thread` that it loads torch, that has one too."""
    had_torch = "torch" in sys.modules
    module = import_module(name)
    if had_torch or "torch" not in sys.modules or threading.get_ident() not in _OPEN:
        return module
    with _LOCK:
        of_torch, of_others = _limit(), next(iter(_OPEN.values()))

        def restore() -> None:
            of_torch()
            of_others()

        _OPEN.update(dict.fromkeys(_OPEN, restore))
    return module


def _is_large(states: Array) -> bool:
    return len(states) > LARGEST and len(distinct_rows(states)[0]) > LARGEST


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Those that are loaded, looked for again (2 ms) where the number of modules is another."""
    return ThreadpoolController()


def _limit() -> Callable[[], None]:
    """Set one thread; the function restores the numbers that were found."""
    torch = sys.modules.get("torch")  # an import would slow down what does without it
    torch_threads = torch.get_num_threads() if torch else 1
    pools = _libraries(len(sys.modules)).limit(limits=1)
    if torch:  # threadpoolctl does not see the MKL within torch
        torch.set_num_threads(1)

    def restore() -> None:
        pools.restore_original_limits()
        if torch:
            torch.set_num_threads(torch_threads)

    return restore
