"""The pages of the claims and the errata, and what the command says of one claim."""

import csv
import hashlib
import io
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.token import Token
from matplotlib.mathtext import MathTextParser

from gladius.validate import InputError
from proofs_checks.claims import numbering
from proofs_checks.claims.claims import OURS, CheckResult, claims, errors, listed
from proofs_checks.claims.decide import decide
from proofs_checks.claims.numbering import SOURCE_SHA256, TITLE, records, statement_of
from proofs_checks.ledger import graph, ledger, pages
from proofs_checks.ledger.wording import evidence, marked
from reproduce.run import GENERATED

CHAIN = Path(pages.__file__).parents[1] / "corrected" / "corrected.md"
WRITTEN = [CHAIN, GENERATED / pages.ERRATA, *sorted((GENERATED / pages.FOLDER).glob("*.md"))]
GREEK = "alpha|beta|zeta|theta|pi|phi|mu|nu|rho|tau|gamma|lambda|kappa|sigma|omega|eps|eta"
MARKDOWN = MarkdownIt("commonmark").enable("table")
REFUTED = "lem:lipsSmooth.hessian-of-V"
UNPRINTED = "text.below-the-bound"


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """A ledger with what the claims record, and no evidence."""
    columns = ledger.row(claims()[REFUTED], decide(claims()[REFUTED], 1))
    same = dict.fromkeys(columns, "") | {"check": "proofs_checks/claims/claims.py::check"}
    lines = [
        {"id": id_, "verdict": claims()[id_].verdict, "corrected": claims()[id_].correction}
        | {"counterexample": "first\nsecond" if claims()[id_].text else ""}
        | {"how": "certificate" if claims()[id_].text else "not refuted"}
        | {"how_corrected": "not refuted" if claims()[id_].corrected else ""}
        for id_ in listed()
    ]
    return pd.DataFrame([same | line for line in lines])


@pytest.fixture(scope="module")
def texts(rows: pd.DataFrame) -> dict[str, str]:
    return pages.pages(rows)


def test_the_committed_pages_are_those_of_the_committed_ledger() -> None:
    path = GENERATED / "claims.csv"
    wanted = pages.pages(pd.read_csv(path, dtype=str, keep_default_na=False))
    for name, text in wanted.items():
        written = (GENERATED / name).read_text("utf-8")
        assert written == text, "run: python -m reproduce readme"
    folder = GENERATED / pages.FOLDER
    assert {f"{pages.FOLDER}/{path.name}" for path in folder.iterdir()} < set(wanted)


def test_every_claim_stands_on_the_page_of_its_section_once(texts: dict[str, str]) -> None:
    for id_, claim in claims().items():
        heading = f"\n### `{id_}`: {claim.verdict}{claim.scope}\n"
        inside = [name for name, text in texts.items() for _ in range(text.count(heading))]
        assert inside == [f"{pages.FOLDER}/{pages.sections()[pages.section_of(id_)]['page']}"]
    assert statement_of("tab.truth") is None
    assert pages.section_of("tab.truth") == "A"


def test_the_errata_number_every_error_once_and_the_five_come_first(texts: dict[str, str]) -> None:
    text = texts["ERRATA.md"]
    anchors = re.findall(r'<a id="(E\d+)"></a>', text)
    assert sorted(anchors) == sorted(pages.numbers().values())
    # a number, once printed, is never given to another erratum: without gaps, each once
    assert {int(number[1:]) for number in anchors} == set(range(1, len(anchors) + 1))
    first = re.findall(r"\n\d\. \*\*.*", text[text.index("## Most important") : text.index('"E1"')])
    # and the first of them names E7 beside Theorem 11
    assert [row.count("](#E") for row in first] == [3 + 1, 1, 3, 1, 4]
    assert text.index("\n### E7. Assumption 5") < text.index("\n### E25.") < text.index("## Minor")
    assert errors()["exp.jacobian-condition"]["severity"] == "theorem"
    assert all(row["step"] for row in errors().values() if row["severity"] != "cosmetic")


