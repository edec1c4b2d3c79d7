"""The theorems in Coq: nothing is admitted, pages name them, and coqc accepts them where it is."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import proofs_checks

HOME = Path(proofs_checks.__file__).parent
FILES = sorted((HOME / "coq").glob("*.v"))
OPEN = re.compile(r"\b(admit|Admitted|Axiom|Parameter|Conjecture|Abort)\b")
STANDARD = {  # of the real numbers, and of classical logic
    *("ClassicalDedekindReals.sig_not_dec", "ClassicalDedekindReals.sig_forall_dec"),
    *("FunctionalExtensionality.functional_extensionality_dep", "functional_extensionality_dep"),
    "Classical_Prop.classic",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_is_admitted_and_every_theorem_prints_its_axioms(path: Path) -> None:
    text = path.read_text("ascii")
    assert not OPEN.search(text)
    theorems = set(re.findall(r"(?m)^Theorem (\w+) :", text))
    assert theorems or path.name == "vectors.v"
    assert theorems == set(re.findall(r"(?m)^Print Assumptions (\w+)\.", text))


def test_the_chain_links_to_the_line_of_every_theorem() -> None:
    chain = (HOME / "corrected" / "corrected.md").read_text("utf-8")
    links = re.findall(r"\[`(\w+)`\]\(\.\./coq/([\w.]+)\), line (\d+)", chain)
    assert {name for name, *_ in links} == {
        name
        for path in FILES
        for name in re.findall(r"(?m)^Theorem (\w+) :", path.read_text("ascii"))
    }
    page = (HOME / "coq" / "README.md").read_text("utf-8")
    for name, file, line in links:
        lines = (HOME / "coq" / file).read_text("ascii").splitlines()
        assert lines[int(line) - 1].startswith(f"Theorem {name} "), name
        assert f"`{name}`" in page


def order() -> list[str]:
    """Of compilation: a file comes after those that it requires."""
    text = (Path(__file__).parents[2] / "tox.ini").read_text("utf-8")
    return re.findall(r"(?m)^ +coqc (\S+)$", text)


def test_tox_compiles_every_file() -> None:
    assert sorted(order()) == [path.name for path in FILES]


@pytest.mark.skipif(shutil.which("coqc") is None, reason="there is no coqc here")
def test_coq_accepts_the_files_with_no_other_axiom(tmp_path: Path) -> None:
    for path in FILES:
        shutil.copy(path, tmp_path)
    for name in order():
        command = ["coqc", name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert set(re.findall(r"(?m)^([\w.]+)\s*:", done.stdout)) - {"Axioms"} <= STANDARD
