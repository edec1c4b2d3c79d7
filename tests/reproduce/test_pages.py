"""The generated pages: every number is read from the files."""

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gladius.validate import InputError
from reproduce import exhibits
from reproduce.drawing import notes
from reproduce.engine.output import DIGITS
from reproduce.engine.progress import duration
from reproduce.engine.provenance import ROOT
from reproduce.pages import findings, numbers, readme
from reproduce.paper.published import PUBLIC
from reproduce.run import GENERATED
from tests.reproduce.smoke_results import with_pictures

READ = (
    *(
        "accuracy",
        "converging",
        "converging_ablation",
        "converging_checks",
        "converging_epochs_checks",
        "double_sampling",
        "figure_1",
        "stability",
    ),
    *("table_2", "table_2_author", "table_4", "claims"),
)

PARTS = ["What the paper says", "What we did", "What we saw", "How sure"]
PARTS += ["What would change our mind", "What it means for you", "Run it"]


def rendered(template: str, folder: Path) -> str:
    return findings.environment(folder).get_template(template).render(link=".")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The CSVs that the pages read, each with every value larger, by another factor."""
    folder = tmp_path_factory.mktemp("changed")
    for name in READ:
        frame = pd.read_csv(GENERATED / f"{name}.csv", dtype={"row": str})
        if "value" in frame:
            frame["value"] *= np.linspace(2.0, 9.0, len(frame))
            frame["se"] *= 3
        frame.to_csv(folder / f"{name}.csv", index=False)
    return with_pictures(folder)


def test_an_effect_is_read_from_the_exhibits_that_it_names(changed: Path) -> None:
    lines, others = (
        rendered("deviations.md", folder).partition("| decision")[2].splitlines()
        for folder in (GENERATED, changed)
    )
    assert len(lines) == len(others) > 10
    for line, other in list(zip(lines, others, strict=True))[2:]:
        effect = line.split(" | ")[-1]
        assert re.search(r"\d", effect)
        assert "nan" not in effect
        assert other != line  # the control: a number that was typed stays
        assert set(re.findall(r"`(\w+)`", effect)) <= set(exhibits.names())


def test_the_findings_are_read_and_say_their_limits(changed: Path) -> None:
    found, others = (
        findings.FINDING.findall(rendered("findings.md", folder)) for folder in (GENERATED, changed)
    )
    assert [number for number, *_ in found] == [number for number, *_ in others] == [*"12345"]
    for text, other in zip(found[:3], others[:3], strict=True):
        assert text != other
    for _, heading, text in found:
        assert re.findall(r"^\*\*(.+?)\.\*\* \S", text, re.MULTILINE) == PARTS, heading
        assert len(findings.COMMAND.findall(text)) == 1
        assert "nan" not in text.split()


def test_the_figures_of_the_findings_have_their_alternative_texts() -> None:
    found = re.findall(r'<img src="\./(.+?)".* alt="(.+?)">', rendered("findings.md", GENERATED))
    assert len(found) == 6
    assert [text for _, text in found] == [notes.alt(GENERATED / file) for file, _ in found]


def test_a_verdict_that_changes_stops_the_sentence_that_states_it(tmp_path: Path) -> None:
    for name in READ:
        shutil.copy(GENERATED / f"{name}.csv", tmp_path)
    ledger = pd.read_csv(with_pictures(tmp_path) / "claims.csv", dtype=str)
    is_stated = ledger["id"].eq("prop:linConvergence.two-sided-PL")
    ledger.assign(verdict=ledger["verdict"].mask(is_stated, "holds")).to_csv(
        tmp_path / "claims.csv", index=False
    )
    with pytest.raises(Exception, match="holds"):
        rendered("findings.md", tmp_path)


def test_a_number_that_is_missing_or_not_finite_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not run yet: python -m reproduce run table_2_author"):
        rendered("findings.md", tmp_path)
    found, at = numbers.Numbers(tmp_path), ("50", "Rust", "fresh")
    frame = pd.read_csv(GENERATED / "table_2.csv", dtype={"row": str})
    is_used = frame["row"].eq("50") & frame["column"].eq("Rust") & frame["statistic"].eq("MAPE")
    frame.assign(value=frame["value"].mask(is_used)).to_csv(tmp_path / "table_2.csv", index=False)
    with pytest.raises(InputError, match=r"50/Rust/fresh.*run table_2"):
        found.value("table_2", *at)
    with pytest.raises(InputError, match="no number there"):
        found.value("table_2", "51", "Rust", "fresh")


def test_a_number_is_found_by_its_place_and_series_by_patterns() -> None:
    found = numbers.Numbers(GENERATED)
    frame = pd.read_csv(GENERATED / "accuracy.csv")
    affine = frame[frame["row"].str.startswith("affine/") & frame["statistic"].eq("MAPE")]
    affine = affine[affine["column"].eq("Rust") & affine["protocol"].eq("fresh")]
    series = found.series("accuracy", "affine/*", "Rust", "fresh")
    assert list(series) == ["50", "250", "500", "1000", "2500", "5000"]
    assert list(series.values()) == affine["value"].tolist()
    assert numbers.printed("table_2", "Rust")["50"] == 3.62
    assert numbers.ratios({"a": 6.0, "b": 1.0}, {"a": 3.0}) == {"a": 2.0}
    assert [numbers.span(x) for x in ([1.0, 2.5, 2.0], [1.0])] == ["1.00 to 2.50", "1.00"]


def test_the_time_of_an_exhibit_leaves_out_its_cells_of_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = (entry.cell for entry in exhibits.load("table_2_author").entries(False))
    costs = {c.digest[:DIGITS]: 60.0 if c.settings.get("long") else 0.5 for c in cells}
    monkeypatch.setattr(numbers, "read_manifest", lambda folder, name: {"costs": costs})
    for is_long in (False, True):
        expected = duration(sum(x for x in costs.values() if x < 1.0 or is_long))
        assert numbers.Numbers(tmp_path).time(["table_2_author"], is_long) == expected


def test_the_findings_stand_without_the_trainings_of_hours(tmp_path: Path) -> None:
    """A clean checkout draws Table 2's exhibit without them, and then writes the README."""
    shutil.copytree(GENERATED, tmp_path, dirs_exist_ok=True)
    frame = pd.read_csv(tmp_path / "table_2_author.csv", dtype=str, keep_default_na=False)
    is_long = frame["protocol"].str.contains("continued|changed|seed|float32|observation")
    frame[~is_long].to_csv(tmp_path / "table_2_author.csv", index=False)
    path = tmp_path / "figure_1.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert frame["protocol"].str.startswith(PUBLIC).any()
    frame["protocol"] = frame["protocol"].str.replace(PUBLIC, f"{PUBLIC} short form, 9 epochs")
    frame.to_csv(path, index=False)
    loaded = [exhibits.load(name) for name in exhibits.names()]
    pages = readme.contents(ROOT / "README.md", loaded, [], tmp_path)
    assert not [file.name for file, text in pages.items() if "Not drawn yet" in text]
    assert "\n## 4. Theorem 11" in pages[tmp_path / "FINDINGS.md"]
    assert "trained for too few epochs" in pages[tmp_path / "EXHIBITS.md"]


@pytest.mark.parametrize(
    ("seconds", "cores", "clock"), [([5, 4, 3, 3], 1, 15), ([3, 5, 3, 4], 2, 8), ([5, 1], 16, 5)]
)
def test_a_run_on_many_cores_takes_what_its_fullest_core_does(
    seconds: list[float], cores: int, clock: float
) -> None:
    assert readme.elapsed(seconds, cores) == clock
