"""The ledger as files: claims.csv, a page for each section with an index, and the list of errata.

Pages and errata need claims.csv and the docstrings of the checks; `python -m proofs_checks` writes
all of them.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pandas as pd

from proofs_checks import graph
from proofs_checks.certificates import derivations
from proofs_checks.claims import OURS, VERDICTS, CheckResult, Claim, Verdict, claims, errors, find
from proofs_checks.decide import NOT_TIGHT, ROOT, Decision
from proofs_checks.errata import FILE, FOLDER, Row, entry, errata, link, numbers
from proofs_checks.numbering import (
    PAPER,
    Statement,
    page_of,
    section_of,
    sections,
    statement_of,
    statements,
)
from proofs_checks.wording import EVIDENCE, evidence, marked

GENERATED = ROOT / "paper_tables" / "generated"
INDEX = "README.md"
MEANING: dict[Verdict, str] = {
    "holds": "true as printed, on every instance tried, and by a derivation where one is named",
    "holds-if": "true under a condition that the paper does not state",
    "vacuous": "nothing satisfies what it assumes, so that it says nothing; true if corrected",
    "fails": "wrong as printed, by a counterexample that satisfies every stated assumption",
    "misprint": "wrong as printed, with an evident hint",
}


# --- numbers and words
def number(value: float | Fraction) -> str:
    """Six significant digits; empty where the value means nothing."""
    return "" if math.isnan(value) else f"{float(value):.6g}"


def compared(result: CheckResult) -> str:
    """The two sides in words.

    Equal to within the tolerance is not written as a relation. Of 0.24949781719683345 >=
    0.24949781719683348 a reader would think that it is false.
    """
    observed, bound = f"observed {number(result.observed)}", f"bound {number(result.bound)}"
    gap = abs(float(result.observed - result.bound))
    if result.is_tie:
        tolerance = f"to within {result.tolerance:.0e}" if result.tolerance else "exactly"
        return f"{observed} and {bound} are equal {tolerance} ({result.reason})"
    relation = f"{observed} {result.relation} {bound}"
    if result.holds:
        return f"{relation}, by {gap:.3g}"
    return f"{relation} is missed by {gap:.3g}, tolerance {result.tolerance:.0e} ({result.reason})"


def verdicts(found: Iterable[str]) -> str:
    """How many there are of each verdict, in words."""
    count = Counter(found)
    return ", ".join(f"{count[v]} {v}" for v in VERDICTS if count[v])


def counts(by_id: Mapping[str, str]) -> str:
    """How many claims have each verdict, in words; the corrected chain is counted apart."""
    chain = [id_ for id_ in by_id if id_.startswith(OURS)]
    paper = [id_ for id_ in by_id if id_ not in chain]
    groups = {"claims": paper, "of the corrected chain, which is ours": chain}
    texts = (
        f"{len(ids)} {n}: {verdicts(by_id[i] for i in ids)}" for n, ids in groups.items() if ids
    )
    return "; ".join(texts)


def counterexample(claim: Claim, decision: Decision) -> str:
    """The lines by which a reader checks it, with the named numbers in their places."""
    result = decision.result
    sides = {"observed": float(result.observed), "bound": float(result.bound)}
    return claim.text.strip().format(**sides)


def answer(claim: Claim, decision: Decision) -> dict[str, str]:
    """What the command says of one claim: verdict, the two sides, control and correction."""
    statement = statement_of(claim.id)
    control = claim.rejected(claim.rejected_at())
    is_refuted = claim.counterexample is not None
    facts = {
        "claim": claim.id + (f" ({statement.name})" if statement else ""),
        "statement": ("(not printed) " if claim.inferred else "") + claim.statement,
        "verdict": f"{decision.verdict}, by {decision.how}, {decision.instances} instances",
        f"at the {'counterexample' if is_refuted else 'tightest'}": compared(decision.result),
        "control": f"{claim.broken}: {'not ' * control.holds}rejected, {compared(control)}",
        "counterexample": counterexample(claim, decision),
        "condition": claim.condition,
        "write instead": claim.correction,
    }
    return {name: text for name, text in facts.items() if text}


# --- claims.csv
def frame(decisions: Sequence[Decision]) -> pd.DataFrame:
    """The ledger, a row for each decided claim, with the columns of `row`; all cells strings."""
    return pd.DataFrame([row(find(decision.id), decision) for decision in decisions], dtype=str)


def row(claim: Claim, decision: Decision) -> dict[str, str]:
    """One claim of the ledger, column to cell.

    `observed` and `bound` are those of the counterexample where there is one, else those of the
    tightest instance. `tightness` is the smallest ratio of the generous to the tight side over all
    instances of an inequality (1 is attained), empty where that means nothing.
    """
    result, proof = decision.result, derivations().get(claim.id)
    uses = f"Uses: {'; '.join(proof.assumptions) or 'nothing'}." if proof else ""
    path = f"{claim.printed.__module__.replace('.', '/')}.py"
    return {
        "id": claim.id,
        "verdict": decision.verdict,
        "instances": str(decision.instances),
        "observed": number(result.observed),
        "bound": f"{result.relation} {number(result.bound)}",
        "tightness": number(decision.slack),
        "counterexample": counterexample(claim, decision),
        "corrected": claim.correction,
        "check": f"{path}::{claim.printed.__name__}",
        "printed": "no" if claim.inferred else "yes",
        "severity": claim.severity,
        "error": claim.error,
        "how": decision.how,
        "how_corrected": decision.how_corrected,
        "derivation": f"{proof.joined} {uses}" if proof else "",
        "unproved": claim.unproved,
    }


def write(decisions: Sequence[Decision], out: Path = GENERATED) -> None:
    """Write claims.csv, and what is made of it."""
    out.mkdir(parents=True, exist_ok=True)
    frame(decisions).to_csv(out / "claims.csv", index=False, lineterminator="\n")
    write_pages(out)


def write_pages(out: Path = GENERATED) -> None:
    """Write the pages and the errata beside the claims.csv in `out`."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    texts = pages(pd.read_csv(out / "claims.csv", dtype=str, keep_default_na=False))
    for old in set(folder.glob("*.md")) - {out / name for name in texts}:
        old.unlink()
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")


