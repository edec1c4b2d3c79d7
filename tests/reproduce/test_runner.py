"""The runner: resumption, failures, interrupts, the disk, one run at a time, files, the command."""

import io
import json
import math
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from gladius.validate import InputError
from reproduce import __main__ as command
from reproduce import exhibits
from reproduce import run as runner
from reproduce.engine import keys, provenance, seeds
from reproduce.engine.digests import Definitions
from reproduce.engine.nouns import Cell, Entry, Exhibit, short_form
from reproduce.engine.output import DIGITS, STAGING, describe
from reproduce.engine.progress import progress
from reproduce.engine.provenance import ROOT
from reproduce.engine.store import Store, _sealed
from reproduce.engine.view import COLUMNS, View
from reproduce.exhibits.exact import RESAMPLED
from reproduce.paper import published
from tests.reproduce.toys import ROWS, files, numbers, toy

Run = Callable[..., runner.Outcome]
ALL = {row + column for row in ROWS for column in "AB"}


def manifest(tmp_path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((tmp_path / "out/manifests/toy.json").read_text())
    return content


def labels(ids: Any) -> set[str]:
    """The toys' labels among ids of cells."""
    return {id_.partition(" ")[0] for id_ in ids}


def test_second_run_computes_nothing_and_leaves_the_same_bytes(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = run(toy(log))
    before = files(tmp_path / "out")
    assert labels(first.computed) == ALL
    assert not first.failed
    frame = numbers(tmp_path / "out")
    assert list(frame.columns) == COLUMNS
    assert numbers(tmp_path / "out", "toy_timings")["cpu_seconds"].tolist() == [0.5] * 6
    draws = [np.random.default_rng(seeds.sequence("toy", "20", r)).normal() for r in range(5)]
    line = frame[(frame["row"] == "20") & (frame["column"] == "B") & (frame["statistic"] == "MAPE")]
    assert line["value"].item() == pytest.approx(np.mean(draws) + 1, rel=1e-9)
    assert line["se"].item() == pytest.approx(np.std(draws, ddof=1) / math.sqrt(5), rel=1e-9)
    assert set(before) == {"toy.csv", "toy_timings.csv", "toy.tex", "manifests/toy.json"}
    second = run(toy(log))
    assert (second.computed, second.reused) == ((), 6)
    assert sorted(log.read_text().split()) == sorted(ALL)  # each cell once, over both runs
    assert files(tmp_path / "out") == before
    assert {path.name for path in second.files} == {"toy.csv", "toy.tex"}


def test_an_equal_cell_of_two_exhibits_is_computed_once(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    outcome = run(toy(log), toy(log, rows=("20",), name="other"))
    assert sorted(log.read_text().split()) == sorted(ALL)
    assert len(outcome.computed) == 6
    shared = numbers(tmp_path / "out").query("row == '20'").reset_index(drop=True)
    assert shared.equals(numbers(tmp_path / "out", "other"))


def test_alone_in_parallel_and_in_another_order_the_numbers_are_the_same(
    run: Run, tmp_path: Path
) -> None:
    run(toy(), name="here")
    run(toy(), name="parallel", workers=2)
    run(toy(rows=ROWS[::-1], columns=("B", "A")), name="reversed")
    assert tables(tmp_path / "outhere") == tables(tmp_path / "outparallel")
    here = numbers(tmp_path / "outhere")
    key = ["row", "column", "statistic"]
    backwards = numbers(tmp_path / "outreversed").sort_values(key, ignore_index=True)
    assert here.sort_values(key, ignore_index=True).equals(backwards)


def test_files_that_are_no_longer_made_go_and_edited_ones_are_written_again(
    run: Run, tmp_path: Path
) -> None:
    run(toy())
    before = files(tmp_path / "out")
    (tmp_path / "out" / "toy.csv").write_text("row")
    run(toy())
    assert files(tmp_path / "out") == before
    old = {**manifest(tmp_path), "view": "another"}
    old["files"]["toy_old.pdf"] = "0"
    (tmp_path / "out/manifests/toy.json").write_text(json.dumps(old))
    (tmp_path / "out" / "toy_old.pdf").touch()
    run(toy())
    assert files(tmp_path / "out") == before


def test_hidden_entries_are_for_the_renderer_only_and_a_view_chooses_what_is_shown(
    run: Run, tmp_path: Path
) -> None:
    (visible, hidden) = toy(rows=("10",)).entries(False)
    seen: list[int] = []

    def render(results: View, out: Path) -> None:
        seen.extend((len(results.frame()), len(list(results))))

    exhibit = replace(
        toy(),
        entries=lambda smoke: [visible, replace(hidden, is_shown=False)],
        render=render,
        view=lambda entry, result: result.records[:1],
    )
    run(exhibit)
    assert seen == [1, 2]
    assert numbers(tmp_path / "out")["column"].tolist() == ["A"]


def test_the_manifest_says_how_and_not_where(run: Run, tmp_path: Path) -> None:
    run(toy())
    record = manifest(tmp_path)
    assert (record["cells"], record["devices"], record["threads"]) == ({"ok": 6}, ["cpu"], [1])
    assert 0 < record["machines"][0]["memory_gb"] < 1e5
    assert record["versions"][0]["numpy"] == np.__version__
    assert record["cpu_seconds"] == pytest.approx(sum(record["costs"].values()), abs=0.1)
    assert set(record["files"]) == {"toy.csv", "toy.tex"}
    assert {"commit", "dirty", "code", "view"} <= set(record)
    if platform.machine() == "x86_64":
        assert re.fullmatch(r"family \d+, model \d+", record["machines"][0]["model"])
    entry = toy().entries(False)[0]
    stored = Store(tmp_path / "build").load(entry.cell)
    assert stored is not None
    given = replace(stored, provenance=stored.provenance | {"rekeyed": "a commit"})
    for cell, of in ((stored, []), (given, [entry.cell.digest[:DIGITS]])):
        view = View([entry], [cell], False, toy().view)
        assert describe(toy(), view, "", "")["rekeyed"] == of
    assert record["finished"] >= stored.provenance["finished"]
    assert stored.provenance["seed"]["key"] == ["toy", "10"]
    text = json.dumps([record, stored.provenance])
    for secret in (os.uname().nodename, str(Path.home())):
        assert not re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", text)  # llvmlite is no host "vm"


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        ("raise", "failed: ZeroDivisionError: nothing to divide by"),
        ("none", "failed: TypeError: compute returned NoneType, not a Result"),
        ("empty", "failed: ValueError: compute returned neither records nor arrays"),
        ("nan", "failed: ValueError: 'MAPE' has status ok and is not finite: value nan"),
        ("inf", "failed: ValueError: 'MAPE' has status ok and is not finite: value inf"),
    ],
)
def test_a_failed_cell_shows_the_real_error_and_is_tried_again_while_others_go_on(
    run: Run, tmp_path: Path, trouble: str, why: str
) -> None:
    exhibit = toy(trouble={"20A": trouble}, until=tmp_path / "mended")
    first = run(exhibit)
    ((id_, status),) = first.failed.items()
    assert labels([id_]) == {"20A"}
    assert status.startswith(why)
    frame = numbers(tmp_path / "out").assign(label=lambda f: f["row"] + f["column"])
    assert set(frame["label"]) == ALL
    bad = frame[frame["status"] != "ok"]
    assert bad[["label", "status"]].to_numpy().tolist() == [["20A", status]]
    assert bad["value"].isna().all()
    assert manifest(tmp_path)["cells"] == {"failed": 1, "ok": 5}
    (tmp_path / "mended").touch()
    second = run(exhibit)
    assert labels(second.computed) == {"20A"}
    assert not second.failed
    assert set(numbers(tmp_path / "out")["status"]) == {"ok"}


def tables(folder: Path) -> dict[str, bytes]:
    """The files with results; manifests have times."""
    return {name: text for name, text in files(folder).items() if "manifests" not in name}


def test_two_shares_in_one_folder_are_drawn_as_one_run_is(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an exhibit with cells of several kinds, of which those on much data are left out."""
    exact = exhibits.load("exact")
    few = dict(list(RESAMPLED.items())[:2])
    monkeypatch.setattr("reproduce.exhibits.exact.RESAMPLED", few)
    whole = run(exact, smoke=True)
    shares = [run(exact, smoke=True, name=f"-{n}", cells=f"{n}/2") for n in (1, 2)]
    assert sorted(sum((x.computed for x in shares), ())) == sorted(whole.computed)
    assert all(x.computed and not x.files for x in shares)
    folders = [f"{tmp_path}/build-{n}/." for n in (1, 2)]
    (tmp_path / "build-joined").mkdir()
    subprocess.run(["cp", "-ru", *folders, str(tmp_path / "build-joined")], check=True)
    again = run(exact, smoke=True, name="-joined", cells="1/2")  # as if nothing were stored
    assert (again.computed, again.reused) == ((), len(shares[0].computed))
    assert not list(tmp_path.glob("out-*"))
    assert run(exact, smoke=True, name="-joined").computed == ()
    one, joined = (tables(tmp_path / name) for name in ("out", "out-joined"))
    assert one == joined
    assert len(one) == 6


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=12), st.integers(2, 15), st.randoms())
def test_shares_cost_about_the_same_whatever_the_order(
    costs: list[float], count: int, order: Any
) -> None:
    exhibit = toy(rows=tuple(map(str, range(len(costs)))), columns=("A",))
    seconds = list(zip((e.cell for e in exhibit.entries(False)), costs, strict=True))

    def share(number: int) -> frozenset[Any]:
        with patch.object(runner, "expected_seconds", lambda *_: dict(seconds)):
            return (
                runner.share(f"{number}/{count}", [exhibit], smoke=False, long=False) or frozenset()
            )

    shares = [share(n + 1) for n in range(count)]
    assert sorted(cell.digest for x in shares for cell in x) == sorted(c.digest for c, _ in seconds)
    sums = [sum(cost for cell, cost in seconds if cell in x) for x in shares]
    assert max(sums) <= sum(costs) / count + max(costs) + 1e-6
    order.shuffle(seconds)
    assert [share(n + 1) for n in range(count)] == shares


def test_cells_of_hours_are_shared_out_only_where_they_are_computed() -> None:
    cell = Cell("tests.reproduce.toys:compute", {"long": True})
    both = [Entry("10", "A", "measured", c) for c in (cell, short_form(cell))]
    exhibit = replace(
        toy(), entries=lambda smoke: [both[0], replace(both[1], protocol="measured s")]
    )
    for long in (False, True):
        shares = (runner.share(f"{n}/2", [exhibit], smoke=False, long=long) for n in (1, 2))
        assert [c for x in shares for c in x or ()] == [both[not long].cell]


@pytest.mark.parametrize("cells", ["0/2", "3/2", "x", "", "1", "1/0", "-1/2", "1/2/3", "1/2 "])
def test_a_share_that_is_none_is_one_line_before_any_work(
    run: Run, tmp_path: Path, cells: str
) -> None:
    with pytest.raises(InputError, match="give I/N") as caught:
        run(toy(), cells=cells)
    assert (caught.value.field, list(tmp_path.iterdir())) == ("cells", [])


def test_the_command_says_what_comes_after_a_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exhibits, "names", lambda: ("toy",))
    monkeypatch.setattr(exhibits, "load", {"toy": toy()}.__getitem__)
    folders = ["--build", str(tmp_path / "build"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(command.app, ["run", "--workers", "0", "--cells", "1/4", *folders])
    assert result.exit_code == 0
    assert "computed: 2, reused: 0" in result.output
    assert result.output.endswith("copy their folders into one, and run without --cells.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["build"]


def test_an_exhibit_that_cannot_be_drawn_is_named_and_the_others_go_on(
    run: Run, tmp_path: Path
) -> None:
    def render(results: View, out: Path) -> None:
        (out / "half.pdf").touch()
        raise ValueError("no such column")

    outcome = run(replace(toy(name="bad"), render=render), toy())
    assert outcome.failed == {"bad": "failed: ValueError: no such column"}
    written = {"toy.csv", "toy_timings.csv", "toy.tex", "manifests/toy.json"}
    assert set(files(tmp_path / "out")) == written


def test_a_killed_worker_ends_the_run_in_one_line_and_the_next_one_goes_on(
    run: Run, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    exhibit = toy(log, ("10", "20"), trouble={"20B": "kill"}, until=tmp_path / "mended")
    with pytest.raises(InputError, match="worker"):
        run(exhibit, workers=2)
    (tmp_path / "mended").touch()
    second = run(exhibit)
    assert "20B" in labels(second.computed)
    assert len(second.computed) + second.reused == 4
    assert set(numbers(tmp_path / "out")["status"]) == {"ok"}


SCRIPT = """
import signal
import sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background job
from reproduce import __main__ as command, exhibits
from tests.reproduce.test_runner import cheap_and_dear
folder = Path(sys.argv[1])
exhibits.names = lambda: ("toy", "cheap")
exhibits.load = {exhibit.name: exhibit for exhibit in cheap_and_dear(folder)}.__getitem__
sys.argv = ["reproduce", "run", "--workers", "2"]
sys.argv += ["--build", str(folder / "build"), "--out", str(folder / "out")]
command.main()
"""


def cheap_and_dear(folder: Path) -> list[Exhibit]:
    """Two exhibits, the second with a cell that sleeps until there is a file `mended`."""
    until, log = folder / "mended", folder / "log"
    dear = toy(log, trouble={"30A": "sleep"}, until=until)
    return [toy(log, rows=("10",), until=until, name="cheap"), dear]


def started(folder: Path) -> subprocess.Popen[str]:
    """A run of SCRIPT in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not is_so():
        time.sleep(0.05)


def test_an_interrupt_ends_at_once_with_130_and_a_second_run_at_once_goes(
    run: Run, tmp_path: Path
) -> None:
    log, mended = tmp_path / "log", tmp_path / "mended"
    mended.touch()
    run(*cheap_and_dear(tmp_path))
    complete = files(tmp_path / "out")
    manifest = tmp_path / "out" / "manifests" / "cheap.json"
    written = manifest.stat().st_mtime_ns
    mended.unlink()
    shutil.rmtree(tmp_path / "build")
    log.write_text("")
    process = started(tmp_path)
    try:
        wait_until(  # the dear cell sleeps, four others are stored and the cheap exhibit is written
            lambda: (
                "30A" in log.read_text()
                and manifest.stat().st_mtime_ns != written
                and len(list((tmp_path / "build").glob("*/*.json"))) >= 4
            ),
            60,
        )
        with pytest.raises(InputError, match="another run is at work there"):
            run(*cheap_and_dear(tmp_path))
        before = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
        assert time.monotonic() - before < 10
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Interrupted" in output
    assert "Traceback" not in output
    # the cheap exhibit was complete and is written, the dear one is as it was
    after = files(tmp_path / "out")
    assert set(after) == set(complete)
    assert all(after[name] == complete[name] for name in complete if "cheap" not in name)
    assert manifest.stat().st_mtime_ns > written
    mended.touch()
    resumed = run(*cheap_and_dear(tmp_path))
    assert resumed.reused >= 4
    assert files(tmp_path / "out")["toy.csv"] == complete["toy.csv"]


def check_that_it_is_computed_again(
    run: Run, folder: Path, spoil: Callable[[Path], object]
) -> None:
    """A stored cell that is spoilt is: a warning names it, and the numbers are those before."""
    run(toy())
    before = files(folder / "out")["toy.csv"]
    path = Store(folder / "build").path(toy().entries(False)[0].cell)
    spoil(path)
    with pytest.warns(UserWarning, match=path.name):
        outcome = run(toy())
    assert labels(outcome.computed) == {"10A"}
    assert files(folder / "out")["toy.csv"] == before


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", _sealed("[" * 200_000).encode()])
def test_an_unreadable_cell_is_missing_with_a_warning_that_names_it(
    run: Run, tmp_path: Path, content: bytes
) -> None:
    check_that_it_is_computed_again(run, tmp_path, lambda path: path.write_bytes(content))
    assert run(toy()).computed == ()


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        (("result", "records"), {}),
        (("result", "records", 0, "value"), "nan"),
        (("result", "records", 0, "value"), "inf"),
        (("result", "records", 0, "status"), "fine"),
        (("result", "replications"), []),
        (("provenance",), {}),
        (("provenance", "cpu_seconds"), None),
        # of another type at a leaf
        (("result", "records", 0, "value"), True),
        (("result", "records", 0, "value"), "1.5"),
        (("result", "records", 0, "value"), 10**400),
        (("result", "records", 0, "repetitions"), 5.5),
        (("result", "records", 0, "statistic"), 3),
        (("result", "replications", "MAPE", 0), False),
        (("result", "arrays"), {"table": [[1.0, 2.0], [1.0, True]]}),
        (("result", "cpu_seconds"), None),
        (("provenance", "cpu_seconds"), -1e9),
        (("provenance", "cpu_seconds"), math.inf),
        (("provenance", "finished"), "zzz"),
        (("provenance", "versions"), {"numpy": 3}),
        (("provenance", "versions"), ["numpy"]),
        (("provenance", "machine", "processor"), ["P"]),
        (("provenance", "threads"), "1"),
        (("status",), "fine"),
        (("status",), 3),
        (("key",), None),
    ],
)
def test_a_forged_cell_is_computed_again(
    run: Run, tmp_path: Path, fields: tuple[Any, ...], content: object
) -> None:
    """Its checksum is right."""

    def forge(path: Path) -> None:
        cell = inside = json.loads(path.read_text())["cell"]
        for field in fields[:-1]:
            inside = inside[field]
        inside[fields[-1]] = content
        path.write_text(_sealed(json.dumps(cell, indent=1)))

    check_that_it_is_computed_again(run, tmp_path, forge)


def test_cells_of_other_versions_are_said_and_computed_again_only_if_asked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of Python the minor version counts, of a package not its build."""
    run(toy())
    before, here = files(tmp_path / "out"), provenance.versions()
    same = {"python": f"{here['python']}9", "numpy": f"{here['numpy']}+cpu"}
    monkeypatch.setattr(provenance, "versions", lambda: here | same)
    assert (run(toy()).reused, files(tmp_path / "out")) == (6, before)
    monkeypatch.setattr(provenance, "versions", lambda: here | {"python": "4.1.2", "numpy": "0"})
    said = rf"6 cells were made with numpy {here['numpy']}, python 3.*; here numpy 0, python 4.1: "
    with pytest.warns(UserWarning, match=said):
        assert (run(toy()).reused, files(tmp_path / "out")) == (6, before)
    again = run(toy(), recompute_other_versions=True)
    assert (len(again.computed), again.reused) == (6, 0)
    assert run(toy()).reused == 6


def lacking(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a package were not installed."""
    here = provenance.versions() | {package: provenance.MISSING}
    monkeypatch.setattr(provenance, "versions", lambda: here)


def test_a_package_that_is_missing_is_recorded_and_said_of_cells_that_use_it_alone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The toys use numpy and no econirl, whose data are those of the exhibit `rust`."""
    monkeypatch.setattr(provenance, "PACKAGES", ("numpy", "no-such-package"))
    provenance.versions.cache_clear()
    made = provenance.versions()
    provenance.versions.cache_clear()
    assert (made["numpy"], made["no-such-package"]) == (np.__version__, "none")
    monkeypatch.undo()
    run(toy())
    with monkeypatch.context() as patch:
        lacking("econirl", patch)
        assert run(toy()).reused == 6
        run(toy(), name="without")
    assert run(toy(), name="without").reused == 6
    lacking("numpy", monkeypatch)
    with pytest.warns(UserWarning, match=r"6 cells .* numpy .*; here numpy none: reused"):
        outcome = run(toy(), recompute_other_versions=True)  # which it cannot
    assert outcome.reused == 6
    definitions, uses = Definitions(), dict[str, bool]()
    for name in ("rust", "figure_gumbel"):
        cell = exhibits.load(name).entries(False)[0].cell
        uses[name] = definitions.uses(keys.pieces(definitions, cell, "cpu"), "econirl")
    assert uses == {"rust": True, "figure_gumbel": False}


@pytest.mark.parametrize("trouble", ["not run", "raise"])
def test_numbers_are_never_replaced_by_none_and_what_was_not_run_is_run_once_it_can(
    run: Run, tmp_path: Path, trouble: str
) -> None:
    """Without the package the cells say so; the exhibit of before stays, with one line."""
    can, cells = tmp_path / "can", ["10A", "10B"]
    can.touch()
    exhibit = toy(rows=("10",), trouble=dict.fromkeys(cells, trouble), until=can)
    run(exhibit)
    before = tables(tmp_path / "out")
    can.unlink()
    without = run(exhibit, build=tmp_path / "other")
    assert tables(tmp_path / "out") == before
    (why,) = without.unchanged.values()
    assert why.startswith({"raise": "failed: ZeroDiv", "not run": "install it"}[trouble])
    fresh = run(exhibit, build=tmp_path / "other", name="fresh")
    assert (labels(fresh.computed), fresh.unchanged) == (set(cells), {})
    assert numbers(tmp_path / "outfresh")["value"].isna().all()
    kind = {"raise": "failed", "not run": "not_run"}[trouble]
    assert json.loads((tmp_path / "outfresh/manifests/toy.json").read_text())["cells"] == {kind: 2}
    can.touch()
    after = run(exhibit, build=tmp_path / "other", name="fresh")
    assert labels(after.computed) == set(cells)
    assert numbers(tmp_path / "outfresh")["value"].notna().any()
    assert run(exhibit, build=tmp_path / "other", name="fresh").reused == 2


def test_the_command_says_in_one_line_that_an_exhibit_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exhibit = toy(rows=("10",), columns=("A",), trouble={"10A": "not run"}, until=tmp_path / "can")
    monkeypatch.setattr(exhibits, "names", lambda: ("toy",))
    monkeypatch.setattr(exhibits, "load", {"toy": exhibit}.__getitem__)
    told = ["run", "--workers", "0", "--out", str(tmp_path / "out"), "--build"]
    (tmp_path / "can").touch()
    CliRunner().invoke(command.app, [*told, str(tmp_path / "a")])
    (tmp_path / "can").unlink()
    result = CliRunner().invoke(command.app, [*told, str(tmp_path / "b")])
    said = "toy: no cell has a number (install it), so its files are still those of before"
    assert result.output.splitlines()[-1] == said
    assert result.exit_code == 0


def test_cells_are_readable_as_the_umask_says(run: Run, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        run(toy(rows=("10",)))
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "build").glob("*/*.json")}
    assert modes == {0o640}


def test_a_lock_that_is_a_folder_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "build" / "lock").mkdir(parents=True)
    with pytest.raises(InputError, match="it is a folder, and has to be a file"):
        run(toy())


@pytest.mark.parametrize("field", ["build", "out"])
def test_a_folder_that_cannot_be_written_is_one_line_before_any_work(
    run: Run, tmp_path: Path, field: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write there: Not a directory"):
        run(toy(tmp_path / "log"), **{field: tmp_path / "file" / "folder"})
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(("name", "field"), [(".json", "build"), ("toy.csv", "out")])
def test_a_disk_that_fills_midway_is_one_line_and_loses_nothing_silently(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, field: str
) -> None:
    replaced, exhibit = os.replace, toy(tmp_path / "log")

    def full(source: Any, target: Any) -> None:
        stored = list((tmp_path / "build").glob("*/*.json"))
        if str(target).endswith(name) and len(stored) >= 3:
            raise OSError(28, "No space left on device")
        replaced(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match=r"No space left on device: .* was not written") as caught:
        run(exhibit)
    assert caught.value.field == field
    assert not [file for file in files(tmp_path / "out") if "staging" in file]
    monkeypatch.undo()
    second = run(exhibit)
    assert second.reused == (3 if field == "build" else 6)
    assert not second.failed


@pytest.mark.parametrize(
    ("dear", "to_go"),
    [
        (1_200.0, "10 min"),  # less than a tenth is done: by the estimates
        (40.0, r"\d s"),  # a fiftieth of the estimates, as the first cell took
    ],
)
def test_a_line_now_and_then_says_how_far_the_run_is(dear: float, to_go: str) -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=200, force_terminal=False)
    expected = {"a": 10.0, "b": 20.0, "dear": dear}
    with progress(expected, 2, console, interval=0.15) as stored:
        time.sleep(0.2)
        stored("a")
        stored("b")  # too soon for a line
    line = rf"1 of 3 cells after \d s, about {to_go} to go; running: b, dear\n"
    assert re.fullmatch(line, stream.getvalue())


def test_the_paper_s_exhibits_come_first_and_a_new_cell_costs_what_similar_ones_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "PAPER", ("cheap", "dear"))
    monkeypatch.setattr(runner, "GENERATED", tmp_path)
    ours, cheap, dear = toy(rows=("10",), name="ours"), toy(rows=("20",), name="cheap"), toy()

    def drawing(smoke: bool = False, **costs: float) -> runner.Drawing:
        (tmp_path / "manifests").mkdir(exist_ok=True)
        content = json.dumps({"files": {}, "costs": costs})
        (tmp_path / "manifests" / "ours.json").write_text(content)
        exhibits = (ours, replace(dear, name="dear"), cheap)
        return runner.Drawing(exhibits, smoke, "cpu", tmp_path / "out")

    a, b = (entry.cell for entry in ours.entries(False))
    of_kind = drawing(**{a.digest[:12]: 7.0, b.digest[:12]: 3.0})
    assert [exhibit.name for exhibit in of_kind.waiting] == ["cheap", "dear", "ours"]
    assert (of_kind.seconds.pop(a), of_kind.seconds.pop(b)) == (7.0, 3.0)
    assert set(of_kind.seconds.values()) == {5.0}
    last_run = drawing(another=4.0, one=2.0)  # of other cells
    assert (last_run.seconds[a], min(last_run.seconds.values())) == (3.0, 3.0)
    assert set(drawing(smoke=True, another=4.0).seconds.values()) == {runner.SMOKE_CELL}


def test_the_command_fails_with_the_names_of_failed_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exhibit = toy(rows=("10",), trouble={"10B": "raise"})
    monkeypatch.setattr(exhibits, "names", lambda: ("toy",))
    monkeypatch.setattr(exhibits, "load", {"toy": exhibit}.__getitem__)
    folders = ["--build", str(tmp_path / "build"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(command.app, ["run", "--workers", "0", *folders])
    assert result.exit_code == 1
    last = result.output.partition("Failed")[2]
    assert "10B" in last
    assert "ZeroDivisionError: nothing to divide by" in last
    assert "10A" not in last
    assert "A toy" in CliRunner().invoke(command.app, ["list"]).output


def test_the_examples_of_the_help_use_options_that_exist() -> None:
    commands = typer.main.get_command(command.app).commands
    for name, entry in commands.items():
        options = {option for parameter in entry.params for option in parameter.opts}
        assert f"reproduce {name}" in entry.epilog
        assert set(re.findall(r"--[a-z-]+", entry.epilog)) <= options


def test_the_list_imports_nothing_that_costs_seconds() -> None:
    lines = "import sys\nfrom reproduce.__main__ import app\napp(['list'], standalone_mode=False)"
    lines += "\nprint(sorted({'torch', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", lines], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert "table_2_author" in done.stdout


def test_the_paper_s_twelve_and_our_own_are_all_of_the_exhibits() -> None:
    paper, ours = exhibits.of_kind("paper"), exhibits.of_kind("own")
    assert len(paper) == 12
    assert sorted(paper + ours) == list(exhibits.of_kind("all")) == list(exhibits.names())
    # what has published numbers beside it is the paper's, unless another estimator made it
    assert set(published.names()) <= set(paper)
    with pytest.raises(InputError, match="choose one of paper, own, all"):
        exhibits.of_kind("author")


def test_bad_input_is_one_line_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["reproduce", "run", "table_two"])
    with pytest.raises(SystemExit) as caught:
        command.main()
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("Error: exhibit")


@pytest.mark.parametrize("name", ["../victim", "{folder}/victim", "..", "sub/../../victim"])
def test_a_manifest_cannot_remove_a_file_outside_its_folder(
    run: Run, tmp_path: Path, name: str
) -> None:
    run(toy())
    victim = tmp_path / "victim"
    victim.write_text("not ours")
    (tmp_path / "out" / "sub").mkdir()
    path = tmp_path / "out" / "manifests" / "toy.json"
    manifest = json.loads(path.read_text())
    manifest["files"][name.format(folder=tmp_path)] = "0"
    path.write_text(json.dumps(manifest))
    with pytest.warns(UserWarning, match="not files of this folder"):
        run(toy())
    assert victim.read_text() == "not ours"
    assert "victim" not in path.read_text()


def test_a_manifest_cannot_remove_the_files_of_another_exhibit(run: Run, tmp_path: Path) -> None:
    run(toy(name="other"), toy())
    others = {name: text for name, text in files(tmp_path / "out").items() if "other" in name}
    content = manifest(tmp_path)
    content["files"] |= dict.fromkeys([*others, "toy_old.pdf", "METHODS.md"], "0")
    content["files"].pop("manifests/other.json")
    (tmp_path / "out/manifests/toy.json").write_text(json.dumps(content))
    for name in ("METHODS.md", "toy_old.pdf"):
        (tmp_path / "out" / name).write_text("a page")
    run(toy())
    after = files(tmp_path / "out")
    assert others.items() <= after.items()
    assert "METHODS.md" in after
    assert "toy_old.pdf" not in after
    assert set(manifest(tmp_path)["files"]) == {"toy.csv", "toy.tex"}


def test_a_manifest_cannot_remove_the_files_of_an_exhibit_with_a_longer_name(
    run: Run, tmp_path: Path
) -> None:
    run(toy(name="toy_other"), toy())
    others = {name: text for name, text in files(tmp_path / "out").items() if "other" in name}
    listed = manifest(tmp_path)["files"]
    listed |= {name: "0" for name in others if "/" not in name} | {"toy_old.csv": "0"}
    content = json.dumps(manifest(tmp_path) | {"files": listed})
    (tmp_path / "out/manifests/toy.json").write_text(content)
    (tmp_path / "out" / "toy_old.csv").touch()
    run(toy())
    after = files(tmp_path / "out")
    assert len(others) == 3
    assert others.items() <= after.items()
    assert "toy_old.csv" not in after


def test_a_manifest_of_deep_json_is_unreadable_and_no_traceback(run: Run, tmp_path: Path) -> None:
    run(toy())
    (tmp_path / "out" / "manifests" / "toy.json").write_text("[" * 200_000)
    with pytest.warns(UserWarning, match="not readable"):
        run(toy())


def children(process: int) -> list[int]:
    """Processes that this one started, and theirs."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [n for child in map(int, found) for n in (child, *children(child))]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
def test_workers_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started(tmp_path) as process:
        wait_until(lambda: log.exists() and "30A" in log.read_text(), 60)
        workers = children(process.pid)
        assert workers
        process.kill()
    wait_until(lambda: not any(map(_is_alive, workers)), 20)
    assert not any(map(_is_alive, workers))


def _is_alive(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def test_staging_folders_of_dead_runs_are_cleared_and_of_living_ones_are_not(
    run: Run, tmp_path: Path
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names = {f"{STAGING}{ended.pid}-a": False, f"{STAGING}toy-b": False}
    names[f"{STAGING}{os.getpid()}-c"] = True
    for name in names:
        (tmp_path / "out" / name).mkdir(parents=True)
        (tmp_path / "out" / name / "half.csv").touch()
    run(toy())
    assert {name: (tmp_path / "out" / name).exists() for name in names} == names
