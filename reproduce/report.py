"""`python -m reproduce report`: everything on one page that needs no network.

A notebook whose cells call this module is executed where the results lie and turned into a single
HTML file, pictures inside. It computes nothing: what it says is read from the generated files.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from gladius.checks import InputError
from proofs_checks.claims import claims
from proofs_checks.ledger import verdicts
from proofs_checks.numbering import statement_of
from reproduce import check, compare, deviations, exhibits, readme, seeds, story
from reproduce.provenance import ROOT
from reproduce.run import MANIFESTS, read_manifest
from reproduce.spec import Cell

if TYPE_CHECKING:
    from nbformat import NotebookNode

NAME = "report.html"
REPOSITORY = "../.."  # from the folder of the results, where the report is read
TITLE = "GLADIUS, checked"
SCALE = 0.52  # pixels of the page for one of a picture: two of a column's width side by side
COUNTERFACTUALS = ("counterfactual", "transfer")  # have a section of their own
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 Georgia, serif; max-width: 60rem; margin: 0 auto; padding: 0 1rem 4rem; }
h1, h2, h3, nav, table, .note { font-family: system-ui, sans-serif; }
h2 { border-top: 2px solid; padding-top: .6rem; margin-top: 3rem; }
h3 { margin-top: 2.2rem; }
.picture { display: inline-block; max-width: 100%; margin: .5rem 0; vertical-align: top; }
img { max-width: 100%; height: auto; background: #fff; }
pre { overflow-x: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .8rem; }
th, td { padding: .15rem .6rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 1px solid; }
tbody tr:nth-child(even) { background: rgb(128 128 128 / .12); }
.note { font-size: .8rem; opacity: .85; }
code { font-size: .85em; overflow-wrap: anywhere; }
.wide code { white-space: nowrap; }
.wide p { font-size: .8rem; margin: .3rem 0; }
@media (max-width: 40rem) {
  .texts thead { display: none; }
  .texts tr, .texts td { display: block; }
  .texts td:first-child { font-weight: bold; }
  .texts td:nth-child(2)::before { content: "The paper: "; }
  .texts td:nth-child(3)::before { content: "Ours: "; }
}
.jp-InputArea, .prompt, .anchor-link { display: none; }
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
    said, examined = readme.verdicts_of_the_paper(folder)
    parts.append(f"<h3>Of {len(said)} claims that the paper prints</h3>")
    more = f"{len(examined)} that it does not print and we examined: {verdicts(examined)}"
    parts.append(f"<p>{verdicts(said)}; {more}. See the ledger below.</p>")
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
    parts += [made_table(folder / file) for file in files if file.endswith(".html")]
    if loaded.published:
        frame = compare.compare(loaded, folder)
        shown = frame[[*compare.PLACE, "published", "published_se", "ours", "ours_se", "verdict"]]
        parts.append(folded("published beside ours", table(shown.assign(reason=frame["reason"]))))
    for file in files:
        if file.endswith(".csv") and not file.endswith("_timings.csv"):
            parts.append(folded(file, table(pd.read_csv(folder / file))))
    command = f"<code>python -m reproduce run {name}</code>"
    made = f'<a href="#made-{name}">made at commit {str(manifest["commit"])[:12]}</a>'
    told = f"{command}, {readme.time_of(name, folder)} of processor time, {made}"
    return "".join(parts) + f'<p class="note">{told}.</p>'


def decisions(folder: Path) -> str:
    """What the paper leaves open or we do otherwise, and what it changes."""
    rows = []
    for line in deviations.table(folder).to_dict("records"):
        told = [marked(str(line[key])) for key in ("decision", "paper", "ours", "effect")]
        told[-1] += (
            f'<br><span class="note">{links(folder, tuple(line["exhibits"].split()))}</span>'
        )
        rows.append("".join(f"<td>{text}</td>" for text in told))
    heads = "".join(f"<th>{head}</th>" for head in ("decision", "the paper", "ours", "effect"))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    shown = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    said = "What the paper leaves open, or we do otherwise, and what it changes: numbers of the"
    said += " exhibits named under them."
    return f'<p>{said}</p><div class="wide texts">{shown}</div>'


def time(folder: Path) -> str:
    """Times by workers, and beside another library; says what was not run."""
    parts = []
    if (folder / "workers.csv").is_file():
        parts.append(picture(folder, "workers.png"))
        said = "The same exhibits by one worker, by several, by Dask, and interrupted and run"
        said += " again: files, and of them those with the bytes of the first line."
        parts.append(f"<p>{said}</p>{table(pd.read_csv(folder / 'workers.csv'))}")
    if (folder / "speed.html").is_file():
        parts.append(made_table(folder / "speed.html"))
    for name in ("workers", "speed"):
        if not all((folder / file).is_file() for file in check.FILES[name]):
            parts.append(f"<p>Not run: <code>tox -e {name}</code></p>")
    return "".join(parts)


def provenance(folder: Path) -> str:
    """Of every exhibit command, commit, time, seeds; machines and versions; the checksums."""
    rows, files, known = [], [], {"machines": set[str](), "versions": set[str]()}
    every = sorted(path.stem for path in (folder / MANIFESTS).glob("*.json"))
    for name in every:
        manifest = read_manifest(folder, name)
        is_exhibit = name in exhibits.names()
        streams = _streams(name) if is_exhibit else ""
        link = f'<a href="#{name}">{name}</a>' if is_exhibit else name
        command = f"reproduce run {name}" if is_exhibit else check.MODULES.get(name, "")
        cells = (
            f'<td id="made-{name}">{link}</td>',
            f"<td><code>python -m {command}</code></td>",
            f"<td><code>{str(manifest.get('commit'))[:12]}</code></td>",
            f"<td>{str(manifest.get('finished', ''))[:16]}</td><td>{streams}</td>",
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
        files += [(file, digest) for file, digest in manifest.get("files", {}).items()]
        for key, texts in known.items():
            for item in manifest.get(key, []):
                texts.add(", ".join(f"{k} {v}" for k, v in sorted(item.items())))
    heads = ("exhibit", "command", "commit", "finished", "streams of data sets")
    head = "".join(f"<th>{text}</th>" for text in heads)
    made = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    told = ""
    for key, texts in known.items():
        items = "".join(f"<li>{html.escape(text)}</li>" for text in sorted(texts))
        told += f"<p>{key.capitalize()}:</p><ul>{items}</ul>"
    rule = seeds.describe(Cell("reproduce.fits:compute", {"seeds": "table_2"}))["rule"]
    told += f"<p>Seeds: root {seeds.ROOT}; {html.escape(rule)}.</p>"
    sums = table(pd.DataFrame(files, columns=pd.Index(["file", "SHA-256"])))
    return f'<div class="wide">{made}</div>{told}' + folded(f"{len(files)} checksums", sums)


def _streams(name: str) -> str:
    cells = (entry.cell for entry in exhibits.load(name).entries(False))
    return ", ".join(sorted({cell.seeds[0] for cell in cells if "seeds" in cell.settings}))


def made_table(path: Path) -> str:
    """A table that the exhibit wrote as HTML, with its notes, under its title."""
    text = path.read_text("utf-8")
    title = re.search(r"<title>(.*?)</title>", text)
    inside = f'<div class="wide">{text.partition("</h1>")[2]}</div>'
    return f"<details open><summary>{title[1] if title else path.stem}</summary>{inside}</details>"


def ledger(folder: Path) -> str:
    """Every claim: its statement with the PDF's number, verdict, and what to write instead."""
    frame = pd.read_csv(folder / "claims.csv", dtype=str).fillna("")
    known = claims()
    numbered = [statement_of(id_) for id_ in frame["id"]]
    frame.insert(1, "in the PDF", [found.name if found else "" for found in numbered])
    frame.insert(2, "statement", [known[id_].statement for id_ in frame["id"]])
    columns = ["id", "in the PDF", "statement", "verdict", "how", "counterexample", "corrected"]
    pages = ", ".join(
        f'<a href="{name}">{name}</a>' for name in ("claims/README.md", "ERRATA.md", "CLAIMS.md")
    )
    shown = folded(f"all {len(frame)} claims, ours among them", table(frame[columns]))
    return f"<p>A page for every claim, beside this one: {pages}</p>{shown}"


