"""The pages of the claims, the figure of the theorems, and what the command says of one claim."""

import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from proofs_checks import __main__ as command
from proofs_checks import graph, ledger, pages
from proofs_checks.answer import answer, compared
from proofs_checks.claims import CheckResult, claims, listed
from proofs_checks.decide import decide
from proofs_checks.numbering import SOURCE_SHA256, TITLE, statement_of

LINK = re.compile(r"(?<!\\)\[[^\[\]]*\]\(([^)]*)\)")


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """A ledger with what the claims record, and no evidence."""
    known = [claims()[id_] for id_ in listed()]
    table = {
        "id": [claim.id for claim in known],
        "verdict": [claim.verdict for claim in known],
        "corrected": [claim.correction for claim in known],
        "counterexample": ["first\nsecond" if claim.text else "" for claim in known],
        "how": ["certificate" if claim.text else "sampled" for claim in known],
    }
    return pd.DataFrame(table).reindex(columns=list(ledger.COLUMNS), fill_value="")


@pytest.fixture(scope="module")
def texts(rows: pd.DataFrame) -> dict[str, str]:
    return pages.pages(claims(), rows)


def test_the_committed_pages_and_figure_are_those_of_the_committed_ledger() -> None:
    path = ledger.GENERATED / "claims.csv"
    committed = pd.read_csv(path, dtype=str, keep_default_na=False)
    wanted = pages.pages(claims(), committed)
    folder = ledger.GENERATED / pages.FOLDER
    written = {path.name: path.read_text("utf-8") for path in folder.glob("*")}
    assert written == wanted, "run: python -m proofs_checks.pages"
    verdicts = dict(zip(committed["id"], committed["verdict"], strict=True))
    with Image.open(ledger.GENERATED / f"{graph.NAME}.png") as picture:
        shown = picture.text["Description"]
    assert shown == graph.described(pages._nodes(claims(), verdicts))


def test_every_claim_stands_on_the_page_of_its_section_once(texts: dict[str, str]) -> None:
    for id_, claim in claims().items():
        inside = [name for name, text in texts.items() if f"\n### {id_}: {claim.verdict}\n" in text]
        assert inside == [pages.file_of(pages.section_of(id_))]


def test_a_claim_stands_under_the_number_of_its_statement(texts: dict[str, str]) -> None:
    chapters = re.split(r"\n## ", texts["section-6.md"])
    (lemma,) = [text for text in chapters if text.startswith("Lemma 8 (`lem:BE_PL`)\n")]
    assert "### lem:BE_PL: holds" in lemma
    assert lemma.count("### ") == 1
    (theorem,) = [text for text in chapters if text.startswith("Theorem 12 ")]
    assert "\n  > first  \n  > second\n" in theorem
    assert "[certificate](../../../proofs_checks/certificates/certificates.lisp)" in theorem


def test_all_links_of_the_pages_lead_somewhere(texts: dict[str, str]) -> None:
    folder = ledger.GENERATED / pages.FOLDER
    written = {*texts, "../CLAIMS.md", "../ERRATA.md", "../theorems.png"}
    links = [(n, link) for n, t in texts.items() for link in LINK.findall(t)]
    assert len(links) > 2 * len(claims())
    for name, link in links:
        target, _, anchor = link.partition("#")
        assert target in written or (folder / target).resolve().exists(), (name, link)
        assert not anchor or f'<a id="{anchor}"></a>' in texts[target], (name, link)


def test_the_index_identifies_the_paper_and_counts_what_the_pages_have(
    texts: dict[str, str], rows: pd.DataFrame
) -> None:
    index = texts[pages.INDEX]
    assert TITLE in index
    assert SOURCE_SHA256 in index
    number = sum(rows["verdict"] == "fails")
    strip = [line.split("|") for line in index.splitlines() if line.startswith("| [")]
    strip = [cells for cells in strip if cells[1].strip().startswith("[") and "`" not in cells[1]]
    assert sum(int(cells[4].strip() or 0) for cells in strip) == number


@given(st.text(alphabet="ab *[]()</>|`", max_size=12))
def test_nothing_of_a_claim_is_read_as_markdown(text: str) -> None:
    escaped = pages._plain(text)
    assert re.sub(r"\\([*<\[|])", r"\1", escaped) == text
    assert not re.search(r"(?<!\\)([*\[|]|<[ab/])", escaped)


# --- the graph
def test_the_graph_names_statements_and_has_no_circle() -> None:
    labels = {s.label for s in graph.statements()}
    assert {label for pair in graph.uses() for label in pair} <= labels
    for label in labels - {""}:
        assert label not in graph.below(label)
    assert set(graph.PLACES) == graph.shown()
    for user, used in graph.edges():
        assert graph.PLACES[used][1] < graph.PLACES[user][1], "arrows point down"


def test_fewer_arrows_tell_the_same() -> None:
    def reached(label: str) -> set[str]:
        direct = {used for user, used in graph.edges() if user == label}
        return direct.union(*(reached(used) for used in direct))

    for goal in graph.GOALS:
        assert reached(goal) == graph.below(goal)


