"""The decorator of loops that numba compiles where it is installed; else they run as NumPy.

The extra `compiled` installs numba. A decorated function is one text for both: the plain run is the
oracle of the compiled one, which differs from it by rounding alone.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TypeVar, cast

Loop = TypeVar("Loop", bound=Callable[..., object])
IS_COMPILED = find_spec("numba") is not None


def compiled(function: Loop) -> Loop:
    """The function in machine code. Its sums may be reordered, and it lets other threads run."""
    if not IS_COMPILED:
        return function
    from numba import njit

    # numba's cache on disk is off: its key has neither these flags nor what a function imports
    flags = {"reassoc", "contract", "nsz"}
    return cast(Loop, njit(nogil=True, error_model="numpy", fastmath=flags)(function))
