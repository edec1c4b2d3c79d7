"""The templates' environment: what a page may ask for, and how a README's findings are read.

A template prints fields of `facts`, and numbers by exhibit, row, column, protocol and statistic.
"""

import re
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from proofs_checks.numbering import PAPER
from reproduce.cells import public_fits
from reproduce.drawing.notes import alt
from reproduce.exhibits import table_4
from reproduce.pages import trainings
from reproduce.pages.numbers import Numbers, printed, ratios, span
from reproduce.paper import origins, scorecard
from reproduce.paper.judge import number

FINDING = re.compile(  # number, heading, sentences, limitation, command; what stands below
    r"^\*\*(\d+)\. (.+?)\*\* (.+?)(?: \*(Limitation: .+?)\*(?: (`[^\n]+))?)?\n"
    r"(.*?)(?=^\*\*\d+\. |\Z)",
    re.DOTALL | re.MULTILINE,
)


def environment(folder: Path) -> Environment:
    """Jinja with the templates of this package and the numbers of a folder."""
    numbers = Numbers(folder)
    loader = PackageLoader("reproduce", "templates")
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True)
    made.filters |= {"number": number, "two_figures": lambda x: float(f"{x:.2g}")}
    made.globals |= {"printed": printed, "ratios": ratios, "span": span, "paper": PAPER, "alt": alt}
    names = ["lines", "line", "value", "with_error", "series", "claims", "corrected"]
    names += ["agreeing", "agreed", "time", "verdict"]
    made.globals["scorecard"] = lambda: scorecard.group_counts(numbers.verdicts)
    made.globals |= {"shares": origins.shares, "brief": False, "step": public_fits.STEP}
    made.globals |= {"origins": origins.counts, "words": origins.WORDS, "stored": origins.stored}
    made.globals |= {"verdicts": lambda: numbers.verdicts, "experts": table_4.EXPERTS}
    made.globals["totals"] = lambda: scorecard.totals(numbers.verdicts)
    made.globals["trainings"] = lambda: trainings.sizes(folder)
    made.globals["accounts"] = lambda: scorecard.accounts(numbers.verdicts)
    made.globals["not_run"] = lambda: scorecard.not_run(numbers.verdicts)
    made.globals["trained_once"] = lambda: scorecard.trained_once(numbers.verdicts)
    made.globals |= {name: getattr(numbers, name) for name in names}
    return made
