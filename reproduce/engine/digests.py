"""The digest of a definition: of what it does, and not of where it stands.

A definition is a function, a class or any other name that a module binds. Its digest is that of its
syntax tree without docstrings and annotations, in which the digest of what it names replaces each
reference, as in a Merkle tree. No name of a module, no import and no order of definitions enters.

Choices:

- Definitions that refer to each other in a circle are hashed together (strong components).
- A dict of strings that name modules is a register, and opaque. Who selects from it adds the
  selected module: its names as far as the code so reached reads attributes of these names.
- `Path(__file__)...` stands for the contents of that file or folder. It stands for nothing if there
  is code in it: then it is a place, and who reads files there adds them.
- Statements that bind no name belong to every definition of their module, and those of a package to
  every definition of the modules in it, which are not imported without it. A test has none occur.
- A name of another package stands for itself. Versions are recorded beside results, not hashed.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from graphlib import TopologicalSorter
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from gladius.validate import InputError
from reproduce.engine.syntax import Module, NameReference, Text, parsed, reference

CODE = ("gladius", "proofs_checks", "reproduce")
PROSE = ("", ".md")  # suffixes of the files of a folder that hold no data
WHOLE = "*"  # in place of a name: all that a module binds


def sha256(text: str) -> str:
    """Of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


Site = tuple[str, str]  # (module, name) of a definition


