"""What is handed out: the lock covers what is required, the wheel runs where no checkout is."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from configparser import ConfigParser
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT: dict[str, Any] = SETTINGS["project"]
EXTRAS: list[str] = [*chain(*PROJECT["optional-dependencies"].values())]
GROUPS = [x for x in chain(*SETTINGS["dependency-groups"].values()) if isinstance(x, str)]
WANTED = [Requirement(line) for line in (*PROJECT["dependencies"], *EXTRAS, *GROUPS)]
PYTHONS = ("3.11", "3.12", "3.13")
LAYERS = ("gladius", "proofs_checks", "reproduce")


def locked(path: Path) -> list[tuple[Requirement, list[str]]]:
    """The lines of a lock, each with its hashes."""
    text = re.sub(r"^#.*\n|^--.*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)
    entries = [entry.split() for entry in text.replace("\\\n", "").splitlines() if entry.strip()]
    return [
        (
            Requirement(" ".join(word for word in words if not word.startswith("--hash"))),
            [word.removeprefix("--hash=sha256:") for word in words if word.startswith("--hash")],
        )
        for words in entries
    ]


def missing(lock: list[tuple[Requirement, list[str]]], python: str) -> list[Requirement]:
    """What the project asks for and the lock does not give on that Python, on this system."""
    here = {**default_environment(), "python_version": python, "python_full_version": f"{python}.0"}
    given = {
        canonicalize_name(entry.name): next(iter(entry.specifier)).version
        for entry, _ in lock
        if entry.marker is None or entry.marker.evaluate(here)
    }
    return [
        line
        for line in WANTED
        if not line.specifier.contains(given.get(canonicalize_name(line.name), "0"))
    ]


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_has_a_pinned_version_with_hashes_of_all_that_is_asked_for(python: str) -> None:
    lock = [*locked(ROOT / "requirements.lock"), *locked(ROOT / ".ci" / "rust.lock")]
    others = [e for x in ("torch-cpu", "release", "docs") for e in locked(ROOT / f".ci/{x}.lock")]
    assert missing(lock, python) == []
    assert missing([entry for entry in lock if entry[0].name != "numpy"], python) != []
    for entry, hashes in [*lock, *others]:
        assert [specifier.operator for specifier in entry.specifier] == ["=="], entry
        assert hashes, entry
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in hashes), entry


def test_the_oldest_versions_that_are_tried_are_the_lower_bounds() -> None:
    lines = (ROOT / ".ci" / "oldest.txt").read_text("utf-8").splitlines()
    bounds = {
        f"{line.name}=={bound.version}"
        for line in WANTED
        for bound in line.specifier
        if bound.operator == ">="
    }
    assert {line for line in lines if "==" in line} == bounds


def test_gladius_imports_all_that_it_requires() -> None:
    """Its extras too: whatever only the checks or the tables use is in a dependency group."""
    nodes = [
        n
        for path in (ROOT / "gladius").rglob("*.py")
        for n in ast.walk(ast.parse(path.read_text("utf-8")))
    ]
    imported = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    imported |= {str(n.module) for n in nodes if isinstance(n, ast.ImportFrom)}
    required = {Requirement(line).name for line in PROJECT["dependencies"]}
    assert required - {name.partition(".")[0] for name in imported} == set()
    loaded = imported | {n.value for n in nodes if isinstance(n, ast.Constant)}  # by name
    modules = {Requirement(line).name.removeprefix("scikit-") for line in EXTRAS}
    assert modules - {str(x).partition(".")[0].removeprefix("sk") for x in loaded} == set()
    assert {"numpy", "torch"} <= required
    assert "cvxpy" not in imported  # the tests' own


def test_what_an_index_shows_links_no_file_of_the_checkout_and_its_example_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = PROJECT["readme"]["text"]
    links = re.findall(r"\]\(([^)]*)\)|(?:href|src)=", text)
    assert {link.partition(":")[0] for link in [*links, *PROJECT["urls"].values()]} == {"https"}
    exec("".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), {})
    assert "profiled_erm smooth: ok" in capsys.readouterr().out


ONE_FEATURE = """
import sys, numpy as np, gladius
assert not {"torch", "matplotlib"} & set(sys.modules), "import gladius"
from gladius.designs.bus import BUS_REWARD
data = gladius.BusEngine().simulate(20, np.random.default_rng(0))
known = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
if sys.argv[2] == "nfxp":
    fit = gladius.fit(data, "nfxp", reward=BUS_REWARD, **known)
    fit.conf_int()
else:
    fit = gladius.fit(data, **known)
