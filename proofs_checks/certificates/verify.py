"""Verify the certificates of claims, in exact and interval arithmetic.

`python proofs_checks/certificates/verify.py` needs the standard library and python-flint, and
nothing of this project. A certificate gives an instance whose types and assumptions are proved, on
which `printed` is disproved and `corrected` is proved, and a harmless instance on which `printed`
is proved. It is listed by its digest beside that of its statement. A derivation writes each goal as
a sum of multiples of its assumptions, none of them idle or the goal, and all that it assumes is
listed. Whatever is not decided is rejected, and so is what needs too much work. README.md says why.

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
from functools import lru_cache, partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

try:
    from flint import arb, ctx, fmpq, fmpz
except ModuleNotFoundError as error:
    raise SystemExit(f"{error.name} is missing: pip install --group checks (pip>=25.1)") from None

FOLDER = Path(__file__).parent
LIST = "4822d515fd5909a49edbf97ad5a35639bc7a10be085df671c06e555822b36600"
PRECISIONS = (64, 256, 1024)  # bits, tried one after the other
TOKEN, DEPTH = 500, 50  # characters of a name or number, nested lists
POWER, BITS, FACTORED = 1_000, 20_000, 100  # exponents, bits of a coefficient, and of log's
WORK = 30_000_000  # products of terms and evaluations for one claim


class RejectedError(ValueError):
    """What a certificate needs is not proved."""


WORKED = [0]  # since the last claim began


def work(amount: int) -> None:
    """Count products of terms and evaluations, and refuse too many of them."""
    WORKED[0] += amount
    if WORKED[0] > WORK:
        raise RejectedError("it needs too much work")


def read(text: str) -> list[Any]:
    """The forms of a file: lists, names (str), strings (with their quotes) and Fractions."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r'"[^"]*"|;.*|[()]|[^\s();]+', text):
        if token == "(":
            stack.append([])
        elif token == ")":
            *stack, form = stack
            stack[-1].append(form)
        elif token[0] != ";":
            is_number = re.fullmatch(r"-?\d+(/[1-9]\d*|\.\d+)?", token)
            stack[-1].append(Fraction(token) if is_number else token)
            if not re.fullmatch(rf'"[^"]*"|[^"]{{1,{TOKEN}}}', token):
                raise RejectedError(f"half a string, or too long: {token[:20]}")
        if len(stack) > DEPTH:
            raise RejectedError("lists are nested too deep")
    if not text.isascii():
        raise RejectedError("a file is not ASCII")
    (forms,) = stack  # else a parenthesis is missing
    return forms


# --- numbers
class Atom(NamedTuple):
    """exp or log of a number, a number itself as the `base` of powers, or a variable.

    A variable takes every `real`, `nonnegative` or `positive` value, or it is a `step`, whose
    coefficients are derivatives. What a function adds to its second power is an unknown `rest`.
    """

    kind: str
    of: "Number"
    free: frozenset[int]  # the variables in it


ATOMS: list[Atom] = []
_INDEX: dict[Any, int] = {}
Monomial = tuple[tuple[int, int], ...]  # (atom, exponent), by atom
Function = Callable[["Number"], "Number"]


class Number:
    """A sum of coefficient times monomial. Coefficients that are floats do not come from `read`."""

    def __init__(self, terms: dict[Monomial, Any]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c}
        atoms = {a for monomial in self.terms for a, _ in monomial}
        self.free = frozenset().union(*(ATOMS[a].free for a in atoms))
        self.constant = None if atoms else self.terms.get((), Fraction(0))

    def __add__(self, other: "Number") -> "Number":
        terms = dict(self.terms)
        for monomial, c in other.terms.items():
            terms[monomial] = terms[monomial] + c if monomial in terms else c
        return Number(terms)

    def __mul__(self, other: "Number") -> "Number":
        work(len(self.terms) * len(other.terms))
        terms: dict[Monomial, Any] = {}
        for first, c in self.terms.items():
            for second, d in other.terms.items():
                powers = dict(first)
                for a, e in second:
                    powers[a] = powers.get(a, 0) + e
                monomial = tuple(sorted((a, e) for a, e in powers.items() if e))
                terms[monomial] = terms[monomial] + c * d if monomial in terms else c * d
                if size(terms[monomial]) > BITS:
                    raise RejectedError(f"a coefficient of more than {BITS} bits")
        return Number(terms)

    def __sub__(self, other: "Number") -> "Number":
        return self + other * number(-1)

    def __pow__(self, exponent: int) -> "Number":
        if abs(exponent) > POWER:
            raise RejectedError(f"an exponent above {POWER}")
        base = inverse(self) if exponent < 0 else self
        return reduce(Number.__mul__, [base] * abs(exponent), number(1))

    def coefficient(self, a: int, e: int) -> "Number":
        """What the atom's e-th power is multiplied by."""
        having = {m: c for m, c in self.terms.items() if dict(m).get(a, 0) == e}
        return Number({tuple(pair for pair in m if pair[0] != a): c for m, c in having.items()})


def size(c: Any) -> int:
    """Bits of a coefficient."""
    return 0 if isinstance(c, float) else c.numerator.bit_length() + c.denominator.bit_length()


@lru_cache(typed=True)  # else the float 1.0 would be the Fraction 1
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
    """The same atom for the same number, which is positive if it is that of a log or a base."""
    key = kind, frozenset(of.terms.items())
    if key not in _INDEX:
        if kind in ("base", "log") and signs(of) != {1}:
            raise RejectedError(f"the number of a {kind} is not proved to be positive")
        _INDEX[key] = len(ATOMS)
        ATOMS.append(Atom(kind, of, of.free))
    return _INDEX[key]


def expanded(function: Function, slope: Function, p: Number) -> Number | None:
    """The function of p by its value and slope without a step of p; None where p has none."""
    if not (steps := sorted(a for a in p.free if ATOMS[a].kind == "step")):
        return None
    h, *others = steps
    base, change = p.coefficient(h, 0), p.coefficient(h, 1) * power(h, 1)
    rests = {f"rest of {function.__name__}": power(h, 2)}  # unknown, but the same for the same p
    for a in others:  # by which the rest has slopes
        rests |= {f"{name} by {a}": times * power(a, 1) for name, times in rests.items()}
    rest = total(power(atom(name, p), 1) * times for name, times in rests.items())
    return function(base) + slope(base) * change + rest


def inverse(p: Number) -> Number:
    """1 / p."""
    if linear := expanded(inverse, lambda x: number(-1) * inverse(x) ** 2, p):
        return linear
    if (possible := signs(p)) not in ({1}, {-1}):
        raise RejectedError("division by a number that is not proved to differ from zero")
    (factors, c), *others = sorted(p.terms.items())
    if not others and all(ATOMS[a].kind in ("exp", "base") for a, _ in factors):
        return Number({tuple((a, -e) for a, e in factors): 1 / c})
    lead = number(max(possible) / abs(c))
    return power(atom("base", p * lead), -1) * lead


def log(p: Number) -> Number:
    """log of a coefficient, of the exps and powers that all terms have, and of the rest."""
    if linear := expanded(log, inverse, p):
        return linear
    if signs(p) != {1}:
        raise RejectedError("log of a number that is not proved to be positive")
    if isinstance(p.constant, float):
        return number(math.log(p.constant))
    if p.constant is not None:
        if size(p.constant) > FACTORED:
            raise RejectedError(f"log of a number of more than {FACTORED} bits")
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
    if linear := expanded(exp, exp, p):
        return linear
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
    functions: dict[str, Any] = {"exp": arb.exp, "log": arb.log, "base": arb}
    result = arb(0)
    work(len(p.terms))
    for monomial, c in p.terms.items():
        factor = arb(c) if isinstance(c, float) else arb(fmpq(c.numerator, c.denominator))
        powers = (functions[ATOMS[a].kind](enclose(ATOMS[a].of)) ** e for a, e in monomial)
        result += reduce(arb.__mul__, powers, factor)
    return result


def cleared(p: Number) -> Number:
    """The number times its denominators, which are positive, with powers written out."""
    while bases := {a for m in p.terms for a, _ in m if ATOMS[a].kind == "base"}:
        last = max(bases)
        exponents = {dict(m).get(last, 0) for m in p.terms}
        below, base = min(0, *exponents), ATOMS[last].of
        p = total(p.coefficient(last, e) * base ** (e - below) for e in exponents)
    return p


POSSIBLE = {"exp": {1}, "positive": {1}, "nonnegative": {0, 1}}  # signs of atoms and their powers


def signs(p: Number) -> set[int]:
    """Those that the number may have for some value of its variables: all that is not excluded."""
    for bits in () if p.free else PRECISIONS:
        ctx.prec = bits
        ball = enclose(p)
        if ball > 0 or ball < 0:
            return {1 if ball > 0 else -1}
    varies, p = bool(p.free), cleared(p)
    if not (p.terms and varies):
        return {-1, 0, 1} if p.terms else {0}
    groups: dict[Monomial, Number] = {}  # coefficients without variables
    for monomial, c in p.terms.items():
        varying = tuple(pair for pair in monomial if ATOMS[pair[0]].free)
        fixed = tuple(pair for pair in monomial if not ATOMS[pair[0]].free)
        groups[varying] = groups.get(varying, number(0)) + Number({fixed: c})
    summands = []
    for monomial, coefficient in groups.items():
        powers = [(ATOMS[a].kind, e) for a, e in monomial]
        factors = [POSSIBLE.get(kind, {-1, 0, 1} if e % 2 else {0, 1}) for kind, e in powers]
        summands.append(
            reduce(lambda xs, ys: {x * y for x in xs for y in ys}, factors, signs(coefficient))
        )
    for s in (1, -1):
        if all(summand <= {0, s} for summand in summands):
            return {s} if {s} in summands else {0, s}
    return {-1, 0, 1}


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
    top, *others = sorted(rows, key=lambda row: signs(row[0]) == {0})
    possible = signs(top[0])
    if len(possible) > 1:
        raise RejectedError("a pivot is not proved to be zero or not")
    if possible == {0}:  # as all are
        return rank([row[1:] for row in rows])
    rest = ([x * top[0] - y * row[0] for x, y in zip(row, top, strict=True)] for row in others)
    return 1 + rank([row[1:] for row in rest])


def gradient(function: Callable[..., Any], point: Any) -> Any:
    """The derivatives by each entry of a vector, of a function that is a number or a vector.

    A condition in the function must be decided for all values of the steps and the rests.
    """

    def rate(value: Any, h: Number) -> Any:
        if isinstance(value, tuple):
            return tuple(rate(item, h) for item in value)
        return value.coefficient(min(h.free), 1)

    steps = [variable("step") for _ in point]
    changed = ((*point[:i], x + steps[i], *point[i + 1 :]) for i, x in enumerate(point))
    return tuple(map(rate, map(function, changed), steps))


def truth(statement: Statement) -> bool | None:
    """True or False if proved to be so for every value of the variables, else None."""
    decided = []
    for head, first, second in statement:
        possible, allowed = signs(first - second), RELATIONS[head]
        decided.append(possible <= allowed or (None if possible & allowed else False))
    return False if False in decided else None if None in decided else True


FUNCTIONS: Environment = {
    "+": lambda *xs: total(xs),
    "*": lambda *xs: reduce(Number.__mul__, xs),
    "-": lambda x, *ys: reduce(Number.__sub__, ys, x) if ys else x * number(-1),
    "/": lambda x, y: x * inverse(y),
    "^": lambda x, n: x ** whole(n),
    "exp": exp,
    "log": log,
    "larger": larger,
    "list": lambda *xs: xs,
    "len": lambda xs: number(len(xs)),
    "rank": lambda rows: number(rank(rows)),
    "grad": gradient,
    "square": lambda x: [(">=", x**2, number(0))],
    "and": lambda *lists: [*chain(*lists)],
}
FUNCTIONS |= {head: partial(lambda *relation: [relation], head) for head in RELATIONS}
COLLECT: dict[Any, Callable[..., Any]] = {  # of the body's values for i = 0, ..., n - 1
    "vec": tuple,
    "sum": total,
    "largest": lambda xs: reduce(larger, xs),
    "all": lambda lists: [*chain(*lists)],
}
RESERVED = {*FUNCTIONS, *COLLECT, "let", "fn", "if", "implies"}


def bind(names: Environment, values: Environment) -> Environment:
    """The names with more of them, which are not those of the language."""
    if not RESERVED.isdisjoint(values):
        raise RejectedError(f"a name of the language is given another meaning: {list(values)}")
    return names | values


def evaluate(form: Any, names: Environment) -> Any:
    """A Number, a tuple, a function or a Statement."""
    work(1)
    if not isinstance(form, list):
        return names[form] if isinstance(form, str) else number(form)
    head, *rest = form
    if head == "let":
        (name, value), body = rest
        return evaluate(body, bind(names, {name: evaluate(value, names)}))
    if head == "fn":
        return lambda *xs: evaluate(rest[1], bind(names, dict(zip(rest[0], xs, strict=True))))
    if head in ("if", "implies"):
        decided = truth(evaluate(rest[0], names))
        if decided is None:
            raise RejectedError(f"the condition of an `{head}` is not decided")
        return evaluate(rest[1] if decided else [*rest, ["and"]][2], names)
    if isinstance(head, str) and head in COLLECT:
        name, size, body = rest
        times = range(whole(evaluate(size, names)))
        return COLLECT[head](evaluate(body, bind(names, {name: number(i)})) for i in times)
    function, *values = (evaluate(item, names) for item in form)
    if not isinstance(function, tuple):
        return function(*values)
    return reduce(lambda entries, i: entries[whole(i)], values, function)


# --- types
def require(form: Any, names: Environment, what: str) -> None:
    """Refuse a statement that is not proved."""
    if truth(evaluate(form, names)) is not True:
        raise RejectedError(f"not proved: {what}")


def check_type(value: Any, kind: Any, names: Environment) -> None:
    """A number's type is a function of the definitions. A size without a value gets one."""
    head, *rest = [kind] if isinstance(kind, str) else kind
    if head in ("list", "distribution"):
        if isinstance(rest[0], str) and value:
            names.setdefault(rest[0], number(len(value)))
        if not value or whole(evaluate(rest[0], names)) != len(value):
            raise RejectedError(f"a list of another size than {rest[0]}")
        for item in value:
            check_type(item, rest[1] if head == "list" else "nonnegative", names)
        if head == "distribution" and signs(total(value) - number(1)) != {0}:
            raise RejectedError("not proved: probabilities add up to one")
    elif head in ("index", "count"):
        if whole(value) >= (whole(evaluate(rest[0], names)) if rest else math.inf):
            raise RejectedError("a whole number out of range")
    elif truth(names[head](value)) is not True:
        raise RejectedError(f"not proved: type {head}")


# --- forms (kind id part ...)
Fields = dict[str, list[Any]]  # (name content ...) by name
FIELDS = {
    "claim": {"data", "some", "given", "assume", "printed", "corrected", "step", "by-hand"},
    "certificate": {"instance", "harmless"},
    "derivation": {"real", "nonnegative", "positive", "steps", "joined", "step"},
}
OPTIONAL = {
    "data",
    "some",
    "assume",
    "joined",
    "step",
    "by-hand",
    "real",
    "nonnegative",
    "positive",
}


def spelled(form: Any) -> str:
    """A form in a canonical spelling."""
    return "(" + " ".join(map(spelled, form)) + ")" if isinstance(form, list) else str(form)


def distinct(names: Iterable[Any], taken: Iterable[str] = ()) -> None:
    """Refuse a name that is given twice, that has a meaning already, or that is none."""
    before = set(taken)
    for name in names:
        if not isinstance(name, str) or name in before:
            raise RejectedError(f"{spelled(name)} is given twice, has a meaning or is no name")
        before.add(name)


def definitions(text: str) -> Environment:
    """The functions of (def (f x) body) and values of (def x body), each by those before it."""
    names = dict(FUNCTIONS)
    for _, head, body in read(text):
        name, *arguments = head if isinstance(head, list) else [head]
        distinct([name, *arguments], RESERVED)
        distinct([name], names)
        names[name] = evaluate(["fn", arguments, body] if arguments else body, names)
    return names


def entries(kind: str, text: str, prelude: str) -> dict[str, tuple[str, Fields]]:
    """Id to the digest of a form and the definitions, and to its parts, of all forms of a file."""
    result: dict[str, tuple[str, Fields]] = {}
    defined = spelled(read(prelude))
    for form in read(text):
        head, id_, *fields = form
        distinct([id_], result)
        distinct(name for name, *_ in fields)
        contents = {name: [] for name in FIELDS[kind]} | {name: rest for name, *rest in fields}
        empty = {name for name, content in contents.items() if not content}
        if head != kind or set(contents) != FIELDS[kind] or empty - OPTIONAL:
            raise RejectedError(f"{id_}: a part is unknown, lacking or empty")
        result[id_] = hashlib.sha256((defined + spelled(form)).encode()).hexdigest(), contents
    return result


# --- refutations
def instantiate(fields: Fields, instance: Any, names: Environment, refute: bool) -> Environment:
    """The names with the values of an instance, whose types and assumptions are proved.

    The constants of which a claim says that `some` exist are variables, except on the harmless
    instance. The `data` come before them, what is `given` after: it may depend on them.
    """
    kinds = [*fields["data"], *fields["some"], *fields["given"]]
    distinct((name for name, _ in kinds), RESERVED.union(names))
    free = [name for name, _ in fields["some"] if refute]
    if [name for name, _ in instance] != [name for name, _ in kinds if name not in free]:
        raise RejectedError("the instance does not give what the claim names, in its order")
    if any(kind != "positive" for _, kind in fields["some"]):
        raise RejectedError("constants that exist must be positive")
    names, forms = dict(names), dict(instance)
    for name, kind in kinds:
        distinct([name], names)  # not the size of an earlier list
        names[name] = variable("positive") if name in free else evaluate(forms[name], names)
        check_type(names[name], kind, names)
    for form in fields["assume"]:
        require(form, names, spelled(form))
    return names


def verify(claim: Fields, certificate: Fields, names: Environment) -> None:
    """Refuse a certificate that does not refute the claim."""
    printed, corrected = (["and", *claim[name]] for name in ("printed", "corrected"))
    here = instantiate(claim, certificate["instance"], names, refute=True)
    if truth(evaluate(printed, here)) is not False:
        raise RejectedError("the printed statement is not disproved")
    there = instantiate(claim, certificate["harmless"], names, refute=False)
    require(printed, there, "the printed statement on the harmless instance")
    where = here if evaluate(corrected, here) else there  # where it says something
    require(corrected, where, "the corrected statement")
    if not (evaluate(printed, there) and evaluate(corrected, where)):
        raise RejectedError("a statement says nothing on the instances")


def is_multiple(p: Number, q: Number) -> bool:
    """Whether p is q times a number that is not zero."""
    ratios = [p.terms[monomial] / c for monomial, c in q.terms.items() if monomial in p.terms]
    return bool(ratios) and signs(p - q * number(ratios[0])) == {0}


def derive(derivation: Fields, names: Environment) -> None:
    """Refuse a goal that does not follow, and an assumption that is idle, false or the goal."""
    names = dict(names)
    for kind in ("real", "nonnegative", "positive"):
        distinct(derivation[kind], RESERVED.union(names))
        names |= {name: variable(kind) for name in derivation[kind]}
    if bool(derivation["joined"]) == bool(derivation["step"]):
        raise RejectedError("either `joined` says how the symbols are read, or a `step` is written")
    for _, goal, *reasons in derivation["steps"]:
        ((head, first, second),) = evaluate(goal, names)
        gap = first - second
        signed = (name for kind in ("nonnegative", "positive") for name in derivation[kind])
        if any(is_multiple(gap, names[name]) for name in signed):
            raise RejectedError(f"an assumed sign is the goal: {spelled(goal)}")
        for name, multiplier, assumption in reasons:
            ((relation, high, low),) = fact = evaluate(assumption, names)
            factor = evaluate(multiplier, names)
            term = factor * (high - low)
            is_goal = is_multiple(high - low, first - second) or (
                0 not in signs(factor) and signs(first - second - term) == {0}
            )
            is_fair = name[0] == '"' and truth(fact) is not False and not is_goal
            is_usable = relation == "=" or (relation == head == ">=" and signs(factor) <= {0, 1})
            if not (is_usable and (is_fair or assumption[0] == "square")) or signs(term) == {0}:
                raise RejectedError(f"of no use: {spelled(multiplier)} {spelled(assumption)}")
            gap -= term
        if head not in ("=", ">=") or signs(gap) != {0}:
            raise RejectedError(f"not the sum of its terms: {spelled(goal)}")


def uses(derivation: Fields) -> list[str]:
    """All that a derivation assumes: what it names, then the signs of its variables."""
    named = {reason[0] for _, _, *reasons in derivation["steps"] for reason in reasons}
    kinds = {"nonnegative": ">= 0", "positive": "> 0"}
    assumed = [
        f"{', '.join(derivation[kind])} {sign}" for kind, sign in kinds.items() if derivation[kind]
    ]
    return [*sorted(name.strip('"') for name in named - {"square"}), *assumed]


# --- all of them
FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def certify(texts: dict[str, str]) -> dict[str, str]:
    """Id to what is wrong, or nothing, of all that is in the files, which are given by name."""
    if hashlib.sha256(texts["claims"].encode()).hexdigest() != LIST:
        raise RejectedError("claims.lisp is not the list that this file was written for")
    listed = {id_: [d.strip('"') for d in digests] for _, id_, *digests in read(texts["claims"])}
    prelude, problems = texts["prelude"], {}
    names = definitions(prelude)
    claims = entries("claim", texts["statements"], prelude)
    claims |= entries("derivation", texts["derivations"], prelude)
    certificates = entries("certificate", texts["certificates"], prelude)
    for id_ in {**listed, **claims, **certificates}:
        WORKED[0] = 0
        try:
            digest, claim = claims[id_]
            if listed[id_][0] != digest:
                raise RejectedError("the statement is not the one that is listed")
            if "steps" in claim:
                derive(claim, names)
            else:
                instance, certificate = certificates[id_]
                if listed[id_][1] != instance:
                    raise RejectedError("the certificate is not the one that is listed")
                verify(claim, certificate, names)
            problems[id_] = ""
        except FAULTS as error:
            problems[id_] = repr(error)[:200]
    return problems


def main() -> int:
    """Verify all that is listed; 1 where something is lacking or rejected."""
    try:
        texts = {path.stem: path.read_bytes().decode("ascii") for path in FOLDER.glob("*.lisp")}
        problems = certify(texts)
        derived = entries("derivation", texts["derivations"], texts["prelude"])
    except (OSError, *FAULTS) as error:
        print(f"rejected: {repr(error)[:200]}")
        return 1
    assumed = {id_: "; ".join(uses(fields)) for id_, (_, fields) in derived.items()}
    for id_, problem in problems.items():
        listing = f". Uses: {assumed[id_] or 'nothing'}" if id_ in assumed else ""
        print(f"{id_}: {problem or 'certified' + listing}")
    certified = [id_ for id_, problem in problems.items() if not problem]
    print(f"{len(certified)} of {len(problems)} certified")
    return int(len(certified) < len(problems))


if __name__ == "__main__":
    sys.exit(main())
