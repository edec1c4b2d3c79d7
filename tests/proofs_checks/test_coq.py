"""The theorems in Coq: nothing is admitted, pages name them, and coqc accepts them where it is."""

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import proofs_checks
from proofs_checks.certificates import derivations, in_coq
from proofs_checks.claims import claims, find
from proofs_checks.decide import decide
from proofs_checks.ledger import GENERATED

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
    assert theorems or path.name in ("vectors.v", "examples.v")
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


def statement(theorem: str, file: str) -> str:
    """What a theorem proves: the name of a definition."""
    text = (HOME / "coq" / file).read_text("ascii")
    (name,) = re.findall(rf"(?m)^Theorem {theorem} : (\w+)\.", text)
    assert re.search(rf"(?m)^Definition {name}\b", text)
    return str(name)


def test_a_theorem_of_the_page_proves_the_statement_beside_it() -> None:
    page = (HOME / "coq" / "README.md").read_text("utf-8")
    rows = re.findall(r"\]\((\w+\.v)\) \| `(\w+)` \| `(\w+)` \|\n", page)
    assert len(rows) > 60
    assert [row for row in rows if statement(row[2], row[0]) != row[1]] == []


def test_claims_that_coq_proves_are_claims_and_theorems() -> None:
    with (HOME / "coq" / "claims.csv").open(encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({(row["claim"], row["theorem"]) for row in rows}) == len(rows) > len(in_coq())
    for row in rows:
        assert statement(row["theorem"], row["file"])
        assert f"{row['theorem']}, {row['file']}" in in_coq()[row["claim"]]
    whole = {id_ for id_ in in_coq() if not any(r["case"] for r in rows if r["claim"] == id_)}
    assert whole == {id_ for id_, places in in_coq().items() if "(" not in places}
    assert {find(claim).verdict for claim in whole} == {"holds"}
    # data sets of these claims may have states that only follow others: more than (S) in Coq
    assert not {"corrected.coordinates", "corrected.pl"} & whole


@pytest.mark.parametrize(
    ("id_", "how"),
    [
        ("lem:BE_PL", "proof"),  # Coq has the whole claim
        ("setup.reachable-set", "derivation + step"),  # Coq has a case, and nothing else does
    ],
)
def test_the_evidence_is_called_a_proof_only_where_coq_has_the_whole_claim(
    id_: str, how: str
) -> None:
    decision = decide(find(id_), 1)
    assert (decision.how_corrected or decision.how).startswith(how)


UNINSTANTIATED = {"theorem_5_holds", "theorem_13_holds", "lemma_29_holds"}
UNINSTANTIATED |= {"two_time_scales_holds", "zeta_exact_holds"}


def test_every_theorem_has_an_instance_and_the_page_names_the_others() -> None:
    examples = (HOME / "coq" / "examples.v").read_text("ascii")
    theorems = {
        name for path in FILES for name in re.findall(r"(?m)^Theorem (\w+) :", path.read_text())
    }
    used = set(re.findall(r"\w+'*", examples))
    assert theorems - used == UNINSTANTIATED


def test_a_corrected_statement_without_a_proof_names_the_step_that_is_missing() -> None:
    bare = {
        id_
        for id_, claim in claims().items()
        if claim.corrected and id_ not in derivations() and id_ not in in_coq()
    }
    decided = pd.read_csv(GENERATED / "claims.csv", dtype=str, keep_default_na=False)
    enumerated = set(decided.loc[decided["how_corrected"].eq("enumeration"), "id"])
    assert {id_ for id_, claim in claims().items() if claim.missing} == bare - enumerated


@pytest.mark.deep  # a minute and a half; `.ci/run` compiles the files by `tox -e coq`
@pytest.mark.skipif(shutil.which("coq_makefile") is None, reason="there is no Coq here")
def test_coq_accepts_the_files_with_no_other_axiom(tmp_path: Path) -> None:
    shutil.copytree(HOME / "coq", tmp_path, dirs_exist_ok=True)
    command = ["bash", "-c", "coq_makefile -o Makefile *.v && make --jobs 2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"(?m)^([\w.]+)\s*:", done.stdout)) - {"Axioms"} <= STANDARD
