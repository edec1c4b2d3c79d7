"""Every claim of the paper is decided as recorded; what a claim and a result must consist of."""

import dataclasses
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest
from hypothesis import strategies as st
from typer.testing import CliRunner

import proofs_checks
from gladius.model.mdp import TabularMDP
from gladius.model.risk import Risk
from gladius.validate import InputError
from proofs_checks import __main__ as command
from proofs_checks.claims.claims import (
    OURS,
    UNREFUTED,
    CheckResult,
    Claim,
    assumed,
    claims,
    errors,
    find,
    listed,
    paragraphs,
    weakest,
)
from proofs_checks.claims.decide import NOT_TIGHT, SEARCHED, Decision, decide, decisions
from proofs_checks.ledger import ledger
from reproduce.run import GENERATED
from tests.proofs_checks.conftest import DRAWN

ADDED = (OURS, "errata.")  # ids of what stands after the given list
MAIN = "thm:mainopt"
SHARED = Path(__file__).parents[4] / "shared" / "paper" / "claims.csv"


def test_every_claim_has_a_check() -> None:
    assert set(claims()) == set(listed())
    assert sum(not id_.startswith(ADDED) for id_ in listed()) == 93 + 16 + 2 + 8 + 1


@pytest.mark.skipif(not SHARED.exists(), reason="the list of claims is not beside the project")
def test_the_given_claims_are_all_there() -> None:
    given = pd.read_csv(SHARED, dtype=str).set_index("id")["statement"].to_dict()
    assert given == {id_: listed()[id_] for id_ in given}


def test_every_error_is_weighed_and_no_other_claim() -> None:
    assert set(errors()) == {id_ for id_, claim in claims().items() if claim.verdict != "holds"}


def test_every_claim_says_how_it_is_decided(decided: dict[str, Decision]) -> None:
    for id_, decision in decided.items():
        assert decision.how
        assert bool(decision.how_corrected) == (claims()[id_].verdict not in UNREFUTED)
    hows = {id_: d.how_corrected or d.how for id_, d in decided.items()}
    derived = [how for how in hows.values() if how.startswith(("proof", "derivation"))]
    assert len(derived) >= 40
    searched = {id_: how for id_, how in hows.items() if not math.isnan(decided[id_].slack)}
    assert len(searched) >= 40
    for id_, how in searched.items():
        if how.startswith(SEARCHED):
            is_loose = decided[id_].slack > 1.1 or claims()[id_].unproved
            assert "tightness" in how
            assert ("not known" in how) == bool(is_loose)
        else:
            assert how.startswith(("proof", "derivation + step", "enumeration"))


def test_numbers_in_a_counterexample_are_computed() -> None:
    claim = toy(text=("{observed} and {bound:.1f}; {{0}}",))
    assert ledger.counterexample(claim, decide(claim, 5)) == "0.25 and 0.5; {0}"


@pytest.mark.parametrize("id_", claims())
def test_the_evidence_supports_the_recorded_verdict(id_: str, decided: dict[str, Decision]) -> None:
    """The negative control included: what is wrong with it is among the problems."""
    decision = decided[id_]
    assert decision.verdict == decision.recorded, decision.problem
    assert decision.problem == ""
    assert decision.instances > 0
    claim = claims()[id_]
    assert claim.correction != claim.statement


def test_a_claim_is_checked_in_one_call() -> None:
    instance = claims()["lem:lipsSmooth.hessian-of-V"].rejected_at()
    assert not proofs_checks.check("lem:lipsSmooth.hessian-of-V").holds
    assert proofs_checks.check("lem:lipsSmooth.hessian-of-V", instance, corrected=True).holds


def test_an_unknown_claim_is_an_error() -> None:
    with pytest.raises(InputError, match=r"^claim ="):
        proofs_checks.check("lem:none")
    holding = next(i for i, c in claims().items() if c.corrected is None)
    with pytest.raises(InputError):
        proofs_checks.check(holding, corrected=True)


# --- claims and results
def result(observed: Any, relation: Any, bound: Any, tolerance: float = 0.0) -> CheckResult:
    return CheckResult(observed, relation, bound, tolerance, "a test")


def square_is_positive(x: float) -> CheckResult:
    """x^2 >= |x| (false between 0 and 1).

    Where: here.

    Assumes: a number.

    Decided: by evaluation.
    """
    return result(x**2, ">=", abs(x))


