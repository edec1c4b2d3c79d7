"""Polyak-Lojasiewicz: the Bellman error and the coercivity it rests on."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from gladius.checks import Array
from proofs_checks.claims import CheckResult, Control, claim, worst
from proofs_checks.oracle import polyak
from proofs_checks.oracle.grouped import Sample
from proofs_checks.sections._fits import (
    Fit,
    LinearOutputs,
    fits,
    popular_state,
    sharp_fits,
)
from proofs_checks.sections._slopes import (
    ROUNDING,
    Complex,
    bellman_scale,
    equal,
    gradient_error,
    residual,
    risk,
    same_gradient,
    slope,
)
from proofs_checks.worlds import Empirical, empirical


def _coercivity(at: Empirical, gamma: float) -> CheckResult:
    """The least of |P_perp A' u| / |u| and of |A' u| / |u|, with the library's A: the paper's."""
    states, actions = at.q.shape
    rows = slope(lambda q: residual(at.sample, q.reshape(-1, states, actions)), at.q.ravel())
    blocks = rows.reshape(states, actions, -1)
    level = np.broadcast_to(blocks.mean(axis=1, keepdims=True), blocks.shape)

    def least(of: Array) -> CheckResult:
        singular = np.linalg.svd(of.reshape(states * actions, -1), compute_uv=False)
        why = "singular values of a matrix of norm at most 2 sqrt(B): 1e-14 covers rounding"
        return CheckResult(float(singular[-1]), ">=", gamma, 1e-14, why)

    ours, why = at.sample.residual_jacobian(at.q).T, "entries of at most 2, each to rounding"
    return worst([least(level), least(blocks), equal(rows, ours, 1e-13, why)])


def _gamma(at: Empirical) -> float:
    return polyak.constants(at.sample, at.q).gamma


def _tightest_law() -> Empirical:
    """Five states, beta = .99: the least singular value over all laws, from two starts."""
    n, discount = 5, 0.99

    def law(logits: Array) -> Array:
        rows: Array = softmax(logits.reshape(n, n), axis=1)
        return rows

    def least(logits: Array) -> float:
        matrix = np.eye(n) - discount * law(logits).T
        return float(np.linalg.svd(matrix, compute_uv=False)[-1])

    starts = [np.eye(n).ravel(), np.tile(8.0 * np.eye(n)[0], n)]
    found = min((minimize(least, start, method="BFGS") for start in starts), key=lambda r: r.fun)
    moves = np.round(10_000 * law(found.x))
    anchor = np.zeros(n, dtype=np.int64)
    return Empirical(Sample(moves[:, None], anchor, np.zeros(n), discount), np.zeros((n, 1)))


@claim(
    "lem:bellman_shift_coercivity",
    verdict="holds",
    instances=empirical(),
    control=Control(
        broken="sqrt(|A| |X_Q|) with |X_Q| - 1 in place of |X_Q|",
        check=lambda at: _coercivity(at, _gamma(at) * (len(at.q) / (len(at.q) - 1)) ** 0.5),
        make=lambda: popular_state(4, 0.999).empirical,
    ),
    adversary=_tightest_law,
)
def bellman_shift_coercivity(at: Empirical) -> CheckResult:
    """||P_perp A_theta' u|| >= gamma_perp ||u|| for every u, gamma_perp = (1 - beta) /
    sqrt(|A| |X_Q|); consequently A_theta A_theta' >= gamma_perp^2 I.

    Where: Technical proofs, Lemma bellman_shift_coercivity.

    Assumes: the states of the Bellman sample are distinct after grouping; P-hat_j are laws.

    Decided: a column of E - beta T has 1-norm at least 1 - beta, and the 2-norm is at least the
    1-norm over sqrt(|X_Q|). Observed is the least singular value of the library's residual
    Jacobian, which covers every u. The constant is sharp: attained for one state, and approached
    for any number where all moves lead to one of them and beta goes to 1 (within .1 per cent at
    beta = .999).
    """
    return _coercivity(at, _gamma(at))


def _bellman(at: Fit, factor: float = 1.0) -> CheckResult:
    def loss(theta: Complex) -> Complex:
        q = at.q.outputs(theta).reshape(-1, *at.shape)
        return risk(at.sample, q).bellman * bellman_scale(at.sample)

    gradient = slope(loss, at.q.theta)
    of = polyak.constants(at.sample, at.table)
    constant = factor * of.bellman * polyak.least_eigenvalue(at.jacobian)
    inequality = CheckResult(
        observed=float(gradient @ gradient) / 2,
        relation=">=",
        bound=constant * at.sample.bellman(at.table),
        tolerance=gradient_error(at.sample, at.table, at.jacobian),
        reason=ROUNDING,
    )
    ours = at.sample.bellman_gradient(at.table)
    same = same_gradient(at.sample, at.table, at.q.jacobian(), gradient, ours)
    return worst([inequality, same])


def _tightest_residual() -> Fit:
    """The residual that the tightest law shrinks most, by rewards: W Psi is its singular vector."""
    at = _tightest_law()
    matrix = at.sample.residual_jacobian(at.q)
    reward = np.linalg.svd(matrix)[0][:, -1] / at.sample.be_weight
    sample = Sample(at.sample.moves, at.sample.anchor, reward, at.sample.discount)
    return Fit(sample, LinearOutputs(np.eye(at.q.size), at.q.ravel()))


@claim(
    "lem:BE_PL",
    verdict="holds",
    instances=fits() | sharp_fits(),
    control=Control(
        broken="|X_Q| - 1 in place of |X_Q|",
        check=lambda at: _bellman(at, factor=at.shape[0] / (at.shape[0] - 1)),
        make=lambda: popular_state(4, 0.99),
    ),
    adversary=_tightest_residual,
)
def bellman_error_pl(at: Fit) -> CheckResult:
    """(1/2) ||grad L_BE||^2 >= c_BE L_BE on B_Q, with c_BE = 2 mu_Q gamma_perp^2 omega_BE,min^2 /
    omega_BE,max.

    Where: Section 6, Lemma BE_PL; the constant is in its proof.

    Assumes: the empirical Q-Jacobian condition (ii), J_Q J_Q' >= mu_Q I.

    Decided: grad L_BE = 2 J' A' W Psi, and both J and A are bounded below; so a point of B_Q at
    which the gradient vanishes has L_BE = 0, whether or not B_Q holds one. The library's gradient
    is this one. Attained for one state, one action; four states of equal weight that all move to
    one leave 1.5 per cent at beta = .99. Always |W Psi|^2 >= omega_BE,min L_BE, so that
    omega_BE,min^2 / omega_BE,max can be replaced by the larger omega_BE,min. Nor is |A| needed:
    summed over the anchor outputs with the signs of u, |A' u| >= (1 - beta) |u|_1 / sqrt(|X_BE|).
    """
    return _bellman(at)
