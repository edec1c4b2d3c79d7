"""The certificates: their statements against the ledger's checks, and forgeries of them."""

import contextlib
import hashlib
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from formal import MAPS, numbers
from hypothesis import HealthCheck, Phase, given, settings

from proofs_checks import certificates, verify
from proofs_checks.claims import CheckResult, claims

TEXTS = {path.stem: path.read_text("ascii") for path in verify.FOLDER.glob("*.lisp")}
NAMES = verify.definitions(TEXTS["prelude"])
STATEMENTS = verify.entries("claim", TEXTS["statements"], TEXTS["prelude"])
CERTIFICATES = verify.entries("certificate", TEXTS["certificates"], TEXTS["prelude"])
DERIVATIONS = verify.entries("derivation", TEXTS["derivations"], TEXTS["prelude"])
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


def printed(id_: str) -> Any:
    """The printed statement of a certificate, as one form."""
    return ["and", *STATEMENTS[id_][1]["printed"]]


# --- the cross-test
def value(side: verify.Number) -> float:
    return math.nan if side.free else float(verify.enclose(side).mid())


def sides(form: Any, names: verify.Environment) -> list[tuple[str, float, float, float]]:
    """Relation, left, right and excess of every relation of a statement."""
    relations = []
    for relation, first, second in verify.evaluate(form, names):
        low, high = value(first), value(second)
        gap = {"=": abs(low - high), ">=": high - low}.get(relation, low - high)
        relations.append((RELATION.get(relation, relation), low, high, gap))
    return relations


def agrees(form: Any, pair: Pair) -> bool:
    """Whether the sides of a statement, at what it misses most, are those of the check.

    Of a statement that holds the check may show any relation, and it does not show one that says
    nothing (0 <= 0).
    """
    result, names = pair
    observed, bound = float(result.observed), float(result.bound)
    relations = sides(form, names)
    same = [
        item
        for item in relations
        if item[0] == result.relation
        and close(item[1], observed, result.tolerance)
        and close(item[2], bound, result.tolerance)
    ]
    worst = max((item[3] for item in relations), default=-math.inf)
    return any(result.holds or close(item[3], worst, result.tolerance) for item in same)


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
    """The check's result on an instance, and the values of the statement's names there."""
    formal = MAPS[id_](instance)
    if formal is None:
        return None
    at, values = formal
    statement = STATEMENTS[id_][1]
    names = dict(NAMES)
    for name, kind in (*statement["data"], *statement["some"], *statement["given"]):
        names[name] = numbers(values[name])
        sizes(kind, names[name], names)
    return at if isinstance(at, CheckResult) else claims()[id_].printed(at), names


def sizes(kind: Any, values: Any, names: verify.Environment) -> None:
    """Give the sizes in a type their values."""
    if isinstance(kind, list) and kind[0] in ("list", "distribution"):
        names.setdefault(kind[1], numbers(len(values)))
        sizes(kind[-1], values[0], names)


def test_every_statement_without_a_written_step_has_a_map() -> None:
    assert set(MAPS) <= set(CERTIFICATES)
    assert all(STATEMENTS[id_][1]["step"] for id_ in set(CERTIFICATES) - set(MAPS))


@pytest.mark.parametrize("id_", MAPS)
def test_a_statement_has_the_sides_of_its_check(id_: str) -> None:
    tried = pairs(id_)
    assert len(tried) >= FEWER.get(id_, INSTANCES)
    assert [pair for pair in tried if not agrees(printed(id_), pair)] == []


@pytest.mark.parametrize("id_", CERTIFICATES)
def test_the_instance_has_the_sides_of_the_counterexample(id_: str) -> None:
    """Sides that hold a constant of which the paper says that it exists have no one value."""
    claim = claims()[id_]
    assert claim.counterexample is not None
    result = claim.printed(claim.counterexample())
    instance, statement = CERTIFICATES[id_][1]["instance"], STATEMENTS[id_][1]
    names = verify.instantiate(statement, instance, NAMES, refute=True)
    free = [side.free for relation in verify.evaluate(printed(id_), names) for side in relation[1:]]
    assert bool(statement["some"]) == any(free)
    assert any(free) or agrees(printed(id_), (result, names))


