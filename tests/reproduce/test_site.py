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
    csv = '<a href="claims.csv">numbers</a> <a href="ERRATA.md#E1">E1</a>'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "page", lambda folder: csv)
        patch.setattr(site, "notebook", lambda text, file: report.markdown(text))
        patch.setattr(site, "interface", lambda folder: site.write(folder / "index.html", ""))
        site.build(out, GENERATED)
    return out


def dead(page: Path) -> list[str]:
    """Links of a page to nothing."""
    text = page.read_text("utf-8")
    found = []
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
    for name, lost in (("ERRATA.html", "claims/index.html"), ("report.html", "#E1")):
        page = errata.with_name(name)  # the controls
        page.write_text(page.read_text("utf-8").replace(lost, f"{lost}x"), "utf-8")
        assert any(link.endswith(f"{lost}x") for link in dead(page))


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
