"""Who may import whom (reproduce -> proofs_checks -> gladius), sizes, names and words.

`gladius` checks the paper, and `gladius.own_data` is a user's tools on top of it. Contracts of
pyproject.toml say which files may import which, and import-linter checks them. Modules that are
loaded by their name, in a string, are listed here.
"""

import ast
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import grimp
import numpy as np
import pytest
from importlinter.api import read_configuration

import gladius
from gladius.model.reward_form import linear_in_features
from gladius.own_data.erm.indexed import Indexed
from gladius.panel import record
from reproduce.engine.digests import Definitions

ROOT = Path(__file__).parents[1]
GENERATED = ROOT / "paper_tables" / "generated"
LAYERS = ("gladius", "proofs_checks", "reproduce")  # each may use itself and those before it
OWN = "gladius.own_data"  # no other module of gladius but FACES names it; nor does proofs_checks
FACES = ("gladius", "gladius.__main__")


def contracts(folder: Path) -> dict[str, str]:
    """Contract -> KEPT or BROKEN, of the packages in a folder."""
    command = "from importlinter.cli import lint_imports_command as lint; lint()"
    done = subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=folder,
        env=os.environ | {"COLUMNS": "200", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    verdicts = dict(re.findall(r"^(.+) (KEPT|BROKEN)\b", done.stdout, re.MULTILINE))
    assert len(verdicts) == len(
        read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    )
    return verdicts


def test_every_import_goes_down() -> None:
    assert set(contracts(ROOT).values()) == {"KEPT"}


LAYERED = "reproduce -> proofs_checks -> gladius"
OF_GLADIUS, OF_PROOFS = "rooms of gladius", "rooms of proofs_checks"
TRUTH = "no estimator of ours reaches the truth"
CLAIMS, FACE = "the claims are decided without own_data", "no package uses its own face"
ORACLE = "the oracles share no code with the library"


@pytest.mark.parametrize(
    ("contract", "file", "source"),
    [
        (LAYERED, "gladius/model/mdp.py", "import reproduce"),
        (LAYERED, "gladius/model/mdp.py", "import numpy, proofs_checks.claims.claims as c"),
        (LAYERED, "gladius/model/mdp.py", "def f():\n    from reproduce.engine import store"),
        (LAYERED, "gladius/model/mdp.py", "if TYPE_CHECKING:\n    import reproduce.engine.store"),
        (LAYERED, "proofs_checks/claims/claims.py", "from reproduce.paper import published"),
        (OF_GLADIUS, "gladius/baselines/ccp.py", "def f():\n    from gladius.own_data import door"),
        (OF_GLADIUS, "gladius/baselines/ccp.py", "from ..own_data.results import inference"),
        (OF_GLADIUS, "gladius/baselines/nfxp.py", "from gladius.designs.bus import BusEngine"),
        (OF_GLADIUS, "gladius/paper/author.py", "from ..designs import bus"),
        (OF_GLADIUS, "gladius/new.py", ""),
        ("rooms of own_data", "gladius/own_data/frame.py", "from gladius.own_data import door"),
        (OF_PROOFS, "proofs_checks/claims/decide.py", "from proofs_checks.ledger import wording"),
        (
            OF_PROOFS,
            "proofs_checks/claims/instances.py",
            "from proofs_checks.sections import setup",
        ),
        (
            OF_PROOFS,
            "proofs_checks/sections/setup.py",
            "from proofs_checks.corrected import search",
        ),
        (OF_PROOFS, "proofs_checks/certificates/__init__.py", "from proofs_checks import claims"),
        (OF_PROOFS, "proofs_checks/oracle/risk.py", "import proofs_checks.claims.instances"),
        ("rooms of reproduce", "reproduce/cells/fits.py", "from reproduce.paper import judge"),
        ("no circle of files", "gladius/model/estimate.py", "import gladius.model.inversion"),
        (TRUTH, "gladius/own_data/erm/estimator.py", "from ...designs.metrics import mape"),
        (CLAIMS, "proofs_checks/claims/decide.py", "from gladius.own_data.erm import smooth"),
        (FACE, "proofs_checks/claims/decide.py", "import gladius\ngladius.fit"),
        (FACE, "gladius/baselines/ccp.py", "from gladius import fit"),
        (ORACLE, "proofs_checks/oracle/risk.py", "from gladius.model.mdp import soft_bellman"),
        ("no package imports its tests", "gladius/model/mdp.py", "from tests import strategies"),
    ],
)
def test_a_wrong_import_is_found(contract: str, file: str, source: str, packages: Path) -> None:
    """Negative control: every way to import upwards that Python knows."""
    text = (packages / file).read_text("utf-8") if (packages / file).exists() else None
    try:
        (packages / file).write_text(f"{text or ''}\n{source}\n", "utf-8")
        broken = [name for name, verdict in contracts(packages).items() if verdict == "BROKEN"]
        assert any(name.startswith(contract) for name in broken)
    finally:
        (packages / file).unlink() if text is None else (packages / file).write_text(text, "utf-8")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the three packages, whose contracts are kept."""
    folder = tmp_path_factory.mktemp("packages")
    for package in LAYERS:
        for path in sources(package):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, folder / path)
    shutil.copy(ROOT / "pyproject.toml", folder)
    assert set(contracts(folder).values()) == {"KEPT"}
    return folder


# module -> those that it names in strings, to load them late or to register them
NAMED = {
    "gladius": ["gladius.*"],
    "gladius.register": ["gladius.baselines.*", "gladius.model.inversion", "gladius.paper.*"],
    "gladius.panel.record": ["gladius.panel.frame"],
    "gladius.panel.frame": ["gladius.frame"],
    "gladius.paper.author": ["gladius.paper.stack"],
    "gladius.own_data": ["gladius.own_data.erm.estimator"],
    "gladius.own_data.erm": ["gladius.own_data.erm.observations.*"],
    "proofs_checks.claims.claims": ["proofs_checks.sections", "proofs_checks.corrected"],
    "proofs_checks.ledger.pages": ["proofs_checks.ledger"],
}
DOTTED = re.compile(rf"({'|'.join(LAYERS)})(\.\w+)+")
LOADED = re.compile(r"__import__|(importlib\.)?import_module")


def named(source: str) -> Iterator[str]:
    """Modules of ours that a source names in strings; a name that it gets from one with it."""
    tree = ast.parse(source)
    attributes = {
        node.value: node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and DOTTED.fullmatch(str(node.value)):
            yield str(node.value)
        elif isinstance(node, ast.Call) and LOADED.fullmatch(ast.unparse(node.func)):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and first.value in LAYERS:
                yield ".".join(filter(None, [first.value, attributes.get(node)]))


def unlisted(source: str, module: str) -> list[str]:
    allowed = NAMED.get(module, [])
    return [name for name in named(source) if not any(fnmatchcase(name, x) for x in allowed)]


def test_modules_are_loaded_by_name_where_this_list_says() -> None:
    files = modules()
    assert [name for path, m in files for name in unlisted(path.read_text("utf-8"), m)] == []
    texts = {module: path.read_text("utf-8") for path, module in files}
    assert all([*named(texts[module])] for module in NAMED)  # no entry for what names none


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gladius.model.mdp", "import_module('reproduce')"),
        ("gladius.model.mdp", "importlib.import_module('proofs_checks')"),
        ("gladius.model.mdp", "__import__('reproduce')"),
        ("gladius.own_data.door", "METHODS = {'x': 'proofs_checks.claims.claims'}"),
        ("gladius.register", "METHODS = {'x': 'gladius.own_data.erm.estimator'}"),
        ("gladius.panel.frame", "import_module('gladius.own_data.frame')"),
        ("gladius.panel.frame", "import_module('gladius').fit"),
        ("gladius.panel.record", "import_module('gladius').frame"),
        ("proofs_checks.ledger.pages", "import_module('proofs_checks.sections.setup')"),
    ],
)
def test_a_name_that_is_not_listed_is_found(module: str, source: str) -> None:
    assert unlisted(source, module) != []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gladius.model.mdp", "reproduce = 1  # see reproduce/engine.py"),
        ("gladius.model.mdp", '"""What reproduce.engine does with it is not our concern."""'),
        ("gladius.model.mdp", "import_module('reproducer'), import_module(name)"),
        ("gladius.panel.frame", "import_module('gladius').frame"),
    ],
)
def test_other_strings_pass(module: str, source: str) -> None:
    assert unlisted(source, module) == []


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def modules() -> list[tuple[Path, str]]:
    """Each file of the three packages, with its module's name."""
    paths = [ROOT / path for layer in LAYERS for path in sources(layer)]
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in paths]
    names = [".".join(p[:-1] if p[-1] == "__init__" else p) for p in parts]
    return list(zip(paths, names, strict=True))


