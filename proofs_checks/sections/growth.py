"""Technical proofs of Theorem linConvergence: from PL on a ball to quadratic growth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.checks import Array
from proofs_checks.claims import CheckResult, Control, Counterexample, assume_stated, claim
from proofs_checks.oracle import saddle as oracle
from proofs_checks.oracle.grouped import Sample
from proofs_checks.sections.convergence import full_samples
from proofs_checks.sections.profile import ROUNDING, library_risk, rounding


@dataclass(frozen=True)
class Growth:
    """A linear class on a data set.

    Attributes:
        sample: every action taken in every state.
        features: (X A, d), Q = features theta, of full row rank: (ii).
        theta: (d,).
        radius_squared: of the ball B_Q around zero.
        constant: the c_qg that the printed statement is tried with.
    """

    sample: Sample
    features: Array
    theta: Array
    radius_squared: float = np.inf
    constant: float = 1.0


@st.composite
def growths(draw: st.DrawFn) -> Growth:
    sample = draw(full_samples(2, 2))
    size = sample.visits.size
    more = draw(arrays(np.float64, (size, draw(st.integers(0, 2))), elements=st.integers(-2, 2)))
    features = np.hstack([np.eye(size), more])
    near = draw(arrays(np.float64, features.shape[1], elements=st.integers(-8, 8))) / 8
    centre = np.linalg.pinv(features) @ oracle.solution(sample).ravel()
    return Growth(sample, features, centre + near)


def _risk(at: Growth, theta: Array) -> float:
    """R-hat_Q, whose Bellman term has the weights m_j / N_BE."""
    q = (at.features @ theta).reshape(at.sample.visits.shape)
    return float(library_risk(at.sample, q).total(1 / oracle.share(at.sample))[0])


def _grows(at: Growth, constant: float, in_the_ball: bool) -> CheckResult:
    """R-hat_Q above its minimum against constant x squared distance from the minimisers."""
    inverse = np.linalg.pinv(at.features)
    centre = inverse @ oracle.solution(at.sample).ravel()  # the minimiser of least norm
    off = at.theta - centre
    along = off - inverse @ (at.features @ off)
    apart = float(np.sum((off - along) ** 2))
    if in_the_ball:  # the minimisers in it are centre + n, n in the kernel, |n| <= room
        room = np.sqrt(max(at.radius_squared - float(centre @ centre), 0.0))
        apart += max(float(np.linalg.norm(along)) - room, 0.0) ** 2
    q = (at.features @ at.theta).reshape(at.sample.visits.shape)
    return CheckResult(
        observed=_risk(at, at.theta) - at.sample.entropy(),
        relation=">=",
        bound=constant * apart,
        tolerance=rounding(at.sample, q) / oracle.share(at.sample),
        reason=ROUNDING,
    )


def _pl_constant(at: Growth) -> float:
    """On the sublevel set of theta, where n(x, a)/N times -log p is at most the risk."""
    least = np.exp(-_risk(at, at.theta) * at.sample.size / float(at.sample.visits.min()))
    gram = float(np.linalg.eigvalsh(at.features @ at.features.T)[0])
    return gram * oracle.pl_constant(at.sample, float(least), 1.0)


def growth_on_sublevel_sets(at: Growth) -> CheckResult:
    """Let PL with constant c hold on the sublevel set {R-hat_Q <= R-hat_Q(theta)} (or on the ball
    enlarged by (2 max (R-hat_Q - R*) / c)^(1/2)), and let S be all minimisers there, inside B_Q or
    not. Then R-hat_Q(theta) - R* >= (c / 2) dist(theta, S)^2.

    Decided: the gradient flow from theta stays in its sublevel set and ends in S after a path of
    length at most (2 (R-hat_Q - R*) / c)^(1/2). Checked with Theorem bothPL's constant on the
    sublevel set, for linear classes of full row rank.
    """
    return _grows(at, _pl_constant(at) / 2, in_the_ball=False)


def _tangent() -> Growth:
    # Q* = -1 for both actions: -1 = r + beta (log 2 - 1)
    reward = np.array([-0.5 - 0.5 * np.log(2)])
    sample = Sample(np.ones((1, 2, 1)), np.array([0]), reward, 0.5)
    k = 1 - 1e-3
    theta = np.array([-k, -k, np.sqrt(2 - 2 * k**2)])
    at = Growth(sample, np.eye(2, 3), theta, 2.0, 1e-4)
    q = oracle.solution(sample)
    assume_stated(
        float(np.abs(q + 1).max()) < 1e-14,
        "an empirical minimiser, (-1, -1, 0), and Q*, the same, are in B_Q = {|theta|^2 <= 2}",
    )
    assume_stated(float(theta @ theta) <= 2 + 1e-15, "theta is in B_Q")
    assume_stated(bool(np.all(at.features @ at.features.T == np.eye(2))), "(ii) with mu_Q = 1")
    return at


@claim(
    "prop:linConvergence.quadratic-growth",
    verdict="holds-if",
    condition="PL where the gradient flow goes (a sublevel set, or an enlarged ball), and the"
    " distance taken to all minimisers there",
    instances=growths(),
    counterexample=Counterexample(
        make=_tangent,
        text="One state, rows (s,0,s), (s,1,s), beta = 1/2, r = -(1 + log 2)/2, Q(s,a) = theta_a,"
        " theta in R^3, |theta|^2 <= 2: minimisers (-1, -1, any), of which the ball holds only"
        " (-1, -1, 0).\nAt (-k, -k, (2 - 2k^2)^(1/2)): R - R* = (1 - beta)^2 (1 - k)^2, dist^2 ="
        " 4 (1 - k), ratio (1 - k)/16 -> 0 as k -> 1.\nk = .999: {observed:.2e}, but"
        " c_qg dist^2 = {bound:.2e} for c_qg = 1e-4; so for any c_qg > 0.",
    ),
    corrected=growth_on_sublevel_sets,
    control=Control(
        broken="c for c / 2",
        check=lambda at: _grows(at, _pl_constant(at), in_the_ball=False),
        make=lambda: Growth(
            Sample(np.ones((1, 1, 1)), np.array([0]), np.ones(1), 0.5),
            np.array([[1.0, 1.0]]),
            np.array([3.0, 2.0]),
        ),
    ),
)
def quadratic_growth(at: Growth) -> CheckResult:
    """If R-hat_Q is C^2 and PL on B_Q, there is c_qg > 0 with R-hat_Q(theta) - R* >=
    c_qg dist(theta, S)^2 on B_Q, S the minimisers over B_Q.

    Where: Technical proofs, proof of Theorem linConvergence, part 1 ("the local
    PL--quadratic-growth equivalence for C^2 functions gives a constant c_qg > 0").

    Assumes: Assumption nonSingularJac on the closed ball B_Q, which has an empirical minimiser.

    Decided: the equivalence is local, and its proof follows the gradient flow, which may leave the
    ball. Where the set of minimisers touches the sphere, growth measured to S is of order four.
    A ball that cuts the set transversally has some c_qg, which tends to zero with the cut.
    """
    return _grows(at, at.constant, in_the_ball=True)
