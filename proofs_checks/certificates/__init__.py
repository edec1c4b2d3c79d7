"""Certificates of refuted claims: data that `proofs_checks/verify.py` verifies by itself.

prelude.lisp defines the paper's objects, statements.lisp says what is printed and what to write
instead, certificates.lisp gives the instances.
"""

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def _kinds() -> dict[str, str]:
    certified = re.findall(r"(?m)^\(certificate (\S+)", _text("certificates"))
    stated = re.split(r"(?m)^\(claim ", _text("statements"))[1:]
    stepped = {text.split()[0] for text in stated if re.search(r"(?m)^  \(step ", text)}
    return {id_: "certificate" + (" + step" if id_ in stepped else "") for id_ in certified}


def _text(name: str) -> str:
    return (FOLDER / f"{name}.lisp").read_text(encoding="utf-8")


def kind(id_: str) -> str | None:
    """`certificate`, `certificate + step` where a written step remains, or None."""
    return _kinds().get(id_)