def square_is_large(x: float) -> CheckResult:
    """x^2 >= |x| where |x| >= 1.

    Decided: by evaluation.
    """
    return result(x**2, ">=", abs(x)) if abs(x) >= 1 else result(1, "==", 1)


def toy(**changes: Any) -> Claim:
    evidence: dict[str, Any] = {
        "id": "toy",
        "verdict": "fails",
        "printed": square_is_positive,
        "instances": st.floats(-10, 10),
        "counterexample": lambda: 0.5,
        "text": ("{observed} < {bound}",),
        "corrected": square_is_large,
        "broken": "twice the bound",
        "rejected": lambda x: result(x**2, ">=", 2 * abs(x)),
        "rejected_at": lambda: 1.0,
    }
    return Claim(**(evidence | changes))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"verdict": "maybe"}, "verdict"),
        ({"inferred": "our own question"}, "verdict"),  # the paper cannot fail at what it omits
        ({"verdict": "does-not-hold"}, "verdict"),
        ({"verdict": "undecidable", "condition": "c is mu"}, "counterexample"),
        ({"corrected": None}, "corrected"),
        ({"counterexample": None}, "counterexample"),
        ({"verdict": "holds"}, "counterexample"),
        ({"verdict": "holds-if"}, "condition"),
        ({"condition": "x large"}, "condition"),
        ({"cost": 0}, "cost"),
        ({"text": ("1", "2", "3", "4")}, "text"),
        ({"printed": lambda x: result(1, "==", 1)}, "docstring"),
    ],
)
def test_incomplete_evidence_is_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        toy(**changes)
    assert field in caught.value.field


@pytest.mark.parametrize(
    ("observed", "holds"),
    [
        (result(1.0, "<=", 1.0), True),
        (result(1.1, "<=", 1.0), False),
        (result(1.1, "<=", 1.0, 0.2), True),
        (result(0.9, ">=", 1.0), False),
        (result(0.9, ">=", 1.0, 0.2), True),
        (result(1.1, "==", 1.0), False),
        (result(0.9, "==", 1.0), False),
        (result(0.9, "==", 1.0, 0.2), True),
        (result(1.5, "==", 1.0, 0.2), False),
        (result(1.5, "<=", 1.0, 0.2), False),
        (result(math.nan, "<=", 1.0, 0.2), False),
        (result(1.0, "==", math.nan, 0.2), False),
        (result(Fraction(1, 3), "==", Fraction(1, 3)), True),
        (result(Fraction(1, 3), "<=", Fraction(33, 100)), False),
    ],
)
def test_a_result_holds_where_its_relation_does(observed: CheckResult, holds: bool) -> None:
    assert observed.holds is holds


def test_slack_is_the_generous_over_the_tight_side() -> None:
    assert result(1.0, "<=", 4.0).slack == 4
    assert result(4.0, ">=", 1.0).slack == 4
    assert result(4.0, "<=", 1.0).slack == 0.25
    for none in (result(1.0, "==", 1.0), result(0.0, ">=", 0.0), result(math.inf, ">=", 1.0)):
        assert math.isnan(none.slack)


def test_the_worst_result_is_the_failing_or_the_tightest() -> None:
    tight, loose, failing = result(1, "<=", 2), result(1, "<=", 9), result(3, "<=", 2)
    assert weakest(loose, tight) is tight
    assert weakest(loose, failing, tight) is failing


@pytest.mark.parametrize(
    ("relation", "tolerance", "reason"), [("<", 0.0, "r"), ("<=", -1.0, "r"), ("<=", 0.0, "")]
)
def test_a_result_without_meaning_is_refused(relation: Any, tolerance: float, reason: str) -> None:
    with pytest.raises(InputError):
        CheckResult(1.0, relation, 1.0, tolerance, reason)


def test_assumptions_are_asserted_by_name() -> None:
    assumed(True, "beta < 1")
    with pytest.raises(AssertionError, match="beta < 1"):
        assumed(False, "beta < 1")


def test_a_docstring_is_read_by_paragraph() -> None:
    assert paragraphs(square_is_large, printed=False) == {
        "Statement": "x^2 >= |x| where |x| >= 1.",
        "Decided": "by evaluation.",
    }


# --- from evidence to a verdict
def test_sound_evidence_gives_the_recorded_verdict() -> None:
    decision = decide(toy(), 50)
    assert decision.as_recorded
    assert decision.verdict == "fails"
    assert decision.instances == 50
    assert (decision.result.observed, decision.result.bound) == (0.25, 0.5)
    assert decision.slack >= 1


