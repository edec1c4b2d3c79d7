"""Every page as a reader sees it: rendered by CommonMark, with `$...$` as mathematics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
FOLDERS = ("gladius", "proofs_checks", "paper_tables")
PAGES = [*ROOT.glob("*.md"), *(p for name in FOLDERS for p in (ROOT / name).rglob("*.md"))]
PAGES = sorted(path for path in PAGES if path.parent.name != "templates")
PLAIN = {"README.md", "EXHIBITS.md", "METHODS.md"}  # of sentences with at most WORDS words
WORDS = 25
MATHEMATICS = re.compile(r"\$\$?[^$\n]+\$\$?")
LABEL = re.compile(
    r"\b(lem|thm|prop|eq|def|ass|asmp|rem|cor|sec|tab|fig):\w|leak_free|author oracle"
)
STARTS = {"bullet_list_open", "ordered_list_open", "blockquote_open", "heading_open"}


def plain(inline: Token) -> str:
    """The text of a block, code and markup left out."""
    texts = {"text": lambda t: t.content, "softbreak": lambda t: " ", "code_inline": lambda t: "_"}
    return "".join(texts[t.type](t) for t in inline.children or () if t.type in texts)


def emphases(inline: Token) -> Iterator[str]:
    """The texts in italics or bold."""
    depth, text = 0, ""
    for token in inline.children or ():
        if token.type in ("em_open", "em_close", "strong_open", "strong_close"):
            depth += token.nesting
            if not depth:
                yield text
                text = ""
        elif depth and token.type == "text":
            text += token.content


def faults(path: Path, text: str) -> set[str]:
    """The rules that a page breaks."""
    tokens = MarkdownIt("commonmark").enable("table").parse(MATHEMATICS.sub("MATH", text))
    lines, found = text.splitlines(), set()
    for before, token in zip(tokens, tokens[1:], strict=False):
        is_after = token.type in STARTS and before.type == "paragraph_close" and not token.level
        previous = lines[token.map[0] - 1].strip() if is_after and token.map else ""
        if previous and not previous.endswith((":", "</a>")):
            found.add("a cut sentence")
    links = re.findall(r'(?:src|href)="([^"]+)"', text)
    for before, token in zip(tokens, tokens[1:], strict=False):
        if token.type != "inline":
            continue
        words = plain(token)
        if "\\n" in words:
            found.add("a literal line break")
        if any(re.search("[=<>^|]", inside) for inside in emphases(token)):
            found.add("emphasis that swallows mathematics")
        if LABEL.search(words) and before.type != "heading_open":
            found.add("a label")
        sentences = re.split(r"(?<=[.!?])\s+", words)
        if path.name in PLAIN and any(len(s.split()) > WORDS for s in sentences):
            found.add("a long sentence")
        links += [str(t.attrs["href"]) for t in token.children or () if t.type == "link_open"]
    for link in (link for link in links if "://" not in link):
        target, _, anchor = link.partition("#")
        page = path.parent / target if target else path
        body = text if page == path else page.read_text("utf-8") if page.is_file() else ""
        if not page.exists() or (anchor and f'id="{anchor}"' not in body):
            found.add("a broken link")
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_reads_as_it_was_meant(path: Path) -> None:
    assert faults(path, path.read_text("utf-8")) == set()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (r"Two lines:\\na second.", "a literal line break"),
        ("It is *Q - 1 = 0* and so on.", "emphasis that swallows mathematics"),
        ("The sum of two squares\n- 1)^2 is least.", "a cut sentence"),
        ("The sum of two squares\n> 0 there.", "a cut sentence"),
        ("See [the page](nowhere.md).", "a broken link"),
        ("See [the page](README.md#nowhere).", "a broken link"),
        ("By lem:BE_PL it holds.", "a label"),
        (f"One {'and one ' * 13}.", "a long sentence"),
    ],
)
def test_a_fault_is_found(text: str, fault: str) -> None:
    assert faults(ROOT / "README.md", text) == {fault}


def test_mathematics_code_and_lists_are_no_faults() -> None:
    text = "It is $a_i = *b* < c$ and `lem:BE_PL`:\n\n- one\n- *two*\n\n> three\n"
    assert faults(ROOT / "README.md", text) == set()
