"""The ledger as pages: one for each section of the paper, their index, and the errata.

Of every claim that does not hold as printed errors.csv has the number, the severity, a title, the
cause and where the proof breaks. important.csv has the five corrections that come first, and
corrections.csv what a release changed in the errata.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from proofs_checks.claims.claims import OURS, Claim, errors, find, paragraphs
from proofs_checks.claims.numbering import PAPER, records, statement_of, statements
from proofs_checks.claims.verdicts import UNREFUTED, Verdict
from proofs_checks.ledger import graph
from proofs_checks.ledger.wording import counts, evidence, kind, marked, words

FOLDER = "claims"  # of the pages, within that of the ledger
ERRATA = "ERRATA.md"
INDEX = "README.md"
Row = Mapping[str, str]  # of the ledger
Rows = Mapping[str, Row]


# --- where a claim stands
@cache
def sections() -> dict[str, Row]:
    """Section to its title, its page, and what the list of claims calls a place in it."""
    return {record["section"]: record for record in records("pages")}


def section_of(id_: str) -> str:
    """A key of `sections`: where the claim's statement is numbered, else where it is made."""
    statement = statement_of(id_)
    if statement is not None:
        return statement.section.split(".")[0]
    where = next(record["where"] for record in records("claims") if record["id"] == id_)
    named = re.search(r"(?:Section|Appendix) (\w)", where)
    if named:
        return named[1]
    starts = {record["place"]: key for key, record in sections().items() if record["place"]}
    return next(key for start, key in starts.items() if where.startswith(start))


# --- the errata's numbers
@cache
def chapters() -> dict[str, list[str]]:
    """Heading to ids: the five most important ones, then the others by severity."""
    found = {row["title"]: row["claims"].split() for row in records("important")}
    rest = [id_ for id_ in errors() if not any(id_ in ids for ids in found.values())]
    for severity, heading in words("chapter").items():
        found[heading] = [id_ for id_ in rest if errors()[id_]["severity"] == severity]
    return found


@cache
def numbers() -> dict[str, str]:
    """Id to E1, E2, ..., which no release changes or gives to another erratum."""
    return {id_: f"E{row['number']}" for id_, row in errors().items()}


def link(id_: str, file: str = "") -> str:
    """The number of an erratum as a link; `file` is that of the errata, seen from the page."""
    return f"[{numbers()[id_]}]({file}#{numbers()[id_]})"


@cache
def any_erratum() -> re.Pattern[str]:
    """What matches the id of a claim that has an erratum, also in backticks."""
    ids = "|".join(sorted(map(re.escape, numbers()), key=len, reverse=True))
    return re.compile(rf"`?(?<![\w:.])({ids})(?![\w-]|\.\w)`?")


@cache
def text(prose: str, file: str = "") -> str:
    """`marked`, with the numbers of the errata for the ids of their claims."""
    return any_erratum().sub(lambda match: link(match[1], file), marked(prose))


# --- pages
@cache
def templates(file: str) -> Environment:
    """Jinja with the templates of this package; `file` is the errata's, seen from the page."""
    loader = PackageLoader("proofs_checks.ledger", "templates")
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True)
    made.filters |= {"text": partial(text, file=file), "link": partial(link, file=file)}
    made.filters["number"] = numbers().__getitem__
    made.globals |= {"evidence": evidence, "rendered": partial(rendered, file=file)}
    made.filters["proved"] = lambda how: words("proved").get(kind(how, "proved"), "")
    made.globals["words"] = {row["table"]: words(row["table"]) for row in records("words")}
    made.globals["verdicts"] = {verdict: verdict.rule for verdict in Verdict}
    return made


def rendered(template: str, facts: Mapping[str, Any], file: str = "") -> str:
    """A template with the facts that it names."""
    return templates(file).get_template(template).render(facts)


def pages(ledger: pd.DataFrame) -> dict[str, str]:
    """Path to text of the index, of every section's page and of the errata.

    Args:
        ledger: as `ledger.frame` makes it, all cells strings.
    """
    rows = {
        str(record["id"]): {str(name): str(cell) for name, cell in record.items()}
        for record in ledger.to_dict("records")
    }
    texts = {f"{FOLDER}/{INDEX}": index(rows), ERRATA: errata(rows)}
    texts[f"{FOLDER}/not-examined.md"] = rendered(
        "not-examined.md", {"rows": records("not_examined")}, f"../{ERRATA}"
    )
    for key, section in sections().items():
        ids = [id_ for id_ in rows if section_of(id_) == key]
        if ids:
            texts[f"{FOLDER}/{section['page']}"] = page(section["title"], ids, rows)
    return texts


def described(claim: Claim, row: Row, file: str = "") -> dict[str, Any]:
    """What the templates say of a claim."""
    docstring, error = paragraphs(claim.printed), errors().get(claim.id, {})
    statement, section = statement_of(claim.id), sections()[section_of(claim.id)]
    where = docstring["Where"].rstrip(".")
    inferred = f"Not printed ({text(claim.inferred, file)}). Statement" if claim.inferred else ""
    assumed = graph.below(claim.id) if row["verdict"] == "holds" else ()
    named: str = claim.verdict
    if claim.inferred:
        named = "inferred-if" if claim.verdict == "holds-if" else "inferred"
    kind = error.get("word") or words("kind").get(named)
    shared = [id_ for id_, other in errors().items() if other["error"] == claim.error != ""]
    also = ", ".join(link(id_, file) for id_ in shared if id_ != claim.id)
    return {
        "claim": claim,
        "row": row,
        "docstring": docstring,
        "error": error,
        "beside": [text(said, file) for of, said in words("beside").items() if of in assumed],
        "name": inferred or "Statement",
        "statement": f"{text(claim.statement, file)} ({text(where, file)}.)",
        "kind": kind,
        "cause": text(claim.error, file) + (f" (also {also})" if also else ""),
        "place": statement.name if statement else section["title"].split(":")[0],
        "page": section["page"],
    }