def mutants(id_: str) -> Iterator[Any]:
    """`printed` with one token changed: another number, function, relation or name."""
    statement = STATEMENTS[id_][1]
    given = [name for part in ("data", "some", "given") for name, _ in statement[part]]
    swaps = {"+": "-", "-": "+", "*": "+", "/": "*", "^": "*", "exp": "log", "log": "exp"}
    swaps |= {"sum": "largest", "largest": "sum", "<=": ">=", ">=": "<=", "=": "<="}
    swaps |= {"V": "entropy", "next": "ahead", "all": "any", "abs": "-"}
    tokens = re.findall(r"[()]|[^\s()]+", verify.spelled(statement["printed"][0]))
    for i, token in enumerate(tokens):
        new = [swaps[token]] if token in swaps else []
        if re.fullmatch(r"-?\d+(/\d+)?", token):
            new = [str(Fraction(token) + step) for step in (1, -1)]
        elif token in given:
            new = [name for name in given if name != token]
        for other in new:
            yield verify.read(" ".join([*tokens[:i], other, *tokens[i + 1 :]]))[0]


def unnoticed(form: Any, tried: tuple[Pair, ...]) -> bool:
    try:
        return all(agrees(form, pair) for pair in tried)
    except verify.FAULTS:
        return False


@pytest.mark.parametrize("id_", MAPS)
def test_every_one_token_forgery_of_printed_is_noticed(id_: str) -> None:
    forged = list(mutants(id_))
    assert len(forged) > 2
    assert [verify.spelled(form) for form in forged if unnoticed(form, pairs(id_))] == []


# --- false certificates of listed claims, and what a certificate may use
def parts(form: Any) -> Iterator[Any]:
    """The form and all forms in it."""
    yield form
    for item in form if isinstance(form, list) else ():
        yield from parts(item)


DENOMINATOR = """(exp (- (log (+ M 1)) (log (* (exp (log (+ M 1))) (+ (^ M 2) (- M) 1)))))"""
FORGED = {
    # |Q| = (M^2 + 1) / (M^2 - M + 1) is at most 2, and the sign of this denominator is not proved
    "setup.Q-star-bounded": (
        f"""((beta 1/2) (r (list (list (* -1/2 (+ (^ M 2) 1) {DENOMINATOR}))))
        (P (list (list (list 1)))) (Q (list (list (* -1 (+ (^ M 2) 1) {DENOMINATOR})))))""",
        "the number of a log is not proved to be positive",
    ),
    # a discount factor for each mu: for each of them the objective is a convex parabola
    "prop:linConvergence.two-sided-PL": (
        """((beta (/ (+ 4 (* 3 mu)) (* 8 (+ 1 mu)))) (n (list (list (list 1)))) (anchor (list 0))
        (r (list 0)) (zeta (list 0)) (theta (list 1)) (other (list 0)))""",
        "'mu'",
    ),
}


@pytest.mark.parametrize("id_", FORGED)
def test_a_false_certificate_of_a_listed_claim_is_rejected(id_: str) -> None:
    """The verifier of release 0.3.0 accepts both."""
    text, why = FORGED[id_]
    (instance,) = verify.read(text)
    contents = CERTIFICATES[id_][1] | {"instance": instance}
    with pytest.raises((verify.RejectedError, KeyError), match=why):
        verify.verify(STATEMENTS[id_][1], contents, NAMES)


def test_two_instances_depend_on_the_constants_that_the_claim_says_exist() -> None:
    """Of data the verifier refuses it; the points of these two come after the constant."""
    constants = {id_: {name for name, _ in s["some"]} for id_, (_, s) in STATEMENTS.items()}
    dependent = {
        (id_, name)
        for id_, (_, contents) in CERTIFICATES.items()
        for name, form in contents["instance"]
        if any(isinstance(item, str) and item in constants[id_] for item in parts(form))
    }
    bounded = {("setup.Q-star-bounded", name) for name in ("r", "Q")}
    assert dependent == bounded | {("prop:linConvergence.quadratic-growth", "theta")}


@pytest.mark.parametrize("f", ["(^ v 3)", "(- (^ v 4) (* 2 (^ v 3)))", "(exp v)", "(larger v 0)"])
def test_an_expectation_is_of_a_polynomial_of_degree_two(f: str) -> None:
    """v^4 - 2 v^3 is a parabola at -1, 0, 1 and 2."""
    names = NAMES | {"m1": verify.variable(), "m2": verify.variable()}
    with pytest.raises(verify.RejectedError):
        verify.evaluate(verify.read(f"(expectation m1 m2 (fn (v) {f}))")[0], names)


def test_the_second_reading_speaks_of_every_word_of_the_language() -> None:
    page = (verify.FOLDER / "README.md").read_text("utf-8")
    words = verify.RESERVED.union(*verify.FIELDS.values(), verify.POSSIBLE, ("real", "step"))
    words |= {"list", "distribution", "index", "count"}
    assert {word for word in words if f"`{word}`" not in page} == set()
    number = len(STATEMENTS | DERIVATIONS)
    assert f"{number} of {number} certified" in page


