"""The claims as pages beside the PDF: one a section of the paper, and an index with the verdicts.

A page needs the ledger as it is written (claims.csv) and the docstrings of the checks, so that
`python -m proofs_checks.pages` writes the pages again without deciding anything.
"""

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from proofs_checks import graph
from proofs_checks.claims import OURS, STATEMENTS, VERDICTS, Claim, claims, errors, paragraphs
from proofs_checks.ledger import GENERATED, MEANING, REACH, verdicts, where
from proofs_checks.numbering import PAPER, as_printed, statement_of, statements

FOLDER = "claims"  # of the pages, within that of the ledger
INDEX = "README.md"
UP = "../../../"  # from a page to the project's root
TITLES = {
    "1": "Section 1: abstract and introduction",
    "2": "Section 2: related works",
    "3": "Section 3: problem set-up and backgrounds",
    "4": "Section 4: the ERM-IRL (ERM-DDC) framework",
    "5": "Section 5: GLADIUS",
    "6": "Section 6: theoretical guarantees",
    "7": "Section 7: offline IRL/DDC experiments",
    "8": "Section 8: imitation learning experiments",
    "A": "Appendix A: extended experiment discussions",
    "B": "Appendix B: equivalence of DDC and entropy-regularised IRL",
    "C": "Appendix C: technical proofs",
    "ours": "Not the paper's: the corrected chain",
}
# What the list of claims calls a place, where that is neither a section nor an appendix.
PLACES = {
    "Abstract": "1",
    "Table 2": "7",
    "Tables": "A",
    "Technical proofs": "C",
    "corrected.md": "ours",
}
SEVERITY = {severity: f"reaches {reach}" for severity, reach in REACH.items()}
SEVERITY["cosmetic"] = "reaches neither a theorem nor a constant"
Row = Mapping[str, str]  # of the ledger


@cache
def _places() -> dict[str, str]:
    with STATEMENTS.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["where"] for row in csv.DictReader(file)}


def section_of(id_: str) -> str:
    """A key of TITLES: where the claim's statement is numbered, else where the claim is made."""
    statement = statement_of(id_)
    if statement is not None:
        return statement.section.split(".")[0]
    place = _places()[id_]
    named = re.search(r"(?:Section|Appendix) (\w)", place)
    return named[1] if named else next(s for p, s in PLACES.items() if place.startswith(p))


def file_of(section: str) -> str:
    """Name of a section's page."""
    if section == "ours":
        return "corrected.md"
    return f"{'section' if section.isdigit() else 'appendix'}-{section.lower()}.md"


def pages(known: Mapping[str, Claim], ledger: pd.DataFrame) -> dict[str, str]:
    """File name to text of every page.

    Args:
        known: claim by id.
        ledger: as `ledger.frame` makes it, all cells strings.
    """
    records = ledger.to_dict("records")
    rows = {row["id"]: {str(name): str(cell) for name, cell in row.items()} for row in records}
    sections = {section: [id_ for id_ in rows if section_of(id_) == section] for section in TITLES}
    texts = {
        file_of(section): _page(section, ids, known, rows)
        for section, ids in sections.items()
        if ids
    }
    return {INDEX: _index(sections, known, rows), **texts}


def write(out: Path = GENERATED) -> list[Path]:
    """Write the pages and the figure of the theorems beside the ledger in `out`."""
    ledger = pd.read_csv(out / "claims.csv", dtype=str, keep_default_na=False)
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    texts = pages(claims(), ledger)
    for old in set(folder.glob("*.md")) - {folder / name for name in texts}:
        old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    graph.save(_nodes(claims(), dict(zip(ledger["id"], ledger["verdict"], strict=True))), out)
    return [folder / name for name in texts]


# --- a section
def _page(
    section: str, ids: Sequence[str], known: Mapping[str, Claim], rows: Mapping[str, Row]
) -> str:
    """The claims of a section under the statements that they are about, in the paper's order."""
    numbered = {
        f"{s.name}{f' (`{s.label}`)' if s.label else ''}": [id_ for id_ in ids if s.has(id_)]
        for s in statements()
    }
    rest = [id_ for id_ in ids if statement_of(id_) is None]
    groups = {heading: inside for heading, inside in numbered.items() if inside}
    if rest:
        groups["Between the numbered statements" if groups else "Claims"] = rest
    lines = [f"# {TITLES[section]}", "", _counts(ids, rows) + f". [All sections]({INDEX})."]
    for heading, inside in groups.items():
        lines += ["", f"## {heading}"]
        for id_ in inside:
            lines += ["", *_claim(known[id_], rows[id_])]
    return "\n".join(lines) + "\n"


def _claim(claim: Claim, row: Row) -> list[str]:
    """One claim: statement, verdict and evidence, what is wrong and what to write instead."""
    docstring = paragraphs(claim.printed)
    said = "Statement"
    if claim.inferred:
        said = f"Examined, not printed ({_plain(claim.inferred)})"
    verdict = f"{row['verdict']}. Evidence: {row['how']}"
    if row["how_corrected"]:
        verdict += f"; for what to write instead: {row['how_corrected']}"
    facts = {
        "Verdict": f"{verdict}.",
        "Severity": f"{SEVERITY[claim.severity]}. The slip: {_plain(claim.error)}."
        if claim.severity
        else "",
        "Assumes": _plain(docstring["Assumes"]),
        "Counterexample": "".join(f"\n  > {_plain(x)}  " for x in row["counterexample"].split("\n"))
        if row["counterexample"]
        else "",
        "Missing condition": _plain(claim.condition and f"{claim.condition}."),
        "Write instead": _plain(row["corrected"]),
        "Why": _plain(docstring["Decided"]),
        "Derivation": _plain(row["derivation"]),
        "Not proved": _plain(row["unproved"] and f"{row['unproved']}."),
        "Check": _commands(claim, row),
    }
    return [
        f'<a id="{claim.id}"></a>',
        f"### {claim.id}: {row['verdict']}",
        "",
        f"**{said}:** {_plain(claim.statement)} ({_plain(docstring['Where'].rstrip('.'))}.)",
        "",
        *(f"- **{name}:** {text}".rstrip() for name, text in facts.items() if text),
    ]


