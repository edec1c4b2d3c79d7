"""Tables for LaTeX and as HTML: every text is there, eight columns a page, in any encoding."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.image import imread

from reproduce import layout
from reproduce.run import GENERATED

FIGURES = sorted(path.name for path in GENERATED.glob("*.png"))
TEXTS = st.text("ab 1.&%$#_{}~^\\<>|\"'", max_size=12)
SIGNS = {
    "\\textbackslash{}": "\\",
    "\\textasciitilde{}": "~",
    "\\textasciicircum{}": "^",
    "\\textless{}": "<",
    "\\textgreater{}": ">",
    "\\textbar{}": "|",
}
PAGE = """\\documentclass{article}
\\usepackage[T1]{fontenc}
\\usepackage[a4paper,margin=1cm]{geometry}
\\usepackage{array,booktabs,graphicx,longtable}
\\begin{document}
%s
\\end{document}
"""


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Tables of texts with one to three levels of row labels, up to twenty columns."""
    height, width, levels = (draw(st.integers(1, most)) for most in (5, 20, 3))
    cells = [[draw(TEXTS) for _ in range(width)] for _ in range(height)]
    labels = [
        [f"{level}{row // 2 if level < levels - 1 else row}" for row in range(height)]
        for level in range(levels)
    ]
    index = pd.MultiIndex.from_arrays(labels) if levels > 1 else pd.Index(labels[0])
    return pd.DataFrame(cells, index=index, columns=[f"c{i}" for i in range(width)])


def plain(text: str) -> str:
    """A text as it was before it was escaped for LaTeX."""
    signs = "|".join(map(re.escape, SIGNS))
    sign = re.compile(rf"({signs})|\\([&%$#_{{}}])")
    return sign.sub(lambda m: SIGNS[m[1]] if m[1] else m[2], text).strip()


def lines(tex: str) -> list[list[list[str]]]:
    """Of each tabular the lines under its heading, of each line the plain texts."""
    bodies = re.findall(r"\\midrule\n(.*?)\\bottomrule", tex, re.DOTALL)
    bodies = [[ln for ln in b.splitlines() if not ln.startswith("\\cmidrule")] for b in bodies]
    return [
        [[plain(t) for t in re.split(r"(?<!\\)&", ln.removesuffix("\\\\"))] for ln in body]
        for body in bodies
    ]


@settings(max_examples=60)  # drawing is slow
@given(tables())
def test_every_text_is_in_both_and_no_tabular_has_more_than_eight_columns(
    table: pd.DataFrame,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        layout.write(table, Path(folder), "name", "Title & <more>", ("a note", "50 %"))
        tex, page = (Path(folder, f"name.{kind}").read_text() for kind in ("tex", "html"))
    levels = table.index.nlevels
    tabulars = lines(tex)
    widths = [len(line) for tabular in tabulars for line in tabular]
    assert all(levels < width <= layout.MOST_COLUMNS for width in widths)
    joined = [[t for tabular in tabulars for t in tabular[i][levels:]] for i in range(len(table))]
    wanted = [[text.strip() for text in line] for line in table.to_numpy().tolist()]
    assert joined == wanted
    cells = [unescape(text) for text in re.findall(r"<td>(.*?)</td>", page)]
    found = [text.replace("\xa0", " ").strip() for text in cells]  # it keeps two blanks
    assert found == [t for line in wanted for t in line]
    assert tex.count("\\begin{table}") == len(tabulars)
    assert tex.count("\\caption{Title \\& \\textless{}more\\textgreater{}") == len(tabulars)
    assert tex.count("50 \\%") == 1


def test_long_texts_are_paragraphs_and_lines_part_the_groups(tmp_path: Path) -> None:
    index = pd.MultiIndex.from_tuples([("A", "x"), ("A", "y"), ("B", "x")])
    long = "a sentence of more than forty characters, as it is"
    table = pd.DataFrame({"why": [long, "", ""], "n": ["1", "2", "3"]}, index)
    layout.write(table, tmp_path, "name", "Title")
    tex = (tmp_path / "name.tex").read_text()
    assert f"{{ll{layout.PARAGRAPH}r}}" in tex
    assert [body.count("\\cmidrule") for body in tex.split("\\midrule")] == [0, 1]
    assert tex.index(" & y & ") < tex.index("\\cmidrule") < tex.index("B & x & ")
    assert long in (tmp_path / "name.html").read_text()


def compiled(tables: str, folder: Path) -> str:
    """The log of a document with these tables."""
    (folder / "page.tex").write_text(PAGE % tables, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    return (folder / "page.log").read_text(errors="replace")


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX is installed")
def test_the_committed_tables_make_a_document_and_none_is_too_wide(tmp_path: Path) -> None:
    texts = [p.read_text("utf-8") for p in sorted(GENERATED.glob("*.tex"))]
    assert texts
    log = compiled("\\clearpage\n".join(texts), tmp_path)
    assert re.findall(r"Overfull \\hbox.*", log) == []
    wide = "\\begin{tabular}{l}" + "wide " * 100 + "\\end{tabular}"
    assert "Overfull \\hbox" in compiled(wide, tmp_path)  # the log would tell


def is_cut(picture: Path) -> bool:
    """Whether something was drawn across the border, as words that are too long are."""
    pixels = imread(picture)[:, :, :3]
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    return bool(border.min() < 1)


@pytest.mark.parametrize("name", FIGURES)
def test_no_figure_is_cut_at_its_border(name: str) -> None:
    assert not is_cut(GENERATED / name)


@pytest.mark.parametrize(("times", "cut"), [(1, False), (40, True)])
def test_negative_control_words_too_long_are_cut(tmp_path: Path, times: int, cut: bool) -> None:
    figure = Figure(figsize=(3, 2))
    figure.suptitle("words " * times)
    figure.savefig(tmp_path / "figure.png")
    assert is_cut(tmp_path / "figure.png") == cut
