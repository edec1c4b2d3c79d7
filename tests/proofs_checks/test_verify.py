"""The verifier of certificates: what it proves is so, and what it cannot prove it rejects."""

import ast
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs_checks import verify
from proofs_checks.verify import RejectedError, number, read, sign, variable

TYPES = """(def (real x) (= x x)) (def (nonnegative x) (>= x 0)) (def (positive x) (> x 0))
  (def (discount x) (and (> x 0) (< x 1)))"""
NAMES = verify.definitions(TYPES)


def value(text: str, **names: Any) -> Any:
    return verify.evaluate(read(text)[0], NAMES | names)


def truth(text: str, **names: Any) -> bool | None:
    return verify.truth(value(text, **names))


def test_it_imports_the_standard_library_and_flint_alone() -> None:
    tree = ast.parse(Path(verify.__file__).read_text("utf-8"))
    plain = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    drawn = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert {name.split(".")[0] for name in plain + drawn} - sys.stdlib_module_names == {"flint"}


# --- reading
@pytest.mark.parametrize("text", ["(a", "a)", "(a))", "((a)"])
def test_parentheses_must_match(text: str) -> None:
    with pytest.raises((IndexError, ValueError)):
        read(text)


def test_a_decimal_is_the_fraction_it_says_and_a_comment_ends_with_its_line() -> None:
    assert read('(0.1 -2/4 ; no\n "a;b" x-1)') == [
        [Fraction(1, 10), Fraction(-1, 2), '"a;b"', "x-1"]
    ]


# --- numbers
FRACTIONS = st.fractions(-5, 5, max_denominator=6)


@given(st.lists(FRACTIONS, min_size=2, max_size=4), FRACTIONS)
def test_a_polynomial_is_zero_where_its_value_is(coefficients: list[Fraction], x: Fraction) -> None:
    """At a rational point, by Horner's rule in fractions."""
    horner = Fraction(0)
    for c in reversed(coefficients):
        horner = horner * x + c

    def p(point: Any) -> verify.Number:
        powers = (point[0] ** i * number(c) for i, c in enumerate(coefficients))
        return verify.total(powers)

    there = p([number(x)])
    assert there.constant == horner
    assert sign(there) == (horner > 0) - (horner < 0)
    (slope,) = verify.gradient(p, (number(x),))
    assert slope.constant == sum(i * c * x ** (i - 1) for i, c in enumerate(coefficients) if i)
    ((bend,),) = verify.gradient(lambda u: verify.gradient(p, u), (number(x),))
    assert bend.constant == sum(
        i * (i - 1) * c * x ** (i - 2) for i, c in enumerate(coefficients) if i > 1
    )


@given(st.lists(FRACTIONS, min_size=1, max_size=4), FRACTIONS)
def test_log_sum_exp_and_its_derivatives_are_mpmaths(row: list[Fraction], shift: Fraction) -> None:
    q = tuple(map(number, row))
    soft = "(log (sum a (len q) (exp (q a))))"
    whole = tuple(number(int(x)) for x in row)  # exp(1/2) and exp(1) are atoms apart: undecided
    moved = f"(= (+ c {soft}) (log (sum a (len q) (exp (+ c (q a))))))"
    assert truth(moved, q=whole, c=number(int(shift)))
    assert truth(moved, q=q, c=number(shift)) is not False
    first = value(f"(grad (fn (q) {soft}) q)", q=q)
    second = value(f"(hess (fn (q) {soft}) q)", q=q)
    assert sign(sum(first, number(-1))) == 0
    with mpmath.workdps(40):
        weights = [mpmath.exp(mpmath.mpf(x.numerator) / x.denominator) for x in row]
        p = [w / mpmath.fsum(weights) for w in weights]
        expected = [(first[i], p[i]) for i in range(len(p))]
        expected += [(second[0][i], p[0] * ((i == 0) - p[i])) for i in range(len(p))]
        for ours, theirs in expected:
            verify.ctx.prec = 256
            assert abs(mpmath.mpf(float(verify.enclose(ours).mid())) - theirs) < 1e-15


