"""What decides that a stored cell is still good: the key, its parts, and who may compute it."""

import ast
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gladius.checks import InputError
from reproduce import exhibits, provenance, worker
from reproduce import run as runner
from reproduce.fits_author import training
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
                by_name = f"{provenance.MODULE}gladius.methods" in sources.digests(cell, "cpu")
                assert "method" in cell.settings or not by_name, cell.id


def test_the_versions_in_a_key_are_those_of_what_its_code_imports(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a solver or of an engine too, which another package calls for it."""
    installed = dict.fromkeys(("numpy", "torch", "cvxpy", "clarabel", "gymnasium", "box2d"), "1")
    monkeypatch.setattr(provenance, "versions", installed.copy)

    def versions(cell: Cell) -> set[str]:
        pieces = Sources().digests(cell, "cpu")
        return {name.removeprefix(provenance.VERSION) for name in pieces} & set(installed)

    start = Cell("toypackage.start:compute")
    assert versions(start) == {"numpy"}  # the store's
    (package / "deeper.py").write_text("def solve():\n    import cvxpy as cp\nVALUE = 1\n")
    assert versions(start) == {"numpy", "cvxpy", "clarabel"}
    cells = [exhibits.load(name).checked_entries(True)[0].cell for name in ("table_3", "table_4")]
    assert [versions(cell) & {"gymnasium", "box2d"} for cell in cells] == [
        set(),
        {"gymnasium", "box2d"},
    ]


def test_cells_with_compiled_loops_need_numba_and_have_its_version_in_their_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run says so before any work; cells without such loops run without it."""
    monkeypatch.setattr(provenance, "versions", lambda: {"numba": "1"})
    monkeypatch.setattr(provenance, "IS_COMPILED", False)
    needed = {
        cell.compute.partition(":")[0].removeprefix("reproduce."): "version numba" in digests
        for name in ("stability", "constants", "table_2")
        for cell in (entry.cell for entry in exhibits.load(name).checked_entries(True))
        if "protocol" not in cell.settings.get("options", {})
        for digests in [Sources().digests(cell, "cpu")]
    }
    compiled = {name for name, needs in needed.items() if needs}
    assert compiled == {"gradients", "corrected", "fits_author"}
    cell = training(50, True)
    with pytest.raises(InputError, match="install the extra 'compiled'"):
        provenance.check_compiler([Sources().digests(cell, "cpu")])
    provenance.check_compiler([Sources().digests(Cell("reproduce.exact:truth"), "cpu")])


def test_the_data_files_that_a_cell_opens_are_in_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The experts' weights and the printed numbers, edited in a copy."""
    experts = exhibits.load("table_4").checked_entries(True)[0].cell
    printed = Cell("reproduce.published:load")
    for pattern, cell in (
        ("gladius/worlds/expert_weights/*.npz", experts),
        (provenance.PUBLISHED, printed),
    ):
        file = sorted(ROOT.glob(pattern))[0]
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True)
        shutil.copy(file, copy)
        monkeypatch.setattr(provenance, "ROOT", tmp_path)
        before = combined(Sources().digests(cell, "cpu"))
        copy.write_bytes(file.read_bytes() + b"1")
        assert combined(Sources().digests(cell, "cpu")) != before


def test_every_module_that_finds_files_beside_itself_says_which_data_it_reads() -> None:
    """Of all that cells or views reach."""
    sources = Sources()
    loaded = [exhibits.load(name) for name in exhibits.names()]
    modules = {piece for e in loaded for piece in sources.closure(f"reproduce.exhibits.{e.name}")}
    for exhibit in loaded:
        for entry in exhibit.checked_entries(True):
            modules |= set(sources.digests(entry.cell, "cpu"))
    names = {piece.removeprefix(provenance.MODULE) for piece in modules if "module " in piece}
    texts = {name: ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in names}
    using = {
        name for name, path in texts.items() if path.is_file() and "__file__" in path.read_text()
    }
    # these find code, and no data
    code = {"reproduce.provenance", "reproduce.fits_author"}
    assert using - code <= set(provenance.DATA)


