"""Verify the certificates of refuted claims, in exact and interval arithmetic.

`python proofs_checks/verify.py` needs the standard library and python-flint, nothing of this
project. `certificates/` has definitions (prelude.lisp), statements and certificates. A statement
says what is given, of which type, what is assumed, what the paper prints and what to write
instead. A certificate gives one instance, pinned to the digest of its statement. It is accepted if
there all types and assumptions are proved, `printed` is disproved by the margin, `corrected` is
proved, and the sides are the stated ones; and if on a second, harmless instance types, assumptions
and `printed` are proved. Whatever is not decided is rejected.

A number is a polynomial with rational coefficients in atoms: exp and log of numbers, powers of
numbers, and variables. Equal is what is the same polynomial once denominators are cleared. Order is
decided by enclosing balls or, for all values of variables, by the signs of coefficients.
"""

import hashlib
import math
import re
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq, fmpz

FOLDER = Path(__file__).with_name("certificates")
PRECISIONS = (64, 256, 1024)  # bits, tried one after the other
DIGITS = Fraction(1, 10**9)  # how well the stated sides agree, relative


class RejectedError(ValueError):
    """What a certificate needs is not proved."""


def read(text: str) -> list[Any]:
    """The forms of a file: lists, names (str), strings (with their quotes) and Fractions."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r'"[^"]*"|;.*|[()]|[^\s();"]+', text):
        if token == "(":
            stack.append([])
        elif token == ")":
            *stack, form = stack
            stack[-1].append(form)
        elif token[0] != ";":
            known = re.fullmatch(r"-?\d+(/[1-9]\d*|\.\d+)?", token)
            stack[-1].append(Fraction(token) if known else token)
    (forms,) = stack  # else a parenthesis is missing
    return forms


# --- numbers
class Atom(NamedTuple):
    """exp or log of a number, a number itself as the `base` of powers, or a variable.

    A variable takes every `real` or every `positive` value, or it is a `step`, of which only the
    first power counts, and whose coefficients are derivatives.
    """

    kind: str
    of: "Number"
    free: frozenset[int]  # the variables in it


ATOMS: list[Atom] = []
_KNOWN: dict[Any, int] = {}
Monomial = tuple[tuple[int, int], ...]  # (atom, exponent), by atom


class Number:
    """A sum of coefficient times monomial. Coefficients that are floats do not come from `read`."""

    def __init__(self, terms: dict[Monomial, Any]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c != 0}
        atoms = {a for monomial in self.terms for a, _ in monomial}
        self.free = frozenset().union(*(ATOMS[a].free for a in atoms))
        self.constant = None if atoms else self.terms.get((), Fraction(0))

    def __add__(self, other: "Number") -> "Number":
        terms = dict(self.terms)
        for monomial, c in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + c
        return Number(terms)

    def __mul__(self, other: "Number") -> "Number":
        terms: dict[Monomial, Any] = {}
        for first, c in self.terms.items():
            for second, d in other.terms.items():
                powers = dict(first)
                for a, e in second:
                    powers[a] = powers.get(a, 0) + e
                monomial = tuple(sorted((a, e) for a, e in powers.items() if e))
                terms[monomial] = terms.get(monomial, 0) + c * d
        return Number(terms)

    def __sub__(self, other: "Number") -> "Number":
        return self + other * number(-1)

    def __pow__(self, exponent: int) -> "Number":
        base = inverse(self) if exponent < 0 else self
        return reduce(Number.__mul__, [base] * abs(exponent), number(1))

    def coefficient(self, a: int, e: int) -> "Number":
        """What the atom's e-th power is multiplied by."""
        kept = {m: c for m, c in self.terms.items() if dict(m).get(a, 0) == e}
        return Number({tuple(pair for pair in m if pair[0] != a): c for m, c in kept.items()})


def number(value: Any) -> Number:
    return Number({(): Fraction(value) if isinstance(value, int) else value})


def total(numbers: Iterable[Number]) -> Number:
    return sum(numbers, number(0))


def power(a: int, e: int, times: Any = Fraction(1)) -> Number:
    return Number({((a, e),) if e else (): times})


