"""The ledger as files: claims.csv, a LaTeX table, a readable page and the list of errata."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pandas as pd

from proofs_checks.claims import (
    OURS,
    VERDICTS,
    CheckResult,
    Claim,
    Severity,
    Verdict,
    paragraphs,
)
from proofs_checks.decide import ROOT, Decision
from proofs_checks.derivations import derivation
from proofs_checks.numbering import statement_of

GENERATED = ROOT / "paper_tables" / "generated"
COLUMNS = (
    *("id", "verdict", "instances", "observed", "bound"),
    *("tightness", "counterexample", "corrected", "check"),
    *("printed", "severity", "error", "how", "how_corrected"),
    *("derivation", "mutants", "unnoticed", "unproved"),
)
MEANING: dict[Verdict, str] = {
    "holds": "true as printed, on every instance tried, and by a derivation where one is named",
    "holds-if": "true under a condition that the paper does not state",
    "fails": "wrong as printed, by a counterexample that satisfies every stated assumption",
    "misprint": "wrong as printed, with an evident hint",
}
REACH: dict[Severity, str] = {
    "theorem": "what a theorem concludes or assumes",
    "constant": "a constant or a rate alone",
    "cosmetic": "neither",
}
HEADINGS: dict[Verdict, str] = {
    "fails": "Errors",
    "holds-if": "Conditions that are needed and not stated",
    "misprint": "Misprints",
}
INFERRED = "Statements that the paper does not print, and that do not hold"


def number(value: float | Fraction) -> str:
    """Six significant digits; empty where the value means nothing."""
    return "" if math.isnan(value) else f"{float(value):.6g}"


def sides(result: CheckResult) -> str:
    """Observed and bound; what is equal to the tolerance is not written as an inequality."""
    relation = "=" if result.is_tie else result.relation
    return f"{number(result.observed)} {relation} {number(result.bound)}"


def counts(decisions: Sequence[Decision]) -> str:
    """How many claims have each verdict, in words; the corrected chain is counted apart."""
    paper = [decision.verdict for decision in decisions if not decision.id.startswith(OURS)]
    chain = [decision.verdict for decision in decisions if decision.id.startswith(OURS)]
    told = f"{len(paper)} claims: {verdicts(paper)}"
    return told + (f"; of the corrected chain {verdicts(chain)}" if chain else "")


def verdicts(given: Iterable[str]) -> str:
    """How many there are of each verdict, in words."""
    number_of = Counter(given)
    return ", ".join(f"{number_of[v]} {v}" for v in VERDICTS if number_of[v])


def summary(claims: Mapping[str, Claim], decisions: Sequence[Decision]) -> list[str]:
    """Printed and unprinted statements apart, errors by what they reach, independent ones counted.

    Statements that one slip explains count as one independent error.
    """
    lines = []
    for name, inferred in (("printed", False), ("not printed, examined by us", True)):
        chosen = [d.verdict for d in decisions if bool(claims[d.id].inferred) == inferred]
        lines.append(f"- {len(chosen)} statements {name}: {verdicts(chosen)}.")
    wrong = [claims[d.id] for d in decisions if d.verdict == "fails" and not claims[d.id].inferred]
    slips = len({claim.error for claim in wrong})
    lines.append(f"- {len(wrong)} printed statements fail, by {slips} independent errors.")
    for severity, meaning in REACH.items():
        refuted = [claims[d.id] for d in decisions if claims[d.id].severity == severity]
        printed = sum(not claim.inferred for claim in refuted)
        lines.append(f"- {printed} that do not hold as printed reach {meaning}.")
    return lines


def counterexample(claim: Claim, decision: Decision) -> str:
    """The lines by which a reader checks it, with the named numbers in their places."""
    shown = decision.shown
    sides = {"observed": float(shown.observed), "bound": float(shown.bound)}
    return claim.text.strip().format(**sides, **claim.numbers())


def where(claim: Claim) -> tuple[str, str]:
    """Path of the check within the project, and its name."""
    return f"{claim.printed.__module__.replace('.', '/')}.py", claim.printed.__name__


def numbered(claim: Claim) -> str:
    """The number of the statement that it is about, after a comma; else nothing."""
    statement = statement_of(claim.id)
    return f", {statement.name}" if statement else ""


def link(claim: Claim) -> str:
    """Markdown link to the check, from a page in GENERATED."""
    path, name = where(claim)
    return f"[`{name}`](../../{path})"


def frame(claims: Mapping[str, Claim], decisions: Sequence[Decision]) -> pd.DataFrame:
    """The ledger, a row for each decided claim, all cells strings; the columns are COLUMNS.

    `observed` and `bound` are those of the counterexample where there is one, else those of the
    tightest instance; `tightness` is the smallest ratio of the generous to the tight side over
    all instances of an inequality (1 is attained), empty where that means nothing.
    """
    rows = [
        (
            *(decision.id, decision.verdict, str(decision.instances)),
            number(decision.shown.observed),
            f"{decision.shown.relation} {number(decision.shown.bound)}",
            number(decision.slack),
            counterexample(claims[decision.id], decision),
            claims[decision.id].correction,
            "::".join(where(claims[decision.id])),
            *_evidence(claims[decision.id], decision),
        )
        for decision in decisions
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=str)


def _evidence(claim: Claim, decision: Decision) -> tuple[str, ...]:
    """Whether printed, what an error reaches and comes from, how decided, assumptions that a
    derivation needs, constants rejected."""
    proof = derivation(claim.id)
    return (
        "no" if claim.inferred else "yes",
        *(claim.severity, claim.error, decision.how, decision.how_corrected),
        f"{proof.joined} Uses: {'; '.join(proof.needed) or 'nothing'}." if proof else "",
        f"{decision.mutants.rejected} of {decision.mutants.number}",
        "; ".join(decision.mutants.unnoticed),
        claim.unproved,
    )


def latex(claims: Mapping[str, Claim], ledger: pd.DataFrame) -> str:
    """A long table: claim, verdict, numbers, and what to write instead."""
    table = pd.DataFrame(
        {
            "Claim": ledger["id"],
            "Statement": [claims[id_].statement for id_ in ledger["id"]],
            "Verdict": ledger["verdict"],
            "Observed, bound": ledger["observed"] + " " + ledger["bound"],
            "Write instead": ledger["corrected"],
        }
    )
    styled = table.style.hide(axis="index").format(_breakable, escape="latex")
    widths = ("3.3cm", "4.9cm", "1.3cm", "2.3cm", "4.9cm")
    text: str = styled.to_latex(
        environment="longtable",
        column_format="".join(f">{{\\raggedright\\arraybackslash}}p{{{w}}}" for w in widths),
        caption="Every checkable claim of the paper and its verdict.",
        label="tab:claims",
        hrules=True,
    )
    return "% needs array, booktabs and longtable\n" + text


def _breakable(text: object) -> str:
    """LaTeX may begin a new line within an id or a formula, behind a sign that joins two parts."""
    return re.sub(r"(\\_|[.:=)|/])(?=[A-Za-z])", r"\1\\allowbreak{}", str(text))


def page(claims: Mapping[str, Claim], decisions: Sequence[Decision], examples: int) -> str:
    """The readable page: what each verdict means, then every claim with its numbers."""
    lines = [
        "# The claims of the paper, decided",
        "",
        f"{counts(decisions)}. Written by "
        f"`python -m proofs_checks --examples {examples}`; what is wrong, and what to write "
        "instead, is in [ERRATA.md](ERRATA.md).",
        "",
        *(f"- **{verdict}**: {meaning}." for verdict, meaning in MEANING.items()),
        "",
        *summary(claims, decisions),
        "",
        "`observed` and `bound` stand for the counterexample where there is one, else for the "
        "tightest of the instances; `slack` is the smallest ratio of the generous to the tight "
        "side of an inequality (1 is attained). `decided by` is, for a refuted statement, what "
        "refutes it, and in parentheses how the statement to write instead is decided: `proof`, a "
        "derivation whose algebra is checked by SymPy; `adversary`, a search for the tightest "
        "instance, with its slack; `every case` or `sampled`. `constants` counts the changes by a "
        "tenth of a number in that statement's check that make it stronger, and how many of them "
        "an instance rejects. Every check also rejects a broken variant of "
        "its statement, named in the last column. Statements are as printed; one that the paper "
        "does not print, and that we examine all the same, is marked so.",
        "",
        "| claim | statement | verdict | severity | decided by | constants | instances | observed "
        "and bound | slack | check | rejects |",
        "|" + " --- |" * 11,
    ]
    for decision in decisions:
        claim, shown = claims[decision.id], decision.shown
        cells = (
            f"`{decision.id}`{numbered(claim)}",
            ("*(not printed)* " if claim.inferred else "") + claim.statement,
            decision.verdict,
            claim.severity,
            decision.how + (f" ({decision.how_corrected})" if decision.how_corrected else ""),
            f"{decision.mutants.rejected} of {decision.mutants.number}",
            str(decision.instances),
            sides(shown),
            "" if math.isnan(decision.slack) else f"{decision.slack:.3g}",
            link(claim),
            claim.broken,
        )
        escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
        lines.append("| " + " | ".join(escaped) + " |")
    return "\n".join(lines) + "\n"


def errata(claims: Mapping[str, Claim], decisions: Sequence[Decision]) -> str:
    """What the authors could act on: statement, counterexample, corrected statement, reason."""
    chapters: dict[str, list[Decision]] = {
        heading: [] for heading in (*HEADINGS.values(), INFERRED)
    }
    for decision in decisions:
        if decision.verdict in HEADINGS:
            inferred = claims[decision.id].inferred
            chapters[INFERRED if inferred else HEADINGS[decision.verdict]].append(decision)
    lines = [
        "# Errata",
        "",
        "Generated from the ledger by `python -m proofs_checks`. Every counterexample satisfies "
        "the stated assumptions, which is asserted in code where the statement makes assumptions "
        "on a model or a class, and is recomputed by the check it is linked to: "
        '`proofs_checks.check("<id>")` gives its numbers, `proofs_checks.check("<id>", '
        "corrected=True)` those of the statement to write instead. Claims not listed hold as "
        "printed: see [CLAIMS.md](CLAIMS.md).",
    ]
    for heading, chosen in chapters.items():
        if chosen:
            lines += ["", f"## {heading}"]
        for decision in chosen:
            lines += ["", *_erratum(claims[decision.id], decision)]
    return "\n".join(lines) + "\n"


def _erratum(claim: Claim, decision: Decision) -> list[str]:
    docstring = paragraphs(claim.printed)
    text = counterexample(claim, decision).splitlines()
    label = f"**As printed**{numbered(claim)} ({docstring['Where'].rstrip('.')})"
    if claim.inferred:
        label = f"**Statement examined** (not printed; {claim.inferred})"
    lines = [f"### {claim.id}", "", f"{label}: {claim.statement}"]
    if text:
        lines += ["", "**Counterexample.**", "", *(f"> {line}  " for line in text)]
    remarks = {
        "Condition" if claim.inferred else "Missing condition": claim.condition,
        "Say instead" if claim.inferred else "Write instead": claim.correction,
        "Severity": f"{claim.severity}; the slip: {claim.error}.",
        "Not proved": claim.unproved and f"{claim.unproved}.",
        "Why": f"{docstring['Decided']} Check: {link(claim)}.",
    }
    for name, remark in remarks.items():
        if remark:
            lines += ["", f"**{name}:** {remark}"]
    return lines


def write(
    claims: Mapping[str, Claim], decisions: Sequence[Decision], examples: int, out: Path = GENERATED
) -> list[Path]:
    """Write the four files; returns their paths."""
    out.mkdir(parents=True, exist_ok=True)
    ledger = frame(claims, decisions)
    files = {
        "claims.csv": ledger.to_csv(index=False, lineterminator="\n"),
        "claims.tex": latex(claims, ledger),
        "CLAIMS.md": page(claims, decisions, examples),
        "ERRATA.md": errata(claims, decisions),
    }
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in files]
