"""The ledger's files: what is committed is what the evidence says."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from proofs_checks import __main__ as command
from proofs_checks import decide, ledger
from proofs_checks.claims import claims, listed
from proofs_checks.decide import Decision

REFUTED = "lem:lipsSmooth.hessian-of-V"


def test_the_committed_ledger_is_the_decided_one(decided: dict[str, Decision]) -> None:
    committed = pd.read_csv(ledger.GENERATED / "claims.csv", dtype=str, keep_default_na=False)
    assert tuple(committed.columns) == ledger.COLUMNS
    assert list(committed["id"]) == list(listed())
    now = ledger.frame(claims(), [decided[id_] for id_ in listed()])
    for column in ("id", "verdict", "corrected", "check"):
        assert list(committed[column]) == list(now[column])


def test_the_errata_name_every_refuted_claim(decided: dict[str, Decision]) -> None:
    page = ledger.errata(claims(), list(decided.values()))
    for id_, claim in claims().items():
        assert (f"### {id_}\n" in page) == (claim.verdict != "holds")
    assert "{observed" not in page


UNPRINTED = "text.below-the-bound"


def _chapters(page: str) -> dict[str, str]:
    """Heading to what stands under it, of a page with headings of level two."""
    parts = [part.partition("\n") for part in page.split("\n## ")[1:]]
    return {heading: text for heading, _, text in parts}


def test_what_is_not_printed_has_a_section_of_its_own(decided: dict[str, Decision]) -> None:
    page = ledger.errata(claims(), list(decided.values()))
    chapters = _chapters(page)
    apart = {id_ for id_, claim in claims().items() if claim.inferred}
    assert UNPRINTED in apart
    for heading, text in chapters.items():
        inside = {id_ for id_ in claims() if f"### {id_}\n" in text}
        assert inside, heading
        assert inside <= apart if heading == ledger.INFERRED else not inside & apart
    assert "**As printed**" not in chapters[ledger.INFERRED]
    reason = claims()[UNPRINTED].inferred
    assert f"**Statement examined** (not printed; {reason}): " in chapters[ledger.INFERRED]


def test_a_statement_is_an_error_only_if_the_paper_prints_it(decided: dict[str, Decision]) -> None:
    here = {REFUTED: dataclasses.replace(claims()[REFUTED], inferred="a test")}
    shown = [decided[REFUTED]]
    assert set(_chapters(ledger.errata({REFUTED: claims()[REFUTED]}, shown))) == {"Errors"}
    assert set(_chapters(ledger.errata(here, shown))) == {ledger.INFERRED}
    assert "| *(not printed)* " in ledger.page(here, shown, 1)
    assert "(not printed)* " not in ledger.page(claims(), shown, 1)
    assert "statement as printed" not in ledger.page(claims(), shown, 1)


def test_the_command_decides_one_claim(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "proofs_checks", REFUTED, "--examples", "5"),
            *("--build", str(tmp_path), "--out", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "fails, 5 instances" in " ".join(done.stdout.split())


def test_the_command_fails_and_names_the_claim_when_a_verdict_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decided: dict[str, Decision]
) -> None:
    wrong = dataclasses.replace(decided[REFUTED], verdict="holds", problem="at the instance 17")
    monkeypatch.setattr(decide, "decisions", lambda *_: iter([wrong]))
    done = CliRunner().invoke(command.app, [REFUTED, "--build", str(tmp_path)])
    assert done.exit_code == 1
    assert REFUTED in done.output
    assert "recorded fails, found holds" in done.output
    assert "at the instance 17" in done.output


def test_an_unknown_claim_is_refused() -> None:
    done = CliRunner().invoke(command.app, ["lem:none"])
    assert done.exit_code == 2
    assert "lem:none" in done.output


def test_finished_claims_are_not_decided_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = list(decide.decisions([REFUTED], 5, 1, tmp_path))
    again = list(decide.decisions([REFUTED], 5, 1, tmp_path))
    assert again[0].seconds == first[0].seconds  # the stored one, time and all
    monkeypatch.setattr(decide, "source", lambda: "other code")
    fresh = list(decide.decisions([REFUTED], 5, 1, tmp_path))
    assert fresh[0].seconds != first[0].seconds
    assert fresh[0].slack == first[0].slack or fresh[0].verdict == first[0].verdict
