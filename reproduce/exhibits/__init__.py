"""The exhibits: every module here holds an `EXHIBIT`, or `EXHIBITS` by name (see SHARED).

This room imports all rooms below it: an exhibit lists its cells, and draws them. Start with
`figure_gumbel`.
"""

import pkgutil
from functools import cache
from importlib import import_module

from gladius.validate import InputError
from reproduce.engine.nouns import Exhibit

# exhibit -> the module that holds it beside others of its kind
SHARED = {f"table_a{number}": "table_3" for number in range(1, 5)} | {"figure_a2": "figure_a1"}
# the paper's own; the others are ours
FIGURES = ("figure_1", "figure_a1", "figure_a2", "figure_gumbel")
TABLES = ("table_1", "table_2", "table_3", "table_4")
PAPER = (*FIGURES, *TABLES, "table_a1", "table_a2", "table_a3", "table_a4")
KINDS = ("paper", "own", "all")


@cache
def names() -> tuple[str, ...]:
    """All exhibits, in alphabetical order."""
    return tuple(sorted({*SHARED, *(module.name for module in pkgutil.iter_modules(__path__))}))


def of_kind(kind: str) -> tuple[str, ...]:
    """The paper's exhibits, our own, or all (KINDS)."""
    if kind not in KINDS:
        hint = f"choose one of {', '.join(KINDS)}; an exhibit's name goes without --exhibits"
        raise InputError("exhibits", kind, hint)
    return tuple(n for n in names() if kind == "all" or (n in PAPER) == (kind == "paper"))


def load(name: str) -> Exhibit:
    """An exhibit by its name."""
    if name not in names():
        raise InputError("exhibit", name, f"choose one of {', '.join(names())}")
    module = import_module(f"{__name__}.{SHARED.get(name, name)}")
    exhibit = module.EXHIBITS[name] if hasattr(module, "EXHIBITS") else module.EXHIBIT
    if not isinstance(exhibit, Exhibit) or exhibit.name != name:
        raise InputError("EXHIBIT", name, "the file must define EXHIBIT, named as the file")
    return exhibit
