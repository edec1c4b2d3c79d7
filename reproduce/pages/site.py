"""The pages of the site for MkDocs, of which `on_config` and `on_files` are hooks.

The settings are in `reproduce/templates/mkdocs.yml`. Pages are those of the checkout and the API.
The site has the folders of the checkout, so that links between pages stay as they are. A README is
the index of its folder, and a file that a page links is copied.
"""

import os
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

import griffe
import latex2mathml.converter
import nbformat
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from nbconvert import MarkdownExporter
from nbconvert.preprocessors import ExecutePreprocessor

import gladius
from reproduce.engine.provenance import ROOT

FOLDERS = ("gladius", "proofs_checks", "paper_tables")  # with pages, besides those at the top
GUIDE, RUST = "gladius/own_data/your_data.md", "gladius/own_data/rust_1987.md"
PLAIN = "proofs_checks/plain/README.md"
BAR = {  # each title's pages by their beginnings, the first of which is the one that it opens
    "Home": ["README.md"],
    "Answers": ["paper_tables/generated/ANSWERS.md"],
    "Findings": ["paper_tables/generated/FINDINGS.md"],
    "Exhibits": ["paper_tables/generated/EXHIBITS.md", "paper_tables/generated/[a-z_0-9]+.md"],
    "Methods": ["paper_tables/generated/METHODS.md", "gladius/notation.md"],
    "Errata": ["paper_tables/generated/ERRATA.md"],
    "Statements": ["paper_tables/generated/claims/README.md", "paper_tables/generated/claims/"],
    "Proofs": ["proofs_checks/corrected/", "proofs_checks/"],
    "Replication": ["paper_tables/generated/REPLICATION.md"],
    "Letter": ["RESPONSE.md"],
    "Your own data": [GUIDE, RUST],
    "API": ["api/index.md", "api/gladius.md", "api/"],
    "Project": ["CHANGELOG.md", ".github/", "gladius/designs/"],
}
INLINE = "module://matplotlib_inline.backend_inline"  # the kernel's, for figures in pages
LINK = re.compile(r'\]\(([^)#\s]+)|(?:href|src)="([^"#]+)')
CELL = re.compile(r"```python\n(.*?)```", re.DOTALL)
FENCE = re.compile(r"^(```.*?^```$)", re.DOTALL | re.MULTILINE)
# a line of a paragraph, right under which a list or a table begins
BEFORE = re.compile(r"^(?![-*] |\||\s)(.+\n)(?=[-*] |\|.*\n\|[ :|-]+$)", re.MULTILINE)


def pages() -> dict[str, str]:
    """Every page, by its path in the checkout; the guide's chapter on Rust (1987) is a page.

    The files of the plain edition are added to its page.
    """
    found = [*ROOT.glob("*.md"), *ROOT.glob(".github/*.md")]
    found += [path for name in FOLDERS for path in sorted((ROOT / name).rglob("*.md"))]
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for path in found
        if path.parent.name != "templates"
    }
    before, heading, rest = texts[GUIDE].partition("## Rust (1987)")
    chapter, _, after = rest.partition("\n## ")
    files = sorted((ROOT / PLAIN).parent.glob("*.py"))
    plain = [f"\n## {path.name}\n\n```python\n{path.read_text('utf-8')}```\n" for path in files]
    rust = f"# {heading[3:]}{chapter}".replace("```python rust", "```python")
    changed = {GUIDE: f"{before}## {after}", RUST: rust}
    return texts | changed | {PLAIN: "".join([texts[PLAIN], *plain])} | interface()


def interface() -> dict[str, str]:
    """The API: an index with a sentence of each module and name of `gladius`, a page a package."""
    package: Any = griffe.load("gladius", search_paths=[ROOT])
    names = [name for name in gladius.__all__ if name != "METHODS"]
    exported = {f"gladius.{name}": f"gladius.{name}" for name in names}
    texts, lines = {}, ["# API", *table("Names of `gladius`", package, exported)]
    lines += table("Methods of `gladius.fit`", package, gladius.METHODS)
    for room in packages(package):
        inside = [x.path for x in room.modules.values() if not (x.is_alias or x.is_init_module)]
        listed = {path: path for path in (room.path, *sorted(inside))}
        texts[f"api/{room.path}.md"] = f"# {room.path}\n" + "\n".join(f"\n::: {x}" for x in listed)
        lines += table(f"`{room.path}`", package, listed)
    return texts | {"api/index.md": "\n".join(lines)}


def packages(module: Any) -> Iterator[Any]:
    """The package and all within it, by name."""
    yield module
    for name in sorted(module.modules):
        if module[name].is_init_module and not module[name].is_alias:
            yield from packages(module[name])


def table(heading: str, package: Any, paths: Mapping[str, str]) -> Iterator[str]:
    """Lines of a table: a name, linked to what has this path, and the sentence of its docstring."""
    yield from (f"\n## {heading}\n", "| name | what it is |", "| --- | --- |")
    for name, path in paths.items():
        found = package[path.partition(".")[2]] if "." in path else package
        page = (found if found.is_init_module else found.parent).path
        yield f"| [`{name}`]({page}.md#{path}) | {found.docstring.value.splitlines()[0]} |"


