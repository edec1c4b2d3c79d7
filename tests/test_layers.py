"""Who may import whom (reproduce -> proofs_checks -> gladius), sizes, names and words.

`gladius` is what checks the paper, and `gladius.own_data`, a user's tools on top of it.

For imports the source of every file is parsed, not run. Imports inside functions, relative ones,
and dotted names handed to `import_module` or kept in a register count as well.
"""

import ast
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gladius
from gladius.model.reward_form import linear_in_features
from gladius.panel import record
from reproduce.engine.digests import Definitions

ROOT = Path(__file__).parents[1]
GENERATED = ROOT / "paper_tables" / "generated"
LAYERS = ("gladius", "proofs_checks", "reproduce")  # each may use itself and those before it
OWN = "gladius.own_data"  # no other module of gladius but FACES names it; nor does proofs_checks
FACES = ("gladius", "gladius.__main__")
FACE = ("gladius", "import_module('gladius')")  # how code gets at the first
ASKS = ("gladius.panel.frame", "gladius.frame")  # the module that gets one name by it, and the name
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")

# what holds, or is scored against, the truth; the name that `gladius` itself re-exports included
TRUTH = ("gladius.designs", "gladius.BusEngine")
# rooms of estimators and of all that they stand on; of the paper's room three files use the truth
BLIND = [
    *("validate", "register", "panel", "solvers", "model", "baselines", "own_data"),
    *(
        "paper.algorithm",
        "paper.batches",
        "paper.box",
        "paper.function_classes",
        "paper.long_work",
        "paper.max_oracle",
        "paper.protocols",
        "paper.rows",
        "paper.stack",
        "paper.table_descent",
        "paper.training",
    ),
]
# what a program gets from own_data by the names of `gladius` itself
BY_NAME = [
    f"gladius.{name}"
    for name, module in (gladius.MODULES | gladius.SUBMODULES).items()
    if module.startswith(OWN)
]
# module or package -> what it may not import, beyond the order of the layers
ALSO_FORBIDDEN = {
    "gladius": ("tests",),
    # The plain edition is run, and an import would run it.
    "proofs_checks": ("tests", OWN, *BY_NAME, "proofs_checks.plain"),
    "reproduce": ("tests", "proofs_checks.plain"),
    # An independent check of the library must not rest on the library.
    "proofs_checks.oracle": ("gladius",),
    "proofs_checks.plain": LAYERS,  # for readers who trust none of it
    **{f"gladius.{name}": TRUTH for name in BLIND},
}
# room of proofs_checks -> the other rooms that it may import
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "plain": (),
    "oracle": (),
    "certificates": (),
    "claims": ("certificates", "oracle"),
    "sections": ("claims", "oracle"),
    "corrected": ("claims", "oracle", "sections"),
    "ledger": ("certificates", "claims"),
    "__main__": ("claims", "ledger"),
}
for name, others in MAY_IMPORT.items():
    here, closed = f"proofs_checks.{name}", MAY_IMPORT.keys() - {name, *others}
    names = (f"proofs_checks.{other}" for other in sorted(closed))
    ALSO_FORBIDDEN[here] = (*ALSO_FORBIDDEN.get(here, ()), *names)
# The register of claims names the rooms whose modules fill it, and loads them when it is asked.
LOADED = [("proofs_checks.claims.claims", f"proofs_checks.{x}") for x in ("sections", "corrected")]


