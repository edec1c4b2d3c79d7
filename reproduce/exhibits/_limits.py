"""Runs in processes of their own, held to limits of time and memory: how far a method scales."""

from __future__ import annotations

import math
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cloudpickle

from gladius.checks import InputError

GIBIBYTE = 2**30
MEMORY, TIME = "memory", "time"
FINISHED = ("ok", "not_converged")  # statuses of a run that came to its own end
CHILD = "from reproduce.exhibits._limits import child; child()"

Limits = tuple[float, float]  # processor seconds, gibibytes


def largest(
    runs: Callable[..., str], ladder: Sequence[int], settings: Mapping[str, Any], limits: Limits
) -> tuple[int, dict[int, tuple[str, float]]]:
    """The largest rung that finishes, by bisection (what finishes at K is taken to below it).

    Args:
        runs: an importable function of (rung, settings) that returns the status of its fit.
        ladder: ascending.
        settings: for it.
        limits: (processor seconds, gibibytes) of one run.

    Returns:
        The rung, -1 where none finishes, and rung -> (how it ended, processor seconds).
    """
    ends: dict[int, tuple[str, float]] = {}
    low, high = -1, len(ladder)  # finishes, does not
    while high - low > 1:
        at = high - 1 if not ends else (low + high) // 2  # most either finish all or few
        ends[ladder[at]] = within(limits, runs, ladder[at], settings)
        low, high = (at, high) if ends[ladder[at]][0] in FINISHED else (low, at)
    return (ladder[low] if low >= 0 else -1), ends


def within(limits: Limits, runs: Callable[..., str], *arguments: object) -> tuple[str, float]:
    """(how a run in a process of its own ended, processor seconds): status, memory, time or why.

    The kernel holds the process to the limits; an error of the run is the reason it gives.
    """
    task = cloudpickle.dumps((limits, runs, arguments))
    done = subprocess.run([sys.executable, "-c", CHILD], input=task, stdout=subprocess.PIPE)
    if done.returncode == -signal.SIGXCPU:
        return TIME, limits[0]
    if done.returncode:  # killed by the machine for want of memory, or torch gave up
        return MEMORY, math.nan
    end, seconds = cloudpickle.loads(done.stdout)
    return str(end), float(seconds)


def child() -> None:
    """Read a task from standard input, do it within its limits, write how it ended."""
    (seconds, gibibytes), runs, arguments = cloudpickle.loads(sys.stdin.buffer.read())
    answer, sys.stdout = sys.stdout.buffer, sys.stderr  # what the run prints is no answer
    started = time.process_time()  # what the imports took does not count
    last = math.ceil(started + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (last, last + 5))  # at the second one SIGKILL comes
    resource.setrlimit(resource.RLIMIT_DATA, (int(gibibytes * GIBIBYTE),) * 2)
    end = _end(runs, arguments)
    answer.write(cloudpickle.dumps((end, time.process_time() - started)))


def _end(runs: Callable[..., str], arguments: Sequence[object]) -> str:
    try:
        return runs(*arguments)
    except MemoryError:
        return MEMORY
    except InputError as error:
        return f"failed: {error}"
    except Exception as error:
        return MEMORY if "alloc" in str(error) else f"failed: {error}"  # torch says it so
