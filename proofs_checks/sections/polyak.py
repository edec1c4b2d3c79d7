"""Polyak-Lojasiewicz: from outputs to parameters, and the auxiliary regression.

The checks of the PL lemmas use mu, p_- and C_parallel at the instance's own theta, where the paper
has the worst over a ball, and compare with a lower bound of the infimum (the empirical entropy;
zero), where the paper has the minimum: both make the inequality harder to satisfy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

from gladius.checks import Array
from gladius.objective import value
from proofs_checks.claims import CheckResult, Control, claim, worst
from proofs_checks.oracle import polyak
from proofs_checks.sections._fits import (
    LinearOutputs,
    Outputs,
    linear_outputs,
    network_outputs,
    one_state,
)
from proofs_checks.sections._slopes import (
    ROUNDING,
    Complex,
    bellman_scale,
    equal,
    risk,
    slope,
)
from proofs_checks.worlds import VALUES, Empirical, empirical


@dataclass(frozen=True)
class Composite:
    """phi(q) = sum_i w_i g(q_i - c_i) of outputs q, with g(u) = u^2, or u^2 + 3 sin^2 u."""

    q: Outputs
    centre: Array
    weight: Array
    wave: bool

    def phi(self, q: Complex) -> Complex:
        """(R,) at outputs (R, M)."""
        u = q - self.centre
        return (u**2 + 3 * np.sin(u) ** 2 if self.wave else u**2) @ self.weight


@st.composite
def composites(draw: st.DrawFn) -> Composite:
    states, actions = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    start = draw(arrays(np.float64, (states, actions), elements=VALUES))
    which = linear_outputs(start) | network_outputs(states, actions)
    centre = draw(arrays(np.float64, start.size, elements=VALUES))
    weight = draw(arrays(np.float64, start.size, elements=st.integers(1, 4).map(float)))
    return Composite(draw(which), centre, weight, draw(st.booleans()))


def _transfer(at: Composite, power: float = 1.0) -> CheckResult:
    gradient = slope(lambda theta: at.phi(at.q.outputs(theta)), at.q.theta)
    alpha = (polyak.WAVE if at.wave else 2.0) * at.weight.min()
    jacobian = at.q.jacobian()
    gap = float(at.phi(at.q.outputs(at.q.theta[None]))[0])
    spread = np.abs(at.q.outputs(at.q.theta[None])[0]).max() + np.abs(at.centre).max() + 3
    most = at.weight.max() * spread * np.linalg.norm(jacobian, 2)
    return CheckResult(
        observed=float(gradient @ gradient) / 2,
        relation=">=",
        bound=float(alpha * polyak.least_eigenvalue(jacobian) ** power * gap),
        tolerance=float(1e-13 * at.q.theta.size * most**2),
        reason=ROUNDING,
    )


def _wave(at: float) -> Composite:
    q = LinearOutputs(np.eye(1), np.array([at]))
    return Composite(q, np.zeros(1), np.ones(1), wave=True)


def _flattest_wave() -> Composite:
    """One output: the least slack of u^2 + 3 sin^2 u over u."""
    found = minimize_scalar(lambda u: _transfer(_wave(u)).slack, bounds=(1, 3), method="bounded")
    return _wave(float(found.x))


@claim(
    "lem:finite_output_pl_transfer",
    verdict="holds",
    instances=composites(),
    control=Control(
        broken="the least singular value of J_Q in place of its square",
        check=lambda at: _transfer(at, power=0.5),
        make=lambda: Composite(
            LinearOutputs(np.eye(1) / 2, np.ones(1)), np.zeros(1), np.ones(1), False
        ),
    ),
    adversary=_flattest_wave,
)
def finite_output_pl_transfer(at: Composite) -> CheckResult:
    """If phi satisfies a PL inequality with constant alpha on {q_theta : theta in B_Q}, then
    L(theta) = phi(q_theta) satisfies one on B_Q with constant alpha mu_Q.

    Where: Technical proofs, Lemma finite_output_pl_transfer.

    Assumes: J_Q J_Q' >= mu_Q I on B_Q; phi differentiable.

    Decided: grad L = J' grad phi, whose square is at least mu_Q |grad phi|^2; the least value of
    L on B_Q is that of phi on its image. Tried with a convex and a non-convex phi whose constant
    is known (u^2: 2; u^2 + 3 sin^2 u: .17), on linear classes and tanh networks, mu_Q taken at
    theta. Equality for one output, linear in one parameter.
    """
    return _transfer(at)


@dataclass(frozen=True)
class Regression:
    """A data set, Q on its states (X, A), and zeta at its anchor states by a class."""

    at: Empirical
    zeta: Outputs


@st.composite
def regressions(draw: st.DrawFn) -> Regression:
    at = draw(empirical(max_states=3))
    groups = len(at.sample.be_states)
    start = draw(arrays(np.float64, (groups, 1), elements=VALUES))
    return Regression(at, draw(linear_outputs(start) | network_outputs(groups, 1)))


def _auxiliary(of: Regression, power: int = 2) -> CheckResult:
    sample, q = of.at.sample, of.at.q

    def loss(phi: Complex) -> Complex:
        zeta = np.zeros((len(phi), len(q)), dtype=complex)
        zeta[:, sample.be_states] = of.zeta.outputs(phi)
        deviation = risk(sample, np.broadcast_to(q, (len(phi), *q.shape)), zeta).deviation
        return sample.discount**2 * deviation * bellman_scale(sample)

    gradient = slope(loss, of.zeta.theta)
    jacobian = of.zeta.jacobian()
    zeta = of.zeta.outputs(of.zeta.theta[None])[0]
    constant = polyak.auxiliary_constant(sample.discount, sample.be_weight, power)
    largest = float((1 + np.abs(value(q)).max() + np.abs(zeta).max()) * np.linalg.norm(jacobian, 2))
    inequality = CheckResult(
        observed=float(gradient @ gradient) / 2,
        relation=">=",
        bound=constant * polyak.least_eigenvalue(jacobian) * sample.auxiliary(zeta, q),
        tolerance=1e-13 * largest**2,
        reason=ROUNDING,
    )
    ours = 2 * sample.discount**2 * sample.be_weight * (zeta - sample.target(q))
    same = equal(gradient, jacobian.T @ ours, 1e-13 * largest, "rounding of complex steps")
    return worst([inequality, same])


def _one_regression() -> Regression:
    sample = one_state([1], [0.0], 0.0, 0.9).sample
    zeta = LinearOutputs(np.eye(1), np.ones(1))
    return Regression(Empirical(sample, np.zeros((1, 1))), zeta)


@claim(
    "lem:zeta_empirical_pl",
    verdict="holds",
    instances=regressions(),
    control=Control(
        broken="beta in place of its square",
        check=lambda of: _auxiliary(of, power=1),
        make=_one_regression,
    ),
)
def auxiliary_regression_pl(of: Regression) -> CheckResult:
    """(1/2) ||grad_phi F_zeta||^2 >= 2 beta^2 mu_zeta omega_zeta,min (F_zeta - F_zeta*) on
    B_zeta, for fixed theta_2.

    Where: Section 6, Lemma zeta_empirical_pl; the constant is in its proof.

    Assumes: the empirical zeta-Jacobian condition (iii), J_zeta J_zeta' >= mu_zeta I.

    Decided: the gradient in outputs is 2 beta^2 W (zeta - y-bar), and so is the library's. Checked
    relative to zero, at most F_zeta*, with the pairs of the anchor rows, where the objective has
    zeta. Attained at one group; for ascent on -F_zeta the same with the sign changed.
    """
    return _auxiliary(of)