def variable(kind: str = "real") -> Number:
    """A new variable, different from all others whatever its name: none can be captured."""
    ATOMS.append(Atom(kind, number(0), frozenset({len(ATOMS)})))
    return power(len(ATOMS) - 1, 1)


def atom(kind: str, of: Number) -> int:
    """The same atom for the same number."""
    key = kind, frozenset(of.terms.items())
    if key not in _KNOWN:
        _KNOWN[key] = len(ATOMS)
        ATOMS.append(Atom(kind, of, of.free))
    return _KNOWN[key]


def split(p: Number) -> tuple[Number, Number | None]:
    """p without some step, and the terms with its first power; or p where there is none."""
    h = next((a for a in p.free if ATOMS[a].kind == "step"), None)
    return (p, None) if h is None else (p.coefficient(h, 0), p.coefficient(h, 1) * power(h, 1))


def inverse(p: Number) -> Number:
    base, change = split(p)
    if change:
        return inverse(base) * (number(1) - inverse(base) * change)
    if sign(p) not in (1, -1):
        raise RejectedError("division by a number that is not proved to differ from zero")
    (factors, c), *others = sorted(p.terms.items())
    lead = number(1 / c)
    if others:
        return power(atom("base", p * lead), -1) * lead
    for a, e in factors:
        invertible = ATOMS[a].kind in ("exp", "base")
        lead *= power(a if invertible else atom("base", power(a, 1)), -e)
    return lead


def log(p: Number) -> Number:
    """log of a coefficient, of the exps and powers that all terms have, and of the rest."""
    base, change = split(p)
    if change:
        return log(base) + inverse(base) * change
    if sign(p) != 1:
        raise RejectedError("log of a number that is not proved to be positive")
    if isinstance(p.constant, float):
        return number(math.log(p.constant))
    if p.constant is not None:
        above, below = fmpz(p.constant.numerator), fmpz(p.constant.denominator)
        primes = [*above.factor(), *((prime, -e) for prime, e in below.factor())]
        return total(power(atom("log", number(int(x))), 1, Fraction(int(e))) for x, e in primes)
    result, powers = number(0), [dict(monomial) for monomial in p.terms]
    for a in set().union(*powers):
        e, (kind, of, _) = min(m.get(a, 0) for m in powers), ATOMS[a]
        if kind in ("exp", "base") and e:
            p *= power(a, -e)
            result += (of if kind == "exp" else log(of)) * number(e)
    lead = number(abs(p.terms[min(p.terms)]))
    p *= inverse(lead)
    return result + log(lead) + (number(0) if p.constant else power(atom("log", p), 1))


def exp(p: Number) -> Number:
    """A product over terms: exp(n x / d) is exp(x / d)^n, and exp(n log x) is x^n."""
    base, change = split(p)
    if change:
        return exp(base) * (number(1) + change)
    result = number(1)
    for monomial, c in p.terms.items():
        unit, n = (c, 1) if isinstance(c, float) else (Fraction(1, c.denominator), c.numerator)
        inner = ATOMS[monomial[0][0]] if [e for _, e in monomial] == [1] else None
        if isinstance(c, float) and not monomial:
            result *= number(math.exp(c))
        elif inner and inner.kind == "log" and unit == 1:
            result *= inner.of**n if inner.of.constant else power(atom("base", inner.of), n)
        else:
            result *= power(atom("exp", Number({monomial: unit})), n)
    return result


# --- signs
def enclose(p: Number) -> arb:
    """A ball that contains a number without variables."""
    functions = {"exp": arb.exp, "log": arb.log, "base": arb}
    result = arb(0)
    for monomial, c in p.terms.items():
        term = arb(c) if isinstance(c, float) else arb(fmpq(c.numerator, c.denominator))
        for a, e in monomial:
            term *= functions[ATOMS[a].kind](enclose(ATOMS[a].of)) ** e
        result += term
    return result