def test_every_erratum_has_a_reading_and_says_how_far_it_is_proved(texts: dict[str, str]) -> None:
    for id_, number in pages.numbers().items():
        text = texts["ERRATA.md"].partition(f'<a id="{number}"></a>')[2].partition("<sub>")[0]
        assert "As it may have been meant:" in text, id_
        assert bool(re.search("not proved", text, re.IGNORECASE)) == bool(claims()[id_].corrected)
    readings = [row["reading"] for row in errors().values() if not row["reading"]]
    assert len(readings) == 1  # of E22, which has no other reading


def test_evidence_is_counted_once_for_each_claim(rows: pd.DataFrame, texts: dict[str, str]) -> None:
    numbers = re.findall(r"\n\| [a-z +,]+ \| .*?((?: \| \d+){4}) \|", texts["claims/README.md"])
    columns = [[int(cell) for cell in cells.split("|")[1:]] for cells in numbers]
    ours = sum(rows["id"].str.startswith(OURS))
    wrong = sum(bool(claim.corrected) for claim in claims().values())
    totals = [wrong, len(rows) - ours - wrong, wrong, ours]
    assert [sum(column) for column in zip(*columns, strict=True)] == totals


def test_a_claim_stands_under_the_number_of_its_statement(texts: dict[str, str]) -> None:
    chapters = re.split(r"\n## ", texts["claims/section-6.md"])
    (lemma,) = [text for text in chapters if text.startswith("Lemma 8 (`lem:BE_PL`)\n")]
    assert "### `lem:BE_PL`: holds" in lemma
    assert lemma.count("### ") == 1
    (theorem,) = [text for text in chapters if text.startswith("Theorem 12 ")]
    assert "\n  > first  \n  > second\n" in theorem
    assert "[certificate](../../../proofs_checks/certificates/certificates.lisp)" in theorem


def tokens(text: str) -> list[Token]:
    """As a CommonMark renderer reads it, blocks and what is inside them."""
    return [t for block in MARKDOWN.parse(text) for t in (block, *(block.children or []))]


def faults(text: str) -> list[str]:
    """What a renderer makes of mathematics that is not code: emphasis, lists, quotations."""
    found, emphasis, last = [], 0, ""
    for token in tokens(text):
        emphasis += token.nesting * token.type.startswith("em_")
        is_item = last == "list_item_open" and token.type == "paragraph_open"
        last = "item" if is_item else token.type if token.type != "inline" else last
        lost = {
            "text": r".*[_^|*\\" + "=<>" * bool(emphasis) + rf"]|.*\b(?:{GREEK})\b",
            "inline": r"(?!\*+[A-Za-z]|\[|<a |[A-Z][a-z]|A [a-z])" if last == "item" else "(?!)",
            "blockquote_open": "" if token.level == 0 else "(?!)",
        }
        if re.match(lost.get(token.type, "(?!)"), token.content):
            found.append(f"{token.type}: {token.content}")
    return found


def test_no_mathematics_is_lost_where_the_pages_are_rendered() -> None:
    assert [(path.name, x) for path in WRITTEN for x in faults(path.read_text("utf-8"))] == []
    control = [
        "Q* <= 1, pi* = 1",
        "for beta > 1/2",
        "(the sum\n- 1)^2).",
        "so f is\n> 0 there",
        "*x = y* here",
    ]
    for lost in [*control, "V_{Q*}", "|(P - E)'u| >= |u|_1", "- 2 (p - q)", r"the norm \| Q \|"]:
        assert faults(lost), lost


def test_the_formulas_of_the_chain_and_of_the_claims_are_latex() -> None:
    pattern, parser = r"\$`([^`]*)`\$|```math\n(.*?)```", MathTextParser("agg")
    found = (re.findall(pattern, path.read_text("utf-8"), re.DOTALL) for path in WRITTEN)
    formulas = {"".join(x) for xs in found for x in xs}
    assert len(formulas) > 1500
    for formula in formulas:
        assert "\\" not in convert(formula), formula  # the site knows all of its commands
        parser.parse(f"${' '.join(formula.split())}$")
    with pytest.raises(ValueError, match="Unknown symbol"):
        parser.parse(r"$\notthere$")


def test_formulas_are_set_and_codes_become_words() -> None:
    assert marked(r"$\zeta$ in $Q$, of Lemma sharingsol") == r"$`\zeta`$ in $`Q`$, of Lemma 23"
    assert marked("no formula, and `code`") == "no formula, and `code`"
    assert evidence("not refuted", "200") == "not refuted on 200 random instances"
    assert "ratio of the two sides was 1.01" in evidence("not refuted, tightness 1.01", "40")
    assert evidence("proof: some constants not known to be tight", "1").endswith("to be tight")


