"""Where a number comes from: the code and data that decide it, versions, commit, machine, device.

The key of a cell is made of the digests of: every module that its `compute` reaches by imports
within this checkout (also inside functions, by a string, or as the method's own), the modules that
each result passes through (PATH), data files that these modules read (DATA), the settings, the
versions of the packages that they import, and the device.

A module enters as a syntax tree without docstrings and comments, the same for every version of
Python. Names that a package's `__init__` only passes on are followed to where they are defined.
What an `__init__` does beyond that counts for all modules below it. No host names, user names or
paths are recorded.
"""

import ast
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gladius.baselines import METHODS, PROTOCOLS, ROW_CLASSES
from gladius.checks import InputError
from gladius.compiled import IS_COMPILED
from reproduce.spec import Cell, Exhibit

ROOT = Path(__file__).parents[1]
# distributions whose versions are recorded; in a cell's key are those that its code imports
PACKAGES = (
    *("numpy", "scipy", "torch", "pandas", "scikit-learn", "gymnasium", "box2d", "cvxpy"),
    *("clarabel", "joblib", "jaxtyping", "matplotlib", "hypothesis", "mpmath", "sympy"),
    *("numba", "llvmlite", "econirl"),
)
# distribution -> the module by whose import it enters: its own name, or what calls it
ENTERS_BY = {"scikit-learn": "sklearn", "clarabel": "cvxpy", "box2d": "gymnasium"}
ENTERS_BY |= {"llvmlite": "numba"}
CODE = ("gladius", "proofs_checks", "reproduce")
PUBLISHED = "paper_tables/published/*.csv"
# module that opens data files -> pattern of these files
DATA = {
    "proofs_checks.printed_tables": PUBLISHED,
    "gladius.worlds.experts": "gladius/worlds/expert_weights/*.npz",
    "reproduce.layout": "reproduce/templates/table.tex",
    "reproduce.notes": "reproduce/templates/notes.md",
    "reproduce.tick_reasons": "reproduce/templates/tick_reasons.csv",
}
# what every result passes through on its way into its cell's file, and from there into the tables
PATH = ("reproduce.worker", "reproduce.store", "reproduce.spec")
PATH_OF_VIEWS = ("reproduce.results", "reproduce.output", "reproduce.store", "reproduce.spec")
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
MODULE, VERSION, DEVICE = "module ", "version ", "device"  # beginnings of the digests' names


@dataclass(frozen=True)
class Source:
    """What one file does, and what it imports: (module, name in it, name here); "" for no name."""

    digest: str
    imports: tuple[tuple[str, str, str], ...]
    defined: frozenset[str]  # functions and classes
    packages: frozenset[str]  # first names of all that it imports, or may import by a string


@dataclass(frozen=True)
class Sources:
    """The code as it is on disk now; make a new one where it may have changed."""

    _closures: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)

    def digests(self, cell: Cell, device: str) -> dict[str, str]:
        """Everything that a cell's numbers rest on, name -> digest."""
        modules = [cell.compute.partition(":")[0]]
        if "method" in cell.settings:
            modules.append(METHODS[cell.settings["method"]])
        options = cell.settings.get("options", {})
        for register, name in ((PROTOCOLS, "protocol"), (ROW_CLASSES, "function_class")):
            if options.get(name) in register:
                modules.append(register[options[name]])
                break  # a protocol has function classes of its own
        if cell.takes_device():
            modules.append("reproduce.device")
        reached = self.closure(*modules) | _direct(PATH)
        sources = _sources(name.removeprefix(MODULE) for name in reached)
        used = {package for source in sources.values() for package in source.packages}
        found = {
            f"{VERSION}{package}": version.partition("+")[0]  # torch's build is no other version
            for package, version in versions().items()
            if ENTERS_BY.get(package, package) in used
        }
        found[f"{VERSION}python"] = ".".join(platform.python_version_tuple()[:2])
        if cell.takes_device():
            found[DEVICE] = device
        return found | reached | {"settings": cell.digest}

    def view(self, exhibit: Exhibit) -> str:
        """Digest of the code and data that make an exhibit out of its cells."""
        functions = (exhibit.entries, exhibit.render, exhibit.view)
        modules = {function.__module__ for function in functions}
        reached = self.closure(f"reproduce.exhibits.{exhibit.name}", *sorted(modules))
        return combined(reached | _direct(PATH_OF_VIEWS))

    def closure(self, *modules: str) -> dict[str, str]:
        """`module NAME` -> digest, for these modules and all that they import in this checkout."""
        if modules not in self._closures:
            self._closures[modules] = dict(sorted(_closure(modules).items()))
        return dict(self._closures[modules])