def cleared(p: Number) -> tuple[Number, int]:
    """The number times its denominators, powers written out; and the sign of the denominators."""
    flip = 1
    while bases := {a for m in p.terms for a, _ in m if ATOMS[a].kind == "base"}:
        last = max(bases)
        exponents = {dict(m).get(last, 0) for m in p.terms}
        below, base = min(0, *exponents), ATOMS[last].of
        flip *= (sign(base) or 0) ** -below
        p = total(p.coefficient(last, e) * base ** (e - below) for e in exponents)
    return p, flip


def signs(p: Number) -> set[int]:
    """Those that the number may have for some value of its variables: all that is not excluded."""
    for bits in () if p.free else PRECISIONS:
        ctx.prec = bits
        ball = enclose(p)
        if ball > 0 or ball < 0:
            return {1 if ball > 0 else -1}
    varies, (p, flip) = bool(p.free), cleared(p)
    if not (p.terms and varies and flip):
        return {-1, 0, 1} if p.terms else {0}
    groups: dict[Monomial, Number] = {}  # coefficients without variables
    for monomial, c in p.terms.items():
        moving = tuple(pair for pair in monomial if ATOMS[pair[0]].free)
        fixed = tuple(pair for pair in monomial if not ATOMS[pair[0]].free)
        groups[moving] = groups.get(moving, number(0)) + Number({fixed: c})
    parts = []
    for monomial, coefficient in groups.items():
        odd = [e % 2 for a, e in monomial if ATOMS[a].kind not in ("exp", "positive")]
        of_monomial = {-1, 0, 1} if any(odd) else {0, 1} if odd else {1}
        parts.append({x * y for x in signs(coefficient) for y in of_monomial})
    for s in (1, -1):
        if all(part <= {0, s} for part in parts):
            return {s * flip} if {s} in parts else {0, s * flip}
    return {-1, 0, 1}


def sign(p: Number) -> int | None:
    """1, -1 or 0 if proved for every value of its variables, else None."""
    possible = signs(p)
    return possible.pop() if len(possible) == 1 else None


# --- the language
Environment = dict[str, Any]
Relation = tuple[str, Number, Number]  # and its sides
Statement = list[Relation]  # their conjunction
RELATIONS = {"=": {0}, "<=": {-1, 0}, ">=": {0, 1}, "<": {-1}, ">": {1}}  # signs of left - right


def whole(value: Any) -> int:
    if value.constant is None or value.constant % 1 or value.constant < 0:
        raise RejectedError("a whole number of at least zero is needed")
    return int(value.constant)


def larger(x: Number, y: Number) -> Number:
    possible = signs(x - y)
    if possible >= {-1, 1}:
        raise RejectedError("it is not proved which of two numbers is larger")
    return y if -1 in possible else x


def rank(rows: Any) -> int:
    """By elimination with a row whose first entry is proved to differ from zero."""
    if not (rows and rows[0]):
        return 0
    top, *others = sorted(rows, key=lambda row: sign(row[0]) == 0)
    if sign(top[0]) is None:
        raise RejectedError("a pivot is not proved to be zero or not")
    if sign(top[0]) == 0:  # as all are
        return rank([row[1:] for row in rows])
    left = ([x * top[0] - y * row[0] for x, y in zip(row, top, strict=True)] for row in others)
    return 1 + rank([row[1:] for row in left])


def gradient(function: Callable[..., Any], point: Any) -> Any:
    """The derivatives by each entry of a vector, of a function that is a number or a vector.

    The function must be smooth at the point: a condition in it is decided up to second powers of
    the steps, and may depend on the point alone where it is an equality.
    """

    def rate(value: Any, h: Number) -> Any:
        if isinstance(value, tuple):
            return tuple(rate(part, h) for part in value)
        return value.coefficient(min(h.free), 1)

    rates = []
    for i, x in enumerate(point):
        h = variable("step")
        rates.append(rate(function((*point[:i], x + h, *point[i + 1 :])), h))
    return tuple(rates)


def truth(statement: Statement) -> bool | None:
    """True or False if proved to be so for every value of the variables, else None."""
    known = []
    for head, left, right in statement:
        possible, allowed = signs(left - right), RELATIONS[head]
        known.append(possible <= allowed or (None if possible & allowed else False))
    return False if False in known else None if None in known else True


