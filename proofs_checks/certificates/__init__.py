"""Certificates and derivations of claims: data that `proofs_checks/verify.py` verifies by itself.

prelude.lisp defines the paper's objects. statements.lisp says what is printed and what to write
instead, and certificates.lisp gives the instances. derivations.lisp derives claims that hold.
claims.lisp lists all of them with the digests of their statements.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Derivation:
    """What the ledger says of a derivation.

    Attributes:
        joined: what joins its steps, in a sentence.
        assumptions: the names of those that it uses; it fails without any one of them.
    """

    joined: str
    assumptions: tuple[str, ...]


def forms(name: str, head: str) -> dict[str, str]:
    """Id to text of the forms of a file."""
    text = (FOLDER / f"{name}.lisp").read_text(encoding="utf-8")
    return {form.split()[0]: form for form in re.split(rf"(?m)^\({head} ", text)[1:]}


@cache
def kinds() -> dict[str, str]:
    """Refuted claims: id to `certificate`, or `certificate + step` where a written step remains."""
    claims, ids = forms("statements", "claim"), forms("certificates", "certificate")
    return {id_: "certificate" + " + step" * ("\n  (step " in claims[id_]) for id_ in ids}


@cache
def derivations() -> dict[str, Derivation]:
    """Claims that are derived, by id."""
    return {
        id_: Derivation(
            " ".join(re.findall(r'\(joined "([^"]*)"\)', form)[0].split()),
            tuple(sorted(set(re.findall(r'\("([^"]*)" ', form)))),
        )
        for id_, form in forms("derivations", "derivation").items()
    }
