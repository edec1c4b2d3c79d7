"""A claim of the paper, what a check of it returns, and the register of all claims.

A check is a function of an instance. A claim joins the check of the statement as printed with
what else decides it: instances to try it on, a counterexample where there is one, the corrected
statement (a check like any other) and a negative control, a broken variant that must be rejected.
"""

import inspect
import math
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np

from gladius.validate import InputError
from proofs_checks.claims.numbering import records
from proofs_checks.claims.verdicts import CONDITIONAL, REFUTED, UNREFUTED, Verdict

if TYPE_CHECKING:  # an extra has it, and the register of claims does without
    from hypothesis.strategies import SearchStrategy

Relation = Literal["<=", ">=", "=="]
Severity = Literal["theorem", "conclusion", "constant", "cosmetic"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
CHECKS = ("proofs_checks.sections", "proofs_checks.corrected")  # rooms whose modules register them
OURS = "corrected."  # begins the ids of what is not the paper's: the corrected chain
# The paragraphs of a check's docstring after the statement itself.
PARAGRAPHS = ("Where", "Assumes", "Decided")


def assumed(true: bool | np.bool_, assumption: str) -> None:
    """Raise AssertionError where an instance misses a stated assumption of the paper."""
    if not true:
        raise AssertionError(f"the instance does not satisfy: {assumption}")


@dataclass(frozen=True)
class CheckResult:
    """What a check measured on one instance.

    Attributes:
        observed: the left side of the statement.
        relation: `<=`, `>=` or `==`.
        bound: the right side.
        tolerance: how far the relation may be missed, absolute; 0 in exact arithmetic.
        reason: why that tolerance.
    """

    observed: float | Fraction
    relation: Relation
    bound: float | Fraction
    tolerance: float
    reason: str

    def __post_init__(self) -> None:
        if self.relation not in get_args(Relation):
            raise InputError("relation", self.relation, "use '<=', '>=' or '=='")
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise InputError("tolerance", self.tolerance, "give a finite number, 0 or more")
        if not self.reason:
            raise InputError("reason", self.reason, "say why this tolerance")

    @property
    def excess(self) -> float:
        """By how much the relation is missed; at most zero where an inequality is strict."""
        gap = float(self.observed - self.bound)
        return abs(gap) if self.relation == "==" else gap if self.relation == "<=" else -gap

    @property
    def holds(self) -> bool:
        """Whether the relation holds to the tolerance; never where a side is not a number."""
        return self.excess <= self.tolerance

    @property
    def is_tie(self) -> bool:
        """Whether the sides are equal to the tolerance; a relation of them would mislead."""
        return abs(float(self.observed - self.bound)) <= self.tolerance

    @property
    def slack(self) -> float:
        """Generous side over tight side of an inequality between positive numbers: 1 is tight.

        Below 1 the inequality is violated. NaN for equalities, and where a side is not above the
        tolerance, as at a minimiser (0 >= 0), or is infinite.
        """
        low, high = float(self.observed), float(self.bound)
        if self.relation == ">=":
            low, high = high, low
        if self.relation == "==" or not (low > self.tolerance and high > self.tolerance):
            return math.nan
        return high / low if math.isfinite(high) else math.nan


# --- a result by its relation; fractions stay exact, other numbers become floats
def _exact(number: Any) -> float | Fraction:
    return number if isinstance(number, Fraction) else float(number)


def at_most(observed: Any, bound: Any, tolerance: Any, reason: str) -> CheckResult:
    """observed <= bound."""
    return CheckResult(_exact(observed), "<=", _exact(bound), float(tolerance), reason)


def at_least(observed: Any, bound: Any, tolerance: Any, reason: str) -> CheckResult:
    """observed >= bound."""
    return CheckResult(_exact(observed), ">=", _exact(bound), float(tolerance), reason)


def equal(observed: Any, bound: Any, tolerance: Any, reason: str) -> CheckResult:
    """observed == bound; of two arrays, the entries that are farthest apart."""
    if np.ndim(observed):
        farthest = np.unravel_index(np.argmax(np.abs(observed - bound)), np.shape(observed))
        observed, bound = observed[farthest], bound[farthest]
    return CheckResult(_exact(observed), "==", _exact(bound), float(tolerance), reason)


def weakest(*results: CheckResult) -> CheckResult:
    """Of relations that must all hold: the one that fails by most, or has the least slack."""
    failed = [r for r in results if not r.holds]
    if failed:
        return max(failed, key=lambda r: math.inf if math.isnan(r.excess) else r.excess)
    tight = [r for r in results if not math.isnan(r.slack)]
    if tight:
        return min(tight, key=lambda r: r.slack)
    return max(results, key=lambda r: r.excess - r.tolerance)


# --- a claim
Check = Callable[[Any], CheckResult]
AnyCheck = TypeVar("AnyCheck", bound=Callable[..., CheckResult])  # with options for its control


@dataclass(frozen=True)
class Claim:
    """One row of the ledger; made by a decorator of `claim`.

    Attributes:
        id: as in the list of claims.
        verdict: the recorded one; `python -m proofs_checks` decides anew and compares.
        printed: check of the statement as printed.
        instances: strategy of the instances for the statement that survives: the corrected one
            where there is one, else the printed one.
        broken: what the negative control breaks, in a few words.
        rejected: the surviving check with that fault.
        rejected_at: an instance on which the sound check passes and the broken one must fail.
        counterexample: builds an instance on which the printed statement fails, and asserts with
            `assumed` every stated assumption that constructors do not check (beta < 1).
        text: at most three lines by which a reader checks it by hand: format strings with
            the names `observed` and `bound`, the sides of the check.
        corrected: check of the statement to write instead; its docstring states it.
        condition: `holds-if`, `vacuous`: the condition that the paper does not state, named;
            `undecidable`: the reading that is checked; `holds`: of what alone it is said, if so.
        adversary: searches for the tightest instance with an optimiser.
        unproved: constants that may be changed without an instance against it: what would have to
            be proved, or found.
        missing: of a corrected statement without a proof: which step of one is lacking.
        cost: instances of this claim count this many (a network is dearer than an inequality).
        inferred: where the paper does not print the statement: why we examine it all the same.
    """

    id: str
    verdict: Verdict
    printed: Check
    instances: "SearchStrategy[Any]"
    broken: str
    rejected: Check
    rejected_at: Callable[[], Any]
    counterexample: Callable[[], Any] | None = None
    text: tuple[str, ...] = ()
    corrected: Check | None = None
    condition: str = ""
    adversary: Callable[[], Any] | None = None
    unproved: str = ""
    missing: str = ""
    cost: int = 1
    inferred: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in tuple(Verdict):
            raise InputError("verdict", self.verdict, f"use one of {', '.join(Verdict)}")
        for name in ("counterexample", "corrected"):
            if (getattr(self, name) is None) != (self.verdict in UNREFUTED):
                hint = f"it goes with every verdict but {', '.join(UNREFUTED)}"
                raise InputError(f"{self.id}: {name}", getattr(self, name), hint)
        if (self.verdict == Verdict.DOES_NOT_HOLD) != bool(
            self.inferred and self.verdict in REFUTED
        ):
            hint = "`fails` is for what the paper prints, `does-not-hold` for what it does not"
            raise InputError(f"{self.id}: verdict", self.verdict, hint)
        if bool(self.condition) != (self.verdict in CONDITIONAL) and self.verdict != Verdict.HOLDS:
            raise InputError(
                f"{self.id}: condition", self.condition, f"it is for {', '.join(CONDITIONAL)}"
            )
        if self.cost < 1:
            raise InputError(f"{self.id}: cost", self.cost, "give a whole number of at least 1")
        if len(self.text) > 3:
            raise InputError(f"{self.id}: text", self.text, "three lines at most")
        paragraphs(self.printed)
        if self.corrected:
            paragraphs(self.corrected, printed=False)

    @property
    def surviving(self) -> Check:
        """The check of the statement that we say is true."""
        return self.printed if self.corrected is None else self.corrected

    @property
    def severity(self) -> Severity | Literal[""]:
        """What the error reaches, a conclusion also where it holds of a part alone; else empty."""
        if self.scope:
            return "conclusion"
        return errors()[self.id]["severity"] if self.id in errors() else ""  # type: ignore[return-value]  # one of SEVERITIES, as errors() has checked

    @property
    def scope(self) -> str:
        """What follows the verdict `holds` where it is said of a part alone, after a comma."""
        return f", {self.condition}" if self.condition and self.verdict == Verdict.HOLDS else ""

    @property
    def error(self) -> str:
        """The cause of the error: one name where several statements share it."""
        return errors()[self.id]["error"] if self.id in errors() else ""

    @property
    def statement(self) -> str:
        """The statement as printed, or as examined where the paper does not print it."""
        return paragraphs(self.printed)["Statement"]

    @property
    def correction(self) -> str:
        """The statement to write instead; empty where the printed one stands."""
        return paragraphs(self.corrected, False)["Statement"] if self.corrected else ""


def paragraphs(check: Check, printed: bool = True) -> dict[str, str]:
    """The parts of a check's docstring: Statement, Where, Assumes, Decided, each on one line.

    The first paragraph is the statement; the others start with their name and a colon. A
    corrected statement needs `Decided` only: it stands where the printed one stands. Formulas are
    TeX between dollars.
    """
    statement, *others = re.split(r"\n\s*\n", inspect.getdoc(check) or "")
    named = {"Statement": " ".join(statement.split())}
    for paragraph in others:
        name, _, text = paragraph.partition(":")
        if name in PARAGRAPHS:
            named[name] = " ".join(text.split())
    needed = PARAGRAPHS if printed else ("Decided",)
    lacking = [name for name in ("Statement", *needed) if not named.get(name)]
    if lacking:
        raise InputError(f"docstring of {check.__name__}", lacking, "add these paragraphs")
    return named


# --- the register
_REGISTER: dict[str, Claim] = {}


def _claim(
    id_: str,
    *,
    rejected: Check | Mapping[str, Any],
    rejected_at: Callable[[], Any] | None = None,
    **evidence: Any,
) -> Callable[[AnyCheck], AnyCheck]:
    """Register a check of the statement as printed.

    Args:
        id_: as in the list of claims.
        rejected: the check with a fault; or the options with which the surviving check has it.
        rejected_at: makes the control's instance; by default the counterexample.
        **evidence: the other fields of `Claim`.
    """
    instance = rejected_at or evidence.get("counterexample")
    if instance is None:
        raise InputError(f"{id_}: rejected_at", None, "say where the control is rejected")

    def register(check: AnyCheck) -> AnyCheck:
        if id_ in _REGISTER:
            raise InputError("claim", id_, "it has a check already")
        faulty = rejected
        if isinstance(faulty, Mapping):
            faulty = partial(evidence.get("corrected", check), **faulty)
        _REGISTER[id_] = Claim(
            id=id_, printed=check, rejected=faulty, rejected_at=instance, **evidence
        )
        return check

    return register


class claim:  # noqa: N801  # its members read as verbs, @claim.fails(...)
    """`_claim` for each verdict."""

    holds, holds_if, vacuous, undecidable, fails, misprint, imprecise, does_not_hold = (
        partial(_claim, verdict=v) for v in Verdict
    )


@cache
def claims() -> dict[str, Claim]:
    """Claim by id, in the order in which the paper makes them; ours come after."""
    for package in map(import_module, CHECKS):
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            import_module(f"{package.__name__}.{module}")
    for id_ in _REGISTER:
        if id_ not in listed():
            raise InputError("claim", id_, "it is not in claims.csv")
    return {id_: _REGISTER[id_] for id_ in listed() if id_ in _REGISTER}


@cache
def errors() -> dict[str, dict[str, str]]:
    """Refuted claims: id to the row of errors.csv, in the order of the errata."""
    for row in records("errors"):
        if row["severity"] not in SEVERITIES or not (row["error"] and row["title"]):
            hint = f"one of {SEVERITIES}, a title and a cause"
            raise InputError(f"errors.csv: {row['id']}", row["severity"], hint)
    return {row["id"]: row for row in records("errors")}


@cache
def listed() -> dict[str, str]:
    """The list of claims: id to statement in a line."""
    return {row["id"]: row["statement"] for row in records("claims")}


def find(id_: str) -> Claim:
    """The claim with this id.

    Raises:
        InputError: there is none.
    """
    if id_ not in claims():
        raise InputError("claim", id_, f"choose one of {', '.join(claims())}")
    return claims()[id_]


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
    claim = find(id_)
    if corrected and claim.corrected is None:
        raise InputError("corrected", corrected, f"{id_} has no corrected statement: leave it out")
    if instance is None:
        instance = ((not corrected and claim.counterexample) or claim.rejected_at)()
    return (claim.surviving if corrected else claim.printed)(instance)
