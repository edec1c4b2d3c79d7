"""The columns of Table 1, and the reasons behind measured ticks (`templates/tick_reasons.csv`).

A reason is keyed by (line, column, measured sign), since a reason for one direction is none for the
other. OF_OURS names those that say how this library does it and nothing about the method.
"""

from pathlib import Path

import pandas as pd

from reproduce.fits_author import EPOCHS

ONE_SHOT, FREE, GRADIENT = "One-shot Optimization", "Transition Estimation-Free", "Gradient-Based"
SCALE, BELLMAN = "Scalability", "Bellman Equation"
GLOBAL, RATE = "Global Optimality", "Statistical Complexity"
COLUMNS = (ONE_SHOT, FREE, GRADIENT, SCALE, BELLMAN, GLOBAL, RATE)
UNKNOWN = "not known"
LINEAR_SOLVES = "no loop inside a step: linear solves only"  # of every other one-shot method

_table = pd.read_csv(Path(__file__).parent / "templates" / "tick_reasons.csv")
_keys = list(zip(_table["line"], _table["column"], _table["measured"], strict=True))
_texts = [text.format(epochs=EPOCHS) for text in _table["reason"]]
REASONS: dict[tuple[str, str, str], str] = dict(zip(_keys, _texts, strict=True))
OF_OURS = {key for key, is_ours in zip(_keys, _table["is_ours"], strict=True) if is_ours == "yes"}


def reason(line: str, column: str, measured: str) -> str:
    """The reason of a measured tick, UNKNOWN where nobody has looked."""
    of_all = LINEAR_SOLVES if (column, measured) == (ONE_SHOT, "yes") else UNKNOWN
    return REASONS.get((line, column, measured), of_all)
