"""Where a number comes from: sources, package versions, commit, machine, device.

No host names, user names or paths are recorded.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import inspect
import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gladius.checks import InputError

ROOT = Path(__file__).parents[1]
PACKAGES = ("numpy", "scipy", "torch", "pandas", "gymnasium", "pytask", "pytask-parallel")
CODE = ("gladius", "proofs_checks", "reproduce")
LOCAL = ("reproduce.exhibits", "proofs_checks")  # what an exhibit may import beside gladius


def source_hash(compute: Callable[..., Any]) -> str:
    """SHA-256 of the code that decides a cell's numbers.

    That is all of gladius, the seeds, the part of the exhibit's file that `compute` reaches, and
    the modules of LOCAL which that part imports. Comments, docstrings, formatting and the
    exhibit's layout are not in it: they cannot change a number.
    """
    digest = hashlib.sha256(_library().encode())
    for text in _reached(compute):
        digest.update(text.encode())
    return digest.hexdigest()


def files_hash(files: Sequence[Path]) -> str:
    """SHA-256 of what the files do: comments, docstrings and formatting left out."""
    text = "\n".join(f"{f.name}\n{_normal(_parse(f))}" for f in files)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _library() -> str:
    files = [*sorted((ROOT / "gladius").rglob("*.py")), ROOT / "reproduce" / "seeds.py"]
    return "\n".join(f"{f.relative_to(ROOT).as_posix()}\n{_normal(_parse(f))}" for f in files)


def _parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _normal(tree: ast.AST) -> str:
    """The tree without positions and docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            text = first.value if isinstance(first, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                node.body = node.body[1:]
    return ast.dump(tree)


def _reached(compute: Callable[..., Any]) -> Iterator[str]:
    """Normal forms of the top-level statements of its file that compute reaches, and imports."""
    file = inspect.getsourcefile(compute)
    if file is None:
        raise InputError("compute", compute, "define it in a file")
    tree = _parse(Path(file))
    known: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _defined(statement):
            known.setdefault(name, []).append(statement)
    start = compute.__qualname__.split(".")[0]
    waiting, reached = [start], set()
    while waiting:
        for statement in known.get(waiting.pop(), []):
            if statement not in reached:
                reached.add(statement)
                waiting += [n.id for n in ast.walk(statement) if isinstance(n, ast.Name)]
    modules = set()
    for statement in tree.body:  # in the order of the file
        if statement in reached:
            modules |= set(_imported(statement))
            yield _normal(statement)
    for module in sorted(modules):
        path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        if path.is_file():
            yield _normal(_parse(path))


def _defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(a.asname or a.name).split(".")[0] for a in statement.names]
    return [
        n.id
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]


def _imported(statement: ast.stmt) -> Iterator[str]:
    """Dotted names of LOCAL modules that an import statement may bring in."""
    if isinstance(statement, ast.ImportFrom) and statement.module:
        names = [statement.module, *(f"{statement.module}.{a.name}" for a in statement.names)]
    elif isinstance(statement, ast.Import):
        names = [a.name for a in statement.names]
    else:
        names = []
    return (n for n in names if n.startswith(LOCAL))


@cache
def versions() -> dict[str, str]:
    """Python and the packages that can move a number, those that are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@cache
def commit() -> dict[str, Any]:
    """`commit` and whether the code differs from it (`dirty`); {} outside a git checkout."""
    try:
        head = _git("rev-parse", "--verify", "HEAD")
        return {"commit": head, "dirty": bool(_git("status", "--porcelain", "--", *CODE))}
    except (OSError, subprocess.CalledProcessError):
        return {}


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@cache
def machine() -> dict[str, Any]:
    """Processor and number of cores."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def device_name(device: str) -> str:
    """The device in words, or an error where it does not exist."""
    import torch

    if device == "cpu":
        return "cpu"
    if device != "cuda":
        raise InputError("device", device, "choose cpu or cuda")
    if not torch.cuda.is_available():
        raise InputError("device", device, "no CUDA device is visible: use cpu")
    return f"cuda ({torch.cuda.get_device_name()})"
