"""The digest of a definition: what changes it, what does not, and where it looks."""

import ast
from pathlib import Path

import pytest

from gladius.validate import InputError
from proofs_checks.claims.printed_tables import PUBLISHED
from reproduce.engine.digests import CODE, Definitions, _contents
from reproduce.engine.syntax import WALK, parsed

FILES = {
    "__init__": "",
    "start": '''"""A module."""
from importlib import import_module
from pathlib import Path
import numpy as np
import pack.deep as deep
from pack.kinds import Kind, decorated
from pack.register import METHODS
from .relative import star
try:
    from pack.fast import loop
except ImportError:
    loop = None
if np.__version__ > "3":
    LIMIT = 1
else:
    LIMIT = 2
TABLE = {}
TABLE["entry"] = 3
TABLE.update(more=4)
WEIGHTS = Path(__file__).parent / "weights"
PAGE, HOME = Path(__file__).with_name("page.csv"), Path(__file__).parent

@decorated
def compute(cell):
    """Says what it does."""
    from pack.inside import number as renamed
    import pack.late
    def closure(x):
        return x + CLOSED
    hidden = [hidden for hidden in range(3)]
    module = import_module(METHODS[cell])
    module.fit(renamed, deep.solve(hidden), closure(pack.late.VALUE), Kind(), star)
    return import_module("pack.named"), loop, LIMIT, TABLE, WEIGHTS, PAGE, HOME, np.exp, even(4)

CLOSED = 5

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n > 0 and even(n - 1)

def unused():
    return hidden

hidden = 6
''',
    "deep": "FACTOR = 7\nOTHER = 8\ndef solve(x, factor=FACTOR):\n    return factor * x\n",
    "kinds": """from dataclasses import dataclass
from typing import ClassVar
SIZE = 9
def decorated(function):
    return function
class Base:
    def method(self):
        return 10
@dataclass(frozen=True)
class Kind(Base):
    size: int = SIZE
    def again(self) -> int:
        return self.method()
""",
    "register": 'METHODS = {"a": "pack.method", "b": "pack.other"}\n',
    "method": "from pack.solver import solve\n"
    "def fit(*x):\n    return solve\ndef more():\n    return 11\n",
    "other": "def fit(*x):\n    return 12\n",
    "solver": "def solve():\n    return 13\n",
    "relative": "star = 14\nunseen = 15\n",
    "fast": "def loop():\n    return 16\n",
    "inside": "number = 17\n",
    "late": "VALUE = 18\n",
    "named": "VALUE = 19\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A package of toys, with data beside it; it is read and never imported."""
    (tmp_path / "pack" / "weights").mkdir(parents=True)
    for name, text in FILES.items():
        (tmp_path / "pack" / f"{name}.py").write_text(text)
    (tmp_path / "pack" / "weights" / "a.bin").write_bytes(b"20")
    (tmp_path / "pack" / "page.csv").write_text("21")
    return tmp_path


def digest(folder: Path, selected: str = "pack.method") -> set[str]:
    """Of all that `compute` reaches, with the module that a cell selects."""
    found = Definitions(folder, ["pack"]).reached("pack.start:compute", selected=[selected])
    return set(found.values())


def edited(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / "pack" / f"{name}.py"
    assert path.read_text().count(old) == 1, old
    path.write_text(path.read_text().replace(old, new))


CHANGES = [
    # constants, calls, circles, closures, defaults, decorators, classes
    ("start", "CLOSED = 5", "CLOSED = 50"),
    ("start", "return n > 0", "return n > 1"),
    ("start", "return x + CLOSED", "return x - CLOSED"),
    ("deep", "FACTOR = 7", "FACTOR = 70"),
    ("kinds", "    return function", "    return print(function)"),
    ("kinds", "return 10", "return 100"),
    ("kinds", "SIZE = 9", "SIZE = 90"),
    ("kinds", "size: int", "size: ClassVar[int]"),
    ("kinds", "frozen=True", "frozen=False"),
    # imports inside functions, renamed, of a module, by a string, from a register
    ("inside", "17", "170"),
    ("late", "18", "180"),
    ("relative", "14", "140"),
    ("named", "19", "190"),
    ("method", "return solve", "return solve()"),
    ("solver", "13", "130"),
    # names bound under a condition or by a trial, and changed after they are bound
    ("start", "LIMIT = 2", "LIMIT = 20"),
    ("start", "loop = None", "loop = 1"),
    ("fast", "16", "160"),
    ("start", "= 3\n", "= 30\n"),
    ("start", "more=4", "more=40"),
    ("start", "np.exp", "np.log"),
    # what a module does beside binding names
    ("late", "VALUE = 18", "VALUE = 18\nprint(VALUE)"),
    ("register", "METHODS = ", "import os\nos.environ['A'] = '1'\nMETHODS = "),
    # what the package does, without which no module in it is imported
    ("__init__", "", "from pack import deep as other\nother.FACTOR = 70\n"),
    ("__init__", "", "import numpy as np\nnp.exp = np.log\n"),
]
KEEPS = [
    ("start", '"""Says what it does."""', '"""Says more."""'),
    ("start", '"""A module."""\n', ""),
    ("start", "CLOSED = 5", "CLOSED: int = 5  # a comment"),
    ("start", "import numpy as np", "import numpy as np, os"),
    ("start", "hidden = 6", "hidden = 60"),
    ("start", "def even(n):", "def even(n: int) -> bool:"),
    ("start", "CLOSED = 5", "CLOSED = (\n    5\n)"),
    ("deep", "OTHER = 8", "OTHER = 80"),
    ("register", "pack.other", "pack.deep"),
    ("other", "12", "120"),
    ("method", "11", "110"),
    ("relative", "15", "150"),
    ("kinds", "size: int", "size: float"),
    ("__init__", "", "from pack.late import VALUE\n__all__ = ['VALUE']\n"),
]


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_what_decides_changes_the_digest(folder: Path, name: str, old: str, new: str) -> None:
    before = digest(folder)
    edited(folder, name, old, new)
    assert digest(folder) != before


@pytest.mark.parametrize(("name", "old", "new"), KEEPS)
def test_what_decides_nothing_does_not(folder: Path, name: str, old: str, new: str) -> None:
    before = digest(folder)
    edited(folder, name, old, new)
    assert digest(folder) == before


def test_where_a_definition_stands_is_not_in_it(folder: Path) -> None:
    """A module renamed, one split with a part of a circle, two joined, an order changed."""
    before, pack = digest(folder), folder / "pack"
    (pack / "deep.py").rename(pack / "deeper.py")
    edited(folder, "start", "import pack.deep as deep", "from pack import deeper as deep")
    odd = "def odd(n):\n    return n > 0 and even(n - 1)\n"
    edited(folder, "start", odd, "from pack.apart import odd\n")
    (pack / "apart.py").write_text(f"from pack.start import even\n{odd}")
    edited(folder, "start", "CLOSED = 5\n", "")
    edited(folder, "start", "TABLE = {}\n", "CLOSED = 5\nTABLE = {}\n")
    edited(folder, "start", "from pack.inside import number as", "from pack.late import number as")
    edited(folder, "late", "VALUE = 18\n", "VALUE = 18\nnumber = 17\n")
    (pack / "method.py").rename(pack / "moved.py")
    edited(folder, "register", "pack.method", "pack.moved")
    assert digest(folder, "pack.moved") == before
    edited(folder, "apart", "n > 0", "n > 1")
    assert digest(folder, "pack.moved") != before


def test_files_count_by_their_contents_and_a_place_with_code_does_not(folder: Path) -> None:
    before, weights = digest(folder), folder / "pack" / "weights"
    for path in (weights / "a.bin", folder / "pack" / "page.csv"):
        text = path.read_bytes()
        path.write_bytes(text + b"1")
        assert digest(folder) != before
        path.write_bytes(text)
    (folder / "pack" / "other.csv").write_text("beside the code")
    assert digest(folder) == before
    for name in ("README.md", "LICENSE"):  # they say where the data come from, and hold none
        (weights / name).write_text("beside the data")
        assert digest(folder) == before
    (weights / "a.bin").rename(weights / "b.bin")
    assert digest(folder) != before


def test_names_that_a_package_imports_lazily_are_those_of_its_modules(folder: Path) -> None:
    lazily = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack.late import VALUE\n"
    )
    lazily += "else:\n    MODULES = {'number': 'pack.inside'}\n"
    lazily += "    def __getattr__(name):\n        return MODULES[name]\n"
    (folder / "pack" / "__init__.py").write_text(lazily)
    for name, module in (("VALUE", "late"), ("number", "inside")):
        (folder / "pack" / "use.py").write_text(f"import pack\ndef f():\n    return pack.{name}\n")
        assert f"pack.{module}.{name}" in Definitions(folder, ["pack"]).reached("pack.use:f")
    (folder / "pack" / "use.py").write_text("import pack\ndef f():\n    return pack.other_name\n")
    assert "pack.__getattr__" in Definitions(folder, ["pack"]).reached("pack.use:f")


def test_an_unknown_root_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="the project has none of this name"):
        Definitions(folder, ["pack"]).reached("pack.start:none")
    with pytest.raises(InputError, match="the project has none of this name"):
        Definitions(folder, ["pack"]).reached("pack.start:even", selected=["pack.none"])


