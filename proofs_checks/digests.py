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
- Statements that bind no name belong to every definition whose module imports theirs.
- A name of another package stands for itself. Versions are recorded beside results, not hashed.
"""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gladius.checks import InputError

CODE = ("gladius", "proofs_checks", "reproduce")
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(:[A-Za-z_]\w*)?")
WHOLE, EFFECTS = "*", ""  # in place of a name: all that a module binds, or does beside binding
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# from `__file__` to a file or folder
WALK = re.compile(r"Path\(__file__\)(\.parent|\.parents\[\d+\]|\.with_name\('[^']+'\)| / '[^']+')*")
GENERIC = ("dict", "list", "set", "tuple", "frozenset", "Counter", "deque")
KINDS = "ClassVar|InitVar|KW_ONLY"  # annotations that decide what a class does


@dataclass(frozen=True)
class Reference:
    """A name and attributes of it, looked up in a module; `text` where the project has none."""

    module: str
    names: tuple[str, ...] = ()
    text: str = ""


Scope = dict[str, Reference | None]  # names of functions: what a local import binds, else None
Site = tuple[str, str]  # (module, name) of a definition


@dataclass
class Text:
    """A statement: its text in pieces, and the names that it may read of objects."""

    pieces: list[str | Reference | Path] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)


@dataclass
class Module:
    """What a file binds (in order), does beside that, imports, and has in registers."""

    names: dict[str, list[Any]] = field(default_factory=dict)  # to References and Texts
    effects: list[Text] = field(default_factory=list)
    modules: set[str] = field(default_factory=set)
    registered: dict[str, str] = field(default_factory=dict)


def sha256(text: str | bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def reference(text: str) -> Reference:
    """Of `module:name`."""
    module, _, name = text.partition(":")
    return Reference(module, tuple(filter(None, [name])))


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
        self._attributes: dict[Site, set[str]] = {}
        self._edges: dict[Site, set[Site]] = {}  # also to what importing its module does
        self._imported: dict[str, set[str]] = {}
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
        names = [(name, x) for name in selected for x in self._whole(name).names]
        while size < len(found):
            size, read = len(found), set().union(*(self._attributes[site] for site in found))
            sites = [self.resolve(Reference(m, (x,)))[0] for m, x in names if x in read]
            found |= self._reach(site for site in sites if site and site[1] != WHOLE)
        self._hash([site for site in found if site not in self._digests])
        return {f"{m}.{name}": self._digests[m, name] for m, name in sorted(found)}

    def _whole(self, name: str) -> Module:
        module = self.module(name)
        if module is None:
            raise InputError("module", name, "the project has none of this name")
        return module

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
                return _parsed(path, name, self.packages, status.st_mtime_ns, status.st_size)
        return None

    def resolve(self, given: Reference) -> tuple[Site | None, str]:
        """(the definition behind a reference, attributes of it); (None, text) outside."""
        module, names, hops = given.module, list(given.names), 0
        while (found := self.module(module)) is not None and hops < 99:
            if not names:
                return (module, WHOLE), ""
            bound, hops = found.names.get(names[0], []), hops + 1
            if len(bound) == 1 and isinstance(bound[0], Reference):
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
                stars = [star.module for star in found.names.get("*", ()) if star.names == ("*",)]
                having = [m for m in stars if (star := self.module(m)) and names[0] in star.names]
                if not having:
                    return None, given.text or ".".join(names)
                module = having[-1]
        return None, given.text or ".".join([module, *names])

    def _reach(self, sites: Iterable[Site]) -> set[Site]:
        waiting, found = list(sites), set[Site]()
        while waiting:
            site = waiting.pop()
            if site not in found:
                found.add(site)
                if site not in self._texts:
                    self._open(site)
                waiting += self._edges[site]
        return found

    def _open(self, site: Site) -> None:
        """Read the text of a definition, with the sites that it refers to."""
        module, name = site
        found = self._whole(module)
        bound: Sequence[Any] = found.names.get(name, []) if name else found.effects
        if name == WHOLE:
            bound = [Reference(module, (each,)) for each in sorted(found.names)]
        text: list[str | Site] = [name]
        attributes: set[str] = set()
        for one in bound:
            attributes |= one.attributes if isinstance(one, Text) else set()
            for piece in one.pieces if isinstance(one, Text) else [one]:
                if isinstance(piece, Reference):
                    target, rest = self.resolve(piece)
                    text += [rest] if target is None else [target, rest]
                else:
                    text.append(_contents(piece) if isinstance(piece, Path) else piece)
        self._texts[site], self._attributes[site] = text, attributes
        self._edges[site] = {piece for piece in text if isinstance(piece, tuple)}
        self._edges[site] |= {(each, EFFECTS) for each in self._acting(module)}

    def _acting(self, module: str) -> set[str]:
        """The modules with effects among this one and all that importing it imports."""
        if module not in self._imported:
            waiting, seen = [module], set[str]()
            while waiting:
                name = waiting.pop()
                if name not in seen and (found := self.module(name)):
                    waiting += [*found.modules, name.rpartition(".")[0] or name]
                    seen.add(name)
            acting = {n for n in seen if (found := self.module(n)) and found.effects}
            self._imported[module] = acting
        return self._imported[module]

    def _hash(self, sites: Sequence[Site]) -> None:
        """Digests of definitions that refer to these or to hashed ones."""
        if not sites:
            return
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        number = {site: i for i, site in enumerate(sites)}
        edges = [
            (number[site], number[to])
            for site in sites
            for to in self._texts[site]
            if isinstance(to, tuple) and to in number
        ]
        rows, columns = zip(*edges, strict=True) if edges else ((), ())
        graph = coo_array(([1] * len(edges), (rows, columns)), shape=(len(sites),) * 2)
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
    files = sorted(path.rglob("*")) if path.is_dir() else [path] * path.is_file()
    names = {file.relative_to(path).as_posix(): file for file in files if file.is_file()}
    return sha256(repr([(name, sha256(file.read_bytes())) for name, file in names.items()]))


# --- a file
@cache
def _parsed(path: Path, name: str, packages: frozenset[str], *changed: int) -> Module:
    """A file, parsed again only where its time or size has changed."""
    source, bound, effects = path.read_text("utf-8"), dict[str, list[Any]](), list[ast.stmt]()
    tree = ast.parse(source)
    home = name if path.stem == "__init__" else name.rpartition(".")[0]
    body = [node for node in tree.body if not _is_test(node, "__name__ == '__main__'")]
    for statement in body:
        for each, origin in _bound(statement, home):
            bound.setdefault(each, []).append(origin or statement)
        if _acts(statement):
            owner = bound.get(_owner(statement), [])
            is_own = any(isinstance(one, ast.stmt) for one in owner)
            (owner if is_own else effects).append(statement)
    writer = Writer(path, name, home, packages, frozenset(bound))
    writer.finds_files = "__file__" in source
    texts = {id(node): writer.text(node) for node in body}
    module = Module(modules=_imports(tree, home), registered=writer.registered)
    for each, several in bound.items():
        module.names[each] = [texts.get(id(one), one) for one in dict.fromkeys(several)]
    module.effects = [texts[id(node)] for node in effects]
    return module


def _is_test(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.If) and text in ast.unparse(node.test)


def _bound(node: ast.AST, home: str) -> Iterator[tuple[str, Reference | None]]:
    """Names that a statement binds in its own scope, with what an import takes them from."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.partition(".")[0]
            yield alias.asname or first, Reference(alias.name if alias.asname else first)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, Reference(_origin(node, home), (alias.name,))
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, None
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id, None
    elif not isinstance(node, ast.Lambda):
        for key in ("name", "rest"):  # of an exception or a pattern
            if isinstance(given := getattr(node, key, None), str):
                yield given, None
        inside = ast.iter_child_nodes(node)
        for child in [node.iter, *node.ifs] if isinstance(node, ast.comprehension) else inside:
            yield from _bound(child, home)


