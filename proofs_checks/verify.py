"""Verify the certificates of refuted claims, in exact and interval arithmetic.

`python proofs_checks/verify.py` needs the standard library and python-flint, nothing of this
project. `certificates/` has definitions (prelude.lisp), statements and certificates. A statement
says what is given, of which type, what is assumed, what the paper prints and what to write
instead. A certificate gives one instance, pinned to the digest of its statement. It is accepted if
there all types and assumptions are proved, `printed` is disproved by the margin, `corrected` is
proved, and the sides are the stated ones; and if on a second, harmless instance types, assumptions
and `printed` are proved. Whatever is not decided is rejected.

A number is a polynomial with rational coefficients in atoms: exp, log and 1/x of numbers, and
variables. Equal is what is the same polynomial; order is decided by enclosing balls, or over
the whole range of a variable by the signs of coefficients or by bisection.
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
DEPTH = 12  # of bisections
DIGITS = Fraction(1, 10**9)  # how well the stated sides agree, relative


class RejectedError(Exception):
    """What a certificate needs is not proved."""


# --- reading
def read(text: str) -> list[Any]:
    """The forms of a file: lists, names (str), strings (with their quotes) and Fractions."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r'"[^"]*"|;.*|[()]|[^\s()";]+', text):
        if token[0] == ";":
            continue
        if token == "(":
            stack.append([])
        elif token == ")":
            if len(stack) < 2:
                raise RejectedError("a parenthesis too many")
            form = stack.pop()
            stack[-1].append(form)
        else:
            number = re.fullmatch(r"-?\d+(/[1-9]\d*|\.\d+)?", token)
            stack[-1].append(Fraction(token) if number else token)
    if len(stack) > 1:
        raise RejectedError("a parenthesis is missing")
    return stack[0]


# --- numbers
class Atom(NamedTuple):
    """A variable on an interval, or exp, log or 1/x (`inverse`) of a number."""

    kind: str
    of: "Number"
    low: Any = -math.inf  # of a variable's interval, open unless `closed`
    high: Any = math.inf
    closed: bool = False
    free: frozenset[int] = frozenset()  # the variables in it


ATOMS: list[Atom] = []
_KNOWN: dict[Any, int] = {}
Monomial = tuple[tuple[int, int], ...]  # (atom, exponent), by atom


class Number:
    """A sum of coefficient times monomial; coefficients that are floats do not enter a proof."""

    __slots__ = ("terms",)

    def __init__(self, terms: dict[Monomial, Any]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c != 0}

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
                for atom, exponent in second:
                    powers[atom] = powers.get(atom, 0) + exponent
                monomial = tuple(sorted((a, e) for a, e in powers.items() if e))
                terms[monomial] = terms.get(monomial, 0) + c * d
        return Number(terms)

    def __sub__(self, other: "Number") -> "Number":
        return self + other * number(-1)

    def __pow__(self, exponent: int) -> "Number":
        base = inverse(self) if exponent < 0 else self
        return reduce(Number.__mul__, [base] * abs(exponent), number(1))

    @property
    def constant(self) -> Any:
        """The coefficient of a number without atoms, else None."""
        return None if self.terms.keys() - {()} else self.terms.get((), Fraction(0))

    @property
    def free(self) -> frozenset[int]:
        """The variables in it."""
        return frozenset().union(*(ATOMS[a].free for monomial in self.terms for a, _ in monomial))


def number(value: Any) -> Number:
    return Number({(): Fraction(value) if isinstance(value, int) else value})


def _atom(kind: str, of: Number) -> Number:
    """An atom; the same one for the same number."""
    key = kind, frozenset(of.terms.items())
    if key not in _KNOWN:
        _KNOWN[key] = len(ATOMS)
        ATOMS.append(Atom(kind, of, free=of.free))
    return Number({((_KNOWN[key], 1),): Fraction(1)})


def variable(low: Any = -math.inf, high: Any = math.inf, closed: bool = False) -> Number:
    """A new variable, different from all others whatever its name: none can be captured."""
    if not low < high:
        raise RejectedError("a variable on an empty interval")
    name = len(ATOMS)
    ATOMS.append(Atom("variable", number(0), low, high, closed, frozenset({name})))
    return Number({((name, 1),): Fraction(1)})


def inverse(p: Number) -> Number:
    if sign(p) not in (1, -1):
        raise RejectedError("division by a number that is not proved to differ from zero")
    if len(p.terms) > 1:
        lead = next(iter(p.terms.values()))
        return _atom("inverse", p * number(1 / lead)) * number(1 / lead)
    ((monomial, c),) = p.terms.items()
    result = number(1 / c)
    for a, exponent in monomial:
        if ATOMS[a].kind == "inverse":
            result *= ATOMS[a].of ** exponent
        elif ATOMS[a].kind == "log":
            result *= _atom("inverse", Number({((a, 1),): Fraction(1)})) ** exponent
        else:
            result *= Number({((a, -exponent),): Fraction(1)})
    return result


def log(p: Number) -> Number:
    """log of content, of the exponentials common to all terms, and of the rest."""
    if sign(p) != 1:
        raise RejectedError("log of a number that is not proved to be positive")
    c = p.constant
    if isinstance(c, float):
        return number(math.log(c))
    if c is not None:
        return _log_of_whole(c.numerator) - _log_of_whole(c.denominator)
    powers = [dict(monomial) for monomial in p.terms]
    shared = {a: min(m.get(a, 0) for m in powers) for a in set().union(*powers)}
    outside = {a: e for a, e in shared.items() if e and ATOMS[a].kind in ("exp", "inverse")}
    result = number(0)
    for a, exponent in outside.items():
        kind, of, *_ = ATOMS[a]
        result += (of if kind == "exp" else log(of) * number(-1)) * number(exponent)
    rest = p * Number({tuple(sorted((a, -e) for a, e in outside.items())): Fraction(1)})
    if all(isinstance(c, Fraction) for c in rest.terms.values()):
        over = math.lcm(*(c.denominator for c in rest.terms.values()))
        content = Fraction(math.gcd(*(int(c * over) for c in rest.terms.values())), over)
        rest *= number(1 / content)
        result += log(number(content))
    if rest.constant is not None:
        return result + log(rest)
    return result + _atom("log", rest)


def _log_of_whole(n: int) -> Number:
    primes = fmpz(n).factor()
    return sum((_atom("log", number(int(p))) * number(int(e)) for p, e in primes), number(0))


def exp(p: Number) -> Number:
    """A product over terms; exp(n log x) is x^n, exp(n x / d) is exp(x / d)^n."""
    result = number(1)
    for monomial, c in p.terms.items():
        single = ATOMS[monomial[0][0]] if len(monomial) == 1 and monomial[0][1] == 1 else None
        if isinstance(c, float) and monomial == ():
            result *= number(math.exp(c))
        elif single and single.kind == "log" and single.of.constant and c == int(c):
            result *= single.of ** int(c)
        else:
            over, times = (c, 1) if isinstance(c, float) else (Fraction(1, c.denominator), c)
            power = _atom("exp", Number({monomial: over}))
            ((((name, _),), _),) = power.terms.items()
            times = times if isinstance(times, int) else times.numerator
            result *= Number({((name, times),): Fraction(1)})
    return result


# --- derivatives
def derivative(p: Number, by: int) -> Number:
    """dp/dx for the variable x."""
    result = number(0)
    for monomial, c in p.terms.items():
        for i, (a, e) in enumerate(monomial):
            kind, of, *_ = atom = ATOMS[a]
            if by not in atom.free:
                continue
            lower = ((a, e - 1),) if e != 1 else ()
            rest = Number({monomial[:i] + lower + monomial[i + 1 :]: c * e})
            if kind == "exp":
                rest *= Number({((a, 1),): Fraction(1)}) * derivative(of, by)
            elif kind == "log":
                rest *= inverse(of) * derivative(of, by)
            elif kind == "inverse":
                rest *= Number({((a, 2),): Fraction(-1)}) * derivative(of, by)
            result += rest
    return result


def substitute(p: Number, values: dict[int, Number]) -> Number:
    """The number with values in the place of variables."""
    result = number(0)
    for monomial, c in p.terms.items():
        term = number(c)
        for a, e in monomial:
            kind, of, *_ = atom = ATOMS[a]
            if a in values:
                term *= values[a] ** e
            elif atom.free.isdisjoint(values):
                term *= Number({((a, e),): Fraction(1)})
            else:
                term *= {"exp": exp, "log": log, "inverse": inverse}[kind](
                    substitute(of, values)
                ) ** e
        result += term
    return result


# --- signs
def enclose(p: Number, boxes: dict[int, arb]) -> arb:
    """A ball that contains the number, for variables in these balls."""
    total = arb(0)
    for monomial, c in p.terms.items():
        term = arb(c) if isinstance(c, float) else arb(fmpq(c.numerator, c.denominator))
        for a, e in monomial:
            kind, of, *_ = ATOMS[a]
            ball = boxes[a] if kind == "variable" else enclose(of, boxes)
            ball = ball.exp() if kind == "exp" else ball.log() if kind == "log" else ball
            term *= ball ** (-e if kind == "inverse" else e)
        total += term
    return total


def _split(a: int, e: int) -> tuple[Number, int, int]:
    """(x, k, l) with a^e = x^k a^l: x hidden in 1/x and exp(log(x) / d), or a variable below 1."""
    kind, of, *_ = ATOMS[a]
    if kind == "inverse":
        return of, -e, 0
    if kind == "variable":
        return Number({((a, 1),): Fraction(1)}), min(e, 0), max(e, 0)
    if kind == "exp" and len(of.terms) == 1:
        ((monomial, c),) = of.terms.items()
        if [power for _, power in monomial] == [1] and ATOMS[monomial[0][0]].kind == "log":
            return ATOMS[monomial[0][0]].of, *divmod(e, int(1 / c))
    return of, 0, e


def cleared(p: Number) -> tuple[Number, int]:
    """The number times denominators, none of them zero; and the sign of these, 0 if not known."""
    flip = 1
    while True:
        powers = {(a, e) for monomial in p.terms for a, e in monomial}
        a = max((a for a, e in powers if _split(a, e)[1]), default=None)
        if a is None:
            return p, flip
        below = max(0, *(-_split(a, e)[1] for b, e in powers if a == b))
        factor = _split(a, 1)[0]
        flip *= (sign(factor) or 0) ** below
        total = number(0)
        for monomial, c in p.terms.items():
            _, k, left = _split(a, dict(monomial).get(a, 0))
            rest = tuple(pair for pair in monomial if pair[0] != a)
            rest = tuple(sorted((*rest, (a, left)))) if left else rest
            total += Number({rest: c}) * factor ** (below + k)
        p = total


def sign(p: Number) -> int | None:
    """1, -1 or 0 if proved for every value of its variables, else None."""
    if not p.terms:
        return 0
    if not p.free:
        for bits in PRECISIONS:
            ctx.prec = bits
            ball = enclose(p, {})
            if ball > 0 or ball < 0:
                return 1 if ball > 0 else -1
        return None if cleared(p)[0].terms else 0
    p, flip = cleared(p)
    if not p.terms:
        return 0
    if not flip:
        return None
    weak, strict = _by_coefficients(p)
    if strict:
        return weak * flip
    found = _by_bisection(p, {a: (ATOMS[a].low, ATOMS[a].high) for a in p.free}, DEPTH)
    return found * flip if found else None


def is_negative_nowhere(p: Number) -> bool:
    """Whether p >= 0 is proved for every value of its variables."""
    if sign(p) in (0, 1):
        return True
    p, flip = cleared(p)
    return bool(p.free) and flip != 0 and _by_coefficients(p)[0] == flip


def _by_coefficients(p: Number) -> tuple[int, bool]:
    """(s, whether strictly) if every term has the sign s or is zero; (0, False) if not known."""
    groups: dict[Monomial, Number] = {}
    for monomial, c in p.terms.items():
        moving = tuple(pair for pair in monomial if ATOMS[pair[0]].free)
        fixed = tuple(pair for pair in monomial if not ATOMS[pair[0]].free)
        groups[moving] = groups.get(moving, number(0)) + Number({fixed: c})
    signs, strict = set(), False
    for monomial, coefficient in groups.items():
        term, never_zero = sign(coefficient), True
        for a, e in monomial:
            kind, _, low, high, closed, _ = ATOMS[a]
            side = 1 if kind == "exp" or low >= 0 else -1 if high <= 0 else 0
            if term is None or (e % 2 and not side):
                return 0, False
            term *= side if e % 2 else 1
            never_zero &= kind == "exp" or (bool(side) and not (closed and 0 in (low, high)))
        if term is None:
            return 0, False
        if term:
            signs.add(term)
            strict |= never_zero
    return (signs.pop(), strict) if len(signs) == 1 else (0, False)


def _by_bisection(p: Number, box: dict[int, tuple[Any, Any]], depth: int) -> int | None:
    if any(math.isinf(end) for ends in box.values() for end in ends):
        return None
    ctx.prec = PRECISIONS[0]
    balls = {}
    for a, (low, high) in box.items():
        middle, half = Fraction(low + high) / 2, Fraction(high - low) / 2
        balls[a] = arb(*(fmpq(x.numerator, x.denominator) for x in (middle, half)))
    ball = enclose(p, balls)
    if ball > 0 or ball < 0:
        return 1 if ball > 0 else -1
    if not depth:
        return None
    widest = max(box, key=lambda a: box[a][1] - box[a][0])
    low, high = box[widest]
    ends = (low, (low + high) / 2, high)
    first = _by_bisection(p, {**box, widest: ends[:2]}, depth - 1)
    return first if first == _by_bisection(p, {**box, widest: ends[1:]}, depth - 1) else None


# --- the language
Environment = dict[str, Any]


def whole(value: Any) -> int:
    c = value.constant if isinstance(value, Number) else None
    if c is None or c != int(c):
        raise RejectedError("a whole number is needed")
    return int(c)


def _larger(x: Number, y: Number) -> Number:
    if is_negative_nowhere(x - y):
        return x
    if is_negative_nowhere(y - x):
        return y
    raise RejectedError("it is not proved which of two numbers is larger")


def _rank(rows: Any) -> Number:
    """By elimination; every pivot is proved to be zero or not."""
    left, rank = [list(row) for row in rows], 0
    for column in range(len(left[0]) if left else 0):
        signs = [sign(row[column]) for row in left]
        if None in signs:
            raise RejectedError("a pivot is not proved to be zero or not")
        pivot = next((i for i, s in enumerate(signs) if s), None)
        if pivot is not None:
            top = left.pop(pivot)
            scale = [row[column] * inverse(top[column]) for row in left]
            left = [
                [x - s * y for x, y in zip(row, top, strict=True)]
                for row, s in zip(left, scale, strict=True)
            ]
            rank += 1
    return number(rank)


def _gradient(function: Callable[..., Any], point: Any, order: int = 1) -> Any:
    """The derivatives of a function of a vector at a point, of first or second order."""
    fresh = tuple(variable() for _ in point)
    names = [next(iter(x.free)) for x in fresh]
    values = dict(zip(names, point, strict=True))
    first = [derivative(function(fresh), name) for name in names]
    if order == 1:
        return tuple(substitute(p, values) for p in first)
    return tuple(tuple(substitute(derivative(p, n), values) for n in names) for p in first)


FUNCTIONS: Environment = {
    "+": lambda *xs: sum(xs, number(0)),
    "*": lambda *xs: reduce(Number.__mul__, xs),
    "-": lambda x, *ys: reduce(Number.__sub__, ys, x) if ys else x * number(-1),
    "/": lambda x, y: x * inverse(y),
    "^": lambda x, n: x ** whole(n),
    "exp": exp,
    "log": log,
    "abs": lambda x: _larger(x, x * number(-1)),
    "larger": _larger,
    "list": lambda *xs: xs,
    "len": lambda xs: number(len(xs)),
    "rank": _rank,
    "grad": _gradient,
    "hess": lambda f, x: _gradient(f, x, 2),
}
COLLECT: dict[str, Callable[..., Any]] = {
    "vec": tuple,
    "sum": lambda xs: sum(xs, number(0)),
    "largest": lambda xs: reduce(_larger, xs),
}


def _each(binding: list[Any], names: Environment) -> Iterator[Environment]:
    """The names with an index at 0, 1, ..., up to a size."""
    name, size, _ = binding
    for i in range(whole(evaluate(size, names))):
        yield {**names, name: number(i)}


def evaluate(form: Any, names: Environment) -> Any:
    """A Number, a tuple or a function."""
    if isinstance(form, Fraction):
        return number(form)
    if isinstance(form, str):
        if form not in names:
            raise RejectedError(f"{form} is not defined")
        return names[form]
    head, *rest = form
    if isinstance(head, str) and head in COLLECT:
        return COLLECT[head](evaluate(rest[2], inner) for inner in _each(rest, names))
    if head == "let":
        return evaluate(rest[1], {**names, rest[0][0]: evaluate(rest[0][1], names)})
    if head == "fn":
        return lambda *xs: evaluate(rest[1], {**names, **dict(zip(rest[0], xs, strict=True))})
    if head == "if":
        known = decide(rest[0], names)
        if known is None:
            raise RejectedError("the condition of an `if` is not decided")
        return evaluate(rest[1] if known else rest[2], names)
    function, *values = (evaluate(part, names) for part in form)
    if isinstance(function, tuple):
        for value in values:
            if not 0 <= whole(value) < len(function):
                raise RejectedError("an index out of range")
            function = function[whole(value)]
        return function
    return function(*values)


def decide(form: Any, names: Environment) -> bool | None:
    """True or False if proved to be so for every value of the variables, else None."""
    head, *rest = form
    if head in ("all", "any"):
        return _settled(head == "any", (decide(rest[2], inner) for inner in _each(rest, names)))
    if head in ("and", "or"):
        return _settled(head == "or", (decide(part, names) for part in rest))
    if head == "let":
        return decide(rest[1], {**names, rest[0][0]: evaluate(rest[0][1], names)})
    if head == "not":
        known = decide(rest[0], names)
        return None if known is None else not known
    if head == "implies":
        return decide(["or", ["not", rest[0]], rest[1]], names)
    if head == "every":  # (every (x low high) relation), both ends included
        name, *ends = rest[0]
        low, high = (evaluate(end, names).constant for end in ends)
        return decide(rest[1], {**names, name: variable(low, high, closed=True)})
    if head in RELATIONS:
        return _compare(head, *(evaluate(side, names) for side in rest))
    raise RejectedError(f"{head} is no relation")


def _settled(by: bool, parts: Iterator[bool | None]) -> bool | None:
    """What a part settles if it has the truth value `by`; none after it is looked at."""
    unknown = False
    for part in parts:
        if part is by:
            return by
        unknown |= part is None
    return None if unknown else not by


def _compare(relation: str, left: Number, right: Number) -> bool | None:
    apart = sign(left - right)
    if relation == "=":
        return None if apart is None else apart == 0
    if relation in (">=", "<="):
        less, more = (left, right) if relation == "<=" else (right, left)
        if is_negative_nowhere(more - less):
            return True
        return False if sign(more - less) == -1 else None
    return None if apart is None else apart == (-1 if relation == "<" else 1)


RELATIONS = ("=", "<=", ">=", "<", ">")


def sides(form: Any, names: Environment) -> Iterator[tuple[str, Number, Number]]:
    """The relations of which the statement is the conjunction, each with its two sides."""
    head, *rest = form
    if head == "all":
        for inner in _each(rest, names):
            yield from sides(rest[2], inner)
    elif head == "and":
        for part in rest:
            yield from sides(part, names)
    elif head == "let":
        yield from sides(rest[1], {**names, rest[0][0]: evaluate(rest[0][1], names)})
    elif head == "implies":
        known = decide(rest[0], names)
        if known is None:
            raise RejectedError("a condition is not decided")
        yield from sides(rest[1], names) if known else ()
    elif head in RELATIONS:
        left, right = (evaluate(side, names) for side in rest)
        yield head, left, right
    else:
        raise RejectedError(f"{head} cannot be what is disproved")


def excess(relation: str, left: Number, right: Number) -> Number:
    """By how much a relation is missed."""
    gap = right - left if relation in (">=", ">") else left - right
    return gap * number(sign(gap) or 0) if relation == "=" else gap


# --- types
TYPES = {
    "real": "(= x x)",
    "nonnegative": "(>= x 0)",
    "positive": "(> x 0)",
    "share": "(and (>= x 0) (<= x 1))",
    "discount": "(and (> x 0) (< x 1))",
}
# A table of Q or r, a kernel P(s' | s, a), choice probabilities.
SHAPES = {
    "table": "(list S (list A real))",
    "kernel": "(list S (list A (law S)))",
    "policy": "(list S (law A))",
}


def require(form: Any, names: Environment, what: str) -> None:
    if decide(form, names) is not True:
        raise RejectedError(f"not proved: {what}")


def check_type(value: Any, kind: Any, names: Environment) -> None:
    """A size that has no value yet gets it in `names`."""
    head, *rest = [kind] if isinstance(kind, str) else kind
    if head in SHAPES:
        return check_type(value, _replaced(read(SHAPES[head])[0], dict(zip("SA", rest, strict=False))), names)
    if head in ("list", "law"):
        size = names.setdefault(rest[0], number(len(value)))
        if whole(size) != len(value) or not value:
            raise RejectedError(f"a list of {whole(size)} is needed")
        for part in value:
            check_type(part, rest[1] if head == "list" else "nonnegative", names)
        if head == "law" and sign(sum(value, number(-1))) != 0:
            raise RejectedError("not proved: probabilities add up to one")
    elif head == "index":
        if not 0 <= whole(value) < whole(evaluate(rest[0], names)):
            raise RejectedError("an index out of range")
    elif head == "count":
        if whole(value) < 0:
            raise RejectedError("a count below zero")
    else:
        require(read(TYPES[head])[0], {"x": value}, f"type {head}")


def _replaced(form: Any, new: dict[str, Any]) -> Any:
    if isinstance(form, list):
        return [_replaced(part, new) for part in form]
    return new.get(form, form)


# --- statements and certificates
class Statement(NamedTuple):
    """A claim: constants that the statement says exist, what is given, and what is said of it."""

    some: list[Any]
    given: list[Any]
    assume: list[Any]
    printed: Any
    corrected: Any
    step: str  # a written step that leads from the paper's sentence to `printed`, if needed
    digest: str  # of the statement and the definitions


def shown(form: Any) -> str:
    """A form in a canonical spelling."""
    return "(" + " ".join(map(shown, form)) + ")" if isinstance(form, list) else str(form)


def definitions(text: str) -> Environment:
    """The functions and numbers of (def (f x) body) and (def x body), each by those before it."""
    names = dict(FUNCTIONS)
    for _, head, body in read(text):
        if isinstance(head, list):
            names[head[0]] = evaluate(["fn", head[1:], body], dict(names))
        else:
            names[head] = evaluate(body, names)
    return names


def statements(text: str, prelude: str) -> dict[str, Statement]:
    """Statement by claim."""
    taken, result = definitions(prelude), {}
    for form in read(text):
        _, id_, *parts = form
        fields = {part[0]: part[1:] for part in parts}
        text = shown(read(prelude)) + shown(form)
        step = fields.get("step", [""])[0].strip('"')
        result[id_] = Statement(
            some=fields.get("some", []),
            given=fields["given"],
            assume=fields.get("assume", []),
            printed=fields["printed"][0],
            corrected=fields["corrected"][0],
            step=" ".join(step.split()),
            digest=hashlib.sha256(text.encode()).hexdigest(),
        )
        for name, _ in (*result[id_].some, *result[id_].given):
            if name in taken:
                raise RejectedError(f"{id_}: {name} has a meaning already")
    return result


def instantiate(
    statement: Statement, instance: Iterable[Any], names: Environment, refute: bool
) -> Environment:
    """The names with the values of an instance, whose types and assumptions are proved.

    Where a statement is refuted it is for every value of the constants that it says exist; these
    then are variables, and the instance may depend on them.
    """
    names, forms = dict(names), dict(instance)
    kinds = [] if refute else list(statement.some)
    for name, kind in statement.some:
        if refute and kind != "positive":
            raise RejectedError("only positive constants are known to exist")
        if refute:
            names[name] = variable(0)
    kinds += statement.given
    if list(forms) != [name for name, _ in kinds]:
        raise RejectedError("the instance does not give what the statement names, in its order")
    for name, kind in kinds:
        names[name] = evaluate(forms[name], names)
        check_type(names[name], kind, names)
    for form in statement.assume:
        require(form, names, shown(form))
    return names


def refuted(form: Any, names: Environment, margin: Number) -> tuple[str, Number, Number]:
    """The relation of a false statement that is missed by most, and by more than the margin."""
    missed = [part for part in sides(form, names) if sign(excess(*part) - margin) == 1]
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
    at = instantiate(statement, certificate["instance"], names, refute=True)
    _, left, right = refuted(statement.printed, at, number(margin))
    for side, stated in zip((left, right), certificate["sides"], strict=True):
        if stated != "free" or not side.free:
            within = number(max(abs(stated), Fraction(1)) * DIGITS)
            if (
                sign(side - number(stated) - within) == 1
                or sign(side - number(stated) + within) == -1
            ):
                raise RejectedError("the stated sides are not those of the printed statement")
    require(statement.corrected, at, "the corrected statement")
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
        except (RejectedError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            failures += 1
            print(f"{id_}: rejected, {error!r}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
