"""What a file of results may name, and what its formulas may compute.

A file names functions and classes as `module:name`, and `load` imports what is named. So whoever
writes the file chooses code that runs where it is read. Without `trust` that is code of this
library alone: its data classes, its named tuples, and the functions below, which map arrays to
arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any

from gladius.own_data.formula import FormulaDesign
from gladius.validate import InputError, MissingError

# module of gladius -> functions of r, Q and forms that a saved fit holds. No file may name others:
# some write files, import what their arguments name, or read formulas.
FUNCTIONS = {
    "baselines.avi": ("rescaled",),
    "baselines.bc": ("normalised", "reward_of_q"),
    "baselines.iq_learn": ("look_up",),
    "baselines.pqr": ("network_q",),
    "baselines.rp": ("cell_design", "on_cells"),
    "baselines.samq": ("of_clusters",),
    "baselines.semi_gradient": ("combination",),
    "baselines.td_ccp": ("policy_value",),
    "designs.bus": ("bus_design", "upkeep_design"),
    "own_data.erm.estimator": ("anchored_line",),
    "model.frequencies": ("anchored_q", "continuation", "weighted_sum"),
    "model.parametric": ("on_grid",),
    "model.reward_form": ("anchor_offset", "intercepts_and_slopes"),
    "paper.function_classes": ("network_outputs",),
}
ALLOWED = {f"gladius.{module}:{name}" for module, names in FUNCTIONS.items() for name in names}
ALLOWED |= {"numpy:float32", "numpy:float64"}

# what a formula of a file may call
CALLS = {"I", "C", "bs", "cc", "cr", "cs", "center", "poly", "scale", "standardize"}
CALLS |= {"exp", "exp2", "exp10", "log", "log2", "log10"}
CALLS |= {f"np.{name}" for name in ("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt")}
CALLS |= {f"np.{name}" for name in ("abs", "sign", "square", "floor", "ceil", "round", "where")}
CALLS |= {f"np.{name}" for name in ("minimum", "maximum", "sin", "cos", "tan", "tanh")}
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr)


class UntrustedError(InputError):
    """A file names code, or has a formula, that `load` does not take without trust."""


def function(name: object, trust: Sequence[str]) -> Any:
    """The function `module:name` of a file."""
    module = str(name).partition(":")[0]
    if name not in ALLOWED and not is_trusted(module, trust):
        raise _untrusted(
            f"names {name}, which is no function of gladius that a fit is made of", module
        )
    return defined(str(name))


def record(name: object, trust: Sequence[str]) -> Any:
    """The data class or named tuple `module:name` of a file; other classes may run any code."""
    module = str(name).partition(":")[0]
    packages = module.split(".")
    # designs are no estimates: a simulator imports what its fields name
    is_own = packages[0] == "gladius" and packages[1:2] != ["designs"]
    if not (is_own or is_trusted(module, trust)):
        raise _untrusted(
            f"names {name}, which is no class of gladius that a fit is made of", module
        )
    kind = defined(str(name))
    if not (isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))):
        raise ValueError(f"{name} is neither a data class nor a named tuple")
    return kind


def defined(name: str) -> Any:
    """The function or class `module:name`, which that very module defines; it is imported.

    Raises:
        ValueError: it is something else that can be reached from there, such as a module.
    """
    module, _, path = name.partition(":")
    first, *others = path.split(".")
    value = vars(import_module(module)).get(first)  # no `__getattr__` answers
    for step in others:
        value = getattr(value, step, None) if isinstance(value, type) else None
    if (getattr(value, "__module__", ""), getattr(value, "__qualname__", "")) != (module, path):
        raise ValueError(f"{name} is no function or class that this module defines")
    return value


def is_trusted(module: str, trust: Sequence[str]) -> bool:
    """Whether a module is one of those, or within one."""
    return any(module == one or module.startswith(f"{one}.") for one in trust)


def check_formula(design: FormulaDesign) -> None:
    """Raise where a formula is more than arithmetic of its variables and calls of CALLS."""
    try:
        from formulaic import Formula
        from formulaic.utils.code import sanitize_variable_names
    except ImportError as error:
        raise MissingError("reward", design.formula, "install formulaic") from error
    variables = {*design.features, *design.actions}
    try:
        for factor in {factor for term in Formula(design.formula) for factor in term.factors}:
            if factor.eval_method.value == "lookup":
                beyond = {factor.expr} - variables
            else:
                quoted: dict[str, str] = {}  # name in Python -> name in backquotes
                tree = ast.parse(sanitize_variable_names(factor.expr, {}, quoted), mode="eval")
                allowed = variables | {name for name, of in quoted.items() if of in variables}
                beyond = set(_beyond(tree.body, allowed))
            if beyond:
                raise ValueError(f"it has {min(beyond)}")
    except Exception as error:  # formulaic and `ast` have one for each kind of fault
        reason = f"{design.formula!r} is more than arithmetic of {sorted(variables)} and calls"
        reason += f" such as np.log: {str(error).splitlines()[0]}"
        raise _untrusted(
            f"has a formula that may run any code, for {reason}", "formulaic"
        ) from error


def _beyond(node: ast.expr, variables: set[str]) -> Iterator[str]:
    """What in an expression is neither arithmetic of variables nor a call of CALLS.

    Texts are, for formulaic puts them into code. So are powers of numbers, which may take hours.
    """
    below: list[ast.expr] = []
    match node:
        case ast.Constant(value=bool() | int() | float() | None):
            return
        case ast.Name(id=name) if name in variables:
            return
        case ast.Call(func=called) if ast.unparse(called) in CALLS:
            names = [one.arg for one in node.keywords]
            if any(name is None or name.startswith("_") for name in names):
                yield ast.unparse(node)
            for given in (*node.args, *(one.value for one in node.keywords)):
                below += given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
        case ast.BinOp(op=ast.Pow(), right=ast.Constant()):
            if not any(isinstance(one, ast.Name) for one in ast.walk(node.left)):
                yield ast.unparse(node)
            below = [node.left, node.right]
        case ast.BinOp() if isinstance(node.op, OPERATORS):
            below = [node.left, node.right]
        case ast.UnaryOp():
            below = [node.operand]
        case ast.Compare():
            below = [node.left, *node.comparators]
        case _:
            yield ast.unparse(node)
    for one in below:
        yield from _beyond(one, variables)


def _untrusted(what: str, module: str) -> UntrustedError:
    hint = "load takes code of gladius alone. If you trust whoever wrote the folder with all that"
    return UntrustedError(
        "trust", (), f"results.json {what}: {hint} you may do, give trust=({module!r},)"
    )
