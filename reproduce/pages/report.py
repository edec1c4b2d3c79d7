"""`python -m reproduce report`: everything on one page that needs no network.

A template (`reproduce/templates/page.html`) puts together what the generated files say: the
README's sections, figures and tables of every exhibit, the ledger, and how all came about.
"""

import html
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html.entities import html5
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from nbconvert.filters import markdown2html
from PIL import Image

from proofs_checks.claims import SEVERITIES, claims
from proofs_checks.numbering import AUTHORS, TITLE, statement_of
from reproduce import exhibits
from reproduce.drawing.layout import as_html
from reproduce.drawing.notes import alt, caption
from reproduce.engine import provenance, seeds
from reproduce.engine.check import check
from reproduce.engine.nouns import Cell
from reproduce.engine.output import MANIFESTS, read_manifest
from reproduce.engine.provenance import ROOT
from reproduce.pages import findings, readme
from reproduce.paper import compare

NAME = "report.html"
SCALE = 0.52  # pixels of the page for one of a picture: two of a column's width side by side
MOST_ROWS = 20  # tables with more rows or notes are folded
COMPARED = [*compare.KEY, "published", "published_se", "ours", "ours_se", "verdict", "reason"]
CHAIN = ROOT / "proofs_checks" / "corrected" / "corrected.md"
IMAGE = re.compile(r'<img src="\./([^"]+)"[^>]*>')
VERDICTS = (
    *("fails", "vacuous", "holds-if", "misprint", "imprecise", "undecidable", "does-not-hold"),
    "holds",
)


def page(folder: Path) -> str:
    """The HTML of the page."""
    loaded = {kind: list(map(exhibits.load, exhibits.of_kind(kind))) for kind in ("paper", "own")}
    found = check([*loaded["paper"], *loaded["own"]], folder)
    about = {"link": ".", "mark": readme.MARK, "within_report": True}
    about |= readme.describe([], found, folder)
    templates = {**readme.SECTIONS, "findings": "findings.md"}
    templates |= {name: f"{name}.md" for name in ("deviations", "limits", "methods")}
    texts = {name: readme.rendered(text, folder, about) for name, text in templates.items()}
    claim_pages = (folder / "claims" / "README.md").read_text("utf-8")
    environment = findings.environment(folder).overlay(autoescape=True)
    sections, drawn, figures = listed(texts["findings"]), pictures(folder), Figures()
    kinds = {k: [exhibit_page(e.name, folder) for e in one] for k, one in loaded.items()}
    opening = [x for first in sections[:1] for x in figures.of(first["pictures"], drawn)]
    for section in (*sections, *kinds["paper"], *kinds["own"]):
        section["pictures"] = list(figures.of(section["pictures"], drawn))
    return environment.get_template("page.html").render(
        {name: Markup(markdown(text)) for name, text in texts.items()},
        listed=sections,
        opening=opening,
        kinds=kinds,
        problems={finding.name: finding.problems for finding in found},
        release=release() | {"title": TITLE, "authors": AUTHORS},
        commit=str(provenance.commit()["commit"])[: readme.SHORT],
        date=datetime.now(UTC).date().isoformat(),
        ledger=ledger(folder),
        legend=re.findall(r"^- \*\*(.+?)\*\*: (.+)$", claim_pages, re.MULTILINE),
        chain=Markup(chain(folder)),
        made=made(folder),
        seeds=seeds.ROOT,
        rule=seeds.describe(Cell("fit", {"seeds": "table_2"}))["rule"],
    )


def chain(folder: Path) -> str:
    """HTML of the corrected statements and proofs, with links as they are seen from `folder`."""
    link, text = re.compile(r"\]\((?!\w+:|#)([^)]+)\)"), CHAIN.read_text("utf-8")
    text = link.sub(lambda x: f"]({os.path.relpath(CHAIN.parent / x[1], folder)})", text)
    return markdown(text, level=2)


def release() -> dict[str, str]:
    """The fields of CITATION.cff, such as version, and the arXiv number of the paper."""
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    fields = dict(re.findall(r'^([a-z-]+): "?([^"\n]+)', text, re.MULTILINE))
    return fields | dict(re.findall(r'"(arXiv):([^"]+)"', text))


def listed(text: str) -> list[dict[str, Any]]:
    """The number, heading, text and pictures of each finding."""
    return [
        {
            "number": number,
            "heading": heading,
            "text": Markup(markdown(IMAGE.sub("", below))),
            "pictures": IMAGE.findall(below),
        }
        for number, heading, below in findings.FINDING.findall(text)
    ]


def exhibit_page(name: str, folder: Path) -> dict[str, Any]:
    """What the template shows of an exhibit."""
    exhibit = exhibits.load(name)
    described = readme.describe_exhibit(exhibit, "", folder)
    files = described["files"]
    compared = None
    if exhibit.published and files:
        frame = compare.compare(exhibit, folder)[COMPARED]
        compared = table(frame.assign(verdict=frame["verdict"].map(compare.in_words)))
    return described | {
        "tables": [made_table(folder / file) for file in files if file.endswith(".md")],
        "compared": compared,
        "csvs": [file for file in files if file.endswith(".csv")],
    }


