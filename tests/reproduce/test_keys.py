"""What decides that a stored cell is still good: the key, its parts, and who may compute it."""

from __future__ import annotations

import ast
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gladius.baselines import METHODS
from reproduce import exhibits, provenance
from reproduce import run as runner
from reproduce.provenance import ROOT, Sources, combined
from reproduce.spec import Cell
from tests.reproduce.toys import toy


def test_every_exhibit_has_a_valid_spec() -> None:
    """And no cell reaches methods by name without saying which: its key would not hold them."""
    sources = Sources()
    for name in exhibits.names():
        for smoke in (True, False):
            entries = exhibits.load(name).checked_entries(smoke)
            assert entries
            for cell in (entry.cell for entry in entries):
                by_name = f"{provenance.MODULE}gladius.methods" in sources.parts(cell, "cpu")
                assert "method" in cell.settings or not by_name, cell.id


def test_gymnasium_is_a_part_of_what_reaches_its_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The keys of all other cells are the same whether it is installed or not."""
    cells = {
        name: exhibits.load(name).checked_entries(True)[0].cell for name in ("table_2", "table_4")
    }
    keys = []
    for known in ({"numpy": "2"}, {"numpy": "2", "gymnasium": "1.4"}):
        monkeypatch.setattr(provenance, "versions", known.copy)
        keys.append({n: combined(Sources().parts(cell, "cpu")) for n, cell in cells.items()})
    assert keys[0]["table_2"] == keys[1]["table_2"]
    assert keys[0]["table_4"] != keys[1]["table_4"]


PACKAGE = {
    "__init__": (
        "from typing import TYPE_CHECKING\n"
        "from toypackage.exported import thing\n"
        "if TYPE_CHECKING:\n    from toypackage.lazy import late\n"
        "else:\n    late = 1\n"
    ),
    "start": (
        '"""Says nothing."""\n'
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "import toypackage.deep as deep\n"
        "from toypackage import late, thing\n"
        "from .relative import *\n"
        "if TYPE_CHECKING:\n    from toypackage.typed import Type\n"
        "def compute(cell, device):\n"
        "    from toypackage.inside import number\n"
        "    from importlib import import_module\n"
        "    return import_module('toypackage.named')\n"
    ),
    "deep": "from toypackage.deeper import VALUE\n",
    **dict.fromkeys(("deeper", "inside", "named", "relative"), "number = VALUE = 1\n"),
    "exported": "thing = 1\n",
    "lazy": "late = 1\n",
    **dict.fromkeys(("outside", "typed"), "VALUE = 1\n"),
    "method": "from toypackage.solver import VALUE\n",
    "solver": "VALUE = 1\n",
    "other_method": "VALUE = 1\n",
}
CLOSURE = {"start", "deep", "deeper", "inside", "named", "relative", "exported", "lazy"}
CLOSURE |= {"method", "solver"}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of toys that is looked at and, but for one test, never imported."""
    folder = tmp_path / "toypackage"
    folder.mkdir()
    for name, text in PACKAGE.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    methods = {"gladius": "toypackage.method", "airl": "toypackage.other_method"}
    monkeypatch.setattr(provenance, "METHODS", methods)
    yield folder
    for name in [name for name in sys.modules if name.startswith("toypackage")]:
        del sys.modules[name]


def key() -> str:
    cell = Cell("toypackage.start:compute", {"method": "gladius"})
    return combined(Sources().parts(cell, "cpu"))


@pytest.mark.parametrize("module", sorted(PACKAGE))
def test_the_key_is_the_closure_of_imports_and_nothing_else(package: Path, module: str) -> None:
    before, path = key(), package / f"{module}.py"
    text = path.read_text()
    path.write_text(f"# a comment\n{text}\n")
    assert key() == before
    path.write_text(f"{text}\nOTHER = 100\n")
    assert (key() != before) == (module in CLOSURE)
    path.write_text(text)
    assert key() == before


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("Says nothing.", "Says something.", False),
        ("return import_module", "return (  # why\n        import_module", None),
        ("'toypackage.named'", "'toypackage.' + 'named'", True),
    ],
)
def test_docstrings_and_layout_are_not_in_the_key(
    package: Path, old: str, new: str, changes: bool | None
) -> None:
    before, path = key(), package / "start.py"
    text = path.read_text().replace(old, new)
    path.write_text(text + (")" if changes is None else ""))
    assert (key() != before) == bool(changes)