def notebook(text: str, config: MkDocsConfig, page: str) -> tuple[str, list[File]]:
    """A page whose examples were run as the cells of a notebook; the notebook, and its figures."""
    v4, name = nbformat.v4, Path(page).stem
    note = v4.new_notebook()
    for i, piece in enumerate(CELL.split(text.rstrip())):
        new = v4.new_code_cell(piece.strip("\n")) if i % 2 else v4.new_markdown_cell(piece)
        note.cells += [new] if piece else []
    with patch.dict(os.environ, MPLBACKEND=INLINE):  # what runs afterwards may lack that backend
        ExecutePreprocessor(timeout=600).preprocess(note, {"metadata": {"path": str(ROOT)}})
    options = {"unique_key": name, "output_files_dir": f"{name}_files"}
    body, made = MarkdownExporter().from_notebook_node(note, options)
    body = re.sub(r"/tmp/ipykernel\S+ |<style scoped>.*?</style>", "", body, flags=re.DOTALL)
    files = made["outputs"] | {f"{name}.ipynb": nbformat.writes(note)}
    body = body.replace("\n", f"\n\n[This page as a notebook]({name}.ipynb)\n", 1)
    return body, [added(config, join(dirname(page), x), files[x]) for x in files]


def added(config: MkDocsConfig, path: str, content: str | bytes | None = None) -> File:
    """A file of the site: this content, or that of the checkout's file."""
    source = str(ROOT / path) if content is None else None
    options: dict[str, Any] = {"content": content, "abs_src_path": source}
    return File.generated(config, path, inclusion=InclusionLevel.INCLUDED, **options)


class Formula(InlineProcessor):  # type: ignore[misc]  # Markdown has no types
    """TeX in a sentence, `$x$` or with back quotes, as MathML."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # noqa: N802
        return self.md.htmlStash.store(mathml(m[1] or m[2])), m.start(), m.end()


class Parted(Preprocessor):  # type: ignore[misc]
    """A list or table right under a line of text, which Markdown would take for more of it."""

    def run(self, lines: list[str]) -> list[str]:
        return BEFORE.sub(r"\1\n", "\n".join(lines)).split("\n")


class LikeGitHub(Extension):  # type: ignore[misc]
    """Formulas between dollars and in fenced blocks, and lists without a blank line before."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.preprocessors.register(Parted(md), "parted", 22)  # after fenced blocks
        pattern = r"\$`([^`]+)`\$|\$(?![\s`])([^$`]+?)(?<!\s)\$"
        md.inlinePatterns.register(Formula(pattern, md), "formula", 195)  # before code


def display(source: str, *_: object, **__: object) -> str:
    """A fenced block of TeX as MathML."""
    return mathml(source, "block")


def mathml(formula: str, display: str = "inline") -> str:
    """TeX as MathML, with a thin space between the name of a function and a letter or number."""
    made = latex2mathml.converter.convert(formula, display=display)
    name = r"(<mi>[a-z]{2,}</mi>)(?=<m(?:i|n|sub|sup|subsup|over|row)\b)"
    return re.sub(name, r'\1<mspace width="0.167em" />', made)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The version in every title, formulas, and no page 404, whose links are absolute."""
    config.site_name = f"{config.site_name} {gladius.__version__}"
    config.theme.static_templates.discard("404.html")
    config.markdown_extensions.append(LikeGitHub())
    fence = {"name": "math", "class": "math", "format": display}
    config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [fence]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """With all pages, under their titles in the bar, and what they link."""
    texts = pages()
    for page in (GUIDE, PLAIN, RUST) if find_spec("econirl") else (GUIDE, PLAIN):
        texts[page], made = notebook(texts[page], config, page)
        for file in made:
            files.append(file)
    for page, text in texts.items():
        files.append(added(config, page, prepared(text)))
        for path in linked(text, page) - {*texts, *files.src_uris}:
            files.append(added(config, path))
    rest, config.nav = [*texts], []
    for title, beginnings in BAR.items():
        under = [page for start in beginnings for page in rest if re.match(start, page)]
        rest = [page for page in rest if page not in under]
        config.nav += [{title: [*dict.fromkeys(under)]}] if under else []
    return files


def linked(text: str, page: str) -> set[str]:
    """Paths of the checkout's files that a page links or shows."""
    found = {normpath(join(dirname(page), unquote(a or b))) for a, b in LINK.findall(text)}
    return {path for path in found if path[:2] != ".." and (ROOT / path).is_file()}


def prepared(text: str) -> str:
    """The page as Python-Markdown reads it, with lists within lists by four spaces.

    GitHub needs two spaces there, and takes a heading in HTML for one.
    """
    pieces = FENCE.split(re.sub("<h1>(.*?)</h1>", r"# \1", text))
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"^((?:  )+)(?=[-*] |\d+\. )", r"\1\1", pieces[i], flags=re.MULTILINE)
        pieces[i] = re.sub("<table[^>]*>", "<table>", pieces[i])
    text = "".join(pieces)
    has_contents = re.search("^(## |::: )", text, re.MULTILINE)
    return text if has_contents else f"---\nhide: [toc]\n---\n{text}"  # and wider for tables
