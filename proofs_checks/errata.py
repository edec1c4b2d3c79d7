"""The claims that do not hold as printed: numbered, grouped, the five that matter most first.

errors.csv has of each its severity, a title, the cause and where the proof breaks; important.csv
has what the five say.
"""

import re
from collections.abc import Mapping
from functools import cache

from proofs_checks.claims import Claim, find, paragraphs
from proofs_checks.decide import NOT_TIGHT
from proofs_checks.numbering import page_of, place_of, records
from proofs_checks.wording import KIND, REACH, evidence, marked

FILE = "ERRATA.md"
FOLDER = "claims"  # of the pages, beside the errata
OTHERS = {
    "theorem": "Other corrections that affect a theorem",
    "constant": "Corrections that affect a constant or a rate only",
    "cosmetic": "Minor",
}
Row = Mapping[str, str]  # of the ledger


@cache
def facts() -> dict[str, Row]:
    """Id to the row of errors.csv."""
    return {row["id"]: row for row in records("errors")}


@cache
def chapters() -> dict[str, list[str]]:
    """Heading to ids: the five most important ones, then the others by severity."""
    found = {row["title"]: row["claims"].split() for row in records("important")}
    rest = [id_ for id_ in facts() if not any(id_ in ids for ids in found.values())]
    for severity, heading in OTHERS.items():
        found[heading] = [id_ for id_ in rest if facts()[id_]["severity"] == severity]
    return found


@cache
def numbers() -> dict[str, str]:
    """Id to E1, E2, ... in the order of the errata."""
    ids = [id_ for inside in chapters().values() for id_ in inside]
    return {id_: f"E{k}" for k, id_ in enumerate(ids, 1)}


def link(id_: str, file: str = "") -> str:
    """The number of an erratum as a link, from the errata or from a page that names their file."""
    return f"[{numbers()[id_]}]({file}#{numbers()[id_]})"


def text(words: str, file: str = "") -> str:
    """`marked`, with the numbers of the errata for the ids of their claims."""
    ids = "|".join(sorted(map(re.escape, numbers()), key=len, reverse=True))
    pattern = rf"`?(?<![\w:.])({ids})(?![\w-]|\.\w)`?"
    return re.sub(pattern, lambda match: link(match[1], file), marked(words))


def cause(id_: str, file: str = "") -> str:
    """Where the error comes from, and which other errata come from there."""
    shared = [i for i, f in facts().items() if f["error"] == facts()[id_]["error"] and i != id_]
    also = f" (also {', '.join(link(i, file) for i in shared)})" if shared else ""
    return f"Cause: {text(facts()[id_]['error'], file)}{also}."


def kind(claim: Claim) -> str:
    """What is wrong, in a word or two."""
    inferred = "Not printed, and does not hold as examined" if claim.inferred else ""
    return facts()[claim.id]["word"] or inferred or KIND[claim.verdict]


def said(claim: Claim, file: str = "") -> tuple[str, str]:
    """What the statement is called, and the statement with its place in the paper."""
    where = paragraphs(claim.printed)["Where"].rstrip(".")
    inferred = f"Examined, not printed ({text(claim.inferred, file)})"
    name = inferred if claim.inferred else "Statement"
    return name, f"{text(claim.statement, file)} ({text(where, file)}.)"


def listing(facts: Mapping[str, str]) -> list[str]:
    """A list item for each fact that has a text."""
    return [f"- **{name}:** {words}".rstrip() for name, words in facts.items() if words]


def quoted(lines: str) -> str:
    """The lines of a counterexample as a quotation below its list item."""
    return "".join(f"\n  > {text(line)}  " for line in lines.split("\n")) if lines else ""