fit.summary(), fit.reward_frame(), fit.save(sys.argv[1]), gladius.load(sys.argv[1])
print(sorted({"torch", "matplotlib"} & set(sys.modules)))
"""


@pytest.mark.parametrize("method", ["nfxp", "default"])
def test_a_fit_to_one_feature_loads_neither_torch_nor_matplotlib(
    method: str, tmp_path: Path
) -> None:
    """They take most of the time of an import."""
    found = run("-W", "ignore", "-c", ONE_FEATURE, str(tmp_path / "fit"), method, cwd=ROOT)
    assert found.strip() == "[]"


@pytest.mark.parametrize(
    ("missing", "module", "arguments"),
    [
        ("typer", "proofs_checks", ["lem:BE_PL"]),
        ("hypothesis", "proofs_checks", ["lem:BE_PL"]),
        ("flint", "proofs_checks.certificates.verify", []),
        ("typer", "reproduce", ["list"]),
    ],
)
def test_a_command_without_its_packages_names_their_group_in_one_line(
    missing: str, module: str, arguments: list[str]
) -> None:
    code = f"import runpy, sys; sys.modules[{missing!r}] = None; sys.argv[0] = {module!r}; "
    code += f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    told = f"{missing} is missing: pip install --group checks (pip>=25.1)\n"
    assert done.stderr == told


def test_the_command_of_the_wheel_is_that_of_the_module(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, _, function = PROJECT["scripts"]["gladius"].partition(":")
    monkeypatch.setattr(sys, "argv", ["gladius", "--help"])
    monkeypatch.setattr(warnings, "showwarning", None)
    with pytest.raises(SystemExit) as ended:
        getattr(import_module(module), function)()
    assert ended.value.code == 0
    assert "--anchor-action" in capsys.readouterr().out
    assert warnings.showwarning is not None  # a shell gets one line


def test_the_names_of_the_library_can_be_listed_and_found() -> None:
    """In a process of its own, since other tests import modules of the library."""
    code = """if True:
        import inspect, sys, gladius
        assert set(gladius.__all__) < set(dir(gladius)) - {"no_such_name"}, dir(gladius)
        assert not {"torch", "matplotlib"} & set(sys.modules), "listing imports"
        assert all(hasattr(gladius, name) for name in dir(gladius))
        assert {"designs", "markov", "plots", "results"} <= dict(inspect.getmembers(gladius)).keys()
        print(gladius.plots.plot_reward.__module__, gladius.markov.check_markov.__module__)
        try:
            gladius.plot
        except AttributeError as error:
            print(error)
    """
    assert run("-c", code, cwd=ROOT).splitlines() == [
        "gladius.own_data.results.plots gladius.own_data.markov",
        "module 'gladius' has no attribute 'plot'",
    ]


def test_torch_is_of_one_version_with_and_without_cuda() -> None:
    (cpu, hashes) = locked(ROOT / ".ci" / "torch-cpu.lock")[0]
    (torch,) = [entry for entry, _ in locked(ROOT / "requirements.lock") if entry.name == "torch"]
    assert str(cpu.specifier) == f"{torch.specifier}+cpu"
    assert len(hashes) == 2 * len(PYTHONS)  # two processors


@pytest.mark.parametrize("page", ["README.md", "gladius/own_data/your_data.md"])
def test_the_pages_install_torch_from_the_index_of_the_lock(page: str) -> None:
    (index,) = re.findall("index-url (.*)", (ROOT / ".ci" / "torch-cpu.lock").read_text("utf-8"))
    text = (ROOT / page).read_text("utf-8")
    torch = rf"\n    ([\w./]*)pip install torch --index-url {re.escape(index)}\n    \1pip install "
    assert re.search(torch, text)


def test_the_classifiers_name_the_pythons_that_are_allowed() -> None:
    kind = "Programming Language :: Python :: "
    named = {line.removeprefix(kind) for line in PROJECT["classifiers"] if line.startswith(kind)}
    assert named == {"3 :: Only", *PYTHONS}
    allowed = Requirement(f"python{PROJECT['requires-python']}").specifier
    minors = {f"3.{minor}" for minor in range(30)}
    assert {minor for minor in minors if allowed.contains(minor)} == set(PYTHONS)


def test_one_version_is_released() -> None:
    for name in ("CITATION.cff", ".zenodo.json", "CHANGELOG.md", "gladius/__init__.py"):
        assert PROJECT["version"] in (ROOT / name).read_text("utf-8"), name


WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")


def environments() -> set[str]:
    """All of tox.ini, those in braces by their names."""
    parser = ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini", "utf-8")
    found = set()
    for section in parser.sections():
        kind, _, name = section.partition(":")
        before, _, inside = name.removesuffix("}").partition("{")
        found |= {before + each for each in inside.split(",")} if kind == "testenv" else set()
    return found - {""}


def workflow_faults(text: str) -> list[str]:
    """What the workflow does that neither `.ci/run` nor tox does, or cannot do."""
    jobs = pytest.importorskip("yaml").safe_load(text)["jobs"]
    found = []
    for name, job in jobs.items():
        matrix = job.get("strategy", {}).get("matrix", {})
        if set(matrix.get("python", PYTHONS)) != set(PYTHONS):
            found.append(f"{name}: the Pythons differ from those that are allowed")
        for step in job["steps"]:
            command, uses = step.get("run", ""), step.get("uses", "actions/none@v1")
            if command.startswith("tox -e "):
                asked = matrix["environment"] if "matrix" in command else command.split()[2:]
                found += [f"{name}: no environment {x}" for x in {*asked} - environments()]
            elif command not in ("", "bash .ci/run", "pip install tox"):
                found.append(f"{name}: {command}")
            if not re.fullmatch(r"actions/[a-z-]+@v\d+", uses):
                found.append(f"{name}: {uses} has no version")
        found += [f"{name}: needs {x}" for x in {job.get("needs", name)} - set(jobs)]
    return found


def test_the_workflow_runs_what_tox_has() -> None:
    assert workflow_faults(WORKFLOW) == []
    assert {"tests", "tests-deep", "newest", "newest-3.13"} <= environments()


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("tox -e docs", "tox -e doc", "pages: no environment doc"),
        ("processors, oldest", "processors, eldest", "weekly: no environment eldest"),
        ('"3.13"]', '"3.14"]', "tests: the Pythons differ from those that are allowed"),
        ("bash .ci/run", "pytest", "tests: pytest"),
        ("deploy-pages@v4", "deploy-pages", "pages: actions/deploy-pages has no version"),
        ("needs: tests", "needs: test", "pages: needs test"),
    ],
)
def test_a_fault_of_the_workflow_is_found(right: str, wrong: str, fault: str) -> None:
    assert WORKFLOW.count(right) == 1
    assert workflow_faults(WORKFLOW.replace(right, wrong)) == [fault]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the three packages."""
    if find_spec("build") is None:
        pytest.skip("the package build is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    left_out = shutil.ignore_patterns("__pycache__", "generated", ".*")
    for name in LAYERS:
        shutil.copytree(ROOT / name, source / name, ignore=left_out)
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, source)
    told = ["--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    run("-m", "build", *told, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.deep
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git says what is committed")
def test_the_source_distribution_is_the_checkout(tmp_path: Path) -> None:
    """Whoever unpacks it has the tests, the locks and all committed numbers."""
    committed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")[:-1]
    source = tmp_path / "source"
    for name in committed:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    run("-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), ".", cwd=source)
    (archive,) = tmp_path.glob("*.tar.gz")
    shutil.unpack_archive(archive, tmp_path / "unpacked")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    lost = [x for x in committed if (unpacked / x).read_bytes() != (ROOT / x).read_bytes()]
    assert lost == []


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """A folder with the wheel's contents."""
    shutil.unpack_archive(wheel, wheel.parent / "site", "zip")
    return wheel.parent / "site"


def run(*arguments: str, cwd: Path, site: str = "") -> str:
    """Standard output of Python with these arguments; `site` comes before all that is installed."""
    environment = {**os.environ, "PYTHONPATH": site}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.deep
def test_the_three_commands_run_with_the_wheel_s_library(installed: Path, tmp_path: Path) -> None:
    """Outside the checkout, from a copy of the two packages that the wheel has not."""
    site = str(installed)
    for name in (*LAYERS[1:], "paper_tables/published"):
        shutil.copytree(ROOT / name, tmp_path / name)
    where = "import gladius, proofs_checks, reproduce.run as r; print(gladius.__file__, r.SMOKE)"
    assert run("-c", where, cwd=tmp_path, site=site).split() == [
        str(installed / "gladius" / "__init__.py"),
        str(tmp_path / ".smoke"),
    ]
    world = "import gladius, numpy as np; "
    world += "p = gladius.BusEngine().simulate(50, np.random.default_rng(0)).to_frame(); "
    run("-c", world + "p.to_csv('choices.csv', index=False)", cwd=tmp_path, site=site)
    told = ["--state", "s0", "--action", "action", "--id", "id", "--anchor-action", "1"]
    told += ["--anchor-reward", "-5", "--discount", "0.95"]
    assert "-5" in run("-m", "gladius", "choices.csv", *told, cwd=tmp_path, site=site)
    claim = ["lem:completeMetric", "--examples", "2"]
    assert "holds" in run("-m", "proofs_checks", *claim, cwd=tmp_path, site=site)
    exhibit = ["run", "figure_gumbel", "--smoke", "--workers", "0"]
    run("-m", "reproduce", *exhibit, cwd=tmp_path, site=site)
    assert len(pd.read_csv(tmp_path / ".smoke" / "figure_gumbel.csv"))


@pytest.mark.deep
def test_the_wheel_has_the_library_alone_and_every_file_that_it_reads(installed: Path) -> None:
    """Other distributions have a top-level package `reproduce`."""
    assert {path.name.partition("-")[0] for path in installed.iterdir()} == {
        "gladius",
        "gladius_checked",
    }
    kinds = {".md", ".npz", ".py", ".typed"}
    files = {p.relative_to(ROOT) for p in (ROOT / "gladius").rglob("*") if p.suffix in kinds}
    assert len(files) > 70
    assert [str(path) for path in files if not (installed / path).is_file()] == []


USER = """
import numpy as np

import gladius
from gladius.designs.bus import BUS_REWARD

data: gladius.Transitions = gladius.BusEngine().simulate(50, np.random.default_rng(0))
fit = gladius.fit(
    data, "nfxp", anchor_action=1, anchor_reward=-5.0, discount=0.95, reward=BUS_REWARD
)
low: float = fit.conf_int()["low"].iloc[0]
print(fit.summary(), low, gladius.plots.plot_reward(fit), gladius.markov.check_markov)
"""
FAULT = USER.replace("fit.summary()", "fit.sumary()")


@pytest.mark.deep
def test_a_user_s_script_is_typed_by_the_wheel(installed: Path, tmp_path: Path) -> None:
    """`mypy --strict` finds the library as installed, and `py.typed` there."""
    run("-m", "venv", "--without-pip", str(tmp_path / "env"), cwd=tmp_path)
    (site,) = (tmp_path / "env" / "lib").glob("*/site-packages")
    shutil.copytree(installed, site, dirs_exist_ok=True)
    (site / "others.pth").write_text(f"{Path(np.__file__).parents[1]}\n", "utf-8")
    python, bare = str(tmp_path / "env" / "bin" / "python"), os.environ | {"PYTHONPATH": ""}
    for name, script, faults in (("right", USER, []), ("wrong", FAULT, ["attr-defined"])):
        (tmp_path / f"{name}.py").write_text(script, "utf-8")
        told = ["-m", "mypy", "--strict", "--cache-dir", "cache", "--python-executable", python]
        command = [sys.executable, *told, f"{name}.py"]
        done = subprocess.run(command, cwd=tmp_path, env=bare, capture_output=True, text=True)
        assert re.findall(r"error: .*\[([a-z-]+)\]", done.stdout) == faults, done.stdout
        assert done.returncode == bool(faults), done.stderr
    printed = subprocess.check_output([python, "right.py"], cwd=tmp_path, env=bare, text=True)
    assert "nfxp: ok" in printed


TOOLS = {
    "check-wheel-contents": ["WHEEL"],
    "twine": ["check", "--strict", "WHEEL"],
    "validate-pyproject": ["pyproject.toml"],
    "cffconvert": ["--validate", "--infile", "CITATION.cff"],
}


@pytest.mark.deep
@pytest.mark.skipif("RELEASE_TOOLS" not in os.environ, reason="`tox -e tests-deep` has the tools")
@pytest.mark.parametrize("tool", TOOLS)
def test_the_tools_of_its_own_format_find_no_fault(tool: str, wheel: Path) -> None:
    told = [str(wheel) if word == "WHEEL" else word for word in TOOLS[tool]]
    command = [str(Path(os.environ["RELEASE_TOOLS"]) / tool), *told]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.deep
def test_an_editable_install_has_all_three_packages(tmp_path: Path) -> None:
    told = ["--no-deps", "--no-build-isolation", "--target", str(tmp_path), "--editable", str(ROOT)]
    run("-m", "pip", "install", "--quiet", *told, cwd=tmp_path)
    (path,) = tmp_path.glob("*.pth")
    assert path.read_text("utf-8").split() == [str(ROOT)]
    assert all((ROOT / name / "__init__.py").is_file() for name in LAYERS)
