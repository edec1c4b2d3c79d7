"""Checks of input from outside: each returns the value in its canonical form, or raises."""

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike


class InputError(ValueError):
    """Bad input, found before any work starts.

    Args:
        field: name of the argument or column at fault.
        value: what it held (shortened in the message; NumPy scalars become plain numbers).
        hint: what to do about it, as a sentence.

    The message is one line, whatever the value.
    """

    def __init__(self, field: str, value: object, hint: str) -> None:
        if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
            value = value.item()  # type: ignore[attr-defined]  # NumPy's scalars; nan, not np.float64(nan)
        text = _one_line(repr(value))
        if len(text) > 120:
            text = text[:117] + "..."
        self.field = field
        self.value = value
        self.hint = _one_line(hint)
        super().__init__(f"{field} = {text}: {self.hint}")


class MissingError(InputError):
    """A package that is asked for is not installed."""


TORCH = (
    "it needs torch, which is not installed: pip install torch --index-url"
    " https://download.pytorch.org/whl/cpu"
)


@contextmanager
def needs_torch(field: str, value: object) -> Iterator[None]:
    """Within it a missing torch is an error that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "torch":
            raise
        raise MissingError(field, value, TORCH) from error


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines())


# A class in brackets, as jaxtyping needs: NDArray is a type alias from NumPy 2.5 on.
Array = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
Integers = np.ndarray[tuple[Any, ...], np.dtype[np.int64]]
Booleans = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]


Function = TypeVar("Function", bound=Callable[..., Any])
CHECK_SHAPES = "GLADIUS_CHECK_SHAPES"  # environment: set in the tests


def shaped(function: Function) -> Function:
    """Hold each call to the jaxtyping shapes of the signature; in the tests only."""
    if CHECK_SHAPES not in os.environ:
        return function
    from beartype import beartype
    from jaxtyping import jaxtyped

    checked: Function = jaxtyped(typechecker=beartype)(function)
    return checked


ROW_SUM_TOLERANCE = 1e-9  # rows typed with nine digits pass; a forgotten state does not


def check_discount(discount: float) -> float:
    """beta as a float in (0, 1), or an error."""
    try:
        beta = float(discount)
    except (TypeError, ValueError):
        raise InputError("discount", discount, "give a number strictly between 0 and 1") from None
    if not 0.0 < beta < 1.0:
        raise InputError("discount", discount, "beta must lie strictly between 0 and 1")
    return beta


def check_options(function: Callable[..., object], options: Iterable[str]) -> None:
    """Raise where an option is no keyword-only argument of a function, or no field of a class."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return  # it checks its own
    is_class = isinstance(function, type)
    names = sorted(p.name for p in parameters if is_class or p.kind is p.KEYWORD_ONLY)
    for name in options:
        if name not in names:
            raise InputError("option", name, f"choose from {names}")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise where the value is none of the choices."""
    if value not in choices:
        raise InputError(name, value, f"choose one of {tuple(choices)}")


def check_positive(name: str, value: object, hint: str = "give a positive number") -> None:
    """Raise where the value is no positive finite number."""
    is_number = isinstance(value, int | float | np.number) and np.isfinite(value)
    if not (is_number and value > 0):  # type: ignore[operator]  # a number, as was just asked
        raise InputError(name, value, hint)


def check_whole(name: str, value: int, least: int) -> int:
    """value as an int of at least `least`, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(name, value, f"give a whole number of at least {least}")
    return int(value)


def check_widths(name: str, value: object) -> tuple[int, ...]:
    """Widths of a network's hidden layers, one or more, each at least 1, or an error."""
    widths = tuple(value) if isinstance(value, Iterable) else ()
    if not widths or not all(isinstance(w, int | np.integer) and w >= 1 for w in widths):
        raise InputError(name, value, "give the width of each hidden layer, such as (10, 10)")
    return widths


def asked(name: str, function: Callable[..., Any], *given: object) -> Any:
    """What a user's function returns, or an error that says what it raised."""
    try:
        return function(*given)
    except InputError:
        raise
    except Exception as error:
        kinds = [
            f"shape {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__ for x in given
        ]
        hint = f"called with {', '.join(kinds)} it raised {type(error).__name__}: {error}"
        raise InputError(name, function, hint) from error


