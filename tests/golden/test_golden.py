"""The numbers of every method are those that were frozen: theta, r and Q on small data sets."""

from pathlib import Path

import cases
import numpy as np
import pytest

from gladius import METHODS

TOLERANCE = 1e-9  # relative to the largest number of the quantity, or to 1
FROZEN = dict(np.load(Path(__file__).with_name("frozen.npz"), allow_pickle=False))
DATA = cases.data_sets()


def difference(new: np.ndarray, old: np.ndarray) -> float:
    """The largest difference, relative to the largest old number or to 1."""
    assert new.shape == old.shape
    same = (new == old) | (np.isnan(new) & np.isnan(old))
    scale = max(1.0, float(np.max(np.abs(old[np.isfinite(old)]), initial=0.0)))
    with np.errstate(invalid="ignore"):
        differences = np.where(same, 0.0, np.abs(new - old))
    return float(np.max(differences, initial=0.0)) / scale


@pytest.mark.parametrize("key", sorted({key.rsplit("/", 1)[0] for key in FROZEN}))
def test_numbers_are_those_that_were_frozen(key: str, uncompiled: None) -> None:
    name, case = key.split("/")
    estimate = cases.fit(name, DATA[name], case)
    numbers = cases.numbers(DATA[name], estimate)
    assert {*numbers, "status"} == {k.rsplit("/", 1)[1] for k in FROZEN if k.startswith(key + "/")}
    differences = {k: difference(new, FROZEN[f"{key}/{k}"]) for k, new in numbers.items()}
    assert max(differences.values()) <= TOLERANCE, differences
    assert estimate.diagnostics.status == str(FROZEN[f"{key}/status"])


def test_every_method_has_a_case() -> None:
    assert {key.split("/")[1].split()[0] for key in FROZEN} == set(METHODS)


def test_the_comparison_can_fail() -> None:
    old = np.array([1.0, 2.0])
    assert difference(old * (1 + 1e-6), old) > TOLERANCE
    assert np.isnan(difference(np.array([1.0, np.nan]), old))