def combined(digests: Mapping[str, str] | list[str]) -> str:
    """SHA-256 of digests, with or without names."""
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def code(cells: Iterable[Mapping[str, str]]) -> str:
    """Digest of what the checkout decides of some cells: code and settings."""
    undecided = (VERSION, DEVICE)
    decided = [{k: v for k, v in cell.items() if not k.startswith(undecided)} for cell in cells]
    return combined(sorted(set(map(combined, decided))))


def _closure(modules: Iterable[str]) -> dict[str, str]:
    roots = _roots(modules)
    waiting = [name for module in modules for name in _resolve(module, "", roots)]
    digests: dict[str, str] = {}
    while waiting:
        module = waiting.pop()
        path = _path(module, roots)
        if f"{MODULE}{module}" in digests or path is None:
            continue
        source = _read(path, module)
        digests[f"{MODULE}{module}"] = source.digest
        if module in DATA:
            digests |= {f"data {path.name}": sha256(path) for path in ROOT.glob(DATA[module])}
        above = [module.rsplit(".", level)[0] for level in range(1, module.count(".") + 1)]
        waiting += [f"{package}.__init__" for package in above]
        for origin, name, _ in source.imports if not module.endswith(".__init__") else ():
            waiting += _resolve(origin, name, roots)
    return digests


def _roots(modules: Iterable[str]) -> dict[str, Path | None]:
    """First name of each module, and of CODE -> the folder that an import takes it from."""
    roots: dict[str, Path | None] = {}
    for package in (*CODE, *(module.partition(".")[0] for module in modules)):
        spec = find_spec(package)
        origins = () if spec is None else (spec.submodule_search_locations or (spec.origin,))
        roots[package] = next((Path(origin).parent for origin in origins if origin), None)
    return roots


def _direct(modules: Iterable[str]) -> dict[str, str]:
    return {name: source.digest for name, source in _sources(modules).items()}


def _sources(modules: Iterable[str]) -> dict[str, Source]:
    """`module NAME` -> its source, of these modules alone."""
    paths = {module: _path(module, _roots([module])) for module in modules}
    return {f"{MODULE}{module}": _read(path, module) for module, path in paths.items() if path}


def _path(module: str, roots: Mapping[str, Path | None]) -> Path | None:
    names = module.split(".")
    root = roots.get(names[0])
    path = None if root is None else root.joinpath(*names).with_suffix(".py")
    return path if path is not None and path.is_file() else None


def _resolve(module: str, name: str, roots: Mapping[str, Path | None]) -> list[str]:
    """Names of the local modules behind `from module import name` (`import module` for "")."""
    if _path(module, roots) is not None:
        return [module]
    initial = f"{module}.__init__"
    path = _path(initial, roots)
    if path is None:
        return []
    everything = name in ("", "*")
    inside = [] if everything else _resolve(f"{module}.{name}", "", roots)
    if inside:
        return inside
    source = _read(path, initial)
    passed_on = [(m, n) for m, n, here in source.imports if everything or here == name]
    modules = [target for where in passed_on for target in _resolve(*where, roots)]
    if name in source.defined or (everything and source.defined):
        modules.append(initial)
    return modules


