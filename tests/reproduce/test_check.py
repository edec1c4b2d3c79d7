"""`check`, `stamp` and the README's sections: what says that a number is not of this tree."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from gladius.validate import InputError
from proofs_checks.digests import Definitions
from reproduce import __main__ as command
from reproduce import exhibits
from reproduce import run as runner
from reproduce.engine import check, provenance
from reproduce.engine.nouns import Entry
from reproduce.engine.output import MANIFESTS
from reproduce.engine.provenance import ROOT
from reproduce.pages import readme, response
from tests.reproduce.toys import toy

Run = Callable[..., runner.Outcome]
SECTIONS = ("summary", "findings", "exhibits", "machines", "claims")
PAGE = "\n".join(
    ["before", *(f"<!-- {n}: any -->\nold\n<!-- /{n} -->" for n in SECTIONS), "after\n"]
)
SIGNS, BYTES = 130, 7_150  # of a verdict, and of the README


@pytest.fixture
def committed(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs as if from a clean tree, without a ledger."""
    monkeypatch.setattr(provenance, "commit", lambda: {"commit": "c0ffee", "dirty": False})
    monkeypatch.setattr(check, "FILES", {})
    return run


def problems(folder: Path) -> str:
    (finding,) = check.check([toy()], folder)
    return "; ".join(finding.problems)


