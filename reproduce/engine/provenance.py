"""How a number came about, beside what decides it (`keys`): versions, commit, machine.

No host names, user names or paths are recorded.
"""

import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from reproduce.engine.digests import CODE

ROOT = Path(__file__).parents[2]
# distributions whose versions are recorded: they can move a number
PACKAGES = (
    *("numpy", "scipy", "torch", "pandas", "scikit-learn", "gymnasium", "box2d", "cvxpy"),
    *("clarabel", "joblib", "jaxtyping", "matplotlib", "hypothesis", "mpmath", "sympy"),
    *("numba", "llvmlite", "econirl"),
)
VECTORS = "avx512f", "avx2", "avx"  # by which one name has processors that round differently
MISSING = "none"  # the version of one that is not installed
# distribution -> the name by which code uses it, itself or through another package
NAMES = {"scikit-learn": "sklearn", "box2d": "gymnasium", "clarabel": "cvxpy", "llvmlite": "numba"}


@cache
def versions() -> dict[str, str]:
    """Python and the packages that can move a number; MISSING for those that are not installed."""
    installed = {"python": platform.python_version()} | dict.fromkeys(PACKAGES, MISSING)
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed


def version_of(installed: Mapping[str, str], package: str) -> str:
    """What may decide a number: of Python the minor version, of a package not the build."""
    version = installed.get(package, MISSING).partition("+")[0]
    return ".".join(version.split(".")[:2]) if package == "python" else version


def other_versions(made: Mapping[str, str], uses: Callable[[str], bool]) -> dict[str, str]:
    """Package -> the version with which a number was made, where another is here.

    One that is missing, there or here, counts if the code that made the number uses it.
    """
    pairs = {name: (version_of(made, name), version_of(versions(), name)) for name in versions()}
    others = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    return {
        name: pair[0]
        for name, pair in others.items()
        if MISSING not in pair or uses(NAMES.get(name, name))
    }


@cache
def is_locked(package: str) -> bool:
    """Whether the package here is of the version in requirements.lock."""
    lock = ROOT / "requirements.lock"
    text = lock.read_text("utf-8") if lock.is_file() else ""
    return f"\n{package}=={version_of(versions(), package)} " in text


def commit() -> dict[str, Any]:
    """`commit` and whether the code differs from it (`dirty`); unknown outside a git checkout."""
    git = partial(subprocess.check_output, cwd=ROOT, text=True, stderr=subprocess.DEVNULL)
    try:
        head = git(["git", "rev-parse", "--verify", "HEAD"]).strip()
        changes = git(["git", "status", "--porcelain", "--", *CODE])
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "dirty": None}
    return {"commit": head, "dirty": bool(changes)}


@cache
def machine() -> dict[str, Any]:
    """Processor with its family and model, number of cores and memory."""
    path = Path("/proc/cpuinfo")
    text = path.read_text("utf-8") if path.exists() else ""
    name = re.search(r"model name\s*: (.*)", text)
    processor = name[1].strip() if name else platform.processor() or platform.machine()
    machine = {"processor": processor, "cores": os.cpu_count(), "system": platform.system()}
    machine["vectors"] = next((word for word in VECTORS if word in text.split()), "")
    if numbers := re.findall(r"^(?:cpu family|model)\s*: (\d+)$", text, re.MULTILINE)[:2]:
        machine["model"] = f"family {', model '.join(numbers)}"
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        machine["memory_gb"] = round(memory / 1e9)
    return machine
