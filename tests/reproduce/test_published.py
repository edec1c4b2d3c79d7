"""paper_tables/published against the paper's LaTeX, cell by cell and in both directions.

The LaTeX is read here by a small parser of its own: it finds each table by its ``\\label``, splits
rows and cells at brace depth zero and takes row and column names from the table itself. Digits are
compared as strings. Without the paper the comparison is skipped; the tests of the parser, of the
comparison and of `reproduce.published.load` run all the same.
"""

import csv
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gladius.checks import InputError
from reproduce import published

ROOT = Path(__file__).parents[2]
PAPER = ROOT.parent / "shared" / "paper"
FOLDER = ROOT / "paper_tables" / "published"

# Exhibit -> (label in the LaTeX, number of CSV rows counted by hand from the printed table).
EXHIBITS = {
    "table_1": ("tab:lit", 13 * 7),
    "table_2": ("fig:mse_r_estimation", 6 * 6),
    "table_3": ("tab:r_a0_1000", 10 * 5),
    "table_4": ("fig:OpenAI_gym", 3 * 5 * 3 * 2),
    "table_a1": ("tab:r_traj_50", 10 * 5 * 2),
    "table_a2": ("tab:q_traj_50", 10 * 5 * 2),
    "table_a3": ("tab:r_traj_1000", 10 * 5 * 2),
    "table_a4": ("tab:q_traj_1000", 10 * 5 * 2),
    "figure_1": ("fig:dummy_r_estimation", 5 * 4),
}
TICKS = {
    "": "blank",
    r"\cmark": "yes",
    r"\lmark (unstable)": "conditional (unstable)",
    r"\lmark (Linear only)": "conditional (Linear only)",
    r"$1/\sqrt{N}$": "1/sqrt(N)",
}
# The paper's environment headings and the identifiers that gym gives them.
GYM = {
    "Lunar Lander v2": "LunarLander-v2",
    "Cartpole v1": "CartPole-v1",
    "Acrobot v1": "Acrobot-v1",
}

Key = tuple[str, str, str]  # row, column, statistic
Cells = dict[Key, tuple[str, str]]  # value, standard error ("" where none is printed)


class Grid(NamedTuple):
    """A tabular as printed: heading and body rows of cleaned cells, spanned cells repeated."""

    heads: list[list[str]]
    body: list[list[str]]


def balanced(text: str, start: int) -> int:
    """The index just after the brace that closes ``text[start] == "{"``."""
    depth = 0
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    raise AssertionError(f"unbalanced braces: {text[start : start + 60]!r}")


