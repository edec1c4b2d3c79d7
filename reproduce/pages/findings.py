"""The templates' environment: what a page may ask for, and how a README's findings are read.

A template prints fields of `facts`, and numbers by exhibit, row, column, protocol and statistic.
"""

import re
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from proofs_checks.numbering import PAPER
from reproduce.drawing.notes import alt
from reproduce.exhibits import table_4
from reproduce.pages import facts
from reproduce.pages.numbers import Numbers, printed, ratios, span
from reproduce.paper import origins, scorecard
from reproduce.paper.judge import number

FINDING = re.compile(  # number, heading, sentences, limitation, command; what stands below
    r"^\*\*(\d+)\. (.+?)\*\* (.+?)(?: \*(Limitation: .+?)\*(?: (`[^\n]+))?)?\n"
    r"(.*?)(?=^\*\*\d+\. |\Z)",
    re.DOTALL | re.MULTILINE,
)


def listed(sizes: Iterable[int]) -> str:
    """Numbers of trajectories in a sentence that names several."""
    return "; ".join(f"{n:,}" for n in sizes)


def environment(folder: Path) -> Environment:
    """Jinja with the templates of this package and the numbers of a folder."""
    numbers = Numbers(folder)
    loader = PackageLoader("reproduce", "templates")
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True)
    made.filters |= {"number": number, "span": span, "listed": listed}
    made.filters["thousands"] = "{:,.0f}".format
    made.globals |= {fact.__name__: cache(partial(fact, numbers)) for fact in facts.FACTS}
    made.globals |= {"printed": printed, "ratios": ratios, "span": span, "paper": PAPER, "alt": alt}
    names = ["lines", "line", "value", "with_error", "series", "claims"]
    names += ["agreeing", "agreed", "time", "verdict"]
    made.globals["scorecard"] = lambda: scorecard.group_counts(numbers.verdicts)
    made.globals |= {"shares": origins.shares, "brief": False}
    made.globals |= {"origins": origins.counts, "words": origins.WORDS, "stored": origins.stored}
    made.globals |= {"verdicts": lambda: numbers.verdicts, "experts": table_4.EXPERTS}
    made.globals["totals"] = lambda: scorecard.totals(numbers.verdicts)
    made.globals["accounts"] = lambda: scorecard.accounts(numbers.verdicts)
    made.globals["not_run"] = lambda: scorecard.not_run(numbers.verdicts)
    made.globals["trained_once"] = lambda: scorecard.trained_once(numbers.verdicts)
    made.globals |= {name: getattr(numbers, name) for name in names}
    return made
