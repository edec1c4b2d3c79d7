"""Section 4, from the TD error to Lemma OurBiconj: double sampling and the biconjugate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.checks import Array
from gladius.mdp import TabularMDP, action_values
from gladius.objective import Risk, bi_conjugate, grouped_risk, value
from gladius.transitions import Counts
from proofs_checks.claims import CheckResult, Control, Counterexample, assume_stated, claim, worst
from proofs_checks.oracle.biconjugate import Population, golden_maximum, td_minimiser
from proofs_checks.worlds import VALUES, Fitted, fitted


@dataclass(frozen=True)
class Probe:
    """A world, some Q on it, and a number for each pair: h, zeta, or a step away from rho*."""

    mdp: TabularMDP
    q: Array
    dual: Array


@st.composite
def probes(draw: st.DrawFn) -> Probe:
    world = draw(fitted())
    return Probe(world.mdp, world.q, draw(arrays(np.float64, world.q.shape, elements=VALUES)))


def population(at: Fitted | Probe) -> Population:
    return Population(np.swapaxes(at.mdp.transition, 0, 1), at.mdp.reward, at.q, at.mdp.discount)


def by_pair(at: Fitted | Probe, zeta: Array | None = None) -> Risk:
    """The library's terms (S, A), each pair on its own: a data set that visits it alone.

    The expectation over s' is a data set whose counts are the probabilities.
    """
    mdp = at.mdp
    states, actions = at.q.shape
    own = np.arange(states)
    terms = []
    for a in range(actions):
        visits, moves = (
            np.zeros((states, states, actions)),
            np.zeros((states, *mdp.transition.shape)),
        )
        visits[own, own, a] = 1.0
        moves[own, a, own] = mdp.transition[a]
        counts = Counts(mdp.features, visits, moves)
        q = np.broadcast_to(at.q, visits.shape)
        dual = None if zeta is None else np.broadcast_to(zeta, visits.shape)
        terms.append(grouped_risk(q, counts, a, mdp.reward[:, a], mdp.discount, dual))
    nll, td, deviation = (
        np.stack([getattr(one, name) for one in terms], axis=1)
        for name in ("nll", "td", "deviation")
    )
    return Risk(nll, td, deviation, mdp.discount)


def backup(at: Fitted | Probe) -> Array:
    """T Q by the library."""
    return action_values(at.mdp.reward, at.mdp.transition, at.mdp.discount, value(at.q))


def equal(at: Fitted | Probe, observed: Array, bound: Array, extra: float = 0.0) -> CheckResult:
    """Whether two tables agree; shown at the pair where they differ most."""
    size = [1.0, extra, *(np.abs(x).max() for x in (at.mdp.reward, at.q, value(at.q)))]
    k = int(np.argmax(np.abs(observed - bound)))
    return CheckResult(
        observed=float(observed.flat[k]),
        relation="==",
        bound=float(bound.flat[k]),
        tolerance=1e-13 * float(sum(size)) ** 2,
        reason="rounding in a dozen operations on squares of r, Q, V and the dual",
    )


# --- double sampling
@cache
def _td_misleads() -> CheckResult:
    """A world in which the minimiser of the TD loss has a Bellman error of 1/32.

    One action (V = Q), beta = 1/2: from state 0 to 1 or 2, each with 1/2, where one stays;
    rewards 0, 0, 1. With discounted weights (1/2, 1/4, 1/4) the TD loss is least at
    Q = (1/2, 1/2, 3/2); the Bellman error is zero at (1/2, 0, 2) alone.
    """
    law = np.array([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    mdp = TabularMDP(np.array([[0.0], [0.0], [1.0]]), law[None], 0.5, np.array([1.0, 0.0, 0.0]))
    weight = mdp.discounted_occupancy()
    q = td_minimiser(law, mdp.reward[:, 0], mdp.discount, np.array([0.5, 0.25, 0.25]))
    return CheckResult(
        observed=float(np.sum(weight * by_pair(Fitted(mdp, q[:, None])).bellman)),
        relation="==",
        bound=1 / 32,
        tolerance=1e-13,
        reason="rounding in a least-squares problem of six rows",
    )


def _double_sampling(at: Fitted, variance: float = 1.0) -> CheckResult:
    known = population(at)
    bound = known.bellman() + variance * known.backup_variance()
    return worst([equal(at, by_pair(at).td, bound), _td_misleads()])


@claim(
    "eq:double-sampling",
    verdict="holds",
    instances=fitted(),
    control=Control(
        broken="the variance term is that of V(s'), not of T-hat Q: beta^2 is missing",
        check=lambda at: _double_sampling(at, variance=1 / at.mdp.discount**2),
        make=lambda: Fitted(_coin(), np.array([[0.0], [0.0], [2.0]])),
    ),
)
def double_sampling(at: Fitted) -> CheckResult:
    """E[L_TD(Q)(s, a, s')] = L_BE(Q)(s, a) + E[(TQ(s, a) - T-hat Q(s, a, s'))^2]; minimising the
    TD loss does not minimise the Bellman error in general.

    Where: Section 4, unnumbered display before "double sampling problem".

    Assumes: Q bounded; the expectation is over s' given (s, a).

    Decided: T-hat Q has mean TQ, so this is the decomposition of a mean square about Q; both sides
    are summed at every pair. The second half needs one world: in that of three states in
    `_td_misleads` the minimiser of the TD loss has a mean squared Bellman error of 1/32, not 0.
    """
    return _double_sampling(at)


def _coin() -> TabularMDP:
    """From state 0 to 1 or 2, each with 1/2, where one stays; one action, beta = 1/2."""
    law = np.array([[[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])
    return TabularMDP(np.zeros((3, 1)), law, 0.5, np.array([1.0, 0.0, 0.0]))


# --- the biconjugate, in h, zeta and rho
def _biconjugate(at: Fitted, factor: float = 2.0) -> CheckResult:
    delta = factor / 2 * (backup(at) - at.q)
    reach = 2 * np.abs(delta) + 1.0
    best = golden_maximum(lambda h: bi_conjugate(delta, h), -reach, reach)
    return equal(at, best, population(at).bellman())


@claim(
    "eq:biconjugate",
    verdict="holds",
    instances=fitted(),
    control=Control(
        broken="E[delta] h - h^2: the factor 2 of the conjugate is missing",
        check=lambda at: _biconjugate(at, factor=1.0),
        make=lambda: Fitted(_coin(), np.array([[0.0], [0.0], [2.0]])),
    ),
)
def biconjugate(at: Fitted) -> CheckResult:
    """L_BE(Q)(s, a) = E[delta_Q | s, a]^2 = max over h of 2 E[delta_Q | s, a] h - h^2.

    Where: Section 4, display of the "Bi-Conjugate Trick"; the square is that of the expectation.

    Assumes: Q bounded.

    Decided: 2 x h - h^2 = x^2 - (x - h)^2. The maximum is searched for by golden section and
    compared with the squared Bellman error summed over the successors.
    """
    return _biconjugate(at)


def _reparametrised(at: Probe, scale: float) -> CheckResult:
    """Lemma OurBiconj's objective at zeta; the biconjugate at h = r + scale zeta - Q."""
    dual = population(at).linear(at.mdp.reward + scale * at.dual - at.q)
    return equal(at, by_pair(at, at.dual).bellman, dual, extra=float(np.abs(at.dual).max()))