def imported(source: str, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of all that a source imports, or names as a module in a string."""
    home = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = home[: len(home) - (node.level - 1)] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            yield node.lineno, start
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if DOTTED.fullmatch(node.value):
                yield node.lineno, node.value
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node.lineno, first.value
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in FACE:
            yield node.lineno, f"gladius.{node.attr}"


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def forbidden(module: str) -> list[str]:
    """What a module may not import."""
    layer = LAYERS.index(module.split(".")[0])
    above = list(LAYERS[layer + 1 :])
    if layer == 0 and module not in FACES and not within(module, OWN):
        above += [OWN, *(name for name in BY_NAME if (module, name) != ASKS)]
    also = [n for where, names in ALSO_FORBIDDEN.items() if within(module, where) for n in names]
    return above + [name for name in also if (module, name) not in LOADED]


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """'module:line imports name' for each import that goes the wrong way."""
    no = forbidden(module)
    return sorted(
        {
            f"{module}:{line} imports {name}"
            for line, name in imported(source, module, is_package)
            if any(within(name, package) for package in no)
        }
    )


def modules() -> list[tuple[Path, str]]:
    found = []
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found.append((path, ".".join(parts[:-1] if parts[-1] == "__init__" else parts)))
    return found


def test_every_import_goes_down() -> None:
    files = modules()
    wrong = [
        text
        for path, module in files
        for text in violations(path.read_text("utf-8"), module, path.name == "__init__.py")
    ]
    assert wrong == []
    names = {module for _, module in files}
    assert set(LAYERS) <= names  # all three packages were read
    missing = {name for name in ALSO_FORBIDDEN if name.startswith("gladius")} - names
    assert not missing  # a rule about a module that is no more guards nothing
    within_proofs = {name.split(".")[1] for name in names if name.startswith("proofs_checks.")}
    assert within_proofs == set(MAY_IMPORT)  # nor does a room without a rule


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gladius.model.mdp", "import reproduce"),
        ("gladius.model.mdp", "import numpy, proofs_checks.claims.claims as c"),
        ("gladius.model.mdp", "from proofs_checks import claims"),
        ("gladius.model.mdp", "def f():\n    from reproduce.engine import run"),
        ("gladius.model.mdp", "if TYPE_CHECKING:\n    from reproduce.engine import run"),
        ("gladius.model.mdp", "import_module('reproduce')"),
        ("gladius.model.mdp", "importlib.import_module('proofs_checks')"),
        ("gladius.model.mdp", "__import__('reproduce')"),
        ("gladius.own_data.door", "METHODS = {'x': 'proofs_checks.claims.claims'}"),
        ("gladius.register", "METHODS = {'x': 'gladius.own_data.erm.estimator'}"),
        ("gladius.baselines.ccp", "def f():\n    from gladius.own_data import door"),
        ("gladius.baselines.ccp", "from ..own_data.results import inference"),
        ("gladius.baselines.ccp", "from gladius import fit"),
        ("gladius.panel.frame", "import_module('gladius.own_data.frame')"),
        ("gladius.panel.record", "import_module('gladius').frame"),
        ("proofs_checks.claims.decide", "from gladius.own_data.erm.smooth import fit_smooth"),
        ("proofs_checks.claims.decide", "import gladius\ngladius.fit"),
        ("gladius.model.mdp", "from tests import strategies"),
        ("gladius.baselines.nfxp", "from gladius.designs.bus import BusEngine"),
        ("gladius.baselines.nfxp", "from ..designs import bus"),
        ("gladius.baselines.nfxp", "from gladius.designs import metrics"),
        ("gladius.own_data.erm.estimator", "from ...designs.metrics import mape"),
        ("proofs_checks.oracle", "from gladius.model.mdp import soft_bellman"),
        ("proofs_checks.claims.claims", "from reproduce import published"),
        ("proofs_checks.plain.gumbel", "from proofs_checks.oracle import gumbel"),
        ("proofs_checks.claims.claims", "from proofs_checks.plain import gumbel"),
        ("reproduce.pages.site", "from proofs_checks import plain"),
        ("proofs_checks.oracle.risk", "from proofs_checks.claims.instances import VALUES"),
        ("proofs_checks.claims.decide", "from proofs_checks.ledger import wording"),
        ("proofs_checks.claims.instances", "from proofs_checks.sections import setup"),
        ("proofs_checks.certificates", "from proofs_checks.claims.numbering import records"),
        ("proofs_checks.sections.setup", "from proofs_checks.corrected.search import least_ratio"),
        ("proofs_checks.ledger.pages", "import_module('proofs_checks.sections.setup')"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    """Negative control: every way to import upwards that Python knows."""
    assert violations(source, module) != []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gladius.model.mdp", "import numpy\nfrom gladius.validate import InputError"),
        ("gladius.model.mdp", "reproduce = 1  # see reproduce/engine.py"),
        ("gladius.model.mdp", '"""What reproduce.engine does with it is not our concern."""'),
        ("gladius.model.mdp", "import reproducer"),
        ("gladius.baselines.nfxp", "from ..model.mdp import TabularMDP\nfrom . import ccp"),
        ("proofs_checks.claims.claims", "from gladius.designs.bus import BusEngine"),
        ("reproduce.engine", "import gladius.designs.metrics, proofs_checks.claims.claims"),
        ("proofs_checks.claims.claims", "CHECKS = ('proofs_checks.sections', 'sections')"),
        ("proofs_checks.corrected.classes", "from proofs_checks.sections import _fits"),
        ("reproduce.exhibits.rust", "import gladius\ngladius.fit"),
        ("gladius.panel.frame", "import_module('gladius').frame"),
        ("gladius.__main__", "from gladius.own_data.command import command"),
        ("gladius.own_data.door", "from gladius.paper.box import algorithm_1"),
    ],
)
def test_a_right_import_passes(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_a_package_resolves_its_own_relative_imports() -> None:
    assert violations("from .designs import bus", "gladius.baselines", is_package=True) == []
    assert violations("from ..designs import bus", "gladius.baselines", is_package=True) != []


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
STATEMENTS = {"gladius": 6_871, "gladius/own_data": 5_071, "proofs_checks": 6_962}
STATEMENTS |= {"reproduce": 8_117, "tests": 18_913}


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


def import_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that form a circle of imports, in order; [] where there is none."""
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return [str(module) for module in error.args[1]]
    return []


def imports(source: str, names: set[str]) -> set[str]:
    """Modules of `names` that a source imports by a statement, inside functions too.

    The packages' own `__init__` are left out: they load everything else on demand, by its name.
    """
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)]
    text = "\n".join(map(ast.unparse, nodes))
    return {name for _, name in imported(text, "", False)} & names - set(LAYERS)


