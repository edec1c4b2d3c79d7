"""The exhibits: every module here whose name has no leading underscore holds one `EXHIBIT`."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from gladius.checks import InputError
from reproduce.spec import Exhibit


@cache
def names() -> tuple[str, ...]:
    """All exhibits, in alphabetical order."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name[0] != "_"))


def load(name: str) -> Exhibit:
    """An exhibit by its name."""
    if name not in names():
        raise InputError("exhibit", name, f"choose one of {', '.join(names())}")
    exhibit = import_module(f"{__name__}.{name}").EXHIBIT
    if not isinstance(exhibit, Exhibit) or exhibit.name != name:
        raise InputError("EXHIBIT", name, "the file must define EXHIBIT, named as the file")
    return exhibit


def with_dependencies(chosen: list[str]) -> list[Exhibit]:
    """The chosen exhibits and all that they depend on, each after its own dependencies."""
    order: dict[str, Exhibit] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise InputError("depends", name, f"a circle: {' -> '.join((*path, name))}")
        if name not in order:
            exhibit = load(name)
            for other in exhibit.depends:
                visit(other, (*path, name))
            order[name] = exhibit

    for name in chosen:
        visit(name, ())
    return list(order.values())
