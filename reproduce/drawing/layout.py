"""Tables for LaTeX and as pages, published beside ours; and what figures share."""

import html
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Template
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes as Axes  # the exhibits' annotations name it from here
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure as Figure

from reproduce.drawing.notes import DESCRIPTION, described
from reproduce.engine.nouns import FAILED, NOT_RUN, Array
from reproduce.engine.view import View
from reproduce.paper import published
from reproduce.paper.judge import number

PAPER = "paper"
MARKS = {"not_converged": "†", "diverged": "‡"}
# Okabe and Ito's palette, whose colours the colour-blind tell apart
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
# method -> its colour and marker in every figure; numbers that the paper reports are hollow
LOOKS = {published.OURS: (VERMILION, "o"), "GLADIUS": (PURPLE, "P"), "network": (GREEN, "v")}
LOOKS |= {
    "Rust": (BLUE, "^"),
    "ML-IRL": (SKY, "D"),
    "SAmQ": (ORANGE, "s"),
    "plug-in": (ORANGE, "s"),
}
LOOKS |= {"IQ-learn": ("#332288", "s"), "BC": (GREY, "X")}
WIDTH = 4.4  # inches, of a figure: on a telephone, 390 pixels, FONT is 10 of these
FONT = 8.0  # points; the least in a figure or a table
SIGNS = 14.0  # of a title on an inch
LEADING = 1.8  # a line of text, in FONT, where the panel is two thirds of the height
DARKER = 0.75  # of a line's colour, that of its label
NARROW, BROAD = frozenset(" .,;:'()[]|ijlft"), frozenset("-+=%mw")
TEXT_WIDTH, GAP, WRAPPED, LABEL = 469, 8, 105, 150  # points: a page, between columns, paragraphs
MOST_LINES = 46  # of a table and its notes that are on one page
MARKUP: dict[str, str | int | None] = {sign: f"\\{sign}" for sign in "&%$#_{}"}
MARKUP |= {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
# these are other signs in LaTeX's oldest font encoding
MARKUP |= {"<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}"}
MARKUP |= {"†": "$^{\\dagger}$", "‡": "$^{\\ddagger}$"}
GREEK = "theta|zeta|beta|gamma|tau|rho|epsilon"
# what is mathematics in a text; and how it is written in LaTeX
MATHS = re.compile(
    r"((?<![\w.])-?[1-9]\d*(?:\.\d+)?e[+-]\d+|"
    rf"(?:\b(?:{GREEK}|[A-Z]|a)_\w+|\bp_-|\b(?:{GREEK})\b)(?:\^\d)?|\b[rQ]-hat\b"
    r"|\bsqrt\(\w+\)|\b10\^-?\d+|\+-|>=|(?<![\w.])-(?=[\d.]|gamma))"
)
TEX = {rf"({GREEK}|perp)": r"\\\1 ", r"_(.[\w\\ ]*)": r"_{\1}", r"\^(-?\d+)": r"^{\1}"}
TEX |= {
    r"^(.*)e\+?(-?)0*(\d+)$": r"\1\\cdot10^{\2\3}",
    r"(\w)-hat": r"\\hat{\1}",
    r"sqrt\((\w+)\)": r"\\sqrt{\1}",
    r"\+-": r"\\pm",
    ">=": r"\\geq",
}


@dataclass(frozen=True)
class Column:
    """A column of a table: a method under a protocol (`paper`: the published number).

    `header` is the second line of the heading, by default the protocol.
    """

    column: str
    protocol: str
    header: str = ""


def side_by_side(results: View, columns: Sequence[Column], source: str, index: str) -> pd.DataFrame:
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


def texts(results: View) -> dict[tuple[str, str, str], str]:
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
    if not 1e-5 < errors[0] < 1e4 or not abs(value) < 1e6:
        return f"{number(value)} ({', '.join(map(number, errors))})"
    digits = max(0, 1 - math.floor(math.log10(float(f"{errors[0]:.1e}"))))
    return f"{value:.{digits}f} ({', '.join(f'{error:.{digits}f}' for error in errors)})"


def mathematics(text: str, escape: Callable[[str], str] = str) -> str:
    """The text with its MATHS between dollars, as LaTeX and figures have it; `escape` the rest."""
    pieces = MATHS.split(text)
    for i, words in enumerate(pieces):
        pieces[i] = f"${_tex(words)}$" if i % 2 else escape(words)
    return "".join(pieces)


def _tex(formula: str) -> str:
    for pattern, tex in TEX.items():
        formula = re.sub(pattern, tex, formula)
    return formula


def _escaped(text: object) -> str:
    return mathematics(str(text), lambda words: words.translate(str.maketrans(MARKUP)))


def as_html(text: str) -> str:
    """The Greek letters of HTML as such, with their indices, and names in back quotes as code."""
    text = re.sub("`([^`\n]+)`", r"<code>\1</code>", text)
    text = re.sub(rf"\b({GREEK})(?:_(\d+))?\b", r"&\1;<sub>\2</sub>", text)
    return text.replace("<sub></sub>", "").replace("+-", "&plusmn;")


def write(table: pd.DataFrame, out: Path, name: str, title: str, notes: Sequence[str] = ()) -> None:
    """Write `<name>.tex`, for \\input, and `<name>.md`; the same table gives the same bytes.

    The LaTeX needs array, booktabs, longtable and threeparttable. A table that is wider than the
    page becomes several, each with the row labels; one that is longer is a longtable. The notes
    stand under the last. Of several levels of row labels the last is a column, the others head
    groups of rows. If the title begins with a number of the paper, the caption says whose it is.
    The Markdown is a table in HTML, as Markdown has no groups of rows. No blank line is in it.
    """
    labels = [_levels(label)[-1] for label in table.index]
    longest = [max(map(points_of, (*_levels(c), *table[c]))) for c in table.columns]
    room = TEXT_WIDTH - min(LABEL, max(map(points_of, labels), default=0))
    for number_of_parts in range(1, len(longest) + 1):
        pieces = np.array_split(np.arange(len(longest)), number_of_parts)
        if all(sum(GAP + min(WRAPPED, longest[j]) for j in piece) <= room for piece in pieces):
            break
    caption = re.sub(r"^(Table|Figure) (\w+)\b", r"Replication of \1 \2 of the paper", title)
    about: dict[str, Any]
    pages, size = [], 0.0
    for i, piece in enumerate(pieces, 1):
        columns = table.iloc[:, piece]
        under = notes if i == len(pieces) else ()
        sides = [_side(max(map(points_of, labels), default=0), LABEL, "l")]
        sides += [_side(longest[j], WRAPPED, "r") for j in piece]
        groups = [
            (_escaped(", ".join(group)), [list(map(_escaped, line)) for _, line in lines])
            for group, lines in groupby(_lines(columns), lambda line: line[0])
        ]
        about = {"caption": _escaped(caption) + (f" ({i} of {len(pieces)})" if pieces[1:] else "")}
        about |= {"label": name + (f"-{i}" if i > 1 else ""), "sides": "".join(sides)}
        about |= {"width": len(sides), "heads": _heads(columns), "groups": groups}
        pages.append(about | {"notes": list(map(_escaped, under))})
        lengths = [max(1.0, *(points_of(x) / WRAPPED for x in line)) for _, line in _lines(columns)]
        of_notes = sum(points_of(note) / TEXT_WIDTH + 0.5 for note in under)
        size = max(size, sum(lengths) + 1.3 * len(groups) + of_notes)
    text = _template().render(parts=pages, is_long=size > MOST_LINES, gap=GAP)
    (out / f"{name}.tex").write_text(text, encoding="utf-8")
    with pd.option_context("display.max_colwidth", None):  # or long texts are cut
        body = table.to_html(border=0)
    body += "\n" + "".join(f"<p>{html.escape(note)}</p>\n" for note in notes)
    page = f"<h1>{html.escape(title)}</h1>\n{as_html(body)}"
    (out / f"{name}.md").write_text(page, encoding="utf-8")


@cache
def _template() -> Template:
    """`templates/table.tex`, whose tags leave LaTeX its braces."""
    tags = ("<%", "%>", "<<", ">>")
    text = (Path(__file__).parents[1] / "templates" / "table.tex").read_text("utf-8")
    template: Template = Template(text, *tags, trim_blocks=True, lstrip_blocks=True)
    return template


def _levels(label: Any) -> tuple[str, ...]:
    return tuple(map(str, label)) if isinstance(label, tuple) else (str(label),)


def points_of(text: object) -> float:
    """About the width of a text in the size of the tables, rather too much."""
    signs = str(text)
    broad = sum(sign in BROAD or sign.isupper() for sign in signs)
    return 4.3 * len(signs) + 2.3 * broad - 1.2 * sum(sign in NARROW for sign in signs)


def _side(width: float, most: float, side: str) -> str:
    return side if width <= most else f">{{\\raggedright\\arraybackslash}}p{{{most}pt}}"


def _lines(table: pd.DataFrame) -> list[tuple[tuple[str, ...], list[str]]]:
    """Of each row the upper levels of its label, and the last with its texts."""
    labels = map(_levels, table.index)
    pairs = zip(labels, table.to_numpy(), strict=True)
    return [(label[:-1], [label[-1], *map(str, texts)]) for label, texts in pairs]


def _heads(table: pd.DataFrame) -> list[list[str]]:
    """The lines of the heading: equal neighbours of an upper line share a cell, with a rule."""
    *upper, last = zip(*map(_levels, table.columns), strict=True)
    lines, rules = [], ""
    for level in upper:
        cells, start = [rules], 2
        rules = ""
        for name, same in groupby(level):
            end = start + len(list(same)) - 1
            cells.append(f"\\multicolumn{{{end - start + 1}}}{{c}}{{{_escaped(name)}}}")
            rules += f"\\cmidrule(lr){{{start}-{end}}}" * bool(name)
            start = end + 1
        lines.append(cells)
    corner = table.index.names[-1] or table.columns.name or ""
    return [*lines, [rules + _escaped(corner), *map(_escaped, last)]]


def write_csv(frame: pd.DataFrame, path: Path, digits: int = 10) -> None:
    """Numbers to so many digits; the same on every system."""
    frame.to_csv(path, index=False, float_format=f"%.{digits}g", lineterminator="\n")


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches, drawn without a display; no global state is touched."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, out: Path, name: str, said: Mapping[str, object] | None = None) -> None:
    """`<name>.pdf` and `.png`, several panels with letters; the same figure gives the same bytes.

    Its title is its message with the numbers of `said`, none where the numbers do not show it. The
    alternative text, which both files carry, begins with that title. The caption is in
    `templates/notes.md`.
    """
    title, alt = described(name, said)
    if title:
        words = title.replace(" %", "\N{NO-BREAK SPACE}%")
        lines = textwrap.fill(words, round(SIGNS * float(figure.get_figwidth())))
        figure.suptitle(mathematics(lines), x=0.01, ha="left", fontsize=FONT + 1)
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    for letter, axes in zip(ascii_lowercase, panels if len(panels) > 1 else [], strict=False):
        of_panel = f"({letter}) {axes.get_title('left')}"
        axes.set_title(of_panel.strip(), loc="left", fontsize=FONT)
    with rc_context({"pdf.fonttype": 42}):  # journals do not take fonts of type 3
        metadata = {"CreationDate": None, "Title": title, "Subject": alt}
        figure.savefig(out / f"{name}.pdf", metadata=metadata)
    figure.savefig(out / f"{name}.png", dpi=250, metadata={DESCRIPTION: alt})


def points(axes: Axes, x: Any, y: Any, half: Any, method: str, label: str, **style: Any) -> None:
    """A method's points and error bars; these end above zero, for a logarithmic scale."""
    look: dict[str, Any] = {"linestyle": "none", "label": label, "markersize": 4}
    look |= {"elinewidth": 0.7, **dict(zip(("color", "marker"), LOOKS[method], strict=True))}
    axes.errorbar(x, y, [np.minimum(half, 0.9 * np.asarray(y)), half], **(look | style))


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


def label_lines(axes: Axes) -> None:
    """The label of each line at the panel's right, in its colour but darker, where the line ends.

    Labels that would meet move up, and those that would then be above the panel down.
    """
    panel: Any = axes  # its stubs allow for one without a figure
    height = 72 * panel.get_figure().get_figheight() / panel.get_gridspec().nrows
    gap, shares = LEADING * FONT / height, panel.transScale + panel.transLimits
    ends = list[tuple[float, Any, str]]()
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        line: Any = handle.lines[0] if isinstance(handle, ErrorbarContainer) else handle
        y = np.asarray(line.get_ydata(), dtype=float)
        for last in y[np.isfinite(y)][-1:]:
            _, end = shares.transform((axes.get_xlim()[0], last))
            ends.append((float(np.clip(end, 0.0, 1.0)), line, label))
    ends.sort(key=lambda of: of[0])
    halves = [gap * (1 + label.count("\n")) / 2 for _, _, label in ends]
    heights, top = list[float](), -math.inf
    for (end, _, _), half in zip(ends, halves, strict=True):
        heights.append(max(end, top + half))
        top = heights[-1] + half
    top = max([1.0, *(end + half for (end, _, _), half in zip(ends, halves, strict=True))])
    for k in reversed(range(len(ends))):
        (_, line, label), height = ends[k], min(heights[k], top - halves[k])
        top = height - halves[k]
        colour = np.multiply(to_rgb(line.get_color()), DARKER)
        style: dict[str, Any] = {"fontsize": FONT, "color": tuple(colour), "va": "center"}
        axes.text(1.02, height, mathematics(label), transform=axes.transAxes, **style)


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """The legend of one panel, under the whole figure."""
    handles, labels = axes.get_legend_handles_labels()
    style: dict[str, Any] = {"fontsize": FONT, "frameon": False, "ncols": columns}
    names = list(map(mathematics, labels))
    legend = figure.legend(handles, names, loc="outside lower center", **style)
    for artist in filter(None, legend.legend_handles):
        artist.set_alpha(1.0)