# --- pages
def pages(ledger: pd.DataFrame) -> dict[str, str]:
    """Path to text of the index, of every section's page and of the errata.

    Args:
        ledger: as `frame` makes it, all cells strings.
    """
    rows = {
        str(record["id"]): {str(name): str(cell) for name, cell in record.items()}
        for record in ledger.to_dict("records")
    }
    ids_of = {key: [id_ for id_ in rows if section_of(id_) == key] for key in sections()}
    texts = {f"{FOLDER}/{INDEX}": index(rows), FILE: errata(rows)}
    for key, ids in ids_of.items():
        if ids:
            texts[f"{FOLDER}/{sections()[key]['page']}"] = page(key, ids, rows)
    return texts


def page(section: str, ids: Sequence[str], rows: Mapping[str, Row]) -> str:
    """The claims of a section under the statements that they are about, in the paper's order."""
    groups = {
        f'<a id="{s.anchor}"></a>\n\n## {s.name}{f" (`{s.label}`)" if s.label else ""}': [
            id_ for id_ in ids if s.has(id_)
        ]
        for s in statements()
    }
    rest = [id_ for id_ in ids if statement_of(id_) is None]
    groups[f"## {'Between the numbered statements' if len(rest) < len(ids) else 'Claims'}"] = rest
    verdict_of = {id_: rows[id_]["verdict"] for id_ in ids}
    title = sections()[section]["title"]
    lines = [f"# {title}", "", f"{counts(verdict_of)}. [All sections]({INDEX})."]
    for heading, inside in groups.items():
        if inside:
            lines += ["", heading]
        for id_ in inside:
            lines += ["", f'<a id="{id_}"></a>', "", *entry(find(id_), rows[id_])]
    return "\n".join(lines) + "\n"