def check_finite(name: str, value: ArrayLike, hint: str = "give a number") -> Array:
    """value as a float64 array of finite numbers, or an error naming the first bad entry.

    Args:
        name: of the argument or column.
        value: a number, or numbers.
        hint: of an entry that is no number.
    """
    if np.ma.is_masked(value):
        raise InputError(name, "masked entries", "fill or remove what is masked")
    try:
        entries = np.asarray(value)
        if entries.dtype.kind not in "biufO":  # complex or dates would be cut down silently
            raise TypeError
        array = entries.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise _not_numbers(name, value, hint) from None
    if not np.all(np.isfinite(array)):
        raise _entry_error(name, array, ~np.isfinite(array), "remove NaN and infinite entries")
    return array


def _entry_error(name: str, array: Array, is_wrong: Booleans, hint: str) -> InputError:
    """The error that shows the first wrong entry."""
    index = tuple(np.argwhere(is_wrong)[0].tolist())
    return InputError(f"{name}{list(index)}" if index else name, float(array[index]), hint)


def _not_numbers(name: str, value: ArrayLike, hint: str) -> InputError:
    """The error that shows the first entry that is no number, or that the array is ragged."""
    try:
        entries = np.asarray(value).astype(object)
        first = (0,) * entries.ndim  # of text such as "3"
        index = next((i for i, entry in np.ndenumerate(entries) if not _is_number(entry)), first)
        return InputError(f"{name}{list(index)}" if index else name, entries[index], hint)
    except (ValueError, IndexError):
        return InputError(name, value, "give a rectangular array of numbers")


def _is_number(entry: Any) -> bool:
    try:
        float(entry)
    except (TypeError, ValueError):
        return False
    return True


def check_probabilities(name: str, rows: Array) -> None:
    """Raise unless the last axis holds probabilities that sum to one."""
    if np.any(rows < 0):
        raise _entry_error(name, rows, rows < 0, "probabilities cannot be negative")
    sums = rows.sum(axis=-1)
    wrong = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if np.any(wrong):
        raise _entry_error(name, sums, wrong, "the row must sum to one")


def check_rows(name: str, transition: Array) -> None:
    """Raise unless the last axis holds probabilities; what lacks to one is that of an end."""
    end = np.maximum(1.0 - transition.sum(axis=-1, keepdims=True), 0.0)
    check_probabilities(name, np.append(transition, end, axis=-1))


def check_generators(
    rng: int | np.random.Generator | Sequence[np.random.Generator],
) -> list[np.random.Generator]:
    """A seed, a generator, or a non-empty sequence of generators, as a list."""
    if isinstance(rng, Sequence) and rng:
        return generators(rng, len(rng))
    return generators(rng, 1) if isinstance(rng, np.random.Generator) else [seeded(rng)]


def generators(
    rng: int | np.random.Generator | Sequence[np.random.Generator], sets: int
) -> list[np.random.Generator]:
    """One generator for each data set: from a seed or a generator, or as given."""
    if isinstance(rng, np.random.Generator):
        return [rng] if sets == 1 else rng.spawn(sets)
    if not isinstance(rng, Sequence):
        seeded(rng)
        keys = [np.random.SeedSequence(int(rng), spawn_key=(r,)) for r in range(sets)]
        return [np.random.default_rng(key) for key in keys]
    if len(rng) != sets or not all(isinstance(g, np.random.Generator) for g in rng):
        hint = f"give a seed, a generator, or {sets} generators, one a data set"
        raise InputError("rng", rng, hint)
    return list(rng)


def generator(rng: int | np.random.Generator) -> np.random.Generator:
    """A generator as it is, or that of a seed."""
    return rng if isinstance(rng, np.random.Generator) else seeded(rng)


def seeded(rng: object) -> np.random.Generator:
    """The generator of a seed."""
    if not isinstance(rng, int | np.integer) or isinstance(rng, bool) or rng < 0:
        raise InputError("rng", rng, "give a seed, a whole number from 0, or a numpy Generator")
    return np.random.default_rng(int(rng))
