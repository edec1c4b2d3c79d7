"""The library under check: what the sections take from it, and its terms on their instances.

Derivatives in parameters come from complex steps through the library's risk, f'(x) = Im f(x +
ih)/h: no difference is taken, so they are exact to rounding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gladius.model.mdp import TabularMDP
from gladius.model.risk import Risk, conditional_mean, grouped_risk, value
from gladius.panel.anchor import Anchor
from gladius.panel.record import Counts
from gladius.paper import rows
from gladius.paper.function_classes import MLP, Linear
from gladius.validate import Array
from proofs_checks.claims.claims import CheckResult, equal
from proofs_checks.oracle import ccp
from proofs_checks.oracle.risk import Sample, Whole

__all__ = ["MLP", "Linear"]

EPS = float(np.finfo(float).eps)
STEP = 1e-20  # of the complex steps
Complex = NDArray[Any]  # the library's array code, fed complex numbers


# --- the library's solution of a world
WHY = "the library solves for V to a relative residual of 1e-12, which 1/(1 - beta) magnifies"


def rounding(mdp: TabularMDP, *tables: Array) -> float:
    """Tolerance for quantities of the size of V (and of the tables, where given): see WHY."""
    scale = max(1.0, *(float(np.max(np.abs(x))) for x in (mdp.solution.v, *tables)))
    return 4e-12 * scale / (1 - mdp.discount)


def zero(gap: Array, tolerance: float, reason: str = WHY) -> CheckResult:
    """The largest absolute value of an array of differences == 0."""
    return equal(np.max(np.abs(gap)), 0.0, tolerance, reason)


def observed(mdp: TabularMDP, anchor: Whole) -> ccp.Observed:
    """What identification may use: CCPs, and the anchors' own rewards."""
    star, given = mdp.solution, mdp.reward[np.arange(len(anchor)), anchor]
    log_policy = star.q - star.v[:, None]
    return ccp.Observed(log_policy, mdp.transition, anchor, given, mdp.discount)


# --- the expected risk: the data are the expert's discounted occupancy itself
def population_counts(mdp: TabularMDP, copies: int = 1) -> Counts:
    """Counts d*(s, a) P(s' | s, a)."""
    visits = mdp.discounted_occupancy()
    moves = visits.T[:, :, None] * mdp.transition
    return Counts(
        mdp.features,
        np.broadcast_to(visits, (copies, *visits.shape)),
        np.broadcast_to(moves, (copies, *moves.shape)),
    )


def population_risk(mdp: TabularMDP, q: Array, zeta: Array | None = None, anchor: int = 0) -> Risk:
    """The terms of R_exp at tables q (R, S, A) or (S, A), zeta likewise or the best one."""
    q = q.reshape(-1, *mdp.reward.shape)
    zeta = None if zeta is None else zeta.reshape(q.shape)
    counts = population_counts(mdp, len(q))
    return grouped_risk(q, counts, anchor, mdp.reward[:, anchor], mdp.discount, zeta)


# --- the empirical risk of a grouped sample; each state's actions with its anchor first, as the
# library has one anchor action for all states
def anchor_first(sample: Sample) -> NDArray[np.int64]:
    """(X, A) each state's actions, the anchor first."""
    rest = np.arange(sample.moves.shape[1]) != sample.anchor[:, None]
    return np.argsort(rest, axis=1, kind="stable").astype(np.int64)


def sample_counts(sample: Sample, copies: int = 1) -> Counts:
    """The data as the library holds them."""
    order = anchor_first(sample)
    visits = np.take_along_axis(sample.visits, order, axis=1)
    moves = np.swapaxes(np.take_along_axis(sample.moves, order[:, :, None], axis=1), 0, 1)
    return Counts(
        np.arange(len(order), dtype=float)[:, None],
        np.broadcast_to(visits, (copies, *visits.shape)),
        np.broadcast_to(moves, (copies, *moves.shape)),
    )


def sample_risk(sample: Sample, q: Complex, zeta: Complex | None = None) -> Risk:
    """The terms of f-hat_N at outputs q (R, X, A) or (X, A) and zeta (R, X) or (X,).

    Without zeta it is the maximiser, and the terms are those of R_emp and of g-hat_N.
    """
    q = q.reshape(-1, *sample.visits.shape)
    ordered = np.take_along_axis(q, anchor_first(sample)[None], axis=2)
    if zeta is not None:
        zeta = np.repeat(zeta.reshape(-1, q.shape[1], 1), q.shape[2], axis=2)
    counts = sample_counts(sample, len(q))
    return grouped_risk(ordered, counts, 0, sample.reward, sample.discount, zeta)