def _commands(claim: Claim, row: Row) -> str:
    path, name = where(claim)
    told = f'`python -m proofs_checks "{claim.id}"`, which runs [`{name}`]({UP}{path})'
    if row["how"].startswith("certificate"):
        link = f"[certificate]({UP}proofs_checks/certificates/certificates.lisp)"
        told += f"; the {link}, `python proofs_checks/verify.py`"
    return f"{told}."


def _plain(text: str) -> str:
    """With the PDF's numbers, and escaped what Markdown would read as emphasis, link or tag."""
    return re.sub(r"([*\[|]|<(?=[A-Za-z/!?]))", r"\\\1", as_printed(text))


def _counts(ids: Sequence[str], rows: Mapping[str, Row]) -> str:
    told = verdicts(rows[id_]["verdict"] for id_ in ids)
    return f"{len(ids)} claims: {told}" if len(ids) > 1 else f"1 claim: {told}"


# --- the index
def _index(
    sections: Mapping[str, Sequence[str]], known: Mapping[str, Claim], rows: Mapping[str, Row]
) -> str:
    paper = [id_ for id_ in rows if not id_.startswith(OURS)]
    lines = [
        "# The claims of the paper, section by section",
        "",
        f"The paper: {PAPER}. Numbers are those of the PDF.",
        "",
        f"{_counts(paper, rows)}; and {len(rows) - len(paper)} of the corrected chain, which is"
        " ours. Written by `python -m proofs_checks`, which decides them; "
        '`python -m proofs_checks "Lemma 8"` decides those about one statement. All numbers in '
        "one table: [CLAIMS.md](../CLAIMS.md); what to correct: [ERRATA.md](../ERRATA.md).",
        "",
        *(f"- **{verdict}**: {meaning}." for verdict, meaning in MEANING.items()),
        "",
        "| | " + " | ".join(VERDICTS) + " |",
        "| --- |" + " ---: |" * len(VERDICTS),
    ]
    for section, ids in sections.items():
        number = Counter(rows[id_]["verdict"] for id_ in ids)
        cells = [str(number[verdict] or "") for verdict in VERDICTS]
        if ids:
            lines.append(f"| [{TITLES[section]}]({file_of(section)}) | {' | '.join(cells)} |")
    by_claim = {id_: row["verdict"] for id_, row in rows.items()}
    lines += ["", *_reach(_nodes(known, by_claim), known, by_claim)]
    for section, ids in sections.items():
        if ids:
            lines += ["", f"## {TITLES[section]}", "", *_list(section, ids, known, rows)]
    return "\n".join(lines) + "\n"


def _list(
    section: str, ids: Sequence[str], known: Mapping[str, Claim], rows: Mapping[str, Row]
) -> list[str]:
    lines = ["| claim | about | verdict | decided by | reaches a |", "|" + " --- |" * 5]
    for id_ in ids:
        statement = statement_of(id_)
        about = statement.name if statement else ""
        if known[id_].inferred:
            about = f"{about} *(not printed)*".strip()
        link = f"[`{id_}`]({file_of(section)}#{id_})"
        severity = known[id_].severity.replace("cosmetic", "")
        cells = (link, about, rows[id_]["verdict"], rows[id_]["how"], severity)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _nodes(known: Mapping[str, Claim], by_claim: Mapping[str, str]) -> dict[str, graph.Node]:
    """What the figure shows of statements that the paper prints."""
    printed = {id_: verdict for id_, verdict in by_claim.items() if not known[id_].inferred}
    return graph.nodes(printed, {id_: severity for id_, (severity, _) in errors().items()})


def _reach(
    known: Mapping[str, graph.Node], all_claims: Mapping[str, Claim], by_claim: Mapping[str, str]
) -> list[str]:
    """The figure, and in words which errors reach which of the convergence theorems."""
    goals, constants = (
        [known[label].statement.name for label in labels]
        for labels in (graph.GOALS, graph.uncited())
    )
    lines = [
        "## How far an error reaches",
        "",
        f"![Which statement rests on which, down to {' and '.join(goals)}](../{graph.NAME}.png)",
        "",
        "A box is a statement with the worst verdict among the printed claims about it (an error "
        "in its proof counts, a cosmetic one as a misprint), an arrow leads to a statement whose "
        "text or proof refers to it; "
        f"arrows that a longer path replaces are left out. {' and '.join(constants)} give the "
        "theorem's constants, though its proof does not cite them. The errors that are not "
        "cosmetic; 'reached' says that the theorem refers to the statement, directly or through "
        "others, not that it falls with it:",
        "",
        f"| statement | verdict | what is wrong | {' | '.join(goals)} |",
        "|" + " --- |" * (3 + len(goals)),
    ]
    for node, reached in graph.errors(known):
        slips = {
            claim.error: None
            for id_, claim in all_claims.items()
            if node.statement.has(id_)
            and not claim.inferred
            and by_claim.get(id_, "holds") != "holds"
            and claim.severity != "cosmetic"
        }
        marks = ["reached" if goal in reached else "" for goal in graph.GOALS]
        cells = (node.statement.name, node.verdict, _plain("; ".join(slips)), *marks)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    write()
