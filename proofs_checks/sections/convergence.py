"""Theorem linConvergence: one step size for both blocks, or two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.checks import Array
from gladius.objective import value
from gladius.printed_steps import ascent_slope, descent
from gladius.transitions import Counts
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
)
from proofs_checks.oracle import descent as steps
from proofs_checks.oracle import saddle as oracle
from proofs_checks.oracle.grouped import Sample
from proofs_checks.sections.profile import anchor_first, grouped
from proofs_checks.worlds import VALUES

NUDGE = 1e-5  # of central differences


@st.composite
def full_samples(draw: st.DrawFn, max_states: int, max_actions: int, top: float = 0.99) -> Sample:
    """Data sets in which every action was taken in every state: f-hat_N has a solution."""
    states, actions = draw(st.integers(1, max_states)), draw(st.integers(1, max_actions))
    shape = (states, actions, states)
    moves = draw(arrays(np.int64, shape, elements=st.integers(0, 3))).astype(float)
    always = draw(arrays(np.int64, shape[:2], elements=st.integers(0, states - 1)))
    np.put_along_axis(
        moves, always[..., None], np.take_along_axis(moves, always[..., None], 2) + 1, 2
    )
    anchor = draw(arrays(np.int64, states, elements=st.integers(0, actions - 1)))
    reward = draw(arrays(np.float64, states, elements=VALUES))
    discount = draw(st.sampled_from([0.3, 0.5, 0.9, 0.95]) | st.floats(0.05, top))
    return Sample(moves, anchor, reward, discount)


# --- the steps, linearised at the solution
@dataclass(frozen=True)
class Steps:
    """A data set, tables for Q, and zeta = zeta* + scale phi + cubic phi^3, elementwise.

    zeta* belongs to the solution, so that phi = 0 there and J_zeta J_zeta' = scale^2 I.
    """

    sample: Sample
    scale: float
    cubic: float = 0.0


@st.composite
def scaled(draw: st.DrawFn) -> Steps:
    return Steps(draw(full_samples(3, 2)), draw(st.sampled_from([0.5, 1.0, 2.0])))


def hessian(at: Steps) -> Array:
    """Hessian of f-hat_N in (theta, phi) at the solution, from the library's two gradients.

    The ascent block of Algorithm 1 has neither beta^2 nor the indicator of the anchor; both are
    restored here, since f-hat_N is the objective of the theorem.
    """
    sample, counts = at.sample, grouped(at.sample)
    q = np.take_along_axis(oracle.solution(sample), anchor_first(sample), axis=1)
    zeta = oracle.zeta_at(sample, oracle.solution(sample))
    size = q.size + zeta.size
    nudges = NUDGE * np.concatenate([np.eye(size), -np.eye(size)])
    tables, phi = q + nudges[:, : q.size].reshape(-1, *q.shape), nudges[:, q.size :]
    aux = zeta + at.scale * phi + at.cubic * phi**3
    full = np.repeat(aux[:, :, None], q.shape[1], axis=2)
    many = Counts(
        counts.states,
        np.repeat(counts.visits, 2 * size, axis=0),
        np.repeat(counts.moves, 2 * size, axis=0),
    )
    down = descent(tables, full, many, many, 0, sample.reward, sample.discount).slope
    up = -(sample.discount**2) * ascent_slope(full, value(tables), many)[:, :, 0]
    up *= at.scale + 3 * at.cubic * phi**2
    gradient = np.concatenate([down.reshape(2 * size, -1), up], axis=1) / sample.size
    found: Array = ((gradient[:size] - gradient[size:]) / (2 * NUDGE)).T
    return found


def constants(at: Steps) -> steps.Constants:
    """l and mu_2 of f-hat_N at the solution; mu_1 of g-hat_N where Q is affine (one action)."""
    sample = at.sample
    scaling = np.ones(sample.visits.size + len(sample.be_states))
    scaling[sample.visits.size :] = at.scale
    exact = oracle.output_hessian(sample, oracle.solution(sample)) * np.outer(scaling, scaling)
    system = sample.discount * sample.law - np.eye(len(sample.be_states))
    root = np.sqrt(oracle.share(sample) * sample.be_weight)[:, None] * system
    return steps.Constants(
        l=float(np.linalg.norm(exact, 2)),
        mu_1=2 * float(np.linalg.svd(root, compute_uv=False).min() ** 2),
        mu_2=oracle.strong_concavity(sample) * at.scale**2,
    )


def _growth(at: Steps, ratio: float) -> CheckResult:
    matrix = hessian(at)
    return CheckResult(
        observed=steps.deterministic_growth(matrix, at.sample.visits.size, ratio),
        relation="<=",
        bound=0.0,
        tolerance=1e-8 * (1 + ratio) * (1 + float(np.abs(matrix).max())),
        reason="central differences, error 1e-10 of the Hessian's size; times the ratio of steps",
    )


def two_time_scales(at: Steps) -> CheckResult:
    """Use one schedule a block, tau_theta = c / (gamma + t) and tau_phi = (18 l^2 / mu_2^2)
    tau_theta, as Theorem 3.3 of Yang et al. (2020) does; the ratio is at least 18.

    Decided: at that ratio the linearised steps at the empirical solution do not grow, on every
    instance (the potential of the cited proof falls, by primal-PL).
    """
    return _growth(at, constants(at).ratio)


# --- an orbit that a ball holds and that does not converge
BETA = 0.7  # of the orbit


@cache
def orbit(c_1: float, c_2: float, times: int) -> Array:
    """(T + 1, 2) of (theta, phi) from (1, 0), exact gradients, one schedule c_1 / (c_2 + t).

    One state, one action (the anchor), r = 0, Q = theta, zeta = phi/2 + phi^3; 0 is the only
    stationary point. The flow is theta' = A theta - B zeta, phi' = B zeta'(phi) (theta - zeta) with
    A = 2 (2 beta - 1) and B = 2 beta^2. A ball attracts it: with m = int 1/zeta', which is bounded,
    E = theta^2/2 + int zeta/zeta' - 2 theta m is coercive and E' = (A - 2 B) theta^2 + 2 B theta
    zeta - B zeta^2 - 2 (A theta - B zeta) m, negative definite but for the last term, as B > A.
    """
    counts = grouped(Sample(np.ones((1, 1, 1)), np.array([0]), np.zeros(1), BETA))
    path = np.zeros((times + 1, 2))
    path[0, 0] = 1.0
    for t, (theta, phi) in enumerate(path[:-1]):
        q, zeta = np.full((1, 1, 1), theta), np.full((1, 1, 1), phi / 2 + phi**3)
        down = descent(q, zeta, counts, counts, 0, np.zeros(1), BETA).slope.item()
        up = -(BETA**2) * ascent_slope(zeta, value(q), counts).item()
        move = np.array([-down, (0.5 + 3 * phi**2) * up])
        path[t + 1] = path[t] + c_1 / (c_2 + t) * move
    return path


def assume_orbit(path: Array) -> None:
    """Assert what Assumption nonSingularJac asks of the orbit."""
    assume_stated(float(np.abs(path).max()) <= 2, "B_Q and B_zeta, radius 2, hold all iterates")
    assume_stated(bool(np.all(0.5 + 3 * path[:, 1] ** 2 >= 0.5)), "(iii) with mu_zeta = 1/4")


def _one_state() -> Steps:
    at = Steps(Sample(np.ones((1, 1, 1)), np.array([0]), np.zeros(1), BETA), 0.5, 1.0)
    assume_stated(
        abs(oracle.profile(at.sample, oracle.solution(at.sample))) < 1e-15, "Q* = 0 is in the class"
    )
    assume_orbit(orbit(50.0, 500.0, 3000))
    return at


@claim(
    "prop:linConvergence.single-stepsize",
    verdict="misprint",
    instances=scaled(),
    counterexample=Counterexample(
        make=_one_state,
        text="One state, one action (the anchor), r = 0, beta = .7, Q = theta, zeta = phi/2 +"
        " phi^3: f = (.3 theta)^2 - .49 (theta - zeta)^2. A ball holds the iterates; the only"
        " stationary point is 0.\nNear 0 theta moves along .8 theta - .49 phi, phi along .49 theta"
        " - .245 phi: trace .555, so growth.\nRate {observed:.3f} > {bound:.0f}: each step"
        " multiplies a mode by 1 + rate c_1/(c_2 + t), whose product diverges for all c_1, c_2.",
    ),
    corrected=two_time_scales,
    control=Control(
        broken="one schedule for both blocks, zeta's features of length 1/2",
        check=lambda at: _growth(at, 1.0),
        make=lambda: Steps(Sample(np.ones((1, 2, 1)), np.array([0]), np.zeros(1), 0.95), 0.5),
    ),
)
def single_stepsize(at: Steps) -> CheckResult:
    """Stepsizes eta_t = c_1 / (c_2 + t), one schedule for both blocks, with constants satisfying
    the two-sided-PL SGDA conditions of Yang et al. (2020), suffice.

    Where: Theorem linConvergence ("use stepsizes eta_t = c_1/(c_2+t) with constants satisfying the
    two-sided-PL SGDA conditions"); Algorithm 1 prints tau_1 in both steps.

    Assumes: Assumptions realizability and nonSingularJac; here exact gradients.

    Decided: the cited conditions set tau_phi / tau_theta = 18 l^2 / mu_2^2 >= 18, so no c_1, c_2
    meet them with one eta_t; one schedule a block must be meant, hence a misprint. One schedule
    would not do by itself: the check is the growth of f-hat_N's linearised steps at the solution.
    With tables on the paper's bus engine and its anchor one schedule grows at beta = .5 (rate
    .038) and .8 (.0016) but not at .9 and .95, the paper's own; none grows at the ratio 1/beta^2,
    which is Algorithm 1's, since its ascent lacks beta^2 (tests/proofs_checks/
    test_oracle_descent.py computes this). On a convex-concave quadratic one schedule converges.
    """
    return _growth(at, 1.0)
