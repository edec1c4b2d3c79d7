"""Section 6.3: the profiled objective g-hat_N, and the concavity of its inner problem.

Also the library's f-hat_N on a grouped sample, which other sections use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import minimize

from gladius.checks import Array
from gladius.mdp import TabularMDP
from gladius.objective import Risk, conditional_mean, grouped_risk, value
from gladius.printed_steps import descent
from gladius.transitions import Counts
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
    worst,
)
from proofs_checks.oracle import saddle as oracle
from proofs_checks.oracle.grouped import Sample
from proofs_checks.worlds import empirical

EPS = float(np.finfo(float).eps)


# --- the library's objective on a grouped sample
def grouped(sample: Sample) -> Counts:
    """The data as the library holds them, each state's actions in order with the anchor first."""
    order = anchor_first(sample)
    visits = np.take_along_axis(sample.visits, order, axis=1)
    moves = np.take_along_axis(sample.moves, order[:, :, None], axis=1)
    states = np.arange(len(order), dtype=float)[:, None]
    return Counts(states, visits[None], np.swapaxes(moves, 0, 1)[None])


def anchor_first(sample: Sample) -> NDArray[np.int64]:
    """(X, A) each state's actions, the anchor first."""
    rest = np.arange(sample.moves.shape[1]) != sample.anchor[:, None]
    return np.argsort(rest, axis=1, kind="stable").astype(np.int64)


def library_risk(sample: Sample, q: Array, zeta: Array | None = None) -> Risk:
    """The terms of f-hat_N at outputs q (X, A) and zeta (X,), by default the maximiser."""
    arranged = np.take_along_axis(q, anchor_first(sample), axis=1)[None]
    table = None if zeta is None else np.repeat(zeta[None, :, None], q.shape[1], axis=2)
    return grouped_risk(arranged, grouped(sample), 0, sample.reward, sample.discount, table)


def objective(sample: Sample, q: Array, zeta: Array | None = None) -> float:
    """f-hat_N, or g-hat_N where zeta is left out."""
    return float(library_risk(sample, q, zeta).total()[0])


def slope(sample: Sample, q: Array, zeta: Array | None = None) -> Array:
    """(X, A) gradient of f-hat_N in q, anchor first; of g-hat_N where zeta is left out."""
    counts = grouped(sample)
    arranged = np.take_along_axis(q, anchor_first(sample), axis=1)[None]
    if zeta is None:
        table = conditional_mean(value(arranged), counts)
    else:
        table = np.repeat(zeta[None, :, None], q.shape[1], axis=2)
    step = descent(arranged, table, counts, counts, 0, sample.reward, sample.discount)
    found: Array = step.slope[0] / sample.size
    return found


def rounding(sample: Sample, q: Array, zeta: Array | None = None) -> float:
    """What rounding may do to f-hat_N: a few hundred eps times its largest term."""
    risk = library_risk(sample, q, zeta)
    reach = 1 + float(np.abs(sample.reward).max() + np.abs(value(q)).max() + np.abs(q).max())
    return 500 * EPS * (reach**2 + float(risk.td[0]) + float(risk.deviation[0]))


ROUNDING = "500 eps times the squares of rewards, values and residuals that are added up"


# --- g-hat_N and R-hat_Q
@dataclass(frozen=True)
class Ball:
    """A data set and the ball of tables around q (X, A), theta = Q: J_Q is the identity."""

    sample: Sample
    q: Array
    radius: float


def _least(start: Ball, bellman_share: float) -> Array:
    """The tables in the ball at which NLL + bellman_share x L_BE is least."""
    sample, shape = start.sample, start.q.shape

    def risk(theta: Array) -> float:
        table = theta.reshape(shape)
        return sample.nll(table) + bellman_share * sample.bellman(table)

    def gradient(theta: Array) -> Array:
        table = theta.reshape(shape)
        both = sample.nll_gradient(table) + bellman_share * sample.bellman_gradient(table)
        return both.ravel()

    inside = {
        "type": "ineq",
        "fun": lambda theta: start.radius**2 - np.sum((theta - start.q.ravel()) ** 2),
        "jac": lambda theta: -2 * (theta - start.q.ravel()),
    }
    options = {"ftol": 1e-15, "maxiter": 500}
    found = minimize(
        risk, start.q.ravel(), jac=gradient, method="SLSQP", constraints=inside, options=options
    )
    least: Array = found.x.reshape(shape)
    return least


def _identity(at: Ball, bellman_share: float) -> CheckResult:
    return CheckResult(
        observed=objective(at.sample, at.q),
        relation="==",
        bound=at.sample.nll(at.q) + bellman_share * at.sample.bellman(at.q),
        tolerance=rounding(at.sample, at.q),
        reason=ROUNDING,
    )


