"""The words of verdicts on printed numbers and on targets of our own, each with its rule."""

from collections.abc import Iterable

from proofs_checks.claims.verdicts import Verdict, Word


class Comparison(Word):
    """On a printed number or an entry of Table 1: of a test, or why nothing is compared."""

    AGREES = (
        "agrees",
        "a test that [could have failed](#power) finds no significant difference, which is no "
        "proof of equality; or the entry is confirmed",
    )
    IN_PART = (
        "agrees in part",
        "in Table 1: one form of the method has the printed property, another does not",
    )
    DIFFERS = (
        "differs",
        "the test rejects equality, or a property of the method contradicts the entry",
    )
    UNCLEAR = (
        "unclear",
        "the test does not reject, and would pass numbers far from ours too; or our design cannot "
        "decide the entry",
    )
    LEVEL_OPEN = (
        "not identified",
        "the method does not identify the level of the reward (IQ-learn, BC)",
    )
    OTHER_VARIANT = (
        "not comparable",
        "our implementation is another variant of the method, or cannot handle this size",
    )
    SAME_DATA = (
        "same data",
        "one training of the author's code on the data of the public seed, which has no "
        "distribution",
    )
    GIVEN = "given", "an input, not an estimate"
    BLANK = "not printed", "the paper prints no number"
    ABSENT = "not run", "we computed none"
    NO_ROW = "no row", "the printed Table 1 has no such method"
    NOTHING = "-", "no test, since one of the two numbers is missing"


class OnTarget(Word):
    """On a target of our own."""

    MET = "met", "a test shows that the mean is inside its range"
    MISSED = "missed", "a test shows that the mean is outside its range"
    UNDECIDED = "undecided", "a test shows neither"


CANNOT_TELL = "cannot tell"  # what a reader sees for UNCLEAR
TESTED = (Comparison.AGREES, Comparison.DIFFERS, Comparison.UNCLEAR)  # the words of a test


def in_words(verdict: str) -> str:
    """What a reader sees for a verdict."""
    return CANNOT_TELL if verdict == Comparison.UNCLEAR else verdict


def vocabulary() -> list[tuple[str, str, str]]:
    """(about, verdict, rule) of all words; what they are about stands at the first of a kind."""
    decided = (Comparison.AGREES, Comparison.IN_PART, Comparison.DIFFERS, Comparison.UNCLEAR)
    kinds: dict[str, Iterable[Word]] = {
        "a printed number, or an entry of Table 1": decided,
        "not compared": [word for word in Comparison if word not in decided],
        "a target of our own": OnTarget,
        "a statement of the paper": Verdict,
    }
    return [
        (
            about * (i == 0),
            f"**{in_words(word)}**" + f" (`{word}` in the files)" * (in_words(word) != word),
            word.rule,
        )
        for about, words in kinds.items()
        for i, word in enumerate(words)
    ]