LATE = """if True:
    import sys, gladius
    from gladius.register import METHODS
    paper = {*METHODS}
    data = gladius.BusEngine().simulate(2, rng=0)
    assert "own_data" not in "".join(sys.modules), data  # nor does its line need data frames
    assert len(data.to_frame()) == len(data)
    print({*METHODS} - paper, gladius.METHODS is METHODS)
"""


def test_own_data_is_loaded_late_and_then_registers_its_method() -> None:
    """In a process of its own, since other tests load it."""
    command = [sys.executable, "-c", LATE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("{'profiled_erm'} True\n", "")


ALONE = """if True:
    import sys
    from importlib import import_module
    sys.modules["gladius.own_data"] = None  # which no import then gets
    for name in sys.argv[1:]:
        import_module(name)
"""


def test_what_checks_the_paper_is_imported_without_own_data() -> None:
    """By another route: every module of that half and of the proofs runs, and own_data cannot."""
    names = [name for _, name in modules() if name.startswith(LAYERS[:2]) and name not in FACES]
    apart = (OWN, "proofs_checks.plain")
    names = [name for name in names if not any(within(name, one) for one in apart)]
    names = [name for name in names if "__main__" not in name]
    for more, code in ((["gladius.own_data"], 1), ([], 0)):  # the control first
        command = [sys.executable, "-c", ALONE, *more, *names]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
    assert len(names) > 100


# Caps on statements; who raises one says why. Lines have none: a cap on them removed explanations.
# Those of gladius are without own_data.
STATEMENTS = {"gladius": 6_949, "gladius/own_data": 6_108, "proofs_checks": 6_941}
STATEMENTS |= {"reproduce": 8_716, "tests": 21_865}


def sources(package: str) -> dict[str, str]:
    """Path from the project's root -> text, of every Python file of a package or folder."""
    paths = sorted((ROOT / package).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


def statements(source: str) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(source)))


