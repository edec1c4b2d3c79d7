"""The report page: what it opens with, its figures, its folds, and that it fetches nothing."""

import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from reproduce import __main__ as command
from reproduce import exhibits
from reproduce.drawing import notes
from reproduce.engine.output import MANIFESTS, read_manifest
from reproduce.pages import report
from reproduce.run import GENERATED


def faults(page: str) -> list[str]:
    """What is wrong with a page: figures without words, links to nowhere, escaped line breaks."""
    figures = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    described = re.compile(r'<img alt="[^"]{40,}".*\s<figcaption><b>Figure R\d+\.</b> [^<]{40,}')
    links = set(re.findall(r'href="#([^"]+)"', page)) - set(re.findall(r'id="([^"]+)"', page))
    return [
        *("caption" for figure in figures if not described.search(figure)),
        *("no figure" for _ in range(page.count("<img") - len(figures))),
        *sorted(links - {path.stem for path in (GENERATED / MANIFESTS).glob("*.json")}),
        *re.findall(r"\\n", page.partition('id="chain"')[0]),  # there it may be TeX
        *re.findall(r'<(?!a )[^>]*(?:src|href)="(?:https?:)?//', page),
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("report") / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exhibits, "of_kind", {"paper": ("table_3",), "own": ("stability",)}.get)
        result = CliRunner().invoke(command.app, ["report", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert result.output.split() == [str(out)]  # and no warning
    return out.read_text("utf-8")


def test_it_fetches_nothing_and_every_figure_and_link_is_complete(page: str) -> None:
    assert page.count("<figure") == page.count("<img") > 2
    assert faults(page) == []
    assert "Not drawn yet" not in page
    for name in ("table_3", "stability"):
        files = read_manifest(GENERATED, name)["files"]
        assert all(word in page for item in files.items() for word in item)
    broken = page.replace('id="scorecard"', "").replace("<figcaption>", "", 1)
    broken = '<img src="//a.b"> <a href="#nowhere">.\\nA' + broken
    assert len(faults(broken)) == 6


def test_it_opens_with_the_paper_and_at_most_180_words(page: str) -> None:
    opening = unescape(re.sub(r"<[^>]+>", " ", page.partition("<header>")[2].partition("<h2")[0]))
    assert 60 < len(opening.split()) <= 180
    assert all(x in opening for x in ("Enoch H. Kang", "arXiv:2502.14131", "licence MIT"))


def test_findings_are_whole_refuted_claims_first_and_every_figure_has_words() -> None:
    found = report.listed(
        '## 1. A\n\nB is 0.95. C. D? E.\n\n<img src="./a.png" width="4" alt="b">\n\n## 2. F\n\nG.'
    )
    assert [part["text"] for part in found] == ["<p>B is 0.95. C. D? E.</p>\n", "<p>G.</p>\n"]
    assert found[0]["pictures"] == ["a.png"]
    groups = report.ledger(GENERATED)
    assert [groups[severity][0]["verdict"] for severity in ("theorem", "")] == ["fails", "holds"]
    drawn = {path.name for path in GENERATED.glob("*.png")}
    assert drawn == set(pd.read_csv(notes.ALTS)["file"])


def test_a_figure_is_drawn_once_and_then_named_by_its_number() -> None:
    drawn = {name: {"caption": name} for name in ("a.png", "b.png")}
    figures = report.Figures()
    opening = list(figures.of(["b.png"], drawn))
    later = list(figures.of(["gone.png", "a.png", "b.png"], drawn))
    assert [(x["caption"], x["number"], x["is_first"]) for x in (*opening, *later)] == [
        *(("b.png", 1, True), ("a.png", 2, True), ("b.png", 1, False)),
    ]


def test_markdown_keeps_mathematics_and_lowers_headings() -> None:
    text = report.markdown("# Title\n\n$a_i * b_i$ and *this*\n\n| a |\n| --- |\n| <b> |\n", 2)
    assert '<h3 id="Title">Title</h3>' in text
    assert "<code>a_i * b_i</code> and <em>this</em>" in text
    assert '<div class="wide"><table>' in text
    assert report.plain(r"\frac{\beta_x}{2} \leq \mathrm{KL}(\hat\pi)") == "(β_x)/(2) ≤ KL(π-hat)"


def test_a_table_s_page_is_shown_without_its_frame_or_not_at_all(tmp_path: Path) -> None:
    described = report.exhibit_page("table_3", tmp_path)
    assert (described["files"], described["time"]) == ([], "not run")
    path = tmp_path / "toy.md"
    path.write_text("<h1>A &lt;b&gt;</h1>\n<table></table>\n<p>note</p>", "utf-8")
    made = report.made_table(path)
    assert (made["title"], made["is_long"]) == ("A &lt;b&gt;", False)
    assert made["body"] == "\n<table></table>\n<p>note</p>"
    assert "&lt;b&gt; c" in report.table(pd.DataFrame({"x": ["<b>\nc"]}))
