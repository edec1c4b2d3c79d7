"""Instances that are searched for, and constants that are pinned by them or said not to be."""

from typing import Any

import pytest
from hypothesis import strategies as st

from gladius.mdp import TabularMDP
from gladius.objective import Risk
from proofs_checks.claims import claims, find
from proofs_checks.decide import NOT_TIGHT, Decision, decide
from tests.proofs_checks.test_claims import toy


def test_a_search_comes_closer_than_draws() -> None:
    """x^2 + 1 >= 2x is tight at 1 alone, which no draw of this seed hits."""
    numbers = st.floats(1.5, 1e6)
    loose = toy(verdict="holds", counterexample=None, corrected=None, instances=numbers)
    assert decide(loose, 100).slack < 3


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


def test_a_claim_without_such_a_constant_is_not_marked(decided: dict[str, Decision]) -> None:
    for id_, decision in decided.items():
        is_marked = NOT_TIGHT in decision.how + decision.how_corrected
        is_loose = decision.slack > 1.1 and "adversary" in decision.how + decision.how_corrected
        assert is_marked == (is_loose or bool(claims()[id_].unproved)), id_


# --- faults of the library that a claim itself has to notice
def test_lemma_20_notices_an_occupancy_that_is_not_normalised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim, sound = find("lem:telescoping"), TabularMDP.discounted_occupancy
    assert claim.surviving(claim.rejected_at()).holds

    def visits(mdp: TabularMDP, policy: Any = None) -> Any:
        return sound(mdp, policy) / (1 - mdp.discount)

    monkeypatch.setattr(TabularMDP, "discounted_occupancy", visits)
    assert not claim.surviving(claim.rejected_at()).holds


def test_lemma_8_notices_a_bellman_risk_with_beta_for_its_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bellman = property(lambda risk: risk.td - risk.discount * risk.deviation)
    monkeypatch.setattr(Risk, "bellman", bellman)
    decision = decide(find("lem:BE_PL"), 50)
    assert decision.verdict == "fails"
