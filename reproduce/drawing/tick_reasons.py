"""The verdicts on Table 1's cells, and the reasons behind them (`templates/tick_reasons.csv`).

A form of a method is compared with the printed tick first; then the verdicts of its forms are
folded into one. A reason is keyed by (form, column, measured sign), since a reason for one sign
is none for the other. A sign decides something about the method, about ours alone (how this library
computes it), or nothing.

Verdicts on a cell: it `agrees` by every form that decides it, or `agrees in part`: by one of them
and not by another. It `differs` by a property of the method. It is `not comparable` where our
implementation has another sign than the method may have, or does not scale. `not printed` is a
blank rate, since the paper lists rates only for methods with global optimality. `unclear`: no form
decides it.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from reproduce.cells.fits_author import EPOCHS
from reproduce.paper.verdicts import Comparison

ONE_SHOT, FREE, GRADIENT = "One-shot Optimization", "Transition Estimation-Free", "Gradient-Based"
SCALE, BELLMAN = "Scalability", "Bellman Equation"
GLOBAL, RATE = "Global Optimality", "Statistical Complexity"
COLUMNS = (ONE_SHOT, FREE, GRADIENT, SCALE, BELLMAN, GLOBAL, RATE)
MARKS = {Comparison.DIFFERS: " #", Comparison.OTHER_VARIANT: " (#)"}
LINEAR = "conditional (Linear only)"  # a condition that the bus engine's reward meets
UNKNOWN = "not known"
TABLES = "our implementation needs a table, which is too large; the method may do without"

_table = pd.read_csv(Path(__file__).parents[1] / "templates" / "tick_reasons.csv")
_keys = list(zip(_table["line"], _table["column"], _table["measured"], strict=True))
_texts = [text.format(epochs=EPOCHS) for text in _table["reason"]]
REASONS: dict[tuple[str, str, str], str] = dict(zip(_keys, _texts, strict=True))
DECIDES: dict[tuple[str, str, str], str] = dict(zip(_keys, _table["decides"], strict=True))


def compare_tick(form: str, column: str, printed: str, sign: str) -> Comparison:
    """The verdict of one form on a printed tick; `sign` is yes, no or ? (not decided)."""
    if printed == Comparison.NO_ROW:
        return Comparison.NO_ROW
    if column == RATE and printed == "blank":
        return Comparison.BLANK
    decides = DECIDES.get((form, column, sign), "method")
    if sign == "?" or decides == "nothing":
        return Comparison.UNCLEAR
    if decides == "ours" or (column == SCALE and sign == "no"):
        return Comparison.OTHER_VARIANT
    if printed.startswith("conditional"):  # one world shows no more than that its condition does
        return Comparison.AGREES if printed == LINEAR and sign == "yes" else Comparison.UNCLEAR
    return Comparison.AGREES if (printed != "blank") == (sign == "yes") else Comparison.DIFFERS


def fold(words: Sequence[Comparison]) -> Comparison:
    """One verdict of those of all forms; a form that decides nothing does not count."""
    decided = set(words) - {Comparison.UNCLEAR}
    if Comparison.AGREES in decided:
        return Comparison.AGREES if len(decided) == 1 else Comparison.IN_PART
    order = (Comparison.DIFFERS, Comparison.OTHER_VARIANT, Comparison.BLANK, Comparison.NO_ROW)
    return next((word for word in order if word in decided), Comparison.UNCLEAR)


def reason(column: str, verdict: str, signs: Sequence[tuple[str, str]]) -> str:
    """Why, from (form, measured sign) of all forms; UNKNOWN where a difference has no reason."""
    found = [REASONS[key] for form, sign in signs if (key := (form, column, sign)) in REASONS]
    if not found and verdict == Comparison.OTHER_VARIANT and column == SCALE:
        return TABLES
    none = UNKNOWN if verdict in (Comparison.DIFFERS, Comparison.OTHER_VARIANT) else ""
    return "; ".join(dict.fromkeys(found)) or none