def equals_itself(x: float) -> CheckResult:
    """x == x.

    Decided: by evaluation.
    """
    return result(x, "==", x)


TIGHT = (48, 85, 22, 59)


def far_from_tight(x: Sequence[int]) -> CheckResult:
    """1 + |x - TIGHT| >= 1.

    Decided: by evaluation.
    """
    return result(1 + sum(abs(i - j) for i, j in zip(x, TIGHT, strict=True)), ">=", 1)


def false(x: float) -> CheckResult:
    """x >= 1.

    Decided: not at all.
    """
    return result(x, ">=", 1)


HOLDS: dict[str, Any] = {"verdict": "holds", "counterexample": None, "corrected": None}
WEAK: dict[str, Any] = {"corrected": false, "rejected": lambda x: result(0, ">=", 1)}
WEAK |= {"rejected_at": lambda: 0.0, "instances": st.floats(1, 2)}


@pytest.mark.parametrize(
    ("changes", "verdict", "problem"),
    [
        ({"counterexample": lambda: 2.0}, "holds", "holds at the counterexample"),
        (HOLDS, "fails", r"at the instance -?0\.\d"),  # shrunk
        ({"rejected": square_is_large, "rejected_at": lambda: 2.0}, "fails", "is not rejected"),
        (WEAK, "fails", "sound check fails"),
        (HOLDS | {"instances": st.floats(1, 9), "adversary": lambda: 0.5}, "fails", "adversary"),
    ],
)
def test_faulty_evidence_is_found(changes: dict[str, Any], verdict: str, problem: str) -> None:
    decision = decide(toy(**changes), 200)
    assert decision.verdict == verdict
    assert re.search(problem, decision.problem)
    assert not decision.as_recorded


@pytest.mark.parametrize(
    ("changes", "drawn", "how"),
    [
        ({}, 20, "not refuted, tightness"),
        ({"corrected": equals_itself}, 20, "not refuted"),
        # all of these are tried, and that there are no others is not seen
        ({"instances": st.sampled_from(range(1, 21))}, 20, "not refuted, tightness"),
        ({"instances": st.sampled_from(range(1, 20))}, 19, "enumeration"),
    ],
)
def test_every_case_is_said_where_instances_ran_out(
    changes: dict[str, Any], drawn: int, how: str
) -> None:
    decision = decide(toy(**changes), 20)
    assert (decision.instances, decision.problem) == (drawn, "")
    assert decision.how_corrected.partition(":")[0].rstrip(" .e+0123456789") == how


def test_dear_claims_draw_fewer_instances() -> None:
    assert decide(toy(cost=10), 50).instances == 5
    assert decide(toy(cost=100), 50).instances == 1


# --- the ledger
REFUTED = "lem:lipsSmooth.hessian-of-V"


def test_the_committed_ledger_is_the_decided_one(decided: dict[str, Decision]) -> None:
    committed = pd.read_csv(GENERATED / "claims.csv", dtype=str, keep_default_na=False)
    assert list(committed["id"]) == list(listed())
    fresh = ledger.frame([decided[id_] for id_ in listed()])
    assert list(committed) == list(fresh)
    for column in ("id", "verdict", "corrected", "check"):
        assert list(committed[column]) == list(fresh[column])


def test_a_counterexample_has_the_numbers_of_the_committed_ledger(
    decided: dict[str, Decision],
) -> None:
    committed = pd.read_csv(GENERATED / "claims.csv", dtype=str).set_index("id")
    for id_ in (id_ for id_, claim in claims().items() if claim.counterexample):
        result = decided[id_].result
        written = committed.loc[id_, "observed"], committed.loc[id_, "bound"].split()[-1]
        # six digits are written, and rounding is within the claim's own tolerance
        for side, text in zip((result.observed, result.bound), written, strict=True):
            assert float(side) == pytest.approx(float(text), 1e-5, float(result.tolerance)), id_


def test_the_command_decides_one_claim() -> None:
    done = CliRunner().invoke(command.app, [REFUTED, "--examples", "5"])
    assert done.exit_code == 0, done.output
    assert "fails; by certificate, 5 instances" in " ".join(done.output.split())


