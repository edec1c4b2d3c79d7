"""Every effect that the report tells is read from the generated files; what shows it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gladius.checks import InputError
from reproduce import deviations, exhibits, report
from reproduce.deviations import ALL, Deviation
from reproduce.run import GENERATED, MANIFESTS, read_manifest

BY_DECISION = pytest.mark.parametrize("line", ALL, ids=[d.decision for d in ALL])


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated CSVs, each with every value larger, by another factor."""
    folder = tmp_path_factory.mktemp("changed")
    for name in {name for line in ALL for name in line.exhibits}:
        frame = pd.read_csv(GENERATED / f"{name}.csv", dtype={"row": str})
        frame["value"] *= np.linspace(2.0, 9.0, len(frame))
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


@BY_DECISION
def test_an_effect_is_read_from_its_exhibits(line: Deviation, changed: Path) -> None:
    text = line.effect(GENERATED)
    assert re.search(r"\d", text)
    assert "nan" not in text
    assert line.effect(changed) != text  # the control: a number that was typed stays
    assert set(line.exhibits) <= set(exhibits.names())


@BY_DECISION
def test_an_effect_needs_no_other_exhibit_and_each_of_its_own(
    line: Deviation, tmp_path: Path
) -> None:
    for name in line.exhibits:
        shutil.copy(GENERATED / f"{name}.csv", tmp_path)
    assert line.effect(tmp_path) == line.effect(GENERATED)
    for name in line.exhibits:
        (tmp_path / f"{name}.csv").unlink()
        with pytest.raises(InputError, match=f"not run yet: python -m reproduce run {name}"):
            line.effect(tmp_path)
        shutil.copy(GENERATED / f"{name}.csv", tmp_path)


def test_the_standard_error_s_reading_is_that_of_the_printed_digits() -> None:
    """Rust's printed (SE) over its MAPE, by hand: .69 the largest share, and ten times that."""
    text = deviations.spread_reading(GENERATED)
    assert "0.15 to 0.69" in text
    assert "1.50 to 6.90" in text


def test_a_line_that_is_missing_or_not_finite_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sensitivity.csv"
    frame = pd.read_csv(GENERATED / "sensitivity.csv", dtype={"row": str})
    is_used = frame["protocol"].eq("leak_free 2 x 50") & frame["row"].eq("1000")
    frame.assign(value=frame["value"].where(~is_used, np.nan)).to_csv(path, index=False)
    for kept in (slice(None), ~is_used):
        pd.read_csv(path, dtype={"row": str})[kept].to_csv(path, index=False)
        with pytest.raises(InputError, match=r"leak_free 2 x 50/MAPE.*run sensitivity"):
            deviations.hidden_units(tmp_path)


def test_the_report_shows_every_deviation_with_a_link_to_its_exhibits() -> None:
    page = report.decisions(GENERATED)
    assert page.count("<tr>") == len(ALL) + 1
    for line in ALL:
        assert report.marked(line.decision) in page
        assert report.marked(line.effect(GENERATED)) in page
    linked = set(re.findall(r'href="#([^"]*)"', page))
    assert linked == {name for line in ALL for name in line.exhibits}


def test_the_report_says_where_every_file_comes_from() -> None:
    page = report.provenance(GENERATED)
    names = sorted(path.stem for path in (GENERATED / MANIFESTS).glob("*.json"))
    assert re.findall(r'id="made-([^"]*)"', page) == names
    for name in names:
        manifest = read_manifest(GENERATED, name)
        assert str(manifest["commit"])[:12] in page
        assert all(text in page for item in manifest["files"].items() for text in item)
    assert '<a href="#made-bounds">' in report.exhibit(GENERATED, "bounds")


def test_a_table_s_page_is_shown_without_its_frame(tmp_path: Path) -> None:
    path = tmp_path / "toy.html"
    path.write_text("<title>A &lt;b&gt;</title>\n<h1>A</h1>\n<table></table>\n<p>note</p>", "utf-8")
    shown = report.made_table(path)
    assert "<summary>A &lt;b&gt;</summary>" in shown
    assert "<h1>" not in shown
    assert "<table></table>\n<p>note</p>" in shown


def test_names_in_backticks_are_code_and_nothing_else_is_markup() -> None:
    assert report.marked("`a<b` & c") == "<code>a&lt;b</code> &amp; c"
