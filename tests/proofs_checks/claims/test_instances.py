"""What the claims are tried on: instances of every kind, tolerances, and planted faults.

`faults.csv` lists faults: in which file, what it says and what is false, and by which tests or
claims the fault is noticed. `tolerances.csv` has the tolerance of each claim at the instance of its
control.
"""

import csv
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from proofs_checks.claims.claims import claims, find
from proofs_checks.sections import proofs_quantitative_identification as identification

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
DRAWN = 25

# --- variety
ONE_ANCHOR = {"prop:linConvergence.optimisation-rate"}  # its noise is laid on action 0
CERTAIN_MOVES = {"alg:estimation_deterministic"}  # Algorithm 2 is for these


def parts(instance: Any) -> Iterator[Any]:
    """An instance and all that it consists of."""
    yield instance
    if isinstance(instance, tuple):
        for part in instance:
            yield from parts(part)
    elif is_dataclass(instance):
        for field in fields(instance):
            yield from parts(getattr(instance, field.name))


def kinds(instance: Any) -> Iterator[tuple[str, Any]]:
    """Of what kind an instance is: (what is counted, its value)."""
    for part in parts(instance):
        if isinstance(discount := getattr(part, "discount", None), float):
            yield "discount", discount
        if hasattr(anchor := getattr(part, "anchor", None), "ravel"):
            yield from (("anchor", int(a)) for a in anchor.ravel())
        for name in ("moves", "transition"):
            array = getattr(part, name, None)
            if isinstance(array, np.ndarray) and array.ndim > 1:
                total = array.sum(axis=-1, keepdims=True)
                yield "states", array.shape[-1]
                yield "random moves", bool(np.any((array > 0) & (array < (1 - 1e-9) * total)))
                if name == "moves" and hasattr(part, "visits"):
                    yield "several rows", bool(total.max() > 1.5)


@pytest.mark.parametrize("id_", claims())
def test_the_instances_of_a_claim_vary(id_: str) -> None:
    seen: dict[str, set[Any]] = defaultdict(set)

    @settings(
        max_examples=DRAWN,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(find(id_).instances)
    def draw(instance: Any) -> None:
        for kind, value in kinds(instance):
            seen[kind].add(value)

    draw()
    assert len(seen["discount"]) != 1
    assert len(seen["states"]) != 1
    assert len(seen["anchor"]) != 1 or id_ in ONE_ANCHOR
    assert seen["random moves"] != {False} or id_ in CERTAIN_MOVES
    assert seen["several rows"] != {False}


def test_most_claims_have_kinds_to_vary() -> None:
    claim = find("corrected.pl")
    named = {kind for kind, _ in kinds(claim.rejected_at())}
    assert named == {"discount", "anchor", "states", "random moves", "several rows"}


def test_a_choice_that_is_zero_to_the_last_digit_bounds_nothing() -> None:
    claim = find("lem:erm_ddc_quant_identification.proof-step")
    mdp = identification.instances.absorbing([[0.0, 900.0]], 0.5)
    problem = identification.Identified(mdp, np.zeros(1, np.int64), mdp.solution.q + 1.0)
    with np.errstate(all="raise", under="ignore"):
        result = claim.surviving(problem)
    assert result.holds
    assert result.bound == np.inf


# --- tolerances
TOLERANCES = HERE / "tolerances.csv"


@pytest.mark.parametrize("id_", claims())
def test_a_tolerance_is_at_most_the_committed_one(id_: str) -> None:
    with TOLERANCES.open(encoding="ascii", newline="") as file:
        committed = {line["claim"]: float(line["tolerance"]) for line in csv.DictReader(file)}
    assert list(committed) == list(claims())
    claim = find(id_)
    assert claim.surviving(claim.rejected_at()).tolerance <= 3 * committed[id_]


# --- faults
with (HERE / "faults.csv").open(encoding="utf-8", newline="") as _file:
    FAULTS = list(csv.DictReader(_file))


def test_every_fault_is_still_one_place_in_its_file() -> None:
    assert len(FAULTS) >= 40
    assert all(fault["why"] and fault["old"] != fault["new"] for fault in FAULTS)
    for fault in FAULTS:
        assert (ROOT / fault["file"]).read_text("utf-8").count(fault["old"]) == 1, fault


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, in which faults are planted."""
    folder = tmp_path_factory.mktemp("planted")
    left_out = shutil.ignore_patterns("__pycache__", "cells*")
    for name in ("gladius", "proofs_checks", "reproduce", "tests", "paper_tables"):
        shutil.copytree(ROOT / name, folder / name, ignore=left_out)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def run(noticed: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The tests, or the claims, by which a fault is noticed."""
    if "::" in noticed or noticed.endswith(".py"):
        what = ["pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *noticed.split()]
    else:
        what = ["proofs_checks", *noticed.split()]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["HYPOTHESIS_PROFILE"] = "ci"  # a fault is to be noticed by the tests of each commit
    return subprocess.run(
        [sys.executable, "-m", *what],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.deep
@pytest.mark.parametrize("noticed", sorted({fault["noticed"] for fault in FAULTS}))
def test_nothing_is_noticed_where_nothing_is_planted(noticed: str, copied: Path) -> None:
    done = run(noticed, copied)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.deep  # a quarter of an hour
@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_a_planted_fault_is_noticed(number: int, copied: Path) -> None:
    fault = FAULTS[number]
    path = copied / fault["file"]
    sound = path.read_text("utf-8")
    try:
        path.write_text(sound.replace(fault["old"], fault["new"]), "utf-8")
        done = run(fault["noticed"], copied)
    finally:
        path.write_text(sound, "utf-8")
    assert done.returncode == 1, done.stdout + done.stderr  # 1: a failure, not a usage error
    assert "failed" in done.stdout or "recorded" in done.stdout