def test_imports_form_no_circle() -> None:
    names = {module for _, module in modules()}
    graph = {module: imports(path.read_text("utf-8"), names) for path, module in modules()}
    assert import_cycle(graph) == []
    assert import_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []
    assert imports("def f():\n    from gladius.model.mdp import Paths", names) == {
        "gladius.model.mdp"
    }


# Rooms are the folders of a package and its loose files. One stands above all that it imports.
# Most rooms, floors and arrows; gladius without own_data.
ROOMS = {"gladius": (9, 4, 18), "gladius.own_data": (7, 4, 10), "reproduce": (10, 7, 35)}
ROOMS |= {"proofs_checks": (8, 4, 11)}


def room(module: str, package: str) -> str:
    """The room of a module of a package, `gladius.model` of `gladius.model.mdp`."""
    return ".".join(module.split(".")[: package.count(".") + 2])


def rooms(graph: dict[str, set[str]], package: str) -> dict[str, set[str]]:
    """Room -> the rooms of the same package that its modules import."""
    inside = {name for name in graph if name.startswith(f"{package}.")}
    inside -= {name for name in graph if within(name, OWN) and package == "gladius"}
    found: dict[str, set[str]] = {room(name, package): set() for name in inside}
    for name in inside:
        here, others = room(name, package), graph[name] & inside
        found[here] |= {room(other, package) for other in others} - {here}
    return found


def floors(arrows: dict[str, set[str]]) -> dict[str, int]:
    """Room -> its floor: 1 where it imports no other room."""
    found: dict[str, int] = {}
    for name in TopologicalSorter(arrows).static_order():
        found[name] = 1 + max((found[other] for other in arrows[name]), default=0)
    return found


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_are_few_and_stand_on_few_floors(package: str) -> None:
    names = {module for _, module in modules()}
    graph = {module: imports(path.read_text("utf-8"), names) for path, module in modules()}
    arrows = rooms(graph, package)
    count = len(arrows), max(floors(arrows).values()), sum(map(len, arrows.values()))
    assert all(here <= most for here, most in zip(count, ROOMS[package], strict=True)), count
    toy = {"p.a.x": {"p.b"}, "p.b": {"p.c.y"}, "p.c.y": set(), "p.c.z": {"p.c.y"}}
    assert floors(rooms(toy, "p")) == {"p.c": 1, "p.b": 2, "p.a": 3}


def test_every_room_says_what_is_in_it_and_where_to_start() -> None:
    for package in ROOMS:
        for path in sorted((ROOT / package.replace(".", "/")).glob("*/__init__.py")):
            text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            assert "Start with" in " ".join(text.split()), path
            assert "import" in text, path


# lines of all definitions that a method's `fit` reaches, as the median over methods; it only falls,
# but for 267 lines of tables of moves by their entries, without which a fit takes S^2 numbers
READING_DISTANCE = 1_621


def length(module: str, name: str) -> int:
    """Lines of a definition, with its decorators."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    for node in ast.parse(path.read_text("utf-8")).body if path.is_file() else []:
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
    assert length("tests.test_layers", "test_every_import_goes_down") > 10


# groupings of the data in a fit, its summary and its reward frame
GROUPINGS = {"nfxp": 1, "profiled_erm": 1}


@pytest.mark.parametrize("method", GROUPINGS)
def test_the_data_are_grouped_few_times(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, of_all = [], record.group

    def counted(data: Any) -> Any:
        calls.append(data)
        return of_all(data)

    for module in ("model.inversion", "model.parametric", "own_data.erm.estimator"):
        monkeypatch.setattr(f"gladius.{module}.group", counted)
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
