"""Lemma anchor_overlap_logit: is where the anchor leads covered by the expert's states?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import minimize

from gladius.checks import Array
from gladius.mdp import TabularMDP
from proofs_checks.claims import CheckResult, Control, Counterexample, assume_stated, claim
from proofs_checks.oracle import overlap as oracle
from proofs_checks.worlds import DISCOUNTS, laws, tabular_mdps


@dataclass(frozen=True)
class Anchored:
    """A world, the anchor (S,) of each state, and H periods of data."""

    mdp: TabularMDP
    anchor: NDArray[np.int64]
    horizon: int = 1


@st.composite
def mild_worlds(draw: st.DrawFn) -> TabularMDP:
    """Worlds with a small drawn Q*, r = Q* - beta P V: p_A is then no vanishing number."""
    states, actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    q = draw(arrays(np.float64, (states, actions), elements=st.integers(-3, 3).map(float))) / 2
    law = draw(laws((actions, states, states), self_loops=True))
    return _world_of(q, law, draw(DISCOUNTS), draw(laws((states,))))


def _world_of(q: Array, law: Array, discount: float, initial: Array) -> TabularMDP:
    v = np.log(np.exp(q).sum(axis=1))
    return TabularMDP(q - discount * np.einsum("ast,t->sa", law, v), law, discount, initial)


@st.composite
def anchored(draw: st.DrawFn) -> Anchored:
    mdp = draw(mild_worlds() | tabular_mdps(4, 3))
    states, actions = mdp.reward.shape
    anchor = draw(arrays(np.int64, states, elements=st.integers(0, actions - 1)))
    return Anchored(mdp, anchor, draw(st.integers(1, 6)))


def _least_density(covering: Array, anchor_next: Array, bound: float) -> CheckResult:
    """The least of covering(y) / nu_A(y), over the states to which the anchor leads."""
    there = anchor_next > 1e-6  # below it the ratio is rounding
    shares = covering[there] / anchor_next[there] if np.any(there) else np.array([bound])
    return CheckResult(
        observed=float(shares.min()),
        relation=">=",
        bound=bound,
        tolerance=1e-10 * bound + 1e-9,
        reason="occupancies are solved to 1e-15 and divided by at least 1e-6; the policy to 1e-12",
    )


def _discounted(at: Anchored, factor: float, power: float = 1.0) -> CheckResult:
    """`power`: of exp(-2 B*)."""
    mdp = at.mdp
    states = mdp.discounted_occupancy().sum(axis=1)
    found = oracle.expert(mdp.reward, mdp.transition, mdp.discount, mdp.initial)
    nu = oracle.anchor_next(found.states, mdp.transition, at.anchor)
    actions = mdp.reward.shape[1]
    least = (oracle.least_choice(found.q) * actions) ** power / actions
    return _least_density(states, nu, factor * least)


def _chain(logits: Array) -> Anchored:
    """x -> y by action 0, the anchor, x -> z by action 1, y -> z; Q*(x, .) = logits, else 0."""
    law = np.zeros((2, 3, 3))
    law[0, 0, 1] = law[1, 0, 2] = 1.0
    law[:, 1:, 2] = 1.0
    q = np.zeros((3, 2))
    q[0] = logits
    return Anchored(_world_of(q, law, 0.9, np.eye(3)[0]), np.zeros(3, dtype=np.int64))


def _least_covered() -> Anchored:
    """The least slack over Q*(x, .)."""
    found = minimize(
        lambda x: discounted_overlap(_chain(x)).slack, np.array([-0.5, 0.7]), method="Nelder-Mead"
    )
    return _chain(found.x)


@claim(
    "lem:anchor_overlap_logit",
    verdict="holds",
    instances=anchored(),
    adversary=_least_covered,
    control=Control(
        broken="exp(-B*) for exp(-2 B*) in p_A",
        check=lambda at: _discounted(at, at.mdp.discount, power=0.5),
        make=lambda: _chain(np.array([-1.5, 1.5])),
    ),
)
def discounted_overlap(at: Anchored) -> CheckResult:
    """d*_S(y) >= beta p_A nu_A(y) for every y, with p_A = exp(-2 B*) / |A|, |Q*| <= B*; so
    nu_A << d*_S.

    Where: Technical proofs, Lemma anchor_overlap_logit; nu_A is the law of s' after the anchor, s
    drawn from the discounted occupancy d*_S.

    Assumes: a finite action set, the logit expert, bounded Q*.

    Decided: the flow identity of the discounted occupancy, as printed. The smallest d*_S(y)/nu_A(y)
    of the library against beta p_A from an independent solution. Attained at Q* = 0 on a chain
    x -> y -> z, from which an optimiser over Q*(x, .) does not stray.
    """
    return _discounted(at, at.mdp.discount)


def _finite(at: Anchored, after: float, factor: float = 1.0) -> CheckResult:
    """Share of the H periods plus `after` x (laws of s_H less s_0) / H, against p_A nu_A."""
    mdp = at.mdp
    found = oracle.expert(mdp.reward, mdp.transition, mdp.discount, mdp.initial)
    flow = np.einsum("sa,ast->st", found.policy, mdp.transition)
    states, last = oracle.finite_occupancy(flow, mdp.initial, at.horizon)
    nu = oracle.anchor_next(states, mdp.transition, at.anchor)
    visited = mdp.occupancy(at.horizon).sum(axis=1)
    covering = visited + after * (last - mdp.initial) / at.horizon
    return _least_density(covering, nu, factor * oracle.least_choice(found.q))


def overlap_with_the_last_state(at: Anchored) -> CheckResult:
    """For H undiscounted periods, nu_A(B) <= (1 / p_A) [d_H(B) + (P(s_H in B) - P(s_0 in B)) / H]:
    nu_A is covered once the state after the last period is counted, not by d_H alone.

    Decided: sum_{h < H} law_{h+1} = sum_{h < H} law_h + law_H - law_0, and law_{h+1} is at least
    p_A times what the anchor sends. The library's occupancy of H periods on every instance.
    """
    return _finite(at, after=1.0)


def _one_period() -> Anchored:
    """From x the anchor leads to y, the other action stays; r = -beta log 2 makes Q* zero."""
    move = np.array([[[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    mdp = TabularMDP(np.full((2, 2), -0.9 * np.log(2)), move, 0.9, np.array([1.0, 0.0]))
    assume_stated(bool(np.abs(mdp.solution.q).max() < 1e-11), "Q* is bounded: it is zero")
    assume_stated(bool(np.all(mdp.solution.policy > 0.49)), "the expert is logit")
    return Anchored(mdp, np.zeros(2, dtype=np.int64), 1)


@claim(
    "lem:anchor_overlap_logit.finite-horizon",
    verdict="fails",
    inferred="the lemma speaks of the discounted occupancy; the data are undiscounted periods",
    instances=anchored(),
    counterexample=Counterexample(
        make=_one_period,
        text="Two states, start at x, the anchor leads x -> y, the other action stays; r = -beta"
        " log 2, so that Q* = 0, pi* = 1/2 = p_A.\nOne period: d_1 = (1, 0) on (x, y), nu_A(y) ="
        " 1: d_1(y) / nu_A(y) = {observed:.0f}, not >= p_A = {bound:.1f}.\nLikewise the bus engine"
        " with `maintain` as anchor: 2 periods from mileage 1 end at up to 9, where no"
        " decision is seen.",
    ),
    corrected=overlap_with_the_last_state,
    control=Control(
        broken="the number of actions left out of p_A",
        check=lambda at: _finite(at, after=1.0, factor=at.mdp.reward.shape[1]),
        make=_one_period,
    ),
)
def finite_overlap(at: Anchored) -> CheckResult:
    """The overlap nu_A << d_S holds for the state law of the data, H undiscounted periods, with
    density at most 1 / p_A.

    Where: Lemma anchor_overlap_logit is proved for "the discounted expert state occupancy measure
    used by the population risk"; the data of Section 7 are 100 undiscounted periods a trajectory,
    and E_(pi*, nu_0) in Equation mainopt carries no discount.

    Assumes: a finite action set, the logit expert, bounded Q*.

    Decided: a state first reached as the s' of the last period has no share of d_H. The discounted
    law has all periods, whence the flow identity; H periods lack the last step. The paper's own
    design (replacement as anchor, 100 periods, mileage capped at 20) has overlap.
    """
    return _finite(at, after=0.0)
