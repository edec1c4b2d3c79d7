"""The ledger: every claim of the paper, decided; claims.csv has a row for each.

A cell decides the claims of one file of `proofs_checks`, and has what their instances showed. The
words of a row are added when the table is drawn, and `reproduce.pages.readme` makes the errata and
the claims' pages of the table. Where the evidence contradicts a recorded verdict the cell fails,
and then no table is written.
"""

import math
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from proofs_checks.claims import decide
from proofs_checks.claims.claims import OURS, CheckResult, Claim, claims, find
from proofs_checks.ledger import ledger
from reproduce.engine.nouns import Cell, Entry, Exhibit, Record, Result
from reproduce.engine.view import View

NAME, COMPUTE, TABLE = "ledger", "decided", "claims.csv"
SMOKE_INSTANCES = 2
INSTANCES, OBSERVED, BOUND, TIGHTNESS = "instances", "observed", "bound ", "tightness"
# which the rows name by their theorems, or follow: after an edit of one the ledger is older
SOURCES = (
    Path(__file__).parents[2] / "proofs_checks" / "coq",
    Path(__file__).parents[2] / "proofs_checks" / "corrected" / "corrected.md",
)


def entries(smoke: bool) -> list[Entry]:
    """One for each file that has claims; of a smoke run the first of them, on few instances."""
    modules = list(dict.fromkeys(claim.printed.__module__ for claim in claims().values()))
    examples = SMOKE_INSTANCES if smoke else decide.CI
    return [
        Entry(
            name := module.partition(".")[2],
            "claims",
            "measured",
            Cell(COMPUTE, {"module": module, "examples": examples}, f"claims of {name}"),
            INSTANCES,
        )
        for module in (modules[:1] if smoke else modules)
    ]


def compute(cell: Cell) -> Result:
    """Of each claim: how many instances were drawn, the two sides, the tightness.

    Raises:
        FailureError: the evidence contradicts a recorded verdict.
    """
    module, records = cell.settings["module"], list[Record]()
    ids = [id_ for id_, claim in claims().items() if claim.printed.__module__ == module]
    decided = {x.id: x for x in decide.decisions(ids, cell.settings["examples"])}
    for id_ in ids:
        found = decided[id_]
        if not found.as_recorded:
            verdicts = f"recorded {found.recorded}, found {found.verdict}"
            raise decide.FailureError(f"{id_}: {verdicts}: {found.problem}")
        sides = {OBSERVED: found.result.observed, BOUND + found.result.relation: found.result.bound}
        numbers = {INSTANCES: found.instances, **sides, TIGHTNESS: found.slack}
        records += [
            Record(name, float(x), row=id_) for name, x in numbers.items() if not math.isnan(x)
        ]
    return Result(tuple(records))


def decision(claim: Claim, found: Mapping[str, float], examples: int) -> decide.Decision:
    """The decision on a claim again, from the numbers of its cell."""
    bound, number = next(x for x in found if x.startswith(BOUND)), int(found[INSTANCES])
    relation, slack = bound.removeprefix(BOUND), found.get(TIGHTNESS, math.nan)
    result = CheckResult(found[OBSERVED], relation, found[bound], 0.0, "of the cell")  # type: ignore[arg-type]  # one of Relation, as CheckResult checks
    how = decide.evidence(claim, number < decide.number_of(claim, examples), slack)
    verdict = claim.verdict
    return decide.Decision(claim.id, verdict, verdict, number, result, slack, "", *how, math.nan)


def render(results: View, out: Path) -> None:
    """The table of the claims, in the order in which the paper makes them."""
    if any(stored.failed for _, stored in results):
        return
    found: dict[str, dict[str, float]] = {}
    examples = {entry.cell.settings["examples"] for entry in results.entries}
    for record in (record for _, stored in results for record in stored.result.records):
        found.setdefault(record.row, {})[record.statistic] = record.value
    decided = [decision(find(id_), found[id_], *examples) for id_ in claims() if id_ in found]
    ledger.frame(decided).to_csv(out / TABLE, index=False, lineterminator="\n")


def verdict(folder: Path) -> str:
    """How many of the claims are decided, and how many of them are the paper's."""
    ids = pd.read_csv(folder / TABLE, dtype=str)["id"]
    ours = int(ids.str.startswith(OURS).sum())
    return f"{len(ids)} claims are decided as recorded, {ours} of them of our corrected statements"


EXHIBIT = Exhibit(NAME, "The paper's statements, decided", entries, render=render, verdict=verdict)