def other_files(source: str) -> list[str]:
    """Expressions in which `__file__` is used in a form of which no digest has the contents."""
    if "__file__" not in source:
        return []
    tree = ast.parse(WALK.sub("place", ast.unparse(ast.parse(source))))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)]
    return [
        ast.unparse(node)
        for node in nodes
        if getattr(node, "attr", getattr(node, "id", "")) == "__file__"
    ]


def test_a_file_in_a_form_that_digests_do_not_see_is_found() -> None:
    right = "Path(__file__).parent, (Path(__file__).parents[1] / 'a' / 'b.csv').open()"
    assert other_files(f"import pack\nX = {right}\n") == []
    wrong = "Path(pack.__file__).parent, open(__file__), Path(__file__)"
    assert other_files(f"import pack\nX = {wrong}\n") == ["__file__", "pack.__file__"]


def test_what_digests_cannot_see_does_not_occur() -> None:
    """Places with code are these, whose readers add what they read; registers choose modules."""
    root, found = PUBLISHED.parents[1], dict[str, bool]()
    for path in [p for package in CODE for p in (root / package).rglob("*.py")]:
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        status = path.stat()
        module = parsed(path, name, frozenset(CODE), status.st_mtime_ns, status.st_size)
        for each, bound in module.names.items():
            files = [f for b in bound for f in getattr(b, "pieces", ()) if isinstance(f, Path)]
            found |= {f"{name}.{each}": _contents(file) == "place" for file in files}
        assert other_files(path.read_text("utf-8")) == [], path
        is_script = path.stem in ("__main__", "verify") or path.parent.name == "plain"
        # and nothing imports a script, of the plain edition by a rule of test_layers
        assert is_script or module.effects == [], path
    code = {"proofs_checks.certificates.FOLDER"}
    code |= {"reproduce.engine.provenance.ROOT", "proofs_checks.claims.numbering.records"}
    code |= {"proofs_checks.certificates.verify.FOLDER"}
    assert {name for name, is_place in found.items() if is_place} == code
    data = {"proofs_checks.claims.printed_tables.PUBLISHED", "gladius.designs.experts.WEIGHTS"}
    data |= {"reproduce.exhibits.exact.FOUND", "reproduce.exhibits.ledger.SOURCES"}
    assert data <= found.keys()
