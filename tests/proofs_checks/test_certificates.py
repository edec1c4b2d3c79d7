"""The certificates: accepted, tampered with, and their statements against the ledger's checks."""

import contextlib
import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from formal import MAPS, numbers
from hypothesis import HealthCheck, Phase, given, settings

from proofs_checks import verify
from proofs_checks.claims import CheckResult, claims

TEXTS = {path.stem: path.read_text("utf-8") for path in verify.FOLDER.glob("*.lisp")}
NAMES = verify.definitions(TEXTS["prelude"])
STATEMENTS = verify.claims(TEXTS["statements"], TEXTS["prelude"])
CERTIFICATES = {
    id_: {part[0]: part[1:] for part in parts}
    for _, id_, *parts in verify.read(TEXTS["certificates"])
}
INSTANCES = 25  # of each claim, or all where it has fewer
FEWER = {
    "tab.mlirl-r-versus-Q": 2,
    "tab.gladius-r-versus-Q": 2,
    "tab.mape-from-tables": 6,
    "text.who-is-better-where": 4,
    "text.action-zero": 6,
    "text.bc-consistently-better": 15,
}
RELATION = {"=": "==", "<=": "<=", ">=": ">="}
Pair = tuple[CheckResult, verify.Environment]  # a check's result, and the statement's values


# --- the cross-test
def value(side: verify.Number) -> float:
    return float(verify.enclose(side).mid())


def sides(form: Any, names: verify.Environment) -> list[tuple[str, float, float, float]]:
    """Relation, left, right and excess of every relation of a statement."""
    parts = []
    for relation, left, right in verify.evaluate(form, names):
        low, high = value(left), value(right)
        gap = {"=": abs(low - high), ">=": high - low}.get(relation, low - high)
        parts.append((RELATION.get(relation, relation), low, high, gap))
    return parts


def agrees(form: Any, pair: Pair) -> bool:
    """Whether the sides of a statement, at what it misses most, are those of the check.

    Of a statement that holds the check may show any relation, and it does not show one that says
    nothing (0 <= 0).
    """
    result, names = pair
    observed, bound = float(result.observed), float(result.bound)
    parts = sides(form, names)
    same = [
        part
        for part in parts
        if part[0] == result.relation
        and close(part[1], observed, result.tolerance)
        and close(part[2], bound, result.tolerance)
    ]
    worst = max((part[3] for part in parts), default=-math.inf)
    return any(result.holds or close(part[3], worst, result.tolerance) for part in same)


def close(x: float, y: float, tolerance: float) -> bool:
    """Equal up to rounding, and to what the check's own numerical method leaves."""
    size = max(abs(x), abs(y))
    return abs(x - y) <= 1e-7 * size + tolerance + 1e-13 * max(1.0, size)


class EnoughError(Exception):
    """As many instances as asked for are drawn."""


@cache
def pairs(id_: str) -> tuple[Pair, ...]:
    """Instances of the claim's own strategy, mapped; each at most once."""
    claim, collected = claims()[id_], {}

    @settings(
        max_examples=40 * INSTANCES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(claim.instances)
    def body(instance: Any) -> None:
        if len(collected) < INSTANCES and repr(instance) not in collected:
            pair = mapped(id_, instance)
            if pair:
                collected[repr(instance)] = pair
        if len(collected) == INSTANCES:
            raise EnoughError

    with contextlib.suppress(EnoughError):
        body()
    return tuple(collected.values())


def mapped(id_: str, instance: Any) -> Pair | None:
    claim, statement, known = claims()[id_], STATEMENTS[id_], MAPS[id_](instance)
    if known is None:
        return None
    names = NAMES | {name: numbers(known[1][name]) for name, _ in statement.given}
    names |= {name: numbers(known[1][name]) for name, _ in statement.some}
    for name, kind in statement.given:
        sizes(kind, names[name], names)
    shown = known[0] if isinstance(known[0], CheckResult) else claim.printed(known[0])
    return shown, names


def sizes(kind: Any, values: Any, names: verify.Environment) -> None:
    """Give the sizes in a type their values."""
    if isinstance(kind, list) and kind[0] in verify.SHAPES:
        shape = verify.read(verify.SHAPES[kind[0]])[0]
        kind = shape
    if isinstance(kind, list) and kind[0] in ("list", "law"):
        names.setdefault(kind[1], numbers(len(values)))
        sizes(kind[-1], values[0], names)


@pytest.mark.parametrize("id_", CERTIFICATES)
def test_a_statement_has_the_sides_of_its_check(id_: str) -> None:
    tried = pairs(id_)
    assert len(tried) >= FEWER.get(id_, INSTANCES)
    assert [pair for pair in tried if not agrees(STATEMENTS[id_].printed[0], pair)] == []


def mutants(id_: str) -> Iterator[Any]:
    """`printed` with one token changed: another number, function, relation or name."""
    statement = STATEMENTS[id_]
    given = [name for name, _ in (*statement.some, *statement.given)]
    swaps = {"+": "-", "-": "+", "*": "+", "/": "*", "^": "*", "exp": "log", "log": "exp"}
    swaps |= {"sum": "largest", "largest": "sum", "<=": ">=", ">=": "<=", "=": "<="}
    swaps |= {"V": "entropy", "next": "ahead", "all": "any", "abs": "-"}
    tokens = re.findall(r"[()]|[^\s()]+", verify.shown(*statement.printed))
    for i, token in enumerate(tokens):
        new = [swaps[token]] if token in swaps else []
        if re.fullmatch(r"-?\d+(/\d+)?", token):
            new = [str(verify.Fraction(token) + step) for step in (1, -1)]
        elif token in given:
            new = [name for name in given if name != token]
        for other in new:
            yield verify.read(" ".join([*tokens[:i], other, *tokens[i + 1 :]]))[0]


def unnoticed(form: Any, tried: tuple[Pair, ...]) -> bool:
    try:
        return all(agrees(form, pair) for pair in tried)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False


@pytest.mark.parametrize("id_", CERTIFICATES)
def test_every_one_token_forgery_of_printed_is_noticed(id_: str) -> None:
    forged = list(mutants(id_))
    assert len(forged) > 2
    assert [verify.shown(form) for form in forged if unnoticed(form, pairs(id_))] == []
