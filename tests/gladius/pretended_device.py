"""A GPU that is none: its tensors have their numbers in CPU memory and obey a device's rules.

Inside `pretended_device` new tensors are on the device, as in `with torch.device("cuda")`. What a
GPU refuses is a DeviceError: an operation on tensors of both devices (CPU tensors without
dimensions and CPU indices apart), `numpy()` without `force`, `np.asarray`, a product of whole
numbers, a draw by a generator of the CPU, and a sum whose order no setting fixes. Memory, kernels
and rounding are a real GPU's to show.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._pytree import tree_leaves, tree_map

CUDA = torch.device("cuda", 0)
INDEXING = {"__getitem__", "__setitem__", "index_put_"}
PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "baddbmm", "einsum"}
WITHOUT_ORDER = {"bincount", "cumsum", "histc", "put_"}  # of floats; refused by `computing_on`
FREE = {"__get__", "__set__", "backward"}
NUMBERS = {
    "item",
    "tolist",
    "__float__",
    "__bool__",
    "__int__",
    "__index__",
    "__len__",
    "size",
    "dim",
}


class DeviceError(RuntimeError):
    """What a GPU would refuse."""


class OnDevice(torch.Tensor):
    """A tensor on the device."""

    calls = 0  # of functions, by all tensors

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls += 1
        name, kwargs = func.__name__, dict(kwargs or {})
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        with torch._C.DisableTorchFunctionSubclass():
            if func == torch.Tensor.device.__get__:
                return CUDA
            if (name == "numpy" and kwargs.pop("force", False)) or name == "cpu":
                there = args[0].detach().clone() if name == "numpy" else args[0].clone()
                there = there.as_subclass(torch.Tensor)
                return there.numpy() if name == "numpy" else there
            if name in ("numpy", "__array__"):
                raise DeviceError("can't convert cuda:0 device type tensor to numpy")
            if name == "to":
                return moved(func, args, kwargs)
            if name in PRODUCTS and not all(x.is_floating_point() for x in tensors):
                raise DeviceError(f"{name} of whole numbers is not implemented on the device")
            if name in WITHOUT_ORDER and any(x.is_floating_point() for x in tensors):
                raise DeviceError(f"{name} of floats has no fixed order on the device")
            if name not in FREE:
                refuse_mixtures(name, args, tensors)
            result = func(*args, **kwargs)
        return result if name in NUMBERS else tree_map(mark, result)


def mark(x: Any) -> Any:
    return x.as_subclass(OnDevice) if isinstance(x, torch.Tensor) else x


def moved(func: Any, args: Any, kwargs: Any) -> Any:
    """`to`: another tensor's device, a named one, or only another type."""
    target = kwargs.get("device", args[1] if len(args) > 1 else None)
    if isinstance(target, torch.Tensor):
        is_here = isinstance(target, OnDevice)
        result = args[0].as_subclass(torch.Tensor).to(target.dtype)
    elif isinstance(target, str | torch.device):
        is_here, result = torch.device(target).type == "cuda", args[0].as_subclass(torch.Tensor)
    else:
        is_here, result = isinstance(args[0], OnDevice), func(*args, **kwargs)
    return mark(result) if is_here else result.as_subclass(torch.Tensor)


def refuse_mixtures(name: str, args: Any, tensors: Any) -> None:
    """Raise where tensors of two devices meet that may not."""
    if name in INDEXING:
        owner, index, *values = args
        of_index = [x for x in tree_leaves(index) if isinstance(x, torch.Tensor)]
        if not isinstance(owner, OnDevice) and any(isinstance(x, OnDevice) for x in of_index):
            raise DeviceError("an index on the device of a tensor on the CPU")
        tensors = [owner, *(x for x in values if isinstance(x, torch.Tensor))]
    wrong = [x for x in tensors if not isinstance(x, OnDevice) and x.dim()]
    if wrong and any(isinstance(x, OnDevice) for x in tensors):
        raise DeviceError(f"{name}: tensors on two devices, on the CPU {[*wrong[0].shape]}")


class Mode(TorchFunctionMode):
    """New tensors are on the device; a CPU tensor goes there by `to`."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in _device_constructors() and kwargs.get("device") is None:
            if kwargs.get("generator") is not None:
                raise DeviceError("a generator of the CPU draws on the device")
            with torch._C.DisableTorchFunctionSubclass():
                return mark(func(*args, **kwargs))
        if func.__name__ == "to" and not isinstance(args[0], OnDevice):
            return moved(func, args, kwargs)
        return func(*args, **kwargs)


@contextmanager
def pretended_device() -> Iterator[None]:
    """As `with torch.device("cuda")` where there is a GPU."""
    with Mode():
        yield