# --- the index
def index(rows: Mapping[str, Row]) -> str:
    """Verdicts by section, independent errors, how far they reach, and a list of all claims."""
    verdict_of = {id_: row["verdict"] for id_, row in rows.items()}
    wrong = [c for id_, c in claims().items() if verdict_of.get(id_) == "fails" and not c.inferred]
    slips = len({claim.error for claim in wrong})
    lines = [
        "# The claims of the paper, section by section",
        "",
        f"The paper: {PAPER}. Numbers are those of the PDF.",
        "",
        f"{counts(verdict_of)}. {len(wrong)} printed statements fail, by {slips} independent"
        " errors. `python -m proofs_checks` decides all claims, and with a number such as"
        ' "Lemma 8" those about one statement. What to correct: [ERRATA.md](../ERRATA.md). All'
        " numbers: [claims.csv](../claims.csv).",
        "",
        *(f"- **{verdict}**: {meaning}." for verdict, meaning in MEANING.items()),
        "",
        "Every check also rejects a broken variant of its statement. The evidence is",
        "",
        *(f"- **{code}**: {words.format('drawn')}." for code, words in EVIDENCE.items()),
        "",
        f"The tightness is the ratio of the two sides at the tightest instance. "
        f'"{NOT_TIGHT.capitalize()}" says that a larger constant may be true: no instance refutes'
        " it.",
        "",
        "| | " + " | ".join(VERDICTS) + " |",
        "| --- |" + " ---: |" * len(VERDICTS),
    ]
    claim_lines = [
        "| claim | about | verdict | decided by | erratum, affects a |",
        "|" + " --- |" * 5,
    ]
    for key, section in sections().items():
        count = Counter(verdict for id_, verdict in verdict_of.items() if section_of(id_) == key)
        cells = [str(count[verdict] or "") for verdict in VERDICTS]
        lines.append(f"| [{section['title']}]({section['page']}) | {' | '.join(cells)} |")
    for id_, row in rows.items():
        claim, printed = find(id_), statement_of(id_)
        about = f"{printed.name if printed else ''}{' *(not printed)*' if claim.inferred else ''}"
        name = f"[`{id_}`]({page_of(id_)}#{id_})"
        how = evidence("sampled", row["instances"]) if row["how"] == "sampled" else row["how"]
        grave = claim.severity and f"{link(id_, f'../{FILE}')} {claim.severity}"
        cells = [name, about.strip(), row["verdict"], how, grave.replace("cosmetic", "minor")]
        claim_lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *reach(rows), "", "## All claims", "", *claim_lines]
    return "\n".join(lines) + "\n"


def reach(rows: Mapping[str, Row]) -> list[str]:
    """What the statements rest on, and which errors reach which of the convergence theorems."""
    printed = {id_: row["verdict"] for id_, row in rows.items() if not find(id_).inferred}
    nodes = graph.nodes(printed, {id_: severity for id_, (severity, _) in errors().items()})

    def about(statement: Statement) -> str:
        page = sections()[statement.section.split(".")[0]]["page"]
        link = f"[{statement.name}]({page}#{statement.anchor})"
        return link if any(map(statement.has, rows)) else statement.name

    goals, constants = (
        [about(nodes[label].statement) for label in labels]
        for labels in (graph.GOALS, graph.uncited())
    )
    lines = [
        "## How far an error reaches",
        "",
        "The verdict is the worst among the printed claims about a statement. An error in its proof"
        " counts, and a cosmetic one counts as a misprint. A statement rests on those to which its"
        f" text or proof refers. {' and '.join(constants)} give the theorem's constants, though its"
        " proof does not cite them. 'Reached' says that the theorem refers to the statement,"
        " directly or through others, not that it falls with it. 'Given' names a false premise.",
        "",
        f"| statement | verdict | rests on | what is wrong | {' | '.join(goals)} |",
        "|" + " --- |" * (4 + len(goals)),
    ]
    for label, node in nodes.items():
        slips = {
            find(id_).error: f"[{marked(find(id_).error)}](../{FILE}#{numbers()[id_]})"
            for id_, verdict in printed.items()
            if node.statement.has(id_) and verdict != "holds" and find(id_).severity != "cosmetic"
        }
        marks = [
            "reached" if label == goal or label in graph.below(goal) else "" for goal in graph.GOALS
        ]
        if node.severity or any(marks):
            direct = [nodes[other] for other in graph.direct(label)]
            given = [about(n.statement) for n in direct if "fails" == n.verdict != node.verdict]
            cells = [about(node.statement), ", given ".join([node.verdict, *given])]
            cells += [", ".join(about(n.statement) for n in direct), "; ".join(slips.values())]
            lines.append(f"| {' | '.join([*cells, *marks])} |")
    return lines
