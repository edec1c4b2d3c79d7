"""The certificates: their statements against the ledger's checks, and forgeries of them."""

import contextlib
import dataclasses
import hashlib
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from formal import MAPS, METHODS, numbers
from hypothesis import HealthCheck, Phase, given, settings

from proofs_checks import certificates
from proofs_checks.certificates import verify
from proofs_checks.claims import printed_tables as paper
from proofs_checks.claims.claims import CheckResult, claims
from proofs_checks.sections.imitation_experiments import GAMES

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
    rest = [STATEMENTS[id_][1] for id_ in set(CERTIFICATES) - set(MAPS)]
    assert all(bool(parts["step"]) != bool(parts["by-hand"]) for parts in rest)


@pytest.mark.parametrize("id_", MAPS)
def test_a_statement_has_the_sides_of_its_check(id_: str) -> None:
    tried = pairs(id_)
    assert len(tried) >= FEWER.get(id_, INSTANCES)
    assert [pair for pair in tried if not agrees(printed(id_), pair)] == []


CONSTANTS = {  # values, at the check's counterexample, of those that the paper says to exist
    "setup.Q-star-bounded": {"M": "1000000"},
    "setup.reachable-set": {"c": "1"},
    "thm:MagnacThesmar": {"c": "1"},
    "lem:minMLE": {"c": "1"},
    "prop:linConvergence.two-sided-PL": {"mu": "1/1000000000"},
    "prop:linConvergence.strong-concavity": {"rho": "361/100"},
    "prop:linConvergence.quadratic-growth": {"c": "1/100"},
    "lem:NNenjoysPL": {"mu": "11/1500000000"},  # times |e|^2 what the check would call positive
    "rem:sub-gaussian-features": {"least": "(- 1000 (* 200 (+ 1 (log 2))))", "rate": "1/200"},
}


@pytest.mark.parametrize("id_", CERTIFICATES)
def test_the_instance_has_the_sides_of_the_counterexample(id_: str) -> None:
    """At one value of the constants that the paper says to exist, of which it refutes all."""
    claim = claims()[id_]
    assert claim.counterexample is not None
    result = claim.printed(claim.counterexample())
    if id_ == "rem:sub-gaussian-features":  # the statement has the logarithms of both sides
        logs = math.log(result.observed), math.log(result.bound)
        result = dataclasses.replace(result, observed=logs[0], bound=logs[1])
    statement, instance = STATEMENTS[id_][1], dict(CERTIFICATES[id_][1]["instance"])
    values = {name: verify.read(text)[0] for name, text in CONSTANTS.get(id_, {}).items()}
    assert set(values) == {name for name, _ in statement["some"]}
    kinds = (*statement["data"], *statement["some"], *statement["given"])
    whole = [[name, (instance | values)[name]] for name, _ in kinds]
    names = verify.instantiate(statement, whole, NAMES, refute=False)
    assert agrees(printed(id_), (result, names))


def test_the_tables_of_the_prelude_are_the_published_ones() -> None:
    for n, size in enumerate(paper.TABLES):
        for symbol, columns in (("r", "r-of"), ("Q", "q-of")):
            for method, name in enumerate(METHODS):
                assert shown(NAMES[columns][method][n]) == column(size, name, symbol)
        assert shown(NAMES["r-true"]) == column(size, "Ground Truth", "r")
        assert shown(NAMES["q-true"]) == column(size, "Ground Truth", "Q")
        assert shown(NAMES["frequencies"][n]) == [list(row) for row in paper.frequencies(size)]
        for method, name in enumerate(METHODS):
            reported = [c.value for c in paper.reported(paper.Method(size, name))]
            assert shown(NAMES["table-2"][method][n]) == reported
    for name, column_of in (("bc", "BC"), ("erm-irl", "Gladius")):
        cells = [paper.cell("table_4", row, column_of, "% optimality") for row in GAMES]
        assert shown(NAMES[f"returns-{name}"]) == [c.value for c in cells]
        cells = [paper.cell("table_4", row, column_of, "% optimality sd") for row in GAMES]
        assert shown(NAMES[f"deviations-{name}"]) == [c.value for c in cells]


def shown(table: Any) -> Any:
    return [shown(row) for row in table] if isinstance(table, tuple) else table.constant