def entry(claim: Claim, row: Row) -> list[str]:
    """All that is known of a claim, on the page of its section."""
    root, file = "../../../", f"../{FILE}"
    docstring = paragraphs(claim.printed)
    shown = evidence(row["how"], row["instances"])
    if row["how_corrected"]:
        shown += f"; for what to write instead: {evidence(row['how_corrected'], row['instances'])}"
    path, check = row["check"].split("::")
    command = f'`python -m proofs_checks "{claim.id}"`, which runs [`{check}`]({root}{path})'
    if row["how"].startswith("certificate") or row["derivation"]:
        lisp = "derivations" if row["derivation"] else "certificates"
        command += f"; the [{lisp[:-1]}]({root}proofs_checks/certificates/{lisp}.lisp)"
    name, statement = said(claim, file)
    severity = claim.severity and f"{link(claim.id, file)} {REACH[claim.severity]}. "
    return [
        f"### `{claim.id}`: {row['verdict']}",
        "",
        f"**{name}:** {statement}",
        "",
        *listing(
            {
                "Verdict": f"{row['verdict']}. Evidence: {shown}.",
                "Severity": severity and severity + cause(claim.id, file),
                "Assumes": text(docstring["Assumes"], file),
                "Counterexample": quoted(row["counterexample"]),
                "Missing condition": text(claim.condition and f"{claim.condition}.", file),
                "Write instead": text(row["corrected"], file),
                "Why": text(docstring["Decided"], file),
                "Derivation": text(row["derivation"], file),
                f"Constants {NOT_TIGHT}": text(row["unproved"] and f"{row['unproved']}.", file),
                "Check": f"{command}.",
            }
        ),
    ]


def title(id_: str) -> str:
    """Number, place in the PDF and what is wrong."""
    return f"{numbers()[id_]}. {place_of(id_)}: {marked(facts()[id_]['title'])}"


def item(id_: str, row: Row) -> list[str]:
    """An erratum: claim, counterexample, where the proof breaks, what to write instead."""
    claim, details = find(id_), f"[all details]({FOLDER}/{page_of(id_)}#{id_})"
    anchor = f'<a id="{numbers()[id_]}"></a>'
    if OTHERS["cosmetic"] in chapters() and id_ in chapters()[OTHERS["cosmetic"]]:
        instead = f"Write instead: {text(row['corrected'])}"
        return [f"- {anchor}**{title(id_)}.** {kind(claim)}. {instead} <sub>{details}</sub>"]
    name, statement = said(claim)
    parts = {
        name: statement,
        "Assumes": text(paragraphs(claim.printed)["Assumes"]),
        "Counterexample": quoted(row["counterexample"]),
        "Where it breaks": text(facts()[id_]["step"]),
        "Missing condition": text(claim.condition and f"{claim.condition}."),
        "Write instead": text(row["corrected"]),
    }
    head = f"{kind(claim)}; {REACH[claim.severity or 'cosmetic']}. {cause(id_)}"
    small = f"<sub>LaTeX label or name: `{id_}`; {details}</sub>"
    return ["", anchor, "", f"### {title(id_)}", "", head, "", *listing(parts), "", small]


def errata(rows: Mapping[str, Row]) -> str:
    """What the authors could act on."""
    lines = [
        "# Errata",
        "",
        "Numbers of statements are those of the PDF. Every counterexample satisfies the stated"
        " assumptions; code asserts this where the statement makes assumptions on a model or a"
        ' class. `proofs_checks.check("<name>")` gives the numbers of a counterexample, and'
        ' `proofs_checks.check("<name>", corrected=True)` those of the statement to write instead.'
        f" Claims that are not listed hold as printed: see [all claims]({FOLDER}/README.md)."
        " Beside the statements, the GLADIUS column of Table 2 lies below an efficiency bound:"
        f" {link('text.below-the-bound')}. This page is generated by `python -m proofs_checks`.",
        "",
        "## Contents",
        "",
        "- [Most important](#most-important)",
    ]
    body = ["", '<a id="most-important"></a>', "", "## Most important", ""]
    for k, row in enumerate(records("important"), 1):
        links = ", ".join(map(link, row["claims"].split()))
        body += [f"{k}. **{row['title']}** ({links}). {marked(row['text'])}"]
    for k, (heading, ids) in enumerate(chapters().items(), 1):
        inside = [id_ for id_ in ids if id_ in rows and rows[id_]["verdict"] != "holds"]
        if inside:
            lines.append(f"- [{heading}](#chapter-{k})")
            if heading != OTHERS["cosmetic"]:
                lines += [
                    f"  - {link(id_)}{title(id_).removeprefix(numbers()[id_])}" for id_ in inside
                ]
            body += ["", f'<a id="chapter-{k}"></a>', "", f"## {heading}"]
            body += [""] if heading == OTHERS["cosmetic"] else []
        for id_ in inside:
            body += item(id_, rows[id_])
    return "\n".join([*lines, *body]) + "\n"
