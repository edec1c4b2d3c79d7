"""Calls in processes of their own, within limits of processor time and memory.

`table_1_cells` uses them for scalability in Table 1. The kernel enforces the limits, so that a fit
which needs more memory cannot take the machine with it. All calls of a server are forked from one
process that has only imported, so that imports are done once and count towards no limit of time.
"""

import math
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from gladius.validate import InputError
from reproduce.engine.nouns import FAILED

GIBIBYTE = 2**30
GRACE = 5  # seconds between the signal that ends the child and the one that kills it
TIME, MEMORY = "time", "memory"  # which limit ended a call


class LimitedRun(NamedTuple):
    """How a call ended."""

    value: Any  # what it returned; None if it did not
    stopped: str  # "" if it returned, else TIME, MEMORY or `failed: why`


Call = Callable[..., LimitedRun]  # (importable function, what it is given) -> how it ended


@contextmanager
def limited(seconds: float, gibibytes: float, modules: Sequence[str] = ()) -> Iterator[Call]:
    """Calls of importable functions within limits; a value must be one that pickle can hold.

    Args:
        seconds: of processor time, for each call.
        gibibytes: of memory, for each call.
        modules: imported before the first call.
    """
    code = f"from {serve.__module__} import {serve.__name__} as serve; serve()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        to_server, from_server = server.stdin, server.stdout
        pickle.dump((seconds, gibibytes, modules), to_server)

        def call(function: Callable[..., Any], *given: Any) -> LimitedRun:
            pickle.dump((function, given), to_server)
            to_server.flush()
            return LimitedRun(*pickle.load(from_server))

        yield call


def serve() -> None:
    """Fork for each task on standard input, until it ends, and write the outcomes."""
    answer, sys.stdout = sys.stdout.buffer, sys.stderr  # a function may print
    seconds, gibibytes, modules = pickle.load(sys.stdin.buffer)
    for module in modules:
        import_module(module)
    while True:
        try:
            function, given = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        read, write = os.pipe()
        if child := os.fork():
            os.close(write)
            with os.fdopen(read, "rb") as outcome:
                pickled = outcome.read()
            ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            # without an outcome the kernel killed it for its memory, or torch gave up
            stopped = TIME if ended == -signal.SIGXCPU else MEMORY
            answer.write(pickle.dumps((None, stopped)) if ended else pickled)
            answer.flush()
        else:
            with os.fdopen(write, "wb") as out:
                out.write(pickle.dumps(tuple(run(seconds, gibibytes, function, given))))
            os._exit(0)


def run(
    seconds: float, gibibytes: float, function: Callable[..., Any], given: Sequence[Any]
) -> LimitedRun:
    """The outcome of a call in this process, which has the limits from now on."""
    last = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (last, last + GRACE))
    resource.setrlimit(resource.RLIMIT_DATA, (int(gibibytes * GIBIBYTE),) * 2)
    try:
        return LimitedRun(function(*given), "")
    except MemoryError:
        return LimitedRun(None, MEMORY)
    except InputError as error:
        return LimitedRun(None, f"{FAILED}{error}")
    except Exception as error:  # torch reports a lack of memory in words
        return LimitedRun(None, MEMORY if "alloc" in str(error) else f"{FAILED}{error}")
