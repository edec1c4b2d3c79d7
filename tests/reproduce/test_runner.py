"""The exhibit engine: resumption, failures, seeds, equality alone and in parallel."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from gladius.checks import InputError
from reproduce import __main__ as command
from reproduce import engine, exhibits, provenance, readme, seeds, tasks
from reproduce.results import COLUMNS, Results
from reproduce.spec import Cell, Exhibit
from reproduce.store import Store, Stored, encode
from tests.reproduce.toys import ROWS, files, numbers, toy

IDS = tuple(f"toy/{row}/{column}/measured" for row in ROWS for column in ("A", "B"))


def run(exhibit: Exhibit, tmp_path: Path, name: str = "", **options: Any) -> engine.Outcome:
    folders = {"build": tmp_path / f"build{name}", "out": tmp_path / f"out{name}"}
    defaults: dict[str, Any] = {**folders, "workers": 0, "verbose": False}
    return engine.run([exhibit], **{**defaults, **options})


def test_second_run_computes_nothing_and_rewrites_the_same_bytes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = run(toy(log), tmp_path)
    before = files(tmp_path / "out")
    assert first.computed == IDS
    assert first.reused == 0
    assert not first.failed
    assert set(before) == {"manifest.json", "toy.csv", "toy.tex", "toy.pdf", "toy.png"}
    second = run(toy(log), tmp_path)
    assert second.computed == ()
    assert second.reused == len(IDS)
    assert sorted(log.read_text().splitlines()) == sorted(IDS)  # each cell once, over both runs
    assert files(tmp_path / "out") == before


def test_long_csv_has_the_agreed_columns_and_the_numbers_of_the_seeds(tmp_path: Path) -> None:
    run(toy(), tmp_path)
    frame = numbers(tmp_path / "out")
    assert list(frame.columns) == COLUMNS
    draws = [np.random.default_rng(seeds.sequence("toy", "20", r)).normal() for r in range(5)]
    cell = frame[(frame["row"] == "20") & (frame["column"] == "B") & (frame["statistic"] == "MAPE")]
    assert cell["value"].item() == pytest.approx(np.mean(draws) + 1, rel=1e-9)
    assert cell["se"].item() == pytest.approx(np.std(draws, ddof=1) / math.sqrt(5), rel=1e-9)
    assert cell["status"].item() == "ok"
    assert cell["repetitions"].item() == 5


def test_smoke_and_full_cells_do_not_collide(tmp_path: Path) -> None:
    run(toy(), tmp_path)
    assert run(toy(), tmp_path, smoke=True).computed == IDS
    assert run(toy(), tmp_path).computed == ()


def test_smoke_run_does_not_write_where_full_results_are() -> None:
    assert engine.SMOKE != engine.GENERATED
    assert engine.GENERATED not in engine.SMOKE.parents


def test_an_interrupt_keeps_the_finished_cells(tmp_path: Path) -> None:
    def trouble(row: str, column: str) -> None:
        if len((tmp_path / "log").read_text().splitlines()) == 3:
            raise KeyboardInterrupt

    exhibit = toy(tmp_path / "log", trouble=trouble)
    first = run(exhibit, tmp_path)
    assert len(first.computed) == 2
    assert set(first.failed) == set(IDS) - set(first.computed)
    second = run(exhibit, tmp_path)
    assert set(second.computed) == set(first.failed)
    assert not second.failed
    run(toy(), tmp_path, "alone")
    assert numbers(tmp_path / "out").equals(numbers(tmp_path / "outalone"))


def test_a_failed_cell_is_recorded_and_tried_again_while_others_go_on(tmp_path: Path) -> None:
    def trouble(row: str, column: str) -> None:
        if (row, column) == ("20", "A") and not (tmp_path / "mended").exists():
            raise ZeroDivisionError("nothing\nto divide by")

    exhibit = toy(tmp_path / "log", trouble=trouble)
    first = run(exhibit, tmp_path)
    why = "failed: ZeroDivisionError: nothing to divide by"
    assert first.failed == {"toy/20/A/measured": why}
    frame = numbers(tmp_path / "out")
    bad = frame[frame["status"] == why]
    assert list(bad["row"] + bad["column"]) == ["20A"]
    assert bad["value"].isna().all()
    good = frame[frame["status"] == "ok"]
    assert set(good["row"] + good["column"]) == {"10A", "10B", "20B", "30A", "30B"}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["toy"]["cells"] == {"failed": 1, "ok": 5}
    (tmp_path / "mended").touch()
    second = run(exhibit, tmp_path)
    assert second.computed == ("toy/20/A/measured",)
    assert not second.failed


def test_a_worker_that_dies_is_a_failure_not_a_hang(tmp_path: Path) -> None:
    def trouble(row: str, column: str) -> None:
        if (row, column) == ("30", "B") and not (tmp_path / "mended").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    exhibit = toy(trouble=trouble)
    first = run(exhibit, tmp_path, workers=1)
    assert first.failed["toy/30/B/measured"] == engine.LOST
    (tmp_path / "mended").touch()
    second = run(exhibit, tmp_path)
    assert not second.failed
    assert set(second.computed) == set(first.failed)


def test_alone_in_parallel_and_in_another_order_the_numbers_are_the_same(tmp_path: Path) -> None:
    run(toy(), tmp_path, "here")
    run(toy(), tmp_path, "parallel", workers=2)
    run(toy(rows=ROWS[::-1], columns=("B", "A")), tmp_path, "reversed")
    run(toy(rows=("20",), columns=("B",)), tmp_path, "single")
    here = numbers(tmp_path / "outhere")
    assert here.equals(numbers(tmp_path / "outparallel"))
    key = ["row", "column", "statistic"]
    backwards = numbers(tmp_path / "outreversed").sort_values(key, ignore_index=True)
    assert here.sort_values(key, ignore_index=True).equals(backwards)
    own = here[(here["row"] == "20") & (here["column"] == "B")].reset_index(drop=True)
    assert own.equals(numbers(tmp_path / "outsingle"))


def test_shown_cells_appear_where_they_exist_and_only_while_their_sources_stand(
    tmp_path: Path,
) -> None:
    other, host = toy(rows=("10",), name="other"), toy(rows=("10",), shows=("other",))
    assert run(host, tmp_path, shown=[other]).stale == ()
    alone = len(numbers(tmp_path / "out"))
    run(other, tmp_path)
    assert run(host, tmp_path, shown=[other]).stale == ()
    assert len(numbers(tmp_path / "out")) == 2 * alone
    store = Store(tmp_path / "build")
    for cell in other.cells(False):
        stored = store.load(cell)
        assert stored is not None
        store.path(cell).write_text(encode(cell, replace(stored, source="older")))
    outcome = run(host, tmp_path, shown=[other])
    assert outcome.stale == ("other/10/A/measured", "other/10/B/measured")
    assert len(numbers(tmp_path / "out")) == alone


def test_results_pair_replications_of_equal_data(tmp_path: Path) -> None:
    exhibit = toy()
    run(exhibit, tmp_path)
    store, cells = Store(tmp_path / "build"), exhibit.cells(False)
    results = Results(cells, [store.load(c) for c in cells], False)
    gap, se, pairs = results.paired("10", ("B", "measured"), ("A", "measured"))
    assert gap == pytest.approx(1.0)
    assert se == pytest.approx(0.0, abs=1e-12)
    assert pairs == 5


def test_pairing_refuses_other_data(tmp_path: Path) -> None:
    exhibit = toy()
    run(exhibit, tmp_path)
    store, cells = Store(tmp_path / "build"), exhibit.cells(False)
    stored = [store.load(c) for c in cells]
    other = stored[1]
    assert other is not None
    wrong = {**other.provenance, "seed": {**other.provenance["seed"], "root": 1}}
    stored[1] = Stored(other.result, other.status, other.source, wrong)
    with pytest.raises(InputError, match="seeds"):
        Results(cells, stored, False).paired("10", ("A", "measured"), ("B", "measured"))


# Sources -----------------------------------------------------------------------------------------

MODULE = '''
from reproduce.spec import Cell, Exhibit, Result, summarise
FACTOR = 2.0
TITLE = "a title"
def helper():
    """Says nothing."""
    return FACTOR
def compute(cell, device):
    return Result(summarise("MAPE", [helper()], ["ok"]), {"MAPE": [helper()]}, {}, 0.0)
def cells(smoke):
    return [Cell("toy", "1", "A", "measured")]
def render(results, out):
    return []
EXHIBIT = Exhibit("toy", TITLE, cells, compute, render)
'''


def module(tmp_path: Path, text: str) -> ModuleType:
    path = tmp_path / "toy_module.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("toy_module", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    exec(compile(text, str(path), "exec"), made.__dict__)  # no cached bytecode of the older text
    return made


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("FACTOR = 2.0", "FACTOR = 3.0", True),
        ("[helper()], [", "[-helper()], [", True),
        ("return FACTOR", "return FACTOR + 0", True),
        ("Says nothing.", "Says something.", False),
        ("return FACTOR", "return FACTOR  # why", False),
        ("a title", "another title", False),
        ("    return []", "    out.mkdir()\n    return []", False),
    ],
)
def test_source_hash_covers_what_decides_the_numbers(
    tmp_path: Path, old: str, new: str, changes: bool
) -> None:
    before = provenance.source_hash(module(tmp_path, MODULE).compute)
    assert MODULE.count(old) == 1
    after = provenance.source_hash(module(tmp_path, MODULE.replace(old, new)).compute)
    assert (before != after) == changes


def test_changed_sources_are_computed_again(tmp_path: Path) -> None:
    first = run(module(tmp_path, MODULE).EXHIBIT, tmp_path)
    assert first.computed == ("toy/1/A/measured",)
    assert run(module(tmp_path, MODULE).EXHIBIT, tmp_path).computed == ()
    text = MODULE.replace("FACTOR = 2.0", "FACTOR = 3.0")
    assert run(module(tmp_path, text).EXHIBIT, tmp_path).computed == first.computed
    assert set(numbers(tmp_path / "out").query("statistic == 'MAPE'")["value"]) == {3.0}


def test_source_hash_covers_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compute = module(tmp_path, MODULE).compute
    before = provenance.source_hash(compute)
    (tmp_path / "gladius").mkdir()
    (tmp_path / "reproduce").mkdir()
    (tmp_path / "reproduce" / "seeds.py").write_text("ROOT = 1")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    hashes = {before}
    for text in ("x = 1", "x = 2"):
        (tmp_path / "gladius" / "one.py").write_text(text)
        provenance._library.cache_clear()
        hashes.add(provenance.source_hash(compute))
    provenance._library.cache_clear()
    assert len(hashes) == 3


def test_provenance_says_how_and_not_where(tmp_path: Path) -> None:
    run(toy(), tmp_path)
    stored = Store(tmp_path / "build").load(toy().cells(False)[0])
    assert stored is not None
    record = stored.provenance
    assert record["device"] == "cpu"
    assert record["seconds"] >= 0
    assert record["seed"]["key"] == ["toy", "10"]
    assert record["versions"]["numpy"] == np.__version__
    text = json.dumps(record)
    assert os.uname().nodename not in text
    assert str(Path.home()) not in text


# The registry and the command --------------------------------------------------------------------


def test_every_exhibit_has_a_valid_spec() -> None:
    for name in exhibits.names():
        exhibit = exhibits.load(name)
        for smoke in (True, False):
            assert exhibit.checked_cells(smoke)
        for other in (*exhibit.depends, *exhibit.shows):
            exhibits.load(other)


def test_unknown_exhibits_are_refused_with_the_known_names() -> None:
    with pytest.raises(InputError, match="table_2"):
        exhibits.load("table_two")


def test_the_command_lists_and_fails_with_the_names_of_failed_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trouble(row: str, column: str) -> None:
        if column == "B":
            raise ValueError("wrong")

    exhibit = toy(rows=("10",), trouble=trouble)
    monkeypatch.setattr(exhibits, "names", lambda: ("toy",))
    monkeypatch.setattr(exhibits, "load", {"toy": exhibit}.__getitem__)
    runner = CliRunner()
    assert "A toy" in runner.invoke(command.app, ["list"]).output
    folders = ["--build", str(tmp_path / "build"), "--out", str(tmp_path / "out")]
    found = runner.invoke(command.app, ["run", "--workers", "0", *folders])
    assert found.exit_code == 1
    assert "toy/10/B/measured: failed: ValueError: wrong" in found.output
    assert "toy/10/A" not in found.output.partition("Failed")[2]


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["compare", "--help"]])
def test_help_has_an_example(arguments: list[str]) -> None:
    found = CliRunner().invoke(command.app, arguments)
    assert found.exit_code == 0
    assert "Example: python -m reproduce" in found.output


def test_bad_input_is_one_line_and_exit_code_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["reproduce", "run", "table_two"])
    with pytest.raises(SystemExit) as caught:
        command.main()
    assert caught.value.code == 2
    assert "exhibit = 'table_two'" in capsys.readouterr().err


def test_frame_of_a_cell_that_was_not_run() -> None:
    cell = Cell("toy", "1", "A", "measured", not_run="why")
    frame = Results([cell], [None], False).frame()
    assert frame["status"].tolist() == ["not_run"]
    assert pd.isna(frame["value"].item())


def test_readme_table_replaces_what_stands_between_the_marks_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(toy(), tmp_path)
    monkeypatch.setattr(exhibits, "names", lambda: ("toy",))
    monkeypatch.setattr(exhibits, "load", {"toy": toy()}.__getitem__)
    page = tmp_path / "README.md"
    page.write_text(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n")
    assert readme.update(page, tmp_path / "out")
    lines = page.read_text().splitlines()
    assert lines[0] == "before"
    assert lines[-1] == "after"
    assert "old" not in lines
    assert any(line.startswith("| A toy | `python -m reproduce run toy` |") for line in lines)
    assert not readme.update(page, tmp_path / "out")


def test_readme_of_this_checkout_is_up_to_date(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text((provenance.ROOT / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    assert not readme.update(page, engine.GENERATED), "run: python -m reproduce readme"


def test_readme_without_marks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(InputError, match="README"):
        readme.update(tmp_path / "README.md", tmp_path)


def test_processor_time_is_that_of_the_processes_started_too() -> None:
    """Table 1 measures in processes of their own: their time is the exhibit's."""
    before = tasks.processor_time()
    spin = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", spin], check=True)
    assert tasks.processor_time() - before >= 0.4
