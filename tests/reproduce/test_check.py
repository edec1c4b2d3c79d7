"""`check` and the README's sections: what says that a number is not of this tree."""

import json
import re
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from gladius.validate import InputError
from reproduce import __main__ as command
from reproduce import exhibits
from reproduce import run as runner
from reproduce.engine import check, keys, output, provenance
from reproduce.engine.digests import Definitions, file_sha256
from reproduce.engine.nouns import LONG, SHORT, Cell, Entry, short_form
from reproduce.engine.output import MANIFESTS
from reproduce.engine.provenance import ROOT
from reproduce.engine.store import Archive
from reproduce.engine.view import View
from reproduce.pages import readme, response
from tests.reproduce.toys import files, toy

Run = Callable[..., runner.Outcome]
SECTIONS = ("summary", "answers", "exhibits", "machines", "output", "claims")
EXAMPLE = "```python\nprint(f'{2_000:,} rows, r = {7 / 3:.3f}')\n```"
PAGE = "\n".join(
    ["before", EXAMPLE, *(f"<!-- {n}: any -->\nold\n<!-- /{n} -->" for n in SECTIONS), "after\n"]
)
LEDGER = runner.GENERATED / "claims.csv"
SIGNS = 130  # of a verdict


@pytest.fixture
def committed(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs as if from a clean tree."""
    monkeypatch.setattr(provenance, "commit", lambda: {"commit": "c0ffee", "dirty": False})
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


def test_a_run_that_gives_the_same_files_leaves_the_manifest_with_its_commit_and_times(
    committed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From cells that another machine computed again too; an edited file is written again."""
    committed(toy())
    before = tables(tmp_path / "out")
    monkeypatch.setattr(provenance, "commit", lambda: {"commit": "another", "dirty": True})
    monkeypatch.setattr(provenance, "machine", lambda: {"processor": "P", "cores": 64})
    (tmp_path / "out" / "toy.csv").write_text("edited")
    for folder in ("build", "elsewhere"):
        committed(toy(), build=tmp_path / folder)
        assert tables(tmp_path / "out") == before
    change(tmp_path / "out", dirty=True)
    committed(toy(), build=tmp_path / "elsewhere")
    made = json.loads((tmp_path / "out" / "manifests" / "toy.json").read_text())
    assert (made["commit"], made["machines"][0]["cores"]) == ("another", 64)


def tables(folder: Path) -> dict[str, bytes]:
    """All files but the timings."""
    return {name: text for name, text in files(folder).items() if "timings" not in name}


def packed(tmp_path: Path) -> Path:
    """The toys' cells as a tar file."""
    with tarfile.open(tmp_path / "cells.tar.xz", "w:xz") as tar:
        tar.add(tmp_path / "build", ".")
    return tmp_path / "cells.tar.xz"


def forge(folder: Path, name: str, text: str) -> None:
    """Another file, with its digest in the manifest."""
    (folder / name).write_text(text)
    listed = json.loads((folder / "manifests" / "toy.json").read_text())["files"]
    change(folder, files=listed | {name: file_sha256(folder / name)})


def differing(*names: str) -> tuple[str, ...]:
    return tuple(f"{name} differs from what the stored results give" for name in names)


def test_a_file_that_was_changed_with_its_digest_is_found_and_drawn_again(
    committed: Run, tmp_path: Path
) -> None:
    committed(toy())
    out, cells, before = tmp_path / "out", packed(tmp_path), tables(tmp_path / "out")
    assert check.check([toy()], out, cells)[0].others == ()
    csv = (out / "toy.csv").read_text()
    for name, text in (("toy.csv", csv.replace("1", "2", 1)), ("toy.tex", "a forged table")):
        forge(out, name, text)
        (found,) = check.check([toy()], out, cells)
        assert (found.problems, found.others) == ((), differing("manifests/toy.json", name))
        committed(toy())
        assert tables(out) == before
    forge(out, "toy_more.csv", csv)
    found = check.check([toy()], out, cells)[0]
    assert found.others == differing("manifests/toy.json", "toy_more.csv")
    committed(toy())
    change(out, cpu_seconds=0.0, versions=[])
    found = check.check([toy()], out, cells)[0]
    assert found.others == differing("manifests/toy.json")


def test_a_cell_that_the_archive_lacks_and_an_archive_that_is_damaged_are_named(
    committed: Run, tmp_path: Path
) -> None:
    committed(toy(rows=("10",)))
    (tmp_path / "build" / "dangling").symlink_to("nowhere")
    cells = packed(tmp_path)
    committed(toy())
    (said,) = check.check([toy()], tmp_path / "out", cells)[0].others
    assert said.endswith("cells = 'cells.tar.xz': it lacks some that are readable")
    for content in (b"no archive", cells.read_bytes()[:400]):
        cells.write_bytes(content)
        with pytest.raises(InputError, match="not readable"):
            check.check([toy()], tmp_path / "out", cells)


def test_older_code_draws_nothing_again_and_what_cannot_be_drawn_is_named(
    committed: Run, tmp_path: Path
) -> None:
    def render(results: View, out: Path) -> None:
        raise ValueError("no such column")

    committed(toy())
    out, cells = tmp_path / "out", packed(tmp_path)
    (found,) = check.check([replace(toy(), render=render)], out, cells)
    assert (found.problems, found.others) == ((check.PROBLEMS["view"],), ())
    definitions, other = Definitions(), replace(toy(), render=render)
    change(out, view=keys.view(definitions, other))
    (found,) = check.check([other], out, cells)
    assert found.others == ("this tree cannot make it: failed: ValueError: no such column",)
    change(out, view=keys.view(definitions, toy()), code="0")
    forge(out, "toy.tex", "a forged table")  # of older cells: the code that draws is of this tree
    (found,) = check.check([toy()], out, cells)
    assert found.problems == (check.PROBLEMS["code"],)
    assert found.others == differing("manifests/toy.json", "toy.tex")


FIGURE = {"drawn by": "one version"}


def test_a_figure_of_another_version_of_matplotlib_is_neither_wrong_nor_replaced(
    committed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render(results: View, out: Path) -> None:
        (out / "toy.pdf").write_text(FIGURE["drawn by"])

    exhibit, out = replace(toy(), render=render), tmp_path / "out"
    committed(exhibit)
    before, cells = tables(out), packed(tmp_path)
    monkeypatch.setitem(FIGURE, "drawn by", "another version")
    monkeypatch.setattr(output, "is_locked", lambda package: package != "matplotlib")
    assert check.check([exhibit], out, cells)[0].others == ()
    committed(exhibit)
    assert tables(out) == before
    monkeypatch.setattr(output, "is_locked", lambda package: True)
    (found,) = check.check([exhibit], out, cells)
    assert found.others == differing("manifests/toy.json", "toy.pdf")
    committed(exhibit)
    assert tables(out)["toy.pdf"] == b"another version"


def test_the_version_of_the_lock_is_known() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    assert provenance.is_locked("pandas") == (f"\npandas=={pd.__version__} " in lock)
    assert not provenance.is_locked("python")


def test_the_archive_of_this_checkout_gives_its_files() -> None:
    """Of exhibits that are quick to draw, and where the code that draws them is of this tree."""
    loaded = [exhibits.load(name) for name in ("figure_gumbel", "table_2", "table_a1")]
    for found in check.check(loaded, runner.GENERATED, runner.CELLS):
        assert found.others == ()
    store = Archive(runner.CELLS)
    cells = {
        entry.cell for name in exhibits.names() for entry in exhibits.load(name).entries(False)
    }
    needed = [cell for cell in cells if not cell.settings.keys() & {LONG, SHORT}]
    assert all(store.load(cell) for cell in needed)


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


def test_the_command_finds_a_digit_of_each_page_and_another_template(
    committed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is as the checkout's, with the README above it."""
    out, path = tmp_path / "out", tmp_path / "README.md"
    committed(toy())
    shutil.copy(LEDGER, out)
    path.write_text(PAGE)
    for name, value in (("ROOT", tmp_path), ("runner.GENERATED", out)):
        monkeypatch.setattr(f"reproduce.__main__.{name}", value)
    monkeypatch.setattr(runner, "CELLS", packed(tmp_path))
    monkeypatch.setattr(exhibits, "names", lambda: ("toy",))
    load = exhibits.load  # which the templates use for others
    monkeypatch.setattr(exhibits, "load", lambda name: toy() if name == "toy" else load(name))

    def wrong() -> list[str]:
        result = CliRunner().invoke(command.app, ["check"])
        assert result.exit_code == (result.output != "toy: of this tree\n")
        return re.findall(r"^(\S+): the results and templates give another", result.output, re.M)

    pages = [path, path.with_name(response.FILE), *map(out.joinpath, readme.PAGES)]
    pages.append(out / readme.VERDICTS_FILE)
    of_claims = [str(path.relative_to(out)) for path in readme.claims(out)]
    assert wrong() == [*(page.name for page in pages), *of_claims]
    assert CliRunner().invoke(command.app, ["readme"]).exit_code == 0
    assert wrong() == []
    for page in pages:
        text = page.read_text("utf-8")
        page.write_text(re.sub("[0-9a-z](?=[^0-9a-z]*$)", "8", text, count=1), "utf-8")
        assert wrong() == ([page.name] if page != path else [])
        page.write_text(text, "utf-8")
    more = out / "claims" / "more.md"
    more.write_text("a page of a claim that is no more", "utf-8")
    errata = (out / "ERRATA.md").read_text("utf-8")
    (out / "ERRATA.md").write_text(errata.replace("1", "2", 1), "utf-8")
    assert wrong() == ["claims/more.md", "ERRATA.md"]
    assert CliRunner().invoke(command.app, ["readme"]).exit_code == 0
    assert (wrong(), more.exists()) == ([], False)
    path.write_text(path.read_text("utf-8").replace("Of 108 statements", "Of 109 statements"))
    monkeypatch.setitem(readme.PAGES, "FINDINGS.md", "limits.md")
    assert wrong() == ["README.md", "FINDINGS.md"]


def test_the_readme_has_a_line_an_exhibit_with_a_mark_where_check_says_so(
    committed: Run, tmp_path: Path
) -> None:
    out, path = tmp_path / "out", tmp_path / "README.md"
    committed(toy())
    shutil.copy(LEDGER, out)
    path.write_text(PAGE)
    changed = readme.update(path, [toy()], check.check([toy()], out), out)
    pages = {"README.md", response.FILE, *readme.PAGES, readme.VERDICTS_FILE}
    assert {p.name for p in changed} - {p.name for p in readme.claims(out)} <= pages
    assert len(changed) == len(pages) + len(readme.claims(out))
    text = path.read_text()
    assert text.startswith(f"before\n{EXAMPLE}\n<!-- {SECTIONS[0]}: generated -->")
    assert "<!-- output: generated -->\n```text\n2,000 rows, r = 2.333\n```\n<!-- /out" in text
    assert text.endswith("<!-- /claims -->\nafter\n")
    assert "old\n" not in text
    assert "Not drawn yet" in text  # the findings, which read exhibits that this folder lacks
    assert "Of 108 statements in the paper, 48 hold as printed" in text
    assert "older code" not in text
    page = (out / "EXHIBITS.md").read_text()
    assert "[toy.csv](toy.csv)" in page
    assert "cells: 6 computed; " in page
    assert readme.update(path, [toy()], check.check([toy()], out), out) == []
    change(out, code="0")
    readme.update(path, [toy()], check.check([toy()], out), out)
    assert "`python -m reproduce check` says: older code" in (out / "EXHIBITS.md").read_text()


@pytest.mark.parametrize(
    ("block", "stays"),
    [
        ("2,000 rows, r = 2.333", True),
        ("2,000 rows,   r = 2.334", True),  # a unit of the last digit
        ("2,000 rows, r = 2.33", False),  # a trailing zero may be gone, other digits not
        ("2,000 rows, r = 2.335", False),
        ("2,001 rows, r = 2.333", False),  # a count is no rounded number
        ("2,000 lines, r = 2.333", False),
        ("2,000 rows, r = 2.333, 1", False),
    ],
)
def test_the_block_below_the_example_is_renewed_where_it_is_not_printed(
    block: str, stays: bool
) -> None:
    text = f"{EXAMPLE}\n<!-- output: generated -->\n```text\n{block}\n```\n<!-- /output -->"
    right = text.replace(block, "2,000 rows, r = 2.333")
    assert readme.renewed(text) == (text if stays else right)
    with pytest.raises(InputError, match="put an example into it"):
        readme.renewed(text.removeprefix(EXAMPLE))


def test_machines_and_times_are_those_of_the_manifests(tmp_path: Path) -> None:
    (tmp_path / MANIFESTS).mkdir()
    at = {"processor": "P", "cores": 2, "system": "Linux", "model": "model 3"}
    small, large = (at | {"memory_gb": gb} for gb in (8, 16))
    other = {"processor": "Q", "cores": 4}
    costs = {"x": 3600.0, "y": 5400.0}  # of which both manifests have one
    for name, machines, seconds in (("a", [small, large], costs), ("b", [other], {"y": 5400.0})):
        manifest = {"files": {}, "machines": machines, "costs": seconds, "rekeyed": ["y"]}
        text = json.dumps(manifest)
        (tmp_path / MANIFESTS / f"{name}.json").write_text(text)
    about = readme.describe([], [], tmp_path)
    assert about["machines"] == ["P (model 3), 2 cores, 16 GB", "Q, 4 cores"]
    assert about["total"] == "2.5 h"
    assert (about["rekeyed"], about["rekeyed_time"]) == (1, "1.5 h")
    assert about["systems"] == "Linux, not recorded"


@pytest.mark.parametrize("name", SECTIONS)
def test_a_readme_without_marks_is_refused(committed: Run, tmp_path: Path, name: str) -> None:
    shutil.copy(LEDGER, tmp_path)
    (tmp_path / "README.md").write_text(PAGE.replace(f"<!-- {name}", "<!-- "))
    with pytest.raises(InputError, match=f"put the lines <!-- {name}"):
        readme.update(tmp_path / "README.md", [], [], tmp_path)


def test_verdicts_are_short(tmp_path: Path) -> None:
    loaded = [exhibits.load(name) for name in exhibits.names()]
    assert all(readme.verdicts(e, tmp_path) == [] for e in loaded)  # where none has been run
    said = {e.name: readme.verdicts(e, runner.GENERATED) for e in loaded}
    assert {name: text for name, text in said.items() if text and len(text[0]) > SIGNS} == {}
    assert sum(map(bool, said.values())) > len(said) / 2


def test_the_readme_of_this_checkout_is_up_to_date_and_its_marks_are_those_of_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the command, which here names what it would write and writes nothing."""
    monkeypatch.setattr(readme, "update", readme.outdated)
    said = CliRunner().invoke(command.app, ["readme"]).stdout
    assert said == "All up to date.\n", "run: python -m reproduce readme"


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


def test_a_short_form_stands_in_where_no_cell_of_hours_is_stored(
    committed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def entries(smoke: bool) -> list[Entry]:
        listed = []
        for entry in toy(rows=("10", "20")).entries(smoke):
            cell = replace(entry.cell, settings={**entry.cell.settings, "long": True})
            short = short_form(cell, repetitions=3)
            listed += [replace(entry, cell=cell), replace(entry, protocol="measured s", cell=short)]
        return listed

    def repetitions() -> list[int]:
        """Of 10A, 10B, 20A and 20B; 5 of a cell of hours and 3 of a short one."""
        frame = pd.read_csv(tmp_path / "out" / "toy.csv").query("statistic == 'MAPE'")
        assert check.check([exhibit], tmp_path / "out")[0].problems == ()
        assert not frame.duplicated(["row", "column"]).any()
        return list(frame["repetitions"])

    exhibit = replace(toy(), entries=entries)
    assert len(committed(exhibit).computed) == 4
    assert repetitions() == [3] * 4
    done = committed(exhibit, long=True)
    assert len(done.computed) == 4
    assert repetitions() == [5] * 4
    assert committed(exhibit).computed == ()
    assert repetitions() == [5] * 4
    files_of = {p for p in (tmp_path / "build").rglob("*.json") if '"long"' in p.read_text()}
    (first,) = (p for p in files_of if '"seeds_row": "20"' in (t := p.read_text()) and '"B"' in t)
    first.unlink()
    assert committed(exhibit).computed == ()  # the short one is stored
    assert repetitions() == [5, 5, 5, 3]
    other = short_form(Cell("truth", {"long": True}, "r"))
    assert (other.settings, other.label) == ({"short": True}, "r, short form")
    with tarfile.open(tmp_path / "cells.tar", "w") as archive:
        archive.add(tmp_path / "build", arcname=".")
    shutil.rmtree(tmp_path / "build")
    assert len(committed(exhibit).computed) == 4  # short ones
    monkeypatch.setattr(runner, "CELLS", tmp_path / "cells.tar")
    done = committed(exhibit)
    assert (done.computed, done.reused, done.restored) == ((), 4, 3)
    assert repetitions() == [5, 5, 5, 3]
    assert readme.with_short_forms([exhibit], tmp_path / "out") == ["toy"]
    assert not any('"long"' in path.read_text() for path in (tmp_path / "build").rglob("*.json"))
    assert committed(exhibit, long=True).restored == 0
    assert repetitions() == [5] * 4
    assert readme.with_short_forms([exhibit], tmp_path / "out") == []
