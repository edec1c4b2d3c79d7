"""The report's page: every number is read from the files, and nothing is fetched."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from gladius.checks import InputError
from reproduce import __main__ as command
from reproduce import exhibits, report, story
from reproduce.compare import COLUMNS
from reproduce.run import GENERATED

Line = tuple[str, str, str, str, float, int, str]  # row ... statistic, value, repetitions, status


def write(folder: Path, name: str, lines: list[Line]) -> None:
    """The long CSV of an exhibit, without standard errors."""
    columns = [column for column in COLUMNS if column != "se"]
    frame = pd.DataFrame(lines, columns=columns).assign(se=float("nan"))
    frame[COLUMNS].to_csv(folder / f"{name}.csv", index=False)


@pytest.fixture
def stability(tmp_path: Path) -> Callable[..., str]:
    """The text of the finding on two settings of four runs each."""

    def text(**changed: Any) -> str:
        told = {"not_ok": 4.0, "share": 0.75, "median": 1234.0} | changed
        lines: list[Line] = []
        for row, status, share in (("a", "diverged", told["share"]), ("b", "not_converged", 0.0)):
            of = (row, "GLADIUS", "printed")
            lines += [
                (*of, "repetitions not ok", told["not_ok"], 4, status),
                (*of, "share diverged", share, 4, status),
                (*of, "iterations", 5000.0, 4, status),
                (*of, "MAPE median", told["median"] if row == "b" else 1e9, 4, status),
            ]
        write(tmp_path, "stability", lines)
        ends = {"plain, ratio 1": (900.0, "ok"), "plain, ratio 0.8": (700.0, "ok")}
        ends |= {"plain, ratio 0.5": (float("nan"), "diverged"), "by visits, a": (5.0, "ok")}
        steps: list[Line] = [
            (row, "Algorithm 1", "measured", story.CLOSE, value, 1, status)
            for row, (value, status) in ends.items()
        ]
        write(tmp_path, "gradients", steps)
        return story.printed_algorithm(tmp_path).text

    return text


def test_runs_of_the_printed_algorithm_are_counted(stability: Callable[..., str]) -> None:
    text = stability()
    assert text.startswith("0 of 8 runs of Algorithm 1 converged")
    assert "2 combinations" in text
    assert (
        "at the printed ratio, 0 of 1 settings diverge and the best comes within 1 % of the"
        " minimiser's r in 900 steps" in text
    )
    assert "over all ratios 1 of 3 settings diverge and the best" in text
    assert "r in 700 steps" in text
    assert "3 diverged" in text
    assert "its median error is 1,234 to 1,234 %" in text  # not the diverged 1e9
    assert "5,000 iterations" in text
    assert stability(not_ok=3.0).startswith("2 of 8 runs")
    assert "2 diverged" in stability(share=0.5)


def test_shares_of_the_bound_are_those_of_the_printed_numbers(tmp_path: Path) -> None:
    """Table 2 prints 3.44 at N = 50 and 0.84 at N = 250; only the first is below these bounds."""
    bounds = [("50", 4.0), ("250", 0.5)]
    lines = [("bound", "measured (iv)", "MAPE", value, 0, "ok") for _, value in bounds]
    write(tmp_path, "bounds", [(n, *line) for (n, _), line in zip(bounds, lines, strict=True)])
    epochs = {"author oracle": 3.3, "author last": 7.7}
    rows: list[Line] = [("50", "GLADIUS", p, "MAPE", v, 20, "ok") for p, v in epochs.items()]
    write(tmp_path, "table_2_author", rows)
    text = story.below_the_bounds(tmp_path).text
    assert text.startswith("At 1 of 2 sample sizes")
    assert "(N = 50: 0.86 of that bound" in text
    assert "(N = 50: 3.44 printed, 3.3 at that epoch, 7.7 at the last)" in text


def test_an_exhibit_that_was_not_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not run yet: python -m reproduce run bounds"):
        story.findings(tmp_path)
    name = exhibits.names()[0]
    assert f"python -m reproduce run {name}" in report.exhibit(tmp_path, name)


def test_the_summary_counts_the_paper_s_claims_and_not_ours() -> None:
    ledger = pd.read_csv(GENERATED / "claims.csv", dtype=str)
    printed = ledger["printed"] == "yes"
    examined = ~printed & ~ledger["id"].str.startswith("corrected.")
    assert examined.any()
    page = report.summary(GENERATED)
    assert f"Of {printed.sum()} claims that the paper prints" in page
    assert f"{(ledger['verdict'][printed] == 'fails').sum()} fails" in page
    assert f"{examined.sum()} that it does not print and we examined" in page


def test_the_ledger_has_the_numbers_of_the_pdf_and_the_statements() -> None:
    page = report.ledger(GENERATED)
    assert "<td>Lemma 8</td>" in page
    assert "V*(s) = log sum_a exp Q*(s, a)" in page


def test_a_part_of_the_page_fetches_nothing_and_escapes_what_it_shows() -> None:
    pages = [report.summary(GENERATED), report.exhibit(GENERATED, "bounds")]
    for page in pages:
        sources = re.findall(r'src="([^"]*)"', page)
        assert sources
        assert all(source.startswith("data:image/png;base64,") for source in sources)
    links = re.findall(r'href="#([^"]*)"', pages[0])
    assert links
    assert set(links) <= set(exhibits.names())
    assert "&lt;b&gt;" in report.table(pd.DataFrame({"x": ["<b>"]}))


def test_time_says_what_was_not_run_and_shows_what_was(tmp_path: Path) -> None:
    page = report.time(tmp_path)
    assert "tox -e workers" in page
    assert "tox -e speed" in page
    page = report.time(GENERATED)
    assert "tox -e workers" not in page
    assert 'alt="workers.png"' in page
    assert "<td>interrupted, run again</td>" in page


def test_the_command_writes_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbconvert", reason="the optional extra report")
    pytest.importorskip("ipykernel", reason="the optional extra report")
    monkeypatch.setattr(exhibits, "names", lambda: ("figure_gumbel",))
    out = tmp_path / "page.html"
    result = CliRunner().invoke(command.app, ["report", "--out", str(out)])
    assert result.exit_code == 0, result.output
    text = out.read_text("utf-8")
    assert '<h3 id="figure_gumbel">' in text
    assert "import report" not in text  # the cells' source is not shown
    contents = re.findall(r'href="#([^"]+)"', text.partition("<h2")[0])[1:]  # the title's own first
    assert "Tables-and-figures-of-the-paper" in contents
    assert all(f'id="{place}"' in text for place in contents)
    assert re.findall(r'(?:src|href)="(?:https?:)?//', text) == []
