"""Tables as .tex (booktabs), published beside ours; and what figures share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from reproduce import published
from reproduce.compare import number
from reproduce.results import COLUMNS, Results
from reproduce.spec import FAILED, NOT_RUN

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes  # the exhibits' annotations name it from here
    from matplotlib.figure import Figure

PAPER = "paper"
MARKS = {"not_converged": "*", "diverged": "!"}
# Okabe and Ito's palette, whose colours the colour-blind tell apart
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
COLUMN_WIDTH, PAGE = 3.5, 7.0  # inches
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
    """Write `<name>.tex`; the same table gives the same bytes."""
    tex = out / f"{name}.tex"
    tex.write_text(to_latex(table, name, title, notes), encoding="utf-8")
    return [tex]


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


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches, drawn without a display; no global state is touched."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, out: Path, name: str) -> list[Path]:
    """`<name>.pdf` and `.png`; the same figure gives the same bytes."""
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"{name}.pdf", out / f"{name}.png"]
    figure.savefig(files[0], metadata={"CreationDate": None})
    figure.savefig(files[1], dpi=250)
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
