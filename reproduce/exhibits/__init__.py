"""The exhibits: every module here holds one `EXHIBIT`, imported when it is asked for."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from gladius.checks import InputError
from reproduce.spec import Exhibit


@cache
def names() -> tuple[str, ...]:
    """All exhibits, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> Exhibit:
    """An exhibit by its name."""
    if name not in names():
        raise InputError("exhibit", name, f"choose one of {', '.join(names())}")
    exhibit = import_module(f"{__name__}.{name}").EXHIBIT
    if not isinstance(exhibit, Exhibit) or exhibit.name != name:
        raise InputError("EXHIBIT", name, "the file must define EXHIBIT, named as the file")
    return exhibit
