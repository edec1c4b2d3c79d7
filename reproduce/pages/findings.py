"""The templates' environment: what a page may ask for, and how the page of the findings is read.

A template prints fields of `facts`, and numbers by exhibit, row, column, protocol and statistic.
"""

import re
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from proofs_checks.claims.numbering import PAPER
from reproduce.drawing.notes import alt
from reproduce.pages import facts
from reproduce.pages.numbers import Numbers, printed, span
from reproduce.paper import origins, scorecard
from reproduce.paper.judge import number
from reproduce.paper.verdicts import vocabulary

# number, heading, and what stands below it; the command in that
FINDING = re.compile(r"^## (\d+)\. (.+?)\n(.*?)(?=^## \d+\. |\Z)", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\*\*Run it\.\*\* (`[^`\n]+`)", re.MULTILINE)


# what a template may ask of `Numbers` itself, by a key: one number, or a count of verdicts
LOOKUPS = ("agreed", "agreeing", "value", "with_error")


def listed(sizes: Iterable[int]) -> str:
    """Numbers of trajectories in a sentence that names several."""
    return "; ".join(f"{n:,}" for n in sizes)


def rows(lines: Iterable[Iterable[str]]) -> str:
    """Rows of a Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def environment(folder: Path) -> Environment:
    """Jinja with the templates of this package and the numbers of a folder."""
    numbers = Numbers(folder)
    loader = PackageLoader("reproduce", "templates")
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True)
    made.filters |= {"number": number, "span": span, "listed": listed, "rows": rows}
    made.filters |= {"thousands": "{:,.0f}".format, "numbers": lambda x: ", ".join(map(number, x))}
    made.globals |= {fact.__name__: cache(partial(fact, numbers)) for fact in facts.FACTS}
    made.globals |= {name: getattr(numbers, name) for name in LOOKUPS}
    made.globals |= {"printed": printed, "paper": PAPER, "alt": lambda name: alt(folder / name)}
    made.globals |= {"shares": cache(origins.shares), "origins": cache(origins.counts)}
    made.globals |= {"words": origins.WORDS, "stored": origins.stored}
    made.globals["vocabulary"] = vocabulary
    for name in ("group_counts", "not_run", "totals", "trained_once"):
        of = getattr(scorecard, name)
        made.globals[name] = cache(lambda of=of: of(numbers.verdicts))
    return made
