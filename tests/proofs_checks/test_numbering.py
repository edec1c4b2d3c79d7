"""The numbers of the paper's statements: as LaTeX counts them, and how a claim is found by one."""

import hashlib

import pytest

from gladius.checks import InputError
from proofs_checks import numbering
from proofs_checks.claims import listed

# --- the table
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
        ("lem:none", ["lem:none"]),
        ("", [""]),
    ],
)
def test_a_number_names_all_claims_of_its_statement(text: str, ids: list[str]) -> None:
    assert numbering.ids_of(text, listed()) == ids


def test_a_label_without_a_claim_of_its_name_means_all_about_it() -> None:
    ids = numbering.ids_of("lem:lipsSmooth", listed())
    assert len(ids) == 4
    assert all(id_.startswith("lem:lipsSmooth.") for id_ in ids)


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