def page(title: str, ids: Sequence[str], rows: Rows) -> str:
    """The claims of a section under the statements that they are about, in the paper's order."""
    file = f"../{ERRATA}"
    items = {id_: described(find(id_), rows[id_], file) for id_ in ids}
    groups = [
        (s.name + (f" (`{s.label}`)" if s.label else ""), s.anchor, list(filter(s.has, ids)))
        for s in statements()
    ]
    rest = [id_ for id_ in ids if statement_of(id_) is None]
    other = "Between the numbered statements" if len(rest) < len(ids) else "Claims"
    groups.append((other, "", rest))
    facts = {
        "title": title,
        "counted": counts({id_: rows[id_]["verdict"] for id_ in ids}),
        "groups": [(*names, [items[id_] for id_ in inside]) for *names, inside in groups],
    }
    return rendered("section.md", facts, file)


def errata(rows: Rows) -> str:
    """What the authors could act on."""
    wrong = {id_ for id_, row in rows.items() if row["verdict"] != "holds"}
    inside = {
        heading: [described(find(id_), rows[id_]) for id_ in ids if id_ in wrong]
        for heading, ids in chapters().items()
    }
    facts: dict[str, Any] = {name: records(name) for name in ("important", "corrections")}
    facts["causes"] = {
        severity: [row["error"] for row in errors().values() if row["severity"] == severity]
        for severity in words("reach")
    }
    facts["evidence_for"] = {
        name: numbers[2] for name, numbers in by_evidence(rows).items() if numbers[2]
    }
    return rendered("errata.md", {"chapters": inside, **facts})


def by_evidence(rows: Rows) -> dict[str, list[int]]:
    """Kind of evidence to numbers: claims refuted as printed or that hold, corrections, ours."""
    chain = {id_: row["how"] for id_, row in rows.items() if id_.startswith(OURS)}
    paper = {id_: row for id_, row in rows.items() if id_ not in chain}
    refuted = [row["how"] for row in paper.values() if row["how_corrected"]]
    holding = [row["how"] for row in paper.values() if not row["how_corrected"]]
    instead = [row["how_corrected"] for row in paper.values() if row["how_corrected"]]
    counted = [Counter(map(kind, hows)) for hows in (refuted, holding, instead, chain.values())]
    return {name: [count[name] for count in counted] for name in words("evidence")}


def index(rows: Rows) -> str:
    """Verdicts by section, independent errors, how far they reach, and a list of all claims."""
    file = f"../{ERRATA}"
    verdict_of = {id_: row["verdict"] for id_, row in rows.items()}
    table = []
    for key, section in sections().items():
        count = Counter(verdict for id_, verdict in verdict_of.items() if section_of(id_) == key)
        table.append((section["title"], section["page"], [count[v] or "" for v in Verdict]))
    facts = {
        "paper": PAPER,
        "counted": counts(verdict_of),
        "table": table,
        "goals": [_name(label, rows) for label in graph.GOALS],
        "constants": [_name(label, rows) for label in graph.uncited()],
        "reach": list(reach(rows)),
        "by_evidence": by_evidence(rows),
        "nodes": states(rows),
        "edges": records("uses"),
        "unexamined": [row for row in records("not_examined") if row["reaches"]],
        "items": [described(find(id_), row, file) for id_, row in rows.items()],
    }
    return rendered("index.md", facts, file)


def states(rows: Rows) -> dict[str, tuple[str, str]]:
    """Label to name and state of proof: the weakest of the printed claims about the statement."""
    order = ["", *words("state")]  # the weakest last
    found = {statement.label: (statement.name, "") for statement in statements() if statement.label}
    for id_, row in rows.items():
        statement = statement_of(id_)
        if statement and statement.label and not find(id_).inferred:
            state = kind(row["how"]) if row["verdict"] in UNREFUTED else row["verdict"]
            state = state if state in order else "holds-if"
            name, worst = found[statement.label]
            found[statement.label] = name, max(state, worst, key=order.index)
    return found


def _name(label: str, rows: Rows) -> str:
    """The statement of a label, as a link to the claims about it where there are any."""
    statement = next(statement for statement in statements() if statement.label == label)
    page = sections()[statement.section.split(".")[0]]["page"]
    there_are = any(map(statement.has, rows))
    return f"[{statement.name}]({page}#{statement.anchor})" if there_are else statement.name


def reach(rows: Rows) -> Iterator[list[str]]:
    """What the statements rest on, and which errors reach which of the convergence theorems."""
    printed = {id_: row["verdict"] for id_, row in rows.items() if not find(id_).inferred}
    nodes = graph.nodes(printed, {id_: row["severity"] for id_, row in errors().items()})
    for label, node in nodes.items():
        wrong = {
            find(id_).error: f"[{marked(find(id_).error)}](../{ERRATA}#{numbers()[id_]})"
            for id_, verdict in printed.items()
            if node.statement.has(id_) and verdict != "holds" and find(id_).severity != "cosmetic"
        }
        marks = ["reached" if label in {goal, *graph.below(goal)} else "" for goal in graph.GOALS]
        if node.severity or any(marks):
            direct = graph.direct(label)
            false = [other for other in direct if "fails" == nodes[other].verdict != node.verdict]
            given = ", given ".join([node.verdict, *(_name(other, rows) for other in false)])
            rests = ", ".join(_name(other, rows) for other in direct)
            yield [_name(label, rows), given, rests, "<br>".join(wrong.values()), *marks]
