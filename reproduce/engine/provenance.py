"""How a number came about, beside what decides it (`keys`): versions, commit, machine.

No host names, user names or paths are recorded.
"""

import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from proofs_checks.digests import CODE

ROOT = Path(__file__).parents[2]
# distributions whose versions are recorded: they can move a number
PACKAGES = (
    *("numpy", "scipy", "torch", "pandas", "scikit-learn", "gymnasium", "box2d", "cvxpy"),
    *("clarabel", "joblib", "jaxtyping", "matplotlib", "hypothesis", "mpmath", "sympy"),
    *("numba", "llvmlite", "econirl"),
)


@cache
def versions() -> dict[str, str]:
    """Python and the packages that can move a number, those that are installed."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed


def version_of(installed: Mapping[str, str], package: str) -> str:
    """What may decide a number: of Python the minor version, of a package not the build."""
    version = installed.get(package, "none").partition("+")[0]
    return ".".join(version.split(".")[:2]) if package == "python" else version


def other_versions(made: Mapping[str, str]) -> dict[str, str]:
    """Package -> the version with which a number was made, where another is here."""
    pairs = ((name, version_of(made, name), version_of(versions(), name)) for name in made)
    return {name: version for name, version, here in pairs if version != here}


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
    """Processor, number of cores and memory."""
    path = Path("/proc/cpuinfo")
    name = re.search(r"model name\s*: (.*)", path.read_text("utf-8") if path.exists() else "")
    processor = name[1].strip() if name else platform.processor() or platform.machine()
    machine = {"processor": processor, "cores": os.cpu_count(), "system": platform.system()}
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        machine["memory_gb"] = round(memory / 1e9)
    return machine
