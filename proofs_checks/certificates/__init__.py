"""Certificates and derivations of claims: data that `verify` verifies by itself.

This room imports no other one. Start with README.md. prelude.lisp defines the paper's objects.
statements.lisp says what is printed and what to write instead, and certificates.lisp
gives the instances. derivations.lisp derives claims that hold, and what to write instead of others,
under their id with `/instead`. claims.lisp lists all of them with the digests of their
statements and instances.
"""

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parent
BY_HAND = "counterexample by hand, arithmetic verified"
INSTEAD = "/instead"  # ends the id of a derivation of what to write instead


@dataclass(frozen=True)
class Derivation:
    """What the ledger says of a derivation.

    Attributes:
        kind: `proof`, or `derivation + step` where words join its steps to the statement.
        joined: these words, or how its symbols are read.
        assumptions: the names of those that it uses; it fails without any one of them.
        signs: of its variables, which it assumes too.
    """

    kind: Literal["proof", "derivation + step"]
    joined: str
    assumptions: tuple[str, ...]
    signs: tuple[str, ...]

    @property
    def uses(self) -> str:
        """All that it assumes, which verify.py lists too, three in a sentence."""
        named = self.assumptions or ("nothing that is named",)
        some = ["; ".join(named[i : i + 3]) for i in range(0, len(named), 3)]
        text = f"Uses: {'. And: '.join(some)}."
        return text + f" Signs: `{'`; `'.join(self.signs)}`." * bool(self.signs)


def forms(name: str, head: str) -> dict[str, str]:
    """Id to text of the forms of a file."""
    text = (FOLDER / f"{name}.lisp").read_text(encoding="utf-8")
    found = re.split(rf"(?m)^\({head} ", text)[1:]
    return {form.split()[0].removesuffix(INSTEAD): form for form in found}


@cache
def kinds() -> dict[str, str]:
    """Refuted claims: id to `certificate`, to the same with ` + step`, or to BY_HAND.

    A written step remains in the second. The third is an argument in words, in which the verified
    instance is an example: the claim's form has `by-hand` where others have `step`.
    """
    claims, ids = forms("statements", "claim"), forms("certificates", "certificate")
    return {
        id_: BY_HAND
        if "\n  (by-hand " in claims[id_]
        else "certificate" + " + step" * ("\n  (step " in claims[id_])
        for id_ in ids
    }


@cache
def in_coq() -> dict[str, str]:
    """What Coq has accepted of claims: id to theorems, files in `proofs_checks/coq`, and cases.

    The theorems without a case are the claim, and none of them assumes what the claim does not.
    """
    found: dict[str, str] = {}
    with (FOLDER.parent / "coq" / "claims.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            before = f"{found[line['claim']]}. And " if line["claim"] in found else ""
            case = f" ({line['case']})" * bool(line["case"])
            found[line["claim"]] = f"{before}`{line['theorem']}`, `{line['file']}`{case}"
    return found


@cache
def derivations() -> dict[str, Derivation]:
    """By claim: the derivation of what holds, which is what to write instead if it is refuted."""
    return {id_: _read(form) for id_, form in forms("derivations", "derivation").items()}


def _read(form: str) -> Derivation:
    ((kind, text),) = re.findall(r'\((joined|step) "([^"]*)"\)', form)
    signs = (
        f"{', '.join(names.split())} {relation} 0"
        for head, relation in (("nonnegative", ">="), ("positive", ">"))
        for names in re.findall(rf"\({head} ([^()]*)\)", form)
    )
    assumptions = sorted(set(re.findall(r'\("([^"]*)"\s', form)))
    return Derivation(
        "proof" if kind == "joined" else "derivation + step",
        " ".join(text.split()),
        tuple(assumptions),
        tuple(signs),
    )
