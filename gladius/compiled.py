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

    flags = {"reassoc", "contract", "nsz"}
    loop = njit(cache=True, nogil=True, error_model="numpy", fastmath=flags)(function)
    return cast(Loop, loop)