def test_the_list_is_that_of_the_files() -> None:
    """After a change write `listing` to claims.lisp, and its SHA-256 as LIST into verify.py."""
    first, *_ = TEXTS["claims"].splitlines()
    found = [(id_, digest) for id_, (digest, _) in (STATEMENTS | DERIVATIONS).items()]
    listing = f"{first}\n" + "".join(f'(listed {id_} "{digest}")\n' for id_, digest in found)
    assert TEXTS["claims"] == listing
    assert hashlib.sha256(listing.encode()).hexdigest() == verify.LIST


# --- derivations
def changed(form: Any) -> Iterator[Any]:
    """The form with one of its numbers larger by one."""
    if isinstance(form, Fraction):
        yield form + 1
    elif isinstance(form, list):
        for i, item in enumerate(form):
            yield from ([*form[:i], other, *form[i + 1 :]] for other in changed(item))


IMMATERIAL = {  # numbers with another value that is as true: powers of 0 and 1, what drops out
    "eq:double-sampling": 8,
    "lem:linPolyNonsingular": 4,
    "alg:estimation_deterministic": 2,
    "eq:KL-chi-square": 1,
    "fn:sum-of-PL": 7,
    "abstract.weaker-than-strong-convexity": 3,
}


@pytest.mark.parametrize("id_", DERIVATIONS)
def test_a_derivation_with_another_number_is_rejected(id_: str) -> None:
    contents, accepted = DERIVATIONS[id_][1], 0
    for steps in changed(contents["steps"]):
        with contextlib.suppress(*verify.FAULTS):
            verify.derive(contents | {"steps": steps}, NAMES)
            accepted += 1
    assert accepted == IMMATERIAL.get(id_, 0)


@pytest.mark.parametrize("id_", DERIVATIONS)
def test_a_derivation_fails_without_each_of_its_assumptions(id_: str) -> None:
    contents = DERIVATIONS[id_][1]
    names = {reason[0] for step in contents["steps"] for reason in step[2:]} - {"square"}
    recorded = certificates.derivations()[id_.removesuffix(certificates.INSTEAD)]
    assert {f'"{name}"' for name in recorded.assumptions} == names
    assert [*recorded.assumptions, *recorded.signs] == verify.uses(contents)
    assert all(item in recorded.uses for item in verify.uses(contents))
    for i, step in enumerate(contents["steps"]):
        for j in range(2, len(step)):
            shorter = [*step[:j], *step[j + 1 :]]
            steps = [*contents["steps"][:i], shorter, *contents["steps"][i + 1 :]]
            # where one assumption is left, it may be the goal
            with pytest.raises(verify.RejectedError, match=r"not the sum|of no use"):
                verify.derive(contents | {"steps": steps}, NAMES)


# in these no words join the steps to the statement; another one is added by whoever reads its steps
PROOFS = {
    *("lem:expTD=BE", "eq:double-sampling", "eq:biconjugate", "eq:SBEED", "lem:OurBiconj.a"),
    *("lem:OurBiconj.b", "def:ERM.finite-states", "alg:estimation_deterministic"),
    *("fn:sum-of-PL", "lem:sharingsol", "app.Q-minus-log-policy", "sec:GlobalConv.nonconvex"),
}


def test_what_is_certified_is_what_the_ledger_says() -> None:
    recorded = {id_: claim.verdict for id_, claim in claims().items()}
    instead = {id_ for id_ in DERIVATIONS if id_.endswith(certificates.INSTEAD)}
    assert {recorded[id_] for id_ in set(DERIVATIONS) - instead} == {"holds"}
    named = {id_.removesuffix(certificates.INSTEAD) for id_ in DERIVATIONS}
    assert {id_ for id_ in named if claims()[id_].corrected} == {
        id_.removesuffix(certificates.INSTEAD) for id_ in instead
    }
    assert "holds" not in {recorded[id_] for id_ in CERTIFICATES}
    assert set(certificates.kinds()) == set(CERTIFICATES)
    assert set(certificates.derivations()) == named
    whole = {id_ for id_, proof in certificates.derivations().items() if proof.kind == "proof"}
    assert whole == PROOFS
    stepped = {id_ for id_, kind in certificates.kinds().items() if kind.endswith("step")}
    assert stepped == {id_ for id_, (_, contents) in STATEMENTS.items() if contents["step"]}
