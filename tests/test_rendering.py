"""Every page as a reader sees it: rendered by CommonMark, with `$...$` as mathematics."""

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from jinja2 import Environment, nodes
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
README, GENERATED = ROOT / "README.md", ROOT / "paper_tables" / "generated"
PAGES = [
    p for name in ("gladius", "proofs_checks", "paper_tables") for p in ROOT.glob(f"{name}/**/*.md")
]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob(".github/*.md"),
    *(path for path in PAGES if path.parent.name != "templates"),
]
# Of a sentence, at most; a quotation counts as one. A cap of 25 cut arguments into remarks.
WORDS = 40
LABEL = r"\b(lem|thm|prop|eq|def|ass|asmp|rem|cor|sec|tab|fig):\w|leak_free|author oracle"
STARTS = ("bullet_list_open", "ordered_list_open", "blockquote_open", "heading_open")


def read(inline: Token) -> tuple[str, list[str]]:
    """The text of a block without code and markup, and what of it is in italics or bold."""
    words, inside, depth = "", list[str](), 0
    shown = {"softbreak": " ", "hardbreak": " ", "code_inline": "_"}
    for token in inline.children or ():
        depth += token.nesting * token.type.startswith(("em_", "strong_"))
        words += token.content if token.type == "text" else shown.get(token.type, "")
        words += ". " * (token.content == "<br>")
        is_code = token.type == "code_inline"  # in which nothing is lost
        inside += [token.content] * (depth > 0 and not is_code)
    return words, inside


def faults(path: Path, text: str) -> list[str]:
    """Every rule that a page breaks, with the place."""
    masked, lines = re.sub(r"\$\$?[^$\n]+\$\$?", "MATH", text), text.splitlines()
    found, links = list[str](), re.findall(r'(?:src|href)="([^"]+)"', text)
    for before, token in pairwise(MarkdownIt("commonmark").enable("table").parse(masked)):
        if token.type in STARTS and before.type == "paragraph_close" and not token.level:
            previous = lines[token.map[0] - 1].strip() if token.map else ""
            is_cut = previous and not previous.endswith((":", "</a>"))
            found += [f"cut sentence: {previous}"] * bool(is_cut)
        words, inside = read(token)
        links += [str(t.attrs["href"]) for t in token.children or () if t.type == "link_open"]
        found += [f"line break: {words}"] * ("\\n" in words)
        found += [f"emphasis: {x}" for x in inside if re.search("[=<>^|]", x)]
        found += [f"label: {words}"] * bool(before.tag[:1] != "h" and re.search(LABEL, words))
        sentences = re.split(r"(?<=[.!?])\s+", re.sub('"[^"]*"', "_", words))
        found += [f"long sentence: {x}" for x in sentences if len(x.split()) > WORDS]
    for target, _, anchor in (unquote(x).partition("#") for x in links if "://" not in x):
        page = path.parent / target if target else path
        body = text if page == path else page.read_text("utf-8") if anchor else ""
        if page.suffix == ".html":  # a host shows its source
            found.append(f"raw HTML: {target}")
        elif not page.exists() or (anchor and f'id="{anchor}"' not in body):
            found.append(f"broken link: {target}#{anchor}")
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_reads_as_it_was_meant(path: Path) -> None:
    assert faults(path, path.read_text("utf-8")) == []


