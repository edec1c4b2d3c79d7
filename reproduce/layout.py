"""Tables for LaTeX and as HTML, published beside ours; and what figures share."""

import html
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes as Axes  # the exhibits' annotations name it from here
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Figure

from reproduce import published
from reproduce.judge import number
from reproduce.results import Results
from reproduce.spec import FAILED, NOT_RUN, Array

PAPER = "paper"
MARKS = {"not_converged": "†", "diverged": "‡"}
# Okabe and Ito's palette, whose colours the colour-blind tell apart
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
# method -> its colour and marker in every figure; numbers that the paper reports are hollow
LOOKS = {"GLADIUS": (VERMILION, "o"), "authors' code": (PURPLE, "P"), "network": (GREEN, "v")}
LOOKS |= {"Rust": (BLUE, "^"), "ML-IRL": (SKY, "D"), "PQR": (ORANGE, "s")}
LOOKS |= {"IQ-learn": ("#332288", "s"), "BC": (GREY, "X")}
COLUMN_WIDTH, PAGE = 3.5, 7.0  # inches
FONT = 8.0  # points; the least in a figure or a table
SIZE = "\\fontsize{8}{9.6}\\selectfont"
TEXT_WIDTH, CHARACTER, GAP = 469, 4.4, 8  # points: a page, a character, between two columns
LONG, WRAPPED, LABEL = 30, 100, 150  # characters of a paragraph; points of it, and of a row's label
MOST_LINES = 46  # of a table and its notes that are on one page
MARKUP: dict[str, str | int | None] = {sign: f"\\{sign}" for sign in "&%$#_{}"}
MARKUP |= {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
# these are other signs in LaTeX's oldest font encoding
MARKUP |= {"<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}"}
MARKUP |= {"†": "$^{\\dagger}$", "‡": "$^{\\ddagger}$"}
GREEK = "theta|zeta|beta|gamma|tau|rho|epsilon"
# what is mathematics in a text; and how it is written in LaTeX
MATHS = re.compile(
    rf"((?:\b(?:{GREEK}|[A-Z]|a)_\w+|\bp_-|\b(?:{GREEK})\b)(?:\^\d)?|\b[rQ]-hat\b"
    r"|\bsqrt\(\w+\)|\b10\^-?\d+|\+-|>=|(?<![\w.])-(?=[\d.]|gamma))"
)
TEX = {rf"({GREEK}|perp)": r"\\\1 ", r"_(.[\w\\ ]*)": r"_{\1}", r"\^(-?\d+)": r"^{\1}"}
TEX |= {r"(\w)-hat": r"\\hat{\1}", r"sqrt\((\w+)\)": r"\\sqrt{\1}", r"\+-": r"\\pm", ">=": r"\\geq"}


@dataclass(frozen=True)
class Column:
    """A column of a table: a method under a protocol (`paper`: the published number).

    `header` is the second line of the heading, by default the protocol.
    """

    column: str
    protocol: str
    header: str = ""


def side_by_side(
    results: Results, columns: Sequence[Column], source: str, index: str
) -> pd.DataFrame:
    """A table of texts, `value (se)`, rows in the order of the cells.

    `source` names the published table and `index` what the rows are. A mark says how a number came
    about (MARKS); `failed` and `not run` stand where none did.
    """
    cells = texts(results)
    rows = list(dict.fromkeys(row for row, _, _ in cells))
    for line in published.load(source).to_dict("records"):
        if line["statistic"] == "MAPE":
            printed = line["value"] + (f" ({line['se']})" if line["se"] else "")
            cells[line["row"], line["column"], PAPER] = printed
    table = {}
    for column in columns:
        missing = "" if column.protocol == PAPER else "not run"
        head = (column.column, column.header or column.protocol)
        table[head] = [cells.get((row, column.column, column.protocol), missing) for row in rows]
    return pd.DataFrame(table, index=pd.Index(rows, name=index))


def texts(results: Results) -> dict[tuple[str, str, str], str]:
    """(row, column, protocol) -> `text` of the MAPE."""
    frame = results.frame()
    lines = [line for _, line in frame[frame["statistic"] == "MAPE"].iterrows()]
    return {(line["row"], line["column"], line["protocol"]): text(line) for line in lines}


def text(line: pd.Series) -> str:
    """`value (se)` of a line of the long table and its mark; else `not run` or `failed`."""
    status, value, se = str(line["status"]), float(line["value"]), float(line["se"])
    if status == NOT_RUN:
        return "not run"
    if status.startswith(FAILED) and math.isnan(value):
        return "failed"
    return (number(value) if math.isnan(se) else estimate(value, se)) + MARKS.get(status, "")


def estimate(value: float, *errors: float) -> str:
    """`value (error)`: two digits of the first error, and all numbers to the same place."""
    if not 0 < errors[0] < 1e4 or not abs(value) < 1e6:
        return f"{number(value)} ({', '.join(map(number, errors))})"
    places = max(0, 1 - math.floor(math.log10(float(f"{errors[0]:.1e}"))))
    return f"{value:.{places}f} ({', '.join(f'{error:.{places}f}' for error in errors)})"


def mathematics(text: str, escape: Callable[[str], str] = str) -> str:
    """The text with its MATHS between dollars, as LaTeX and figures have it; `escape` the rest."""
    parts = MATHS.split(text)
    for i, part in enumerate(parts):
        parts[i] = f"${_tex(part)}$" if i % 2 else escape(part)
    return "".join(parts)


def _tex(part: str) -> str:
    for pattern, tex in TEX.items():
        part = re.sub(pattern, tex, part)
    return part


def _escaped(text: object) -> str:
    return mathematics(str(text), lambda part: part.translate(str.maketrans(MARKUP)))


def as_html(text: str) -> str:
    """The Greek letters of HTML as such, with their indices."""
    text = re.sub(rf"\b({GREEK})(?:_(\d+))?\b", r"&\1;<sub>\2</sub>", text)
    return text.replace("<sub></sub>", "").replace("+-", "&plusmn;")


def write(table: pd.DataFrame, out: Path, name: str, title: str, notes: Sequence[str] = ()) -> None:
    """Write `<name>.tex`, for \\input, and `<name>.html`; the same table gives the same bytes.

    The LaTeX needs array, booktabs, longtable and threeparttable. A table that is wider than the
    page becomes several, each with the row labels; one that is longer becomes a longtable. The
    notes stand under the last. Of several levels of labels the last is a column, the others head
    groups of rows. A number of the paper at the start of the title is the replicated one's.
    """
    labels = [str(label[-1] if isinstance(label, tuple) else label) for label in table.index]
    longest = [max(len(str(x)) for x in (*_levels(c), *table[c])) for c in table.columns]
    widths = [GAP + (WRAPPED if most > LONG else most * CHARACTER) for most in longest]
    room = TEXT_WIDTH - min(LABEL, max(map(len, labels), default=0) * CHARACTER)
    for number in range(1, len(widths) + 1):
        pieces = np.array_split(np.arange(len(widths)), number)
        if all(sum(widths[j] for j in columns) <= room for columns in pieces):
            break
    caption = re.sub(r"^(Table|Figure) (\w+)\b", r"Replication of \1 \2 of the paper", title)
    floats = []
    for i, columns in enumerate(pieces, 1):
        part = f" ({i} of {number})" if number > 1 else ""
        head = f"\\caption{{{_escaped(caption + part)}}}\n"
        head += f"\\label{{tab:{name}{f'-{i}' if i > 1 else ''}}}"
        sides = [_paragraph(WRAPPED) if longest[j] > LONG else "r" for j in columns]
        under = notes if i == number else ()
        floats.append(_piece(table.iloc[:, columns], head, sides, under))
    (out / f"{name}.tex").write_text("\n".join(floats), encoding="utf-8")
    with pd.option_context("display.max_colwidth", None):  # or long texts are cut
        body = table.to_html(border=0)
    body += "\n" + "".join(f"<p>{html.escape(note)}</p>\n" for note in notes)
    heading = html.escape(title)
    page = f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>{heading}</title>\n'
    page += f"<h1>{heading}</h1>\n{as_html(body)}"
    (out / f"{name}.html").write_text(page, encoding="utf-8")


def _levels(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _paragraph(points: float) -> str:
    return f">{{\\raggedright\\arraybackslash}}p{{{points}pt}}"


def _piece(table: pd.DataFrame, head: str, sides: Sequence[str], notes: Sequence[str]) -> str:
    """A float with its notes; where a page is too short for it, a longtable and then the notes."""
    labels = [_levels(label) for label in table.index]
    is_wide = max((len(str(label[-1])) for label in labels), default=0) * CHARACTER > LABEL
    columns = "".join(["@{\\extracolsep{\\fill}}", _paragraph(LABEL) if is_wide else "l", *sides])
    heading, size, groups = _heading(table), 0, list[tuple[Any, ...]]()
    body = list[str]()
    for label, cells in zip(labels, table.to_numpy(), strict=True):
        if label[:-1] and label[:-1] not in groups[-1:]:
            group = _escaped(", ".join(map(str, label[:-1])))
            space = "\\addlinespace\n" if groups else ""
            body.append(
                f"{space}\\multicolumn{{{len(sides) + 1}}}{{@{{}}l}}{{\\textit{{{group}}}}} \\\\"
            )
            groups.append(label[:-1])
        body.append(" & ".join(map(_escaped, (label[-1], *cells))) + " \\\\")
        size += max([1, *(len(str(x)) * CHARACTER / WRAPPED for x in cells if len(str(x)) > LONG)])
    lines = "\n".join(body)
    size += 1.3 * len(groups) + sum(len(note) * CHARACTER / TEXT_WIDTH + 0.5 for note in notes)
    if size <= MOST_LINES:
        items = "".join(f"\\item {_escaped(note)}\n" for note in notes)
        under = f"\\begin{{tablenotes}}[flushleft]\n{SIZE}\n{items}\\end{{tablenotes}}\n"
        return (
            f"\\begin{{table}}\n\\centering\n\\begin{{threeparttable}}\n{head}\n{SIZE}\n"
            f"\\setlength{{\\tabcolsep}}{{{GAP // 2}pt}}\n"
            f"\\begin{{tabular*}}{{\\linewidth}}{{{columns}@{{}}}}\n\\toprule\n{heading}\\midrule\n"
            f"{lines}\n\\bottomrule\n\\end{{tabular*}}\n{under if notes else ''}"
            "\\end{threeparttable}\n\\end{table}\n"
        )
    under = "".join(f"\\par {_escaped(note)}\n" for note in notes)
    return (
        f"{{{SIZE}\n\\setlength{{\\tabcolsep}}{{{GAP // 2}pt}}\n"
        "\\setlength{\\LTleft}{0pt}\\setlength{\\LTright}{0pt}\\setlength{\\LTcapwidth}{\\linewidth}\n"
        f"\\begin{{longtable}}{{{columns}@{{}}}}\n{head} \\\\\n"
        f"\\toprule\n{heading}\\midrule\n\\endfirsthead\n\\toprule\n{heading}\\midrule\n\\endhead\n"
        f"\\bottomrule\n\\endfoot\n{lines}\n\\end{{longtable}}\n"
        f"\\begin{{flushleft}}\n{under}\\end{{flushleft}}\n}}\n"
    )


def _heading(table: pd.DataFrame) -> str:
    """The lines of the heading: equal neighbours of an upper line have one cell."""
    levels = list(zip(*map(_levels, table.columns), strict=True))
    text = ""
    for level in levels[:-1]:
        cells, rules, start = list[str](), "", 2
        for name, same in groupby(level):
            end = start + len(list(same)) - 1
            cells.append(f"\\multicolumn{{{end - start + 1}}}{{c}}{{{_escaped(name)}}}")
            rules += f"\\cmidrule(lr){{{start}-{end}}}" if name else ""
            start = end + 1
        text += f" & {' & '.join(cells)} \\\\\n{rules}\n"
    corner = table.index.names[-1] or table.columns.name or ""
    return text + f"{' & '.join(map(_escaped, (corner, *levels[-1])))} \\\\\n"


def write_csv(frame: pd.DataFrame, path: Path, digits: int = 10) -> None:
    """Numbers to so many digits; the same on every system."""
    frame.to_csv(path, index=False, float_format=f"%.{digits}g", lineterminator="\n")


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches, drawn without a display; no global state is touched."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, out: Path, name: str) -> None:
    """`<name>.pdf` and `.png`, several panels with letters; the same figure gives the same bytes.

    Its caption is in `templates/notes.md`.
    """
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    for letter, axes in zip(ascii_lowercase, panels if len(panels) > 1 else [], strict=False):
        title = f"({letter}) {axes.get_title('left')}"
        axes.set_title(title.strip(), loc="left", fontsize=FONT)
    with rc_context({"pdf.fonttype": 42}):  # journals do not take fonts of type 3
        figure.savefig(out / f"{name}.pdf", metadata={"CreationDate": None})
    figure.savefig(out / f"{name}.png", dpi=250)


def points(
    axes: Axes, x: Array, y: Array, half: Any, method: str, label: str, **style: Any
) -> None:
    """A method's points and error bars; these end above zero, for a logarithmic scale."""
    colour, marker = LOOKS[method]
    look = {"color": colour, "marker": marker, "label": label, "markersize": 4, "elinewidth": 0.7}
    bars = [np.minimum(half, 0.9 * np.asarray(y)), half]
    axes.errorbar(x, y, bars, **({"linestyle": "none"} | look | style))


def shades(number: int) -> Array:
    """Colours of settings, which are no methods, from dark to light."""
    return np.asarray(colormaps["viridis"](np.linspace(0.0, 0.85, number)))


def log_log(axes: Axes, x: Sequence[float], y: Sequence[float]) -> None:
    """Logarithmic axes with ticks at x, and at those of y that are in sight."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(x, [f"{tick:,g}" for tick in x])
    low, high = axes.get_ylim()
    ticks = [tick for tick in y if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_yticks([], minor=True)


def words(axes: Axes, x: str = "", y: str = "", title: str = "") -> None:
    """The words of a panel and its ticks in FONT, and a pale grid."""
    axes.set_xlabel(mathematics(x), fontsize=FONT)
    axes.set_ylabel(mathematics(y), fontsize=FONT)
    axes.set_title(mathematics(title), fontsize=FONT, loc="left")
    axes.tick_params(labelsize=FONT)
    axes.grid(alpha=0.25, linewidth=0.4)


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """The legend of one panel, under the whole figure."""
    handles, labels = axes.get_legend_handles_labels()
    style: dict[str, Any] = {"fontsize": FONT, "frameon": False, "ncols": columns}
    figure.legend(handles, list(map(mathematics, labels)), loc="outside lower center", **style)