def change(folder: Path, name: str = "toy", **changes: Any) -> None:
    path = folder / "manifests" / f"{name}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_numbers_of_this_tree_pass(committed: Run, tmp_path: Path) -> None:
    committed(toy())
    assert problems(tmp_path / "out") == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"code": "0"}, "older code: what computes it has changed since"),
        ({"view": "0"}, "older code: what draws it has changed since"),
        ({"dirty": True}, "made by code that was not committed"),
        ({"dirty": None}, "made by code that was not committed"),
        ({"smoke": True}, "a smoke run"),
        ({"files": {"toy.csv": "0"}}, "toy.csv was changed since"),
        ({"files": {"gone.pdf": "0"}}, "gone.pdf was changed since"),
    ],
)
def test_what_is_not_of_this_tree_is_named(
    committed: Run, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    committed(toy())
    change(tmp_path / "out", **changes)
    assert problems(tmp_path / "out") == said
    committed(toy())  # nothing is computed, and all is of this tree again
    assert problems(tmp_path / "out") == ""


def test_a_changed_setting_or_module_is_older_code(
    committed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(toy())
    (finding,) = check.check([toy(rows=("10", "20"))], tmp_path / "out")
    assert finding.problems == ("older code: what computes it has changed since",)
    (finding,) = check.check([replace(toy(), view=lambda entry, result: ())], tmp_path / "out")
    assert finding.problems == ("older code: what draws it has changed since",)
    reached = Definitions.reached
    edited = {"gladius.validate.InputError": "edited"}
    monkeypatch.setattr(Definitions, "reached", lambda *a, **more: reached(*a, **more) | edited)
    assert problems(tmp_path / "out").count("older code") == 2


def test_a_run_that_computes_and_draws_nothing_leaves_the_manifest_with_its_commit(
    committed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(toy())
    path = tmp_path / "out" / "manifests" / "toy.json"
    before = path.read_text()
    monkeypatch.setattr(provenance, "commit", lambda: {"commit": "another", "dirty": True})
    committed(toy())
    assert path.read_text() == before
    (tmp_path / "out" / "toy.csv").write_text("edited")
    committed(toy())
    assert json.loads(path.read_text())["commit"] == "another"


def test_versions_are_told_and_do_not_decide(committed: Run, tmp_path: Path) -> None:
    committed(toy())
    change(tmp_path / "out", versions=[{"numpy": "1.0"}])
    (finding,) = check.check([toy()], tmp_path / "out")
    assert finding.problems == ()
    assert finding.notes[0].startswith("numpy 1.0, here ")


def test_nothing_is_said_of_an_exhibit_without_a_manifest(tmp_path: Path) -> None:
    finding = check.check([toy()], tmp_path)[0]
    assert finding.problems == ("nothing says how it was made",)


def test_the_command_exits_1_and_names_what_is_older(
    committed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(toy(), toy(name="other"))
    change(tmp_path / "out", "other", code="0")
    monkeypatch.setattr(exhibits, "names", lambda: ("other", "toy"))
    monkeypatch.setattr(exhibits, "load", {"toy": toy(), "other": toy(name="other")}.__getitem__)
    result = CliRunner().invoke(command.app, ["check", "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "other: older code" in result.output
    assert "toy: of this tree" in result.output
    committed(toy(), toy(name="other"))
    assert CliRunner().invoke(command.app, ["check", "--out", str(tmp_path / "out")]).exit_code == 0
    (tmp_path / "out" / readme.VERDICTS_FILE).write_text("other verdicts\n")
    result = CliRunner().invoke(command.app, ["check", "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "verdicts.csv: not of these numbers" in result.output


def test_the_ledger_is_stamped_when_it_is_made_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "commit", lambda: {"commit": "c0ffee", "dirty": False})
    with pytest.raises(InputError, match="make them first"):
        check.stamp("claims", tmp_path)
    for name in check.FILES["claims"]:
        (tmp_path / name).write_text("text")
    check.stamp("claims", tmp_path)
    (ledger,) = check.check([], tmp_path)
    assert (ledger.name, ledger.problems) == ("claims", ())
    (tmp_path / "claims.csv").write_text("edited")
    assert check.check([], tmp_path)[0].problems == ("claims.csv was changed since",)
    os.utime(tmp_path / "claims.csv", (0, 0))
    with pytest.raises(InputError, match="make it again"):
        check.stamp("claims", tmp_path)
    with pytest.raises(InputError, match="choose one of claims"):
        check.stamp("table_2", tmp_path)


LEDGER = "id,verdict,printed,severity\na,fails,yes,theorem\nb,holds,yes,\nc,holds,no,\n"
LEDGER += "corrected.d,holds,no,\n"


def test_the_readme_has_a_line_an_exhibit_with_a_mark_where_check_says_so(
    committed: Run, tmp_path: Path
) -> None:
    out, path = tmp_path / "out", tmp_path / "README.md"
    committed(toy())
    (out / "claims.csv").write_text(LEDGER)
    path.write_text(PAGE)
    changed = readme.update(path, [toy()], check.check([toy()], out), out)
    assert {p.name for p in changed} == {
        "README.md",
        response.FILE,
        *readme.PAGES,
        readme.VERDICTS_FILE,
    }
    text = path.read_text()
    assert text.startswith(f"before\n<!-- {SECTIONS[0]}: generated -->")
    assert text.endswith("<!-- /claims -->\nafter\n")
    assert "old\n" not in text
    assert "Not drawn yet" in text  # the findings, which read exhibits that this folder lacks
    assert "Of 2 statements in the paper, 1 hold as printed" in text
    assert "older code" not in text
    page = (out / "EXHIBITS.md").read_text()
    assert "[toy.csv](toy.csv)" in page
    assert "cells: 6 computed; " in page
    assert readme.update(path, [toy()], check.check([toy()], out), out) == []
    change(out, code="0")
    readme.update(path, [toy()], check.check([toy()], out), out)
    assert "`python -m reproduce check` says: older code" in (out / "EXHIBITS.md").read_text()


def test_machines_and_times_are_those_of_the_manifests(tmp_path: Path) -> None:
    (tmp_path / MANIFESTS).mkdir()
    small, large = ({"processor": "P", "cores": 2, "memory_gb": gb} for gb in (8, 16))
    other = {"processor": "Q", "cores": 4}
    costs = {"x": 3600.0, "y": 5400.0}  # of which both manifests have one
    for name, machines, seconds in (("a", [small, large], costs), ("b", [other], {"y": 5400.0})):
        text = json.dumps({"files": {}, "machines": machines, "costs": seconds})
        (tmp_path / MANIFESTS / f"{name}.json").write_text(text)
    about = readme.describe([], [], tmp_path)
    assert about["machines"] == ["P, 2 cores, 16 GB", "Q, 4 cores"]
    assert about["total"] == "2.5 h"


@pytest.mark.parametrize("name", SECTIONS)
def test_a_readme_without_marks_is_refused(committed: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "claims.csv").write_text(LEDGER)
    (tmp_path / "README.md").write_text(PAGE.replace(f"<!-- {name}", "<!-- "))
    with pytest.raises(InputError, match=f"put the lines <!-- {name}"):
        readme.update(tmp_path / "README.md", [], [], tmp_path)


def test_verdicts_are_short_and_so_is_the_readme_were_all_of_it_made_by_older_code(
    tmp_path: Path,
) -> None:
    loaded = [exhibits.load(name) for name in exhibits.names()]
    assert all(readme.verdicts(e, tmp_path) == [] for e in loaded)  # where none has been run
    said = {e.name: readme.verdicts(e, runner.GENERATED) for e in loaded}
    assert {name: text for name, text in said.items() if text and len(text[0]) > SIGNS} == {}
    assert sum(map(bool, said.values())) > len(said) / 2
    older = [check.Finding(name, (check.OLDER,)) for name in [*said, *check.FILES]]
    path = ROOT / "README.md"
    assert len(readme.contents(path, loaded, older, runner.GENERATED)[path].encode()) <= BYTES


def test_the_readme_of_this_checkout_is_up_to_date_and_its_marks_are_those_of_check() -> None:
    loaded = [exhibits.load(name) for name in exhibits.names()]
    findings = check.check(loaded, runner.GENERATED)
    wanted = readme.contents(ROOT / "README.md", loaded, findings, runner.GENERATED)
    for path, text in wanted.items():
        assert path.read_text("utf-8") == text, "run: python -m reproduce readme"
    assert CliRunner().invoke(command.app, ["readme"]).stdout == "All up to date.\n"


def test_cells_of_hours_are_drawn_where_they_are_stored(committed: Run, tmp_path: Path) -> None:
    def entries(smoke: bool) -> list[Entry]:
        short, long = toy(rows=("10",)).entries(smoke)
        settings = {**long.cell.settings, "long": True}
        return [short, replace(long, cell=replace(long.cell, settings=settings))]

    def columns() -> list[str]:
        frame = pd.read_csv(tmp_path / "out" / "toy.csv")
        assert check.check([exhibit], tmp_path / "out")[0].problems == ()
        return sorted(set(frame["column"]))

    exhibit = replace(toy(), entries=entries)
    assert len(committed(exhibit).computed) == 1
    assert columns() == ["A"]
    assert len(committed(exhibit, long=True).computed) == 1
    assert columns() == ["A", "B"]
    assert committed(exhibit).computed == ()
    assert columns() == ["A", "B"]  # stored, so no hours
    (path,) = (p for p in (tmp_path / "build").rglob("*.json") if '"long"' in p.read_text())
    path.unlink()
    assert committed(exhibit).computed == ()
    assert columns() == ["A"]
