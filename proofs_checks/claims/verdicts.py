"""The words of verdicts on statements, each with its rule; `reproduce` has those on numbers.

A kind of verdict is an enum, so that a word which it has not is an error of types or of the import.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Word(StrEnum):
    """A verdict, which is text, and its `rule`: when it is given."""

    rule: str

    def __new__(cls, text: str, rule: str) -> Self:
        word = str.__new__(cls, text)
        word._value_, word.rule = text, rule
        return word


class Verdict(Word):
    """On a statement of the paper."""

    HOLDS = (
        "holds",
        "true as printed, on every instance tried, and by a derivation where one is named",
    )
    HOLDS_IF = "holds-if", "true under a condition that the paper does not state"
    VACUOUS = (
        "vacuous",
        "what it assumes fails on the data that its page names, so that it says nothing of them; "
        "true if corrected",
    )
    UNDECIDABLE = (
        "undecidable",
        "neither true nor false as printed, because a symbol is not defined; true under the named "
        "reading",
    )
    FAILS = "fails", "wrong as printed, by a counterexample that satisfies every stated assumption"
    MISPRINT = "misprint", "wrong as printed, with an evident hint"
    IMPRECISE = (
        "imprecise",
        "an imprecise sentence about other work, on which nothing in the paper rests; true in a "
        "narrower reading",
    )
    DOES_NOT_HOLD = (
        "does-not-hold",
        "not printed by the paper; examined by us, with a counterexample",
    )


UNREFUTED = (Verdict.HOLDS, Verdict.UNDECIDABLE)
REFUTED = (Verdict.FAILS, Verdict.DOES_NOT_HOLD)
CONDITIONAL = (Verdict.HOLDS_IF, Verdict.VACUOUS, Verdict.UNDECIDABLE)
