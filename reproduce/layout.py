"""Tables as .tex (booktabs), .pdf and .png, published beside ours; and what figures share."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from reproduce import published
from reproduce.compare import number
from reproduce.results import COLUMNS, Results
from reproduce.spec import FAILED, NOT_RUN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER = "paper"
MARKS = {"not_converged": "*", "diverged": "!"}
# Okabe and Ito's palette, whose colours the colour-blind tell apart
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
COLUMN_WIDTH, PAGE = 3.5, 7.0  # inches
FONT = 7.0  # points
NOTE_DENSITY = 16.5  # characters of a table's note to the inch


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
    frame, printed = results.frame(), published.load(source)
    rows = list(dict.fromkeys(frame["row"]))
    table = {}
    for shown in columns:
        is_printed = shown.protocol == PAPER
        known = printed if is_printed else frame[frame["protocol"] == shown.protocol]
        chosen = known[(known["column"] == shown.column) & (known["statistic"] == "MAPE")]
        told, missing = (_printed, "") if is_printed else (text, "not run")
        texts = {line["row"]: told(line) for _, line in chosen.iterrows()}
        head = (shown.column, shown.header or shown.protocol)
        table[head] = [texts.get(row, missing) for row in rows]
    return pd.DataFrame(table, index=pd.Index(rows, name=index))


def _printed(line: pd.Series) -> str:
    return f"{line['value']} ({line['se']})" if line["se"] else str(line["value"])


def text(line: pd.Series) -> str:
    """`value (se)` of a line of the long table and its mark; else `not run` or `failed`."""
    status, value, se = str(line["status"]), float(line["value"]), float(line["se"])
    if status == NOT_RUN:
        return "not run"
    if status.startswith(FAILED) and math.isnan(value):
        return "failed"
    return number(value) + ("" if math.isnan(se) else f" ({number(se)})") + MARKS.get(status, "")


def write(
    table: pd.DataFrame, out: Path, name: str, title: str, notes: Sequence[str]
) -> list[Path]:
    """Write `<name>.tex`, `.pdf` and `.png`; the same table gives the same bytes."""
    tex = out / f"{name}.tex"
    tex.write_text(to_latex(table, name, title, notes), encoding="utf-8")
    return [tex, *_draw(table, out / name, title, notes)]


def write_paired(
    results: Results, pairs: Sequence[tuple[tuple[str, str], tuple[str, str]]], path: Path
) -> Path:
    """A long CSV of paired differences, (column, protocol) minus (column, protocol), by row.

    `value` is the mean difference over equal data sets and `se` its standard error.
    """
    lines = []
    for row in dict.fromkeys(entry.row for entry in results.entries if entry.is_shown):
        for ours, other in pairs:
            labels = map(" - ".join, zip(ours, other, strict=True))
            gap, se, times = results.paired(row, ours, other)
            status = "ok" if times else NOT_RUN
            lines.append((row, *labels, "MAPE difference", gap, se, times, status))
    frame = pd.DataFrame(lines, columns=pd.Index(COLUMNS))
    frame.to_csv(path, index=False, float_format="%.10g")
    return path


def to_latex(table: pd.DataFrame, name: str, title: str, notes: Sequence[str]) -> str:
    """A booktabs table for \\input, with its notes under it."""
    styled = table.style.format(escape="latex").format_index(escape="latex", axis=1)
    body = styled.format_index(escape="latex", axis=0).to_latex(
        hrules=True,
        column_format="l" * table.index.nlevels + "r" * table.shape[1],
        multicol_align="c",
        multirow_align="naive",
        caption=_escaped(title),
        label=f"tab:{name}",
        position_float="centering",
    )
    under = "\n".join(f"\\par\\footnotesize {_escaped(note)}" for note in notes)
    return body.replace("\\end{table}", f"{under}\n\\end{{table}}")


def _escaped(text: str) -> str:
    for sign in "&%$#_{}":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("|", "\\textbar{}").replace("^", "\\textasciicircum{}")


def _parts(label: object) -> tuple[str, ...]:
    return tuple(str(p) for p in label) if isinstance(label, tuple) else (str(label),)


def _draw(table: pd.DataFrame, stem: Path, title: str, notes: Sequence[str]) -> list[Path]:
    from matplotlib.transforms import Bbox

    heads = ["\n".join(_parts(head)) for head in table.columns]
    heads = [str(table.columns.name if table.index.nlevels > 1 else table.index.name), *heads]
    names = [", ".join(_parts(label)) for label in table.index]
    texts = [[n, *row] for n, row in zip(names, table.to_numpy().tolist(), strict=True)]
    widths = [
        max(len(line) for text in column for line in text.split("\n")) + 2
        for column in zip(heads, *texts, strict=True)
    ]
    wide = max(0.085 * sum(widths), 8.0)
    below = [line for note in notes for line in textwrap.wrap(note, int(NOTE_DENSITY * wide))]
    inches = (wide, 0.26 * len(texts) + 0.2 * len(below) + 1.1)
    figure = new_figure(*inches, layout=None)
    axes = figure.add_axes((0.01, 0.0, 0.98, 1.0))
    axes.set_axis_off()
    axes.set_title(title, fontsize=10, y=1 - 0.35 / inches[1])
    low = (0.2 * len(below) + 0.1) / inches[1]
    drawn = axes.table(
        texts,
        colLabels=heads,
        colWidths=[w / sum(widths) for w in widths],
        bbox=Bbox.from_bounds(0.0, low, 1.0, 1 - low - 0.45 / inches[1]),
        edges="horizontal",
        cellLoc="right",
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    for (row, column), cell in drawn.get_celld().items():
        cell.get_text().set_horizontalalignment("right" if column else "left")
        cell.set_height(2 if row == 0 else 1)  # relative, for the box is given
        cell.set_linewidth(0.4)
    for i, line in enumerate(below):
        axes.text(0.0, low - (0.2 * (i + 0.8)) / inches[1], line, fontsize=7)
    return save(figure, stem.parent, stem.name, dpi=150)


def new_figure(
    width: float, height: float, layout: Literal["constrained"] | None = "constrained"
) -> Figure:
    """An empty figure in inches, drawn without a display; no global state is touched."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, out: Path, name: str, dpi: int = 250) -> list[Path]:
    """`<name>.pdf` and `.png`; the same figure gives the same bytes."""
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"{name}.pdf", out / f"{name}.png"]
    figure.savefig(files[0], metadata={"CreationDate": None})
    figure.savefig(files[1], dpi=dpi)
    return files


def log_log(axes: Axes, x: Sequence[float], y: Sequence[float]) -> None:
    """Logarithmic axes with ticks at x, and at those of y that are in sight."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(x, [f"{tick:,g}" for tick in x])
    low, high = axes.get_ylim()
    shown = [tick for tick in y if low <= tick <= high]
    axes.set_yticks(shown, [f"{tick:g}" for tick in shown])
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