def profile_and_risk(at: Ball) -> CheckResult:
    """g-hat_N = L_NLL + (N_BE / N) L_BE, so set omega_j^BE = m_j / N in R-hat_Q; with m_j / N_BE
    the two have the same minimisers over B_Q if some theta in B_Q minimises both terms over B_Q at
    once (enough: every action was taken in every state seen, and the joint solution is in B_Q).

    Decided: the identity on every data set (library against grouped sums); where every action was
    taken in every state, g-hat_N at the joint solution in closed form is the entropy, the infimum
    of the NLL, so that the Bellman error is zero there too. The rest is Lemma sharingsol.
    """
    results = [_identity(at, oracle.share(at.sample))]
    if np.all(at.sample.visits > 0):
        best = oracle.solution(at.sample)
        least = CheckResult(
            observed=objective(at.sample, best),
            relation="==",
            bound=at.sample.entropy(),
            tolerance=rounding(at.sample, best),
            reason=ROUNDING,
        )
        results.append(least)
    return worst(results)


def _one_action_unseen() -> Ball:
    world = TabularMDP(np.zeros((1, 3)), np.ones((3, 1, 1)), 0.5, np.ones(1))
    moves = np.array([[[1.0], [9.0], [0.0]]])
    at = Ball(Sample(moves, np.array([0]), np.zeros(1), 0.5), np.zeros((1, 3)), 2.0)
    assume_stated(float(np.linalg.norm(world.solution.q)) < at.radius, "Q* = log 3 is in the class")
    assume_stated(bool(world.solution.policy.min() > 0.3), "the data are a possible draw")
    return at


@st.composite
def balls(draw: st.DrawFn) -> Ball:
    at = draw(empirical(3, 2))
    if draw(st.booleans()):  # every action in every state
        moves = at.sample.moves.copy()
        moves[..., 0] += moves.sum(axis=2) == 0
        at = replace(at, sample=replace(at.sample, moves=moves))
    return Ball(at.sample, at.q, 1.0)


@claim(
    "sec:GlobalConv.g-equals-R",
    verdict="holds-if",
    condition="some theta in B_Q minimises both terms over B_Q at once (Lemma sharingsol); enough"
    " is that every action was taken in every state seen, and the joint solution is in B_Q",
    instances=balls(),
    counterexample=Counterexample(
        make=_one_action_unseen,
        text="One state s, 3 actions, data (s,0,s) once, (s,1,s) 9 times, anchor 0, r = 0, beta ="
        " 1/2, tables |Q| <= 2: g = NLL + BE/10, R = NLL + BE, least on the sphere (2 is unseen). A"
        " common minimiser has BE's gradient and NLL's, p - (.1,.9,0), along Q.\nThe latter sums"
        " to 0, hence Q too and the residual, whose gradient sums to beta - 1, is 0: Q_0 = V/2,"
        " V >= log 3; Q_0 > 0 asks p_0 = exp(-V/2) < .1, so Q_0 > 2.3 > |Q|: there is none.\n"
        "Computed: R at the minimiser of g is {observed:.4f}, its own minimum {bound:.4f}.",
    ),
    corrected=profile_and_risk,
    control=Control(
        broken="the Bellman term divided by N_BE, as in the appendix, not by N",
        check=lambda at: _identity(at, 1.0),
        make=lambda: Ball(
            Sample(np.ones((1, 2, 1)), np.array([0]), np.ones(1), 0.9), np.zeros((1, 2)), 1.0
        ),
    ),
)
def profile_is_risk(at: Ball) -> CheckResult:
    """Up to constants that do not affect the minimisation over theta, g-hat_N is the R-hat_Q of
    Theorem bothPL.

    Where: Section 6.3, after the definition of S-hat_N; R-hat_Q has the weights m_j / N_BE of the
    appendix on grouped notation, f-hat_N divides both terms by N.

    Assumes: Assumption nonSingularJac on closed balls.

    Decided: the factor N_BE / N stands before one of two terms. Minimisers agree all the same
    where both terms can be least at once; R-hat_Q is evaluated at the minimiser of g-hat_N over
    the ball and at its own.
    """
    there, own = (_least(at, share) for share in (oracle.share(at.sample), 1.0))
    return CheckResult(
        observed=at.sample.risk(there),
        relation="==",
        bound=at.sample.risk(own),
        tolerance=1e-8,
        reason="two constrained minima, each to 1e-15 in its value",
    )


# --- strong concavity
@dataclass(frozen=True)
class Auxiliary:
    """A data set, outputs q (X, A), features (B, d) of the anchor pairs and two phi (d,)."""

    sample: Sample
    q: Array
    features: Array
    phi: Array
    other: Array


@st.composite
def auxiliaries(draw: st.DrawFn) -> Auxiliary:
    at = draw(empirical(3, 2))
    pairs, width = len(at.sample.be_states), draw(st.integers(1, 4))
    shapes = ((pairs, width), (width,), (width,))
    drawn = (draw(arrays(np.float64, shape, elements=st.integers(-3, 3))) for shape in shapes)
    return Auxiliary(at.sample, at.q, *drawn)


