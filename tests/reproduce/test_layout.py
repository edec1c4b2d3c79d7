"""Tables for LaTeX and as pages: every text is there, eight columns a page, in any encoding."""

import re
import shutil
import subprocess
import tempfile
from html import unescape
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from matplotlib.figure import Figure

from gladius.validate import InputError
from reproduce import exhibits
from reproduce.drawing import layout, notes
from reproduce.run import GENERATED
from tests.reproduce.smoke_results import failed, faults, is_cut, written

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
\\usepackage[letterpaper,margin=1in]{geometry}
\\usepackage{array,booktabs,graphicx,longtable,threeparttable}
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
    bodies = [[ln for ln in b.splitlines() if "\\multicolumn" not in ln] for b in bodies]
    return [
        [[plain(t) for t in re.split(r"(?<!\\)&", ln.removesuffix("\\\\"))] for ln in body]
        for body in bodies
    ]


@settings(max_examples=60)  # drawing is slow
@given(tables())
def test_every_text_is_in_both_and_no_tabular_is_too_wide(table: pd.DataFrame) -> None:
    with tempfile.TemporaryDirectory() as folder:
        layout.write(table, Path(folder), "name", "Title & <more>", ("a note", "50 %"))
        tex, page = (Path(folder, f"name.{kind}").read_text() for kind in ("tex", "md"))
    tabulars = lines(tex)
    for tabular in tabulars:
        columns = list(zip(*tabular, strict=True))
        assert sum(max(map(layout.points_of, c)) for c in columns) <= layout.TEXT_WIDTH
    (block,) = MarkdownIt("commonmark").parse(page)  # a blank line would end the HTML
    assert block.type == "html_block"
    joined = [[t for tabular in tabulars for t in tabular[i][1:]] for i in range(len(table))]
    wanted = [[text.strip() for text in line] for line in table.to_numpy().tolist()]
    assert joined == wanted
    cells = [unescape(text) for text in re.findall(r"<td>(.*?)</td>", page)]
    found = [text.replace("\xa0", " ").strip() for text in cells]  # it keeps two blanks
    assert found == [t for line in wanted for t in line]
    assert tex.count("\\begin{table}") == len(tabulars)
    assert tex.count("\\caption{Title \\& \\textless{}more\\textgreater{}") == len(tabulars)
    assert tex.count("50 \\%") == 1


GROUPED = pd.DataFrame(
    {
        ("a method", "paper"): ["0.25 (0.01)", "-1.5e-07", "", "3.1†"],
        ("a method", "why"): ["a sentence of more than forty characters, as it is", "", "", ""],
    },
    pd.MultiIndex.from_product([["A", "B"], ["theta_1", "1/sqrt(N) +- 2"]]),
)


def test_groups_have_a_line_long_texts_are_paragraphs_and_names_mathematics(tmp_path: Path) -> None:
    layout.write(GROUPED, tmp_path, "name", "Table 2: errors", ["tau_1 / tau_2 >= 10^-3"])
    tex = (tmp_path / "name.tex").read_text("utf-8")
    assert f"lr>{{\\raggedright\\arraybackslash}}p{{{layout.WRAPPED}pt}}" in tex
    assert re.findall(r"\\textit\{(.)\}", tex) == ["A", "B"]
    assert " & \\multicolumn{2}{c}{a method} \\\\\n\\cmidrule(lr){2-3} & paper & why" in tex
    assert "\\caption{Replication of Table 2 of the paper: errors}" in tex
    for text in (
        "$\\theta _{1}$ & 0.25",
        "$-1.5\\cdot10^{-7}$",
        "3.1$^{\\dagger}$",
        "$\\sqrt{N}$ $\\pm$",
    ):
        assert text in tex
    assert "$\\tau _{1}$ / $\\tau _{2}$ $\\geq$ $10^{-3}$" in tex
    page = (tmp_path / "name.md").read_text("utf-8")
    assert "&theta;<sub>1</sub>" in page
    assert "a sentence of more than forty characters, as it is" in page


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((102.7134, 0.0056), "102.7134 (0.0056)"),
        ((2.512, 0.0296), "2.512 (0.030)"),
        ((2.512, 0.0996), "2.51 (0.10)"),
        ((240.4, 35.2), "240 (35)"),
        ((2.1, 0.639, 1.333), "2.10 (0.64, 1.33)"),
        ((100.0, 0.0), "100.00 (0.00)"),
        ((1e9, 3e8), "1e+09 (3e+08)"),
    ],
)
def test_two_digits_of_a_standard_error(numbers: tuple[float, ...], text: str) -> None:
    assert layout.estimate(*numbers) == text


