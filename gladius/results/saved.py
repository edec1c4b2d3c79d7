"""Results in two files, `results.json` and `arrays.npz`, that a person and any language can read.

A value is written as JSON, an array as an entry of the second file. An object of this library is
its class and its fields. A function is its module and name: a form of the reward has to be one that
can be imported, or a formula.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from inspect import ismethod
from pathlib import Path
from typing import Any

import numpy as np

from gladius.model.estimate import Refit
from gladius.model.inversion import FreeBasis
from gladius.model.parametric import FormBasis
from gladius.validate import Array, InputError

FILES = ("results.json", "arrays.npz")
FORMAT = 2  # of the files; those of 0.3, the first, do not name theirs
# module that a file of 0.3 may name -> today's, both within `gladius`
MOVED = {
    "anchor": "panel.anchor",
    "baselines.choice_logit": "solvers.choice_logit",
    "baselines.plug_in": "model.inversion",
    "estimate": "model.estimate",
    "estimator": "erm.estimator",
    "exchange": "model.state_anchor",
    "formula": "model.formula",
    "function_classes": "paper.function_classes",
    "increments": "model.increments",
    "linear_reward": "model.reward_form",
    "mdp": "model.mdp",
    "networks": "solvers.networks",
    "parametric": "model.parametric",
    "results": "results.results",
    "rows.data": "erm.observations.features",
    "rows.network": "erm.observations.network",
    "rows.sparse": "erm.observations.sparse",
    "smooth": "erm.smooth",
    "transition_probabilities": "model.frequencies",
    "transitions": "panel.record",
    "worlds.bus": "designs.bus",
    "worlds.inputs_bus": "designs.inputs_bus",
}
DROPPED = ("wider",)  # fields of objects in older files
# methods whose results in older files have standard errors, which are found again
HAD_ERRORS = {"nfxp", "ccp", "mpec", "ml_irl[exact]", "plug_in"}
HAD_ERRORS |= {"profiled_erm smooth", "profiled_erm sparse"}
SEQUENCES = {"tuple": tuple, "list": list}


def save(value: object, folder: Path | str) -> None:
    """Write an object to a folder, which may be new.

    Raises:
        InputError: it holds a function that cannot be imported, or an object of another library;
            nothing is written.
    """
    arrays: dict[str, Array] = {}
    text = json.dumps({"format": FORMAT, "value": _encoded(value, arrays)}, indent=1)
    json_file, array_file = _files(folder)
    json_file.parent.mkdir(exist_ok=True, parents=True)
    json_file.write_text(text, "utf-8")
    np.savez_compressed(array_file, **arrays)  # type: ignore[arg-type]  # no entry is a flag


def load(folder: Path | str) -> Any:
    """The object that `save` wrote.

    Load only files that you trust: like a pickle, a file may name any function.
    """
    json_file, array_file = _files(folder)
    for file in (json_file, array_file):
        if not file.is_file():
            raise InputError("folder", str(folder), f"it has no {file.name}: name one of `save`")
    with np.load(array_file, allow_pickle=False) as arrays:
        return _decoded(_read(json_file), dict(arrays))


def _files(folder: Path | str) -> list[Path]:
    if not isinstance(folder, Path | str):
        raise InputError("folder", folder, "give the path of a folder")
    return [Path(folder) / name for name in FILES]


def _read(file: Path) -> Any:
    """What the JSON file says, in today's names."""
    text = file.read_text("utf-8")
    content = json.loads(text)
    if "format" not in content:
        for old, new in MOVED.items():
            text = text.replace(f'"gladius.{old}:', f'"gladius.{new}:')
        text = text.replace("paper.function_classes:anchored_line", "erm.estimator:anchored_line")
        if re.search('"gladius (smooth|sparse|mlp)"', text):  # our own estimator
            text = re.sub('"gladius( smooth| sparse| mlp|)"', r'"profiled_erm\1"', text)
        return json.loads(text)
    if content["format"] != FORMAT:
        hint = f"this release reads formats 1 and {FORMAT}: load it with the release that wrote it"
        raise InputError("format", content["format"], hint)
    return content["value"]


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
        return {"method": [again(value.__self__), value.__name__]}
    of: Any = type(value)
    names = [one.name for one in fields(of) if one.init] if is_dataclass(of) else None
    names = getattr(of, "_fields", names)  # of a named tuple
    if names is None:
        return {"name": _name(value)}
    return {"object": _name(of), "fields": {n: again(getattr(value, n)) for n in names}}


def _name(value: Any) -> str:
    """module:name of a function or class that can be imported."""
    module, name = (getattr(value, key, "") for key in ("__module__", "__qualname__"))
    text = f"{module}:{name}"
    try:
        is_its = module != "__main__" and _found(text) is value
    except (ImportError, AttributeError, ValueError):
        is_its = False
    if not is_its:
        hint = "it cannot be imported by name: put the function in a module, or use pickle"
        raise InputError("save", value, hint)
    return text


def _found(name: str) -> Any:
    """The function or class of a name."""
    module, _, path = name.partition(":")
    value: Any = import_module(module)
    for step in path.split("."):
        value = getattr(value, step)
    return value


def _decoded(value: Any, arrays: dict[str, Array]) -> Any:
    """The value for which an entry of the JSON file stands."""
    if not isinstance(value, dict):
        return value

    def again(entry: Any) -> Any:
        return _decoded(entry, arrays)

    kind, content = next(iter(value.items()))
    if kind == "object":
        entries = {n: again(entry) for n, entry in value["fields"].items() if n not in DROPPED}
        if entries.get("method") in HAD_ERRORS and "basis" not in entries:
            entries["basis"] = Refit()
        return _found(content)(**entries)
    if kind in SEQUENCES:
        return SEQUENCES[kind](again(entry) for entry in content)
    if kind == "partial":
        function, given, named = map(again, content)
        return partial(function, *given, **named)
    if kind == "method":
        return getattr(again(content[0]), content[1])
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
    return _found(content)
