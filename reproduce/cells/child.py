"""A call in a process of its own, within limits of processor time and memory.

`traits` uses it for scalability in Table 1. The kernel enforces the limits, so that a fit which
needs more memory cannot take the machine with it. Imports of the child do not
count towards its processor time.
"""

import math
import pickle
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
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


def call(seconds: float, gibibytes: float, function: Callable[..., Any], *given: Any) -> LimitedRun:
    """The outcome of an importable function; its value must be one that pickle can hold."""
    task = pickle.dumps((seconds, gibibytes, function, given))
    code = f"from {child.__module__} import {child.__name__} as child; child()"
    ended = subprocess.run([sys.executable, "-c", code], input=task, stdout=subprocess.PIPE)
    if ended.returncode == -signal.SIGXCPU:
        return LimitedRun(None, TIME)
    if ended.returncode:  # the kernel killed it for its memory, or torch gave up
        return LimitedRun(None, MEMORY)
    return LimitedRun(*pickle.loads(ended.stdout))


def child() -> None:
    """Read a task from standard input, do it within its limits, write the outcome."""
    seconds, gibibytes, function, given = pickle.loads(sys.stdin.buffer.read())
    answer, sys.stdout = sys.stdout.buffer, sys.stderr  # the function may print
    last = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (last, last + GRACE))
    resource.setrlimit(resource.RLIMIT_DATA, (int(gibibytes * GIBIBYTE),) * 2)
    try:
        outcome = LimitedRun(function(*given), "")
    except MemoryError:
        outcome = LimitedRun(None, MEMORY)
    except InputError as error:
        outcome = LimitedRun(None, f"{FAILED}{error}")
    except Exception as error:  # torch reports a lack of memory in words
        outcome = LimitedRun(None, MEMORY if "alloc" in str(error) else f"{FAILED}{error}")
    answer.write(pickle.dumps(tuple(outcome)))
