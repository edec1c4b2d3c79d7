"""Results in two files, `results.json` and `arrays.npz`, that a person and any language can read.

A value is written as JSON, an array as an entry of the second file. An object of this library is
its class and its fields. A function is its module and name: a form of the reward has to be one that
can be imported, or a formula. `gladius.own_data.results.trusted` says which names are read. A third
file, `SHA256SUMS`, has the checksums of both, which `sha256sum --check SHA256SUMS` verifies too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import partial
from inspect import getattr_static, ismethod
from pathlib import Path
from typing import Any

import numpy as np

from gladius.model.estimate import Refit
from gladius.model.inversion import FreeBasis
from gladius.model.parametric import FormBasis
from gladius.own_data.formula import FormulaDesign
from gladius.own_data.results import trusted
from gladius.validate import Array, InputError, MissingError, needs_torch

FILES = ("results.json", "arrays.npz")
CHECKSUMS = "SHA256SUMS"
FORMAT, READ = 3, (2, 3)  # of the files; 0.4 wrote 2, which has no checksums
# beginning of a name in a file of 0.4 -> today's
MOVED = {
    "erm.": "own_data.erm.",
    "model.formula:": "own_data.formula:",
    "results.": "own_data.results.",
}
WITHDRAWN = "penalty"  # an option of fits of 0.4
SEQUENCES = {"tuple": tuple, "list": list}


def save(value: object, folder: Path | str) -> None:
    """Write an object to a folder, which may be new.

    Raises:
        InputError: it holds a function that cannot be imported, or an object of another library;
            nothing is written. Or the folder cannot be written.
    """
    arrays: dict[str, Array] = {}
    text = json.dumps({"format": FORMAT, "value": _encoded(value, arrays)}, indent=1)
    json_file, array_file = _files(folder)
    try:
        json_file.parent.mkdir(exist_ok=True, parents=True)
        json_file.write_text(text, "utf-8")
        np.savez_compressed(array_file, **arrays)  # type: ignore[arg-type]  # no entry is a flag
        sums = "".join(f"{_sha256(file)}  {file.name}\n" for file in (json_file, array_file))
        json_file.with_name(CHECKSUMS).write_text(sums, "utf-8", newline="\n")
    except OSError as error:
        hint = f"it cannot be written, {error.strerror}: name a folder, which may be new"
        raise InputError("folder", str(folder), hint) from error


def load(folder: Path | str, *, trust: Sequence[str] = ()) -> Any:
    """The object that `save` wrote.

    A file names functions and classes. Only those of gladius that a fit is made of are imported,
    and a formula is read only where it is arithmetic of its variables, so that a folder of somebody
    else runs no other code. A function or a class of yours is imported if you trust its module.

    The checksums in `SHA256SUMS` find accidents, such as a file that is cut or was edited. They are
    no protection from malice: whoever changes a file can write its checksum as well. Folders of
    0.4 have none, and those of 0.3 are not read. A fit whose lambda was given, as 0.4 allowed, is
    refused, because no refit here would be that fit.

    Args:
        folder: that of `save`.
        trust: modules, or packages, whose functions and classes the files may name. They may then
            run all that these can do. With `"formulaic"` any formula is read, and formulas may run
            any code.

    Raises:
        InputError: a file is missing, cut, edited, or of a later release, and the message names it;
            it names code that is not trusted; or the fit has an option that was withdrawn.
    """
    if isinstance(trust, str) or not all(isinstance(name, str) for name in trust):
        raise InputError("trust", trust, "give a list of modules, such as ('mymodule',)")
    json_file, array_file = _files(folder)
    for needed in (json_file, array_file):
        if not needed.is_file():
            raise InputError("folder", str(folder), f"it has no {needed.name}: name one of `save`")
    has_sums = _check_sums(json_file.parent)
    with _intact(json_file):
        text = json_file.read_text("utf-8")
        content = json.loads(text)
        number = int(content.get("format", 1))  # 0.3 named none
    if number not in READ:
        hint = f"this release reads formats {READ}: load it with the release that wrote it"
        raise InputError("format", number, hint)
    if number == FORMAT and not has_sums:
        raise InputError("folder", str(folder), f"it has no {CHECKSUMS}: name one of `save`")
    with _intact(array_file), array_file.open("rb") as file, np.load(file) as stored:
        arrays = dict(stored)  # of pickled objects there are none: `np.load` refuses them
    with _intact(json_file), needs_torch("folder", str(folder)):
        content = content if number == FORMAT else json.loads(_in_todays_names(text))
        value = _decoded(content["value"], arrays, trust)
    for one in value if isinstance(value, list) else [value]:
        if WITHDRAWN in getattr(one, "options", ()):
            hint = "no fit has this option now, and errors need a refit: load it with release 0.4.0"
            raise InputError("option", WITHDRAWN, hint)
    return value


@contextmanager
def _intact(file: Path) -> Iterator[None]:
    """Within it whatever a damaged file raises is an error that names the file."""
    try:
        yield
    except (trusted.UntrustedError, MissingError):
        raise
    except Exception as error:  # of JSON, of zip, or of whatever an edited field is handed to
        raise _damaged(file, f"{type(error).__name__}: {error}") from error


def _damaged(file: Path, what: str) -> InputError:
    hint = f"{file.name} is not as `save` wrote it ({what}): take an unchanged copy of the folder"
    return InputError("folder", str(file.parent), hint)


def _check_sums(folder: Path) -> bool:
    """Whether the folder has checksums; an error that names the file which does not agree."""
    sums = folder / CHECKSUMS
    if not sums.is_file():
        return False
    lines = sums.read_text("utf-8", "replace").splitlines()
    for name in FILES:
        written = [line.split()[0] for line in lines if line.split()[1:] == [name]]
        if len(written) != 1:
            raise _damaged(sums, f"it should have one checksum of {name}")
        if written != [_sha256(folder / name)]:
            raise _damaged(folder / name, f"its checksum differs from that in {CHECKSUMS}")
    return True


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _files(folder: Path | str) -> list[Path]:
    if not isinstance(folder, Path | str):
        raise InputError("folder", folder, "give the path of a folder")
    return [Path(folder) / name for name in FILES]


def _in_todays_names(text: str) -> str:
    """The JSON file of 0.4, whose modules have moved since."""
    for old, new in MOVED.items():
        text = text.replace(f'"gladius.{old}', f'"gladius.{new}')
    return text


def _encoded(value: Any, arrays: dict[str, Array]) -> Any:
    """What stands in the JSON file for a value."""

    def again(entry: Any) -> Any:
        return _encoded(entry, arrays)

    if isinstance(value, FormBasis | FreeBasis):
        value = Refit()
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic):
        return again(value.item())
    if type(value).__name__ == "Tensor":  # an import of torch would take seconds
        return {"tensor": again(value.numpy(force=True))}
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return {"objects": [again(entry) for entry in value.tolist()]}
        key = f"array_{len(arrays)}"
        arrays[key] = value
        return {"array": key}
    if type(value).__name__ in SEQUENCES:
        return {type(value).__name__: [again(entry) for entry in value]}
    if isinstance(value, dict):
        return {"dict": [[again(key), again(entry)] for key, entry in value.items()]}
    if isinstance(value, partial):
        return {"partial": [again(entry) for entry in (value.func, value.args, value.keywords)]}
    if ismethod(value):
        _name(value.__func__)
        return {"method": [again(value.__self__), value.__name__]}
    of: Any = type(value)
    names = [one.name for one in fields(of) if one.init] if is_dataclass(of) else None
    names = getattr(of, "_fields", names)  # of a named tuple
    if names is None:
        return {"name": _name(value)}
    return {"object": _name(of), "fields": {n: again(getattr(value, n)) for n in names}}


def _name(value: Any) -> str:
    """module:name of a function or class that can be imported, and then loaded."""
    module, name = (getattr(value, key, "") for key in ("__module__", "__qualname__"))
    text = f"{module}:{name}"
    try:
        is_its = module != "__main__" and trusted.defined(text) is value
    except (ImportError, ValueError):
        is_its = False
    if not is_its:
        hint = "it cannot be imported by name: put the function in a module, or use pickle"
        raise InputError("save", value, hint)
    return text


def _decoded(value: Any, arrays: dict[str, Array], trust: Sequence[str]) -> Any:
    """The value for which an entry of the JSON file stands."""
    if not isinstance(value, dict):
        return value

    def again(entry: Any) -> Any:
        return _decoded(entry, arrays, trust)

    ((kind, content), *_) = value.items()
    if kind == "object":
        entries = {name: again(entry) for name, entry in value["fields"].items()}
        made = trusted.record(content, trust)(**entries)
        if isinstance(made, FormulaDesign) and not trusted.is_trusted("formulaic", trust):
            trusted.check_formula(made)
        return made
    if kind in SEQUENCES:
        return SEQUENCES[kind](again(entry) for entry in content)
    if kind == "partial":
        function, given, named = map(again, content)
        return partial(function, *given, **named)
    if kind == "method":
        owner = again(content[0])
        function = getattr_static(type(owner), content[1])  # no property answers
        name = f"{function.__module__}:{function.__qualname__}"
        return trusted.function(name, trust).__get__(owner)
    if kind == "array":
        return arrays[content]
    if kind == "tensor":
        from torch import as_tensor

        return as_tensor(again(content))
    if kind == "objects":
        objects = np.empty(len(content), dtype=object)
        objects[:] = [again(entry) for entry in content]
        return objects
    if kind == "dict":
        return {again(key): again(entry) for key, entry in content}
    if kind == "name":
        return trusted.function(content, trust)
    raise ValueError(f"{kind} is no kind of entry")