def test_the_key_holds_settings_versions_and_device(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell("tests.reproduce.toys:compute", {"a": 1})
    keys = [combined(Sources().parts(cell, device)) for device in ("cpu", "cuda")]
    keys.append(combined(Sources().parts(Cell(cell.compute, {"a": 2}), "cpu")))
    here = Sources().parts(cell, "cpu")
    monkeypatch.setattr(provenance, "versions", lambda: {"numpy": "0"})
    there = Sources().parts(cell, "cpu")
    assert len({*keys, combined(there)}) == 4
    assert provenance.code([here]) == provenance.code([there])  # `check` tells, they do not decide


def test_an_edit_in_airl_makes_the_cells_of_airl_stale_and_no_others() -> None:
    stale = [
        name
        for name, module in METHODS.items()
        if f"{provenance.MODULE}{METHODS['airl']}" in Sources().closure(module)
    ]
    assert stale == ["airl"]


def test_what_the_key_cannot_see_does_not_occur() -> None:
    """Packages' `__init__` pass on and define nothing; no module is imported by a computed name."""
    registers = {"gladius/baselines/__init__.py", "reproduce/exhibits/__init__.py"}
    optional = "gladius/worlds/gym.py"  # asks whether other people's packages are installed
    by_name = {"gladius/__init__.py", "gladius/methods.py", "reproduce/spec.py", *registers}
    by_name.add(optional)
    for path in [*ROOT.glob("gladius/**/*.py"), *ROOT.glob("reproduce/**/*.py")]:
        name, tree = path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))
        for node in tree.body if path.name == "__init__.py" and name not in registers else ():
            text = ast.unparse(node)
            passes_on = isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)
            known = text.startswith(("if TYPE_CHECKING:", "__all__ =", "__version__ ="))
            assert passes_on or known, f"{name}: {text}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                argument = node.args[0]
                is_register = ast.unparse(argument).startswith(
                    ("METHODS[", "PROTOCOLS[", "ROW_CLASSES[")
                )
                told = isinstance(argument, ast.Constant) or is_register
                assert told or name in by_name, f"{name}: {ast.unparse(node)}"


WORKER = """
import pickle, sys
from reproduce.run import run_cell
sys.stdout.write(run_cell(pickle.load(sys.stdin.buffer))[1])
"""


def test_a_worker_with_another_checkout_refuses_by_name(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__", "exhibits")
    for part in ("gladius", "reproduce", "tests/reproduce"):
        shutil.copytree(ROOT / part, copy / part, ignore=ignored)
    cell = toy().entries(False)[0].cell
    job = pickle.dumps(runner.Job(cell, "cpu", Sources().parts(cell, "cpu"), {}))

    def work() -> dict[str, Any]:
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        arguments: dict[str, Any] = {"input": job, "env": environment, "cwd": tmp_path}
        done = subprocess.run([sys.executable, "-c", WORKER], capture_output=True, **arguments)
        content: dict[str, Any] = json.loads(done.stdout)["cell"]
        return content

    assert work()["status"] == "ok"  # a copy is as good
    with (copy / "reproduce" / "seeds.py").open("a") as stream:
        stream.write("ROOT = 100\n")
    content = work()
    assert content["status"].endswith("this worker differs from the run in module reproduce.seeds")
    assert content["result"]["records"] == []


def test_a_worker_that_loaded_older_code_refuses(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell("toypackage.start:compute")
    monkeypatch.setattr(runner, "_LOADED", {})

    def status() -> str:
        job = runner.Job(cell, "cpu", Sources().parts(cell, "cpu"), {})
        text: str = json.loads(runner.run_cell(job)[1])["cell"]["status"]
        return text

    assert "not a Result" in status()  # it ran
    (package / "deeper.py").write_text("VALUE = 100\n")
    assert "loaded an older module toypackage.deeper: start it again" in status()
