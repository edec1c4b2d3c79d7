"""The ledger as an exhibit: its cells, what they rest on, and the table that is drawn of them."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from proofs_checks.certificates import in_coq
from proofs_checks.claims import decide
from proofs_checks.claims.claims import claims
from proofs_checks.ledger import ledger
from reproduce.engine import keys
from reproduce.engine.digests import Definitions
from reproduce.engine.nouns import Cell, Entry
from reproduce.engine.provenance import ROOT
from reproduce.exhibits.ledger import COMPUTE, EXHIBIT, SOURCES, TABLE, compute, entries

Run = Callable[..., Any]
FILE, DRAWN = "proofs_checks.sections.erm_irl_empirical_risk", 3
IDS = [id_ for id_, claim in claims().items() if claim.printed.__module__ == FILE]
ENTRY = Entry("a file", "claims", "measured", Cell(COMPUTE, {"module": FILE, "examples": DRAWN}))


def of_file(smoke: bool) -> list[Entry]:
    """The ledger of one file."""
    return [ENTRY]


TOY = replace(EXHIBIT, entries=of_file)


@pytest.fixture(scope="module")
def decided() -> list[decide.Decision]:
    """The claims of FILE, in the order of the ledger."""
    found = {decision.id: decision for decision in decide.decisions(IDS, DRAWN)}
    return [found[id_] for id_ in IDS]


def test_every_claim_is_in_one_cell() -> None:
    """On as many instances as the command draws; a smoke run has the first file."""
    files = [entry.cell.settings["module"] for entry in entries(False)]
    assert {claim.printed.__module__ for claim in claims().values()} == set(files)
    assert len(files) == len(set(files)) > 20
    assert {entry.cell.settings["examples"] for entry in entries(False)} == {decide.CI}
    (smoke,) = entries(True)
    assert smoke.cell.settings["module"] == files[0]


def test_a_table_of_stored_numbers_is_that_of_the_decisions(
    run: Run, tmp_path: Path, decided: list[decide.Decision], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are those of the tree that draws: a theorem that Coq has accepted since is in them."""

    def table() -> pd.DataFrame:
        outcome = run(TOY)
        assert not outcome.failed
        return pd.read_csv(tmp_path / "out" / TABLE, dtype=str, keep_default_na=False)

    assert {claims()[id_].counterexample is None for id_ in IDS} == {True, False}
    drawn = table()
    pd.testing.assert_frame_equal(drawn, ledger.frame(decided))
    more = in_coq() | dict.fromkeys(IDS, "accepted_since, file.v")
    for module in (decide, ledger):
        monkeypatch.setattr(module, "in_coq", lambda: more)
    again = table()
    assert again["derivation"].str.contains("accepted_since").all()
    assert list(again["observed"]) == list(drawn["observed"])
    assert (again["how"] + again["how_corrected"]).str.contains("proof").all()


@pytest.mark.parametrize("changes", [{"verdict": "holds"}, {"problem": "at the instance 17"}])
def test_a_contradicted_verdict_fails_its_cell_and_leaves_the_table(
    run: Run,
    tmp_path: Path,
    decided: list[decide.Decision],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
) -> None:
    wrong = [replace(one, **changes) if one.recorded == "fails" else one for one in decided]
    monkeypatch.setattr(decide, "decisions", lambda *_: iter(wrong))
    with pytest.raises(decide.FailureError, match="recorded fails, found"):
        compute(ENTRY.cell)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / TABLE).write_text("as it was")
    outcome = run(TOY)
    assert "recorded fails, found" in outcome.failed[ENTRY.cell.id]
    assert (tmp_path / "out" / TABLE).read_text() == "as it was"


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., set[str]]:
    """What an edit of the code makes older: files of claims, and `view`, the drawing."""
    for package in ("gladius", "proofs_checks", "reproduce"):
        ignored = shutil.ignore_patterns("__pycache__", "expert_weights")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    cells = {entry.row: entry.cell for entry in entries(False)}

    def of_tree() -> dict[str, str]:
        definitions = Definitions(tmp_path)
        found = {x: keys.key(keys.pieces(definitions, cell, "cpu")) for x, cell in cells.items()}
        return found | {"view": keys.view(definitions, EXHIBIT)}

    before = of_tree()
    assert len(set(before.values())) == len(before)

    def edit(path: str, old: str, new: str) -> set[str]:
        file = tmp_path / path
        text = file.read_text("utf-8")
        assert text.count(old) >= 1, old
        file.write_text(text.replace(old, new, 1), "utf-8")
        after = of_tree()
        file.write_text(text, "utf-8")
        return {name for name in before if before[name] != after[name]}

    return edit


def test_an_edit_makes_older_what_rests_on_it(edited: Callable[..., set[str]]) -> None:
    """A comment nothing, a check its file, what every claim passes through all of them."""
    path, power = "proofs_checks/sections/introduction.py", "pair.discount ** (2 * power)"
    assert edited(path, "= _errors(pair)\n", "= _errors(pair)  # why\n") == set()
    assert edited(path, power, f"2 * {power}") == {"sections.introduction"}
    files = {entry.row for entry in entries(False)}
    assert edited("proofs_checks/claims/claims.py", "return abs(gap) if", "return -gap if") >= files
    assert edited("proofs_checks/ledger/pages.py", "trim_blocks=True", "trim_blocks=False") == set()
    assert edited("proofs_checks/ledger/ledger.py", "In Coq: ", "Coq: ") == {"view"}


def test_a_theorem_with_another_name_in_coq_makes_the_ledger_older(
    edited: Callable[..., set[str]],
) -> None:
    assert all(path.exists() for path in SOURCES)
    assert edited("proofs_checks/coq/paper_pl.v", "lemma_8_holds", "renamed") == {"view"}
    assert edited("proofs_checks/corrected/corrected.md", "Theorem", "renamed") == {"view"}
