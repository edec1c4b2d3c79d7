"""RESPONSE.md: every point of the ledger and of the README once, and a letter of one page."""

import re
from pathlib import Path

import pytest

from gladius.validate import InputError
from proofs_checks.claims.claims import errors
from reproduce.engine.provenance import ROOT
from reproduce.pages import response
from reproduce.run import GENERATED

FINDINGS = (GENERATED / "FINDINGS.md").read_text("utf-8")
PAGE = (ROOT / response.FILE).read_text("utf-8")
WORDS = 450  # of a printed page


def test_every_finding_and_erratum_has_a_state() -> None:
    rows = re.findall(r"^\| (?:Finding |\[E)(\d+).* \| (\S[^|]*) \| (\S+) \|$", PAGE, re.MULTILINE)
    findings = re.findall(r"^## (\d+)\. ", FINDINGS, re.MULTILINE)
    assert findings
    numbers = [str(n) for n in range(1, len(errors()) + 1)]
    assert [number for number, _, _ in rows] == findings + numbers
    assert all(re.fullmatch(f"({response.STATES})(: .+)?", state) for _, state, _ in rows)
    assert all(re.fullmatch(response.SENT, sent) for _, _, sent in rows)


def test_the_letter_is_one_page_and_begins_with_what_is_right() -> None:
    letter = PAGE.partition("## Letter")[2].partition("\n## ")[0]
    assert 200 < len(letter.split()) <= WORDS
    bold = re.findall(r"^\*\*(.+?)\*\*", letter, re.MULTILINE)
    assert bold[0] == "What is right."
    assert set(re.findall(r"Finding (\d)", letter)) == set(re.findall(r"^## (\d)", FINDINGS, re.M))


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("E1,closed,no,", "status of E1"),
        ("E1,fixed,no,", "status of E1"),
        ("E1,open,yesterday,", "sent of E1"),
        ("E0,open,no,", "about"),
        ("Finding 9,open,no,", "about"),
    ],
)
def test_a_reply_in_other_words_is_refused(line: str, field: str, tmp_path: Path) -> None:
    path, head = tmp_path / "replies.csv", "about,status,sent,answer\n"
    path.write_text(f"{head}E2,fixed in version 6,2027-01-31,They agree.\n")
    second = next(p for p in response.about(FINDINGS, ".", path)["points"] if "[E2]" in p["about"])
    assert second["status"] == "fixed in version 6"
    assert (second["sent"], second["answer"]) == ("2027-01-31", "They agree.")
    path.write_text(head + line + "\n")
    with pytest.raises(InputError) as caught:
        response.about(FINDINGS, ".", path)
    assert caught.value.field == field


def test_the_letter_counts_its_points_and_is_sent_when_all_are(tmp_path: Path) -> None:
    path, head = tmp_path / "replies.csv", "about,status,sent,answer\n"
    about = response.about(FINDINGS, ".")
    names = [p["about"].strip("[").partition("]")[0] for p in about["points"]]
    assert about["errata"] == len(errors()) == len(names) - len(about["commands"])
    severities = [error["severity"] for error in errors().values()]
    for severity in set(severities):
        assert about["severities"][severity] == severities.count(severity)
    assert about["examples"] == sum(severity != "cosmetic" for severity in severities)
    replies = [f"{name},open,2027-01-{k + 10:02d}," for k, name in enumerate(names)][:20]
    replies += [f"{name},open,2027-02-01," for name in names[20:]]
    for sent, state in ((0, "no"), (1, "in part"), (len(names), "2027-02-01")):
        path.write_text(head + "\n".join(replies[:sent]) + "\n")
        assert response.about(FINDINGS, ".", path)["sent"] == state