def compiled(tables: str, folder: Path) -> str:
    """The log of a document with these tables."""
    (folder / "page.tex").write_text(PAGE % tables, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    return (folder / "page.log").read_text(errors="replace")


HAS_LATEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX is installed")


@pytest.mark.deep
@HAS_LATEX
def test_wide_and_long_tables_fit_their_pages_and_are_not_shrunk(tmp_path: Path) -> None:
    wide = pd.concat({f"column {i}": GROUPED["a method"] for i in range(6)}, axis=1)
    long, texts = pd.concat([GROUPED] * 30), []
    for name, table in {"small": GROUPED, "wide": wide, "long": long}.items():
        layout.write(table, tmp_path, name, name, ["a note of some length"] * 8)
        texts.append((tmp_path / f"{name}.tex").read_text("utf-8"))
    assert ["longtable" in text for text in texts] == [False, False, True]
    assert not re.search("resizebox|scriptsize|tiny", "".join(texts))
    log = compiled("\\clearpage\n".join(texts), tmp_path)
    assert re.findall(r"Overfull \\hbox.*|.*Float too large.*", log) == []


@pytest.mark.deep
@HAS_LATEX
def test_the_committed_tables_make_a_document_and_none_is_too_wide(tmp_path: Path) -> None:
    texts = [p.read_text("utf-8") for p in sorted(GENERATED.glob("*.tex"))]
    assert texts
    log = compiled("\\clearpage\n".join(texts), tmp_path)
    assert re.findall(r"Overfull \\hbox.*", log) == []
    wide = "\\begin{tabular}{l}" + "wide " * 100 + "\\end{tabular}"
    assert "Overfull \\hbox" in compiled(wide, tmp_path)  # the log would tell


@pytest.mark.parametrize("name", exhibits.names())
def test_an_exhibit_of_which_every_cell_failed_is_written_and_says_so(
    name: str, tmp_path: Path
) -> None:
    """Its table too, where a cell of it is a cell of the run."""
    exhibit = exhibits.load(name)
    frame = written(exhibit, failed(exhibit), tmp_path)
    assert set(frame["status"]) == {"failed: a reason"}
    assert frame["value"].isna().all()
    if name.startswith(("figure_1", "table")) and name != "table_1":
        tables = sorted(tmp_path.glob("*.tex"))
        assert all("failed" in path.read_text("utf-8") for path in tables)
        assert tables


@pytest.mark.parametrize("name", FIGURES)
def test_no_figure_is_cut_at_its_border(name: str) -> None:
    assert not is_cut(GENERATED / name)


@pytest.mark.parametrize(("times", "cut"), [(1, False), (40, True)])
def test_negative_control_words_too_long_are_cut(tmp_path: Path, times: int, cut: bool) -> None:
    figure = Figure(figsize=(3, 2))
    figure.suptitle("words " * times)
    figure.savefig(tmp_path / "figure.png")
    assert is_cut(tmp_path / "figure.png") == cut


def test_negative_control_a_figure_not_fit_for_print(tmp_path: Path) -> None:
    figure = layout.new_figure(layout.WIDTH, 3.0)
    panels = figure.subplots(1, 2)
    layout.words(panels[0], "tau_1 / tau_2", title="first")
    layout.save(figure, tmp_path, "figure_1")
    assert faults(figure) == []
    panels[0].set_title("first", loc="left")
    panels[1].set_xlabel("tau_1", fontsize=6)
    assert faults(figure) == ["small: tau_1", "of the code: tau_1", "panels without letters"]
    panels[1].remove()
    assert faults(figure) == ["a title of the only panel"]


def test_every_committed_figure_says_its_message_and_its_pages_too() -> None:
    """A title is drawn where the numbers show it; the page's text is read off the picture."""
    lines = pd.read_csv(notes.ALTS, index_col="file", keep_default_na=False)
    assert list(lines.index) == FIGURES
    page = (GENERATED / "EXHIBITS.md").read_text("utf-8")
    for name, (title, rest) in lines.iterrows():
        said = r"[\d.,\-]+( of \d+)?".join(map(re.escape, re.split(r"\{\w+\}", title)))
        assert title
        assert re.fullmatch(rf"{said}\. {re.escape(rest)}", notes.alt(GENERATED / name))
    assert set(re.findall(r'alt="(.+?)"', page)) <= {notes.alt(GENERATED / x) for x in FIGURES}


def test_a_message_is_drawn_with_its_numbers_or_not_at_all(tmp_path: Path) -> None:
    for said, text in (({"until": 7}, "stays in his estimate's band up to 7 thousand"), (None, "")):
        figure = layout.new_figure(layout.WIDTH, 3.0)
        layout.save(figure, tmp_path, "rust", said)
        title = " ".join(figure.get_suptitle().split())
        assert text in title
        assert bool(title) == bool(text)
        assert notes.alt(tmp_path / "rust.png").startswith(title or "Probability")
    with pytest.raises(InputError, match="not drawn yet"):
        notes.alt(tmp_path / "figure_1.png")


HEIGHTS = st.lists(st.integers(-300, 300).map(lambda k: k / 100), min_size=1, max_size=4)


@settings(max_examples=20)  # drawing is slow
@given(HEIGHTS, st.sampled_from(["linear", "log"]), st.booleans())
def test_labels_stand_at_the_ends_of_their_lines_and_none_covers_another(
    powers: list[float], scale: str, two_lines: bool
) -> None:
    figure = layout.new_figure(layout.WIDTH, 3.8)
    axes = figure.subplots()
    for k, power in enumerate(powers):
        end = 10.0**power if scale == "log" else power
        axes.plot([0, 1, 2], [1.0, end, np.nan], label=f"line {k}" + "\nmore" * two_lines)
    axes.set_yscale(scale)
    axes.set_ylim(*((1e-3, 1e3) if scale == "log" else (-3.0, 3.0)))
    layout.label_lines(axes)
    figure.draw_without_rendering()
    low, high = axes.get_window_extent().intervaly
    boxes = {t.get_text().partition("\n")[0]: t.get_window_extent() for t in axes.texts}
    assert list(boxes)
    assert len(boxes) == len(powers)
    for (k, power), (j, other) in product(enumerate(powers), repeat=2):
        one, two = boxes[f"line {k}"], boxes[f"line {j}"]
        assert k == j or one.y1 <= two.y0 or two.y1 <= one.y0
        assert not power < other or one.y0 < two.y0
    if len(powers) == 1:
        assert (one.y0 + one.y1) / 2 == pytest.approx(low + (high - low) * (power + 3) / 6, abs=4)
