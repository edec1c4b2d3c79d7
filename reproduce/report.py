"""`python -m reproduce report`: everything on one page that needs no network.

A notebook whose cells call this module is executed where the results lie and turned into a single
HTML file, pictures inside. It computes nothing: what it says is read from the generated files.
"""

from __future__ import annotations

import html
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from gladius.checks import InputError
from proofs_checks.claims import VERDICTS
from reproduce import compare, exhibits, readme, story
from reproduce.provenance import ROOT
from reproduce.run import read_manifest

if TYPE_CHECKING:
    from nbformat import NotebookNode

NAME = "report.html"
REPOSITORY = "../.."  # from the folder of the results, where the report is read
TITLE = "GLADIUS, checked"
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 Georgia, serif; max-width: 60rem; margin: 0 auto; padding: 0 1rem 4rem; }
h1, h2, h3, nav, table, .note { font-family: system-ui, sans-serif; }
h2 { border-top: 2px solid; padding-top: .6rem; margin-top: 3rem; }
h3 { margin-top: 2.2rem; }
img { max-width: 100%; height: auto; background: #fff; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .8rem; }
th, td { padding: .15rem .6rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 1px solid; }
tbody tr:nth-child(even) { background: rgb(128 128 128 / .12); }
.note { font-size: .8rem; opacity: .85; }
code { font-size: .85em; overflow-wrap: anywhere; }
.jp-InputArea, .prompt { display: none; }
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>
<body>
{body}
</body></html>
"""


# --- what the cells of the notebook show
def summary(folder: Path) -> str:
    """Page one: what was checked, the findings with their figures, totals, what is not said."""
    parts = []
    for number, found in enumerate(story.findings(folder), 1):
        parts.append(
            f"<h3>{number}. {html.escape(found.title)}</h3><p>{html.escape(found.text)}</p>"
        )
        parts += [picture(folder, name) for name in found.figures]
        parts.append(f'<p class="note">From {links(folder, found.exhibits)}.</p>')
    counts = pd.read_csv(folder / "claims.csv", dtype=str)["verdict"].value_counts()
    told = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if v in counts)
    parts.append(f"<h3>Of {counts.sum()} statements</h3><p>{told}: see the ledger below.</p>")
    unsaid = "".join(f"<li>{html.escape(line)}</li>" for line in story.LIMITS)
    return "".join(parts) + f"<h3>What this does not say</h3><ul>{unsaid}</ul>"


def exhibit(folder: Path, name: str) -> str:
    """Figures, then published beside ours, then how it came about."""
    loaded, manifest = exhibits.load(name), read_manifest(folder, name)
    head = f'<h3 id="{name}">{html.escape(loaded.title)}</h3>'
    if not manifest:
        return f"{head}<p>Not run: <code>python -m reproduce run {name}</code></p>"
    parts = [head]
    verdict = "; ".join(readme.said(loaded, folder))
    if verdict:
        parts.append(f"<p>{html.escape(verdict)}.</p>")
    files = list(manifest["files"])
    parts += [picture(folder, file) for file in files if file.endswith(".png")]
    if loaded.published:
        frame = compare.compare(loaded, folder)
        shown = frame[[*compare.PLACE, "published", "published_se", "ours", "ours_se", "verdict"]]
        parts.append(folded("published beside ours", table(shown.assign(reason=frame["reason"]))))
    for file in files:
        if file.endswith(".csv") and not file.endswith("_timings.csv"):
            parts.append(folded(file, table(pd.read_csv(folder / file))))
    made = f"{manifest['finished']} at commit {str(manifest['commit'])[:12]}"
    command = f"<code>python -m reproduce run {name}</code>"
    told = f"{command}, {readme.time_of(name, folder)} of processor time, {made}"
    return "".join(parts) + f'<p class="note">{told}.</p>'


def ledger(folder: Path) -> str:
    """Every claim: verdict, numbers, and what to write instead."""
    frame = pd.read_csv(folder / "claims.csv", dtype=str).fillna("")
    shown = frame[["id", "verdict", "observed", "bound", "counterexample", "corrected"]]
    links_ = '<p><a href="ERRATA.md">ERRATA.md</a>, <a href="CLAIMS.md">CLAIMS.md</a></p>'
    return links_ + folded(f"all {len(frame)} claims", table(shown))


def page(path: Path) -> str:
    """A Markdown page of the repository."""
    from nbconvert.filters import markdown2html

    return str(markdown2html(path.read_text("utf-8")))


def picture(folder: Path, name: str) -> str:
    """An image, inside the page."""
    from base64 import b64encode

    if not (folder / name).is_file():
        return ""
    data = b64encode((folder / name).read_bytes()).decode()
    return f'<p><img alt="{name}" src="data:image/png;base64,{data}"></p>'


def table(frame: pd.DataFrame) -> str:
    """Numbers to four digits; wide ones scroll."""
    text = frame.to_html(index=False, border=0, na_rep="", float_format=lambda x: f"{x:.4g}")
    return f'<div class="wide">{text}</div>'


def folded(title: str, inside: str) -> str:
    """Shown on demand."""
    return f"<details><summary>{html.escape(title)}</summary>{inside}</details>"


def links(folder: Path, names: tuple[str, ...]) -> str:
    """Links to exhibits further down, with the commits that made them."""
    commits = (str(read_manifest(folder, name).get("commit", "?"))[:12] for name in names)
    pairs = zip(names, commits, strict=True)
    return ", ".join(f'<a href="#{name}">{name}</a> (commit {commit})' for name, commit in pairs)


# --- the notebook
def notebook(folder: Path) -> NotebookNode:
    """A cell for each part of the page, in order."""
    from nbformat import v4

    start = "from pathlib import Path\n\nfrom IPython.display import HTML\n\n"
    start += f"from reproduce import report\n\nfolder = Path({str(folder)!r})"
    cells = [v4.new_markdown_cell(f"# {TITLE}"), v4.new_code_cell(start)]
    parts = {"What was found": ["summary(folder)"], "Exhibits": []}
    parts["Exhibits"] = [f"exhibit(folder, {name!r})" for name in exhibits.names()]
    parts["The ledger"] = ["ledger(folder)"]
    chain = ROOT / "proofs_checks" / "corrected" / "corrected.md"
    parts["What holds instead"] = [f"page(Path({str(chain)!r}))"]
    for title, calls in parts.items():
        cells.append(v4.new_markdown_cell(f"## {title}"))
        cells += [v4.new_code_cell(f"HTML(report.{call})") for call in calls]
    made: NotebookNode = v4.new_notebook(cells=cells)
    return made


def write(folder: Path, out: Path, as_pdf: bool = False) -> list[Path]:
    """Execute the notebook and write the page; returns the files.

    Raises:
        InputError: the extra `report` or, for a PDF, a browser is not installed.
    """
    try:
        from nbconvert import HTMLExporter
        from nbconvert.preprocessors import ExecutePreprocessor
    except ImportError:
        hint = "install nbconvert and ipykernel: pip install 'gladius-checked[report]'"
        raise InputError("report", "nbconvert", hint) from None
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if as_pdf and browser is None:
        raise InputError("pdf", "no browser", f"install one of {', '.join(BROWSERS)}")
    made = notebook(folder)
    ExecutePreprocessor(timeout=600).preprocess(made, {"metadata": {"path": str(ROOT)}})
    exporter = HTMLExporter(template_name="basic", exclude_input=True, exclude_output_prompt=True)
    body, _ = exporter.from_notebook_node(made)
    out.write_text(PAGE.format(title=TITLE, style=STYLE, body=body), "utf-8")
    if browser is None or not as_pdf:
        return [out]
    printed = out.with_suffix(".pdf")
    options = ["--headless", "--no-sandbox", f"--print-to-pdf={printed}", out.resolve().as_uri()]
    subprocess.run([browser, *options], check=True, capture_output=True)
    return [out, printed]


BROWSERS = ("chromium", "chromium-browser", "google-chrome")