def test_the_index_names_the_paper_and_counts(texts: dict[str, str], rows: pd.DataFrame) -> None:
    index = texts["claims/README.md"]
    assert TITLE in index
    assert SOURCE_SHA256 in index
    table = re.findall(r"\n\| \[(?:Section|Appendix|Not)[^|]*((?:\|[ \d]*){8})\|", index)
    counts = [int(cells.split("|")[5].strip() or 0) for cells in table]
    assert sum(counts) == sum(rows["verdict"] == "fails")
    wrong = [c.error for c in claims().values() if c.verdict == "fails"]
    assert not [c.id for c in claims().values() if c.verdict == "fails" and c.inferred]
    assert f"{len(wrong)} printed statements fail, by {len(set(wrong))} independent" in index


def test_what_is_not_printed_is_no_error_of_the_paper(texts: dict[str, str]) -> None:
    apart = {id_ for id_ in errors() if claims()[id_].inferred}
    assert {UNPRINTED, "exp.jacobian-condition"} < apart
    for id_, number in pages.numbers().items():
        text = texts["ERRATA.md"].partition(f'<a id="{number}"></a>')[2].partition("<sub>")[0]
        says_so = re.search(r"Not met|Not printed|Not a claim|Our own", text)
        assert bool(says_so) == (id_ in apart), id_


EMPIRICAL = {  # what the paper concludes from its tables, or what we compare with them
    *("text.bc-consistently-better", "text.who-is-better-where", "text.below-the-bound"),
    *("text.who-is-better-where.because", "app.extrapolation", "text.why-oracles-lose"),
    "abstract.outperforms",
}


def test_an_error_in_a_conclusion_from_data_is_not_minor(texts: dict[str, str]) -> None:
    assert {id_ for id_, c in claims().items() if c.severity == "conclusion"} == EMPIRICAL
    listed, _, minor = texts["ERRATA.md"].partition("\n## Minor\n")
    for id_ in EMPIRICAL & set(errors()):
        assert f'<a id="{pages.numbers()[id_]}"></a>' in listed
    assert f'<a id="{pages.numbers()["text.action-zero"]}"></a>' in minor  # the control
    entry = texts["claims/section-1.md"].partition("### `abstract.outperforms`")[2]
    assert "- **Severity:** bears on a conclusion that the paper draws from its data." in entry


def test_an_imprecise_sentence_about_other_work_does_not_fail(texts: dict[str, str]) -> None:
    others = {"related.polyhedral", "related.linear-exception", "related.necessitates-anchor"}
    assert {id_ for id_, c in claims().items() if c.verdict == "imprecise"} == others
    for id_ in others:
        assert f"### `{id_}`: imprecise\n" in texts["claims/section-2.md"]
        text = texts["ERRATA.md"].partition(f'<a id="{pages.numbers()[id_]}"></a>')[2]
        assert "Imprecise sentence about other work." in text.partition("<sub>")[0]


def test_what_holds_under_assumption_5_names_the_networks_that_violate_it(
    texts: dict[str, str],
) -> None:
    for id_, page in (("thm:bothPL", "section-6.md"), ("lem:BE_PL", "section-6.md")):
        entry = texts[f"claims/{page}"].partition(f"### `{id_}`: holds\n")[2].partition("\n#")[0]
        assert re.search(
            r"no network that the paper prints satisfies for any \$`K`\$ .*\[E7\]", entry
        )
    entry = texts["claims/section-4.md"].partition("### `thm:algoEQ`")[2].partition("\n#")[0]
    assert "no network" not in entry  # the control
    first = texts["ERRATA.md"].partition("## Most important")[2].partition("\n2. ")[0]
    assert re.search(r"Theorem 11 holds .* no network .*\[E7\]", first)


