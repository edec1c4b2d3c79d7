"""`python -m reproduce report`: everything on one page that needs no network.

A template (`reproduce/templates/page.html`) puts together what the generated files say: the
README's sections, figures and tables of every exhibit, the ledger, and how all came about.
"""

import html
import re
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from nbconvert.filters import markdown2html

from proofs_checks.numbering import statement_of
from reproduce import compare, exhibits, findings, provenance, readme, seeds
from reproduce.layout import as_html
from reproduce.output import MANIFESTS, read_manifest
from reproduce.provenance import ROOT
from reproduce.spec import Cell

NAME = "report.html"
SCALE = 0.52  # pixels of the page for one of a picture: two of a column's width side by side
MOST_ROWS = 20  # longer tables are folded
COMPARED = [*compare.KEY, "published", "published_se", "ours", "ours_se", "verdict", "reason"]
CHAIN = ROOT / "proofs_checks" / "corrected" / "corrected.md"


def page(folder: Path) -> str:
    """The HTML of the page."""
    about = readme.describe([], [], folder) | {"link": ".", "mark": readme.MARK}
    loaded = {kind: list(map(exhibits.load, exhibits.of_kind(kind))) for kind in ("paper", "own")}
    about["exhibits"] = []
    texts = {
        name: section(readme.rendered(template, folder, about), folder)
        for name, template in {**readme.SECTIONS, "deviations": "deviations.md"}.items()
    }
    environment = findings.environment(folder).overlay(autoescape=True)
    return environment.get_template("page.html").render(
        texts,
        kinds={
            kind: [exhibit_page(exhibit.name, folder) for exhibit in listed]
            for kind, listed in loaded.items()
        },
        commit=str(provenance.commit()["commit"])[: readme.SHORT],
        date=datetime.now(UTC).date().isoformat(),
        ledger=ledger(folder),
        chain=Markup(markdown(CHAIN.read_text("utf-8"), level=2)),
        made=made(folder),
        seeds=seeds.ROOT,
        rule=seeds.describe(Cell("reproduce.fits:compute", {"seeds": "table_2"}))["rule"],
    )


def exhibit_page(name: str, folder: Path) -> dict[str, Any]:
    """What the template shows of an exhibit."""
    exhibit = exhibits.load(name)
    described = readme.describe_exhibit(exhibit, "", folder)
    files = described["files"]
    compared = None
    if exhibit.published and files:
        compared = table(compare.compare(exhibit, folder)[COMPARED])
    return described | {
        "pictures": [figure(folder, *both) for both in described["captions"].items()],
        "tables": [made_table(folder / file) for file in files if file.endswith(".html")],
        "compared": compared,
        "csvs": [file for file in files if file.endswith(".csv")],
    }


def section(text: str, folder: Path) -> Markup:
    """A section of the README as HTML, its pictures inside."""
    inside = re.sub(
        r'<img src="\./([^"]+)" width="(\d+)" alt="([^"]*)">',
        lambda match: picture(folder, match[1], match[3], int(match[2])),
        markdown(text),
    )
    return Markup(inside)


def markdown(text: str, level: int = 0) -> str:
    """HTML of Markdown, its headings so many levels lower; mathematics is code, not emphasis."""
    text = re.sub(r"^#", "#" * (level + 1), text.replace("```math", "```"), flags=re.MULTILINE)
    text = re.sub(r"\$\$?([^$]+)\$\$?", lambda match: f"`{' '.join(match[1].split())}`", text)
    page = re.sub(r'<a class="anchor-link".*?</a>', "", str(markdown2html(text)))
    return page.replace("<table>", '<div class="wide"><table>').replace(
        "</table>", "</table></div>"
    )


def picture(folder: Path, name: str, text: str = "", width: int = 0) -> Markup:
    """An image inside the page; "" where there is none."""
    if not (folder / name).is_file():
        return Markup("")
    content = (folder / name).read_bytes()
    width = width or round(SCALE * int.from_bytes(content[16:20], "big"))  # of a PNG
    source = f"data:image/png;base64,{b64encode(content).decode()}"
    label = html.escape(text or name.removesuffix(".png").replace("_", " "))
    return Markup(f'<p class="picture"><img alt="{label}" width="{width}" src="{source}"></p>')


def figure(folder: Path, name: str, caption: str) -> Markup:
    """A picture with its caption, which is also its text for those who do not see it."""
    text = as_html(html.escape(caption))
    return Markup(
        f"<figure>{picture(folder, name, caption)}<figcaption>{text}</figcaption></figure>"
    )


def made_table(path: Path) -> dict[str, Any]:
    """A table that the exhibit wrote as HTML: its title, its body and whether it is long."""
    text = path.read_text("utf-8")
    title = re.search(r"<title>(.*?)</title>", text)
    body = Markup(text.partition("</h1>")[2])
    heading = Markup(title[1]) if title else path.stem
    return {"title": heading, "body": body, "is_long": text.count("<tr>") > MOST_ROWS}


def table(frame: pd.DataFrame) -> Markup:
    """Numbers to four digits; wide tables scroll."""
    frame = frame.replace({r"\n": " "}, regex=True)
    text = frame.to_html(index=False, border=0, na_rep="", float_format=lambda x: f"{x:.4g}")
    return Markup(f'<div class="wide">{text}</div>')


def ledger(folder: Path) -> Markup:
    """Every claim with its number in the PDF, its verdict and what to write instead.

    The refuted ones that affect a theorem come first.
    """
    frame = pd.read_csv(folder / "claims.csv", dtype=str).fillna("")
    numbered = [statement_of(id_) for id_ in frame["id"]]
    frame.insert(0, "in the PDF", [found.name if found else "" for found in numbered])
    order = {"theorem": 0, "constant": 1, "cosmetic": 2}
    frame = frame.sort_values("severity", key=lambda x: x.map(order).fillna(3), kind="stable")
    columns = ["in the PDF", "verdict", "severity", "corrected", "counterexample", "how", "id"]
    return table(frame[columns])


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
                "versions": manifest.get("versions", []),
                "files": manifest.get("files", {}),
            }
        )
    return lines
