"""RESPONSE.md: what `response.md` says of the findings and of the errata, and the state of each.

`replies.csv` names the points that are not open, or that were sent: about, status, sent (a date),
answer. A point is a finding or an erratum of the ledger.
"""

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any

from gladius.validate import InputError
from proofs_checks.claims.claims import errors
from proofs_checks.claims.numbering import PAPER
from proofs_checks.ledger.pages import ERRATA, numbers, text
from reproduce.pages import findings

FILE = "RESPONSE.md"
REPLIES = Path(__file__).parents[1] / "paper" / "replies.csv"
STATES = r"open|accepted|fixed in version \d+"
SENT = r"no|20\d\d-\d\d-\d\d"


def about(page: str, link: str, replies: Path = REPLIES) -> dict[str, Any]:
    """The paper, the findings of their page, and all points with their states.

    Raises:
        InputError: a reply to no point, or a state or date in other words.
    """
    found = findings.FINDING.findall(page)
    none = {"id": "", "severity": ""}
    points = [{"about": f"Finding {n}", "title": heading} | none for n, heading, _ in found]
    file = f"{link}/{ERRATA}"
    for id_, error in sorted(errors().items(), key=lambda item: int(item[1]["number"])):
        point = {"about": f"[{numbers()[id_]}]({file}#{numbers()[id_]})", "id": id_}
        points.append(point | {"title": text(error["title"], file), "severity": error["severity"]})
    with replies.open(encoding="utf-8", newline="") as lines:
        given = {row["about"]: row for row in csv.DictReader(lines)}
    for point in points:
        name = point["about"].strip("[").partition("]")[0]
        reply = given.pop(name, {"status": "open", "sent": "no", "answer": ""})
        for field, allowed in (("status", STATES), ("sent", SENT)):
            if not re.fullmatch(allowed, reply[field]):
                raise InputError(f"{field} of {name}", reply[field], f"write {allowed}")
        point |= reply | {"about": point["about"]}
    if given:
        raise InputError("about", ", ".join(given), "name a finding (Finding 1) or an erratum (E1)")
    severities = Counter(point["severity"] for point in points)
    dates = [point["sent"] for point in points if point["sent"] != "no"]
    return {
        "paper": PAPER,
        "commands": [[f"Finding {n}", *findings.COMMAND.findall(below)] for n, _, below in found],
        "points": points,
        "errata": len(errors()),
        "severities": severities,
        "examples": len(errors()) - severities["cosmetic"],
        "sent": "no" if not dates else "in part" if len(dates) < len(points) else max(dates),
    }
