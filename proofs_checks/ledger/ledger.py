"""The ledger as a table, of which its pages and errata are made, and what is said of one claim."""

import math
from collections.abc import Sequence
from fractions import Fraction

import pandas as pd

from proofs_checks.certificates import derivations, in_coq
from proofs_checks.claims.claims import CheckResult, Claim, find
from proofs_checks.claims.decide import Decision
from proofs_checks.claims.numbering import as_printed, statement_of


# --- numbers and words
def number(value: float | Fraction) -> str:
    """Six significant digits; empty where the value means nothing."""
    return "" if math.isnan(value) else f"{float(value):.6g}"


def compared(result: CheckResult) -> str:
    """The two sides in words.

    Equal to within the tolerance is not written as a relation. Of 0.24949781719683345 >=
    0.24949781719683348 a reader would think that it is false.
    """
    observed, bound = f"observed {number(result.observed)}", f"bound {number(result.bound)}"
    gap = abs(float(result.observed - result.bound))
    if result.is_tie:
        tolerance = f"to within {result.tolerance:.0e}" if result.tolerance else "exactly"
        return f"{observed} and {bound} are equal {tolerance} ({result.reason})"
    relation = f"{observed} {result.relation} {bound}"
    if result.holds:
        return f"{relation}, by {gap:.3g}"
    return f"{relation} is missed by {gap:.3g}, tolerance {result.tolerance:.0e} ({result.reason})"


def counterexample(claim: Claim, decision: Decision) -> str:
    """The lines by which a reader checks it, with the named numbers in their places."""
    result = decision.result
    sides = {"observed": float(result.observed), "bound": float(result.bound)}
    return "\n".join(claim.text).format(**sides)


def answer(claim: Claim, decision: Decision) -> dict[str, str]:
    """What the command says of one claim: verdict, the two sides, control and correction."""
    statement = statement_of(claim.id)
    control = claim.rejected(claim.rejected_at())
    is_refuted = claim.counterexample is not None
    facts = {
        "claim": claim.id + (f" ({statement.name})" if statement else ""),
        "statement": ("(not printed) " if claim.inferred else "") + claim.statement,
        "verdict": f"{decision.verdict}{claim.scope}; by {decision.how}, "
        f"{decision.instances} instances",
        f"at the {'counterexample' if is_refuted else 'tightest'}": compared(decision.result),
        "control": f"{claim.broken}: {'not ' * control.holds}rejected, {compared(control)}",
        "counterexample": counterexample(claim, decision),
        "condition": claim.condition,
        "write instead": claim.correction,
    }
    return {name: as_printed(text) for name, text in facts.items() if text}


# --- the table
def frame(decisions: Sequence[Decision]) -> pd.DataFrame:
    """The ledger, a row for each decided claim, with the columns of `row`; all cells strings."""
    return pd.DataFrame([row(find(decision.id), decision) for decision in decisions], dtype=str)


def row(claim: Claim, decision: Decision) -> dict[str, str]:
    """One claim of the ledger, column to cell.

    `observed` and `bound` are those of the counterexample where there is one, else those of the
    tightest instance. `tightness` is the smallest ratio of the generous to the tight side over all
    instances of an inequality (1 is attained), empty where that means nothing.
    """
    result, proof = decision.result, derivations().get(claim.id)
    steps = [f"{proof.joined} {proof.uses}"] if proof else []
    if claim.id in in_coq():
        steps.append(f"In Coq: {in_coq()[claim.id]}.")
    if claim.missing:
        steps.append(f"A proof lacks this step: {claim.missing}.")
    path = f"{claim.printed.__module__.replace('.', '/')}.py"
    return {
        "id": claim.id,
        "verdict": decision.verdict,
        "condition": claim.condition,
        "instances": str(decision.instances),
        "observed": number(result.observed),
        "bound": f"{result.relation} {number(result.bound)}",
        "tightness": number(decision.slack),
        "counterexample": counterexample(claim, decision),
        "corrected": claim.correction,
        "check": f"{path}::{claim.printed.__name__}",
        "printed": "no" if claim.inferred else "yes",
        "severity": claim.severity,
        "error": claim.error,
        "how": decision.how,
        "how_corrected": decision.how_corrected,
        "derivation": " ".join(steps),
        "unproved": claim.unproved,
    }