def split(text: str, separator: str) -> list[str]:
    """``text`` cut at each ``separator`` (``&`` or a double backslash) outside all braces."""
    parts, depth, last = [], 0, 0
    for match in re.finditer(r"\\.|[{}&]", text, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if match[0] == separator and depth == 0:
            parts.append(text[last : match.start()])
            last = match.end()
    return [*parts, text[last:]]


def clean(cell: str) -> str:
    """What a reader sees in a cell: no layout commands, colours or citations."""
    cell = re.sub(r"\\(cellcolor|citep)\{[^{}]*\}", "", cell)
    before = None
    while cell != before:  # innermost first, so nested commands come off one layer a pass
        before = cell
        cell = re.sub(r"\\parbox\{[^{}]*\}\{([^{}]*)\}", r"\1", cell)
        cell = re.sub(r"\\(?:textbf|textit|ul|makecell(?:\[\w\])?)\{([^{}]*)\}", r"\1", cell)
        cell = re.sub(r"^\s*\{([^{}]*)\}\s*$", r"\1", cell)
    cell = re.sub(r"-\s*\\\\\s*", "-", cell).replace(r"\\", " ")
    return " ".join(cell.split())


def expand(row: str) -> list[str]:
    """The cells of a row, a cell that spans n columns n times."""
    cells = []
    for raw in split(row, "&"):
        cell, span = raw.strip(), 1
        if match := re.match(r"\\multi(column|row)", cell):
            first = balanced(cell, match.end())
            second = balanced(cell, first)
            span = int(cell[match.end() + 1 : first - 1]) if match[1] == "column" else 1
            assert balanced(cell, second) == len(cell), f"text after a spanned cell: {cell!r}"
            cell = cell[second + 1 : -1]
        cells += [clean(cell)] * span
    return cells


def floats(source: str) -> Iterator[tuple[str, bool, str]]:
    """Each table and figure in the printed order: kind, in the appendix or not, text."""
    appendix = source.find(r"\begin{appendices}")
    for match in re.finditer(r"\\begin\{(table|figure)(\*?)\}", source):
        end = source.index(rf"\end{{{match[1]}{match[2]}}}", match.end())
        yield match[1], 0 <= appendix < match.start(), source[match.end() : end]


def labelled(source: str, label: str) -> str:
    """The text of the one float that carries ``label``."""
    (text,) = [text for _, _, text in floats(source) if rf"\label{{{label}}}" in text]
    return text


def grid(source: str, label: str) -> Grid:
    """The tabular of the one float that carries ``label``."""
    body = re.sub(r"(?<!\\)%.*", "", labelled(source, label))
    start, end = body.index(r"\begin{tabular}") + len(r"\begin{tabular}"), body.index(r"\end{tab")
    table = body[balanced(body, start) : end].split(r"\bottomrule")[0]
    table = re.sub(r"\\(toprule|addlinespace|cmidrule(\(\w+\))?\{[\d-]+\})", "", table)
    head, rest = table.split(r"\midrule", 1)
    rows = [
        [expand(row) for row in split(part, "\\\\") if row.strip()]
        for part in (head, rest.replace(r"\midrule", ""))
    ]
    width = {len(row) for part in rows for row in part}
    assert len(width) == 1, f"{label}: rows of different widths {width}"
    return Grid(*rows)


def collect(lines: Iterable[tuple[str, str, str, str, str]]) -> Cells:
    """Cells by row, column and statistic, sure that none came twice."""
    found: Cells = {}
    for row, column, statistic, value, se in lines:
        assert (row, column, statistic) not in found, f"{row}, {column}, {statistic} comes twice"
        found[row, column, statistic] = (value, se)
    return found


def named(head: list[str], body: list[list[str]]) -> Iterator[tuple[str, str, str]]:
    """Row name, column name and text of each cell right of the row names."""
    for line in body:
        for column, cell in list(zip(head, line, strict=True))[1:]:
            yield line[0], column, cell


def mape(cell: str) -> tuple[str, str]:
    """``3.62 (1.70)`` in its two parts; ``N/A`` has no standard error."""
    match = re.fullmatch(r"(\d+\.\d+) \((\d+\.\d+)\)|N/A", cell)
    assert match, f"not a MAPE: {cell!r}"
    return (cell, "") if match[1] is None else (match[1], match[2])


def from_latex(source: str, exhibit: str) -> Cells:
    """Every cell of an exhibit, as the LaTeX prints it."""
    heads, body = grid(source, EXHIBITS[exhibit][0])
    if exhibit == "table_1":
        # A row that is one spanned heading ("DDC Methods") has the same text in each column.
        lines = [line for line in body if len(set(line)) > 1]
        return collect((r, h, "tick", TICKS.get(c, c), "") for r, h, c in named(heads[0], lines))
    if exhibit in ("table_2", "figure_1"):
        assert set(heads[-1][1:]) == {"MAPE (SE)"}
        return collect((r, h, "MAPE", *mape(c)) for r, h, c in named(heads[-2], body))
    if exhibit == "table_3":
        kinds = {"Frequency": "frequency a0"}
        return collect((h, r, kinds.get(r, "r a0"), c, "") for r, h, c in named(heads[0], body))
    if exhibit == "table_4":
        found = []
        for means, sds in zip(body[::2], body[1::2], strict=True):
            assert sds[0] == ""
            for world, method, mean, sd in list(zip(*heads, means, sds, strict=True))[1:]:
                row = f"{GYM[world.split(' (')[0]]}/{means[0]}"
                assert re.fullmatch(r"\(.*\)", sd)
                found.append((row, method, "% optimality", mean, ""))
                found.append((row, method, "% optimality sd", sd[1:-1], ""))
        return collect(found)
    symbol = "r" if exhibit in ("table_a1", "table_a3") else "Q"
    found = []
    for line in body:
        for group, action, cell in list(zip(*heads, line, strict=True))[1:]:
            column = re.sub(r" (\$r\$|Q)$", "", group)
            kind = "frequency" if column == "Frequency" else symbol
            statistic = f"{kind} {action.replace('$', '').replace('_', '')}"
            found.append((line[0], column, statistic, cell, ""))
    return collect(found)


def from_csv(exhibit: str) -> Cells:
    """Every cell of a transcribed file."""
    with (FOLDER / f"{exhibit}.csv").open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert header == ["row", "column", "protocol", "statistic", "value", "se"]
    assert {line[2] for line in lines} == {"published"}
    return collect((row, column, kind, value, se) for row, column, _, kind, value, se in lines)


def differences(paper: Cells, ours: Cells) -> list[str]:
    """One line for each cell that is missing, surplus or not printed with the same characters."""
    both = [key for key in paper if key in ours and paper[key] != ours[key]]
    return [
        *(f"in the paper only: {key}" for key in paper if key not in ours),
        *(f"in the CSV only: {key}" for key in ours if key not in paper),
        *(f"{key}: paper {paper[key]}, CSV {ours[key]}" for key in both),
    ]


@pytest.fixture(scope="module")
def source() -> str:
    """The paper's LaTeX."""
    if not PAPER.is_dir():
        pytest.skip(f"the paper's LaTeX is not beside this checkout ({PAPER.name}/ is absent)")
    (path,) = PAPER.glob("000_*.txt")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("exhibit", EXHIBITS)
def test_transcription_is_the_paper(source: str, exhibit: str) -> None:
    paper = from_latex(source, exhibit)
    assert len(paper) == EXHIBITS[exhibit][1]
    assert differences(paper, from_csv(exhibit)) == []


@pytest.mark.parametrize("exhibit", EXHIBITS)
def test_a_digit_changed_in_the_latex_is_caught(source: str, exhibit: str) -> None:
    """Negative control of parser and comparison together, on the last digit of each table."""
    text = labelled(source, EXHIBITS[exhibit][0])
    table = text.split(r"\bottomrule")[0]
    spot = max(match.start() for match in re.finditer(r"\d", table))
    other = str((int(text[spot]) + 1) % 10)
    corrupt = source.replace(text, text[:spot] + other + text[spot + 1 :])
    assert len(differences(from_latex(corrupt, exhibit), from_csv(exhibit))) == 1


def test_exhibit_names_are_the_printed_numbers(source: str) -> None:
    """LaTeX numbers tables by their order, and again from A1 in the appendix."""
    tables = [(late, text) for kind, late, text in floats(source) if kind == "table"]
    order = {
        "table_": [text for late, text in tables if not late],
        "table_a": [text for late, text in tables if late],
        "figure_": [text for kind, late, text in floats(source) if kind == "figure" and not late],
    }
    labels = {
        f"{prefix}{i}": re.findall(r"\\label\{(.*?)\}", text)
        for prefix, texts in order.items()
        for i, text in enumerate(texts, 1)
    }
    assert labels == {name: [label] for name, (label, _) in EXHIBITS.items()}


def test_plot_beside_figure_1_shows_its_table(source: str) -> None:
    (text,) = [text for _, _, text in floats(source) if "semilogxaxis" in text]
    points = re.findall(r"\((\d+), ([\d.]+)\) \+- \(0, ([\d.]+)\)", text)
    column = {key[0]: cell for key, cell in from_csv("figure_1").items() if key[1] == "GLADIUS"}
    assert {k: (value, se) for k, value, se in points} == column


def test_tables_that_print_the_same_cells_agree() -> None:
    """Table 3 is the action-0 half of Table A3, and r and Q tables share their frequencies."""
    a0 = {k: v for k, v in from_csv("table_a3").items() if k[2].endswith("a0")}
    renamed = {(r, c.replace("Ground Truth", "True reward"), s): v for (r, c, s), v in a0.items()}
    assert differences(renamed, from_csv("table_3")) == []
    for one, two in (("table_a1", "table_a2"), ("table_a3", "table_a4")):
        counts = [
            {k: v for k, v in from_csv(name).items() if k[1] == "Frequency"} for name in (one, two)
        ]
        assert len(counts[0]) == 20
        assert differences(*counts) == []


@settings(deadline=None)  # reading a file is slow on a busy machine
@given(data=st.data(), exhibit=st.sampled_from(sorted(set(EXHIBITS) - {"table_1"})))
def test_any_one_changed_digit_is_caught(data: st.DataObject, exhibit: str) -> None:
    good = from_csv(exhibit)
    key = data.draw(st.sampled_from(sorted(k for k, cell in good.items() if cell[0] != "N/A")))
    part = data.draw(st.sampled_from([i for i, text in enumerate(good[key]) if text]))
    text = good[key][part]
    spot = data.draw(st.sampled_from([i for i, sign in enumerate(text) if sign.isdigit()]))
    digit = data.draw(st.sampled_from(sorted(set("0123456789") - {text[spot]})))
    cell = list(good[key])
    cell[part] = text[:spot] + digit + text[spot + 1 :]
    found = differences(good, good | {key: (cell[0], cell[1])})
    assert len(found) == 1
    assert str(key) in found[0]


def test_lost_zero_lost_cell_surplus_cell_and_tick_are_caught() -> None:
    good = from_csv("table_3")
    key = ("1", "True reward", "r a0")
    less = {k: v for k, v in good.items() if k != key}
    assert differences(good, good | {key: ("-1.00", "")}) == [
        f"{key}: paper ('-1.000', ''), CSV ('-1.00', '')"
    ]
    assert differences(good, less) == [f"in the paper only: {key}"]
    assert differences(less, good) == [f"in the CSV only: {key}"]
    ticks = from_csv("table_1")
    rp = ("RP", "Global Optimality", "tick")
    assert len(differences(ticks, ticks | {rp: ("yes", "")})) == 1


def test_parser_reads_what_latex_prints() -> None:
    r"""Escaped percent, comments, rows inside braces, spans, colours and layout commands."""
    text = r"""\begin{table*}[h] \begin{tabular}{l >{\centering}p{1cm} c} % {unbalanced
    \toprule \multirow{2}{*}{\parbox{1cm}{No.\\(H=9)}} & \multicolumn{2}{c}{\makecell{\ul{A}
    (\%) \\ (B)}} \\ \cmidrule(lr){2-3} & \makecell[c]{\textbf{Gr-}\\\textbf{Based}} & $a_1$ \\
    \midrule 7 &\textbf{ 1.20 } (0.10) & \cellcolor{yellow!5} -5.000 \\ % 9 & 9 & 9 \\
    \bottomrule \multicolumn{3}{l}{note} \end{tabular} \label{t} \end{table*}"""
    assert grid(text, "t") == Grid(
        [["No. (H=9)", r"A (\%) (B)", r"A (\%) (B)"], ["", "Gr-Based", "$a_1$"]],
        [["7", "1.20 (0.10)", "-5.000"]],
    )


@pytest.mark.parametrize("exhibit", EXHIBITS)
def test_load_gives_the_file_and_its_numbers(exhibit: str) -> None:
    assert set(published.names()) == set(EXHIBITS)
    frame = published.load(exhibit)
    keys = zip(frame["row"], frame["column"], frame["statistic"], strict=True)
    cells = zip(frame["value"], frame["se"], strict=True)
    assert dict(zip(keys, cells, strict=True)) == from_csv(exhibit)
    assert len(frame) == EXHIBITS[exhibit][1]
    assert frame["number"].dtype == float
    for value, number in zip(frame["value"], frame["number"], strict=True):
        if exhibit == "table_1" or value == "N/A":
            assert math.isnan(number)
        else:
            assert number == float(value)


@pytest.mark.parametrize("exhibit", ["table_9", "Table_1", "", "../published/table_1"])
def test_unknown_exhibit_is_an_error_that_says_what_to_use(exhibit: str) -> None:
    with pytest.raises(InputError, match=r"exhibit.*figure_1, table_1"):
        published.load(exhibit)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("row,column,value\n1,a,2\n", "header of table_x.csv"),
        ("row,column,protocol,statistic,value,se\n1,a,published,MAPE,1.2O,\n", "1.2O"),
        ("row,column,protocol,statistic,value,se\n1,a,published,MAPE,nan,\n", "nan"),
    ],
)
def test_file_in_another_form_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "table_x.csv").write_text(content, encoding="utf-8")
    monkeypatch.setattr(published, "PUBLISHED", tmp_path)
    with pytest.raises(InputError, match=message):
        published.load("table_x")


def test_a_printed_deviation_over_episodes_is_an_error_of_the_mean() -> None:
    frame = published.with_errors(published.load("table_4"))
    frame = frame.set_index(["row", "column", "statistic"])
    assert frame.loc[("LunarLander-v2/1", "Gladius", "% optimality"), "se"] == "1.044"
    assert (frame.xs("% optimality sd", level="statistic")["se"] == "").all()
    other = published.load("table_2")
    pd.testing.assert_frame_equal(published.with_errors(other), other.assign(spread=other["se"]))