FAULTS = {
    r"Two lines:\\na second.": "line break",
    "It is *Q - 1 = 0* and so on.": "emphasis",
    "The sum of two squares\n- 1)^2 is least.": "cut sentence",
    "The sum of two squares\n> 0 there.": "cut sentence",
    "See [the page](nowhere.md).": "broken link",
    "See [the page](README.md#nowhere).": "broken link",
    "By lem:BE_PL it holds.": "label",
    "See [the table](README.html).": "raw HTML",
    f"One {'and one ' * 20}.": "long sentence",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_found(text: str) -> None:
    assert [fault.partition(":")[0] for fault in faults(README, text)] == [FAULTS[text]]
    right = "It is $a_i = *b* < c$ and `lem:BE_PL`:\n\n- one\n- *two*\n\n> three\n"
    assert faults(README, right) == []


# --- sentences that say how they follow from the one before
JOINED = 0.25  # of a page's sentences, at least
CONNECTIVES = {"because", "so", "therefore", "although", "while", "whereas", "however", "but"}
CONNECTIVES |= {"since", "which", "thus", "hence"}
ARGUING = [README, ROOT / "RESPONSE.md"]
ARGUING += [GENERATED / f"{name}.md" for name in ("ANSWERS", "FINDINGS", "METHODS")]


def joined(text: str) -> float:
    """The share of the sentences with a connective, without tables, code and references."""
    text = text.partition("\n## References")[0]
    sentences = list[str]()
    for before, token in pairwise(MarkdownIt("commonmark").enable("table").parse(text)):
        is_prose = token.type == "inline" and before.type == "paragraph_open"
        parts = re.split(r"(?<=[.!?])\s+", read(token)[0]) if is_prose else []
        sentences += [part for part in parts if len(part.split()) > 1]
    words = (set(re.findall(r"[a-z]+", sentence.lower())) for sentence in sentences)
    return sum(bool(of & CONNECTIVES) for of in words) / len(sentences)


@pytest.mark.parametrize("path", ARGUING, ids=lambda path: path.name)
def test_a_quarter_of_the_sentences_say_how_they_follow(path: Path) -> None:
    assert joined(path.read_text("utf-8")) >= JOINED


def test_sentences_are_counted_and_not_cells_or_code() -> None:
    text = "# So it is\n\nIt is one, but small. It is two.\n\n| so it is |\n| --- |\n| but not |\n"
    assert joined(f"{text}\n    so = 1\n\n- It is three.\n- It is `but` four.") == 1 / 4


# --- templates print, and compute nothing
TEMPLATES = [
    p for p in sorted((ROOT / "reproduce" / "templates").glob("*.*")) if p.suffix != ".tex"
]
TAGS = 104  # of all of them; who raises it says why
# what a template may do to a field: write it
FILTERS = {
    "number",
    "numbers",
    "span",
    "listed",
    "rows",
    "links",
    "thousands",
    "format",
    "join",
    "trim",
}
FILTERS |= {"first", "last", "length", "default"}
READS = ("items", "values", "get")  # of a dictionary
SAME = ("eq", "ne", "in", "notin")
ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow)


def is_number(node: nodes.Node) -> bool:
    """Whether it is one, or the length of something."""
    is_constant = isinstance(node, nodes.Const) and isinstance(node.value, int | float)
    return is_constant or (isinstance(node, nodes.Filter) and node.name == "length")


def computed(source: str) -> list[str]:
    """What a template computes: it may print fields, loop, and choose by one that is true."""
    tree, found = Environment().parse(source), list[str]()
    for node in tree.find_all((nodes.Assign, nodes.AssignBlock)):
        try:
            node.node.as_const() if isinstance(node, nodes.Assign) else node.filter.as_const()
        except (nodes.Impossible, AttributeError):
            found.append(f"set, line {node.lineno}")
    for call in tree.find_all(nodes.Call):
        if not isinstance(call.node, nodes.Name) and getattr(call.node, "attr", "") not in READS:
            found.append(f"call, line {call.lineno}")
    for used in tree.find_all(nodes.Filter):
        found += [f"filter, line {used.lineno}"] * (used.name not in FILTERS)
    for chosen in tree.find_all((nodes.If, nodes.CondExpr, nodes.For)):
        decides = [chosen.test] if chosen.test else []
        parts = [part for test in decides for part in (test, *test.find_all(nodes.Expr))]
        found += [f"if, line {chosen.lineno}"] * any(map(is_number, parts))
    for compared in tree.find_all(nodes.Operand):
        found += [f"comparison, line {compared.lineno}"] * (compared.op not in SAME)
    return found + [f"arithmetic, line {x.lineno}" for x in tree.find_all(ARITHMETIC)]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_computes_nothing(path: Path) -> None:
    assert computed(path.read_text("utf-8")) == []


COMPUTING = {
    "{% set x = lines('a').value %}": "set",
    "{% set x %}{{ a }}{% endset %}": "set",
    "{% set x = namespace(a=[]) %}": "set",
    "{{ frame.query('a > 1') }}": "call",
    "{{ frame.value.max() }}": "call",
    "{{ x | sum }}": "filter",
    "{{ x | selectattr('a') }}": "filter",
    "{{ x | round(0, 'ceil') }}": "filter",
    "{% if x > y %}a{% endif %}": "comparison",
    "{{ 'a' if x == 3 }}": "if",
    "{% if x | length %}a{% endif %}": "if",
    "{% for x in y if x.n == 2 %}{% endfor %}": "if",
    "{{ 100 - x }}": "arithmetic",
    "{{ (x + y) | span }}": "arithmetic",
}


@pytest.mark.parametrize("source", COMPUTING)
def test_what_a_template_computes_is_found(source: str) -> None:
    assert {text.partition(",")[0] for text in computed(source)} == {COMPUTING[source]}
    printing = "{% set a = {'b': 'c'} %}{% with f = fact() %}{{ f.mean | number }}{% endwith %}"
    choosing = "{% for x in f.sizes if x.kind == 'a' %}{{ '; ' if not loop.last }}{% endfor %}"
    assert computed(printing + choosing) == []


def test_templates_have_few_tags() -> None:
    assert sum(path.read_text("utf-8").count("{%") for path in TEMPLATES) <= TAGS
