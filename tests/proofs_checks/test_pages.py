"""The pages of the claims and the errata, and what the command says of one claim."""

import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs_checks import graph, ledger
from proofs_checks.claims import CheckResult, claims, listed
from proofs_checks.decide import decide
from proofs_checks.numbering import SOURCE_SHA256, TITLE, records, statement_of

LINK = re.compile(r"(?<!\\)\[[^\[\]]*\]\(([^)]*)\)")
REFUTED = "lem:lipsSmooth.hessian-of-V"
UNPRINTED = "text.below-the-bound"


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """A ledger with what the claims record, and no evidence."""
    recorded = [claims()[id_] for id_ in listed()]
    table = {
        "id": [claim.id for claim in recorded],
        "verdict": [claim.verdict for claim in recorded],
        "corrected": [claim.correction for claim in recorded],
        "counterexample": ["first\nsecond" if claim.text else "" for claim in recorded],
        "check": ["proofs_checks/claims.py::check"] * len(recorded),
        "how": ["certificate" if claim.text else "sampled" for claim in recorded],
    }
    columns = ledger.row(recorded[0], decide(recorded[0], 1))
    return pd.DataFrame(table).reindex(columns=list(columns), fill_value="")


@pytest.fixture(scope="module")
def texts(rows: pd.DataFrame) -> dict[str, str]:
    return ledger.pages(rows)


def test_the_committed_pages_are_those_of_the_committed_ledger() -> None:
    path = ledger.GENERATED / "claims.csv"
    wanted = ledger.pages(pd.read_csv(path, dtype=str, keep_default_na=False))
    for name, text in wanted.items():
        written = (ledger.GENERATED / name).read_text("utf-8")
        assert written == text, "run: python -m proofs_checks"
    folder = ledger.GENERATED / ledger.FOLDER
    assert {f"{ledger.FOLDER}/{path.name}" for path in folder.iterdir()} < set(wanted)


def test_every_claim_stands_on_the_page_of_its_section_once(texts: dict[str, str]) -> None:
    for id_, claim in claims().items():
        heading = f"\n### {id_}: {claim.verdict}\n"
        inside = {name for name, text in texts.items() if heading in text}
        page = f"{ledger.FOLDER}/{ledger.sections()[ledger.section_of(id_)]['page']}"
        assert inside == ({page} if claim.verdict == "holds" else {page, "ERRATA.md"})


def test_a_claim_stands_under_the_number_of_its_statement(texts: dict[str, str]) -> None:
    chapters = re.split(r"\n## ", texts["claims/section-6.md"])
    (lemma,) = [text for text in chapters if text.startswith("Lemma 8 (`lem:BE_PL`)\n")]
    assert "### lem:BE_PL: holds" in lemma
    assert lemma.count("### ") == 1
    (theorem,) = [text for text in chapters if text.startswith("Theorem 12 ")]
    assert "\n  > first  \n  > second\n" in theorem
    assert "[certificate](../../../proofs_checks/certificates/certificates.lisp)" in theorem


def test_all_links_of_the_pages_lead_somewhere(texts: dict[str, str]) -> None:
    links = [(name, link) for name, text in texts.items() for link in LINK.findall(text)]
    assert len(links) > 2 * len(claims())
    for name, link in links:
        target, _, anchor = link.partition("#")
        path = (ledger.GENERATED / name).parent / target
        page = path.resolve().relative_to(ledger.ROOT).as_posix()
        page = page.removeprefix("paper_tables/generated/")
        assert page in {*texts, "claims.csv"} or path.resolve().exists(), (name, link)
        assert not anchor or f'<a id="{anchor}"></a>' in texts[page], (name, link)


def test_the_index_identifies_the_paper_and_counts_what_the_pages_have(
    texts: dict[str, str], rows: pd.DataFrame
) -> None:
    index = texts["claims/README.md"]
    assert TITLE in index
    assert SOURCE_SHA256 in index
    table = re.findall(r"\n\| \[(?:Section|Appendix|Not)[^|]*((?:\|[ \d]*){5})\|", index)
    counts = [int(cells.split("|")[4].strip() or 0) for cells in table]
    assert sum(counts) == sum(rows["verdict"] == "fails")
    wrong = [c for c in claims().values() if c.verdict == "fails" and not c.inferred]
    slips = len({claim.error for claim in wrong})
    assert slips < len(wrong)
    assert f"{len(wrong)} printed statements fail, by {slips} independent errors." in index


def test_what_is_not_printed_is_no_error_of_the_paper(texts: dict[str, str]) -> None:
    heads = [chapter.partition("\n") for chapter in texts["ERRATA.md"].split("\n## ")[1:]]
    chapters = {heading: text for heading, _, text in heads}
    apart = {id_ for id_, claim in claims().items() if claim.inferred}
    assert UNPRINTED in apart
    for heading, text in chapters.items():
        inside = {id_ for id_ in claims() if f"### {id_}:" in text}
        assert inside, heading
        assert inside <= apart if heading == ledger.INFERRED else not inside & apart
    assert "**Statement:**" not in chapters[ledger.INFERRED]
    assert "**Examined, not printed (" in chapters[ledger.INFERRED]