def zeta_with_beta(at: Probe) -> CheckResult:
    """With zeta = (h - r(s, a) + Q(s, a))/beta, that is rho = h + Q = r + beta zeta, the
    biconjugate 2 E[delta] h - h^2 is E[L_TD] - beta^2 E[(V_Q(s') - zeta)^2], for every zeta.

    Decided: by substitution, E[(T-hat Q - Q)^2 - (T-hat Q - rho)^2] with T-hat Q - rho
    = beta (V_Q(s') - zeta); compared at arbitrary zeta, not at the maximum alone.
    """
    return _reparametrised(at, at.mdp.discount)


def _one_state() -> Probe:
    mdp = TabularMDP(np.zeros((1, 1)), np.ones((1, 1, 1)), 0.5, np.ones(1))
    assume_stated(0 < mdp.discount < 1, "0 < beta < 1")
    return Probe(mdp, np.zeros((1, 1)), np.ones((1, 1)))


@claim(
    "eq:zeta-reparametrisation",
    verdict="misprint",
    instances=probes(),
    counterexample=Counterexample(
        make=_one_state,
        text="One state, one action, r = 0, beta = 1/2, Q = 0, hence V = 0, and zeta = 1.\n"
        "Lemma OurBiconj's objective is -beta^2 zeta^2 = {observed:.2f};\n"
        "the printed h = zeta + r - Q = 1 gives 2 E[delta] h - h^2 = {bound:.2f}.",
    ),
    corrected=zeta_with_beta,
    control=Control(
        broken="rho = r + beta^2 zeta",
        check=lambda at: _reparametrised(at, at.mdp.discount**2),
        make=_one_state,
    ),
)
def zeta_reparametrisation(at: Probe) -> CheckResult:
    """Re-parametrising h by zeta = h - r(s, a) + Q(s, a) turns 2 E[delta] h - h^2 into the
    objective of Lemma OurBiconj, E[L_TD] - beta^2 E[(V_Q(s') - zeta)^2].

    Where: Section 4, "By further re-parametrizing h using zeta = h - r(s,a) + Q(s,a), after some
    algebra, we arrive at Lemma OurBiconj".

    Assumes: Q bounded, 0 < beta < 1.

    Decided: a factor beta is lost: the printed zeta is the appendix's rho - r = beta zeta, and its
    optimum beta E[V] would give r = Q* - zeta*, against Lemma OurBiconj (b). The appendix has it
    right (rho = r + beta zeta).
    """
    return _reparametrised(at, 1.0)


