"""Every claim of the paper: decided as recorded, its negative control rejected."""

from __future__ import annotations

from pathlib import Path

import pytest

import proofs_checks
from gladius.checks import InputError
from proofs_checks.claims import paragraphs
from proofs_checks.decide import Decision, control_problem
from proofs_checks.register import STATEMENTS, claims, listed

SHARED = Path(__file__).parents[3] / "shared" / "paper" / "claims.csv"
MOST_UNTESTED = 6


def test_every_claim_has_a_check() -> None:
    assert set(claims()) == set(listed())
    assert len(listed()) == 93
    assert sum(c.verdict == "untested" for c in claims().values()) <= MOST_UNTESTED


@pytest.mark.skipif(not SHARED.exists(), reason="the list of claims is not beside the project")
def test_the_list_of_claims_is_the_given_one() -> None:
    assert STATEMENTS.read_text("utf-8") == SHARED.read_text("utf-8")


@pytest.mark.parametrize("id_", claims())
def test_the_evidence_supports_the_recorded_verdict(id_: str, decided: dict[str, Decision]) -> None:
    one = decided[id_]
    assert one.verdict == one.recorded, one.problem
    assert one.problem == ""
    assert one.instances > 0


@pytest.mark.parametrize("id_", claims())
def test_the_negative_control_is_rejected(id_: str) -> None:
    assert control_problem(claims()[id_]) == []


@pytest.mark.parametrize("id_", [i for i, c in claims().items() if c.counterexample])
def test_the_printed_statement_fails_at_its_counterexample(id_: str) -> None:
    assert not proofs_checks.check(id_).holds
    claim = claims()[id_]
    assert claim.corrected is not None
    assert claim.correction != claim.statement


@pytest.mark.parametrize("id_", claims())
def test_the_docstring_says_what_is_checked(id_: str) -> None:
    told = paragraphs(claims()[id_].printed)
    assert set(told) == {"Statement", "Where", "Assumes", "Decided"}


def test_a_claim_is_checked_in_one_call() -> None:
    instance = claims()["lem:lipsSmooth.hessian-of-V"].control.make()
    assert not proofs_checks.check("lem:lipsSmooth.hessian-of-V").holds
    assert proofs_checks.check("lem:lipsSmooth.hessian-of-V", instance, corrected=True).holds


def test_an_unknown_claim_is_an_error() -> None:
    with pytest.raises(InputError) as caught:
        proofs_checks.check("lem:none")
    assert caught.value.field == "claim"
    holding = next(i for i, c in claims().items() if c.corrected is None)
    with pytest.raises(InputError):
        proofs_checks.check(holding, corrected=True)
