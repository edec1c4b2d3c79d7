"""What decides that a stored cell is still good: the key, its pieces, and who may compute it."""

import ast
import dis
import json
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import GenericAlias
from typing import Any, TypeVar

import pytest

from gladius.validate import InputError
from reproduce import exhibits
from reproduce import run as runner
from reproduce.cells.fits_author import training
from reproduce.engine import keys, provenance, worker
from reproduce.engine.digests import CODE, WHOLE, Definitions
from reproduce.engine.nouns import Cell
from reproduce.engine.provenance import ROOT
from reproduce.engine.register import FUNCTIONS
from reproduce.engine.syntax import reference
from tests.reproduce.toys import toy

Keys = dict[str, str]  # of cells, by their digests


def cells(smoke: bool = True) -> dict[str, Cell]:
    """Those of all exhibits, by their digests."""
    loaded = [exhibits.load(name) for name in exhibits.names()]
    entries = [entry for exhibit in loaded for entry in exhibit.checked_entries(smoke)]
    return {entry.cell.digest: entry.cell for entry in entries}


def kinds(smoke: bool = True) -> dict[tuple[str, ...], Cell]:
    """A cell for each function, method, protocol, class of functions and kind."""
    found: dict[tuple[str, ...], Cell] = {}
    for cell in cells(smoke).values():
        settings = cell.settings | cell.settings.get("options", {})
        names = ("method", "protocol", "function_class", "kind", "environment", "drawn", "module")
        found.setdefault((cell.compute, *(str(settings.get(name)) for name in names)), cell)
    return found


def test_every_exhibit_has_a_valid_spec_and_every_cell_a_registered_function() -> None:
    """And no cell reaches methods by name without saying which: its key would not hold them."""
    definitions = Definitions()
    for cell in [*cells().values(), *cells(smoke=False).values()]:
        assert cell.compute in FUNCTIONS
        by_name = "gladius.own_data.door.fit" in keys.pieces(definitions, cell, "cpu")
        assert "method" in cell.settings or not by_name, cell.id
    for name in FUNCTIONS.values():
        assert definitions.resolve(reference(name))[0] is not None, name


def test_cells_with_compiled_loops_need_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run says so before any work; cells without such loops run without it."""
    monkeypatch.setattr(keys, "IS_COMPILED", False)
    definitions, needed = Definitions(), set()
    for cell in cells().values():
        pieces = keys.pieces(definitions, cell, "cpu")
        needed |= {cell.compute} if keys.COMPILED.replace(":", ".") in pieces else set()
        if cell.compute not in needed:
            keys.check_compiler([pieces])
    with pytest.raises(InputError, match="install the extra 'compiled'"):
        keys.check_compiler([keys.pieces(definitions, training(50, True), "cpu")])
    maps = {"stability_map", "stability_steps", "stability_trace"}
    public = {"public_training", "public_baseline", "printed_training"}
    public |= {"public_descent", "known_level", "gym_training"}
    ours = {"converging", "converging_chosen", "converging_paths", "public_fit"}
    assert needed == maps | public | ours | {"author", "fit", "paths", "levels"}


def of_tree(folder: Path, several: Mapping[str, Cell]) -> Keys:
    """The keys of cells by the code in a folder."""
    definitions = Definitions(folder)
    return {name: keys.key(keys.pieces(definitions, cell, "cpu")) for name, cell in several.items()}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code and its data."""
    folder = tmp_path_factory.mktemp("tree")
    for package in CODE:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    shutil.copytree(ROOT / "paper_tables" / "published", folder / "paper_tables" / "published")
    return folder


@pytest.fixture
def rewritten(tree: Path) -> Iterator[Callable[[str, str], None]]:
    """Writes a file of the copy, which is as it was afterwards."""
    before: dict[Path, str | None] = {}

    def write(name: str, text: str | None) -> None:
        path = tree / name
        before.setdefault(path, path.read_text("utf-8") if path.is_file() else None)
        path.write_text(text, "utf-8") if text is not None else path.unlink()

    yield write
    for path, text in before.items():
        path.write_text(text, "utf-8") if text is not None else path.unlink(missing_ok=True)


