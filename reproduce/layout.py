"""Tables for LaTeX and as HTML, published beside ours; and what figures share."""

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes as Axes  # the exhibits' annotations name it from here
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Figure

from reproduce import published
from reproduce.judge import number
from reproduce.results import Results
from reproduce.spec import FAILED, NOT_RUN

PAPER = "paper"
MARKS = {"not_converged": "*", "diverged": "!"}
# Okabe and Ito's palette, whose colours the colour-blind tell apart
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
COLUMN_WIDTH, PAGE = 3.5, 7.0  # inches
MOST_COLUMNS = 8  # of a table on a page
LONG = 40  # characters
PARAGRAPH = ">{\\raggedright\\arraybackslash}p{.3\\linewidth}"
TO_WIDTH = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"
MARKUP: dict[str, str | int | None] = {sign: f"\\{sign}" for sign in "&%$#_{}"}
MARKUP |= {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
# these are other signs in LaTeX's oldest font encoding
MARKUP |= {"<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}"}
FONT = 7.0  # points


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
    return number(value) + ("" if math.isnan(se) else f" ({number(se)})") + MARKS.get(status, "")


def write(table: pd.DataFrame, out: Path, name: str, title: str, notes: Sequence[str] = ()) -> None:
    """Write `<name>.tex`, for \\input (array, booktabs, graphicx), and `<name>.html`.

    In LaTeX a table of more than MOST_COLUMNS columns becomes several, each with the row labels;
    lines part the groups of rows, and a table that is too wide all the same is scaled to the
    text's width. The notes stand under the last. The same table gives the same bytes.
    """
    number = math.ceil(table.shape[1] / (MOST_COLUMNS - table.index.nlevels))
    floats = []
    for i, columns in enumerate(np.array_split(np.arange(table.shape[1]), number), 1):
        caption = title if number == 1 else f"{title} ({i} of {number})"
        label = name if i == 1 else f"{name}-{i}"
        under = "".join(f"\\par\\footnotesize {_escaped(note)}\n" for note in notes if i == number)
        body = _tabular(table.iloc[:, columns])
        floats.append(
            f"\\begin{{table}}\n\\centering\n\\caption{{{_escaped(caption)}}}\n"
            f"\\label{{tab:{label}}}\n{TO_WIDTH}\n{body}}}\n{under}\\end{{table}}\n"
        )
    (out / f"{name}.tex").write_text("\n".join(floats), encoding="utf-8")
    with pd.option_context("display.max_colwidth", None):  # or long texts are cut
        body = table.to_html(border=0)
    under = "".join(f"<p>{html.escape(note)}</p>\n" for note in notes)
    heading = html.escape(title)
    page = f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>{heading}</title>\n'
    page += f"<h1>{heading}</h1>\n{body}\n{under}"
    (out / f"{name}.html").write_text(page, encoding="utf-8")


def _tabular(table: pd.DataFrame) -> str:
    """The tabular alone: texts that are LONG as paragraphs, a line after each group of rows."""
    levels = [table.index.get_level_values(level) for level in range(table.index.nlevels)]
    columns = [table.iloc[:, column] for column in range(table.shape[1])]
    longest = [max(map(len, map(str, texts)), default=0) for texts in (*levels, *columns)]
    sides = "l" * len(levels) + "r" * len(columns)
    styled = table.style.format(_escaped).format_index(_escaped, axis=1)
    tex: str = styled.format_index(_escaped, axis=0).to_latex(
        hrules=True,
        clines="skip-last;data" if len(levels) > 1 else None,
        column_format="".join(
            PARAGRAPH if length > LONG else side
            for side, length in zip(sides, longest, strict=True)
        ),
        multicol_align="c",
        multirow_align="naive",
    )
    tex = tex.replace("\\cline{", "\\cmidrule{")
    return re.sub(r"(\\cmidrule\S+\s+)+\\bottomrule", r"\\bottomrule", tex)


def _escaped(text: object) -> str:
    return str(text).translate(str.maketrans(MARKUP))


def write_csv(frame: pd.DataFrame, path: Path, digits: int = 10) -> None:
    """Numbers to so many digits; the same on every system."""
    frame.to_csv(path, index=False, float_format=f"%.{digits}g", lineterminator="\n")


def new_figure(width: float, height: float, title: str | None = None) -> Figure:
    """An empty figure in inches, drawn without a display; no global state is touched."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    if title is not None:
        figure.suptitle(title, fontsize=FONT + 1)
    return figure


def save(figure: Figure, out: Path, name: str) -> None:
    """`<name>.pdf` and `.png`; the same figure gives the same bytes."""
    figure.savefig(out / f"{name}.pdf", metadata={"CreationDate": None})
    figure.savefig(out / f"{name}.png", dpi=250)


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
    axes.set_xlabel(x, fontsize=FONT)
    axes.set_ylabel(y, fontsize=FONT)
    axes.set_title(title, fontsize=FONT + 1)
    axes.tick_params(labelsize=FONT)
    axes.grid(alpha=0.25, linewidth=0.4)


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """The legend of one panel, under the whole figure."""
    handles, labels = axes.get_legend_handles_labels()
    style: dict[str, Any] = {"fontsize": FONT, "frameon": False}
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, **style)
