"""`python -m reproduce site`: every committed page, the report, two notebooks and the API.

The site has the folders of the checkout, so that links between pages stay as they are. A README is
the index of its folder, and a file that a page links is copied. Nothing is fetched when it is read.
"""

import os
import re
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch
from urllib.parse import unquote

import nbformat
from nbconvert import HTMLExporter
from nbconvert.preprocessors import ExecutePreprocessor

import gladius
from reproduce.engine.provenance import ROOT
from reproduce.engine.store import write
from reproduce.pages import findings, report

FOLDERS = ("gladius", "proofs_checks", "paper_tables")  # with pages, besides those at the top
GUIDE, RUST = Path("gladius/own_data/your_data.md"), Path("gladius/own_data/rust_1987.md")
PLAIN = Path("proofs_checks/plain/README.md")
MODULES = (
    "gladius",
    "gladius.own_data.markov",
    "gladius.own_data.results.plots",
    "gladius.own_data.results.counterfactual",
)
INLINE = "module://matplotlib_inline.backend_inline"  # the kernel's, for figures in pages
LINK = re.compile(r'(href|src)="([^"#:]+)(#[^"]*)?"')
GRAPH = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)
CELL = re.compile(r"```python(?: rust)?\n(.*?)```", re.DOTALL)


def pages() -> dict[Path, str]:
    """Every page, by its path in the checkout; the guide's chapter on Rust (1987) is a page.

    The files of the plain edition are added to its page.
    """
    found = [*ROOT.glob("*.md"), *ROOT.glob(".github/*.md")]
    found += [path for name in FOLDERS for path in (ROOT / name).rglob("*.md")]
    texts = {
        path.relative_to(ROOT): path.read_text("utf-8")
        for path in found
        if path.parent.name != "templates"
    }
    before, heading, rest = texts[GUIDE].partition("## Rust (1987)")
    chapter, _, after = rest.partition("\n## ")
    files = sorted((ROOT / PLAIN).parent.glob("*.py"))
    plain = [f"\n## {path.name}\n\n```python\n{path.read_text('utf-8')}```\n" for path in files]
    changed = {GUIDE: f"{before}## {after}", RUST: f"# {heading[3:]}{chapter}"}
    return texts | changed | {PLAIN: "".join([texts[PLAIN], *plain])}


def address(page: Path) -> Path:
    """Where a page stands in the site."""
    return page.with_name("index.html") if page.stem == "README" else page.with_suffix(".html")


def build(site: Path, folder: Path) -> None:
    """Write the site. `folder` has the results. Rust's chapter is run where econirl is there."""
    texts = pages()
    bodies = {page: report.markdown(GRAPH.sub(r"```text\n\1```", x)) for page, x in texts.items()}
    for page in (GUIDE, PLAIN, RUST) if find_spec("econirl") else (GUIDE, PLAIN):
        bodies[page] = notebook(texts[page], site / page.with_suffix(".ipynb"))
    for page, body in bodies.items():
        title = re.search(r"^(?:# |<h1>)(.+?)(?:</h1>)?$", texts[page], re.MULTILINE)
        text = linked(body, page, texts, site)
        write(site / address(page), framed(text, title[1] if title else page.stem, page))
    made = folder.relative_to(ROOT) / report.NAME
    write(site / made, linked(report.page(folder), made, texts, site))
    interface(site / "api")


def framed(body: str, title: str, page: Path) -> str:
    """A page of the site around this body."""
    template = findings.environment(ROOT).get_template("site.html")
    return template.render(body=body, title=title, up="../" * len(page.parts[:-1]))


def linked(html: str, page: Path, texts: Mapping[Path, str], site: Path) -> str:
    """The page with links to pages of the site; copies other files, and drops what is neither."""

    def target(match: re.Match[str]) -> str:
        name, file, anchor = match.groups("")
        path = Path(os.path.normpath(page.parent / unquote(file)))
        path = path / "README.md" if path / "README.md" in texts else path
        if path in texts:
            return f'{name}="{os.path.relpath(address(path), page.parent)}{anchor}"'
        if (site / path).is_file():
            return match[0]
        if not (ROOT / path).is_file():
            return ""
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, site / path)
        return match[0]

    return LINK.sub(target, html)


def anchored(html: str) -> str:
    """The page without links to places that it lacks, as pdoc has of fields of a base class."""
    ids = set(re.findall(r'id="([^"]+)"', html))
    link = re.compile(r'<a href="#([^"]+)">(.*?)</a>', re.DOTALL)
    return link.sub(lambda match: match[0] if match[1] in ids else match[2], html)


def notebook(text: str, file: Path) -> str:
    """HTML of a page whose examples were run as the cells of a notebook, which `file` gets."""
    v4 = nbformat.v4
    note = v4.new_notebook()
    for i, piece in enumerate(CELL.split(text)):
        note.cells += [v4.new_code_cell(piece.strip()) if i % 2 else v4.new_markdown_cell(piece)]
    with patch.dict(os.environ, MPLBACKEND=INLINE):  # what runs afterwards may lack that backend
        ExecutePreprocessor(timeout=600).preprocess(note, {"metadata": {"path": str(ROOT)}})
    write(file, nbformat.writes(note))
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(note)
    body = re.sub(r'<a class="anchor-link".*?</a>|/tmp/ipykernel\S+ ', "", body)
    return f'<p class="note"><a href="{file.name}">This page as a notebook</a></p>\n{body}'


def interface(folder: Path) -> None:
    """The API: what `gladius` exports, MODULES, and the options of every method."""
    import pdoc

    for name in gladius.__all__:
        setattr(gladius, name, getattr(gladius, name))  # pdoc sees what has been imported
    pdoc.render.configure(docformat="google", show_source=False)
    others = sorted({*MODULES, *gladius.METHODS.values()} - {"gladius"})
    pdoc.pdoc("gladius", r"!gladius\..*", *others, output_directory=folder)
    for page in folder.rglob("*.html"):
        write(page, anchored(page.read_text("utf-8")))
    lines = [f"- [`{name}`]({name.replace('.', '/')}.html)" for name in ("gladius", *others)]
    body = report.markdown("\n".join(["# API\n", *lines]))
    write(folder / "index.html", framed(body, "API", Path("api/index.html")))