def test_a_step_counts_once() -> None:
    """d/dx exp(1 / (1 + x)) and log(1 + exp(x)) at 0, against the values of their formulas."""
    slope = value("((grad (fn (u) (exp (/ 1 (+ 1 (u 0))))) (list 0)) 0)")
    assert sign(slope + verify.exp(number(1))) == 0
    bend = value("((hess (fn (u) (log (+ 1 (exp (u 0))))) (list 0)) 0 0)")
    assert sign(bend - number(Fraction(1, 4))) == 0
    mixed = value("((hess (fn (u) (exp (* (u 0) (u 0) (u 1)))) (list 1 2)) 0 1)")
    assert sign(mixed - number(6) * verify.exp(number(2))) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(= (log 8) (* 3 (log 2)))", True),
        ("(= (exp (- (log 3))) 1/3)", True),
        ("(= (exp (/ (log 2) 2)) 1.41421356)", False),
        ("(= (+ (/ 1 (+ 1 (exp 1))) (/ (exp 1) (+ 1 (exp 1)))) 1)", True),
        ("(= (exp (* 2 (log (+ 1 (exp 1))))) (+ 1 (* 2 (exp 1)) (exp 2)))", True),
        ("(< (log 2) 0.6932)", True),
        ("(< 0.6932 (log 2))", False),
        ("(<= 1 1)", True),
        ("(< 1 1)", False),
        ("(>= (exp -1000) 0)", True),
    ],
)
def test_constants_are_compared(text: str, expected: bool) -> None:
    assert truth(text) is expected


# --- what is not known
def test_a_difference_below_all_precisions_is_not_decided() -> None:
    """e^x and its value to 400 digits: equal to all the bits that are tried."""
    with mpmath.workdps(420):
        digits = mpmath.nstr(mpmath.e, 400)
    for relation in ("=", "<", "<=", ">"):
        assert truth(f"({relation} (exp 1) {digits})") is None
    with pytest.raises(RejectedError):
        verify.require(read(f"(<= (exp 1) {digits})")[0], NAMES, "a test")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_a_number_proves_nothing(bad: float) -> None:
    x = number(bad)
    for relation in ("=", "<", "<=", ">", ">="):
        assert truth(f"({relation} (- x x) 0)", x=x) is not True
    with pytest.raises((ValueError, OverflowError)):
        verify.log(x * number(0.0) + x - x)


@pytest.mark.parametrize(
    "text",
    [
        "(log 0)",
        "(log -1)",
        "(log (- (exp 1) 3))",
        "(log x)",
        "(log c)",
        "(/ 1 0)",
        "(/ 1 x)",
        "(/ 1 (- c 1))",
        "(abs x)",
        "(larger x c)",
        "(if (< c 1) 0 1)",
        "(rank (list (list x)))",
        "((list 1 2) 2)",
        "((list 1 2) -1)",
        "((list 1 2) 1/2)",
        "(^ 2 1/2)",
        "(implies (< c 1) (= 0 0))",
    ],
)
def test_where_nothing_is_proved_there_is_no_value(text: str) -> None:
    """x is any real number, c any positive one; only log c has a value."""
    x, c = variable(), variable("positive")
    if text == "(log c)":
        assert value(text, x=x, c=c).free == c.free
        return
    with pytest.raises((RejectedError, IndexError)):
        value(text, x=x, c=c)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(> c 0)", True),
        ("(> (+ 1 (^ x 2)) 0)", True),
        ("(>= (^ x 2) 0)", True),
        ("(> (^ x 2) 0)", None),
        ("(< (^ x 2) 0)", False),
        ("(<= (- c) 0)", True),
        ("(< (/ c (+ 1 c)) 1)", True),
        ("(< c 1)", None),
        ("(= c 1)", None),
        ("(= (- c c) 0)", True),
        ("(<= (* c (- (log 2) 1)) 0)", True),
        ("(> (exp (- x)) 0)", True),
        ("(> x 0)", None),
        ("(and (< c 1) (> c 0))", None),
        ("(and (< c 1) (< c 0))", False),
        ("(implies (< c 0) (= 0 1))", True),
    ],
)
def test_a_relation_of_variables_is_proved_for_all_their_values(
    text: str, expected: bool | None
) -> None:
    assert truth(text, x=variable(), c=variable("positive")) is expected