@pytest.mark.parametrize("package", STATEMENTS)
def test_a_package_has_no_more_statements_than_its_cap(package: str) -> None:
    own = set(sources("gladius/own_data")) if package == "gladius" else set()
    count = sum(statements(text) for path, text in sources(package).items() if path not in own)
    assert count <= STATEMENTS[package], "remove something, then lower the cap"


def test_statements_are_counted_not_lines() -> None:
    assert statements("a = 1; b = 2\nif a: b = 3") == 4


# Rooms are the folders of a package and its loose files; the contracts say on which floor each is.
# An arrow is drawn where any file of one imports any of the other. gladius is without own_data.
ROOMS = {"gladius": (9, 18), "gladius.own_data": (7, 12), "proofs_checks": (7, 11)}
ROOMS |= {"reproduce": (8, 22)}


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_are_few_and_so_are_arrows_between_them(package: str) -> None:
    graph = grimp.build_graph(*LAYERS)
    rooms = graph.find_children(package) - {OWN}
    for room in rooms:
        graph.squash_module(room)
    imported = {room: graph.find_modules_directly_imported_by(room) - {room} for room in rooms}
    arrows = [(a, b) for a in sorted(rooms) for b in sorted(imported[a] & rooms)]
    assert (len(rooms), len(arrows)) == ROOMS[package], arrows


