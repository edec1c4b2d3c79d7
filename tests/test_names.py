"""What a text names in backticks exists: names in docstrings and comments, and files in pages."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("gladius", "proofs_checks", "reproduce", "tests")
SOURCES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
PAGES = [
    path
    for path in [*ROOT.glob("*.md"), *(p for name in PACKAGES for p in (ROOT / name).rglob("*.md"))]
    if path.name != "CHANGELOG.md"  # which tells of what is gone
]
NAME = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`")
FILE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|md|csv|json|toml|v|lisp))`")
SHORT = 60  # characters of a string whose words may be options, columns or statuses


def bound(tree: ast.AST) -> Iterator[str]:
    """Every name that a module binds, reads or imports, and the words of its short strings."""
    for node in ast.walk(tree):
        fields = vars(node)
        for field in ("id", "attr", "arg", "name", "asname"):
            if isinstance(text := fields.get(field), str):
                yield from text.split(".")
        text = fields.get("value")
        if isinstance(node, ast.Constant) and isinstance(text, str) and len(text) < SHORT:
            yield text
            yield from re.findall(r"\w+", text)


@cache
def known() -> set[str]:
    """Of the whole project; not made where a worker imports this file and runs no test of it."""
    return {
        *(part for path in SOURCES for part in path.relative_to(ROOT).with_suffix("").parts),
        *(name for path in SOURCES for name in bound(tree(path.read_text("utf-8")))),
    }


tree = cache(ast.parse)
FOLDERS = [ROOT / name for name in (*PACKAGES, "paper_tables", ".github")]
FILES = {path.name for path in (*ROOT.iterdir(), *(p for x in FOLDERS for p in x.rglob("*")))}
OTHERS = {"zurcher_250206.json", "rust_bus_original.csv"}  # of the authors, of econirl


def unknown(source: str) -> list[str]:
    """Names in backticks, of docstrings and comments, that nothing in the project has."""
    texts = [
        ast.get_docstring(node) or ""
        for node in ast.walk(tree(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts += [token.string for token in tokens if token.type == tokenize.COMMENT]
    names = [name for text in texts for name in NAME.findall(text)]
    return [name for name in names if name not in FILES and not {*name.split(".")} <= known()]


def test_what_is_in_backticks_exists() -> None:
    stale = {path: unknown(path.read_text("utf-8")) for path in SOURCES}
    for path in PAGES:
        named = {Path(name).name for name in FILE.findall(path.read_text("utf-8"))}
        stale[path] = sorted(named - FILES - OTHERS)
    assert {path: names for path, names in stale.items() if names} == {}


def test_a_stale_name_is_found() -> None:
    gone = "no" + "_such_name"
    source = f'"""See `{gone}` and `ast.walk`."""\n# and `{gone}.py`, `gladius.fit()`\n'
    assert unknown(source) == [gone, f"{gone}.py"]
    assert FILE.findall("`tests/test_names.py`, `fit`, `a b.py`") == ["tests/test_names.py"]