def test_every_module_that_a_result_passes_through_is_in_its_key_or_its_view(
    tmp_path: Path,
) -> None:
    """All of this checkout that runs from a cell's result to its files is traced.

    Those of `neither` hand texts and finished files on, and change none.
    """
    neither = {"run", "progress", "provenance", "seeds"}
    exhibit, modules = toy(rows=("10",), columns=("A",)), set[str]()
    home = str(ROOT / "reproduce") + os.sep

    def trace(frame: Any, event: str, argument: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(home):
            modules.add(Path(file).stem)

    sys.setprofile(trace)
    try:
        runner.run([exhibit], workers=0, build=tmp_path / "build", out=tmp_path / "out")
    finally:
        sys.setprofile(None)
    assert {"store", "results", "output", "worker"} <= modules
    in_key = {*provenance.PATH, *provenance.PATH_OF_VIEWS}
    assert {f"reproduce.{name}" for name in modules - neither} <= in_key


@pytest.mark.parametrize(
    "module", [*provenance.PATH, "gladius.__init__", *provenance.PATH_OF_VIEWS]
)
def test_an_edit_of_what_all_results_or_tables_pass_through_changes_the_key_or_the_view(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source of the module is read with another digest."""
    cell = exhibits.load("table_3").checked_entries(True)[0].cell

    def digest() -> str:
        if module in provenance.PATH_OF_VIEWS:
            return Sources().view(toy())
        return combined(Sources().digests(cell, "cpu"))

    before, read = digest(), provenance._read

    def edited(path: Path, name: str) -> provenance.Source:
        source = read(path, name)
        return replace(source, digest="edited") if name == module else source

    monkeypatch.setattr(provenance, "_read", edited)
    assert digest() != before


def test_an_init_that_does_more_than_pass_on_is_in_the_key_of_all_below_it(package: Path) -> None:
    before, path = key(), package / "__init__.py"
    text = path.read_text()
    for more, changes in (
        ("NAMES = {'a': 'b'}", False),
        ("import toypackage.outside", False),
        ("def __getattr__(name): return 1", True),
        ("thing = thing + 1", True),
    ):
        path.write_text(f"{text}\n{more}\n")
        assert (key() != before) == changes, more


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
        "def compute(cell):\n"
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
    return combined(Sources().digests(cell, "cpu"))


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


def test_the_folder_of_a_checkout_is_not_in_the_key(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, elsewhere = key(), package.parent / "elsewhere"
    elsewhere.mkdir()
    package.rename(elsewhere / package.name)
    monkeypatch.syspath_prepend(elsewhere)
    assert key() == before


def test_the_key_holds_settings_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell("tests.reproduce.toys:compute", {"a": 1})
    keys = [combined(Sources().digests(Cell(cell.compute, {"a": a}), "cpu")) for a in (1, 2)]
    here = Sources().digests(cell, "cpu")
    monkeypatch.setattr(provenance, "versions", lambda: {"numpy": "0"})
    there = Sources().digests(cell, "cpu")
    assert len({*keys, combined(there)}) == 3
    assert provenance.code([here]) == provenance.code([there])  # versions are only reported


@pytest.mark.parametrize(
    ("where", "settings", "takes"),
    [
        ("fits", {"method": "bc"}, True),
        ("fits", {"method": "pqr"}, True),
        ("fits", {"method": "nfxp"}, False),
        ("fits", {"method": "gladius", "options": {}}, False),
        ("fits", {"method": "gladius", "options": {"function_class": "sparse"}}, True),
        ("fits", {"method": "gladius", "options": {"protocol": "printed"}}, False),
        ("imitation", {"method": "gladius", "environment": "CartPole-v1", "options": {}}, True),
        ("traits", {"method": "gladius", "options": {"function_class": "sparse"}}, False),
    ],
)
def test_only_a_cell_that_can_use_a_device_has_it_in_its_key(
    monkeypatch: pytest.MonkeyPatch, where: str, settings: dict[str, Any], takes: bool
) -> None:
    cell = Cell(f"reproduce.{where}:compute", settings)
    assert cell.takes_device() == takes
    on_cpu, on_gpu = (Sources().digests(cell, device) for device in ("cpu", "cuda"))
    assert (on_cpu != on_gpu) == takes
    versions = {name: v.replace("+cpu", "+cu130") for name, v in provenance.versions().items()}
    monkeypatch.setattr(provenance, "versions", lambda: versions)
    assert Sources().digests(cell, "cpu") == on_cpu, "the build of torch is in no key"


def test_what_the_key_cannot_see_does_not_occur() -> None:
    """Packages' `__init__` pass on and define nothing; no module is imported by a computed name."""
    registers = {"gladius/baselines/__init__.py", "reproduce/exhibits/__init__.py"}
    optional = "gladius/worlds/gym.py"  # asks whether other people's packages are installed
    by_name = {"gladius/__init__.py", "gladius/methods.py", "reproduce/spec.py", *registers}
    by_name |= {optional, "gladius/saved.py"}  # which no cell reads
    for path in [*ROOT.glob("gladius/**/*.py"), *ROOT.glob("reproduce/**/*.py")]:
        name, tree = path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))
        for node in tree.body if path.name == "__init__.py" and name not in registers else ():
            text = ast.unparse(node)
            passes_on = isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)
            is_fixed = text.startswith(("if TYPE_CHECKING:", "__all__ =", "__version__ ="))
            assert passes_on or is_fixed, f"{name}: {text}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                argument = node.args[0]
                is_register = ast.unparse(argument).startswith(
                    ("METHODS[", "PROTOCOLS[", "ROW_CLASSES[")
                )
                is_written = isinstance(argument, ast.Constant) or is_register
                assert is_written or name in by_name, f"{name}: {ast.unparse(node)}"


def status_of(cell: Cell, pieces: Mapping[str, str]) -> str:
    """What a worker says of a cell whose key the run made of these parts."""
    job = worker.Job(cell, "cpu", pieces, {})
    status: str = json.loads(worker.run_cell(job)[1])["cell"]["status"]
    return status


def test_a_worker_with_another_checkout_refuses_by_name() -> None:
    cell = toy().entries(False)[0].cell
    pieces = Sources().digests(cell, "cpu")
    assert status_of(cell, pieces) == "ok"
    edited = {**pieces, f"{provenance.MODULE}reproduce.seeds": "edited"}
    said = "this worker differs from the run in module reproduce.seeds"
    assert status_of(cell, edited).endswith(said)


def test_a_worker_that_loaded_older_code_refuses(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell("toypackage.start:compute")
    monkeypatch.setattr(worker, "_LOADED", {})
    assert "not a Result" in status_of(cell, Sources().digests(cell, "cpu"))  # it ran
    (package / "deeper.py").write_text("VALUE = 100\n")
    said = "loaded an older module toypackage.deeper: start it again"
    assert said in status_of(cell, Sources().digests(cell, "cpu"))
