"""The site: pages are found, links lead somewhere, formulas are set, and nothing is fetched."""

import json
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort
from nbconvert.preprocessors import ExecutePreprocessor

import gladius
from reproduce.engine.provenance import ROOT
from reproduce.pages import site

CONFIG, GENERATED = ROOT / "reproduce/templates/mkdocs.yml", "paper_tables/generated"
made = cache(site.pages)
INLINE = r"\$`[^`]+`\$|(?<![`$])\$[^\s`$][^$`]*\$"


@pytest.fixture(autouse=True, scope="module")
def no_kernel() -> Iterator[None]:
    """`tox -e docs` alone has a kernel, which runs the examples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExecutePreprocessor, "preprocess", lambda self, note, _: (note, {}))
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    build(configured(out))
    return out


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, "Page"]:
    return read(built)


def configured(out: Path) -> MkDocsConfig:
    return load_config(str(CONFIG), site_dir=str(out))


def page_of(built: Path, page: str) -> str:
    """The text of a page's file in the site."""
    name = re.sub(r"README\.md$", "index.md", page)
    return (built / name).with_suffix(".html").read_text("utf-8")


class Page(HTMLParser):
    """Places of a page, and what it links or shows; None for a link without a target."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places, self.links, self.loaded = set[str](), list[str | None](), list[str]()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.places |= {str(found[name]) for name in ("id", "name") if name in found}
        targets = [str(found[name]) for name in ("href", "src") if name in found]
        self.links += targets or [None] * (tag == "a" and not {"id", "name"} & set(found))
        self.loaded += targets if tag != "a" else []


def read(folder: Path) -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in folder.rglob("*.html")}


def dead(pages: dict[Path, Page]) -> list[tuple[str, str | None]]:
    """Links to nothing: the name of the page, and the link."""
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link or "")
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file /= "index.html" if file.is_dir() else ""
            is_there = file.is_file() if not parts.netloc else parts.scheme == "https"
            if file in pages and parts.fragment:
                is_there = unquote(parts.fragment) in pages[file].places
            found += [(path.name, link)] * (link is None or not is_there)
    return found


def test_every_link_leads_somewhere(pages: dict[Path, Page], tmp_path: Path) -> None:
    assert dead(pages) == []
    assert sum(len(page.links) for page in pages.values()) > 9_000
    assert len(pages) == len(made())
    (tmp_path / "b.html").write_text('<p id="x"></p><a name="y"></a>', "utf-8")
    links = ["b.html#x", "b.html#y", "b.html", "#z", "https://a.b", "c%20d.csv", "."]
    broken = ["b.html#X", "b.htm", "#w", "c.csv", "../b.html", "http://a.b", None]
    (tmp_path / "c d.csv").touch()
    tags = [f'<a id="z" href="{link}">' if link else "<a>" for link in [*links, *broken]]
    (tmp_path / "index.html").write_text("".join([*tags, '<img src="no.png">']), "utf-8")
    assert dead(read(tmp_path)) == [("index.html", link) for link in [*broken, "no.png"]]


def test_a_dead_link_or_a_page_outside_the_bar_stops_the_build(tmp_path: Path) -> None:
    for text, extra, is_right in (
        ("[a](#b)\n\n## b", {}, True),
        ("[a](#c)\n\n## b", {}, False),
        ("[a](no.md)", {}, False),
        ("[a](gladius/)", {}, False),
        ("a", {"lost.md": "b"}, False),
    ):
        config = configured(tmp_path)
        (hooks,) = config.hooks.values()
        hooks.pages = lambda text=text, extra=extra: {"README.md": f"# A\n\n{text}"} | extra
        hooks.notebook = lambda text, config, page: (text, [])
        hooks.GUIDE = hooks.PLAIN = hooks.RUST = "README.md"
        if is_right:
            build(config)
            continue
        with pytest.raises(Abort, match="warning"):
            build(config)


def test_every_page_is_found_by_search_and_has_the_bar_the_version_and_its_contents(
    built: Path, pages: dict[Path, Page]
) -> None:
    found = json.loads((built / "search/search_index.json").read_text("utf-8"))["docs"]
    searched = {entry["location"].partition("#")[0] for entry in found}
    assert {path.relative_to(built.resolve()).as_posix() for path in pages} == searched
    words = {entry["location"]: entry["text"] for entry in found}
    assert "IQ-learn" in " ".join(x for page, x in words.items() if "table_4.html" in page)
    titles = set()
    for path, page in pages.items():
        text = path.read_text("utf-8")
        (heading,) = re.findall(r'<h1[^>]*>(.*?)(?:<a class="headerlink"|</h1>)', text, re.DOTALL)
        title = re.sub("<[^>]+>", "", unescape(heading)).strip()
        named = f"<title>{title} - GLADIUS, checked {gladius.__version__}</title>"
        assert named in unescape(text), path
        titles.add(title)
        links = {(path.parent / x).resolve() for x in page.links if x}
        bar = ["index", *(f"{GENERATED}/{x}" for x in ("ANSWERS", "FINDINGS", "EXHIBITS"))]
        bar += [f"{GENERATED}/METHODS", f"{GENERATED}/REPLICATION", "RESPONSE", "api/index"]
        assert links >= {(built / f"{x}.html").resolve() for x in bar}, path
        headings = re.findall('<h2 id="([^"]+)"', text)
        assert {f"#{x}" for x in headings} <= set(page.links), path  # the contents
    assert len(titles) == len(pages)
    assert (built / "search/search_index.js").is_file()  # which a page reads from a disk


def test_no_list_or_table_is_part_of_a_paragraph(pages: dict[Path, Page]) -> None:
    """GitHub begins one right under a line of text, whereas Markdown takes it for more of that.

    Nor do back quotes stand for code in what is HTML already.
    """
    hidden = re.compile(r"<(pre|code|script|math)\b.*?</\1>|<[^>]+>", re.DOTALL)
    for path in pages:
        text = hidden.sub("", path.read_text("utf-8"))
        assert re.findall(r"\n *(?:[-*] \S.*|\| ?-+:? ?\|.*)|`.*", text) == [], path


def test_nothing_is_fetched_and_formulas_are_set(built: Path, pages: dict[Path, Page]) -> None:
    assert len([link for page in pages.values() for link in page.loaded]) > 500
    assert {x for page in pages.values() for x in page.loaded if urlsplit(x).netloc} == set()
    styles = [path.read_text("utf-8") for path in built.rglob("*.css")]
    assert [x for text in styles for x in re.findall(r"url\(['\"]?(?:https?:)?//", text)] == []
    count = 0
    for path in pages:
        formulas = re.findall("<math.*?</math>", path.read_text("utf-8"), re.DOTALL)
        count += len(formulas)
        assert [x for x in formulas if "\\" in re.sub("<[^>]+>", "", x)] == [], path
    parts = [part for text in made().values() for part in site.FENCE.split(text)]
    inline = [x for part in parts if part[:3] != "```" for x in re.findall(INLINE, part)]
    assert count == len(inline) + sum(part.startswith("```math") for part in parts) > 400
    assert "$`" not in page_of(built, "proofs_checks/corrected/corrected.md")


def test_a_theorem_is_linked_to_its_file_and_the_readme_to_the_pages_for_editors(
    built: Path,
) -> None:
    chain = page_of(built, "proofs_checks/corrected/corrected.md")
    assert chain.count('href="../coq/') >= 40
    assert (built / "proofs_checks/coq/level.v").is_file()
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text("utf-8"))
    assert {f"{GENERATED}/REPLICATION.md", "RESPONSE.md"} <= {*links}


def test_the_api_has_a_sentence_for_every_name_and_a_page_for_every_module(built: Path) -> None:
    index = made()["api/index.md"]
    rows = dict(re.findall(r"^\| \[`([\w.]+)`\]\(\S+\) \| (\S.*) \|$", index, re.MULTILINE))
    modules = [path.relative_to(ROOT) for path in (ROOT / "gladius").rglob("*.py")]
    paths = {".".join(x.with_suffix("").parts).removesuffix(".__init__") for x in modules}
    names = {f"gladius.{name}" for name in gladius.__all__} - {"gladius.METHODS"}
    assert set(rows) == paths | names | {*gladius.METHODS}
    assert rows["gladius.fit"] == "Estimate the reward behind observed choices."
    assert {*gladius.METHODS.values()} < paths
    pages = "".join(path.read_text("utf-8") for path in (built / "api").glob("gladius*.html"))
    places = set(re.findall(' id="([^"]+)"', pages))
    assert paths | {"gladius.fit", "gladius.paper.box.gladius"} <= places
    assert "gladius.model.mdp.TabularMDP" in places
    model = page_of(built, "api/gladius.model.md")  # each module begins with its names
    sentence = "A simulation model with finitely many states; it holds the true reward."
    assert re.search(
        rf'<a [^>]*href="#gladius.model.mdp.TabularMDP".*?{sentence}', model, re.DOTALL
    )


def test_the_guide_is_two_pages_whose_examples_are_cells() -> None:
    guide, rust = made()[site.GUIDE], made()[site.RUST]
    whole = (ROOT / site.GUIDE).read_text("utf-8")
    assert site.CELL.findall(guide) + site.CELL.findall(rust) == [
        *re.findall(r"```python\n(.*?)```", whole, re.DOTALL),
        *re.findall(r"```python rust\n(.*?)```", whole, re.DOTALL),
    ]
    assert "Table IX" in rust
    assert "Table IX" not in guide
    assert "\n## From the shell\n" in guide


def test_the_plain_edition_is_a_notebook_with_a_cell_a_file(built: Path) -> None:
    files = sorted((ROOT / site.PLAIN).parent.glob("*.py"))
    cells = site.CELL.findall(made()[site.PLAIN])
    assert cells == [path.read_text("utf-8") for path in files]
    assert len(cells) == 7
    assert page_of(built, site.PLAIN).count("<h2") == len(files)
    note = json.loads((built / "proofs_checks/plain/README.ipynb").read_text("utf-8"))
    kinds = [cell["cell_type"] for cell in note["cells"]]
    assert kinds == ["markdown", "code"] * len(files)
    assert ["".join(x["source"]) for x in note["cells"][1::2]] == [x.strip("\n") for x in cells]


def test_formulas_are_mathml() -> None:
    made = site.mathml(r"\log p_Q \leq \exp(\hat\pi)")
    assert re.search("<mi>log</mi><mspace [^>]*/><msub><mi>p</mi><mi>Q</mi></msub><mo>", made)
    assert "<mi>exp</mi><mo " in made
    assert re.search("<mi>log</mi><mspace [^>]*/><mn>2</mn>", site.mathml(r"\log 2"))
    assert 'display="block"' in site.display("x", "math", "math", {}, None)


def test_lists_tables_and_titles_are_those_of_github() -> None:
    text = "<h1>A &lt;b</h1>\n- a\n  - b\n    - c\n```\n  - d\n```\n<table class='x' border=1>"
    made = "# A &lt;b\n- a\n    - b\n        - c\n```\n  - d\n```\n<table>"
    assert site.prepared(text) == f"---\nhide: [toc]\n---\n{made}"
    assert site.prepared("# A\n\n## B\n") == "# A\n\n## B\n"
    linked = site.linked('[a](../README.md#x) <img src="b.png"> [c](../../no)', "gladius/x.md")
    assert linked == {"README.md"}