def test_the_command_fails_and_names_the_claim_when_a_verdict_differs(
    monkeypatch: pytest.MonkeyPatch, decided: dict[str, Decision]
) -> None:
    wrong = dataclasses.replace(decided[REFUTED], verdict="holds", problem="at the instance 17")
    monkeypatch.setattr("proofs_checks.claims.decide.decisions", lambda *_: iter([wrong]))
    done = CliRunner().invoke(command.app, [REFUTED])
    assert done.exit_code == 1
    assert "recorded fails, found holds" in done.output
    assert "at the instance 17" in done.output


def test_the_instances_do_not_hang_on_the_modules_that_are_loaded(
    decided: dict[str, Decision],
) -> None:
    """Here this file's, the command's and pytest's; `decided` was in other processes."""
    again = next(decisions([MAIN], DRAWN))
    assert (again.slack, again.result) == (decided[MAIN].slack, decided[MAIN].result)


@pytest.mark.parametrize(
    ("text", "hint"), [("lem:none", "lem:none"), ("Lemma 11", "those called Lemma are")]
)
def test_an_unknown_claim_is_refused(text: str, hint: str) -> None:
    done = CliRunner().invoke(command.app, [text])
    assert done.exit_code == 2
    assert hint in done.output


def test_joblib_runs_after_claims_are_decided() -> None:
    """Both take the process's one reusable executor, which joblib needs as its own kind."""
    next(decisions([REFUTED], 5, 2))
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(x) for x in (-1, -2)) == [1, 2]


def test_a_search_comes_closer_than_draws() -> None:
    """To the one of 10^8 instances where the statement is tight, to which steps lead."""
    numbers = st.lists(st.integers(0, 99), min_size=4, max_size=4)
    control = {"rejected": lambda x: result(0, ">=", 1), "rejected_at": lambda: TIGHT}
    assert decide(toy(corrected=far_from_tight, instances=numbers, **control), 300).slack == 1


FAULTS = {  # wrong constants that no instance noticed before there was an adversary for them
    "lem:anchor_overlap_logit": {"power": 0.95},
    "lem:erm_ddc_quant_identification": {"share": 0.5},
    "prop:linConvergence.population-rate": {"share": 0.1},
    "prop:linConvergence.optimisation-rate": {"share": 0.01},
}


@pytest.mark.parametrize("id_", FAULTS)
def test_a_planted_constant_is_rejected_at_the_adversary(id_: str) -> None:
    claim: Any = find(id_)
    instance = claim.adversary()
    assert claim.surviving(instance).holds
    assert not claim.surviving(instance, **FAULTS[id_]).holds


SLACK = dict.fromkeys(["lem:EmpLipschitz", "lem:lipsSmooth.NLL-bound"], 1.01)
SLACK["lem:lipsSmooth.L-theta"] = 1.01
SLACK["lem:lipsSmooth.L-zeta"] = 100 / 60 + 1e-9  # its instance has 60 anchor rows of 100


@pytest.mark.parametrize("id_", SLACK)
def test_a_printed_constant_is_rejected_where_the_corrected_one_is_tight(id_: str) -> None:
    claim = find(id_)
    instance = (claim.adversary or claim.rejected_at)()
    assert claim.surviving(instance).slack <= SLACK[id_]
    assert not claim.printed(instance).holds


def test_a_claim_without_such_a_constant_is_not_marked(decided: dict[str, Decision]) -> None:
    for id_, decision in decided.items():
        is_marked = NOT_TIGHT in decision.how + decision.how_corrected
        is_loose = decision.slack > 1.1 and "tightness" in decision.how + decision.how_corrected
        assert is_marked == (is_loose or bool(claims()[id_].unproved)), id_


# --- faults of the library that a claim itself has to notice
def test_lemma_20_notices_an_occupancy_that_is_not_normalised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim, sound = find("lem:telescoping"), TabularMDP.discounted_occupancy
    assert claim.surviving(claim.rejected_at()).holds

    def visits(mdp: TabularMDP, policy: Any = None) -> Any:
        return sound(mdp, policy) / (1 - mdp.discount)

    monkeypatch.setattr(TabularMDP, "discounted_occupancy", visits)
    assert not claim.surviving(claim.rejected_at()).holds


def test_lemma_8_notices_a_bellman_risk_with_beta_for_its_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bellman = property(lambda risk: risk.td - risk.discount * risk.deviation)
    monkeypatch.setattr(Risk, "bellman", bellman)
    decision = decide(find("lem:BE_PL"), 50)
    assert decision.verdict == "fails"