def risk_at_anchors(sample: Sample, q: Array, zeta: Complex) -> Risk:
    """The terms of f-hat_N at outputs q (X, A) and zeta (R, B) of the states with anchor rows."""
    full = np.zeros((len(zeta), len(q)), dtype=zeta.dtype)
    full[:, sample.be_states] = zeta
    return sample_risk(sample, np.broadcast_to(q, (len(zeta), *q.shape)), full)


def objective(sample: Sample, q: Array, zeta: Array | None = None) -> float:
    """f-hat_N, or g-hat_N without zeta."""
    return float(sample_risk(sample, q, zeta).total()[0])


ROUNDING = "500 eps times the squares of rewards, values and residuals that are added up"


def objective_rounding(sample: Sample, q: Array, zeta: Array | None = None) -> float:
    """What rounding may do to f-hat_N: a few hundred eps times its largest term."""
    risk = sample_risk(sample, q, zeta)
    reach = 1 + float(np.abs(sample.reward).max() + np.abs(value(q)).max() + np.abs(q).max())
    return 500 * EPS * (reach**2 + float(risk.td[0]) + float(risk.deviation[0]))


# --- the steps of Algorithm 1, at tables of R replications; sums over the observations
def ascent_slope(zeta: Array, v: Array, counts: Counts) -> Array:
    """(R, S, A) derivative in zeta of D = sum_B (V(s') - zeta(s, a))^2, from V (R, S)."""
    slopes = []
    for r in range(len(zeta)):
        batch, at = rows.of_counts(counts, r, Anchor(0, 0.0)), rows.outputs(*zeta.shape[1:])
        at.zeta[:], at.value[:] = zeta[r], v[r]
        rows.zeta_slope(batch._replace(share=np.ones(3)), at)
        slopes.append(at.slope)
    return np.array(slopes)


@dataclass(frozen=True)
class Descent:
    """The descent loss over its batches: (R,) sums, and (R, S, A) their derivative in Q(s, a)."""

    nll: Array
    bellman: Array
    slope: Array


def descent(
    q: Array,
    zeta: Array | None,
    bellman_batch: Counts,
    likelihood_batch: Counts,
    action: int,
    reward: Array,
    discount: float,
) -> Descent:
    """L-bar_NLL on B2 and L-bar_BE on B1 for fixed zeta; without zeta that of Algorithm 2.

    The batches are B1 and B2, `action` and `reward` (S,) a_s and r(s, a_s).
    """
    losses = []
    for r in range(len(q)):
        anchor = Anchor(action, 0.0)
        first, second = (rows.of_counts(x, r, anchor) for x in (bellman_batch, likelihood_batch))
        state, taken, following = map(np.concatenate, zip(first[2:5], second[2:5], strict=True))
        none = [np.zeros(len(x.number)) for x in (first, second)]
        number = np.concatenate([none[0], second.number])
        anchored = np.concatenate([first.anchored, none[1]])
        joint = first.states, reward, state, taken, following, number, anchored, np.ones(3)
        at = rows.outputs(*q.shape[1:])
        at.q[:], at.zeta[:] = q[r], 0.0 if zeta is None else zeta[r]
        rows.choose(at)
        term = rows.DETERMINISTIC if zeta is None else rows.PRINTED
        losses.append((*rows.q_slope(rows.Batch(*joint), at, action, discount, term), at.slope))
    nll, bellman, _, slope = map(np.array, zip(*losses, strict=True))
    return Descent(nll, bellman, slope)


def descent_slope(sample: Sample, q: Array, zeta: Array | None = None) -> Array:
    """(X, A) gradient of f-hat_N in q by the printed step; g-hat_N's without zeta."""
    counts, order, slope = sample_counts(sample), anchor_first(sample), np.zeros_like(q)
    ordered = np.take_along_axis(q, order, axis=1)[None]
    if zeta is None:
        table = conditional_mean(value(ordered), counts)
    else:
        table = np.repeat(zeta[None, :, None], q.shape[1], axis=2)
    step = descent(ordered, table, counts, counts, 0, sample.reward, sample.discount)
    np.put_along_axis(slope, order, step.slope[0] / sample.size, axis=1)
    return slope


def residual(sample: Sample, q: Complex) -> Complex:
    """(R, B) Psi of the library: r + beta zeta-bar - Q at the anchors that the data hold."""
    ordered = np.take_along_axis(q, anchor_first(sample)[None], axis=2)
    zeta = conditional_mean(value(ordered), sample_counts(sample, len(q)))
    psi = sample.reward + sample.discount * zeta[..., 0] - ordered[..., 0]
    return np.asarray(psi[:, sample.be_states])


def complex_slope(function: Callable[[Complex], Complex], theta: Array) -> Array:
    """(P, ...) derivative at (P,) of a function of (R, P) that returns (R, ...)."""
    return np.asarray(function(theta + 1j * STEP * np.eye(theta.size)).imag / STEP)
