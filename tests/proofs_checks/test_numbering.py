"""The numbers of the paper's statements: as LaTeX counts them, and how a claim is found by one."""

import hashlib
import re
from collections import Counter
from pathlib import Path

import pytest

from gladius.checks import InputError
from proofs_checks import numbering
from proofs_checks.claims import listed

SHARED = Path(__file__).parents[3] / "shared" / "paper"
SOURCES = sorted(SHARED.glob("*.txt"))


def counted(source: str) -> list[tuple[str, str, int, str]]:
    r"""(label, kind, number, section) of each statement in order, by the rules of LaTeX.

    A comment and what stands between \iffalse and \fi do not count; environments of
    \newtheorem with an option share the counter that it names; starred sections have no number;
    a label inside an equation is the equation's.
    """
    text = re.sub(r"(?<!\\)%.*", "", source)
    text = re.sub(r"\\iffalse.*?\\fi\b", "", text, flags=re.DOTALL)
    text = re.sub(r"\\begin\{(align|equation)\}.*?\\end\{\1\}", "", text, flags=re.DOTALL)
    declared = re.findall(r"\\newtheorem\{(\w+)\}(?:\[(\w+)\])?\{(\w+)\}", text)
    kinds = {name: (shared or name, kind) for name, shared, kind in declared}
    kinds["algorithm"] = ("algorithm", "Algorithm")
    count: Counter[str] = Counter()
    rows, place, letters = [], [0, 0], False
    events = r"\\begin\{(\w+)\}|\\(section|subsection)(?=[\[{])"
    for event in re.finditer(events, text):
        name = event[1] or event[2]
        if name == "appendices":
            place, letters = [0, 0], True
        elif name == "section":
            place = [place[0] + 1, 0]
        elif name == "subsection":
            place[1] += 1
        elif name in kinds:
            counter, kind = kinds[name]
            count[counter] += 1
            body = text[event.end() : text.index(f"\\end{{{name}}}", event.end())]
            label = re.search(r"\\label\{([^}]*)\}", body)
            section = "ABCDE"[place[0] - 1] if letters else str(place[0])
            section += f".{place[1]}" if place[1] else ""
            rows.append((label[1] if label else "", kind, count[counter], section))
    return rows


# --- the table
@pytest.mark.skipif(not SOURCES, reason="the paper's LaTeX source is not beside the project")
def test_the_numbers_are_those_that_latex_counts_in_the_source_examined() -> None:
    (path,) = SOURCES
    assert hashlib.sha256(path.read_bytes()).hexdigest() == numbering.SOURCE_SHA256
    text = path.read_text("utf-8")
    known = [(s.label, s.kind, s.number, s.section) for s in numbering.statements()]
    assert counted(text) == known
    assert numbering.TITLE in " ".join(text.replace("\\\\", "").split())
    for author in numbering.AUTHORS.replace(" and ", ", ").split(", "):
        assert f"\n{author}" in text


def test_counting_follows_latex() -> None:
    source = r"""
    \newtheorem{thm}{Theorem} \newtheorem{lem}[thm]{Lemma} \newtheorem{rem}{Remark}
    \section{One} % \begin{thm} not counted \end{thm}
    \begin{thm}\begin{align} x \label{eq:x} \end{align}\end{thm}
    \section*{No number} \subsection{Sub}
    \begin{lem}\label{lem:a}\end{lem} \iffalse \begin{lem}\end{lem} \fi
    \begin{appendices} \section{App} \begin{rem}\end{rem} \begin{lem}\label{lem:b}\end{lem}
    """
    assert counted(source) == [
        ("", "Theorem", 1, "1"),
        ("lem:a", "Lemma", 2, "1.1"),
        ("", "Remark", 1, "A"),
        ("lem:b", "Lemma", 3, "A"),
    ]


def test_known_numbers() -> None:
    numbers = {s.label: s.name for s in numbering.statements()}
    assert numbers["thm:MagnacThesmar"] == "Lemma 1"
    assert numbers["lem:BE_PL"] == "Lemma 8"
    assert numbers["thm:bothPL"] == "Theorem 11"
    assert numbers["prop:linConvergence"] == "Theorem 12"
    assert numbers["lem:EmpLipschitz"] == "Lemma 29"


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
        ("lem:none", ["lem:none"]),
        ("", [""]),
    ],
)
def test_a_number_names_all_claims_of_its_statement(text: str, ids: list[str]) -> None:
    assert numbering.chosen(text, listed()) == ids


def test_a_label_without_a_claim_of_its_name_means_all_about_it() -> None:
    ids = numbering.chosen("lem:lipsSmooth", listed())
    assert len(ids) == 4
    assert all(id_.startswith("lem:lipsSmooth.") for id_ in ids)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Lemma 11", "this number is Theorem 11"),
        ("Lemma 99", "no such statement; those called Lemma are 1, 2, 4"),
        ("Assumption 0", "those called Assumption are 1, 2, 3, 4, 5, 6, 7"),
        ("Assumption 1", "no claim is about it"),
    ],
)
def test_a_number_that_does_not_exist_is_refused_with_what_does(text: str, hint: str) -> None:
    with pytest.raises(InputError, match=hint) as caught:
        numbering.chosen(text, listed())
    assert caught.value.field == "statement"
