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
    theorems = set(re.findall(r"(?m)^Theorem (\w+) :", text)) - {"step"}
    assert theorems
    assert theorems == set(re.findall(r"(?m)^Print Assumptions (\w+)\.", text))


def test_the_chain_links_to_the_line_of_each_theorem() -> None:
    chain = (HOME / "corrected" / "corrected.md").read_text("utf-8")
    links = re.findall(r"\[`(\w+)`\]\(\.\./coq/([\w.]+)\), line (\d+)", chain)
    assert len(links) == 6
    page = (HOME / "coq" / "README.md").read_text("utf-8")
    for name, file, line in links:
        lines = (HOME / "coq" / file).read_text("ascii").splitlines()
        assert lines[int(line) - 1].startswith(f"Theorem {name} "), name
        assert f"`{name}`" in page


@pytest.mark.skipif(shutil.which("coqc") is None, reason="there is no coqc here")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_coq_accepts_the_file_with_no_other_axiom(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path)
    command = ["coqc", path.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"(?m)^([\w.]+)\s*:", done.stdout)) - {"Axioms"} <= STANDARD
