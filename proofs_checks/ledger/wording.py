"""What the pages say in words: formulas, evidence and verdicts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from proofs_checks.claims.claims import OURS
from proofs_checks.claims.decide import NOT_TIGHT
from proofs_checks.claims.numbering import as_printed, records
from proofs_checks.claims.verdicts import Verdict


def words(table: str) -> dict[str, str]:
    """Code to words, of a table of words.csv."""
    return {row["key"]: row["text"] for row in records("words") if row["table"] == table}


def verdicts(found: Iterable[str]) -> str:
    """How many there are of each verdict, in words."""
    count = Counter(found)
    return ", ".join(f"{count[v]} {v}" for v in Verdict if count[v])


def counts(by_id: Mapping[str, str]) -> str:
    """How many claims have each verdict, in words; the corrected chain is counted apart."""
    chain = [id_ for id_ in by_id if id_.startswith(OURS)]
    paper = [id_ for id_ in by_id if id_ not in chain]
    groups = {"claims": paper, "of the corrected chain, which is ours": chain}
    texts = (
        f"{len(ids)} {n}: {verdicts(by_id[i] for i in ids)}" for n, ids in groups.items() if ids
    )
    return ". ".join(texts)


def kind(how: str, table: str = "evidence") -> str:
    """The kind of evidence in a code of the ledger, such as "not refuted, tightness 1.01"."""
    return next((name for name in words(table) if how.startswith(name)), "")


def evidence(how: str, instances: str) -> str:
    """A code of the ledger in words."""
    text = words("evidence")[kind(how)].format(instances)
    for ratio in re.findall(r"tightness ([\d.e+]+)", how):
        text += ", nor by a search for the tightest one"
        text += f". The smallest ratio of the two sides was {ratio}"
    what = ("The bound is", "Some constants are")["some constants" in how]
    return text + f". {what} {NOT_TIGHT}" * (NOT_TIGHT in how)


def marked(text: str) -> str:
    """With the PDF's numbers, and formulas in back quotes too, of which Markdown takes nothing."""
    return re.sub(r"\$([^$]+)\$", r"$`\1`$", as_printed(text))
