"""Verify the certificates of refuted claims, in exact and interval arithmetic.

`python proofs_checks/verify.py` needs the standard library and python-flint, nothing of this
project. `certificates/` has definitions (prelude.lisp), statements and certificates. A statement
says what is given, of which type, what is assumed, what the paper prints and what to write
instead. A certificate gives one instance, pinned to the digest of its statement. It is accepted if
there all types and assumptions are proved, `printed` is disproved by the margin, `corrected` is
proved, and the sides are the stated ones; and if on a second, harmless instance types, assumptions
and `printed` are proved. Whatever is not decided is rejected.

A number is a polynomial with rational coefficients in atoms: exp, log and 1/x of numbers, and
variables. Equal is what is the same polynomial. Order is decided by enclosing balls or, for all
values of variables, by the signs of coefficients.
"""

import hashlib
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq, fmpz

FOLDER = Path(__file__).with_name("certificates")
PRECISIONS = (64, 256, 1024)  # bits, tried one after the other
DIGITS = Fraction(1, 10**9)  # how well the stated sides agree, relative


class RejectedError(Exception):
    """What a certificate needs is not proved."""


def read(text: str) -> list[Any]:
    """The forms of a file: lists, names (str), strings (with their quotes) and Fractions."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r'"[^"]*"|;.*|[()]|[^\s();"]+', text):
        if token == "(":
            stack.append([])
        elif token == ")" and len(stack) > 1:
            form = stack.pop()
            stack[-1].append(form)
        elif token == ")":
            raise RejectedError("a parenthesis too many")
        elif token[0] != ";":
            known = re.fullmatch(r"-?\d+(/[1-9]\d*|\.\d+)?", token)
            stack[-1].append(Fraction(token) if known else token)
    if len(stack) > 1:
        raise RejectedError("a parenthesis is missing")
    return stack[0]


# --- numbers
class Atom(NamedTuple):
    """exp, log or `inverse` (1/x) of a number; or a variable, of every real or positive value."""

    kind: str
    of: "Number"
    positive: bool
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


def number(value: Any) -> Number:
    return Number({(): Fraction(value) if isinstance(value, int) else value})


def power(a: int, e: int, times: Any = Fraction(1)) -> Number:
    return Number({((a, e),) if e else (): times})


def variable(positive: bool = False) -> Number:
    """A new variable, different from all others whatever its name: none can be captured."""
    ATOMS.append(Atom("variable", number(0), positive, frozenset({len(ATOMS)})))
    return power(len(ATOMS) - 1, 1)


def atom(kind: str, of: Number) -> int:
    """The same atom for the same number."""
    key = kind, frozenset(of.terms.items())
    if key not in _KNOWN:
        _KNOWN[key] = len(ATOMS)
        ATOMS.append(Atom(kind, of, kind == "exp", of.free))
    return _KNOWN[key]


def inverse(p: Number) -> Number:
    if sign(p) not in (1, -1):
        raise RejectedError("division by a number that is not proved to differ from zero")
    lead = number(1 / p.terms[min(p.terms)])
    if len(p.terms) > 1:
        return power(atom("inverse", p * lead), 1) * lead
    for a, e in min(p.terms):
        kind, of, *_ = ATOMS[a]
        if kind == "log":
            lead *= power(atom("inverse", power(a, 1)), e)
        else:
            lead *= of**e if kind == "inverse" else power(a, -e)
    return lead


def log(p: Number) -> Number:
    """log of a coefficient, of the exp and 1/x that all terms have, and of the rest."""
    if sign(p) != 1:
        raise RejectedError("log of a number that is not proved to be positive")
    if isinstance(p.constant, float):
        return number(math.log(p.constant))
    result = number(0)
    if p.constant is not None:
        for whole_number, side in ((p.constant.numerator, 1), (p.constant.denominator, -1)):
            for prime, e in fmpz(whole_number).factor():
                result += power(atom("log", number(int(prime))), 1, Fraction(side * int(e)))
        return result
    powers = [dict(monomial) for monomial in p.terms]
    for a in set().union(*powers):
        e, (kind, of, *_) = min(m.get(a, 0) for m in powers), ATOMS[a]
        if kind in ("exp", "inverse") and e:
            p *= power(a, -e)
            result += (of if kind == "exp" else log(of) * number(-1)) * number(e)
    lead = number(abs(p.terms[min(p.terms)]))
    p *= inverse(lead)
    return result + log(lead) + (number(0) if p.constant else power(atom("log", p), 1))


def exp(p: Number) -> Number:
    """A product over terms: exp(n x / d) is exp(x / d)^n, and exp(n log p) is p^n for a prime p."""
    result = number(1)
    for monomial, c in p.terms.items():
        base, times = (c, 1) if isinstance(c, float) else (Fraction(1, c.denominator), c.numerator)
        a = atom("exp", Number({monomial: base}))
        x, d = hidden(a)
        if isinstance(c, float) and not monomial:
            result *= number(math.exp(c))
        else:
            result *= x**times if x and x.constant and d == 1 else power(a, times)
    return result


def hidden(a: int) -> tuple[Number | None, int]:
    """(x, d) where the atom is 1/x (d = -1) or x^(1/d) as exp(log(x) / d), else (None, 1)."""
    kind, of, *_ = ATOMS[a]
    if kind == "inverse":
        return of, -1
    if kind == "exp" and len(of.terms) == 1:
        ((monomial, c),) = of.terms.items()
        inner = ATOMS[monomial[0][0]] if [e for _, e in monomial] == [1] else None
        if inner and inner.kind == "log" and Fraction(c).numerator == 1:
            return inner.of, Fraction(c).denominator
    return None, 1


# --- derivatives
def derivative(p: Number, by: int) -> Number:
    """dp/dx for the variable x."""
    result = number(0)
    for monomial, c in p.terms.items():
        for i, (a, e) in enumerate(monomial):
            kind, of, *_ = ATOMS[a]
            if by in ATOMS[a].free:
                outer = Number({monomial[:i] + monomial[i + 1 :]: c * e}) * power(a, e - 1)
                if kind != "variable":
                    inner = {"exp": power(a, 1), "inverse": power(a, 2, Fraction(-1))}.get(kind)
                    outer *= (inner or inverse(of)) * derivative(of, by)
                result += outer
    return result


def substitute(p: Number, values: dict[int, Number]) -> Number:
    """The number with values in the place of variables."""
    result = number(0)
    for monomial, c in p.terms.items():
        term = number(c)
        for a, e in monomial:
            kind, of, *_ = ATOMS[a]
            if ATOMS[a].free.isdisjoint(values):
                term *= power(a, e)
            elif kind == "variable":
                term *= values[a] ** e
            else:
                term *= {"exp": exp, "log": log, "inverse": inverse}[kind](
                    substitute(of, values)
                ) ** e
        result += term
    return result


# --- signs
def enclose(p: Number) -> arb:
    """A ball that contains a number without variables."""
    total = arb(0)
    for monomial, c in p.terms.items():
        term = arb(c) if isinstance(c, float) else arb(fmpq(c.numerator, c.denominator))
        for a, e in monomial:
            ball = enclose(ATOMS[a].of)
            kind = ATOMS[a].kind
            ball = ball.exp() if kind == "exp" else ball.log() if kind == "log" else 1 / ball
            term *= ball**e
        total += term
    return total


def _parts(a: int, e: int) -> tuple[int, int]:
    """(k, l) with a^e = x^k a^l, x what the atom hides, or a variable itself where e < 0."""
    x, d = hidden(a)
    if x is None:
        return (min(e, 0), max(e, 0)) if ATOMS[a].kind == "variable" else (0, e)
    return (-e, 0) if d == -1 else divmod(e, d)


def cleared(p: Number) -> tuple[Number, int]:
    """The number times denominators, none of them zero; and the sign of these, 0 if not known."""
    flip = 1
    while True:
        powers = {(a, e) for monomial in p.terms for a, e in monomial}
        last = max((a for a, e in powers if _parts(a, e)[0]), default=None)
        if last is None:
            return p, flip
        below = max(0, *(-_parts(a, e)[0] for a, e in powers if a == last))
        factor, total = hidden(last)[0] or power(last, 1), number(0)
        flip *= (sign(factor) or 0) ** below
        for monomial, c in p.terms.items():
            k, left = _parts(last, dict(monomial).get(last, 0))
            rest = Number({tuple(pair for pair in monomial if pair[0] != last): c})
            total += rest * power(last, left) * factor ** (below + k)
        p = total


def _sign(p: Number) -> tuple[int, bool]:
    """(s, True) if the sign is s everywhere; (1 or -1, False) if it is s or 0; (0, False) else."""
    for bits in () if p.free else PRECISIONS:
        ctx.prec = bits
        ball = enclose(p)
        if ball > 0 or ball < 0:
            return (1 if ball > 0 else -1), True
    moving_at_first = bool(p.free)
    p, flip = cleared(p)
    if not p.terms or not moving_at_first:
        return 0, not p.terms
    if not p.free:
        known = sign(p)
        return (known or 0) * flip, known is not None and flip != 0
    groups: dict[Monomial, Number] = {}  # coefficients without variables
    for monomial, c in p.terms.items():
        moving = tuple(pair for pair in monomial if ATOMS[pair[0]].free)
        fixed = tuple(pair for pair in monomial if not ATOMS[pair[0]].free)
        groups[moving] = groups.get(moving, number(0)) + Number({fixed: c})
    signs, strict = set(), False
    for monomial, coefficient in groups.items():
        known = sign(coefficient)
        if known is None or any(e % 2 and not ATOMS[a].positive for a, e in monomial):
            return 0, False
        signs |= {known} - {0}
        strict |= known != 0 and all(ATOMS[a].positive for a, _ in monomial)
    return (signs.pop() * flip, strict and flip != 0) if len(signs) == 1 else (0, False)


def sign(p: Number) -> int | None:
    """1, -1 or 0 if proved for every value of its variables, else None."""
    known, strict = _sign(p)
    return known if strict else None


def is_negative_nowhere(p: Number) -> bool:
    return _sign(p) in ((1, True), (1, False), (0, True))


# --- the language
Environment = dict[str, Any]


def whole(value: Any) -> int:
    if not isinstance(value, Number) or value.constant is None or value.constant % 1:
        raise RejectedError("a whole number is needed")
    return int(value.constant)


def larger(x: Number, y: Number) -> Number:
    if is_negative_nowhere(x - y):
        return x
    if is_negative_nowhere(y - x):
        return y
    raise RejectedError("it is not proved which of two numbers is larger")


def rank(rows: Any) -> Number:
    """By elimination; every pivot is proved to be zero or not."""
    left, found = list(rows), 0
    for column in range(len(left[0])):
        signs = [sign(row[column]) for row in left]
        if None in signs:
            raise RejectedError("a pivot is not proved to be zero or not")
        if any(signs):
            top = left.pop(next(i for i, s in enumerate(signs) if s))
            ratios = [row[column] * inverse(top[column]) for row in left]
            pairs = zip(left, ratios, strict=True)
            left = [[x - q * y for x, y in zip(row, top, strict=True)] for row, q in pairs]
            found += 1
    return number(found)


def gradient(function: Callable[..., Any], point: Any) -> Any:
    """The derivatives of a function of a vector, and of each of its entries if it is one."""
    fresh = [variable() for _ in point]
    names = [min(x.free) for x in fresh]
    values, result = dict(zip(names, point, strict=True)), function(tuple(fresh))
    if isinstance(result, tuple):
        return tuple(tuple(substitute(derivative(p, n), values) for n in names) for p in result)
    return tuple(substitute(derivative(result, n), values) for n in names)


FUNCTIONS: Environment = {
    "+": lambda *xs: sum(xs, number(0)),
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
    "rank": rank,
    "grad": gradient,
    "hess": lambda f, x: gradient(lambda y: gradient(f, y), x),
}
COLLECT: dict[Any, Callable[..., Any]] = {
    "vec": tuple,
    "sum": lambda xs: sum(xs, number(0)),
    "largest": lambda xs: reduce(larger, xs),
}
RELATIONS = ("=", "<=", ">=", "<", ">")


def each(binding: list[Any], names: Environment) -> Iterator[Environment]:
    """(i n body): the names with i at 0, ..., n - 1."""
    for i in range(whole(evaluate(binding[1], names))):
        yield {**names, binding[0]: number(i)}


def bound(binding: list[Any], names: Environment) -> Environment:
    """(x value): the names with x."""
    return {**names, binding[0]: evaluate(binding[1], names)}


def evaluate(form: Any, names: Environment) -> Any:
    """A Number, a tuple or a function."""
    if isinstance(form, Fraction):
        return number(form)
    if isinstance(form, str):
        return names[form]
    head, *rest = form
    if head == "let":
        return evaluate(rest[1], bound(rest[0], names))
    if head == "fn":
        return lambda *xs: evaluate(rest[1], {**names, **dict(zip(rest[0], xs, strict=True))})
    if head == "if":
        known = decide(rest[0], names)
        if known is None:
            raise RejectedError("the condition of an `if` is not decided")
        return evaluate(rest[1] if known else rest[2], names)
    if isinstance(head, str) and head in COLLECT:
        return COLLECT[head](evaluate(rest[2], inner) for inner in each(rest, names))
    function, *values = (evaluate(part, names) for part in form)
    if not isinstance(function, tuple):
        return function(*values)
    for value in values:
        if not 0 <= whole(value) < len(function):
            raise RejectedError("an index out of range")
        function = function[whole(value)]
    return function


def decide(form: Any, names: Environment) -> bool | None:
    """True or False if proved to be so for every value of the variables, else None."""
    head, *rest = form
    if head == "all":
        return settled(False, (decide(rest[2], inner) for inner in each(rest, names)))
    if head in ("and", "or"):
        return settled(head == "or", (decide(part, names) for part in rest))
    if head == "let":
        return decide(rest[1], bound(rest[0], names))
    if head == "implies":
        known = decide(rest[0], names)
        return True if known is False else decide(rest[1], names) if known else None
    _, left, right = relation(form, names)
    if head == "=":
        apart = sign(left - right)
        return None if apart is None else apart == 0
    less, more = (left, right) if head[0] == "<" else (right, left)
    if head in ("<", ">"):
        return False if is_negative_nowhere(less - more) else sign(more - less) == 1 or None
    return True if is_negative_nowhere(more - less) else False if sign(less - more) == 1 else None


def settled(by: bool, parts: Iterable[bool | None]) -> bool | None:
    """What a part settles if it has the truth value `by`; none after it is looked at."""
    unknown = False
    for part in parts:
        if part is by:
            return by
        unknown |= part is None
    return None if unknown else not by


def relation(form: Any, names: Environment) -> tuple[str, Number, Number]:
    head, left, right = form
    if head not in RELATIONS:
        raise RejectedError(f"{head} is no relation")
    return head, evaluate(left, names), evaluate(right, names)


def sides(form: Any, names: Environment) -> Iterator[tuple[str, Number, Number]]:
    """The relations of which a statement is the conjunction, each with its two sides."""
    head, *rest = form
    if head == "all":
        for inner in each(rest, names):
            yield from sides(rest[2], inner)
    elif head == "let":
        yield from sides(rest[1], bound(rest[0], names))
    elif head == "implies":
        known = decide(rest[0], names)
        if known is None:
            raise RejectedError("a condition is not decided")
        yield from sides(rest[1], names) if known else ()
    elif head == "and":
        for part in rest:
            yield from sides(part, names)
    else:
        yield relation(form, names)


# --- types
TYPES = {
    "real": "(= x x)",
    "nonnegative": "(>= x 0)",
    "positive": "(> x 0)",
    "share": "(and (>= x 0) (<= x 1))",
    "discount": "(and (> x 0) (< x 1))",
}
SHAPES = {  # a table of Q or r, a kernel P(s' | s, a), choice probabilities
    "table": "(list S (list A real))",
    "kernel": "(list S (list A (law S)))",
    "policy": "(list S (law A))",
}


def require(form: Any, names: Environment, what: str) -> None:
    if decide(form, names) is not True:
        raise RejectedError(f"not proved: {what}")


def check_type(value: Any, kind: Any, names: Environment) -> None:
    """A size without a value gets it in `names`."""
    head, *rest = [kind] if isinstance(kind, str) else kind
    if head in SHAPES:
        check_type(value, read(SHAPES[head])[0], names)
    elif head in ("list", "law"):
        if not value or whole(names.setdefault(rest[0], number(len(value)))) != len(value):
            raise RejectedError(f"a list of another size than {rest[0]}")
        for part in value:
            check_type(part, rest[1] if head == "list" else "nonnegative", names)
        if head == "law" and sign(sum(value, number(-1))) != 0:
            raise RejectedError("not proved: probabilities add up to one")
    elif head in ("index", "count"):
        top = whole(evaluate(rest[0], names)) if rest else math.inf
        if not 0 <= whole(value) < top:
            raise RejectedError("a whole number out of range")
    else:
        require(read(TYPES[head])[0], {"x": value}, f"type {head}")


# --- statements and certificates
class Statement(NamedTuple):
    """A claim: constants that the statement says exist, what is given, and what is said of it."""

    some: list[Any]
    given: list[Any]
    assume: list[Any]
    printed: Any
    corrected: Any
    step: str  # a written step from the paper's sentence to `printed`, where one is needed
    digest: str  # SHA-256 of the statement and the definitions


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


def statements(text: str, prelude: str) -> dict[str, Statement]:
    """Statement by claim."""
    taken, result = definitions(prelude), {}
    for form in read(text):
        _, id_, *parts = form
        fields = {part[0]: part[1:] for part in parts}
        pinned = shown(read(prelude)) + shown(form)
        result[id_] = Statement(
            fields.get("some", []),
            fields["given"],
            fields.get("assume", []),
            fields["printed"][0],
            fields["corrected"][0],
            " ".join(fields.get("step", [""])[0].strip('"').split()),
            hashlib.sha256(pinned.encode()).hexdigest(),
        )
        for name, _ in (*result[id_].some, *result[id_].given):
            if name in taken:
                raise RejectedError(f"{id_}: {name} has a meaning already")
    return result


def instantiate(
    statement: Statement, instance: Iterable[Any], names: Environment, refute: bool
) -> Environment:
    """The names with the values of an instance, whose types and assumptions are proved.

    A statement is refuted for every value of the constants that it says exist: these are variables,
    on which the instance may depend. On the harmless instance they have values.
    """
    names, forms = dict(names), dict(instance)
    for name, kind in statement.some if refute else ():
        names[name] = variable(positive=True)
        if kind != "positive":
            raise RejectedError("constants that exist must be positive")
    given = statement.given if refute else [*statement.some, *statement.given]
    if list(forms) != [name for name, _ in given]:
        raise RejectedError("the instance does not give what the statement names, in its order")
    for name, kind in given:
        names[name] = evaluate(forms[name], names)
        check_type(names[name], kind, names)
    for form in statement.assume:
        require(form, names, shown(form))
    return names


def excess(head: str, left: Number, right: Number) -> Number:
    """By how much a relation is missed."""
    gap = right - left if head[0] == ">" else left - right
    return gap * number(sign(gap) or 0) if head == "=" else gap


def refuted(form: Any, names: Environment, margin: Fraction) -> tuple[str, Number, Number]:
    """The relation of a false statement that is missed by most, and by more than the margin."""
    missed = [part for part in sides(form, names) if sign(excess(*part) - number(margin)) == 1]
    if not missed:
        raise RejectedError("the printed statement is not disproved by the margin")
    return reduce(lambda x, y: y if sign(excess(*y) - excess(*x)) == 1 else x, missed)


def verify(statement: Statement, certificate: dict[str, Any], names: Environment) -> None:
    """Return if the certificate proves what it says of the statement.

    Raises:
        RejectedError: it does not, or it is not decided.
    """
    if certificate["statement"] != [f'"{statement.digest}"']:
        raise RejectedError(f"it is pinned to another statement than {statement.digest}")
    (margin,) = certificate["margin"]
    if margin < 0:
        raise RejectedError("the margin is negative")
    here = instantiate(statement, certificate["instance"], names, refute=True)
    _, *values = refuted(statement.printed, here, margin)
    for value, stated in zip(values, certificate["sides"], strict=True):
        if value.free and stated == "free":  # it has no one value
            continue
        apart, within = value - number(stated), number(max(abs(stated), 1) * DIGITS)
        if not (is_negative_nowhere(within - apart) and is_negative_nowhere(within + apart)):
            raise RejectedError("the stated sides are not those of the printed statement")
    require(statement.corrected, here, "the corrected statement")
    harmless = instantiate(statement, certificate["harmless"], names, refute=False)
    require(statement.printed, harmless, "the printed statement on the harmless instance")


def main() -> int:
    """Verify every certificate; 1 where one is rejected."""
    texts = {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.lisp")}
    names, known = definitions(texts["prelude"]), statements(texts["statements"], texts["prelude"])
    failures = 0
    for _, id_, *parts in read(texts["certificates"]):
        try:
            verify(known[id_], {part[0]: part[1:] for part in parts}, names)
            print(f"{id_}: certified" + (", with a written step" if known[id_].step else ""))
        except (
            RejectedError,
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as e:
            failures += 1
            print(f"{id_}: rejected, {e!r}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
