"""How much of a claim its evidence pins down: instances hunted for, and constants changed.

Drawn instances leave room below an inequality; `hunt` climbs from them to tight ones. Then every
number in the code of a check is moved by a tenth, up and down: a statement that is stronger for it
must be rejected at one of the tight instances, or it is one that nobody has refuted.
"""

import ast
import inspect
import math
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings, target

from proofs_checks.claims import Check, CheckResult, Claim
from proofs_checks.oracle import polyak

QUIET: dict[str, Any] = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "print_blob": False,
}
NUDGE = 0.1  # by which a number is moved, of its size
SMALL = 1e-3  # smaller numbers are tolerances


def hunt(claim: Claim, examples: int, add: Callable[[CheckResult, Any], None]) -> None:
    """Climb to instances with little slack; every valid instance can be reached.

    Hypothesis changes what was drawn, one choice at a time, where that lowers the slack.
    """

    @settings(max_examples=examples, phases=(Phase.generate, Phase.target), **QUIET)
    @given(claim.instances)
    def body(instance: Any) -> None:
        result = claim.surviving(instance)
        add(result, instance)
        if result.slack > 0:
            target(-math.log(result.slack))

    body()


# --- faults
class Mutant(NamedTuple):
    """A fault in words, and what puts it in the place of the sound code."""

    fault: str
    holder: Any  # a module, or a class
    name: str
    code: Any


def _numbers(tree: ast.AST) -> Iterator[Any]:
    """Numbers of a function, without indices, axes and tolerances."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Subscript):
            yield from _numbers(node.value)
        elif isinstance(node, ast.keyword) and node.arg in ("axis", "strict"):
            continue
        elif isinstance(node, ast.Constant):
            if type(node.value) is int or (isinstance(node.value, float) and node.value > SMALL):
                yield node
        else:
            yield from _numbers(node)


def _faults(function: FunctionType, holder: Any) -> Iterator[Mutant]:
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(definition, ast.FunctionDef):
        return
    shaped = isinstance(holder, type) and bool(definition.decorator_list)  # a property
    definition.decorator_list, definition.returns = [], None
    for node in _numbers(definition):
        sound = node.value
        for nudge in (-NUDGE, NUDGE):
            node.value = sound * (1 + nudge) if sound else nudge
            fault = f"{sound} -> {node.value:g} in {function.__name__}, line {node.lineno}"
            local: dict[str, Any] = {}
            module = ast.fix_missing_locations(ast.Module([definition], []))
            with suppress(TypeError):  # of a default that wants a whole number
                exec(compile(module, "<mutant>", "exec"), function.__globals__, local)
            if not local:
                continue
            code = local[function.__name__]
            yield Mutant(fault, holder, function.__name__, property(code) if shaped else code)
        node.value = sound


def mutants(check: Check) -> Iterator[Mutant]:
    """Faults of a check, of the functions of its module that it names, and of the constants."""
    assert isinstance(check, FunctionType)
    functions, known = [check], check.__globals__
    module = sys.modules[check.__module__]
    for name in check.__code__.co_names:
        helper = known.get(name)
        if isinstance(helper, FunctionType) and helper is not check:
            here = helper.__code__.co_filename == check.__code__.co_filename
            functions += [helper] if here else []  # a strategy has another file
    for function in functions:
        yield from _faults(function, module)
    for name in check.__code__.co_names:
        number = known.get(name)
        if name.isupper() and isinstance(number, int | float) and abs(number) > SMALL:
            for factor in (1 - NUDGE, 1 + NUDGE):
                yield Mutant(f"{name} = {number * factor:g}", module, name, number * factor)
    for kind, word in ((polyak.Constants, "constants"), (polyak.Sizes, "sizes")):
        if word in check.__code__.co_names:
            for value in vars(kind).values():
                constant = value.fget if isinstance(value, property) else value
                if isinstance(constant, FunctionType) and constant.__name__[0] != "_":
                    yield from _faults(constant, kind)


@contextmanager
def _planted(mutant: Mutant) -> Iterator[None]:
    put = partial(setattr, mutant.holder)
    sound = vars(mutant.holder)[mutant.name]
    put(mutant.name, mutant.code)
    try:
        yield
    finally:
        put(mutant.name, sound)


class Pinned(NamedTuple):
    """Faults that make the statement stronger: how many are rejected, and the others in words."""

    rejected: int
    unnoticed: tuple[str, ...]

    @property
    def number(self) -> int:
        return self.rejected + len(self.unnoticed)


def pinned(check: Check, instances: Sequence[Any]) -> Pinned:
    """Which faults of a check are rejected at these instances, of those that are stronger there.

    A fault that changes nothing, or weakens the statement everywhere, cannot be refuted; one that
    stops the check says nothing.
    """
    assert isinstance(check, FunctionType)
    sound = [check(instance) for instance in instances]
    rejected, unnoticed = 0, []
    for mutant in mutants(check):
        if mutant.name == check.__name__:
            stronger, broken = _tried(mutant.code, instances, sound)
        else:
            with _planted(mutant):
                stronger, broken = _tried(check, instances, sound)
        rejected += broken
        if stronger and not broken:
            unnoticed.append(mutant.fault)
    return Pinned(rejected, tuple(unnoticed))


def _tried(
    check: Check, instances: Sequence[Any], sound: Sequence[CheckResult]
) -> tuple[bool, bool]:
    """Whether a fault makes the statement stronger at an instance, and whether it fails at one."""
    stronger = False
    for instance, before in zip(instances, sound, strict=True):
        try:
            with warnings.catch_warnings(action="ignore"):
                after = check(instance)
                stronger = stronger or after.excess > before.excess + 1e-9 * _size(after)
                if before.holds and not after.holds:
                    return True, True
        except Exception:  # a number that is a size, say: no statement any more
            return False, False
    return stronger, False


def _size(result: CheckResult) -> float:
    return abs(float(result.observed)) + abs(float(result.bound))