FUNCTIONS: Environment = {
    "+": lambda *xs: total(xs),
    "*": lambda *xs: reduce(Number.__mul__, xs),
    "-": lambda x, *ys: reduce(Number.__sub__, ys, x) if ys else x * number(-1),
    "/": lambda x, y: x * inverse(y),
    "^": lambda x, n: x ** whole(n),
    "exp": exp,
    "log": log,
    "abs": lambda x: larger(x, x * number(-1)),
    "larger": larger,
    "list": lambda *xs: xs,
    "len": lambda xs: number(len(xs)),
    "rank": lambda rows: number(rank(rows)),
    "grad": gradient,
    "hess": lambda f, x: gradient(lambda y: gradient(f, y), x),
    "and": lambda *parts: [*chain(*parts)],
}
FUNCTIONS |= {head: partial(lambda *relation: [relation], head) for head in RELATIONS}
COLLECT: dict[Any, Callable[..., Any]] = {  # of the body's values for i = 0, ..., n - 1
    "vec": tuple,
    "sum": total,
    "largest": lambda xs: reduce(larger, xs),
    "all": lambda parts: [*chain(*parts)],
}


def evaluate(form: Any, names: Environment) -> Any:
    """A Number, a tuple, a function or a Statement."""
    if isinstance(form, Fraction):
        return number(form)
    if isinstance(form, str):
        return names[form]
    head, *rest = form
    if head == "let":
        (name, value), body = rest
        return evaluate(body, {**names, name: evaluate(value, names)})
    if head == "fn":
        return lambda *xs: evaluate(rest[1], {**names, **dict(zip(rest[0], xs, strict=True))})
    if head in ("if", "implies"):
        known = truth(evaluate(rest[0], names))
        if known is None:
            raise RejectedError(f"the condition of an `{head}` is not decided")
        return evaluate(rest[1] if known else [*rest, ["and"]][2], names)
    if isinstance(head, str) and head in COLLECT:
        name, size, body = rest
        times = range(whole(evaluate(size, names)))
        return COLLECT[head](evaluate(body, {**names, name: number(i)}) for i in times)
    function, *values = (evaluate(part, names) for part in form)
    if not isinstance(function, tuple):
        return function(*values)
    return reduce(lambda entries, i: entries[whole(i)], values, function)


# --- types
SHAPES = {  # of a table of Q or r, of a kernel P(s' | s, a), of choice probabilities
    "table": "(list S (list A real))",
    "kernel": "(list S (list A (law S)))",
    "policy": "(list S (law A))",
}


def require(form: Any, names: Environment, what: str) -> None:
    if truth(evaluate(form, names)) is not True:
        raise RejectedError(f"not proved: {what}")


def check_type(value: Any, kind: Any, names: Environment) -> None:
    """A number's type is a function of the definitions. A size without a value gets one."""
    head, *rest = [kind] if isinstance(kind, str) else kind
    if head in ("list", "law"):
        if not value or whole(names.setdefault(rest[0], number(len(value)))) != len(value):
            raise RejectedError(f"a list of another size than {rest[0]}")
        for part in value:
            check_type(part, rest[1] if head == "list" else "nonnegative", names)
        if head == "law" and sign(total(value) - number(1)) != 0:
            raise RejectedError("not proved: probabilities add up to one")
    elif head in ("index", "count"):
        if whole(value) >= (whole(evaluate(rest[0], names)) if rest else math.inf):
            raise RejectedError("a whole number out of range")
    elif head in SHAPES:
        check_type(value, read(SHAPES[head])[0], names)
    elif truth(names[head](value)) is not True:
        raise RejectedError(f"not proved: type {head}")


# --- statements and certificates
class Claim(NamedTuple):
    """What a paper says and what to write instead, as forms."""

    digest: str  # SHA-256 of the claim and the definitions
    given: list[Any]  # names and their types
    printed: list[Any]
    corrected: list[Any]
    some: Any = ()  # constants of which the paper says that they exist, as `given`
    assume: Any = ()
    step: Any = ()  # from the paper's sentence to `printed`, in words, where one is needed


def shown(form: Any) -> str:
    """A form in a canonical spelling."""
    return "(" + " ".join(map(shown, form)) + ")" if isinstance(form, list) else str(form)


