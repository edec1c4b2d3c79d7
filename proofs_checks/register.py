"""All claims with their checks: importing the sections fills the register."""

from __future__ import annotations

import csv
import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from gladius.checks import InputError
from proofs_checks import sections
from proofs_checks.claims import _REGISTER, CheckResult, Claim

STATEMENTS = Path(__file__).with_name("claims.csv")


@cache
def claims() -> dict[str, Claim]:
    """Claim by id, in the order in which the paper makes them."""
    for module in sorted(m.name for m in pkgutil.iter_modules(sections.__path__)):
        import_module(f"{sections.__name__}.{module}")
    order = {id_: n for n, id_ in enumerate(listed())}
    for id_ in _REGISTER:
        if id_ not in order:
            raise InputError("claim", id_, f"it is not in {STATEMENTS.name}")
    return {id_: _REGISTER[id_] for id_ in order if id_ in _REGISTER}


@cache
def listed() -> dict[str, str]:
    """The list of claims: id to statement in a line."""
    with STATEMENTS.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["statement"] for row in csv.DictReader(file)}


def find(id_: str) -> Claim:
    """The claim with this id.

    Raises:
        InputError: there is none.
    """
    known = claims()
    if id_ not in known:
        raise InputError("claim", id_, f"choose one of {', '.join(known)}")
    return known[id_]


def check(id_: str, instance: Any = None, *, corrected: bool = False) -> CheckResult:
    """Check a claim of the paper on an instance.

    Args:
        id_: as in the ledger, "lem:BE_PL".
        instance: of the kind that the check's docstring names; by default the counterexample
            where there is one, else the negative control's instance.
        corrected: check the statement to write instead, not the printed one.

    Raises:
        InputError: no such claim, or it has no corrected statement.
    """
    one = find(id_)
    if corrected and one.corrected is None:
        raise InputError("corrected", corrected, f"{id_} has no corrected statement: leave it out")
    if instance is None:
        use = one.counterexample.make if one.counterexample and not corrected else one.control.make
        instance = use()
    return (one.surviving if corrected else one.printed)(instance)
