"""Data sets with a class known by its value, slope and curvature at one theta."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.checks import Array
from gladius.mdp import TabularMDP
from gladius.objective import value
from proofs_checks.claims import CheckResult, assume_stated
from proofs_checks.oracle.grouped import Sample
from proofs_checks.oracle.smooth import Sizes
from proofs_checks.sections._slopes import Complex, risk, slope
from proofs_checks.worlds import empirical

CURVATURE = "central differences of exact slopes, step 1e-4 / B: error of order 1e-8 of the bound"


@dataclass(frozen=True)
class Curved:
    """Q(z) = q_z + slopes_z' d + d' bends_z d / 2 of d = theta - theta_0, looked at where d = 0.

    Attributes:
        sample: the data.
        q: (X, A).
        slopes: (X, A, P).
        bends: (X, A, P, P), symmetric.
        residual: M, at least what the point itself gives.
    """

    sample: Sample
    q: Array
    slopes: Array
    bends: Array
    residual: float

    def outputs(self, d: Complex) -> Complex:
        """(R, X, A) at (R, P)."""
        straight = np.einsum("xap,rp->rxa", self.slopes, d)
        outputs: Complex = straight + np.einsum("xapk,rp,rk->rxa", self.bends, d, d) / 2
        return self.q + outputs

    @property
    def sizes(self) -> Sizes:
        """B and B_2 at theta_0, M as given."""
        at = self.sample.evaluated
        return Sizes(
            actions=self.q.shape[1],
            discount=self.sample.discount,
            slope=float(np.linalg.norm(self.slopes[at], axis=2).max()),
            bend=float(np.linalg.norm(self.bends[at], 2, axis=(2, 3)).max()),
            residual=self.residual,
        )


def local_residual(sample: Sample, q: Array) -> float:
    """M with the suprema of |r|, |V| and |Q| taken at this q alone."""
    at = q[sample.evaluated]
    highest = np.abs(value(at)).max()
    return float(
        np.abs(sample.reward[sample.be_states]).max() + sample.discount * highest + np.abs(at).max()
    )


@st.composite
def curved(draw: st.DrawFn) -> Curved:
    """Points with M of their own, which is the least it can be."""
    at = draw(empirical(max_states=3, max_actions=4))
    width = draw(st.integers(1, 2))
    entries = st.integers(-8, 8).map(lambda n: n / 4)
    slopes = draw(arrays(np.float64, (*at.q.shape, width), elements=entries))
    bends = draw(arrays(np.float64, (*at.q.shape, width, width), elements=entries))
    bends = (bends + np.swapaxes(bends, 2, 3)) / 2
    return Curved(at.sample, at.q, slopes, bends, local_residual(at.sample, at.q))


def one_row(q: Array, slopes: Array, reward: float, discount: float, residual: float) -> Curved:
    """One row (s, anchor 0, s') where s and s' are the states 0 and 1; Q is affine."""
    moves = np.zeros((2, q.shape[1], 2))
    moves[0, 0, 1] = 1.0
    sample = Sample(moves, np.zeros(2, dtype=np.int64), np.array([reward, 0.0]), discount)
    width = slopes.shape[2]
    return Curved(sample, q, slopes, np.zeros((*q.shape, width, width)), residual)


def assume_realisable(at: Curved, theta_star: Array, corners: Array) -> None:
    """Every pair leads to s', and the rewards make Q at theta_star the Q* of that world.

    M must be R_max + beta V_max + Q_max over the box of parameters with these corners: Q is affine
    and V convex, so that both are largest at a corner, and V >= max Q >= -Q_max.
    """
    states, actions = at.q.shape
    transition = np.zeros((actions, states, states))
    transition[:, :, 1] = 1.0
    best = at.outputs(theta_star[None])[0]
    reward = best - at.sample.discount * value(best)[1]
    world = TabularMDP(reward, transition, at.sample.discount, np.eye(states)[0])
    gap = np.abs(world.solution.q - best).max()
    assume_stated(bool(gap < 1e-9), "Q* = Q_theta* for some theta* (realisability)")
    known = abs(at.sample.reward[0] - reward[0, 0]) < 1e-12
    assume_stated(bool(known), "the known reward of the anchor is that of the world")
    reached = at.outputs(corners)
    largest = np.abs(reached).max()
    highest = max(value(reached).max(), largest)
    size = np.abs(reward).max() + at.sample.discount * highest + largest
    assume_stated(bool(abs(at.residual - size) < 1e-12), "M = R_max + beta V_max + Q_max")
    assume_stated(bool(at.sizes.slope <= 1 + 1e-15), "|grad Q| <= B = 1")


def empirical_risk(at: Curved, d: Complex) -> Complex:
    """R_emp of Definition ERM at (R, P), zeta exact."""
    terms = risk(at.sample, at.outputs(d))
    return terms.nll + terms.bellman


def likelihood(at: Curved, d: Complex) -> Complex:
    """Its likelihood term."""
    return risk(at.sample, at.outputs(d)).nll


def curvature(at: Curved, which: str) -> float:
    """Spectral norm of the Hessian at d = 0 of `empirical_risk` or `likelihood`."""
    function = {"risk": empirical_risk, "nll": likelihood}[which]
    width = at.slopes.shape[2]
    step = 1e-4 / max(1.0, at.sizes.slope)
    columns = []
    for k in range(width):
        move = step * np.eye(width)[k]
        ahead, behind = (slope(lambda d: function(at, d), side) for side in (move, -move))
        columns.append((ahead - behind) / (2 * step))
    return float(np.linalg.norm(np.stack(columns), 2))


def bounded(at: Curved, which: str, bound: float) -> CheckResult:
    """The curvature against a bound of it."""
    return CheckResult(curvature(at, which), "<=", bound, 1e-6 * (1 + at.sizes.theta()), CURVATURE)
