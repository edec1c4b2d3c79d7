"""What a stored number rests on: the key of a cell, and the digest of what draws an exhibit.

A key holds what decides numbers: the digests of all definitions that the cell's function reaches,
of those that its settings select from a register and of those that each result passes through
(PATH), the cell's own digest, and the device where it can use one. See `digests` for what a digest
holds. Versions are in no key: they are recorded beside each cell, and `run` says where they differ.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gladius.own_data.erm import ROW_CLASSES
from gladius.register import METHODS, PROTOCOLS
from gladius.solvers.compiled import IS_COMPILED
from gladius.validate import InputError
from reproduce.engine.digests import Definitions, sha256
from reproduce.engine.nouns import Cell, Exhibit
from reproduce.engine.register import FUNCTIONS
from reproduce.engine.syntax import NameReference

# what every result passes through on its way into its cell's file, and from there into the tables
PATH = (
    "reproduce.engine.nouns:Cell",
    "reproduce.engine.worker:one_thread",
    "reproduce.engine.worker:compute",
    "reproduce.engine.store:encode",
)
PATH_OF_VIEWS = (
    "reproduce.engine.store:decode",
    "reproduce.engine.view:View",
    "reproduce.engine.output:draw",
)
ON_DEVICE, COMPILED = "reproduce.engine.device:computing_on", "gladius.solvers.compiled:compiled"
DEVICE, SETTINGS = "device", "settings"


def pieces(definitions: Definitions, cell: Cell, device: str) -> dict[str, str]:
    """Everything that a cell's numbers rest on: name -> digest; names are for messages alone."""
    settings, selected = cell.settings, list[str]()
    options = settings.get("options", {})
    if "method" in settings:
        selected.append(METHODS[settings["method"]])
    if options.get("protocol") in PROTOCOLS:
        selected.append(PROTOCOLS[options["protocol"]])
    elif settings.get("method") == "profiled_erm":  # `smooth` gives way to `sparse` for some data
        name = options.get("function_class", "sparse")
        selected += [ROW_CLASSES[name]] if name in ROW_CLASSES else []
    roots = [FUNCTIONS.get(cell.compute, cell.compute), *PATH]
    module = settings.get("module", "")  # of which all decides that it defines
    names = getattr(definitions.module(module), "names", {})
    roots += [f"{module}:{x}" for x, bound in names.items() if any(map(is_defined, bound))]
    more = {SETTINGS: cell.digest}
    if cell.takes_device():
        roots.append(ON_DEVICE)
        more[DEVICE] = device
    return definitions.reached(*roots, selected=selected) | more


def is_defined(bound: object) -> bool:
    """Whether what a name is bound to stands in its module, and is not imported."""
    return not isinstance(bound, NameReference)


def key(of: Mapping[str, str]) -> str:
    """Of a cell, from its pieces; where a definition stands is not in it."""
    return combined(sorted(set(of.values())))


def code(cells: Iterable[Mapping[str, str]]) -> str:
    """Digest of what the checkout decides of some cells, from their pieces: all but the device."""
    undecided = {DEVICE}
    return combined(sorted({key({n: cell[n] for n in cell.keys() - undecided}) for cell in cells}))


def view(definitions: Definitions, exhibit: Exhibit) -> str:
    """Digest of the code and data that make an exhibit out of its cells."""
    roots = list(PATH_OF_VIEWS)
    for function in (exhibit.entries, exhibit.render, exhibit.view):
        roots.append(f"{function.__module__}:{function.__qualname__.partition('.')[0]}")
        found = definitions.module(function.__module__)
        names = {"EXHIBIT", "EXHIBITS", "SOURCES"} & set(found.names if found else ())
        roots += [f"{function.__module__}:{name}" for name in sorted(names)]
    return key(definitions.reached(*roots) | {"name": sha256(exhibit.name)})


def combined(digests: Any) -> str:
    """SHA-256 of what JSON holds."""
    return sha256(json.dumps(digests, sort_keys=True))


def check_compiler(cells: Iterable[Mapping[str, str]]) -> None:
    """Raise where loops of a cell need numba, by its pieces, and numba is not installed."""
    if not IS_COMPILED and any(COMPILED.replace(":", ".") in cell for cell in cells):
        hint = "not installed, and its loops take hours in Python: install the extra 'compiled'"
        raise InputError("numba", None, hint)