def _midpoint(at: Auxiliary, modulus: float, apart: float) -> CheckResult:
    """How far f-hat_N at the midpoint is above its mean at the ends, against modulus/8 apart."""
    ends = [np.zeros(len(at.q)) for _ in range(3)]
    for zeta, phi in zip(ends, (at.phi, at.other, (at.phi + at.other) / 2), strict=True):
        zeta[at.sample.be_states] = at.features @ phi
    spread = [float(library_risk(at.sample, at.q, zeta).deviation[0]) for zeta in ends]
    return CheckResult(
        observed=at.sample.discount**2 * ((spread[0] + spread[1]) / 2 - spread[2]),
        relation=">=",
        bound=modulus / 8 * apart,
        tolerance=100 * EPS * (1 + max(spread) + apart),
        reason="100 eps times the squares that are added up",
    )


def concave_in_outputs(at: Auxiliary) -> CheckResult:
    """For fixed theta, f-hat_N is 2 beta^2 min_j m_j / N strongly concave in the outputs of zeta at
    the anchor pairs; in phi it is PL with rho = mu_zeta times that, and rho-strongly concave if
    phi -> outputs is affine with dim phi = G, but not if dim phi > G and some phi in the ball fits
    the means. Read rho in the bound as the PL constant, or assume the former.

    Decided: -(beta^2) sum_j (m_j / N) (zeta_j - mean)^2 plus a constant: the midpoint inequality
    with the library's term on every instance, in the outputs, and in phi where the features are
    square; with equality where one pair occurs. At a fit the Hessian in phi is zero on the kernel
    of J_zeta. PL is Lemma zeta_empirical_pl.
    """
    apart = at.features @ (at.phi - at.other)
    results = [_midpoint(at, oracle.strong_concavity(at.sample), float(apart @ apart))]
    if at.features.shape[0] == at.features.shape[1]:
        results.append(_in_phi(at))
    return worst(results)


def _in_phi(at: Auxiliary) -> CheckResult:
    """With the largest rho that (iii) could give, 2 beta^2 mu_zeta min_j m_j / N."""
    gram = max(float(np.linalg.eigvalsh(at.features @ at.features.T)[0]), 0.0)
    apart = float(np.sum((at.phi - at.other) ** 2))
    return _midpoint(at, oracle.strong_concavity(at.sample) * gram, apart)


def _one_pair_two_parameters() -> Auxiliary:
    sample = Sample(np.ones((1, 1, 1)), np.array([0]), np.zeros(1), 0.95)
    features = np.ones((1, 2))
    assume_stated(bool(np.linalg.eigvalsh(features @ features.T)[0] >= 2), "(iii): J J' >= 2 I_G")
    return Auxiliary(sample, np.zeros((1, 1)), features, np.zeros(2), np.array([1.0, -1.0]))


@claim(
    "prop:linConvergence.strong-concavity",
    verdict="holds-if",
    condition="zeta is affine in phi and dim phi = G, or the rho of the bound is read as the"
    " constant of concavity in the outputs, of PL in phi",
    instances=auxiliaries(),
    counterexample=Counterexample(
        make=_one_pair_two_parameters,
        text="One pair, zeta = phi_1 + phi_2: J = (1, 1), J J' = 2, so (iii) holds with mu = 2.\n"
        "Along (1, -1) zeta does not move: f is constant there.\n"
        "The midpoint of phi = 0 and (1, -1) gains {observed:.1f} on the ends' mean; rho asks for"
        " (rho/8)|(1, -1)|^2 = rho/4 > 0, {bound:.4f} for rho = 2 beta^2 mu = 4 (.95)^2.",
    ),
    corrected=concave_in_outputs,
    control=Control(
        broken="the smallest weight taken as m_j / N_BE, f-hat_N dividing by N",
        check=lambda at: _midpoint(
            at,
            oracle.strong_concavity(at.sample) / oracle.share(at.sample),
            float(np.sum((at.features @ (at.phi - at.other)) ** 2)),
        ),
        make=lambda: Auxiliary(
            Sample(np.ones((1, 2, 1)), np.array([0]), np.zeros(1), 0.9),
            np.zeros((1, 2)),
            np.ones((1, 1)),
            np.zeros(1),
            np.ones(1),
        ),
    ),
)
def strong_concavity(at: Auxiliary) -> CheckResult:
    """Under (iii) f-hat_N(theta, .) is rho-strongly concave in phi for some rho > 0, the rho that
    divides L in the bound of Theorem linConvergence.

    Where: Theorem linConvergence: "rho is the strong-concavity constant of the auxiliary regression
    problem", in (1 + L/rho) G eps.

    Assumes: Assumption nonSingularJac (iii), J_zeta J_zeta' >= mu_zeta I_G: full row rank.

    Decided: that the problem is concave "in that empirical output vector" (appendix; strongly, as
    Section 6 opens) is true and counts as stated, as does PL in phi. But L is the smoothness of the
    objective in the parameters, and the steps are taken in phi, so that rho is needed there. Full
    row rank leaves a kernel wherever dim phi > G, and the Hessian in phi vanishes on it (a
    non-linear zeta need not even be concave). Checked with 2 beta^2 mu_zeta min_j m_j / N.
    """
    return _in_phi(at)
