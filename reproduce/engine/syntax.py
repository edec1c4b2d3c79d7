"""The definitions of a file as texts: without docstrings and annotations, with open references.

A text is that of the syntax tree. Each name of the module, or of another one that it imports, is a
reference in it; names of functions that hide one are not. `digests` says what is opaque.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(:[A-Za-z_]\w*)?")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# from `__file__` to a file or folder
WALK = re.compile(r"Path\(__file__\)(\.parent|\.parents\[\d+\]|\.with_name\('[^']+'\)| / '[^']+')*")
GENERIC = ("dict", "list", "set", "tuple", "frozenset", "Counter", "deque")
KINDS = "ClassVar|InitVar|KW_ONLY"  # annotations that decide what a class does


@dataclass(frozen=True)
class NameReference:
    """A name and attributes of it, looked up in a module; `text` where the project has none."""

    module: str
    names: tuple[str, ...] = ()
    text: str = ""


Scope = dict[str, NameReference | None]  # names of functions: what a local import binds, else None


@dataclass
class Text:
    """A statement: its text in pieces, and the names that it may read of objects."""

    pieces: list[str | NameReference | Path] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)


@dataclass
class Module:
    """What a file binds (in order), does beside that, and has in registers."""

    names: dict[str, list[Any]] = field(default_factory=dict)  # to references and Texts
    effects: list[Text] = field(default_factory=list)
    registered: dict[str, str] = field(default_factory=dict)


def reference(text: str) -> NameReference:
    """Of `module:name`."""
    module, _, name = text.partition(":")
    return NameReference(module, tuple(filter(None, [name])))


@cache
def parsed(path: Path, name: str, packages: frozenset[str], *changed: int) -> Module:
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
    module = Module(effects=[texts[id(node)] for node in effects], registered=writer.registered)
    for each, several in bound.items():
        found = [texts.get(id(one), one) for one in dict.fromkeys(several)]
        is_defined = any(isinstance(one, Text) for one in found)
        module.names[each] = [*found, *(module.effects if is_defined else [])]
    return module


def _is_test(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.If) and text in ast.unparse(node.test)


def _bound(node: ast.AST, home: str) -> Iterator[tuple[str, NameReference | None]]:
    """Names that a statement binds in its own scope, with what an import takes them from."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.partition(".")[0]
            yield alias.asname or first, NameReference(alias.name if alias.asname else first)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, NameReference(_origin(node, home), (alias.name,))
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

    def _piece(self, node: ast.AST, scope: Scope) -> str | NameReference | Path | None:
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
        if root.id not in scope and root.id in self.bound:
            return NameReference(self.module, (root.id, *attributes))
        origin = scope.get(root.id)
        return origin and NameReference(origin.module, (*origin.names, *attributes))

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
