"""More rounding than there is: each result of an operation times 1 + u, |u| up to a given size.

The change of a case over the size is its amplification of rounding. The operations are those of
torch, and the products, solutions, exponentials and logarithms of NumPy and SciPy.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.special
import torch
from torch.utils._python_dispatch import TorchDispatchMode

NUMPY = {np: ("einsum", "exp", "log"), np.linalg: ("solve", "inv", "eigh", "slogdet", "pinv")}
SCIPY = ("logsumexp", "softmax", "log_softmax", "expit", "xlogy")
TORCH = (
    *("mm", "bmm", "mv", "dot", "baddbmm", "sum", "prod", "mul", "div", "add", "sub", "add_"),
    *("sub_", "mul_", "div_", "lerp_", "index_add_", "pow", "exp", "log", "sqrt", "sqrt_", "cos"),
    *("tanh", "logsumexp", "_softmax", "_log_softmax", "_log_softmax_backward_data"),
    *("_linalg_solve_ex", "_linalg_eigh", "_linalg_slogdet", "cholesky_solve", "tanh_backward"),
)


class TorchNoise(TorchDispatchMode):
    """Each result of the operations of torch above, in place."""

    def __init__(self, size: float, seed: int) -> None:
        super().__init__()
        self.size, self.rng = size, torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for x in found if isinstance(found, tuple | list) else (found,):
            is_its = func.overloadpacket.__name__ in TORCH and isinstance(x, torch.Tensor)
            if is_its and x.is_floating_point():
                u = torch.rand(x.shape, generator=self.rng, dtype=x.dtype)
                x.mul_(u.mul_(2 * self.size).add_(1 - self.size))
        return found


def noisy(function: Callable[..., Any], size: float, rng: np.random.Generator) -> Any:
    """The function with noise on the arrays that it returns."""

    def change(x: Any) -> Any:
        if isinstance(x, tuple):
            return type(x)(*map(change, x)) if hasattr(x, "_fields") else tuple(map(change, x))
        is_real = np.asarray(x).dtype == np.float64
        return x * (1 + size * rng.uniform(-1, 1, np.shape(x))) if is_real else x

    return lambda *args, **kwargs: change(function(*args, **kwargs))


@contextmanager
def rounding(size: float, seed: int) -> Iterator[None]:
    """Noise of a size in all that is computed inside."""
    rng, special = np.random.default_rng(seed), [getattr(scipy.special, name) for name in SCIPY]
    library = [module for name, module in sys.modules.items() if name.split(".")[0] == "gladius"]
    with pytest.MonkeyPatch.context() as patch, TorchNoise(size, seed):
        for module, names in NUMPY.items():
            for name in names:
                patch.setattr(module, name, noisy(getattr(module, name), size, rng))
        for module in library:
            for name, thing in vars(module).copy().items():
                if any(thing is one for one in special):
                    patch.setattr(module, name, noisy(thing, size, rng))
        yield