def test_the_pages_are_made_of_the_table_as_it_is_read_again() -> None:
    written = io.StringIO()
    ledger.frame([decide(claims()[REFUTED], 5)]).to_csv(written, index=False)
    written.seek(0)
    texts = pages.pages(pd.read_csv(written, dtype=str, keep_default_na=False))
    names = {"README.md", "appendix-c.md", "not-examined.md"}
    assert set(texts) == {pages.ERRATA, *(f"{pages.FOLDER}/{name}" for name in names)}
    for page in (f"{pages.FOLDER}/appendix-c.md", pages.ERRATA):
        assert texts[page].count("\n  > ") == len(claims()[REFUTED].text)


def test_what_rests_on_a_false_statement_says_so() -> None:
    page = (GENERATED / pages.FOLDER / "README.md").read_text("utf-8")
    page = re.sub(r"\[(\w+ \d+)\]\(section-6.md#[a-z]+-\d+\)", r"\1", page)
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
    assert facts["verdict"].startswith("fails; by certificate")
    assert "is missed by" in facts["at the counterexample"]
    assert facts["control"].startswith(f"{claim.broken}: rejected, ")
    assert facts["write instead"] == claim.correction


# --- the table
LIPS = ("hessian-of-V", "NLL-bound", "L-theta", "L-zeta")
DIGEST = "8546dbb95f4456f2"


def test_the_table_is_the_one_that_was_compared_with_the_paper() -> None:
    """LaTeX's rules gave the same numbers from the source with SOURCE_SHA256 (release 0.2.0)."""
    lines = [f"{s.label}|{s.kind}|{s.number}|{s.section}" for s in numbering.statements()]
    text = "\n".join([numbering.TITLE, numbering.AUTHORS, numbering.SOURCE_SHA256, *lines])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == DIGEST


def test_a_claim_is_about_one_statement_at_most() -> None:
    for id_ in listed():
        assert sum(statement.has(id_) for statement in numbering.statements()) <= 1, id_
    labels = {statement.label for statement in numbering.statements()}
    for statement in numbering.statements():
        for claim in set(statement.claims) - labels:
            assert any(statement.has(id_) for id_ in listed()), claim


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("by Lemma sharingsol, and", "by Lemma 23, and"),
        ("Assumption nonSingularJac (ii)", "Assumption 5 (ii)"),
        ("Theorem MagnacThesmar", "Lemma 1"),
        ("Lemma occp=naiveBE", "Lemma 19"),
        ("Assumptions realizability and nonSingularJac.", "Assumptions 4 and 5."),
        ("Lemma sharingsolution, Equation BE_PL", "Lemma sharingsolution, Equation BE_PL"),
    ],
)
def test_labels_in_a_sentence_become_numbers(text: str, printed: str) -> None:
    assert numbering.as_printed(text) == printed


# --- what a reader types
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Lemma 8", ["lem:BE_PL"]),
        ("lemma 8", ["lem:BE_PL"]),
        ("lem:BE_PL", ["lem:BE_PL"]),
        ("Lemma 9", ["eq:softmax-lower-bound", "eq:KL-chi-square", "lem:NLL_PL"]),
        ("lem:OurBiconj.a", ["lem:OurBiconj.a"]),
        ("Remark 1", ["rem:sub-gaussian-features"]),
        ("lem:lipsSmooth", [f"lem:lipsSmooth.{x}" for x in LIPS]),
        ("lem:none", ["lem:none"]),
        ("", [""]),
    ],
)
def test_a_number_names_all_claims_of_its_statement(text: str, ids: list[str]) -> None:
    assert numbering.ids_of(text, listed()) == ids


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Lemma 11", "those called Lemma are 1, 2, 4"),
        ("Assumption 0", "those called Assumption are 1, 2, 3, 4, 5, 6, 7"),
        ("Assumption 1", "no claim is about it"),
    ],
)
def test_a_number_that_does_not_exist_is_refused_with_what_does(text: str, hint: str) -> None:
    with pytest.raises(InputError, match=hint) as caught:
        numbering.ids_of(text, listed())
    assert caught.value.field == "statement"


def test_a_comma_in_a_field_makes_no_column() -> None:
    """A row with an unquoted comma has a field too many, and its texts stand in the wrong ones."""
    files = sorted(Path(numbering.__file__).parent.glob("*.csv"))
    assert len(files) > 5
    for path in files:
        rows = csv.DictReader(path.read_text("utf-8").splitlines())
        wrong = [row for row in rows if None in row or None in row.values()]
        assert wrong == [], path.name
