"""A compiled loop has the machine code of the sources as they are now, tried in a copy."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from gladius.solvers import compiled

LOOP = """from {0}.compiled import compiled
from {0}.other import SCALE, inverse
@compiled
def ratio(x, y):
    return SCALE * x * inverse(y)
"""
OTHER = """from {0}.compiled import compiled
SCALE = 1.0
@compiled
def inverse(y):
    return 1.0 / y
"""


@pytest.mark.skipif(not compiled.IS_COMPILED, reason="numba is not installed")
@pytest.mark.parametrize(
    ("edited", "old", "new", "y", "numbers"),
    [
        ("compiled", '"numpy"', '"python"', 0.0, ["inf", "division by zero"]),
        ("other", "SCALE = 1.0", "SCALE = 3.0", 2.0, ["2.0", "6.0"]),
        ("other", "1.0 / y", "y", 2.0, ["2.0", "8.0"]),
    ],
    ids=["flag", "constant", "function"],
)
def test_no_number_of_older_sources_is_found(
    edited: str,
    old: str,
    new: str,
    y: float,
    numbers: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """A flag of the decorator, or what the loop imports, is edited between two runs."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python's goes by seconds and sizes
    monkeypatch.syspath_prepend(tmp_path)
    name = f"copy_{request.node.callspec.id}"
    (tmp_path / name).mkdir()
    decorator = Path(compiled.__file__).read_text("utf-8")
    sources = {"compiled": decorator, "loop": LOOP.format(name), "other": OTHER.format(name)}
    found = []
    for _ in numbers:
        for module, text in sources.items():
            (tmp_path / name / f"{module}.py").write_text(text, "utf-8")
            sys.modules.pop(f"{name}.{module}", None)
        try:
            found.append(str(import_module(f"{name}.loop").ratio(4.0, y)))
        except ZeroDivisionError as error:
            found.append(str(error))
        sources[edited] = sources[edited].replace(old, new)
    assert found == numbers
