"""What the command says of one claim."""

from proofs_checks import ledger
from proofs_checks.claims import CheckResult, Claim
from proofs_checks.decide import Decision
from proofs_checks.numbering import statement_of


def answer(claim: Claim, decision: Decision) -> dict[str, str]:
    """Statement, verdict, the two sides, control, counterexample and what to write instead."""
    statement = statement_of(claim.id)
    control = claim.rejected(claim.rejected_at())
    verdict = f"{decision.verdict}, by {decision.how}, {decision.instances} instances"
    refuted = claim.counterexample is not None
    told = {
        "claim": claim.id + (f" ({statement.name})" if statement else ""),
        "statement": ("(not printed) " if claim.inferred else "") + claim.statement,
        "verdict": verdict,
        "at the counterexample" if refuted else "at the tightest": compared(decision.shown),
        "control": f"{claim.broken}: {'not ' * control.holds}rejected, {compared(control)}",
        "counterexample": ledger.counterexample(claim, decision),
        "condition": claim.condition,
        "write instead": claim.correction,
    }
    return {name: text for name, text in told.items() if text}


def compared(result: CheckResult) -> str:
    """The two sides in words; equal to within the tolerance is said so, and not as a relation.

    Of 0.24949781719683345 >= 0.24949781719683348 a reader would think that it is false.
    """
    sides = f"observed {float(result.observed):.6g}", f"bound {float(result.bound):.6g}"
    gap = abs(float(result.observed - result.bound))
    if result.is_tie:
        to = f"to within {result.tolerance:.0e}" if result.tolerance else "exactly"
        return f"{' and '.join(sides)} are equal {to} ({result.reason})"
    relation = f"{sides[0]} {result.relation} {sides[1]}"
    if result.holds:
        return f"{relation}, by {gap:.3g}"
    missed = f"is missed by {gap:.3g}, tolerance {result.tolerance:.0e} ({result.reason})"
    return f"{relation} {missed}"