def _read(path: Path, module: str) -> Source:
    """The source of a file, parsed again only where its time or size has changed."""
    status = path.stat()
    return _parse(path, module, status.st_mtime_ns, status.st_size)


@cache
def _parse(path: Path, module: str, *changed: int) -> Source:
    tree = ast.parse(path.read_bytes())
    imports = tuple(dict.fromkeys(_imports(tree, module)))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = frozenset(node.name for node in tree.body if isinstance(node, kinds))
    texts = (str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant))
    origins = [*(text for text in texts if "." in text), *(origin for origin, _, _ in imports)]
    packages = frozenset(origin.partition(".")[0] for origin in origins)
    if path.stem == "__init__":
        tree.body = [node for node in tree.body if not _passes_on(node)]
    return Source(hashlib.sha256(_normal(tree).encode()).hexdigest(), imports, defined, packages)


def _passes_on(node: ast.stmt) -> bool:
    """Whether a statement of an `__init__` only imports, or names a literal."""
    if isinstance(node, ast.Assign):
        try:
            ast.literal_eval(node.value)
        except ValueError:
            return False
        return True
    return isinstance(node, ast.Import | ast.ImportFrom)


def _imports(node: ast.AST, module: str) -> Iterator[tuple[str, str, str]]:
    """Every import and every name of a module, wherever it stands; not those for type checkers."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, "", alias.asname or "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = module.split(".")[: -node.level] if node.level else []
        source = ".".join([*base, *filter(None, [node.module])])
        yield from ((source, alias.name, alias.asname or alias.name) for alias in node.names)
    elif isinstance(node, ast.Constant) and DOTTED.fullmatch(str(node.value)):
        yield str(node.value), "", ""  # a module that is imported by its name
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    passed_on = module.endswith(".__init__")  # there for type checkers what is imported lazily
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) and not passed_on:
        children = node.orelse
    for child in children:
        yield from _imports(child, module)


def _normal(node: object) -> str:
    """A syntax tree without positions, comments, docstrings and empty fields."""
    if isinstance(node, list):
        return f"[{','.join(map(_normal, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: getattr(node, name, None) for name in node._fields}
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        first = node.body[0] if node.body else None
        text = first.value if isinstance(first, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            fields["body"] = node.body[1:]
    inside = [f"{k}={_normal(v)}" for k, v in fields.items() if v is not None and v != []]
    return f"{type(node).__name__}({','.join(inside)})"


def sha256(path: Path) -> str:
    """Of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def versions() -> dict[str, str]:
    """Python and the packages that can move a number, those that are installed."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed


def commit() -> dict[str, Any]:
    """`commit` and whether the code differs from it (`dirty`); unknown outside a git checkout."""
    git = partial(subprocess.check_output, cwd=ROOT, text=True, stderr=subprocess.DEVNULL)
    try:
        head = git(["git", "rev-parse", "--verify", "HEAD"]).strip()
        changes = git(["git", "status", "--porcelain", "--", *CODE])
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "dirty": None}
    return {"commit": head, "dirty": bool(changes)}


@cache
def machine() -> dict[str, Any]:
    """Processor, number of cores and memory."""
    path = Path("/proc/cpuinfo")
    name = re.search(r"model name\s*: (.*)", path.read_text("utf-8") if path.exists() else "")
    processor = name[1].strip() if name else platform.processor() or platform.machine()
    machine = {"processor": processor, "cores": os.cpu_count(), "system": platform.system()}
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        machine["memory_gb"] = round(memory / 1e9)
    return machine


def check_compiler(cells: Iterable[Mapping[str, str]]) -> None:
    """Raise where loops of a cell need numba, by its digests, and numba is not installed."""
    if not IS_COMPILED and any(f"{MODULE}gladius.compiled" in cell for cell in cells):
        hint = "not installed, and its loops take hours in Python: install the extra 'compiled'"
        raise InputError("numba", None, hint)
