"""The site: every page is there once, every link leads somewhere, examples become cells."""

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from reproduce.engine.provenance import ROOT
from reproduce.pages import report, site
from reproduce.run import GENERATED


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without what `tox -e docs` alone can make: a kernel's outputs and the API."""
    out = tmp_path_factory.mktemp("site")
    body = '<a href="claims.csv">numbers</a> <a href="ERRATA.md#E1">E1</a>'
    body += report.chain(GENERATED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "page", lambda folder: body)
        patch.setattr(site, "notebook", lambda text, file: report.markdown(text))
        patch.setattr(site, "interface", lambda folder: site.write(folder / "index.html", ""))
        site.build(out, GENERATED)
    return out


def dead(page: Path) -> list[str]:
    """Links of a page to nothing, and those whose target was dropped."""
    text = page.read_text("utf-8")
    found = [tag for tag in re.findall(r"<a\b[^>]*>", text) if not re.search(r" (href|id)=", tag)]
    found += [f"#{x}" for x in re.findall(r'href="#([^"]*)"', text) if f'id="{x}"' not in text]
    for _, target, anchor in site.LINK.findall(text):
        path = page.parent / unquote(target)
        is_anchor = not anchor or f'id="{anchor[1:]}"' in path.read_text("utf-8")
        found += [target + anchor] * (not path.is_file() or not is_anchor)
    return found


def test_every_link_leads_somewhere(built: Path) -> None:
    found = sorted(path.relative_to(built) for path in built.rglob("*.html"))
    pages = {site.address(page) for page in site.pages()}
    assert pages | {Path("api/index.html"), Path("paper_tables/generated/report.html")} == {*found}
    assert {Path("index.html"), Path("paper_tables/generated/claims/index.html")} < pages
    assert [(page, dead(built / page)) for page in found if dead(built / page)] == []
    errata = built / "paper_tables/generated/ERRATA.html"
    assert 'href="claims/index.html"' in errata.read_text("utf-8")
    of_report = errata.with_name("report.html").read_text("utf-8")
    assert of_report.count('href="../../proofs_checks/coq/') >= 40
    for name, link, broken in (  # the controls
        ("ERRATA.html", "claims/index.html", "claims/index.htmlx"),
        ("report.html", "#E1", "#E1x"),
        ("report.html", '<a href="../../proofs_checks/coq/level.v">', "<a >"),
        ("METHODS.html", "</nav>", '<a href="#nowhere">'),
    ):
        page, text = errata.with_name(name), errata.with_name(name).read_text("utf-8")
        page.write_text(text.replace(link, broken, 1), "utf-8")
        assert [x.endswith(re.sub('.*href="|">', "", broken)) for x in dead(page)] == [True]
        page.write_text(text, "utf-8")


def test_the_bar_and_the_readme_lead_to_the_pages_for_editors_and_authors(built: Path) -> None:
    generated = "paper_tables/generated"
    bar = (built / "gladius/own_data/your_data.html").read_text("utf-8").partition("</nav>")[0]
    pages = [f"{generated}/{x}" for x in ("FINDINGS", "EXHIBITS", "METHODS", "REPLICATION")]
    assert all(f'href="../../{page}.html"' in bar for page in [*pages, "RESPONSE"])
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text("utf-8"))
    assert {f"{generated}/REPLICATION.md", "RESPONSE.md"} <= {*links}


def test_the_plain_edition_is_a_notebook_with_a_cell_a_file(built: Path) -> None:
    files = sorted((ROOT / site.PLAIN).parent.glob("*.py"))
    cells = site.CELL.findall(site.pages()[site.PLAIN])
    assert cells == [path.read_text("utf-8") for path in files]
    assert len(cells) == 7
    page = (built / site.address(site.PLAIN)).read_text("utf-8")
    assert page.count("<h2") == len(files)


def test_a_link_to_a_place_that_the_page_lacks_is_none() -> None:
    page = '<p id="a"><a href="#a">A</a> <a href="#b"><code>b</code></a> <a href="c#b">c</a>'
    assert site.anchored(page) == page.replace('<a href="#b"><code>b</code></a>', "<code>b</code>")


def test_a_folder_or_what_is_not_there_is_no_link(tmp_path: Path) -> None:
    html = '<a href="gladius/">a</a> <a href="no.md">b</a> <a href="README.md#x">c</a>'
    text = site.linked(html, Path("README.md"), {Path("README.md"): ""}, tmp_path)
    assert text == '<a >a</a> <a >b</a> <a href="index.html#x">c</a>'
    site.linked('<img src="LICENSE">', Path("README.md"), {}, tmp_path)
    assert (tmp_path / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_guide_is_two_pages_whose_examples_are_cells() -> None:
    texts = site.pages()
    guide, rust = texts[site.GUIDE], texts[site.RUST]
    whole = (ROOT / site.GUIDE).read_text("utf-8")
    assert site.CELL.findall(guide) + site.CELL.findall(rust) == [
        *re.findall(r"```python\n(.*?)```", whole, re.DOTALL),
        *re.findall(r"```python rust\n(.*?)```", whole, re.DOTALL),
    ]
    assert "Table IX" in rust
    assert "Table IX" not in guide
    assert "\n## From the shell\n" in guide


@pytest.mark.filterwarnings("ignore:IPython3 lexer unavailable")
def test_examples_alone_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site.ExecutePreprocessor, "preprocess", lambda self, note, _: (note, {}))
    site.notebook("Text.\n```python\nx = 1\n```\nMore.", tmp_path / "page.ipynb")
    cells = json.loads((tmp_path / "page.ipynb").read_text("utf-8"))["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code", "markdown"]
    assert "".join(cells[1]["source"]) == "x = 1"