def page(path: Path) -> str:
    """A Markdown page of the repository, its headings below those of the report's sections."""
    from nbconvert.filters import markdown2html

    return str(markdown2html(re.sub(r"^#", "###", path.read_text("utf-8"), flags=re.MULTILINE)))


def picture(folder: Path, name: str) -> str:
    """An image, inside the page; "" where there is none."""
    from base64 import b64encode

    if not (folder / name).is_file():
        return ""
    content = (folder / name).read_bytes()
    width = SCALE * int.from_bytes(content[16:20], "big")  # of a PNG
    source = f"data:image/png;base64,{b64encode(content).decode()}"
    return f'<p class="picture"><img alt="{name}" width="{width:.0f}" src="{source}"></p>'


def marked(text: str) -> str:
    """A text whose names stand in backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


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
    parts = {"What was found": ["summary(folder)"], "Deviations": ["decisions(folder)"]}
    for title, kind in (("Tables and figures of the paper", "paper"), ("Our own studies", "own")):
        listed = [name for name in exhibits.of_kind(kind) if name not in COUNTERFACTUALS]
        parts[title] = [f"exhibit(folder, {name!r})" for name in listed]
    parts["Counterfactuals"] = [f"exhibit(folder, {name!r})" for name in COUNTERFACTUALS]
    parts["The ledger"] = ["ledger(folder)"]
    chain = ROOT / "proofs_checks" / "corrected" / "corrected.md"
    parts["What holds instead"] = [f"page(Path({str(chain)!r}))"]
    parts["Time"] = ["time(folder)"]
    parts["Provenance"] = ["provenance(folder)"]
    contents = " · ".join(f"[{title}](#{title.replace(' ', '-')})" for title in parts)
    cells[0].source += f"\n\n{contents}"
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
