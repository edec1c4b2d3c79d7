"""The theorems in Coq: nothing is admitted, pages name them, and coqc accepts them where it is."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import proofs_checks
from proofs_checks.certificates import in_coq
from proofs_checks.ledger import find

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


def test_the_pages_name_every_theorem_and_its_line() -> None:
    chain = (HOME / "corrected" / "corrected.md").read_text("utf-8")
    page = (HOME / "coq" / "README.md").read_text("utf-8")
    theorems = {
        (name, path.name, str(number))
        for path in FILES
        for number, line in enumerate(path.read_text("ascii").splitlines(), 1)
        for name in re.findall(r"^Theorem (\w+) :", line)
    }
    assert set(re.findall(r"\[`(\w+)`\]\(\.\./coq/([\w.]+)\), line (\d+)", chain)) == theorems
    assert {(name, file) for file, name in re.findall(r"\]\((\w+\.v)\) .*`(\w+)` \|\n", page)} == {
        (name, file) for name, file, _ in theorems
    }


def test_claims_that_coq_proves_are_claims_and_theorems() -> None:
    rows = (HOME / "coq" / "claims.csv").read_text("ascii").splitlines()[1:]
    places = [place for found in in_coq().values() for place in found.split("; ")]
    assert len(places) == len(rows) > len(in_coq())  # some claims take several theorems
    for place in places:
        theorem, file = place.split(", ")
        assert f"Theorem {theorem} :" in (HOME / "coq" / file).read_text("ascii")
    assert {find(claim).verdict for claim in in_coq()} == {"holds"}
    # data sets of these claims may have states that only follow others: more than (S) in Coq
    assert not {"corrected.coordinates", "corrected.pl"} & in_coq().keys()


@pytest.mark.deep  # a minute and a half; `.ci/run` compiles the files by `tox -e coq`
@pytest.mark.skipif(shutil.which("coq_makefile") is None, reason="there is no Coq here")
def test_coq_accepts_the_files_with_no_other_axiom(tmp_path: Path) -> None:
    shutil.copytree(HOME / "coq", tmp_path, dirs_exist_ok=True)
    command = ["bash", "-c", "coq_makefile -o Makefile *.v && make --jobs 2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"(?m)^([\w.]+)\s*:", done.stdout)) - {"Axioms"} <= STANDARD