def test_an_error_goes_where_the_statement_is_used_and_nowhere_else() -> None:
    verdicts = dict.fromkeys(("lem:NLL_PL", "lem:zeta_empirical_pl"), "holds")
    verdicts["eq:KL-chi-square"] = "fails"
    known = graph.nodes(verdicts, {"eq:KL-chi-square": "constant"})
    assert (known["lem:NLL_PL"].verdict, known["lem:NLL_PL"].severity) == ("fails", "constant")
    assert known["thm:bothPL"].arriving == known["prop:linConvergence"].arriving == "constant"
    assert known["thm:bothPL"].severity == ""
    assert known["lem:zeta_empirical_pl"].arriving == known["lem:BE_PL"].arriving == ""
    ((node, goals),) = graph.errors(known)
    assert (node.statement.name, goals) == ("Lemma 9", list(graph.GOALS))
    cosmetic = graph.nodes(verdicts, {"eq:KL-chi-square": "cosmetic"})
    assert list(graph.errors(cosmetic)) == []
    assert cosmetic["lem:NLL_PL"].verdict == "misprint"


def test_the_figure_says_inside_what_it_shows(tmp_path: Path) -> None:
    known = graph.nodes({"lem:NLL_PL": "fails"}, {"lem:NLL_PL": "theorem"})
    graph.save(known, tmp_path)
    with Image.open(tmp_path / "theorems.png") as picture:
        assert picture.text["Description"] == graph.described(known)
    other = graph.nodes({"lem:NLL_PL": "holds"}, {})
    assert graph.described(other) != graph.described(known)


# --- one claim on the command line
def result(observed: float, relation: str, bound: float, tolerance: float = 1e-9) -> CheckResult:
    return CheckResult(observed, relation, bound, tolerance, "a test")  # type: ignore[arg-type]  # any relation, as a text


def test_sides_equal_to_the_tolerance_do_not_read_as_a_false_inequality() -> None:
    said = compared(result(0.24949781719683345, ">=", 0.24949781719683348))
    assert said == "observed 0.249498 and bound 0.249498 are equal to within 1e-09 (a test)"
    assert compared(result(2, ">=", 1)) == "observed 2 >= bound 1, by 1"
    missed = compared(result(1, ">=", 2))
    assert missed == "observed 1 >= bound 2 is missed by 1, tolerance 1e-09 (a test)"
    assert "exactly" in compared(result(1, "==", 1, 0.0))
    assert ledger.sides(result(0.13, ">=", 0.14, 0.1)) == "0.13 = 0.14"
    assert ledger.sides(result(0.13, ">=", 0.14)) == "0.13 >= 0.14"


@given(st.floats(-9, 9), st.sampled_from(["<=", ">=", "=="]), st.floats(-9, 9), st.floats(0, 9))
def test_what_is_said_agrees_with_the_result(
    observed: float, relation: str, bound: float, tolerance: float
) -> None:
    of = result(observed, relation, bound, tolerance)
    assert ("is missed" not in compared(of)) == of.holds


REFUTED = "lem:lipsSmooth.hessian-of-V"


def test_one_claim_is_answered_with_control_and_counterexample() -> None:
    claim = claims()[REFUTED]
    told = answer(claim, decide(claim, 5))
    assert told["claim"] == f"{REFUTED} (Lemma 30)"
    assert told["statement"] == claim.statement
    assert told["verdict"].startswith("fails, by certificate")
    assert "is missed by" in told["at the counterexample"]
    assert told["control"].startswith(f"{claim.broken}: rejected, ")
    assert told["counterexample"].count("\n") == claim.text.strip().count("\n")
    assert told["write instead"] == claim.correction


def test_the_pages_are_made_of_the_ledger_as_it_is_written(tmp_path: Path) -> None:
    ledger.write(claims(), [decide(claims()[REFUTED], 5)], 5, tmp_path)
    (tmp_path / pages.FOLDER).mkdir()
    (tmp_path / pages.FOLDER / "of-yesterday.md").write_text("old")
    index, page = sorted(pages.write(tmp_path))
    assert (index.name, page.name) == ("README.md", "appendix-c.md")
    assert {path.name for path in page.parent.iterdir()} == {index.name, page.name}
    assert (tmp_path / "theorems.pdf").stat().st_size > 0
    text = page.read_text("utf-8")
    lines = claims()[REFUTED].text.strip().count("\n") + 1
    assert text.count("\n  > ") == lines
    assert "{" not in text.split("**Counterexample:**")[1].split("**Write instead:**")[0]
    assert "## Lemma 30 (`lem:lipsSmooth`)" in text
    assert "**As printed**, Lemma 30 (" in (tmp_path / "ERRATA.md").read_text("utf-8")


def test_the_command_takes_a_number_and_refuses_one_that_is_none(tmp_path: Path) -> None:
    options = ["--examples", "5", "--build", str(tmp_path)]
    done = CliRunner().invoke(command.app, ["Lemma 8", *options])
    assert done.exit_code == 0, done.output
    assert "lem:BE_PL (Lemma 8)" in done.output
    refused = CliRunner().invoke(command.app, ["Lemma 11", *options])
    assert refused.exit_code == 2
    assert "this number is Theorem 11" in refused.output


def test_claims_without_a_number_have_a_section_too() -> None:
    assert {pages.section_of(id_) for id_ in listed()} <= set(pages.TITLES)
    assert statement_of("tab.truth") is None
    assert pages.section_of("tab.truth") == "A"
    assert pages.section_of("corrected.alpha") == "ours"
