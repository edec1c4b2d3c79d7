"""Certificates with a token changed: rejected, or themselves valid, for a reason that is given."""

import csv
import hashlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from proofs_checks import verify

TEXTS = {path.stem: path.read_text("utf-8") for path in verify.FOLDER.glob("*.lisp")}
NAMES = verify.definitions(TEXTS["prelude"])
CLAIMS = verify.claims(TEXTS["statements"], TEXTS["prelude"])
CERTIFICATES = {
    id_: {part[0]: part[1:] for part in parts}
    for _, id_, *parts in verify.read(TEXTS["certificates"])
}
LEDGER = Path(__file__).parents[2] / "paper_tables" / "generated" / "claims.csv"
# Numbers that may be another one, by claim and given name: the certificate is valid all the same.
SURVIVORS = {
    ("lem:lipsSmooth.L-zeta", "Q"): "immaterial: V drops out of the difference of two gradients",
    ("alg:estimation1.bookkeeping", "tested"): "immaterial: any name but the one that is counted",
    ("alg:estimation1.bookkeeping", "box"): "immaterial: the other three slips",
    ("alg:estimation1.bookkeeping", "text"): "immaterial: the other three slips",
    ("alg:estimation1.bookkeeping", "start"): "immaterial: the other three slips",
    ("alg:estimation1.bookkeeping", "closing"): "immaterial: the other three slips",
    ("remark.full-column-rank", "all-rows"): "immaterial: gradients outside Z_Q, of the same rank",
    ("prop:linConvergence.two-sided-PL", "anchor"): "symmetric: two actions that are alike",
    ("prop:linConvergence.two-sided-PL", "other"): "immaterial: another point below",
    ("prop:linConvergence.strong-concavity", "n"): "immaterial: a second row of the one pair",
    ("lem:lipsSmooth.NLL-bound", "n"): "immaterial: Hess V does not depend on the choices",
    ("alg:estimation1.is-GDA", "n"): "immaterial: a row more that is not the largest entry's",
    ("alg:estimation1.is-GDA", "chi"): "immaterial: a feature of the anchor, still full rank",
    ("intro.unique-saddle", "anchor"): "symmetric: two actions that are alike",
    ("lem:anchor_overlap_logit.finite-horizon", "anchor"): "immaterial: of a state not left",
    ("prop:linConvergence.population-rate", "K"): "immaterial: only the corrected bound has it",
    ("lem:EmpLipschitz", "n"): "immaterial: a second row of the one pair",
    ("lem:EmpLipschitz", "anchor"): "immaterial: of a state without rows",
    ("lem:EmpLipschitz", "r"): "immaterial: of a state without rows",
    ("lem:EmpLipschitz", "corners"): "immaterial: a smaller class, M is above its values too",
    ("lem:lipsSmooth.L-theta", "n"): "immaterial: a second row of the one pair",
    ("lem:lipsSmooth.L-theta", "anchor"): "immaterial: of a state without rows",
    ("lem:lipsSmooth.L-theta", "r"): "immaterial: of a state without rows",
    ("lem:lipsSmooth.L-theta", "slopes"): "immaterial: smaller values, and the same along h",
    ("lem:lipsSmooth.L-theta", "corners"): "immaterial: another class, M is above its values too",
    ("lem:lipsSmooth.L-theta", "M"): "immaterial: a larger M, by less than nine digits show",
    ("prop:linConvergence.quadratic-growth", "anchor"): "symmetric: two actions that are alike",
    ("prop:linConvergence.quadratic-growth", "theta"): "immaterial: another curve to a minimiser",
    ("lem:NNenjoysPL", "theta"): "immaterial: any weights, as the step says",
    ("lem:erm_ddc_quant_identification", "kappa"): "immaterial: a larger bound of the norm",
    ("lem:erm_ddc_quant_identification", "l"): "immaterial: a larger bound of the log ratio",
    ("tab.gladius-r-versus-Q", "r"): "immaterial: mileages whose next values are not printed",
    ("tab.gladius-r-versus-Q", "Q"): "immaterial: mileages whose next values are not printed",
    ("tab.mlirl-r-versus-Q", "r"): "immaterial: mileages whose next values are not printed",
    ("tab.mape-from-tables", "r"): "immaterial: pairs of frequency 0",
    ("tab.mape-from-tables", "truth"): "immaterial: pairs of frequency 0",
    ("tab.mape-from-tables", "half"): "immaterial: pairs of frequency 0",
    ("tab.mape-from-tables", "se"): "immaterial: only the corrected bound has it",
    ("text.action-zero", "half"): "immaterial: only the corrected bound has it",
    ("text.action-zero", "r"): "immaterial: of other mileages",
    ("text.action-zero", "Q"): "immaterial: of other mileages",
    ("text.bc-consistently-better", "bc"): "immaterial: other cells, by less than their gap",
    ("text.bc-consistently-better", "erm-irl"): "immaterial: other cells, by less than their gap",
    ("text.bc-consistently-better", "sign"): "immaterial: other cells, 2 for 1",
}