def definitions(text: str) -> Environment:
    """The functions of (def (f x) body) and values of (def x body), each by those before it."""
    names = dict(FUNCTIONS)
    for _, head, body in read(text):
        name, *arguments = head if isinstance(head, list) else [head]
        form = ["fn", arguments, body] if isinstance(head, list) else body
        names[name] = evaluate(form, dict(names))
    return names


def claims(text: str, prelude: str) -> dict[str, Claim]:
    """Claim by id."""
    taken, result = definitions(prelude), {}
    for form in read(text):
        _, id_, *parts = form
        digest = hashlib.sha256((shown(read(prelude)) + shown(form)).encode()).hexdigest()
        result[id_] = Claim(digest, **{part[0]: part[1:] for part in parts})
        for name, _ in (*result[id_].some, *result[id_].given):
            if name in taken:
                raise RejectedError(f"{id_}: {name} has a meaning already")
    return result


def instantiate(
    claim: Claim, instance: Iterable[Any], names: Environment, refute: bool
) -> Environment:
    """The names with the values of an instance, whose types and assumptions are proved.

    A claim is refuted for every value of the constants that it says exist: these are variables, on
    which the instance may depend. On the harmless instance they have values.
    """
    names, forms = dict(names), dict(instance)
    for name, kind in claim.some if refute else ():
        names[name] = variable("positive")
        if kind != "positive":
            raise RejectedError("constants that exist must be positive")
    given = claim.given if refute else [*claim.some, *claim.given]
    if list(forms) != [name for name, _ in given]:
        raise RejectedError("the instance does not give what the claim names, in its order")
    for name, kind in given:
        names[name] = evaluate(forms[name], names)
        check_type(names[name], kind, names)
    for form in claim.assume:
        require(form, names, shown(form))
    return names


def excess(head: str, left: Number, right: Number) -> Number:
    """By how much a relation is missed."""
    gap = right - left if head[0] == ">" else left - right
    return gap * number(sign(gap) or 0) if head == "=" else gap


def refuted(statement: Statement, margin: Fraction) -> Relation:
    """The relation of a false statement that is missed by most, and by more than the margin."""
    missed = [part for part in statement if sign(excess(*part) - number(margin)) == 1]
    if not missed:
        raise RejectedError("the printed statement is not disproved by the margin")
    return reduce(lambda x, y: y if sign(excess(*y) - excess(*x)) == 1 else x, missed)


def verify(claim: Claim, certificate: dict[str, Any], names: Environment) -> None:
    """Return if the certificate proves what it says of the claim.

    Raises:
        RejectedError: it does not, or it is not decided.
    """
    if certificate["statement"] != [f'"{claim.digest}"']:
        raise RejectedError(f"it is pinned to another statement than {claim.digest}")
    (margin,) = certificate["margin"]
    if margin < 0:
        raise RejectedError("the margin is negative")
    here = instantiate(claim, certificate["instance"], names, refute=True)
    _, *values = refuted(evaluate(["and", *claim.printed], here), margin)
    for value, stated in zip(values, certificate["sides"], strict=True):
        if value.free and stated == "free":  # it has no one value
            continue
        gap, error = value - number(stated), number(max(abs(stated), 1) * DIGITS)
        if truth([("<=", gap, error), (">=", gap, error * number(-1))]) is not True:
            raise RejectedError("the stated sides are not those of the printed statement")
    require(["and", *claim.corrected], here, "the corrected statement")
    harmless = instantiate(claim, certificate["harmless"], names, refute=False)
    require(["and", *claim.printed], harmless, "the printed statement on the harmless instance")


def main() -> int:
    """Verify every certificate; 1 where one is rejected."""
    texts = {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.lisp")}
    names, known = definitions(texts["prelude"]), claims(texts["statements"], texts["prelude"])
    failures = 0
    for _, id_, *parts in read(texts["certificates"]):
        try:
            verify(known[id_], {part[0]: part[1:] for part in parts}, names)
            print(f"{id_}: certified" + (", with a written step" if known[id_].step else ""))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
            failures += 1
            print(f"{id_}: rejected, {e!r}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