def column(trajectories: int, method: str, symbol: str) -> list[list[Fraction]]:
    return [[c.value for c in row] for row in paper.grid(trajectories, method, symbol)]


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


FALSE = verify.read(Path(__file__).with_name("false_certificates.lisp").read_text("ascii"))


def test_false_certificates_are_not_the_listed_ones() -> None:
    """Two of release 0.3.0, nineteen of 0.4.0 and five that are new, at most two of a claim."""
    assert len(FALSE) == 2 + 19 + 5
    for forms in (FALSE, FALSE[::-1]):  # the last of a claim counts
        forged = {id_: instance for _, id_, _, instance in forms}
        text = ""
        for head, id_, instance, harmless in verify.read(TEXTS["certificates"]):
            text += verify.spelled([head, id_, forged.get(id_, instance), harmless])
        problems = verify.certify(TEXTS | {"certificates": text})
        assert {id_ for id_, problem in problems.items() if problem} == set(forged)
        assert {problems[id_] for id_ in forged} == {
            "RejectedError('the certificate is not the one that is listed')"
        }


@pytest.mark.parametrize(
    "false", [form for form in FALSE if form[2] != '""'], ids=lambda form: f"{form[1]}: {form[2]}"
)
def test_a_false_certificate_proves_nothing_if_it_is_listed(false: list[Any]) -> None:
    _, id_, why, (_, *instance) = false
    contents = CERTIFICATES[id_][1] | {"instance": instance}
    with pytest.raises((verify.RejectedError, KeyError)) as caught:
        verify.verify(STATEMENTS[id_][1], contents, NAMES)
    assert why.strip('"') in str(caught.value)


def test_what_depends_on_the_constants_that_the_claim_says_exist() -> None:
    """Of data the verifier refuses it; these points, and pieces of a cell, come after them."""
    constants = {id_: {name for name, _ in s["some"]} for id_, (_, s) in STATEMENTS.items()}
    dependent = {
        (id_, name)
        for id_, (_, contents) in CERTIFICATES.items()
        for name, form in contents["instance"]
        if any(isinstance(item, str) and item in constants[id_] for item in parts(form))
    }
    bounded = {("setup.Q-star-bounded", name) for name in ("r", "Q")}
    pieces = {(id_, "piece") for id_ in ("setup.reachable-set", "thm:MagnacThesmar", "lem:minMLE")}
    points = {("prop:linConvergence.quadratic-growth", "theta"), ("rem:sub-gaussian-features", "d")}
    assert dependent == bounded | pieces | points


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
    listing = "".join(line + "\n" for line in TEXTS["claims"].splitlines() if line[0] == ";")
    for id_, (digest, _) in (STATEMENTS | DERIVATIONS).items():
        pinned = f'\n  "{CERTIFICATES[id_][0]}"' if id_ in CERTIFICATES else ""
        listing += f'(listed {id_} "{digest}"{pinned})\n'
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
    "rem:BC-superset.easier/instead": 1,
    "eq:expzeta/instead": 1,
    "lem:minMLE/instead": 1,
    "lem:erm_ddc_quant_identification.proof-step/instead": 1,
    "alg:estimation1.is-GDA/instead": 3,  # of a loss, whatever it is
    "prop:linConvergence.strong-concavity/instead": 3,
    "text.bc-consistently-better/instead": 3,  # as many episodes, or cells, more
    "remark.full-column-rank/instead": 4,
    "related.linear-exception/instead": 4,
    "asmp:nonSingularJac.networks/instead": 14,  # powers of 0, and another of equal slopes
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
    *("eq:zeta-reparametrisation", "text.bc-consistently-better"),  # what to write instead
}


# no instance of finitely many states, or of one N, refutes these: words do
BY_HAND = {
    *("setup.reachable-set", "thm:MagnacThesmar", "lem:minMLE", "rem:sub-gaussian-features"),
    *("prop:linConvergence.growing-class", "lem:erm_ddc_quant_identification"),
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
    kinds = certificates.kinds()
    by_hand = {id_ for id_, kind in kinds.items() if kind == certificates.BY_HAND}
    assert by_hand == {id_ for id_, (_, contents) in STATEMENTS.items() if contents["by-hand"]}
    assert by_hand == BY_HAND
    stepped = {id_ for id_, kind in kinds.items() if kind.endswith("step")}
    assert stepped == {id_ for id_, (_, contents) in STATEMENTS.items() if contents["step"]}