def changed(form: Any) -> Iterator[Any]:
    """The form with one of its numbers larger by one."""
    if isinstance(form, Fraction):
        yield form + 1
    elif isinstance(form, list):
        for i, part in enumerate(form):
            yield from ([*form[:i], other, *form[i + 1 :]] for other in changed(part))


def accepted(id_: str, **changes: Any) -> bool:
    try:
        verify.verify(CLAIMS[id_], CERTIFICATES[id_] | changes, NAMES)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("id_", CERTIFICATES)
def test_a_changed_number_of_the_instance_is_rejected_or_explained(id_: str) -> None:
    instance = CERTIFICATES[id_]["instance"]
    survivors = set()
    for i, (name, form) in enumerate(instance):
        for other in changed(form):
            if accepted(id_, instance=[*instance[:i], [name, other], *instance[i + 1 :]]):
                survivors.add(name)
                break
    assert survivors == {name for claim, name in SURVIVORS if claim == id_}


@pytest.mark.parametrize("id_", CERTIFICATES)
def test_a_raised_margin_and_changed_sides_are_rejected(id_: str) -> None:
    certificate = CERTIFICATES[id_]
    (margin,), sides = certificate["margin"], certificate["sides"]
    known = [side for side in sides if side != "free"]
    apart = abs(known[0] - known[1]) if len(known) == 2 else Fraction(0)
    assert accepted(id_)
    assert not accepted(id_, margin=[max(margin, apart) + Fraction(1, 10**6)])
    assert not accepted(id_, margin=[Fraction(-1)])
    for i, side in enumerate(sides):
        if side != "free":
            other = side + max(abs(side), 1) / 10**6
            assert not accepted(id_, sides=[*sides[:i], other, *sides[i + 1 :]])
            assert not accepted(id_, sides=[*sides[:i], "free", *sides[i + 1 :]])
    assert not accepted(id_, sides=sides[:1])


@pytest.mark.parametrize("id_", CERTIFICATES)
def test_a_certificate_of_a_changed_statement_is_rejected(id_: str) -> None:
    """The digest is of every token of the statement and of the definitions."""
    text, prelude = TEXTS["statements"], TEXTS["prelude"]
    forms = {form[1]: form for form in verify.read(text)}
    pinned = verify.shown(verify.read(prelude)) + verify.shown(forms[id_])
    assert CERTIFICATES[id_]["statement"] == [f'"{hashlib.sha256(pinned.encode()).hexdigest()}"']
    for form in changed(forms[id_]):
        (other,) = verify.claims(verify.shown(form), prelude).values()
        assert other.digest != CLAIMS[id_].digest
    moved = verify.claims(text, prelude.replace("(* 100 ", "(* 101 "))
    assert moved[id_].digest != CLAIMS[id_].digest


def digits(value: Fraction) -> str:
    return f"{float(value):.6g}"


@pytest.mark.parametrize("id_", CERTIFICATES)
def test_the_sides_are_those_of_the_ledger(id_: str) -> None:
    """As committed, or, where that file is older than the check, as the check has them."""
    with LEDGER.open(encoding="utf-8", newline="") as lines:
        rows = {
            row["id"]: (row["observed"], row["bound"].split()[-1]) for row in csv.DictReader(lines)
        }
    ours = [digits(side) if side != "free" else None for side in CERTIFICATES[id_]["sides"]]

    def agree(observed: str, bound: str) -> bool:
        return all(x in (None, y) for x, y in zip(ours, (observed, bound), strict=True))

    if id_ not in rows:
        pytest.skip("the committed ledger does not have this claim yet")
    if not agree(*rows[id_]):
        from proofs_checks.claims import find
        from proofs_checks.ledger import number

        claim = find(id_)
        assert claim.counterexample is not None
        result = claim.printed(claim.counterexample())
        assert agree(number(result.observed), number(result.bound))
