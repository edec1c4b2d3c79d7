"""Names and words that a reader has to decode stay out of the sources and the generated pages."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("gladius", "proofs_checks", "reproduce")
# fillers: a variable is a noun of the field (residual, visits, policy, batch)
NAMES = {
    *("told", "known", "place", "places", "part", "parts", "left", "kept", "shown", "now", "moved"),
    *("law", "laws", "going", "bend", "luck", "begun", "began", "judged", "settled", "goes_on"),
}
# words with a plainer equivalent; see the field's own in each package's documents
WORDS = re.compile(
    r"\b(told|held against|kept|blow[ns]? up|blew up|of which the|lest|the truth|luck|bears? out"
    r"|so computed|of least|ascent a descent)\b",
    re.IGNORECASE,
)


def bindings(source: str) -> set[str]:
    """Every name that a source binds: variables, parameters, functions, fields."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


def test_variables_are_nouns_of_the_field() -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    banned = {
        str(path.relative_to(ROOT)): bindings(path.read_text("utf-8")) & NAMES for path in files
    }
    assert {path: names for path, names in banned.items() if names} == {}
    assert bindings("def f(told):\n    for part in told: kept = part") & NAMES != set()


def test_pages_say_it_plainly() -> None:
    pages = [ROOT / "README.md", *(ROOT / "paper_tables" / "generated").rglob("*.md")]
    pages += [path for package in PACKAGES for path in (ROOT / package).rglob("*.md*")]
    found = {str(page.relative_to(ROOT)): WORDS.findall(page.read_text("utf-8")) for page in pages}
    assert {page: words for page, words in found.items() if words} == {}
    assert WORDS.findall("A method told the truth is held against the paper.") != []