class Definitions:
    """The code as it is on disk now; make a new one where it may have changed.

    Args:
        folder: where the packages are; by default where an import takes each of them from.
        packages: those of the project.
    """

    def __init__(self, folder: Path | None = None, packages: Iterable[str] = CODE) -> None:
        self.folder, self.packages = folder, frozenset(packages)
        self._modules: dict[str, Module | None] = {}
        self._texts: dict[Site, list[str | Site]] = {}
        self._links: dict[Site, list[Site]] = {}  # the references in each text
        self._attributes: dict[Site, set[str]] = {}
        self._words: dict[tuple[str, ...], set[str]] = {}  # the first words of each text
        self._digests: dict[Site, str] = {}

    def reached(self, *roots: str, selected: Iterable[str] = ()) -> dict[str, str]:
        """`module.name` -> digest of all that these reach, `module:name` or `module`.

        Args:
            roots: definitions.
            selected: modules that are taken from a register; see above how far they count.

        Raises:
            InputError: there is no such definition.
        """
        packages = {re.split("[.:]", name)[0] for name in (*roots, *selected)}
        if not packages <= self.packages:
            self.packages |= packages
            self._modules = {name: module for name, module in self._modules.items() if module}
        found, size = self._reach([self._site(root) for root in roots]), 0
        modules = [(name, self.module(self._site(name)[0])) for name in selected]
        names = [(name, x) for name, module in modules for x in getattr(module, "names", ())]
        while size < len(found):
            size, read = len(found), set().union(*(self._attributes[site] for site in found))
            sites = [self.resolve(NameReference(m, (x,)))[0] for m, x in names if x in read]
            found |= self._reach(site for site in sites if site and site[1] != WHOLE)
        if new := [site for site in found if site not in self._digests]:
            self._hash(new)
        return {f"{m}.{name}": self._digests[m, name] for m, name in sorted(found)}

    def _site(self, root: str) -> Site:
        site, _ = self.resolve(reference(root))
        if site is None:
            raise InputError("definition", root, "the project has none of this name")
        return site

    def module(self, name: str) -> Module | None:
        """What a module binds; None if the project has no such module."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> Module | None:
        first, *others = name.split(".")
        folder = self.folder if first in self.packages else None
        if first in self.packages and folder is None and (spec := find_spec(first)):
            sites = spec.submodule_search_locations or (spec.origin,)
            folder = next((Path(site).parent for site in sites if site), None)
        if folder is None:
            return None
        base = folder.joinpath(first, *others)
        for path in (base / "__init__.py", base.with_suffix(".py")):
            if path.is_file():
                status = path.stat()
                return parsed(path, name, self.packages, status.st_mtime_ns, status.st_size)
        return None

    def resolve(self, given: NameReference) -> tuple[Site | None, str]:
        """(the definition behind a reference, attributes of it); (None, text) outside."""
        module, names, hops = given.module, list(given.names), 0
        while (found := self.module(module)) is not None and hops < 99:
            if not names:
                return (module, WHOLE), ""
            bound, hops = found.names.get(names[0], []), hops + 1
            if len(bound) == 1 and isinstance(bound[0], NameReference):
                module, names = bound[0].module, [*bound[0].names, *names[1:]]
            elif bound:
                return (module, names[0]), ".".join(names[1:])
            elif self.module(f"{module}.{names[0]}"):
                module, names = f"{module}.{names[0]}", names[1:]
            elif "__getattr__" in found.names:
                if names[0] not in found.registered:
                    return (module, "__getattr__"), ".".join(names)
                module = found.registered[names[0]]
            else:
                return None, given.text or ".".join(names)
        return None, given.text or ".".join([module, *names])

    def _reach(self, sites: Iterable[Site]) -> set[Site]:
        waiting, found = list(sites), set[Site]()
        while waiting:
            site = waiting.pop()
            if site not in found:
                if site not in self._texts:
                    self._open(site)
                waiting += self._links[site]
                found.add(site)
        return found

    def _open(self, site: Site) -> None:
        """Read the text of a definition, with the sites that it refers to."""
        (module, name), text = site, list[str | Site](site[1:])
        names = getattr(self.module(module), "names", {})
        whole = [NameReference(module, (each,)) for each in sorted(names)]
        bound: list[Any] = [
            *(whole if name == WHOLE else names[name]),
            *self._effects_above(module),
        ]
        for piece in (each for one in bound for each in getattr(one, "pieces", [one])):
            if isinstance(piece, NameReference):
                target, rest = self.resolve(piece)
                text += [rest] if target is None else [target, rest]
            else:
                text.append(_contents(piece) if isinstance(piece, Path) else piece)
        self._texts[site] = text
        words = (piece.strip("'") for piece in text if isinstance(piece, str))
        self._words[site] = {word.partition(".")[0] for word in words}
        self._links[site] = [piece for piece in text if isinstance(piece, tuple)]
        self._attributes[site] = set().union(*(getattr(one, "attributes", ()) for one in bound))

    def _effects_above(self, module: str) -> list[Text]:
        """What the packages that a module is in do when they are imported."""
        packages = map(self.module, accumulate(module.split(".")[:-1], "{}.{}".format))
        return [effect for package in packages if package for effect in package.effects]

    def uses(self, definitions: Iterable[str], package: str) -> bool:
        """Whether one of these, which `reached` gave, names the package in an import or a text."""
        sites = (name.rpartition(".")[::2] for name in definitions)
        return any(package in self._words.get(site, ()) for site in sites)

    def _hash(self, sites: Sequence[Site]) -> None:
        """Digests of definitions that refer to these or to hashed ones."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        number = {site: i for i, site in enumerate(sites)}
        edges = [
            (number[site], number[to]) for site in sites for to in self._links[site] if to in number
        ]
        ends = np.array(edges, dtype=int).reshape(-1, 2).T
        graph = coo_array((np.ones(len(edges)), ends), shape=(len(sites),) * 2)
        _, labels = connected_components(graph, connection="strong")
        members: dict[int, list[Site]] = {}
        for site, label in zip(sites, labels.tolist(), strict=True):
            members.setdefault(label, []).append(site)
        above: dict[int, set[int]] = {label: set() for label in members}
        for i, j in edges:
            above[labels[i]] |= {labels[j]} - {labels[i]}
        for label in TopologicalSorter(above).static_order():
            own = dict.fromkeys(members[label], "")
            texts = {site: self._text(site, own) for site in own}
            order = sorted(own, key=lambda site: (texts[site], site[1]))
            own = {site: str(i) for i, site in enumerate(order)}
            together = sha256("".join(self._text(site, own) for site in order))
            self._digests |= {site: sha256(together + i) for site, i in own.items()}

    def _text(self, site: Site, own: dict[Site, str]) -> str:
        """A definition with digests for references, and numbers for those of its circle."""
        pieces = self._texts[site]
        return "\n".join(
            piece
            if isinstance(piece, str)
            else f"circle {own[piece]}"
            if piece in own
            else self._digests[piece]
            for piece in pieces
        )


def _contents(path: Path) -> str:
    """Digest of a file, or of the files of a folder; nothing of a place where there is code."""
    if path.suffix == ".py" or next(path.rglob("*.py"), None):
        return "place"
    files = [path]
    if path.is_dir():  # its data: a README or a licence beside them decides no number
        files = [file for file in sorted(path.rglob("*")) if file.suffix not in PROSE]
    names = {file.relative_to(path).as_posix(): file for file in files if file.is_file()}
    return sha256(repr([(name, file_sha256(file)) for name, file in names.items()]))