@given(st.text(alphabet="ab *[]()</>|`", max_size=12))
def test_nothing_of_a_claim_is_read_as_markdown(text: str) -> None:
    escaped = ledger.plain(text)
    assert re.sub(r"\\([*<\[|])", r"\1", escaped) == text
    assert not re.search(r"(?<!\\)([*\[|]|<[ab/])", escaped)


def test_the_pages_are_made_of_the_ledger_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / ledger.FOLDER).mkdir()
    (tmp_path / ledger.FOLDER / "of-yesterday.md").write_text("old")
    ledger.write([decide(claims()[REFUTED], 5)], tmp_path)
    written = {path.name for path in (tmp_path / ledger.FOLDER).iterdir()}
    assert written == {"README.md", "appendix-c.md"}
    for page in (tmp_path / ledger.FOLDER / "appendix-c.md", tmp_path / "ERRATA.md"):
        text = page.read_text("utf-8")
        assert text.count("\n  > ") == claims()[REFUTED].text.strip().count("\n") + 1
        assert "{" not in text.split("**Counterexample:**")[1].split("**Write instead:**")[0]


def test_claims_without_a_number_have_a_section_too() -> None:
    assert {ledger.section_of(id_) for id_ in listed()} <= set(ledger.sections())
    assert statement_of("tab.truth") is None
    assert ledger.section_of("tab.truth") == "A"
    assert ledger.section_of("corrected.alpha") == "ours"


def test_what_rests_on_a_false_statement_says_so() -> None:
    page = (ledger.GENERATED / ledger.FOLDER / "README.md").read_text("utf-8")
    assert "| Theorem 13 | holds, given Theorem 12 |" in page
    assert "| Theorem 11 | holds |" in page  # the control
    assert "| Theorem 12 | fails |" in page


# --- what rests on what
def test_the_statements_are_named_and_rest_on_no_circle() -> None:
    labels = {s.label for s in graph.statements()}
    assert {row[name] for row in records("uses") for name in ("statement", "uses")} <= labels
    for label in labels - {""}:
        assert label not in graph.below(label)


def test_an_error_goes_where_the_statement_is_used_and_nowhere_else() -> None:
    verdicts = dict.fromkeys(("lem:NLL_PL", "lem:zeta_empirical_pl"), "holds")
    verdicts["eq:KL-chi-square"] = "fails"
    recorded = graph.nodes(verdicts, {"eq:KL-chi-square": "constant"})
    lemma = recorded["lem:NLL_PL"]
    assert (lemma.verdict, lemma.severity) == ("fails", "constant")
    assert recorded["thm:bothPL"].arriving == recorded["prop:linConvergence"].arriving == "constant"
    assert recorded["thm:bothPL"].severity == ""
    assert recorded["lem:zeta_empirical_pl"].arriving == recorded["lem:BE_PL"].arriving == ""
    cosmetic = graph.nodes(verdicts, {"eq:KL-chi-square": "cosmetic"})
    assert cosmetic["lem:NLL_PL"].severity == ""
    assert cosmetic["lem:NLL_PL"].verdict == "misprint"


# --- one claim on the command line
def result(observed: float, relation: str, bound: float, tolerance: float = 1e-9) -> CheckResult:
    return CheckResult(observed, relation, bound, tolerance, "a test")  # type: ignore[arg-type]  # any relation, as a text


def test_sides_equal_to_the_tolerance_do_not_read_as_a_false_inequality() -> None:
    text = ledger.compared(result(0.24949781719683345, ">=", 0.24949781719683348))
    assert text == "observed 0.249498 and bound 0.249498 are equal to within 1e-09 (a test)"
    assert ledger.compared(result(2, ">=", 1)) == "observed 2 >= bound 1, by 1"
    missed = ledger.compared(result(1, ">=", 2))
    assert missed == "observed 1 >= bound 2 is missed by 1, tolerance 1e-09 (a test)"
    assert "exactly" in ledger.compared(result(1, "==", 1, 0.0))


@given(st.floats(-9, 9), st.sampled_from(["<=", ">=", "=="]), st.floats(-9, 9), st.floats(0, 9))
def test_a_relation_reads_as_missed_exactly_where_it_does_not_hold(
    observed: float, relation: str, bound: float, tolerance: float
) -> None:
    of = result(observed, relation, bound, tolerance)
    assert ("is missed" not in ledger.compared(of)) == of.holds


def test_one_claim_is_answered_with_control_and_counterexample() -> None:
    claim = claims()[REFUTED]
    facts = ledger.answer(claim, decide(claim, 5))
    assert facts["claim"] == f"{REFUTED} (Lemma 30)"
    assert facts["statement"] == claim.statement
    assert facts["verdict"].startswith("fails, by certificate")
    assert "is missed by" in facts["at the counterexample"]
    assert facts["control"].startswith(f"{claim.broken}: rejected, ")
    assert facts["write instead"] == claim.correction
