"""Section 6.3 and its proof: is the empirical objective two-sided PL, is Q* a saddle point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.checks import Array
from gladius.mdp import TabularMDP
from gladius.objective import Risk, conditional_mean, grouped_risk, value
from gladius.transitions import Counts
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
    worst,
)
from proofs_checks.oracle import overlap
from proofs_checks.oracle import saddle as oracle
from proofs_checks.oracle.grouped import Sample
from proofs_checks.sections.profile import EPS, ROUNDING, objective, rounding, slope
from proofs_checks.worlds import VALUES, empirical, tabular_mdps


# --- two-sided PL
@dataclass(frozen=True)
class Fixed:
    """Outputs q (X, A) and zeta (X,) on a data set."""

    sample: Sample
    q: Array
    zeta: Array


@st.composite
def fixed(draw: st.DrawFn) -> Fixed:
    at = draw(empirical(3, 2))
    return Fixed(at.sample, at.q, draw(arrays(np.float64, len(at.q), elements=VALUES)))


def _curvature(at: Fixed, expected: float) -> CheckResult:
    up, down, here = (objective(at.sample, at.q + c, at.zeta) for c in (1.0, -1.0, 0.0))
    return CheckResult(
        observed=up + down - 2 * here,
        relation="==",
        bound=expected,
        tolerance=4 * rounding(at.sample, np.abs(at.q) + 1, at.zeta),
        reason=ROUNDING + ", in each of four terms",
    )


def primal_pl(at: Fixed) -> CheckResult:
    """f-hat_N is PL in phi for each theta, and its profile g-hat_N is PL in theta; this primal-PL
    is what the proof of Yang et al.'s Theorem 3.3 uses. For fixed phi, f-hat_N need not be PL in
    theta: along a common shift of Q it is a parabola of curvature 2 (1 - 2 beta) N_BE / N,
    unbounded below for beta > 1/2; other data defeat it at any beta.

    Decided: second differences of the library's f-hat_N along Q + c on every instance, and the
    PL inequality of g-hat_N with the constant of Theorem bothPL, omega_j^BE = m_j / N.
    """
    sample = at.sample
    seen = sample.nll_states
    p = np.exp(at.q - value(at.q)[:, None])[seen]
    modulus = oracle.pl_constant(sample, float(p.min()), oracle.share(sample))
    gap = oracle.profile(sample, at.q) - sample.entropy()
    gradient = slope(sample, at.q)
    pl = CheckResult(
        observed=0.5 * float(np.sum(gradient**2)),
        relation=">=",
        bound=modulus * gap,
        tolerance=rounding(sample, at.q) * (modulus + float(np.abs(gradient).max())),
        reason=ROUNDING + ", times the constant and times the gradient",
    )
    return worst([_curvature(at, oracle.level_curvature(sample)), pl])


def _at_the_solution() -> Fixed:
    beta = 0.95
    # r such that Q* = 0: V = log 2 and 0 = r + beta log 2
    sample = Sample(np.ones((1, 2, 1)), np.array([0]), np.array([-beta * np.log(2)]), beta)
    q = oracle.solution(sample)
    zeta = oracle.zeta_at(sample, q)
    assume_stated(bool(np.all(sample.visits > 0)), "the empirical minimiser exists, in B_Q")
    assume_stated(abs(oracle.profile(sample, q) - sample.entropy()) < 1e-15, "q minimises g-hat_N")
    assume_stated(float(np.abs(slope(sample, q, zeta)).max()) < 1e-15, "theta is realisable: Q*")
    small = objective(sample, q + 1e-3, zeta) - objective(sample, q, zeta)
    assume_stated(abs(small + 0.45e-6) < 1e-14, "Q* + c lowers f by .45 c^2 for small c: any B_Q")
    return Fixed(sample, q, zeta)


@claim(
    "prop:linConvergence.two-sided-PL",
    verdict="fails",
    instances=fixed(),
    counterexample=Counterexample(
        make=_at_the_solution,
        text="One state, rows (s,0,s), (s,1,s), anchor 0, beta = .95, r = -beta log 2: Q* = 0,"
        " zeta* = log 2 solve it, so the gradient of f in theta at (Q*, zeta*) is 0.\n"
        "At Q* + c, zeta* fixed, f changes by (c^2/2)((1 - beta)^2 - beta^2) = (1 - 2 beta) c^2/2 ="
        " -.45 c^2: Q* is not least, however small the ball (any c will do; here c = 1).\n"
        "Half the squared gradient is {observed:.1e}, not >= mu times .45 for any mu > 0 (here"
        " mu = 1e-9: {bound:.1e}).",
    ),
    corrected=primal_pl,
    control=Control(
        broken="zeta moving with Q: curvature 2 (1 - beta)^2 N_BE / N, that of the profile",
        check=lambda at: _curvature(
            at, 2 * (1 - at.sample.discount) ** 2 * oracle.share(at.sample)
        ),
        make=_at_the_solution,
    ),
)
def two_sided_pl(at: Fixed) -> CheckResult:
    """The empirical min-max objective f-hat_N(theta, phi) has the two-sided PL structure of Yang
    et al. (2020): for some mu > 0, (1/2) |grad_theta f|^2 >= mu (f - min_theta f) for every phi,
    and likewise in phi.

    Where: Technical proofs, proof of Theorem linConvergence, part 1 ("Consequently, the empirical
    minimax objective has the two-sided PL structure required by Theorem 3.3"); Section 1.

    Assumes: Assumptions realizability and nonSingularJac.

    Decided: the proof shows PL of the profile (Theorem bothPL), not of f for each phi. At a
    solution the gradient in theta is zero, yet a common shift by c changes f by
    (1 - 2 beta) c^2 N_BE / N < 0 for beta > 1/2, in any ball around it. Small beta is no general
    cure (one state with one action is PL at beta = .3): rows (x,0,y), (x,1,y) with y only reached
    give -beta^2 N_BE / N for the shifts beta at x and 1 at y, at any beta.
    """
    gradient = slope(at.sample, at.q, at.zeta)
    lower = objective(at.sample, at.q + 1, at.zeta)
    return CheckResult(
        observed=0.5 * float(np.sum(gradient**2)),
        relation=">=",
        bound=1e-9 * (objective(at.sample, at.q, at.zeta) - lower),
        tolerance=1e-20,
        reason="the gradient, a difference of numbers below one, is zero to 1e-15; squared",
    )


# --- the saddle point
@dataclass(frozen=True)
class Shifted:
    """A world, its anchor being action 0, and a distance (S, A) from Q*."""

    mdp: TabularMDP
    shift: Array


@st.composite
def shifted(draw: st.DrawFn) -> Shifted:
    mdp = draw(tabular_mdps(3, 2))
    near = st.sampled_from([0.0, 1e-3, -1e-3, 0.1, 1.0]) | VALUES
    return Shifted(mdp, draw(arrays(np.float64, mdp.reward.shape, elements=near)))


def _population(at: Shifted) -> tuple[Counts, Array]:
    """Population shares under the discounted occupancy, and r(s, a_s)."""
    visits = at.mdp.discounted_occupancy()
    moves = visits.T[:, :, None] * at.mdp.transition
    return Counts(at.mdp.features, visits[None], moves[None]), at.mdp.reward[:, 0]


def _population_risk(at: Shifted, q: Array, fixed_zeta: bool) -> Risk:
    counts, reward = _population(at)
    star = at.mdp.solution.q[None]
    zeta = conditional_mean(value(star), counts) if fixed_zeta else None
    return grouped_risk(q[None], counts, 0, reward, at.mdp.discount, zeta)


def _least_risk(at: Shifted) -> float:
    expert = overlap.expert(at.mdp.reward, at.mdp.transition, at.mdp.discount, at.mdp.initial)
    return float(expert.states @ expert.entropy)


def _above(at: Shifted, fixed_zeta: bool, power: int = 2) -> CheckResult:
    q = at.mdp.solution.q + at.shift
    risk = _population_risk(at, q, fixed_zeta)
    reach = float(np.abs(q).max() + np.abs(at.mdp.solution.v).max() + np.abs(at.mdp.reward).max())
    return CheckResult(
        observed=float((risk.nll + risk.td - at.mdp.discount**power * risk.deviation)[0]),
        relation=">=",
        bound=_least_risk(at),
        tolerance=1e-11 * (1 + reach) + 500 * EPS * (1 + reach + np.ptp(q)) ** 2,
        reason="Q* is solved to 1e-12 of |V|, and squares of |V| are added and subtracted",
    )


def minimax(at: Shifted) -> CheckResult:
    """Q* is the unique solution on S-bar of min_Q max_zeta f(Q, zeta). (Q*, zeta*) is stationary
    but no saddle point for beta > 1/2, f(Q* + c, zeta*) being f(Q*, zeta*) + (1 - 2 beta) c^2
    P(a = a_s); there is none then, for the Q of a saddle point would be Q* on S-bar.

    Decided: max_zeta f(Q, zeta) against the expert's mean entropy on every instance, equal at Q*;
    the shift by c = 1 against its closed form.
    """
    star = _population_risk(at, at.mdp.solution.q, True)
    moved = _population_risk(at, at.mdp.solution.q + 1, True)
    reach = float(np.abs(at.mdp.solution.q).max() + np.abs(at.mdp.reward).max())
    expert = overlap.expert(at.mdp.reward, at.mdp.transition, at.mdp.discount, at.mdp.initial)
    level = CheckResult(
        observed=float((moved.total() - star.total())[0]),
        relation="==",
        bound=(1 - 2 * at.mdp.discount) * float(expert.pairs[:, 0].sum()),
        tolerance=1e-9 + 1e-11 * reach + 500 * EPS * (1 + reach) ** 2,
        reason="Q* is solved to 1e-12 of |V|, and squares of |V| are added and subtracted",
    )
    return worst([_above(at, fixed_zeta=False), level])


def _shift_by_one() -> Shifted:
    reward = np.full((1, 2), -0.95 * np.log(2))
    mdp = TabularMDP(reward, np.ones((2, 1, 1)), 0.95, np.ones(1))
    assume_stated(float(np.abs(mdp.solution.q).max()) < 1e-11, "Q* = 0 solves the Bellman equation")
    return Shifted(mdp, np.ones((1, 2)))


@claim(
    "intro.unique-saddle",
    verdict="fails",
    instances=shifted(),
    counterexample=Counterexample(
        make=_shift_by_one,
        text="One state, two actions, beta = .95, r = -beta log 2 for both: Q* = 0, V* = zeta* ="
        " log 2, f(Q*, zeta*) = log 2 = {bound:.4f}.\nA saddle point needs f(Q, zeta*) >= that for"
        " every Q. At Q = 1: NLL log 2, TD error (1 - beta)^2, V - zeta* = 1, P(a = a_s) = 1/2:\n"
        "f(1, zeta*) = log 2 + (1 - 2 beta)/2 = {observed:.4f}.",
    ),
    corrected=minimax,
    control=Control(
        broken="beta for beta^2 before the auxiliary term",
        check=partial(_above, fixed_zeta=False, power=1),
        make=lambda: Shifted(
            TabularMDP(
                np.array([[0.0, 1.0], [3.0, 0.0]]), np.full((2, 2, 2), 0.5), 0.9, np.array([1.0, 0])
            ),
            np.zeros((2, 2)),
        ),
    ),
)
def saddle_point(at: Shifted) -> CheckResult:
    """The true Q* (with its zeta*) is the unique saddle point of the min-max problem:
    f(Q*, zeta) <= f(Q*, zeta*) <= f(Q, zeta*) for all Q and zeta.

    Where: Section 1, first contribution: "provably converges to the true Q*, which is the unique
    saddle point of the problem"; the problem is Equation AlgoOpt.

    Assumes: Assumptions IRLoptimaldecision and anchor.

    Decided: zeta* fixed, a common shift of Q by c adds (1 - beta)^2 c^2 - beta^2 c^2 on anchor
    rows; the right-hand inequality fails for beta > 1/2.
    """
    return _above(at, fixed_zeta=True)