def _origin(node: ast.ImportFrom, home: str) -> str:
    above = home.split(".")[: home.count(".") + 2 - node.level] if node.level else []
    return ".".join([*above, *filter(None, [node.module])])


def _imports(tree: ast.AST, home: str) -> set[str]:
    """Every module that a file may import."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, home)
            found |= {origin, *(f"{origin}.{alias.name}" for alias in node.names)}
    return found


def _acts(node: ast.AST) -> bool:
    """Whether a statement does something beside binding names."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While | ast.ExceptHandler):
        return any(map(_acts, ast.iter_child_nodes(node)))
    return isinstance(node, ast.Assert | ast.Delete | ast.Raise)


def _owner(statement: ast.stmt) -> str:
    """The name whose object a statement changes, by a method or an entry; "" if there is none."""
    node: Any = getattr(statement, "value", None)
    node = node.func if isinstance(node, ast.Call) and isinstance(statement, ast.Expr) else None
    node = node or getattr(statement, "target", None) or getattr(statement, "targets", [None])[0]
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


@dataclass
class Writer:
    """Writes statements of a file as texts."""

    path: Path
    module: str
    home: str  # the package that its relative imports start from
    packages: frozenset[str]
    bound: frozenset[str]  # names of the module
    registered: dict[str, str] = field(default_factory=dict)
    finds_files: bool = False
    made: Text = field(default_factory=Text)

    def text(self, statement: ast.stmt) -> Text:
        """A statement of the module."""
        self.made = Text()
        self._write(statement, {})
        return self.made

    def _write(self, node: object, scope: Scope) -> None:
        add = self.made.pieces.append
        if isinstance(node, list):
            add("[")
            for each in node:
                self._write(each, scope)
            add("]")
        elif not isinstance(node, ast.AST):
            add(repr(node))
        elif (piece := self._piece(node, scope)) is not None:
            add(piece)
        else:
            if isinstance(node, COMPREHENSIONS):
                targets = [name for g in node.generators for name, _ in _bound(g.target, "")]
                scope = scope | dict.fromkeys(targets)
            fields = self._function(node, scope) if isinstance(node, FUNCTIONS) else _fields(node)
            add("Assign" if isinstance(node, ast.AnnAssign) else type(node).__name__)
            for name, value, *inner in fields:
                if value is not None and value != []:
                    add(name)
                    self._write(value, inner[0] if inner else scope)
            add("end")

    def _piece(self, node: ast.AST, scope: Scope) -> str | Reference | Path | None:
        """What stands for a node: a reference, a file, nothing; None where it is written out."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            return ""
        if isinstance(node, ast.Constant) and isinstance(text := node.value, str):
            self.made.attributes |= {text} if text.isidentifier() else set()  # for `getattr`
            return replace(reference(text), text=repr(text)) if self._is_code(node) else None
        if isinstance(node, ast.Dict) and node.values and all(map(self._is_code, node.values)):
            for key, value in zip(node.keys, node.values, strict=True):
                self.registered[getattr(key, "value", "")] = getattr(value, "value", "")
            return "register"
        if self.finds_files and isinstance(node, ast.expr) and _leads_to_a_file(node):
            code = compile(ast.Expression(node), "", "eval")
            return Path(eval(code, {"Path": Path, "__file__": str(self.path)}))
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        root: ast.expr = node
        attributes: list[str] = []
        while isinstance(root, ast.Attribute):
            attributes.insert(0, root.attr)
            root = root.value
        self.made.attributes |= set(attributes)
        if not isinstance(root, ast.Name) or not isinstance(root.ctx, ast.Load):
            return None
        if root.id not in scope and (root.id in self.bound or "*" in self.bound):
            return Reference(self.module, (root.id, *attributes))
        origin = scope.get(root.id)
        return origin and Reference(origin.module, (*origin.names, *attributes))

    def _is_code(self, node: object) -> bool:
        """Whether it is a string that names a module of the project, or something in one."""
        text = node.value if isinstance(node, ast.Constant) else None
        is_dotted = isinstance(text, str) and DOTTED.fullmatch(text)
        return bool(is_dotted) and str(text).partition(".")[0] in self.packages

    def _function(self, node: Any, scope: Scope) -> Iterator[tuple[str, Any, Scope]]:
        """Its fields with their scopes; the names of its module that it hides are its own."""
        of, body = node.args, node.body if isinstance(node.body, list) else [node.body]
        listed = [of.posonlyargs, of.args, of.kwonlyargs, [of.vararg], [of.kwarg]]
        names = [[each and each.arg for each in several] for several in listed]
        inner: Scope = dict.fromkeys(name for several in names for name in several if name)
        for name, origin in (pair for statement in body for pair in _bound(statement, self.home)):
            inner[name] = inner.get(name) or origin
        for each in (each for statement in body for each in ast.walk(statement)):
            if isinstance(each, ast.Global):
                inner = {name: origin for name, origin in inner.items() if name not in each.names}
        yield "name", getattr(node, "name", ""), scope
        yield "decorators", getattr(node, "decorator_list", []), scope
        yield "arguments", names, scope
        yield "defaults", [of.defaults, of.kw_defaults], scope
        yield "body", _said(body), scope | inner


def _leads_to_a_file(node: ast.expr) -> bool:
    """Whether an expression only walks from `__file__` to a file or folder."""
    text = ast.unparse(node)
    is_path = isinstance(node, ast.Call | ast.BinOp | ast.Subscript) or text.endswith(".parent")
    return is_path and bool(WALK.fullmatch(text))


def _said(body: list[Any]) -> list[Any]:
    """Statements without a docstring."""
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    has = isinstance(first, ast.Constant) and isinstance(first.value, str)
    return body[1:] if has else body


def _field(node: ast.stmt) -> object:
    """A statement of a class; of an annotation only what makes a field another kind of field."""
    if isinstance(node, ast.AnnAssign):
        return ["field", re.findall(KINDS, ast.unparse(node.annotation)), node.target, node.value]
    return node


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """The fields that decide what a node does, by their names."""
    fields: dict[str, Any] = {name: getattr(node, name, None) for name in node._fields}
    if isinstance(node, ast.AnnAssign):  # beside a class like an assignment
        fields = {"targets": [node.target] if node.value else [], "value": node.value}
    elif isinstance(node, ast.ClassDef):
        fields["body"] = [_field(each) for each in _said(node.body)]
    elif _is_test(node, "TYPE_CHECKING"):
        fields["body"] = []
    elif (
        isinstance(func := fields.get("func"), ast.Subscript) and ast.unparse(func.value) in GENERIC
    ):
        fields["func"] = func.value  # dict[str, Array]() is an annotated dict()
    skipped = ("ctx", "kind", "type_comment", "simple")
    return ((name, value) for name, value in fields.items() if name not in skipped)
