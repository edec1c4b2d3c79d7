"""Derivations whose constants are changed, instances that are hunted for, constants pinned."""

import sys
from types import ModuleType
from typing import Any

import pytest
from hypothesis import strategies as st

from proofs_checks.claims import CheckResult, at_most, claims, find
from proofs_checks.decide import certificate, decide
from proofs_checks.derivations import Step, builders, derivation, p, x, y
from proofs_checks.mutation import pinned
from tests.proofs_checks.test_claims import toy

PROVED = sorted(builders())


# --- derivations
@pytest.mark.parametrize("id_", PROVED)
def test_a_derivation_holds_and_uses_each_assumption(id_: str) -> None:
    found = derivation(id_)
    assert found is not None
    assert found.holds
    assert claims()[id_].verdict == "holds"
    assert all(found.used.values()), found.used


@pytest.mark.parametrize("id_", PROVED)
def test_a_derivation_with_another_constant_does_not_hold(id_: str) -> None:
    (sound,) = builders()[id_].__defaults__ or ()
    assert not builders()[id_](sound * 2).holds


@pytest.mark.parametrize(
    "step",
    [
        Step(x**2 - 1, rest=[x**2]),  # no identity
        Step(x, rest=[x]),  # an identity, but x may be negative
        Step(x * p, {"p is small": (x, p)}),  # a multiplier that may be negative
        Step(x - y, {"p >= 0": (1, p)}, equation=True),
    ],
)
def test_a_step_that_proves_nothing_is_rejected(step: Step) -> None:
    assert not step.holds()


def test_assumptions_that_are_not_needed_are_told() -> None:
    idle = Step(x**2 + p, {"p >= 0": (1, p), "not needed": (0, y)}, [x**2])
    assert idle.holds()
    assert idle.holds("not needed")
    assert not idle.holds("p >= 0")


# --- how a claim is decided
def test_a_certificate_is_named_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    package: Any = ModuleType("proofs_checks.certificates")
    package.__spec__ = sys.modules["proofs_checks"].__spec__
    package.kind = {"toy": "certificate + step"}.get
    monkeypatch.setitem(sys.modules, "proofs_checks.certificates", package)
    assert certificate("toy") == "certificate + step"
    assert certificate("another") is None
    assert decide(toy(), 5).how == "certificate + step"


def test_a_hunt_comes_closer_than_draws() -> None:
    """x^2 + 1 >= 2x is tight at 1 alone, which no draw of this seed hits."""
    numbers = st.floats(1.5, 1e6)
    loose = toy(verdict="holds", counterexample=None, corrected=None, instances=numbers)
    assert decide(loose, 100).slack < 3


# --- constants
def bound_by(x: float, factor: float = 2.0) -> CheckResult:
    """Its own bound, at 2."""
    return at_most(x, factor * abs(x) ** 1, 0.0, "exact")


def test_a_constant_is_pinned_only_at_an_instance_that_is_tight() -> None:
    loose = pinned(bound_by, [1.0])
    assert loose.rejected == 0
    assert any("2.0 -> 1.8" in fault for fault in loose.unnoticed)
    assert pinned(bound_by, [0.0]).number == 0  # nothing changes there

    def tight(x: float) -> CheckResult:
        return at_most(2 * x, 2.0 * abs(x), 0.0, "exact")

    assert not pinned(tight, [1.0]).unnoticed


FAULTS = {  # wrong constants that no instance noticed before there was an adversary for them
    "lem:anchor_overlap_logit": {"power": 0.95},
    "lem:erm_ddc_quant_identification": {"share": 0.5},
    "prop:linConvergence.population-rate": {"share": 0.1},
    "prop:linConvergence.optimisation-rate": {"share": 0.01},
}


@pytest.mark.parametrize("id_", FAULTS)
def test_a_planted_constant_is_rejected_at_the_adversary(id_: str) -> None:
    claim: Any = find(id_)
    instance = claim.adversary()
    assert claim.surviving(instance).holds
    assert not claim.surviving(instance, **FAULTS[id_]).holds


SLACK = dict.fromkeys(["lem:EmpLipschitz", "lem:lipsSmooth.NLL-bound"], 1.01)
SLACK["lem:lipsSmooth.L-theta"] = 1.01
SLACK["lem:lipsSmooth.L-zeta"] = 100 / 60 + 1e-9  # its instance has 60 anchor rows of 100


@pytest.mark.parametrize("id_", SLACK)
def test_a_printed_constant_is_rejected_where_the_corrected_one_is_tight(id_: str) -> None:
    claim = find(id_)
    instance = (claim.adversary or claim.rejected_at)()
    assert claim.surviving(instance).slack <= SLACK[id_]
    assert not claim.printed(instance).holds


UNNOTICED = ("thm:bothPL", "rem:sub-gaussian-features", "lem:erm_ddc_quant_identification")


@pytest.mark.parametrize("id_", UNNOTICED)
def test_a_constant_that_nothing_pins_is_said_to_be_unproved(id_: str) -> None:
    assert find(id_).unproved


@pytest.mark.deep
@pytest.mark.parametrize("id_", claims())
def test_most_constants_are_pinned_or_told(id_: str) -> None:
    decision = decide(find(id_), 2000)
    assert decision.problem == ""
    assert not decision.mutants.unnoticed or find(id_).unproved or decision.mutants.rejected
