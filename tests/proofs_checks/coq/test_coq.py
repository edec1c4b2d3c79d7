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
from proofs_checks.claims.claims import claims, find
from proofs_checks.claims.decide import decide
from reproduce.run import GENERATED

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
        assert f"`{row['theorem']}`, `{row['file']}`" in in_coq()[row["claim"]]
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


def test_every_theorem_has_an_instance() -> None:
    examples = (HOME / "coq" / "examples.v").read_text("ascii")
    theorems = {
        name for path in FILES for name in re.findall(r"(?m)^Theorem (\w+) :", path.read_text())
    }
    used = set(re.findall(r"\w+'*", examples))
    assert theorems <= used


def test_a_corrected_statement_without_a_proof_names_the_step_that_is_missing() -> None:
    bare = {
        id_
        for id_, claim in claims().items()
        if claim.corrected and id_ not in derivations() and id_ not in in_coq()
    }
    decided = pd.read_csv(GENERATED / "claims.csv", dtype=str, keep_default_na=False)
    enumerated = set(decided.loc[decided["how_corrected"].eq("enumeration"), "id"])
    assert {id_ for id_, claim in claims().items() if claim.missing} == bare - enumerated


needs_coq = pytest.mark.skipif(shutil.which("coq_makefile") is None, reason="there is no Coq here")


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    whole = ["bash", "-c", command]
    return subprocess.run(whole, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the compiled files, and what Coq printed."""
    folder = tmp_path_factory.mktemp("coq")
    shutil.copytree(HOME / "coq", folder, dirs_exist_ok=True)
    done = run("coq_makefile -o Makefile *.v && make --jobs 2", folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.mark.deep  # a minute and a half; `.ci/run` compiles the files by `tox -e coq`
@needs_coq
def test_coq_accepts_the_files_with_no_other_axiom(compiled: tuple[Path, str]) -> None:
    assert set(re.findall(r"(?m)^([\w.]+)\s*:", compiled[1])) - {"Axioms"} <= STANDARD


FAULTS = {  # in a statement: file, what it says, and what is false
    "another sum": (
        "minimax.v",
        "(actions D) x (anchor D x)) + (ln",
        "(actions D) x (anchor D x)) - (ln",
    ),
    "greatest": ("minimax.v", "g D q <= g D q') <-> same", "g D q' <= g D q) <-> same"),
    "no beta^2": ("minimax.v", "td - beta ^ 2 * spread mean", "td - beta * spread mean"),
    "zeta of r": ("minimax.v", "- beta D * zeta x).", "+ beta D * zeta x)."),
    "the likelihood's most": ("minimax.v", "nll D q <= nll D q') <->", "nll D q' <= nll D q) <->"),
    "a residual of 1": ("minimax.v", "residual D q x = 0.\n\n", "residual D q x = 1.\n\n"),
    "curvature": ("saddle.v", "(1 - 2 * beta D) * c ^ 2) /", "(1 - beta D) * c ^ 2) /"),
    "any beta": ("saddle.v", "  1 / 2 < beta D -> forall M", "  1 / 3 < beta D -> forall M"),
    "a slope": ("saddle.v", "(PV D q)) 0 0) /\\", "(PV D q)) 0 1) /\\"),
    "PL for beta < 1/2": (
        "saddle.v",
        "1 / 2 < beta D -> 0 < radius",
        "1 / 3 < beta D -> 0 < radius",
    ),
    "a saddle": ("saddle.v", "condition_F D -> 1 / 2 < beta D", "condition_F D -> 1 / 3 < beta D"),
    "B for 2 B": ("paper_smooth.v", "<= (2 + 2 * M * (1 + discount Z)) * B.", "<= (1 + M) * B."),
    "no mean": ("paper_smooth.v", "(expected K (v s) (v'' s) y + var", "(0 + var"),
    "B^2/2": ("paper_smooth.v", "<= 2 * B_2 + B ^ 2.", "<= 2 * B_2 + B ^ 2 / 2."),
    "M for 2 M": (
        "paper_smooth.v",
        "      2 * M * ((1 + discount Z) * B_2",
        "      M * ((1 + discount Z) * B_2",
    ),
    "L_zeta is beta": ("paper_smooth.v", "    (2 * beta ^ 2) ^ 2 * sum n", "    beta ^ 2 * sum n"),
    "as many parameters": ("rank.v", "(n < m)%nat -> 0 < mu", "(n <= m)%nat -> 0 < mu"),
    "an open set": ("support.v", "closed S base support /\\", "open S base support /\\"),
    "a flatter parabola": (
        "inner_step.v",
        "share D * ((1 - beta D) * (t - c)) ^ 2) /\\",
        "share D * ((1 - beta D ^ 2) * (t - c)) ^ 2) /\\",
    ),
    "another sign of h": (
        "inner_step.v",
        "+\n    2 * beta D ^ 2 * sum (states",
        "-\n    2 * beta D ^ 2 * sum (states",
    ),
    "any level": ("inner_step.v", "((forall x y, k x = k y) -> forall t", "(forall t"),
    "no beta in p_A": ("overlap.v", "<= 1 / (beta * p_A) * d y)", "<= 1 / p_A * d y)"),
    "c > 1": ("paper_pl.v", "  0 < c /\\ pl_at", "  1 < c /\\ pl_at"),
    "a ratio of 9": ("two_schedules.v", "let ratio := 18 * l", "let ratio := 9 * l"),
    "c > 1 / mu_1": ("two_schedules.v", "-> c > 2 / mu_1 ->", "-> c > 1 / mu_1 ->"),
    "half the growth": (
        "two_schedules.v",
        "(slope_of_g A best t) (A t p)) <= 2 * l",
        "(slope_of_g A best t) (A t p)) <= l",
    ),
    "no eps": ("q_error.v", "<= C_id * (eps s + nu", "<= C_id * (0 + nu"),
}


@pytest.mark.deep
@needs_coq
@pytest.mark.parametrize("fault", FAULTS)
def test_coq_rejects_a_fault_in_a_statement(fault: str, compiled: tuple[Path, str]) -> None:
    folder, (name, old, new) = compiled[0], FAULTS[fault]
    text = (folder / name).read_text("ascii")
    assert text.count(old) == 1
    (folder / "fault.v").write_text(text.replace(old, new), "ascii")
    assert run("coqc -R . Top fault.v", folder).returncode != 0