def _rho_form(at: Probe, target: Array) -> CheckResult:
    """The rho form at target + t against L_BE - t^2, for a drawn t at each pair."""
    zeta = (target + at.dual - at.mdp.reward) / at.mdp.discount
    bound = population(at).bellman() - at.dual**2
    return equal(at, by_pair(at, zeta).bellman, bound, extra=float(np.abs(at.dual).max()))


@claim(
    "eq:SBEED",
    verdict="holds",
    instances=probes(),
    control=Control(
        broken="the maximiser is taken to be h* = TQ - Q",
        check=lambda at: _rho_form(at, backup(at) - at.q),
        make=lambda: Probe(_coin(), np.array([[1.0], [0.0], [2.0]]), np.zeros((3, 1))),
    ),
)
def sbeed(at: Probe) -> CheckResult:
    """L_BE(Q)(s, a) = max over rho of E[(T-hat Q - Q)^2 - (T-hat Q - rho)^2 | s, a], and the unique
    maximiser is rho* = TQ(s, a).

    Where: Technical proofs, Equation SBEED.

    Assumes: Q bounded.

    Decided: the form equals L_BE - (rho - TQ)^2; this identity, which says both that the maximum is
    L_BE and that no other rho attains it, is compared at rho = TQ + t for arbitrary t.
    """
    return _rho_form(at, backup(at))


# --- Lemma OurBiconj
def _our_biconj(at: Fitted, power: int = 2) -> CheckResult:
    known, risk = population(at), by_pair(at)
    beta = at.mdp.discount
    return worst(
        [
            equal(at, replace(risk, discount=beta ** (power / 2)).bellman, known.bellman()),
            equal(at, (backup(at) - at.q) ** 2, known.td() - beta**power * known.deviation()),
        ]
    )


@claim(
    "lem:OurBiconj.a",
    verdict="holds",
    instances=fitted(),
    control=Control(
        broken="beta D(Q) in place of beta^2 D(Q)",
        check=lambda at: _our_biconj(at, power=1),
        make=lambda: Fitted(_coin(), np.array([[0.0], [0.0], [2.0]])),
    ),
)
def our_biconj_a(at: Fitted) -> CheckResult:
    """L_BE(Q)(s, a) = E[L_TD(Q)(s, a, s')] - beta^2 D(Q)(s, a), where D(Q)(s, a) is the least
    E[(V_Q(s') - zeta)^2 | s, a] over zeta.

    Where: Section 4, Lemma OurBiconj (a).

    Assumes: Q bounded.

    Decided: T-hat Q - TQ = beta (V_Q(s') - E[V_Q(s')]). Twice: with the library's risk, whose zeta
    is the conditional mean, and with a minimum over zeta searched for by golden section.
    """
    return _our_biconj(at)