def test_every_room_says_what_is_in_it_and_where_to_start() -> None:
    for package in ROOMS:
        for path in sorted((ROOT / package.replace(".", "/")).glob("*/__init__.py")):
            text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            assert "Start with" in " ".join(text.split()), path
            assert "import" in text, path


# lines of all definitions that a method's `fit` reaches, as the median over methods; it only falls,
# but for 283 lines of tables of moves by their entries, without which a fit takes S^2 numbers, and
# 67 with which nearest states and equal states are found faster
READING_DISTANCE = 1_704


@cache
def definitions_of(module: str) -> list[ast.stmt]:
    """Of a module's file, if it has one."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    return ast.parse(path.read_text("utf-8")).body if path.is_file() else []


def length(module: str, name: str) -> int:
    """Lines of a definition, with its decorators."""
    for node in definitions_of(module):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        if name in {getattr(node, "name", ""), *(getattr(x, "id", "") for x in targets)}:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            return int(node.end_lineno or first) - first + 1
    return 0


def test_little_has_to_be_read_before_a_method_is_understood() -> None:
    definitions = Definitions()
    distances = {
        name: sum(
            length(*site.rpartition(".")[::2]) for site in definitions.reached(f"{module}:fit")
        )
        for name, module in gladius.METHODS.items()
    }
    assert statistics.median(distances.values()) <= READING_DISTANCE, distances
    assert length("gladius.register", "needs") == 3
    assert length("tests.test_layers", "test_modules_are_loaded_by_name_where_this_list_says") > 4


# groupings of the data in a fit, its summary and its reward frame
GROUPINGS = {"nfxp": 1, "profiled_erm": 1}


@pytest.mark.parametrize("method", GROUPINGS)
def test_the_data_are_grouped_few_times(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def counted(of_all: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda data: (calls.append(data), of_all(data))[1]

    for module in ("model.inversion", "model.parametric", "own_data.erm.estimator"):
        monkeypatch.setattr(f"gladius.{module}.group", counted(record.group))
    monkeypatch.setattr(Indexed, "counts", counted(Indexed.counts))
    data = gladius.BusEngine().simulate(60, np.random.default_rng(0))
    options = {"reward": linear_in_features(2, 1, -5.0)} if method == "nfxp" else {}
    known: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    estimate = gladius.fit(data, method, **known, **options)
    estimate.summary()
    estimate.reward_frame(data.states[:3])
    assert 0 < len(calls) <= GROUPINGS[method]


@pytest.mark.parametrize("package", LAYERS)
def test_a_class_name_means_one_thing_in_a_package(package: str) -> None:
    names = Counter(
        node.name
        for text in sources(package).values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, times in names.items() if times > 1 and name != "Options"] == []


def test_shapes_are_of_arrays_that_jaxtyping_takes() -> None:
    """A class in brackets. NDArray is none from NumPy 2.5 on, which Python 3.11 has not."""
    text = "".join("".join(sources(package).values()) for package in LAYERS)
    typed = set(re.findall(r"\b(?:Bool|Complex|Float|Inexact|Int|Num)\[(\w+)", text))
    assert typed == {"Array", "Booleans", "Integers", "Tensor"}
    assert "= NDArray" not in sources("gladius")["gladius/validate.py"]


# files of the public code that docstrings name, and a pattern for a reader's own file
OTHERS_FILES = {"gen_data.py", "Zurcher_collect_data.py", "Zurcher_train_IQlearn.py"}
OTHERS_FILES |= {"gym_BClearn.py", "NAME.py"}
QUOTED, FILE = r"(?<!`)`([A-Za-z_][\w.]*)`", r"\.(csv|json|npz|py)$"


def documented(source: str) -> tuple[str, set[str]]:
    """The docstrings of a source, and every word of its code without them."""
    texts, tree = list[str](), ast.parse(source)
    for node in ast.walk(tree):
        is_documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if is_documented and (text := ast.get_docstring(node)):
            texts.append(text)
            node.body[0] = ast.Pass()
    return "\n".join(texts), set(re.findall(r"\w+", ast.unparse(tree)))


def gone(text: str, known: set[str], files: set[str], quoted: str = QUOTED) -> set[str]:
    """Python files that a text names, and names in backticks, that the project has not."""
    named = {Path(name).name for name in re.findall(r"[\w/]+\.py\b", text)}
    names = {name for name in re.findall(quoted, text) if not re.search(FILE, name)}
    return named - files | {name for name in names if not set(name.split(".")) <= known}


def test_a_name_in_a_text_is_one_of_the_code() -> None:
    texts = {path: documented(text) for x in LAYERS for path, text in sources(x).items()}
    files = {Path(path).name for path in (*texts, *sources("tests"))} | OTHERS_FILES
    known = {Path(path).stem for path in texts}.union(*(words for _, words in texts.values()))
    found = {path: gone(text, known, files) for path, (text, _) in texts.items()}
    modules = rf"`((?:{'|'.join(LAYERS)})(?:\.\w+)+)"
    pages = [path for x in LAYERS for path in (ROOT / x).rglob("*.md")]  # CHANGELOG is history
    pages += [*ROOT.glob("[!C]*.md"), *ROOT.glob(".github/*.md"), *GENERATED.rglob("*.md")]
    found |= {str(page): gone(page.read_text("utf-8"), known, files, modules) for page in pages}
    for path in texts:  # comments and messages too, of which only files are looked up
        found[path] |= gone((ROOT / path).read_text("utf-8"), known, files, "(?!)")
    assert {path: names for path, names in found.items() if names} == {}
    text = "`fit` of `gladius.own_data.door` is that of plug_in.py: `screen` selects, see `a.csv`."
    assert gone(text, {"fit", "gladius", "own_data", "door"}, {"fit.py"}) == {
        "plug_in.py",
        "screen",
    }


@pytest.mark.parametrize("room", ["gladius/own_data/erm", "gladius/own_data/results"])
def test_our_own_estimator_is_not_called_gladius(room: str) -> None:
    texts = {path: documented(text)[0] for path, text in sources(room).items()}
    assert [path for path, text in texts.items() if re.search("GLADIUS(?! itself)", text)] == []


# fillers: a variable is a noun of the field (residual, visits, policy, batch)
NAMES = {
    *("told", "known", "place", "places", "part", "parts", "left", "kept", "shown", "now", "moved"),
    *("law", "laws", "going", "bend", "luck", "begun", "began", "judged", "settled", "goes_on"),
}
# words with a plainer equivalent; see the field's own in each package's documents
WORDS = re.compile(
    r"\b(told|held against|kept|blow[ns]? up|blew up|of which the|lest|the truth|luck|bears? out"
    r"|so computed|of least|ascent a descent)\b",
    re.IGNORECASE,
)


def bindings(source: str) -> set[str]:
    """Every name that a source binds: variables, parameters, functions, fields."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


def test_variables_are_nouns_of_the_field() -> None:
    texts = {path: text for package in LAYERS for path, text in sources(package).items()}
    banned = {path: bindings(text) & NAMES for path, text in texts.items()}
    assert {path: names for path, names in banned.items() if names} == {}
    assert bindings("def f(told):\n    for part in told: kept = part") & NAMES != set()


def test_pages_say_it_plainly() -> None:
    pages = [ROOT / "README.md", *GENERATED.rglob("*.md")]
    pages += [path for package in LAYERS for path in (ROOT / package).rglob("*.md*")]
    found = {str(page.relative_to(ROOT)): WORDS.findall(page.read_text("utf-8")) for page in pages}
    assert {page: words for page, words in found.items() if words} == {}
    assert WORDS.findall("A method told the truth is held against the paper.") != []