def markdown(text: str, level: int = 0) -> str:
    """HTML of Markdown, its headings so many levels lower; mathematics is code, not emphasis."""
    text = re.sub(r"^#", "#" * (level + 1), text, flags=re.MULTILINE)
    text = re.sub(r"```math\n(.*?)```", lambda x: f"    {plain(x[1])}\n", text, flags=re.DOTALL)
    text = re.sub(r"\$\$?`?([^$`]+)`?\$\$?", lambda match: f"`{plain(match[1])}`", text)
    page = re.sub(r'<a class="anchor-link".*?</a>', "", str(markdown2html(text)))
    return re.sub(r"(<table.*?</table>)", r'<div class="wide">\1</div>', page, flags=re.DOTALL)


def plain(formula: str) -> str:
    """TeX as a line of text, with the signs that HTML has: `λ-hat_x ≤ (1)/(2)`."""
    formula = re.sub(r"\\(?:left|right|Big|q?quad|[,;])(?![a-z])", " ", formula)
    formula = re.sub(r"\\math(?:rm|bb)\{(\w+)\}", r"\1", formula)
    hats = r"\\(hat|tilde) ?(?:\{(\\?[a-zA-Z]+)\}|(\\[a-zA-Z]+|\w))"
    formula = re.sub(hats, r"\2\3-\1", formula)
    signs = {**html5, "infty;": "∞", "to;": "→", "sup;": "sup"}
    formula = re.sub(r"\\([a-zA-Z]+)", lambda x: signs.get(f"{x[1]};", x[1]), formula)
    formula = re.sub(r"frac\{((?:[^{}]|\{.*?\})*)\}\{(.*?)\}", r"(\1)/(\2)", formula)
    return " ".join(re.sub(r"\\([{}|])", r"\1", formula).split())


def pictures(folder: Path) -> dict[str, dict[str, Any]]:
    """Of every figure: what it shows (alt), caption, width, and itself in 256 colours."""
    found = {}
    for path in folder.glob("*.png"):
        with Image.open(path) as image:
            width, content = min(920, round(SCALE * image.width)), BytesIO()  # the page's column
            image.convert("RGB").quantize().save(content, "PNG", optimize=True)
        source = f"data:image/png;base64,{b64encode(content.getvalue()).decode()}"
        found[path.name] = {"alt": alt(path.name), "width": width, "source": source}
        words = Markup(as_html(html.escape(caption(path.name))))
        found[path.name] |= {"name": path.stem, "caption": words}
        found[path.name]["brief"] = Markup(f"{words.split('. ')[0].rstrip('.')}.")
    return found


class Figures(dict[str, int]):
    """Figures of the page by number: one is drawn where it is shown first, and then named."""

    def of(
        self, files: Sequence[str], drawn: Mapping[str, dict[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        """The next figures, of those that were drawn: whether each is the first, its number."""
        for file in filter(drawn.__contains__, files):
            is_first = file not in self
            number = self.setdefault(file, len(self) + 1)
            yield drawn[file] | {"number": number, "is_first": is_first}


def made_table(path: Path) -> dict[str, Any]:
    """A table that the exhibit wrote: its title, its body and whether it is long."""
    text = path.read_text("utf-8")
    heading, _, body = text.removeprefix("<h1>").partition("</h1>")
    made = {"title": Markup(heading), "body": Markup(body)}
    return made | {"is_long": max(text.count("<tr"), text.count("<p>")) > MOST_ROWS}


def table(frame: pd.DataFrame) -> Markup:
    """Numbers to four digits; wide tables scroll."""
    frame = frame.replace({r"\n": " "}, regex=True)
    text = frame.to_html(index=False, border=0, na_rep="", float_format=lambda x: f"{x:.4g}")
    return Markup(f'<div class="wide">{text}</div>')


def ledger(folder: Path) -> dict[str, Any]:
    """The claims by the severity of their error, the refuted first."""
    frame = pd.read_csv(folder / "claims.csv", dtype=str).fillna("")
    numbered = [statement_of(id_) for id_ in frame["id"]]
    frame["place"] = [found.name if found else "" for found in numbered]
    frame["statement"] = [claims()[i].statement if i in claims() else "" for i in frame["id"]]
    frame = frame.sort_values("verdict", key=lambda x: x.map(VERDICTS.index), kind="stable")
    return {of: frame[frame["severity"] == of].to_dict("records") for of in (*SEVERITIES, "")}


def made(folder: Path) -> list[dict[str, Any]]:
    """Of every manifest its command, commit, time, streams of data sets, versions and files."""
    lines = []
    for path in sorted((folder / MANIFESTS).glob("*.json")):
        manifest = read_manifest(folder, path.stem)
        is_exhibit = path.stem in exhibits.names()
        streams = set[str]()
        if is_exhibit:
            cells = (entry.cell for entry in exhibits.load(path.stem).entries(False))
            streams = {cell.seeds[0] for cell in cells if "seeds" in cell.settings}
        lines.append(
            {
                "name": path.stem,
                "command": f"reproduce run {path.stem}" if is_exhibit else "proofs_checks",
                "commit": str(manifest.get("commit"))[: readme.SHORT],
                "finished": str(manifest.get("finished", ""))[:16],
                "streams": ", ".join(sorted(streams)),
                "versions": [[f"{x} {of[x]}" for x in of] for of in manifest.get("versions", [])],
                "files": manifest.get("files", {}),
            }
        )
    return lines