def renamed(
    tree: Path, write: Callable[..., None], patch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    """A module of the copy under another name, with all that imports it or names it."""
    package, _, name = old.rpartition(".")
    target, _, short = new.rpartition(".")
    source = f"{old.replace('.', '/')}.py"
    write(f"{new.replace('.', '/')}.py", (tree / source).read_text("utf-8"))
    write(source, None)

    def split(line: re.Match[str]) -> str:
        others = [each for each in line[1].split(", ") if each != name]
        lines = [f"from {package} import {', '.join(others)}"] * bool(others)
        return "\n".join([*lines, f"from {target} import {short} as {name}"])

    listed = rf"^from {re.escape(package)} import ((?:\w+, )*{name}(?:, \w+)*)$"
    for path in tree.rglob("*.py"):
        text = path.read_text("utf-8")
        alone = rf"from {re.escape(package)} import {name} as "
        whole = re.sub(alone, f"from {target} import {short} as ", text)
        changed = re.sub(rf"\b{re.escape(old)}\b", new, re.sub(listed, split, whole, flags=re.M))
        if changed != text:
            write(path.relative_to(tree).as_posix(), changed)
    for register in (keys.METHODS, keys.PROTOCOLS, keys.ROW_CLASSES, keys.FUNCTIONS):
        for key, value in register.items():
            patch.setitem(register, key, re.sub(rf"^{re.escape(old)}(?=:|$)", new, value))
    for variable in ("PATH", "PATH_OF_VIEWS"):
        found = [value.replace(f"{old}:", f"{new}:") for value in getattr(keys, variable)]
        patch.setattr(keys, variable, tuple(found))


MOVES = {
    "gladius.panel.record": "gladius.record",
    "gladius.solvers.newton": "gladius.baselines.steps",
    "gladius.baselines.nfxp": "gladius.nested",
    "gladius.own_data.erm.observations.sparse": "gladius.selection",
    "gladius.designs.experts": "gladius.designs.trained",
    "proofs_checks.claims.printed_tables": "proofs_checks.ledger.paper",
    "reproduce.cells.fits": "reproduce.exhibits.fitted",
    "reproduce.engine.store": "reproduce.stored",
}


def test_modules_that_are_renamed_split_and_joined_change_no_key(
    tree: Path, rewritten: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the control, a constant of what was split off, changes the keys of those that use it."""
    several = {cell.digest: cell for cell in kinds(smoke=False).values()}
    before = of_tree(tree, several)
    for old, new in MOVES.items():
        renamed(tree, rewritten, monkeypatch, old, new)
    newton = (tree / "gladius/baselines/steps.py").read_text("utf-8")
    constants = re.findall(r"^[A-Z_]+ = .*\n", newton, re.M)
    names = ", ".join(line.partition(" ")[0] for line in constants)
    rest = re.sub(r"^[A-Z_]+ = .*\n", "", newton, flags=re.M)
    rewritten("gladius/baselines/steps.py", f"from gladius.limits import {names}\n{rest}")
    rewritten("gladius/limits.py", "".join(constants))
    joined = "".join(
        (tree / f"gladius/{x}.py").read_text("utf-8") for x in ("model/risk", "designs/metrics")
    )
    rewritten("gladius/model/risk.py", joined.replace("from __future__ import annotations\n", ""))
    rewritten(
        "gladius/designs/metrics.py", "from gladius.model.risk import mape, percentage_error\n"
    )
    assert of_tree(tree, several) == before
    rewritten("gladius/limits.py", "".join(constants).replace("HALVINGS = ", "HALVINGS = 1 + "))
    after = of_tree(tree, several)
    stale = {several[name].compute for name in before if before[name] != after[name]}
    assert {"fit", "rust"} <= stale
    assert not {"figure_gumbel", "truth", "frequencies"} & stale


def test_data_files_and_lines_of_prose(tree: Path, rewritten: Callable[..., None]) -> None:
    """The experts' weights and the printed numbers count by their bytes; templates in no cell."""
    several = {cell.compute: cell for cell in cells().values()}
    several["published"] = Cell("reproduce.paper.published:load")
    before = of_tree(tree, several)
    weights = sorted((tree / "gladius/designs/expert_weights").glob("*.npz"))[0]
    for path, changes in (
        (weights, {"expert", "imitation", "gym_training"}),
        (tree / "paper_tables/published/table_2.csv", {"published"}),
        (tree / "reproduce/templates/notes.md", set()),
    ):
        content = path.read_bytes()
        path.write_bytes(content + b"1")
        after = of_tree(tree, several)
        path.write_bytes(content)
        assert {name for name in before if before[name] != after[name]} == changes, path.name


# --- by another route: what runs
def entered(cell: Cell) -> set[tuple[str, str]]:
    """(module, name) of the project's definitions that a cell enters, and of the globals they read.

    Imports are not traced: what a module does when it is imported is in its effects, and its
    definitions count where they are used.
    """
    codes: dict[int, tuple[str, Any]] = {}
    importing = [0]

    def imported(frame: Any, event: str, argument: object) -> Any:
        importing[0] -= event == "return"
        return imported

    def trace(frame: Any, event: str, argument: object) -> Any:
        if frame.f_code.co_name == "<module>":
            importing[0] += 1
            frame.f_trace_lines = False
            return imported
        if not importing[0]:
            codes[id(frame.f_code)] = str(frame.f_globals.get("__name__")), frame.f_code
        return None

    function = cell.function()
    with warnings.catch_warnings():
        for text in (".* lies outside the .* observed", "anchor_action: "):
            warnings.filterwarnings("ignore", text)  # of smoke data
        sys.settrace(trace)
        try:
            function(cell)
        finally:
            sys.settrace(None)
    found: set[tuple[str, str]] = set()
    for module, code in codes.values():
        if module.partition(".")[0] not in CODE or code.co_filename[0] == "<":
            continue
        found.add((module, owner(module, code)))
        if "<lambda>" in code.co_name or code.co_name[0] != "<":
            read = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
            found |= {(module, name) for name in read if is_of_project(module, name)}
    return {(module, name) for module, name in found if module != "gladius"}  # imports lazily


def is_of_project(module: str, name: str) -> bool:
    """Whether a global decides something: an alias of a type is for annotations."""
    value = vars(sys.modules[module]).get(name)
    return name in vars(sys.modules[module]) and not isinstance(value, GenericAlias | TypeVar)


parsed = cache(lambda path: ast.parse(Path(path).read_bytes()))


@cache
def owner(module: str, code: Any) -> str:
    """The name of the module's definition that a code stands in."""
    line = code.co_firstlineno
    for node in parsed(code.co_filename).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        if first <= line <= int(node.end_lineno or 0):
            target = getattr(node, "targets", [getattr(node, "target", None)])[0]
            return str(getattr(node, "name", getattr(target, "id", "")))
    return ""


# of these functions the smoke cells take seconds, and reach most of the library
CHEAP = ("figure_gumbel", "truth", "frequencies", "bounds", "rust_raw", "errors", "coverage")


@pytest.fixture(scope="module")
def traces() -> dict[str, tuple[Cell, set[tuple[str, str]]]]:
    """Of smoke cells, by their ids: what they enter and read."""
    chosen = [cell for kind, cell in sorted(kinds().items()) if kind[0] in CHEAP]
    return {cell.id: (cell, entered(cell)) for cell in chosen}


def test_every_definition_that_a_cell_enters_or_reads_is_in_its_key(
    traces: dict[str, tuple[Cell, set[tuple[str, str]]]],
) -> None:
    definitions, missed = Definitions(), dict[str, set[str]]()
    for id_, (cell, found) in traces.items():
        pieces = keys.pieces(definitions, cell, "cpu")
        sites = {definitions.resolve(reference(":".join(each)))[0] for each in found}
        names = {".".join(site) for site in sites if site and site[1] != WHOLE}
        missed[id_] = names - pieces.keys()
        assert len(names) > 5, id_
    assert {id_: names for id_, names in missed.items() if names} == {}


SENSITIVE = ("solvers/newton", "own_data/erm/smooth", "model/risk", "panel/anchor", "model/mdp")
SENSITIVE += ("model/frequencies", "model/inversion", "designs/metrics")
SENSITIVE += ("baselines/nfxp", "baselines/ccp")


def mutants(source: bytes) -> Iterator[tuple[str, bytes]]:
    """(name of a definition, the module with one of its return values or constants changed)."""
    starts = list(accumulate(map(len, source.splitlines(keepends=True)), initial=0))
    for node in ast.parse(source).body:
        target = getattr(node, "targets", [getattr(node, "target", None)])[0]
        name = getattr(node, "name", getattr(target, "id", ""))
        for inner in ast.walk(node):
            value: Any = inner.value if isinstance(inner, ast.Return) else None
            if target is not None and isinstance(inner, ast.Constant) and inner.value is not None:
                value = inner
            if value is not None:
                begin = starts[value.lineno - 1] + value.col_offset
                end = starts[value.end_lineno - 1] + value.end_col_offset
                yield name, source[:begin] + b"(" + source[begin:end] + b", 0)" + source[end:]


def check_sensitivity(
    tree: Path, traces: dict[str, tuple[Cell, set[tuple[str, str]]]], step: int
) -> None:
    """Of every `step`th mutant: the cells that enter or read the definition have another key."""
    several, used = {id_: cell for id_, (cell, _) in traces.items()}, 0
    before = of_tree(tree, several)
    for module in SENSITIVE:
        path = tree / f"gladius/{module}.py"
        source, dotted = path.read_bytes(), f"gladius.{module.replace('/', '.')}"
        for name, text in list(mutants(source))[::step]:
            path.write_bytes(text)
            after = of_tree(tree, several)
            path.write_bytes(source)
            changed = {id_ for id_ in several if after[id_] != before[id_]}
            using = {id_ for id_, (_, found) in traces.items() if (dotted, name) in found}
            assert using <= changed, (dotted, name)
            assert not any(id_.startswith("figure_gumbel") for id_ in changed), (dotted, name)
            used += bool(using)
    assert used >= len(SENSITIVE) / 2


def test_a_changed_constant_or_return_value_changes_the_keys_of_the_cells_that_use_it(
    tree: Path, traces: dict[str, tuple[Cell, set[tuple[str, str]]]]
) -> None:
    check_sensitivity(tree, traces, 11)


@pytest.mark.deep
def test_each_changed_constant_or_return_value_does(
    tree: Path, traces: dict[str, tuple[Cell, set[tuple[str, str]]]]
) -> None:
    check_sensitivity(tree, traces, 1)


@pytest.mark.parametrize(
    ("where", "settings", "takes"),
    [
        ("fit", {"method": "bc"}, True),
        ("fit", {"method": "pqr"}, True),
        ("fit", {"method": "nfxp"}, False),
        ("fit", {"method": "profiled_erm", "options": {}}, False),
        ("fit", {"method": "profiled_erm", "options": {"function_class": "sparse"}}, True),
        ("fit", {"method": "gladius", "options": {"protocol": "printed"}}, False),
        (
            "imitation",
            {"method": "profiled_erm", "environment": "CartPole-v1", "options": {}},
            True,
        ),
        ("errors", {"method": "profiled_erm", "options": {"function_class": "sparse"}}, False),
    ],
)
def test_only_a_cell_that_can_use_a_device_has_it_in_its_key(
    where: str, settings: dict[str, Any], takes: bool
) -> None:
    cell = Cell(where, settings)
    assert cell.takes_device() == takes
    pieces = [keys.pieces(Definitions(), cell, device) for device in ("cpu", "cuda")]
    assert (keys.key(pieces[0]) != keys.key(pieces[1])) == takes
    assert keys.code(pieces[:1]) == keys.code(pieces[1:])  # a manifest's has no device
    assert ("reproduce.engine.device.computing_on" in pieces[0]) == takes


def test_the_key_holds_settings_and_no_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    several = {str(a): Cell("tests.reproduce.toys:compute", {"a": a}) for a in (1, 2)}
    before = {name: keys.key(keys.pieces(Definitions(), c, "cpu")) for name, c in several.items()}
    assert before["1"] != before["2"]
    monkeypatch.setattr(provenance, "versions", lambda: {"python": "4.0"})
    assert keys.key(keys.pieces(Definitions(), several["1"], "cpu")) == before["1"]


def test_every_definition_that_a_result_passes_through_is_in_its_key_or_its_view(
    tmp_path: Path,
) -> None:
    """All of `reproduce` that runs from a cell's result to its files is traced.

    Those of `neither` hand texts, finished files and descriptions on, and change no number.
    """
    neither = ("run", "progress", "provenance", "seeds", "keys", "digests", "syntax")
    exhibit, found = toy(rows=("10",), columns=("A",)), set[tuple[str, str]]()

    def trace(frame: Any, event: str, argument: object) -> None:
        name = str(frame.f_globals.get("__name__"))
        if event == "call" and name.startswith("reproduce.") and frame.f_code.co_name[0] != "<":
            found.add((name, frame.f_code.co_qualname.partition(".")[0]))

    sys.setprofile(trace)
    try:
        runner.run([exhibit], workers=0, build=tmp_path / "build", out=tmp_path / "out")
    finally:
        sys.setprofile(None)
    definitions, (entry,) = Definitions(), exhibit.entries(False)
    held = definitions.reached(*keys.PATH_OF_VIEWS) | keys.pieces(definitions, entry.cell, "cpu")
    manifest = {"write_exhibit", "clear_staging", "costs", "describe", "_seconds", "read_manifest"}
    manifest |= {"edited", "uninterrupted", "lost", "digests", "is_decided", "text_of"}
    hands_on = {"Store", "probe", "Job", "run_cell", "_on", "_refuse_other_code", "processor_time"}
    others = {f"{m}.{n}" for m, n in found if m.rpartition(".")[2] not in neither} - held.keys()
    names = {other.rpartition(".")[2] for other in others}
    assert names <= manifest | hands_on | {
        "_create_fn_",
        "__create_fn__",
        "Exhibit",
        "Entry",
        "_name",
        "drawn",  # which entries, as `run` itself
    }
    assert {"reproduce.engine.store.decode", "reproduce.engine.output.draw"} <= held.keys()


PACKAGE = {
    "__init__": "",
    "start": "from toypackage.deeper import VALUE\ndef compute(cell):\n    return VALUE\n",
    "deeper": "VALUE = 1\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of toys."""
    folder = tmp_path / "toypackage"
    folder.mkdir()
    for name, text in PACKAGE.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("toypackage")]:
        del sys.modules[name]


def status_of(cell: Cell, pieces: Mapping[str, str]) -> str:
    """What a worker says of a cell whose key the run made of these pieces."""
    job = worker.Job(cell, "cpu", pieces, {})
    status: str = json.loads(worker.run_cell(job)[1])["cell"]["status"]
    return status


def test_a_worker_with_another_checkout_refuses_by_name() -> None:
    cell = toy().entries(False)[0].cell
    pieces = keys.pieces(Definitions(), cell, "cpu")
    assert status_of(cell, pieces) == "ok"
    edited = {**pieces, "reproduce.engine.seeds.generators": "edited"}
    said = "this worker differs from the run in reproduce.engine.seeds.generators"
    assert status_of(cell, edited).endswith(said)


def test_a_worker_that_loaded_older_code_refuses(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell("toypackage.start:compute")
    monkeypatch.setattr(worker, "_LOADED", {})
    assert "not a Result" in status_of(cell, keys.pieces(Definitions(), cell, "cpu"))  # it ran
    (package / "deeper.py").write_text("VALUE = 100\n")
    said = "loaded an older toypackage.deeper.VALUE, toypackage.start.compute: start it again"
    assert said in status_of(cell, keys.pieces(Definitions(), cell, "cpu"))
