"""Which statement of the paper rests on which, and how far an error reaches.

uses.csv says what the paper's statements and proofs refer to, and where.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from proofs_checks.claims.numbering import Statement, records, statements
from proofs_checks.claims.verdicts import Verdict

GOALS = ("prop:linConvergence", "thm:distributional_q_bound")
GRAVE = ("", "constant", "theorem")  # what an error reaches, the gravest last
# the worst last
ORDER: tuple[str, ...] = (
    "",
    Verdict.HOLDS,
    Verdict.UNDECIDABLE,
    Verdict.MISPRINT,
    Verdict.IMPRECISE,
)
ORDER += (Verdict.HOLDS_IF, Verdict.VACUOUS, Verdict.FAILS)


@dataclass(frozen=True)
class Node:
    """A statement with the worst of what is found about it.

    Attributes:
        statement: the paper's.
        verdict: the worst of the claims about it that the paper prints, of which one with a
            cosmetic error counts as a misprint at most; empty without claims.
        severity: the gravest that an error in it reaches: "theorem", "constant" or nothing.
        arriving: the gravest of it and of all that it rests on.
    """

    statement: Statement
    verdict: str
    severity: str
    arriving: str


def direct(label: str) -> list[str]:
    """The labels of what a statement or its proof refers to."""
    return [row["uses"] for row in records("uses") if row["statement"] == label]


def uncited() -> list[str]:
    """What gives a statement its constants, though its proof does not cite it."""
    return [row["uses"] for row in records("uses") if row["where"].endswith("not cited")]


@cache
def below(label: str) -> frozenset[str]:
    """All that a statement rests on, itself left out."""
    return frozenset(direct(label)).union(*(below(used) for used in direct(label)))


def nodes(verdicts: Mapping[str, str], severities: Mapping[str, str]) -> dict[str, Node]:
    """Label to node, for every statement with a label.

    Args:
        verdicts: of the claims that the paper prints, by id.
        severities: by id, what an error reaches; cosmetic ones do not count.
    """
    by_label = {statement.label: statement for statement in statements() if statement.label}
    found: dict[str, tuple[str, str]] = {}
    for label, statement in by_label.items():
        verdict = severity = ""
        for id_ in filter(statement.has, verdicts):
            grave, worst = severities.get(id_, ""), verdicts[id_]
            if grave == "cosmetic":
                grave, worst = "", "misprint" if worst == "fails" else worst
            verdict = max(verdict, worst, key=ORDER.index)
            severity = max(severity, grave, key=GRAVE.index)
        found[label] = verdict, severity
    return {
        label: Node(
            statement,
            *found[label],
            max((found[other][1] for other in {label, *below(label)}), key=GRAVE.index),
        )
        for label, statement in by_label.items()
    }