# --- names
def test_a_bound_name_does_not_capture_a_variable_of_the_same_name() -> None:
    """d/dx of x y at y = x is y, not 2 x, though both are called x outside."""
    x = variable()
    slope = value("((grad (fn (u) (let (y x) (* (u 0) y))) (list x)) 0)", x=x)
    assert sign(slope - x) == 0
    inner = value("(grad (fn (x) (let (c (x 0)) (* c c outer))) (list 3))", outer=x, x=x)
    assert sign(inner[0] - x * number(6)) == 0
    assert sign(variable() - variable()) is None
    assert value("(sum i 3 (sum i 2 i))").constant == 3


def test_definitions_keep_the_names_they_were_made_with() -> None:
    names = verify.definitions("(def a 1) (def (f x) (+ x a))")
    assert verify.evaluate(read("(let (a 5) (f a))")[0], names).constant == 6


# --- a certificate
TOY = """(claim toy (some (c positive)) (given (x real) (p (law n)) (beta discount))
  (assume (>= x 1)) (printed (<= (* c x) 1)) (corrected (>= (* c x) 0)))"""
GOOD = {"instance": "((x (+ 1 (/ 2 c))) (p (list 1/2 1/2)) (beta 1/2))"}
GOOD |= {"harmless": "((c 1) (x 1) (p (list 1)) (beta 1/2))", "margin": "(0)"}
GOOD |= {"sides": "(free 1)"}


def verified(toy: str = TOY, **changes: str) -> None:
    known = verify.claims(toy, TYPES)["toy"]
    certificate = {name: read(text)[0] for name, text in (GOOD | changes).items()}
    certificate.setdefault("statement", [f'"{known.digest}"'])
    verify.verify(known, certificate, NAMES)


def test_the_toy_is_accepted() -> None:
    verified()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"statement": '("0")'}, "another statement"),
        ({"margin": "(2)"}, "by the margin"),
        ({"margin": "(-1)"}, "negative"),
        ({"sides": "(free 1.1)"}, "sides"),
        ({"sides": "(1 1)"}, "sides"),
        ({"instance": "((x 1) (p (list 1)) (beta 1/2))"}, "by the margin"),
        ({"instance": "((x (/ 2 c)) (p (list 1)) (beta 1/2))"}, "not proved: \\(>= x 1\\)"),
        ({"instance": "((x (+ 1 (/ 2 c))) (p (list 1/2)) (beta 1/2))"}, "add up to one"),
        ({"instance": "((x (+ 1 (/ 2 c))) (p (list 2 -1)) (beta 1/2))"}, "nonnegative"),
        ({"instance": "((x (+ 1 (/ 2 c))) (p (list 1)) (beta 1))"}, "discount"),
        ({"instance": "((x (+ 1 (/ 2 c))) (p (list 1)))"}, "does not give"),
        ({"instance": "((c 5) (x 1) (p (list 1)) (beta 1/2))"}, "does not give"),
        ({"harmless": "((c 2) (x 1) (p (list 1)) (beta 1/2))"}, "harmless"),
        ({"harmless": "((c 0) (x 1) (p (list 1)) (beta 1/2))"}, "positive"),
    ],
)
def test_a_certificate_that_proves_less_is_rejected(changes: dict[str, str], why: str) -> None:
    with pytest.raises(RejectedError, match=why):
        verified(**changes)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("(<= (* c x) 1)", "(<= 1 0)", "harmless"),  # a straw man
        ("(<= (* c x) 1)", "(>= (* c x) 0)", "margin"),  # the corrected statement
        ("(>= (* c x) 0)", "(<= (* c x) 1)", "corrected"),
        ("(c positive)", "(c real)", "positive"),
        ("(x real)", "(log real)", "meaning already"),
    ],
)
def test_a_forged_statement_is_rejected_even_with_its_own_digest(
    old: str, new: str, why: str
) -> None:
    changes = {"sides": "(1 0)"} if new == "(<= 1 0)" else {}
    with pytest.raises(RejectedError, match=why):
        verified(TOY.replace(old, new), **changes)
